/* Turns as a whole: whether they wait for each other, and what loops within them are worth. */
#include "loops/inner.h"

int64_t cad_loops_lag(const Recorded *r, const Loop *loop, size_t q, uint32_t k, size_t *of) {
    const size_t distance = (size_t)distance_of(r, middle_of(loop) + q, k, loop->begin);
    const size_t lag = lag_of(distance, q, loop->period);
    *of = q + lag * loop->period - distance;
    return distance > 0 ? (int64_t)lag : -1;
}

/* --- waiting --- */

enum { NOT_READ = UINT32_MAX, READ_BY_SEVERAL = UINT32_MAX - 1 };

/* Whether turns only add to what a step leaves: it is read once, by an addition of the next turn,
 * and so is each sum after it, up to the step itself. */
static int is_sum(const Recorded *r, const Loop *loop, const uint32_t *reader, size_t step) {
    size_t at = step, of;
    for (size_t n = 0; n < loop->period; n++) {
        if (reader[at] >= loop->period) {
            return 0;
        }
        const CadRecord *const record = record_of_step(r, middle_of(loop) + reader[at]);
        const int is_first = cad_loops_lag(r, loop, reader[at], 0, &of) >= 0 && of == at;
        if (record->kind != CAD_RECORD_SINGLE ||
            (record->op != CAD_OP_add && (record->op != CAD_OP_subtract || !is_first))) {
            return 0;
        }
        at = reader[at];
        if (at == step) {
            return 1;
        }
    }
    return 0;
}

int cad_loops_waits(const Recorded *r, const Loop *loop) {
    const size_t period = loop->period;
    CadMemory memory = {0};
    uint32_t *const reader = cad_memory_take(&memory, period, sizeof *reader);
    uint8_t *const is_carried = cad_memory_take(&memory, period, 1);
    uint8_t *const waits = cad_memory_take(&memory, period, 1);
    size_t n = 0, n_before = 1, of;
    if (memory.status != CAD_OK) {
        r->graph->status = CAD_NO_MEMORY;
        cad_memory_give_back(&memory);
        return 0;
    }
    memset(reader, 0xff, period * sizeof *reader);
    for (size_t q = 0; q < period; q++) {
        for (uint32_t k = 0; k < arity_of_step(r, middle_of(loop) + q); k++) {
            const int64_t lag = cad_loops_lag(r, loop, q, k, &of);
            if (lag >= 0) {
                reader[of] = reader[of] == NOT_READ ? (uint32_t)q : READ_BY_SEVERAL;
                is_carried[of] |= lag > 0;
            }
        }
    }
    for (size_t q = 0; q < period; q++) {
        is_carried[q] = is_carried[q] && !is_sum(r, loop, reader, q);
        n += is_carried[q];
    }
    while (n > 0 && n != n_before) {
        n_before = n;
        n = 0;
        for (size_t q = 0; q < period; q++) {
            waits[q] = 0;
            for (uint32_t k = 0; k < arity_of_step(r, middle_of(loop) + q) && !waits[q]; k++) {
                const int64_t lag = cad_loops_lag(r, loop, q, k, &of);
                waits[q] = lag > 0 ? is_carried[of] : lag == 0 && waits[of];
            }
        }
        for (size_t q = 0; q < period; q++) {
            is_carried[q] = is_carried[q] && waits[q];
            n += is_carried[q];
        }
    }
    cad_memory_give_back(&memory);
    return n > 0;
}

/* --- what turns have in common --- */

/* Steps of a turn that compute what no step before them does, of the same operands. */
typedef struct Distinct {
    uint32_t *table, *same; /* steps by hash, counted from 1; of steps the first one like it */
    size_t mask;
} Distinct;

static CadId name_of_operand(const Recorded *r, const Loop *loop, const Distinct *d, size_t q,
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
        same = name_of_operand(r, loop, d, q, k) == name_of_operand(r, loop, d, other, k);
    }
    return same;
}

/* How many single numbers of a turn are left if each is computed once. */
static size_t count_distinct(const Recorded *r, const Loop *loop, const Distinct *d) {
    size_t n = 0;
    for (size_t q = 0; q < loop->period; q++) {
        uint64_t hash = r->kinds[middle_of(loop) + q];
        for (uint32_t k = 0; k < arity_of_step(r, middle_of(loop) + q); k++) {
            hash = cad_loops_hash(hash, name_of_operand(r, loop, d, q, k));
        }
        size_t place = (hash >> 32) & d->mask;
        while (d->table[place] != 0 && !is_same_step(r, loop, d, q, d->table[place] - 1)) {
            place = (place + 1) & d->mask;
        }
        d->same[q] = d->table[place] == 0 ? (uint32_t)q : d->table[place] - 1;
        n += d->table[place] == 0;
        d->table[place] = d->same[q] + 1;
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

int cad_loops_gain(const Recorded *r, const Loop *loop) {
    CadMemory memory = {0};
    size_t size = 16, n_distinct = 0, n_rolled = loop->period;
    while (size < 2 * (size_t)loop->period) {
        size *= 2;
    }
    const Distinct distinct = {cad_memory_take(&memory, size, sizeof *distinct.table),
                               cad_memory_take(&memory, loop->period, sizeof *distinct.same),
                               size - 1};
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
    return 4 * n_distinct >= 3 * n_rolled;
}
