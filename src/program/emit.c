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
