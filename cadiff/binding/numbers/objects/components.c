/* The life of Duals: how they are made of their components, taken apart, and freed. What
 * operations make of them is not known here. */
#include "numbers/objects/components.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/references.h"
#include "numbers/objects/views.h"

/* --- life --- */

enum { MOST_FREE = 4096 };

CadTag cad_fresh_tag(void) {
    cad_state.last_tag += (CadTag)1 << 32;
    return cad_state.last_tag;
}

bool cad_is_of_transform(CadTag tag) {
    return tag != 0 && (tag & UINT32_MAX) == 0;
}

void cad_dual_dealloc(CadDual *dual) {
    if (dual->kind == CAD_DUAL_LANES) {
        PyMem_Free(dual->lanes);
    } else if (dual->kind != CAD_DUAL_FLOAT) {
        Py_XDECREF(dual->primal_object);
        Py_XDECREF(dual->tangent_object);
    }
    if (cad_state.n_free_duals < MOST_FREE) {
        dual->primal_object = (PyObject *)cad_state.free_duals;
        cad_state.free_duals = dual;
        cad_state.n_free_duals++;
    } else {
        PyObject_Free(dual);
    }
}

CadDual *cad_dual_new_lanes(double primal, size_t n_lanes, CadTag tag) {
    double *lanes = PyMem_Malloc(n_lanes * sizeof *lanes);
    if (lanes == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    CadDual *dual = cad_dual_allocate(CAD_DUAL_LANES, tag);
    if (dual == NULL) {
        PyMem_Free(lanes);
        return NULL;
    }
    dual->primal = primal;
    dual->lanes = lanes;
    dual->n_lanes = (uint32_t)n_lanes;
    return dual;
}

/* --- from any components --- */

static int levels_of(PyObject *component) {
    int most = 0;
    if (CAD_IS_DUAL(component)) {
        return CAD_DUAL(component)->kind < CAD_DUAL_OBJECT ? 1 : CAD_DUAL(component)->depth;
    }
    for (Py_ssize_t k = 0; PyTuple_Check(component) && k < PyTuple_GET_SIZE(component); k++) {
        const int levels = levels_of(PyTuple_GET_ITEM(component, k));
        most = levels > most ? levels : most;
    }
    return most;
}

static void refuse_levels(void) {
    PyErr_Format(
        PyExc_RecursionError,
        "Duals of Duals are nested at most %d levels deep, since the cost of an operation "
        "doubles with each of them: derivatives of high orders of functions of one "
        "number are those of cadiff.derivative(f, x, order)",
        CAD_MOST_LEVELS);
}

/* Takes over the references. */
static PyObject *new_from_objects(CadDualKind kind, PyObject *primal, PyObject *tangent,
                                  CadTag tag) {
    CadDual *dual = NULL;
    int levels = 0;
    if (primal != NULL && tangent != NULL) {
        const int of_primal = levels_of(primal), of_tangent = levels_of(tangent);
        levels = 1 + (of_primal > of_tangent ? of_primal : of_tangent);
        if (levels > CAD_MOST_LEVELS) {
            refuse_levels();
        } else {
            dual = cad_dual_allocate(kind, tag);
        }
    }
    if (dual == NULL) {
        Py_XDECREF(primal);
        Py_XDECREF(tangent);
        return NULL;
    }
    dual->primal_object = primal;
    dual->tangent_object = tangent;
    dual->depth = (uint16_t)levels;
    return (PyObject *)dual;
}

static int all_floats(PyObject *tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        if (!PyFloat_CheckExact(PyTuple_GET_ITEM(tuple, i))) {
            return 0;
        }
    }
    return 1;
}

/* How much an array can hold: plain numbers, Vars, Duals of a tag, which may hold Vars. */
static CadTag rank(PyObject *object) {
    if (!CAD_IS_DUAL(object)) {
        return CAD_IS_VAR(object);
    }
    const CadTag tag = CAD_DUAL(object)->tag;
    while (CAD_IS_DUAL(object)) {
        object = CAD_DUAL(object)->primal_object;
    }
    return 2 * tag + (CAD_IS_VAR(object) != 0);
}

/* A component such that whatever can be assigned to the other one can be assigned to it as well.
 */
static PyObject *array_like(PyObject *component, PyObject *other) {
    return rank(component) >= rank(other) ? Py_NewRef(component) : cad_promote(component, other);
}

/* x[()] */
static PyObject *only_number(PyObject *x) {
    return cad_item(x, PyTuple_New(0));
}

/* A primal of float32 as the kinds hold it: NumPy's float32. */
static PyObject *as_single(PyObject *object) {
    return PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) == 0
               ? PyArray_Return((PyArrayObject *)cad_copy_in_order(object))
               : Py_NewRef(object);
}

/* A component that is one number as the kinds hold it: NumPy's scalars and 0-d arrays as floats,
 * arrays of lanes as tuples. */
static PyObject *as_component(PyObject *object) {
    if (PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) > 0) {
        return cad_then(PyObject_CallMethod(object, "tolist", NULL), PyList_AsTuple);
    }
    if (PyArray_Check(object) || PyArray_IsScalar(object, Generic)) {
        return PyNumber_Float(object);
    }
    if (cad_is_single_number(object)) {
        return Py_NewRef(object);
    }
    if (CAD_IS_VAR_ARRAY(object) || CAD_IS_DUAL_ARRAY(object)) {
        return cad_ndim(object) > 0 ? PySequence_Tuple(object) : only_number(object);
    }
    return Py_NewRef(object);
}

static PyObject *single_from(PyObject *primal, PyObject *tangent, CadTag tag) {
    if (PyFloat_CheckExact(primal) && PyFloat_CheckExact(tangent)) {
        return cad_dual_new(PyFloat_AS_DOUBLE(primal), PyFloat_AS_DOUBLE(tangent), tag);
    }
    if (PyFloat_CheckExact(primal) && PyTuple_Check(tangent) && all_floats(tangent)) {
        const size_t n = (size_t)PyTuple_GET_SIZE(tangent);
        CadDual *dual = cad_dual_new_lanes(PyFloat_AS_DOUBLE(primal), n, tag);
        for (size_t k = 0; dual != NULL && k < n; k++) {
            dual->lanes[k] = PyFloat_AS_DOUBLE(PyTuple_GET_ITEM(tangent, (Py_ssize_t)k));
        }
        return (PyObject *)dual;
    }
    return new_from_objects(CAD_DUAL_OBJECT, Py_NewRef(primal), Py_NewRef(tangent), tag);
}

PyObject *cad_dual_from(PyObject *primal, PyObject *tangent, CadTag tag) {
    if (cad_ndim(primal) == 0) {
        const int is_plain = PyArray_Check(primal) || PyArray_IsScalar(primal, Float);
        PyObject *p = is_plain && cad_is_single(primal) ? as_single(primal) : as_component(primal);
        PyObject *t = p == NULL ? NULL : as_component(tangent);
        PyObject *dual = t == NULL ? NULL : single_from(p, t, tag);
        Py_XDECREF(p);
        Py_XDECREF(t);
        return dual;
    }
    return new_from_objects(CAD_DUAL_ARRAY, array_like(primal, tangent),
                            array_like(tangent, primal), tag);
}

PyObject *cad_dual_cell(PyObject *primal, PyObject *tangent, CadTag tag) {
    return new_from_objects(CAD_DUAL_ARRAY, Py_NewRef(primal), Py_NewRef(tangent), tag);
}

PyObject *cad_dual_of_parts(PyObject *primal, PyObject *tangent, CadTag tag) {
    PyObject *dual = NULL;
    if (primal != NULL && tangent != NULL) {
        const int is_cell = PyArray_Check(primal) ? cad_ndim(primal) == 0 : cad_is_cell(primal);
        dual = (is_cell ? cad_dual_cell : cad_dual_from)(primal, tangent, tag);
    }
    Py_XDECREF(primal);
    Py_XDECREF(tangent);
    return dual;
}

/* --- components --- */

/* A component of an array as it may leave it. */
static PyObject *fresh(PyObject *component) {
    return PyArray_Check(component) ? cad_copy_in_order(component) : Py_NewRef(component);
}

PyObject *cad_dual_primal(CadDual *dual) {
    if (dual->kind == CAD_DUAL_ARRAY) {
        return fresh(dual->primal_object);
    }
    return dual->kind == CAD_DUAL_OBJECT ? Py_NewRef(dual->primal_object)
                                         : PyFloat_FromDouble(dual->primal);
}

PyObject *cad_dual_components(CadDual *dual) {
    switch (dual->kind) {
    case CAD_DUAL_FLOAT:
        return PyFloat_FromDouble(dual->tangent);
    case CAD_DUAL_LANES:
        return cad_then(cad_called(cad_dual_tangent(dual), "tolist"), PyList_AsTuple);
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
