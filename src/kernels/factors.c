/* Factors of matrices, in halves: what is left are blocks, whose loops stand first. */
#include "kernels/factors.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 16, PANEL = 8, WIDTH = 32 };

static inline double *at(CadComplexMatrix a, size_t i, size_t j) {
    return a.data + (ptrdiff_t)i * a.row + (ptrdiff_t)j * a.column;
}

static inline CadComplexMatrix from(CadComplexMatrix a, size_t i, size_t j) {
    return (CadComplexMatrix){at(a, i, j), a.row, a.column, a.imaginary};
}

static inline CadComplexMatrix transposed(CadComplexMatrix a) {
    return (CadComplexMatrix){a.data, a.column, a.row, a.imaginary};
}

static inline CadMatrix real_part(CadComplexMatrix a) {
    return (CadMatrix){a.data, a.row, a.column};
}

static inline CadMatrix imaginary_part(CadComplexMatrix a) {
    return (CadMatrix){a.data + a.imaginary, a.row, a.column};
}

/* The first half of n rows: whole blocks. */
static inline size_t half(size_t n, size_t block) {
    return (n / 2 + block - 1) / block * block;
}

/* to (m x p) += factor a (m x n) b (n x p) */
static void add_product(CadMatrix to, double factor, CadMatrix a, CadMatrix b, size_t m, size_t n,
                        size_t p, double *room) {
    cad_multiply_matrices((CadMatrix){room, (ptrdiff_t)p, 1}, a, b, m, n, p);
    for (size_t i = 0; i < m; i++) {
        double *const row = to.data + (ptrdiff_t)i * to.row;
        for (size_t j = 0; j < p; j++) {
            row[j] += factor * room[i * p + j];
        }
    }
}

/* to -= a b, of real numbers or of complex ones */
static void subtract_product(CadComplexMatrix to, CadComplexMatrix a, CadComplexMatrix b, size_t m,
                             size_t n, size_t p, double *room) {
    add_product(real_part(to), -1.0, real_part(a), real_part(b), m, n, p, room);
    if (to.imaginary) {
        add_product(real_part(to), 1.0, imaginary_part(a), imaginary_part(b), m, n, p, room);
        add_product(imaginary_part(to), -1.0, real_part(a), imaginary_part(b), m, n, p, room);
        add_product(imaginary_part(to), -1.0, imaginary_part(a), real_part(b), m, n, p, room);
    }
}

/* A number to divide by, in polar coordinates: its square may be out of range. */
typedef struct Divisor {
    double size, cosine, sine;
} Divisor;

static inline Divisor divisor(double re, double im) {
    const double size = hypot(re, im);
    return (Divisor){size, re / size, im / size};
}

static inline double real_quotient(double re, double im, Divisor by) {
    return (re * by.cosine + im * by.sine) / by.size;
}

static inline double imaginary_quotient(double re, double im, Divisor by) {
    return (im * by.cosine - re * by.sine) / by.size;
}

/* --- triangles --- */

/* The row of index i of b, whose `width` numbers stand side by side, less its product with the
 * rows that are solved, and divided by the diagonal. */
static CAD_INLINE void substitute(CadTriangle t, CadComplexMatrix b, size_t n, size_t first,
                                  size_t width, const int is_complex) {
    const ptrdiff_t b_im = is_complex ? b.imaginary : 0,
                    t_im = is_complex ? t.matrix.imaginary : 0;
    double re[WIDTH], im[WIDTH];
    for (size_t step = 0; step < n; step++) {
        const size_t i = t.lower ? step : n - 1 - step;
        double *const target = at(b, i, first);
        for (size_t j = 0; j < width; j++) {
            re[j] = target[j];
            im[j] = target[j + b_im];
        }
        for (size_t other = 0; other < step; other++) {
            const size_t k = t.lower ? other : n - 1 - other;
            const double c = *at(t.matrix, i, k), d = at(t.matrix, i, k)[t_im];
            const double *const solved = at(b, k, first), *const solved_im = solved + b_im;
            for (size_t j = 0; j < width; j++) {
                re[j] -= is_complex ? c * solved[j] - d * solved_im[j] : c * solved[j];
                im[j] -= is_complex ? c * solved_im[j] + d * solved[j] : 0.0;
            }
        }
        const double *const pivot = at(t.matrix, i, i);
        if (!is_complex) {
            for (size_t j = 0; j < width; j++) {
                target[j] = t.unit ? re[j] : re[j] / *pivot;
            }
            continue;
        }
        const Divisor by = t.unit ? (Divisor){1.0, 1.0, 0.0} : divisor(*pivot, pivot[t_im]);
        for (size_t j = 0; j < width; j++) {
            target[j] = real_quotient(re[j], im[j], by);
            target[j + b_im] = imaginary_quotient(re[j], im[j], by);
        }
    }
}

static CAD_INLINE void solve_columns(CadTriangle t, CadComplexMatrix b, size_t n, size_t m,
                                     const size_t width, const int is_complex) {
    size_t first = 0;
    for (; first + width <= m; first += width) {
        substitute(t, b, n, first, width, is_complex);
    }
    if (first < m) {
        substitute(t, b, n, first, m - first, is_complex);
    }
}

CAD_CLONES static void solve_block(CadTriangle t, CadComplexMatrix b, size_t n, size_t m) {
    if (b.imaginary) {
        solve_columns(t, b, n, m, WIDTH / 2, 1);
    } else {
        solve_columns(t, b, n, m, WIDTH, 0);
    }
}

void cad_solve_triangle(CadTriangle t, CadComplexMatrix b, size_t n, size_t m, double *room) {
    if (n <= BLOCK) {
        solve_block(t, b, n, m);
        return;
    }
    const size_t h = half(n, BLOCK);
    const CadTriangle last = {from(t.matrix, h, h), t.lower, t.unit};
    if (t.lower) {
        cad_solve_triangle(t, b, h, m, room);
        subtract_product(from(b, h, 0), from(t.matrix, h, 0), b, n - h, h, m, room);
        cad_solve_triangle(last, from(b, h, 0), n - h, m, room);
    } else {
        cad_solve_triangle(last, from(b, h, 0), n - h, m, room);
        subtract_product(b, from(t.matrix, 0, h), from(b, h, 0), h, n - h, m, room);
        cad_solve_triangle(t, b, h, m, room);
    }
}

void cad_invert_lower(CadTriangle t, CadComplexMatrix b, size_t n, double *room) {
    if (n <= BLOCK) {
        solve_block(t, b, n, n);
        return;
    }
    const size_t h = half(n, BLOCK);
    const CadTriangle last = {from(t.matrix, h, h), 1, t.unit};
    const CadComplexMatrix below = from(b, h, 0);
    cad_invert_lower(t, b, h, room);
    cad_invert_lower(last, from(b, h, h), n - h, room);
    subtract_product(below, from(t.matrix, h, 0), b, n - h, h, h, room);
    cad_solve_triangle(last, below, n - h, h, room);
}

/* --- lu --- */

static void exchange_numbers(double *x, double *y, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const double number = x[k];
        x[k] = y[k];
        y[k] = number;
    }
}

static void exchange_rows(CadComplexMatrix a, double *order, size_t i, size_t j, size_t n) {
    exchange_numbers(at(a, i, 0), at(a, j, 0), n);
    if (a.imaginary) {
        exchange_numbers(at(a, i, 0) + a.imaginary, at(a, j, 0) + a.imaginary, n);
    }
    exchange_numbers(order + i, order + j, 1);
}

/* The size by which pivots are compared, as LAPACK does. */
static CAD_INLINE double size_of(const double *x, ptrdiff_t imag) {
    return fabs(*x) + (imag ? fabs(x[imag]) : 0.0);
}

/* The columns [begin, end) of n rows, of which those above `begin` are done. */
static CAD_INLINE void factor_rows(CadComplexMatrix a, double *order, size_t n, size_t begin,
                                   size_t end, const int is_complex) {
    const ptrdiff_t imag = is_complex ? a.imaginary : 0;
    for (size_t j = begin; j < end; j++) {
        size_t most = j;
        for (size_t i = j + 1; i < n; i++) {
            most = size_of(at(a, i, j), imag) > size_of(at(a, most, j), imag) ? i : most;
        }
        if (most != j) {
            exchange_rows(a, order, j, most, n);
        }
        const double *const pivot = at(a, j, j), *const pivot_im = pivot + imag;
        const Divisor by = is_complex ? divisor(*pivot, *pivot_im) : (Divisor){*pivot, 1.0, 0.0};
        for (size_t i = j + 1; i < n && by.size != 0.0; i++) {
            double *const row = at(a, i, j), *const row_im = row + imag;
            const double c = is_complex ? real_quotient(*row, *row_im, by) : *row / *pivot;
            const double d = is_complex ? imaginary_quotient(*row, *row_im, by) : c;
            *row = c;
            *row_im = d;
            for (size_t k = 1; k < end - j; k++) {
                row[k] -= is_complex ? c * pivot[k] - d * pivot_im[k] : c * pivot[k];
                if (is_complex) {
                    row_im[k] -= c * pivot_im[k] + d * pivot[k];
                }
            }
        }
    }
}

CAD_CLONES static void factor_panel(CadComplexMatrix a, double *order, size_t n, size_t begin,
                                    size_t end) {
    if (a.imaginary) {
        factor_rows(a, order, n, begin, end, 1);
    } else {
        factor_rows(a, order, n, begin, end, 0);
    }
}

static void factor_columns(CadComplexMatrix a, double *order, size_t n, size_t begin, size_t end,
                           double *room) {
    if (end - begin <= PANEL) {
        factor_panel(a, order, n, begin, end);
        return;
    }
    const size_t mid = begin + half(end - begin, PANEL);
    factor_columns(a, order, n, begin, mid, room);
    const CadTriangle lower = {from(a, begin, begin), 1, 1};
    const CadComplexMatrix above = from(a, begin, mid);
    cad_solve_triangle(lower, above, mid - begin, end - mid, room);
    subtract_product(from(a, mid, mid), from(a, mid, begin), above, n - mid, mid - begin,
                     end - mid, room);
    factor_columns(a, order, n, mid, end, room);
}

void cad_factor_lu(CadComplexMatrix a, double *order, size_t n, double *room) {
    for (size_t i = 0; i < n; i++) {
        order[i] = (double)i;
    }
    factor_columns(a, order, n, 0, n, room);
}

/* --- derivatives of cholesky --- */

/* The upper triangle of g -= that of what stands in room, and transposed there, if `both`. */
static void subtract_upper(CadComplexMatrix g, const double *room, size_t n, int both) {
    for (size_t i = 0; i < n; i++) {
        double *const row = at(g, i, 0);
        for (size_t j = i; j < n; j++) {
            row[j] -= room[i * n + j] + (both ? room[j * n + i] : 0.0);
        }
    }
}

/* to = g + g.T of an upper triangle g */
static void add_transposed(double *to, CadComplexMatrix g, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i * n + i] = 2.0 * *at(g, i, i);
        for (size_t j = i + 1; j < n; j++) {
            to[i * n + j] = to[j * n + i] = *at(g, i, j);
        }
    }
}

/* The element k of l is the root of what is left of a; the elements below are what is left of a,
 * divided by it. `left` are the products with the rows of l before k. */
CAD_CLONES static void pull_block(CadComplexMatrix l, CadComplexMatrix g, size_t n) {
    for (size_t k = n; k-- > 0;) {
        double *const column = at(g, k, 0);
        const double d = *at(l, k, k);
        double above[BLOCK] = {0.0};
        for (size_t i = k + 1; i < n; i++) {
            const double *const row = at(l, i, 0);
            column[i] /= d;
            column[k] -= column[i] * row[k];
            for (size_t j = 0; j < k; j++) {
                above[j] += column[i] * row[j];
            }
        }
        column[k] /= 2.0 * d;
        const double *const r = at(l, k, 0);
        for (size_t j = 0; j < k; j++) {
            double *const row = at(g, j, 0);
            row[k] -= above[j] + 2.0 * column[k] * r[j];
            for (size_t i = k + 1; i < n; i++) {
                row[i] -= r[j] * column[i];
            }
        }
    }
}

CAD_CLONES static void push_block(CadComplexMatrix l, CadComplexMatrix g, size_t n) {
    for (size_t k = 0; k < n; k++) {
        double *const column = at(g, k, 0);
        const double *const r = at(l, k, 0);
        const double d = r[k];
        double moved[BLOCK];
        for (size_t j = 0; j < k; j++) {
            const double *const row = at(g, j, 0);
            moved[j] = row[k];
            for (size_t i = k; i < n; i++) {
                column[i] -= r[j] * row[i];
            }
            column[k] -= r[j] * moved[j];
        }
        column[k] /= 2.0 * d;
        for (size_t i = k + 1; i < n; i++) {
            const double *const row = at(l, i, 0);
            double left = row[k] * column[k];
            for (size_t j = 0; j < k; j++) {
                left += row[j] * moved[j];
            }
            column[i] = (column[i] - left) / d;
        }
    }
}

/* With halves 1 and 2: l22 is the factor of what is left of a22, less l21 l21.T, and l21 is a21
 * divided by l11.T. Here g12 is the transposed of what belongs to l21. */
static void pull_halves(CadComplexMatrix l, CadComplexMatrix g, size_t n, double *room) {
    if (n <= BLOCK) {
        pull_block(l, g, n);
        return;
    }
    const size_t h = half(n, BLOCK), rest = n - h;
    const CadComplexMatrix l21 = from(l, h, 0), g12 = from(g, 0, h), g22 = from(g, h, h);
    pull_halves(from(l, h, h), g22, rest, room);
    add_transposed(room, g22, rest);
    subtract_product(g12, transposed(l21), (CadComplexMatrix){room, (ptrdiff_t)rest, 1, 0}, h,
                     rest, rest, room + rest * rest);
    cad_solve_triangle((CadTriangle){transposed(l), 0, 0}, g12, h, rest, room);
    cad_multiply_matrices((CadMatrix){room, (ptrdiff_t)h, 1}, real_part(transposed(l21)),
                          real_part(transposed(g12)), h, rest, h);
    subtract_upper(g, room, h, 0);
    pull_halves(l, g, h, room);
}

static void push_halves(CadComplexMatrix l, CadComplexMatrix g, size_t n, double *room) {
    if (n <= BLOCK) {
        push_block(l, g, n);
        return;
    }
    const size_t h = half(n, BLOCK), rest = n - h;
    const CadComplexMatrix l21 = from(l, h, 0), g12 = from(g, 0, h), g22 = from(g, h, h);
    push_halves(l, g, h, room);
    subtract_product(g12, transposed(g), transposed(l21), h, h, rest, room);
    cad_solve_triangle((CadTriangle){l, 1, 0}, g12, h, rest, room);
    cad_multiply_matrices((CadMatrix){room, (ptrdiff_t)rest, 1}, real_part(l21), real_part(g12),
                          rest, h, rest);
    subtract_upper(g22, room, rest, 1);
    push_halves(from(l, h, h), g22, rest, room);
}

static void clear_below(CadComplexMatrix g, size_t n) {
    for (size_t i = 1; i < n; i++) {
        memset(at(g, i, 0), 0, i * sizeof(double));
    }
}

void cad_cholesky_pull(CadComplexMatrix l, CadComplexMatrix g, size_t n, double *room) {
    clear_below(g, n);
    pull_halves(l, g, n, room);
}

void cad_cholesky_push(CadComplexMatrix l, CadComplexMatrix g, size_t n, double *room) {
    clear_below(g, n);
    push_halves(l, g, n, room);
}
