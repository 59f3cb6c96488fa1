/* The tape of a thread. */
#ifndef CADIFF_OBJECTS_THREADS_H
#define CADIFF_OBJECTS_THREADS_H

#include "numbers/objects/types.h"

/* The tape of this thread (borrowed), NULL with an exception. */
CadTape *cad_current_tape(void);

/* The owner of a tape is gone: it is freed once no number of it is left. */
void cad_desert_tape(CadTape *tape);

/* Let a tape reclaim what it has to before slots are taken down, and no more until unpinned: 0, or
 * -1 with an exception. */
int cad_pin(CadTape *tape);

#endif
