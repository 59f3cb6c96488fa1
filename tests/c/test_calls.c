/* Calls in graphs and programs: an owner whose calls are x -> (x0 x1, sin x0) stands in for rules
 * of Python's. */
#include "program/program.h"

#include "check.h"
#include "graph/graph.h"
#include "on_graph.h"
#include "replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 5 };

typedef struct Owner {
    int wants[2]; /* what the last pull was asked for */
    int moves[2]; /* what the last push was given */
    int fails;
    int raises; /* when it is asked for links */
    int gives_levels;
    double below; /* pulls hold for first operands below it; 0: for all */
} Owner;

static CadId times(CadGraph *graph, CadId x, CadId y) {
    return cad_graph_apply(graph, CAD_OP_multiply, x, y, y);
}

static CadStatus note(void *owner, CadTape *tape, size_t entry, uint8_t *passive,
                      CadNoted *noted) {
    (void)owner, (void)tape, (void)entry, (void)passive, (void)noted;
    return CAD_RAISED;
}

static CadStatus pull(void *owner, CadGraph *g, uint32_t number, CadId x, CadId results,
                      CadId given, int64_t step, const uint8_t *wanted, CadId *made) {
    Owner *const o = owner;
    CHECK_COUNT(number, NUMBER);
    (void)results;
    o->wants[0] = wanted[0];
    o->wants[1] = wanted[1];
    if (o->fails) {
        return CAD_RAISED;
    }
    if (o->below > 0.0) {
        const CadId most = cad_graph_constant(g, o->below);
        cad_graph_guard(g, cad_graph_apply(g, CAD_OP_less, x, most, most), 1.0);
    }
    const CadId g0 = given, g1 = given + (CadId)step;
    const CadId slope = cad_graph_apply(g, CAD_OP_cos, x, x, x);
    const CadId first = times(g, g0, x + 1), second = times(g, g1, slope);
    const CadId both[2] = {cad_graph_apply(g, CAD_OP_add, first, second, second), times(g, g0, x)};
    *made = cad_graph_pack(g, both, 2);
    return g->status;
}

static CadStatus push(void *owner, CadGraph *g, uint32_t number, CadId x, CadId results,
                      CadId given, int64_t step, const uint8_t *move, CadId *made) {
    Owner *const o = owner;
    CHECK_COUNT(number, NUMBER);
    (void)results;
    o->moves[0] = move[0];
    o->moves[1] = move[1];
    const CadId t0 = given, t1 = given + (CadId)step;
    const CadId slope = cad_graph_apply(g, CAD_OP_cos, x, x, x);
    const CadId first = times(g, t0, x + 1), second = times(g, x, t1);
    const CadId both[2] = {cad_graph_apply(g, CAD_OP_add, first, second, second),
                           times(g, slope, t0)};
    *made = cad_graph_pack(g, both, 2);
    return g->status;
}

/* All calls do the same. */
static CadStatus form(void *owner, uint32_t number, uint32_t *first) {
    (void)owner, (void)number;
    *first = NUMBER;
    return CAD_OK;
}

static CadStatus insert(void *owner, CadTape *tape, size_t entry, const CadId *operands,
                        CadId *results) {
    (void)owner, (void)tape, (void)entry, (void)operands, (void)results;
    return CAD_RAISED;
}

/* The product depends on both, by way of one number; the sine on the first. */
static CadStatus link(void *owner, uint32_t number, CadLinks *links) {
    static const uint32_t of[4] = {2, 2, 3, 4}, by[4] = {0, 1, 2, 0};
    const Owner *const o = owner;
    CHECK_COUNT(number, NUMBER);
    if (!o->fails) {
        *links = (CadLinks){1, of, by, 4, 1};
    }
    return o->raises ? CAD_RAISED : CAD_OK;
}

static CadStatus about(void *owner, uint32_t number, CadAbout *known) {
    const Owner *const o = owner;
    CHECK_COUNT(number, NUMBER);
    *known = (CadAbout){.may_raise = true, .is_level = o->gives_levels};
    return o->raises ? CAD_RAISED : CAD_OK;
}

static const CadCalls calls = {note, pull, push, insert, form, link, about};

static int carry_out(void *owner, uint32_t number, const double *x, double *results) {
    Owner *const o = owner;
    CHECK_COUNT(number, NUMBER);
    if (o->fails) {
        return -1;
    }
    results[0] = x[0] * x[1];
    results[1] = sin(x[0]);
    return 0;
}

/* Two calls, one of what the other gives: (a, b) = call(x y, z), (c, d) = call(b, a). */
typedef struct Case {
    Owner owner;
    CadGraph *graph;
    CadId x;
    CadId outputs[3]; /* c, d, c y */
} Case;

static CadId call_of(CadGraph *graph, CadId x, CadId y) {
    const CadId both[2] = {x, y};
    const CadId operands = cad_graph_pack(graph, both, 2);
    return cad_graph_call(graph, NUMBER, operands, 2, 2);
}

static CadStatus make_case(Case *c) {
    *c = (Case){.graph = cad_graph_new(1)};
    CadGraph *const graph = c->graph;
    if (graph == NULL) {
        return CAD_NO_MEMORY;
    }
    graph->calls = &calls;
    graph->owner = &c->owner;
    c->x = cad_graph_input(graph, 3, 0);
    if (graph->status == CAD_OK) {
        const CadId first = call_of(graph, times(graph, c->x, c->x + 1), c->x + 2);
        if (graph->status == CAD_OK) {
            const CadId second = call_of(graph, first + 1, first);
            if (graph->status == CAD_OK) {
                c->outputs[0] = second;
                c->outputs[1] = second + 1;
                c->outputs[2] = times(graph, second, c->x + 1);
            }
        }
    }
    return graph->status;
}

static void values_of(const double x[3], double values[3]) {
    const double a = x[0] * x[1] * x[2], b = sin(x[0] * x[1]);
    values[0] = b * a;
    values[1] = sin(b);
    values[2] = values[0] * x[1];
}

/* The Jacobian of the three by the three. */
static void slopes_of(const double x[3], double slopes[3][3]) {
    const double a = x[0] * x[1] * x[2], b = sin(x[0] * x[1]), cosine = cos(x[0] * x[1]);
    const double da[3] = {x[1] * x[2], x[0] * x[2], x[0] * x[1]};
    const double db[3] = {cosine * x[1], cosine * x[0], 0.0};
    for (int j = 0; j < 3; j++) {
        slopes[0][j] = db[j] * a + b * da[j];
        slopes[1][j] = cos(b) * db[j];
        slopes[2][j] = slopes[0][j] * x[1] + (j == 1 ? b * a : 0.0);
    }
}

static CadProgram *program_of(Case *c, const CadId *inputs, size_t n_inputs, const CadId *roots,
                              size_t n_roots) {
    CadProgram *program = NULL;
    CHECK(cad_program_make(c->graph, CAD_AT_A_POINT, inputs, n_inputs, 0, roots, n_roots,
                           &program) == CAD_OK);
    program->call = carry_out;
    program->owner = &c->owner;
    return program;
}

static const double POINT[6] = {0.7, -1.3, 0.4, 0.5, 2.0, -0.3};

static void calls_are_carried_out(void) {
    Case c;
    CHECK(make_case(&c) == CAD_OK);
    CadProgram *const program = program_of(&c, &c.x, 1, c.outputs, 3);
    CHECK(program->has_calls);
    double results[3], expected[3];
    CHECK(run(program, POINT, results) == -1);
    values_of(POINT, expected);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(results[i], expected[i], 1e-15);
    }
    /* Many points, of which one fails. */
    double own[4 * 3], tails[4 * 3];
    uint8_t missed[4];
    for (int i = 0; i < 12; i++) {
        own[i] = 0.1 * i;
    }
    const CadColumns from[] = {{own, 3, 1}, {own + 1, 3, 2}}, to = {tails, 3, 3};
    const CadPoints points = {from, 2, 3, NULL, &to, missed};
    double *const room = test_memory(cad_program_room(program, 1) + 1, sizeof *room);
    cad_program_prepare_points(program, 1, room, &points);
    CHECK(cad_program_run_points(program, 1, room, &points, 0, 4) == 0);
    for (int k = 0; k < 4; k++) {
        values_of(own + 3 * k, expected);
        CHECK_NEAR(tails[3 * k + 2], expected[2], 1e-15);
    }
    c.owner.fails = 1;
    results[0] = 7.0;
    CHECK(run(program, POINT, results) == CAD_CALL_FAILED);
    CHECK_SAME(results[0], 7.0);
    CHECK(cad_program_run_points(program, 1, room, &points, 0, 4) == CAD_CALL_FAILED);
    free(room);
    cad_program_free(program);
    cad_graph_free(c.graph);
}

static void equal_calls_are_one(void) {
    Case c;
    CHECK(make_case(&c) == CAD_OK);
    const size_t before = c.graph->n_arrays;
    const CadId again = call_of(c.graph, times(c.graph, c.x, c.x + 1), c.x + 2);
    CHECK_COUNT(c.graph->n_arrays, before);
    CHECK(again != call_of(c.graph, c.x + 2, c.x));
    cad_graph_free(c.graph);
}

static void check_results(Case *c, const CadId *inputs, size_t n_inputs, const CadId *roots,
                          const double *expected, double bound) {
    double results[3];
    CadProgram *const program = program_of(c, inputs, n_inputs, roots, 3);
    CHECK(run(program, POINT, results) == -1);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(results[i], expected[i], bound);
    }
    cad_program_free(program);
}

static void derivatives_of_calls(void) {
    Case c;
    CHECK(make_case(&c) == CAD_OK);
    const CadId wrt[3] = {c.x, c.x + 1, c.x + 2};
    const CadId more = cad_graph_input(c.graph, 3, 0), one = cad_graph_constant(c.graph, 1.0);
    const CadId along[3] = {more, more + 1, more + 2}, inputs[2] = {c.x, more};
    const double h = 1e-5;
    double slopes[3][3], up[3][3], down[3][3], high[3], low[3];
    double pushed[3] = {0.0}, pulled[3] = {0.0}, curved[3];
    for (int k = 0; k < 3; k++) {
        high[k] = POINT[k] + h * POINT[3 + k];
        low[k] = POINT[k] - h * POINT[3 + k];
    }
    slopes_of(POINT, slopes);
    slopes_of(high, up);
    slopes_of(low, down);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            pushed[i] += slopes[i][j] * POINT[3 + j];
            pulled[j] += slopes[i][j] * POINT[3 + i];
        }
        curved[i] = (up[0][i] - down[0][i]) / (2.0 * h); /* by the first output alone */
    }
    CadId found[3], second[3];
    CHECK(cad_graph_push(c.graph, wrt, along, 3, c.outputs, 3, found) == CAD_OK);
    check_results(&c, inputs, 2, found, pushed, 1e-14);
    CHECK(cad_graph_pull(c.graph, c.outputs, along, 3, wrt, 3, found) == CAD_OK);
    check_results(&c, inputs, 2, found, pulled, 1e-14);
    CHECK(cad_graph_pull(c.graph, c.outputs, &one, 1, wrt, 3, found) == CAD_OK);
    CHECK(cad_graph_push(c.graph, wrt, along, 3, found, 3, second) == CAD_OK);
    check_results(&c, inputs, 2, second, curved, 1e-8);
    cad_graph_free(c.graph);
}

static void no_more_is_asked_for_than_needed(void) {
    Case c;
    CHECK(make_case(&c) == CAD_OK);
    CadGraph *const graph = c.graph;
    const CadId other = cad_graph_input(graph, 1, 0), one = cad_graph_constant(graph, 1.0);
    const CadId call = call_of(graph, c.x, other);
    CadId found;
    c.owner.wants[0] = c.owner.wants[1] = 7;
    CHECK(cad_graph_pull(graph, &call, &one, 1, &other, 1, &found) == CAD_OK);
    CHECK_COUNT((size_t)c.owner.wants[0], 0);
    CHECK_COUNT((size_t)c.owner.wants[1], 1);
    const CadId wrt_other[1] = {other}, one_other[1] = {one};
    CHECK(cad_graph_push(graph, wrt_other, one_other, 1, &call, 1, &found) == CAD_OK);
    CHECK_COUNT((size_t)c.owner.moves[0], 0);
    CHECK_COUNT((size_t)c.owner.moves[1], 1);
    /* One of the numbers of an input alone. */
    const CadId own = call_of(graph, c.x + 1, c.x + 2), third = c.x + 2;
    CHECK(cad_graph_pull(graph, &own, &one, 1, &third, 1, &found) == CAD_OK);
    CHECK_COUNT((size_t)c.owner.wants[0], 0);
    CHECK_COUNT((size_t)c.owner.wants[1], 1);
    /* What outputs do not depend on is not pushed; one that is says when it cannot be. */
    const CadId wrt[3] = {c.x, c.x + 1, c.x + 2}, along[3] = {one, one, one};
    c.owner.moves[0] = 7;
    const CadId product = times(graph, c.x, c.x + 2);
    CHECK(cad_graph_push(graph, wrt, along, 3, &product, 1, &found) == CAD_OK);
    CHECK_COUNT((size_t)c.owner.moves[0], 7);
    c.owner.fails = 1;
    CHECK(cad_graph_pull(graph, &call, &one, 1, &other, 1, &found) == CAD_RAISED);
    cad_graph_free(graph);
}

/* m + log(exp(z - m) + exp(2 z - m)), where m is a result of a call of x and y. */
static CadId measured_from(CadGraph *graph, CadId x) {
    const CadId m = call_of(graph, x, x + 1);
    CadId terms[2];
    for (int k = 0; k < 2; k++) {
        const CadId z = times(graph, cad_graph_constant(graph, k + 1.0), x + 2);
        const CadId above = cad_graph_apply(graph, CAD_OP_subtract, z, m, m);
        terms[k] = cad_graph_apply(graph, CAD_OP_exp, above, above, above);
    }
    const CadId sum = cad_graph_apply(graph, CAD_OP_add, terms[0], terms[1], terms[1]);
    const CadId log = cad_graph_apply(graph, CAD_OP_log, sum, sum, sum);
    return cad_graph_apply(graph, CAD_OP_add, m, log, log);
}

static void levels_that_cancel_are_not_asked_for(void) {
    for (int gives_levels = 0; gives_levels < 2; gives_levels++) {
        Case c;
        CHECK(make_case(&c) == CAD_OK);
        const CadId wrt[3] = {c.x, c.x + 1, c.x + 2}, one = cad_graph_constant(c.graph, 1.0);
        const CadId along[3] = {one, one, one};
        double results[4];
        CadId found[4];
        c.owner = (Owner){.wants = {7, 7}, .moves = {7, 7}, .gives_levels = gives_levels};
        const CadId output = measured_from(c.graph, c.x);
        CHECK(cad_graph_pull(c.graph, &output, &one, 1, wrt, 3, found) == CAD_OK);
        CHECK(cad_graph_push(c.graph, wrt, along, 3, &output, 1, found + 3) == CAD_OK);
        CHECK((c.owner.wants[0] == 7) == gives_levels);
        CHECK((c.owner.moves[0] == 7) == gives_levels);
        CadProgram *const program = program_of(&c, &c.x, 1, found, 4);
        CHECK(run(program, POINT, results) == -1);
        const double share = 1.0 / (1.0 + exp(POINT[2]));
        for (int k = 0; k < 4; k++) {
            CHECK_NEAR(results[k], k < 2 ? 0.0 : 2.0 - share, 1e-15);
        }
        cad_program_free(program);
        /* Of an output that does depend on it all is as it was. */
        const CadId call = call_of(c.graph, c.x, c.x + 1), outputs[2] = {output, call};
        const CadId seeds[2] = {one, one};
        CHECK(cad_graph_pull(c.graph, outputs, seeds, 2, wrt, 3, found) == CAD_OK);
        CHECK_COUNT((size_t)c.owner.wants[0], 1);
        cad_graph_free(c.graph);
    }
}

static void graphs_with_calls_are_written_and_read(void) {
    Case c;
    CHECK(make_case(&c) == CAD_OK);
    CadGraphParts parts = written_parts(c.graph);
    CadGraph *graph = cad_graph_new(1);
    CHECK(cad_graph_restore(graph, &parts, 1) == CAD_OK);
    CHECK_COUNT(graph->n_arrays, c.graph->n_arrays);
    CHECK_COUNT(graph->n_records, c.graph->n_records);
    Case again = c;
    again.graph = graph;
    double expected[3];
    values_of(POINT, expected);
    check_results(&again, &c.x, 1, c.outputs, expected, 1e-15);
    cad_graph_free(graph);
    /* Calls of two operands: the words are how many, the first one, their distance. */
    const int64_t wrong[3][4] = {
        {0, 1, 3, INT64_MAX}, {-1, UINT32_MAX, INT64_MAX, INT64_MIN}, {0, 2, -1, 3}};
    for (size_t k = 0; k < parts.n_words; k++) {
        for (int i = 0; i < 4; i++) {
            const int64_t right = parts.words[k], other = wrong[k % 3][i];
            if (other == right) {
                continue;
            }
            parts.words[k] = other;
            graph = cad_graph_new(1);
            const int sound = cad_graph_restore(graph, &parts, 1) == CAD_OK;
            /* With one operand the distance is wrong, and element 0 is no list of two. */
            CHECK(!sound);
            cad_graph_free(graph);
            parts.words[k] = right;
        }
    }
    free_written(&parts);
    cad_graph_free(c.graph);
}

/* Of (c, d, c y): c = b a by x and y, but through a by z, too; d = sin b by x and y alone. */
static void what_calls_depend_on_is_known_or_all(void) {
    for (int knows = 0; knows < 2; knows++) {
        Case c;
        CadPattern pattern;
        CHECK(make_case(&c) == CAD_OK);
        c.owner.fails = !knows;
        const CadId wrt[3] = {c.x, c.x + 1, c.x + 2};
        CHECK(cad_sparsity(c.graph, wrt, 3, c.outputs, 3, &pattern) == CAD_OK);
        CHECK_COUNT(cad_pattern_count(&pattern), knows ? 8 : 9);
        CHECK((cad_pattern_find(&pattern, 1, 2) >= 0) == !knows);
        cad_pattern_free(&pattern);
        c.owner.raises = 1;
        CHECK(cad_sparsity(c.graph, wrt, 3, c.outputs, 3, &pattern) == CAD_RAISED);
        CHECK(pattern.starts == NULL);
        cad_graph_free(c.graph);
    }
}

/* --- in turns --- */

enum { TURNS = 20 };

/* The block (x0, x1) becomes (x0 x1, sin x0) + 0.1 at each turn; answers the last one. */
static CadId loop_of(CadGraph *graph, CadId x) {
    uint32_t size = 2;
    CadGraph *const body = cad_scan_body_of(&size, 1);
    CadId last = CAD_NO_ID;
    if (body == NULL) {
        graph->status = CAD_NO_MEMORY;
        return last;
    }
    const CadId call = cad_graph_call(body, NUMBER, CAD_SCAN_INPUT, 2, 2);
    const CadId more = cad_graph_constant(body, 0.1);
    const CadId both[2] = {cad_graph_apply(body, CAD_OP_add, call, more, more),
                           cad_graph_apply(body, CAD_OP_add, call + 1, more, more)};
    CadId end = cad_graph_pack(body, both, 2);
    graph->status = body->status;
    if (graph->status == CAD_OK) {
        cad_graph_divide_recurrence(graph,
                                    &(CadRecurrence){.n = TURNS,
                                                     .n_carried = 1,
                                                     .body = body,
                                                     .input = CAD_SCAN_INPUT,
                                                     .ends = &end,
                                                     .initial = &x,
                                                     .sizes = &size},
                                    &(CadScanResults){&last, NULL, NULL});
    }
    cad_graph_free(body);
    return last;
}

/* The last block, its slope along a direction, and the least x0 above all that calls were given.
 */
static double turns_by_hand(const double *x, const double *along, double *ends, double *slopes) {
    double most = -INFINITY;
    memcpy(ends, x, 2 * sizeof *ends);
    memcpy(slopes, along, 2 * sizeof *slopes);
    for (int t = 0; t < TURNS; t++) {
        const double a = ends[0], b = ends[1], da = slopes[0], db = slopes[1];
        most = a > most ? a : most;
        ends[0] = a * b + 0.1;
        ends[1] = sin(a) + 0.1;
        slopes[0] = a * db + b * da;
        slopes[1] = cos(a) * da;
    }
    return most;
}

typedef struct Loop {
    Owner owner;
    CadGraph *graph;
    CadId x, more, last, pulled[2];
} Loop;

/* With the cotangents of the last block, which are inputs, pulled to the first one. */
static CadStatus make_loop(Loop *loop, double below) {
    *loop = (Loop){.owner = {.below = below}, .graph = cad_graph_new(1)};
    CadGraph *const graph = loop->graph;
    if (graph == NULL) {
        return CAD_NO_MEMORY;
    }
    graph->calls = &calls;
    graph->owner = &loop->owner;
    loop->x = cad_graph_input(graph, 2, 0);
    loop->more = cad_graph_input(graph, 2, 0);
    if (graph->status == CAD_OK) {
        loop->last = loop_of(graph, loop->x);
    }
    if (graph->status != CAD_OK) {
        return graph->status;
    }
    const CadId outputs[2] = {loop->last, loop->last + 1};
    const CadId seeds[2] = {loop->more, loop->more + 1}, wrt[2] = {loop->x, loop->x + 1};
    return cad_graph_pull(graph, outputs, seeds, 2, wrt, 2, loop->pulled);
}

static CadProgram *program_of_loop(Loop *loop, const CadId *roots, size_t n) {
    const CadId inputs[2] = {loop->x, loop->more};
    CadProgram *program = NULL;
    CHECK(cad_program_make(loop->graph, CAD_AT_A_POINT, inputs, 2, 0, roots, n, &program) ==
          CAD_OK);
    CHECK(program->has_calls && program->n_code < TURNS);
    program->call = carry_out;
    program->owner = &loop->owner;
    cad_program_share_owner(program);
    return program;
}

static const double START[4] = {0.8, 0.9, 0.4, -0.3};

static void turns_make_calls(void) {
    Loop loop;
    double ends[2], slopes[2], results[2];
    CHECK(make_loop(&loop, 0.0) == CAD_OK);
    const CadId last[2] = {loop.last, loop.last + 1}, wrt[2] = {loop.x, loop.x + 1};
    const CadId along[2] = {loop.more, loop.more + 1};
    CadProgram *program = program_of_loop(&loop, last, 2);
    turns_by_hand(START, START + 2, ends, slopes);
    CHECK(run(program, START, results) == -1);
    CHECK_NEAR(results[0], ends[0], 1e-15);
    CHECK_NEAR(results[1], ends[1], 1e-15);
    loop.owner.fails = 1;
    CHECK(run(program, START, results) == CAD_CALL_FAILED);
    loop.owner.fails = 0;
    cad_program_free(program);
    CadId found[2];
    CHECK(cad_graph_push(loop.graph, wrt, along, 2, last, 2, found) == CAD_OK);
    program = program_of_loop(&loop, found, 2);
    CHECK(run(program, START, results) == -1);
    CHECK_NEAR(results[0], slopes[0], 1e-14);
    CHECK_NEAR(results[1], slopes[1], 1e-14);
    cad_program_free(program);
    program = program_of_loop(&loop, loop.pulled, 2);
    CHECK(run(program, START, results) == -1);
    for (int k = 0; k < 2; k++) {
        const double unit[2] = {k == 0, k == 1};
        turns_by_hand(START, unit, ends, slopes);
        CHECK_NEAR(results[k], START[2] * slopes[0] + START[3] * slopes[1], 1e-14);
    }
    cad_program_free(program);
    cad_graph_free(loop.graph);
}

/* What the derivative of a call holds for is looked at in all turns. */
static void guards_of_calls_in_turns(void) {
    Loop loop;
    double ends[2], slopes[2], results[2];
    const double most = turns_by_hand(START, START + 2, ends, slopes);
    for (int holds = 0; holds < 2; holds++) {
        CHECK(make_loop(&loop, holds ? most + 0.01 : most) == CAD_OK);
        CHECK_COUNT(loop.graph->n_guards, 1);
        CadProgram *const program = program_of_loop(&loop, loop.pulled, 2);
        CHECK(run(program, START, results) == (holds ? -1 : 0));
        cad_program_free(program);
        cad_graph_free(loop.graph);
    }
}

static CadStatus attempt_loop(long granted, int which) {
    (void)which;
    Loop loop;
    CadProgram *program = NULL;
    cad_memory_fail_after(granted);
    CadStatus status = make_loop(&loop, 10.0);
    if (status == CAD_OK) {
        const CadId inputs[2] = {loop.x, loop.more};
        status =
            cad_program_make(loop.graph, CAD_AT_A_POINT, inputs, 2, 0, loop.pulled, 2, &program);
    }
    CHECK(status == CAD_OK || program == NULL);
    cad_program_free(program);
    cad_graph_free(loop.graph);
    return status;
}

static CadStatus all_of_it(Case *c, CadProgram **program) {
    CadStatus status = make_case(c);
    *program = NULL;
    if (status != CAD_OK) {
        return status;
    }
    const CadId wrt[3] = {c->x, c->x + 1, c->x + 2};
    const CadId one = cad_graph_constant(c->graph, 1.0);
    const CadId along[3] = {one, one, one};
    CadId found[3], second[3];
    CadPattern pattern;
    status = cad_sparsity(c->graph, wrt, 3, c->outputs, 3, &pattern);
    cad_pattern_free(&pattern);
    if (status == CAD_OK) {
        status = cad_graph_pull(c->graph, c->outputs, along, 3, wrt, 3, found);
    }
    if (status == CAD_OK) {
        status = cad_graph_push(c->graph, wrt, along, 3, found, 3, second);
    }
    return status == CAD_OK
               ? cad_program_make(c->graph, CAD_AT_A_POINT, &c->x, 1, 0, second, 3, program)
               : status;
}

static CadStatus attempt_levels(long granted, int which) {
    (void)which;
    Case c;
    CHECK(make_case(&c) == CAD_OK);
    const CadId one = cad_graph_constant(c.graph, 1.0), third = c.x + 2;
    const CadId output = measured_from(c.graph, c.x);
    CadId found;
    c.owner.gives_levels = 1;
    cad_memory_fail_after(granted);
    const CadStatus status = cad_graph_pull(c.graph, &output, &one, 1, &third, 1, &found);
    cad_graph_free(c.graph);
    return status;
}

static CadStatus attempt_calls(long granted, int which) {
    (void)which;
    Case c;
    CadProgram *program;
    cad_memory_fail_after(granted);
    const CadStatus status = all_of_it(&c, &program);
    CHECK(status == CAD_OK || program == NULL);
    cad_program_free(program);
    cad_graph_free(c.graph);
    return status;
}

static void calls_survive_want_of_memory(void) {
    check_want_of_memory(attempt_calls, 0, 20);
    check_want_of_memory(attempt_levels, 0, 1);
    check_want_of_memory(attempt_loop, 0, 20);
}

const Test call_tests[] = {
    TEST(calls_are_carried_out),
    TEST(equal_calls_are_one),
    TEST(derivatives_of_calls),
    TEST(no_more_is_asked_for_than_needed),
    TEST(levels_that_cancel_are_not_asked_for),
    TEST(what_calls_depend_on_is_known_or_all),
    TEST(graphs_with_calls_are_written_and_read),
    TEST(calls_survive_want_of_memory),
    TEST(turns_make_calls),
    TEST(guards_of_calls_in_turns),
    END_OF_TESTS,
};
