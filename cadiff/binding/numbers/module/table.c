/* The functions of the table: those of the package, and the methods of Var and Dual that are named
 * like them. Each row of src/table/ops.def is written out here, for what loops over numbers call;
 * all that is no single float, Var or Dual goes the general way. */
#include "numbers/module/module.h"
#include "numbers/objects/components.h"
#include "numbers/objects/slabs.h"
#include "numbers/objects/handles.h"
#include "numbers/operations/operations.h"
#include "numbers/dual/dual.h"
#include "table/ops.h"

#ifndef Py_NO_INLINE /* as of Python 3.11 */
#define Py_NO_INLINE
#endif

/* Out of line: written out in each function these would cost all of them registers to be saved. */
static Py_NO_INLINE PyObject *new_var(CadTape *tape, CadSlot slot, double value) {
    return cad_var_new(tape, slot, value);
}

static Py_NO_INLINE PyObject *new_dual(double primal, double tangent, CadTag tag) {
    return cad_dual_new(primal, tangent, tag);
}

/* A function of one number answers floats, Vars and Duals itself: it is what loops call. Of sin
 * there are of_one_sin, function_sin and method_sin, and so of each row. */
#define CAD_ROW1(name, value_, dx)                                                                \
    static PyObject *of_one_##name(PyObject *x) {                                                 \
        if (PyFloat_CheckExact(x)) {                                                              \
            return PyFloat_FromDouble(val_##name(PyFloat_AS_DOUBLE(x)));                          \
        }                                                                                         \
        if (CAD_IS_SCALAR(x)) {                                                                   \
            CadTape *tape = CAD_VAR(x)->tape;                                                     \
            if (cad_tape_has_room(tape)) { /* else the general way makes it */                    \
                const double v = val_##name(CAD_VAR(x)->value);                                   \
                const CadSlot a = CAD_VAR(x)->slot;                                               \
                const CadSlot out = cad_tape_push(tape, CAD_CODE(CAD_OP_##name, 0), a, a, v);     \
                return new_var(tape, out, v);                                                     \
            }                                                                                     \
        } else if (CAD_IS_TYPE(x, CadDual_Type) && CAD_DUAL(x)->kind == CAD_DUAL_FLOAT) {         \
            const CadDual *dual = CAD_DUAL(x);                                                    \
            const double v = val_##name(dual->primal);                                            \
            const double t = cad_amul(d1_##name(dual->primal, v), dual->tangent);                 \
            return cad_dual_seen(CAD_OP_##name, x, x, new_dual(v, t, dual->tag));                 \
        }                                                                                         \
        return cad_call1(CAD_OP_##name, x);                                                       \
    }                                                                                             \
    static PyObject *function_##name(PyObject *module, PyObject *const *args, Py_ssize_t n) {     \
        (void)module;                                                                             \
        return n == 1 ? of_one_##name(args[0]) : cad_call(CAD_OP_##name, args, n);                \
    }                                                                                             \
    static PyObject *method_##name(PyObject *self, PyObject *unused) {                            \
        (void)unused;                                                                             \
        return of_one_##name(self);                                                               \
    }
#define FUNCTION(name)                                                                            \
    static PyObject *function_##name(PyObject *module, PyObject *const *args, Py_ssize_t n) {     \
        (void)module;                                                                             \
        return cad_call(CAD_OP_##name, args, n);                                                  \
    }
#define CAD_ROW2(name, value_, dx, dy)                                                            \
    FUNCTION(name)                                                                                \
    static PyObject *method_##name(PyObject *self, PyObject *other) {                             \
        PyObject *const args[2] = {self, other};                                                  \
        return cad_call(CAD_OP_##name, args, 2);                                                  \
    }
#define CAD_ROW3(name, value_, dx, dy, dz) FUNCTION(name)
#include "ops_rows.h"

/* ml_name and ml_doc are filled in from the table by cad_numbers_ready. */
PyMethodDef cad_table_functions[CAD_OP_COUNT] = {
#define CAD_NAME(name, arity)                                                                     \
    [CAD_OP_##name] = {NULL, (PyCFunction)(void (*)(void))function_##name, METH_FASTCALL, NULL},
#include "ops_codes.h"
};

PyMethodDef cad_table_methods[CAD_OP_COUNT] = {
#define CAD_ROW1(name, value_, dx) [CAD_OP_##name] = {NULL, method_##name, METH_NOARGS, NULL},
#define CAD_ROW2(name, value_, dx, dy) [CAD_OP_##name] = {NULL, method_##name, METH_O, NULL},
#define CAD_ROW3(name, value_, dx, dy, dz)
#include "ops_rows.h"
};

PyMethodDef cad_whole_methods[] = {
    {"__floor__", method_floor, METH_NOARGS, "math.floor, with derivative 0."},
    {"__ceil__", method_ceil, METH_NOARGS, "math.ceil, with derivative 0."},
    {"__trunc__", method_trunc, METH_NOARGS, "math.trunc, with derivative 0."},
    {NULL, NULL, 0, NULL},
};
