/* When room is asked for, and that memory neither grows without end nor stays taken. */
#include "check.h"
#include "roots.h"

#include "arrays/arrays.h"

#include <math.h>

/* --- when it happens --- */

/* Append entries that nobody holds, until make_room is called; answers how many (up to `most`). */
static size_t entries_until_asked(CadTape *tape, size_t most) {
    const size_t calls = roots.calls;
    for (size_t i = 0; i < most; i++) {
        CHECK(cad_tape_ensure(tape) == CAD_OK);
        if (roots.calls > calls) {
            return i;
        }
        const CadSlot x = roots.slots[0];
        cad_tape_push(tape, CAD_CODE(CAD_OP_sin, 0), x, x, sin(tape->values[x]));
    }
    return most;
}

static void room_is_asked_for_when_the_tape_has_grown(void) {
    CadTape *tape = tape_with_roots();
    hold(append_leaf(tape, 1, NULL));
    const size_t first = entries_until_asked(tape, 1000000);
    CHECK(first > 1000 && first < 1000000);
    CHECK(tape->n_entries < 10); /* all was let go */
    CHECK_COUNT(entries_until_asked(tape, 1000000), first);
    CHECK_COUNT(roots.calls, 2);
    cad_tape_free(tape);
}

/* What stays is not traced over and over: the times between grow with it. */
static void asking_is_rare_when_little_is_gained(void) {
    enum { COUNT = 1000000 };
    CadTape *tape = tape_with_roots();
    hold(append_leaf(tape, 1, NULL));
    for (int i = 0; i < COUNT; i++) {
        CHECK(cad_tape_ensure(tape) == CAD_OK);
        const CadSlot x = roots.slots[0];
        roots.slots[0] = cad_tape_push(tape, CAD_CODE(CAD_OP_positive, 0), x, x, 0.0);
    }
    CHECK_COUNT(tape->n_entries, COUNT + 1);
    CHECK(roots.calls >= 1 && roots.calls <= 8);
    cad_tape_free(tape);
}

/* A recording can wait, since it will probably be rewound; what follows it cannot. */
static void recordings_are_not_interrupted_soon(void) {
    CadTape *tape = tape_with_roots();
    hold(append_leaf(tape, 1, NULL));
    CHECK(cad_tape_mark(tape) == CAD_OK);
    CHECK_COUNT(entries_until_asked(tape, 500000), 500000);
    cad_tape_rewind(tape);
    const size_t usual = entries_until_asked(tape, 1000000);
    CHECK(usual < 100000);
    CHECK(cad_tape_mark(tape) == CAD_OK);
    cad_tape_keep(tape);
    CHECK_COUNT(entries_until_asked(tape, 1000000), usual);
    cad_tape_free(tape);
}

/* A huge recording that was all needed makes the next request come late only while it is there. */
static void huge_recording_is_forgotten_when_rewound(void) {
    enum { COUNT = 3000000 };
    CadTape *tape = tape_with_roots();
    const CadSlot x = hold(append_leaf(tape, 1, NULL));
    CHECK(cad_tape_mark(tape) == CAD_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK(cad_tape_ensure(tape) == CAD_OK);
        const CadSlot y = roots.slots[0];
        roots.slots[0] = cad_tape_push(tape, CAD_CODE(CAD_OP_positive, 0), y, y, 0.0);
    }
    CHECK(roots.calls >= 1 && tape->n_entries == COUNT + 1);
    cad_tape_rewind(tape);
    roots.slots[0] = x;
    CHECK(entries_until_asked(tape, 200000) < 200000);
    cad_tape_free(tape);
}

/* While slots must not move nobody is asked, and soon after they may move again somebody is. */
static void pinned_tape_is_left_alone(void) {
    CadTape *tape = tape_with_roots();
    hold(append_leaf(tape, 1, NULL));
    const size_t usual = entries_until_asked(tape, 1000000);
    tape->pinned = 1;
    CHECK_COUNT(entries_until_asked(tape, usual + 1000), usual + 1000);
    tape->pinned = 0;
    CHECK(entries_until_asked(tape, 1000000) < usual);
    cad_tape_free(tape);
}

/* Where there is no memory to reclaim with, the tape grows on. */
static void reclaiming_without_memory_does_no_harm(void) {
    CadTape *tape = tape_with_roots();
    hold(append_leaf(tape, 1, NULL));
    const size_t usual = entries_until_asked(tape, 1000000);
    CHECK(usual < 1000000);
    entries_until_asked(tape, usual - 100);
    const size_t n_entries = tape->n_entries;
    cad_memory_fail_after(0);
    const size_t asked = entries_until_asked(tape, 1000);
    cad_memory_fail_after(-1);
    CHECK(asked < 1000);
    CHECK_COUNT(tape->n_entries, n_entries + asked);
    backward_from(tape, (CadSlot)tape->n_slots - 1);
    CHECK_SAME(tape->values[roots.slots[0] + 1], 1.0);
    cad_tape_free(tape);
}

/* --- loops for ever --- */

/* One round of a loop that makes a variable, computes, and sweeps backward; it holds its numbers
 * while it uses them. */
static double round_of_a_loop(CadTape *tape, double value) {
    CHECK(cad_tape_ensure(tape) == CAD_OK); /* here, slots may move: nothing is held yet */
    roots.count = 0;
    hold(append_leaf(tape, 1, &value));
    hold(append1(tape, CAD_OP_square, roots.slots[0]));
    CHECK(cad_tape_ensure(tape) == CAD_OK); /* and here: the roots follow */
    const CadNumber x = variable(tape, roots.slots[0]), y = variable(tape, roots.slots[1]);
    backward_from(tape, append2(tape, CAD_OP_multiply, x, y));
    return tape->values[roots.slots[0] + 1];
}

static void compute_once(CadTape *tape, int i) {
    const double x = 1.0 + i % 10;
    CHECK(round_of_a_loop(tape, x) == 3.0 * x * x);
}

/* With a recording in each round, as a gradient function makes it. */
static void record_once(CadTape *tape, int i) {
    compute_once(tape, i);
    CHECK(cad_tape_mark(tape) == CAD_OK);
    backward_from(tape, append1(tape, CAD_OP_exp, append_leaf(tape, 1, NULL)));
    cad_tape_rewind(tape);
}

/* With recordings that are kept, and nothing made outside of them. */
static void keep_once(CadTape *tape, int i) {
    (void)i;
    roots.count = 0;
    CHECK(cad_tape_mark(tape) == CAD_OK);
    hold(append1(tape, CAD_OP_exp, append_leaf(tape, 1, NULL)));
    cad_tape_keep(tape);
}

/* Few entries, many slots. */
static void make_an_array(CadTape *tape, int i) {
    double values[500] = {i};
    roots.count = 0;
    hold(append_leaf(tape, 500, values));
}

static void endless_loops_run_in_constant_memory(void) {
    static const struct {
        void (*round)(CadTape *, int);
        int rounds;
        size_t most_entries, most_slots;
    } loops[] = {
        {compute_once, 1000000, 1 << 17, 1 << 18},
        {record_once, 300000, 1 << 17, 1 << 18},
        {keep_once, 300000, 1 << 17, 1 << 18},
        {make_an_array, 20000, 1 << 17, 1 << 21},
    };
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        CadTape *tape = tape_with_roots();
        size_t adjoints = 0;
        for (int i = 0; i < loops[k].rounds; i++) {
            loops[k].round(tape, i);
            adjoints = i == loops[k].rounds / 10 ? tape->adjoint_capacity : adjoints;
        }
        CHECK(tape->entry_capacity <= loops[k].most_entries);
        CHECK(tape->slot_capacity <= loops[k].most_slots);
        CHECK_COUNT(tape->adjoint_capacity, adjoints);
        cad_tape_free(tape);
    }
}

/* Inside a recording that never ends, too, and without moving what came before its mark. */
static void endless_recording_runs_in_constant_memory(void) {
    CadTape *tape = tape_with_roots();
    hold(append_leaf(tape, 1, NULL));
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const size_t first = entries_until_asked(tape, 4000000);
    CHECK(first < 4000000);
    CHECK_COUNT(entries_until_asked(tape, 4000000), first);
    CHECK_COUNT(tape->mark_slots, 2);
    cad_tape_rewind(tape);
    CHECK_COUNT(tape->n_entries, 1);
    CHECK_COUNT(tape->n_slots, 2);
    CHECK(entries_until_asked(tape, 1000000) < 1000000);
    cad_tape_free(tape);
}

/* Entries over arrays have plans besides, and large ones blocks. */
static void endless_loop_over_arrays_runs_in_constant_memory(void) {
    enum { ROUNDS = 100000 };
    static const int64_t sizes[] = {4, 600};
    for (int i = 0; i < 2; i++) {
        const int64_t one = 1;
        CadTape *tape = tape_with_roots();
        CadSlot y = CAD_NONE;
        size_t plans = 0, blocks = 0;
        hold(append_leaf(tape, (size_t)sizes[i], NULL));
        for (int round = 0; round < ROUNDS / (1 + 9 * i); round++) {
            CHECK(cad_tape_ensure(tape) == CAD_OK); /* here, slots may move */
            cad_tape_pin(tape);
            const CadRequest request = {.op = CAD_OP_cos,
                                        .ndim = 1,
                                        .shape = &sizes[i],
                                        .n_views = 2,
                                        .views = {{CAD_OWN, &one}, {roots.slots[0], &one}},
                                        .slots = (size_t)sizes[i],
                                        .index = -1};
            CHECK(cad_array_push(tape, &request, &y) == CAD_OK);
            CHECK_SAME(tape->values[y], 1.0);
            cad_tape_unpin(tape);
            plans = tape->n_plan_words > plans ? tape->n_plan_words : plans;
            blocks = tape->n_blocks > blocks ? tape->n_blocks : blocks;
        }
        CHECK(plans < 1 << 16);
        CHECK(i == 0 ? blocks == 0 : blocks > 1 && blocks < 1 << 12);
        CHECK(tape->slot_capacity <= 1 << 21);
        cad_tape_free(tape);
    }
}

/* --- recordings --- */

/* A recording of some entries that is swept and rewound. */
static void record_and_rewind(CadTape *tape, int entries) {
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot x = append_leaf(tape, 1, NULL);
    CadSlot y = x;
    for (int i = 0; i < entries; i++) {
        y = append2(tape, CAD_OP_add, variable(tape, y), variable(tape, x));
    }
    backward_from(tape, y);
    CHECK_SAME(tape->values[x + 1], entries + 1.0);
    cad_tape_rewind(tape);
}

/* Where small recordings follow a huge one; with `refused`, memory cannot even be made smaller. */
static size_t capacity_after_a_huge_recording(int refused) {
    CadTape *tape = cad_tape_new();
    const CadSlot x = append_leaf(tape, 1, NULL);
    record_and_rewind(tape, 2200000);
    const size_t capacity = tape->slot_capacity;
    CHECK(tape->n_entries == 1 && tape->entry_capacity >= 2200000);
    for (int i = 0; i < 20; i++) {
        CHECK(cad_tape_mark(tape) == CAD_OK);
        backward_from(tape, append1(tape, CAD_OP_exp, append_leaf(tape, 1, NULL)));
        cad_memory_fail_after(refused ? 0 : -1);
        cad_tape_rewind(tape);
        cad_memory_fail_after(-1);
    }
    const size_t left = tape->slot_capacity;
    CHECK(refused ? left == capacity : left < 100000 && tape->entry_capacity < 100000);
    record_and_rewind(tape, 200000);
    backward_from(tape, append1(tape, CAD_OP_exp, x));
    CHECK_SAME(tape->values[x + 1], 1.0);
    cad_tape_free(tape);
    return left;
}

static void memory_of_a_huge_recording_comes_back(void) {
    CHECK(capacity_after_a_huge_recording(0) < capacity_after_a_huge_recording(1));
}

/* Huge recordings that go on keep their memory: it is not asked for again each time. */
static void memory_of_huge_recordings_stays(void) {
    CadTape *tape = cad_tape_new();
    record_and_rewind(tape, 2200000);
    const size_t capacity = tape->slot_capacity;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            record_and_rewind(tape, 10);
        }
        record_and_rewind(tape, 600000);
        CHECK_COUNT(tape->slot_capacity, capacity);
    }
    cad_tape_free(tape);
}

const Test room_tests[] = {
    TEST(room_is_asked_for_when_the_tape_has_grown),
    TEST(asking_is_rare_when_little_is_gained),
    TEST(recordings_are_not_interrupted_soon),
    TEST(huge_recording_is_forgotten_when_rewound),
    TEST(pinned_tape_is_left_alone),
    TEST(reclaiming_without_memory_does_no_harm),
    TEST(endless_loops_run_in_constant_memory),
    TEST(endless_recording_runs_in_constant_memory),
    TEST(endless_loop_over_arrays_runs_in_constant_memory),
    TEST(memory_of_a_huge_recording_comes_back),
    TEST(memory_of_huge_recordings_stays),
    END_OF_TESTS,
};
