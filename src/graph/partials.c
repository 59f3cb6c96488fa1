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
