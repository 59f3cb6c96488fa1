/* Vars as views over numbers of the tape: their values as arrays, their single elements and parts.
 * Which part a key names is not known here. */
#include "numbers/var/var.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/slabs.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/references.h"
#include "numbers/objects/views.h"

#include "tape/blocks.h"

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
    return cad_then(cad_var_transient(&moved, buffer, 0), cad_copy_in_order);
}

/* An array of the numbers of a Var in the precision that it has; which is taken over. */
static PyObject *in_its_precision(const CadVar *var, PyObject *numbers) {
    if (numbers != NULL && var->view->flags & CAD_SINGLE) {
        Py_SETREF(numbers, cad_as_floats(numbers));
    }
    return numbers;
}

PyObject *cad_var_values(PyObject *array) {
    CadVar *var = CAD_VAR(array);
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
        return in_its_precision(var, copy);
    }
    if (var->tape->busy && var->tape->n_assigned > 0) {
        cad_raise_status(CAD_BUSY); /* values are not those that the array has in the end */
        return NULL;
    }
    return in_its_precision(var,
                            cad_var_transient_copy(var, cad_tape_values(var->tape, var->slot), 0));
}

bool cad_is_in_values(const CadTape *tape, PyObject *object) {
    if (!PyArray_Check(object)) {
        return 0;
    }
    const uintptr_t data = (uintptr_t)PyArray_DATA((PyArrayObject *)object);
    return data >= (uintptr_t)tape->values && data < (uintptr_t)(tape->values + tape->n_slots);
}

/* --- slots --- */

PyObject *cad_var_offsets(const CadVar *var, size_t low) {
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

PyObject *cad_var_slots(const CadVar *var) {
    if (CAD_IS_VAR_ARRAY(var)) {
        return cad_then(cad_var_offsets(var, 0), cad_copy_in_order);
    }
    PyObject *slot = PyArray_SimpleNew(0, NULL, NPY_INT64);
    if (slot != NULL) {
        *(npy_int64 *)PyArray_DATA((PyArrayObject *)slot) = var->slot;
    }
    return slot;
}

/* --- elements and parts --- */

static int is_changed(const CadTape *tape, CadSlot slot) {
    const CadBlock *block = cad_tape_find_block(tape, slot);
    return block != NULL && block->changed;
}

/* A number on the tape that was taken from an array: of float32 a view of no axes. */
static PyObject *number_at(CadTape *tape, CadSlot slot, uint32_t flags) {
    return flags & CAD_SINGLE ? cad_var_view(tape, slot, 0, NULL, NULL, flags)
                              : cad_var_new(tape, slot, tape->values[slot]);
}

/* A single number of an input shares its slot. Of an array that may be assigned to it is a copy.
 */
PyObject *cad_var_pick(CadVar *var, CadSlot slot) {
    CadTape *tape = var->tape;
    CadView *view = var->view;
    const uint32_t single = view->flags & CAD_SINGLE;
    if (!(view->flags & CAD_PICKED)) {
        cad_tape_use_singly(tape, slot);
        view->flags |= CAD_PICKED;
    }
    if (view->flags & CAD_INPUT && (tape->n_assigned == 0 || !is_changed(tape, slot))) {
        return number_at(tape, slot, single);
    }
    const int constant = view->flags & CAD_CONSTANT && cad_tape_is_constant(tape, slot);
    if (constant && !single) {
        return cad_var_passive(tape->values[slot]);
    }
    const size_t from_start = slot - var->slot;
    if (cad_check(cad_tape_ensure(tape)) < 0) {
        return NULL;
    }
    slot = var->slot + (CadSlot)from_start; /* the array may have moved */
    const double value = tape->values[slot];
    slot = cad_tape_push(tape, CAD_CODE(CAD_OP_positive, constant ? CAD_PASSIVE_A : 0), slot, slot,
                         value);
    if (constant && cad_check(cad_tape_note_block(tape, slot, slot + 1, CAD_CONSTANTS)) < 0) {
        return NULL;
    }
    return number_at(tape, slot, single | (constant ? CAD_CONSTANT : 0));
}

PyObject *cad_var_elements(PyObject *array) {
    CadVar *var = CAD_VAR(array);
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
    const uint32_t flags = var->view->flags | (ndim == 0 ? CAD_CELL : 0);
    return cad_var_view(tape, slot, ndim, PyArray_DIMS(array), strides, flags);
}

PyObject *cad_var_like(const CadVar *var, CadSlot slot) {
    const CadView *view = var->view;
    return cad_var_view(var->tape, slot, view->ndim, CAD_SHAPE(view), CAD_STRIDES(view), 0);
}

PyObject *cad_var_as_input(PyObject *var) {
    if (CAD_IS_VAR_ARRAY(var)) {
        const CadSlot begin = CAD_VAR(var)->slot;
        const size_t end = begin + (size_t)CAD_VAR(var)->view->size;
        if (cad_check(cad_tape_note_block(CAD_VAR(var)->tape, begin, end, CAD_ARGUMENT)) < 0) {
            return NULL;
        }
        cad_tape_activate(CAD_VAR(var)->tape, begin); /* a copy of constants is none of them */
        CAD_VAR(var)->view->flags = CAD_INPUT | (CAD_VAR(var)->view->flags & CAD_SINGLE);
    }
    return Py_NewRef(var);
}
