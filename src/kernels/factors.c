/* Factors of matrices, in halves: what is left are blocks, whose loops stand first. */
#include "kernels/factors.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 16, PANEL = 8, WIDTH = 32 };

static inline double *at(CadMatrix a, size_t i, size_t j) {
    return a.data + (ptrdiff_t)i * a.row + (ptrdiff_t)j * a.column;
}

static inline CadMatrix from(CadMatrix a, size_t i, size_t j) {
    return (CadMatrix){at(a, i, j), a.row, a.column};
}

static inline CadMatrix transposed(CadMatrix a) {
    return (CadMatrix){a.data, a.column, a.row};
}

/* The first half of n rows: whole blocks. */
static inline size_t half(size_t n, size_t block) {
    return (n / 2 + block - 1) / block * block;
}

/* to (m x p) -= a (m x n) b (n x p) */
static void subtract_product(CadMatrix to, CadMatrix a, CadMatrix b, size_t m, size_t n, size_t p,
                             double *room) {
    cad_multiply_matrices((CadMatrix){room, (ptrdiff_t)p, 1}, a, b, m, n, p);
    for (size_t i = 0; i < m; i++) {
        double *const row = at(to, i, 0);
        for (size_t j = 0; j < p; j++) {
            row[j] -= room[i * p + j];
        }
    }
}

/* --- triangles --- */

/* The row of index i of b, whose `width` numbers stand side by side, less its product with the
 * rows that are solved, and divided by the diagonal. */
static CAD_INLINE void substitute(CadTriangle t, CadMatrix b, size_t n, size_t first,
                                  size_t width) {
    double row[WIDTH];
    for (size_t step = 0; step < n; step++) {
        const size_t i = t.lower ? step : n - 1 - step;
        double *const target = at(b, i, first);
        for (size_t j = 0; j < width; j++) {
            row[j] = target[j];
        }
        for (size_t other = 0; other < step; other++) {
            const size_t k = t.lower ? other : n - 1 - other;
            const double factor = *at(t.matrix, i, k);
            const double *const solved = at(b, k, first);
            for (size_t j = 0; j < width; j++) {
                row[j] -= factor * solved[j];
            }
        }
        const double pivot = t.unit ? 1.0 : *at(t.matrix, i, i);
        for (size_t j = 0; j < width; j++) {
            target[j] = t.unit ? row[j] : row[j] / pivot;
        }
    }
}

CAD_CLONES static void solve_block(CadTriangle t, CadMatrix b, size_t n, size_t m) {
    size_t first = 0;
    for (; first + WIDTH <= m; first += WIDTH) {
        substitute(t, b, n, first, WIDTH);
    }
    if (first < m) {
        substitute(t, b, n, first, m - first);
    }
}

void cad_solve_triangle(CadTriangle t, CadMatrix b, size_t n, size_t m, double *room) {
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

void cad_invert_lower(CadTriangle t, CadMatrix b, size_t n, double *room) {
    if (n <= BLOCK) {
        solve_block(t, b, n, n);
        return;
    }
    const size_t h = half(n, BLOCK);
    const CadTriangle last = {from(t.matrix, h, h), 1, t.unit};
    const CadMatrix below = from(b, h, 0);
    cad_invert_lower(t, b, h, room);
    cad_invert_lower(last, from(b, h, h), n - h, room);
    subtract_product(below, from(t.matrix, h, 0), b, n - h, h, h, room);
    cad_solve_triangle(last, below, n - h, h, room);
}

/* --- lu --- */

static void exchange_rows(CadMatrix a, double *order, size_t i, size_t j, size_t n) {
    double *const x = at(a, i, 0), *const y = at(a, j, 0);
    for (size_t k = 0; k < n; k++) {
        const double number = x[k];
        x[k] = y[k];
        y[k] = number;
    }
    const double index = order[i];
    order[i] = order[j];
    order[j] = index;
}

/* The columns [begin, end) of n rows, of which those above `begin` are done. */
CAD_CLONES static void factor_panel(CadMatrix a, double *order, size_t n, size_t begin,
                                    size_t end) {
    for (size_t j = begin; j < end; j++) {
        size_t most = j;
        for (size_t i = j + 1; i < n; i++) {
            most = fabs(*at(a, i, j)) > fabs(*at(a, most, j)) ? i : most;
        }
        if (most != j) {
            exchange_rows(a, order, j, most, n);
        }
        const double *const pivot = at(a, j, j);
        for (size_t i = j + 1; i < n && *pivot != 0.0; i++) {
            double *const row = at(a, i, j);
            row[0] /= *pivot;
            for (size_t k = 1; k < end - j; k++) {
                row[k] -= row[0] * pivot[k];
            }
        }
    }
}

static void factor_columns(CadMatrix a, double *order, size_t n, size_t begin, size_t end,
                           double *room) {
    if (end - begin <= PANEL) {
        factor_panel(a, order, n, begin, end);
        return;
    }
    const size_t mid = begin + half(end - begin, PANEL);
    factor_columns(a, order, n, begin, mid, room);
    const CadTriangle lower = {from(a, begin, begin), 1, 1};
    const CadMatrix above = from(a, begin, mid);
    cad_solve_triangle(lower, above, mid - begin, end - mid, room);
    subtract_product(from(a, mid, mid), from(a, mid, begin), above, n - mid, mid - begin,
                     end - mid, room);
    factor_columns(a, order, n, mid, end, room);
}

void cad_factor_lu(CadMatrix a, double *order, size_t n, double *room) {
    for (size_t i = 0; i < n; i++) {
        order[i] = (double)i;
    }
    factor_columns(a, order, n, 0, n, room);
}

/* --- derivatives of cholesky --- */

/* The upper triangle of g -= that of what stands in room, and transposed there, if `both`. */
static void subtract_upper(CadMatrix g, const double *room, size_t n, int both) {
    for (size_t i = 0; i < n; i++) {
        double *const row = at(g, i, 0);
        for (size_t j = i; j < n; j++) {
            row[j] -= room[i * n + j] + (both ? room[j * n + i] : 0.0);
        }
    }
}

/* to = g + g.T of an upper triangle g */
static void add_transposed(double *to, CadMatrix g, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i * n + i] = 2.0 * *at(g, i, i);
        for (size_t j = i + 1; j < n; j++) {
            to[i * n + j] = to[j * n + i] = *at(g, i, j);
        }
    }
}

/* The element k of l is the root of what is left of a; the elements below are what is left of a,
 * divided by it. `left` are the products with the rows of l before k. */
CAD_CLONES static void pull_block(CadMatrix l, CadMatrix g, size_t n) {
    for (size_t k = n; k-- > 0;) {
        double *const own = at(g, k, 0);
        const double d = *at(l, k, k);
        double above[BLOCK] = {0.0};
        for (size_t i = k + 1; i < n; i++) {
            const double *const row = at(l, i, 0);
            own[i] /= d;
            own[k] -= own[i] * row[k];
            for (size_t j = 0; j < k; j++) {
                above[j] += own[i] * row[j];
            }
        }
        own[k] /= 2.0 * d;
        const double *const r = at(l, k, 0);
        for (size_t j = 0; j < k; j++) {
            double *const row = at(g, j, 0);
            row[k] -= above[j] + 2.0 * own[k] * r[j];
            for (size_t i = k + 1; i < n; i++) {
                row[i] -= r[j] * own[i];
            }
        }
    }
}

CAD_CLONES static void push_block(CadMatrix l, CadMatrix g, size_t n) {
    for (size_t k = 0; k < n; k++) {
        double *const own = at(g, k, 0);
        const double *const r = at(l, k, 0);
        const double d = r[k];
        double moved[BLOCK];
        for (size_t j = 0; j < k; j++) {
            const double *const row = at(g, j, 0);
            moved[j] = row[k];
            for (size_t i = k; i < n; i++) {
                own[i] -= r[j] * row[i];
            }
            own[k] -= r[j] * moved[j];
        }
        own[k] /= 2.0 * d;
        for (size_t i = k + 1; i < n; i++) {
            const double *const row = at(l, i, 0);
            double left = row[k] * own[k];
            for (size_t j = 0; j < k; j++) {
                left += row[j] * moved[j];
            }
            own[i] = (own[i] - left) / d;
        }
    }
}

/* With halves 1 and 2: l22 is the factor of what is left of a22, less l21 l21.T, and l21 is a21
 * divided by l11.T. Here g12 is the transposed of what belongs to l21. */
static void pull_halves(CadMatrix l, CadMatrix g, size_t n, double *room) {
    if (n <= BLOCK) {
        pull_block(l, g, n);
        return;
    }
    const size_t h = half(n, BLOCK), rest = n - h;
    const CadMatrix l21 = from(l, h, 0), g12 = from(g, 0, h), g22 = from(g, h, h);
    pull_halves(from(l, h, h), g22, rest, room);
    add_transposed(room, g22, rest);
    subtract_product(g12, transposed(l21), (CadMatrix){room, (ptrdiff_t)rest, 1}, h, rest, rest,
                     room + rest * rest);
    cad_solve_triangle((CadTriangle){transposed(l), 0, 0}, g12, h, rest, room);
    cad_multiply_matrices((CadMatrix){room, (ptrdiff_t)h, 1}, transposed(l21), transposed(g12), h,
                          rest, h);
    subtract_upper(g, room, h, 0);
    pull_halves(l, g, h, room);
}

static void push_halves(CadMatrix l, CadMatrix g, size_t n, double *room) {
    if (n <= BLOCK) {
        push_block(l, g, n);
        return;
    }
    const size_t h = half(n, BLOCK), rest = n - h;
    const CadMatrix l21 = from(l, h, 0), g12 = from(g, 0, h), g22 = from(g, h, h);
    push_halves(l, g, h, room);
    subtract_product(g12, transposed(g), transposed(l21), h, h, rest, room);
    cad_solve_triangle((CadTriangle){l, 1, 0}, g12, h, rest, room);
    cad_multiply_matrices((CadMatrix){room, (ptrdiff_t)rest, 1}, l21, g12, rest, h, rest);
    subtract_upper(g22, room, rest, 1);
    push_halves(from(l, h, h), g22, rest, room);
}

static void clear_below(CadMatrix g, size_t n) {
    for (size_t i = 1; i < n; i++) {
        memset(at(g, i, 0), 0, i * sizeof(double));
    }
}

void cad_cholesky_pull(CadMatrix l, CadMatrix g, size_t n, double *room) {
    clear_below(g, n);
    pull_halves(l, g, n, room);
}

void cad_cholesky_push(CadMatrix l, CadMatrix g, size_t n, double *room) {
    clear_below(g, n);
    push_halves(l, g, n, room);
}
