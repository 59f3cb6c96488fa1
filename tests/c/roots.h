/* Who holds numbers of a tape: here the tests, as Python does with its Vars. There is one set of
 * roots, since make_room is told the tape alone. */
#ifndef ROOTS_H
#define ROOTS_H

#include "on_tape.h"

enum { MOST_ROOTS = 64 };

typedef struct Roots {
    CadSlot slots[MOST_ROOTS];
    size_t count;
    size_t calls; /* of reclaim_roots */
} Roots;

extern Roots roots;

/* A tape that reclaims what the roots do not reach; there are none yet. */
CadTape *tape_with_roots(void);

/* Make a slot a root. */
CadSlot hold(CadSlot slot);

/* The make_room of the tests: roots follow their numbers. */
void reclaim_roots(CadTape *tape);

#endif
