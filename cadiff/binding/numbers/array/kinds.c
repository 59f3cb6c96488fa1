/* Operations of kinds (src/table/kinds.def) over views of one shape. */
#include "numbers/array/inner.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/tape.h"

#include "arrays/arrays.h"

PyObject *cad_record_kind(CadOp op, const CadArrayOperands *all, const CadShape *shape,
                          uint64_t summed, int ndim, const npy_intp *seen) {
    int64_t strides[3][NPY_MAXDIMS];
    if (shape->size == 0) { /* which needs no entry */
        PyObject *zeros = PyArray_ZEROS(ndim, (npy_intp *)seen, NPY_DOUBLE, 0);
        PyObject *constant = zeros == NULL ? NULL : cad_array_constant(all->tape, zeros);
        Py_XDECREF(zeros);
        return constant;
    }
    CadRequest request = {.op = op,
                          .ndim = shape->ndim,
                          .shape = shape->wide,
                          .n_views = all->n + 1,
                          .slots = 1,
                          .index = -1};
    for (int i = shape->ndim; i-- > 0;) {
        const int is_summed = summed >> i & 1;
        strides[0][i] = is_summed ? 0 : (int64_t)request.slots;
        request.slots *= is_summed ? 1 : (size_t)shape->wide[i];
    }
    request.views[0] = (CadPlace){CAD_OWN, strides[0]};
    int passive = 1;
    for (int i = 0; i < all->n; i++) {
        cad_spread(&all->of[i], 0, shape, strides[i + 1]);
        request.views[i + 1] = (CadPlace){all->of[i].slot, strides[i + 1]};
        request.passive |= (uint32_t)(all->of[i].passive != 0) << (i + 1);
        passive = passive && all->of[i].passive;
    }
    CadSlot out;
    const CadStatus status = cad_array_push(all->tape, &request, &out);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    return cad_result_view(all->tape, out, ndim, seen, request.slots, passive);
}

PyObject *cad_array_kind(CadOp op, PyObject *const *operands, int ndim, const npy_intp *lengths,
                         uint64_t summed) {
    CadArrayOperands all;
    CadShape shape;
    if (cad_take_operands(&all, operands, cad_entry_kinds[op].n_views - 1) != 0) {
        return NULL;
    }
    PyObject *made = NULL;
    if (lengths != NULL) {
        cad_fill_shape(&shape, ndim, lengths);
    }
    if ((lengths != NULL || cad_broadcast(&all, 0, &shape) == 0) && cad_pin(all.tape) == 0) {
        npy_intp result[NPY_MAXDIMS];
        for (int i = 0; i < shape.ndim; i++) {
            result[i] = summed >> i & 1 ? 1 : shape.of[i];
        }
        if (cad_put_operands(&all) == 0) {
            made = cad_record_kind(op, &all, &shape, summed, shape.ndim, result);
        }
        cad_tape_unpin(all.tape);
    }
    cad_release_operands(&all);
    return made;
}
