/* A graph as it is written down, and made again from what was read. Whatever was read may be
 * wrong: each number is looked at before it is made, and has to be one that was not made yet.
 * So what comes out is a graph as any other, or none. */
#include "graph/inner.h"

/* --- writing --- */

static size_t words_of(const CadGraph *graph, const CadRecord *record) {
    return cad_record_has_plan(record) ? cad_graph_plan(graph, record)->words - CAD_PLAN_WORDS : 0;
}

static size_t listed(const CadRecord *record) {
    return record->kind == CAD_RECORD_PACK ? record->of.array.size : 0;
}

static size_t constants_of(const CadRecord *record) {
    return record->kind == CAD_RECORD_CONSTANTS ? record->of.array.size : 0;
}

void cad_graph_measure(const CadGraph *graph, CadGraphParts *parts) {
    parts->n_words = parts->n_lists = parts->n_constants = 0;
    for (size_t i = 1; i <= parts->n_records; i++) {
        const CadRecord *record = &graph->records[i];
        parts->n_words += words_of(graph, record);
        parts->n_lists += listed(record);
        parts->n_constants += constants_of(record);
    }
}

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
        to[2] = record->kind == CAD_RECORD_CALL ? array->number : array->former;
    }
}

void cad_graph_write(const CadGraph *graph, CadGraphParts *parts) {
    uint32_t *to = parts->records, *list = parts->lists;
    int64_t *word = parts->words;
    double *constant = parts->constants;
    for (size_t i = 1; i <= parts->n_records; i++, to += 4) {
        const CadRecord *record = &graph->records[i];
        to[0] = (uint32_t)record->kind << 16 | record->op;
        write_operands(graph, record, to + 1);
        if (cad_record_has_plan(record)) {
            memcpy(word, cad_graph_plan(graph, record)->rest,
                   words_of(graph, record) * sizeof *word);
            word += words_of(graph, record);
        } else if (record->kind == CAD_RECORD_PACK) {
            memcpy(list, cad_graph_packed(graph, record), listed(record) * sizeof *list);
            list += listed(record);
        } else if (record->kind == CAD_RECORD_CONSTANTS) {
            memcpy(constant, graph->constants + cad_graph_array(graph, record)->list,
                   constants_of(record) * sizeof *constant);
            constant += constants_of(record);
        }
    }
}

/* --- reading --- */

typedef struct Restorer {
    CadGraph *graph;
    const CadGraphParts *parts;
    size_t word, list, constant; /* that are read next */
} Restorer;

static int is_operation(uint32_t op) {
    return op < CAD_OP_COUNT && cad_op_is_row((CadOp)op);
}

/* Of arrays there are, beside operations, kinds of entries that compute fresh numbers from views.
 */
static int is_over_views(uint32_t op) {
    return op < CAD_OP_COUNT && cad_entry_kinds[op].n_views > 1 && !cad_entry_kinds[op].indexed &&
           cad_entry_kinds[op].former != CAD_FORMER_KEPT;
}

int cad_graph_has(const CadGraph *graph, CadId id) {
    return id != CAD_NO_ID && id < graph->n_numbers;
}

static CadId restore_constant(Restorer *r, const uint32_t *given) {
    const uint64_t bits = (uint64_t)given[2] << 32 | given[1];
    double value;
    memcpy(&value, &bits, sizeof value);
    return given[0] == 0 ? cad_graph_constant(r->graph, value) : CAD_NO_ID;
}

static CadId restore_single(Restorer *r, uint32_t op, const uint32_t *x) {
    int sound = is_operation(op);
    for (int k = 0; k < 3 && sound; k++) {
        sound = k < cad_op_info[op].arity ? cad_graph_has(r->graph, x[k]) : x[k] == CAD_NO_ID;
    }
    return sound ? cad_graph_single(r->graph, (CadOp)op, x[0], x[1], x[2]) : CAD_NO_ID;
}

/* A plan as it was read: a shape and views. */
typedef struct Frame {
    int ndim;
    int n_views;
    const int64_t *shape;
    CadNumbers views[4];
    size_t size;
} Frame;

static int read_frame(Restorer *r, size_t n_views, uint32_t ndim, Frame *frame) {
    const size_t left = r->parts->n_words - r->word;
    if (ndim > CAD_MOST_AXES || ndim + n_views * (ndim + 1) > left) {
        return 0;
    }
    const int64_t *words = r->parts->words + r->word;
    *frame = (Frame){.ndim = (int)ndim, .n_views = (int)n_views, .shape = words, .size = 1};
    for (uint32_t i = 0; i < ndim; i++) {
        const int64_t length = words[i];
        if (length < 1 || length > INT32_MAX ||
            frame->size > (size_t)(PTRDIFF_MAX / 2) / (size_t)length) {
            return 0;
        }
        frame->size *= (size_t)length;
    }
    words += ndim;
    for (size_t k = 0; k < n_views; k++, words += ndim + 1) {
        if (words[0] < 0 || words[0] > UINT32_MAX) {
            return 0;
        }
        frame->views[k] = (CadNumbers){(CadId)words[0], words + 1};
        for (uint32_t i = 1; i <= ndim; i++) {
            if (words[i] < -INT32_MAX || words[i] > INT32_MAX) {
                return 0;
            }
        }
    }
    r->word += ndim + n_views * (ndim + 1);
    return 1;
}

/* Whether a result is an array in order, if with its axes exchanged, so that each element is
 * written to. Strides may be zero along axes that are summed over: all, one or none. */
static int is_result(const Frame *frame, size_t size, int first_summed, int end_summed) {
    const int64_t *strides = frame->views[0].strides;
    size_t covered = 1;
    int left = 0;
    for (int i = 0; i < frame->ndim; i++) {
        const int summed = i >= first_summed && i < end_summed && strides[i] == 0;
        left += frame->shape[i] > 1 && !summed;
    }
    for (int found = 1; left > 0 && found; left -= found) {
        found = 0;
        for (int i = 0; i < frame->ndim && !found; i++) {
            if (frame->shape[i] > 1 && strides[i] == (int64_t)covered) {
                covered *= (size_t)frame->shape[i];
                found = 1;
            }
        }
    }
    return left == 0 && covered == size && frame->views[0].first == 0;
}

/* Whether all that a view sees lies from `begin` up to `end`. */
static int is_within(const Frame *frame, CadNumbers view, int64_t begin, int64_t end) {
    int64_t low = view.first, high = view.first;
    if (low < begin || high >= end) {
        return 0;
    }
    for (int i = 0; i < frame->ndim; i++) {
        const int64_t reach = (frame->shape[i] - 1) * view.strides[i];
        *(reach < 0 ? &low : &high) += reach;
        if (low < begin || high >= end) {
            return 0;
        }
    }
    return 1;
}

/* Whether all that a view sees is of one record. */
static int is_inside(CadGraph *graph, const Frame *frame, CadNumbers view) {
    if (!cad_graph_has(graph, view.first)) {
        return 0;
    }
    const uint32_t i = cad_graph_record_of(graph, view.first);
    const int64_t first = cad_graph_first(graph, i);
    return is_within(frame, view, first, first + cad_record_size(&graph->records[i]));
}

static int is_sound(CadGraph *graph, const Frame *frame, uint32_t op, size_t size) {
    const int m = frame->ndim - 3, n = frame->ndim - 2, q = frame->ndim - 1;
    const int is_product = cad_op_multiplies((CadOp)op);
    int sound = !cad_op_sums_up((CadOp)op) ? is_result(frame, size, 0, 0)
                : is_product               ? is_result(frame, size, n, n + 1)
                                           : is_result(frame, size, 0, frame->ndim);
    for (int k = 1; k < frame->n_views && sound; k++) {
        sound = is_inside(graph, frame, frame->views[k]);
    }
    if (is_product) {
        sound = sound && frame->views[1].strides[q] == 0 && frame->views[2].strides[m] == 0;
    }
    return sound;
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

static CadId restore_constants(Restorer *r, uint32_t size) {
    const CadGraphParts *parts = r->parts;
    const double *values =
        take(parts->constants, sizeof *values, parts->n_constants, &r->constant, size);
    return values != NULL ? cad_graph_constants(r->graph, values, size) : CAD_NO_ID;
}

static CadId restore_pack(Restorer *r, uint32_t size) {
    const CadId *ids = take(r->parts->lists, sizeof *ids, r->parts->n_lists, &r->list, size);
    int sound = ids != NULL && size > 1;
    for (uint32_t k = 0; k < size && sound; k++) {
        sound = cad_graph_has(r->graph, ids[k]);
    }
    return sound ? cad_graph_pack(r->graph, ids, size) : CAD_NO_ID;
}

static CadId restore_map(Restorer *r, uint32_t op, uint32_t size, uint32_t ndim) {
    Frame frame;
    return is_over_views(op) && ndim >= cad_entry_kinds[op].core &&
                   read_frame(r, cad_entry_kinds[op].n_views, ndim, &frame) &&
                   is_sound(r->graph, &frame, op, size)
               ? cad_graph_map(r->graph, (CadOp)op, size, frame.ndim, frame.shape, frame.n_views,
                               frame.views)
               : CAD_NO_ID;
}

/* Whether there is such a call is for its owner to say. */
static CadId restore_call(Restorer *r, uint32_t size, uint32_t ndim, uint32_t number) {
    Frame frame;
    return ndim == 1 && read_frame(r, 1, ndim, &frame) &&
                   frame.views[0].strides[0] == (frame.size > 1) &&
                   is_inside(r->graph, &frame, frame.views[0])
               ? cad_graph_call(r->graph, number, frame.views[0].first, frame.size, size)
               : CAD_NO_ID;
}

/* Whatever the indices are, what they name has to be there. */
static CadId restore_by_index(Restorer *r, CadRecordKind kind, uint32_t size, uint32_t ndim) {
    Frame frame;
    if (!read_frame(r, 3, ndim, &frame)) {
        return CAD_NO_ID;
    }
    const int64_t *extra = take(r->parts->words, sizeof *extra, r->parts->n_words, &r->word, 2);
    if (extra == NULL || ndim == CAD_MOST_AXES || extra[0] < 1 || extra[0] > INT32_MAX ||
        extra[1] < -INT32_MAX || extra[1] > INT32_MAX) {
        return CAD_NO_ID;
    }
    const int takes = kind == CAD_RECORD_TAKE;
    int64_t shape[CAD_MOST_AXES], strides[CAD_MOST_AXES];
    memcpy(shape, frame.shape, ndim * sizeof *shape);
    memcpy(strides, frame.views[takes ? 1 : 0].strides, ndim * sizeof *strides);
    shape[ndim] = extra[0];
    strides[ndim] = extra[1];
    const Frame whole = {.ndim = (int)ndim + 1, .shape = shape};
    const CadNumbers indexed = {frame.views[takes ? 1 : 0].first, strides};
    const int sound =
        is_inside(r->graph, &frame, frame.views[2]) &&
        (takes
             ? is_result(&frame, size, 0, 0) && is_inside(r->graph, &whole, indexed)
             : is_inside(r->graph, &frame, frame.views[1]) && is_within(&whole, indexed, 0, size));
    return sound ? cad_graph_by_index(r->graph, kind, CAD_NO_ID, size, (int)ndim, frame.shape,
                                      frame.views, extra[0], extra[1])
                 : CAD_NO_ID;
}

/* Adding to an array that is there is left to derivatives. */
static CadId restore_array(Restorer *r, CadRecordKind kind, uint32_t op, const uint32_t *given) {
    const uint32_t size = given[0], ndim = given[1];
    if ((given[2] != 0 && kind != CAD_RECORD_CALL) || (op != 0 && kind != CAD_RECORD_MAP) ||
        (ndim != 0 && kind < CAD_RECORD_MAP) || (size == 0 && kind != CAD_RECORD_INPUT) ||
        size > CAD_MOST_SLOTS - r->graph->n_numbers) {
        return CAD_NO_ID;
    }
    switch (kind) {
    case CAD_RECORD_INPUT:
        return cad_graph_input(r->graph, size);
    case CAD_RECORD_CONSTANTS:
        return restore_constants(r, size);
    case CAD_RECORD_PACK:
        return restore_pack(r, size);
    case CAD_RECORD_MAP:
        return restore_map(r, op, size, ndim);
    case CAD_RECORD_ADD_BY:
    case CAD_RECORD_TAKE:
        return restore_by_index(r, kind, size, ndim);
    case CAD_RECORD_CALL:
        return restore_call(r, size, ndim, given[2]);
    default:
        return CAD_NO_ID;
    }
}

/* Whether the k-th record is one, and was not there before. */
static int restore_record(Restorer *r, size_t k) {
    CadGraph *const graph = r->graph;
    const uint32_t *given = r->parts->records + 4 * (k - 1);
    const CadRecordKind kind = (CadRecordKind)(given[0] >> 16);
    const uint32_t op = given[0] & 0xffff;
    const CadId expected = k == 1 ? CAD_ZERO : graph->n_numbers;
    const CadId made = kind == CAD_RECORD_CONSTANT && op == 0 ? restore_constant(r, given + 1)
                       : kind == CAD_RECORD_SINGLE            ? restore_single(r, op, given + 1)
                                                   : restore_array(r, kind, op, given + 1);
    return made == expected && graph->n_records == k + 1;
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
    int sound = parts->n_records > 0;
    for (size_t k = 1; k <= parts->n_records && sound; k++) {
        sound = restore_record(r, k);
    }
    if (graph->status != CAD_OK) {
        return graph->status;
    }
    sound = sound && r->word == parts->n_words && r->list == parts->n_lists &&
            r->constant == parts->n_constants && are_inputs_first(graph, n_inputs);
    return sound ? CAD_OK : CAD_RAISED;
}
