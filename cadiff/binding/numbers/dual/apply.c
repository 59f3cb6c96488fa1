/* Operations on Duals in general: several lanes, components that are numbers with derivatives
 * themselves (Dual of Dual, Dual over Var), arrays. The tangent is the sum of partials times
 * tangents, each of them an operation on any numbers: which kinds the components are is not asked.
 */
#include "numbers/dual/dual.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/duals.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/state.h"
#include "numbers/objects/tape.h"
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

/* The tangent of the result: the sum over the operands of partial times tangent. */
static PyObject *total_tangent(CadOp op, PyObject *const *operands, PyObject *const *primals,
                               PyObject *value, const Operands *all) {
    PyObject *total = NULL;
    for (int i = 0; i < all->count; i++) {
        if (!(all->wanted >> i & 1)) {
            continue;
        }
        PyObject *tangent = cad_dual_components(CAD_DUAL(operands[i]));
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

/* --- arrays --- */

/* The number of lanes in force, or NO_LANES. */
static int survey_lanes(PyObject *const *operands, Operands *all) {
    for (int i = 0; i < all->count; i++) {
        if (!(all->wanted >> i & 1)) {
            continue;
        }
        CadDual *dual = CAD_DUAL(operands[i]);
        Py_ssize_t lanes = CAD_NO_LANES;
        if (dual->kind == CAD_DUAL_OBJECT && PyTuple_Check(dual->tangent_object)) {
            lanes = PyTuple_GET_SIZE(dual->tangent_object);
        } else if (dual->kind == CAD_DUAL_ARRAY && cad_dual_has_lanes(dual)) {
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

PyObject *cad_aligned_tangent(CadDual *dual, int ndim, int lanes) {
    if (dual->kind != CAD_DUAL_ARRAY) {
        PyObject *tangent = cad_dual_tangent(dual);
        if (tangent != NULL && dual->kind == CAD_DUAL_OBJECT && PyArray_Check(tangent)) {
            Py_SETREF(tangent, cad_gather_numbers(tangent));
        }
        return tangent;
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

PyObject *cad_whole_tangent(PyObject *total, PyObject *value, Py_ssize_t n_lanes, int shared) {
    PyObject *shape = PyObject_GetAttrString(value, "shape");
    if (shape != NULL && n_lanes != CAD_NO_LANES) {
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
    const int lanes = all->n_lanes != CAD_NO_LANES;
    int shared = 0;
    for (int i = 0; value != NULL && i < all->count; i++) {
        if (!(all->wanted >> i & 1)) {
            continue;
        }
        PyObject *tangent = cad_aligned_tangent(CAD_DUAL(operands[i]), cad_ndim(value), lanes);
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
        PyObject *tangent = cad_whole_tangent(total, value, all->n_lanes, shared);
        result = tangent == NULL ? NULL : cad_dual_from(value, tangent, all->tag);
        Py_XDECREF(tangent);
    }
    Py_XDECREF(total);
    Py_XDECREF(value);
    return result;
}

/* --- all of them --- */

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

static int is_cell(PyObject *operand) {
    return CAD_IS_DUAL_ARRAY(operand) && cad_ndim(operand) == 0;
}

/* A Dual of no axes as a single number. */
static PyObject *read_cell(PyObject *operand) {
    CadDual *dual = CAD_DUAL(operand);
    return cad_dual_from(dual->primal_object, dual->tangent_object, dual->tag);
}

static PyObject *dual_apply(CadOp op, PyObject *const *operands);

/* Some operands are views of no axes: an operation reads what stands there. */
static PyObject *apply_cells(CadOp op, PyObject *const *operands, int n) {
    PyObject *read[3] = {NULL, NULL, NULL};
    int done = 0;
    for (; done < n; done++) {
        read[done] =
            is_cell(operands[done]) ? read_cell(operands[done]) : Py_NewRef(operands[done]);
        if (read[done] == NULL) {
            break;
        }
    }
    PyObject *result = done < n ? NULL : dual_apply(op, read);
    while (done-- > 0) {
        Py_DECREF(read[done]);
    }
    return result;
}

static PyObject *dual_apply(CadOp op, PyObject *const *operands) {
    Operands all;
    for (int i = 0; i < cad_op_info[op].arity; i++) {
        if (is_cell(operands[i])) {
            return apply_cells(op, operands, cad_op_info[op].arity);
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
        cad_state.quiet++;
        result = apply_arrays(op, operands, primals, &all);
        cad_state.quiet--;
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

PyObject *cad_dual_show(CadOp op, PyObject *x, PyObject *y, PyObject *dual) {
    PyObject *const operands[2] = {x, y};
    if (dual != NULL && cad_state.dual_hook(op, operands, dual) < 0) {
        Py_CLEAR(dual);
    }
    return dual;
}

PyObject *cad_dual_apply(CadOp op, PyObject *const *operands) {
    PyObject *dual = dual_apply(op, operands);
    if (cad_state.dual_hook != NULL && dual != NULL &&
        cad_state.dual_hook(op, operands, dual) < 0) {
        Py_CLEAR(dual);
    }
    return dual;
}
