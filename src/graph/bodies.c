/* Bodies of recurrences: graphs that have the same numbers where they are copied to; and blocks,
 * which are what turns hand on. */
#include "graph/inner.h"

void cad_scan_free(CadScan *scan) {
    cad_graph_free(scan->body);
    cad_memory_free(scan->ends);
    cad_memory_free(scan->steps);
    cad_memory_free(scan->sizes);
}

static int is_all_single(const uint32_t *sizes, size_t n) {
    return cad_sum_of_sizes(sizes, n) == n;
}

/* What a turn computes is handed on as doubles. */
CadGraph *cad_scan_body_of(const uint32_t *sizes, size_t n) {
    CadGraph *const body = cad_graph_new(1);
    if (body == NULL) {
        return NULL;
    }
    body->keeps_doubles = 1;
    if (is_all_single(sizes, n)) {
        if (n > 0) {
            cad_graph_input(body, n, 0);
        }
    } else {
        for (size_t k = 0; k < n; k++) {
            cad_graph_input(body, sizes[k], 0);
        }
    }
    if (body->status != CAD_OK) {
        cad_graph_free(body);
        return NULL;
    }
    return body;
}

CadGraph *cad_scan_body(size_t n_inputs) {
    const uint32_t size = (uint32_t)n_inputs;
    return cad_scan_body_of(&size, n_inputs > 0);
}

static CadGraph *copied_body(CadGraph *body, const uint32_t *sizes, size_t n) {
    CadGraph *copy = cad_scan_body_of(sizes, n);
    CadMemory memory = {0};
    const CadCopier copier = {
        .from = body,
        .to = copy,
        .names = cad_memory_take(&memory, body->n_records, sizeof *copier.names),
    };
    if (memory.status != CAD_OK) {
        cad_graph_free(copy);
        return NULL;
    }
    for (size_t i = 1; i < body->n_records && copy != NULL; i++) {
        copier.names[i] = body->records[i].kind == CAD_RECORD_INPUT ? cad_graph_first(body, i)
                                                                    : cad_graph_copy(&copier, i);
    }
    cad_memory_give_back(&memory);
    return copy;
}

CadStatus cad_scan_copy(const CadScan *scan, CadScan *copy) {
    const size_t n_ends = cad_scan_n_ends(scan);
    *copy = *scan;
    copy->body = copied_body(scan->body, scan->sizes, cad_scan_n_operands(scan));
    copy->ends = cad_memory_copied(scan->ends, n_ends, sizeof *scan->ends);
    copy->steps = cad_memory_copied(scan->steps, scan->n_given, sizeof *scan->steps);
    copy->sizes =
        cad_memory_copied(scan->sizes, n_ends + scan->n_given, sizeof *scan->sizes);
    if (copy->body == NULL || copy->body->status != CAD_OK || copy->ends == NULL ||
        copy->steps == NULL || copy->sizes == NULL) {
        cad_scan_free(copy);
        return CAD_NO_MEMORY;
    }
    return CAD_OK;
}

CadId cad_graph_block(CadGraph *graph, const CadId *ids, size_t size) {
    return size == 1 || cad_graph_are_in_row(graph, ids, size) ? ids[0]
                                                               : cad_graph_pack(graph, ids, size);
}

int cad_body_is_of_singles(const CadGraph *body, const uint32_t *sizes, size_t n) {
    for (size_t i = 1; i < body->n_records; i++) {
        const CadRecord *const record = &body->records[i];
        if (record->kind > CAD_RECORD_PACK) {
            return 0;
        }
    }
    return is_all_single(sizes, n);
}

int cad_scan_is_of_singles(const CadScan *scan) {
    return cad_body_is_of_singles(scan->body, scan->sizes,
                                  scan->n_given + cad_scan_n_ends(scan));
}

CadId cad_graph_repeated(CadGraph *graph, CadId id, size_t size) {
    CadRoom room = {0};
    CadId *const ids = cad_graph_room(graph, &room, size);
    if (ids == NULL) {
        return id;
    }
    for (size_t e = 0; e < size; e++) {
        ids[e] = id;
    }
    const CadId first = size > 1 ? cad_graph_pack(graph, ids, size) : id;
    cad_memory_free(ids);
    return first;
}

CadId cad_graph_added(CadGraph *graph, CadId x, CadId y, size_t size) {
    const CadDerivatives sum =
        cad_derivatives_sum(graph, (CadDerivatives){x, 1}, (CadDerivatives){y, 1}, size);
    return size == 1 || sum.step == 1 ? sum.first : cad_graph_repeated(graph, sum.first, size);
}
