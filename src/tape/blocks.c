/* Blocks of slots: they are noted and found, lend the memory of their adjoints, borrow that of
 * their values, and are cleared when a pass first touches them. */
#include "tape/inner.h"

size_t cad_tape_block_after(const CadTape *tape, size_t slot) {
    size_t low = 0;
    size_t high = tape->n_blocks;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (tape->blocks[middle].end <= slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

CadStatus cad_tape_note_block(CadTape *tape, size_t begin, size_t end, CadBlockKind kind) {
    const int large = end - begin >= CAD_LARGE_BLOCK;
    if ((!large && kind == CAD_RESULT) || begin == end) {
        return CAD_OK;
    }
    if (tape->n_blocks > 0 && tape->blocks[tape->n_blocks - 1].begin == begin) {
        return CAD_OK; /* noted as the result of an operation */
    }
    const CadStatus status = cad_memory_grow((void **)&tape->blocks, &tape->block_capacity,
                                             tape->n_blocks + 1, sizeof *tape->blocks);
    if (status == CAD_OK) {
        tape->blocks[tape->n_blocks++] = (CadBlock){.begin = (CadSlot)begin,
                                                    .end = (CadSlot)end,
                                                    .eager = !large,
                                                    .constant = kind == CAD_CONSTANTS};
    }
    return status;
}

CadBlock *cad_tape_find_block(const CadTape *tape, CadSlot slot) {
    const size_t i = cad_tape_block_after(tape, slot);
    return i < tape->n_blocks && tape->blocks[i].begin <= slot ? &tape->blocks[i] : NULL;
}

bool cad_tape_is_constant(const CadTape *tape, CadSlot slot) {
    const CadBlock *block = cad_tape_find_block(tape, slot);
    return block != NULL && block->constant;
}

void cad_tape_activate(CadTape *tape, CadSlot slot) {
    CadBlock *block = cad_tape_find_block(tape, slot);
    if (block != NULL) {
        block->constant = 0;
    }
}

bool cad_tape_lend(CadTape *tape, size_t begin, size_t end, double *adjoints) {
    CadBlock *block = cad_tape_find_block(tape, (CadSlot)begin);
    if (block == NULL || block->eager || block->begin != begin || block->end != end) {
        return 0;
    }
    tape->n_lent += (block->adjoints == NULL && adjoints != NULL);
    tape->n_lent -= (block->adjoints != NULL && adjoints == NULL);
    block->adjoints = adjoints;
    return 1;
}

bool cad_tape_is_lent(const CadTape *tape, CadSlot slot) {
    return tape->n_lent > 0 && cad_tape_adjoints(tape, slot) != tape->adjoints;
}

bool cad_tape_borrow(CadTape *tape, size_t begin, size_t end, const double *values) {
    CadBlock *block = cad_tape_find_block(tape, (CadSlot)begin);
    if (end - begin < CAD_BORROW || block == NULL || block->eager || block->begin != begin ||
        block->end != end) {
        return 0;
    }
    block->values = (double *)values; /* never written to */
    tape->n_borrowed++;
    return 1;
}

static void materialize_block(CadTape *tape, CadBlock *block) {
    if (block->values != NULL) {
        memcpy(tape->values + block->begin, block->values,
               (size_t)(block->end - block->begin) * sizeof *tape->values);
        block->values = NULL;
        tape->n_borrowed--;
    }
}

void cad_tape_copy_borrowed(CadTape *tape) {
    for (size_t i = 0; tape->n_borrowed > 0; i++) {
        materialize_block(tape, &tape->blocks[i]);
    }
}

void cad_tape_use_singly(CadTape *tape, CadSlot slot) {
    CadBlock *block = cad_tape_find_block(tape, slot);
    if (block == NULL) {
        return;
    }
    materialize_block(tape, block);
    block->singly |= !block->changed; /* else they are copies */
    if (block->eager) {
        return;
    }
    block->eager = 1;
    if (block->end <= tape->adjoint_capacity && block->pass != tape->pass) {
        memset(tape->adjoints + block->begin, 0,
               (size_t)(block->end - block->begin) * sizeof *tape->adjoints);
    }
}

int cad_tape_touch(CadTape *tape, size_t low, size_t high) {
    tape->dirty_begin = smaller(tape->dirty_begin, low);
    CadBlock *block = tape->n_blocks == 0 ? NULL : cad_tape_find_block(tape, (CadSlot)low);
    if (block == NULL || block->eager || block->pass == tape->pass) {
        return 0;
    }
    block->pass = tape->pass;
    note_stale(tape, block->begin, block->end);
    if (low == block->begin && high + 1 == block->end) {
        return 1;
    }
    memset(cad_tape_adjoints(tape, block->begin) + block->begin, 0,
           (size_t)(block->end - block->begin) * sizeof *tape->adjoints);
    return 0;
}

void cad_tape_forget(CadTape *tape, CadSlot slot) {
    cad_tape_find_block(tape, slot)->pass = 0;
}

bool cad_tape_is_untouched(const CadTape *tape, CadSlot slot) {
    if (tape->n_blocks == 0) {
        return 0;
    }
    const CadBlock *block = cad_tape_find_block(tape, slot);
    return block != NULL && !block->eager && block->pass != tape->pass;
}
