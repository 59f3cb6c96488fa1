/* Graphs and programs: what they compute is what stands on the tape they were read from, their
 * derivatives those of the sweeps, for programs at random; what is folded is exact; a guard that
 * does not hold is told; and all of it survives want of memory. */
#include "program/program.h"

#include "check.h"
#include "on_graph.h"
#include "on_tape.h"
#include "replay.h"
#include "twin.h"

#include <math.h>
#include <stdlib.h>

enum { TWINS = 40, STEPS = 40, LANES = 16, GRANTED = 20000 };

static void graphs_of_numbers_are_the_tape(void) {
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Random random = {seed};
        Program program = random_program(seed);
        for (int optimize = 0; optimize < 2; optimize++) {
            GraphCase c = case_of(program.tape, program.base, program.inputs, &random);
            check_case(&c, optimize);
        }
        program_free(&program);
    }
}

static void graphs_of_arrays_are_the_tape(void) {
    for (uint64_t seed = 0; seed < TWINS; seed++) {
        Random random = {seed};
        Twin *const twin = random_twin(seed, STEPS);
        CadTape *const tape = twin->arrays;
        double *const before = copy_of_values(tape);
        for (int optimize = 0; optimize < 2; optimize++) {
            GraphCase c = case_of(tape, twin->leaves[0].slot, view_size(twin->leaves[0]), &random);
            check_case(&c, optimize);
            check_kept_values(tape, before);
        }
        free(before);
        twin_free(twin);
    }
}

/* Without optimisation each operation is the one of the table, to the last bit. */
static void values_as_recorded_have_the_same_bits(void) {
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Random random = {seed};
        Program p = random_program(seed);
        GraphCase c = case_of(p.tape, p.base, p.inputs, &random);
        double results[MOST_OUTPUTS];
        CHECK(read_graph(&c, 0) == CAD_OK);
        CadProgram *const program = make_program(c.graph, &c.input, 1, c.outputs, c.m);
        CHECK(run(program, p.tape->values + p.base, results) == -1);
        for (size_t i = 0; i < c.m; i++) {
            CHECK_BITS(results[i], p.tape->values[c.slots[i]]);
        }
        cad_program_free(program);
        cad_graph_free(c.graph);
        program_free(&p);
    }
}

/* --- numbers that are there already, and numbers that are simpler --- */

static CadId apply(CadGraph *graph, CadOp op, CadId x, CadId y) {
    return cad_graph_apply(graph, op, x, y, y);
}

/* Arrays of all sizes, and single numbers between them: few, many or none. Each number is found
 * again, in whatever order they are asked for. */
static void numbers_know_their_records(void) {
    enum { ROUNDS = 60, RECORDS = 4 * ROUNDS };
    CadGraph *const graph = cad_graph_new(1);
    CadId firsts[RECORDS];
    size_t records[RECORDS], n = 0;
    for (int i = 0; i < ROUNDS; i++) {
        firsts[n] = cad_graph_input(graph, (size_t)(i % 5), 0); /* an empty one has no numbers */
        records[n++] = graph->n_records - 1;
        for (int k = 0; k < i % 4; k++) {
            firsts[n] = cad_graph_constant(graph, 10.0 * i + k + 1.0);
            records[n++] = graph->n_records - 1;
        }
    }
    CHECK(graph->status == CAD_OK);
    for (size_t stride = 1; stride < n; stride += 6) {
        for (size_t k = 0, at = n - 1; k < n; k++, at = (at + stride) % n) {
            const uint32_t size = cad_record_size(&graph->records[records[at]]);
            CHECK_COUNT(cad_graph_first(graph, records[at]), firsts[at]);
            for (CadId e = 0; e < size; e++) {
                CHECK_COUNT(cad_graph_record_of(graph, firsts[at] + e), records[at]);
            }
        }
    }
    CHECK_COUNT(cad_graph_record_of(graph, CAD_NO_ID), 0);
    double zero = 1.0;
    CHECK(cad_graph_is_constant(graph, CAD_ZERO, &zero) && zero == 0.0);
    cad_graph_free(graph);
}

static void equal_numbers_are_one(void) {
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, 3, 0);
    CHECK(cad_graph_constant(graph, 2.0) == cad_graph_constant(graph, 2.0));
    CHECK(cad_graph_constant(graph, 0.0) != cad_graph_constant(graph, -0.0));
    CHECK(cad_graph_constant(graph, NAN) == cad_graph_constant(graph, NAN));
    const CadId sum = apply(graph, CAD_OP_add, x, x + 1);
    CHECK(apply(graph, CAD_OP_add, x, x + 1) == sum);
    CHECK(apply(graph, CAD_OP_add, x + 1, x) == sum);
    CHECK(apply(graph, CAD_OP_subtract, x, x + 1) != apply(graph, CAD_OP_subtract, x + 1, x));
    CHECK(apply(graph, CAD_OP_add, x, x + 2) != sum);
    for (int i = 0; i < 5000; i++) { /* also past many others */
        apply(graph, CAD_OP_add, sum, cad_graph_constant(graph, i + 1.0));
    }
    CHECK(apply(graph, CAD_OP_add, x, x + 1) == sum);
    const int64_t length = 3, one = 1, none = 0;
    const CadNumbers views[3] = {{0, &one}, {x, &one}, {sum, &none}};
    const CadId map = cad_graph_map(graph, CAD_OP_multiply, 3, 1, &length, 3, views);
    CHECK(cad_graph_map(graph, CAD_OP_multiply, 3, 1, &length, 3, views) == map);
    CHECK(cad_graph_map(graph, CAD_OP_add, 3, 1, &length, 3, views) != map);
    CHECK_COUNT(cad_graph_record_of(graph, map + 2), cad_graph_record_of(graph, map));
    const CadId ids[3] = {x, sum, x + 2};
    const CadId pack = cad_graph_pack(graph, ids, 3);
    CHECK(cad_graph_pack(graph, ids, 3) == pack);
    CHECK(cad_graph_pack(graph, ids, 2) != pack);
    CHECK(cad_graph_pack(graph, ids + 1, 1) == sum);
    double value;
    CHECK(!cad_graph_is_constant(graph, sum, &value));
    const CadId three =
        apply(graph, CAD_OP_add, cad_graph_constant(graph, 1.0), cad_graph_constant(graph, 2.0));
    CHECK(cad_graph_is_constant(graph, three, &value));
    CHECK_SAME(value, 3.0);
    CHECK(graph->status == CAD_OK);
    cad_graph_free(graph);
}

static void what_is_kept_apart_is_in_no_table(void) {
    CadGraph *const graph = cad_graph_new(0);
    const CadId x = cad_graph_input(graph, 2, 0);
    graph->keeps_duplicates = 1;
    const CadId sum = apply(graph, CAD_OP_add, x, x + 1);
    CHECK(apply(graph, CAD_OP_add, x, x + 1) != sum);
    const CadGraphMark mark = cad_graph_mark(graph);
    const size_t known = graph->n_known;
    for (int i = 0; i < 20000; i++) {
        apply(graph, CAD_OP_add, x, x + 1);
    }
    for (int i = 0; i < 2000; i++) { /* for which the table grows */
        CHECK(cad_graph_constant(graph, i + 0.5) == cad_graph_constant(graph, i + 0.5));
    }
    CHECK_COUNT(graph->n_known, known + 2000);
    cad_graph_rewind(graph, &mark);
    CHECK_COUNT(graph->n_known, known);
    CHECK(cad_graph_constant(graph, 7.5) == cad_graph_constant(graph, 7.5));
    cad_graph_free(graph);
}

/* They are computed at once, and found again like any other number; large ones are left to
 * programs unless they have fewer numbers than what they are made of. */
static void operations_over_constants_are_constants(void) {
    enum { LARGE = 5000 };
    static double many[LARGE];
    const double three[3] = {2.0, NAN, -INFINITY}, products[3] = {4.0, NAN, INFINITY};
    const int64_t length = 3, large = LARGE, one = 1, none = 0;
    for (int optimize = 0; optimize < 2; optimize++) {
        CadGraph *const graph = cad_graph_new(optimize);
        const CadId x = cad_graph_input(graph, 3, 0), c = cad_graph_constants(graph, three, 3);
        CHECK(cad_graph_constants(graph, three, 3) == c);
        CHECK(cad_graph_constants(graph, three, 2) != c);
        CadNumbers views[3] = {{0, &one}, {c, &one}, {c, &one}};
        const CadId squares = cad_graph_map(graph, CAD_OP_multiply, 3, 1, &length, 3, views);
        const CadId ids[3] = {c + 2, c + 1, c};
        const CadId backwards = cad_graph_pack(graph, ids, 3);
        double value;
        for (CadId i = 0; i < 3; i++) {
            CHECK(cad_graph_is_constant(graph, squares + i, &value) == optimize);
            CHECK(!optimize || value == products[i] || (isnan(value) && isnan(products[i])));
            CHECK(cad_graph_is_constant(graph, backwards + i, &value) == optimize);
            CHECK(!optimize || value == three[2 - i] || (isnan(value) && i == 1));
        }
        CHECK(cad_graph_map(graph, CAD_OP_multiply, 3, 1, &length, 3, views) == squares);
        views[0].strides = &none;
        const CadId sum = cad_graph_map(graph, CAD_OP_SUM, 1, 1, &length, 2, views);
        CHECK(cad_graph_is_constant(graph, sum, &value) == optimize);
        views[1].first = x;
        views[0].strides = &one;
        const CadId scaled = cad_graph_map(graph, CAD_OP_multiply, 3, 1, &length, 3, views);
        CHECK(!cad_graph_is_constant(graph, scaled, &value));

        many[1] = 1.0; /* zeros alone are zeros again */
        const CadNumbers all = {cad_graph_constants(graph, many, LARGE), &one};
        const CadNumbers doubled[3] = {{0, &one}, all, {cad_graph_constant(graph, 2.0), &none}};
        const CadId kept = cad_graph_map(graph, CAD_OP_multiply, LARGE, 1, &large, 3, doubled);
        CHECK(!cad_graph_is_constant(graph, kept, &value));
        const CadNumbers added[2] = {{0, &none}, all};
        const CadId total = cad_graph_map(graph, CAD_OP_SUM, 1, 1, &large, 2, added);
        CHECK(cad_graph_is_constant(graph, total, &value) == optimize);
        CHECK(graph->status == CAD_OK);
        cad_graph_free(graph);
    }
}

static void a_graph_that_is_full_says_so(void) {
    CadGraph *const graph = cad_graph_new(1);
    const size_t left = CAD_MOST_SLOTS - graph->n_numbers;
    const CadGraphMark mark = cad_graph_mark(graph);
    CHECK(cad_graph_input(graph, left + 1, 0) == CAD_ZERO);
    CHECK(graph->status == CAD_TAPE_FULL);
    cad_graph_rewind(graph, &mark);
    cad_graph_input(graph, left - 1, 0);
    CHECK(cad_graph_constant(graph, 2.0) == CAD_MOST_SLOTS - 1);
    CHECK(graph->status == CAD_OK);
    CHECK(cad_graph_constant(graph, 3.0) == CAD_ZERO);
    CHECK(graph->status == CAD_TAPE_FULL);
    cad_graph_free(graph);
}

static const double special[] = {0.0,    -0.0, 1.0,   -1.0,   0.5,    3.0,       -2.5,    7e300,
                                 1e-300, NAN,  4e307, -7e307, 5e-324, -INFINITY, INFINITY};
enum { SPECIAL = sizeof special / sizeof special[0] };

/* Each binary operation with a constant on either side, and of a number with itself; whole powers
 * alone may differ in the last digits. */
static void what_is_folded_is_exact(void) {
    static const CadOp ops[] = {CAD_OP_add,   CAD_OP_subtract, CAD_OP_multiply, CAD_OP_divide,
                                CAD_OP_power, CAD_OP_amul,     CAD_OP_maximum,  CAD_OP_minimum,
                                CAD_OP_less,  CAD_OP_equal,    CAD_OP_not_equal};
    static const double constants[] = {0.0, -0.0, 1.0,   -1.0,     2.0, 0.5, 4.0,  3.0,  -2.0,
                                       NAN, 0.3,  1e300, INFINITY, 5.0, 6.0, 11.0, 16.0, 17.0};
    for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
        for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
            for (int way = 0; way < 5; way++) {
                CadGraph *const graph = cad_graph_new(1);
                const CadId x = cad_graph_input(graph, 1, 0);
                const CadId c = cad_graph_constant(graph, constants[i]);
                const CadId minus = apply(graph, CAD_OP_negative, x, x);
                const CadId twice =
                    apply(graph, CAD_OP_multiply, x, cad_graph_constant(graph, 4.0));
                const CadId root = way == 0   ? apply(graph, ops[k], x, c)
                                   : way == 1 ? apply(graph, ops[k], c, x)
                                   : way == 2 ? apply(graph, ops[k], minus, c)
                                   : way == 3 ? apply(graph, ops[k], twice, c)
                                              : apply(graph, ops[k], x, minus);
                CadProgram *const program = make_program(graph, &x, 1, &root, 1);
                for (int j = 0; j < SPECIAL; j++) {
                    const double v = special[j];
                    const double a = way == 1   ? constants[i]
                                     : way == 2 ? -v
                                     : way == 3 ? 4.0 * v
                                                : v;
                    const double b = way == 1 ? v : way == 4 ? -v : constants[i];
                    const double expected = cad_op_value(ops[k], a, b, b);
                    double found;
                    CHECK(run(program, &v, &found) == -1);
                    if (ops[k] == CAD_OP_power) {
                        CHECK_NEAR(found, expected, 2e-15 * fabs(expected));
                    } else if (isnan(expected) || ops[k] == CAD_OP_amul) { /* signs of zeros */
                        CHECK_SAME(found, expected);
                    } else {
                        CHECK_BITS(found, expected);
                    }
                }
                cad_program_free(program);
                cad_graph_free(graph);
            }
        }
    }
}

/* --- sizes --- */

/* sin(x_i) x_{n-1-i}, and the sum of them: singles, vectors, tiles, and long chains. */
static void programs_of_all_sizes(void) {
    static const size_t sizes[] = {1, 2, 7, 8, 9, 23, 24, 25, 100, 1023, 1024, 1025, 2048, 5000};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const size_t n = sizes[k];
        double *const inputs = test_memory(n, sizeof *inputs);
        double *const results = test_memory(n + 1, sizeof *results);
        CadId *const roots = test_memory(n + 1, sizeof *roots);
        for (size_t i = 0; i < n; i++) {
            inputs[i] = 0.1 + (double)i / (double)n;
        }
        for (int optimize = 0; optimize < 2; optimize++) {
            CadGraph *const graph = cad_graph_new(optimize);
            const CadId x = cad_graph_input(graph, n, 0);
            double sum = 0.0;
            roots[n] = cad_graph_constant(graph, 0.0);
            for (size_t i = 0; i < n; i++) {
                const CadId sine = apply(graph, CAD_OP_sin, x + (CadId)i, x);
                roots[i] = apply(graph, CAD_OP_multiply, sine, x + (CadId)(n - 1 - i));
                roots[n] = apply(graph, CAD_OP_add, roots[n], roots[i]);
            }
            CadProgram *const program = make_program(graph, &x, 1, roots, n + 1);
            CHECK(run(program, inputs, results) == -1);
            for (size_t i = 0; i < n; i++) {
                const double expected = sin(inputs[i]) * inputs[n - 1 - i];
                CHECK_NEAR(results[i], expected, 1e-15);
                sum += expected;
            }
            CHECK_NEAR(results[n], sum, 1e-14 * sum);
            CHECK(cad_program_bytes(program) > 0);
            cad_program_free(program);
            cad_graph_free(graph);
        }
        free(inputs);
        free(results);
        free(roots);
    }
}

/* --- guards, and many points --- */

/* x y if x < y was 1, with a guard that says so; then many points of which some miss it. */
static void guards_are_looked_at(void) {
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, 2, 0);
    const CadId less = apply(graph, CAD_OP_less, x, x + 1);
    const CadId equal = apply(graph, CAD_OP_equal, x, x + 1);
    const CadId root = apply(graph, CAD_OP_multiply, x, x + 1);
    CHECK(cad_graph_guard(graph, less, 1.0) == CAD_OK);
    CHECK(cad_graph_guard(graph, equal, 0.0) == CAD_OK);
    CHECK(cad_graph_guard(graph, cad_graph_constant(graph, 1.0), 1.0) == CAD_OK);
    CadProgram *const program = make_program(graph, &x, 1, &root, 1);
    double result = 7.0;
    const double up[2] = {2.0, 3.0}, down[2] = {3.0, 2.0}, tie[2] = {2.0, 2.0}, none[2] = {NAN, 2};
    CHECK(run(program, up, &result) == -1);
    CHECK_SAME(result, 6.0);
    result = 7.0;
    CHECK(run(program, down, &result) == 0);
    CHECK(run(program, tie, &result) >= 0);
    CHECK(run(program, none, &result) == 0);
    CHECK_SAME(result, 7.0);
    cad_program_free(program);

    CadProgram *many = NULL;
    CHECK(cad_program_make(graph, CAD_AT_MANY_POINTS, &x, 1, 0, &root, 1, &many) == CAD_OK);
    enum { POINTS = 3 * LANES + 5 };
    double own[POINTS], heads[2 * POINTS];
    uint8_t missed[POINTS] = {0};
    const double shared = 2.0;
    for (int i = 0; i < POINTS; i++) {
        own[i] = i % 5 == 4 ? NAN : 0.125 * i;
    }
    /* Results are not beside each other. */
    const CadColumns from = {own, 1, 1}, nothing_and_to[] = {{NULL, 0, 0}, {heads, 2, 1}};
    const CadPoints points = {&from, 1, 1, &shared, nothing_and_to, missed};
    for (size_t lanes = 1; lanes <= LANES; lanes *= 4) {
        double *const room = test_memory(cad_program_room(many, lanes) + 1, sizeof *room);
        cad_program_prepare_points(many, lanes, room, &points);
        memset(missed, 0, sizeof missed);
        size_t n_missed = cad_program_run_points(many, lanes, room, &points, 0, 7);
        n_missed += cad_program_run_points(many, lanes, room, &points, 7, POINTS);
        size_t expected = 0;
        for (int i = 0; i < POINTS; i++) {
            const int misses = !(own[i] < shared);
            expected += (size_t)misses;
            CHECK_COUNT(missed[i], (size_t)misses);
            if (!misses) {
                CHECK_SAME(heads[2 * i], own[i] * shared);
            }
        }
        CHECK_COUNT(n_missed, expected);
        free(room);
    }
    cad_program_free(many);
    cad_graph_free(graph);
}

/* A loop whose every turn is guarded: checks follow soon after what they compare, in the order of
 * the guards, and what stood there can be asked for. */
static void a_miss_ends_where_it_is_met(void) {
    enum { TURNS = 500 };
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, 2, 0);
    CadId root = x;
    for (int i = 0; i < TURNS; i++) {
        root = apply(graph, CAD_OP_add, apply(graph, CAD_OP_sin, root, CAD_NO_ID), x);
        CHECK(cad_graph_guard(graph, apply(graph, CAD_OP_less, root, x + 1), 1.0) == CAD_OK);
    }
    CadProgram *const program = make_program(graph, &x, 1, &root, 1);
    size_t n_compared = 0, n_comparisons = 0;
    for (size_t k = 0; k < program->n_code; k++) {
        if (program->code[k].kind == CAD_COMPARE) {
            n_compared += program->code[k].n;
            n_comparisons++;
        }
    }
    CHECK_COUNT(n_compared, TURNS);
    CHECK(n_comparisons > 5 && n_comparisons < 50);
    CHECK(program->code[program->n_code - 1].kind == CAD_COMPARE);

    double *const room = test_memory(cad_program_room(program, 1) + 1, sizeof *room);
    cad_program_prepare(program, room);
    double *const places = cad_program_places(program, room);
    for (double bound = 0.125; bound < 4.0; bound += 0.125) {
        places[0] = 1.0;
        places[1] = bound;
        double now = 1.0;
        long expected = -1;
        for (int i = 0; i < TURNS && expected < 0; i++) {
            now = sin(now) + 1.0;
            expected = now < bound ? -1 : i;
        }
        CHECK(cad_program_run(program, room) == expected);
        CHECK(expected < 0 || cad_program_outcome(program, room, expected) == 0.0);
    }
    free(room);
    cad_program_free(program);
    cad_graph_free(graph);
}

/* --- machine code --- */

static long three_times(double *shared, double *own) {
    own[1] = 3.0 * shared[0];
    return own[1] > 3.0 ? 7 : -1;
}

/* A function in the place of instructions finds numbers at their places, and leaves them there;
 * what it answers is the answer. Without memory all is as before. */
static void machine_code_is_one_instruction(void) {
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, 1, 0);
    const CadId root = apply(graph, CAD_OP_sin, x, CAD_NO_ID);
    CadProgram *const program = make_program(graph, &x, 1, &root, 1);
    double *const room = test_memory(cad_program_room(program, 1) + 1, sizeof *room);
    double *const places = cad_program_places(program, room);
    double result = 0.0;
    cad_program_prepare(program, room);
    const CadMachinePiece piece = {0, program->n_code, three_times};
    CadStatus status = CAD_NO_MEMORY;
    long granted = 0;
    CHECK(cad_program_set_machine(program, 1, &piece, 0) == CAD_OK && program->machine == NULL);
    for (; status != CAD_OK && granted < GRANTED; granted++) {
        CHECK(program->machine == NULL);
        places[0] = 0.5;
        CHECK(cad_program_run(program, room) == -1);
        cad_program_read(program, room, &result);
        CHECK_SAME(result, sin(0.5));
        cad_memory_fail_after(granted);
        status = cad_program_set_machine(program, 1, &piece, 1);
        cad_memory_fail_after(-1);
    }
    CHECK(granted > 1 && granted < GRANTED);
    for (int is_used = 0; is_used < 2; is_used++) {
        places[0] = 0.5;
        cad_program_use_machine(program, is_used);
        CHECK(cad_program_run(program, room) == -1);
        cad_program_read(program, room, &result);
        CHECK_SAME(result, is_used ? 1.5 : sin(0.5));
    }
    places[0] = 2.0;
    CHECK(cad_program_run(program, room) == 7);
    CadMachine *const before = program->machine;
    CHECK(cad_program_set_machine(program, 1, &piece, 1) == CAD_OK && program->machine == before);
    free(room);
    cad_program_free(program);
    cad_graph_free(graph);
}

static long twice_in_lanes(double *shared, double *own, long lanes) {
    (void)shared;
    for (long lane = 0; lane < lanes; lane++) {
        own[lanes + lane] = 2.0 * own[lane];
    }
    return -1;
}

/* Machine code for many points has as many lanes as it was written for, or as fit its arrays; with
 * others the instructions are carried out. */
static void machine_code_has_lanes_of_its_own(void) {
    enum { POINTS = 5, AT_LEAST = 16, MORE = CAD_MACHINE_LANES + 8 };
    static const struct {
        size_t of, lanes;
        int serves;
    } cases[] = {
        {0, 1, 0},         {0, 8, 1},        {0, CAD_MACHINE_LANES, 1},
        {0, MORE, 0},      {AT_LEAST, 8, 0}, {AT_LEAST, AT_LEAST, 1},
        {AT_LEAST, 24, 0},
    };
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, 1, 0);
    const CadId root = apply(graph, CAD_OP_sin, x, CAD_NO_ID);
    double own[POINTS] = {0.0, 0.25, 0.5, 0.75, 1.0}, results[POINTS];
    uint8_t missed[POINTS];
    const CadColumns from = {own, 1, 1}, to = {results, 1, 1};
    const CadPoints points = {&from, 1, 1, NULL, &to, missed};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        CadProgram *many = NULL;
        CHECK(cad_program_make(graph, CAD_AT_MANY_POINTS, &x, 1, 0, &root, 1, &many) == CAD_OK);
        const CadMachinePiece piece = {0, many->n_code,
                                       (CadMachineCode *)(void (*)(void))twice_in_lanes};
        CHECK(cad_program_set_machine(many, cases[k].of, &piece, 1) == CAD_OK);
        cad_program_use_machine(many, true);
        const size_t lanes = cases[k].lanes;
        double *const room = test_memory(cad_program_room(many, lanes) + 1, sizeof *room);
        cad_program_prepare_points(many, lanes, room, &points);
        CHECK(cad_program_run_points(many, lanes, room, &points, 0, POINTS) == 0);
        for (int i = 0; i < POINTS; i++) {
            CHECK_NEAR(results[i], cases[k].serves ? 2.0 * own[i] : sin(own[i]), 1e-15);
        }
        free(room);
        cad_program_free(many);
    }
    cad_graph_free(graph);
}

/* --- failure --- */

/* A guard on a direction belongs to the part. What is shared and what is not may stand side by
 * side in one lane, as a constant, a point and a direction do here: in others they do not. */
static void what_varies_is_told_from_what_does_not(void) {
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, 1, 0), t = cad_graph_input(graph, 1, 0);
    const CadId three[3] = {cad_graph_constant(graph, 5.0), x, t};
    const CadId packed = cad_graph_pack(graph, three, 3);
    const CadId root[3] = {packed, packed + 1, packed + 2};
    const CadId guarded = apply(graph, CAD_OP_less, t, cad_graph_constant(graph, 10.0));
    const CadId kept = apply(graph, CAD_OP_less, x, cad_graph_constant(graph, 10.0));
    CHECK(cad_graph_guard(graph, guarded, 1.0) == CAD_OK);
    CHECK(cad_graph_guard(graph, kept, 1.0) == CAD_OK);
    CadId ends[3];
    CadPart part;
    memcpy(ends, root, sizeof ends);
    CHECK(cad_graph_split(graph, t, ends, 3, &part) == CAD_OK);
    CHECK_COUNT(part.n_given, 1);
    CHECK_COUNT(part.graph->n_guards, 1);
    CHECK_COUNT(graph->n_guards, 1);
    CHECK_COUNT(graph->guards[0].id, kept);
    const CadId inputs[2] = {part.inputs, part.own};
    CadProgram *program = NULL;
    CHECK(cad_program_make(part.graph, CAD_ALONG_DIRECTIONS, inputs, 2, 1, ends, 3, &program) ==
          CAD_OK);
    const double own[4] = {1.0, 2.0, 3.0, 20.0};
    double results[12];
    const CadDirections directions = {.own = own, .results = results};
    double *const room = test_memory(cad_program_room(program, 3), sizeof *room);
    cad_program_prepare(program, room);
    *cad_program_places(program, room) = 7.0;
    CHECK(cad_program_run_along(program, 3, room, &directions, 0, 3) == -1);
    for (int k = 0; k < 3; k++) {
        CHECK_SAME(results[3 * k], 5.0);
        CHECK_SAME(results[3 * k + 1], 7.0);
        CHECK_SAME(results[3 * k + 2], own[k]);
    }
    CHECK(cad_program_run_along(program, 3, room, &directions, 1, 4) == 0);
    free(room);
    cad_program_free(program);
    cad_graph_free(part.graph);
    cad_memory_free(part.given);
    cad_graph_free(graph);
}

/* y - y is 0 whatever y is, but for infinities: then the coefficient of a chain is one 0 for all,
 * which the part is to have numbers in a row of. */
static void chains_that_cancel_are_zeros_in_a_row(void) {
    enum { N = 3 };
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, N, 0), t = cad_graph_input(graph, N, 0);
    const CadId none = map_rows(graph, CAD_OP_subtract, N, t, t);
    CadId ends[N];
    CadPart part;
    name_row(ends, map_rows(graph, CAD_OP_amul, N, none, x), N);
    CHECK(cad_graph_split(graph, t, ends, N, &part) == CAD_OK);
    for (int k = 0; k < N; k++) {
        double value = 1.0;
        CHECK(cad_graph_is_constant(part.graph, ends[k], &value));
        CHECK_SAME(value, 0.0);
    }
    cad_graph_free(part.graph);
    cad_memory_free(part.given);
    cad_graph_free(graph);
}

enum { ROWS = 40, COLUMNS = 3, PICKED = 5 };

/* Rows of x at indices, squared and added up, in a graph of its own. */
typedef struct Indexed {
    CadGraph *graph;
    CadId x, index, direction, taken, sum;
} Indexed;

static Indexed graph_by_index(int64_t stride) {
    enum { N = ROWS * COLUMNS };
    CadGraph *const graph = cad_graph_new(1);
    Indexed made = {.graph = graph};
    if (graph == NULL) {
        return made;
    }
    made.x = cad_graph_input(graph, N, 0);
    made.index = cad_graph_input(graph, PICKED, 0);
    made.direction = cad_graph_input(graph, N, 0);
    const CadId first = stride > 0 ? made.x : made.x + (ROWS - 1) * COLUMNS;
    const int64_t shape[2] = {PICKED, COLUMNS}, row[2] = {0, 1}, along[2] = {1, 0};
    const int64_t in_order[2] = {COLUMNS, 1}, all[2] = {0, 0};
    const CadMade taking = {.kind = CAD_RECORD_TAKE,
                            .size = PICKED * COLUMNS,
                            .ndim = 2,
                            .shape = shape,
                            .n_views = 3,
                            .views = {{0, in_order}, {first, row}, {made.index, along}},
                            .length = ROWS,
                            .stride = stride * COLUMNS};
    made.taken = cad_graph_make(graph, graph, &taking);
    const CadNumbers squaring[2] = {{0, in_order}, {made.taken, in_order}};
    const CadId squares =
        cad_graph_map(graph, CAD_OP_square, PICKED * COLUMNS, 2, shape, 2, squaring);
    const CadNumbers adding[2] = {{0, all}, {squares, in_order}};
    made.sum = cad_graph_map(graph, CAD_OP_SUM, 1, 2, shape, 2, adding);
    return made;
}

/* The program gives the sum, its gradient by x, and the product of its Hessian and a direction. */
static CadStatus program_by_index(const Indexed *of, CadProgram **program) {
    enum { N = ROWS * COLUMNS };
    CadGraph *const graph = of->graph;
    CadId wrt[N], given[N], roots[1 + 2 * N] = {of->sum};
    const CadId seed = cad_graph_constant(graph, 1.0);
    name_row(wrt, of->x, N);
    name_row(given, of->direction, N);
    CadStatus status = graph->status;
    if (status == CAD_OK) {
        status = cad_graph_pull(graph, &of->sum, &seed, 1, wrt, N, roots + 1);
    }
    if (status == CAD_OK) {
        status = cad_graph_push(graph, wrt, given, N, roots + 1, N, roots + 1 + N);
    }
    if (status == CAD_OK) {
        const CadId inputs[3] = {of->x, of->index, of->direction};
        status = cad_program_make(graph, CAD_AT_A_POINT, inputs, 3, 0, roots, 1 + 2 * N, program);
    }
    return status;
}

/* Derivatives that fail at each request in turn, until there is memory; and then once more. All is
 * one graph, which is what it was each time. */
static CadStatus program_at_last(const Indexed *of, CadProgram **program) {
    const CadGraph *const graph = of->graph;
    const CadGraphMark mark = cad_graph_mark(graph);
    CadStatus status = CAD_NO_MEMORY;
    for (long granted = 0; status != CAD_OK && granted < GRANTED; granted++) {
        cad_memory_fail_after(granted);
        status = program_by_index(of, program);
        cad_memory_fail_after(-1);
        CHECK(status == CAD_OK || (status == CAD_NO_MEMORY && *program == NULL));
        if (status == CAD_OK) {
            cad_program_free(*program);
            *program = NULL;
        }
        cad_graph_rewind(of->graph, &mark);
        const CadGraphMark now = cad_graph_mark(graph);
        CHECK(graph->status == CAD_OK);
        CHECK_COUNT(now.n_records, mark.n_records);
        CHECK_COUNT(now.n_runs, mark.n_runs);
        CHECK_COUNT(now.n_arrays, mark.n_arrays);
        CHECK_COUNT(now.n_words, mark.n_words);
        CHECK_COUNT(now.n_lists, mark.n_lists);
        CHECK_COUNT(now.n_constants, mark.n_constants);
        CHECK_COUNT(now.n_guards, mark.n_guards);
        CHECK_COUNT(now.n_numbers, mark.n_numbers);
        CHECK_COUNT(graph->n_known, mark.n_records - 4); /* without none and the inputs */
    }
    CHECK(status == CAD_OK);
    return program_by_index(of, program);
}

static void rows_are_taken_at_indices(void) {
    enum { N = ROWS * COLUMNS };
    for (int64_t stride = -1; stride <= 1; stride += 2) {
        CadProgram *program = NULL;
        const Indexed indexed = graph_by_index(stride);
        CHECK(program_at_last(&indexed, &program) == CAD_OK);
        cad_graph_free(indexed.graph);
        CHECK_COUNT(program->n_referred, 2); /* x and the direction */
        double inputs[2 * N + PICKED], results[1 + 2 * N], counts[ROWS] = {0.0}, sum = 0.0;
        const double index[PICKED] = {3.0, -1.0, 0.0, 3.0, -ROWS};
        for (int k = 0; k < N; k++) {
            inputs[k] = sin(k);
            inputs[N + PICKED + k] = cos(k);
        }
        memcpy(inputs + N, index, sizeof index);
        for (int k = 0; k < PICKED; k++) {
            const int at = (int)index[k] + (index[k] < 0.0 ? ROWS : 0);
            counts[stride > 0 ? at : ROWS - 1 - at] += 1.0;
        }
        CHECK(run(program, inputs, results) == -1);
        for (int k = 0; k < N; k++) {
            const double count = counts[k / COLUMNS];
            sum += count * inputs[k] * inputs[k];
            CHECK_NEAR(results[1 + k], 2.0 * count * inputs[k], 1e-12);
            CHECK_NEAR(results[1 + N + k], 2.0 * count * inputs[N + PICKED + k], 1e-12);
        }
        CHECK_NEAR(results[0], sum, 1e-12);
        const double outside[4] = {ROWS, -ROWS - 1.0, NAN, INFINITY};
        for (int k = 0; k < 4; k++) {
            inputs[N + 1] = outside[k];
            CHECK(run(program, inputs, results) == CAD_OUT_OF_BOUNDS);
        }
        cad_program_free(program);
    }
}

/* The gradient of the sum of the squares of elements of sin x, in any order; one of them may be
 * exp x[0] instead, at a place that is below 0 if there is none. */
static void check_picked(int step, int n_apart, int place_of_other) {
    enum { N = 80, MANY = 36 };
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, N, 0), seed = cad_graph_constant(graph, 1.0);
    const CadId y = map_rows(graph, CAD_OP_sin, N, x, x);
    double inputs[N], results[N], expected[N] = {0.0};
    CadId ids[MANY], wrt[N], gradient[N];
    name_row(wrt, x, N);
    for (int k = 0; k < N; k++) {
        inputs[k] = 0.1 * k;
    }
    for (int k = 0; k < MANY; k++) {
        const int at = ((k * step + k / n_apart) % N + N) % N;
        ids[k] = y + (CadId)at;
        if (k == place_of_other) {
            ids[k] = cad_graph_apply(graph, CAD_OP_exp, x, CAD_NO_ID, CAD_NO_ID);
            expected[0] += 2.0 * exp(2.0 * inputs[0]);
        } else {
            expected[at] += 2.0 * sin(inputs[at]) * cos(inputs[at]);
        }
    }
    const CadId picked = cad_graph_pack(graph, ids, MANY);
    const CadId sum = sum_of(graph, MANY, map_rows(graph, CAD_OP_square, MANY, picked, picked));
    CHECK(cad_graph_pull(graph, &sum, &seed, 1, wrt, N, gradient) == CAD_OK);
    CadProgram *const program = make_program(graph, &x, 1, gradient, N);
    CHECK(run(program, inputs, results) == -1);
    for (int k = 0; k < N; k++) {
        CHECK_NEAR(results[k], expected[k], 1e-14);
    }
    cad_program_free(program);
    cad_graph_free(graph);
}

static void what_is_picked_out_hands_back_what_it_receives(void) {
    enum { EVEN = 1000 };
    const int steps[5] = {1, 2, -1, 7, 0};
    for (int i = 0; i < 5; i++) {
        for (int place_of_other = -1; place_of_other < 3; place_of_other++) {
            check_picked(steps[i], EVEN, place_of_other);
            check_picked(steps[i], 5, place_of_other);
        }
    }
}

/* Of all that a graph can have nothing is left when it is taken back, and what is made then is
 * called what it was called before. */
static CadId one_of_each_kind(CadGraph *graph, CadId x) {
    const int64_t shape[1] = {2}, in_order[1] = {1};
    const double values[2] = {3.0, 4.0};
    const CadId ids[2] = {x + 1, x}, places[2] = {1, 0};
    const CadNumbers source = {x, in_order};
    const CadNumbers views[3] = {{0, in_order}, source, {cad_graph_input(graph, 2, 0), in_order}};
    cad_graph_constants(graph, values, 2);
    const CadId pack = cad_graph_pack(graph, ids, 2);
    const CadId map = cad_graph_map(graph, CAD_OP_add, 2, 1, shape, 3, views);
    CadMade made = {.kind = CAD_RECORD_ADD_TO,
                    .former = map,
                    .size = 2,
                    .ndim = 1,
                    .shape = shape,
                    .n_views = 2,
                    .views = {views[0], source}};
    made.former = cad_graph_make(graph, graph, &made);
    made.kind = CAD_RECORD_ADD_AT;
    made.places = places;
    made.n_views = 1;
    made.views[0] = source;
    const CadId at = cad_graph_make(graph, graph, &made);
    made = (CadMade){.kind = CAD_RECORD_TAKE,
                     .size = 2,
                     .ndim = 1,
                     .shape = shape,
                     .n_views = 3,
                     .views = {views[0], views[1], views[2]},
                     .length = 1,
                     .stride = 1};
    cad_graph_make(graph, graph, &made);
    cad_graph_call(graph, 0, pack, 2, 2);
    const CadId single =
        cad_graph_apply(graph, CAD_OP_multiply, at, cad_graph_constant(graph, 5.0), CAD_NO_ID);
    CHECK(cad_graph_guard(graph, single, 1.0) == CAD_OK);
    return single;
}

static void all_is_taken_back(void) {
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, 2, 0);
    const CadGraphMark mark = cad_graph_mark(graph);
    const CadId single = one_of_each_kind(graph, x);
    const CadGraphMark all = cad_graph_mark(graph);
    cad_graph_rewind(graph, &mark);
    const CadGraphMark now = cad_graph_mark(graph);
    CHECK(memcmp(&now, &mark, offsetof(CadGraphMark, n_numbers)) == 0);
    CHECK_COUNT(now.n_numbers, mark.n_numbers);
    CHECK(one_of_each_kind(graph, x) == single);
    const CadGraphMark again = cad_graph_mark(graph);
    CHECK(memcmp(&again, &all, offsetof(CadGraphMark, n_numbers)) == 0);
    CHECK_COUNT(again.n_numbers, all.n_numbers);
    cad_graph_free(graph);
}

/* What the first records are they are in the copy, and the ends are what later ones use. */
static void a_beginning_is_a_copy(void) {
    enum { KEPT = 8 };
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, 2, 0);
    const CadId a = cad_graph_apply(graph, CAD_OP_sin, x, CAD_NO_ID, CAD_NO_ID);
    const CadId b = cad_graph_apply(graph, CAD_OP_multiply, a, x + 1, CAD_NO_ID);
    const CadId two = cad_graph_constant(graph, 2.0);
    const CadId c = cad_graph_apply(graph, CAD_OP_add, b, two, CAD_NO_ID);
    const CadId d = cad_graph_apply(graph, CAD_OP_exp, c, CAD_NO_ID, CAD_NO_ID);
    CHECK_COUNT(graph->n_records, KEPT);
    cad_graph_apply(graph, CAD_OP_multiply, a, d, CAD_NO_ID);
    cad_graph_apply(graph, CAD_OP_add, b, cad_graph_constant(graph, 3.0), CAD_NO_ID);
    CadId ends[KEPT];
    size_t n_ends = 0;
    CadGraph *copy = NULL;
    CadStatus status = CAD_NO_MEMORY;
    for (long granted = 0; status != CAD_OK && granted < GRANTED; granted++) {
        cad_graph_free(copy);
        cad_memory_fail_after(granted);
        status = cad_graph_beginning(graph, KEPT, &copy, ends, &n_ends);
        cad_memory_fail_after(-1);
    }
    CHECK(status == CAD_OK);
    CHECK_COUNT(copy->n_records, KEPT);
    CHECK_COUNT(copy->n_numbers, KEPT + 1);
    CHECK(memcmp(copy->records, graph->records, KEPT * sizeof *copy->records) == 0);
    CHECK_COUNT(n_ends, 3);
    CHECK(ends[0] == a && ends[1] == b && ends[2] == d);
    cad_graph_free(copy);
    cad_graph_free(graph);
}

/* Copies of variables are found, and told from copies of what is none; or memory is wanting. */
static void copies_have_origins(void) {
    enum { N = 3, SIZE = 4 };
    CadGraph *const graph = cad_graph_new(1);
    const CadId x = cad_graph_input(graph, N, 0), other = cad_graph_input(graph, 1, 0);
    const CadId ids[SIZE] = {x + 2, other, x, x + 2}, unused[2] = {x, x + 1};
    const CadId packed = cad_graph_pack(graph, ids, SIZE);
    cad_graph_pack(graph, unused, 2);
    const CadId output = map_rows(graph, CAD_OP_sin, SIZE, packed, packed);
    const CadId wrt[N] = {x, x + 1, x + 2};
    CadStatus status = CAD_NO_MEMORY;
    CadId *copies = NULL;
    uint32_t *origins = NULL;
    size_t n = 0;
    long granted = 0;
    for (; status != CAD_OK && granted < GRANTED; granted++) {
        cad_memory_fail_after(granted);
        status = cad_graph_copies(graph, wrt, N, &output, 1, &copies, &origins, &n);
        cad_memory_fail_after(-1);
        CHECK(status == CAD_OK || (status == CAD_NO_MEMORY && copies == NULL && origins == NULL));
    }
    CHECK(status == CAD_OK);
    CHECK_COUNT((size_t)granted, 5); /* four requests, each of which was refused */
    CHECK_COUNT(n, 3);
    CHECK(copies[0] == packed && copies[1] == packed + 2 && copies[2] == packed + 3);
    CHECK(origins[0] == 2 && origins[1] == 0 && origins[2] == 2);
    cad_memory_free(copies);
    cad_memory_free(origins);
    cad_graph_free(graph);
}

/* All of it, from reading to a program for the derivatives. */
static CadStatus all_steps(GraphCase *c, CadId *room, CadProgram **program) {
    *program = NULL;
    CadStatus status = read_graph(c, 1);
    if (status != CAD_OK) {
        return status;
    }
    CadId *const wrt = room, *const results = room + c->n, *const seeds = room + 2 * c->n;
    name_row(wrt, c->input, c->n);
    for (size_t i = 0; i < c->m; i++) {
        seeds[i] = cad_graph_constant(c->graph, 1.0);
    }
    status = cad_graph_guard(c->graph, c->outputs[0], 1.0);
    if (status == CAD_OK) {
        status = cad_graph_pull(c->graph, c->outputs, seeds, c->m, wrt, c->n, results);
    }
    const CadId direction = status == CAD_OK ? cad_graph_input(c->graph, c->n, 0) : 0;
    if (status == CAD_OK && (status = c->graph->status) == CAD_OK) {
        CadId *const along = room + 2 * c->n + MOST_OUTPUTS;
        name_row(along, direction, c->n);
        status = cad_graph_push(c->graph, wrt, along, c->n, results, c->n, seeds + MOST_OUTPUTS);
    }
    if (status == CAD_OK) {
        const CadId inputs[2] = {c->input, direction};
        status = cad_program_make(c->graph, CAD_AT_A_POINT, inputs, 2, 0, results, c->n, program);
    }
    if (status == CAD_OK) {
        CadPart part;
        status = cad_graph_split(c->graph, direction, seeds + MOST_OUTPUTS, c->n, &part);
        cad_graph_free(part.graph);
        cad_memory_free(part.given);
    }
    if (status == CAD_OK) {
        CadGraph *const other = cad_graph_new(1);
        uint8_t reached[MOST_OUTPUTS];
        status = other == NULL ? CAD_NO_MEMORY : CAD_OK;
        if (status == CAD_OK) {
            const CadId first = cad_graph_input(other, c->n, 0);
            for (size_t j = 0; j < c->n; j++) {
                results[j] = first + (CadId)(c->n - 1 - j);
            }
            status = other->status;
        }
        if (status == CAD_OK) {
            status =
                cad_graph_insert(other, c->graph, wrt, results, c->n, c->outputs, c->m, seeds);
        }
        if (status == CAD_OK) {
            status = cad_graph_reach(other, results, c->n, 0, seeds, c->m, reached);
        }
        cad_graph_free(other);
    }
    if (status != CAD_OK) {
        cad_program_free(*program);
        *program = NULL;
    }
    return status;
}

static CadStatus attempt_graph(long granted, int seed) {
    Twin *const twin = random_twin((uint64_t)seed, 12);
    CadTape *const tape = twin->arrays;
    double *const before = copy_of_values(tape);
    Random random = {(uint64_t)seed};
    GraphCase c = case_of(tape, twin->leaves[0].slot, view_size(twin->leaves[0]), &random);
    CadId *const room = test_memory(4 * c.n + 2 * MOST_OUTPUTS, sizeof *room);
    CadProgram *program;
    cad_memory_fail_after(granted);
    const CadStatus status = all_steps(&c, room, &program);
    CHECK(status == CAD_OK || program == NULL);
    check_kept_values(tape, before);
    cad_program_free(program);
    cad_graph_free(c.graph);
    free(room);
    free(before);
    twin_free(twin);
    return status;
}

static void graphs_survive_want_of_memory(void) {
    for (int seed = 0; seed < 3; seed++) {
        check_want_of_memory(attempt_graph, seed, 20);
    }
}

const Test graph_tests[] = {
    TEST(graphs_of_numbers_are_the_tape),
    TEST(graphs_of_arrays_are_the_tape),
    TEST(values_as_recorded_have_the_same_bits),
    TEST(numbers_know_their_records),
    TEST(equal_numbers_are_one),
    TEST(what_is_kept_apart_is_in_no_table),
    TEST(operations_over_constants_are_constants),
    TEST(a_graph_that_is_full_says_so),
    TEST(what_is_folded_is_exact),
    TEST(programs_of_all_sizes),
    TEST(guards_are_looked_at),
    TEST(a_miss_ends_where_it_is_met),
    TEST(machine_code_is_one_instruction),
    TEST(machine_code_has_lanes_of_its_own),
    TEST(what_varies_is_told_from_what_does_not),
    TEST(chains_that_cancel_are_zeros_in_a_row),
    TEST(rows_are_taken_at_indices),
    TEST(what_is_picked_out_hands_back_what_it_receives),
    TEST(all_is_taken_back),
    TEST(a_beginning_is_a_copy),
    TEST(copies_have_origins),
    TEST(graphs_survive_want_of_memory),
    END_OF_TESTS,
};
