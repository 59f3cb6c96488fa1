/* The operations of a recording, and their classes: those that are alike compute the same. */
#include "loops/inner.h"

enum { FIRST_ARRAY = 1 << 20 }; /* of the classes; those before are of single numbers */

/* --- operands --- */

/* Recurrences and their ends are in no turn, and have no plans. */
static uint32_t arity_of_record(const CadGraph *graph, const CadRecord *record) {
    return record->kind == CAD_RECORD_SINGLE ? (uint32_t)cad_op_info[record->op].arity
           : record->kind == CAD_RECORD_PACK ? record->of.array.size
           : record->kind == CAD_RECORD_SCAN || record->kind == CAD_RECORD_END
               ? 0
               : cad_graph_plan(graph, record)->n_views - first_operand(record);
}

static inline void find_sources(Unrolled *u, size_t i, const CadRecord *record) {
    CadGraph *const graph = u->graph;
    const uint32_t arity = arity_of_record(graph, record), begin = u->first[i];
    Source *const sources = u->sources + begin;
    double value;
    u->first[i + 1] = begin + arity;
    for (uint32_t k = 0; k < arity; k++) {
        const CadId id = operand_of(u, i, k).first;
        const uint32_t of = u->operations[id];
        if (of > 0) {
            const CadRecord *const source = record_at(u, of - 1);
            sources[k].back = (uint32_t)i + 1 - of;
            sources[k].offset = cad_record_is_array(source) ? id - source->of.array.first : 0;
        } else if (k < 3 && cad_graph_is_constant(graph, id, &value)) {
            u->constants[i] |= (uint8_t)(1 << k);
        }
    }
}

/* --- classes --- */

/* What a plan is but for where its operands begin, from the view `first` on: word by word, the
 * rest is 0. */
static int64_t word_of_plan(CadPlan *plan, uint32_t first, uint32_t word) {
    const uint32_t views = CAD_PLAN_WORDS + plan->ndim, each = plan->ndim + 1u;
    const int is_begin = word >= views + first * each && word < views + plan->n_views * each &&
                         (word - views) % each == 0;
    return is_begin ? 0 : ((const int64_t *)plan)[word];
}

static int has_plan(const CadRecord *record) {
    return record->kind == CAD_RECORD_MAP || record->kind == CAD_RECORD_CALL;
}

/* Which call it is, by the first one that does the same. */
static uint32_t form_of(const Unrolled *u, const CadRecord *record) {
    CadGraph *const graph = u->graph;
    uint32_t form = 0;
    if (record->kind == CAD_RECORD_CALL) {
        form = cad_graph_array(graph, record)->number;
        if (graph->calls->form != NULL && graph->status == CAD_OK) {
            graph->status = graph->calls->form(graph->owner, form, &form);
        }
    }
    return form;
}

/* All by which operations are told apart, word by word. */
static uint32_t n_words_of(const Unrolled *u, size_t operation) {
    const CadRecord *const record = record_at(u, operation);
    return 2 + (has_plan(record) ? cad_graph_plan(u->graph, record)->words : 0);
}

static uint64_t word_of(const Unrolled *u, size_t operation, uint32_t k) {
    const CadRecord *const record = record_at(u, operation);
    return k == 0 ? (uint64_t)record->kind << 48 | (uint64_t)record->op << 32 |
                        record->of.array.size << 3 | u->constants[operation]
           : k == 1 ? form_of(u, record)
                    : (uint64_t)word_of_plan(cad_graph_plan(u->graph, record),
                                             first_operand(record), k - 2);
}

static uint64_t hash_of_array(const Unrolled *u, size_t operation) {
    uint64_t hash = 0;
    for (uint32_t k = 0; k < n_words_of(u, operation); k++) {
        hash = cad_loops_hash(hash, word_of(u, operation, k));
    }
    return hash;
}

static int are_alike(const Unrolled *u, size_t operation, size_t other) {
    const uint32_t n = n_words_of(u, operation);
    int alike = n == n_words_of(u, other);
    for (uint32_t k = 0; k < n && alike; k++) {
        alike = word_of(u, operation, k) == word_of(u, other, k);
    }
    return alike;
}

/* A class of arrays is named by the first operation of it. */
static uint32_t class_of_array(const Unrolled *u, Table classes, size_t operation) {
    FIND_PLACE(classes, hash_of_array(u, operation), first, are_alike(u, operation, *first - 1))
    *first = *first == 0 ? (uint32_t)operation + 1 : *first;
    return FIRST_ARRAY + *first;
}

static inline uint32_t class_of_operation(const Unrolled *u, Table classes, size_t operation,
                                          const CadRecord *record) {
    if (record->kind == CAD_RECORD_SINGLE) {
        return (uint32_t)record->op << 3 | u->constants[operation];
    }
    const int may_be_in_turn = (record->kind == CAD_RECORD_PACK || has_plan(record)) &&
                               record->of.array.size <= LONG_ARRAY;
    return may_be_in_turn ? class_of_array(u, classes, operation) : ALONE;
}

int cad_loops_list_operations(Unrolled *u) {
    CadGraph *const graph = u->graph;
    const Table classes = cad_loops_table(&u->memory, graph->n_arrays);
    size_t n_operands = 0;
    CadId next = 1;
    for (size_t i = 1; i < graph->n_records; i++) {
        const CadRecord *const record = &graph->records[i];
        n_operands += cad_record_is_made(record) ? arity_of_record(graph, record) : 0;
    }
    u->records = cad_memory_take(&u->memory, graph->n_records, sizeof *u->records);
    u->constants = cad_memory_take(&u->memory, graph->n_records, sizeof *u->constants);
    u->classes = cad_memory_take(&u->memory, graph->n_records, sizeof *u->classes);
    u->operations = cad_memory_take(&u->memory, graph->n_numbers, sizeof *u->operations);
    u->sources = cad_memory_take(&u->memory, n_operands, sizeof *u->sources);
    u->first = cad_memory_take(&u->memory, graph->n_records + 1, sizeof *u->first);
    if (u->memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
        return 0;
    }
    for (size_t i = 1; i < graph->n_records; i++) {
        const CadRecord *const record = &graph->records[i];
        const CadId first = next;
        next += cad_record_size(record);
        if (!cad_record_is_made(record)) {
            continue;
        }
        const size_t operation = u->n_operations++;
        u->records[operation] = (uint32_t)i;
        find_sources(u, operation, record);
        u->classes[operation] = class_of_operation(u, classes, operation, record);
        for (CadId id = first; id < next; id++) {
            u->operations[id] = (uint32_t)operation + 1;
        }
    }
    return 1;
}
