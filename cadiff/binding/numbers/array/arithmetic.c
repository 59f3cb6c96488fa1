/* Operations on array Vars: what an elementwise operation, a product of matrices or a sum appends
 * to the tape. This file finds out which shapes and strides take part; what happens at those
 * places is the business of src/arrays. */
#include "numbers/array/inner.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/references.h"
#include "numbers/objects/views.h"
#include "numbers/var/var.h"

/* --- elementwise operations, and those of kinds --- */

static PyObject *apply(CadOp op, PyObject *const *operands, int are_in_order) {
    CadArrayOperands all;
    CadShape shape;
    if (cad_take_operands(&all, operands, cad_op_info[op].arity) != 0) {
        return NULL;
    }
    all.are_in_order = are_in_order;
    PyObject *result = cad_broadcast(&all, &shape) < 0
                           ? NULL
                           : cad_record_kind(op, &all, &shape, 0, shape.ndim, shape.of);
    cad_release_operands(&all);
    return result;
}

CadPointer *cad_array_apply(CadOp op, PyObject *const *operands) {
    if (op == CAD_OP_multiply && operands[0] == operands[1]) {
        op = CAD_OP_square; /* one partial to hand on, not two */
    }
    return apply(op, operands, 0);
}

PyObject *cad_array_kind(CadOp op, PyObject *const *operands, int ndim, const npy_intp *lengths,
                         uint64_t summed) {
    CadArrayOperands all;
    CadShape shape;
    if (cad_take_operands(&all, operands, cad_entry_kinds[op].n_views - 1) != 0) {
        return NULL;
    }
    PyObject *made = NULL;
    if (lengths != NULL) {
        cad_fill_shape(&shape, ndim, lengths);
    }
    if (lengths != NULL || cad_broadcast(&all, &shape) == 0) {
        npy_intp result[NPY_MAXDIMS];
        for (int i = 0; i < shape.ndim; i++) {
            result[i] = summed >> i & 1 ? 1 : shape.of[i];
        }
        made = cad_record_kind(op, &all, &shape, summed, shape.ndim, result);
    }
    cad_release_operands(&all);
    return made;
}

PyObject *cad_array_copy(CadVar *var) {
    if (var->kind == CAD_STALE) {
        return cad_then(cad_var_values((PyObject *)var), cad_var_stale);
    }
    PyObject *operand = (PyObject *)var;
    PyObject *copy = apply(CAD_OP_positive, &operand, 1); /* as NumPy's method */
    const int is_cell = var->view->ndim == 0 && (var->view->flags & CAD_CELL) != 0;
    if (copy != NULL && is_cell && CAD_VAR(copy)->tape == NULL) { /* of a constant: its place */
        const npy_intp length = 1;
        PyObject *row = PyArray_SimpleNew(1, &length, NPY_DOUBLE);
        if (row != NULL) {
            *(double *)PyArray_DATA((PyArrayObject *)row) = CAD_VAR(copy)->value;
        }
        Py_SETREF(copy, row == NULL ? NULL : cad_array_constant(var->tape, row));
        Py_XDECREF(row);
    }
    if (copy != NULL && is_cell) {
        const uint32_t flags = CAD_IS_VAR_ARRAY(copy) ? CAD_VAR(copy)->view->flags : 0;
        Py_SETREF(copy, cad_var_view(CAD_VAR(copy)->tape, CAD_VAR(copy)->slot, 0, NULL, NULL,
                                     flags | CAD_CELL));
    }
    return copy;
}

/* --- matrix products --- */

static int refuse_matmul(const CadArrayOperand *x, const CadArrayOperand *y) {
    return cad_refuse_shapes(
        x->ndim == 0 || y->ndim == 0
            ? "matmul: an operand is a single number, shapes %S and %S: use *"
            : "matmul: the last axis of the first operand and the second to last (a "
              "vector's only) one of the second differ in length: shapes %S and %S",
        x->ndim, x->shape, y->ndim, y->shape);
}

/* Rows, inner length and columns as axes of a factor: a vector has the second one, and a matrix
 * lacks the one at `missing`. */
static void as_factor(CadArrayOperand *operand, npy_intp *shape, int missing) {
    const int is_vector = operand->ndim == 1;
    const int ndim = is_vector ? 3 : operand->ndim + 1;
    int64_t strides[NPY_MAXDIMS];
    for (int i = 0, from = 0; i < ndim; i++) {
        const int is_new = is_vector ? i != 1 : i == ndim - 3 + missing;
        shape[i] = is_new ? 1 : operand->shape[from];
        strides[i] = is_new ? 0 : operand->strides[from];
        from += !is_new;
    }
    memcpy(operand->strides, strides, (size_t)ndim * sizeof *strides);
    operand->shape = shape;
    operand->ndim = ndim;
}

static PyObject *record_matmul(CadArrayOperands *all) {
    CadArrayOperand *x = &all->of[0], *y = &all->of[1];
    if (x->ndim == 0 || y->ndim == 0 ||
        x->shape[x->ndim - 1] != y->shape[y->ndim == 1 ? 0 : y->ndim - 2]) {
        refuse_matmul(x, y);
        return NULL;
    }
    if (x->ndim >= NPY_MAXDIMS || y->ndim >= NPY_MAXDIMS) {
        PyErr_Format(PyExc_ValueError, "matmul: at most %d axes are possible", NPY_MAXDIMS - 1);
        return NULL;
    }
    const int has_rows = x->ndim > 1, has_columns = y->ndim > 1;
    npy_intp shapes[2][NPY_MAXDIMS];
    CadShape shape;
    as_factor(x, shapes[0], 2);
    as_factor(y, shapes[1], 0);
    if (cad_broadcast(all, &shape) < 0) {
        return NULL;
    }
    npy_intp seen[NPY_MAXDIMS]; /* of which a vector's axis is none */
    const int stack = shape.ndim - 3;
    int ndim = stack;
    memcpy(seen, shape.of, (size_t)stack * sizeof *seen);
    if (has_rows) {
        seen[ndim++] = shape.of[stack];
    }
    if (has_columns) {
        seen[ndim++] = shape.of[stack + 2];
    }
    return cad_record_kind(CAD_OP_MATMUL, all, &shape, (uint64_t)1 << (stack + 1), ndim, seen);
}

CadPointer *cad_array_matmul(PyObject *left, PyObject *right) {
    PyObject *const operands[2] = {left, right};
    CadArrayOperands all;
    if (cad_take_operands(&all, operands, 2) != 0) {
        return NULL;
    }
    PyObject *result = record_matmul(&all);
    cad_release_operands(&all);
    return result;
}

/* --- products of complex matrices --- */

/* All four products of a part of x and one of y, as a stack. */
static int push_products_of_parts(const CadArrayOperands *all, const int64_t *size,
                                  CadSlot *stack) {
    const CadArrayOperand *x = &all->of[0], *y = &all->of[1];
    const int64_t part = size[0] * size[2];
    const int64_t lengths[5] = {2, 2, size[0], size[1], size[2]};
    const int64_t to[5] = {2 * part, part, size[2], 0, 1};
    const int64_t xs[5] = {x->strides[0], 0, x->strides[1], x->strides[2], 0};
    const int64_t ys[5] = {0, y->strides[0], 0, y->strides[1], y->strides[2]};
    const CadRequest request = {
        .op = CAD_OP_MATMUL,
        .passive = (uint32_t)((x->passive != 0) << 1 | (y->passive != 0) << 2),
        .ndim = 5,
        .shape = lengths,
        .n_views = 3,
        .views = {{CAD_OWN, to}, {x->slot, xs}, {y->slot, ys}},
        .slots = (size_t)(4 * part),
        .index = -1,
    };
    return cad_push(all->tape, &request, stack);
}

/* One part of the product, of two parts of the stack. */
static int push_part(CadTape *tape, CadOp op, int64_t to, int64_t a, int64_t b, int64_t count) {
    static const int64_t step[1] = {1};
    const CadRequest request = {
        .op = op,
        .ndim = 1,
        .shape = &count,
        .n_views = 3,
        .views = {{to, step}, {a, step}, {b, step}},
        .slots = 1,
        .index = -1,
    };
    CadSlot own;
    return cad_push(tape, &request, &own);
}

static PyObject *record_complex_matmul(CadArrayOperands *all) {
    const CadArrayOperand *x = &all->of[0], *y = &all->of[1];
    if (cad_put_operands(all) < 0) {
        return NULL;
    }
    CadTape *tape = all->tape;
    const int64_t size[3] = {x->shape[1], x->shape[2], y->shape[2]};
    const int64_t part = size[0] * size[2];
    const npy_intp shape[3] = {2, size[0], size[2]};
    CadSlot stack, out;
    if (push_products_of_parts(all, size, &stack) < 0 ||
        cad_check(cad_tape_block(tape, (size_t)(2 * part), 0, &out)) < 0) {
        return NULL;
    }
    cad_tape_activate(tape, out);
    if (push_part(tape, CAD_OP_subtract, out, stack, stack + 3 * part, part) < 0 ||
        push_part(tape, CAD_OP_add, out + part, stack + part, stack + 2 * part, part) < 0) {
        return NULL;
    }
    return cad_var_view(tape, out, 3, shape, NULL, 0);
}

PyObject *cad_array_complex_matmul(PyObject *left, PyObject *right) {
    PyObject *const operands[2] = {left, right};
    CadArrayOperands all;
    PyObject *result = NULL;
    if (cad_take_operands(&all, operands, 2) == 0) {
        if (cad_pin(all.tape) == 0) {
            result = record_complex_matmul(&all);
            cad_tape_unpin(all.tape);
        }
        cad_release_operands(&all);
    }
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

PyObject *cad_array_sum(CadVar *var, PyObject *axis, bool keepdims) {
    if (var->view->ndim == 0) {
        PyObject *operand = (PyObject *)var;
        return cad_array_apply(CAD_OP_positive, &operand);
    }
    char marked[NPY_MAXDIMS];
    const CadView *view = var->view;
    if (mark_axes(axis, view->ndim, marked) < 0) {
        return NULL;
    }
    npy_intp seen[NPY_MAXDIMS];
    CadShape shape;
    uint64_t summed = 0;
    int ndim = 0;
    cad_fill_shape(&shape, view->ndim, CAD_SHAPE(view));
    for (int i = 0; i < view->ndim; i++) {
        summed |= (uint64_t)(marked[i] != 0) << i;
        if (!marked[i] || keepdims) {
            seen[ndim++] = marked[i] ? 1 : shape.of[i];
        }
    }
    PyObject *const operand = (PyObject *)var;
    CadArrayOperands all;
    return cad_take_operands(&all, &operand, 1) != 0
               ? NULL
               : cad_record_kind(CAD_OP_SUM, &all, &shape, summed, ndim, seen);
}
