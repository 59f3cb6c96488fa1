/* Turns as a whole: whether they wait for each other, and what loops within them are worth. */
#include "loops/inner.h"

int64_t cad_loops_lag(const Unrolled *u, const Loop *loop, size_t q, uint32_t k, size_t *of) {
    const size_t distance = distance_of(u, middle_of(loop) + q, k, loop->begin);
    const size_t lag = distance <= q ? 0 : (distance - q - 1) / loop->period + 1;
    *of = q + lag * loop->period - distance;
    return distance > 0 ? (int64_t)lag : -1;
}

/* --- waiting --- */

/* A settled turn, by its operations. */
typedef struct Turn {
    uint32_t *reader; /* the only operation that reads it, counted from 1; several: SEVERAL */
    uint32_t *way;    /* the operation, counted from 1, from which it was come to: see find_sums */
    uint8_t *is_sum;  /* turns only add to it */
    uint8_t *is_ahead; /* it waits for no turn before */
} Turn;

#define SEVERAL UINT32_MAX

static void find_readers(const Unrolled *u, const Loop *loop, const Turn *turn) {
    size_t of;
    for (size_t q = 0; q < loop->period; q++) {
        for (uint32_t k = 0; k < arity_of(u, middle_of(loop) + q); k++) {
            if (cad_loops_lag(u, loop, q, k, &of) >= 0) {
                turn->reader[of] = turn->reader[of] == 0 ? (uint32_t)q + 1 : SEVERAL;
            }
        }
    }
}

/* The addition that is all that reads an operation, or `period`. */
static size_t next_sum(const Unrolled *u, const Loop *loop, const Turn *turn, size_t at) {
    const uint32_t reader = turn->reader[at];
    size_t of;
    if (reader == 0 || reader == SEVERAL) {
        return loop->period;
    }
    const CadRecord *const record = record_at(u, middle_of(loop) + reader - 1);
    const int is_first = cad_loops_lag(u, loop, reader - 1, 0, &of) >= 0 && of == at;
    return record->kind == CAD_RECORD_SINGLE &&
                   (record->op == CAD_OP_add || (record->op == CAD_OP_subtract && is_first))
               ? reader - 1
               : loop->period;
}

/* Sums over turns: additions in a circle, each of which reads the one before and a further term.
 * Each operation is gone through once: those of a way are marked by its beginning. */
static void find_sums(const Unrolled *u, const Loop *loop, const Turn *turn) {
    uint32_t *const way = turn->way;
    for (size_t q = 0; q < loop->period; q++) {
        size_t at = q;
        while (at < loop->period && way[at] == 0) {
            way[at] = (uint32_t)q + 1;
            at = next_sum(u, loop, turn, at);
        }
        while (at < loop->period && way[at] == q + 1 && !turn->is_sum[at]) {
            turn->is_sum[at] = 1;
            at = next_sum(u, loop, turn, at);
        }
    }
}

static int is_ahead(const Unrolled *u, const Loop *loop, const Turn *turn, size_t q) {
    size_t of;
    int ahead = 1;
    for (uint32_t k = 0; k < arity_of(u, middle_of(loop) + q) && ahead; k++) {
        ahead = cad_loops_lag(u, loop, q, k, &of) < 0 || turn->is_sum[of] || turn->is_ahead[of];
    }
    return ahead;
}

/* How many operations are left if those that wait for no turn go, again and again: the rest wait
 * for each other in a circle. As in graph/scan.c, a long line of operations is given up. */
static size_t count_waiting(const Unrolled *u, const Loop *loop, const Turn *turn) {
    enum { MOST_TIMES = 64 };
    size_t n = loop->period, before = n + 1;
    for (int time = 0; time < MOST_TIMES && n < before; time++) {
        before = n;
        for (size_t q = 0; q < loop->period; q++) {
            if (!turn->is_ahead[q] && is_ahead(u, loop, turn, q)) {
                turn->is_ahead[q] = 1;
                n--;
            }
        }
    }
    return n;
}

int cad_loops_waits(const Unrolled *u, const Loop *loop) {
    const size_t period = loop->period;
    size_t n = 0;
    CadMemory memory = {0};
    const Turn turn = {cad_memory_take(&memory, period, sizeof *turn.reader),
                       cad_memory_take(&memory, period, sizeof *turn.way),
                       cad_memory_take(&memory, period, sizeof *turn.is_sum),
                       cad_memory_take(&memory, period, sizeof *turn.is_ahead)};
    if (memory.status == CAD_OK) {
        find_readers(u, loop, &turn);
        find_sums(u, loop, &turn);
        n = count_waiting(u, loop, &turn);
    } else {
        u->graph->status = CAD_NO_MEMORY;
    }
    cad_memory_give_back(&memory);
    return n > 0;
}

/* --- what turns have in common --- */

/* Operations of a turn that compute what no operation before them does, of the same operands. */
typedef struct Distinct {
    Table operations;
    uint32_t *same; /* of operations the first one like it */
} Distinct;

static CadId distinct_operand(const Unrolled *u, const Loop *loop, const Distinct *d, size_t q,
                              uint32_t k) {
    size_t of;
    return cad_loops_lag(u, loop, q, k, &of) == 0
               ? cad_graph_first(u->graph, u->records[middle_of(loop) + d->same[of]])
               : operand_of(u, middle_of(loop) + q, k).first;
}

static int is_same_operation(const Unrolled *u, const Loop *loop, const Distinct *d, size_t q,
                             size_t other) {
    const uint32_t arity = arity_of(u, middle_of(loop) + q);
    const uint32_t *const classes = u->classes + middle_of(loop);
    int same = classes[q] == classes[other] && classes[q] != ALONE;
    for (uint32_t k = 0; k < arity && same; k++) {
        same = distinct_operand(u, loop, d, q, k) == distinct_operand(u, loop, d, other, k);
    }
    return same;
}

/* How many single numbers of a turn are left if each is computed once. */
static size_t count_distinct(const Unrolled *u, const Loop *loop, const Distinct *d) {
    size_t n = 0;
    for (size_t q = 0; q < loop->period; q++) {
        uint64_t hash = u->classes[middle_of(loop) + q];
        for (uint32_t k = 0; k < arity_of(u, middle_of(loop) + q); k++) {
            hash = cad_loops_hash(hash, distinct_operand(u, loop, d, q, k));
        }
        FIND_PLACE(d->operations, hash, first, is_same_operation(u, loop, d, q, *first - 1))
        n += *first == 0;
        *first = *first == 0 ? (uint32_t)q + 1 : *first;
        d->same[q] = *first - 1;
    }
    return n;
}

/* Whether an operand of a loop within a turn, from outside of it, is the same in all its turns. */
static int is_same_in_all(const Unrolled *u, const Loop *inner, size_t q, uint32_t k) {
    const CadId first = operand_of(u, inner->begin + q, k).first;
    size_t turn = 1;
    while (turn < inner->n &&
           operand_of(u, inner->begin + turn * inner->period + q, k).first == first) {
        turn++;
    }
    return turn == inner->n;
}

/* How many operations of such a loop its body computes: what is the same in all turns once. */
static size_t count_rolled(const Unrolled *u, const Loop *inner, uint8_t *differs) {
    size_t n = 0, of;
    for (size_t q = 0; q < inner->period; q++) {
        differs[q] = 0;
        for (uint32_t k = 0; k < arity_of(u, inner->begin + q) && !differs[q]; k++) {
            const int64_t lag = cad_loops_lag(u, inner, q, k, &of);
            differs[q] = lag < 0 ? !is_same_in_all(u, inner, q, k) : lag > 0 || differs[of];
        }
        n += differs[q] ? inner->n : 1;
    }
    return n;
}

int cad_loops_are_worth_it(const Unrolled *u, const Loop *loop) {
    enum { PARTS = 4, MORE = 3 }; /* of what is computed without loops so much may be added */
    CadMemory memory = {0};
    size_t n_distinct = 0, n_rolled = loop->period;
    const Distinct distinct = {cad_loops_table(&memory, loop->period),
                               cad_memory_take(&memory, loop->period, sizeof *distinct.same)};
    uint8_t *const differs = cad_memory_take(&memory, loop->period, 1);
    if (memory.status != CAD_OK) {
        u->graph->status = CAD_NO_MEMORY;
    } else {
        n_distinct = count_distinct(u, loop, &distinct);
        for (size_t k = 0; k < loop->n_inner; k++) {
            n_rolled -= operations_of_loop(&loop->inner[k]);
            n_rolled += count_rolled(u, &loop->inner[k], differs);
        }
    }
    cad_memory_give_back(&memory);
    return MORE * n_rolled <= PARTS * n_distinct;
}
