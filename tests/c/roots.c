/* See roots.h. */
#include "roots.h"

Roots roots;

CadTape *tape_with_roots(void) {
    CadTape *tape = cad_tape_new();
    roots = (Roots){.count = 0};
    tape->make_room = reclaim_roots;
    return tape;
}

CadSlot hold(CadSlot slot) {
    roots.slots[roots.count++] = slot;
    return slot;
}

void reclaim_roots(CadTape *tape) {
    CadReclaim reclaim;
    roots.calls++;
    if (cad_reclaim_begin(tape, &reclaim) != CAD_OK) {
        return;
    }
    for (size_t i = 0; i < roots.count; i++) {
        cad_reclaim_hold_range(&reclaim, roots.slots[i], roots.slots[i] + 1);
    }
    cad_reclaim_trace(tape, &reclaim);
    for (size_t i = 0; i < roots.count; i++) {
        roots.slots[i] = cad_reclaim_target(&reclaim, roots.slots[i]);
    }
    cad_sweep_undo_dead(tape, &reclaim);
    cad_reclaim_compact(tape, &reclaim);
}
