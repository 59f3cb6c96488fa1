/* What depends on what: a graph holds more than one of its derivatives needs. */
#include "graph/inner.h"
#include "table/codes.h"

/* --- what numbers depend on --- */

uint32_t *cad_graph_uses(CadGraph *graph, CadMemory *memory, const CadId *outputs,
                         size_t n_outputs, int by_guards) {
    uint32_t *const uses = cad_memory_take(memory, graph->n_records, sizeof *uses);
    CadOperands of;
    for (size_t k = 0; k < n_outputs && uses != NULL; k++) {
        uses[cad_graph_record_of(graph, outputs[k])]++;
    }
    for (size_t k = 0; k < graph->n_guards && uses != NULL && by_guards; k++) {
        uses[cad_graph_record_of(graph, graph->guards[k].id)]++;
    }
    for (size_t i = graph->n_records; i-- > 0 && uses != NULL;) {
        if (uses[i] > 0) {
            cad_graph_operands(graph, i, &of);
            for (size_t k = 0; k < of.n; k++) {
                uses[cad_graph_record_of(graph, of.ids[k])]++;
            }
        }
    }
    return uses;
}

/* --- copies --- */

/* `index` has for each number which variable it is, counted from 1, or 0. */
static CadStatus find_copies(CadGraph *graph, const uint32_t *uses, const uint32_t *index,
                             CadPairs *found) {
    CadStatus status = CAD_OK;
    for (size_t i = 0; i < graph->n_records; i++) {
        const CadRecord *record = &graph->records[i];
        if (record->kind != CAD_RECORD_PACK || uses[i] == 0) {
            continue;
        }
        const CadId *ids = cad_graph_packed(graph, record);
        for (uint32_t k = 0; k < record->of.array.size && status == CAD_OK; k++) {
            if (index[ids[k]] != 0) {
                status = cad_pairs_add(found, record->of.array.first + k, index[ids[k]] - 1);
            }
        }
    }
    return status;
}

CadStatus cad_graph_copies(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                           size_t n_outputs, CadId **copies, uint32_t **origins, size_t *n) {
    CadPairs pairs = {0};
    CadMemory memory = {0};
    uint32_t *uses = cad_graph_uses(graph, &memory, outputs, n_outputs, 0);
    uint32_t *index = cad_memory_take(&memory, graph->n_numbers, sizeof *index);
    CadStatus status = memory.status;
    if (status == CAD_OK) {
        for (size_t k = 0; k < n_wrt; k++) {
            index[wrt[k]] = (uint32_t)k + 1;
        }
        status = find_copies(graph, uses, index, &pairs);
    }
    cad_memory_give_back(&memory);
    if (status == CAD_OK) {
        *copies = pairs.of;
        *origins = pairs.by;
        *n = pairs.n;
    } else {
        cad_pairs_free(&pairs);
    }
    return status;
}

/* --- what depends on variables --- */

/* What has no derivative hands nothing on; nor do indices. */
static int is_reached(CadGraph *graph, const CadActive *active, size_t i, int by_value) {
    const CadRecord record = graph->records[i];
    int reached = active->records[i];
    CadOperands of;
    if (!cad_record_is_made(&record) || (!by_value && cad_op_is_flat((CadOp)record.op))) {
        return reached;
    }
    const int singly = record.kind == CAD_RECORD_SINGLE || record.kind == CAD_RECORD_PACK;
    cad_graph_operands(graph, i, &of);
    for (size_t k = 0; k < of.n; k++) {
        if (k != 1 || by_value || !cad_record_is_by_index(&record)) {
            reached |= (singly ? cad_is_active_number : cad_is_active)(graph, active, of.ids[k]);
        }
    }
    return reached;
}

CadActive cad_graph_find_active(CadGraph *graph, CadMemory *memory, const CadId *wrt, size_t n_wrt,
                                int by_value) {
    const CadActive active = {cad_memory_take(memory, graph->n_records, 1),
                              cad_memory_take(memory, graph->n_numbers, 1)};
    if (memory->status != CAD_OK) {
        return active;
    }
    for (size_t k = 0; k < n_wrt; k++) {
        active.variables[wrt[k]] = 1;
        active.records[cad_graph_record_of(graph, wrt[k])] = 1;
    }
    for (size_t i = 0; i < graph->n_records; i++) {
        active.records[i] = (uint8_t)is_reached(graph, &active, i, by_value);
    }
    return active;
}

CadStatus cad_graph_reach(CadGraph *graph, const CadId *inputs, size_t n_inputs, bool by_value,
                          const CadId *outputs, size_t n_outputs, uint8_t *reached) {
    CadMemory memory = {0};
    const CadActive active = cad_graph_find_active(graph, &memory, inputs, n_inputs, by_value);
    for (size_t k = 0; k < n_outputs && memory.status == CAD_OK; k++) {
        reached[k] = (uint8_t)cad_is_active_number(graph, &active, outputs[k]);
    }
    cad_memory_give_back(&memory);
    return memory.status;
}

/* --- beginnings --- */

CadStatus cad_graph_beginning(CadGraph *graph, size_t n_records, CadGraph **beginning, CadId *ends,
                              size_t *n_ends) {
    CadMemory memory = {0};
    uint8_t *const is_end = cad_memory_take(&memory, graph->n_records, 1);
    CadGraph *copy = *beginning = cad_graph_new(graph->optimize);
    const CadCopier copier = {
        .from = graph,
        .to = copy,
        .names = cad_memory_take(&memory, n_records, sizeof *copier.names),
    };
    CadOperands of;
    *n_ends = 0;
    for (size_t i = n_records; i < graph->n_records && memory.status == CAD_OK; i++) {
        cad_graph_operands(graph, i, &of);
        for (size_t k = 0; k < of.n; k++) {
            is_end[cad_graph_record_of(graph, of.ids[k])] = 1;
        }
    }
    for (size_t i = 1; i < n_records && memory.status == CAD_OK && copy != NULL; i++) {
        const CadRecord *record = &graph->records[i];
        copier.names[i] =
            record->kind == CAD_RECORD_INPUT
                ? cad_graph_input(copy, record->of.array.size, cad_graph_has_floats(graph, record))
                : cad_graph_copy(&copier, i);
        if (is_end[i] && record->kind == CAD_RECORD_SINGLE) {
            ends[(*n_ends)++] = cad_graph_first(graph, i);
        }
    }
    cad_memory_give_back(&memory);
    return copy == NULL ? CAD_NO_MEMORY : memory.status != CAD_OK ? memory.status : copy->status;
}
