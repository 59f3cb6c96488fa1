/* The sweeps against each other, over random programs of all operations, and the pass of
 * Var.backward. */
#include "check.h"
#include "on_tape.h"

#include <math.h>
#include <stdlib.h>

/* Rounding: the terms of a sum over many paths, added in another order. */
static const double ROUNDING = 1e-11;

static double *random_numbers(Random *random, size_t count, size_t total) {
    double *numbers = test_memory(total, sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = random_between(random, -1.0, 1.0);
    }
    return numbers;
}

/* The adjoints of all slots of a program by the reverse sweep. */
static double *adjoints_of(Program *program, const double *weights) {
    double *adjoints = test_memory(program->slots, sizeof *adjoints);
    double *const buffer = program->tape->adjoints + program->base;
    memcpy(buffer, weights, program->slots * sizeof *weights);
    cad_sweep_reverse(program->tape, program->begin, program->end, SIZE_MAX, 0);
    memcpy(adjoints, buffer, program->slots * sizeof *adjoints);
    clear_adjoints(program->tape, program->base, program->base + program->slots);
    return adjoints;
}

static double largest(const double *numbers, size_t count) {
    double most = 0.0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs(numbers[i]));
    }
    return most;
}

/* --- values --- */

static void random_programs_are_moderate(void) {
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Program program = random_program(seed);
        Random random = {seed};
        double *weights = test_memory(program.slots, sizeof *weights);
        program_seed(&program, &random, weights);
        double *adjoints = adjoints_of(&program, weights);
        CHECK(largest(adjoints, INPUTS) > 1e-3);
        CHECK(largest(adjoints, program.slots) < 1e4);
        CHECK(!cad_reads_below(program.tape, program.begin, program.end, program.base));
        free(weights);
        free(adjoints);
        program_free(&program);
    }
}

/* Poison what operations wrote, and see it come back, bit by bit, also what a sweep recorded. */
static void replay_gives_the_same_bits(void) {
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Program program = random_program(seed);
        CadTape *const tape = program.tape;
        CadNumber *adjoints = zero_numbers(program.slots);
        adjoints[program.slots - 1].value = 1.0;
        CHECK(cad_sweep_record(tape, program.begin, program.end, program.base, 0, adjoints) ==
              CAD_OK);
        double *before = copy_of_values(tape);
        for (size_t i = 0; i < tape->n_entries; i++) {
            if (CAD_CODE_OP(tape->entries[i].code) != CAD_OP_LEAF) {
                tape->values[tape->entries[i].out] = NAN;
            }
        }
        cad_sweep_value(tape, 0, tape->n_entries);
        check_kept_values(tape, before);
        free(before);
        free(adjoints);
        program_free(&program);
    }
}

/* --- tangents --- */

/* weights . (J t) == (weights^T J) . t */
static void check_products(Program *program, Random *random, size_t lanes) {
    double *weights = test_memory(program->slots, sizeof *weights);
    program_seed(program, random, weights);
    double *adjoints = adjoints_of(program, weights);
    double *tangents = random_numbers(random, INPUTS * lanes, program->slots * lanes);
    double *seeds = test_memory(INPUTS * lanes, sizeof *seeds);
    memcpy(seeds, tangents, INPUTS * lanes * sizeof *seeds);
    cad_sweep_tangent(program->tape, program->begin, program->end, program->end, program->base,
                      lanes, tangents);
    for (size_t k = 0; k < lanes; k++) {
        double forward = 0.0, backward = 0.0, scale = 1.0;
        for (size_t i = 0; i < program->slots; i++) {
            forward += weights[i] * tangents[i * lanes + k];
            scale += fabs(weights[i] * tangents[i * lanes + k]);
        }
        for (size_t i = 0; i < INPUTS; i++) {
            backward += adjoints[i] * seeds[i * lanes + k];
            CHECK_BITS(tangents[i * lanes + k], seeds[i * lanes + k]);
        }
        CHECK_NEAR(forward, backward, ROUNDING * scale);
    }
    free(weights);
    free(adjoints);
    free(tangents);
    free(seeds);
}

static void tangents_equal_adjoints(void) {
    static const size_t lanes[] = {1, 3, 8};
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Program program = random_program(seed);
        Random random = {seed};
        for (int i = 0; i < 3; i++) {
            check_products(&program, &random, lanes[i]);
        }
        program_free(&program);
    }
}

/* --- second order --- */

/* Hessian times directions, for all slots, one lane after the other as `stride` says: the tangents
 * are seeds[input * stride + lane]. */
static double *second_of(Program *program, const double *weights, const double *seeds,
                         size_t stride, size_t lane, size_t lanes) {
    double *tangents = test_memory(program->slots * lanes, sizeof *tangents);
    double *result = test_memory(program->slots * lanes, sizeof *result);
    for (size_t i = 0; i < INPUTS; i++) {
        memcpy(tangents + i * lanes, seeds + i * stride + lane, lanes * sizeof *tangents);
    }
    cad_sweep_tangent(program->tape, program->begin, program->end, program->end, program->base,
                      lanes, tangents);
    clear_adjoints(program->tape, program->base, program->base + program->slots);
    memcpy(program->tape->adjoints + program->base, weights, program->slots * sizeof *weights);
    cad_sweep_second(program->tape, program->begin, program->end, program->end, program->base,
                     lanes, tangents, result);
    free(tangents);
    return result;
}

/* What tests of second order have in common. */
typedef struct Setting {
    Program program;
    double *weights;  /* seeds of the adjoints */
    double *adjoints; /* first order */
    double *seeds;    /* of tangents, 8 lanes */
} Setting;

static Setting setting_of(uint64_t seed) {
    Setting s = {.program = random_program(seed)};
    Random random = {seed};
    s.weights = test_memory(s.program.slots, sizeof *s.weights);
    program_seed(&s.program, &random, s.weights);
    s.adjoints = adjoints_of(&s.program, s.weights);
    s.seeds = random_numbers(&random, INPUTS * 8, INPUTS * 8);
    return s;
}

static void free_setting(Setting *s) {
    free(s->weights);
    free(s->adjoints);
    free(s->seeds);
    program_free(&s->program);
}

static void lanes_do_not_touch_each_other(void) {
    static const size_t widths[] = {3, 8};
    for (uint64_t seed = 0; seed < 2; seed++) {
        Setting s = setting_of(seed);
        for (int w = 0; w < 2; w++) {
            const size_t lanes = widths[w];
            double *together = second_of(&s.program, s.weights, s.seeds, 8, 0, lanes);
            for (size_t i = 0; i < s.program.slots; i++) { /* the first order is there, too */
                CHECK_SAME(s.program.tape->adjoints[s.program.base + i], s.adjoints[i]);
            }
            for (size_t k = 0; k < lanes; k++) {
                double *alone = second_of(&s.program, s.weights, s.seeds, 8, k, 1);
                for (size_t i = 0; i < s.program.slots; i++) {
                    CHECK_SAME(together[i * lanes + k], alone[i]);
                }
                free(alone);
            }
            free(together);
        }
        free_setting(&s);
    }
}

/* The gradient by the reverse sweep, with the inputs moved by `step` along the first lane. */
static double *gradient_at(Setting *s, const double *x, double step) {
    CadTape *const tape = s->program.tape;
    for (size_t i = 0; i < INPUTS; i++) {
        tape->values[s->program.base + i] = x[i] + step * s->seeds[i * 8];
    }
    cad_sweep_value(tape, s->program.begin, s->program.end);
    return adjoints_of(&s->program, s->weights);
}

/* A random program without `single`: its values are stairs of single precision, which differences
 * follow, and its derivative is that of a line. */
static Setting smooth_setting_of(uint64_t seed) {
    Setting s = setting_of(seed);
    CadTape *const tape = s.program.tape;
    for (size_t i = s.program.begin; i < s.program.end; i++) {
        CadEntry *const entry = &tape->entries[i];
        if (CAD_CODE_OP(entry->code) == CAD_OP_single) {
            const uint32_t passive = entry->code & (CAD_PASSIVE_A | CAD_PASSIVE_B);
            entry->code = CAD_CODE(CAD_OP_positive, passive);
        }
    }
    cad_sweep_value(tape, s.program.begin, s.program.end);
    return s;
}

static void second_order_follows_differences(void) {
    const double step = 1e-6;
    for (uint64_t seed = 0; seed < 2 * PROGRAMS; seed++) {
        Setting s = smooth_setting_of(seed);
        double x[INPUTS];
        memcpy(x, s.program.tape->values + s.program.base, sizeof x);
        double *second = second_of(&s.program, s.weights, s.seeds, 8, 0, 1);
        clear_adjoints(s.program.tape, s.program.base, s.program.base + s.program.slots);
        double *right = gradient_at(&s, x, step), *left = gradient_at(&s, x, -step);
        const double scale = largest(second, INPUTS);
        CHECK(scale > 1e-3);
        for (size_t i = 0; i < INPUTS; i++) {
            CHECK_NEAR(second[i], (right[i] - left[i]) / (2.0 * step), 1e-7 * scale);
        }
        free(second);
        free(right);
        free(left);
        free_setting(&s);
    }
}

/* --- recorded --- */

static CadNumber *record(Setting *s) {
    const Program *const p = &s->program;
    CadNumber *numbers = zero_numbers(p->slots);
    for (size_t i = 0; i < p->slots; i++) {
        numbers[i].value = s->weights[i];
    }
    CHECK(cad_sweep_record(p->tape, p->begin, p->end, p->base, 0, numbers) == CAD_OK);
    return numbers;
}

static void recorded_adjoints_equal_the_reverse_sweep(void) {
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Setting s = setting_of(seed);
        CadNumber *numbers = record(&s);
        for (size_t i = 0; i < s.program.slots; i++) {
            CHECK_SAME(numbers[i].value, s.adjoints[i]);
            if (numbers[i].slot != CAD_NONE) {
                CHECK_BITS(s.program.tape->values[numbers[i].slot], numbers[i].value);
            }
        }
        CHECK_COUNT((size_t)s.program.tape->pinned, 0);
        free(numbers);
        free_setting(&s);
    }
}

/* The gradient of (gradient . t) is the Hessian times t. */
static void reverse_over_recorded_equals_second_order(void) {
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Setting s = setting_of(seed);
        CadTape *const tape = s.program.tape;
        double *second = second_of(&s.program, s.weights, s.seeds, 8, 0, 1);
        CadNumber *numbers = record(&s);
        clear_adjoints(tape, s.program.base, tape->n_slots);
        for (size_t i = 0; i < INPUTS; i++) {
            if (numbers[i].slot != CAD_NONE) {
                tape->adjoints[numbers[i].slot] += s.seeds[i * 8];
            }
        }
        cad_sweep_reverse(tape, s.program.begin, tape->n_entries, SIZE_MAX, 0);
        const double scale = largest(second, INPUTS);
        for (size_t i = 0; i < INPUTS; i++) {
            CHECK_NEAR(tape->adjoints[s.program.base + i], second[i], ROUNDING * scale);
        }
        free(numbers);
        free(second);
        free_setting(&s);
    }
}

/* (o x o)**2 of an outer number o and x, written so that o is each operand once: numbers below
 * `base` are read, not differentiated, but what is recorded depends on them. */
static void recording_stops_at_its_base(void) {
    CadTape *tape = cad_tape_new();
    const double two = 2.0, three = 3.0;
    const CadNumber o = variable(tape, append_leaf(tape, 1, &two));
    const size_t begin = tape->n_entries;
    const CadSlot base = append_leaf(tape, 1, &three);
    const CadNumber last[3] = {constant(0.0), constant(7.0), variable(tape, base)};
    const CadNumber x = variable(tape, append(tape, CAD_OP_where, last));
    const CadNumber ox = variable(tape, append2(tape, CAD_OP_multiply, o, x));
    const CadNumber oxo = variable(tape, append2(tape, CAD_OP_multiply, ox, o));
    const CadNumber first[3] = {constant(1.0), oxo, o};
    const CadSlot out = append1(tape, CAD_OP_square, append(tape, CAD_OP_where, first));
    CadNumber *numbers = zero_numbers(out - base + 1);
    numbers[out - base].value = 1.0;
    CHECK(cad_sweep_record(tape, begin, tape->n_entries, base, 0, numbers) == CAD_OK);
    CHECK_SAME(numbers[0].value, 96.0); /* 2 o**4 x */
    backward_from(tape, numbers[0].slot);
    CHECK_SAME(tape->values[o.slot + 1], 192.0);
    CHECK_SAME(tape->values[base + 1], 32.0);
    free(numbers);
    cad_tape_free(tape);
}

/* A nested sweep must be able to tell constants from variables. */
static void recorded_constants_are_passive(void) {
    Setting s = setting_of(1);
    const CadTape *const tape = s.program.tape;
    free(record(&s));
    size_t passive = 0;
    for (size_t i = s.program.end; i < tape->n_entries; i++) {
        const CadEntry e = tape->entries[i];
        CHECK(cad_op_info[CAD_CODE_OP(e.code)].arity < 3);
        CHECK(!(e.code & CAD_PASSIVE_A) == (cad_tape_find(tape, e.a) < tape->n_entries));
        CHECK(!(e.code & CAD_PASSIVE_B) == (cad_tape_find(tape, e.b) < tape->n_entries));
        passive += (e.code & 3) != 0;
    }
    CHECK(passive > 20);
    free_setting(&s);
}

/* With a number after the program as seed: what results is that number times constants. */
static void linear_recording_depends_on_its_seeds_alone(void) {
    Setting s = setting_of(2);
    CadTape *const tape = s.program.tape;
    const double one = 1.0;
    size_t k = s.program.pool.count; /* the last number that depends on an input */
    CadSlot last;
    const CadSlot seed = append_leaf(tape, 1, &one);
    const size_t begin = tape->n_entries;
    CadNumber *numbers = zero_numbers(s.program.slots);
    do {
        last = s.program.pool.slots[--k];
        reverse_from(tape, s.program.begin, last);
        memcpy(s.adjoints, tape->adjoints + s.program.base, s.program.slots * sizeof *s.adjoints);
    } while (k > 0 && !(largest(s.adjoints, INPUTS) > 0.0));
    numbers[last - s.program.base] = variable(tape, seed);
    CHECK(cad_sweep_record(tape, s.program.begin, s.program.end, s.program.base, 1, numbers) ==
          CAD_OK);
    CHECK(!cad_reads_below(tape, begin, tape->n_entries, seed));
    for (size_t i = 0; i < INPUTS; i++) {
        CHECK_SAME(numbers[i].value, s.adjoints[i]);
        if (numbers[i].slot != CAD_NONE) {
            reverse_from(tape, 0, numbers[i].slot);
            CHECK_NEAR(tape->adjoints[seed], s.adjoints[i], ROUNDING);
            CHECK_SAME(tape->adjoints[s.program.base + i], 0.0);
        }
    }
    CHECK(largest(s.adjoints, INPUTS) > 0.0);
    free(numbers);
    free_setting(&s);
}

static CadNumber record_from(CadTape *tape, CadNumber seeded) {
    CadNumber *numbers = zero_numbers(tape->n_slots);
    numbers[seeded.slot].value = 1.0;
    CHECK(cad_sweep_record(tape, 0, tape->n_entries, 0, 0, numbers) == CAD_OK);
    const CadNumber result = numbers[0];
    free(numbers);
    return result;
}

/* d/dx, again and again, of x**6 at 2 and of x**3 at 0. */
static void recorded_sweeps_are_recorded_again(void) {
    static const double of_six[] = {192.0, 480.0, 960.0, 1440.0, 1440.0, 720.0, 0.0};
    static const double of_three[] = {0.0, 0.0, 6.0, 0.0};
    for (int example = 0; example < 2; example++) {
        CadTape *tape = cad_tape_new();
        const double x = example == 0 ? 2.0 : 0.0, exponent = example == 0 ? 6.0 : 3.0;
        const CadSlot slot = append_leaf(tape, 1, &x);
        CadNumber y =
            variable(tape, append2(tape, CAD_OP_power, variable(tape, slot), constant(exponent)));
        for (int order = 0; order < (example == 0 ? 7 : 4); order++) {
            y = y.slot == CAD_NONE ? constant(0.0) : record_from(tape, y);
            CHECK_SAME(y.value, example == 0 ? of_six[order] : of_three[order]);
        }
        cad_tape_free(tape);
    }
}

/* --- backward --- */

static void backward_equals_reverse(void) {
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Setting s = setting_of(seed);
        CadTape *const tape = s.program.tape;
        memcpy(tape->adjoints + s.program.base, s.weights, s.program.slots * sizeof *s.weights);
        cad_sweep_reverse(tape, 0, s.program.end, SIZE_MAX, 1);
        for (size_t i = 0; i < INPUTS; i++) {
            CHECK_SAME(tape->values[s.program.base + INPUTS + i], s.adjoints[i]);
        }
        for (size_t slot = 0; slot < tape->adjoint_capacity; slot++) {
            const int dirty = slot >= tape->dirty_begin && slot < tape->dirty_end;
            CHECK(dirty || tape->adjoints[slot] == 0.0);
        }
        free_setting(&s);
    }
}

static void backward_adds_to_the_gradients_of_leaves(void) {
    CadTape *tape = cad_tape_new();
    const double values[3] = {2.0, 3.0, 5.0};
    const CadSlot x = append_leaf(tape, 3, values);
    const CadSlot y = append2(tape, CAD_OP_multiply, variable(tape, x), variable(tape, x + 2));
    const CadSlot z = append1(tape, CAD_OP_square, x + 1);
    backward_from(tape, y);
    backward_from(tape, z);
    CHECK_SAME(cad_tape_adjoint(tape, y), 0.0); /* the second pass began clean */
    CHECK_SAME(cad_tape_adjoint(tape, x), 0.0);
    backward_from(tape, y);
    CHECK_SAME(tape->values[x + 3], 10.0);
    CHECK_SAME(tape->values[x + 4], 6.0);
    CHECK_SAME(tape->values[x + 5], 4.0);
    CHECK_SAME(cad_tape_adjoint(tape, z), 0.0);
    backward_from(tape, x + 1); /* the leaf itself */
    CHECK_SAME(tape->values[x + 4], 7.0);
    cad_tape_free(tape);
}

/* What lies below the lowest adjoint is not visited: a poisoned adjoint stays where it is. */
static void check_stop(CadSlot which, int accumulate) {
    CadTape *tape = cad_tape_new();
    const CadSlot early = append_leaf(tape, 1, NULL);
    const CadSlot unrelated = append1(tape, CAD_OP_exp, early);
    const CadSlot x = append_leaf(tape, 2, NULL);
    append_leaf(tape, 0, NULL);
    const CadSlot y = append2(tape, CAD_OP_add, variable(tape, x + which), constant(2.0));
    const CadNumber three[3] = {variable(tape, y), constant(0.0), constant(9.0)};
    const CadSlot z = append(tape, CAD_OP_clip, three);
    append1(tape, CAD_OP_exp, z);
    clear_adjoints(tape, z, (size_t)z + 1);
    tape->adjoints[unrelated] = NAN;
    tape->adjoints[z] = 1.0;
    cad_sweep_reverse(tape, 0, past(tape, z), SIZE_MAX, accumulate);
    CHECK_SAME(tape->adjoints[early], 0.0);
    CHECK_SAME(tape->values[early + 1], 0.0);
    CHECK_SAME(tape->adjoints[x + which], 1.0);
    CHECK_SAME(tape->values[x + 2 + which], accumulate ? 1.0 : 0.0);
    CHECK_SAME(tape->values[x + 3 - which], 0.0);
    CHECK_COUNT(tape->dirty_begin, x + which);
    cad_tape_free(tape);
}

static void sweeps_stop_where_adjoints_run_out(void) {
    for (CadSlot which = 0; which < 2; which++) {
        check_stop(which, 0);
        check_stop(which, 1);
    }
}

/* As the last entry, where its numbers would be past the end. */
static void sweeps_pass_over_an_empty_leaf(void) {
    CadTape *tape = cad_tape_new();
    const CadSlot x = append_leaf(tape, 1, NULL);
    const CadSlot y = append1(tape, CAD_OP_exp, x);
    append_leaf(tape, 0, NULL);
    const size_t end = tape->n_entries, slots = tape->n_slots;
    CadNumber *numbers = zero_numbers(slots);
    double *tangents = test_memory(slots, sizeof *tangents);
    double *second = test_memory(slots, sizeof *second);
    backward_from(tape, y);
    clear_adjoints(tape, 0, slots);
    tape->adjoints[y] = tangents[x] = numbers[y].value = 1.0;
    cad_sweep_value(tape, 0, end);
    cad_sweep_tangent(tape, 0, end, end, 0, 1, tangents);
    CHECK_SAME(tangents[y], 1.0);
    cad_sweep_second(tape, 0, end, end, 0, 1, tangents, second);
    CHECK_SAME(second[x], 1.0);
    cad_sweep_reverse(tape, 0, end, SIZE_MAX, 1);
    cad_sweep_reverse(tape, 0, end, SIZE_MAX, 0);
    CHECK(cad_sweep_record(tape, 0, end, 0, 0, numbers) == CAD_OK);
    CHECK_SAME(numbers[x].value, 1.0);
    free(numbers);
    free(tangents);
    free(second);
    cad_tape_free(tape);
}

const Test sweep_tests[] = {
    TEST(random_programs_are_moderate),
    TEST(replay_gives_the_same_bits),
    TEST(tangents_equal_adjoints),
    TEST(lanes_do_not_touch_each_other),
    TEST(second_order_follows_differences),
    TEST(recorded_adjoints_equal_the_reverse_sweep),
    TEST(reverse_over_recorded_equals_second_order),
    TEST(recording_stops_at_its_base),
    TEST(recorded_constants_are_passive),
    TEST(linear_recording_depends_on_its_seeds_alone),
    TEST(recorded_sweeps_are_recorded_again),
    TEST(backward_equals_reverse),
    TEST(backward_adds_to_the_gradients_of_leaves),
    TEST(sweeps_stop_where_adjoints_run_out),
    TEST(sweeps_pass_over_an_empty_leaf),
    END_OF_TESTS,
};
