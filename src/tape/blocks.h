/* Blocks: arrays on the tape whose adjoints a pass clears when it first touches them, and whose
 * values and adjoints may stand in memory of the caller's. */
#ifndef CAD_TAPE_BLOCKS_H
#define CAD_TAPE_BLOCKS_H

#include "tape/tape.h"

/* A block of slots. Of a large one the adjoints are not cleared before a pass, but when the pass
 * first touches them: most often they are then overwritten as a whole. */
struct CadBlock {
    CadSlot begin;
    CadSlot end;
    uint32_t pass;    /* the last one that touched it */
    uint8_t eager;    /* small, or single numbers of it are in use: cleared like all others */
    uint8_t constant; /* nothing that carries a derivative was ever written to it */
    uint8_t singly;   /* single numbers of it are in use */
    uint8_t changed;  /* an input that was assigned to */
    uint8_t packed;   /* the values are floats, which take the first half of its slots */
    uint8_t stored;   /* there are adjoints that are floats */
    double *adjoints; /* where they are instead of in the buffer, or NULL */
    double *values;   /* where the values are instead, which are only read; or NULL */
    float
        *float_adjoints; /* as those two, of numbers that are floats: products of matrices read */
    float *floats;       /* and write them so, and all others have them copied to the buffer */
};

/* A block is large from so many slots on; tests have it a few. */
#ifndef CAD_LARGE_BLOCK
#define CAD_LARGE_BLOCK 512
#endif

/* Treat slots behind all blocks as a block of its own if they are many, constants, or an input. */
typedef enum CadBlockKind { CAD_RESULT, CAD_CONSTANTS, CAD_ARGUMENT } CadBlockKind;

CadStatus cad_tape_note_block(CadTape *tape, size_t begin, size_t end, CadBlockKind kind);

/* Whether a slot belongs to an array of constants; and that it does so no more. */
bool cad_tape_is_constant(const CadTape *tape, CadSlot slot);
void cad_tape_activate(CadTape *tape, CadSlot slot);

/* The block that a slot belongs to; NULL if it is in none. */
CadBlock *cad_tape_find_block(const CadTape *tape, CadSlot slot);

/* The index of the first block that ends behind a slot. */
size_t cad_tape_block_after(const CadTape *tape, size_t slot);

/* The adjoints as seen from a slot: what stands at [slot] is its adjoint, and so for all slots of
 * its block. */
double *cad_tape_lent_adjoints(const CadTape *tape, int64_t slot);

static inline double *cad_tape_adjoints(const CadTape *tape, int64_t slot) {
    return tape->n_lent == 0 ? tape->adjoints : cad_tape_lent_adjoints(tape, slot);
}

/* Have the adjoints of a large block written to memory of the caller's, until he takes it back
 * with NULL. Answers whether it is such a block, exactly [begin, end). */
bool cad_tape_lend(CadTape *tape, size_t begin, size_t end, double *adjoints);

/* The same of floats: only what asks for `cad_tape_float_adjoints`, and stores all of them, writes
 * there. As soon as another asks for the adjoints, they are in the buffer, and lent no more. */
bool cad_tape_lend_floats(CadTape *tape, size_t begin, size_t end, float *adjoints);

/* The adjoints as seen from a slot, all of whose block the caller now stores as floats; NULL if
 * none are lent. */
float *cad_tape_float_adjoints(const CadTape *tape, int64_t slot);

bool cad_tape_is_lent(const CadTape *tape, CadSlot slot);

/* Blocks of fewer slots are rather copied than borrowed; tests have it a few. */
#ifndef CAD_BORROW
#define CAD_BORROW 32768
#endif

/* Have the values of a very large block, exactly [begin, end), read from memory of the caller's,
 * which stays as it is until they are copied or the block is gone. Answers whether it is such a
 * block. */
bool cad_tape_borrow(CadTape *tape, size_t begin, size_t end, const double *values);

/* The same of floats. */
bool cad_tape_borrow_floats(CadTape *tape, size_t begin, size_t end, const float *values);

/* Keep copies of so many floats in the place of a very large block of constants, from its first
 * slot on. Answers whether it is such a block; then they count as borrowed. */
bool cad_tape_pack(CadTape *tape, size_t begin, size_t count, const float *values);

bool cad_block_borrows(const CadBlock *block);

/* Copy values that are borrowed to their places: wanted by all but cad_tape_values; and those of
 * the block of one slot. */
void cad_tape_copy_borrowed(CadTape *tape);
void cad_tape_copy_block(CadTape *tape, CadSlot slot);

/* The values as seen from a slot, as cad_tape_adjoints. Floats are copied to their places first.
 */
double *cad_tape_borrowed_values(const CadTape *tape, int64_t slot);

static inline double *cad_tape_values(const CadTape *tape, int64_t slot) {
    return tape->n_borrowed == 0 ? tape->values : cad_tape_borrowed_values(tape, slot);
}

/* The values as seen from a slot, as floats; NULL if they are doubles. */
const float *cad_tape_floats(const CadTape *tape, int64_t slot);

/* A single number of a block is about to be used by itself: its adjoints are cleared with all
 * others from now on. */
void cad_tape_use_singly(CadTape *tape, CadSlot slot);

/* Adjoints [low, high] are about to be added to. Answers 1 if they are a whole block that no one
 * has touched in this pass: it has to be overwritten instead. */
int cad_tape_touch(CadTape *tape, size_t low, size_t high);

/* Have the adjoints of a large block be 0, as if it were untouched in this pass. */
void cad_tape_forget(CadTape *tape, CadSlot slot);

/* Whether the adjoint at a slot is 0 because its block was not touched. */
bool cad_tape_is_untouched(const CadTape *tape, CadSlot slot);

#endif
