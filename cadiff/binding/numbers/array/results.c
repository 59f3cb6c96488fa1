/* Entries over array Vars, and the handles of what they wrote: operations of kinds
 * (src/table/kinds.def) over views of one shape, among them those that go element by element. */
#include "numbers/array/inner.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"

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
                          const npy_intp *strides, size_t slots, int passive, int is_single) {
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
    return cad_var_view(tape, out, ndim, shape, strides, flags | (passive ? CAD_CONSTANT : 0));
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

/* The axes of a result in the order of their strides in the operands, of which the first one that
 * has both of two axes decides. */
static void order_axes(int ndim, int n_views, int64_t (*strides)[NPY_MAXDIMS], int *order) {
    for (int i = 0; i < ndim; i++) {
        int at = i;
        for (; at > 0; at--) {
            int k = 1;
            while (k < n_views && (strides[k][i] == 0 || strides[k][order[at - 1]] == 0)) {
                k++;
            }
            if (k == n_views || llabs(strides[k][i]) <= llabs(strides[k][order[at - 1]])) {
                break;
            }
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

/* Axes of an entry, as they are ordered. */
typedef struct Ordered {
    int64_t shape[NPY_MAXDIMS], strides[4][NPY_MAXDIMS];
} Ordered;

static PyObject *record(CadOp op, CadArrayOperands *all, const CadShape *shape, uint64_t summed,
                        int ndim, const npy_intp *seen, int is_single) {
    int64_t strides[4][NPY_MAXDIMS];
    npy_intp of_result[NPY_MAXDIMS] = {0};
    int order[NPY_MAXDIMS];
    Ordered ordered;
    CadRequest request = {.op = op,
                          .passive = is_single ? CAD_IN_SINGLE : 0,
                          .ndim = shape->ndim,
                          .shape = ordered.shape,
                          .n_views = all->n + 1,
                          .slots = 1,
                          .index = -1};
    all->are_packed = op == CAD_OP_MATMUL && is_single;
    if (cad_put_operands(all) < 0) {
        return NULL;
    }
    int passive = 1;
    for (int i = 0; i < all->n; i++) {
        cad_spread(&all->of[i], shape, strides[i + 1]);
        request.views[i + 1] = (CadPlace){all->of[i].slot, ordered.strides[i + 1]};
        request.passive |= (uint32_t)(all->of[i].passive != 0) << (i + 1);
        passive = passive && all->of[i].passive;
    }
    /* Who is told of results names their elements by places: in C's order. */
    const int is_moved = !all->are_in_order && shape->ndim > 1 && all->tape->hook == NULL &&
                         (!cad_op_is_kind(op) || op == CAD_OP_SUM) && is_by_columns(all);
    for (int i = 0; i < shape->ndim; i++) {
        order[i] = i;
    }
    if (is_moved) {
        order_axes(shape->ndim, request.n_views, strides, order);
    }
    for (int i = shape->ndim; i-- > 0;) {
        const int is_summed = summed >> order[i] & 1;
        ordered.shape[i] = shape->wide[order[i]];
        strides[0][order[i]] = is_summed ? 0 : (int64_t)request.slots;
        request.slots *= is_summed ? 1 : (size_t)ordered.shape[i];
        for (int k = 0; k < request.n_views; k++) {
            ordered.strides[k][i] = strides[k][order[i]];
        }
    }
    request.views[0] = (CadPlace){CAD_OWN, ordered.strides[0]};
    for (int i = 0, k = 0; i < shape->ndim && is_moved; i++) {
        if (ndim == shape->ndim || !(summed >> i & 1)) {
            of_result[k++] = (npy_intp)strides[0][i];
        }
    }
    CadSlot out;
    return cad_push(all->tape, &request, &out) < 0
               ? NULL
               : cad_result_view(all->tape, out, ndim, seen, is_moved ? of_result : NULL,
                                 request.slots, passive, is_single);
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
