/* What the files that find loops share with each other alone. */
#ifndef CAD_LOOPS_INNER_H
#define CAD_LOOPS_INNER_H

#include "graph/copies.h"

enum {
    LEAST_TURNS = 16,
    LEAST_NUMBERS =
        12000, /* of a loop, unless told otherwise: below, it stays in the cache as it is
                */
    MOST_IN_TURN = 1 << 14,
};

/* Turns [begin, begin + n period) of steps. */
typedef struct Loop {
    uint32_t begin, period, n;
} Loop;

/* What was recorded as a graph of numbers that are all there, in their order. A step is a number
 * that was computed; an array is one, too, which no loop goes across. */
typedef struct Recorded {
    CadGraph *graph;
    CadMemory memory;
    uint32_t *records; /* of steps */
    uint32_t *kinds;   /* of steps: alike in what they compute of what; ALONE: like no other */
    uint32_t *steps;   /* of numbers: their step, counted from 1, or 0 */
    size_t n_steps;
    Loop *loops; /* in their order */
    size_t n_loops, loops_capacity;
} Recorded;

#define ALONE UINT32_MAX

/* The step of an operand, counted from 0, or -1. */
static inline int64_t step_of(const Recorded *r, CadId id) {
    return (int64_t)r->steps[id] - 1;
}

static inline const CadRecord *record_of_step(const Recorded *r, size_t step) {
    return &r->graph->records[r->records[step]];
}

static inline int arity_of_step(const Recorded *r, size_t step) {
    return cad_op_info[record_of_step(r, step)->op].arity;
}

static inline CadId operand_of_step(const Recorded *r, size_t step, int k) {
    return record_of_step(r, step)->of.operands[k];
}

/* How many turns before this one something was computed that stands so far back from a step, `at`
 * steps behind the beginning of the turn. */
static inline size_t lag_of(size_t distance, size_t at, size_t period) {
    return distance <= at ? 0 : (distance - at - 1) / period + 1;
}

/* --- find.c --- */

/* Loops of so many numbers. */
void cad_loops_find(Recorded *r, size_t least_numbers);

#endif
