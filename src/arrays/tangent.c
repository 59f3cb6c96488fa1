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
                const CadStrip p =
                    cad_strip_partial(tape->scratch, op, k, x[0], x[1], x[2], x[3], n);
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
            CadTerm term = {plan, {NULL}, tangents.count, k, store, 1, room};
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

void cad_scatter_tangent(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes tangents,
                         double *room) {
    (void)room;
    cad_array_exchange(tape, entry, 0);
    for (int64_t i = 0; i < plan->size; i++) {
        const int64_t target = indexed(tape, plan, i);
        copy_lanes(tangents, entry.out + i, target);
        if (is_active(plan, 0)) {
            copy_lanes(tangents, target, scattered(plan, i));
        } else {
            clear_lanes(tangents, target, target + 1);
        }
    }
}

void cad_assign_tangent(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes tangents,
                        double *room) {
    (void)room;
    cad_array_exchange(tape, entry, 0);
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    int64_t kept = entry.out;
    do {
        for (size_t i = 0; i < walk.n; i++, kept++) {
            const int64_t target = walk.at[0] + (int64_t)i * walk.step[0];
            copy_lanes(tangents, kept, target);
            if (is_active(plan, 1)) {
                copy_lanes(tangents, target, walk.at[1] + (int64_t)i * walk.step[1]);
            } else {
                clear_lanes(tangents, target, target + 1);
            }
        }
    } while (advance(&walk));
}

void cad_add_at_tangent(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes tangents,
                        double *room) {
    (void)entry, (void)room;
    for (int64_t i = 0; i < plan->size && is_active(plan, 0); i++) {
        add_to_lanes(tangents, indexed(tape, plan, i), scattered(plan, i));
    }
}

void cad_gather_tangent(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes tangents,
                        double *room) {
    (void)room;
    if (!is_active(plan, 1)) {
        clear_lanes(tangents, entry.out, entry.out + entry.b);
        return;
    }
    for (int64_t i = 0; i < plan->size; i++) {
        copy_lanes(tangents, entry.out + i, indexed(tape, plan, i));
    }
}
