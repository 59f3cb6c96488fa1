/* What an object is to an operation: a plain number, a Var, a Dual, an array, or none of these;
 * the value inside, and the number of axes. Nothing is computed here. */
#include "numbers/objects/classify.h"

int cad_check_array(PyObject *array) {
    if (PyArray_CheckExact(array)) {
        return 0;
    }
    PyObject *const ancestors = Py_TYPE(array)->tp_mro;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ancestors); i++) {
        const char *name = ((PyTypeObject *)PyTuple_GET_ITEM(ancestors, i))->tp_name;
        if (strcmp(name, "MaskedArray") == 0) {
            PyErr_SetString(PyExc_TypeError,
                            "masked arrays have no place among numbers with derivatives: pass "
                            "x.filled(0.0), and choose with cadiff.where(~x.mask, ...)");
            return -1;
        }
        if (strcmp(name, "matrix") == 0) {
            PyErr_SetString(PyExc_TypeError,
                            "a numpy.matrix multiplies otherwise than arrays do: pass "
                            "numpy.asarray(x), and multiply with @");
            return -1;
        }
    }
    return 0;
}

PyObject *cad_checked_array(PyObject *object) {
    PyObject *array = PyArray_FROM_O(object);
    if (array != NULL && cad_check_array(array) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

int cad_classify_other(PyObject *object, double *value) {
    if (PyLong_Check(object)) {
        *value = PyLong_AsDouble(object);
        return *value == -1.0 && PyErr_Occurred() ? -1 : CAD_PLAIN;
    }
    if (PyArray_Check(object)) {
        return cad_check_array(object) < 0 ? -1 : CAD_ARRAY_CLASS;
    }
    if (PyArray_IsScalar(object, Bool) || PyArray_IsScalar(object, Integer) ||
        PyArray_IsScalar(object, Floating)) {
        PyObject *number = PyNumber_Float(object);
        if (number == NULL) {
            return -1;
        }
        *value = PyFloat_AS_DOUBLE(number);
        Py_DECREF(number);
        return CAD_PLAIN;
    }
    return CAD_FOREIGN;
}

double cad_primal(PyObject *object) {
    while (CAD_IS_DUAL(object) && CAD_DUAL(object)->kind == CAD_DUAL_OBJECT) {
        object = CAD_DUAL(object)->primal_object;
    }
    if (CAD_IS_DUAL(object)) {
        return CAD_DUAL(object)->kind == CAD_DUAL_ARRAY ? NAN : CAD_DUAL(object)->primal;
    }
    double value = NAN;
    const int class = cad_classify(object, &value);
    if (class < 0) {
        PyErr_Clear();
    }
    return class == CAD_PLAIN || class == CAD_VAR_CLASS ? value : NAN;
}

PyObject *cad_innermost(PyObject *number) {
    while (CAD_IS_DUAL(number) && CAD_DUAL(number)->kind >= CAD_DUAL_OBJECT) {
        number = CAD_DUAL(number)->primal_object;
    }
    return number;
}

int cad_lengths(PyObject *object, const npy_intp **lengths) {
    while (CAD_IS_DUAL_ARRAY(object)) {
        object = CAD_DUAL(object)->primal_object;
    }
    if (CAD_IS_VAR_ARRAY(object)) {
        *lengths = CAD_SHAPE(CAD_VAR(object)->view);
        return CAD_VAR(object)->view->ndim;
    }
    *lengths = PyArray_Check(object) ? PyArray_DIMS((PyArrayObject *)object) : NULL;
    return PyArray_Check(object) ? PyArray_NDIM((PyArrayObject *)object) : 0;
}

CadRow cad_row_of(PyObject *items) {
    PyObject *const *const every = PySequence_Fast_ITEMS(items);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    Py_ssize_t floats = 0, doubles = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *const item = every[i];
        if (PyFloat_CheckExact(item)) {
            floats++;
        } else if (Py_IS_TYPE(item, &PyDoubleArrType_Type)) {
            doubles++;
        } else if (!CAD_IS_TYPE(item, CadVar_Type) &&
                   !(CAD_IS_DUAL(item) && cad_ndim(item) == 0)) {
            return CAD_NO_ROW;
        }
    }
    if (n == 0 || (doubles > 0 && doubles < n)) {
        return CAD_NO_ROW;
    }
    if (floats == n) {
        return CAD_ROW_OF_FLOATS;
    }
    return doubles == n ? CAD_ROW_OF_DOUBLES : CAD_ROW_OF_NUMBERS;
}
