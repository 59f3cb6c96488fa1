/* Bodies of recurrences: graphs of single numbers and constants, which have the same numbers where
 * they are copied to. */
#include "graph/inner.h"

void cad_scan_free(CadScan *scan) {
    cad_graph_free(scan->body);
    cad_memory_free(scan->ends);
    cad_memory_free(scan->steps);
}

CadGraph *cad_scan_body(size_t n_inputs) {
    CadGraph *const body = cad_graph_new(1);
    if (body != NULL && n_inputs > 0) {
        cad_graph_input(body, n_inputs, 0);
    }
    if (body != NULL && body->status != CAD_OK) {
        cad_graph_free(body);
        return NULL;
    }
    return body;
}

static CadGraph *copied_body(const CadGraph *body, size_t n_inputs) {
    CadGraph *const copy = cad_scan_body(n_inputs);
    for (size_t i = 2; i < body->n_records && copy != NULL; i++) {
        const CadRecord *const record = &body->records[i];
        const CadId *const x = record->of.operands;
        if (record->kind == CAD_RECORD_CONSTANT) {
            cad_graph_constant(copy, cad_record_value(record));
        } else if (record->kind != CAD_RECORD_INPUT) {
            cad_graph_single(copy, (CadOp)record->op, x[0], x[1], x[2]);
        }
    }
    return copy;
}

CadStatus cad_scan_copy(const CadScan *scan, CadScan *copy) {
    const size_t n_ends = scan->n_carried + scan->n_kept + scan->n_summed;
    *copy = *scan;
    copy->body = copied_body(scan->body, scan->n_carried + scan->n_given);
    copy->ends = cad_memory_copied(scan->ends, n_ends, sizeof *scan->ends);
    copy->steps = cad_memory_copied(scan->steps, scan->n_given, sizeof *scan->steps);
    if (copy->body == NULL || copy->body->status != CAD_OK || copy->ends == NULL ||
        copy->steps == NULL) {
        cad_scan_free(copy);
        return CAD_NO_MEMORY;
    }
    return CAD_OK;
}
