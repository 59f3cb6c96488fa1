/* See edges.h. Operations over arrays are taken element by element. */
#include "graph/edges.h"

#include "graph/inner.h"

typedef struct Finder {
    CadGraph *graph;
    CadEdges *edges;
    size_t n_records; /* later ones hold partials */
    size_t most;
    int with_calls;
    CadId one;
    uint8_t *is_active; /* numbers that depend on the variables */
    size_t active_capacity;
} Finder;

void cad_edges_free(CadEdges *edges) {
    cad_memory_free(edges->items);
    edges->items = NULL;
    edges->n = edges->capacity = 0;
}

/* --- finding them --- */

static int goes_on(const Finder *f) {
    return f->graph->status == CAD_OK && !f->edges->too_many;
}

static void add_link(Finder *f, size_t of, size_t by, CadId partial) {
    CadEdges *edges = f->edges;
    if (!f->is_active[by]) {
        return;
    }
    if (edges->n >= f->most) {
        edges->too_many = 1;
        return;
    }
    const CadStatus status = cad_memory_grow((void **)&edges->items, &edges->capacity,
                                             edges->n + 1, sizeof *edges->items);
    if (status != CAD_OK) {
        f->graph->status = status;
        return;
    }
    f->is_active[of] = 1;
    edges->items[edges->n++] = (CadEdge){(uint32_t)of, (uint32_t)by, partial};
}

static void add_edge(Finder *f, CadId of, CadId by, CadId partial) {
    if (f->is_active[by] && !cad_graph_is(f->graph, partial, 0.0)) {
        add_link(f, of, by, partial);
    }
}

/* Numbers beside those of the graph; answers the index of the first one. */
static size_t add_numbers(Finder *f, size_t n) {
    const size_t first = f->edges->n_numbers;
    const CadStatus status =
        cad_memory_grow((void **)&f->is_active, &f->active_capacity, first + n, 1);
    if (status != CAD_OK) {
        f->graph->status = status;
        return first;
    }
    memset(f->is_active + first, 0, n);
    f->edges->n_numbers += n;
    f->edges->too_many |= f->edges->n_numbers > UINT32_MAX;
    return first;
}

/* Note that there is something whose partials are no numbers. */
static void note_call(Finder *f) {
    f->edges->has_calls = 1;
    f->edges->too_many |= !f->with_calls;
}

/* A walk over the first views of a record; the place within itself of its result is made a number.
 */
static Steps steps_of(const CadMade *made, int ndim, int n_views) {
    Steps steps = {.ndim = ndim, .shape = made->shape, .n_views = n_views};
    for (int k = 0; k < n_views; k++) {
        steps.strides[k] = made->views[k].strides;
        steps.at[k] = made->views[k].first + (k == 0 ? (int64_t)made->first : 0);
    }
    return steps;
}

/* Whether any element that a view sees is active. */
static int sees_active(const Finder *f, const CadMade *made, CadNumbers view) {
    const CadMade one = {.ndim = made->ndim, .shape = made->shape, .views = {view}};
    Steps steps = steps_of(&one, made->ndim, 1);
    do {
        if (f->is_active[steps.at[0]]) {
            return 1;
        }
    } while (next_step(&steps));
    return 0;
}

/* --- constants --- */

/* Operations over arrays are not folded, since that would take as much memory as it saves work.
 * But where a partial follows from constants alone, as that of a choice by a mask, its zeros
 * count. */
enum { MOST_FOLDED = 3 }; /* operations behind each other */

static double *folded(CadGraph *graph, CadId id, int most);

/* Whether all operands of a row are constants, or follow from them; its values. */
static int fold_row(CadGraph *graph, const CadMade *made, int most, double *values) {
    double *known[3] = {NULL, NULL, NULL}, x[3] = {0.0, 0.0, 0.0};
    Steps steps = steps_of(made, made->ndim, made->n_views);
    int done = 1;
    steps.at[0] = made->views[0].first;
    for (int k = 1; k < made->n_views; k++) {
        const CadId id = made->views[k].first;
        const CadRecord *const record = cad_graph_record(graph, id);
        if (!cad_record_is_array(record)) {
            done = done && cad_graph_is_constant(graph, id, &x[k - 1]);
        } else {
            steps.at[k] = id - record->of.array.first;
            known[k - 1] = done ? folded(graph, id, most) : NULL;
            done = known[k - 1] != NULL;
        }
    }
    if (done && made->size > 0) {
        do {
            for (int k = 1; k < made->n_views; k++) {
                x[k - 1] = known[k - 1] != NULL ? known[k - 1][steps.at[k]] : x[k - 1];
            }
            values[steps.at[0]] = cad_op_value(made->op, x[0], x[1], x[2]);
        } while (next_step(&steps));
    }
    for (int k = 0; k < 3; k++) {
        cad_memory_free(known[k]);
    }
    return done;
}

/* The values of the array that an element belongs to, if it follows from constants by few
 * operations; else NULL. */
static double *folded(CadGraph *graph, CadId id, int most) {
    CadAxes axes;
    CadMade made;
    cad_graph_look(graph, cad_graph_record_of(graph, id), axes, &made);
    const int is_row = made.kind == CAD_RECORD_MAP && cad_op_is_row(made.op);
    if (made.kind != CAD_RECORD_CONSTANTS && (!is_row || most == 0)) {
        return NULL;
    }
    double *values = cad_memory_zeroed(made.size, sizeof *values);
    if (values == NULL) {
        graph->status = CAD_NO_MEMORY;
        return NULL;
    }
    if (!is_row) {
        memcpy(values, graph->constants + made.list, made.size * sizeof *values);
        return values;
    }
    if (!fold_row(graph, &made, most - 1, values)) {
        cad_memory_free(values);
        values = NULL;
    }
    return values;
}

/* --- operations --- */

static void find_of_row(Finder *f, const CadMade *made) {
    int64_t in_order[CAD_MOST_AXES];
    const CadShape shape = cad_made_shape(f->graph, made, in_order);
    CadNumbers x[4];
    const int arity = cad_made_operands(made, x);
    for (int k = 0; k < arity && goes_on(f); k++) {
        if (!sees_active(f, made, x[k])) {
            continue;
        }
        const CadNumbers partial = cad_graph_partials(&shape, made->op, k, x);
        if (!goes_on(f)) {
            return;
        }
        double *values = NULL;
        CadId first = CAD_NO_ID;
        if (made->kind == CAD_RECORD_MAP) {
            const CadRecord *const record = cad_graph_record(f->graph, partial.first);
            if (cad_record_is_array(record)) {
                first = record->of.array.first;
                values = folded(f->graph, first, MOST_FOLDED);
            }
        }
        Steps steps = {.ndim = made->ndim,
                       .shape = made->shape,
                       .n_views = 3,
                       .strides = {x[3].strides, x[k].strides, partial.strides},
                       .at = {x[3].first, x[k].first, partial.first}};
        do {
            const CadId of = (CadId)steps.at[0], by = (CadId)steps.at[1];
            if (values == NULL || values[(CadId)steps.at[2] - first] != 0.0) {
                add_edge(f, of, by, (CadId)steps.at[2]);
            }
        } while (goes_on(f) && next_step(&steps));
        cad_memory_free(values);
    }
}

/* Sums, products of matrices, and what is added at places along a view. */
static void find_of_terms(Finder *f, const CadMade *made) {
    Steps steps = steps_of(made, made->ndim, made->n_views);
    const int is_product = made->n_views > 2;
    const size_t before = f->edges->n;
    do {
        const CadId of = (CadId)steps.at[0], x = (CadId)steps.at[1];
        add_edge(f, of, x, is_product ? (CadId)steps.at[2] : f->one);
        if (is_product && goes_on(f)) {
            add_edge(f, of, (CadId)steps.at[2], x);
        }
    } while (goes_on(f) && next_step(&steps));
    f->edges->n_factors += is_product ? f->edges->n - before : 0;
}

/* Running sums: each result is the sum of an operand and of the result before it, in the order in
 * which they follow from each other. */
static void find_of_running(Finder *f, const CadMade *made) {
    const int backwards = (cad_entry_kinds[made->op].traits & CAD_BACKWARDS) != 0;
    const int last = made->ndim - 1;
    const int64_t to = made->views[0].strides[last], from = made->views[1].strides[last];
    const int64_t n = made->shape[last];
    Steps steps = steps_of(made, last, 2);
    do {
        for (int64_t k = 0; k < n && goes_on(f); k++) {
            const int64_t i = backwards ? n - 1 - k : k, former = backwards ? i + 1 : i - 1;
            const CadId of = (CadId)(steps.at[0] + i * to);
            add_edge(f, of, (CadId)(steps.at[1] + i * from), f->one);
            if (k > 0 && goes_on(f)) {
                add_edge(f, of, (CadId)(steps.at[0] + former * to), f->one);
            }
        }
    } while (goes_on(f) && next_step(&steps));
}

/* Edges between a number that is none of the graph and all on a walk: it is by them, or they are
 * by it. */
static void link_all(Finder *f, size_t between, int is_by, Steps steps) {
    do {
        const size_t at = (size_t)steps.at[0];
        add_link(f, is_by ? between : at, is_by ? at : between, f->one);
    } while (goes_on(f) && next_step(&steps));
}

/* A kind that tells no more: all results depend on all operands that have the same place outside
 * of its core, through one number for each such place. Which partials these are is not known. */
static void find_of_core(Finder *f, const CadMade *made) {
    const int outer = made->ndim - cad_entry_kinds[made->op].core;
    int is_active = 0;
    for (int k = 1; k < made->n_views; k++) {
        is_active |= sees_active(f, made, made->views[k]);
    }
    if (!is_active) {
        return;
    }
    note_call(f);
    Steps places = steps_of(made, outer, made->n_views);
    do {
        const size_t between = add_numbers(f, 1);
        for (int k = made->n_views - 1; k >= 0 && goes_on(f); k--) { /* the results last */
            link_all(f, between, k > 0,
                     (Steps){.ndim = made->ndim - outer,
                             .shape = made->shape + outer,
                             .n_views = 1,
                             .strides = {made->views[k].strides + outer},
                             .at = {places.at[k]}});
        }
    } while (goes_on(f) && next_step(&places));
}

/* What is added to goes on into each element. */
static void find_of_former(Finder *f, const CadMade *made) {
    for (CadId k = 0; made->former != CAD_NO_ID && k < made->size && goes_on(f); k++) {
        add_edge(f, made->first + k, made->former + k, f->one);
    }
}

static void find_of_listed(Finder *f, const CadMade *made) {
    for (int64_t k = 0; k < made->shape[0] && goes_on(f); k++) {
        add_edge(f, made->first + f->graph->lists[made->list + (size_t)k],
                 (CadId)(made->views[0].first + k * made->views[0].strides[0]), f->one);
    }
}

static void find_of_pack(Finder *f, const CadMade *made) {
    for (CadId k = 0; k < made->size && goes_on(f); k++) {
        if (!f->is_active[made->first + k]) { /* else it is a variable itself */
            add_edge(f, made->first + k, f->graph->lists[made->list + k], f->one);
        }
    }
}

/* Which elements indices name is not known before a program runs: any may be one. Named elements
 * start from one place along axes of stride 0. One number stands between all elements that may be
 * named from there and the numbers with the index, which differ along these axes. */
static void find_by_index(Finder *f, const CadMade *made) {
    const int takes = made->kind == CAD_RECORD_TAKE; /* else it adds, and the targets are named */
    int64_t starts[CAD_MOST_AXES], others[CAD_MOST_AXES];
    size_t count = 1;
    note_call(f);
    for (int axis = 0; axis < made->ndim; axis++) {
        const int is_shared = made->views[takes].strides[axis] == 0;
        starts[axis] = is_shared ? 1 : made->shape[axis];
        others[axis] = is_shared ? made->shape[axis] : 1;
        count *= (size_t)starts[axis];
    }
    const size_t first = goes_on(f) ? add_numbers(f, count) : 0;
    for (int view = 1; view >= 0; view--) { /* the targets last */
        Steps start = steps_of(made, made->ndim, 2);
        start.shape = starts;
        size_t between = first;
        for (int goes = goes_on(f); goes; goes = goes_on(f) && next_step(&start)) {
            const int is_named = view == takes;
            link_all(f, between++, view,
                     (Steps){.ndim = is_named ? 1 : made->ndim,
                             .shape = is_named ? &made->length : others,
                             .n_views = 1,
                             .strides = {is_named ? &made->stride : made->views[view].strides},
                             .at = {start.at[view]}});
        }
        if (view == 1) {
            find_of_former(f, made);
        }
    }
}

/* Of a call that nothing is known of, all results depend on all operands: through one number. */
static void find_of_call(Finder *f, const CadMade *made) {
    const CadCalls *calls = f->graph->calls;
    const size_t n_operands = (size_t)made->shape[0];
    const int64_t size = (int64_t)made->size, one = 1;
    CadLinks links = {0};
    if (!sees_active(f, made, made->views[0])) {
        return;
    }
    note_call(f);
    if (goes_on(f) && calls->link != NULL) {
        f->graph->status = calls->link(f->graph->owner, made->number, &links);
    }
    if (!goes_on(f)) {
        return;
    }
    const size_t n_between = links.is_known ? links.n_between : 1;
    const size_t between = add_numbers(f, n_between);
    for (size_t k = 0; k < links.n && links.is_known && goes_on(f); k++) {
        size_t ends[2] = {links.of[k], links.by[k]};
        for (int e = 0; e < 2; e++) {
            ends[e] = ends[e] < n_operands
                          ? made->views[0].first + ends[e] * (size_t)made->views[0].strides[0]
                      : ends[e] < n_operands + n_between
                          ? between + (ends[e] - n_operands)
                          : made->first + (ends[e] - n_operands - n_between);
        }
        add_link(f, ends[0], ends[1], f->one);
    }
    if (!links.is_known && goes_on(f)) {
        link_all(f, between, 1,
                 steps_of(&(CadMade){.shape = made->shape, .views = {made->views[0]}}, 1, 1));
        link_all(
            f, between, 0,
            (Steps){
                .ndim = 1, .shape = &size, .n_views = 1, .strides = {&one}, .at = {made->first}});
    }
}

/* Link a turn with a block that it is given, or else with one that it hands on. */
static void link_block(Finder *f, size_t turn, size_t first, uint32_t size, int is_given) {
    for (uint32_t e = 0; e < size && goes_on(f); e++) {
        const size_t number = first + e;
        add_link(f, is_given ? turn : number, is_given ? number : turn, f->one);
    }
}

/* A turn depends on the turns before, through one number for each: what is the same in all is
 * given to the first one. */
static void find_of_scan(Finder *f, size_t i, CadId first) {
    const CadScan *const scan = cad_graph_scan(f->graph, &f->graph->records[i]);
    const size_t n = scan->n;
    CadOperands of;
    cad_graph_operands(f->graph, i, &of);
    int is_active = 0;
    for (size_t k = 0; k < of.n; k++) {
        const int64_t step = k < scan->n_carried ? 0 : scan->steps[k - scan->n_carried];
        for (size_t t = 0; t < (step == 0 ? 1 : n) && !is_active; t++) {
            is_active = memchr(f->is_active + ((int64_t)of.ids[k] + step * (int64_t)t), 1,
                               scan->sizes[k]) != NULL;
        }
    }
    if (!is_active) {
        return;
    }
    note_call(f);
    const size_t turns = add_numbers(f, n);
    for (size_t t = 0; t < n && goes_on(f); t++) {
        for (size_t k = 0; k < of.n; k++) {
            const int64_t step = k < scan->n_carried ? 0 : scan->steps[k - scan->n_carried];
            if (t == 0 || step != 0) {
                link_block(f, turns + t, (size_t)((int64_t)of.ids[k] + step * (int64_t)t),
                           scan->sizes[k], 1);
            }
        }
        if (t > 0 && goes_on(f)) {
            add_link(f, turns + t, turns + t - 1, f->one);
        }
    }
    for (size_t k = 0; k < cad_scan_n_ends(scan); k++) {
        const uint32_t size = cad_scan_size_of_end(scan, k);
        size_t left = cad_scan_length_of_end(scan, k);
        if (k < scan->n_carried) {
            for (uint32_t e = 0; e < size && goes_on(f); e++) {
                add_link(f, first + e, of.ids[k] + e, f->one);
            }
            first += size;
            left -= size;
        }
        for (size_t t = n - left / size; t < n; t++, first += size) {
            link_block(f, turns + t, first, size, 0);
        }
    }
}

static void find_of_record(Finder *f, size_t i) {
    CadAxes axes;
    CadMade made;
    cad_graph_look(f->graph, i, axes, &made);
    switch (made.kind) {
    case CAD_RECORD_PACK:
        find_of_pack(f, &made);
        break;
    case CAD_RECORD_SCAN:
        find_of_scan(f, i, made.first + 1);
        break;
    case CAD_RECORD_END: /* with its SCAN */
        break;
    case CAD_RECORD_ADD_TO:
        find_of_former(f, &made);
        find_of_terms(f, &made);
        break;
    case CAD_RECORD_ADD_AT:
        find_of_former(f, &made);
        find_of_listed(f, &made);
        break;
    case CAD_RECORD_ADD_BY:
    case CAD_RECORD_TAKE:
        find_by_index(f, &made);
        break;
    case CAD_RECORD_CALL:
        find_of_call(f, &made);
        break;
    default:
        (cad_op_is_row(made.op)                              ? find_of_row
         : cad_op_sums_up(made.op)                           ? find_of_terms
         : (cad_entry_kinds[made.op].traits & CAD_RUNS) != 0 ? find_of_running
                                                             : find_of_core)(f, &made);
    }
}

/* Drop those that lead to no output. `is_active` is free for another use. */
static void keep_live(Finder *f, const CadId *outputs, size_t n_outputs) {
    CadEdges *edges = f->edges;
    uint8_t *is_live = f->is_active;
    memset(is_live, 0, edges->n_numbers);
    for (size_t k = 0; k < n_outputs; k++) {
        is_live[outputs[k]] = 1;
    }
    size_t kept = edges->n;
    for (size_t k = edges->n; k-- > 0;) {
        const CadEdge edge = edges->items[k];
        if (is_live[edge.of]) {
            is_live[edge.by] = 1;
            edges->items[--kept] = edge;
        }
    }
    edges->n -= kept;
    memmove(edges->items, edges->items + kept, edges->n * sizeof *edges->items);
}

CadStatus cad_graph_edges(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                          size_t n_outputs, size_t most, bool with_calls, CadEdges *edges) {
    *edges = (CadEdges){.n_numbers = graph->n_numbers};
    Finder finder = {.graph = graph,
                     .edges = edges,
                     .n_records = graph->n_records,
                     .most = most,
                     .with_calls = with_calls,
                     .active_capacity = edges->n_numbers};
    Finder *f = &finder;
    CadMemory memory = {0};
    f->is_active = cad_memory_zeroed(edges->n_numbers, 1);
    uint32_t *const uses = cad_graph_uses(graph, &memory, outputs, n_outputs, 0);
    if (f->is_active == NULL || memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        f->one = cad_graph_constant(graph, 1.0);
        for (size_t k = 0; k < n_wrt; k++) {
            f->is_active[wrt[k]] = 1;
        }
        for (size_t i = 0; i < f->n_records && goes_on(f); i++) {
            const CadRecord *record = &graph->records[i];
            if (uses[i] > 0 && cad_record_is_made(record) && record->op != CAD_OP_stop) {
                find_of_record(f, i);
            }
        }
        if (goes_on(f) && edges->n > 0) {
            keep_live(f, outputs, n_outputs);
        }
    }
    cad_memory_free(f->is_active);
    cad_memory_give_back(&memory);
    if (!goes_on(f)) {
        cad_edges_free(edges);
    }
    return graph->status;
}
