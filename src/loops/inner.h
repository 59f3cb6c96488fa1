/* What the files that find loops share with each other alone. */
#ifndef CAD_LOOPS_INNER_H
#define CAD_LOOPS_INNER_H

#include "graph/copies.h"

enum {
    LEAST_TURNS = 16,
    MANY_TURNS = 4096,
    LEAST_NUMBERS = 2000,   /* of a loop, unless told otherwise: below, steps cost as little */
    LEAST_WAITING = 12000,  /* of one whose turns wait: below, it runs faster step by step */
    MOST_IN_TURN = 1 << 14, /* steps, of which those of loops within it count once */
    LONGEST_PERIOD = 1 << 22,
    LONG_ARRAY = 2048, /* numbers, above which arrays go tile by tile, and in no loop */
    LEAST_WORK = 6,    /* numbers that turns compute, for each of an array that they carry */
};

/* Turns [begin, begin + n period) of steps; and loops within the middle one, in their order. */
typedef struct Loop {
    uint32_t begin, period, n;
    struct Loop *inner;
    size_t n_inner;
} Loop;

static inline size_t steps_of_loop(const Loop *loop) {
    return (size_t)loop->n * loop->period;
}

/* The first step of the middle turn, which is settled. */
static inline size_t middle_of(const Loop *loop) {
    return loop->begin + loop->n / 2 * (size_t)loop->period;
}

/* An operand of a step: how many steps ago it was computed, or 0 if by none; and where it begins
 * in its record. */
typedef struct Source {
    uint32_t back, offset;
} Source;

/* A recording as a graph that keeps all numbers in their order. A step is a computed number or
 * array. */
typedef struct Recorded {
    CadGraph *graph;
    CadMemory memory;
    uint32_t *records;  /* of steps */
    uint8_t *constants; /* of steps: which of the first three operands are constants, bit by bit */
    uint32_t *kinds;    /* of steps: alike in what they compute of what; ALONE: like no other */
    uint32_t *steps;    /* of numbers: their step, counted from 1, or 0 */
    Source *sources;    /* of all operands, one step behind the other */
    uint32_t *first;    /* of steps, and behind the last one: where their sources begin */
    size_t n_steps;
    Loop *loops; /* in their order */
    size_t n_loops;
} Recorded;

#define ALONE UINT32_MAX

/* The step of an operand, counted from 0, or -1. */
static inline int64_t step_of(const Recorded *r, CadId id) {
    return (int64_t)r->steps[id] - 1;
}

static inline const CadRecord *record_of_step(const Recorded *r, size_t step) {
    return &r->graph->records[r->records[step]];
}

static inline uint32_t size_of_step(const Recorded *r, size_t step) {
    return cad_record_size(record_of_step(r, step));
}

/* The first view of a plan that is an operand: calls have no other one. */
static inline uint32_t first_operand(const CadRecord *record) {
    return record->kind != CAD_RECORD_CALL;
}

static inline uint32_t arity_of_step(const Recorded *r, size_t step) {
    return r->first[step + 1] - r->first[step];
}

static inline Source source_of_step(const Recorded *r, size_t step, uint32_t k) {
    return r->sources[r->first[step] + k];
}

/* Numbers in a row, of one record. */
typedef struct Block {
    CadId first;
    uint32_t size;
} Block;

/* The numbers that a step reads: one, or all from the first to the last of a view. */
static inline Block operand_of_step(const Recorded *r, size_t step, uint32_t k) {
    const CadRecord *const record = record_of_step(r, step);
    int64_t low, high;
    if (record->kind == CAD_RECORD_SINGLE) {
        return (Block){record->of.operands[k], 1};
    }
    if (record->kind == CAD_RECORD_PACK) {
        return (Block){cad_graph_packed(r->graph, record)[k], 1};
    }
    cad_plan_bounds(cad_graph_plan(r->graph, record), (int)(k + first_operand(record)), &low,
                    &high);
    return (Block){(CadId)low, (uint32_t)(high - low + 1)};
}

/* Whether an operand is what the loop has computed before, so many steps ago in all turns. */
static inline size_t distance_of(const Recorded *r, size_t step, uint32_t k, size_t begin) {
    const size_t back = source_of_step(r, step, k).back;
    return back <= step - begin ? back : 0;
}

/* Things by hash, counted from 1; 0 where there is none. */
typedef struct Table {
    uint32_t *things;
    size_t mask;
} Table;

static inline Table cad_loops_table(CadMemory *memory, size_t n) {
    Table table = {.mask = 15};
    while (table.mask < 2 * n) {
        table.mask = 2 * table.mask + 1;
    }
    table.things = cad_memory_take(memory, table.mask + 1, sizeof *table.things);
    return table;
}

/* Where the one is that is the same as another one with this hash, or where it is to be. */
#define FIND_PLACE(table, hash, thing, is_same)                                                   \
    uint32_t *thing = &(table).things[(hash) >> 32 & (table).mask];                               \
    while (*thing != 0 && !(is_same)) {                                                           \
        thing = thing < (table).things + (table).mask ? thing + 1 : (table).things;               \
    }

static inline uint64_t cad_loops_hash(uint64_t hash, uint64_t next) {
    return (hash ^ next) * 0x9e3779b97f4a7c15u ^ hash >> 29;
}

/* --- steps.c --- */

/* Answers 0 if there is no memory. */
int cad_loops_list_steps(Recorded *r);

/* --- turns.c --- */

/* The origin of an operand of a step in a settled turn: so many turns before, the step there; or
 * -1, outside of the loop. */
int64_t cad_loops_lag(const Recorded *r, const Loop *loop, size_t q, uint32_t k, size_t *of);

/* Whether turns wait for turns before: they read numbers of theirs that are no mere sums and are
 * not known ahead. */
int cad_loops_waits(const Recorded *r, const Loop *loop);

/* Whether loops within a turn compute no more than a third more than the turn does without them,
 * when equal numbers are one. */
int cad_loops_are_worth_it(const Recorded *r, const Loop *loop);

/* --- find.c --- */

/* Loops of so many turns, with so many numbers in all (where turns wait for those before: so many)
 * and in each of them; or of so many turns if they make calls that wait for no turn before. */
typedef struct Least {
    size_t turns, numbers, waiting, in_turn, turns_that_call;
} Least;

/* They replace the loops found before. */
void cad_loops_find(Recorded *r, Least least);

void cad_loops_free(Loop *loops, size_t n);

/* --- body.c --- */

/* What was recorded on its way into another graph. */
typedef struct Roller {
    Recorded *r;
    CadCopier copier;
    uint8_t *is_read; /* of steps: outside of their loop */
    CadRoom room;
} Roller;

typedef struct Body Body;

/* A loop as a recurrence of the graph; or of the body that is being made of a turn around it.
 * Answers 0 if it is no loop after all. */
int cad_loops_roll(Roller *o, const Loop *loop, Body *around);

#endif
