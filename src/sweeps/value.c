/* The value sweep: run the recorded operations again. */
#include "sweeps/sweeps.h"

/* What entries add to are adjoints of recorded sweeps, which began as zeros: unlike assignments,
 * additions are not undone. */
static void clear_sums(CadTape *tape, size_t begin, size_t end) {
    for (size_t i = begin; i < end && tape->n_plan_words > 0; i++) {
        const CadEntry e = tape->entries[i];
        if (CAD_IS_ARRAY_ENTRY(e) && cad_plan_adds(cad_entry_kind(e), cad_tape_plan(tape, e))) {
            const CadSpan sums = cad_entry_result(e, cad_tape_plan(tape, e));
            memset(tape->values + sums.low, 0,
                   (size_t)(sums.high + 1 - sums.low) * sizeof *tape->values);
        }
    }
}

void cad_sweep_value(CadTape *tape, size_t begin, size_t end) {
    double *const value = tape->values;
    CadSlot third = 0;
    cad_sweep_undo(tape, begin, end);
    clear_sums(tape, begin, end);
    for (size_t i = begin; i < end; i++) {
        const CadEntry e = tape->entries[i];
        const CadOp op = CAD_CODE_OP(e.code);
        if (CAD_IS_ARRAY_ENTRY(e)) {
            cad_array_value(tape, e);
        } else if (cad_entry_assigns_number(e)) {
            value[e.out] = value[e.a];
            value[e.a] = value[e.b];
        } else if (op == CAD_OP_THIRD) {
            third = e.a;
        } else if (cad_op_is_row(op)) {
            value[e.out] = cad_op_value(op, value[e.a], value[e.b], value[third]);
        }
    }
}
