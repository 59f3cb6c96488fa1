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
    double *adjoints; /* where they are instead of in the buffer, or NULL */
    double *values;   /* where the values are instead, which are only read; or NULL */
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
static inline double *cad_tape_adjoints(const CadTape *tape, int64_t slot) {
    const CadBlock *block = tape->n_lent == 0 ? NULL : cad_tape_find_block(tape, (CadSlot)slot);
    return block != NULL && block->adjoints != NULL ? block->adjoints - block->begin
                                                    : tape->adjoints;
}

/* Have the adjoints of a large block written to memory of the caller's, until he takes it back
 * with NULL. Answers whether it is such a block, exactly [begin, end). */
bool cad_tape_lend(CadTape *tape, size_t begin, size_t end, double *adjoints);

bool cad_tape_is_lent(const CadTape *tape, CadSlot slot);

/* Blocks of fewer slots are rather copied than borrowed; tests have it a few. */
#ifndef CAD_BORROW
#define CAD_BORROW 32768
#endif

/* Have the values of a very large block, exactly [begin, end), read from memory of the caller's,
 * which stays as it is until they are copied or the block is gone. Answers whether it is such a
 * block. */
bool cad_tape_borrow(CadTape *tape, size_t begin, size_t end, const double *values);

/* Copy values that are borrowed to their places: wanted by all but cad_tape_values. */
void cad_tape_copy_borrowed(CadTape *tape);

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

/* Have the adjoints of a large block be 0, as if it were untouched in this pass. */
void cad_tape_forget(CadTape *tape, CadSlot slot);

/* Whether the adjoint at a slot is 0 because its block was not touched. */
bool cad_tape_is_untouched(const CadTape *tape, CadSlot slot);

#endif
