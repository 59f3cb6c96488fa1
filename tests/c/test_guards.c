/* Guards: noted, forgotten with what is rewound, and the first obstacle; what depends on numbers
 * below a mark. */
#include "table/ops.h"
#include "tape/guards.h"

#include "check.h"
#include "on_tape.h"

#include <stdlib.h>

/* A tape with a leaf of two numbers at slot 0. */
static CadTape *guarded_tape(void) {
    const double x[2] = {1.0, 2.0};
    CadTape *tape = cad_tape_new();
    append_leaf(tape, 2, x);
    CHECK(cad_guards_new(tape) == CAD_OK);
    return tape;
}

/* An operation on two numbers of the tape. */
static CadSlot join(CadTape *tape, CadOp op, CadSlot x, CadSlot y) {
    return append2(tape, op, variable(tape, x), variable(tape, y));
}

static void guards_are_noted_in_order(void) {
    CadTape *tape = guarded_tape();
    for (CadSlot i = 0; i < 1000; i++) { /* masks may be read long after they were computed */
        CHECK(cad_guard_note(tape, 3 * (i ^ 5), i % 4, (int)(i % 2)) == CAD_OK);
    }
    CHECK_COUNT(tape->guards->count, 750); /* none for no numbers */
    for (size_t k = 0; k < tape->guards->count; k++) {
        const CadGuard guard = tape->guards->items[k];
        const size_t i = k + k / 3 + 1;
        CHECK_COUNT(guard.slot, 3 * (i ^ 5));
        CHECK_COUNT(guard.count, i % 4);
        CHECK_COUNT((size_t)guard.equality, i % 2);
    }
    cad_guards_free(tape);
    CHECK(tape->guards == NULL);
    cad_guards_free(tape); /* nothing is left to do */
    cad_tape_free(tape);
}

static void rewinding_forgets_guards_on_what_is_gone(void) {
    CadTape *tape = guarded_tape();
    const CadSlot before = join(tape, CAD_OP_less, 0, 1);
    CHECK(cad_guard_note(tape, before, 1, 0) == CAD_OK);
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot kept = join(tape, CAD_OP_equal, 0, 1);
    CHECK(cad_guard_note(tape, kept, 1, 1) == CAD_OK);
    CHECK(cad_tape_mark(tape) == CAD_OK);
    CHECK(cad_guard_note(tape, join(tape, CAD_OP_less, 1, 0), 1, 0) == CAD_OK);
    CHECK(cad_guard_note(tape, join(tape, CAD_OP_less, 0, 0), 1, 0) == CAD_OK);
    cad_tape_rewind(tape);
    CHECK_COUNT(tape->guards->count, 2);
    CHECK_COUNT(tape->guards->items[1].slot, kept);
    cad_tape_keep(tape);
    CHECK_COUNT(tape->guards->count, 2);
    CHECK(cad_tape_mark(tape) == CAD_OK);
    cad_tape_rewind(tape);
    CHECK_COUNT(tape->guards->count, 2);
    cad_guards_forget(tape, 0);
    CHECK_COUNT(tape->guards->count, 0);
    cad_tape_free(tape);
}

static void guards_of_outer_recordings_are_noted_late(void) {
    CadTape *tape = guarded_tape();
    const uint64_t outer = tape->guards->serial;
    for (CadSlot i = 0; i < 8; i += 2) {
        CHECK(cad_guard_note(tape, 10 * i, 1, 0) == CAD_OK);
    }
    CHECK(cad_guards_new(tape) == CAD_OK);
    const uint64_t inner = tape->guards->serial;
    CHECK(inner != outer);
    CHECK(cad_guard_note_late(tape, outer, 30, 2, 1) == CAD_OK); /* behind the others */
    CHECK(cad_guard_note_late(tape, inner, 100, 1, 0) == CAD_OK);
    CHECK(cad_guard_note_late(tape, inner + 1, 0, 1, 0) == CAD_OK); /* of none of them */
    CHECK_COUNT(tape->guards->count, 1);
    cad_guards_free(tape);
    CHECK_COUNT(tape->guards->serial, outer);
    CHECK_COUNT(tape->guards->count, 5);
    const CadSlot slots[5] = {0, 20, 40, 60, 30};
    for (size_t k = 0; k < 5; k++) {
        CHECK_COUNT(tape->guards->items[k].slot, slots[k]);
    }
    CHECK_COUNT(tape->guards->items[4].count, 2);
    CHECK(cad_guard_note_late(tape, inner, 100, 1, 0) == CAD_OK); /* it has ended */
    CHECK_COUNT(tape->guards->count, 5);
    CHECK(cad_guards_new(tape) == CAD_OK);
    CHECK(tape->guards->serial != inner);
    CHECK(cad_guard_note(tape, 200, 1, 0) == CAD_OK);
    cad_guards_forget(tape, 35);
    CHECK_COUNT(tape->guards->count, 0);
    cad_guards_free(tape);
    CHECK_COUNT(tape->guards->count, 3);
    cad_guards_free(tape);
    CHECK(tape->guards == NULL);
    CHECK(cad_guard_note_late(tape, outer, 0, 1, 0) == CAD_OK);
    CHECK(cad_guards_new(tape) == CAD_OK);
    CHECK(cad_guards_new(tape) == CAD_OK);
    cad_tape_free(tape); /* takes both along */
}

static void the_first_obstacle_stays(void) {
    CadTape *tape = guarded_tape();
    CHECK(strcmp(tape->guards->obstacle, "") == 0);
    cad_guard_obstacle(tape, "one");
    cad_guard_obstacle(tape, "another one");
    CHECK(strcmp(tape->guards->obstacle, "one") == 0);
    cad_tape_free(tape);
}

static void long_obstacles_are_cut_between_characters(void) {
    for (size_t length = CAD_OBSTACLE_ROOM - 4; length < CAD_OBSTACLE_ROOM + 4; length++) {
        char text[CAD_OBSTACLE_ROOM + 16];
        memset(text, 'x', length);
        memcpy(text + length, "\xc3\xa9\xe2\x82\xac", 6); /* of two bytes, of three, and the end */
        CadTape *tape = guarded_tape();
        cad_guard_obstacle(tape, text);
        const size_t room = CAD_OBSTACLE_ROOM - 1;
        const size_t expected = length >= room       ? room
                                : length + 5 <= room ? length + 5
                                : length + 2 <= room ? length + 2
                                                     : length;
        CHECK_COUNT(strlen(tape->guards->obstacle), expected);
        CHECK(memcmp(tape->guards->obstacle, text, expected) == 0);
        cad_tape_free(tape);
    }
}

static void numbers_depend_on_what_their_recording_reads(void) {
    CadTape *tape = guarded_tape();
    const double one = 1.0;
    CHECK(cad_depends_below(tape, 0, 0));
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot x = append_leaf(tape, 1, &one);
    const CadSlot y = append1(tape, CAD_OP_sin, x);
    CHECK(!cad_depends_below(tape, 0, y));
    CHECK(cad_depends_below(tape, 1, y)); /* the mark is one of those that count as ground */
    CHECK(cad_depends_below(tape, 0, 1)); /* of before the mark */
    CHECK(!cad_compares_below(tape));
    join(tape, CAD_OP_less, y, 0);
    CHECK(!cad_depends_below(tape, 0, y)); /* nothing is computed from a comparison */
    CHECK(!cad_reads_below(tape, tape->marks[0].entries, tape->n_entries, x));
    CHECK(cad_compares_below(tape));
    join(tape, CAD_OP_add, y, 0);
    CHECK(cad_depends_below(tape, 0, y));
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot inner = append_leaf(tape, 1, &one);
    CHECK(!cad_depends_below(tape, 0, append1(tape, CAD_OP_stop, inner)));
    CHECK(cad_depends_below(tape, 0, append1(tape, CAD_OP_stop, y)));
    cad_tape_free(tape);
}

static void ranges_outside_are_not_those_of_comparisons(void) {
    CadTape *tape = guarded_tape();
    const CadSlot first = append1(tape, CAD_OP_sin, 0);
    join(tape, CAD_OP_not_equal, first, 1);
    CadRanges ranges;
    CHECK(cad_find_captures(tape, 1, tape->n_entries, first, &ranges) == CAD_OK);
    CHECK_COUNT(ranges.count, 1);
    CHECK(ranges.items[0].begin == 0 && ranges.items[0].end == 1);
    cad_memory_free(ranges.items);
    cad_tape_free(tape);
}

/* grad of y = maximum(x, y) * clip(...): the conditions of its partials, as guards. */
static void recorded_sweeps_choose_anew(void) {
    CadTape *tape = guarded_tape();
    const CadSlot v = join(tape, CAD_OP_maximum, 0, 1);
    const CadSlot w = append1(tape, CAD_OP_expit, v);
    const size_t end = tape->n_entries;
    const size_t n = tape->n_slots;
    CadNumber *adjoints = zero_numbers(n);
    adjoints[w].value = 1.0;
    CHECK(cad_sweep_record(tape, 0, end, 0, 1, adjoints) == CAD_OK);
    CHECK_COUNT(tape->n_entries, end); /* constants, since the sweep is linear */
    free(adjoints);
    adjoints = zero_numbers(n);
    adjoints[w].value = 1.0;
    CHECK(cad_sweep_record(tape, 0, end, 0, 0, adjoints) == CAD_OK);
    CHECK_COUNT(tape->guards->count, 0);
    const double points[4][2] = {{1.0, 2.0}, {3.0, -1.0}, {0.25, 0.5}, {0.5, 0.5}};
    for (int k = 0; k < 4; k++) { /* another operand, and another formula below 1 */
        const double *x = points[k];
        tape->values[0] = x[0];
        tape->values[1] = x[1];
        cad_sweep_value(tape, 0, tape->n_entries);
        const double slope = val_expit(x[0] > x[1] ? x[0] : x[1]);
        for (int i = 0; i < 2; i++) {
            const double share = x[0] == x[1] ? 0.5 : x[i] > x[1 - i] ? 1.0 : 0.0;
            const double expected = share * slope * (1.0 - slope);
            CHECK(fabs(tape->values[adjoints[i].slot] - expected) <= 1e-15);
        }
    }
    free(adjoints);
    cad_tape_free(tape);
}

static void guards_survive_want_of_memory(void) {
    CadTape *tape = cad_tape_new();
    cad_memory_fail_after(0);
    CHECK(cad_guards_new(tape) == CAD_NO_MEMORY);
    CHECK(tape->guards == NULL);
    cad_memory_fail_after(1);
    CHECK(cad_guards_new(tape) == CAD_OK);
    CHECK(cad_guard_note(tape, 0, 1, 0) == CAD_NO_MEMORY);
    CHECK_COUNT(tape->guards->count, 0);
    cad_memory_fail_after(-1);
    for (CadSlot i = 0; i < 100; i++) {
        CHECK(cad_guard_note(tape, i, 1, 0) == CAD_OK);
    }
    const size_t full = tape->guards->capacity;
    while (tape->guards->count < full) {
        CHECK(cad_guard_note(tape, (CadSlot)tape->guards->count, 1, 0) == CAD_OK);
    }
    cad_memory_fail_after(0);
    CHECK(cad_guard_note(tape, (CadSlot)full, 1, 0) == CAD_NO_MEMORY);
    CHECK_COUNT(tape->guards->count, full);
    cad_memory_fail_after(-1);
    cad_tape_free(tape);
}

const Test guard_tests[] = {
    TEST(guards_are_noted_in_order),
    TEST(rewinding_forgets_guards_on_what_is_gone),
    TEST(guards_of_outer_recordings_are_noted_late),
    TEST(the_first_obstacle_stays),
    TEST(long_obstacles_are_cut_between_characters),
    TEST(numbers_depend_on_what_their_recording_reads),
    TEST(ranges_outside_are_not_those_of_comparisons),
    TEST(recorded_sweeps_choose_anew),
    TEST(guards_survive_want_of_memory),
    END_OF_TESTS,
};
