/* Products of matrices that are added to one target, as one product: with operands behind one
 * another along the axis that a product adds up over,
 *
 *   A1 B1 + A2 B2 + … = (A1 A2 …) (B1
 *                                  B2
 *                                  …)
 *
 * The same numbers are multiplied, and added in another order. */
#include "graph/inner.h"

/* An operand of a product: rows of numbers that belong together, as many as are added up over. */
typedef struct Side {
    CadId first;
    int64_t length, stride; /* of a row */
    int64_t count, next;    /* rows, and from one to the next */
} Side;

static Side side(CadGraph *graph, CadId product, int view) {
    const int outer = view == 1 ? 0 : 2;
    CadAxes axes;
    CadMade made;
    cad_graph_look(graph, cad_graph_record_of(graph, product), axes, &made);
    const CadNumbers x = made.views[view];
    return (Side){x.first, made.shape[outer], x.strides[outer], made.shape[1], x.strides[1]};
}

int cad_graph_is_product(CadGraph *graph, CadId first, CadAxes axes, CadMade *made) {
    const uint32_t i = cad_graph_record_of(graph, first);
    const CadRecord *record = &graph->records[i];
    if (record->kind != CAD_RECORD_MAP || !cad_op_multiplies((CadOp)record->op) ||
        record->of.array.first != first || cad_graph_plan(graph, record)->ndim != 3) {
        return 0;
    }
    cad_graph_look(graph, i, axes, made);
    return made->size == (size_t)(made->shape[0] * made->shape[2]);
}

/* Whether all rows stand in one array at even distances, as a matrix that products read without
 * copying it. */
static int stand_evenly(CadGraph *graph, const CadId *products, size_t n, int view, Side *all) {
    *all = side(graph, products[0], view);
    const int64_t second = side(graph, products[1], view).first, begin = all->first;
    const int64_t step = all->count > 1 ? all->next : second - begin;
    const uint32_t array = cad_graph_record_of(graph, all->first);
    int64_t rows = 0;
    for (size_t k = 0; k < n; k++) {
        const Side x = side(graph, products[k], view);
        if (x.first != begin + step * rows || x.stride != all->stride ||
            (x.count > 1 && x.next != step) || cad_graph_record_of(graph, x.first) != array) {
            return 0;
        }
        rows += x.count;
    }
    all->count = rows;
    all->next = step;
    return (step >= all->length && (all->stride == 1 || all->length == 1)) ||
           (step == 1 && all->stride >= rows);
}

/* All rows behind one another. */
static Side packed(CadGraph *graph, const CadId *products, size_t n, int view, size_t count) {
    CadRoom room = {NULL, 0};
    Side all = side(graph, products[0], view);
    CadId *const ids = cad_graph_room(graph, &room, count);
    if (ids == NULL) {
        return all;
    }
    size_t m = 0;
    for (size_t k = 0; k < n; k++) {
        const Side x = side(graph, products[k], view);
        for (int64_t row = 0; row < x.count; row++) {
            for (int64_t i = 0; i < x.length; i++) {
                ids[m++] = (CadId)(x.first + row * x.next + i * x.stride);
            }
        }
    }
    all.first = cad_graph_pack(graph, ids, count);
    all.count = (int64_t)count / all.length;
    all.stride = 1;
    all.next = all.length;
    cad_memory_free(ids);
    return all;
}

CadId cad_graph_add_products(CadGraph *graph, const CadId *products, size_t n) {
    enum { CALL = 256 }; /* what a product and an addition cost by themselves, in numbers moved */
    CadAxes axes;
    CadMade made;
    Side sides[2];
    int even[2];
    size_t moved = 0, rows = 0;
    for (size_t k = 0; k < n; k++) {
        rows += (size_t)side(graph, products[k], 1).count;
    }
    cad_graph_look(graph, cad_graph_record_of(graph, products[0]), axes, &made);
    for (int j = 0; j < 2; j++) {
        even[j] = stand_evenly(graph, products, n, j + 1, &sides[j]);
        moved += even[j] ? 0 : rows * (size_t)sides[j].length;
    }
    if (rows == 0 || moved > n * (made.size + CALL)) {
        return CAD_NO_ID;
    }
    for (int j = 0; j < 2; j++) {
        if (!even[j]) {
            sides[j] = packed(graph, products, n, j + 1, rows * (size_t)sides[j].length);
        }
        axes[j + 1][j == 0 ? 0 : 2] = sides[j].stride;
        axes[j + 1][1] = sides[j].next;
        made.views[j + 1].first = sides[j].first;
    }
    axes[4][1] = (int64_t)rows;
    return cad_graph_make(graph, graph, &made);
}
