/* The operators of Dual. The common case, a float and a float, is done here, and fast because
 * making the result is inlined; whatever else meets an operator goes the general way, through
 * operations/apply.c. */
#include "numbers/dual/dual.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/components.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/state.h"
#include "numbers/operations/operations.h"
#include "numbers/operations/slots.h"
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

CAD_BINARY_OPERATORS(BINARY_SLOT) /* slot_multiply and its like */

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

static int slot_bool(PyObject *number) {
    const npy_intp *lengths;
    if (CAD_IS_DUAL_ARRAY(number)) { /* an empty one is false for some versions of NumPy */
        const int ndim = cad_lengths(number, &lengths);
        const npy_intp size = PyArray_MultiplyList(lengths, ndim);
        return size == 1 ? PyObject_IsTrue(CAD_DUAL(number)->primal_object)
                         : cad_refuse_truth("Dual", size);
    }
    return cad_state.guarding > 0 && cad_guard_truth(number) < 0 ? -1 : cad_primal(number) != 0.0;
}

#define slot_power cad_power
PyNumberMethods cad_dual_number = CAD_NUMBER_METHODS;
