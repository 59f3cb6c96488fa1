/* An exact zero absorbs, in every sweep: the cases of SEMANTICS.md, where partials are infinite or
 * nan, and the conventions at kinks. */
#include "check.h"
#include "on_tape.h"
#include "table/special.h"

#include <stdlib.h>

/* --- functions of one variable, in every sweep --- */

typedef CadSlot (*Build)(CadTape *tape, CadSlot x);

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

static void saturated_logistic_has_derivative_zero(void) {
    const Derivatives d = differentiate(logistic, -1000.0);
    CHECK_SAME(d.first, 0.0);
    CHECK_SAME(d.second, 0.0);
    CHECK_NEAR(differentiate(logistic, 0.0).first, 0.25, 1e-16);
    CHECK_SAME(differentiate(logistic, 1000.0).first, 0.0);
}

static CadSlot root_of_square(CadTape *tape, CadSlot x) {
    const CadSlot s = append2(tape, CAD_OP_multiply, variable(tape, x), variable(tape, x));
    return append1(tape, CAD_OP_sqrt, s);
}

static void root_of_square_has_derivative_zero_at_zero(void) {
    CHECK_SAME(differentiate(root_of_square, 0.0).first, 0.0);
    CHECK_SAME(differentiate(root_of_square, 3.0).first, 1.0);
    CHECK_SAME(differentiate(root_of_square, -3.0).first, -1.0);
}

static CadSlot x_log_x(CadTape *tape, CadSlot x) {
    const CadSlot log = append1(tape, CAD_OP_log, x);
    return append2(tape, CAD_OP_multiply, variable(tape, x), variable(tape, log));
}

static void x_log_x_has_derivative_minus_infinity_at_zero(void) {
    CHECK_SAME(differentiate(x_log_x, 0.0).first, -INFINITY);
    const Derivatives d = differentiate(x_log_x, 2.0);
    CHECK_NEAR(d.first, 1.0 + log(2.0), 1e-15);
    CHECK_NEAR(d.second, 0.5, 1e-15);
}

static CadSlot chosen_root(CadTape *tape, CadSlot x) {
    const CadNumber operands[3] = {constant(x < 1), variable(tape, x),
                                   variable(tape, append1(tape, CAD_OP_sqrt, x))};
    return append(tape, CAD_OP_where, operands);
}

static void branch_not_taken_does_not_poison(void) {
    const Derivatives d = differentiate(chosen_root, 0.0);
    CHECK_SAME(d.first, 1.0);
    CHECK_SAME(d.second, 0.0);
}

static CadSlot x_times_three_x(CadTape *tape, CadSlot x) {
    const CadSlot y = append2(tape, CAD_OP_multiply, constant(3.0), variable(tape, x));
    return append2(tape, CAD_OP_multiply, variable(tape, x), variable(tape, y));
}

/* The adjoint of 3 x is x: at 0 and at 1 it is a number like others, and has a derivative. */
static void adjoints_of_zero_and_one_keep_their_derivatives(void) {
    for (double x = -1.0; x < 3.0; x += 1.0) {
        const Derivatives d = differentiate(x_times_three_x, x);
        CHECK_SAME(d.first, 6.0 * x);
        CHECK_SAME(d.second, 6.0);
    }
}

static CadSlot x_root_x(CadTape *tape, CadSlot x) {
    const CadSlot root = append1(tape, CAD_OP_sqrt, x);
    return append2(tape, CAD_OP_multiply, variable(tape, x), variable(tape, root));
}

static CadSlot x_times_x_to_x_and_a_half(CadTape *tape, CadSlot x) {
    const CadSlot exponent = append2(tape, CAD_OP_add, variable(tape, x), constant(0.5));
    const CadSlot power = append2(tape, CAD_OP_power, variable(tape, x), variable(tape, exponent));
    return append2(tape, CAD_OP_multiply, variable(tape, x), variable(tape, power));
}

/* The adjoint of the root is 0, and its second derivative infinite. */
static void zero_adjoint_absorbs_infinite_curvature(void) {
    CHECK_SAME(differentiate(x_root_x, 0.0).second, INFINITY);
    CHECK_SAME(differentiate(x_times_x_to_x_and_a_half, 0.0).second, INFINITY);
    CHECK_NEAR(differentiate(x_root_x, 4.0).second, 0.375, 1e-15);
}

static CadSlot zero_to_the_x(CadTape *tape, CadSlot x) {
    return append2(tape, CAD_OP_power, constant(0.0), variable(tape, x));
}

static CadSlot self_power(CadTape *tape, CadSlot x) {
    return append2(tape, CAD_OP_power, variable(tape, x), variable(tape, x));
}

static void inactive_exponents_do_not_poison(void) {
    CHECK_SAME(differentiate(zero_to_the_x, 2.0).first, 0.0);
    CHECK_SAME(differentiate(zero_to_the_x, 0.0).first, 0.0);
    CHECK_NEAR(differentiate(self_power, 2.0).first, 4.0 * (1.0 + log(2.0)), 1e-14);
}

static CadSlot sinc_of(CadTape *tape, CadSlot x) {
    return append1(tape, CAD_OP_sinc, x);
}

static void sinc_is_smooth_at_zero(void) {
    const Derivatives d = differentiate(sinc_of, 0.0);
    CHECK_SAME(d.first, 0.0);
    CHECK_NEAR(d.second, -CAD_PI * CAD_PI / 3.0, 1e-15);
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
    TEST(saturated_logistic_has_derivative_zero),
    TEST(root_of_square_has_derivative_zero_at_zero),
    TEST(x_log_x_has_derivative_minus_infinity_at_zero),
    TEST(branch_not_taken_does_not_poison),
    TEST(adjoints_of_zero_and_one_keep_their_derivatives),
    TEST(zero_adjoint_absorbs_infinite_curvature),
    TEST(inactive_exponents_do_not_poison),
    TEST(sinc_is_smooth_at_zero),
    TEST(kinks_follow_the_conventions),
    TEST(product_absorbs_zeros),
    END_OF_TESTS,
};
