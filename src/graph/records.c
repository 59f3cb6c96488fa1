/* Records one by one: taken apart, and copied from a graph into another one. */
#include "graph/inner.h"

void cad_graph_look(CadGraph *graph, size_t index, CadMade *made) {
    const CadRecord record = graph->records[index];
    made->kind = (CadRecordKind)record.kind;
    made->op = (CadOp)record.op;
    made->first = cad_graph_first(graph, index);
    made->size = cad_record_size(&record);
    made->ndim = 0;
    made->n_views = 0;
    if (record.kind == CAD_RECORD_SINGLE) {
        made->n_views = 1 + cad_op_info[record.op].arity;
        made->views[0] = (CadNumbers){0, made->strides[0]};
        for (int k = 1; k < made->n_views; k++) {
            made->views[k] = (CadNumbers){record.of.operands[k - 1], made->strides[k]};
        }
    }
    if (!cad_record_is_array(&record)) {
        return;
    }
    const CadArray *array = cad_graph_array(graph, &record);
    made->former = array->former;
    made->number = array->number;
    made->list = array->list;
    if (!cad_record_has_plan(&record)) {
        return;
    }
    CadPlan *plan = cad_graph_plan(graph, &record);
    made->ndim = plan->ndim;
    made->n_views = plan->n_views;
    made->length = plan->n_extra > 0 ? cad_plan_extra(plan)[0] : 0;
    made->stride = plan->n_extra > 0 ? cad_plan_extra(plan)[1] : 0;
    memcpy(made->shape, cad_plan_shape(plan), plan->ndim * sizeof *made->shape);
    for (int k = 0; k < plan->n_views; k++) {
        memcpy(made->strides[k], cad_plan_view(plan, k) + 1, plan->ndim * sizeof *made->shape);
        made->views[k] = (CadNumbers){(CadId)cad_plan_view(plan, k)[0], made->strides[k]};
    }
}

/* --- copies --- */

static CadId copy_single(const CadCopier *copier, const CadMade *made) {
    CadId x[3];
    for (int k = 0; k < 3; k++) {
        x[k] =
            copier->number(copier->context, made->views[k + 1 < made->n_views ? k + 1 : 1].first);
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
    for (uint32_t k = 0; k < made->size; k++) {
        ids[k] = copier->number(copier->context, copier->from->lists[made->list + k]);
    }
    const CadId first = cad_graph_pack(copier->to, ids, made->size);
    cad_memory_free(ids);
    return first;
}

CadId cad_graph_copy(const CadCopier *copier, size_t index) {
    CadGraph *const from = copier->from, *const to = copier->to;
    const CadRecord *record = &from->records[index];
    CadMade made;
    cad_graph_look(from, index, &made);
    if (made.kind == CAD_RECORD_SINGLE) {
        return copy_single(copier, &made);
    }
    for (int k = made.n_views > 1 ? 1 : 0; k < made.n_views; k++) {
        made.views[k].first = copier->view(copier->context, made.views[k].first);
    }
    CadId former = CAD_NO_ID;
    if (cad_record_adds(record) && made.former != CAD_NO_ID) {
        former = copier->view(copier->context, made.former);
    }
    switch (made.kind) {
    case CAD_RECORD_CONSTANT:
        return cad_graph_constant(to, cad_record_value(record));
    case CAD_RECORD_CONSTANTS:
        return cad_graph_constants(to, from->constants + made.list, made.size);
    case CAD_RECORD_PACK:
        return copy_pack(copier, &made);
    case CAD_RECORD_ADD_TO:
        return cad_graph_add_to(to, former, made.size, made.ndim, made.shape, made.views[0],
                                made.views[1]);
    case CAD_RECORD_ADD_AT:
        return cad_graph_add_at(to, former, made.size, from->lists + made.list, made.views[0],
                                (size_t)made.shape[0]);
    case CAD_RECORD_ADD_BY:
    case CAD_RECORD_TAKE:
        return cad_graph_by_index(to, made.kind, former, made.size, made.ndim, made.shape,
                                  made.views, made.length, made.stride);
    case CAD_RECORD_CALL:
        return cad_graph_call(to, made.number, made.views[0].first, (size_t)made.shape[0],
                              made.size);
    default:
        return cad_graph_map(to, made.op, made.size, made.ndim, made.shape, made.n_views,
                             made.views);
    }
}
