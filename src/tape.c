/* See tape.h. */
#include "tape.h"

#include <limits.h>

enum {
    FIRST_CAPACITY = 1 << 10,
    FIRST_RECLAIM = 1 << 15,        /* in entries; eight times as many slots */
    FIRST_RECLAIM_MARKED = 1 << 20, /* a recording that will be rewound can wait */
    LARGE = 1 << 22,
    PATIENCE = 8,
    WORD = 64,
};

static size_t larger(size_t x, size_t y) {
    return x > y ? x : y;
}

static size_t smaller(size_t x, size_t y) {
    return x < y ? x : y;
}

static void forget_constants(CadTape *tape) {
    for (int i = 0; i < CAD_CONSTANT_CACHE; i++) {
        tape->constants[i] = CAD_NONE;
    }
}

CadTape *cad_tape_new(void) {
    CadTape *tape = cad_memory_zeroed(1, sizeof *tape);
    if (tape == NULL) {
        return NULL;
    }
    tape->reclaim_entries = FIRST_RECLAIM;
    tape->reclaim_slots = 8 * FIRST_RECLAIM;
    forget_constants(tape);
    return tape;
}

void cad_tape_free(CadTape *tape) {
    if (tape != NULL) {
        cad_memory_free(tape->entries);
        cad_memory_free(tape->values);
        cad_memory_free(tape->adjoints);
        cad_memory_free(tape->marks);
        cad_memory_free(tape);
    }
}

size_t cad_tape_bytes(const CadTape *tape) {
    return tape->n_entries * sizeof(CadEntry) + 2 * tape->n_slots * sizeof(double);
}

/* Grow one buffer, at least twofold, to hold `needed` items. */
static CadStatus grow_buffer(void **buffer, size_t *capacity, size_t needed, size_t size) {
    if (needed <= *capacity) {
        return CAD_OK;
    }
    size_t wanted = *capacity < FIRST_CAPACITY ? FIRST_CAPACITY : *capacity * 2;
    if (wanted < needed) {
        wanted = needed;
    }
    void *grown = cad_memory_resize(*buffer, wanted, size);
    if (grown == NULL) {
        return CAD_NO_MEMORY;
    }
    *buffer = grown;
    *capacity = wanted;
    return CAD_OK;
}

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

static int reclaim_is_due(const CadTape *tape) {
    return tape->n_entries >= entry_limit(tape) || tape->n_slots >= slot_limit(tape);
}

/* Reclaim next when the tape has grown by a factor. */
static void reclaim_later(CadTape *tape, size_t factor) {
    tape->reclaim_entries = larger(tape->n_entries * factor, FIRST_RECLAIM);
    tape->reclaim_slots = larger(tape->n_slots * factor, 8 * FIRST_RECLAIM);
}

/* Ask the holder to reclaim, and set when to ask again. Tracing costs time in proportion to what
 * stays: where little was gained, wait longer. */
static void reclaim(CadTape *tape) {
    const size_t before = tape->n_slots;
    if (tape->make_room != NULL) {
        tape->make_room(tape);
    }
    reclaim_later(tape, tape->n_slots <= before / 2 ? 2 : 4);
}

/* How far the tape may be filled before cad_tape_grow is due; the buffers exist. */
static void set_room(CadTape *tape) {
    tape->entry_room = smaller(tape->entry_capacity - CAD_HEADROOM, entry_limit(tape));
    tape->slot_room = smaller(tape->slot_capacity - CAD_HEADROOM, slot_limit(tape));
    tape->slot_room = smaller(tape->slot_room, CAD_MOST_SLOTS - 2 * CAD_HEADROOM);
}

CadStatus cad_tape_grow(CadTape *tape, size_t slots) {
    if (reclaim_is_due(tape)) {
        reclaim(tape);
    }
    if (slots > CAD_MOST_SLOTS || tape->n_slots + slots + 2 * CAD_HEADROOM > CAD_MOST_SLOTS) {
        return CAD_TAPE_FULL;
    }
    CadStatus status = grow_buffer((void **)&tape->entries, &tape->entry_capacity,
                                   tape->n_entries + 2 * CAD_HEADROOM, sizeof *tape->entries);
    if (status == CAD_OK) {
        status = grow_buffer((void **)&tape->values, &tape->slot_capacity,
                             tape->n_slots + slots + 2 * CAD_HEADROOM, sizeof *tape->values);
    }
    if (status != CAD_OK) {
        return status;
    }
    set_room(tape);
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

/* Give back what one large recording took, once several after it have needed far less. */
static void trim(CadTape *tape, size_t used) {
    if (tape->n_entries < tape->reclaim_entries / 4) {
        reclaim_later(tape, 2);
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
    cad_memory_free(tape->adjoints);
    tape->adjoints = NULL;
    tape->adjoint_capacity = tape->dirty_begin = tape->dirty_end = tape->known_end = 0;
    tape->peak = 0;
    tape->idle = 0;
}

CadSlot cad_tape_push3(CadTape *tape, uint32_t code, CadSlot a, CadSlot b, CadSlot c,
                       double value) {
    const CadSlot out = (CadSlot)tape->n_slots;
    tape->entries[tape->n_entries++] = (CadEntry){CAD_CODE(CAD_OP_THIRD, 0), out, c, c};
    return cad_tape_push(tape, code, a, b, value);
}

CadStatus cad_tape_leaf(CadTape *tape, const double *values, size_t count, CadSlot *out) {
    if (count > CAD_MOST_SLOTS / 2) {
        return CAD_TAPE_FULL;
    }
    /* An empty leaf takes a slot all the same: each handle has one that is its own. */
    const size_t slots = count > 0 ? 2 * count : 1;
    const CadStatus status = cad_tape_grow(tape, slots);
    if (status != CAD_OK) {
        return status;
    }
    *out = (CadSlot)tape->n_slots;
    double *const place = tape->values + *out;
    if (values != NULL && count > 0) {
        memcpy(place, values, count * sizeof *values);
        memset(place + count, 0, count * sizeof *values);
    } else {
        memset(place, 0, slots * sizeof *values);
    }
    tape->n_slots += slots;
    tape->entries[tape->n_entries++] =
        (CadEntry){CAD_CODE(CAD_OP_LEAF, 0), *out, (CadSlot)count, (CadSlot)count};
    return CAD_OK;
}

size_t cad_tape_find(const CadTape *tape, CadSlot slot) {
    /* The last entry whose output begins at or before the slot. */
    size_t low = 0;
    size_t high = tape->n_entries;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (tape->entries[middle].out <= slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return tape->n_entries;
    }
    const CadEntry *entry = &tape->entries[low - 1];
    const size_t count = CAD_CODE_OP(entry->code) == CAD_OP_LEAF ? entry->a : 1;
    return slot - entry->out < count ? low - 1 : tape->n_entries;
}

/* The room depends on whether there is a mark. */
static void outermost_mark_changed(CadTape *tape) {
    if (tape->slot_capacity > 0) {
        set_room(tape);
    }
}

CadStatus cad_tape_mark(CadTape *tape) {
    const CadStatus status = grow_buffer((void **)&tape->marks, &tape->mark_capacity,
                                         tape->n_marks + 1, sizeof *tape->marks);
    if (status != CAD_OK) {
        return status;
    }
    if (tape->n_marks == 0 && reclaim_is_due(tape)) {
        reclaim(tape);
    }
    tape->marks[tape->n_marks++] = (CadMark){tape->n_entries, tape->n_slots, tape->handles};
    tape->mark_slots = tape->n_slots;
    tape->handles = 0;
    if (tape->n_marks == 1) {
        outermost_mark_changed(tape);
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
    tape->n_entries = mark.entries;
    tape->n_slots = mark.slots;
    tape->handles = mark.handles;
    tape->known_end = smaller(tape->known_end, mark.slots);
    forget_constants(tape);
    if (tape->n_marks == 0) {
        trim(tape, used);
        outermost_mark_changed(tape);
    }
}

void cad_tape_keep(CadTape *tape) {
    tape->handles += pop_mark(tape).handles;
    if (tape->n_marks == 0) {
        outermost_mark_changed(tape);
    }
}

void cad_tape_count_handle(CadTape *tape, CadSlot slot, int change) {
    size_t *count = &tape->handles;
    for (size_t i = tape->n_marks; i-- > 0 && slot < tape->marks[i].slots;) {
        count = &tape->marks[i].handles;
    }
    *count += (size_t)change;
}

size_t cad_tape_all_handles(const CadTape *tape) {
    size_t count = tape->handles;
    for (size_t i = 0; i < tape->n_marks; i++) {
        count += tape->marks[i].handles;
    }
    return count;
}

int cad_tape_reads_below(const CadTape *tape, size_t begin, size_t end, CadSlot below) {
    if (below == 0) {
        return 0;
    }
    for (size_t i = begin; i < end; i++) {
        const CadEntry e = tape->entries[i];
        if (CAD_CODE_OP(e.code) != CAD_OP_LEAF && ((e.a < below && !(e.code & CAD_PASSIVE_A)) ||
                                                   (e.b < below && !(e.code & CAD_PASSIVE_B)))) {
            return 1;
        }
    }
    return 0;
}

CadStatus cad_tape_clear_adjoints(CadTape *tape, size_t begin, size_t end) {
    if (tape->adjoint_capacity < tape->n_slots) {
        double *fresh = cad_memory_zeroed(tape->slot_capacity, sizeof *fresh);
        if (fresh == NULL) {
            return CAD_NO_MEMORY;
        }
        cad_memory_free(tape->adjoints);
        tape->adjoints = fresh;
        tape->adjoint_capacity = tape->slot_capacity;
    } else if (tape->dirty_begin < tape->dirty_end) {
        memset(tape->adjoints + tape->dirty_begin, 0,
               (tape->dirty_end - tape->dirty_begin) * sizeof *tape->adjoints);
    }
    tape->dirty_begin = begin;
    tape->dirty_end = tape->known_end = end;
    return CAD_OK;
}

/* --- reclaiming --- */

/* Adding up neighbouring bits, pairs, fours, bytes (H. S. Warren, Hacker's Delight, 5-1). */
static int count_bits(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int)(word * 0x0101010101010101u >> 56);
}

static int is_live(const CadReclaim *reclaim, size_t slot) {
    return (int)(reclaim->live[slot / WORD] >> slot % WORD & 1);
}

static void set_live(CadReclaim *reclaim, size_t slot) {
    reclaim->live[slot / WORD] |= (uint64_t)1 << slot % WORD;
}

void cad_reclaim_end(CadReclaim *reclaim) {
    cad_memory_free(reclaim->live);
    cad_memory_free(reclaim->before);
}

CadStatus cad_reclaim_begin(const CadTape *tape, CadReclaim *reclaim) {
    reclaim->words = tape->n_slots / WORD + 1;
    reclaim->live = cad_memory_zeroed(reclaim->words, sizeof *reclaim->live);
    reclaim->before = cad_memory_zeroed(reclaim->words, sizeof *reclaim->before);
    if (reclaim->live == NULL || reclaim->before == NULL) {
        cad_reclaim_end(reclaim);
        return CAD_NO_MEMORY;
    }
    return CAD_OK;
}

void cad_reclaim_hold(CadReclaim *reclaim, CadSlot slot) {
    if (slot / WORD < reclaim->words) {
        set_live(reclaim, slot);
    }
}

/* A leaf stays or goes as a whole, with its gradients. */
static void trace_leaf(CadReclaim *reclaim, size_t begin, size_t end) {
    for (size_t slot = begin; slot < end; slot++) {
        if (is_live(reclaim, slot)) {
            for (slot = begin; slot < end; slot++) {
                set_live(reclaim, slot);
            }
        }
    }
}

size_t cad_reclaim_trace(const CadTape *tape, CadReclaim *reclaim) {
    for (size_t i = tape->n_entries; i-- > 0;) {
        const CadEntry e = tape->entries[i];
        if (CAD_CODE_OP(e.code) == CAD_OP_LEAF) {
            trace_leaf(reclaim, e.out, (size_t)e.out + 2 * (size_t)e.a);
        } else if (is_live(reclaim, e.out)) {
            set_live(reclaim, e.a);
            set_live(reclaim, e.b);
        }
    }
    uint32_t count = 0;
    for (size_t word = 0; word < reclaim->words; word++) {
        reclaim->before[word] = count;
        count += (uint32_t)count_bits(reclaim->live[word]);
    }
    return count;
}

CadSlot cad_reclaim_target(const CadReclaim *reclaim, CadSlot slot) {
    const uint64_t lower = ((uint64_t)1 << slot % WORD) - 1;
    const size_t word = slot / WORD;
    return reclaim->before[word] + (CadSlot)count_bits(reclaim->live[word] & lower);
}

/* Move the live ones of buffer[begin .. end) to their targets. */
static void compact_buffer(double *buffer, size_t begin, size_t end, const CadReclaim *reclaim) {
    size_t target = cad_reclaim_target(reclaim, (CadSlot)begin);
    for (size_t slot = begin; slot < end; slot++) {
        if (is_live(reclaim, slot)) {
            buffer[target++] = buffer[slot];
        }
    }
}

/* Number of entries before `end` that stay, written back if `move`. */
static size_t compact_entries(CadTape *tape, size_t end, const CadReclaim *reclaim, int move) {
    size_t count = 0;
    for (size_t i = 0; i < end; i++) {
        CadEntry e = tape->entries[i];
        const int leaf = CAD_CODE_OP(e.code) == CAD_OP_LEAF;
        if (!is_live(reclaim, e.out)) {
            continue;
        }
        if (move) {
            e.out = cad_reclaim_target(reclaim, e.out);
            if (!leaf) {
                e.a = cad_reclaim_target(reclaim, e.a);
                e.b = cad_reclaim_target(reclaim, e.b);
            }
            tape->entries[count] = e;
        }
        count++;
    }
    return count;
}

/* The adjoints of the last sweep go where their slots go; a rewind may have cut off the slots. */
static void compact_adjoints(CadTape *tape, const CadReclaim *reclaim) {
    const size_t begin = smaller(tape->dirty_begin, tape->n_slots);
    const size_t end = smaller(tape->dirty_end, tape->n_slots);
    const size_t new_end = cad_reclaim_target(reclaim, (CadSlot)end);
    compact_buffer(tape->adjoints, begin, end, reclaim);
    if (new_end < tape->dirty_end) {
        memset(tape->adjoints + new_end, 0, (tape->dirty_end - new_end) * sizeof *tape->adjoints);
    }
    tape->dirty_begin = cad_reclaim_target(reclaim, (CadSlot)begin);
    tape->dirty_end = new_end;
    tape->known_end =
        cad_reclaim_target(reclaim, (CadSlot)smaller(tape->known_end, tape->n_slots));
}

void cad_reclaim_compact(CadTape *tape, CadReclaim *reclaim) {
    for (size_t i = 0; i < tape->n_marks; i++) {
        CadMark *mark = &tape->marks[i];
        mark->entries = compact_entries(tape, mark->entries, reclaim, 0);
        mark->slots = cad_reclaim_target(reclaim, (CadSlot)mark->slots);
    }
    tape->mark_slots = tape->n_marks == 0 ? 0 : tape->marks[tape->n_marks - 1].slots;

    compact_buffer(tape->values, 0, tape->n_slots, reclaim);
    compact_adjoints(tape, reclaim);
    tape->n_entries = compact_entries(tape, tape->n_entries, reclaim, 1);
    tape->n_slots = cad_reclaim_target(reclaim, (CadSlot)tape->n_slots);
    forget_constants(tape);
    cad_reclaim_end(reclaim);
}
