/* From what was recorded to a graph: steps one by one, loops as recurrences. */
#include "loops/inner.h"
#include "loops/loops.h"

#include "tape/tape.h"

/* Of a number of the body that later turns read: how many turns later, at most, and which of what
 * is carried it is, at a lag of one. */
typedef struct Lagged {
    uint32_t most, first;
} Lagged;

typedef struct Roller {
    Recorded *r;
    CadCopier copier;
    uint8_t *is_read; /* of steps: outside of their loop */
    CadId *turns;     /* room for a number of each */
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
    Lagged *lagged; /* of the steps of a turn */
    CadId *names;   /* of these, in the body */
    CadId *inputs;  /* of each operand of each step, if that comes from outside */
    CadRecurrence asked;
    CadId *initial, *ends;
    CadOverTurns *given;
    size_t *kept; /* steps of a turn */
} Body;

/* So many turns before, if an operand is what the loop has computed; -1: it comes from outside.
 * The middle turn tells. */
static int64_t lag_of_operand(const Roller *o, const Loop *loop, size_t q, int k, size_t *of) {
    const size_t step = loop->begin + loop->n / 2 * (size_t)loop->period + q;
    const int64_t source = step_of(o->r, operand_of_step(o->r, step, k));
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

static CadId operand_in_turn(const Roller *o, const Loop *loop, size_t turn, size_t q, int k) {
    return operand_of_step(o->r, loop->begin + turn * loop->period + q, k);
}

/* What is carried: each number that later turns read, at each lag; it begins as what was read in
 * its place by those turns that are too early. */
static void find_carried(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    size_t of = 0;
    for (size_t q = 0; q < loop->period; q++) {
        for (int k = 0; k < arity_of_step(o->r, loop->begin + q); k++) {
            const int64_t lag = lag_of_operand(o, loop, q, k, &of);
            if (lag > (int64_t)b->lagged[of].most) {
                b->lagged[of].most = (uint32_t)lag;
            }
        }
    }
    for (size_t q = 0; q < loop->period; q++) {
        b->lagged[q].first = (uint32_t)b->asked.n_carried;
        b->asked.n_carried += b->lagged[q].most;
    }
}

static int find_initial(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    size_t of = 0;
    b->initial = cad_memory_take(&b->memory, b->asked.n_carried, sizeof *b->initial);
    for (size_t q = 0; q < loop->period && b->initial != NULL; q++) {
        for (int k = 0; k < arity_of_step(o->r, loop->begin + q); k++) {
            const int64_t lag = lag_of_operand(o, loop, q, k, &of);
            for (int64_t turn = 0; turn < lag; turn++) {
                CadId *const initial = &b->initial[b->lagged[of].first + (size_t)(lag - turn) - 1];
                const CadId found = name_at(o, operand_in_turn(o, loop, (size_t)turn, q, k));
                if (*initial != CAD_NO_ID && *initial != found) {
                    return 0;
                }
                *initial = found;
            }
        }
    }
    for (size_t j = 0; j < b->asked.n_carried && b->initial != NULL; j++) {
        b->initial[j] = b->initial[j] == CAD_NO_ID ? CAD_ZERO : b->initial[j];
    }
    return b->initial != NULL;
}

/* What an operand from outside is in all turns. */
static CadOverTurns row_of_operand(Roller *o, const Loop *loop, size_t q, int k) {
    CadGraph *const to = o->copier.to;
    const size_t n = loop->n;
    CadId *const ids = o->turns;
    for (size_t turn = 0; turn < n; turn++) {
        ids[turn] = name_at(o, operand_in_turn(o, loop, turn, q, k));
    }
    const int64_t step = (int64_t)ids[1] - (int64_t)ids[0];
    size_t even = 1;
    while (even < n && (int64_t)ids[even] - (int64_t)ids[even - 1] == step) {
        even++;
    }
    const int is_view =
        step == 0 || (cad_record_is_array(cad_graph_record(to, ids[0])) &&
                      cad_graph_record_of(to, ids[0]) == cad_graph_record_of(to, ids[n - 1]));
    return even == n && is_view ? (CadOverTurns){ids[0], step}
                                : (CadOverTurns){cad_graph_pack(to, ids, n), 1};
}

/* Rows that are the same are one input: they are looked up by hash. */
static CadId input_of_row(Body *b, size_t mask, uint32_t *table, CadOverTurns row) {
    const uint64_t hash = ((uint64_t)row.first << 32 ^ (uint64_t)row.step) * 0x9e3779b97f4a7c15u;
    size_t place = (hash >> 32) & mask;
    while (table[place] != 0 && (b->given[table[place] - 1].first != row.first ||
                                 b->given[table[place] - 1].step != row.step)) {
        place = (place + 1) & mask;
    }
    if (table[place] == 0) {
        b->given[b->asked.n_given++] = row;
        table[place] = (uint32_t)b->asked.n_given;
    }
    return CAD_SCAN_INPUT + (CadId)(b->asked.n_carried + table[place] - 1);
}

/* Constants that are the same in all turns are told by their number in the graph, below. */
static void find_given(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    size_t size = 16, of;
    while (size < 6 * (size_t)loop->period) {
        size *= 2;
    }
    b->inputs = cad_memory_take(&b->memory, 3 * (size_t)loop->period, sizeof *b->inputs);
    b->given = cad_memory_take(&b->memory, 3 * (size_t)loop->period, sizeof *b->given);
    uint32_t *const table = cad_memory_take(&b->memory, size, sizeof *table);
    for (size_t q = 0; q < loop->period && b->memory.status == CAD_OK; q++) {
        for (int k = 0; k < arity_of_step(o->r, loop->begin + q); k++) {
            if (lag_of_operand(o, loop, q, k, &of) < 0) {
                b->inputs[3 * q + (size_t)k] =
                    input_of_row(b, size - 1, table, row_of_operand(o, loop, q, k));
            }
        }
    }
}

static CadId name_of_operand(Roller *o, Body *b, size_t q, int k) {
    size_t of;
    double value;
    const int64_t lag = lag_of_operand(o, b->loop, q, k, &of);
    if (lag == 0) {
        return b->names[of];
    }
    if (lag > 0) {
        return CAD_SCAN_INPUT + b->lagged[of].first + (CadId)lag - 1;
    }
    const CadId input = b->inputs[3 * q + (size_t)k];
    const CadOverTurns row = b->given[input - CAD_SCAN_INPUT - b->asked.n_carried];
    return row.step == 0 && cad_graph_is_constant(o->copier.to, row.first, &value)
               ? cad_graph_constant(b->asked.body, value)
               : input;
}

static void fill_body(Roller *o, Body *b) {
    const Loop *const loop = b->loop;
    CadGraph *const body = b->asked.body;
    for (size_t q = 0; q < loop->period && body->status == CAD_OK; q++) {
        const int arity = arity_of_step(o->r, loop->begin + q);
        CadId x[3] = {CAD_NO_ID};
        for (int k = 0; k < 3; k++) {
            x[k] = k < arity ? name_of_operand(o, b, q, k) : x[0];
        }
        b->names[q] = cad_graph_apply(body, (CadOp)record_of_step(o->r, loop->begin + q)->op, x[0],
                                      x[1], x[2]);
    }
    for (size_t q = 0; q < loop->period; q++) {
        for (uint32_t lag = 1; lag <= b->lagged[q].most; lag++) {
            const uint32_t j = b->lagged[q].first + lag - 1;
            b->ends[j] = lag == 1 ? b->names[q] : CAD_SCAN_INPUT + j - 1;
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

/* Answers 0 if it is no loop after all. */
static int roll_loop(Roller *o, const Loop *loop) {
    Body body = {.loop = loop, .asked = {.n = loop->n, .input = CAD_SCAN_INPUT}};
    Body *const b = &body;
    const size_t period = loop->period;
    CadGraph *const to = o->copier.to;
    int done = 0;
    b->lagged = cad_memory_take(&b->memory, period, sizeof *b->lagged);
    b->names = cad_memory_take(&b->memory, period, sizeof *b->names);
    b->kept = cad_memory_take(&b->memory, period, sizeof *b->kept);
    if (b->memory.status == CAD_OK) {
        find_carried(o, b);
        done = find_initial(o, b);
    }
    if (done) {
        find_given(o, b);
        b->ends = cad_memory_take(&b->memory, b->asked.n_carried + period, sizeof *b->ends);
        b->asked.body = cad_scan_body(b->asked.n_carried + b->asked.n_given);
        if (b->memory.status == CAD_OK && b->asked.body != NULL) {
            b->asked.initial = b->initial;
            b->asked.given = b->given;
            b->asked.ends = b->ends;
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

static uint32_t kind_of_record(const Recorded *r, const CadRecord *record) {
    uint32_t constants = 0;
    double value;
    if (record->kind != CAD_RECORD_SINGLE) {
        return ALONE;
    }
    for (int k = 0; k < cad_op_info[record->op].arity; k++) {
        constants |= (uint32_t)cad_graph_is_constant(r->graph, record->of.operands[k], &value)
                     << k;
    }
    return (uint32_t)record->op << 3 | constants;
}

static void list_steps(Recorded *r) {
    CadGraph *const graph = r->graph;
    r->records = cad_memory_take(&r->memory, graph->n_records, sizeof *r->records);
    r->kinds = cad_memory_take(&r->memory, graph->n_records, sizeof *r->kinds);
    r->steps = cad_memory_take(&r->memory, graph->n_numbers, sizeof *r->steps);
    if (r->memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
        return;
    }
    for (size_t i = 1; i < graph->n_records; i++) {
        const CadRecord *const record = &graph->records[i];
        if (!cad_record_is_made(record)) {
            continue;
        }
        const CadId first = cad_graph_first(graph, i);
        r->records[r->n_steps] = (uint32_t)i;
        r->kinds[r->n_steps++] = kind_of_record(r, record);
        for (uint32_t k = 0; k < cad_record_size(record); k++) {
            r->steps[first + k] = (uint32_t)r->n_steps;
        }
    }
}

/* Whether there may be loops: enough single numbers, and no rule that makes numbers of the graph
 * itself. */
static int may_have_loops(const CadGraph *graph, const CadTape *tape, size_t begin, size_t end,
                          size_t least_numbers) {
    size_t n = 0;
    for (size_t i = begin + 1; i < end; i++) {
        const CadEntry entry = tape->entries[i];
        if (CAD_IS_ARRAY_ENTRY(entry) && cad_entry_is_rule(entry)) {
            return 0;
        }
        n += (size_t)!CAD_IS_ARRAY_ENTRY(entry);
    }
    return graph->optimize && n >= least_numbers;
}

/* The inputs are the first numbers of the graph, which what was recorded has at the same places.
 */
static CadGraph *read_apart(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                            const CadId *inputs, size_t n_inputs, CadId *outputs,
                            size_t n_outputs) {
    CadGraph *const apart = cad_graph_new(1);
    if (apart == NULL) {
        graph->status = CAD_NO_MEMORY;
        return NULL;
    }
    for (size_t i = 2; i < graph->n_records; i++) {
        const CadRecord *const record = &graph->records[i];
        if (record->kind == CAD_RECORD_INPUT) {
            cad_graph_input(apart, record->of.array.size, cad_graph_has_floats(graph, record));
        }
    }
    apart->keeps_singles = 1;
    graph->status = cad_graph_read(apart, tape, begin, end, inputs, n_inputs, outputs, n_outputs);
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

CadStatus cad_loops_read(CadGraph *graph, CadTape *tape, size_t begin, size_t end,
                         const CadId *inputs, size_t n_inputs, CadId *outputs, size_t n_outputs,
                         size_t least_numbers) {
    least_numbers = least_numbers > 0 ? least_numbers : LEAST_NUMBERS;
    if (!is_fresh(graph) || !may_have_loops(graph, tape, begin, end, least_numbers)) {
        return cad_graph_read(graph, tape, begin, end, inputs, n_inputs, outputs, n_outputs);
    }
    Recorded recorded = {
        .graph = read_apart(graph, tape, begin, end, inputs, n_inputs, outputs, n_outputs)};
    Recorded *const r = &recorded;
    Roller roller = {.r = r, .copier = {.from = r->graph, .to = graph, .folds = 1}};
    Roller *const o = &roller;
    if (graph->status == CAD_OK) {
        list_steps(r);
        o->is_read = cad_memory_take(&r->memory, r->n_steps + 1, 1);
        o->turns = cad_memory_take(&r->memory, r->n_steps + 1, sizeof *o->turns);
        o->copier.names =
            cad_memory_take(&r->memory, r->graph->n_records, sizeof *o->copier.names);
        graph->status = r->graph->status != CAD_OK ? r->graph->status : r->memory.status;
    }
    if (graph->status == CAD_OK) {
        for (size_t i = 2; i < graph->n_records; i++) {
            o->copier.names[i] = cad_graph_first(graph, i);
        }
        cad_loops_find(r, least_numbers);
        find_read(o, outputs, n_outputs);
        graph->status = r->graph->status;
        roll_all(o);
    }
    for (size_t k = 0; k < n_outputs && graph->status == CAD_OK; k++) {
        outputs[k] = name_at(o, outputs[k]);
    }
    cad_graph_free(r->graph);
    cad_memory_give_back(&r->memory);
    cad_memory_free(r->loops);
    return graph->status;
}
