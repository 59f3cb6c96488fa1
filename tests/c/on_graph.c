/* See on_graph.h. */
#include "on_graph.h"

#include "check.h"
#include "loops/loops.h"
#include "replay.h"

#include <math.h>
#include <stdlib.h>

GraphCase case_of(CadTape *tape, CadSlot base, size_t n, Random *random) {
    GraphCase c = {.tape = tape, .base = base, .n = n};
    c.m = 1 + random_below(random, MOST_OUTPUTS);
    for (size_t i = 0; i < c.m; i++) {
        c.slots[i] = base + (CadSlot)random_below(random, tape->n_slots - base);
    }
    c.slots[0] = tape->n_slots - 1;
    return c;
}

CadStatus read_graph(GraphCase *c, int optimize) {
    const size_t begin = cad_tape_find(c->tape, c->base);
    memcpy(c->outputs, c->slots, c->m * sizeof *c->slots);
    c->graph = cad_graph_new(optimize);
    if (c->graph == NULL) {
        return CAD_NO_MEMORY;
    }
    c->input = cad_graph_input(c->graph, c->n, 0);
    CadId *const inputs = test_memory(c->n, sizeof *inputs);
    name_row(inputs, c->input, c->n);
    const size_t end = c->tape->n_entries;
    const CadStatus status =
        c->rolls ? cad_loops_read(c->graph, c->tape, begin, end, inputs, c->n, c->outputs, c->m, 1)
                 : cad_graph_read(c->graph, c->tape, begin, end, inputs, c->n, c->outputs, c->m);
    free(inputs);
    return c->graph->status != CAD_OK ? c->graph->status : status;
}

CadId map_rows(CadGraph *graph, CadOp op, size_t n, CadId x, CadId y) {
    const int64_t shape = (int64_t)n, one = 1;
    const CadNumbers views[3] = {{0, &one}, {x, &one}, {y, &one}};
    return cad_graph_map(graph, op, (uint32_t)n, 1, &shape, 1 + cad_op_info[op].arity, views);
}

CadId sum_of(CadGraph *graph, size_t n, CadId x) {
    const int64_t shape = (int64_t)n, one = 1, none = 0;
    const CadNumbers views[2] = {{0, &none}, {x, &one}};
    return cad_graph_map(graph, CAD_OP_SUM, 1, 1, &shape, 2, views);
}

void name_row(CadId *ids, CadId first, size_t n) {
    for (size_t k = 0; k < n; k++) {
        ids[k] = first + (CadId)k;
    }
}

static int is_far(double x) {
    return !isfinite(x) || fabs(x) > 1e6;
}

static void check_close(double actual, double expected, double scale) {
    if (is_far(expected)) { /* so steep that rounding decides */
        return;
    }
    CHECK_NEAR(actual, expected, 1e-9 * (1.0 + scale));
}

CadProgram *make_program(CadGraph *graph, const CadId *inputs, size_t n_inputs, const CadId *roots,
                         size_t n_roots) {
    CadProgram *program = NULL;
    CHECK(cad_program_make(graph, CAD_AT_A_POINT, inputs, n_inputs, 0, roots, n_roots, &program) ==
          CAD_OK);
    return program;
}

CadGraphParts written_parts(const CadGraph *graph) {
    CadGraphParts parts = {.n_records = graph->n_records - 1};
    cad_graph_write(graph, &parts);
    parts.records = test_memory(4 * parts.n_rows, sizeof *parts.records);
    parts.words = test_memory(parts.n_words, sizeof *parts.words);
    parts.lists = test_memory(parts.n_lists, sizeof *parts.lists);
    parts.constants = test_memory(parts.n_constants + 1, sizeof *parts.constants);
    cad_graph_write(graph, &parts);
    return parts;
}

void free_written(CadGraphParts *parts) {
    free(parts->records);
    free(parts->words);
    free(parts->lists);
    free(parts->constants);
}

/* The two programs of what is split where a direction comes in, against the one of the whole. */
static void check_along(GraphCase *c, CadId direction, size_t n, const CadId *roots,
                        size_t n_roots, const CadProgram *whole, const double *inputs) {
    enum { DIRECTIONS = 5, MOST_LANES = 4 };
    CadId *const ends = test_memory(n_roots, sizeof *ends);
    double *const own = test_memory(DIRECTIONS * n, sizeof *own);
    double *const results = test_memory(DIRECTIONS * n_roots, sizeof *results);
    double *const both = test_memory(c->n + n, sizeof *both);
    double *const expected = test_memory(n_roots, sizeof *expected);
    CadPart part;
    memcpy(ends, roots, n_roots * sizeof *ends);
    CHECK(cad_graph_split(c->graph, direction, ends, n_roots, &part) == CAD_OK);
    CadProgram *const point = make_program(c->graph, &c->input, 1, part.given, part.n_given);
    const size_t n_shared = part.n_given > 0;
    const CadId both_inputs[2] = {n_shared ? part.inputs : part.own, part.own};
    CadProgram *rest = NULL;
    CHECK(cad_program_make(part.graph, CAD_ALONG_DIRECTIONS, both_inputs, 1 + n_shared, n_shared,
                           ends, n_roots, &rest) == CAD_OK);
    CHECK_COUNT(rest->n_shared, part.n_given);
    CHECK_COUNT(rest->n_inputs, part.n_given + n);
    for (size_t turn = 0; turn < 2 * MOST_LANES; turn++) {
        const int are_units = turn >= MOST_LANES; /* the last ones there are */
        const size_t lanes = turn % MOST_LANES + 1, unit = n < DIRECTIONS ? 0 : n - DIRECTIONS;
        const size_t count = are_units && n < DIRECTIONS ? n : DIRECTIONS;
        for (size_t k = 0; k < count * n; k++) {
            own[k] = are_units ? (double)(k % n == unit + k / n)
                               : inputs[c->n + k % n] * ((double)(k / n) - 1.0);
        }
        double *const room = test_memory(cad_program_room(rest, lanes) + 1, sizeof *room);
        const CadDirections directions = {
            .own = are_units ? NULL : own, .results = results, .unit = unit};
        cad_program_prepare(rest, room);
        CHECK(run(point, inputs, cad_program_places(rest, room)) == -1);
        CHECK(cad_program_run_along(rest, lanes, room, &directions, 0, 1) == -1);
        CHECK(cad_program_run_along(rest, lanes, room, &directions, 1, count) == -1);
        for (size_t k = 0; k < count; k++) {
            memcpy(both, inputs, c->n * sizeof *both);
            memcpy(both + c->n, own + k * n, n * sizeof *both);
            CHECK(run(whole, both, expected) == -1);
            for (size_t i = 0; i < n_roots; i++) {
                check_close(results[k * n_roots + i], expected[i], fabs(expected[i]));
            }
        }
        free(room);
    }
    cad_program_free(point);
    cad_program_free(rest);
    cad_graph_free(part.graph);
    cad_memory_free(part.given);
    free(ends);
    free(own);
    free(results);
    free(both);
    free(expected);
}

/* The values of what is inserted into another graph, whose inputs stand in a row or do not. */
static void check_inserted(GraphCase *c, int optimize, const double *inputs) {
    CadId *const ids = test_memory(2 * c->n, sizeof *ids);
    double *const numbers = test_memory(2 * c->n, sizeof *numbers);
    double results[MOST_OUTPUTS], elsewhere[MOST_OUTPUTS];
    CadId outputs[MOST_OUTPUTS];
    uint8_t reached[MOST_OUTPUTS];
    for (size_t step = 1; step <= 2; step++) {
        CadGraph *const graph = cad_graph_new(optimize);
        const CadId input = cad_graph_input(graph, step * c->n, 0);
        for (size_t j = 0; j < c->n; j++) {
            ids[j] = c->input + (CadId)j;
            ids[c->n + j] = input + (CadId)(step * j);
            numbers[step * j] = numbers[step * j + step - 1] = inputs[j];
        }
        CHECK(cad_graph_insert(graph, c->graph, ids, ids + c->n, c->n, c->outputs, c->m,
                               outputs) == CAD_OK);
        CHECK(cad_graph_reach(graph, ids + c->n, c->n, 1, outputs, c->m, reached) == CAD_OK);
        CadProgram *const program = make_program(graph, &input, 1, outputs, c->m);
        CHECK(run(program, numbers, results) == -1);
        for (size_t i = 0; i < c->m; i++) {
            const double expected = c->tape->values[c->slots[i]];
            check_close(results[i], expected, fabs(expected));
        }
        for (size_t j = 0; j < step * c->n; j++) {
            numbers[j] *= 0.9;
        }
        CHECK(run(program, numbers, elsewhere) == -1);
        for (size_t i = 0; i < c->m; i++) { /* what is not reached does not change */
            CHECK_SAME(reached[i] ? results[i] : elsewhere[i], results[i]);
        }
        cad_program_free(program);
        cad_graph_free(graph);
    }
    free(ids);
    free(numbers);
}

/* A Hessian times a direction: gradients pulled are gradients pushed, since it is symmetric. */
static void check_symmetric(GraphCase *c, CadId direction, CadId seed, const CadId *wrt,
                            const CadId *along, const CadId *gradient, const double *inputs) {
    const size_t n = c->n;
    CadId *const roots = test_memory(2 * n, sizeof *roots);
    double *const results = test_memory(2 * n, sizeof *results);
    CHECK(cad_graph_push(c->graph, wrt, along, n, gradient, n, roots) == CAD_OK);
    CHECK(cad_graph_pull(c->graph, gradient, along, n, wrt, n, roots + n) == CAD_OK);
    const CadId all[3] = {c->input, direction, seed};
    CadProgram *const program = make_program(c->graph, all, 3, roots, 2 * n);
    CHECK(run(program, inputs, results) == -1);
    double scale = 0.0;
    for (size_t j = 0; j < 2 * n; j++) {
        scale = fmax(scale, is_far(results[j]) ? INFINITY : fabs(results[j]));
    }
    for (size_t j = 0; j < n && isfinite(scale); j++) {
        CHECK_NEAR(results[n + j], results[j], 1e-9 * (1.0 + scale));
    }
    cad_program_free(program);
    free(roots);
    free(results);
}

/* Values, pushed tangents and pulled cotangents, against the tangent sweep over the tape. */
void check_case(GraphCase *c, int optimize) {
    double *const inputs = test_memory(2 * c->n + 2 * MOST_OUTPUTS, sizeof *inputs);
    double *const results = test_memory(c->n + 2 * MOST_OUTPUTS, sizeof *results);
    const size_t begin = cad_tape_find(c->tape, c->base);
    memcpy(inputs, c->tape->values + c->base, c->n * sizeof *inputs);
    CHECK(read_graph(c, optimize) == CAD_OK);
    CadProgram *program = make_program(c->graph, &c->input, 1, c->outputs, c->m);
    CHECK_COUNT(program->n_inputs, c->n);
    CHECK_COUNT(program->n_results, c->m);
    CHECK(run(program, inputs, results) == -1);
    for (size_t i = 0; i < c->m; i++) {
        const double expected = c->tape->values[c->slots[i]];
        check_close(results[i], expected, fabs(expected));
    }
    cad_program_free(program);
    check_inserted(c, optimize, inputs);

    /* Tangents: every second input moves. */
    double *const tangents = test_memory(c->tape->n_slots, sizeof *tangents);
    CadId *const wrt = test_memory(c->n, sizeof *wrt);
    CadId *const along = test_memory(c->n, sizeof *along);
    CadId pushed[MOST_OUTPUTS];
    const CadId direction = cad_graph_input(c->graph, c->n, 0);
    for (size_t j = 0; j < c->n; j++) {
        wrt[j] = c->input + (CadId)j;
        along[j] = direction + (CadId)j;
        tangents[c->base + j] = inputs[c->n + j] = j % 2 ? 0.5 : 0.0;
    }
    cad_sweep_tangent(c->tape, begin, c->tape->n_entries, c->tape->n_entries, 0, 1, tangents);
    CHECK(cad_graph_push(c->graph, wrt, along, c->n, c->outputs, c->m, pushed) == CAD_OK);
    const CadId both[2] = {c->input, direction};
    program = make_program(c->graph, both, 2, pushed, c->m);
    CHECK(run(program, inputs, results) == -1);
    double expected = 0.0, scale = 0.0;
    int far = 0;
    for (size_t i = 0; i < c->m; i++) {
        const double t = tangents[c->slots[i]];
        check_close(results[i], t, fabs(t));
        far = far || is_far(t);
        expected += (double)(i + 1) * t;
        scale += (double)(i + 1) * fabs(t);
    }
    check_along(c, direction, c->n, pushed, c->m, program, inputs);
    cad_program_free(program);

    /* Cotangents: weighted, they are the same in sum. */
    CadId seeds[MOST_OUTPUTS];
    CadId *const pulled = test_memory(c->n, sizeof *pulled);
    const CadId seed = cad_graph_input(c->graph, c->m, 0);
    for (size_t i = 0; i < c->m; i++) {
        seeds[i] = seed + (CadId)i;
        inputs[c->n + i] = (double)(i + 1);
    }
    CHECK(cad_graph_pull(c->graph, c->outputs, seeds, c->m, wrt, c->n, pulled) == CAD_OK);
    const CadId seeded[2] = {c->input, seed};
    program = make_program(c->graph, seeded, 2, pulled, c->n);
    CHECK(run(program, inputs, results) == -1);
    double sum = 0.0;
    for (size_t j = 1; j < c->n; j += 2) {
        sum += 0.5 * results[j];
        scale += fabs(results[j]);
        far = far || is_far(results[j]);
    }
    if (!far) {
        CHECK_NEAR(sum, expected, 1e-9 * (1.0 + scale));
    }
    check_along(c, seed, c->m, pulled, c->n, program, inputs);
    cad_program_free(program);

    /* Second derivatives, along the direction of the tangents. */
    memmove(inputs + 2 * c->n, inputs + c->n, c->m * sizeof *inputs);
    for (size_t j = 0; j < c->n; j++) {
        inputs[c->n + j] = j % 2 ? 0.5 : 0.0;
    }
    check_symmetric(c, direction, seed, wrt, along, pulled, inputs);
    cad_graph_free(c->graph);
    free(inputs);
    free(results);
    free(tangents);
    free(wrt);
    free(along);
    free(pulled);
}
