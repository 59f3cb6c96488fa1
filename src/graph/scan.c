/* Recurrences as numbers of a graph. A carried number for which no turn waits becomes a row, an
 * array over all turns; one to which turns only add becomes a sum. If nothing else is carried, all
 * is rows and sums of rows; else the rest of a turn is a SCAN. Programs compute those of its
 * numbers that wait for no turn ahead of it, or behind (program/emit_scans.c).
 *
 *     body of a turn            for all turns
 *     p = e[t]                  p': e, moved by one
 *     u = w + a p'              u: in the SCAN, ahead
 *     h = u + b h'              h: carried by the SCAN
 *     l = l' + log h            l: a sum, of the SCAN; log h behind */
#include "graph/inner.h"

/* How a carried number is computed. */
typedef enum Carried {
    IN_LOOP, /* a turn waits for it */
    AS_ROW,  /* it was known ahead */
    AS_SUM,  /* turns only add to it */
} Carried;

typedef struct Recurrence {
    CadGraph *graph, *body;
    const CadRecurrence *asked;
    CadMemory memory;
    Carried *how;
    /* of numbers of the body: */
    uint8_t *is_live;   /* an end depends on them */
    uint8_t *waits;     /* they depend on what is carried in the loop */
    uint8_t *is_read;   /* they are to be rows of the graph */
    CadOverTurns *rows; /* what they are in all turns; CAD_NO_ID: not known yet */
    CadId *user;        /* the only number that is made of them; several: UINT32_MAX */
    CadId *name;        /* in the loop */
    /* of the loop: */
    CadRecurrence rest;
    CadId next; /* input */
    CadScanResults of_rest;
} Recurrence;

/* --- rows --- */

static CadId sum_over_turns(CadGraph *graph, size_t n, CadOverTurns x) {
    static const int64_t nowhere = 0;
    const int64_t length = (int64_t)n;
    if (x.step == 0 || n == 1) {
        return cad_graph_apply(graph, CAD_OP_multiply, x.first,
                               cad_graph_constant(graph, (double)n), x.first);
    }
    const CadNumbers views[2] = {{0, &nowhere}, {x.first, &x.step}};
    return cad_graph_map(graph, CAD_OP_SUM, 1, 1, &length, 2, views);
}

/* A row one turn late: the initial number, then the row without its last number. */
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

static size_t n_asked_ends(const Recurrence *r) {
    return r->asked->n_carried + r->asked->n_kept + r->asked->n_summed;
}

/* The number that an element of a pack is; any other number is itself. */
static CadId itself(const Recurrence *r, CadId id) {
    const CadRecord *const record = cad_graph_record(r->body, id);
    return record->kind == CAD_RECORD_PACK
               ? itself(r, cad_graph_packed(r->body, record)[id - record->of.array.first])
               : id;
}

static CadId end_of(const Recurrence *r, size_t k) {
    return itself(r, r->asked->ends[k]);
}

/* The operands of a single number of the body; answers how many. */
static int operands_of(const Recurrence *r, size_t record, CadId x[3]) {
    const CadRecord *const single = &r->body->records[record];
    const int arity = cad_op_info[single->op].arity;
    for (int k = 0; k < 3; k++) {
        x[k] = k < arity ? itself(r, single->of.operands[k]) : x[0];
    }
    return arity;
}

static CadOp op_of_single(const Recurrence *r, size_t record) {
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

/* Mark the operands of a number. */
static void mark_operands_of_single(const Recurrence *r, size_t record, uint8_t *marks) {
    CadId x[3];
    for (int k = operands_of(r, record, x); k-- > 0;) {
        marks[x[k]] = 1;
    }
}

/* A number is known if its row is: then its operands do not matter. */
static int is_known(const Recurrence *r, CadId id) {
    return r->rows[id].first != CAD_NO_ID;
}

static void find_live(Recurrence *r) {
    for (size_t k = 0; k < n_asked_ends(r); k++) {
        r->is_live[end_of(r, k)] = 1;
    }
    EACH_SINGLE_BACKWARDS(r, i, id) {
        if (!is_known(r, (CadId)id)) {
            mark_operands_of_single(r, i, r->is_live);
        }
    }
}

/* --- sums --- */

static void find_users(Recurrence *r) {
    EACH_SINGLE(r, i, id) {
        CadId x[3];
        for (int k = is_known(r, (CadId)id) ? 0 : operands_of(r, i, x); k-- > 0;) {
            CadId *const user = &r->user[x[k]];
            *user = *user == CAD_NO_ID ? (CadId)id : UINT32_MAX;
        }
    }
    for (size_t k = 0; k < n_asked_ends(r); k++) {
        CadId *const user = &r->user[end_of(r, k)];
        *user = *user == CAD_NO_ID && k < r->asked->n_carried ? CAD_ZERO : UINT32_MAX;
    }
}

/* One step on from a carried number: the sum that it is added to, if nothing else reads it; with
 * the term that is added, and whether it is subtracted. */
static CadId next_addition(const Recurrence *r, CadId at, CadId *term, int *is_less) {
    const CadId user = r->user[at];
    CadId x[3];
    if (user == CAD_NO_ID || user == CAD_ZERO || user == UINT32_MAX) {
        return CAD_NO_ID;
    }
    const uint32_t record = cad_graph_record_of(r->body, user);
    operands_of(r, record, x);
    *is_less = op_of_single(r, record) == CAD_OP_subtract;
    *term = x[x[0] == at];
    return op_of_single(r, record) == CAD_OP_add || (*is_less && x[0] == at) ? user : CAD_NO_ID;
}

static int is_carried_sum(const Recurrence *r, size_t j) {
    CadId at = input_of(r, j), term;
    const CadId end = end_of(r, j);
    int is_less;
    if (at == end) {
        return 0;
    }
    while (at != end && at != CAD_NO_ID) {
        at = next_addition(r, at, &term, &is_less);
    }
    return at == end && r->user[end] == CAD_ZERO;
}

static void find_carried_sums(Recurrence *r) {
    find_users(r);
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        r->how[j] = is_carried_sum(r, j) ? AS_SUM : IN_LOOP;
    }
}

/* Mark the terms of a sum. */
static void mark_terms(const Recurrence *r, size_t j, uint8_t *marks) {
    CadId term;
    int is_less;
    for (CadId at = input_of(r, j); at != end_of(r, j);) {
        at = next_addition(r, at, &term, &is_less);
        marks[term] = 1;
    }
}

/* --- rows of the graph --- */

static void set_row(Recurrence *r, size_t record, CadId id) {
    static const int64_t one = 1;
    const int64_t length = (int64_t)r->asked->n;
    const CadShape shape = {r->graph, 1, &length, &one, r->asked->n};
    CadId ids[3];
    CadNumbers x[3];
    operands_of(r, record, ids);
    for (int k = 0; k < 3; k++) {
        x[k] = (CadNumbers){r->rows[ids[k]].first, &r->rows[ids[k]].step};
    }
    const CadNumbers row = cad_graph_apply_over(&shape, op_of_single(r, record), x[0], x[1], x[2]);
    r->rows[id] = (CadOverTurns){row.first, length > 1 ? row.strides[0] : 0};
}

/* Make rows of the numbers that are marked as read, and of all that they depend on: none waits. */
static void set_rows(Recurrence *r) {
    EACH_SINGLE_BACKWARDS(r, i, id) {
        if (r->is_read[id] && !is_known(r, (CadId)id)) {
            mark_operands_of_single(r, i, r->is_read);
        }
    }
    EACH_SINGLE(r, i, id) {
        if (r->is_read[id] && !is_known(r, (CadId)id)) {
            set_row(r, i, (CadId)id);
        }
    }
}

static void find_waiting(Recurrence *r) {
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        r->waits[input_of(r, j)] = r->how[j] != AS_ROW;
    }
    EACH_SINGLE(r, i, id) {
        CadId x[3];
        r->waits[id] = 0;
        for (int k = is_known(r, (CadId)id) ? 0 : operands_of(r, i, x); k-- > 0;) {
            r->waits[id] |= r->waits[x[k]];
        }
    }
}

/* A carried number for which no turn waits is a row, and then others may wait no longer. If values
 * move along a long line of numbers, by one in each turn, the end of the line stays in the loop.
 */
static void find_carried_rows(Recurrence *r) {
    enum { NEW_ROW = AS_SUM + 1, MOST_TIMES = 64 };
    const size_t n = r->asked->n_carried;
    size_t n_new = 1;
    for (int time = 0; time < MOST_TIMES && n_new > 0 && r->graph->status == CAD_OK; time++) {
        n_new = 0;
        find_waiting(r);
        for (size_t j = 0; j < n; j++) {
            const CadId end = end_of(r, j);
            if (r->how[j] == IN_LOOP && (!r->waits[end] || end == input_of(r, j))) {
                r->how[j] = (Carried)NEW_ROW;
                r->is_read[end] = 1;
                n_new++;
            }
        }
        if (n_new > 0) {
            set_rows(r);
        }
        for (size_t j = 0; j < n; j++) {
            const CadId end = end_of(r, j), input = input_of(r, j), initial = r->asked->initial[j];
            if (r->how[j] != (Carried)NEW_ROW) {
                continue;
            }
            r->how[j] = AS_ROW;
            r->rows[input] = end == input
                                 ? (CadOverTurns){initial, 0}
                                 : behind_by_one(r->graph, r->asked->n, initial, r->rows[end]);
        }
    }
}

/* --- the loop --- */

static int has_loop(const Recurrence *r) {
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        if (r->how[j] == IN_LOOP) {
            return 1;
        }
    }
    return 0;
}

/* The inputs: first the carried numbers, then the rows. */
static void name_inputs_of_rest(Recurrence *r) {
    double value;
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        if (r->how[j] == IN_LOOP) {
            r->rest.initial[r->rest.n_carried++] = r->asked->initial[j];
            r->name[input_of(r, j)] = r->next++;
        }
    }
    for (CadId id = 1; id < r->body->n_numbers; id++) {
        const CadOverTurns row = r->rows[id];
        if (is_known(r, id) &&
            !(row.step == 0 && cad_graph_is_constant(r->graph, row.first, &value))) {
            r->rest.given[r->rest.n_given++] = row;
            r->name[id] = r->next++;
        }
    }
}

static CadId name_in_rest(Recurrence *r, CadGraph *to, CadId id) {
    double value;
    if (r->name[id] == CAD_NO_ID && cad_graph_is_constant(r->graph, r->rows[id].first, &value)) {
        r->name[id] = cad_graph_constant(to, value);
    }
    return r->name[id];
}

/* Sums begin with -0 in each turn: they are its terms. */
static void fill_rest(Recurrence *r, CadGraph *to) {
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        if (r->how[j] == AS_SUM) {
            r->name[input_of(r, j)] = cad_graph_constant(to, -0.0);
        }
    }
    EACH_SINGLE(r, i, id) {
        CadId x[3];
        if (!is_known(r, (CadId)id)) {
            operands_of(r, i, x);
            for (int k = 0; k < 3; k++) {
                x[k] = name_in_rest(r, to, x[k]);
            }
            r->name[id] = cad_graph_apply(to, op_of_single(r, i), x[0], x[1], x[2]);
        }
    }
}

/* A known row is neither kept nor added up by the loop. */
static void name_ends(Recurrence *r, int whole) {
    CadGraph *const to = r->rest.body;
    const size_t n_carried = r->asked->n_carried, n_rows = n_carried + r->asked->n_kept;
    CadId *next = r->rest.ends;
    for (size_t k = 0; k < n_rows; k++) {
        const CadId end = end_of(r, k);
        if (k < n_carried ? r->how[k] == IN_LOOP : whole || !is_known(r, end)) {
            *next++ = name_in_rest(r, to, end);
            r->rest.n_kept += k >= n_carried;
        }
    }
    for (size_t k = 0; k < n_asked_ends(r); k++) {
        const CadId end = end_of(r, k);
        if (k < n_carried ? r->how[k] == AS_SUM : k >= n_rows && (whole || !is_known(r, end))) {
            *next++ = name_in_rest(r, to, end);
            r->rest.n_summed++;
        }
    }
}

/* Answers the first number of the loop; else CAD_NO_ID. */
static CadId make_scan_of_rest(Recurrence *r, int whole) {
    CadGraph *const graph = r->graph;
    CadId first = CAD_NO_ID;
    name_inputs_of_rest(r);
    r->rest.body = cad_scan_body(r->next - CAD_SCAN_INPUT);
    if (r->rest.body == NULL) {
        graph->status = CAD_NO_MEMORY;
        return first;
    }
    fill_rest(r, r->rest.body);
    name_ends(r, whole);
    graph->status = graph->status == CAD_OK ? r->rest.body->status : graph->status;
    if (graph->status == CAD_OK) {
        first = cad_graph_make_scan(graph, &r->rest, whole ? NULL : &r->of_rest);
    }
    cad_graph_free(r->rest.body);
    return first;
}

/* --- results --- */

static CadId sum_of_terms(Recurrence *r, size_t j, CadId sum) {
    CadId term;
    int is_less;
    for (CadId at = input_of(r, j); at != end_of(r, j);) {
        at = next_addition(r, at, &term, &is_less);
        const CadId of = sum_over_turns(r->graph, r->asked->n, r->rows[term]);
        sum = cad_graph_apply(r->graph, is_less ? CAD_OP_subtract : CAD_OP_add, sum, of, of);
    }
    return sum;
}

/* Make rows of all results, if there is no loop. */
static void read_rows(Recurrence *r) {
    for (size_t k = r->asked->n_carried; k < n_asked_ends(r); k++) {
        r->is_read[end_of(r, k)] = 1;
    }
    for (size_t j = 0; j < r->asked->n_carried; j++) {
        if (r->how[j] == AS_SUM) {
            mark_terms(r, j, r->is_read);
        }
    }
    set_rows(r);
}

static CadId last_of_row(const Recurrence *r, size_t j) {
    const CadOverTurns row = r->rows[end_of(r, j)];
    return end_of(r, j) == input_of(r, j)
               ? r->asked->initial[j]
               : (CadId)(row.first + row.step * ((int64_t)r->asked->n - 1));
}

/* Each result is a row, a sum, or a result of the loop. */
static void join_results(Recurrence *r, const CadScanResults *results) {
    const size_t n = r->asked->n_carried, m = r->asked->n_kept;
    const CadId *last = r->of_rest.last, *sums = r->of_rest.sums;
    const CadOverTurns *kept = r->of_rest.kept;
    for (size_t j = 0; j < n; j++) {
        const CadId initial = r->asked->initial[j];
        if (r->how[j] == AS_SUM && has_loop(r)) {
            const CadId sum = *sums++;
            results->last[j] = cad_graph_apply(r->graph, CAD_OP_add, initial, sum, sum);
        } else {
            results->last[j] = r->how[j] == AS_SUM    ? sum_of_terms(r, j, initial)
                               : r->how[j] == IN_LOOP ? *last++
                                                      : last_of_row(r, j);
        }
    }
    for (size_t k = 0; k < m; k++) {
        const CadId end = end_of(r, n + k);
        results->kept[k] = is_known(r, end) ? r->rows[end] : *kept++;
    }
    for (size_t k = 0; k < r->asked->n_summed; k++) {
        const CadId end = end_of(r, n + m + k);
        results->sums[k] =
            is_known(r, end) ? sum_over_turns(r->graph, r->asked->n, r->rows[end]) : *sums++;
    }
}

static void begin_recurrence(Recurrence *r) {
    const size_t n = r->body->n_numbers, more = n + n_asked_ends(r);
    double value;
    r->how = cad_memory_take(&r->memory, r->asked->n_carried + 1, sizeof *r->how);
    r->is_live = cad_memory_take(&r->memory, n, 1);
    r->waits = cad_memory_take(&r->memory, n, 1);
    r->is_read = cad_memory_take(&r->memory, n, 1);
    r->rows = cad_memory_take(&r->memory, n, sizeof *r->rows);
    r->user = cad_memory_take(&r->memory, n, sizeof *r->user);
    r->name = cad_memory_take(&r->memory, n, sizeof *r->name);
    r->rest = (CadRecurrence){.n = r->asked->n,
                              .input = CAD_SCAN_INPUT,
                              .initial = cad_memory_take(&r->memory, n, sizeof(CadId)),
                              .given = cad_memory_take(&r->memory, n, sizeof(CadOverTurns)),
                              .ends = cad_memory_take(&r->memory, more, sizeof(CadId)),
                              .sizes = cad_memory_take(&r->memory, n + more, sizeof(uint32_t))};
    r->of_rest = (CadScanResults){cad_memory_take(&r->memory, more, sizeof *r->of_rest.last),
                                  cad_memory_take(&r->memory, more, sizeof *r->of_rest.kept),
                                  cad_memory_take(&r->memory, more, sizeof *r->of_rest.sums)};
    r->next = CAD_SCAN_INPUT;
    if (r->memory.status != CAD_OK) {
        r->graph->status = CAD_NO_MEMORY;
        return;
    }
    for (size_t k = 0; k < n + more; k++) {
        r->rest.sizes[k] = 1;
    }
    for (size_t k = 0; k < r->asked->n_given; k++) {
        r->rows[input_of(r, r->asked->n_carried + k)] = r->asked->given[k];
    }
    for (CadId id = 1; id < n; id++) {
        if (cad_graph_is_constant(r->body, id, &value)) {
            r->rows[id] = (CadOverTurns){cad_graph_constant(r->graph, value), 0};
        }
    }
    for (size_t k = 0; k < r->asked->n_known; k++) {
        r->rows[r->asked->known[k].of] = r->rows[r->asked->known[k].by];
    }
    find_live(r);
}

CadId cad_graph_divide_recurrence(CadGraph *graph, const CadRecurrence *asked,
                                  const CadScanResults *results) {
    Recurrence recurrence = {.graph = graph, .body = asked->body, .asked = asked};
    Recurrence *const r = &recurrence;
    CadId first = CAD_NO_ID;
    if (!cad_body_is_of_singles(asked->body, asked->sizes, n_asked_ends(r) + asked->n_given)) {
        return cad_graph_make_scan(graph, asked, results);
    }
    begin_recurrence(r);
    if (graph->status == CAD_OK && results != NULL) {
        find_carried_sums(r);
        find_carried_rows(r);
    }
    if (graph->status == CAD_OK && (results == NULL || has_loop(r))) {
        first = make_scan_of_rest(r, results == NULL);
    } else if (graph->status == CAD_OK) {
        read_rows(r);
    }
    if (graph->status == CAD_OK && results != NULL) {
        join_results(r, results);
    }
    cad_memory_give_back(&r->memory);
    return first;
}
