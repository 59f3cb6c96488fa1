/* Assignment to array Vars: who may be assigned to, and the entries that overwrite elements or add
 * to them in place. How an operator comes to assign is not known here. */
#include "numbers/array/inner.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/state.h"
#include "numbers/objects/tape.h"
#include "numbers/objects/views.h"
#include "numbers/operations/operations.h"
#include "numbers/var/var.h"

#include "arrays/arrays.h"

/* --- what is assigned, and to whom --- */

/* Why the numbers that an array views, which are of a block, must stay what they are; or NULL. */
static const char *why_kept(const CadVar *var, const CadBlock *block) {
    if (var->view->flags & CAD_LEAF) {
        return "a Var made from plain numbers is not assigned to, so that its .grad belongs to "
               "the "
               "numbers that it was made from: assign to a copy, y = x.copy(), or make a new Var";
    }
    if (var->slot < var->tape->mark_slots) {
        return "an array that was made outside of the function that is being differentiated is "
               "not "
               "assigned to inside of it: make the array inside, or assign to a copy, y = "
               "y.copy()";
    }
    if (var->view->flags & CAD_INPUT && block != NULL && block->singly) {
        return "an argument whose single elements were taken, x[i], is not assigned to "
               "afterwards: "
               "begin with a copy, x = x.copy()";
    }
    return NULL;
}

/* Whether an array may be assigned to; else -1 with an exception. */
static int check_target(const CadVar *var) {
    /* An empty array has no slot: where it stands, another one begins. */
    const int empty = var->view->size == 0;
    CadBlock *block = empty ? NULL : cad_tape_find_block(var->tape, var->slot);
    const char *why = empty ? NULL : why_kept(var, block);
    if (why != NULL) {
        cad_state.n_refused_inputs += (var->view->flags & CAD_INPUT) != 0;
        PyErr_SetString(PyExc_TypeError, why);
        return -1;
    }
    int frozen = (var->view->flags & CAD_FROZEN) != 0;
    for (int i = 0; i < var->view->ndim && !empty; i++) {
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
static int fit(CadArrayOperands *all, int ndim, const npy_intp *shape) {
    CadArrayOperand *source = &all->of[0];
    while (source->ndim > ndim && source->shape[0] == 1) {
        source->shape++;
        source->ndim--;
        memmove(source->strides, source->strides + 1,
                (size_t)source->ndim * sizeof *source->strides);
    }
    for (int i = 0; i < source->ndim; i++) {
        const npy_intp here = source->shape[source->ndim - 1 - i];
        if (source->ndim > ndim || (here != 1 && here != shape[ndim - 1 - i])) {
            PyObject *from = cad_shape_tuple(source->ndim, source->shape);
            PyObject *to = cad_shape_tuple(ndim, shape);
            PyErr_Format(PyExc_ValueError,
                         "could not broadcast input array from shape %S into shape %S", from, to);
            Py_XDECREF(from);
            Py_XDECREF(to);
            return -1;
        }
    }
    return 0;
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

/* --- the entries of an assignment --- */

static int push(CadTape *tape, const CadRequest *request) {
    CadSlot out;
    const CadStatus status = cad_array_push(tape, request, &out);
    return status == CAD_OK ? 0 : cad_raise_status(status);
}

/* Assign to a view. The source's strides and slot are set. */
static int assign_view(CadTape *tape, const CadArrayOperand *source, CadSlot slot,
                       const CadShape *shape, const int64_t *strides) {
    int64_t from[NPY_MAXDIMS];
    cad_spread(source, 0, shape, from);
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
static int assign_number(CadTape *tape, const CadArrayOperand *source, CadSlot slot) {
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
static int assign_scattered(CadVar *var, CadArrayOperands *all, PyArrayObject *offsets, size_t low,
                            size_t high) {
    CadTape *tape = var->tape;
    CadArrayOperand *source = &all->of[0];
    CadShape shape;
    cad_fill_shape(&shape, PyArray_NDIM(offsets), PyArray_DIMS(offsets));
    int64_t strides[NPY_MAXDIMS], own[NPY_MAXDIMS];
    cad_spread(source, 0, &shape, strides);
    cad_contiguous(&shape, own);
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
    if (cad_put_offsets(tape, offsets, &index) < 0) {
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

static int assign(CadVar *var, PyObject *key, CadArrayOperands *all) {
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
        CadShape shape;
        int64_t strides[NPY_MAXDIMS];
        cad_fill_shape(&shape, PyArray_NDIM(target), PyArray_DIMS(target));
        for (int i = 0; i < shape.ndim; i++) {
            strides[i] = PyArray_STRIDE(target, i) / (npy_intp)sizeof(double);
        }
        status = fit(all, shape.ndim, shape.of);
        if (status == 0) {
            status = cad_put_operands(all);
        }
        if (status == 0) {
            status = shape.size == 1 && shape.ndim == 0
                         ? assign_number(tape, &all->of[0], slot)
                         : assign_view(tape, &all->of[0], slot, &shape, strides);
        }
    } else {
        PyArrayObject *offsets = cad_offsets_of(var, key, low);
        status = offsets == NULL ? -1 : fit(all, PyArray_NDIM(offsets), PyArray_DIMS(offsets));
        if (status == 0) {
            status = cad_put_operands(all);
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
    if (cad_state.rows_lent && cad_check_writable((PyObject *)var) < 0) {
        return -1;
    }
    if (cad_has_masks(key)) {
        PyObject *blended = PyObject_CallMethod((PyObject *)cad_state.mask_type, "blended", "OOO",
                                                var, key, value);
        const int status = blended == NULL      ? -1
                           : blended == Py_None ? 1
                                                : cad_array_assign(var, Py_Ellipsis, blended);
        Py_XDECREF(blended);
        if (status <= 0) {
            return status;
        }
    }
    PyObject *plain_key = cad_key_without_masks(key);
    PyObject *numbers = plain_key == NULL ? NULL : cad_numbers_of(value);
    PyObject *source = numbers == NULL ? NULL : source_for(var, numbers);
    Py_XDECREF(numbers);
    CadArrayOperands all = {.tape = var->tape, .n = 0};
    int status = source == NULL ? -1 : cad_take_operand(&all, source);
    if (status > 0 && CAD_IS_DUAL(source)) {
        cad_state.n_refused_duals++;
        PyErr_SetString(PyExc_TypeError,
                        "a Dual is assigned to an array of Vars: collect Duals with "
                        "cadiff.array([...]), or assign them to a Dual array, "
                        "cadiff.Dual(np.zeros(shape), tangent); inside of cadiff.jvp, jacfwd and "
                        "derivative cadiff.zeros makes such arrays by itself");
    } else if (status > 0 && cad_is_complex(value)) {
        PyErr_SetString(PyExc_TypeError,
                        "a complex number is assigned to an array of real ones: make the array "
                        "with cadiff.numpy.zeros(shape, complex), or assign z.real");
    } else if (status > 0) {
        PyErr_Format(
            PyExc_TypeError,
            "what is assigned to an array of numbers is a real number or an array of real "
            "numbers, with or without derivatives, not %s",
            Py_TYPE(value)->tp_name);
    }
    if (status == 0 && cad_pin(var->tape) == 0) {
        status = assign(var, plain_key, &all);
        cad_tape_unpin(var->tape);
        if (status == 0 && !all.of[0].passive) {
            cad_tape_activate(var->tape, var->slot);
        }
    } else {
        status = -1;
    }
    cad_release_operands(&all);
    Py_XDECREF(plain_key);
    Py_XDECREF(source);
    return status;
}

/* --- arrays that were just made --- */

int cad_array_write(CadVar *target, PyObject *value) {
    CadTape *tape = target->tape;
    CadArrayOperands all = {.tape = tape, .n = 0};
    int status = cad_take_operand(&all, value);
    if (status > 0) {
        PyErr_Format(PyExc_TypeError, "an array of numbers cannot hold %s",
                     Py_TYPE(value)->tp_name);
    }
    const int ndim = CAD_IS_VAR_ARRAY(target) ? target->view->ndim : 0;
    CadShape shape = {.ndim = 0, .size = 1};
    if (ndim > 0) {
        cad_fill_shape(&shape, ndim, CAD_SHAPE(target->view));
    }
    status = status == 0 ? fit(&all, ndim, shape.of) : -1;
    if (status == 0 && shape.size > 0 && cad_pin(tape) == 0) {
        int64_t from[NPY_MAXDIMS], to[NPY_MAXDIMS];
        status = cad_put_operands(&all);
        if (status == 0) {
            cad_spread(&all.of[0], 0, &shape, from);
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
    cad_release_operands(&all);
    return status;
}

int cad_array_accumulate(CadVar *target, PyObject *value) {
    PyObject *operands[1] = {value};
    CadArrayOperands all;
    if (cad_take_operands(&all, operands, 1) != 0) {
        return -1;
    }
    CadTape *tape = target->tape;
    int status = cad_pin(tape);
    if (status == 0) {
        status = cad_put_operands(&all);
        CadShape shape;
        int64_t from[NPY_MAXDIMS], to[NPY_MAXDIMS];
        cad_fill_shape(&shape, all.of[0].ndim, all.of[0].shape);
        const int ndim = target->kind == CAD_ARRAY ? target->view->ndim : 0;
        if (status == 0 && ndim != shape.ndim) {
            PyErr_SetString(PyExc_SystemError, "cadiff: accumulation of another shape");
            status = -1;
        }
        for (int i = 0; status == 0 && i < ndim; i++) {
            to[i] = CAD_STRIDES(target->view)[i];
        }
        cad_spread(&all.of[0], 0, &shape, from);
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
    cad_release_operands(&all);
    return status;
}

int cad_array_add_at(CadVar *target, PyObject *indices, PyObject *value) {
    CadTape *tape = target->tape;
    CadArrayOperands all = {.tape = tape, .n = 0};
    PyObject *offsets = PyArray_FROMANY(indices, NPY_INT64, 1, 1, NPY_ARRAY_CARRAY_RO);
    int status = offsets == NULL ? -1 : cad_take_operand(&all, value);
    if (status == 0 && cad_pin(tape) == 0) {
        CadArrayOperand *source = &all.of[0];
        const int64_t size = PyArray_SIZE((PyArrayObject *)offsets);
        const int64_t step = CAD_STRIDES(target->view)[0];
        npy_int64 *offset = PyArray_DATA((PyArrayObject *)offsets);
        size_t low, high;
        cad_var_bounds(target, &low, &high);
        CadSlot index;
        status = cad_put_operands(&all);
        if (status == 0) {
            status = cad_put_offsets(tape, (PyArrayObject *)offsets, &index);
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
    cad_release_operands(&all);
    Py_XDECREF(offsets);
    return status;
}
