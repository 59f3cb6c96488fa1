/* Loops of what was recorded: whatever way Python went round, turns are operations that repeat
 * themselves. They are found before anything is made simpler, since that makes them differ. */
#ifndef CAD_LOOPS_H
#define CAD_LOOPS_H

#include "graph/graph.h"

/* As cad_graph_read, but what repeats itself is made numbers of as a recurrence (graph/scan.c), if
 * it has so many numbers at least; 0: as many as make it worth while. */
CadStatus cad_loops_read(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                         const CadId *inputs, size_t n_inputs, CadId *outputs, size_t n_outputs,
                         size_t least_numbers);

#endif
