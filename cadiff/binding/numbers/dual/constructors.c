/* Duals made by hand: Dual(primal, tangent) and Dual.seed(x), from any components that users
 * give, and the errors that name the expected ones. Operations make theirs without this file. */
#include "numbers/dual/dual.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/components.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/references.h"
#include "numbers/objects/handles.h"

#include "tape/tape.h"

/* A fresh array of float64, or, of a primal, of float32. */
static PyObject *float_array(PyObject *object, const char *what, int keeps_single) {
    PyObject *array = cad_checked_array(object);
    if (array == NULL) {
        return NULL;
    }
    const int type = PyArray_TYPE((PyArrayObject *)array);
    if (!PyTypeNum_ISINTEGER(type) && !PyTypeNum_ISFLOAT(type)) {
        PyErr_Format(PyExc_TypeError,
                     "the %s of a Dual is a real number, a Var, a Dual, or an array-like of real "
                     "numbers, not %s of dtype %S",
                     what, Py_TYPE(object)->tp_name,
                     (PyObject *)PyArray_DESCR((PyArrayObject *)array));
        Py_DECREF(array);
        return NULL;
    }
    const int wanted = keeps_single && type == NPY_FLOAT ? NPY_FLOAT : NPY_DOUBLE;
    Py_SETREF(array, PyArray_FROMANY(array, wanted, 0, 0,
                                     NPY_ARRAY_DEFAULT | NPY_ARRAY_ENSURECOPY |
                                         NPY_ARRAY_FORCECAST | NPY_ARRAY_ENSUREARRAY));
    return array;
}

/* A component that is one number, as the kinds store it: a float, a float32, a Var or a Dual. NULL
 * without an exception if it is not. */
static PyObject *scalar_component(PyObject *object) {
    double number;
    if (PyArray_IsScalar(object, Float)) {
        return Py_NewRef(object);
    }
    const int class = CAD_IS_BOOL(object) ? CAD_FOREIGN : cad_classify(object, &number);
    if (class == CAD_PLAIN) {
        return PyFloat_FromDouble(number);
    }
    if (class == CAD_VAR_CLASS || class == CAD_DUAL_CLASS) {
        return Py_NewRef(object);
    }
    return NULL;
}

static CadTag tag_of(PyObject *component) {
    CadTag tag = CAD_IS_DUAL(component) ? CAD_DUAL(component)->tag : 0;
    for (Py_ssize_t k = 0; PyTuple_Check(component) && k < PyTuple_GET_SIZE(component); k++) {
        const CadTag lane = tag_of(PyTuple_GET_ITEM(component, k));
        tag = lane > tag ? lane : tag;
    }
    return tag;
}

/* A Dual above its components, and what runs; the tangent, which may be NULL, is taken over. */
static PyObject *make_above(PyObject *primal, PyObject *tangent) {
    const CadTape *tape = tangent == NULL ? NULL : cad_current_tape();
    PyObject *dual = NULL;
    if (tape != NULL) {
        CadTag tag = tag_of(primal) > tag_of(tangent) ? tag_of(primal) : tag_of(tangent);
        tag = tape->running_tag > tag ? tape->running_tag : tag;
        dual = cad_dual_from(primal, tangent, tag + 1);
    }
    Py_XDECREF(tangent);
    return dual;
}

static PyObject *refuse_tangent(PyObject *object) {
    PyErr_Format(
        PyExc_TypeError,
        "the tangent of a 0-d Dual is a number, or a 1-D array of numbers (lanes), not %s",
        Py_TYPE(object)->tp_name);
    return NULL;
}

/* Lanes that are numbers with derivatives themselves, as a tuple. */
static PyObject *lanes_of_objects(PyObject *object, PyObject *array) {
    PyObject *lanes = PySequence_Tuple(array);
    for (Py_ssize_t k = 0; lanes != NULL && k < PyTuple_GET_SIZE(lanes); k++) {
        PyObject *lane = scalar_component(PyTuple_GET_ITEM(lanes, k));
        if (lane == NULL) {
            Py_DECREF(lanes);
            return PyErr_Occurred() ? NULL : refuse_tangent(object);
        }
        Py_DECREF(PyTuple_GET_ITEM(lanes, k));
        PyTuple_SET_ITEM(lanes, k, lane);
    }
    return lanes;
}

/* A tangent that is an array, as a float if it is 0-d, else as a tuple of lanes. */
static PyObject *lanes_from(PyObject *object) {
    PyObject *array = PyArray_FROM_O(object);
    if (array == NULL) {
        return NULL;
    }
    const int ndim = PyArray_NDIM((PyArrayObject *)array);
    PyObject *result = NULL;
    if (PyArray_TYPE((PyArrayObject *)array) == NPY_OBJECT) {
        result = ndim == 1 ? lanes_of_objects(object, array) : refuse_tangent(object);
    } else if (ndim > 1) {
        PyErr_Format(PyExc_ValueError,
                     "the tangent of a 0-d Dual is a number or a 1-D array of lanes, not an array "
                     "of %d axes",
                     ndim);
    } else {
        Py_SETREF(array, float_array(array, "tangent", 0));
        result = array == NULL ? NULL : PyObject_CallMethod(array, "tolist", NULL);
        if (result != NULL && ndim == 1) {
            Py_SETREF(result, PyList_AsTuple(result));
        }
    }
    Py_XDECREF(array);
    return result;
}

static PyObject *make_scalar(PyObject *primal, PyObject *tangent) {
    PyObject *component = scalar_component(tangent);
    if (component == NULL && !PyErr_Occurred()) {
        component = lanes_from(tangent);
    }
    return make_above(primal, component);
}

/* An array of numbers with derivatives as it is, anything else as a fresh array. */
static PyObject *array_component(PyObject *object, const char *what, int keeps_single) {
    return CAD_IS_VAR(object) || CAD_IS_DUAL(object) ? Py_NewRef(object)
                                                     : float_array(object, what, keeps_single);
}

/* The only number of an array without axes. */
static PyObject *only_number(PyObject *array) {
    return PyArray_Check(array) && cad_is_single(array) ? PyArray_Return((PyArrayObject *)array)
                                                        : cad_called(array, "item");
}

/* Tangents of an array: of its shape, or with an axis of lanes more; a number stands for all. */
static PyObject *make_array(PyObject *primal, PyObject *tangent) {
    PyObject *t = array_component(tangent, "tangent", 0);
    if (t != NULL && cad_ndim(t) == 0) {
        Py_SETREF(t, cad_whole_tangent(t, primal, CAD_NO_LANES, 1));
    }
    const npy_intp *want, *have;
    const int ndim = cad_lengths(primal, &want);
    const int more = t == NULL ? 0 : cad_lengths(t, &have) - ndim;
    if (t != NULL && ((more != 0 && more != 1) || !PyArray_CompareLists(want, have, ndim))) {
        cad_refuse_shapes_of(
            "a primal of shape %S takes a tangent of that shape or with one axis of lanes "
            "behind it, not of shape %S",
            primal, t);
        Py_CLEAR(t);
    }
    return make_above(primal, t);
}

PyObject *cad_dual_make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)type;
    static char *names[] = {"primal", "tangent", NULL};
    PyObject *primal, *tangent = NULL, *result = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:Dual", names, &primal, &tangent)) {
        return NULL;
    }
    tangent = tangent == NULL ? PyFloat_FromDouble(0.0) : Py_NewRef(tangent);
    if (tangent == NULL) {
        return NULL;
    }
    if (cad_is_complex(primal) || cad_is_complex(tangent)) {
        result = cad_complex_dual(primal, tangent);
        Py_DECREF(tangent);
        return result;
    }
    PyObject *component = scalar_component(primal);
    if (component != NULL) {
        result = make_scalar(component, tangent);
    } else if (!PyErr_Occurred()) {
        component = array_component(primal, "primal", 1);
        if (component != NULL && cad_ndim(component) == 0) {
            component = only_number(component);
            result = component == NULL ? NULL : make_scalar(component, tangent);
        } else if (component != NULL) {
            result = make_array(component, tangent);
        }
    }
    Py_XDECREF(component);
    Py_DECREF(tangent);
    return result;
}

PyObject *cad_dual_seed(PyObject *type, PyObject *x) {
    (void)type;
    if (CAD_IS_VAR(x) || CAD_IS_DUAL(x)) {
        PyErr_Format(PyExc_TypeError,
                     "Dual.seed(x) takes plain numbers, not a %s: write Dual(x, tangent)",
                     Py_TYPE(x)->tp_name);
        return NULL;
    }
    PyObject *primal = float_array(x, "primal", 1);
    const npy_intp *lengths;
    const int ndim = primal == NULL ? 0 : cad_lengths(primal, &lengths);
    if (primal == NULL) {
        return NULL;
    }
    if (ndim >= NPY_MAXDIMS) {
        Py_DECREF(primal);
        return PyErr_Format(PyExc_ValueError,
                            "Dual.seed(x) adds an axis of lanes: x has at most %d axes, not %d",
                            NPY_MAXDIMS - 1, ndim);
    }
    const npy_intp size = PyArray_SIZE((PyArrayObject *)primal);
    npy_intp shape[NPY_MAXDIMS + 1];
    for (int i = 0; i < ndim; i++) {
        shape[i] = lengths[i];
    }
    shape[ndim] = size;
    PyObject *tangent = PyArray_ZEROS(ndim + 1, shape, NPY_DOUBLE, 0);
    PyObject *result = NULL;
    if (tangent != NULL) {
        double *data = PyArray_DATA((PyArrayObject *)tangent);
        for (npy_intp i = 0; i < size; i++) {
            data[i * (size + 1)] = 1.0;
        }
        if (ndim == 0) {
            primal = only_number(primal);
        }
        result = primal == NULL ? NULL : (ndim == 0 ? make_scalar : make_array)(primal, tangent);
    }
    Py_XDECREF(tangent);
    Py_XDECREF(primal);
    return result;
}
