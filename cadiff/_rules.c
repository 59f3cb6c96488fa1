/* The partials of the table over arbitrary Python numbers: the algebra of a Dual whose components
 * are Vars, Duals or both. Each word of a formula is an operation of the package.
 *
 * Words consume their operands and answer NULL if one of them is NULL, so that a nested expression
 * neither leaks nor has to look for failures itself. */
#include "_numbers.h"

static PyObject *consume1(CadOp op, PyObject *x) {
    if (x == NULL) {
        return NULL;
    }
    PyObject *result = cad_apply1(op, x);
    Py_DECREF(x);
    return result;
}

static PyObject *consume2(CadOp op, PyObject *x, PyObject *y) {
    PyObject *result = x == NULL || y == NULL ? NULL : cad_apply2(op, x, y);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return result;
}

#define A(name, ...) word_##name(__VA_ARGS__)
#define K(constant) PyFloat_FromDouble(constant)
#define L(number) Py_NewRef(number)
#define P(number) cad_primal(number)

#define CAD_ROW1(name, value_, dx)                                                                \
    static inline PyObject *word_##name(PyObject *x) {                                            \
        return consume1(CAD_OP_##name, x);                                                        \
    }
#define CAD_ROW2(name, value_, dx, dy)                                                            \
    static inline PyObject *word_##name(PyObject *x, PyObject *y) {                               \
        return consume2(CAD_OP_##name, x, y);                                                     \
    }
#define CAD_ROW3(name, value_, dx, dy, dz) /* no partial is written with one */
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3

PyObject *cad_object_partial(CadOp op, int which, PyObject *x, PyObject *y, PyObject *z,
                             PyObject *v) {
    (void)z;
    switch ((int)op * 4 + which) {
#define CASE(name, which, partial)                                                                \
    case CAD_OP_##name * 4 + which:                                                               \
        return partial;
#define CAD_ROW1(name, value_, dx) CASE(name, 0, dx)
#define CAD_ROW2(name, value_, dx, dy) CASE(name, 0, dx) CASE(name, 1, dy)
#define CAD_ROW3(name, value_, dx, dy, dz) CASE(name, 0, dx) CASE(name, 1, dy) CASE(name, 2, dz)
#include "ops_rows.h"
    default:
        PyErr_SetString(PyExc_SystemError, "cadiff: no such partial");
        return NULL;
    }
}
