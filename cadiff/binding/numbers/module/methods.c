/* Methods and attributes that Var and Dual share, as ndarrays have them: most lead to functions of
 * NumPy, which find their way back to the package. No derivative is known here. */
#include "numbers/module/module.h"
#include "numbers/objects/components.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "numbers/objects/views.h"
#include "numbers/operations/operations.h"
#include "numbers/array/array.h"

/* --- methods that both types share --- */

static PyObject *method_format(PyObject *self, PyObject *spec) {
    cad_note_text(self);
    return cad_then_with(cad_plain_value(self), PyObject_Format, spec);
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
    if (cad_ndim(self) > 0) {
        return round_elements(self, args);
    }
    /* Python's own rounding to decimal digits; the derivative is 0 all the same. */
    cad_read_quietly(self, "round(v, digits) rounds as Python does, by decimal digits: write "
                           "cadiff.rint(v * 10**digits) / 10**digits");
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

static PyObject *method_reduce(PyObject *self, PyObject *protocol) {
    PyObject *plain = cad_constant_value(self);
    if (plain != Py_None) {
        PyObject *result = plain == NULL ? NULL
                           : PyFloat_Check(plain)
                               ? Py_BuildValue("O(O)", &PyFloat_Type, plain)
                               : PyObject_CallMethod(plain, "__reduce_ex__", "O", protocol);
        Py_XDECREF(plain);
        return result;
    }
    Py_DECREF(plain);
    PyErr_Format(PyExc_TypeError,
                 "a %s cannot be pickled: its derivative lives in the computation that made it; "
                 "pickle cadiff.value(v)",
                 Py_TYPE(self)->tp_name);
    return NULL;
}

static PyObject *method_complex(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *number = cad_number_float(self);
    PyObject *result =
        number == NULL ? NULL : PyComplex_FromDoubles(PyFloat_AS_DOUBLE(number), 0.0);
    Py_XDECREF(number);
    return result;
}

/* An array of these lengths that takes no memory: NumPy says by it which indices are right. */
static PyObject *stand_in(PyObject *self) {
    static const double zero = 0.0;
    npy_intp strides[NPY_MAXDIMS] = {0};
    PyObject *shape = PyObject_GetAttrString(self, "shape");
    PyArray_Dims dims = {NULL, 0};
    PyObject *array = shape != NULL && PyArray_IntpConverter(shape, &dims)
                          ? PyArray_New(&PyArray_Type, dims.len, dims.ptr, NPY_DOUBLE, strides,
                                        (void *)&zero, 0, 0, NULL)
                          : NULL;
    PyDimMem_FREE(dims.ptr);
    Py_XDECREF(shape);
    return array;
}

PyObject *cad_index_of_item(PyObject *self, PyObject *args) {
    PyObject *array = stand_in(self);
    PyObject *method = array == NULL ? NULL : PyObject_GetAttrString(array, "item");
    PyObject *checked = method == NULL ? NULL : PyObject_CallObject(method, args);
    PyObject *index = NULL;
    if (checked != NULL) {
        PyObject *first = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : NULL;
        PyObject *given = first != NULL && PyTuple_Check(first) ? first : args;
        if (PyTuple_GET_SIZE(given) > 1) {
            index = Py_NewRef(given);
        } else {
            const Py_ssize_t place =
                PyTuple_GET_SIZE(given) == 0
                    ? 0
                    : PyNumber_AsSsize_t(PyTuple_GET_ITEM(given, 0), PyExc_IndexError);
            if (place != -1 || !PyErr_Occurred()) {
                PyArrayObject *const all = (PyArrayObject *)array;
                index = cad_index_of_place(PyArray_NDIM(all), PyArray_DIMS(all),
                                           place < 0 ? place + PyArray_SIZE(all) : place);
            }
        }
    }
    Py_XDECREF(checked);
    Py_XDECREF(method);
    Py_XDECREF(array);
    return index;
}

/* An element, with its derivative; of constants a float. */
static PyObject *method_item(PyObject *self, PyObject *args) {
    PyObject *index = cad_index_of_item(self, args);
    if (index == NULL) {
        return NULL;
    }
    const int has_axes = CAD_IS_VAR_ARRAY(self) || CAD_IS_DUAL_ARRAY(self);
    PyObject *number = has_axes ? PyObject_GetItem(self, index) : Py_NewRef(self);
    Py_DECREF(index);
    PyObject *plain = number == NULL ? NULL : cad_constant_value(number);
    if (plain == Py_None) {
        Py_DECREF(plain);
        return number;
    }
    Py_XDECREF(number);
    return plain;
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
    PyObject *function = cad_find_function(name);
    PyObject *all =
        function == NULL ? NULL : cad_then_with(PyTuple_Pack(1, self), PySequence_Concat, args);
    PyObject *result = all == NULL ? NULL : PyObject_Call(function, all, kwargs);
    Py_XDECREF(all);
    return result;
}

/* clang-format off */
#define NUMPY_METHODS(METHOD)                                                                     \
    METHOD(mean) METHOD(prod) METHOD(max) METHOD(min) METHOD(var) METHOD(std) METHOD(ptp)         \
    METHOD(cumsum) METHOD(cumprod) METHOD(argmax) METHOD(argmin) METHOD(argsort) METHOD(all)      \
    METHOD(any) METHOD(nonzero) METHOD(ravel) METHOD(squeeze) METHOD(swapaxes) METHOD(diagonal)   \
    METHOD(trace) METHOD(repeat) METHOD(take) METHOD(round) METHOD(dot) METHOD(searchsorted)      \
    METHOD(argpartition) METHOD(choose) METHOD(put)
/* clang-format on */

#define NUMPY_METHOD(name)                                                                        \
    static PyObject *array_##name(PyObject *self, PyObject *args, PyObject *kwargs) {             \
        return numpy_method(self, #name, args, kwargs);                                           \
    }
NUMPY_METHODS(NUMPY_METHOD) /* array_mean and its like */

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
    if (PySequence_Check(number) && !CAD_IS_SCALAR(number) && !cad_is_single_number(number) &&
        !PyArray_CheckAnyScalar(number)) {
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
    PyObject *function = cad_find_function("compress");
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
        if (only == Py_None || PyTuple_Check(only) || PyList_Check(only) || PyLong_Check(only) ||
            (PyArray_Check(only) && PyArray_NDIM((PyArrayObject *)only) > 0)) {
            return Py_NewRef(only);
        }
    }
    return Py_NewRef(args);
}

static PyObject *with_sequence(PyObject *self, const char *name, PyObject *args,
                               PyObject *kwargs) {
    PyObject *packed = Py_BuildValue("(N)", one_or_many(args));
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
    return (PyTuple_GET_SIZE(args) == 0 ? numpy_method : with_sequence)(self, "transpose", args,
                                                                        kwargs);
}

static PyObject *array_flatten(PyObject *self, PyObject *args, PyObject *kwargs) {
    return cad_called(numpy_method(self, "ravel", args, kwargs), "copy");
}

/* Nested lists of numbers. */
static PyObject *array_tolist(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *elements = cad_constant_value(self);
    if (elements == Py_None) {
        Py_SETREF(elements, cad_elements(self));
    }
    return elements != NULL && !PyArray_Check(elements) ? elements
                                                        : cad_called(elements, "tolist");
}

static PyObject *array_copy(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)args, (void)kwargs;
    if (CAD_IS_VAR_ARRAY(self)) {
        return cad_array_copy(CAD_VAR(self));
    }
    if (!CAD_IS_DUAL_ARRAY(self)) {
        return Py_NewRef(self);
    }
    CadDual *dual = CAD_DUAL(self);
    PyObject *p = PyObject_CallMethod(dual->primal_object, "copy", NULL);
    PyObject *t = p == NULL ? NULL : PyObject_CallMethod(dual->tangent_object, "copy", NULL);
    return cad_dual_of_parts(p, t, dual->tag);
}

/* Whether astype() is told not to copy without need, nor to lay the elements out anew. */
static int is_itself_wanted(PyObject *args, PyObject *kwargs) {
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *copy = n > 4 ? PyTuple_GET_ITEM(args, 4) : NULL;
    PyObject *order = n > 1 ? PyTuple_GET_ITEM(args, 1) : NULL;
    if (copy == NULL && kwargs != NULL) {
        copy = PyDict_GetItemString(kwargs, "copy");
    }
    if (order == NULL && kwargs != NULL) {
        order = PyDict_GetItemString(kwargs, "order");
    }
    const int is_kept = order == NULL || (PyUnicode_Check(order) &&
                                          PyUnicode_CompareWithASCIIString(order, "K") == 0);
    return is_kept && copy != NULL && PyObject_Not(copy) == 1;
}

static PyObject *array_astype(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyArray_Descr *type = NULL;
    PyObject *dtype = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0)
                      : kwargs == NULL           ? NULL
                                                 : PyDict_GetItemString(kwargs, "dtype");
    if (dtype == NULL || !PyArray_DescrConverter(dtype, &type)) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "astype() wants a dtype");
    }
    const int kind = type->type_num, is_float = PyTypeNum_ISFLOAT(kind);
    Py_DECREF(type);
    const int is_kept = is_float || PyTypeNum_ISCOMPLEX(kind); /* what can be assigned to */
    PyObject *plain = is_kept ? NULL : cad_constant_value(self);
    if (plain != NULL && plain != Py_None) { /* of floats for a number */
        Py_SETREF(plain, PyArray_FROM_O(plain));
        PyObject *method = plain == NULL ? NULL : PyObject_GetAttrString(plain, "astype");
        PyObject *result = method == NULL ? NULL : PyObject_Call(method, args, kwargs);
        Py_XDECREF(method);
        Py_XDECREF(plain);
        return result;
    }
    Py_XDECREF(plain);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (PyTypeNum_ISINTEGER(kind) || PyTypeNum_ISBOOL(kind) || PyTypeNum_ISCOMPLEX(kind)) {
        return PyObject_CallMethod((PyObject *)cad_state.mask_type, "converted", "OO", self,
                                   dtype);
    }
    if (!is_float) {
        return PyErr_Format(PyExc_TypeError,
                            "numbers with derivatives are floating and cannot become %S: take "
                            "cadiff.value(v).astype(...)",
                            dtype);
    }
    const int is_single = cad_is_single(self);
    if ((kind == NPY_FLOAT) == is_single) {
        const int is_itself = kind == NPY_DOUBLE || is_single;
        return is_itself && is_itself_wanted(args, kwargs) ? Py_NewRef(self)
                                                           : array_copy(self, NULL, NULL);
    }
    return is_single ? cad_widened(self) : cad_narrowed(self);
}

/* What NumPy and libraries built upon it ask for: constants are plain floats to them. */
static PyObject *array_as_plain(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype, &copy)) {
        return NULL;
    }
    if (copy == Py_False) {
        PyErr_SetString(PyExc_ValueError, "an array of numbers with derivatives is plain only as "
                                          "a copy: write cadiff.numpy.asarray(x)");
        return NULL;
    }
    PyObject *plain = cad_refuse_memory(self) < 0 ? NULL : cad_constant_value(self);
    if (plain == Py_None) {
        Py_SETREF(plain, cad_refuse_elements(self) < 0 ? NULL : cad_elements(self));
    }
    if (plain != NULL && !PyArray_Check(plain)) { /* of a view of no axes */
        Py_SETREF(plain, PyArray_FROM_O(plain));
    }
    if (plain != NULL && dtype != Py_None) {
        Py_SETREF(plain, PyObject_CallMethod(plain, "astype", "O", dtype));
    }
    if (plain != NULL && PyArray_Check(plain) && copy == Py_None) {
        PyArray_CLEARFLAGS((PyArrayObject *)plain, NPY_ARRAY_WRITEABLE); /* it would be lost */
    }
    return plain;
}

/* --- attributes that both types share --- */

static PyObject *call_in_place_of(const char *name, PyObject *self) {
    PyObject *function = cad_find_function(name);
    return function == NULL ? NULL : PyObject_CallOneArg(function, self);
}

static PyObject *get_flat(PyObject *self, void *closure) {
    (void)closure;
    return call_in_place_of("flatiter", self);
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
    return call_in_place_of("matrix_transpose", self);
}

/* Zeros for reading, as of a real ndarray. */
static PyObject *get_imag(PyObject *self, void *closure) {
    (void)closure;
    const npy_intp *lengths;
    const int ndim = cad_lengths(self, &lengths);
    if (ndim == 0 && !cad_is_single(self)) {
        return PyFloat_FromDouble(0.0);
    }
    PyObject *zeros =
        PyArray_ZEROS(ndim, (npy_intp *)lengths, cad_is_single(self) ? NPY_FLOAT : NPY_DOUBLE, 0);
    if (zeros != NULL) {
        PyArray_CLEARFLAGS((PyArrayObject *)zeros, NPY_ARRAY_WRITEABLE);
    }
    return zeros == NULL ? NULL : PyArray_Return((PyArrayObject *)zeros);
}

static PyObject *get_shape(PyObject *self, void *closure) {
    (void)closure;
    const npy_intp *lengths;
    const int ndim = cad_lengths(self, &lengths);
    return cad_shape_tuple(ndim, lengths);
}

enum { NDIM, SIZE, ITEMSIZE, NBYTES };

static PyObject *get_count(PyObject *self, void *closure) {
    const int what = (int)(intptr_t)closure;
    const npy_intp *lengths;
    const int ndim = cad_lengths(self, &lengths);
    const size_t bytes = what < ITEMSIZE       ? 1
                         : cad_is_single(self) ? sizeof(float)
                                               : sizeof(double);
    return PyLong_FromSsize_t((npy_intp)bytes * (what == NDIM ? ndim
                                                 : what == ITEMSIZE
                                                     ? 1
                                                     : PyArray_MultiplyList(lengths, ndim)));
}

static PyObject *get_dtype(PyObject *self, void *closure) {
    (void)closure;
    return Py_NewRef(cad_is_single(self) ? cad_state.dtype_of_singles : cad_state.dtype);
}

static PyObject *get_int(PyObject *self, void *number) {
    (void)self;
    return PyLong_FromSsize_t((Py_ssize_t)(intptr_t)number);
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

/* A single number that has outlived its computation is its value to NumPy; one that has not is an
 * object to it, which answers as if it had no such attribute. Arrays have a method. */
static PyObject *get_as_plain(PyObject *self, void *closure) {
    (void)closure;
    const int is_over = CAD_IS_VAR(self) ? CAD_VAR(self)->kind == CAD_STALE : cad_is_over(self);
    if (is_over <= 0) {
        if (is_over == 0 && cad_refuse_memory(self) == 0) {
            PyErr_SetNone(PyExc_AttributeError);
        }
        return NULL;
    }
    PyObject *value = cad_plain_value(self);
    PyObject *plain = value == NULL ? NULL : PyArray_FROM_O(value);
    Py_XDECREF(value);
    return cad_attribute(plain, "__array__");
}

PyObject *cad_class_of(PyObject *self) {
    if (cad_state.name_key == NULL &&
        (cad_state.name_key = PyUnicode_InternFromString("__name__")) == NULL) {
        return NULL;
    }
    PyObject *const globals = PyEval_GetGlobals();
    PyObject *const name =
        globals == NULL ? NULL : PyDict_GetItemWithError(globals, cad_state.name_key);
    const char *const module =
        name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (module == NULL && PyErr_Occurred()) {
        return NULL;
    }
    const int is_asked = module != NULL && strncmp(module, "numpy.polynomial.", 17) == 0;
    return Py_NewRef(is_asked ? &PyArray_Type : Py_TYPE(self));
}

static PyObject *get_class(PyObject *self, void *closure) {
    (void)closure;
    return cad_ndim(self) > 0 ? cad_class_of(self) : Py_NewRef(Py_TYPE(self));
}

PyGetSetDef cad_common_attributes[] = {
    {"__class__", get_class, NULL, "For `isinstance`: an ndarray to numpy.polynomial.", NULL},
    {"__array__", get_as_plain, NULL, "Of numbers that have outlived their computation alone.",
     NULL},
    {"flat", get_flat, set_flat, "The elements in order, to iterate over, read and assign.", NULL},
    {"mT", get_matrix_transpose, NULL, "The last two axes exchanged.", NULL},
    {"shape", get_shape, cad_refuse_layout, "Lengths of the axes.", "shape"},
    {"ndim", get_count, NULL, "Number of axes.", (void *)NDIM},
    {"size", get_count, NULL, "Number of elements.", (void *)SIZE},
    {"dtype", get_dtype, cad_refuse_layout, "float64 or float32.", "dtype"},
    {"itemsize", get_count, NULL, "Bytes of the value of an element.", (void *)ITEMSIZE},
    {"nbytes", get_count, NULL, "Bytes of the values of all elements.", (void *)NBYTES},
    {"imag", get_imag, NULL, "0.0; of an array zeros.", NULL},
    {"device", get_device, NULL, "\"cpu\".", NULL},
    /* pandas leaves operators to what comes before its own DataFrame, which has 4000. */
    {"__pandas_priority__", get_int, NULL, "Operators with pandas' tables are ours.",
     (void *)5000},
    OF_VALUES("byteswap", "byteswap()"),
    OF_VALUES("ctypes", "ctypes"),
    OF_VALUES("data", "data"),
    OF_VALUES("dump", "dump(file)"),
    OF_VALUES("dumps", "dumps()"),
    OF_VALUES("getfield", "getfield(dtype)"),
    OF_VALUES("tobytes", "tobytes()"),
    OF_VALUES("tofile", "tofile(file)"),
    OF_VALUES("tostring", "tobytes()"),
    ABSENT("itemset", "write x[index] = number"),
    ABSENT("newbyteorder", "they are float64 of this machine"),
    ABSENT("resize", "take cadiff.numpy.resize(x, shape), or x.reshape(shape)"),
    ABSENT("setfield", "write x[index] = number"),
    {NULL, NULL, NULL, NULL, NULL},
};

#define KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

#define AS_NDARRAY(name) {#name, KEYWORDS(array_##name), "As for an ndarray."}
#define LISTED(name) AS_NDARRAY(name),

PyMethodDef cad_common_methods[] = {
    {"__format__", method_format, METH_O, "Format the value."},
    {"__round__", method_round, METH_VARARGS, "The rounded number, with derivative 0."},
    {"__complex__", method_complex, METH_NOARGS, "Of what carries no derivative, as float()."},
    {"__copy__", KEYWORDS(array_copy), "A copy of an array; a number is itself one."},
    {"__deepcopy__", KEYWORDS(array_copy), "A copy of an array; a number is itself one."},
    {"__reduce_ex__", method_reduce, METH_O, "Raises TypeError."},
    {"conjugate", method_itself, METH_NOARGS, "The number itself."},
    {"conj", method_itself, METH_NOARGS, "The number itself."},
    {"item", method_item, METH_VARARGS, "An element, with its derivative."},
    {"clip", KEYWORDS(method_clip), "As for an ndarray; the derivative is 1 at the bounds."},
    AS_NDARRAY(compress),
    AS_NDARRAY(sum),
    AS_NDARRAY(reshape),
    AS_NDARRAY(transpose),
    AS_NDARRAY(flatten),
    AS_NDARRAY(astype),
    AS_NDARRAY(copy),
    {"sort", KEYWORDS(array_sort), "Sort in place, as for an ndarray."},
    {"partition", KEYWORDS(array_partition), "Partition in place, as for an ndarray."},
    {"fill", array_fill, METH_O, "Assign one number to all elements."},
    {"tolist", array_tolist, METH_NOARGS, "Nested lists of numbers."},
    NUMPY_METHODS(LISTED){NULL, NULL, 0, NULL},
};

PyMethodDef cad_array_methods[] = {
    {"__array__", KEYWORDS(array_as_plain), "Constants as floats; else an array of objects."},
    {NULL, NULL, 0, NULL},
};
