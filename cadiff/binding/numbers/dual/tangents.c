/* Operations on Duals in general: several lanes, components that are numbers with derivatives
 * themselves (Dual of Dual, Dual over Var), arrays. The tangent is the sum of partials times
 * tangents, each of them an operation on any numbers: which kinds the components are is not asked.
 */
#include "numbers/dual/dual.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/components.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "numbers/objects/handles.h"
#include "numbers/operations/operations.h"
#include "table/special.h"
#include "tape/tape.h"

/* --- operands --- */

/* The operands of one operation. */
typedef struct Operands {
    int count;
    int wanted; /* bit i: operand i is a Dual of the highest tag */
    CadTag tag;
    Py_ssize_t n_lanes; /* NO_LANES if all tangents are single ones */
    int floats;         /* whether all components are floats */
    double value[3];
} Operands;

/* Whether the numbers of lanes agree; the first is set to the number in force. */
static int agree_on_lanes(Py_ssize_t *n_lanes, Py_ssize_t other) {
    if (*n_lanes != CAD_NO_LANES && other != CAD_NO_LANES && *n_lanes != other) {
        PyErr_Format(PyExc_ValueError,
                     "Duals of %zd and of %zd tangent lanes do not mix: seed all inputs of a "
                     "computation together",
                     *n_lanes, other);
        return -1;
    }
    *n_lanes = *n_lanes == CAD_NO_LANES ? other : *n_lanes;
    return 0;
}

int cad_check_alive(PyObject *const *numbers, Py_ssize_t n) {
    const CadTag running = cad_current_tape()->running_tag;
    int alive = 0, over = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (CAD_IS_VAR(numbers[i])) {
            alive |= CAD_VAR(numbers[i])->tape != NULL;
        } else if (CAD_IS_DUAL(numbers[i])) {
            const int is_over = CAD_DUAL(numbers[i])->tag == running ? 0 : cad_is_over(numbers[i]);
            if (is_over < 0) {
                return -1;
            }
            over |= is_over;
            alive |= !is_over;
        }
    }
    return over && alive ? cad_raise_stale() : 0;
}

static int survey(CadOp op, PyObject *const *operands, Operands *all) {
    *all = (Operands){.count = cad_op_info[op].arity, .n_lanes = CAD_NO_LANES, .floats = 1};
    int kinds = 0; /* tags that follow each other, and Vars */
    for (int i = 0; i < all->count; i++) {
        const CadTag tag = CAD_IS_DUAL(operands[i]) ? CAD_DUAL(operands[i])->tag : 0;
        kinds += tag > 0 ? tag != all->tag : CAD_IS_VAR(operands[i]);
        all->tag = tag > all->tag ? tag : all->tag;
    }
    if (kinds > 1 && cad_check_alive(operands, all->count) < 0) {
        return -1;
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

/* --- numbers --- */

static PyObject *apply_floats(CadOp op, PyObject *const *operands, const Operands *all) {
    const double *x = all->value;
    double partial[3];
    const double v = cad_op_value(op, x[0], x[1], x[2]);
    cad_op_partials(op, all->wanted, x[0], x[1], x[2], v, partial);
    if (all->n_lanes == CAD_NO_LANES) {
        double t = 0.0;
        for (int i = 0; i < all->count; i++) {
            if (all->wanted >> i & 1) {
                t += cad_amul(partial[i], CAD_DUAL(operands[i])->tangent);
            }
        }
        return cad_dual_new(v, t, all->tag);
    }
    const size_t n_lanes = (size_t)all->n_lanes;
    CadDual *result = cad_dual_new_lanes(v, n_lanes, all->tag);
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
    Py_ssize_t n = PyTuple_Check(x) ? PyTuple_GET_SIZE(x) : CAD_NO_LANES;
    if (agree_on_lanes(&n, PyTuple_Check(y) ? PyTuple_GET_SIZE(y) : CAD_NO_LANES) < 0) {
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

/* --- arrays --- */

/* The number of lanes in force, or NO_LANES. */
static int survey_lanes(PyObject *const *operands, Operands *all) {
    for (int i = 0; i < all->count; i++) {
        const CadDual *dual = all->wanted >> i & 1 ? CAD_DUAL(operands[i]) : NULL;
        const npy_intp *lengths;
        Py_ssize_t lanes = CAD_NO_LANES;
        if (dual != NULL && dual->kind == CAD_DUAL_OBJECT && PyTuple_Check(dual->tangent_object)) {
            lanes = PyTuple_GET_SIZE(dual->tangent_object);
        } else if (dual != NULL && dual->kind == CAD_DUAL_ARRAY && cad_dual_has_lanes(dual)) {
            const int ndim = cad_lengths(dual->tangent_object, &lengths);
            lanes = lengths[ndim - 1];
        }
        if (agree_on_lanes(&all->n_lanes, lanes) < 0) {
            return -1;
        }
    }
    return 0;
}

/* x[..., None] */
static PyObject *with_axis(PyObject *x) {
    return cad_item(x, PyTuple_Pack(2, Py_Ellipsis, Py_None));
}

/* x with axes of length 1 in front. */
static PyObject *with_axes_in_front(PyObject *x, int count) {
    PyObject *key = PyTuple_New(count + 1);
    for (int i = 0; key != NULL && i <= count; i++) {
        PyTuple_SET_ITEM(key, i, Py_NewRef(i < count ? Py_None : Py_Ellipsis));
    }
    return cad_item(x, key);
}

PyObject *cad_aligned_tangent(CadDual *dual, int ndim, int lanes) {
    if (dual->kind != CAD_DUAL_ARRAY) {
        PyObject *tangent = cad_dual_tangent(dual);
        const int objects = dual->kind == CAD_DUAL_OBJECT && tangent != NULL;
        return objects && PyArray_Check(tangent) ? cad_then(tangent, cad_gather_numbers) : tangent;
    }
    if (!cad_dual_has_lanes(dual)) {
        return lanes ? with_axis(dual->tangent_object) : Py_NewRef(dual->tangent_object);
    }
    const int missing = ndim - cad_ndim(dual->primal_object);
    return missing > 0 ? with_axes_in_front(dual->tangent_object, missing)
                       : Py_NewRef(dual->tangent_object);
}

/* partial * tangent, an exact zero absorbing. */
static PyObject *array_term(PyObject *partial, PyObject *tangent, int lanes) {
    if (PyFloat_CheckExact(partial) && PyFloat_AS_DOUBLE(partial) == 1.0) {
        return Py_NewRef(tangent);
    }
    if (!lanes || cad_ndim(partial) == 0) {
        return cad_apply2(CAD_OP_amul, partial, tangent);
    }
    PyObject *factor = with_axis(partial);
    PyObject *term = factor == NULL ? NULL : cad_apply2(CAD_OP_amul, factor, tangent);
    Py_XDECREF(factor);
    return term;
}

PyObject *cad_whole_tangent(PyObject *total, PyObject *value, Py_ssize_t n_lanes, int shared) {
    const npy_intp *lengths, *own;
    npy_intp shape[NPY_MAXDIMS + 1];
    int ndim = cad_lengths(value, &lengths);
    for (int i = 0; i < ndim; i++) {
        shape[i] = lengths[i];
    }
    if (n_lanes != CAD_NO_LANES) {
        shape[ndim++] = n_lanes;
    }
    if (!shared && cad_lengths(total, &own) == ndim && PyArray_CompareLists(own, shape, ndim)) {
        return Py_NewRef(total);
    }
    PyObject *zeros = PyArray_ZEROS(ndim, shape, NPY_DOUBLE, 0);
    PyObject *result = zeros == NULL ? NULL : cad_apply2(CAD_OP_add, zeros, total);
    Py_XDECREF(zeros);
    return result;
}

/* --- all of them --- */

/* The tangent of the result: the sum over the operands of partial times tangent; whether that is
 * the tangent of an operand itself. */
static PyObject *total_tangent(CadOp op, PyObject *const *operands, PyObject *const *primals,
                               PyObject *value, const Operands *all, int arrays, int *shared) {
    const int lanes = all->n_lanes != CAD_NO_LANES;
    PyObject *total = NULL;
    for (int i = 0; i < all->count; i++) {
        if (!(all->wanted >> i & 1)) {
            continue;
        }
        CadDual *dual = CAD_DUAL(operands[i]);
        PyObject *tangent =
            arrays ? cad_aligned_tangent(dual, cad_ndim(value), lanes) : cad_dual_components(dual);
        PyObject *partial =
            tangent == NULL ? NULL
                            : cad_object_partial(op, i, primals[0], primals[1], primals[2], value);
        PyObject *term = partial == NULL ? NULL
                         : arrays        ? array_term(partial, tangent, lanes)
                                         : apply_lanes(CAD_OP_amul, partial, tangent);
        *shared = term == tangent && total == NULL;
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

/* Numbers in arrays become floats of the precision that NumPy has them in among floats: the words
 * of a partial are not those of integers. */
static PyObject *constant_operand(CadOp op, int which, PyObject *operand) {
    const int chooses = op == CAD_OP_where && which == 0; /* and asks for no precision */
    if (chooses && PyArray_IsScalar(operand, Generic)) {
        return PyBool_FromLong(PyObject_IsTrue(operand));
    }
    if (PyArray_Check(operand)) {
        if (chooses) {
            return PyArray_FROMANY(operand, NPY_BOOL, 0, 0, NPY_ARRAY_FORCECAST);
        }
        const int type = PyArray_TYPE((PyArrayObject *)operand);
        const int is_small = PyArray_ITEMSIZE((PyArrayObject *)operand) <= 2;
        if (PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type) || type == NPY_HALF) {
            return PyArray_FROMANY(operand, is_small ? NPY_FLOAT : NPY_DOUBLE, 0, 0,
                                   NPY_ARRAY_FORCECAST);
        }
    }
    return Py_NewRef(operand);
}

/* Plain numbers in double precision, in which partials are computed; others as they are. */
static PyObject *in_double(PyObject *number) {
    return number == NULL || CAD_IS_VAR(number) || CAD_IS_DUAL(number) ? Py_XNewRef(number)
                                                                       : cad_widened(number);
}

/* total_tangent, from primals and a value of any precision. */
static PyObject *total_tangent_in_double(CadOp op, PyObject *const *operands,
                                         PyObject *const *primals, PyObject *value,
                                         const Operands *all, int arrays, int *shared) {
    PyObject *numbers[4] = {primals[0], primals[1], primals[2], value};
    PyObject *wide[4], *total = NULL;
    int done = 1;
    for (int i = 0; i < 4; i++) {
        wide[i] = in_double(numbers[i]);
        done = done && (wide[i] != NULL || numbers[i] == NULL);
    }
    if (done) {
        total = total_tangent(op, operands, wide, wide[3], all, arrays, shared);
    }
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(wide[i]);
    }
    return total;
}

static int any_array(PyObject *const *operands, int n) {
    for (int i = 0; i < n; i++) {
        if (cad_ndim(operands[i]) > 0) {
            return 1;
        }
    }
    return 0;
}

static int is_cell(PyObject *operand) {
    return CAD_IS_DUAL_ARRAY(operand) && cad_ndim(operand) == 0;
}

/* A Dual of no axes as a single number, which an operation reads. */
static PyObject *read_cell(PyObject *operand) {
    const CadDual *dual = CAD_DUAL(operand);
    return is_cell(operand) ? cad_dual_from(dual->primal_object, dual->tangent_object, dual->tag)
                            : Py_NewRef(operand);
}

static int any_single(PyObject *const *primals, int n) {
    for (int i = 0; i < n; i++) {
        if (!PyFloat_CheckExact(primals[i]) && cad_is_single(primals[i])) {
            return 1;
        }
    }
    return 0;
}

/* A float that is the primal of a Dual is a number of float64: beside float32 it is one of
 * NumPy's, lest it go along with that as a number of Python's does. */
static int settle_floats(PyObject **primals, const Operands *all) {
    for (int i = 0; i < all->count; i++) {
        if (all->wanted >> i & 1 && PyFloat_CheckExact(primals[i])) {
            Py_SETREF(primals[i],
                      PyObject_CallOneArg((PyObject *)&PyDoubleArrType_Type, primals[i]));
            if (primals[i] == NULL) {
                return -1;
            }
        }
    }
    return 0;
}

static PyObject *dual_apply(CadOp op, PyObject *const *operands) {
    Operands all;
    for (int i = 0; i < cad_op_info[op].arity; i++) {
        if (is_cell(operands[i])) {
            return cad_apply_converted(op, operands, read_cell, dual_apply);
        }
    }
    if (survey(op, operands, &all) < 0) {
        return NULL;
    }
    const int arrays = any_array(operands, all.count);
    if (all.floats && !arrays) {
        return apply_floats(op, operands, &all);
    }
    PyObject *primals[3] = {NULL, NULL, NULL};
    PyObject *value = NULL, *tangent = NULL, *result = NULL;
    int shared = 0;
    for (int i = 0; i < all.count; i++) {
        CadDual *dual = all.wanted >> i & 1 ? CAD_DUAL(operands[i]) : NULL;
        primals[i] = dual == NULL                   ? constant_operand(op, i, operands[i])
                     : dual->kind == CAD_DUAL_ARRAY ? Py_NewRef(dual->primal_object)
                                                    : cad_dual_primal(dual);
        if (primals[i] == NULL) {
            goto done;
        }
    }
    const int is_single = any_single(primals, all.count);
    if (is_single && settle_floats(primals, &all) < 0) {
        goto done;
    }
    cad_state.quiet += arrays;
    if (!arrays || survey_lanes(operands, &all) == 0) {
        value = cad_apply(op, primals);
    }
    if (value != NULL) {
        tangent = (is_single ? total_tangent_in_double
                             : total_tangent)(op, operands, primals, value, &all, arrays, &shared);
    }
    if (tangent != NULL && arrays) {
        Py_SETREF(tangent, cad_whole_tangent(tangent, value, all.n_lanes, shared));
    }
    result = tangent == NULL ? NULL : cad_dual_from(value, tangent, all.tag);
    cad_state.quiet -= arrays;
done:
    Py_XDECREF(tangent);
    Py_XDECREF(value);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(primals[i]);
    }
    return result;
}

PyObject *cad_dual_show(CadOp op, PyObject *const *operands, PyObject *dual) {
    if (dual != NULL && cad_state.dual_hook(op, operands, dual) < 0) {
        Py_CLEAR(dual);
    }
    return dual;
}

PyObject *cad_dual_apply(CadOp op, PyObject *const *operands) {
    PyObject *dual = dual_apply(op, operands);
    return cad_state.dual_hook == NULL ? dual : cad_dual_show(op, operands, dual);
}
