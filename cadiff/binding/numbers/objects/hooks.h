/* What the binding in Cython hangs on tapes: how sweeps carry out entries that are rules. */
#ifndef CADIFF_OBJECTS_HOOKS_H
#define CADIFF_OBJECTS_HOOKS_H

#include "numbers/objects/types.h"

#include "arrays/arrays.h"

/* Hand on the adjoints of the entry of a rule; 0, or -1 with an exception. */
extern int (*cad_rule_hook)(CadTape *tape, size_t entry);

static inline void set_rule_hook(int (*hook)(CadTape *, size_t)) {
    cad_rule_hook = hook;
}

/* What tape->slopes does. */
extern int (*cad_slopes_hook)(CadTape *tape, size_t entry, CadSlopes *slopes);

static inline void set_slopes_hook(int (*hook)(CadTape *, size_t, CadSlopes *)) {
    cad_slopes_hook = hook;
}

/* What tape->second_rule does at a rule, in sweeps of second order. */
extern int (*cad_second_rule_hook)(CadTape *tape, size_t entry, const CadAlong *along);

static inline void set_second_rule_hook(int (*hook)(CadTape *, size_t, const CadAlong *)) {
    cad_second_rule_hook = hook;
}

#endif
