/* See edges.h. Operations over arrays are taken element by element. */
#include "graph/edges.h"

#include "graph/inner.h"

typedef struct Finder {
    CadGraph *graph;
    CadEdges *edges;
    size_t n_arrays; /* later ones hold partials */
    size_t most;
    int with_calls;
    CadId one;
    uint8_t *is_active; /* numbers that depend on the variables */
    size_t active_capacity;
    CadLive live;
} Finder;

static const int64_t zero_strides[CAD_MOST_AXES] = {0};

void cad_edges_free(CadEdges *edges) {
    cad_memory_free(edges->items);
    edges->items = NULL;
    edges->n = edges->capacity = 0;
}

/* --- finding them --- */

static int goes_on(const Finder *f) {
    return f->graph->status == CAD_OK && !f->edges->too_many;
}

static int is_active(const Finder *f, CadId id) {
    return f->is_active[cad_edge_index(f->edges, id)];
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
    if (is_active(f, by) && !cad_graph_is(f->graph, partial, 0.0)) {
        add_link(f, cad_edge_index(f->edges, of), cad_edge_index(f->edges, by), partial);
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

static void find_of_node(Finder *f, size_t i) {
    const CadNode node = f->graph->nodes[i];
    if (!f->live.nodes[i] || node.op >= CAD_OP_COUNT || node.op == CAD_OP_stop) {
        return;
    }
    const CadId x[3] = {node.x, node.y != CAD_NO_ID ? node.y : node.x,
                        node.z != CAD_NO_ID ? node.z : node.x};
    for (int k = 0; k < cad_op_info[node.op].arity && goes_on(f); k++) {
        if (is_active(f, x[k])) {
            add_edge(f, (CadId)i, x[k],
                     cad_graph_partial(f->graph, (CadOp)node.op, k, x[0], x[1], x[2], (CadId)i));
        }
    }
}

/* Whether any element that a view sees is active. */
static int sees_active(const Finder *f, const CadPlanCopy *plan, CadNumbers view) {
    Steps steps = {.ndim = plan->ndim,
                   .shape = plan->shape,
                   .n_views = 1,
                   .strides = {view.strides},
                   .at = {view.first}};
    do {
        if (is_active(f, (CadId)steps.at[0])) {
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

static double *folded(CadGraph *graph, CadId first, int most);

static int fold_row(CadGraph *graph, const CadPlanCopy *plan, const CadArray *array, int most,
                    double *values) {
    double *known[3] = {NULL, NULL, NULL}, x[3] = {0.0, 0.0, 0.0};
    Steps steps = {.ndim = plan->ndim, .shape = plan->shape, .n_views = plan->n_views};
    int done = 1;
    for (int k = 0; k < plan->n_views; k++) {
        CadId id = plan->views[k].first;
        steps.strides[k] = plan->strides[k];
        steps.at[k] = id;
        if (k > 0 && CAD_IS_ELEMENT(id)) {
            const CadArray *own = &graph->arrays[cad_graph_array_of(graph, id)];
            steps.at[k] = id - own->first;
            known[k - 1] = done ? folded(graph, own->first, most) : NULL;
            done = known[k - 1] != NULL;
        } else if (k > 0) {
            done = done && cad_graph_is_constant(graph, id, &x[k - 1]);
        }
    }
    if (done && array->size > 0) {
        do {
            for (int k = 1; k < plan->n_views; k++) {
                x[k - 1] = known[k - 1] != NULL ? known[k - 1][steps.at[k]] : x[k - 1];
            }
            values[steps.at[0]] = cad_op_value((CadOp)array->op, x[0], x[1], x[2]);
        } while (next_step(&steps));
    }
    for (int k = 0; k < 3; k++) {
        cad_memory_free(known[k]);
    }
    return done;
}

/* The values of an array that follows from constants by few operations; NULL if it does not. */
static double *folded(CadGraph *graph, CadId first, int most) {
    const CadArray array = graph->arrays[cad_graph_array_of(graph, first)];
    const int is_row = array.op < CAD_OP_COUNT && cad_op_is_row((CadOp)array.op);
    if (array.op != CAD_ARRAY_CONSTANTS && (!is_row || most == 0)) {
        return NULL;
    }
    double *values = cad_memory_zeroed(array.size, sizeof *values);
    if (values == NULL) {
        graph->status = CAD_NO_MEMORY;
        return NULL;
    }
    if (!is_row) {
        memcpy(values, graph->constants + array.list, array.size * sizeof *values);
        return values;
    }
    CadPlanCopy plan;
    cad_copy_plan(graph, &array, &plan);
    if (!fold_row(graph, &plan, &array, most - 1, values)) {
        cad_memory_free(values);
        values = NULL;
    }
    return values;
}

/* --- operations --- */

static void find_of_row(Finder *f, const CadArray *array, const CadPlanCopy *plan) {
    int64_t in_order[CAD_MOST_AXES];
    const size_t size = cad_strides_in_order(plan->ndim, plan->shape, in_order);
    const CadShape shape = {f->graph, plan->ndim, plan->shape, in_order, zero_strides, size};
    const int arity = plan->n_views - 1;
    CadNumbers x[4];
    for (int k = 0; k < 3; k++) {
        x[k] = plan->views[k < arity ? k + 1 : 1];
    }
    x[3] = (CadNumbers){array->first + plan->views[0].first, plan->views[0].strides};
    for (int k = 0; k < arity && goes_on(f); k++) {
        if (!sees_active(f, plan, x[k])) {
            continue;
        }
        const CadNumbers partial = cad_graph_partials(&shape, (CadOp)array->op, k, x);
        if (!goes_on(f)) {
            return;
        }
        double *values = NULL;
        CadId first = 0;
        if (CAD_IS_ELEMENT(partial.first)) {
            first = f->graph->arrays[cad_graph_array_of(f->graph, partial.first)].first;
            values = folded(f->graph, first, MOST_FOLDED);
        }
        Steps steps = {.ndim = plan->ndim,
                       .shape = plan->shape,
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
static void find_of_terms(Finder *f, const CadArray *array, const CadPlanCopy *plan) {
    Steps steps = {.ndim = plan->ndim, .shape = plan->shape, .n_views = plan->n_views};
    for (int k = 0; k < plan->n_views; k++) {
        steps.strides[k] = plan->strides[k];
        steps.at[k] = plan->views[k].first;
    }
    steps.at[0] += array->first;
    const int is_product = plan->n_views > 2;
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
static void find_of_running(Finder *f, const CadArray *array, const CadPlanCopy *plan) {
    const int backwards = (cad_entry_kinds[array->op].traits & CAD_BACKWARDS) != 0;
    const int last = plan->ndim - 1;
    const int64_t to = plan->strides[0][last], from = plan->strides[1][last];
    const int64_t n = plan->shape[last];
    Steps steps = {.ndim = last,
                   .shape = plan->shape,
                   .n_views = 2,
                   .strides = {plan->strides[0], plan->strides[1]},
                   .at = {plan->views[0].first + (int64_t)array->first, plan->views[1].first}};
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

static void find_of_addition(Finder *f, const CadArray *array, const CadPlanCopy *plan) {
    for (uint32_t k = 0; plan->extra >= 0 && k < array->size && goes_on(f); k++) {
        add_edge(f, array->first + k, (CadId)plan->extra + k, f->one);
    }
    if (plan->index < 0) {
        find_of_terms(f, array, plan);
        return;
    }
    for (int64_t k = 0; k < plan->shape[0] && goes_on(f); k++) {
        add_edge(f, array->first + f->graph->lists[plan->index + k],
                 (CadId)(plan->views[0].first + k * plan->strides[0][0]), f->one);
    }
}

/* Numbers between those that indices may name, which start from one place, and those that have the
 * index: places differ along some axes, of which the latter have `others`. */
typedef struct Indexed {
    const CadPlanCopy *plan;
    int64_t starts[CAD_MOST_AXES], others[CAD_MOST_AXES];
    int64_t targets, sources; /* where the views begin */
    int takes;                /* else it adds, and the targets are named */
} Indexed;

/* Edges between number `between` and all that indices may name, or all others. */
static void link_named(Finder *f, const Indexed *x, const Steps *start, size_t between) {
    for (int64_t i = 0; i < x->plan->length && goes_on(f); i++) {
        const CadId id = (CadId)(start->at[x->takes] + i * x->plan->stride);
        const size_t number = cad_edge_index(f->edges, id);
        add_link(f, x->takes ? between : number, x->takes ? number : between, f->one);
    }
}

static void link_others(Finder *f, const Indexed *x, const Steps *start, size_t between) {
    Steps other = {.ndim = x->plan->ndim,
                   .shape = x->others,
                   .n_views = 1,
                   .strides = {x->plan->strides[!x->takes]},
                   .at = {start->at[!x->takes]}};
    do {
        const size_t number = cad_edge_index(f->edges, (CadId)other.at[0]);
        add_link(f, x->takes ? number : between, x->takes ? between : number, f->one);
    } while (goes_on(f) && next_step(&other));
}

/* Which elements indices name is not known before a program runs: any may be one. What is named
 * starts from one place along axes of stride 0. */
static void find_by_index(Finder *f, const CadArray *array, const CadPlanCopy *plan) {
    Indexed x = {.plan = plan,
                 .targets = plan->views[0].first + (int64_t)array->first,
                 .sources = plan->views[1].first,
                 .takes = array->op == CAD_ARRAY_TAKE};
    size_t count = 1;
    note_call(f);
    for (int axis = 0; axis < plan->ndim; axis++) {
        const int is_shared = plan->strides[x.takes][axis] == 0;
        x.starts[axis] = is_shared ? 1 : plan->shape[axis];
        x.others[axis] = is_shared ? plan->shape[axis] : 1;
        count *= (size_t)x.starts[axis];
    }
    const size_t first = goes_on(f) ? add_numbers(f, count) : 0;
    for (int leads_on = 0; leads_on < 2; leads_on++) {
        Steps start = {.ndim = plan->ndim,
                       .shape = x.starts,
                       .n_views = 2,
                       .strides = {plan->strides[0], plan->strides[1]},
                       .at = {x.targets, x.sources}};
        size_t between = first;
        for (int goes = goes_on(f); goes; goes = goes_on(f) && next_step(&start)) {
            (leads_on == x.takes ? link_others : link_named)(f, &x, &start, between++);
        }
        for (uint32_t k = 0; !leads_on && plan->extra >= 0 && k < array->size && goes_on(f); k++) {
            add_edge(f, array->first + k, (CadId)plan->extra + k, f->one);
        }
    }
}

typedef struct Call {
    size_t n_operands, n_between;
    const CadPlanCopy *plan;
    size_t between, results; /* the first of them */
} Call;

/* The index of a number that the links of a call name. */
static size_t linked(const Finder *f, const Call *call, size_t k) {
    if (k < call->n_operands) {
        const int64_t at = (int64_t)k * call->plan->strides[0][0];
        return cad_edge_index(f->edges, (CadId)(call->plan->views[0].first + at));
    }
    k -= call->n_operands;
    return k < call->n_between ? call->between + k : call->results + (k - call->n_between);
}

/* Of a call that nothing is known of, all results depend on all operands: through one number. */
static void find_of_call(Finder *f, const CadArray *array, const CadPlanCopy *plan) {
    const CadCalls *calls = f->graph->calls;
    CadLinks links = {0};
    int64_t active = 0;
    while (active < plan->shape[0] &&
           !is_active(f, (CadId)(plan->views[0].first + active * plan->strides[0][0]))) {
        active++;
    }
    if (active == plan->shape[0]) {
        return;
    }
    note_call(f);
    if (goes_on(f) && calls->link != NULL) {
        f->graph->status = calls->link(f->graph->owner, (uint32_t)plan->extra, &links);
    }
    if (!goes_on(f)) {
        return;
    }
    Call call = {.n_operands = (size_t)plan->shape[0], .plan = plan};
    call.n_between = links.is_known ? links.n_between : 1;
    call.between = add_numbers(f, call.n_between);
    call.results = cad_edge_index(f->edges, array->first);
    for (size_t k = 0; links.is_known && k < links.n && goes_on(f); k++) {
        add_link(f, linked(f, &call, links.of[k]), linked(f, &call, links.by[k]), f->one);
    }
    for (size_t k = 0; !links.is_known && k < call.n_operands && goes_on(f); k++) {
        add_link(f, call.between, linked(f, &call, k), f->one);
    }
    for (size_t k = 0; !links.is_known && k < array->size && goes_on(f); k++) {
        add_link(f, call.results + k, call.between, f->one);
    }
}

static void find_of_array(Finder *f, size_t i) {
    const CadArray array = f->graph->arrays[i];
    CadPlanCopy plan;
    if (!f->live.arrays[i] || array.op == CAD_ARRAY_INPUT || array.op == CAD_ARRAY_CONSTANTS ||
        array.op == CAD_OP_stop) {
        return;
    }
    if (array.op == CAD_ARRAY_PACK) {
        for (uint32_t k = 0; k < array.size && goes_on(f); k++) {
            if (!is_active(f, array.first + k)) { /* else it is a variable itself */
                add_edge(f, array.first + k, f->graph->lists[array.list + k], f->one);
            }
        }
        return;
    }
    cad_copy_plan(f->graph, &array, &plan);
    if (array.op == CAD_ARRAY_ADD_TO) {
        find_of_addition(f, &array, &plan);
    } else if (cad_array_is_by_index(&array)) {
        find_by_index(f, &array, &plan);
    } else if (array.op == CAD_ARRAY_CALL) {
        find_of_call(f, &array, &plan);
    } else if (cad_op_is_row((CadOp)array.op)) {
        find_of_row(f, &array, &plan);
    } else if (!cad_op_sums_up((CadOp)array.op)) {
        find_of_running(f, &array, &plan);
    } else {
        find_of_terms(f, &array, &plan);
    }
}

static void find_all(Finder *f) {
    size_t node = 0;
    for (size_t i = 0; i < f->n_arrays && goes_on(f); i++) {
        for (; node < f->graph->arrays[i].before && goes_on(f); node++) {
            find_of_node(f, node);
        }
        find_of_array(f, i);
    }
    for (; node < f->edges->n_nodes && goes_on(f); node++) {
        find_of_node(f, node);
    }
}

/* Drop those that lead to no output. `is_active` is free for another use. */
static void keep_live(Finder *f, const CadId *outputs, size_t n_outputs) {
    CadEdges *edges = f->edges;
    uint8_t *is_live = f->is_active;
    memset(is_live, 0, edges->n_numbers);
    for (size_t k = 0; k < n_outputs; k++) {
        is_live[cad_edge_index(edges, outputs[k])] = 1;
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
                          size_t n_outputs, size_t most, int with_calls, CadEdges *edges) {
    *edges = (CadEdges){.n_nodes = graph->n_nodes};
    edges->n_numbers = graph->n_nodes + graph->n_elements;
    Finder finder = {.graph = graph,
                     .edges = edges,
                     .n_arrays = graph->n_arrays,
                     .most = most,
                     .with_calls = with_calls,
                     .active_capacity = edges->n_numbers};
    Finder *f = &finder;
    f->is_active = cad_memory_zeroed(edges->n_numbers, 1);
    const CadStatus status = cad_graph_find_live(graph, outputs, n_outputs, &f->live);
    if (edges->n_numbers > UINT32_MAX) {
        edges->too_many = 1;
    } else if (f->is_active == NULL || status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        f->one = cad_graph_constant(graph, 1.0);
        for (size_t k = 0; k < n_wrt; k++) {
            f->is_active[cad_edge_index(edges, wrt[k])] = 1;
        }
        find_all(f);
        if (goes_on(f) && edges->n > 0) {
            keep_live(f, outputs, n_outputs);
        }
    }
    cad_memory_free(f->is_active);
    cad_graph_forget_live(&f->live);
    if (!goes_on(f)) {
        cad_edges_free(edges);
    }
    return graph->status;
}
