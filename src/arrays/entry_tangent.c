/* Tangents of what entries over arrays compute. */
#include "arrays/kinds.h"

/* Whether views begin at an entry's own slots: then nothing stands there yet. */
static void clear_result(const Walk *walk, CadLanes tangents, size_t n) {
    const CadStrip out = lanes_at(walk, 0, tangents, walk->first);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < tangents.count; k++) {
            out.data[(ptrdiff_t)i * out.step + (ptrdiff_t)k] = 0.0;
        }
    }
}

void cad_row_tangent(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes tangents,
                     double *room) {
    (void)room;
    const CadOp op = CAD_CODE_OP(entry.code);
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    while (next_tile(&walk)) {
        const size_t n = walk.width;
        const CadStrip out = lanes_at(&walk, 0, tangents, walk.first);
        CadStrip x[4], t[4];
        operands_at(&walk, walk.first, x);
        tangents_at(&walk, tangents, t);
        int store = 1;
        for (int k = 0; k < 3; k++) {
            if (t[k].data == NULL) {
                continue;
            }
            if (tangents.count == 1) {
                cad_strip_hand_on(tape->scratch, op, k, out, t[k], x, store, n);
            } else {
                const CadStrip p = cad_strip_partial(tape->scratch, op, k, x, n);
                cad_lanes_add_product(tangents.count, out, t[k], p, store, n);
            }
            store = 0;
        }
        if (store) {
            clear_result(&walk, tangents, n);
        }
    }
}

/* By one operand after the other: the operation is linear in each. */
void cad_term_tangent(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes tangents,
                      double *room) {
    const CadOp op = CAD_CODE_OP(entry.code);
    int store = !(cad_entry_kind(entry)->traits & CAD_ADDS);
    if (!store && !cad_plan_extra(plan)[0]) {
        clear_lanes(tangents, entry.out, entry.out + entry.b);
    }
    for (int k = 1; k < plan->n_views; k++) {
        if (is_active(plan, k)) {
            CadTerm term = {.plan = plan,
                            .lanes = tangents.count,
                            .along = k,
                            .store = store,
                            .absorbs = 1,
                            .room = room};
            cad_term_bind_values(tape, &term);
            term.room = tangents.count == 1 ? tape->workspace : room;
            term.data[0] = term.data[k] = origin_of(tangents);
            cad_term_run(op, &term);
            store = 0;
        }
    }
    if (store) {
        clear_lanes(tangents, entry.out, entry.out + entry.b);
    }
}
