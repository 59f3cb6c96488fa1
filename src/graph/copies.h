/* Records of one graph made again in another one. */
#ifndef CAD_GRAPH_COPIES_H
#define CAD_GRAPH_COPIES_H

#include "graph/graph.h"

typedef struct CadCopier {
    CadGraph *from;
    CadGraph *to;
    CadId *names;          /* of each record its first number there; CAD_NO_ID: it is not copied */
    const CadId *operands; /* of each number of an input what stands in its place, or NULL */
    int folds;             /* single numbers may become simpler */
} CadCopier;

/* Copies what is made of other numbers, and constants; answers its first number. */
CadId cad_graph_copy(const CadCopier *copier, size_t record);

/* What a number is there. Constants are copied when they are asked for first. */
CadId cad_copier_name(const CadCopier *copier, CadId id);

#endif
