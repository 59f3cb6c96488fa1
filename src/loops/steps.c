/* Steps, and which of them are alike: of one kind, whatever it is made of. */
#include "loops/inner.h"

enum { FIRST_ARRAY = 1 << 20 }; /* of the kinds; those before are of single numbers */

/* --- operands --- */

static uint32_t arity_of_record(const CadGraph *graph, const CadRecord *record) {
    return record->kind == CAD_RECORD_SINGLE ? (uint32_t)cad_op_info[record->op].arity
           : record->kind == CAD_RECORD_PACK
               ? record->of.array.size
               : cad_graph_plan(graph, record)->n_views - first_operand(record);
}

static inline void find_sources(Recorded *r, size_t step, const CadRecord *record) {
    CadGraph *const graph = r->graph;
    const uint32_t arity = arity_of_record(graph, record), begin = r->first[step];
    Source *const sources = r->sources + begin;
    double value;
    r->first[step + 1] = begin + arity;
    for (uint32_t k = 0; k < arity; k++) {
        const CadId id = operand_of_step(r, step, k).first;
        const uint32_t of = r->steps[id];
        if (of > 0) {
            const CadRecord *const source = record_of_step(r, of - 1);
            sources[k].back = (uint32_t)step + 1 - of;
            sources[k].offset = cad_record_is_array(source) ? id - source->of.array.first : 0;
        } else if (k < 3 && cad_graph_is_constant(graph, id, &value)) {
            r->constants[step] |= (uint8_t)(1 << k);
        }
    }
}

/* --- kinds --- */

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
static uint32_t form_of(const Recorded *r, const CadRecord *record) {
    CadGraph *const graph = r->graph;
    uint32_t form = 0;
    if (record->kind == CAD_RECORD_CALL) {
        form = cad_graph_array(graph, record)->number;
        if (graph->calls->form != NULL && graph->status == CAD_OK) {
            graph->status = graph->calls->form(graph->owner, form, &form);
        }
    }
    return form;
}

/* All by which steps are told apart, word by word. */
static uint32_t n_words_of(const Recorded *r, size_t step) {
    const CadRecord *const record = record_of_step(r, step);
    return 2 + (has_plan(record) ? cad_graph_plan(r->graph, record)->words : 0);
}

static uint64_t word_of(const Recorded *r, size_t step, uint32_t k) {
    const CadRecord *const record = record_of_step(r, step);
    return k == 0 ? (uint64_t)record->kind << 48 | (uint64_t)record->op << 32 |
                        record->of.array.size << 3 | r->constants[step]
           : k == 1 ? form_of(r, record)
                    : (uint64_t)word_of_plan(cad_graph_plan(r->graph, record),
                                             first_operand(record), k - 2);
}

static uint64_t hash_of_array(const Recorded *r, size_t step) {
    uint64_t hash = 0;
    for (uint32_t k = 0; k < n_words_of(r, step); k++) {
        hash = cad_loops_hash(hash, word_of(r, step, k));
    }
    return hash;
}

static int are_alike(const Recorded *r, size_t step, size_t other) {
    const uint32_t n = n_words_of(r, step);
    int alike = n == n_words_of(r, other);
    for (uint32_t k = 0; k < n && alike; k++) {
        alike = word_of(r, step, k) == word_of(r, other, k);
    }
    return alike;
}

/* By the step at which one was seen first. */
static uint32_t kind_of_array(const Recorded *r, Table kinds, size_t step) {
    FIND_PLACE(kinds, hash_of_array(r, step), first, are_alike(r, step, *first - 1))
    *first = *first == 0 ? (uint32_t)step + 1 : *first;
    return FIRST_ARRAY + *first;
}

static inline uint32_t kind_of_step(const Recorded *r, Table kinds, size_t step,
                                    const CadRecord *record) {
    if (record->kind == CAD_RECORD_SINGLE) {
        return (uint32_t)record->op << 3 | r->constants[step];
    }
    const int may_be_in_turn = (record->kind == CAD_RECORD_PACK || has_plan(record)) &&
                               record->of.array.size <= LONG_ARRAY;
    return may_be_in_turn ? kind_of_array(r, kinds, step) : ALONE;
}

int cad_loops_list_steps(Recorded *r) {
    CadGraph *const graph = r->graph;
    const Table kinds = cad_loops_table(&r->memory, graph->n_arrays);
    size_t n_operands = 0;
    CadId next = 1;
    for (size_t i = 1; i < graph->n_records; i++) {
        const CadRecord *const record = &graph->records[i];
        n_operands += cad_record_is_made(record) ? arity_of_record(graph, record) : 0;
    }
    r->records = cad_memory_take(&r->memory, graph->n_records, sizeof *r->records);
    r->constants = cad_memory_take(&r->memory, graph->n_records, sizeof *r->constants);
    r->kinds = cad_memory_take(&r->memory, graph->n_records, sizeof *r->kinds);
    r->steps = cad_memory_take(&r->memory, graph->n_numbers, sizeof *r->steps);
    r->sources = cad_memory_take(&r->memory, n_operands, sizeof *r->sources);
    r->first = cad_memory_take(&r->memory, graph->n_records + 1, sizeof *r->first);
    if (r->memory.status != CAD_OK) {
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
        const size_t step = r->n_steps++;
        r->records[step] = (uint32_t)i;
        find_sources(r, step, record);
        r->kinds[step] = kind_of_step(r, kinds, step, record);
        for (CadId id = first; id < next; id++) {
            r->steps[id] = (uint32_t)step + 1;
        }
    }
    return 1;
}
