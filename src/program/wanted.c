/* Which numbers are wanted: those that results and guards depend on. */
#include "program/maker.h"

static void use(CadMaker *m, CadId id) {
    uint32_t *uses = &m->uses[record_of(m, id)];
    *uses += *uses < UINT32_MAX;
}

void cad_maker_find_wanted(CadMaker *m) {
    CadOperands of;
    for (size_t k = 0; k < m->n_ends; k++) {
        use(m, m->ends[k]);
    }
    for (size_t i = m->graph->n_records; i-- > 0;) {
        if (is_made(m, i)) {
            cad_maker_operands(m, i, &of);
            for (size_t k = 0; k < of.n; k++) {
                use(m, of.ids[k]);
            }
        }
    }
}

/* --- inputs that are referred to --- */

/* Inputs of which more is wanted than to be taken from at indices. */
static void find_copied(CadMaker *m, uint8_t *is_copied) {
    CadOperands of;
    for (size_t k = 0; k < m->n_ends; k++) {
        is_copied[record_of(m, m->ends[k])] = 1;
    }
    for (size_t i = 0; i < m->graph->n_records; i++) {
        if (is_made(m, i)) {
            cad_maker_operands(m, i, &of);
            for (size_t k = m->graph->records[i].kind == CAD_RECORD_TAKE; k < of.n; k++) {
                is_copied[record_of(m, of.ids[k])] = 1;
            }
        }
    }
}

void cad_maker_refer_to_inputs(CadMaker *m) {
    enum { LEAST = 64 }; /* numbers, from which on it is worth it */
    CadProgram *program = m->program;
    uint8_t *is_copied = cad_memory_zeroed(m->graph->n_records, 1);
    if (is_copied == NULL) {
        fail(m);
        return;
    }
    find_copied(m, is_copied);
    for (size_t k = 0; k < m->n_inputs; k++) {
        const uint32_t i = cad_graph_record_of(m->graph, m->inputs[k]);
        const uint32_t size = m->graph->records[i].of.array.size;
        if (m->uses[i] > 0 && !is_copied[i] && size >= LEAST &&
            GROW(program, referred, program->n_referred, 1)) {
            program->referred[program->n_referred++] =
                (CadReferred){m->place[i], size, m->n_places++};
        }
    }
    cad_memory_free(is_copied);
}
