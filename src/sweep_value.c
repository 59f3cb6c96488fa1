/* The value sweep: run the recorded operations again. */
#include "sweep.h"

void cad_sweep_value(CadTape *tape, size_t begin, size_t end) {
    double *const value = tape->values;
    for (size_t i = begin; i < end; i++) {
        const CadEntry e = tape->entries[i];
        const CadOp op = CAD_CODE_OP(e.code);
        if (op > CAD_OP_THIRD) {
            const double z = i > 0 ? value[tape->entries[i - 1].a] : 0.0;
            value[e.out] = cad_op_value(op, value[e.a], value[e.b], z);
        }
    }
}
