/* The value sweep: run the recorded operations again. */
#include "sweeps/sweeps.h"

void cad_sweep_value(CadTape *tape, size_t begin, size_t end) {
    double *const value = tape->values;
    cad_sweep_undo(tape, begin, end);
    for (size_t i = begin; i < end; i++) {
        const CadEntry e = tape->entries[i];
        const CadOp op = CAD_CODE_OP(e.code);
        if (CAD_IS_ARRAY_ENTRY(e)) {
            cad_array_value(tape, e);
        } else if (cad_entry_assigns_number(e)) {
            value[e.out] = value[e.a];
            value[e.a] = value[e.b];
        } else if (cad_op_is_row(op)) {
            const double z = i > 0 ? value[tape->entries[i - 1].a] : 0.0;
            value[e.out] = cad_op_value(op, value[e.a], value[e.b], z);
        }
    }
}
