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

void cad_sum_tangent(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes tangents,
                     double *room) {
    (void)room;
    if (!cad_plan_extra(plan)[0]) {
        clear_lanes(tangents, entry.out, entry.out + entry.b);
    }
    if (!is_active(plan, 1)) {
        return;
    }
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    do {
        cad_lanes_add(tangents.count, lanes_at(&walk, 0, tangents, 0),
                      lanes_at(&walk, 1, tangents, 0), 0, walk.n);
    } while (advance(&walk));
}

void cad_matmul_tangent(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes tangents,
                        double *room) {
    const size_t lanes = tangents.count;
    Walk walk;
    start_walk(&walk, tape, plan, 3);
    const int64_t *core = cad_plan_shape(plan) + walk.axes;
    const size_t m = (size_t)core[0], n = (size_t)core[1], p = (size_t)core[2];
    const int left = is_active(plan, 1), right = is_active(plan, 2);
    if (!left && !right) {
        clear_lanes(tangents, entry.out, entry.out + entry.b);
        return;
    }
    do {
        const CadMatrix out = matrix_of_lanes(&walk, 0, tangents, 0, 2);
        const CadMatrix a = matrix_of_values(&walk, 1, 0, 1), b = matrix_of_values(&walk, 2, 1, 2);
        if (right) {
            const CadMatrix t = matrix_of_lanes(&walk, 2, tangents, 1, 2);
            if (lanes == 1) {
                add_matrix_product(tape, out, a, t, 1, m, n, p);
            } else {
                cad_lanes_multiply(out, a, t, lanes, 1, m, n, p, room);
            }
        }
        if (left) {
            const CadMatrix t = matrix_of_lanes(&walk, 1, tangents, 0, 1);
            if (lanes == 1) {
                add_matrix_product(tape, out, t, b, !right, m, n, p);
            } else {
                cad_lanes_multiply_left(out, t, b, lanes, !right, m, n, p, room);
            }
        }
    } while (advance(&walk));
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
