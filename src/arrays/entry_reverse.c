/* Adjoints of entries over arrays: each hands those of its result on to its operands, and in
 * sweeps of second order (`along` is not NULL) the tangents of adjoints as well. */
#include "arrays/kinds.h"

/* Whether a view has its elements side by side, in order. */
static int is_contiguous(CadPlan *plan, int view) {
    int64_t stride = 1;
    for (int i = plan->ndim; i-- > 0;) {
        if (cad_plan_view(plan, view)[i + 1] != stride) {
            return 0;
        }
        stride *= cad_plan_shape(plan)[i];
    }
    return 1;
}

static void clear(CadTape *tape, const CadAlong *along, int64_t low, int64_t high) {
    memset(cad_tape_adjoints(tape, low) + low, 0,
           (size_t)(high - low + 1) * sizeof *tape->adjoints);
    if (along != NULL) {
        clear_lanes(along->adjoints, low, high + 1);
    }
}

/* Make adjoints ready to be added to; 1 if they are a whole block that is to be overwritten. */
static int touch_range(CadTape *tape, const CadAlong *along, int64_t low, int64_t high) {
    const int first = along != NULL && cad_tape_is_untouched(tape, (CadSlot)low);
    const int whole = cad_tape_touch(tape, (size_t)low, (size_t)high);
    if (first && !whole) {
        const CadBlock *block = cad_tape_find_block(tape, (CadSlot)low);
        clear_lanes(along->adjoints, block->begin, block->end);
    }
    return whole;
}

void cad_array_prepare(CadTape *tape, const CadAlong *along, int64_t low, int64_t high) {
    if (touch_range(tape, along, low, high)) {
        clear(tape, along, low, high);
    }
}

/* Make the adjoints of a view ready to be added to; 1 if they are to be overwritten instead. */
static int touch(CadTape *tape, const CadAlong *along, CadPlan *plan, int view) {
    int64_t low, high;
    cad_plan_bounds(plan, view, &low, &high);
    if (!touch_range(tape, along, low, high)) {
        return 0;
    }
    /* A view that covers its block in another order is not worth telling apart. */
    const int whole = is_contiguous(plan, view);
    if (!whole) {
        clear(tape, along, low, high);
    }
    return whole;
}

/* Whether two views have slots in common, but not one by one. */
static int are_entangled(CadPlan *plan, int a, int b) {
    int64_t low[2], high[2];
    cad_plan_bounds(plan, a, &low[0], &high[0]);
    cad_plan_bounds(plan, b, &low[1], &high[1]);
    const size_t length = (size_t)(plan->ndim + 1) * sizeof(int64_t);
    return low[0] <= high[1] && low[1] <= high[0] &&
           memcmp(cad_plan_view(plan, a), cad_plan_view(plan, b), length) != 0;
}

/* Make the adjoints of all operands of a row ready. They take turns, so what one of them
 * overwrites another must not have added to before. */
void cad_array_touch_operands(CadTape *tape, const CadAlong *along, CadPlan *plan, int store[4]) {
    for (int k = 1; k < plan->n_views; k++) {
        store[k] = is_active(plan, k) && touch(tape, along, plan, k);
        for (int first = 1; first < k; first++) {
            if (store[first] && is_active(plan, k) && are_entangled(plan, first, k)) {
                int64_t low, high;
                cad_plan_bounds(plan, first, &low, &high);
                clear(tape, along, low, high);
                store[first] = 0;
            }
        }
    }
}

/* A strip as it is, or a copy that outlives the next call of the scratch. */
static CadStrip keep(CadStrip x, double *tile, size_t n) {
    const CadStrip kept = {tile, x.step == 0 ? 0 : 1};
    cad_strip_add(kept, x, 1, x.step == 0 ? 1 : n);
    return kept;
}

/* What a row propagates in a tile, whose adjoints are g, along several directions: partials and
 * their derivatives are computed once for all. `store` tells which views are overwritten. */
static void second_tile(CadTape *tape, const CadAlong *along, const Walk *walk, CadOp op,
                        CadStrip g, const CadStrip x[4], const int store[4]) {
    static const double one = 1.0;
    const size_t n = walk->width, lanes = along->adjoints.count;
    CadScratch *const scratch = tape->scratch;
    const CadStrip gt = lanes_at(walk, 0, along->adjoints, walk->first);
    CadStrip t[4], to[3], p[3];
    tangents_at(walk, along->tangents, t);
    for (int k = 0; k < 3; k++) {
        if (t[k].data != NULL) {
            to[k] = lanes_at(walk, k + 1, along->adjoints, walk->first);
            p[k] = keep(cad_strip_partial(scratch, op, k, x, n), cad_scratch_tile(scratch, k), n);
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

void cad_row_reverse(CadTape *tape, const CadAlong *along, CadEntry entry, CadPlan *plan) {
    const CadOp op = CAD_CODE_OP(entry.code);
    int store[4];
    double *adjoints[4];
    cad_array_touch_operands(tape, along, plan, store);
    for (int k = 1; k < plan->n_views; k++) {
        adjoints[k] = cad_tape_adjoints(tape, cad_plan_view(plan, k)[0]);
    }
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    const int single = along != NULL && along->adjoints.count == 1;
    while (next_tile(&walk)) {
        const size_t first = walk.first, n = walk.width;
        CadStrip x[4], t[4], g[2] = {strip_at(&walk, 0, tape->adjoints, first)};
        operands_at(&walk, first, x);
        if (single) {
            tangents_at(&walk, along->tangents, t);
            g[1] = lanes_at(&walk, 0, along->adjoints, first);
        } else if (along != NULL) {
            second_tile(tape, along, &walk, op, g[0], x, store);
        }
        for (int k = 1; k < plan->n_views; k++) {
            if (!is_active(plan, k)) {
                continue;
            }
            CadStrip to[2] = {strip_at(&walk, k, adjoints[k], first)};
            if (single) {
                to[1] = lanes_at(&walk, k, along->adjoints, first);
                cad_strip_hand_on_second(tape->scratch, op, k - 1, to, g, x, t, store[k], n);
            } else {
                cad_strip_hand_on(tape->scratch, op, k - 1, to[0], g[0], x, store[k], n);
            }
        }
    }
}

/* Make the adjoints of the target of a request ready; 1 if they are to be overwritten. */
static int touch_target(CadTape *tape, const CadAlong *along, CadOp op, CadPlan *request) {
    int64_t low, high;
    cad_plan_bounds(request, 0, &low, &high);
    if (!touch_range(tape, along, low, high)) {
        return 0;
    }
    const int whole = cad_term_fills(op, request, 0, high - low + 1);
    if (!whole) {
        clear(tape, along, low, high);
    }
    return whole;
}

/* The tangent of a request: by each of its operands, which has one. */
static void request_second(CadTape *tape, const CadAlong *along, const CadPull *pull,
                           CadPlan *plan, CadTerm term) {
    const size_t lanes = along->adjoints.count;
    double *const values[3] = {NULL, term.data[1], term.data[2]};
    term.lanes = lanes;
    term.room = lanes == 1 ? tape->workspace : along->room;
    term.data[0] = origin_of(along->adjoints);
    term.floats[0] = NULL;
    for (int turn = 0; turn < 2; turn++) { /* the one that is stored comes first */
        for (int k = 1; k < term.plan->n_views; k++) {
            const int view = pull->of[k - 1];
            if ((view == CAD_G) != (turn == 0) || (view != CAD_G && !is_active(plan, view))) {
                continue;
            }
            term.along = k;
            term.data[k] = origin_of(view == CAD_G ? along->adjoints : along->tangents);
            cad_term_run(pull->op, &term);
            term.data[k] = values[k];
            term.store = 0;
        }
    }
}

void cad_term_reverse(CadTape *tape, const CadAlong *along, CadEntry entry, CadPlan *plan) {
    CadRequestedPlan room;
    for (int which = 1; which < plan->n_views; which++) {
        if (!is_active(plan, which)) {
            continue;
        }
        const CadPull *const pull = &cad_entry_kind(entry)->pull[which - 1];
        CadTerm term = {.plan = cad_term_request(pull, plan, which, &room),
                        .lanes = 1,
                        .room = tape->workspace};
        if (along != NULL) {
            cad_term_bind_values(tape, &term);
        } else {
            cad_term_bind(tape, pull->op, &term);
        }
        for (int k = 1; k < term.plan->n_views; k++) {
            if (pull->of[k - 1] == CAD_G) {
                term.data[k] = tape->adjoints;
                term.floats[k] = NULL;
            }
        }
        term.store = touch_target(tape, along, pull->op, term.plan);
        term.absorbs = 1;
        cad_term_bind_target(tape, pull->op, &term);
        if (along != NULL) {
            request_second(tape, along, pull, plan, term);
        }
        cad_term_run(pull->op, &term);
    }
}
