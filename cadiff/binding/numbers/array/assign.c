/* Assignment to array Vars: who may be assigned to, and the entries that overwrite elements or add
 * to them in place. How an operator comes to assign is not known here. */
#include "numbers/array/inner.h"
#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/views.h"
#include "numbers/operations/operations.h"
#include "numbers/var/var.h"

/* --- what is assigned, and to whom --- */

/* Why nothing may be assigned to the numbers that an array views in a block; or NULL. */
static const char *why_kept(const CadVar *var, const CadBlock *block) {
    if (var->view->flags & CAD_LEAF) {
        return "a Var made from plain numbers is not assigned to, so that its .grad belongs to "
               "the "
               "numbers that it was made from: assign to a copy, y = x.copy(), or make a new Var";
    }
    if (var->slot < var->tape->mark_slots) {
        return "an array that was made outside of the function that is being differentiated is "
               "not assigned to inside of it: make the array inside, or assign to a copy, y = "
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
    if (CAD_IS_VAR(value) && cad_is_single((PyObject *)target) && !cad_is_single(value)) {
        return cad_apply1(CAD_OP_single, value);
    }
    if (!CAD_IS_VAR_ARRAY(value) || CAD_VAR(value)->kind != CAD_ARRAY) {
        return Py_NewRef(value);
    }
    size_t low, high, first, last;
    cad_var_bounds(target, &low, &high);
    cad_var_bounds(CAD_VAR(value), &first, &last);
    return last < low || first > high ? Py_NewRef(value) : cad_array_copy(CAD_VAR(value));
}

/* Plain numbers become those of float32 where the target is; 0, or -1 with an exception. */
static int round_plain(const CadVar *target, CadArrayOperand *source) {
    if (source->var != NULL || !cad_is_single((PyObject *)target)) {
        return 0;
    }
    source->number = (double)(float)source->number;
    if (source->kept != NULL && source->precision == CAD_FITS_DOUBLE) {
        Py_SETREF(source->kept, cad_as_floats(source->kept));
        if (source->kept == NULL) {
            return -1;
        }
        source->shape = PyArray_DIMS((PyArrayObject *)source->kept);
    }
    return 0;
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
            return cad_refuse_shapes("could not broadcast input array from shape %S into shape %S",
                                     source->ndim, source->shape, ndim, shape);
        }
    }
    return 0;
}

/* The target of an assignment, by NumPy's rules: an array over the values if it is a view, which
 * a single element is as well. */
static PyObject *target_of(CadVar *var, PyObject *key) {
    PyObject *whole = cad_key_with_ellipsis(key);
    PyObject *array =
        whole == NULL ? NULL : cad_var_transient(var, var->tape->values, NPY_ARRAY_WRITEABLE);
    PyObject *part = cad_then_with(array, PyObject_GetItem, whole);
    Py_XDECREF(whole);
    return part;
}

/* --- the entries of an assignment --- */

/* An operation on the source alone, whose result is written, or added, to a view. */
static int push_to(CadTape *tape, CadOp op, const CadArrayOperand *source, const CadShape *shape,
                   CadPlace to, size_t slots, uint32_t precision, CadSlot *out) {
    int64_t from[NPY_MAXDIMS];
    cad_spread(source, shape, from);
    const CadRequest request = {
        .op = op,
        .passive = (uint32_t)(source->passive != 0) << 1 | precision,
        .ndim = shape->ndim,
        .shape = shape->wide,
        .n_views = 2,
        .views = {to, {source->slot, from}},
        .slots = slots,
        .index = -1,
        .extra = {op == CAD_OP_SUM, 0}, /* which adds to what is there */
    };
    return cad_push(tape, &request, out);
}

/* Assign one number: an entry of the scalar kind. */
static int assign_number(CadTape *tape, const CadArrayOperand *source, CadSlot slot) {
    if (cad_check(cad_tape_ensure(tape)) < 0) {
        return -1;
    }
    cad_tape_use_singly(tape, slot);
    cad_tape_use_singly(tape, (CadSlot)source->slot); /* which may be a view of no axes */
    const int passive = source->passive ? CAD_PASSIVE_B : 0;
    cad_tape_push(tape, CAD_CODE(CAD_OP_ASSIGN, passive), slot, (CadSlot)source->slot,
                  tape->values[slot]);
    tape->values[slot] = tape->values[source->slot];
    tape->n_assigned++;
    return 0;
}

/* Assign to a view of the values, which begins at a slot. */
static int assign_view(CadTape *tape, const CadArrayOperand *source, PyArrayObject *target,
                       CadSlot slot) {
    if (PyArray_NDIM(target) == 0) {
        return assign_number(tape, source, slot);
    }
    CadShape shape;
    int64_t strides[NPY_MAXDIMS];
    cad_fill_shape(&shape, PyArray_NDIM(target), PyArray_DIMS(target));
    for (int i = 0; i < shape.ndim; i++) {
        strides[i] = PyArray_STRIDE(target, i) / (npy_intp)sizeof(double);
    }
    CadSlot out;
    return push_to(tape, CAD_OP_ASSIGN, source, &shape, (CadPlace){slot, strides},
                   (size_t)shape.size, 0, &out);
}

/* Assign to the elements that offsets name, one after the other. */
static int assign_scattered(CadVar *var, CadArrayOperand *source, PyArrayObject *array) {
    CadTape *tape = var->tape;
    const int64_t stride = source->ndim == 0 ? 0 : 1;
    CadSlot from = (CadSlot)source->slot, out;
    if (source->ndim > 0) { /* a copy in the order of the offsets */
        CadShape shape;
        int64_t own[NPY_MAXDIMS], length = 1;
        cad_fill_shape(&shape, PyArray_NDIM(array), PyArray_DIMS(array));
        for (int axis = shape.ndim; axis-- > 0;) {
            own[axis] = length;
            length *= shape.wide[axis];
        }
        if (push_to(tape, CAD_OP_positive, source, &shape, (CadPlace){CAD_OWN, own},
                    (size_t)shape.size, 0, &from) < 0) {
            return -1;
        }
    }
    CadOffsets offsets;
    return cad_put_offsets(var, array, &offsets) < 0
               ? -1
               : cad_push_by_offsets(tape, CAD_OP_SCATTER, &offsets, (CadPlace){from, &stride},
                                     source->passive != 0, 0, (size_t)offsets.size, &out);
}

static int assign(CadVar *var, PyObject *key, CadArrayOperands *all) {
    PyObject *part = target_of(var, key);
    if (part == NULL) {
        return -1;
    }
    const int is_view = cad_is_in_values(var->tape, part);
    if (!is_view && PyArray_SIZE((PyArrayObject *)part) > 0) {
        Py_SETREF(part, (PyObject *)cad_offsets_of(var, key));
    }
    PyArrayObject *target = (PyArrayObject *)part;
    int status = part == NULL ? -1 : fit(all, PyArray_NDIM(target), PyArray_DIMS(target));
    if (status == 0 && PyArray_SIZE(target) > 0) {
        /* Values move when there is no room for an operand: only the slot stays what it is. */
        const ptrdiff_t place = is_view ? (double *)PyArray_DATA(target) - var->tape->values : 0;
        status = cad_put_operands(all) < 0 ? -1
                 : is_view ? assign_view(var->tape, &all->of[0], target, (CadSlot)place)
                           : assign_scattered(var, &all->of[0], target);
    }
    Py_XDECREF(part);
    return status;
}

static int refuse_source(PyObject *source, PyObject *value) {
    if (CAD_IS_DUAL(source)) {
        cad_state.n_refused_duals++;
        PyErr_SetString(PyExc_TypeError,
                        "a Dual is assigned to an array of Vars: collect Duals with "
                        "cadiff.array([...]), or assign them to a Dual array, "
                        "cadiff.Dual(np.zeros(shape), tangent); inside of cadiff.jvp, jacfwd and "
                        "derivative cadiff.zeros makes such arrays by itself");
    } else if (cad_is_complex(value)) {
        PyErr_SetString(PyExc_TypeError,
                        "a complex number is assigned to an array of real ones: make the array "
                        "with cadiff.numpy.zeros(shape, complex), or assign z.real");
    } else {
        PyErr_Format(
            PyExc_TypeError,
            "what is assigned to an array of numbers is a real number or an array of real "
            "numbers, with or without derivatives, not %s",
            Py_TYPE(value)->tp_name);
    }
    return -1;
}

int cad_array_assign(CadVar *var, PyObject *key, PyObject *value) {
    if (check_target(var) < 0 ||
        (cad_state.rows_lent && cad_check_writable((PyObject *)var) < 0)) {
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
    status = status > 0                                       ? refuse_source(source, value)
             : status < 0 || round_plain(var, &all.of[0]) < 0 ? -1
                                                              : cad_pin(var->tape);
    if (status == 0) {
        status = assign(var, plain_key, &all);
        cad_tape_unpin(var->tape);
        if (status == 0 && !all.of[0].passive) {
            cad_tape_activate(var->tape, var->slot);
        }
    }
    cad_release_operands(&all);
    Py_XDECREF(plain_key);
    Py_XDECREF(source);
    return status;
}

/* --- arrays that were just made --- */

/* An operation on a value, with its result in the place of all elements, or added to them. */
static int put_whole(CadVar *target, PyObject *value, CadOp op) {
    const int ndim = CAD_IS_VAR_ARRAY(target) ? target->view->ndim : 0;
    const uint32_t precision = cad_is_single((PyObject *)target) ? CAD_IN_SINGLE : 0;
    CadArrayOperands all = {.tape = target->tape, .n = 0};
    CadShape shape = {.ndim = 0, .size = 1};
    int64_t to[NPY_MAXDIMS];
    CadSlot out;
    if (ndim > 0) {
        cad_fill_shape(&shape, ndim, CAD_SHAPE(target->view));
    }
    for (int i = 0; i < ndim; i++) {
        to[i] = CAD_STRIDES(target->view)[i];
    }
    int status = cad_take_operand(&all, value);
    if (status > 0) {
        PyErr_Format(PyExc_TypeError, "an array of numbers cannot hold %s",
                     Py_TYPE(value)->tp_name);
    }
    status = status != 0 || round_plain(target, &all.of[0]) < 0 ? -1 : fit(&all, ndim, shape.of);
    if (status == 0 && shape.size > 0 && (status = cad_pin(target->tape)) == 0) {
        const CadPlace place = {target->slot, to};
        status = cad_put_operands(&all) < 0
                     ? -1
                     : push_to(target->tape, op, &all.of[0], &shape, place, 1, precision, &out);
        cad_tape_unpin(target->tape);
    }
    cad_release_operands(&all);
    return status;
}

int cad_array_write(CadVar *target, PyObject *value) {
    return put_whole(target, value, CAD_OP_positive);
}

int cad_array_accumulate(CadVar *target, PyObject *value) {
    return put_whole(target, value, CAD_OP_SUM);
}

static int add_at(CadVar *target, PyArrayObject *indices, CadArrayOperands *all) {
    const CadArrayOperand *source = &all->of[0];
    const int is_single = cad_is_single((PyObject *)target);
    CadTape *tape = target->tape;
    CadOffsets offsets;
    CadSlot out;
    if (cad_put_operands(all) < 0 || cad_put_offsets(target, indices, &offsets) < 0) {
        return -1;
    }
    const int64_t stride = source->ndim == 0 ? 0 : source->strides[0];
    const npy_int64 *index = PyArray_DATA(indices);
    for (int64_t i = 0; i < offsets.size; i++) {
        const int64_t offset = index[i] * CAD_STRIDES(target->view)[0];
        const int64_t place = (int64_t)target->slot + offset - offsets.low;
        memcpy(&tape->values[offsets.index + i], &place, sizeof place);
    }
    return offsets.size == 0 ? 0
                             : cad_push_by_offsets(tape, CAD_OP_ADD_AT, &offsets,
                                                   (CadPlace){source->slot, &stride},
                                                   source->passive != 0, is_single, 1, &out);
}

int cad_array_add_at(CadVar *target, PyObject *indices, PyObject *value) {
    CadArrayOperands all = {.tape = target->tape, .n = 0};
    PyObject *array = PyArray_FROMANY(indices, NPY_INT64, 1, 1, NPY_ARRAY_CARRAY_RO);
    int status = array == NULL || cad_take_operand(&all, value) != 0 ? -1 : cad_pin(target->tape);
    if (status == 0) {
        status = add_at(target, (PyArrayObject *)array, &all);
        cad_tape_unpin(target->tape);
    }
    cad_release_operands(&all);
    Py_XDECREF(array);
    return status;
}
