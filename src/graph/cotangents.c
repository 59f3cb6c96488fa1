/* See cotangents.h. */
#include "graph/cotangents.h"

/* --- accumulating --- */

static void put_last(Pull *p, uint32_t i, Contribution given) {
    const CadStatus status = cad_memory_grow((void **)&p->contributions, &p->contribution_capacity,
                                             p->n_contributions + 1, sizeof *p->contributions);
    if (status != CAD_OK) {
        p->graph->status = CAD_NO_MEMORY;
        return;
    }
    size_t *const latest = &p->latest[i];
    given.next = 0;
    p->contributions[p->n_contributions++] = given;
    *(*latest == 0 ? &p->first[i] : &p->contributions[*latest - 1].next) = p->n_contributions;
    *latest = p->n_contributions;
}

/* Words of a contribution along a view: shape, strides of source and target. SIZE_MAX without
 * memory. */
static size_t note_view(Pull *p, size_t axes, const int64_t *shape, const int64_t *source,
                        const int64_t *target) {
    const size_t at = p->n_words, bytes = axes * sizeof *shape;
    if (cad_memory_grow((void **)&p->words, &p->word_capacity, at + 3 * axes, sizeof *p->words) !=
        CAD_OK) {
        p->graph->status = CAD_NO_MEMORY;
        return SIZE_MAX;
    }
    memcpy(p->words + at, shape, bytes);
    memcpy(p->words + at + axes, source, bytes);
    memcpy(p->words + at + 2 * axes, target, bytes);
    p->n_words += 3 * axes;
    return at;
}

/* An exact graph adds cotangents in the order of a sweep. So contributions to single elements of
 * an array become one before another comes to the array, or to an element behind one to the array.
 */
static void settle_elements(Pull *p, uint32_t i) {
    const CadRecord *record = &p->graph->records[i];
    if (p->graph->optimize || !p->have_any[i] || !cad_record_is_array(record)) {
        return;
    }
    const CadId first = record->of.array.first;
    const size_t size = cad_record_size(record);
    CadId *const elements = p->cotangents + first;
    CadId *const row = cad_graph_room(p->graph, &p->room, size);
    if (row == NULL) {
        return;
    }
    for (size_t k = 0; k < size; k++) {
        row[k] = elements[k] == CAD_NO_ID ? CAD_ZERO : elements[k];
        elements[k] = CAD_NO_ID;
    }
    p->have_any[i] = 0;
    const CadDerivatives given = cad_derivatives_listed(p->graph, row, size);
    const int64_t length = (int64_t)size, one = 1, step = given.step;
    const size_t at = note_view(p, 1, &length, &step, &one);
    if (at != SIZE_MAX) {
        put_last(p, i,
                 (Contribution){.way = ALONG_VIEW,
                                .source = {given.first, 0},
                                .target = first,
                                .at = at,
                                .count = 1});
    }
}

void cad_pull_add(Pull *p, CadId id, CadId cotangent) {
    CadId *place = &p->cotangents[id];
    if (cad_graph_is(p->graph, cotangent, 0.0)) {
        return;
    }
    const uint32_t i = cad_graph_record_of(p->graph, id);
    if (*place != CAD_NO_ID && p->latest[i] != 0) {
        settle_elements(p, i);
    }
    p->have_any[i] = 1;
    *place = *place == CAD_NO_ID
                 ? cotangent
                 : cad_graph_apply(p->graph, CAD_OP_add, *place, cotangent, cotangent);
}

void cad_pull_contribute(Pull *p, Contribution given) {
    const uint32_t i = cad_graph_record_of(p->graph, given.target);
    settle_elements(p, i);
    put_last(p, i, given);
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
    const CadShape over = {graph, *ndim, shape, NULL, 0};
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

void cad_pull_add_scaled(Pull *p, int ndim, const int64_t *given_shape, CadNumbers target,
                         CadNumbers source, CadNumbers factor) {
    if (!cad_pull_is_active(p, target.first) || p->graph->status != CAD_OK) {
        return;
    }
    int64_t shape[CAD_MOST_AXES], targets[CAD_MOST_AXES], strides[CAD_MOST_AXES], repeats = 1;
    memcpy(shape, given_shape, (size_t)ndim * sizeof *shape);
    for (int i = 0; i < ndim; i++) {
        targets[i] = shape[i] == 1 ? 0 : target.strides[i];
        repeats *= targets[i] == 0 ? shape[i] : 1;
    }
    if (repeats > 1 && !p->graph->optimize &&
        cad_record_is_array(cad_graph_record(p->graph, target.first))) {
        memcpy(strides, source.strides, (size_t)ndim * sizeof *strides); /* row by row */
    } else {
        source = sum_over(p->graph, &ndim, shape, targets, source, strides);
    }
    int64_t in_order[CAD_MOST_AXES];
    const size_t size = cad_strides_in_order(ndim, shape, in_order);
    const CadShape summed = {p->graph, ndim, shape, in_order, size};
    const CadNumbers scaled = cad_graph_is(p->graph, factor.first, 1.0)
                                  ? source
                                  : cad_graph_product(&summed, source, factor);
    if (ndim == 0) {
        cad_pull_add(p, target.first, scaled.first);
        return;
    }
    const size_t at = note_view(p, (size_t)ndim, shape, scaled.strides, targets);
    if (at != SIZE_MAX) {
        cad_pull_contribute(p, (Contribution){.way = ALONG_VIEW,
                                              .source = {scaled.first, 0},
                                              .target = target.first,
                                              .at = at,
                                              .count = (size_t)ndim});
    }
}

void cad_pull_add_view(Pull *p, int ndim, const int64_t *shape, CadNumbers target,
                       CadNumbers source) {
    const CadNumbers one = {cad_graph_constant(p->graph, 1.0), cad_no_strides};
    cad_pull_add_scaled(p, ndim, shape, target, source, one);
}

/* --- adding up --- */

/* A contribution along a view, taken apart. */
typedef struct Along {
    int ndim;
    const int64_t *shape, *targets;
    CadNumbers source;
} Along;

static Along along_view(const Pull *p, const Contribution *given) {
    const int64_t *const words = p->words + given->at;
    return (Along){(int)given->count,
                   words,
                   words + 2 * given->count,
                   {given->source.first, words + given->count}};
}

/* Whether a contribution covers its array: in order, or with axes exchanged. */
static int is_whole(const Pull *p, const Contribution *given, CadId first, size_t size) {
    if (given->way != ALONG_VIEW || given->target != first) {
        return 0;
    }
    const Along along = along_view(p, given);
    size_t covered = 1;
    for (int n = along.ndim; n > 0; n--) {
        int axis = p->graph->optimize ? along.ndim - 1 : n - 1;
        while (p->graph->optimize && axis > 0 && along.targets[axis] != (int64_t)covered) {
            axis--;
        }
        covered *= along.targets[axis] == (int64_t)covered ? (size_t)along.shape[axis] : 0;
    }
    return covered == size;
}

static CadDerivatives whole(Pull *p, const Contribution *given) {
    const Along along = along_view(p, given);
    int64_t in_order[CAD_MOST_AXES];
    const size_t size = cad_strides_in_order(along.ndim, along.shape, in_order);
    const CadShape shape = {p->graph, along.ndim, along.shape, in_order, size};
    return cad_derivatives_in_order(&shape, (CadNumbers){0, along.targets}, along.source);
}

/* What arrives at the places of an array in another order, each once: the same numbers in its
 * order. CAD_NO_ID if places are left out, or met again. */
static CadId put_in_order(Pull *p, const Contribution *given, CadId first, size_t size) {
    if (given->count != size || given->source.step == 0 || !p->graph->optimize) {
        return CAD_NO_ID;
    }
    CadId *const ids = cad_graph_room(p->graph, &p->room, size);
    if (ids == NULL) {
        return CAD_NO_ID;
    }
    for (size_t i = 0; i < size; i++) {
        ids[i] = CAD_NO_ID;
    }
    for (size_t i = 0; i < size; i++) {
        CadId *const place = &ids[p->graph->lists[given->at + i] - first];
        if (*place != CAD_NO_ID) {
            return CAD_NO_ID;
        }
        *place = given->source.first + (CadId)i;
    }
    return cad_graph_pack(p->graph, ids, size);
}

enum { FEW_STRETCHES = 4, LONG_STRETCH = 32 };

/* How many stretches of places there are, side by side as what arrives there; more than a few,
 * too, where they are short. */
static size_t stretches(const Pull *p, const Contribution *given) {
    const CadId *const places = p->graph->lists + given->at;
    size_t n = 1;
    for (size_t i = 1; i < given->count && n <= FEW_STRETCHES; i++) {
        n += places[i] != places[i - 1] + 1;
    }
    return given->source.step == 1 && given->count >= n * LONG_STRETCH ? n : FEW_STRETCHES + 1;
}

/* Add what arrives at a few long stretches of an array, as of one that was rolled. */
static CadId add_stretches(Pull *p, CadId former, const Contribution *given, CadId first,
                           size_t size) {
    static const int64_t one = 1;
    for (size_t i = 0; i < given->count && p->graph->status == CAD_OK;) {
        const CadId *const places = p->graph->lists + given->at;
        const CadId place = places[i] - first;
        int64_t length = 1;
        while (i + (size_t)length < given->count &&
               places[i + (size_t)length] == places[i] + (CadId)length) {
            length++;
        }
        former = cad_graph_make(
            p->graph, p->graph,
            &(CadMade){.kind = CAD_RECORD_ADD_TO,
                       .former = former,
                       .size = size,
                       .ndim = 1,
                       .shape = &length,
                       .n_views = 2,
                       .views = {{place, &one}, {given->source.first + (CadId)i, &one}}});
        i += (size_t)length;
    }
    return former;
}

/* `first` is the first number of the array. What arrives at a number that takes by indices goes
 * back to where each was taken from. */
static CadId add_part(Pull *p, CadId former, const Contribution *given, CadId first, size_t size) {
    CadGraph *const graph = p->graph;
    const int64_t count = (int64_t)given->count;
    CadId target = given->target - first;
    CadAxes axes;
    CadMade made = {.kind = CAD_RECORD_ADD_AT, .ndim = 1, .shape = &count, .n_views = 1};
    if (given->way == AT_INDICES) {
        cad_graph_look(graph, given->at, axes, &made);
        made.kind = CAD_RECORD_ADD_BY;
        const CadNumbers source = cad_derivatives_of_view(given->source, made.views[0]);
        made.views[0] = (CadNumbers){target, made.views[1].strides};
        made.views[1] = source;
    } else if (given->way == AT_PLACES) {
        const CadId ordered =
            former == CAD_NO_ID ? put_in_order(p, given, first, size) : CAD_NO_ID;
        if (ordered != CAD_NO_ID) {
            return ordered;
        }
        if (graph->optimize && stretches(p, given) <= FEW_STRETCHES) {
            return add_stretches(p, former, given, first, size);
        }
        CadId *places = cad_graph_room(graph, &p->room, given->count);
        for (size_t i = 0; i < given->count && places != NULL; i++) {
            places[i] = graph->lists[given->at + i] - given->target;
        }
        made.places = places;
        made.views[0] = cad_derivatives_in_row(given->source);
    } else {
        const Along along = along_view(p, given);
        made = (CadMade){.kind = CAD_RECORD_ADD_TO,
                         .ndim = along.ndim,
                         .shape = along.shape,
                         .n_views = 2,
                         .views = {{target, along.targets}, along.source}};
    }
    made.former = former;
    made.size = size;
    return graph->status == CAD_OK ? cad_graph_make(graph, graph, &made) : former;
}

/* What single elements have received, added to what is there. */
static CadDerivatives add_elements(Pull *p, CadDerivatives sum, const CadId *elements,
                                   size_t size) {
    size_t count = 0, same = 0;
    for (size_t i = 0; i < size; i++) {
        count += elements[i] != CAD_NO_ID;
        same += elements[i] == elements[0];
    }
    if (count == size && same == size) {
        return cad_derivatives_sum(p->graph, sum, (CadDerivatives){elements[0], 0}, size);
    }
    CadId *some = cad_graph_room(p->graph, &p->room, 2 * count);
    if (some == NULL) {
        return sum;
    }
    for (size_t i = 0, k = 0; i < size; i++) {
        if (elements[i] != CAD_NO_ID) {
            some[count + k] = (CadId)i;
            some[k++] = elements[i];
        }
    }
    const CadDerivatives packed = {cad_graph_pack(p->graph, some, count), count > 1};
    if (count == size) {
        return cad_derivatives_sum(p->graph, sum, packed, size);
    }
    const int64_t length = (int64_t)count;
    const CadMade made = {.kind = CAD_RECORD_ADD_AT,
                          .former = cad_derivatives_apart(p->graph, sum, size).first,
                          .size = size,
                          .places = some + count,
                          .ndim = 1,
                          .shape = &length,
                          .n_views = 1,
                          .views = {cad_derivatives_in_row(packed)}};
    return (CadDerivatives){cad_graph_make(p->graph, p->graph, &made), 1};
}

/* Whether two products go to the same numbers in the same way, and are laid out alike. */
static int are_alike(const Pull *p, const Contribution *x, const Contribution *y) {
    CadAxes of_x, of_y;
    CadMade a, b;
    return y->way == ALONG_VIEW && x->target == y->target && x->count == y->count &&
           memcmp(p->words + x->at, p->words + y->at, 3 * x->count * sizeof *p->words) == 0 &&
           cad_graph_is_product(p->graph, x->source.first, of_x, &a) &&
           cad_graph_is_product(p->graph, y->source.first, of_y, &b) && a.shape[0] == b.shape[0] &&
           a.shape[2] == b.shape[2] && a.op == b.op &&
           memcmp(of_x[0], of_y[0], 3 * sizeof of_x[0][0]) == 0;
}

/* Have products that go where one of them does be one: the others are dropped. */
static void collect_alike(Pull *p, Contribution *one) {
    Contribution *const all = p->contributions;
    size_t n = 0;
    for (size_t k = one->next; k > 0; k = all[k - 1].next) {
        n += (size_t)are_alike(p, one, &all[k - 1]);
    }
    CadId *const products = n > 0 ? cad_graph_room(p->graph, &p->room, n + 1) : NULL;
    if (products == NULL) {
        return;
    }
    size_t m = n; /* as they were recorded: a sweep meets the last one first */
    products[m] = one->source.first;
    for (size_t k = one->next; k > 0; k = all[k - 1].next) {
        if (are_alike(p, one, &all[k - 1])) {
            products[--m] = all[k - 1].source.first;
        }
    }
    const CadId sum = cad_graph_add_products(p->graph, products, n + 1);
    if (sum == CAD_NO_ID) {
        return;
    }
    for (size_t *next = &one->next; *next > 0;) {
        Contribution *const other = &all[*next - 1];
        if (are_alike(p, one, other)) {
            *next = other->next;
        } else {
            next = &other->next;
        }
    }
    one->source.first = sum;
}

/* Products of matrices that are added to the same numbers of an array become one. */
static void collect_products(Pull *p, size_t i) {
    enum { MOST_TARGETS = 8 };
    int n = 0;
    for (size_t k = p->first[i]; k > 0 && n < MOST_TARGETS && p->graph->optimize;) {
        Contribution *const given = &p->contributions[k - 1];
        if (are_alike(p, given, given)) {
            collect_alike(p, given);
            n++;
        }
        k = given->next;
    }
}

CadDerivatives cad_pull_sum_of_part(Pull *p, size_t i, CadId first, size_t size) {
    CadDerivatives sum = none;
    collect_products(p, i);
    for (int turn = p->graph->optimize ? 2 : 1; turn > 0;
         turn--) { /* whole ones cost less first */
        for (size_t k = p->first[i]; k > 0; k = p->contributions[k - 1].next) {
            const Contribution *given = &p->contributions[k - 1];
            const int covers_all = is_whole(p, given, first, size);
            if (p->graph->optimize && covers_all != (turn == 2)) {
                continue;
            }
            if (covers_all) {
                sum = cad_derivatives_sum(p->graph, sum, whole(p, given), size);
            } else {
                const CadDerivatives former = cad_derivatives_apart(p->graph, sum, size);
                sum = (CadDerivatives){add_part(p, former.first, given, first, size), 1};
            }
        }
    }
    return p->have_any[i] ? add_elements(p, sum, p->cotangents + first, size) : sum;
}

CadDerivatives cad_pull_sum(Pull *p, size_t i) {
    return cad_pull_sum_of_part(p, i, cad_graph_first(p->graph, i),
                                cad_record_size(&p->graph->records[i]));
}

int cad_pull_is_within(const Pull *p, size_t i, CadId begin, CadId end) {
    const CadId first = cad_graph_first(p->graph, i);
    const CadId last = first + cad_record_size(&p->graph->records[i]);
    for (CadId id = first; id < last && p->have_any[i]; id++) {
        if (p->cotangents[id] != CAD_NO_ID && (id < begin || id >= end)) {
            return 0;
        }
    }
    for (size_t k = p->first[i]; k > 0; k = p->contributions[k - 1].next) {
        const Contribution *const given = &p->contributions[k - 1];
        if (given->way != ALONG_VIEW) {
            return 0;
        }
        const Along along = along_view(p, given);
        const CadMade over = {.ndim = along.ndim, .shape = along.shape};
        const CadReach reach = cad_made_reach(&over, (CadNumbers){given->target, along.targets});
        if (reach.low < begin || reach.high >= end) {
            return 0;
        }
    }
    return 1;
}
