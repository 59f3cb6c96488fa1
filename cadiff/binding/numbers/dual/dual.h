/* What a Dual does: operations on it by the partials of the table, indexing, attributes,
 * operators. */
#ifndef CADIFF_DUAL_H
#define CADIFF_DUAL_H

#include "numbers/objects/state.h"

/* --- operations (tangents.c) --- */

/* An operation at least one of whose operands is a Dual, the others any numbers. */
PyObject *cad_dual_apply(CadOp op, PyObject *const *operands);

/* A Dual that an operation made (or NULL), once it has been looked at. */
PyObject *cad_dual_show(CadOp op, PyObject *const *operands, PyObject *dual);

static inline PyObject *cad_dual_seen(CadOp op, PyObject *x, PyObject *y, PyObject *dual) {
    PyObject *const operands[2] = {x, y};
    return cad_state.dual_hook == NULL ? dual : cad_dual_show(op, operands, dual);
}

enum { CAD_NO_LANES = -1 }; /* where a number of lanes is expected: the tangent is a single one */

/* A tangent that can be multiplied with a partial of `ndim` axes (and one for the lanes). */
PyObject *cad_aligned_tangent(CadDual *dual, int ndim, int lanes);

/* Give a tangent the whole shape of the value, and the lanes; it is the caller's alone then. */
PyObject *cad_whole_tangent(PyObject *total, PyObject *value, Py_ssize_t n_lanes, int shared);

/* Raise StaleVarError if a Dual that has outlived its computation stands beside what is alive. */
int cad_check_alive(PyObject *const *numbers, Py_ssize_t n);

/* --- making (constructors.c) --- */

PyObject *cad_dual_make(PyTypeObject *type, PyObject *args, PyObject *kwargs);
PyObject *cad_dual_seed(PyObject *type, PyObject *x);

/* --- indexing (index.c) --- */

/* An object array of scalar Duals; the primal of an array Dual without derivatives. */
PyObject *cad_dual_elements(PyObject *array);
PyObject *cad_dual_values(PyObject *array);

PyObject *cad_dual_iter(CadDual *dual);
int cad_dual_assign(CadDual *dual, PyObject *key, PyObject *value);
extern PyMappingMethods cad_dual_mapping, cad_dual_array_mapping;
extern PySequenceMethods cad_dual_sequence;

/* --- operators (operators.c) --- */

extern PyNumberMethods cad_dual_number;

/* --- text and attributes (members.c) --- */

PyObject *cad_dual_repr(CadDual *dual);
PyObject *cad_dual_str(CadDual *dual);
extern PyGetSetDef cad_dual_attributes[];
extern PyMethodDef cad_dual_methods[];

#endif
