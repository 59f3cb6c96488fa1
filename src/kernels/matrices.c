/* See matrices.h. A form tells how many axes the core of each argument has; from that the
 * arguments of one turn are made, as matrices, and given to the kernel. */
#include "kernels/matrices.h"

#include "kernels/exponentials.h"
#include "kernels/factors.h"
#include "kernels/room.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* --- turns --- */

enum { MOST = 4, TILE = 16 };

/* What is done with the arguments x of one turn; n: the lengths of the axes. */
typedef void Kernel(const CadComplexMatrix *x, const size_t *n, intptr_t told, double *room);

typedef struct Form {
    int n_arguments;
    int axes[MOST];    /* of the core of each */
    int is_real[MOST]; /* though others are complex */
    int has_columns;   /* whether there is a second length, that of rows */
    size_t rooms;      /* of the size of the largest matrix */
    Kernel *kernel;
} Form;

static void first_arguments(const Form *form, int is_complex, char **arguments,
                            const ptrdiff_t *steps, CadComplexMatrix *x) {
    const ptrdiff_t size = sizeof(double);
    steps += form->n_arguments;
    for (int k = 0; k < form->n_arguments; k++) {
        x[k] = (CadComplexMatrix){(double *)arguments[k], 1, 1, 0};
        if (is_complex && !form->is_real[k]) {
            x[k].imaginary = *steps++ / size;
        }
        if (form->axes[k] > 0) {
            x[k].row = *steps++ / size;
        }
        if (form->axes[k] > 1) {
            x[k].column = *steps++ / size;
        }
    }
}

static void go_over(const Form *form, int is_complex, char **arguments, const ptrdiff_t *dims,
                    const ptrdiff_t *steps, void *told) {
    CadComplexMatrix x[MOST];
    const size_t *const n = (const size_t *)dims + 1 + is_complex;
    const size_t widest = form->has_columns && n[1] > n[0] ? n[1] : n[0];
    CadRoom room;
    const int has_room = cad_room_take(&room, form->rooms * n[0] * widest);
    first_arguments(form, is_complex, arguments, steps, x);
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        if (has_room) {
            form->kernel(x, n, (intptr_t)told, room.numbers);
        } else {
            *x[form->n_arguments - 1].data = NAN;
        }
        for (int k = 0; k < form->n_arguments; k++) {
            x[k].data += steps[k] / (ptrdiff_t)sizeof(double);
        }
    }
    cad_room_give_back(&room);
}

#define LOOP(name, kind, is_complex)                                                              \
    void cad_##name##_of_##kind(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,  \
                                void *told) {                                                     \
        go_over(&form_of_##name, is_complex, arguments, dims, steps, told);                       \
    }

#define FORM(name, ...) static const Form form_of_##name = {__VA_ARGS__, name};

#define LOOP_OF_REALS(name, ...) FORM(name, __VA_ARGS__) LOOP(name, reals, 0)
#define LOOP_OF_PAIRS(name, ...) FORM(name, __VA_ARGS__) LOOP(name, pairs, 1)
#define LOOPS(name, ...) FORM(name, __VA_ARGS__) LOOP(name, reals, 0) LOOP(name, pairs, 1)

/* --- parts --- */

static inline CadComplexMatrix transposed(CadComplexMatrix x) {
    return (CadComplexMatrix){x.data, x.column, x.row, x.imaginary};
}

/* Rows of the target stand side by side; those of the source may be columns, so that squares of
 * TILE x TILE are gone through, which stay in the cache. */
static void copy_plane(double *to, ptrdiff_t to_row, const double *from, CadComplexMatrix like,
                       size_t n, size_t m) {
    const ptrdiff_t rows = (ptrdiff_t)n, columns = (ptrdiff_t)m,
                    tile = like.column == 1 ? columns : TILE;
    for (ptrdiff_t first = 0; first < rows; first += TILE) {
        const ptrdiff_t end = first + TILE < rows ? first + TILE : rows;
        for (ptrdiff_t begin = 0; begin < columns; begin += tile) {
            const ptrdiff_t stop = begin + tile < columns ? begin + tile : columns;
            for (ptrdiff_t i = first; i < end; i++) {
                for (ptrdiff_t j = begin; j < stop; j++) {
                    to[i * to_row + j] = from[i * like.row + j * like.column];
                }
            }
        }
    }
}

static void copy_matrix(CadComplexMatrix to, CadComplexMatrix from, size_t n, size_t m) {
    copy_plane(to.data, to.row, from.data, from, n, m);
    if (to.imaginary) {
        copy_plane(to.data + to.imaginary, to.row, from.data + from.imaginary, from, n, m);
    }
}

static void conjugate(CadComplexMatrix x, size_t n, size_t m) {
    for (size_t i = 0; i < n && x.imaginary; i++) {
        double *const row = x.data + x.imaginary + (ptrdiff_t)i * x.row;
        for (size_t j = 0; j < m; j++) {
            row[j] = -row[j];
        }
    }
}

static void make_identity(CadComplexMatrix x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double *const row = x.data + (ptrdiff_t)i * x.row;
        memset(row, 0, n * sizeof(double));
        if (x.imaginary) {
            memset(row + x.imaginary, 0, n * sizeof(double));
        }
        row[i] = 1.0;
    }
}

static void exchange_plane(double *x, ptrdiff_t step, const double *order, size_t n, size_t m,
                           int back, double *room) {
    for (size_t i = 0; i < n; i++) {
        memcpy(room + i * m, x + (ptrdiff_t)i * step, m * sizeof(double));
    }
    for (size_t i = 0; i < n; i++) {
        const size_t row = (size_t)order[i];
        memcpy(x + (ptrdiff_t)(back ? row : i) * step, room + (back ? i : row) * m,
               m * sizeof(double));
    }
}

/* Put rows in the order told, or back from it. */
static void exchange_rows(CadComplexMatrix x, const double *order, size_t n, size_t m, int back,
                          double *room) {
    exchange_plane(x.data, x.row, order, n, m, back, room);
    if (x.imaginary) {
        exchange_plane(x.data + x.imaginary, x.row, order, n, m, back, room);
    }
}

static int is_singular(CadComplexMatrix a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double *const pivot = a.data + (ptrdiff_t)i * (a.row + a.column);
        if (pivot[0] == 0.0 && pivot[a.imaginary] == 0.0) {
            return 1;
        }
    }
    return 0;
}

/* --- triangles --- */

/* b becomes the solution x of t x = b, or of the adjoint of t. */
static void solve_in_place(CadTriangle t, CadComplexMatrix b, const size_t *n, int adjoint,
                           double *room) {
    if (adjoint) {
        t = (CadTriangle){transposed(t.matrix), !t.lower, t.unit};
        conjugate(b, n[0], n[1]);
    }
    cad_solve_triangle(t, b, n[0], n[1], room);
    if (adjoint) {
        conjugate(b, n[0], n[1]);
    }
}

static void solve_triangle(const CadComplexMatrix *x, const size_t *n, intptr_t told,
                           double *room) {
    const CadTriangle t = {x[0], (told & CAD_LOWER) != 0, (told & CAD_UNIT) != 0};
    copy_matrix(x[2], x[1], n[0], n[1]);
    if (!t.unit && is_singular(x[0], n[0])) {
        *x[2].data = NAN;
        return;
    }
    solve_in_place(t, x[2], n, (told & CAD_ADJOINT) != 0, room);
}

LOOPS(solve_triangle, 3, {2, 2, 2}, {0}, 1, 1)

/* Of a = c c^H, or c^H c unless c is a lower triangle. */
static void cho_solve(const CadComplexMatrix *x, const size_t *n, intptr_t told, double *room) {
    const CadTriangle t = {x[0], (told & CAD_LOWER) != 0, 0};
    copy_matrix(x[2], x[1], n[0], n[1]);
    if (is_singular(x[0], n[0])) {
        *x[2].data = NAN;
        return;
    }
    solve_in_place(t, x[2], n, !t.lower, room);
    solve_in_place(t, x[2], n, t.lower, room);
}

LOOPS(cho_solve, 3, {2, 2, 2}, {0}, 1, 1)

static void cho_solve_by_lower(const CadComplexMatrix *x, const size_t *n, intptr_t told,
                               double *room) {
    cho_solve(x, n, told | CAD_LOWER, room);
}

LOOP_OF_REALS(cho_solve_by_lower, 3, {2, 2, 2}, {0}, 1, 1)

/* --- lu --- */

static void factor_lu(const CadComplexMatrix *x, const size_t *n, intptr_t told, double *room) {
    (void)told;
    copy_matrix(x[1], x[0], n[0], n[0]);
    cad_factor_lu(x[1], x[2].data, n[0], room);
}

LOOPS(factor_lu, 3, {2, 2, 1}, {0, 0, 1}, 0, 1)

/* With which row each is exchanged in its turn, instead of the order that this leads to. */
static void factor_with_pivots(const CadComplexMatrix *x, const size_t *n, intptr_t told,
                               double *room) {
    double *const pivots = x[2].data, *const order = room, *const rows = room + n[0];
    const CadComplexMatrix factored[] = {x[0], x[1], {order, 1, 1, 0}};
    factor_lu(factored, n, told, rows);
    for (size_t i = 0; i < n[0]; i++) {
        rows[i] = (double)i;
    }
    for (size_t i = 0; i < n[0]; i++) {
        size_t k = i;
        while (rows[k] != order[i]) {
            k++;
        }
        rows[k] = rows[i];
        pivots[i] = (double)k;
    }
}

LOOPS(factor_with_pivots, 3, {2, 2, 1}, {0, 0, 1}, 0, 2)

/* With l u = a[order], so that a.T = u.T l.T, of which the columns are exchanged. */
static void solve_factored(const CadComplexMatrix *x, const size_t *n, intptr_t told,
                           double *room) {
    const CadComplexMatrix lu = x[0], lu_t = transposed(lu), solved = x[3];
    const double *const order = x[1].data;
    copy_matrix(solved, x[2], n[0], n[1]);
    if (is_singular(lu, n[0])) {
        *solved.data = NAN;
    } else if (told & CAD_ADJOINT) {
        conjugate(solved, n[0], n[1]);
        cad_solve_triangle((CadTriangle){lu_t, 1, 0}, solved, n[0], n[1], room);
        cad_solve_triangle((CadTriangle){lu_t, 0, 1}, solved, n[0], n[1], room);
        exchange_rows(solved, order, n[0], n[1], 1, room);
        conjugate(solved, n[0], n[1]);
    } else {
        exchange_rows(solved, order, n[0], n[1], 0, room);
        cad_solve_triangle((CadTriangle){lu, 1, 1}, solved, n[0], n[1], room);
        cad_solve_triangle((CadTriangle){lu, 0, 0}, solved, n[0], n[1], room);
    }
}

LOOPS(solve_factored, 4, {2, 1, 2, 2}, {0}, 1, 1)

static void solve(const CadComplexMatrix *x, const size_t *n, intptr_t told, double *room) {
    const ptrdiff_t m = (ptrdiff_t)n[0], size = m * m;
    const CadComplexMatrix lu = {room, m, 1, x[0].imaginary ? size : 0};
    const CadComplexMatrix order = {room + 2 * size, 1, 1, 0};
    const CadComplexMatrix factored[] = {lu, order, x[1], x[2]};
    copy_matrix(lu, x[0], n[0], n[0]);
    cad_factor_lu(lu, order.data, n[0], order.data + m);
    solve_factored(factored, n, told, order.data + m);
}

LOOPS(solve, 3, {2, 2, 2}, {0}, 1, 4)

/* The inverse of u.T times that of l.T, with the rows in order. */
static void inverse_adjoint(const CadComplexMatrix *x, const size_t *n, intptr_t told,
                            double *room) {
    const CadComplexMatrix lu_t = transposed(x[0]);
    (void)told;
    if (is_singular(x[0], n[0])) {
        *x[2].data = NAN;
        return;
    }
    make_identity(x[2], n[0]);
    cad_invert_lower((CadTriangle){lu_t, 1, 0}, x[2], n[0], room);
    cad_solve_triangle((CadTriangle){lu_t, 0, 1}, x[2], n[0], n[0], room);
    exchange_rows(x[2], x[1].data, n[0], n[0], 1, room);
    conjugate(x[2], n[0], n[0]);
}

LOOPS(inverse_adjoint, 3, {2, 1, 2}, {0}, 0, 1)

static void inverse(const CadComplexMatrix *x, const size_t *n, intptr_t told, double *room) {
    const ptrdiff_t m = (ptrdiff_t)n[0], size = m * m;
    const CadComplexMatrix lu = {room, m, 1, x[0].imaginary ? size : 0};
    double *const order = room + 2 * size, *const row = order + m;
    (void)told;
    copy_matrix(lu, x[0], n[0], n[0]);
    cad_factor_lu(lu, order, n[0], row);
    if (is_singular(lu, n[0])) {
        *x[1].data = NAN;
        return;
    }
    make_identity(x[1], n[0]);
    cad_invert_lower((CadTriangle){lu, 1, 1}, x[1], n[0], row);
    cad_solve_triangle((CadTriangle){lu, 0, 0}, x[1], n[0], n[0], row);
    for (int is_imaginary = 0; is_imaginary <= (lu.imaginary != 0); is_imaginary++) {
        for (ptrdiff_t i = 0; i < m; i++) {
            double *const to = x[1].data + i * x[1].row + is_imaginary * x[1].imaginary;
            memcpy(row, to, n[0] * sizeof(double));
            for (ptrdiff_t j = 0; j < m; j++) {
                to[(size_t)order[j]] = row[j];
            }
        }
    }
}

LOOPS(inverse, 2, {2, 2}, {0}, 0, 4)

/* --- determinants --- */

/* Whether an order of rows takes an odd number of exchanges; it is put right. */
static int is_odd(double *order, size_t n) {
    int odd = 0;
    for (size_t i = 0; i < n; i++) {
        while (order[i] != (double)i) {
            const size_t k = (size_t)order[i];
            if (order[k] == (double)k) {
                break; /* no permutation */
            }
            order[i] = order[k];
            order[k] = (double)k;
            odd = !odd;
        }
    }
    return odd;
}

/* A number that is the product of pivots, or of their signs, in the place of a result. */
static void put_product(CadComplexMatrix to, double re, double im, const double *order, size_t n,
                        double *room) {
    memcpy(room, order, n * sizeof(double));
    const int is_negative = is_odd(room, n);
    to.data[0] = is_negative ? -re : re;
    if (to.imaginary) {
        to.data[to.imaginary] = is_negative ? -im : im;
    }
}

/* The product of the pivots, which does not overflow before it is complete. */
static void determinant(const CadComplexMatrix *x, const size_t *n, intptr_t told, double *room) {
    const CadComplexMatrix lu = x[0];
    double re = 1.0, im = 0.0;
    int exponent = 0, more;
    (void)told;
    for (size_t i = 0; i < n[0]; i++) {
        const double *const pivot = lu.data + (ptrdiff_t)i * (lu.row + lu.column);
        const double c = pivot[0], d = lu.imaginary ? pivot[lu.imaginary] : 0.0, before = re;
        if (lu.imaginary) {
            re = before * c - im * d;
            im = before * d + im * c;
            frexp(fmax(fabs(re), fabs(im)), &more);
            re = ldexp(re, -more);
            im = ldexp(im, -more);
        } else {
            re = frexp(before * c, &more);
        }
        exponent += more;
    }
    put_product(x[2], ldexp(re, exponent), ldexp(im, exponent), x[1].data, n[0], room);
}

LOOPS(determinant, 3, {2, 1, 0}, {0}, 0, 1)

/* The product of the signs of the pivots, and the sum of the logarithms of their sizes. */
static void log_determinant(const CadComplexMatrix *x, const size_t *n, intptr_t told,
                            double *room) {
    const CadComplexMatrix lu = x[0];
    double re = 1.0, im = 0.0, total = 0.0;
    (void)told;
    for (size_t i = 0; i < n[0]; i++) {
        const double *const pivot = lu.data + (ptrdiff_t)i * (lu.row + lu.column);
        double size = fabs(pivot[0]);
        if (lu.imaginary) {
            size = hypot(pivot[0], pivot[lu.imaginary]);
            const double c = size != 0.0 ? pivot[0] / size : 0.0, before = re;
            const double d = size != 0.0 ? pivot[lu.imaginary] / size : 0.0;
            re = before * c - im * d;
            im = before * d + im * c;
        } else {
            re = pivot[0] > 0.0 ? re : pivot[0] < 0.0 ? -re : 0.0 * pivot[0];
        }
        total += log(size);
    }
    put_product(x[2], re, im, x[1].data, n[0], room);
    x[3].data[0] = total;
}

LOOPS(log_determinant, 4, {2, 1, 0, 0}, {0, 0, 0, 1}, 0, 1)

/* --- derivatives of cholesky --- */

typedef void OfLower(CadComplexMatrix l, CadComplexMatrix g, size_t n, double *room);

/* In place, by squares that change places. */
static void transpose(CadComplexMatrix x, size_t size) {
    const ptrdiff_t n = (ptrdiff_t)size, row = x.row;
    for (ptrdiff_t first = 0; first < n; first += TILE) {
        for (ptrdiff_t begin = 0; begin <= first; begin += TILE) {
            for (ptrdiff_t i = first; i < n && i < first + TILE; i++) {
                for (ptrdiff_t j = begin; j < i && j < begin + TILE; j++) {
                    const double other = x.data[j * row + i];
                    x.data[j * row + i] = x.data[i * row + j];
                    x.data[i * row + j] = other;
                }
            }
        }
    }
}

/* Of a lower triangle: what the function reads and writes is transposed. */
static void along_cholesky(OfLower *function, const CadComplexMatrix *x, size_t n, double *room) {
    copy_matrix(x[2], transposed(x[1]), n, n);
    function(x[0], x[2], n, room);
    transpose(x[2], n);
}

static void cholesky_pull(const CadComplexMatrix *x, const size_t *n, intptr_t told,
                          double *room) {
    (void)told;
    along_cholesky(cad_cholesky_pull, x, n[0], room);
}

static void cholesky_push(const CadComplexMatrix *x, const size_t *n, intptr_t told,
                          double *room) {
    (void)told;
    along_cholesky(cad_cholesky_push, x, n[0], room);
}

LOOP_OF_REALS(cholesky_pull, 3, {2, 2, 2}, {0}, 0, 1)

LOOP_OF_REALS(cholesky_push, 3, {2, 2, 2}, {0}, 0, 1)

/* --- exponentials --- */

/* A matrix in order; of a complex one the real one of twice its size. */
static double *in_order(CadComplexMatrix x, size_t n, double *to) {
    const ptrdiff_t m = (ptrdiff_t)n, row = x.imaginary ? 2 * m : m;
    copy_plane(to, row, x.data, x, n, n);
    if (x.imaginary) {
        copy_plane(to + m * row, row, x.data + x.imaginary, x, n, n);
        cad_complete_complex(to, n);
    }
    return to;
}

/* What stands in order back in its place. */
static void put_in_place(CadComplexMatrix x, size_t n, const double *from, int is_found) {
    const ptrdiff_t m = (ptrdiff_t)n, row = x.imaginary ? 2 * m : m;
    const CadComplexMatrix source = {(double *)from, row, 1, x.imaginary ? m * row : 0};
    copy_matrix(x, source, n, n);
    if (!is_found) {
        *x.data = NAN;
    }
}

static void expm(const CadComplexMatrix *x, const size_t *n, intptr_t told, double *room) {
    const size_t side = x[0].imaginary ? 2 * n[0] : n[0], size = side * side;
    const double *const a = in_order(x[0], n[0], room);
    (void)told;
    const int is_found =
        cad_exponential(a, room + size, side, x[0].imaginary != 0, room + 2 * size);
    put_in_place(x[1], n[0], room + size, is_found);
}

LOOPS(expm, 2, {2, 2}, {0}, 0, 4 * (CAD_EXPONENTIAL_ROOM + 2))

static void expm_frechet(const CadComplexMatrix *x, const size_t *n, intptr_t told, double *room) {
    const size_t side = x[0].imaginary ? 2 * n[0] : n[0], size = side * side;
    const double *const a = in_order(x[0], n[0], room), *const e =
                                                            in_order(x[1], n[0], room + size);
    (void)told;
    const int is_found =
        cad_exponential_along(a, e, room + 2 * size, side, x[0].imaginary != 0, room + 3 * size);
    put_in_place(x[2], n[0], room + 2 * size, is_found);
}

LOOPS(expm_frechet, 3, {2, 2, 2}, {0}, 0, 4 * (CAD_EXPONENTIAL_ROOM + 3))

/* --- phases --- */

/* The part of the largest cotangent up to which turning a vector is rounding, and the least value
 * that this largest one is taken for. */
static const double TURN = 1e-6, NOUGHT = 1e-8;

static double largest_of(CadComplexMatrix g, size_t n, size_t m) {
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            const double *const x = g.data + (ptrdiff_t)i * g.row + (ptrdiff_t)j * g.column;
            most = fmax(most, hypot(x[0], x[g.imaginary]));
        }
    }
    return most;
}

/* Zeros, one for each column of v, unless turning it by a factor of length 1 does something to
 * what has the cotangent g. */
static void put_still(CadComplexMatrix v, CadComplexMatrix g, CadComplexMatrix to, const size_t *n,
                      int real_ones_do_not_turn) {
    const double limit = TURN * fmax(largest_of(g, n[0], n[1]), NOUGHT);
    for (size_t j = 0; j < n[1]; j++) {
        double turn = 0.0;
        int may_turn = !real_ones_do_not_turn;
        for (size_t i = 0; i < n[0]; i++) {
            const double *const x = v.data + (ptrdiff_t)i * v.row + (ptrdiff_t)j * v.column;
            const double *const y = g.data + (ptrdiff_t)i * g.row + (ptrdiff_t)j * g.column;
            turn += x[0] * y[g.imaginary] - x[v.imaginary] * y[0];
            may_turn |= x[v.imaginary] != 0.0;
        }
        to.data[(ptrdiff_t)j * to.row] = 0.0;
        if (may_turn && !(fabs(turn) <= limit)) {
            to.data[0] = NAN;
            return;
        }
    }
}

static void still(const CadComplexMatrix *x, const size_t *n, intptr_t told, double *room) {
    (void)told;
    (void)room;
    put_still(x[0], x[1], x[2], n, 0);
}

LOOP_OF_PAIRS(still, 3, {2, 2, 1}, {0, 0, 1}, 1, 0)

/* Vectors that are real do not turn if they are those of a real matrix, if the kernel is told so.
 */
static void still_beside(const CadComplexMatrix *x, const size_t *n, intptr_t told, double *room) {
    int is_real = told != 0;
    (void)room;
    for (size_t i = 0; i < n[0] * n[0] && is_real; i++) {
        const ptrdiff_t row = (ptrdiff_t)(i / n[0]), column = (ptrdiff_t)(i % n[0]);
        is_real = x[2].data[row * x[2].row + column * x[2].column + x[2].imaginary] == 0.0;
    }
    put_still(x[0], x[1], x[3], n, is_real);
}

LOOP_OF_PAIRS(still_beside, 4, {2, 2, 2, 1}, {0, 0, 0, 1}, 1, 0)
