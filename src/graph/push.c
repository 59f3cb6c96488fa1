/* Forward mode over a graph: the tangents are further numbers of it. An array whose tangent is not
 * zero has an array of them, in the same order, or one number for all. */
#include "graph/inner.h"

typedef struct Tangents {
    CadId first; /* CAD_NO_ID: zero */
    int64_t step;
} Tangents;

typedef struct Push {
    CadGraph *graph;
    size_t n_nodes, n_arrays;
    CadId *nodes; /* CAD_NO_ID: zero */
    Tangents *arrays;
    CadLive live;
    CadId *some;
    size_t room;
} Push;

static const int64_t zero_strides[CAD_MOST_AXES] = {0};

static CadId tangent_of(Push *p, CadId id) {
    if (!CAD_IS_ELEMENT(id)) {
        return p->nodes[id];
    }
    const uint32_t i = cad_graph_array_of(p->graph, id);
    const Tangents t = p->arrays[i];
    return t.first == CAD_NO_ID ? CAD_NO_ID
                                : t.first + (CadId)t.step * (id - p->graph->arrays[i].first);
}

/* The tangents of what a view sees. */
static CadNumbers view_of(Push *p, CadNumbers view) {
    const CadId first = tangent_of(p, view.first);
    if (first == CAD_NO_ID || !CAD_IS_ELEMENT(view.first)) {
        return (CadNumbers){first, zero_strides};
    }
    const Tangents t = p->arrays[cad_graph_array_of(p->graph, view.first)];
    return (CadNumbers){first, t.step == 0 ? zero_strides : view.strides};
}

static CadId *some_room(Push *p, size_t count) {
    if (count > p->room) {
        CadId *grown = cad_memory_resize(p->some, count, sizeof *grown);
        if (grown == NULL) {
            p->graph->status = CAD_NO_MEMORY;
            return NULL;
        }
        p->some = grown;
        p->room = count;
    }
    return p->some;
}

static CadId sum_of(CadGraph *graph, CadId x, CadId y) {
    return x == CAD_NO_ID ? y : y == CAD_NO_ID ? x : cad_graph_apply(graph, CAD_OP_add, x, y, y);
}

static void push_node(Push *p, size_t i) {
    const CadNode node = p->graph->nodes[i];
    if (!p->live.nodes[i] || node.op >= CAD_OP_COUNT || node.op == CAD_OP_stop) {
        return;
    }
    const CadId x[3] = {node.x, node.y != CAD_NO_ID ? node.y : node.x,
                        node.z != CAD_NO_ID ? node.z : node.x};
    const int arity = cad_op_info[node.op].arity;
    CadId sum = CAD_NO_ID;
    for (int k = 0; k < arity && p->graph->status == CAD_OK; k++) {
        const CadId t = tangent_of(p, x[k]);
        if (t == CAD_NO_ID) {
            continue;
        }
        const CadId partial =
            cad_graph_partial(p->graph, (CadOp)node.op, k, x[0], x[1], x[2], (CadId)i);
        const CadId product = cad_graph_apply(p->graph, CAD_OP_amul, partial, t, t);
        if (!cad_graph_is(p->graph, product, 0.0)) {
            sum = sum_of(p->graph, sum, product);
        }
    }
    p->nodes[i] = sum;
}

static Tangents as_array(Push *p, Tangents t, size_t size) {
    if (t.first == CAD_NO_ID || t.step != 0) {
        return t;
    }
    const int64_t length = (int64_t)size, one = 1;
    const CadNumbers views[2] = {{0, &one}, {t.first, zero_strides}};
    return (Tangents){cad_graph_map(p->graph, CAD_OP_positive, size, 1, &length, 2, views), 1};
}

static Tangents sum_of_arrays(Push *p, Tangents x, Tangents y, size_t size) {
    if (x.first == CAD_NO_ID || y.first == CAD_NO_ID) {
        return x.first == CAD_NO_ID ? y : x;
    }
    const int64_t length = (int64_t)size, one = 1;
    const CadShape shape = {p->graph, 1, &length, &one, zero_strides, size};
    const CadNumbers a = {x.first, &x.step}, b = {y.first, &y.step};
    const CadNumbers sum = cad_graph_apply_over(&shape, CAD_OP_add, a, b, b);
    return (Tangents){sum.first, sum.strides[0]};
}

/* The tangent of a row comes in the order of its plan's axes; back to that of the array. */
static Tangents in_order_of(Push *p, const CadPlanCopy *plan, CadNumbers t,
                            const int64_t *in_order, size_t size) {
    const CadShape shape = {p->graph, plan->ndim, plan->shape, NULL, NULL, 0};
    if (cad_is_single(&shape, t)) {
        return (Tangents){t.first, 0};
    }
    if (memcmp(t.strides, in_order, (size_t)plan->ndim * sizeof *in_order) == 0 &&
        memcmp(plan->strides[0], in_order, (size_t)plan->ndim * sizeof *in_order) == 0) {
        return (Tangents){t.first, 1};
    }
    const CadNumbers views[2] = {plan->views[0], t};
    return (Tangents){
        cad_graph_map(p->graph, CAD_OP_positive, size, plan->ndim, plan->shape, 2, views), 1};
}

static Tangents push_row(Push *p, const CadArray *array, const CadPlanCopy *plan) {
    int64_t in_order[CAD_MOST_AXES];
    const size_t size = cad_strides_in_order(plan->ndim, plan->shape, in_order);
    const CadShape shape = {p->graph, plan->ndim, plan->shape, in_order, zero_strides, size};
    const int arity = plan->n_views - 1;
    CadNumbers x[4], sum = {CAD_NO_ID, zero_strides};
    for (int k = 0; k < 3; k++) {
        x[k] = plan->views[k < arity ? k + 1 : 1];
    }
    x[3] = (CadNumbers){array->first + plan->views[0].first, plan->views[0].strides};
    for (int k = 0; k < arity && p->graph->status == CAD_OK; k++) {
        const CadNumbers t = view_of(p, x[k]);
        if (t.first == CAD_NO_ID) {
            continue;
        }
        const CadNumbers partial = cad_graph_partials(&shape, (CadOp)array->op, k, x);
        const CadNumbers product = cad_graph_product(&shape, partial, t);
        if (!cad_graph_is(p->graph, product.first, 0.0) || !cad_is_single(&shape, product)) {
            sum = sum.first == CAD_NO_ID
                      ? product
                      : cad_graph_apply_over(&shape, CAD_OP_add, sum, product, product);
        }
    }
    return sum.first == CAD_NO_ID ? (Tangents){CAD_NO_ID, 0}
                                  : in_order_of(p, plan, sum, in_order, array->size);
}

/* By one operand after the other. What a kernel of matrices reads has to be matrices. */
static Tangents push_kind(Push *p, const CadArray *array, const CadPlanCopy *plan) {
    Tangents sum = {CAD_NO_ID, 0};
    for (int k = 1; k < plan->n_views; k++) {
        if (CAD_IS_ELEMENT(plan->views[k].first) && cad_entry_kinds[array->op].core > 0) {
            const uint32_t i = cad_graph_array_of(p->graph, plan->views[k].first);
            p->arrays[i] = as_array(p, p->arrays[i], p->graph->arrays[i].size);
        }
        CadNumbers views[3] = {plan->views[0], plan->views[1]};
        views[2] = plan->n_views > 2 ? plan->views[2] : views[1];
        views[k] = view_of(p, plan->views[k]);
        if (views[k].first == CAD_NO_ID) {
            continue;
        }
        const CadId made = cad_graph_map(p->graph, array->op, array->size, plan->ndim, plan->shape,
                                         plan->n_views, views);
        sum = sum_of_arrays(p, sum, (Tangents){made, 1}, array->size);
    }
    return sum;
}

/* The tangents of an array, element by element; where they are the same, one for all. */
static Tangents packed(Push *p, const CadId *ids, size_t size) {
    size_t same = 0;
    for (size_t i = 0; i < size; i++) {
        same += ids[i] == ids[0];
    }
    if (same == size) {
        return (Tangents){ids[0], 0};
    }
    return (Tangents){cad_graph_pack(p->graph, ids, size), 1};
}

static Tangents push_pack(Push *p, const CadArray *array) {
    CadId *ids = some_room(p, array->size);
    int any = 0;
    for (uint32_t k = 0; ids != NULL && k < array->size; k++) {
        ids[k] = tangent_of(p, p->graph->lists[array->list + k]);
        any = any || ids[k] != CAD_NO_ID;
    }
    if (!any) {
        return (Tangents){CAD_NO_ID, 0};
    }
    for (uint32_t k = 0; k < array->size; k++) {
        ids[k] = ids[k] == CAD_NO_ID ? cad_graph_constant(p->graph, 0.0) : ids[k];
    }
    return packed(p, ids, array->size);
}

static Tangents push_add_to(Push *p, const CadArray *array, const CadPlanCopy *plan) {
    Tangents former = {CAD_NO_ID, 0};
    if (plan->extra >= 0) {
        former =
            as_array(p, p->arrays[cad_graph_array_of(p->graph, (CadId)plan->extra)], array->size);
    }
    const CadNumbers source = view_of(p, plan->views[plan->n_views - 1]);
    if (source.first == CAD_NO_ID) {
        return former;
    }
    if (plan->index < 0) {
        return (Tangents){cad_graph_add_to(p->graph, former.first, array->size, plan->ndim,
                                           plan->shape, plan->views[0], source),
                          1};
    }
    const size_t count = (size_t)plan->shape[0];
    CadId *places = some_room(p, count);
    if (places == NULL) {
        return former;
    }
    memcpy(places, p->graph->lists + plan->index, count * sizeof *places);
    return (Tangents){cad_graph_add_at(p->graph, former.first, array->size, places, source, count),
                      1};
}

/* Indices have no tangents. */
static Tangents push_by_index(Push *p, const CadArray *array, const CadPlanCopy *plan) {
    CadNumbers views[3] = {plan->views[0], plan->views[1], plan->views[2]};
    Tangents former = {CAD_NO_ID, 0};
    if (plan->extra >= 0) {
        former =
            as_array(p, p->arrays[cad_graph_array_of(p->graph, (CadId)plan->extra)], array->size);
    }
    if (array->op == CAD_ARRAY_TAKE && CAD_IS_ELEMENT(views[1].first)) { /* from an array */
        const uint32_t i = cad_graph_array_of(p->graph, views[1].first);
        p->arrays[i] = as_array(p, p->arrays[i], p->graph->arrays[i].size);
    }
    views[1] = view_of(p, views[1]);
    if (views[1].first == CAD_NO_ID) {
        return former;
    }
    return (Tangents){cad_graph_by_index(p->graph, array->op, former.first, array->size,
                                         plan->ndim, plan->shape, views, plan->length,
                                         plan->stride),
                      1};
}

/* Whether each of the operands of a call has a tangent that may not be 0; NULL without memory. */
static uint8_t *moving_operands(Push *p, const CadPlanCopy *plan, CadNumbers given) {
    CadGraph *graph = p->graph;
    uint8_t *move = cad_memory_zeroed((size_t)plan->shape[0], 1);
    if (move == NULL) {
        graph->status = CAD_NO_MEMORY;
        return NULL;
    }
    const CadArray *pack = NULL;
    if (CAD_IS_ELEMENT(given.first)) {
        const CadArray *array = &graph->arrays[cad_graph_array_of(graph, given.first)];
        pack = array->op == CAD_ARRAY_PACK ? array : NULL;
    }
    for (int64_t i = 0; i < plan->shape[0]; i++) {
        CadId id = (CadId)(given.first + i * given.strides[0]);
        id = pack != NULL ? graph->lists[pack->list + (id - pack->first)] : id;
        move[i] = !cad_graph_is(graph, id, 0.0);
    }
    return move;
}

static Tangents push_call(Push *p, const CadArray *array, const CadPlanCopy *plan) {
    const CadNumbers given = view_of(p, plan->views[0]);
    CadGraph *graph = p->graph;
    CadId made = CAD_NO_ID;
    uint8_t *move = given.first != CAD_NO_ID ? moving_operands(p, plan, given) : NULL;
    if (move != NULL) {
        const CadStatus status =
            graph->calls->push(graph->owner, (uint32_t)plan->extra, plan->views[0].first,
                               array->first, given.first, given.strides[0], move, &made);
        graph->status = status != CAD_OK ? status : graph->status;
        cad_memory_free(move);
    }
    return (Tangents){made, array->size > 1};
}

static void push_array(Push *p, size_t i) {
    const CadArray array = p->graph->arrays[i];
    if (!p->live.arrays[i] || array.op == CAD_ARRAY_INPUT || array.op == CAD_ARRAY_CONSTANTS ||
        array.op == CAD_OP_stop) {
        return;
    }
    if (array.op == CAD_ARRAY_PACK) {
        p->arrays[i] = push_pack(p, &array);
        return;
    }
    CadPlanCopy plan;
    cad_copy_plan(p->graph, &array, &plan);
    p->arrays[i] = array.op == CAD_ARRAY_ADD_TO    ? push_add_to(p, &array, &plan)
                   : array.op == CAD_ARRAY_CALL    ? push_call(p, &array, &plan)
                   : cad_array_is_by_index(&array) ? push_by_index(p, &array, &plan)
                   : array.op < CAD_OP_LEAF        ? push_kind(p, &array, &plan)
                                                   : push_row(p, &array, &plan);
}

/* The tangents of inputs, which are given element by element. */
static void seed(Push *p, const CadId *wrt, const CadId *along, size_t n_wrt) {
    CadGraph *graph = p->graph;
    for (size_t k = 0; k < n_wrt && graph->status == CAD_OK;) {
        const uint32_t i = cad_graph_array_of(graph, wrt[k]);
        const CadArray array = graph->arrays[i];
        CadId *ids = some_room(p, array.size);
        if (ids == NULL) {
            return;
        }
        int in_order = 1, any = 0;
        for (uint32_t e = 0; e < array.size; e++) {
            ids[e] = CAD_NO_ID;
        }
        for (; k < n_wrt && wrt[k] - array.first < array.size; k++) {
            ids[wrt[k] - array.first] = along[k];
        }
        for (uint32_t e = 0; e < array.size; e++) {
            if (ids[e] == CAD_NO_ID) {
                ids[e] = cad_graph_constant(graph, 0.0);
            }
            any = any || !cad_graph_is(graph, ids[e], 0.0);
            in_order = in_order && CAD_IS_ELEMENT(ids[0]) && ids[e] == ids[0] + e;
        }
        const uint32_t of = in_order ? cad_graph_array_of(graph, ids[0]) : 0;
        if (any && in_order &&
            ids[0] - graph->arrays[of].first + array.size <= graph->arrays[of].size) {
            p->arrays[i] = (Tangents){ids[0], array.size > 1};
        } else if (any) {
            p->arrays[i] = packed(p, ids, array.size);
        }
    }
}

CadStatus cad_graph_push(CadGraph *graph, const CadId *wrt, const CadId *along, size_t n_wrt,
                         const CadId *outputs, size_t n_outputs, CadId *results) {
    Push push = {.graph = graph, .n_nodes = graph->n_nodes, .n_arrays = graph->n_arrays};
    Push *p = &push;
    p->nodes = cad_memory_resize(NULL, p->n_nodes, sizeof *p->nodes);
    p->arrays = cad_memory_resize(NULL, p->n_arrays, sizeof *p->arrays);
    const CadStatus status = cad_graph_find_live(graph, outputs, n_outputs, &p->live);
    if (p->nodes == NULL || p->arrays == NULL || status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        memset(p->nodes, 0xff, p->n_nodes * sizeof *p->nodes);
        for (size_t i = 0; i < p->n_arrays; i++) {
            p->arrays[i] = (Tangents){CAD_NO_ID, 0};
        }
        seed(p, wrt, along, n_wrt);
        size_t node = 0;
        for (size_t i = 0; i < p->n_arrays && graph->status == CAD_OK; i++) {
            for (; node < graph->arrays[i].before && graph->status == CAD_OK; node++) {
                push_node(p, node);
            }
            push_array(p, i);
        }
        for (; node < p->n_nodes && graph->status == CAD_OK; node++) {
            push_node(p, node);
        }
        for (size_t k = 0; k < n_outputs && graph->status == CAD_OK; k++) {
            const CadId t = tangent_of(p, outputs[k]);
            results[k] = t == CAD_NO_ID ? cad_graph_constant(graph, 0.0) : t;
        }
    }
    cad_memory_free(p->nodes);
    cad_memory_free(p->arrays);
    cad_memory_free(p->some);
    cad_graph_forget_live(&p->live);
    return graph->status;
}
