/* Operations over arrays. Where all operands are constants, so is the result: it is computed at
 * once, by the loops that programs have for it, and never again.
 *
 * What was added to zeros at indices, one for each row, stays a number for each row as long as
 * operations on it are linear: of all others only what stands at these indices is looked at. And
 * to take some results of an operation is to carry it out on what is taken from its operands. So
 * the derivative of a maximum takes as many numbers as there are maxima. */
#include "arrays/terms.h"
#include "arrays/walk.h"
#include "graph/inner.h"

#include <math.h>

/* --- constants --- */

/* Results of up to so many numbers are kept; larger ones, if they are at most half as large as
 * their operands: others would take memory for good to save what a program does in passing. */
enum { FEW = 4096 };

/* Where the number 0 of a graph would be, seen from constants that an operand is among, and how
 * many these are; NULL if it is none. A single one is copied to `value`. */
static double *constants_of(CadGraph *graph, CadId id, double *value, size_t *count) {
    const CadRecord *const record = cad_graph_record(graph, id);
    *count += cad_record_size(record);
    if (record->kind == CAD_RECORD_CONSTANT) {
        *value = cad_record_value(record);
        return value - id;
    }
    return record->kind == CAD_RECORD_CONSTANTS
               ? graph->constants + cad_graph_array(graph, record)->list - record->of.array.first
               : NULL;
}

static void carry_out(CadOp op, CadPlan *plan, double *const *data) {
    if (cad_op_is_kind(op)) {
        const int adds = (cad_entry_kinds[op].traits & CAD_ADDS) != 0;
        CadTerm term = {.plan = plan, .lanes = 1, .store = !adds};
        memcpy(term.data, data, (size_t)plan->n_views * sizeof *data);
        cad_term_run(op, &term);
        return;
    }
    Walk walk;
    start_walk_in(&walk, NULL, plan, 1);
    memcpy(walk.values, data, (size_t)plan->n_views * sizeof *data);
    compute_rows(&walk, op, cad_strip_value);
}

/* The constants that an operation gives; CAD_NO_ID if it has to be carried out by programs. */
static CadId constant_map(CadGraph *graph, const CadMade *made) {
    double values[4], *data[4];
    size_t count = 0;
    for (int k = 1; k < made->n_views; k++) {
        data[k] = constants_of(graph, made->views[k].first, &values[k], &count);
        if (data[k] == NULL) {
            return CAD_NO_ID;
        }
    }
    if (made->size > FEW && 2 * made->size > count) {
        return CAD_NO_ID;
    }
    data[0] = cad_memory_zeroed(made->size, sizeof *data[0]);
    if (data[0] == NULL) {
        return CAD_NO_ID;
    }
    CadRequestedPlan room;
    CadPlan *const plan = cad_term_plan(made->ndim, made->shape, made->n_views, &room);
    for (int k = 0; k < made->n_views; k++) {
        int64_t *const view = cad_plan_view(plan, k);
        view[0] = made->views[k].first;
        memcpy(view + 1, made->views[k].strides, (size_t)made->ndim * sizeof *view);
    }
    carry_out(made->op, plan, data);
    const CadId first = made->size == 1 ? cad_graph_constant(graph, data[0][0])
                                        : cad_graph_constants(graph, data[0], made->size);
    cad_memory_free(data[0]);
    return first;
}

/* Whether a number and those behind it are zeros, so many in all. */
static bool are_zeros(CadGraph *graph, CadId first, size_t size) {
    static const double zero = 0.0;
    const CadRecord *const record = cad_graph_record(graph, first);
    if (record->kind != CAD_RECORD_CONSTANTS) {
        return false;
    }
    const size_t before = first - record->of.array.first;
    const double *const values = graph->constants + cad_graph_array(graph, record)->list + before;
    size_t n = 0;
    while (n < size && before + n < cad_record_size(record) &&
           memcmp(&values[n], &zero, sizeof zero) == 0) {
        n++;
    }
    return n == size;
}

/* Zeros, if a product absorbs them or all operands are one number each, of which nothing else is
 * made: what nobody reads has such cotangents. CAD_NO_ID, if it is to be carried out. */
static CadId nothing_map(CadGraph *graph, const CadMade *made) {
    const CadShape shape = {graph, made->ndim, made->shape, cad_no_strides, made->size};
    double values[3] = {0}, c;
    int n_constant = 0, any = 0;
    CadId zeros = CAD_NO_ID;
    if (cad_op_is_kind(made->op)) {
        return CAD_NO_ID;
    }
    for (int k = 1; k < made->n_views; k++) {
        const CadNumbers x = cad_graph_as_one(&shape, made->views[k]);
        if (cad_is_single(&shape, x) && cad_graph_is_constant(graph, x.first, &c)) {
            values[k - 1] = c;
            n_constant++;
            any |= c == 0.0;
            zeros =
                are_zeros(graph, made->views[k].first, made->size) ? made->views[k].first : zeros;
        }
    }
    c = cad_op_value(made->op, values[0], values[1], values[2]);
    const int is_zero = n_constant == made->n_views - 1 && c == 0.0 && !signbit(c);
    if (!(made->op == CAD_OP_amul ? any : is_zero)) {
        return CAD_NO_ID;
    }
    return zeros == CAD_NO_ID && made->size > 1 ? cad_graph_filled(graph, 0.0, made->size) : zeros;
}

/* --- taking numbers --- */

/* Some numbers over a shape, as a copy of their strides; and the stride of a further axis, along
 * which indices tell which ones: 0, if they are the same all along it. */
typedef struct Row {
    CadId first;
    int64_t strides[CAD_MOST_AXES], along;
} Row;

static inline CadNumbers numbers_of(const Row *row) {
    return (CadNumbers){row->first, row->strides};
}

static Row row_of(int ndim, CadNumbers numbers) {
    Row row = {.first = numbers.first};
    memcpy(row.strides, numbers.strides, (size_t)ndim * sizeof *row.strides);
    return row;
}

/* What is taken: numbers over a shape. The index is for each of them which one it is along the
 * further axis, which has so many. */
typedef struct Taker {
    CadShape shape;
    CadNumbers index;
    int64_t length;
} Taker;

/* The numbers of an array that is there. Axes along which they are all the same are left out. */
static Row take(const Taker *taker, Row from) {
    CadGraph *const graph = taker->shape.graph;
    int64_t lengths[CAD_MOST_AXES], in_order[CAD_MOST_AXES], sources[CAD_MOST_AXES];
    int64_t indices[CAD_MOST_AXES];
    int axes[CAD_MOST_AXES], ndim = 0;
    Row row = {0};
    for (int i = 0; i < taker->shape.ndim; i++) {
        if (from.strides[i] != 0 || taker->index.strides[i] != 0 || ndim == 0) {
            lengths[ndim] = taker->shape.lengths[i];
            sources[ndim] = from.strides[i];
            indices[ndim] = taker->index.strides[i];
            axes[ndim++] = i;
        }
    }
    const CadMade made = {
        .kind = CAD_RECORD_TAKE,
        .size = cad_strides_in_order(ndim, lengths, in_order),
        .ndim = ndim,
        .shape = lengths,
        .n_views = 3,
        .views = {{0, in_order}, {from.first, sources}, {taker->index.first, indices}},
        .length = taker->length,
        .stride = from.along};
    row.first = cad_graph_make(graph, graph, &made);
    for (int i = 0; i < ndim; i++) {
        row.strides[axes[i]] = in_order[i];
    }
    return row;
}

/* Axes of a plan, of which each number of its result has one place: those with the longest steps
 * first. Behind them those that are added up. */
typedef struct Layout {
    int n, n_own;
    int64_t lengths[CAD_MOST_AXES];
    int axes[CAD_MOST_AXES];
} Layout;

/* Of axes with these lengths and steps; 0 if numbers do not stand in the order of some of them. */
static int find_layout(int ndim, const int64_t *shape, const int64_t *steps, size_t size,
                       Layout *layout) {
    int64_t step = 1;
    *layout = (Layout){0};
    for (int added = 0; added < 2; added++) {
        for (int axis = 0; axis < ndim; axis++) {
            if (shape[axis] > 1 && (steps[axis] == 0) == added) {
                int at = layout->n++;
                for (; !added && at > 0 && steps[layout->axes[at - 1]] < steps[axis]; at--) {
                    layout->axes[at] = layout->axes[at - 1];
                }
                layout->axes[at] = axis;
            }
        }
        layout->n_own = added ? layout->n_own : layout->n;
    }
    for (int i = 0; i < layout->n; i++) {
        layout->lengths[i] = shape[layout->axes[i]];
    }
    for (int i = layout->n_own; i-- > 0; step *= layout->lengths[i]) {
        if (steps[layout->axes[i]] != step) {
            return 0;
        }
    }
    return step == (int64_t)size;
}

/* A step through the numbers as steps along the axes; each, so many times, is added to `last`. 0
 * if that leads beyond an axis. */
static int find_steps(const Layout *layout, int64_t step, int64_t times, int64_t *last,
                      int64_t *steps) {
    int within = step >= 0;
    for (int i = layout->n_own; i-- > 0;) {
        steps[i] = i > 0 ? step % layout->lengths[i] : step;
        step /= layout->lengths[i];
        last[i] += steps[i] * times;
        within &= last[i] < layout->lengths[i];
    }
    return within;
}

/* Where an operation has its operands for some of its results; the axes that it adds up are
 * behind those of `taker`. 0 if it cannot be told. */
static int find_operands(const CadMade *made, Row from, Taker *taker, int64_t *lengths,
                         int64_t *indices, Row operands[4]) {
    const int ndim = taker->shape.ndim;
    int64_t last[CAD_MOST_AXES] = {0}, steps[CAD_MOST_AXES];
    Layout layout;
    if (!find_layout(made->ndim, made->shape, made->views[0].strides, made->size, &layout) ||
        made->views[0].first != 0) {
        return 0;
    }
    for (int k = 1; k < made->n_views; k++) {
        operands[k] = (Row){.first = made->views[k].first};
    }
    for (int i = -1; i <= ndim; i++) { /* where it begins, its axes, the one of the index */
        const int64_t step = i < 0      ? (int64_t)(from.first - made->first)
                             : i < ndim ? from.strides[i]
                                        : from.along;
        const int64_t length = i < 0 ? 2 : i < ndim ? taker->shape.lengths[i] : taker->length;
        if (length > 1 && !find_steps(&layout, step, length - 1, last, steps)) {
            return 0;
        }
        for (int k = 1; k < made->n_views && length > 1; k++) {
            int64_t by = 0;
            for (int j = 0; j < layout.n_own; j++) {
                by += steps[j] * made->views[k].strides[layout.axes[j]];
            }
            operands[k].first += i < 0 ? (CadId)by : 0;
            *(i == ndim ? &operands[k].along : &operands[k].strides[i < 0 ? 0 : i]) =
                i < 0 ? 0 : by;
        }
    }
    const int n_added = layout.n - layout.n_own;
    if (ndim + n_added > CAD_MOST_AXES) {
        return 0;
    }
    memcpy(lengths, taker->shape.lengths, (size_t)ndim * sizeof *lengths);
    memcpy(indices, taker->index.strides, (size_t)ndim * sizeof *indices);
    for (int i = 0; i < n_added; i++) {
        lengths[ndim + i] = layout.lengths[layout.n_own + i];
        indices[ndim + i] = 0;
        for (int k = 1; k < made->n_views; k++) {
            operands[k].strides[ndim + i] = made->views[k].strides[layout.axes[layout.n_own + i]];
        }
    }
    taker->shape.ndim = ndim + n_added;
    taker->shape.lengths = lengths;
    taker->index.strides = indices;
    return 1;
}

/* Whether an operation can be carried out on some operands alone: a row of the table, or one that
 * adds up. */
static int is_made_of_some(const CadMade *made) {
    return made->kind == CAD_RECORD_MAP &&
           (!cad_op_is_kind(made->op) || made->op == CAD_OP_SUM || made->op == CAD_OP_VECDOT ||
            made->op == CAD_OP_MATMUL);
}

/* What an operation gives of what is taken from its operands, if these are fewer numbers; so many
 * operations are looked at. */
static Row taken(const Taker *taker, Row from, int *n_left) {
    CadGraph *const graph = taker->shape.graph;
    int64_t lengths[CAD_MOST_AXES], indices[CAD_MOST_AXES], in_order[CAD_MOST_AXES];
    int64_t of_sum[CAD_MOST_AXES] = {0};
    CadAxes axes;
    CadMade made;
    Row x[4];
    CadNumbers views[4];
    Taker inner = *taker;
    if (from.along == 0 || taker->length == 1) {
        return from;
    }
    cad_graph_look(graph, cad_graph_record_of(graph, from.first), axes, &made);
    if (made.size <= taker->shape.size || *n_left == 0 || !is_made_of_some(&made) ||
        !find_operands(&made, from, &inner, lengths, indices, x)) {
        return take(taker, from);
    }
    --*n_left;
    inner.shape.size = cad_strides_in_order(inner.shape.ndim, lengths, in_order);
    inner.shape.in_order = in_order;
    for (int k = 1; k < made.n_views && graph->status == CAD_OK; k++) {
        x[k] = taken(&inner, x[k], n_left);
        views[k] = numbers_of(&x[k]);
    }
    if (graph->status != CAD_OK) {
        return from;
    }
    if (!cad_op_is_kind(made.op)) {
        const int n = made.n_views;
        return row_of(taker->shape.ndim,
                      cad_graph_apply_over(&inner.shape, made.op, views[1], views[n > 2 ? 2 : 1],
                                           views[n > 3 ? 3 : 1]));
    }
    memcpy(of_sum, taker->shape.in_order, (size_t)taker->shape.ndim * sizeof *of_sum);
    views[0] = (CadNumbers){0, of_sum};
    inner.shape.size = taker->shape.size;
    return row_of(taker->shape.ndim,
                  cad_graph_kind_over(&inner.shape,
                                      made.op == CAD_OP_SUM ? CAD_OP_SUM : CAD_OP_VECDOT,
                                      made.n_views, views));
}

/* Whether an operation takes no longer than a copy of what it gives. */
static int is_as_cheap_as_a_copy(const CadMade *made) {
    return made->kind == CAD_RECORD_MAP &&
           (made->op == CAD_OP_positive || made->op == CAD_OP_negative || made->op == CAD_OP_add ||
            made->op == CAD_OP_subtract || made->op == CAD_OP_multiply);
}

/* Numbers that a PACK holds side by side, where they stand. */
static void leave_pack(const CadShape *shape, Row *row) {
    CadGraph *const graph = shape->graph;
    const CadRecord *const record = cad_graph_record(graph, row->first);
    if (record->kind == CAD_RECORD_PACK && shape->ndim == 1 && row->strides[0] == 1) {
        const CadId *const ids = graph->lists + cad_graph_array(graph, record)->list +
                                 (row->first - record->of.array.first);
        row->first = cad_graph_are_in_row(graph, ids, shape->size) ? ids[0] : row->first;
    }
}

CadNumbers cad_graph_part(const CadShape *shape, CadNumbers from, int64_t *strides) {
    int64_t lengths[CAD_MOST_AXES], indices[CAD_MOST_AXES];
    CadAxes axes;
    CadMade made;
    Row x[4];
    CadNumbers views[4];
    Taker all = {*shape, {CAD_ZERO, cad_no_strides}, 1};
    cad_graph_look(shape->graph, cad_graph_record_of(shape->graph, from.first), axes, &made);
    if (!is_as_cheap_as_a_copy(&made) || made.size <= shape->size ||
        !find_operands(&made, row_of(shape->ndim, from), &all, lengths, indices, x)) {
        return from;
    }
    for (int k = 1; k < made.n_views; k++) {
        leave_pack(shape, &x[k]);
        views[k] = numbers_of(&x[k]);
    }
    const CadNumbers other = views[made.n_views - 1];
    const CadNumbers part = cad_graph_apply_over(shape, made.op, views[1], other, other);
    memcpy(strides, part.strides, (size_t)shape->ndim * sizeof *strides);
    return (CadNumbers){part.first, strides};
}

enum { MOST_TAKEN = 32 };

CadId cad_graph_take(CadGraph *graph, const CadMade *made) {
    int64_t in_order[CAD_MOST_AXES];
    const CadShape shape = cad_made_shape(graph, made, in_order);
    const Taker taker = {shape, made->views[2], made->length};
    int n_left = MOST_TAKEN;
    /* Others have to be looked at, even if nothing depends on them. */
    const int is_within = cad_graph_record(graph, made->views[2].first)->is_within;
    if (!graph->optimize || !is_within ||
        memcmp(in_order, made->views[0].strides, (size_t)made->ndim * sizeof *in_order) != 0) {
        return cad_graph_make(graph, graph, made);
    }
    Row from = row_of(made->ndim, made->views[1]);
    from.along = made->stride;
    const Row row = taken(&taker, from, &n_left);
    if (memcmp(row.strides, in_order, (size_t)made->ndim * sizeof *in_order) == 0) {
        return row.first;
    }
    const CadNumbers views[2] = {{0, in_order}, numbers_of(&row)};
    return cad_graph_map(graph, CAD_OP_positive, shape.size, shape.ndim, shape.lengths, 2, views);
}

/* --- numbers that were added to zeros --- */

/* The result of an operation, over axes along which each operand goes from row to row, or along
 * rows, or not at all. */
typedef struct Divided {
    int ndim;
    int64_t shape[CAD_MOST_AXES];
    int64_t strides[4][CAD_MOST_AXES];
} Divided;

/* Whether a number belongs to an array that was added to zeros, at an index for each row. */
static int is_scattered(CadGraph *graph, CadId id) {
    const CadRecord *const record = cad_graph_record(graph, id);
    return record->kind == CAD_RECORD_ADD_BY &&
           cad_graph_array(graph, record)->former == CAD_NO_ID;
}

/* Where an axis of an operation goes through several of an array, it is several. */
static int divide(Divided *d, int n_views, int view, const Layout *layout) {
    for (int axis = 0; axis < d->ndim; axis++) {
        int64_t step = 1;
        for (int i = layout->n_own; i-- > 0; step *= layout->lengths[i]) {
            const int64_t inner = layout->lengths[i];
            if (d->strides[view][axis] != step || d->shape[axis] <= inner) {
                continue;
            }
            if (d->shape[axis] % inner != 0 || d->ndim == CAD_MOST_AXES) {
                return 0;
            }
            const size_t behind = (size_t)(d->ndim++ - axis - 1) * sizeof *d->shape;
            memmove(d->shape + axis + 2, d->shape + axis + 1, behind);
            d->shape[axis + 1] = inner;
            d->shape[axis] /= inner;
            for (int k = 0; k < n_views; k++) {
                int64_t *const strides = d->strides[k];
                memmove(strides + axis + 2, strides + axis + 1, behind);
                strides[axis + 1] = strides[axis];
                strides[axis] *= inner;
            }
        }
    }
    return 1;
}

/* An operand that was added to zeros: its rows, and at which indices, over the axes of the
 * operation but the one along rows. */
typedef struct Scattered {
    CadId first, index;
    int axis;
    int64_t length;
    int64_t strides[CAD_MOST_AXES], indices[CAD_MOST_AXES];
} Scattered;

/* 0 if an operand is none, or the operation does not go along whole rows of it. */
static int find_scattered(CadGraph *graph, Divided *d, int n_views, int view, CadId first,
                          Scattered *found) {
    CadAxes axes;
    CadMade made;
    Layout layout;
    int64_t shape[CAD_MOST_AXES], steps[CAD_MOST_AXES], last[CAD_MOST_AXES] = {0};
    cad_graph_look(graph, cad_graph_record_of(graph, first), axes, &made);
    if (made.ndim == CAD_MOST_AXES || made.views[0].first != 0 || first != made.first) {
        return 0;
    }
    memcpy(shape, made.shape, (size_t)made.ndim * sizeof *shape);
    memcpy(steps, made.views[0].strides, (size_t)made.ndim * sizeof *steps);
    shape[made.ndim] = made.length;
    steps[made.ndim] = made.stride;
    if (!find_layout(made.ndim + 1, shape, steps, made.size, &layout) ||
        layout.n != layout.n_own || !divide(d, n_views, view, &layout)) {
        return 0;
    }
    *found = (Scattered){made.views[1].first, made.views[2].first, -1, made.length, {0}, {0}};
    for (int i = 0; i < d->ndim; i++) {
        int64_t by[CAD_MOST_AXES];
        if (!find_steps(&layout, d->strides[view][i], d->shape[i] - 1, last, by)) {
            return 0;
        }
        for (int j = 0; j < layout.n; j++) {
            const int axis = layout.axes[j];
            if (axis < made.ndim) {
                found->strides[i] += by[j] * made.views[1].strides[axis];
                found->indices[i] += by[j] * made.views[2].strides[axis];
            } else if (by[j] != 0) {
                const int is_row = found->axis < 0 && by[j] == 1 && d->shape[i] == made.length &&
                                   d->strides[view][i] == made.stride;
                if (!is_row) {
                    return 0;
                }
                found->axis = i;
            }
        }
    }
    return found->axis >= 0;
}

/* Leave out an axis. */
static void drop(int ndim, int axis, int64_t *words) {
    memmove(words + axis, words + axis + 1, (size_t)(ndim - axis - 1) * sizeof *words);
}

/* Rows added to zeros at indices, as `size` numbers. */
static CadId scatter(CadGraph *graph, const CadShape *shape, size_t size, const int64_t *targets,
                     int64_t stride, const Row *rows, const Scattered *by) {
    const CadMade made = {
        .kind = CAD_RECORD_ADD_BY,
        .size = size,
        .ndim = shape->ndim,
        .shape = shape->lengths,
        .n_views = 3,
        .views = {{0, targets}, numbers_of(rows), {by->index, by->indices}},
        .length = by->length,
        .stride = stride,
    };
    return cad_graph_make(graph, graph, &made);
}

static int is_linear(CadOp op) {
    return op == CAD_OP_negative || op == CAD_OP_positive || op == CAD_OP_stop;
}

/* Whether a row of the table gives zeros where some operands are zeros, whatever others are. */
static int keeps_zeros(CadGraph *graph, const CadMade *made, const int *are_scattered) {
    double c;
    if (is_linear(made->op)) {
        return 1;
    }
    const int other = are_scattered[1] ? 2 : 1;
    const CadId id = made->views[other].first;
    const int is_constant = !are_scattered[other] && cad_graph_is_constant(graph, id, &c);
    switch ((int)made->op) {
    case CAD_OP_amul:
        return 1;
    case CAD_OP_multiply:
        return are_scattered[other] || (is_constant && isfinite(c));
    case CAD_OP_divide:
        return other == 2 && is_constant && c != 0.0 && isfinite(c);
    case CAD_OP_add:
    case CAD_OP_subtract:
        return are_scattered[other] || (is_constant && c == 0.0);
    default:
        return 0;
    }
}

/* The same operation on rows, if an operand was added to zeros; CAD_NO_ID if it is to be carried
 * out on all numbers. */
static CadId scattered_map(CadGraph *graph, const CadMade *made) {
    int are_scattered[4] = {0}, any = 0, n_left = MOST_TAKEN;
    Scattered found[4];
    Divided d = {.ndim = made->ndim};
    for (int k = 1; k < made->n_views; k++) {
        any |= are_scattered[k] = is_scattered(graph, made->views[k].first);
    }
    const int is_kind = cad_op_is_kind(made->op);
    if (!any || made->n_views > 3 || made->views[0].first != 0 ||
        !(is_kind ? is_made_of_some(made) && !(are_scattered[1] && are_scattered[2])
                  : keeps_zeros(graph, made, are_scattered))) {
        return CAD_NO_ID;
    }
    memcpy(d.shape, made->shape, (size_t)made->ndim * sizeof *d.shape);
    for (int k = 0; k < made->n_views; k++) {
        memcpy(d.strides[k], made->views[k].strides, (size_t)made->ndim * sizeof *d.shape);
    }
    int one = 0;
    for (int turn = 0; turn < 2; turn++) { /* what divides axes for one does so for others */
        for (int k = 1; k < made->n_views; k++) {
            if (are_scattered[k] &&
                !find_scattered(graph, &d, made->n_views, k, made->views[k].first, &found[k])) {
                return CAD_NO_ID;
            }
            one = are_scattered[k] ? k : one;
        }
    }
    Scattered *const by = &found[one];
    if (are_scattered[1] && one == 2 &&
        (found[1].index != by->index || found[1].axis != by->axis ||
         found[1].length != by->length ||
         memcmp(found[1].indices, by->indices, (size_t)d.ndim * sizeof *by->indices) != 0)) {
        return CAD_NO_ID;
    }
    const int axis = by->axis, ndim = d.ndim - 1;
    const int64_t stride = d.strides[0][axis];
    int64_t in_order[CAD_MOST_AXES];
    Row x[3];
    CadNumbers views[3] = {{0, d.strides[0]}};
    for (int k = 1; k < made->n_views; k++) {
        x[k] = (Row){.first = made->views[k].first, .along = d.strides[k][axis]};
        memcpy(x[k].strides, d.strides[k], (size_t)d.ndim * sizeof *d.shape);
        if (are_scattered[k]) {
            x[k] = (Row){.first = found[k].first};
            memcpy(x[k].strides, found[k].strides, (size_t)d.ndim * sizeof *d.shape);
        }
        drop(d.ndim, axis, x[k].strides);
    }
    drop(d.ndim, axis, d.shape);
    drop(d.ndim, axis, d.strides[0]);
    drop(d.ndim, axis, by->indices);
    CadShape shape = {graph, ndim, d.shape, in_order,
                      cad_strides_in_order(ndim, d.shape, in_order)};
    const Taker taker = {shape, {by->index, by->indices}, by->length};
    int adds_up = 0;
    for (int i = 0; i < ndim; i++) {
        adds_up |= d.shape[i] > 1 && d.strides[0][i] == 0;
    }
    for (int k = 1; k < made->n_views; k++) {
        x[k] = taken(&taker, x[k], &n_left);
        views[k] = numbers_of(&x[k]);
    }
    const CadNumbers other = views[made->n_views - 1];
    Row rows = x[1];
    if (!is_kind) {
        rows = row_of(ndim, cad_graph_apply_over(&shape, made->op, views[1], other, other));
    } else if (stride == 0 && adds_up) {
        shape.size = made->size;
        return cad_graph_kind_over(&shape, made->op == CAD_OP_SUM ? CAD_OP_SUM : CAD_OP_VECDOT,
                                   made->n_views, views)
            .first;
    } else if (made->op != CAD_OP_SUM) {
        rows = row_of(ndim, cad_graph_product(&shape, views[1], other));
    }
    if (stride != 0) {
        return scatter(graph, &shape, made->size, d.strides[0], stride, &rows, by);
    }
    const CadNumbers copy[2] = {views[0], numbers_of(&rows)};
    return cad_graph_map(graph, CAD_OP_positive, made->size, ndim, d.shape, 2, copy);
}

/* --- any operation --- */

/* What a derivative adds up of a copy, it adds up of what was copied: in another order of axes. */
static void leave_copy(CadGraph *graph, CadMade *sum, Row *source) {
    int64_t lengths[CAD_MOST_AXES], indices[CAD_MOST_AXES];
    CadAxes axes;
    CadMade made;
    Row x[4];
    const CadShape shape = {graph, sum->ndim, sum->shape, cad_no_strides, 0};
    Taker all = {shape, {CAD_ZERO, cad_no_strides}, 1};
    cad_graph_look(graph, cad_graph_record_of(graph, sum->views[1].first), axes, &made);
    if (made.kind == CAD_RECORD_MAP && made.op == CAD_OP_positive &&
        find_operands(&made, row_of(sum->ndim, sum->views[1]), &all, lengths, indices, x)) {
        *source = x[1];
        sum->views[1] = numbers_of(source);
    }
}

CadId cad_graph_map(CadGraph *graph, CadOp op, size_t size, int ndim, const int64_t *shape,
                    int n_views, const CadNumbers *views) {
    CadMade made = {.kind = CAD_RECORD_MAP,
                    .op = op,
                    .size = size,
                    .ndim = ndim,
                    .shape = shape,
                    .n_views = n_views};
    memcpy(made.views, views, (size_t)n_views * sizeof *views);
    Row source;
    if (op == CAD_OP_SUM && graph->n_own > 0 && graph->optimize) {
        leave_copy(graph, &made, &source);
    }
    CadId there = CAD_NO_ID;
    if (graph->optimize) {
        there = nothing_map(graph, &made);
        there = there == CAD_NO_ID ? constant_map(graph, &made) : there;
        there = there == CAD_NO_ID ? scattered_map(graph, &made) : there;
    }
    return there != CAD_NO_ID ? there : cad_graph_make(graph, graph, &made);
}

CadNumbers cad_graph_apply_over(const CadShape *shape, CadOp op, CadNumbers x, CadNumbers y,
                                CadNumbers z) {
    const int arity = cad_op_info[op].arity;
    CadNumbers views[4] = {{0, shape->in_order}, x, y, z};
    int single = 1;
    for (int k = 1; k <= arity; k++) {
        views[k] = cad_graph_as_one(shape, views[k]);
        single = single && cad_is_single(shape, views[k]);
    }
    if (single) {
        return (CadNumbers){
            cad_graph_apply(shape->graph, op, views[1].first, views[2].first, views[3].first),
            cad_no_strides};
    }
    if (shape->graph->optimize && op == CAD_OP_power && cad_is_single(shape, views[2]) &&
        cad_graph_is(shape->graph, views[2].first, 2.0)) {
        return cad_graph_apply_over(shape, CAD_OP_square, x, x, x);
    }
    if (shape->graph->optimize) {
        const CadNumbers there = cad_graph_foregone(shape, op, views + 1);
        if (there.first != CAD_NO_ID) {
            return there;
        }
    }
    return (CadNumbers){cad_graph_map(shape->graph, op, shape->size, shape->ndim, shape->lengths,
                                      arity + 1, views),
                        shape->in_order};
}

CadNumbers cad_graph_kind_over(const CadShape *shape, CadOp op, int n_views,
                               const CadNumbers *views) {
    int64_t terms = 1, numbers = 1; /* of the sums, and of those that are no single ones */
    for (int i = 0; i < shape->ndim; i++) {
        terms *= shape->lengths[i];
        numbers *= views[0].strides[i] != 0 ? shape->lengths[i] : 1;
    }
    const int single = cad_is_single(shape, views[1]) || cad_is_single(shape, views[n_views - 1]);
    if (shape->graph->optimize && n_views == 3 && cad_op_sums_up(op) && terms == numbers &&
        (single || !cad_op_multiplies(op))) {
        return cad_graph_apply_over(
            &(CadShape){shape->graph, shape->ndim, shape->lengths, views[0].strides, shape->size},
            CAD_OP_multiply, views[1], views[2], views[2]);
    }
    return (CadNumbers){
        cad_graph_map(shape->graph, op, shape->size, shape->ndim, shape->lengths, n_views, views),
        views[0].strides};
}

CadNumbers cad_graph_product(const CadShape *shape, CadNumbers x, CadNumbers y) {
    double c;
    if (shape->ndim == 0) {
        return cad_graph_apply_over(shape, CAD_OP_amul, x, y, y);
    }
    x = cad_graph_as_one(shape, x);
    y = cad_graph_as_one(shape, y);
    const int plain = (cad_is_single(shape, x) &&
                       cad_graph_is_constant(shape->graph, x.first, &c) && isfinite(c)) ||
                      (cad_is_single(shape, y) &&
                       cad_graph_is_constant(shape->graph, y.first, &c) && isfinite(c));
    if (plain && c == 0.0) {
        return (CadNumbers){cad_graph_constant(shape->graph, 0.0), cad_no_strides};
    }
    return cad_graph_apply_over(shape, plain ? CAD_OP_multiply : CAD_OP_amul, x, y, y);
}
