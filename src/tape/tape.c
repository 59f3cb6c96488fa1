/* How a tape comes about, and is filled: appended entries, and their room, which grows and
 * shrinks. Appending itself only compares with the room that was set. */
#include "tape/inner.h"

/* From how much on to reclaim at all. */
enum {
    FIRST_ENTRIES = 1 << 15,
    FIRST_SLOTS = 1 << 18,
    FIRST_PLAN_WORDS = 1 << 14,
    FIRST_RULES = 64, /* each of which may keep much memory that is not the tape's */
};

enum {
    STEPS_A_RULE = 128, /* a walk over so many entries and handles costs no more than a rule */
    LARGE = 1 << 19,
    PATIENCE = 8,
};

size_t cad_tape_all_handles(const CadTape *tape) {
    size_t count = tape->handles;
    for (size_t i = 0; i < tape->n_marks; i++) {
        count += tape->marks[i].handles;
    }
    return count;
}

/* How many rules there may be at the least before a walk over all there is pays. */
static size_t first_rules(const CadTape *tape) {
    const size_t steps = tape->n_entries + cad_tape_all_handles(tape);
    return larger(FIRST_RULES, tape->n_rules + steps / STEPS_A_RULE);
}

/* Reclaim next when the tape has grown by a factor. */
static void reclaim_later(CadTape *tape, size_t factor) {
    tape->reclaim_entries = larger(tape->n_entries * factor, FIRST_ENTRIES);
    tape->reclaim_slots = larger(tape->n_slots * factor, FIRST_SLOTS);
    tape->reclaim_plan_words = larger(tape->n_plan_words * factor, FIRST_PLAN_WORDS);
    tape->reclaim_rules = larger(tape->n_rules * factor, first_rules(tape));
}

/* Lower a limit that was set when there was far more. */
static void lower(size_t *limit, size_t used, size_t first) {
    if (used < *limit / 4) {
        *limit = smaller(*limit, larger(2 * used, first));
    }
}

/* What is left to reclaim is no reason to wait for more of it: no limit is raised. */
static void reclaim_sooner(CadTape *tape) {
    lower(&tape->reclaim_entries, tape->n_entries, FIRST_ENTRIES);
    lower(&tape->reclaim_slots, tape->n_slots, FIRST_SLOTS);
    lower(&tape->reclaim_plan_words, tape->n_plan_words, FIRST_PLAN_WORDS);
    lower(&tape->reclaim_rules, tape->n_rules, first_rules(tape));
}

CadTape *cad_tape_new(void) {
    CadTape *tape = cad_memory_zeroed(1, sizeof *tape);
    if (tape == NULL) {
        return NULL;
    }
    reclaim_later(tape, 1);
    forget_constants(tape);
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
        while (tape->guards != NULL) {
            cad_guards_free(tape);
        }
        cad_memory_free(tape->spare_lanes[0].data);
        cad_memory_free(tape->spare_lanes[1].data);
        cad_memory_free(tape);
    }
}

size_t cad_tape_bytes(const CadTape *tape) {
    return tape->n_entries * sizeof(CadEntry) + 2 * tape->n_slots * sizeof(double) +
           tape->n_plan_words * sizeof *tape->plans + tape->n_blocks * sizeof *tape->blocks;
}

/* --- room --- */

void cad_tape_reclaim(CadTape *tape) {
    const size_t before = tape->n_slots;
    if (tape->make_room != NULL) {
        tape->make_room(tape);
    }
    reclaim_later(tape, tape->n_slots <= before / 2 ? 2 : 4);
}

void cad_tape_pin(CadTape *tape) {
    tape->pinned++;
}

void cad_tape_unpin(CadTape *tape) {
    tape->pinned--;
    set_room(tape);
}

void cad_tape_set_busy(CadTape *tape, bool busy) {
    tape->busy = busy;
    tape->shut = busy || tape->hook != NULL;
    set_room(tape);
}

/* Note where the entry comes from that is about to be appended. What asked for room may append
 * several, all from one place. */
static CadStatus note_origin(CadTape *tape) {
    const size_t first = tape->n_entries;
    const size_t needed = first + CAD_HEADROOM;
    if (needed > tape->n_origins) {
        const size_t wanted = needed + needed / 2;
        CadOrigin *grown = cad_memory_resize(tape->origins, wanted, sizeof *grown);
        if (grown == NULL) {
            return CAD_NO_MEMORY;
        }
        memset(grown + tape->n_origins, 0, (wanted - tape->n_origins) * sizeof *grown);
        tape->origins = grown;
        tape->n_origins = wanted;
    }
    const CadHook *const hook = tape->hook;
    const uint32_t place = hook->place != NULL ? hook->place(hook->holder) : 0;
    for (size_t i = first; i < needed; i++) {
        tape->origins[i] = (CadOrigin){place, 0};
    }
    return CAD_OK;
}

/* cad_tape_grow where the tape is busy or hooked. */
static CadStatus grow_shut(CadTape *tape, size_t slots) {
    if (tape->busy) {
        return CAD_BUSY;
    }
    tape->shut = 0;
    const CadStatus status = cad_tape_grow(tape, slots);
    tape->shut = 1;
    tape->entry_room = 0;
    return status == CAD_OK ? note_origin(tape) : status;
}

/* Shrink a buffer; one that cannot be shrunk stays as it is. */
static void shrink_buffer(void **buffer, size_t *capacity, size_t wanted, size_t size) {
    void *shrunk = wanted < *capacity ? cad_memory_resize(*buffer, wanted, size) : NULL;
    if (shrunk != NULL) {
        *buffer = shrunk;
        *capacity = wanted;
    }
}

#define SHRINK(items, capacity, wanted)                                                           \
    shrink_buffer((void **)&tape->items, &tape->capacity, wanted, sizeof *tape->items)

/* Give back what is more than twice what stands on the tape, and more than `peak` slots need. */
static void shrink_tape(CadTape *tape, size_t peak) {
    enum { FEW = 1024, WORDS = 8 /* of plans, for each slot */ };
    const size_t wanted = larger(2 * peak, 2 * (tape->n_slots + tape->n_entries)) + FEW;
    SHRINK(entries, entry_capacity, wanted);
    SHRINK(values, slot_capacity, wanted);
    SHRINK(plans, plan_capacity, larger(WORDS * wanted, 2 * tape->n_plan_words));
    SHRINK(blocks, block_capacity, larger(wanted, 2 * tape->n_blocks));
}

#define GROW(items, capacity, needed)                                                             \
    cad_memory_grow((void **)&tape->items, &tape->capacity, needed, sizeof *tape->items)

static CadStatus grow_buffers(CadTape *tape, size_t slots) {
    CadStatus status = GROW(entries, entry_capacity, tape->n_entries + 2 * CAD_HEADROOM);
    if (status == CAD_OK) {
        status = GROW(values, slot_capacity, tape->n_slots + slots + 2 * CAD_HEADROOM);
    }
    return status;
}

CadStatus cad_tape_grow(CadTape *tape, size_t slots) {
    if (tape->shut) {
        return grow_shut(tape, slots);
    }
    if (reclaim_is_due(tape)) {
        cad_tape_reclaim(tape);
    }
    const size_t most = CAD_MOST_SLOTS - 2 * CAD_HEADROOM;
    if (tape->n_slots > most || slots > most - tape->n_slots) {
        return CAD_TAPE_FULL;
    }
    CadStatus status = grow_buffers(tape, slots);
    if (status == CAD_NO_MEMORY && tape->pinned == 0) {
        cad_tape_reclaim(tape); /* which was not due yet */
        shrink_tape(tape, 0);
        status = grow_buffers(tape, slots);
    }
    set_room(tape); /* a buffer may have been moved or shrunk even if another one cannot grow */
    if (status != CAD_OK) {
        cad_tape_note_starved(tape);
    }
    return status;
}

CadStatus cad_tape_grow_by(CadTape *tape, CadFilled more) {
    if (tape->n_plan_words + more.plan_words > UINT32_MAX) {
        return CAD_TAPE_FULL;
    }
    CadStatus status = cad_tape_grow(tape, more.slots);
    if (status == CAD_OK) {
        status = GROW(entries, entry_capacity, tape->n_entries + more.entries + 2 * CAD_HEADROOM);
    }
    if (status == CAD_OK && more.plan_words > 0) {
        status = GROW(plans, plan_capacity, tape->n_plan_words + more.plan_words);
    }
    if (status == CAD_OK && more.blocks > 0) {
        status = GROW(blocks, block_capacity, tape->n_blocks + more.blocks);
    }
    set_room(tape);
    return status;
}

/* Those of numbers on the tape stay: the last pass may be asked for them. */
static void shrink_adjoints(CadTape *tape) {
    SHRINK(adjoints, adjoint_capacity, larger(tape->n_slots, 1));
    tape->dirty_end = smaller(tape->dirty_end, tape->adjoint_capacity);
    tape->dirty_begin = smaller(tape->dirty_begin, tape->dirty_end);
    tape->known_end = smaller(tape->known_end, tape->adjoint_capacity);
    tape->stale_end = smaller(tape->stale_end, tape->adjoint_capacity);
    tape->stale_begin = smaller(tape->stale_begin, tape->stale_end);
}

void cad_tape_trim(CadTape *tape, size_t used) {
    reclaim_sooner(tape);
    tape->peak = larger(tape->peak, used);
    if (tape->starved) {
        tape->peak = 0; /* what has failed is no measure */
    } else if (tape->slot_capacity < LARGE || tape->peak > tape->slot_capacity / 8) {
        tape->peak = 0;
        tape->idle = 0;
        return;
    } else if (++tape->idle < PATIENCE) {
        return;
    }
    shrink_tape(tape, tape->peak);
    cad_memory_free(tape->workspace);
    tape->workspace = NULL;
    tape->workspace_capacity = 0;
    for (int k = 0; k < 2; k++) {
        cad_memory_free(tape->spare_lanes[k].data);
        tape->spare_lanes[k] = (CadLaneBuffer){NULL, 0};
    }
    shrink_adjoints(tape);
    tape->peak = 0;
    tape->idle = 0;
    tape->starved = 0;
}

/* --- appending --- */

CadSlot cad_tape_push3(CadTape *tape, uint32_t code, CadSlot a, CadSlot b, CadSlot c,
                       double value) {
    const CadSlot out = (CadSlot)tape->n_slots;
    tape->entries[tape->n_entries++] = (CadEntry){CAD_CODE(CAD_OP_THIRD, 0), out, c, c};
    return cad_tape_push(tape, code, a, b, value);
}

/* A leaf of so many slots, of which all are written but its values. An empty one takes a slot all
 * the same: each handle has one that is its own. */
static CadStatus open_leaf(CadTape *tape, size_t count, int accumulate, CadSlot *out) {
    if (count > CAD_MOST_SLOTS / 2) {
        return CAD_TAPE_FULL;
    }
    const size_t slots = count == 0 ? 1 : accumulate ? 2 * count : count;
    const CadStatus status = cad_tape_grow(tape, slots);
    if (status == CAD_OK) {
        *out = (CadSlot)tape->n_slots;
        memset(tape->values + *out + count, 0, (slots - count) * sizeof *tape->values);
        tape->n_slots += slots;
        tape->entries[tape->n_entries++] =
            (CadEntry){CAD_CODE(CAD_OP_LEAF, 0), *out, (CadSlot)count, accumulate ? 1 : 0};
    }
    return status;
}

CadStatus cad_tape_leaf(CadTape *tape, const double *values, size_t count, bool accumulate,
                        CadSlot *out) {
    const CadStatus status = open_leaf(tape, count, accumulate, out);
    if (status == CAD_OK && count > 0 && values != NULL) {
        memcpy(tape->values + *out, values, count * sizeof *values);
    } else if (status == CAD_OK) {
        memset(tape->values + *out, 0, count * sizeof *values);
    }
    return status;
}

CadStatus cad_tape_open_leaf(CadTape *tape, size_t count, CadSlot *out) {
    return open_leaf(tape, count, 0, out);
}

CadStatus cad_tape_block(CadTape *tape, size_t count, bool may_change, CadSlot *out) {
    const size_t slots = larger(count, 1);
    CadStatus status = cad_tape_grow(tape, slots);
    if (status == CAD_OK) {
        *out = (CadSlot)tape->n_slots;
        status =
            cad_tape_note_block(tape, *out, *out + slots, may_change ? CAD_CONSTANTS : CAD_RESULT);
    }
    if (status == CAD_OK) {
        CadBlock *const block = cad_tape_find_block(tape, *out);
        if (block != NULL) {
            block->constant = 1;
        }
        tape->n_slots += slots;
    }
    return status;
}

CadStatus cad_tape_push_plan(CadTape *tape, uint32_t code, size_t slots, size_t words,
                             CadPlan **plan) {
    CadStatus status = cad_tape_grow_by(tape, (CadFilled){.slots = slots, .plan_words = words});
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

/* --- hooks --- */

/* On what is recorded: where each entry comes from, and what it computed. All of it is behind
 * cad_tape_grow, which without a hook is called for one entry of thousands. */
void cad_tape_set_hook(CadTape *tape, const CadHook *hook) {
    tape->hook = hook;
    if (hook == NULL) {
        cad_memory_free(tape->origins);
        tape->origins = NULL;
        tape->n_origins = 0;
    }
    cad_tape_set_busy(tape, tape->busy); /* sets the room as well */
}

CadOrigin cad_tape_origin(const CadTape *tape, size_t entry) {
    return entry < tape->n_origins ? tape->origins[entry] : (CadOrigin){0, 0};
}

CadStatus cad_tape_grow_for(CadTape *tape, CadOp op, double x, double y, double z, double value) {
    const CadStatus status = cad_tape_grow(tape, 0);
    const CadHook *const hook = tape->hook;
    if (status != CAD_OK || hook == NULL || hook->number == NULL) {
        return status;
    }
    return hook->number(hook->holder, op, (const double[]){x, y, z}, value);
}
