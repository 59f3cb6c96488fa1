/* Array Vars as views over numbers of the tape: their values, their single elements, and indexing,
 * for which NumPy itself finds the view. Copies by arrays of indices and assignment are entries:
 * those of _array_index.c and _array_assign.c. */
#include "numbers/var.h"

/* --- the numbers that a view covers --- */

void cad_var_bounds(const CadVar *var, size_t *low, size_t *high) {
    *low = *high = var->slot;
    if (!CAD_IS_VAR_ARRAY(var) || var->view->size == 0) {
        return;
    }
    for (int i = 0; i < var->view->ndim; i++) {
        const npy_intp reach = (CAD_SHAPE(var->view)[i] - 1) * CAD_STRIDES(var->view)[i];
        *(reach < 0 ? low : high) += (size_t)reach;
    }
}

int cad_var_is_contiguous(const CadVar *var) {
    npy_intp stride = 1;
    for (int i = var->view->ndim; i-- > 0;) {
        if (CAD_SHAPE(var->view)[i] != 1 && CAD_STRIDES(var->view)[i] != stride) {
            return 0;
        }
        stride *= CAD_SHAPE(var->view)[i];
    }
    return 1;
}

PyObject *cad_shape_tuple(int ndim, const npy_intp *shape) {
    PyObject *tuple = PyTuple_New(ndim);
    for (int i = 0; tuple != NULL && i < ndim; i++) {
        PyObject *length = PyLong_FromSsize_t(shape[i]);
        if (length == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, i, length);
    }
    return tuple;
}

PyObject *cad_var_like(const CadVar *var, CadSlot slot) {
    const CadView *view = var->view;
    return cad_var_view(var->tape, slot, view->ndim, CAD_SHAPE(view), CAD_STRIDES(view), 0);
}

PyObject *cad_var_as_input(PyObject *var) {
    if (CAD_IS_VAR_ARRAY(var)) {
        const CadSlot begin = CAD_VAR(var)->slot;
        const size_t end = begin + (size_t)CAD_VAR(var)->view->size;
        const CadStatus status = cad_tape_note_block(CAD_VAR(var)->tape, begin, end, CAD_ARGUMENT);
        if (status != CAD_OK) {
            cad_raise_status(status);
            return NULL;
        }
        CAD_VAR(var)->view->flags = CAD_INPUT;
    }
    return Py_NewRef(var);
}

/* --- arrays over buffers of the tape --- */

PyObject *cad_var_transient(const CadVar *var, double *buffer, int flags) {
    npy_intp strides[NPY_MAXDIMS];
    for (int i = 0; i < var->view->ndim; i++) {
        strides[i] = CAD_STRIDES(var->view)[i] * (npy_intp)sizeof(double);
    }
    return PyArray_New(&PyArray_Type, var->view->ndim, CAD_SHAPE(var->view), NPY_DOUBLE, strides,
                       buffer + var->slot, 0, flags, NULL);
}

PyObject *cad_var_transient_copy(const CadVar *var, double *buffer, size_t base) {
    const CadVar moved = {.view = var->view, .slot = (CadSlot)(var->slot - base)};
    PyObject *array = cad_var_transient(&moved, buffer, 0);
    if (array == NULL) {
        return NULL;
    }
    PyObject *copy = PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER);
    Py_DECREF(array);
    return copy;
}

PyObject *cad_var_values(CadVar *var) {
    if (var->kind == CAD_STALE) {
        const CadView *view = var->view;
        if (view->kept == NULL) {
            return PyErr_NoMemory();
        }
        PyObject *copy = PyArray_SimpleNew(view->ndim, CAD_SHAPE(view), NPY_DOUBLE);
        if (copy != NULL) {
            memcpy(PyArray_DATA((PyArrayObject *)copy), view->kept,
                   (size_t)view->size * sizeof(double));
        }
        return copy;
    }
    if (var->tape->busy && var->tape->n_assigned > 0) {
        cad_raise_status(CAD_BUSY); /* values are not those that the array has in the end */
        return NULL;
    }
    return cad_var_transient_copy(var, cad_tape_values(var->tape, var->slot), 0);
}

int cad_is_in_values(const CadTape *tape, PyObject *object) {
    if (!PyArray_Check(object)) {
        return 0;
    }
    const uintptr_t data = (uintptr_t)PyArray_DATA((PyArrayObject *)object);
    return data >= (uintptr_t)tape->values && data < (uintptr_t)(tape->values + tape->n_slots);
}

/* --- elements and parts --- */

static int is_changed(const CadTape *tape, CadSlot slot) {
    const CadBlock *block = cad_tape_find_block(tape, slot);
    return block != NULL && block->changed;
}

/* A single number of an input shares its slot. Of an array that may be assigned to it is a copy.
 */
PyObject *cad_var_pick(CadVar *var, CadSlot slot) {
    CadTape *tape = var->tape;
    CadView *view = var->view;
    if (!(view->flags & CAD_PICKED)) {
        cad_tape_use_singly(tape, slot);
        view->flags |= CAD_PICKED;
    }
    if (view->flags & CAD_INPUT && (tape->n_assigned == 0 || !is_changed(tape, slot))) {
        return cad_var_new(tape, slot, tape->values[slot]);
    }
    if (view->flags & CAD_CONSTANT && cad_tape_is_constant(tape, slot)) {
        return cad_var_passive(tape->values[slot]);
    }
    const size_t from_start = slot - var->slot;
    const CadStatus status = cad_tape_ensure(tape);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    slot = var->slot + (CadSlot)from_start; /* the array may have moved */
    const double value = tape->values[slot];
    return cad_var_new(tape, cad_tape_push(tape, CAD_CODE(CAD_OP_positive, 0), slot, slot, value),
                       value);
}

PyObject *cad_var_elements(CadVar *var) {
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    PyObject *result = PyArray_SimpleNew(var->view->ndim, CAD_SHAPE(var->view), NPY_OBJECT);
    if (result == NULL || var->view->size == 0) {
        return result;
    }
    npy_intp index[NPY_MAXDIMS] = {0};
    cad_tape_pin(var->tape);
    CadSlot slot = var->slot;
    PyObject **item = PyArray_DATA((PyArrayObject *)result);
    for (npy_intp i = 0; i < var->view->size; i++) {
        Py_XSETREF(item[i], cad_var_pick(var, slot));
        if (item[i] == NULL) {
            Py_CLEAR(result);
            break;
        }
        slot = cad_view_next(var->view, index, slot);
    }
    cad_tape_unpin(var->tape);
    return result;
}

PyObject *cad_var_part(CadVar *var, PyObject *object) {
    CadTape *tape = var->tape;
    PyArrayObject *array = (PyArrayObject *)object;
    npy_intp strides[NPY_MAXDIMS];
    const int ndim = PyArray_NDIM(array);
    for (int i = 0; i < ndim; i++) {
        strides[i] = PyArray_STRIDE(array, i) / (npy_intp)sizeof(double);
    }
    const CadSlot slot = PyArray_SIZE(array) == 0
                             ? var->slot
                             : (CadSlot)((double *)PyArray_DATA(array) - tape->values);
    if (ndim == 0) {
        return cad_var_pick(var, slot);
    }
    return cad_var_view(tape, slot, ndim, PyArray_DIMS(array), strides, var->view->flags);
}

/* --- indexing --- */

static int has_ellipsis(PyObject *key) {
    if (!PyTuple_Check(key)) {
        return key == Py_Ellipsis;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        if (PyTuple_GET_ITEM(key, i) == Py_Ellipsis) {
            return 1;
        }
    }
    return 0;
}

/* The key with `...` behind it, so that NumPy answers with a view even for a single element. */
static PyObject *with_ellipsis(PyObject *key) {
    if (has_ellipsis(key)) {
        return Py_NewRef(key);
    }
    if (!PyTuple_Check(key)) {
        return PyTuple_Pack(2, key, Py_Ellipsis);
    }
    PyObject *tail = PyTuple_Pack(1, Py_Ellipsis);
    PyObject *whole = tail == NULL ? NULL : PySequence_Concat(key, tail);
    Py_XDECREF(tail);
    return whole;
}

/* Indexing by anything but a whole number: NumPy itself finds the view. */
static PyObject *general_item(CadVar *var, PyObject *key) {
    PyObject *whole = with_ellipsis(key);
    PyObject *array = whole == NULL ? NULL : cad_var_transient(var, var->tape->values, 0);
    PyObject *part = array == NULL ? NULL : PyObject_GetItem(array, whole);
    PyObject *result = NULL;
    if (part != NULL && cad_is_in_values(var->tape, part)) {
        result = cad_var_part(var, part);
    } else if (part != NULL && PyArray_Check(part) && PyArray_SIZE((PyArrayObject *)part) == 0) {
        result = cad_var_part(var, part);
    } else if (part != NULL) {
        result = cad_array_gather(var, key);
    }
    Py_XDECREF(part);
    Py_XDECREF(array);
    Py_XDECREF(whole);
    return result;
}

static int raise_not_array(const char *what) {
    PyErr_Format(PyExc_TypeError, "a 0-d Var holds one number and has no %s", what);
    return -1;
}

static Py_ssize_t var_length(CadVar *var) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        return raise_not_array("len()");
    }
    return CAD_SHAPE(var->view)[0];
}

/* `asked` is the index before a negative one was counted from the end. */
static PyObject *item_at(CadVar *var, Py_ssize_t index, Py_ssize_t asked) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        raise_not_array("elements: it cannot be indexed or iterated");
        return NULL;
    }
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    const CadView *view = var->view;
    if (index < 0 || index >= CAD_SHAPE(view)[0]) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for a Var of length %zd", asked,
                     (Py_ssize_t)CAD_SHAPE(view)[0]);
        return NULL;
    }
    const CadSlot slot = var->slot + (CadSlot)(index * CAD_STRIDES(view)[0]);
    if (view->ndim == 1) {
        return cad_var_pick(var, slot);
    }
    return cad_var_view(var->tape, slot, view->ndim - 1, CAD_SHAPE(view) + 1,
                        CAD_STRIDES(view) + 1, view->flags);
}

static PyObject *var_item(CadVar *var, Py_ssize_t index) {
    return item_at(var, index, index);
}

int cad_new_axes(PyObject *key) {
    if (!PyTuple_Check(key)) {
        return key == Py_None ? 1 : key == Py_Ellipsis ? 0 : -1;
    }
    int count = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        PyObject *item = PyTuple_GET_ITEM(key, i);
        if (item != Py_None && (item != Py_Ellipsis || ++ellipses > 1)) {
            return -1;
        }
        count += item == Py_None;
    }
    return count;
}

static PyObject *var_subscript(CadVar *var, PyObject *key) {
    if (PyLong_CheckExact(key) || PyArray_IsScalar(key, Integer)) {
        Py_ssize_t index = PyLong_CheckExact(key) ? PyLong_AsSsize_t(key) : -1;
        if (index == -1) { /* or a NumPy integer, or an int that is out of range */
            PyErr_Clear();
            index = PyNumber_AsSsize_t(key, PyExc_IndexError);
            if (index == -1 && PyErr_Occurred()) {
                return NULL;
            }
        }
        const Py_ssize_t from_end =
            index < 0 && CAD_IS_VAR_ARRAY(var) ? CAD_SHAPE(var->view)[0] : 0;
        return item_at(var, index + from_end, index);
    }
    if (!CAD_IS_VAR_ARRAY(var)) {
        const int axes = cad_new_axes(key);
        if (axes < 0) {
            raise_not_array("elements: it cannot be indexed or iterated");
            return NULL;
        }
        return cad_with_axes((PyObject *)var, axes);
    }
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    return general_item(var, key);
}

static int var_assign(CadVar *var, PyObject *key, PyObject *value) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        return raise_not_array("elements: it cannot be assigned to");
    }
    if (value == NULL) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    return var->kind == CAD_STALE ? cad_raise_stale() : cad_array_assign(var, key, value);
}

PyObject *cad_var_iter(CadVar *var) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        raise_not_array("elements: it cannot be indexed or iterated");
        return NULL;
    }
    return PySeqIter_New((PyObject *)var);
}

PyMappingMethods cad_var_mapping = {
    .mp_length = (lenfunc)var_length,
    .mp_subscript = (binaryfunc)var_subscript,
    .mp_ass_subscript = (objobjargproc)var_assign,
};

PySequenceMethods cad_var_sequence = {
    .sq_length = (lenfunc)var_length,
    .sq_item = (ssizeargfunc)var_item,
    .sq_contains = cad_contains,
};
