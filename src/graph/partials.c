/* The partials of the table as numbers of a graph, over a shape. A condition is a number, too: 1
 * where it holds, else 0. */
#include "graph/inner.h"

#include "table/special.h"

#define IF(condition, x, y) A(where, condition, x, y)
#define AND(x, y) A(multiply, x, y)
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

/* --- the table --- */

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
