/* See kernels.h. */
#include "kernels/loops.h"
#include "kernels/vectors.h"

#include "table/ops.h"

#include <assert.h>
#include <string.h>

/* --- the table of loops --- */

enum { BYTES = sizeof(double) };

/* Which operands are numbers side by side in memory, a bit for each, while the others are the same
 * number throughout; missing ones are among the former. -1: it is otherwise. */
static CAD_INLINE int sides_of(const intptr_t *steps, const int arity) {
    int sides = 7, is_other = steps[arity] != BYTES;
    for (int k = 0; k < arity; k++) {
        sides -= steps[k] == 0 ? 1 << k : 0;
        is_other |= steps[k] != 0 && steps[k] != BYTES;
    }
    return is_other ? -1 : sides;
}

/* Whether numbers side by side begin a little before the result, or behind it, so that they are
 * read while they are written over. One number is read before. */
static CAD_INLINE int is_near(char **args, const intptr_t *steps, const int arity) {
    enum { NEAR = 64 * BYTES };
    int is_near = 0;
    for (int k = 0; k < arity; k++) {
        const ptrdiff_t apart = args[arity] - args[k];
        is_near |= steps[k] != 0 && apart != 0 && apart < NEAR && -apart < NEAR;
    }
    return is_near;
}

#if defined(__GNUC__) && !defined(__clang__)
#define CAD_INDEPENDENT _Pragma("GCC ivdep")
#else
#define CAD_INDEPENDENT
#endif

/* Such loops are vectorised by the compiler for most operations; choices, too, once both sides are
 * read. The bits of `sides` are constants. For each row: run_sin, which answers whether there is
 * such a loop, and loop_sin. */
#define AT(k) (*(double *)(args[k] + i * steps[k]))
#define CAD_NAME(name, arity)                                                                     \
    static CAD_INLINE void run_##name##_with(char **args, intptr_t n, const int sides) {          \
        const double *const xs = (const double *)args[0];                                         \
        const double *const ys = (const double *)args[arity > 1 ? 1 : 0];                         \
        const double *const zs = (const double *)args[arity > 2 ? 2 : 0];                         \
        const double first = xs[0], second = ys[0], third = zs[0];                                \
        double *const out = (double *)args[arity];                                                \
        CAD_INDEPENDENT                                                                           \
        for (intptr_t i = 0; i < n; i++) {                                                        \
            const double x = sides & 1 ? xs[i] : first, y = sides & 2 ? ys[i] : second;           \
            const double z = arity > 2 && sides & 4 ? zs[i] : third;                              \
            (void)y, (void)z;                                                                     \
            out[i] = val_##name(CAD_FIRST##arity(x, y, z));                                       \
        }                                                                                         \
    }                                                                                             \
    static CAD_INLINE int run_##name(char **args, intptr_t n, const intptr_t *steps) {            \
        const int sides = n > 0 && !is_near(args, steps, arity) ? sides_of(steps, arity) : -1;    \
        if (sides == 7) {                                                                         \
            run_##name##_with(args, n, 7);                                                        \
        } else if (arity > 1 && sides == 5) {                                                     \
            run_##name##_with(args, n, 5);                                                        \
        } else if (arity == 2 && sides == 6) {                                                    \
            run_##name##_with(args, n, 6);                                                        \
        } else if (arity > 2 && sides == 3) {                                                     \
            run_##name##_with(args, n, 3);                                                        \
        } else if (arity > 2 && sides == 1) {                                                     \
            run_##name##_with(args, n, 1);                                                        \
        } else {                                                                                  \
            return 0;                                                                             \
        }                                                                                         \
        return 1;                                                                                 \
    }                                                                                             \
    static void loop_##name(char **args, const intptr_t *dims, const intptr_t *steps,             \
                            void *data) {                                                         \
        (void)data;                                                                               \
        const intptr_t n = run_##name(args, dims[0], steps) ? 0 : dims[0];                        \
        for (intptr_t i = 0; i < n; i++) {                                                        \
            AT(arity) = val_##name(CAD_FIRST##arity(AT(0), AT(1), AT(2)));                        \
        }                                                                                         \
    }
#include "ops_codes.h"
#undef AT

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
#define CAD_NAME(name, arity) [CAD_OP_##name] = {loop_##name, NULL},
#include "ops_codes.h"
};

/* Operations that are as fast as their operands come have loops for each kind of processor, with
 * vectors of eight numbers where NumPy's have four. What these do not take, reductions among it,
 * is left to the table. */
#define CAD_WIDE_OPS(WIDE)                                                                        \
    WIDE(add)                                                                                     \
    WIDE(subtract)                                                                                \
    WIDE(multiply)                                                                                \
    WIDE(amul)                                                                                    \
    WIDE(negative)                                                                                \
    WIDE(square)                                                                                  \
    WIDE(absolute)                                                                                \
    WIDE(sign)                                                                                    \
    WIDE(clip)                                                                                    \
    WIDE(where)                                                                                   \
    WIDE(relu)                                                                                    \
    WIDE(less)                                                                                    \
    WIDE(less_equal)                                                                              \
    WIDE(equal)                                                                                   \
    WIDE(not_equal)

typedef int (*WideLoop)(char **args, intptr_t n, const intptr_t *steps);
#define WIDE_LOOP(name)                                                                           \
    CAD_CLONES static int wide_##name(char **args, intptr_t n, const intptr_t *steps) {           \
        return run_##name(args, n, steps);                                                        \
    }
#define WIDE_ENTRY(name) [CAD_OP_##name] = wide_##name,
CAD_WIDE_OPS(WIDE_LOOP)
static const WideLoop wide[CAD_OP_COUNT] = {CAD_WIDE_OPS(WIDE_ENTRY)};

void cad_set_loop(CadOp op, CadLoopFunction function, void *data) {
    loops[op] = (CadLoop){function, data};
}

void cad_run_loop(CadOp op, char **args, const intptr_t *dims, const intptr_t *steps) {
    enum { FEW = 64 }; /* numbers, of which any loop is as good */
    if (wide[op] != NULL && dims[0] > FEW && wide[op](args, dims[0], steps)) {
        return;
    }
    loops[op].function(args, dims, steps, loops[op].data);
}

void cad_strip_value(CadOp op, CadStrip out, const CadStrip *x, size_t n) {
    const int arity = cad_op_info[op].arity;
    char *args[4];
    intptr_t steps[4];
    for (int k = 0; k < arity; k++) {
        args[k] = (char *)x[k].data;
        steps[k] = x[k].step * BYTES;
    }
    args[arity] = (char *)out.data;
    steps[arity] = out.step * BYTES;
    const intptr_t length = (intptr_t)n;
    cad_run_loop(op, args, &length, steps);
}

void cad_strip_value_near(CadOp op, CadStrip out, const CadStrip *x, size_t n) {
    if (!cad_vector_knows(op) || !cad_vector_value(op, out, x, n)) {
        cad_strip_value(op, out, x, n);
    }
}

int cad_are_finite(const double *numbers, size_t n) {
    int is_lost = 0;
    for (size_t i = 0; i < n; i++) {
        is_lost |= numbers[i] - numbers[i] != 0.0;
    }
    return !is_lost;
}

void cad_strip_sum(double *out, CadStrip x, size_t n) {
    const CadStrip total = {out, 0}, terms[2] = {total, x};
    cad_strip_value(CAD_OP_add, total, terms, n);
}

void cad_multiply_matrices(CadMatrix product, CadMatrix a, CadMatrix b, size_t m, size_t n,
                           size_t p) {
    char *args[3] = {(char *)a.data, (char *)b.data, (char *)product.data};
    const intptr_t dims[4] = {1, (intptr_t)m, (intptr_t)n, (intptr_t)p};
    const intptr_t steps[9] = {[3] = a.row * BYTES, a.column * BYTES,    b.row * BYTES,
                               b.column * BYTES,    product.row * BYTES, product.column * BYTES};
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
    cad_strip_value(CAD_OP_exp, all, &all, rows * classes);
    for (size_t row = 0; row < rows; row++) {
        double *const e = residuals + row * classes;
        double *const at_label = e + labels[row];
        const double right = losses[row], of_label = *at_label;
        double others = *at_label = 0.0;
        cad_strip_sum(&others, (CadStrip){e, 1}, classes);
        const double total = of_label + others;
        losses[row] = right > -1.0 ? log1p(others / of_label) : log(total) - right;
        *at_label = -others;
        for (size_t i = 0; i < classes; i++) {
            e[i] /= total;
        }
    }
}

/* --- products of the chain rule --- */

/* store_products sets to[i] to a term for i < n, add_products adds it; so all below. */
#define LOOPS(name, term, ...)                                                                    \
    CAD_CLONES static void store_##name(double *restrict to, __VA_ARGS__, size_t n) {             \
        for (size_t i = 0; i < n; i++) {                                                          \
            to[i] = term;                                                                         \
        }                                                                                         \
    }                                                                                             \
    CAD_CLONES static void add_##name(double *restrict to, __VA_ARGS__, size_t n) {               \
        for (size_t i = 0; i < n; i++) {                                                          \
            to[i] += term;                                                                        \
        }                                                                                         \
    }
LOOPS(products, absorb(g[i], p[i]), const double *g, const double *p)
LOOPS(scaled, absorb(g[i], p), const double *g, double p)
LOOPS(number, x, double x)
LOOPS(plain, x[i], const double *x)
LOOPS(of_pairs, x[2 * i], const double *x) /* the first of each: one part of complex numbers */
#undef LOOPS

void cad_strip_add(CadStrip to, CadStrip x, int store, size_t n) {
    if (to.step == 0) {
        if (store) {
            to.data[0] = 0.0;
        }
        cad_strip_sum(to.data, x, n);
    } else if (to.step == 1 && x.step == 1) {
        (store ? store_plain : add_plain)(to.data, x.data, n);
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

/* Which operands such a loop reads, and 8 for the value; -1: there is none. */
static int read_directly(int op_and_which) {
    switch (op_and_which) {
#define CAD_DIRECT(name, which, reads, partial)                                                   \
    case CAD_OP_##name * 4 + which - 1:                                                           \
        return reads;
#include "ops_direct.h"
    default:
        return -1;
    }
}

/* Both branches are computed, and conditions whole: compilers make vectors of that alone. */
#undef IF
#undef AND
#undef OR
#define IF(condition, x, y) select_bits(condition, x, y)
#define AND(x, y) ((x) & (y))
#define OR(x, y) ((x) | (y))

/* Reads operands and value where they stand side by side. */
#define CAD_DIRECT(name, which, reads, partial)                                                   \
    case CAD_OP_##name * 4 + which - 1:                                                           \
        CAD_INDEPENDENT                                                                           \
        CAD_NO_UNROLL                                                                             \
        for (size_t i = 0; i < n; i++) {                                                          \
            const double x = xs[i], y = ys[i], z = zs[i], v = vs[i];                              \
            (void)x, (void)y, (void)z, (void)v;                                                   \
            to[i] = before[i] + absorb(g[i], partial);                                            \
        }                                                                                         \
        break;

/* to[i] += or = g[i] * partial; n <= CAD_TILE. */
CAD_CLONES static void run_directly(int op_and_which, double *to, const double *g,
                                    const double *const x[4], int store, size_t n) {
    static const double zeros[CAD_TILE];
    assert(n <= CAD_TILE);
    const double *const before = store ? zeros : to;
    const double *const xs = x[0], *const ys = x[1], *const zs = x[2], *const vs = x[3];
    switch (op_and_which) {
#include "ops_direct.h"
    default:
        break;
    }
}

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
    double side[6][CAD_TILE]; /* what direct loops read and write that stands elsewhere */
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

/* The second operand of words that have but one. */
static const double nothing = 0.0;
static const CadStrip none = {(double *)&nothing, 0};

static CAD_APART CadStrip apply(CadScratch *s, CadOp op, CadStrip x, CadStrip y) {
    if (x.step == 0 && y.step == 0) {
        return constant_strip(s, cad_op_value(op, x.data[0], y.data[0], 0.0));
    }
    const CadStrip out = free_strip(s), operands[2] = {x, y};
    cad_strip_value_near(op, out, operands, s->n);
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
#define ABS(x) apply(s, CAD_OP_absolute, x, none)
#define C(constant) constant_strip(s, constant)
#define A(name, ...) apply(s, CAD_OP_##name, CAD_FIRST_TWO(__VA_ARGS__, none, none))
#define K(constant) constant_strip(s, constant)
#define L(number) (number)
#define P(number) (number)

static CadStrip partial_of(CadScratch *s, CadOp op, int which, CadStrip x, CadStrip y, CadStrip z,
                           CadStrip v) {
    switch ((int)op * 4 + which) {
#include "ops_partials.h"
    default:
        return constant_strip(s, NAN);
    }
}

CadStrip cad_strip_partial(CadScratch *s, CadOp op, int which, const CadStrip x[4], size_t n) {
    s->strips = s->constants = s->masks.depth = 0;
    s->n = s->masks.n = n;
    return partial_of(s, op, which, x[0], x[1], x[2], x[3]);
}

/* --- handing on --- */

/* Numbers side by side: one for all is repeated. */
static const double *side_by_side(double *room, CadStrip x, size_t n) {
    if (x.step == 0) {
        cad_strip_add((CadStrip){room, 1}, x, 1, n);
        return room;
    }
    return x.data;
}

/* By one loop, if there is one for this partial; numbers that are neither side by side nor the
 * same for all, and partials that are one number, are better off without. 0 if it is not. */
static int hand_on_at_once(CadScratch *s, int op_and_which, CadStrip to, CadStrip g,
                           const CadStrip x[4], int store, size_t n) {
    const int reads = read_directly(op_and_which);
    int sides = 0;
    if (reads < 0 || (to.step | 1) != 1 || (g.step | 1) != 1) {
        return 0;
    }
    for (int k = 0; k < 4; k++) {
        const int is_read = reads >> k & 1;
        if (is_read && (x[k].step | 1) != 1) {
            return 0;
        }
        sides |= is_read && x[k].step == 1;
    }
    if (!sides) {
        return 0;
    }
    const double *operands[4];
    for (int k = 0; k < 4; k++) {
        operands[k] = reads >> k & 1 ? side_by_side(s->side[k], x[k], n) : x[k].data;
    }
    const double *const adjoints = side_by_side(s->side[4], g, n);
    if (to.step == 1) {
        run_directly(op_and_which, to.data, adjoints, operands, store, n);
        return 1;
    }
    run_directly(op_and_which, s->side[5], adjoints, operands, 1, n);
    cad_strip_add(to, (CadStrip){s->side[5], 1}, store, n);
    return 1;
}

void cad_strip_hand_on(CadScratch *s, CadOp op, int which, CadStrip to, CadStrip g,
                       const CadStrip x[4], int store, size_t n) {
    if (!hand_on_at_once(s, (int)op * 4 + which, to, g, x, store, n)) {
        const CadStrip p = cad_strip_partial(s, op, which, x, n);
        cad_strip_add_product(to, g, p, store, n);
    }
}

/* --- the algebra of dual strips: derivatives of partials --- */

typedef CadDualStrip Dual;

static const CadStrip zero = {NULL, 0};

static Dual constant_dual(CadScratch *s, double value) {
    return (Dual){constant_strip(s, value), zero};
}

static CadStrip sum_of(CadScratch *s, CadStrip x, CadStrip y) {
    return x.data == NULL ? y : y.data == NULL ? x : apply(s, CAD_OP_add, x, y);
}

static const Dual no_dual = {{(double *)&nothing, 0}, {NULL, 0}};

static CAD_APART Dual apply_to_duals(CadScratch *s, CadOp op, Dual x, Dual y) {
    const CadStrip v = apply(s, op, x.value, y.value);
    const CadStrip tangents[2] = {x.tangent, y.tangent};
    CadStrip t = zero;
    for (int k = 0; k < 2; k++) {
        if (tangents[k].data != NULL) {
            const CadStrip p = partial_of(s, op, k, x.value, y.value, y.value, v);
            t = sum_of(s, t, apply(s, CAD_OP_amul, p, tangents[k]));
        }
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
#undef A
#undef K
#undef P
#define CHOSEN(x) chosen_dual(s, x)
#define BLEND(x, y) blend_duals(s, x, y)
#define A(name, ...) apply_to_duals(s, CAD_OP_##name, CAD_FIRST_TWO(__VA_ARGS__, no_dual, no_dual))
#define K(constant) constant_dual(s, constant)
#define P(number) ((number).value)

static Dual dual_partial(CadScratch *s, CadOp op, int which, Dual x, Dual y, Dual z, Dual v) {
    switch ((int)op * 4 + which) {
#include "ops_partials.h"
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
