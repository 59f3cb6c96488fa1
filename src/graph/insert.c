/* A graph within another one: what it computes, as numbers of that one, of other inputs. */
#include "graph/inner.h"

typedef struct Inserter {
    CadGraph *from;
    CadGraph *to;
    CadId *names;    /* of each record its first number there, */
    CadId *operands; /* and of each number of an input what stands in its place */
} Inserter;

/* Numbers that stand in a row there need not be packed. */
static CadId name_input(const Inserter *in, const CadRecord *input) {
    const CadId *const ids = in->operands + input->of.array.first;
    const uint32_t size = input->of.array.size;
    int in_row = cad_record_is_array(cad_graph_record(in->to, ids[0]));
    for (uint32_t k = 1; k < size && in_row; k++) {
        in_row = ids[k] == ids[0] + k;
    }
    in_row = in_row &&
             cad_graph_record_of(in->to, ids[0]) == cad_graph_record_of(in->to, ids[size - 1]);
    return in_row ? ids[0] : cad_graph_pack(in->to, ids, size);
}

static CadId view_name(void *inserter, CadId id) {
    Inserter *in = inserter;
    const uint32_t i = cad_graph_record_of(in->from, id);
    if (in->names[i] == CAD_NO_ID) {
        in->names[i] = name_input(in, &in->from->records[i]);
    }
    return in->names[i] + (id - cad_graph_first(in->from, i));
}

static CadId number_name(void *inserter, CadId id) {
    Inserter *in = inserter;
    return cad_graph_record(in->from, id)->kind == CAD_RECORD_INPUT ? in->operands[id]
                                                                    : view_name(inserter, id);
}

CadStatus cad_graph_insert(CadGraph *graph, CadGraph *from, const CadId *inputs,
                           const CadId *operands, size_t n_inputs, const CadId *outputs,
                           size_t n_outputs, CadId *results) {
    Inserter in = {.from = from, .to = graph};
    const CadCopier copier = {from, graph, number_name, view_name, 1, &in};
    uint32_t *uses = cad_graph_uses(from, outputs, n_outputs);
    in.names = cad_memory_zeroed(from->n_records, sizeof *in.names);
    in.operands = cad_memory_zeroed(from->n_numbers, sizeof *in.operands);
    if (uses == NULL || in.names == NULL || in.operands == NULL) {
        graph->status = CAD_NO_MEMORY;
    } else {
        for (size_t k = 0; k < n_inputs; k++) {
            in.operands[inputs[k]] = operands[k];
        }
        for (size_t i = 1; i < from->n_records && graph->status == CAD_OK; i++) {
            if (uses[i] > 0 && from->records[i].kind != CAD_RECORD_INPUT) {
                in.names[i] = cad_graph_copy(&copier, i);
            }
        }
    }
    for (size_t k = 0; k < n_outputs && graph->status == CAD_OK; k++) {
        results[k] = number_name(&in, outputs[k]);
    }
    cad_memory_free(uses);
    cad_memory_free(in.names);
    cad_memory_free(in.operands);
    return graph->status;
}
