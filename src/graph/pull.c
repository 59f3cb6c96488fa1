/* Reverse mode over a graph: the cotangents are further numbers of it.
 *
 * What a number propagates is added, number by number, where single ones take part, and array by
 * array where arrays do: of an array what was handed to it is kept as a list of contributions,
 * which are added up when the walk backwards arrives at it. */
#include "graph/inner.h"
#include "kernels/kernels.h"

#include <math.h>

#include "table/codes.h"

enum { LONG_LIST = 32 };

/* What an array has received as a whole. */
typedef struct Contribution {
    size_t next; /* the one that came next to the same array, counted from 1; 0: none has */
    enum { ALONG_VIEW, AT_PLACES, AT_INDICES } way;
    CadDerivatives source; /* along a view its first number alone counts */
    CadId target; /* the first number that it goes to; AT_PLACES the one that places count from */
    size_t at;    /* ALONG_VIEW: in `words`, shape, strides of source and target;
                     AT_PLACES: in the lists of the graph; AT_INDICES: the record that takes */
    size_t count; /* of axes, or of places */
} Contribution;

typedef struct Pull {
    CadGraph *graph;
    size_t n_records; /* that are walked over: later ones are results */
    CadActive active;
    CadId *cotangents;   /* of numbers by themselves, CAD_NO_ID where nothing has arrived */
    uint8_t *have_any;   /* whether anything has arrived at a number of a record by itself */
    uint8_t *is_rounded; /* whether a record is read by what rounds it */
    /* Of each record: the first and the latest contribution, counted from 1, or 0. */
    size_t *first, *latest;
    Contribution *contributions;
    size_t n_contributions, contribution_capacity;
    int64_t *words;
    size_t n_words, word_capacity;
    CadRoom room;
} Pull;

static const CadDerivatives none = {CAD_NO_ID, 0};

static int is_active(const Pull *p, CadId id) {
    return cad_is_active(p->graph, &p->active, id);
}

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

/* Where a graph keeps to what was recorded, cotangents are added in the order of a sweep. So what
 * single elements of an array have received is one contribution before another one to the array
 * comes, or to the same element behind one to the array. */
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

static void accumulate(Pull *p, CadId id, CadId cotangent) {
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

static void contribute(Pull *p, Contribution given) {
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

/* Add numbers of a shape, times a factor, to the cotangents of targets of the same shape. Numbers
 * that are added up have the factor behind the sum. */
static void accumulate_scaled(Pull *p, int ndim, const int64_t *given_shape, CadNumbers target,
                              CadNumbers source, CadNumbers factor) {
    if (!is_active(p, target.first) || p->graph->status != CAD_OK) {
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
        accumulate(p, target.first, scaled.first);
        return;
    }
    const size_t at = note_view(p, (size_t)ndim, shape, scaled.strides, targets);
    if (at != SIZE_MAX) {
        contribute(p, (Contribution){.way = ALONG_VIEW,
                                     .source = {scaled.first, 0},
                                     .target = target.first,
                                     .at = at,
                                     .count = (size_t)ndim});
    }
}

static void accumulate_view(Pull *p, int ndim, const int64_t *shape, CadNumbers target,
                            CadNumbers source) {
    const CadNumbers one = {cad_graph_constant(p->graph, 1.0), cad_no_strides};
    accumulate_scaled(p, ndim, shape, target, source, one);
}

/* --- adding up --- */

static CadNumbers copied(CadGraph *graph, int ndim, const int64_t *shape, CadNumbers source,
                         int64_t *in_order) {
    const size_t size = cad_strides_in_order(ndim, shape, in_order);
    if (size == 1) {
        return (CadNumbers){source.first, in_order};
    }
    const CadNumbers views[2] = {{0, in_order}, source};
    return (CadNumbers){cad_graph_map(graph, CAD_OP_positive, size, ndim, shape, 2, views),
                        in_order};
}

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

/* Whether a contribution covers its array, in order. */
static int is_whole(const Pull *p, const Contribution *given, CadId first, size_t size) {
    if (given->way != ALONG_VIEW) {
        return 0;
    }
    const Along along = along_view(p, given);
    int64_t in_order[CAD_MOST_AXES];
    return given->target == first &&
           cad_strides_in_order(along.ndim, along.shape, in_order) == size &&
           memcmp(in_order, along.targets, given->count * sizeof *in_order) == 0;
}

static CadDerivatives whole(Pull *p, const Contribution *given) {
    const Along along = along_view(p, given);
    int64_t in_order[CAD_MOST_AXES];
    const size_t size = cad_strides_in_order(along.ndim, along.shape, in_order);
    const CadShape shape = {p->graph, along.ndim, along.shape, in_order, size};
    return cad_derivatives_in_order(&shape, (CadNumbers){0, in_order}, along.source);
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

/* The sum of all contributions to some numbers of an array; the others have received none. */
static CadDerivatives add_up_part(Pull *p, size_t i, CadId first, size_t size) {
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

static CadDerivatives add_up(Pull *p, size_t i) {
    return add_up_part(p, i, cad_graph_first(p->graph, i), cad_record_size(&p->graph->records[i]));
}

/* --- the operations --- */

/* Whether `offset` is a sum of so many strides, from `axis` on, as lead from one element of a view
 * to another. Strides stand in falling order, each at least the sum of what follows, as in arrays.
 */
static int is_reached(const CadMade *made, const int64_t *strides, int axis, int64_t offset) {
    if (axis == made->ndim) {
        return offset == 0;
    }
    const int64_t most = made->shape[axis] - 1, step = strides[axis];
    const int64_t down = step == 0 ? 0 : offset / step;
    for (int64_t k = down - 1; k <= down + 1; k++) {
        if (k >= -most && k <= most && is_reached(made, strides, axis + 1, offset - k * step)) {
            return 1;
        }
    }
    return 0;
}

/* Whether a number may stand in both of two views. */
static int may_overlap(const CadMade *made, CadNumbers x, CadNumbers y) {
    const CadReach a = cad_made_reach(made, x), b = cad_made_reach(made, y);
    int is_nested = memcmp(x.strides, y.strides, (size_t)made->ndim * sizeof *x.strides) == 0;
    if (a.high < b.low || b.high < a.low) {
        return 0;
    }
    int64_t extent = 0;
    for (int axis = made->ndim - 1; axis >= 0; axis--) {
        is_nested &= x.strides[axis] > extent;
        extent += x.strides[axis] * (made->shape[axis] - 1);
    }
    return !is_nested || is_reached(made, x.strides, 0, (int64_t)x.first - (int64_t)y.first);
}

/* Whether something has arrived at an array before, when there were so many contributions, or may
 * have: then the order is seen in which two others are added. */
static int may_have_any(const Pull *p, CadId id, size_t n_before) {
    const uint32_t record = cad_graph_record_of(p->graph, id);
    return p->graph->records[record].kind == CAD_RECORD_INPUT || p->have_any[record] ||
           (p->first[record] > 0 && p->first[record] <= n_before);
}

/* Whether elements of one array are added to by two operands that are not the same ones, and that
 * is seen. */
static int adds_sequentially(const Pull *p, const CadMade *made, CadNumbers x, CadNumbers y,
                             size_t n_before) {
    return is_active(p, x.first) && is_active(p, y.first) &&
           cad_graph_record_of(p->graph, x.first) == cad_graph_record_of(p->graph, y.first) &&
           (x.first != y.first ||
            memcmp(x.strides, y.strides, (size_t)made->ndim * sizeof *x.strides) != 0) &&
           may_have_any(p, x.first, n_before) && may_overlap(made, x, y);
}

enum { MANY = 2 * CAD_TILE };

/* Derivatives of many numbers in single precision are rounded, too: a partial and a product once
 * each, whatever a partial is computed of, so that it keeps its digits. */
static CadNumbers rounded(const CadShape *shape, int is_rounded, CadNumbers x) {
    const CadRecord *const record = cad_graph_record(shape->graph, x.first);
    return is_rounded && !cad_is_single(shape, x) && !cad_graph_has_floats(shape->graph, record)
               ? cad_graph_apply_over(shape, CAD_OP_single, x, x, x)
               : x;
}

static void pull_row(Pull *p, size_t i, const CadMade *made, CadDerivatives cotangents) {
    int64_t in_order[CAD_MOST_AXES];
    const CadShape shape = cad_made_shape(p->graph, made, in_order);
    const int is_large = p->graph->optimize && shape.size >= MANY;
    const int rounds = is_large && (made->op == CAD_OP_single || p->is_rounded[i]);
    const CadNumbers g =
        rounded(&shape, rounds, cad_derivatives_of_view(cotangents, made->views[0]));
    if (is_large && made->op == CAD_OP_single) {
        p->is_rounded[cad_graph_record_of(p->graph, made->views[1].first)] = 1;
    }
    CadNumbers x[4];
    const int arity = cad_made_operands(made, x);
    const size_t n_before = p->n_contributions;
    for (int k = 0; k < arity && p->graph->status == CAD_OK; k++) {
        if (is_active(p, x[k].first)) {
            p->graph->makes_partials = !p->graph->optimize;
            const CadNumbers partial =
                rounded(&shape, rounds, cad_graph_partials(&shape, made->op, k, x));
            p->graph->makes_partials = 0;
            for (int j = 0; j < k && made->ndim > 0 && !p->graph->optimize; j++) {
                p->graph->adds_sequentially |= adds_sequentially(p, made, x[j], x[k], n_before);
            }
            double c;
            if (p->graph->optimize && cad_is_single(&shape, partial) &&
                cad_graph_is_constant(p->graph, partial.first, &c) && isfinite(c)) {
                accumulate_scaled(p, made->ndim, made->shape, x[k], g, partial);
            } else {
                accumulate_view(p, made->ndim, made->shape, x[k],
                                rounded(&shape, rounds, cad_graph_product(&shape, g, partial)));
            }
        }
    }
}

/* The adjoint of each operand, by the request of its kind. What a kernel of matrices reads has to
 * be matrices: one cotangent for all is written out. */
static void pull_kind(Pull *p, const CadMade *made, CadDerivatives cotangents) {
    const CadEntryKind *const kind = &cad_entry_kinds[made->op];
    const int ndim = made->ndim, own = ndim - kind->core;
    const size_t n_before = p->n_contributions;
    int64_t g_strides[CAD_MOST_AXES];
    CadNumbers g = cad_derivatives_of_view(cotangents, made->views[0]);
    if (cotangents.step == 0 && kind->core > 0) {
        int64_t lengths[CAD_MOST_AXES];
        for (int i = 0; i < ndim; i++) { /* without axes that the result does not have */
            lengths[i] = made->views[0].strides[i] == 0 ? 1 : made->shape[i];
        }
        g = copied(p->graph, ndim, lengths, g, g_strides);
        for (int i = 0; i < ndim; i++) {
            g_strides[i] = made->views[0].strides[i] == 0 ? 0 : g_strides[i];
        }
    }
    for (int k = 1; k < made->n_views && p->graph->status == CAD_OK; k++) {
        const CadPull *const pull = &kind->pull[k - 1];
        if (!is_active(p, made->views[k].first)) {
            continue;
        }
        if (pull->op == CAD_OP_SUM) { /* which accumulating is */
            accumulate_view(p, ndim, made->shape, made->views[k], g);
            continue;
        }
        int64_t shape[CAD_MOST_AXES], lengths[CAD_MOST_AXES];
        int64_t targets[CAD_MOST_AXES], result[CAD_MOST_AXES], operands[2][CAD_MOST_AXES];
        CadNumbers views[3] = {{0, result}};
        cad_requested_axes(pull, ndim, own, made->shape, shape);
        cad_requested_axes(pull, ndim, own, made->views[k].strides, targets);
        for (int j = 1; j < cad_entry_kinds[pull->op].n_views; j++) {
            const CadNumbers of = pull->of[j - 1] == CAD_G ? g : made->views[pull->of[j - 1]];
            cad_requested_axes(pull, ndim, own, of.strides, operands[j - 1]);
            views[j] = (CadNumbers){of.first, operands[j - 1]};
        }
        int adds_up = 0;
        for (int i = 0; i < ndim; i++) { /* along others the operation itself adds up */
            lengths[i] = cad_requested_sum(pull, ndim, i, targets) ? 1 : shape[i];
            adds_up |= lengths[i] < shape[i];
        }
        p->graph->adds_sequentially |= /* a sweep adds each product to what is there */
            adds_up && !p->graph->optimize && may_have_any(p, made->views[k].first, n_before);
        const size_t size = cad_strides_in_order(ndim, lengths, result);
        for (int i = 0; i < ndim; i++) {
            result[i] = lengths[i] == 1 ? 0 : result[i];
        }
        const CadShape over = {p->graph, ndim, shape, result, size};
        accumulate_view(
            p, ndim, lengths, (CadNumbers){made->views[k].first, targets},
            cad_graph_kind_over(&over, pull->op, cad_entry_kinds[pull->op].n_views, views));
    }
}

/* The array that many numbers are elements of, or NULL. */
static const CadRecord *array_of_all(CadGraph *graph, const CadId *ids, size_t count) {
    const CadRecord *record = cad_graph_record(graph, ids[0]);
    if (count < LONG_LIST || cad_record_size(record) < LONG_LIST) {
        return NULL;
    }
    for (size_t i = 1; i < count; i++) {
        if (ids[i] - record->of.array.first >= record->of.array.size) {
            return NULL;
        }
    }
    return record;
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

/* How many numbers from the first one on follow each other in one array. */
static size_t length_of_stretch(CadGraph *graph, const CadId *ids, size_t count) {
    const CadRecord *const record = cad_graph_record(graph, ids[0]);
    const size_t behind = cad_record_is_array(record)
                              ? record->of.array.size - (ids[0] - record->of.array.first)
                              : 1;
    const size_t most = behind < count ? behind : count;
    size_t n = 1;
    while (n < most && ids[n] == ids[0] + n) {
        n++;
    }
    return n;
}

/* Hand on what an array that consists of numbers has received: along long stretches as it is, else
 * number by number. */
static void pull_numbers(Pull *p, const CadMade *made, const CadId *elements, CadDerivatives g) {
    const uint8_t *is_variable = p->active.variables + made->first;
    const int has_variables = memchr(is_variable, 1, made->size) != NULL;
    for (size_t k = 0; k < made->size && p->graph->status == CAD_OK;) {
        const CadId *const ids = p->graph->lists + made->list + k, id = ids[0];
        const size_t left = made->size - k;
        const size_t n = elements != NULL || has_variables || left < LONG_LIST
                             ? 1
                             : length_of_stretch(p->graph, ids, left);
        if (n >= LONG_LIST) {
            const int64_t length = (int64_t)n, one = 1;
            const CadDerivatives given = {g.first + g.step * (CadId)k, g.step};
            accumulate_view(p, 1, &length, (CadNumbers){id, &one}, cad_derivatives_in_row(given));
            k += n;
            continue;
        }
        const CadId given = elements != NULL ? elements[k] : g.first + g.step * (CadId)k;
        if (given != CAD_NO_ID && !is_variable[k] && is_active(p, id)) {
            accumulate(p, id, given);
        }
        k++;
    }
}

static void pull_pack(Pull *p, const CadMade *made, CadDerivatives g) {
    const CadId *ids = p->graph->lists + made->list;
    const int has_variables = memchr(p->active.variables + made->first, 1, made->size) != NULL;
    const CadRecord *of = has_variables ? NULL : array_of_all(p->graph, ids, made->size);
    if (of == NULL) {
        pull_numbers(p, made, NULL, g);
    } else if (are_even(ids, made->size)) {
        const int64_t length = (int64_t)made->size, step = (int64_t)ids[1] - ids[0];
        accumulate_view(p, 1, &length, (CadNumbers){ids[0], &step}, cad_derivatives_in_row(g));
    } else if (is_active(p, ids[0])) {
        contribute(p, (Contribution){.way = AT_PLACES,
                                     .source = g,
                                     .target = of->of.array.first,
                                     .at = made->list,
                                     .count = made->size});
    }
}

static void pull_add_at(Pull *p, const CadMade *made, CadDerivatives g) {
    const size_t count = (size_t)made->shape[0];
    CadId *ids = cad_graph_room(p->graph, &p->room, count);
    if (ids == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        ids[i] = g.first + g.step * p->graph->lists[made->list + i];
    }
    const CadDerivatives found =
        g.step == 0 ? g : (CadDerivatives){cad_graph_pack(p->graph, ids, count), count > 1};
    accumulate_view(p, 1, made->shape, made->views[0], cad_derivatives_in_row(found));
}

static void pull_take(Pull *p, size_t i, const CadMade *made, CadDerivatives g) {
    const CadNumbers source = made->views[1];
    if (!is_active(p, source.first)) {
        return;
    }
    if (!cad_record_is_array(cad_graph_record(p->graph, source.first))) { /* all were taken */
        accumulate_view(p, made->ndim, made->shape, source,
                        cad_derivatives_of_view(g, made->views[0]));
        return;
    }
    contribute(p, (Contribution){.way = AT_INDICES, .source = g, .target = source.first, .at = i});
}

static void pull_add_by(Pull *p, const CadMade *made, CadDerivatives g) {
    if (!is_active(p, made->views[1].first)) {
        return;
    }
    int64_t in_order[CAD_MOST_AXES];
    const size_t size = cad_strides_in_order(made->ndim, made->shape, in_order);
    CadNumbers taken = {g.first, cad_no_strides};
    if (g.step != 0) {
        CadMade taking = *made;
        taking.kind = CAD_RECORD_TAKE;
        taking.former = CAD_NO_ID;
        taking.size = size;
        taking.views[0] = (CadNumbers){0, in_order};
        taking.views[1] = cad_derivatives_of_view(g, made->views[0]);
        taken = (CadNumbers){cad_graph_make(p->graph, p->graph, &taking), in_order};
    }
    accumulate_view(p, made->ndim, made->shape, made->views[1], taken);
}

/* Whether each of the operands of a call depends on the variables; NULL without memory. */
static uint8_t *active_operands(Pull *p, const CadMade *made) {
    CadGraph *graph = p->graph;
    const CadId first = made->views[0].first;
    uint8_t *active = cad_memory_zeroed((size_t)made->shape[0], 1);
    if (active == NULL) {
        p->graph->status = CAD_NO_MEMORY;
        return NULL;
    }
    const CadRecord *record = cad_graph_record(graph, first);
    for (int64_t i = 0; i < made->shape[0]; i++) {
        CadId id = (CadId)(first + i * made->views[0].strides[0]);
        if (record->kind == CAD_RECORD_PACK && !p->active.variables[id]) {
            id = cad_graph_packed(graph, record)[id - record->of.array.first];
        }
        active[i] = (uint8_t)cad_is_active_number(graph, &p->active, id);
    }
    return active;
}

static void pull_call(Pull *p, const CadMade *made, CadDerivatives g) {
    CadGraph *graph = p->graph;
    CadId found = CAD_NO_ID;
    uint8_t *wanted = active_operands(p, made);
    if (wanted == NULL) {
        return;
    }
    const CadStatus status =
        graph->calls->pull(graph->owner, graph, made->number, made->views[0].first, made->first,
                           g.first, g.step, wanted, &found);
    cad_memory_free(wanted);
    if (status != CAD_OK) {
        graph->status = status;
    } else if (found != CAD_NO_ID) {
        accumulate_view(p, 1, made->shape, made->views[0],
                        cad_derivatives_in_row((CadDerivatives){found, made->shape[0] > 1}));
    }
}

/* --- recurrences --- */

/* Whether nothing has arrived at an array but at numbers from `begin` up to `end`. */
static int has_nothing_but(const Pull *p, size_t i, CadId begin, CadId end) {
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

/* What has arrived at blocks of an end, one for each of `n` turns, from its first number on. */
static CadOverTurns received(Pull *p, size_t i, CadId first, size_t n, uint32_t size) {
    if (has_nothing_but(p, i, first, first)) {
        return (CadOverTurns){CAD_NO_ID, 0};
    }
    if (n * size == 1 && p->latest[i] == 0) {
        return (CadOverTurns){p->cotangents[first], 0};
    }
    const CadDerivatives sum = add_up_part(p, i, first, n * size);
    return sum.step == 0 ? (CadOverTurns){cad_graph_repeated(p->graph, sum.first, size), 0}
                         : (CadOverTurns){sum.first, n > 1 ? size : 0};
}

/* Of what is carried: behind the last turn, and before each. */
static void receive_carried(Pull *p, size_t i, size_t n, uint32_t size, CadId *last,
                            CadOverTurns *before) {
    const CadId first = cad_graph_first(p->graph, i), at_last = first + (CadId)(n * size);
    *before = (CadOverTurns){CAD_NO_ID, 0};
    if (has_nothing_but(p, i, at_last, at_last + size)) {
        *last = received(p, i, at_last, 1, size).first;
        return;
    }
    *before = received(p, i, first, n + 1, size);
    *last = (CadId)(before->first + before->step * (int64_t)n);
}

/* What belongs to blocks, one for each turn or one for all, arrives at them. */
static void accumulate_blocks(Pull *p, size_t n, uint32_t size, CadOverTurns target,
                              CadOverTurns source) {
    const int64_t shape[2] = {target.step == 0 ? 1 : (int64_t)n, size};
    const int64_t targets[2] = {target.step, size > 1}, sources[2] = {source.step, size > 1};
    if (shape[0] * shape[1] == 1) {
        accumulate(p, target.first, source.first);
    } else if (size == 1) {
        accumulate_view(p, 1, shape, (CadNumbers){target.first, targets},
                        (CadNumbers){source.first, sources});
    } else {
        const int one = target.step == 0;
        accumulate_view(p, 2 - one, shape + one, (CadNumbers){target.first, targets + one},
                        (CadNumbers){source.first, sources + one});
    }
}

static void pull_scan(Pull *p, size_t i) {
    const CadScan scan = *cad_graph_scan(p->graph, &p->graph->records[i]);
    const CadId first = cad_graph_first(p->graph, i) + 1;
    const size_t n_operands = cad_scan_n_operands(&scan), n_carried = scan.n_carried;
    CadMemory memory = {0};
    CadOperands of;
    CadId *const operands = cad_memory_take(&memory, n_operands, sizeof *operands);
    uint8_t *const wanted = cad_memory_take(&memory, n_operands, 1);
    CadOverTurns *const results = cad_memory_take(&memory, n_operands, sizeof *results);
    const CadScanSeeds seeds = {cad_memory_take(&memory, scan.n_carried, sizeof *seeds.last),
                                cad_memory_take(&memory, scan.n_carried, sizeof *seeds.before),
                                cad_memory_take(&memory, scan.n_kept, sizeof *seeds.kept),
                                cad_memory_take(&memory, scan.n_summed, sizeof *seeds.sums)};
    if (memory.status != CAD_OK) {
        p->graph->status = CAD_NO_MEMORY;
        cad_memory_give_back(&memory);
        return;
    }
    cad_graph_operands(p->graph, i, &of);
    for (size_t k = 0; k < n_operands; k++) {
        operands[k] = of.ids[k];
        wanted[k] = (uint8_t)is_active(p, operands[k]);
    }
    for (size_t k = 0; k < cad_scan_n_ends(&scan); k++) {
        const uint32_t size = cad_scan_size_of_end(&scan, k);
        const size_t end = i + 1 + k;
        const CadId own = cad_graph_first(p->graph, end);
        if (k < n_carried) {
            receive_carried(p, end, scan.n, size, &seeds.last[k], &seeds.before[k]);
        } else if (k < n_carried + scan.n_kept) {
            seeds.kept[k - n_carried] = received(p, end, own, scan.n, size);
        } else {
            seeds.sums[k - n_carried - scan.n_kept] = received(p, end, own, 1, size).first;
        }
    }
    if (p->graph->status == CAD_OK) {
        cad_scan_pull(p->graph, (CadScanned){&scan, first, operands}, &seeds, wanted,
                      cad_graph_pull, results);
    }
    for (size_t k = 0; k < n_operands && p->graph->status == CAD_OK; k++) {
        if (wanted[k]) {
            const int64_t step = k < n_carried ? 0 : scan.steps[k - n_carried];
            accumulate_blocks(p, scan.n, scan.sizes[k], (CadOverTurns){operands[k], step},
                              results[k]);
        }
    }
    cad_memory_give_back(&memory);
}

static void pull_record(Pull *p, size_t i) {
    CadAxes axes;
    CadMade made;
    cad_graph_look(p->graph, i, axes, &made);
    if (made.kind == CAD_RECORD_SCAN) {
        pull_scan(p, i);
        return;
    }
    if (made.kind == CAD_RECORD_END) { /* its SCAN comes later */
        p->have_any[cad_graph_record_of(p->graph, (CadId)made.list)] = 1;
        return;
    }
    if (made.kind == CAD_RECORD_PACK && p->latest[i] == 0) {
        pull_numbers(p, &made, p->cotangents + made.first, none);
        return;
    }
    const CadDerivatives g = add_up(p, i);
    if (g.first == CAD_NO_ID || p->graph->status != CAD_OK) {
        return;
    }
    if (made.former != CAD_NO_ID) {
        const int64_t length = (int64_t)made.size, one = 1;
        accumulate_view(p, 1, &length, (CadNumbers){made.former, &one}, cad_derivatives_in_row(g));
    }
    switch (made.kind) {
    case CAD_RECORD_PACK:
        pull_pack(p, &made, g);
        break;
    case CAD_RECORD_ADD_TO:
        accumulate_view(p, made.ndim, made.shape, made.views[1],
                        cad_derivatives_of_view(g, made.views[0]));
        break;
    case CAD_RECORD_ADD_AT:
        pull_add_at(p, &made, g);
        break;
    case CAD_RECORD_ADD_BY:
        pull_add_by(p, &made, g);
        break;
    case CAD_RECORD_TAKE:
        pull_take(p, i, &made, g);
        break;
    case CAD_RECORD_CALL:
        pull_call(p, &made, g);
        break;
    default:
        if (cad_made_is_kind(&made)) {
            pull_kind(p, &made, g);
        } else {
            pull_row(p, i, &made, g);
        }
    }
}

/* Derivatives by a large input that is floats, as such. */
static CadDerivatives rounded_input(Pull *p, uint32_t i, CadDerivatives g) {
    const CadRecord *const record = &p->graph->records[i];
    const int64_t length = record->of.array.size, one = 1;
    if (!p->graph->optimize || !cad_graph_has_floats(p->graph, record) || length < MANY ||
        g.step == 0) {
        return g;
    }
    const CadShape shape = {p->graph, 1, &length, &one, (size_t)length};
    return (CadDerivatives){rounded(&shape, 1, cad_derivatives_in_row(g)).first, 1};
}

/* Of an array that received contributions all is added up once, at its first variable. */
static void read_results(Pull *p, const CadId *wrt, size_t n_wrt, CadId *results) {
    size_t known = SIZE_MAX;
    CadDerivatives g = none;
    for (size_t k = 0; k < n_wrt && p->graph->status == CAD_OK; k++) {
        const uint32_t i = cad_graph_record_of(p->graph, wrt[k]);
        CadId found = p->cotangents[wrt[k]];
        if (p->latest[i] != 0) {
            g = known != i ? rounded_input(p, i, add_up(p, i)) : g;
            known = i;
            found = g.first + g.step * (wrt[k] - cad_graph_first(p->graph, i));
        }
        results[k] = found == CAD_NO_ID ? CAD_ZERO : found;
    }
}

CadStatus cad_graph_pull(CadGraph *graph, const CadId *outputs, const CadId *seeds,
                         size_t n_outputs, const CadId *wrt, size_t n_wrt, CadId *results) {
    Pull pull = {.graph = graph, .n_records = graph->n_records};
    Pull *p = &pull;
    CadMemory memory = {0};
    p->cotangents = cad_memory_take(&memory, graph->n_numbers, sizeof *p->cotangents);
    p->have_any = cad_memory_take(&memory, p->n_records, 1);
    p->is_rounded = cad_memory_take(&memory, p->n_records, 1);
    p->first = cad_memory_take(&memory, p->n_records, sizeof *p->first);
    p->latest = cad_memory_take(&memory, p->n_records, sizeof *p->latest);
    p->active = cad_graph_find_active(graph, &memory, wrt, n_wrt, 0);
    if (memory.status != CAD_OK) {
        p->graph->status = CAD_NO_MEMORY;
    } else {
        for (size_t k = 0; k < n_outputs; k++) {
            if (is_active(p, outputs[k])) {
                accumulate(p, outputs[k], seeds[k]);
            }
        }
        for (size_t i = p->n_records; i-- > 0 && graph->status == CAD_OK;) {
            if (p->active.records[i] && (p->have_any[i] || p->latest[i] != 0) &&
                cad_record_is_made(&graph->records[i])) {
                pull_record(p, i);
            }
        }
        read_results(p, wrt, n_wrt, results);
    }
    cad_memory_give_back(&memory);
    cad_memory_free(p->contributions);
    cad_memory_free(p->words);
    cad_memory_free(p->room.ids);
    return graph->status;
}
