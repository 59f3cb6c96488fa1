/* Tangents of adjoints: what entries over arrays propagate along several directions. */
#ifndef CAD_ARRAYS_SECOND_H
#define CAD_ARRAYS_SECOND_H

#include "arrays/walk.h"

/* What a row propagates in a tile, whose adjoints are g, along several directions: partials and
 * their derivatives are computed once for all. `store` tells which views are overwritten. */
void second_tile(CadTape *tape, const CadAlong *along, const Walk *walk, CadOp op, CadStrip g,
                 const CadStrip x[4], const int store[4]);

/* Tangents go back to what they were, as the values do. */
void exchange_tangents(CadTape *tape, const CadAlong *along, CadEntry entry, CadPlan *plan);

/* Add to a row of one view that of another, or store it. */
static inline void add_lanes(const Walk *walk, CadLanes lanes, int to, int from, int store) {
    cad_lanes_add(lanes.count, lanes_at(walk, to, lanes, 0), lanes_at(walk, from, lanes, 0), store,
                  walk->n);
}

/* The tangents of kept numbers' adjoints go back to the target; zeros, if there are none. */
static inline void give_back(CadLanes lanes, int64_t target, int64_t kept, int exists) {
    if (exists) {
        copy_lanes(lanes, target, kept);
    } else {
        clear_lanes(lanes, target, target + 1);
    }
}

#endif
