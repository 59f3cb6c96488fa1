/* Vars as handles of numbers on the tape of a thread: how they are made, and when they are let go
 * of. */
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

/* --- the tape of a thread --- */

/* The tape of this thread (borrowed), NULL with an exception. */
CadTape *cad_current_tape(void);

/* Have this thread record on a new tape, since its own is in the midst of a sweep. Answers what
 * cad_return_to_tape wants to be given, or NULL. */
PyObject *cad_enter_new_tape(void);

/* Have it record where it did before; the new tape is freed with the last of its numbers. */
int cad_return_to_tape(PyObject *before);

/* The owner of a tape is gone: it is freed once no number of it is left. */
void cad_desert_tape(CadTape *tape);

/* Let a tape reclaim what it has to before slots are taken down, and no more until unpinned: 0, or
 * -1 with an exception. */
int cad_pin(CadTape *tape);

#endif
