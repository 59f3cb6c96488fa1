/* Which numbers others are made of: a graph holds more than one of its derivatives needs. */
#include "graph/inner.h"
#include "table/codes.h"

void cad_graph_visit_node(const CadGraph *graph, size_t i, CadVisit *visit, void *visitor) {
    const CadNode node = graph->nodes[i];
    const CadId x[3] = {node.x, node.y, node.z};
    for (int k = 0; k < 3 && node.op < CAD_OP_COUNT; k++) {
        if (x[k] != CAD_NO_ID) {
            visit(visitor, x[k]);
        }
    }
}

void cad_graph_visit_array(const CadGraph *graph, size_t i, CadVisit *visit, void *visitor) {
    const CadArray array = graph->arrays[i];
    if (array.op == CAD_ARRAY_PACK) {
        for (uint32_t k = 0; k < array.size; k++) {
            visit(visitor, graph->lists[array.list + k]);
        }
    } else if (array.plan != SIZE_MAX) {
        CadPlan *plan = cad_graph_plan(graph, &array);
        for (int k = plan->n_views > 1 ? 1 : 0; k < plan->n_views; k++) {
            visit(visitor, (CadId)cad_plan_view(plan, k)[0]);
        }
        const CadId former = cad_graph_former(graph, &array);
        if (former != CAD_NO_ID) {
            visit(visitor, former);
        }
    }
}

typedef struct User {
    CadGraph *graph;
    CadLive *live;
} User;

static void use(void *visitor, CadId id) {
    const User *user = visitor;
    if (CAD_IS_ELEMENT(id)) {
        user->live->arrays[cad_graph_array_of(user->graph, id)] = 1;
    } else {
        user->live->nodes[id] = 1;
    }
}

static void use_operands_of_node(User *user, size_t i) {
    if (user->live->nodes[i]) {
        cad_graph_visit_node(user->graph, i, use, user);
    }
}

static void use_operands_of_array(User *user, size_t i) {
    if (user->live->arrays[i]) {
        cad_graph_visit_array(user->graph, i, use, user);
    }
}

CadStatus cad_graph_find_live(CadGraph *graph, const CadId *outputs, size_t n_outputs,
                              CadLive *live) {
    live->nodes = cad_memory_zeroed(graph->n_nodes, 1);
    live->arrays = cad_memory_zeroed(graph->n_arrays, 1);
    if (live->nodes == NULL || live->arrays == NULL) {
        cad_graph_forget_live(live);
        return CAD_NO_MEMORY;
    }
    User user = {graph, live};
    for (size_t k = 0; k < n_outputs; k++) {
        use(&user, outputs[k]);
    }
    size_t node = graph->n_nodes;
    for (size_t i = graph->n_arrays; i-- > 0;) {
        while (node > graph->arrays[i].before) {
            use_operands_of_node(&user, --node);
        }
        use_operands_of_array(&user, i);
    }
    while (node > 0) {
        use_operands_of_node(&user, --node);
    }
    return CAD_OK;
}

void cad_graph_forget_live(CadLive *live) {
    cad_memory_free(live->nodes);
    cad_memory_free(live->arrays);
    live->nodes = live->arrays = NULL;
}

/* --- copies --- */

typedef struct Copies {
    CadId *ids;
    uint32_t *origins;
    size_t n, ids_capacity, origins_capacity;
} Copies;

static CadStatus add_copy(Copies *found, CadId id, uint32_t origin) {
    CadStatus status = cad_memory_grow((void **)&found->ids, &found->ids_capacity, found->n + 1,
                                       sizeof *found->ids);
    if (status == CAD_OK) {
        status = cad_memory_grow((void **)&found->origins, &found->origins_capacity, found->n + 1,
                                 sizeof *found->origins);
    }
    if (status == CAD_OK) {
        found->ids[found->n] = id;
        found->origins[found->n++] = origin;
    }
    return status;
}

/* `index` has for each element of an array which variable it is, or UINT32_MAX. */
static CadStatus find_copies(const CadGraph *graph, const uint8_t *is_live, const uint32_t *index,
                             Copies *found) {
    CadStatus status = CAD_OK;
    for (size_t i = 0; i < graph->n_arrays; i++) {
        const CadArray *array = &graph->arrays[i];
        for (uint32_t k = 0; array->op == CAD_ARRAY_PACK && is_live[i] && k < array->size; k++) {
            const CadId id = graph->lists[array->list + k];
            const uint32_t origin = CAD_IS_ELEMENT(id) ? index[id - CAD_ELEMENT_BIT] : UINT32_MAX;
            if (origin != UINT32_MAX && status == CAD_OK) {
                status = add_copy(found, array->first + k, origin);
            }
        }
    }
    return status;
}

CadStatus cad_graph_copies(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                           size_t n_outputs, CadId **copies, uint32_t **origins, size_t *n) {
    Copies found = {NULL, NULL, 0, 0, 0};
    CadLive live;
    CadStatus status = cad_graph_find_live(graph, outputs, n_outputs, &live);
    if (status != CAD_OK) {
        return status;
    }
    uint32_t *index = cad_memory_resize(NULL, graph->n_elements, sizeof *index);
    if (index == NULL) {
        status = CAD_NO_MEMORY;
    } else {
        memset(index, 0xff, graph->n_elements * sizeof *index);
        for (size_t k = 0; k < n_wrt; k++) {
            if (CAD_IS_ELEMENT(wrt[k])) {
                index[wrt[k] - CAD_ELEMENT_BIT] = (uint32_t)k;
            }
        }
        status = find_copies(graph, live.arrays, index, &found);
    }
    cad_memory_free(index);
    cad_graph_forget_live(&live);
    if (status != CAD_OK) {
        cad_memory_free(found.ids);
        cad_memory_free(found.origins);
        return status;
    }
    *copies = found.ids;
    *origins = found.origins;
    *n = found.n;
    return CAD_OK;
}

/* --- the other way round --- */

typedef struct Reacher {
    CadGraph *graph;
    CadLive reached;         /* of inputs: any of their elements */
    const uint8_t *elements; /* of inputs */
    int by_value;
    int found;
} Reacher;

static int is_reached(Reacher *r, CadId id) {
    if (!CAD_IS_ELEMENT(id)) {
        return r->reached.nodes[id];
    }
    const uint32_t array = cad_graph_array_of(r->graph, id);
    return r->graph->arrays[array].op == CAD_ARRAY_INPUT ? r->elements[id - CAD_ELEMENT_BIT]
                                                         : r->reached.arrays[array];
}

static void look_at_number(void *visitor, CadId id) {
    Reacher *r = visitor;
    r->found |= is_reached(r, id);
}

static void look_at_view(void *visitor, CadId id) {
    Reacher *r = visitor;
    r->found |= CAD_IS_ELEMENT(id) ? r->reached.arrays[cad_graph_array_of(r->graph, id)]
                                   : r->reached.nodes[id];
}

/* What has no derivative hands nothing on. */
static int is_flat(const Reacher *r, uint32_t op) {
    return !r->by_value && cad_op_is_flat(op);
}

static void reach_node(Reacher *r, size_t i) {
    if (!is_flat(r, r->graph->nodes[i].op)) {
        r->found = 0;
        cad_graph_visit_node(r->graph, i, look_at_number, r);
        r->reached.nodes[i] = (uint8_t)r->found;
    }
}

static void reach_array(Reacher *r, size_t i) {
    const uint32_t op = r->graph->arrays[i].op;
    if (!is_flat(r, op) && op != CAD_ARRAY_INPUT) {
        r->found = 0;
        cad_graph_visit_array(r->graph, i, op == CAD_ARRAY_PACK ? look_at_number : look_at_view,
                              r);
        r->reached.arrays[i] = (uint8_t)r->found;
    }
}

CadStatus cad_graph_reach(CadGraph *graph, const CadId *inputs, size_t n_inputs, int by_value,
                          const CadId *outputs, size_t n_outputs, uint8_t *found) {
    uint8_t *elements = cad_memory_zeroed((size_t)graph->n_elements + 1, 1);
    Reacher r = {graph, {cad_memory_zeroed(graph->n_nodes, 1), NULL}, elements, by_value, 0};
    r.reached.arrays = cad_memory_zeroed(graph->n_arrays + 1, 1);
    const int has_room = elements != NULL && r.reached.nodes != NULL && r.reached.arrays != NULL;
    size_t node = 0;
    for (size_t k = 0; k < n_inputs && has_room; k++) {
        elements[inputs[k] - CAD_ELEMENT_BIT] = 1;
        r.reached.arrays[cad_graph_array_of(graph, inputs[k])] = 1;
    }
    for (size_t i = 0; i < graph->n_arrays && has_room; i++) {
        for (; node < graph->arrays[i].before; node++) {
            reach_node(&r, node);
        }
        reach_array(&r, i);
    }
    for (; node < graph->n_nodes && has_room; node++) {
        reach_node(&r, node);
    }
    for (size_t k = 0; k < n_outputs && has_room; k++) {
        found[k] = (uint8_t)is_reached(&r, outputs[k]);
    }
    cad_graph_forget_live(&r.reached);
    cad_memory_free(elements);
    return has_room ? CAD_OK : CAD_NO_MEMORY;
}

/* --- beginnings --- */

static size_t find_ends(const CadGraph *graph, size_t n_nodes, uint8_t *is_end, CadId *ends) {
    for (size_t i = n_nodes; i < graph->n_nodes; i++) {
        const CadNode *node = &graph->nodes[i];
        const CadId x[3] = {node->x, node->y, node->z};
        for (int k = 0; k < 3 && node->op < CAD_OP_COUNT; k++) {
            if (x[k] < n_nodes && graph->nodes[x[k]].op < CAD_OP_COUNT) {
                is_end[x[k]] = 1;
            }
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < n_nodes; i++) {
        if (is_end[i]) {
            ends[n++] = (CadId)i;
        }
    }
    return n;
}

CadStatus cad_graph_beginning(const CadGraph *graph, size_t n_nodes, CadGraph **beginning,
                              CadId *ends, size_t *n_ends) {
    uint8_t *is_end = cad_memory_zeroed(n_nodes, 1);
    CadGraph *copy = *beginning = cad_graph_new(graph->optimize);
    if (is_end == NULL || copy == NULL) {
        cad_memory_free(is_end);
        return CAD_NO_MEMORY;
    }
    *n_ends = find_ends(graph, n_nodes, is_end, ends);
    cad_memory_free(is_end);
    for (size_t i = 0; i < graph->n_arrays; i++) {
        cad_graph_input(copy, graph->arrays[i].size);
    }
    for (size_t i = 0; i < n_nodes && copy->status == CAD_OK; i++) {
        const CadNode *node = &graph->nodes[i];
        if (node->op == CAD_NODE_CONSTANT) {
            cad_graph_constant(copy, cad_node_value(node));
        } else {
            cad_graph_node(copy, (CadOp)node->op, node->x, node->y, node->z);
        }
    }
    return copy->status;
}
