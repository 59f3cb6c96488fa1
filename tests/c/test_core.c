/* The tests of the core as a program.
 *
 *   test_core --list    the names of all tests
 *   test_core NAME      run one test; the exit status tells whether it passed
 *   test_core           run all
 *
 * tests/test_c_core.py builds and runs it. */
#include "check.h"

#include <stdio.h>
#include <string.h>

static const Test *const suites[] = {
    tape_tests,   memory_tests,   captures_tests, ops_tests,     sweep_tests,
    zero_tests,   reclaim_tests,  room_tests,     special_tests, array_tests,
    guard_tests,  sparsity_tests, block_tests,    kernel_tests,  taylor_tests,
    linear_tests, call_tests,     graph_tests,    thread_tests,  factor_tests,
};

enum { SUITES = sizeof suites / sizeof suites[0] };

static void run(const Test *test) {
    const size_t before = check_failures();
    check_subject(NULL);
    test->run();
    const size_t failed = check_failures() - before;
    if (failed > 0) {
        printf("%s: %zu checks failed\n", test->name, failed);
    }
}

int main(int argc, char **argv) {
    const char *const wanted = argc > 1 ? argv[1] : NULL;
    const int list = wanted != NULL && strcmp(wanted, "--list") == 0;
    int found = 0;
    for (int i = 0; i < SUITES; i++) {
        for (const Test *test = suites[i]; test->name != NULL; test++) {
            if (list) {
                printf("%s\n", test->name);
            } else if (wanted == NULL || strcmp(wanted, test->name) == 0) {
                run(test);
                found = 1;
            }
        }
    }
    if (!list && !found) {
        fprintf(stderr, "no test is called %s\n", wanted);
        return 2;
    }
    return check_failures() > 0;
}
