/* From what was recorded to a graph: steps one by one, loops as recurrences. */
#include "loops/inner.h"
#include "loops/loops.h"

#include "tape/tape.h"

/* Of a step of the body that later turns read: how many turns later, at most, which of what is
 * carried it is, at a lag of one, and its first input. */
typedef struct Lagged {
    uint32_t most, first;
    CadId input;
} Lagged;

typedef struct Roller {
    Recorded *r;
    CadCopier copier;
    uint8_t *is_read; /* of steps: outside of their loop */
    CadRoom room;
} Roller;

/* --- what is read outside of loops --- */

static void read_from_outside(Roller *o, CadId id, size_t begin, size_t end) {
    const int64_t step = step_of(o->r, id);
    if (step >= 0 && ((size_t)step < begin || (size_t)step >= end)) {
        o->is_read[step] = 1;
    }
}

static void find_read(Roller *o, const CadId *outputs, size_t n_outputs) {
    Recorded *const r = o->r;
    const Loop *loop = r->loops, *const last = r->loops + r->n_loops;
    CadOperands of;
    for (size_t step = 0; step < r->n_steps; step++) {
        while (loop < last && step >= loop->begin + (size_t)loop->n * loop->period) {
            loop++;
        }
        const int inside = loop < last && step >= loop->begin;
        const size_t begin = inside ? loop->begin : step;
        const size_t end = inside ? begin + (size_t)loop->n * loop->period : step;
        cad_graph_operands(r->graph, r->records[step], &of);
        for (size_t k = 0; k < of.n; k++) {
            read_from_outside(o, of.ids[k], begin, end);
        }
    }
    for (size_t k = 0; k < n_outputs; k++) {
        read_from_outside(o, outputs[k], 0, 0);
    }
}

/* --- one loop --- */

typedef struct Body {
    const Loop *loop;
    CadMemory memory;
    Lagged *lagged;  /* of the steps of a turn */
    CadId *names;    /* of these, in the body */
    uint32_t *first; /* of these: its first operand among all */
    uint32_t *of;    /* of operands that come from outside: which one of what is given */
    CadId next;      /* input */
    CadRecurrence asked;
    CadId *initial, *ends;
    CadOverTurns *given;
    CadId *input_of_given;
    uint32_t *sizes; /* of what is carried, given, kept */
    size_t *kept;    /* steps of a turn */
} Body;

/* So many turns before, if an operand is what the loop has computed; -1: it comes from outside.
 * The middle turn tells. */
static int64_t lag_of_operand(const Roller *o, const Loop *loop, size_t q, uint32_t k,
                              size_t *of) {
    const size_t step = loop->begin + loop->n / 2 * (size_t)loop->period + q;
    const int64_t source = step_of(o->r, operand_of_step(o->r, step, k).first);
    if (source < (int64_t)loop->begin) {
        return -1;
    }
    const size_t distance = step - (size_t)source;
    const size_t lag = lag_of(distance, q, loop->period);
    *of = q + lag * loop->period - distance;
    return (int64_t)lag;
}

static CadId name_at(Roller *o, CadId id) {
    return cad_copier_name(&o->copier, id);
}

static Block operand_in_turn(const Roller *o, const Loop *loop, size_t turn, size_t q,
                             uint32_t k) {
    return operand_of_step(o->r, loop->begin + turn * loop->period + q, k);
}

static uint32_t arity(const Roller *o, const Loop *loop, size_t q) {
    return arity_of_step(o->r, loop->begin + q);
}

static uint32_t size_in_turn(const Roller *o, const Loop *loop, size_t q) {
    return size_of_step(o->r, loop->begin + q);
}

/* What is carried: each step that later turns read, at each lag; it begins as what was read in its
 * place by those turns that are too early. */
static void find_carried(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    size_t of = 0;
    for (size_t q = 0; q < loop->period; q++) {
        for (uint32_t k = 0; k < arity(o, loop, q); k++) {
            const int64_t lag = lag_of_operand(o, loop, q, k, &of);
            if (lag > (int64_t)b->lagged[of].most) {
                b->lagged[of].most = (uint32_t)lag;
            }
        }
    }
    for (size_t q = 0; q < loop->period; q++) {
        b->lagged[q].first = (uint32_t)b->asked.n_carried;
        b->lagged[q].input = b->next;
        b->next += b->lagged[q].most * size_in_turn(o, loop, q);
        b->asked.n_carried += b->lagged[q].most;
    }
}

/* The blocks of what is carried, number by number: what is read of no early turn is 0. */
static void name_initial(Roller *o, Body *b, const CadId *numbers) {
    for (size_t q = 0; q < b->loop->period; q++) {
        const uint32_t size = size_in_turn(o, b->loop, q);
        for (uint32_t lag = 0; lag < b->lagged[q].most; lag++, numbers += size) {
            b->sizes[b->lagged[q].first + lag] = size;
            b->initial[b->lagged[q].first + lag] = cad_graph_block(o->copier.to, numbers, size);
        }
    }
}

static int find_initial(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    const size_t n_numbers = b->next - CAD_SCAN_INPUT;
    size_t of = 0;
    CadId *const numbers = cad_memory_take(&b->memory, n_numbers, sizeof *numbers);
    b->initial = cad_memory_take(&b->memory, b->asked.n_carried, sizeof *b->initial);
    if (b->memory.status != CAD_OK) {
        return 0;
    }
    for (size_t q = 0; q < loop->period; q++) {
        for (uint32_t k = 0; k < arity(o, loop, q); k++) {
            const int64_t lag = lag_of_operand(o, loop, q, k, &of);
            const CadId offset =
                lag > 0 ? offset_of(o->r, operand_in_turn(o, loop, loop->n / 2, q, k)) : 0;
            for (int64_t turn = 0; turn < lag; turn++) {
                const Block found = operand_in_turn(o, loop, (size_t)turn, q, k);
                CadId *const initial = numbers + (b->lagged[of].input - CAD_SCAN_INPUT) + offset +
                                       (size_t)(lag - turn - 1) * size_in_turn(o, loop, of);
                for (uint32_t e = 0; e < found.size; e++) {
                    const CadId name = name_at(o, found.first + e);
                    if (initial[e] != CAD_NO_ID && initial[e] != name) {
                        return 0;
                    }
                    initial[e] = name;
                }
            }
        }
    }
    for (size_t i = 0; i < n_numbers; i++) {
        numbers[i] = numbers[i] == CAD_NO_ID ? CAD_ZERO : numbers[i];
    }
    name_initial(o, b, numbers);
    return 1;
}

/* What an operand from outside is in all turns: what is seen of an array, at even distances, or an
 * array that is made of it. */
static CadOverTurns row_of_operand(Roller *o, const Loop *loop, size_t q, uint32_t k) {
    CadGraph *const to = o->copier.to;
    const CadId first = name_at(o, operand_in_turn(o, loop, 0, q, k).first);
    const size_t n = loop->n, size = operand_in_turn(o, loop, 0, q, k).size;
    int64_t step = 0, last = first;
    size_t even = 1;
    for (; even < n; even++) {
        const int64_t next = name_at(o, operand_in_turn(o, loop, even, q, k).first);
        if (even > 1 && next - last != step) {
            break;
        }
        step = next - last;
        last = next;
    }
    if (even == n &&
        (step == 0 || (cad_record_is_array(cad_graph_record(to, first)) &&
                       cad_graph_record_of(to, first) == cad_graph_record_of(to, (CadId)last)))) {
        return (CadOverTurns){first, step};
    }
    CadId *const ids = cad_graph_room(to, &o->room, n * size);
    for (size_t turn = 0; turn < n && ids != NULL; turn++) {
        const CadId from = name_at(o, operand_in_turn(o, loop, turn, q, k).first);
        for (size_t e = 0; e < size; e++) {
            ids[turn * size + e] = from + (CadId)e;
        }
    }
    return (CadOverTurns){ids != NULL ? cad_graph_pack(to, ids, n * size) : CAD_ZERO,
                          (int64_t)size};
}

/* Rows that are the same are one input: they are looked up by hash. Answers which one. */
static uint32_t find_row(Body *b, size_t mask, uint32_t *table, CadOverTurns row, uint32_t size) {
    const uint64_t hash =
        ((uint64_t)row.first << 32 ^ (uint64_t)row.step ^ size) * 0x9e3779b97f4a7c15u;
    const uint32_t *const sizes = b->sizes + b->asked.n_carried;
    size_t place = (hash >> 32) & mask;
    while (table[place] != 0 &&
           (b->given[table[place] - 1].first != row.first ||
            b->given[table[place] - 1].step != row.step || sizes[table[place] - 1] != size)) {
        place = (place + 1) & mask;
    }
    if (table[place] == 0) {
        b->sizes[b->asked.n_carried + b->asked.n_given] = size;
        b->given[b->asked.n_given] = row;
        b->input_of_given[b->asked.n_given++] = b->next;
        b->next += size;
        table[place] = (uint32_t)b->asked.n_given;
    }
    return table[place] - 1;
}

static void find_given(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    const size_t n_operands = b->first[loop->period];
    size_t size = 16, of;
    while (size < 2 * n_operands) {
        size *= 2;
    }
    b->of = cad_memory_take(&b->memory, n_operands, sizeof *b->of);
    b->given = cad_memory_take(&b->memory, n_operands, sizeof *b->given);
    b->input_of_given = cad_memory_take(&b->memory, n_operands, sizeof *b->input_of_given);
    uint32_t *const table = cad_memory_take(&b->memory, size, sizeof *table);
    for (size_t q = 0; q < loop->period && b->memory.status == CAD_OK; q++) {
        for (uint32_t k = 0; k < arity(o, loop, q); k++) {
            if (lag_of_operand(o, loop, q, k, &of) < 0) {
                b->of[b->first[q] + k] =
                    find_row(b, size - 1, table, row_of_operand(o, loop, q, k),
                             operand_in_turn(o, loop, 0, q, k).size);
            }
        }
    }
}

/* Constants that are the same in all turns are told by their number in the graph. */
static CadId name_of_given(Roller *o, Body *b, uint32_t which) {
    const CadOverTurns row = b->given[which];
    double value;
    return row.step == 0 && b->sizes[b->asked.n_carried + which] == 1 &&
                   cad_graph_is_constant(o->copier.to, row.first, &value)
               ? cad_graph_constant(b->asked.body, value)
               : b->input_of_given[which];
}

static CadId name_of_operand(Roller *o, Body *b, size_t q, uint32_t k) {
    const Loop *const loop = b->loop;
    size_t of;
    const int64_t lag = lag_of_operand(o, loop, q, k, &of);
    if (lag < 0) {
        return name_of_given(o, b, b->of[b->first[q] + k]);
    }
    const CadId offset = offset_of(o->r, operand_in_turn(o, loop, loop->n / 2, q, k));
    return offset + (lag == 0
                         ? b->names[of]
                         : b->lagged[of].input + (CadId)(lag - 1) * size_in_turn(o, loop, of));
}

/* A step of the middle turn, which is settled, in the body. */
static CadId step_in_body(Roller *o, Body *b, size_t q) {
    const Loop *const loop = b->loop;
    CadGraph *const body = b->asked.body;
    const uint32_t n = arity(o, loop, q);
    const size_t step = loop->begin + loop->n / 2 * (size_t)loop->period + q;
    const CadRecord *const record = record_of_step(o->r, step);
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
    cad_graph_look(o->r->graph, o->r->records[step], axes, &made);
    for (uint32_t k = 0; k < n; k++) {
        CadNumbers *const view = &made.views[k + first_operand(record)];
        view->first = x[k] + (view->first - operand_of_step(o->r, step, k).first);
    }
    return cad_graph_make(body, o->r->graph, &made);
}

static void fill_body(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    for (size_t q = 0; q < loop->period && b->asked.body->status == CAD_OK; q++) {
        b->names[q] = step_in_body(o, b, q);
    }
    for (size_t q = 0; q < loop->period; q++) {
        for (uint32_t lag = 1; lag <= b->lagged[q].most; lag++) {
            b->ends[b->lagged[q].first + lag - 1] =
                lag == 1 ? b->names[q] : b->lagged[q].input + (lag - 2) * size_in_turn(o, loop, q);
        }
    }
}

/* Steps of a turn of which anything is read outside: of some the last turn alone. */
static void find_kept(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    for (size_t q = 0; q < loop->period; q++) {
        int is_read = 0;
        for (size_t turn = 0; turn < loop->n && !is_read; turn++) {
            is_read = o->is_read[loop->begin + turn * loop->period + q];
        }
        if (is_read) {
            b->kept[b->asked.n_kept++] = q;
        }
    }
}

static int is_last_alone(const Roller *o, const Loop *loop, size_t q) {
    for (size_t turn = 0; turn + 1 < loop->n; turn++) {
        if (o->is_read[loop->begin + turn * loop->period + q]) {
            return 0;
        }
    }
    return 1;
}

/* What was carried out of the last turn needs no row. */
static void name_results(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    CadMemory *const memory = &b->memory;
    const size_t n_carried = b->asked.n_carried;
    CadId *const last = cad_memory_take(memory, n_carried, sizeof *last);
    CadOverTurns *const rows = cad_memory_take(memory, b->asked.n_kept, sizeof *rows);
    size_t n = 0;
    if (memory->status != CAD_OK) {
        o->copier.to->status = CAD_NO_MEMORY;
        return;
    }
    for (size_t k = 0; k < b->asked.n_kept; k++) {
        const size_t q = b->kept[k];
        if (b->lagged[q].most == 0 || !is_last_alone(o, loop, q)) {
            b->sizes[n_carried + b->asked.n_given + n] = size_in_turn(o, loop, q);
            b->ends[n_carried + n++] = b->names[q];
        }
    }
    const size_t n_steps = b->asked.n_kept;
    b->asked.n_kept = n;
    if (cad_graph_recur(o->copier.to, &b->asked, &(CadScanResults){last, rows, NULL}) != CAD_OK) {
        return;
    }
    n = 0;
    for (size_t k = 0; k < n_steps; k++) {
        const size_t q = b->kept[k];
        uint32_t *const records = o->r->records + loop->begin + q;
        if (b->lagged[q].most > 0 && is_last_alone(o, loop, q)) {
            o->copier.names[records[(loop->n - 1) * (size_t)loop->period]] =
                last[b->lagged[q].first];
            continue;
        }
        const CadOverTurns row = rows[n++];
        for (size_t turn = 0; turn < loop->n; turn++) {
            o->copier.names[records[turn * loop->period]] =
                (CadId)(row.first + row.step * (int64_t)turn);
        }
    }
}

static void count_operands(const Roller *o, Body *b) {
    for (size_t q = 0; q < b->loop->period; q++) {
        b->first[q + 1] = b->first[q] + arity(o, b->loop, q);
    }
}

/* Answers 0 if it is no loop after all. */
static int roll_loop(Roller *o, const Loop *loop) {
    Body body = {
        .loop = loop, .next = CAD_SCAN_INPUT, .asked = {.n = loop->n, .input = CAD_SCAN_INPUT}};
    Body *const b = &body;
    const size_t period = loop->period;
    CadGraph *const to = o->copier.to;
    int done = 0;
    b->lagged = cad_memory_take(&b->memory, period, sizeof *b->lagged);
    b->names = cad_memory_take(&b->memory, period, sizeof *b->names);
    b->kept = cad_memory_take(&b->memory, period, sizeof *b->kept);
    b->first = cad_memory_take(&b->memory, period + 1, sizeof *b->first);
    if (b->memory.status == CAD_OK) {
        count_operands(o, b);
        find_carried(o, b);
        b->sizes = cad_memory_take(&b->memory, b->asked.n_carried + b->first[period] + period,
                                   sizeof *b->sizes);
    }
    if (b->memory.status == CAD_OK) {
        done = find_initial(o, b);
    }
    if (done) {
        find_given(o, b);
        b->ends = cad_memory_take(&b->memory, b->asked.n_carried + period, sizeof *b->ends);
        b->asked.body = cad_scan_body_of(b->sizes, b->asked.n_carried + b->asked.n_given);
        if (b->memory.status == CAD_OK && b->asked.body != NULL) {
            b->asked.initial = b->initial;
            b->asked.given = b->given;
            b->asked.ends = b->ends;
            b->asked.sizes = b->sizes;
            fill_body(o, b);
            find_kept(o, b);
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

/* --- all of it --- */

static void roll_all(Roller *o) {
    Recorded *const r = o->r;
    const Loop *loop = r->loops, *const last = r->loops + r->n_loops;
    for (size_t step = 0; step < r->n_steps && o->copier.to->status == CAD_OK;) {
        if (loop < last && step == loop->begin && roll_loop(o, loop++)) {
            step += (size_t)loop[-1].n * loop[-1].period;
            continue;
        }
        o->copier.names[r->records[step]] = cad_graph_copy(&o->copier, r->records[step]);
        step++;
    }
}

/* Loops of few turns are found if there are none of more, within which they might be; and if they
 * are asked for, as for a text. */
static void find_loops(Recorded *r, size_t least_numbers) {
    enum { FEW_TURNS = 3 };
    const size_t numbers = least_numbers > 0 ? least_numbers : LEAST_NUMBERS;
    const size_t turns_that_call = least_numbers > 0 ? LEAST_TURNS : MANY_TURNS;
    cad_loops_find(r, (Least){LEAST_TURNS, numbers, 0, turns_that_call});
    if (least_numbers > 0 && r->n_loops == 0 && r->graph->status == CAD_OK) {
        cad_loops_find(r, (Least){FEW_TURNS, numbers, numbers, FEW_TURNS});
    }
}

/* Whether there may be loops: enough entries, and numbers. */
static int may_have_loops(const CadGraph *graph, const CadTape *tape, size_t begin, size_t end,
                          size_t least_numbers) {
    size_t n = 0;
    for (size_t i = begin + 1; i < end; i++) {
        const CadEntry entry = tape->entries[i];
        n += CAD_IS_ARRAY_ENTRY(entry) ? entry.b : 1;
    }
    return graph->optimize && n >= (least_numbers > 0 ? least_numbers : LEAST_NUMBERS);
}

/* A graph with the inputs of another one, of the same owner. */
static CadGraph *with_inputs_of(const CadGraph *graph) {
    CadGraph *const made = cad_graph_new(graph->optimize);
    if (made != NULL) {
        made->keeps_doubles = graph->keeps_doubles;
        made->compares_last = graph->compares_last;
        made->calls = graph->calls;
        made->owner = graph->owner;
        for (size_t i = 2; i < graph->n_records; i++) {
            cad_graph_input(made, cad_record_size(&graph->records[i]),
                            cad_graph_has_floats(graph, &graph->records[i]));
        }
    }
    return made;
}

/* What was recorded, as a graph of its own; the given one begins anew, with its inputs. Calls are
 * made numbers of by the owner, who knows that one alone: so they change places after reading. */
static CadGraph *read_apart(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                            const CadId *inputs, size_t n_inputs, CadId *outputs,
                            size_t n_outputs) {
    CadGraph *const apart = with_inputs_of(graph);
    if (apart == NULL || apart->status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
        return apart;
    }
    graph->keeps_singles = 1;
    graph->status = cad_graph_read(graph, tape, begin, end, inputs, n_inputs, outputs, n_outputs);
    if (graph->status == CAD_OK) {
        const CadGraph read = *graph;
        *graph = *apart;
        *apart = read;
    }
    return apart;
}

/* Whether the inputs are all that the graph has beside the constant 0. */
static int is_fresh(const CadGraph *graph) {
    for (size_t i = 2; i < graph->n_records; i++) {
        if (graph->records[i].kind != CAD_RECORD_INPUT) {
            return 0;
        }
    }
    return 1;
}

/* What was recorded with its loops in another graph; outputs are numbers of the former, then of
 * the latter. */
static void roll(Recorded *r, CadGraph *graph, CadId *outputs, size_t n_outputs) {
    Roller roller = {.r = r, .copier = {.from = r->graph, .to = graph, .folds = 1}};
    Roller *const o = &roller;
    o->is_read = cad_memory_take(&r->memory, r->n_steps + 1, 1);
    o->copier.names = cad_memory_take(&r->memory, r->graph->n_records, sizeof *o->copier.names);
    graph->status = r->memory.status;
    if (graph->status == CAD_OK) {
        for (size_t i = 2; i < graph->n_records; i++) {
            o->copier.names[i] = cad_graph_first(graph, i);
        }
        find_read(o, outputs, n_outputs);
        roll_all(o);
    }
    for (size_t k = 0; k < n_outputs && graph->status == CAD_OK; k++) {
        outputs[k] = name_at(o, outputs[k]);
    }
    cad_memory_free(o->room.ids);
}

CadStatus cad_loops_read(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                         const CadId *inputs, size_t n_inputs, CadId *outputs, size_t n_outputs,
                         size_t least_numbers) {
    Recorded recorded = {0}, *const r = &recorded;
    int is_read = 0;
    if (is_fresh(graph) && may_have_loops(graph, tape, begin, end, least_numbers)) {
        CadId *const found = cad_memory_take(&r->memory, n_outputs, sizeof *found);
        if (found == NULL) {
            return graph->status = CAD_NO_MEMORY;
        }
        memcpy(found, outputs, n_outputs * sizeof *found);
        r->graph = read_apart(graph, tape, begin, end, inputs, n_inputs, found, n_outputs);
        if (graph->status == CAD_OK && cad_loops_list_steps(r)) {
            find_loops(r, least_numbers);
        }
        graph->status = graph->status == CAD_OK ? r->graph->status : graph->status;
        /* The owner numbers calls once. */
        is_read = graph->status == CAD_OK && (r->n_loops > 0 || cad_graph_has_calls(r->graph));
        if (is_read) {
            roll(r, graph, found, n_outputs);
            memcpy(outputs, found, n_outputs * sizeof *found);
        }
        cad_graph_free(r->graph);
        cad_memory_give_back(&r->memory);
        cad_memory_free(r->loops);
    }
    return graph->status != CAD_OK || is_read
               ? graph->status
               : cad_graph_read(graph, tape, begin, end, inputs, n_inputs, outputs, n_outputs);
}
