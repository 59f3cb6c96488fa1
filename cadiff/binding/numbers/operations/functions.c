/* Which function is which: NumPy's functions, the operations that they stand for, and the
 * package's functions in their place. The tables are filled where the module is made ready;
 * nothing is called here. */
#include "numbers/operations/operations.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"

CadPointer *cad_function_in_place_of(PyObject *function) {
    if (cad_state.load_functions != NULL) {
        if (cad_done(PyObject_CallNoArgs(cad_state.load_functions)) < 0) {
            return NULL;
        }
        Py_CLEAR(cad_state.load_functions);
    }
    return cad_state.array_functions == NULL
               ? NULL
               : PyDict_GetItemWithError(cad_state.array_functions, function);
}

CadPointer *cad_find_function(const char *name) {
    PyObject *function = PyObject_GetAttrString(cad_state.numpy, name);
    PyObject *ours = cad_then(function, cad_function_in_place_of);
    if (ours == NULL && !PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "numbers with derivatives do not support %s", name);
    }
    return ours;
}

int cad_find_op(PyObject *ufunc) {
    PyObject *op = PyDict_GetItemWithError(cad_state.op_of_function, ufunc);
    if (op != NULL) {
        return (int)PyLong_AsLong(op);
    }
    if (PyErr_Occurred()) {
        return -1;
    }
    /* A ufunc of SciPy, which is not imported on its account. */
    PyObject *name = PyObject_GetAttrString(ufunc, "__name__");
    op = cad_with(PyDict_GetItemWithError, cad_state.op_of_name, name);
    if (op == NULL) {
        return PyErr_Occurred() ? -1 : -2;
    }
    const int code = (int)PyLong_AsLong(op);
    const char *twin = cad_op_info[code].ufunc;
    if (strncmp(twin, "scipy.", 6) != 0) {
        return -2;
    }
    return PyDict_SetItem(cad_state.op_of_function, ufunc, op) < 0 ? -1 : code;
}

int cad_register(PyObject *functions, PyObject *load, PyObject *hook) {
    Py_XSETREF(cad_state.array_functions, Py_NewRef(functions));
    Py_XSETREF(cad_state.load_functions, Py_NewRef(load));
    Py_XSETREF(cad_state.ufunc_hook, Py_NewRef(hook));
    return 0;
}

bool cad_is_sum_of_all(PyObject *function, PyObject *x) {
    return function == cad_state.numpy_sum && CAD_IS_VAR_ARRAY(x);
}
