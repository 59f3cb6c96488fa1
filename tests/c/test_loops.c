/* Recurrences: found on a tape, whatever they are made of; written down and read again; and all of
 * it survives want of memory. */
#include "arrays/arrays.h"
#include "graph/graph.h"
#include "loops/loops.h"
#include "program/program.h"

#include "check.h"
#include "on_graph.h"
#include "replay.h"

#include <math.h>
#include <stdlib.h>

enum { TURNS = 60, LEAST = 60 };

static const double POINT[3] = {0.3, 0.8, -0.4};

/* u, v = sin u + 0.1 x2 t, u v; s += v / (1 + u u): recorded turn by turn. Answers s + v. */
static CadSlot record(CadTape *tape, CadSlot x) {
    CadSlot u = x, v = x + 1, s = x + 2;
    const CadSlot w = x + 2;
    for (int t = 0; t < TURNS; t++) {
        const CadSlot sine = append1(tape, CAD_OP_sin, u);
        const CadSlot moved =
            append2(tape, CAD_OP_multiply, variable(tape, w), constant(0.001 * t));
        const CadSlot next =
            append2(tape, CAD_OP_add, variable(tape, sine), variable(tape, moved));
        v = append2(tape, CAD_OP_multiply, variable(tape, u), variable(tape, v));
        u = next;
        const CadSlot square = append1(tape, CAD_OP_square, u);
        const CadSlot below = append2(tape, CAD_OP_add, variable(tape, square), constant(1.0));
        const CadSlot term =
            append2(tape, CAD_OP_divide, variable(tape, v), variable(tape, below));
        s = append2(tape, CAD_OP_add, variable(tape, s), variable(tape, term));
    }
    return append2(tape, CAD_OP_add, variable(tape, s), variable(tape, v));
}

/* --- the same of arrays --- */

enum { SIZE = 30 };

static CadSlot push_over(CadTape *tape, CadOp op, CadPlace x, CadPlace y, int64_t step) {
    static const int64_t size = SIZE;
    const CadRequest request = {.op = op,
                                .ndim = 1,
                                .shape = &size,
                                .n_views = y.strides != NULL ? 3 : 2,
                                .views = {{CAD_OWN, &step}, x, y},
                                .slots = step != 0 ? SIZE : 1,
                                .index = -1};
    CadSlot out = 0;
    CHECK(cad_array_push(tape, &request, &out) == CAD_OK);
    return out;
}

/* v = sin(u) + 0.1 v[::-1], u = u cos(v) x2, and a term of a sum of all numbers of u v. */
static CadSlot record_arrays(CadTape *tape, CadSlot x) {
    static const int64_t row = 1, back = -1, one = 0;
    const CadPlace none = {0, NULL};
    CadSlot u = push_over(tape, CAD_OP_add, (CadPlace){x, &one}, (CadPlace){x + 1, &one}, 1);
    CadSlot v = push_over(tape, CAD_OP_multiply, (CadPlace){x, &one}, (CadPlace){u, &row}, 1);
    CadSlot s = x + 2;
    for (int t = 0; t < TURNS; t++) {
        const CadSlot sine = push_over(tape, CAD_OP_sin, (CadPlace){u, &row}, none, 1);
        const CadSlot moved = push_over(tape, CAD_OP_multiply, (CadPlace){x + 1, &one},
                                        (CadPlace){v + SIZE - 1, &back}, 1);
        v = push_over(tape, CAD_OP_add, (CadPlace){sine, &row}, (CadPlace){moved, &row}, 1);
        const CadSlot cosine = push_over(tape, CAD_OP_cos, (CadPlace){v, &row}, none, 1);
        const CadSlot scaled =
            push_over(tape, CAD_OP_multiply, (CadPlace){cosine, &row}, (CadPlace){x + 2, &one}, 1);
        const CadSlot square = push_over(tape, CAD_OP_square, (CadPlace){scaled, &row}, none, 1);
        const CadSlot less = push_over(tape, CAD_OP_subtract, (CadPlace){scaled, &row},
                                       (CadPlace){square, &row}, 1);
        u = push_over(tape, CAD_OP_multiply, (CadPlace){u, &row}, (CadPlace){less, &row}, 1);
        const CadSlot product =
            push_over(tape, CAD_OP_multiply, (CadPlace){u, &row}, (CadPlace){v, &row}, 1);
        const CadSlot term = push_over(tape, CAD_OP_SUM, (CadPlace){product, &row}, none, 0);
        s = append2(tape, CAD_OP_add, variable(tape, s), variable(tape, term));
    }
    return s;
}

typedef CadSlot Record(CadTape *tape, CadSlot x);

/* --- what they are --- */

static double by_hand(const double *x) {
    double u = x[0], v = x[1], s = x[2];
    for (int t = 0; t < TURNS; t++) {
        const double next = sin(u) + 0.001 * t * x[2];
        v = u * v;
        u = next;
        s += v / (1.0 + u * u);
    }
    return s + v;
}

static double slope_by_hand(int k) {
    const double step = 1e-5;
    double low[3], high[3];
    for (int i = 0; i < 3; i++) {
        low[i] = high[i] = POINT[i];
    }
    low[k] -= step;
    high[k] += step;
    return (by_hand(high) - by_hand(low)) / (2.0 * step);
}

/* What was recorded, and the graph of it. */
typedef struct Case {
    CadTape *tape;
    CadGraph *graph;
    CadId x, output;
} Case;

static CadStatus read_case(Case *c, size_t least) {
    c->graph = cad_graph_new(1);
    if (c->graph == NULL) {
        return CAD_NO_MEMORY;
    }
    const CadId first = cad_graph_input(c->graph, 3, 0);
    const CadId inputs[3] = {first, first + 1, first + 2};
    c->x = first;
    return cad_loops_read(c->graph, c->tape, 0, c->tape->n_entries, inputs, 3, &c->output, 1,
                          least);
}

static Case make_case(Record *of) {
    Case c = {.tape = cad_tape_new()};
    const CadSlot x = append_leaf(c.tape, 3, POINT);
    c.output = of(c.tape, x);
    return c;
}

static void free_case(Case *c) {
    cad_graph_free(c->graph);
    cad_tape_free(c->tape);
}

static size_t count_scans(const CadGraph *graph) {
    size_t n = 0;
    for (size_t i = 1; i < graph->n_records; i++) {
        n += graph->records[i].kind == CAD_RECORD_SCAN;
    }
    return n;
}

static void compute(CadGraph *graph, CadId x, const CadId *roots, size_t n, double *results) {
    CadProgram *const program = make_program(graph, &x, 1, roots, n);
    if (program != NULL) {
        CHECK(run(program, POINT, results) == -1);
        CHECK(cad_program_bytes(program) > 0);
    }
    cad_program_free(program);
}

static void loops_are_found_and_differentiated(void) {
    Case c = make_case(record);
    CHECK(read_case(&c, LEAST) == CAD_OK);
    CHECK_COUNT(count_scans(c.graph), 1);
    CHECK(c.graph->n_records < 2 * TURNS); /* where 8 are recorded in each turn */
    const CadId wrt[3] = {c.x, c.x + 1, c.x + 2}, one = cad_graph_constant(c.graph, 1.0);
    CadId roots[8] = {c.output};
    CHECK(cad_graph_pull(c.graph, &c.output, &one, 1, wrt, 3, roots + 1) == CAD_OK);
    const CadId along[3] = {one, CAD_ZERO, CAD_ZERO};
    CHECK(cad_graph_push(c.graph, wrt, along, 3, &c.output, 1, roots + 4) == CAD_OK);
    CHECK(cad_graph_push(c.graph, wrt, along, 3, roots + 1, 3, roots + 5) == CAD_OK);
    double found[8];
    compute(c.graph, c.x, roots, 8, found);
    CHECK_NEAR(found[0], by_hand(POINT), 1e-14);
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(found[1 + k], slope_by_hand(k), 1e-8);
    }
    CHECK_NEAR(found[4], found[1], 1e-14);
    free_case(&c);
}

/* Second derivatives are symmetric, and those of the same function without loops. */
static void check_with_and_without(Record *of) {
    double found[2][12];
    for (int loops = 0; loops < 2; loops++) {
        Case c = make_case(of);
        CHECK(read_case(&c, loops ? LEAST : 1000000) == CAD_OK);
        CHECK_COUNT(count_scans(c.graph), (size_t)loops);
        const CadId wrt[3] = {c.x, c.x + 1, c.x + 2}, one = cad_graph_constant(c.graph, 1.0);
        CadId roots[12];
        CHECK(cad_graph_pull(c.graph, &c.output, &one, 1, wrt, 3, roots) == CAD_OK);
        for (int k = 0; k < 3; k++) {
            CadId along[3] = {CAD_ZERO, CAD_ZERO, CAD_ZERO};
            along[k] = one;
            CHECK(cad_graph_push(c.graph, wrt, along, 3, roots, 3, roots + 3 + 3 * k) == CAD_OK);
        }
        compute(c.graph, c.x, roots, 12, found[loops]);
        free_case(&c);
    }
    for (int k = 0; k < 12; k++) {
        CHECK_NEAR(found[1][k], found[0][k], 1e-12);
    }
    for (int k = 0; k < 9; k++) {
        CHECK_NEAR(found[1][3 + k], found[1][3 + k % 3 * 3 + k / 3], 1e-12);
    }
}

static void loops_and_no_loops_agree(void) {
    check_with_and_without(record);
    check_with_and_without(record_arrays);
}

static void check_writing(Record *of) {
    double expected;
    Case c = make_case(of);
    CHECK(read_case(&c, LEAST) == CAD_OK);
    CadGraphParts parts = written_parts(c.graph);
    CHECK_COUNT(count_scans(c.graph), 1);
    compute(c.graph, c.x, &c.output, 1, &expected);
    CadGraph *graph = cad_graph_new(1);
    CHECK(cad_graph_restore(graph, &parts, 1) == CAD_OK);
    double found;
    compute(graph, c.x, &c.output, 1, &found);
    CHECK_SAME(found, expected);
    cad_graph_free(graph);
    /* Whatever stands there instead, it is a graph that can be computed, if that does not take too
     * long, or none. */
    size_t scan = 1;
    while (c.graph->records[scan].kind != CAD_RECORD_SCAN) {
        scan++;
    }
    const uint32_t wrong[7] = {0,
                               1,
                               2,
                               60,
                               0x7fffffff,
                               UINT32_MAX,
                               cad_graph_first(c.graph, scan)}; /* which has no value */
    for (size_t k = 0; k < 4 * parts.n_rows + parts.n_words + parts.n_lists; k++) {
        for (int i = 0; i < 7; i++) {
            uint32_t *const place = k < 4 * parts.n_rows ? &parts.records[k]
                                    : k < 4 * parts.n_rows + parts.n_words
                                        ? (uint32_t *)&parts.words[k - 4 * parts.n_rows]
                                        : &parts.lists[k - 4 * parts.n_rows - parts.n_words];
            const uint32_t right = *place;
            *place = wrong[i];
            graph = cad_graph_new(1);
            if (cad_graph_restore(graph, &parts, 1) == CAD_OK && cad_graph_has(graph, c.output) &&
                cad_record_size(&graph->records[2]) == 3 && (of == record || wrong[i] <= TURNS)) {
                compute(graph, cad_graph_first(graph, 2), &c.output, 1, &found);
            }
            cad_graph_free(graph);
            *place = right;
        }
    }
    free_written(&parts);
    free_case(&c);
}

static void loops_are_written_and_read(void) {
    check_writing(record);
    check_writing(record_arrays);
}

/* A turn depends on those before, and results on all of it: no more is known. */
static void check_dependence(Record *of) {
    Case c = make_case(of);
    CadPattern pattern;
    CHECK(read_case(&c, LEAST) == CAD_OK);
    const CadId wrt[3] = {c.x, c.x + 1, c.x + 2};
    CHECK(cad_sparsity(c.graph, wrt, 3, &c.output, 1, &pattern) == CAD_OK);
    CHECK_COUNT(cad_pattern_count(&pattern), 3);
    cad_pattern_free(&pattern);
    free_case(&c);
}

static void what_loops_depend_on(void) {
    check_dependence(record);
    check_dependence(record_arrays);
}

/* y' = y / 2 + x[t]: all that is given differs from turn to turn, and has a derivative. */
static void what_differs_in_each_turn_has_a_derivative_in_each(void) {
    double x[TURNS + 1] = {1.0};
    Case c = {.tape = cad_tape_new()};
    const CadSlot first = append_leaf(c.tape, TURNS + 1, x);
    CadSlot y = first;
    for (CadSlot t = 1; t <= TURNS; t++) {
        const CadSlot half = append2(c.tape, CAD_OP_multiply, variable(c.tape, y), constant(0.5));
        y = append2(c.tape, CAD_OP_add, variable(c.tape, half), variable(c.tape, first + t));
    }
    c.graph = cad_graph_new(1);
    c.x = cad_graph_input(c.graph, TURNS + 1, 0);
    CadId wrt[TURNS + 1], found[TURNS + 1], output = y;
    name_row(wrt, c.x, TURNS + 1);
    CHECK(cad_loops_read(c.graph, c.tape, 0, c.tape->n_entries, wrt, TURNS + 1, &output, 1,
                         LEAST) == CAD_OK);
    CHECK_COUNT(count_scans(c.graph), 1);
    const CadId one = cad_graph_constant(c.graph, 1.0);
    CHECK(cad_graph_pull(c.graph, &output, &one, 1, wrt, TURNS + 1, found) == CAD_OK);
    double results[TURNS + 1];
    CadProgram *const program = make_program(c.graph, &c.x, 1, found, TURNS + 1);
    CHECK(run(program, x, results) == -1);
    for (int k = 0; k <= TURNS; k++) {
        CHECK_SAME(results[k], ldexp(1.0, (k == 0 ? 0 : k) - TURNS));
    }
    cad_program_free(program);
    free_case(&c);
}

static CadStatus all_of_it(Case *c, CadProgram **program) {
    CadStatus status = read_case(c, LEAST);
    *program = NULL;
    if (status != CAD_OK) {
        return status;
    }
    const CadId wrt[3] = {c->x, c->x + 1, c->x + 2};
    const CadId one = cad_graph_constant(c->graph, 1.0), along[3] = {one, one, one};
    CadId found[3], second[3];
    status = cad_graph_pull(c->graph, &c->output, &one, 1, wrt, 3, found);
    if (status == CAD_OK) {
        status = cad_graph_push(c->graph, wrt, along, 3, found, 3, second);
    }
    return status == CAD_OK
               ? cad_program_make(c->graph, CAD_AT_A_POINT, &c->x, 1, 0, second, 3, program)
               : status;
}

static CadStatus attempt_turns(long granted, int with_arrays) {
    Case c = make_case(with_arrays ? record_arrays : record);
    CadProgram *program;
    cad_memory_fail_after(granted);
    const CadStatus status = all_of_it(&c, &program);
    CHECK(status == CAD_OK || program == NULL);
    cad_program_free(program);
    free_case(&c);
    return status;
}

static void loops_survive_want_of_memory(void) {
    check_want_of_memory(attempt_turns, 0, 100);
    check_want_of_memory(attempt_turns, 1, 100);
}

const Test loop_tests[] = {
    TEST(loops_are_found_and_differentiated),
    TEST(loops_and_no_loops_agree),
    TEST(loops_are_written_and_read),
    TEST(what_loops_depend_on),
    TEST(what_differs_in_each_turn_has_a_derivative_in_each),
    TEST(loops_survive_want_of_memory),
    END_OF_TESTS,
};
