/* A recurrence is divided into what is computed for a stretch of turns at once, ahead and behind,
 * and what follows turn by turn: see CadScanPlan. */
#include "graph/copies.h"
#include "program/maker.h"

enum {
    MOST_TOGETHER = 16, /* turns; and operations in them */
    MOST_SINGLES = 512,
    SHORTEST = 32, /* stretch, */
    LONGEST = 256,
    IN_CACHE = 1 << 15, /* numbers of a stretch that stay in the cache */
};

#define NO_STRIP (-1)

/* When a number of the body is computed. */
typedef enum When { NEVER, AHEAD, IN_TURN, BEHIND } When;

typedef struct Divider {
    CadMaker *m;
    const CadScan *scan;
    uint32_t record;
    int for_points; /* whose numbers stand side by side: turns go one by one */
    CadGraph *body;
    CadMemory memory;
    uint8_t *when;    /* of numbers of the body */
    uint8_t *is_read; /* by what is computed at another time, bit by bit; and as a result */
    int64_t *strip;   /* where it begins, in strips of length 1 */
    CadId *name;      /* in the graph that is being made */
    int64_t n_strips;
    CadScanPlan turns;
    int64_t *words;
    size_t n_words, words_capacity;
} Divider;

enum { BY_CORE = 1, BY_BEHIND = 2, BY_RESULTS = 4 };

static int is_single(const Divider *d, size_t record) {
    return d->body->records[record].kind == CAD_RECORD_SINGLE;
}

static int is_carried(const Divider *d, CadId id) {
    return id >= CAD_SCAN_INPUT && id - CAD_SCAN_INPUT < d->scan->n_carried;
}

/* Which of what is given a number is, or -1. */
static int64_t given_of(const Divider *d, CadId id) {
    const int64_t k = (int64_t)id - CAD_SCAN_INPUT - (int64_t)d->scan->n_carried;
    return k >= 0 && k < (int64_t)d->scan->n_given ? k : -1;
}

static int is_same_in_all(const Divider *d, CadId id) {
    double value;
    const int64_t k = given_of(d, id);
    return (k >= 0 && d->scan->steps[k] == 0) || cad_graph_is_constant(d->body, id, &value);
}

static void add_word(Divider *d, int64_t word) {
    if (cad_memory_grow((void **)&d->words, &d->words_capacity, d->n_words + 1,
                        sizeof *d->words) == CAD_OK) {
        d->words[d->n_words++] = word;
    } else {
        fail(d->m);
    }
}

/* --- what programs read of ends --- */

/* Of an end that is carried a number that turns before the last one leave is read, unless it is
 * behind `id`. */
static void note_read(CadMaker *m, CadId id) {
    CadGraph *const graph = m->graph;
    const uint32_t i = cad_graph_record_of(graph, id);
    const CadRecord *const record = &graph->records[i];
    if (record->kind == CAD_RECORD_END) {
        const CadArray *const end = cad_graph_array(graph, record);
        const CadScan *const scan = cad_graph_scan(graph, cad_graph_record(graph, end->list));
        const uint32_t size = cad_scan_size_of_end(scan, end->number);
        m->rows[i] |= id - record->of.array.first + size < record->of.array.size;
    }
}

static void note_operands(CadMaker *m, size_t record) {
    CadGraph *const graph = m->graph;
    const CadRecord *const reader = &graph->records[record];
    CadAxes axes;
    CadMade made;
    CadOperands of;
    cad_graph_look(graph, record, axes, &made);
    cad_graph_operands(graph, record, &of);
    for (size_t k = 0; k < of.n; k++) {
        const CadId id = of.ids[k];
        if (made.kind == CAD_RECORD_SCAN) {
            note_read(m, cad_scan_reach(cad_graph_scan(graph, reader), k, id).low);
        } else if (cad_record_is_by_index(reader) || id == made.former) {
            note_read(m, cad_graph_first(graph, cad_graph_record_of(graph, id)));
        } else if (cad_record_has_plan(reader)) {
            note_read(m, cad_made_reach(&made, made.views[k + (size_t)(made.n_views > 1)]).low);
        } else {
            note_read(m, id);
        }
    }
}

/* What only the last turn's is read of takes one place. */
static int find_rows(CadMaker *m) {
    const size_t n = m->graph->n_records;
    CadMemory memory = {0};
    uint8_t *const marks = cad_memory_take(&memory, n, 1);
    m->rows = cad_memory_take(&m->memory, n, 1);
    if (marks == NULL || m->rows == NULL) {
        cad_memory_give_back(&memory);
        return fail(m);
    }
    cad_graph_mark_needed(m->graph, m->ends, m->n_ends, marks);
    for (size_t i = 0; i < n; i++) {
        const CadRecord *const record = &m->graph->records[i];
        if (marks[i] != 0 && cad_record_is_made(record) && record->kind != CAD_RECORD_END) {
            note_operands(m, i);
        }
    }
    for (size_t k = 0; k < m->n_ends; k++) {
        note_read(m, m->ends[k]);
    }
    cad_memory_give_back(&memory);
    return 1;
}

/* Turns themselves read what is carried into them as blocks. */
static int is_end_read(const Divider *d, size_t k) {
    return d->m->uses[d->record + 1 + k] > 0 || (d->turns.in_blocks && k < d->scan->n_carried);
}

/* --- what is computed when --- */

static void find_when(Divider *d) {
    CadOperands of;
    const size_t n = d->body->n_numbers;
    uint8_t *const waits = cad_memory_take(&d->memory, n, 1);
    uint8_t *const feeds = cad_memory_take(&d->memory, n, 1);
    uint8_t *const is_live = cad_memory_take(&d->memory, n, 1);
    if (d->memory.status != CAD_OK) {
        return;
    }
    for (size_t k = 0; k < cad_scan_n_ends(d->scan); k++) {
        is_live[d->scan->ends[k]] |= k < d->scan->n_carried || is_end_read(d, k);
        feeds[d->scan->ends[k]] |= k < d->scan->n_carried;
    }
    for (size_t j = 0; j < d->scan->n_carried; j++) {
        waits[CAD_SCAN_INPUT + j] = 1;
    }
    for (size_t i = 1; i < d->body->n_records; i++) {
        const CadId id = cad_graph_first(d->body, i);
        cad_graph_operands(d->body, i, &of);
        for (size_t k = 0; k < of.n && is_single(d, i); k++) {
            waits[id] |= waits[of.ids[k]];
        }
    }
    for (size_t i = d->body->n_records; i-- > 1;) {
        const CadId id = cad_graph_first(d->body, i);
        cad_graph_operands(d->body, i, &of);
        for (size_t k = 0; k < of.n && is_single(d, i) && is_live[id]; k++) {
            is_live[of.ids[k]] = 1;
            feeds[of.ids[k]] |= feeds[id];
        }
        if (is_single(d, i) && is_live[id]) {
            d->when[id] = (uint8_t)(!waits[id] ? AHEAD : feeds[id] ? IN_TURN : BEHIND);
        }
    }
}

static void find_readers(Divider *d) {
    CadOperands of;
    for (size_t i = 1; i < d->body->n_records; i++) {
        const CadId id = cad_graph_first(d->body, i);
        cad_graph_operands(d->body, i, &of);
        for (size_t k = 0; k < of.n && is_single(d, i); k++) {
            const int when = d->when[id];
            if (when != NEVER && when != d->when[of.ids[k]]) {
                d->is_read[of.ids[k]] |= when == IN_TURN  ? BY_CORE
                                         : when == BEHIND ? BY_BEHIND
                                                          : 0;
            }
        }
    }
    for (size_t k = 0; k < cad_scan_n_ends(d->scan); k++) {
        const CadId end = d->scan->ends[k];
        if (k >= d->scan->n_carried && !is_end_read(d, k)) {
            continue;
        }
        if (k >= d->scan->n_carried) {
            d->is_read[end] |= BY_RESULTS;
            if (is_same_in_all(d, end)) { /* for a strip of them */
                d->when[end] = BEHIND;
            }
        } else if (d->when[end] != IN_TURN) {
            d->is_read[end] |= BY_CORE;
        }
    }
}

/* Strips: first those of what is carried, as it is found, of which that which is left is one on.
 */
static void take_strips(Divider *d) {
    for (CadId id = 0; id < d->body->n_numbers; id++) {
        d->strip[id] = NO_STRIP;
    }
    for (size_t j = 0; j < d->scan->n_carried; j++) {
        d->strip[CAD_SCAN_INPUT + j] = d->n_strips++;
    }
    for (CadId id = CAD_ZERO; id < d->body->n_numbers; id++) {
        if (is_carried(d, id)) {
            continue;
        }
        const int is_given = given_of(d, id) >= 0 && !is_same_in_all(d, id);
        if ((is_given || d->when[id] != NEVER) && (d->is_read[id] != 0 || is_given)) {
            d->strip[id] = d->n_strips++;
        }
    }
}

/* --- the programs --- */

static int is_chain_of_singles(const CadProgram *program) {
    return program->n_code == 1 && cad_step_is(program->code, CAD_OVER_SINGLES) &&
           program->code->y == 1;
}

/* Where the numbers of a result are in its program. */
static void add_places(Divider *d, const CadProgram *program) {
    for (size_t k = 0; k < program->n_outputs; k++) {
        const CadStretch s = program->outputs[k];
        for (int32_t i = 0; i < (int32_t)s.n; i++) {
            add_word(d, s.listed ? program->lists[s.place + i] : s.place + i * s.step);
        }
    }
}

static CadProgram *program_of(Divider *d, CadGraph *graph, CadUse use, const CadId *roots,
                              size_t n_roots) {
    CadProgram *program = NULL;
    size_t n_inputs = 0;
    CadId *const inputs = cad_memory_take(&d->memory, graph->n_records, sizeof *inputs);
    if (inputs == NULL) {
        fail(d->m);
        return NULL;
    }
    for (size_t i = 1; i < graph->n_records; i++) {
        if (graph->records[i].kind == CAD_RECORD_INPUT) {
            inputs[n_inputs++] = cad_graph_first(graph, i);
        }
    }
    if (d->m->status != CAD_OK) { /* of one that was made before */
        return NULL;
    }
    if (graph->status == CAD_OK) {
        d->m->status = d->m->make(graph, use, inputs, n_inputs, 0, roots, n_roots, &program);
    } else {
        d->m->status = graph->status;
    }
    return program;
}

/* What is carried in strips; where a source begins is known once strips have a length. */
static int64_t source_of(const Divider *d, CadId id) {
    const int64_t k = given_of(d, id);
    return k >= 0 && d->scan->steps[k] == 0 ? -1 - k : d->strip[id];
}

static CadId name_of(Divider *d, CadGraph *to, CadId id) {
    double value;
    return cad_graph_is_constant(d->body, id, &value) ? cad_graph_constant(to, value)
                                                      : d->name[id];
}

static void apply(Divider *d, CadGraph *to, size_t record) {
    CadOperands of;
    CadId x[3];
    cad_graph_operands(d->body, record, &of);
    for (size_t k = 0; k < 3; k++) {
        x[k] = k < of.n ? name_of(d, to, of.ids[k]) : x[0];
    }
    d->name[cad_graph_first(d->body, record)] =
        cad_graph_apply(to, (CadOp)d->body->records[record].op, x[0], x[1], x[2]);
}

/* Whether a number comes from elsewhere to what is computed at some time. */
static int comes_from_elsewhere(const Divider *d, const uint8_t *is_read_then, CadId id,
                                When when) {
    double value;
    return is_read_then[id] && d->when[id] != (uint8_t)when &&
           !cad_graph_is_constant(d->body, id, &value);
}

/* What is read by what is computed at some time. */
static void mark_read(const Divider *d, When when, uint8_t *marks) {
    CadOperands of;
    memset(marks, 0, d->body->n_numbers);
    for (size_t i = 1; i < d->body->n_records; i++) {
        const CadId id = cad_graph_first(d->body, i);
        cad_graph_operands(d->body, i, &of);
        for (size_t k = 0; k < of.n && is_single(d, i) && d->when[id] == when; k++) {
            marks[of.ids[k]] = 1;
        }
    }
}

/* What is computed for a stretch at once. */
static CadProgram *divide_stretch(Divider *d, When when, uint8_t *marks, CadId *roots,
                                  uint32_t *n_into, uint32_t *n_from) {
    const CadId n = d->body->n_numbers;
    CadProgram *program = NULL;
    size_t n_roots = 0;
    mark_read(d, when, marks);
    for (CadId id = 1; id < n; id++) {
        marks[id] |= d->when[id] == when && given_of(d, id) >= 0; /* a result as it is */
        if (comes_from_elsewhere(d, marks, id, when) || (marks[id] && given_of(d, id) >= 0)) {
            d->name[id] = CAD_SCAN_INPUT + (*n_into)++;
            add_word(d, source_of(d, id));
        }
    }
    CadGraph *const to = cad_scan_body(*n_into);
    if (to == NULL) {
        fail(d->m);
        return NULL;
    }
    for (size_t i = 1; i < d->body->n_records; i++) {
        if (is_single(d, i) && d->when[cad_graph_first(d->body, i)] == when) {
            apply(d, to, i);
        }
    }
    for (CadId id = 1; id < n; id++) {
        if (d->when[id] == when && d->is_read[id] != 0) {
            roots[n_roots++] = name_of(d, to, id);
        }
    }
    if (n_roots > 0) {
        program = program_of(d, to, CAD_AT_MANY_POINTS, roots, n_roots);
    }
    const size_t begin = d->n_words;
    if (program != NULL) {
        add_places(d, program);
    }
    /* Each place is followed by its strip. */
    for (size_t k = 0; k < n_roots && program != NULL; k++) {
        add_word(d, 0);
    }
    for (size_t k = n_roots; k-- > 0 && d->m->status == CAD_OK;) {
        d->words[begin + 2 * k] = d->words[begin + k];
    }
    size_t next = begin + 1;
    for (CadId id = 1; id < n && d->m->status == CAD_OK && program != NULL; id++) {
        if (d->when[id] == when && d->is_read[id] != 0) {
            d->words[next] = d->strip[id];
            next += 2;
        }
    }
    *n_from = (uint32_t)n_roots;
    cad_graph_free(to);
    return program;
}

/* What a turn reads from elsewhere, ends included. */
static void mark_read_in_turn(const Divider *d, uint8_t *marks) {
    mark_read(d, IN_TURN, marks);
    for (size_t j = 0; j < d->scan->n_carried; j++) {
        marks[d->scan->ends[j]] = 1;
    }
}

static int comes_into_turn(const Divider *d, const uint8_t *marks, CadId id) {
    return comes_from_elsewhere(d, marks, id, IN_TURN) && !is_carried(d, id);
}

/* Whether the core tells a number of each turn: what each leaves of what is carried apart. */
static int is_told(const Divider *d, CadId id) {
    return d->when[id] == IN_TURN && d->is_read[id] != 0;
}

/* Some turns that follow each other, as one program; its places are listed. */
static CadProgram *divide_core(Divider *d, const uint8_t *marks, size_t together) {
    const CadScan *const scan = d->scan;
    const CadId n = d->body->n_numbers;
    const size_t n_told = d->turns.n_from_core;
    CadMemory memory = {0};
    CadId *const first = cad_memory_take(&memory, n, sizeof *first);
    CadId *const now = cad_memory_take(&memory, scan->n_carried, sizeof *now);
    CadId *const roots =
        cad_memory_take(&memory, scan->n_carried + together * n_told, sizeof *roots);
    CadProgram *program = NULL;
    if (memory.status != CAD_OK) {
        fail(d->m);
        cad_memory_give_back(&memory);
        return NULL;
    }
    CadId next = CAD_SCAN_INPUT + (CadId)scan->n_carried;
    for (CadId id = 1; id < n; id++) {
        if (comes_into_turn(d, marks, id)) {
            first[id] = next;
            next += is_same_in_all(d, id) ? 1 : (CadId)together;
        }
    }
    CadGraph *const to = cad_scan_body(next - CAD_SCAN_INPUT);
    if (to == NULL) {
        fail(d->m);
        cad_memory_give_back(&memory);
        return NULL;
    }
    for (size_t j = 0; j < scan->n_carried; j++) {
        d->name[CAD_SCAN_INPUT + j] = CAD_SCAN_INPUT + (CadId)j;
    }
    for (size_t turn = 0; turn < together; turn++) {
        for (CadId id = 1; id < n; id++) {
            if (first[id] != CAD_NO_ID) {
                d->name[id] = first[id] + (is_same_in_all(d, id) ? 0 : (CadId)turn);
            }
        }
        for (size_t i = 1; i < d->body->n_records; i++) {
            if (is_single(d, i) && d->when[cad_graph_first(d->body, i)] == IN_TURN) {
                apply(d, to, i);
            }
        }
        for (size_t j = 0; j < scan->n_carried; j++) {
            now[j] = name_of(d, to, scan->ends[j]);
        }
        size_t told = 0;
        for (size_t j = 0; j < scan->n_carried; j++) {
            roots[scan->n_carried + told++ * together + turn] = now[j];
        }
        for (CadId id = 1; id < n; id++) {
            if (is_told(d, id)) {
                roots[scan->n_carried + told++ * together + turn] = d->name[id];
            }
        }
        for (size_t j = 0; j < scan->n_carried; j++) {
            d->name[CAD_SCAN_INPUT + j] = now[j];
        }
    }
    memcpy(roots, now, scan->n_carried * sizeof *now);
    const size_t n_roots = scan->n_carried + together * n_told;
    program = program_of(d, to, CAD_IN_BLOCKS, roots, n_roots);
    if (program != NULL && together > 1 && is_chain_of_singles(program)) {
        cad_program_free(program);
        program = program_of(d, to, CAD_IN_TURNS, roots, n_roots);
    }
    if (program != NULL) {
        add_places(d, program);
    }
    cad_memory_give_back(&memory);
    cad_graph_free(to);
    return program;
}

static size_t count_in_turn(const Divider *d) {
    size_t n = 1;
    for (CadId id = 1; id < d->body->n_numbers; id++) {
        n += d->when[id] == IN_TURN;
    }
    return n;
}

/* What is carried at first, what is given, and sizes. */
static void add_operands(Divider *d, const CadId *operands) {
    const CadScan *const scan = d->scan;
    for (size_t k = 0; k < cad_scan_n_operands(scan); k++) {
        add_word(d, cad_maker_place_of(d->m, operands[k]));
        if (k >= scan->n_carried) {
            add_word(d, scan->steps[k - scan->n_carried]);
            add_word(d, d->strip[CAD_SCAN_INPUT + k]);
        }
    }
    for (size_t k = 0; k < scan->n_given + cad_scan_n_ends(scan); k++) {
        add_word(d, scan->sizes[k]);
    }
}

/* Ends that are read are placed with their SCAN, whose record they follow. What only the last
 * turn's is read of has a place for that alone, which the record begins so far before. */
static void place_ends(Divider *d) {
    CadMaker *const m = d->m;
    const CadScan *const scan = d->scan;
    const size_t n_rows = scan->n_carried + scan->n_kept;
    for (size_t k = 0; k < cad_scan_n_ends(scan); k++) {
        const uint32_t end = d->record + 1 + (uint32_t)k, size = cad_scan_size_of_end(scan, k);
        const int is_row = k < scan->n_carried ? m->rows[end] : k < n_rows;
        const size_t length = is_row ? cad_scan_length_of_end(scan, k) : size;
        int64_t place = CAD_UNREAD;
        if (is_end_read(d, k)) {
            place = cad_maker_take_array(m, length);
            m->place[end] = (int32_t)(place - (is_row || k >= n_rows ? 0 : scan->n * size));
            m->group[end] = m->n_groups++;
            cad_maker_release_after(m, m->last[end], (int32_t)place, length);
        }
        add_word(d, place);
        add_word(d, is_row ? size : 0);
    }
}

/* --- what single numbers are divided into --- */

static void divide(Divider *d, const CadId *operands) {
    const CadScan *const scan = d->scan;
    CadScanPlan *const turns = &d->turns;
    const CadId n = d->body->n_numbers;
    uint8_t *const marks = cad_memory_take(&d->memory, n, 1);
    CadId *const roots = cad_memory_take(&d->memory, n, sizeof *roots);
    if (d->memory.status != CAD_OK) {
        fail(d->m);
        return;
    }
    find_when(d);
    if (d->memory.status != CAD_OK) {
        fail(d->m);
        return;
    }
    find_readers(d);
    take_strips(d);
    add_operands(d, operands);
    place_ends(d);
    turns->ahead =
        divide_stretch(d, AHEAD, marks, roots, &turns->n_into_ahead, &turns->n_from_ahead);
    mark_read_in_turn(d, marks);
    for (CadId id = 1; id < n; id++) {
        if (comes_into_turn(d, marks, id)) {
            add_word(d, source_of(d, id));
            turns->n_into_core++;
        }
    }
    for (size_t j = 0; j < scan->n_carried; j++) {
        add_word(d, d->strip[CAD_SCAN_INPUT + j]); /* one on, below */
    }
    turns->n_from_core = (uint32_t)scan->n_carried;
    for (CadId id = 1; id < n; id++) {
        if (is_told(d, id)) {
            add_word(d, d->strip[id]);
            turns->n_from_core++;
        }
    }
    const size_t most = MOST_SINGLES / count_in_turn(d);
    turns->together = 1;
    while (turns->together < MOST_TOGETHER && 2 * turns->together <= most &&
           4 * turns->together <= scan->n) {
        turns->together *= 2;
    }
    turns->core = divide_core(d, marks, turns->together);
    turns->single = d->m->status == CAD_OK ? divide_core(d, marks, 1) : NULL;
    if (d->m->status != CAD_OK) {
        return;
    }
    turns->behind =
        divide_stretch(d, BEHIND, marks, roots, &turns->n_into_behind, &turns->n_from_behind);
    for (size_t k = scan->n_carried; k < cad_scan_n_ends(scan); k++) {
        add_word(d, is_end_read(d, k) ? d->strip[scan->ends[k]] : NO_STRIP);
    }
}

/* --- strips get a length --- */

static size_t room_of(const CadProgram *program, size_t lanes) {
    return program != NULL ? cad_program_room(program, lanes) : 0;
}

static void choose_length(Divider *d) {
    CadScanPlan *const turns = &d->turns;
    const size_t one = (size_t)d->n_strips + room_of(turns->ahead, 1) + room_of(turns->behind, 1);
    turns->length = LONGEST;
    while (turns->length > SHORTEST && turns->length * one > IN_CACHE) {
        turns->length /= 2;
    }
    turns->n_in_strips = (size_t)d->n_strips * (turns->length + CAD_STRIP_MARGIN);
}

static void lengthen(const Divider *d, int64_t *word) {
    *word *= *word > 0 ? d->turns.length + CAD_STRIP_MARGIN : 1;
}

/* Words that name strips say where they begin. */
static void place_strips(Divider *d) {
    const CadScanPlan *const t = &d->turns;
    const uint32_t n_carried = t->n_carried;
    int64_t *word = d->words + n_carried;
    for (uint32_t k = 0; k < t->n_given; k++, word += 3) {
        lengthen(d, word + 2);
    }
    word += cad_scan_plan_n_sizes(t) + 2 * cad_scan_plan_n_ends(t);
    for (uint32_t k = 0; k < t->n_into_ahead; k++) {
        lengthen(d, word++);
    }
    for (uint32_t k = 0; k < t->n_from_ahead; k++, word += 2) {
        lengthen(d, word + 1);
    }
    for (uint32_t k = 0; k < t->n_into_core; k++) {
        lengthen(d, word++);
    }
    for (uint32_t k = 0; k < t->n_from_core; k++, word++) {
        lengthen(d, word);
        *word += k < n_carried;
    }
    word += 2 * n_carried + (t->together + 1) * t->n_from_core;
    for (uint32_t k = 0; k < t->n_into_behind; k++) {
        lengthen(d, word++);
    }
    for (uint32_t k = 0; k < t->n_from_behind; k++, word += 2) {
        lengthen(d, word + 1);
    }
    for (uint32_t k = 0; k < t->n_kept + t->n_summed; k++) {
        lengthen(d, word++);
    }
}

/* --- turns that compute arrays --- */

static void add_ends(Divider *d) {
    const CadScan *const scan = d->scan;
    const size_t begin = d->n_words;
    add_places(d, d->turns.core);
    const size_t n = d->n_words - begin;
    int64_t *const places = cad_memory_take(&d->memory, n, sizeof *places);
    if (places == NULL || d->m->status != CAD_OK) {
        fail(d->m);
        return;
    }
    memcpy(places, d->words + begin, n * sizeof *places);
    d->n_words = begin;
    for (size_t k = 0, at = 0; k < cad_scan_n_ends(scan); k++) {
        const int is_read = is_end_read(d, k);
        add_word(d, is_read ? places[at] : 0);
        at += is_read ? cad_scan_size_of_end(scan, k) : 0;
    }
}

static void make_core(Divider *d, const CadId *operands) {
    const CadScan *const scan = d->scan;
    const size_t n_ends = cad_scan_n_ends(scan);
    size_t n_roots = 0;
    d->turns.in_blocks = 1;
    for (size_t k = 0; k < n_ends; k++) {
        n_roots += is_end_read(d, k) ? cad_scan_size_of_end(scan, k) : 0;
    }
    CadId *const roots = cad_memory_take(&d->memory, n_roots, sizeof *roots);
    if (roots == NULL) {
        fail(d->m);
        return;
    }
    n_roots = 0;
    for (size_t k = 0; k < n_ends; k++) {
        for (uint32_t e = 0; e < cad_scan_size_of_end(scan, k) && is_end_read(d, k); e++) {
            roots[n_roots++] = scan->ends[k] + e;
        }
    }
    add_operands(d, operands);
    place_ends(d);
    d->turns.core =
        program_of(d, d->body, d->for_points ? CAD_AT_MANY_POINTS : CAD_IN_BLOCKS, roots, n_roots);
    if (d->turns.core != NULL) {
        add_ends(d);
    }
}

void cad_maker_emit_scan(CadMaker *m, uint32_t i) {
    const CadScan *const scan = cad_graph_scan(m->graph, &m->graph->records[i]);
    CadProgram *const program = m->program;
    const size_t n = scan->body->n_numbers;
    Divider divider = {.m = m,
                       .scan = scan,
                       .record = i,
                       .body = scan->body,
                       .for_points = m->use == CAD_AT_MANY_POINTS};
    Divider *const d = &divider;
    CadScanPlan *const turns = &d->turns;
    CadOperands of;
    *turns = (CadScanPlan){.n_carried = (uint32_t)scan->n_carried,
                           .n_given = (uint32_t)scan->n_given,
                           .n_kept = (uint32_t)scan->n_kept,
                           .n_summed = (uint32_t)scan->n_summed};
    d->when = cad_memory_take(&d->memory, n, 1);
    d->is_read = cad_memory_take(&d->memory, n, 1);
    d->strip = cad_memory_take(&d->memory, n, sizeof *d->strip);
    d->name = cad_memory_take(&d->memory, n, sizeof *d->name);
    if (d->memory.status != CAD_OK || !GROW(program, scans, program->n_scans, 1)) {
        fail(m);
    } else {
        cad_graph_operands(m->graph, i, &of);
        if (m->rows != NULL || find_rows(m)) {
            (cad_scan_is_of_singles(scan) && !d->for_points ? divide : make_core)(d, of.ids);
        }
        turns->at = program->n_plan_words;
        program->scans[program->n_scans++] = *turns;
    }
    if (m->status == CAD_OK && d->memory.status == CAD_OK && !turns->in_blocks) {
        choose_length(d);
        place_strips(d);
        program->scans[program->n_scans - 1] = *turns;
    }
    if (m->status == CAD_OK && GROW(program, plans, program->n_plan_words, d->n_words)) {
        memcpy(program->plans + program->n_plan_words, d->words, d->n_words * sizeof *d->words);
        program->n_plan_words += d->n_words;
        const size_t room = turns->n_in_strips + room_of(turns->ahead, turns->length) +
                            room_of(turns->core, 1) + room_of(turns->single, 1) +
                            room_of(turns->behind, turns->length) + scan->n_carried;
        const int32_t place = cad_maker_take_block(m, room);
        cad_maker_release_after(m, m->level[i], place, room);
        cad_maker_emit(m, (CadInstruction){.kind = CAD_SCAN,
                                           .n = (uint32_t)scan->n,
                                           .x = (int32_t)program->n_scans - 1,
                                           .y = place,
                                           .z = (int32_t)room});
        program->n_operations +=
            scan->n * (turns->in_blocks ? turns->core->n_operations : scan->body->n_records - 2);
        program->has_arrays |= !d->for_points || turns->core->has_arrays;
        program->has_calls |= turns->core->has_calls;
    }
    cad_memory_free(d->words);
    cad_memory_give_back(&d->memory);
}
