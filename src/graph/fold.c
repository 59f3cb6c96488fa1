/* Simpler numbers in the place of an operation: constants are folded, and operations replaced by
 * cheaper ones wherever every result is the same, nan, infinities, rounding and signs of zeros
 * included; whole powers alone may differ in the last digits. */
#include "graph/inner.h"

#include <math.h>

typedef struct Operand {
    CadId id;
    CadId first;  /* the first operand of what it is the result of, */
    uint32_t op;  /* a row over single numbers; else 0 */
    int is_array; /* that it is an element of */
    int is_many;  /* it is an array itself, of which `id` is the first element */
    int is_constant;
    double value;
} Operand;

static inline void look(CadGraph *graph, CadId id, Operand *operand) {
    const CadRecord *record = cad_graph_record(graph, id);
    operand->id = id;
    operand->op = 0;
    operand->is_many = 0;
    operand->is_array = cad_record_is_array(record);
    operand->is_constant = record->kind == CAD_RECORD_CONSTANT;
    if (record->kind == CAD_RECORD_SINGLE) {
        operand->op = record->op;
        operand->first = record->of.operands[0];
    } else if (operand->is_constant) {
        operand->value = cad_record_value(record);
    } else if (cad_graph_is_constant(graph, id, &operand->value)) {
        operand->is_constant = 1;
        operand->id = cad_graph_constant(graph, operand->value);
        operand->is_array = 0;
    }
}

static int is(const Operand *x, double value) {
    return x->is_constant && x->value == value;
}

/* --- results that are there --- */

typedef enum Signs {
    ANY_SIGN,
    NEVER_MINUS_ZERO,
    NEVER_NEGATIVE,
    ZERO_OR_ONE
} Signs; /* nan has none */

/* What is known of the numbers of an operand, by so many operations before it. Of an operand of an
 * array (`of_array`) a single number says nothing: others may stand beside it. */
static Signs signs(CadGraph *graph, CadId id, int of_array, int depth) {
    const uint32_t i = cad_graph_record_of(graph, id);
    const CadRecord *const record = &graph->records[i];
    if (record->kind == CAD_RECORD_CONSTANT) {
        const double value = cad_record_value(record);
        return !signbit(value) ? NEVER_NEGATIVE : value != 0.0 ? NEVER_MINUS_ZERO : ANY_SIGN;
    }
    if (depth == 0 ||
        (record->kind != CAD_RECORD_MAP && (record->kind != CAD_RECORD_SINGLE || of_array))) {
        return ANY_SIGN;
    }
    CadOperands of;
    cad_graph_operands(graph, i, &of);
    const CadOp op = (CadOp)record->op;
    switch ((int)op) {
    case CAD_OP_exp:
    case CAD_OP_square:
    case CAD_OP_absolute:
        return NEVER_NEGATIVE;
    case CAD_OP_less:
    case CAD_OP_less_equal:
    case CAD_OP_equal:
    case CAD_OP_not_equal:
        return ZERO_OR_ONE;
    case CAD_OP_SUM:
    case CAD_OP_add:
    case CAD_OP_multiply:
    case CAD_OP_maximum:
        break;
    default:
        return ANY_SIGN;
    }
    const int within = record->kind == CAD_RECORD_MAP;
    const Signs x = signs(graph, of.ids[0], within, depth - 1);
    const Signs y = signs(graph, of.ids[of.n - 1], within, depth - 1);
    const Signs least = x < y ? x : y;
    if (op == CAD_OP_multiply || op == CAD_OP_maximum) {
        return least >= NEVER_NEGATIVE ? least : ANY_SIGN;
    }
    return least >= NEVER_NEGATIVE ? NEVER_NEGATIVE : x || y ? NEVER_MINUS_ZERO : ANY_SIGN;
}

enum { ZERO = 3, NONE = -1, DEPTH = 4 };

static Signs signs_of(CadGraph *graph, const Operand *x) {
    return signs(graph, x->id, x->is_many, DEPTH);
}

/* Whether x + y is x: of -0 always. */
static int adds_nothing(CadGraph *graph, const Operand *x, const Operand *y) {
    return is(y, 0.0) && (signbit(y->value) || signs_of(graph, x) != ANY_SIGN);
}

/* Whether x y is 0, whatever y is. */
static int is_nothing(CadGraph *graph, const Operand *x, const Operand *y) {
    return is(x, 0.0) && !signbit(x->value) && signs_of(graph, y) == ZERO_OR_ONE;
}

/* The operand, counted from 0, that an operation answers as it is; or ZERO; NONE, if it has to be
 * carried out. Operands are single numbers, or arrays. */
static int foregone(CadGraph *graph, CadOp op, const Operand *x, const Operand *y) {
    switch ((int)op) {
    case CAD_OP_positive:
        return 0;
    case CAD_OP_add:
        return adds_nothing(graph, y, x) ? 1 : adds_nothing(graph, x, y) ? 0 : NONE;
    case CAD_OP_subtract:
        return is(y, 0.0) && !signbit(y->value) ? 0 : NONE;
    case CAD_OP_multiply:
    case CAD_OP_amul: /* in which a zero absorbs */
        return is(x, 1.0)                                           ? 1
               : is(y, 1.0)                                         ? 0
               : op == CAD_OP_amul && (is(x, 0.0) || is(y, 0.0))    ? ZERO
               : is_nothing(graph, x, y) || is_nothing(graph, y, x) ? ZERO
                                                                    : NONE;
    case CAD_OP_divide:
    case CAD_OP_power:
        return is(y, 1.0) ? 0 : NONE;
    case CAD_OP_where:
        return !x->is_constant ? NONE : x->value != 0.0 ? 1 : 2;
    case CAD_OP_less:
        return is(y, 0.0) && signs_of(graph, x) >= NEVER_NEGATIVE ? ZERO : NONE;
    default:
        return NONE;
    }
}

const int64_t cad_no_strides[CAD_MOST_AXES] = {0};

CadNumbers cad_graph_as_one(const CadShape *shape, CadNumbers x) {
    CadGraph *const graph = shape->graph;
    const CadRecord *const record = cad_graph_record(graph, x.first);
    int64_t lengths[CAD_MOST_AXES];
    if (!graph->optimize || record->kind != CAD_RECORD_CONSTANTS) {
        return x;
    }
    for (int i = 0; i < shape->ndim; i++) {
        lengths[i] = x.strides[i] != 0 ? shape->lengths[i] : 1;
    }
    Steps steps = {.ndim = shape->ndim, .shape = lengths, .n_views = 1, .strides = {x.strides}};
    const double *const values = graph->constants + cad_graph_array(graph, record)->list +
                                 (x.first - record->of.array.first);
    do {
        if (memcmp(&values[steps.at[0]], values, sizeof *values) != 0) {
            return x;
        }
    } while (next_step(&steps));
    return (CadNumbers){cad_graph_constant(graph, *values), cad_no_strides};
}

CadNumbers cad_graph_foregone(const CadShape *shape, CadOp op, const CadNumbers x[3]) {
    Operand of[2] = {{0}};
    for (int k = 0; k < 2 && k < cad_op_info[op].arity; k++) {
        of[k].id = x[k].first;
        of[k].is_many = 1;
        if (cad_is_single(shape, x[k])) {
            look(shape->graph, x[k].first, &of[k]);
        }
    }
    const int which = foregone(shape->graph, op, &of[0], &of[1]);
    return which == NONE   ? (CadNumbers){CAD_NO_ID, NULL}
           : which == ZERO ? (CadNumbers){CAD_ZERO, cad_no_strides}
                           : x[which];
}

/* --- simpler operations --- */

/* The operand of a unary operation that a number is the result of, or CAD_NO_ID. */
static CadId within(CadOp op, const Operand *x) {
    return x->op == (uint32_t)op ? x->first : CAD_NO_ID;
}

static CadId apply1(CadGraph *graph, CadOp op, CadId x) {
    return cad_graph_apply(graph, op, x, x, x);
}

static CadId apply2(CadGraph *graph, CadOp op, CadId x, CadId y) {
    return cad_graph_apply(graph, op, x, y, y);
}

static int is_power_of_two(double x) {
    int exponent;
    return isfinite(x) && fabs(frexp(x, &exponent)) == 0.5 && exponent > -1000 && exponent < 1000;
}

/* c (d x) as (c d) x, where that can neither overflow nor lose digits by itself. */
static CadId scale(CadGraph *graph, double c, const Operand *x) {
    double d;
    if (x->op != CAD_OP_multiply) {
        return CAD_NO_ID;
    }
    const CadId factors[2] = {x->first, cad_graph_record(graph, x->id)->of.operands[1]};
    const int first = cad_graph_is_constant(graph, factors[0], &d);
    if (first || cad_graph_is_constant(graph, factors[1], &d)) {
        const double least = fmin(fabs(c), fabs(d)), most = fmax(fabs(c), fabs(d));
        const double both = c * d;
        if ((least >= 1.0 || most <= 1.0) && isnormal(both) &&
            (is_power_of_two(c) || is_power_of_two(d))) {
            return apply2(graph, CAD_OP_multiply, cad_graph_constant(graph, both),
                          factors[first ? 1 : 0]);
        }
    }
    return CAD_NO_ID;
}

static CadId fold_product(CadGraph *graph, CadOp op, const Operand *x, const Operand *y) {
    if (x->is_constant || y->is_constant) {
        const double c = x->is_constant ? x->value : y->value;
        const Operand *other = x->is_constant ? y : x;
        if (c == -1.0) {
            return apply1(graph, CAD_OP_negative, other->id);
        }
        if (op == CAD_OP_amul &&
            isfinite(c)) { /* which only absorbs a zero, as any product does */
            return apply2(graph, CAD_OP_multiply, x->id, y->id);
        }
        const CadId inner = within(CAD_OP_negative, other);
        if (inner != CAD_NO_ID) {
            return apply2(graph, op, cad_graph_constant(graph, -c), inner);
        }
        return op == CAD_OP_multiply ? scale(graph, c, other) : CAD_NO_ID;
    }
    if (op == CAD_OP_multiply && x->id == y->id) {
        return apply1(graph, CAD_OP_square, x->id);
    }
    const CadId minus_x = within(CAD_OP_negative, x);
    const CadId minus_y = within(CAD_OP_negative, y);
    if (minus_x != CAD_NO_ID && minus_y != CAD_NO_ID) {
        return apply2(graph, op, minus_x, minus_y);
    }
    if (minus_x != CAD_NO_ID || minus_y != CAD_NO_ID) { /* signs go outwards, where they meet */
        const CadId product = minus_x != CAD_NO_ID ? apply2(graph, op, minus_x, y->id)
                                                   : apply2(graph, op, x->id, minus_y);
        return apply1(graph, CAD_OP_negative, product);
    }
    return CAD_NO_ID;
}

static CadId whole_power(CadGraph *graph, CadId x, int n) {
    if (n == 1) {
        return x;
    }
    const CadId squared = apply1(graph, CAD_OP_square, whole_power(graph, x, n / 2));
    return n % 2 == 0 ? squared : apply2(graph, CAD_OP_multiply, squared, x);
}

static CadId fold_power(CadGraph *graph, const Operand *x, const Operand *y) {
    enum { LARGEST = 16 }; /* whole exponent of which products are as good */
    if (!y->is_constant) {
        return CAD_NO_ID;
    }
    if (y->value == 0.0) {
        return cad_graph_constant(graph, 1.0);
    }
    if (y->value == -1.0) {
        return apply1(graph, CAD_OP_reciprocal, x->id);
    }
    return y->value >= 2.0 && y->value <= LARGEST && y->value == floor(y->value)
               ? whole_power(graph, x->id, (int)y->value)
               : CAD_NO_ID;
}

/* The simpler number, or CAD_NO_ID. */
static CadId simplify(CadGraph *graph, CadOp op, const Operand *x, const Operand *y,
                      const Operand *z) {
    const CadId minus_x = within(CAD_OP_negative, x);
    const CadId minus_y = within(CAD_OP_negative, y);
    const int which = foregone(graph, op, x, y);
    if (which != NONE) {
        return which == ZERO ? CAD_ZERO : (which == 0 ? x : which == 1 ? y : z)->id;
    }
    switch ((int)op) {
    case CAD_OP_negative:
    case CAD_OP_square:
    case CAD_OP_absolute:
        return minus_x == CAD_NO_ID    ? CAD_NO_ID
               : op == CAD_OP_negative ? minus_x
                                       : apply1(graph, op, minus_x);
    case CAD_OP_add:
        return minus_y != CAD_NO_ID   ? apply2(graph, CAD_OP_subtract, x->id, minus_y)
               : minus_x != CAD_NO_ID ? apply2(graph, CAD_OP_subtract, y->id, minus_x)
                                      : CAD_NO_ID;
    case CAD_OP_subtract:
        return minus_y != CAD_NO_ID ? apply2(graph, CAD_OP_add, x->id, minus_y) : CAD_NO_ID;
    case CAD_OP_multiply:
    case CAD_OP_amul:
        return fold_product(graph, op, x, y);
    case CAD_OP_divide:
        return y->is_constant && is_power_of_two(y->value)
                   ? apply2(graph, CAD_OP_multiply, x->id,
                            cad_graph_constant(graph, 1.0 / y->value))
                   : CAD_NO_ID;
    case CAD_OP_power:
        return fold_power(graph, x, y);
    case CAD_OP_where:
        return y->id == z->id ? y->id : CAD_NO_ID;
    default:
        return CAD_NO_ID;
    }
}

static int is_commutative(CadOp op) {
    return op == CAD_OP_add || op == CAD_OP_multiply || op == CAD_OP_amul;
}

/* The operands of a commutative operation have an order: single numbers before elements. */
static int comes_before(const Operand *a, const Operand *b) {
    return a->is_array == b->is_array ? a->id < b->id : !a->is_array;
}

CadId cad_graph_apply(CadGraph *graph, CadOp op, CadId x, CadId y, CadId z) {
    const int arity = cad_op_info[op].arity;
    const CadId ids[3] = {x, y, z};
    Operand operands[3];
    if (graph->is_verbatim) {
        return cad_graph_single(graph, op, x, y, z);
    }
    for (int k = 0; k < arity; k++) {
        look(graph, ids[k], &operands[k]);
    }
    const Operand *const a = &operands[0];
    const Operand *const b = arity > 1 ? &operands[1] : a, *const c = arity > 2 ? &operands[2] : a;
    if (a->is_constant && b->is_constant && c->is_constant) {
        return cad_graph_constant(graph, cad_op_value(op, a->value, b->value, c->value));
    }
    if (op == CAD_OP_where && a->is_constant) {
        return a->value != 0.0 ? b->id : c->id;
    }
    if (!graph->optimize) {
        return cad_graph_single(graph, op, a->id, b->id, c->id);
    }
    const CadId simpler = simplify(graph, op, a, b, c);
    if (simpler != CAD_NO_ID) {
        return simpler;
    }
    if (is_commutative(op) && comes_before(b, a)) {
        return cad_graph_single(graph, op, b->id, a->id, c->id);
    }
    return cad_graph_single(graph, op, a->id, b->id, c->id);
}
