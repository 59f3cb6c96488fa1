/* The flat tape: entries that are only ever appended, over a buffer of values and its mirror, the
 * buffer of adjoints.
 *
 * A slot is an offset into both buffers: the adjoint of the number at offset i is at offset i. An
 * entry names the slot it wrote and the slots it read, so the order of entries is topological and
 * every sweep is one loop. Slots are handed out in ascending order; so entry.out ascends too.
 *
 * This room knows how many operands an entry has, and nothing of derivatives, nor of who holds its
 * numbers: `make_room` asks the holder to reclaim what nobody can reach. */
#ifndef CAD_TAPE_H
#define CAD_TAPE_H

#include "memory.h"
#include "ops.h"

#include <stdint.h>
#include <string.h>

typedef uint32_t CadSlot;

#define CAD_NONE UINT32_MAX       /* the slot of a number that is not on the tape */
#define CAD_MOST_SLOTS 0xfffffff0 /* slots below this one can be named */

/* An operand that carries no derivative is marked as passive in the code of the entry, so that the
 * sweeps neither compute its partial nor write its adjoint. The unused operand of a unary entry
 * repeats the first: a shared dummy would chain all entries through one address. */
typedef struct CadEntry {
    uint32_t code; /* CAD_CODE(op, passive operands) */
    CadSlot out;
    CadSlot a;
    CadSlot b;
} CadEntry;

enum { CAD_PASSIVE_A = 1, CAD_PASSIVE_B = 2 };

#define CAD_CODE(op, passive) ((uint32_t)(op) << 2 | (uint32_t)(passive))
#define CAD_CODE_OP(code) ((CadOp)(((code) & ~CAD_ARRAY_BIT) >> 2))

/* Structure:
 *   CAD_OP_LEAF    `a` values from `out` on, then as many accumulated gradients (`a` of them, or
 *                  none if `b` is 0)
 *   CAD_OP_THIRD   `a` is the third operand of the entry that follows; `out` is that entry's
 *   CAD_OP_ASSIGN  the number at `b` was written to `a`, whose former value `out` keeps
 * A slot without an entry is a constant.
 *
 * With this bit set in the code, the entry is one over arrays: `a` is the index of its plan in
 * tape->plans, `b` how many slots it wrote or keeps from `out` on. */
#define CAD_ARRAY_BIT 0x80000000u
#define CAD_IS_ARRAY_ENTRY(e) ((e).code >= CAD_ARRAY_BIT)

/* The plan of an entry over arrays: a shape, and where in the buffers each operand stands. What a
 * view holds for an axis is a stride, counted in slots; 0 where an operand is broadcast, or summed
 * over.
 *
 *   row of the table  views: result, operands; `passive` bit k: operand k has no derivative
 *
 *   CAD_OP_SUM        views: sum, terms. The terms are added into the sum; with extra[0] its
 *                     former value counts, else that is taken as 0
 *
 *   CAD_OP_MATMUL     views: product, two factors; the last three axes are rows, inner length,
 *                     columns
 *
 *   CAD_OP_GATHER     views: result; `index` holds slots of the array, counted from extra[0], its
 *                     lowest one; extra[1] is its highest one
 *
 *   CAD_OP_ASSIGN     views: target, source. `out` keeps what was overwritten
 *
 *   CAD_OP_SCATTER    views: source; `index`, extra as for CAD_OP_GATHER name the targets, in the
 *                     order of assignment; `out` keeps what was overwritten
 *
 *   CAD_OP_ADD_AT     as CAD_OP_SCATTER, but the source is added; no values are kept
 *
 *   CAD_OP_RULE       extra: number of the rule, number of operands, and for each of these a
 *                     CadOperand of a shape of its own */
typedef struct CadPlan {
    uint32_t words; /* length, in units of 8 bytes */
    uint16_t ndim;
    uint16_t n_views;
    uint32_t n_extra;
    uint32_t passive;
    int64_t size;   /* elements of the shape */
    int64_t index;  /* slot of as many int64 offsets, or -1 */
    int64_t rest[]; /* shape; for each view: slot, strides; extra */
} CadPlan;

enum { CAD_PLAN_WORDS = sizeof(CadPlan) / sizeof(int64_t), CAD_MOST_AXES = 64 };

static inline int64_t *cad_plan_shape(CadPlan *plan) {
    return plan->rest;
}

static inline int64_t *cad_plan_view(CadPlan *plan, int k) {
    return plan->rest + plan->ndim + k * (plan->ndim + 1);
}

static inline int64_t *cad_plan_extra(CadPlan *plan) {
    return cad_plan_view(plan, plan->n_views);
}

/* An operand of a rule: slot, number of axes, shape, strides. */
typedef struct CadOperand {
    int64_t slot;
    int64_t ndim;
    int64_t shape_and_strides[];
} CadOperand;

/* The operand at `place`, which begins at cad_plan_extra(plan) + 2, and where the next one is. */
static inline CadOperand *cad_next_operand(int64_t **place) {
    CadOperand *operand = (CadOperand *)*place;
    *place += 2 + 2 * operand->ndim;
    return operand;
}

void cad_operand_bounds(const CadOperand *operand, int64_t *low, int64_t *high);

typedef struct CadMark {
    size_t entries;
    size_t slots;
    size_t handles;
    size_t plan_words;
    size_t assigned;
    size_t rules;
} CadMark;

/* A block of slots. Of a large one the adjoints are not cleared before a pass, but when the pass
 * first touches them: most often they are then overwritten as a whole. */
typedef struct CadBlock {
    CadSlot begin;
    CadSlot end;
    uint32_t pass;    /* the last one that touched it */
    uint8_t eager;    /* small, or single numbers of it are in use: cleared like all others */
    uint8_t constant; /* nothing that carries a derivative was ever written to it */
    uint8_t singly;   /* single numbers of it are in use */
    uint8_t changed;  /* an input that was assigned to */
    double *adjoints; /* where they are instead of in the buffer, or NULL */
    double *values;   /* the same of the values, which are only read */
} CadBlock;

/* Where an entry comes from, in the numbers of whoever watches the tape; 0 is unknown. */
typedef struct CadOrigin {
    uint32_t place; /* in the program */
    uint32_t shape; /* of its result, if that is an array */
} CadOrigin;

/* Somebody who watches what is recorded. Then there is no room in advance: each entry asks for it,
 * so that nobody else pays for this. The functions append nothing; they may be NULL. */
typedef struct CadWatch {
    void *holder;
    /* Where the entry that is about to be appended comes from. */
    uint32_t (*place)(void *holder);
    /* A single number is about to be appended. */
    CadStatus (*number)(void *holder, CadOp op, const double *operands, double value);
    /* A reverse sweep has carried out an entry: then sweeps go entry by entry. */
    CadStatus (*swept)(void *holder, size_t entry);
    /* The last entry made an array. */
    CadStatus (*array)(void *holder, int ndim, const ptrdiff_t *shape);
} CadWatch;

/* A block is large from so many slots on; tests have it a few. */
#ifndef CAD_LARGE_BLOCK
#define CAD_LARGE_BLOCK 512
#endif

/* Memory for lanes, which serves again. */
typedef struct CadLaneBuffer {
    double *data;
    size_t capacity;
} CadLaneBuffer;

enum { CAD_CONSTANT_CACHE = 64, CAD_HEADROOM = 8 };

typedef struct CadTape CadTape;
struct CadAlong; /* arrays.h */

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
    CadLaneBuffer spare_lanes[2]; /* arrays_lanes.h */

    CadMark *marks;
    size_t n_marks;
    size_t mark_capacity;

    size_t reclaim_entries; /* how far the tape may grow before make_room is called */
    size_t reclaim_slots;
    size_t reclaim_plan_words;
    void (*make_room)(CadTape *tape); /* may call cad_reclaim_*; NULL: nothing is reclaimed */

    /* Carries out an entry CAD_OP_RULE in a sweep of second order, or in a tangent sweep, which
     * has no adjoints. Buffers may move meanwhile. Answers < 0 if it failed. */
    int (*second_rule)(CadTape *tape, size_t entry, const struct CadAlong *along);
    int pinned; /* > 0 while slots must not move */
    int busy;   /* a sweep is under way that lets other threads run */
    int shut;   /* it is, or the tape is watched: no room in advance */

    size_t peak; /* most slots in use since the buffers were last found too large */
    int idle;    /* recordings since then that needed but a part of them */

    CadSlot constants[CAD_CONSTANT_CACHE];

    const CadWatch *watch; /* or NULL */
    CadOrigin *origins;    /* of the entries, as far as they were watched */
    size_t n_origins;
};

CadTape *cad_tape_new(void);
void cad_tape_free(CadTape *tape);

/* Bytes in use by entries, values and adjoints. */
size_t cad_tape_bytes(const CadTape *tape);

/* Make room for CAD_HEADROOM entries and slots and `slots` more. May move slots, by reclaiming:
 * read them afterwards. */
CadStatus cad_tape_grow(CadTape *tape, size_t slots);

static inline int cad_tape_has_room(const CadTape *tape) {
    return tape->n_entries < tape->entry_room && tape->n_slots < tape->slot_room;
}

/* To be called before the appending functions, which take the room for granted: it serves
 * CAD_HEADROOM of them. */
static inline CadStatus cad_tape_ensure(CadTape *tape) {
    return cad_tape_has_room(tape) ? CAD_OK : cad_tape_grow(tape, 0);
}

/* Have somebody watch the tape, or with NULL nobody any more. */
void cad_tape_set_watch(CadTape *tape, const CadWatch *watch);

/* cad_tape_grow where the tape is busy or watched. */
CadStatus cad_tape_grow_shut(CadTape *tape, size_t slots);

CadOrigin cad_tape_origin(const CadTape *tape, size_t entry);

/* As cad_tape_grow, before an operation on single numbers is appended, of which a watch is told.
 */
CadStatus cad_tape_grow_for(CadTape *tape, CadOp op, double x, double y, double z, double value);

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
CadStatus cad_tape_leaf(CadTape *tape, const double *values, size_t count, int accumulate,
                        CadSlot *out);

/* The same without gradients, and with values that the caller has to write. */
CadStatus cad_tape_open_leaf(CadTape *tape, size_t count, CadSlot *out);

/* Slots for an array of constants, not written yet; takes care of room itself. If it `may_change`,
 * numbers with derivatives can be assigned to it later on; else it is known as constant if large.
 */
CadStatus cad_tape_block(CadTape *tape, size_t count, int may_change, CadSlot *out);

/* Append an entry over arrays: `slots` of its own and a plan of that many words, all of which the
 * caller fills in. Takes care of room itself. */
CadStatus cad_tape_push_plan(CadTape *tape, uint32_t code, size_t slots, size_t words,
                             CadPlan **plan);

static inline CadPlan *cad_tape_plan(const CadTape *tape, CadEntry entry) {
    return (CadPlan *)(tape->plans + entry.a);
}

/* Whether an entry writes to slots that are not its own; the lowest of them. */
int cad_entry_target(const CadTape *tape, CadEntry entry, size_t *slot);

/* The slots that were allocated together with a slot: an array, or a single number. */
void cad_tape_allocation(const CadTape *tape, size_t slot, size_t *begin, size_t *end);

int cad_tape_has_rules(const CadTape *tape, size_t begin, size_t end);

/* What a pass knows of a block: where its adjoints are if lent, and whether it touched it. */
typedef struct CadBlockPass {
    double *adjoints;
    uint32_t pass;
} CadBlockPass;

/* The adjoints of a pass, put aside while another one runs. */
typedef struct CadPass {
    double *adjoints;
    size_t capacity;
    size_t dirty_begin;
    size_t dirty_end;
    size_t known_end;
    size_t stale_begin;
    size_t stale_end;
    uint32_t pass;
    CadBlockPass *blocks;
    size_t n_blocks;
    size_t n_lent;
} CadPass;

CadStatus cad_tape_leave_pass(CadTape *tape, CadPass *pass);
void cad_tape_resume_pass(CadTape *tape, CadPass pass);

/* The lowest and highest slot of a view of a plan. */
void cad_plan_bounds(CadPlan *plan, int view, int64_t *low, int64_t *high);

/* While pinned, slots keep their places. */
void cad_tape_pin(CadTape *tape);
void cad_tape_unpin(CadTape *tape);

/* While busy, the tape takes nothing new: cad_tape_ensure fails with CAD_BUSY. */
void cad_tape_set_busy(CadTape *tape, int busy);

/* Treat slots behind all blocks as a block of its own if they are many, constants, or an input. */
typedef enum CadBlockKind { CAD_RESULT, CAD_CONSTANTS, CAD_ARGUMENT } CadBlockKind;

CadStatus cad_tape_note_block(CadTape *tape, size_t begin, size_t end, CadBlockKind kind);

/* Whether a slot belongs to an array of constants; and that it does so no more. */
int cad_tape_is_constant(const CadTape *tape, CadSlot slot);
void cad_tape_activate(CadTape *tape, CadSlot slot);

/* The block that a slot belongs to; NULL if it is in none. */
CadBlock *cad_tape_find_block(const CadTape *tape, CadSlot slot);

/* The index of the first block that ends behind a slot. */
size_t cad_tape_block_after(const CadTape *tape, size_t slot);

/* The adjoints as seen from a slot: what stands at [slot] is its adjoint, and so for all slots of
 * its block. */
static inline double *cad_tape_adjoints(const CadTape *tape, int64_t slot) {
    const CadBlock *block = tape->n_lent == 0 ? NULL : cad_tape_find_block(tape, (CadSlot)slot);
    return block != NULL && block->adjoints != NULL ? block->adjoints - block->begin
                                                    : tape->adjoints;
}

/* Have the adjoints of a large block written to memory of the caller's, until he takes it back
 * with NULL. Answers whether it is such a block, exactly [begin, end). */
int cad_tape_lend(CadTape *tape, size_t begin, size_t end, double *adjoints);

int cad_tape_is_lent(const CadTape *tape, CadSlot slot);

/* Blocks of fewer slots are rather copied than borrowed; tests have it a few. */
#ifndef CAD_BORROW
#define CAD_BORROW 32768
#endif

/* Have the values of a very large block, exactly [begin, end), read from memory of the caller's,
 * which stays as it is until they are settled or the block is gone. Answers whether it is such a
 * block. */
int cad_tape_borrow(CadTape *tape, size_t begin, size_t end, const double *values);

/* Copy values that are borrowed to their places: wanted by all but cad_tape_values. */
void cad_tape_settle(CadTape *tape);

/* The values as seen from a slot, as cad_tape_adjoints. */
static inline double *cad_tape_values(const CadTape *tape, int64_t slot) {
    const CadBlock *block =
        tape->n_borrowed == 0 ? NULL : cad_tape_find_block(tape, (CadSlot)slot);
    return block != NULL && block->values != NULL ? block->values - block->begin : tape->values;
}

/* A single number of a block is about to be used by itself: its adjoints are cleared with all
 * others from now on. */
void cad_tape_use_singly(CadTape *tape, CadSlot slot);

/* Adjoints [low, high] are about to be added to. Answers 1 if they are a whole block that no one
 * has touched in this pass: it has to be overwritten instead. */
int cad_tape_touch(CadTape *tape, size_t low, size_t high);

/* Have the adjoints of a large block be 0, as if nobody had touched it in this pass. */
void cad_tape_forget(CadTape *tape, CadSlot slot);

/* Whether the adjoint at a slot is 0 because its block was not touched. */
int cad_tape_is_untouched(const CadTape *tape, CadSlot slot);

/* Index of the entry that wrote a slot, or n_entries if the slot is a constant. */
size_t cad_tape_find(const CadTape *tape, CadSlot slot);

/* How many entries there are whose slots begin at or before a slot. */
size_t cad_tape_entries_through(const CadTape *tape, CadSlot slot);

/* Marks nest. Setting the first may move slots, by reclaiming. Rewinding forgets all that came
 * after the last mark; keeping it forgets the mark alone. The holder of the numbers has to have
 * let go of what is rewound. */
CadStatus cad_tape_mark(CadTape *tape);
void cad_tape_rewind(CadTape *tape);
void cad_tape_keep(CadTape *tape);

/* Count one handle more or less, of a slot since any mark. */
void cad_tape_count_handle(CadTape *tape, CadSlot slot, int change);

/* How many handles there are in all. */
size_t cad_tape_all_handles(const CadTape *tape);

/* Make all adjoints 0, for a sweep that will write those of the slots [begin, end). */
CadStatus cad_tape_clear_adjoints(CadTape *tape, size_t begin, size_t end);

/* The adjoints of slots [begin, end) that the last sweep left; 0 for what no sweep has reached. */
void cad_tape_read_adjoints(const CadTape *tape, size_t begin, size_t end, double *adjoints);

static inline double cad_tape_adjoint(const CadTape *tape, CadSlot slot) {
    double adjoint;
    cad_tape_read_adjoints(tape, slot, (size_t)slot + 1, &adjoint);
    return adjoint;
}

/* Make an adjoint that is about to be added to, from outside of any sweep, ready for it. */
void cad_tape_prepare_adjoints(CadTape *tape, size_t low, size_t high);

/* Reclaiming: mark the slots that are held, trace what they need, ask where they go, compact. */
typedef struct CadReclaim {
    uint64_t *live;   /* a bit for each slot */
    uint32_t *before; /* live slots before each word of bits */
    size_t words;
} CadReclaim;

CadStatus cad_reclaim_begin(const CadTape *tape, CadReclaim *reclaim);
void cad_reclaim_hold(CadReclaim *reclaim, CadSlot slot);
void cad_reclaim_hold_range(CadReclaim *reclaim, size_t begin, size_t end);
/* Answers the number of slots that stay: if that is nearly all, better end it at once. */
size_t cad_reclaim_trace(const CadTape *tape, CadReclaim *reclaim);
int cad_reclaim_is_live(const CadReclaim *reclaim, CadSlot slot);
void cad_reclaim_end(CadReclaim *reclaim);
CadSlot cad_reclaim_target(const CadReclaim *reclaim, CadSlot slot);
void cad_reclaim_compact(CadTape *tape, CadReclaim *reclaim); /* and ends it */

#endif
