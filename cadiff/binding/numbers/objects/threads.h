/* The tape of a thread. */
#ifndef CADIFF_OBJECTS_THREADS_H
#define CADIFF_OBJECTS_THREADS_H

#include "numbers/objects/types.h"

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
