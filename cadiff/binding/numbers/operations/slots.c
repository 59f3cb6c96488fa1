/* Operators that Var and Dual share: those that are no single operation of the table, and those in
 * place. Which of the two an operand is does not matter here. */
#include "numbers/operations/operations.h"
#include "numbers/operations/slots.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/state.h"

PyObject *cad_power(PyObject *base, PyObject *exponent, PyObject *modulus) {
    if (modulus != Py_None) {
        PyErr_SetString(PyExc_TypeError, "pow() of a number with a derivative takes no modulus");
        return NULL;
    }
    double number;
    const int class = cad_classify(exponent, &number);
    if (class == CAD_PLAIN && cad_is_single(base) &&
        cad_precision_of_number(exponent) == CAD_FITS_DOUBLE) {
        return cad_apply2(CAD_OP_power, base, exponent); /* which makes it float64 */
    }
    if (class == CAD_PLAIN && number == 2.0) {
        return cad_apply1(CAD_OP_square, base);
    }
    if (class == CAD_PLAIN && (CAD_IS_VAR_ARRAY(base) || CAD_IS_DUAL_ARRAY(base))) {
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

PyObject *cad_matmul(PyObject *left, PyObject *right) {
    PyObject *product = cad_state.table_of_var.matmul(left, right);
    if (product != NULL || PyErr_Occurred()) {
        return product;
    }
    if (cad_is_foreign(left) || cad_is_foreign(right)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *function = cad_find_function("matmul");
    return function == NULL ? NULL : PyObject_CallFunctionObjArgs(function, left, right, NULL);
}

/* --- where arrays cannot change --- */

static PyNumberMethods of_numpy; /* the slots of its arrays, once others take their place */

static int is_within(const char *module, const char *package) {
    const size_t n = strlen(package);
    return strncmp(module, package, n) == 0 && (module[n] == '.' || module[n] == 0);
}

/* Whether y += v is y = y + v for arrays, as in JAX, whose arrays cannot change: in code that has
 * names for JAX, and in all that its transforms call. Libraries of NumPy's kind write to views. */
int cad_binds_anew(void) {
    static const char *const names[] = {"jax", "jnp"};
    static const char *const libraries[] = {"cadiff", "numpy", "scipy"};
    PyObject *const globals = of_numpy.nb_add == NULL ? NULL : PyEval_GetGlobals();
    if (globals == NULL) {
        return 0;
    }
    for (size_t k = 0; k < 2; k++) {
        PyObject *const module = PyDict_GetItemString(globals, names[k]);
        const char *const name =
            module != NULL && PyModule_Check(module) ? PyModule_GetName(module) : NULL;
        if (name != NULL && is_within(name, cad_state.of_names)) {
            return 1;
        }
    }
    PyObject *const name = PyDict_GetItemString(globals, "__name__");
    const char *const own = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    int is_asked = cad_answers_as_numpy() && own != NULL;
    for (size_t k = 0; k < 3 && is_asked; k++) {
        is_asked = !is_within(own, libraries[k]);
    }
    PyErr_Clear(); /* of names that are none */
    return is_asked;
}

#define ARRAY_OPERATORS(SLOT)                                                                     \
    SLOT(add, Add)                                                                                \
    SLOT(subtract, Subtract)                                                                      \
    SLOT(multiply, Multiply)                                                                      \
    SLOT(true_divide, TrueDivide)                                                                 \
    SLOT(floor_divide, FloorDivide)                                                               \
    SLOT(remainder, Remainder)                                                                    \
    SLOT(matrix_multiply, MatrixMultiply)                                                         \
    SLOT(and, And)                                                                                \
    SLOT(or, Or)                                                                                  \
    SLOT(xor, Xor)                                                                                \
    SLOT(lshift, Lshift)                                                                          \
    SLOT(rshift, Rshift)
#define OF_ARRAY(slot, Name)                                                                      \
    static PyObject *array_##slot(PyObject *left, PyObject *right) {                              \
        return cad_binds_anew() ? PyNumber_##Name(left, right)                                    \
                                : of_numpy.nb_inplace_##slot(left, right);                        \
    }
ARRAY_OPERATORS(OF_ARRAY)

static PyObject *array_power(PyObject *base, PyObject *exponent, PyObject *modulus) {
    return cad_binds_anew() ? PyNumber_Power(base, exponent, modulus)
                            : of_numpy.nb_inplace_power(base, exponent, modulus);
}

void cad_have_arrays_bound_anew(const char *package) {
    PyNumberMethods *const slots = PyArray_Type.tp_as_number;
    if (of_numpy.nb_add == NULL) {
        PyOS_snprintf(cad_state.of_names, sizeof cad_state.of_names, "%s", package);
        of_numpy = *slots;
        slots->nb_inplace_power = array_power;
#define EXCHANGE(slot, Name) slots->nb_inplace_##slot = array_##slot;
        ARRAY_OPERATORS(EXCHANGE)
    }
}

/* --- in-place operators --- */

/* The product for an array to be written to, whose shape it must have. */
static PyObject *matmul_like(PyObject *left, PyObject *right) {
    PyObject *product = cad_matmul(left, right);
    if (product == NULL || product == Py_NotImplemented || cad_is_complex(product) ||
        cad_binds_anew()) {
        return product;
    }
    const npy_intp *shape, *given;
    const int ndim = cad_lengths(left, &shape);
    if (cad_lengths(product, &given) != ndim || !PyArray_CompareLists(shape, given, ndim)) {
        cad_refuse_shapes("@= of an array of shape %R wants a product of that shape, "
                          "not %R: write y = y @ z",
                          ndim, shape, cad_ndim(product), given);
        Py_CLEAR(product);
    }
    return product;
}

/* y += v writes to the array, so that all views of it see the result. A single number is bound to
 * a new one instead. */
static PyObject *in_place(PyObject *target, PyObject *result) {
    if (result == NULL || result == Py_NotImplemented || cad_is_single_number(target) ||
        !(CAD_IS_VAR_ARRAY(target) || CAD_IS_DUAL_ARRAY(target)) || cad_binds_anew()) {
        return result;
    }
    const int status = PyObject_SetItem(target, Py_Ellipsis, result);
    Py_DECREF(result);
    return status < 0 ? NULL : Py_NewRef(target);
}

#define OPERATOR(left, slot) Py_TYPE(left)->tp_as_number->slot
#define IN_PLACE(name, slot)                                                                      \
    PyObject *cad_in_place_##name(PyObject *left, PyObject *right) {                              \
        return in_place(left, OPERATOR(left, slot)(left, right));                                 \
    }

IN_PLACE(add, nb_add)
IN_PLACE(subtract, nb_subtract)
IN_PLACE(multiply, nb_multiply)
IN_PLACE(divide, nb_true_divide)
IN_PLACE(floor_divide, nb_floor_divide)
IN_PLACE(mod, nb_remainder)

PyObject *cad_in_place_matmul(PyObject *left, PyObject *right) {
    return in_place(left, matmul_like(left, right));
}

PyObject *cad_in_place_power(PyObject *base, PyObject *exponent, PyObject *modulus) {
    return in_place(base, OPERATOR(base, nb_power)(base, exponent, modulus));
}
