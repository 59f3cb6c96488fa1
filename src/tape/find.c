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
