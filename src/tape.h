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
#define CAD_CODE_OP(code) ((CadOp)((code) >> 2))

/* Structure:
 *   CAD_OP_LEAF   `a` values from `out` on, then as many accumulated gradients
 *   CAD_OP_THIRD  `a` is the third operand of the entry that follows; `out` is that entry's
 * A slot without an entry is a constant. */

typedef struct CadMark {
    size_t entries;
    size_t slots;
    size_t handles;
} CadMark;

enum { CAD_CONSTANT_CACHE = 64, CAD_HEADROOM = 8 };

typedef struct CadTape CadTape;

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

    CadMark *marks;
    size_t n_marks;
    size_t mark_capacity;

    size_t reclaim_entries; /* numbers of entries and slots at which make_room is called */
    size_t reclaim_slots;
    void (*make_room)(CadTape *tape); /* may call cad_reclaim_*; NULL: nothing is reclaimed */
    int pinned;                       /* > 0 while slots must not move */

    size_t peak; /* most slots in use since the buffers were last found too large */
    int idle;    /* recordings since then that needed but a part of them */

    CadSlot constants[CAD_CONSTANT_CACHE];
};

CadTape *cad_tape_new(void);
void cad_tape_free(CadTape *tape);

/* Bytes in use by entries, values and adjoints. */
size_t cad_tape_bytes(const CadTape *tape);

/* Make room for CAD_HEADROOM entries and slots and `slots` more. May move slots, by reclaiming:
 * read them afterwards. */
CadStatus cad_tape_grow(CadTape *tape, size_t slots);

/* To be called before the appending functions, which take the room for granted: it serves
 * CAD_HEADROOM of them. */
static inline CadStatus cad_tape_ensure(CadTape *tape) {
    if (tape->n_entries < tape->entry_room && tape->n_slots < tape->slot_room) {
        return CAD_OK;
    }
    return cad_tape_grow(tape, 0);
}

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

/* Append a leaf of `count` values (zeros where `values` is NULL) whose gradients are 0; takes care
 * of room itself. */
CadStatus cad_tape_leaf(CadTape *tape, const double *values, size_t count, CadSlot *out);

/* Index of the entry that wrote a slot, or n_entries if the slot is a constant. */
size_t cad_tape_find(const CadTape *tape, CadSlot slot);

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

/* Whether one of the entries [begin, end) reads, as a variable, a slot below `below`. */
int cad_tape_reads_below(const CadTape *tape, size_t begin, size_t end, CadSlot below);

/* Make all adjoints 0, for a sweep that will write those of the slots [begin, end). */
CadStatus cad_tape_clear_adjoints(CadTape *tape, size_t begin, size_t end);

/* The adjoint that the last sweep left; 0 for what no sweep has reached. */
static inline double cad_tape_adjoint(const CadTape *tape, CadSlot slot) {
    return slot >= tape->dirty_begin && slot < tape->known_end ? tape->adjoints[slot] : 0.0;
}

/* Reclaiming: mark the slots that are held, trace what they need, ask where they go, compact. */
typedef struct CadReclaim {
    uint64_t *live;   /* a bit for each slot */
    uint32_t *before; /* live slots before each word of bits */
    size_t words;
} CadReclaim;

CadStatus cad_reclaim_begin(const CadTape *tape, CadReclaim *reclaim);
void cad_reclaim_hold(CadReclaim *reclaim, CadSlot slot);
/* Answers the number of slots that stay: if that is nearly all, better end it at once. */
size_t cad_reclaim_trace(const CadTape *tape, CadReclaim *reclaim);
void cad_reclaim_end(CadReclaim *reclaim);
CadSlot cad_reclaim_target(const CadReclaim *reclaim, CadSlot slot);
void cad_reclaim_compact(CadTape *tape, CadReclaim *reclaim); /* and ends it */

#endif
