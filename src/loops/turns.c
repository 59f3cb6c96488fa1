/* Turns as a whole: whether they wait for each other, and what loops within them are worth. */
#include "loops/inner.h"

int64_t cad_loops_lag(const Recorded *r, const Loop *loop, size_t q, uint32_t k, size_t *of) {
    const size_t distance = distance_of(r, middle_of(loop) + q, k, loop->begin);
    const size_t lag = distance <= q ? 0 : (distance - q - 1) / loop->period + 1;
    *of = q + lag * loop->period - distance;
    return distance > 0 ? (int64_t)lag : -1;
}

/* --- waiting --- */

/* Of steps of a settled turn. */
typedef struct Steps {
    uint32_t *reader; /* the only step that reads it, counted from 1; several: SEVERAL */
    uint32_t *way;    /* the step, counted from 1, from which it was come to: see find_sums */
    uint8_t *is_sum;  /* turns only add to it */
    uint8_t *is_told; /* it waits for no turn before */
} Steps;

#define SEVERAL UINT32_MAX

static void find_readers(const Recorded *r, const Loop *loop, const Steps *steps) {
    size_t of;
    for (size_t q = 0; q < loop->period; q++) {
        for (uint32_t k = 0; k < arity_of_step(r, middle_of(loop) + q); k++) {
            if (cad_loops_lag(r, loop, q, k, &of) >= 0) {
                steps->reader[of] = steps->reader[of] == 0 ? (uint32_t)q + 1 : SEVERAL;
            }
        }
    }
}

/* The addition that is all that reads a step, or `period`. */
static size_t next_sum(const Recorded *r, const Loop *loop, const Steps *steps, size_t at) {
    const uint32_t reader = steps->reader[at];
    size_t of;
    if (reader == 0 || reader == SEVERAL) {
        return loop->period;
    }
    const CadRecord *const record = record_of_step(r, middle_of(loop) + reader - 1);
    const int is_first = cad_loops_lag(r, loop, reader - 1, 0, &of) >= 0 && of == at;
    return record->kind == CAD_RECORD_SINGLE &&
                   (record->op == CAD_OP_add || (record->op == CAD_OP_subtract && is_first))
               ? reader - 1
               : loop->period;
}

/* Sums over turns: additions in a circle, each of which reads the one before and a further term.
 * Each step is gone through once: those of a way are marked by its beginning. */
static void find_sums(const Recorded *r, const Loop *loop, const Steps *steps) {
    uint32_t *const way = steps->way;
    for (size_t q = 0; q < loop->period; q++) {
        size_t at = q;
        while (at < loop->period && way[at] == 0) {
            way[at] = (uint32_t)q + 1;
            at = next_sum(r, loop, steps, at);
        }
        while (at < loop->period && way[at] == q + 1 && !steps->is_sum[at]) {
            steps->is_sum[at] = 1;
            at = next_sum(r, loop, steps, at);
        }
    }
}

static int is_told(const Recorded *r, const Loop *loop, const Steps *steps, size_t q) {
    size_t of;
    int told = 1;
    for (uint32_t k = 0; k < arity_of_step(r, middle_of(loop) + q) && told; k++) {
        told = cad_loops_lag(r, loop, q, k, &of) < 0 || steps->is_sum[of] || steps->is_told[of];
    }
    return told;
}

/* How many steps are left if those go that are made of what is told, and so on: they wait for each
 * other in a circle, or for such. As in graph/scan.c, a long line of steps is given up. */
static size_t count_waiting(const Recorded *r, const Loop *loop, const Steps *steps) {
    enum { MOST_TIMES = 64 };
    size_t n = loop->period, before = n + 1;
    for (int time = 0; time < MOST_TIMES && n < before; time++) {
        before = n;
        for (size_t q = 0; q < loop->period; q++) {
            if (!steps->is_told[q] && is_told(r, loop, steps, q)) {
                steps->is_told[q] = 1;
                n--;
            }
        }
    }
    return n;
}

int cad_loops_waits(const Recorded *r, const Loop *loop) {
    const size_t period = loop->period;
    size_t n = 0;
    CadMemory memory = {0};
    const Steps steps = {cad_memory_take(&memory, period, sizeof *steps.reader),
                         cad_memory_take(&memory, period, sizeof *steps.way),
                         cad_memory_take(&memory, period, sizeof *steps.is_sum),
                         cad_memory_take(&memory, period, sizeof *steps.is_told)};
    if (memory.status == CAD_OK) {
        find_readers(r, loop, &steps);
        find_sums(r, loop, &steps);
        n = count_waiting(r, loop, &steps);
    } else {
        r->graph->status = CAD_NO_MEMORY;
    }
    cad_memory_give_back(&memory);
    return n > 0;
}

/* --- what turns have in common --- */

/* Steps of a turn that compute what no step before them does, of the same operands. */
typedef struct Distinct {
    Table steps;
    uint32_t *same; /* of steps the first one like it */
} Distinct;

static CadId distinct_operand(const Recorded *r, const Loop *loop, const Distinct *d, size_t q,
                              uint32_t k) {
    size_t of;
    return cad_loops_lag(r, loop, q, k, &of) == 0
               ? cad_graph_first(r->graph, r->records[middle_of(loop) + d->same[of]])
               : operand_of_step(r, middle_of(loop) + q, k).first;
}

static int is_same_step(const Recorded *r, const Loop *loop, const Distinct *d, size_t q,
                        size_t other) {
    const uint32_t arity = arity_of_step(r, middle_of(loop) + q);
    const uint32_t *const kinds = r->kinds + middle_of(loop);
    int same = kinds[q] == kinds[other] && kinds[q] != ALONE;
    for (uint32_t k = 0; k < arity && same; k++) {
        same = distinct_operand(r, loop, d, q, k) == distinct_operand(r, loop, d, other, k);
    }
    return same;
}

/* How many single numbers of a turn are left if each is computed once. */
static size_t count_distinct(const Recorded *r, const Loop *loop, const Distinct *d) {
    size_t n = 0;
    for (size_t q = 0; q < loop->period; q++) {
        uint64_t hash = r->kinds[middle_of(loop) + q];
        for (uint32_t k = 0; k < arity_of_step(r, middle_of(loop) + q); k++) {
            hash = cad_loops_hash(hash, distinct_operand(r, loop, d, q, k));
        }
        FIND_PLACE(d->steps, hash, first, is_same_step(r, loop, d, q, *first - 1))
        n += *first == 0;
        *first = *first == 0 ? (uint32_t)q + 1 : *first;
        d->same[q] = *first - 1;
    }
    return n;
}

/* Whether an operand of a loop within a turn, from outside of it, is the same in all its turns. */
static int is_same_in_all(const Recorded *r, const Loop *inner, size_t q, uint32_t k) {
    const CadId first = operand_of_step(r, inner->begin + q, k).first;
    size_t turn = 1;
    while (turn < inner->n &&
           operand_of_step(r, inner->begin + turn * inner->period + q, k).first == first) {
        turn++;
    }
    return turn == inner->n;
}

/* How many steps of such a loop its body computes: what is the same in all turns once. */
static size_t count_rolled(const Recorded *r, const Loop *inner, uint8_t *differs) {
    size_t n = 0, of;
    for (size_t q = 0; q < inner->period; q++) {
        differs[q] = 0;
        for (uint32_t k = 0; k < arity_of_step(r, inner->begin + q) && !differs[q]; k++) {
            const int64_t lag = cad_loops_lag(r, inner, q, k, &of);
            differs[q] = lag < 0 ? !is_same_in_all(r, inner, q, k) : lag > 0 || differs[of];
        }
        n += differs[q] ? inner->n : 1;
    }
    return n;
}

int cad_loops_are_worth_it(const Recorded *r, const Loop *loop) {
    enum { PARTS = 4, MORE = 3 }; /* of what is computed without loops so much may be added */
    CadMemory memory = {0};
    size_t n_distinct = 0, n_rolled = loop->period;
    const Distinct distinct = {cad_loops_table(&memory, loop->period),
                               cad_memory_take(&memory, loop->period, sizeof *distinct.same)};
    uint8_t *const differs = cad_memory_take(&memory, loop->period, 1);
    if (memory.status != CAD_OK) {
        r->graph->status = CAD_NO_MEMORY;
    } else {
        n_distinct = count_distinct(r, loop, &distinct);
        for (size_t k = 0; k < loop->n_inner; k++) {
            n_rolled -= steps_of_loop(&loop->inner[k]);
            n_rolled += count_rolled(r, &loop->inner[k], differs);
        }
    }
    cad_memory_give_back(&memory);
    return MORE * n_rolled <= PARTS * n_distinct;
}
