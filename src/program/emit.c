/* What a program consists of is appended here: instructions, lists, results, checks. */
#include "kernels/vectors.h"
#include "program/maker.h"

/* --- instructions --- */

void cad_maker_emit(CadMaker *m, CadInstruction instruction) {
    CadProgram *program = m->program;
    if (GROW(program, code, program->n_code, 1)) {
        instruction.fused = 1;
        instruction.near = m->graph->optimize && (instruction.kind == CAD_SINGLES ||
                                                  cad_vector_knows((CadOp)instruction.op));
        program->code[program->n_code++] = instruction;
    }
}

int cad_maker_add_list(CadMaker *m, size_t count, size_t *begin) {
    CadProgram *program = m->program;
    *begin = program->n_lists;
    if (!GROW(program, lists, program->n_lists, count)) {
        return 0;
    }
    program->n_lists += count;
    return 1;
}

int cad_maker_list_places(CadMaker *m, const CadId *ids, size_t count, size_t *begin) {
    if (!cad_maker_add_list(m, count, begin)) {
        return 0;
    }
    for (size_t k = 0; k < count; k++) {
        m->program->lists[*begin + k] = cad_maker_place_of(m, ids[k]);
    }
    return 1;
}

void cad_maker_emit_take(CadMaker *m, size_t begin, size_t count, int32_t out) {
    cad_maker_emit(
        m,
        (CadInstruction){.kind = CAD_TAKE, .n = (uint32_t)count, .out = out, .x = (int32_t)begin});
}

static int are_floats(const CadMaker *m, int32_t place) {
    return place >= FAR && m->far[cad_maker_far_block(m, place)].is_float;
}

void cad_maker_emit_vector(CadMaker *m, CadOp op, size_t count, int32_t out,
                           const CadPlaces x[3]) {
    const int floats = (are_floats(m, out) ? CAD_TO_FLOATS : 0) |
                       (are_floats(m, x[0].place) ? CAD_FROM_FLOATS : 0);
    cad_maker_emit(m, (CadInstruction){.kind = CAD_VECTOR,
                                       .floats = (uint8_t)(floats & 3),
                                       .op = (uint16_t)op,
                                       .n = (uint32_t)count,
                                       .out = out,
                                       .x = x[0].place,
                                       .y = x[1].place,
                                       .z = x[2].place,
                                       .sx = x[0].step,
                                       .sy = x[1].step,
                                       .sz = x[2].step});
}

size_t cad_maker_even_end(const CadMaker *m, const int32_t *places, size_t i, size_t count,
                          int32_t *step) {
    size_t end = i + 1;
    const int joins = end < count && are_moved_alike(m, places[end], places[i]);
    *step = joins ? places[end] - places[i] : 0;
    while (end < count && places[end] - places[end - 1] == *step &&
           are_moved_alike(m, places[end], places[i])) {
        end++;
    }
    return end;
}

CadPlaces cad_maker_gather(CadMaker *m, size_t begin, size_t count, uint32_t level) {
    const int32_t *const places = m->program->lists + begin;
    CadPlaces found = {places[0], 0};
    if (cad_maker_even_end(m, places, 0, count, &found.step) == count) {
        m->program->n_lists = begin;
        return found;
    }
    const int32_t to = cad_maker_take_block(m, count);
    cad_maker_release_after(m, level, to, count);
    cad_maker_emit_take(m, begin, count, to);
    return (CadPlaces){to, 1};
}

/* --- results --- */

static void emit_stretch(CadMaker *m, CadStretch stretch) {
    CadProgram *program = m->program;
    if (stretch.n > 0 && GROW(program, outputs, program->n_outputs, 1)) {
        program->outputs[program->n_outputs++] = stretch;
        program->n_results += stretch.n;
    }
}

/* Stretches of results that stand evenly, and lists of what lies between. */
void cad_maker_emit_results(CadMaker *m) {
    enum { SHORT = 4 };
    const size_t n_roots = m->n_roots;
    size_t begin;
    if (!cad_maker_list_places(m, m->roots, n_roots, &begin)) {
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
