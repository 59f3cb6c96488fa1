/* Dual: a number together with its derivative along one or several directions.
 *
 * The common case, a float and a float, is done in the number slots. Components that are numbers
 * with derivatives themselves (Dual of Dual, Dual over Var) go through the rules over objects. */
#include "_numbers.h"

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
static void dual_dealloc(CadDual *dual) {
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

static CadDual *new_lanes(double primal, size_t n_lanes, CadTag tag) {
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
static PyObject *cad_array_like(PyObject *component, PyObject *other) {
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
    return new_from_objects(CAD_DUAL_ARRAY, cad_array_like(primal, tangent),
                            cad_array_like(tangent, primal), tag);
}

static PyObject *single_from(PyObject *primal, PyObject *tangent, CadTag tag) {
    if (PyFloat_CheckExact(primal) && PyFloat_CheckExact(tangent)) {
        return cad_dual_new(PyFloat_AS_DOUBLE(primal), PyFloat_AS_DOUBLE(tangent), tag);
    }
    if (PyFloat_CheckExact(primal) && PyTuple_Check(tangent) && all_floats(tangent)) {
        const size_t n = (size_t)PyTuple_GET_SIZE(tangent);
        CadDual *dual = new_lanes(PyFloat_AS_DOUBLE(primal), n, tag);
        for (size_t k = 0; dual != NULL && k < n; k++) {
            dual->lanes[k] = PyFloat_AS_DOUBLE(PyTuple_GET_ITEM(tangent, (Py_ssize_t)k));
        }
        return (PyObject *)dual;
    }
    return new_from_objects(CAD_DUAL_OBJECT, Py_NewRef(primal), Py_NewRef(tangent), tag);
}

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

/* The tangent as the rules over objects take it: a number, or a tuple of numbers. */
static PyObject *tangent_components(CadDual *dual) {
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
    return tangent_components(dual);
}

int (*cad_dual_hook)(CadOp op, PyObject *const *operands, PyObject *dual);

PyObject *cad_dual_show(CadOp op, PyObject *x, PyObject *y, PyObject *dual) {
    PyObject *const operands[2] = {x, y};
    if (dual != NULL && cad_dual_hook(op, operands, dual) < 0) {
        Py_CLEAR(dual);
    }
    return dual;
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
    return cad_primal((PyObject *)dual) != 0.0;
}

/* --- arithmetic in general --- */

/* The operands of one operation. */
typedef struct Operands {
    int count;
    int wanted; /* bit i: operand i is a Dual of the highest tag */
    CadTag tag;
    Py_ssize_t n_lanes; /* NO_LANES if all tangents are single ones */
    int floats;         /* whether all components are floats */
    double value[3];
} Operands;

enum { NO_LANES = -1 };

/* Whether the numbers of lanes agree; the first is set to the number in force. */
static int agree_on_lanes(Py_ssize_t *n_lanes, Py_ssize_t other) {
    if (*n_lanes != NO_LANES && other != NO_LANES && *n_lanes != other) {
        PyErr_Format(PyExc_ValueError,
                     "Duals of %zd and of %zd tangent lanes do not mix: seed all inputs of a "
                     "computation together",
                     *n_lanes, other);
        return -1;
    }
    *n_lanes = *n_lanes == NO_LANES ? other : *n_lanes;
    return 0;
}

static int survey(CadOp op, PyObject *const *operands, Operands *all) {
    *all = (Operands){.count = cad_op_info[op].arity, .n_lanes = NO_LANES, .floats = 1};
    for (int i = 0; i < all->count; i++) {
        if (CAD_IS_DUAL(operands[i]) && CAD_DUAL(operands[i])->tag > all->tag) {
            all->tag = CAD_DUAL(operands[i])->tag;
        }
    }
    for (int i = 0; i < all->count; i++) {
        if (CAD_IS_DUAL(operands[i])) {
            const CadDual *dual = CAD_DUAL(operands[i]);
            if (dual->tag != all->tag || dual->kind >= CAD_DUAL_OBJECT) {
                all->floats = 0;
            } else {
                all->value[i] = dual->primal;
            }
            if (dual->tag == all->tag) {
                all->wanted |= 1 << i;
                if (dual->kind == CAD_DUAL_LANES &&
                    agree_on_lanes(&all->n_lanes, dual->n_lanes) < 0) {
                    return -1;
                }
            }
        } else if (cad_classify(operands[i], &all->value[i]) != CAD_PLAIN) {
            all->floats = 0;
        }
    }
    return 0;
}

static PyObject *apply_floats(CadOp op, PyObject *const *operands, const Operands *all) {
    const double *x = all->value;
    double partial[3];
    const double v = cad_op_value(op, x[0], x[1], x[2]);
    cad_op_partials(op, all->wanted, x[0], x[1], x[2], v, partial);
    if (all->n_lanes == NO_LANES) {
        double t = 0.0;
        for (int i = 0; i < all->count; i++) {
            if (all->wanted >> i & 1) {
                t += cad_amul(partial[i], CAD_DUAL(operands[i])->tangent);
            }
        }
        return cad_dual_new(v, t, all->tag);
    }
    const size_t n_lanes = (size_t)all->n_lanes;
    CadDual *result = new_lanes(v, n_lanes, all->tag);
    if (result == NULL) {
        return NULL;
    }
    memset(result->lanes, 0, n_lanes * sizeof(double));
    for (int i = 0; i < all->count; i++) {
        if (all->wanted >> i & 1) {
            const CadDual *dual = CAD_DUAL(operands[i]);
            const int spread = dual->kind == CAD_DUAL_FLOAT; /* one tangent for all lanes */
            for (size_t k = 0; k < n_lanes; k++) {
                result->lanes[k] += cad_amul(partial[i], spread ? dual->tangent : dual->lanes[k]);
            }
        }
    }
    return (PyObject *)result;
}

static int is_float_zero(PyObject *object) {
    return PyFloat_CheckExact(object) && PyFloat_AS_DOUBLE(object) == 0.0;
}

/* x op y, lane by lane where one of them is a tuple of lanes. */
static PyObject *apply_lanes(CadOp op, PyObject *x, PyObject *y) {
    if (!PyTuple_Check(x) && !PyTuple_Check(y)) {
        if (op == CAD_OP_amul && (is_float_zero(x) || is_float_zero(y))) {
            return PyFloat_FromDouble(0.0);
        }
        return cad_apply2(op, x, y);
    }
    Py_ssize_t n = PyTuple_Check(x) ? PyTuple_GET_SIZE(x) : NO_LANES;
    if (agree_on_lanes(&n, PyTuple_Check(y) ? PyTuple_GET_SIZE(y) : NO_LANES) < 0) {
        return NULL;
    }
    PyObject *result = PyTuple_New(n);
    for (Py_ssize_t k = 0; result != NULL && k < n; k++) {
        PyObject *lane = apply_lanes(op, PyTuple_Check(x) ? PyTuple_GET_ITEM(x, k) : x,
                                     PyTuple_Check(y) ? PyTuple_GET_ITEM(y, k) : y);
        if (lane == NULL) {
            Py_CLEAR(result);
            break;
        }
        PyTuple_SET_ITEM(result, k, lane);
    }
    return result;
}

/* The tangent of the result: the sum over the operands of partial times tangent. */
static PyObject *total_tangent(CadOp op, PyObject *const *operands, PyObject *const *primals,
                               PyObject *value, const Operands *all) {
    PyObject *total = NULL;
    for (int i = 0; i < all->count; i++) {
        if (!(all->wanted >> i & 1)) {
            continue;
        }
        PyObject *tangent = tangent_components(CAD_DUAL(operands[i]));
        PyObject *partial = cad_object_partial(op, i, primals[0], primals[1], primals[2], value);
        PyObject *term =
            tangent == NULL || partial == NULL ? NULL : apply_lanes(CAD_OP_amul, partial, tangent);
        Py_XDECREF(tangent);
        Py_XDECREF(partial);
        if (term != NULL && total != NULL) {
            Py_SETREF(term, apply_lanes(CAD_OP_add, total, term));
        }
        Py_XSETREF(total, term);
        if (total == NULL) {
            return NULL;
        }
    }
    return total;
}

/* --- arithmetic of arrays --- */

static int has_lanes(const CadDual *dual) {
    return cad_ndim(dual->tangent_object) > cad_ndim(dual->primal_object);
}

/* The number of lanes in force, or NO_LANES. */
static int survey_lanes(PyObject *const *operands, Operands *all) {
    for (int i = 0; i < all->count; i++) {
        if (!(all->wanted >> i & 1)) {
            continue;
        }
        CadDual *dual = CAD_DUAL(operands[i]);
        Py_ssize_t lanes = NO_LANES;
        if (dual->kind == CAD_DUAL_OBJECT && PyTuple_Check(dual->tangent_object)) {
            lanes = PyTuple_GET_SIZE(dual->tangent_object);
        } else if (dual->kind == CAD_DUAL_ARRAY && has_lanes(dual)) {
            PyObject *shape = PyObject_GetAttrString(dual->tangent_object, "shape");
            if (shape == NULL) {
                return -1;
            }
            lanes = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, PyTuple_GET_SIZE(shape) - 1));
            Py_DECREF(shape);
        }
        if (agree_on_lanes(&all->n_lanes, lanes) < 0) {
            return -1;
        }
    }
    return 0;
}

/* x[..., None] */
static PyObject *with_axis(PyObject *x) {
    PyObject *key = PyTuple_Pack(2, Py_Ellipsis, Py_None);
    PyObject *result = key == NULL ? NULL : PyObject_GetItem(x, key);
    Py_XDECREF(key);
    return result;
}

/* x with axes of length 1 in front. */
static PyObject *with_axes_in_front(PyObject *x, int count) {
    PyObject *key = PyTuple_New(count + 1);
    for (int i = 0; key != NULL && i < count; i++) {
        PyTuple_SET_ITEM(key, i, Py_NewRef(Py_None));
    }
    if (key == NULL) {
        return NULL;
    }
    PyTuple_SET_ITEM(key, count, Py_NewRef(Py_Ellipsis));
    PyObject *result = PyObject_GetItem(x, key);
    Py_DECREF(key);
    return result;
}

/* A tangent that can be multiplied with a partial of `ndim` axes (and one for the lanes). */
static PyObject *aligned_tangent(CadDual *dual, int ndim, int lanes) {
    if (dual->kind != CAD_DUAL_ARRAY) {
        PyObject *tangent = cad_dual_tangent(dual);
        if (tangent != NULL && dual->kind == CAD_DUAL_OBJECT && PyArray_Check(tangent)) {
            Py_SETREF(tangent, cad_gather_numbers(tangent));
        }
        return tangent;
    }
    if (!has_lanes(dual)) {
        return lanes ? with_axis(dual->tangent_object) : Py_NewRef(dual->tangent_object);
    }
    const int missing = ndim - cad_ndim(dual->primal_object);
    return missing > 0 ? with_axes_in_front(dual->tangent_object, missing)
                       : Py_NewRef(dual->tangent_object);
}

/* partial * tangent, an exact zero absorbing. */
static PyObject *array_term(PyObject *partial, PyObject *tangent, int lanes) {
    PyObject *factor = lanes && cad_ndim(partial) > 0 ? with_axis(partial) : Py_NewRef(partial);
    PyObject *term = NULL;
    if (factor != NULL && PyFloat_CheckExact(factor) && PyFloat_AS_DOUBLE(factor) == 1.0) {
        term = Py_NewRef(tangent);
    } else if (factor != NULL) {
        term = cad_apply2(CAD_OP_amul, factor, tangent);
    }
    Py_XDECREF(factor);
    return term;
}

/* Give a tangent the whole shape of the value, and the lanes; it is the caller's alone then. */
static PyObject *whole_tangent(PyObject *total, PyObject *value, Py_ssize_t n_lanes, int shared) {
    PyObject *shape = PyObject_GetAttrString(value, "shape");
    if (shape != NULL && n_lanes != NO_LANES) {
        PyObject *lanes = Py_BuildValue("(n)", n_lanes);
        Py_SETREF(shape, lanes == NULL ? NULL : PySequence_Concat(shape, lanes));
        Py_XDECREF(lanes);
    }
    PyObject *own =
        shape == NULL || cad_ndim(total) == 0 ? NULL : PyObject_GetAttrString(total, "shape");
    const int same = own != NULL && PyObject_RichCompareBool(own, shape, Py_EQ) == 1;
    PyObject *result = NULL;
    if (same && !shared) {
        result = Py_NewRef(total);
    } else if (shape != NULL && !PyErr_Occurred()) {
        PyArray_Dims dims = {NULL, 0};
        PyObject *zeros = PyArray_IntpConverter(shape, &dims) == NPY_SUCCEED
                              ? PyArray_ZEROS(dims.len, dims.ptr, NPY_DOUBLE, 0)
                              : NULL;
        PyDimMem_FREE(dims.ptr);
        result = zeros == NULL ? NULL : cad_apply2(CAD_OP_add, zeros, total);
        Py_XDECREF(zeros);
    }
    Py_XDECREF(own);
    Py_XDECREF(shape);
    return result;
}

/* At least one operand is an array. */
static PyObject *apply_arrays(CadOp op, PyObject *const *operands, PyObject *const *primals,
                              Operands *all) {
    if (survey_lanes(operands, all) < 0) {
        return NULL;
    }
    PyObject *value = cad_apply(op, primals);
    PyObject *total = NULL;
    const int lanes = all->n_lanes != NO_LANES;
    int shared = 0;
    for (int i = 0; value != NULL && i < all->count; i++) {
        if (!(all->wanted >> i & 1)) {
            continue;
        }
        PyObject *tangent = aligned_tangent(CAD_DUAL(operands[i]), cad_ndim(value), lanes);
        PyObject *partial =
            tangent == NULL ? NULL
                            : cad_object_partial(op, i, primals[0], primals[1], primals[2], value);
        PyObject *term = partial == NULL ? NULL : array_term(partial, tangent, lanes);
        shared = term == tangent && total == NULL;
        Py_XDECREF(tangent);
        Py_XDECREF(partial);
        if (term != NULL && total != NULL) {
            Py_SETREF(term, cad_apply2(CAD_OP_add, total, term));
            shared = 0;
        }
        Py_XSETREF(total, term);
        if (total == NULL) {
            Py_CLEAR(value);
        }
    }
    PyObject *result = NULL;
    if (value != NULL) {
        PyObject *tangent = whole_tangent(total, value, all->n_lanes, shared);
        result = tangent == NULL ? NULL : cad_dual_from(value, tangent, all->tag);
        Py_XDECREF(tangent);
    }
    Py_XDECREF(total);
    Py_XDECREF(value);
    return result;
}

/* Whole numbers in arrays become floats: the words of a partial are not those of integers. */
static PyObject *constant_operand(PyObject *operand) {
    if (PyArray_Check(operand) && (PyTypeNum_ISINTEGER(PyArray_TYPE((PyArrayObject *)operand)) ||
                                   PyTypeNum_ISBOOL(PyArray_TYPE((PyArrayObject *)operand)))) {
        return PyArray_FROMANY(operand, NPY_DOUBLE, 0, 0, NPY_ARRAY_FORCECAST);
    }
    return Py_NewRef(operand);
}

static int any_array(PyObject *const *operands, int n) {
    for (int i = 0; i < n; i++) {
        if (cad_ndim(operands[i]) > 0) {
            return 1;
        }
    }
    return 0;
}

static PyObject *dual_apply(CadOp op, PyObject *const *operands) {
    Operands all;
    if (survey(op, operands, &all) < 0) {
        return NULL;
    }
    const int arrays = any_array(operands, all.count);
    if (all.floats && !arrays) {
        return apply_floats(op, operands, &all);
    }
    PyObject *primals[3] = {NULL, NULL, NULL};
    PyObject *value = NULL, *tangent = NULL, *result = NULL;
    for (int i = 0; i < all.count; i++) {
        CadDual *dual = all.wanted >> i & 1 ? CAD_DUAL(operands[i]) : NULL;
        primals[i] = dual == NULL                   ? constant_operand(operands[i])
                     : dual->kind == CAD_DUAL_ARRAY ? Py_NewRef(dual->primal_object)
                                                    : cad_dual_primal(dual);
        if (primals[i] == NULL) {
            goto done;
        }
    }
    if (arrays) {
        cad_quiet++;
        result = apply_arrays(op, operands, primals, &all);
        cad_quiet--;
        goto done;
    }
    value = cad_apply(op, primals);
    if (value != NULL) {
        tangent = total_tangent(op, operands, primals, value, &all);
    }
    if (tangent != NULL) {
        result = cad_dual_from(value, tangent, all.tag);
    }
done:
    Py_XDECREF(tangent);
    Py_XDECREF(value);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(primals[i]);
    }
    return result;
}

PyObject *cad_dual_apply(CadOp op, PyObject *const *operands) {
    PyObject *dual = dual_apply(op, operands);
    if (cad_dual_hook != NULL && dual != NULL && cad_dual_hook(op, operands, dual) < 0) {
        Py_CLEAR(dual);
    }
    return dual;
}

/* --- making --- */

static PyObject *float64_array(PyObject *object, const char *what) {
    PyObject *array = PyArray_FROM_O(object);
    if (array == NULL) {
        return NULL;
    }
    if (cad_check_array(array) < 0) {
        Py_DECREF(array);
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
    Py_SETREF(array, PyArray_FROMANY(array, NPY_DOUBLE, 0, 0,
                                     NPY_ARRAY_DEFAULT | NPY_ARRAY_ENSURECOPY |
                                         NPY_ARRAY_FORCECAST | NPY_ARRAY_ENSUREARRAY));
    return array;
}

/* A component that is one number, as the kinds store it: a float, a Var or a Dual. NULL without an
 * exception if it is not. */
static PyObject *scalar_component(PyObject *object) {
    double number;
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
    return CAD_IS_DUAL(component) ? CAD_DUAL(component)->tag : 0;
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
        Py_SETREF(array, float64_array(array, "tangent"));
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
    if (component == NULL) {
        return NULL;
    }
    CadTag tag = tag_of(primal);
    for (Py_ssize_t k = 0; PyTuple_Check(component) && k < PyTuple_GET_SIZE(component); k++) {
        const CadTag lane = tag_of(PyTuple_GET_ITEM(component, k));
        tag = lane > tag ? lane : tag;
    }
    tag = tag_of(component) > tag ? tag_of(component) : tag;
    CadTape *tape = cad_current_tape();
    if (tape == NULL) {
        Py_DECREF(component);
        return NULL;
    }
    tag = tape->running_tag > tag ? tape->running_tag : tag;
    PyObject *dual = cad_dual_from(primal, component, tag + 1);
    Py_DECREF(component);
    return dual;
}

/* An array of numbers with derivatives as it is, anything else as a fresh float64 array. */
static PyObject *array_component(PyObject *object, const char *what) {
    return CAD_IS_VAR(object) || CAD_IS_DUAL(object) ? Py_NewRef(object)
                                                     : float64_array(object, what);
}

static int refuse_shape(PyObject *primal, PyObject *tangent) {
    PyObject *want = PyObject_GetAttrString(primal, "shape");
    PyObject *have = PyObject_GetAttrString(tangent, "shape");
    if (have != NULL && want != NULL) {
        PyErr_Format(
            PyExc_ValueError,
            "a primal of shape %S takes a tangent of that shape or with one axis of lanes "
            "behind it, not of shape %S",
            want, have);
    }
    Py_XDECREF(have);
    Py_XDECREF(want);
    return -1;
}

/* Whether a tangent's shape begins with the primal's, and has at most one axis more. */
static int fits(PyObject *primal, PyObject *tangent) {
    PyObject *want = PyObject_GetAttrString(primal, "shape");
    PyObject *have = PyObject_GetAttrString(tangent, "shape");
    int result = -1;
    if (want != NULL && have != NULL) {
        const Py_ssize_t n = PyTuple_GET_SIZE(want), extra = PyTuple_GET_SIZE(have) - n;
        PyObject *front = PyTuple_GetSlice(have, 0, n);
        result = front == NULL ? -1 : PyObject_RichCompareBool(front, want, Py_EQ);
        result = result == 1 ? extra == 0 || extra == 1 : result;
        Py_XDECREF(front);
    }
    Py_XDECREF(want);
    Py_XDECREF(have);
    return result;
}

/* Tangents of an array: of its shape, or with an axis of lanes more; a number stands for all. */
static PyObject *make_array(PyObject *primal, PyObject *tangent) {
    PyObject *t = array_component(tangent, "tangent");
    if (t != NULL && cad_ndim(t) == 0) {
        Py_SETREF(t, whole_tangent(t, primal, NO_LANES, 1));
    }
    const int fitting = t == NULL ? -1 : fits(primal, t);
    if (fitting == 0) {
        refuse_shape(primal, t);
    }
    CadTape *tape = fitting == 1 ? cad_current_tape() : NULL;
    PyObject *dual = NULL;
    if (tape != NULL) {
        CadTag tag = tag_of(primal) > tag_of(t) ? tag_of(primal) : tag_of(t);
        tag = tape->running_tag > tag ? tape->running_tag : tag;
        dual = cad_dual_from(primal, t, tag + 1);
    }
    Py_XDECREF(t);
    return dual;
}

static PyObject *dual_make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
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
    PyObject *component = scalar_component(primal);
    if (component != NULL) {
        result = make_scalar(component, tangent);
    } else if (!PyErr_Occurred()) {
        component = array_component(primal, "primal");
        if (component != NULL && cad_ndim(component) == 0) {
            Py_SETREF(component, PyObject_CallMethod(component, "item", NULL));
            result = component == NULL ? NULL : make_scalar(component, tangent);
        } else if (component != NULL) {
            result = make_array(component, tangent);
        }
    }
    Py_XDECREF(component);
    Py_DECREF(tangent);
    return result;
}

static PyObject *dual_seed(PyObject *type, PyObject *x) {
    (void)type;
    if (CAD_IS_VAR(x) || CAD_IS_DUAL(x)) {
        PyErr_Format(PyExc_TypeError,
                     "Dual.seed(x) takes plain numbers, not a %s: write Dual(x, tangent)",
                     Py_TYPE(x)->tp_name);
        return NULL;
    }
    PyObject *primal = float64_array(x, "primal");
    if (primal == NULL) {
        return NULL;
    }
    PyArrayObject *p = (PyArrayObject *)primal;
    const npy_intp size = PyArray_SIZE(p);
    const int ndim = PyArray_NDIM(p);
    npy_intp shape[NPY_MAXDIMS + 1];
    PyObject *result = NULL;
    for (int i = 0; i < ndim; i++) {
        shape[i] = PyArray_DIM(p, i);
    }
    shape[ndim] = size;
    PyObject *tangent = ndim < NPY_MAXDIMS ? PyArray_ZEROS(ndim + 1, shape, NPY_DOUBLE, 0) : NULL;
    if (ndim >= NPY_MAXDIMS) {
        PyErr_Format(PyExc_ValueError,
                     "Dual.seed(x) adds an axis of lanes: x has at most %d axes, not %d",
                     NPY_MAXDIMS - 1, ndim);
    }
    if (tangent != NULL) {
        double *data = PyArray_DATA((PyArrayObject *)tangent);
        for (npy_intp i = 0; i < size; i++) {
            data[i * (size + 1)] = 1.0;
        }
        if (ndim == 0) {
            Py_SETREF(primal, PyObject_CallMethod(primal, "item", NULL));
            result = primal == NULL ? NULL : make_scalar(primal, tangent);
        } else {
            result = make_array(primal, tangent);
        }
    }
    Py_XDECREF(tangent);
    Py_XDECREF(primal);
    return result;
}

/* --- arrays --- */

/* The number in a component at one index, and its tangent: a number, or a tuple of lanes. */
static PyObject *single(PyObject *component) {
    return CAD_IS_VAR(component) || CAD_IS_DUAL(component)
               ? Py_NewRef(component)
               : PyFloat_FromDouble(PyFloat_AsDouble(component));
}

static PyObject *single_tangent(PyObject *tangent) {
    if (cad_ndim(tangent) == 0) {
        return single(tangent);
    }
    PyObject *lanes = PySequence_Tuple(tangent);
    for (Py_ssize_t k = 0; lanes != NULL && k < PyTuple_GET_SIZE(lanes); k++) {
        PyObject *lane = single(PyTuple_GET_ITEM(lanes, k));
        Py_DECREF(PyTuple_GET_ITEM(lanes, k));
        PyTuple_SET_ITEM(lanes, k, lane);
        if (lane == NULL) {
            PyTuple_SET_ITEM(lanes, k, Py_NewRef(Py_None));
            Py_CLEAR(lanes);
        }
    }
    return lanes;
}

/* From the parts of primal and tangent at one index. */
static PyObject *from_parts(PyObject *primal, PyObject *tangent, CadTag tag) {
    if (cad_ndim(primal) > 0) {
        return cad_dual_from(primal, tangent, tag);
    }
    PyObject *p = single(primal);
    PyObject *t = p == NULL || PyErr_Occurred() ? NULL : single_tangent(tangent);
    PyObject *dual = t == NULL ? NULL : cad_dual_from(p, t, tag);
    Py_XDECREF(p);
    Py_XDECREF(t);
    return dual;
}

static PyObject *not_array(void) {
    PyErr_SetString(PyExc_TypeError,
                    "a 0-d Dual holds one number: it has no length and no elements");
    return NULL;
}

/* The key for the tangent: an ellipsis must not swallow the axis of lanes. */
static PyObject *tangent_key(const CadDual *dual, PyObject *key) {
    int ellipsis = key == Py_Ellipsis;
    for (Py_ssize_t i = 0; PyTuple_Check(key) && i < PyTuple_GET_SIZE(key); i++) {
        ellipsis = ellipsis || PyTuple_GET_ITEM(key, i) == Py_Ellipsis;
    }
    if (!ellipsis || !has_lanes(dual)) {
        return Py_NewRef(key);
    }
    PyObject *all = PySlice_New(NULL, NULL, NULL);
    PyObject *tail = all == NULL ? NULL : PyTuple_Pack(1, all);
    PyObject *head = PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
    PyObject *whole = tail == NULL || head == NULL ? NULL : PySequence_Concat(head, tail);
    Py_XDECREF(head);
    Py_XDECREF(tail);
    Py_XDECREF(all);
    return whole;
}

static PyObject *dual_subscript(CadDual *dual, PyObject *key) {
    if (dual->kind != CAD_DUAL_ARRAY) {
        const int axes = cad_new_axes(key);
        return axes < 0 ? not_array() : cad_with_axes((PyObject *)dual, axes);
    }
    PyObject *other = tangent_key(dual, key);
    PyObject *p = other == NULL ? NULL : PyObject_GetItem(dual->primal_object, key);
    PyObject *t = p == NULL ? NULL : PyObject_GetItem(dual->tangent_object, other);
    PyObject *part = t == NULL ? NULL : from_parts(p, t, dual->tag);
    Py_XDECREF(t);
    Py_XDECREF(p);
    Py_XDECREF(other);
    return part;
}

static Py_ssize_t dual_length(CadDual *dual) {
    if (dual->kind != CAD_DUAL_ARRAY) {
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

static PyObject *dual_iter(CadDual *dual) {
    return dual->kind == CAD_DUAL_ARRAY ? PySeqIter_New((PyObject *)dual) : not_array();
}

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
    *tangent = *primal == NULL ? NULL : aligned_tangent(source, 0, has_lanes(dual));
    if (*tangent != NULL && !has_lanes(dual) && cad_ndim(*tangent) > cad_ndim(*primal)) {
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
    PyObject *settled = PyArray_Check(component) ? cad_settled(value) : Py_NewRef(value);
    const int status = settled == NULL ? -1 : PyObject_SetItem(component, key, settled);
    Py_XDECREF(settled);
    return status;
}

static int dual_assign(CadDual *dual, PyObject *key, PyObject *value) {
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

PyObject *cad_dual_elements(CadDual *dual) {
    PyObject *numbers = PyObject_GetAttrString(dual->primal_object, "shape");
    PyArray_Dims dims = {NULL, 0};
    if (numbers == NULL || PyArray_IntpConverter(numbers, &dims) != NPY_SUCCEED) {
        Py_XDECREF(numbers);
        return NULL;
    }
    Py_DECREF(numbers);
    PyObject *result = PyArray_SimpleNew(dims.len, dims.ptr, NPY_OBJECT);
    const npy_intp size = result == NULL ? 0 : PyArray_SIZE((PyArrayObject *)result);
    PyObject **item = size == 0 ? NULL : PyArray_DATA((PyArrayObject *)result);
    for (npy_intp i = 0; i < size; i++) {
        PyObject *key = PyTuple_New(dims.len);
        npy_intp rest = i;
        for (int axis = dims.len; key != NULL && axis-- > 0;) {
            PyTuple_SET_ITEM(key, axis, PyLong_FromSsize_t(rest % dims.ptr[axis]));
            rest /= dims.ptr[axis];
        }
        Py_XSETREF(item[i], key == NULL ? NULL : dual_subscript(dual, key));
        Py_XDECREF(key);
        if (item[i] == NULL) {
            Py_CLEAR(result);
            break;
        }
    }
    PyDimMem_FREE(dims.ptr);
    return result;
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
    PyObject *axes = PyTuple_New(ndim + has_lanes(dual));
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
    {"seed", dual_seed, METH_O | METH_CLASS,
     "seed($type, x, /)\n--\n\n"
     "A Dual with the identity as its tangent: one lane for each element of x, so that the result "
     "of a function carries all partial derivatives."},
    {NULL, NULL, 0, NULL},
};

/* --- in-place operators --- */

/* As for Var: an array is written to, a single number bound to a new one. */
static PyObject *in_place(PyObject *target, PyObject *result) {
    if (result == NULL || result == Py_NotImplemented || !CAD_IS_TYPE(target, CadDualArray_Type)) {
        return result;
    }
    const int status = dual_assign(CAD_DUAL(target), Py_Ellipsis, result);
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

/* --- the type --- */

static PyNumberMethods dual_number = {
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

static PyMappingMethods dual_mapping = {
    .mp_length = (lenfunc)dual_length,
    .mp_subscript = (binaryfunc)dual_subscript,
    .mp_ass_subscript = (objobjargproc)dual_assign,
};

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
    .tp_new = dual_make,
    .tp_dealloc = (destructor)dual_dealloc,
    .tp_repr = (reprfunc)dual_repr,
    .tp_str = (reprfunc)dual_str,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_richcompare = cad_richcompare,
    .tp_iter = (getiterfunc)dual_iter,
    .tp_as_number = &dual_number,
    .tp_as_mapping = &dual_mapping,
    .tp_methods = dual_methods,
    .tp_getset = dual_getset,
};

static PySequenceMethods array_sequence = {
    .sq_length = (lenfunc)dual_length,
    .sq_item = (ssizeargfunc)dual_item,
    .sq_contains = cad_contains,
};

PyTypeObject CadDualArray_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "cadiff.Dual",
    .tp_doc = PyDoc_STR("A Dual that holds an array."),
    .tp_basicsize = sizeof(CadDual),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_base = &CadDual_Type,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_richcompare = cad_richcompare,
    .tp_as_sequence = &array_sequence,
};
