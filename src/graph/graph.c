/* Making numbers of a graph, each but once: records are looked up by their content. */
#include "graph/inner.h"

enum { FIRST_TABLE = 1 << 10 };

static CadId append(CadGraph *graph, const CadRecord *record);

/* A new graph has one number: there is always some to answer. */
CadGraph *cad_graph_new(bool optimize) {
    CadGraph *graph = cad_memory_zeroed(1, sizeof *graph);
    if (graph == NULL) {
        return NULL;
    }
    graph->optimize = optimize;
    graph->table_size = FIRST_TABLE;
    graph->table = cad_memory_zeroed(FIRST_TABLE, sizeof *graph->table);
    if (graph->table != NULL) {
        append(graph, &(CadRecord){.kind = CAD_RECORD_NONE});
        cad_graph_constant(graph, 0.0);
    }
    if (graph->status != CAD_OK || graph->table == NULL) {
        cad_graph_free(graph);
        return NULL;
    }
    return graph;
}

#define FREE(type, items, n) cad_memory_free(graph->items);
#define BYTES(type, items, n) +graph->items##_capacity * sizeof(type)
#define MARK(type, items, n) mark.n = graph->n;
#define REWIND(type, items, n) graph->n = mark->n;

/* Loops hold graphs of their own. */
void cad_scan_free(CadScan *scan) {
    cad_graph_free(scan->body);
    cad_memory_free(scan->ends);
    cad_memory_free(scan->steps);
    cad_memory_free(scan->sizes);
}

static void free_scans(CadGraph *graph, size_t from) {
    for (size_t k = from; k < graph->n_scans; k++) {
        cad_scan_free(&graph->scans[k]);
    }
}

void cad_graph_free(CadGraph *graph) {
    if (graph != NULL) {
        free_scans(graph, 0);
        CAD_GRAPH_LISTS(FREE)
        cad_memory_free(graph->table);
        cad_memory_free(graph);
    }
}

size_t cad_graph_bytes(const CadGraph *graph) {
    size_t bytes = sizeof *graph + graph->table_size * sizeof *graph->table CAD_GRAPH_LISTS(BYTES);
    for (size_t k = 0; k < graph->n_scans; k++) {
        bytes += cad_graph_bytes(graph->scans[k].body);
    }
    return bytes;
}

static int note_failure(CadGraph *graph, CadStatus status) {
    if (graph->status == CAD_OK) {
        graph->status = status;
    }
    return 0;
}

/* Room for so many items more; 0 if there is none. */
static int has_room(CadGraph *graph, void **buffer, size_t *capacity, size_t needed, size_t size) {
    const CadStatus status = cad_memory_grow(buffer, capacity, needed, size);
    return status == CAD_OK ? 1 : note_failure(graph, status);
}

#define ROOM(items, n, more)                                                                      \
    has_room(graph, (void **)&graph->items, &graph->items##_capacity, graph->n + (more),          \
             sizeof *graph->items)

/* --- the table of known records --- */

/* A single number is looked for near the place of its latest operand first, since what is made one
 * behind the other is looked for one behind the other; where that is full, and anything else, at
 * places that its hash tells. */
enum { NEAR = 8 };

static inline uint64_t mix(uint64_t hash, uint64_t word) {
    return (hash ^ word) * 0x9e3779b97f4a7c15u ^ (hash >> 29);
}

/* Inputs are told from others by where they are; lists of places are not compared. */
static int is_looked_up(const CadRecord *record) {
    return record->kind != CAD_RECORD_NONE && record->kind != CAD_RECORD_INPUT &&
           record->kind != CAD_RECORD_ADD_AT && record->kind != CAD_RECORD_SCAN &&
           record->kind != CAD_RECORD_END;
}

static uint64_t hash_of(const CadGraph *graph, const CadRecord *record) {
    const uint64_t word = (uint64_t)record->kind << 16 | record->op;
    uint64_t hash;
    if (!cad_record_is_array(record)) {
        const uint32_t *bits = record->of.bits;
        hash = mix(word << 32 | bits[0], (uint64_t)bits[1] << 32 | bits[2]);
        return hash ^ hash >> 32;
    }
    const CadArray *array = cad_graph_array(graph, record);
    hash = mix(word << 32 | record->of.array.size, (uint64_t)array->former << 32 | array->number);
    if (cad_record_has_plan(record)) {
        const int64_t *words = graph->words + array->plan;
        for (uint32_t i = 0; i < cad_graph_plan(graph, record)->words; i++) {
            hash = mix(hash, (uint64_t)words[i]);
        }
    }
    for (uint32_t i = 0; i < record->of.array.size && record->kind == CAD_RECORD_PACK; i++) {
        hash = mix(hash, graph->lists[array->list + i]);
    }
    for (uint32_t i = 0; i < record->of.array.size && record->kind == CAD_RECORD_CONSTANTS; i++) {
        uint64_t bits;
        memcpy(&bits, &graph->constants[array->list + i], sizeof bits);
        hash = mix(hash, bits);
    }
    return hash ^ hash >> 32;
}

static int is_same_array(const CadGraph *graph, const CadRecord *a, const CadRecord *b) {
    const CadArray *x = cad_graph_array(graph, a), *y = cad_graph_array(graph, b);
    if (a->of.array.size != b->of.array.size || x->former != y->former || x->number != y->number) {
        return 0;
    }
    if (cad_record_has_plan(a)) {
        const size_t words = cad_graph_plan(graph, a)->words;
        return words == cad_graph_plan(graph, b)->words &&
               memcmp(graph->words + x->plan, graph->words + y->plan, words * sizeof(int64_t)) ==
                   0;
    }
    if (a->kind == CAD_RECORD_CONSTANTS) {
        return memcmp(graph->constants + x->list, graph->constants + y->list,
                      a->of.array.size * sizeof *graph->constants) == 0;
    }
    return memcmp(graph->lists + x->list, graph->lists + y->list,
                  a->of.array.size * sizeof *graph->lists) == 0;
}

static inline int is_same(const CadGraph *graph, const CadRecord *a, const CadRecord *b) {
    const uint32_t *x = a->of.bits, *y = b->of.bits;
    return a->kind == b->kind && a->op == b->op &&
           (cad_record_is_array(a) ? is_same_array(graph, a, b)
                                   : x[0] == y[0] && x[1] == y[1] && x[2] == y[2]);
}

/* Whether a place of the table is that of a record, or free. */
static inline int fits(const CadGraph *graph, size_t place, const CadRecord *record) {
    const uint32_t known = graph->table[place];
    return known == 0 || is_same(graph, &graph->records[known], record);
}

/* The place of a record, where it is or may be put. Of a hash they follow each other by odd steps,
 * so that all are come by; evenly distant ones would get stuck where numbers are near each other.
 */
static size_t place_of(const CadGraph *graph, const CadRecord *record) {
    if (record->kind == CAD_RECORD_SINGLE) {
        const CadId *x = record->of.operands;
        const CadId other = x[1] > x[2] ? x[1] : x[2], latest = x[0] > other ? x[0] : other;
        for (size_t k = 0; k < NEAR; k++) {
            const size_t place = (2 * (size_t)latest + k) & (graph->table_size - 1);
            if (fits(graph, place, record)) {
                return place;
            }
        }
    }
    const uint64_t hash = hash_of(graph, record);
    size_t place = hash & (graph->table_size - 1);
    while (!fits(graph, place, record)) {
        place = (place + (hash >> 20 | 1)) & (graph->table_size - 1);
    }
    return place;
}

static void fill_table(CadGraph *graph) {
    memset(graph->table, 0, graph->table_size * sizeof *graph->table);
    graph->n_known = 0;
    for (size_t i = 0; i < graph->n_records; i++) {
        if (graph->records[i].is_known) {
            graph->table[place_of(graph, &graph->records[i])] = (uint32_t)i;
            graph->n_known++;
        }
    }
}

/* Keep the table half empty. */
static int has_place(CadGraph *graph) {
    if (2 * graph->n_known < graph->table_size) {
        return 1;
    }
    const size_t size = 4 * graph->table_size;
    uint32_t *table = cad_memory_resize(NULL, size, sizeof *table);
    if (table == NULL) {
        return note_failure(graph, CAD_NO_MEMORY);
    }
    cad_memory_free(graph->table);
    graph->table = table;
    graph->table_size = size;
    fill_table(graph);
    return 1;
}

/* --- taking back --- */

CadGraphMark cad_graph_mark(const CadGraph *graph) {
    CadGraphMark mark = {.n_numbers = graph->n_numbers};
    CAD_GRAPH_LISTS(MARK)
    return mark;
}

/* Take records from the table in the reverse of the order in which they came into it: those that
   stay are found where they were. */
static void forget_from(CadGraph *graph, size_t first) {
    for (size_t i = graph->n_records; i-- > first;) {
        if (graph->records[i].is_known) {
            graph->table[place_of(graph, &graph->records[i])] = 0;
            graph->n_known--;
        }
    }
}

void cad_graph_rewind(CadGraph *graph, const CadGraphMark *mark) {
    forget_from(graph, mark->n_records);
    free_scans(graph, mark->n_scans);
    CAD_GRAPH_LISTS(REWIND)
    graph->n_numbers = mark->n_numbers;
    graph->latest = graph->runs[graph->n_runs - 1];
    graph->status = CAD_OK;
}

/* --- records --- */

/* Append a record with its numbers, which has to be begun by itself if it is an array. */
static inline CadId append(CadGraph *graph, const CadRecord *record) {
    const int is_array = cad_record_is_array(record);
    const uint32_t size = cad_record_size(record);
    const int begins = is_array || graph->latest.step == 0;
    if (size > CAD_MOST_SLOTS - graph->n_numbers || graph->n_records >= UINT32_MAX) {
        note_failure(graph, CAD_TAPE_FULL);
        return CAD_ZERO;
    }
    if (!ROOM(records, n_records, 1) || (begins && !ROOM(runs, n_runs, 1))) {
        return CAD_ZERO;
    }
    const CadId first = graph->n_numbers;
    if (begins) {
        graph->latest = (CadRun){first, (uint32_t)graph->n_records, !is_array};
        graph->runs[graph->n_runs++] = graph->latest;
    }
    CadRecord *const appended = &graph->records[graph->n_records++];
    *appended = *record;
    appended->is_partial = graph->makes_partials != 0;
    appended->is_known = 0;
    graph->n_numbers += size;
    return first;
}

/* The first number of the record that is there already, or is made now. */
static CadId find_or_make(CadGraph *graph, const CadRecord *record) {
    const int is_apart = graph->keeps_duplicates && record->kind != CAD_RECORD_CONSTANT;
    if (is_apart || !is_looked_up(record)) {
        return append(graph, record);
    }
    if (!has_place(graph)) {
        return CAD_ZERO;
    }
    const size_t place = place_of(graph, record), index = graph->n_records;
    if (graph->table[place] != 0) {
        return cad_graph_first(graph, graph->table[place]);
    }
    const CadId first = append(graph, record);
    if (graph->n_records > index) {
        graph->records[index].is_known = 1;
        graph->table[place] = (uint32_t)index;
        graph->n_known++;
    }
    return first;
}

CadId cad_graph_constant(CadGraph *graph, double value) {
    CadRecord record = {.kind = CAD_RECORD_CONSTANT};
    memcpy(record.of.bits + 1, &value, sizeof value);
    return find_or_make(graph, &record);
}

CadId cad_graph_single(CadGraph *graph, CadOp op, CadId x, CadId y, CadId z) {
    const int arity = cad_op_info[op].arity;
    const CadRecord record = {
        .kind = CAD_RECORD_SINGLE,
        .op = (uint16_t)op,
        .of.operands = {x, arity > 1 ? y : CAD_NO_ID, arity > 2 ? z : CAD_NO_ID}};
    return (graph->is_verbatim ? append : find_or_make)(graph, &record);
}

/* --- arrays --- */

/* Begin an array; what belongs to it is appended to words and lists before it is finished. */
static int has_array_room(CadGraph *graph, size_t size) {
    if (size > CAD_MOST_SLOTS - graph->n_numbers) {
        return note_failure(graph, CAD_TAPE_FULL);
    }
    return ROOM(arrays, n_arrays, 1);
}

/* If it is there already, what belongs to it is dropped. */
static CadId finish_array(CadGraph *graph, CadRecordKind kind, CadOp op, size_t size,
                          CadArray array) {
    const size_t n_records = graph->n_records;
    graph->arrays[graph->n_arrays] = array;
    const CadId first = find_or_make(
        graph,
        &(CadRecord){.kind = (uint8_t)kind,
                     .op = (uint16_t)op,
                     .of.array = {graph->n_numbers, (uint32_t)size, (uint32_t)graph->n_arrays}});
    if (graph->n_records > n_records) {
        graph->n_arrays++;
    } else if (kind == CAD_RECORD_PACK) {
        graph->n_lists = array.list;
    } else if (kind == CAD_RECORD_CONSTANTS) {
        graph->n_constants = array.list;
    } else {
        graph->n_words = array.plan;
    }
    return first;
}

CadId cad_graph_input(CadGraph *graph, size_t size, bool are_floats) {
    return has_array_room(graph, size) ? finish_array(graph, CAD_RECORD_INPUT, 0, size,
                                                      (CadArray){.number = (uint32_t)are_floats})
                                       : CAD_ZERO;
}

CadId cad_graph_constants(CadGraph *graph, const double *values, size_t size) {
    const CadArray array = {.list = graph->n_constants};
    if (!has_array_room(graph, size) || !ROOM(constants, n_constants, size)) {
        return CAD_ZERO;
    }
    memcpy(graph->constants + array.list, values, size * sizeof *values);
    graph->n_constants += size;
    return finish_array(graph, CAD_RECORD_CONSTANTS, 0, size, array);
}

CadId cad_graph_filled(CadGraph *graph, double value, size_t size) {
    if (size == 1) {
        return cad_graph_constant(graph, value);
    }
    double *const values = cad_memory_zeroed(size, sizeof *values);
    for (size_t k = 0; values != NULL && k < size; k++) {
        values[k] = value;
    }
    if (values == NULL) {
        graph->status = CAD_NO_MEMORY;
        return CAD_ZERO;
    }
    const CadId first = cad_graph_constants(graph, values, size);
    cad_memory_free(values);
    return first;
}

/* Constants in a row, as one array; CAD_NO_ID if they are not all constants. */
static CadId pack_constants(CadGraph *graph, const CadId *ids, size_t size) {
    double value;
    if (size == 0 || !cad_graph_is_constant(graph, ids[0], &value)) {
        return CAD_NO_ID;
    }
    double *const values = cad_memory_resize(NULL, size, sizeof *values);
    size_t k = 0;
    while (values != NULL && k < size && cad_graph_is_constant(graph, ids[k], &values[k])) {
        k++;
    }
    const CadId first = k == size ? cad_graph_constants(graph, values, size) : CAD_NO_ID;
    cad_memory_free(values);
    return first;
}

CadId cad_graph_pack(CadGraph *graph, const CadId *ids, size_t size) {
    const CadArray array = {.list = graph->n_lists};
    if (size == 1) {
        return ids[0];
    }
    const CadId constants = graph->optimize ? pack_constants(graph, ids, size) : CAD_NO_ID;
    if (constants != CAD_NO_ID) {
        return constants;
    }
    if (!has_array_room(graph, size) || !ROOM(lists, n_lists, size)) {
        return CAD_ZERO;
    }
    memcpy(graph->lists + array.list, ids, size * sizeof *ids);
    graph->n_lists += size;
    return finish_array(graph, CAD_RECORD_PACK, 0, size, array);
}

/* Append a plan, all of it but what is in `rest`; NULL if there is no room. */
static CadPlan *append_plan(CadGraph *graph, const CadMade *made, int n_extra) {
    const int ndim = made->ndim;
    const size_t words = (size_t)(CAD_PLAN_WORDS + ndim + made->n_views * (ndim + 1) + n_extra);
    if (!ROOM(words, n_words, words)) {
        return NULL;
    }
    CadPlan *plan = (CadPlan *)(graph->words + graph->n_words);
    *plan = (CadPlan){.words = (uint32_t)words,
                      .ndim = (uint16_t)ndim,
                      .n_views = (uint16_t)made->n_views,
                      .n_extra = (uint32_t)n_extra,
                      .size = 1,
                      .index = -1};
    for (int i = 0; i < ndim; i++) {
        cad_plan_shape(plan)[i] = made->shape[i];
        plan->size *= made->shape[i];
    }
    for (int k = 0; k < made->n_views; k++) {
        int64_t *view = cad_plan_view(plan, k);
        view[0] = made->views[k].first;
        memcpy(view + 1, made->views[k].strides, (size_t)ndim * sizeof *view);
    }
    graph->n_words += words;
    return plan;
}

CadId cad_graph_make(CadGraph *graph, const CadGraph *from, const CadMade *made) {
    const int by_index = made->kind == CAD_RECORD_TAKE || made->kind == CAD_RECORD_ADD_BY;
    const size_t n_listed = made->kind == CAD_RECORD_ADD_AT ? (size_t)made->shape[0] : 0;
    const CadArray array = {graph->n_words, graph->n_lists, made->former, made->number};
    CadPlan *plan = NULL;
    if (has_array_room(graph, made->size) && ROOM(lists, n_lists, n_listed)) {
        plan = append_plan(graph, made, by_index ? 2 : 0);
    }
    if (plan == NULL) {
        return CAD_ZERO;
    }
    if (by_index) {
        cad_plan_extra(plan)[0] = made->length;
        cad_plan_extra(plan)[1] = made->stride;
    }
    if (n_listed > 0) {
        const CadId *places = made->places != NULL ? made->places : from->lists + made->list;
        memcpy(graph->lists + array.list, places, n_listed * sizeof *places);
        graph->n_lists += n_listed;
    }
    return finish_array(graph, made->kind, made->op, made->size, array);
}

CadId cad_graph_call(CadGraph *graph, uint32_t number, CadId operands, size_t count, size_t size) {
    const int64_t shape[1] = {(int64_t)count}, step[1] = {count > 1};
    return cad_graph_make(graph, graph,
                          &(CadMade){.kind = CAD_RECORD_CALL,
                                     .number = number,
                                     .size = size,
                                     .ndim = 1,
                                     .shape = shape,
                                     .n_views = 1,
                                     .views = {{operands, step}}});
}

int cad_graph_has_calls(const CadGraph *graph) {
    int has_call = 0;
    for (size_t i = 0; i < graph->n_records && !has_call; i++) {
        has_call = graph->records[i].kind == CAD_RECORD_CALL;
    }
    for (size_t k = 0; k < graph->n_scans && !has_call; k++) {
        has_call = cad_graph_has_calls(graph->scans[k].body);
    }
    return has_call;
}

CadId cad_graph_append_scan(CadGraph *graph, const CadScan *scan, const CadId *operands) {
    const size_t count = cad_scan_n_operands(scan);
    const CadArray array = {.list = graph->n_lists, .number = (uint32_t)graph->n_scans};
    if (!has_array_room(graph, cad_scan_size(scan) + 1) || !ROOM(lists, n_lists, count) ||
        !ROOM(scans, n_scans, 1)) {
        return CAD_NO_ID;
    }
    memcpy(graph->lists + array.list, operands, count * sizeof *operands);
    graph->n_lists += count;
    const CadId scan_id = finish_array(graph, CAD_RECORD_SCAN, 0, 1, array);
    for (size_t k = 0; k < cad_scan_n_ends(scan) && graph->status == CAD_OK; k++) {
        const size_t length = cad_scan_length_of_end(scan, k);
        if (has_array_room(graph, length)) {
            finish_array(graph, CAD_RECORD_END, 0, length,
                         (CadArray){.list = scan_id, .number = (uint32_t)k});
        }
    }
    if (graph->status != CAD_OK) {
        return CAD_NO_ID;
    }
    graph->scans[graph->n_scans++] = *scan;
    return scan_id + 1;
}

CadStatus cad_graph_guard(CadGraph *graph, CadId id, double outcome) {
    if (ROOM(guards, n_guards, 1)) {
        graph->guards[graph->n_guards] = (CadOutcome){id, (uint32_t)graph->n_guards, outcome};
        graph->n_guards++;
    }
    return graph->status;
}

/* --- asking --- */

static int begins_behind(const CadRun *run, CadId id, size_t record) {
    return run->id > id || run->record > record;
}

/* The last run that begins neither behind an id nor behind a record. */
static size_t find_run(CadGraph *graph, CadId id, size_t record) {
    const CadRun *const runs = graph->runs;
    size_t low = graph->recent, high = graph->n_runs;
    if (low >= high || begins_behind(&runs[low], id, record)) {
        low = 0;
    } else if (low + 1 == high || begins_behind(&runs[low + 1], id, record)) {
        return low;
    }
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (begins_behind(&runs[middle], id, record)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return graph->recent = low;
}

CadRun cad_graph_run_of(CadGraph *graph, CadId id) {
    return graph->runs[find_run(graph, id, UINT32_MAX)];
}

CadId cad_graph_first(CadGraph *graph, size_t record) {
    if (cad_record_is_array(&graph->records[record])) {
        return graph->records[record].of.array.first;
    }
    const CadRun run = record >= graph->latest.record
                           ? graph->latest
                           : graph->runs[find_run(graph, UINT32_MAX, record)];
    return run.id + (CadId)(record - run.record);
}

/* Once asking has failed, any call may raise, as where nothing is known. */
CadAbout cad_graph_about(CadGraph *graph, const CadRecord *call) {
    const CadCalls *const calls = graph->calls;
    CadAbout about = {.may_raise = true};
    if (calls != NULL && calls->about != NULL && graph->status == CAD_OK) {
        graph->status = calls->about(graph->owner, cad_graph_array(graph, call)->number, &about);
    }
    return about;
}

void cad_graph_operands_of_array(const CadGraph *graph, size_t record, CadOperands *operands) {
    const CadRecord array = graph->records[record];
    operands->ids = operands->few;
    operands->n = 0;
    if (array.kind == CAD_RECORD_PACK) {
        operands->ids = cad_graph_packed(graph, &array);
        operands->n = array.of.array.size;
    } else if (array.kind == CAD_RECORD_SCAN) {
        operands->ids = graph->lists + cad_graph_array(graph, &array)->list;
        operands->n = cad_scan_n_operands(cad_graph_scan(graph, &array));
    } else if (array.kind == CAD_RECORD_END) {
        operands->few[operands->n++] = (CadId)cad_graph_array(graph, &array)->list;
    } else if (cad_record_has_plan(&array)) {
        CadPlan *plan = cad_graph_plan(graph, &array);
        const CadId former = cad_graph_array(graph, &array)->former;
        for (int k = plan->n_views > 1 ? 1 : 0; k < plan->n_views; k++) {
            operands->few[operands->n++] = (CadId)cad_plan_view(plan, k)[0];
        }
        operands->few[operands->n] = former;
        operands->n += former != CAD_NO_ID;
    }
}

bool cad_graph_is_constant(CadGraph *graph, CadId id, double *value) {
    const CadRecord *record = cad_graph_record(graph, id);
    if (record->kind == CAD_RECORD_CONSTANT) {
        *value = cad_record_value(record);
    } else if (record->kind == CAD_RECORD_CONSTANTS) {
        const CadArray *array = cad_graph_array(graph, record);
        *value = graph->constants[array->list + (id - record->of.array.first)];
    }
    return record->kind == CAD_RECORD_CONSTANT || record->kind == CAD_RECORD_CONSTANTS;
}

size_t cad_graph_stretch(CadGraph *graph, const CadId *ids, size_t count) {
    const CadRecord *const record = cad_graph_record(graph, ids[0]);
    const size_t behind = cad_record_is_array(record)
                              ? record->of.array.size - (ids[0] - record->of.array.first)
                              : 1;
    const size_t most = behind < count ? behind : count;
    size_t n = 1;
    while (n < most && ids[n] == ids[0] + n) {
        n++;
    }
    return n;
}

int cad_graph_are_in_row(CadGraph *graph, const CadId *ids, size_t size) {
    return cad_record_is_array(cad_graph_record(graph, ids[0])) &&
           cad_graph_stretch(graph, ids, size) == size;
}

CadId *cad_graph_room(CadGraph *graph, CadRoom *room, size_t count) {
    if (count > room->capacity) {
        CadId *grown = cad_memory_resize(room->ids, count, sizeof *grown);
        if (grown == NULL) {
            graph->status = CAD_NO_MEMORY;
            return NULL;
        }
        room->ids = grown;
        room->capacity = count;
    }
    return room->ids;
}

size_t cad_strides_in_order(int ndim, const int64_t *shape, int64_t *strides) {
    int64_t size = 1;
    for (int i = ndim; i-- > 0;) {
        strides[i] = size;
        size *= shape[i];
    }
    return (size_t)size;
}

/* --- taken apart --- */

void cad_graph_look(CadGraph *graph, size_t index, CadAxes axes, CadMade *made) {
    const CadRecord record = graph->records[index];
    made->kind = (CadRecordKind)record.kind;
    made->op = (CadOp)record.op;
    made->first = cad_graph_first(graph, index);
    made->size = cad_record_size(&record);
    made->former = CAD_NO_ID;
    made->places = NULL;
    made->ndim = 0;
    made->n_views = 0;
    made->shape = axes[4];
    if (record.kind == CAD_RECORD_SINGLE) {
        made->n_views = 1 + cad_op_info[record.op].arity;
        for (int k = 0; k < made->n_views; k++) {
            made->views[k] = (CadNumbers){k > 0 ? record.of.operands[k - 1] : 0, axes[k]};
        }
    }
    if (!cad_record_is_array(&record)) {
        return;
    }
    const CadArray *array = cad_graph_array(graph, &record);
    made->former = array->former;
    made->number = array->number;
    made->list = array->list;
    if (!cad_record_has_plan(&record)) {
        return;
    }
    CadPlan *plan = cad_graph_plan(graph, &record);
    made->ndim = plan->ndim;
    made->n_views = plan->n_views;
    made->length = plan->n_extra > 0 ? cad_plan_extra(plan)[0] : 0;
    made->stride = plan->n_extra > 0 ? cad_plan_extra(plan)[1] : 0;
    memcpy(axes[4], cad_plan_shape(plan), plan->ndim * sizeof *axes[4]);
    for (int k = 0; k < plan->n_views; k++) {
        memcpy(axes[k], cad_plan_view(plan, k) + 1, plan->ndim * sizeof *axes[k]);
        made->views[k] = (CadNumbers){(CadId)cad_plan_view(plan, k)[0], axes[k]};
    }
}
