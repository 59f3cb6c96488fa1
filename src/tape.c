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
    tape->reclaim_plan_words = FIRST_RECLAIM / 2;
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
        cad_memory_free(tape->spare_lanes[0].data);
        cad_memory_free(tape->spare_lanes[1].data);
        cad_memory_free(tape);
    }
}

size_t cad_tape_bytes(const CadTape *tape) {
    return tape->n_entries * sizeof(CadEntry) + 2 * tape->n_slots * sizeof(double) +
           tape->n_plan_words * sizeof *tape->plans + tape->n_blocks * sizeof *tape->blocks;
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

/* Entries over arrays take longer to step over than those on single numbers. */
static size_t plan_limit(const CadTape *tape) {
    const size_t wait = tape->n_marks > 0 ? (size_t)FIRST_RECLAIM_MARKED : 0;
    return tape->pinned > 0 ? SIZE_MAX : tape->reclaim_plan_words + wait;
}

static int reclaim_is_due(const CadTape *tape) {
    return tape->n_entries >= entry_limit(tape) || tape->n_slots >= slot_limit(tape) ||
           tape->n_plan_words >= plan_limit(tape);
}

/* Reclaim next when the tape has grown by a factor. */
static void reclaim_later(CadTape *tape, size_t factor) {
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
    reclaim_later(tape, tape->n_slots <= before / 2 ? 2 : 4);
}

/* How far the tape may be filled before cad_tape_grow is due; the buffers exist. */
static void set_room(CadTape *tape) {
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
    if (tape->slot_capacity > 0) {
        set_room(tape);
    }
}

void cad_tape_set_busy(CadTape *tape, int busy) {
    tape->busy = busy;
    tape->shut = busy || tape->watch != NULL;
    if (tape->slot_capacity > 0) {
        set_room(tape);
    }
}

CadStatus cad_tape_grow(CadTape *tape, size_t slots) {
    if (tape->shut) {
        return cad_tape_grow_shut(tape, slots);
    }
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
        status = grow_buffer((void **)&tape->plans, &tape->plan_capacity,
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

static void stretch(int64_t ndim, const int64_t *shape, const int64_t *strides, int64_t *low,
                    int64_t *high) {
    for (int64_t i = 0; i < ndim; i++) {
        if (shape[i] == 0) {
            return; /* spans nothing */
        }
    }
    for (int64_t i = 0; i < ndim; i++) {
        const int64_t reach = (shape[i] - 1) * strides[i];
        *(reach < 0 ? low : high) += reach;
    }
}

void cad_plan_bounds(CadPlan *plan, int view, int64_t *low, int64_t *high) {
    const int64_t *const place = cad_plan_view(plan, view);
    *low = *high = place[0];
    stretch(plan->ndim, cad_plan_shape(plan), place + 1, low, high);
}

void cad_operand_bounds(const CadOperand *operand, int64_t *low, int64_t *high) {
    *low = *high = operand->slot;
    stretch(operand->ndim, operand->shape_and_strides, operand->shape_and_strides + operand->ndim,
            low, high);
}

/* How many slots from entry.out on are the entry's. */
static size_t slots_of(CadEntry entry) {
    if (CAD_IS_ARRAY_ENTRY(entry)) {
        return entry.b;
    }
    if (CAD_CODE_OP(entry.code) == CAD_OP_LEAF) {
        return entry.b ? 2 * (size_t)entry.a : entry.a;
    }
    return 1;
}

size_t cad_tape_entries_through(const CadTape *tape, CadSlot slot) {
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
    return low;
}

size_t cad_tape_find(const CadTape *tape, CadSlot slot) {
    /* The last entry whose output begins at or before the slot. */
    const size_t low = cad_tape_entries_through(tape, slot);
    if (low == 0) {
        return tape->n_entries;
    }
    const CadEntry entry = tape->entries[low - 1];
    const int leaf = CAD_CODE_OP(entry.code) == CAD_OP_LEAF;
    const size_t count = leaf ? entry.a : slots_of(entry); /* a gradient is no number */
    return slot - entry.out < count ? low - 1 : tape->n_entries;
}

static int has_offsets(CadOp op) {
    return op == CAD_OP_GATHER || op == CAD_OP_SCATTER || op == CAD_OP_ADD_AT;
}

int cad_entry_target(const CadTape *tape, CadEntry entry, size_t *slot) {
    const CadOp op = CAD_CODE_OP(entry.code);
    if (op == CAD_OP_ASSIGN && !CAD_IS_ARRAY_ENTRY(entry)) {
        *slot = entry.a;
        return 1;
    }
    if (!CAD_IS_ARRAY_ENTRY(entry)) {
        return 0;
    }
    CadPlan *plan = cad_tape_plan(tape, entry);
    if (op == CAD_OP_ASSIGN || (op == CAD_OP_SUM && cad_plan_extra(plan)[0])) {
        int64_t low, high;
        cad_plan_bounds(plan, 0, &low, &high);
        *slot = (size_t)low;
        return 1;
    }
    if (op == CAD_OP_SCATTER || op == CAD_OP_ADD_AT) {
        *slot = (size_t)cad_plan_extra(plan)[0];
        return 1;
    }
    return 0;
}

int cad_tape_has_rules(const CadTape *tape, size_t begin, size_t end) {
    for (size_t i = begin; i < end && tape->n_rules > 0; i++) {
        if (CAD_CODE_OP(tape->entries[i].code) == CAD_OP_RULE) {
            return 1;
        }
    }
    return 0;
}

/* --- blocks --- */

/* The first block that ends after a slot. */
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
    const CadStatus status = grow_buffer((void **)&tape->blocks, &tape->block_capacity,
                                         tape->n_blocks + 1, sizeof *tape->blocks);
    if (status == CAD_OK) {
        tape->blocks[tape->n_blocks++] = (CadBlock){.begin = (CadSlot)begin,
                                                    .end = (CadSlot)end,
                                                    .eager = !large,
                                                    .constant = kind == CAD_CONSTANTS};
    }
    return status;
}

int cad_tape_is_constant(const CadTape *tape, CadSlot slot) {
    const CadBlock *block = cad_tape_find_block(tape, slot);
    return block != NULL && block->constant;
}

void cad_tape_activate(CadTape *tape, CadSlot slot) {
    CadBlock *block = cad_tape_find_block(tape, slot);
    if (block != NULL) {
        block->constant = 0;
    }
}

CadBlock *cad_tape_find_block(const CadTape *tape, CadSlot slot) {
    const size_t i = cad_tape_block_after(tape, slot);
    return i < tape->n_blocks && tape->blocks[i].begin <= slot ? &tape->blocks[i] : NULL;
}

void cad_tape_allocation(const CadTape *tape, size_t slot, size_t *begin, size_t *end) {
    const CadBlock *block = cad_tape_find_block(tape, (CadSlot)slot);
    const size_t i = cad_tape_find(tape, (CadSlot)slot);
    *begin = slot;
    *end = slot + 1;
    if (block != NULL) {
        *begin = block->begin;
        *end = block->end;
    } else if (i < tape->n_entries) {
        *begin = tape->entries[i].out;
        *end = *begin + slots_of(tape->entries[i]);
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
        pass->blocks[i] = (CadBlockPass){block->adjoints, block->pass};
        block->adjoints = NULL; /* what is lent is lent to this pass */
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
        tape->blocks[i].pass = pass.blocks[i].pass;
    }
    cad_memory_free(pass.blocks);
}

int cad_tape_is_untouched(const CadTape *tape, CadSlot slot) {
    if (tape->n_blocks == 0) {
        return 0;
    }
    const CadBlock *block = cad_tape_find_block(tape, slot);
    return block != NULL && !block->eager && block->pass != tape->pass;
}

int cad_tape_lend(CadTape *tape, size_t begin, size_t end, double *adjoints) {
    CadBlock *block = cad_tape_find_block(tape, (CadSlot)begin);
    if (block == NULL || block->eager || block->begin != begin || block->end != end) {
        return 0;
    }
    tape->n_lent += (block->adjoints == NULL && adjoints != NULL);
    tape->n_lent -= (block->adjoints != NULL && adjoints == NULL);
    block->adjoints = adjoints;
    return 1;
}

int cad_tape_borrow(CadTape *tape, size_t begin, size_t end, const double *values) {
    CadBlock *block = cad_tape_find_block(tape, (CadSlot)begin);
    if (end - begin < CAD_BORROW || block == NULL || block->eager || block->begin != begin ||
        block->end != end) {
        return 0;
    }
    block->values = (double *)values; /* never written to */
    tape->n_borrowed++;
    return 1;
}

static void settle_block(CadTape *tape, CadBlock *block) {
    if (block->values != NULL) {
        memcpy(tape->values + block->begin, block->values,
               (size_t)(block->end - block->begin) * sizeof *tape->values);
        block->values = NULL;
        tape->n_borrowed--;
    }
}

void cad_tape_settle(CadTape *tape) {
    for (size_t i = 0; tape->n_borrowed > 0; i++) {
        settle_block(tape, &tape->blocks[i]);
    }
}

void cad_tape_use_singly(CadTape *tape, CadSlot slot) {
    CadBlock *block = cad_tape_find_block(tape, slot);
    if (block == NULL) {
        return;
    }
    settle_block(tape, block);
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

int cad_tape_is_lent(const CadTape *tape, CadSlot slot) {
    return tape->n_lent > 0 && cad_tape_adjoints(tape, slot) != tape->adjoints;
}

static void note_stale(CadTape *tape, size_t begin, size_t end) {
    const int none = tape->stale_begin == tape->stale_end;
    tape->stale_begin = none ? begin : smaller(tape->stale_begin, begin);
    tape->stale_end = none ? end : larger(tape->stale_end, end);
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
    tape->marks[tape->n_marks++] = (CadMark){tape->n_entries,    tape->n_slots,    tape->handles,
                                             tape->n_plan_words, tape->n_assigned, tape->n_rules};
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
    tape->n_plan_words = mark.plan_words;
    tape->n_assigned = mark.assigned;
    tape->n_rules = mark.rules;
    while (tape->n_blocks > 0 && tape->blocks[tape->n_blocks - 1].begin >= mark.slots) {
        tape->n_blocks--; /* none of them is lent: who borrows takes back first */
        tape->n_borrowed -= tape->blocks[tape->n_blocks].values != NULL;
    }
    tape->known_end = smaller(tape->known_end, mark.slots);
    forget_constants(tape);
    if (tape->n_marks == 0) {
        trim(tape, used);
        outermost_mark_changed(tape);
    }
}

void cad_tape_keep(CadTape *tape) {
    cad_tape_settle(tape);
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

CadStatus cad_tape_clear_adjoints(CadTape *tape, size_t begin, size_t end) {
    tape->pass = ++tape->last_pass;
    if (tape->adjoint_capacity < tape->n_slots) {
        double *fresh = cad_memory_zeroed(tape->slot_capacity, sizeof *fresh);
        if (fresh == NULL) {
            return CAD_NO_MEMORY;
        }
        cad_memory_free(tape->adjoints);
        tape->adjoints = fresh;
        tape->adjoint_capacity = tape->slot_capacity;
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
static double *read_range(const CadTape *tape, size_t begin, size_t end, int known, double *to) {
    if (known && begin < end) {
        memcpy(to, tape->adjoints + begin, (end - begin) * sizeof *to);
    } else if (begin < end) {
        memset(to, 0, (end - begin) * sizeof *to);
    }
    return to + (end - begin);
}

void cad_tape_read_adjoints(const CadTape *tape, size_t begin, size_t end, double *adjoints) {
    const size_t first = smaller(larger(tape->dirty_begin, begin), end);
    const size_t last = smaller(larger(tape->known_end, first), end);
    if (tape->n_blocks == 0) {
        adjoints = read_range(tape, begin, first, 0, adjoints);
        adjoints = read_range(tape, first, last, 1, adjoints);
        read_range(tape, last, end, 0, adjoints);
        return;
    }
    for (size_t i = cad_tape_block_after(tape, begin); begin < end; i++) {
        while (i < tape->n_blocks && tape->blocks[i].eager && tape->blocks[i].begin < end) {
            i++;
        }
        const CadBlock *block = i < tape->n_blocks ? &tape->blocks[i] : NULL;
        const size_t gap = block != NULL ? smaller(larger(block->begin, begin), end) : end;
        for (; begin < gap; begin++) {
            *adjoints++ = begin >= first && begin < last ? tape->adjoints[begin] : 0.0;
        }
        const size_t stop = block != NULL ? smaller(block->end, end) : end;
        if (begin < stop) {
            const int known = block->pass == tape->pass && tape->pass > 0;
            if (known) {
                memcpy(adjoints, cad_tape_adjoints(tape, (int64_t)begin) + begin,
                       (stop - begin) * sizeof *adjoints);
            } else {
                memset(adjoints, 0, (stop - begin) * sizeof *adjoints);
            }
            adjoints += stop - begin;
            begin = stop;
        }
    }
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

int cad_reclaim_is_live(const CadReclaim *reclaim, CadSlot slot) {
    return is_live(reclaim, slot);
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

void cad_reclaim_hold_range(CadReclaim *reclaim, size_t begin, size_t end) {
    for (size_t slot = begin; slot < end && slot / WORD < reclaim->words;) {
        if (slot % WORD == 0 && slot + WORD <= end) {
            reclaim->live[slot / WORD] = ~(uint64_t)0;
            slot += WORD;
        } else {
            set_live(reclaim, slot++);
        }
    }
}

static int is_any_live(const CadReclaim *reclaim, size_t begin, size_t end) {
    for (size_t slot = begin; slot < end;) {
        if (slot % WORD == 0 && slot + WORD <= end) {
            if (reclaim->live[slot / WORD] != 0) {
                return 1;
            }
            slot += WORD;
        } else if (is_live(reclaim, slot++)) {
            return 1;
        }
    }
    return 0;
}

/* Whether an entry over arrays writes to anything that is live. It stays or goes as a whole, with
 * all that its operands span, so that their strides stay right. */
static void trace_plan(const CadTape *tape, CadEntry entry, CadReclaim *reclaim) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    const CadOp op = CAD_CODE_OP(entry.code);
    int64_t low = entry.out, high = low;
    if (plan->n_views > 0) {
        cad_plan_bounds(plan, 0, &low, &high);
    }
    if (op == CAD_OP_SCATTER ||
        op == CAD_OP_ADD_AT) { /* anywhere in the array that holds the target */
        low = cad_plan_extra(plan)[0], high = cad_plan_extra(plan)[1];
    }
    if (!is_any_live(reclaim, entry.out, (size_t)entry.out + entry.b) &&
        !is_any_live(reclaim, (size_t)low, (size_t)high + 1)) {
        return;
    }
    cad_reclaim_hold_range(reclaim, entry.out, (size_t)entry.out + entry.b);
    for (int k = 0; k < plan->n_views; k++) {
        cad_plan_bounds(plan, k, &low, &high);
        cad_reclaim_hold_range(reclaim, (size_t)low, (size_t)high + 1);
    }
    if (op == CAD_OP_RULE) {
        int64_t *place = cad_plan_extra(plan) + 2;
        for (int64_t k = cad_plan_extra(plan)[1]; k > 0; k--) {
            cad_operand_bounds(cad_next_operand(&place), &low, &high);
            cad_reclaim_hold_range(reclaim, (size_t)low, (size_t)high + 1);
        }
    }
    if (has_offsets(op)) {
        const int64_t *extra = cad_plan_extra(plan);
        cad_reclaim_hold_range(reclaim, (size_t)extra[0], (size_t)extra[1] + 1);
    }
    if (plan->index >= 0) {
        cad_reclaim_hold_range(reclaim, (size_t)plan->index,
                               (size_t)plan->index + (size_t)plan->size);
    }
}

size_t cad_reclaim_trace(const CadTape *tape, CadReclaim *reclaim) {
    for (size_t i = tape->n_entries; i-- > 0;) {
        const CadEntry e = tape->entries[i];
        const CadOp op = CAD_CODE_OP(e.code);
        if (CAD_IS_ARRAY_ENTRY(e)) {
            trace_plan(tape, e, reclaim);
        } else if (op == CAD_OP_LEAF) { /* stays or goes as a whole, with its gradients */
            const size_t end = e.out + slots_of(e);
            if (is_any_live(reclaim, e.out, end)) {
                cad_reclaim_hold_range(reclaim, e.out, end);
            }
        } else if (is_live(reclaim, e.out) || (op == CAD_OP_ASSIGN && is_live(reclaim, e.a))) {
            set_live(reclaim, e.out);
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

/* Move the live ones of buffer[begin .. end) to their targets, whole words of bits at once. */
static void compact_buffer(double *buffer, size_t begin, size_t end, const CadReclaim *reclaim) {
    size_t target = cad_reclaim_target(reclaim, (CadSlot)begin);
    for (size_t slot = begin; slot < end;) {
        const uint64_t bits =
            slot % WORD == 0 && slot + WORD <= end ? reclaim->live[slot / WORD] : 1;
        if (bits == 0) {
            slot += WORD;
        } else if (bits == ~(uint64_t)0) {
            if (target != slot) {
                memmove(buffer + target, buffer + slot, WORD * sizeof *buffer);
            }
            target += WORD;
            slot += WORD;
        } else {
            const size_t stop = smaller((slot / WORD + 1) * WORD, end);
            for (; slot < stop; slot++) {
                if (is_live(reclaim, slot)) {
                    buffer[target++] = buffer[slot];
                }
            }
        }
    }
}

/* What stays of the entries before `end`. */
typedef struct Kept {
    size_t entries;
    size_t plan_words;
    size_t assigned;
    size_t rules;
} Kept;

static int64_t target_of(const CadReclaim *reclaim, int64_t slot) {
    return cad_reclaim_target(reclaim, (CadSlot)slot);
}

/* Move a plan to its new place, and what it names to theirs. */
static void move_plan(CadTape *tape, CadEntry entry, size_t place, const CadReclaim *reclaim) {
    memmove(tape->plans + place, cad_tape_plan(tape, entry),
            cad_tape_plan(tape, entry)->words * sizeof *tape->plans);
    CadPlan *plan = (CadPlan *)(tape->plans + place);
    for (int k = 0; k < plan->n_views; k++) {
        int64_t *view = cad_plan_view(plan, k);
        view[0] = target_of(reclaim, view[0]);
    }
    const CadOp op = CAD_CODE_OP(entry.code);
    if (op == CAD_OP_RULE) {
        int64_t *next = cad_plan_extra(plan) + 2;
        for (int64_t k = cad_plan_extra(plan)[1]; k > 0; k--) {
            CadOperand *operand = cad_next_operand(&next);
            operand->slot = target_of(reclaim, operand->slot);
        }
    }
    if (has_offsets(op)) {
        int64_t *extra = cad_plan_extra(plan);
        extra[0] = target_of(reclaim, extra[0]);
        extra[1] = target_of(reclaim, extra[1]);
    }
    if (plan->index >= 0) {
        plan->index = target_of(reclaim, plan->index);
    }
}

/* Count what stays of the entries before `end`, and move it if `move`. */
static Kept compact_entries(CadTape *tape, size_t end, const CadReclaim *reclaim, int move) {
    Kept kept = {0, 0, 0, 0};
    for (size_t i = 0; i < end; i++) {
        CadEntry e = tape->entries[i];
        const CadOp op = CAD_CODE_OP(e.code);
        if (!is_live(reclaim, e.out)) {
            continue;
        }
        const size_t words = CAD_IS_ARRAY_ENTRY(e) ? cad_tape_plan(tape, e)->words : 0;
        if (move) {
            if (CAD_IS_ARRAY_ENTRY(e)) {
                move_plan(tape, e, kept.plan_words, reclaim);
                e.a = (CadSlot)kept.plan_words;
            } else if (op != CAD_OP_LEAF) {
                e.a = cad_reclaim_target(reclaim, e.a);
                e.b = cad_reclaim_target(reclaim, e.b);
            }
            e.out = cad_reclaim_target(reclaim, e.out);
            tape->entries[kept.entries] = e;
            if (i < tape->n_origins) {
                tape->origins[kept.entries] = tape->origins[i];
            }
        }
        kept.entries++;
        kept.plan_words += words;
        kept.assigned += op == CAD_OP_ASSIGN || op == CAD_OP_SCATTER;
        kept.rules += op == CAD_OP_RULE;
    }
    return kept;
}

/* A block may have lost slots at its ends, or all of them. */
static void compact_blocks(CadTape *tape, const CadReclaim *reclaim) {
    size_t count = 0;
    for (size_t i = 0; i < tape->n_blocks; i++) {
        CadBlock block = tape->blocks[i];
        block.begin = cad_reclaim_target(reclaim, block.begin);
        block.end = cad_reclaim_target(reclaim, block.end);
        if (block.begin < block.end) {
            tape->blocks[count++] = block;
        }
    }
    tape->n_blocks = count;
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
    if (tape->stale_begin < tape->stale_end) {
        tape->stale_begin = 0; /* what blocks left behind has moved or stayed */
    }
}

void cad_reclaim_compact(CadTape *tape, CadReclaim *reclaim) {
    cad_tape_settle(tape);
    for (size_t i = 0; i < tape->n_marks; i++) {
        CadMark *mark = &tape->marks[i];
        const Kept kept = compact_entries(tape, mark->entries, reclaim, 0);
        mark->entries = kept.entries;
        mark->plan_words = kept.plan_words;
        mark->assigned = kept.assigned;
        mark->rules = kept.rules;
        mark->slots = cad_reclaim_target(reclaim, (CadSlot)mark->slots);
    }
    tape->mark_slots = tape->n_marks == 0 ? 0 : tape->marks[tape->n_marks - 1].slots;

    compact_buffer(tape->values, 0, tape->n_slots, reclaim);
    compact_adjoints(tape, reclaim);
    const Kept kept = compact_entries(tape, tape->n_entries, reclaim, 1);
    compact_blocks(tape, reclaim);
    tape->n_entries = kept.entries;
    tape->n_plan_words = kept.plan_words;
    tape->n_assigned = kept.assigned;
    tape->n_rules = kept.rules;
    tape->n_slots = cad_reclaim_target(reclaim, (CadSlot)tape->n_slots);
    forget_constants(tape);
    cad_reclaim_end(reclaim);
}
