/* What the files of the tape share with each other, and with nobody else. */
#ifndef CAD_TAPE_INNER_H
#define CAD_TAPE_INNER_H

#include "tape_adjoints.h"
#include "tape_blocks.h"

static inline size_t larger(size_t x, size_t y) {
    return x > y ? x : y;
}

static inline size_t smaller(size_t x, size_t y) {
    return x < y ? x : y;
}

/* --- tape_room.c --- */

/* Set how far the tape may be filled before cad_tape_grow is due: that depends on the buffers, on
 * whether there is a mark, and on whether the tape is pinned or shut. */
void cad_tape_set_room(CadTape *tape);

/* Ask the holder to reclaim if the tape has grown so far. */
void cad_tape_reclaim_if_due(CadTape *tape);

/* Reclaim next when the tape has grown by a factor. */
void cad_tape_reclaim_later(CadTape *tape, size_t factor);

/* Give back what one large recording took, once several after it have needed far less. */
void cad_tape_trim(CadTape *tape, size_t used);

/* --- what is noted on the tape --- */

/* Constants are to be appended anew: those on the tape have moved or gone, or are an outer
 * recording's. */
static inline void cad_tape_forget_constants(CadTape *tape) {
    for (int i = 0; i < CAD_CONSTANT_CACHE; i++) {
        tape->constants[i] = CAD_NONE;
    }
}

/* The adjoints of blocks in [begin, end) may differ from 0. */
static inline void cad_tape_note_stale(CadTape *tape, size_t begin, size_t end) {
    const int none = tape->stale_begin == tape->stale_end;
    tape->stale_begin = none ? begin : smaller(tape->stale_begin, begin);
    tape->stale_end = none ? end : larger(tape->stale_end, end);
}

#endif
