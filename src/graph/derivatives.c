/* Derivatives of the numbers of a record, which pulls and pushes hand about: one for each of them,
 * or one for all. */
#include "graph/inner.h"

static const int64_t row_strides[2] = {0, 1};

CadNumbers cad_derivatives_in_row(CadDerivatives given) {
    return (CadNumbers){given.first, &row_strides[given.step]};
}

CadNumbers cad_derivatives_of_view(CadDerivatives given, CadNumbers view) {
    return given.step == 0 ? (CadNumbers){given.first, cad_no_strides}
                           : (CadNumbers){given.first + view.first, view.strides};
}

CadDerivatives cad_derivatives_sum(CadGraph *graph, CadDerivatives x, CadDerivatives y,
                                   size_t size) {
    if (x.first == CAD_NO_ID || y.first == CAD_NO_ID) {
        return x.first == CAD_NO_ID ? y : x;
    }
    const int64_t length = (int64_t)size;
    const CadShape shape = {graph, 1, &length, &row_strides[1], size};
    const CadNumbers other = cad_derivatives_in_row(y);
    const CadNumbers sum =
        cad_graph_apply_over(&shape, CAD_OP_add, cad_derivatives_in_row(x), other, other);
    return (CadDerivatives){sum.first, sum.strides[0] != 0};
}

CadDerivatives cad_derivatives_in_order(const CadShape *shape, CadNumbers view,
                                        CadNumbers source) {
    if (cad_is_single(shape, source)) {
        return (CadDerivatives){source.first, 0};
    }
    const size_t bytes = (size_t)shape->ndim * sizeof *view.strides;
    if (view.first == 0 && memcmp(source.strides, view.strides, bytes) == 0) {
        return (CadDerivatives){source.first, 1};
    }
    const CadNumbers views[2] = {view, source};
    return (CadDerivatives){cad_graph_map(shape->graph, CAD_OP_positive, shape->size, shape->ndim,
                                          shape->lengths, 2, views),
                            1};
}

CadDerivatives cad_derivatives_apart(CadGraph *graph, CadDerivatives given, size_t size) {
    if (given.first == CAD_NO_ID || given.step != 0) {
        return given;
    }
    const int64_t length = (int64_t)size;
    const CadNumbers views[2] = {{0, &row_strides[1]}, cad_derivatives_in_row(given)};
    return (CadDerivatives){cad_graph_map(graph, CAD_OP_positive, size, 1, &length, 2, views), 1};
}

CadDerivatives cad_derivatives_listed(CadGraph *graph, const CadId *ids, size_t size) {
    size_t same = 0;
    for (size_t i = 0; i < size; i++) {
        same += ids[i] == ids[0];
    }
    return same == size ? (CadDerivatives){ids[0], 0}
                        : (CadDerivatives){cad_graph_pack(graph, ids, size), 1};
}

/* --- blocks --- */

/* Blocks are what turns hand on: numbers in a row, of one record. */
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
