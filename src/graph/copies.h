/* Records of a graph taken apart, and made again in another one. */
#ifndef CAD_GRAPH_COPIES_H
#define CAD_GRAPH_COPIES_H

#include "graph/graph.h"

/* --- taken apart --- */

/* Room for the shape of a record and for the strides of its views. */
typedef int64_t CadAxes[5][CAD_MOST_AXES];

void cad_graph_look(CadGraph *graph, size_t record, CadAxes axes, CadMade *made);

/* The first and the last of the numbers that a view sees. */
typedef struct CadReach {
    CadId low, high;
} CadReach;

CadReach cad_made_reach(const CadMade *made, CadNumbers view);

/* Of what a SCAN reads of an operand in all turns. */
CadReach cad_scan_reach(const CadScan *scan, size_t operand, CadId first);

/* Mark the records that some numbers depend on; those that are marked 1 before depend on nothing.
 */
void cad_graph_mark_needed(CadGraph *graph, const CadId *outputs, size_t n_outputs,
                           uint8_t *marks);

/* --- numbers in a row --- */

/* Room for a list of numbers, which is used again and again. */
typedef struct CadRoom {
    CadId *ids;
    size_t capacity;
} CadRoom;

CadId *cad_graph_room(CadGraph *graph, CadRoom *room, size_t count);

/* Numbers as a block: those that stand in a row are one. Answers the first one. */
CadId cad_graph_block(CadGraph *graph, const CadId *ids, size_t size);

/* So many constants of one value. */
CadId cad_graph_filled(CadGraph *graph, double value, size_t size);

/* --- made again --- */

typedef struct CadCopier {
    CadGraph *from;
    CadGraph *to;
    CadId *names;          /* of each record its first number there; CAD_NO_ID: it is not copied */
    const CadId *operands; /* of each number of an input what stands in its place, or NULL */
    int folds;             /* operations may become simpler */
} CadCopier;

/* Copies what is made of other numbers, and constants; answers its first number. */
CadId cad_graph_copy(const CadCopier *copier, size_t record);

/* Copies what outputs need, but for records that are marked with 1; `results` are their numbers
 * there. */
void cad_graph_copy_needed(const CadCopier *copier, uint8_t *marks, const CadId *outputs,
                           size_t n_outputs, CadId *results);

/* What a number is there. Constants are copied when they are asked for first. */
CadId cad_copier_name(const CadCopier *copier, CadId id);

#endif
