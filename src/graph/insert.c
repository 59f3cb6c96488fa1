/* A graph within another one: what it computes, as numbers of that one, of other inputs. */
#include "graph/inner.h"

CadStatus cad_graph_insert(CadGraph *graph, CadGraph *from, const CadId *inputs,
                           const CadId *operands, size_t n_inputs, const CadId *outputs,
                           size_t n_outputs, CadId *results) {
    CadMemory memory = {0};
    CadId *const by_number = cad_memory_take(&memory, from->n_numbers, sizeof *by_number);
    const CadCopier copier = {from, graph,
                              cad_memory_take(&memory, from->n_records, sizeof *copier.names),
                              by_number, 1};
    const uint32_t *uses = cad_graph_uses(from, &memory, outputs, n_outputs, 0);
    if (memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        for (size_t k = 0; k < n_inputs; k++) {
            by_number[inputs[k]] = operands[k];
        }
        for (size_t i = 1; i < from->n_records && graph->status == CAD_OK; i++) {
            if (uses[i] > 0 && from->records[i].kind != CAD_RECORD_INPUT) {
                copier.names[i] = cad_graph_copy(&copier, i);
            }
        }
    }
    for (size_t k = 0; k < n_outputs && graph->status == CAD_OK; k++) {
        results[k] = cad_copier_name(&copier, outputs[k]);
    }
    cad_memory_give_back(&memory);
    return graph->status;
}
