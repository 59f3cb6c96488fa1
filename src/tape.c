/* A tape as it comes about: made, and entries, leaves and constants appended to it. */
#include "tape_inner.h"

CadTape *cad_tape_new(void) {
    CadTape *tape = cad_memory_zeroed(1, sizeof *tape);
    if (tape == NULL) {
        return NULL;
    }
    cad_tape_reclaim_later(tape, 1);
    cad_tape_forget_constants(tape);
    return tape;
}

void cad_tape_free(CadTape *tape) {
    if (tape != NULL) {
        cad_memory_free(tape->entries);
        cad_memory_free(tape->values);
        cad_memory_free(tape->adjoints);
        cad_memory_free(tape->marks);
        cad_memory_free(tape->blocks);
        cad_memory_free(tape->plans);
        cad_memory_free(tape->scratch);
        cad_memory_free(tape->workspace);
        cad_memory_free(tape->origins);
        cad_memory_free(tape->spare_lanes[0].data);
        cad_memory_free(tape->spare_lanes[1].data);
        cad_memory_free(tape);
    }
}

size_t cad_tape_bytes(const CadTape *tape) {
    return tape->n_entries * sizeof(CadEntry) + 2 * tape->n_slots * sizeof(double) +
           tape->n_plan_words * sizeof *tape->plans + tape->n_blocks * sizeof *tape->blocks;
}

CadSlot cad_tape_push3(CadTape *tape, uint32_t code, CadSlot a, CadSlot b, CadSlot c,
                       double value) {
    const CadSlot out = (CadSlot)tape->n_slots;
    tape->entries[tape->n_entries++] = (CadEntry){CAD_CODE(CAD_OP_THIRD, 0), out, c, c};
    return cad_tape_push(tape, code, a, b, value);
}

CadStatus cad_tape_leaf(CadTape *tape, const double *values, size_t count, int accumulate,
                        CadSlot *out) {
    if (count > CAD_MOST_SLOTS / 2) {
        return CAD_TAPE_FULL;
    }
    /* An empty leaf takes a slot all the same: each handle has one that is its own. */
    const size_t slots = count == 0 ? 1 : accumulate ? 2 * count : count;
    const CadStatus status = cad_tape_grow(tape, slots);
    if (status != CAD_OK) {
        return status;
    }
    *out = (CadSlot)tape->n_slots;
    double *const place = tape->values + *out;
    const size_t given = values != NULL ? count : 0;
    if (given > 0) {
        memcpy(place, values, count * sizeof *values);
    }
    memset(place + given, 0, (slots - given) * sizeof *values);
    tape->n_slots += slots;
    tape->entries[tape->n_entries++] =
        (CadEntry){CAD_CODE(CAD_OP_LEAF, 0), *out, (CadSlot)count, accumulate ? 1 : 0};
    return CAD_OK;
}

CadStatus cad_tape_open_leaf(CadTape *tape, size_t count, CadSlot *out) {
    const CadStatus status = cad_tape_grow(tape, larger(count, 1));
    if (status != CAD_OK) {
        return status;
    }
    *out = (CadSlot)tape->n_slots;
    tape->values[*out] = 0.0; /* an empty leaf takes a slot all the same */
    tape->n_slots += larger(count, 1);
    tape->entries[tape->n_entries++] =
        (CadEntry){CAD_CODE(CAD_OP_LEAF, 0), *out, (CadSlot)count, 0};
    return CAD_OK;
}

CadStatus cad_tape_block(CadTape *tape, size_t count, int may_change, CadSlot *out) {
    const CadStatus status = cad_tape_grow(tape, larger(count, 1));
    if (status != CAD_OK) {
        return status;
    }
    *out = (CadSlot)tape->n_slots;
    const size_t end = tape->n_slots + larger(count, 1);
    const CadStatus noted =
        cad_tape_note_block(tape, tape->n_slots, end, may_change ? CAD_CONSTANTS : CAD_RESULT);
    if (noted == CAD_OK) {
        CadBlock *block = cad_tape_find_block(tape, *out);
        if (block != NULL) {
            block->constant = 1;
        }
        tape->n_slots = end;
    }
    return noted;
}

CadStatus cad_tape_push_plan(CadTape *tape, uint32_t code, size_t slots, size_t words,
                             CadPlan **plan) {
    CadStatus status = cad_tape_grow(tape, slots);
    if (status == CAD_OK) {
        status = cad_memory_grow((void **)&tape->plans, &tape->plan_capacity,
                                 tape->n_plan_words + words, sizeof *tape->plans);
    }
    if (status == CAD_OK && tape->n_plan_words + words > UINT32_MAX) {
        status = CAD_TAPE_FULL;
    }
    const CadSlot out = (CadSlot)tape->n_slots;
    if (status == CAD_OK) {
        status = cad_tape_note_block(tape, out, out + slots, CAD_RESULT);
    }
    if (status != CAD_OK) {
        return status;
    }
    *plan = (CadPlan *)(tape->plans + tape->n_plan_words);
    (*plan)->words = (uint32_t)words;
    tape->entries[tape->n_entries++] =
        (CadEntry){code | CAD_ARRAY_BIT, out, (CadSlot)tape->n_plan_words, (CadSlot)slots};
    tape->n_plan_words += words;
    tape->n_slots += slots;
    return CAD_OK;
}
