/* See single.h. */
#include "kernels/single.h"

#include "table/ops.h"

static CadLoop loops[CAD_OP_COUNT];

void cad_set_single_loop(CadOp op, CadLoopFunction function, void *data) {
    loops[op] = (CadLoop){function, data};
}

void cad_run_single_loop(CadOp op, char **args, const intptr_t *dims, const intptr_t *steps) {
    if (loops[op].function != NULL) {
        loops[op].function(args, dims, steps, loops[op].data);
        return;
    }
    const int arity = cad_op_info[op].arity;
    for (intptr_t i = 0; i < dims[0]; i++) {
        double x[3] = {0.0, 0.0, 0.0};
        for (int k = 0; k < arity; k++) {
            x[k] = *(const float *)(args[k] + i * steps[k]);
        }
        *(float *)(args[arity] + i * steps[arity]) = (float)cad_op_value(op, x[0], x[1], x[2]);
    }
}

/* --- floats and doubles --- */

/* What is cloned is static: the resolvers of others would be exported by the extension. */
static CAD_CLONES void narrow_row(float *restrict to, const double *restrict from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = (float)from[i];
    }
}

static CAD_CLONES void widen_row(double *restrict to, const float *restrict from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = (double)from[i];
    }
}

void cad_narrow_row(float *restrict to, const double *restrict from, size_t n) {
    narrow_row(to, from, n);
}

void cad_widen_row(double *restrict to, const float *restrict from, size_t n) {
    widen_row(to, from, n);
}

static void narrow(float *to, CadStrip from, size_t n) {
    if (from.step == 1) {
        cad_narrow_row(to, from.data, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        to[i] = (float)from.data[(ptrdiff_t)i * from.step];
    }
}

static void widen(CadStrip to, const float *from, size_t n) {
    if (to.step == 1) {
        cad_widen_row(to.data, from, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        to.data[(ptrdiff_t)i * to.step] = (double)from[i];
    }
}

/* to[i] += from[i] */
static void add_floats(CadStrip to, const float *from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to.data[(ptrdiff_t)i * to.step] += (double)from[i];
    }
}

static void round_strip(CadStrip x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double *const place = x.data + (ptrdiff_t)i * x.step;
        *place = (double)(float)*place;
    }
}

/* --- element by element --- */

/* A tile, by the loop over floats; an operand that is one number is one float. */
static void run_tile(const CadLoop *loop, int arity, const CadStrip *strips, size_t n) {
    float tiles[4][CAD_TILE];
    char *args[4];
    intptr_t steps[4];
    for (int k = 0; k < arity; k++) {
        narrow(tiles[k], strips[k], strips[k].step == 0 ? 1 : n);
    }
    for (int k = 0; k <= arity; k++) {
        args[k] = (char *)tiles[k];
        steps[k] = k < arity && strips[k].step == 0 ? 0 : (intptr_t)sizeof(float);
    }
    const intptr_t length = (intptr_t)n;
    loop->function(args, &length, steps, loop->data);
    widen(strips[arity], tiles[arity], n);
}

void cad_strip_value_single(CadOp op, CadStrip out, const CadStrip *x, size_t n) {
    const CadLoop *const loop = &loops[op];
    if (loop->function == NULL) {
        cad_strip_value(op, out, x, n);
        round_strip(out, n);
        return;
    }
    const int arity = cad_op_info[op].arity;
    for (size_t first = 0; first < n; first += CAD_TILE) {
        CadStrip strips[4];
        for (int k = 0; k < arity; k++) {
            strips[k] = cad_strip_from(x[k], first);
        }
        strips[arity] = cad_strip_from(out, first);
        run_tile(loop, arity, strips, n - first < CAD_TILE ? n - first : CAD_TILE);
    }
}

/* --- floats as they are --- */

/* Operations that NumPy has no loops for, and derivatives need. */
static CAD_INLINE float amul(float x, float y) {
    const float product = x * y;
    return product == product || (x != 0.0f && y != 0.0f) ? product : 0.0f;
}

/* Both are read, so that a loop of them can be vectorised. */
static CAD_INLINE float chosen(float condition, float x, float y) {
    return condition != 0.0f ? x : y;
}

#define X (*(const float *)(args[0] + i * steps[0]))
#define Y (*(const float *)(args[1] + i * steps[1]))
#define Z (*(const float *)(args[2] + i * steps[2]))
#define OUT(arity) (*(float *)(args[arity] + i * steps[arity]))
#define ALL(arity, expression)                                                                    \
    for (intptr_t i = 0; i < n; i++) {                                                            \
        OUT(arity) = expression;                                                                  \
    }
/* Steps that are known let a loop be vectorised. */
#define WITH(first, second, third, arity, expression)                                             \
    {                                                                                             \
        const intptr_t steps[4] = {first, second, third, sizeof(float)};                          \
        ALL(arity, expression)                                                                    \
        return;                                                                                   \
    }
#define STEPS(first, second, third, arity, expression)                                            \
    if (steps[0] == (first) && steps[1] == (second) && (arity < 3 || steps[2] == (third)) &&      \
        steps[arity] == F) {                                                                      \
        WITH(first, second, third, arity, expression)                                             \
    }
#define LOOP(name, arity, expression)                                                             \
    CAD_CLONES static void loop_##name(char **args, const intptr_t *dims, const intptr_t *given,  \
                                       void *data) {                                              \
        enum { F = sizeof(float) };                                                               \
        const intptr_t n = dims[0];                                                               \
        const intptr_t *const steps = given;                                                      \
        (void)data;                                                                               \
        STEPS(F, F, F, arity, expression)                                                         \
        STEPS(F, 0, F, arity, expression)                                                         \
        if (arity == 2) {                                                                         \
            STEPS(0, F, F, arity, expression)                                                     \
        }                                                                                         \
        if (arity == 3) {                                                                         \
            STEPS(F, F, 0, arity, expression)                                                     \
            STEPS(F, 0, 0, arity, expression)                                                     \
        }                                                                                         \
        ALL(arity, expression)                                                                    \
    }
LOOP(amul, 2, amul(X, Y))
LOOP(less, 2, X < Y ? 1.0f : 0.0f) /* loop_less */
LOOP(less_equal, 2, X <= Y ? 1.0f : 0.0f)
LOOP(equal, 2, X == Y ? 1.0f : 0.0f)
LOOP(not_equal, 2, X != Y ? 1.0f : 0.0f)
LOOP(where, 3, chosen(X, Y, Z))
#undef LOOP
#undef STEPS
#undef WITH
#undef ALL
#undef OUT
#undef X
#undef Y
#undef Z

static CadLoopFunction float_loop(CadOp op, void **data) {
    *data = loops[op].data;
    switch (op) {
    case CAD_OP_amul:
        return loop_amul;
    case CAD_OP_less:
        return loop_less;
    case CAD_OP_less_equal:
        return loop_less_equal;
    case CAD_OP_equal:
        return loop_equal;
    case CAD_OP_not_equal:
        return loop_not_equal;
    case CAD_OP_where:
        return loop_where;
    default:
        return loops[op].function;
    }
}

int cad_knows_floats(CadOp op) {
    void *data;
    return float_loop(op, &data) != NULL;
}

void cad_float_strip_value(CadOp op, CadFloatStrip out, CadFloatStrip x, CadFloatStrip y,
                           CadFloatStrip z, size_t n) {
    enum { BYTES = sizeof(float) };
    const int arity = cad_op_info[op].arity;
    const CadFloatStrip strips[4] = {x, arity > 1 ? y : out, arity > 2 ? z : out, out};
    char *args[4];
    intptr_t steps[4];
    for (int k = 0; k <= arity; k++) {
        args[k] = (char *)strips[k].data;
        steps[k] = strips[k].step * BYTES;
    }
    const intptr_t length = (intptr_t)n;
    void *data;
    float_loop(op, &data)(args, &length, steps, data);
}

/* --- sums --- */

void cad_strip_sum_single(double *out, CadStrip x, size_t n, float *room) {
    const CadLoop *const loop = &loops[CAD_OP_add];
    float total = (float)*out;
    if (loop->function == NULL) {
        for (size_t i = 0; i < n; i++) {
            total += (float)x.data[(ptrdiff_t)i * x.step];
        }
    } else {
        narrow(room, x, n);
        char *args[3] = {(char *)&total, (char *)room, (char *)&total};
        const intptr_t length = (intptr_t)n, steps[3] = {0, sizeof(float), 0};
        loop->function(args, &length, steps, loop->data);
    }
    *out = (double)total;
}

void cad_strip_add_single(CadStrip to, CadStrip x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double *const place = to.data + (ptrdiff_t)i * to.step;
        *place = (double)((float)*place + (float)x.data[(ptrdiff_t)i * x.step]);
    }
}

/* --- products of matrices --- */

static ptrdiff_t magnitude(ptrdiff_t step) {
    return step < 0 ? -step : step;
}

/* In the order in which BLAS may take them as they are. */
static CadFloats floats_of(CadEither from, size_t rows, size_t columns, float *room) {
    const CadFloats given = from.floats;
    const ptrdiff_t row = given.data == NULL ? from.doubles.row : given.row;
    const ptrdiff_t column = given.data == NULL ? from.doubles.column : given.column;
    const int by_columns = magnitude(row) < magnitude(column);
    const CadFloats to = by_columns ? (CadFloats){room, 1, (ptrdiff_t)rows}
                                    : (CadFloats){room, (ptrdiff_t)columns, 1};
    const size_t outer = by_columns ? columns : rows, inner = by_columns ? rows : columns;
    const ptrdiff_t along = by_columns ? column : row, within = by_columns ? row : column;
    if (given.data != NULL && within == 1 && along >= (ptrdiff_t)inner) {
        return given;
    }
    for (size_t i = 0; i < outer; i++) {
        const ptrdiff_t first = (ptrdiff_t)i * along;
        for (ptrdiff_t k = 0; given.data != NULL && k < (ptrdiff_t)inner; k++) {
            room[i * inner + (size_t)k] = given.data[first + k * within];
        }
        if (given.data == NULL) {
            narrow(room + i * inner, (CadStrip){from.doubles.data + first, within}, inner);
        }
    }
    return to;
}

/* Whether one operand is the other, transposed: BLAS knows such products. */
static int are_transposed(CadEither a, CadEither b) {
    const CadMatrix x = a.doubles, y = b.doubles;
    const CadFloats f = a.floats, g = b.floats;
    return x.data == y.data && x.row == y.column && x.column == y.row && f.data == g.data &&
           f.row == g.column && f.column == g.row;
}

void cad_multiply_floats(CadFloats product, CadFloats a, CadFloats b, size_t m, size_t n,
                         size_t p) {
    enum { BYTES = sizeof(float) };
    const CadLoop *const loop = &loops[CAD_OP_MATMUL];
    char *args[3] = {(char *)a.data, (char *)b.data, (char *)product.data};
    const intptr_t dims[4] = {1, (intptr_t)m, (intptr_t)n, (intptr_t)p};
    const intptr_t steps[9] = {[3] = a.row * BYTES, a.column * BYTES,    b.row * BYTES,
                               b.column * BYTES,    product.row * BYTES, product.column * BYTES};
    loop->function(args, dims, steps, loop->data);
}

int cad_multiplies_floats(void) {
    return loops[CAD_OP_MATMUL].function != NULL;
}

/* The product of doubles, rounded: where there is no loop over floats, or no room. */
static void multiply_rounded(CadMatrix product, CadMatrix a, CadMatrix b, int store, size_t m,
                             size_t n, size_t p, double *room) {
    const CadMatrix to = store ? product : (CadMatrix){room, (ptrdiff_t)p, 1};
    cad_multiply_matrices(to, a, b, m, n, p);
    for (size_t i = 0; i < m; i++) {
        const CadStrip row = {to.data + (ptrdiff_t)i * to.row, to.column};
        round_strip(row, p);
        if (!store) {
            cad_strip_add((CadStrip){product.data + (ptrdiff_t)i * product.row, product.column},
                          row, 0, p);
        }
    }
}

void cad_multiply_matrices_single(CadEither product, CadEither a, CadEither b, int store, size_t m,
                                  size_t n, size_t p, double *room) {
    if (!cad_multiplies_floats() || room == NULL) {
        multiply_rounded(product.doubles, a.doubles, b.doubles, store, m, n, p, room);
        return;
    }
    float *const floats = (float *)room;
    const CadFloats x = floats_of(a, m, n, floats);
    const CadFloats y = m == p && are_transposed(a, b) ? (CadFloats){x.data, x.column, x.row}
                                                       : floats_of(b, n, p, floats + m * n);
    if (product.floats.data != NULL) {
        cad_multiply_floats(product.floats, x, y, m, n, p);
        return;
    }
    const CadFloats result = {floats + m * n + n * p, (ptrdiff_t)p, 1};
    cad_multiply_floats(result, x, y, m, n, p);
    for (size_t i = 0; i < m; i++) {
        const CadStrip to = {product.doubles.data + (ptrdiff_t)i * product.doubles.row,
                             product.doubles.column};
        if (store) {
            widen(to, result.data + i * p, p);
        } else {
            add_floats(to, result.data + i * p, p);
        }
    }
}
