/* See find.h. */
#include "tape/find.h"

#include "tape/blocks.h"

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
    const size_t count = leaf ? entry.a : cad_entry_slots(entry); /* a gradient is no number */
    return slot - entry.out < count ? low - 1 : tape->n_entries;
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
        *end = *begin + cad_entry_slots(tape->entries[i]);
    }
}

bool cad_entry_target(const CadTape *tape, CadEntry entry, size_t *slot) {
    if (cad_entry_assigns_number(entry)) {
        *slot = entry.a;
        return 1;
    }
    if (!CAD_IS_ARRAY_ENTRY(entry)) {
        return 0;
    }
    CadPlan *plan = cad_tape_plan(tape, entry);
    const int elsewhere =
        cad_entry_overwrites(entry) || cad_plan_adds(cad_entry_kind(entry), plan);
    if (elsewhere) {
        *slot = (size_t)cad_entry_result(entry, plan).low;
    }
    return elsewhere;
}

bool cad_tape_has_rules(const CadTape *tape, size_t begin, size_t end) {
    for (size_t i = begin; i < end && tape->n_rules > 0; i++) {
        if (cad_entry_is_rule(tape->entries[i]) &&
            cad_tape_plan(tape, tape->entries[i])->passive != CAD_DIRECT_RULE) {
            return 1;
        }
    }
    return 0;
}
