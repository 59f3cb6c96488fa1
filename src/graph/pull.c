/* Reverse mode over a graph: the cotangents are further numbers of it.
 *
 * What a number propagates is added, number by number, where single ones take part, and array by
 * array where arrays do: of an array what was handed to it is kept as a list of contributions,
 * which are added up when the walk backwards arrives at it. */
#include "graph/inner.h"
#include "table/codes.h"

enum { LONG_LIST = 32, BY_INDEX = -2 };

static const int64_t zero_strides[CAD_MOST_AXES] = {0};

/* Of one array. A contribution, in `words`: next one (or -1), number of axes or -1 for a list,
 * first number, then either shape, strides and places of the targets, or stride, list and length.
 * With -2 it is that of a number of the graph that takes by indices: see add_by_index. */
typedef struct Received {
    CadId *elements; /* cotangents of single elements, or NULL */
    int64_t latest;  /* contribution, or -1 */
} Received;

typedef struct Pull {
    CadGraph *graph;
    size_t n_nodes, n_arrays; /* that are walked over: later ones are results */
    uint8_t *is_active_node, *is_active_array;
    uint8_t *is_wrt; /* of the elements of all arrays: nothing is handed on beyond them */
    CadId *nodes;    /* cotangents, CAD_NO_ID where nothing has arrived */
    Received *arrays;
    int64_t *words;
    size_t n_words, word_capacity;
    CadId *some;
    size_t room;
} Pull;

static int fail(Pull *p) {
    if (p->graph->status == CAD_OK) {
        p->graph->status = CAD_NO_MEMORY;
    }
    return 0;
}

/* --- what depends on the variables --- */

static int is_active(const Pull *p, CadId id) {
    if (CAD_IS_ELEMENT(id)) {
        return p->is_active_array[cad_graph_array_of(p->graph, id)];
    }
    return p->is_active_node[id];
}

/* Whether one number is active by itself: an array of inputs need not be wanted as a whole. */
static int is_active_number(const Pull *p, CadId id) {
    const int active = is_active(p, id);
    if (active && CAD_IS_ELEMENT(id) &&
        p->graph->arrays[cad_graph_array_of(p->graph, id)].op == CAD_ARRAY_INPUT) {
        return p->is_wrt[id - CAD_ELEMENT_BIT];
    }
    return active;
}

static void mark_node(Pull *p, size_t i) {
    const CadNode node = p->graph->nodes[i];
    int active = 0;
    if (node.op < CAD_OP_COUNT && !cad_op_is_flat(node.op)) {
        active = is_active_number(p, node.x) ||
                 (node.y != CAD_NO_ID && is_active_number(p, node.y)) ||
                 (node.z != CAD_NO_ID && is_active_number(p, node.z));
    }
    p->is_active_node[i] = (uint8_t)active;
}

static void mark_array(Pull *p, size_t i) {
    CadGraph *graph = p->graph;
    const CadArray array = graph->arrays[i];
    int active = p->is_active_array[i];
    if (array.op == CAD_ARRAY_PACK) {
        for (uint32_t k = 0; k < array.size && !active; k++) {
            active = is_active_number(p, graph->lists[array.list + k]);
        }
    } else if (array.plan != SIZE_MAX && !cad_op_is_flat(array.op)) {
        CadPlan *plan = cad_graph_plan(graph, &array);
        const CadId former = cad_graph_former(graph, &array);
        const int last = plan->n_views - 1 - cad_array_is_by_index(&array); /* but an index */
        for (int k = last; k >= (plan->n_views > 1 ? 1 : 0) && !active; k--) {
            active = is_active(p, (CadId)cad_plan_view(plan, k)[0]);
        }
        if (former != CAD_NO_ID) {
            active = active || is_active(p, former);
        }
    }
    p->is_active_array[i] = (uint8_t)active;
}

static void mark_active(Pull *p, const CadId *wrt, size_t n_wrt) {
    for (size_t k = 0; k < n_wrt; k++) {
        if (CAD_IS_ELEMENT(wrt[k])) {
            p->is_active_array[cad_graph_array_of(p->graph, wrt[k])] = 1;
            p->is_wrt[wrt[k] - CAD_ELEMENT_BIT] = 1;
        }
    }
    size_t node = 0;
    for (size_t i = 0; i < p->n_arrays; i++) {
        for (; node < p->graph->arrays[i].before; node++) {
            mark_node(p, node);
        }
        mark_array(p, i);
    }
    for (; node < p->n_nodes; node++) {
        mark_node(p, node);
    }
}

/* --- accumulating --- */

static void accumulate(Pull *p, CadId id, CadId cotangent) {
    CadId *place;
    if (cad_graph_is(p->graph, cotangent, 0.0)) {
        return;
    }
    if (CAD_IS_ELEMENT(id)) {
        const uint32_t i = cad_graph_array_of(p->graph, id);
        const CadArray *array = &p->graph->arrays[i];
        if (p->arrays[i].elements == NULL) {
            p->arrays[i].elements = cad_memory_resize(NULL, array->size, sizeof(CadId));
            if (p->arrays[i].elements == NULL) {
                fail(p);
                return;
            }
            memset(p->arrays[i].elements, 0xff, array->size * sizeof(CadId));
        }
        place = &p->arrays[i].elements[id - array->first];
    } else {
        place = &p->nodes[id];
    }
    *place = *place == CAD_NO_ID
                 ? cotangent
                 : cad_graph_apply(p->graph, CAD_OP_add, *place, cotangent, cotangent);
}

static int64_t *append_words(Pull *p, size_t count) {
    const CadStatus status = cad_memory_grow((void **)&p->words, &p->word_capacity,
                                             p->n_words + count, sizeof *p->words);
    if (status != CAD_OK) {
        fail(p);
        return NULL;
    }
    p->n_words += count;
    return p->words + p->n_words - count;
}

/* Room for a list of numbers. */
static CadId *some_room(Pull *p, size_t count) {
    if (count > p->room) {
        CadId *grown = cad_memory_resize(p->some, count, sizeof *grown);
        if (grown == NULL) {
            fail(p);
            return NULL;
        }
        p->some = grown;
        p->room = count;
    }
    return p->some;
}

/* The sum over axes along which the targets stay where they are; the shape that remains. */
static CadNumbers sum_over(CadGraph *graph, int *ndim, int64_t *shape, int64_t *targets,
                           CadNumbers source, int64_t *strides) {
    int64_t kept[CAD_MOST_AXES] = {0}, to[CAD_MOST_AXES], result[CAD_MOST_AXES];
    int count = 0;
    int64_t repeats = 1, size = 1;
    for (int i = 0; i < *ndim; i++) {
        if (targets[i] == 0) {
            repeats *= shape[i];
        } else {
            kept[count] = shape[i];
            to[count++] = targets[i];
        }
    }
    size = (int64_t)cad_strides_in_order(count, kept, result);
    const CadShape over = {graph, *ndim, shape, NULL, NULL, 0};
    const int single = cad_is_single(&over, source);
    CadNumbers sum = source;
    if (single && repeats > 1) {
        sum.first = cad_graph_apply(graph, CAD_OP_multiply, source.first,
                                    cad_graph_constant(graph, (double)repeats), source.first);
    } else if (!single && repeats > 1) {
        int64_t along[CAD_MOST_AXES];
        for (int i = 0, k = 0; i < *ndim; i++) {
            along[i] = targets[i] == 0 ? 0 : result[k++];
        }
        const CadNumbers views[2] = {{0, along}, source};
        sum.first = cad_graph_map(graph, CAD_OP_SUM, (size_t)size, *ndim, shape, 2, views);
    }
    for (int i = 0, k = 0; i < *ndim; i++) {
        if (targets[i] != 0) {
            strides[k] = single ? 0 : repeats > 1 ? result[k] : source.strides[i];
            k++;
        }
    }
    *ndim = count;
    memcpy(shape, kept, (size_t)count * sizeof *shape);
    memcpy(targets, to, (size_t)count * sizeof *targets);
    return (CadNumbers){sum.first, strides};
}

/* Add numbers of a shape to the cotangents of targets of the same shape. */
static void accumulate_view(Pull *p, int ndim, const int64_t *given_shape, CadNumbers target,
                            CadNumbers source) {
    if (!is_active(p, target.first) || p->graph->status != CAD_OK) {
        return;
    }
    int64_t shape[CAD_MOST_AXES], targets[CAD_MOST_AXES], strides[CAD_MOST_AXES];
    memcpy(shape, given_shape, (size_t)ndim * sizeof *shape);
    for (int i = 0; i < ndim; i++) {
        targets[i] = shape[i] == 1 ? 0 : target.strides[i];
    }
    source = sum_over(p->graph, &ndim, shape, targets, source, strides);
    if (ndim == 0) {
        accumulate(p, target.first, source.first);
        return;
    }
    const uint32_t i = cad_graph_array_of(p->graph, target.first);
    int64_t *words = append_words(p, 4 + 3 * (size_t)ndim);
    if (words != NULL) {
        words[0] = p->arrays[i].latest;
        words[1] = ndim;
        words[2] = source.first;
        words[3] = target.first - p->graph->arrays[i].first;
        memcpy(words + 4, shape, (size_t)ndim * sizeof *words);
        memcpy(words + 4 + ndim, source.strides, (size_t)ndim * sizeof *words);
        memcpy(words + 4 + 2 * ndim, targets, (size_t)ndim * sizeof *words);
        p->arrays[i].latest = words - p->words;
    }
}

/* --- adding up --- */

/* The cotangents of an array: of each element, or one for all, or none. */
typedef struct Cotangents {
    CadId first; /* CAD_NO_ID: none */
    int64_t step;
} Cotangents;

static Cotangents none_at_all(void) {
    return (Cotangents){CAD_NO_ID, 0};
}

static CadNumbers copied(CadGraph *graph, int ndim, const int64_t *shape, CadNumbers source,
                         int64_t *in_order) {
    const size_t size = cad_strides_in_order(ndim, shape, in_order);
    const CadNumbers views[2] = {{0, in_order}, source};
    return (CadNumbers){cad_graph_map(graph, CAD_OP_positive, size, ndim, shape, 2, views),
                        in_order};
}

static Cotangents added(Pull *p, Cotangents x, Cotangents y, size_t size) {
    if (x.first == CAD_NO_ID) {
        return y;
    }
    const int64_t length = (int64_t)size, in_order = 1, none = 0;
    const CadShape shape = {p->graph, 1, &length, &in_order, &none, size};
    const CadNumbers sum =
        cad_graph_apply_over(&shape, CAD_OP_add, (CadNumbers){x.first, &x.step},
                             (CadNumbers){y.first, &y.step}, (CadNumbers){y.first, &y.step});
    return (Cotangents){sum.first, sum.strides[0]};
}

/* As an array, to which something can be added; CAD_NO_ID stays. */
static CadId broadcast(Pull *p, Cotangents x, size_t size) {
    if (x.first == CAD_NO_ID || x.step != 0) {
        return x.first;
    }
    const int64_t length = (int64_t)size;
    int64_t in_order;
    return copied(p->graph, 1, &length, (CadNumbers){x.first, &x.step}, &in_order).first;
}

/* Whether the k-th contribution covers its array, in order. */
static int is_whole(const int64_t *words, size_t size) {
    const int ndim = (int)words[1];
    int64_t in_order[CAD_MOST_AXES];
    return words[3] == 0 && cad_strides_in_order(ndim, words + 4, in_order) == size &&
           memcmp(in_order, words + 4 + 2 * ndim, (size_t)ndim * sizeof *words) == 0;
}

static Cotangents whole(Pull *p, const int64_t *words) {
    const int ndim = (int)words[1];
    int64_t shape[CAD_MOST_AXES], strides[CAD_MOST_AXES], in_order[CAD_MOST_AXES];
    memcpy(shape, words + 4, (size_t)ndim * sizeof *words);
    memcpy(strides, words + 4 + ndim, (size_t)ndim * sizeof *words);
    const CadShape over = {p->graph, ndim, shape, NULL, NULL, 0};
    const CadNumbers source = {(CadId)words[2], strides};
    if (cad_is_single(&over, source)) {
        return (Cotangents){source.first, 0};
    }
    cad_strides_in_order(ndim, shape, in_order);
    if (memcmp(in_order, strides, (size_t)ndim * sizeof *strides) == 0) {
        return (Cotangents){source.first, 1};
    }
    return (Cotangents){copied(p->graph, ndim, shape, source, in_order).first, 1};
}

/* What arrives at a number that takes by indices goes back to where each was taken from. */
static CadId add_by_index(Pull *p, CadId former, const int64_t *words, size_t size) {
    const CadArray taken = p->graph->arrays[words[2]];
    const Cotangents g = {(CadId)words[3], words[4]};
    CadPlanCopy plan;
    cad_copy_plan(p->graph, &taken, &plan);
    const CadNumbers views[3] = {
        {(CadId)words[5], plan.strides[1]},
        {g.first + (CadId)g.step * plan.views[0].first,
         g.step == 0 ? zero_strides : plan.strides[0]},
        plan.views[2],
    };
    return cad_graph_by_index(p->graph, CAD_ARRAY_ADD_BY, former, size, plan.ndim, plan.shape,
                              views, plan.length, plan.stride);
}

static CadId add_part(Pull *p, CadId former, const int64_t *words, size_t size) {
    int64_t copy[4 + 3 * CAD_MOST_AXES];
    const int ndim = (int)words[1];
    const int64_t step = words[3];
    if (ndim == BY_INDEX) {
        return add_by_index(p, former, words, size);
    }
    if (ndim < 0) { /* by a list */
        const size_t list = (size_t)words[4], count = (size_t)words[5];
        CadId *places = some_room(p, count);
        if (places == NULL) {
            return former;
        }
        memcpy(places, p->graph->lists + list, count * sizeof *places);
        for (size_t i = 0; i < count; i++) {
            places[i] -= (CadId)words[6];
        }
        return cad_graph_add_at(p->graph, former, size, places,
                                (CadNumbers){(CadId)words[2], &step}, count);
    }
    memcpy(copy, words, (4 + 3 * (size_t)ndim) * sizeof *copy);
    return cad_graph_add_to(p->graph, former, size, ndim, copy + 4,
                            (CadNumbers){(CadId)copy[3], copy + 4 + 2 * ndim},
                            (CadNumbers){(CadId)copy[2], copy + 4 + ndim});
}

/* What single elements have received, added to what is there. */
static Cotangents add_elements(Pull *p, Cotangents sum, const CadId *elements, size_t size) {
    size_t count = 0, same = 0;
    for (size_t i = 0; i < size; i++) {
        count += elements[i] != CAD_NO_ID;
        same += elements[i] == elements[0];
    }
    if (count == size && same == size) {
        return added(p, sum, (Cotangents){elements[0], 0}, size);
    }
    CadId *some = some_room(p, 2 * count);
    if (some == NULL) {
        return sum;
    }
    for (size_t i = 0, k = 0; i < size; i++) {
        if (elements[i] != CAD_NO_ID) {
            some[count + k] = (CadId)i;
            some[k++] = elements[i];
        }
    }
    const CadId packed = cad_graph_pack(p->graph, some, count);
    if (count == size) {
        return added(p, sum, (Cotangents){packed, size > 1}, size);
    }
    const int64_t step = count > 1;
    const CadId former = broadcast(p, sum, size);
    return (Cotangents){
        cad_graph_add_at(p->graph, former, size, some + count, (CadNumbers){packed, &step}, count),
        1};
}

static Cotangents add_up(Pull *p, size_t i) {
    const Received received = p->arrays[i];
    const size_t size = p->graph->arrays[i].size;
    Cotangents sum = none_at_all();
    int parts = 0;
    for (int64_t at = received.latest; at >= 0; at = p->words[at]) {
        const int64_t *words = p->words + at;
        if (words[1] >= 0 && is_whole(words, size)) {
            sum = added(p, sum, whole(p, words), size);
        } else {
            parts++;
        }
    }
    for (int64_t at = received.latest; at >= 0 && parts > 0; at = p->words[at]) {
        const int64_t *words = p->words + at;
        if (words[1] < 0 || !is_whole(words, size)) {
            sum = (Cotangents){add_part(p, broadcast(p, sum, size), words, size), 1};
        }
    }
    if (received.elements != NULL) {
        sum = add_elements(p, sum, received.elements, size);
    }
    return sum;
}

/* --- the operations --- */

static void pull_node(Pull *p, size_t i) {
    const CadNode node = p->graph->nodes[i];
    const CadId g = p->nodes[i];
    if (g == CAD_NO_ID || !p->is_active_node[i]) {
        return;
    }
    const CadId x[3] = {node.x, node.y != CAD_NO_ID ? node.y : node.x,
                        node.z != CAD_NO_ID ? node.z : node.x};
    const int arity = cad_op_info[node.op].arity;
    for (int k = 0; k < arity && p->graph->status == CAD_OK; k++) {
        if (is_active(p, x[k])) {
            const CadId partial =
                cad_graph_partial(p->graph, (CadOp)node.op, k, x[0], x[1], x[2], (CadId)i);
            accumulate(p, x[k], cad_graph_apply(p->graph, CAD_OP_amul, g, partial, g));
        }
    }
}

/* The part of the cotangents of an array that belongs to a view of it. */
static CadNumbers view_of(Cotangents g, CadNumbers view) {
    return g.step == 0 ? (CadNumbers){g.first, zero_strides}
                       : (CadNumbers){g.first + view.first, view.strides};
}

static void pull_row(Pull *p, const CadArray *array, const CadPlanCopy *plan,
                     Cotangents cotangents) {
    int64_t in_order[CAD_MOST_AXES];
    const size_t size = cad_strides_in_order(plan->ndim, plan->shape, in_order);
    const CadShape shape = {p->graph, plan->ndim, plan->shape, in_order, zero_strides, size};
    const CadNumbers g = view_of(cotangents, plan->views[0]);
    const int arity = plan->n_views - 1;
    CadNumbers x[4];
    for (int k = 0; k < 3; k++) {
        x[k] = plan->views[k < arity ? k + 1 : 1];
    }
    x[3] = (CadNumbers){array->first + plan->views[0].first, plan->views[0].strides};
    for (int k = 0; k < arity && p->graph->status == CAD_OK; k++) {
        if (is_active(p, x[k].first)) {
            const CadNumbers partial = cad_graph_partials(&shape, (CadOp)array->op, k, x);
            accumulate_view(p, plan->ndim, plan->shape, x[k],
                            cad_graph_product(&shape, g, partial));
        }
    }
}

/* The adjoint of each operand, by the request of its kind. What a kernel of matrices reads has to
 * be matrices: one cotangent for all is written out. */
static void pull_kind(Pull *p, const CadArray *array, const CadPlanCopy *plan,
                      Cotangents cotangents) {
    const CadEntryKind *const kind = &cad_entry_kinds[array->op];
    const int ndim = plan->ndim, own = ndim - kind->core;
    int64_t g_strides[CAD_MOST_AXES];
    CadNumbers g = view_of(cotangents, plan->views[0]);
    if (cotangents.step == 0 && kind->core > 0) {
        int64_t lengths[CAD_MOST_AXES];
        for (int i = 0; i < ndim; i++) { /* without axes that the result does not have */
            lengths[i] = plan->strides[0][i] == 0 ? 1 : plan->shape[i];
        }
        g = copied(p->graph, ndim, lengths, g, g_strides);
        for (int i = 0; i < ndim; i++) {
            g_strides[i] = plan->strides[0][i] == 0 ? 0 : g_strides[i];
        }
    }
    for (int k = 1; k < plan->n_views && p->graph->status == CAD_OK; k++) {
        const CadPull *const pull = &kind->pull[k - 1];
        if (!is_active(p, plan->views[k].first)) {
            continue;
        }
        if (pull->op == CAD_OP_SUM) { /* which accumulating is */
            accumulate_view(p, ndim, plan->shape, plan->views[k], g);
            continue;
        }
        int64_t shape[CAD_MOST_AXES], lengths[CAD_MOST_AXES];
        int64_t targets[CAD_MOST_AXES], result[CAD_MOST_AXES], operands[2][CAD_MOST_AXES];
        CadNumbers views[3] = {{0, result}};
        cad_requested_axes(pull, ndim, own, plan->shape, shape);
        cad_requested_axes(pull, ndim, own, plan->strides[k], targets);
        for (int j = 1; j < cad_entry_kinds[pull->op].n_views; j++) {
            const CadNumbers of = pull->of[j - 1] == CAD_G ? g : plan->views[pull->of[j - 1]];
            cad_requested_axes(pull, ndim, own, of.strides, operands[j - 1]);
            views[j] = (CadNumbers){of.first, operands[j - 1]};
        }
        for (int i = 0; i < ndim; i++) { /* along others the operation itself adds up */
            lengths[i] = cad_requested_sum(pull, ndim, i, targets) ? 1 : shape[i];
        }
        const size_t size = cad_strides_in_order(ndim, lengths, result);
        for (int i = 0; i < ndim; i++) {
            result[i] = lengths[i] == 1 ? 0 : result[i];
        }
        const CadId made = cad_graph_map(p->graph, pull->op, size, ndim, shape,
                                         cad_entry_kinds[pull->op].n_views, views);
        accumulate_view(p, ndim, lengths, (CadNumbers){plan->views[k].first, targets},
                        (CadNumbers){made, result});
    }
}

/* Whether many numbers are elements of one array; then they count from `*first`. */
static int are_of_one_array(CadGraph *graph, const CadId *ids, size_t count, CadId *first) {
    if (count < LONG_LIST || !CAD_IS_ELEMENT(ids[0])) {
        return 0;
    }
    const CadArray *array = &graph->arrays[cad_graph_array_of(graph, ids[0])];
    for (size_t i = 1; i < count; i++) {
        if (ids[i] - array->first >= array->size) {
            return 0;
        }
    }
    *first = array->first;
    return array->size >= LONG_LIST;
}

/* Whether each follows the one before it at the same distance. */
static int are_even(const CadId *ids, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (ids[i] <= ids[i - 1] || ids[i] - ids[i - 1] != ids[1] - ids[0]) {
            return 0;
        }
    }
    return 1;
}

/* Whether some of its elements are variables themselves. */
static int has_variables(const Pull *p, const CadArray *array) {
    return memchr(p->is_wrt + (array->first - CAD_ELEMENT_BIT), 1, array->size) != NULL;
}

/* Hand on, number by number, what an array that consists of numbers has received. */
static void pull_numbers(Pull *p, const CadArray *array, const CadId *elements, Cotangents g) {
    const uint8_t *is_wrt = p->is_wrt + (array->first - CAD_ELEMENT_BIT);
    for (uint32_t k = 0; k < array->size && p->graph->status == CAD_OK; k++) {
        const CadId id = p->graph->lists[array->list + k];
        const CadId given = elements != NULL ? elements[k] : g.first + (CadId)g.step * k;
        if (given != CAD_NO_ID && !is_wrt[k] && is_active(p, id)) {
            accumulate(p, id, given);
        }
    }
}

static void pull_pack(Pull *p, const CadArray *array, Cotangents g) {
    CadId first;
    const CadId *ids = p->graph->lists + array->list;
    if (!has_variables(p, array) && are_of_one_array(p->graph, ids, array->size, &first)) {
        const int64_t length = array->size, step = (int64_t)ids[1] - ids[0];
        if (are_even(ids, array->size)) {
            accumulate_view(p, 1, &length, (CadNumbers){ids[0], &step},
                            (CadNumbers){g.first, &g.step});
            return;
        }
        const uint32_t i = cad_graph_array_of(p->graph, ids[0]);
        int64_t *words = p->is_active_array[i] ? append_words(p, 7) : NULL;
        if (words != NULL) {
            words[0] = p->arrays[i].latest;
            words[1] = -1;
            words[2] = g.first;
            words[3] = g.step;
            words[4] = (int64_t)array->list;
            words[5] = array->size;
            words[6] = first;
            p->arrays[i].latest = words - p->words;
        }
        return;
    }
    pull_numbers(p, array, NULL, g);
}

static void pull_add_to(Pull *p, const CadArray *array, const CadPlanCopy *plan, Cotangents g) {
    if (plan->extra >= 0) {
        const int64_t length = array->size, one = 1;
        accumulate_view(p, 1, &length, (CadNumbers){(CadId)plan->extra, &one},
                        (CadNumbers){g.first, &g.step});
    }
    const CadNumbers source = plan->views[plan->n_views - 1];
    if (plan->index < 0) {
        accumulate_view(p, plan->ndim, plan->shape, source, view_of(g, plan->views[0]));
        return;
    }
    const size_t count = (size_t)plan->shape[0];
    CadId *ids = some_room(p, count);
    if (ids == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        ids[i] = g.first + (CadId)g.step * p->graph->lists[(size_t)plan->index + i];
    }
    const int64_t one = count > 1;
    accumulate_view(p, 1, plan->shape, source,
                    g.step == 0 ? (CadNumbers){g.first, zero_strides}
                                : (CadNumbers){cad_graph_pack(p->graph, ids, count), &one});
}

static void pull_take(Pull *p, size_t i, const CadPlanCopy *plan, Cotangents g) {
    const CadId source = plan->views[1].first;
    if (!is_active(p, source)) {
        return;
    }
    if (!CAD_IS_ELEMENT(source)) { /* of one number all were taken */
        accumulate_view(p, plan->ndim, plan->shape, plan->views[1], view_of(g, plan->views[0]));
        return;
    }
    const uint32_t of = cad_graph_array_of(p->graph, source);
    int64_t *words = append_words(p, 6);
    if (words != NULL) {
        words[0] = p->arrays[of].latest;
        words[1] = BY_INDEX;
        words[2] = (int64_t)i;
        words[3] = g.first;
        words[4] = g.step;
        words[5] = source - p->graph->arrays[of].first;
        p->arrays[of].latest = words - p->words;
    }
}

static void pull_add_by(Pull *p, const CadArray *array, const CadPlanCopy *plan, Cotangents g) {
    const int64_t length = array->size, one = 1;
    if (plan->extra >= 0) {
        accumulate_view(p, 1, &length, (CadNumbers){(CadId)plan->extra, &one},
                        (CadNumbers){g.first, &g.step});
    }
    if (!is_active(p, plan->views[1].first)) {
        return;
    }
    if (g.step == 0) {
        accumulate_view(p, plan->ndim, plan->shape, plan->views[1],
                        (CadNumbers){g.first, zero_strides});
        return;
    }
    int64_t in_order[CAD_MOST_AXES];
    const size_t size = cad_strides_in_order(plan->ndim, plan->shape, in_order);
    const CadNumbers views[3] = {{0, in_order}, view_of(g, plan->views[0]), plan->views[2]};
    const CadId taken = cad_graph_by_index(p->graph, CAD_ARRAY_TAKE, CAD_NO_ID, size, plan->ndim,
                                           plan->shape, views, plan->length, plan->stride);
    accumulate_view(p, plan->ndim, plan->shape, plan->views[1], (CadNumbers){taken, in_order});
}

/* Whether each of the operands of a call depends on the variables; NULL without memory. */
static uint8_t *active_operands(Pull *p, const CadPlanCopy *plan) {
    const CadGraph *graph = p->graph;
    const CadId first = plan->views[0].first;
    uint8_t *active = cad_memory_zeroed((size_t)plan->shape[0], 1);
    if (active == NULL) {
        fail(p);
        return NULL;
    }
    const CadArray *pack = NULL;
    if (CAD_IS_ELEMENT(first)) {
        const CadArray *array = &graph->arrays[cad_graph_array_of(p->graph, first)];
        pack = array->op == CAD_ARRAY_PACK ? array : NULL;
    }
    for (int64_t i = 0; i < plan->shape[0]; i++) {
        const CadId id = (CadId)(first + i * plan->strides[0][0]);
        active[i] =
            (uint8_t)is_active_number(p, pack != NULL && !p->is_wrt[id - CAD_ELEMENT_BIT]
                                             ? graph->lists[pack->list + (id - pack->first)]
                                             : id);
    }
    return active;
}

static void pull_call(Pull *p, const CadArray *array, const CadPlanCopy *plan, Cotangents g) {
    const int64_t step = plan->shape[0] > 1;
    CadGraph *graph = p->graph;
    CadId made = CAD_NO_ID;
    uint8_t *wanted = active_operands(p, plan);
    if (wanted == NULL) {
        return;
    }
    const CadStatus status =
        graph->calls->pull(graph->owner, (uint32_t)plan->extra, plan->views[0].first, array->first,
                           g.first, g.step, wanted, &made);
    cad_memory_free(wanted);
    if (status != CAD_OK) {
        graph->status = status;
    } else if (made != CAD_NO_ID) {
        accumulate_view(p, 1, plan->shape, plan->views[0], (CadNumbers){made, &step});
    }
}

static void pull_array(Pull *p, size_t i) {
    const CadArray array = p->graph->arrays[i];
    if (!p->is_active_array[i] || array.op == CAD_ARRAY_INPUT ||
        (p->arrays[i].latest < 0 && p->arrays[i].elements == NULL)) {
        return;
    }
    if (array.op == CAD_ARRAY_PACK && p->arrays[i].latest < 0) {
        pull_numbers(p, &array, p->arrays[i].elements, none_at_all());
        return;
    }
    const Cotangents g = add_up(p, i);
    if (g.first == CAD_NO_ID || p->graph->status != CAD_OK) {
        return;
    }
    if (array.op == CAD_ARRAY_PACK) {
        pull_pack(p, &array, g);
        return;
    }
    CadPlanCopy plan;
    cad_copy_plan(p->graph, &array, &plan);
    if (array.op < CAD_OP_COUNT && cad_op_is_kind((CadOp)array.op)) {
        pull_kind(p, &array, &plan, g);
    } else if (array.op == CAD_ARRAY_ADD_TO) {
        pull_add_to(p, &array, &plan, g);
    } else if (array.op == CAD_ARRAY_TAKE) {
        pull_take(p, i, &plan, g);
    } else if (array.op == CAD_ARRAY_ADD_BY) {
        pull_add_by(p, &array, &plan, g);
    } else if (array.op == CAD_ARRAY_CALL) {
        pull_call(p, &array, &plan, g);
    } else {
        pull_row(p, &array, &plan, g);
    }
}

static void walk_back(Pull *p) {
    size_t node = p->n_nodes;
    for (size_t i = p->n_arrays; i-- > 0 && p->graph->status == CAD_OK;) {
        while (node > p->graph->arrays[i].before && p->graph->status == CAD_OK) {
            pull_node(p, --node);
        }
        pull_array(p, i);
    }
    while (node > 0 && p->graph->status == CAD_OK) {
        pull_node(p, --node);
    }
}

static void read_results(Pull *p, const CadId *wrt, size_t n_wrt, CadId *results) {
    size_t known = SIZE_MAX;
    Cotangents g = none_at_all();
    for (size_t k = 0; k < n_wrt && p->graph->status == CAD_OK; k++) {
        CadId found;
        if (!CAD_IS_ELEMENT(wrt[k])) {
            found = p->nodes[wrt[k]];
        } else {
            const uint32_t i = cad_graph_array_of(p->graph, wrt[k]);
            const size_t at = wrt[k] - p->graph->arrays[i].first;
            if (p->arrays[i].latest < 0) {
                found = p->arrays[i].elements == NULL ? CAD_NO_ID : p->arrays[i].elements[at];
            } else {
                if (known != i) {
                    g = add_up(p, i);
                    known = i;
                }
                found = g.first == CAD_NO_ID ? CAD_NO_ID : g.first + (CadId)g.step * (CadId)at;
            }
        }
        results[k] = found == CAD_NO_ID ? cad_graph_constant(p->graph, 0.0) : found;
    }
}

CadStatus cad_graph_pull(CadGraph *graph, const CadId *outputs, const CadId *seeds,
                         size_t n_outputs, const CadId *wrt, size_t n_wrt, CadId *results) {
    Pull pull = {.graph = graph, .n_nodes = graph->n_nodes, .n_arrays = graph->n_arrays};
    Pull *p = &pull;
    p->is_active_node = cad_memory_zeroed(p->n_nodes, 1);
    p->is_active_array = cad_memory_zeroed(p->n_arrays, 1);
    p->is_wrt = cad_memory_zeroed(graph->n_elements, 1);
    p->nodes = cad_memory_resize(NULL, p->n_nodes, sizeof *p->nodes);
    p->arrays = cad_memory_zeroed(p->n_arrays, sizeof *p->arrays);
    if (p->is_active_node == NULL || p->is_active_array == NULL || p->is_wrt == NULL ||
        p->nodes == NULL || p->arrays == NULL) {
        fail(p);
    } else {
        memset(p->nodes, 0xff, p->n_nodes * sizeof *p->nodes);
        for (size_t i = 0; i < p->n_arrays; i++) {
            p->arrays[i].latest = -1;
        }
        mark_active(p, wrt, n_wrt);
        for (size_t k = 0; k < n_outputs; k++) {
            if (is_active(p, outputs[k])) {
                accumulate(p, outputs[k], seeds[k]);
            }
        }
        walk_back(p);
        read_results(p, wrt, n_wrt, results);
    }
    for (size_t i = 0; p->arrays != NULL && i < p->n_arrays; i++) {
        cad_memory_free(p->arrays[i].elements);
    }
    cad_memory_free(p->arrays);
    cad_memory_free(p->nodes);
    cad_memory_free(p->is_active_node);
    cad_memory_free(p->is_active_array);
    cad_memory_free(p->is_wrt);
    cad_memory_free(p->words);
    cad_memory_free(p->some);
    return graph->status;
}
