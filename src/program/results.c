/* Places of numbers in a list, and runs of them; results, and what is compared. */
#include "program/tiler.h"

int cad_maker_list_places(CadMaker *m, const CadId *ids, size_t count, size_t *begin) {
    if (!cad_maker_add_list(m, count, begin)) {
        return 0;
    }
    for (size_t k = 0; k < count; k++) {
        m->program->lists[*begin + k] = cad_maker_place_of(m, ids[k]);
    }
    return 1;
}

enum { SHORT = 4 }; /* numbers in a row, from which on they are no longer listed one by one */

/* The longest runs of places behind one another, all of one length, that a list consists of. */
static size_t length_of_runs(const int32_t *places, size_t n) {
    size_t length = n;
    for (size_t k = 1; k < n && length > 1; k++) {
        for (size_t rest = places[k] == places[k - 1] + 1 ? 0 : k; rest > 0;) {
            const size_t divisor = rest;
            rest = length % divisor;
            length = divisor;
        }
    }
    return length;
}

/* Whether places are referred to, those of some regions and those of lists that are read. */
typedef struct Referring {
    const CadProgram *program;
    int any, listed;
} Referring;

static void note_referred(void *visitor, const CadRegion *region) {
    Referring *const note = visitor;
    for (int64_t i = 0; i < n_ranges(region); i++) {
        const Access range = range_of(region, i);
        int refers = range.high >= CAD_LEAST_FLOAT;
        for (size_t k = 0; k < note->program->n_referred; k++) {
            const CadReferred referred = note->program->referred[k];
            refers |= range.high >= referred.place &&
                      range.low < (int64_t)referred.place + referred.size;
        }
        note->any |= refers;
        note->listed |= refers && region->listed != NULL && !region->writes;
    }
}

static void find_referring(CadProgram *program) {
    Referring all = {program, 0, 0};
    for (size_t k = program->n_code; k-- > 0;) {
        CadInstruction *const i = &program->code[k];
        Referring note = {program, 0, 0};
        cad_instruction_visit(program, i, note_referred, &note);
        i->refers = note.any;
        all.listed |= note.listed;
        for (uint32_t inner = 1; inner < i->fused; inner++) {
            i->refers |= i[inner].refers;
        }
    }
    for (size_t k = 0; k < program->n_outputs; k++) {
        const CadStretch s = program->outputs[k];
        const int64_t n = s.listed ? s.n : 0;
        note_referred(&all, &(CadRegion){.lengths = &n, .listed = program->lists + s.place});
    }
    program->lists_refer = all.listed;
}

void cad_maker_find_runs(CadMaker *m) {
    CadProgram *const program = m->program;
    for (size_t k = 0; k < program->n_code; k++) {
        CadInstruction *const i = &program->code[k];
        if (i->kind == CAD_TAKE || (i->kind == CAD_ADD_AT && i->sx == 1)) {
            const int32_t *const places = program->lists + (i->kind == CAD_TAKE ? i->x : i->z);
            const size_t length = length_of_runs(places, i->n);
            i->y = length >= SHORT ? (int32_t)length : 0;
        }
    }
    if (program->n_referred > 0) {
        find_referring(program);
    }
}

static void emit_stretch(CadMaker *m, CadStretch stretch) {
    CadProgram *program = m->program;
    if (stretch.n > 0 && GROW(program, outputs, program->n_outputs, 1)) {
        program->outputs[program->n_outputs++] = stretch;
        program->n_results += stretch.n;
    }
}

/* How many of some numbers are those of an array, all in order: its size, or 0. */
static size_t whole_array(const CadMaker *m, uint32_t i, const CadId *ids, size_t n) {
    const size_t size = m->graph->records[i].of.array.size;
    return ids[0] == m->graph->records[i].of.array.first &&
                   cad_graph_stretch(m->graph, ids, n) == size
               ? size
               : 0;
}

/* List where roots stand. Those that are a whole array of floats stand where the floats do.
 * Answers 0 if there is no room. */
static int list_roots(CadMaker *m, size_t *begin) {
    if (!cad_maker_add_list(m, m->n_roots, begin)) {
        return 0;
    }
    for (size_t k = 0; k < m->n_roots;) {
        const uint32_t i = record_of(m, m->roots[k]);
        const size_t size = is_array(m, i) && m->place[i] == NOWHERE && m->floats[i] != NOWHERE
                                ? whole_array(m, i, m->roots + k, m->n_roots - k)
                                : 0;
        for (size_t j = 0; j < size && size >= SHORT; j++) {
            m->program->lists[*begin + k + j] = m->floats[i] + (int32_t)j;
        }
        if (size < SHORT) {
            m->program->lists[*begin + k] = cad_maker_place_of(m, m->roots[k]);
        }
        k += size < SHORT ? 1 : size;
    }
    return 1;
}

/* Stretches of results that stand evenly, and lists of what lies between. */
void cad_maker_emit_results(CadMaker *m) {
    const size_t n_roots = m->n_roots;
    size_t begin;
    if (!list_roots(m, &begin)) {
        return;
    }
    const int32_t *const places = m->program->lists + begin;
    size_t listed = 0; /* numbers before k that are in no stretch yet */
    for (size_t k = 0; k < n_roots && m->status == CAD_OK;) {
        int32_t step;
        const size_t end = cad_maker_even_end(m, places, k, n_roots, &step);
        if (end - k >= SHORT || (end == n_roots && listed == 0)) {
            emit_stretch(m, (CadStretch){(int32_t)(begin + k - listed), 0, (uint32_t)listed, 1});
            emit_stretch(m, (CadStretch){places[k], step, (uint32_t)(end - k), 0});
            listed = 0;
            k = end;
        } else {
            listed++;
            k++;
        }
    }
    emit_stretch(m, (CadStretch){(int32_t)(begin + n_roots - listed), 0, (uint32_t)listed, 1});
}

void cad_maker_emit_checks(CadMaker *m, uint32_t level) {
    CadProgram *program = m->program;
    const size_t begin = program->n_checks;
    for (; m->n_checked < m->graph->n_guards && m->check_level[m->n_checked] <= level;
         m->n_checked++) {
        const CadOutcome guard = m->graph->guards[m->n_checked];
        CadId id = guard.id;
        double value;
        resolve(m, &id);
        if (cad_graph_is_constant(m->graph, id, &value) && value == guard.value) {
            continue;
        }
        if (!GROW(program, checks, program->n_checks, 1)) {
            return;
        }
        program->checks[program->n_checks++] =
            (CadCheck){cad_maker_place_of(m, guard.id), guard.number, guard.value};
    }
    if (program->n_checks > begin && !program->compares_last) {
        cad_maker_emit(m, (CadInstruction){.kind = CAD_COMPARE,
                                           .n = (uint32_t)(program->n_checks - begin),
                                           .x = (int32_t)begin});
    }
}
