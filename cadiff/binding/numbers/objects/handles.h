/* Vars as handles of numbers on the tape: how they are made, and when they are let go of. */
#ifndef CADIFF_OBJECTS_HANDLES_H
#define CADIFF_OBJECTS_HANDLES_H

#include "numbers/objects/types.h"

/* Numbers are neither known to the cyclic garbage collector (they refer to no object) nor to
 * malloc: they live in slabs, so that the tape can find all that are alive, and are recycled
 * through a list of free ones, linked by `tape`. */
CAD_HIDDEN extern CadVar *cad_free_vars;
int cad_var_refill(void); /* 0, or -1 with MemoryError */

static inline CadVar *cad_var_allocate(void) {
    if (cad_free_vars == NULL && cad_var_refill() < 0) {
        return NULL;
    }
    CadVar *var = cad_free_vars;
    cad_free_vars = (CadVar *)var->tape;
    Py_SET_REFCNT(var, 1);
    return var;
}

/* A handle of a number on the tape. */
static inline PyObject *cad_var_new(CadTape *tape, CadSlot slot, double value) {
    CadVar *var = cad_var_allocate();
    if (var != NULL) {
        var->value = value;
        var->tape = tape;
        var->slot = slot;
        var->kind = CAD_SCALAR;
        if (slot >= tape->mark_slots) {
            tape->handles++;
        } else {
            cad_tape_count_handle(tape, slot, 1);
        }
    }
    return (PyObject *)var;
}

PyObject *cad_var_passive(double value);

/* A handle of `ndim` axes; strides NULL: contiguous. Of none it is a scalar, or with CAD_CELL
 * among the flags a view. */
PyObject *cad_var_view(CadTape *tape, CadSlot slot, int ndim, const npy_intp *shape,
                       const npy_intp *strides, uint32_t flags);

/* A stale number of these values, an array of float64: a part of one that is stale. */
PyObject *cad_var_stale(PyObject *values);

void cad_var_dealloc(CadVar *var);

/* Forget what came after the last mark; numbers that still refer to it become stale. */
void cad_rewind(CadTape *tape);

/* Reclaim what no living Var can reach; called by the tape when it has grown enough. */
void cad_var_make_room(CadTape *tape);

#endif
