/* The partials of the table as numbers of a graph, over a shape. A condition is a number, too: 1
 * where it holds, else 0. */
#include "graph/inner.h"

#include "table/special.h"

#define IF(condition, x, y) A(where, condition, x, y)
#define AND(x, y) both(context, x, y)
#define OR(x, y) A(maximum, x, y)
#define LT(x, y) A(less, x, y)
#define LE(x, y) A(less_equal, x, y)
#define EQ(x, y) A(equal, x, y)
#define NE(x, y) A(not_equal, x, y)
#define ABS(x) A(absolute, x)
#define C(constant) K(constant)
#define L(number) (number)
#define P(number) (number)
#define A(name, ...) FIRST3(name, __VA_ARGS__, NONE, NONE, )
#define FIRST3(name, x, y, z, ...) cad_graph_apply_over(context, CAD_OP_##name, x, y, z)
#define NONE ((CadNumbers){CAD_NO_ID, NULL})
#define K(constant) ((CadNumbers){cad_graph_constant(context->graph, constant), cad_no_strides})

/* Whether all numbers are one constant. */
static int is_everywhere(const CadShape *shape, CadNumbers x, double value) {
    return cad_is_single(shape, x) && cad_graph_is(shape->graph, x.first, value);
}

CadNumbers cad_graph_apply_over(const CadShape *shape, CadOp op, CadNumbers x, CadNumbers y,
                                CadNumbers z) {
    const int arity = cad_op_info[op].arity;
    CadNumbers views[4] = {{0, shape->in_order}, x, y, z};
    int single = 1;
    for (int k = 1; k <= arity; k++) {
        views[k] = cad_graph_as_one(shape, views[k]);
        single = single && cad_is_single(shape, views[k]);
    }
    if (single) {
        return (CadNumbers){
            cad_graph_apply(shape->graph, op, views[1].first, views[2].first, views[3].first),
            cad_no_strides};
    }
    if (shape->graph->optimize && op == CAD_OP_power && is_everywhere(shape, views[2], 2.0)) {
        return cad_graph_apply_over(shape, CAD_OP_square, x, x, x);
    }
    if (shape->graph->optimize) {
        const CadNumbers there = cad_graph_foregone(shape, op, views + 1);
        if (there.first != CAD_NO_ID) {
            return there;
        }
    }
    return (CadNumbers){cad_graph_map(shape->graph, op, shape->size, shape->ndim, shape->lengths,
                                      arity + 1, views),
                        shape->in_order};
}

CadNumbers cad_graph_kind_over(const CadShape *shape, CadOp op, int n_views,
                               const CadNumbers *views) {
    int64_t terms = 1, numbers = 1; /* of the sums, and of those that are no single ones */
    for (int i = 0; i < shape->ndim; i++) {
        terms *= shape->lengths[i];
        numbers *= views[0].strides[i] != 0 ? shape->lengths[i] : 1;
    }
    const int single = cad_is_single(shape, views[1]) || cad_is_single(shape, views[n_views - 1]);
    if (shape->graph->optimize && n_views == 3 && cad_op_sums_up(op) && terms == numbers &&
        (single || !cad_op_multiplies(op))) {
        return cad_graph_apply_over(
            &(CadShape){shape->graph, shape->ndim, shape->lengths, views[0].strides, shape->size},
            CAD_OP_multiply, views[1], views[2], views[2]);
    }
    return (CadNumbers){
        cad_graph_map(shape->graph, op, shape->size, shape->ndim, shape->lengths, n_views, views),
        views[0].strides};
}

CadNumbers cad_graph_product(const CadShape *shape, CadNumbers x, CadNumbers y) {
    double c;
    if (shape->ndim == 0) {
        return cad_graph_apply_over(shape, CAD_OP_amul, x, y, y);
    }
    x = cad_graph_as_one(shape, x);
    y = cad_graph_as_one(shape, y);
    const int plain = (cad_is_single(shape, x) &&
                       cad_graph_is_constant(shape->graph, x.first, &c) && isfinite(c)) ||
                      (cad_is_single(shape, y) &&
                       cad_graph_is_constant(shape->graph, y.first, &c) && isfinite(c));
    if (plain && c == 0.0) {
        return (CadNumbers){cad_graph_constant(shape->graph, 0.0), cad_no_strides};
    }
    return cad_graph_apply_over(shape, plain ? CAD_OP_multiply : CAD_OP_amul, x, y, y);
}

/* --- the table --- */

/* Whether two conditions hold: of one that is known nothing is computed. */
static CadNumbers both(const CadShape *context, CadNumbers x, CadNumbers y) {
    if (context->graph->optimize && is_everywhere(context, x, 0.0)) {
        return x;
    }
    return cad_graph_apply_over(context, CAD_OP_multiply, x, y, y);
}

CadNumbers cad_graph_partials(const CadShape *context, CadOp op, int which,
                              const CadNumbers operands[4]) {
    const CadNumbers x = operands[0], y = operands[1], z = operands[2], v = operands[3];
    (void)v, (void)y, (void)z;
    switch ((int)op * 4 + which) {
#include "ops_partials.h"
    default:
        return (CadNumbers){cad_graph_constant(context->graph, NAN), cad_no_strides};
    }
}
