/* Instructions over the views of a plan: of elements, of kinds, and by indices. */
#include "arrays/short_rows.h"
#include "arrays/terms.h"
#include "kernels/whole.h"
#include "program/running.h"

/* Where the number at place 0 of a view would be. */
static double *base_of_view(const Places *places, CadPlan *plan, int view, Turn turn) {
    double *const base = base_of(places, cad_plan_view(plan, view)[0]);
    if (turn.number == 0) {
        return base;
    }
    const int64_t *const extra = cad_plan_extra(plan);
    const int64_t of_part = view == 0 ? extra[plan->n_views] * (int64_t)turn.part : 0;
    return base + extra[view] * (int64_t)turn.number + of_part;
}

void cad_start_walk(Walk *walk, const Places *places, CadPlan *plan, int kept, Turn turn) {
    start_walk_in(walk, places->own, plan, kept);
    for (int k = 0; k < plan->n_views; k++) {
        walk->values[k] = base_of_view(places, plan, k, turn);
    }
}

void cad_run_elements(const CadInstruction *i, CadPlan *plan, const Places *places, Turn turn) {
    Walk walk;
    if (cad_has_short_rows(plan)) {
        cad_start_walk(&walk, places, plan, 2, turn);
        cad_compute_short_rows(&walk, (CadOp)i->op, value_of(i));
        return;
    }
    cad_start_walk(&walk, places, plan, 1, turn);
    compute_rows(&walk, (CadOp)i->op, value_of(i));
}

/* Many small products, those along the last axis of the stack together: else it would be calls of
 * a loop that take the time. 0 if they are few, or not small. */
static int run_small_products(CadPlan *plan, const Places *places, Turn turn) {
    enum { SMALL = 64, MANY = 8 };
    const int64_t *const core = cad_plan_shape(plan) + plan->ndim - 3;
    if (plan->ndim < 4 || core[-1] < MANY || core[0] * core[1] * core[2] > SMALL) {
        return 0;
    }
    Walk walk;
    cad_start_walk(&walk, places, plan, 4, turn);
    ptrdiff_t steps[3];
    for (int k = 0; k < 3; k++) {
        steps[k] = (ptrdiff_t)cad_plan_view(plan, k)[1 + walk.axes];
    }
    do {
        cad_multiply_each(matrix_of_values(&walk, 0, 1, 3), matrix_of_values(&walk, 1, 1, 2),
                          matrix_of_values(&walk, 2, 2, 3), (size_t)core[0], (size_t)core[1],
                          (size_t)core[2], (size_t)core[-1], steps);
    } while (advance(&walk));
    return 1;
}

void cad_run_terms(const CadInstruction *i, CadPlan *plan, const Places *places, Turn turn) {
    const CadOp op = (CadOp)i->op;
    if (cad_op_multiplies(op) && i->y && run_small_products(plan, places, turn)) {
        return;
    }
    if (op == CAD_OP_SUM && i->n == 0 && !i->y) { /* short ones are worth no call of a kernel */
        Walk walk;
        cad_start_walk(&walk, places, plan, 1, turn);
        do {
            cad_strip_add(values_at(&walk, 0, 0), values_at(&walk, 1, 0), 0, walk.n);
        } while (advance(&walk));
        return;
    }
    CadTerm term = {.plan = plan, .lanes = 1, .store = !adds_terms(i), .in_any_order = i->y != 0};
    for (int k = 0; k < plan->n_views; k++) {
        term.data[k] = base_of_view(places, plan, k, turn);
    }
    cad_term_run(op, &term);
}

/* A row at one index: taken from there, or added there. */
static inline void move_row(int adds, CadStrip to, CadStrip from, size_t n, ptrdiff_t index) {
    *(adds ? &to.data : &from.data) += index;
    if (to.step == 1 && from.step == 1 && adds) {
        cad_add_numbers(to.data, from.data, n);
        return;
    }
    if (to.step == 1 && from.step == 1) {
        cad_copy_numbers(to.data, from.data, n);
        return;
    }
    for (ptrdiff_t k = 0; k < (ptrdiff_t)n; k++) {
        const double number = from.data[k * from.step];
        to.data[k * to.step] = adds ? to.data[k * to.step] + number : number;
    }
}

/* A row of numbers, each at an index of its own: taken from there, or added there. 0 if an index
 * is out of bounds. */
static inline int move_each(int adds, CadStrip to, CadStrip from, CadStrip index, size_t n,
                            double length, ptrdiff_t stride) {
    enum { SOME = 256 };
    int32_t which[SOME];
    for (size_t first = 0; first < n; first += SOME) {
        const size_t count = n - first < SOME ? n - first : SOME;
        if (!cad_whole_to_indices(which, index, count, length)) {
            return 0;
        }
        if (stride == 1 && to.step == !adds && from.step == adds) { /* elements of a vector */
            for (size_t k = 0; k < count && adds; k++) {
                to.data[which[k]] += from.data[k];
            }
            for (size_t k = 0; k < count && !adds; k++) {
                to.data[k] = from.data[which[k]];
            }
        } else {
            for (ptrdiff_t k = 0; k < (ptrdiff_t)count; k++) {
                move_row(adds, cad_strip_from(to, (size_t)k), cad_strip_from(from, (size_t)k), 1,
                         which[k] * stride);
            }
        }
        to.data += SOME * to.step;
        from.data += SOME * from.step;
        index.data += SOME * index.step;
    }
    return 1;
}

int cad_run_by_index(const CadProgram *program, const CadInstruction *i, const Places *places,
                     int adds) {
    CadPlan *plan = (CadPlan *)(program->plans + i->x);
    const int64_t *extra = cad_plan_extra(plan);
    const double length = (double)extra[0];
    const ptrdiff_t stride = (ptrdiff_t)extra[1];
    int inside = 1;
    Walk walk;
    cad_start_walk(&walk, places, plan, 1, (Turn){0, 0});
    do {
        const CadStrip to = values_at(&walk, 0, 0), index = values_at(&walk, 2, 0);
        const CadStrip from = values_at(&walk, 1, 0);
        if (index.step != 0) {
            inside = move_each(adds, to, from, index, walk.n, length, stride);
        } else {
            int32_t which;
            inside = cad_whole_to_index(&which, *index.data, length);
            move_row(adds, to, from, inside ? walk.n : 0, which * stride);
        }
    } while (inside && advance(&walk));
    return inside;
}
