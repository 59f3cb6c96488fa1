/* Array Vars as Python's sequences and mappings: NumPy itself finds the view that a key names.
 * Copies by arrays of indices and assignments are entries, which other files append. */
#include "numbers/array/array.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/references.h"
#include "numbers/objects/views.h"
#include "numbers/operations/operations.h"
#include "numbers/var/var.h"

#include "tape/tape.h"

/* The part of a Var that NumPy found: a single number only if NumPy would not make a view. */
static PyObject *part_at(CadVar *var, PyObject *key, PyObject *part) {
    if (PyArray_NDIM((PyArrayObject *)part) > 0 || cad_has_ellipsis(key)) {
        return cad_var_part(var, part);
    }
    const double *place = PyArray_DATA((PyArrayObject *)part);
    return cad_var_pick(var, (CadSlot)(place - var->tape->values));
}

/* Indexing by anything but a whole number: NumPy itself finds the view, unless a replay is to. */
static PyObject *general_item(CadVar *var, PyObject *key) {
    PyObject *taken = cad_taken_by_masks((PyObject *)var, key);
    if (taken != Py_None) {
        return taken;
    }
    Py_DECREF(taken);
    PyObject *whole = cad_key_with_ellipsis(key);
    PyObject *array = whole == NULL ? NULL : cad_var_transient(var, var->tape->values, 0);
    PyObject *part = cad_then_with(array, PyObject_GetItem, whole);
    PyObject *result = NULL;
    if (part != NULL && cad_is_in_values(var->tape, part)) {
        result = part_at(var, key, part);
    } else if (part != NULL && PyArray_Check(part) && PyArray_SIZE((PyArrayObject *)part) == 0) {
        result = cad_var_part(var, part);
    } else if (part != NULL) {
        result = cad_array_gather(var, key);
    }
    Py_XDECREF(part);
    Py_XDECREF(whole);
    return result;
}

static PyObject *raise_not_array(const char *what) {
    PyErr_Format(PyExc_TypeError,
                 "a 0-d Var holds one number and has no %s; call f with an array or a list, or "
                 "write cadiff.numpy.atleast_1d(x)",
                 what);
    return NULL;
}

/* Whether there is a first axis. */
static int has_axes(const CadVar *var) {
    return CAD_IS_VAR_ARRAY(var) && var->view->ndim > 0;
}

static Py_ssize_t var_length(CadVar *var) {
    if (!has_axes(var)) {
        raise_not_array("len()");
        return -1;
    }
    return CAD_SHAPE(var->view)[0];
}

/* A part of what is left of an array when its computation is over. */
static PyObject *stale_part(const CadVar *var, PyObject *key) {
    PyObject *item = cad_then_with(cad_var_values((PyObject *)var), PyObject_GetItem, key);
    const int type = cad_is_single((PyObject *)var) ? NPY_FLOAT : NPY_DOUBLE;
    PyObject *part = item == NULL ? NULL : PyArray_FROM_OT(item, type);
    Py_XDECREF(item);
    return cad_then(part, cad_var_stale);
}

/* `asked` is the index before a negative one was counted from the end. */
static PyObject *item_at(CadVar *var, Py_ssize_t index, Py_ssize_t asked) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        return raise_not_array("elements: it cannot be indexed or iterated");
    }
    const CadView *view = var->view;
    if (view->ndim == 0) {
        if (cad_is_single_number((PyObject *)var)) {
            return raise_not_array("elements: it cannot be indexed or iterated");
        }
        PyErr_SetString(PyExc_IndexError, "too many indices: a view of no axes is read by v[()]");
        return NULL;
    }
    if (index < 0 || index >= CAD_SHAPE(view)[0]) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for a Var of length %zd", asked,
                     (Py_ssize_t)CAD_SHAPE(view)[0]);
        return NULL;
    }
    if (var->kind == CAD_STALE) {
        PyObject *key = PyLong_FromSsize_t(index);
        PyObject *part = key == NULL ? NULL : stale_part(var, key);
        Py_XDECREF(key);
        return part;
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

/* A mask without axes as one of one element. */
static PyObject *mask_of_one(PyObject *key) {
    const int is_array = PyArray_Check(key) && PyArray_TYPE((PyArrayObject *)key) == NPY_BOOL &&
                         PyArray_NDIM((PyArrayObject *)key) == 0;
    if (!PyBool_Check(key) && !PyArray_IsScalar(key, Bool) && !is_array) {
        return NULL;
    }
    PyObject *array = PyArray_FROM_OT(key, NPY_BOOL);
    PyObject *mask = array == NULL ? NULL : PyArray_Ravel((PyArrayObject *)array, NPY_CORDER);
    Py_XDECREF(array);
    return mask;
}

PyObject *cad_number_at(PyObject *number, PyObject *key) {
    const int axes = cad_new_axes(key);
    if (axes >= 0) {
        return cad_with_axes(number, axes);
    }
    PyObject *mask = mask_of_one(key);
    PyObject *array = mask == NULL ? NULL : cad_with_axes(number, 1);
    PyObject *part = cad_then_with(array, PyObject_GetItem, mask);
    Py_XDECREF(mask);
    return part;
}

static PyObject *var_subscript(CadVar *var, PyObject *key) {
    if (PyLong_CheckExact(key) || PyArray_IsScalar(key, Integer)) {
        const Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (index == -1 && PyErr_Occurred()) {
            return NULL;
        }
        const Py_ssize_t from_end = index < 0 && has_axes(var) ? CAD_SHAPE(var->view)[0] : 0;
        return item_at(var, index + from_end, index);
    }
    if (!CAD_IS_VAR_ARRAY(var) || cad_is_single_number((PyObject *)var)) {
        PyObject *part = cad_number_at((PyObject *)var, key);
        return part != NULL || PyErr_Occurred()
                   ? part
                   : raise_not_array("elements: it cannot be indexed or iterated");
    }
    return var->kind == CAD_STALE ? stale_part(var, key) : general_item(var, key);
}

static int var_assign(CadVar *var, PyObject *key, PyObject *value) {
    if (!CAD_IS_VAR_ARRAY(var) || cad_is_single_number((PyObject *)var)) {
        raise_not_array("elements: it cannot be assigned to");
        return -1;
    }
    if (value == NULL) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    return var->kind == CAD_STALE ? cad_raise_stale() : cad_array_assign(var, key, value);
}

/* A type of numbers that may have axes has this, and a length; that of single numbers has neither,
   so that `hasattr` and `collections.abc` tell them apart. */
PyObject *cad_var_iter(CadVar *var) {
    return has_axes(var) ? PySeqIter_New((PyObject *)var)
                         : raise_not_array("elements: it cannot be indexed or iterated");
}

PyMappingMethods cad_var_mapping = {
    .mp_subscript = (binaryfunc)var_subscript,
    .mp_ass_subscript = (objobjargproc)var_assign,
};

PyMappingMethods cad_var_array_mapping = {
    .mp_length = (lenfunc)var_length,
    .mp_subscript = (binaryfunc)var_subscript,
    .mp_ass_subscript = (objobjargproc)var_assign,
};

PySequenceMethods cad_var_sequence = {
    .sq_length = (lenfunc)var_length,
    .sq_item = (ssizeargfunc)var_item,
    .sq_contains = cad_contains,
};
