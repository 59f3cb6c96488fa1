/* The memory of Vars, and a new one for a number, which every operation makes: inlined. */
#ifndef CADIFF_OBJECTS_SLABS_H
#define CADIFF_OBJECTS_SLABS_H

#include "numbers/objects/state.h"

#include "tape/tape.h"

/* Numbers are neither known to the cyclic garbage collector (they refer to no object) nor to
 * malloc: they live in slabs, so that the tape can find all that are alive, and are recycled
 * through a list of free ones, linked by `tape`. */
int cad_var_refill(void); /* 0, or -1 with MemoryError */

/* Give back the slabs in which nothing lives, if there are many: walks over all handles stay short
 * after many have lived at once. */
void cad_slabs_release(void);

/* Call visit(var, context) for all living handles of a tape. */
void cad_each_var(const CadTape *tape, void (*visit)(CadVar *, void *), void *context);

static inline CadVar *cad_var_allocate(void) {
    if (cad_state.free_vars == NULL && cad_var_refill() < 0) {
        return NULL;
    }
    CadVar *var = cad_state.free_vars;
    cad_state.free_vars = (CadVar *)var->tape;
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

#endif
