/* Which numbers others are made of: a graph holds more than one of its derivatives needs. */
#include "graph/inner.h"

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
        if (array.op == CAD_ARRAY_ADD_TO && cad_plan_extra(plan)[0] >= 0) {
            visit(visitor, (CadId)cad_plan_extra(plan)[0]);
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
