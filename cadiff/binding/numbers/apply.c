/* Operations on any numbers: which operand is what, and who computes the result. Functions of the
 * package, NumPy's ufuncs and operators come here with all that they do not answer at once. */
#include "numbers/apply.h"

/* --- classification --- */

int cad_check_array(PyObject *array) {
    if (PyArray_CheckExact(array)) {
        return 0;
    }
    PyObject *const ancestors = Py_TYPE(array)->tp_mro;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ancestors); i++) {
        const char *name = ((PyTypeObject *)PyTuple_GET_ITEM(ancestors, i))->tp_name;
        if (strcmp(name, "MaskedArray") == 0) {
            PyErr_SetString(PyExc_TypeError,
                            "masked arrays have no place among numbers with derivatives: pass "
                            "x.filled(0.0), and choose with cadiff.where(~x.mask, ...)");
            return -1;
        }
        if (strcmp(name, "matrix") == 0) {
            PyErr_SetString(PyExc_TypeError,
                            "a numpy.matrix multiplies otherwise than arrays do: pass "
                            "numpy.asarray(x), and multiply with @");
            return -1;
        }
    }
    return 0;
}

int cad_classify(PyObject *object, double *value) {
    if (PyFloat_Check(object)) {
        *value = PyFloat_AS_DOUBLE(object);
        return CAD_PLAIN;
    }
    if (CAD_IS_VAR(object)) {
        *value = CAD_VAR(object)->value;
        return CAD_IS_VAR_ARRAY(object) ? CAD_ARRAY_CLASS : CAD_VAR_CLASS;
    }
    if (CAD_IS_DUAL(object)) {
        return CAD_DUAL(object)->kind == CAD_DUAL_ARRAY ? CAD_ARRAY_CLASS : CAD_DUAL_CLASS;
    }
    if (PyLong_Check(object)) {
        *value = PyLong_AsDouble(object);
        return *value == -1.0 && PyErr_Occurred() ? -1 : CAD_PLAIN;
    }
    if (PyArray_Check(object)) {
        return cad_check_array(object) < 0 ? -1 : CAD_ARRAY_CLASS;
    }
    if (PyArray_IsScalar(object, Bool) || PyArray_IsScalar(object, Integer) ||
        PyArray_IsScalar(object, Floating)) {
        PyObject *number = PyNumber_Float(object);
        if (number == NULL) {
            return -1;
        }
        *value = PyFloat_AS_DOUBLE(number);
        Py_DECREF(number);
        return CAD_PLAIN;
    }
    return CAD_FOREIGN;
}

double cad_primal(PyObject *object) {
    while (CAD_IS_DUAL(object) && CAD_DUAL(object)->kind == CAD_DUAL_OBJECT) {
        object = CAD_DUAL(object)->primal_object;
    }
    if (CAD_IS_DUAL(object)) {
        return CAD_DUAL(object)->kind == CAD_DUAL_ARRAY ? NAN : CAD_DUAL(object)->primal;
    }
    double value = NAN;
    const int class = cad_classify(object, &value);
    if (class < 0) {
        PyErr_Clear();
    }
    return class == CAD_PLAIN || class == CAD_VAR_CLASS ? value : NAN;
}

PyObject *cad_elements(PyObject *object) {
    if (CAD_IS_VAR_ARRAY(object)) {
        return cad_var_elements(CAD_VAR(object));
    }
    if (CAD_IS_TYPE(object, CadDualArray_Type)) {
        return cad_dual_elements(CAD_DUAL(object));
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

/* --- applying an operation --- */

/* Whether a tuple, such as NumPy makes of out=, has a Var or Dual in it. */
static int holds_number(PyObject *object) {
    for (Py_ssize_t i = 0; PyTuple_Check(object) && i < PyTuple_GET_SIZE(object); i++) {
        PyObject *item = PyTuple_GET_ITEM(object, i);
        if (CAD_IS_VAR(item) || CAD_IS_DUAL(item)) {
            return 1;
        }
    }
    return 0;
}

static PyObject *call_on_elements(PyObject *function, PyObject *const *operands, Py_ssize_t n,
                                  PyObject *names) {
    PyObject *converted[NPY_MAXARGS];
    Py_ssize_t total = n + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    if (total > NPY_MAXARGS) {
        PyErr_SetString(PyExc_TypeError, "too many arguments");
        return NULL;
    }
    PyObject *result = NULL;
    Py_ssize_t done = 0;
    for (; done < total; done++) {
        PyObject *operand = operands[done];
        const int ours = CAD_IS_VAR(operand) || CAD_IS_DUAL(operand);
        if (done >= n && (ours || holds_number(operand))) {
            PyErr_Format(PyExc_TypeError,
                         "%U= cannot be a Var or Dual: numbers do not change; use the result",
                         PyTuple_GET_ITEM(names, done - n));
            goto end;
        }
        converted[done] = ours ? cad_elements(operand) : Py_NewRef(operand);
        if (converted[done] == NULL) {
            goto end;
        }
    }
    result = PyObject_Vectorcall(function, converted, (size_t)n, names);
end:
    while (done-- > 0) {
        Py_DECREF(converted[done]);
    }
    return result;
}

int cad_quiet;

/* At least one operand is an array. Arrays of objects are gone through number by number. */
static PyObject *apply_arrays(CadOp op, PyObject *const *operands, int n) {
    int vars = 0, duals = 0, others = 0;
    for (int i = 0; i < n; i++) {
        vars |= CAD_IS_VAR(operands[i]);
        duals |= CAD_IS_DUAL(operands[i]);
        others |=
            PyArray_Check(operands[i]) && PyArray_TYPE((PyArrayObject *)operands[i]) == NPY_OBJECT;
    }
    if (duals && !others) {
        return cad_dual_apply(op, operands);
    }
    if (vars && !others) {
        PyObject *result = cad_array_apply(op, operands, n);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    const int plain =
        !vars && !duals && !others && cad_numpy_functions[op] != NULL && cad_quiet == 0;
    return call_on_elements(plain ? cad_numpy_functions[op] : cad_own_ufuncs[op], operands, n,
                            NULL);
}

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
    const CadStatus status =
        cad_tape_has_room(tape) ? CAD_OK : cad_tape_grow_for(tape, op, x[0], x[1], x[2], value);
    if (status != CAD_OK) {
        cad_raise_status(status);
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

/* All operands are plain; a NumPy scalar among them makes the result one. */
static PyObject *apply_plain(CadOp op, PyObject *const *operands, int n, const double *x) {
    PyObject *result = PyFloat_FromDouble(cad_op_value(op, x[0], x[1], x[2]));
    for (int i = 0; result != NULL && i < n; i++) {
        if (PyArray_IsScalar(operands[i], Generic)) {
            PyObject *type = PyArray_IsScalar(operands[i], Floating)
                                 ? (PyObject *)Py_TYPE(operands[i])
                                 : (PyObject *)&PyDoubleArrType_Type;
            Py_SETREF(result, PyObject_CallOneArg(type, result));
            break;
        }
    }
    return result;
}

/* What a call comes to that is not about numbers: lists, and mistakes. */
static PyObject *call_on_sequences(CadOp op, PyObject *const *args) {
    const int n = cad_op_info[op].arity;
    PyObject *arrays[3] = {NULL, NULL, NULL};
    PyObject *result = NULL;
    for (int i = 0; i < n; i++) {
        PyObject *arg = args[i];
        double number;
        const int class = cad_classify(arg, &number);
        if (class == CAD_FOREIGN && !PyList_Check(arg) && !PyTuple_Check(arg)) {
            PyErr_Format(PyExc_TypeError,
                         "cadiff.%s takes real numbers, arrays of them, Var and Dual, not %s",
                         cad_op_info[op].name, Py_TYPE(arg)->tp_name);
            goto end;
        }
        arrays[i] = class == CAD_FOREIGN ? PyArray_FROM_O(arg) : Py_NewRef(arg);
        if (arrays[i] == NULL) {
            goto end;
        }
    }
    result = apply_arrays(op, arrays, n);
end:
    for (int i = 0; i < n; i++) {
        Py_XDECREF(arrays[i]);
    }
    return result;
}

/* Some operands are masks; the others are numbers, arrays or lists. */
static PyObject *apply_with_masks(CadOp op, PyObject *const *operands, int n) {
    PyObject *replaced[3] = {NULL, NULL, NULL};
    PyObject *result = NULL;
    int ours = 0, i = 0;
    for (int k = 0; k < n; k++) {
        ours |= CAD_IS_VAR(operands[k]) || CAD_IS_DUAL(operands[k]);
    }
    for (; i < n; i++) {
        replaced[i] = !cad_is_mask(operands[i])
                          ? Py_NewRef(operands[i])
                          : PyObject_GetAttrString(operands[i], ours ? "number" : "values");
        if (replaced[i] == NULL) {
            goto end;
        }
    }
    result = cad_apply(op, replaced);
end:
    while (i-- > 0) {
        Py_DECREF(replaced[i]);
    }
    return result;
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
                return apply_with_masks(op, operands, n);
            }
        }
        for (int i = 0; i < n && seen & 1 << CAD_ARRAY_CLASS; i++) {
            if (PyList_Check(operands[i]) || PyTuple_Check(operands[i])) {
                return call_on_sequences(op, operands); /* as ndarrays have it */
            }
        }
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (seen & 1 << CAD_ARRAY_CLASS) {
        return apply_arrays(op, operands, n);
    }
    if (seen & 1 << CAD_DUAL_CLASS) {
        return cad_dual_apply(op, operands);
    }
    if (seen & 1 << CAD_VAR_CLASS) {
        return apply_vars(op, operands, n, x);
    }
    return apply_plain(op, operands, n, x);
}

PyObject *cad_call(CadOp op, PyObject *const *args, Py_ssize_t n) {
    if (n != cad_op_info[op].arity) {
        PyErr_Format(PyExc_TypeError, "cadiff.%s takes %d arguments (%zd given)",
                     cad_op_info[op].name, cad_op_info[op].arity, n);
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

/* --- operators that both types share --- */

PyObject *cad_power(PyObject *base, PyObject *exponent, PyObject *modulus) {
    if (modulus != Py_None) {
        PyErr_SetString(PyExc_TypeError, "pow() of a number with a derivative takes no modulus");
        return NULL;
    }
    double number;
    const int class = cad_classify(exponent, &number);
    if (class == CAD_PLAIN && number == 2.0) {
        return cad_apply1(CAD_OP_square, base);
    }
    if (class == CAD_PLAIN && (CAD_IS_VAR_ARRAY(base) || CAD_IS_TYPE(base, CadDualArray_Type))) {
        if (number == -1.0 || number == 0.5) { /* as NumPy does of arrays */
            return cad_apply1(number < 0.0 ? CAD_OP_reciprocal : CAD_OP_sqrt, base);
        }
    }
    return class < 0 ? NULL : cad_apply2(CAD_OP_power, base, exponent);
}

PyObject *cad_divmod(PyObject *left, PyObject *right) {
    PyObject *quotient = cad_apply2(CAD_OP_floor_divide, left, right);
    if (quotient == NULL || quotient == Py_NotImplemented) {
        return quotient;
    }
    PyObject *rest = cad_apply2(CAD_OP_mod, left, right);
    PyObject *pair = rest == NULL ? NULL : PyTuple_Pack(2, quotient, rest);
    Py_DECREF(quotient);
    Py_XDECREF(rest);
    return pair;
}

/* Whether an operand is neither a number nor a collection of them, so that it may know better. */
static int is_foreign(PyObject *operand) {
    double number;
    if (PyList_Check(operand) || PyTuple_Check(operand) || PyLong_Check(operand)) {
        return 0;
    }
    return cad_classify(operand, &number) == CAD_FOREIGN;
}

PyObject *cad_matmul(PyObject *left, PyObject *right) {
    PyObject *product = cad_array_matmul(left, right);
    if (product != NULL || PyErr_Occurred()) {
        return product;
    }
    if (is_foreign(left) || is_foreign(right)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *function = cad_find_function("matmul");
    return function == NULL ? NULL : PyObject_CallFunctionObjArgs(function, left, right, NULL);
}

/* The product for an array to be written to, whose shape it must have. */
PyObject *cad_matmul_like(PyObject *left, PyObject *right) {
    PyObject *product = cad_matmul(left, right);
    if (product == NULL || product == Py_NotImplemented) {
        return product;
    }
    PyObject *shape = PyObject_GetAttrString(left, "shape");
    PyObject *given = shape == NULL ? NULL : PyObject_GetAttrString(product, "shape");
    const int same = given == NULL ? -1 : PyObject_RichCompareBool(shape, given, Py_EQ);
    if (same == 0) {
        PyErr_Format(PyExc_ValueError,
                     "@= of an array of shape %R wants a product of that shape, "
                     "not %R: write y = y @ z",
                     shape, given);
    }
    if (same != 1) {
        Py_CLEAR(product);
    }
    Py_XDECREF(shape);
    Py_XDECREF(given);
    return product;
}

PyObject *cad_plain_value(PyObject *object) {
    if (CAD_IS_VAR_ARRAY(object)) {
        return cad_var_values(CAD_VAR(object));
    }
    if (CAD_IS_TYPE(object, CadDualArray_Type)) {
        PyObject *primal = CAD_DUAL(object)->primal_object;
        return PyArray_Check(primal) ? cad_dual_primal(CAD_DUAL(object)) : cad_plain_value(primal);
    }
    if (CAD_IS_VAR(object) || CAD_IS_DUAL(object)) {
        return PyFloat_FromDouble(cad_primal(object));
    }
    if (PyArray_Check(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_OBJECT) {
        PyObject *values = PyArray_NewCopy((PyArrayObject *)object, NPY_CORDER);
        const npy_intp size = values == NULL ? 0 : PyArray_SIZE((PyArrayObject *)values);
        PyObject **item = values == NULL ? NULL : PyArray_DATA((PyArrayObject *)values);
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
        if (values != NULL && numbers && !PyErr_Occurred()) {
            Py_SETREF(values, PyArray_FROM_OTF(values, NPY_DOUBLE, NPY_ARRAY_FORCECAST));
        }
        return values;
    }
    return Py_NewRef(object);
}

static PyObject *compare_values(PyObject *left, PyObject *right, int how) {
    double x, y;
    const int left_class = cad_classify(left, &x);
    const int right_class = left_class < 0 ? -1 : cad_classify(right, &y);
    if (right_class < 0) {
        return NULL;
    }
    const int lists =
        PyList_Check(left) || PyTuple_Check(left) || PyList_Check(right) || PyTuple_Check(right);
    const int arrays = left_class == CAD_ARRAY_CLASS || right_class == CAD_ARRAY_CLASS;
    if ((left_class == CAD_FOREIGN || right_class == CAD_FOREIGN) && !(lists && arrays)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (left_class == CAD_ARRAY_CLASS || right_class == CAD_ARRAY_CLASS) {
        PyObject *a = cad_plain_value(left);
        PyObject *b = a == NULL ? NULL : cad_plain_value(right);
        PyObject *result = b == NULL ? NULL : PyObject_RichCompare(a, b, how);
        Py_XDECREF(a);
        Py_XDECREF(b);
        return result;
    }
    x = cad_primal(left);
    y = cad_primal(right);
    Py_RETURN_RICHCOMPARE(x, y, how);
}

PyObject *cad_richcompare(PyObject *left, PyObject *right, int how) {
    PyObject *result = compare_values(left, right, how);
    if (cad_guarding > 0 && result != NULL && result != Py_NotImplemented &&
        cad_guard_comparison(left, right, how, &result) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

PyObject *cad_compare(PyObject *left, PyObject *right, int how) {
    PyObject *result = compare_values(left, right, how);
    if (cad_guarding > 0 && result != NULL && result != Py_NotImplemented &&
        cad_guard_comparison(left, right, how, NULL) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

/* `item in array`, as for an ndarray. */
int cad_contains(PyObject *array, PyObject *item) {
    PyObject *equal = PyObject_RichCompare(array, item, Py_EQ);
    PyObject *any = equal == NULL         ? NULL
                    : PyBool_Check(equal) ? Py_NewRef(equal)
                                          : PyObject_CallMethod(equal, "any", NULL);
    const int found = any == NULL ? -1 : PyObject_IsTrue(any);
    Py_XDECREF(equal);
    Py_XDECREF(any);
    return found;
}
