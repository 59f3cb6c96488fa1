/* One loop as a recurrence: a turn of it as a graph of its own, in which loops within that turn
 * are recurrences, too. */
#include "loops/inner.h"

/* Of an operation that later turns read: how many turns later, at most; and where the numbers of
 * the turn before are carried: in which block, how far from its first number, and from which input
 * on. */
typedef struct Lagged {
    uint32_t most, block, offset;
    CadId input;
} Lagged;

/* Of an operand that comes from outside: which given block has it, counted from 1, and where. */
typedef struct Outside {
    uint32_t which, offset;
} Outside;

struct Body {
    const Loop *loop;
    Body *around; /* in a turn of which the loop is, or NULL */
    CadMemory memory;
    Lagged *lagged;     /* of the operations of a turn */
    CadId *names;       /* of these, in the body */
    uint8_t *reads;     /* of these: who reads them */
    uint32_t *inner_of; /* of these: which loop within the turn, counted from 1, or 0 */
    uint32_t *first;    /* of these: its first operand among all */
    Outside *outside;
    CadId next; /* input */
    CadRecurrence asked;
    CadId *input_of_given;
    Table rows;   /* of those that are given */
    size_t *kept; /* operations of a turn */
};

enum { NESTED = 8 }; /* loops in each other that share a given block */

enum {
    READ_BEHIND = 1, /* outside of the loop: of the last turn, */
    READ_EARLY = 2,  /* of another one, */
    READ_WITHIN = 4, /* or in the loop, outside of one within it */
};

static Block operand_in_turn(const Roller *o, const Loop *loop, size_t turn, size_t q,
                             uint32_t k) {
    return operand_of(o->u, loop->begin + turn * loop->period + q, k);
}

static uint32_t arity(const Roller *o, const Loop *loop, size_t q) {
    return arity_of(o->u, loop->begin + q);
}

static uint32_t size_in_turn(const Roller *o, const Loop *loop, size_t q) {
    return size_of(o->u, loop->begin + q);
}

/* --- what is around the loop --- */

static CadId name_of_operand(const Roller *o, const Body *b, size_t q, uint32_t k);

static CadGraph *graph_around(const Roller *o, const Body *b) {
    return b->around != NULL ? b->around->asked.body : o->copier.to;
}

/* Where an operation of the loop is in the turn around it. */
static size_t place_around(const Body *b, size_t turn, size_t q) {
    return b->loop->begin - middle_of(b->around->loop) + turn * b->loop->period + q;
}

/* The first number of an operand that comes from outside. */
static CadId name_outside(const Roller *o, const Body *b, size_t turn, size_t q, uint32_t k) {
    return b->around != NULL
               ? name_of_operand(o, b->around, place_around(b, turn, q), k)
               : cad_copier_name(&o->copier, operand_in_turn(o, b->loop, turn, q, k).first);
}

static void name_around(Roller *o, const Body *b, size_t turn, size_t q, CadId name) {
    if (b->around != NULL) {
        b->around->names[place_around(b, turn, q)] = name;
    } else {
        o->copier.names[o->u->records[b->loop->begin + turn * b->loop->period + q]] = name;
    }
}

static int is_read_outside(const Roller *o, const Body *b, size_t turn, size_t q) {
    return b->around != NULL ? b->around->reads[place_around(b, turn, q)] != 0
                             : o->is_read[b->loop->begin + turn * b->loop->period + q];
}

/* --- what is carried --- */

/* How many turns later each operation is read, at most: it is carried once for each of them. */
static void find_lags(const Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    size_t of = 0;
    for (size_t q = 0; q < loop->period; q++) {
        for (uint32_t k = 0; k < arity(o, loop, q); k++) {
            const int64_t lag = cad_loops_lag(o->u, loop, q, k, &of);
            if (lag > (int64_t)b->lagged[of].most) {
                b->lagged[of].most = (uint32_t)lag;
            }
        }
    }
}

/* Carried operations, single numbers or others, as blocks each, or all as one. */
static void carry(const Roller *o, Body *b, int are_single, int together) {
    const CadId begin = b->next;
    for (size_t q = 0; q < b->loop->period; q++) {
        Lagged *const lagged = &b->lagged[q];
        const uint32_t size = size_in_turn(o, b->loop, q);
        if (lagged->most == 0 || (size == 1) != are_single) {
            continue;
        }
        lagged->block = (uint32_t)b->asked.n_carried;
        lagged->offset = together ? b->next - begin : 0;
        lagged->input = b->next;
        b->next += lagged->most * size;
        for (uint32_t lag = 0; lag < lagged->most && !together; lag++) {
            b->asked.sizes[b->asked.n_carried++] = size;
        }
    }
    if (together && b->next > begin) {
        b->asked.sizes[b->asked.n_carried++] = b->next - begin;
    }
}

/* Many numbers that are carried, as the cells of a grid, are one block, unless single numbers are
 * all that there is. */
static void find_carried(const Roller *o, Body *b) {
    enum { MANY = 16 };
    const size_t period = b->loop->period;
    size_t n = 0, n_single = 0;
    find_lags(o, b);
    for (size_t q = 0; q < period; q++) {
        n += b->lagged[q].most;
        n_single += size_in_turn(o, b->loop, q) == 1 ? b->lagged[q].most : 0;
    }
    b->asked.sizes =
        cad_memory_take(&b->memory, n + b->first[period] + period, sizeof *b->asked.sizes);
    if (b->asked.sizes != NULL) {
        carry(o, b, 1, b->loop->n_inner > 0 && n_single >= MANY);
        carry(o, b, 0, 0);
    }
}

/* The blocks of carried numbers, which are listed one by one. */
static void name_blocks(const Body *b, CadGraph *graph, const CadId *numbers, CadId *blocks) {
    for (size_t k = 0; k < b->asked.n_carried; k++) {
        blocks[k] = cad_graph_block(graph, numbers, b->asked.sizes[k]);
        numbers += b->asked.sizes[k];
    }
}

/* A carried number begins as what the turns read that are too early for it. */
static int find_initial(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    const size_t n_numbers = b->next - CAD_SCAN_INPUT;
    size_t of = 0;
    CadId *const numbers = cad_memory_take(&b->memory, n_numbers, sizeof *numbers);
    b->asked.initial = cad_memory_take(&b->memory, b->asked.n_carried, sizeof *b->asked.initial);
    if (b->memory.status != CAD_OK) {
        return 0;
    }
    for (size_t q = 0; q < loop->period; q++) {
        for (uint32_t k = 0; k < arity(o, loop, q); k++) {
            const int64_t lag = cad_loops_lag(o->u, loop, q, k, &of);
            const CadId offset = lag > 0 ? source_of(o->u, middle_of(loop) + q, k).offset : 0;
            for (int64_t turn = 0; turn < lag; turn++) {
                const uint32_t size = operand_in_turn(o, loop, (size_t)turn, q, k).size;
                CadId *const initial = numbers + (b->lagged[of].input - CAD_SCAN_INPUT) + offset +
                                       (size_t)(lag - turn - 1) * size_in_turn(o, loop, of);
                const CadId name = name_outside(o, b, (size_t)turn, q, k);
                for (uint32_t e = 0; e < size; e++) {
                    if (initial[e] != CAD_NO_ID && initial[e] != name + e) {
                        return 0;
                    }
                    initial[e] = name + e;
                }
            }
        }
    }
    for (size_t i = 0; i < n_numbers; i++) { /* what is read of no early turn */
        numbers[i] = numbers[i] == CAD_NO_ID ? CAD_ZERO : numbers[i];
    }
    name_blocks(b, graph_around(o, b), numbers, b->asked.initial);
    return 1;
}

/* --- what is given --- */

/* Numbers in all turns, `size` of each, listed one behind the other: part of an array at even
 * distances, the same numbers in all turns, or an array that is made of them. */
static CadOverTurns row_of_ids(CadGraph *graph, const CadId *ids, size_t n, size_t size) {
    const int64_t step = n > 1 ? (int64_t)ids[size] - ids[0] : 0;
    const int is_array = cad_record_is_array(cad_graph_record(graph, ids[0]));
    int is_same = 1, is_even = 1;
    CadId low = ids[0], high = ids[0];
    for (size_t k = 0, e = 0; k < n * size; k++, e = e + 1 < size ? e + 1 : 0) {
        is_same &= ids[k] == ids[e];
        is_even &= ids[k] == (k < size ? ids[0] + (CadId)k : ids[k - size] + (CadId)step);
        low = ids[k] < low ? ids[k] : low;
        high = ids[k] > high ? ids[k] : high;
    }
    if (is_even &&
        ((is_array && cad_graph_record_of(graph, low) == cad_graph_record_of(graph, high)) ||
         (is_same && size == 1))) {
        return (CadOverTurns){ids[0], step};
    }
    return (CadOverTurns){cad_graph_pack(graph, ids, (is_same ? 1 : n) * size),
                          is_same ? 0 : (int64_t)size};
}

/* An operation of nested loops within a turn: where it is in the turn at first, and of each loop,
 * the outermost first, how many turns it has and how many operations apart these are. */
typedef struct Nest {
    size_t at, depth;
    size_t n[NESTED], period[NESTED];
} Nest;

static size_t size_of_nest(const Nest *nest) {
    size_t size = 1;
    for (size_t d = 0; d < nest->depth; d++) {
        size *= nest->n[d];
    }
    return size;
}

/* Where the operation is in one of all turns; turns of the innermost loop follow each other. */
static size_t place_in_nest(const Nest *nest, size_t turn) {
    size_t operation = nest->at;
    for (size_t d = nest->depth; d-- > 0; turn /= nest->n[d]) {
        operation += turn % nest->n[d] * nest->period[d];
    }
    return operation;
}

/* Rows that are the same are one input: they are looked up by hash. Answers which one, counted
 * from 1. */
static uint32_t find_row(Body *b, CadOverTurns row, uint32_t size) {
    const uint64_t hash = cad_loops_hash(cad_loops_hash(size, row.first), (uint64_t)row.step);
    uint32_t *const sizes = b->asked.sizes + b->asked.n_carried;
    FIND_PLACE(b->rows, hash, which,
               b->asked.given[*which - 1].first == row.first &&
                   b->asked.given[*which - 1].step == row.step && sizes[*which - 1] == size)
    if (*which == 0) {
        sizes[b->asked.n_given] = size;
        b->asked.given[b->asked.n_given] = row;
        b->input_of_given[b->asked.n_given++] = b->next;
        b->next += size;
        *which = (uint32_t)b->asked.n_given;
    }
    return *which;
}

static int is_outside_within(const Roller *o, const Body *b, const Nest *nest, uint32_t k) {
    const size_t n = size_of_nest(nest);
    size_t within = 0, of;
    while (within < n && cad_loops_lag(o->u, b->loop, place_in_nest(nest, within), k, &of) < 0) {
        within++;
    }
    return within == n;
}

/* If names are the same in all turns of an inner loop, which are `scale` names apart, keep those
 * of one turn. Answers whether they are. */
static int strike_out(CadId *names, size_t n, size_t n_turns, size_t scale) {
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (names[i] != names[i - i / scale % n_turns * scale]) {
            return 0;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (i / scale % n_turns == 0) {
            names[left++] = names[i];
        }
    }
    return 1;
}

/* An operand from outside is one given block in each turn: it has a number for each turn of those
 * inner loops in whose turns it differs. */
static void give_to_operand(Roller *o, Body *b, const Nest *nest, uint32_t k) {
    CadGraph *const graph = graph_around(o, b);
    const size_t n_turns = b->loop->n, n = size_of_nest(nest);
    const size_t size = operand_in_turn(o, b->loop, 0, nest->at, k).size;
    size_t n_left = 1, strides[NESTED], n_names = n_turns * n;
    CadId *names =
        is_outside_within(o, b, nest, k) ? cad_graph_room(graph, &o->room, n_names) : NULL;
    if (names == NULL) {
        return;
    }
    for (size_t i = 0; i < n_names; i++) {
        names[i] = name_outside(o, b, i / n, place_in_nest(nest, i % n), k);
    }
    for (size_t d = nest->depth; d-- > 0;) {
        strides[d] = n_left * size;
        if (strike_out(names, n_names, nest->n[d], n_left)) {
            strides[d] = 0;
            n_names /= nest->n[d];
        } else {
            n_left *= nest->n[d];
        }
    }
    names = cad_graph_room(graph, &o->room, n_names * size);
    for (size_t i = names != NULL ? n_names * size : 0; i-- > 0;) {
        names[i] = names[i / size] + (CadId)(i % size);
    }
    if (names == NULL) {
        return;
    }
    const uint32_t which =
        find_row(b, row_of_ids(graph, names, n_turns, n_left * size), (uint32_t)(n_left * size));
    for (size_t within = 0; within < n; within++) {
        size_t offset = 0, turn = within;
        for (size_t d = nest->depth; d-- > 0; turn /= nest->n[d]) {
            offset += turn % nest->n[d] * strides[d];
        }
        b->outside[b->first[place_in_nest(nest, within)] + k] = (Outside){which, (uint32_t)offset};
    }
}

static void give_to_inner(Roller *o, Body *b, const Loop *inner, Nest nest) {
    const Loop *next = inner->inner;
    const size_t begin = nest.at, turn = inner->n / 2 * (size_t)inner->period;
    nest.n[nest.depth] = inner->n;
    nest.period[nest.depth++] = inner->period;
    for (size_t q = 0; q < inner->period; q++) {
        if (next < inner->inner + inner->n_inner && next->begin == inner->begin + turn + q) {
            nest.at = begin + q;
            if (nest.depth < NESTED) {
                give_to_inner(o, b, next, nest);
            }
            q += operations_of_loop(next++) - 1;
            continue;
        }
        nest.at = begin + q;
        for (uint32_t k = 0; k < arity(o, b->loop, nest.at); k++) {
            give_to_operand(o, b, &nest, k);
        }
    }
}

static void find_given(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    const size_t n_operands = b->first[loop->period];
    b->outside = cad_memory_take(&b->memory, n_operands, sizeof *b->outside);
    b->asked.given = cad_memory_take(&b->memory, n_operands, sizeof *b->asked.given);
    b->input_of_given = cad_memory_take(&b->memory, n_operands, sizeof *b->input_of_given);
    b->rows = cad_loops_table(&b->memory, n_operands);
    if (b->memory.status != CAD_OK) {
        return;
    }
    for (size_t i = 0; i < loop->n_inner; i++) {
        give_to_inner(o, b, &loop->inner[i], (Nest){.at = loop->inner[i].begin - middle_of(loop)});
    }
    for (size_t q = 0; q < loop->period; q++) {
        const Nest alone = {.at = q};
        for (uint32_t k = 0; k < arity(o, loop, q); k++) {
            if (b->outside[b->first[q] + k].which == 0) {
                give_to_operand(o, b, &alone, k);
            }
        }
    }
}

/* --- the body --- */

/* Constants that are the same in all turns are told by their number in the graph. */
static CadId name_of_given(const Roller *o, const Body *b, Outside outside) {
    const CadOverTurns row = b->asked.given[outside.which - 1];
    double value;
    return row.step == 0 && b->asked.sizes[b->asked.n_carried + outside.which - 1] == 1 &&
                   cad_graph_is_constant(graph_around(o, b), row.first, &value)
               ? cad_graph_constant(b->asked.body, value)
               : b->input_of_given[outside.which - 1] + outside.offset;
}

static CadId name_of_operand(const Roller *o, const Body *b, size_t q, uint32_t k) {
    const Loop *const loop = b->loop;
    size_t of;
    const int64_t lag = cad_loops_lag(o->u, loop, q, k, &of);
    if (lag < 0) {
        return name_of_given(o, b, b->outside[b->first[q] + k]);
    }
    const CadId offset = source_of(o->u, middle_of(loop) + q, k).offset;
    return offset + (lag == 0
                         ? b->names[of]
                         : b->lagged[of].input + (CadId)(lag - 1) * size_in_turn(o, loop, of));
}

/* An operation of the middle turn, which is settled, in the body. */
static CadId operation_in_body(Roller *o, Body *b, size_t q) {
    const Loop *const loop = b->loop;
    CadGraph *const body = b->asked.body;
    const uint32_t n = arity(o, loop, q);
    const size_t operation = middle_of(loop) + q;
    const CadRecord *const record = record_at(o->u, operation);
    CadId *const x = cad_graph_room(body, &o->room, n > 3 ? n : 3);
    if (x == NULL) {
        return CAD_ZERO;
    }
    for (uint32_t k = 0; k < 3 || k < n; k++) {
        x[k] = k < n ? name_of_operand(o, b, q, k) : x[0];
    }
    if (record->kind == CAD_RECORD_SINGLE) {
        return cad_graph_apply(body, (CadOp)record->op, x[0], x[1], x[2]);
    }
    if (record->kind == CAD_RECORD_PACK) {
        return cad_graph_pack(body, x, n);
    }
    CadAxes axes;
    CadMade made;
    cad_graph_look(o->u->graph, o->u->records[operation], axes, &made);
    for (uint32_t k = 0; k < n; k++) {
        CadNumbers *const view = &made.views[k + first_operand(record)];
        view->first = x[k] + (view->first - operand_of(o->u, operation, k).first);
    }
    return cad_graph_make(body, o->u->graph, &made);
}

static void fill_body(Roller *o, Body *b) {
    const Loop *const loop = b->loop, *inner = loop->inner;
    const Loop *const last = inner + loop->n_inner;
    for (size_t q = 0; q < loop->period && b->asked.body->status == CAD_OK;) {
        if (inner < last && middle_of(loop) + q == inner->begin && cad_loops_roll(o, inner++, b)) {
            q += operations_of_loop(&inner[-1]);
            continue;
        }
        b->names[q] = operation_in_body(o, b, q);
        q++;
    }
}

/* The carried numbers at the end of a turn. */
static void find_carried_ends(const Roller *o, Body *b) {
    const size_t n = cad_sum_of_sizes(b->asked.sizes, b->asked.n_carried);
    CadId *const numbers = cad_memory_take(&b->memory, n, sizeof *numbers);
    for (size_t q = 0; q < b->loop->period && numbers != NULL; q++) {
        const Lagged lagged = b->lagged[q];
        const uint32_t size = size_in_turn(o, b->loop, q);
        CadId *const ends = numbers + (lagged.input - CAD_SCAN_INPUT);
        for (uint32_t e = 0; e < lagged.most * size; e++) {
            ends[e] = e < size ? b->names[q] + e : lagged.input + e - size;
        }
    }
    if (numbers != NULL) {
        name_blocks(b, b->asked.body, numbers, b->asked.ends);
    }
}

/* --- what is read of turns --- */

static void mark_inner(Body *b) {
    for (size_t k = 0; k < b->loop->n_inner; k++) {
        const Loop *const inner = &b->loop->inner[k];
        const size_t begin = inner->begin - middle_of(b->loop);
        for (size_t q = begin; q < begin + operations_of_loop(inner); q++) {
            b->inner_of[q] = (uint32_t)k + 1;
        }
    }
}

static void find_reads(const Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    size_t of;
    for (size_t turn = 0; turn < loop->n; turn++) {
        for (size_t q = 0; q < loop->period; q++) {
            if (is_read_outside(o, b, turn, q)) {
                b->reads[q] |= turn + 1 < loop->n ? READ_EARLY : READ_BEHIND;
            }
        }
    }
    for (size_t q = 0; q < loop->period && loop->n_inner > 0; q++) {
        for (uint32_t k = 0; k < arity(o, loop, q); k++) {
            const int64_t lag = cad_loops_lag(o->u, loop, q, k, &of);
            if (lag > 0 || (lag == 0 && b->inner_of[of] != b->inner_of[q])) {
                b->reads[of] |= READ_WITHIN;
            }
        }
    }
    for (size_t q = 0; q < loop->period; q++) {
        if (b->reads[q] & (READ_EARLY | READ_BEHIND)) {
            b->kept[b->asked.n_kept++] = q;
        }
    }
}

/* Whether only the last turn's is read: a carried number that needs no row. */
static int is_last_alone(const Body *b, size_t q) {
    return b->lagged[q].most > 0 && !(b->reads[q] & READ_EARLY);
}

static void name_results(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    CadGraph *const graph = graph_around(o, b);
    CadMemory *const memory = &b->memory;
    const size_t n_carried = b->asked.n_carried;
    CadId *const last = cad_memory_take(memory, n_carried, sizeof *last);
    CadOverTurns *const rows = cad_memory_take(memory, b->asked.n_kept, sizeof *rows);
    size_t n = 0;
    if (memory->status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
        return;
    }
    for (size_t k = 0; k < b->asked.n_kept; k++) {
        const size_t q = b->kept[k];
        if (!is_last_alone(b, q)) {
            b->asked.sizes[n_carried + b->asked.n_given + n] = size_in_turn(o, loop, q);
            b->asked.ends[n_carried + n++] = b->names[q];
        }
    }
    const size_t n_operations = b->asked.n_kept;
    b->asked.n_kept = n;
    cad_graph_divide_recurrence(graph, &b->asked, &(CadScanResults){last, rows, NULL});
    if (graph->status != CAD_OK) {
        return;
    }
    n = 0;
    for (size_t k = 0; k < n_operations; k++) {
        const size_t q = b->kept[k];
        if (is_last_alone(b, q)) {
            name_around(o, b, loop->n - 1, q, last[b->lagged[q].block] + b->lagged[q].offset);
            continue;
        }
        const CadOverTurns row = rows[n++];
        for (size_t turn = 0; turn < loop->n; turn++) {
            name_around(o, b, turn, q, (CadId)(row.first + row.step * (int64_t)turn));
        }
    }
}

int cad_loops_roll(Roller *o, const Loop *loop, Body *around) {
    Body body = {.loop = loop,
                 .around = around,
                 .next = CAD_SCAN_INPUT,
                 .asked = {.n = loop->n, .input = CAD_SCAN_INPUT}};
    Body *const b = &body;
    const size_t period = loop->period;
    CadGraph *const to = graph_around(o, b);
    int done = 0;
    b->lagged = cad_memory_take(&b->memory, period, sizeof *b->lagged);
    b->names = cad_memory_take(&b->memory, period, sizeof *b->names);
    b->reads = cad_memory_take(&b->memory, period, sizeof *b->reads);
    b->inner_of = cad_memory_take(&b->memory, period, sizeof *b->inner_of);
    b->kept = cad_memory_take(&b->memory, period, sizeof *b->kept);
    b->first = cad_memory_take(&b->memory, period + 1, sizeof *b->first);
    if (b->memory.status == CAD_OK) {
        for (size_t q = 0; q < period; q++) {
            b->first[q + 1] = b->first[q] + arity(o, loop, q);
        }
        mark_inner(b);
        find_carried(o, b);
    }
    if (b->memory.status == CAD_OK) {
        done = find_initial(o, b);
    }
    if (done) {
        find_given(o, b);
        b->asked.ends =
            cad_memory_take(&b->memory, b->asked.n_carried + period, sizeof *b->asked.ends);
        b->asked.body = cad_scan_body_of(b->asked.sizes, b->asked.n_carried + b->asked.n_given);
        if (b->memory.status == CAD_OK && b->asked.body != NULL) {
            find_reads(o, b);
            fill_body(o, b);
            find_carried_ends(o, b);
            name_results(o, b);
        }
    }
    if (b->memory.status != CAD_OK ||
        (done && (b->asked.body == NULL || b->asked.body->status != CAD_OK))) {
        to->status = to->status == CAD_OK ? CAD_NO_MEMORY : to->status;
    }
    cad_graph_free(b->asked.body);
    cad_memory_give_back(&b->memory);
    return done;
}
