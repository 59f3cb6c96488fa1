/* Tangents of entries over arrays, and tangents of their adjoints. */
#include "arrays_walk.h"

/* Add to the lanes of one view those of another, times `scale`, number by number. */
static void add_lanes(const Walk *walk, int to, Lanes target, int from, Lanes source, int store) {
    for (size_t k = 0; k < target.count; k++) {
        cad_strip_add(lane_at(walk, to, target, 0, k), lane_at(walk, from, source, 0, k), store,
                      walk->n);
    }
}

static void tangent_row(const CadTape *tape, CadOp op, CadPlan *plan, Lanes lanes) {
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    do {
        for (size_t first = 0; first < walk.n; first += CAD_TILE) {
            const size_t n = tile_from(&walk, first);
            CadStrip x[4];
            operands_at(&walk, first, x);
            for (int which = 1; which < plan->n_views; which++) {
                if (!is_active(plan, which)) {
                    continue;
                }
                const CadStrip p =
                    cad_strip_partial(tape->scratch, op, which - 1, x[0], x[1], x[2], x[3], n);
                for (size_t k = 0; k < lanes.count; k++) {
                    cad_strip_add_product(lane_at(&walk, 0, lanes, first, k),
                                          lane_at(&walk, which, lanes, first, k), p, 0, n);
                }
            }
        }
    } while (advance(&walk));
}

static void tangent_matmul(CadTape *tape, CadPlan *plan, Lanes lanes) {
    Walk walk;
    start_walk(&walk, tape, plan, 3);
    const int64_t *core = cad_plan_shape(plan) + walk.axes;
    const size_t m = (size_t)core[0], n = (size_t)core[1], p = (size_t)core[2];
    do {
        for (size_t k = 0; k < lanes.count; k++) {
            const CadMatrix out = lane_matrix(&walk, 0, lanes, k, 0, 2);
            if (is_active(plan, 1)) {
                add_matrix_product(tape, out, lane_matrix(&walk, 1, lanes, k, 0, 1),
                                   matrix_of_values(&walk, 2, 1, 2), 0, m, n, p);
            }
            if (is_active(plan, 2)) {
                add_matrix_product(tape, out, matrix_of_values(&walk, 1, 0, 1),
                                   lane_matrix(&walk, 2, lanes, k, 1, 2), 0, m, n, p);
            }
        }
    } while (advance(&walk));
}

static double *lanes_of(Lanes lanes, int64_t slot) {
    return lanes.buffer + (slot - lanes.base) * (int64_t)lanes.count;
}

static void copy_lanes(Lanes lanes, int64_t to, int64_t from) {
    memcpy(lanes_of(lanes, to), lanes_of(lanes, from), lanes.count * sizeof *lanes.buffer);
}

static void clear_lanes(Lanes lanes, int64_t slot) {
    memset(lanes_of(lanes, slot), 0, lanes.count * sizeof *lanes.buffer);
}

static void tangent_scatter(const CadTape *tape, CadEntry entry, CadPlan *plan, Lanes lanes) {
    for (int64_t i = 0; i < plan->size; i++) {
        const int64_t target = indexed(tape, plan, i);
        copy_lanes(lanes, entry.out + i, target);
        if (is_active(plan, 0)) {
            copy_lanes(lanes, target, scattered(plan, i));
        } else {
            clear_lanes(lanes, target);
        }
    }
}

static void tangent_assign(const CadTape *tape, CadEntry entry, CadPlan *plan, Lanes lanes) {
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    int64_t kept = entry.out;
    do {
        for (size_t i = 0; i < walk.n; i++, kept++) {
            const int64_t target = walk.at[0] + (int64_t)i * walk.step[0];
            copy_lanes(lanes, kept, target);
            if (is_active(plan, 1)) {
                copy_lanes(lanes, target, walk.at[1] + (int64_t)i * walk.step[1]);
            } else {
                clear_lanes(lanes, target);
            }
        }
    } while (advance(&walk));
}

void cad_array_tangent(const CadTape *tape, CadEntry entry, CadSlot base, size_t lanes,
                       double *tangents) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    const CadOp op = CAD_CODE_OP(entry.code);
    const Lanes all = {tangents, base, lanes};
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    switch (op) {
    case CAD_OP_ASSIGN:
        cad_array_exchange((CadTape *)tape, entry, 0);
        tangent_assign(tape, entry, plan, all);
        break;
    case CAD_OP_SCATTER:
        cad_array_exchange((CadTape *)tape, entry, 0);
        tangent_scatter(tape, entry, plan, all);
        break;
    case CAD_OP_ADD_AT:
        for (int64_t i = 0; i < plan->size && is_active(plan, 0); i++) {
            for (size_t k = 0; k < lanes; k++) {
                lanes_of(all, indexed(tape, plan, i))[k] += lanes_of(all, scattered(plan, i))[k];
            }
        }
        break;
    case CAD_OP_SUM:
        do {
            if (is_active(plan, 1)) {
                add_lanes(&walk, 0, all, 1, all, 0);
            }
        } while (advance(&walk));
        break;
    case CAD_OP_MATMUL:
        tangent_matmul((CadTape *)tape, plan, all);
        break;
    case CAD_OP_GATHER:
        for (int64_t i = 0; i < plan->size && is_active(plan, 1); i++) {
            memcpy(lanes_of(all, entry.out + i), lanes_of(all, indexed(tape, plan, i)),
                   lanes * sizeof *tangents);
        }
        break;
    default:
        tangent_row(tape, op, plan, all);
    }
}

static void second_row(CadTape *tape, CadOp op, CadPlan *plan, Lanes tangents, Lanes results) {
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    do {
        for (size_t first = 0; first < walk.n; first += CAD_TILE) {
            const size_t n = tile_from(&walk, first);
            const CadStrip g = strip_at(&walk, 0, tape->adjoints, first);
            CadStrip x[4];
            operands_at(&walk, first, x);
            for (int which = 1; which < plan->n_views; which++) {
                for (size_t k = 0; is_active(plan, which) && k < tangents.count; k++) {
                    const CadStrip to = lane_at(&walk, which, results, first, k);
                    const CadStrip p =
                        cad_strip_partial(tape->scratch, op, which - 1, x[0], x[1], x[2], x[3], n);
                    cad_strip_add_product(to, lane_at(&walk, 0, results, first, k), p, 0, n);
                    CadStrip t[4] = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
                    for (int j = 1; j < plan->n_views; j++) {
                        if (is_active(plan, j)) {
                            t[j - 1] = lane_at(&walk, j, tangents, first, k);
                        }
                    }
                    t[3] = lane_at(&walk, 0, tangents, first, k);
                    const CadStrip curve =
                        cad_strip_curvature(tape->scratch, op, which - 1, x, t, n);
                    if (curve.data != NULL) {
                        cad_strip_add_product(to, g, curve, 0, n);
                    }
                }
            }
        }
    } while (advance(&walk));
}

static void second_matmul(CadTape *tape, CadPlan *plan, Lanes tangents, Lanes results) {
    Walk walk;
    start_walk(&walk, tape, plan, 3);
    const int64_t *core = cad_plan_shape(plan) + walk.axes;
    const size_t m = (size_t)core[0], n = (size_t)core[1], p = (size_t)core[2];
    do {
        const CadMatrix g = matrix_at(&walk, 0, tape->adjoints + walk.at[0], 0, 2);
        for (size_t k = 0; k < tangents.count; k++) {
            const CadMatrix gt = lane_matrix(&walk, 0, results, k, 0, 2);
            if (is_active(plan, 1)) {
                const CadMatrix to = lane_matrix(&walk, 1, results, k, 0, 1);
                add_matrix_product(tape, to, gt, matrix_of_values(&walk, 2, 2, 1), 0, m, p, n);
                if (is_active(plan, 2)) {
                    add_matrix_product(tape, to, g, lane_matrix(&walk, 2, tangents, k, 2, 1), 0, m,
                                       p, n);
                }
            }
            if (is_active(plan, 2)) {
                const CadMatrix to = lane_matrix(&walk, 2, results, k, 1, 2);
                add_matrix_product(tape, to, matrix_of_values(&walk, 1, 1, 0), gt, 0, n, m, p);
                if (is_active(plan, 1)) {
                    add_matrix_product(tape, to, lane_matrix(&walk, 1, tangents, k, 1, 0), g, 0, n,
                                       m, p);
                }
            }
        }
    } while (advance(&walk));
}

static void exchange_lanes(Lanes lanes, int64_t x, int64_t y) {
    for (size_t k = 0; k < lanes.count; k++) {
        exchange(lanes_of(lanes, x) + k, lanes_of(lanes, y) + k);
    }
}

/* Tangents go back to what they were, as the values do. */
static void second_assign(const CadTape *tape, CadEntry entry, CadPlan *plan, Lanes tangents,
                          Lanes results) {
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    int64_t kept = entry.out;
    do {
        if (is_active(plan, 1)) {
            add_lanes(&walk, 1, results, 0, results, 0);
        }
        for (size_t i = 0; i < walk.n; i++, kept++) {
            const int64_t target = walk.at[0] + (int64_t)i * walk.step[0];
            copy_lanes(results, target, kept);
            exchange_lanes(tangents, target, kept);
        }
    } while (advance(&walk));
}

static void second_scatter(const CadTape *tape, CadEntry entry, CadPlan *plan, Lanes tangents,
                           Lanes results) {
    for (int64_t i = plan->size; i-- > 0;) {
        const int64_t target = indexed(tape, plan, i);
        for (size_t k = 0; k < results.count && is_active(plan, 0); k++) {
            lanes_of(results, scattered(plan, i))[k] += lanes_of(results, target)[k];
        }
        copy_lanes(results, target, entry.out + i);
        exchange_lanes(tangents, target, entry.out + i);
    }
}

void cad_array_second(CadTape *tape, CadEntry entry, CadSlot base, size_t lanes, double *tangents,
                      double *adjoint_tangents) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    const CadOp op = CAD_CODE_OP(entry.code);
    const Lanes along = {tangents, base, lanes};
    const Lanes results = {adjoint_tangents, base, lanes};
    if (!overwrites(op) && op != CAD_OP_ADD_AT &&
        cad_tape_is_untouched(tape, (CadSlot)cad_plan_view(plan, 0)[0])) {
        return; /* no adjoint has reached it, so no tangent of one has */
    }
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    switch (op) {
    case CAD_OP_ASSIGN:
        second_assign(tape, entry, plan, along, results);
        break;
    case CAD_OP_SCATTER:
        second_scatter(tape, entry, plan, along, results);
        break;
    case CAD_OP_ADD_AT:
        for (int64_t i = 0; i < plan->size && is_active(plan, 0); i++) {
            for (size_t k = 0; k < lanes; k++) {
                lanes_of(results, scattered(plan, i))[k] +=
                    lanes_of(results, indexed(tape, plan, i))[k];
            }
        }
        break;
    case CAD_OP_SUM:
        do {
            if (is_active(plan, 1)) {
                add_lanes(&walk, 1, results, 0, results, 0);
            }
        } while (advance(&walk));
        break;
    case CAD_OP_MATMUL:
        second_matmul(tape, plan, along, results);
        break;
    case CAD_OP_GATHER:
        for (int64_t i = 0; i < plan->size && is_active(plan, 1); i++) {
            for (size_t k = 0; k < lanes; k++) {
                lanes_of(results, indexed(tape, plan, i))[k] +=
                    lanes_of(results, entry.out + i)[k];
            }
        }
        break;
    default:
        second_row(tape, op, plan, along, results);
    }
    cad_array_hand_on(
        tape, entry,
        plan); /* adjoints of 0 as well: what reads them tells by them what was reached */
}
