/* What an object is to an operation: a plain number, a Var, a Dual, an array, or none of these;
 * the value inside, and the number of axes. Nothing is computed here. */
#include "numbers/objects/classify.h"

#include "kernels/single.h"

#include <fenv.h>

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

CadPointer *cad_innermost(PyObject *number) {
    while (CAD_IS_DUAL(number) && CAD_DUAL(number)->kind >= CAD_DUAL_OBJECT) {
        number = CAD_DUAL(number)->primal_object;
    }
    return number;
}

bool cad_is_single(PyObject *object) {
    object = cad_innermost(object);
    if (CAD_IS_VAR(object)) {
        return CAD_IS_VAR_ARRAY(object) && (CAD_VAR(object)->view->flags & CAD_SINGLE) != 0;
    }
    return PyArray_Check(object) ? PyArray_TYPE((PyArrayObject *)object) == NPY_FLOAT
                                 : PyArray_IsScalar(object, Float);
}

bool cad_is_single_number(PyObject *object) {
    if (CAD_IS_VAR_ARRAY(object)) {
        const CadView *const view = CAD_VAR(object)->view;
        return view->ndim == 0 && (view->flags & (CAD_CELL | CAD_SINGLE)) == CAD_SINGLE;
    }
    return 0;
}

bool cad_is_cell(PyObject *object) {
    return (CAD_IS_VAR_ARRAY(object) || CAD_IS_DUAL_ARRAY(object)) && cad_ndim(object) == 0 &&
           !cad_is_single_number(object);
}

CadPrecision cad_precision_of_type(int type) {
    return type == NPY_BOOL || type == NPY_BYTE || type == NPY_UBYTE || type == NPY_SHORT ||
                   type == NPY_USHORT || type == NPY_HALF || type == NPY_FLOAT
               ? CAD_FITS_SINGLE
               : CAD_FITS_DOUBLE;
}

CadPrecision cad_precision_of_number(PyObject *number) {
    if (PyFloat_CheckExact(number) || PyLong_Check(number)) { /* as bools are */
        return CAD_WEAK;
    }
    return PyArray_IsScalar(number, Float) || PyArray_IsScalar(number, Half) ||
                   PyArray_IsScalar(number, Bool) || PyArray_IsScalar(number, Byte) ||
                   PyArray_IsScalar(number, UByte) || PyArray_IsScalar(number, Short) ||
                   PyArray_IsScalar(number, UShort)
               ? CAD_FITS_SINGLE
               : CAD_FITS_DOUBLE;
}

PyObject *cad_as_floats(PyObject *numbers) {
    PyArrayObject *wide = (PyArrayObject *)PyArray_FROMANY(
        numbers, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST);
    PyObject *floats =
        wide == NULL ? NULL : PyArray_SimpleNew(PyArray_NDIM(wide), PyArray_DIMS(wide), NPY_FLOAT);
    if (floats != NULL) {
        cad_narrow_row(PyArray_DATA((PyArrayObject *)floats), PyArray_DATA(wide),
                       (size_t)PyArray_SIZE(wide));
        feclearexcept(FE_ALL_EXCEPT);
    }
    Py_XDECREF(wide);
    return floats;
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
