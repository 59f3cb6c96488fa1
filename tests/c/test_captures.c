/* What a stretch of the tape reads of what lies before it, and stretches that become constants. */
#include "check.h"
#include "twin.h"

#include <stdlib.h>

/* Mark each slot that the ranges hold; they ascend and do not meet inside of a block. */
static unsigned char *marks_of(const CadTape *tape, const CadRanges *ranges, size_t below) {
    unsigned char *marks = test_memory(below + 1, 1);
    for (size_t i = 0; i < ranges->count; i++) {
        const CadRange range = ranges->items[i];
        CHECK(range.begin < range.end);
        CHECK(range.end <= below);
        if (i > 0) {
            const size_t before = ranges->items[i - 1].end;
            CHECK(before <= range.begin);
            CHECK(before < range.begin || cad_tape_find_block(tape, (CadSlot)(before - 1)) !=
                                              cad_tape_find_block(tape, (CadSlot)range.begin));
        }
        for (size_t slot = range.begin; slot < range.end; slot++) {
            CHECK(!marks[slot]);
            marks[slot] = 1;
        }
    }
    return marks;
}

/* What nothing is computed from, though random programs do. */
static int is_comparison(CadOp op) {
    return op == CAD_OP_less || op == CAD_OP_less_equal || op == CAD_OP_equal ||
           op == CAD_OP_not_equal;
}

static void all_numbers_read_are_found_once(void) {
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        Program program = random_program(seed);
        const CadTape *const tape = program.tape;
        const size_t middle = program.begin + (program.end - program.begin) * seed / PROGRAMS;
        const CadSlot below = tape->entries[middle].out;
        unsigned char *expected = test_memory((size_t)below + 1, 1);
        for (size_t i = middle; i < program.end; i++) {
            const CadEntry e = tape->entries[i];
            if (CAD_CODE_OP(e.code) != CAD_OP_LEAF && !is_comparison(CAD_CODE_OP(e.code))) {
                expected[e.a < below && !(e.code & CAD_PASSIVE_A) ? e.a : below] = 1;
                expected[e.b < below && !(e.code & CAD_PASSIVE_B) ? e.b : below] = 1;
            }
        }
        CadRanges ranges;
        CHECK(cad_find_captures(tape, middle, program.end, below, &ranges) == CAD_OK);
        unsigned char *marks = marks_of(tape, &ranges, below);
        size_t count = 0;
        for (size_t slot = 0; slot < below; slot++) {
            CHECK_COUNT(marks[slot], expected[slot]);
            count += marks[slot];
        }
        CHECK((count > 0) == (cad_reads_below(tape, middle, program.end, below) != 0));
        free(marks);
        free(expected);
        cad_memory_free(ranges.items);
        program_free(&program);
    }
}

/* Whatever has an adjoint in the stretch that is not 0 was read there. */
static void arrays_read_are_found(void) {
    size_t found = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        Twin *twin = random_twin(seed, 30);
        CadTape *const tape = twin->arrays;
        const size_t middle = tape->n_entries / 2;
        const CadSlot below = tape->entries[middle].out;
        CadRanges ranges;
        CHECK(cad_find_captures(tape, middle, tape->n_entries, below, &ranges) == CAD_OK);
        unsigned char *marks = marks_of(tape, &ranges, below);
        for (size_t i = middle; i < tape->n_entries; i++) {
            CHECK(!cad_reads_below(tape, i, i + 1, below) || ranges.count > 0);
        }
        clear_adjoints(tape, below, tape->n_slots);
        for (size_t slot = below; slot < tape->n_slots; slot++) {
            cad_tape_prepare_adjoints(tape, slot, slot);
            cad_tape_adjoints(tape, (int64_t)slot)[slot] = 1.0;
        }
        cad_sweep_reverse(tape, middle, tape->n_entries, tape->n_entries, 0);
        cad_sweep_redo(tape, middle, tape->n_entries);
        for (CadSlot slot = 0; slot < below; slot++) {
            size_t target;
            int written = 0; /* an adjoint may also be that of a former value */
            for (size_t i = middle; i < tape->n_entries; i++) {
                written |= cad_entry_target(tape, tape->entries[i], &target) && target < below;
            }
            CHECK(written || marks[slot] || cad_tape_adjoint(tape, slot) == 0.0);
        }
        found += ranges.count;
        free(marks);
        cad_memory_free(ranges.items);
        twin_free(twin);
    }
    CHECK(found > 0);
}

static void ranges_end_at_the_border_of_a_block(void) {
    CadTape *tape = cad_tape_new();
    const CadSlot x = append_leaf(tape, 2 * CAD_LARGE_BLOCK, NULL);
    const CadSlot last = x + CAD_LARGE_BLOCK;
    CHECK(cad_tape_note_block(tape, x, last, CAD_ARGUMENT) == CAD_OK);
    CHECK(cad_tape_note_block(tape, last, last + CAD_LARGE_BLOCK, CAD_ARGUMENT) == CAD_OK);
    const size_t begin = tape->n_entries;
    const CadSlot below = (CadSlot)tape->n_slots;
    append2(tape, CAD_OP_add, variable(tape, last), variable(tape, last - 1));
    append2(tape, CAD_OP_add, variable(tape, last + 1), variable(tape, last - 2));
    CadRanges ranges;
    CHECK(cad_find_captures(tape, begin, tape->n_entries, below, &ranges) == CAD_OK);
    CHECK_COUNT(ranges.count, 2);
    CHECK_COUNT(ranges.items[0].begin, (size_t)last - 2);
    CHECK_COUNT(ranges.items[0].end, last);
    CHECK_COUNT(ranges.items[1].end, (size_t)last + 2);
    cad_memory_free(ranges.items);
    cad_tape_free(tape);
}

static void nothing_is_left_when_memory_fails(void) {
    Program program = random_program(1);
    const CadSlot below = program.tape->entries[program.end - 1].out;
    CadRanges ranges;
    cad_memory_fail_after(0);
    CHECK(cad_find_captures(program.tape, program.begin, program.end, below, &ranges) ==
          CAD_NO_MEMORY);
    cad_memory_fail_after(-1);
    CHECK(ranges.items == NULL && ranges.count == 0);
    CHECK(cad_find_captures(program.tape, program.end, program.end, below, &ranges) == CAD_OK);
    CHECK_COUNT(ranges.count, 0);
    program_free(&program);
}

static void what_is_frozen_is_constant(void) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        Twin *twin = random_twin(seed, 30);
        CadTape *const tape = twin->arrays;
        const size_t middle = tape->n_entries / 2, end = tape->n_entries;
        double *values = copy_of_values(tape);
        cad_freeze(tape, middle, end);
        CHECK(!cad_reads_below(tape, middle, end, (CadSlot)tape->n_slots));
        clear_adjoints(tape, 0, tape->n_slots);
        for (CadSlot slot = tape->entries[middle].out; slot < tape->n_slots; slot++) {
            cad_tape_prepare_adjoints(tape, slot, slot);
            cad_tape_adjoints(tape, slot)[slot] = 1.0;
        }
        cad_sweep_reverse(tape, middle, end, end, 0);
        cad_sweep_redo(tape, middle, end);
        for (CadSlot slot = 0; slot < tape->n_slots; slot++) {
            CHECK_SAME(tape->values[slot], values[slot]);
            CHECK(slot >= tape->entries[middle].out || cad_tape_adjoint(tape, slot) == 0.0);
        }
        size_t overwritten = 0;
        for (size_t i = 0; i < end; i++) {
            const CadOp op = CAD_CODE_OP(tape->entries[i].code);
            overwritten += op == CAD_OP_ASSIGN || op == CAD_OP_SCATTER;
        }
        CHECK_COUNT(tape->n_assigned, overwritten);
        free(values);
        twin_free(twin);
    }
}

const Test captures_tests[] = {
    TEST(all_numbers_read_are_found_once),     TEST(arrays_read_are_found),
    TEST(ranges_end_at_the_border_of_a_block), TEST(nothing_is_left_when_memory_fails),
    TEST(what_is_frozen_is_constant),          END_OF_TESTS,
};
