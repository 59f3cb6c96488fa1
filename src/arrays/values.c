/* What entries over arrays compute. */
#include "arrays/kinds.h"
#include "kernels/single.h"

static void sum_rows(Walk *walk, float *room) {
    do {
        const CadStrip to = values_at(walk, 0, 0), from = values_at(walk, 1, 0);
        if (to.step == 0) {
            cad_strip_sum_single(to.data, from, walk->n, room);
        } else {
            cad_strip_add_single(to, from, walk->n);
        }
    } while (advance(walk));
}

static void add_products(Walk *walk) {
    double products[CAD_TILE];
    float room[CAD_TILE];
    const CadStrip by_pairs = {products, 1};
    while (next_tile(walk)) {
        const size_t n = walk->width;
        const CadStrip to = values_at(walk, 0, walk->first);
        const CadStrip x[2] = {values_at(walk, 1, walk->first), values_at(walk, 2, walk->first)};
        cad_strip_value_single(CAD_OP_multiply, by_pairs, x, n);
        if (to.step == 0) {
            cad_strip_sum_single(to.data, by_pairs, n, room);
        } else {
            cad_strip_add_single(to, by_pairs, n);
        }
    }
}

static void run_along(CadStrip to, CadStrip from, size_t n) {
    float sum = 0.0f;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
        const float term = (float)from.data[i * from.step];
        sum = i == 0 ? term : sum + term;
        to.data[i * to.step] = (double)sum;
    }
}

static void run_rows(Walk *walk, int backwards) {
    do {
        CadStrip to = values_at(walk, 0, 0), from = values_at(walk, 1, 0);
        if (backwards) {
            const ptrdiff_t last = (ptrdiff_t)walk->n - 1;
            to = (CadStrip){to.data + last * to.step, -to.step};
            from = (CadStrip){from.data + last * from.step, -from.step};
        }
        run_along(to, from, walk->n);
    } while (advance(walk));
}

/* Of floats an entry of a kind (table/kinds.def) computes as NumPy does. */
static void compute_in_single(CadTape *tape, CadEntry entry, CadPlan *plan) {
    const CadOp op = CAD_CODE_OP(entry.code);
    const int traits = cad_entry_kinds[op].traits;
    float *const room = (float *)tape->workspace;
    if ((traits & CAD_ADDS) != 0 && !cad_plan_extra(plan)[0]) {
        memset(tape->values + entry.out, 0, entry.b * sizeof *tape->values);
    }
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    if ((traits & CAD_RUNS) != 0) {
        run_rows(&walk, (traits & CAD_BACKWARDS) != 0);
    } else if (op == CAD_OP_SUM) {
        sum_rows(&walk, room);
    } else {
        add_products(&walk);
    }
}

void cad_term_value(CadTape *tape, CadEntry entry, CadPlan *plan) {
    if (cad_plan_is_single(plan) && CAD_CODE_OP(entry.code) != CAD_OP_MATMUL_SINGLE) {
        compute_in_single(tape, entry, plan);
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
