/* Bodies of recurrences: graphs of what a turn computes. */
#include "graph/inner.h"
#include "table/codes.h"

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
    const int is_one = is_all_single(sizes, n);
    for (size_t k = 0; k < (is_one ? n > 0 : n); k++) {
        cad_graph_input(body, is_one ? n : sizes[k], 0);
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

static int has_none_beyond(const CadGraph *body, CadRecordKind kind) {
    for (size_t i = 1; i < body->n_records; i++) {
        if (body->records[i].kind > kind) {
            return 0;
        }
    }
    return 1;
}

int cad_body_is_of_singles(const CadGraph *body, const uint32_t *sizes, size_t n) {
    return has_none_beyond(body, CAD_RECORD_PACK) && is_all_single(sizes, n);
}

int cad_scan_is_of_singles(const CadScan *scan) {
    return has_none_beyond(scan->body, CAD_RECORD_CONSTANTS) &&
           is_all_single(scan->sizes, scan->n_given + cad_scan_n_ends(scan));
}

/* It takes longer to compute than to copy: arrays, sums, calls, and ends of a loop within. */
int cad_record_is_costly(const CadRecord *record) {
    if (record->kind == CAD_RECORD_PACK || record->kind == CAD_RECORD_SCAN) {
        return 0;
    }
    return record->kind == CAD_RECORD_CALL || record->kind == CAD_RECORD_END ||
           cad_op_info[record->op].calls ||
           (record->kind == CAD_RECORD_MAP &&
            (record->of.array.size >= CAD_SHORT_BLOCK || cad_op_is_kind((CadOp)record->op)));
}
