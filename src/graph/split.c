/* What depends on one input, as a graph of its own. */
#include "graph/inner.h"

typedef struct Splitter {
    CadGraph *graph;
    CadPart *part;
    CadStatus status;
    uint32_t *uses;   /* by roots and guards */
    CadActive varies; /* what depends on the input */
    CadId *names;     /* of each record the first number in the part; or, counted from 1, the place
                         among those that are given */
    size_t given_capacity;
} Splitter;

static int varies(const Splitter *s, CadId id) {
    return cad_is_active(s->graph, &s->varies, id);
}

/* --- what is given --- */

static int has_room(Splitter *s, size_t more) {
    CadPart *part = s->part;
    if (s->status == CAD_OK) {
        s->status = cad_memory_grow((void **)&part->given, &s->given_capacity,
                                    part->n_given + more, sizeof *part->given);
    }
    return s->status == CAD_OK;
}

static int is_constant(const CadRecord *record) {
    return record->kind == CAD_RECORD_CONSTANT || record->kind == CAD_RECORD_CONSTANTS;
}

/* Of an array that is given, all elements are. */
static void add_given(void *visitor, CadId id) {
    Splitter *s = visitor;
    CadPart *part = s->part;
    const uint32_t i = cad_graph_record_of(s->graph, id);
    const uint32_t size = cad_record_size(&s->graph->records[i]);
    if (s->varies.records[i] || is_constant(&s->graph->records[i]) || s->names[i] != CAD_NO_ID ||
        !has_room(s, size)) {
        return;
    }
    const CadId first = cad_graph_first(s->graph, i);
    s->names[i] = (CadId)part->n_given + 1;
    for (uint32_t k = 0; k < size; k++) {
        part->given[part->n_given++] = first + k;
    }
}

/* --- making the part --- */

static CadId name_of(void *splitter, CadId id) {
    Splitter *s = splitter;
    const CadCopier copier = {s->graph, s->part->graph, name_of, name_of, 0, s};
    const uint32_t i = cad_graph_record_of(s->graph, id);
    const CadId at = id - cad_graph_first(s->graph, i);
    if (is_constant(&s->graph->records[i])) {
        if (s->names[i] == CAD_NO_ID) {
            s->names[i] = cad_graph_copy(&copier, i);
        }
        return s->names[i] + at;
    }
    return s->varies.records[i] ? s->names[i] + at : s->part->inputs + (s->names[i] - 1) + at;
}

/* --- all of it --- */

/* Guards need what they look at, like roots. */
static uint32_t *find_uses(Splitter *s, const CadId *roots, size_t n_roots) {
    const size_t n_guards = s->graph->n_guards;
    CadId *ends = cad_memory_resize(NULL, n_roots + n_guards, sizeof *ends);
    if (ends == NULL) {
        return NULL;
    }
    memcpy(ends, roots, n_roots * sizeof *ends);
    for (size_t k = 0; k < n_guards; k++) {
        ends[n_roots + k] = s->graph->guards[k].id;
    }
    uint32_t *const uses = cad_graph_uses(s->graph, ends, n_roots + n_guards);
    cad_memory_free(ends);
    return uses;
}

static void share_guards(Splitter *s) {
    CadGraph *graph = s->graph;
    size_t kept = 0;
    for (size_t k = 0; k < graph->n_guards && s->status == CAD_OK; k++) {
        const CadOutcome guard = graph->guards[k];
        if (varies(s, guard.id)) {
            CadGraph *const part = s->part->graph;
            s->status = cad_graph_guard(part, name_of(s, guard.id), guard.value);
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
    const CadCopier copier = {graph, part->graph, name_of, name_of, 0, s};
    for (size_t i = 0; i < graph->n_records; i++) {
        if (i != own && s->uses[i] == 0) {
            s->varies.records[i] = 0;
        }
        if (s->varies.records[i]) {
            cad_graph_visit(graph, i, add_given, s);
        }
    }
    for (size_t k = 0; k < n_roots; k++) {
        add_given(s, roots[k]);
    }
    if (s->status != CAD_OK) {
        return;
    }
    part->own = cad_graph_input(part->graph, graph->records[own].of.array.size);
    part->inputs = part->n_given > 0 ? cad_graph_input(part->graph, part->n_given) : CAD_NO_ID;
    s->names[own] = part->own;
    for (size_t i = 0; i < graph->n_records; i++) {
        if (s->varies.records[i] && i != own) {
            s->names[i] = cad_graph_copy(&copier, i);
        }
    }
    for (size_t k = 0; k < n_roots && s->status == CAD_OK; k++) {
        roots[k] = name_of(s, roots[k]);
    }
    share_guards(s);
    s->status = s->status == CAD_OK ? part->graph->status : s->status;
}

/* Find what depends on an input, all of whose numbers are variables. */
static CadStatus find_varying(Splitter *s, size_t own) {
    const CadRecord *input = &s->graph->records[own];
    CadId *ids = cad_memory_resize(NULL, input->of.array.size, sizeof *ids);
    if (ids == NULL) {
        return CAD_NO_MEMORY;
    }
    for (uint32_t k = 0; k < input->of.array.size; k++) {
        ids[k] = input->of.array.first + k;
    }
    const CadStatus status =
        cad_graph_find_active(s->graph, ids, input->of.array.size, 1, &s->varies);
    cad_memory_free(ids);
    return status;
}

CadStatus cad_graph_split(CadGraph *graph, CadId input, CadId *roots, size_t n_roots,
                          CadPart *part) {
    Splitter splitter = {.graph = graph, .part = part};
    Splitter *s = &splitter;
    const size_t own = cad_graph_record_of(graph, input);
    *part = (CadPart){NULL, CAD_NO_ID, CAD_NO_ID, NULL, 0};
    s->uses = find_uses(s, roots, n_roots);
    s->names = cad_memory_zeroed(graph->n_records, sizeof *s->names);
    s->status = find_varying(s, own);
    part->graph = cad_graph_new(graph->optimize);
    if (s->uses == NULL || s->names == NULL || part->graph == NULL) {
        s->status = CAD_NO_MEMORY;
    }
    if (s->status == CAD_OK) {
        make_part(s, own, roots, n_roots);
    }
    cad_memory_free(s->uses);
    cad_memory_free(s->names);
    cad_graph_forget_active(&s->varies);
    return s->status;
}
