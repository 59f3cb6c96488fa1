/* The kernels of each kind of entry over arrays. Rules have none: they are carried out by their
 * holder. */
#include "arrays/kinds.h"

static const CadKernels row = {cad_row_value, cad_row_tangent, cad_row_reverse, cad_row_taylor};

static const CadKernels kernels[CAD_OP_THIRD] = {
#define CAD_KIND(word, name, text, operands, ...)                                                 \
    [CAD_OP_##word] = {cad_term_value, cad_term_tangent, cad_term_reverse,                        \
                       operands > 1 ? cad_term_taylor : NULL},
#include "table/kinds.def"
#define MOVE(word) [CAD_OP_##word] = {cad_move_value, cad_move_tangent, cad_move_reverse, NULL},
    MOVE(GATHER) MOVE(ASSIGN) MOVE(SCATTER) MOVE(ADD_AT)
#undef MOVE
};

const CadKernels *cad_kernels_of(CadOp op) {
    return cad_op_is_row(op) ? &row : &kernels[op];
}

void cad_array_value(CadTape *tape, CadEntry entry) {
    cad_kernels_of(CAD_CODE_OP(entry.code))->value(tape, entry, cad_tape_plan(tape, entry));
}

void cad_array_tangent(CadTape *tape, CadEntry entry, CadLanes tangents, double *room) {
    cad_kernels_of(CAD_CODE_OP(entry.code))
        ->tangent(tape, entry, cad_tape_plan(tape, entry), tangents, room);
}

CadStatus cad_array_taylor(CadTape *tape, CadEntry entry, CadSlot base, size_t order,
                           double *coefficients, CadSeries *series) {
    const CadKernels *const kind = cad_kernels_of(CAD_CODE_OP(entry.code));
    const CadLanes lanes = {coefficients, base, order};
    CadPlan *plan = cad_tape_plan(tape, entry);
    if (kind->taylor != NULL) {
        return kind->taylor(tape, entry, plan, lanes, series);
    }
    kind->tangent(tape, entry, plan, lanes, NULL);
    return CAD_OK;
}
