/* Failure of memory, at every request of everything that makes one: the answer is a clean status,
 * the tape is as it was and goes on to give right numbers, and nothing is leaked (which
 * LeakSanitizer sees). */
#include "check.h"
#include "on_tape.h"

#include <stdlib.h>

enum { CHAIN = 1000 };

/* --- a tape whose buffers are nearly full, and what must hold of it --- */

/* A leaf at slot 0 and a chain of sines over it. */
static CadTape *chain_tape(void) {
    CadTape *tape = cad_tape_new();
    const double one = 1.0;
    CadSlot y = append_leaf(tape, 1, &one);
    for (int i = 0; i < CHAIN; i++) {
        y = append1(tape, CAD_OP_sin, y);
    }
    backward_from(tape, y);
    return tape;
}

typedef struct Snapshot {
    CadEntry *entries;
    double *values;
    double *adjoints;
    size_t n_entries, n_slots, n_marks, mark_slots, dirty_begin, dirty_end;
} Snapshot;

static Snapshot take_snapshot(const CadTape *tape) {
    Snapshot s = {.n_entries = tape->n_entries,
                  .n_slots = tape->n_slots,
                  .n_marks = tape->n_marks,
                  .mark_slots = tape->mark_slots,
                  .dirty_begin = tape->dirty_begin,
                  .dirty_end = tape->dirty_end};
    s.entries = test_memory(s.n_entries, sizeof *s.entries);
    s.values = test_memory(s.n_slots, sizeof *s.values);
    s.adjoints = test_memory(s.n_slots, sizeof *s.adjoints);
    memcpy(s.entries, tape->entries, s.n_entries * sizeof *s.entries);
    memcpy(s.values, tape->values, s.n_slots * sizeof *s.values);
    for (size_t slot = 0; slot < s.n_slots; slot++) {
        s.adjoints[slot] = cad_tape_adjoint(tape, (CadSlot)slot);
    }
    return s;
}

static void free_snapshot(Snapshot *s) {
    free(s->entries);
    free(s->values);
    free(s->adjoints);
}

static void check_unchanged(const CadTape *tape, const Snapshot *s) {
    CHECK_COUNT(tape->n_entries, s->n_entries);
    CHECK_COUNT(tape->n_slots, s->n_slots);
    CHECK_COUNT(tape->n_marks, s->n_marks);
    CHECK_COUNT(tape->mark_slots, s->mark_slots);
    CHECK_COUNT(tape->dirty_begin, s->dirty_begin);
    CHECK_COUNT(tape->dirty_end, s->dirty_end);
    CHECK(memcmp(tape->entries, s->entries, s->n_entries * sizeof *s->entries) == 0);
    CHECK(memcmp(tape->values, s->values, s->n_slots * sizeof *s->values) == 0);
    for (size_t slot = 0; slot < s->n_slots; slot++) {
        CHECK_SAME(cad_tape_adjoint(tape, (CadSlot)slot), s->adjoints[slot]);
    }
}

/* New leaves and entries, marks and sweeps give right numbers. */
static void check_usable(CadTape *tape) {
    const double half = 0.5;
    const size_t n_entries = tape->n_entries;
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot x = append_leaf(tape, 1, &half);
    CadSlot y = x;
    for (int i = 0; i < 3 * CHAIN; i++) {
        y = append2(tape, CAD_OP_add, variable(tape, y), variable(tape, x));
    }
    backward_from(tape, append1(tape, CAD_OP_square, y));
    const double sum = 0.5 * (3 * CHAIN + 1);
    CHECK_SAME(tape->values[y], sum);
    CHECK_SAME(tape->values[x + 1], 2.0 * sum * (3 * CHAIN + 1));
    cad_tape_rewind(tape);
    CHECK_COUNT(tape->n_entries, n_entries);
}

/* Let `attempt` run on a fresh tape with 0, 1, 2, ... requests granted, until it succeeds. */
static void survive(CadStatus (*attempt)(CadTape *)) {
    CadStatus status = CAD_NO_MEMORY;
    long granted = 0;
    for (; status != CAD_OK && granted < 1000; granted++) {
        CadTape *tape = chain_tape();
        Snapshot snapshot = take_snapshot(tape);
        cad_memory_fail_after(granted);
        status = attempt(tape);
        cad_memory_fail_after(-1);
        if (status != CAD_OK) {
            CHECK(status == CAD_NO_MEMORY);
            check_unchanged(tape, &snapshot);
        }
        check_usable(tape);
        free_snapshot(&snapshot);
        cad_tape_free(tape);
    }
    CHECK(status == CAD_OK);
    CHECK(granted > 1); /* something was refused */
}

/* --- the door itself --- */

static void requests_beyond_the_address_space_are_refused(void) {
    CHECK(cad_memory_resize(NULL, SIZE_MAX, 8) == NULL);
    CHECK(cad_memory_resize(NULL, SIZE_MAX / 8, 16) == NULL);
    CHECK(cad_memory_zeroed(SIZE_MAX / 2, 8) == NULL);
    void *nothing = cad_memory_resize(NULL, 0, 8);
    CHECK(nothing != NULL);
    nothing = cad_memory_resize(nothing, 0, 8);
    CHECK(nothing != NULL);
    cad_memory_free(nothing);
    nothing = cad_memory_zeroed(0, 0);
    CHECK(nothing != NULL);
    cad_memory_free(nothing);
    cad_memory_free(NULL);
}

static void refusals_come_after_the_granted_requests(void) {
    cad_memory_fail_after(2);
    void *first = cad_memory_zeroed(1, 8);
    void *second = cad_memory_resize(NULL, 1, 8);
    CHECK(first != NULL && second != NULL);
    CHECK(cad_memory_zeroed(1, 8) == NULL);
    CHECK(cad_memory_resize(second, 2, 8) == NULL); /* and `second` is still there */
    cad_memory_fail_after(-1);
    second = cad_memory_resize(second, 2, 8);
    CHECK(second != NULL);
    cad_memory_free(first);
    cad_memory_free(second);
}

/* --- the tape --- */

static void new_tape_survives(void) {
    cad_memory_fail_after(0);
    CadTape *tape = cad_tape_new();
    cad_memory_fail_after(-1);
    CHECK(tape == NULL);
    cad_tape_free(tape);
}

static CadStatus attempt_leaf(CadTape *tape) {
    CadSlot slot = 42;
    const CadStatus status = cad_tape_leaf(tape, NULL, 1000000, 1, &slot);
    CHECK(status == CAD_OK ? slot == CHAIN + 2 : slot == 42);
    return status;
}

static CadStatus attempt_grow(CadTape *tape) {
    return cad_tape_grow(tape, 100000);
}

static CadStatus attempt_marks(CadTape *tape) {
    CadStatus status = CAD_OK;
    size_t made = 0;
    for (; status == CAD_OK && made < 5000; made++) {
        status = cad_tape_mark(tape);
    }
    for (made -= status != CAD_OK; made > 0; made--) {
        cad_tape_rewind(tape);
    }
    return status;
}

/* Clearing wants memory when the tape has outgrown the adjoints. */
static CadStatus attempt_clear(CadTape *tape) {
    const size_t n_entries = tape->n_entries, n_slots = tape->n_slots;
    CadStatus status = cad_tape_grow(tape, 5000);
    if (status == CAD_OK) {
        tape->n_slots += 5000;
        status = cad_tape_clear_adjoints(tape, 0, 0);
        tape->n_slots = n_slots;
        CHECK_COUNT(tape->n_entries, n_entries);
    }
    return status;
}

static CadStatus attempt_reclaim(CadTape *tape) {
    CadReclaim reclaim;
    const CadStatus status = cad_reclaim_begin(tape, &reclaim);
    if (status == CAD_OK) {
        cad_reclaim_hold_range(&reclaim, CHAIN / 2, CHAIN / 2 + 1);
        cad_reclaim_trace(tape, &reclaim);
        cad_sweep_undo_dead(tape, &reclaim);
        cad_reclaim_compact(tape, &reclaim);
        CHECK_COUNT(tape->n_slots, CHAIN / 2 + 1);
    }
    return status;
}

/* A failure leaves the entries that were recorded so far: the caller rewinds them. */
static CadStatus attempt_record(CadTape *tape) {
    const size_t end = tape->n_entries, n_slots = tape->n_slots;
    CadNumber *adjoints = zero_numbers(n_slots);
    CadStatus status = cad_tape_mark(tape);
    if (status == CAD_OK) {
        adjoints[n_slots - 1].value = 1.0;
        status = cad_sweep_record(tape, 0, end, 0, 0, adjoints);
        CHECK_COUNT((size_t)tape->pinned, 0);
        if (status == CAD_OK) {
            CHECK_SAME(adjoints[0].value, cad_tape_adjoint(tape, 0));
        }
        cad_tape_rewind(tape);
    }
    free(adjoints);
    return status;
}

static void all_requests_of_a_tape_survive(void) {
    static CadStatus (*const attempts[])(CadTape *) = {
        attempt_leaf, attempt_grow, attempt_marks, attempt_clear, attempt_reclaim, attempt_record};
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        survive(attempts[i]);
    }
}

/* Memory fails anywhere in a long loop, and comes back. */
static void growing_survives_anywhere(void) {
    enum { COUNT = 10000 };
    size_t refused = 1;
    for (long granted = 0; refused > 0 && granted < 1000; granted++) {
        CadTape *tape = cad_tape_new();
        const double one = 1.0;
        const CadSlot x = append_leaf(tape, 1, &one);
        CadSlot y = x;
        refused = 0;
        cad_memory_fail_after(granted);
        for (int i = 0; i < COUNT; i++) {
            if (cad_tape_ensure(tape) != CAD_OK) {
                refused++;
                cad_memory_fail_after(-1);
                CHECK(cad_tape_ensure(tape) == CAD_OK);
            }
            y = cad_tape_push(tape, CAD_CODE(CAD_OP_add, 0), y, x, tape->values[y] + 1.0);
        }
        cad_memory_fail_after(-1);
        backward_from(tape, y);
        CHECK_SAME(tape->values[y], COUNT + 1.0);
        CHECK_SAME(tape->values[x + 1], COUNT + 1.0);
        cad_tape_free(tape);
    }
    CHECK_COUNT(refused, 0);
}

const Test memory_tests[] = {
    TEST(requests_beyond_the_address_space_are_refused),
    TEST(refusals_come_after_the_granted_requests),
    TEST(new_tape_survives),
    TEST(all_requests_of_a_tape_survive),
    TEST(growing_survives_anywhere),
    END_OF_TESTS,
};
