/* Walks over the graph that a program is made of: forth to the operands of each number, or back
 * from the last number to the first. */
#ifndef CAD_PROGRAM_VISIT_H
#define CAD_PROGRAM_VISIT_H

#include "program/inner.h"

/* Call `visit` with the numbers that a record is made of: with the terms of a chain, and with the
 * first number of each view. */
static inline void visit_operands(CadMaker *m, size_t i, CadVisit *visit) {
    if (!is_chain(m, i)) {
        cad_graph_visit(m->graph, i, visit, m);
        return;
    }
    const size_t count = cad_maker_terms(m, i);
    for (size_t k = 0; k < count; k++) {
        visit(m, m->terms[k].id);
    }
}

/* Call `visit` with what a program is made for: roots, and what guards look at. */
static inline void visit_results(CadMaker *m, const CadId *roots, size_t n_roots,
                                 CadVisit *visit) {
    for (size_t k = 0; k < n_roots; k++) {
        visit(m, roots[k]);
    }
    for (size_t k = 0; k < m->graph->n_guards; k++) {
        visit(m, m->graph->guards[k].id);
    }
}

/* All records, the last one first. */
static inline void go_back(CadMaker *m, void (*at)(CadMaker *, size_t)) {
    for (size_t i = m->graph->n_records; i-- > 0;) {
        at(m, i);
    }
}

#endif
