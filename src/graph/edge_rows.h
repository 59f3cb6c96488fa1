/* Rows along edges: each number has a row: forward, the variables that it depends on; backward,
 * the outputs that depend on it. It follows from the rows of its neighbours, times the edges
 * between. */
#ifndef CAD_GRAPH_EDGE_ROWS_H
#define CAD_GRAPH_EDGE_ROWS_H

#include "graph/edges.h"

typedef struct CadRow {
    size_t start, length;
} CadRow;

typedef struct CadRows {
    CadGraph *graph;
    const CadEdges *edges;
    const CadId *wrt, *outputs;
    size_t n_wrt, n_outputs;
    /* As much is found: products of entries and edges; and entries looked at, where only the
     * structure is wanted and numbers with the same row share it. */
    size_t products, most_products;
    size_t work, most_work;
    /* Which way: rows begin at the ends, variables or outputs, and are read at the others. */
    int forward;
    int with_numbers; /* else the structure alone is found */
    const CadId *ends, *others;
    size_t n_ends, n_others;
    /* Of each number: which ends it is, and where the edges that its row follows from are. */
    uint32_t *first_end, *next_end; /* UINT32_MAX: none, or no further */
    size_t *starts;                 /* in `sorted` */
    uint32_t *sorted;
    CadRow *rows; /* start SIZE_MAX: it is not made */
    /* Of all rows: entries by the indices of ends, and derivatives. */
    uint32_t *columns;
    CadId *numbers;
    size_t n, column_capacity, number_capacity;
    int64_t *place; /* of each column in the row that is being made, or -1 */
    CadId one;
    CadMemory memory;
} CadRows;

/* Rows of the edges between variables and outputs, which are to begin. */
static inline CadRows cad_rows_of(CadGraph *graph, const CadEdges *edges, const CadId *wrt,
                                  size_t n_wrt, const CadId *outputs, size_t n_outputs) {
    return (CadRows){.graph = graph,
                     .edges = edges,
                     .wrt = wrt,
                     .outputs = outputs,
                     .n_wrt = n_wrt,
                     .n_outputs = n_outputs};
}

/* CAD_NO_MEMORY: as graph->status. */
CadStatus cad_rows_begin(CadRows *rows);
void cad_rows_free(CadRows *rows);

/* From variables forward, or backward from outputs. */
void cad_rows_set_way(CadRows *rows, int forward);

/* Make those from one end to the other; 0 if that is too much, or memory runs out. */
int cad_rows_make(CadRows *rows, int with_numbers);

/* What was made, as the structure of a matrix, an output a row. With numbers they are left in
 * *entries, which is the caller's; those that are the constant 0 are no part of it. */
CadStatus cad_rows_read(CadRows *rows, CadPattern *pattern, CadId **entries);

#endif
