/* See arrays.h. */
#include "arrays.h"

#include "kernels.h"

#include <string.h>

/* --- walking over a plan --- */

/* All views of a plan, row by row: a row is the last axis. `at` are the slots of its first number,
 * `step` the strides along it. */
typedef struct Walk {
    CadPlan *plan;
    int axes; /* that are walked over: all but the last `kept` ones */
    size_t n;
    int64_t at[4];
    int64_t step[4];
    int64_t index[CAD_MOST_AXES];
} Walk;

static void start(Walk *walk, CadPlan *plan, int kept) {
    const int ndim = plan->ndim;
    walk->plan = plan;
    walk->axes = ndim > kept ? ndim - kept : 0;
    walk->n = ndim > 0 ? (size_t)cad_plan_shape(plan)[ndim - 1] : 1;
    for (int k = 0; k < plan->n_views; k++) {
        const int64_t *view = cad_plan_view(plan, k);
        walk->at[k] = view[0];
        walk->step[k] = ndim > 0 ? view[ndim] : 0;
    }
    for (int i = 0; i < walk->axes; i++) {
        walk->index[i] = 0;
    }
}

/* The next row; 0 if there is none. */
static int advance(Walk *walk) {
    CadPlan *plan = walk->plan;
    for (int axis = walk->axes; axis-- > 0;) {
        const int64_t length = cad_plan_shape(plan)[axis];
        const int64_t steps = ++walk->index[axis] < length ? 1 : 1 - length;
        for (int k = 0; k < plan->n_views; k++) {
            walk->at[k] += steps * cad_plan_view(plan, k)[axis + 1];
        }
        if (steps == 1) {
            return 1;
        }
        walk->index[axis] = 0;
    }
    return 0;
}

/* Numbers [first, ...) of the row that a view has in a buffer. */
static CadStrip strip_at(const Walk *walk, int view, double *buffer, size_t first) {
    return (CadStrip){buffer + walk->at[view] + (int64_t)first * walk->step[view],
                      (ptrdiff_t)walk->step[view]};
}

/* The same in a buffer of `lanes` numbers a slot, which begins at a slot. */
typedef struct Lanes {
    double *buffer;
    CadSlot base;
    size_t count;
} Lanes;

static CadStrip lane_at(const Walk *walk, int view, Lanes lanes, size_t first, size_t k) {
    const int64_t slot = walk->at[view] + (int64_t)first * walk->step[view] - lanes.base;
    return (CadStrip){lanes.buffer + slot * (int64_t)lanes.count + k,
                      (ptrdiff_t)(walk->step[view] * (int64_t)lanes.count)};
}

static size_t tile_from(const Walk *walk, size_t first) {
    return walk->n - first < CAD_TILE ? walk->n - first : CAD_TILE;
}

static int overwrites(CadOp op) {
    return op == CAD_OP_ASSIGN || op == CAD_OP_SCATTER;
}

static int is_active(const CadPlan *plan, int view) {
    return !(plan->passive >> view & 1);
}

/* --- appending --- */

/* Leave out axes of length 1, and join neighbours along which all views move evenly. Axes from
 * `fixed` on stay as they are. Answers how many axes there are now. */
static int coalesce(int ndim, int fixed, int64_t *shape, int n_views,
                    int64_t strides[][CAD_MOST_AXES]) {
    int count = 0;
    for (int axis = 0; axis < ndim; axis++) {
        int joins = count > 0 && axis < fixed;
        if (axis < fixed && shape[axis] == 1) {
            continue;
        }
        for (int k = 0; k < n_views && joins; k++) {
            joins = strides[k][count - 1] == strides[k][axis] * shape[axis];
        }
        const int place = joins ? count - 1 : count;
        shape[place] = joins ? shape[place] * shape[axis] : shape[axis];
        for (int k = 0; k < n_views; k++) {
            strides[k][place] = strides[k][axis];
        }
        count = place + 1;
    }
    return count;
}

static CadStatus prepare_workspace(CadTape *tape, size_t count) {
    if (tape->scratch == NULL && (tape->scratch = cad_scratch_new()) == NULL) {
        return CAD_NO_MEMORY;
    }
    if (count > tape->workspace_capacity) {
        double *grown = cad_memory_resize(tape->workspace, count, sizeof *grown);
        if (grown == NULL) {
            return CAD_NO_MEMORY;
        }
        tape->workspace = grown;
        tape->workspace_capacity = count;
    }
    return CAD_OK;
}

CadStatus cad_array_push(CadTape *tape, const CadRequest *request, CadSlot *out) {
    int64_t shape[CAD_MOST_AXES];
    int64_t strides[4][CAD_MOST_AXES];
    const int n_views = request->n_views;
    memcpy(shape, request->shape, (size_t)request->ndim * sizeof *shape);
    for (int k = 0; k < n_views; k++) {
        memcpy(strides[k], request->views[k].strides, (size_t)request->ndim * sizeof *shape);
    }
    const int matrices = request->op == CAD_OP_MATMUL;
    const int fixed = request->ndim - (matrices ? 3 : 0);
    const int ndim = coalesce(request->ndim, fixed, shape, n_views, strides);
    size_t room = 0;
    if (matrices) { /* for products of the size of any of the three */
        const int64_t m = shape[ndim - 3], n = shape[ndim - 2], p = shape[ndim - 1];
        const int64_t outer = n > p ? n : p, inner = n < p ? n : p;
        room = (size_t)(outer * (m > inner ? m : inner));
    }
    const int n_extra = request->index >= 0 || request->op == CAD_OP_SUM ? 2 : 0;
    const size_t words = (size_t)(CAD_PLAN_WORDS + ndim + n_views * (ndim + 1) + n_extra);
    CadPlan *plan;
    CadStatus status = prepare_workspace(tape, room);
    if (status == CAD_OK) {
        status = cad_tape_push_plan(tape, CAD_CODE(request->op, 0), request->slots, words, &plan);
    }
    if (status != CAD_OK) {
        return status;
    }
    const CadEntry entry = tape->entries[tape->n_entries - 1];
    *out = entry.out;
    plan->ndim = (uint16_t)ndim;
    plan->n_views = (uint16_t)n_views;
    plan->n_extra = (uint32_t)n_extra;
    plan->passive = request->passive;
    plan->index = request->index;
    plan->size = 1;
    for (int i = 0; i < ndim; i++) {
        cad_plan_shape(plan)[i] = shape[i];
        plan->size *= shape[i];
    }
    for (int k = 0; k < n_views; k++) {
        int64_t *view = cad_plan_view(plan, k);
        view[0] = request->views[k].slot == CAD_OWN ? entry.out : request->views[k].slot;
        memcpy(view + 1, strides[k], (size_t)ndim * sizeof *view);
    }
    memcpy(cad_plan_extra(plan), request->extra, (size_t)n_extra * sizeof *request->extra);
    tape->n_assigned += overwrites(request->op);
    cad_array_value(tape, entry);
    return CAD_OK;
}

/* --- offsets --- */

static int64_t offset(const CadTape *tape, const CadPlan *plan, int64_t i) {
    int64_t result;
    memcpy(&result, &tape->values[plan->index + i], sizeof result);
    return result;
}

/* The slot that the i-th offset names. */
static int64_t indexed(const CadTape *tape, CadPlan *plan, int64_t i) {
    return cad_plan_extra(plan)[0] + offset(tape, plan, i);
}

/* --- values --- */

static void exchange(double *x, double *y) {
    const double former = *x;
    *x = *y;
    *y = former;
}

static void assign_values(CadTape *tape, CadEntry entry, CadPlan *plan) {
    Walk walk;
    start(&walk, plan, 1);
    double *kept = tape->values + entry.out;
    do {
        const CadStrip target = strip_at(&walk, 0, tape->values, 0);
        const CadStrip source = strip_at(&walk, 1, tape->values, 0);
        for (size_t i = 0; i < walk.n; i++) {
            double *const place = target.data + (ptrdiff_t)i * target.step;
            *kept++ = *place;
            *place = source.data[(ptrdiff_t)i * source.step];
        }
    } while (advance(&walk));
}

/* The slot that the i-th number of a scatter comes from: its source has one axis at most. */
static int64_t scattered(CadPlan *plan, int64_t i) {
    const int64_t *view = cad_plan_view(plan, 0);
    return view[0] + (plan->ndim > 0 ? i * view[1] : 0);
}

static void scatter_values(CadTape *tape, CadEntry entry, CadPlan *plan) {
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
    if (CAD_CODE_OP(entry.code) == CAD_OP_SCATTER) {
        /* One after the other: a target may occur several times. */
        for (int64_t i = 0; i < plan->size; i++) {
            const int64_t k = undo ? plan->size - 1 - i : i;
            exchange(&kept[k], &tape->values[indexed(tape, plan, k)]);
        }
        return;
    }
    Walk walk;
    start(&walk, plan, 1);
    int64_t k = 0;
    do {
        const CadStrip target = strip_at(&walk, 0, tape->values, 0);
        for (size_t i = 0; i < walk.n; i++) {
            exchange(&kept[k++], target.data + (ptrdiff_t)i * target.step);
        }
    } while (advance(&walk));
}

static CadMatrix matrix_at(const Walk *walk, int view, double *data, int rows, int columns) {
    const int64_t *strides = cad_plan_view(walk->plan, view) + 1 + walk->axes;
    return (CadMatrix){data, (ptrdiff_t)strides[rows], (ptrdiff_t)strides[columns]};
}

static void multiply_matrices(CadTape *tape, CadPlan *plan) {
    Walk walk;
    start(&walk, plan, 3);
    const int64_t *core = cad_plan_shape(plan) + walk.axes;
    double *const value = tape->values;
    do {
        cad_multiply_matrices(matrix_at(&walk, 0, value + walk.at[0], 0, 2),
                              matrix_at(&walk, 1, value + walk.at[1], 0, 1),
                              matrix_at(&walk, 2, value + walk.at[2], 1, 2), (size_t)core[0],
                              (size_t)core[1], (size_t)core[2]);
    } while (advance(&walk));
}

static void sum_values(CadTape *tape, CadEntry entry, CadPlan *plan) {
    if (!cad_plan_extra(plan)[0]) {
        memset(tape->values + entry.out, 0, entry.b * sizeof *tape->values);
    }
    Walk walk;
    start(&walk, plan, 1);
    do {
        cad_strip_add(strip_at(&walk, 0, tape->values, 0), strip_at(&walk, 1, tape->values, 0), 0,
                      walk.n);
    } while (advance(&walk));
}

static void row_values(CadTape *tape, CadOp op, CadPlan *plan) {
    Walk walk;
    start(&walk, plan, 1);
    const int arity = plan->n_views - 1;
    do {
        const CadStrip x = strip_at(&walk, 1, tape->values, 0);
        cad_strip_value(op, strip_at(&walk, 0, tape->values, 0), x,
                        arity > 1 ? strip_at(&walk, 2, tape->values, 0) : x,
                        arity > 2 ? strip_at(&walk, 3, tape->values, 0) : x, walk.n);
    } while (advance(&walk));
}

void cad_array_value(CadTape *tape, CadEntry entry) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    const CadOp op = CAD_CODE_OP(entry.code);
    switch (op) {
    case CAD_OP_ASSIGN:
        assign_values(tape, entry, plan);
        break;
    case CAD_OP_SCATTER:
        scatter_values(tape, entry, plan);
        break;
    case CAD_OP_ADD_AT:
        for (int64_t i = 0; i < plan->size; i++) {
            tape->values[indexed(tape, plan, i)] += tape->values[scattered(plan, i)];
        }
        break;
    case CAD_OP_SUM:
        sum_values(tape, entry, plan);
        break;
    case CAD_OP_MATMUL:
        multiply_matrices(tape, plan);
        break;
    case CAD_OP_GATHER:
        for (int64_t i = 0; i < plan->size; i++) {
            tape->values[entry.out + i] = tape->values[indexed(tape, plan, i)];
        }
        break;
    default:
        row_values(tape, op, plan);
    }
}

/* --- reverse --- */

/* Whether a view has its elements side by side, in order. */
static int is_contiguous(CadPlan *plan, int view) {
    int64_t stride = 1;
    for (int i = plan->ndim; i-- > 0;) {
        if (cad_plan_view(plan, view)[i + 1] != stride) {
            return 0;
        }
        stride *= cad_plan_shape(plan)[i];
    }
    return 1;
}

/* Make the adjoints of a view ready to be added to; 1 if they are to be overwritten instead. */
static int touch(CadTape *tape, CadPlan *plan, int view) {
    int64_t low, high;
    cad_plan_bounds(plan, view, &low, &high);
    /* A view that covers its block in another order is not worth telling apart. */
    const int whole = is_contiguous(plan, view);
    if (!cad_tape_touch(tape, (size_t)low, (size_t)high)) {
        return 0;
    }
    if (!whole) {
        memset(cad_tape_adjoints(tape, low) + low, 0,
               (size_t)(high - low + 1) * sizeof *tape->adjoints);
    }
    return whole;
}

/* Make the adjoints of a view ready to be added to. */
static void prepare(CadTape *tape, CadPlan *plan, int view) {
    int64_t low, high;
    cad_plan_bounds(plan, view, &low, &high);
    cad_tape_prepare_adjoints(tape, (size_t)low, (size_t)high);
}

/* The operands of a row in a tile; missing ones repeat the first. */
static void operands_at(const Walk *walk, double *values, size_t first, CadStrip x[4]) {
    const int arity = walk->plan->n_views - 1;
    for (int k = 0; k < 3; k++) {
        x[k] = strip_at(walk, k < arity ? k + 1 : 1, values, first);
    }
    x[3] = strip_at(walk, 0, values, first);
}

/* Whether all adjoints of a small result are 0, so that there is nothing to hand on. */
static int is_all_zero(const CadTape *tape, CadEntry entry) {
    for (CadSlot slot = entry.out; slot < entry.out + entry.b; slot++) {
        if (tape->adjoints[slot] != 0.0) {
            return 0;
        }
    }
    return 1;
}

static void reverse_row(CadTape *tape, CadOp op, CadPlan *plan) {
    int store[4] = {0};
    double *adjoints[4];
    for (int k = 1; k < plan->n_views; k++) {
        store[k] = is_active(plan, k) && touch(tape, plan, k);
        adjoints[k] = cad_tape_adjoints(tape, cad_plan_view(plan, k)[0]);
    }
    Walk walk;
    start(&walk, plan, 1);
    do {
        for (size_t first = 0; first < walk.n; first += CAD_TILE) {
            const size_t n = tile_from(&walk, first);
            const CadStrip g = strip_at(&walk, 0, tape->adjoints, first);
            CadStrip x[4];
            operands_at(&walk, tape->values, first, x);
            for (int k = 1; k < plan->n_views; k++) {
                if (is_active(plan, k)) {
                    const CadStrip p =
                        cad_strip_partial(tape->scratch, op, k - 1, x[0], x[1], x[2], x[3], n);
                    cad_strip_add_product(strip_at(&walk, k, adjoints[k], first), g, p, store[k],
                                          n);
                }
            }
        }
    } while (advance(&walk));
}

static void reverse_sum(CadTape *tape, CadPlan *plan) {
    if (!is_active(plan, 1)) {
        return;
    }
    const int store = touch(tape, plan, 1);
    double *const terms = cad_tape_adjoints(tape, cad_plan_view(plan, 1)[0]);
    Walk walk;
    start(&walk, plan, 1);
    do {
        cad_strip_add(strip_at(&walk, 1, terms, 0), strip_at(&walk, 0, tape->adjoints, 0), store,
                      walk.n);
    } while (advance(&walk));
}

/* target (rows x columns) += or = a b, by way of the workspace where BLAS cannot write to the
 * target, or has to add. */
static void add_matrix_product(CadTape *tape, CadMatrix target, CadMatrix a, CadMatrix b,
                               int store, size_t rows, size_t inner, size_t columns) {
    if (store && target.column == 1) {
        cad_multiply_matrices(target, a, b, rows, inner, columns);
        return;
    }
    const CadMatrix product = {tape->workspace, (ptrdiff_t)columns, 1};
    cad_multiply_matrices(product, a, b, rows, inner, columns);
    for (size_t i = 0; i < rows; i++) {
        cad_strip_add((CadStrip){target.data + (ptrdiff_t)i * target.row, target.column},
                      (CadStrip){product.data + i * columns, 1}, store, columns);
    }
}

/* Whether a factor moves along all axes that are walked over: then no two products meet. */
static int is_spread(CadPlan *plan, int view, int axes) {
    for (int i = 0; i < axes; i++) {
        if (cad_plan_view(plan, view)[i + 1] == 0) {
            return 0;
        }
    }
    return 1;
}

static int touch_matrix(CadTape *tape, CadPlan *plan, int view, int axes) {
    int64_t low, high;
    cad_plan_bounds(plan, view, &low, &high);
    int64_t size = 1;
    for (int i = 0; i < plan->ndim; i++) {
        size *= cad_plan_view(plan, view)[i + 1] == 0 ? 1 : cad_plan_shape(plan)[i];
    }
    if (!cad_tape_touch(tape, (size_t)low, (size_t)high)) {
        return 0;
    }
    if (size == high - low + 1 && is_spread(plan, view, axes)) {
        return 1;
    }
    memset(cad_tape_adjoints(tape, low) + low, 0,
           (size_t)(high - low + 1) * sizeof *tape->adjoints);
    return 0;
}

static void reverse_matmul(CadTape *tape, CadPlan *plan) {
    Walk walk;
    start(&walk, plan, 3);
    const int64_t *core = cad_plan_shape(plan) + walk.axes;
    const size_t m = (size_t)core[0], n = (size_t)core[1], p = (size_t)core[2];
    double *const adjoint = tape->adjoints, *const value = tape->values;
    const int store_a = is_active(plan, 1) && touch_matrix(tape, plan, 1, walk.axes);
    const int store_b = is_active(plan, 2) && touch_matrix(tape, plan, 2, walk.axes);
    double *const to_a = cad_tape_adjoints(tape, cad_plan_view(plan, 1)[0]);
    double *const to_b = cad_tape_adjoints(tape, cad_plan_view(plan, 2)[0]);
    do {
        const CadMatrix g = matrix_at(&walk, 0, adjoint + walk.at[0], 0, 2);
        const CadMatrix g_transposed = {g.data, g.column, g.row};
        (void)g_transposed;
        if (is_active(plan, 1)) {
            add_matrix_product(tape, matrix_at(&walk, 1, to_a + walk.at[1], 0, 1), g,
                               matrix_at(&walk, 2, value + walk.at[2], 2, 1), store_a, m, p, n);
        }
        if (is_active(plan, 2)) {
            add_matrix_product(tape, matrix_at(&walk, 2, to_b + walk.at[2], 1, 2),
                               matrix_at(&walk, 1, value + walk.at[1], 1, 0), g, store_b, n, m, p);
        }
    } while (advance(&walk));
}

static void reverse_gather(CadTape *tape, CadEntry entry, CadPlan *plan) {
    if (!is_active(plan, 1)) {
        return;
    }
    const int64_t *extra = cad_plan_extra(plan);
    cad_tape_prepare_adjoints(tape, (size_t)extra[0], (size_t)extra[1]);
    double *const to = cad_tape_adjoints(tape, extra[0]);
    for (int64_t i = 0; i < plan->size; i++) {
        to[indexed(tape, plan, i)] += tape->adjoints[entry.out + i];
    }
}

/* An assignment has two results: the target, and the kept values, which are those that the target
 * had before. */
static void reverse_assign(CadTape *tape, CadEntry entry, CadPlan *plan) {
    cad_array_exchange(tape, entry, 1);
    const int kept = !cad_tape_is_untouched(tape, entry.out);
    if (cad_tape_is_untouched(tape, (CadSlot)cad_plan_view(plan, 0)[0])) {
        if (!kept) {
            return;
        }
        prepare(tape, plan, 0);
    }
    const int active = is_active(plan, 1);
    const int store = active && touch(tape, plan, 1);
    const double *former = tape->adjoints + entry.out;
    double *const to = cad_tape_adjoints(tape, cad_plan_view(plan, 1)[0]);
    Walk walk;
    start(&walk, plan, 1);
    double *const from = cad_tape_adjoints(tape, cad_plan_view(plan, 0)[0]);
    do {
        const CadStrip target = strip_at(&walk, 0, from, 0);
        if (active) {
            cad_strip_add(strip_at(&walk, 1, to, 0), target, store, walk.n);
        }
        for (size_t i = 0; i < walk.n; i++) {
            target.data[(ptrdiff_t)i * target.step] = kept ? *former++ : 0.0;
        }
    } while (advance(&walk));
}

static void reverse_scatter(CadTape *tape, CadEntry entry, CadPlan *plan) {
    const int64_t *extra = cad_plan_extra(plan);
    cad_array_exchange(tape, entry, 1);
    const int kept = !cad_tape_is_untouched(tape, entry.out);
    if (cad_tape_is_untouched(tape, (CadSlot)extra[0])) {
        if (!kept) {
            return;
        }
        cad_tape_prepare_adjoints(tape, (size_t)extra[0], (size_t)extra[1]);
    }
    const int active = is_active(plan, 0);
    if (active) {
        prepare(tape, plan, 0);
    }
    /* Of several assignments to one target the last one counts. */
    double *const to = cad_tape_adjoints(tape, scattered(plan, 0));
    double *const from = cad_tape_adjoints(tape, extra[0]);
    for (int64_t i = plan->size; i-- > 0;) {
        double *const target = from + indexed(tape, plan, i);
        if (active) {
            to[scattered(plan, i)] += *target;
        }
        *target = kept ? tape->adjoints[entry.out + i] : 0.0;
    }
}

static void reverse_add_at(CadTape *tape, CadPlan *plan) {
    if (!is_active(plan, 0)) {
        return;
    }
    prepare(tape, plan, 0);
    double *const to = cad_tape_adjoints(tape, scattered(plan, 0));
    for (int64_t i = 0; i < plan->size; i++) {
        to[scattered(plan, i)] += tape->adjoints[indexed(tape, plan, i)];
    }
}

/* Whether no adjoint has reached what an entry wrote. */
static int is_unreached(const CadTape *tape, CadEntry entry, CadPlan *plan) {
    const CadOp op = CAD_CODE_OP(entry.code);
    if (overwrites(op)) {
        return 0;
    }
    if (op == CAD_OP_ADD_AT) {
        return cad_tape_is_untouched(tape, (CadSlot)cad_plan_extra(plan)[0]);
    }
    const int64_t slot = cad_plan_view(plan, 0)[0];
    return slot == entry.out && entry.b < CAD_LARGE_BLOCK
               ? is_all_zero(tape, entry)
               : cad_tape_is_untouched(tape, (CadSlot)slot);
}

static void hand_on(CadTape *tape, CadEntry entry, CadPlan *plan) {
    const CadOp op = CAD_CODE_OP(entry.code);
    switch (op) {
    case CAD_OP_ASSIGN:
        reverse_assign(tape, entry, plan);
        break;
    case CAD_OP_SCATTER:
        reverse_scatter(tape, entry, plan);
        break;
    case CAD_OP_ADD_AT:
        reverse_add_at(tape, plan);
        break;
    case CAD_OP_SUM:
        reverse_sum(tape, plan);
        break;
    case CAD_OP_MATMUL:
        reverse_matmul(tape, plan);
        break;
    case CAD_OP_GATHER:
        reverse_gather(tape, entry, plan);
        break;
    default:
        reverse_row(tape, op, plan);
    }
}

void cad_array_reverse(CadTape *tape, CadEntry entry) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    if (!is_unreached(tape, entry, plan)) {
        hand_on(tape, entry, plan);
    }
}

/* --- tangents, and tangents of adjoints --- */

/* Add to the lanes of one view those of another, times `scale`, number by number. */
static void add_lanes(const Walk *walk, int to, Lanes target, int from, Lanes source, int store) {
    for (size_t k = 0; k < target.count; k++) {
        cad_strip_add(lane_at(walk, to, target, 0, k), lane_at(walk, from, source, 0, k), store,
                      walk->n);
    }
}

static void tangent_row(const CadTape *tape, CadOp op, CadPlan *plan, Lanes lanes) {
    Walk walk;
    start(&walk, plan, 1);
    do {
        for (size_t first = 0; first < walk.n; first += CAD_TILE) {
            const size_t n = tile_from(&walk, first);
            CadStrip x[4];
            operands_at(&walk, tape->values, first, x);
            for (int which = 1; which < plan->n_views; which++) {
                if (!is_active(plan, which)) {
                    continue;
                }
                const CadStrip p =
                    cad_strip_partial(tape->scratch, op, which - 1, x[0], x[1], x[2], x[3], n);
                for (size_t k = 0; k < lanes.count; k++) {
                    cad_strip_add_product(lane_at(&walk, 0, lanes, first, k),
                                          lane_at(&walk, which, lanes, first, k), p, 0, n);
                }
            }
        }
    } while (advance(&walk));
}

static CadMatrix lane_matrix(const Walk *walk, int view, Lanes lanes, size_t k, int rows,
                             int columns) {
    double *data = lanes.buffer + (walk->at[view] - lanes.base) * (int64_t)lanes.count + k;
    CadMatrix matrix = matrix_at(walk, view, data, rows, columns);
    matrix.row *= (ptrdiff_t)lanes.count;
    matrix.column *= (ptrdiff_t)lanes.count;
    return matrix;
}

static void tangent_matmul(CadTape *tape, CadPlan *plan, Lanes lanes) {
    Walk walk;
    start(&walk, plan, 3);
    const int64_t *core = cad_plan_shape(plan) + walk.axes;
    const size_t m = (size_t)core[0], n = (size_t)core[1], p = (size_t)core[2];
    double *const value = tape->values;
    do {
        for (size_t k = 0; k < lanes.count; k++) {
            const CadMatrix out = lane_matrix(&walk, 0, lanes, k, 0, 2);
            if (is_active(plan, 1)) {
                add_matrix_product(tape, out, lane_matrix(&walk, 1, lanes, k, 0, 1),
                                   matrix_at(&walk, 2, value + walk.at[2], 1, 2), 0, m, n, p);
            }
            if (is_active(plan, 2)) {
                add_matrix_product(tape, out, matrix_at(&walk, 1, value + walk.at[1], 0, 1),
                                   lane_matrix(&walk, 2, lanes, k, 1, 2), 0, m, n, p);
            }
        }
    } while (advance(&walk));
}

static double *lanes_of(Lanes lanes, int64_t slot) {
    return lanes.buffer + (slot - lanes.base) * (int64_t)lanes.count;
}

static void copy_lanes(Lanes lanes, int64_t to, int64_t from) {
    memcpy(lanes_of(lanes, to), lanes_of(lanes, from), lanes.count * sizeof *lanes.buffer);
}

static void clear_lanes(Lanes lanes, int64_t slot) {
    memset(lanes_of(lanes, slot), 0, lanes.count * sizeof *lanes.buffer);
}

static void tangent_scatter(const CadTape *tape, CadEntry entry, CadPlan *plan, Lanes lanes) {
    for (int64_t i = 0; i < plan->size; i++) {
        const int64_t target = indexed(tape, plan, i);
        copy_lanes(lanes, entry.out + i, target);
        if (is_active(plan, 0)) {
            copy_lanes(lanes, target, scattered(plan, i));
        } else {
            clear_lanes(lanes, target);
        }
    }
}

static void tangent_assign(CadEntry entry, CadPlan *plan, Lanes lanes) {
    Walk walk;
    start(&walk, plan, 1);
    int64_t kept = entry.out;
    do {
        for (size_t i = 0; i < walk.n; i++, kept++) {
            const int64_t target = walk.at[0] + (int64_t)i * walk.step[0];
            copy_lanes(lanes, kept, target);
            if (is_active(plan, 1)) {
                copy_lanes(lanes, target, walk.at[1] + (int64_t)i * walk.step[1]);
            } else {
                clear_lanes(lanes, target);
            }
        }
    } while (advance(&walk));
}

void cad_array_tangent(const CadTape *tape, CadEntry entry, CadSlot base, size_t lanes,
                       double *tangents) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    const CadOp op = CAD_CODE_OP(entry.code);
    const Lanes all = {tangents, base, lanes};
    Walk walk;
    start(&walk, plan, 1);
    switch (op) {
    case CAD_OP_ASSIGN:
        cad_array_exchange((CadTape *)tape, entry, 0);
        tangent_assign(entry, plan, all);
        break;
    case CAD_OP_SCATTER:
        cad_array_exchange((CadTape *)tape, entry, 0);
        tangent_scatter(tape, entry, plan, all);
        break;
    case CAD_OP_ADD_AT:
        for (int64_t i = 0; i < plan->size && is_active(plan, 0); i++) {
            for (size_t k = 0; k < lanes; k++) {
                lanes_of(all, indexed(tape, plan, i))[k] += lanes_of(all, scattered(plan, i))[k];
            }
        }
        break;
    case CAD_OP_SUM:
        do {
            if (is_active(plan, 1)) {
                add_lanes(&walk, 0, all, 1, all, 0);
            }
        } while (advance(&walk));
        break;
    case CAD_OP_MATMUL:
        tangent_matmul((CadTape *)tape, plan, all);
        break;
    case CAD_OP_GATHER:
        for (int64_t i = 0; i < plan->size && is_active(plan, 1); i++) {
            memcpy(lanes_of(all, entry.out + i), lanes_of(all, indexed(tape, plan, i)),
                   lanes * sizeof *tangents);
        }
        break;
    default:
        tangent_row(tape, op, plan, all);
    }
}

static void second_row(CadTape *tape, CadOp op, CadPlan *plan, Lanes tangents, Lanes results) {
    Walk walk;
    start(&walk, plan, 1);
    do {
        for (size_t first = 0; first < walk.n; first += CAD_TILE) {
            const size_t n = tile_from(&walk, first);
            const CadStrip g = strip_at(&walk, 0, tape->adjoints, first);
            CadStrip x[4];
            operands_at(&walk, tape->values, first, x);
            for (int which = 1; which < plan->n_views; which++) {
                for (size_t k = 0; is_active(plan, which) && k < tangents.count; k++) {
                    const CadStrip to = lane_at(&walk, which, results, first, k);
                    const CadStrip p =
                        cad_strip_partial(tape->scratch, op, which - 1, x[0], x[1], x[2], x[3], n);
                    cad_strip_add_product(to, lane_at(&walk, 0, results, first, k), p, 0, n);
                    CadStrip t[4] = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
                    for (int j = 1; j < plan->n_views; j++) {
                        if (is_active(plan, j)) {
                            t[j - 1] = lane_at(&walk, j, tangents, first, k);
                        }
                    }
                    t[3] = lane_at(&walk, 0, tangents, first, k);
                    const CadStrip curve =
                        cad_strip_curvature(tape->scratch, op, which - 1, x, t, n);
                    if (curve.data != NULL) {
                        cad_strip_add_product(to, g, curve, 0, n);
                    }
                }
            }
        }
    } while (advance(&walk));
}

static void second_matmul(CadTape *tape, CadPlan *plan, Lanes tangents, Lanes results) {
    Walk walk;
    start(&walk, plan, 3);
    const int64_t *core = cad_plan_shape(plan) + walk.axes;
    const size_t m = (size_t)core[0], n = (size_t)core[1], p = (size_t)core[2];
    double *const value = tape->values;
    do {
        const CadMatrix g = matrix_at(&walk, 0, tape->adjoints + walk.at[0], 0, 2);
        for (size_t k = 0; k < tangents.count; k++) {
            const CadMatrix gt = lane_matrix(&walk, 0, results, k, 0, 2);
            if (is_active(plan, 1)) {
                const CadMatrix to = lane_matrix(&walk, 1, results, k, 0, 1);
                add_matrix_product(tape, to, gt, matrix_at(&walk, 2, value + walk.at[2], 2, 1), 0,
                                   m, p, n);
                if (is_active(plan, 2)) {
                    add_matrix_product(tape, to, g, lane_matrix(&walk, 2, tangents, k, 2, 1), 0, m,
                                       p, n);
                }
            }
            if (is_active(plan, 2)) {
                const CadMatrix to = lane_matrix(&walk, 2, results, k, 1, 2);
                add_matrix_product(tape, to, matrix_at(&walk, 1, value + walk.at[1], 1, 0), gt, 0,
                                   n, m, p);
                if (is_active(plan, 1)) {
                    add_matrix_product(tape, to, lane_matrix(&walk, 1, tangents, k, 1, 0), g, 0, n,
                                       m, p);
                }
            }
        }
    } while (advance(&walk));
}

static void exchange_lanes(Lanes lanes, int64_t x, int64_t y) {
    for (size_t k = 0; k < lanes.count; k++) {
        exchange(lanes_of(lanes, x) + k, lanes_of(lanes, y) + k);
    }
}

/* Tangents go back to what they were, as the values do. */
static void second_assign(CadEntry entry, CadPlan *plan, Lanes tangents, Lanes results) {
    Walk walk;
    start(&walk, plan, 1);
    int64_t kept = entry.out;
    do {
        if (is_active(plan, 1)) {
            add_lanes(&walk, 1, results, 0, results, 0);
        }
        for (size_t i = 0; i < walk.n; i++, kept++) {
            const int64_t target = walk.at[0] + (int64_t)i * walk.step[0];
            copy_lanes(results, target, kept);
            exchange_lanes(tangents, target, kept);
        }
    } while (advance(&walk));
}

static void second_scatter(const CadTape *tape, CadEntry entry, CadPlan *plan, Lanes tangents,
                           Lanes results) {
    for (int64_t i = plan->size; i-- > 0;) {
        const int64_t target = indexed(tape, plan, i);
        for (size_t k = 0; k < results.count && is_active(plan, 0); k++) {
            lanes_of(results, scattered(plan, i))[k] += lanes_of(results, target)[k];
        }
        copy_lanes(results, target, entry.out + i);
        exchange_lanes(tangents, target, entry.out + i);
    }
}

void cad_array_second(CadTape *tape, CadEntry entry, CadSlot base, size_t lanes, double *tangents,
                      double *adjoint_tangents) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    const CadOp op = CAD_CODE_OP(entry.code);
    const Lanes along = {tangents, base, lanes};
    const Lanes results = {adjoint_tangents, base, lanes};
    if (!overwrites(op) && op != CAD_OP_ADD_AT &&
        cad_tape_is_untouched(tape, (CadSlot)cad_plan_view(plan, 0)[0])) {
        return; /* no adjoint has reached it, so no tangent of one has */
    }
    Walk walk;
    start(&walk, plan, 1);
    switch (op) {
    case CAD_OP_ASSIGN:
        second_assign(entry, plan, along, results);
        break;
    case CAD_OP_SCATTER:
        second_scatter(tape, entry, plan, along, results);
        break;
    case CAD_OP_ADD_AT:
        for (int64_t i = 0; i < plan->size && is_active(plan, 0); i++) {
            for (size_t k = 0; k < lanes; k++) {
                lanes_of(results, scattered(plan, i))[k] +=
                    lanes_of(results, indexed(tape, plan, i))[k];
            }
        }
        break;
    case CAD_OP_SUM:
        do {
            if (is_active(plan, 1)) {
                add_lanes(&walk, 1, results, 0, results, 0);
            }
        } while (advance(&walk));
        break;
    case CAD_OP_MATMUL:
        second_matmul(tape, plan, along, results);
        break;
    case CAD_OP_GATHER:
        for (int64_t i = 0; i < plan->size && is_active(plan, 1); i++) {
            for (size_t k = 0; k < lanes; k++) {
                lanes_of(results, indexed(tape, plan, i))[k] +=
                    lanes_of(results, entry.out + i)[k];
            }
        }
        break;
    default:
        second_row(tape, op, plan, along, results);
    }
    hand_on(tape, entry,
            plan); /* adjoints of 0 as well: what reads them tells by them what was reached */
}
