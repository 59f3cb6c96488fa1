/* Derivatives as Vars show them: backward(), .grad and zero_grad(), and the seeds and adjoints of
 * pullbacks. How entries hand adjoints on is the business of src/sweeps. */
#include "numbers/var/var.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/views.h"
#include "numbers/operations/operations.h"

#include "kernels/kernels.h"
#include "tape/adjoints.h"
#include "tape/blocks.h"

#include "tape/find.h"

/* --- gradients --- */

/* Where a leaf's accumulated gradients begin, relative to its values; 0 if `slot` is no leaf. */
static size_t gradient_offset(const CadTape *tape, CadSlot slot) {
    const size_t index = cad_tape_find(tape, slot);
    if (index < tape->n_entries && CAD_CODE_OP(tape->entries[index].code) == CAD_OP_LEAF &&
        tape->entries[index].b) {
        return tape->entries[index].a;
    }
    return 0;
}

static PyObject *array_grad(CadVar *var) {
    CadTape *tape = var->tape;
    const npy_intp size = var->view->size;
    if (size == 0) {
        return PyArray_ZEROS(var->view->ndim, CAD_SHAPE(var->view), NPY_DOUBLE, 0);
    }
    const size_t offset = gradient_offset(tape, var->slot);
    if (offset > 0) {
        return cad_var_transient_copy(var, tape->values + offset, 0);
    }
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    if (cad_var_is_contiguous(var)) {
        PyObject *array = PyArray_SimpleNew(var->view->ndim, CAD_SHAPE(var->view), NPY_DOUBLE);
        if (array != NULL) {
            cad_tape_read_adjoints(tape, low, high + 1, PyArray_DATA((PyArrayObject *)array));
        }
        return array;
    }
    double *adjoints = PyMem_Malloc((high - low + 1) * sizeof *adjoints);
    if (adjoints == NULL) {
        return PyErr_NoMemory();
    }
    cad_tape_read_adjoints(tape, low, high + 1, adjoints);
    PyObject *copy = cad_var_transient_copy(var, adjoints, low);
    PyMem_Free(adjoints);
    return copy;
}

PyObject *cad_var_get_grad(CadVar *var, void *what) {
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    if (cad_read_openly((PyObject *)var, what) < 0) {
        return NULL;
    }
    if (var->kind == CAD_PASSIVE) {
        return PyFloat_FromDouble(0.0);
    }
    if (CAD_IS_VAR_ARRAY(var)) {
        PyObject *grad = array_grad(var);
        if (grad != NULL && var->view->flags & CAD_SINGLE) {
            Py_SETREF(grad, cad_as_floats(grad));
        }
        return grad != NULL && var->view->ndim == 0 ? PyArray_Return((PyArrayObject *)grad) : grad;
    }
    const size_t offset = gradient_offset(var->tape, var->slot);
    return PyFloat_FromDouble(offset > 0 ? var->tape->values[var->slot + offset]
                                         : cad_tape_adjoint(var->tape, var->slot));
}

/* --- seeds and adjoints --- */

/* Add an array to the adjoints of one that stands in order. */
static int add_in_order(CadVar *var, PyObject *terms) {
    double *const adjoints = cad_tape_adjoints(var->tape, var->slot);
    PyObject *place = cad_var_transient(var, adjoints, NPY_ARRAY_WRITEABLE);
    PyObject *sum = place == NULL ? NULL : PyNumber_InPlaceAdd(place, terms);
    const int status = sum == NULL ? -1 : 0;
    Py_XDECREF(sum);
    Py_XDECREF(place);
    return status;
}

/* Add to adjoints that stand in any order, which a broadcast Var may name more than once. */
static int add_in_places(CadVar *var, CadStrip seed) {
    PyObject *slots = cad_var_slots(var);
    if (slots == NULL) {
        return -1;
    }
    const npy_int64 *const slot = PyArray_DATA((PyArrayObject *)slots);
    double *const adjoints = cad_tape_adjoints(var->tape, var->slot);
    for (npy_intp i = 0; i < var->view->size; i++) {
        adjoints[slot[i]] += seed.data[i * seed.step];
    }
    Py_DECREF(slots);
    return 0;
}

/* Add numbers, in the order of the elements of an array, to their adjoints. */
static int add_numbers(CadVar *var, CadStrip numbers) {
    CadTape *tape = var->tape;
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    if (!cad_var_is_contiguous(var)) {
        cad_tape_prepare_adjoints(tape, low, high);
        return add_in_places(var, numbers);
    }
    const int store = cad_tape_touch(tape, low, high);
    double *const adjoints = cad_tape_adjoints(tape, var->slot) + var->slot;
    cad_strip_add((CadStrip){adjoints, 1}, numbers, store, (size_t)var->view->size);
    return 0;
}

static int is_of_shape(const CadVar *var, PyObject *array) {
    return PyArray_NDIM((PyArrayObject *)array) == var->view->ndim &&
           PyArray_CompareLists(PyArray_DIMS((PyArrayObject *)array), CAD_SHAPE(var->view),
                                var->view->ndim);
}

/* Add an array of the Var's shape, or one number to all of its adjoints. */
static int add_array(CadVar *var, PyArrayObject *array) {
    const int is_one = PyArray_SIZE(array) == 1;
    const npy_intp step = is_one ? 0 : cad_step_of(array);
    if (is_one || step != 0) {
        return add_numbers(var, (CadStrip){PyArray_DATA(array), step});
    }
    if (cad_var_is_contiguous(var) && is_of_shape(var, (PyObject *)array)) {
        size_t low, high;
        cad_var_bounds(var, &low, &high);
        cad_tape_prepare_adjoints(var->tape, low, high);
        return add_in_order(var, (PyObject *)array); /* which copies nothing */
    }
    PyObject *ordered = PyArray_FROMANY((PyObject *)array, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO);
    const int status =
        ordered == NULL ? -1
                        : add_numbers(var, (CadStrip){PyArray_DATA((PyArrayObject *)ordered), 1});
    Py_XDECREF(ordered);
    return status;
}

int cad_var_seed(CadVar *var, PyObject *seed) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        cad_tape_prepare_adjoints(var->tape, var->slot, var->slot);
        const double number = PyFloat_AsDouble(seed);
        var->tape->adjoints[var->slot] += number;
        return number == -1.0 && PyErr_Occurred() ? -1 : 0;
    }
    if (var->view->size == 0) {
        return 0;
    }
    PyObject *array = PyArray_FROMANY(seed, NPY_DOUBLE, 0, 0, NPY_ARRAY_ALIGNED);
    int status = -1;
    if (array != NULL && PyArray_SIZE((PyArrayObject *)array) != var->view->size) {
        PyErr_SetString(PyExc_ValueError, "a cotangent must have the shape of its output");
    } else if (array != NULL) {
        status = add_array(var, (PyArrayObject *)array);
    }
    Py_XDECREF(array);
    return status;
}

PyObject *cad_var_adjoint(CadVar *var) {
    return CAD_IS_VAR_ARRAY(var) ? array_grad(var)
                                 : PyFloat_FromDouble(cad_tape_adjoint(var->tape, var->slot));
}

/* --- backward --- */

/* Whether there are any adjoints; -1 with StaleVarError. */
static int has_adjoints(const CadVar *var) {
    if (var->kind == CAD_STALE) {
        return cad_raise_stale();
    }
    return var->kind != CAD_PASSIVE && !(CAD_IS_VAR_ARRAY(var) && var->view->size == 0);
}

static int add_seed_of_array(CadVar *var, PyObject *seed) {
    const CadView *view = var->view;
    PyObject *array = PyArray_FROMANY(seed, NPY_DOUBLE, 0, 0, NPY_ARRAY_ALIGNED);
    int status = -1;
    if (array != NULL && PyArray_SIZE((PyArrayObject *)array) != 1 && !is_of_shape(var, array)) {
        cad_refuse_shapes("the seed must have the shape of the Var, which is %S, not %S",
                          view->ndim, CAD_SHAPE(view), PyArray_NDIM((PyArrayObject *)array),
                          PyArray_DIMS((PyArrayObject *)array));
    } else if (array != NULL) {
        status = add_array(var, (PyArrayObject *)array);
    }
    Py_XDECREF(array);
    return status;
}

static int check_seed(const CadVar *var, PyObject *seed) {
    if (seed == NULL && CAD_IS_VAR_ARRAY(var) && var->view->size != 1) {
        PyObject *shape = cad_shape_tuple(var->view->ndim, CAD_SHAPE(var->view));
        PyErr_Format(PyExc_TypeError,
                     "backward() of an array of shape %S wants a seed of that shape: "
                     "write y.backward(seed)",
                     shape);
        Py_XDECREF(shape);
        return -1;
    }
    if (seed != NULL && (CAD_IS_VAR(seed) || CAD_IS_DUAL(seed))) {
        PyErr_SetString(PyExc_TypeError,
                        "the seed of backward() is a plain number or array: use cadiff.vjp for "
                        "gradients that are differentiated again");
        return -1;
    }
    return 0;
}

/* The seed of backward(), 1 if there is none, as the adjoints of a Var, which are 0. */
static int add_seed(CadVar *var, PyObject *seed) {
    double number = 1.0;
    if (seed != NULL && CAD_IS_VAR_ARRAY(var)) {
        return add_seed_of_array(var, seed);
    }
    if (seed != NULL && cad_classify(seed, &number) != CAD_PLAIN) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "the seed of a scalar is a real number, not %R", seed);
        }
        return -1;
    }
    if (CAD_IS_VAR_ARRAY(var)) {
        return add_numbers(var, (CadStrip){&number, 0});
    }
    cad_tape_prepare_adjoints(var->tape, var->slot, var->slot);
    var->tape->adjoints[var->slot] = number;
    return 0;
}

static PyObject *var_backward(CadVar *var, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"seed", NULL};
    PyObject *seed = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:backward", names, &seed)) {
        if (kwargs != NULL && PyDict_GetItemString(kwargs, "seed") == NULL) {
            PyErr_SetString(PyExc_TypeError,
                            "backward() takes a seed alone: what was recorded is kept as long as "
                            "its numbers, and cadiff.grad(cadiff.grad(f)) differentiates again");
        }
        return NULL;
    }
    const int any = has_adjoints(var);
    if (any <= 0) {
        return any < 0 ? NULL : Py_NewRef(Py_None);
    }
    if (cad_read_openly((PyObject *)var, "v.backward()") < 0 || check_seed(var, seed) < 0) {
        return NULL;
    }
    CadTape *tape = var->tape;
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    if (cad_check(tape->busy ? CAD_BUSY : cad_tape_clear_adjoints(tape, low, high + 1)) < 0 ||
        add_seed(var, seed) < 0) {
        return NULL;
    }
    /* What was overwritten since has entries behind the Var's own. */
    const size_t own = cad_tape_find(tape, (CadSlot)high);
    const size_t end = tape->n_assigned > 0 || own == tape->n_entries ? tape->n_entries : own + 1;
    return cad_sweep(tape, 0, end, end, 1) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *var_zero_grad(CadVar *var, PyObject *unused) {
    (void)unused;
    const int any = has_adjoints(var);
    if (any <= 0) {
        return any < 0 ? NULL : Py_NewRef(Py_None);
    }
    CadTape *tape = var->tape;
    const size_t offset = gradient_offset(tape, var->slot);
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    if (offset == 0) {
        if (high >= tape->known_end || high < tape->dirty_begin) {
            Py_RETURN_NONE; /* no pass has reached it */
        }
        cad_tape_prepare_adjoints(tape, low, high);
    }
    double *const buffer = offset > 0 ? tape->values + offset : tape->adjoints;
    if (var->kind == CAD_SCALAR) {
        buffer[var->slot] = 0.0;
        Py_RETURN_NONE;
    }
    PyObject *place = cad_var_transient(var, buffer, NPY_ARRAY_WRITEABLE);
    const int status =
        place == NULL ? -1 : PyArray_FillWithScalar((PyArrayObject *)place, Py_False);
    Py_XDECREF(place);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef cad_var_methods[] = {
    {"backward", (PyCFunction)(void (*)(void))var_backward, METH_VARARGS | METH_KEYWORDS,
     "backward($self, /, seed=1.0)\n--\n\n"
     "Compute the adjoints of this pass, and add them into .grad of the leaves.\n\n"
     "The seed is the adjoint of this Var: a float, or for an array an array of its shape."},
    {"zero_grad", (PyCFunction)var_zero_grad, METH_NOARGS,
     "zero_grad($self, /)\n--\n\nSet .grad to 0."},
    {NULL, NULL, 0, NULL},
};
