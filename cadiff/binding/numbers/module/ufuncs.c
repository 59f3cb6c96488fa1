/* NumPy's protocols, __array_ufunc__ and __array_function__, and the package's own ufuncs over
 * arrays of objects and doubles, whose loops the core borrows from NumPy. What an operation does
 * is not known here. */
#include "numbers/module/module.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "numbers/operations/operations.h"
#include "numbers/operations/slots.h"
#include "numbers/var/var.h"
#include "numbers/array/array.h"

#include "kernels/single.h"

#include <fenv.h>

/* --- the protocols --- */

/* What is no plain call of an operation. */
static PyObject *call_hook(PyObject *ufunc, PyObject *method, PyObject *const *inputs,
                           Py_ssize_t n, PyObject *names) {
    if (cad_state.ufunc_hook == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "cadiff is not imported as a whole");
        return NULL;
    }
    PyObject *args = cad_tuple_of(inputs, n);
    PyObject *kwargs = PyDict_New();
    int status = args == NULL || kwargs == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        status = PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), inputs[n + i]);
    }
    PyObject *result = status < 0 ? NULL
                                  : PyObject_CallFunctionObjArgs(cad_state.ufunc_hook, ufunc,
                                                                 method, args, kwargs, NULL);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return result;
}

/* What `np.float64(c) - v` comes to, which loops over data do for every element. NULL without an
 * exception if the operands are others. */
static PyObject *constant_before_var(int op, PyObject *left, PyObject *right) {
    if (op < 0 || cad_op_info[op].arity != 2 || !CAD_IS_FLOAT(left) || !CAD_IS_SCALAR(right)) {
        return NULL;
    }
    const double c = PyFloat_AS_DOUBLE(left);
    const double value = cad_op_value((CadOp)op, c, CAD_VAR(right)->value, 0.0);
    return cad_record_constant((CadOp)op, CAD_VAR(right), c, CAD_PASSIVE_A, value);
}

static int is_call(PyObject *method) {
    return PyUnicode_GET_LENGTH(method) == 8 && memcmp(PyUnicode_DATA(method), "__call__", 8) == 0;
}

/* __array_ufunc__(self, ufunc, method, *inputs, **kwargs) */
static PyObject *array_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t n,
                             PyObject *names) {
    (void)self;
    if (n < 3 || !PyUnicode_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "__array_ufunc__ is called by NumPy");
        return NULL;
    }
    PyObject *ufunc = args[0];
    PyObject *const *inputs = args + 2;
    n -= 2;
    if (ufunc == cad_state.last_ufunc && n == 2 && names == NULL && is_call(args[1])) {
        PyObject *result = constant_before_var(cad_state.last_op, inputs[0], inputs[1]);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    if (ufunc == cad_state.numpy_matmul && n == 2 && names == NULL && is_call(args[1])) {
        return cad_matmul(inputs[0], inputs[1]);
    }
    const int op = is_call(args[1]) ? cad_find_op(ufunc) : -2;
    if (op == -1) {
        return NULL;
    }
    const int plain = op >= 0 && n == cad_op_info[op].arity;
    if (!plain || (names != NULL && PyTuple_GET_SIZE(names) > 0)) {
        return call_hook(ufunc, args[1], inputs, n, names);
    }
    cad_state.last_ufunc = ufunc;
    cad_state.last_op = op;
    return cad_call((CadOp)op, inputs, n);
}

/* __array_function__(self, function, types, args, kwargs) */
static PyObject *array_function(PyObject *self, PyObject *arguments) {
    PyObject *function, *types, *args, *kwargs;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OOO!O!:__array_function__", &function, &types, &PyTuple_Type,
                          &args, &PyDict_Type, &kwargs)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(args) == 1 && PyDict_GET_SIZE(kwargs) == 0 &&
        cad_is_sum_of_all(function, PyTuple_GET_ITEM(args, 0))) {
        return cad_array_sum(CAD_VAR(PyTuple_GET_ITEM(args, 0)), Py_None, 0);
    }
    PyObject *ours = cad_function_in_place_of(function);
    if (ours != NULL) {
        return cad_call_dispatched(ours, args, kwargs);
    }
    PyObject *result = PyErr_Occurred() ? NULL : cad_call_on_constants(function, args, kwargs);
    if (result != Py_NotImplemented) {
        return result;
    }
    Py_DECREF(result);
    if (!PyErr_Occurred()) {
        PyObject *name = PyObject_GetAttrString(function, "__name__");
        PyObject *module = PyObject_GetAttrString(function, "__module__");
        if (name != NULL && module != NULL) {
            PyErr_Format(cad_state.missing_error,
                         "%U.%U is not supported for numbers with derivatives: write it with the "
                         "functions that docs/functions.md lists, or apply it to cadiff.value(v), "
                         "which has no derivative",
                         module, name);
        }
        Py_XDECREF(name);
        Py_XDECREF(module);
    }
    return NULL;
}

PyMethodDef cad_protocol_methods[] = {
    {"__array_ufunc__", (PyCFunction)(void (*)(void))array_ufunc, METH_FASTCALL | METH_KEYWORDS,
     "NumPy's protocol for its ufuncs."},
    {"__array_function__", array_function, METH_VARARGS, "NumPy's protocol for its functions."},
    {NULL, NULL, 0, NULL},
};

/* --- loops --- */

/* The inner loops of the package's own ufuncs, over doubles and over objects. They leave none of
 * the processor's flags behind, of which NumPy would make warnings. */
static void loop_doubles(char **data, const npy_intp *dimensions, const npy_intp *steps,
                         void *code) {
    cad_run_loop((CadOp)(intptr_t)code, data, dimensions, steps);
    feclearexcept(FE_ALL_EXCEPT);
}

/* An element at a time where the operation has no loop over floats: what such are of is rare. */
static void loop_floats(char **data, const npy_intp *dimensions, const npy_intp *steps,
                        void *code) {
    cad_run_single_loop((CadOp)(intptr_t)code, data, dimensions, steps);
    feclearexcept(FE_ALL_EXCEPT);
}

static void loop_objects(char **data, const npy_intp *dimensions, const npy_intp *steps,
                         void *code) {
    const CadOp op = (CadOp)(intptr_t)code;
    const int n = cad_op_info[op].arity;
    for (npy_intp i = 0; i < dimensions[0]; i++) {
        PyObject *x[3];
        for (int k = 0; k < n; k++) {
            PyObject *operand = *(PyObject **)(data[k] + i * steps[k]);
            x[k] = operand == NULL ? Py_None : operand;
        }
        PyObject *result = cad_apply(op, x);
        if (result == Py_NotImplemented) {
            PyErr_Format(PyExc_TypeError, "cadiff.%s: an array holds something that is no number",
                         cad_op_info[op].name);
            Py_CLEAR(result);
        }
        if (result == NULL) {
            return;
        }
        Py_XSETREF(*(PyObject **)(data[n] + i * steps[n]), result);
    }
    cad_check_elements(data[n], dimensions[0], steps[n]);
    feclearexcept(FE_ALL_EXCEPT);
}

PyObject *cad_make_ufunc(CadOp op) {
    static PyUFuncGenericFunction loops[] = {loop_floats, loop_doubles, loop_objects};
    static const char types[3][3 * 4] = {
        {NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE, NPY_OBJECT, NPY_OBJECT},
        {NPY_FLOAT, NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_OBJECT,
         NPY_OBJECT, NPY_OBJECT},
        {NPY_FLOAT, NPY_FLOAT, NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE,
         NPY_DOUBLE, NPY_OBJECT, NPY_OBJECT, NPY_OBJECT, NPY_OBJECT},
    };
    for (int k = 0; k < 3; k++) {
        cad_state.loop_data[op][k] = (void *)(intptr_t)op;
    }
    const int arity = cad_op_info[op].arity;
    return PyUFunc_FromFuncAndData(loops, cad_state.loop_data[op], types[arity - 1], 3, arity, 1,
                                   PyUFunc_None, cad_op_info[op].name, cad_op_info[op].doc, 0);
}

bool cad_loop_over_doubles(PyObject *function, int n_operands, int n_results,
                           PyUFuncGenericFunction *loop, void **data) {
    return cad_loop_over_numbers(function, n_operands, n_results, 0, loop, data);
}

/* The loop of a ufunc over numbers of a type, or, where a bit is set, of another one. */
static int find_loop(PyObject *function, int n_operands, int n_results, unsigned others,
                     const int types[2], PyUFuncGenericFunction *loop, void **data) {
    if (!PyObject_TypeCheck(function, &PyUFunc_Type)) {
        return 0;
    }
    const PyUFuncObject *ufunc = (const PyUFuncObject *)function;
    for (int i = 0; i < ufunc->ntypes && ufunc->nin == n_operands && ufunc->nout == n_results;
         i++) {
        int fits = ufunc->functions[i] != NULL;
        for (int k = 0; k < ufunc->nargs; k++) {
            fits = fits && ufunc->types[i * ufunc->nargs + k] == types[others >> k & 1];
        }
        if (fits) {
            *loop = ufunc->functions[i];
            *data = ufunc->data == NULL ? NULL : (void *)ufunc->data[i];
            return 1;
        }
    }
    return 0;
}

bool cad_loop_over_numbers(PyObject *function, int n_operands, int n_results, unsigned complexes,
                           PyUFuncGenericFunction *loop, void **data) {
    static const int types[2] = {NPY_DOUBLE, NPY_CDOUBLE};
    return find_loop(function, n_operands, n_results, complexes, types, loop, data);
}

bool cad_loop_of_ufunc(PyObject *function, int index, PyUFuncGenericFunction *loop, void **data) {
    if (!PyObject_TypeCheck(function, &PyUFunc_Type)) {
        return 0;
    }
    const PyUFuncObject *ufunc = (const PyUFuncObject *)function;
    *loop = index < ufunc->ntypes ? ufunc->functions[index] : NULL;
    *data = ufunc->data == NULL || *loop == NULL ? NULL : (void *)ufunc->data[index];
    return *loop != NULL;
}

/* Let the core use a ufunc's own loops over doubles and floats for an operation. */
static void borrow_loop(CadOp op, PyObject *function, int arity) {
    static const int singles[2] = {NPY_FLOAT, NPY_FLOAT};
    PyUFuncGenericFunction loop;
    void *data;
    if (find_loop(function, arity, 1, 0, singles, &loop, &data)) {
        cad_set_single_loop(op, (CadLoopFunction)loop, data);
    }
    if (op != CAD_OP_positive && /* its own is a copy */
        cad_loop_over_doubles(function, arity, 1, &loop, &data)) {
        cad_set_loop(op, (CadLoopFunction)loop, data);
    }
}

void cad_borrow_loops(PyObject *const *functions) {
    for (int op = CAD_OP_THIRD + 1; op < CAD_OP_COUNT; op++) {
        if (functions[op] != NULL) {
            borrow_loop((CadOp)op, functions[op], cad_op_info[op].arity);
        }
    }
    borrow_loop(CAD_OP_MATMUL, cad_state.numpy_matmul, 2);
}
