/* What a fuzzer calls: each target takes any bytes, and makes of them what its file says.
 *
 * Checks of tests/c/check.h count what is wrong; fuzzer.c ends the program then. A sanitizer ends
 * it where memory is used that is not there, or behaviour is not defined. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Answers 0, or -1 for bytes that need not be kept in a corpus. */
typedef int FuzzTarget(const uint8_t *bytes, size_t size);

FuzzTarget fuzz_tape;
FuzzTarget fuzz_arrays;
FuzzTarget fuzz_graph;
FuzzTarget fuzz_program;

/* Change the bytes of a graph in place, part by part, where bytes at random would seldom be one.
 * Answers their new size. */
size_t fuzz_graph_mutate(uint8_t *bytes, size_t size, size_t most, unsigned seed);

/* Write the bytes of a graph to begin with, of which there are many kinds; answers how many. */
size_t fuzz_graph_seed(unsigned kind, uint8_t *bytes, size_t most);

#endif
