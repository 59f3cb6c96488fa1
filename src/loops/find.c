/* Finds where operations repeat themselves. The first sign is a stretch of the same classes as one
 * period before. Then operands have to match from turn to turn: computed as many operations ago,
 * or from outside of the loop. Inner loops hide outer ones: so the largest loops are looked for
 * first, then smaller ones between them. */
#include "loops/inner.h"

#include <stdlib.h>

enum {
    WINDOW = 8,              /* operations that are looked for at once */
    FAILED = 1 << 8,         /* periods that were tried in vain are remembered in so many places */
    WORK_PER_OPERATION = 64, /* comparisons in all */
    MOST_PEELED = 3,         /* turns at the beginning that may be unlike the others */
    MOST_MOVED = 16,         /* numbers from turn to turn, because later ones read them, ... */
    MOST_MOVES = 4,          /* and besides so many for each number that a turn computes */
    MOST_TOGETHER = 3,       /* turns of one class that read different parts of arrays */
    LEAST_WITHIN = 512,      /* numbers of a loop within turns that wait */
    TOO_LONG = 4, /* so many times more numbers of a turn are no arrays over all turns */
    NARROWER = 8, /* loops of so many times fewer numbers are looked for next */
};

/* Operations of equal classes may be of turns of an inner loop as well as of an outer one; where
 * its edges are is told by how far back operands are. */
enum { CLASSES, DISTANCES, WAYS };

/* A period that was tried in vain, for stretches or runs up to an operation. */
typedef struct Failed {
    uint32_t period, end;
} Failed;

typedef struct Finder {
    Unrolled *u;
    const uint32_t *hashes[WAYS]; /* of operations: what windows are compared by */
    uint32_t *latest[WAYS]; /* by hash: the operation, counted from 1, with such a window before */
    size_t mask;
    Least least, now; /* in the end, and in this pass */
    Failed stretches[FAILED], runs[FAILED];
    size_t begin, end, work; /* operations to look at */
    bool is_refused;         /* the latest stretch is a loop, but better off as it is */
    bool is_short;           /* something has too few numbers for this pass */
    Loop *loops;
    size_t n_loops, loops_capacity;
} Finder;

static void find_all(Finder *f, size_t begin, size_t end);

static int are_of_one_class(const Finder *f, size_t a, size_t b) {
    const uint32_t *const classes = f->u->classes;
    return classes[a] == classes[b] && classes[a] != ALONE;
}

/* --- what the operations of a turn are made of --- */

/* Where in the period to begin a turn: what has to be carried from one to the next is least. */
static size_t best_phase(Finder *f, size_t first, size_t period, size_t begin) {
    Unrolled *const u = f->u;
    CadMemory memory = {0};
    int64_t *const last = cad_memory_take(&memory, period, sizeof *last);
    int64_t *const change = cad_memory_take(&memory, period + 1, sizeof *change);
    size_t best = 0;
    if (memory.status != CAD_OK) {
        u->graph->status = CAD_NO_MEMORY;
        cad_memory_give_back(&memory);
        return 0;
    }
    for (size_t q = 0; q < period; q++) {
        for (uint32_t k = 0; k < arity_of(u, first + q); k++) {
            const int64_t distance = (int64_t)distance_of(u, first + q, k, begin);
            if (distance > 0 &&
                distance == (int64_t)distance_of(u, first + period + q, k, begin)) {
                int64_t *const of =
                    &last[((int64_t)q - distance % (int64_t)period + (int64_t)period) %
                          (int64_t)period];
                *of = distance > *of ? distance : *of;
            }
        }
    }
    /* What is read `last` operations later crosses as many of the places behind it. */
    for (size_t q = 0; q < period; q++) {
        const size_t reach = (size_t)last[q] % period;
        const int64_t size = size_of(u, first + q);
        if (reach > 0) {
            change[0] += q + reach >= period ? size : 0;
            change[q + 1] += size;
            change[(q + reach) % period + 1] -= size;
        }
    }
    int64_t now = 0, least = INT64_MAX;
    for (size_t q = 0; q < period; q++) {
        now += change[q];
        if (now < least) {
            least = now;
            best = q;
        }
    }
    cad_memory_give_back(&memory);
    return best;
}

/* Whether a turn is another one, moved, in which all operands are settled. Turns at the beginning
 * may read other numbers in place of what no turn from `begin` on has computed. */
static int is_turn(const Finder *f, size_t begin, size_t turn, size_t settled, size_t period) {
    const Unrolled *const u = f->u;
    for (size_t i = turn, other = settled; i < turn + period; i++, other++) {
        const Source *x = u->sources + u->first[i], *y = u->sources + u->first[other];
        const Source *const last = u->sources + u->first[i + 1];
        if (!are_of_one_class(f, i, other)) {
            return 0;
        }
        for (; x < last; x++, y++) {
            const size_t distance = x->back <= i - begin ? x->back : 0;
            const size_t expected = y->back <= other - begin ? y->back : 0;
            if (distance == expected ? distance > 0 && x->offset != y->offset
                                     : distance > 0 || expected <= i - begin) {
                return 0;
            }
        }
    }
    return 1;
}

static size_t numbers_in_turn(const Unrolled *u, size_t begin, size_t period) {
    size_t n = 0;
    for (size_t q = 0; q < period; q++) {
        n += size_of(u, begin + q);
    }
    return n;
}

/* What a turn reads from outside beside what the turn before it reads. */
enum { THE_SAME, OTHER_DATA, OTHER_NUMBERS };

static int difference_of(const Unrolled *u, size_t operation, uint32_t k, size_t period) {
    const Block x = operand_of(u, operation, k), y = operand_of(u, operation + period, k);
    double value, other;
    if (x.first == y.first) {
        return THE_SAME;
    }
    if (!cad_graph_is_constant(u->graph, x.first, &value) ||
        !cad_graph_is_constant(u->graph, y.first, &other)) {
        return OTHER_NUMBERS;
    }
    return x.size == 1 && value == other ? THE_SAME : OTHER_DATA;
}

/* Whether an operation that waits for no turn is faster unrolled. Products of matrices are one
 * then, and so are calls that are the same in all turns. Calls that differ by data alone are in a
 * loop if there are many turns, since their derivatives are made once then. */
static int has_to_wait(const Finder *f, const Loop *loop, size_t operation, int change) {
    const CadRecord *const record = record_at(f->u, operation);
    return record->kind == CAD_RECORD_CALL
               ? change != OTHER_DATA || loop->n < f->now.turns_that_call
               : record->kind == CAD_RECORD_MAP && cad_op_multiplies((CadOp)record->op);
}

/* Whether turns compute enough for what they carry, which is copied in a loop and not unrolled,
 * and whether they wait for each other where they have to. `together`: so many turns are one. */
static int is_worth_it(const Finder *f, const Loop *loop, size_t together) {
    const Unrolled *const u = f->u;
    const size_t period = loop->period, middle = middle_of(loop);
    size_t n_carried = 0, n_moved = 0, of;
    int is_worth = 1;
    CadMemory memory = {0};
    size_t *const longest = cad_memory_take(&memory, loop->period, sizeof *longest);
    uint8_t *const waits = cad_memory_take(&memory, loop->period, 1);
    uint8_t *const changes = cad_memory_take(&memory, loop->period, 1);
    if (memory.status != CAD_OK) {
        u->graph->status = CAD_NO_MEMORY;
    }
    for (size_t q = 0; q < loop->period && memory.status == CAD_OK; q++) {
        for (uint32_t k = 0; k < arity_of(u, middle + q); k++) {
            const int64_t lag = cad_loops_lag(u, loop, q, k, &of);
            waits[q] |= lag > 0 || (lag == 0 && waits[of]);
            const int change = lag >= 0 ? changes[of] : difference_of(u, middle + q, k, period);
            changes[q] = (uint8_t)(change > changes[q] ? change : changes[q]);
            if (lag > (int64_t)longest[of]) {
                const size_t size = size_of(u, middle + of);
                n_carried += longest[of] == 0 && size > 1 ? size : 0;
                n_moved += ((size_t)lag - longest[of]) * size;
                longest[of] = (size_t)lag;
            }
        }
        is_worth &= waits[q] || !has_to_wait(f, loop, middle + q, changes[q]);
    }
    cad_memory_give_back(&memory);
    const size_t in_turn = numbers_in_turn(u, middle, loop->period);
    return is_worth && n_carried * LEAST_WORK * together <= in_turn &&
           n_moved <= MOST_MOVED + MOST_MOVES * in_turn;
}

static int is_enough(Finder *f, size_t begin, size_t period, size_t turns) {
    if (turns < f->now.turns) {
        return 0;
    }
    const size_t in_turn = numbers_in_turn(f->u, begin, period);
    f->is_short |= turns * in_turn < f->now.numbers;
    return turns * in_turn >= f->now.numbers && in_turn >= f->now.in_turn;
}

/* How many numbers a loop within a turn is to have. Turns that do not wait become arrays over all
 * turns, which is faster, unless there would be too many arrays. */
static size_t least_within(const Finder *f, const Loop *loop) {
    const size_t least = f->least.waiting;
    const size_t in_turn = numbers_in_turn(f->u, middle_of(loop), loop->period);
    if (in_turn < LEAST_WITHIN && in_turn < least) {
        return SIZE_MAX;
    }
    if (cad_loops_waits(f->u, loop)) {
        return least < LEAST_WITHIN ? least : LEAST_WITHIN;
    }
    return in_turn > MOST_IN_TURN || in_turn / TOO_LONG > least ? least : SIZE_MAX;
}

/* Find loops within a turn. Answers whether few enough operations are left of it. */
static int find_inner(const Finder *f, Loop *loop) {
    const size_t begin = middle_of(loop), least = least_within(f, loop);
    size_t n_operations = loop->period;
    if (least < SIZE_MAX) {
        Finder within = *f;
        within.least.numbers = within.least.waiting = least;
        within.loops = NULL;
        within.n_loops = within.loops_capacity = 0;
        find_all(&within, begin, begin + loop->period);
        loop->inner = within.loops;
        loop->n_inner = within.n_loops;
        for (size_t k = 0; k < loop->n_inner; k++) {
            n_operations -= operations_of_loop(&loop->inner[k]) - loop->inner[k].period;
        }
    }
    if (loop->n_inner > 0 && loop->period <= MOST_IN_TURN && !cad_loops_are_worth_it(f->u, loop)) {
        cad_loops_free(loop->inner, loop->n_inner);
        loop->inner = NULL;
        loop->n_inner = 0;
        n_operations = loop->period;
    }
    return n_operations <= MOST_IN_TURN;
}

static void add_loop(Finder *f, Loop loop) {
    if (cad_memory_grow((void **)&f->loops, &f->loops_capacity, f->n_loops + 1,
                        sizeof *f->loops) == CAD_OK) {
        f->loops[f->n_loops++] = loop;
    } else {
        f->u->graph->status = CAD_NO_MEMORY;
        cad_loops_free(loop.inner, loop.n_inner);
    }
}

/* Take a loop if it is one; answers the operation behind it, or 0. */
static size_t accept(Finder *f, Loop *loop, size_t together) {
    if (!is_enough(f, loop->begin, loop->period, loop->n) || !is_worth_it(f, loop, together)) {
        return 0;
    }
    const size_t numbers = loop->n * numbers_in_turn(f->u, loop->begin, loop->period);
    f->is_refused = numbers < f->least.waiting && cad_loops_waits(f->u, loop);
    if (f->is_refused) {
        return 0;
    }
    if (!find_inner(f, loop)) {
        cad_loops_free(loop->inner, loop->n_inner);
        return 0;
    }
    add_loop(f, *loop);
    return loop->begin + operations_of_loop(loop);
}

/* Take as many turns from an operation on as are alike. */
static size_t try_turns(Finder *f, size_t begin, size_t end, size_t period, size_t together) {
    Loop loop = {(uint32_t)begin, (uint32_t)period, (uint32_t)((end - begin) / period), NULL, 0};
    const size_t settled = middle_of(&loop);
    size_t turn = begin;
    while (turn < begin + operations_of_loop(&loop) && is_turn(f, begin, turn, settled, period)) {
        turn += period;
    }
    f->work += turn - begin;
    loop.n = (uint32_t)((turn - begin) / period);
    return turn > settled ? accept(f, &loop, together) : 0;
}

/* Some turns at the beginning may be unlike the others. */
static size_t try_early(Finder *f, size_t begin, size_t end, size_t period, size_t n_early,
                        size_t together) {
    size_t loop_end = 0;
    f->is_refused = false;
    for (size_t k = 0; k <= n_early && begin < end && loop_end == 0 && !f->is_refused;
         k++, begin += period) {
        loop_end = try_turns(f, begin, end, period, together);
    }
    return loop_end;
}

/* --- runs --- */

/* The turns around an operation that are alike, though others of the same classes may follow at
 * once: turns of the next of several loops. */
static size_t try_run(Finder *f, size_t operation, size_t period) {
    Failed *const failed = &f->runs[period % FAILED];
    if ((failed->period == period && operation < failed->end) ||
        period > (f->end - f->begin) / f->now.turns || operation + 2 * period > f->end) {
        return 0;
    }
    size_t alike = 0;
    while (alike < period && are_of_one_class(f, operation + alike, operation + alike + period)) {
        alike++;
    }
    f->work += alike;
    *failed = (Failed){(uint32_t)period, (uint32_t)(operation + alike)};
    if (alike < period) {
        return 0;
    }
    const size_t settled = operation + best_phase(f, operation, period, f->begin);
    size_t begin = settled, end = settled + period;
    while (end + period <= f->end && is_turn(f, f->begin, end, settled, period)) {
        end += period;
    }
    while (begin >= f->begin + period && is_turn(f, f->begin, begin - period, settled, period)) {
        begin -= period;
    }
    f->work += 2 * period + end - begin;
    failed->end = (uint32_t)end;
    if (!is_enough(f, settled, period, (end - begin) / period + MOST_PEELED)) {
        return 0;
    }
    size_t early = 0;
    while (early < MOST_PEELED * period && begin - early > f->begin &&
           are_of_one_class(f, begin - early - 1, begin - early - 1 + period)) {
        early++;
    }
    return try_early(f, begin - early / period * period, end, period, early / period, 1);
}

/* --- stretches --- */

static size_t try_period(Finder *f, size_t begin, size_t end, size_t period, size_t together) {
    const size_t n = (end - begin) / period;
    if (!is_enough(f, begin, period, n)) {
        return 0;
    }
    begin += best_phase(f, begin + n / 2 * period, period, begin);
    return try_early(f, begin, end, period, MOST_PEELED - 1, together);
}

/* The stretch around an operation whose classes are those of one period before. */
static size_t try_stretch(Finder *f, size_t operation, size_t before) {
    const size_t period = operation - before;
    Failed *const failed = &f->stretches[period % FAILED];
    if (period > LONGEST_PERIOD || (failed->period == period && operation < failed->end)) {
        return 0;
    }
    size_t begin = operation, end = operation;
    while (end < f->end && are_of_one_class(f, end, end - period)) {
        end++;
    }
    while (begin - period > f->begin && are_of_one_class(f, begin - 1, begin - 1 - period)) {
        begin--;
    }
    f->work += end - begin;
    size_t loop_end = 0;
    f->is_refused = false;
    for (size_t together = 1; together <= MOST_TOGETHER && loop_end == 0 && !f->is_refused;
         together++) {
        loop_end = try_period(f, begin - period, end, together * period, together);
    }
    if (loop_end == 0) {
        *failed = (Failed){(uint32_t)period, (uint32_t)end};
    }
    return loop_end;
}

/* The place among the latest windows of the one that begins at an operation. */
static uint32_t *latest_window(const Finder *f, int way, size_t operation) {
    uint64_t hash = 0;
    for (int k = 0; k < WINDOW; k++) {
        hash = cad_loops_hash(hash, f->hashes[way][operation + k]);
    }
    return &f->latest[way][(hash >> 32) & f->mask];
}

/* The loops among operations [begin, end). */
static void find_between(Finder *f, size_t begin, size_t end) {
    f->begin = begin;
    f->end = end;
    const size_t most = f->work + WORK_PER_OPERATION * (end - begin);
    memset(f->stretches, 0, sizeof f->stretches);
    memset(f->runs, 0, sizeof f->runs);
    for (size_t operation = begin; operation + WINDOW <= end && f->work < most;) {
        size_t loop_end = 0;
        for (int way = 0; way < WAYS; way++) {
            uint32_t *const latest = latest_window(f, way, operation);
            const size_t before = *latest;
            *latest = (uint32_t)operation + 1;
            if (before > f->begin && before <= operation && loop_end == 0 &&
                are_of_one_class(f, operation, before - 1)) {
                loop_end = try_run(f, operation, operation - (before - 1));
                loop_end = loop_end > 0 ? loop_end : try_stretch(f, operation, before - 1);
            }
        }
        f->begin = loop_end > 0 ? loop_end : f->begin;
        operation = loop_end > 0 ? loop_end : operation + 1;
    }
}

static int compare_begins(const void *a, const void *b) {
    const Loop *const x = a, *const y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Look for loops in operations [begin, end), between those that are known by now. */
static void find_in_gaps(Finder *f, size_t begin, size_t end) {
    const size_t n_known = f->n_loops;
    for (size_t k = 0; k < n_known && f->u->graph->status == CAD_OK; k++) {
        const Loop next = f->loops[k];
        find_between(f, begin, next.begin);
        begin = next.begin + operations_of_loop(&next);
    }
    find_between(f, begin, end);
    if (f->n_loops > n_known) {
        qsort(f->loops, f->n_loops, sizeof *f->loops, compare_begins);
    }
}

/* All loops of operations [begin, end): of half of the numbers, then smaller ones, if any are
 * left. */
static void find_all(Finder *f, size_t begin, size_t end) {
    size_t numbers = numbers_in_turn(f->u, begin, end - begin) / 2;
    for (int is_last = 0; !is_last && f->u->graph->status == CAD_OK; numbers /= NARROWER) {
        const size_t n_known = f->n_loops;
        f->now = f->least;
        f->now.numbers = numbers > f->least.numbers ? numbers : f->least.numbers;
        f->is_short = false;
        find_in_gaps(f, begin, end);
        is_last = numbers <= f->least.numbers || (n_known == f->n_loops && !f->is_short);
    }
}

/* An operation, with how far back its operands are, if they may be of a turn or the one before. */
static uint32_t hash_of_distances(const Unrolled *u, size_t operation, size_t near) {
    uint64_t hash = u->classes[operation];
    for (uint32_t k = 0; k < arity_of(u, operation); k++) {
        const uint32_t back = source_of(u, operation, k).back;
        hash = cad_loops_hash(hash, back <= near ? back : 0);
    }
    return (uint32_t)(hash >> 32);
}

static int prepare(Finder *f, CadMemory *memory) {
    const Unrolled *const u = f->u;
    const size_t near = 2 * u->n_operations / f->least.turns;
    size_t size = 1 << 10;
    while (size < u->n_operations) {
        size *= 2;
    }
    f->mask = size - 1;
    for (int way = 0; way < WAYS; way++) {
        f->latest[way] = cad_memory_take(memory, size, sizeof *f->latest[way]);
    }
    uint32_t *const distances = cad_memory_take(memory, u->n_operations, sizeof *distances);
    f->hashes[CLASSES] = u->classes;
    f->hashes[DISTANCES] = distances;
    for (size_t i = 0; i < u->n_operations && memory->status == CAD_OK; i++) {
        distances[i] = hash_of_distances(u, i, near);
    }
    return memory->status == CAD_OK;
}

void cad_loops_free(Loop *loops, size_t n) {
    for (size_t k = 0; k < n; k++) {
        cad_loops_free(loops[k].inner, loops[k].n_inner);
    }
    cad_memory_free(loops);
}

void cad_loops_find(Unrolled *u, Least least) {
    Finder finder = {.u = u, .least = least}, *const f = &finder;
    CadMemory memory = {0};
    if (prepare(f, &memory)) {
        find_all(f, 0, u->n_operations);
    } else {
        u->graph->status = CAD_NO_MEMORY;
    }
    cad_loops_free(u->loops, u->n_loops);
    u->loops = f->loops;
    u->n_loops = f->n_loops;
    cad_memory_give_back(&memory);
}
