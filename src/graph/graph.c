/* Making numbers of a graph, each but once: nodes and arrays are looked up by their content. */
#include "graph/inner.h"

enum { FIRST_TABLE = 1 << 10 };

/* A new graph has one number: there is always some to answer. */
CadGraph *cad_graph_new(int optimize) {
    CadGraph *graph = cad_memory_zeroed(1, sizeof *graph);
    if (graph == NULL) {
        return NULL;
    }
    graph->optimize = optimize;
    graph->table_size = FIRST_TABLE;
    graph->table = cad_memory_resize(NULL, FIRST_TABLE, sizeof *graph->table);
    if (graph->table != NULL) {
        memset(graph->table, 0xff, FIRST_TABLE * sizeof *graph->table);
        cad_graph_constant(graph, 0.0);
    }
    if (graph->n_nodes == 0) {
        cad_graph_free(graph);
        return NULL;
    }
    return graph;
}

void cad_graph_free(CadGraph *graph) {
    if (graph != NULL) {
        cad_memory_free(graph->nodes);
        cad_memory_free(graph->arrays);
        cad_memory_free(graph->words);
        cad_memory_free(graph->lists);
        cad_memory_free(graph->constants);
        cad_memory_free(graph->guards);
        cad_memory_free(graph->table);
        cad_memory_free(graph);
    }
}

size_t cad_graph_bytes(const CadGraph *graph) {
    return sizeof *graph + graph->node_capacity * sizeof *graph->nodes +
           graph->array_capacity * sizeof *graph->arrays +
           graph->word_capacity * sizeof *graph->words +
           graph->list_capacity * sizeof *graph->lists +
           graph->constant_capacity * sizeof *graph->constants +
           graph->guard_capacity * sizeof *graph->guards +
           graph->table_size * sizeof *graph->table;
}

static int note_failure(CadGraph *graph, CadStatus status) {
    if (graph->status == CAD_OK) {
        graph->status = status;
    }
    return 0;
}

/* Room for so many items more; 0 if there is none. */
static int has_room(CadGraph *graph, void **buffer, size_t *capacity, size_t needed, size_t size) {
    const CadStatus status = cad_memory_grow(buffer, capacity, needed, size);
    return status == CAD_OK ? 1 : note_failure(graph, status);
}

#define ROOM(items, n, capacity, more)                                                            \
    has_room(graph, (void **)&graph->items, &graph->capacity, graph->n + (more),                  \
             sizeof *graph->items)

/* --- the table of known numbers --- */

/* A node is looked for near the place of its latest operand first, since what is made one behind
 * the other is looked for one behind the other; where that is full, and anything else, at places
 * that its hash tells. */
enum { NEAR = 8 };

static inline uint64_t mix(uint64_t hash, uint64_t word) {
    return (hash ^ word) * 0x9e3779b97f4a7c15u ^ (hash >> 29);
}

static uint64_t hash_of_node(CadNode node) {
    const uint64_t hash = mix((uint64_t)node.op << 32 | node.x, (uint64_t)node.y << 32 | node.z);
    return hash ^ hash >> 32;
}

static uint64_t hash_of_array(const CadGraph *graph, const CadArray *array) {
    uint64_t hash = mix(array->op, array->size);
    if (array->plan != SIZE_MAX) {
        const int64_t *words = graph->words + array->plan;
        for (uint32_t i = 0; i < cad_graph_plan(graph, array)->words; i++) {
            hash = mix(hash, (uint64_t)words[i]);
        }
    }
    for (uint32_t i = 0; i < array->size && array->op == CAD_ARRAY_PACK; i++) {
        hash = mix(hash, graph->lists[array->list + i]);
    }
    return hash ^ hash >> 32;
}

static int is_same_array(const CadGraph *graph, const CadArray *a, const CadArray *b) {
    if (a->op != b->op || a->size != b->size || (a->plan == SIZE_MAX) != (b->plan == SIZE_MAX)) {
        return 0;
    }
    if (a->plan != SIZE_MAX) {
        const size_t words = cad_graph_plan(graph, a)->words;
        return words == cad_graph_plan(graph, b)->words &&
               memcmp(graph->words + a->plan, graph->words + b->plan, words * sizeof(int64_t)) ==
                   0;
    }
    return a->op == CAD_ARRAY_PACK && memcmp(graph->lists + a->list, graph->lists + b->list,
                                             a->size * sizeof *graph->lists) == 0;
}

/* The places of a hash, one behind the other: steps are odd, so that all are come by. Evenly
 * distant ones would get stuck where nodes are near each other. */
static inline size_t next_place(const CadGraph *graph, size_t place, uint64_t hash) {
    return (place + (hash >> 20 | 1)) & (graph->table_size - 1);
}

/* The latest operand of a node that is one itself, or CAD_NO_ID. */
static inline CadId latest_operand(const CadNode *node) {
    if (node->op >= CAD_OP_COUNT) {
        return CAD_NO_ID;
    }
    const CadId x[3] = {node->x, node->y, node->z};
    CadId latest = CAD_NO_ID;
    for (int k = 0; k < 3; k++) {
        if (!CAD_IS_ELEMENT(x[k]) && (latest == CAD_NO_ID || x[k] > latest)) {
            latest = x[k];
        }
    }
    return latest;
}

/* The place of a node, where it is or may be put. */
static size_t place_of_node(const CadGraph *graph, const CadNode *node) {
    const CadId latest = latest_operand(node);
    if (latest != CAD_NO_ID) {
        for (size_t k = 0; k < NEAR; k++) {
            const size_t place = (2 * (size_t)latest + k) & (graph->table_size - 1);
            const uint32_t known = graph->table[place];
            if (known == CAD_NO_ID || (!CAD_IS_ELEMENT(known) &&
                                       memcmp(&graph->nodes[known], node, sizeof *node) == 0)) {
                return place;
            }
        }
    }
    const uint64_t hash = hash_of_node(*node);
    size_t place = hash & (graph->table_size - 1);
    for (; graph->table[place] != CAD_NO_ID; place = next_place(graph, place, hash)) {
        const uint32_t known = graph->table[place];
        if (!CAD_IS_ELEMENT(known) && memcmp(&graph->nodes[known], node, sizeof *node) == 0) {
            break;
        }
    }
    return place;
}

static size_t place_of_array(const CadGraph *graph, const CadArray *array) {
    const uint64_t hash = hash_of_array(graph, array);
    size_t place = hash & (graph->table_size - 1);
    for (; graph->table[place] != CAD_NO_ID; place = next_place(graph, place, hash)) {
        const uint32_t known = graph->table[place];
        if (CAD_IS_ELEMENT(known) &&
            is_same_array(graph, &graph->arrays[known - CAD_ELEMENT_BIT], array)) {
            break;
        }
    }
    return place;
}

/* Inputs and constants are told from others by where they are. */
static int is_looked_up(uint32_t op) {
    return op != CAD_ARRAY_INPUT && op != CAD_ARRAY_CONSTANTS;
}

static void fill_table(CadGraph *graph) {
    memset(graph->table, 0xff, graph->table_size * sizeof *graph->table);
    graph->n_known = graph->n_nodes;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        graph->table[place_of_node(graph, &graph->nodes[i])] = (uint32_t)i;
    }
    for (size_t i = 0; i < graph->n_arrays; i++) {
        if (is_looked_up(graph->arrays[i].op)) {
            graph->table[place_of_array(graph, &graph->arrays[i])] = CAD_ELEMENT_BIT + (uint32_t)i;
            graph->n_known++;
        }
    }
}

/* Keep the table half empty. */
static int has_place(CadGraph *graph) {
    if (2 * graph->n_known < graph->table_size) {
        return 1;
    }
    const size_t size = 4 * graph->table_size;
    uint32_t *table = cad_memory_resize(NULL, size, sizeof *table);
    if (table == NULL) {
        return note_failure(graph, CAD_NO_MEMORY);
    }
    cad_memory_free(graph->table);
    graph->table = table;
    graph->table_size = size;
    fill_table(graph);
    return 1;
}

/* --- taking back --- */

CadGraphMark cad_graph_mark(const CadGraph *graph) {
    return (CadGraphMark){graph->n_nodes,     graph->n_arrays, graph->n_words,   graph->n_lists,
                          graph->n_constants, graph->n_guards, graph->n_elements};
}

void cad_graph_rewind(CadGraph *graph, const CadGraphMark *mark) {
    const int has_more = graph->n_nodes > mark->n_nodes || graph->n_arrays > mark->n_arrays;
    graph->n_nodes = mark->n_nodes;
    graph->n_arrays = mark->n_arrays;
    graph->n_words = mark->n_words;
    graph->n_lists = mark->n_lists;
    graph->n_constants = mark->n_constants;
    graph->n_guards = mark->n_guards;
    graph->n_elements = mark->n_elements;
    graph->status = CAD_OK;
    if (has_more) {
        fill_table(graph);
    }
}

/* --- nodes --- */

static CadId find_or_make(CadGraph *graph, CadNode node) {
    if (!has_place(graph)) {
        return 0;
    }
    const size_t place = place_of_node(graph, &node);
    if (graph->table[place] != CAD_NO_ID) {
        return graph->table[place];
    }
    if (!ROOM(nodes, n_nodes, node_capacity, 1)) {
        return 0;
    }
    if (graph->n_nodes >= CAD_ELEMENT_BIT - 1) {
        note_failure(graph, CAD_TAPE_FULL);
        return 0;
    }
    graph->table[place] = (uint32_t)graph->n_nodes;
    graph->n_known++;
    graph->nodes[graph->n_nodes] = node;
    return (CadId)graph->n_nodes++;
}

CadId cad_graph_constant(CadGraph *graph, double value) {
    CadNode node = {CAD_NODE_CONSTANT, 0, 0, 0};
    memcpy(&node.y, &value, sizeof value);
    return find_or_make(graph, node);
}

CadId cad_graph_node(CadGraph *graph, CadOp op, CadId x, CadId y, CadId z) {
    const int arity = cad_op_info[op].arity;
    return find_or_make(graph,
                        (CadNode){op, x, arity > 1 ? y : CAD_NO_ID, arity > 2 ? z : CAD_NO_ID});
}

/* --- arrays --- */

uint32_t cad_graph_array_of(CadGraph *graph, CadId element) {
    const CadArray *recent = &graph->arrays[graph->recent];
    if (graph->recent < graph->n_arrays && element - recent->first < recent->size) {
        return graph->recent;
    }
    size_t low = 0, high = graph->n_arrays;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (graph->arrays[middle].first <= element) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return graph->recent = (uint32_t)low;
}

/* Begin an array; what belongs to it is appended to words and lists before it is finished. */
static int has_array_room(CadGraph *graph, size_t size) {
    if (size > CAD_MOST_SLOTS - CAD_ELEMENT_BIT - graph->n_elements) {
        return note_failure(graph, CAD_TAPE_FULL);
    }
    return has_place(graph) && ROOM(arrays, n_arrays, array_capacity, 1);
}

static CadId finish_array(CadGraph *graph, uint32_t op, size_t size, size_t plan, size_t list) {
    const CadArray array = {.op = op,
                            .first = CAD_ELEMENT_BIT + graph->n_elements,
                            .size = (uint32_t)size,
                            .before = (uint32_t)graph->n_nodes,
                            .plan = plan,
                            .list = list};
    if (is_looked_up(op)) {
        const size_t place = place_of_array(graph, &array);
        const uint32_t known = graph->table[place];
        if (known != CAD_NO_ID) {
            graph->n_words = plan != SIZE_MAX ? plan : graph->n_words;
            graph->n_lists = list != SIZE_MAX ? list : graph->n_lists;
            return graph->arrays[known - CAD_ELEMENT_BIT].first;
        }
        graph->table[place] = CAD_ELEMENT_BIT + (uint32_t)graph->n_arrays;
        graph->n_known++;
    }
    graph->arrays[graph->n_arrays++] = array;
    graph->n_elements += (uint32_t)size;
    return array.first;
}

CadId cad_graph_input(CadGraph *graph, size_t size) {
    if (!has_array_room(graph, size)) {
        return 0;
    }
    return finish_array(graph, CAD_ARRAY_INPUT, size, SIZE_MAX, SIZE_MAX);
}

CadId cad_graph_constants(CadGraph *graph, const double *values, size_t size) {
    if (!has_array_room(graph, size) || !ROOM(constants, n_constants, constant_capacity, size)) {
        return 0;
    }
    const size_t list = graph->n_constants;
    memcpy(graph->constants + list, values, size * sizeof *values);
    graph->n_constants += size;
    return finish_array(graph, CAD_ARRAY_CONSTANTS, size, SIZE_MAX, list);
}

CadId cad_graph_pack(CadGraph *graph, const CadId *ids, size_t size) {
    if (size == 1) {
        return ids[0];
    }
    if (!has_array_room(graph, size) || !ROOM(lists, n_lists, list_capacity, size)) {
        return 0;
    }
    const size_t list = graph->n_lists;
    memcpy(graph->lists + list, ids, size * sizeof *ids);
    graph->n_lists += size;
    return finish_array(graph, CAD_ARRAY_PACK, size, SIZE_MAX, list);
}

/* Append a plan, all of it but what is in `rest`; NULL if there is no room. */
static CadPlan *append_plan(CadGraph *graph, int ndim, const int64_t *shape, int n_views,
                            const CadNumbers *views, int n_extra, int64_t index) {
    const size_t words = (size_t)(CAD_PLAN_WORDS + ndim + n_views * (ndim + 1) + n_extra);
    if (!ROOM(words, n_words, word_capacity, words)) {
        return NULL;
    }
    CadPlan *plan = (CadPlan *)(graph->words + graph->n_words);
    *plan = (CadPlan){.words = (uint32_t)words,
                      .ndim = (uint16_t)ndim,
                      .n_views = (uint16_t)n_views,
                      .n_extra = (uint32_t)n_extra,
                      .size = 1,
                      .index = index};
    for (int i = 0; i < ndim; i++) {
        cad_plan_shape(plan)[i] = shape[i];
        plan->size *= shape[i];
    }
    for (int k = 0; k < n_views; k++) {
        int64_t *view = cad_plan_view(plan, k);
        view[0] = views[k].first;
        memcpy(view + 1, views[k].strides, (size_t)ndim * sizeof *view);
    }
    graph->n_words += words;
    return plan;
}

CadId cad_graph_map(CadGraph *graph, uint32_t op, size_t size, int ndim, const int64_t *shape,
                    int n_views, const CadNumbers *views) {
    const size_t place = graph->n_words;
    if (!has_array_room(graph, size) ||
        append_plan(graph, ndim, shape, n_views, views, 0, -1) == NULL) {
        return 0;
    }
    return finish_array(graph, op, size, place, SIZE_MAX);
}

CadId cad_graph_add_to(CadGraph *graph, CadId former, size_t size, int ndim, const int64_t *shape,
                       CadNumbers target, CadNumbers source) {
    const size_t place = graph->n_words;
    const CadNumbers views[2] = {target, source};
    CadPlan *plan = NULL;
    if (has_array_room(graph, size)) {
        plan = append_plan(graph, ndim, shape, 2, views, 1, -1);
    }
    if (plan == NULL) {
        return 0;
    }
    cad_plan_extra(plan)[0] = former == CAD_NO_ID ? -1 : (int64_t)former;
    return finish_array(graph, CAD_ARRAY_ADD_TO, size, place, SIZE_MAX);
}

CadId cad_graph_add_at(CadGraph *graph, CadId former, size_t size, const CadId *places,
                       CadNumbers source, size_t count) {
    const size_t place = graph->n_words, list = graph->n_lists;
    const int64_t shape[1] = {(int64_t)count};
    CadPlan *plan = NULL;
    if (has_array_room(graph, size) && ROOM(lists, n_lists, list_capacity, count)) {
        plan = append_plan(graph, 1, shape, 1, &source, 1, (int64_t)list);
    }
    if (plan == NULL) {
        return 0;
    }
    cad_plan_extra(plan)[0] = former == CAD_NO_ID ? -1 : (int64_t)former;
    memcpy(graph->lists + list, places, count * sizeof *places);
    graph->n_lists += count;
    return finish_array(graph, CAD_ARRAY_ADD_TO, size, place, list);
}

CadId cad_graph_by_index(CadGraph *graph, uint32_t op, CadId former, size_t size, int ndim,
                         const int64_t *shape, const CadNumbers views[3], int64_t length,
                         int64_t stride) {
    const size_t place = graph->n_words;
    CadPlan *plan = NULL;
    if (has_array_room(graph, size)) {
        plan = append_plan(graph, ndim, shape, 3, views, 3, -1);
    }
    if (plan == NULL) {
        return 0;
    }
    int64_t *extra = cad_plan_extra(plan);
    extra[0] = former == CAD_NO_ID ? -1 : (int64_t)former;
    extra[1] = length;
    extra[2] = stride;
    return finish_array(graph, op, size, place, SIZE_MAX);
}

CadId cad_graph_call(CadGraph *graph, uint32_t number, CadId operands, size_t count, size_t size) {
    const size_t place = graph->n_words;
    const int64_t shape[1] = {(int64_t)count}, step[1] = {count > 1};
    const CadNumbers view = {operands, step};
    CadPlan *plan = NULL;
    if (has_array_room(graph, size)) {
        plan = append_plan(graph, 1, shape, 1, &view, 1, -1);
    }
    if (plan == NULL) {
        return 0;
    }
    cad_plan_extra(plan)[0] = number;
    return finish_array(graph, CAD_ARRAY_CALL, size, place, SIZE_MAX);
}

CadStatus cad_graph_guard(CadGraph *graph, CadId id, double outcome) {
    if (ROOM(guards, n_guards, guard_capacity, 1)) {
        graph->guards[graph->n_guards] = (CadOutcome){id, (uint32_t)graph->n_guards, outcome};
        graph->n_guards++;
    }
    return graph->status;
}

/* --- asking --- */

int cad_graph_is_constant(CadGraph *graph, CadId id, double *value) {
    if (CAD_IS_ELEMENT(id)) {
        const CadArray *array = &graph->arrays[cad_graph_array_of(graph, id)];
        if (array->op != CAD_ARRAY_CONSTANTS) {
            return 0;
        }
        *value = graph->constants[array->list + (id - array->first)];
        return 1;
    }
    const CadNode *node = &graph->nodes[id];
    if (node->op != CAD_NODE_CONSTANT) {
        return 0;
    }
    *value = cad_node_value(node);
    return 1;
}

size_t cad_strides_in_order(int ndim, const int64_t *shape, int64_t *strides) {
    int64_t size = 1;
    for (int i = ndim; i-- > 0;) {
        strides[i] = size;
        size *= shape[i];
    }
    return (size_t)size;
}
