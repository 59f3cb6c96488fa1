/* Copies of elements of array Vars by arrays of indices: NumPy indexes an array of the slots, and
 * the entry keeps the offsets that come of it. Whether a key names a view instead is not known
 * here. */
#include "numbers/array/inner.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/references.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/views.h"
#include "numbers/var/var.h"

PyArrayObject *cad_offsets_of(const CadVar *var, PyObject *key) {
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    PyObject *part = cad_then_with(cad_var_offsets(var, low), PyObject_GetItem, key);
    PyObject *offsets =
        part == NULL ? NULL : PyArray_FROMANY(part, NPY_INT64, 0, 0, NPY_ARRAY_CARRAY_RO);
    Py_XDECREF(part);
    return (PyArrayObject *)offsets;
}

int cad_put_offsets(const CadVar *var, PyArrayObject *array, CadOffsets *offsets) {
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    *offsets = (CadOffsets){PyArray_SIZE(array), (int64_t)low, (int64_t)high, 0};
    const size_t size = (size_t)offsets->size;
    if (cad_check(cad_tape_block(var->tape, size, 0, &offsets->index)) < 0) {
        return -1;
    }
    memcpy(var->tape->values + offsets->index, PyArray_DATA(array), size * sizeof(npy_int64));
    return 0;
}

int cad_push_by_offsets(CadTape *tape, CadOp op, const CadOffsets *offsets, CadPlace place,
                        int passive, int is_single, size_t slots, CadSlot *out) {
    const CadRequest request = {
        .op = op,
        .passive = (uint32_t)passive | (is_single ? CAD_IN_SINGLE : 0),
        .ndim = 1,
        .shape = &offsets->size,
        .n_views = 1,
        .views = {place},
        .slots = slots,
        .index = offsets->index,
        .extra = {offsets->low, offsets->high},
    };
    return cad_push(tape, &request, out);
}

static PyObject *gather(CadVar *var, PyArrayObject *array) {
    const int ndim = PyArray_NDIM(array), passive = cad_array_is_constant(var);
    const int is_single = cad_is_single((PyObject *)var);
    const npy_intp *const shape = PyArray_DIMS(array);
    if (PyArray_SIZE(array) == 0) {
        return cad_array_zeros(var->tape, ndim, shape, is_single);
    }
    const int64_t stride = 1;
    const size_t size = (size_t)PyArray_SIZE(array);
    CadOffsets offsets;
    CadSlot out;
    return cad_put_offsets(var, array, &offsets) < 0 ||
                   cad_push_by_offsets(var->tape, CAD_OP_GATHER, &offsets,
                                       (CadPlace){CAD_OWN, &stride}, passive << 1, 0, size,
                                       &out) < 0
               ? NULL
               : cad_result_view(var->tape, out, ndim, shape, NULL, size, passive, is_single);
}

PyObject *cad_array_gather(CadVar *var, PyObject *key) {
    if (cad_pin(var->tape) < 0) {
        return NULL;
    }
    PyArrayObject *array = cad_offsets_of(var, key);
    PyObject *result = array == NULL ? NULL : gather(var, array);
    Py_XDECREF(array);
    cad_tape_unpin(var->tape);
    return result;
}
