/* A program for a target of fuzz.h: with libFuzzer, which is asked for by -DFUZZED=fuzz_tape or
 * the like; or else one that runs files of bytes, each once.
 *
 *   fuzz TARGET FILE ...       the exit status tells whether all checks passed
 *   fuzz --seeds FOLDER        writes graphs to begin with */
#include "fuzz.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 16, SEEDS = 64 };

#ifdef FUZZED
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    const int kept = FUZZED(bytes, size);
    if (check_failures() > 0) {
        fflush(stdout);
        abort();
    }
    return kept;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed) {
    if (FUZZED == fuzz_graph && seed % 4 != 0) {
        return fuzz_graph_mutate(bytes, size, most, seed);
    }
    return LLVMFuzzerMutate(bytes, size, most);
}
#else
static const struct {
    const char *name;
    FuzzTarget *run;
} targets[] = {{"tape", fuzz_tape},
               {"arrays", fuzz_arrays},
               {"graph", fuzz_graph},
               {"program", fuzz_program}};

static uint8_t bytes[MOST_BYTES];

static FuzzTarget *find(const char *name) {
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (strcmp(targets[i].name, name) == 0) {
            return targets[i].run;
        }
    }
    return NULL;
}

/* What a file has, in memory of just that size, so that sanitizers see where it ends. */
static int run_file(FuzzTarget *target, const char *path) {
    FILE *const file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s cannot be read\n", path);
        return 0;
    }
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint8_t *const own = test_memory(size, 1);
    memcpy(own, bytes, size);
    const size_t before = check_failures();
    target(own, size);
    free(own);
    if (check_failures() > before) {
        printf("%s: a check failed\n", path);
    }
    return check_failures() == before;
}

static int write_seeds(const char *folder) {
    for (unsigned kind = 0; kind < SEEDS; kind++) {
        char path[4096];
        const size_t size = fuzz_graph_seed(kind, bytes, sizeof bytes);
        snprintf(path, sizeof path, "%s/seed-%02u", folder, kind);
        FILE *const file = size > 0 ? fopen(path, "wb") : NULL;
        if (file != NULL) {
            fwrite(bytes, 1, size, file);
            fclose(file);
        }
    }
    return check_failures() > 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        return write_seeds(argv[2]);
    }
    FuzzTarget *const target = argc > 1 ? find(argv[1]) : NULL;
    if (target == NULL) {
        fprintf(stderr, "expected a target, one of tape, arrays, graph and program, and files\n");
        return 2;
    }
    int passed = 1;
    for (int i = 2; i < argc; i++) {
        passed = run_file(target, argv[i]) && passed;
    }
    return !passed;
}
#endif
