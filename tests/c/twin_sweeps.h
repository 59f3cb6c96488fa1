/* Sweeps over both tapes of a twin, compared. */
#ifndef TWIN_SWEEPS_H
#define TWIN_SWEEPS_H

#include "twin.h"

/* How far a number may be off. */
double nearly(double x);

void twin_check_values(const Twin *twin);

/* Add to the adjoint of a number that stands at a slot now. */
void twin_seed(Twin *twin, CadSlot slot, double weight);

/* Clear the adjoints of both tapes and seed some of them: of one array as a whole, and of others
 * here and there. */
void twin_seed_all(Twin *twin, Random *random);

void reverse_arrays(CadTape *tape, size_t transient, int accumulate);
void twin_reverse(Twin *twin, int accumulate);

/* Whether the adjoint of a slot can be told from outside: of kept values, and of what was a
 * constant at first, it cannot. */
int twin_is_comparable(const Twin *twin, size_t slot);

void twin_check_adjoints(const Twin *twin);

/* Tangents of all slots, along random ones of the leaves. */
typedef struct Tangents {
    double *arrays;
    double *numbers;
} Tangents;

Tangents twin_tangents(Twin *twin, Random *random, size_t lanes);
void free_tangents(Tangents *tangents);

/* Tangents, and those of the reverse sweep. */
void twin_check_second(Twin *twin, Random *random, size_t lanes);

#endif
