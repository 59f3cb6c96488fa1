/* Reclaiming: what is held keeps its numbers and its derivatives, what nobody reaches goes. */
#include "check.h"
#include "roots.h"

#include <math.h>
#include <stdlib.h>

/* --- what must stay, found in another way --- */

static void keep_range(unsigned char *live, size_t begin, size_t end) {
    int any = 0;
    for (size_t slot = begin; slot < end; slot++) {
        any |= live[slot];
    }
    if (any) {
        memset(live + begin, 1, end - begin);
    }
}

/* A byte for each slot: whether it is needed by the roots. Entries are looked at again and again,
 * until nothing changes. */
static unsigned char *needed(const CadTape *tape) {
    unsigned char *live = test_memory(tape->n_slots + 1, 1);
    size_t count = 0, before = SIZE_MAX;
    for (size_t i = 0; i < roots.count; i++) {
        live[roots.slots[i]] = 1;
    }
    while (count != before) {
        before = count;
        for (size_t i = 0; i < tape->n_entries; i++) {
            const CadEntry e = tape->entries[i];
            if (CAD_CODE_OP(e.code) == CAD_OP_LEAF) {
                keep_range(live, e.out, (size_t)e.out + 2 * (size_t)e.a);
            } else if (live[e.out]) {
                live[e.a] = live[e.b] = 1;
            }
        }
        count = 0;
        for (size_t slot = 0; slot < tape->n_slots; slot++) {
            count += live[slot];
        }
    }
    return live;
}

static size_t needed_slots(const unsigned char *live, size_t end) {
    size_t count = 0;
    for (size_t slot = 0; slot < end; slot++) {
        count += live[slot];
    }
    return count;
}

/* An empty leaf stays with the slot that follows it. */
static size_t needed_entries(const CadTape *tape, const unsigned char *live, size_t end) {
    size_t count = 0;
    for (size_t i = 0; i < end; i++) {
        count += live[tape->entries[i].out];
    }
    return count;
}

/* --- random tapes --- */

static void append_anything(CadTape *tape, Random *random, Pool *pool, Variant *variant) {
    const size_t choice = random_below(random, 40);
    double values[9];
    for (int i = 0; i < 9; i++) {
        values[i] = random_between(random, -3.0, 3.0);
    }
    if (choice < 3) {
        const size_t count = random_below(random, 9);
        const CadSlot leaf = append_leaf(tape, count, values);
        for (CadSlot i = 0; i < count; i++) {
            pool_add(pool, leaf + i);
        }
    } else if (choice == 3 && tape->n_marks < 4) {
        CHECK(cad_tape_mark(tape) == CAD_OK);
    } else {
        append_random(tape, random, pool, *variant);
        *variant = next_variant(*variant);
        if (variant->op == CAD_OP_COUNT) {
            *variant = first_variant();
        }
    }
}

/* With leaves of all sizes, marks, constants and all operations, and some roots. */
static CadTape *random_tape(Random *random) {
    CadTape *tape = tape_with_roots();
    Pool pool = {0};
    Variant variant = first_variant();
    for (int i = 0; i < INPUTS / 8; i++) {
        double values[8];
        for (int k = 0; k < 8; k++) {
            values[k] = random_between(random, -3.0, 3.0);
        }
        const CadSlot leaf = append_leaf(tape, 8, values);
        for (CadSlot k = 0; k < 8; k++) {
            pool_add(&pool, leaf + k);
        }
    }
    for (size_t i = 0, length = 20 + random_below(random, 700); i < length; i++) {
        append_anything(tape, random, &pool, &variant);
    }
    for (size_t i = 0, count = random_below(random, 12); i < count; i++) {
        hold(pool.slots[random_below(random, pool.count)]);
    }
    if (random_below(random, 2) == 0) { /* perhaps a constant */
        hold((CadSlot)random_below(random, tape->n_slots));
    }
    pool_free(&pool);
    return tape;
}

/* The adjoints of all slots by a reverse sweep from a root. */
static double *gradient_of(CadTape *tape, CadSlot root) {
    double *result = test_memory(tape->n_slots, sizeof *result);
    if (cad_tape_find(tape, root) < tape->n_entries) {
        reverse_from(tape, 0, root);
        memcpy(result, tape->adjoints, tape->n_slots * sizeof *result);
    }
    return result;
}

/* --- the tests --- */

/* How many slots tracing says will stay; changes nothing. */
static size_t count_by_tracing(const CadTape *tape) {
    CadReclaim reclaim;
    CHECK(cad_reclaim_begin(tape, &reclaim) == CAD_OK);
    for (size_t i = 0; i < roots.count; i++) {
        cad_reclaim_hold_range(&reclaim, roots.slots[i], roots.slots[i] + 1);
    }
    const size_t count = cad_reclaim_trace(tape, &reclaim);
    cad_reclaim_end(&reclaim);
    return count;
}

static void check_counts(CadTape *tape, Random *random) {
    unsigned char *live = needed(tape);
    const size_t slots = needed_slots(live, tape->n_slots);
    const size_t entries = needed_entries(tape, live, tape->n_entries);
    size_t mark_slots[4], mark_entries[4];
    for (size_t i = 0; i < tape->n_marks; i++) {
        mark_slots[i] = needed_slots(live, tape->marks[i].slots);
        mark_entries[i] = needed_entries(tape, live, tape->marks[i].entries);
        tape->marks[i].handles = random_below(random, 9) + i;
    }
    const size_t handles = tape->n_marks > 0 ? tape->marks[0].handles : 0;
    CHECK_COUNT(count_by_tracing(tape), slots);
    reclaim_roots(tape);
    CHECK_COUNT(tape->n_slots, slots);
    CHECK_COUNT(tape->n_entries, entries);
    while (tape->n_marks > 0) {
        const size_t i = tape->n_marks - 1;
        CHECK_COUNT(tape->mark_slots, mark_slots[i]);
        cad_tape_rewind(tape);
        CHECK_COUNT(tape->n_slots, mark_slots[i]);
        CHECK_COUNT(tape->n_entries, mark_entries[i]);
    }
    CHECK_COUNT(tape->handles, handles);
    free(live);
}

static void exactly_what_is_needed_stays(void) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        Random random = {seed};
        CadTape *tape = random_tape(&random);
        check_counts(tape, &random);
        cad_tape_free(tape);
    }
}

/* Numbers, gradients of leaves and adjoints of what stays, in the same order. */
static void check_numbers_stay(CadTape *tape) {
    if (roots.count > 0 && cad_tape_find(tape, roots.slots[0]) < tape->n_entries) {
        backward_from(tape, roots.slots[0]);
    }
    const size_t before = tape->n_slots;
    unsigned char *live = needed(tape);
    double *values = test_memory(before, sizeof *values);
    double *adjoints = test_memory(before, sizeof *adjoints);
    memcpy(values, tape->values, before * sizeof *values);
    for (size_t slot = 0; slot < before; slot++) {
        adjoints[slot] = cad_tape_adjoint(tape, (CadSlot)slot);
    }
    reclaim_roots(tape);
    CadSlot target = 0;
    for (size_t slot = 0; slot < before; slot++) {
        if (live[slot]) {
            CHECK_BITS(tape->values[target], values[slot]);
            CHECK_SAME(cad_tape_adjoint(tape, target), adjoints[slot]);
            target++;
        }
    }
    CHECK(tape->dirty_end <= tape->n_slots);
    CHECK_SAME(cad_tape_adjoint(tape, append_leaf(tape, 1, NULL)), 0.0);
    for (size_t slot = 0; slot < tape->adjoint_capacity; slot++) {
        CHECK((slot >= tape->dirty_begin && slot < tape->dirty_end) ||
              tape->adjoints[slot] == 0.0);
    }
    free(live);
    free(values);
    free(adjoints);
}

static void numbers_and_adjoints_stay(void) {
    for (uint64_t seed = 100; seed < 160; seed++) {
        Random random = {seed};
        CadTape *tape = random_tape(&random);
        check_numbers_stay(tape);
        cad_tape_free(tape);
    }
}

static void check_gradient_stays(CadTape *tape, size_t root) {
    const size_t before = tape->n_slots;
    const CadSlot old = roots.slots[root];
    double *gradient = gradient_of(tape, old);
    unsigned char *live = needed(tape);
    reclaim_roots(tape);
    CHECK_COUNT(roots.slots[root], needed_slots(live, old));
    double *again = gradient_of(tape, roots.slots[root]);
    size_t target = 0;
    for (size_t slot = 0; slot < before; slot++) {
        if (live[slot]) {
            CHECK_SAME(again[target], gradient[slot]);
            target++;
        } else {
            CHECK_SAME(gradient[slot], 0.0);
        }
    }
    free(gradient);
    free(again);
    free(live);
}

/* Also after a second reclaiming with one root less, and what is appended then is right, too. */
static void gradients_stay(void) {
    for (uint64_t seed = 200; seed < 260; seed++) {
        Random random = {seed};
        CadTape *tape = random_tape(&random);
        for (; roots.count > 0; roots.count--) {
            check_gradient_stays(tape, roots.count - 1);
        }
        const double two = 2.0;
        const CadSlot x = append_leaf(tape, 1, &two);
        const CadSlot s = append2(tape, CAD_OP_multiply, variable(tape, x), constant(3.0));
        backward_from(tape, append1(tape, CAD_OP_square, s));
        CHECK_SAME(tape->values[x + 1], 36.0);
        cad_tape_free(tape);
    }
}

/* A leaf stays as a whole, also for a gradient that was accumulated into it. */
static void leaf_stays_as_a_whole(void) {
    CadTape *tape = tape_with_roots();
    const double values[3] = {2.0, 3.0, 5.0};
    append_leaf(tape, 200, NULL);
    const CadSlot x = append_leaf(tape, 3, values);
    append_leaf(tape, 0, NULL);
    backward_from(tape, append1(tape, CAD_OP_square, x + 2));
    hold(x + 1);
    reclaim_roots(tape);
    CHECK_COUNT(roots.slots[0], 1);
    CHECK_COUNT(tape->n_entries, 1);
    CHECK_COUNT(tape->n_slots, 6);
    CHECK_SAME(tape->values[0], 2.0);
    CHECK_SAME(tape->values[5], 10.0);
    cad_tape_free(tape);
}

static void nothing_held_leaves_nothing(void) {
    CadTape *tape = tape_with_roots();
    reclaim_roots(tape); /* of an empty tape */
    const CadSlot x = append_leaf(tape, 3, NULL);
    backward_from(tape, append1(tape, CAD_OP_exp, x));
    reclaim_roots(tape);
    CHECK_COUNT(tape->n_slots, 0);
    CHECK_COUNT(tape->n_entries, 0);
    cad_tape_free(tape);
}

/* The slot of an array without elements stays if it is held; no number is no slot. */
static void slots_without_a_number_can_be_held(void) {
    CadTape *tape = tape_with_roots();
    append_leaf(tape, 32, NULL); /* 64 slots: a word of bits is full */
    hold(append_leaf(tape, 0, NULL));
    CadReclaim reclaim;
    CHECK(cad_reclaim_begin(tape, &reclaim) == CAD_OK);
    cad_reclaim_hold_range(&reclaim, CAD_NONE, (size_t)CAD_NONE + 1);
    cad_reclaim_hold_range(&reclaim, tape->n_slots, tape->n_slots + 1);
    CHECK_COUNT(cad_reclaim_target(&reclaim, (CadSlot)tape->n_slots), 0);
    cad_reclaim_end(&reclaim);
    reclaim_roots(tape);
    CHECK_COUNT(roots.slots[0], 0);
    CHECK_COUNT(tape->n_slots, 1);
    const CadSlot x = append_leaf(tape, 1, NULL);
    CHECK_COUNT(cad_tape_find(tape, 0), tape->n_entries);
    backward_from(tape, append1(tape, CAD_OP_exp, x));
    CHECK_SAME(tape->values[x + 1], 1.0);
    cad_tape_free(tape);
}

/* Constants are cached by slot: after slots have moved, the cache must not answer old ones. */
static void constants_are_right_after_reclaiming(void) {
    CadTape *tape = tape_with_roots();
    const CadSlot x = append_leaf(tape, 1, NULL);
    append2(tape, CAD_OP_add, variable(tape, x), constant(1.5));
    hold(append2(tape, CAD_OP_add, variable(tape, x), constant(2.5)));
    reclaim_roots(tape);
    CHECK_COUNT(tape->n_slots, 4);
    CHECK_COUNT(cad_tape_find(tape, roots.slots[0]), 1);
    CHECK_SAME(tape->values[tape->entries[1].b], 2.5);
    CHECK(cad_tape_ensure(tape) == CAD_OK);
    for (int i = 2; i > 0; i--) {
        const CadSlot slot = cad_tape_constant(tape, i + 0.5);
        CHECK(slot < tape->n_slots);
        CHECK_SAME(tape->values[slot], i + 0.5);
    }
    cad_tape_free(tape);
}

/* Adjoints of a sweep in a recording that was then rewound lie past the end of the tape. */
static void adjoints_past_the_end_do_no_harm(void) {
    CadTape *tape = tape_with_roots();
    const CadSlot x = hold(append_leaf(tape, 1, NULL));
    CHECK(cad_tape_mark(tape) == CAD_OK);
    CadSlot y = x;
    for (int i = 0; i < 50000; i++) {
        y = append2(tape, CAD_OP_add, variable(tape, y), constant(1.0));
    }
    const CadSlot z = append_leaf(tape, 1, NULL);
    backward_from(tape, append1(tape, CAD_OP_exp, z));
    cad_tape_rewind(tape);
    reclaim_roots(tape);
    CHECK_SAME(cad_tape_adjoint(tape, roots.slots[0]), 0.0);
    for (size_t slot = 0; slot < tape->adjoint_capacity; slot++) {
        CHECK(tape->adjoints[slot] == 0.0);
    }
    backward_from(tape, append1(tape, CAD_OP_exp, roots.slots[0]));
    CHECK_SAME(tape->values[roots.slots[0] + 1], 1.0);
    cad_tape_free(tape);
}

/* Slots that were used again after a rewind have no adjoint, also after they have moved. */
static void forgotten_adjoints_stay_forgotten(void) {
    CadTape *tape = tape_with_roots();
    append_leaf(tape, 100, NULL);
    const CadSlot x = hold(append_leaf(tape, 1, NULL));
    CHECK(cad_tape_mark(tape) == CAD_OK);
    backward_from(tape, append1(tape, CAD_OP_exp, append1(tape, CAD_OP_exp, x)));
    cad_tape_rewind(tape);
    hold(append1(tape, CAD_OP_sin, x));
    hold(append1(tape, CAD_OP_cos, x));
    reclaim_roots(tape);
    CHECK_NEAR(cad_tape_adjoint(tape, roots.slots[0]), exp(1.0), 1e-15);
    CHECK_SAME(cad_tape_adjoint(tape, roots.slots[1]), 0.0);
    CHECK_SAME(cad_tape_adjoint(tape, roots.slots[2]), 0.0);
    cad_tape_free(tape);
}

const Test reclaim_tests[] = {
    TEST(exactly_what_is_needed_stays),
    TEST(numbers_and_adjoints_stay),
    TEST(gradients_stay),
    TEST(leaf_stays_as_a_whole),
    TEST(nothing_held_leaves_nothing),
    TEST(slots_without_a_number_can_be_held),
    TEST(constants_are_right_after_reclaiming),
    TEST(forgotten_adjoints_stay_forgotten),
    TEST(adjoints_past_the_end_do_no_harm),
    END_OF_TESTS,
};
