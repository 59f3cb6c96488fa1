/* Operations on any numbers: the kind of each operand, and who computes the result. Functions of
 * the package, NumPy's ufuncs and operators come here with all that they do not answer at once.
 * Scalar Vars are recorded here; what arrays and Duals do stands behind a table of each type. */
#include "numbers/operations/operations.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/slabs.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"

/* The table of an array with derivatives; NULL for anything else. */
static const CadTypeTable *table_of_array(PyObject *object) {
    return CAD_IS_VAR_ARRAY(object)    ? &cad_state.table_of_var
           : CAD_IS_DUAL_ARRAY(object) ? &cad_state.table_of_dual
                                       : NULL;
}

/* --- numbers as arrays, and without derivatives --- */

PyObject *cad_elements(PyObject *object) {
    const CadTypeTable *table = table_of_array(object);
    if (table != NULL) {
        return table->elements(object);
    }
    if (CAD_IS_VAR(object) || CAD_IS_DUAL(object)) {
        PyObject *array = PyArray_SimpleNew(0, NULL, NPY_OBJECT);
        if (array != NULL) {
            PyObject **item = PyArray_DATA((PyArrayObject *)array);
            Py_XSETREF(*item, Py_NewRef(object));
        }
        return array;
    }
    return PyArray_FROM_O(object);
}

PyObject *cad_single(PyObject *number) {
    return cad_is_cell(number) ? cad_apply(CAD_OP_positive, &number) : Py_NewRef(number);
}

/* Whether the class of an object has an attribute: of it code of the user's may not answer for the
 * object. The name becomes one string: CPython remembers the names that it was asked for. */
static int class_has(PyObject *object, PyObject **name, const char *text) {
    if (*name == NULL && (*name = PyUnicode_InternFromString(text)) == NULL) {
        PyErr_Clear();
        return 0;
    }
    return _PyType_Lookup(Py_TYPE(object), *name) != NULL;
}

static int is_table(PyObject *object) {
    return class_has(object, &cad_state.to_numpy, "to_numpy");
}

/* A table, such as those of pandas, or an array of another library, such as a torch.Tensor. */
static int stands_for_array(PyObject *object) {
    if (PyFloat_Check(object) || CAD_IS_VAR(object) || CAD_IS_DUAL(object) ||
        PyArray_Check(object) || PyType_Check(object)) {
        return 0;
    }
    return is_table(object) || class_has(object, &cad_state.dlpack, "__dlpack__");
}

bool cad_is_listed(PyObject *object) {
    return PyList_Check(object) || PyTuple_Check(object) || stands_for_array(object);
}

int cad_is_foreign(PyObject *object) {
    double number;
    return !PyLong_Check(object) && cad_classify(object, &number) == CAD_FOREIGN &&
           !cad_is_listed(object);
}

PyObject *cad_listed_array(PyObject *listed) {
    const int is_list = PyList_Check(listed) || PyTuple_Check(listed);
    if (!is_list && is_table(listed)) {
        return PyObject_CallMethod(listed, "to_numpy", NULL);
    }
    PyObject *array = PyArray_FROM_O(listed);
    return array != NULL || is_list ? array : cad_refuse_array(listed);
}

PyObject *cad_numbers_of(PyObject *value) {
    if (cad_is_mask(value)) {
        return PyObject_GetAttrString(value, "number");
    }
    PyObject *array = cad_is_listed(value) ? cad_listed_array(value) : Py_NewRef(value);
    return array != NULL && cad_is_object_array(array) ? cad_then(array, cad_gather_numbers)
                                                       : array;
}

PyObject *cad_plain_value(PyObject *object) {
    const CadTypeTable *table = table_of_array(object);
    if (table != NULL) {
        PyObject *values = table->values(object);
        if (values == NULL || cad_ndim(object) > 0) {
            return values;
        }
        return cad_is_single(object) ? PyArray_Return((PyArrayObject *)values)
                                     : cad_then(values, PyNumber_Float);
    }
    if (CAD_IS_VAR(object) || CAD_IS_DUAL(object)) {
        PyObject *innermost = cad_innermost(object); /* of a Dual maybe a float32 */
        return cad_is_single(innermost) ? cad_plain_value(innermost)
                                        : PyFloat_FromDouble(cad_primal(object));
    }
    if (cad_is_object_array(object)) {
        PyObject *values = PyArray_NewCopy((PyArrayObject *)object, NPY_CORDER);
        if (values != NULL && cad_enter_container() < 0) {
            Py_CLEAR(values);
        }
        if (values == NULL) {
            return NULL;
        }
        const npy_intp size = PyArray_SIZE((PyArrayObject *)values);
        PyObject **item = PyArray_DATA((PyArrayObject *)values);
        int numbers = 1;
        for (npy_intp i = 0; i < size; i++) {
            PyObject *value = item[i] == NULL ? NULL : cad_plain_value(item[i]);
            if (value == NULL) {
                Py_CLEAR(values);
                break;
            }
            double number;
            numbers = numbers && cad_classify(value, &number) == CAD_PLAIN;
            Py_SETREF(item[i], value);
        }
        cad_leave_container();
        if (values != NULL && numbers && !PyErr_Occurred()) {
            Py_SETREF(values, PyArray_FROM_OTF(values, NPY_DOUBLE, NPY_ARRAY_FORCECAST));
        }
        return values;
    }
    return Py_NewRef(object);
}

/* --- complex numbers and arrays --- */

PyObject *cad_apply_converted(CadOp op, PyObject *const *operands, PyObject *convert(PyObject *),
                              PyObject *apply(CadOp op, PyObject *const *operands)) {
    PyObject *converted[3] = {NULL, NULL, NULL};
    const int n = cad_op_info[op].arity;
    int done = 0;
    while (done < n && (converted[done] = convert(operands[done])) != NULL) {
        done++;
    }
    PyObject *result = done < n ? NULL : apply(op, converted);
    while (done-- > 0) {
        Py_DECREF(converted[done]);
    }
    return result;
}

/* At least one operand is complex. */
static PyObject *apply_complex(CadOp op, PyObject *const *operands) {
    PyObject *all = cad_tuple_of(operands, cad_op_info[op].arity);
    PyObject *result = all == NULL ? NULL : cad_complex_operation(op, all);
    Py_XDECREF(all);
    return result;
}

/* Arrays of objects are gone through number by number. */
static PyObject *elements_if_ours(PyObject *operand) {
    const int ours = CAD_IS_VAR(operand) || CAD_IS_DUAL(operand);
    return ours ? cad_elements(operand) : Py_NewRef(operand);
}

static PyObject *call_own_ufunc(CadOp op, PyObject *const *operands) {
    const size_t n = (size_t)cad_op_info[op].arity;
    return PyObject_Vectorcall(cad_state.own_ufuncs[op], operands, n, NULL);
}

/* At least one operand is an array. */
static PyObject *apply_arrays(CadOp op, PyObject *const *operands) {
    const int n = cad_op_info[op].arity;
    int vars = 0, duals = 0, others = 0, complexes = 0;
    for (int i = 0; i < n; i++) {
        vars |= CAD_IS_VAR(operands[i]);
        duals |= CAD_IS_DUAL(operands[i]);
        if (PyArray_Check(operands[i])) {
            const int type = PyArray_TYPE((PyArrayObject *)operands[i]);
            others |= type == NPY_OBJECT;
            complexes |= PyTypeNum_ISCOMPLEX(type);
        }
    }
    if (complexes) {
        return apply_complex(op, operands);
    }
    if (duals && !others) {
        return cad_state.table_of_dual.apply(op, operands);
    }
    if (vars && !others) {
        PyObject *result = cad_state.table_of_var.apply(op, operands);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    PyObject *const function = cad_state.numpy_functions[op];
    return vars || duals || others || function == NULL || cad_state.quiet > 0
               ? cad_apply_converted(op, operands, elements_if_ours, call_own_ufunc)
               : PyObject_Vectorcall(function, operands, (size_t)n, NULL);
}

/* --- single numbers --- */

/* At least one operand is a Var, all are scalars. */
static PyObject *apply_vars(CadOp op, PyObject *const *operands, int n, const double *x) {
    CadTape *tape = NULL;
    for (int i = 0; i < n; i++) {
        if (!CAD_IS_VAR(operands[i])) {
            continue;
        }
        CadVar *var = CAD_VAR(operands[i]);
        if (var->kind == CAD_STALE) {
            cad_raise_stale();
            return NULL;
        }
        if (tape != NULL && var->tape != NULL && var->tape != tape) {
            cad_raise_threads();
            return NULL;
        }
        tape = var->tape != NULL ? var->tape : tape;
    }
    const double value = cad_op_value(op, x[0], x[1], x[2]);
    if (tape == NULL) {
        return cad_var_passive(value);
    }
    if (!cad_tape_has_room(tape) &&
        cad_check(cad_tape_grow_for(tape, op, x[0], x[1], x[2], value)) < 0) {
        return NULL;
    }
    CadSlot slot[3] = {0};
    int passive = 0;
    for (int i = 0; i < n; i++) {
        if (CAD_IS_SCALAR(operands[i])) {
            slot[i] = CAD_VAR(operands[i])->slot;
        } else {
            slot[i] = cad_tape_constant(tape, x[i]);
            passive |= 1 << i;
        }
    }
    CadSlot out;
    if (n == 3) {
        out = cad_tape_push3(tape, CAD_CODE(op, 0), slot[0], slot[1], slot[2], value);
    } else {
        out = cad_tape_push(tape, CAD_CODE(op, passive), slot[0], slot[n - 1], value);
    }
    return cad_var_new(tape, out, value);
}

/* All operands are plain; NumPy scalars among them make the result one. Of float32 the precision
 * is NumPy's business, where it has the function. */
static PyObject *apply_plain(CadOp op, PyObject *const *operands, int n, const double *x) {
    PyObject *const function = cad_state.numpy_functions[op];
    PyTypeObject *type = NULL;
    for (int i = 0; i < n; i++) {
        if (PyArray_IsScalar(operands[i], Float) && function != NULL && cad_state.quiet == 0) {
            return PyObject_Vectorcall(function, operands, (size_t)n, NULL);
        }
        if (PyArray_IsScalar(operands[i], Generic)) {
            const int is_float = PyArray_IsScalar(operands[i], Floating);
            PyTypeObject *const own = is_float ? Py_TYPE(operands[i]) : &PyDoubleArrType_Type;
            type = type == NULL || type == &PyFloatArrType_Type ? own : type;
        }
    }
    if (type == &PyFloatArrType_Type) {
        return call_own_ufunc(op, operands);
    }
    PyObject *result = PyFloat_FromDouble(cad_op_value(op, x[0], x[1], x[2]));
    if (result != NULL && type != NULL) {
        Py_SETREF(result, PyObject_CallOneArg((PyObject *)type, result));
    }
    return result;
}

/* --- applying an operation --- */

/* What stands for an array as one of numbers. */
static PyObject *listed_numbers(PyObject *operand) {
    return cad_is_listed(operand) ? cad_numbers_of(operand) : Py_NewRef(operand);
}

/* What a call comes to that is not about numbers: lists, and mistakes. */
static PyObject *call_on_sequences(CadOp op, PyObject *const *args) {
    for (int i = 0; i < cad_op_info[op].arity; i++) {
        if (cad_is_foreign(args[i])) {
            PyErr_Format(PyExc_TypeError,
                         "cadiff.%s takes real numbers, arrays of them, Var and Dual, not %s",
                         cad_op_info[op].name, Py_TYPE(args[i])->tp_name);
            return NULL;
        }
    }
    return cad_apply_converted(op, args, listed_numbers, apply_arrays);
}

static PyObject *number_of_mask(PyObject *operand) {
    return cad_is_mask(operand) ? PyObject_GetAttrString(operand, "number") : Py_NewRef(operand);
}

/* Some operands are masks; the others are numbers, arrays or lists. Where none is ours, NumPy asks
 * the masks: of whole numbers some functions are whole. */
static PyObject *apply_with_masks(CadOp op, PyObject *const *operands) {
    const int n = cad_op_info[op].arity;
    int ours = cad_state.numpy_functions[op] == NULL;
    for (int k = 0; k < n; k++) {
        ours |= CAD_IS_VAR(operands[k]) || CAD_IS_DUAL(operands[k]);
    }
    return ours ? cad_apply_converted(op, operands, number_of_mask, cad_apply)
                : PyObject_Vectorcall(cad_state.numpy_functions[op], operands, (size_t)n, NULL);
}

/* A list times a number: Python, and NumPy's numbers with it, would repeat the list. */
static int is_repetition(CadOp op, PyObject *operand) {
    return op == CAD_OP_multiply && (PyList_Check(operand) || PyTuple_Check(operand));
}

PyObject *cad_apply(CadOp op, PyObject *const *operands) {
    const int n = cad_op_info[op].arity;
    double x[3] = {0.0, 0.0, 0.0};
    int seen = 0;
    for (int i = 0; i < n; i++) {
        const int class = cad_classify(operands[i], &x[i]);
        if (class < 0) {
            return NULL;
        }
        seen |= 1 << class;
    }
    if (seen & 1 << CAD_FOREIGN) {
        for (int i = 0; i < n; i++) {
            if (cad_is_mask(operands[i])) {
                return apply_with_masks(op, operands);
            }
        }
        for (int i = 0; i < n; i++) {
            if (cad_is_complex(operands[i])) {
                return apply_complex(op, operands);
            }
        }
        for (int i = 0; i < n; i++) {
            if (cad_is_foreign(operands[i]) ||
                (is_repetition(op, operands[i]) && !(seen & 1 << CAD_ARRAY_CLASS))) {
                Py_RETURN_NOTIMPLEMENTED;
            }
        }
        return call_on_sequences(op, operands); /* as ndarrays have it */
    }
    if (seen & 1 << CAD_ARRAY_CLASS) {
        return apply_arrays(op, operands);
    }
    if (seen & 1 << CAD_DUAL_CLASS) {
        return cad_state.table_of_dual.apply(op, operands);
    }
    if (seen & 1 << CAD_VAR_CLASS) {
        return apply_vars(op, operands, n, x);
    }
    return apply_plain(op, operands, n, x);
}

PyObject *cad_call(CadOp op, PyObject *const *args, Py_ssize_t n) {
    const int arity = cad_op_info[op].arity;
    if (n != arity) {
        static const char *const words[] = {"", "one argument", "2 arguments", "3 arguments"};
        const char *const advice = op == CAD_OP_log ? ": to a base b it is log(x) / log(b)" : "";
        PyErr_Format(PyExc_TypeError, "cadiff.%s takes %s (%zd given)%s", cad_op_info[op].name,
                     words[arity], n, advice);
        return NULL;
    }
    PyObject *result = cad_apply(op, args);
    if (result == Py_NotImplemented) {
        Py_SETREF(result, call_on_sequences(op, args));
    }
    return result;
}

PyObject *cad_call1(CadOp op, PyObject *x) {
    return cad_call(op, &x, 1);
}
