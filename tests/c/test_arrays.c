/* Entries over arrays in every sweep, against the same programs number by number. */
#include "check.h"
#include "twin_sweeps.h"

#include "arrays/arrays.h"
#include "arrays/terms.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 40, TWINS = 30 };

static double largest_adjoint(const Twin *twin) {
    double most = 0.0;
    for (size_t i = 0; i < twin->n_leaves; i++) {
        for (size_t k = 0; k < view_size(twin->leaves[i]); k++) {
            most = fmax(most, fabs(cad_tape_adjoint(twin->arrays, view_slot(twin->leaves[i], k))));
        }
    }
    return most;
}

/* --- values and first order, at random --- */

static void array_programs_have_the_values_of_their_twins(void) {
    size_t entries[CAD_OP_THIRD] = {0}, assigned = 0;
    for (uint64_t number = 0; number < TWINS; number++) {
        Twin *twin = random_twin(number, STEPS);
        twin_check_values(twin);
        for (size_t i = 0; i < twin->arrays->n_entries; i++) {
            const CadEntry e = twin->arrays->entries[i];
            const CadOp op = CAD_CODE_OP(e.code);
            if (op < CAD_OP_THIRD && CAD_IS_ARRAY_ENTRY(e)) {
                entries[op]++;
            }
            assigned += op == CAD_OP_ASSIGN || op == CAD_OP_SCATTER;
        }
        twin_free(twin);
    }
    for (CadOp op = 0; op < CAD_OP_RULE; op++) {               /* all kinds take part */
        if (op == CAD_OP_LEAF || op == CAD_OP_MATMUL_SINGLE) { /* twins are of doubles */
            continue;
        }
        check_subject(cad_op_info[op].name);
        CHECK(entries[op] > 20);
    }
    CHECK(assigned > entries[CAD_OP_ASSIGN] + entries[CAD_OP_SCATTER]);
}

static void reverse_over_arrays_equals_that_over_numbers(void) {
    for (uint64_t number = 0; number < TWINS; number++) {
        Twin *twin = random_twin(number, STEPS);
        Random random = {number};
        for (int pass = 0; pass < 3; pass++) { /* a pass leaves nothing to the next one */
            twin_seed_all(twin, &random);
            twin_reverse(twin, 0);
            twin_check_adjoints(twin);
            CHECK(largest_adjoint(twin) > 1e-6 && largest_adjoint(twin) < 1e6);
            cad_sweep_redo(twin->arrays, 0, twin->arrays->n_entries);
            twin_check_values(twin);
        }
        twin_free(twin);
    }
}

/* The adjoints of leaves are the same if those of all results behind them may get lost. */
static void adjoints_that_nobody_reads_need_not_be_kept(void) {
    for (uint64_t number = 0; number < TWINS; number++) {
        Twin *twin = random_twin(number, STEPS);
        CadTape *const tape = twin->arrays;
        const size_t transient = cad_tape_find(tape, twin->leaves[twin->n_leaves - 1].slot) + 1;
        Random random = {number};
        for (int pass = 0; pass < 3; pass++) {
            twin_seed_all(twin, &random);
            twin_reverse(twin, 0);
            cad_sweep_redo(tape, 0, tape->n_entries);
            Random again = {number + (uint64_t)pass};
            twin_seed_all(twin, &again);
            reverse_arrays(tape, transient, 0);
            cad_sweep_reverse(twin->numbers, 0, twin->numbers->n_entries, SIZE_MAX, 0);
            for (CadSlot slot = 0; slot < tape->entries[transient].out; slot++) {
                if (twin_is_comparable(twin, slot)) {
                    const CadSlot there = twin->original[slot].slot;
                    const double expected = cad_tape_adjoint(twin->numbers, there);
                    CHECK_NEAR(cad_tape_adjoint(tape, slot), expected, nearly(expected));
                }
            }
            cad_sweep_redo(tape, 0, tape->n_entries);
        }
        twin_free(twin);
    }
}

/* The adjoints of large leaves go where the caller wants them; the next pass has its own again. */
static void adjoints_are_swept_into_lent_memory(void) {
    for (uint64_t number = 0; number < 10; number++) {
        Twin *twin = random_twin(number, STEPS);
        CadTape *const tape = twin->arrays;
        Random random = {number};
        for (size_t i = 0; i < twin->n_leaves; i++) {
            const View leaf = twin->leaves[i];
            const size_t size = view_size(leaf);
            double *results = test_memory(size, sizeof *results);
            clear_adjoints(tape, 0, tape->n_slots);
            const int lent = cad_tape_lend(tape, leaf.slot, leaf.slot + size, results);
            CHECK(lent ==
                  (size >= CAD_LARGE_BLOCK && !cad_tape_find_block(tape, leaf.slot)->eager));
            CHECK(lent == cad_tape_is_lent(tape, leaf.slot));
            twin_seed_all(twin, &random);
            twin_reverse(twin, 0);
            for (size_t k = 0; k < size && lent; k++) {
                const CadSlot there = twin->original[leaf.slot + k].slot;
                const double expected = cad_tape_adjoint(twin->numbers, there);
                const int reached = !cad_tape_is_untouched(tape, leaf.slot);
                CHECK_NEAR(reached ? results[k] : 0.0, expected, nearly(expected));
            }
            if (lent) {
                cad_tape_lend(tape, leaf.slot, leaf.slot + size, NULL);
                CHECK(!cad_tape_is_lent(tape, leaf.slot));
            }
            cad_sweep_redo(tape, 0, tape->n_entries);
            twin_seed_all(twin, &random);
            twin_reverse(twin, 0);
            twin_check_adjoints(twin);
            cad_sweep_redo(tape, 0, tape->n_entries);
            free(results);
        }
        twin_free(twin);
    }
}

static void check_gradients(const Twin *twin, double times) {
    for (size_t i = 0; i < twin->n_leaves; i++) {
        const View leaf = twin->leaves[i];
        const size_t size = view_size(leaf);
        for (size_t k = 0; k < size; k++) {
            const double *const there = twin->numbers->values + twin->original[leaf.slot + k].slot;
            const double expected = times * there[size];
            CHECK_NEAR(twin->arrays->values[leaf.slot + size + k], expected, nearly(expected));
        }
    }
}

static void gradients_of_leaves_over_arrays_accumulate(void) {
    for (uint64_t number = 0; number < 6; number++) {
        Twin *twin = random_twin(number, STEPS);
        for (int pass = 1; pass < 3; pass++) {
            Random random = {number};
            twin_seed_all(twin, &random);
            twin_reverse(twin, 1);
            cad_sweep_redo(twin->arrays, 0, twin->arrays->n_entries);
            check_gradients(twin, 1.0);
        }
        twin_free(twin);
    }
}

/* As Var.backward of one number: where the adjoints run out, the sweep ends. */
static void sweeps_from_one_number_end_early(void) {
    for (uint64_t number = 0; number < 10; number++) {
        Twin *twin = random_twin(number, STEPS);
        for (size_t i = 0; i < twin->n_views; i += 7) {
            const CadSlot slot = twin->views[i].slot;
            clear_adjoints(twin->arrays, slot, twin->arrays->n_slots);
            clear_adjoints(twin->numbers, 0, twin->numbers->n_slots);
            twin_seed(twin, slot, 2.0);
            const CadStop stop =
                cad_sweep_reverse(twin->arrays, 0, twin->arrays->n_entries, SIZE_MAX, 0);
            cad_sweep_reverse(twin->numbers, 0, twin->numbers->n_entries, SIZE_MAX, 0);
            twin_check_adjoints(twin);
            cad_sweep_redo(twin->arrays, stop.at, twin->arrays->n_entries);
            twin_check_values(twin);
        }
        twin_free(twin);
    }
}

/* --- the other sweeps, at random --- */

/* Numbers of lanes: some loops know 1 and 8, and longer ones are done 8 at a time. */
enum { WIDTHS = 4 };
static const size_t widths[WIDTHS] = {1, 3, 8, 9};

static void second_order_over_arrays_equals_that_over_numbers(void) {
    for (uint64_t number = 0; number < TWINS; number++) {
        Twin *twin = random_twin(number, STEPS);
        Random random = {number};
        for (int w = 0; w < WIDTHS; w++) {
            twin_check_second(twin, &random, widths[w]);
        }
        twin_free(twin);
    }
}

/* Where the adjoint of a number is 0 its derivative need not be: second order goes on there. */
static void second_order_passes_adjoints_of_zero(void) {
    static const int64_t sizes[] = {8, 600};
    for (int i = 0; i < 2; i++) {
        Twin *twin = twin_new();
        Random random = {1};
        View x = twin_leaf(twin, 1, &sizes[i], &random);
        for (int64_t k = 0; k < sizes[i]; k++) {
            const double value = k % 2 ? -1.0 : 1.0;
            twin->arrays->values[x.slot + k] = value;
            twin->numbers->values[twin->now[x.slot + k].slot] = value;
            twin->now[x.slot + k].value = value;
        }
        const View doubled[2] = {x, x};
        const View sum = twin_sum(twin, twin_row(twin, CAD_OP_add, doubled), 1);
        const View s = twin_row(twin, CAD_OP_square, &sum);
        Tangents t = twin_tangents(twin, &random, 1);
        double *arrays = test_memory(twin->arrays->n_slots, sizeof *arrays);
        double *numbers = test_memory(twin->numbers->n_slots, sizeof *numbers);
        clear_adjoints(twin->arrays, 0, twin->arrays->n_slots);
        clear_adjoints(twin->numbers, 0, twin->numbers->n_slots);
        twin_seed(twin, s.slot, 1.0);
        cad_sweep_second(twin->arrays, 0, twin->arrays->n_entries, twin->arrays->n_entries, 0, 1,
                         t.arrays, arrays);
        cad_sweep_second(twin->numbers, 0, twin->numbers->n_entries, twin->numbers->n_entries, 0,
                         1, t.numbers, numbers);
        const double expected = numbers[twin->original[x.slot].slot];
        CHECK(expected != 0.0);
        CHECK_NEAR(arrays[x.slot], expected, nearly(expected));
        free(arrays);
        free(numbers);
        free_tangents(&t);
        twin_free(twin);
    }
}

/* --- requests --- */

/* Only a target that has one place for each term, and no gap, may be overwritten. */
static void targets_that_are_filled(void) {
    static const struct {
        CadOp op;
        int64_t shape[3], strides[3], span;
        int fills;
    } cases[] = {
        {CAD_OP_CUMSUM, {2, 3, 4}, {12, 4, 1}, 24, 1},
        {CAD_OP_CUMSUM, {2, 3, 4}, {1, 2, 6}, 24, 1},  /* in another order */
        {CAD_OP_CUMSUM, {2, 1, 4}, {4, 0, 1}, 8, 1},   /* an axis of length 1 */
        {CAD_OP_CUMSUM, {2, 3, 4}, {24, 8, 2}, 47, 0}, /* gaps */
        {CAD_OP_VECDOT, {2, 3, 4}, {0, 4, 1}, 12, 0},  /* added up */
        {CAD_OP_VECDOT, {1, 3, 3}, {0, 2, 2}, 9, 0},   /* windows that overlap */
        {CAD_OP_VECDOT, {2, 3, 4}, {0, 0, 0}, 1, 0},
        {CAD_OP_SUM, {1, 1, 1}, {0, 0, 0}, 1, 1},
        {CAD_OP_MATMUL, {2, 3, 4}, {4, 0, 1}, 8, 1}, /* its kernel adds up */
        {CAD_OP_MATMUL, {2, 3, 4}, {4, 0, 1}, 9, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CadRequestedPlan room;
        CadPlan *const plan = cad_term_plan(3, cases[i].shape, 1, &room);
        memcpy(cad_plan_view(plan, 0) + 1, cases[i].strides, sizeof cases[i].strides);
        CHECK(cad_term_fills(cases[i].op, plan, 0, cases[i].span) == cases[i].fills);
    }
}

/* --- undo, redo, replay --- */

static void undoing_and_doing_again_changes_nothing(void) {
    for (uint64_t number = 0; number < TWINS; number++) {
        Twin *twin = random_twin(number, STEPS);
        CadTape *const tape = twin->arrays;
        double *before = copy_of_values(tape);
        CHECK(tape->n_assigned > 0);
        cad_sweep_undo(tape, 0, tape->n_entries);
        for (size_t slot = 0; slot < tape->n_slots; slot++) {
            if (twin_is_comparable(twin, slot)) {
                const double value = twin->original[slot].value;
                CHECK_NEAR(tape->values[slot], value, nearly(value));
            }
        }
        cad_sweep_redo(tape, 0, tape->n_entries);
        check_kept_values(tape, before);
        free(before);
        twin_free(twin);
    }
}

/* Whether an entry adds to values that it did not make: it cannot be done twice. */
static int adds(const CadTape *tape, CadEntry e) {
    const CadOp op = CAD_CODE_OP(e.code);
    return CAD_IS_ARRAY_ENTRY(e) &&
           (op == CAD_OP_ADD_AT ||
            (op == CAD_OP_SUM && cad_plan_extra(cad_tape_plan(tape, e))[0]));
}

/* Poison what entries wrote to slots of their own, and see it come back, bit by bit. */
static void replay_over_arrays_gives_the_same_bits(void) {
    size_t replayed = 0;
    for (uint64_t number = 0; number < 4 * TWINS; number++) {
        Twin *twin = random_twin(number, 12);
        CadTape *const tape = twin->arrays;
        int adding = 0;
        for (size_t i = 0; i < tape->n_entries; i++) {
            adding |= adds(tape, tape->entries[i]);
        }
        if (!adding) {
            double *before = copy_of_values(tape);
            cad_sweep_undo(tape, 0, tape->n_entries);
            for (size_t i = 0; i < tape->n_entries; i++) {
                const CadEntry e = tape->entries[i];
                const size_t own = CAD_IS_ARRAY_ENTRY(e) && e.b > 1 ? e.b : 0;
                for (size_t k = 0; k < own; k++) {
                    tape->values[e.out + k] = NAN;
                }
            }
            cad_sweep_redo(tape, 0, tape->n_entries);
            cad_sweep_value(tape, 0, tape->n_entries);
            check_kept_values(tape, before);
            free(before);
            replayed++;
        }
        twin_free(twin);
    }
    CHECK(replayed > 20);
}

/* --- small cases, by hand --- */

static View leaf_of(Twin *twin, int64_t n, const double *values) {
    Random random = {0};
    const View x = twin_leaf(twin, 1, &n, &random);
    for (int64_t i = 0; i < n; i++) {
        twin->arrays->values[x.slot + i] = values[i];
    }
    return x;
}

static void reverse_from_all(CadTape *tape, View y) {
    clear_adjoints(tape, 0, tape->n_slots);
    for (size_t i = 0; i < view_size(y); i++) {
        cad_tape_prepare_adjoints(tape, view_slot(y, i), view_slot(y, i));
        tape->adjoints[view_slot(y, i)] = 1.0;
    }
    cad_sweep_reverse(tape, 0, tape->n_entries, SIZE_MAX, 0);
}

/* An adjoint of 0 absorbs an infinite partial, in arrays as well, and in all sweeps. */
static void zero_absorbs_in_arrays(void) {
    Twin *twin = twin_new();
    const double values[3] = {0.0, 4.0, 9.0};
    const View x = leaf_of(twin, 3, values);
    CadTape *const tape = twin->arrays;
    View operands[2] = {x, x};
    const View roots = twin_row(twin, CAD_OP_sqrt, &(View){x.slot, 1, {3}, {1}});
    operands[1] = roots;
    const View y = twin_row(twin, CAD_OP_multiply, operands); /* x * sqrt(x) */
    reverse_from_all(tape, y);
    CHECK_SAME(cad_tape_adjoint(tape, x.slot), 0.0);
    CHECK_NEAR(cad_tape_adjoint(tape, x.slot + 1), 3.0, 1e-15);
    double *tangents = test_memory(tape->n_slots, sizeof *tangents);
    tangents[x.slot + 1] = 1.0;
    cad_sweep_tangent(tape, 0, tape->n_entries, tape->n_entries, 0, 1, tangents);
    CHECK_SAME(tangents[y.slot], 0.0);
    CHECK_NEAR(tangents[y.slot + 1], 3.0, 1e-15);
    CHECK_SAME(tangents[y.slot + 2], 0.0);
    free(tangents);
    twin_free(twin);
}

/* A matrix that is its own other factor, large ones, and one number times one number. */
static void matrix_products_of_all_sizes(void) {
    static const int64_t shapes[][2] = {{1, 1}, {1, 7}, {30, 30}, {40, 20}};
    for (int i = 0; i < 4; i++) {
        Twin *twin = twin_new();
        Random random = {7};
        const View a = twin_leaf(twin, 2, shapes[i], &random);
        twin_multiply(twin, a, view_transposed(a));
        twin_seed_all(twin, &random);
        twin_reverse(twin, 0);
        twin_check_adjoints(twin);
        twin_check_values(twin);
        for (int w = 0; w < WIDTHS; w++) {
            twin_check_second(twin, &random, widths[w]);
        }
        twin_free(twin);
    }
}

/* Products of matrices want room where there are several lanes. */
static void sweeps_of_lanes_without_memory_change_nothing(void) {
    static const int64_t shape[2] = {5, 6};
    enum { LANES = 3 };
    Twin *twin = twin_new();
    CadTape *const tape = twin->arrays;
    Random random = {7};
    const View a = twin_leaf(twin, 2, shape, &random);
    twin_multiply(twin, a, view_transposed(a));
    twin_seed_all(twin, &random);
    double *tangents = test_memory(tape->n_slots * LANES, sizeof *tangents);
    double *seconds = test_memory(tape->n_slots * LANES, sizeof *seconds);
    const size_t end = tape->n_entries;
    CadLaneBuffer buffer = {NULL, 0};
    cad_memory_fail_after(0);
    CHECK(cad_sweep_tangent(tape, 0, end, end, 0, LANES, tangents) == CAD_NO_MEMORY);
    CHECK(cad_sweep_second(tape, 0, end, end, 0, LANES, tangents, seconds) == CAD_NO_MEMORY);
    CHECK(cad_lanes_take(tape, 100, &buffer) == CAD_NO_MEMORY);
    cad_memory_fail_after(-1);
    twin_check_values(twin);
    twin_check_second(twin, &random, LANES);
    free(tangents);
    free(seconds);
    twin_free(twin);
}

/* What was given back serves again, unless it is more than a tape of that size may keep. */
static void lanes_are_kept_from_call_to_call(void) {
    CadTape *tape = cad_tape_new();
    CadLaneBuffer first, second, third;
    CHECK(cad_lanes_take(tape, 1000, &first) == CAD_OK);
    CHECK(cad_lanes_take(tape, 2000, &second) == CAD_OK);
    cad_lanes_give_back(tape, first);
    cad_lanes_give_back(tape, second);
    CHECK(cad_lanes_take(tape, 1500, &third) == CAD_OK);
    CHECK(third.data == second.data && third.capacity == 2000);
    cad_lanes_give_back(tape, third);
    CHECK(cad_lanes_take(tape, 5000000, &third) == CAD_OK);
    cad_lanes_give_back(tape, third);
    CHECK(tape->spare_lanes[0].capacity < 5000000 && tape->spare_lanes[1].capacity < 5000000);
    cad_tape_free(tape);
}

const Test array_tests[] = {
    TEST(array_programs_have_the_values_of_their_twins),
    TEST(reverse_over_arrays_equals_that_over_numbers),
    TEST(adjoints_that_nobody_reads_need_not_be_kept),
    TEST(adjoints_are_swept_into_lent_memory),
    TEST(gradients_of_leaves_over_arrays_accumulate),
    TEST(sweeps_from_one_number_end_early),
    TEST(second_order_over_arrays_equals_that_over_numbers),
    TEST(second_order_passes_adjoints_of_zero),
    TEST(targets_that_are_filled),
    TEST(undoing_and_doing_again_changes_nothing),
    TEST(replay_over_arrays_gives_the_same_bits),
    TEST(zero_absorbs_in_arrays),
    TEST(matrix_products_of_all_sizes),
    TEST(sweeps_of_lanes_without_memory_change_nothing),
    TEST(lanes_are_kept_from_call_to_call),
    END_OF_TESTS,
};
