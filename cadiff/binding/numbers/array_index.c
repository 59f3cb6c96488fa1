/* Indexing array Vars by arrays, where the result is no view: NumPy indexes an array of the slots,
 * and the entry keeps the offsets that come of it. */
#include "numbers/array.h"

/* Of every element its slot, counted from `low`: as an array of the Var's shape, which NumPy then
 * indexes. */
static PyObject *slot_numbers(const CadVar *var, size_t low) {
    const CadView *view = var->view;
    npy_intp strides[NPY_MAXDIMS];
    size_t begin, end;
    cad_var_bounds(var, &begin, &end);
    PyObject *numbers =
        PyArray_Arange((double)(begin - low), (double)(end - low + 1), 1.0, NPY_INT64);
    if (numbers == NULL) {
        return NULL;
    }
    for (int i = 0; i < view->ndim; i++) {
        strides[i] = CAD_STRIDES(view)[i] * (npy_intp)sizeof(npy_int64);
    }
    npy_int64 *data = (npy_int64 *)PyArray_DATA((PyArrayObject *)numbers) + (var->slot - begin);
    PyObject *array = PyArray_New(&PyArray_Type, view->ndim, CAD_SHAPE(view), NPY_INT64, strides,
                                  data, 0, 0, NULL);
    if (array == NULL || PyArray_SetBaseObject((PyArrayObject *)array, numbers) < 0) {
        Py_XDECREF(array);
        return NULL; /* the base was taken over in any case but the first */
    }
    return array;
}

PyArrayObject *cad_offsets_of(const CadVar *var, PyObject *key, size_t low) {
    PyObject *numbers = slot_numbers(var, low);
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

PyObject *cad_var_slots(const CadVar *var) {
    if (CAD_IS_VAR_ARRAY(var)) {
        PyObject *numbers = slot_numbers(var, 0);
        PyObject *copy =
            numbers == NULL ? NULL : PyArray_NewCopy((PyArrayObject *)numbers, NPY_CORDER);
        Py_XDECREF(numbers);
        return copy;
    }
    PyObject *slot = PyArray_SimpleNew(0, NULL, NPY_INT64);
    if (slot != NULL) {
        *(npy_int64 *)PyArray_DATA((PyArrayObject *)slot) = var->slot;
    }
    return slot;
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
