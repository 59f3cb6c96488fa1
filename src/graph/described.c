/* What a graph is made of, for those who compare graphs: records as hashes of all but the numbers
 * that they read, and these numbers. */
#include "graph/inner.h"
#include "kernels/digest.h"

static uint64_t mixed(uint64_t hash, uint64_t next) {
    return (hash ^ next) * 0x9e3779b97f4a7c15u ^ hash >> 29;
}

static uint64_t hash_of_views(const CadMade *made) {
    uint64_t hash = (uint64_t)made->ndim << 8 | (uint64_t)made->n_views;
    for (int i = 0; i < made->ndim; i++) {
        hash = mixed(hash, (uint64_t)made->shape[i]);
    }
    for (int k = 0; k < made->n_views; k++) {
        /* That of a result is a place in it; a call has none. */
        hash = mixed(hash, k == 0 && made->kind != CAD_RECORD_CALL ? made->views[0].first : 0);
        for (int i = 0; i < made->ndim; i++) {
            hash = mixed(hash, (uint64_t)made->views[k].strides[i]);
        }
    }
    return mixed(mixed(hash, (uint64_t)made->length), (uint64_t)made->stride);
}

static uint64_t hash_of(CadGraph *graph, size_t i, const uint64_t *forms, CadMade *made) {
    const CadRecord *const record = &graph->records[i];
    uint64_t hash = mixed((uint64_t)record->kind << 32 | record->op, cad_record_size(record));
    if (record->kind == CAD_RECORD_CONSTANT) {
        const double value = cad_record_value(record);
        return mixed(hash, cad_digest(&value, sizeof value));
    }
    if (record->kind == CAD_RECORD_CONSTANTS) {
        return mixed(hash, cad_digest(graph->constants + made->list, made->size * sizeof(double)));
    }
    if (record->kind == CAD_RECORD_CALL) {
        hash = mixed(hash, forms[made->number]);
    }
    return cad_record_has_plan(record) ? mixed(hash, hash_of_views(made)) : hash;
}

/* The numbers that a record reads; views begin with the result, but for calls. */
static size_t read_by(CadGraph *graph, size_t i, const CadMade *made, CadId *to) {
    const CadRecord *const record = &graph->records[i];
    size_t n = 0;
    if (record->kind == CAD_RECORD_PACK) {
        if (to != NULL) {
            memcpy(to, cad_graph_packed(graph, record), made->size * sizeof *to);
        }
        return made->size;
    }
    for (int k = record->kind != CAD_RECORD_CALL; k < made->n_views; k++, n++) {
        if (to != NULL) {
            to[n] = made->views[k].first;
        }
    }
    return n;
}

size_t cad_graph_describe(CadGraph *graph, const uint64_t *forms, CadDescribed *described) {
    size_t n = 0;
    CadId next = 0;
    for (size_t i = 0; i < graph->n_records; i++) {
        const CadRecord *const record = &graph->records[i];
        CadAxes axes;
        CadMade made = {.kind = CAD_RECORD_NONE};
        if (i > 0) {
            cad_graph_look(graph, i, axes, &made);
        }
        const size_t count =
            read_by(graph, i, &made, described != NULL ? described->operands + n : NULL);
        if (described != NULL) {
            described->first[i] = next;
            described->sizes[i] = cad_record_size(record);
            described->hashes[i] = i > 0 ? hash_of(graph, i, forms, &made) : 0;
            described->kinds[i] = record->kind;
            described->begins[i] = (uint32_t)n;
        }
        n += count;
        next += cad_record_size(record);
    }
    return n;
}
