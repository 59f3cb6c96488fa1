/* A graph within another one: what it computes, as numbers of that one, of other inputs. */
#include "graph/inner.h"

/* --- arrays --- */

static CadId copy_pack(const CadCopier *copier, const CadArray *array) {
    CadId *ids = cad_memory_resize(NULL, array->size, sizeof *ids), made = 0;
    if (ids == NULL) {
        copier->to->status = CAD_NO_MEMORY;
        return made;
    }
    for (uint32_t k = 0; k < array->size; k++) {
        ids[k] = copier->number(copier->context, copier->from->lists[array->list + k]);
    }
    made = cad_graph_pack(copier->to, ids, array->size);
    cad_memory_free(ids);
    return made;
}

CadId cad_graph_copy_array(const CadCopier *copier, const CadArray *array) {
    CadGraph *const to = copier->to;
    CadPlanCopy plan;
    if (array->op == CAD_ARRAY_PACK) {
        return copy_pack(copier, array);
    }
    cad_copy_plan(copier->from, array, &plan);
    for (int k = plan.n_views > 1 ? 1 : 0; k < plan.n_views; k++) {
        plan.views[k].first = copier->view(copier->context, plan.views[k].first);
    }
    if (cad_array_is_by_index(array)) {
        const CadId former =
            plan.extra < 0 ? CAD_NO_ID : copier->view(copier->context, (CadId)plan.extra);
        return cad_graph_by_index(to, array->op, former, array->size, plan.ndim, plan.shape,
                                  plan.views, plan.length, plan.stride);
    }
    if (array->op == CAD_ARRAY_CALL) {
        return cad_graph_call(to, (uint32_t)plan.extra, plan.views[0].first, (size_t)plan.shape[0],
                              array->size);
    }
    if (array->op == CAD_ARRAY_ADD_TO) {
        const CadId former =
            plan.extra < 0 ? CAD_NO_ID : copier->view(copier->context, (CadId)plan.extra);
        return plan.index < 0
                   ? cad_graph_add_to(to, former, array->size, plan.ndim, plan.shape,
                                      plan.views[0], plan.views[1])
                   : cad_graph_add_at(to, former, array->size, copier->from->lists + plan.index,
                                      plan.views[0], (size_t)plan.shape[0]);
    }
    return cad_graph_map(to, array->op, array->size, plan.ndim, plan.shape, plan.n_views,
                         plan.views);
}

/* --- all of it --- */

typedef struct Inserter {
    CadGraph *from;
    CadGraph *to;
    CadLive live;
    CadId *node_name;  /* of each node what it is there */
    CadId *array_name; /* of each array its first element there, */
    CadId *operands;   /* and of each element of an input its number */
} Inserter;

static CadId *operands_of(const Inserter *in, const CadArray *input) {
    return in->operands + (input->first - CAD_ELEMENT_BIT);
}

/* Numbers that stand in a row there need not be packed. */
static CadId name_input(const Inserter *in, const CadArray *input) {
    const CadId *const ids = operands_of(in, input);
    int in_row = CAD_IS_ELEMENT(ids[0]);
    for (uint32_t k = 1; k < input->size && in_row; k++) {
        in_row = ids[k] == ids[0] + k;
    }
    in_row = in_row && cad_graph_array_of(in->to, ids[0]) ==
                           cad_graph_array_of(in->to, ids[input->size - 1]);
    return in_row ? ids[0] : cad_graph_pack(in->to, ids, input->size);
}

static CadId view_name(void *inserter, CadId id) {
    Inserter *in = inserter;
    if (!CAD_IS_ELEMENT(id)) {
        return in->node_name[id];
    }
    const uint32_t i = cad_graph_array_of(in->from, id);
    const CadArray *array = &in->from->arrays[i];
    if (in->array_name[i] == CAD_NO_ID) {
        in->array_name[i] =
            array->op == CAD_ARRAY_CONSTANTS
                ? cad_graph_constants(in->to, in->from->constants + array->list, array->size)
                : name_input(in, array);
    }
    return in->array_name[i] + (id - array->first);
}

static CadId number_name(void *inserter, CadId id) {
    Inserter *in = inserter;
    if (CAD_IS_ELEMENT(id)) {
        const CadArray *array = &in->from->arrays[cad_graph_array_of(in->from, id)];
        if (array->op == CAD_ARRAY_INPUT) {
            return operands_of(in, array)[id - array->first];
        }
    }
    return view_name(inserter, id);
}

static void insert_node(Inserter *in, size_t i) {
    const CadNode node = in->from->nodes[i];
    if (!in->live.nodes[i]) {
        return;
    }
    if (node.op == CAD_NODE_CONSTANT) {
        in->node_name[i] = cad_graph_constant(in->to, cad_node_value(&node));
        return;
    }
    CadId x[3] = {node.x, node.y, node.z};
    for (int k = 0; k < 3; k++) {
        x[k] = number_name(in, x[k] == CAD_NO_ID ? node.x : x[k]);
    }
    in->node_name[i] = cad_graph_apply(in->to, (CadOp)node.op, x[0], x[1], x[2]);
}

static void insert_array(Inserter *in, size_t i) {
    const CadArray array = in->from->arrays[i];
    if (in->live.arrays[i] && array.op != CAD_ARRAY_INPUT && array.op != CAD_ARRAY_CONSTANTS) {
        const CadCopier copier = {in->from, in->to, number_name, view_name, in};
        in->array_name[i] = cad_graph_copy_array(&copier, &array);
    }
}

static void insert_all(Inserter *in) {
    size_t node = 0;
    for (size_t i = 0; i < in->from->n_arrays && in->to->status == CAD_OK; i++) {
        for (; node < in->from->arrays[i].before; node++) {
            insert_node(in, node);
        }
        insert_array(in, i);
    }
    for (; node < in->from->n_nodes && in->to->status == CAD_OK; node++) {
        insert_node(in, node);
    }
}

CadStatus cad_graph_insert(CadGraph *graph, CadGraph *from, const CadId *inputs,
                           const CadId *operands, size_t n_inputs, const CadId *outputs,
                           size_t n_outputs, CadId *results) {
    Inserter in = {.from = from, .to = graph};
    const CadStatus status = cad_graph_find_live(from, outputs, n_outputs, &in.live);
    if (status != CAD_OK) {
        return graph->status = status;
    }
    in.node_name = cad_memory_resize(NULL, from->n_nodes + 1, sizeof *in.node_name);
    in.array_name = cad_memory_resize(NULL, from->n_arrays + 1, sizeof *in.array_name);
    in.operands = cad_memory_resize(NULL, (size_t)from->n_elements + 1, sizeof *in.operands);
    if (in.node_name == NULL || in.array_name == NULL || in.operands == NULL) {
        graph->status = CAD_NO_MEMORY;
    } else {
        memset(in.array_name, 0xff, from->n_arrays * sizeof *in.array_name);
        for (size_t k = 0; k < n_inputs; k++) {
            in.operands[inputs[k] - CAD_ELEMENT_BIT] = operands[k];
        }
        insert_all(&in);
    }
    for (size_t k = 0; k < n_outputs && graph->status == CAD_OK; k++) {
        results[k] = number_name(&in, outputs[k]);
    }
    cad_graph_forget_live(&in.live);
    cad_memory_free(in.node_name);
    cad_memory_free(in.array_name);
    cad_memory_free(in.operands);
    return graph->status;
}
