/* See terms.h. */
#include "arrays/terms.h"

#include "arrays/short_rows.h"
#include "kernels/single.h"

/* --- the kernels of kinds.def --- */

typedef void CadTermKernel(const CadTerm *term);

/* A walk over the views of a term. */
static Walk start(const CadTerm *term, int kept) {
    Walk walk;
    start_walk_in(&walk, NULL, term->plan, kept);
    return walk;
}

static ptrdiff_t lanes_of_view(const CadTerm *term, int view) {
    return view == 0 || view == term->along ? (ptrdiff_t)term->lanes : 1;
}

/* The row of a view; of several lanes the first ones. */
static CadStrip row_of(const CadTerm *term, const Walk *walk, int view) {
    const ptrdiff_t lanes = lanes_of_view(term, view);
    return (CadStrip){term->data[view] + (ptrdiff_t)walk->at[view] * lanes,
                      (ptrdiff_t)walk->step[view] * lanes};
}

static CadMatrix matrix_in(const CadTerm *term, const Walk *walk, int view, int row, int column) {
    const ptrdiff_t lanes = lanes_of_view(term, view);
    const CadMatrix matrix =
        matrix_at(walk, view, term->data[view] + (ptrdiff_t)walk->at[view] * lanes, row, column);
    return (CadMatrix){matrix.data, matrix.row * lanes, matrix.column * lanes};
}

/* Sums over a last axis that is short, or over one behind an axis along which all stands side by
 * side: then row by row. 0 if it is neither. */
static int sum_two_axes(const CadTerm *term) {
    CadPlan *const plan = term->plan;
    const int last = plan->ndim - 1;
    if (last < 1 || term->lanes > 1) {
        return 0;
    }
    const int64_t *const shape = cad_plan_shape(plan);
    const int64_t *const to = cad_plan_view(plan, 0) + 1, *const from = cad_plan_view(plan, 1) + 1;
    const size_t n = (size_t)shape[last], rows = (size_t)shape[last - 1];
    const int is_short = to[last] == 0 && from[last] == 1 && n <= CAD_SHORT_ROW;
    const int is_beside = term->in_any_order && to[last] == 0 && to[last - 1] == 1 &&
                          from[last - 1] == 1 && from[last] != 1;
    if (!is_short && !is_beside) {
        return 0;
    }
    Walk walk = start(term, 2);
    do {
        const CadStrip sums = {term->data[0] + walk.at[0], (ptrdiff_t)to[last - 1]};
        const CadStrip x = {term->data[1] + walk.at[1], (ptrdiff_t)from[last - 1]};
        if (is_short) {
            cad_sum_short_rows(sums, x, term->store, n, rows);
            continue;
        }
        for (size_t k = 0; k < n; k++) {
            const CadStrip row = {x.data + (ptrdiff_t)k * from[last], 1};
            cad_strip_add(sums, row, term->store && k == 0, rows);
        }
    } while (advance(&walk));
    return 1;
}

static void cad_sum_term(const CadTerm *term) {
    if (sum_two_axes(term)) {
        return;
    }
    Walk walk = start(term, 1);
    do {
        const CadStrip to = row_of(term, &walk, 0), from = row_of(term, &walk, 1);
        if (term->lanes == 1) {
            cad_strip_add(to, from, term->store, walk.n);
        } else {
            cad_lanes_add(term->lanes, to, from, term->store, walk.n);
        }
    } while (advance(&walk));
}

static void multiply(const CadTerm *term, CadMatrix to, CadMatrix a, CadMatrix b, size_t m,
                     size_t n, size_t p) {
    if (!term->absorbs && term->store) {
        cad_multiply_matrices(to, a, b, m, n, p);
    } else if (term->lanes == 1) {
        add_matrix_product(term->room, to, a, b, term->store, m, n, p);
    } else if (term->along == 2) {
        cad_lanes_multiply(to, a, b, term->lanes, term->store, m, n, p, term->room);
    } else {
        cad_lanes_multiply_left(to, a, b, term->lanes, term->store, m, n, p, term->room);
    }
}

static void cad_product_term(const CadTerm *term) {
    Walk walk = start(term, 3);
    const int64_t *const core = cad_plan_shape(term->plan) + walk.axes;
    do {
        multiply(term, matrix_in(term, &walk, 0, 0, 2), matrix_in(term, &walk, 1, 0, 1),
                 matrix_in(term, &walk, 2, 1, 2), (size_t)core[0], (size_t)core[1],
                 (size_t)core[2]);
    } while (advance(&walk));
}

static CadEither either_in(const CadTerm *term, const Walk *walk, int view, int row, int column) {
    const CadMatrix steps = matrix_at(walk, view, NULL, row, column);
    float *const floats = term->floats[view];
    return floats == NULL
               ? (CadEither){.doubles = matrix_in(term, walk, view, row, column)}
               : (CadEither){.floats = {floats + walk->at[view], steps.row, steps.column}};
}

/* In single precision, but along several directions. */
static void cad_product_single_term(const CadTerm *term) {
    Walk walk = start(term, 3);
    const int64_t *const core = cad_plan_shape(term->plan) + walk.axes;
    const size_t m = (size_t)core[0], n = (size_t)core[1], p = (size_t)core[2];
    if (term->lanes > 1) {
        cad_product_term(term);
        return;
    }
    do {
        const CadEither to = either_in(term, &walk, 0, 0, 2), a = either_in(term, &walk, 1, 0, 1),
                        b = either_in(term, &walk, 2, 1, 2);
        if (n == 1 && term->absorbs) {
            add_outer_product(to.doubles, a.doubles, b.doubles, term->store, m, p);
        } else {
            cad_multiply_matrices_single(to, a, b, term->store, m, n, p, term->room);
        }
    } while (advance(&walk));
}

/* Products of numbers are added as they are, as NumPy has it; those of derivatives absorb. */
static void add_products(CadStrip to, CadStrip x, CadStrip y, int store, size_t n) {
    double products[CAD_TILE];
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
        products[i] = x.data[i * x.step] * y.data[i * y.step];
    }
    cad_strip_add(to, (CadStrip){products, 1}, store, n);
}

static void cad_vecdot_term(const CadTerm *term) {
    Walk walk = start(term, 1);
    while (next_tile(&walk)) {
        const CadStrip to = cad_strip_from(row_of(term, &walk, 0), walk.first);
        const CadStrip x = cad_strip_from(row_of(term, &walk, 1), walk.first);
        const CadStrip y = cad_strip_from(row_of(term, &walk, 2), walk.first);
        if (!term->absorbs) {
            add_products(to, x, y, term->store, walk.width);
        } else if (term->lanes == 1) {
            cad_strip_add_product(to, x, y, term->store, walk.width);
        } else if (term->along == 1) {
            cad_lanes_add_product(term->lanes, to, x, y, term->store, walk.width);
        } else {
            cad_lanes_add_product(term->lanes, to, y, x, term->store, walk.width);
        }
    }
}

static void run_along(CadStrip to, CadStrip from, int store, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double *const place = to.data + (ptrdiff_t)i * to.step;
        sum = i == 0 ? from.data[0] : sum + from.data[(ptrdiff_t)i * from.step];
        *place = store ? sum : *place + sum;
    }
}

static void run_rows(const CadTerm *term, int backwards) {
    Walk walk = start(term, 1);
    do {
        CadStrip to = row_of(term, &walk, 0), from = row_of(term, &walk, 1);
        if (backwards) {
            const ptrdiff_t last = (ptrdiff_t)walk.n - 1;
            to = (CadStrip){to.data + last * to.step, -to.step};
            from = (CadStrip){from.data + last * from.step, -from.step};
        }
        for (size_t lane = 0; lane < term->lanes; lane++) {
            run_along((CadStrip){to.data + lane, to.step}, (CadStrip){from.data + lane, from.step},
                      term->store, walk.n);
        }
    } while (advance(&walk));
}

static void cad_cumsum_term(const CadTerm *term) {
    run_rows(term, 0);
}

static void cad_cumsum_back_term(const CadTerm *term) {
    run_rows(term, 1);
}

static CadTermKernel *const kernels[CAD_OP_LEAF] = {
#define CAD_KIND(word, name, text, operands, core, traits, kernel, ...)                           \
    [CAD_OP_##word] = cad_##kernel##_term,
#include "table/kinds.def"
};

void cad_term_run(CadOp op, const CadTerm *term) {
    kernels[op](term);
}

void cad_term_bind_values(const CadTape *tape, CadTerm *term) {
    for (int k = 0; k < term->plan->n_views; k++) {
        term->data[k] = cad_tape_values(tape, cad_plan_view(term->plan, k)[0]);
    }
}

/* Whether the kernel of a term multiplies matrices of floats by BLAS. */
static int reads_floats(CadOp op, const CadTerm *term) {
    return op == CAD_OP_MATMUL_SINGLE && term->room != NULL && cad_multiplies_floats() &&
           cad_plan_shape(term->plan)[term->plan->ndim - 2] > 1;
}

void cad_term_bind(const CadTape *tape, CadOp op, CadTerm *term) {
    if (!reads_floats(op, term)) {
        cad_term_bind_values(tape, term);
        return;
    }
    for (int k = 0; k < term->plan->n_views; k++) {
        const int64_t slot = cad_plan_view(term->plan, k)[0];
        term->floats[k] = (float *)cad_tape_floats(tape, slot);
        term->data[k] = term->floats[k] != NULL ? NULL : cad_tape_values(tape, slot);
    }
}

void cad_term_bind_target(const CadTape *tape, CadOp op, CadTerm *term) {
    const int64_t *const view = cad_plan_view(term->plan, 0);
    term->floats[0] = NULL;
    if (tape->n_lent > 0 && term->store && reads_floats(op, term) && view[term->plan->ndim] == 1) {
        term->floats[0] = cad_tape_float_adjoints(tape, view[0]);
    }
    term->data[0] = term->floats[0] != NULL ? NULL : cad_tape_adjoints(tape, view[0]);
}

/* --- requests --- */

CadPlan *cad_term_plan(int ndim, const int64_t *shape, int n_views, CadRequestedPlan *room) {
    CadPlan *const plan = (CadPlan *)room->words;
    *plan = (CadPlan){.ndim = (uint16_t)ndim, .n_views = (uint16_t)n_views, .index = -1};
    plan->words = (uint32_t)(CAD_PLAN_WORDS + ndim + n_views * (ndim + 1));
    memcpy(cad_plan_shape(plan), shape, (size_t)ndim * sizeof *shape);
    return plan;
}

CadPlan *cad_term_request(const CadPull *pull, CadPlan *plan, int which, CadRequestedPlan *room) {
    const CadEntryKind *const kind = &cad_entry_kinds[pull->op];
    const int ndim = plan->ndim, outer = ndim - kind->core;
    int64_t shape[CAD_MOST_AXES];
    cad_requested_axes(pull, ndim, outer, cad_plan_shape(plan), shape);
    CadPlan *const to = cad_term_plan(ndim, shape, kind->n_views, room);
    for (int k = 0; k < kind->n_views; k++) {
        const int64_t *const from = cad_plan_view(plan, k == 0 ? which : pull->of[k - 1]);
        int64_t *const view = cad_plan_view(to, k);
        view[0] = from[0];
        cad_requested_axes(pull, ndim, outer, from + 1, view + 1);
    }
    return to;
}

int cad_term_fills(CadOp op, CadPlan *plan, int view, int64_t span) {
    const int64_t *const shape = cad_plan_shape(plan);
    const int64_t *const strides = cad_plan_view(plan, view) + 1;
    const int inner = cad_op_multiplies(op) ? plan->ndim - 2 : -1;
    int left = 0;
    for (int i = 0; i < plan->ndim; i++) {
        left += shape[i] > 1 && i != inner;
    }
    int64_t covered = 1;
    for (int found = 1; left > 0 && found; left -= found) { /* axes from the inside out */
        found = 0;
        for (int i = 0; i < plan->ndim && !found; i++) {
            if (shape[i] > 1 && i != inner && strides[i] == covered) {
                covered *= shape[i];
                found = 1;
            }
        }
    }
    return left == 0 && covered == span;
}
