/* Factors of matrices: what is solved for solves, at all sizes of blocks and halves. */
#include "check.h"
#include "on_tape.h"

#include "kernels/factors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40, COLUMNS = 35 };

static const size_t sizes[] = {0, 1, 2, 8, 9, 16, 17, 33, MOST};
static double room[MOST * MOST], right[MOST * MOST], x[MOST * MOST], order[MOST];

static CadComplexMatrix of(double *numbers, size_t n) {
    return (CadComplexMatrix){numbers, (ptrdiff_t)n, 1, 0};
}

static void fill(Random *random, double *numbers, size_t n, size_t m, double diagonal) {
    for (size_t i = 0; i < n * m; i++) {
        numbers[i] = random_between(random, -1.0, 1.0) + (i % (m + 1) == 0 ? diagonal : 0.0);
    }
}

static double in_triangle(const double *t, size_t i, size_t j, size_t n, int lower, int unit) {
    if (i == j) {
        return unit ? 1.0 : t[i * n + i];
    }
    return (j < i) == lower ? t[i * n + j] : 0.0;
}

static void triangles_are_solved(void) {
    Random random = {1};
    static double t[MOST * MOST];
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int how = 0; how < 8; how++) {
            const int lower = how & 1, unit = how >> 1 & 1, turned = how >> 2;
            const size_t n = sizes[s], m = s % 2 ? 1 : COLUMNS;
            fill(&random, t, n, n, 8.0);
            fill(&random, right, n, m, 0.0);
            for (size_t i = 0; i < n * n && unit; i++) {
                t[i] /= 8.0;
            }
            memcpy(x, right, sizeof x);
            const CadComplexMatrix matrix =
                turned ? (CadComplexMatrix){t, 1, (ptrdiff_t)n, 0} : of(t, n);
            cad_solve_triangle((CadTriangle){matrix, lower != turned, unit}, of(x, m), n, m, room);
            for (size_t i = 0; i < n; i++) {
                double sum = 0.0, size = 0.0;
                for (size_t k = 0; k < n; k++) {
                    const double factor = turned ? in_triangle(t, k, i, n, lower, unit)
                                                 : in_triangle(t, i, k, n, lower, unit);
                    sum += factor * x[k * m];
                    size += fabs(factor * x[k * m]);
                }
                CHECK_NEAR(sum, right[i * m], 1e-14 * (size + 1.0));
            }
        }
    }
}

/* A complex matrix is factored, and its triangles are solved for. */
static void complex_systems_are_solved(void) {
    Random random = {5};
    static double a[2 * MOST * MOST], lu[2 * MOST * MOST], b[2 * MOST], y[2 * MOST];
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t n = sizes[s];
        fill(&random, a, n, 2 * n, 0.0);
        fill(&random, b, 2 * n, 1, 0.0);
        memcpy(lu, a, sizeof a);
        const CadComplexMatrix factors = {lu, (ptrdiff_t)n, 1, (ptrdiff_t)(n * n)};
        cad_factor_lu(factors, order, n, room);
        for (size_t i = 0; i < n; i++) {
            y[i] = b[(size_t)order[i]];
            y[n + i] = b[n + (size_t)order[i]];
        }
        const CadComplexMatrix column = {y, 1, 1, (ptrdiff_t)n};
        cad_solve_triangle((CadTriangle){factors, 1, 1}, column, n, 1, room);
        cad_solve_triangle((CadTriangle){factors, 0, 0}, column, n, 1, room);
        for (size_t i = 0; i < n; i++) {
            double re = -b[i], im = -b[n + i];
            for (size_t k = 0; k < n; k++) {
                const double c = a[i * n + k], d = a[n * n + i * n + k];
                re += c * y[k] - d * y[n + k];
                im += c * y[n + k] + d * y[k];
            }
            CHECK_NEAR(re, 0.0, 1e-11);
            CHECK_NEAR(im, 0.0, 1e-11);
        }
    }
}

static void lower_triangles_are_inverted(void) {
    Random random = {4};
    static double t[MOST * MOST];
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t n = sizes[s];
        fill(&random, t, n, n, 6.0);
        memset(x, 0, sizeof x);
        memset(right, 0, sizeof right);
        for (size_t i = 0; i < n; i++) {
            x[i * (n + 1)] = right[i * (n + 1)] = 1.0;
        }
        const CadTriangle lower = {of(t, n), 1, 0};
        cad_invert_lower(lower, of(x, n), n, room);
        cad_solve_triangle(lower, of(right, n), n, n, room);
        for (size_t i = 0; i < n * n; i++) {
            CHECK_NEAR(x[i], right[i], 1e-15);
        }
    }
}

static void lu_factors_multiply_to_the_matrix(void) {
    Random random = {2};
    static double a[MOST * MOST];
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t n = sizes[s];
        fill(&random, a, n, n, 0.0);
        memcpy(x, a, sizeof x);
        cad_factor_lu(of(x, n), order, n, room);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) {
                double sum = 0.0;
                for (size_t k = 0; k <= (i < j ? i : j); k++) {
                    sum += in_triangle(x, i, k, n, 1, 1) * x[k * n + j];
                }
                CHECK_NEAR(sum, a[(size_t)order[i] * n + j], 1e-13);
                CHECK(j >= i || fabs(x[i * n + j]) <= 1.0);
            }
        }
    }
}

static void a_singular_matrix_has_a_pivot_of_0(void) {
    double a[9] = {1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 1.0, 2.0, 4.0};
    cad_factor_lu(of(a, 3), order, 3, room);
    CHECK_SAME(a[4] * a[8], 0.0);
    for (int i = 0; i < 9; i++) {
        CHECK(isfinite(a[i]));
    }
}

/* The pull is the transposed of the push, which is that of a factor times its transposed. */
static void cholesky_is_pushed_and_pulled(void) {
    Random random = {3};
    static double l[MOST * MOST], moved[MOST * MOST], g[MOST * MOST];
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t n = sizes[s];
        fill(&random, l, n, n, 6.0);
        fill(&random, right, n, n, 0.0);
        fill(&random, g, n, n, 0.0);
        memcpy(moved, right, sizeof moved);
        memcpy(x, g, sizeof x);
        cad_cholesky_push(of(l, n), of(moved, n), n, room);
        cad_cholesky_pull(of(l, n), of(x, n), n, room);
        double pushed = 0.0, pulled = 0.0;
        for (size_t i = 0; i < n; i++) {
            for (size_t j = i; j < n; j++) {
                double sum = 0.0;
                for (size_t k = 0; k <= i; k++) {
                    sum += l[i * n + k] * moved[k * n + j] + moved[k * n + i] * l[j * n + k];
                }
                CHECK_NEAR(sum, right[i * n + j], 1e-13);
                pushed += g[i * n + j] * moved[i * n + j];
                pulled += x[i * n + j] * right[i * n + j];
                CHECK(i == j || (moved[j * n + i] == 0.0 && x[j * n + i] == 0.0));
            }
        }
        CHECK_NEAR(pushed, pulled, 1e-13);
    }
}

const Test factor_tests[] = {
    TEST(triangles_are_solved),
    TEST(complex_systems_are_solved),
    TEST(lower_triangles_are_inverted),
    TEST(lu_factors_multiply_to_the_matrix),
    TEST(a_singular_matrix_has_a_pivot_of_0),
    TEST(cholesky_is_pushed_and_pulled),
    END_OF_TESTS,
};
