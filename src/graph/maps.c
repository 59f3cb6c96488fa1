/* Operations over arrays. Where all operands are constants, so is the result: it is computed at
 * once, by the loops that programs have for it, and never again. */
#include "arrays/terms.h"
#include "arrays/walk.h"
#include "graph/inner.h"

/* Results of up to so many numbers are kept; larger ones, if they are at most half as large as
 * their operands: others would take memory for good to save what a program does in passing. */
enum { FEW = 4096 };

/* Where the number 0 of a graph would be, seen from constants that an operand is among, and how
 * many these are; NULL if it is none. A single one is copied to `value`. */
static double *constants_of(CadGraph *graph, CadId id, double *value, size_t *count) {
    const CadRecord *const record = cad_graph_record(graph, id);
    *count += cad_record_size(record);
    if (record->kind == CAD_RECORD_CONSTANT) {
        *value = cad_record_value(record);
        return value - id;
    }
    return record->kind == CAD_RECORD_CONSTANTS
               ? graph->constants + cad_graph_array(graph, record)->list - record->of.array.first
               : NULL;
}

static void carry_out(CadOp op, CadPlan *plan, double *const *data) {
    if (cad_op_is_kind(op)) {
        const int adds = (cad_entry_kinds[op].traits & CAD_ADDS) != 0;
        CadTerm term = {.plan = plan, .lanes = 1, .store = !adds};
        memcpy(term.data, data, (size_t)plan->n_views * sizeof *data);
        cad_term_run(op, &term);
        return;
    }
    Walk walk;
    start_walk_in(&walk, NULL, plan, 1);
    memcpy(walk.values, data, (size_t)plan->n_views * sizeof *data);
    compute_rows(&walk, op, cad_strip_value);
}

/* The constants that an operation gives; CAD_NO_ID if it has to be carried out by programs. */
static CadId constant_map(CadGraph *graph, const CadMade *made) {
    double values[4], *data[4];
    size_t count = 0;
    for (int k = 1; k < made->n_views; k++) {
        data[k] = constants_of(graph, made->views[k].first, &values[k], &count);
        if (data[k] == NULL) {
            return CAD_NO_ID;
        }
    }
    if (made->size > FEW && 2 * made->size > count) {
        return CAD_NO_ID;
    }
    data[0] = cad_memory_zeroed(made->size, sizeof *data[0]);
    if (data[0] == NULL) {
        return CAD_NO_ID;
    }
    CadRequestedPlan room;
    CadPlan *const plan = cad_term_plan(made->ndim, made->shape, made->n_views, &room);
    for (int k = 0; k < made->n_views; k++) {
        int64_t *const view = cad_plan_view(plan, k);
        view[0] = made->views[k].first;
        memcpy(view + 1, made->views[k].strides, (size_t)made->ndim * sizeof *view);
    }
    carry_out(made->op, plan, data);
    const CadId first = made->size == 1 ? cad_graph_constant(graph, data[0][0])
                                        : cad_graph_constants(graph, data[0], made->size);
    cad_memory_free(data[0]);
    return first;
}

CadId cad_graph_map(CadGraph *graph, CadOp op, size_t size, int ndim, const int64_t *shape,
                    int n_views, const CadNumbers *views) {
    CadMade made = {.kind = CAD_RECORD_MAP,
                    .op = op,
                    .size = size,
                    .ndim = ndim,
                    .shape = shape,
                    .n_views = n_views};
    memcpy(made.views, views, (size_t)n_views * sizeof *views);
    const CadId constant = graph->optimize ? constant_map(graph, &made) : CAD_NO_ID;
    return constant != CAD_NO_ID ? constant : cad_graph_make(graph, graph, &made);
}
