/* Arrays of Vars: what an operation on them appends to the tape.
 *
 * This room finds out which shapes and strides take part, as NumPy's rules of broadcasting and
 * indexing have it; what happens at those places is the business of src/arrays.h. */
#include "_numbers.h"

#include "arrays.h"
#include "kernels.h"

/* --- operands --- */

/* One operand of an operation: a number or an array, on the tape or about to be put there. */
typedef struct Operand {
    CadVar *var;    /* NULL if it is plain */
    PyObject *kept; /* what has to be released: a converted array */
    int ndim;
    const npy_intp *shape;
    int64_t slot;
    int64_t strides[NPY_MAXDIMS]; /* by the axes of the operand itself */
    int passive;
    double number; /* if it is plain, and not an array */
} Operand;

typedef struct Operands {
    CadTape *tape;
    int n;
    Operand of[3];
} Operands;

static void release(Operands *all) {
    for (int i = 0; i < all->n; i++) {
        Py_CLEAR(all->of[i].kept);
    }
}

static int refuse_threads(void) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Vars of two threads do not mix: each thread records on a tape of its own; "
                    "pass values between threads (cadiff.value(v))");
    return -1;
}

/* An array of real numbers as one of float64. 1 if it is none: an array of objects, say. */
static int take_array(Operand *operand, PyObject *object) {
    if (cad_check_array(object) < 0) {
        return -1;
    }
    const int type = PyArray_TYPE((PyArrayObject *)object);
    if (type == NPY_DOUBLE && PyArray_ISBEHAVED_RO((PyArrayObject *)object)) {
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
    operand->passive = 1;
    return 0;
}

/* Whether nothing that carries a derivative was ever written to an array. */
static int is_constant(const CadVar *var) {
    return var->view->flags & CAD_CONSTANT && cad_tape_is_constant(var->tape, var->slot);
}

/* 0, -1 with an exception, 1 if it is no plain number, array or Var. */
static int take_operand(Operands *all, PyObject *object) {
    Operand *operand = &all->of[all->n++];
    memset(operand, 0, offsetof(Operand, strides));
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
        return class < 0 ? -1 : class != CAD_PLAIN;
    }
    CadVar *var = CAD_VAR(object);
    if (var->kind == CAD_STALE) {
        return cad_raise_stale();
    }
    if (var->kind == CAD_PASSIVE) {
        operand->number = var->value;
        return 0;
    }
    if (all->tape != NULL && all->tape != var->tape) {
        return refuse_threads();
    }
    all->tape = var->tape;
    operand->var = var;
    operand->passive = 0;
    if (var->kind == CAD_ARRAY) {
        operand->ndim = var->view->ndim;
        operand->shape = CAD_SHAPE(var->view);
        operand->passive = is_constant(var);
        for (int i = 0; i < operand->ndim; i++) {
            operand->strides[i] = CAD_STRIDES(var->view)[i];
        }
    }
    return 0;
}

/* Copy an array to slots of its own. */
static int put_array(CadTape *tape, Operand *operand, PyArrayObject *array, int may_change) {
    const npy_intp size = PyArray_SIZE(array);
    CadSlot slot;
    const CadStatus status = cad_tape_block(tape, (size_t)size, may_change, &slot);
    if (status != CAD_OK) {
        return cad_raise_status(status);
    }
    int copied = 0;
    if (PyArray_IS_C_CONTIGUOUS(array) && PyArray_TYPE(array) == NPY_DOUBLE &&
        PyArray_ISBEHAVED_RO(array)) {
        memcpy(tape->values + slot, PyArray_DATA(array), (size_t)size * sizeof(double));
    } else {
        PyObject *place =
            PyArray_New(&PyArray_Type, PyArray_NDIM(array), PyArray_DIMS(array), NPY_DOUBLE, NULL,
                        tape->values + slot, 0, NPY_ARRAY_CARRAY, NULL);
        copied = place == NULL ? -1 : PyArray_CopyInto((PyArrayObject *)place, array);
        Py_XDECREF(place);
    }
    operand->slot = slot;
    int64_t stride = 1;
    for (int i = operand->ndim; i-- > 0;) {
        operand->strides[i] = stride;
        stride *= operand->shape[i];
    }
    return copied;
}

/* Give every operand its slot. The tape is pinned. */
static int put_operands(Operands *all) {
    for (int i = 0; i < all->n; i++) {
        Operand *operand = &all->of[i];
        if (operand->var != NULL) {
            operand->slot = operand->var->slot;
        } else if (operand->kept != NULL) {
            if (put_array(all->tape, operand, (PyArrayObject *)operand->kept, 0) < 0) {
                return -1;
            }
        } else {
            const CadStatus status = cad_tape_ensure(all->tape);
            if (status != CAD_OK) {
                return cad_raise_status(status);
            }
            operand->slot = cad_tape_constant(all->tape, operand->number);
        }
    }
    return 0;
}

/* Let the tape reclaim what it has to before slots are taken down, and no more until unpinned. */
static int pin(CadTape *tape) {
    const CadStatus status = cad_tape_ensure(tape);
    if (status != CAD_OK) {
        return cad_raise_status(status);
    }
    cad_tape_pin(tape);
    return 0;
}

/* --- broadcasting --- */

typedef struct Shape {
    int ndim;
    npy_intp size;
    npy_intp of[NPY_MAXDIMS];
    int64_t wide[NPY_MAXDIMS];
} Shape;

static PyObject *shape_tuple(int ndim, const npy_intp *shape) {
    PyObject *tuple = PyTuple_New(ndim);
    for (int i = 0; tuple != NULL && i < ndim; i++) {
        PyObject *length = PyLong_FromSsize_t(shape[i]);
        if (length == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, i, length);
    }
    return tuple;
}

static int refuse_shapes(const Operands *all) {
    PyObject *shapes[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; i++) {
        shapes[i] =
            i < all->n ? shape_tuple(all->of[i].ndim, all->of[i].shape) : PyUnicode_FromString("");
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

/* The common shape of operands, without the last `core` axes of each. */
static int broadcast(const Operands *all, int core, Shape *shape) {
    shape->ndim = 0;
    shape->size = 1;
    for (int i = 0; i < all->n; i++) {
        const int ndim = all->of[i].ndim - core;
        shape->ndim = ndim > shape->ndim ? ndim : shape->ndim;
    }
    for (int axis = 0; axis < shape->ndim; axis++) {
        npy_intp length = 1;
        for (int i = 0; i < all->n; i++) {
            const int own = axis - (shape->ndim - (all->of[i].ndim - core));
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

/* The strides of an operand along the axes of the common shape: 0 where it is repeated. */
static void spread(const Operand *operand, int core, const Shape *shape, int64_t *strides) {
    const int first = shape->ndim - (operand->ndim - core);
    for (int axis = 0; axis < shape->ndim; axis++) {
        const int own = axis - first;
        strides[axis] = own < 0 || operand->shape[own] == 1 ? 0 : operand->strides[own];
    }
}

static void contiguous(const Shape *shape, int64_t *strides) {
    int64_t stride = 1;
    for (int axis = shape->ndim; axis-- > 0;) {
        strides[axis] = stride;
        stride *= shape->wide[axis];
    }
}

static PyObject *make_view(CadTape *tape, CadSlot out, int ndim, const npy_intp *shape,
                           size_t slots, int passive) {
    if (passive && ndim == 0) {
        return cad_var_passive(tape->values[out]);
    }
    if (!passive) {
        return cad_var_view(tape, out, ndim, shape, NULL, 0);
    }
    if (slots >= CAD_LARGE_BLOCK) { /* noted already, as any block that large */
        tape->blocks[tape->n_blocks - 1].constant = 1;
    } else {
        const CadStatus status = cad_tape_note_block(tape, out, out + slots, CAD_CONSTANTS);
        if (status != CAD_OK) {
            cad_raise_status(status);
            return NULL;
        }
    }
    return cad_var_view(tape, out, ndim, shape, NULL, CAD_CONSTANT);
}

/* The same after who watches the tape has had a look. */
static PyObject *show_view(CadTape *tape, CadSlot out, int ndim, const npy_intp *shape,
                           size_t slots, int passive) {
    const CadStatus status = tape->watch->array(tape->watch->holder, ndim, shape);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    return make_view(tape, out, ndim, shape, slots, passive);
}

/* The handle of what an entry wrote. What comes of constants alone is constant. */
static PyObject *result_view(CadTape *tape, CadSlot out, int ndim, const npy_intp *shape,
                             size_t slots, int passive) {
    return tape->watch == NULL ? make_view(tape, out, ndim, shape, slots, passive)
                               : show_view(tape, out, ndim, shape, slots, passive);
}

/* An array without elements, which needs no entry. */
static PyObject *empty(CadTape *tape, const Shape *shape) {
    CadSlot slot;
    const CadStatus status = cad_tape_block(tape, 0, 1, &slot);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    return cad_var_view(tape, slot, shape->ndim, shape->of, NULL, CAD_CONSTANT);
}

/* --- elementwise operations --- */

static PyObject *record_row(CadOp op, Operands *all, const Shape *shape) {
    int64_t strides[4][NPY_MAXDIMS];
    CadRequest request = {.op = op,
                          .ndim = shape->ndim,
                          .shape = shape->wide,
                          .n_views = all->n + 1,
                          .slots = (size_t)shape->size,
                          .index = -1};
    if (put_operands(all) < 0) {
        return NULL;
    }
    contiguous(shape, strides[0]);
    request.views[0] = (CadPlace){CAD_OWN, strides[0]};
    int passive = 1;
    for (int i = 0; i < all->n; i++) {
        spread(&all->of[i], 0, shape, strides[i + 1]);
        request.views[i + 1] = (CadPlace){all->of[i].slot, strides[i + 1]};
        request.passive |= (uint32_t)(all->of[i].passive != 0) << (i + 1);
        passive = passive && all->of[i].passive;
    }
    CadSlot out;
    const CadStatus status = cad_array_push(all->tape, &request, &out);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    return result_view(all->tape, out, shape->ndim, shape->of, request.slots, passive);
}

/* Take all operands; NULL-like answers as for take_operand. */
static int take_operands(Operands *all, PyObject *const *operands, int n) {
    all->tape = NULL;
    all->n = 0;
    for (int i = 0; i < n; i++) {
        const int status = take_operand(all, operands[i]);
        if (status != 0) {
            release(all);
            return status;
        }
    }
    if (all->tape == NULL) { /* Vars that are on no tape, with plain arrays */
        all->tape = cad_current_tape();
    }
    return all->tape == NULL ? -1 : 0;
}

PyObject *cad_array_apply(CadOp op, PyObject *const *operands, int n) {
    if (op == CAD_OP_multiply && operands[0] == operands[1]) {
        return cad_array_apply(CAD_OP_square, operands, 1); /* one partial to hand on, not two */
    }
    Operands all;
    Shape shape;
    if (take_operands(&all, operands, n) != 0) {
        return NULL;
    }
    PyObject *result = NULL;
    if (broadcast(&all, 0, &shape) == 0 && pin(all.tape) == 0) {
        result = shape.size == 0 ? empty(all.tape, &shape) : record_row(op, &all, &shape);
        cad_tape_unpin(all.tape);
    }
    release(&all);
    return result;
}

PyObject *cad_array_copy(CadVar *var) {
    PyObject *operand = (PyObject *)var;
    return cad_array_apply(CAD_OP_positive, &operand, 1);
}

/* --- matrix products --- */

static int refuse_matmul(const Operands *all) {
    PyObject *left = shape_tuple(all->of[0].ndim, all->of[0].shape);
    PyObject *right = shape_tuple(all->of[1].ndim, all->of[1].shape);
    if (left != NULL && right != NULL) {
        PyErr_Format(PyExc_ValueError,
                     all->of[0].ndim == 0 || all->of[1].ndim == 0
                         ? "matmul: an operand is a single number, shapes %S and %S: use *"
                         : "matmul: the last axis of the first operand and the second to last of "
                           "the second one differ in length: shapes %S and %S",
                     left, right);
    }
    Py_XDECREF(left);
    Py_XDECREF(right);
    return -1;
}

/* A vector as a matrix of one row, or of one column. */
static void as_matrix(Operand *operand, npy_intp *shape, int column) {
    const int64_t stride = operand->strides[0];
    shape[column] = 1;
    shape[!column] = operand->shape[0];
    operand->strides[column] = 0;
    operand->strides[!column] = stride;
    operand->shape = shape;
    operand->ndim = 2;
}

static PyObject *record_matmul(Operands *all) {
    Operand *x = &all->of[0], *y = &all->of[1];
    if (x->ndim == 0 || y->ndim == 0) {
        refuse_matmul(all);
        return NULL;
    }
    if (put_operands(all) < 0) {
        return NULL;
    }
    npy_intp row[2], column[2];
    const int is_row = x->ndim == 1, is_column = y->ndim == 1;
    if (is_row) {
        as_matrix(x, row, 0);
    }
    if (is_column) {
        as_matrix(y, column, 1);
    }
    const npy_intp m = x->shape[x->ndim - 2], n = x->shape[x->ndim - 1];
    const npy_intp p = y->shape[y->ndim - 1];
    if (y->shape[y->ndim - 2] != n) {
        refuse_matmul(all);
        return NULL;
    }
    Shape shape;
    if (broadcast(all, 2, &shape) < 0) {
        return NULL;
    }
    /* The plan has three axes more: rows, inner length, columns. */
    const int stack = shape.ndim;
    int64_t strides[3][NPY_MAXDIMS + 3];
    int64_t lengths[NPY_MAXDIMS + 3];
    spread(x, 2, &shape, strides[1]);
    spread(y, 2, &shape, strides[2]);
    int64_t size = m * p;
    for (int axis = stack; axis-- > 0;) {
        lengths[axis] = shape.of[axis];
        strides[0][axis] = size;
        size *= shape.of[axis];
    }
    const int64_t *xs = x->strides + x->ndim - 2, *ys = y->strides + y->ndim - 2;
    const int64_t core[4][3] = {{m, n, p}, {p, 0, 1}, {xs[0], xs[1], 0}, {0, ys[0], ys[1]}};
    for (int i = 0; i < 3; i++) {
        lengths[stack + i] = core[0][i];
        for (int k = 0; k < 3; k++) {
            strides[k][stack + i] = core[k + 1][i];
        }
    }
    /* A vector's axis is not one of the result. */
    Shape result = shape;
    if (!is_row) {
        result.of[result.ndim++] = m;
    }
    if (!is_column) {
        result.of[result.ndim++] = p;
    }
    if (result.ndim > NPY_MAXDIMS || stack + 3 > NPY_MAXDIMS) {
        PyErr_Format(PyExc_ValueError, "matmul: at most %d axes are possible", NPY_MAXDIMS - 3);
        return NULL;
    }
    if (size == 0 || n == 0) {
        PyObject *zeros = PyArray_ZEROS(result.ndim, result.of, NPY_DOUBLE, 0);
        PyObject *var = zeros == NULL ? NULL : cad_array_constant(all->tape, zeros);
        Py_XDECREF(zeros);
        return var;
    }
    const CadRequest request = {
        .op = CAD_OP_MATMUL,
        .passive = (uint32_t)((x->passive != 0) << 1 | (y->passive != 0) << 2),
        .ndim = stack + 3,
        .shape = lengths,
        .n_views = 3,
        .views = {{CAD_OWN, strides[0]}, {x->slot, strides[1]}, {y->slot, strides[2]}},
        .slots = (size_t)size,
        .index = -1,
    };
    CadSlot out;
    const CadStatus status = cad_array_push(all->tape, &request, &out);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    return result_view(all->tape, out, result.ndim, result.of, request.slots,
                       x->passive && y->passive);
}

PyObject *cad_array_matmul(PyObject *left, PyObject *right) {
    PyObject *const operands[2] = {left, right};
    Operands all;
    if (take_operands(&all, operands, 2) != 0) {
        return NULL;
    }
    PyObject *result = NULL;
    if (pin(all.tape) == 0) {
        result = record_matmul(&all);
        cad_tape_unpin(all.tape);
    }
    release(&all);
    return result;
}

/* --- sums --- */

/* Mark the axes that are named; -1 with an exception. */
static int mark_axes(PyObject *axis, int ndim, char *marked) {
    memset(marked, axis == Py_None, (size_t)ndim);
    if (axis == Py_None) {
        return 0;
    }
    PyObject *axes = PyTuple_Check(axis) ? Py_NewRef(axis) : PyTuple_Pack(1, axis);
    int status = axes == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_GET_SIZE(axes); i++) {
        const Py_ssize_t given = PyNumber_AsSsize_t(PyTuple_GET_ITEM(axes, i), PyExc_IndexError);
        const Py_ssize_t k = given < 0 ? given + ndim : given;
        if (given == -1 && PyErr_Occurred()) {
            status = -1;
        } else if (k < 0 || k >= ndim) {
            PyErr_Format(PyExc_IndexError, "axis %zd is out of bounds for an array of %d axes",
                         given, ndim);
            status = -1;
        } else if (marked[k]) {
            PyErr_SetString(PyExc_ValueError, "duplicate value in 'axis'");
            status = -1;
        } else {
            marked[k] = 1;
        }
    }
    Py_XDECREF(axes);
    return status;
}

PyObject *cad_array_sum(CadVar *var, PyObject *axis, int keepdims) {
    if (var->kind == CAD_STALE) {
        cad_raise_stale();
        return NULL;
    }
    char marked[NPY_MAXDIMS];
    const CadView *view = var->view;
    if (mark_axes(axis, view->ndim, marked) < 0) {
        return NULL;
    }
    int64_t lengths[NPY_MAXDIMS], to[NPY_MAXDIMS], from[NPY_MAXDIMS];
    npy_intp shape[NPY_MAXDIMS];
    int ndim = 0;
    int64_t size = 1;
    for (int i = view->ndim; i-- > 0;) {
        lengths[i] = CAD_SHAPE(view)[i];
        from[i] = CAD_STRIDES(view)[i];
        to[i] = marked[i] ? 0 : size;
        size *= marked[i] ? 1 : lengths[i];
    }
    for (int i = 0; i < view->ndim; i++) {
        if (!marked[i] || keepdims) {
            shape[ndim++] = marked[i] ? 1 : CAD_SHAPE(view)[i];
        }
    }
    CadTape *tape = var->tape;
    if (view->size == 0) {
        PyObject *zeros = PyArray_ZEROS(ndim, shape, NPY_DOUBLE, 0);
        PyObject *sum = zeros == NULL ? NULL : cad_array_constant(tape, zeros);
        Py_XDECREF(zeros);
        return sum;
    }
    if (pin(tape) < 0) {
        return NULL;
    }
    const int passive = is_constant(var);
    const CadRequest request = {
        .op = CAD_OP_SUM,
        .passive = (uint32_t)passive << 1,
        .ndim = view->ndim,
        .shape = lengths,
        .n_views = 2,
        .views = {{CAD_OWN, to}, {var->slot, from}},
        .slots = (size_t)size,
        .index = -1,
    };
    CadSlot out;
    const CadStatus status = cad_array_push(tape, &request, &out);
    PyObject *result = NULL;
    if (status != CAD_OK) {
        cad_raise_status(status);
    } else {
        result = result_view(tape, out, ndim, shape, request.slots, passive);
    }
    cad_tape_unpin(tape);
    return result;
}

/* --- constants --- */

PyObject *cad_array_constant(CadTape *tape, PyObject *values) {
    PyArrayObject *array = (PyArrayObject *)values;
    if (PyArray_NDIM(array) == 0) {
        PyObject *number = PyNumber_Float(values);
        PyObject *var = number == NULL ? NULL : cad_var_passive(PyFloat_AS_DOUBLE(number));
        Py_XDECREF(number);
        return var;
    }
    Operand operand = {.ndim = PyArray_NDIM(array), .shape = PyArray_DIMS(array)};
    PyObject *var = NULL;
    if (pin(tape) == 0) {
        if (put_array(tape, &operand, array, 1) == 0) {
            var = cad_var_view(tape, (CadSlot)operand.slot, operand.ndim, operand.shape, NULL,
                               CAD_CONSTANT);
        }
        cad_tape_unpin(tape);
    }
    return var;
}

/* --- indexing by arrays --- */

/* Of every element its slot, counted from `low`: as an array of the Var's shape, which NumPy then
 * indexes. */
static PyObject *slot_numbers(const CadVar *var, size_t low) {
    const CadView *view = var->view;
    npy_intp strides[NPY_MAXDIMS];
    size_t begin, end;
    cad_var_bounds(var, &begin, &end);
    PyObject *numbers =
        PyArray_Arange((double)(begin - low), (double)(end - low + 1), 1.0, NPY_INT64);
    if (numbers == NULL) {
        return NULL;
    }
    for (int i = 0; i < view->ndim; i++) {
        strides[i] = CAD_STRIDES(view)[i] * (npy_intp)sizeof(npy_int64);
    }
    npy_int64 *data = (npy_int64 *)PyArray_DATA((PyArrayObject *)numbers) + (var->slot - begin);
    PyObject *array = PyArray_New(&PyArray_Type, view->ndim, CAD_SHAPE(view), NPY_INT64, strides,
                                  data, 0, 0, NULL);
    if (array == NULL || PyArray_SetBaseObject((PyArrayObject *)array, numbers) < 0) {
        Py_XDECREF(array);
        return NULL; /* the base was taken over in any case but the first */
    }
    return array;
}

/* The offsets that a key names, as a C-contiguous array of int64. */
static PyArrayObject *offsets_of(const CadVar *var, PyObject *key, size_t low) {
    PyObject *numbers = slot_numbers(var, low);
    PyObject *part = numbers == NULL ? NULL : PyObject_GetItem(numbers, key);
    Py_XDECREF(numbers);
    PyObject *offsets =
        part == NULL ? NULL : PyArray_FROMANY(part, NPY_INT64, 0, 0, NPY_ARRAY_CARRAY_RO);
    Py_XDECREF(part);
    return (PyArrayObject *)offsets;
}

/* Copy offsets to slots of their own. The tape is pinned. */
static int put_offsets(CadTape *tape, PyArrayObject *offsets, CadSlot *slot) {
    const size_t size = (size_t)PyArray_SIZE(offsets);
    const CadStatus status = cad_tape_block(tape, size, 0, slot);
    if (status != CAD_OK) {
        return cad_raise_status(status);
    }
    memcpy(tape->values + *slot, PyArray_DATA(offsets), size * sizeof(npy_int64));
    return 0;
}

PyObject *cad_array_gather(CadVar *var, PyObject *key) {
    CadTape *tape = var->tape;
    size_t low, high;
    PyObject *result = NULL;
    if (pin(tape) < 0) {
        return NULL;
    }
    cad_var_bounds(var, &low, &high);
    PyArrayObject *offsets = offsets_of(var, key, low);
    CadSlot index, out;
    if (offsets != NULL && PyArray_SIZE(offsets) == 0) {
        Shape shape = {.ndim = PyArray_NDIM(offsets)};
        memcpy(shape.of, PyArray_DIMS(offsets), (size_t)shape.ndim * sizeof *shape.of);
        result = empty(tape, &shape);
    } else if (offsets != NULL && put_offsets(tape, offsets, &index) == 0) {
        const int64_t size = PyArray_SIZE(offsets), stride = 1;
        const int passive = is_constant(var);
        const CadRequest request = {
            .op = CAD_OP_GATHER,
            .passive = (uint32_t)passive << 1,
            .ndim = 1,
            .shape = &size,
            .n_views = 1,
            .views = {{CAD_OWN, &stride}},
            .slots = (size_t)size,
            .index = index,
            .extra = {(int64_t)low, (int64_t)high},
        };
        const CadStatus status = cad_array_push(tape, &request, &out);
        if (status != CAD_OK) {
            cad_raise_status(status);
        } else {
            result = result_view(tape, out, PyArray_NDIM(offsets), PyArray_DIMS(offsets),
                                 request.slots, passive);
        }
    }
    Py_XDECREF(offsets);
    cad_tape_unpin(tape);
    return result;
}

/* --- assignment --- */

/* Whether an array may be assigned to; else -1 with an exception. */
static int check_target(const CadVar *var) {
    CadBlock *block = cad_tape_find_block(var->tape, var->slot);
    const char *why = NULL;
    if (var->view->flags & CAD_LEAF) {
        why = "a Var made from plain numbers is not assigned to, so that its .grad belongs to the "
              "numbers that it was made from: assign to a copy, y = x.copy(), or make a new Var";
    } else if (var->slot < var->tape->mark_slots) {
        why = "an array that was made outside of the function that is being differentiated is not "
              "assigned to inside of it: make the array inside, or assign to a copy, y = y.copy()";
    } else if (var->view->flags & CAD_INPUT && block != NULL && block->singly) {
        why = "an argument whose single elements were taken, x[i], is not assigned to afterwards: "
              "begin with a copy, x = x.copy()";
    }
    if (why != NULL) {
        PyErr_SetString(PyExc_TypeError, why);
        return -1;
    }
    int frozen = (var->view->flags & CAD_FROZEN) != 0;
    for (int i = 0; i < var->view->ndim && var->view->size > 0; i++) {
        frozen = frozen || (CAD_STRIDES(var->view)[i] == 0 && CAD_SHAPE(var->view)[i] > 1);
    }
    if (frozen) {
        PyErr_SetString(
            PyExc_ValueError,
            "assignment destination is read-only: it is a diagonal, or a view in which "
            "elements are repeated; assign to a copy");
        return -1;
    }
    if (var->view->flags & CAD_INPUT && block != NULL) {
        block->changed = 1;
    }
    return 0;
}

PyObject *cad_numbers_of(PyObject *value) {
    const int objects = PyArray_Check(value) && PyArray_TYPE((PyArrayObject *)value) == NPY_OBJECT;
    if (!objects && !PyList_Check(value) && !PyTuple_Check(value)) {
        return Py_NewRef(value);
    }
    PyObject *array = PyArray_FROM_O(value);
    if (array != NULL && PyArray_TYPE((PyArrayObject *)array) == NPY_OBJECT) {
        Py_SETREF(array, cad_gather_numbers(array));
    }
    return array;
}

/* What is to be assigned, as a Var or a plain array or number that does not overlap the target. */
static PyObject *source_for(CadVar *target, PyObject *value) {
    if (!CAD_IS_VAR_ARRAY(value) || CAD_VAR(value)->kind != CAD_ARRAY) {
        return Py_NewRef(value);
    }
    size_t low, high, first, last;
    cad_var_bounds(target, &low, &high);
    cad_var_bounds(CAD_VAR(value), &first, &last);
    return last < low || first > high ? Py_NewRef(value) : cad_array_copy(CAD_VAR(value));
}

/* What is assigned must fit the shape; leading axes of length 1 are dropped, as by NumPy. */
static int fit(Operands *all, int ndim, const npy_intp *shape) {
    Operand *source = &all->of[0];
    while (source->ndim > ndim && source->shape[0] == 1) {
        source->shape++;
        source->ndim--;
        memmove(source->strides, source->strides + 1,
                (size_t)source->ndim * sizeof *source->strides);
    }
    for (int i = 0; i < source->ndim; i++) {
        const npy_intp here = source->shape[source->ndim - 1 - i];
        if (source->ndim > ndim || (here != 1 && here != shape[ndim - 1 - i])) {
            PyObject *from = shape_tuple(source->ndim, source->shape);
            PyObject *to = shape_tuple(ndim, shape);
            PyErr_Format(PyExc_ValueError,
                         "could not broadcast input array from shape %S into shape %S", from, to);
            Py_XDECREF(from);
            Py_XDECREF(to);
            return -1;
        }
    }
    return 0;
}

static void fill_shape(Shape *shape, int ndim, const npy_intp *lengths) {
    shape->ndim = ndim;
    shape->size = 1;
    for (int i = 0; i < ndim; i++) {
        shape->of[i] = shape->wide[i] = lengths[i];
        shape->size *= lengths[i];
    }
}

static int push(CadTape *tape, const CadRequest *request) {
    CadSlot out;
    const CadStatus status = cad_array_push(tape, request, &out);
    return status == CAD_OK ? 0 : cad_raise_status(status);
}

/* Assign to a view. The source's strides and slot are set. */
static int assign_view(CadTape *tape, const Operand *source, CadSlot slot, const Shape *shape,
                       const int64_t *strides) {
    int64_t from[NPY_MAXDIMS];
    spread(source, 0, shape, from);
    const CadRequest request = {
        .op = CAD_OP_ASSIGN,
        .passive = (uint32_t)(source->passive != 0) << 1,
        .ndim = shape->ndim,
        .shape = shape->wide,
        .n_views = 2,
        .views = {{slot, strides}, {source->slot, from}},
        .slots = (size_t)shape->size,
        .index = -1,
    };
    return push(tape, &request);
}

/* Assign one number: an entry of the scalar kind. */
static int assign_number(CadTape *tape, const Operand *source, CadSlot slot) {
    const CadStatus status = cad_tape_ensure(tape);
    if (status != CAD_OK) {
        return cad_raise_status(status);
    }
    cad_tape_use_singly(tape, slot);
    const int passive = source->passive ? CAD_PASSIVE_B : 0;
    cad_tape_push(tape, CAD_CODE(CAD_OP_ASSIGN, passive), slot, (CadSlot)source->slot,
                  tape->values[slot]);
    tape->values[slot] = tape->values[source->slot];
    tape->n_assigned++;
    return 0;
}

/* Assign to the elements that offsets name, one after the other. */
static int assign_scattered(CadVar *var, Operands *all, PyArrayObject *offsets, size_t low,
                            size_t high) {
    CadTape *tape = var->tape;
    Operand *source = &all->of[0];
    Shape shape;
    fill_shape(&shape, PyArray_NDIM(offsets), PyArray_DIMS(offsets));
    int64_t strides[NPY_MAXDIMS], own[NPY_MAXDIMS];
    spread(source, 0, &shape, strides);
    contiguous(&shape, own);
    int64_t stride = source->ndim == 0 ? 0 : 1;
    if (source->ndim > 0) { /* a copy in the order of the offsets */
        const CadRequest copy = {
            .op = CAD_OP_positive,
            .passive = (uint32_t)(source->passive != 0) << 1,
            .ndim = shape.ndim,
            .shape = shape.wide,
            .n_views = 2,
            .views = {{CAD_OWN, own}, {source->slot, strides}},
            .slots = (size_t)shape.size,
            .index = -1,
        };
        CadSlot out;
        const CadStatus status = cad_array_push(tape, &copy, &out);
        if (status != CAD_OK) {
            return cad_raise_status(status);
        }
        source->slot = out;
    }
    CadSlot index;
    if (put_offsets(tape, offsets, &index) < 0) {
        return -1;
    }
    const int64_t size = shape.size;
    const CadRequest request = {
        .op = CAD_OP_SCATTER,
        .passive = source->passive != 0,
        .ndim = 1,
        .shape = &size,
        .n_views = 1,
        .views = {{source->slot, &stride}},
        .slots = (size_t)shape.size,
        .index = index,
        .extra = {(int64_t)low, (int64_t)high},
    };
    return push(tape, &request);
}

/* The target of an assignment, by NumPy's rules: an array over the values if it is a view. */
static PyObject *target_of(CadVar *var, PyObject *key) {
    PyObject *tail = PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
    PyObject *whole = tail;
    int ellipsis = 0;
    for (Py_ssize_t i = 0; tail != NULL && i < PyTuple_GET_SIZE(tail); i++) {
        ellipsis = ellipsis || PyTuple_GET_ITEM(tail, i) == Py_Ellipsis;
    }
    if (tail != NULL && !ellipsis) { /* so that a single element is a view as well */
        PyObject *end = PyTuple_Pack(1, Py_Ellipsis);
        whole = end == NULL ? NULL : PySequence_Concat(tail, end);
        Py_XDECREF(end);
        Py_DECREF(tail);
    }
    PyObject *array =
        whole == NULL ? NULL : cad_var_transient(var, var->tape->values, NPY_ARRAY_WRITEABLE);
    PyObject *part = array == NULL ? NULL : PyObject_GetItem(array, whole);
    Py_XDECREF(array);
    Py_XDECREF(whole);
    return part;
}

static int assign(CadVar *var, PyObject *key, Operands *all) {
    CadTape *tape = var->tape;
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    PyObject *part = target_of(var, key);
    if (part == NULL) {
        return -1;
    }
    int status = 0;
    PyArrayObject *target = (PyArrayObject *)part;
    if (PyArray_SIZE(target) == 0) {
        status = fit(all, PyArray_NDIM(target), PyArray_DIMS(target));
    } else if (cad_is_in_values(tape, part)) {
        const CadSlot slot = (CadSlot)((double *)PyArray_DATA(target) - tape->values);
        Shape shape;
        int64_t strides[NPY_MAXDIMS];
        fill_shape(&shape, PyArray_NDIM(target), PyArray_DIMS(target));
        for (int i = 0; i < shape.ndim; i++) {
            strides[i] = PyArray_STRIDE(target, i) / (npy_intp)sizeof(double);
        }
        status = fit(all, shape.ndim, shape.of);
        if (status == 0) {
            status = put_operands(all);
        }
        if (status == 0) {
            status = shape.size == 1 && shape.ndim == 0
                         ? assign_number(tape, &all->of[0], slot)
                         : assign_view(tape, &all->of[0], slot, &shape, strides);
        }
    } else {
        PyArrayObject *offsets = offsets_of(var, key, low);
        status = offsets == NULL ? -1 : fit(all, PyArray_NDIM(offsets), PyArray_DIMS(offsets));
        if (status == 0) {
            status = put_operands(all);
        }
        if (status == 0) {
            status = assign_scattered(var, all, offsets, low, high);
        }
        Py_XDECREF(offsets);
    }
    Py_DECREF(part);
    return status;
}

int cad_array_assign(CadVar *var, PyObject *key, PyObject *value) {
    if (check_target(var) < 0) {
        return -1;
    }
    PyObject *numbers = cad_numbers_of(value);
    PyObject *source = numbers == NULL ? NULL : source_for(var, numbers);
    Py_XDECREF(numbers);
    Operands all = {.tape = var->tape, .n = 0};
    int status = source == NULL ? -1 : take_operand(&all, source);
    if (status > 0 && CAD_IS_DUAL(source)) {
        PyErr_SetString(PyExc_TypeError,
                        "a Dual is assigned to an array of Vars: collect Duals with "
                        "cadiff.array([...]), or assign them to a Dual array, "
                        "cadiff.Dual(np.zeros(shape), tangent); inside of cadiff.jvp, jacfwd and "
                        "derivative cadiff.zeros makes such arrays by itself");
    } else if (status > 0) {
        PyErr_Format(
            PyExc_TypeError,
            "what is assigned to an array of numbers is a real number or an array of real "
            "numbers, with or without derivatives, not %s",
            Py_TYPE(value)->tp_name);
    }
    if (status == 0 && pin(var->tape) == 0) {
        status = assign(var, key, &all);
        cad_tape_unpin(var->tape);
        if (status == 0 && !all.of[0].passive) {
            cad_tape_activate(var->tape, var->slot);
        }
    } else {
        status = -1;
    }
    release(&all);
    Py_XDECREF(source);
    return status;
}

int cad_array_write(CadVar *target, PyObject *value) {
    CadTape *tape = target->tape;
    Operands all = {.tape = tape, .n = 0};
    int status = take_operand(&all, value);
    if (status > 0) {
        PyErr_Format(PyExc_TypeError, "an array of numbers cannot hold %s",
                     Py_TYPE(value)->tp_name);
    }
    const int ndim = CAD_IS_VAR_ARRAY(target) ? target->view->ndim : 0;
    Shape shape = {.ndim = 0, .size = 1};
    if (ndim > 0) {
        fill_shape(&shape, ndim, CAD_SHAPE(target->view));
    }
    status = status == 0 ? fit(&all, ndim, shape.of) : -1;
    if (status == 0 && shape.size > 0 && pin(tape) == 0) {
        int64_t from[NPY_MAXDIMS], to[NPY_MAXDIMS];
        status = put_operands(&all);
        if (status == 0) {
            spread(&all.of[0], 0, &shape, from);
            for (int i = 0; i < ndim; i++) {
                to[i] = CAD_STRIDES(target->view)[i];
            }
            const CadRequest request = {
                .op = CAD_OP_positive,
                .passive = (uint32_t)(all.of[0].passive != 0) << 1,
                .ndim = ndim,
                .shape = shape.wide,
                .n_views = 2,
                .views = {{target->slot, to}, {all.of[0].slot, from}},
                .slots = 1,
                .index = -1,
            };
            status = push(tape, &request);
        }
        cad_tape_unpin(tape);
    }
    release(&all);
    return status;
}

int cad_array_accumulate(CadVar *target, PyObject *value) {
    PyObject *operands[1] = {value};
    Operands all;
    if (take_operands(&all, operands, 1) != 0) {
        return -1;
    }
    CadTape *tape = target->tape;
    int status = pin(tape);
    if (status == 0) {
        status = put_operands(&all);
        Shape shape;
        int64_t from[NPY_MAXDIMS], to[NPY_MAXDIMS];
        fill_shape(&shape, all.of[0].ndim, all.of[0].shape);
        const int ndim = target->kind == CAD_ARRAY ? target->view->ndim : 0;
        if (status == 0 && ndim != shape.ndim) {
            PyErr_SetString(PyExc_SystemError, "cadiff: accumulation of another shape");
            status = -1;
        }
        for (int i = 0; status == 0 && i < ndim; i++) {
            to[i] = CAD_STRIDES(target->view)[i];
        }
        spread(&all.of[0], 0, &shape, from);
        if (status == 0 && shape.size > 0) {
            const CadRequest request = {
                .op = CAD_OP_SUM,
                .passive = (uint32_t)(all.of[0].passive != 0) << 1,
                .ndim = shape.ndim,
                .shape = shape.wide,
                .n_views = 2,
                .views = {{target->slot, to}, {all.of[0].slot, from}},
                .slots = 1,
                .index = -1,
                .extra = {1, 0},
            };
            status = push(tape, &request);
        }
        cad_tape_unpin(tape);
    }
    release(&all);
    return status;
}

int cad_array_add_at(CadVar *target, PyObject *indices, PyObject *value) {
    CadTape *tape = target->tape;
    Operands all = {.tape = tape, .n = 0};
    PyObject *offsets = PyArray_FROMANY(indices, NPY_INT64, 1, 1, NPY_ARRAY_CARRAY_RO);
    int status = offsets == NULL ? -1 : take_operand(&all, value);
    if (status == 0 && pin(tape) == 0) {
        Operand *source = &all.of[0];
        const int64_t size = PyArray_SIZE((PyArrayObject *)offsets);
        const int64_t step = CAD_STRIDES(target->view)[0];
        npy_int64 *offset = PyArray_DATA((PyArrayObject *)offsets);
        size_t low, high;
        cad_var_bounds(target, &low, &high);
        CadSlot index;
        status = put_operands(&all);
        if (status == 0) {
            status = put_offsets(tape, (PyArrayObject *)offsets, &index);
        }
        for (int64_t i = 0; status == 0 && i < size; i++) {
            const int64_t place = (int64_t)target->slot + offset[i] * step - (int64_t)low;
            memcpy(&tape->values[index + i], &place, sizeof place);
        }
        const int64_t stride = source->ndim == 0 ? 0 : source->strides[0];
        if (status == 0 && size > 0) {
            const CadRequest request = {
                .op = CAD_OP_ADD_AT,
                .passive = source->passive != 0,
                .ndim = 1,
                .shape = &size,
                .n_views = 1,
                .views = {{source->slot, &stride}},
                .slots = 1,
                .index = index,
                .extra = {(int64_t)low, (int64_t)high},
            };
            status = push(tape, &request);
        }
        cad_tape_unpin(tape);
    } else {
        status = -1;
    }
    release(&all);
    Py_XDECREF(offsets);
    return status;
}

/* --- views and adjoints --- */

PyObject *cad_var_as_input(PyObject *var) {
    if (CAD_IS_VAR_ARRAY(var)) {
        const CadSlot begin = CAD_VAR(var)->slot;
        const size_t end = begin + (size_t)CAD_VAR(var)->view->size;
        const CadStatus status = cad_tape_note_block(CAD_VAR(var)->tape, begin, end, CAD_ARGUMENT);
        if (status != CAD_OK) {
            cad_raise_status(status);
            return NULL;
        }
        CAD_VAR(var)->view->flags = CAD_INPUT;
    }
    return Py_NewRef(var);
}

PyObject *cad_var_like(const CadVar *var, CadSlot slot) {
    const CadView *view = var->view;
    return cad_var_view(var->tape, slot, view->ndim, CAD_SHAPE(view), CAD_STRIDES(view), 0);
}

PyObject *cad_var_slots(const CadVar *var) {
    if (CAD_IS_VAR_ARRAY(var)) {
        PyObject *numbers = slot_numbers(var, 0);
        PyObject *copy =
            numbers == NULL ? NULL : PyArray_NewCopy((PyArrayObject *)numbers, NPY_CORDER);
        Py_XDECREF(numbers);
        return copy;
    }
    PyObject *slot = PyArray_SimpleNew(0, NULL, NPY_INT64);
    if (slot != NULL) {
        *(npy_int64 *)PyArray_DATA((PyArrayObject *)slot) = var->slot;
    }
    return slot;
}

int cad_var_seed(CadVar *var, PyObject *seed) {
    CadTape *tape = var->tape;
    size_t low, high;
    cad_var_bounds(var, &low, &high);
    cad_tape_prepare_adjoints(tape, low, high);
    if (!CAD_IS_VAR_ARRAY(var)) {
        const double number = PyFloat_AsDouble(seed);
        tape->adjoints[var->slot] += number;
        return number == -1.0 && PyErr_Occurred() ? -1 : 0;
    }
    if (var->view->size == 0) {
        return 0;
    }
    PyObject *slots = cad_var_slots(var);
    PyObject *array =
        slots == NULL ? NULL : PyArray_FROMANY(seed, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO);
    int status = array == NULL ? -1 : 0;
    double *const adjoints = cad_tape_adjoints(tape, var->slot);
    if (status == 0 && PyArray_SIZE((PyArrayObject *)array) != var->view->size) {
        PyErr_SetString(PyExc_ValueError, "a cotangent must have the shape of its output");
        status = -1;
    }
    for (npy_intp i = 0; status == 0 && i < var->view->size; i++) {
        const npy_int64 slot = ((npy_int64 *)PyArray_DATA((PyArrayObject *)slots))[i];
        adjoints[slot] += ((double *)PyArray_DATA((PyArrayObject *)array))[i];
    }
    Py_XDECREF(array);
    Py_XDECREF(slots);
    return status;
}

PyObject *cad_var_adjoint(CadVar *var) {
    return CAD_IS_VAR_ARRAY(var) ? cad_var_grad(var)
                                 : PyFloat_FromDouble(cad_tape_adjoint(var->tape, var->slot));
}

/* --- rules --- */

void cad_restore_exception(PyObject *error) {
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
}

int (*cad_rule_hook)(CadTape *tape, size_t entry);
int (*cad_second_rule_hook)(CadTape *tape, size_t entry, const CadAlong *along);

/* Write an operand behind the others. */
static int64_t *put_operand(int64_t *place, const CadVar *var) {
    const int ndim = CAD_IS_VAR_ARRAY(var) ? var->view->ndim : 0;
    *place++ = var->slot;
    *place++ = ndim;
    for (int i = 0; i < ndim; i++) {
        place[i] = CAD_SHAPE(var->view)[i];
        place[ndim + i] = CAD_STRIDES(var->view)[i];
    }
    return place + 2 * ndim;
}

/* Make a Var of each result: they stand one behind the other. */
static PyObject *put_results(CadTape *tape, CadSlot slot, PyObject *values) {
    PyObject *list = PyList_New(PyList_GET_SIZE(values));
    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(values); i++) {
        PyArrayObject *array = (PyArrayObject *)PyList_GET_ITEM(values, i);
        const size_t size = (size_t)PyArray_SIZE(array);
        memcpy(tape->values + slot, PyArray_DATA(array), size * sizeof(double));
        if (PyArray_NDIM(array) == 0) {
            cad_tape_use_singly(tape, slot);
        }
        PyObject *var =
            cad_var_view(tape, slot, PyArray_NDIM(array), PyArray_DIMS(array), NULL, 0);
        if (var == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, var);
        slot += (CadSlot)size;
    }
    return list;
}

PyObject *cad_record_rule(CadTape *tape, size_t number, PyObject *operands, PyObject *values) {
    size_t words = CAD_PLAN_WORDS + 2, slots = 0;
    const Py_ssize_t n = PyList_GET_SIZE(operands);
    for (Py_ssize_t i = 0; i < n; i++) {
        const CadVar *var = CAD_VAR(PyList_GET_ITEM(operands, i));
        words += 2 + (CAD_IS_VAR_ARRAY(var) ? 2 * (size_t)var->view->ndim : 0);
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); i++) {
        slots += (size_t)PyArray_SIZE((PyArrayObject *)PyList_GET_ITEM(values, i));
    }
    if (pin(tape) < 0) {
        return NULL;
    }
    CadPlan *plan;
    PyObject *result = NULL;
    const CadStatus status =
        cad_tape_push_plan(tape, CAD_CODE(CAD_OP_RULE, 0), slots > 0 ? slots : 1, words, &plan);
    if (status != CAD_OK) {
        cad_raise_status(status);
    } else {
        const uint32_t length = plan->words;
        *plan = (CadPlan){.words = length, .n_extra = length - CAD_PLAN_WORDS, .index = -1};
        int64_t *place = cad_plan_extra(plan);
        *place++ = (int64_t)number;
        *place++ = n;
        for (Py_ssize_t i = 0; i < n; i++) {
            place = put_operand(place, CAD_VAR(PyList_GET_ITEM(operands, i)));
        }
        tape->n_rules++;
        result = put_results(tape, tape->entries[tape->n_entries - 1].out, values);
    }
    cad_tape_unpin(tape);
    return result;
}

/* --- NumPy's loops --- */

/* Let the core use a ufunc's own loop over doubles for an operation. */
static void borrow_loop(CadOp op, PyObject *function, int arity) {
    if (!PyObject_TypeCheck(function, &PyUFunc_Type)) {
        return;
    }
    const PyUFuncObject *ufunc = (const PyUFuncObject *)function;
    for (int i = 0; i < ufunc->ntypes && ufunc->nin == arity && ufunc->nout == 1; i++) {
        int doubles = ufunc->functions[i] != NULL;
        for (int k = 0; k <= arity; k++) {
            doubles = doubles && ufunc->types[i * ufunc->nargs + k] == NPY_DOUBLE;
        }
        if (doubles) {
            cad_set_loop(op, (CadLoopFunction)ufunc->functions[i],
                         ufunc->data == NULL ? NULL : (void *)ufunc->data[i]);
            return;
        }
    }
}

int cad_borrow_loops(PyObject *numpy, PyObject *const *functions) {
    for (int op = CAD_OP_THIRD + 1; op < CAD_OP_COUNT; op++) {
        if (functions[op] != NULL) {
            borrow_loop((CadOp)op, functions[op], cad_op_info[op].arity);
        }
    }
    PyObject *matmul = PyObject_GetAttrString(numpy, "matmul");
    if (matmul == NULL) {
        return -1;
    }
    borrow_loop(CAD_OP_MATMUL, matmul, 2);
    Py_DECREF(matmul);
    return 0;
}

/* --- sweeps --- */

enum { LONG_SWEEP = 1 << 16 }; /* slots: other threads may run meanwhile */

static CadStop sweep_part(CadTape *tape, size_t begin, size_t end, size_t transient,
                          int accumulate) {
    const size_t first = begin < tape->n_entries ? tape->entries[begin].out : tape->n_slots;
    if (tape->n_slots - first < LONG_SWEEP) {
        return cad_sweep_reverse(tape, begin, end, transient, accumulate);
    }
    CadStop stop;
    cad_tape_set_busy(tape, 1);
    Py_BEGIN_ALLOW_THREADS;
    stop = cad_sweep_reverse(tape, begin, end, transient, accumulate);
    Py_END_ALLOW_THREADS;
    cad_tape_set_busy(tape, 0);
    return stop;
}

/* Entry by entry, each of which is shown to who watches; all adjoints are kept. */
static int sweep_watched(CadTape *tape, size_t begin, size_t end, int accumulate) {
    const CadWatch *const watch = tape->watch;
    int status = 0;
    size_t i = end;
    while (status == 0 && i > begin && (i == end || tape->entries[i].out > tape->dirty_begin)) {
        i--;
        const CadStop stop = cad_sweep_reverse(tape, i, i + 1, end, accumulate);
        status = stop.rule ? cad_rule_hook(tape, i) : 0;
        if (status == 0 && watch->swept(watch->holder, i) != CAD_OK) {
            status = -1;
        }
    }
    cad_sweep_redo(tape, i, end);
    return status;
}

int cad_sweep(CadTape *tape, size_t begin, size_t end, size_t transient, int accumulate) {
    if (tape->busy) {
        return cad_raise_status(CAD_BUSY);
    }
    if (tape->watch != NULL && tape->watch->swept != NULL) {
        return sweep_watched(tape, begin, end, accumulate);
    }
    CadStop stop = sweep_part(tape, begin, end, transient, accumulate);
    int status = 0;
    while (stop.rule && status == 0) {
        status = cad_rule_hook(tape, stop.at - 1);
        if (status == 0) {
            stop = sweep_part(tape, begin, stop.at - 1, transient, accumulate);
        }
    }
    cad_sweep_redo(tape, stop.at, end);
    return status;
}
