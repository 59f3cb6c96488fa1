/* Comparisons of any numbers. While a program is recorded for replays, what a comparison of its
 * numbers came to is kept: as a guard at once, or as a mask, which becomes one when it is read.
 * What a mask is made of only Python knows. */
#include "numbers/operations/operations.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "numbers/objects/handles.h"

#include "tape/guards.h"
#include "tape/tape.h"

#include <numpy/arrayscalars.h>

/* --- guards --- */

PyObject *cad_outcome(PyObject *left, PyObject *right, int how) {
    static const CadOp comparisons[] = {
        [Py_LT] = CAD_OP_less,      [Py_LE] = CAD_OP_less_equal, [Py_EQ] = CAD_OP_equal,
        [Py_NE] = CAD_OP_not_equal, [Py_GT] = CAD_OP_less,       [Py_GE] = CAD_OP_less_equal,
    };
    const int exchange = how == Py_GT || how == Py_GE;
    return cad_apply2(comparisons[how], exchange ? right : left, exchange ? left : right);
}

int cad_answers_as_numpy(void) {
    return cad_state.as_numpy > 0 && cad_current_tape()->as_numpy > 0;
}

/* Note that a replay has to come to an outcome again; or, if nothing depends on it yet, put a mask
 * in the place of the answer, which does so as soon as it is read. */
static int keep_outcome(CadTape *tape, CadVar *outcome, int equality, PyObject **answer) {
    CadGuards *const guards = tape->guards;
    const int may_wait = answer != NULL && !guards->at_once && cad_state.mask_type != NULL;
    if (may_wait &&
        (CAD_IS_VAR_ARRAY(outcome) ? PyArray_CheckExact(*answer)
                                   : cad_answers_as_numpy() && PyArray_IsScalar(*answer, Bool))) {
        PyObject *mask =
            PyObject_CallFunction((PyObject *)cad_state.mask_type, "OOKi", *answer, outcome,
                                  (unsigned long long)guards->serial, equality);
        if (mask == NULL) {
            return -1;
        }
        Py_SETREF(*answer, mask);
        return 0;
    }
    const size_t count = CAD_IS_VAR_ARRAY(outcome) ? (size_t)outcome->view->size : 1;
    const int status = cad_check(cad_guard_note(tape, outcome->slot, count, equality));
    return status < 0 ? status : cad_note_guard((PyObject *)outcome);
}

static int guard_comparison(PyObject *left, PyObject *right, int how, PyObject **answer);

/* Element by element, as the answer was found. */
static int guard_elements(PyObject *left, PyObject *right, int how) {
    PyObject *x = cad_elements(left);
    PyObject *y = x == NULL ? NULL : cad_elements(right);
    PyArrayMultiIterObject *it =
        y == NULL ? NULL : (PyArrayMultiIterObject *)PyArray_MultiIterNew(2, x, y);
    int status = it == NULL ? -1 : 0;
    while (status == 0 && PyArray_MultiIter_NOTDONE(it)) {
        PyObject *a = PyArray_GETITEM((PyArrayObject *)x, PyArray_MultiIter_DATA(it, 0));
        PyObject *b =
            a == NULL ? NULL : PyArray_GETITEM((PyArrayObject *)y, PyArray_MultiIter_DATA(it, 1));
        status = b == NULL ? -1 : guard_comparison(a, b, how, NULL);
        Py_XDECREF(a);
        Py_XDECREF(b);
        PyArray_MultiIter_NEXT(it);
    }
    Py_XDECREF(it);
    Py_XDECREF(y);
    Py_XDECREF(x);
    return status;
}

/* Whether a number equals itself, or is infinite: two floats meet there by no accident. */
static int is_about_kind(PyObject *left, PyObject *right) {
    double x;
    return left == right || (PyFloat_Check(left) && !isfinite(PyFloat_AS_DOUBLE(left))) ||
           (cad_classify(right, &x) == CAD_PLAIN && !isfinite(x));
}

/* Record the comparison, and keep what it came to. */
static int record_comparison(CadTape *tape, PyObject *left, PyObject *right, int how, int equality,
                             PyObject **answer) {
    PyObject *outcome = cad_outcome(left, right, how);
    if (outcome == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* which the answer did not raise */
        outcome = Py_NewRef(Py_None);
    }
    if (outcome == NULL) {
        return -1;
    }
    int status = 0;
    if (!CAD_IS_VAR(outcome) || CAD_VAR(outcome)->tape != tape) {
        cad_guard_obstacle(tape, "numbers are compared with something that is no real number: "
                                 "compare them with numbers or arrays");
    } else {
        status = keep_outcome(tape, CAD_VAR(outcome), equality, answer);
    }
    Py_DECREF(outcome);
    return status;
}

static int is_stale(PyObject *object) {
    return CAD_IS_VAR(object) && CAD_VAR(object)->kind == CAD_STALE;
}

/* What takes part in a comparison: the innermost primal, a list as an array; of a stale number the
 * value. A new reference. */
static PyObject *take_part(PyObject *object) {
    if (cad_is_listed(object)) {
        return cad_listed_array(object);
    }
    object = cad_innermost(object);
    if (is_stale(object)) {
        return cad_plain_value(object);
    }
    return CAD_IS_DUAL(object) ? PyFloat_FromDouble(CAD_DUAL(object)->primal) : Py_NewRef(object);
}

/* Record a comparison, or `number != 0`, that a replay has to come out as now. Where `answer` is
 * what was found for arrays, it may become a mask instead: what it chooses is chosen anew. */
static int guard_comparison(PyObject *left, PyObject *right, int how, PyObject **answer) {
    PyObject *x = take_part(left);
    PyObject *y = x == NULL ? NULL : take_part(right);
    int status = y == NULL ? -1 : 0;
    CadTape *tape = status < 0 ? NULL : cad_guarded_tape(x);
    tape = status == 0 && tape == NULL ? cad_guarded_tape(y) : tape;
    if (tape != NULL && (is_stale(cad_innermost(left)) || is_stale(cad_innermost(right)))) {
        cad_guard_obstacle(tape, "a number of an earlier call is compared, whose value a replay "
                                 "would not read again: keep cadiff.value(v) of it");
    }
    if (tape != NULL && (cad_is_object_array(x) || cad_is_object_array(y))) {
        status = guard_elements(x, y, how);
    } else if (tape != NULL && !cad_is_foreign(x) && !cad_is_foreign(y)) {
        const int equality =
            (how == Py_EQ || how == Py_NE) && cad_state.formulas == 0 && !is_about_kind(x, y);
        status = record_comparison(tape, x, y, how, equality, answer);
    }
    Py_XDECREF(x);
    Py_XDECREF(y);
    return status;
}

int cad_guard_truth(PyObject *number) {
    PyObject *zero = PyFloat_FromDouble(0.0);
    const int status = zero == NULL ? -1 : guard_comparison(number, zero, Py_NE, NULL);
    Py_XDECREF(zero);
    return status;
}

/* --- comparisons --- */

/* The plain array that a list stands for, or the value of a number. */
static PyObject *plain_part(PyObject *object) {
    return cad_is_listed(object) ? cad_then(cad_listed_array(object), cad_plain_value)
                                 : cad_plain_value(object);
}

static PyObject *compare_values(PyObject *left, PyObject *right, int how) {
    double x, y;
    const int left_class = cad_classify(left, &x);
    const int right_class = left_class < 0 ? -1 : cad_classify(right, &y);
    if (right_class < 0) {
        return NULL;
    }
    if ((left_class == CAD_FOREIGN && !cad_is_listed(left)) ||
        (right_class == CAD_FOREIGN && !cad_is_listed(right))) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (left_class >= CAD_ARRAY_CLASS || right_class >= CAD_ARRAY_CLASS || cad_is_single(left) ||
        cad_is_single(right)) {
        PyObject *a = plain_part(left);
        PyObject *b = a == NULL ? NULL : plain_part(right);
        PyObject *result = b == NULL ? NULL : PyObject_RichCompare(a, b, how);
        Py_XDECREF(a);
        Py_XDECREF(b);
        return result;
    }
    x = cad_primal(left);
    y = cad_primal(right);
    Py_RETURN_RICHCOMPARE(x, y, how);
}

/* Outcomes tell a run of a function from those that choose otherwise. */
static int note_choice(PyObject *left, PyObject *result) {
    if (CAD_IS_BOOL(result)) {
        CadTape *const tape = CAD_IS_SCALAR(left) ? CAD_VAR(left)->tape : cad_current_tape();
        const int truth = PyObject_IsTrue(result);
        tape->choices = (tape->choices + 1 + (uint64_t)truth) * 0x9e3779b97f4a7c15u;
        tape->choices ^= tape->choices >> 29;
        return cad_note_choice(truth);
    }
    return 0;
}

static PyObject *compare(PyObject *left, PyObject *right, int how, int masks) {
    PyObject *result = compare_values(left, right, how);
    /* Of a view of no axes answers are NumPy's: they have axes and methods. */
    if (result != NULL && PyBool_Check(result) &&
        (cad_answers_as_numpy() || cad_is_cell(left) || cad_is_cell(right))) {
        Py_SETREF(result, Py_NewRef(result == Py_True ? PyArrayScalar_True : PyArrayScalar_False));
    }
    if (cad_state.guarding > 0 && result != NULL && result != Py_NotImplemented &&
        guard_comparison(left, right, how, masks ? &result : NULL) < 0) {
        Py_CLEAR(result);
    }
    if (cad_state.choosing > 0 && result != NULL && note_choice(left, result) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

PyObject *cad_richcompare(PyObject *left, PyObject *right, int how) {
    return compare(left, right, how, 1);
}

PyObject *cad_compare(PyObject *left, PyObject *right, int how) {
    return compare(left, right, how, 0);
}

/* `item in array`, as for an ndarray. */
int cad_contains(PyObject *array, PyObject *item) {
    PyObject *any = PyObject_RichCompare(array, item, Py_EQ);
    if (any != NULL && !PyBool_Check(any)) {
        any = cad_called(any, "any");
    }
    const int found = any == NULL ? -1 : PyObject_IsTrue(any);
    Py_XDECREF(any);
    return found;
}
