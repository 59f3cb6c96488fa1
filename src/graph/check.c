/* A graph as it is written down, and made again from what was read. Whatever was read may be
 * wrong: each number is looked at before it is made, and has to be one that was not made yet.
 * So what comes out is a graph as any other, or none. */
#include "graph/inner.h"

/* --- writing --- */

static uint32_t *write_node(const CadNode *node, uint32_t *to) {
    const CadId given[3] = {node->x, node->y, node->z};
    *to++ = node->op;
    memcpy(to, given, sizeof given);
    if (node->op == CAD_NODE_CONSTANT) {
        const double value = cad_node_value(node);
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        to[1] = (uint32_t)bits;
        to[2] = (uint32_t)(bits >> 32);
    }
    return to + 3;
}

static size_t words_of(const CadPlan *plan) {
    return plan->words - CAD_PLAN_WORDS;
}

static size_t listed(const CadArray *array) {
    return array->op == CAD_ARRAY_PACK ? array->size : 0;
}

static size_t constants_of(const CadArray *array) {
    return array->op == CAD_ARRAY_CONSTANTS ? array->size : 0;
}

void cad_graph_measure(const CadGraph *graph, CadGraphParts *parts) {
    parts->n_words = parts->n_lists = parts->n_constants = 0;
    for (size_t i = 0; i < parts->n_arrays; i++) {
        const CadArray *array = &graph->arrays[i];
        parts->n_words += array->plan != SIZE_MAX ? words_of(cad_graph_plan(graph, array)) : 0;
        parts->n_lists += listed(array);
        parts->n_constants += constants_of(array);
    }
}

void cad_graph_write(const CadGraph *graph, CadGraphParts *parts) {
    uint32_t *node = parts->nodes, *array_at = parts->arrays, *list = parts->lists;
    int64_t *word = parts->words;
    double *constant = parts->constants;
    for (size_t i = 0; i < parts->n_nodes; i++) {
        node = write_node(&graph->nodes[i], node);
    }
    for (size_t i = 0; i < parts->n_arrays; i++) {
        const CadArray *array = &graph->arrays[i];
        CadPlan *plan = array->plan != SIZE_MAX ? cad_graph_plan(graph, array) : NULL;
        *array_at++ = array->op;
        *array_at++ = array->size;
        *array_at++ = array->before;
        *array_at++ = plan != NULL ? plan->ndim : 0;
        if (plan != NULL) {
            memcpy(word, plan->rest, words_of(plan) * sizeof *word);
            word += words_of(plan);
        } else if (array->op == CAD_ARRAY_PACK) {
            memcpy(list, graph->lists + array->list, listed(array) * sizeof *list);
            list += listed(array);
        } else if (array->op == CAD_ARRAY_CONSTANTS) {
            memcpy(constant, graph->constants + array->list,
                   constants_of(array) * sizeof *constant);
            constant += constants_of(array);
        }
    }
}

/* --- reading --- */

typedef struct Restorer {
    CadGraph *graph;
    const CadGraphParts *parts;
    size_t word, list, constant; /* that are read next */
} Restorer;

static int is_operation(uint32_t op) {
    return op < CAD_OP_COUNT && cad_op_is_row((CadOp)op);
}

/* Of arrays there are, beside operations, kinds of entries that compute fresh numbers from views.
 */
static int is_over_views(uint32_t op) {
    return op < CAD_OP_COUNT && cad_entry_kinds[op].n_views > 1 && !cad_entry_kinds[op].indexed &&
           cad_entry_kinds[op].former != CAD_FORMER_KEPT;
}

int cad_graph_has(const CadGraph *graph, CadId id) {
    return CAD_IS_ELEMENT(id) ? id - CAD_ELEMENT_BIT < graph->n_elements : id < graph->n_nodes;
}

static int restore_node(CadGraph *graph, const uint32_t *node, CadId expected) {
    CadId made;
    if (node[0] == CAD_NODE_CONSTANT) {
        const uint64_t bits = (uint64_t)node[3] << 32 | node[2];
        double value;
        memcpy(&value, &bits, sizeof value);
        made = node[1] == 0 ? cad_graph_constant(graph, value) : CAD_NO_ID;
    } else {
        if (!is_operation(node[0])) {
            return 0;
        }
        for (int k = 0; k < 3; k++) {
            if (k < cad_op_info[node[0]].arity ? !cad_graph_has(graph, node[k + 1])
                                               : node[k + 1] != CAD_NO_ID) {
                return 0;
            }
        }
        made = cad_graph_node(graph, (CadOp)node[0], node[1], node[2], node[3]);
    }
    return made == expected;
}

/* A plan as it was read: a shape and views. */
typedef struct Frame {
    int ndim;
    int n_views;
    const int64_t *shape;
    CadNumbers views[4];
    size_t size;
} Frame;

static int read_frame(Restorer *r, size_t n_views, uint32_t ndim, Frame *frame) {
    const size_t left = r->parts->n_words - r->word;
    if (ndim > CAD_MOST_AXES || ndim + n_views * (ndim + 1) > left) {
        return 0;
    }
    const int64_t *words = r->parts->words + r->word;
    *frame = (Frame){.ndim = (int)ndim, .n_views = (int)n_views, .shape = words, .size = 1};
    for (uint32_t i = 0; i < ndim; i++) {
        const int64_t length = words[i];
        if (length < 1 || length > INT32_MAX ||
            frame->size > (size_t)(PTRDIFF_MAX / 2) / (size_t)length) {
            return 0;
        }
        frame->size *= (size_t)length;
    }
    words += ndim;
    for (size_t k = 0; k < n_views; k++, words += ndim + 1) {
        if (words[0] < 0 || words[0] > UINT32_MAX) {
            return 0;
        }
        frame->views[k] = (CadNumbers){(CadId)words[0], words + 1};
        for (uint32_t i = 1; i <= ndim; i++) {
            if (words[i] < -INT32_MAX || words[i] > INT32_MAX) {
                return 0;
            }
        }
    }
    r->word += ndim + n_views * (ndim + 1);
    return 1;
}

/* Whether a result is an array in order, if with its axes exchanged, so that each element is
 * written to. Strides may be zero along axes that are summed over: all, one or none. */
static int is_result(const Frame *frame, size_t size, int first_summed, int end_summed) {
    const int64_t *strides = frame->views[0].strides;
    size_t covered = 1;
    int left = 0;
    for (int i = 0; i < frame->ndim; i++) {
        const int summed = i >= first_summed && i < end_summed && strides[i] == 0;
        left += frame->shape[i] > 1 && !summed;
    }
    for (int found = 1; left > 0 && found; left -= found) {
        found = 0;
        for (int i = 0; i < frame->ndim && !found; i++) {
            if (frame->shape[i] > 1 && strides[i] == (int64_t)covered) {
                covered *= (size_t)frame->shape[i];
                found = 1;
            }
        }
    }
    return left == 0 && covered == size && frame->views[0].first == 0;
}

/* Whether all that a view sees lies from `begin` up to `end`. */
static int is_within(const Frame *frame, CadNumbers view, int64_t begin, int64_t end) {
    int64_t low = view.first, high = view.first;
    if (low < begin || high >= end) {
        return 0;
    }
    for (int i = 0; i < frame->ndim; i++) {
        const int64_t reach = (frame->shape[i] - 1) * view.strides[i];
        *(reach < 0 ? &low : &high) += reach;
        if (low < begin || high >= end) {
            return 0;
        }
    }
    return 1;
}

/* Whether all that a view sees is of one array, or one node. */
static int is_inside(CadGraph *graph, const Frame *frame, CadNumbers view) {
    if (!cad_graph_has(graph, view.first)) {
        return 0;
    }
    if (!CAD_IS_ELEMENT(view.first)) {
        return is_within(frame, view, view.first, (int64_t)view.first + 1);
    }
    const CadArray *array = &graph->arrays[cad_graph_array_of(graph, view.first)];
    return is_within(frame, view, array->first, (int64_t)array->first + array->size);
}

static int is_sound(CadGraph *graph, const Frame *frame, uint32_t op, size_t size) {
    const int m = frame->ndim - 3, n = frame->ndim - 2, q = frame->ndim - 1;
    const int is_product = cad_op_multiplies((CadOp)op);
    int sound = !cad_op_sums_up((CadOp)op) ? is_result(frame, size, 0, 0)
                : is_product               ? is_result(frame, size, n, n + 1)
                                           : is_result(frame, size, 0, frame->ndim);
    for (int k = 1; k < frame->n_views && sound; k++) {
        sound = is_inside(graph, frame, frame->views[k]);
    }
    if (is_product) {
        sound = sound && frame->views[1].strides[q] == 0 && frame->views[2].strides[m] == 0;
    }
    return sound;
}

/* As much of a part as an array has; NULL if there is not as much. */
static const void *take(const void *items, size_t item, size_t n_items, size_t *next,
                        size_t count) {
    if (count > n_items - *next) {
        return NULL;
    }
    *next += count;
    return (const char *)items + (*next - count) * item;
}

/* Whether there is such a call is for its owner to say. */
static CadId restore_call(Restorer *r, uint32_t size) {
    CadGraph *graph = r->graph;
    const int64_t *words = take(r->parts->words, sizeof *words, r->parts->n_words, &r->word, 4);
    if (words == NULL || words[0] < 1 || words[0] > INT32_MAX || words[1] < 0 ||
        words[1] > UINT32_MAX || words[2] != (words[0] > 1) || words[3] < 0 ||
        words[3] > UINT32_MAX) {
        return CAD_NO_ID;
    }
    const Frame frame = {.ndim = 1, .n_views = 1, .shape = words, .size = (size_t)words[0]};
    const CadNumbers operands = {(CadId)words[1], words + 2};
    return is_inside(graph, &frame, operands)
               ? cad_graph_call(graph, (uint32_t)words[3], operands.first, frame.size, size)
               : CAD_NO_ID;
}

static int is_by_index(uint32_t op) {
    return op == CAD_ARRAY_TAKE || op == CAD_ARRAY_ADD_BY;
}

/* Whatever the indices are, what they name has to be there. Adding to an array that is there is
 * left to derivatives. */
static CadId restore_by_index(Restorer *r, uint32_t op, uint32_t size, uint32_t ndim) {
    Frame frame;
    if (!read_frame(r, 3, ndim, &frame)) {
        return CAD_NO_ID;
    }
    const int64_t *extra = take(r->parts->words, sizeof *extra, r->parts->n_words, &r->word, 3);
    if (extra == NULL || ndim == CAD_MOST_AXES || extra[0] != -1 || extra[1] < 1 ||
        extra[1] > INT32_MAX || extra[2] < -INT32_MAX || extra[2] > INT32_MAX) {
        return CAD_NO_ID;
    }
    const int takes = op == CAD_ARRAY_TAKE;
    int64_t shape[CAD_MOST_AXES], strides[CAD_MOST_AXES];
    memcpy(shape, frame.shape, ndim * sizeof *shape);
    memcpy(strides, frame.views[takes ? 1 : 0].strides, ndim * sizeof *strides);
    shape[ndim] = extra[1];
    strides[ndim] = extra[2];
    const Frame whole = {.ndim = (int)ndim + 1, .shape = shape};
    const CadNumbers indexed = {frame.views[takes ? 1 : 0].first, strides};
    const int sound =
        is_inside(r->graph, &frame, frame.views[2]) &&
        (takes
             ? is_result(&frame, size, 0, 0) && is_inside(r->graph, &whole, indexed)
             : is_inside(r->graph, &frame, frame.views[1]) && is_within(&whole, indexed, 0, size));
    return sound ? cad_graph_by_index(r->graph, op, CAD_NO_ID, size, (int)ndim, frame.shape,
                                      frame.views, extra[1], extra[2])
                 : CAD_NO_ID;
}

static int restore_array(Restorer *r, const uint32_t *given) {
    const CadGraphParts *parts = r->parts;
    CadGraph *graph = r->graph;
    const uint32_t op = given[0], size = given[1], ndim = given[3];
    const CadId expected = CAD_ELEMENT_BIT + graph->n_elements;
    CadId made = CAD_NO_ID;
    if (size > CAD_MOST_SLOTS - expected ||
        (ndim > 0 && op >= CAD_OP_COUNT && op != CAD_ARRAY_CALL && !is_by_index(op))) {
        return 0;
    }
    if (op == CAD_ARRAY_INPUT) {
        made = cad_graph_input(graph, size);
    } else if (op == CAD_ARRAY_CONSTANTS && size > 0) {
        const double *values =
            take(parts->constants, sizeof *values, parts->n_constants, &r->constant, size);
        made = values != NULL ? cad_graph_constants(graph, values, size) : CAD_NO_ID;
    } else if (op == CAD_ARRAY_PACK && size > 1) {
        const CadId *ids = take(parts->lists, sizeof *ids, parts->n_lists, &r->list, size);
        int sound = ids != NULL;
        for (uint32_t k = 0; k < size && sound; k++) {
            sound = cad_graph_has(graph, ids[k]);
        }
        made = sound ? cad_graph_pack(graph, ids, size) : CAD_NO_ID;
    } else if (op == CAD_ARRAY_CALL && size > 0 && ndim == 1) {
        made = restore_call(r, size);
    } else if (is_by_index(op) && size > 0) {
        made = restore_by_index(r, op, size, ndim);
    } else if (is_over_views(op)) {
        Frame frame;
        if (ndim >= cad_entry_kinds[op].core &&
            read_frame(r, cad_entry_kinds[op].n_views, ndim, &frame) &&
            is_sound(graph, &frame, op, size)) {
            made = cad_graph_map(graph, op, size, frame.ndim, frame.shape, frame.n_views,
                                 frame.views);
        }
    }
    return made == expected && graph->n_elements - (expected - CAD_ELEMENT_BIT) == size;
}

/* The inputs come first, before anything that is computed. */
static int are_inputs_first(const CadGraph *graph, size_t n_inputs) {
    int sound = n_inputs <= graph->n_arrays;
    for (size_t i = 0; i < graph->n_arrays && sound; i++) {
        sound = (graph->arrays[i].op == CAD_ARRAY_INPUT) == (i < n_inputs);
    }
    return sound;
}

CadStatus cad_graph_restore(CadGraph *graph, const CadGraphParts *parts, size_t n_inputs) {
    Restorer restorer = {.graph = graph, .parts = parts};
    Restorer *r = &restorer;
    size_t node = 0;
    int sound = parts->n_nodes > 0;
    for (size_t i = 0; i <= parts->n_arrays && sound; i++) {
        const uint32_t *array = i < parts->n_arrays ? parts->arrays + 4 * i : NULL;
        const size_t before = array != NULL ? array[2] : parts->n_nodes;
        sound = node <= before && before <= parts->n_nodes;
        for (; node < before && sound; node++) {
            sound = restore_node(graph, parts->nodes + 4 * node, (CadId)node);
        }
        sound = sound && (array == NULL || restore_array(r, array));
    }
    if (graph->status != CAD_OK) {
        return graph->status;
    }
    sound = sound && r->word == parts->n_words && r->list == parts->n_lists &&
            r->constant == parts->n_constants && are_inputs_first(graph, n_inputs);
    return sound ? CAD_OK : CAD_RAISED;
}
