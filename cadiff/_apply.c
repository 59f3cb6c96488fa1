/* Operations on any numbers: which operand is what, and who computes the result.
 *
 * From here come the functions of the package, the methods named like them, NumPy's ufunc protocol
 * and what the number slots of Var and Dual do not do themselves. */
#include "_numbers.h"

#include "kernels.h"

#include <fenv.h>

/* Filled by cad_numbers_ready, and never changed afterwards. */
static PyObject *numpy_functions[CAD_OP_COUNT]; /* numpy.sin ...; NULL where NumPy has none */
static PyObject *own_ufuncs[CAD_OP_COUNT];      /* the same over objects and doubles */
static PyObject *op_of_function;                /* {numpy.sin: op code, ...} */
static PyObject *op_of_name;                    /* {"sin": op code, ...}, aliases included */
static PyObject *numpy_module;
static PyObject *numpy_sum; /* the commonest of functions, which are not looked up */
static PyObject *numpy_matmul;

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

static PyObject *call_on_sequences(CadOp op, PyObject *const *args);

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
    const int plain = !vars && !duals && !others && numpy_functions[op] != NULL && cad_quiet == 0;
    return call_on_elements(plain ? numpy_functions[op] : own_ufuncs[op], operands, n, NULL);
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
            PyErr_SetString(PyExc_RuntimeError,
                            "Vars of two threads do not mix: each thread records on a tape of its "
                            "own; pass values between threads (cadiff.value(v))");
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

/* --- slots that both types share --- */

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

static PyObject *array_functions; /* {numpy.sum: the package's sum, ...} */
static PyObject *ufunc_hook;

/* The package's function for one of NumPy's (borrowed); NULL with an exception if there is none.
 */
static PyObject *find_function(const char *name) {
    PyObject *function = PyObject_GetAttrString(numpy_module, name);
    PyObject *ours = function == NULL || array_functions == NULL
                         ? NULL
                         : PyDict_GetItemWithError(array_functions, function);
    Py_XDECREF(function);
    if (ours == NULL && !PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "numbers with derivatives do not support %s", name);
    }
    return ours;
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
    PyObject *function = find_function("matmul");
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

/* The value of a number or of an array that may hold numbers, without derivatives. */
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

PyObject *cad_richcompare(PyObject *left, PyObject *right, int how) {
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

/* --- the ufunc protocol --- */

int cad_find_op(PyObject *ufunc) {
    PyObject *op = PyDict_GetItemWithError(op_of_function, ufunc);
    if (op != NULL) {
        return (int)PyLong_AsLong(op);
    }
    if (PyErr_Occurred()) {
        return -2;
    }
    /* A ufunc of SciPy, which is not imported on its account. */
    PyObject *name = PyObject_GetAttrString(ufunc, "__name__");
    op = name == NULL ? NULL : PyDict_GetItemWithError(op_of_name, name);
    Py_XDECREF(name);
    if (op == NULL) {
        return PyErr_Occurred() ? -2 : -1;
    }
    const int code = (int)PyLong_AsLong(op);
    const char *twin = cad_op_info[code].ufunc;
    if (strncmp(twin, "scipy.", 6) != 0) {
        return -1;
    }
    return PyDict_SetItem(op_of_function, ufunc, op) < 0 ? -2 : code;
}

int cad_register(PyObject *functions, PyObject *hook) {
    Py_XSETREF(array_functions, Py_NewRef(functions));
    Py_XSETREF(ufunc_hook, Py_NewRef(hook));
    return 0;
}

/* What is no plain call of an operation. */
static PyObject *call_hook(PyObject *ufunc, PyObject *method, PyObject *const *inputs,
                           Py_ssize_t n, PyObject *names) {
    if (ufunc_hook == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "cadiff is not imported as a whole");
        return NULL;
    }
    PyObject *args = PyTuple_New(n);
    PyObject *kwargs = PyDict_New();
    PyObject *result = NULL;
    int status = args == NULL || kwargs == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < n; i++) {
        PyTuple_SET_ITEM(args, i, Py_NewRef(inputs[i]));
    }
    for (Py_ssize_t i = 0; status == 0 && names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        status = PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), inputs[n + i]);
    }
    if (status == 0) {
        result = PyObject_CallFunctionObjArgs(ufunc_hook, ufunc, method, args, kwargs, NULL);
    }
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
    static PyObject *last_ufunc; /* borrowed from op_of_function */
    static int last_op;
    (void)self;
    if (n < 3 || !PyUnicode_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "__array_ufunc__ is called by NumPy");
        return NULL;
    }
    PyObject *ufunc = args[0];
    PyObject *const *inputs = args + 2;
    n -= 2;
    if (ufunc == last_ufunc && n == 2 && names == NULL && is_call(args[1])) {
        PyObject *result = constant_before_var(last_op, inputs[0], inputs[1]);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    if (ufunc == numpy_matmul && n == 2 && names == NULL && is_call(args[1])) {
        return cad_matmul(inputs[0], inputs[1]);
    }
    const int op = is_call(args[1]) ? cad_find_op(ufunc) : -1;
    if (op == -2) {
        return NULL;
    }
    const int plain = op >= 0 && n == cad_op_info[op].arity;
    if (!plain || (names != NULL && PyTuple_GET_SIZE(names) > 0)) {
        return call_hook(ufunc, args[1], inputs, n, names);
    }
    last_ufunc = ufunc;
    last_op = op;
    return cad_call((CadOp)op, inputs, n);
}

int cad_is_sum_of_all(PyObject *function, PyObject *x) {
    return function == numpy_sum && CAD_IS_VAR_ARRAY(x);
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
    PyObject *ours =
        array_functions == NULL ? NULL : PyDict_GetItemWithError(array_functions, function);
    if (ours != NULL) {
        return PyObject_Call(ours, args, kwargs);
    }
    if (!PyErr_Occurred()) {
        PyObject *name = PyObject_GetAttrString(function, "__name__");
        PyObject *module = PyObject_GetAttrString(function, "__module__");
        if (name != NULL && module != NULL) {
            PyErr_Format(PyExc_TypeError,
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

/* The inner loops of the package's own ufuncs, over doubles and over objects. They leave none of
 * the processor's flags behind, of which NumPy would make warnings. */
static void loop_doubles(char **data, const npy_intp *dimensions, const npy_intp *steps,
                         void *code) {
    cad_run_loop((CadOp)(intptr_t)code, data, dimensions, steps);
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
    feclearexcept(FE_ALL_EXCEPT);
}

static PyObject *make_ufunc(CadOp op) {
    static PyUFuncGenericFunction loops[] = {loop_doubles, loop_objects};
    static void *codes[CAD_OP_COUNT][2];
    static const char types[3][2 * 4] = {
        {NPY_DOUBLE, NPY_DOUBLE, NPY_OBJECT, NPY_OBJECT},
        {NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_OBJECT, NPY_OBJECT, NPY_OBJECT},
        {NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_OBJECT, NPY_OBJECT, NPY_OBJECT,
         NPY_OBJECT},
    };
    codes[op][0] = codes[op][1] = (void *)(intptr_t)op;
    const int arity = cad_op_info[op].arity;
    return PyUFunc_FromFuncAndData(loops, codes[op], types[arity - 1], 2, arity, 1, PyUFunc_None,
                                   cad_op_info[op].name, cad_op_info[op].doc, 0);
}

/* --- the functions of the package --- */

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

/* A function of one number answers floats, Vars and Duals itself: it is what loops call. */
#define CAD_ROW1(name, value_, dx)                                                                \
    static PyObject *function_##name(PyObject *module, PyObject *x) {                             \
        (void)module;                                                                             \
        if (PyFloat_CheckExact(x)) {                                                              \
            return PyFloat_FromDouble(val_##name(PyFloat_AS_DOUBLE(x)));                          \
        }                                                                                         \
        if (CAD_IS_SCALAR(x)) {                                                                   \
            CadTape *tape = CAD_VAR(x)->tape;                                                     \
            if (cad_tape_has_room(tape)) { /* else the general way makes it */                    \
                const double v = val_##name(CAD_VAR(x)->value);                                   \
                const CadSlot a = CAD_VAR(x)->slot;                                               \
                const CadSlot out = cad_tape_push(tape, CAD_CODE(CAD_OP_##name, 0), a, a, v);     \
                return cad_var_new(tape, out, v);                                                 \
            }                                                                                     \
        } else if (CAD_IS_TYPE(x, CadDual_Type) && CAD_DUAL(x)->kind == CAD_DUAL_FLOAT) {         \
            const CadDual *dual = CAD_DUAL(x);                                                    \
            const double v = val_##name(dual->primal);                                            \
            const double t = cad_amul(d1_##name(dual->primal, v), dual->tangent);                 \
            return cad_dual_seen(CAD_OP_##name, x, x, cad_dual_new(v, t, dual->tag));             \
        }                                                                                         \
        return cad_call(CAD_OP_##name, &x, 1);                                                    \
    }                                                                                             \
    static PyObject *method_##name(PyObject *self, PyObject *unused) {                            \
        (void)unused;                                                                             \
        return function_##name(NULL, self);                                                       \
    }
#define CAD_ROW2(name, value_, dx, dy)                                                            \
    static PyObject *function_##name(PyObject *module, PyObject *const *args, Py_ssize_t n) {     \
        (void)module;                                                                             \
        return cad_call(CAD_OP_##name, args, n);                                                  \
    }                                                                                             \
    static PyObject *method_##name(PyObject *self, PyObject *other) {                             \
        PyObject *const args[2] = {self, other};                                                  \
        return cad_call(CAD_OP_##name, args, 2);                                                  \
    }
#define CAD_ROW3(name, value_, dx, dy, dz)                                                        \
    static PyObject *function_##name(PyObject *module, PyObject *const *args, Py_ssize_t n) {     \
        (void)module;                                                                             \
        return cad_call(CAD_OP_##name, args, n);                                                  \
    }
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3

/* ml_name and ml_doc are filled in from the table by cad_numbers_ready. */
static PyMethodDef functions[CAD_OP_COUNT] = {
#define CAD_ROW1(name, value_, dx)                                                                \
    [CAD_OP_##name] = {NULL, (PyCFunction)(void (*)(void))function_##name, METH_O, NULL},
#define CAD_ROW2(name, value_, dx, dy)                                                            \
    [CAD_OP_##name] = {NULL, (PyCFunction)(void (*)(void))function_##name, METH_FASTCALL, NULL},
#define CAD_ROW3(name, value_, dx, dy, dz)                                                        \
    [CAD_OP_##name] = {NULL, (PyCFunction)(void (*)(void))function_##name, METH_FASTCALL, NULL},
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3
};

static PyMethodDef row_methods[CAD_OP_COUNT] = {
#define CAD_ROW1(name, value_, dx) [CAD_OP_##name] = {NULL, method_##name, METH_NOARGS, NULL},
#define CAD_ROW2(name, value_, dx, dy) [CAD_OP_##name] = {NULL, method_##name, METH_O, NULL},
#define CAD_ROW3(name, value_, dx, dy, dz)
#include "ops_rows.h"
#undef CAD_ROW1
#undef CAD_ROW2
#undef CAD_ROW3
};

/* --- methods that both types share --- */

static PyObject *method_format(PyObject *self, PyObject *spec) {
    PyObject *value = cad_plain_value(self);
    PyObject *text = value == NULL ? NULL : PyObject_Format(value, spec);
    Py_XDECREF(value);
    return text;
}

static PyObject *method_round(PyObject *self, PyObject *args);

static PyObject *round_elements(PyObject *self, PyObject *args) {
    PyObject *elements = cad_elements(self);
    PyObject **item = elements == NULL ? NULL : PyArray_DATA((PyArrayObject *)elements);
    const npy_intp size = elements == NULL ? 0 : PyArray_SIZE((PyArrayObject *)elements);
    for (npy_intp i = 0; i < size; i++) {
        Py_SETREF(item[i], method_round(item[i], args));
        if (item[i] == NULL) {
            Py_DECREF(elements);
            return NULL;
        }
    }
    return elements;
}

static PyObject *method_round(PyObject *self, PyObject *args) {
    PyObject *digits = Py_None;
    if (!PyArg_ParseTuple(args, "|O:__round__", &digits)) {
        return NULL;
    }
    if (digits == Py_None) {
        return cad_apply1(CAD_OP_rint, self);
    }
    if (CAD_IS_VAR_ARRAY(self) || CAD_IS_TYPE(self, CadDualArray_Type)) {
        return round_elements(self, args);
    }
    /* Python's own rounding to decimal digits; the derivative is 0 all the same. */
    PyObject *plain = cad_plain_value(self);
    PyObject *rounded =
        plain == NULL ? NULL : PyObject_CallMethod(plain, "__round__", "O", digits);
    Py_XDECREF(plain);
    PyObject *result = NULL;
    if (rounded != NULL) {
        const double number = PyFloat_AsDouble(rounded);
        result = CAD_IS_DUAL(self) ? cad_dual_new(number, 0.0, CAD_DUAL(self)->tag)
                                   : cad_var_passive(number);
    }
    Py_XDECREF(rounded);
    return result;
}

static PyObject *method_itself(PyObject *self, PyObject *unused) {
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *method_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    PyErr_Format(PyExc_TypeError,
                 "a %s cannot be pickled: its derivative lives in the computation that made it; "
                 "pickle cadiff.value(v)",
                 Py_TYPE(self)->tp_name);
    return NULL;
}

static PyObject *method_refuse(PyObject *self, PyObject *unused) {
    (void)unused;
    return cad_refuse_conversion(self);
}

static PyObject *method_item(PyObject *self, PyObject *args) {
    PyObject *value = cad_plain_value(self);
    PyObject *method = NULL, *result = NULL;
    if (value != NULL && PyFloat_Check(value)) {
        Py_SETREF(value, PyArray_FROM_O(value)); /* for item(0) and errors as NumPy has them */
    }
    if (value != NULL && (method = PyObject_GetAttrString(value, "item")) != NULL) {
        result = PyObject_CallObject(method, args);
    }
    Py_XDECREF(method);
    Py_XDECREF(value);
    return result;
}

/* As for an ndarray: a bound may be missing or None, out= is what NumPy passes on as None. */
static PyObject *method_clip(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"min", "max", "out", NULL};
    PyObject *low = Py_None, *high = Py_None, *out = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOO:clip", names, &low, &high, &out)) {
        return NULL;
    }
    if (out != Py_None) {
        PyErr_SetString(PyExc_TypeError, "clip of numbers with derivatives takes no out=");
        return NULL;
    }
    low = low == Py_None ? PyFloat_FromDouble(-INFINITY) : Py_NewRef(low);
    high = high == Py_None ? PyFloat_FromDouble(INFINITY) : Py_NewRef(high);
    PyObject *result = NULL;
    if (low != NULL && high != NULL) {
        PyObject *const operands[3] = {self, low, high};
        result = cad_call(CAD_OP_clip, operands, 3);
    }
    Py_XDECREF(low);
    Py_XDECREF(high);
    return result;
}

/* A method that is a function of NumPy: that finds its way back to the package. */
static PyObject *numpy_method(PyObject *self, const char *name, PyObject *args, PyObject *kwargs) {
    PyObject *function = find_function(name);
    PyObject *first = function == NULL ? NULL : PyTuple_Pack(1, self);
    PyObject *all = first == NULL ? NULL : PySequence_Concat(first, args);
    PyObject *result = all == NULL ? NULL : PyObject_Call(function, all, kwargs);
    Py_XDECREF(all);
    Py_XDECREF(first);
    return result;
}

#define NUMPY_METHOD(name)                                                                        \
    static PyObject *array_##name(PyObject *self, PyObject *args, PyObject *kwargs) {             \
        return numpy_method(self, #name, args, kwargs);                                           \
    }

NUMPY_METHOD(mean)
NUMPY_METHOD(prod)
NUMPY_METHOD(max)
NUMPY_METHOD(min)
NUMPY_METHOD(var)
NUMPY_METHOD(std)
NUMPY_METHOD(ptp)
NUMPY_METHOD(cumsum)
NUMPY_METHOD(cumprod)
NUMPY_METHOD(argmax)
NUMPY_METHOD(argmin)
NUMPY_METHOD(argsort)
NUMPY_METHOD(all)
NUMPY_METHOD(any)
NUMPY_METHOD(nonzero)
NUMPY_METHOD(ravel)
NUMPY_METHOD(squeeze)
NUMPY_METHOD(swapaxes)
NUMPY_METHOD(diagonal)
NUMPY_METHOD(trace)
NUMPY_METHOD(repeat)
NUMPY_METHOD(take)
NUMPY_METHOD(round)
NUMPY_METHOD(dot)
NUMPY_METHOD(searchsorted)
NUMPY_METHOD(argpartition)
NUMPY_METHOD(choose)
NUMPY_METHOD(put)

/* Methods that change an array: the result of a function is written to it. */
static PyObject *written_to(PyObject *self, PyObject *result) {
    const int status = result == NULL ? -1 : PyObject_SetItem(self, Py_Ellipsis, result);
    Py_XDECREF(result);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *array_sort(PyObject *self, PyObject *args, PyObject *kwargs) {
    return written_to(self, numpy_method(self, "sort", args, kwargs));
}

static PyObject *array_partition(PyObject *self, PyObject *args, PyObject *kwargs) {
    return written_to(self, numpy_method(self, "partition", args, kwargs));
}

static PyObject *array_fill(PyObject *self, PyObject *number) {
    if (PySequence_Check(number) && !CAD_IS_SCALAR(number) && !PyArray_CheckAnyScalar(number)) {
        return PyErr_Format(PyExc_ValueError,
                            "fill() wants a single number: write x[...] = y for an array y");
    }
    return written_to(self, Py_NewRef(number));
}

/* x.compress(condition, ...), where the function has the condition first. */
static PyObject *array_compress(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *condition, *axis = Py_None, *out = Py_None;
    static char *names[] = {"condition", "axis", "out", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:compress", names, &condition, &axis,
                                     &out)) {
        return NULL;
    }
    PyObject *function = find_function("compress");
    return function == NULL
               ? NULL
               : PyObject_CallFunctionObjArgs(function, condition, self, axis, out, NULL);
}

static PyObject *array_sum(PyObject *self, PyObject *args, PyObject *kwargs) {
    if (CAD_IS_VAR_ARRAY(self) && PyTuple_GET_SIZE(args) == 0 && kwargs == NULL) {
        return cad_array_sum(CAD_VAR(self), Py_None, 0);
    }
    return numpy_method(self, "sum", args, kwargs);
}

/* The arguments after the first, or the one sequence that stands for them. */
static PyObject *one_or_many(PyObject *args) {
    if (PyTuple_GET_SIZE(args) == 1) {
        PyObject *only = PyTuple_GET_ITEM(args, 0);
        if (only == Py_None || PyTuple_Check(only) || PyList_Check(only) || PyLong_Check(only)) {
            return Py_NewRef(only);
        }
    }
    return Py_NewRef(args);
}

static PyObject *with_sequence(PyObject *self, const char *name, PyObject *args,
                               PyObject *kwargs) {
    PyObject *sequence = one_or_many(args);
    PyObject *packed = PyTuple_Pack(1, sequence);
    Py_DECREF(sequence);
    PyObject *result = packed == NULL ? NULL : numpy_method(self, name, packed, kwargs);
    Py_XDECREF(packed);
    return result;
}

/* The lengths that reshape() was given; 0 if they are not plainly those of the array. */
static int plain_lengths(const CadView *view, PyObject *args, npy_intp *shape) {
    PyObject *given = PyTuple_GET_SIZE(args) == 1 && PyTuple_Check(PyTuple_GET_ITEM(args, 0))
                          ? PyTuple_GET_ITEM(args, 0)
                          : args;
    const Py_ssize_t ndim = PyTuple_GET_SIZE(given);
    npy_intp size = 1;
    for (Py_ssize_t i = 0; i < ndim; i++) {
        PyObject *length = PyTuple_GET_ITEM(given, i);
        shape[i < NPY_MAXDIMS ? i : 0] = PyLong_CheckExact(length) ? PyLong_AsSsize_t(length) : -1;
        if (shape[i < NPY_MAXDIMS ? i : 0] < 0 || i >= NPY_MAXDIMS) {
            PyErr_Clear();
            return 0;
        }
        if (shape[i] != 0 && size > view->size / shape[i]) {
            return 0;
        }
        size *= shape[i];
    }
    return size == view->size ? (int)ndim : 0;
}

static PyObject *array_reshape(PyObject *self, PyObject *args, PyObject *kwargs) {
    if (CAD_IS_VAR_ARRAY(self) && CAD_VAR(self)->kind == CAD_ARRAY && kwargs == NULL) {
        const CadVar *var = CAD_VAR(self);
        npy_intp shape[NPY_MAXDIMS];
        const int ndim = cad_var_is_contiguous(var) ? plain_lengths(var->view, args, shape) : 0;
        if (ndim > 0) {
            return cad_var_view(var->tape, var->slot, ndim, shape, NULL, var->view->flags);
        }
    }
    return with_sequence(self, "reshape", args, kwargs);
}

static PyObject *array_transpose(PyObject *self, PyObject *args, PyObject *kwargs) {
    if (PyTuple_GET_SIZE(args) == 0) {
        return numpy_method(self, "transpose", args, kwargs);
    }
    return with_sequence(self, "transpose", args, kwargs);
}

static PyObject *array_flatten(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *flat = numpy_method(self, "ravel", args, kwargs);
    PyObject *copy = flat == NULL ? NULL : PyObject_CallMethod(flat, "copy", NULL);
    Py_XDECREF(flat);
    return copy;
}

/* Nested lists of numbers. */
static PyObject *array_tolist(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *elements = cad_elements(self);
    PyObject *list = elements == NULL ? NULL : PyObject_CallMethod(elements, "tolist", NULL);
    Py_XDECREF(elements);
    return list;
}

static PyObject *array_astype(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)kwargs;
    PyArray_Descr *type = NULL;
    if (PyTuple_GET_SIZE(args) < 1 || !PyArray_DescrConverter(PyTuple_GET_ITEM(args, 0), &type)) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "astype() wants a dtype");
    }
    const int is_float = PyTypeNum_ISFLOAT(type->type_num);
    Py_DECREF(type);
    if (!is_float) {
        PyErr_Format(PyExc_TypeError,
                     "numbers with derivatives are float64 and cannot become %S: take "
                     "cadiff.value(v).astype(...)",
                     PyTuple_GET_ITEM(args, 0));
        return NULL;
    }
    return PyObject_CallMethod(self, "copy", NULL);
}

static PyObject *array_copy(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)args, (void)kwargs;
    if (CAD_IS_VAR_ARRAY(self)) {
        return cad_array_copy(CAD_VAR(self));
    }
    if (!CAD_IS_TYPE(self, CadDualArray_Type)) {
        return Py_NewRef(self);
    }
    CadDual *dual = CAD_DUAL(self);
    PyObject *p = PyObject_CallMethod(dual->primal_object, "copy", NULL);
    PyObject *t = p == NULL ? NULL : PyObject_CallMethod(dual->tangent_object, "copy", NULL);
    PyObject *copy = t == NULL ? NULL : cad_dual_from(p, t, dual->tag);
    Py_XDECREF(p);
    Py_XDECREF(t);
    return copy;
}

/* --- attributes that both types share --- */

static PyObject *get_flat(PyObject *self, void *closure) {
    (void)closure;
    PyObject *type = find_function("flatiter");
    return type == NULL ? NULL : PyObject_CallOneArg(type, self);
}

/* x.flat = y */
static int set_flat(PyObject *self, PyObject *numbers, void *closure) {
    if (numbers == NULL) {
        PyErr_SetString(PyExc_AttributeError, "flat cannot be deleted");
        return -1;
    }
    PyObject *flat = get_flat(self, closure);
    const int status = flat == NULL ? -1 : PyObject_SetItem(flat, Py_Ellipsis, numbers);
    Py_XDECREF(flat);
    return status;
}

static PyObject *get_matrix_transpose(PyObject *self, void *closure) {
    (void)closure;
    PyObject *function = find_function("matrix_transpose");
    return function == NULL ? NULL : PyObject_CallOneArg(function, self);
}

static PyObject *get_itemsize(PyObject *self, void *closure) {
    (void)self, (void)closure;
    return PyLong_FromSize_t(sizeof(double));
}

static PyObject *get_nbytes(PyObject *self, void *closure) {
    (void)closure;
    PyObject *size = PyObject_GetAttrString(self, "size");
    const Py_ssize_t n = size == NULL ? -1 : PyLong_AsSsize_t(size);
    Py_XDECREF(size);
    return n < 0 ? NULL : PyLong_FromSsize_t(n * (Py_ssize_t)sizeof(double));
}

static PyObject *get_device(PyObject *self, void *closure) {
    (void)self, (void)closure;
    return PyUnicode_FromString("cpu");
}

/* What an ndarray has and numbers with derivatives do not; the closure says what to write. */
static PyObject *get_absent(PyObject *self, void *closure) {
    (void)self;
    PyErr_SetString(PyExc_AttributeError, closure);
    return NULL;
}

#define OF_VALUES(name, use)                                                                      \
    {name, get_absent, NULL, "Raises AttributeError.",                                            \
     "numbers with derivatives have no " name ": take cadiff.value(x)." use}
#define ABSENT(name, instead)                                                                     \
    {name, get_absent, NULL, "Raises AttributeError.",                                            \
     "numbers with derivatives have no " name ": " instead}

static PyGetSetDef common_getset[] = {
    {"flat", get_flat, set_flat, "The elements in order, to iterate over, read and assign.", NULL},
    {"mT", get_matrix_transpose, NULL, "The last two axes exchanged.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of the value of an element.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of the values of all elements.", NULL},
    {"device", get_device, NULL, "\"cpu\".", NULL},
    OF_VALUES("base", "base"),
    OF_VALUES("byteswap", "byteswap()"),
    OF_VALUES("ctypes", "ctypes"),
    OF_VALUES("data", "data"),
    OF_VALUES("dump", "dump(file)"),
    OF_VALUES("dumps", "dumps()"),
    OF_VALUES("flags", "flags"),
    OF_VALUES("getfield", "getfield(dtype)"),
    OF_VALUES("strides", "strides"),
    OF_VALUES("tobytes", "tobytes()"),
    OF_VALUES("tofile", "tofile(file)"),
    OF_VALUES("tostring", "tobytes()"),
    ABSENT("imag", "they are real; cadiff.numpy.imag(x) is 0"),
    ABSENT("itemset", "write x[index] = number"),
    ABSENT("newbyteorder", "they are float64 of this machine"),
    ABSENT("resize", "take cadiff.numpy.resize(x, shape), or x.reshape(shape)"),
    ABSENT("setfield", "write x[index] = number"),
    ABSENT("setflags", "take x.copy() to assign to, cadiff.stop_gradient(x) for a constant"),
    ABSENT("to_device", "they are on the CPU"),
    ABSENT("view", "x[...] is another view of the same numbers, cadiff.value(x).view(dtype) one "
                   "of their values"),
    {NULL, NULL, NULL, NULL, NULL},
};

#define KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef common_methods[] = {
    {"__array_ufunc__", (PyCFunction)(void (*)(void))array_ufunc, METH_FASTCALL | METH_KEYWORDS,
     "NumPy's protocol for its ufuncs."},
    {"__array_function__", array_function, METH_VARARGS, "NumPy's protocol for its functions."},
    {"__format__", method_format, METH_O, "Format the value."},
    {"__round__", method_round, METH_VARARGS, "The rounded number, with derivative 0."},
    {"__floor__", method_floor, METH_NOARGS, "math.floor, with derivative 0."},
    {"__ceil__", method_ceil, METH_NOARGS, "math.ceil, with derivative 0."},
    {"__trunc__", method_trunc, METH_NOARGS, "math.trunc, with derivative 0."},
    {"__complex__", method_refuse, METH_NOARGS, "Raises TypeError."},
    {"__copy__", KEYWORDS(array_copy), "A copy of an array; a number is itself one."},
    {"__deepcopy__", KEYWORDS(array_copy), "A copy of an array; a number is itself one."},
    {"__reduce_ex__", method_reduce, METH_O, "Raises TypeError."},
    {"conjugate", method_itself, METH_NOARGS, "The number itself."},
    {"conj", method_itself, METH_NOARGS, "The number itself."},
    {"item", method_item, METH_VARARGS, "The value as a float."},
    {"clip", KEYWORDS(method_clip), "As for an ndarray; the derivative is 1 at the bounds."},
    {"mean", KEYWORDS(array_mean), "As for an ndarray."},
    {"prod", KEYWORDS(array_prod), "As for an ndarray."},
    {"max", KEYWORDS(array_max), "As for an ndarray."},
    {"min", KEYWORDS(array_min), "As for an ndarray."},
    {"var", KEYWORDS(array_var), "As for an ndarray."},
    {"std", KEYWORDS(array_std), "As for an ndarray."},
    {"ptp", KEYWORDS(array_ptp), "As for an ndarray."},
    {"cumsum", KEYWORDS(array_cumsum), "As for an ndarray."},
    {"cumprod", KEYWORDS(array_cumprod), "As for an ndarray."},
    {"argmax", KEYWORDS(array_argmax), "As for an ndarray."},
    {"argmin", KEYWORDS(array_argmin), "As for an ndarray."},
    {"argsort", KEYWORDS(array_argsort), "As for an ndarray."},
    {"all", KEYWORDS(array_all), "As for an ndarray."},
    {"any", KEYWORDS(array_any), "As for an ndarray."},
    {"nonzero", KEYWORDS(array_nonzero), "As for an ndarray."},
    {"ravel", KEYWORDS(array_ravel), "As for an ndarray."},
    {"squeeze", KEYWORDS(array_squeeze), "As for an ndarray."},
    {"swapaxes", KEYWORDS(array_swapaxes), "As for an ndarray."},
    {"diagonal", KEYWORDS(array_diagonal), "As for an ndarray."},
    {"trace", KEYWORDS(array_trace), "As for an ndarray."},
    {"repeat", KEYWORDS(array_repeat), "As for an ndarray."},
    {"take", KEYWORDS(array_take), "As for an ndarray."},
    {"round", KEYWORDS(array_round), "As for an ndarray."},
    {"dot", KEYWORDS(array_dot), "As for an ndarray."},
    {"searchsorted", KEYWORDS(array_searchsorted), "As for an ndarray."},
    {"argpartition", KEYWORDS(array_argpartition), "As for an ndarray."},
    {"choose", KEYWORDS(array_choose), "As for an ndarray."},
    {"compress", KEYWORDS(array_compress), "As for an ndarray."},
    {"put", KEYWORDS(array_put), "As for an ndarray."},
    {"sort", KEYWORDS(array_sort), "Sort in place, as for an ndarray."},
    {"partition", KEYWORDS(array_partition), "Partition in place, as for an ndarray."},
    {"fill", array_fill, METH_O, "Assign one number to all elements."},
    {"sum", KEYWORDS(array_sum), "As for an ndarray."},
    {"reshape", KEYWORDS(array_reshape), "As for an ndarray."},
    {"transpose", KEYWORDS(array_transpose), "As for an ndarray."},
    {"flatten", KEYWORDS(array_flatten), "As for an ndarray."},
    {"astype", KEYWORDS(array_astype), "As for an ndarray."},
    {"copy", KEYWORDS(array_copy), "As for an ndarray."},
    {"tolist", array_tolist, METH_NOARGS, "Nested lists of numbers."},
    {NULL, NULL, 0, NULL},
};

static PyObject *function_value(PyObject *module, PyObject *object) {
    (void)module;
    return cad_plain_value(object);
}

static PyMethodDef value_function = {
    "plain_value", function_value, METH_O,
    "plain_value(x, /)\n--\n\nThe value of a number or an array, without derivatives."};

/* --- set-up --- */

static int add_descriptor(PyTypeObject *type, const char *name, PyObject *descriptor) {
    const int status =
        descriptor == NULL ? -1 : PyDict_SetItemString(type->tp_dict, name, descriptor);
    Py_XDECREF(descriptor);
    return status;
}

static int add_method(PyTypeObject *type, PyMethodDef *method) {
    return add_descriptor(type, method->ml_name, PyDescr_NewMethod(type, method));
}

/* An attribute that the type does not have of its own. */
static int add_attribute(PyTypeObject *type, PyGetSetDef *attribute) {
    if (PyDict_GetItemString(type->tp_dict, attribute->name) != NULL) {
        return 0;
    }
    return add_descriptor(type, attribute->name, PyDescr_NewGetSet(type, attribute));
}

static int ready_type(PyObject *module, const char *name, PyTypeObject *type) {
    if (PyType_Ready(type) < 0) {
        return -1;
    }
    for (PyMethodDef *method = common_methods; method->ml_name != NULL; method++) {
        if (add_method(type, method) < 0) {
            return -1;
        }
    }
    for (PyGetSetDef *attribute = common_getset; attribute->name != NULL; attribute++) {
        if (add_attribute(type, attribute) < 0) {
            return -1;
        }
    }
    for (int op = 0; op < CAD_OP_COUNT; op++) {
        if (row_methods[op].ml_meth != NULL && cad_op_info[op].name[0] != '_' &&
            add_method(type, &row_methods[op]) < 0) {
            return -1;
        }
    }
    PyType_Modified(type);
    return PyModule_AddObjectRef(module, name, (PyObject *)type);
}

/* numpy.sin for "numpy.sin"; NULL without an exception for all others. */
static PyObject *numpy_twin(const char *ufunc) {
    return strncmp(ufunc, "numpy.", 6) == 0 ? PyObject_GetAttrString(numpy_module, ufunc + 6)
                                            : NULL;
}

static int remember(PyObject *function, const char *name, int op) {
    PyObject *code = PyLong_FromLong(op);
    int status = code == NULL ? -1 : PyDict_SetItemString(op_of_name, name, code);
    if (status == 0 && function != NULL) {
        status = PyDict_SetItem(op_of_function, function, code);
    }
    Py_XDECREF(code);
    return status;
}

static int ready_op(PyObject *module, int op) {
    const CadOpInfo *info = &cad_op_info[op];
    numpy_functions[op] = numpy_twin(info->ufunc);
    if (PyErr_Occurred() || (own_ufuncs[op] = make_ufunc((CadOp)op)) == NULL) {
        return -1;
    }
    functions[op].ml_name = row_methods[op].ml_name = info->name;
    functions[op].ml_doc = row_methods[op].ml_doc = info->doc;
    if (info->name[0] == '_') {
        return 0;
    }
    PyObject *name = PyUnicode_FromString("cadiff");
    PyObject *function = name == NULL ? NULL : PyCFunction_NewEx(&functions[op], NULL, name);
    Py_XDECREF(name);
    if (function == NULL || PyModule_AddObjectRef(module, info->name, function) < 0 ||
        remember(numpy_functions[op], info->name, op) < 0) {
        Py_XDECREF(function);
        return -1;
    }
    Py_DECREF(function);
    return 0;
}

static int ready_alias(PyObject *module, const char *alias, const char *name) {
    PyObject *function = PyObject_GetAttrString(module, name);
    PyObject *code = PyDict_GetItemString(op_of_name, name);
    if (function == NULL || code == NULL) {
        Py_XDECREF(function);
        return -1;
    }
    /* NumPy may have a ufunc of its own under the other name: degrees beside rad2deg. */
    PyObject *twin = PyObject_GetAttrString(numpy_module, alias);
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
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *attribute = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    Py_XDECREF(module);
    return attribute;
}

int cad_numbers_ready(PyObject *module) {
    if ((numpy_module = PyImport_ImportModule("numpy")) == NULL ||
        (numpy_sum = PyObject_GetAttrString(numpy_module, "sum")) == NULL ||
        (numpy_matmul = PyObject_GetAttrString(numpy_module, "matmul")) == NULL ||
        (cad_dtype = attribute_of("cadiff._dtype", "float64")) == NULL ||
        (op_of_function = PyDict_New()) == NULL || (op_of_name = PyDict_New()) == NULL) {
        return -1;
    }
    cad_stale_error = PyErr_NewExceptionWithDoc(
        "cadiff.StaleVarError",
        "A Var was computed with after the gradient call that it belongs to had ended.",
        PyExc_RuntimeError, NULL);
    if (cad_stale_error == NULL ||
        PyModule_AddObjectRef(module, "StaleVarError", cad_stale_error) < 0) {
        return -1;
    }
    for (int op = CAD_OP_THIRD + 1; op < CAD_OP_COUNT; op++) {
        if (ready_op(module, op) < 0) {
            return -1;
        }
    }
    if (cad_borrow_loops(numpy_module, numpy_functions) < 0) {
        return -1;
    }
    for (int i = 0; cad_op_aliases[i][0] != NULL; i++) {
        if (ready_alias(module, cad_op_aliases[i][0], cad_op_aliases[i][1]) < 0) {
            return -1;
        }
    }
    if (ready_type(module, "Var", &CadVar_Type) < 0 || PyType_Ready(&CadVarArray_Type) < 0 ||
        ready_type(module, "Dual", &CadDual_Type) < 0 || PyType_Ready(&CadDualArray_Type) < 0) {
        return -1;
    }
    PyObject *value = PyCFunction_NewEx(&value_function, NULL, NULL);
    const int status = value == NULL ? -1 : PyModule_AddObjectRef(module, "plain_value", value);
    Py_XDECREF(value);
    return status;
}
