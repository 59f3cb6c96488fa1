/* What takes part in an operation on array Vars: numbers and arrays, on the tape or put there; how
 * they are broadcast to a common shape, as NumPy's rules have it. Which operation it is does not
 * matter here. */
#include "numbers/array/inner.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/views.h"

/* --- operands --- */

void cad_release_operands(CadArrayOperands *all) {
    for (int i = 0; i < all->n; i++) {
        Py_CLEAR(all->of[i].kept);
    }
}

/* An array of real numbers as one of float64, or of float32. 1 if it is none: an array of objects,
 * say. */
static int take_array(CadArrayOperand *operand, PyObject *object) {
    if (cad_check_array(object) < 0) {
        return -1;
    }
    const int type = PyArray_TYPE((PyArrayObject *)object);
    operand->precision = cad_precision_of_type(type);
    if ((type == NPY_DOUBLE || type == NPY_FLOAT) &&
        PyArray_ISBEHAVED_RO((PyArrayObject *)object)) {
        operand->kept = Py_NewRef(object);
    } else if (PyTypeNum_ISBOOL(type) || PyTypeNum_ISINTEGER(type) || PyTypeNum_ISFLOAT(type)) {
        operand->kept =
            PyArray_FROMANY(object, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST);
        if (operand->kept == NULL) {
            return -1;
        }
    } else {
        return 1;
    }
    operand->ndim = PyArray_NDIM((PyArrayObject *)operand->kept);
    operand->shape = PyArray_DIMS((PyArrayObject *)operand->kept);
    int64_t stride = 1; /* once it is on the tape */
    for (int i = operand->ndim; i-- > 0;) {
        operand->strides[i] = stride;
        stride *= operand->shape[i];
    }
    return 0;
}

int cad_take_operand(CadArrayOperands *all, PyObject *object) {
    CadArrayOperand *operand = &all->of[all->n++];
    memset(operand, 0, offsetof(CadArrayOperand, strides));
    operand->passive = 1;
    if (!CAD_IS_VAR(object)) {
        if (PyArray_Check(object)) {
            return take_array(operand, object);
        }
        if (PyList_Check(object) || PyTuple_Check(object)) {
            PyObject *array = PyArray_FROM_O(object);
            const int status = array == NULL ? -1 : take_array(operand, array);
            Py_XDECREF(array);
            return status;
        }
        const int class = cad_classify(object, &operand->number);
        operand->precision = cad_precision_of_number(object);
        return class < 0 ? -1 : class != CAD_PLAIN;
    }
    operand->precision = cad_is_single(object) ? CAD_FITS_SINGLE : CAD_FITS_DOUBLE;
    CadVar *var = CAD_VAR(object);
    if (var->kind == CAD_STALE) {
        return cad_raise_stale();
    }
    if (var->kind == CAD_PASSIVE) {
        operand->number = var->value;
        return 0;
    }
    if (all->tape != NULL && all->tape != var->tape) {
        return cad_raise_threads();
    }
    all->tape = var->tape;
    operand->var = var;
    operand->passive = 0;
    if (var->kind == CAD_ARRAY) {
        operand->ndim = var->view->ndim;
        operand->shape = CAD_SHAPE(var->view);
        operand->passive = cad_array_is_constant(var);
        for (int i = 0; i < operand->ndim; i++) {
            operand->strides[i] = CAD_STRIDES(var->view)[i];
        }
    }
    return 0;
}

int cad_take_operands(CadArrayOperands *all, PyObject *const *operands, int n) {
    all->tape = NULL;
    all->n = all->are_packed = all->are_in_order = 0;
    for (int i = 0; i < n; i++) {
        const int status = cad_take_operand(all, operands[i]);
        if (status != 0) {
            cad_release_operands(all);
            return status;
        }
    }
    if (all->tape == NULL) { /* Vars that are on no tape, with plain arrays */
        all->tape = cad_current_tape();
    }
    return all->tape == NULL ? -1 : 0;
}

int cad_settle_precision(CadOp op, CadArrayOperands *all) {
    const int first = op == CAD_OP_where; /* the condition chooses, and is no number */
    CadPrecision most = CAD_WEAK;
    for (int i = first; i < all->n; i++) {
        most = all->of[i].precision > most ? all->of[i].precision : most;
    }
    if (op != CAD_OP_single && most != CAD_FITS_SINGLE) {
        return 0;
    }
    for (int i = first; i < all->n; i++) {
        if (all->of[i].precision == CAD_WEAK && all->of[i].kept == NULL) {
            all->of[i].number = (double)(float)all->of[i].number;
        }
    }
    return 1;
}

/* Copy an array to slots of its own; many floats, if they are `packed`, as they are. The tape is
 * pinned. */
static int put_array(CadTape *tape, PyArrayObject *array, int may_change, int packed,
                     CadSlot *slot) {
    const npy_intp size = PyArray_SIZE(array);
    if (cad_check(cad_tape_block(tape, (size_t)size, may_change, slot)) < 0) {
        return -1;
    }
    double *const values = tape->values + *slot;
    if (packed && PyArray_TYPE(array) == NPY_FLOAT && PyArray_IS_C_CONTIGUOUS(array) &&
        cad_tape_pack(tape, *slot, (size_t)size, PyArray_DATA(array))) {
        return 0;
    }
    if (PyArray_IS_C_CONTIGUOUS(array) && PyArray_TYPE(array) == NPY_DOUBLE &&
        PyArray_ISBEHAVED_RO(array)) {
        memcpy(values, PyArray_DATA(array), (size_t)size * sizeof(double));
        return 0;
    }
    PyObject *place = PyArray_New(&PyArray_Type, PyArray_NDIM(array), PyArray_DIMS(array),
                                  NPY_DOUBLE, NULL, values, 0, NPY_ARRAY_CARRAY, NULL);
    const int copied = place == NULL ? -1 : PyArray_CopyInto((PyArrayObject *)place, array);
    Py_XDECREF(place);
    return copied;
}

int cad_put_operands(CadArrayOperands *all) {
    for (int i = 0; i < all->n; i++) {
        CadArrayOperand *operand = &all->of[i];
        if (operand->var != NULL) {
            operand->slot = operand->var->slot;
            continue;
        }
        CadSlot slot = 0;
        if (operand->kept != NULL) {
            PyArrayObject *const array = (PyArrayObject *)operand->kept;
            if (put_array(all->tape, array, 0, all->are_packed, &slot) < 0) {
                return -1;
            }
        } else if (cad_check(cad_tape_ensure(all->tape)) < 0) {
            return -1;
        } else {
            slot = cad_tape_constant(all->tape, operand->number);
        }
        operand->slot = slot;
    }
    return 0;
}

PyObject *cad_array_constant(CadTape *tape, PyObject *values) {
    PyArrayObject *array = (PyArrayObject *)values;
    const int is_single = PyArray_TYPE(array) == NPY_FLOAT;
    if (PyArray_NDIM(array) == 0 && !is_single) {
        PyObject *number = PyNumber_Float(values);
        PyObject *var = number == NULL ? NULL : cad_var_passive(PyFloat_AS_DOUBLE(number));
        Py_XDECREF(number);
        return var;
    }
    PyObject *var = NULL;
    if (cad_pin(tape) == 0) {
        CadSlot slot;
        if (put_array(tape, array, 1, 0, &slot) == 0) {
            var = cad_var_view(tape, slot, PyArray_NDIM(array), PyArray_DIMS(array), NULL,
                               CAD_CONSTANT | (is_single ? CAD_SINGLE : 0));
        }
        cad_tape_unpin(tape);
    }
    return var;
}

/* --- broadcasting --- */

static int refuse_shapes(const CadArrayOperands *all) {
    PyObject *shapes[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; i++) {
        shapes[i] = i < all->n ? cad_shape_tuple(all->of[i].ndim, all->of[i].shape)
                               : PyUnicode_FromString("");
    }
    if (shapes[0] != NULL && shapes[1] != NULL && shapes[2] != NULL) {
        PyErr_Format(PyExc_ValueError,
                     "operands could not be broadcast together with shapes %S %S %S", shapes[0],
                     shapes[1], shapes[2]);
    }
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(shapes[i]);
    }
    return -1;
}

int cad_broadcast(const CadArrayOperands *all, CadShape *shape) {
    shape->ndim = 0;
    shape->size = 1;
    for (int i = 0; i < all->n; i++) {
        shape->ndim = all->of[i].ndim > shape->ndim ? all->of[i].ndim : shape->ndim;
    }
    for (int axis = 0; axis < shape->ndim; axis++) {
        npy_intp length = 1;
        for (int i = 0; i < all->n; i++) {
            const int own = axis - (shape->ndim - all->of[i].ndim);
            const npy_intp here = own < 0 ? 1 : all->of[i].shape[own];
            if (here != 1 && length != 1 && here != length) {
                return refuse_shapes(all);
            }
            length = here != 1 ? here : length;
        }
        shape->of[axis] = shape->wide[axis] = length;
        shape->size *= length;
    }
    return 0;
}
