/* Forward mode by all inputs at once, for few of them. A tangent is kept as a sum of multiples of
 * tangents that are known: a chain of operations multiplies one factor, not every lane. Where such
 * a sum is wanted several times, it becomes tangents of its own. */
#include "graph/inner.h"

enum { MOST_PARTS = 4 };

typedef struct Part {
    CadId of; /* the number whose tangents are known */
    CadId factor;
} Part;

typedef struct Sum {
    int count;
    Part parts[MOST_PARTS];
} Sum;

typedef struct Forward {
    CadGraph *graph;
    size_t n_records;
    size_t lanes;
    const CadId *wrt;
    CadId one;
    uint32_t *uses; /* of records, as all below */
    Sum *sums;
    size_t *tangents; /* of those whose tangents are known: index in `known` */
    CadId *known;     /* so many lanes each; CAD_NO_ID is 0 */
    size_t n_known, known_capacity;
} Forward;

static CadId product(CadGraph *graph, CadId factor, CadId x) {
    return cad_graph_apply(graph, CAD_OP_amul, factor, x, x);
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
    const uint32_t i = cad_graph_record_of(f->graph, part.of);
    if (cad_record_is_array(&f->graph->records[i])) {
        tangent = lane_of(f, part.of) == (int)k ? f->one : CAD_NO_ID;
    } else {
        tangent = f->known[f->tangents[i] + k];
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

/* Have the tangents of a single number known. */
static void make_known(Forward *f, size_t i) {
    const CadStatus status = cad_memory_grow((void **)&f->known, &f->known_capacity,
                                             f->n_known + f->lanes, sizeof *f->known);
    if (status != CAD_OK) {
        f->graph->status = status;
        return;
    }
    for (size_t k = 0; k < f->lanes; k++) {
        f->known[f->n_known + k] = total(f, &f->sums[i], k);
    }
    f->tangents[i] = f->n_known;
    f->n_known += f->lanes;
    f->sums[i] = (Sum){1, {{cad_graph_first(f->graph, i), f->one}}};
}

/* Add a part to a sum; 0 if there is no place for it. */
static int add_part_of_sum(Forward *f, Sum *sum, Part part) {
    for (int i = 0; i < sum->count; i++) {
        if (sum->parts[i].of == part.of) {
            sum->parts[i].factor = sum_of(f->graph, sum->parts[i].factor, part.factor);
            return 1;
        }
    }
    if (sum->count == MOST_PARTS) {
        return 0;
    }
    sum->parts[sum->count++] = part;
    return 1;
}

/* The sum of a single number; none of an array. */
static Sum *sum_of_single(Forward *f, CadId id) {
    const uint32_t i = cad_graph_record_of(f->graph, id);
    return cad_record_is_array(&f->graph->records[i]) ? NULL : &f->sums[i];
}

static int is_active(Forward *f, CadId id) {
    const Sum *sum = sum_of_single(f, id);
    return sum != NULL ? sum->count > 0 : lane_of(f, id) >= 0;
}

/* What an operand adds to the tangent of a number, the partial being given. */
static int add_operand(Forward *f, Sum *sum, CadId x, CadId partial) {
    const Sum *of = sum_of_single(f, x);
    if (of == NULL) {
        return add_part_of_sum(f, sum, (Part){x, partial});
    }
    const Sum operand = *of;
    for (int i = 0; i < operand.count; i++) {
        const CadId factor = product(f->graph, partial, operand.parts[i].factor);
        if (!add_part_of_sum(f, sum, (Part){operand.parts[i].of, factor})) {
            return 0;
        }
    }
    return 1;
}

static Sum sum_of_result(Forward *f, const CadMade *made, int *fits) {
    const CadShape shape = {f->graph, 0, made->shape, made->shape, 1};
    CadNumbers x[4];
    const int arity = cad_made_operands(made, x);
    Sum sum = {0, {{0, 0}}};
    *fits = 1;
    for (int k = 0; k < arity && *fits && f->graph->status == CAD_OK; k++) {
        if (!is_active(f, x[k].first)) {
            continue;
        }
        const CadId partial = cad_graph_partials(&shape, made->op, k, x).first;
        if (!cad_graph_is(f->graph, partial, 0.0)) {
            *fits = add_operand(f, &sum, x[k].first, partial);
        }
    }
    return sum;
}

static void forward_single(Forward *f, size_t i) {
    CadAxes axes;
    CadMade made;
    int fits;
    cad_graph_look(f->graph, i, axes, &made);
    Sum sum = sum_of_result(f, &made, &fits);
    if (!fits) { /* too many parts: those of the operands become known */
        for (int k = 1; k < made.n_views; k++) {
            const Sum *of = sum_of_single(f, made.views[k].first);
            if (of != NULL && of->count > 1) {
                make_known(f, (size_t)(of - f->sums));
            }
        }
        sum = sum_of_result(f, &made, &fits);
    }
    f->sums[i] = sum;
    if (sum.count > 1 && f->uses[i] > 1) {
        make_known(f, i);
    }
}

CadStatus cad_graph_forward(CadGraph *graph, const CadId *wrt, size_t n_wrt, const CadId *outputs,
                            size_t n_outputs, CadId *results) {
    Forward forward = {.graph = graph, .n_records = graph->n_records, .lanes = n_wrt, .wrt = wrt};
    Forward *f = &forward;
    CadMemory memory = {0};
    f->uses = cad_graph_uses(graph, &memory, outputs, n_outputs, 0);
    f->sums = cad_memory_take(&memory, f->n_records, sizeof *f->sums);
    f->tangents = cad_memory_take(&memory, f->n_records, sizeof *f->tangents);
    if (memory.status != CAD_OK) {
        graph->status = CAD_NO_MEMORY;
    } else {
        f->one = cad_graph_constant(graph, 1.0);
        for (size_t i = 0; i < f->n_records && graph->status == CAD_OK; i++) {
            const CadRecord *record = &graph->records[i];
            if (f->uses[i] > 0 && record->kind == CAD_RECORD_SINGLE && record->op != CAD_OP_stop) {
                forward_single(f, i);
            }
        }
        for (size_t k = 0; k < n_wrt; k++) {
            for (size_t i = 0; i < n_outputs && graph->status == CAD_OK; i++) {
                const CadId y = outputs[i];
                const Sum itself = {is_active(f, y), {{y, f->one}}};
                const Sum *sum = sum_of_single(f, y);
                const CadId derivative = total(f, sum != NULL ? sum : &itself, k);
                results[k * n_outputs + i] = derivative == CAD_NO_ID ? CAD_ZERO : derivative;
            }
        }
    }
    cad_memory_give_back(&memory);
    cad_memory_free(f->known);
    return graph->status;
}
