/* See check.h. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MESSAGES = 20 };

static size_t failures;
static const char *subject;

void check_subject(const char *text) {
    subject = text;
}

size_t check_failures(void) {
    return failures;
}

/* Count a failure; answers whether it is to be printed, and begins the message. */
static int fail(const char *file, int line, const char *text) {
    if (++failures > MOST_MESSAGES) {
        return 0;
    }
    printf("%s:%d: ", file, line);
    if (subject != NULL) {
        printf("[%s] ", subject);
    }
    printf("%s", text);
    return 1;
}

void check_that(int passed, const char *file, int line, const char *text) {
    if (!passed && fail(file, line, text)) {
        printf(" is false\n");
    }
}

void check_count(size_t actual, size_t expected, const char *file, int line, const char *text) {
    if (actual != expected && fail(file, line, text)) {
        printf(" is false: %zu, expected %zu\n", actual, expected);
    }
}

static int same(double x, double y) {
    return x == y || (x != x && y != y);
}

void check_same(double actual, double expected, const char *file, int line, const char *text) {
    if (!same(actual, expected) && fail(file, line, text)) {
        printf(" is false: %.17g, expected %.17g\n", actual, expected);
    }
}

void check_bits(double actual, double expected, const char *file, int line, const char *text) {
    if (memcmp(&actual, &expected, sizeof actual) != 0 && fail(file, line, text)) {
        printf(": no, %a instead of %a\n", actual, expected);
    }
}

void check_near(double actual, double expected, double bound, const char *file, int line,
                const char *text) {
    if (!same(actual, expected) && !(fabs(actual - expected) <= bound) && fail(file, line, text)) {
        printf(": no, %.17g instead of %.17g, off by %.3g where %.3g is allowed\n", actual,
               expected, fabs(actual - expected), bound);
    }
}

void check_want_of_memory(CadStatus (*attempt)(long granted, int which), int which, long least) {
    CadStatus status = CAD_NO_MEMORY;
    long granted = 0;
    for (; status == CAD_NO_MEMORY && granted < 20000; granted++) {
        status = attempt(granted, which);
        cad_memory_fail_after(-1);
    }
    CHECK(status == CAD_OK);
    CHECK(granted > least);
}

void *test_memory(size_t count, size_t size) {
    void *block = calloc(count > 0 ? count : 1, size);
    if (block == NULL) {
        fprintf(stderr, "the tests need more memory than there is\n");
        exit(2);
    }
    return block;
}
