/* A graph within another one: its results become numbers of that one, for other inputs. */
#include "graph/inner.h"

CadStatus cad_graph_insert_rest(CadGraph *graph, CadGraph *from, const CadKnown *known,
                                size_t n_known, const CadId *inputs, const CadId *operands,
                                size_t n_inputs, const CadId *outputs, size_t n_outputs,
                                CadId *results) {
    CadMemory memory = {0};
    CadId *const by_number = cad_memory_take(&memory, from->n_numbers, sizeof *by_number);
    const CadCopier copier = {from, graph,
                              cad_memory_take(&memory, from->n_records, sizeof *copier.names),
                              by_number, 1};
    uint8_t *const marks = cad_memory_take(&memory, from->n_records, 1);
    if (memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        for (size_t k = 0; k < n_inputs; k++) {
            by_number[inputs[k]] = operands[k];
        }
        for (size_t k = 0; k < n_known; k++) {
            const uint32_t i = cad_graph_record_of(from, known[k].of);
            copier.names[i] = known[k].by;
            marks[i] = 1;
        }
        cad_graph_copy_needed(&copier, marks, outputs, n_outputs, results);
    }
    cad_memory_give_back(&memory);
    return graph->status;
}

CadStatus cad_graph_insert(CadGraph *graph, CadGraph *from, const CadId *inputs,
                           const CadId *operands, size_t n_inputs, const CadId *outputs,
                           size_t n_outputs, CadId *results) {
    return cad_graph_insert_rest(graph, from, NULL, 0, inputs, operands, n_inputs, outputs,
                                 n_outputs, results);
}
