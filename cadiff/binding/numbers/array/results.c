/* Entries over array Vars, and the handles of what they wrote: operations of kinds
 * (src/table/kinds.def) over views of one shape, among them those that go element by element. */
#include "numbers/array/inner.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/threads.h"

#include "tape/guards.h"

int cad_push(CadTape *tape, const CadRequest *request, CadSlot *out) {
    return cad_check(cad_array_push(tape, request, out));
}

/* --- results --- */

static int note_constants(CadTape *tape, CadSlot out, size_t slots) {
    if (slots >= CAD_LARGE_BLOCK) { /* noted already, as any block that large */
        tape->blocks[tape->n_blocks - 1].constant = 1;
        return 0;
    }
    return cad_check(cad_tape_note_block(tape, out, out + slots, CAD_CONSTANTS));
}

PyObject *cad_result_view(CadTape *tape, CadSlot out, int ndim, const npy_intp *shape,
                          size_t slots, int passive, int is_single) {
    if (tape->hook != NULL && cad_check(tape->hook->array(tape->hook->holder, ndim, shape)) < 0) {
        return NULL;
    }
    const uint32_t flags = is_single ? CAD_SINGLE : 0;
    if (passive && ndim == 0 && !is_single) {
        return cad_var_passive(tape->values[out]);
    }
    if (passive && note_constants(tape, out, slots) < 0) {
        return NULL;
    }
    return cad_var_view(tape, out, ndim, shape, NULL, flags | (passive ? CAD_CONSTANT : 0));
}

PyObject *cad_array_zeros(CadTape *tape, int ndim, const npy_intp *shape, int is_single) {
    PyObject *zeros =
        PyArray_ZEROS(ndim, (npy_intp *)shape, is_single ? NPY_FLOAT : NPY_DOUBLE, 0);
    PyObject *constant = zeros == NULL ? NULL : cad_array_constant(tape, zeros);
    Py_XDECREF(zeros);
    return constant;
}

/* --- operations of kinds --- */

/* Whether NumPy puts a result in another order than C's: that of its operands, if it is that of
 * none of them. */
static int is_by_columns(const CadArrayOperands *all) {
    const CadArrayOperand *first = &all->of[0];
    if (first->ndim == 2 && first->shape[1] > 1 && first->strides[1] == 1) { /* mostly */
        return 0;
    }
    int found = 0;
    for (int i = 0; i < all->n; i++) {
        const CadArrayOperand *of = &all->of[i];
        int64_t inner = 0;
        int axes = 0, ordered = 1;
        for (int k = of->ndim; k-- > 0;) {
            const int64_t stride = of->strides[k] < 0 ? -of->strides[k] : of->strides[k];
            if (stride != 0 && of->shape[k] > 1) {
                ordered = ordered && stride >= inner;
                inner = stride;
                axes++;
            }
        }
        if (axes > 1 && ordered) {
            return 0;
        }
        found = found || axes > 1;
    }
    return found;
}

static PyObject *record(CadOp op, CadArrayOperands *all, const CadShape *shape, uint64_t summed,
                        int ndim, const npy_intp *seen, int is_single) {
    int64_t strides[4][NPY_MAXDIMS];
    CadRequest request = {.op = op,
                          .passive = is_single ? CAD_IN_SINGLE : 0,
                          .ndim = shape->ndim,
                          .shape = shape->wide,
                          .n_views = all->n + 1,
                          .slots = 1,
                          .index = -1};
    all->are_packed = op == CAD_OP_MATMUL && is_single;
    if (cad_put_operands(all) < 0) {
        return NULL;
    }
    for (int i = shape->ndim; i-- > 0;) {
        const int is_summed = summed >> i & 1;
        strides[0][i] = is_summed ? 0 : (int64_t)request.slots;
        request.slots *= is_summed ? 1 : (size_t)shape->wide[i];
    }
    request.views[0] = (CadPlace){CAD_OWN, strides[0]};
    int passive = 1;
    for (int i = 0; i < all->n; i++) {
        cad_spread(&all->of[i], shape, strides[i + 1]);
        request.views[i + 1] = (CadPlace){all->of[i].slot, strides[i + 1]};
        request.passive |= (uint32_t)(all->of[i].passive != 0) << (i + 1);
        passive = passive && all->of[i].passive;
    }
    CadSlot out;
    if (cad_push(all->tape, &request, &out) < 0) {
        return NULL;
    }
    PyObject *result =
        cad_result_view(all->tape, out, ndim, seen, request.slots, passive, is_single);
    if (result != NULL && ndim > 1 && summed == 0 && is_by_columns(all)) {
        CAD_VAR(result)->view->flags |= CAD_BY_COLUMNS;
    }
    return result;
}

PyObject *cad_record_kind(CadOp op, CadArrayOperands *all, const CadShape *shape, uint64_t summed,
                          int ndim, const npy_intp *seen) {
    static const CadShape one = {.ndim = 1, .of = {1}, .wide = {1}, .size = 1};
    const int is_single = cad_settle_precision(op, all);
    if (is_single) {
        cad_guard_singles(all->tape);
    }
    if (shape->size == 0) { /* which needs no entry */
        return cad_array_zeros(all->tape, ndim, seen, is_single);
    }
    PyObject *result = NULL;
    if (cad_pin(all->tape) == 0) { /* entries have an axis */
        result = record(op, all, shape->ndim == 0 ? &one : shape, summed, ndim, seen, is_single);
        cad_tape_unpin(all->tape);
    }
    return result;
}
