/* Operations over what is put together, box by box, against a walk over all elements. */
#include "check.h"
#include "on_graph.h"
#include "replay.h"

#include <math.h>

enum { ROWS = 60, COLUMNS = 50, N = ROWS * COLUMNS };

/* y = roll(x) x; z = y, with y rolled added at listed places, and a part of it at some in order;
 * v = z, rolled, less x. */
typedef struct Stencil {
    CadGraph *graph;
    CadId x;
    CadId roots[N];
    double inputs[N], expected[N];
} Stencil;

static size_t rolled(size_t k, size_t rows, size_t columns) {
    return (k / COLUMNS + rows) % ROWS * COLUMNS + (k % COLUMNS + columns) % COLUMNS;
}

static CadId pack_rolled(CadGraph *graph, CadId x, size_t rows, size_t columns) {
    CadId ids[N];
    for (size_t k = 0; k < N; k++) {
        ids[k] = x + (CadId)rolled(k, rows, columns);
    }
    return cad_graph_pack(graph, ids, N);
}

static void set_stencil(Stencil *s, size_t rows, size_t columns, int is_spread) {
    static double y[N], z[N];
    static const int64_t all = N, one = 1, part[2] = {ROWS / 2, COLUMNS - 1};
    static const int64_t strides[2] = {COLUMNS, 1};
    CadId places[N];
    s->graph = cad_graph_new(1);
    s->x = cad_graph_input(s->graph, N, 0);
    const CadId product =
        map_rows(s->graph, CAD_OP_multiply, N, pack_rolled(s->graph, s->x, rows, columns), s->x);
    for (size_t k = 0; k < N; k++) {
        s->inputs[k] = sin((double)k);
        places[k] = (CadId)rolled(k, is_spread ? k % 7 : 1, columns);
    }
    const CadId sum = cad_graph_make(s->graph, s->graph,
                                     &(CadMade){.kind = CAD_RECORD_ADD_AT,
                                                .size = N,
                                                .former = product,
                                                .places = places,
                                                .ndim = 1,
                                                .shape = &all,
                                                .n_views = 1,
                                                .views = {{product, &one}}});
    const CadId z_id = cad_graph_make(s->graph, s->graph,
                                      &(CadMade){.kind = CAD_RECORD_ADD_TO,
                                                 .size = N,
                                                 .former = sum,
                                                 .ndim = 2,
                                                 .shape = part,
                                                 .n_views = 2,
                                                 .views = {{1, strides}, {s->x, strides}}});
    const CadId v =
        map_rows(s->graph, CAD_OP_subtract, N, pack_rolled(s->graph, z_id, rows, columns), s->x);
    for (size_t k = 0; k < N; k++) {
        s->roots[k] = v + (CadId)k;
        y[k] = z[k] = s->inputs[rolled(k, rows, columns)] * s->inputs[k];
    }
    for (size_t k = 0; k < N; k++) {
        z[places[k]] += y[k];
    }
    for (size_t i = 0; i < (size_t)part[0]; i++) {
        for (size_t j = 0; j < (size_t)part[1]; j++) {
            z[i * COLUMNS + j + 1] += s->inputs[i * COLUMNS + j];
        }
    }
    for (size_t k = 0; k < N; k++) {
        s->expected[k] = z[rolled(k, rows, columns)] - s->inputs[k];
    }
}

static CadGraph *in_boxes(Stencil *s, CadId *ids) {
    CadGraph *boxes;
    ids[0] = s->x;
    memcpy(ids + 1, s->roots, sizeof s->roots);
    CHECK(cad_graph_in_boxes(s->graph, ids, N + 1, &boxes) == CAD_OK);
    return boxes;
}

static void stencils_are_computed_in_boxes(void) {
    static Stencil s;
    static double results[N];
    static CadId ids[N + 1];
    const size_t by[][2] = {{0, 1}, {1, 0}, {ROWS - 1, COLUMNS - 1}, {3, 7}, {0, 0}};
    for (size_t k = 0; k < 10; k++) {
        set_stencil(&s, by[k / 2][0], by[k / 2][1], k % 2);
        CadGraph *const boxes = in_boxes(&s, ids);
        CHECK(boxes != NULL);
        CHECK_COUNT(boxes->records[cad_graph_record_of(boxes, ids[1])].of.array.size, N);
        CadProgram *const program = make_program(s.graph, &s.x, 1, s.roots, N);
        CHECK(run(program, s.inputs, results) == -1);
        for (size_t j = 0; j < N; j++) {
            CHECK_SAME(results[j], s.expected[j]);
        }
        cad_program_free(program);
        cad_graph_free(boxes);
        cad_graph_free(s.graph);
    }
}

/* No number of rows divides a prime number. */
static void without_order_there_are_no_boxes(void) {
    enum { PRIME = 2999 };
    static CadId ids[1 + PRIME], any[PRIME];
    Random random = {1};
    CadGraph *const graph = cad_graph_new(1), *boxes;
    const CadId x = cad_graph_input(graph, PRIME, 0);
    for (size_t k = 0; k < PRIME; k++) {
        any[k] = x + (CadId)random_below(&random, PRIME);
    }
    const CadId y = map_rows(graph, CAD_OP_add, PRIME, cad_graph_pack(graph, any, PRIME), x);
    ids[0] = x;
    name_row(ids + 1, y, PRIME);
    CHECK(cad_graph_in_boxes(graph, ids, 1 + PRIME, &boxes) == CAD_OK);
    CHECK(boxes == NULL && ids[0] == x && ids[1] == y);
    cad_graph_free(graph);
}

static CadStatus attempt_boxes(long granted, int which) {
    (void)which;
    static Stencil s;
    static CadId ids[N + 1];
    CadGraph *boxes = NULL;
    set_stencil(&s, 1, 1, 0);
    ids[0] = s.x;
    memcpy(ids + 1, s.roots, sizeof s.roots);
    cad_memory_fail_after(granted);
    const CadStatus status = cad_graph_in_boxes(s.graph, ids, N + 1, &boxes);
    CHECK((boxes != NULL) == (status == CAD_OK));
    cad_graph_free(boxes);
    cad_graph_free(s.graph);
    return status;
}

static void boxes_survive_want_of_memory(void) {
    check_want_of_memory(attempt_boxes, 0, 20);
}

const Test box_tests[] = {
    TEST(stencils_are_computed_in_boxes),
    TEST(without_order_there_are_no_boxes),
    TEST(boxes_survive_want_of_memory),
    END_OF_TESTS,
};
