/* See inlined.h. */
#include "sweeps/inlined.h"

#include "arrays/walk.h"
#include "sweeps/sweeps.h"
#include "table/codes.h"

static size_t larger(size_t x, size_t y) {
    return x > y ? x : y;
}

/* Constants that stand side by side. */
typedef struct Stretch {
    CadSlot begin;
    size_t count;
    size_t at; /* where they are among all */
} Stretch;

struct CadInlined {
    size_t n_inputs;
    size_t n_slots;
    CadEntry *entries;
    size_t n_entries;
    int64_t *plans;
    size_t n_plan_words;
    CadBlock *blocks;
    size_t n_blocks;
    Stretch *stretches;
    size_t n_stretches;
    double *constants;
    size_t n_constants;
    CadGuard *guards;
    size_t n_guards;
    unsigned char *outcomes; /* of all guards, one behind the other */
    size_t n_outcomes;
    size_t n_assigned;
    size_t room; /* that products of matrices want */
    int has_arrays;
    int copies_borrowed; /* whether all values have to be in their places */
};

struct CadInlinedVariant {
    const CadInlined *inlined;
    CadEntry *entries;
    int64_t *plans;
    CadBlock *blocks;
};

/* In a variant, the code of an entry that nothing is to be differentiated through: only its values
 * are appended. */
#define SILENT 0x40000000u

static CadOp op_of(CadEntry entry) {
    return CAD_CODE_OP(entry.code & ~SILENT);
}

static const CadEntryKind *kind_of(CadEntry entry) {
    return &cad_entry_kinds[op_of(entry)];
}

/* A copy of `count` items; room for one where there is none. */
static void *copied(const void *items, size_t count, size_t size) {
    void *copy = cad_memory_resize(NULL, larger(count, 1), size);
    if (copy != NULL && count > 0) {
        memcpy(copy, items, count * size);
    }
    return copy;
}

/* --- making --- */

void cad_inlined_free(CadInlined *inlined) {
    if (inlined != NULL) {
        cad_memory_free(inlined->entries);
        cad_memory_free(inlined->plans);
        cad_memory_free(inlined->blocks);
        cad_memory_free(inlined->stretches);
        cad_memory_free(inlined->constants);
        cad_memory_free(inlined->guards);
        cad_memory_free(inlined->outcomes);
        cad_memory_free(inlined);
    }
}

size_t cad_inlined_bytes(const CadInlined *inlined) {
    return inlined->n_entries * sizeof(CadEntry) + inlined->n_plan_words * sizeof(int64_t) +
           inlined->n_blocks * sizeof(CadBlock) + inlined->n_stretches * sizeof(Stretch) +
           inlined->n_constants * sizeof(double) + inlined->n_guards * sizeof(CadGuard) +
           inlined->n_outcomes;
}

static int64_t less_base(const void *base, int64_t slot) {
    return slot - *(const int64_t *)base;
}

/* Count the slots of a plan from `base` on; 0 if one lies before it. */
static int count_from(CadEntry entry, CadPlan *plan, int64_t base) {
    int64_t least = cad_entry_result(entry, plan).low;
    for (CadSource source = cad_plan_sources(kind_of(entry), plan); cad_next_source(&source);) {
        const int64_t low = cad_source_span(&source).low;
        least = low < least ? low : least;
    }
    least = plan->index >= 0 && plan->index < least ? plan->index : least;
    cad_plan_rename(kind_of(entry), plan, less_base, &base);
    return least >= base;
}

/* What writes to slots that are not its own: the first of them, in a view or an array. */
static int is_written_at(CadEntry entry, CadPlan *plan, int64_t *slot) {
    const CadEntryKind *const kind = kind_of(entry);
    if (!CAD_IS_ARRAY_ENTRY(entry)) {
        *slot = entry.a;
        return kind->former == CAD_FORMER_KEPT;
    }
    *slot = kind->indexed == CAD_WRITES_INDEXED  ? cad_plan_extra(plan)[0]
            : kind->indexed == CAD_READS_INDEXED ? (int64_t)entry.out
                                                 : cad_plan_view(plan, 0)[0];
    return kind->former == CAD_FORMER_KEPT || cad_plan_adds(kind, plan) ||
           *slot < (int64_t)entry.out;
}

/* Copy entries and plans, with slots counted from the base. */
static CadStatus copy_entries(CadInlined *inlined, const CadTape *tape, size_t begin,
                              CadSlot base) {
    inlined->n_entries = tape->n_entries - begin;
    inlined->entries = copied(tape->entries + begin, inlined->n_entries, sizeof *inlined->entries);
    if (inlined->entries == NULL) {
        return CAD_NO_MEMORY;
    }
    size_t first_word = tape->n_plan_words;
    for (size_t i = 0; i < inlined->n_entries && first_word == tape->n_plan_words; i++) {
        first_word = CAD_IS_ARRAY_ENTRY(inlined->entries[i]) ? inlined->entries[i].a : first_word;
    }
    inlined->n_plan_words = tape->n_plan_words - first_word;
    inlined->plans = copied(tape->n_plan_words > 0 ? tape->plans + first_word : NULL,
                            inlined->n_plan_words, sizeof *inlined->plans);
    if (inlined->plans == NULL) {
        return CAD_NO_MEMORY;
    }
    for (size_t i = 0; i < inlined->n_entries; i++) {
        CadEntry *const e = &inlined->entries[i];
        const CadOp op = op_of(*e);
        CadPlan *plan = NULL;
        if (kind_of(*e)->is_rule) {
            return CAD_RAISED;
        }
        if (CAD_IS_ARRAY_ENTRY(*e)) {
            e->a -= (CadSlot)first_word;
            plan = (CadPlan *)(inlined->plans + e->a);
            if (!count_from(*e, plan, base)) {
                return CAD_RAISED;
            }
            inlined->has_arrays = 1;
            inlined->copies_borrowed |=
                kind_of(*e)->indexed || kind_of(*e)->former == CAD_FORMER_KEPT;
            inlined->room = larger(inlined->room, cad_array_room(op, plan));
        } else if (op != CAD_OP_LEAF) {
            if (e->a < base || e->b < base) {
                return CAD_RAISED;
            }
            e->a -= base;
            e->b -= base;
        }
        e->out -= base;
        inlined->n_assigned += kind_of(*e)->former == CAD_FORMER_KEPT;
    }
    return CAD_OK;
}

static CadStatus copy_blocks(CadInlined *inlined, const CadTape *tape, CadSlot base) {
    const size_t first = cad_tape_block_after(tape, base);
    inlined->n_blocks = tape->n_blocks - first;
    inlined->blocks = copied(tape->n_blocks > 0 ? tape->blocks + first : NULL, inlined->n_blocks,
                             sizeof *inlined->blocks);
    if (inlined->blocks == NULL) {
        return CAD_NO_MEMORY;
    }
    for (size_t i = 0; i < inlined->n_blocks; i++) {
        CadBlock *const block = &inlined->blocks[i];
        block->begin -= base;
        block->end -= base;
        block->pass = 0;
        block->adjoints = block->values = NULL;
    }
    return CAD_OK;
}

static CadStatus copy_guards(CadInlined *inlined, const CadTape *tape, CadSlot base) {
    if (tape->guards == NULL) {
        return CAD_OK;
    }
    inlined->n_guards = tape->guards->count;
    inlined->guards = copied(tape->guards->items, inlined->n_guards, sizeof *inlined->guards);
    for (size_t i = 0; inlined->guards != NULL && i < inlined->n_guards; i++) {
        inlined->n_outcomes += inlined->guards[i].count;
    }
    inlined->outcomes = cad_memory_zeroed(larger(inlined->n_outcomes, 1), 1);
    if (inlined->guards == NULL || inlined->outcomes == NULL) {
        return CAD_NO_MEMORY;
    }
    size_t at = 0;
    for (size_t i = 0; i < inlined->n_guards; i++) {
        CadGuard *const guard = &inlined->guards[i];
        for (size_t k = 0; k < guard->count; k++) {
            inlined->outcomes[at++] = tape->values[guard->slot + k] != 0.0;
        }
        guard->slot -= base;
    }
    return CAD_OK;
}

/* Note slots [begin, end), which no entry writes, if there are any. */
static void note_stretch(CadInlined *inlined, size_t begin, size_t end) {
    if (begin < end) {
        if (inlined->stretches != NULL) {
            inlined->stretches[inlined->n_stretches] =
                (Stretch){(CadSlot)begin, end - begin, inlined->n_constants};
        }
        inlined->n_stretches++;
        inlined->n_constants += end - begin;
    }
}

/* Find all slots that no entry writes, leaves among them; at first they are only counted. */
static void find_stretches(CadInlined *inlined) {
    size_t at = inlined->n_inputs;
    inlined->n_stretches = inlined->n_constants = 0;
    for (size_t i = 0; i < inlined->n_entries; i++) {
        const CadEntry e = inlined->entries[i];
        if (op_of(e) != CAD_OP_LEAF && op_of(e) != CAD_OP_THIRD) {
            note_stretch(inlined, at, e.out);
            at = e.out + cad_entry_slots(e);
        }
    }
    note_stretch(inlined, at, inlined->n_slots);
}

/* The constant at a slot; NULL if an entry writes it. */
static double *constant_at(const CadInlined *inlined, int64_t slot) {
    size_t low = 0, high = inlined->n_stretches;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const Stretch *const stretch = &inlined->stretches[middle];
        if (slot < (int64_t)stretch->begin) {
            high = middle;
        } else if (slot >= (int64_t)(stretch->begin + stretch->count)) {
            low = middle + 1;
        } else {
            return &inlined->constants[stretch->at + (size_t)(slot - stretch->begin)];
        }
    }
    return NULL;
}

static void clear_constant(const CadInlined *inlined, int64_t slot) {
    double *const constant = constant_at(inlined, slot);
    if (constant != NULL) {
        *constant = 0.0;
    }
}

/* What is added to in place are adjoints of recorded sweeps, which began as zeros: unlike
 * assignments, additions are not undone. */
static void clear_sums(const CadInlined *inlined) {
    for (size_t i = 0; i < inlined->n_entries; i++) {
        const CadEntry e = inlined->entries[i];
        if (!CAD_IS_ARRAY_ENTRY(e)) {
            continue;
        }
        CadPlan *plan = (CadPlan *)(inlined->plans + e.a);
        if (!cad_plan_adds(kind_of(e), plan)) {
            continue;
        }
        if (kind_of(e)->indexed) {
            for (int64_t k = 0; k < plan->size; k++) {
                int64_t offset;
                memcpy(&offset, constant_at(inlined, plan->index + k), sizeof offset);
                clear_constant(inlined, cad_plan_extra(plan)[0] + offset);
            }
        } else {
            Walk walk;
            start_walk_in(&walk, NULL, plan, 1);
            do {
                for (size_t k = 0; k < walk.n; k++) {
                    clear_constant(inlined, walk.at[0] + (int64_t)k * walk.step[0]);
                }
            } while (advance(&walk));
        }
    }
}

/* Copy all that no entry computes, as it was before anything was overwritten. */
static CadStatus copy_constants(CadInlined *inlined, CadTape *tape, size_t begin, CadSlot base) {
    find_stretches(inlined);
    inlined->stretches =
        cad_memory_resize(NULL, larger(inlined->n_stretches, 1), sizeof *inlined->stretches);
    inlined->constants =
        cad_memory_resize(NULL, larger(inlined->n_constants, 1), sizeof *inlined->constants);
    if (inlined->stretches == NULL || inlined->constants == NULL) {
        return CAD_NO_MEMORY;
    }
    find_stretches(inlined);
    const size_t end = tape->n_entries;
    cad_sweep_undo(tape, begin, end);
    for (size_t k = 0; k < inlined->n_stretches; k++) {
        const Stretch *const stretch = &inlined->stretches[k];
        memcpy(inlined->constants + stretch->at, tape->values + base + stretch->begin,
               stretch->count * sizeof *inlined->constants);
    }
    cad_sweep_redo(tape, begin, end);
    clear_sums(inlined);
    return CAD_OK;
}

CadStatus cad_inlined_new(CadTape *tape, size_t begin, size_t n_inputs, CadInlined **made) {
    CadInlined *inlined = cad_memory_zeroed(1, sizeof *inlined);
    if (inlined == NULL) {
        return CAD_NO_MEMORY;
    }
    const CadSlot base = tape->entries[begin].out;
    inlined->n_inputs = n_inputs;
    inlined->n_slots = tape->n_slots - base;
    cad_tape_copy_borrowed(tape);
    CadStatus status = copy_entries(inlined, tape, begin + 1, base);
    status = status == CAD_OK ? copy_blocks(inlined, tape, base) : status;
    status = status == CAD_OK ? copy_guards(inlined, tape, base) : status;
    status = status == CAD_OK ? copy_constants(inlined, tape, begin + 1, base) : status;
    if (status != CAD_OK) {
        cad_inlined_free(inlined);
        return status;
    }
    *made = inlined;
    return CAD_OK;
}

/* --- variants --- */

void cad_inlined_variant_free(CadInlinedVariant *variant) {
    if (variant != NULL) {
        cad_memory_free(variant->entries);
        cad_memory_free(variant->plans);
        cad_memory_free(variant->blocks);
        cad_memory_free(variant);
    }
}

/* Which numbers of an inlined recording carry derivatives. */
typedef struct Activity {
    const CadInlined *inlined;
    unsigned char *at; /* of each slot */
} Activity;

/* A number that carries a derivative is written to a slot: the whole array does so then. */
static void activate(Activity *activity, int64_t slot) {
    const CadInlined *const inlined = activity->inlined;
    size_t low = 0, high = inlined->n_blocks;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((int64_t)inlined->blocks[middle].end <= slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < inlined->n_blocks && (int64_t)inlined->blocks[low].begin <= slot) {
        const CadBlock *const block = &inlined->blocks[low];
        memset(activity->at + block->begin, 1, (size_t)(block->end - block->begin));
        return;
    }
    low = 0, high = inlined->n_entries;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((int64_t)inlined->entries[middle].out <= slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    activity->at[slot] = 1;
    if (low > 0 && CAD_IS_ARRAY_ENTRY(inlined->entries[low - 1])) {
        const CadEntry e = inlined->entries[low - 1];
        if ((size_t)slot < (size_t)e.out + e.b) {
            memset(activity->at + e.out, 1, e.b);
        }
    }
}

/* Whether operand k of a plan carries a derivative; else it is marked as passive. */
static int carries(const Activity *activity, CadPlan *plan, int k, int64_t slot) {
    if (!activity->at[slot]) {
        plan->passive |= (uint32_t)1 << k;
    }
    return !(plan->passive >> k & 1);
}

static void specialize_array(Activity *activity, CadEntry *e, CadPlan *plan) {
    const CadOp op = op_of(*e);
    int64_t target;
    const int elsewhere = is_written_at(*e, plan, &target);
    int active = 0;
    for (CadSource source = cad_plan_sources(kind_of(*e), plan); cad_next_source(&source);) {
        active |= carries(activity, plan, source.bit, source.slot);
    }
    if (cad_op_is_flat(op)) {
        active = 0;
    }
    if (kind_of(*e)->former == CAD_FORMER_KEPT) { /* what is kept was the target's */
        memset(activity->at + e->out, activity->at[target], e->b);
    } else if (active && !elsewhere) {
        memset(activity->at + e->out, 1, e->b);
    }
    if (active && elsewhere) {
        activate(activity, target);
    } else if (!active && !elsewhere) {
        e->code |= SILENT;
    }
}

/* An entry on single numbers; `third` is the one before it. */
static void specialize_number(Activity *activity, CadEntry *e, CadEntry *third) {
    const CadOp op = op_of(*e);
    const int arity = cad_op_info[op].arity;
    int active = activity->at[e->a] && !(e->code & CAD_PASSIVE_A);
    uint32_t passive = active ? 0 : CAD_PASSIVE_A;
    if (arity > 1) {
        const int more = activity->at[e->b] && !(e->code & CAD_PASSIVE_B);
        passive |= more ? 0 : CAD_PASSIVE_B;
        active |= more;
    }
    if (arity > 2) {
        active |= activity->at[third->a];
        passive = 0;
    }
    if (cad_op_is_flat(op)) {
        active = 0;
    }
    if (active) {
        e->code = CAD_CODE(op, passive);
        activate(activity, e->out);
    } else {
        e->code |= SILENT;
        if (arity > 2) {
            third->code |= SILENT;
        }
    }
}

static void specialize_entries(Activity *activity, CadInlinedVariant *variant) {
    for (size_t i = 0; i < activity->inlined->n_entries; i++) {
        CadEntry *const e = &variant->entries[i];
        const CadOp op = op_of(*e);
        if (CAD_IS_ARRAY_ENTRY(*e)) {
            specialize_array(activity, e, (CadPlan *)(variant->plans + e->a));
        } else if (op == CAD_OP_LEAF) {
            memset(activity->at + e->out, 1, cad_entry_slots(*e));
        } else if (cad_entry_assigns_number(*e)) {
            activity->at[e->out] = activity->at[e->a];
            if (activity->at[e->b] && !(e->code & CAD_PASSIVE_B)) {
                activate(activity, e->a);
            } else {
                e->code |= CAD_PASSIVE_B;
            }
        } else if (op != CAD_OP_THIRD) {
            specialize_number(activity, e, i > 0 ? e - 1 : e);
        }
    }
}

CadStatus cad_inlined_variant_new(const CadInlined *inlined, const unsigned char *active,
                                  const int64_t *slots, size_t n_slots, unsigned char *found,
                                  CadInlinedVariant **made) {
    CadInlinedVariant *variant = cad_memory_zeroed(1, sizeof *variant);
    Activity activity = {inlined, cad_memory_zeroed(larger(inlined->n_slots, 1), 1)};
    if (variant != NULL) {
        variant->inlined = inlined;
        variant->entries = copied(inlined->entries, inlined->n_entries, sizeof *variant->entries);
        variant->plans = copied(inlined->plans, inlined->n_plan_words, sizeof *variant->plans);
        variant->blocks = copied(inlined->blocks, inlined->n_blocks, sizeof *variant->blocks);
    }
    if (variant == NULL || activity.at == NULL || variant->entries == NULL ||
        variant->plans == NULL || variant->blocks == NULL) {
        cad_memory_free(activity.at);
        cad_inlined_variant_free(variant);
        return CAD_NO_MEMORY;
    }
    if (inlined->n_inputs > 0) {
        memcpy(activity.at, active, inlined->n_inputs);
    }
    specialize_entries(&activity, variant);
    for (size_t i = 0; i < inlined->n_blocks; i++) {
        variant->blocks[i].constant = activity.at[inlined->blocks[i].begin] == 0;
    }
    for (size_t i = 0; i < n_slots; i++) {
        found[i] = activity.at[slots[i]];
    }
    cad_memory_free(activity.at);
    *made = variant;
    return CAD_OK;
}

/* --- appending --- */

/* Forget what came since, and restore what it overwrote. */
static void take_back(CadTape *tape, CadFilled filled) {
    cad_sweep_undo(tape, filled.entries, tape->n_entries);
    cad_tape_take_back(tape, filled);
}

static void append_blocks(const CadInlinedVariant *variant, CadTape *tape, const CadSlot *inputs,
                          CadSlot shift) {
    const CadInlined *const inlined = variant->inlined;
    for (size_t i = 0; i < inlined->n_blocks; i++) {
        CadBlock block = variant->blocks[i];
        const int singly =
            block.singly || (block.eager && block.end - block.begin >= CAD_LARGE_BLOCK);
        if (block.begin < inlined->n_inputs) { /* the inputs have blocks of their own, or none */
            CadBlock *const own = cad_tape_find_block(tape, inputs[block.begin]);
            if (own != NULL && block.changed) {
                own->changed = 1;
            }
            if (singly) {
                cad_tape_use_singly(tape, inputs[block.begin]);
            }
            continue;
        }
        block.begin += shift;
        block.end += shift;
        block.eager = block.end - block.begin < CAD_LARGE_BLOCK;
        tape->blocks[tape->n_blocks++] = block;
        if (singly) {
            cad_tape_use_singly(tape, block.begin);
        }
    }
}

/* The slot on the tape of what stands at a slot of the recording. */
typedef struct Places {
    const CadSlot *inputs;
    size_t n_inputs;
    CadSlot shift;
} Places;

static CadSlot place_of(const Places *places, CadSlot slot) {
    return slot < places->n_inputs ? places->inputs[slot] : (CadSlot)(slot + places->shift);
}

static int64_t moved_to(const void *places, int64_t slot) {
    return place_of(places, (CadSlot)slot);
}

/* Append the entries, and compute what they computed. */
static void append_entries(const CadInlinedVariant *variant, CadTape *tape, const Places *places) {
    const size_t first_word = tape->n_plan_words;
    double *const value = tape->values;
    if (variant->inlined->n_plan_words > 0) {
        memcpy(tape->plans + first_word, variant->plans,
               variant->inlined->n_plan_words * sizeof *tape->plans);
        tape->n_plan_words += variant->inlined->n_plan_words;
    }
    CadSlot third = 0;
    for (size_t i = 0; i < variant->inlined->n_entries; i++) {
        CadEntry e = variant->entries[i];
        const int silent = (e.code & SILENT) != 0;
        e.code &= ~SILENT;
        const CadOp op = CAD_CODE_OP(e.code);
        e.out += places->shift;
        if (CAD_IS_ARRAY_ENTRY(e)) {
            e.a += (CadSlot)first_word;
            cad_plan_rename(cad_entry_kind(e), cad_tape_plan(tape, e), moved_to, places);
            cad_array_value(tape, e);
        } else if (op != CAD_OP_LEAF) {
            e.a = place_of(places, e.a);
            e.b = place_of(places, e.b);
            if (cad_op_is_row(op)) {
                value[e.out] = cad_op_value(op, value[e.a], value[e.b], value[third]);
            } else if (cad_entry_assigns_number(e)) {
                value[e.out] = value[e.a];
                value[e.a] = value[e.b];
            } else {
                third = e.a;
            }
        }
        if (!silent) {
            tape->entries[tape->n_entries++] = e;
        }
    }
    tape->n_assigned += variant->inlined->n_assigned;
}

/* The first guard that came out otherwise, or -1. */
static long find_missed(const CadInlined *inlined, const CadTape *tape, CadSlot shift) {
    const unsigned char *outcome = inlined->outcomes;
    for (size_t i = 0; i < inlined->n_guards; i++) {
        const double *const found = tape->values + (CadSlot)(inlined->guards[i].slot + shift);
        for (size_t k = 0; k < inlined->guards[i].count; k++) {
            if ((found[k] != 0.0) != *outcome++) {
                return (long)i;
            }
        }
    }
    return -1;
}

CadStatus cad_inlined_append(const CadInlinedVariant *variant, CadTape *tape,
                             const CadSlot *inputs, CadSlot *shift, long *missed) {
    const CadInlined *const inlined = variant->inlined;
    const CadFilled more = {inlined->n_entries, inlined->n_slots, inlined->n_plan_words, 0,
                            inlined->n_blocks};
    CadStatus status = cad_tape_grow_by(tape, more);
    if (status == CAD_OK && inlined->has_arrays) {
        status = cad_array_workspace(tape, inlined->room);
    }
    if (status != CAD_OK) {
        return status;
    }
    if (inlined->copies_borrowed) {
        cad_tape_copy_borrowed(tape);
    }
    const CadFilled filled = cad_tape_filled(tape);
    const Places places = {inputs, inlined->n_inputs,
                           (CadSlot)(tape->n_slots - inlined->n_inputs)};
    tape->n_slots += inlined->n_slots - inlined->n_inputs;
    for (size_t k = 0; k < inlined->n_stretches; k++) {
        const Stretch stretch = inlined->stretches[k];
        memcpy(tape->values + (CadSlot)(stretch.begin + places.shift),
               inlined->constants + stretch.at, stretch.count * sizeof *tape->values);
    }
    append_blocks(variant, tape, inputs, places.shift);
    append_entries(variant, tape, &places);
    *shift = places.shift;
    *missed = find_missed(inlined, tape, places.shift);
    if (*missed >= 0) {
        take_back(tape, filled);
    }
    return status;
}
