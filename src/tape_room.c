/* Room for what is appended: how the buffers grow and shrink, and when the holder of the numbers
 * is asked to reclaim. Appending itself only compares with the room that was set here. */
#include "tape_inner.h"

enum {
    FIRST_RECLAIM = 1 << 15,        /* in entries; eight times as many slots */
    FIRST_RECLAIM_MARKED = 1 << 20, /* a recording that will be rewound can wait */
    LARGE = 1 << 22,
    PATIENCE = 8,
};

/* From how many entries on to reclaim (eight times as many slots count as much): a recording that
 * will be rewound can wait longer than what is made outside of any, a pinned tape has to. */
static size_t entry_limit(const CadTape *tape) {
    const size_t wait = tape->n_marks > 0 ? FIRST_RECLAIM_MARKED : 0;
    return tape->pinned > 0 ? SIZE_MAX : tape->reclaim_entries + wait;
}

static size_t slot_limit(const CadTape *tape) {
    const size_t wait = tape->n_marks > 0 ? 8 * (size_t)FIRST_RECLAIM_MARKED : 0;
    return tape->pinned > 0 ? SIZE_MAX : tape->reclaim_slots + wait;
}

/* Entries over arrays take longer to step over than those on single numbers. */
static size_t plan_limit(const CadTape *tape) {
    const size_t wait = tape->n_marks > 0 ? (size_t)FIRST_RECLAIM_MARKED : 0;
    return tape->pinned > 0 ? SIZE_MAX : tape->reclaim_plan_words + wait;
}

static int reclaim_is_due(const CadTape *tape) {
    return tape->n_entries >= entry_limit(tape) || tape->n_slots >= slot_limit(tape) ||
           tape->n_plan_words >= plan_limit(tape);
}

void cad_tape_reclaim_later(CadTape *tape, size_t factor) {
    tape->reclaim_entries = larger(tape->n_entries * factor, FIRST_RECLAIM);
    tape->reclaim_slots = larger(tape->n_slots * factor, 8 * FIRST_RECLAIM);
    tape->reclaim_plan_words = larger(tape->n_plan_words * factor, FIRST_RECLAIM / 2);
}

/* Ask the holder to reclaim, and set when to ask again. Tracing costs time in proportion to what
 * stays: where little was gained, wait longer. */
static void reclaim(CadTape *tape) {
    const size_t before = tape->n_slots;
    if (tape->make_room != NULL) {
        tape->make_room(tape);
    }
    cad_tape_reclaim_later(tape, tape->n_slots <= before / 2 ? 2 : 4);
}

void cad_tape_reclaim_if_due(CadTape *tape) {
    if (reclaim_is_due(tape)) {
        reclaim(tape);
    }
}

void cad_tape_set_room(CadTape *tape) {
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
    if (tape->n_plan_words >= plan_limit(tape)) {
        tape->entry_room = 0; /* the next entry asks for room, and finds it due */
    }
}

void cad_tape_pin(CadTape *tape) {
    tape->pinned++;
}

void cad_tape_unpin(CadTape *tape) {
    tape->pinned--;
    cad_tape_set_room(tape);
}

void cad_tape_set_busy(CadTape *tape, int busy) {
    tape->busy = busy;
    tape->shut = busy || tape->watch != NULL;
    cad_tape_set_room(tape);
}

CadStatus cad_tape_grow(CadTape *tape, size_t slots) {
    if (tape->shut) {
        return cad_tape_grow_shut(tape, slots);
    }
    cad_tape_reclaim_if_due(tape);
    if (slots > CAD_MOST_SLOTS || tape->n_slots + slots + 2 * CAD_HEADROOM > CAD_MOST_SLOTS) {
        return CAD_TAPE_FULL;
    }
    CadStatus status = cad_memory_grow((void **)&tape->entries, &tape->entry_capacity,
                                       tape->n_entries + 2 * CAD_HEADROOM, sizeof *tape->entries);
    if (status == CAD_OK) {
        status = cad_memory_grow((void **)&tape->values, &tape->slot_capacity,
                                 tape->n_slots + slots + 2 * CAD_HEADROOM, sizeof *tape->values);
    }
    if (status != CAD_OK) {
        return status;
    }
    cad_tape_set_room(tape);
    return CAD_OK;
}

/* Shrink a buffer; one that cannot be shrunk stays as it is. */
static void shrink_buffer(void **buffer, size_t *capacity, size_t wanted, size_t size) {
    void *shrunk = wanted < *capacity ? cad_memory_resize(*buffer, wanted, size) : NULL;
    if (shrunk != NULL) {
        *buffer = shrunk;
        *capacity = wanted;
    }
}

void cad_tape_trim(CadTape *tape, size_t used) {
    if (tape->n_entries < tape->reclaim_entries / 4) {
        cad_tape_reclaim_later(tape, 2);
    }
    tape->peak = larger(tape->peak, used);
    if (tape->slot_capacity < LARGE || tape->peak > tape->slot_capacity / 8) {
        tape->peak = 0;
        tape->idle = 0;
        return;
    }
    if (++tape->idle < PATIENCE) {
        return;
    }
    const size_t wanted = larger(2 * tape->peak, 2 * (tape->n_slots + tape->n_entries)) + 1024;
    shrink_buffer((void **)&tape->entries, &tape->entry_capacity, wanted, sizeof *tape->entries);
    shrink_buffer((void **)&tape->values, &tape->slot_capacity, wanted, sizeof *tape->values);
    for (int k = 0; k < 2; k++) {
        cad_memory_free(tape->spare_lanes[k].data);
        tape->spare_lanes[k] = (CadLaneBuffer){NULL, 0};
    }
    cad_memory_free(tape->adjoints);
    tape->adjoints = NULL;
    tape->adjoint_capacity = tape->dirty_begin = tape->dirty_end = tape->known_end = 0;
    tape->stale_begin = tape->stale_end = 0;
    tape->peak = 0;
    tape->idle = 0;
}
