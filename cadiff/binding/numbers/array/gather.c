/* Copies of elements of array Vars by arrays of indices: NumPy indexes an array of the slots, and
 * the entry keeps the offsets that come of it. Whether a key names a view instead is not known
 * here. */
#include "numbers/array/inner.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/tape.h"
#include "numbers/objects/views.h"
#include "numbers/var/var.h"

#include "arrays/arrays.h"

PyArrayObject *cad_offsets_of(const CadVar *var, PyObject *key, size_t low) {
    PyObject *numbers = cad_var_offsets(var, low);
    PyObject *part = numbers == NULL ? NULL : PyObject_GetItem(numbers, key);
    Py_XDECREF(numbers);
    PyObject *offsets =
        part == NULL ? NULL : PyArray_FROMANY(part, NPY_INT64, 0, 0, NPY_ARRAY_CARRAY_RO);
    Py_XDECREF(part);
    return (PyArrayObject *)offsets;
}

int cad_put_offsets(CadTape *tape, PyArrayObject *offsets, CadSlot *slot) {
    const size_t size = (size_t)PyArray_SIZE(offsets);
    const CadStatus status = cad_tape_block(tape, size, 0, slot);
    if (status != CAD_OK) {
        return cad_raise_status(status);
    }
    memcpy(tape->values + *slot, PyArray_DATA(offsets), size * sizeof(npy_int64));
    return 0;
}

PyObject *cad_array_gather(CadVar *var, PyObject *key) {
    CadTape *tape = var->tape;
    size_t low, high;
    PyObject *result = NULL;
    if (cad_pin(tape) < 0) {
        return NULL;
    }
    cad_var_bounds(var, &low, &high);
    PyArrayObject *offsets = cad_offsets_of(var, key, low);
    CadSlot index, out;
    if (offsets != NULL && PyArray_SIZE(offsets) == 0) {
        CadShape shape = {.ndim = PyArray_NDIM(offsets)};
        memcpy(shape.of, PyArray_DIMS(offsets), (size_t)shape.ndim * sizeof *shape.of);
        result = cad_empty_array(tape, &shape);
    } else if (offsets != NULL && cad_put_offsets(tape, offsets, &index) == 0) {
        const int64_t size = PyArray_SIZE(offsets), stride = 1;
        const int passive = cad_array_is_constant(var);
        const CadRequest request = {
            .op = CAD_OP_GATHER,
            .passive = (uint32_t)passive << 1,
            .ndim = 1,
            .shape = &size,
            .n_views = 1,
            .views = {{CAD_OWN, &stride}},
            .slots = (size_t)size,
            .index = index,
            .extra = {(int64_t)low, (int64_t)high},
        };
        const CadStatus status = cad_array_push(tape, &request, &out);
        if (status != CAD_OK) {
            cad_raise_status(status);
        } else {
            result = cad_result_view(tape, out, PyArray_NDIM(offsets), PyArray_DIMS(offsets),
                                     request.slots, passive);
        }
    }
    Py_XDECREF(offsets);
    cad_tape_unpin(tape);
    return result;
}
