/* The derivatives that a graph consists of: of numbers by those that they are computed from. */
#ifndef CAD_GRAPH_EDGES_H
#define CAD_GRAPH_EDGES_H

#include "graph/graph.h"

typedef struct CadEdge {
    uint32_t of, by; /* numbers: those of the graph, then others */
    CadId partial;
} CadEdge;

typedef struct CadEdges {
    CadEdge *items; /* an edge stands behind those of the number that it is by */
    size_t n, capacity;
    size_t n_factors; /* edges to products of matrices, dropped ones included */
    size_t n_numbers;
    bool too_many; /* then there are none */
    int has_calls; /* or indices: their partials are no numbers, 1 stands for each; what depends on
                    * all of many numbers does so through another one, which is none of the graph
                    */
} CadEdges;

/* All that lead from `wrt` to `outputs` and are not the constant 0, unless there are more than
 * `most`, or there is a call and those are not wanted. Partials that are not there yet become
 * numbers of the graph. */
CadStatus cad_graph_edges(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                          size_t n_outputs, size_t most, bool with_calls, CadEdges *edges);
void cad_edges_free(CadEdges *edges);

#endif
