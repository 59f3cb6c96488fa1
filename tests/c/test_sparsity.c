/* Patterns, colourings, and the structure of graphs: against what can be seen entry by entry, and
 * with memory that runs out. */
#include "check.h"
#include "graph/graph.h"
#include "on_tape.h"

#include <stdlib.h>
#include <string.h>

enum { MATRICES = 60, MOST_LENGTH = 24, GRAPHS = 40 };

/* A matrix of 0 and 1, and its entries in some order, some of them twice. */
typedef struct Matrix {
    size_t m, n, count;
    unsigned char is[MOST_LENGTH][MOST_LENGTH];
    uint32_t rows[2 * MOST_LENGTH * MOST_LENGTH], columns[2 * MOST_LENGTH * MOST_LENGTH];
} Matrix;

static Matrix random_matrix(Random *random, int symmetric) {
    Matrix matrix = {.m = random_below(random, MOST_LENGTH + 1)};
    matrix.n = symmetric ? matrix.m : random_below(random, MOST_LENGTH + 1);
    const double density = random_between(random, 0.0, 0.6);
    for (size_t i = 0; i < matrix.m; i++) {
        for (size_t j = 0; j < matrix.n; j++) {
            if (random_between(random, 0.0, 1.0) < density) {
                matrix.is[i][j] = 1;
                matrix.is[symmetric ? j : i][symmetric ? i : j] = 1;
            }
        }
    }
    for (size_t j = matrix.n; j-- > 0;) {
        for (size_t i = 0; i < matrix.m; i++) {
            for (size_t k = 0; matrix.is[i][j] && k < 1 + (i + j) % 2; k++) {
                matrix.rows[matrix.count] = (uint32_t)i;
                matrix.columns[matrix.count++] = (uint32_t)j;
            }
        }
    }
    return matrix;
}

static CadStatus pattern_of(const Matrix *matrix, CadPattern *pattern) {
    size_t count = matrix->count;
    return cad_pattern_of_pairs(matrix->m, matrix->n, matrix->rows, matrix->columns, &count, NULL,
                                pattern);
}

static void check_pattern(const CadPattern *pattern, const Matrix *matrix, int transposed) {
    CHECK_COUNT(pattern->n_rows, transposed ? matrix->n : matrix->m);
    CHECK_COUNT(pattern->n_columns, transposed ? matrix->m : matrix->n);
    size_t k = 0;
    for (size_t i = 0; i < pattern->n_rows; i++) {
        CHECK_COUNT((size_t)pattern->starts[i], k);
        for (size_t j = 0; j < pattern->n_columns; j++) {
            const int is = transposed ? matrix->is[j][i] : matrix->is[i][j];
            CHECK(cad_pattern_find(pattern, i, (int32_t)j) == (is ? (int64_t)k : -1));
            k += is != 0;
        }
    }
    CHECK_COUNT(cad_pattern_count(pattern), k);
}

static void patterns_hold_the_entries_in_order(void) {
    for (uint64_t seed = 0; seed < MATRICES; seed++) {
        Random random = {seed};
        Matrix matrix = random_matrix(&random, 0);
        CadPattern pattern, other;
        CHECK(pattern_of(&matrix, &pattern) == CAD_OK);
        check_pattern(&pattern, &matrix, 0);
        CHECK(cad_pattern_transpose(&pattern, NULL, &other) == CAD_OK);
        check_pattern(&other, &matrix, 1);
        cad_pattern_free(&other);
        cad_pattern_free(&pattern);
        matrix = random_matrix(&random, 1);
        const Matrix whole = matrix;
        size_t count = 0; /* what lies below the diagonal is left out */
        for (size_t k = 0; k < matrix.count; k++) {
            if (matrix.rows[k] <= matrix.columns[k]) {
                matrix.rows[count] = matrix.rows[k];
                matrix.columns[count++] = matrix.columns[k];
            }
        }
        matrix.count = count;
        CHECK(pattern_of(&matrix, &pattern) == CAD_OK);
        CHECK(cad_pattern_symmetric(&pattern, &other) == CAD_OK);
        check_pattern(&other, &whole, 0);
        cad_pattern_free(&other);
        cad_pattern_free(&pattern);
    }
}

static void check_columns(const Matrix *matrix, const CadColoring *coloring) {
    for (size_t i = 0; i < matrix->m; i++) {
        for (size_t j = 0; j < matrix->n; j++) {
            CHECK(coloring->colors[j] < coloring->n_colors);
            for (size_t k = 0; k < j; k++) {
                CHECK(!matrix->is[i][j] || !matrix->is[i][k] ||
                      coloring->colors[j] != coloring->colors[k]);
            }
        }
    }
}

/* An entry is read where no other one of its row has its colour. */
static void check_star(const Matrix *matrix, const CadPattern *pattern,
                       const CadColoring *coloring) {
    const size_t count = cad_pattern_count(pattern);
    uint32_t *rows = test_memory(count + 1, sizeof *rows);
    uint32_t *colors = test_memory(count + 1, sizeof *colors);
    CHECK(cad_read_star(pattern, coloring, rows, colors) == CAD_OK);
    for (size_t i = 0; i < matrix->m; i++) {
        for (int64_t e = pattern->starts[i]; e < pattern->starts[i + 1]; e++) {
            const size_t j = (size_t)pattern->columns[e], at = rows[e];
            CHECK(at == i || at == j);
            const size_t other = at == i ? j : i;
            CHECK_COUNT(colors[e], coloring->colors[other]);
            for (size_t k = 0; k < matrix->n; k++) {
                CHECK(k == other || !matrix->is[at][k] || coloring->colors[k] != colors[e]);
            }
        }
    }
    free(rows);
    free(colors);
}

static void colours_keep_entries_apart(void) {
    for (uint64_t seed = 0; seed < MATRICES; seed++) {
        Random random = {seed};
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            const Matrix matrix = random_matrix(&random, symmetric);
            CadPattern pattern;
            CadColoring coloring;
            CHECK(pattern_of(&matrix, &pattern) == CAD_OK);
            CHECK(cad_color_columns(&pattern, &coloring) == CAD_OK);
            check_columns(&matrix, &coloring);
            cad_coloring_free(&coloring);
            if (symmetric) {
                CHECK(cad_color_star(&pattern, &coloring) == CAD_OK);
                check_star(&matrix, &pattern, &coloring);
                cad_coloring_free(&coloring);
            }
            cad_pattern_free(&pattern);
        }
    }
}

static void an_arrow_takes_two_star_colours(void) {
    enum { N = 200 };
    uint32_t rows[3 * N], columns[3 * N];
    size_t count = 0;
    for (uint32_t i = 0; i < N; i++) {
        rows[count] = i, columns[count++] = i;
        rows[count] = i, columns[count++] = 0;
        rows[count] = 0, columns[count++] = i;
    }
    CadPattern pattern;
    CadColoring coloring;
    CHECK(cad_pattern_of_pairs(N, N, rows, columns, &count, NULL, &pattern) == CAD_OK);
    CHECK_COUNT(count, 3 * N - 2);
    CHECK(cad_color_star(&pattern, &coloring) == CAD_OK);
    CHECK_COUNT(coloring.n_colors, 2);
    cad_coloring_free(&coloring);
    cad_pattern_free(&pattern);
}

static CadStatus attempt_colours(long granted, int which) {
    (void)which;
    Random random = {7};
    const Matrix matrix = random_matrix(&random, 1);
    CadPattern pattern = {0}, other = {0};
    CadColoring columns = {0}, star = {0};
    cad_memory_fail_after(granted);
    CadStatus status = pattern_of(&matrix, &pattern);
    if (status == CAD_OK) {
        status = cad_pattern_transpose(&pattern, NULL, &other);
        cad_pattern_free(&other);
        const CadStatus others[] = {cad_pattern_symmetric(&pattern, &other),
                                    cad_color_columns(&pattern, &columns),
                                    cad_color_star(&pattern, &star)};
        for (int i = 0; i < 3; i++) {
            status = status == CAD_OK ? others[i] : status;
        }
    }
    cad_memory_fail_after(-1);
    if (status == CAD_OK) {
        check_columns(&matrix, &columns);
        check_star(&matrix, &pattern, &star);
    }
    cad_pattern_free(&pattern);
    cad_pattern_free(&other);
    cad_coloring_free(&columns);
    cad_coloring_free(&star);
    return status;
}

/* --- graphs --- */

enum { VARIABLES = 70, OUTPUTS = 9, STEPS = 60 };

/* Single numbers and rows over all inputs; each number is of two that were before. */
typedef struct Sample {
    CadGraph *graph;
    CadId wrt[VARIABLES], outputs[OUTPUTS];
} Sample;

static Sample random_graph(uint64_t seed) {
    Random random = {seed};
    Sample sample = {.graph = cad_graph_new(1)};
    CadGraph *graph = sample.graph;
    if (graph == NULL) {
        return sample;
    }
    const CadId first = cad_graph_input(graph, VARIABLES, 0);
    CadId known[VARIABLES + 1 + STEPS];
    size_t n_known = 0;
    for (uint32_t k = 0; k < VARIABLES; k++) {
        sample.wrt[k] = known[n_known++] = first + k;
    }
    known[n_known++] = cad_graph_constant(graph, 0.0);
    static const CadOp ops[] = {CAD_OP_add,   CAD_OP_multiply, CAD_OP_maximum, CAD_OP_sin,
                                CAD_OP_floor, CAD_OP_stop,     CAD_OP_amul,    CAD_OP_less};
    const int64_t length = VARIABLES, one = 1, back = -1, none = 0;
    for (size_t k = 0; k < STEPS; k++) {
        const CadId x = known[random_below(&random, n_known)],
                    y = known[random_below(&random, n_known)];
        const CadOp op = ops[random_below(&random, sizeof ops / sizeof ops[0])];
        const size_t kind = random_below(&random, 8);
        if (kind == 0) { /* a row over the inputs, backwards, and one number */
            const CadNumbers views[3] = {{0, &one}, {first + VARIABLES - 1, &back}, {x, &none}};
            known[n_known++] =
                (CadId)random_below(&random, VARIABLES) +
                cad_graph_map(graph, CAD_OP_multiply, VARIABLES, 1, &length, 3, views);
        } else if (kind == 1) { /* the sum of some inputs */
            const int64_t some = 1 + (int64_t)random_below(&random, VARIABLES);
            const CadNumbers views[2] = {{0, &none}, {first, &one}};
            known[n_known++] = cad_graph_map(graph, CAD_OP_SUM, 1, 1, &some, 2, views);
        } else if (kind == 3) { /* some of the inputs, chosen by a mask, or one number */
            double mask[VARIABLES];
            for (size_t i = 0; i < VARIABLES; i++) {
                mask[i] = (double)random_below(&random, 2);
            }
            const CadId chosen = cad_graph_constants(graph, mask, VARIABLES);
            const CadNumbers views[4] = {{0, &one}, {chosen, &one}, {first, &one}, {x, &none}};
            known[n_known++] = (CadId)random_below(&random, VARIABLES) +
                               cad_graph_map(graph, CAD_OP_where, VARIABLES, 1, &length, 4, views);
        } else if (kind == 2) {
            const CadId ids[3] = {x, y, x};
            known[n_known++] = cad_graph_pack(graph, ids, 3) + (CadId)random_below(&random, 3);
        } else {
            known[n_known++] = cad_graph_apply(graph, op, x, y, y);
        }
        if (graph->status != CAD_OK) {
            break;
        }
    }
    for (size_t k = 0; k < OUTPUTS; k++) {
        sample.outputs[k] = known[k == 0 ? 0 : n_known - 1 - random_below(&random, STEPS)];
    }
    return sample;
}

static int is_same(const CadPattern *a, const CadPattern *b) {
    return a->n_rows == b->n_rows && a->n_columns == b->n_columns &&
           memcmp(a->starts, b->starts, (a->n_rows + 1) * sizeof *a->starts) == 0 &&
           memcmp(a->columns, b->columns, cad_pattern_count(a) * sizeof *a->columns) == 0;
}

/* Both ways are taken: more inputs than outputs, and the other way round. */
static void sets_of_bits_find_the_entries(void) {
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        Sample sample = random_graph(seed);
        CHECK(sample.graph->status == CAD_OK);
        for (size_t n = 3; n <= VARIABLES; n += VARIABLES - 3) {
            CadPattern pattern, sets;
            CadId *entries;
            CHECK(cad_graph_jacobian(sample.graph, sample.wrt, n, sample.outputs, OUTPUTS,
                                     &pattern, &entries) == CAD_OK);
            CHECK(entries != NULL);
            CHECK(cad_sparsity(sample.graph, sample.wrt, n, sample.outputs, OUTPUTS, &sets) ==
                  CAD_OK);
            for (size_t k = 0; k < cad_pattern_count(&pattern); k++) {
                CHECK(!cad_graph_is(sample.graph, entries[k], 0.0));
            }
            CHECK(is_same(&pattern, &sets));
            cad_memory_free(entries);
            cad_pattern_free(&pattern);
            cad_pattern_free(&sets);
        }
        cad_graph_free(sample.graph);
    }
}

/* A choice by a mask depends on what is chosen alone, a mask that is computed from it included. */
static void what_a_mask_leaves_out_is_no_part_of_the_pattern(void) {
    CadGraph *graph = cad_graph_new(1);
    const double limits[3] = {1.0, 3.0, 2.0};
    const int64_t length = 3, one = 1, none = 0;
    const CadId x = cad_graph_input(graph, 4, 0), limit = cad_graph_constants(graph, limits, 3);
    const CadId two = cad_graph_constant(graph, 2.0);
    const CadNumbers less[3] = {{0, &one}, {limit, &one}, {two, &none}};
    const CadId mask = cad_graph_map(graph, CAD_OP_less, 3, 1, &length, 3, less);
    const CadNumbers views[4] = {{0, &one}, {mask, &one}, {x, &one}, {x + 3, &none}};
    const CadId y = cad_graph_map(graph, CAD_OP_where, 3, 1, &length, 4, views);
    const CadId wrt[4] = {x, x + 1, x + 2, x + 3}, outputs[3] = {y, y + 1, y + 2};
    CadPattern pattern;
    CHECK(graph->status == CAD_OK);
    CHECK(cad_sparsity(graph, wrt, 4, outputs, 3, &pattern) == CAD_OK);
    CHECK_COUNT(cad_pattern_count(&pattern), 3);
    CHECK(cad_pattern_find(&pattern, 0, 0) >= 0);
    CHECK(cad_pattern_find(&pattern, 1, 3) >= 0);
    CHECK(cad_pattern_find(&pattern, 2, 3) >= 0);
    cad_pattern_free(&pattern);
    cad_graph_free(graph);
}

/* The pattern of a graph by sets of bits, or by its entries. */
static CadStatus attempt_graph(long granted, int is_jacobian) {
    Sample sample = random_graph(5);
    const CadId *const wrt = sample.wrt, *const outputs = sample.outputs;
    CadPattern expected, found;
    CadId *entries = NULL;
    CHECK(cad_sparsity(sample.graph, wrt, VARIABLES, outputs, OUTPUTS, &expected) == CAD_OK);
    cad_memory_fail_after(granted);
    const CadStatus status =
        is_jacobian
            ? cad_graph_jacobian(sample.graph, wrt, VARIABLES, outputs, OUTPUTS, &found, &entries)
            : cad_sparsity(sample.graph, wrt, VARIABLES, outputs, OUTPUTS, &found);
    CHECK(status == CAD_OK ? is_same(&found, &expected) : entries == NULL && found.starts == NULL);
    cad_memory_free(entries);
    cad_pattern_free(&found);
    cad_pattern_free(&expected);
    cad_graph_free(sample.graph);
    return status;
}

static void patterns_survive_without_memory(void) {
    check_want_of_memory(attempt_colours, 0, 4);
    check_want_of_memory(attempt_graph, 0, 1);
    check_want_of_memory(attempt_graph, 1, 4);
}

const Test sparsity_tests[] = {
    TEST(patterns_hold_the_entries_in_order),
    TEST(colours_keep_entries_apart),
    TEST(an_arrow_takes_two_star_colours),
    TEST(sets_of_bits_find_the_entries),
    TEST(what_a_mask_leaves_out_is_no_part_of_the_pattern),
    TEST(patterns_survive_without_memory),
    END_OF_TESTS,
};
