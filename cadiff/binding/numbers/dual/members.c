/* The text and the attributes of Duals. Nothing is computed here. */
#include "numbers/dual/dual.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/components.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"

static PyObject *get_primal(CadDual *dual, void *closure) {
    (void)closure;
    return cad_dual_primal(dual);
}

/* The real part: the primal of a Dual made by hand, and the number itself in a transform. */
static PyObject *get_real(CadDual *dual, void *closure) {
    return cad_is_of_transform(dual->tag) ? Py_NewRef(dual) : get_primal(dual, closure);
}

static PyObject *get_tangent(CadDual *dual, void *closure) {
    (void)closure;
    return cad_dual_tangent(dual);
}

static PyObject *get_transpose(CadDual *dual, void *closure) {
    (void)closure;
    if (cad_ndim((PyObject *)dual) == 0) {
        return Py_NewRef(dual);
    }
    const int ndim = cad_ndim(dual->primal_object);
    PyObject *axes = PyTuple_New(ndim + cad_dual_has_lanes(dual));
    for (int i = 0; axes != NULL && i < PyTuple_GET_SIZE(axes); i++) {
        PyTuple_SET_ITEM(axes, i, PyLong_FromLong(i < ndim ? ndim - 1 - i : i));
    }
    PyObject *p = axes == NULL ? NULL : PyObject_GetAttrString(dual->primal_object, "T");
    PyObject *t =
        p == NULL ? NULL : PyObject_CallMethod(dual->tangent_object, "transpose", "(O)", axes);
    Py_XDECREF(axes);
    return cad_dual_of_parts(p, t, dual->tag);
}

PyGetSetDef cad_dual_attributes[] = {
    {"primal", (getter)get_primal, cad_refuse_value,
     "The value: a float if 0-d, else a fresh ndarray.", NULL},
    {"real", (getter)get_real, NULL,
     "Short for primal; inside of a transform, the Dual itself, with its derivative.", NULL},
    {"tangent", (getter)get_tangent, cad_refuse_value,
     "The derivative: of the primal's shape, or with one axis of lanes more.", NULL},
    {"dual", (getter)get_tangent, cad_refuse_value, "Short for tangent.", NULL},
    {"T", (getter)get_transpose, NULL, "The transpose.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyObject *cad_dual_str(CadDual *dual) {
    return cad_then(cad_dual_primal(dual), PyObject_Str);
}

PyObject *cad_dual_repr(CadDual *dual) {
    PyObject *primal = cad_dual_primal(dual);
    PyObject *tangent = cad_dual_tangent(dual);
    const char *layout = dual->kind == CAD_DUAL_ARRAY   ? "Dual(%S, %S)"
                         : dual->kind == CAD_DUAL_LANES ? "Dual(%R, %S)"
                                                        : "Dual(%R, %R)";
    PyObject *text =
        primal == NULL || tangent == NULL ? NULL : PyUnicode_FromFormat(layout, primal, tangent);
    Py_XDECREF(primal);
    Py_XDECREF(tangent);
    return text;
}

PyMethodDef cad_dual_methods[] = {
    {"seed", cad_dual_seed, METH_O | METH_CLASS,
     "seed($type, x, /)\n--\n\n"
     "A Dual with the identity as its tangent: one lane for each element of x, so that the result "
     "of a function carries all partial derivatives."},
    {NULL, NULL, 0, NULL},
};
