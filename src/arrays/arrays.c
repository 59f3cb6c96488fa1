/* See arrays.h: appending entries over arrays. */
#include "arrays/arrays.h"
#include "tape/blocks.h"

/* Have a long axis of an elementwise operation come last, along which it is gone through, if the
 * last one is short. */
static void lengthen_rows(int ndim, int64_t *shape, int n_views,
                          int64_t strides[][CAD_MOST_AXES]) {
    enum { SHORT = 16 };
    int longest = ndim - 1;
    for (int axis = 0; axis < ndim; axis++) {
        longest = shape[axis] > shape[longest] ? axis : longest;
    }
    if (ndim == 0 || shape[ndim - 1] >= SHORT || shape[longest] < 2 * shape[ndim - 1]) {
        return;
    }
    const int64_t length = shape[longest];
    shape[longest] = shape[ndim - 1];
    shape[ndim - 1] = length;
    for (int k = 0; k < n_views; k++) {
        const int64_t stride = strides[k][longest];
        strides[k][longest] = strides[k][ndim - 1];
        strides[k][ndim - 1] = stride;
    }
}

CadStatus cad_array_workspace(CadTape *tape, size_t count) {
    if (tape->scratch == NULL && (tape->scratch = cad_scratch_new()) == NULL) {
        return CAD_NO_MEMORY;
    }
    return cad_memory_grow((void **)&tape->workspace, &tape->workspace_capacity, count,
                           sizeof *tape->workspace);
}

size_t cad_array_room(CadOp op, uint32_t passive, int ndim, const int64_t *shape) {
    const size_t room = cad_op_is_kind(op) ? cad_op_room(op, ndim, shape, 1) : 0;
    const size_t floats =
        (passive & CAD_IN_SINGLE) != 0 ? cad_op_room_of_floats(op, ndim, shape) : 0;
    return room > floats ? room : floats;
}

/* An operation that is another one in single precision. */
static CadOp op_of(const CadRequest *request) {
    const int is_single = (request->passive & CAD_IN_SINGLE) != 0;
    return request->op == CAD_OP_MATMUL && is_single ? CAD_OP_MATMUL_SINGLE : request->op;
}

/* Numbers that are moved one by one are moved from and to their places. */
static void copy_moved(CadTape *tape, const CadRequest *request, int indexed) {
    for (int k = 0; k < request->n_views; k++) {
        cad_tape_copy_block(tape, (CadSlot)request->views[k].slot);
    }
    if (indexed) {
        cad_tape_copy_block(tape, (CadSlot)request->extra[0]);
    }
}

CadStatus cad_array_push(CadTape *tape, const CadRequest *request, CadSlot *out) {
    const CadOp op = op_of(request);
    int64_t shape[CAD_MOST_AXES];
    int64_t strides[4][CAD_MOST_AXES];
    const int n_views = request->n_views;
    memcpy(shape, request->shape, (size_t)request->ndim * sizeof *shape);
    for (int k = 0; k < n_views; k++) {
        memcpy(strides[k], request->views[k].strides, (size_t)request->ndim * sizeof *shape);
    }
    const CadEntryKind *const kind = &cad_entry_kinds[op];
    const int overwrites = kind->former == CAD_FORMER_KEPT, n_extra = kind->n_extra;
    if (kind->indexed || overwrites) {
        copy_moved(tape, request, kind->indexed);
    }
    const int fixed = request->ndim - kind->core;
    const int ndim = cad_axes_joined(request->ndim, fixed, shape, n_views, strides);
    if (cad_op_is_row(op)) {
        lengthen_rows(ndim, shape, n_views, strides);
    }
    const size_t words = (size_t)(CAD_PLAN_WORDS + ndim + n_views * (ndim + 1) + n_extra);
    CadPlan *plan;
    const size_t room = cad_array_room(op, request->passive, ndim, shape);
    CadStatus status = cad_array_workspace(tape, room);
    if (status == CAD_OK) {
        status = cad_tape_push_plan(tape, CAD_CODE(op, 0), request->slots, words, &plan);
    }
    if (status != CAD_OK) {
        return status;
    }
    const CadEntry entry = tape->entries[tape->n_entries - 1];
    *out = entry.out;
    plan->ndim = (uint16_t)ndim;
    plan->n_views = (uint16_t)n_views;
    plan->n_extra = (uint32_t)n_extra;
    plan->passive = request->passive;
    plan->index = request->index;
    plan->size = 1;
    for (int i = 0; i < ndim; i++) {
        cad_plan_shape(plan)[i] = shape[i];
        plan->size *= shape[i];
    }
    for (int k = 0; k < n_views; k++) {
        int64_t *view = cad_plan_view(plan, k);
        view[0] = request->views[k].slot == CAD_OWN ? entry.out : request->views[k].slot;
        memcpy(view + 1, strides[k], (size_t)ndim * sizeof *view);
    }
    memcpy(cad_plan_extra(plan), request->extra, (size_t)n_extra * sizeof *request->extra);
    tape->n_assigned += (size_t)overwrites;
    cad_array_value(tape, entry);
    return CAD_OK;
}
