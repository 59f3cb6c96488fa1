/* The reverse sweep over arrays: entries handed on together, and entries left out. */
#include "arrays/kinds.h"

/* Whether all adjoints of a small result are 0, so that there is nothing to propagate. */
static int is_all_zero(const CadTape *tape, CadEntry entry) {
    for (CadSlot slot = entry.out; slot < entry.out + entry.b; slot++) {
        if (tape->adjoints[slot] != 0.0) {
            return 0;
        }
    }
    return 1;
}

/* Whether no adjoint has reached what an entry wrote. One of 0 may have a tangent. */
static int is_unreached(const CadTape *tape, const CadAlong *along, CadEntry entry,
                        CadPlan *plan) {
    if (cad_entry_overwrites(entry)) {
        return 0;
    }
    if (cad_entry_kind(entry)->indexed == CAD_WRITES_INDEXED) {
        return cad_tape_is_untouched(tape, (CadSlot)cad_plan_extra(plan)[0]);
    }
    const int64_t slot = cad_plan_view(plan, 0)[0];
    return slot == entry.out && entry.b < CAD_LARGE_BLOCK && along == NULL
               ? is_all_zero(tape, entry)
               : cad_tape_is_untouched(tape, (CadSlot)slot);
}

/* Entries one below the other that go element by element over arrays of one size are handed on
 * together, a tile at a time: the adjoints that one of them adds to are still in the cache when
 * the entry that wrote the array follows. Those that nothing else adds to or reads are not written
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
    Place tangents[4]; /* of operands and result */
    Place from[2];     /* adjoints of the result, and their tangents */
    Place to[3][2];    /* adjoints of the operands, and their tangents */
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
    const CadStrip all = {place.data, place.step};
    return place.data == NULL || place.stays ? all : cad_strip_from(all, first);
}

static int64_t step_of(CadPlan *plan, int view) {
    return plan->ndim > 0 ? cad_plan_view(plan, view)[1] : 0;
}

/* Whether an entry goes through arrays side by side, and single numbers, to one result: a row of
 * the table, or the sum of all. */
static int can_run(const CadTape *tape, CadEntry entry) {
    const CadEntryKind *const kind = cad_entry_kind(entry);
    if (!CAD_IS_ARRAY_ENTRY(entry) || !cad_op_is_elementwise(CAD_CODE_OP(entry.code))) {
        return 0;
    }
    CadPlan *plan = cad_tape_plan(tape, entry);
    int flat = plan->ndim == 1 && plan->size >= SHORTEST;
    for (int k = 0; k < plan->n_views && flat; k++) {
        const int64_t step = step_of(plan, k);
        const int single = step == 0 && (k > 0 || kind->is_moved);
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
    cad_array_touch_operands(tape, along, plan, store);
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
 * it is the run that reaches them first and nothing reads them later. Answers whether it did. */
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

static void propagate_tile(CadTape *tape, const Run *run, const Step *step, size_t first,
                           size_t n) {
    const int orders = run->along == NULL ? 1 : 2;
    CadStrip g[2], x[4], t[4];
    for (int order = 0; order < orders; order++) {
        g[order] = tile_of(step->from[order], first);
    }
    if (cad_entry_kinds[step->op].is_moved) {
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
        double *const buffers[2] = {cad_scratch_tile(tape->scratch, tiles),
                                    cad_scratch_tile(tape->scratch, MOST_STEPS + tiles)};
        tiles += shorten(tape, &run, i, buffers);
    }
    for (size_t first = 0; first < run.size; first += CAD_TILE) {
        const size_t n = run.size - first < CAD_TILE ? run.size - first : CAD_TILE;
        for (int i = 0; i < run.n; i++) {
            propagate_tile(tape, &run, &run.steps[i], first, n);
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
        cad_kernels_of(CAD_CODE_OP(entry.code))->reverse(tape, along, entry, plan);
    }
    return at;
}
