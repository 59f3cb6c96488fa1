/* Forward mode over a graph: the tangents are further numbers of it. A record whose tangent is not
 * zero has one for each of its numbers, in the same order, or one for all. */
#include "graph/inner.h"

typedef struct Push {
    CadGraph *graph;
    size_t n_records;
    CadDerivatives *tangents; /* of records */
    CadRoom room;
} Push;

static const CadDerivatives zero = {CAD_NO_ID, 0};

static CadId tangent_of(Push *p, CadId id) {
    const uint32_t i = cad_graph_record_of(p->graph, id);
    const CadDerivatives t = p->tangents[i];
    return t.step == 0 ? t.first : t.first + (id - cad_graph_first(p->graph, i));
}

/* The tangents of the numbers of a view. */
static CadNumbers view_of(Push *p, CadNumbers view) {
    const uint32_t i = cad_graph_record_of(p->graph, view.first);
    view.first -= cad_graph_first(p->graph, i);
    return cad_derivatives_of_view(p->tangents[i], view);
}

/* Those of a record, one for each of its numbers. */
static CadDerivatives apart(Push *p, CadId id) {
    const uint32_t i = cad_graph_record_of(p->graph, id);
    return cad_derivatives_apart(p->graph, p->tangents[i], cad_record_size(&p->graph->records[i]));
}

/* Have a tangent for each number of the record of a view, unless it is a single number. */
static void set_apart(Push *p, CadNumbers view) {
    const uint32_t i = cad_graph_record_of(p->graph, view.first);
    if (cad_record_is_array(&p->graph->records[i])) {
        p->tangents[i] = apart(p, view.first);
    }
}

static CadDerivatives push_row(Push *p, const CadMade *made) {
    int64_t in_order[CAD_MOST_AXES];
    const CadShape shape = cad_made_shape(p->graph, made, in_order);
    CadNumbers x[4], sum = {CAD_NO_ID, cad_no_strides};
    const int arity = cad_made_operands(made, x);
    for (int k = 0; k < arity && p->graph->status == CAD_OK; k++) {
        const CadNumbers t = view_of(p, x[k]);
        if (t.first == CAD_NO_ID) {
            continue;
        }
        const CadNumbers partial = cad_graph_partials(&shape, made->op, k, x);
        const CadNumbers product = cad_graph_product(&shape, partial, t);
        if (!cad_graph_is(p->graph, product.first, 0.0) || !cad_is_single(&shape, product)) {
            sum = sum.first == CAD_NO_ID
                      ? product
                      : cad_graph_apply_over(&shape, CAD_OP_add, sum, product, product);
        }
    }
    return sum.first == CAD_NO_ID ? zero : cad_derivatives_in_order(&shape, made->views[0], sum);
}

/* The tangents of the former numbers, to which a record is added; they may be part of a record. */
static CadDerivatives of_former(Push *p, const CadMade *made) {
    if (made->former == CAD_NO_ID) {
        return zero;
    }
    const uint32_t i = cad_graph_record_of(p->graph, made->former);
    CadDerivatives t = p->tangents[i];
    t.first += t.step * (made->former - cad_graph_first(p->graph, i));
    return cad_derivatives_apart(p->graph, t, made->size);
}

/* Linear in one view: the same operation on its tangents, added to those of the former numbers. */
static CadDerivatives push_view(Push *p, CadMade made, int view) {
    const CadDerivatives former = of_former(p, &made);
    made.views[view] = view_of(p, made.views[view]);
    if (made.views[view].first == CAD_NO_ID) {
        return former;
    }
    made.former = former.first;
    return (CadDerivatives){made.kind == CAD_RECORD_TAKE
                                ? cad_graph_take(p->graph, &made)
                                : cad_graph_make(p->graph, p->graph, &made),
                            1};
}

/* By one operand after the other. What a kernel of matrices reads has to be matrices. */
static CadDerivatives push_kind(Push *p, const CadMade *made) {
    CadDerivatives sum = zero;
    for (int k = 1; k < made->n_views; k++) {
        if (cad_entry_kinds[made->op].core > 0) {
            set_apart(p, made->views[k]);
        }
        sum = cad_derivatives_sum(p->graph, sum, push_view(p, *made, k), made->size);
    }
    return sum;
}

static CadDerivatives push_pack(Push *p, const CadMade *made) {
    CadId *ids = cad_graph_room(p->graph, &p->room, made->size);
    int any = 0;
    for (size_t k = 0; ids != NULL && k < made->size; k++) {
        ids[k] = tangent_of(p, p->graph->lists[made->list + k]);
        any = any || ids[k] != CAD_NO_ID;
    }
    if (!any) {
        return zero;
    }
    for (size_t k = 0; k < made->size; k++) {
        ids[k] = ids[k] == CAD_NO_ID ? CAD_ZERO : ids[k];
    }
    return cad_derivatives_listed(p->graph, ids, made->size);
}

/* Whether each of the operands of a call has a tangent that may not be 0; NULL without memory. */
static uint8_t *moving_operands(Push *p, const CadMade *made, CadNumbers tangents) {
    CadGraph *graph = p->graph;
    uint8_t *move = cad_memory_zeroed((size_t)made->shape[0], 1);
    if (move == NULL) {
        graph->status = CAD_NO_MEMORY;
        return NULL;
    }
    const CadRecord *record = cad_graph_record(graph, tangents.first);
    const int is_pack = record->kind == CAD_RECORD_PACK;
    for (int64_t i = 0; i < made->shape[0]; i++) {
        const CadId id = (CadId)(tangents.first + i * tangents.strides[0]);
        move[i] = !cad_graph_is(
            graph, is_pack ? cad_graph_packed(graph, record)[id - record->of.array.first] : id,
            0.0);
    }
    return move;
}

static CadDerivatives push_call(Push *p, const CadMade *made) {
    const CadNumbers tangents = view_of(p, made->views[0]);
    CadGraph *graph = p->graph;
    CadId pushed = CAD_NO_ID;
    uint8_t *move = tangents.first != CAD_NO_ID ? moving_operands(p, made, tangents) : NULL;
    if (move != NULL) {
        const CadStatus status =
            graph->calls->push(graph->owner, graph, made->number, made->views[0].first,
                               made->first, tangents.first, tangents.strides[0], move, &pushed);
        graph->status = status != CAD_OK ? status : graph->status;
        cad_memory_free(move);
    }
    return pushed == CAD_NO_ID ? zero : (CadDerivatives){pushed, made->size > 1};
}

static CadDerivatives push_scan(Push *p, size_t i) {
    const CadScan scan = *cad_graph_scan(p->graph, &p->graph->records[i]);
    const size_t n_operands = cad_scan_n_operands(&scan);
    CadMemory memory = {0};
    CadOperands of;
    CadId *const operands = cad_memory_take(&memory, n_operands, sizeof *operands);
    CadOverTurns *const rows = cad_memory_take(&memory, n_operands, sizeof *rows);
    int any = 0;
    CadId pushed = CAD_NO_ID;
    if (memory.status != CAD_OK) {
        p->graph->status = CAD_NO_MEMORY;
    } else {
        cad_graph_operands(p->graph, i, &of);
        for (size_t k = 0; k < n_operands; k++) {
            operands[k] = of.ids[k];
        }
        for (size_t k = 0; k < n_operands; k++) {
            const uint32_t step = p->tangents[cad_graph_record_of(p->graph, operands[k])].step;
            const CadId tangent = tangent_of(p, operands[k]);
            rows[k] =
                (CadOverTurns){tangent == CAD_NO_ID || step == 1
                                   ? tangent
                                   : cad_graph_repeated(p->graph, tangent, scan.sizes[k]),
                               k < scan.n_carried ? 0 : step * scan.steps[k - scan.n_carried]};
            any |= rows[k].first != CAD_NO_ID;
        }
    }
    if (any) {
        pushed = cad_scan_push(p->graph,
                               (CadScanned){&scan, cad_graph_first(p->graph, i) + 1, operands},
                               rows, cad_graph_push);
    }
    cad_memory_give_back(&memory);
    return pushed == CAD_NO_ID ? zero : (CadDerivatives){pushed - 1, 1};
}

/* Ends stand behind their SCAN as their tangents do behind its own. */
static CadDerivatives push_end(const Push *p, const CadMade *made) {
    const CadId scan = (CadId)made->list;
    const CadDerivatives t = p->tangents[cad_graph_record_of(p->graph, scan)];
    return t.first == CAD_NO_ID ? zero : (CadDerivatives){t.first + (made->first - scan), 1};
}

/* Indices have no tangents. */
static CadDerivatives push_record(Push *p, size_t i) {
    CadAxes axes;
    CadMade made;
    cad_graph_look(p->graph, i, axes, &made);
    switch (made.kind) {
    case CAD_RECORD_PACK:
        return push_pack(p, &made);
    case CAD_RECORD_SCAN:
        return push_scan(p, i);
    case CAD_RECORD_END:
        return push_end(p, &made);
    case CAD_RECORD_ADD_AT:
        return push_view(p, made, 0);
    case CAD_RECORD_TAKE:
        set_apart(p, made.views[1]);
        return push_view(p, made, 1);
    case CAD_RECORD_ADD_TO:
    case CAD_RECORD_ADD_BY:
        return push_view(p, made, 1);
    case CAD_RECORD_CALL:
        return push_call(p, &made);
    default:
        return cad_made_is_kind(&made) ? push_kind(p, &made) : push_row(p, &made);
    }
}

/* The tangents of inputs, which are given element by element. */
static void seed(Push *p, const CadId *wrt, const CadId *along, size_t n_wrt) {
    CadGraph *graph = p->graph;
    for (size_t k = 0; k < n_wrt && graph->status == CAD_OK;) {
        const uint32_t i = cad_graph_record_of(graph, wrt[k]);
        const CadId first = cad_graph_first(graph, i);
        const uint32_t size = cad_record_size(&graph->records[i]);
        CadId *ids = cad_graph_room(graph, &p->room, size);
        if (ids == NULL) {
            return;
        }
        int any = 0;
        for (uint32_t e = 0; e < size; e++) {
            ids[e] = CAD_ZERO;
        }
        for (; k < n_wrt && wrt[k] - first < size; k++) {
            ids[wrt[k] - first] = along[k];
        }
        for (uint32_t e = 0; e < size; e++) {
            any = any || !cad_graph_is(graph, ids[e], 0.0);
        }
        if (any) {
            p->tangents[i] = cad_graph_are_in_row(graph, ids, size)
                                 ? (CadDerivatives){ids[0], size > 1}
                                 : cad_derivatives_listed(graph, ids, size);
        }
    }
}

CadStatus cad_graph_push(CadGraph *graph, const CadId *wrt, const CadId *along, size_t n_wrt,
                         const CadId *outputs, size_t n_outputs, CadId *results) {
    Push push = {.graph = graph, .n_records = graph->n_records};
    Push *p = &push;
    CadMemory memory = {0};
    const uint32_t *uses = cad_graph_uses(graph, &memory, outputs, n_outputs, 0);
    const CadActive active = cad_graph_find_active(graph, &memory, wrt, n_wrt, 0);
    p->tangents = cad_memory_take(&memory, p->n_records, sizeof *p->tangents);
    if (memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        cad_graph_cut_shifts(graph, &active, outputs, n_outputs);
        seed(p, wrt, along, n_wrt);
        for (size_t i = 0; i < p->n_records && graph->status == CAD_OK; i++) {
            const CadRecord *record = &graph->records[i];
            if (uses[i] > 0 && active.records[i] && cad_record_is_made(record) &&
                record->op != CAD_OP_stop) {
                p->tangents[i] = push_record(p, i);
            }
        }
        for (size_t k = 0; k < n_outputs && graph->status == CAD_OK; k++) {
            const CadId t = tangent_of(p, outputs[k]);
            results[k] = t == CAD_NO_ID ? CAD_ZERO : t;
        }
    }
    cad_memory_give_back(&memory);
    cad_memory_free(p->room.ids);
    return graph->status;
}
