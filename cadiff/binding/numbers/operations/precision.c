/* Numbers and arrays in another precision, with their derivatives: what `astype` comes to. */
#include "numbers/operations/operations.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/components.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "tape/blocks.h"

static PyObject *plain_as(PyObject *plain, int type) {
    PyObject *array =
        type == NPY_FLOAT
            ? cad_as_floats(plain)
            : PyArray_FROMANY(plain, type, 0, 0, NPY_ARRAY_CARRAY | NPY_ARRAY_ENSUREARRAY);
    return array == NULL ? NULL : PyArray_Return((PyArrayObject *)array);
}

/* A Dual with another primal. */
static PyObject *with_primal(CadDual *dual, PyObject *convert(PyObject *)) {
    PyObject *const primal =
        dual->kind == CAD_DUAL_ARRAY ? Py_NewRef(dual->primal_object) : cad_dual_primal(dual);
    PyObject *p = cad_then(primal, convert);
    PyObject *t = p == NULL                      ? NULL
                  : dual->kind == CAD_DUAL_ARRAY ? Py_NewRef(dual->tangent_object)
                                                 : cad_dual_components(dual);
    PyObject *result = t == NULL ? NULL : cad_dual_from(p, t, dual->tag);
    Py_XDECREF(p);
    Py_XDECREF(t);
    return result;
}

PyObject *cad_narrowed(PyObject *number) {
    if (cad_is_single(number)) {
        return Py_NewRef(number);
    }
    if (CAD_IS_DUAL(number)) {
        return with_primal(CAD_DUAL(number), cad_narrowed);
    }
    /* A single number, too, becomes an array of no axes. */
    return CAD_IS_VAR(number) ? cad_state.table_of_var.apply(CAD_OP_single, &number)
                              : plain_as(number, NPY_FLOAT);
}

PyObject *cad_widened(PyObject *number) {
    if (!cad_is_single(number)) {
        return Py_NewRef(number);
    }
    if (CAD_IS_DUAL(number)) {
        return with_primal(CAD_DUAL(number), cad_widened);
    }
    if (!CAD_IS_VAR(number)) {
        PyObject *wide = plain_as(number, NPY_DOUBLE);
        return wide == NULL || cad_ndim(wide) > 0 ? wide : cad_then(wide, PyNumber_Float);
    }
    if (CAD_VAR(number)->kind == CAD_STALE) {
        PyObject *values = cad_state.table_of_var.values(number);
        if (values != NULL) {
            Py_SETREF(values, PyArray_FROMANY(values, NPY_DOUBLE, 0, 0, 0));
        }
        return cad_then(values, cad_var_stale);
    }
    /* The numbers are the same; those of an array, which may be assigned to, are copied. */
    PyObject *copy = cad_is_single_number(number)
                         ? Py_NewRef(number)
                         : cad_state.table_of_var.apply(CAD_OP_positive, &number);
    if (copy == NULL) {
        return NULL;
    }
    const CadVar *var = CAD_VAR(copy);
    const CadView *view = var->view;
    const int is_constant = view->flags & CAD_CONSTANT && view->ndim == 0 &&
                            cad_tape_is_constant(var->tape, var->slot);
    PyObject *wide = var->tape == NULL ? NULL
                     : is_constant
                         ? cad_var_passive(var->tape->values[var->slot])
                         : cad_var_view(var->tape, var->slot, view->ndim, CAD_SHAPE(view),
                                        CAD_STRIDES(view), view->flags & CAD_CONSTANT);
    Py_DECREF(copy);
    return wide;
}
