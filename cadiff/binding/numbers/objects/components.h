/* Duals as pairs of components: how they are made and taken apart. */
#ifndef CADIFF_OBJECTS_COMPONENTS_H
#define CADIFF_OBJECTS_COMPONENTS_H

#include "numbers/objects/classify.h"
#include "numbers/objects/state.h"

static inline CadDual *cad_dual_allocate(CadDualKind kind, CadTag tag) {
    CadDual *dual = cad_state.free_duals;
    if (dual != NULL) {
        cad_state.free_duals = (CadDual *)dual->primal_object;
        cad_state.n_free_duals--;
        Py_SET_REFCNT(dual, 1);
    } else if ((dual = PyObject_New(CadDual, &CadDual_Type)) == NULL) {
        return NULL;
    }
    Py_SET_TYPE(dual, kind == CAD_DUAL_ARRAY ? &CadDualArray_Type : &CadDual_Type);
    dual->kind = kind;
    dual->tag = tag;
    dual->n_lanes = 0;
    return dual;
}

static inline PyObject *cad_dual_new(double primal, double tangent, CadTag tag) {
    CadDual *dual = cad_dual_allocate(CAD_DUAL_FLOAT, tag);
    if (dual != NULL) {
        dual->primal = primal;
        dual->tangent = tangent;
    }
    return (PyObject *)dual;
}

/* A Dual of several lanes, which the caller fills in. */
CadDual *cad_dual_new_lanes(double primal, size_t n_lanes, CadTag tag);

/* From any components; a Dual of floats where they are floats. Tangent: a number, or a tuple of
 * numbers (lanes), or for an array primal an array. */
PyObject *cad_dual_from(PyObject *primal, PyObject *tangent, CadTag tag);

/* A view of no axes: of components that are such views, and for lanes one of one axis. */
PyObject *cad_dual_cell(PyObject *primal, PyObject *tangent, CadTag tag);

/* A Dual of parts of another one, which it takes over: of views of no axes such a view. NULL is
 * what has failed. */
PyObject *cad_dual_of_parts(PyObject *primal, PyObject *tangent, CadTag tag);

void cad_dual_dealloc(CadDual *dual);

/* A tag above all that are in use. */
CadTag cad_fresh_tag(void);

/* Whether a Dual of this tag was made by a transform, not by hand. */
bool cad_is_of_transform(CadTag tag);

PyObject *cad_dual_primal(CadDual *dual);
PyObject *cad_dual_tangent(CadDual *dual);

/* The tangent as the partials over objects take it: a number, or a tuple of numbers. */
PyObject *cad_dual_components(CadDual *dual);

static inline int cad_dual_has_lanes(const CadDual *dual) {
    return cad_ndim(dual->tangent_object) > cad_ndim(dual->primal_object);
}

#endif
