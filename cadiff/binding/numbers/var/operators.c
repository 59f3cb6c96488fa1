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
#include "numbers/operations/slots.h"

#include "table/ops.h"
#include "tape/blocks.h"

/* --- entries --- */

static PyObject *record2(CadOp op, CadVar *x, CadVar *y, double value) {
    CadTape *tape = x->tape;
    if (!cad_tape_has_room(tape) &&
        cad_check(cad_tape_grow_for(tape, op, x->value, y->value, 0.0, value)) < 0) {
        return NULL;
    }
    const CadSlot out = cad_tape_push(tape, CAD_CODE(op, 0), x->slot, y->slot, value);
    return cad_var_new(tape, out, value);
}

static PyObject *record1(CadOp op, CadVar *x, double value) {
    return record2(op, x, x, value);
}

/* One operand is a constant: the one that `passive` names. */
PyObject *cad_record_constant(CadOp op, CadVar *x, double constant, int passive, double value) {
    CadTape *tape = x->tape;
    const int first = passive == CAD_PASSIVE_A;
    if (!cad_tape_has_room(tape) &&
        cad_check(cad_tape_grow_for(tape, op, first ? constant : x->value,
                                    first ? x->value : constant, 0.0, value)) < 0) {
        return NULL;
    }
    const CadSlot slot = cad_tape_constant(tape, constant);
    const CadSlot out = cad_tape_push(tape, CAD_CODE(op, passive), first ? slot : x->slot,
                                      first ? x->slot : slot, value);
    return cad_var_new(tape, out, value);
}

/* --- operators --- */

/* The number slots: scalars at once, everything else by the general path. They are slot_add,
 * slot_subtract, slot_multiply, slot_divide, slot_floor_divide and slot_mod. */
#define BINARY_SLOT(name)                                                                         \
    static PyObject *slot_##name(PyObject *left, PyObject *right) {                               \
        double c;                                                                                 \
        if (CAD_IS_SCALAR(left)) {                                                                \
            CadVar *x = CAD_VAR(left);                                                            \
            if (CAD_IS_SCALAR(right) && CAD_VAR(right)->tape == x->tape) {                        \
                CadVar *y = CAD_VAR(right);                                                       \
                return record2(CAD_OP_##name, x, y, val_##name(x->value, y->value));              \
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

CAD_BINARY_OPERATORS(BINARY_SLOT)

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

static int slot_bool(PyObject *number) {
    const CadVar *const var = CAD_VAR(number);
    const CadView *const view = CAD_IS_VAR_ARRAY(number) ? var->view : NULL;
    if (view != NULL && view->size != 1) {
        return cad_refuse_truth("Var", (Py_ssize_t)view->size);
    }
    if (view != NULL && var->kind == CAD_STALE) {
        if (view->kept == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        return view->kept[0] != 0.0;
    }
    if (cad_state.guarding > 0 && cad_guard_truth(number) < 0) {
        return -1;
    }
    return (view == NULL ? var->value : cad_tape_values(var->tape, var->slot)[var->slot]) != 0.0;
}

PyNumberMethods cad_var_number = CAD_NUMBER_METHODS;
