/* See edge_rows.h. */
#include "graph/edge_rows.h"

#include "graph/inner.h"

enum { MOST_LISTED = 1 << 26 };

CadStatus cad_rows_begin(CadRows *r) {
    const size_t n_ends = r->n_wrt > r->n_outputs ? r->n_wrt : r->n_outputs;
    const size_t n_numbers = r->edges->n_numbers;
    r->next_end = cad_memory_take(&r->memory, n_ends, sizeof *r->next_end);
    r->first_end = cad_memory_take(&r->memory, n_numbers, sizeof *r->first_end);
    r->starts = cad_memory_take(&r->memory, n_numbers + 2, sizeof *r->starts);
    r->sorted = cad_memory_take(&r->memory, r->edges->n, sizeof *r->sorted);
    r->rows = cad_memory_take(&r->memory, n_numbers, sizeof *r->rows);
    r->place = cad_memory_take(&r->memory, n_ends, sizeof *r->place);
    if (r->memory.status != CAD_OK) {
        return r->graph->status = r->memory.status;
    }
    memset(r->place, 0xff, n_ends * sizeof *r->place);
    r->one = cad_graph_constant(r->graph, 1.0);
    return r->graph->status;
}

void cad_rows_free(CadRows *r) {
    cad_memory_give_back(&r->memory);
    cad_memory_free(r->columns);
    cad_memory_free(r->numbers);
}

/* --- the order of edges --- */

static uint32_t to(const CadRows *r, const CadEdge *edge) {
    return r->forward ? edge->of : edge->by;
}

static uint32_t from(const CadRows *r, const CadEdge *edge) {
    return r->forward ? edge->by : edge->of;
}

static const CadEdge *edge_at(const CadRows *r, size_t k) {
    return &r->edges->items[r->sorted[k]];
}

/* Edges by the number whose row follows, and which ends each number is. */
void cad_rows_set_way(CadRows *r, int forward) {
    const CadEdges *edges = r->edges;
    r->forward = forward;
    r->ends = forward ? r->wrt : r->outputs;
    r->others = forward ? r->outputs : r->wrt;
    r->n_ends = forward ? r->n_wrt : r->n_outputs;
    r->n_others = forward ? r->n_outputs : r->n_wrt;
    memset(r->first_end, 0xff, edges->n_numbers * sizeof *r->first_end);
    memset(r->starts, 0, (edges->n_numbers + 2) * sizeof *r->starts);
    for (size_t k = r->n_ends; k-- > 0;) {
        uint32_t *first = &r->first_end[r->ends[k]];
        r->next_end[k] = *first;
        *first = (uint32_t)k;
    }
    for (size_t k = 0; k < edges->n; k++) {
        r->starts[to(r, &edges->items[k]) + 2]++;
    }
    for (size_t i = 0; i < edges->n_numbers; i++) {
        r->starts[i + 2] += r->starts[i + 1];
    }
    for (size_t k = 0; k < edges->n; k++) {
        r->sorted[r->starts[to(r, &edges->items[k]) + 1]++] = (uint32_t)k;
    }
}

/* --- one row --- */

static int goes_on(const CadRows *r) {
    return r->graph->status == CAD_OK && r->products <= r->most_products &&
           r->work <= r->most_work && r->n <= MOST_LISTED;
}

/* Add an entry to the row that is being made. */
static void add(CadRows *r, uint32_t column, CadId number) {
    CadGraph *graph = r->graph;
    if (r->place[column] >= 0) {
        if (r->with_numbers) {
            CadId *known = &r->numbers[r->place[column]];
            *known = cad_graph_apply(graph, CAD_OP_add, *known, number, number);
        }
        return;
    }
    CadStatus status =
        cad_memory_grow((void **)&r->columns, &r->column_capacity, r->n + 1, sizeof *r->columns);
    if (status == CAD_OK && r->with_numbers) {
        status = cad_memory_grow((void **)&r->numbers, &r->number_capacity, r->n + 1,
                                 sizeof *r->numbers);
    }
    if (status != CAD_OK) {
        graph->status = status;
        return;
    }
    r->place[column] = (int64_t)r->n;
    r->columns[r->n] = column;
    if (r->with_numbers) {
        r->numbers[r->n] = number;
    }
    r->n++;
}

/* Add a row times an edge. */
static void add_product(CadRows *r, CadRow row, const CadEdge *edge) {
    for (size_t k = row.start; k < row.start + row.length && goes_on(r); k++) {
        CadId product = r->one;
        if (r->with_numbers) {
            const CadId t = r->numbers[k];
            product = cad_graph_apply(r->graph, CAD_OP_amul, edge->partial, t, t);
            if (cad_graph_is(r->graph, product, 0.0)) {
                continue;
            }
        }
        add(r, r->columns[k], product);
    }
}

static int is_same(CadRow a, CadRow b) {
    return a.start == b.start && a.length == b.length;
}

/* Whether the longest row of its neighbours is that of a number, too, which it has then. */
static int shares_row(CadRows *r, size_t number) {
    CadRow longest = {0, 0};
    int shares = r->first_end[number] == UINT32_MAX && !r->with_numbers;
    for (size_t e = r->starts[number]; e < r->starts[number + 1]; e++) {
        const CadRow row = r->rows[from(r, edge_at(r, e))];
        longest = row.length > longest.length ? row : longest;
        r->products += row.length;
    }
    for (size_t e = r->starts[number]; e < r->starts[number + 1] && shares; e++) {
        const CadRow row = r->rows[from(r, edge_at(r, e))];
        shares = row.length == 0 || is_same(row, longest);
    }
    r->work += r->starts[number + 1] - r->starts[number] + 1;
    r->rows[number] = longest;
    return shares;
}

static void make_row(CadRows *r, size_t number) {
    if (shares_row(r, number)) {
        return;
    }
    const size_t start = r->n, longest = r->rows[number].length;
    CadRow before = {0, 0};
    for (uint32_t k = r->first_end[number]; k != UINT32_MAX && goes_on(r); k = r->next_end[k]) {
        add(r, k, r->one);
    }
    for (size_t e = r->starts[number]; e < r->starts[number + 1] && goes_on(r); e++) {
        const CadRow row = r->rows[from(r, edge_at(r, e))];
        if (r->with_numbers || !is_same(row, before)) {
            add_product(r, row, edge_at(r, e));
            r->work += row.length;
        }
        before = row;
    }
    for (size_t k = start; k < r->n; k++) {
        r->place[r->columns[k]] = -1;
    }
    if (r->n - start == longest && !r->with_numbers) {
        r->n = start; /* it is that one */
    } else {
        r->rows[number] = (CadRow){start, r->n - start};
    }
}

/* --- all of them --- */

/* The row of a number, made if it is not there. */
static CadRow row_of(CadRows *r, size_t number) {
    if (r->rows[number].start == SIZE_MAX) {
        make_row(r, number);
    }
    return r->rows[number];
}

/* Edges stand in an order of their numbers: forward all edges that lead to a number are due at the
 * first of them. Backward all edges that leave it are behind when the last one that leads to it
 * comes. */
int cad_rows_make(CadRows *r, int with_numbers) {
    const CadEdges *edges = r->edges;
    r->with_numbers = with_numbers;
    memset(r->rows, 0xff, edges->n_numbers * sizeof *r->rows);
    r->n = r->products = r->work = 0;
    for (size_t k = 0; k < r->n_ends && goes_on(r) && r->forward; k++) {
        row_of(r, r->ends[k]);
    }
    for (size_t k = 0; k < edges->n && goes_on(r); k++) {
        row_of(r, edges->items[r->forward ? k : edges->n - 1 - k].of);
    }
    for (size_t k = 0; k < r->n_others && goes_on(r); k++) {
        row_of(r, r->others[k]);
    }
    return goes_on(r);
}

CadStatus cad_rows_read(CadRows *r, CadPattern *pattern, CadId **entries) {
    CadMemory memory = {0};
    size_t count = 0, kept = 0;
    for (size_t k = 0; k < r->n_others; k++) {
        count += row_of(r, r->others[k]).length;
    }
    uint32_t *of_ends = cad_memory_take(&memory, count, sizeof *of_ends);
    uint32_t *of_others = cad_memory_take(&memory, count, sizeof *of_others);
    const size_t n_numbers = r->with_numbers ? count : 0;
    CadId *ids = cad_memory_take(&memory, n_numbers, sizeof *ids);
    size_t *order = cad_memory_take(&memory, n_numbers, sizeof *order);
    CadId *result = cad_memory_resize(NULL, n_numbers, sizeof *result);
    CadStatus status = result == NULL ? CAD_NO_MEMORY : memory.status;
    for (size_t k = 0; k < r->n_others && status == CAD_OK; k++) {
        const CadRow row = row_of(r, r->others[k]);
        for (size_t i = row.start; i < row.start + row.length; i++) {
            if (!r->with_numbers || !cad_graph_is(r->graph, r->numbers[i], 0.0)) {
                of_ends[kept] = r->columns[i];
                of_others[kept] = (uint32_t)k;
                if (r->with_numbers) {
                    ids[kept] = r->numbers[i];
                }
                kept++;
            }
        }
    }
    if (status == CAD_OK) {
        status = cad_pattern_of_pairs(r->n_outputs, r->n_wrt, r->forward ? of_others : of_ends,
                                      r->forward ? of_ends : of_others, &kept,
                                      r->with_numbers ? order : NULL, pattern);
    }
    for (size_t k = 0; k < kept && status == CAD_OK && r->with_numbers; k++) {
        result[k] = ids[order[k]];
    }
    cad_memory_give_back(&memory);
    if (status == CAD_OK && r->with_numbers) {
        *entries = result;
    } else {
        cad_memory_free(result);
    }
    return r->graph->status = status;
}
