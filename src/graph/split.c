/* What depends on one input, as a graph of its own. */
#include "graph/inner.h"

typedef struct Splitter {
    CadGraph *graph;
    CadPart *part;
    CadStatus status;
    uint32_t *uses;   /* by roots and guards */
    CadActive varies; /* what depends on the input */
    CadCopier copier;
    size_t given_capacity;
} Splitter;

/* Of an array that is given, all elements are: they are numbers of the second input. */
static void add_given(Splitter *s, CadId id) {
    CadPart *part = s->part;
    const uint32_t i = cad_graph_record_of(s->graph, id);
    const CadRecord *record = &s->graph->records[i];
    const uint32_t size = cad_record_size(record);
    if (s->varies.records[i] || s->copier.names[i] != CAD_NO_ID || s->status != CAD_OK ||
        record->kind == CAD_RECORD_CONSTANT || record->kind == CAD_RECORD_CONSTANTS) {
        return;
    }
    s->status = cad_memory_grow((void **)&part->given, &s->given_capacity, part->n_given + size,
                                sizeof *part->given);
    if (s->status == CAD_OK) {
        const CadId first = cad_graph_first(s->graph, i);
        s->copier.names[i] = part->graph->n_numbers + (CadId)part->n_given;
        for (uint32_t k = 0; k < size; k++) {
            part->given[part->n_given++] = first + k;
        }
    }
}

static void share_guards(Splitter *s) {
    CadGraph *graph = s->graph;
    size_t kept = 0;
    for (size_t k = 0; k < graph->n_guards && s->status == CAD_OK; k++) {
        const CadOutcome guard = graph->guards[k];
        if (cad_is_active(graph, &s->varies, guard.id)) {
            CadGraph *const part = s->part->graph;
            s->status = cad_graph_guard(part, cad_copier_name(&s->copier, guard.id), guard.value);
            if (s->status == CAD_OK) {
                part->guards[part->n_guards - 1].number = guard.number;
            }
        } else {
            graph->guards[kept++] = guard;
        }
    }
    graph->n_guards = s->status == CAD_OK ? kept : graph->n_guards;
}

static void make_part(Splitter *s, size_t own, CadId *roots, size_t n_roots) {
    CadGraph *const graph = s->graph;
    CadPart *part = s->part;
    CadOperands of;
    s->copier.names[own] = part->own =
        cad_graph_input(part->graph, graph->records[own].of.array.size);
    for (size_t i = 0; i < graph->n_records; i++) {
        s->varies.records[i] &= i == own || s->uses[i] > 0;
        if (s->varies.records[i]) {
            cad_graph_operands(graph, i, &of);
            for (size_t k = 0; k < of.n; k++) {
                add_given(s, of.ids[k]);
            }
        }
    }
    for (size_t k = 0; k < n_roots; k++) {
        add_given(s, roots[k]);
    }
    if (s->status != CAD_OK) {
        return;
    }
    part->inputs = part->n_given > 0 ? cad_graph_input(part->graph, part->n_given) : CAD_NO_ID;
    for (size_t i = 0; i < graph->n_records; i++) {
        if (s->varies.records[i] && i != own) {
            s->copier.names[i] = cad_graph_copy(&s->copier, i);
        }
    }
    for (size_t k = 0; k < n_roots && s->status == CAD_OK; k++) {
        roots[k] = cad_copier_name(&s->copier, roots[k]);
    }
    share_guards(s);
    s->status = s->status == CAD_OK ? part->graph->status : s->status;
}

CadStatus cad_graph_split(CadGraph *graph, CadId input, CadId *roots, size_t n_roots,
                          CadPart *part) {
    Splitter splitter = {.graph = graph, .part = part};
    Splitter *s = &splitter;
    const size_t own = cad_graph_record_of(graph, input);
    const uint32_t size = graph->records[own].of.array.size;
    CadMemory memory = {0};
    CadId *const variables = cad_memory_take(&memory, size, sizeof *variables);
    for (uint32_t k = 0; k < size && variables != NULL; k++) {
        variables[k] = graph->records[own].of.array.first + k;
    }
    *part = (CadPart){.graph = cad_graph_new(graph->optimize)};
    s->uses = cad_graph_uses(graph, &memory, roots, n_roots, 1);
    s->copier = (CadCopier){.from = graph, .to = part->graph};
    s->copier.names = cad_memory_take(&memory, graph->n_records, sizeof *s->copier.names);
    s->varies = cad_graph_find_active(graph, &memory, variables, size, 1);
    s->status = part->graph == NULL ? CAD_NO_MEMORY : memory.status;
    if (s->status == CAD_OK) {
        make_part(s, own, roots, n_roots);
    }
    cad_memory_give_back(&memory);
    return s->status;
}
