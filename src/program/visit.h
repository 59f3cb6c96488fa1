/* Walks over the graph that a program is made of: forth to the operands of each number, or back
 * from the last number to the first. */
#ifndef CAD_PROGRAM_VISIT_H
#define CAD_PROGRAM_VISIT_H

#include "program/inner.h"

/* Whether a node is wanted and has to be computed. */
static inline int is_operation(const CadMaker *m, size_t i) {
    return m->uses[i] > 0 && m->graph->nodes[i].op < CAD_OP_COUNT &&
           m->graph->nodes[i].op != CAD_OP_stop;
}

/* Call `visit` with each operand of an operation, or with each term of a chain. */
static inline void visit_operands(CadMaker *m, size_t i, void (*visit)(CadMaker *, CadId)) {
    if (is_chain(m, (CadId)i)) {
        const size_t count = cad_maker_terms(m, (CadId)i);
        for (size_t k = 0; k < count; k++) {
            visit(m, m->terms[k].id);
        }
        return;
    }
    CadId x[3];
    const int arity = operands_of(&m->graph->nodes[i], x);
    for (int k = 0; k < arity; k++) {
        visit(m, x[k]);
    }
}

/* Call `visit` with the numbers that an array is made of: with the first one of each view. */
static inline void visit_parts(CadMaker *m, size_t i, void (*visit)(CadMaker *, CadId)) {
    const CadArray *array = &m->graph->arrays[i];
    if (array->op == CAD_ARRAY_PACK) {
        for (uint32_t k = 0; k < array->size; k++) {
            visit(m, m->graph->lists[array->list + k]);
        }
    } else if (array->plan != SIZE_MAX) {
        CadPlan *plan = cad_graph_plan(m->graph, array);
        for (int k = plan->n_views > 1 ? 1 : 0; k < plan->n_views; k++) {
            visit(m, (CadId)cad_plan_view(plan, k)[0]);
        }
        const CadId former = cad_graph_former(m->graph, array);
        if (former != CAD_NO_ID) {
            visit(m, former);
        }
    }
}

/* Call `visit` with what a program is made for: roots, and what guards look at. */
static inline void visit_results(CadMaker *m, const CadId *roots, size_t n_roots,
                                 void (*visit)(CadMaker *, CadId)) {
    for (size_t k = 0; k < n_roots; k++) {
        visit(m, roots[k]);
    }
    for (size_t k = 0; k < m->graph->n_guards; k++) {
        visit(m, m->graph->guards[k].id);
    }
}

/* All nodes and arrays, the last one first. */
static inline void go_back(CadMaker *m, void (*at_node)(CadMaker *, size_t),
                           void (*at_array)(CadMaker *, size_t)) {
    size_t node = m->graph->n_nodes;
    for (size_t i = m->graph->n_arrays; i-- > 0;) {
        while (node > m->graph->arrays[i].before) {
            at_node(m, --node);
        }
        at_array(m, i);
    }
    while (node > 0) {
        at_node(m, --node);
    }
}

#endif
