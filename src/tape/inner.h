/* What the files of the tape share with each other alone. */
#ifndef CAD_TAPE_INNER_H
#define CAD_TAPE_INNER_H

#include "tape/adjoints.h"
#include "tape/blocks.h"

static inline size_t larger(size_t x, size_t y) {
    return x > y ? x : y;
}

static inline size_t smaller(size_t x, size_t y) {
    return x < y ? x : y;
}

/* --- room --- */

enum { FIRST_RECLAIM_MARKED = 1 << 20 }; /* a recording that will be rewound can wait */

/* From how much on to reclaim: a recording that will be rewound can wait for so much longer than
 * what is made outside of any, a pinned tape has to. */
static inline size_t limit(const CadTape *tape, size_t first, size_t wait) {
    return tape->pinned > 0 ? SIZE_MAX : first + (tape->n_marks > 0 ? wait : 0);
}

static inline size_t entry_limit(const CadTape *tape) {
    return limit(tape, tape->reclaim_entries, FIRST_RECLAIM_MARKED);
}

static inline size_t slot_limit(const CadTape *tape) {
    return limit(tape, tape->reclaim_slots, 8 * (size_t)FIRST_RECLAIM_MARKED);
}

/* Entries over arrays take longer to step over than those on single numbers, and what rules refer
 * to lives as long as their entries do. */
static inline int are_plans_due(const CadTape *tape) {
    return tape->n_plan_words >= limit(tape, tape->reclaim_plan_words, FIRST_RECLAIM_MARKED) ||
           tape->n_rules >= limit(tape, tape->reclaim_rules, FIRST_RECLAIM_MARKED);
}

static inline int reclaim_is_due(const CadTape *tape) {
    return tape->n_entries >= entry_limit(tape) || tape->n_slots >= slot_limit(tape) ||
           are_plans_due(tape);
}

/* How far the tape may be filled before cad_tape_grow is due. */
static inline void set_room(CadTape *tape) {
    if (tape->slot_capacity == 0) {
        return;
    }
    if (tape->shut) {
        tape->entry_room = 0;
        return;
    }
    tape->entry_room = smaller(tape->entry_capacity - CAD_HEADROOM, entry_limit(tape));
    tape->slot_room = smaller(tape->slot_capacity - CAD_HEADROOM, slot_limit(tape));
    tape->slot_room = smaller(tape->slot_room, CAD_MOST_SLOTS - 2 * CAD_HEADROOM);
    if (are_plans_due(tape)) {
        tape->entry_room = 0; /* the next entry asks for room, and finds it due */
    }
}

/* Ask the holder to reclaim, and set when to ask again. Tracing costs time in proportion to what
 * stays: where little was gained, wait longer. */
void cad_tape_reclaim(CadTape *tape);

/* Give back what one large recording took, once several after it have needed far less. */
void cad_tape_trim(CadTape *tape, size_t used);

/* --- what is noted on the tape --- */

/* Constants are to be appended anew: those on the tape have moved or gone, or are an outer
 * recording's. */
static inline void forget_constants(CadTape *tape) {
    for (int i = 0; i < CAD_CONSTANT_CACHE; i++) {
        tape->constants[i] = CAD_NONE;
    }
}

/* The adjoints of blocks in [begin, end) may differ from 0. */
static inline void note_stale(CadTape *tape, size_t begin, size_t end) {
    const int none = tape->stale_begin == tape->stale_end;
    tape->stale_begin = none ? begin : smaller(tape->stale_begin, begin);
    tape->stale_end = none ? end : larger(tape->stale_end, end);
}

#endif
