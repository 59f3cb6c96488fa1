/* The adjoints of a pass as a whole: cleared before it, read after it, and put aside while another
 * one runs. */
#include "tape/inner.h"

/* Make the adjoints of a range 0, but for those of blocks. Answers whether it met one. */
static int clear_range(CadTape *tape, size_t begin, size_t end) {
    int met = 0;
    for (size_t i = cad_tape_block_after(tape, begin); begin < end; i++) {
        while (i < tape->n_blocks && tape->blocks[i].eager && tape->blocks[i].begin < end) {
            i++;
        }
        const int more = i < tape->n_blocks && tape->blocks[i].begin < end;
        const size_t stop = more ? larger(tape->blocks[i].begin, begin) : end;
        memset(tape->adjoints + begin, 0, (stop - begin) * sizeof *tape->adjoints);
        begin = more ? tape->blocks[i].end : end;
        met |= more;
    }
    return met;
}

CadStatus cad_tape_clear_adjoints(CadTape *tape, size_t begin, size_t end) {
    tape->pass = ++tape->last_pass;
    if (tape->adjoint_capacity < tape->n_slots) {
        size_t capacity = tape->slot_capacity;
        double *fresh = cad_memory_zeroed(capacity, sizeof *fresh);
        if (fresh == NULL) {
            capacity =
                tape->n_slots; /* a longer recording may have left much more room than that */
            fresh = cad_memory_zeroed(capacity, sizeof *fresh);
        }
        if (fresh == NULL) {
            cad_tape_note_starved(tape);
            return CAD_NO_MEMORY;
        }
        cad_memory_free(tape->adjoints);
        tape->adjoints = fresh;
        tape->adjoint_capacity = capacity;
        tape->stale_begin = tape->stale_end = 0;
    } else {
        if (clear_range(tape, tape->dirty_begin, tape->dirty_end)) {
            note_stale(tape, tape->dirty_begin, tape->dirty_end);
        }
        const size_t stop = smaller(tape->stale_end, end);
        if (tape->stale_begin < stop && !clear_range(tape, tape->stale_begin, stop)) {
            tape->stale_begin = stop;
        }
    }
    tape->dirty_begin = begin;
    tape->dirty_end = tape->known_end = end;
    return CAD_OK;
}

void cad_tape_prepare_adjoints(CadTape *tape, size_t low, size_t high) {
    if (cad_tape_touch(tape, low, high)) {
        memset(cad_tape_adjoints(tape, (int64_t)low) + low, 0,
               (high - low + 1) * sizeof *tape->adjoints);
    }
}

/* Copy adjoints [begin, end) if they are known, else write zeros. */
static double *read_range(const double *adjoints, size_t begin, size_t end, int known,
                          double *to) {
    if (known && begin < end) {
        memcpy(to, adjoints + begin, (end - begin) * sizeof *to);
    } else if (begin < end) {
        memset(to, 0, (end - begin) * sizeof *to);
    }
    return begin < end ? to + (end - begin) : to;
}

void cad_tape_read_adjoints(const CadTape *tape, size_t begin, size_t end, double *adjoints) {
    for (size_t i = cad_tape_block_after(tape, begin); begin < end; i++) {
        while (i < tape->n_blocks && tape->blocks[i].eager && tape->blocks[i].begin < end) {
            i++;
        }
        const CadBlock *block = i < tape->n_blocks ? &tape->blocks[i] : NULL;
        const size_t gap = block != NULL ? smaller(larger(block->begin, begin), end) : end;
        const size_t first = smaller(larger(tape->dirty_begin, begin), gap);
        const size_t last = smaller(larger(tape->known_end, first), gap);
        adjoints = read_range(tape->adjoints, begin, first, 0, adjoints);
        adjoints = read_range(tape->adjoints, first, last, 1, adjoints);
        adjoints = read_range(tape->adjoints, last, gap, 0, adjoints);
        begin = block != NULL ? smaller(block->end, end) : end;
        if (block != NULL) {
            const int known = block->pass == tape->pass && tape->pass > 0;
            adjoints =
                read_range(cad_tape_adjoints(tape, (int64_t)gap), gap, begin, known, adjoints);
        }
    }
}

CadStatus cad_tape_leave_pass(CadTape *tape, CadPass *pass) {
    *pass = (CadPass){tape->adjoints,
                      tape->adjoint_capacity,
                      tape->dirty_begin,
                      tape->dirty_end,
                      tape->known_end,
                      tape->stale_begin,
                      tape->stale_end,
                      tape->pass,
                      NULL,
                      tape->n_blocks,
                      tape->n_lent};
    if (tape->n_blocks > 0) {
        pass->blocks = cad_memory_resize(NULL, tape->n_blocks, sizeof *pass->blocks);
        if (pass->blocks == NULL) {
            return CAD_NO_MEMORY;
        }
    }
    for (size_t i = 0; i < tape->n_blocks; i++) {
        CadBlock *block = &tape->blocks[i];
        pass->blocks[i] =
            (CadBlockPass){block->adjoints, block->float_adjoints, block->pass, block->stored};
        block->adjoints = NULL; /* what is lent is lent to this pass */
        block->float_adjoints = NULL;
    }
    tape->n_lent = 0;
    tape->adjoints = NULL;
    tape->adjoint_capacity = tape->dirty_begin = tape->dirty_end = tape->known_end = 0;
    tape->stale_begin = tape->stale_end = 0;
    return CAD_OK;
}

void cad_tape_resume_pass(CadTape *tape, CadPass pass) {
    cad_memory_free(tape->adjoints);
    tape->adjoints = pass.adjoints;
    tape->adjoint_capacity = pass.capacity;
    tape->dirty_begin = pass.dirty_begin;
    tape->dirty_end = pass.dirty_end;
    tape->known_end = pass.known_end;
    tape->stale_begin = pass.stale_begin;
    tape->stale_end = pass.stale_end;
    tape->pass = pass.pass;
    tape->n_lent = pass.n_lent;
    for (size_t i = 0; i < pass.n_blocks && i < tape->n_blocks; i++) {
        tape->blocks[i].adjoints = pass.blocks[i].adjoints;
        tape->blocks[i].float_adjoints = pass.blocks[i].float_adjoints;
        tape->blocks[i].stored = pass.blocks[i].stored;
        tape->blocks[i].pass = pass.blocks[i].pass;
    }
    cad_memory_free(pass.blocks);
}
