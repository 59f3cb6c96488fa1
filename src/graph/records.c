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
        made.first = cad_graph_make(to, from, &made);
        to->records[cad_graph_record_of(to, made.first)].is_within |=
            from->records[index].is_within;
        return made.first;
    }
}
