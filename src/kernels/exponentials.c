/* See exponentials.h. */
#include "kernels/exponentials.h"

#include "kernels/factors.h"

#include <math.h>
#include <string.h>

/* The degrees of approximants, and the largest 1-norms for which each is accurate to double
 * precision, and so is its derivative: from table 6.1 of the article. */
enum { N_DEGREES = 5, HIGHEST = 13, MOST_POWERS = 4, MOST_HALVINGS = 1000, FEW = 8 };

static const int degrees[N_DEGREES] = {3, 5, 7, 9, HIGHEST};
static const double largest[N_DEGREES] = {1.08e-2, 2.00e-1, 7.83e-1, 1.78, 4.74};

/* The coefficients of the numerators, from that of the constant on. */
static const double numerators[N_DEGREES][HIGHEST + 1] = {
    {120.0, 60.0, 12.0, 1.0},
    {30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0},
    {17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0},
    {17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0,
     3960.0, 90.0, 1.0},
    {64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
     129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
     960960.0, 16380.0, 182.0, 1.0},
};

/* Matrices to compute with, n x n each. Along a change, each has one. */
typedef struct Work {
    size_t n;
    size_t columns; /* the left half of a complex matrix, which the right one follows from */
    double *powers[MOST_POWERS + 1], *changes[MOST_POWERS + 1]; /* of a squared; from 1 on */
    double *odd, *even, *high, *other, *scaled, *scaled_change;
    double *order;
} Work;

static Work work_in(double *room, size_t n, int is_complex) {
    Work w = {.n = n, .columns = is_complex ? n / 2 : n};
    double **const all[] = {&w.powers[1],  &w.powers[2],     &w.powers[3],  &w.powers[4],
                            &w.changes[1], &w.changes[2],    &w.changes[3], &w.changes[4],
                            &w.odd,        &w.even,          &w.high,       &w.other,
                            &w.scaled,     &w.scaled_change, &w.order};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        *all[k] = room + k * n * n;
    }
    return w;
}

static CadMatrix whole(double *x, size_t n) {
    return (CadMatrix){x, (ptrdiff_t)n, 1};
}

void cad_complete_complex(double *x, size_t n) {
    double *const below = x + 2 * n * n;
    for (size_t i = 0; i < 2 * n * n; i += 2 * n) {
        for (size_t j = 0; j < n; j++) {
            x[i + n + j] = -below[i + j];
            below[i + n + j] = x[i + j];
        }
    }
}

static void complete(const Work *w, double *to) {
    if (w->columns != w->n) {
        cad_complete_complex(to, w->columns);
    }
}

/* to = x y */
static void multiply(const Work *w, double *to, const double *x, const double *y) {
    const size_t n = w->n;
    cad_multiply_matrices(whole(to, n), whole((double *)x, n), whole((double *)y, n), n, n,
                          w->columns);
    complete(w, to);
}

/* to += x y, by way of `product` */
static void add_product(const Work *w, double *to, const double *x, const double *y,
                        double *product) {
    multiply(w, product, x, y);
    for (size_t i = 0; i < w->n * w->n; i++) {
        to[i] += product[i];
    }
}

/* to = the sum of c[2 k] times the power k, from `first` to `last`; the power 0 is the identity,
 * or, of changes, nothing. */
static void sum_powers(double *to, double *const *powers, const double *c, int first, int last,
                       int are_changes, size_t n) {
    memset(to, 0, n * n * sizeof(double));
    for (size_t i = 0; i < n && first == 0 && !are_changes; i++) {
        to[i * (n + 1)] = c[0];
    }
    for (int k = first > 1 ? first : 1; k <= last; k++) {
        for (size_t i = 0; i < n * n; i++) {
            to[i] += c[2 * k] * powers[k][i];
        }
    }
}

static void put_powers(const Work *w, const double *a, const double *e, int n_powers,
                       double *product) {
    multiply(w, w->powers[1], a, a);
    for (int k = 2; k <= n_powers; k++) {
        multiply(w, w->powers[k], w->powers[k - 1], w->powers[1]);
    }
    if (e != NULL) {
        multiply(w, w->changes[1], a, e);
        add_product(w, w->changes[1], e, a, product);
        for (int k = 2; k <= n_powers; k++) {
            multiply(w, w->changes[k], w->powers[k - 1], w->changes[1]);
            add_product(w, w->changes[k], w->changes[k - 1], w->powers[1], product);
        }
    }
}

/* The even or odd part of the numerator (c is its first coefficient), odd ones without a factor a,
 * or what it changes by. */
static void put_part(const Work *w, double *to, const double *c, int degree, int is_change,
                     double *product) {
    double *const *const powers = is_change ? w->changes : w->powers;
    const int n_powers = degree == HIGHEST ? 3 : (degree - 1) / 2;
    const size_t n = w->n;
    sum_powers(to, powers, c, 0, n_powers, is_change, n);
    if (degree == HIGHEST) { /* the sixth power of a is a factor of what follows */
        sum_powers(w->high, w->powers, c + 6, 1, 3, 0, n);
        if (is_change) {
            add_product(w, to, w->changes[3], w->high, product);
            sum_powers(w->high, w->changes, c + 6, 1, 3, 1, n);
        }
        add_product(w, to, w->powers[3], w->high, product);
    }
}

/* x becomes the solution of lu x = x[order]. */
static void solve(const Work *w, double *lu, double *x, double *room) {
    const size_t n = w->n;
    const CadComplexMatrix factors = {lu, (ptrdiff_t)n, 1, 0}, solved = {x, (ptrdiff_t)n, 1, 0};
    memcpy(room, x, n * n * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        memcpy(x + i * n, room + (size_t)w->order[i] * n, n * sizeof(double));
    }
    cad_solve_triangle((CadTriangle){factors, 1, 1}, solved, n, w->columns, room);
    cad_solve_triangle((CadTriangle){factors, 0, 0}, solved, n, w->columns, room);
    complete(w, x);
}

/* r = the approximant at a; d, unless e is NULL, its derivative along e. With the even part v of
 * the numerator, and u, a times the odd part, it is the quotient of v + u and v - u. */
static void approximate(const Work *w, int which, const double *a, const double *e, double *r,
                        double *d, double *product) {
    const int degree = degrees[which];
    const double *const c = numerators[which];
    const size_t n = w->n, size = n * n;
    double *const quotient = w->even;
    put_powers(w, a, e, degree == HIGHEST ? 3 : (degree - 1) / 2, product);
    put_part(w, w->odd, c + 1, degree, 0, product);
    put_part(w, w->even, c, degree, 0, product);
    if (e != NULL) { /* d = dv + du, other = du - dv */
        put_part(w, w->other, c + 1, degree, 1, product);
        multiply(w, d, a, w->other);
        add_product(w, d, e, w->odd, product);
        put_part(w, w->other, c, degree, 1, product);
        for (size_t i = 0; i < size; i++) {
            const double du = d[i], dv = w->other[i];
            d[i] = dv + du;
            w->other[i] = du - dv;
        }
    }
    multiply(w, product, a, w->odd);
    for (size_t i = 0; i < size; i++) {
        r[i] = w->even[i] + product[i];
        quotient[i] = w->even[i] - product[i];
    }
    cad_factor_lu((CadComplexMatrix){quotient, (ptrdiff_t)n, 1, 0}, w->order, n, product);
    solve(w, quotient, r, product);
    if (e != NULL) {
        add_product(w, d, w->other, r, product);
        solve(w, quotient, d, product);
    }
}

/* The 1-norm: nan if there is one in a. */
static double size_of(const double *a, size_t n) {
    double most = 0.0;
    for (size_t j = 0; j < n; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++) {
            sum += fabs(a[i * n + j]);
        }
        most = sum > most || isnan(sum) ? sum : most;
        if (isnan(most)) {
            return most;
        }
    }
    return most;
}

static int degree_for(double size) {
    int which = 0;
    while (which + 1 < N_DEGREES && size > largest[which]) {
        which++;
    }
    return which;
}

/* How often to halve a matrix more, so that the approximant's error is rounding: by the powers of
 * its absolute values, which rounding goes by. */
static double more_halvings(const double *a, double factor, size_t n, double *row, double *next) {
    const int power = 2 * HIGHEST + 1;
    for (size_t i = 0; i < n; i++) {
        row[i] = 1.0;
    }
    for (int k = 0; k < power; k++) {
        memset(next, 0, n * sizeof(double));
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) {
                next[j] += row[i] * factor * fabs(a[i * n + j]);
            }
        }
        memcpy(row, next, n * sizeof(double));
    }
    double most = 0.0;
    for (size_t j = 0; j < n; j++) {
        most = fmax(most, row[j]);
    }
    const double error = most / (factor * size_of(a, n) * 113250775606021113483283660800000000.0);
    return most == 0.0 ? 0.0 : fmax(ceil(log2(error / ldexp(1.0, -53)) / (2 * HIGHEST)), 0.0);
}

/* How often to halve a large matrix. Al-Mohy and Higham, "A new scaling and squaring algorithm for
 * the matrix exponential" (2009), with norms of powers instead of estimates. */
static double halvings(const Work *w, const double *a) {
    const size_t n = w->n;
    put_powers(w, a, NULL, 3, NULL);
    multiply(w, w->powers[4], w->powers[2], w->powers[2]);
    multiply(w, w->odd, w->powers[2], w->powers[3]);
    const double d6 = pow(size_of(w->powers[3], n), 1.0 / 6.0);
    const double d8 = pow(size_of(w->powers[4], n), 1.0 / 8.0);
    const double d10 = pow(size_of(w->odd, n), 1.0 / 10.0);
    const double size = fmin(fmax(d6, d8), fmax(d8, d10));
    const double steps = size > 4.25 ? ceil(log2(size / 4.25)) : 0.0;
    return isfinite(steps)
               ? steps + more_halvings(a, ldexp(1.0, -(int)steps), n, w->even, w->even + n)
               : INFINITY;
}

int cad_exponential(const double *a, double *to, size_t n, int is_complex, double *room) {
    const double size = size_of(a, n);
    double *const product = room + 15 * n * n;
    const Work w = work_in(room, n, is_complex);
    if (size <= largest[N_DEGREES - 1]) {
        approximate(&w, degree_for(size), a, NULL, to, NULL, product);
        return 1;
    }
    const double steps = isfinite(size) ? halvings(&w, a) : INFINITY;
    if (!(steps <= MOST_HALVINGS)) {
        return 0;
    }
    for (size_t i = 0; i < n * n; i++) {
        w.scaled[i] = ldexp(a[i], -(int)steps);
    }
    approximate(&w, N_DEGREES - 1, w.scaled, NULL, to, NULL, product);
    for (int k = 0; k < (int)steps; k++) {
        multiply(&w, w.odd, to, to);
        memcpy(to, w.odd, n * n * sizeof(double));
    }
    return 1;
}

int cad_exponential_along(const double *a, const double *e, double *to, size_t n, int is_complex,
                          double *room) {
    const double size = size_of(a, n), most = largest[N_DEGREES - 1];
    double *const r = room + 16 * n * n, *const product = room + 15 * n * n;
    if (!(size <= ldexp(most, FEW))) { /* for Python, which balances the matrix */
        return 0;
    }
    const Work w = work_in(room, n, is_complex);
    const int steps = size > most ? (int)ceil(log2(size / most)) : 0;
    for (size_t i = 0; i < n * n; i++) {
        w.scaled[i] = ldexp(a[i], -steps);
        w.scaled_change[i] = ldexp(e[i], -steps);
    }
    approximate(&w, degree_for(size), w.scaled, w.scaled_change, r, to, product);
    for (int k = 0; k < steps; k++) {
        multiply(&w, w.odd, r, to);
        add_product(&w, w.odd, to, r, product);
        memcpy(to, w.odd, n * n * sizeof(double));
        multiply(&w, w.odd, r, r);
        memcpy(r, w.odd, n * n * sizeof(double));
    }
    return 1;
}
