/* Programs run by several threads at once, each in a workspace of its own, while another thread
 * makes and runs programs of its own. What they find is compared with what one thread finds;
 * ThreadSanitizer sees whether they touch each other's memory. */
#include "check.h"
#include "on_graph.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    THREADS = 8,
    SIZE = 120,
    ROWS = 24, /* of matrices that are made of the inputs */
    COLUMNS = SIZE / ROWS,
    TURNS = 300,   /* of a loop */
    RUNS = 40,     /* of one thread, single points */
    POINTS = 1000, /* of all threads */
    OWN = 100,     /* inputs that differ from point to point */
    LANES = 16,
    OTHERS = 100, /* programs that are made meanwhile */
};

/* --- a program with the gradient of a function --- */

static CadId single(CadGraph *graph, CadOp op, CadId x, CadId y) {
    return cad_graph_apply(graph, op, x, y, CAD_NO_ID);
}

/* Terms over neighbours, which become vectors; a chain without derivative, which is a loop. */
static CadId numbers(CadGraph *graph, CadId x, size_t chain) {
    CadId sum = cad_graph_constant(graph, 0.0);
    for (CadId k = 0; k + 1 < SIZE; k++) {
        const CadId square = single(graph, CAD_OP_multiply, x + k, x + k);
        const CadId apart = single(graph, CAD_OP_subtract, x + k + 1, square);
        const CadId sine = cad_graph_apply(graph, CAD_OP_sin, apart, CAD_NO_ID, CAD_NO_ID);
        sum = single(graph, CAD_OP_add, sum, single(graph, CAD_OP_multiply, sine, apart));
    }
    CadId y = cad_graph_apply(graph, CAD_OP_stop, x + 7, CAD_NO_ID, CAD_NO_ID);
    for (size_t k = 0; k < chain; k++) {
        y = single(graph, CAD_OP_add, cad_graph_apply(graph, CAD_OP_sin, y, CAD_NO_ID, CAD_NO_ID),
                   single(graph, CAD_OP_multiply, y, cad_graph_constant(graph, 0.25)));
    }
    return single(graph, CAD_OP_add, sum, y);
}

/* The inputs as a matrix A: the sum of the squares of A A', and of exp(-A) in two orders, with
 * something added to some elements. */
static CadId arrays(CadGraph *graph, CadId x) {
    const int64_t inner[3] = {ROWS, COLUMNS, ROWS}, matrix[2] = {ROWS, COLUMNS};
    const int64_t rows[3] = {ROWS, 0, 1}, left[3] = {COLUMNS, 1, 0}, right[3] = {0, 1, COLUMNS};
    const int64_t in_order[2] = {COLUMNS, 1}, turned[2] = {1, ROWS}, along[2] = {1, 0};
    const int64_t one = 1;
    const CadNumbers factors[3] = {{0, rows}, {x, left}, {x, right}};
    const CadId product = cad_graph_map(graph, CAD_OP_MATMUL, ROWS * ROWS, 3, inner, 3, factors);
    const CadId squares = map_rows(graph, CAD_OP_multiply, ROWS * ROWS, product, product);
    const CadId sum = sum_of(graph, ROWS * ROWS, squares);

    const CadNumbers turn[3] = {{0, in_order}, {x, turned}, {x, in_order}};
    const CadId mixed = cad_graph_map(graph, CAD_OP_multiply, SIZE, 2, matrix, 3, turn);
    const CadNumbers of_rows[2] = {{0, along}, {mixed, in_order}};
    const CadId totals = cad_graph_map(graph, CAD_OP_SUM, ROWS, 2, matrix, 2, of_rows);
    const int64_t count = ROWS;
    CadMade made = {.kind = CAD_RECORD_ADD_TO,
                    .former = mixed,
                    .size = SIZE,
                    .ndim = 1,
                    .shape = &count,
                    .n_views = 2,
                    .views = {{0, &one}, {totals, &one}}};
    const CadId added = cad_graph_make(graph, graph, &made);
    CadId places[ROWS];
    for (CadId k = 0; k < ROWS; k++) {
        places[k] = k * k % SIZE;
    }
    made.kind = CAD_RECORD_ADD_AT;
    made.former = CAD_NO_ID;
    made.places = places;
    made.n_views = 1;
    made.views[0] = (CadNumbers){totals, &one};
    const CadId scattered = cad_graph_make(graph, graph, &made);
    const CadId waves = map_rows(graph, CAD_OP_arctan2, SIZE, added, scattered);
    return single(graph, CAD_OP_add, sum, sum_of(graph, SIZE, waves));
}

/* From SIZE inputs to the value and SIZE derivatives; a guard holds for inputs below 1. NULL:
 * something failed. */
static CadProgram *gradient_program(int with_arrays, size_t chain, int for_lanes) {
    CadGraph *graph = cad_graph_new(1);
    CadProgram *program = NULL;
    if (graph == NULL) {
        return NULL;
    }
    CadId wrt[SIZE], roots[1 + SIZE];
    const CadId x = cad_graph_input(graph, SIZE, 0);
    name_row(wrt, x, SIZE);
    roots[0] = numbers(graph, x, chain);
    if (with_arrays) {
        roots[0] = single(graph, CAD_OP_add, roots[0], arrays(graph, x));
    }
    const CadId below = single(graph, CAD_OP_less, x, cad_graph_constant(graph, 1.0));
    const CadId seed = cad_graph_constant(graph, 1.0);
    if (graph->status != CAD_OK || cad_graph_guard(graph, below, 1.0) != CAD_OK ||
        cad_graph_pull(graph, roots, &seed, 1, wrt, SIZE, roots + 1) != CAD_OK ||
        cad_program_make(graph, for_lanes ? CAD_AT_MANY_POINTS : CAD_AT_A_POINT, &x, 1, 0, roots,
                         1 + SIZE, &program) != CAD_OK) {
        program = NULL;
    }
    cad_graph_free(graph);
    return program;
}

static double *room_for(const CadProgram *program, size_t lanes, const CadPoints *points) {
    double *room = cad_memory_resize(NULL, cad_program_room(program, lanes), sizeof(double));
    if (room != NULL && points != NULL) {
        cad_program_prepare_points(program, lanes, room, points);
    } else if (room != NULL) {
        cad_program_prepare(program, room);
    }
    return room;
}

/* --- what a thread does --- */

typedef struct Job {
    const CadProgram *program;
    uint64_t seed;
    double *results; /* of all runs: 1 + SIZE numbers each */
    CadPoints points;
    size_t lanes; /* 0: single points, which it makes up */
    size_t begin, end;
    int done;
} Job;

static void *work(void *given) {
    Job *job = given;
    const CadProgram *program = job->program;
    const size_t lanes = job->lanes > 0 ? job->lanes : 1;
    double *room = room_for(program, lanes, job->lanes > 0 ? &job->points : NULL);
    if (room == NULL) {
        return NULL;
    }
    if (job->lanes > 0) {
        job->done =
            cad_program_run_points(program, lanes, room, &job->points, job->begin, job->end) == 0;
    } else {
        Random random = {job->seed};
        job->done = 1;
        for (size_t run = 0; run < RUNS; run++) {
            double *x = cad_program_places(program, room);
            for (size_t k = 0; k < SIZE; k++) {
                x[k] = random_between(&random, -1.0, 1.0);
            }
            job->done &= cad_program_run(program, room) < 0;
            cad_program_read(program, room, job->results + run * (1 + SIZE));
        }
    }
    cad_memory_free(room);
    return NULL;
}

/* Other programs, made, run and freed. */
static void *make_others(void *given) {
    int *done = given;
    *done = 1;
    for (size_t k = 0; k < OTHERS; k++) {
        CadProgram *program = gradient_program(k % 2 == 0, TURNS + k, 0);
        double results[1 + SIZE];
        double *room = program != NULL ? room_for(program, 1, NULL) : NULL;
        if (room == NULL) {
            *done = 0;
        } else {
            double *x = cad_program_places(program, room);
            for (size_t i = 0; i < SIZE; i++) {
                x[i] = 0.5;
            }
            *done &= cad_program_run(program, room) < 0;
            cad_program_read(program, room, results);
        }
        cad_memory_free(room);
        cad_program_free(program);
    }
    return NULL;
}

/* The jobs by a thread each, beside one that makes programs. */
static void run_at_once(Job *jobs) {
    pthread_t threads[THREADS], other;
    int done = 0;
    int started = pthread_create(&other, NULL, make_others, &done) == 0;
    CHECK(started);
    size_t n = 0;
    while (n < THREADS && pthread_create(&threads[n], NULL, work, &jobs[n]) == 0) {
        n++;
    }
    CHECK_COUNT(n, THREADS);
    for (size_t k = 0; k < n; k++) {
        CHECK(pthread_join(threads[k], NULL) == 0);
        CHECK(jobs[k].done);
    }
    if (started) {
        CHECK(pthread_join(other, NULL) == 0);
    }
    CHECK(done);
}

static void check_all(const double *found, const double *expected, size_t n) {
    for (size_t k = 0; k < n; k++) {
        CHECK_BITS(found[k], expected[k]);
    }
}

/* --- tests --- */

static void check_single_points(int with_arrays) {
    CadProgram *program = gradient_program(with_arrays, TURNS, 0);
    CHECK(program != NULL);
    const size_t n = RUNS * (1 + SIZE);
    double *expected = test_memory(THREADS * n, sizeof *expected);
    double *found = test_memory(THREADS * n, sizeof *found);
    Job alone[THREADS], jobs[THREADS];
    for (size_t k = 0; k < THREADS; k++) {
        alone[k] = (Job){.program = program, .seed = k + 1, .results = expected + k * n};
        jobs[k] = (Job){.program = program, .seed = k + 1, .results = found + k * n};
        work(&alone[k]);
        CHECK(alone[k].done);
    }
    run_at_once(jobs);
    check_all(found, expected, THREADS * n);
    CHECK(expected[0] != expected[n]);
    free(expected);
    free(found);
    cad_program_free(program);
}

/* Points are in one array for all threads, and so are results: the parts of two threads meet
 * between two points. */
static void check_points(int with_arrays, size_t lanes) {
    CadProgram *program = gradient_program(with_arrays, TURNS, 1);
    CHECK(program != NULL);
    double *own = test_memory(POINTS * OWN, sizeof *own);
    double shared[SIZE - OWN];
    double *heads = test_memory(2 * POINTS, sizeof *heads);
    double *tails = test_memory(2 * POINTS * SIZE, sizeof *tails);
    uint8_t *missed = test_memory(2 * POINTS, 1);
    Random random = {3};
    for (size_t k = 0; k < POINTS * OWN; k++) {
        own[k] = random_between(&random, -1.0, 1.0);
    }
    for (size_t k = 0; k < SIZE - OWN; k++) {
        shared[k] = random_between(&random, -1.0, 1.0);
    }
    const CadColumns from = {own, OWN, OWN}, to[] = {{heads, 1, 1}, {tails, SIZE, SIZE}},
                     others[] = {{heads + POINTS, 1, 1}, {tails + POINTS * SIZE, SIZE, SIZE}};
    Job alone = {
        .program = program,
        .points = {&from, 1, OWN, shared, to, missed},
        .lanes = lanes,
        .end = POINTS,
    };
    work(&alone);
    CHECK(alone.done);
    Job jobs[THREADS];
    for (size_t k = 0; k < THREADS; k++) {
        jobs[k] = alone;
        jobs[k].points.results = others;
        jobs[k].points.missed += POINTS;
        jobs[k].begin = k * POINTS / THREADS;
        jobs[k].end = (k + 1) * POINTS / THREADS;
        jobs[k].done = 0;
    }
    run_at_once(jobs);
    check_all(heads + POINTS, heads, POINTS);
    check_all(tails + POINTS * SIZE, tails, POINTS * SIZE);
    CHECK(heads[0] != heads[1]);
    free(own);
    free(heads);
    free(tails);
    free(missed);
    cad_program_free(program);
}

static void threads_share_programs(void) {
    check_single_points(0);
    check_single_points(1);
    check_points(0, LANES);
    check_points(1, 1);
}

static const char *const kind_names[] = {
    "singles", "vector", "take", "total", "zeros", "rows", "sums", "product", "add to", "add at",
};

/* Else the tests above say less than they seem to. */
static void programs_have_instructions_of_all_kinds(void) {
    unsigned kinds = 0;
    int has_loop = 0;
    for (int with_arrays = 0; with_arrays < 2; with_arrays++) {
        CadProgram *program = gradient_program(with_arrays, TURNS, 0);
        CHECK(program != NULL);
        CHECK(program->has_arrays == with_arrays);
        CHECK_COUNT(program->n_checks, 1);
        for (size_t k = 0; k < program->n_code; k++) {
            kinds |= 1u << program->code[k].kind;
            has_loop |= program->code[k].kind == CAD_SINGLES && program->code[k].y > 1;
        }
        cad_program_free(program);
    }
    for (unsigned kind = CAD_SINGLES; kind <= CAD_ADD_AT; kind++) {
        check_that((kinds >> kind & 1) != 0, __FILE__, __LINE__, kind_names[kind]);
    }
    CHECK(has_loop);
}

const Test thread_tests[] = {
    TEST(threads_share_programs),
    TEST(programs_have_instructions_of_all_kinds),
    END_OF_TESTS,
};
