/* The tape of a thread, and what the binding in Cython hangs on it. */
#ifndef CADIFF_OBJECTS_TAPE_H
#define CADIFF_OBJECTS_TAPE_H

#include "numbers/objects/errors.h"

#include "arrays/lanes.h"

/* The tape of this thread (borrowed), NULL with an exception. */
CadTape *cad_current_tape(void);

/* Let a tape reclaim what it has to before slots are taken down, and no more until unpinned: 0, or
 * -1 with an exception. */
static inline int cad_pin(CadTape *tape) {
    const CadStatus status = cad_tape_ensure(tape);
    if (status != CAD_OK) {
        return cad_raise_status(status);
    }
    cad_tape_pin(tape);
    return 0;
}

/* Set by the binding: hand on the adjoints of the entry of a rule; 0, or -1 with an exception. */
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
