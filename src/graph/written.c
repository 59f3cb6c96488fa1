/* A graph as it is written down, and made again from what was read. Whatever was read may be
 * wrong: each number is looked at before it is made, and has to be one that was not made yet.
 * So what comes out is a graph as any other, or none. */
#include "graph/inner.h"

/* --- writing --- */

/* What stands behind the operation of a record. */
static void write_operands(const CadGraph *graph, const CadRecord *record, uint32_t to[3]) {
    memcpy(to, record->of.bits, sizeof record->of.bits);
    if (record->kind == CAD_RECORD_CONSTANT) {
        const double value = cad_record_value(record);
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        to[1] = (uint32_t)bits;
        to[2] = (uint32_t)(bits >> 32);
    } else if (cad_record_is_array(record)) {
        const CadArray *array = cad_graph_array(graph, record);
        to[0] = record->of.array.size;
        to[1] = cad_record_has_plan(record) ? cad_graph_plan(graph, record)->ndim : 0;
        const int is_numbered =
            record->kind == CAD_RECORD_CALL || record->kind == CAD_RECORD_INPUT;
        to[2] = is_numbered ? array->number : array->former;
    }
}

/* Of a recurrence how many records of its body follow, without the ends of loops within, and how
 * many numbers are carried and given. */
static void write_scan(const CadScan *scan, uint32_t to[3]) {
    to[0] = (uint32_t)scan->body->n_records - 1;
    for (size_t k = 0; k < scan->body->n_scans; k++) {
        to[0] -= (uint32_t)cad_scan_n_ends(&scan->body->scans[k]);
    }
    to[1] = (uint32_t)scan->n_carried;
    to[2] = (uint32_t)scan->n_given;
}

/* Copy as many items as there is room for behind the others, or none; they are counted. */
static void add_items(void *items, size_t size, size_t *n, const void *more, size_t count) {
    if (items != NULL) {
        memcpy((char *)items + *n * size, more, count * size);
    }
    *n += count;
}

static void add_scan(const CadGraph *graph, const CadRecord *record, CadGraphParts *parts);

/* Some of the first records behind none, one row for each, and of bodies those that they have. */
static void add_records(const CadGraph *graph, size_t n, CadGraphParts *parts) {
    for (size_t i = 1; i <= n; i++) {
        const CadRecord *const record = &graph->records[i];
        if (record->kind == CAD_RECORD_END) { /* its SCAN has it */
            continue;
        }
        const uint32_t size = cad_record_size(record);
        uint32_t row[4] = {(uint32_t)record->kind << 16 | record->op};
        if (record->kind == CAD_RECORD_SCAN) {
            write_scan(cad_graph_scan(graph, record), row + 1);
        } else {
            write_operands(graph, record, row + 1);
        }
        add_items(parts->records, sizeof row, &parts->n_rows, row, 1);
        if (record->kind == CAD_RECORD_SCAN) {
            add_scan(graph, record, parts);
        } else if (cad_record_has_plan(record)) {
            const CadPlan *plan = cad_graph_plan(graph, record);
            add_items(parts->words, sizeof *parts->words, &parts->n_words, plan->rest,
                      plan->words - CAD_PLAN_WORDS);
        } else if (record->kind == CAD_RECORD_PACK) {
            add_items(parts->lists, sizeof *parts->lists, &parts->n_lists,
                      cad_graph_packed(graph, record), size);
        } else if (record->kind == CAD_RECORD_CONSTANTS) {
            add_items(parts->constants, sizeof *parts->constants, &parts->n_constants,
                      graph->constants + cad_graph_array(graph, record)->list, size);
        }
    }
}

static void add_scan(const CadGraph *graph, const CadRecord *record, CadGraphParts *parts) {
    const CadScan *const scan = cad_graph_scan(graph, record);
    const int64_t counts[3] = {(int64_t)scan->n, (int64_t)scan->n_kept, (int64_t)scan->n_summed};
    const size_t size = sizeof *parts->lists, n_ends = cad_scan_n_ends(scan);
    add_items(parts->words, sizeof *counts, &parts->n_words, counts, 3);
    add_items(parts->words, sizeof *scan->steps, &parts->n_words, scan->steps, scan->n_given);
    for (size_t k = 0; k < scan->n_given + n_ends; k++) {
        const int64_t block = scan->sizes[k];
        add_items(parts->words, sizeof block, &parts->n_words, &block, 1);
    }
    add_items(parts->lists, size, &parts->n_lists,
              graph->lists + cad_graph_array(graph, record)->list, cad_scan_n_operands(scan));
    add_items(parts->lists, size, &parts->n_lists, scan->ends, n_ends);
    add_records(scan->body, scan->body->n_records - 1, parts);
}

void cad_graph_write(const CadGraph *graph, CadGraphParts *parts) {
    parts->n_rows = parts->n_words = parts->n_lists = parts->n_constants = 0;
    add_records(graph, parts->n_records, parts);
}

/* --- reading --- */

typedef struct Restorer {
    CadGraph *graph;
    const CadGraphParts *parts;
    size_t row, word, list, constant; /* that are read next */
    int depth;                        /* of bodies */
} Restorer;

enum { DEEPEST = 64 };

static int is_operation(uint32_t op) {
    return op < CAD_OP_COUNT && cad_op_is_row((CadOp)op);
}

/* Of arrays there are, beside operations, kinds of entries that compute fresh numbers from views.
 */
static int is_over_views(uint32_t op) {
    return op < CAD_OP_COUNT && cad_entry_kinds[op].n_views > 1 && !cad_entry_kinds[op].indexed &&
           cad_entry_kinds[op].former != CAD_FORMER_KEPT;
}

bool cad_graph_has(CadGraph *graph, CadId id) {
    return id != CAD_NO_ID && id < graph->n_numbers &&
           cad_graph_record(graph, id)->kind != CAD_RECORD_SCAN;
}

static CadId restore_constant(Restorer *r, const uint32_t *row) {
    const uint64_t bits = (uint64_t)row[2] << 32 | row[1];
    double value;
    memcpy(&value, &bits, sizeof value);
    return row[0] == 0 ? cad_graph_constant(r->graph, value) : CAD_NO_ID;
}

static CadId restore_single(Restorer *r, uint32_t op, const uint32_t *x) {
    int sound = is_operation(op);
    for (int k = 0; k < 3 && sound; k++) {
        sound = k < cad_op_info[op].arity ? cad_graph_has(r->graph, x[k]) : x[k] == CAD_NO_ID;
    }
    return sound ? cad_graph_single(r->graph, (CadOp)op, x[0], x[1], x[2]) : CAD_NO_ID;
}

/* Take a shape and views as they were read; 0 if there are not as many, or they are no such. */
static int take_views(Restorer *r, int n_views, uint32_t ndim, CadMade *made, size_t *count) {
    const size_t left = r->parts->n_words - r->word;
    const size_t n_words = ndim + (size_t)n_views * ((size_t)ndim + 1);
    if (ndim > CAD_MOST_AXES || n_words > left) {
        return 0;
    }
    const int64_t *words = r->parts->words + r->word;
    made->ndim = (int)ndim;
    made->n_views = n_views;
    made->shape = words;
    *count = 1;
    for (uint32_t i = 0; i < ndim; i++) {
        const int64_t length = words[i];
        if (length < 1 || length > INT32_MAX ||
            *count > (size_t)(PTRDIFF_MAX / 2) / (size_t)length) {
            return 0;
        }
        *count *= (size_t)length;
    }
    words += ndim;
    for (int k = 0; k < n_views; k++, words += ndim + 1) {
        if (words[0] < 0 || words[0] > UINT32_MAX) {
            return 0;
        }
        made->views[k] = (CadNumbers){(CadId)words[0], words + 1};
        for (uint32_t i = 1; i <= ndim; i++) {
            if (words[i] < -INT32_MAX || words[i] > INT32_MAX) {
                return 0;
            }
        }
    }
    r->word += n_words;
    return 1;
}

/* Whether a result is an array in order, if with its axes exchanged, so that each element is
 * written to. Strides may be zero along axes that are summed over: all, one or none. */
static int is_result(const CadMade *made, int first_summed, int end_summed) {
    const int64_t *strides = made->views[0].strides;
    size_t covered = 1;
    int left = 0;
    for (int i = 0; i < made->ndim; i++) {
        const int summed = i >= first_summed && i < end_summed && strides[i] == 0;
        left += made->shape[i] > 1 && !summed;
    }
    for (int found = 1; left > 0 && found; left -= found) {
        found = 0;
        for (int i = 0; i < made->ndim && !found; i++) {
            if (made->shape[i] > 1 && strides[i] == (int64_t)covered) {
                covered *= (size_t)made->shape[i];
                found = 1;
            }
        }
    }
    return left == 0 && covered == made->size && made->views[0].first == 0;
}

/* Whether all that a view sees lies from `begin` up to `end`. */
static int is_within(const CadMade *made, CadNumbers view, int64_t begin, int64_t end) {
    int64_t low = view.first, high = view.first;
    if (low < begin || high >= end) {
        return 0;
    }
    for (int i = 0; i < made->ndim; i++) {
        const int64_t reach = (made->shape[i] - 1) * view.strides[i];
        *(reach < 0 ? &low : &high) += reach;
        if (low < begin || high >= end) {
            return 0;
        }
    }
    return 1;
}

/* Whether all that a view sees is of one record. */
static int is_inside(CadGraph *graph, const CadMade *made, CadNumbers view) {
    if (!cad_graph_has(graph, view.first)) {
        return 0;
    }
    const uint32_t i = cad_graph_record_of(graph, view.first);
    const int64_t first = cad_graph_first(graph, i);
    return is_within(made, view, first, first + cad_record_size(&graph->records[i]));
}

static int is_sound_map(CadGraph *graph, const CadMade *made) {
    const int m = made->ndim - 3, n = made->ndim - 2, q = made->ndim - 1;
    const int is_product = cad_op_multiplies(made->op);
    int sound = !cad_op_sums_up(made->op) ? is_result(made, 0, 0)
                : is_product              ? is_result(made, n, n + 1)
                                          : is_result(made, 0, made->ndim);
    for (int k = 1; k < made->n_views && sound; k++) {
        sound = is_inside(graph, made, made->views[k]);
    }
    return sound &&
           (!is_product || (made->views[1].strides[q] == 0 && made->views[2].strides[m] == 0));
}

/* Whatever the indices are, what they name has to be there. */
static int is_sound_by_index(CadGraph *graph, const CadMade *made) {
    const int takes = made->kind == CAD_RECORD_TAKE, ndim = made->ndim;
    int64_t shape[CAD_MOST_AXES], strides[CAD_MOST_AXES];
    if (ndim == CAD_MOST_AXES || made->length < 1 || made->length > INT32_MAX ||
        made->stride < -INT32_MAX || made->stride > INT32_MAX) {
        return 0;
    }
    memcpy(shape, made->shape, (size_t)ndim * sizeof *shape);
    memcpy(strides, made->views[takes].strides, (size_t)ndim * sizeof *strides);
    shape[ndim] = made->length;
    strides[ndim] = made->stride;
    const CadMade whole = {.ndim = ndim + 1, .shape = shape};
    const CadNumbers indexed = {made->views[takes].first, strides};
    return is_inside(graph, made, made->views[2]) &&
           (takes ? is_result(made, 0, 0) && is_inside(graph, &whole, indexed)
                  : is_inside(graph, made, made->views[1]) &&
                        is_within(&whole, indexed, 0, (int64_t)made->size));
}

/* As much of a part as an array has; NULL if there is not as much. */
static const void *take(const void *items, size_t item, size_t n_items, size_t *next,
                        size_t count) {
    if (count > n_items - *next) {
        return NULL;
    }
    *next += count;
    return (const char *)items + (*next - count) * item;
}

static CadId restore_pack(Restorer *r, uint32_t size) {
    const CadId *ids = take(r->parts->lists, sizeof *ids, r->parts->n_lists, &r->list, size);
    int sound = ids != NULL && size > 1;
    for (uint32_t k = 0; k < size && sound; k++) {
        sound = cad_graph_has(r->graph, ids[k]);
    }
    return sound ? cad_graph_pack(r->graph, ids, size) : CAD_NO_ID;
}

/* An array that sees others. Whether there is such a call is for its owner to say; adding to an
 * array that is there is left to derivatives. */
static CadId restore_views(Restorer *r, CadMade *made, uint32_t ndim) {
    CadGraph *const graph = r->graph;
    const int is_map = made->kind == CAD_RECORD_MAP, is_call = made->kind == CAD_RECORD_CALL;
    size_t count;
    if ((is_map && (!is_over_views(made->op) || ndim < cad_entry_kinds[made->op].core)) ||
        (is_call && ndim != 1) ||
        !take_views(r,
                    is_map    ? (int)cad_entry_kinds[made->op].n_views
                    : is_call ? 1
                              : 3,
                    ndim, made, &count)) {
        return CAD_NO_ID;
    }
    if (!is_map && !is_call) {
        const int64_t *extra =
            take(r->parts->words, sizeof *extra, r->parts->n_words, &r->word, 2);
        made->length = extra != NULL ? extra[0] : 0;
        made->stride = extra != NULL ? extra[1] : 0;
    }
    const int sound = is_map    ? is_sound_map(graph, made)
                      : is_call ? made->views[0].strides[0] == (count > 1) &&
                                      is_inside(graph, made, made->views[0])
                                : is_sound_by_index(graph, made);
    return sound ? cad_graph_make(graph, graph, made) : CAD_NO_ID;
}

static CadId restore_array(Restorer *r, CadRecordKind kind, uint32_t op, const uint32_t *row) {
    const uint32_t size = row[0], ndim = row[1];
    const double *values;
    CadMade made = {.kind = kind, .op = (CadOp)op, .size = size, .number = row[2]};
    const uint32_t most = kind == CAD_RECORD_CALL ? UINT32_MAX : kind == CAD_RECORD_INPUT;
    if (row[2] > most || (op != 0 && kind != CAD_RECORD_MAP) ||
        (ndim != 0 && kind < CAD_RECORD_MAP) || (size == 0 && kind != CAD_RECORD_INPUT) ||
        size > CAD_MOST_SLOTS - r->graph->n_numbers) {
        return CAD_NO_ID;
    }
    switch (kind) {
    case CAD_RECORD_INPUT:
        return cad_graph_input(r->graph, size, row[2] != 0);
    case CAD_RECORD_CONSTANTS:
        values =
            take(r->parts->constants, sizeof *values, r->parts->n_constants, &r->constant, size);
        return values != NULL ? cad_graph_constants(r->graph, values, size) : CAD_NO_ID;
    case CAD_RECORD_PACK:
        return restore_pack(r, size);
    case CAD_RECORD_MAP:
    case CAD_RECORD_ADD_BY:
    case CAD_RECORD_TAKE:
    case CAD_RECORD_CALL:
        return restore_views(r, &made, ndim);
    default:
        return CAD_NO_ID;
    }
}

static int restore_record(Restorer *r, int is_first);

static int may_be_in_body(uint32_t kind) {
    return kind == CAD_RECORD_SINGLE || kind == CAD_RECORD_CONSTANT ||
           kind == CAD_RECORD_CONSTANTS || kind == CAD_RECORD_PACK || kind == CAD_RECORD_MAP ||
           kind == CAD_RECORD_CALL || kind == CAD_RECORD_SCAN;
}

/* A body has the inputs of cad_scan_body_of; all else are operations, calls, constants, and loops
 * within. */
static CadGraph *restore_body(Restorer *r, size_t n_rows, const CadScan *scan) {
    CadGraph *const graph = r->graph, *const body = cad_graph_new(1);
    const size_t n_operands = cad_scan_n_operands(scan);
    const int are_single = cad_scan_n_inputs(scan) == n_operands;
    const size_t n_arrays = are_single ? 1 : n_operands;
    int sound = body != NULL && n_operands > 0 && n_rows > n_arrays && r->depth < DEEPEST;
    if (body != NULL) {
        body->keeps_doubles = 1;
    }
    r->graph = body;
    r->depth++;
    for (size_t k = 0; k < n_rows && sound; k++) {
        const uint32_t kind = r->row < r->parts->n_rows ? r->parts->records[4 * r->row] >> 16 : 0;
        const int is_input = k >= 1 && k <= n_arrays;
        sound = is_input ? kind == CAD_RECORD_INPUT : may_be_in_body(kind);
        sound = sound && restore_record(r, k == 0) &&
                (!is_input || cad_record_size(&body->records[k + 1]) ==
                                  (are_single ? n_operands : scan->sizes[k - 1]));
    }
    r->depth--;
    r->graph = graph;
    if (body == NULL || body->status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    }
    if (!sound || body->status != CAD_OK) {
        cad_graph_free(body);
        return NULL;
    }
    return body;
}

/* Whether all that is given is there, in one record if it differs from turn to turn. */
static int is_sound_scan(CadGraph *graph, const CadScan *scan, const CadId *operands) {
    for (size_t k = 0; k < cad_scan_n_operands(scan); k++) {
        const int64_t step = k < scan->n_carried ? 0 : scan->steps[k - scan->n_carried];
        const int64_t shape[2] = {(int64_t)scan->n, scan->sizes[k]}, strides[2] = {step, 1};
        const CadMade made = {.ndim = 2, .shape = shape};
        if (step < -INT32_MAX || step > INT32_MAX ||
            !is_inside(graph, &made, (CadNumbers){operands[k], strides})) {
            return 0;
        }
    }
    for (size_t k = 0; k < cad_scan_n_ends(scan); k++) {
        const int64_t size = cad_scan_size_of_end(scan, k), one = 1;
        const CadMade made = {.ndim = 1, .shape = &size};
        if (!is_inside(scan->body, &made, (CadNumbers){scan->ends[k], &one})) {
            return 0;
        }
    }
    return 1;
}

/* The sizes of blocks; NULL if they are none, or there would be too many numbers. */
static uint32_t *restore_sizes(CadGraph *graph, const CadScan *scan, const int64_t *words) {
    const size_t n = scan->n_given + cad_scan_n_ends(scan);
    const size_t most = CAD_MOST_SLOTS - graph->n_numbers;
    size_t n_inputs = 0, size = 0;
    int sound = 1;
    CadScan sized = *scan;
    sized.sizes = cad_memory_zeroed(n, sizeof *sized.sizes);
    if (sized.sizes == NULL) {
        graph->status = CAD_NO_MEMORY;
        return NULL;
    }
    for (size_t k = 0; k < n && sound; k++) {
        sized.sizes[k] = words[k] >= 1 && words[k] <= INT32_MAX ? (uint32_t)words[k] : 0;
        n_inputs += k < cad_scan_n_operands(scan) ? sized.sizes[k] : 0;
        sound = sized.sizes[k] > 0 && n_inputs <= most;
    }
    for (size_t k = 0; k < cad_scan_n_ends(scan) && sound; k++) {
        const size_t length = cad_scan_length_of_end(&sized, k);
        sound = length <= most - size;
        size += length;
    }
    if (!sound) {
        cad_memory_free(sized.sizes);
        return NULL;
    }
    return sized.sizes;
}

static CadId restore_scan(Restorer *r, const uint32_t *row) {
    const CadGraphParts *const parts = r->parts;
    CadScan scan = {.n_carried = row[1], .n_given = row[2]};
    const int64_t *const counts = take(parts->words, sizeof *counts, parts->n_words, &r->word, 3);
    const int64_t *const steps =
        take(parts->words, sizeof *steps, parts->n_words, &r->word, scan.n_given);
    const CadId *const operands = take(parts->lists, sizeof *operands, parts->n_lists, &r->list,
                                       scan.n_carried + scan.n_given);
    if (counts == NULL || steps == NULL || operands == NULL || counts[0] < 1 || counts[1] < 0 ||
        counts[2] < 0 || counts[0] > INT32_MAX || counts[1] > INT32_MAX || counts[2] > INT32_MAX) {
        return CAD_NO_ID;
    }
    scan.n = (size_t)counts[0];
    scan.n_kept = (size_t)counts[1];
    scan.n_summed = (size_t)counts[2];
    const size_t n_ends = cad_scan_n_ends(&scan);
    const int64_t *const sizes =
        take(parts->words, sizeof *sizes, parts->n_words, &r->word, scan.n_given + n_ends);
    const CadId *const ends = take(parts->lists, sizeof *ends, parts->n_lists, &r->list, n_ends);
    if (sizes == NULL || ends == NULL || n_ends == 0) {
        return CAD_NO_ID;
    }
    scan.sizes = restore_sizes(r->graph, &scan, sizes);
    if (scan.sizes == NULL) {
        return CAD_NO_ID;
    }
    scan.body = restore_body(r, row[0], &scan);
    scan.ends = cad_memory_copied(ends, n_ends, sizeof *ends);
    scan.steps = cad_memory_copied(steps, scan.n_given, sizeof *steps);
    int sound = scan.body != NULL;
    if (sound && (scan.ends == NULL || scan.steps == NULL)) {
        r->graph->status = CAD_NO_MEMORY;
        sound = 0;
    }
    const CadId first = sound && is_sound_scan(r->graph, &scan, operands)
                            ? cad_graph_append_scan(r->graph, &scan, operands)
                            : CAD_NO_ID;
    if (first != CAD_NO_ID) {
        return first - 1;
    }
    cad_scan_free(&scan);
    return CAD_NO_ID;
}

/* Whether the next row is a record, and one that was not there before; the first one is the
 * constant 0, which is. */
static int restore_record(Restorer *r, int is_first) {
    CadGraph *const graph = r->graph;
    const uint32_t *const row = r->parts->records + 4 * r->row++;
    const CadRecordKind kind = (CadRecordKind)(row[0] >> 16);
    const uint32_t op = row[0] & 0xffff;
    const size_t index = graph->n_records;
    const CadId expected = is_first ? CAD_ZERO : graph->n_numbers;
    const CadId restored = kind == CAD_RECORD_CONSTANT && op == 0 ? restore_constant(r, row + 1)
                           : kind == CAD_RECORD_SINGLE            ? restore_single(r, op, row + 1)
                           : kind == CAD_RECORD_SCAN && op == 0
                               ? restore_scan(r, row + 1)
                               : restore_array(r, kind, op, row + 1);
    const size_t n_ends = kind == CAD_RECORD_SCAN && restored != CAD_NO_ID
                              ? cad_scan_n_ends(&graph->scans[graph->n_scans - 1])
                              : 0;
    return restored == expected && graph->n_records == index + n_ends + (size_t)!is_first;
}

/* The inputs come first, but for a constant, before anything that is computed. */
static int are_inputs_first(const CadGraph *graph, size_t n_inputs) {
    int sound = n_inputs + 2 <= graph->n_records;
    for (size_t i = 0; i < graph->n_records && sound; i++) {
        sound = (graph->records[i].kind == CAD_RECORD_INPUT) == (i >= 2 && i - 2 < n_inputs);
    }
    return sound;
}

CadStatus cad_graph_restore(CadGraph *graph, const CadGraphParts *parts, size_t n_inputs) {
    Restorer restorer = {.graph = graph, .parts = parts};
    Restorer *r = &restorer;
    int sound = parts->n_rows > 0;
    graph->keeps_duplicates = !graph->optimize;
    while (r->row < parts->n_rows && sound) {
        sound = restore_record(r, r->row == 0);
    }
    graph->keeps_duplicates = 0;
    if (graph->status != CAD_OK) {
        return graph->status;
    }
    sound = sound && r->word == parts->n_words && r->list == parts->n_lists &&
            r->constant == parts->n_constants && are_inputs_first(graph, n_inputs);
    return sound ? CAD_OK : CAD_RAISED;
}
