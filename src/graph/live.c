/* What depends on what: a graph holds more than one of its derivatives needs. */
#include "graph/inner.h"
#include "table/codes.h"

/* --- what numbers depend on --- */

typedef struct User {
    CadGraph *graph;
    uint32_t *uses;
} User;

static void use(void *visitor, CadId id) {
    const User *user = visitor;
    user->uses[cad_graph_record_of(user->graph, id)]++;
}

uint32_t *cad_graph_uses(CadGraph *graph, const CadId *outputs, size_t n_outputs) {
    User user = {graph, cad_memory_zeroed(graph->n_records, sizeof *user.uses)};
    for (size_t k = 0; k < n_outputs && user.uses != NULL; k++) {
        use(&user, outputs[k]);
    }
    for (size_t i = graph->n_records; i-- > 0 && user.uses != NULL;) {
        if (user.uses[i] > 0) {
            cad_graph_visit(graph, i, use, &user);
        }
    }
    return user.uses;
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
    CadPairs found = {0};
    uint32_t *uses = cad_graph_uses(graph, outputs, n_outputs);
    uint32_t *index = cad_memory_zeroed(graph->n_numbers, sizeof *index);
    CadStatus status = uses == NULL || index == NULL ? CAD_NO_MEMORY : CAD_OK;
    if (status == CAD_OK) {
        for (size_t k = 0; k < n_wrt; k++) {
            index[wrt[k]] = (uint32_t)k + 1;
        }
        status = find_copies(graph, uses, index, &found);
    }
    cad_memory_free(index);
    cad_memory_free(uses);
    if (status == CAD_OK) {
        *copies = found.of;
        *origins = found.by;
        *n = found.n;
    } else {
        cad_pairs_free(&found);
    }
    return status;
}

/* --- what depends on variables --- */

typedef struct Reacher {
    CadGraph *graph;
    CadActive active;
    int found;
} Reacher;

static void look_at_number(void *visitor, CadId id) {
    Reacher *r = visitor;
    r->found |= cad_is_active_number(r->graph, &r->active, id);
}

static void look_at_view(void *visitor, CadId id) {
    Reacher *r = visitor;
    r->found |= cad_is_active(r->graph, &r->active, id);
}

/* What has no derivative hands nothing on; nor do indices. */
static void reach(Reacher *r, size_t i, int by_value) {
    const CadRecord record = r->graph->records[i];
    if (!cad_record_is_made(&record) || (!by_value && cad_op_is_flat((CadOp)record.op))) {
        return;
    }
    r->found = r->active.records[i];
    if (cad_record_is_by_index(&record) && !by_value) {
        const CadId former = cad_graph_array(r->graph, &record)->former;
        look_at_view(r, (CadId)cad_plan_view(cad_graph_plan(r->graph, &record), 1)[0]);
        look_at_view(r, former);
    } else {
        const int singly = record.kind == CAD_RECORD_SINGLE || record.kind == CAD_RECORD_PACK;
        cad_graph_visit(r->graph, i, singly ? look_at_number : look_at_view, r);
    }
    r->active.records[i] = (uint8_t)r->found;
}

CadStatus cad_graph_find_active(CadGraph *graph, const CadId *wrt, size_t n_wrt, int by_value,
                                CadActive *active) {
    Reacher r = {.graph = graph};
    r.active.records = cad_memory_zeroed(graph->n_records, 1);
    r.active.variables = cad_memory_zeroed(graph->n_numbers, 1);
    if (r.active.records == NULL || r.active.variables == NULL) {
        cad_graph_forget_active(&r.active);
        return CAD_NO_MEMORY;
    }
    for (size_t k = 0; k < n_wrt; k++) {
        r.active.variables[wrt[k]] = 1;
        r.active.records[cad_graph_record_of(graph, wrt[k])] = 1;
    }
    for (size_t i = 0; i < graph->n_records; i++) {
        reach(&r, i, by_value);
    }
    *active = r.active;
    return CAD_OK;
}

void cad_graph_forget_active(CadActive *active) {
    cad_memory_free(active->records);
    cad_memory_free(active->variables);
    *active = (CadActive){NULL, NULL};
}

CadStatus cad_graph_reach(CadGraph *graph, const CadId *inputs, size_t n_inputs, int by_value,
                          const CadId *outputs, size_t n_outputs, uint8_t *found) {
    CadActive active;
    const CadStatus status = cad_graph_find_active(graph, inputs, n_inputs, by_value, &active);
    if (status == CAD_OK) {
        for (size_t k = 0; k < n_outputs; k++) {
            found[k] = (uint8_t)cad_is_active_number(graph, &active, outputs[k]);
        }
        cad_graph_forget_active(&active);
    }
    return status;
}

/* --- beginnings --- */

typedef struct Ends {
    CadGraph *graph;
    size_t n_records;
    uint8_t *are_ends; /* of the first records: whether others are made of them */
} Ends;

static void find_end(void *visitor, CadId id) {
    const Ends *ends = visitor;
    const size_t i = cad_graph_record_of(ends->graph, id);
    if (i < ends->n_records) {
        ends->are_ends[i] = ends->graph->records[i].kind == CAD_RECORD_SINGLE;
    }
}

static CadId copy_of(void *context, CadId id) {
    (void)context;
    return id;
}

CadStatus cad_graph_beginning(CadGraph *graph, size_t n_records, CadGraph **beginning, CadId *ends,
                              size_t *n_ends) {
    Ends found = {graph, n_records, cad_memory_zeroed(n_records, 1)};
    CadGraph *copy = *beginning = cad_graph_new(graph->optimize);
    if (found.are_ends == NULL || copy == NULL) {
        cad_memory_free(found.are_ends);
        return CAD_NO_MEMORY;
    }
    for (size_t i = n_records; i < graph->n_records; i++) {
        cad_graph_visit(graph, i, find_end, &found);
    }
    const CadCopier copier = {graph, copy, copy_of, copy_of, 0, NULL};
    *n_ends = 0;
    for (size_t i = 1; i < n_records && copy->status == CAD_OK; i++) {
        const CadRecord *record = &graph->records[i];
        if (record->kind == CAD_RECORD_INPUT) {
            cad_graph_input(copy, record->of.array.size);
        } else {
            cad_graph_copy(&copier, i);
        }
        if (found.are_ends[i]) {
            ends[(*n_ends)++] = cad_graph_first(graph, i);
        }
    }
    cad_memory_free(found.are_ends);
    return copy->status;
}
