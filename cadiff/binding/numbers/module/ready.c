/* What happens once, at import: types, functions and errors are put into the module, NumPy's
 * functions are looked up, and the tables are filled by which lower files reach higher ones. */
#include "numbers/module/module.h"
#include "numbers/objects/components.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "numbers/operations/operations.h"
#include "numbers/var/var.h"
#include "numbers/array/array.h"
#include "numbers/dual/dual.h"

static PyObject *function_value(PyObject *module, PyObject *object) {
    (void)module;
    return cad_plain_value(object);
}

static PyMethodDef functions[] = {
    {"plain_value", function_value, METH_O,
     "plain_value(x, /)\n--\n\nThe value of a number or an array, without derivatives."},
    {NULL, NULL, 0, NULL},
};

/* --- types --- */

static int add_descriptor(PyTypeObject *type, const char *name, PyObject *descriptor) {
    const int status =
        descriptor == NULL ? -1 : PyDict_SetItemString(type->tp_dict, name, descriptor);
    Py_XDECREF(descriptor);
    return status;
}

static int add_method(PyTypeObject *type, PyMethodDef *method) {
    return add_descriptor(type, method->ml_name, PyDescr_NewMethod(type, method));
}

static int ready_type(PyObject *module, const char *name, PyTypeObject *type) {
    PyMethodDef *const tables[] = {cad_protocol_methods, cad_common_methods, cad_whole_methods};
    int status = PyType_Ready(type);
    for (int i = 0; i < 3; i++) {
        for (PyMethodDef *method = tables[i]; status == 0 && method->ml_name != NULL; method++) {
            status = add_method(type, method);
        }
    }
    for (PyGetSetDef *one = cad_common_attributes; status == 0 && one->name != NULL; one++) {
        status = add_descriptor(type, one->name, PyDescr_NewGetSet(type, one));
    }
    for (int op = 0; status == 0 && op < CAD_OP_COUNT; op++) {
        if (cad_table_methods[op].ml_meth != NULL && cad_op_info[op].name[0] != '_') {
            status = add_method(type, &cad_table_methods[op]);
        }
    }
    PyType_Modified(type);
    return status < 0 ? -1 : PyModule_AddObjectRef(module, name, (PyObject *)type);
}

/* --- what lower files reach through tables --- */

static void fill_type_tables(void) {
    cad_state.table_of_var = (CadTypeTable){
        .apply = cad_array_apply,
        .matmul = cad_array_matmul,
        .elements = cad_var_elements,
        .values = cad_var_values,
    };
    cad_state.table_of_dual = (CadTypeTable){
        .apply = cad_dual_apply,
        .elements = cad_dual_elements,
        .values = cad_dual_values,
    };
}

static void fill_var_types(void) {
    PyTypeObject *type = &CadVar_Type, *array = &CadVarArray_Type;
    type->tp_new = cad_var_make;
    type->tp_dealloc = (destructor)cad_var_dealloc;
    type->tp_repr = (reprfunc)cad_var_repr;
    type->tp_str = (reprfunc)cad_var_str;
    type->tp_as_number = &cad_var_number;
    type->tp_as_mapping = &cad_var_mapping;
    type->tp_methods = cad_var_methods;
    type->tp_getset = cad_var_attributes;
    array->tp_iter = (getiterfunc)cad_var_iter;
    array->tp_as_mapping = &cad_var_array_mapping;
    array->tp_as_sequence = &cad_var_sequence;
    array->tp_methods = cad_array_methods;
    type->tp_richcompare = array->tp_richcompare = cad_richcompare;
}

static void fill_dual_types(void) {
    PyTypeObject *type = &CadDual_Type, *array = &CadDualArray_Type;
    type->tp_new = cad_dual_make;
    type->tp_dealloc = (destructor)cad_dual_dealloc;
    type->tp_repr = (reprfunc)cad_dual_repr;
    type->tp_str = (reprfunc)cad_dual_str;
    type->tp_as_number = &cad_dual_number;
    type->tp_as_mapping = &cad_dual_mapping;
    type->tp_methods = cad_dual_methods;
    type->tp_getset = cad_dual_attributes;
    array->tp_iter = (getiterfunc)cad_dual_iter;
    array->tp_as_mapping = &cad_dual_array_mapping;
    array->tp_as_sequence = &cad_dual_sequence;
    array->tp_methods = cad_array_methods;
    type->tp_richcompare = array->tp_richcompare = cad_richcompare;
}

/* --- functions --- */

/* numpy.sin for "numpy.sin"; NULL without an exception for all others. */
static PyObject *numpy_twin(const char *ufunc) {
    return strncmp(ufunc, "numpy.", 6) == 0 ? PyObject_GetAttrString(cad_state.numpy, ufunc + 6)
                                            : NULL;
}

static int remember(PyObject *function, const char *name, int op) {
    PyObject *code = PyLong_FromLong(op);
    int status = code == NULL ? -1 : PyDict_SetItemString(cad_state.op_of_name, name, code);
    if (status == 0 && function != NULL) {
        status = PyDict_SetItem(cad_state.op_of_function, function, code);
    }
    Py_XDECREF(code);
    return status;
}

static int ready_op(PyObject *module, int op) {
    const CadOpInfo *info = &cad_op_info[op];
    cad_state.numpy_functions[op] = numpy_twin(info->ufunc);
    if (PyErr_Occurred() || (cad_state.own_ufuncs[op] = cad_make_ufunc((CadOp)op)) == NULL) {
        return -1;
    }
    cad_table_functions[op].ml_name = cad_table_methods[op].ml_name = info->name;
    cad_table_functions[op].ml_doc = cad_table_methods[op].ml_doc = info->doc;
    PyObject *name = PyUnicode_FromString("cadiff");
    PyObject *function =
        name == NULL ? NULL : PyCFunction_NewEx(&cad_table_functions[op], NULL, name);
    Py_XDECREF(name);
    if (function == NULL || PyModule_AddObjectRef(module, info->name, function) < 0 ||
        (info->name[0] != '_' && remember(cad_state.numpy_functions[op], info->name, op) < 0)) {
        Py_XDECREF(function);
        return -1;
    }
    Py_DECREF(function);
    return 0;
}

static int ready_alias(PyObject *module, const char *alias, const char *name) {
    PyObject *function = PyObject_GetAttrString(module, name);
    PyObject *code = PyDict_GetItemString(cad_state.op_of_name, name);
    if (function == NULL || code == NULL) {
        Py_XDECREF(function);
        return -1;
    }
    /* NumPy may have a ufunc of its own under the other name: degrees beside rad2deg. */
    PyObject *twin = PyObject_GetAttrString(cad_state.numpy, alias);
    if (twin == NULL) {
        PyErr_Clear();
    }
    const int status = PyModule_AddObjectRef(module, alias, function) < 0
                           ? -1
                           : remember(twin, alias, (int)PyLong_AsLong(code));
    Py_XDECREF(twin);
    Py_DECREF(function);
    return status;
}

static PyObject *attribute_of(const char *module_name, const char *name) {
    return cad_attribute(PyImport_ImportModule(module_name), name);
}

/* --- the module --- */

/* Takes the bases over. */
static PyObject *new_error(PyObject *module, const char *name, const char *doc, PyObject *bases) {
    PyObject *error = bases == NULL ? NULL : PyErr_NewExceptionWithDoc(name, doc, bases, NULL);
    Py_XDECREF(bases);
    if (error != NULL && PyModule_AddObjectRef(module, strchr(name, '.') + 1, error) < 0) {
        Py_CLEAR(error);
    }
    return error;
}

int cad_numbers_ready(PyObject *module) {
    cad_state.partial_of = -1;
    if ((cad_state.numpy = PyImport_ImportModule("numpy")) == NULL ||
        (cad_state.numpy_sum = PyObject_GetAttrString(cad_state.numpy, "sum")) == NULL ||
        (cad_state.numpy_matmul = PyObject_GetAttrString(cad_state.numpy, "matmul")) == NULL ||
        (cad_state.dtype = attribute_of("cadiff.binding.dtype", "float64")) == NULL ||
        (cad_state.dtype_of_singles = attribute_of("cadiff.binding.dtype", "float32")) == NULL ||
        (cad_state.as_strided = cad_attribute(
             attribute_of("numpy.lib.stride_tricks", "as_strided"), "__code__")) == NULL ||
        (cad_state.op_of_function = PyDict_New()) == NULL ||
        (cad_state.op_of_name = PyDict_New()) == NULL) {
        return -1;
    }
    cad_state.stale_error =
        new_error(module, "cadiff.StaleVarError",
                  "A Var was computed with after the gradient call that it belongs to had ended.",
                  Py_NewRef(PyExc_RuntimeError));
    cad_state.missing_error =
        new_error(module, "cadiff.MissingRuleError",
                  "A function was given a number with a derivative, and has no rule for it.",
                  PyTuple_Pack(2, PyExc_TypeError, PyExc_NotImplementedError));
    if (cad_state.stale_error == NULL || cad_state.missing_error == NULL) {
        return -1;
    }
    for (int op = CAD_OP_THIRD + 1; op < CAD_OP_COUNT; op++) {
        if (ready_op(module, op) < 0) {
            return -1;
        }
    }
    cad_borrow_loops(cad_state.numpy_functions);
    if (cad_check_loops_over_objects(cad_state.numpy) < 0) {
        return -1;
    }
    for (int i = 0; cad_op_aliases[i][0] != NULL; i++) {
        if (ready_alias(module, cad_op_aliases[i][0], cad_op_aliases[i][1]) < 0) {
            return -1;
        }
    }
    fill_type_tables();
    fill_var_types();
    fill_dual_types();
    if (ready_type(module, "Var", &CadVar_Type) < 0 || PyType_Ready(&CadVarArray_Type) < 0 ||
        ready_type(module, "Dual", &CadDual_Type) < 0 || PyType_Ready(&CadDualArray_Type) < 0) {
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
