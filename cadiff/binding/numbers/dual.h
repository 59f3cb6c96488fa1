/* What the rooms of Dual (_dual*.c) share among themselves. */
#ifndef CADIFF_NUMBERS_DUAL_H
#define CADIFF_NUMBERS_DUAL_H

#include "numbers/numbers.h"

/* --- _dual_operators.c --- */

void cad_dual_dealloc(CadDual *dual);

/* A Dual of several lanes, which the caller fills in. */
CadDual *cad_dual_new_lanes(double primal, size_t n_lanes, CadTag tag);

extern PyNumberMethods cad_dual_number;

/* --- _dual.c --- */

/* The tangent as the rules over objects take it: a number, or a tuple of numbers. */
PyObject *cad_dual_components(CadDual *dual);

/* --- _dual_apply.c --- */

enum { CAD_NO_LANES = -1 }; /* where a number of lanes is expected: the tangent is a single one */

static inline int cad_dual_has_lanes(const CadDual *dual) {
    return cad_ndim(dual->tangent_object) > cad_ndim(dual->primal_object);
}

/* A tangent that can be multiplied with a partial of `ndim` axes (and one for the lanes). */
PyObject *cad_aligned_tangent(CadDual *dual, int ndim, int lanes);

/* Give a tangent the whole shape of the value, and the lanes; it is the caller's alone then. */
PyObject *cad_whole_tangent(PyObject *total, PyObject *value, Py_ssize_t n_lanes, int shared);

/* --- _dual_make.c --- */

PyObject *cad_dual_make(PyTypeObject *type, PyObject *args, PyObject *kwargs);
PyObject *cad_dual_seed(PyObject *type, PyObject *x);

/* --- _dual_index.c --- */

PyObject *cad_dual_iter(CadDual *dual);
int cad_dual_assign(CadDual *dual, PyObject *key, PyObject *value);
extern PyMappingMethods cad_dual_mapping;
extern PySequenceMethods cad_dual_sequence;

#endif
