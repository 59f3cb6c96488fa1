/* Adjoints of entries over arrays: each hands those of its result on to its operands, and in
 * sweeps of second order (`along` is not NULL) the tangents of adjoints as well. */
#include "arrays/second.h"

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

/* The same of a view. */
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

static void prepare(CadTape *tape, const CadAlong *along, CadPlan *plan, int view) {
    int64_t low, high;
    cad_plan_bounds(plan, view, &low, &high);
    cad_array_prepare(tape, along, low, high);
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
static void touch_operands(CadTape *tape, const CadAlong *along, CadPlan *plan, int store[4]) {
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

/* Whether all adjoints of a small result are 0, so that there is nothing to hand on. */
static int is_all_zero(const CadTape *tape, CadEntry entry) {
    for (CadSlot slot = entry.out; slot < entry.out + entry.b; slot++) {
        if (tape->adjoints[slot] != 0.0) {
            return 0;
        }
    }
    return 1;
}

static void reverse_row(CadTape *tape, const CadAlong *along, CadOp op, CadPlan *plan) {
    int store[4];
    double *adjoints[4];
    touch_operands(tape, along, plan, store);
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

static void reverse_sum(CadTape *tape, const CadAlong *along, CadPlan *plan) {
    if (!is_active(plan, 1)) {
        return;
    }
    const int store = touch(tape, along, plan, 1);
    double *const terms = cad_tape_adjoints(tape, cad_plan_view(plan, 1)[0]);
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    do {
        cad_strip_add(strip_at(&walk, 1, terms, 0), strip_at(&walk, 0, tape->adjoints, 0), store,
                      walk.n);
        if (along != NULL) {
            add_lanes(&walk, along->adjoints, 1, 0, store);
        }
    } while (advance(&walk));
}

/* Whether a factor moves along all axes that are walked over: then no two products meet. */
static int is_spread(CadPlan *plan, int view, int axes) {
    for (int i = 0; i < axes; i++) {
        if (cad_plan_view(plan, view)[i + 1] == 0) {
            return 0;
        }
    }
    return 1;
}

static int touch_matrix(CadTape *tape, const CadAlong *along, CadPlan *plan, int view, int axes) {
    int64_t low, high;
    cad_plan_bounds(plan, view, &low, &high);
    int64_t size = 1;
    for (int i = 0; i < plan->ndim; i++) {
        size *= cad_plan_view(plan, view)[i + 1] == 0 ? 1 : cad_plan_shape(plan)[i];
    }
    if (!touch_range(tape, along, low, high)) {
        return 0;
    }
    const int whole = size == high - low + 1 && is_spread(plan, view, axes) &&
                      (axes == 0 || !are_entangled(plan, 1, 2));
    if (!whole) {
        clear(tape, along, low, high);
    }
    return whole;
}

static void reverse_matmul(CadTape *tape, const CadAlong *along, CadPlan *plan) {
    Walk walk;
    start_walk(&walk, tape, plan, 3);
    const int64_t *core = cad_plan_shape(plan) + walk.axes;
    const size_t m = (size_t)core[0], n = (size_t)core[1], p = (size_t)core[2];
    double *const adjoint = tape->adjoints;
    const int store_a = is_active(plan, 1) && touch_matrix(tape, along, plan, 1, walk.axes);
    const int store_b = is_active(plan, 2) && touch_matrix(tape, along, plan, 2, walk.axes);
    double *const to_a = cad_tape_adjoints(tape, cad_plan_view(plan, 1)[0]);
    double *const to_b = cad_tape_adjoints(tape, cad_plan_view(plan, 2)[0]);
    do {
        const CadMatrix g = matrix_at(&walk, 0, adjoint + walk.at[0], 0, 2);
        if (along != NULL) {
            second_matmul(tape, along, &walk, g, store_a, store_b);
        }
        if (is_active(plan, 1)) {
            add_matrix_product(tape, matrix_at(&walk, 1, to_a + walk.at[1], 0, 1), g,
                               matrix_of_values(&walk, 2, 2, 1), store_a, m, p, n);
        }
        if (is_active(plan, 2)) {
            add_matrix_product(tape, matrix_at(&walk, 2, to_b + walk.at[2], 1, 2),
                               matrix_of_values(&walk, 1, 1, 0), g, store_b, n, m, p);
        }
    } while (advance(&walk));
}

static void reverse_gather(CadTape *tape, const CadAlong *along, CadEntry entry, CadPlan *plan) {
    if (!is_active(plan, 1)) {
        return;
    }
    const int64_t *extra = cad_plan_extra(plan);
    cad_array_prepare(tape, along, extra[0], extra[1]);
    double *const to = cad_tape_adjoints(tape, extra[0]);
    for (int64_t i = 0; i < plan->size; i++) {
        to[indexed(tape, plan, i)] += tape->adjoints[entry.out + i];
    }
    for (int64_t i = 0; i < plan->size && along != NULL; i++) {
        add_to_lanes(along->adjoints, indexed(tape, plan, i), entry.out + i);
    }
}

/* An assignment has two results: the target, and the kept values, which are those that the target
 * had before. */
static void reverse_assign(CadTape *tape, const CadAlong *along, CadEntry entry, CadPlan *plan) {
    cad_array_exchange(tape, entry, 1);
    if (along != NULL) {
        exchange_tangents(tape, along, entry, plan);
    }
    const int kept = !cad_tape_is_untouched(tape, entry.out);
    if (cad_tape_is_untouched(tape, (CadSlot)cad_plan_view(plan, 0)[0])) {
        if (!kept) {
            return;
        }
        prepare(tape, along, plan, 0);
    }
    const int active = is_active(plan, 1);
    const int store = active && touch(tape, along, plan, 1);
    const double *former = tape->adjoints + entry.out;
    double *const to = cad_tape_adjoints(tape, cad_plan_view(plan, 1)[0]);
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    double *const from = cad_tape_adjoints(tape, cad_plan_view(plan, 0)[0]);
    int64_t former_slot = entry.out;
    do {
        const CadStrip target = strip_at(&walk, 0, from, 0);
        if (active) {
            cad_strip_add(strip_at(&walk, 1, to, 0), target, store, walk.n);
        }
        for (size_t i = 0; i < walk.n; i++) {
            target.data[(ptrdiff_t)i * target.step] = kept ? *former++ : 0.0;
        }
        if (along != NULL && active) {
            add_lanes(&walk, along->adjoints, 1, 0, store);
        }
        for (size_t i = 0; i < walk.n && along != NULL; i++, former_slot++) {
            give_back(along->adjoints, walk.at[0] + (int64_t)i * walk.step[0], former_slot, kept);
        }
    } while (advance(&walk));
}

static void reverse_scatter(CadTape *tape, const CadAlong *along, CadEntry entry, CadPlan *plan) {
    const int64_t *extra = cad_plan_extra(plan);
    cad_array_exchange(tape, entry, 1);
    if (along != NULL) {
        exchange_tangents(tape, along, entry, plan);
    }
    const int kept = !cad_tape_is_untouched(tape, entry.out);
    if (cad_tape_is_untouched(tape, (CadSlot)extra[0])) {
        if (!kept) {
            return;
        }
        cad_array_prepare(tape, along, extra[0], extra[1]);
    }
    const int active = is_active(plan, 0);
    if (active) {
        prepare(tape, along, plan, 0);
    }
    /* Of several assignments to one target the last one counts. */
    double *const to = cad_tape_adjoints(tape, scattered(plan, 0));
    double *const from = cad_tape_adjoints(tape, extra[0]);
    for (int64_t i = plan->size; i-- > 0;) {
        const int64_t place = indexed(tape, plan, i);
        if (active) {
            to[scattered(plan, i)] += from[place];
        }
        from[place] = kept ? tape->adjoints[entry.out + i] : 0.0;
        if (along != NULL && active) {
            add_to_lanes(along->adjoints, scattered(plan, i), place);
        }
        if (along != NULL) {
            give_back(along->adjoints, place, entry.out + i, kept);
        }
    }
}

static void reverse_add_at(CadTape *tape, const CadAlong *along, CadPlan *plan) {
    if (!is_active(plan, 0)) {
        return;
    }
    prepare(tape, along, plan, 0);
    double *const to = cad_tape_adjoints(tape, scattered(plan, 0));
    for (int64_t i = 0; i < plan->size; i++) {
        to[scattered(plan, i)] += tape->adjoints[indexed(tape, plan, i)];
    }
    for (int64_t i = 0; i < plan->size && along != NULL; i++) {
        add_to_lanes(along->adjoints, scattered(plan, i), indexed(tape, plan, i));
    }
}

/* Whether no adjoint has reached what an entry wrote. One of 0 may have a tangent. */
static int is_unreached(const CadTape *tape, const CadAlong *along, CadEntry entry,
                        CadPlan *plan) {
    const CadOp op = CAD_CODE_OP(entry.code);
    if (overwrites(op)) {
        return 0;
    }
    if (op == CAD_OP_ADD_AT) {
        return cad_tape_is_untouched(tape, (CadSlot)cad_plan_extra(plan)[0]);
    }
    const int64_t slot = cad_plan_view(plan, 0)[0];
    return slot == entry.out && entry.b < CAD_LARGE_BLOCK && along == NULL
               ? is_all_zero(tape, entry)
               : cad_tape_is_untouched(tape, (CadSlot)slot);
}

static void hand_on(CadTape *tape, const CadAlong *along, CadEntry entry, CadPlan *plan) {
    const CadOp op = CAD_CODE_OP(entry.code);
    switch (op) {
    case CAD_OP_ASSIGN:
        reverse_assign(tape, along, entry, plan);
        break;
    case CAD_OP_SCATTER:
        reverse_scatter(tape, along, entry, plan);
        break;
    case CAD_OP_ADD_AT:
        reverse_add_at(tape, along, plan);
        break;
    case CAD_OP_SUM:
        reverse_sum(tape, along, plan);
        break;
    case CAD_OP_MATMUL:
        reverse_matmul(tape, along, plan);
        break;
    case CAD_OP_GATHER:
        reverse_gather(tape, along, entry, plan);
        break;
    default:
        reverse_row(tape, along, op, plan);
    }
}

/* --- runs --- */

/* Entries one below the other that go element by element over arrays of one size are handed on
 * together, a tile at a time: the adjoints that one of them adds to are still in the cache when
 * the entry that wrote the array follows. Those that nobody else adds to or reads are not written
 * to memory at all. */
enum { MOST_STEPS = 32, SHORTEST = CAD_LARGE_BLOCK };

/* Numbers that are walked over tile by tile, unless they stay where they are. */
typedef struct Place {
    double *data; /* NULL: there is none */
    ptrdiff_t step;
    int stays;
} Place;

typedef struct Step {
    CadOp op;
    int arity;
    size_t index;      /* of the entry */
    int64_t out;       /* its result */
    Place values[4];   /* of the operands (missing ones repeat the first) and of the result */
    Place tangents[4]; /* of the same */
    Place from[2];     /* adjoints of the result, and their tangents */
    Place to[3][2];    /* the same of the operands */
    int64_t slots[3];
    int store[3];
} Step;

typedef struct Run {
    const CadAlong *along;
    size_t size; /* of all arrays */
    int n;
    Step steps[MOST_STEPS];
} Run;

static CadStrip tile_of(Place place, size_t first) {
    const ptrdiff_t along = place.stays ? 0 : (ptrdiff_t)first * place.step;
    return (CadStrip){place.data == NULL ? NULL : place.data + along, place.step};
}

static int64_t step_of(CadPlan *plan, int view) {
    return plan->ndim > 0 ? cad_plan_view(plan, view)[1] : 0;
}

/* Whether an entry goes through arrays side by side, and single numbers, to one result: a row of
 * the table, or the sum of all. */
static int can_run(const CadTape *tape, CadEntry entry) {
    const CadOp op = CAD_CODE_OP(entry.code);
    if (!CAD_IS_ARRAY_ENTRY(entry) || (op <= CAD_OP_THIRD && op != CAD_OP_SUM)) {
        return 0;
    }
    CadPlan *plan = cad_tape_plan(tape, entry);
    int flat = plan->ndim == 1 && plan->size >= SHORTEST;
    for (int k = 0; k < plan->n_views && flat; k++) {
        const int64_t step = step_of(plan, k);
        const int single = step == 0 && (k > 0 || op == CAD_OP_SUM);
        flat = single || step == 1;
    }
    return flat;
}

/* Whether what the run adds to adjoints of a result is complete, tile by tile, when the entry that
 * wrote it follows: whatever reads the result does so element by element. */
static int is_aligned(const Run *run, int64_t out, int64_t size) {
    for (int i = 0; i < run->n; i++) {
        const Step *step = &run->steps[i];
        for (int k = 0; k < step->arity; k++) {
            const int64_t low = step->slots[k];
            const int64_t high = low + (step->to[k][0].step ? (int64_t)run->size : 1);
            const int same = step->to[k][0].step != 0 && low == out && high == out + size;
            if (step->to[k][0].data != NULL && low < out + size && out < high && !same) {
                return 0;
            }
        }
    }
    return 1;
}

/* Have no step overwrite the adjoint of a single number, which is added to out of its turn. */
static void overwrite_none(Run *run, const double *adjoint) {
    for (int i = 0; i < run->n; i++) {
        Step *const step = &run->steps[i];
        for (int k = 0; k < step->arity; k++) {
            const double *const begin = step->to[k][0].data;
            if (step->store[k] && begin <= adjoint && adjoint < begin + run->size) {
                memset(step->to[k][0].data, 0, run->size * sizeof *begin);
                if (run->along != NULL) {
                    memset(step->to[k][1].data, 0, run->size * sizeof *begin);
                }
                step->store[k] = 0;
            }
        }
    }
}

/* Where the numbers of a slot, and those after it, stand in a buffer of one lane. */
static Place place_in(CadLanes lanes, int64_t slot, ptrdiff_t step) {
    return (Place){lanes_of(lanes, slot), step, 0};
}

static void append(CadTape *tape, Run *run, size_t index) {
    const CadEntry entry = tape->entries[index];
    const CadAlong *const along = run->along;
    CadPlan *plan = cad_tape_plan(tape, entry);
    Step *const step = &run->steps[run->n++];
    *step = (Step){.op = CAD_CODE_OP(entry.code), .arity = plan->n_views - 1, .index = index};
    step->out = cad_plan_view(plan, 0)[0];
    step->from[0] = (Place){tape->adjoints + step->out, (ptrdiff_t)step_of(plan, 0), 0};
    step->values[3] = (Place){tape->values + step->out, step->from[0].step, 0};
    if (along != NULL) {
        step->from[1] = place_in(along->adjoints, step->out, step->from[0].step);
        step->tangents[3] = place_in(along->tangents, step->out, step->from[0].step);
    }
    int store[4];
    touch_operands(tape, along, plan, store);
    for (int k = 0; k < 3; k++) {
        const int view = k < step->arity ? k + 1 : 1;
        const int64_t slot = cad_plan_view(plan, view)[0];
        const ptrdiff_t by = (ptrdiff_t)step_of(plan, view);
        step->values[k] = (Place){cad_tape_values(tape, slot) + slot, by, 0};
        if (k < step->arity && is_active(plan, view)) {
            step->slots[k] = slot;
            step->store[k] = store[view];
            step->to[k][0] = (Place){cad_tape_adjoints(tape, slot) + slot, by, 0};
            if (along != NULL) {
                step->to[k][1] = place_in(along->adjoints, slot, by);
                step->tangents[k] = place_in(along->tangents, slot, by);
            }
            if (by == 0) {
                overwrite_none(run, step->to[k][0].data);
            }
        }
    }
}

/* Find the entries of a run, from one downwards; answers the index of the lowest. */
static size_t collect(CadTape *tape, size_t begin, size_t at, Run *run) {
    run->n = 0;
    run->size = (size_t)cad_tape_plan(tape, tape->entries[at])->size;
    size_t i = at + 1;
    while (i > begin && run->n < MOST_STEPS && can_run(tape, tape->entries[i - 1])) {
        const CadEntry entry = tape->entries[i - 1];
        CadPlan *plan = cad_tape_plan(tape, entry);
        const int64_t written = step_of(plan, 0) ? plan->size : 1;
        if ((size_t)plan->size != run->size ||
            !is_aligned(run, cad_plan_view(plan, 0)[0], written)) {
            break;
        }
        i--;
        if (!is_unreached(tape, run->along, entry, plan)) {
            append(tape, run, i);
        }
    }
    return i;
}

/* Give the adjoints of a step's result a tile of their own, and another one to their tangents, if
 * it is the run that reaches them first and nobody reads them later. Answers whether it did. */
static int shorten(CadTape *tape, Run *run, int which, double *const tiles[2]) {
    Step *const step = &run->steps[which];
    const double *const adjoints = step->from[0].data;
    int first = -1;
    for (int i = 0; i < which && first < 0; i++) {
        for (int k = 0; k < run->steps[i].arity; k++) {
            const int reaches = run->steps[i].to[k][0].data == adjoints;
            first = reaches && run->steps[i].store[k] ? i : first;
        }
    }
    if (first < 0) {
        return 0;
    }
    for (int order = 0; order < (run->along == NULL ? 1 : 2); order++) {
        const double *const place = step->from[order].data;
        const Place tile = {tiles[order], 1, 1};
        for (int i = first; i < which; i++) {
            for (int k = 0; k < run->steps[i].arity; k++) {
                Place *const to = &run->steps[i].to[k][order];
                *to = to->data == place ? tile : *to;
            }
        }
        step->from[order] = tile;
    }
    cad_tape_forget(tape, (CadSlot)step->out);
    return 1;
}

static void hand_on_tile(CadTape *tape, const Run *run, const Step *step, size_t first, size_t n) {
    const int orders = run->along == NULL ? 1 : 2;
    CadStrip g[2], x[4], t[4];
    for (int order = 0; order < orders; order++) {
        g[order] = tile_of(step->from[order], first);
    }
    if (step->op == CAD_OP_SUM) {
        for (int order = 0; order < orders && step->to[0][0].data != NULL; order++) {
            cad_strip_add(tile_of(step->to[0][order], first), g[order], step->store[0], n);
        }
        return;
    }
    for (int k = 0; k < 4; k++) {
        x[k] = tile_of(step->values[k], first);
        t[k] = tile_of(step->tangents[k], first);
    }
    for (int k = 0; k < step->arity; k++) {
        const CadStrip to[2] = {tile_of(step->to[k][0], first), tile_of(step->to[k][1], first)};
        if (to[0].data == NULL) {
            continue;
        }
        if (run->along == NULL) {
            cad_strip_hand_on(tape->scratch, step->op, k, to[0], g[0], x, step->store[k], n);
        } else {
            cad_strip_hand_on_second(tape->scratch, step->op, k, to, g, x, t, step->store[k], n);
        }
    }
}

static size_t reverse_run(CadTape *tape, size_t begin, size_t at, size_t transient,
                          const CadAlong *along) {
    Run run;
    run.along = along;
    const size_t lowest = collect(tape, begin, at, &run);
    for (int i = 1, tiles = 0; i < run.n && run.steps[i].index >= transient; i++) {
        double *const own[2] = {cad_scratch_tile(tape->scratch, tiles),
                                cad_scratch_tile(tape->scratch, MOST_STEPS + tiles)};
        tiles += shorten(tape, &run, i, own);
    }
    for (size_t first = 0; first < run.size; first += CAD_TILE) {
        const size_t n = run.size - first < CAD_TILE ? run.size - first : CAD_TILE;
        for (int i = 0; i < run.n; i++) {
            hand_on_tile(tape, &run, &run.steps[i], first, n);
        }
    }
    return lowest;
}

size_t cad_array_reverse(CadTape *tape, size_t begin, size_t at, size_t transient,
                         const CadAlong *along) {
    const CadEntry entry = tape->entries[at];
    if (can_run(tape, entry) && (along == NULL || along->adjoints.count == 1)) {
        return reverse_run(tape, begin, at, transient, along);
    }
    CadPlan *plan = cad_tape_plan(tape, entry);
    if (!is_unreached(tape, along, entry, plan)) {
        hand_on(tape, along, entry, plan);
    }
    return at;
}
