/* The kinds of table/kinds.def in single precision: what an entry computes of numbers that are
 * floats is what NumPy makes of floats. */
#ifndef CAD_ARRAYS_SINGLES_H
#define CAD_ARRAYS_SINGLES_H

#include "tape/entries.h"

void cad_single_term_value(CadTape *tape, CadEntry entry, CadPlan *plan);

#endif
