/* Dual: a number together with its derivative along one or several directions. Here are its
 * components, attributes and text, and the type; what it does otherwise is done in the rooms
 * _dual_*.c. */
#include "numbers/dual.h"

/* --- components --- */

/* A component of an array as it may leave it. */
static PyObject *fresh(PyObject *component) {
    return PyArray_Check(component) ? PyArray_NewCopy((PyArrayObject *)component, NPY_CORDER)
                                    : Py_NewRef(component);
}

PyObject *cad_dual_primal(CadDual *dual) {
    if (dual->kind == CAD_DUAL_ARRAY) {
        return fresh(dual->primal_object);
    }
    return dual->kind == CAD_DUAL_OBJECT ? Py_NewRef(dual->primal_object)
                                         : PyFloat_FromDouble(dual->primal);
}

static PyObject *lanes_tuple(const CadDual *dual) {
    PyObject *tuple = PyTuple_New(dual->n_lanes);
    for (uint32_t k = 0; tuple != NULL && k < dual->n_lanes; k++) {
        PyObject *lane = PyFloat_FromDouble(dual->lanes[k]);
        if (lane == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, k, lane);
    }
    return tuple;
}

PyObject *cad_dual_components(CadDual *dual) {
    switch (dual->kind) {
    case CAD_DUAL_FLOAT:
        return PyFloat_FromDouble(dual->tangent);
    case CAD_DUAL_LANES:
        return lanes_tuple(dual);
    default:
        return Py_NewRef(dual->tangent_object);
    }
}

/* A 1-D object array of the items of a tuple; NumPy would look into the items for sequences. */
static PyObject *array_of_objects(PyObject *tuple) {
    const npy_intp n = PyTuple_GET_SIZE(tuple);
    PyObject *array = PyArray_SimpleNew(1, &n, NPY_OBJECT);
    PyObject **item = array == NULL ? NULL : PyArray_DATA((PyArrayObject *)array);
    for (npy_intp i = 0; array != NULL && i < n; i++) {
        Py_XSETREF(item[i], Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
    }
    return array;
}

PyObject *cad_dual_tangent(CadDual *dual) {
    if (dual->kind == CAD_DUAL_ARRAY) {
        return fresh(dual->tangent_object);
    }
    if (dual->kind == CAD_DUAL_LANES) {
        const npy_intp n = dual->n_lanes;
        PyObject *array = PyArray_SimpleNew(1, &n, NPY_DOUBLE);
        if (array != NULL && n > 0) {
            memcpy(PyArray_DATA((PyArrayObject *)array), dual->lanes, (size_t)n * sizeof(double));
        }
        return array;
    }
    if (dual->kind == CAD_DUAL_OBJECT && PyTuple_Check(dual->tangent_object)) {
        return array_of_objects(dual->tangent_object);
    }
    return cad_dual_components(dual);
}

/* --- attributes and text --- */

static PyObject *get_primal(CadDual *dual, void *closure) {
    (void)closure;
    return cad_dual_primal(dual);
}

static PyObject *get_tangent(CadDual *dual, void *closure) {
    (void)closure;
    return cad_dual_tangent(dual);
}

/* An attribute that an array has, of the primal or of any 0-d array. */
static PyObject *get_of_array(CadDual *dual, void *name) {
    if (dual->kind == CAD_DUAL_ARRAY) {
        return PyObject_GetAttrString(dual->primal_object, name);
    }
    PyObject *number = PyArray_ZEROS(0, NULL, NPY_DOUBLE, 0);
    PyObject *result = number == NULL ? NULL : PyObject_GetAttrString(number, name);
    Py_XDECREF(number);
    return result;
}

static PyObject *get_dtype(PyObject *self, void *closure) {
    (void)self, (void)closure;
    return Py_NewRef(cad_dtype);
}

static PyObject *get_transpose(CadDual *dual, void *closure) {
    (void)closure;
    if (dual->kind != CAD_DUAL_ARRAY) {
        return Py_NewRef(dual);
    }
    const int ndim = cad_ndim(dual->primal_object);
    PyObject *axes = PyTuple_New(ndim + cad_dual_has_lanes(dual));
    for (int i = 0; axes != NULL && i < PyTuple_GET_SIZE(axes); i++) {
        PyTuple_SET_ITEM(axes, i, PyLong_FromLong(i < ndim ? ndim - 1 - i : i));
    }
    PyObject *p = axes == NULL ? NULL : PyObject_GetAttrString(dual->primal_object, "T");
    PyObject *t =
        p == NULL ? NULL : PyObject_CallMethod(dual->tangent_object, "transpose", "(O)", axes);
    PyObject *result = t == NULL ? NULL : cad_dual_from(p, t, dual->tag);
    Py_XDECREF(p);
    Py_XDECREF(t);
    Py_XDECREF(axes);
    return result;
}

static PyGetSetDef dual_getset[] = {
    {"primal", (getter)get_primal, NULL, "The value: a float if 0-d, else a fresh ndarray.", NULL},
    {"real", (getter)get_primal, NULL, "Short for primal.", NULL},
    {"tangent", (getter)get_tangent, NULL,
     "The derivative: of the primal's shape, or with one axis of lanes more.", NULL},
    {"dual", (getter)get_tangent, NULL, "Short for tangent.", NULL},
    {"shape", (getter)get_of_array, NULL, "Lengths of the axes.", "shape"},
    {"ndim", (getter)get_of_array, NULL, "Number of axes.", "ndim"},
    {"size", (getter)get_of_array, NULL, "Number of elements.", "size"},
    {"dtype", get_dtype, NULL, "float64.", NULL},
    {"T", (getter)get_transpose, NULL, "The transpose.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *dual_str(CadDual *dual) {
    PyObject *primal = cad_dual_primal(dual);
    PyObject *text = primal == NULL ? NULL : PyObject_Str(primal);
    Py_XDECREF(primal);
    return text;
}

static PyObject *dual_repr(CadDual *dual) {
    PyObject *primal = cad_dual_primal(dual);
    PyObject *tangent = cad_dual_tangent(dual);
    const char *layout = dual->kind == CAD_DUAL_ARRAY   ? "Dual(%S, %S)"
                         : dual->kind == CAD_DUAL_LANES ? "Dual(%R, %S)"
                                                        : "Dual(%R, %R)";
    PyObject *text =
        primal == NULL || tangent == NULL ? NULL : PyUnicode_FromFormat(layout, primal, tangent);
    Py_XDECREF(primal);
    Py_XDECREF(tangent);
    return text;
}

static PyMethodDef dual_methods[] = {
    {"seed", cad_dual_seed, METH_O | METH_CLASS,
     "seed($type, x, /)\n--\n\n"
     "A Dual with the identity as its tangent: one lane for each element of x, so that the result "
     "of a function carries all partial derivatives."},
    {NULL, NULL, 0, NULL},
};

/* --- the type --- */

PyTypeObject CadDual_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "cadiff.Dual",
    .tp_doc = PyDoc_STR(
        "Dual(primal, tangent=0.0)\n--\n\n"
        "A number and its derivative along one direction, or along several (lanes).\n\n"
        "primal: a real number, a Var, a Dual, or an array-like of real numbers.\n"
        "tangent: of the primal's shape, or with one axis of lanes more.\n"
        "Computing with a Dual is the forward mode. Duals made by hand share one perturbation.\n"),
    .tp_basicsize = sizeof(CadDual),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = cad_dual_make,
    .tp_dealloc = (destructor)cad_dual_dealloc,
    .tp_repr = (reprfunc)dual_repr,
    .tp_str = (reprfunc)dual_str,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_richcompare = cad_richcompare,
    .tp_iter = (getiterfunc)cad_dual_iter,
    .tp_as_number = &cad_dual_number,
    .tp_as_mapping = &cad_dual_mapping,
    .tp_methods = dual_methods,
    .tp_getset = dual_getset,
};

PyTypeObject CadDualArray_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "cadiff.Dual",
    .tp_doc = PyDoc_STR("A Dual that holds an array."),
    .tp_basicsize = sizeof(CadDual),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_base = &CadDual_Type,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_richcompare = cad_richcompare,
    .tp_as_sequence = &cad_dual_sequence,
};
