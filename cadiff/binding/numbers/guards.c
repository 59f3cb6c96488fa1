/* What a program asks of the values of numbers while it is recorded for replays: comparisons
 * become guards, other readings are obstacles or refused. Outside of that nothing here is reached.
 */
#include "numbers/numbers.h"

#include "tape/guards.h"
#include "tape/captures.h"

int cad_guarding;
int cad_formulas;

/* --- numbers whose values a replay may find changed --- */

PyObject *cad_innermost(PyObject *number) {
    while (CAD_IS_DUAL(number) && CAD_DUAL(number)->kind >= CAD_DUAL_OBJECT) {
        number = CAD_DUAL(number)->primal_object;
    }
    return number;
}

/* Numbers on no tape are constants, and so are those of other threads. What an inner recording
 * made of its own numbers alone is as constant as these. */
static CadTape *tape_of_var(const CadVar *var) {
    CadTape *const tape = var->tape;
    if (tape == NULL || tape->guards == NULL) {
        return NULL;
    }
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    if (var->kind == CAD_ARRAY &&
        (var->view->size == 0 ||
         (var->view->flags & CAD_CONSTANT && cad_tape_is_constant(tape, (CadSlot)low)))) {
        return NULL;
    }
    return cad_depends_below(tape, tape->guards->marks, (CadSlot)low) ? tape : NULL;
}

CadTape *cad_guarded_tape(PyObject *object) {
    object = cad_innermost(object);
    if (CAD_IS_VAR(object)) {
        return tape_of_var(CAD_VAR(object));
    }
    if (!PyArray_Check(object) || PyArray_TYPE((PyArrayObject *)object) != NPY_OBJECT) {
        return NULL;
    }
    CadTape *tape = NULL;
    PyArrayIterObject *it = (PyArrayIterObject *)PyArray_IterNew(object);
    if (it == NULL) {
        PyErr_Clear();
        return cad_current_tape();
    }
    while (tape == NULL && PyArray_ITER_NOTDONE(it)) {
        PyObject *const item = *(PyObject **)PyArray_ITER_DATA(it);
        tape = item == NULL ? NULL : cad_guarded_tape(item);
        PyArray_ITER_NEXT(it);
    }
    Py_DECREF(it);
    return tape;
}

/* --- readings --- */

void cad_note_text(PyObject *number) {
    CadTape *tape = cad_guarding == 0 ? NULL : cad_guarded_tape(number);
    if (tape != NULL) {
        cad_guard_obstacle(tape, "the text of a number is made");
    }
}

int cad_read_openly(PyObject *object, const char *what) {
    if (cad_guarding == 0 || cad_guarded_tape(object) == NULL) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s inside a function that is being compiled: the program would keep the number "
                 "that it gave while recording; use cadiff.stop_gradient(v), which keeps the "
                 "number and cuts the derivative, compare numbers themselves, or do not compile "
                 "this function",
                 what);
    return -1;
}

void cad_read_quietly(PyObject *object, const char *what) {
    CadTape *const tape = cad_guarding == 0 ? NULL : cad_guarded_tape(object);
    if (tape != NULL) {
        cad_guard_obstacle(tape, what);
    }
}

/* --- comparisons --- */

/* Operations by Py_LT ... Py_GE; the last two exchange their operands. */
static const CadOp comparisons[] = {
    [Py_LT] = CAD_OP_less,      [Py_LE] = CAD_OP_less_equal, [Py_EQ] = CAD_OP_equal,
    [Py_NE] = CAD_OP_not_equal, [Py_GT] = CAD_OP_less,       [Py_GE] = CAD_OP_less_equal,
};

static int is_object_array(PyObject *object) {
    return PyArray_Check(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_OBJECT;
}

/* The type of masks: see _masks.py. */
static PyTypeObject *mask_type;

void cad_register_masks(PyObject *type) {
    Py_XSETREF(mask_type, (PyTypeObject *)Py_NewRef(type));
}

int cad_is_mask(PyObject *object) {
    return mask_type != NULL && Py_IS_TYPE(object, mask_type);
}

/* Note that a replay has to come to an outcome again; or, if nothing depends on it yet, put a mask
 * in the place of the answer, which does so as soon as somebody reads it. */
static int keep_outcome(CadTape *tape, CadVar *outcome, int equality, PyObject **answer) {
    CadGuards *const guards = tape->guards;
    if (CAD_IS_VAR_ARRAY(outcome) && answer != NULL && !guards->at_once && mask_type != NULL &&
        PyArray_CheckExact(*answer)) {
        PyObject *mask = PyObject_CallFunction((PyObject *)mask_type, "OOKi", *answer, outcome,
                                               (unsigned long long)guards->serial, equality);
        if (mask == NULL) {
            return -1;
        }
        Py_SETREF(*answer, mask);
        return 0;
    }
    const size_t count = CAD_IS_VAR_ARRAY(outcome) ? (size_t)outcome->view->size : 1;
    const CadStatus status = cad_guard_note(tape, outcome->slot, count, equality);
    return status == CAD_OK ? 0 : cad_raise_status(status);
}

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
        status = b == NULL ? -1 : cad_guard_comparison(a, b, how, NULL);
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
    const int exchange = how == Py_GT || how == Py_GE;
    PyObject *outcome =
        cad_apply2(comparisons[how], exchange ? right : left, exchange ? left : right);
    if (outcome == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* which the answer did not raise */
        outcome = Py_NewRef(Py_None);
    }
    if (outcome == NULL) {
        return -1;
    }
    int status = 0;
    if (!CAD_IS_VAR(outcome) || CAD_VAR(outcome)->tape != tape) {
        cad_guard_obstacle(tape, "numbers are compared with something that is no real number");
    } else {
        status = keep_outcome(tape, CAD_VAR(outcome), equality, answer);
    }
    Py_DECREF(outcome);
    return status;
}

/* What takes part in a comparison: the innermost primal, a list as an array. A new reference. */
static PyObject *take_part(PyObject *object) {
    if (PyList_Check(object) || PyTuple_Check(object)) {
        return PyArray_FROM_O(object);
    }
    object = cad_innermost(object);
    return CAD_IS_DUAL(object) ? PyFloat_FromDouble(CAD_DUAL(object)->primal) : Py_NewRef(object);
}

/* Whether it is no number, so that its type alone decides. */
static int is_foreign(PyObject *object) {
    double number;
    return cad_classify(object, &number) == CAD_FOREIGN;
}

int cad_guard_comparison(PyObject *left, PyObject *right, int how, PyObject **answer) {
    PyObject *x = take_part(left);
    PyObject *y = x == NULL ? NULL : take_part(right);
    int status = y == NULL ? -1 : 0;
    CadTape *tape = status < 0 ? NULL : cad_guarded_tape(x);
    tape = status == 0 && tape == NULL ? cad_guarded_tape(y) : tape;
    if (tape != NULL && (is_object_array(x) || is_object_array(y))) {
        status = guard_elements(x, y, how);
    } else if (tape != NULL && !is_foreign(x) && !is_foreign(y)) {
        const int equality =
            (how == Py_EQ || how == Py_NE) && cad_formulas == 0 && !is_about_kind(x, y);
        status = record_comparison(tape, x, y, how, equality, answer);
    }
    Py_XDECREF(x);
    Py_XDECREF(y);
    return status;
}

int cad_guard_truth(PyObject *number) {
    PyObject *zero = PyFloat_FromDouble(0.0);
    const int status = zero == NULL ? -1 : cad_guard_comparison(number, zero, Py_NE, NULL);
    Py_XDECREF(zero);
    return status;
}
