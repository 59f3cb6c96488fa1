/* See kernels.h. */
#include "kernels/loops.h"

#include "table/ops.h"

#include <assert.h>
#include <string.h>

/* --- the table of loops --- */

/* Side by side in memory, or the same number throughout, most operations are vectorised by the
 * compiler; choices, too, once both sides are read. */
#define AT(k) (*(double *)(args[k] + i * steps[k]))
#define SIDE_BY_SIDE(k) (steps[k] == (intptr_t)sizeof(double))
#define NUMBERS(k) ((const double *)args[k])
#define FOR_ALL                                                                                   \
    double *const out = (double *)args[arity];                                                    \
    for (intptr_t i = 0; i < n; i++)
#define CAD_ROW1(name, value, dx)                                                                 \
    static void loop_##name(char **args, const intptr_t *dims, const intptr_t *steps,             \
                            void *data) {                                                         \
        (void)data;                                                                               \
        enum { arity = 1 };                                                                       \
        const intptr_t n = dims[0];                                                               \
        if (SIDE_BY_SIDE(0) && SIDE_BY_SIDE(1)) {                                                 \
            const double *const x = NUMBERS(0);                                                   \
            FOR_ALL {                                                                             \
                out[i] = val_##name(x[i]);                                                        \
            }                                                                                     \
            return;                                                                               \
        }                                                                                         \
        for (intptr_t i = 0; i < n; i++) {                                                        \
            AT(1) = val_##name(AT(0));                                                            \
        }                                                                                         \
    }
#define CAD_ROW2(name, value, dx, dy)                                                             \
    static void loop_##name(char **args, const intptr_t *dims, const intptr_t *steps,             \
                            void *data) {                                                         \
        (void)data;                                                                               \
        enum { arity = 2 };                                                                       \
        const intptr_t n = dims[0];                                                               \
        if (SIDE_BY_SIDE(0) && SIDE_BY_SIDE(1) && SIDE_BY_SIDE(2)) {                              \
            const double *const x = NUMBERS(0), *const y = NUMBERS(1);                            \
            FOR_ALL {                                                                             \
                out[i] = val_##name(x[i], y[i]);                                                  \
            }                                                                                     \
            return;                                                                               \
        }                                                                                         \
        if (SIDE_BY_SIDE(0) && steps[1] == 0 && SIDE_BY_SIDE(2) && n > 0) {                       \
            const double *const x = NUMBERS(0), y = NUMBERS(1)[0];                                \
            FOR_ALL {                                                                             \
                out[i] = val_##name(x[i], y);                                                     \
            }                                                                                     \
            return;                                                                               \
        }                                                                                         \
        if (steps[0] == 0 && SIDE_BY_SIDE(1) && SIDE_BY_SIDE(2) && n > 0) {                       \
            const double x = NUMBERS(0)[0], *const y = NUMBERS(1);                                \
            FOR_ALL {                                                                             \
                out[i] = val_##name(x, y[i]);                                                     \
            }                                                                                     \
            return;                                                                               \
        }                                                                                         \
        for (intptr_t i = 0; i < n; i++) {                                                        \
            AT(2) = val_##name(AT(0), AT(1));                                                     \
        }                                                                                         \
    }
#define CAD_ROW3(name, value, dx, dy, dz)                                                         \
    static void loop_##name(char **args, const intptr_t *dims, const intptr_t *steps,             \
                            void *data) {                                                         \
        (void)data;                                                                               \
        enum { arity = 3 };                                                                       \
        const intptr_t n = dims[0];                                                               \
        if (SIDE_BY_SIDE(0) && SIDE_BY_SIDE(3) && n > 0) {                                        \
            const double *const x = NUMBERS(0), *const y = NUMBERS(1), *const z = NUMBERS(2);     \
            const double first = y[0], other = z[0];                                              \
            if (SIDE_BY_SIDE(1) && SIDE_BY_SIDE(2)) {                                             \
                FOR_ALL {                                                                         \
                    const double here = y[i], there = z[i];                                       \
                    out[i] = val_##name(x[i], here, there);                                       \
                }                                                                                 \
                return;                                                                           \
            }                                                                                     \
            if (SIDE_BY_SIDE(1) && steps[2] == 0) {                                               \
                FOR_ALL {                                                                         \
                    const double here = y[i];                                                     \
                    out[i] = val_##name(x[i], here, other);                                       \
                }                                                                                 \
                return;                                                                           \
            }                                                                                     \
            if (steps[1] == 0 && SIDE_BY_SIDE(2)) {                                               \
                FOR_ALL {                                                                         \
                    const double there = z[i];                                                    \
                    out[i] = val_##name(x[i], first, there);                                      \
                }                                                                                 \
                return;                                                                           \
            }                                                                                     \
            if (steps[1] == 0 && steps[2] == 0) {                                                 \
                FOR_ALL {                                                                         \
                    out[i] = val_##name(x[i], first, other);                                      \
                }                                                                                 \
                return;                                                                           \
            }                                                                                     \
        }                                                                                         \
        for (intptr_t i = 0; i < n; i++) {                                                        \
            AT(3) = val_##name(AT(0), AT(1), AT(2));                                              \
        }                                                                                         \
    }
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3
#undef AT
#undef NUMBERS
#undef FOR_ALL

/* Operands and product: stacked matrices, of which this takes one; dims: stack, m, n, p. */
static void loop_matmul(char **args, const intptr_t *dims, const intptr_t *steps, void *data) {
    (void)data;
    const intptr_t *core = steps + 3;
    for (intptr_t i = 0; i < dims[1]; i++) {
        for (intptr_t j = 0; j < dims[3]; j++) {
            double sum = 0.0;
            for (intptr_t k = 0; k < dims[2]; k++) {
                sum += *(double *)(args[0] + i * core[0] + k * core[1]) *
                       *(double *)(args[1] + k * core[2] + j * core[3]);
            }
            *(double *)(args[2] + i * core[4] + j * core[5]) = sum;
        }
    }
}

static CadLoop loops[CAD_OP_COUNT] = {
    [CAD_OP_MATMUL] = {loop_matmul, NULL},
#define CAD_ROW1(name, value, dx) [CAD_OP_##name] = {loop_##name, NULL},
#define CAD_ROW2(name, value, dx, dy) [CAD_OP_##name] = {loop_##name, NULL},
#define CAD_ROW3(name, value, dx, dy, dz) [CAD_OP_##name] = {loop_##name, NULL},
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3
};

void cad_set_loop(CadOp op, CadLoopFunction function, void *data) {
    loops[op] = (CadLoop){function, data};
}

void cad_run_loop(CadOp op, char **args, const intptr_t *dims, const intptr_t *steps) {
    loops[op].function(args, dims, steps, loops[op].data);
}

enum { BYTES = sizeof(double) };

void cad_strip_value(CadOp op, CadStrip out, CadStrip x, CadStrip y, CadStrip z, size_t n) {
    const int arity = cad_op_info[op].arity;
    const CadStrip strips[4] = {x, arity > 1 ? y : out, arity > 2 ? z : out, out};
    char *args[4];
    intptr_t steps[4];
    for (int k = 0; k <= arity; k++) {
        args[k] = (char *)strips[k].data;
        steps[k] = strips[k].step * BYTES;
    }
    const intptr_t length = (intptr_t)n;
    cad_run_loop(op, args, &length, steps);
}

void cad_strip_sum(double *out, CadStrip x, size_t n) {
    const CadStrip total = {out, 0};
    cad_strip_value(CAD_OP_add, total, total, x, x, n);
}

void cad_multiply_matrices(CadMatrix product, CadMatrix a, CadMatrix b, size_t m, size_t n,
                           size_t p) {
    char *args[3] = {(char *)a.data, (char *)b.data, (char *)product.data};
    const intptr_t dims[4] = {1, (intptr_t)m, (intptr_t)n, (intptr_t)p};
    const intptr_t steps[9] = {0,
                               0,
                               0,
                               a.row * BYTES,
                               a.column * BYTES,
                               b.row * BYTES,
                               b.column * BYTES,
                               product.row * BYTES,
                               product.column * BYTES};
    cad_run_loop(CAD_OP_MATMUL, args, dims, steps);
}

/* to[k] = or += the sum over j < terms of a[j][k] b[j][k]. */
static CAD_INLINE void sum_products(CadStrip to, CadStrip a, ptrdiff_t next_a, CadStrip b,
                                    ptrdiff_t next_b, int terms, int adds, size_t count) {
    for (ptrdiff_t k = 0; k < (ptrdiff_t)count; k++) {
        const double *const x = a.data + k * a.step, *const y = b.data + k * b.step;
        double sum = adds ? to.data[k * to.step] : 0.0;
        for (int j = 0; j < terms; j++) {
            sum += x[j * next_a] * y[j * next_b];
        }
        to.data[k * to.step] = sum;
    }
}

/* One element of each of some products. */
static void multiply_one_of_each(CadStrip to, CadStrip a, ptrdiff_t next_a, CadStrip b,
                                 ptrdiff_t next_b, size_t n, size_t count) {
    enum { TERMS = 4 };
    for (size_t first = 0; first == 0 || first < n; first += TERMS) {
        const size_t terms = n - first < TERMS ? n - first : TERMS;
        const CadStrip x = {a.data + (ptrdiff_t)first * next_a, a.step};
        const CadStrip y = {b.data + (ptrdiff_t)first * next_b, b.step};
        switch (terms) {
        case 4:
            sum_products(to, x, next_a, y, next_b, 4, first > 0, count);
            break;
        case 3:
            sum_products(to, x, next_a, y, next_b, 3, first > 0, count);
            break;
        case 2:
            sum_products(to, x, next_a, y, next_b, 2, first > 0, count);
            break;
        default:
            sum_products(to, x, next_a, y, next_b, (int)terms, first > 0, count);
        }
    }
}

void cad_multiply_each(CadMatrix product, CadMatrix a, CadMatrix b, size_t m, size_t n, size_t p,
                       size_t count, const ptrdiff_t steps[3]) {
    enum { SOME = 128 }; /* that stay in the cache, however far apart they are */
    for (size_t first = 0; first < count; first += SOME) {
        const size_t some = count - first < SOME ? count - first : SOME;
        const ptrdiff_t at = (ptrdiff_t)first;
        for (ptrdiff_t i = 0; i < (ptrdiff_t)m; i++) {
            for (ptrdiff_t j = 0; j < (ptrdiff_t)p; j++) {
                multiply_one_of_each(
                    (CadStrip){product.data + at * steps[0] + i * product.row + j * product.column,
                               steps[0]},
                    (CadStrip){a.data + at * steps[1] + i * a.row, steps[1]}, a.column,
                    (CadStrip){b.data + at * steps[2] + j * b.column, steps[2]}, b.row, n, some);
            }
        }
    }
}

/* --- cross-entropy --- */

void cad_cross_entropy(const double *logits, const int64_t *labels, size_t rows, size_t classes,
                       double *losses, double *residuals) {
    for (size_t row = 0; row < rows; row++) {
        const double *const x = logits + row * classes;
        double *const e = residuals + row * classes;
        double most = x[0];
        for (size_t i = 1; i < classes; i++) {
            most = x[i] > most || isnan(x[i]) ? x[i] : most;
        }
        for (size_t i = 0; i < classes; i++) {
            e[i] = x[i] - most; /* which exp can take */
        }
        losses[row] = e[labels[row]];
    }
    const CadStrip all = {residuals, 1};
    cad_strip_value(CAD_OP_exp, all, all, all, all, rows * classes);
    for (size_t row = 0; row < rows; row++) {
        double *const e = residuals + row * classes;
        double *const at_label = e + labels[row];
        const double right = losses[row], own = *at_label;
        double others = *at_label = 0.0;
        cad_strip_sum(&others, (CadStrip){e, 1}, classes);
        const double total = own + others;
        losses[row] = right > -1.0 ? log1p(others / own) : log(total) - right;
        *at_label = -others;
        for (size_t i = 0; i < classes; i++) {
            e[i] /= total;
        }
    }
}

/* --- products of the chain rule --- */

CAD_CLONES static void store_products(double *restrict to, const double *g, const double *p,
                                      size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = absorb(g[i], p[i]);
    }
}

CAD_CLONES static void add_products(double *restrict to, const double *g, const double *p,
                                    size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] += absorb(g[i], p[i]);
    }
}

CAD_CLONES static void store_scaled(double *restrict to, const double *g, double p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = absorb(g[i], p);
    }
}

CAD_CLONES static void add_scaled(double *restrict to, const double *g, double p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] += absorb(g[i], p);
    }
}

CAD_CLONES static void add_number(double *to, double x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] += x;
    }
}

CAD_CLONES static void store_number(double *to, double x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = x;
    }
}

CAD_CLONES static void add_plain(double *restrict to, const double *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] += x[i];
    }
}

/* Of pairs the first: one part of complex numbers. */
CAD_CLONES static void store_of_pairs(double *restrict to, const double *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = x[2 * i];
    }
}

CAD_CLONES static void add_of_pairs(double *restrict to, const double *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] += x[2 * i];
    }
}

void cad_strip_add(CadStrip to, CadStrip x, int store, size_t n) {
    if (to.step == 0) {
        if (store) {
            to.data[0] = 0.0;
        }
        cad_strip_sum(to.data, x, n);
    } else if (store && to.step == 1 && x.step == 1) {
        memcpy(to.data, x.data, n * sizeof(double));
    } else if (to.step == 1 && x.step == 1) {
        add_plain(to.data, x.data, n);
    } else if (to.step == 1 && x.step == 0) {
        (store ? store_number : add_number)(to.data, x.data[0], n);
    } else if (to.step == 1 && x.step == 2) {
        (store ? store_of_pairs : add_of_pairs)(to.data, x.data, n);
    } else {
        for (size_t i = 0; i < n; i++) {
            double *const target = to.data + (ptrdiff_t)i * to.step;
            const double term = x.data[(ptrdiff_t)i * x.step];
            *target = store ? term : *target + term; /* of a zero the sign is kept */
        }
    }
}

void cad_strip_add_product(CadStrip to, CadStrip g, CadStrip p, int store, size_t n) {
    if (p.step == 0 && p.data[0] == 1.0) {
        cad_strip_add(to, g, store, n);
        return;
    }
    if (g.step == 0) { /* whichever factor it is */
        const CadStrip number = g;
        g = p;
        p = number;
    }
    if (to.step == 1 && g.step == 1 && p.step == 1) {
        (store ? store_products : add_products)(to.data, g.data, p.data, n);
    } else if (to.step == 1 && g.step == 1 && p.step == 0) {
        (store ? store_scaled : add_scaled)(to.data, g.data, p.data[0], n);
    } else if (to.step == 0) {
        double products[CAD_TILE];
        for (size_t i = 0; i < n; i++) {
            products[i] = absorb(g.data[(ptrdiff_t)i * g.step], p.data[(ptrdiff_t)i * p.step]);
        }
        cad_strip_add(to, (CadStrip){products, 1}, store, n);
    } else {
        for (size_t i = 0; i < n; i++) {
            double *const target = to.data + (ptrdiff_t)i * to.step;
            *target = (store ? 0.0 : *target) +
                      absorb(g.data[(ptrdiff_t)i * g.step], p.data[(ptrdiff_t)i * p.step]);
        }
    }
}

/* --- partials and products in one loop --- */

#define A(name, ...) val_##name(__VA_ARGS__)
#define K(constant) (constant)
#define L(number) (number)
#define P(number) (number)

/* Reads operands and value where they stand side by side. */
#define CAD_DIRECT(name, which, reads, partial)                                                   \
    case CAD_OP_##name * 4 + which:                                                               \
        if ((reads & scattered) != 0) {                                                           \
            return 0;                                                                             \
        }                                                                                         \
        CAD_NO_UNROLL                                                                             \
        for (size_t i = 0; i < n; i++) {                                                          \
            const double x = xs[i], y = ys[i], z = zs[i], v = vs[i];                              \
            (void)x, (void)y, (void)z, (void)v;                                                   \
            to[i] = (store ? 0.0 : to[i]) + absorb(g[i], partial);                                \
        }                                                                                         \
        return 1;

/* to[i] += or = g[i] * partial; 0 if the partial is not one for such a loop. Operands whose bit is
 * in `scattered` have their numbers elsewhere. */
static CAD_INLINE int hand_on_directly(int op_and_which, int scattered, double *restrict to,
                                       const double *g, const double *xs, const double *ys,
                                       const double *zs, const double *vs, const int store,
                                       size_t n) {
    switch (op_and_which) {
#include "ops_direct.h"
    default:
        return 0;
    }
}

CAD_CLONES static int store_directly(int op_and_which, int scattered, double *to, const double *g,
                                     const CadStrip x[4], size_t n) {
    return hand_on_directly(op_and_which, scattered, to, g, x[0].data, x[1].data, x[2].data,
                            x[3].data, 1, n);
}

CAD_CLONES static int add_directly(int op_and_which, int scattered, double *to, const double *g,
                                   const CadStrip x[4], size_t n) {
    return hand_on_directly(op_and_which, scattered, to, g, x[0].data, x[1].data, x[2].data,
                            x[3].data, 0, n);
}

#undef A
#undef K
#undef L
#undef P

/* --- scratch --- */

#include "kernels/masks.h" /* from here on, conditions are over strips */

/* No formula of the table has more words than this, nor its derivative: tests/c sees to it. */
enum { MOST_STRIPS = 640, MOST_CONSTANTS = 256 };

struct CadScratch {
    int strips;
    int constants;
    size_t n;
    CadMasks masks;
    double constant[MOST_CONSTANTS];
    double spare[CAD_SPARE_TILES][CAD_TILE];
    double strip[MOST_STRIPS][CAD_TILE];
};

CadScratch *cad_scratch_new(void) {
    return cad_memory_zeroed(1, sizeof(CadScratch));
}

double *cad_scratch_tile(CadScratch *scratch, int k) {
    assert(k < CAD_SPARE_TILES);
    return scratch->spare[k];
}

static CAD_APART CadStrip constant_strip(CadScratch *s, double value) {
    assert(s->constants < MOST_CONSTANTS);
    double *const place = &s->constant[s->constants++];
    *place = value;
    return (CadStrip){place, 0};
}

static CadStrip free_strip(CadScratch *s) {
    assert(s->strips < MOST_STRIPS);
    return (CadStrip){s->strip[s->strips++], 1};
}

/* --- the algebra of strips --- */

static CAD_APART CadStrip apply(CadScratch *s, CadOp op, CadStrip x, CadStrip y) {
    if (x.step == 0 && y.step == 0) {
        return constant_strip(s, cad_op_value(op, x.data[0], y.data[0], 0.0));
    }
    const CadStrip out = free_strip(s);
    cad_strip_value(op, out, x, y, x, s->n);
    return out;
}

/* Ends a condition: it was needed no longer than for the choice of one branch. */
static CadStrip chosen(CadScratch *s, CadStrip x) {
    s->masks.depth--;
    return x;
}

static CAD_APART CadStrip blend(CadScratch *s, CadStrip x, CadStrip y) {
    const CadMask mask = cad_mask_pop(&s->masks);
    const CadStrip out = free_strip(s);
    if (x.step == 0 && y.step == 0) {
        const double here = x.data[0], there = y.data[0];
        for (size_t i = 0; i < s->n; i++) {
            out.data[i] = mask[i] ? here : there;
        }
        return out;
    }
    for (size_t i = 0; i < s->n; i++) {
        const double here = x.data[(ptrdiff_t)i * x.step], there = y.data[(ptrdiff_t)i * y.step];
        out.data[i] = mask[i] ? here : there;
    }
    return out;
}

#define MASKS (&s->masks)
#define CHOSEN(x) chosen(s, x)
#define BLEND(x, y) blend(s, x, y)
#define ABS(x) apply(s, CAD_OP_absolute, x, x)
#define C(constant) constant_strip(s, constant)

#define A(name, ...) strip_##name(s, __VA_ARGS__)
#define K(constant) constant_strip(s, constant)
#define L(number) (number)
#define P(number) (number)

#define CAD_ROW1(name, value, dx)                                                                 \
    static inline CadStrip strip_##name(CadScratch *s, CadStrip x) {                              \
        return apply(s, CAD_OP_##name, x, x);                                                     \
    }
#define CAD_ROW2(name, value, dx, dy)                                                             \
    static inline CadStrip strip_##name(CadScratch *s, CadStrip x, CadStrip y) {                  \
        return apply(s, CAD_OP_##name, x, y);                                                     \
    }
#define CAD_ROW3(name, value, dx, dy, dz) /* no partial is written with one */
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3

#define CASE(name, which, partial)                                                                \
    case CAD_OP_##name * 4 + which:                                                               \
        return partial;
#define CAD_ROW1(name, value, dx) CASE(name, 0, dx)
#define CAD_ROW2(name, value, dx, dy) CASE(name, 0, dx) CASE(name, 1, dy)
#define CAD_ROW3(name, value, dx, dy, dz) CASE(name, 0, dx) CASE(name, 1, dy) CASE(name, 2, dz)

static CadStrip partial_of(CadScratch *s, CadOp op, int which, CadStrip x, CadStrip y, CadStrip z,
                           CadStrip v) {
    switch ((int)op * 4 + which) {
#include "ops_rows.h"
    default:
        return constant_strip(s, NAN);
    }
}

CadStrip cad_strip_partial(CadScratch *s, CadOp op, int which, CadStrip x, CadStrip y, CadStrip z,
                           CadStrip v, size_t n) {
    s->strips = s->constants = s->masks.depth = 0;
    s->n = s->masks.n = n;
    return partial_of(s, op, which, x, y, z, v);
}

/* --- handing on --- */

void cad_strip_hand_on(CadScratch *s, CadOp op, int which, CadStrip to, CadStrip g,
                       const CadStrip x[4], int store, size_t n) {
    if (to.step == 1 && g.step == 1) {
        int scattered = 0;
        for (int k = 0; k < 4; k++) {
            scattered |= (x[k].step != 1) << k;
        }
        const int op_and_which = (int)op * 4 + which;
        if ((store ? store_directly : add_directly)(op_and_which, scattered, to.data, g.data, x,
                                                    n)) {
            return;
        }
    }
    const CadStrip p = cad_strip_partial(s, op, which, x[0], x[1], x[2], x[3], n);
    cad_strip_add_product(to, g, p, store, n);
}

#undef A
#undef K
#undef L
#undef P

/* --- the algebra of dual strips: derivatives of partials --- */

typedef CadDualStrip Dual;

static const CadStrip zero = {NULL, 0};

static Dual constant_dual(CadScratch *s, double value) {
    return (Dual){constant_strip(s, value), zero};
}

static CadStrip sum_of(CadScratch *s, CadStrip x, CadStrip y) {
    return x.data == NULL ? y : y.data == NULL ? x : apply(s, CAD_OP_add, x, y);
}

static CadStrip product_of(CadScratch *s, CadStrip partial, CadStrip tangent) {
    return apply(s, CAD_OP_amul, partial, tangent);
}

static CAD_APART Dual dual1(CadScratch *s, CadOp op, Dual x) {
    const CadStrip v = apply(s, op, x.value, x.value);
    if (x.tangent.data == NULL) {
        return (Dual){v, zero};
    }
    const CadStrip p = partial_of(s, op, 0, x.value, x.value, x.value, v);
    return (Dual){v, product_of(s, p, x.tangent)};
}

static CAD_APART Dual dual2(CadScratch *s, CadOp op, Dual x, Dual y) {
    const CadStrip v = apply(s, op, x.value, y.value);
    CadStrip t = zero;
    if (x.tangent.data != NULL) {
        t = product_of(s, partial_of(s, op, 0, x.value, y.value, y.value, v), x.tangent);
    }
    if (y.tangent.data != NULL) {
        const CadStrip q = partial_of(s, op, 1, x.value, y.value, y.value, v);
        t = sum_of(s, t, product_of(s, q, y.tangent));
    }
    return (Dual){v, t};
}

static Dual chosen_dual(CadScratch *s, Dual x) {
    s->masks.depth--;
    return x;
}

static CAD_APART Dual blend_duals(CadScratch *s, Dual x, Dual y) {
    const CadStrip value = blend(s, x.value, y.value);
    if (x.tangent.data == NULL && y.tangent.data == NULL) {
        return (Dual){value, zero};
    }
    s->masks.depth++; /* the mask serves twice */
    const CadStrip none = constant_strip(s, 0.0);
    const CadStrip xt = x.tangent.data == NULL ? none : x.tangent;
    const CadStrip yt = y.tangent.data == NULL ? none : y.tangent;
    return (Dual){value, blend(s, xt, yt)};
}

#undef CHOSEN
#undef BLEND
#define CHOSEN(x) chosen_dual(s, x)
#define BLEND(x, y) blend_duals(s, x, y)
#define A(name, ...) dual_##name(s, __VA_ARGS__)
#define K(constant) constant_dual(s, constant)
#define L(number) (number)
#define P(number) ((number).value)

#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3
#define CAD_ROW1(name, value, dx)                                                                 \
    static inline Dual dual_##name(CadScratch *s, Dual x) {                                       \
        return dual1(s, CAD_OP_##name, x);                                                        \
    }
#define CAD_ROW2(name, value, dx, dy)                                                             \
    static inline Dual dual_##name(CadScratch *s, Dual x, Dual y) {                               \
        return dual2(s, CAD_OP_##name, x, y);                                                     \
    }
#define CAD_ROW3(name, value, dx, dy, dz)
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3
#define CAD_ROW1(name, value, dx) CASE(name, 0, dx)
#define CAD_ROW2(name, value, dx, dy) CASE(name, 0, dx) CASE(name, 1, dy)
#define CAD_ROW3(name, value, dx, dy, dz) CASE(name, 0, dx) CASE(name, 1, dy) CASE(name, 2, dz)

static Dual dual_partial(CadScratch *s, CadOp op, int which, Dual x, Dual y, Dual z, Dual v) {
    switch ((int)op * 4 + which) {
#include "ops_rows.h"
    default:
        return constant_dual(s, NAN);
    }
}

CadDualStrip cad_strip_dual_partial(CadScratch *s, CadOp op, int which, const CadStrip x[4],
                                    const CadStrip t[4], size_t n) {
    s->strips = s->constants = s->masks.depth = 0;
    s->n = s->masks.n = n;
    return dual_partial(s, op, which, (Dual){x[0], t[0]}, (Dual){x[1], t[1]}, (Dual){x[2], t[2]},
                        (Dual){x[3], t[3]});
}
