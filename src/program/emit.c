/* What a program consists of is appended here: instructions and lists. */
#include "kernels/vectors.h"
#include "program/maker.h"

/* --- instructions --- */

void cad_maker_emit(CadMaker *m, CadInstruction instruction) {
    CadProgram *program = m->program;
    if (GROW(program, code, program->n_code, 1)) {
        instruction.fused = 1;
        /* what is emitted once more, in tiles, stays as it is */
        instruction.near |= (m->graph->optimize || m->is_partial) &&
                            (cad_step_is(&instruction, CAD_OVER_SINGLES)
                                 ? m->graph->optimize
                                 : cad_vector_knows((CadOp)instruction.op));
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

void cad_maker_emit_operations(CadMaker *m, size_t at, size_t n, size_t times) {
    cad_maker_emit(
        m, (CadInstruction){
               .kind = CAD_SINGLES, .n = (uint32_t)n, .x = (int32_t)at, .y = (int32_t)times});
}

void cad_maker_emit_zeros(CadMaker *m, size_t count, int32_t out) {
    if (count > 0) {
        cad_maker_emit(m, (CadInstruction){.kind = CAD_ZEROS, .n = (uint32_t)count, .out = out});
    }
}

CadInstruction cad_terms(CadOp op, size_t count, int32_t out, size_t at, int in_any_order) {
    return (CadInstruction){.kind = CAD_TERMS,
                            .op = (uint16_t)op,
                            .n = (uint32_t)count,
                            .out = out,
                            .x = (int32_t)at,
                            .y = in_any_order != 0};
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
    const CadBeside beside = cad_maker_beside(m, places[i]);
    size_t end = i + 1;
    *step = end < count && cad_is_beside(beside, places[end]) ? places[end] - places[i] : 0;
    while (end < count && cad_is_beside(beside, places[end]) &&
           places[end] - places[end - 1] == *step) {
        end++;
    }
    return end;
}

/* Whether numbers are inputs, in whose places nothing else is written. */
static int are_inputs(const CadMaker *m, const int32_t *places, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (places[i] >= (int32_t)m->program->n_inputs) {
            return 0;
        }
    }
    return 1;
}

/* The same numbers, if they are side by side already. What is written on a level is not read there
 * in other places, so that there they are what they were. */
static const CadGathered *gathered_before(CadMaker *m, size_t begin, size_t count,
                                          uint32_t level) {
    const int32_t *const lists = m->program->lists;
    size_t n = 0;
    for (size_t k = 0; k < m->n_gathered && level != m->gathered_level; k++) {
        m->gathered[n] = m->gathered[k];
        n += m->gathered[k].stays != 0;
    }
    m->n_gathered = level != m->gathered_level ? n : m->n_gathered;
    m->gathered_level = level;
    for (const CadGathered *g = m->gathered, *end = g + m->n_gathered; g < end; g++) {
        if (g->size == count && lists[g->begin] == lists[begin] &&
            memcmp(lists + g->begin, lists + begin, count * sizeof *lists) == 0) {
            return g;
        }
    }
    return NULL;
}

CadPlaces cad_maker_gather(CadMaker *m, size_t begin, size_t count, uint32_t level) {
    const int32_t *const places = m->program->lists + begin;
    CadPlaces even = {places[0], 0};
    if (cad_maker_even_end(m, places, 0, count, &even.step) == count) {
        m->program->n_lists = begin;
        return even;
    }
    const CadGathered *const same = gathered_before(m, begin, count, level);
    if (same != NULL) {
        m->program->n_lists = begin;
        return (CadPlaces){same->to, 1};
    }
    const int32_t to = cad_maker_take_block(m, count);
    cad_maker_release_after(m, level, to, count);
    if (to >= FAR && m->use == CAD_AT_A_POINT) { /* whose points do not go in lanes */
        cad_maker_emit_copies(m, begin, count, to);
    } else {
        cad_maker_emit_take(m, begin, count, to);
    }
    if (GROW(m, gathered, m->n_gathered, 1)) {
        const int stays = to >= FAR && are_inputs(m, m->program->lists + begin, count);
        m->gathered[m->n_gathered++] = (CadGathered){begin, count, to, stays};
    }
    return (CadPlaces){to, 1};
}
