/* What the tests of the core share: checks that print what they saw, and the form of a test.
 *
 * A test is a function without arguments. Each file ends with a table of its tests, which
 * test_core.c collects; a test that is left out of the table does not compile (-Wunused). */
#ifndef CHECK_H
#define CHECK_H

#include "memory/memory.h"

#include <stddef.h>

typedef struct Test {
    const char *name;
    void (*run)(void);
} Test;

/* clang-format off */
#define TEST(function) {#function, function}
/* clang-format on */
#define END_OF_TESTS {NULL, NULL}

extern const Test array_tests[];
extern const Test block_tests[];
extern const Test box_tests[];
extern const Test call_tests[];
extern const Test factor_tests[];
extern const Test graph_tests[];
extern const Test guard_tests[];
extern const Test kernel_tests[];
extern const Test linear_tests[];
extern const Test loop_tests[];
extern const Test matrix_tests[];
extern const Test tape_tests[];
extern const Test memory_tests[];
extern const Test captures_tests[];
extern const Test ops_tests[];
extern const Test sweep_tests[];
extern const Test zero_tests[];
extern const Test reclaim_tests[];
extern const Test room_tests[];
extern const Test sparsity_tests[];
extern const Test special_tests[];
extern const Test taylor_tests[];
extern const Test thread_tests[];

/* A condition. */
#define CHECK(condition) check_that((condition) != 0, __FILE__, __LINE__, #condition)

/* Equal numbers of things. */
#define CHECK_COUNT(actual, expected)                                                             \
    check_count(actual, expected, __FILE__, __LINE__, #actual " == " #expected)

/* Equal numbers, 0 and -0 among them, or both nan. */
#define CHECK_SAME(actual, expected)                                                              \
    check_same(actual, expected, __FILE__, __LINE__, #actual " == " #expected)

/* Equal bits. */
#define CHECK_BITS(actual, expected)                                                              \
    check_bits(actual, expected, __FILE__, __LINE__, #actual " has the bits of " #expected)

/* |actual - expected| <= bound; infinities and nan as CHECK_SAME. */
#define CHECK_NEAR(actual, expected, bound)                                                       \
    check_near(actual, expected, bound, __FILE__, __LINE__, #actual " is near " #expected)

void check_that(int passed, const char *file, int line, const char *text);
void check_count(size_t actual, size_t expected, const char *file, int line, const char *text);
void check_same(double actual, double expected, const char *file, int line, const char *text);
void check_bits(double actual, double expected, const char *file, int line, const char *text);
void check_near(double actual, double expected, double bound, const char *file, int line,
                const char *text);

/* What the following checks are about, for their messages; NULL for nothing in particular. */
void check_subject(const char *subject);

/* How many checks have failed. */
size_t check_failures(void);

/* Attempt something with 0, 1, 2, ... requests of memory granted (cad_memory_fail_after), until it
 * succeeds: before, it wants memory, and more than `least` times. `which` tells variants apart. */
void check_want_of_memory(CadStatus (*attempt)(long granted, int which), int which, long least);

/* Zeroed memory that the tests themselves need: they cannot go on without. */
void *test_memory(size_t count, size_t size);

#endif
