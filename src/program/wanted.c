/* Which numbers are wanted: those that results and guards depend on. */
#include "program/visit.h"

static void use(CadMaker *m, CadId id) {
    id = resolved(m, id);
    if (CAD_IS_ELEMENT(id)) {
        m->array_is_live[cad_graph_array_of(m->graph, id)] = 1;
    } else {
        m->uses[id] += m->uses[id] < UINT32_MAX;
    }
}

static void use_operands(CadMaker *m, size_t i) {
    if (is_operation(m, i)) {
        visit_operands(m, i, use);
    }
}

static void use_parts(CadMaker *m, size_t i) {
    if (m->array_is_live[i]) {
        visit_parts(m, i, use);
    }
}

void cad_maker_find_wanted(CadMaker *m, const CadId *roots, size_t n_roots) {
    visit_results(m, roots, n_roots, use);
    go_back(m, use_operands, use_parts);
}
