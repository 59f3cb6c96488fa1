/* See second.h. */
#include "arrays/second.h"

/* A strip as it is, or a copy that outlives the next call of the scratch. */
static CadStrip keep(CadStrip x, double *tile, size_t n) {
    const CadStrip kept = {tile, x.step == 0 ? 0 : 1};
    cad_strip_add(kept, x, 1, x.step == 0 ? 1 : n);
    return kept;
}

void second_tile(CadTape *tape, const CadAlong *along, const Walk *walk, CadOp op, CadStrip g,
                 const CadStrip x[4], const int store[4]) {
    static const double one = 1.0;
    const size_t n = walk->width, lanes = along->adjoints.count;
    CadScratch *const scratch = tape->scratch;
    const CadStrip gt = lanes_at(walk, 0, along->adjoints, walk->first);
    CadStrip t[4], to[3], p[3];
    tangents_at(walk, along->tangents, t);
    for (int k = 0; k < 3; k++) {
        if (t[k].data != NULL) {
            to[k] = lanes_at(walk, k + 1, along->adjoints, walk->first);
            p[k] = keep(cad_strip_partial(scratch, op, k, x[0], x[1], x[2], x[3], n),
                        cad_scratch_tile(scratch, k), n);
            cad_lanes_add_product(lanes, to[k], gt, p[k], store[k + 1], n);
        }
    }
    for (int by = 0; by < 3; by++) {
        for (int k = 0; k < 3; k++) {
            if (t[by].data == NULL || t[k].data == NULL) {
                continue;
            }
            CadStrip unit[4] = {{NULL, 0}, {NULL, 0}, {NULL, 0}, p[by]};
            unit[by] = (CadStrip){(double *)&one, 0};
            const CadStrip curve = cad_strip_dual_partial(scratch, op, k, x, unit, n).tangent;
            if (curve.data != NULL) {
                cad_lanes_add_curve(lanes, to[k], t[by], curve, g, n);
            }
        }
    }
}

static void exchange_lanes(CadLanes lanes, int64_t x, int64_t y) {
    for (size_t k = 0; k < lanes.count; k++) {
        exchange(lanes_of(lanes, x) + k, lanes_of(lanes, y) + k);
    }
}

void exchange_tangents(CadTape *tape, const CadAlong *along, CadEntry entry, CadPlan *plan) {
    if (cad_entry_kind(entry)->indexed) {
        for (int64_t i = plan->size; i-- > 0;) {
            exchange_lanes(along->tangents, indexed(tape, plan, i), entry.out + i);
        }
        return;
    }
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    int64_t kept = entry.out;
    do {
        for (size_t i = 0; i < walk.n; i++, kept++) {
            exchange_lanes(along->tangents, walk.at[0] + (int64_t)i * walk.step[0], kept);
        }
    } while (advance(&walk));
}
