/* Loops over strips: what they give for every row of the table is what single numbers give. */
#include "check.h"
#include "on_tape.h"

#include "kernels/kernels.h"
#include "kernels/columns.h"
#include "kernels/vectors.h"
#include "table/special.h"

#include <stdlib.h>

enum { OPERANDS = 3, MOST_POINTS = 4096 };

/* The operands of an operation at many points. */
typedef struct Points {
    size_t count;
    double x[OPERANDS][MOST_POINTS];
} Points;

/* Every combination of corners: kinks, poles, saturation, infinities, nan. Branches change from
 * one point to the next, so all of them are taken within a tile. */
static Points *corner_points(CadOp op) {
    const int arity = cad_op_info[op].arity;
    Points *points = test_memory(1, sizeof *points);
    for (int i = 0; i < CORNERS * CORNERS * CORNERS; i++) {
        const double x[OPERANDS] = {corners[i % CORNERS], corners[i / CORNERS % CORNERS],
                                    corners[i / CORNERS / CORNERS]};
        const int repeats = (arity < 2 && i >= CORNERS) || (arity < 3 && i >= CORNERS * CORNERS);
        if (repeats || (domains[op][0].whole && !is_order(x[0]))) {
            continue;
        }
        for (int k = 0; k < OPERANDS; k++) {
            points->x[k][points->count] = x[k];
        }
        points->count++;
    }
    return points;
}

static Points *random_points(CadOp op, Random *random, size_t count) {
    Points *points = test_memory(1, sizeof *points);
    for (; points->count < count; points->count++) {
        for (int k = 0; k < OPERANDS; k++) {
            const Domain d = domains[op][k];
            const int used = k < cad_op_info[op].arity;
            points->x[k][points->count] =
                !used     ? 0.0
                : d.whole ? (double)random_below(random, 4)
                          : random_between(random, fmax(d.low, -9.0), fmin(d.high, 9.0));
        }
    }
    return points;
}

/* --- one tile of points, as strips --- */

/* A copy of numbers, `step` apart. */
typedef struct Strip {
    double *memory;
    CadStrip strip;
} Strip;

static Strip strip_of(const double *numbers, size_t n, ptrdiff_t step) {
    const size_t width = step < 0 ? (size_t)-step : (size_t)step;
    Strip s = {test_memory(n * (width > 0 ? width : 1) + 1, sizeof(double)), {NULL, step}};
    s.strip.data = step < 0 ? s.memory + (n - 1) * width : s.memory;
    for (size_t i = 0; i < (step == 0 ? 1 : n); i++) {
        s.strip.data[(ptrdiff_t)i * step] = numbers[i];
    }
    return s;
}

static double at(CadStrip strip, size_t i) {
    return strip.data[(ptrdiff_t)i * strip.step];
}

typedef struct Tile {
    CadOp op;
    size_t n;
    Strip x[OPERANDS];
    Strip v; /* values, as the core's functions on single numbers give them */
} Tile;

/* Operand k has the step steps[k]; step 0 repeats the first number. */
static Tile tile_of(CadOp op, const Points *points, size_t first, size_t n,
                    const ptrdiff_t *steps) {
    Tile tile = {.op = op, .n = n};
    double values[CAD_TILE];
    for (int k = 0; k < OPERANDS; k++) {
        tile.x[k] = strip_of(points->x[k] + first, n, steps[k]);
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = cad_op_value(op, at(tile.x[0].strip, i), at(tile.x[1].strip, i),
                                 at(tile.x[2].strip, i));
    }
    tile.v = strip_of(values, n, 1);
    return tile;
}

static void free_tile(Tile *tile) {
    for (int k = 0; k < OPERANDS; k++) {
        free(tile->x[k].memory);
    }
    free(tile->v.memory);
}

static void check_tile_values(const Tile *tile, ptrdiff_t step) {
    const double nothing[CAD_TILE] = {0.0};
    Strip out = strip_of(nothing, tile->n, step);
    const CadStrip x[3] = {tile->x[0].strip, tile->x[1].strip, tile->x[2].strip};
    cad_strip_value(tile->op, out.strip, x, tile->n);
    for (size_t i = 0; i < tile->n; i++) {
        CHECK_SAME(at(out.strip, i), at(tile->v.strip, i));
    }
    free(out.memory);
}

/* Words that have vectors of their own are those of single numbers but for rounding. */
static void check_partial(double found, double expected) {
    if (isfinite(expected)) {
        CHECK_NEAR(found, expected, 1e-13 * fabs(expected));
    } else {
        CHECK_SAME(found, expected);
    }
}

static void check_tile_partials(CadScratch *scratch, const Tile *tile) {
    for (int which = 0; which < cad_op_info[tile->op].arity; which++) {
        if (domains[tile->op][which].whole) {
            continue; /* is a constant always */
        }
        const CadStrip x[4] = {tile->x[0].strip, tile->x[1].strip, tile->x[2].strip,
                               tile->v.strip};
        const CadStrip p = cad_strip_partial(scratch, tile->op, which, x, tile->n);
        for (size_t i = 0; i < tile->n; i++) {
            double partials[OPERANDS] = {0.0, 0.0, 0.0};
            cad_op_partials(tile->op, 1 << which, at(tile->x[0].strip, i), at(tile->x[1].strip, i),
                            at(tile->x[2].strip, i), at(tile->v.strip, i), partials);
            check_partial(at(p, i), partials[which]);
        }
    }
}

/* --- curvature, against the second-order sweep over one entry --- */

/* second[k][j]: the derivative of partial k by operand j. */
typedef struct Second {
    double first[OPERANDS];
    double second[OPERANDS][OPERANDS];
} Second;

static Second second_of(CadOp op, const double *x) {
    Second result;
    CadTape *tape = cad_tape_new();
    const int arity = cad_op_info[op].arity;
    const CadSlot leaf = append_leaf(tape, OPERANDS, x);
    CadNumber operands[OPERANDS];
    double tangents[16 * OPERANDS] = {0.0}, adjoints[16 * OPERANDS] = {0.0};
    for (int k = 0; k < arity; k++) {
        operands[k] = domains[op][k].whole ? constant(x[k]) : variable(tape, leaf + (CadSlot)k);
        tangents[k * OPERANDS + k] = 1.0;
    }
    const CadSlot out = append(tape, op, operands);
    cad_sweep_tangent(tape, 0, tape->n_entries, tape->n_entries, 0, OPERANDS, tangents);
    clear_adjoints(tape, 0, tape->n_slots);
    tape->adjoints[out] = 1.0;
    cad_sweep_second(tape, 0, tape->n_entries, tape->n_entries, 0, OPERANDS, tangents, adjoints);
    for (int k = 0; k < OPERANDS; k++) {
        result.first[k] = tape->adjoints[leaf + (CadSlot)k];
        for (int j = 0; j < OPERANDS; j++) {
            result.second[k][j] = adjoints[k * OPERANDS + j];
        }
    }
    cad_tape_free(tape);
    return result;
}

/* The tangents of a tile along operand j: of the operands, and of the value. */
static void tangents_along(const Tile *tile, const Second *seconds, int j, int explicit_zeros,
                           Strip t[4]) {
    const double zeros[CAD_TILE] = {0.0};
    double ones[CAD_TILE], along[CAD_TILE];
    for (size_t i = 0; i < tile->n; i++) {
        ones[i] = 1.0;
        along[i] = seconds[i].first[j];
    }
    for (int k = 0; k < 4; k++) {
        const int none = k < 3 && k != j && !explicit_zeros;
        t[k] = strip_of(k == 3 ? along : k == j ? ones : zeros, tile->n, k == 3 ? 1 : 0);
        if (none || (k < 3 && k >= cad_op_info[tile->op].arity)) {
            t[k].strip = (CadStrip){NULL, 0};
        }
    }
}

static void check_tile_curvature(CadScratch *scratch, const Tile *tile, int explicit_zeros) {
    const int arity = cad_op_info[tile->op].arity;
    Second *seconds = test_memory(tile->n, sizeof *seconds);
    for (size_t i = 0; i < tile->n; i++) {
        const double x[OPERANDS] = {at(tile->x[0].strip, i), at(tile->x[1].strip, i),
                                    at(tile->x[2].strip, i)};
        seconds[i] = second_of(tile->op, x);
    }
    const CadStrip x[4] = {tile->x[0].strip, tile->x[1].strip, tile->x[2].strip, tile->v.strip};
    for (int j = 0; j < arity; j++) {
        Strip t[4];
        tangents_along(tile, seconds, j, explicit_zeros, t);
        const CadStrip strips[4] = {t[0].strip, t[1].strip, t[2].strip, t[3].strip};
        for (int which = 0; which < arity; which++) {
            if (domains[tile->op][which].whole || domains[tile->op][j].whole) {
                continue;
            }
            const CadStrip c =
                cad_strip_dual_partial(scratch, tile->op, which, x, strips, tile->n).tangent;
            for (size_t i = 0; i < tile->n; i++) {
                const double expected = seconds[i].second[which][j];
                CHECK_NEAR(c.data == NULL ? 0.0 : at(c, i), expected,
                           1e-12 * (1.0 + fabs(expected)));
            }
        }
        for (int k = 0; k < 4; k++) {
            free(t[k].memory);
        }
    }
    free(seconds);
}

/* --- every row --- */

static void check_points(const Points *points, CadOp op, CadScratch *scratch, size_t most,
                         const ptrdiff_t *steps) {
    for (size_t first = 0; first < points->count; first += most) {
        const size_t rest = points->count - first, n = rest < most ? rest : most;
        Tile tile = tile_of(op, points, first, n, steps);
        check_tile_values(&tile, 1);
        check_tile_partials(scratch, &tile);
        check_tile_curvature(scratch, &tile, (int)(first & 1));
        free_tile(&tile);
    }
}

static const ptrdiff_t evenly[OPERANDS] = {1, 1, 1};

/* Also of one number each, where a condition holds everywhere or nowhere. */
static void strips_agree_with_single_numbers(void) {
    CadScratch *scratch = cad_scratch_new();
    Random random = {11};
    for (CadOp op = CAD_OP_THIRD + 1; op < CAD_OP_COUNT; op++) {
        check_subject(cad_op_info[op].name);
        Points *points = random_points(op, &random, 2 * CAD_TILE + 7);
        check_points(points, op, scratch, CAD_TILE, evenly);
        free(points);
        points = corner_points(op);
        check_points(points, op, scratch, CAD_TILE, evenly);
        points->count = points->count < 300 ? points->count : 300;
        check_points(points, op, scratch, 1, evenly);
        free(points);
    }
    cad_memory_free(scratch);
}

/* Operands that are one number for all, backwards, or every other number of something. */
static void strips_agree_with_all_steps(void) {
    static const ptrdiff_t steps[] = {0, 1, -1, 2};
    CadScratch *scratch = cad_scratch_new();
    Random random = {12};
    for (CadOp op = CAD_OP_THIRD + 1; op < CAD_OP_COUNT; op++) {
        const int arity = cad_op_info[op].arity;
        check_subject(cad_op_info[op].name);
        for (int i = 0; i < (arity == 1 ? 4 : arity == 2 ? 16 : 64); i++) {
            const ptrdiff_t chosen[OPERANDS] = {steps[i % 4], steps[i / 4 % 4], steps[i / 16]};
            Points *points = random_points(op, &random, 19);
            check_points(points, op, scratch, CAD_TILE, chosen);
            Tile tile = tile_of(op, points, 0, points->count, chosen);
            check_tile_values(&tile, -1);
            check_tile_values(&tile, 3);
            free_tile(&tile);
            free(points);
        }
    }
    cad_memory_free(scratch);
}

/* --- vectors of the core's own --- */

static void check_near_value(double found, double expected) {
    if (isfinite(expected)) {
        CHECK_NEAR(found, expected, 2e-15 * (1.0 + fabs(expected)));
        CHECK(expected != 0.0 || signbit(found) == signbit(expected));
    } else {
        CHECK_SAME(found, expected);
    }
}

/* In places of their own, in those of an operand, and where numbers are put behind others. */
static void check_vectors(const Tile *tile, ptrdiff_t step) {
    const double nothing[CAD_TILE] = {0.0};
    const CadStrip x[2] = {tile->x[0].strip, tile->x[1].strip}, v = tile->v.strip;
    Strip out = strip_of(nothing, tile->n, step);
    cad_strip_value_near(tile->op, out.strip, x, tile->n);
    for (size_t i = 0; i < tile->n; i++) {
        check_near_value(at(out.strip, i), at(v, i));
    }
    if (x[0].step != 0) {
        cad_strip_value_near(tile->op, x[0], x, tile->n);
        for (size_t i = 0; i < tile->n; i++) {
            CHECK_SAME(at(x[0], i), at(out.strip, i));
        }
    }
    free(out.memory);
}

static void vectors_agree_with_single_numbers(void) {
    static const ptrdiff_t steps[] = {1, -1, 2, 0};
    Random random = {13};
    for (CadOp op = CAD_OP_THIRD + 1; op < CAD_OP_COUNT; op++) {
        check_subject(cad_op_info[op].name);
        for (int i = 0; cad_vector_knows(op) && i < 16; i++) {
            const ptrdiff_t chosen[OPERANDS] = {steps[i % 4], steps[i / 4], 1};
            Points *points = i == 0 ? corner_points(op) : random_points(op, &random, 301);
            for (size_t first = 0; first < points->count; first += CAD_TILE) {
                const size_t rest = points->count - first;
                Tile tile = tile_of(op, points, first, rest < CAD_TILE ? rest : CAD_TILE, chosen);
                check_vectors(&tile, steps[i % 3]);
                free_tile(&tile);
            }
            free(points);
        }
    }
}

/* Of each constant that has a way of its own, at all corners. */
static void powers_agree_with_single_numbers(void) {
    static const double exponents[] = {-2.0, -1.5, -0.5, 0.5, 1.5, 2.5, 3.0, 4.0};
    for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
        double y = exponents[k], out[CORNERS];
        const CadStrip x[2] = {{(double *)corners, 1}, {&y, 0}}, to = {out, 1};
        cad_strip_value_near(CAD_OP_power, to, x, CORNERS);
        for (size_t i = 0; i < CORNERS; i++) {
            check_near_value(out[i], pow(corners[i], y));
        }
    }
}

/* --- loops of one's own --- */

static void counting_sine(char **args, const intptr_t *dims, const intptr_t *steps, void *data) {
    *(size_t *)data += 1;
    for (intptr_t i = 0; i < dims[0]; i++) {
        *(double *)(args[1] + i * steps[1]) = sin(*(double *)(args[0] + i * steps[0]));
    }
}

static void loops_can_be_replaced(void) {
    static size_t calls; /* the loop stays when this test is over */
    double x[3] = {0.5, 1.0, 1.5}, y[3] = {0.0};
    const CadStrip out = {y, 1}, in = {x, 1};
    cad_set_loop(CAD_OP_sin, counting_sine, &calls);
    cad_strip_value(CAD_OP_sin, out, &in, 3);
    CHECK_COUNT(calls, 1);
    for (int i = 0; i < 3; i++) {
        CHECK_SAME(y[i], sin(x[i]));
    }
}

/* --- sums, products of the chain rule, matrices --- */

static void sums_of_any_length_are_right(void) {
    for (size_t n = 0; n < 2000; n = 2 * n + 1) {
        double numbers[2000], total = 1.5;
        for (size_t i = 0; i < n; i++) {
            numbers[i] = (double)(i + 1);
        }
        cad_strip_sum(&total, (CadStrip){numbers, 1}, n);
        CHECK_SAME(total, 1.5 + (double)(n * (n + 1) / 2));
        total = 0.0;
        cad_strip_sum(&total, (CadStrip){numbers, 2}, n / 2);
        CHECK_SAME(total, (double)(n / 2 * (n / 2)));
    }
}

/* What cad_strip_add_product does, number by number; `p` of 1 adds. */
static void add_products(CadStrip to, CadStrip g, CadStrip p, int store, size_t n) {
    for (size_t i = 0; i < n && store; i++) {
        to.data[(ptrdiff_t)i * to.step] = 0.0;
    }
    for (size_t i = 0; i < n; i++) {
        to.data[(ptrdiff_t)i * to.step] += cad_amul(at(g, i), at(p, i));
    }
}

static void check_product(const double *g, const double *p, size_t n, const ptrdiff_t *steps,
                          int store) {
    double zeros[CAD_TILE], ones[1] = {1.0};
    for (size_t i = 0; i < n; i++) {
        zeros[i] = 0.25 * (double)i;
    }
    Strip to = strip_of(zeros, n, steps[0]), expected = strip_of(zeros, n, steps[0]);
    Strip left = strip_of(g, n, steps[1]), right = strip_of(p, n, steps[2]);
    cad_strip_add_product(to.strip, left.strip, right.strip, store, n);
    add_products(expected.strip, left.strip, right.strip, store, n);
    for (size_t i = 0; i < n; i++) {
        const double x = at(expected.strip, i);
        CHECK_NEAR(at(to.strip, i), x, 1e-13 * (double)n * (1.0 + fabs(x)));
    }
    cad_strip_add(to.strip, left.strip, store, n);
    add_products(expected.strip, left.strip, (CadStrip){ones, 0}, store, n);
    for (size_t i = 0; i < n; i++) {
        const double x = at(expected.strip, i);
        CHECK_NEAR(at(to.strip, i), x, 1e-13 * (double)n * (1.0 + fabs(x)));
    }
    free(to.memory);
    free(expected.memory);
    free(left.memory);
    free(right.memory);
}

static void products_agree_with_all_steps(void) {
    static const ptrdiff_t steps[] = {1, 0, -1, 2};
    double g[CAD_TILE], p[CAD_TILE];
    Random random = {13};
    for (int i = 0; i < 2 * 64 * 3; i++) {
        const ptrdiff_t chosen[3] = {steps[i % 4], steps[i / 4 % 4], steps[i / 16 % 4]};
        const size_t n = i / 128 == 0 ? 1 : i / 128 == 1 ? 7 : CAD_TILE;
        for (size_t k = 0; k < n; k++) {
            g[k] = random_between(&random, -2.0, 2.0);
            p[k] = random_below(&random, 4) == 0 ? 1.0 : random_between(&random, -2.0, 2.0);
        }
        check_product(g, p, n, chosen, i / 64 % 2);
    }
}

static void exact_zeros_absorb_in_strips(void) {
    static const ptrdiff_t steps[][3] = {{1, 1, 1}, {1, 1, 0}, {1, 0, 1}, {2, 1, 1}, {0, 1, 1}};
    double g[CORNERS * CORNERS], p[CORNERS * CORNERS];
    for (int i = 0; i < CORNERS * CORNERS; i++) {
        g[i] = corners[i % CORNERS];
        p[i] = corners[i / CORNERS];
    }
    for (int i = 0; i < 5; i++) {
        for (int first = 0; first < CORNERS * CORNERS; first++) {
            check_product(g + first, p + first, 1, steps[i], i % 2);
        }
        if (steps[i][0] != 0) {
            check_product(g, p, CORNERS * CORNERS, steps[i], 0);
            check_product(g, p, CORNERS * CORNERS, steps[i], 1);
        }
    }
}

static void matrices_multiply_with_all_strides(void) {
    enum { M = 3, N = 4, P = 5 };
    double a[2 * M * N], b[2 * N * P], out[2 * M * P];
    Random random = {14};
    for (size_t i = 0; i < 2 * M * N; i++) {
        a[i] = random_between(&random, -1.0, 1.0);
    }
    for (size_t i = 0; i < 2 * N * P; i++) {
        b[i] = random_between(&random, -1.0, 1.0);
    }
    for (int i = 0; i < 8; i++) {
        const CadMatrix x = i & 1 ? (CadMatrix){a, 2 * N, 2} : (CadMatrix){a, 1, M};
        const CadMatrix y = i & 2 ? (CadMatrix){b, P, 1} : (CadMatrix){b, 1, 2 * N};
        const CadMatrix z = i & 4 ? (CadMatrix){out, P, 1} : (CadMatrix){out, 1, M};
        cad_multiply_matrices(z, x, y, M, N, P);
        for (ptrdiff_t r = 0; r < M; r++) {
            for (ptrdiff_t c = 0; c < P; c++) {
                double sum = 0.0;
                for (ptrdiff_t k = 0; k < N; k++) {
                    sum += a[r * x.row + k * x.column] * b[k * y.row + c * y.column];
                }
                CHECK_NEAR(out[r * z.row + c * z.column], sum, 1e-15);
            }
        }
    }
}

static void complex_numbers_are_taken_apart_and_put_together(void) {
    enum { MOST = 19 };
    double pairs[2 * MOST + 1], re[MOST + 1], im[MOST + 1], again[2 * MOST + 1];
    for (size_t n = 0; n <= MOST; n++) {
        for (size_t i = 0; i < 2 * n; i++) {
            pairs[i] = i % 4 == 1 ? 0.0 : sin((double)i);
        }
        re[n] = im[n] = again[2 * n] = 7.0;
        cad_pairs_split(pairs, re, im, n);
        cad_pairs_join(again, re, im, n);
        CHECK(re[n] == 7.0 && im[n] == 7.0 && again[2 * n] == 7.0);
        for (size_t i = 0; i < n; i++) {
            CHECK(re[i] == pairs[2 * i] && im[i] == pairs[2 * i + 1]);
            CHECK(again[2 * i] == pairs[2 * i] && again[2 * i + 1] == pairs[2 * i + 1]);
        }
    }
}

static void columns_are_joined_and_split(void) {
    enum { MOST = 19, APART = MOST + 1, WIDTH = CAD_COLUMNS + 1 };
    double rows[MOST * WIDTH], columns[CAD_COLUMNS * APART], again[MOST * WIDTH];
    for (size_t n = 0; n <= MOST; n++) {
        for (size_t count = 0; count <= CAD_COLUMNS; count++) {
            CadStrip strips[CAD_COLUMNS];
            for (size_t i = 0; i < MOST * WIDTH; i++) {
                rows[i] = sin((double)i);
                again[i] = 7.0;
            }
            for (size_t k = 0; k < CAD_COLUMNS; k++) {
                columns[k * APART + n] = 7.0;
                strips[k] = (CadStrip){columns + k * APART, k == 3 && n % 2 ? 0 : 1};
            }
            cad_columns_split(columns, APART, rows, WIDTH, count, n);
            cad_columns_join(again, WIDTH, strips, count, n);
            for (size_t k = 0; k < WIDTH; k++) {
                CHECK(k == CAD_COLUMNS || columns[k * APART + n] == 7.0);
                for (size_t i = 0; i < n; i++) {
                    const double joined = rows[(k == 3 && n % 2 ? 0 : i) * WIDTH + k];
                    CHECK(k >= count || columns[k * APART + i] == rows[i * WIDTH + k]);
                    CHECK(again[i * WIDTH + k] == (k < count ? joined : 7.0));
                }
            }
        }
    }
}

static void scratch_survives_a_lack_of_memory(void) {
    cad_memory_fail_after(0);
    CHECK(cad_scratch_new() == NULL);
    cad_memory_fail_after(-1);
}

const Test kernel_tests[] = {
    TEST(strips_agree_with_single_numbers),
    TEST(strips_agree_with_all_steps),
    TEST(vectors_agree_with_single_numbers),
    TEST(powers_agree_with_single_numbers),
    TEST(loops_can_be_replaced),
    TEST(sums_of_any_length_are_right),
    TEST(products_agree_with_all_steps),
    TEST(exact_zeros_absorb_in_strips),
    TEST(matrices_multiply_with_all_strides),
    TEST(complex_numbers_are_taken_apart_and_put_together),
    TEST(columns_are_joined_and_split),
    TEST(scratch_survives_a_lack_of_memory),
    END_OF_TESTS,
};
