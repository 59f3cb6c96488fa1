/* Vars as handles of numbers on the tape: how they are made, and when they are let go of. */
#ifndef CADIFF_OBJECTS_HANDLES_H
#define CADIFF_OBJECTS_HANDLES_H

#include "numbers/objects/types.h"

PyObject *cad_var_passive(double value);

/* A handle of `ndim` axes; strides NULL: contiguous. Of none it is a scalar, or with CAD_CELL or
 * CAD_SINGLE among the flags a view. */
PyObject *cad_var_view(CadTape *tape, CadSlot slot, int ndim, const npy_intp *shape,
                       const npy_intp *strides, uint32_t flags);

/* A stale number of these values, an array of float64 or float32: a part of one that is stale. */
PyObject *cad_var_stale(PyObject *values);

void cad_var_dealloc(CadVar *var);

/* Forget what came after the last mark; numbers that still refer to it become stale. */
void cad_rewind(CadTape *tape);

/* Reclaim what no living Var can reach; called by the tape when it has grown enough. */
void cad_var_make_room(CadTape *tape);

#endif
