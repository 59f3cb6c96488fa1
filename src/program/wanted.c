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
            cad_graph_operands(m->graph, i, &of);
            for (size_t k = 0; k < of.n; k++) {
                use(m, of.ids[k]);
            }
        }
    }
}

/* Whether it is a call that waits for the guards that f has noted before. */
static int waits(CadGraph *graph, const CadRecord *record) {
    return record->kind == CAD_RECORD_CALL && graph->n_guards > 0 &&
           cad_graph_about(graph, record).waits;
}

static void list_read(CadMaker *m, size_t record) {
    if (GROW(m, reads, m->n_reads, 1)) {
        m->reads[m->n_reads++] = (uint32_t)record;
    }
}

void cad_maker_list_reads(CadMaker *m) {
    CadOperands of;
    CadGraph *const graph = m->graph;
    size_t n_waited_for = 0, former = 0; /* guards, and the call that waits for the last of them */
    for (size_t i = 0; i < graph->n_records; i++) {
        if (is_made(m, i)) {
            cad_maker_operands(m, i, &of);
            for (size_t k = 0; k < of.n; k++) {
                list_read(m, record_of(m, of.ids[k]));
            }
        }
        if (is_made(m, i) && waits(graph, &graph->records[i])) {
            for (; n_waited_for < graph->n_guards; n_waited_for++) {
                const size_t number = record_of(m, graph->guards[n_waited_for].id);
                if (number >= i) {
                    break;
                }
                list_read(m, number);
                m->waiting[n_waited_for] = (uint32_t)i;
            }
            if (former > 0) {
                list_read(m, former);
            }
            former = n_waited_for > 0 ? i : 0;
        }
        m->first_read[i + 1] = m->n_reads;
    }
}

/* --- inputs that are referred to --- */

/* What becomes of inputs. */
enum {
    TAKEN = 1,  /* they are taken from at indices, */
    SEEN = 2,   /* seen through views, */
    COPIED = 4, /* or read number by number: these have to stand in their places */
};

static uint8_t way_of_reading(const CadRecord *record, size_t operand) {
    if (!cad_record_has_plan(record)) {
        return COPIED;
    }
    return record->kind == CAD_RECORD_TAKE && operand == 0 ? TAKEN : SEEN;
}

/* Whether a pack is a stretch of one array, whose places it has. */
static int is_stretch(const CadMaker *m, const CadRecord *record) {
    const size_t size = cad_record_size(record);
    return record->kind == CAD_RECORD_PACK &&
           cad_graph_stretch(m->graph, cad_graph_packed(m->graph, record), size) == size;
}

/* From the last record on, so that it is known of a pack how it is read. */
static void find_ways(CadMaker *m, uint8_t *ways) {
    for (size_t k = 0; k < m->n_ends; k++) {
        ways[record_of(m, m->ends[k])] |= COPIED;
    }
    for (size_t i = m->graph->n_records; i-- > 0;) {
        if (is_made(m, i) && is_stretch(m, &m->graph->records[i])) {
            ways[record_of(m, cad_graph_packed(m->graph, &m->graph->records[i])[0])] |= ways[i];
        } else if (is_made(m, i)) {
            EACH_READ(m, i, k) {
                ways[m->reads[k]] |= way_of_reading(&m->graph->records[i], k - m->first_read[i]);
            }
        }
    }
}

void cad_maker_refer_to_inputs(CadMaker *m) {
    enum {
        LEAST_TAKEN = 64,
        LEAST_SEEN = 2 * CAD_TILE,
        MOST = 8
    }; /* from which on it is worth it */
    CadProgram *program = m->program;
    uint8_t *const ways = m->n_places >= LEAST_TAKEN
                              ? cad_memory_take(&m->memory, m->graph->n_records, 1)
                              : NULL; /* inputs are small */
    if (ways == NULL) {
        return;
    }
    find_ways(m, ways);
    uint32_t records[MOST];
    for (size_t k = 0; k < m->n_inputs && program->n_referred < MOST; k++) {
        const uint32_t i = cad_graph_record_of(m->graph, m->inputs[k]);
        const uint32_t size = m->graph->records[i].of.array.size;
        if (m->uses[i] > 0 && !(ways[i] & COPIED) &&
            size >= (ways[i] == TAKEN ? LEAST_TAKEN : LEAST_SEEN) &&
            GROW(program, referred, program->n_referred, 1)) {
            records[program->n_referred] = i;
            program->referred[program->n_referred++] =
                (CadReferred){m->place[i], size, m->n_places++, -1, -1};
        }
    }
    /* Behind all pointers, which are behind all inputs, is where floats are copied to. */
    for (size_t k = 0; k < program->n_referred; k++) {
        if (ways[records[k]] == SEEN) {
            program->referred[k].floats = cad_maker_take_input(m, records[k]);
        }
    }
}
