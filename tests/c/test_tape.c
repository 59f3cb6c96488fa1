/* The tape: what is appended is found again, marks bring back what was, nothing else moves. */
#include "check.h"
#include "on_tape.h"

#include <math.h>
#include <stdlib.h>

static CadNumber random_of_pool(const CadTape *tape, Random *random, const Pool *pool) {
    return variable(tape, pool->slots[random_below(random, pool->count)]);
}

/* --- appending --- */

static void leaf_holds_values_and_gradients(void) {
    static const size_t counts[] = {0, 1, 2, 1000, 1000000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const size_t count = counts[i];
        double *values = test_memory(count, sizeof *values);
        for (size_t k = 0; k < count; k++) {
            values[k] = (double)k + 0.5;
        }
        CadTape *tape = cad_tape_new();
        const CadSlot zeros = append_leaf(tape, count, NULL);
        const CadSlot given = append_leaf(tape, count, values);
        const size_t slots = count > 0 ? 2 * count : 1; /* an empty leaf has a slot of its own */
        CHECK_COUNT(given, zeros + slots);
        CHECK_COUNT(tape->n_slots, 2 * slots);
        CHECK_COUNT(tape->n_entries, 2);
        size_t wrong = 0;
        for (size_t k = 0; k < count; k++) {
            wrong += tape->values[zeros + k] != 0.0 || tape->values[given + k] != values[k];
            wrong += tape->values[zeros + count + k] != 0.0;
            wrong += tape->values[given + count + k] != 0.0;
        }
        CHECK_COUNT(wrong, 0);
        cad_tape_free(tape);
        free(values);
    }
}

/* Slots are used again after a rewind: what they held must not show. */
static void leaf_clears_the_room_it_takes(void) {
    CadTape *tape = cad_tape_new();
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot x = append_leaf(tape, 1, NULL);
    for (int i = 0; i < 100; i++) {
        append2(tape, CAD_OP_add, variable(tape, x), constant(7.0 + i));
    }
    cad_tape_rewind(tape);
    const CadSlot y = append_leaf(tape, 50, NULL);
    for (CadSlot k = 0; k < 100; k++) {
        CHECK_BITS(tape->values[y + k], 0.0);
    }
    cad_tape_free(tape);
}

/* --- constants --- */

static double number_of_bits(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void constants_differ_by_their_bits(void) {
    const double quiet = number_of_bits(0x7ff8000000000000u);
    const double payload = number_of_bits(0x7ff8000000000123u);
    const double different[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, quiet, payload, -quiet};
    enum { COUNT = sizeof different / sizeof different[0] };
    CadTape *tape = cad_tape_new();
    CadSlot slots[COUNT];
    for (int i = 0; i < COUNT; i++) {
        CHECK(cad_tape_ensure(tape) == CAD_OK);
        slots[i] = cad_tape_constant(tape, different[i]);
        CHECK_COUNT(slots[i], i);
        CHECK_COUNT(cad_tape_constant(tape, different[i]), slots[i]);
        CHECK_BITS(tape->values[slots[i]], different[i]);
    }
    cad_tape_free(tape);
}

/* Far more constants than the cache has places: a hit is always right, a miss takes a slot. */
static void constants_survive_collisions(void) {
    enum { DISTINCT = 500, REQUESTS = 20000 };
    CadTape *tape = cad_tape_new();
    Random random = {1};
    double numbers[DISTINCT];
    for (int i = 0; i < DISTINCT; i++) {
        numbers[i] = number_of_bits(random_bits(&random));
    }
    size_t hits = 0;
    for (int i = 0; i < REQUESTS; i++) {
        const double number = numbers[random_below(&random, i % 2 ? DISTINCT : 8)];
        CHECK(cad_tape_ensure(tape) == CAD_OK);
        const size_t before = tape->n_slots;
        const CadSlot slot = cad_tape_constant(tape, number);
        CHECK_BITS(tape->values[slot], number);
        CHECK(slot == before ? tape->n_slots == before + 1 : tape->n_slots == before);
        hits += tape->n_slots == before;
    }
    CHECK(hits > 0 && hits < REQUESTS);
    cad_tape_free(tape);
}

static void constants_never_pass_a_mark(void) {
    CadTape *tape = cad_tape_new();
    CHECK(cad_tape_ensure(tape) == CAD_OK);
    const CadSlot outer = cad_tape_constant(tape, 2.5);
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot inner = cad_tape_constant(tape, 2.5);
    CHECK(inner >= tape->mark_slots && inner != outer);
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot innermost = cad_tape_constant(tape, 2.5);
    CHECK(innermost >= tape->mark_slots && innermost != inner);
    cad_tape_rewind(tape);
    CHECK_COUNT(tape->n_slots, innermost);
    const CadSlot again = cad_tape_constant(tape, 2.5); /* its old slot is gone */
    CHECK(again < tape->n_slots && again >= tape->mark_slots);
    CHECK_SAME(tape->values[again], 2.5);
    cad_tape_keep(tape);
    CHECK_SAME(tape->values[cad_tape_constant(tape, 2.5)], 2.5);
    CHECK(cad_tape_constant(tape, 2.5) < tape->n_slots);
    cad_tape_free(tape);
}

/* --- finding --- */

/* A tape of leaves of all sizes, empty ones among them, operations of one to three operands, and
 * constants; `writers` learns, for each slot, the entry that wrote it. */
static CadTape *mixed_tape(Random *random, size_t *writers, size_t *slots) {
    CadTape *tape = cad_tape_new();
    Pool pool = {0};
    pool_add(&pool, append_leaf(tape, 1, NULL));
    writers[0] = 0;
    writers[1] = SIZE_MAX;
    for (int i = 0; i < 500; i++) {
        const size_t begin = tape->n_slots;
        const size_t choice = random_below(random, 8);
        size_t count = 0;
        CadSlot made;
        if (choice == 0) {
            count = random_below(random, 4);
            made = append_leaf(tape, count, NULL);
        } else {
            const CadNumber x[3] = {random_of_pool(tape, random, &pool), constant(i / 7),
                                    random_of_pool(tape, random, &pool)};
            const CadOp op = choice < 4 ? CAD_OP_sin : choice < 6 ? CAD_OP_add : CAD_OP_clip;
            made = append(tape, op, x);
            count = 1;
        }
        for (size_t slot = begin; slot < tape->n_slots; slot++) {
            writers[slot] = slot >= made && slot < made + count ? tape->n_entries - 1 : SIZE_MAX;
        }
        if (count > 0) {
            pool_add(&pool, made + (CadSlot)count - 1);
        }
    }
    *slots = tape->n_slots;
    pool_free(&pool);
    return tape;
}

static void find_answers_who_wrote_a_slot(void) {
    size_t writers[5000], slots;
    for (uint64_t seed = 0; seed < 20; seed++) {
        Random random = {seed};
        CadTape *tape = mixed_tape(&random, writers, &slots);
        for (size_t slot = 0; slot < slots; slot++) {
            const size_t expected = writers[slot] == SIZE_MAX ? tape->n_entries : writers[slot];
            CHECK_COUNT(cad_tape_find(tape, (CadSlot)slot), expected);
        }
        CHECK_COUNT(cad_tape_find(tape, (CadSlot)slots), tape->n_entries);
        CHECK_COUNT(cad_tape_find(tape, CAD_NONE), tape->n_entries);
        for (size_t i = 1; i < tape->n_entries; i++) {
            CHECK(tape->entries[i - 1].out <= tape->entries[i].out);
        }
        cad_tape_free(tape);
    }
    CadTape *empty = cad_tape_new();
    CHECK_COUNT(cad_tape_find(empty, 0), 0);
    cad_tape_free(empty);
    cad_tape_free(NULL);
}

/* --- growing --- */

static void tape_grows_to_millions_of_entries(void) {
    enum { COUNT = 1200000 };
    CadTape *tape = cad_tape_new();
    const double one = 1.0;
    const CadSlot x = append_leaf(tape, 1, &one);
    CadSlot y = x;
    for (int i = 0; i < COUNT; i++) {
        y = append2(tape, CAD_OP_add, variable(tape, y), variable(tape, x));
        if (i % 100000 == 0) {
            CHECK_COUNT(cad_tape_find(tape, y), tape->n_entries - 1);
        }
    }
    CHECK_SAME(tape->values[y], COUNT + 1.0);
    CHECK_COUNT(tape->n_entries, COUNT + 1);
    CHECK_COUNT(tape->n_slots, COUNT + 2);
    CHECK_COUNT(cad_tape_bytes(tape), (COUNT + 1) * 16 + (COUNT + 2) * 16);
    backward_from(tape, y);
    CHECK_SAME(tape->values[x + 1], COUNT + 1.0);
    cad_tape_free(tape);
}

/* Slots near the last one that can be named: the buffer is only said to be that large, and nothing
 * is written to it. */
static void full_tape_says_so(void) {
    CadTape *tape = cad_tape_new();
    const CadSlot x = append_leaf(tape, 1, NULL);
    const size_t n_slots = tape->n_slots, capacity = tape->slot_capacity;
    const size_t last = CAD_MOST_SLOTS - 2 * CAD_HEADROOM;
    CadSlot unchanged = 42;
    tape->slot_capacity = CAD_MOST_SLOTS;
    tape->n_slots = last - 10;
    CHECK(cad_tape_grow(tape, 10) == CAD_OK);
    CHECK(cad_tape_grow(tape, 11) == CAD_TAPE_FULL);
    CHECK(cad_tape_leaf(tape, NULL, 6, 1, &unchanged) == CAD_TAPE_FULL);
    CHECK(cad_tape_ensure(tape) == CAD_OK);
    CHECK(tape->slot_room <= last);
    tape->n_slots = last;
    CHECK(cad_tape_ensure(tape) == CAD_OK);
    tape->n_slots = last + 1; /* what CAD_HEADROOM promises is still there */
    CHECK(cad_tape_ensure(tape) == CAD_TAPE_FULL);
    tape->n_slots = n_slots;
    tape->slot_capacity = capacity;
    tape->slot_room = 0;
    CHECK(cad_tape_leaf(tape, NULL, CAD_MOST_SLOTS / 2, 1, &unchanged) == CAD_TAPE_FULL);
    CHECK(cad_tape_leaf(tape, NULL, SIZE_MAX / 2, 1, &unchanged) == CAD_TAPE_FULL);
    CHECK(cad_tape_leaf(tape, NULL, SIZE_MAX / 2 + 1, 1, &unchanged) == CAD_TAPE_FULL);
    CHECK(cad_tape_grow(tape, SIZE_MAX) == CAD_TAPE_FULL);
    CHECK_COUNT(unchanged, 42);
    CHECK_COUNT(tape->n_entries, 1);
    backward_from(tape, append1(tape, CAD_OP_exp, x));
    CHECK_SAME(tape->values[x + 1], 1.0);
    cad_tape_free(tape);
}

/* --- marks --- */

static void marks_nest(void) {
    enum { DEPTH = 3000 };
    CadTape *tape = cad_tape_new();
    size_t entries[DEPTH], slots[DEPTH];
    const CadSlot x = append_leaf(tape, 1, NULL);
    for (int i = 0; i < DEPTH; i++) {
        entries[i] = tape->n_entries;
        slots[i] = tape->n_slots;
        tape->handles = i + 1;
        CHECK(cad_tape_mark(tape) == CAD_OK);
        CHECK_COUNT(tape->handles, 0);
        CHECK_COUNT(tape->mark_slots, slots[i]);
        append2(tape, CAD_OP_add, variable(tape, x), constant(i % 2));
    }
    for (int i = DEPTH - 1; i >= 0; i--) {
        CHECK_COUNT(tape->n_marks, i + 1);
        CHECK_COUNT(tape->mark_slots, slots[i]);
        tape->handles = 5; /* let go of with what is rewound */
        cad_tape_rewind(tape);
        CHECK_COUNT(tape->n_entries, entries[i]);
        CHECK_COUNT(tape->n_slots, slots[i]);
        CHECK_COUNT(tape->handles, i + 1);
    }
    CHECK_COUNT(tape->mark_slots, 0);
    cad_tape_free(tape);
}

static void keeping_a_mark_keeps_what_came_after(void) {
    CadTape *tape = cad_tape_new();
    const CadSlot x = append_leaf(tape, 1, NULL);
    tape->handles = 2;
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const size_t outer = tape->mark_slots;
    const CadSlot y = append1(tape, CAD_OP_exp, x);
    tape->handles = 3;
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot z = append1(tape, CAD_OP_exp, y);
    tape->handles = 4;
    cad_tape_keep(tape);
    CHECK_COUNT(tape->n_marks, 1);
    CHECK_COUNT(tape->mark_slots, outer);
    CHECK_COUNT(tape->handles, 7);
    CHECK_COUNT(tape->n_entries, 3);
    backward_from(tape, z);
    CHECK_NEAR(tape->values[x + 1], exp(1.0), 1e-15);
    cad_tape_rewind(tape);
    CHECK_COUNT(tape->n_entries, 1);
    CHECK_COUNT(tape->handles, 2);
    cad_tape_free(tape);
}

/* Handles are counted with the innermost recording that their slots belong to. */
static void handles_are_counted_by_slot(void) {
    CadTape *tape = cad_tape_new();
    const CadSlot outer = append_leaf(tape, 1, NULL);
    CHECK(cad_tape_mark(tape) == CAD_OK);
    CHECK(cad_tape_mark(tape) == CAD_OK); /* nothing lies between these two */
    const CadSlot middle = append_leaf(tape, 1, NULL);
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot inner = append_leaf(tape, 1, NULL);
    for (int i = 0; i < 5; i++) {
        cad_tape_count_handle(tape, inner, 1);
        cad_tape_count_handle(tape, i % 2 ? middle : outer, 1);
    }
    cad_tape_count_handle(tape, outer, -1);
    CHECK_COUNT(tape->handles, 5);
    cad_tape_count_handle(tape, inner, -1);
    cad_tape_keep(tape);
    CHECK_COUNT(tape->handles, 6); /* 4 of inner and 2 of middle */
    cad_tape_count_handle(tape, inner, -1);
    CHECK_COUNT(tape->handles, 5);
    cad_tape_rewind(tape);
    CHECK_COUNT(tape->handles, 0);
    cad_tape_rewind(tape);
    CHECK_COUNT(tape->handles, 2);
    cad_tape_free(tape);
}

/* A slot used again after a rewind has been reached by no sweep. */
static void rewinding_forgets_adjoints(void) {
    CadTape *tape = cad_tape_new();
    const double two = 2.0;
    const CadSlot x = append_leaf(tape, 1, &two);
    CHECK(cad_tape_mark(tape) == CAD_OK);
    const CadSlot y = append1(tape, CAD_OP_square, x);
    const CadSlot z = append1(tape, CAD_OP_exp, y);
    backward_from(tape, z);
    CHECK_NEAR(cad_tape_adjoint(tape, y), exp(4.0), 1e-13);
    cad_tape_rewind(tape);
    CHECK_COUNT(append1(tape, CAD_OP_sin, x), y);
    CHECK_COUNT(append1(tape, CAD_OP_sin, y), z);
    CHECK_SAME(cad_tape_adjoint(tape, y), 0.0);
    CHECK_SAME(cad_tape_adjoint(tape, z), 0.0);
    CHECK_NEAR(cad_tape_adjoint(tape, x), 4.0 * exp(4.0), 1e-12);
    cad_tape_free(tape);
}

static void entries_that_read_below_are_noticed(void) {
    CadTape *tape = cad_tape_new();
    const CadNumber outer = variable(tape, append_leaf(tape, 1, NULL)); /* entry 0 */
    const CadSlot base = (CadSlot)tape->n_slots;
    const CadNumber inner = variable(tape, append_leaf(tape, 1, NULL)); /* 1 */
    append2(tape, CAD_OP_add, constant(1.0), inner);                    /* 2 */
    append2(tape, CAD_OP_add, inner, constant(1.0));                    /* 3 */
    append1(tape, CAD_OP_sin, outer.slot);                              /* 4 */
    append2(tape, CAD_OP_add, inner, outer);                            /* 5 */
    append2(tape, CAD_OP_add, outer, inner);                            /* 6 */
    const CadNumber operands[3] = {inner, inner, outer};
    append(tape, CAD_OP_clip, operands); /* 7 and 8 */
    tape->entries[2].a = outer.slot;     /* a constant below, which is passive */
    tape->entries[3].b = outer.slot;
    CHECK(!cad_reads_below(tape, 1, 4, base));
    CHECK(!cad_reads_below(tape, 0, 9, 0));
    CHECK(!cad_reads_below(tape, 4, 4, base));
    for (size_t i = 4; i < 8; i++) {
        CHECK(cad_reads_below(tape, i, i + 1, base));
    }
    CHECK(!cad_reads_below(tape, 8, 9, base)); /* the third operand is that of entry 7 */
    CHECK(cad_reads_below(tape, 1, 9, base));
    cad_tape_free(tape);
}

/* --- adjoints --- */

static void clearing_makes_all_adjoints_zero(void) {
    CadTape *tape = cad_tape_new();
    CHECK(cad_tape_clear_adjoints(tape, 0, 0) == CAD_OK); /* of an empty tape */
    const CadSlot x = append_leaf(tape, 1, NULL);
    CadSlot y = x;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 1500; i++) {
            y = append1(tape, CAD_OP_sin, y);
        }
        backward_from(tape, y);
        CHECK_SAME(cad_tape_adjoint(tape, x), 1.0);
        CHECK(tape->adjoint_capacity >= tape->n_slots);
        clear_adjoints(tape, 0, 0);
        for (size_t slot = 0; slot < tape->adjoint_capacity; slot++) {
            CHECK(tape->adjoints[slot] == 0.0);
        }
        CHECK_SAME(cad_tape_adjoint(tape, x), 0.0);
    }
    cad_tape_free(tape);
}

static void each_slot_has_an_adjoint(void) {
    CadTape *tape = cad_tape_new();
    CadSlot y = append_leaf(tape, 1, NULL);
    clear_adjoints(tape, 0, 0);
    while (tape->n_slots <= tape->adjoint_capacity) { /* one more than there are adjoints */
        y = append1(tape, CAD_OP_sin, y);
    }
    clear_adjoints(tape, y, (size_t)y + 1);
    CHECK(tape->adjoint_capacity >= tape->n_slots);
    tape->adjoints[y] = 1.0;
    CHECK_SAME(cad_tape_adjoint(tape, y), 1.0);
    cad_tape_free(tape);
}

const Test tape_tests[] = {
    TEST(leaf_holds_values_and_gradients),
    TEST(leaf_clears_the_room_it_takes),
    TEST(constants_differ_by_their_bits),
    TEST(constants_survive_collisions),
    TEST(constants_never_pass_a_mark),
    TEST(find_answers_who_wrote_a_slot),
    TEST(tape_grows_to_millions_of_entries),
    TEST(full_tape_says_so),
    TEST(marks_nest),
    TEST(keeping_a_mark_keeps_what_came_after),
    TEST(handles_are_counted_by_slot),
    TEST(rewinding_forgets_adjoints),
    TEST(entries_that_read_below_are_noticed),
    TEST(clearing_makes_all_adjoints_zero),
    TEST(each_slot_has_an_adjoint),
    END_OF_TESTS,
};
