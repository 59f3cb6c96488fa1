/* The tests of the core as a program.
 *
 *   test_core --list     the names of all tests
 *   test_core NAME ...   run these; the exit status tells whether all passed
 *   test_core            run all
 *
 * Each name is printed before the test runs: a crash is that of the last one.
 * tests/c/test_c_core.py builds and runs it. */
#include "check.h"

#include <stdio.h>
#include <string.h>

static const Test *const suites[] = {
    tape_tests,    memory_tests, captures_tests, ops_tests,    sweep_tests, zero_tests,
    reclaim_tests, room_tests,   special_tests,  array_tests,  guard_tests, sparsity_tests,
    block_tests,   kernel_tests, taylor_tests,   linear_tests, call_tests,  graph_tests,
    thread_tests,  factor_tests, matrix_tests,   loop_tests,   box_tests,
};

enum { SUITES = sizeof suites / sizeof suites[0] };

static void run(const Test *test) {
    const size_t before = check_failures();
    printf("%s\n", test->name);
    fflush(stdout);
    check_subject(NULL);
    test->run();
    const size_t failed = check_failures() - before;
    if (failed > 0) {
        printf("%s: %zu checks failed\n", test->name, failed);
    }
}

static const Test *find(const char *name) {
    for (int i = 0; i < SUITES; i++) {
        for (const Test *test = suites[i]; test->name != NULL; test++) {
            if (strcmp(test->name, name) == 0) {
                return test;
            }
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    const int list = argc > 1 && strcmp(argv[1], "--list") == 0;
    for (int i = 0; argc == 1 + list && i < SUITES; i++) {
        for (const Test *test = suites[i]; test->name != NULL; test++) {
            if (list) {
                printf("%s\n", test->name);
            } else {
                run(test);
            }
        }
    }
    for (int i = 1 + list; i < argc; i++) {
        const Test *const test = find(argv[i]);
        if (test == NULL) {
            fprintf(stderr, "no test is called %s\n", argv[i]);
            return 2;
        }
        run(test);
    }
    return check_failures() > 0;
}
