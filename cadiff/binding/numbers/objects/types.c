/* The types that Python knows as Var and Dual: who they are. The module fills in their operators
 * when it is made ready: files may ask for a type without knowing the operators. */
#include "numbers/objects/types.h"

#define TYPE(name, layout, base)                                                                  \
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = name, .tp_basicsize = sizeof(layout),                \
                                .tp_flags = Py_TPFLAGS_DEFAULT, .tp_base = base,                  \
                                .tp_hash = PyObject_HashNotImplemented

PyTypeObject CadVar_Type = {
    TYPE("cadiff.Var", CadVar, NULL),
    .tp_doc = PyDoc_STR(
        "Var(value)\n--\n\n"
        "A number, or an array of numbers, whose operations are recorded for the reverse mode.\n\n"
        "value: a float, an int or an array-like of real numbers; copied to float64.\n"
        "Computing with a Var gives Vars; y.backward() adds dy/dx into x.grad of every leaf x.\n"),
};

PyTypeObject CadVarArray_Type = {
    TYPE("cadiff.Var", CadVar, &CadVar_Type),
    .tp_doc = PyDoc_STR("A Var that holds an array."),
};

PyTypeObject CadDual_Type = {
    TYPE("cadiff.Dual", CadDual, NULL),
    .tp_doc = PyDoc_STR(
        "Dual(primal, tangent=0.0)\n--\n\n"
        "A number and its derivative along one direction, or along several (lanes).\n\n"
        "primal: a real number, a Var, a Dual, or an array-like of real numbers.\n"
        "tangent: of the primal's shape, or with one axis of lanes more.\n"
        "Computing with a Dual is the forward mode. Duals made by hand share one perturbation.\n"),
};

PyTypeObject CadDualArray_Type = {
    TYPE("cadiff.Dual", CadDual, &CadDual_Type),
    .tp_doc = PyDoc_STR("A Dual that holds an array."),
};
