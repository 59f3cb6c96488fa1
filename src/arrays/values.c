/* What entries over arrays compute. */
#include "arrays/kinds.h"
#include "arrays/singles.h"
#include "kernels/single.h"

void cad_term_value(CadTape *tape, CadEntry entry, CadPlan *plan) {
    if (cad_plan_is_single(plan) && CAD_CODE_OP(entry.code) != CAD_OP_MATMUL_SINGLE) {
        cad_single_term_value(tape, entry, plan);
        return;
    }
    const int adds = (cad_entry_kind(entry)->traits & CAD_ADDS) != 0;
    if (adds && !cad_plan_extra(plan)[0]) {
        memset(tape->values + entry.out, 0, entry.b * sizeof *tape->values);
    }
    CadTerm term = {.plan = plan, .lanes = 1, .store = !adds, .room = tape->workspace};
    cad_term_bind(tape, CAD_CODE_OP(entry.code), &term);
    cad_term_run(CAD_CODE_OP(entry.code), &term);
}

void cad_row_value(CadTape *tape, CadEntry entry, CadPlan *plan) {
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    compute_rows(&walk, CAD_CODE_OP(entry.code),
                 cad_plan_is_single(plan) ? cad_strip_value_single : cad_strip_value);
}
