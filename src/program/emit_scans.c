/* A recurrence is divided into numbers computed for a stretch of turns at once, ahead and behind,
 * and numbers computed turn by turn: see CadScanPlan. */
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

/* The part of the plan that computes a number of the body; IN_NO_PART: nobody reads it. */
typedef enum Part { IN_NO_PART, IN_AHEAD, IN_CORE, IN_BEHIND } Part;

/* A word of the plan. Where a strip begins is known once all have a length. */
typedef struct Word {
    int64_t value;
    enum { AS_IT_IS, OF_STRIP, OF_STRIP_BY_ONE } is;
} Word;

typedef struct Divider {
    CadMaker *m;
    const CadScan *scan;
    uint32_t record;
    int for_points; /* whose numbers stand side by side: turns go one by one */
    CadGraph *body;
    CadMemory memory;
    uint8_t *part;    /* of numbers of the body: which one computes them */
    uint8_t *is_read; /* by what is computed later, or as a result */
    int64_t *strip;   /* where it begins, in strips of length 1 */
    CadId *name;      /* in the graph that is being made */
    int64_t n_strips;
    CadScanPlan plan;
    Word *words; /* of the plan */
    size_t n_words, words_capacity;
} Divider;

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

static void push_word(Divider *d, Word word) {
    if (cad_memory_grow((void **)&d->words, &d->words_capacity, d->n_words + 1,
                        sizeof *d->words) == CAD_OK) {
        d->words[d->n_words++] = word;
    } else {
        fail(d->m);
    }
}

static void add_word(Divider *d, int64_t value) {
    push_word(d, (Word){value, AS_IT_IS});
}

static void add_strip(Divider *d, int64_t strip) {
    push_word(d, (Word){strip, strip < 0 ? AS_IT_IS : OF_STRIP});
}

/* --- what programs read of ends --- */

/* Note that an end is read from `id` on: if a number of a turn before the last one is among them,
 * the end needs its whole row. */
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

/* An end takes one place if only the number of its last turn is read. */
static int find_ends_with_rows(CadMaker *m) {
    const size_t n = m->graph->n_records;
    uint8_t *const marks = cad_memory_zeroed(n, 1);
    m->rows = cad_memory_take(&m->memory, n, 1);
    if (marks == NULL || m->rows == NULL) {
        cad_memory_free(marks);
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
    cad_memory_free(marks);
    return 1;
}

/* Turns that compute arrays read the blocks that they carry themselves. */
static int is_end_read(const Divider *d, size_t k) {
    return d->m->uses[d->record + 1 + k] > 0 || (d->plan.in_blocks && k < d->scan->n_carried);
}

/* --- which part computes what --- */

static void find_parts(Divider *d) {
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
            d->part[id] = (uint8_t)(!waits[id] ? IN_AHEAD : feeds[id] ? IN_CORE : IN_BEHIND);
        }
    }
}

static void find_handed_on(Divider *d) {
    CadOperands of;
    for (size_t i = 1; i < d->body->n_records; i++) {
        const CadId id = cad_graph_first(d->body, i);
        cad_graph_operands(d->body, i, &of);
        for (size_t k = 0; k < of.n && is_single(d, i); k++) {
            d->is_read[of.ids[k]] |= d->part[id] >= IN_CORE && d->part[id] != d->part[of.ids[k]];
        }
    }
    for (size_t k = 0; k < cad_scan_n_ends(d->scan); k++) {
        const CadId end = d->scan->ends[k];
        if (k < d->scan->n_carried) {
            d->is_read[end] |= d->part[end] != IN_CORE;
        } else if (is_end_read(d, k)) {
            d->is_read[end] = 1;
            if (is_same_in_all(d, end)) { /* for a strip of them */
                d->part[end] = IN_BEHIND;
            }
        }
    }
}

/* The first strips are those of carried numbers as each turn finds them, one place after another.
 */
static void take_strips(Divider *d) {
    for (size_t j = 0; j < d->scan->n_carried; j++) {
        d->strip[CAD_SCAN_INPUT + j] = d->n_strips++;
    }
    for (CadId id = 0; id < d->body->n_numbers; id++) {
        if (!is_carried(d, id)) {
            const int is_given = given_of(d, id) >= 0 && !is_same_in_all(d, id);
            const int is_computed = d->part[id] != IN_NO_PART && d->is_read[id] != 0;
            d->strip[id] = is_given || is_computed ? d->n_strips++ : NO_STRIP;
        }
    }
}

/* --- the programs --- */

static int is_chain_of_singles(const CadProgram *program) {
    return program->n_code == 1 && cad_step_is(program->code, CAD_OVER_SINGLES) &&
           program->code->y == 1;
}

/* Where the numbers of its results are in a program, one behind the other. */
static int64_t *places_in(Divider *d, const CadProgram *program) {
    int64_t *const places = cad_memory_take(&d->memory, program->n_results, sizeof *places);
    int64_t *next = places;
    if (places == NULL) {
        fail(d->m);
    }
    for (size_t k = 0; k < program->n_outputs && places != NULL; k++) {
        const CadStretch s = program->outputs[k];
        for (int32_t i = 0; i < (int32_t)s.n; i++) {
            *next++ = s.listed ? program->lists[s.place + i] : s.place + i * s.step;
        }
    }
    return places;
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

static void add_source(Divider *d, CadId id) {
    const int64_t k = given_of(d, id);
    add_strip(d, k >= 0 && d->scan->steps[k] == 0 ? -1 - k : d->strip[id]);
}

static CadId name_in_part(Divider *d, CadGraph *to, CadId id) {
    double value;
    return cad_graph_is_constant(d->body, id, &value) ? cad_graph_constant(to, value)
                                                      : d->name[id];
}

static void copy_number(Divider *d, CadGraph *to, size_t record) {
    CadOperands of;
    CadId x[3];
    cad_graph_operands(d->body, record, &of);
    for (size_t k = 0; k < 3; k++) {
        x[k] = k < of.n ? name_in_part(d, to, of.ids[k]) : x[0];
    }
    d->name[cad_graph_first(d->body, record)] =
        cad_graph_apply(to, (CadOp)d->body->records[record].op, x[0], x[1], x[2]);
}

/* The numbers that a part computes. */
static void compute(Divider *d, CadGraph *to, Part part) {
    for (size_t i = 1; i < d->body->n_records; i++) {
        if (is_single(d, i) && d->part[cad_graph_first(d->body, i)] == part) {
            copy_number(d, to, i);
        }
    }
}

/* Whether a part computes a number, and each turn hands it on. */
static int is_handed_on(const Divider *d, CadId id, Part part) {
    return d->part[id] == part && d->is_read[id] != 0;
}

/* Whether a part reads a number that another one computes. */
static int comes_from_elsewhere(const Divider *d, const uint8_t *is_read_there, CadId id,
                                Part part) {
    double value;
    return is_read_there[id] && d->part[id] != (uint8_t)part &&
           !cad_graph_is_constant(d->body, id, &value);
}

/* Mark the operands of the numbers that a part computes. */
static void mark_read_by(const Divider *d, Part part, uint8_t *marks) {
    CadOperands of;
    memset(marks, 0, d->body->n_numbers);
    for (size_t i = 1; i < d->body->n_records; i++) {
        const CadId id = cad_graph_first(d->body, i);
        cad_graph_operands(d->body, i, &of);
        for (size_t k = 0; k < of.n && is_single(d, i) && d->part[id] == part; k++) {
            marks[of.ids[k]] = 1;
        }
    }
}

/* The program of a part that goes for a stretch of turns at once. */
static CadProgram *divide_stretch(Divider *d, Part part, uint8_t *marks, CadId *roots,
                                  uint32_t *n_into, uint32_t *n_from) {
    const CadId n = d->body->n_numbers;
    CadProgram *program = NULL;
    mark_read_by(d, part, marks);
    for (CadId id = 1; id < n; id++) {
        marks[id] |= d->part[id] == part && given_of(d, id) >= 0; /* a result as it is */
        if (comes_from_elsewhere(d, marks, id, part) || (marks[id] && given_of(d, id) >= 0)) {
            d->name[id] = CAD_SCAN_INPUT + (*n_into)++;
            add_source(d, id);
        }
    }
    CadGraph *const to = cad_scan_body(*n_into);
    if (to == NULL) {
        fail(d->m);
        return NULL;
    }
    compute(d, to, part);
    for (CadId id = 1; id < n; id++) {
        if (is_handed_on(d, id, part)) {
            roots[(*n_from)++] = name_in_part(d, to, id);
        }
    }
    if (*n_from > 0) {
        program = program_of(d, to, CAD_AT_MANY_POINTS, roots, *n_from);
    }
    const int64_t *place = program != NULL ? places_in(d, program) : NULL;
    for (CadId id = 1; id < n && place != NULL; id++) {
        if (is_handed_on(d, id, part)) {
            add_word(d, *place++);
            add_strip(d, d->strip[id]);
        }
    }
    cad_graph_free(to);
    return program;
}

static int comes_into_core(const Divider *d, const uint8_t *marks, CadId id) {
    return comes_from_elsewhere(d, marks, id, IN_CORE) && !is_carried(d, id);
}

/* Some turns that follow each other, as one program; its places are listed. */
static CadProgram *divide_core(Divider *d, const uint8_t *marks, size_t together) {
    const CadScan *const scan = d->scan;
    const CadId n = d->body->n_numbers;
    const size_t n_told = d->plan.n_from_core;
    const size_t n_roots = scan->n_carried + together * n_told;
    CadId *const first = cad_memory_take(&d->memory, n, sizeof *first);
    CadId *const now = cad_memory_take(&d->memory, scan->n_carried, sizeof *now);
    CadId *const roots = cad_memory_take(&d->memory, n_roots, sizeof *roots);
    CadProgram *program = NULL;
    if (d->memory.status != CAD_OK) {
        fail(d->m);
        return NULL;
    }
    CadId next = CAD_SCAN_INPUT + (CadId)scan->n_carried;
    for (CadId id = 1; id < n; id++) {
        if (comes_into_core(d, marks, id)) {
            first[id] = next;
            next += is_same_in_all(d, id) ? 1 : (CadId)together;
        }
    }
    CadGraph *const to = cad_scan_body(next - CAD_SCAN_INPUT);
    if (to == NULL) {
        fail(d->m);
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
        compute(d, to, IN_CORE);
        size_t told = 0;
        for (size_t j = 0; j < scan->n_carried; j++) {
            now[j] = name_in_part(d, to, scan->ends[j]);
            roots[scan->n_carried + told++ * together + turn] = now[j];
        }
        for (CadId id = 1; id < n; id++) {
            if (is_handed_on(d, id, IN_CORE)) {
                roots[scan->n_carried + told++ * together + turn] = d->name[id];
            }
        }
        for (size_t j = 0; j < scan->n_carried; j++) {
            d->name[CAD_SCAN_INPUT + j] = now[j];
        }
    }
    memcpy(roots, now, scan->n_carried * sizeof *now);
    program = program_of(d, to, CAD_IN_BLOCKS, roots, n_roots);
    if (program != NULL && together > 1 && is_chain_of_singles(program)) {
        cad_program_free(program);
        program = program_of(d, to, CAD_IN_TURNS, roots, n_roots);
    }
    const int64_t *const places = program != NULL ? places_in(d, program) : NULL;
    for (size_t k = 0; k < n_roots && places != NULL; k++) {
        add_word(d, places[k]);
    }
    cad_graph_free(to);
    return program;
}

/* What is carried at first, what is given, and sizes. */
static void add_operands(Divider *d, const CadId *operands) {
    const CadScan *const scan = d->scan;
    for (size_t k = 0; k < cad_scan_n_operands(scan); k++) {
        add_word(d, cad_maker_place_of(d->m, operands[k]));
        if (k >= scan->n_carried) {
            add_word(d, scan->steps[k - scan->n_carried]);
            add_strip(d, d->strip[CAD_SCAN_INPUT + k]);
        }
    }
    for (size_t k = 0; k < scan->n_given + cad_scan_n_ends(scan); k++) {
        add_word(d, scan->sizes[k]);
    }
}

/* Ends that are read get their places with the SCAN, whose record they follow. If only the numbers
 * of the last turn are read, an end has places for these alone: its record begins before them. */
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

/* --- turns of single numbers --- */

static void make_parts(Divider *d, const CadId *operands) {
    const CadScan *const scan = d->scan;
    CadScanPlan *const plan = &d->plan;
    const CadId n = d->body->n_numbers;
    uint8_t *const marks = cad_memory_take(&d->memory, n, 1);
    CadId *const roots = cad_memory_take(&d->memory, n, sizeof *roots);
    find_parts(d);
    if (d->memory.status != CAD_OK) {
        fail(d->m);
        return;
    }
    find_handed_on(d);
    take_strips(d);
    add_operands(d, operands);
    place_ends(d);
    plan->ahead =
        divide_stretch(d, IN_AHEAD, marks, roots, &plan->n_into_ahead, &plan->n_from_ahead);
    mark_read_by(d, IN_CORE, marks);
    for (size_t j = 0; j < scan->n_carried; j++) { /* so do those who read what is carried */
        marks[scan->ends[j]] = 1;
    }
    size_t in_core = 1;
    for (CadId id = 1; id < n; id++) {
        in_core += d->part[id] == IN_CORE;
        if (comes_into_core(d, marks, id)) {
            add_source(d, id);
            plan->n_into_core++;
        }
    }
    for (size_t j = 0; j < scan->n_carried; j++) {
        push_word(d, (Word){d->strip[CAD_SCAN_INPUT + j], OF_STRIP_BY_ONE});
    }
    plan->n_from_core = (uint32_t)scan->n_carried;
    for (CadId id = 1; id < n; id++) {
        if (is_handed_on(d, id, IN_CORE)) {
            add_strip(d, d->strip[id]);
            plan->n_from_core++;
        }
    }
    const size_t most = MOST_SINGLES / in_core;
    plan->together = 1;
    while (plan->together < MOST_TOGETHER && 2 * plan->together <= most &&
           4 * plan->together <= scan->n) {
        plan->together *= 2;
    }
    plan->core = divide_core(d, marks, plan->together);
    plan->single = d->m->status == CAD_OK ? divide_core(d, marks, 1) : NULL;
    if (d->m->status != CAD_OK) {
        return;
    }
    plan->behind =
        divide_stretch(d, IN_BEHIND, marks, roots, &plan->n_into_behind, &plan->n_from_behind);
    for (size_t k = scan->n_carried; k < cad_scan_n_ends(scan); k++) {
        add_strip(d, is_end_read(d, k) ? d->strip[scan->ends[k]] : NO_STRIP);
    }
}

/* --- strips get a length --- */

static size_t room_of(const CadProgram *program, size_t lanes) {
    return program != NULL ? cad_program_room(program, lanes) : 0;
}

static void choose_length(Divider *d) {
    CadScanPlan *const plan = &d->plan;
    const size_t one = (size_t)d->n_strips + room_of(plan->ahead, 1) + room_of(plan->behind, 1);
    plan->length = LONGEST;
    while (plan->length > SHORTEST && plan->length * one > IN_CACHE) {
        plan->length /= 2;
    }
    plan->n_in_strips = (size_t)d->n_strips * (plan->length + CAD_STRIP_MARGIN);
}

static void add_plan(const Divider *d) {
    CadProgram *const program = d->m->program;
    const int64_t stride = d->plan.length + CAD_STRIP_MARGIN;
    for (size_t k = 0; k < d->n_words; k++) {
        const Word word = d->words[k];
        program->plans[program->n_plan_words++] =
            word.is == AS_IT_IS ? word.value : word.value * stride + (word.is == OF_STRIP_BY_ONE);
    }
}

/* --- turns that compute arrays --- */

static void make_core(Divider *d, const CadId *operands) {
    const CadScan *const scan = d->scan;
    const size_t n_ends = cad_scan_n_ends(scan);
    const size_t most = cad_sum_of_sizes(scan->sizes, scan->n_given + n_ends);
    CadId *const roots = cad_memory_take(&d->memory, most, sizeof *roots);
    size_t n_roots = 0;
    if (roots == NULL) {
        fail(d->m);
        return;
    }
    d->plan.in_blocks = 1;
    for (size_t k = 0; k < n_ends; k++) {
        for (uint32_t e = 0; e < cad_scan_size_of_end(scan, k) && is_end_read(d, k); e++) {
            roots[n_roots++] = scan->ends[k] + e;
        }
    }
    add_operands(d, operands);
    place_ends(d);
    d->plan.core =
        program_of(d, d->body, d->for_points ? CAD_AT_MANY_POINTS : CAD_IN_BLOCKS, roots, n_roots);
    const int64_t *place = d->plan.core != NULL ? places_in(d, d->plan.core) : NULL;
    for (size_t k = 0; k < n_ends && place != NULL; k++) {
        add_word(d, is_end_read(d, k) ? *place : 0);
        place += is_end_read(d, k) ? cad_scan_size_of_end(scan, k) : 0;
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
    CadScanPlan *const plan = &d->plan;
    CadOperands of;
    *plan = (CadScanPlan){.n_carried = (uint32_t)scan->n_carried,
                          .n_given = (uint32_t)scan->n_given,
                          .n_kept = (uint32_t)scan->n_kept,
                          .n_summed = (uint32_t)scan->n_summed};
    d->part = cad_memory_take(&d->memory, n, 1);
    d->is_read = cad_memory_take(&d->memory, n, 1);
    d->strip = cad_memory_take(&d->memory, n, sizeof *d->strip);
    d->name = cad_memory_take(&d->memory, n, sizeof *d->name);
    if (d->memory.status != CAD_OK || !GROW(program, scans, program->n_scans, 1)) {
        fail(m);
    } else {
        cad_graph_operands(m->graph, i, &of);
        if (m->rows != NULL || find_ends_with_rows(m)) {
            (cad_scan_is_of_singles(scan) && !d->for_points ? make_parts : make_core)(d, of.ids);
        }
        if (m->status == CAD_OK && !plan->in_blocks) {
            choose_length(d);
        }
        plan->at = program->n_plan_words;
        program->scans[program->n_scans++] = *plan;
    }
    if (m->status == CAD_OK && GROW(program, plans, program->n_plan_words, d->n_words)) {
        add_plan(d);
        const size_t room = plan->n_in_strips + room_of(plan->ahead, plan->length) +
                            room_of(plan->core, 1) + room_of(plan->single, 1) +
                            room_of(plan->behind, plan->length) + scan->n_carried;
        const int32_t place = cad_maker_take_block(m, room);
        cad_maker_release_after(m, m->level[i], place, room);
        cad_maker_emit(m, (CadInstruction){.kind = CAD_SCAN,
                                           .n = (uint32_t)scan->n,
                                           .x = (int32_t)program->n_scans - 1,
                                           .y = place,
                                           .z = (int32_t)room});
        program->n_operations +=
            scan->n * (plan->in_blocks ? plan->core->n_operations : scan->body->n_records - 2);
        program->has_arrays |= !d->for_points || plan->core->has_arrays;
        program->has_calls |= plan->core->has_calls;
    }
    cad_memory_free(d->words);
    cad_memory_give_back(&d->memory);
}
