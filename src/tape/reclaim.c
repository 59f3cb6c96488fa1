/* Reclaiming: the needs of held slots are traced back through the entries, and all other slots
 * are squeezed out of the buffers. Who holds what is the caller's to say. */
#include "tape/reclaim.h"

#include "tape/inner.h"

enum { WORD = 64 }; /* of bits */

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

static void hold_span(CadReclaim *reclaim, CadSpan span) {
    cad_reclaim_hold_range(reclaim, (size_t)span.low, (size_t)span.high + 1);
}

/* Whether an entry over arrays writes to anything that is live. It stays or goes as a whole, with
 * all that its operands span, so that their strides stay right. */
static void trace_plan(const CadTape *tape, CadEntry entry, CadReclaim *reclaim) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    const CadSpan result = cad_entry_result(entry, plan);
    if (!is_any_live(reclaim, entry.out, (size_t)entry.out + entry.b) &&
        !is_any_live(reclaim, (size_t)result.low, (size_t)result.high + 1)) {
        return;
    }
    cad_reclaim_hold_range(reclaim, entry.out, (size_t)entry.out + entry.b);
    hold_span(reclaim, result);
    for (CadSource source = cad_plan_sources(cad_entry_kind(entry), plan);
         cad_next_source(&source);) {
        hold_span(reclaim, cad_source_span(&source));
    }
    if (plan->index >= 0) {
        cad_reclaim_hold_range(reclaim, (size_t)plan->index,
                               (size_t)plan->index + (size_t)plan->size);
    }
}

size_t cad_reclaim_trace(const CadTape *tape, CadReclaim *reclaim) {
    for (size_t i = tape->n_entries; i-- > 0;) {
        const CadEntry e = tape->entries[i];
        if (CAD_IS_ARRAY_ENTRY(e)) {
            trace_plan(tape, e, reclaim);
            continue;
        }
        const CadOp op = CAD_CODE_OP(e.code);
        if (op == CAD_OP_LEAF) { /* stays or goes as a whole, with its gradients */
            const size_t end = e.out + cad_entry_slots(e);
            if (is_any_live(reclaim, e.out, end)) {
                cad_reclaim_hold_range(reclaim, e.out, end);
            }
        } else if (is_live(reclaim, e.out) ||
                   (cad_entry_assigns_number(e) && is_live(reclaim, e.a))) {
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

static int64_t target_of(const void *reclaim, int64_t slot) {
    return cad_reclaim_target(reclaim, (CadSlot)slot);
}

/* Move a plan to its new place, and what it names to theirs. */
static void move_plan(CadTape *tape, CadEntry entry, size_t place, const CadReclaim *reclaim) {
    memmove(tape->plans + place, cad_tape_plan(tape, entry),
            cad_tape_plan(tape, entry)->words * sizeof *tape->plans);
    cad_plan_rename(cad_entry_kind(entry), (CadPlan *)(tape->plans + place), target_of, reclaim);
}

/* Count what stays of the entries before `end`, and move it if `move`. */
static Kept compact_entries(CadTape *tape, size_t end, const CadReclaim *reclaim, int move) {
    Kept kept = {0, 0, 0, 0};
    CadEntry *const entries = tape->entries;
    for (size_t i = 0; i < end; i++) {
        CadEntry e = entries[i];
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
            entries[kept.entries] = e;
            if (i < tape->n_origins) {
                tape->origins[kept.entries] = tape->origins[i];
            }
        }
        kept.entries++;
        kept.plan_words += words;
        kept.assigned += (size_t)cad_entry_overwrites(e);
        kept.rules += (size_t)cad_entry_is_rule(e);
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
    cad_tape_copy_borrowed(tape);
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
