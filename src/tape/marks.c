/* Marks: the tape's ends where a recording begins, to rewind to, and the number of handles of
 * later numbers. */
#include "tape/inner.h"

CadStatus cad_tape_mark(CadTape *tape) {
    const CadStatus status = cad_memory_grow((void **)&tape->marks, &tape->mark_capacity,
                                             tape->n_marks + 1, sizeof *tape->marks);
    if (status != CAD_OK) {
        return status;
    }
    if (tape->n_marks == 0 && (reclaim_is_due(tape) || tape->starved)) {
        cad_tape_reclaim(tape);
    }
    tape->marks[tape->n_marks++] = (CadMark){tape->n_entries,    tape->n_slots,    tape->handles,
                                             tape->n_plan_words, tape->n_assigned, tape->n_rules};
    tape->mark_slots = tape->n_slots;
    tape->handles = 0;
    if (tape->n_marks == 1) {
        set_room(tape);
    }
    /* A constant below the mark would look like an outer variable to what comes after it. */
    forget_constants(tape);
    return CAD_OK;
}

static CadMark pop_mark(CadTape *tape) {
    const CadMark mark = tape->marks[--tape->n_marks];
    tape->mark_slots = tape->n_marks == 0 ? 0 : tape->marks[tape->n_marks - 1].slots;
    return mark;
}

void cad_tape_rewind(CadTape *tape) {
    const CadMark mark = pop_mark(tape);
    const size_t used = tape->n_slots;
    CadFilled filled = {mark.entries,  mark.slots,     mark.plan_words,
                        mark.assigned, tape->n_blocks, mark.rules};
    while (filled.blocks > 0 && tape->blocks[filled.blocks - 1].begin >= mark.slots) {
        filled.blocks--; /* none of them is lent: who borrows takes back first */
        tape->n_borrowed -= cad_block_borrows(&tape->blocks[filled.blocks]);
    }
    cad_tape_take_back(tape, filled);
    tape->handles = mark.handles;
    if (tape->n_marks == 0) {
        cad_tape_trim(tape, used);
        set_room(tape);
    }
}

void cad_tape_keep(CadTape *tape) {
    cad_tape_copy_borrowed(tape);
    tape->handles += pop_mark(tape).handles;
    if (tape->n_marks == 0) {
        set_room(tape);
    }
}

CadFilled cad_tape_filled(const CadTape *tape) {
    return (CadFilled){tape->n_entries,  tape->n_slots,  tape->n_plan_words,
                       tape->n_assigned, tape->n_blocks, tape->n_rules};
}

void cad_tape_take_back(CadTape *tape, CadFilled filled) {
    tape->n_entries = filled.entries;
    tape->n_slots = filled.slots;
    tape->n_plan_words = filled.plan_words;
    tape->n_assigned = filled.assigned;
    tape->n_blocks = filled.blocks;
    tape->n_rules = filled.rules;
    tape->known_end = smaller(tape->known_end, filled.slots);
    forget_constants(tape);
    if (tape->guards != NULL) {
        cad_guards_forget(tape, filled.slots);
    }
}

void cad_tape_count_handle(CadTape *tape, CadSlot slot, int change) {
    size_t *count = &tape->handles;
    for (size_t i = tape->n_marks; i-- > 0 && slot < tape->marks[i].slots;) {
        count = &tape->marks[i].handles;
    }
    *count += (size_t)change;
}
