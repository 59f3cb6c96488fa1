/* Which outputs of a graph depend on which variables. */
#ifndef CAD_GRAPH_SPARSITY_H
#define CAD_GRAPH_SPARSITY_H

#include "graph/graph.h"

/* The structure of the Jacobian of outputs by variables, by sets of bits. What is 0 by the rules
 * of differentiation, whatever the inputs, is no part of it. */
CadStatus cad_sparsity(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                       size_t n_outputs, CadPattern *pattern);

#endif
