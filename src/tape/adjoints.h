/* Passes: the adjoints that a sweep writes, from clearing to reading them. */
#ifndef CAD_TAPE_ADJOINTS_H
#define CAD_TAPE_ADJOINTS_H

#include "tape/entries.h"

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

/* What a pass knows of a block: where its adjoints are if lent, and whether it touched it. */
typedef struct CadBlockPass {
    double *adjoints;
    float *float_adjoints;
    uint32_t pass;
    uint8_t stored;
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

#endif
