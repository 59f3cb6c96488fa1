/* Records one by one: taken apart, and copied from a graph into another one. */
#include "graph/inner.h"

CadReach cad_made_reach(const CadMade *made, CadNumbers view) {
    CadReach reach = {view.first, view.first};
    for (int i = 0; i < made->ndim; i++) {
        const int64_t by = (made->shape[i] - 1) * view.strides[i];
        *(by < 0 ? &reach.low : &reach.high) += (CadId)by;
    }
    return reach;
}

CadReach cad_scan_reach(const CadScan *scan, size_t operand, CadId first) {
    const int64_t step = operand < scan->n_carried ? 0 : scan->steps[operand - scan->n_carried];
    const int64_t by = step * ((int64_t)scan->n - 1);
    return (CadReach){(CadId)(first + (by < 0 ? by : 0)),
                      (CadId)(first + (by > 0 ? by : 0)) + scan->sizes[operand] - 1};
}

/* --- copies --- */

static CadId view_name(const CadCopier *copier, CadId id) {
    const uint32_t i = cad_graph_record_of(copier->from, id);
    const CadRecord *record = &copier->from->records[i];
    if (copier->names[i] == CAD_NO_ID) {
        copier->names[i] =
            record->kind == CAD_RECORD_INPUT
                ? cad_graph_block(copier->to, copier->operands + record->of.array.first,
                                  record->of.array.size)
                : cad_graph_copy(copier, i);
    }
    return copier->names[i] + (cad_record_is_array(record) ? id - record->of.array.first : 0);
}

CadId cad_copier_name(const CadCopier *copier, CadId id) {
    return copier->operands != NULL && cad_graph_record(copier->from, id)->kind == CAD_RECORD_INPUT
               ? copier->operands[id]
               : view_name(copier, id);
}

static CadId copy_single(const CadCopier *copier, const CadMade *made) {
    CadId x[3];
    for (int k = 0; k < 3; k++) {
        x[k] = cad_copier_name(copier, made->views[k + 1 < made->n_views ? k + 1 : 1].first);
    }
    return (copier->folds ? cad_graph_apply : cad_graph_single)(copier->to, made->op, x[0], x[1],
                                                                x[2]);
}

static CadId copy_pack(const CadCopier *copier, const CadMade *made) {
    CadId *ids = cad_memory_resize(NULL, made->size, sizeof *ids);
    if (ids == NULL) {
        copier->to->status = CAD_NO_MEMORY;
        return CAD_ZERO;
    }
    for (size_t k = 0; k < made->size; k++) {
        ids[k] = cad_copier_name(copier, copier->from->lists[made->list + k]);
    }
    const CadId first = cad_graph_pack(copier->to, ids, made->size);
    cad_memory_free(ids);
    return first;
}

void cad_graph_mark_needed(CadGraph *graph, const CadId *outputs, size_t n_outputs,
                           uint8_t *marks) {
    CadOperands of;
    for (size_t k = 0; k < n_outputs; k++) {
        marks[cad_graph_record_of(graph, outputs[k])] |= 2;
    }
    for (size_t i = graph->n_records; i-- > 0;) {
        if (marks[i] == 2) {
            cad_graph_operands(graph, i, &of);
            for (size_t k = 0; k < of.n; k++) {
                marks[cad_graph_record_of(graph, of.ids[k])] |= 2;
            }
        }
    }
}

void cad_graph_copy_needed(const CadCopier *copier, uint8_t *marks, const CadId *outputs,
                           size_t n_outputs, CadId *results) {
    CadGraph *const from = copier->from, *const to = copier->to;
    cad_graph_mark_needed(from, outputs, n_outputs, marks);
    for (size_t i = 1; i < from->n_records && to->status == CAD_OK; i++) {
        if (marks[i] == 2 && from->records[i].kind != CAD_RECORD_INPUT) {
            copier->names[i] = cad_graph_copy(copier, i);
        }
    }
    for (size_t k = 0; k < n_outputs && to->status == CAD_OK; k++) {
        results[k] = cad_copier_name(copier, outputs[k]);
    }
}

/* It has the same numbers. */
static CadGraph *copied_body(CadGraph *body, const uint32_t *sizes, size_t n) {
    CadGraph *copy = cad_scan_body_of(sizes, n);
    CadMemory memory = {0};
    const CadCopier copier = {
        .from = body,
        .to = copy,
        .names = cad_memory_take(&memory, body->n_records, sizeof *copier.names),
    };
    if (memory.status != CAD_OK) {
        cad_graph_free(copy);
        return NULL;
    }
    for (size_t i = 1; i < body->n_records && copy != NULL; i++) {
        copier.names[i] = body->records[i].kind == CAD_RECORD_INPUT ? cad_graph_first(body, i)
                                                                    : cad_graph_copy(&copier, i);
    }
    cad_memory_give_back(&memory);
    return copy;
}

static CadStatus copied_scan(const CadScan *scan, CadScan *copy) {
    const size_t n_ends = cad_scan_n_ends(scan);
    *copy = *scan;
    copy->body = copied_body(scan->body, scan->sizes, cad_scan_n_operands(scan));
    copy->ends = cad_memory_copied(scan->ends, n_ends, sizeof *scan->ends);
    copy->steps = cad_memory_copied(scan->steps, scan->n_given, sizeof *scan->steps);
    copy->sizes = cad_memory_copied(scan->sizes, n_ends + scan->n_given, sizeof *scan->sizes);
    if (copy->body == NULL || copy->body->status != CAD_OK || copy->ends == NULL ||
        copy->steps == NULL || copy->sizes == NULL) {
        cad_scan_free(copy);
        return CAD_NO_MEMORY;
    }
    return CAD_OK;
}

/* Whether a given block is the same number everywhere, in all turns. */
static bool is_settled(CadGraph *graph, const CadScan *scan, size_t operand, CadId first,
                       double *value) {
    const int64_t lengths[2] = {(int64_t)scan->n, scan->sizes[operand]};
    const int64_t strides[2] = {scan->steps[operand - scan->n_carried], 1};
    const CadShape shape = {graph, 2, lengths, cad_no_strides, 0};
    const CadNumbers one = cad_graph_as_one(&shape, (CadNumbers){first, strides});
    return cad_is_single(&shape, one) && cad_graph_is_constant(graph, one.first, value);
}

/* The body without the inputs that are settled; what it hands on is `ends`. */
static CadGraph *body_without(const CadScan *scan, const uint8_t *settled, const double *values,
                              CadId *ends) {
    const size_t n = cad_scan_n_operands(scan);
    CadGraph *const from = scan->body;
    CadMemory memory = {0};
    CadId *const operands = cad_memory_take(&memory, from->n_numbers, sizeof *operands);
    CadId *const names = cad_memory_take(&memory, from->n_records, sizeof *names);
    uint8_t *const marks = cad_memory_take(&memory, from->n_records, 1);
    uint32_t *const sizes = cad_memory_take(&memory, n, sizeof *sizes);
    size_t n_left = 0;
    for (size_t k = 0; k < n && memory.status == CAD_OK; k++) {
        if (!settled[k]) {
            sizes[n_left++] = scan->sizes[k];
        }
    }
    CadGraph *body = n_left > 0 && n_left < n ? cad_scan_body_of(sizes, n_left) : NULL;
    CadId next = CAD_SCAN_INPUT, input = CAD_SCAN_INPUT;
    for (size_t k = 0; k < n && body != NULL; k++) {
        const uint32_t size = scan->sizes[k];
        const CadId first = settled[k] ? cad_graph_filled(body, values[k], size) : next;
        next += settled[k] ? 0 : size;
        for (uint32_t e = 0; e < size; e++) {
            operands[input++] = first + e;
        }
    }
    if (body != NULL) {
        const CadCopier copier = {from, body, names, operands, 1};
        cad_graph_copy_needed(&copier, marks, scan->ends, cad_scan_n_ends(scan), ends);
    }
    if (body != NULL && body->status != CAD_OK) {
        cad_graph_free(body);
        body = NULL;
    }
    cad_memory_give_back(&memory);
    return body;
}

/* Leave given blocks out that are a constant, as cotangents of what nobody reads are: a turn may
 * compute less then. Without memory all stays as it is. */
static void settle_given(CadGraph *graph, CadScan *scan, CadId *operands) {
    const size_t n_carried = scan->n_carried, n_given = scan->n_given;
    const size_t n_ends = cad_scan_n_ends(scan);
    CadMemory memory = {0};
    double *const values = cad_memory_take(&memory, n_carried + n_given, sizeof *values);
    uint8_t *const settled = cad_memory_take(&memory, n_carried + n_given, 1);
    CadId *const ends = cad_memory_take(&memory, n_ends, sizeof *ends);
    for (size_t k = n_carried; k < n_carried + n_given && memory.status == CAD_OK; k++) {
        settled[k] = is_settled(graph, scan, k, operands[k], &values[k]);
    }
    CadGraph *const body =
        memory.status == CAD_OK ? body_without(scan, settled, values, ends) : NULL;
    if (body != NULL) {
        cad_graph_free(scan->body);
        scan->body = body;
        memcpy(scan->ends, ends, n_ends * sizeof *ends);
        scan->n_given = 0;
        for (size_t k = n_carried; k < n_carried + n_given; k++) {
            if (!settled[k]) {
                const size_t to = scan->n_given++;
                operands[n_carried + to] = operands[k];
                scan->sizes[n_carried + to] = scan->sizes[k];
                scan->steps[to] = scan->steps[k - n_carried];
            }
        }
        memmove(scan->sizes + n_carried + scan->n_given, scan->sizes + n_carried + n_given,
                (n_ends - n_carried) * sizeof *scan->sizes);
    }
    cad_memory_give_back(&memory);
}

/* What differs from turn to turn is seen as a view is. */
static CadId copy_scan(const CadCopier *copier, size_t index) {
    CadGraph *const from = copier->from, *const to = copier->to;
    const CadScan *const scan = cad_graph_scan(from, &from->records[index]);
    const size_t count = cad_scan_n_operands(scan);
    CadId *const operands = cad_memory_zeroed(count, sizeof *operands);
    CadScan copy;
    CadOperands of;
    if (operands == NULL || copied_scan(scan, &copy) != CAD_OK) {
        to->status = CAD_NO_MEMORY;
        cad_memory_free(operands);
        return CAD_ZERO;
    }
    cad_graph_operands(from, index, &of);
    for (size_t k = 0; k < count; k++) {
        const int is_row =
            scan->sizes[k] > 1 || (k >= scan->n_carried && scan->steps[k - scan->n_carried] != 0);
        operands[k] = (is_row ? view_name : cad_copier_name)(copier, of.ids[k]);
    }
    if (copier->folds && to->optimize) {
        settle_given(to, &copy, operands);
    }
    const CadId first = cad_graph_append_scan(to, &copy, operands);
    if (first == CAD_NO_ID) {
        cad_scan_free(&copy);
    }
    cad_memory_free(operands);
    return first == CAD_NO_ID ? CAD_ZERO : first - 1;
}

CadId cad_graph_copy(const CadCopier *copier, size_t index) {
    CadGraph *const from = copier->from, *const to = copier->to;
    CadAxes axes;
    CadMade made;
    cad_graph_look(from, index, axes, &made);
    switch (made.kind) {
    case CAD_RECORD_SINGLE:
        return copy_single(copier, &made);
    case CAD_RECORD_CONSTANT:
        return cad_graph_constant(to, cad_record_value(&from->records[index]));
    case CAD_RECORD_CONSTANTS:
        return cad_graph_constants(to, from->constants + made.list, made.size);
    case CAD_RECORD_PACK:
        return copy_pack(copier, &made);
    case CAD_RECORD_SCAN:
        return copy_scan(copier, index);
    case CAD_RECORD_END:
        return view_name(copier, (CadId)made.list) + (made.first - (CadId)made.list);
    default:
        for (int k = made.n_views > 1 ? 1 : 0; k < made.n_views; k++) {
            made.views[k].first = view_name(copier, made.views[k].first);
        }
        made.former = made.former != CAD_NO_ID ? view_name(copier, made.former) : CAD_NO_ID;
        if (made.kind == CAD_RECORD_MAP && copier->folds) {
            return cad_graph_map(to, made.op, made.size, made.ndim, made.shape, made.n_views,
                                 made.views);
        }
        made.first = cad_graph_make(to, from, &made);
        to->records[cad_graph_record_of(to, made.first)].is_within |=
            from->records[index].is_within;
        return made.first;
    }
}
