/* The kinds of table/kinds.def in single precision: of floats an entry computes as NumPy does. */
#ifndef CAD_ARRAYS_SINGLES_H
#define CAD_ARRAYS_SINGLES_H

#include "tape/entries.h"

void cad_single_term_value(CadTape *tape, CadEntry entry, CadPlan *plan);

#endif
