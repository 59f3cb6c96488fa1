/* Jacobians entry by entry: of the rows of derivatives along edges, forward of numbers by the
 * variables and backward of the outputs by numbers, those that take fewer products. */
#include "graph/edge_rows.h"

/* An entry is a number of its own, while tangents go in lanes and by arrays. By entries it is
 * faster with up to so many products for each edge, fewer where they are of products of matrices,
 * which go at several numbers a cycle. And in all not more than can be made in a second, unless
 * rows are short throughout. */
enum { PRODUCTS_PER_EDGE = 128, PRODUCTS_PER_FACTOR = 16, FEW_PRODUCTS = 1 << 12 };
enum { MOST_PRODUCTS = 1 << 21, SHORT_ROW = 6 };
enum { MOST_EDGES = 1 << 23 };

static size_t most_products(const CadEdges *edges) {
    size_t most = FEW_PRODUCTS + PRODUCTS_PER_FACTOR * edges->n_factors;
    if (edges->n > edges->n_factors) {
        most += PRODUCTS_PER_EDGE * (edges->n - edges->n_factors);
    }
    const size_t in_all =
        SHORT_ROW * edges->n > MOST_PRODUCTS ? SHORT_ROW * edges->n : (size_t)MOST_PRODUCTS;
    return most < in_all ? most : in_all;
}

CadStatus cad_graph_jacobian(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                             size_t n_outputs, CadPattern *pattern, CadId **entries) {
    CadEdges edges;
    *pattern = (CadPattern){0};
    *entries = NULL;
    const CadStatus status =
        cad_graph_edges(graph, wrt, n_wrt, outputs, n_outputs, MOST_EDGES, 0, &edges);
    CadRows rows = cad_rows_of(graph, &edges, wrt, n_wrt, outputs, n_outputs);
    CadRows *const r = &rows;
    r->most_products = most_products(&edges);
    r->most_work = SIZE_MAX;
    if (status == CAD_OK && !edges.too_many && cad_rows_begin(r) == CAD_OK) {
        size_t products[2];
        for (int forward = 0; forward < 2; forward++) {
            cad_rows_set_way(r, forward);
            products[forward] = cad_rows_make(r, 0) ? r->products : SIZE_MAX;
        }
        if (products[0] < products[1]) {
            cad_rows_set_way(r, 0);
        }
        if ((products[0] < SIZE_MAX || products[1] < SIZE_MAX) && cad_rows_make(r, 1)) {
            cad_rows_read(r, pattern, entries);
        }
    }
    cad_rows_free(r);
    cad_edges_free(&edges);
    return graph->status;
}
