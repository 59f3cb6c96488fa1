/* Walking over the views of a plan: what the traversals of entries over arrays have in common. */
#ifndef CAD_ARRAYS_WALK_H
#define CAD_ARRAYS_WALK_H

#include "arrays/lanes.h"
#include "kernels/kernels.h"
#include "tape/blocks.h"

#include <string.h>

/* All views of a plan, row by row: a row is the last axis. `at` are the slots of its first number,
 * `step` the strides along it, `values` where the value of slot 0 would be. */
typedef struct Walk {
    CadPlan *plan;
    int axes; /* that are walked over: all but the last `kept` ones */
    size_t n;
    int64_t at[4];
    int64_t step[4];
    double *values[4];
    int64_t index[CAD_MOST_AXES];
    size_t first; /* the tile of the row: `width` numbers from this one on */
    size_t width;
} Walk;

/* Over numbers that stand in one buffer, where a view's slot is an index. */
static inline void start_walk_in(Walk *walk, double *values, CadPlan *plan, int kept) {
    const int ndim = plan->ndim;
    walk->plan = plan;
    walk->axes = ndim > kept ? ndim - kept : 0;
    walk->n = ndim > 0 ? (size_t)cad_plan_shape(plan)[ndim - 1] : 1;
    walk->first = walk->width = 0;
    for (int k = 0; k < plan->n_views; k++) {
        const int64_t *view = cad_plan_view(plan, k);
        walk->at[k] = view[0];
        walk->step[k] = ndim > 0 ? view[ndim] : 0;
        walk->values[k] = values;
    }
    for (int i = 0; i < walk->axes; i++) {
        walk->index[i] = 0;
    }
}

static inline void start_walk(Walk *walk, const CadTape *tape, CadPlan *plan, int kept) {
    start_walk_in(walk, tape->values, plan, kept);
    for (int k = 0; k < plan->n_views && tape->n_borrowed > 0; k++) {
        walk->values[k] = cad_tape_values(tape, walk->at[k]);
    }
}

/* The next row; 0 if there is none. */
static inline int advance(Walk *walk) {
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

/* The next tile, at first the first one; 0 if there is none. */
static inline int next_tile(Walk *walk) {
    walk->first += walk->width;
    if (walk->first == walk->n) {
        walk->first = 0;
        if (!advance(walk)) {
            return 0;
        }
    }
    walk->width = walk->n - walk->first < CAD_TILE ? walk->n - walk->first : CAD_TILE;
    return 1;
}

/* Numbers [first, ...) of the row that a view has in a buffer. */
static inline CadStrip strip_at(const Walk *walk, int view, double *buffer, size_t first) {
    return (CadStrip){buffer + walk->at[view] + (int64_t)first * walk->step[view],
                      (ptrdiff_t)walk->step[view]};
}

/* Values [first, ...) of the row of a view. */
static inline CadStrip values_at(const Walk *walk, int view, size_t first) {
    return strip_at(walk, view, walk->values[view], first);
}

/* Lanes of the row of a view, from slot `first` on: the strip has the first lane of each slot. */
static inline CadStrip lanes_at(const Walk *walk, int view, CadLanes lanes, size_t first) {
    const int64_t slot = walk->at[view] + (int64_t)first * walk->step[view];
    return (CadStrip){lanes_of(lanes, slot), (ptrdiff_t)(walk->step[view] * (int64_t)lanes.count)};
}

static inline int is_active(const CadPlan *plan, int view) {
    return !(plan->passive >> view & 1);
}

static inline int64_t offset(const CadTape *tape, const CadPlan *plan, int64_t i) {
    int64_t result;
    memcpy(&result, &tape->values[plan->index + i], sizeof result);
    return result;
}

/* The slot that the i-th offset names. */
static inline int64_t indexed(const CadTape *tape, CadPlan *plan, int64_t i) {
    return cad_plan_extra(plan)[0] + offset(tape, plan, i);
}

static inline void exchange(double *x, double *y) {
    const double former = *x;
    *x = *y;
    *y = former;
}

/* The slot that the i-th number of a scatter comes from: its source has one axis at most. */
static inline int64_t scattered(CadPlan *plan, int64_t i) {
    const int64_t *view = cad_plan_view(plan, 0);
    return view[0] + (plan->ndim > 0 ? i * view[1] : 0);
}

/* The matrix of a view that begins at some place. */
static inline CadMatrix matrix_at(const Walk *walk, int view, double *data, int rows,
                                  int columns) {
    const int64_t *strides = cad_plan_view(walk->plan, view) + 1 + walk->axes;
    return (CadMatrix){data, (ptrdiff_t)strides[rows], (ptrdiff_t)strides[columns]};
}

static inline CadMatrix matrix_of_values(const Walk *walk, int view, int rows, int columns) {
    return matrix_at(walk, view, walk->values[view] + walk->at[view], rows, columns);
}

/* The operands of a row in a tile; missing ones repeat the first. */
static inline void operands_at(const Walk *walk, size_t first, CadStrip x[4]) {
    const int arity = walk->plan->n_views - 1;
    for (int k = 0; k < 3; k++) {
        x[k] = values_at(walk, k < arity ? k + 1 : 1, first);
    }
    x[3] = values_at(walk, 0, first);
}

/* Their tangents, and that of the result; data NULL where there is none. */
static inline void tangents_at(const Walk *walk, CadLanes tangents, CadStrip t[4]) {
    for (int k = 0; k < 3; k++) {
        const int has_one = k + 1 < walk->plan->n_views && is_active(walk->plan, k + 1);
        t[k] = has_one ? lanes_at(walk, k + 1, tangents, walk->first) : (CadStrip){NULL, 0};
    }
    t[3] = lanes_at(walk, 0, tangents, walk->first);
}

/* The first view = an operation on the others. */
static inline void compute_rows(Walk *walk, CadOp op, CadStripFunction value) {
    CadStrip x[4];
    do {
        operands_at(walk, 0, x);
        value(op, x[3], x, walk->n);
    } while (advance(walk));
}

/* target (rows x columns) += or = a b, a a column and b a row. */
static inline void add_outer_product(CadMatrix target, CadMatrix a, CadMatrix b, int store,
                                     size_t rows, size_t columns) {
    if (columns < rows) { /* the transposed product has longer rows */
        const CadMatrix transposed = {target.data, target.column, target.row};
        add_outer_product(transposed, (CadMatrix){b.data, b.column, b.row},
                          (CadMatrix){a.data, a.column, a.row}, store, columns, rows);
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        const CadStrip factor = {a.data + (ptrdiff_t)i * a.row, 0};
        const CadStrip to = {target.data + (ptrdiff_t)i * target.row, target.column};
        for (size_t first = 0; first < columns; first += CAD_TILE) {
            const size_t n = columns - first < CAD_TILE ? columns - first : CAD_TILE;
            cad_strip_add_product(cad_strip_from(to, first),
                                  cad_strip_from((CadStrip){b.data, b.column}, first), factor,
                                  store, n);
        }
    }
}

/* target (rows x columns) += or = a b, by way of some room where BLAS cannot write to the target,
 * or has to add. */
static inline void add_matrix_product(double *room, CadMatrix target, CadMatrix a, CadMatrix b,
                                      int store, size_t rows, size_t inner, size_t columns) {
    if (inner == 1) {
        add_outer_product(target, a, b, store, rows, columns);
        return;
    }
    if (store && target.column == 1) {
        cad_multiply_matrices(target, a, b, rows, inner, columns);
        return;
    }
    const CadMatrix product = {room, (ptrdiff_t)columns, 1};
    cad_multiply_matrices(product, a, b, rows, inner, columns);
    for (size_t i = 0; i < rows; i++) {
        cad_strip_add((CadStrip){target.data + (ptrdiff_t)i * target.row, target.column},
                      (CadStrip){product.data + i * columns, 1}, store, columns);
    }
}

#endif
