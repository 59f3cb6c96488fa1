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

static void add_product(CadTape *tape, const CadAlong *along, CadMatrix to, CadMatrix a,
                        CadMatrix t, int store, size_t rows, size_t inner, size_t columns) {
    const size_t lanes = along->adjoints.count;
    if (lanes == 1) {
        add_matrix_product(tape, to, a, t, store, rows, inner, columns);
    } else {
        cad_lanes_multiply(to, a, t, lanes, store, rows, inner, columns, along->room);
    }
}

static void add_product_left(CadTape *tape, const CadAlong *along, CadMatrix to, CadMatrix t,
                             CadMatrix b, int store, size_t rows, size_t inner, size_t columns) {
    const size_t lanes = along->adjoints.count;
    if (lanes == 1) {
        add_matrix_product(tape, to, t, b, store, rows, inner, columns);
    } else {
        cad_lanes_multiply_left(to, t, b, lanes, store, rows, inner, columns, along->room);
    }
}

void second_matmul(CadTape *tape, const CadAlong *along, const Walk *walk, CadMatrix g,
                   int store_a, int store_b) {
    CadPlan *plan = walk->plan;
    const int64_t *core = cad_plan_shape(plan) + walk->axes;
    const size_t m = (size_t)core[0], n = (size_t)core[1], p = (size_t)core[2];
    const int left = is_active(plan, 1), right = is_active(plan, 2);
    const CadMatrix gt = matrix_of_lanes(walk, 0, along->adjoints, 0, 2);
    if (left) {
        const CadMatrix to = matrix_of_lanes(walk, 1, along->adjoints, 0, 1);
        add_product_left(tape, along, to, gt, matrix_of_values(walk, 2, 2, 1), store_a, m, p, n);
        if (right) {
            const CadMatrix t = matrix_of_lanes(walk, 2, along->tangents, 2, 1);
            add_product(tape, along, to, g, t, 0, m, p, n);
        }
    }
    if (right) {
        const CadMatrix to = matrix_of_lanes(walk, 2, along->adjoints, 1, 2);
        add_product(tape, along, to, matrix_of_values(walk, 1, 1, 0), gt, store_b, n, m, p);
        if (left) {
            const CadMatrix t = matrix_of_lanes(walk, 1, along->tangents, 1, 0);
            add_product_left(tape, along, to, t, g, 0, n, m, p);
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
