/* Entries over arrays that move numbers: they gather, assign, scatter and add. Values, tangents
 * and adjoints are moved alike, as lanes, of which values have one. */
#include "arrays/kinds.h"

static CAD_INLINE CadLanes values_of(const CadTape *tape) {
    return (CadLanes){tape->values, 0, 1};
}

static CAD_INLINE void add_to(CadLanes to, int64_t target, CadLanes from, int64_t source) {
    for (size_t k = 0; k < to.count; k++) {
        lanes_of(to, target)[k] += lanes_of(from, source)[k];
    }
}

/* A number is set to another, or to 0. */
static CAD_INLINE void set_to(CadLanes to, int64_t target, CadLanes from, int64_t source,
                              int exists) {
    for (size_t k = 0; k < to.count; k++) {
        lanes_of(to, target)[k] = exists ? lanes_of(from, source)[k] : 0.0;
    }
}

static CAD_INLINE int64_t slot_at(const Walk *walk, int view, int64_t i) {
    return walk->at[view] + i * walk->step[view];
}

/* What a source holds goes to its target; it is 0 where the source is not `active`. */
static CAD_INLINE void move(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes lanes,
                            int active, const CadIndexed index, const int keeps) {
    int64_t out = entry.out;
    Walk walk;
    start_walk(&walk, tape, plan, 1); /* over a single row, if there is an index */
    do {
        for (int64_t i = 0; i < (int64_t)walk.n; i++, out++) {
            const int64_t place = index ? indexed(tape, plan, i) : slot_at(&walk, 0, i);
            if (index == CAD_READS_INDEXED) {
                set_to(lanes, out, lanes, place, active);
            } else if (keeps) {
                set_to(lanes, out, lanes, place, 1);
                set_to(lanes, place, lanes, slot_at(&walk, index ? 0 : 1, i), active);
            } else if (active) {
                add_to(lanes, place, lanes, slot_at(&walk, 0, i));
            }
        }
    } while (advance(&walk));
}

/* A loop for each kind: gathering, assigning, scattering, adding. */
#define FOR_KIND(run, ...)                                                                        \
    do {                                                                                          \
        const CadEntryKind *const kind = cad_entry_kind(entry);                                   \
        if (kind->indexed == CAD_READS_INDEXED) {                                                 \
            run(tape, entry, plan, __VA_ARGS__, CAD_READS_INDEXED, 0);                            \
        } else if (!kind->indexed) {                                                              \
            run(tape, entry, plan, __VA_ARGS__, CAD_INDEXES_NONE, 1);                             \
        } else if (kind->former == CAD_FORMER_KEPT) {                                             \
            run(tape, entry, plan, __VA_ARGS__, CAD_WRITES_INDEXED, 1);                           \
        } else {                                                                                  \
            run(tape, entry, plan, __VA_ARGS__, CAD_WRITES_INDEXED, 0);                           \
        }                                                                                         \
    } while (0)

/* Numbers are added to floats, one after the other. */
static void add_singles(CadTape *tape, CadPlan *plan) {
    for (int64_t i = 0; i < plan->size; i++) {
        double *const place = &tape->values[indexed(tape, plan, i)];
        *place = (double)(float)(*place + tape->values[scattered(plan, i)]);
    }
}

void cad_move_value(CadTape *tape, CadEntry entry, CadPlan *plan) {
    if (cad_plan_is_single(plan)) {
        add_singles(tape, plan);
        return;
    }
    FOR_KIND(move, values_of(tape), 1);
}

/* Of the array that an entry reads. */
static CadSource source_of(CadEntry entry, CadPlan *plan, int *active) {
    CadSource source = cad_plan_sources(cad_entry_kind(entry), plan);
    cad_next_source(&source);
    *active = is_active(plan, source.bit);
    return source;
}

void cad_move_tangent(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes tangents,
                      double *room) {
    int active;
    (void)room;
    source_of(entry, plan, &active);
    if (cad_entry_overwrites(entry)) {
        cad_array_exchange(tape, entry, 0);
    }
    FOR_KIND(move, tangents, active);
}

/* What an entry overwrote and what stands there change places: one after the other, since an index
 * may name a target several times. */
static CAD_INLINE void exchange_kept(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes lanes,
                                     int undo, const CadIndexed index, const int keeps) {
    (void)keeps;
    int64_t out = entry.out;
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    do {
        const int64_t n = (int64_t)walk.n;
        for (int64_t k = 0; k < n; k++) {
            const int64_t i = undo ? n - 1 - k : k;
            const int64_t place = index ? indexed(tape, plan, i) : slot_at(&walk, 0, i);
            for (size_t lane = 0; lane < lanes.count; lane++) {
                exchange(lanes_of(lanes, out + i) + lane, lanes_of(lanes, place) + lane);
            }
        }
        out += n;
    } while (advance(&walk));
}

void cad_array_exchange(CadTape *tape, CadEntry entry, int undo) {
    CadPlan *const plan = cad_tape_plan(tape, entry);
    FOR_KIND(exchange_kept, values_of(tape), undo);
}

/* The adjoints, or their tangents, of what an entry writes to, reads and keeps; the first are
 * written, not added, if `store`, and there are no last ones unless `kept`. */
typedef struct Sides {
    CadLanes target;
    CadLanes source;
    CadLanes out;
    int active;
    int store;
    int kept;
} Sides;

static CAD_INLINE void hand_back(CadTape *tape, CadEntry entry, CadPlan *plan, const Sides sides,
                                 const CadIndexed index, const int keeps) {
    int64_t out = entry.out;
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    do {
        const int64_t n = (int64_t)walk.n;
        if (!index && sides.active) {
            cad_lanes_add(sides.source.count, lanes_at(&walk, 1, sides.source, 0),
                          lanes_at(&walk, 0, sides.target, 0), sides.store, walk.n);
        }
        for (int64_t k = 0; k < n; k++) {
            /* Of several assignments to one target the last one counts. */
            const int64_t i = keeps ? n - 1 - k : k;
            const int64_t place = index ? indexed(tape, plan, i) : slot_at(&walk, 0, i);
            if (index == CAD_READS_INDEXED) {
                add_to(sides.source, place, sides.out, out + i);
            } else if (index && sides.active) {
                add_to(sides.source, slot_at(&walk, 0, i), sides.target, place);
            }
            if (keeps) {
                set_to(sides.target, place, sides.out, out + i, sides.kept);
            }
        }
        out += n;
    } while (advance(&walk));
}

/* An assignment has two results: the target, and the kept values, which are those that the target
 * had before. */
void cad_move_reverse(CadTape *tape, const CadAlong *along, CadEntry entry, CadPlan *plan) {
    const CadSpan target = cad_entry_result(entry, plan);
    Sides sides = {.out = {tape->adjoints, 0, 1}};
    const CadSource source = source_of(entry, plan, &sides.active);
    if (cad_entry_overwrites(entry)) {
        cad_array_exchange(tape, entry, 1);
        if (along != NULL) {
            FOR_KIND(exchange_kept, along->tangents, 1);
        }
        sides.kept = !cad_tape_is_untouched(tape, entry.out);
        if (cad_tape_is_untouched(tape, (CadSlot)target.low)) {
            if (!sides.kept) {
                return;
            }
            cad_array_prepare(tape, along, target.low, target.high);
        }
    } else if (!sides.active) {
        return;
    }
    if (sides.active && source.view == 1) {
        int store[4];
        cad_array_touch_operands(tape, along, plan, store);
        sides.store = store[1];
    } else if (sides.active) {
        const CadSpan span = cad_source_span(&source);
        cad_array_prepare(tape, along, span.low, span.high);
    }
    sides.target = (CadLanes){cad_tape_adjoints(tape, target.low), 0, 1};
    sides.source = (CadLanes){cad_tape_adjoints(tape, source.slot), 0, 1};
    FOR_KIND(hand_back, sides);
    if (along != NULL) {
        sides.target = sides.source = sides.out = along->adjoints;
        FOR_KIND(hand_back, sides);
    }
}
