/* The errors that several files raise, each worded here alone. Errors of one file are worded
 * there. */
#include "numbers/objects/errors.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/state.h"
#include "numbers/objects/views.h"

int cad_raise_status(CadStatus status) {
    if (status == CAD_RAISED) { /* the exception is set, or the caller has forgotten it */
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_SystemError, "cadiff: a step failed and did not say why");
        }
    } else if (status == CAD_NO_MEMORY) {
        PyErr_SetString(PyExc_MemoryError, "cadiff: no memory left to record operations");
    } else if (status == CAD_BUSY) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "a Var was computed with while another thread, to which it belongs, sweeps "
            "over what it recorded: pass values between threads (cadiff.value(v))");
    } else {
        PyErr_SetString(PyExc_OverflowError,
                        "cadiff: these are too many numbers: a tape holds at most 2**32, a "
                        "compiled program 2**31; compute with fewer of them at a time");
    }
    return -1;
}

int cad_raise_stale(void) {
    PyErr_SetString(
        cad_state.stale_error,
        "this number belongs to a gradient call that is over: its value can be read, but "
        "it cannot be computed with; return it from f with has_aux=True, or take "
        "cadiff.value(v) inside f");
    return -1;
}

int cad_refuse_value(PyObject *self, PyObject *value, void *unused) {
    (void)value, (void)unused;
    const char *name = CAD_IS_DUAL(self) ? "Dual" : "Var";
    PyErr_Format(
        PyExc_AttributeError,
        "a %s keeps its value: make another one, x = cadiff.%s(...); an array is assigned "
        "to by x[...] = number",
        name, name);
    return -1;
}

int cad_refuse_layout(PyObject *self, PyObject *value, void *name) {
    (void)value;
    const int is_shape = strcmp(name, "shape") == 0;
    PyErr_Format(PyExc_AttributeError, "a %s keeps its %s: %s", CAD_IS_DUAL(self) ? "Dual" : "Var",
                 (const char *)name,
                 is_shape ? "write x = x.reshape(shape) for x.shape = shape"
                          : "numbers with derivatives are float64 or complex128");
    return -1;
}

void cad_register_advice(PyObject *function, PyObject *has_own, PyObject *array_of) {
    Py_XSETREF(cad_state.advice, Py_NewRef(function));
    Py_XSETREF(cad_state.has_own, Py_NewRef(has_own));
    Py_XSETREF(cad_state.array_of, Py_NewRef(array_of));
}

PyObject *cad_refuse_array(PyObject *given) {
    if (cad_state.array_of == NULL || !PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL;
    }
    PyErr_Clear(); /* it is raised again there */
    return PyObject_CallOneArg(cad_state.array_of, given);
}

int cad_refuse_elements(PyObject *self) {
    PyObject *found =
        cad_state.has_own == NULL ? Py_NewRef(Py_False) : PyObject_CallNoArgs(cad_state.has_own);
    const int is_refused = found == NULL ? -1 : PyObject_IsTrue(found);
    Py_XDECREF(found);
    if (is_refused > 0) {
        cad_refuse_conversion(self);
    }
    return is_refused == 0 ? 0 : -1;
}

int cad_refuse_memory(PyObject *self) {
    PyFrameObject *frame = PyEval_GetFrame();
    PyCodeObject *code = frame == NULL ? NULL : PyFrame_GetCode(frame);
    const int is_memory = code != NULL && (PyObject *)code == cad_state.as_strided;
    Py_XDECREF(code);
    if (is_memory) {
        cad_refuse_conversion(self);
    }
    return is_memory ? -1 : 0;
}

PyObject *cad_refuse_conversion(PyObject *self) {
    PyObject *text = cad_state.advice == NULL ? NULL : PyObject_CallNoArgs(cad_state.advice);
    if (text == NULL && PyErr_Occurred() != NULL && !PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL; /* an interrupt */
    }
    if (text == NULL || !PyUnicode_Check(text) || PyUnicode_GetLength(text) == 0) {
        PyErr_Clear(); /* what is raised is more to the point */
        Py_XSETREF(text,
                   PyUnicode_FromString(
                       "write cadiff.sin(v) instead of math.sin(v), cadiff.array([...]) for "
                       "an array that holds numbers with derivatives, or cadiff.value(v) for "
                       "the value"));
    }
    if (text != NULL) {
        PyErr_Format(PyExc_TypeError,
                     "a %s does not become a plain number by itself, because that would drop its "
                     "derivative: %U",
                     CAD_IS_DUAL(self) ? "Dual" : "Var", text);
        Py_DECREF(text);
    }
    return NULL;
}

/* A constant made inside of a differentiation, so that numbers can be assigned to it, becomes
 * plain wherever Python or a library asks for that. */
static PyObject *converted(PyObject *self, PyObject *convert(PyObject *)) {
    PyObject *plain = cad_constant_value(self);
    if (plain == Py_None) {
        Py_DECREF(plain);
        return cad_refuse_conversion(self);
    }
    PyObject *number = plain == NULL ? NULL : convert(plain);
    Py_XDECREF(plain);
    return number;
}

PyObject *cad_number_float(PyObject *self) {
    return converted(self, PyNumber_Float);
}

PyObject *cad_number_int(PyObject *self) {
    return converted(self, PyNumber_Long);
}

int cad_raise_threads(void) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Vars of two threads do not mix: each thread records on a tape of its own; "
                    "pass values between threads (cadiff.value(v))");
    return -1;
}

int cad_refuse_shapes(const char *format, int ndim, const npy_intp *shape, int other_ndim,
                      const npy_intp *other_shape) {
    PyObject *first = cad_shape_tuple(ndim, shape);
    PyObject *second = first == NULL ? NULL : cad_shape_tuple(other_ndim, other_shape);
    if (second != NULL) {
        PyErr_Format(PyExc_ValueError, format, first, second);
    }
    Py_XDECREF(first);
    Py_XDECREF(second);
    return -1;
}

int cad_refuse_shapes_of(const char *format, PyObject *array, PyObject *other) {
    const npy_intp *shape, *other_shape;
    const int ndim = cad_lengths(array, &shape), other_ndim = cad_lengths(other, &other_shape);
    return cad_refuse_shapes(format, ndim, shape, other_ndim, other_shape);
}

int cad_refuse_truth(const char *type, Py_ssize_t size) {
    PyErr_Format(PyExc_ValueError,
                 "the truth value of a %s of %zd elements is ambiguous: use .any() or .all() of a "
                 "comparison",
                 type, size);
    return -1;
}

int cad_raise_nested(void) {
    PyErr_SetString(PyExc_RecursionError,
                    "a container (a list, tuple, dict or array of objects) contains itself, or is "
                    "nested too deeply: cadiff goes through containers to the numbers in them; "
                    "pass numbers and arrays, or containers of a few levels");
    return -1;
}

enum { MOST_NESTED = 5000 }; /* by all threads; a level takes less than a kilobyte of the stack */

int cad_enter_container(void) {
    if (cad_state.nested >= MOST_NESTED) {
        return cad_raise_nested();
    }
    if (Py_EnterRecursiveCall(" while going through a container")) {
        PyErr_Clear();
        return cad_raise_nested();
    }
    cad_state.nested++;
    return 0;
}

void cad_leave_container(void) {
    cad_state.nested--;
    Py_LeaveRecursiveCall();
}

void cad_restore_exception(PyObject *error) {
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
}
