/* See replay.h. */
#include "sweeps/replay.h"

#include "sweeps/sweeps.h"
#include "table/codes.h"
#include "tape/blocks.h"
#include "tape/find.h"
#include "tape/guards.h"

/* --- copying --- */

void cad_replay_free(CadReplay *replay) {
    if (replay != NULL) {
        cad_memory_free(replay->entries);
        cad_memory_free(replay->outcomes);
        cad_memory_free(replay);
    }
}

size_t cad_replay_bytes(const CadReplay *replay) {
    return cad_tape_bytes(replay->tape) + replay->n_entries * sizeof *replay->entries +
           replay->n_outcomes * sizeof *replay->outcomes;
}

/* A slot of the recording on the tape of its own: what lies below comes to lie beyond all. */
static int64_t less_base(const void *base, int64_t slot) {
    const int64_t first = *(const int64_t *)base;
    return slot < first ? CAD_NONE : slot - first;
}

/* Whether all that a plan names lies on the tape. */
static int is_within(CadEntry entry, CadPlan *plan) {
    int64_t high = cad_entry_result(entry, plan).high;
    for (CadSource source = cad_plan_sources(cad_entry_kind(entry), plan);
         cad_next_source(&source);) {
        high = source.slot > high ? source.slot : high;
    }
    return high < (int64_t)CAD_NONE && plan->index < (int64_t)CAD_NONE;
}

/* Have entries and plans name slots of their own tape. */
static CadStatus move_entries(CadTape *tape, CadSlot base, size_t first_word) {
    const int64_t first = base;
    size_t room = 0;
    for (size_t i = 0; i < tape->n_entries; i++) {
        CadEntry *const e = &tape->entries[i];
        const CadOp op = CAD_CODE_OP(e->code);
        e->out -= base;
        if (cad_entry_is_rule(*e)) {
            return CAD_RAISED;
        }
        if (CAD_IS_ARRAY_ENTRY(*e)) {
            e->a -= (CadSlot)first_word;
            CadPlan *const plan = cad_tape_plan(tape, *e);
            cad_plan_rename(cad_entry_kind(*e), plan, less_base, &first);
            if (!is_within(*e, plan)) {
                return CAD_RAISED;
            }
            const size_t wanted =
                cad_array_room(op, plan->passive, plan->ndim, cad_plan_shape(plan));
            room = wanted > room ? wanted : room;
        } else if (op != CAD_OP_LEAF) {
            if (e->a < base || e->b < base) {
                return CAD_RAISED;
            }
            e->a -= base;
            e->b -= base;
        }
        tape->n_assigned += (size_t)cad_entry_overwrites(*e);
    }
    return tape->n_plan_words > 0 ? cad_array_workspace(tape, room) : CAD_OK;
}

/* Copy what stands on a tape from an entry on. */
static CadStatus copy_tape(CadTape *to, const CadTape *from, size_t begin) {
    const CadSlot base = from->entries[begin].out;
    const size_t first_block = cad_tape_block_after(from, base);
    size_t first_word = from->n_plan_words;
    for (size_t i = from->n_entries; i-- > begin;) {
        first_word = CAD_IS_ARRAY_ENTRY(from->entries[i]) ? from->entries[i].a : first_word;
    }
    const CadFilled all = {from->n_entries - begin,         from->n_slots - base,
                           from->n_plan_words - first_word, 0,
                           from->n_blocks - first_block,    0};
    const CadStatus status = cad_tape_grow_by(to, all);
    if (status != CAD_OK) {
        return status;
    }
    memcpy(to->entries, from->entries + begin, all.entries * sizeof *to->entries);
    memcpy(to->values, from->values + base, all.slots * sizeof *to->values);
    if (all.plan_words > 0) {
        memcpy(to->plans, from->plans + first_word, all.plan_words * sizeof *to->plans);
    }
    for (size_t i = 0; i < all.blocks; i++) {
        CadBlock *const block = &to->blocks[i];
        *block = from->blocks[first_block + i];
        block->begin -= base;
        block->end -= base;
        block->pass = 0;
        block->adjoints = block->values = NULL;
    }
    to->n_entries = all.entries;
    to->n_slots = all.slots;
    to->n_plan_words = all.plan_words;
    to->n_blocks = all.blocks;
    return move_entries(to, base, first_word);
}

static CadStatus copy_outcomes(CadReplay *replay, const CadTape *from, CadSlot base) {
    size_t capacity = 0;
    for (size_t i = 0; from->guards != NULL && i < from->guards->count; i++) {
        const CadGuard guard = from->guards->items[i];
        if (cad_memory_grow((void **)&replay->outcomes, &capacity,
                            replay->n_outcomes + guard.count,
                            sizeof *replay->outcomes) != CAD_OK) {
            return CAD_NO_MEMORY;
        }
        for (size_t slot = guard.slot; slot < guard.slot + guard.count; slot++) {
            replay->outcomes[replay->n_outcomes++] =
                (uint64_t)(slot - base) << 1 | (from->values[slot] != 0.0);
        }
    }
    return CAD_OK;
}

/* --- which numbers carry derivatives: `active` tells of each slot --- */

/* A number that does is written to a slot: the whole array does so then. */
static void activate(unsigned char *active, const CadTape *tape, size_t slot) {
    size_t begin, end;
    cad_tape_allocation(tape, slot, &begin, &end);
    memset(active + begin, 1, end - begin);
}

/* Whether an entry over arrays is recorded where only numbers with derivatives are; operands that
 * carry none are marked as passive. */
static int specialize_array(unsigned char *active, const CadTape *tape, CadEntry e) {
    const CadEntryKind *const kind = cad_entry_kind(e);
    CadPlan *const plan = cad_tape_plan(tape, e);
    const size_t target = (size_t)cad_entry_result(e, plan).low;
    const int keeps = kind->former == CAD_FORMER_KEPT;
    const int elsewhere = keeps || cad_plan_adds(kind, plan) || target < e.out;
    int carries = 0;
    for (CadSource source = cad_plan_sources(kind, plan); cad_next_source(&source);) {
        if (!active[source.slot]) {
            plan->passive |= (uint32_t)1 << source.bit;
        }
        carries |= !(plan->passive >> source.bit & 1);
    }
    carries = carries && !cad_op_is_flat(CAD_CODE_OP(e.code));
    if (keeps) { /* what is kept was the target's */
        memset(active + e.out, active[target], e.b);
    } else if (carries && !elsewhere) {
        memset(active + e.out, 1, e.b);
    }
    if (carries && elsewhere) {
        activate(active, tape, target);
    }
    return carries || elsewhere;
}

/* The same for an entry on single numbers; `third` is an operand of the one before it. */
static int specialize_number(unsigned char *active, const CadTape *tape, CadEntry *e,
                             CadSlot third) {
    const CadOp op = CAD_CODE_OP(e->code);
    const int assigns = op == CAD_OP_ASSIGN, arity = assigns ? 2 : cad_op_info[op].arity;
    const int a = active[e->a] && !assigns && !(e->code & CAD_PASSIVE_A);
    const int b = arity > 1 && active[e->b] && !(e->code & CAD_PASSIVE_B);
    if (assigns) { /* what is kept was the target's */
        active[e->out] = active[e->a];
        e->code = CAD_CODE(op, b ? 0 : CAD_PASSIVE_B);
    } else if (arity < 3) {
        e->code = CAD_CODE(op, (a ? 0 : CAD_PASSIVE_A) | (b || arity < 2 ? 0 : CAD_PASSIVE_B));
    }
    const int carries = (a || b || (arity > 2 && active[third])) && !cad_op_is_flat(op);
    if (carries) {
        activate(active, tape, assigns ? e->a : e->out);
    }
    return carries || assigns;
}

/* Leave on the tape what is recorded where only numbers with derivatives are. */
static CadStatus specialize(CadReplay *replay, size_t n_active) {
    CadTape *const tape = replay->tape;
    unsigned char *const active = cad_memory_zeroed(tape->n_slots + 1, 1);
    if (active == NULL) {
        return CAD_NO_MEMORY;
    }
    CadEntry *const kept = tape->entries;
    size_t n_kept = 0;
    tape->entries = replay->entries; /* which are looked up, and stay as they are */
    for (size_t i = 0; i < replay->n_entries; i++) {
        CadEntry e = replay->entries[i];
        const CadOp op = CAD_CODE_OP(e.code);
        int stays = 1;
        if (i == 0) {
            e.a = (CadSlot)n_active;
            memset(active, 1, n_active);
        } else if (CAD_IS_ARRAY_ENTRY(e)) {
            stays = specialize_array(active, tape, e);
        } else if (op == CAD_OP_LEAF) {
            memset(active + e.out, 1, cad_entry_slots(e));
        } else if (op != CAD_OP_THIRD) {
            stays = specialize_number(active, tape, &e, replay->entries[i - 1].a);
            n_kept -= !stays && cad_op_info[op].arity > 2;
        }
        if (stays) {
            kept[n_kept++] = e;
        }
    }
    tape->entries = kept;
    tape->n_entries = n_kept;
    for (size_t i = 0; i < tape->n_blocks; i++) {
        tape->blocks[i].constant = !active[tape->blocks[i].begin];
    }
    cad_memory_free(active);
    return CAD_OK;
}

static CadStatus fill(CadReplay *replay, CadTape *from, size_t begin, size_t n_active) {
    CadTape *const tape = replay->tape = cad_tape_new();
    cad_tape_copy_borrowed(from);
    CadStatus status = tape == NULL ? CAD_NO_MEMORY : copy_tape(tape, from, begin);
    status = status == CAD_OK ? copy_outcomes(replay, from, from->entries[begin].out) : status;
    if (status != CAD_OK) {
        return status;
    }
    replay->n_entries = tape->n_entries;
    replay->entries = cad_memory_resize(NULL, tape->n_entries, sizeof *replay->entries);
    if (replay->entries == NULL) {
        return CAD_NO_MEMORY;
    }
    memcpy(replay->entries, tape->entries, tape->n_entries * sizeof *replay->entries);
    status = specialize(replay, n_active);
    replay->filled = cad_tape_filled(tape);
    return status;
}

CadStatus cad_replay_new(CadTape *tape, size_t begin, size_t n_inputs, size_t n_active,
                         CadReplay **replay) {
    *replay = cad_memory_zeroed(1, sizeof **replay);
    if (*replay == NULL) {
        return CAD_NO_MEMORY;
    }
    (*replay)->n_inputs = n_inputs;
    return fill(*replay, tape, begin, n_active);
}

/* --- running --- */

bool cad_replay_run(CadReplay *replay, const double *inputs) {
    CadTape *const tape = replay->tape;
    CadEntry *const entries = tape->entries;
    cad_tape_take_back(tape, replay->filled);
    if (replay->n_inputs > 0) {
        memcpy(tape->values, inputs, replay->n_inputs * sizeof *inputs);
    }
    tape->entries = replay->entries;
    cad_sweep_value(tape, 0, replay->n_entries);
    tape->entries = entries;
    for (size_t i = 0; i < replay->n_outcomes; i++) {
        const uint64_t outcome = replay->outcomes[i];
        if ((tape->values[outcome >> 1] != 0.0) != (outcome & 1)) {
            return 0;
        }
    }
    return 1;
}
