/* Loops of a recording: however Python went round, turns are operations that repeat themselves.
 * They are found before the graph is simplified, since turns may differ then. */
#ifndef CAD_LOOPS_H
#define CAD_LOOPS_H

#include "graph/graph.h"

/* As cad_graph_read, but loops become recurrences (graph/scan.c) if they have `least_numbers` at
 * least; 0: as many as make it worth while. */
CadStatus cad_loops_read(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                         const CadId *inputs, size_t n_inputs, CadId *outputs, size_t n_outputs,
                         size_t least_numbers);

#endif
