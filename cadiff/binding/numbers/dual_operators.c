/* How Duals are made and freed, and their operators. The common case, a float and a float, is done
 * here, and fast because making the result is inlined; whatever else meets an operator goes
 * through _apply.c. */
#include "numbers/dual.h"

/* --- life --- */

enum { MOST_FREE = 4096, DEEP = 100 };

static CadDual *free_duals; /* linked by primal_object */
static int n_free;

/* Transforms take tags from the upper half; a Dual made by hand over others takes the next one up,
 * of which there are 2**32 before it could meet the tag of another transform. */
static CadTag last_tag;

CadTag cad_fresh_tag(void) {
    last_tag += (CadTag)1 << 32;
    return last_tag;
}

static CadDual *allocate(CadDualKind kind, CadTag tag) {
    CadDual *dual = free_duals;
    if (dual != NULL) {
        free_duals = (CadDual *)dual->primal_object;
        n_free--;
        Py_SET_REFCNT(dual, 1);
    } else if ((dual = PyObject_New(CadDual, &CadDual_Type)) == NULL) {
        return NULL;
    }
    Py_SET_TYPE(dual, kind == CAD_DUAL_ARRAY ? &CadDualArray_Type : &CadDual_Type);
    dual->kind = kind;
    dual->tag = tag;
    dual->n_lanes = 0;
    return dual;
}

static void release(CadDual *dual) {
    if (dual->kind == CAD_DUAL_LANES) {
        PyMem_Free(dual->lanes);
    } else if (dual->kind != CAD_DUAL_FLOAT) {
        Py_XDECREF(dual->primal_object);
        Py_XDECREF(dual->tangent_object);
    }
    if (n_free < MOST_FREE) {
        dual->primal_object = (PyObject *)free_duals;
        free_duals = dual;
        n_free++;
    } else {
        PyObject_Free(dual);
    }
}

/* Duals of Duals may be nested deeper than the C stack: past some depth they wait in a list,
 * linked by the tag, until the outermost one has been released. */
void cad_dual_dealloc(CadDual *dual) {
    static CadDual *waiting;
    static int depth;
    if (depth >= DEEP) {
        dual->tag = (CadTag)(uintptr_t)waiting;
        waiting = dual;
        return;
    }
    depth++;
    release(dual);
    while (depth == 1 && waiting != NULL) {
        CadDual *next = waiting;
        waiting = (CadDual *)(uintptr_t)next->tag;
        release(next);
    }
    depth--;
}

PyObject *cad_dual_new(double primal, double tangent, CadTag tag) {
    CadDual *dual = allocate(CAD_DUAL_FLOAT, tag);
    if (dual != NULL) {
        dual->primal = primal;
        dual->tangent = tangent;
    }
    return (PyObject *)dual;
}

CadDual *cad_dual_new_lanes(double primal, size_t n_lanes, CadTag tag) {
    double *lanes = PyMem_Malloc(n_lanes * sizeof *lanes);
    if (lanes == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    CadDual *dual = allocate(CAD_DUAL_LANES, tag);
    if (dual == NULL) {
        PyMem_Free(lanes);
        return NULL;
    }
    dual->primal = primal;
    dual->lanes = lanes;
    dual->n_lanes = (uint32_t)n_lanes;
    return dual;
}

/* Takes over the references. */
static PyObject *new_from_objects(CadDualKind kind, PyObject *primal, PyObject *tangent,
                                  CadTag tag) {
    CadDual *dual = primal == NULL || tangent == NULL ? NULL : allocate(kind, tag);
    if (dual == NULL) {
        Py_XDECREF(primal);
        Py_XDECREF(tangent);
        return NULL;
    }
    dual->primal_object = primal;
    dual->tangent_object = tangent;
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

int cad_ndim(PyObject *object) {
    if (CAD_IS_VAR_ARRAY(object)) {
        return CAD_VAR(object)->view->ndim;
    }
    if (CAD_IS_TYPE(object, CadDualArray_Type)) {
        return cad_ndim(CAD_DUAL(object)->primal_object);
    }
    return PyArray_Check(object) ? PyArray_NDIM((PyArrayObject *)object) : 0;
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

/* A component that is one number as the kinds hold it: NumPy's scalars and 0-d arrays as floats,
 * arrays of lanes as tuples. */
static PyObject *as_component(PyObject *object) {
    if (PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) > 0) {
        PyObject *lanes = PyObject_CallMethod(object, "tolist", NULL);
        if (lanes != NULL) {
            Py_SETREF(lanes, PyList_AsTuple(lanes));
        }
        return lanes;
    }
    if (PyArray_Check(object) || PyArray_IsScalar(object, Generic)) {
        return PyNumber_Float(object);
    }
    return Py_NewRef(object);
}

static PyObject *single_from(PyObject *primal, PyObject *tangent, CadTag tag);

PyObject *cad_dual_from(PyObject *primal, PyObject *tangent, CadTag tag) {
    if (cad_ndim(primal) == 0) {
        PyObject *p = as_component(primal);
        PyObject *t = p == NULL ? NULL : as_component(tangent);
        PyObject *dual = t == NULL ? NULL : single_from(p, t, tag);
        Py_XDECREF(p);
        Py_XDECREF(t);
        return dual;
    }
    return new_from_objects(CAD_DUAL_ARRAY, array_like(primal, tangent),
                            array_like(tangent, primal), tag);
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

/* --- arithmetic over floats --- */

#define IS_FLOAT_DUAL(object)                                                                     \
    (CAD_IS_TYPE(object, CadDual_Type) && CAD_DUAL(object)->kind == CAD_DUAL_FLOAT)

#define SEEN(name, left, right, dual) cad_dual_seen(CAD_OP_##name, left, right, dual)

#define BINARY_SLOT(name)                                                                         \
    static PyObject *slot_##name(PyObject *left, PyObject *right) {                               \
        double c;                                                                                 \
        if (IS_FLOAT_DUAL(left)) {                                                                \
            const CadDual *x = CAD_DUAL(left);                                                    \
            if (IS_FLOAT_DUAL(right) && CAD_DUAL(right)->tag == x->tag) {                         \
                const CadDual *y = CAD_DUAL(right);                                               \
                const double v = val_##name(x->primal, y->primal);                                \
                const double t = cad_amul(d1_##name(x->primal, y->primal, v), x->tangent) +       \
                                 cad_amul(d2_##name(x->primal, y->primal, v), y->tangent);        \
                return SEEN(name, left, right, cad_dual_new(v, t, x->tag));                       \
            }                                                                                     \
            if (cad_is_constant(right, &c)) {                                                     \
                const double v = val_##name(x->primal, c);                                        \
                const double t = cad_amul(d1_##name(x->primal, c, v), x->tangent);                \
                return SEEN(name, left, right, cad_dual_new(v, t, x->tag));                       \
            }                                                                                     \
        } else if (IS_FLOAT_DUAL(right) && cad_is_constant(left, &c)) {                           \
            const CadDual *y = CAD_DUAL(right);                                                   \
            const double v = val_##name(c, y->primal);                                            \
            const double t = cad_amul(d2_##name(c, y->primal, v), y->tangent);                    \
            return SEEN(name, left, right, cad_dual_new(v, t, y->tag));                           \
        }                                                                                         \
        return cad_apply2(CAD_OP_##name, left, right);                                            \
    }

BINARY_SLOT(add)
BINARY_SLOT(subtract)
BINARY_SLOT(multiply)
BINARY_SLOT(divide)
BINARY_SLOT(floor_divide)
BINARY_SLOT(mod)

#define UNARY_SLOT(name)                                                                          \
    static PyObject *slot_##name(PyObject *operand) {                                             \
        const CadDual *x = CAD_DUAL(operand);                                                     \
        if (x->kind == CAD_DUAL_FLOAT) {                                                          \
            const double v = val_##name(x->primal);                                               \
            const double t = cad_amul(d1_##name(x->primal, v), x->tangent);                       \
            return SEEN(name, operand, operand, cad_dual_new(v, t, x->tag));                      \
        }                                                                                         \
        return cad_apply1(CAD_OP_##name, operand);                                                \
    }

UNARY_SLOT(negative)
UNARY_SLOT(absolute)

static PyObject *slot_positive(PyObject *operand) {
    return CAD_IS_TYPE(operand, CadDualArray_Type) ? PyObject_CallMethod(operand, "copy", NULL)
                                                   : Py_NewRef(operand);
}

static int slot_bool(CadDual *dual) {
    if (dual->kind == CAD_DUAL_ARRAY) {
        return PyObject_IsTrue(dual->primal_object);
    }
    if (cad_guarding > 0 && cad_guard_truth((PyObject *)dual) < 0) {
        return -1;
    }
    return cad_primal((PyObject *)dual) != 0.0;
}

/* --- in-place operators --- */

/* As for Var: an array is written to, a single number bound to a new one. */
static PyObject *in_place(PyObject *target, PyObject *result) {
    if (result == NULL || result == Py_NotImplemented || !CAD_IS_TYPE(target, CadDualArray_Type)) {
        return result;
    }
    const int status = cad_dual_assign(CAD_DUAL(target), Py_Ellipsis, result);
    Py_DECREF(result);
    return status < 0 ? NULL : Py_NewRef(target);
}

#define IN_PLACE_SLOT(name)                                                                       \
    static PyObject *in_place_##name(PyObject *left, PyObject *right) {                           \
        return in_place(left, slot_##name(left, right));                                          \
    }

IN_PLACE_SLOT(add)
IN_PLACE_SLOT(subtract)
IN_PLACE_SLOT(multiply)
IN_PLACE_SLOT(divide)
IN_PLACE_SLOT(floor_divide)
IN_PLACE_SLOT(mod)

static PyObject *in_place_matmul(PyObject *left, PyObject *right) {
    return in_place(left, cad_matmul_like(left, right));
}

static PyObject *in_place_power(PyObject *base, PyObject *exponent, PyObject *modulus) {
    return in_place(base, cad_power(base, exponent, modulus));
}

/* --- the table of them --- */

PyNumberMethods cad_dual_number = {
    .nb_add = slot_add,
    .nb_subtract = slot_subtract,
    .nb_multiply = slot_multiply,
    .nb_remainder = slot_mod,
    .nb_divmod = cad_divmod,
    .nb_power = cad_power,
    .nb_negative = slot_negative,
    .nb_positive = slot_positive,
    .nb_absolute = slot_absolute,
    .nb_bool = (inquiry)slot_bool,
    .nb_int = cad_refuse_conversion,
    .nb_float = cad_refuse_conversion,
    .nb_floor_divide = slot_floor_divide,
    .nb_true_divide = slot_divide,
    .nb_index = cad_refuse_conversion,
    .nb_matrix_multiply = cad_matmul,
    .nb_inplace_add = in_place_add,
    .nb_inplace_subtract = in_place_subtract,
    .nb_inplace_multiply = in_place_multiply,
    .nb_inplace_true_divide = in_place_divide,
    .nb_inplace_floor_divide = in_place_floor_divide,
    .nb_inplace_remainder = in_place_mod,
    .nb_inplace_power = in_place_power,
    .nb_inplace_matrix_multiply = in_place_matmul,
};
