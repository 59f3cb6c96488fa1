/* What entries over arrays compute. */
#include "arrays/kinds.h"

void cad_assign_value(CadTape *tape, CadEntry entry, CadPlan *plan) {
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    double *kept = tape->values + entry.out;
    do {
        const CadStrip target = values_at(&walk, 0, 0);
        const CadStrip source = values_at(&walk, 1, 0);
        for (size_t i = 0; i < walk.n; i++) {
            double *const place = target.data + (ptrdiff_t)i * target.step;
            *kept++ = *place;
            *place = source.data[(ptrdiff_t)i * source.step];
        }
    } while (advance(&walk));
}

void cad_scatter_value(CadTape *tape, CadEntry entry, CadPlan *plan) {
    double *const value = tape->values;
    for (int64_t i = 0; i < plan->size; i++) {
        const int64_t target = indexed(tape, plan, i);
        value[entry.out + i] = value[target];
        value[target] = value[scattered(plan, i)];
    }
}

void cad_array_exchange(CadTape *tape, CadEntry entry, int undo) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    double *const kept = tape->values + entry.out;
    if (cad_entry_kind(entry)->indexed) {
        /* One after the other: a target may occur several times. */
        for (int64_t i = 0; i < plan->size; i++) {
            const int64_t k = undo ? plan->size - 1 - i : i;
            exchange(&kept[k], &tape->values[indexed(tape, plan, k)]);
        }
        return;
    }
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    int64_t k = 0;
    do {
        const CadStrip target = values_at(&walk, 0, 0);
        for (size_t i = 0; i < walk.n; i++) {
            exchange(&kept[k++], target.data + (ptrdiff_t)i * target.step);
        }
    } while (advance(&walk));
}

void cad_add_at_value(CadTape *tape, CadEntry entry, CadPlan *plan) {
    (void)entry;
    for (int64_t i = 0; i < plan->size; i++) {
        tape->values[indexed(tape, plan, i)] += tape->values[scattered(plan, i)];
    }
}

void cad_gather_value(CadTape *tape, CadEntry entry, CadPlan *plan) {
    for (int64_t i = 0; i < plan->size; i++) {
        tape->values[entry.out + i] = tape->values[indexed(tape, plan, i)];
    }
}

void cad_term_value(CadTape *tape, CadEntry entry, CadPlan *plan) {
    const int adds = (cad_entry_kind(entry)->traits & CAD_ADDS) != 0;
    if (adds && !cad_plan_extra(plan)[0]) {
        memset(tape->values + entry.out, 0, entry.b * sizeof *tape->values);
    }
    CadTerm term = {.plan = plan, .lanes = 1, .store = !adds, .room = tape->workspace};
    cad_term_bind_values(tape, &term);
    cad_term_run(CAD_CODE_OP(entry.code), &term);
}

void cad_row_value(CadTape *tape, CadEntry entry, CadPlan *plan) {
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    compute_rows(&walk, CAD_CODE_OP(entry.code));
}
