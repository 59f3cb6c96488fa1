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

/* --- inputs that are referred to --- */

static void copy(CadMaker *m, CadId id) {
    id = resolved(m, id);
    if (CAD_IS_ELEMENT(id)) {
        m->array_is_copied[cad_graph_array_of(m->graph, id)] = 1;
    }
}

static void copy_operands(CadMaker *m, size_t i) {
    if (is_operation(m, i)) {
        visit_operands(m, i, copy);
    }
}

static void copy_parts(CadMaker *m, size_t i) {
    const CadArray *array = &m->graph->arrays[i];
    if (m->array_is_live[i] && array->op == CAD_ARRAY_TAKE) {
        copy(m, (CadId)cad_plan_view(cad_graph_plan(m->graph, array), 2)[0]);
    } else if (m->array_is_live[i]) {
        visit_parts(m, i, copy);
    }
}

void cad_maker_refer_to_inputs(CadMaker *m, const CadId *inputs, size_t n_inputs,
                               const CadId *roots, size_t n_roots) {
    enum { LEAST = 64 }; /* numbers, from which on it is worth it */
    CadProgram *program = m->program;
    visit_results(m, roots, n_roots, copy);
    go_back(m, copy_operands, copy_parts);
    for (size_t k = 0; k < n_inputs; k++) {
        const uint32_t i = cad_graph_array_of(m->graph, inputs[k]);
        const uint32_t size = m->graph->arrays[i].size;
        if (!m->array_is_live[i] || m->array_is_copied[i] || size < LEAST ||
            !GROW(program, referred, program->n_referred, referred_capacity, 1)) {
            continue;
        }
        program->referred[program->n_referred++] =
            (CadReferred){m->array_place[i], size, m->n_places++};
    }
}
