/* Which numbers are wanted: those that results and guards depend on. */
#include "program/visit.h"

static void use(void *maker, CadId id) {
    CadMaker *m = maker;
    uint32_t *uses = &m->uses[record_of(m, id)];
    *uses += *uses < UINT32_MAX;
}

static void use_operands(CadMaker *m, size_t i) {
    if (is_made(m, i)) {
        visit_operands(m, i, use);
    }
}

void cad_maker_find_wanted(CadMaker *m, const CadId *roots, size_t n_roots) {
    visit_results(m, roots, n_roots, use);
    go_back(m, use_operands);
}

/* --- inputs that are referred to --- */

static void copy(void *maker, CadId id) {
    CadMaker *m = maker;
    m->is_copied[record_of(m, id)] = 1;
}

static void copy_operands(CadMaker *m, size_t i) {
    const CadRecord *record = &m->graph->records[i];
    if (m->uses[i] > 0 && record->kind == CAD_RECORD_TAKE) {
        copy(m, (CadId)cad_plan_view(cad_graph_plan(m->graph, record), 2)[0]);
    } else if (is_made(m, i)) {
        visit_operands(m, i, copy);
    }
}

void cad_maker_refer_to_inputs(CadMaker *m, const CadId *inputs, size_t n_inputs,
                               const CadId *roots, size_t n_roots) {
    enum { LEAST = 64 }; /* numbers, from which on it is worth it */
    CadProgram *program = m->program;
    visit_results(m, roots, n_roots, copy);
    go_back(m, copy_operands);
    for (size_t k = 0; k < n_inputs; k++) {
        const uint32_t i = cad_graph_record_of(m->graph, inputs[k]);
        const uint32_t size = m->graph->records[i].of.array.size;
        if (m->uses[i] == 0 || m->is_copied[i] || size < LEAST ||
            !GROW(program, referred, program->n_referred, referred_capacity, 1)) {
            continue;
        }
        program->referred[program->n_referred++] = (CadReferred){m->place[i], size, m->n_places++};
    }
}
