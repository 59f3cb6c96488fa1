/* The operators of Dual. The common case, a float and a float, is done here, and fast because
 * making the result is inlined; whatever else meets an operator goes the general way, through
 * operations/apply.c. */
#include "numbers/dual/dual.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/duals.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/state.h"
#include "numbers/operations/operations.h"
#include "table/ops.h"

/* --- arithmetic over floats --- */

#define IS_FLOAT_DUAL(object)                                                                     \
    (CAD_IS_TYPE(object, CadDual_Type) && CAD_DUAL(object)->kind == CAD_DUAL_FLOAT)

#define SEEN(name, left, right, dual) cad_dual_seen(CAD_OP_##name, left, right, dual)

#define BINARY_SLOT(name)                                                                         \
    static PyObject *slot_##name(PyObject *left, PyObject *right) {                               \
        double c;                                                                                 \
        if (IS_FLOAT_DUAL(left)) {                                                                \
            const CadDual *x = CAD_DUAL(left);                                                    \
            if (IS_FLOAT_DUAL(right) && CAD_DUAL(right)->tag == x->tag) {                         \
                const CadDual *y = CAD_DUAL(right);                                               \
                const double v = val_##name(x->primal, y->primal);                                \
                const double t = cad_amul(d1_##name(x->primal, y->primal, v), x->tangent) +       \
                                 cad_amul(d2_##name(x->primal, y->primal, v), y->tangent);        \
                return SEEN(name, left, right, cad_dual_new(v, t, x->tag));                       \
            }                                                                                     \
            if (cad_is_constant(right, &c)) {                                                     \
                const double v = val_##name(x->primal, c);                                        \
                const double t = cad_amul(d1_##name(x->primal, c, v), x->tangent);                \
                return SEEN(name, left, right, cad_dual_new(v, t, x->tag));                       \
            }                                                                                     \
        } else if (IS_FLOAT_DUAL(right) && cad_is_constant(left, &c)) {                           \
            const CadDual *y = CAD_DUAL(right);                                                   \
            const double v = val_##name(c, y->primal);                                            \
            const double t = cad_amul(d2_##name(c, y->primal, v), y->tangent);                    \
            return SEEN(name, left, right, cad_dual_new(v, t, y->tag));                           \
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
        const CadDual *x = CAD_DUAL(operand);                                                     \
        if (x->kind == CAD_DUAL_FLOAT) {                                                          \
            const double v = val_##name(x->primal);                                               \
            const double t = cad_amul(d1_##name(x->primal, v), x->tangent);                       \
            return SEEN(name, operand, operand, cad_dual_new(v, t, x->tag));                      \
        }                                                                                         \
        return cad_apply1(CAD_OP_##name, operand);                                                \
    }

UNARY_SLOT(negative)
UNARY_SLOT(absolute)

static PyObject *slot_positive(PyObject *operand) {
    return CAD_IS_DUAL_ARRAY(operand) ? PyObject_CallMethod(operand, "copy", NULL)
                                      : Py_NewRef(operand);
}

static int slot_bool(CadDual *dual) {
    if (dual->kind == CAD_DUAL_ARRAY) { /* an empty one is false for some versions of NumPy */
        PyObject *size = PyObject_GetAttrString(dual->primal_object, "size");
        const Py_ssize_t count = size == NULL ? -1 : PyLong_AsSsize_t(size);
        Py_XDECREF(size);
        if (count < 0) {
            return -1;
        }
        return count == 1 ? PyObject_IsTrue(dual->primal_object) : cad_refuse_truth("Dual", count);
    }
    if (cad_state.guarding > 0 && cad_guard_truth((PyObject *)dual) < 0) {
        return -1;
    }
    return cad_primal((PyObject *)dual) != 0.0;
}

/* --- in-place operators --- */

/* As for Var: an array is written to, a single number bound to a new one. */
static PyObject *in_place(PyObject *target, PyObject *result) {
    if (result == NULL || result == Py_NotImplemented || !CAD_IS_DUAL_ARRAY(target)) {
        return result;
    }
    const int status = cad_dual_assign(CAD_DUAL(target), Py_Ellipsis, result);
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
    return in_place(base, cad_power(base, exponent, modulus));
}

/* --- the table of them --- */

PyNumberMethods cad_dual_number = {
    .nb_add = slot_add,
    .nb_subtract = slot_subtract,
    .nb_multiply = slot_multiply,
    .nb_remainder = slot_mod,
    .nb_divmod = cad_divmod,
    .nb_power = cad_power,
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
