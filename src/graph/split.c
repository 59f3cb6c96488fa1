/* What depends on one input, as a graph of its own. */
#include "graph/inner.h"

typedef struct Splitter {
    CadGraph *graph;
    CadPart *part;
    CadStatus status;
    CadLive live;         /* what roots and guards need */
    uint8_t *node_varies; /* whether it depends on the input */
    uint8_t *array_varies;
    CadId *node_name;  /* what it is in the part, or which of those that are given */
    CadId *array_name; /* what the first element is there */
    size_t given_capacity;
    int found; /* whether an operand varies */
} Splitter;

/* --- what depends on the input --- */

static int varies(const Splitter *s, CadId id) {
    return CAD_IS_ELEMENT(id) ? s->array_varies[cad_graph_array_of(s->graph, id)]
                              : s->node_varies[id];
}

static void look_at(void *visitor, CadId id) {
    Splitter *s = visitor;
    s->found |= varies(s, id);
}

static void look_at_node(Splitter *s, size_t i) {
    if (s->live.nodes[i]) {
        s->found = 0;
        cad_graph_visit_node(s->graph, i, look_at, s);
        s->node_varies[i] = (uint8_t)s->found;
    }
}

static void look_at_array(Splitter *s, size_t i) {
    if (s->live.arrays[i] && !s->array_varies[i]) {
        s->found = 0;
        cad_graph_visit_array(s->graph, i, look_at, s);
        s->array_varies[i] = (uint8_t)s->found;
    }
}

/* --- what is given --- */

static int has_room(Splitter *s, size_t more) {
    CadPart *part = s->part;
    if (s->status == CAD_OK) {
        s->status = cad_memory_grow((void **)&part->given, &s->given_capacity,
                                    part->n_given + more, sizeof *part->given);
    }
    return s->status == CAD_OK;
}

static int is_constant(const Splitter *s, CadId id) {
    double value;
    return cad_graph_is_constant(s->graph, id, &value);
}

/* Of an array that is given, all elements are. */
static void add_given(void *visitor, CadId id) {
    Splitter *s = visitor;
    CadPart *part = s->part;
    if (varies(s, id) || is_constant(s, id)) {
        return;
    }
    const uint32_t array = CAD_IS_ELEMENT(id) ? cad_graph_array_of(s->graph, id) : 0;
    CadId *name = CAD_IS_ELEMENT(id) ? &s->array_name[array] : &s->node_name[id];
    const CadId first = CAD_IS_ELEMENT(id) ? s->graph->arrays[array].first : id;
    const uint32_t count = CAD_IS_ELEMENT(id) ? s->graph->arrays[array].size : 1;
    if (*name != CAD_NO_ID || !has_room(s, count)) {
        return;
    }
    *name = (CadId)part->n_given;
    for (uint32_t k = 0; k < count; k++) {
        part->given[part->n_given++] = first + k;
    }
}

/* --- making the part --- */

static CadId name_of(Splitter *s, CadId id) {
    const CadGraph *graph = s->graph;
    CadPart *part = s->part;
    if (!CAD_IS_ELEMENT(id)) {
        return is_constant(s, id)
                   ? cad_graph_constant(part->graph, cad_node_value(&graph->nodes[id]))
               : s->node_varies[id] ? s->node_name[id]
                                    : part->inputs + s->node_name[id];
    }
    const uint32_t i = cad_graph_array_of(s->graph, id);
    const CadArray *array = &graph->arrays[i];
    if (array->op == CAD_ARRAY_CONSTANTS && s->array_name[i] == CAD_NO_ID) {
        s->array_name[i] =
            cad_graph_constants(part->graph, graph->constants + array->list, array->size);
    }
    const int is_own = s->array_varies[i] || array->op == CAD_ARRAY_CONSTANTS;
    return (is_own ? 0 : part->inputs) + s->array_name[i] + (id - array->first);
}

static void make_node(Splitter *s, size_t i) {
    if (s->node_varies[i]) {
        const CadNode node = s->graph->nodes[i];
        CadId x[3] = {node.x, node.y, node.z};
        for (int k = 0; k < 3; k++) {
            x[k] = x[k] == CAD_NO_ID ? x[k] : name_of(s, x[k]);
        }
        s->node_name[i] = cad_graph_node(s->part->graph, (CadOp)node.op, x[0], x[1], x[2]);
    }
}

static CadId make_pack(Splitter *s, const CadArray *array) {
    CadId *ids = cad_memory_resize(NULL, array->size, sizeof *ids), made = 0;
    if (ids == NULL) {
        s->status = CAD_NO_MEMORY;
        return made;
    }
    for (uint32_t k = 0; k < array->size; k++) {
        ids[k] = name_of(s, s->graph->lists[array->list + k]);
    }
    made = cad_graph_pack(s->part->graph, ids, array->size);
    cad_memory_free(ids);
    return made;
}

static CadId make_array(Splitter *s, const CadArray *array) {
    CadGraph *to = s->part->graph;
    CadPlanCopy plan;
    if (array->op == CAD_ARRAY_PACK) {
        return make_pack(s, array);
    }
    cad_copy_plan(s->graph, array, &plan);
    for (int k = plan.n_views > 1 ? 1 : 0; k < plan.n_views; k++) {
        plan.views[k].first = name_of(s, plan.views[k].first);
    }
    if (array->op == CAD_ARRAY_CALL) {
        return cad_graph_call(to, (uint32_t)plan.extra, plan.views[0].first, (size_t)plan.shape[0],
                              array->size);
    }
    if (array->op == CAD_ARRAY_ADD_TO) {
        const CadId former = plan.extra < 0 ? CAD_NO_ID : name_of(s, (CadId)plan.extra);
        return plan.index < 0
                   ? cad_graph_add_to(to, former, array->size, plan.ndim, plan.shape,
                                      plan.views[0], plan.views[1])
                   : cad_graph_add_at(to, former, array->size, s->graph->lists + plan.index,
                                      plan.views[0], (size_t)plan.shape[0]);
    }
    return cad_graph_map(to, array->op, array->size, plan.ndim, plan.shape, plan.n_views,
                         plan.views);
}

static void make_array_at(Splitter *s, size_t i) {
    const CadArray *array = &s->graph->arrays[i];
    if (s->array_varies[i]) {
        s->array_name[i] = array->op == CAD_ARRAY_INPUT ? s->part->own : make_array(s, array);
    }
}

/* --- all of it --- */

/* All nodes and arrays in their order. */
static void go_on(Splitter *s, void (*at_node)(Splitter *, size_t),
                  void (*at_array)(Splitter *, size_t)) {
    size_t node = 0;
    for (size_t i = 0; i < s->graph->n_arrays; i++) {
        for (; node < s->graph->arrays[i].before; node++) {
            at_node(s, node);
        }
        at_array(s, i);
    }
    for (; node < s->graph->n_nodes; node++) {
        at_node(s, node);
    }
}

static void give_for_node(Splitter *s, size_t i) {
    if (s->node_varies[i]) {
        cad_graph_visit_node(s->graph, i, add_given, s);
    }
}

static void give_for_array(Splitter *s, size_t i) {
    if (s->array_varies[i]) {
        cad_graph_visit_array(s->graph, i, add_given, s);
    }
}

/* Guards need what they look at, like roots. */
static CadStatus find_live(Splitter *s, const CadId *roots, size_t n_roots) {
    const size_t n_guards = s->graph->n_guards;
    CadId *ends = cad_memory_resize(NULL, n_roots + n_guards, sizeof *ends);
    if (ends == NULL) {
        return CAD_NO_MEMORY;
    }
    memcpy(ends, roots, n_roots * sizeof *ends);
    for (size_t k = 0; k < n_guards; k++) {
        ends[n_roots + k] = s->graph->guards[k].id;
    }
    const CadStatus status = cad_graph_find_live(s->graph, ends, n_roots + n_guards, &s->live);
    cad_memory_free(ends);
    return status;
}

static int has_buffers(Splitter *s) {
    const size_t nodes = s->graph->n_nodes, arrays = s->graph->n_arrays;
    s->node_varies = cad_memory_zeroed(nodes, 1);
    s->array_varies = cad_memory_zeroed(arrays, 1);
    s->node_name = cad_memory_resize(NULL, nodes, sizeof *s->node_name);
    s->array_name = cad_memory_resize(NULL, arrays, sizeof *s->array_name);
    s->part->graph = cad_graph_new(s->graph->optimize);
    if (s->node_varies == NULL || s->array_varies == NULL || s->node_name == NULL ||
        s->array_name == NULL || s->part->graph == NULL) {
        s->status = CAD_NO_MEMORY;
        return 0;
    }
    memset(s->node_name, 0xff, nodes * sizeof *s->node_name);
    memset(s->array_name, 0xff, arrays * sizeof *s->array_name);
    return 1;
}

static void share_guards(Splitter *s) {
    CadGraph *graph = s->graph;
    size_t kept = 0;
    for (size_t k = 0; k < graph->n_guards && s->status == CAD_OK; k++) {
        const CadOutcome guard = graph->guards[k];
        if (varies(s, guard.id)) {
            CadGraph *const part = s->part->graph;
            s->status = cad_graph_guard(part, name_of(s, guard.id), guard.value);
            if (s->status == CAD_OK) {
                part->guards[part->n_guards - 1].number = guard.number;
            }
        } else {
            graph->guards[kept++] = guard;
        }
    }
    graph->n_guards = s->status == CAD_OK ? kept : graph->n_guards;
}

static void make_part(Splitter *s, CadId input, CadId *roots, size_t n_roots) {
    CadPart *part = s->part;
    const uint32_t own = cad_graph_array_of(s->graph, input);
    s->array_varies[own] = 1;
    go_on(s, look_at_node, look_at_array);
    go_on(s, give_for_node, give_for_array);
    for (size_t k = 0; k < n_roots; k++) {
        add_given(s, roots[k]);
    }
    if (s->status != CAD_OK) {
        return;
    }
    part->own = cad_graph_input(part->graph, s->graph->arrays[own].size);
    part->inputs = part->n_given > 0 ? cad_graph_input(part->graph, part->n_given) : CAD_NO_ID;
    go_on(s, make_node, make_array_at);
    for (size_t k = 0; k < n_roots && s->status == CAD_OK; k++) {
        roots[k] = name_of(s, roots[k]);
    }
    share_guards(s);
    s->status = s->status == CAD_OK ? part->graph->status : s->status;
}

CadStatus cad_graph_split(CadGraph *graph, CadId input, CadId *roots, size_t n_roots,
                          CadPart *part) {
    Splitter splitter = {.graph = graph, .part = part};
    Splitter *s = &splitter;
    *part = (CadPart){NULL, CAD_NO_ID, CAD_NO_ID, NULL, 0};
    s->status = find_live(s, roots, n_roots);
    if (s->status == CAD_OK && has_buffers(s)) {
        make_part(s, input, roots, n_roots);
    }
    cad_graph_forget_live(&s->live);
    cad_memory_free(s->node_varies);
    cad_memory_free(s->array_varies);
    cad_memory_free(s->node_name);
    cad_memory_free(s->array_name);
    return s->status;
}
