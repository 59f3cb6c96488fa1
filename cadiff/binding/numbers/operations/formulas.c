/* The partials of the table over arbitrary Python numbers and arrays of them: the algebra of a
 * Dual whose components are arrays, Vars, Duals. Each word of a formula is an operation of the
 * package.
 *
 * Words consume their operands and answer NULL if one of them is NULL, so that a nested expression
 * neither leaks nor has to look for failures itself. */
#include "numbers/operations/operations.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "table/special.h"

/* A result, once it was computed of operands that are not needed any more. */
static PyObject *releasing(PyObject *x, PyObject *y, PyObject *result) {
    Py_XDECREF(x);
    Py_XDECREF(y);
    return result;
}

/* A word of one operand has no second one. */
static PyObject *consume(CadOp op, PyObject *x, PyObject *y) {
    return releasing(x, y,
                     x == NULL                    ? NULL
                     : cad_op_info[op].arity == 1 ? cad_apply1(op, x)
                     : y == NULL                  ? NULL
                                                  : cad_apply2(op, x, y));
}

/* --- conditions --- */

/* A condition is True or False for numbers, a bool array for arrays; where a replay is to choose
 * anew, a Var of 1 or 0 for numbers, a mask for arrays. Those in force stand on a stack, since a
 * branch may have conditions of its own. */
enum { MOST_CONDITIONS = 8 };

typedef enum Truth { NOWHERE, EVERYWHERE, PARTLY, FAILED } Truth;

typedef struct Conditions {
    int depth;
    Truth truth[MOST_CONDITIONS];
    PyObject *mask[MOST_CONDITIONS];
} Conditions;

static int is_single(PyObject *x) {
    return CAD_IS_SCALAR(x) || PyFloat_Check(x);
}

/* Whether one of two numbers may be another one in a replay. */
static int is_replayed(PyObject *x, PyObject *y) {
    return cad_state.guarding > 0 && is_single(x) && is_single(y) &&
           (cad_guarded_tape(x) != NULL || cad_guarded_tape(y) != NULL);
}

static PyObject *compare(PyObject *x, PyObject *y, int how) {
    return releasing(x, y,
                     x == NULL || y == NULL           ? NULL
                     : is_replayed(x, y)              ? cad_outcome(x, y, how)
                     : CAD_IS_VAR(x) || CAD_IS_VAR(y) ? cad_richcompare(x, y, how)
                                                      : PyObject_RichCompare(x, y, how));
}

/* Both conditions, or either: as numbers if one of them is a number. */
static PyObject *combine(PyObject *x, PyObject *y, binaryfunc function, CadOp op) {
    return releasing(x, y,
                     x == NULL || y == NULL           ? NULL
                     : CAD_IS_VAR(x) || CAD_IS_VAR(y) ? cad_apply2(op, x, y)
                                                      : function(x, y));
}

static PyObject *magnitude(PyObject *x) {
    return cad_then(x, PyNumber_Absolute);
}

/* The value of a number, the values of an array; where a replay may find them changed, the number
 * itself. */
static PyObject *plain(PyObject *number) {
    double value;
    if (cad_state.guarding > 0 && cad_guarded_tape(number) != NULL) {
        return Py_NewRef(cad_innermost(number));
    }
    const int class = cad_classify(number, &value);
    if (class < 0) {
        return NULL;
    }
    return class == CAD_ARRAY_CLASS ? cad_plain_value(number)
                                    : PyFloat_FromDouble(cad_primal(number));
}

static Truth truth_of(PyObject *mask) {
    if (mask == NULL) {
        return FAILED;
    }
    if (cad_is_mask(mask) || CAD_IS_VAR(mask)) {
        return PARTLY;
    }
    if (!PyArray_Check(mask)) {
        const int truth = PyObject_IsTrue(mask);
        return truth < 0 ? FAILED : truth ? EVERYWHERE : NOWHERE;
    }
    const npy_intp size = PyArray_SIZE((PyArrayObject *)mask);
    const npy_intp count = PyArray_CountNonzero((PyArrayObject *)mask);
    return count < 0 ? FAILED : count == 0 ? NOWHERE : count == size ? EVERYWHERE : PARTLY;
}

/* Takes the mask over. */
static Truth judge(Conditions *c, PyObject *mask) {
    c->mask[c->depth] = mask;
    return c->truth[c->depth++] = truth_of(mask);
}

static Truth judged(const Conditions *c) {
    return c->truth[c->depth - 1];
}

/* End a condition that was needed for the choice of one branch only. */
static PyObject *chosen(Conditions *c, PyObject *x) {
    Py_XDECREF(c->mask[--c->depth]);
    return x;
}

static PyObject *blend(Conditions *c, PyObject *x, PyObject *y) {
    PyObject *mask = c->mask[--c->depth];
    if (cad_is_mask(mask)) {
        Py_SETREF(mask, PyObject_GetAttrString(mask, "number"));
    }
    PyObject *const operands[3] = {mask, x, y};
    PyObject *result =
        mask == NULL || x == NULL || y == NULL ? NULL : cad_apply(CAD_OP_where, operands);
    Py_XDECREF(mask);
    return releasing(x, y, result);
}

#define IF(condition, x, y)                                                                       \
    (judge(c, condition) == EVERYWHERE ? chosen(c, x)                                             \
     : judged(c) == NOWHERE            ? chosen(c, y)                                             \
     : judged(c) == FAILED             ? chosen(c, NULL)                                          \
                                       : blend(c, x, y))
#define AND(x, y) combine(x, y, PyNumber_And, CAD_OP_multiply)
#define OR(x, y) combine(x, y, PyNumber_Or, CAD_OP_maximum)
#define LT(x, y) compare(x, y, Py_LT)
#define LE(x, y) compare(x, y, Py_LE)
#define EQ(x, y) compare(x, y, Py_EQ)
#define NE(x, y) compare(x, y, Py_NE)
#define ABS(x) magnitude(x)
#define C(constant) PyFloat_FromDouble(constant)

#define A(name, ...) consume(CAD_OP_##name, CAD_FIRST_TWO(__VA_ARGS__, NULL, NULL))
#define K(constant) PyFloat_FromDouble(constant)
#define L(number) Py_NewRef(number)
#define P(number) plain(number)

static PyObject *partial(CadOp op, int which, PyObject *x, PyObject *y, PyObject *z, PyObject *v) {
    (void)z;
    Conditions conditions = {.depth = 0};
    Conditions *const c = &conditions;
    switch ((int)op * 4 + which) {
#include "ops_partials.h"
    default:
        PyErr_SetString(PyExc_SystemError, "cadiff: no such partial");
        return NULL;
    }
}

PyObject *cad_object_partial(CadOp op, int which, PyObject *x, PyObject *y, PyObject *z,
                             PyObject *v) {
    const int outer = cad_state.partial_of;
    cad_state.partial_of = (int)op;
    cad_state.quiet++;
    cad_state.formulas++;
    PyObject *result = partial(op, which, x, y, z, v);
    cad_state.formulas--;
    cad_state.quiet--;
    cad_state.partial_of = outer;
    return result;
}
