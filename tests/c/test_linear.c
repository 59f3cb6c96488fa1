/* Frozen linear maps: what they push and pull is what the sweeps over the tape give, for programs
 * at random; they are sound, and one that is not is refused. */
#include "check.h"
#include "linear/linear.h"
#include "on_tape.h"
#include "twin.h"

#include <math.h>
#include <stdlib.h>

enum { TWINS = 60, STEPS = 40, MOST_OUTPUTS = 40 };

/* --- maps of random programs --- */

typedef struct Case {
    CadTape *tape;
    size_t begin;
    size_t end;
    CadSlot base;
    size_t n;
    int64_t outputs[MOST_OUTPUTS];
    size_t m;
    CadLinear *linear;
} Case;

static void choose_outputs(Case *c, Random *random) {
    c->m = 1 + random_below(random, MOST_OUTPUTS);
    for (size_t i = 0; i < c->m; i++) {
        /* Any slot: a result, an input, a constant; some twice. */
        c->outputs[i] = c->base + (int64_t)random_below(random, c->tape->n_slots - c->base);
    }
    c->outputs[random_below(random, c->m)] = -1;
}

static CadStatus build(Case *c) {
    return cad_linear_build(c->tape, c->begin, c->end, c->base, c->n, c->outputs, c->m,
                            &c->linear);
}

/* The matrix by tangent sweeps over the tape, one for each input. */
static double *matrix_of(const Case *c) {
    double *const matrix = test_memory(c->m * c->n + 1, sizeof *matrix);
    for (size_t j = 0; j < c->n; j++) {
        double *const tangents = test_memory(c->tape->n_slots, sizeof *tangents);
        tangents[c->base + j] = 1.0;
        cad_sweep_tangent(c->tape, c->begin, c->end, c->end, 0, 1, tangents);
        for (size_t i = 0; i < c->m; i++) {
            matrix[i * c->n + j] = c->outputs[i] < 0 ? 0.0 : tangents[c->outputs[i]];
        }
        free(tangents);
    }
    return matrix;
}

static void check_near_all(const double *actual, const double *expected, size_t count) {
    for (size_t i = 0; i < count; i++) {
        CHECK_NEAR(actual[i], expected[i], 1e-10 * (1.0 + fabs(expected[i])));
    }
}

/* Rows, columns, pushes and pulls in all numbers of lanes. */
static void check_case(Case *c, Random *random) {
    CHECK(build(c) == CAD_OK);
    CHECK(cad_linear_check(c->linear));
    double *const expected = matrix_of(c);
    double *const matrix = test_memory(c->m * c->n + 1, sizeof *matrix);
    double *const room = test_memory(cad_linear_room(c->linear, 8), sizeof *room);
    for (size_t lanes = 1; lanes <= 8; lanes++) {
        for (size_t first = 0; first < c->n; first += lanes) {
            const size_t count = c->n - first < lanes ? c->n - first : lanes;
            cad_linear_units(c->linear, 0, first, count, matrix, room);
        }
        check_near_all(matrix, expected, c->m * c->n);
        for (size_t first = 0; first < c->m; first += lanes) {
            const size_t count = c->m - first < lanes ? c->m - first : lanes;
            cad_linear_units(c->linear, 1, first, count, matrix, room);
        }
        check_near_all(matrix, expected, c->m * c->n);
        double *const t = test_memory(c->n * lanes, sizeof *t);
        double *const u = test_memory(c->m * lanes, sizeof *u);
        double *const jt = test_memory(c->m * lanes, sizeof *jt);
        double *const ju = test_memory(c->n * lanes, sizeof *ju);
        for (size_t i = 0; i < c->n * lanes; i++) {
            t[i] = random_between(random, -1.0, 1.0);
        }
        for (size_t i = 0; i < c->m * lanes; i++) {
            u[i] = random_between(random, -1.0, 1.0);
        }
        cad_linear_carry(c->linear, 0, lanes, t, jt, room);
        cad_linear_carry(c->linear, 1, lanes, u, ju, room);
        for (size_t lane = 0; lane < lanes; lane++) {
            double pushed = 0.0, pulled = 0.0, scale = 1.0;
            for (size_t i = 0; i < c->m; i++) {
                pushed += u[i * lanes + lane] * jt[i * lanes + lane];
                for (size_t j = 0; j < c->n; j++) {
                    scale += fabs(expected[i * c->n + j]);
                }
            }
            for (size_t j = 0; j < c->n; j++) {
                pulled += t[j * lanes + lane] * ju[j * lanes + lane];
            }
            CHECK_NEAR(pushed, pulled, 1e-11 * scale);
        }
        free(t);
        free(u);
        free(jt);
        free(ju);
    }
    free(expected);
    free(matrix);
    free(room);
}

static void maps_of_numbers_are_the_tangent_sweep(void) {
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Random random = {seed};
        Program program = random_program(seed);
        Case c = {program.tape,   program.begin, program.end, program.base,
                  program.inputs, {0},           0,           NULL};
        choose_outputs(&c, &random);
        check_case(&c, &random);
        cad_linear_free(c.linear);
        program_free(&program);
    }
}

static Case case_of_twin(const Twin *twin, Random *random) {
    const View leaf = twin->leaves[0];
    CadTape *const tape = twin->arrays;
    Case c = {
        tape, cad_tape_find(tape, leaf.slot), tape->n_entries, leaf.slot, view_size(leaf), {0}, 0,
        NULL};
    choose_outputs(&c, random);
    return c;
}

static void maps_of_arrays_are_the_tangent_sweep(void) {
    for (uint64_t seed = 0; seed < TWINS; seed++) {
        Random random = {seed};
        Twin *const twin = random_twin(seed, STEPS);
        double *const before = copy_of_values(twin->arrays);
        Case c = case_of_twin(twin, &random);
        check_case(&c, &random);
        /* Assignments that were undone are done again. */
        check_kept_values(twin->arrays, before);
        free(before);
        cad_linear_free(c.linear);
        twin_free(twin);
    }
}

/* --- what a map leaves out --- */

static void chains_become_one_term(void) {
    CadTape *const tape = cad_tape_new();
    const double at[2] = {0.5, 0.25};
    const CadSlot x = append_leaf(tape, 2, at);
    CadSlot y = x;
    double slope = 1.0;
    for (int i = 0; i < 100; i++) {
        slope *= cos(tape->values[y]);
        y = append1(tape, CAD_OP_sin, y);
    }
    append1(tape, CAD_OP_exp, x); /* nobody reads it */
    const int64_t output = y;
    Case c = {tape, 0, tape->n_entries, x, 2, {output}, 1, NULL};
    CHECK(build(&c) == CAD_OK);
    CHECK_COUNT(c.linear->n_places, 2);
    CHECK_COUNT(c.linear->part[CAD_LINEAR_FACTORS].count, 1);
    CHECK_NEAR(*(double *)c.linear->part[CAD_LINEAR_FACTORS].data, slope, 1e-14 * slope);
    cad_linear_free(c.linear);
    cad_tape_free(tape);
}

/* The product of the first two factors would not be a normal number. */
static void factors_that_overflow_stay_apart(void) {
    CadTape *const tape = cad_tape_new();
    const double one = 1.0;
    const CadSlot x = append_leaf(tape, 1, &one);
    CadSlot y = append2(tape, CAD_OP_multiply, variable(tape, x), constant(1e-200));
    y = append2(tape, CAD_OP_multiply, variable(tape, y), constant(1e-200));
    y = append2(tape, CAD_OP_multiply, variable(tape, y), constant(1e200));
    y = append2(tape, CAD_OP_multiply, variable(tape, y), constant(1e200));
    Case c = {tape, 0, tape->n_entries, x, 1, {y}, 1, NULL};
    CHECK(build(&c) == CAD_OK);
    double room[64];
    const double t = 1e200;
    double result;
    CHECK(cad_linear_room(c.linear, 1) <= 64);
    cad_linear_carry(c.linear, 0, 1, &t, &result, room);
    CHECK_NEAR(result, 1e200, 1e186);
    const double u = 1e-100;
    cad_linear_carry(c.linear, 1, 1, &u, &result, room);
    CHECK_NEAR(result, 1e-100, 1e-114);
    cad_linear_free(c.linear);
    cad_tape_free(tape);
}

/* An infinite partial times a tangent of zero is zero, and the other way round. */
static void zeros_absorb(void) {
    CadTape *const tape = cad_tape_new();
    const double at[2] = {0.0, 4.0};
    const CadSlot x = append_leaf(tape, 2, at);
    const CadSlot root = append1(tape, CAD_OP_sqrt, x);
    const CadSlot y = append2(tape, CAD_OP_add, variable(tape, root), variable(tape, x + 1));
    Case c = {tape, 0, tape->n_entries, x, 2, {y}, 1, NULL};
    CHECK(build(&c) == CAD_OK);
    double room[64];
    const double t[2] = {0.0, 1.0};
    double pushed, pulled[2];
    cad_linear_carry(c.linear, 0, 1, t, &pushed, room);
    CHECK_SAME(pushed, 1.0);
    cad_linear_carry(c.linear, 1, 1, t, pulled, room);
    CHECK_SAME(pulled[0], 0.0);
    CHECK_SAME(pulled[1], 0.0);
    cad_linear_carry(c.linear, 1, 1, t + 1, pulled, room);
    CHECK_SAME(pulled[0], INFINITY);
    cad_linear_free(c.linear);
    cad_tape_free(tape);
}

/* --- failure --- */

static void a_map_survives_failure_of_memory(void) {
    for (uint64_t seed = 0; seed < 4; seed++) {
        Twin *const twin = random_twin(seed, STEPS);
        CadTape *const tape = twin->arrays;
        double *const before = copy_of_values(tape);
        Random random = {seed};
        Case c = case_of_twin(twin, &random);
        CadStatus status = CAD_NO_MEMORY;
        long granted = 0;
        for (; status != CAD_OK && granted < 10000; granted++) {
            cad_memory_fail_after(granted);
            status = build(&c);
            cad_memory_fail_after(-1);
            CHECK(status == CAD_OK || c.linear == NULL);
            check_kept_values(tape, before);
        }
        CHECK(status == CAD_OK);
        CHECK(granted > 3);
        cad_linear_free(c.linear);
        free(before);
        twin_free(twin);
    }
}

/* A map with one of its whole numbers changed is refused, or can be used: the sanitizers see to
 * that. */
static void a_map_that_leads_out_of_itself_is_refused(void) {
    const CadLinearPart parts[] = {CAD_LINEAR_INPUTS,  CAD_LINEAR_OUTPUTS, CAD_LINEAR_STEPS,
                                   CAD_LINEAR_TARGETS, CAD_LINEAR_ENDS,    CAD_LINEAR_SOURCES,
                                   CAD_LINEAR_WORDS};
    size_t refused = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        Twin *const twin = random_twin(seed, STEPS);
        Random random = {seed};
        Case c = case_of_twin(twin, &random);
        CHECK(build(&c) == CAD_OK);
        for (int trial = 0; trial < 300; trial++) {
            const CadLinearPart part = parts[random_below(&random, 7)];
            const size_t bytes = c.linear->part[part].count * cad_linear_item_size[part];
            if (bytes == 0) {
                continue;
            }
            unsigned char *const data = c.linear->part[part].data;
            const size_t at = random_below(&random, bytes);
            const unsigned char was = data[at];
            data[at] = (unsigned char)random_bits(&random);
            if (!cad_linear_check(c.linear)) {
                refused++;
            } else if (cad_linear_room(c.linear, 4) < 1 << 20) {
                const size_t numbers = 4 * (c.n + c.m) + 1;
                double *const room =
                    test_memory(cad_linear_room(c.linear, 4) + 2 * numbers, sizeof *room);
                double *const in = room + cad_linear_room(c.linear, 4);
                cad_linear_carry(c.linear, 0, 4, in, in + numbers, room);
                cad_linear_carry(c.linear, 1, 4, in, in + numbers, room);
                free(room);
            }
            data[at] = was;
            CHECK(cad_linear_check(c.linear));
        }
        cad_linear_free(c.linear);
        twin_free(twin);
    }
    CHECK(refused > 100);
}

const Test linear_tests[] = {
    TEST(maps_of_numbers_are_the_tangent_sweep),
    TEST(maps_of_arrays_are_the_tangent_sweep),
    TEST(chains_become_one_term),
    TEST(factors_that_overflow_stay_apart),
    TEST(zeros_absorb),
    TEST(a_map_survives_failure_of_memory),
    TEST(a_map_that_leads_out_of_itself_is_refused),
    END_OF_TESTS,
};
