/* Forward mode by all inputs at once, for few of them. A tangent is kept as a sum of multiples of
 * tangents that are known: a chain of operations multiplies one factor, not every lane. Where such
 * a sum is wanted several times, it becomes tangents of its own. */
#include "graph/inner.h"

enum { MOST_PARTS = 4 };

typedef struct Part {
    CadId of;     /* the number whose tangents are known */
    CadId factor; /* CAD_NO_ID: 1 */
} Part;

typedef struct Sum {
    int count;
    Part parts[MOST_PARTS];
} Sum;

typedef struct Forward {
    CadGraph *graph;
    size_t n_nodes;
    size_t lanes;
    const CadId *wrt;
    uint8_t *is_live;
    uint32_t *uses;
    Sum *sums;
    CadId *tangents; /* of nodes whose tangents are known: index in `known`, or CAD_NO_ID */
    CadId *known;    /* so many lanes each; CAD_NO_ID is 0 */
    size_t n_known, known_capacity;
} Forward;

static CadId product(CadGraph *graph, CadId factor, CadId x) {
    return factor == CAD_NO_ID ? x : cad_graph_apply(graph, CAD_OP_amul, factor, x, x);
}

static CadId sum_of(CadGraph *graph, CadId x, CadId y) {
    return x == CAD_NO_ID ? y : y == CAD_NO_ID ? x : cad_graph_apply(graph, CAD_OP_add, x, y, y);
}

/* The lane of an input, or -1. */
static int lane_of(const Forward *f, CadId id) {
    for (size_t k = 0; k < f->lanes; k++) {
        if (f->wrt[k] == id) {
            return (int)k;
        }
    }
    return -1;
}

/* The tangent of a number along one lane. */
static CadId lane(Forward *f, Part part, size_t k) {
    CadId tangent;
    if (CAD_IS_ELEMENT(part.of)) {
        tangent = lane_of(f, part.of) == (int)k ? cad_graph_constant(f->graph, 1.0) : CAD_NO_ID;
    } else {
        tangent = f->known[f->tangents[part.of] + k];
    }
    return tangent == CAD_NO_ID ? CAD_NO_ID : product(f->graph, part.factor, tangent);
}

static CadId total(Forward *f, const Sum *sum, size_t k) {
    CadId result = CAD_NO_ID;
    for (int i = 0; i < sum->count; i++) {
        result = sum_of(f->graph, result, lane(f, sum->parts[i], k));
    }
    return result;
}

/* Have the tangents of a node known. */
static void make_known(Forward *f, CadId node) {
    const CadStatus status = cad_memory_grow((void **)&f->known, &f->known_capacity,
                                             f->n_known + f->lanes, sizeof *f->known);
    if (status != CAD_OK) {
        f->graph->status = status;
        return;
    }
    for (size_t k = 0; k < f->lanes; k++) {
        f->known[f->n_known + k] = total(f, &f->sums[node], k);
    }
    f->tangents[node] = (CadId)f->n_known;
    f->n_known += f->lanes;
    f->sums[node] = (Sum){1, {{node, CAD_NO_ID}}};
}

/* Add a part to a sum; 0 if there is no place for it. */
static int add_part(Forward *f, Sum *sum, Part part) {
    for (int i = 0; i < sum->count; i++) {
        if (sum->parts[i].of == part.of) {
            const CadId one = cad_graph_constant(f->graph, 1.0);
            const CadId x = sum->parts[i].factor == CAD_NO_ID ? one : sum->parts[i].factor;
            const CadId y = part.factor == CAD_NO_ID ? one : part.factor;
            sum->parts[i].factor = cad_graph_apply(f->graph, CAD_OP_add, x, y, y);
            return 1;
        }
    }
    if (sum->count == MOST_PARTS) {
        return 0;
    }
    sum->parts[sum->count++] = part;
    return 1;
}

/* What an operand adds to the tangent of a node, the partial being given. */
static int add_operand(Forward *f, Sum *sum, CadId x, CadId partial) {
    if (CAD_IS_ELEMENT(x)) {
        return lane_of(f, x) < 0 || add_part(f, sum, (Part){x, partial});
    }
    const Sum own = f->sums[x];
    for (int i = 0; i < own.count; i++) {
        const CadId factor = own.parts[i].factor == CAD_NO_ID
                                 ? partial
                                 : product(f->graph, partial, own.parts[i].factor);
        if (!add_part(f, sum, (Part){own.parts[i].of, factor})) {
            return 0;
        }
    }
    return 1;
}

static Sum sum_of_node(Forward *f, CadId id, int *fits) {
    const CadNode node = f->graph->nodes[id];
    const CadId x[3] = {node.x, node.y != CAD_NO_ID ? node.y : node.x,
                        node.z != CAD_NO_ID ? node.z : node.x};
    const int arity = cad_op_info[node.op].arity;
    Sum sum = {0, {{0, 0}}};
    *fits = 1;
    for (int k = 0; k < arity && *fits && f->graph->status == CAD_OK; k++) {
        const int active = CAD_IS_ELEMENT(x[k]) ? lane_of(f, x[k]) >= 0 : f->sums[x[k]].count > 0;
        if (!active) {
            continue;
        }
        const CadId partial = cad_graph_partial(f->graph, (CadOp)node.op, k, x[0], x[1], x[2], id);
        if (!cad_graph_is(f->graph, partial, 0.0)) {
            *fits = add_operand(f, &sum, x[k],
                                cad_graph_is(f->graph, partial, 1.0) ? CAD_NO_ID : partial);
        }
    }
    return sum;
}

static void forward_node(Forward *f, CadId id) {
    const CadNode node = f->graph->nodes[id];
    f->sums[id].count = 0;
    if (!f->is_live[id] || node.op >= CAD_OP_COUNT || node.op == CAD_OP_stop) {
        return;
    }
    int fits;
    Sum sum = sum_of_node(f, id, &fits);
    if (!fits) { /* too many parts: those of the operands become known */
        const CadId x[3] = {node.x, node.y, node.z};
        for (int k = 0; k < 3; k++) {
            if (x[k] != CAD_NO_ID && !CAD_IS_ELEMENT(x[k]) && f->sums[x[k]].count > 1) {
                make_known(f, x[k]);
            }
        }
        sum = sum_of_node(f, id, &fits);
    }
    f->sums[id] = sum;
    if (sum.count > 1 && f->uses[id] > 1) {
        make_known(f, id);
    }
}

/* Which nodes the outputs depend on, and how often each is used. */
static void find_live(Forward *f, const CadId *outputs, size_t n_outputs) {
    for (size_t k = 0; k < n_outputs; k++) {
        if (!CAD_IS_ELEMENT(outputs[k])) {
            f->is_live[outputs[k]] = 1;
            f->uses[outputs[k]]++;
        }
    }
    for (size_t i = f->n_nodes; i-- > 0;) {
        const CadNode node = f->graph->nodes[i];
        if (!f->is_live[i] || node.op >= CAD_OP_COUNT) {
            continue;
        }
        const CadId x[3] = {node.x, node.y, node.z};
        for (int k = 0; k < 3; k++) {
            if (x[k] != CAD_NO_ID && !CAD_IS_ELEMENT(x[k])) {
                f->is_live[x[k]] = 1;
                f->uses[x[k]]++;
            }
        }
    }
}

CadStatus cad_graph_forward(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                            size_t n_outputs, CadId *results) {
    Forward forward = {.graph = graph, .n_nodes = graph->n_nodes, .lanes = n_wrt, .wrt = wrt};
    Forward *f = &forward;
    f->is_live = cad_memory_zeroed(f->n_nodes, sizeof *f->is_live);
    f->uses = cad_memory_zeroed(f->n_nodes, sizeof *f->uses);
    f->sums = cad_memory_resize(NULL, f->n_nodes, sizeof *f->sums);
    f->tangents = cad_memory_resize(NULL, f->n_nodes, sizeof *f->tangents);
    if (f->is_live == NULL || f->uses == NULL || f->sums == NULL || f->tangents == NULL) {
        graph->status = CAD_NO_MEMORY;
    } else {
        find_live(f, outputs, n_outputs);
        for (size_t i = 0; i < f->n_nodes && graph->status == CAD_OK; i++) {
            forward_node(f, (CadId)i);
        }
        for (size_t k = 0; k < n_wrt; k++) {
            for (size_t i = 0; i < n_outputs && graph->status == CAD_OK; i++) {
                const CadId y = outputs[i];
                const Sum itself = {1, {{y, CAD_NO_ID}}};
                const int is_input = CAD_IS_ELEMENT(y);
                const CadId found = is_input && lane_of(f, y) < 0
                                        ? CAD_NO_ID
                                        : total(f, is_input ? &itself : &f->sums[y], k);
                results[k * n_outputs + i] =
                    found == CAD_NO_ID ? cad_graph_constant(graph, 0.0) : found;
            }
        }
    }
    cad_memory_free(f->is_live);
    cad_memory_free(f->uses);
    cad_memory_free(f->sums);
    cad_memory_free(f->tangents);
    cad_memory_free(f->known);
    return graph->status;
}
