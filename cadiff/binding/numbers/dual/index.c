/* Elements and parts of array Duals: indexing, iteration and assignment act on primal and tangent
 * alike, whatever arrays these are. */
#include "numbers/dual/dual.h"
#include "numbers/array/array.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/components.h"
#include "numbers/objects/references.h"
#include "numbers/objects/views.h"
#include "numbers/operations/operations.h"

/* --- parts --- */

static PyObject *not_array(void) {
    PyErr_SetString(PyExc_TypeError,
                    "a 0-d Dual holds one number: it has no length and no elements");
    return NULL;
}

/* The key for the tangent: an ellipsis must not swallow the axis of lanes. */
static PyObject *tangent_key(const CadDual *dual, PyObject *key) {
    if (!cad_has_ellipsis(key) || !cad_dual_has_lanes(dual)) {
        return Py_NewRef(key);
    }
    return cad_with(cad_key_before, key, PySlice_New(NULL, NULL, NULL));
}

static PyObject *dual_subscript(CadDual *dual, PyObject *key) {
    if (dual->kind != CAD_DUAL_ARRAY) {
        PyObject *part = cad_number_at((PyObject *)dual, key);
        return part != NULL || PyErr_Occurred() ? part : not_array();
    }
    PyObject *other = tangent_key(dual, key);
    PyObject *p = other == NULL ? NULL : PyObject_GetItem(dual->primal_object, key);
    PyObject *t = p == NULL ? NULL : PyObject_GetItem(dual->tangent_object, other);
    Py_XDECREF(other);
    return cad_dual_of_parts(p, t, dual->tag);
}

static Py_ssize_t dual_length(CadDual *dual) {
    if (cad_ndim((PyObject *)dual) == 0) {
        not_array();
        return -1;
    }
    return PyObject_Size(dual->primal_object);
}

static PyObject *dual_item(CadDual *dual, Py_ssize_t index) {
    const Py_ssize_t length = dual_length(dual);
    if (length < 0) {
        return NULL;
    }
    if (index < 0 || index >= length) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for a Dual of length %zd",
                     index, length);
        return NULL;
    }
    PyObject *key = PyLong_FromSsize_t(index);
    PyObject *item = key == NULL ? NULL : dual_subscript(dual, key);
    Py_XDECREF(key);
    return item;
}

PyObject *cad_dual_iter(CadDual *dual) {
    return cad_ndim((PyObject *)dual) > 0 ? PySeqIter_New((PyObject *)dual) : not_array();
}

PyObject *cad_dual_elements(PyObject *array) {
    const npy_intp *lengths;
    const int ndim = cad_lengths(array, &lengths);
    PyObject *result = PyArray_SimpleNew(ndim, (npy_intp *)lengths, NPY_OBJECT);
    const npy_intp size = result == NULL ? 0 : PyArray_SIZE((PyArrayObject *)result);
    PyObject **item = size == 0 ? NULL : PyArray_DATA((PyArrayObject *)result);
    for (npy_intp i = 0; i < size; i++) {
        PyObject *key = cad_index_of_place(ndim, lengths, i);
        Py_XSETREF(item[i], key == NULL ? NULL : dual_subscript(CAD_DUAL(array), key));
        Py_XDECREF(key);
        if (item[i] == NULL) {
            Py_CLEAR(result);
            break;
        }
    }
    return result;
}

PyObject *cad_dual_values(PyObject *array) {
    PyObject *primal = CAD_DUAL(array)->primal_object;
    return PyArray_Check(primal) ? cad_dual_primal(CAD_DUAL(array)) : cad_plain_value(primal);
}

/* --- assignment --- */

/* What a value assigned to a Dual of a tag holds for its primal and its tangent. */
static int split_assigned(const CadDual *dual, PyObject *value, PyObject **primal,
                          PyObject **tangent) {
    if (!CAD_IS_DUAL(value) || CAD_DUAL(value)->tag < dual->tag) {
        *primal = Py_NewRef(value);
        *tangent = PyFloat_FromDouble(0.0);
        return *tangent == NULL ? -1 : 0;
    }
    CadDual *source = CAD_DUAL(value);
    if (source->tag > dual->tag) {
        PyErr_SetString(
            PyExc_TypeError,
            "a Dual of an inner derivative cannot be assigned into an array of an outer "
            "one: make the array inside, with cadiff.zeros or cadiff.array");
        return -1;
    }
    *primal = source->kind == CAD_DUAL_ARRAY ? Py_NewRef(source->primal_object)
                                             : cad_dual_primal(source);
    *tangent = *primal == NULL ? NULL : cad_aligned_tangent(source, 0, cad_dual_has_lanes(dual));
    if (*tangent != NULL && !cad_dual_has_lanes(dual) && cad_ndim(*tangent) > cad_ndim(*primal)) {
        PyErr_SetString(
            PyExc_ValueError,
            "a Dual of several lanes is assigned into an array that has none: make the "
            "array with a tangent of shape (..., lanes)");
        return -1;
    }
    return *tangent == NULL ? -1 : 0;
}

/* A plain component takes what is constant as plain numbers. */
static int assign_component(PyObject *component, PyObject *key, PyObject *value) {
    PyObject *plain = PyArray_Check(component) ? cad_finalized(value) : Py_NewRef(value);
    const int status = plain == NULL ? -1 : PyObject_SetItem(component, key, plain);
    Py_XDECREF(plain);
    return status;
}

int cad_dual_assign(CadDual *dual, PyObject *key, PyObject *value) {
    if (dual->kind != CAD_DUAL_ARRAY) {
        not_array();
        return -1;
    }
    if (value == NULL) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    PyObject *p = NULL, *t = NULL;
    PyObject *other = tangent_key(dual, key);
    PyObject *numbers = cad_numbers_of(value);
    int status = other == NULL || numbers == NULL ? -1 : split_assigned(dual, numbers, &p, &t);
    Py_XDECREF(numbers);
    if (status == 0) {
        status = assign_component(dual->primal_object, key, p);
    }
    if (status == 0) {
        status = assign_component(dual->tangent_object, other, t);
    }
    Py_XDECREF(t);
    Py_XDECREF(p);
    Py_XDECREF(other);
    return status;
}

/* --- the tables of them --- */

PyMappingMethods cad_dual_mapping = {
    .mp_subscript = (binaryfunc)dual_subscript,
    .mp_ass_subscript = (objobjargproc)cad_dual_assign,
};

PyMappingMethods cad_dual_array_mapping = {
    .mp_length = (lenfunc)dual_length,
    .mp_subscript = (binaryfunc)dual_subscript,
    .mp_ass_subscript = (objobjargproc)cad_dual_assign,
};

PySequenceMethods cad_dual_sequence = {
    .sq_length = (lenfunc)dual_length,
    .sq_item = (ssizeargfunc)dual_item,
    .sq_contains = cad_contains,
};
