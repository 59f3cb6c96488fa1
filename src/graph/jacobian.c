/* Jacobians entry by entry. Each number has a row of the derivatives it has so far: forward of
 * itself by the variables, backward of the outputs by itself. Either way they come from the rows
 * of its neighbours, times the edges between; the way with fewer products is taken. */
#include "graph/edges.h"
#include "graph/inner.h"

/* An entry is a number of its own, while tangents go in lanes and by arrays. By entries it is
 * faster with up to so many products for each edge, fewer where they are of products of matrices,
 * which go at several numbers a cycle. And in all not more than can be made in a second, unless
 * rows are short throughout. */
enum { PRODUCTS_PER_EDGE = 128, PRODUCTS_PER_FACTOR = 16, FEW_PRODUCTS = 1 << 12 };
enum { MOST_PRODUCTS = 1 << 21, SHORT_ROW = 6 };
enum { MOST_EDGES = 1 << 23, NONE = -1 };

typedef struct Row {
    size_t start, length;
} Row;

typedef struct Way {
    CadGraph *graph;
    const CadEdges *edges;
    int forward;
    int counts; /* no numbers are made */
    CadId one;
    const CadId *ends; /* where it begins: variables or outputs */
    size_t n_ends;
    uint32_t *next_end; /* of the same number; `first_end` is that of each number, or NONE */
    uint32_t *first_end;
    size_t *starts; /* of each number: where its edges are in `sorted` */
    uint32_t *sorted;
    Row *rows;
    uint32_t *columns; /* of all rows */
    CadId *numbers;
    size_t n, column_capacity, number_capacity;
    int64_t *place; /* of each column in the row that is being made, or NONE */
    size_t products, most;
} Way;

static uint32_t to(const Way *way, const CadEdge *edge) {
    return way->forward ? edge->of : edge->by;
}

static uint32_t from(const Way *way, const CadEdge *edge) {
    return way->forward ? edge->by : edge->of;
}

/* Add a number to the row that is being made. */
static void add(Way *way, uint32_t column, CadId number) {
    CadGraph *graph = way->graph;
    if (way->place[column] != NONE) {
        CadId *known = &way->numbers[way->place[column]];
        if (!way->counts) {
            *known = cad_graph_apply(graph, CAD_OP_add, *known, number, number);
        }
        return;
    }
    CadStatus status = cad_memory_grow((void **)&way->columns, &way->column_capacity, way->n + 1,
                                       sizeof *way->columns);
    if (status == CAD_OK && !way->counts) {
        status = cad_memory_grow((void **)&way->numbers, &way->number_capacity, way->n + 1,
                                 sizeof *way->numbers);
    }
    if (status != CAD_OK) {
        graph->status = status;
        return;
    }
    way->place[column] = (int64_t)way->n;
    way->columns[way->n] = column;
    if (!way->counts) {
        way->numbers[way->n] = number;
    }
    way->n++;
}

static void make_row(Way *way, size_t number) {
    const size_t start = way->n;
    for (uint32_t k = way->first_end[number]; k != UINT32_MAX; k = way->next_end[k]) {
        add(way, k, way->one);
    }
    for (size_t e = way->starts[number]; e < way->starts[number + 1]; e++) {
        const CadEdge *edge = &way->edges->items[way->sorted[e]];
        const Row row = way->rows[from(way, edge)];
        way->products += row.length;
        if (way->products > way->most || way->graph->status != CAD_OK) {
            break;
        }
        for (size_t k = row.start; k < row.start + row.length; k++) {
            CadId product = way->one;
            if (!way->counts) {
                const CadId t = way->numbers[k];
                product = cad_graph_apply(way->graph, CAD_OP_amul, edge->partial, t, t);
                if (cad_graph_is(way->graph, product, 0.0)) {
                    continue;
                }
            }
            add(way, way->columns[k], product);
        }
    }
    for (size_t k = start; k < way->n; k++) {
        way->place[way->columns[k]] = NONE;
    }
    way->rows[number] = (Row){start, way->n - start};
}

static int goes_on(const Way *way) {
    return way->graph->status == CAD_OK && way->products <= way->most;
}

/* The row of a number, made if it is not there. */
static Row row_of(Way *way, size_t number) {
    if (way->rows[number].start == SIZE_MAX) {
        make_row(way, number);
    }
    return way->rows[number];
}

/* All rows that are on the way, from one end to the other. Edges stand in an order of their
 * numbers: forward all edges that lead to a number are due at the first of them. Backward all
 * edges that leave it are behind when the last one that leads to it comes. */
static void make_rows(Way *way) {
    const CadEdges *edges = way->edges;
    memset(way->rows, 0xff, edges->n_numbers * sizeof *way->rows);
    way->n = 0;
    way->products = 0;
    for (size_t k = 0; k < way->n_ends && goes_on(way) && way->forward; k++) {
        row_of(way, way->ends[k]);
    }
    for (size_t k = 0; k < edges->n && goes_on(way); k++) {
        row_of(way, edges->items[way->forward ? k : edges->n - 1 - k].of);
    }
}

static void set_way(Way *way, int forward, const CadId *ends, size_t n_ends) {
    const CadEdges *edges = way->edges;
    way->forward = forward;
    way->ends = ends;
    way->n_ends = n_ends;
    memset(way->first_end, 0xff, edges->n_numbers * sizeof *way->first_end);
    memset(way->starts, 0, (edges->n_numbers + 2) * sizeof *way->starts);
    for (size_t k = n_ends; k-- > 0;) {
        uint32_t *first = &way->first_end[ends[k]];
        way->next_end[k] = *first;
        *first = (uint32_t)k;
    }
    for (size_t k = 0; k < edges->n; k++) {
        way->starts[to(way, &edges->items[k]) + 2]++;
    }
    for (size_t i = 0; i < edges->n_numbers; i++) {
        way->starts[i + 2] += way->starts[i + 1];
    }
    for (size_t k = 0; k < edges->n; k++) {
        way->sorted[way->starts[to(way, &edges->items[k]) + 1]++] = (uint32_t)k;
    }
}

/* The results as entries: rows and columns of the Jacobian, and their numbers. */
static void read_entries(Way *way, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                         size_t n_outputs, CadPattern *pattern, CadId **entries) {
    CadGraph *graph = way->graph;
    const CadId *others = way->forward ? outputs : wrt;
    const size_t n_others = way->forward ? n_outputs : n_wrt;
    size_t count = 0;
    for (size_t k = 0; k < n_others && goes_on(way); k++) {
        count += row_of(way, others[k]).length;
    }
    if (!goes_on(way)) {
        return;
    }
    uint32_t *rows = cad_memory_resize(NULL, count, sizeof *rows);
    uint32_t *columns = cad_memory_resize(NULL, count, sizeof *columns);
    CadId *ids = cad_memory_resize(NULL, count, sizeof *ids);
    size_t *order = cad_memory_resize(NULL, count, sizeof *order);
    CadId *result = cad_memory_resize(NULL, count, sizeof *result);
    CadStatus status =
        rows == NULL || columns == NULL || ids == NULL || order == NULL || result == NULL
            ? CAD_NO_MEMORY
            : CAD_OK;
    size_t kept = 0;
    for (size_t k = 0; k < n_others && status == CAD_OK; k++) {
        const Row row = row_of(way, others[k]);
        for (size_t i = row.start; i < row.start + row.length; i++) {
            if (!cad_graph_is(graph, way->numbers[i], 0.0)) {
                rows[kept] = way->forward ? (uint32_t)k : way->columns[i];
                columns[kept] = way->forward ? way->columns[i] : (uint32_t)k;
                ids[kept++] = way->numbers[i];
            }
        }
    }
    if (status == CAD_OK) {
        status = cad_pattern_of_pairs(n_outputs, n_wrt, rows, columns, &kept, order, pattern);
    }
    for (size_t k = 0; k < kept && status == CAD_OK; k++) {
        result[k] = ids[order[k]];
    }
    cad_memory_free(rows);
    cad_memory_free(columns);
    cad_memory_free(ids);
    cad_memory_free(order);
    if (status == CAD_OK) {
        *entries = result;
    } else {
        cad_memory_free(result);
        graph->status = status;
    }
}

/* How many products a way takes, or SIZE_MAX. */
static size_t count_products(Way *way, int forward, const CadId *ends, size_t n_ends,
                             const CadId *others, size_t n_others) {
    set_way(way, forward, ends, n_ends);
    way->counts = 1;
    make_rows(way);
    for (size_t k = 0; k < n_others && goes_on(way); k++) {
        row_of(way, others[k]);
    }
    return goes_on(way) ? way->products : SIZE_MAX;
}

static void find_entries(Way *way, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                         size_t n_outputs, CadPattern *pattern, CadId **entries) {
    const CadEdges *edges = way->edges;
    const size_t n_ends = n_wrt > n_outputs ? n_wrt : n_outputs;
    way->next_end = cad_memory_resize(NULL, n_ends, sizeof *way->next_end);
    way->first_end = cad_memory_resize(NULL, edges->n_numbers, sizeof *way->first_end);
    way->starts = cad_memory_resize(NULL, edges->n_numbers + 2, sizeof *way->starts);
    way->sorted = cad_memory_resize(NULL, edges->n, sizeof *way->sorted);
    way->rows = cad_memory_resize(NULL, edges->n_numbers, sizeof *way->rows);
    way->place = cad_memory_resize(NULL, n_ends, sizeof *way->place);
    if (way->next_end == NULL || way->first_end == NULL || way->starts == NULL ||
        way->sorted == NULL || way->rows == NULL || way->place == NULL) {
        way->graph->status = CAD_NO_MEMORY;
        return;
    }
    memset(way->place, 0xff, n_ends * sizeof *way->place);
    way->one = cad_graph_constant(way->graph, 1.0);
    way->most = FEW_PRODUCTS + PRODUCTS_PER_FACTOR * edges->n_factors;
    if (edges->n > edges->n_factors) {
        way->most += PRODUCTS_PER_EDGE * (edges->n - edges->n_factors);
    }
    const size_t most =
        SHORT_ROW * edges->n > MOST_PRODUCTS ? SHORT_ROW * edges->n : (size_t)MOST_PRODUCTS;
    way->most = way->most < most ? way->most : most;
    const size_t back = count_products(way, 0, outputs, n_outputs, wrt, n_wrt);
    if (way->graph->status != CAD_OK) {
        return;
    }
    const size_t forth = count_products(way, 1, wrt, n_wrt, outputs, n_outputs);
    if (way->graph->status != CAD_OK || (back == SIZE_MAX && forth == SIZE_MAX)) {
        return;
    }
    if (back < forth) {
        set_way(way, 0, outputs, n_outputs);
    }
    way->counts = 0;
    make_rows(way);
    read_entries(way, wrt, n_wrt, outputs, n_outputs, pattern, entries);
}

CadStatus cad_graph_jacobian(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                             size_t n_outputs, CadPattern *pattern, CadId **entries) {
    CadEdges edges;
    Way way = {.graph = graph, .edges = &edges};
    *pattern = (CadPattern){0};
    *entries = NULL;
    const CadStatus status =
        cad_graph_edges(graph, wrt, n_wrt, outputs, n_outputs, MOST_EDGES, 0, &edges);
    if (status == CAD_OK && !edges.too_many) {
        find_entries(&way, wrt, n_wrt, outputs, n_outputs, pattern, entries);
    }
    cad_memory_free(way.next_end);
    cad_memory_free(way.first_end);
    cad_memory_free(way.starts);
    cad_memory_free(way.sorted);
    cad_memory_free(way.rows);
    cad_memory_free(way.columns);
    cad_memory_free(way.numbers);
    cad_memory_free(way.place);
    cad_edges_free(&edges);
    return graph->status;
}
