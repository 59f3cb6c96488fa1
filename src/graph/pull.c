/* Reverse mode over a graph: the cotangents are further numbers of it. */
#include "graph/cotangents.h"
#include "kernels/kernels.h"

#include <math.h>

#include "table/codes.h"

enum { LONG_LIST = 32 };

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
    return cad_pull_is_active(p, x.first) && cad_pull_is_active(p, y.first) &&
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
        if (cad_pull_is_active(p, x[k].first)) {
            p->graph->makes_partials = !p->graph->optimize;
            const CadNumbers partial = cad_graph_as_one(
                &shape, rounded(&shape, rounds, cad_graph_partials(&shape, made->op, k, x)));
            p->graph->makes_partials = 0;
            for (int j = 0; j < k && made->ndim > 0 && !p->graph->optimize; j++) {
                p->graph->adds_sequentially |= adds_sequentially(p, made, x[j], x[k], n_before);
            }
            double c;
            if (p->graph->optimize && cad_is_single(&shape, partial) &&
                cad_graph_is_constant(p->graph, partial.first, &c) && isfinite(c)) {
                cad_pull_add_scaled(p, made->ndim, made->shape, x[k], g, partial);
            } else {
                cad_pull_add_view(p, made->ndim, made->shape, x[k],
                                  rounded(&shape, rounds, cad_graph_product(&shape, g, partial)));
            }
        }
    }
}

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
        if (!cad_pull_is_active(p, made->views[k].first)) {
            continue;
        }
        if (pull->op == CAD_OP_SUM) { /* which accumulating is */
            cad_pull_add_view(p, ndim, made->shape, made->views[k], g);
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
        cad_pull_add_view(
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
                             : cad_graph_stretch(p->graph, ids, left);
        if (n >= LONG_LIST) {
            const int64_t length = (int64_t)n, one = 1;
            const CadDerivatives given = {g.first + g.step * (CadId)k, g.step};
            cad_pull_add_view(p, 1, &length, (CadNumbers){id, &one},
                              cad_derivatives_in_row(given));
            k += n;
            continue;
        }
        const CadId given = elements != NULL ? elements[k] : g.first + g.step * (CadId)k;
        if (given != CAD_NO_ID && !is_variable[k] && cad_pull_is_active(p, id)) {
            cad_pull_add(p, id, given);
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
        cad_pull_add_view(p, 1, &length, (CadNumbers){ids[0], &step}, cad_derivatives_in_row(g));
    } else if (cad_pull_is_active(p, ids[0])) {
        cad_pull_contribute(p, (Contribution){.way = AT_PLACES,
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
    cad_pull_add_view(p, 1, made->shape, made->views[0], cad_derivatives_in_row(found));
}

static void pull_take(Pull *p, size_t i, const CadMade *made, CadDerivatives g) {
    const CadNumbers source = made->views[1];
    if (!cad_pull_is_active(p, source.first)) {
        return;
    }
    if (!cad_record_is_array(cad_graph_record(p->graph, source.first))) { /* all were taken */
        cad_pull_add_view(p, made->ndim, made->shape, source,
                          cad_derivatives_of_view(g, made->views[0]));
        return;
    }
    cad_pull_contribute(
        p, (Contribution){.way = AT_INDICES, .source = g, .target = source.first, .at = i});
}

static void pull_add_by(Pull *p, const CadMade *made, CadDerivatives g) {
    if (!cad_pull_is_active(p, made->views[1].first)) {
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
        taken = (CadNumbers){cad_graph_take(p->graph, &taking), in_order};
    }
    cad_pull_add_view(p, made->ndim, made->shape, made->views[1], taken);
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
        cad_pull_add_view(p, 1, made->shape, made->views[0],
                          cad_derivatives_in_row((CadDerivatives){found, made->shape[0] > 1}));
    }
}

/* --- recurrences --- */

/* What has arrived at blocks of an end, one for each of `n` turns, from its first number on. */
static CadOverTurns received(Pull *p, size_t i, CadId first, size_t n, uint32_t size) {
    if (cad_pull_is_within(p, i, first, first)) {
        return (CadOverTurns){CAD_NO_ID, 0};
    }
    if (n * size == 1 && p->latest[i] == 0) {
        return (CadOverTurns){p->cotangents[first], 0};
    }
    const CadDerivatives sum = cad_pull_sum_of_part(p, i, first, n * size);
    return sum.step == 0 ? (CadOverTurns){cad_graph_repeated(p->graph, sum.first, size), 0}
                         : (CadOverTurns){sum.first, n > 1 ? size : 0};
}

/* Of what is carried: behind the last turn, and before each. */
static void receive_carried(Pull *p, size_t i, size_t n, uint32_t size, CadId *last,
                            CadOverTurns *before) {
    const CadId first = cad_graph_first(p->graph, i), at_last = first + (CadId)(n * size);
    *before = (CadOverTurns){CAD_NO_ID, 0};
    if (cad_pull_is_within(p, i, at_last, at_last + size)) {
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
        cad_pull_add(p, target.first, source.first);
    } else if (size == 1) {
        cad_pull_add_view(p, 1, shape, (CadNumbers){target.first, targets},
                          (CadNumbers){source.first, sources});
    } else {
        const int one = target.step == 0;
        cad_pull_add_view(p, 2 - one, shape + one, (CadNumbers){target.first, targets + one},
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
        wanted[k] = (uint8_t)cad_pull_is_active(p, operands[k]);
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
    const CadDerivatives g = cad_pull_sum(p, i);
    if (g.first == CAD_NO_ID || p->graph->status != CAD_OK) {
        return;
    }
    if (made.former != CAD_NO_ID) {
        const int64_t length = (int64_t)made.size, one = 1;
        cad_pull_add_view(p, 1, &length, (CadNumbers){made.former, &one},
                          cad_derivatives_in_row(g));
    }
    switch (made.kind) {
    case CAD_RECORD_PACK:
        pull_pack(p, &made, g);
        break;
    case CAD_RECORD_ADD_TO:
        cad_pull_add_view(p, made.ndim, made.shape, made.views[1],
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
static void read_cotangents(Pull *p, const CadId *wrt, size_t n_wrt, CadId *results) {
    size_t known = SIZE_MAX;
    CadDerivatives g = none;
    for (size_t k = 0; k < n_wrt && p->graph->status == CAD_OK; k++) {
        const uint32_t i = cad_graph_record_of(p->graph, wrt[k]);
        CadId found = p->cotangents[wrt[k]];
        if (p->latest[i] != 0) {
            g = known != i ? rounded_input(p, i, cad_pull_sum(p, i)) : g;
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
        cad_graph_cut_shifts(graph, &p->active, outputs, n_outputs);
        for (size_t k = 0; k < n_outputs; k++) {
            if (cad_pull_is_active(p, outputs[k])) {
                cad_pull_add(p, outputs[k], seeds[k]);
            }
        }
        for (size_t i = p->n_records; i-- > 0 && graph->status == CAD_OK;) {
            if (p->active.records[i] && (p->have_any[i] || p->latest[i] != 0) &&
                cad_record_is_made(&graph->records[i])) {
                pull_record(p, i);
            }
        }
        read_cotangents(p, wrt, n_wrt, results);
    }
    cad_memory_give_back(&memory);
    cad_memory_free(p->contributions);
    cad_memory_free(p->words);
    cad_memory_free(p->room.ids);
    return graph->status;
}
