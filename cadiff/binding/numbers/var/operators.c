/* The operators of Var. Scalars are what this file is fast at: an operator on two of them takes a
 * handle from the list of free ones and appends one entry. Whatever is not arithmetic of scalars
 * takes the general path, through operations/apply.c. */
#include "numbers/var/var.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/slabs.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/state.h"
#include "numbers/operations/operations.h"

#include "table/ops.h"
#include "tape/blocks.h"

/* --- entries --- */

PyObject *cad_record2(CadOp op, CadVar *x, CadVar *y, double value) {
    CadTape *tape = x->tape;
    const CadStatus status = cad_tape_has_room(tape)
                                 ? CAD_OK
                                 : cad_tape_grow_for(tape, op, x->value, y->value, 0.0, value);
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    const CadSlot out = cad_tape_push(tape, CAD_CODE(op, 0), x->slot, y->slot, value);
    return cad_var_new(tape, out, value);
}

static PyObject *record1(CadOp op, CadVar *x, double value) {
    return cad_record2(op, x, x, value);
}

/* One operand is a constant: the one that `passive` names. */
PyObject *cad_record_constant(CadOp op, CadVar *x, double constant, int passive, double value) {
    CadTape *tape = x->tape;
    CadStatus status = CAD_OK;
    if (!cad_tape_has_room(tape)) {
        const double a = passive == CAD_PASSIVE_A ? constant : x->value;
        const double b = passive == CAD_PASSIVE_A ? x->value : constant;
        status = cad_tape_grow_for(tape, op, a, b, 0.0, value);
    }
    if (status != CAD_OK) {
        cad_raise_status(status);
        return NULL;
    }
    const CadSlot slot = cad_tape_constant(tape, constant);
    const CadSlot a = passive == CAD_PASSIVE_A ? slot : x->slot;
    const CadSlot b = passive == CAD_PASSIVE_A ? x->slot : slot;
    const CadSlot out = cad_tape_push(tape, CAD_CODE(op, passive), a, b, value);
    return cad_var_new(tape, out, value);
}

/* --- operators --- */

/* The number slots: scalars at once, everything else by the general path. */
#define BINARY_SLOT(name)                                                                         \
    static PyObject *slot_##name(PyObject *left, PyObject *right) {                               \
        double c;                                                                                 \
        if (CAD_IS_SCALAR(left)) {                                                                \
            CadVar *x = CAD_VAR(left);                                                            \
            if (CAD_IS_SCALAR(right) && CAD_VAR(right)->tape == x->tape) {                        \
                CadVar *y = CAD_VAR(right);                                                       \
                return cad_record2(CAD_OP_##name, x, y, val_##name(x->value, y->value));          \
            }                                                                                     \
            if (cad_is_constant(right, &c)) {                                                     \
                const double v = val_##name(x->value, c);                                         \
                return cad_record_constant(CAD_OP_##name, x, c, CAD_PASSIVE_B, v);                \
            }                                                                                     \
        } else if (CAD_IS_SCALAR(right) && cad_is_constant(left, &c)) {                           \
            CadVar *y = CAD_VAR(right);                                                           \
            const double v = val_##name(c, y->value);                                             \
            return cad_record_constant(CAD_OP_##name, y, c, CAD_PASSIVE_A, v);                    \
        }                                                                                         \
        return cad_apply2(CAD_OP_##name, left, right);                                            \
    }

BINARY_SLOT(add)
BINARY_SLOT(subtract)
BINARY_SLOT(multiply)
BINARY_SLOT(divide)
BINARY_SLOT(floor_divide)
BINARY_SLOT(mod)

#define UNARY_SLOT(name)                                                                          \
    static PyObject *slot_##name(PyObject *operand) {                                             \
        if (CAD_VAR(operand)->kind == CAD_SCALAR) {                                               \
            CadVar *x = CAD_VAR(operand);                                                         \
            return record1(CAD_OP_##name, x, val_##name(x->value));                               \
        }                                                                                         \
        return cad_apply1(CAD_OP_##name, operand);                                                \
    }

UNARY_SLOT(negative)
UNARY_SLOT(absolute)

static PyObject *slot_power(PyObject *base, PyObject *exponent, PyObject *modulus) {
    double c;
    if (CAD_IS_SCALAR(base) && modulus == Py_None && cad_is_constant(exponent, &c)) {
        CadVar *x = CAD_VAR(base);
        if (c == 2.0) {
            return record1(CAD_OP_square, x, val_square(x->value));
        }
        return cad_record_constant(CAD_OP_power, x, c, CAD_PASSIVE_B, val_power(x->value, c));
    }
    return cad_power(base, exponent, modulus);
}

/* A number is itself one; what is assigned to +y must not reach an array y. */
static PyObject *slot_positive(PyObject *operand) {
    return CAD_IS_VAR_ARRAY(operand) ? cad_apply1(CAD_OP_positive, operand) : Py_NewRef(operand);
}

static int slot_bool(CadVar *var) {
    if (!CAD_IS_VAR_ARRAY(var)) {
        return cad_state.guarding > 0 && cad_guard_truth((PyObject *)var) < 0 ? -1
                                                                              : var->value != 0.0;
    }
    if (var->view->size != 1) {
        return cad_refuse_truth("Var", (Py_ssize_t)var->view->size);
    }
    if (var->kind == CAD_STALE) {
        if (var->view->kept == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        return var->view->kept[0] != 0.0;
    }
    if (cad_state.guarding > 0 && cad_guard_truth((PyObject *)var) < 0) {
        return -1;
    }
    return cad_tape_values(var->tape, var->slot)[var->slot] != 0.0;
}

/* --- in-place operators --- */

/* y += v writes to the array, so that all views of it see the result. A single number is bound to
 * a new one instead. */
static PyObject *in_place(PyObject *target, PyObject *result) {
    if (result == NULL || result == Py_NotImplemented || !CAD_IS_VAR_ARRAY(target) ||
        CAD_VAR(target)->kind != CAD_ARRAY) {
        return result;
    }
    const int status = PyObject_SetItem(target, Py_Ellipsis, result);
    Py_DECREF(result);
    return status < 0 ? NULL : Py_NewRef(target);
}

#define IN_PLACE_SLOT(name)                                                                       \
    static PyObject *in_place_##name(PyObject *left, PyObject *right) {                           \
        return in_place(left, slot_##name(left, right));                                          \
    }

IN_PLACE_SLOT(add)
IN_PLACE_SLOT(subtract)
IN_PLACE_SLOT(multiply)
IN_PLACE_SLOT(divide)
IN_PLACE_SLOT(floor_divide)
IN_PLACE_SLOT(mod)

static PyObject *in_place_matmul(PyObject *left, PyObject *right) {
    return in_place(left, cad_matmul_like(left, right));
}

static PyObject *in_place_power(PyObject *base, PyObject *exponent, PyObject *modulus) {
    return in_place(base, slot_power(base, exponent, modulus));
}

/* --- the table of them --- */

PyNumberMethods cad_var_number = {
    .nb_add = slot_add,
    .nb_subtract = slot_subtract,
    .nb_multiply = slot_multiply,
    .nb_remainder = slot_mod,
    .nb_divmod = cad_divmod,
    .nb_power = slot_power,
    .nb_negative = slot_negative,
    .nb_positive = slot_positive,
    .nb_absolute = slot_absolute,
    .nb_bool = (inquiry)slot_bool,
    .nb_int = cad_number_int,
    .nb_float = cad_number_float,
    .nb_floor_divide = slot_floor_divide,
    .nb_true_divide = slot_divide,
    .nb_index = cad_refuse_conversion,
    .nb_matrix_multiply = cad_matmul,
    .nb_inplace_add = in_place_add,
    .nb_inplace_subtract = in_place_subtract,
    .nb_inplace_multiply = in_place_multiply,
    .nb_inplace_true_divide = in_place_divide,
    .nb_inplace_floor_divide = in_place_floor_divide,
    .nb_inplace_remainder = in_place_mod,
    .nb_inplace_power = in_place_power,
    .nb_inplace_matrix_multiply = in_place_matmul,
};
