/* See inlined.h. */
#include "sweeps/inlined.h"

#include "arrays/walk.h"
#include "sweeps/sweeps.h"

static size_t larger(size_t x, size_t y) {
    return x > y ? x : y;
}

/* Constants that stand side by side. */
typedef struct Stretch {
    CadSlot begin;
    size_t count;
    size_t at; /* where they are among all */
} Stretch;

struct CadImage {
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
    int settles; /* whether all values have to be in their places */
    int writes_inputs;
};

struct CadForm {
    const CadImage *image;
    CadEntry *entries;
    int64_t *plans;
    CadBlock *blocks;
    unsigned char *noted; /* of each guard whether it is one where this is pasted */
};

/* In a form, the code of an entry that nothing is to be differentiated through: only its values
 * are pasted. */
#define SILENT 0x40000000u

static CadOp op_of(CadEntry entry) {
    return CAD_CODE_OP(entry.code & ~SILENT);
}

static const CadEntryKind *kind_of(CadEntry entry) {
    return &cad_entry_kinds[op_of(entry)];
}

static int is_comparison(CadOp op) {
    return op == CAD_OP_less || op == CAD_OP_less_equal || op == CAD_OP_equal ||
           op == CAD_OP_not_equal;
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

void cad_image_free(CadImage *image) {
    if (image != NULL) {
        cad_memory_free(image->entries);
        cad_memory_free(image->plans);
        cad_memory_free(image->blocks);
        cad_memory_free(image->stretches);
        cad_memory_free(image->constants);
        cad_memory_free(image->guards);
        cad_memory_free(image->outcomes);
        cad_memory_free(image);
    }
}

int cad_image_writes_inputs(const CadImage *image) {
    return image->writes_inputs;
}

size_t cad_image_bytes(const CadImage *image) {
    return image->n_entries * sizeof(CadEntry) + image->n_plan_words * sizeof(int64_t) +
           image->n_blocks * sizeof(CadBlock) + image->n_stretches * sizeof(Stretch) +
           image->n_constants * sizeof(double) + image->n_guards * sizeof(CadGuard) +
           image->n_outcomes;
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
static CadStatus copy_entries(CadImage *image, const CadTape *tape, size_t begin, CadSlot base) {
    image->n_entries = tape->n_entries - begin;
    image->entries = copied(tape->entries + begin, image->n_entries, sizeof *image->entries);
    if (image->entries == NULL) {
        return CAD_NO_MEMORY;
    }
    size_t first_word = tape->n_plan_words;
    for (size_t i = 0; i < image->n_entries && first_word == tape->n_plan_words; i++) {
        first_word = CAD_IS_ARRAY_ENTRY(image->entries[i]) ? image->entries[i].a : first_word;
    }
    image->n_plan_words = tape->n_plan_words - first_word;
    image->plans = copied(tape->n_plan_words > 0 ? tape->plans + first_word : NULL,
                          image->n_plan_words, sizeof *image->plans);
    if (image->plans == NULL) {
        return CAD_NO_MEMORY;
    }
    for (size_t i = 0; i < image->n_entries; i++) {
        CadEntry *const e = &image->entries[i];
        const CadOp op = op_of(*e);
        CadPlan *plan = NULL;
        if (kind_of(*e)->is_rule) {
            return CAD_RAISED;
        }
        if (CAD_IS_ARRAY_ENTRY(*e)) {
            e->a -= (CadSlot)first_word;
            plan = (CadPlan *)(image->plans + e->a);
            if (!count_from(*e, plan, base)) {
                return CAD_RAISED;
            }
            image->has_arrays = 1;
            image->settles |= kind_of(*e)->indexed || kind_of(*e)->former == CAD_FORMER_KEPT;
            image->room = larger(image->room, cad_array_room(op, plan));
        } else if (op != CAD_OP_LEAF) {
            if (e->a < base || e->b < base) {
                return CAD_RAISED;
            }
            e->a -= base;
            e->b -= base;
        }
        e->out -= base;
        int64_t slot;
        if (is_written_at(*e, plan, &slot)) {
            image->writes_inputs |= slot < (int64_t)image->n_inputs;
        }
        image->n_assigned += kind_of(*e)->former == CAD_FORMER_KEPT;
    }
    return CAD_OK;
}

static CadStatus copy_blocks(CadImage *image, const CadTape *tape, CadSlot base) {
    const size_t first = cad_tape_block_after(tape, base);
    image->n_blocks = tape->n_blocks - first;
    image->blocks = copied(tape->n_blocks > 0 ? tape->blocks + first : NULL, image->n_blocks,
                           sizeof *image->blocks);
    if (image->blocks == NULL) {
        return CAD_NO_MEMORY;
    }
    for (size_t i = 0; i < image->n_blocks; i++) {
        CadBlock *const block = &image->blocks[i];
        block->begin -= base;
        block->end -= base;
        block->pass = 0;
        block->adjoints = block->values = NULL;
    }
    return CAD_OK;
}

static CadStatus copy_guards(CadImage *image, const CadTape *tape, CadSlot base) {
    if (tape->guards == NULL) {
        return CAD_OK;
    }
    image->n_guards = tape->guards->count;
    image->guards = copied(tape->guards->items, image->n_guards, sizeof *image->guards);
    for (size_t i = 0; image->guards != NULL && i < image->n_guards; i++) {
        image->n_outcomes += image->guards[i].count;
    }
    image->outcomes = cad_memory_zeroed(larger(image->n_outcomes, 1), 1);
    if (image->guards == NULL || image->outcomes == NULL) {
        return CAD_NO_MEMORY;
    }
    size_t at = 0;
    for (size_t i = 0; i < image->n_guards; i++) {
        CadGuard *const guard = &image->guards[i];
        for (size_t k = 0; k < guard->count; k++) {
            image->outcomes[at++] = tape->values[guard->slot + k] != 0.0;
        }
        guard->slot -= base;
    }
    return CAD_OK;
}

/* Note slots [begin, end), which no entry writes, if there are any. */
static void note_stretch(CadImage *image, size_t begin, size_t end) {
    if (begin < end) {
        if (image->stretches != NULL) {
            image->stretches[image->n_stretches] =
                (Stretch){(CadSlot)begin, end - begin, image->n_constants};
        }
        image->n_stretches++;
        image->n_constants += end - begin;
    }
}

/* Find all slots that no entry writes, leaves among them; at first they are only counted. */
static void find_stretches(CadImage *image) {
    size_t at = image->n_inputs;
    image->n_stretches = image->n_constants = 0;
    for (size_t i = 0; i < image->n_entries; i++) {
        const CadEntry e = image->entries[i];
        if (op_of(e) != CAD_OP_LEAF && op_of(e) != CAD_OP_THIRD) {
            note_stretch(image, at, e.out);
            at = e.out + cad_entry_slots(e);
        }
    }
    note_stretch(image, at, image->n_slots);
}

/* The constant at a slot; NULL if an entry writes it. */
static double *constant_at(const CadImage *image, int64_t slot) {
    size_t low = 0, high = image->n_stretches;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const Stretch *const stretch = &image->stretches[middle];
        if (slot < (int64_t)stretch->begin) {
            high = middle;
        } else if (slot >= (int64_t)(stretch->begin + stretch->count)) {
            low = middle + 1;
        } else {
            return &image->constants[stretch->at + (size_t)(slot - stretch->begin)];
        }
    }
    return NULL;
}

static void clear_constant(const CadImage *image, int64_t slot) {
    double *const constant = constant_at(image, slot);
    if (constant != NULL) {
        *constant = 0.0;
    }
}

/* What is added to in place are adjoints of recorded sweeps, which began as zeros: unlike
 * assignments, additions are not undone. */
static void clear_sums(const CadImage *image) {
    for (size_t i = 0; i < image->n_entries; i++) {
        const CadEntry e = image->entries[i];
        if (!CAD_IS_ARRAY_ENTRY(e)) {
            continue;
        }
        CadPlan *plan = (CadPlan *)(image->plans + e.a);
        if (!cad_plan_adds(kind_of(e), plan)) {
            continue;
        }
        if (kind_of(e)->indexed) {
            for (int64_t k = 0; k < plan->size; k++) {
                int64_t offset;
                memcpy(&offset, constant_at(image, plan->index + k), sizeof offset);
                clear_constant(image, cad_plan_extra(plan)[0] + offset);
            }
        } else {
            Walk walk;
            start_walk_in(&walk, NULL, plan, 1);
            do {
                for (size_t k = 0; k < walk.n; k++) {
                    clear_constant(image, walk.at[0] + (int64_t)k * walk.step[0]);
                }
            } while (advance(&walk));
        }
    }
}

/* Copy all that no entry computes, as it was before anything was overwritten. */
static CadStatus copy_constants(CadImage *image, CadTape *tape, size_t begin, CadSlot base) {
    find_stretches(image);
    image->stretches =
        cad_memory_resize(NULL, larger(image->n_stretches, 1), sizeof *image->stretches);
    image->constants =
        cad_memory_resize(NULL, larger(image->n_constants, 1), sizeof *image->constants);
    if (image->stretches == NULL || image->constants == NULL) {
        return CAD_NO_MEMORY;
    }
    find_stretches(image);
    const size_t end = tape->n_entries;
    cad_sweep_undo(tape, begin, end);
    for (size_t k = 0; k < image->n_stretches; k++) {
        const Stretch *const stretch = &image->stretches[k];
        memcpy(image->constants + stretch->at, tape->values + base + stretch->begin,
               stretch->count * sizeof *image->constants);
    }
    cad_sweep_redo(tape, begin, end);
    clear_sums(image);
    return CAD_OK;
}

CadStatus cad_image_new(CadTape *tape, size_t begin, size_t n_inputs, CadImage **made) {
    CadImage *image = cad_memory_zeroed(1, sizeof *image);
    if (image == NULL) {
        return CAD_NO_MEMORY;
    }
    const CadSlot base = tape->entries[begin].out;
    image->n_inputs = n_inputs;
    image->n_slots = tape->n_slots - base;
    cad_tape_settle(tape);
    CadStatus status = copy_entries(image, tape, begin + 1, base);
    status = status == CAD_OK ? copy_blocks(image, tape, base) : status;
    status = status == CAD_OK ? copy_guards(image, tape, base) : status;
    status = status == CAD_OK ? copy_constants(image, tape, begin + 1, base) : status;
    if (status != CAD_OK) {
        cad_image_free(image);
        return status;
    }
    *made = image;
    return CAD_OK;
}

/* --- forms --- */

void cad_form_free(CadForm *form) {
    if (form != NULL) {
        cad_memory_free(form->entries);
        cad_memory_free(form->plans);
        cad_memory_free(form->blocks);
        cad_memory_free(form->noted);
        cad_memory_free(form);
    }
}

/* Which numbers of an image carry derivatives. */
typedef struct Activity {
    const CadImage *image;
    unsigned char *at; /* of each slot */
    int guarded;
} Activity;

/* A number that carries a derivative is written to a slot: the whole array does so then. */
static void activate(Activity *activity, int64_t slot) {
    const CadImage *const image = activity->image;
    size_t low = 0, high = image->n_blocks;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((int64_t)image->blocks[middle].end <= slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < image->n_blocks && (int64_t)image->blocks[low].begin <= slot) {
        const CadBlock *const block = &image->blocks[low];
        memset(activity->at + block->begin, 1, (size_t)(block->end - block->begin));
        return;
    }
    low = 0, high = image->n_entries;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((int64_t)image->entries[middle].out <= slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    activity->at[slot] = 1;
    if (low > 0 && CAD_IS_ARRAY_ENTRY(image->entries[low - 1])) {
        const CadEntry e = image->entries[low - 1];
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

static void form_array(Activity *activity, CadEntry *e, CadPlan *plan) {
    const CadOp op = op_of(*e);
    int64_t target;
    const int elsewhere = is_written_at(*e, plan, &target);
    int active = 0;
    for (CadSource source = cad_plan_sources(kind_of(*e), plan); cad_next_source(&source);) {
        active |= carries(activity, plan, source.bit, source.slot);
    }
    if (!activity->guarded && (op == CAD_OP_stop || is_comparison(op))) {
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
static void form_number(Activity *activity, CadEntry *e, CadEntry *third) {
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
    if (!activity->guarded && (op == CAD_OP_stop || is_comparison(op))) {
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

static void form_entries(Activity *activity, CadForm *form) {
    for (size_t i = 0; i < activity->image->n_entries; i++) {
        CadEntry *const e = &form->entries[i];
        const CadOp op = op_of(*e);
        if (CAD_IS_ARRAY_ENTRY(*e)) {
            form_array(activity, e, (CadPlan *)(form->plans + e->a));
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
            form_number(activity, e, i > 0 ? e - 1 : e);
        }
    }
}

CadStatus cad_form_new(const CadImage *image, const unsigned char *active, int guarded,
                       const int64_t *slots, size_t n_slots, unsigned char *found,
                       CadForm **made) {
    CadForm *form = cad_memory_zeroed(1, sizeof *form);
    Activity activity = {image, cad_memory_zeroed(larger(image->n_slots, 1), 1), guarded};
    if (form != NULL) {
        form->image = image;
        form->entries = copied(image->entries, image->n_entries, sizeof *form->entries);
        form->plans = copied(image->plans, image->n_plan_words, sizeof *form->plans);
        form->blocks = copied(image->blocks, image->n_blocks, sizeof *form->blocks);
        form->noted = cad_memory_zeroed(larger(image->n_guards, 1), 1);
    }
    if (form == NULL || activity.at == NULL || form->entries == NULL || form->plans == NULL ||
        form->blocks == NULL || form->noted == NULL) {
        cad_memory_free(activity.at);
        cad_form_free(form);
        return CAD_NO_MEMORY;
    }
    if (image->n_inputs > 0) {
        memcpy(activity.at, active, image->n_inputs);
    }
    form_entries(&activity, form);
    for (size_t i = 0; i < image->n_blocks; i++) {
        form->blocks[i].constant = activity.at[image->blocks[i].begin] == 0;
    }
    for (size_t i = 0; i < image->n_guards; i++) {
        form->noted[i] = guarded && activity.at[image->guards[i].slot];
    }
    for (size_t i = 0; i < n_slots; i++) {
        found[i] = activity.at[slots[i]];
    }
    cad_memory_free(activity.at);
    *made = form;
    return CAD_OK;
}

/* --- pasting --- */

/* Forget what came since, and restore what it overwrote. */
static void take_back(CadTape *tape, CadFilled filled) {
    cad_sweep_undo(tape, filled.entries, tape->n_entries);
    cad_tape_take_back(tape, filled);
}

static void paste_blocks(const CadForm *form, CadTape *tape, const CadSlot *inputs,
                         CadSlot shift) {
    const CadImage *const image = form->image;
    for (size_t i = 0; i < image->n_blocks; i++) {
        CadBlock block = form->blocks[i];
        const int singly =
            block.singly || (block.eager && block.end - block.begin >= CAD_LARGE_BLOCK);
        if (block.begin < image->n_inputs) { /* the inputs have blocks of their own, or none */
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

/* The slot on the tape of what stands at a slot of the image. */
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
static void paste_entries(const CadForm *form, CadTape *tape, const Places *places) {
    const size_t first_word = tape->n_plan_words;
    double *const value = tape->values;
    if (form->image->n_plan_words > 0) {
        memcpy(tape->plans + first_word, form->plans,
               form->image->n_plan_words * sizeof *tape->plans);
        tape->n_plan_words += form->image->n_plan_words;
    }
    CadSlot third = 0;
    for (size_t i = 0; i < form->image->n_entries; i++) {
        CadEntry e = form->entries[i];
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
    tape->n_assigned += form->image->n_assigned;
}

/* The first guard that came out otherwise, or -1. */
static long find_missed(const CadImage *image, const CadTape *tape, CadSlot shift) {
    const unsigned char *outcome = image->outcomes;
    for (size_t i = 0; i < image->n_guards; i++) {
        const double *const found = tape->values + (CadSlot)(image->guards[i].slot + shift);
        for (size_t k = 0; k < image->guards[i].count; k++) {
            if ((found[k] != 0.0) != *outcome++) {
                return (long)i;
            }
        }
    }
    return -1;
}

CadStatus cad_form_paste(const CadForm *form, CadTape *tape, const CadSlot *inputs, CadSlot *shift,
                         long *missed) {
    const CadImage *const image = form->image;
    const CadFilled more = {image->n_entries, image->n_slots, image->n_plan_words, 0,
                            image->n_blocks};
    CadStatus status = cad_tape_grow_by(tape, more);
    if (status == CAD_OK && image->has_arrays) {
        status = cad_array_workspace(tape, image->room);
    }
    if (status != CAD_OK) {
        return status;
    }
    if (image->settles) {
        cad_tape_settle(tape);
    }
    const CadFilled filled = cad_tape_filled(tape);
    const Places places = {inputs, image->n_inputs, (CadSlot)(tape->n_slots - image->n_inputs)};
    tape->n_slots += image->n_slots - image->n_inputs;
    for (size_t k = 0; k < image->n_stretches; k++) {
        const Stretch stretch = image->stretches[k];
        memcpy(tape->values + (CadSlot)(stretch.begin + places.shift),
               image->constants + stretch.at, stretch.count * sizeof *tape->values);
    }
    paste_blocks(form, tape, inputs, places.shift);
    paste_entries(form, tape, &places);
    *shift = places.shift;
    *missed = find_missed(image, tape, places.shift);
    for (size_t i = 0; i < image->n_guards && *missed < 0 && status == CAD_OK; i++) {
        if (form->noted[i]) {
            const CadGuard guard = image->guards[i];
            status = cad_guard_note(tape, (CadSlot)(guard.slot + places.shift), guard.count,
                                    guard.equality);
        }
    }
    if (*missed >= 0 || status != CAD_OK) {
        take_back(tape, filled);
    }
    return status;
}
