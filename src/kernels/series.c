/* See series.h.
 *
 * For one operation a little graph is built, whose nodes are operations with their operands: the
 * operation itself, its partials, the partials of those, and so on, as far as coefficients are
 * wanted. Equal nodes are one: the partial of sin is cos, and the partial of that one's negative
 * the sin that is there already. Nodes stand behind their operands; so all coefficients follow in
 * one loop over k and, within, over the nodes, and nothing calls itself. */
#include "kernels/series.h"

#include "kernels/masks.h"
#include "table/special.h"

#include <string.h>

typedef int Number; /* the index of a node */

enum { NONE = -1, ZERO = 0 };

/* Coefficient k of a node are n numbers at numbers[at + k * n]. */
typedef struct Node {
    CadOp op; /* CAD_OP_LEAF: it is given */
    Number operand[3];
    Number partial[3]; /* by each operand; NONE by a constant */
    size_t reach;      /* the highest coefficient; 0: it is constant, as far as is asked */
    size_t at;
    int uniform; /* the same constant n times */
} Node;

/* No formula of the table has more words than this: tests/c sees to it. */
enum { MOST_WORDS = 64, MOST_NUMBERS = 4096, MOST_WIDTH = 128 };

struct CadSeries {
    size_t order;
    size_t n;
    size_t reach;  /* of new nodes */
    Number parent; /* whose partials they make up */
    Node *nodes;
    size_t n_nodes;
    size_t node_room;
    double *numbers;
    size_t n_numbers;
    size_t number_room;
    CadMasks masks; /* many bytes, which need no clearing */
};

CadSeries *cad_series_new(size_t order) {
    CadSeries *series = cad_memory_resize(NULL, 1, sizeof *series);
    if (series != NULL) {
        memset(series, 0, offsetof(CadSeries, masks));
        series->order = order;
    }
    return series;
}

void cad_series_free(CadSeries *series) {
    if (series != NULL) {
        cad_memory_free(series->nodes);
        cad_memory_free(series->numbers);
        cad_memory_free(series);
    }
}

/* As many as keep a node in the cache. */
size_t cad_series_width(const CadSeries *series) {
    const size_t most = CAD_TILE < MOST_WIDTH ? CAD_TILE : MOST_WIDTH;
    const size_t width = MOST_NUMBERS / (series->order + 1);
    return width < 1 ? 1 : width < most ? width : most;
}

/* --- nodes --- */

/* Room for all nodes of a formula, so that in the midst of it nothing fails and nothing moves. */
static CadStatus make_room(CadSeries *s) {
    const CadStatus status = cad_memory_grow((void **)&s->nodes, &s->node_room,
                                             s->n_nodes + MOST_WORDS, sizeof *s->nodes);
    return status != CAD_OK ? status
                            : cad_memory_grow((void **)&s->numbers, &s->number_room,
                                              s->n_numbers + MOST_WORDS * (s->reach + 1) * s->n,
                                              sizeof *s->numbers);
}

static double *coefficient(const CadSeries *s, Number x, size_t k) {
    return s->numbers + s->nodes[x].at + k * s->n;
}

static CadStrip plain(const CadSeries *s, Number x) {
    return (CadStrip){coefficient(s, x, 0), 1};
}

static double *free_numbers(CadSeries *s, size_t count) {
    assert(s->n_numbers + count <= s->number_room);
    double *const place = s->numbers + s->n_numbers;
    s->n_numbers += count;
    return place;
}

/* A node whose coefficients are not written yet. */
static Number new_node(CadSeries *s, CadOp op, Number x, Number y, Number z, size_t reach) {
    assert(s->n_nodes < s->node_room);
    const size_t at = s->n_numbers;
    free_numbers(s, (reach + 1) * s->n);
    s->nodes[s->n_nodes] = (Node){op, {x, y, z}, {NONE, NONE, NONE}, reach, at, 0};
    return (Number)s->n_nodes++;
}

static int is_uniform(const CadSeries *s, Number x, double value) {
    return s->nodes[x].uniform && *coefficient(s, x, 0) == value;
}

static Number constant(CadSeries *s, double value) {
    for (size_t i = 0; i < s->n_nodes; i++) {
        if (s->nodes[i].uniform &&
            memcmp(coefficient(s, (Number)i, 0), &value, sizeof value) == 0) {
            return (Number)i;
        }
    }
    const Number x = new_node(s, CAD_OP_LEAF, NONE, NONE, NONE, 0);
    for (size_t i = 0; i < s->n; i++) {
        coefficient(s, x, 0)[i] = value;
    }
    s->nodes[x].uniform = 1;
    return x;
}

/* Operations that are others in disguise: the fewer there are, the more nodes are the same. */
static CadOp simplest(CadSeries *s, CadOp op, Number operand[3]) {
    switch (op) {
    case CAD_OP_square:
        operand[1] = operand[0];
        return CAD_OP_multiply;
    case CAD_OP_reciprocal:
        operand[1] = operand[0];
        operand[0] = constant(s, 1.0);
        return CAD_OP_divide;
    default:
        return op;
    }
}

static Number find(const CadSeries *s, CadOp op, const Number operand[3]) {
    for (size_t i = s->n_nodes; i-- > 0;) {
        const Node *const node = &s->nodes[i];
        if (node->op == op && memcmp(node->operand, operand, sizeof node->operand) == 0) {
            return (Number)i;
        }
    }
    return NONE;
}

/* The node of an operation: it may be a constant, or there already. */
static Number node_of(CadSeries *s, CadOp op, Number x, Number y, Number z) {
    const Number operand[3] = {x, y, z};
    double value[3] = {0.0, 0.0, 0.0};
    int moves = 0, uniform = 1;
    for (int k = 0; k < 3 && operand[k] != NONE; k++) {
        moves |= s->nodes[operand[k]].reach > 0;
        uniform &= s->nodes[operand[k]].uniform;
        value[k] = *coefficient(s, operand[k], 0);
    }
    if (uniform) {
        return constant(s, cad_op_value(op, value[0], value[1], value[2]));
    }
    const Number same = find(s, op, operand);
    if (same != NONE) {
        return same;
    }
    const Number v = new_node(s, op, x, y, z, moves ? s->reach : 0);
    if (s->n == 1) {
        *coefficient(s, v, 0) = cad_op_value(op, value[0], value[1], value[2]);
    } else {
        const CadStrip first = plain(s, x);
        const CadStrip operands[3] = {first, y == NONE ? first : plain(s, y),
                                      z == NONE ? first : plain(s, z)};
        cad_strip_value(op, plain(s, v), operands, s->n);
    }
    return v;
}

/* Whether x^y may be divided by x: it is neither zero nor beyond the range of doubles, nor a
 * polynomial, whose coefficients end in exact zeros. */
static int may_lower(const CadSeries *s, Number v, Number x, Number y) {
    const double *const values = coefficient(s, v, 0), *const bases = coefficient(s, x, 0);
    const double *const exponents = coefficient(s, y, 0);
    int may = 1;
    for (size_t i = 0; i < s->n; i++) {
        const double e = exponents[i];
        may &= isfinite(values[i]) && values[i] != 0.0 && isfinite(bases[i]) && bases[i] != 0.0;
        may &= isfinite(e) && (s->nodes[y].reach > 0 || e < 0.0 || e != floor(e));
    }
    return may;
}

/* Whether a power is the word x^(y-1) in the partial of x^y and can be written as x^y / x: else
 * each partial had one more power in its own. */
static int is_lowered(CadSeries *s, Number x, Number y) {
    const Node parent = s->nodes[s->parent];
    return parent.op == CAD_OP_power && x == parent.operand[0] &&
           y == node_of(s, CAD_OP_subtract, parent.operand[1], constant(s, 1.0), NONE) &&
           may_lower(s, s->parent, x, parent.operand[1]);
}

static Number apply(CadSeries *s, CadOp op, Number x, Number y, Number z) {
    if (op == CAD_OP_negative && s->nodes[x].op == CAD_OP_negative) {
        return s->nodes[x].operand[0];
    }
    if (op == CAD_OP_amul && (is_uniform(s, x, 0.0) || is_uniform(s, y, 0.0))) {
        return ZERO;
    }
    if (op == CAD_OP_power && is_lowered(s, x, y)) {
        return node_of(s, CAD_OP_divide, s->parent, x, NONE);
    }
    Number operand[3] = {x, y, z};
    op = simplest(s, op, operand);
    return node_of(s, op, operand[0], operand[1], operand[2]);
}

/* --- the algebra of nodes --- */

/* Ends a condition of which one branch was needed. */
static Number chosen(CadSeries *s, Number x) {
    s->masks.depth--;
    return x;
}

static Number blend(CadSeries *s, Number x, Number y) {
    const CadMask mask = cad_mask_pop(&s->masks);
    const Number condition = new_node(s, CAD_OP_LEAF, NONE, NONE, NONE, 0);
    for (size_t i = 0; i < s->n; i++) {
        coefficient(s, condition, 0)[i] = mask[i];
    }
    return apply(s, CAD_OP_where, condition, x, y);
}

static CadStrip magnitude(CadSeries *s, CadStrip x) {
    const CadStrip result = {free_numbers(s, s->n), 1};
    cad_strip_value(CAD_OP_absolute, result, &x, s->n);
    return result;
}

#define MASKS (&s->masks)
#define CHOSEN(x) chosen(s, x)
#define BLEND(x, y) blend(s, x, y)
#define ABS(x) magnitude(s, x)
#define C(number) plain(s, constant(s, number))
#define A(name, ...) apply(s, CAD_OP_##name, CAD_FIRST_TWO(__VA_ARGS__, NONE, NONE), NONE)
#define K(number) constant(s, number)
#define L(number) (number)
#define P(number) plain(s, number)

static Number partial_of(CadSeries *s, CadOp op, int which, Number x, Number y, Number z,
                         Number v) {
    switch ((int)op * 4 + which) {
#include "ops_partials.h"
    default:
        return constant(s, NAN);
    }
}

/* --- building the graph --- */

/* Whether a node has a recurrence of its own: the arithmetic of series that all have coefficients
 * to multiply. All else follows from partials. */
static int is_arithmetic(const CadSeries *s, const Node *node) {
    switch (node->op) {
    case CAD_OP_multiply:
    case CAD_OP_amul:
        return s->nodes[node->operand[0]].reach > 0 && s->nodes[node->operand[1]].reach > 0;
    case CAD_OP_divide:
        return s->nodes[node->operand[1]].reach > 0;
    default:
        return 0;
    }
}

/* Give all nodes from the first on their partials, which reach one coefficient less: nodes are
 * made in the order in which their reach falls, so one that is found reaches far enough. */
static CadStatus add_partials(CadSeries *s, Number first) {
    for (size_t i = (size_t)first; i < s->n_nodes; i++) {
        const Node node = s->nodes[i];
        if (node.reach == 0 || node.op == CAD_OP_LEAF || is_arithmetic(s, &node)) {
            continue;
        }
        s->reach = node.reach - 1;
        s->parent = (Number)i;
        int moves = 0;
        for (int k = 0; k < 3 && node.operand[k] != NONE; k++) {
            if (s->nodes[node.operand[k]].reach == 0) {
                continue;
            }
            if (make_room(s) != CAD_OK) {
                return CAD_NO_MEMORY;
            }
            const Number p = partial_of(s, node.op, k, node.operand[0], node.operand[1],
                                        node.operand[2], (Number)i);
            s->nodes[i].partial[k] = p;
            moves |= p != ZERO;
        }
        if (!moves) {
            s->nodes[i].reach = 0;
        }
    }
    return CAD_OK;
}

/* --- coefficients --- */

/* out += the sum over i = first..last of x_i y_(k-i), each times i if `weighted`. */
static void add_products(const CadSeries *s, double *out, Number x, Number y, size_t k,
                         size_t first, size_t last, int weighted) {
    const size_t n = s->n;
    if (n == 1) {
        const double *const a = coefficient(s, x, 0), *const b = coefficient(s, y, 0);
        double sum = *out;
        for (size_t i = first; i <= last; i++) {
            sum += (weighted ? (double)i * a[i] : a[i]) * b[k - i];
        }
        if (sum != sum) { /* the rule of zeros may be at stake */
            sum = *out;
            for (size_t i = first; i <= last; i++) {
                sum += cad_amul(weighted ? (double)i * a[i] : a[i], b[k - i]);
            }
        }
        *out = sum;
        return;
    }
    for (size_t i = first; i <= last; i++) {
        const double *const a = coefficient(s, x, i), *const b = coefficient(s, y, k - i);
        const double weight = weighted ? (double)i : 1.0;
        for (size_t j = 0; j < n; j++) {
            const double product = weight * a[j] * b[j];
            out[j] += ((a[j] == 0.0) | (b[j] == 0.0)) ? 0.0 : product;
        }
    }
}

/* v y = x, solved for v_k. A numerator of zero absorbs. */
static void divide(const CadSeries *s, Node node, Number v, double *out, size_t k) {
    const Number x = node.operand[0], y = node.operand[1];
    add_products(s, out, y, v, k, 1, k, 0);
    const double *const above = s->nodes[x].reach > 0 ? coefficient(s, x, k) : NULL;
    const double *const below = coefficient(s, y, 0);
    for (size_t i = 0; i < s->n; i++) {
        const double rest = (above != NULL ? above[i] : 0.0) - out[i];
        out[i] = rest == 0.0 ? 0.0 : rest / below[i];
    }
}

/* The rule at the head of series.h. */
static void chain(const CadSeries *s, Node node, double *out, size_t k) {
    for (int which = 0; which < 3; which++) {
        const Number p = node.partial[which];
        if (p != NONE && s->nodes[p].reach > 0) {
            add_products(s, out, node.operand[which], p, k, 1, k, 1);
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        out[i] /= (double)k;
    }
    for (int which = 0; which < 3; which++) {
        const Number p = node.partial[which];
        if (p != NONE && s->nodes[p].reach == 0) {
            add_products(s, out, node.operand[which], p, k, k, k, 0);
        }
    }
}

static void compute_coefficient(const CadSeries *s, Number v, size_t k) {
    const Node node = s->nodes[v];
    double *const out = coefficient(s, v, k);
    memset(out, 0, s->n * sizeof *out);
    if (!is_arithmetic(s, &node)) {
        chain(s, node, out, k);
    } else if (node.op == CAD_OP_divide) {
        divide(s, node, v, out, k);
    } else {
        add_products(s, out, node.operand[0], node.operand[1], k, 0, k, 0);
    }
}

/* --- in and out --- */

static void load_values(const CadSeries *s, Number x, CadStrip from) {
    double *const to = coefficient(s, x, 0);
    for (size_t i = 0; i < s->n; i++) {
        to[i] = from.data[(ptrdiff_t)i * from.step];
    }
}

static void load_coefficients(const CadSeries *s, Number x, CadJet jet) {
    double *const to = coefficient(s, x, 1);
    const size_t n = s->n, order = s->order;
    for (size_t i = 0; i < n; i++) {
        const double *const from = jet.coefficients + (ptrdiff_t)i * jet.stride;
        for (size_t k = 0; k < order; k++) {
            to[k * n + i] = from[k];
        }
    }
}

static void store_coefficients(const CadSeries *s, Number x, CadJet jet) {
    const double *const from = coefficient(s, x, 1);
    const size_t n = s->n, order = s->order;
    for (size_t i = 0; i < n; i++) {
        double *const to = jet.coefficients + (ptrdiff_t)i * jet.stride;
        for (size_t k = 0; k < order; k++) {
            to[k] = from[k * n + i];
        }
    }
}

/* An operand, as yet without its coefficients. */
static Number new_operand(CadSeries *s, CadJet jet) {
    if (jet.coefficients == NULL && (jet.value.step == 0 || s->n == 1)) {
        return constant(s, jet.value.data[0]);
    }
    const size_t reach = jet.coefficients == NULL ? 0 : s->order;
    const Number x = new_node(s, CAD_OP_LEAF, NONE, NONE, NONE, reach);
    load_values(s, x, jet.value);
    return x;
}

/* to += from * factor, an exact zero absorbing. */
static void add_scaled(double *to, const double *from, double factor, size_t count) {
    if (isfinite(factor)) {
        for (size_t k = 0; k < count && factor != 0.0; k++) {
            to[k] += from[k] * factor;
        }
    } else {
        for (size_t k = 0; k < count; k++) {
            to[k] += cad_amul(from[k], factor);
        }
    }
}

/* All partials are constant: no coefficient has to do with another. */
static int is_linear(const CadSeries *s, Number v) {
    const Node *const node = &s->nodes[v];
    int linear = !is_arithmetic(s, node);
    for (int which = 0; which < 3; which++) {
        linear &= node->partial[which] == NONE || s->nodes[node->partial[which]].reach == 0;
    }
    return linear;
}

static void store_linear(const CadSeries *s, Number v, const CadJet operands[3], CadJet result) {
    const Number *const partial = s->nodes[v].partial;
    for (size_t i = 0; i < s->n; i++) {
        double *const to = result.coefficients + (ptrdiff_t)i * result.stride;
        memset(to, 0, s->order * sizeof *to);
        for (int which = 0; which < 3; which++) {
            if (partial[which] != NONE) {
                const CadJet x = operands[which];
                add_scaled(to, x.coefficients + (ptrdiff_t)i * x.stride,
                           coefficient(s, partial[which], 0)[i], s->order);
            }
        }
    }
}

static int is_same(CadJet x, CadJet y) {
    return x.value.data == y.value.data && x.value.step == y.value.step &&
           x.coefficients == y.coefficients;
}

/* The operands as nodes; equal ones are one. */
static void load_operands(CadSeries *s, int arity, const CadJet jets[3], Number operand[3]) {
    for (int k = 0; k < arity; k++) {
        int same = 0;
        while (same < k && !is_same(jets[same], jets[k])) {
            same++;
        }
        operand[k] = same < k ? operand[same] : new_operand(s, jets[k]);
    }
}

static void run_recurrences(const CadSeries *s, Number v) {
    for (size_t k = 1; k <= s->order; k++) {
        for (size_t i = (size_t)v; i < s->n_nodes; i++) {
            if (s->nodes[i].op != CAD_OP_LEAF && s->nodes[i].reach >= k) {
                compute_coefficient(s, (Number)i, k);
            }
        }
    }
}

CadStatus cad_series_apply(CadSeries *s, CadOp op, const CadJet operands[3], CadJet result,
                           size_t n) {
    const int arity = cad_op_info[op].arity;
    s->n = s->masks.n = n;
    s->reach = s->order;
    s->n_nodes = s->n_numbers = 0;
    s->masks.depth = 0;
    if (make_room(s) != CAD_OK) {
        return CAD_NO_MEMORY;
    }
    constant(s, 0.0); /* is ZERO */
    Number x[3] = {NONE, NONE, NONE};
    load_operands(s, arity, operands, x);
    Number y[3] = {x[0], x[1], x[2]};
    op = simplest(s, op, y);
    const Number v = new_node(s, op, y[0], y[1], y[2], s->order);
    load_values(s, v, result.value);
    if (add_partials(s, v) != CAD_OK) {
        return CAD_NO_MEMORY;
    }
    if (is_linear(s, v)) {
        store_linear(s, v, operands, result);
        return CAD_OK;
    }
    for (int k = 0; k < arity; k++) {
        if (operands[k].coefficients != NULL) {
            load_coefficients(s, x[k], operands[k]);
        }
    }
    run_recurrences(s, v);
    store_coefficients(s, v, result);
    return CAD_OK;
}
