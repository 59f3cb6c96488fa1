/* Blocks of slots: they are noted and found, lend the memory of their adjoints, borrow that of
 * their values, and are cleared when a pass first touches them. */
#include "tape/inner.h"

/* Floats as doubles, last ones first: they may stand in the first half of the same places, and
 * memcpy tells the compiler that they are other objects. */
static void widen(double *to, const float *from, size_t n) {
    float floats[256];
    while (n > 0) {
        const size_t count = n < 256 ? n : 256;
        n -= count;
        memcpy(floats, from + n, count * sizeof *floats);
        for (size_t i = 0; i < count; i++) {
            to[n + i] = (double)floats[i];
        }
    }
}

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

/* The large block [begin, end), if it is one. */
static CadBlock *large_block(const CadTape *tape, size_t begin, size_t end) {
    CadBlock *block = cad_tape_find_block(tape, (CadSlot)begin);
    return block == NULL || block->eager || block->begin != begin || block->end != end ? NULL
                                                                                       : block;
}

static size_t size_of(const CadBlock *block) {
    return (size_t)(block->end - block->begin);
}

static int is_lent(const CadBlock *block) {
    return block->adjoints != NULL || block->float_adjoints != NULL;
}

static bool lend(CadTape *tape, CadBlock *block, double *adjoints, float *floats) {
    if (block == NULL) {
        return 0;
    }
    tape->n_lent -= (size_t)is_lent(block);
    block->adjoints = adjoints;
    block->float_adjoints = floats;
    block->stored = 0;
    tape->n_lent += (size_t)is_lent(block);
    return 1;
}

bool cad_tape_lend(CadTape *tape, size_t begin, size_t end, double *adjoints) {
    return lend(tape, large_block(tape, begin, end), adjoints, NULL);
}

bool cad_tape_lend_floats(CadTape *tape, size_t begin, size_t end, float *adjoints) {
    return lend(tape, large_block(tape, begin, end), NULL, adjoints);
}

bool cad_tape_is_lent(const CadTape *tape, CadSlot slot) {
    const CadBlock *block = tape->n_lent == 0 ? NULL : cad_tape_find_block(tape, slot);
    return block != NULL && is_lent(block);
}

float *cad_tape_float_adjoints(const CadTape *tape, int64_t slot) {
    CadBlock *block = tape->n_lent == 0 ? NULL : cad_tape_find_block(tape, (CadSlot)slot);
    if (block == NULL || block->float_adjoints == NULL) {
        return NULL;
    }
    block->stored = 1;
    return block->float_adjoints - block->begin;
}

double *cad_tape_lent_adjoints(const CadTape *tape, int64_t slot) {
    CadBlock *block = cad_tape_find_block(tape, (CadSlot)slot);
    if (block == NULL || !is_lent(block)) {
        return tape->adjoints;
    }
    if (block->adjoints != NULL) {
        return block->adjoints - block->begin;
    }
    if (block->stored) {
        widen(tape->adjoints + block->begin, block->float_adjoints, size_of(block));
    }
    lend((CadTape *)tape, block, NULL, NULL);
    return tape->adjoints;
}

static bool borrow(CadTape *tape, CadBlock *block) {
    if (block == NULL || size_of(block) < CAD_BORROW) {
        return 0;
    }
    tape->n_borrowed++;
    return 1;
}

bool cad_tape_borrow(CadTape *tape, size_t begin, size_t end, const double *values) {
    CadBlock *const block = large_block(tape, begin, end);
    const bool is_one = borrow(tape, block);
    if (is_one) {
        block->values = (double *)values; /* never written to */
    }
    return is_one;
}

bool cad_tape_borrow_floats(CadTape *tape, size_t begin, size_t end, const float *values) {
    CadBlock *const block = large_block(tape, begin, end);
    const bool is_one = borrow(tape, block);
    if (is_one) {
        block->floats = (float *)values; /* nor are these */
    }
    return is_one;
}

bool cad_tape_pack(CadTape *tape, size_t begin, size_t count, const float *values) {
    CadBlock *const block = large_block(tape, begin, begin + count);
    const bool is_one = borrow(tape, block);
    if (is_one) {
        memcpy(tape->values + begin, values, count * sizeof *values);
        block->packed = 1;
    }
    return is_one;
}

static const float *floats_of(const CadTape *tape, const CadBlock *block) {
    return block->packed ? (const float *)(tape->values + block->begin) : block->floats;
}

const float *cad_tape_floats(const CadTape *tape, int64_t slot) {
    const CadBlock *block =
        tape->n_borrowed == 0 ? NULL : cad_tape_find_block(tape, (CadSlot)slot);
    const float *const floats = block == NULL ? NULL : floats_of(tape, block);
    return floats == NULL ? NULL : floats - block->begin;
}

bool cad_block_borrows(const CadBlock *block) {
    return block->values != NULL || block->floats != NULL || block->packed;
}

static void materialize_block(CadTape *tape, CadBlock *block) {
    if (!cad_block_borrows(block)) {
        return;
    }
    double *const to = tape->values + block->begin;
    if (block->values != NULL) {
        memcpy(to, block->values, size_of(block) * sizeof *to);
    } else {
        widen(to, floats_of(tape, block), size_of(block));
    }
    block->values = NULL;
    block->floats = NULL;
    block->packed = 0;
    tape->n_borrowed--;
}

double *cad_tape_borrowed_values(const CadTape *tape, int64_t slot) {
    CadBlock *block = cad_tape_find_block(tape, (CadSlot)slot);
    if (block != NULL && block->values != NULL) {
        return block->values - block->begin;
    }
    if (block != NULL) {
        materialize_block((CadTape *)tape, block);
    }
    return tape->values;
}

void cad_tape_copy_block(CadTape *tape, CadSlot slot) {
    CadBlock *const block = tape->n_borrowed == 0 ? NULL : cad_tape_find_block(tape, slot);
    if (block != NULL) {
        materialize_block(tape, block);
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
