/* The flat tape: entries that are only ever appended, over a buffer of values and its mirror, the
 * buffer of adjoints.
 *
 * A slot is an offset into both buffers: the adjoint of the number at offset i is at offset i. An
 * entry names the slot it wrote and the slots it read, so the order of entries is topological and
 * every sweep is one loop. Slots are handed out in ascending order; so entry.out ascends too.
 *
 * This file knows how many operands an entry has, and nothing of derivatives, nor of who holds its
 * numbers: `make_room` asks the holder to reclaim what is out of reach.
 *
 * Here are the tape itself, and how it is filled and rewound; entries.h says what stands on
 * it, blocks.h what is done about arrays, adjoints.h about the adjoints of a sweep. */
#ifndef CAD_TAPE_H
#define CAD_TAPE_H

#include "memory/memory.h"
#include "tape/entries.h"

#include <stdint.h>
#include <string.h>

typedef struct CadMark {
    size_t entries;
    size_t slots;
    size_t handles;
    size_t plan_words;
    size_t assigned;
    size_t rules;
} CadMark;

/* The derivatives of the results of an entry by numbers at slots `sources`: those of the k-th
 * result are [starts[k], starts[k + 1]), each with the index of its source. Whoever asks for them
 * frees `sources` and `values`. */
struct CadSlopes {
    size_t n_results;
    const int64_t *starts;
    const int32_t *columns;
    CadSlot *sources;
    double *values;
};

enum { CAD_CONSTANT_CACHE = 64, CAD_HEADROOM = 8 };

typedef struct CadBlock CadBlock; /* blocks.h */
struct CadGuards;                 /* guards.h */

struct CadTape {
    CadEntry *entries;
    double *values;
    size_t n_entries;
    size_t n_slots;
    size_t entry_room; /* cad_tape_grow is due once n_entries or n_slots reaches these */
    size_t slot_room;

    /* For the holder of the numbers: how many handles it has of slots since the last mark, ... */
    size_t handles;
    size_t mark_slots; /* ... which are those from this slot on */

    uint64_t running_tag; /* and which forward differentiation is under way */

    size_t entry_capacity;
    size_t slot_capacity;

    /* adjoints[dirty_begin .. dirty_end) may differ from 0, all others are 0. Slots from known_end
     * on have come to other use since the last sweep. */
    double *adjoints;
    size_t adjoint_capacity;
    size_t dirty_begin;
    size_t dirty_end;
    size_t known_end;

    /* Adjoints [stale_begin .. stale_end) may differ from 0 where blocks are or were. */
    CadBlock *blocks; /* in the order of their slots */
    size_t n_blocks;
    size_t n_lent;     /* whose adjoints are in other memory, */
    size_t n_borrowed; /* whose values are */
    size_t block_capacity;
    uint32_t pass;
    uint32_t last_pass;
    size_t stale_begin;
    size_t stale_end;

    int64_t *plans;
    size_t n_plan_words;
    size_t plan_capacity;

    size_t n_assigned; /* entries that overwrote values */
    size_t n_rules;
    void *rules; /* the holder's: what the numbers of rules refer to */

    void *scratch; /* of the kernels, once there is an entry over arrays */
    double *workspace;
    size_t workspace_capacity;
    CadLaneBuffer spare_lanes[2]; /* arrays/lanes.h */

    CadMark *marks;
    size_t n_marks;
    size_t mark_capacity;

    size_t reclaim_entries; /* how far the tape may grow before make_room is called */
    size_t reclaim_slots;
    size_t reclaim_plan_words;
    size_t reclaim_rules;
    void (*make_room)(CadTape *tape); /* may call cad_reclaim_*; NULL: nothing is reclaimed */

    /* Carries out the entry of a rule in a sweep of second order, or in a tangent sweep, which
     * has no adjoints. Buffers may move meanwhile. Answers < 0 if it failed. */
    int (*second_rule)(CadTape *tape, size_t entry, const CadAlong *along);
    /* The derivatives of a direct rule (entries.h). Answers < 0 if that failed: nothing is to be
     * freed then. */
    int (*slopes)(CadTape *tape, size_t entry, CadSlopes *slopes);
    int pinned; /* > 0 while slots must not move */
    int open;   /* > 0 while what programs compute has to be seen, entry by entry */
    int busy;   /* a sweep is under way that lets other threads run */
    int shut;   /* it is, or the tape has a hook: no room in advance */

    size_t peak; /* most slots in use since the buffers were last found too large */
    int idle;    /* recordings since then that needed but a part of them */
    int starved; /* memory ran out since */

    CadSlot constants[CAD_CONSTANT_CACHE];

    const CadHook *hook; /* or NULL */
    CadOrigin *origins;  /* of the entries, as far as there was a hook */
    size_t n_origins;

    struct CadGuards *guards; /* NULL: what is recorded is not to be replayed */
    int as_numpy;     /* for the holder: how often comparisons are asked to answer as NumPy's do */
    uint64_t choices; /* for the holder: tells what comparisons came to from other outcomes */
    uint64_t n_guards_made;
};

CadTape *cad_tape_new(void);
void cad_tape_free(CadTape *tape);

/* Bytes in use by entries, values and adjoints. */
size_t cad_tape_bytes(const CadTape *tape);

/* --- room --- */

/* Make room for CAD_HEADROOM entries and slots and `slots` more. May move slots, by reclaiming:
 * read them afterwards. */
CadStatus cad_tape_grow(CadTape *tape, size_t slots);

/* Make room for `more` of everything counted; the caller then writes it. */
CadStatus cad_tape_grow_by(CadTape *tape, CadFilled more);

static inline int cad_tape_has_room(const CadTape *tape) {
    return tape->n_entries < tape->entry_room && tape->n_slots < tape->slot_room;
}

/* To be called before the appending functions, which take the room for granted: it serves
 * CAD_HEADROOM of them. */
static inline CadStatus cad_tape_ensure(CadTape *tape) {
    return cad_tape_has_room(tape) ? CAD_OK : cad_tape_grow(tape, 0);
}

/* Memory ran out, here or elsewhere: buffers are given back as soon as all is rewound. */
static inline void cad_tape_note_starved(CadTape *tape) {
    tape->starved = 1;
}

/* While pinned, slots keep their places. */
void cad_tape_pin(CadTape *tape);
void cad_tape_unpin(CadTape *tape);

/* While busy, the tape takes nothing new: cad_tape_ensure fails with CAD_BUSY. */
void cad_tape_set_busy(CadTape *tape, bool busy);

/* --- appending --- */

/* Append an entry with its value; answers its slot. */
static inline CadSlot cad_tape_push(CadTape *tape, uint32_t code, CadSlot a, CadSlot b,
                                    double value) {
    const CadSlot out = (CadSlot)tape->n_slots++;
    tape->values[out] = value;
    tape->entries[tape->n_entries++] = (CadEntry){code, out, a, b};
    return out;
}

/* As cad_tape_push, for three operands. */
CadSlot cad_tape_push3(CadTape *tape, uint32_t code, CadSlot a, CadSlot b, CadSlot c,
                       double value);

/* A slot for a constant; equal constants often share one. */
static inline CadSlot cad_tape_constant(CadTape *tape, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    CadSlot *cached = &tape->constants[bits * 0x9e3779b97f4a7c15u >> 58];
    if (*cached != CAD_NONE && memcmp(&tape->values[*cached], &value, sizeof value) == 0) {
        return *cached;
    }
    *cached = (CadSlot)tape->n_slots++;
    tape->values[*cached] = value;
    return *cached;
}

/* A slot for a constant that shares it with no other one. */
static inline void cad_tape_skip(CadTape *tape, double value) {
    tape->values[tape->n_slots++] = value;
}

/* Append a leaf of `count` values (zeros where `values` is NULL) whose gradients are 0; takes care
 * of room itself. Without `accumulate` there is no place for its gradients: the adjoints of a pass
 * are all that is wanted. */
CadStatus cad_tape_leaf(CadTape *tape, const double *values, size_t count, bool accumulate,
                        CadSlot *out);

/* Append a leaf without gradients, whose values the caller has to write. */
CadStatus cad_tape_open_leaf(CadTape *tape, size_t count, CadSlot *out);

/* Slots for an array of constants, not written yet; takes care of room itself. If it `may_change`,
 * numbers with derivatives can be assigned to it later on; else it is known as constant if large.
 */
CadStatus cad_tape_block(CadTape *tape, size_t count, bool may_change, CadSlot *out);

/* Append an entry over arrays: `slots` of its own and a plan of that many words, all of which the
 * caller fills in. Takes care of room itself. */
CadStatus cad_tape_push_plan(CadTape *tape, uint32_t code, size_t slots, size_t words,
                             CadPlan **plan);

static inline CadPlan *cad_tape_plan(const CadTape *tape, CadEntry entry) {
    return (CadPlan *)(tape->plans + entry.a);
}

/* --- marks --- */

/* Marks nest. Setting the first may move slots, by reclaiming. Rewinding forgets all that came
 * after the last mark; keeping it forgets the mark alone. The holder of the numbers has to have
 * let go of what is rewound. */
CadStatus cad_tape_mark(CadTape *tape);
void cad_tape_rewind(CadTape *tape);
void cad_tape_keep(CadTape *tape);

CadFilled cad_tape_filled(const CadTape *tape);

/* Forget later entries, none of which overwrote older values without restoring them: no mark was
 * set or taken away, and of what came there are no handles. */
void cad_tape_take_back(CadTape *tape, CadFilled filled);

/* Count one handle more or less, of a slot since any mark. */
void cad_tape_count_handle(CadTape *tape, CadSlot slot, int change);

/* How many handles there are in all. */
size_t cad_tape_all_handles(const CadTape *tape);

/* --- guards: see guards.h --- */

/* Forget the guards on slots from `end` on, all of them and where they stood. */
void cad_guards_forget(CadTape *tape, size_t end);
void cad_guards_free(CadTape *tape);

/* --- hooks --- */

/* Hook the tape, or with NULL take its hook away. */
void cad_tape_set_hook(CadTape *tape, const CadHook *hook);

CadOrigin cad_tape_origin(const CadTape *tape, size_t entry);

/* As cad_tape_grow, before an operation on single numbers is appended, of which a hook is told.
 */
CadStatus cad_tape_grow_for(CadTape *tape, CadOp op, double x, double y, double z, double value);

#endif
