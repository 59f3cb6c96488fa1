/* An exact zero absorbs, in every sweep: the cases of SEMANTICS.md, where partials are infinite or
 * nan, and the conventions at kinks. */
#include "check.h"
#include "on_tape.h"
#include "table/special.h"

#include <stdlib.h>

/* --- functions of one variable, in every sweep --- */

typedef CadSlot (*Build)(CadTape *tape, CadSlot x);

static CadSlot join(CadTape *tape, CadOp op, CadSlot x, CadSlot y) {
    return append2(tape, op, variable(tape, x), variable(tape, y));
}

typedef struct Derivatives {
    double first;
    double second;
} Derivatives;

static double second_order(CadTape *tape, CadSlot x, CadSlot y, double first) {
    double *tangents = test_memory(tape->n_slots, sizeof *tangents);
    double *second = test_memory(tape->n_slots, sizeof *second);
    tangents[x] = 1.0;
    cad_sweep_tangent(tape, 0, tape->n_entries, tape->n_entries, 0, 1, tangents);
    CHECK_SAME(tangents[y], first);
    clear_adjoints(tape, 0, tape->n_slots);
    tape->adjoints[y] = 1.0;
    cad_sweep_second(tape, 0, tape->n_entries, tape->n_entries, 0, 1, tangents, second);
    CHECK_SAME(tape->adjoints[x], first);
    const double result = second[x];
    free(tangents);
    free(second);
    return result;
}

static double reverse_over_recorded(CadTape *tape, CadSlot x, CadSlot y, double first) {
    CadNumber *numbers = zero_numbers(tape->n_slots);
    numbers[y].value = 1.0;
    CHECK(cad_sweep_record(tape, 0, tape->n_entries, 0, 0, numbers) == CAD_OK);
    const CadNumber number = numbers[x];
    free(numbers);
    CHECK_SAME(number.value, first);
    if (number.slot == CAD_NONE) {
        return 0.0;
    }
    reverse_from(tape, 0, number.slot);
    return tape->adjoints[x];
}

/* First and second derivative, which are the same by all sweeps. */
static Derivatives differentiate(Build build, double at) {
    CadTape *tape = cad_tape_new();
    const CadSlot x = append_leaf(tape, 1, &at);
    const CadSlot y = build(tape, x);
    Derivatives d;
    reverse_from(tape, 0, y);
    d.first = tape->adjoints[x];
    backward_from(tape, y);
    CHECK_SAME(tape->values[x + 1], d.first);
    d.second = second_order(tape, x, y, d.first);
    const double again = reverse_over_recorded(tape, x, y, d.first);
    CHECK_NEAR(again, d.second, 1e-12 * (1.0 + fabs(d.second)));
    cad_tape_free(tape);
    return d;
}

static CadSlot logistic(CadTape *tape, CadSlot x) {
    const CadSlot e = append1(tape, CAD_OP_exp, append1(tape, CAD_OP_negative, x));
    const CadSlot sum = append2(tape, CAD_OP_add, constant(1.0), variable(tape, e));
    return append2(tape, CAD_OP_divide, constant(1.0), variable(tape, sum));
}

static CadSlot root_of_square(CadTape *tape, CadSlot x) {
    return append1(tape, CAD_OP_sqrt, join(tape, CAD_OP_multiply, x, x));
}

static CadSlot x_log_x(CadTape *tape, CadSlot x) {
    return join(tape, CAD_OP_multiply, x, append1(tape, CAD_OP_log, x));
}

static CadSlot chosen_root(CadTape *tape, CadSlot x) {
    const CadNumber operands[3] = {constant(x < 1), variable(tape, x),
                                   variable(tape, append1(tape, CAD_OP_sqrt, x))};
    return append(tape, CAD_OP_where, operands);
}

static CadSlot x_times_three_x(CadTape *tape, CadSlot x) {
    const CadSlot y = append2(tape, CAD_OP_multiply, constant(3.0), variable(tape, x));
    return join(tape, CAD_OP_multiply, x, y);
}

static CadSlot x_root_x(CadTape *tape, CadSlot x) {
    return join(tape, CAD_OP_multiply, x, append1(tape, CAD_OP_sqrt, x));
}

static CadSlot x_times_x_to_x_and_a_half(CadTape *tape, CadSlot x) {
    const CadSlot exponent = append2(tape, CAD_OP_add, variable(tape, x), constant(0.5));
    return join(tape, CAD_OP_multiply, x, join(tape, CAD_OP_power, x, exponent));
}

static CadSlot zero_to_the_x(CadTape *tape, CadSlot x) {
    return append2(tape, CAD_OP_power, constant(0.0), variable(tape, x));
}

static CadSlot self_power(CadTape *tape, CadSlot x) {
    return join(tape, CAD_OP_power, x, x);
}

static CadSlot sinc_of(CadTape *tape, CadSlot x) {
    return append1(tape, CAD_OP_sinc, x);
}

/* At what point, and what derivatives are there; those not said are those of all sweeps. */
static const struct {
    Build build;
    double at, first, second, bound;
    int says_second;
} examples[] = {
    {logistic, -1000.0, 0.0, 0.0, 0.0, 1}, /* saturated */
    {logistic, 0.0, 0.25, 0.0, 1e-16, 0},
    {logistic, 1000.0, 0.0, 0.0, 0.0, 0},
    {root_of_square, 0.0, 0.0, 0.0, 0.0, 0},
    {root_of_square, 3.0, 1.0, 0.0, 0.0, 0},
    {root_of_square, -3.0, -1.0, 0.0, 0.0, 0},
    {x_log_x, 0.0, -INFINITY, 0.0, 0.0, 0},
    {x_log_x, 2.0, 1.0 + 0.69314718055994531, 0.5, 1e-15, 1},
    {chosen_root, 0.0, 1.0, 0.0, 0.0, 1}, /* the other branch poisons nothing */
    {x_times_three_x, -1.0, -6.0, 6.0, 0.0, 1},
    {x_times_three_x, 0.0, 0.0, 6.0, 0.0, 1}, /* adjoints of 0 and 1 have derivatives */
    {x_times_three_x, 1.0, 6.0, 6.0, 0.0, 1},
    {x_times_three_x, 2.0, 12.0, 6.0, 0.0, 1},
    {x_root_x, 0.0, 0.0, INFINITY, 0.0, 1}, /* an adjoint of 0, and infinite curvature */
    {x_times_x_to_x_and_a_half, 0.0, 0.0, INFINITY, 0.0, 1},
    {x_root_x, 4.0, 3.0, 0.375, 1e-15, 1},
    {zero_to_the_x, 2.0, 0.0, 0.0, 0.0, 0},
    {zero_to_the_x, 0.0, 0.0, 0.0, 0.0, 0},
    {self_power, 2.0, 4.0 * (1.0 + 0.69314718055994531), 0.0, 1e-14, 0},
    {sinc_of, 0.0, 0.0, -CAD_PI *CAD_PI / 3.0, 1e-15, 1},
};

static void zeros_absorb_in_all_sweeps(void) {
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const Derivatives d = differentiate(examples[i].build, examples[i].at);
        CHECK_NEAR(d.first, examples[i].first, examples[i].bound);
        if (examples[i].says_second) {
            CHECK_NEAR(d.second, examples[i].second, examples[i].bound);
        }
    }
}

/* --- conventions --- */

typedef struct Convention {
    CadOp op;
    double x, y, z;
    double value;
    double partials[3];
} Convention;

static const Convention conventions[] = {
    {CAD_OP_absolute, 0.0, 0.0, 0.0, 0.0, {0.0, 0.0, 0.0}},
    {CAD_OP_sign, 0.0, 0.0, 0.0, 0.0, {0.0, 0.0, 0.0}},
    {CAD_OP_floor, 2.0, 0.0, 0.0, 2.0, {0.0, 0.0, 0.0}},
    {CAD_OP_ceil, 2.0, 0.0, 0.0, 2.0, {0.0, 0.0, 0.0}},
    {CAD_OP_rint, 2.5, 0.0, 0.0, 2.0, {0.0, 0.0, 0.0}},
    {CAD_OP_relu, 0.0, 0.0, 0.0, 0.0, {0.0, 0.0, 0.0}},
    {CAD_OP_maximum, 1.0, 1.0, 0.0, 1.0, {0.5, 0.5, 0.0}},
    {CAD_OP_minimum, 1.0, 1.0, 0.0, 1.0, {0.5, 0.5, 0.0}},
    {CAD_OP_fmax, 1.0, NAN, 0.0, 1.0, {1.0, 0.0, 0.0}},
    {CAD_OP_fmin, NAN, 1.0, 0.0, 1.0, {0.0, 1.0, 0.0}},
    {CAD_OP_clip, 1.0, 1.0, 3.0, 1.0, {1.0, 0.0, 0.0}},
    {CAD_OP_clip, 3.0, 1.0, 3.0, 3.0, {1.0, 0.0, 0.0}},
    {CAD_OP_clip, 0.0, 1.0, 3.0, 1.0, {0.0, 1.0, 0.0}},
    {CAD_OP_clip, 4.0, 1.0, 3.0, 3.0, {0.0, 0.0, 1.0}},
    {CAD_OP_mod, 5.5, 2.0, 0.0, 1.5, {1.0, -2.0, 0.0}},
    {CAD_OP_mod, -5.5, 2.0, 0.0, 0.5, {1.0, 3.0, 0.0}},
    {CAD_OP_sqrt, 0.0, 0.0, 0.0, 0.0, {INFINITY, 0.0, 0.0}},
    {CAD_OP_sqrt, -0.0, 0.0, 0.0, 0.0, {INFINITY, 0.0, 0.0}},
    {CAD_OP_sqrt, -1.0, 0.0, 0.0, NAN, {NAN, 0.0, 0.0}},
    {CAD_OP_hypot, 0.0, 0.0, 0.0, 0.0, {0.0, 0.0, 0.0}},
    {CAD_OP_arctan2, 0.0, 0.0, 0.0, 0.0, {0.0, 0.0, 0.0}},
    {CAD_OP_log, 0.0, 0.0, 0.0, -INFINITY, {INFINITY, 0.0, 0.0}},
    {CAD_OP_log, -1.0, 0.0, 0.0, NAN, {NAN, 0.0, 0.0}},
    {CAD_OP_xlogy, 0.0, 0.0, 0.0, 0.0, {-INFINITY, 0.0, 0.0}},
    {CAD_OP_entr, 0.0, 0.0, 0.0, 0.0, {INFINITY, 0.0, 0.0}},
    {CAD_OP_power, 0.0, 0.0, 0.0, 1.0, {0.0, 0.0, 0.0}},
    {CAD_OP_power, 0.0, 1.0, 0.0, 0.0, {1.0, 0.0, 0.0}},
    {CAD_OP_power, 0.0, 2.0, 0.0, 0.0, {0.0, 0.0, 0.0}},
    {CAD_OP_power, 0.0, 0.5, 0.0, 0.0, {INFINITY, 0.0, 0.0}},
    {CAD_OP_power, 0.0, -1.0, 0.0, INFINITY, {-INFINITY, -INFINITY, 0.0}},
    {CAD_OP_power, -2.0, 3.0, 0.0, -8.0, {12.0, NAN, 0.0}},
    {CAD_OP_power, -2.0, 0.5, 0.0, NAN, {NAN, NAN, 0.0}},
    {CAD_OP_logaddexp, INFINITY, INFINITY, 0.0, INFINITY, {0.5, 0.5, 0.0}},
    {CAD_OP_reciprocal, 0.0, 0.0, 0.0, INFINITY, {-INFINITY, 0.0, 0.0}},
    {CAD_OP_heaviside, 0.0, 0.5, 0.0, 0.5, {0.0, 1.0, 0.0}},
};

static void kinks_follow_the_conventions(void) {
    for (size_t i = 0; i < sizeof conventions / sizeof conventions[0]; i++) {
        const Convention c = conventions[i];
        double p[3] = {0.0, 0.0, 0.0};
        check_subject(cad_op_info[c.op].name);
        CHECK_SAME(cad_op_value(c.op, c.x, c.y, c.z), c.value);
        cad_op_partials(c.op, 7, c.x, c.y, c.z, c.value, p);
        for (int k = 0; k < 3; k++) {
            CHECK_SAME(p[k], c.partials[k]);
        }
    }
}

static void product_absorbs_zeros(void) {
    CHECK_SAME(cad_amul(0.0, INFINITY), 0.0);
    CHECK_SAME(cad_amul(-INFINITY, -0.0), 0.0);
    CHECK_SAME(cad_amul(NAN, 0.0), 0.0);
    CHECK_SAME(cad_amul(2.0, 3.0), 6.0);
    CHECK_SAME(cad_amul(2.0, INFINITY), INFINITY);
    CHECK_SAME(cad_amul(NAN, 1.0), NAN);
    CHECK_SAME(cad_amul(1e-300, 1e-300), 0.0);
}

const Test zero_tests[] = {
    TEST(zeros_absorb_in_all_sweeps),
    TEST(kinks_follow_the_conventions),
    TEST(product_absorbs_zeros),
    END_OF_TESTS,
};
