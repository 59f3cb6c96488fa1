/* Blocks, which are what turns hand on: numbers in a row, of one record. */
#include "graph/inner.h"

CadId cad_graph_block(CadGraph *graph, const CadId *ids, size_t size) {
    return size == 1 || cad_graph_are_in_row(graph, ids, size) ? ids[0]
                                                               : cad_graph_pack(graph, ids, size);
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
