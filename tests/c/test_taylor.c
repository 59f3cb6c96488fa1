/* Power series: single operations, and the Taylor sweep against other sweeps. */
#include "check.h"
#include "table/special.h"
#include "twin.h"

#include <stdlib.h>

static const double ROUNDING = 1e-11;

/* --- single operations --- */

enum { ORDER = 3, WIDTH = 7 };

/* Numbers on both sides of all conditions, and their poles. */
static const double wild[] = {0.0,  -0.0, 0.3,      1.0,       -1.0, 2.0,
                              -2.5, 40.0, INFINITY, -INFINITY, NAN};

enum { WILD = sizeof wild / sizeof *wild };

/* WIDTH results with the operands that they come from; bit k of `constants`: operand k is one. */
typedef struct Case {
    CadOp op;
    int constants;
    double values[4][WIDTH];
    double coefficients[4][WIDTH * ORDER];
} Case;

static Case random_case(CadOp op, int constants, Random *random) {
    Case c = {.op = op, .constants = constants};
    for (size_t i = 0; i < WIDTH; i++) {
        for (int k = 0; k < 3; k++) {
            c.values[k][i] = domains[op][k].whole ? (double)random_below(random, 4)
                                                  : wild[random_below(random, WILD)];
        }
        c.values[3][i] = cad_op_value(op, c.values[0][i], c.values[1][i], c.values[2][i]);
    }
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < WIDTH * ORDER; i++) {
            c.coefficients[k][i] = (double)random_below(random, 5) - 2.0;
        }
    }
    return c;
}

/* `count` of the results, from the first one on. */
static void apply(CadSeries *series, Case *c, size_t first, size_t count) {
    CadJet jets[4];
    for (int k = 0; k < 4; k++) {
        const int constant = k < 3 && c->constants >> k & 1;
        jets[k] = (CadJet){{c->values[k] + first, 1},
                           constant ? NULL : c->coefficients[k] + first * ORDER,
                           ORDER};
    }
    CHECK(cad_series_apply(series, c->op, jets, jets[3], count) == CAD_OK);
}

/* Where conditions hold here and there, both branches are computed: each number gets the one that
 * it gets alone. */
static void strips_have_what_their_numbers_have_alone(void) {
    CadSeries *series = cad_series_new(ORDER);
    Random random = {1};
    for (Variant v = first_variant(); v.op != CAD_OP_COUNT; v = next_variant(v)) {
        check_subject(cad_op_info[v.op].name);
        for (int round = 0; round < 40; round++) {
            Case together = random_case(v.op, v.constants, &random);
            Case alone = together;
            apply(series, &together, 0, WIDTH);
            for (size_t i = 0; i < WIDTH; i++) {
                apply(series, &alone, i, 1);
            }
            for (size_t i = 0; i < WIDTH * ORDER; i++) {
                const double expected = alone.coefficients[3][i];
                CHECK_NEAR(together.coefficients[3][i], expected,
                           ROUNDING * (1.0 + fabs(expected)));
            }
        }
    }
    cad_series_free(series);
}

/* The first coefficient is the tangent: the partials of the table, where zeros absorb. */
static void first_coefficients_are_tangents(void) {
    CadSeries *series = cad_series_new(ORDER);
    Random random = {2};
    for (Variant v = first_variant(); v.op != CAD_OP_COUNT; v = next_variant(v)) {
        check_subject(cad_op_info[v.op].name);
        for (int round = 0; round < 40; round++) {
            Case c = random_case(v.op, v.constants, &random);
            apply(series, &c, 0, 1);
            double partials[3] = {0.0, 0.0, 0.0}, sum = 0.0;
            cad_op_partials(c.op, 7, c.values[0][0], c.values[1][0], c.values[2][0],
                            c.values[3][0], partials);
            for (int k = 0; k < cad_op_info[c.op].arity; k++) {
                if (!(c.constants >> k & 1)) {
                    sum += cad_amul(partials[k], c.coefficients[k][0]);
                }
            }
            if (isfinite(sum)) { /* else a division may know more */
                CHECK_NEAR(c.coefficients[3][0], sum, ROUNDING * (1.0 + fabs(sum)));
            }
        }
    }
    cad_series_free(series);
}

static void one_operand_in_two_places(void) {
    CadSeries *series = cad_series_new(ORDER);
    double value = 3.0, square = 9.0, x[ORDER] = {1.0, 2.0, 0.0}, y[ORDER];
    const CadJet jet = {{&value, 0}, x, 0};
    const CadJet operands[3] = {jet, jet};
    const CadJet result = {{&square, 0}, y, 0};
    CHECK(cad_series_apply(series, CAD_OP_multiply, operands, result, 1) == CAD_OK);
    CHECK_SAME(y[0], 6.0); /* (3 + t + 2 t^2)^2 = 9 + 6 t + 13 t^2 + 4 t^3 + ... */
    CHECK_SAME(y[1], 13.0);
    CHECK_SAME(y[2], 4.0);
    cad_series_free(series);
}

/* Memory fails at any request, in the midst of a formula too; then the same call works again. */
static void single_operations_survive_without_memory(void) {
    enum { HIGH = 40, LANES = 3 };
    double value[LANES] = {0.3, -0.2, 0.1};
    double v[LANES], x[HIGH * LANES] = {0.0}, right[HIGH * LANES], found[HIGH * LANES];
    for (int i = 0; i < LANES; i++) {
        v[i] = cad_op_value(CAD_OP_sinc, value[i], 0.0, 0.0);
        x[i * HIGH] = 1.0;
    }
    const CadJet operands[3] = {{{value, 1}, x, HIGH}};
    const CadJet expected = {{v, 1}, right, HIGH}, result = {{v, 1}, found, HIGH};
    CadSeries *series = cad_series_new(HIGH);
    CHECK(cad_series_apply(series, CAD_OP_sinc, operands, expected, LANES) == CAD_OK);
    cad_series_free(series);
    CadStatus status = CAD_NO_MEMORY;
    long granted = 0;
    for (; status != CAD_OK && granted < 1000; granted++) {
        series = cad_series_new(HIGH);
        cad_memory_fail_after(granted);
        status = cad_series_apply(series, CAD_OP_sinc, operands, result, LANES);
        cad_memory_fail_after(-1);
        CHECK(status == CAD_OK || status == CAD_NO_MEMORY);
        if (status != CAD_OK) {
            const CadStatus again = cad_series_apply(series, CAD_OP_sinc, operands, result, LANES);
            CHECK(again == CAD_OK);
        }
        for (size_t i = 0; i < HIGH * LANES; i++) {
            CHECK_SAME(found[i], right[i]);
        }
        cad_series_free(series);
    }
    CHECK(status == CAD_OK);
    CHECK(granted > 3); /* the room has grown, after the formula was begun */
}

/* --- programs --- */

/* Coefficients for the slots of a tape: random ones of t at the leaves. */
static double *seeded(Random *random, size_t inputs, size_t slots, size_t order) {
    double *coefficients = test_memory(slots * order, sizeof *coefficients);
    for (size_t i = 0; i < inputs; i++) {
        coefficients[i * order] = random_between(random, -1.0, 1.0);
    }
    return coefficients;
}

static void order_one_is_the_tangent_sweep(void) {
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Program p = random_program(seed);
        Random random = {seed}, again = {seed};
        double *taylor = seeded(&random, INPUTS, p.slots, 1);
        double *tangents = seeded(&again, INPUTS, p.slots, 1);
        CHECK(cad_sweep_taylor(p.tape, p.begin, p.end, p.base, 1, taylor) == CAD_OK);
        cad_sweep_tangent(p.tape, p.begin, p.end, p.end, p.base, 1, tangents);
        for (size_t i = 0; i < p.slots; i++) {
            CHECK_NEAR(taylor[i], tangents[i], ROUNDING * (1.0 + fabs(tangents[i])));
        }
        free(taylor);
        free(tangents);
        program_free(&p);
    }
}

/* Whether the series of each slot need not give its value nearby: an operand, of its own or of
 * what it depends on, has moved further than operations were seen to be smooth, or was rounded. */
static unsigned char *far_slots(const Program *p, const double *moves) {
    unsigned char *far = test_memory(p->slots, 1);
    CadSlot third = CAD_NONE;
    for (size_t i = p->begin; i < p->end; i++) {
        const CadEntry e = p->tape->entries[i];
        const CadOp op = CAD_CODE_OP(e.code);
        const int arity = cad_op_is_row(op) ? cad_op_info[op].arity : 0;
        const CadSlot operands[3] = {e.a, e.b, third};
        third = op == CAD_OP_THIRD ? e.a : CAD_NONE;
        if (op == CAD_OP_single) {
            far[e.out - p->base] = 1;
        }
        for (int k = 0; k < arity; k++) {
            const size_t slot = operands[k] - p->base;
            if (operands[k] >= p->base && slot < p->slots) {
                far[e.out - p->base] |= far[slot] || !(fabs(moves[slot]) <= MARGIN);
            }
        }
    }
    return far;
}

/* By how much coefficients grow with the order at most, the n-th being at c[n - 1]. */
static double growth(const double *c, size_t terms) {
    double most = 0.0;
    for (size_t n = 1; n <= terms; n++) {
        most = fmax(most, pow(fabs(c[n - 1]), 1.0 / (double)n));
    }
    return most;
}

/* The series, summed, against the values of the program at the moved inputs. */
static void series_give_the_values_nearby(void) {
    enum { TERMS = 6 };
    const double step = ldexp(1.0, -10);
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Program p = random_program(seed);
        Random random = {seed};
        double *series = seeded(&random, INPUTS, p.slots, TERMS);
        CHECK(cad_sweep_taylor(p.tape, p.begin, p.end, p.base, TERMS, series) == CAD_OK);
        double *sums = test_memory(p.slots, sizeof *sums);
        double *moves = test_memory(p.slots, sizeof *moves);
        size_t curved = 0, judged = 0;
        for (size_t i = 0; i < p.slots; i++) {
            const double *const c = series + i * TERMS;
            for (size_t k = TERMS; k-- > 0;) {
                sums[i] = step * (c[k] + sums[i]);
            }
            curved += c[TERMS - 1] != 0.0;
            moves[i] = sums[i];
            sums[i] += p.tape->values[p.base + i];
        }
        for (size_t i = 0; i < INPUTS; i++) {
            p.tape->values[p.base + i] += step * series[i * TERMS];
        }
        cad_sweep_value(p.tape, p.begin, p.end);
        unsigned char *far = far_slots(&p, moves);
        for (size_t i = 0; i < p.slots; i++) {
            if (far[i]) {
                continue;
            }
            judged++;
            const double value = p.tape->values[p.base + i];
            const double rest = pow(step * growth(series + i * TERMS, TERMS), TERMS + 1);
            CHECK_NEAR(sums[i], value, 1e-12 * (1.0 + fabs(value)) + 10.0 * rest);
        }
        CHECK(curved > p.slots / 10);
        CHECK(judged > p.slots / 2);
        free(far);
        free(series);
        free(sums);
        free(moves);
        program_free(&p);
    }
}

/* --- arrays --- */

enum { STEPS = 40, TWINS = 20, TWIN_ORDER = 4 };

static double *twin_series(Twin *twin, Random *random, CadTape *tape) {
    double *series = test_memory(tape->n_slots * TWIN_ORDER, sizeof *series);
    for (size_t i = 0; i < twin->n_leaves; i++) {
        const View leaf = twin->leaves[i];
        for (size_t k = 0; k < view_size(leaf); k++) {
            const CadSlot slot = view_slot(leaf, k);
            const CadSlot here = tape == twin->arrays ? slot : twin->original[slot].slot;
            series[(size_t)here * TWIN_ORDER] = random_between(random, -1.0, 1.0);
        }
    }
    return series;
}

static void series_over_arrays_equal_those_over_numbers(void) {
    for (uint64_t number = 0; number < TWINS; number++) {
        Twin *twin = random_twin(number, STEPS);
        CadTape *const arrays = twin->arrays, *const numbers = twin->numbers;
        Random random = {number}, again = {number};
        double *here = twin_series(twin, &random, arrays);
        double *there = twin_series(twin, &again, numbers);
        double *values = copy_of_values(arrays);
        CHECK(cad_sweep_taylor(arrays, 0, arrays->n_entries, 0, TWIN_ORDER, here) == CAD_OK);
        CHECK(cad_sweep_taylor(numbers, 0, numbers->n_entries, 0, TWIN_ORDER, there) == CAD_OK);
        check_kept_values(arrays, values);
        for (size_t slot = 0; slot < arrays->n_slots; slot++) {
            const CadSlot twin_slot = twin->now[slot].slot;
            for (size_t k = 0; k < TWIN_ORDER && twin_slot != CAD_NONE; k++) {
                const double expected = there[(size_t)twin_slot * TWIN_ORDER + k];
                CHECK_NEAR(here[slot * TWIN_ORDER + k], expected, 1e-9 * (1.0 + fabs(expected)));
            }
        }
        free(here);
        free(there);
        free(values);
        twin_free(twin);
    }
}

/* At every request: the answer is a clean status, and what was assigned is as it was. */
static CadStatus attempt_sweep(long granted, int which) {
    (void)which;
    Random random = {3};
    Twin *twin = random_twin(3, STEPS);
    CadTape *const tape = twin->arrays;
    double *values = copy_of_values(tape), *series = twin_series(twin, &random, tape);
    cad_memory_fail_after(granted);
    const CadStatus status = cad_sweep_taylor(tape, 0, tape->n_entries, 0, TWIN_ORDER, series);
    check_kept_values(tape, values);
    free(values);
    free(series);
    twin_free(twin);
    return status;
}

static void the_sweep_survives_without_memory(void) {
    check_want_of_memory(attempt_sweep, 0, 3);
}

const Test taylor_tests[] = {
    TEST(strips_have_what_their_numbers_have_alone),
    TEST(first_coefficients_are_tangents),
    TEST(one_operand_in_two_places),
    TEST(single_operations_survive_without_memory),
    TEST(order_one_is_the_tangent_sweep),
    TEST(series_give_the_values_nearby),
    TEST(series_over_arrays_equal_those_over_numbers),
    TEST(the_sweep_survives_without_memory),
    END_OF_TESTS,
};
