/* Loops over stacks of matrices, real and complex: two turns of each, at sizes of loops and of
 * halves. What has no result begins with nan, for want of memory, too. */
#include "check.h"
#include "on_tape.h"

#include "kernels/borrowed.h"
#include "kernels/matrices.h"
#include "memory/memory.h"

#include <math.h>
#include <string.h>

enum { MOST = 20, COLUMNS = 3, TURNS = 2, SIZE = 2 * TURNS * MOST * MOST };

static const size_t sizes[] = {1, 2, 3, 8, MOST};
static double a[SIZE], b[SIZE], x[SIZE], y[SIZE], lu[SIZE], order[SIZE];

static CadStackLoop *loop_of(const char *name) {
    const CadStackKernel *kernel = cad_stack_kernels;
    while (strcmp(kernel->name, name) != 0) {
        kernel++;
    }
    return kernel->loop;
}

/* An argument: how many axes its core has (2: n x columns), and whether it is a pair. */
typedef struct Argument {
    double *numbers;
    size_t axes, columns;
    int is_pair;
} Argument;

/* Call a loop for stacks of n x n matrices and what goes with them, each in order. */
static void call(const char *name, intptr_t told, int is_complex, size_t n, size_t m,
                 const Argument *given, int count) {
    char *at[4];
    ptrdiff_t dims[4] = {TURNS, 2, (ptrdiff_t)n, (ptrdiff_t)m}, steps[16];
    const ptrdiff_t real_dims[3] = {TURNS, (ptrdiff_t)n, (ptrdiff_t)m};
    int k = count;
    for (int i = 0; i < count; i++) {
        const size_t rows = given[i].axes > 0 ? n : 1;
        const size_t columns = given[i].axes > 1 ? given[i].columns : 1;
        at[i] = (char *)given[i].numbers;
        steps[i] = (ptrdiff_t)(rows * columns * sizeof(double));
        if (given[i].is_pair) {
            steps[k++] = TURNS * steps[i];
        }
        if (given[i].axes > 0) {
            steps[k++] = (ptrdiff_t)(columns * sizeof(double));
        }
        if (given[i].axes > 1) {
            steps[k++] = sizeof(double);
        }
    }
    loop_of(name)(at, is_complex ? dims : real_dims, steps, (void *)told);
}

static void fill(Random *random, double *numbers, size_t n, double diagonal, size_t width) {
    for (size_t i = 0; i < n; i++) {
        const int on = i % (width * width) % (width + 1) == 0;
        numbers[i] = random_between(random, -1.0, 1.0) + (on ? diagonal : 0.0);
    }
}

/* The element (i, j) of the product of two complex matrices of a turn, less what it is to be. */
static void check_product(const double *left, const double *right, const double *wanted, size_t n,
                          size_t m, size_t turn, int is_complex) {
    const size_t square = TURNS * n * n, oblong = TURNS * n * m;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            double re = 0.0, im = 0.0;
            for (size_t k = 0; k < n; k++) {
                const double *const p = left + turn * n * n + i * n + k;
                const double *const q = right + turn * n * m + k * m + j;
                re += p[0] * q[0] - (is_complex ? p[square] * q[oblong] : 0.0);
                im += is_complex ? p[0] * q[oblong] + p[square] * q[0] : 0.0;
            }
            const double *const w = wanted + turn * n * m + i * m + j;
            CHECK_NEAR(re, w[0], 1e-11);
            CHECK_NEAR(im, is_complex ? w[oblong] : 0.0, 1e-11);
        }
    }
}

static void stacks_are_solved_and_inverted(void) {
    Random random = {3};
    for (size_t s = 0; s < 2 * (sizeof sizes / sizeof sizes[0]); s++) {
        const size_t n = sizes[s / 2], m = COLUMNS;
        const int two = s % 2;
        fill(&random, a, 2 * TURNS * n * n, 4.0, n);
        fill(&random, b, 2 * TURNS * n * m, 0.0, n);
        call(two ? "solve_of_pairs" : "solve", 0, two, n, m,
             (Argument[]){{a, 2, n, two}, {b, 2, m, two}, {x, 2, m, two}}, 3);
        call(two ? "factor_lu_of_pairs" : "factor_lu", 0, two, n, n,
             (Argument[]){{a, 2, n, two}, {lu, 2, n, two}, {order, 1, 1, 0}}, 3);
        call(two ? "solve_factored_of_pairs" : "solve_factored", 0, two, n, m,
             (Argument[]){{lu, 2, n, two}, {order, 1, 1, two}, {b, 2, m, two}, {y, 2, m, two}}, 4);
        for (size_t turn = 0; turn < TURNS; turn++) {
            check_product(a, x, b, n, m, turn, two);
            CHECK_NEAR(y[turn * n * m], x[turn * n * m], 1e-12);
        }
        call(two ? "inverse_of_pairs" : "inverse", 0, two, n, n,
             (Argument[]){{a, 2, n, two}, {x, 2, n, two}}, 2);
        memset(b, 0, sizeof b);
        for (size_t i = 0; i < TURNS * n; i++) {
            b[i / n * n * n + i % n * (n + 1)] = 1.0;
        }
        for (size_t turn = 0; turn < TURNS; turn++) {
            check_product(a, x, b, n, n, turn, two);
        }
    }
}

static void exponentials_of_opposites_are_inverses(void) {
    Random random = {4};
    for (size_t s = 0; s < 4 * (sizeof sizes / sizeof sizes[0]); s++) {
        const size_t n = sizes[s / 4];
        const int two = s % 2;
        fill(&random, a, 2 * TURNS * n * n, s / 2 % 2 ? 6.0 : 0.1, n);
        for (size_t i = 0; i < 2 * TURNS * n * n; i++) {
            a[i] /= (double)n;
            lu[i] = -a[i];
        }
        call(two ? "expm_of_pairs" : "expm", 0, two, n, n,
             (Argument[]){{a, 2, n, two}, {x, 2, n, two}}, 2);
        call(two ? "expm_of_pairs" : "expm", 0, two, n, n,
             (Argument[]){{lu, 2, n, two}, {y, 2, n, two}}, 2);
        memset(b, 0, sizeof b);
        for (size_t i = 0; i < TURNS * n; i++) {
            b[i / n * n * n + i % n * (n + 1)] = 1.0;
        }
        for (size_t turn = 0; turn < TURNS; turn++) {
            check_product(x, y, b, n, n, turn, two);
        }
        /* along itself a matrix changes its exponential by their product */
        call(two ? "expm_frechet_of_pairs" : "expm_frechet", 0, two, n, n,
             (Argument[]){{a, 2, n, two}, {a, 2, n, two}, {y, 2, n, two}}, 3);
        for (size_t turn = 0; turn < TURNS; turn++) {
            double most = 1.0;
            for (size_t i = 0; i < n * n; i++) {
                most = fmax(most, fabs(y[turn * n * n + i]));
            }
            for (size_t i = 0; i < 2 * TURNS * n * n; i++) {
                b[i] = y[i] / most;
                lu[i] = a[i] / most;
            }
            check_product(x, lu, b, n, n, turn, two);
        }
    }
}

static void what_has_no_result_begins_with_nan(void) {
    memset(a, 0, sizeof a);
    for (size_t i = 0; i < TURNS; i++) {
        a[i * 4] = 1.0; /* singular */
    }
    call("inverse", 0, 0, 2, 2, (Argument[]){{a, 2, 2, 0}, {x, 2, 2, 0}}, 2);
    CHECK(isnan(x[0]) && isnan(x[4]));
    call("solve_triangle", CAD_LOWER, 0, 2, 2,
         (Argument[]){{a, 2, 2, 0}, {a, 2, 2, 0}, {x, 2, 2, 0}}, 3);
    CHECK(isnan(x[0]) && isnan(x[4]));
    a[0] = INFINITY;
    call("expm", 0, 0, 2, 2, (Argument[]){{a, 2, 2, 0}, {x, 2, 2, 0}}, 2);
    CHECK(isnan(x[0]) && x[4] == 2.718281828459045);
    fill(&(Random){5}, a, TURNS * MOST * MOST, 4.0, MOST);
    cad_memory_fail_after(0);
    call("inverse", 0, 0, MOST, MOST, (Argument[]){{a, 2, MOST, 0}, {x, 2, MOST, 0}}, 2);
    cad_memory_fail_after(-1);
    CHECK(isnan(x[0]) && isnan(x[MOST * MOST]));
}

/* The inverse of a matrix that is copied to a buffer, with real and imaginary parts in planes. */
static CadBorrowed inverse_in_buffers(int is_upper) {
    const CadBuffer given = {.source = 0, .to = -1, .n_rows = 2, .n_columns = 2};
    const CadBuffer made = {.source = -1,
                            .to = 1,
                            .is_upper = is_upper,
                            .rows = 2,
                            .columns = 2,
                            .n_rows = 2,
                            .n_columns = 2,
                            .start = 4};
    return (CadBorrowed){
        .n_buffers = 2,
        .n_stages = 1,
        .n_arguments = 2,
        .size = 8,
        .axes = {2, 2},
        .buffers = {given, made},
        .stages = {{cad_inverse_of_reals, NULL, 2, {0, 1}, {1, 2}, {0, 0, 16, 8, 16, 8}}},
    };
}

static void borrowed_loops_go_over_buffers(void) {
    double given[] = {2.0, 1.0, 0.0, 4.0, NAN, 0.0, 0.0, 1.0}, made[8];
    char *at[] = {(char *)given, (char *)made};
    const ptrdiff_t dims[] = {2, 2}, steps[] = {32, 32, 16, 8, 16, 8};
    for (int is_upper = 0; is_upper < 2; is_upper++) {
        CadBorrowed borrowed = inverse_in_buffers(is_upper);
        cad_run_borrowed(at, dims, steps, &borrowed);
        CHECK_NEAR(made[0], 0.5, 1e-15);
        CHECK_NEAR(made[1], -0.125, 1e-15);
        CHECK_SAME(made[2], 0.0);
        CHECK_NEAR(made[3], 0.25, 1e-15);
        CHECK(isnan(made[4]));
        cad_memory_fail_after(0);
        cad_run_borrowed(at, dims, steps, &borrowed);
        cad_memory_fail_after(-1);
        CHECK(isnan(made[0]) && isnan(made[4]));
    }
}

static void pseudo_inverses_leave_small_values_out(void) {
    double u[] = {1.0, 0.0, 0.0, 1.0}, s[] = {2.0, 1e-20}, vh[] = {1.0, 0.0, 0.0, 1.0}, to[4];
    double cutoff = 1e-15;
    char *at[] = {(char *)u, (char *)s, (char *)vh, (char *)&cutoff, (char *)to};
    const ptrdiff_t dims[] = {1, 2, 2, 2}, steps[16] = {0};
    loop_of("pseudo_inverse")(at, dims, steps, NULL);
    CHECK_NEAR(to[0], 0.5, 1e-15);
    CHECK_SAME(to[3], 0.0);
    double cu[] = {0.0, 1.0}, cs[] = {2.0}, cvh[] = {1.0, 0.0}, cto[2];
    char *of_complex[] = {(char *)cu, (char *)cs, (char *)cvh, (char *)&cutoff, (char *)cto};
    const ptrdiff_t ones[] = {1, 1, 1, 1};
    loop_of("pseudo_inverse_of_complex")(of_complex, ones, steps, NULL);
    CHECK_NEAR(cto[0], 0.0, 1e-15);
    CHECK_NEAR(cto[1], -0.5, 1e-15); /* 1 / 2i */
}

const Test matrix_tests[] = {
    TEST(stacks_are_solved_and_inverted),         TEST(exponentials_of_opposites_are_inverses),
    TEST(what_has_no_result_begins_with_nan),     TEST(borrowed_loops_go_over_buffers),
    TEST(pseudo_inverses_leave_small_values_out), END_OF_TESTS,
};
