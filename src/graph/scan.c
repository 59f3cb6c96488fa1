/* Recurrences as numbers of a graph. Of what a turn computes, that which waits for no turn before
 * is computed for all turns at once, as arrays; so is what no later turn waits for, once the loop
 * is done; and what is only added up is a sum. The rest is a loop.
 *
 *     body of a turn            for all turns
 *     u = w + a e[t]            u = w + a e           ahead
 *     h = u + b h'              h: SCAN of u, b       within
 *     l = l' + log h            l = sum of log h      behind */
#include "graph/inner.h"

/* What becomes of what is carried. */
typedef enum Carried {
    IN_LOOP, /* a turn waits for it */
    AS_ROW,  /* it was known ahead */
    AS_SUM,  /* turns add to it, and look at it no more */
} Carried;

typedef struct Recurrence {
    CadGraph *graph, *body;
    const CadRecurrence *asked;
    CadMemory memory;
    Carried *how;
    uint8_t *waits; /* of numbers of the body: they depend on what is carried in the loop; */
    uint8_t *feeds; /* that depends on them; */
    uint8_t *is_live; /* an end depends on them; */
    uint8_t *is_read; /* they are read for all turns, outside of the loop */
    CadOverTurns *rows;     /* what they are in all turns; CAD_NO_ID: not known yet */
    CadId *user;      /* the only number that is made of them; CAD_NO_ID if there are several */
    CadId *name;      /* in the body of the loop */
    size_t n_in_loop;
} Recurrence;

/* --- rows --- */

static CadOverTurns row_of(CadGraph *graph, size_t n, CadOp op, const CadOverTurns x[3]) {
    static const int64_t one = 1;
    const int64_t length = (int64_t)n;
    const CadShape shape = {graph, 1, &length, &one, n};
    const CadNumbers made = cad_graph_apply_over(&shape, op, (CadNumbers){x[0].first, &x[0].step},
                                                 (CadNumbers){x[1].first, &x[1].step},
                                                 (CadNumbers){x[2].first, &x[2].step});
    return (CadOverTurns){made.first, n > 1 ? made.strides[0] : 0};
}

static CadId sum_of(CadGraph *graph, size_t n, CadOverTurns x) {
    static const int64_t nowhere = 0;
    const int64_t length = (int64_t)n;
    if (x.step == 0 || n == 1) {
        return cad_graph_apply(graph, CAD_OP_multiply, x.first,
                               cad_graph_constant(graph, (double)n), x.first);
    }
    const CadNumbers views[2] = {{0, &nowhere}, {x.first, &x.step}};
    return cad_graph_map(graph, CAD_OP_SUM, 1, 1, &length, 2, views);
}

/* What was there a turn before: a number at first, then a row but for its last number. */
static CadOverTurns behind_by_one(CadGraph *graph, size_t n, CadId initial, CadOverTurns x) {
    CadRoom room = {0};
    if (x.step != 0 && (int64_t)initial == (int64_t)x.first - x.step &&
        cad_graph_record_of(graph, initial) == cad_graph_record_of(graph, x.first)) {
        return (CadOverTurns){initial, x.step};
    }
    CadId *const ids = cad_graph_room(graph, &room, n);
    if (ids == NULL) {
        return (CadOverTurns){CAD_ZERO, 0};
    }
    for (size_t t = 0; t < n; t++) {
        ids[t] = t == 0 ? initial : (CadId)(x.first + x.step * ((int64_t)t - 1));
    }
    const CadId first = cad_graph_pack(graph, ids, n);
    cad_memory_free(ids);
    return (CadOverTurns){first, n > 1};
}

/* --- the body --- */

static CadId input_of(const Recurrence *r, size_t k) {
    return r->asked->input + (CadId)k;
}

/* The number itself that an element of an array stands for which consists of numbers. */
static CadId itself(const Recurrence *r, CadId id) {
    const CadRecord *const record = cad_graph_record(r->body, id);
    return record->kind == CAD_RECORD_PACK
               ? itself(r, cad_graph_packed(r->body, record)[id - record->of.array.first])
               : id;
}

static CadId end_of(const Recurrence *r, size_t k) {
    return itself(r, r->asked->ends[k]);
}

static int is_single(const Recurrence *r, CadId id) {
    return cad_graph_record(r->body, id)->kind == CAD_RECORD_SINGLE;
}

/* The operands of a single number of the body; answers how many. */
static int operands_of(const Recurrence *r, size_t record, CadId x[3]) {
    const CadRecord *const made = &r->body->records[record];
    const int arity = cad_op_info[made->op].arity;
    for (int k = 0; k < 3; k++) {
        x[k] = k < arity ? itself(r, made->of.operands[k]) : x[0];
    }
    return arity;
}

static CadOp op_of(const Recurrence *r, size_t record) {
    return (CadOp)r->body->records[record].op;
}

/* The single numbers that an end depends on, in the order of their records: id is CAD_NO_ID for
 * what is none. */
static CadId live_at(const Recurrence *r, size_t record) {
    const CadId id = cad_graph_first(r->body, record);
    return r->body->records[record].kind == CAD_RECORD_SINGLE && r->is_live[id] ? id : CAD_NO_ID;
}

#define EACH_SINGLE(r, i, id)                                                                     \
    for (size_t i = 1, id; i < (r)->body->n_records; i++)                                         \
        if ((id = live_at(r, i)) != CAD_NO_ID)
#define EACH_SINGLE_BACKWARDS(r, i, id)                                                           \
    for (size_t i = (r)->body->n_records, id; i-- > 1;)                                           \
        if ((id = live_at(r, i)) != CAD_NO_ID)

/* Mark what marked numbers are made of, if they are such. */
static void mark_operands(const Recurrence *r, size_t record, uint8_t *marks) {
    CadId x[3];
    for (int k = operands_of(r, record, x); k-- > 0;) {
        marks[x[k]] = 1;
    }
}

static void find_live(Recurrence *r) {
    for (size_t k = 0; k < r->asked->n_carried + r->asked->n_kept; k++) {
        r->is_live[end_of(r, k)] = 1;
    }
    EACH_SINGLE_BACKWARDS(r, i, id) {
        mark_operands(r, i, r->is_live);
    }
}

/* --- sums --- */

static void find_users(Recurrence *r) {
    const CadId several = UINT32_MAX;
    EACH_SINGLE(r, i, id) {
        CadId x[3];
        for (int k = operands_of(r, i, x); k-- > 0;) {
            CadId *const user = &r->user[x[k]];
            *user = *user == CAD_NO_ID ? id : several;
        }
    }
    for (size_t k = 0; k < r->asked->n_carried + r->asked->n_kept; k++) {
        CadId *const user = &r->user[end_of(r, k)];
        *user = *user == CAD_NO_ID && k < r->asked->n_carried ? CAD_ZERO : several;
    }
}

/* Walk from what is carried to what is carried on, as long as it is only added to. Terms are marked
 * as read, or added to a sum, if there is one. Answers whether that is where the walk ends. */
static int walk_sum(Recurrence *r, size_t j, int marks, CadId *sum) {
    CadId at = input_of(r, j), x[3];
    const CadId end = end_of(r, j);
    while (at != end) {
        const CadId user = r->user[at];
        if (user == CAD_NO_ID || user == CAD_ZERO || user == UINT32_MAX) {
            return 0;
        }
        const uint32_t record = cad_graph_record_of(r->body, user);
        const CadOp op = op_of(r, record);
        operands_of(r, record, x);
        if ((op != CAD_OP_add && op != CAD_OP_subtract) || (op == CAD_OP_subtract && x[0] != at)) {
            return 0;
        }
        if (sum != NULL) {
            const CadId term = sum_of(r->graph, r->asked->n, r->rows[x[x[0] == at]]);
            *sum = cad_graph_apply(r->graph, op, *sum, term, term);
        }
        r->is_read[x[x[0] == at]] |= (uint8_t)marks;
        at = user;
    }
    return r->user[end] == CAD_ZERO && end != input_of(r, j);
}

static void find_sums(Recurrence *r) {
    find_users(r);
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        if (walk_sum(r, j, 0, NULL)) {
            r->how[j] = AS_SUM;
            walk_sum(r, j, 1, NULL);
        }
    }
}

/* --- ahead --- */

static void find_waiting(Recurrence *r) {
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        r->waits[input_of(r, j)] = r->how[j] != AS_ROW;
    }
    EACH_SINGLE(r, i, id) {
        CadId x[3];
        r->waits[id] = 0;
        for (int k = operands_of(r, i, x); k-- > 0;) {
            r->waits[id] |= r->waits[x[k]];
        }
    }
}

static void set_row(Recurrence *r, size_t record, CadId id) {
    CadId ids[3];
    CadOverTurns x[3];
    operands_of(r, record, ids);
    for (int k = 0; k < 3; k++) {
        x[k] = r->rows[ids[k]];
        if (x[k].first == CAD_NO_ID) {
            return;
        }
    }
    r->rows[id] = row_of(r->graph, r->asked->n, op_of(r, record), x);
}

/* The rows of what waits for nothing, which may make more of what is carried rows, and so on. */
static void compute_ahead(Recurrence *r, int whole) {
    for (int found = 1; found && r->graph->status == CAD_OK;) {
        found = 0;
        find_waiting(r);
        EACH_SINGLE(r, i, id) {
            if (!r->waits[id] && r->rows[id].first == CAD_NO_ID) {
                set_row(r, i, id);
            }
        }
        for (size_t j = 0; j < r->asked->n_carried && !whole; j++) {
            const CadId end = end_of(r, j), input = input_of(r, j), initial = r->asked->initial[j];
            if (r->how[j] != IN_LOOP || (r->waits[end] && end != input)) {
                continue;
            }
            r->how[j] = AS_ROW;
            r->rows[input] =
                end == input ? (CadOverTurns){initial, 0}
                             : behind_by_one(r->graph, r->asked->n, initial, r->rows[end]);
            found = 1;
        }
    }
}

/* --- within --- */

static void find_feeding(Recurrence *r, int whole) {
    const size_t n = r->asked->n_carried;
    for (size_t k = 0; k < n + r->asked->n_kept; k++) {
        r->feeds[end_of(r, k)] |= whole || (k < n && r->how[k] == IN_LOOP);
    }
    EACH_SINGLE_BACKWARDS(r, i, id) {
        if (r->feeds[id]) {
            mark_operands(r, i, r->feeds);
        }
    }
}

static int is_within(const Recurrence *r, CadId id) {
    return r->waits[id] && r->feeds[id];
}

/* What is read of each turn behind the loop. */
static void find_read(Recurrence *r) {
    for (size_t k = 0; k < r->asked->n_kept; k++) {
        r->is_read[end_of(r, r->asked->n_carried + k)] = 1;
    }
    EACH_SINGLE_BACKWARDS(r, i, id) {
        if (r->is_read[id] && r->waits[id] && !r->feeds[id]) {
            mark_operands(r, i, r->is_read);
        }
    }
}

/* The inputs of the loop's body, and what is given for them. */
static size_t name_inputs(Recurrence *r, CadScan *loop, CadId *operands) {
    CadId next = 2; /* behind the constant 0 */
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        if (r->how[j] == IN_LOOP) {
            operands[loop->n_carried++] = r->asked->initial[j];
            r->name[input_of(r, j)] = next++;
        }
    }
    const size_t n = r->body->n_numbers;
    double value;
    for (CadId id = 1; id < n; id++) {
        if (r->waits[id] || !r->feeds[id] || r->rows[id].first == CAD_NO_ID ||
            (r->rows[id].step == 0 &&
             cad_graph_is_constant(r->graph, r->rows[id].first, &value))) {
            continue;
        }
        r->name[id] = next++;
        operands[loop->n_carried + loop->n_given] = r->rows[id].first;
        loop->steps[loop->n_given++] = r->rows[id].step;
    }
    return loop->n_carried + loop->n_given;
}

static CadId name_of(Recurrence *r, CadGraph *to, CadId id) {
    double value;
    if (r->name[id] == CAD_NO_ID && r->rows[id].first != CAD_NO_ID &&
        cad_graph_is_constant(r->graph, r->rows[id].first, &value)) {
        r->name[id] = cad_graph_constant(to, value);
    }
    return r->name[id];
}

static void fill_body(Recurrence *r, CadGraph *to) {
    EACH_SINGLE(r, i, id) {
        CadId x[3];
        if (is_within(r, id)) {
            operands_of(r, i, x);
            for (int k = 0; k < 3; k++) {
                x[k] = name_of(r, to, x[k]);
            }
            r->name[id] = cad_graph_apply(to, op_of(r, i), x[0], x[1], x[2]);
        }
    }
}

/* Only what the turns wait for is made of them, and what is read of it is kept. */
static int needs_row(const Recurrence *r, CadId id) {
    return is_within(r, id) && r->is_read[id] && r->rows[id].first == CAD_NO_ID;
}

static void name_ends(Recurrence *r, CadScan *loop, int whole) {
    size_t n = 0;
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        if (r->how[j] == IN_LOOP) {
            loop->ends[n++] = name_of(r, loop->body, end_of(r, j));
        }
    }
    for (size_t k = 0; k < r->asked->n_kept && whole; k++) {
        loop->ends[n++] = name_of(r, loop->body, end_of(r, r->asked->n_carried + k));
    }
    for (CadId id = 1; id < r->body->n_numbers && !whole; id++) {
        if (needs_row(r, id)) {
            loop->ends[n++] = name_of(r, loop->body, id);
        }
    }
    loop->n_kept = n - loop->n_carried;
}

/* What is carried stands beside its first number: what a turn found, and what it left. */
static void set_carried_rows(Recurrence *r, CadId first, size_t n) {
    for (size_t j = 0, k = 0; j < r->asked->n_carried; j++) {
        if (r->how[j] == IN_LOOP) {
            const CadId row = first + (CadId)(k++ * (n + 1));
            r->rows[input_of(r, j)] = (CadOverTurns){row, 1};
            if (is_single(r, end_of(r, j)) || r->rows[end_of(r, j)].first == CAD_NO_ID) {
                r->rows[end_of(r, j)] = (CadOverTurns){row + 1, 1};
            }
        }
    }
}

static CadId make_loop(Recurrence *r, int whole) {
    const size_t n = r->asked->n, most = r->body->n_numbers + r->asked->n_carried;
    CadScan loop = {.n = n,
                    .body = cad_graph_new(1),
                    .ends = cad_memory_zeroed(most + r->asked->n_kept, sizeof *loop.ends),
                    .steps = cad_memory_zeroed(most, sizeof *loop.steps)};
    CadId *const operands = cad_memory_zeroed(most + r->asked->n_carried, sizeof *operands);
    CadId first = CAD_NO_ID;
    if (loop.body == NULL || loop.ends == NULL || loop.steps == NULL || operands == NULL) {
        r->graph->status = CAD_NO_MEMORY;
    } else {
        cad_graph_input(loop.body, name_inputs(r, &loop, operands), 0);
        fill_body(r, loop.body);
        if (!whole) {
            set_carried_rows(r, CAD_ZERO, 0); /* those need not be kept besides */
        }
        name_ends(r, &loop, whole);
        first = loop.body->status == CAD_OK ? cad_graph_append_scan(r->graph, &loop, operands)
                                            : CAD_NO_ID;
        r->graph->status = r->graph->status == CAD_OK ? loop.body->status : r->graph->status;
    }
    cad_memory_free(operands);
    if (first == CAD_NO_ID) {
        cad_scan_free(&loop);
        return CAD_NO_ID;
    }
    set_carried_rows(r, first, n);
    CadId next = first + (CadId)(loop.n_carried * (n + 1));
    for (CadId id = 1; id < r->body->n_numbers && !whole; id++) {
        if (needs_row(r, id)) {
            r->rows[id] = (CadOverTurns){next, 1};
            next += (CadId)n;
        }
    }
    return first;
}

/* --- all of it --- */

static int has_loop(const Recurrence *r) {
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        if (r->how[j] == IN_LOOP) {
            return 1;
        }
    }
    return 0;
}

static void begin(Recurrence *r) {
    const size_t n = r->body->n_numbers;
    double value;
    r->how = cad_memory_take(&r->memory, r->asked->n_carried + 1, sizeof *r->how);
    r->waits = cad_memory_take(&r->memory, n, 1);
    r->feeds = cad_memory_take(&r->memory, n, 1);
    r->is_live = cad_memory_take(&r->memory, n, 1);
    r->is_read = cad_memory_take(&r->memory, n, 1);
    r->rows = cad_memory_take(&r->memory, n, sizeof *r->rows);
    r->user = cad_memory_take(&r->memory, n, sizeof *r->user);
    r->name = cad_memory_take(&r->memory, n, sizeof *r->name);
    if (r->memory.status != CAD_OK) {
        r->graph->status = CAD_NO_MEMORY;
        return;
    }
    for (size_t k = 0; k < r->asked->n_given; k++) {
        r->rows[input_of(r, r->asked->n_carried + k)] = r->asked->given[k];
    }
    for (CadId id = 1; id < n; id++) {
        if (cad_graph_is_constant(r->body, id, &value)) {
            r->rows[id] = (CadOverTurns){cad_graph_constant(r->graph, value), 0};
        }
    }
    find_live(r);
}

CadStatus cad_graph_recur(CadGraph *graph, const CadRecurrence *asked, CadId *last, CadOverTurns *kept) {
    Recurrence recurrence = {.graph = graph, .body = asked->body, .asked = asked};
    Recurrence *const r = &recurrence;
    const size_t n = asked->n_carried;
    begin(r);
    if (graph->status == CAD_OK) {
        find_sums(r);
        compute_ahead(r, 0);
        find_feeding(r, 0);
        find_read(r);
        if (has_loop(r)) {
            make_loop(r, 0);
        }
        EACH_SINGLE(r, i, id) {
            if (r->is_read[id] && r->rows[id].first == CAD_NO_ID) {
                set_row(r, i, id);
            }
        }
    }
    for (size_t j = 0; j < n && graph->status == CAD_OK; j++) {
        const CadOverTurns row = r->rows[end_of(r, j)];
        last[j] = asked->initial[j];
        if (r->how[j] == AS_SUM) {
            walk_sum(r, j, 0, &last[j]);
        } else if (end_of(r, j) != input_of(r, j)) {
            last[j] = (CadId)(row.first + row.step * ((int64_t)asked->n - 1));
        }
    }
    for (size_t k = 0; k < asked->n_kept && graph->status == CAD_OK; k++) {
        kept[k] = r->rows[end_of(r, n + k)];
    }
    cad_memory_give_back(&r->memory);
    return graph->status;
}

CadId cad_graph_recur_whole(CadGraph *graph, const CadRecurrence *asked) {
    Recurrence recurrence = {.graph = graph, .body = asked->body, .asked = asked};
    Recurrence *const r = &recurrence;
    CadId first = CAD_NO_ID;
    begin(r);
    if (graph->status == CAD_OK) {
        compute_ahead(r, 1);
        find_feeding(r, 1);
        first = make_loop(r, 1);
    }
    cad_memory_give_back(&r->memory);
    return first;
}

void cad_scan_free(CadScan *loop) {
    cad_graph_free(loop->body);
    cad_memory_free(loop->ends);
    cad_memory_free(loop->steps);
}

static void *copied(const void *items, size_t n, size_t size) {
    void *const copy = cad_memory_zeroed(n, size);
    return copy != NULL ? memcpy(copy, items, n * size) : NULL;
}

CadStatus cad_scan_copy(const CadScan *loop, CadScan *copy) {
    const size_t n_inputs = loop->n_carried + loop->n_given;
    const size_t n_ends = loop->n_carried + loop->n_kept;
    CadId *const inputs = cad_memory_zeroed(n_inputs, sizeof *inputs);
    *copy = *loop;
    copy->body = cad_graph_new(1);
    copy->ends = copied(loop->ends, n_ends, sizeof *loop->ends);
    copy->steps = copied(loop->steps, loop->n_given, sizeof *loop->steps);
    CadStatus status = CAD_NO_MEMORY;
    if (inputs != NULL && copy->body != NULL && copy->ends != NULL && copy->steps != NULL) {
        for (size_t k = 0; k < n_inputs; k++) {
            inputs[k] = CAD_SCAN_INPUT + (CadId)k;
        }
        cad_graph_input(copy->body, n_inputs, 0);
        status = cad_graph_insert(copy->body, loop->body, inputs, inputs, n_inputs, loop->ends,
                                  n_ends, copy->ends);
    }
    if (status != CAD_OK) {
        cad_scan_free(copy);
    }
    cad_memory_free(inputs);
    return status;
}
