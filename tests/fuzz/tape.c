/* Bytes as what happens to a tape: numbers of all operations, leaves, marks, rewinding,
 * reclaiming, want of memory, sweeps.
 *
 * Of each number that is held its value is known, and its derivative along a direction, from the
 * operations alone. Whatever became of the tape meanwhile, both stand there, forward and reverse.
 */
#include "fuzz.h"

#include "check.h"
#include "on_tape.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_HELD = 48, MOST_LEAVES = 24, LONGEST = 7, MOST_MARKS = 5, MOST_STEPS = 600 };

static const double ROUNDING = 1e-12;
static const double FAR = 1e100;
static const double STEEPEST = 200.0;

/* `reach` is what the derivative would be if all its terms had one sign: by it rounding is judged.
 * `steep` is the most digits by which a product of partials may grow or shrink, in any order: from
 * some on they overflow. */
typedef struct Held {
    CadSlot slot;
    double value, tangent, reach, steep;
} Held;

typedef struct Leaf {
    CadSlot slot;
    size_t count;
    double tangents[LONGEST];
} Leaf;

typedef struct Life {
    CadTape *tape;
    Random random;
    Held held[MOST_HELD];
    Leaf leaves[MOST_LEAVES];
    size_t n_held, n_leaves;
    size_t held_at[MOST_MARKS], leaves_at[MOST_MARKS]; /* when marks were set */
} Life;

/* The one that is under way: make_room is told the tape alone. */
static Life *living;

static void make_room(CadTape *tape) {
    CadReclaim reclaim;
    Life *const life = living;
    if (cad_reclaim_begin(tape, &reclaim) != CAD_OK) {
        return;
    }
    for (size_t i = 0; i < life->n_held; i++) {
        cad_reclaim_hold_range(&reclaim, life->held[i].slot, (size_t)life->held[i].slot + 1);
    }
    for (size_t i = 0; i < life->n_leaves; i++) {
        const size_t begin = life->leaves[i].slot;
        cad_reclaim_hold_range(&reclaim, begin, begin + 1);
    }
    const size_t stay = cad_reclaim_trace(tape, &reclaim);
    for (size_t i = 0; i < life->n_held; i++) {
        life->held[i].slot = cad_reclaim_target(&reclaim, life->held[i].slot);
    }
    for (size_t i = 0; i < life->n_leaves; i++) {
        life->leaves[i].slot = cad_reclaim_target(&reclaim, life->leaves[i].slot);
    }
    cad_sweep_undo_dead(tape, &reclaim);
    cad_reclaim_compact(tape, &reclaim);
    CHECK_COUNT(tape->n_slots, stay);
}

static size_t below(Life *life, size_t bound) {
    return random_below(&life->random, bound);
}

/* Everyday numbers, and those at which formulas have to think. */
static double any_value(Life *life) {
    static const double some[] = {0.0,      -0.0, 1.0, -1.0, 0.5,   2.0,  1e-8,      1e300, 5e-324,
                                  INFINITY, -2.5, NAN, 3.0,  -1e-3, 1e17, -INFINITY, 1e-160};
    const size_t choice = below(life, 64);
    return choice < sizeof some / sizeof *some ? some[choice]
                                               : random_between(&life->random, -3.0, 3.0);
}

/* --- what comes about --- */

/* A number that the marks are behind stays held for good. */
static size_t first_droppable(const Life *life) {
    const size_t n_marks = life->tape->n_marks;
    return n_marks > 0 ? life->held_at[n_marks - 1] : 0;
}

static void hold(Life *life, Held held) {
    size_t k = life->n_held;
    if (k == MOST_HELD) {
        const size_t first = first_droppable(life);
        if (first == MOST_HELD) {
            return;
        }
        k = first + below(life, MOST_HELD - first);
    } else {
        life->n_held++;
    }
    life->held[k] = held;
}

static void drop(Life *life) {
    const size_t first = first_droppable(life);
    if (life->n_held > first) {
        const size_t k = first + below(life, life->n_held - first);
        life->held[k] = life->held[--life->n_held];
    }
}

static void add_leaf(Life *life) {
    double values[LONGEST];
    Leaf leaf = {.count = below(life, LONGEST + 1)};
    if (life->n_leaves == MOST_LEAVES) {
        return;
    }
    for (size_t i = 0; i < leaf.count; i++) {
        values[i] = any_value(life);
        leaf.tangents[i] = random_between(&life->random, -1.0, 1.0);
    }
    if (cad_tape_leaf(life->tape, values, leaf.count, (int)below(life, 2), &leaf.slot) == CAD_OK) {
        life->leaves[life->n_leaves++] = leaf;
        for (size_t i = 0; i < leaf.count; i++) {
            hold(life, (Held){(CadSlot)(leaf.slot + i), values[i], leaf.tangents[i],
                              fabs(leaf.tangents[i]), 0.0});
        }
    }
}

static void add_number(Life *life) {
    CadTape *const tape = life->tape;
    const CadOp op = (CadOp)(CAD_OP_THIRD + 1 + below(life, CAD_OP_COUNT - CAD_OP_THIRD - 1));
    const int arity = cad_op_info[op].arity;
    size_t at[3];
    double x[3] = {0.0, 0.0, 0.0}, partials[3] = {0.0, 0.0, 0.0};
    CadSlot slots[3];
    int passive = 0;
    if (life->n_held == 0) {
        return;
    }
    for (int k = 0; k < arity; k++) {
        at[k] = below(life, life->n_held + life->n_held / 4 + 1);
        passive |= (at[k] >= life->n_held) << k;
        x[k] = passive >> k & 1 ? any_value(life) : life->held[at[k]].value;
    }
    if (passive == (1 << arity) - 1 || cad_tape_ensure(tape) != CAD_OK) {
        return;
    }
    for (int k = 0; k < arity; k++) { /* where they are now */
        slots[k] = passive >> k & 1 ? cad_tape_constant(tape, x[k]) : life->held[at[k]].slot;
    }
    Held made = {.value = cad_op_value(op, x[0], x[1], x[2])};
    made.slot =
        arity == 3
            ? cad_tape_push3(tape, CAD_CODE(op, 0), slots[0], slots[1], slots[2], made.value)
            : cad_tape_push(tape, CAD_CODE(op, passive), slots[0], slots[arity - 1], made.value);
    if (!cad_op_is_flat(op)) {
        cad_op_partials(op, ~passive & 7, x[0], x[1], x[2], made.value, partials);
        for (int k = 0; k < arity; k++) {
            const Held *const of = &life->held[passive >> k & 1 ? 0 : at[k]];
            if (!(passive >> k & 1) && partials[k] != 0.0 &&
                (of->reach != 0.0 || of->steep >= STEEPEST)) {
                made.tangent += partials[k] * of->tangent;
                made.reach += fabs(partials[k]) * of->reach;
                made.steep = fmax(made.steep, of->steep + fabs(log10(fabs(partials[k]))));
            }
        }
    }
    hold(life, made);
}

static void mark(Life *life) {
    const size_t n = life->tape->n_marks;
    if (n < MOST_MARKS && cad_tape_mark(life->tape) == CAD_OK) {
        life->held_at[n] = life->n_held;
        life->leaves_at[n] = life->n_leaves;
    }
}

static void end_mark(Life *life, int rewinds) {
    const size_t n = life->tape->n_marks;
    if (n > 0 && rewinds) {
        life->n_held = life->held_at[n - 1];
        life->n_leaves = life->leaves_at[n - 1];
        cad_tape_rewind(life->tape);
    } else if (n > 0) {
        cad_tape_keep(life->tape);
    }
}

/* The tape asks for room again as soon as it has grown a little. */
static void lower_limits(Life *life) {
    CadTape *const tape = life->tape;
    tape->reclaim_entries = tape->n_entries + below(life, 32);
    tape->reclaim_slots = tape->n_slots + below(life, 64);
    cad_tape_pin(tape);
    cad_tape_unpin(tape);
}

/* --- what has to hold --- */

static void check_values(const Life *life) {
    const CadTape *const tape = life->tape;
    for (size_t i = 0; i < life->n_held; i++) {
        CHECK(life->held[i].slot < tape->n_slots);
        CHECK_SAME(tape->values[life->held[i].slot], life->held[i].value);
    }
    for (size_t i = 1; i < tape->n_entries; i++) {
        CHECK(tape->entries[i].out >= tape->entries[i - 1].out);
    }
}

static void check_tangent(const Held *held, double found) {
    if (held->reach < FAR && held->steep < STEEPEST) { /* nan is not */
        CHECK_NEAR(found, held->tangent, ROUNDING * held->reach + 1e-290);
    }
}

static void check_forward(Life *life) {
    CadTape *const tape = life->tape;
    double *const tangents = test_memory(tape->n_slots, sizeof *tangents);
    for (size_t i = 0; i < life->n_leaves; i++) {
        const Leaf *const leaf = &life->leaves[i];
        memcpy(tangents + leaf->slot, leaf->tangents, leaf->count * sizeof *tangents);
    }
    const size_t end = tape->n_entries;
    if (cad_sweep_tangent(tape, 0, end, end, 0, 1, tangents) == CAD_OK) {
        for (size_t i = 0; i < life->n_held; i++) {
            check_tangent(&life->held[i], tangents[life->held[i].slot]);
        }
    }
    free(tangents);
}

static void check_reverse(Life *life, int accumulate) {
    CadTape *const tape = life->tape;
    if (life->n_held == 0) {
        return;
    }
    const Held *const held = &life->held[below(life, life->n_held)];
    if (cad_tape_clear_adjoints(tape, accumulate ? held->slot : 0, tape->n_slots) != CAD_OK) {
        return;
    }
    cad_tape_prepare_adjoints(tape, held->slot, held->slot);
    tape->adjoints[held->slot] += 1.0;
    cad_sweep_reverse(tape, 0, tape->n_entries, SIZE_MAX, accumulate);
    double sum = 0.0;
    for (size_t i = 0; i < life->n_leaves && !accumulate; i++) {
        for (size_t k = 0; k < life->leaves[i].count; k++) {
            const double adjoint = cad_tape_adjoint(tape, life->leaves[i].slot + (CadSlot)k);
            const double tangent = life->leaves[i].tangents[k];
            sum += adjoint != 0.0 && tangent != 0.0 ? adjoint * tangent : 0.0;
        }
    }
    if (!accumulate) {
        check_tangent(held, sum);
    }
}

static void step(Life *life) {
    switch (below(life, 24)) {
    case 0:
        add_leaf(life);
        break;
    case 1:
        mark(life);
        break;
    case 2:
    case 3:
        end_mark(life, (int)below(life, 2));
        break;
    case 4:
    case 5:
        drop(life);
        break;
    case 6:
        make_room(life->tape);
        break;
    case 7:
        lower_limits(life);
        break;
    case 8:
        check_reverse(life, (int)below(life, 2));
        break;
    case 9:
        check_forward(life);
        break;
    case 10: /* of the next step */
        cad_memory_fail_after((long)below(life, 4));
        return;
    default:
        add_number(life);
    }
    cad_memory_fail_after(-1);
}

int fuzz_tape(const uint8_t *bytes, size_t size) {
    Life life = {.tape = cad_tape_new()};
    living = &life;
    life.tape->make_room = make_room;
    random_lead(bytes, size);
    add_leaf(&life);
    for (int i = 0; i < MOST_STEPS && random_led() > 0; i++) {
        step(&life);
    }
    random_lead(NULL, 0);
    cad_memory_fail_after(-1);
    check_values(&life);
    check_forward(&life);
    check_reverse(&life, 0);
    cad_tape_free(life.tape);
    return 0;
}
