/* What the rooms of Var (_var*.c) share among themselves. */
#ifndef CADIFF_NUMBERS_VAR_H
#define CADIFF_NUMBERS_VAR_H

#include "numbers/numbers.h"

/* --- _var_handles.c --- */

void cad_var_dealloc(CadVar *var);

/* Reclaim what no living Var can reach; called by the tape when it has grown enough. */
void cad_var_make_room(CadTape *tape);

/* --- _var_views.c --- */

/* Step an index through all elements of a view; answers the slot of the next one. */
static inline CadSlot cad_view_next(const CadView *view, npy_intp *index, CadSlot slot) {
    for (int axis = view->ndim; axis-- > 0;) {
        const npy_intp stride = CAD_STRIDES(view)[axis];
        slot += (CadSlot)stride;
        if (++index[axis] < CAD_SHAPE(view)[axis]) {
            break;
        }
        slot -= (CadSlot)(stride * index[axis]);
        index[axis] = 0;
    }
    return slot;
}

/* A copy of what a Var views in a buffer whose first number is that of slot `base`. */
PyObject *cad_var_transient_copy(const CadVar *var, double *buffer, size_t base);

PyObject *cad_var_iter(CadVar *var);
extern PyMappingMethods cad_var_mapping;
extern PySequenceMethods cad_var_sequence;

/* --- _var_grad.c --- */

PyObject *cad_var_get_grad(CadVar *var, void *closure);
extern PyMethodDef cad_var_methods[];

/* --- _var_operators.c --- */

extern PyNumberMethods cad_var_number;

#endif
