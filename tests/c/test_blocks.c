/* The tape under entries over arrays: blocks and their adjoints, marks, reclaiming, lack of
 * memory. */
#include "check.h"
#include "twin.h"

#include "arrays/arrays.h"

#include <math.h>
#include <stdlib.h>

enum { LARGE = CAD_LARGE_BLOCK + 88, TWINS = 40, STEPS = 25 };

static CadSlot block_of(CadTape *tape, size_t count, int may_change) {
    CadSlot slot = CAD_NONE;
    CHECK(cad_tape_block(tape, count, may_change, &slot) == CAD_OK);
    memset(tape->values + slot, 0, count * sizeof *tape->values);
    return slot;
}

/* --- blocks --- */

static void large_arrays_are_blocks(void) {
    CadTape *tape = cad_tape_new();
    const CadSlot small = block_of(tape, CAD_LARGE_BLOCK - 1, 0);
    const CadSlot large = block_of(tape, CAD_LARGE_BLOCK, 0);
    const CadSlot empty = block_of(tape, 0, 0);
    CHECK(cad_tape_find_block(tape, small) == NULL);
    CHECK(cad_tape_find_block(tape, large - 1) == NULL);
    CHECK(cad_tape_find_block(tape, empty) == NULL);
    const CadBlock *block = cad_tape_find_block(tape, large);
    CHECK(block != NULL && block->begin == large && block->end == empty);
    CHECK(cad_tape_find_block(tape, empty - 1) == block);
    CHECK_COUNT(tape->n_slots, (size_t)empty + 1);
    CHECK(!cad_tape_is_constant(tape, small) && cad_tape_is_constant(tape, large));
    cad_tape_free(tape);
}

static void constants_become_active_as_a_whole(void) {
    CadTape *tape = cad_tape_new();
    const CadSlot x = block_of(tape, 4, 1), y = block_of(tape, LARGE, 1);
    CHECK(cad_tape_is_constant(tape, x + 3) && cad_tape_is_constant(tape, y));
    cad_tape_activate(tape, y + 5);
    CHECK(cad_tape_is_constant(tape, x) && !cad_tape_is_constant(tape, y + LARGE - 1));
    cad_tape_activate(tape, x);
    CHECK(!cad_tape_is_constant(tape, x + 3));
    cad_tape_free(tape);
}

static void adjoints_of_untouched_blocks_are_zero(void) {
    CadTape *tape = cad_tape_new();
    append_leaf(tape, 3, NULL);
    const CadSlot x = block_of(tape, LARGE, 0), y = block_of(tape, LARGE, 0);
    for (int pass = 0; pass < 3; pass++) {
        clear_adjoints(tape, 0, tape->n_slots);
        CHECK(cad_tape_is_untouched(tape, x) && cad_tape_is_untouched(tape, y + 7));
        CHECK_SAME(cad_tape_adjoint(tape, x + 7), 0.0);
        if (pass == 1) {
            continue; /* nothing is touched in between */
        }
        CHECK(cad_tape_touch(tape, x, x + LARGE - 1)); /* to be overwritten */
        for (CadSlot i = 0; i < LARGE; i++) {
            tape->adjoints[x + i] = 1.0 + i;
        }
        CHECK(!cad_tape_touch(tape, x, x + LARGE - 1)); /* to be added to */
        CHECK(!cad_tape_touch(tape, y + 2, y + 3));     /* a part: cleared as a whole */
        tape->adjoints[y + 2] += 5.0;
        double adjoints[LARGE + 4];
        cad_tape_read_adjoints(tape, (size_t)x - 2, (size_t)x + LARGE + 2, adjoints);
        CHECK_SAME(adjoints[1], 0.0);
        CHECK_SAME(adjoints[2], 1.0);
        CHECK_SAME(adjoints[LARGE + 1], LARGE);
        CHECK_SAME(adjoints[LARGE + 2], 0.0);
        cad_tape_read_adjoints(tape, y, (size_t)y + 4, adjoints);
        CHECK_SAME(adjoints[1], 0.0);
        CHECK_SAME(adjoints[2], 5.0);
        CHECK_SAME(adjoints[3], 0.0);
        CHECK(!cad_tape_is_untouched(tape, x) && !cad_tape_is_untouched(tape, y));
    }
    cad_tape_free(tape);
}

static void blocks_in_use_by_number_are_cleared_as_all_others(void) {
    CadTape *tape = cad_tape_new();
    const CadSlot x = block_of(tape, LARGE, 0);
    for (int pass = 0; pass < 3; pass++) {
        clear_adjoints(tape, 0, tape->n_slots);
        if (pass > 0) {
            cad_tape_use_singly(tape, x + 3); /* after a pass that left adjoints there */
            clear_adjoints(tape, 0, tape->n_slots);
            CHECK_SAME(tape->adjoints[x + 3], 0.0);
            CHECK(!cad_tape_is_untouched(tape, x));
            CHECK(!cad_tape_touch(tape, x, x + LARGE - 1));
        }
        cad_tape_prepare_adjoints(tape, x, (size_t)x + LARGE - 1);
        CHECK_SAME(tape->adjoints[x + 3], 0.0);
        tape->adjoints[x + 3] += 2.0;
        CHECK_SAME(cad_tape_adjoint(tape, x + 3), 2.0);
    }
    cad_tape_free(tape);
}

/* A rule may run a pass of its own inside of another. */
static void passes_are_put_aside(void) {
    CadTape *tape = cad_tape_new();
    const CadSlot x = append_leaf(tape, 1, NULL), y = block_of(tape, LARGE, 0);
    clear_adjoints(tape, 0, tape->n_slots);
    tape->adjoints[x] = 3.0;
    cad_tape_prepare_adjoints(tape, y, y);
    tape->adjoints[y] = 4.0;
    CadPass pass;
    CHECK(cad_tape_leave_pass(tape, &pass) == CAD_OK);
    CHECK_SAME(cad_tape_adjoint(tape, x), 0.0);
    clear_adjoints(tape, 0, tape->n_slots);
    CHECK(cad_tape_is_untouched(tape, y));
    tape->adjoints[x] = 7.0;
    cad_tape_prepare_adjoints(tape, y, (size_t)y + 1);
    tape->adjoints[y + 1] = 8.0;
    cad_tape_resume_pass(tape, pass);
    CHECK_SAME(cad_tape_adjoint(tape, x), 3.0);
    CHECK(!cad_tape_is_untouched(tape, y));
    CHECK_SAME(cad_tape_adjoint(tape, y), 4.0);
    CHECK_SAME(tape->adjoints[y + 1], 0.0);
    clear_adjoints(tape, 0, tape->n_slots);
    CHECK_SAME(cad_tape_adjoint(tape, x), 0.0);
    CHECK_SAME(cad_tape_adjoint(tape, y), 0.0);
    cad_tape_free(tape);
}

/* --- what entries tell of themselves --- */

static void allocations_are_found(void) {
    CadTape *tape = cad_tape_new();
    size_t begin, end;
    const CadSlot leaf = append_leaf(tape, 3, NULL), single = append1(tape, CAD_OP_sin, leaf);
    const CadSlot large = block_of(tape, LARGE, 0);
    cad_tape_allocation(tape, leaf + 1, &begin, &end);
    CHECK(begin == leaf && end == (size_t)leaf + 6);
    cad_tape_allocation(tape, single, &begin, &end);
    CHECK(begin == single && end == (size_t)single + 1);
    cad_tape_allocation(tape, large + 9, &begin, &end);
    CHECK(begin == large && end == (size_t)large + LARGE);
    cad_tape_free(tape);
}

static void entries_name_their_targets(void) {
    const int64_t n = 5, offsets[2] = {3, 1};
    Random random = {1};
    Twin *twin = twin_new();
    CadTape *const tape = twin->arrays;
    const View x = twin_leaf(twin, 1, &n, &random);
    const View y = twin_row(twin, CAD_OP_sin, &x);
    size_t slot = 0;
    CHECK(!cad_entry_target(tape, tape->entries[0], &slot));
    CHECK(!cad_entry_target(tape, tape->entries[1], &slot));
    twin_assign(twin, view_reversed(y, 0), x);
    CHECK(cad_entry_target(tape, tape->entries[tape->n_entries - 1], &slot) && slot == y.slot);
    twin_scatter(twin, y, 2, offsets, view_sliced(x, 0, 0, 1, 2));
    CHECK(cad_entry_target(tape, tape->entries[tape->n_entries - 1], &slot) && slot == y.slot);
    twin_assign_number(twin, y.slot + 2, x.slot);
    CHECK(cad_entry_target(tape, tape->entries[tape->n_entries - 1], &slot));
    CHECK_COUNT(slot, (size_t)y.slot + 2);
    twin_sum(twin, x, 1);
    CHECK(!cad_entry_target(tape, tape->entries[tape->n_entries - 1], &slot));
    CHECK_COUNT(tape->n_assigned, 3);
    CHECK(!cad_tape_has_rules(tape, 0, tape->n_entries));
    twin_free(twin);
}

/* Each kind of entry, reading one array that is a variable below the mark, or not. */
static void entries_over_arrays_that_read_below_are_noticed(void) {
    const int64_t n = 4, square[2] = {2, 2}, offsets[2] = {3, 1};
    for (int kind = 0; kind < 14; kind++) {
        Random random = {1};
        Twin *twin = twin_new();
        const View below = twin_leaf(twin, 1, &n, &random);
        const View passive = twin_constant(twin, 1, &n, &random);
        const CadSlot base = (CadSlot)twin->arrays->n_slots;
        const size_t begin = twin->arrays->n_entries;
        View y = twin_row(twin, CAD_OP_sin, (View[1]){twin_leaf(twin, 1, &n, &random)});
        const View x = kind % 2 ? below : passive;
        View pair[2] = {y, x};
        View matrix = {x.slot, 2, {square[0], square[1]}, {2, 1}};
        View other = {y.slot, 2, {square[0], square[1]}, {2, 1}};
        switch (kind / 2) {
        case 0:
            twin_row(twin, CAD_OP_multiply, pair);
            break;
        case 1:
            twin_sum(twin, x, 1);
            break;
        case 2:
            twin_multiply(twin, other, matrix);
            break;
        case 3:
            twin_gather(twin, x, 2, offsets);
            break;
        case 4:
            twin_assign(twin, y, x);
            break;
        case 5:
            twin_scatter(twin, y, 2, offsets, view_sliced(x, 0, 0, 1, 2));
            break;
        case 6:
            twin_accumulate(twin, y, x);
            break;
        }
        CHECK(cad_reads_below(twin->arrays, begin, twin->arrays->n_entries, base) == kind % 2);
        CHECK(!cad_reads_below(twin->arrays, begin, twin->arrays->n_entries, 0));
        twin_free(twin);
    }
}

static void busy_tape_takes_nothing(void) {
    CadTape *tape = cad_tape_new();
    CadSlot slot = 42;
    CadPlan *plan = NULL;
    append_leaf(tape, 1, NULL);
    cad_tape_set_busy(tape, 1);
    CHECK(cad_tape_ensure(tape) == CAD_BUSY);
    CHECK(cad_tape_leaf(tape, NULL, 1, 1, &slot) == CAD_BUSY);
    CHECK(cad_tape_block(tape, 1, 1, &slot) == CAD_BUSY);
    CHECK(cad_tape_push_plan(tape, 0, 1, 10, &plan) == CAD_BUSY);
    CHECK(slot == 42 && plan == NULL);
    cad_tape_set_busy(tape, 0);
    CHECK(cad_tape_ensure(tape) == CAD_OK);
    cad_tape_free(tape);
}

/* A leaf whose gradients nobody wants has no place for them. */
static void leaves_need_no_gradients(void) {
    CadTape *tape = cad_tape_new();
    const double values[2] = {2.0, 3.0};
    CadSlot x = CAD_NONE;
    CHECK(cad_tape_leaf(tape, values, 2, 0, &x) == CAD_OK);
    CHECK_COUNT(tape->n_slots, (size_t)x + 2);
    const CadSlot y = append1(tape, CAD_OP_square, x + 1);
    backward_from(tape, y);
    CHECK_SAME(cad_tape_adjoint(tape, x + 1), 6.0);
    CHECK_SAME(tape->values[y], 9.0); /* and nothing was added behind it */
    cad_tape_free(tape);
}

/* --- marks --- */

static void rewinding_forgets_arrays(void) {
    const int64_t n = LARGE;
    Random random = {3};
    Twin *twin = twin_new();
    CadTape *const tape = twin->arrays;
    twin_row(twin, CAD_OP_sin, (View[1]){twin_leaf(twin, 1, &n, &random)});
    const size_t blocks = tape->n_blocks, words = tape->n_plan_words, slots = tape->n_slots;
    const size_t bytes = cad_tape_bytes(tape);
    for (int i = 0; i < 3; i++) {
        CHECK(cad_tape_mark(tape) == CAD_OK);
        const View x = twin_row(twin, CAD_OP_exp, &twin->views[1]);
        twin_assign(twin, x, twin->views[0]);
        CHECK(tape->n_blocks > blocks && tape->n_plan_words > words && tape->n_assigned == 1);
        CHECK(cad_tape_bytes(tape) > bytes);
        cad_tape_rewind(tape);
        CHECK_COUNT(tape->n_blocks, blocks);
        CHECK_COUNT(tape->n_plan_words, words);
        CHECK_COUNT(tape->n_slots, slots);
        CHECK_COUNT(tape->n_assigned, 0);
        CHECK_COUNT(cad_tape_bytes(tape), bytes);
    }
    twin_free(twin);
}

/* --- reclaiming --- */

enum { HELD = 4 };

typedef struct Held {
    View views[HELD]; /* where they are on the tape of arrays */
    View before[HELD];
} Held;

static CadSlot highest(View view) {
    return view_slot(view, view_size(view) - 1);
}

/* Let go of all but some arrays, which learn where they are. */
static void reclaim_all_but(CadTape *tape, View *held, size_t count) {
    CadReclaim reclaim;
    CHECK(cad_reclaim_begin(tape, &reclaim) == CAD_OK);
    for (size_t i = 0; i < count; i++) {
        cad_reclaim_hold_range(&reclaim, held[i].slot, (size_t)highest(held[i]) + 1);
    }
    const size_t stay = cad_reclaim_trace(tape, &reclaim);
    for (size_t i = 0; i < count; i++) {
        held[i].slot = cad_reclaim_target(&reclaim, held[i].slot);
    }
    cad_sweep_undo_dead(tape, &reclaim);
    cad_reclaim_compact(tape, &reclaim);
    CHECK_COUNT(tape->n_slots, stay);
}

/* Of all but some arrays and the leaves. */
static Held reclaim_twin(Twin *twin, Random *random) {
    View views[HELD + MOST_VIEWS];
    Held held;
    for (int i = 0; i < HELD; i++) {
        views[i] = held.before[i] = twin->views[random_below(random, twin->n_views)];
    }
    memcpy(views + HELD, twin->leaves, twin->n_leaves * sizeof *views);
    reclaim_all_but(twin->arrays, views, HELD + twin->n_leaves);
    memcpy(held.views, views, sizeof held.views);
    memcpy(twin->leaves, views + HELD, twin->n_leaves * sizeof *views);
    return held;
}

/* What the tape counts is what there is. */
static void check_counts(const CadTape *tape) {
    size_t words = 0, assigned = 0, end = 0;
    for (size_t i = 0; i < tape->n_entries; i++) {
        const CadEntry e = tape->entries[i];
        const CadOp op = CAD_CODE_OP(e.code);
        assigned += op == CAD_OP_ASSIGN || op == CAD_OP_SCATTER;
        if (CAD_IS_ARRAY_ENTRY(e)) {
            CHECK_COUNT(e.a, words);
            words += cad_tape_plan(tape, e)->words;
        }
        CHECK(e.out >= end && e.out < tape->n_slots);
        end = e.out;
    }
    CHECK_COUNT(tape->n_plan_words, words);
    CHECK_COUNT(tape->n_assigned, assigned);
    for (size_t i = 0; i < tape->n_blocks; i++) {
        CHECK(tape->blocks[i].begin < tape->blocks[i].end);
        CHECK(tape->blocks[i].end <= tape->n_slots);
        CHECK(i == 0 || tape->blocks[i - 1].end <= tape->blocks[i].begin);
    }
}

static void check_held(const Twin *twin, const Held *held) {
    for (int i = 0; i < HELD; i++) {
        for (size_t k = 0; k < view_size(held->views[i]); k++) {
            const double expected = twin->now[view_slot(held->before[i], k)].value;
            CHECK_NEAR(twin->arrays->values[view_slot(held->views[i], k)], expected,
                       1e-11 * (1.0 + fabs(expected)));
        }
    }
}

/* Seed what is held, sweep, and compare the adjoints of the leaves. */
static void check_gradients(Twin *twin, const Held *held, const View *leaves, Random *random) {
    clear_adjoints(twin->arrays, 0, twin->arrays->n_slots);
    clear_adjoints(twin->numbers, 0, twin->numbers->n_slots);
    for (int i = 0; i < HELD; i++) {
        for (size_t k = 0; k < view_size(held->views[i]); k++) {
            const CadSlot slot = view_slot(held->views[i], k);
            const CadSlot there = twin->now[view_slot(held->before[i], k)].slot;
            const double weight = there == CAD_NONE ? 0.0 : random_between(random, -1.0, 1.0);
            cad_tape_prepare_adjoints(twin->arrays, slot, slot);
            twin->arrays->adjoints[slot] += weight;
            if (there != CAD_NONE) {
                twin->numbers->adjoints[there] += weight;
            }
        }
    }
    cad_sweep_reverse(twin->arrays, 0, twin->arrays->n_entries, SIZE_MAX, 0);
    cad_sweep_reverse(twin->numbers, 0, twin->numbers->n_entries, SIZE_MAX, 0);
    for (size_t i = 0; i < twin->n_leaves; i++) {
        for (size_t k = 0; k < view_size(leaves[i]); k++) {
            const CadSlot there = twin->original[view_slot(leaves[i], k)].slot;
            const double expected = cad_tape_adjoint(twin->numbers, there);
            CHECK_NEAR(cad_tape_adjoint(twin->arrays, view_slot(twin->leaves[i], k)), expected,
                       1e-11 * (1.0 + fabs(expected)));
        }
    }
    cad_sweep_redo(twin->arrays, 0, twin->arrays->n_entries);
}

static void arrays_keep_their_derivatives_when_others_go(void) {
    for (uint64_t number = 0; number < TWINS; number++) {
        Twin *twin = random_twin(number, STEPS);
        View leaves[MOST_VIEWS];
        memcpy(leaves, twin->leaves, sizeof leaves);
        Random random = {number};
        const size_t before = twin->arrays->n_slots;
        const Held held = reclaim_twin(twin, &random);
        CHECK(twin->arrays->n_slots < before);
        check_counts(twin->arrays);
        check_held(twin, &held);
        for (int pass = 0; pass < 2; pass++) {
            check_gradients(twin, &held, leaves, &random);
            check_held(twin, &held);
        }
        twin_free(twin);
    }
}

/* Also those that a pass has left, in blocks or not. */
static void adjoints_of_arrays_move_with_them(void) {
    const int64_t n = LARGE;
    for (int large = 0; large < 2; large++) {
        Random random = {5};
        Twin *twin = twin_new();
        CadTape *const tape = twin->arrays;
        twin_constant(twin, 1, &n, NULL);
        const View x = twin_leaf(twin, 1, large ? &n : &(int64_t){9}, &random);
        const View y = twin_row(twin, CAD_OP_sin, &x);
        clear_adjoints(tape, 0, tape->n_slots);
        cad_tape_prepare_adjoints(tape, y.slot, highest(y));
        tape->adjoints[y.slot + 3] = 2.0;
        cad_sweep_reverse(tape, 0, tape->n_entries, SIZE_MAX, 0);
        const double expected = cad_tape_adjoint(tape, x.slot + 3);
        View held = y;
        reclaim_all_but(tape, &held, 1);
        const CadSlot moved = x.slot - (y.slot - held.slot);
        CHECK(moved < x.slot);
        CHECK(expected != 0.0);
        CHECK_SAME(cad_tape_adjoint(tape, moved + 3), expected);
        CHECK_SAME(cad_tape_adjoint(tape, moved + 4), 0.0);
        clear_adjoints(tape, 0, tape->n_slots);
        for (CadSlot slot = 0; slot < tape->n_slots; slot++) {
            CHECK_SAME(cad_tape_adjoint(tape, slot), 0.0);
            cad_tape_prepare_adjoints(tape, slot, slot);
            CHECK_SAME(tape->adjoints[slot], 0.0);
        }
        twin_free(twin);
    }
}

/* y = x * x of an array x that is overwritten later on, and that nobody holds any more: what y
 * needs is the former x. */
static void what_was_read_before_an_assignment_stays(void) {
    const int64_t n = 4;
    Random random = {6};
    Twin *twin = twin_new();
    CadTape *const tape = twin->arrays;
    const View leaf = twin_leaf(twin, 1, &n, &random);
    View x[2];
    x[0] = x[1] = twin_row(twin, CAD_OP_positive, &leaf);
    const View y = twin_row(twin, CAD_OP_multiply, x);
    twin_assign(twin, x[0], twin_constant(twin, 1, &n, &random));
    View held[2] = {y, leaf};
    reclaim_all_but(tape, held, 2);
    const CadSlot top = held[0].slot, bottom = held[1].slot;
    clear_adjoints(tape, 0, tape->n_slots);
    tape->adjoints[top] = 1.0;
    cad_sweep_reverse(tape, 0, tape->n_entries, SIZE_MAX, 0);
    CHECK_SAME(cad_tape_adjoint(tape, bottom), 2.0 * tape->values[bottom]);
    twin_free(twin);
}

/* --- lack of memory --- */

typedef struct Before {
    size_t entries, slots, blocks, words, assigned;
} Before;

static Before before(const CadTape *tape) {
    return (Before){tape->n_entries, tape->n_slots, tape->n_blocks, tape->n_plan_words,
                    tape->n_assigned};
}

static void check_unchanged(const CadTape *tape, Before b) {
    CHECK_COUNT(tape->n_entries, b.entries);
    CHECK_COUNT(tape->n_slots, b.slots);
    CHECK_COUNT(tape->n_blocks, b.blocks);
    CHECK_COUNT(tape->n_plan_words, b.words);
    CHECK_COUNT(tape->n_assigned, b.assigned);
}

static CadStatus attempt_block(CadTape *tape, CadSlot x) {
    CadSlot slot = x;
    return cad_tape_block(tape, 100000, 1, &slot);
}

/* A row, and a matrix product, which needs workspace. */
static CadStatus attempt_row(CadTape *tape, CadSlot x) {
    const int64_t n = 50000, one = 1;
    CadSlot out;
    const CadRequest request = {.op = CAD_OP_sin,
                                .ndim = 1,
                                .shape = &n,
                                .n_views = 2,
                                .views = {{CAD_OWN, &one}, {x, &(int64_t){0}}},
                                .slots = (size_t)n,
                                .index = -1};
    return cad_array_push(tape, &request, &out);
}

static CadStatus attempt_matmul(CadTape *tape, CadSlot x) {
    const int64_t shape[3] = {20, 30, 40};
    const int64_t strides[3][3] = {{40, 0, 1}, {0, 0, 0}, {0, 0, 0}};
    CadSlot out;
    const CadRequest request = {.op = CAD_OP_MATMUL,
                                .ndim = 3,
                                .shape = shape,
                                .n_views = 3,
                                .views = {{CAD_OWN, strides[0]}, {x, strides[1]}, {x, strides[2]}},
                                .slots = 800,
                                .index = -1};
    return cad_array_push(tape, &request, &out);
}

static void check_survival(CadStatus (*attempt)(CadTape *, CadSlot)) {
    const double two = 2.0;
    CadStatus status = CAD_NO_MEMORY;
    long granted = 0;
    for (; status != CAD_OK && granted < 100; granted++) {
        CadTape *tape = cad_tape_new();
        const CadSlot x = append_leaf(tape, 1, &two), y = append1(tape, CAD_OP_square, x);
        const Before b = before(tape);
        cad_memory_fail_after(granted);
        status = attempt(tape, x);
        cad_memory_fail_after(-1);
        if (status != CAD_OK) {
            CHECK(status == CAD_NO_MEMORY);
            check_unchanged(tape, b);
        }
        CHECK(attempt(tape, x) == CAD_OK);
        backward_from(tape, y);
        CHECK_SAME(tape->values[x + 1], 4.0);
        cad_tape_free(tape);
    }
    CHECK(status == CAD_OK && granted > 1);
}

static void arrays_survive_want_of_memory(void) {
    check_survival(attempt_block);
    check_survival(attempt_row);
    check_survival(attempt_matmul);
}

const Test block_tests[] = {
    TEST(large_arrays_are_blocks),
    TEST(constants_become_active_as_a_whole),
    TEST(adjoints_of_untouched_blocks_are_zero),
    TEST(blocks_in_use_by_number_are_cleared_as_all_others),
    TEST(passes_are_put_aside),
    TEST(allocations_are_found),
    TEST(entries_name_their_targets),
    TEST(entries_over_arrays_that_read_below_are_noticed),
    TEST(busy_tape_takes_nothing),
    TEST(leaves_need_no_gradients),
    TEST(rewinding_forgets_arrays),
    TEST(arrays_keep_their_derivatives_when_others_go),
    TEST(adjoints_of_arrays_move_with_them),
    TEST(what_was_read_before_an_assignment_stays),
    TEST(arrays_survive_want_of_memory),
    END_OF_TESTS,
};
