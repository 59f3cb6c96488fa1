/* See arrays.h. */
#include "arrays/walk.h"

/* --- appending --- */

/* Leave out axes of length 1, and join neighbours along which all views move evenly. Axes from
 * `fixed` on stay as they are. Answers how many axes there are now. */
static int coalesce(int ndim, int fixed, int64_t *shape, int n_views,
                    int64_t strides[][CAD_MOST_AXES]) {
    int count = 0;
    for (int axis = 0; axis < ndim; axis++) {
        int joins = count > 0 && axis < fixed;
        if (axis < fixed && shape[axis] == 1) {
            continue;
        }
        for (int k = 0; k < n_views && joins; k++) {
            joins = strides[k][count - 1] == strides[k][axis] * shape[axis];
        }
        const int place = joins ? count - 1 : count;
        shape[place] = joins ? shape[place] * shape[axis] : shape[axis];
        for (int k = 0; k < n_views; k++) {
            strides[k][place] = strides[k][axis];
        }
        count = place + 1;
    }
    return count;
}

/* Have a long axis of an elementwise operation come last, along which it is gone through, if the
 * last one is short. */
static void lengthen_rows(int ndim, int64_t *shape, int n_views,
                          int64_t strides[][CAD_MOST_AXES]) {
    enum { SHORT = 16 };
    int longest = ndim - 1;
    for (int axis = 0; axis < ndim; axis++) {
        longest = shape[axis] > shape[longest] ? axis : longest;
    }
    if (ndim == 0 || shape[ndim - 1] >= SHORT || shape[longest] < 2 * shape[ndim - 1]) {
        return;
    }
    const int64_t length = shape[longest];
    shape[longest] = shape[ndim - 1];
    shape[ndim - 1] = length;
    for (int k = 0; k < n_views; k++) {
        const int64_t stride = strides[k][longest];
        strides[k][longest] = strides[k][ndim - 1];
        strides[k][ndim - 1] = stride;
    }
}

CadStatus cad_array_workspace(CadTape *tape, size_t count) {
    if (tape->scratch == NULL && (tape->scratch = cad_scratch_new()) == NULL) {
        return CAD_NO_MEMORY;
    }
    if (count > tape->workspace_capacity) {
        double *grown = cad_memory_resize(tape->workspace, count, sizeof *grown);
        if (grown == NULL) {
            return CAD_NO_MEMORY;
        }
        tape->workspace = grown;
        tape->workspace_capacity = count;
    }
    return CAD_OK;
}

/* For products of the size of any of the three matrices. */
static size_t room_of_product(const int64_t *core) {
    const int64_t m = core[0], n = core[1], p = core[2];
    const int64_t outer = n > p ? n : p, inner = n < p ? n : p;
    return (size_t)(outer * (m > inner ? m : inner));
}

size_t cad_array_room(CadOp op, CadPlan *plan) {
    return op == CAD_OP_MATMUL ? room_of_product(cad_plan_shape(plan) + plan->ndim - 3) : 0;
}

CadStatus cad_array_push(CadTape *tape, const CadRequest *request, CadSlot *out) {
    int64_t shape[CAD_MOST_AXES];
    int64_t strides[4][CAD_MOST_AXES];
    const int n_views = request->n_views;
    memcpy(shape, request->shape, (size_t)request->ndim * sizeof *shape);
    for (int k = 0; k < n_views; k++) {
        memcpy(strides[k], request->views[k].strides, (size_t)request->ndim * sizeof *shape);
    }
    const int matrices = request->op == CAD_OP_MATMUL;
    if (request->index >= 0 || overwrites(request->op)) {
        cad_tape_settle(tape);
    }
    const int fixed = request->ndim - (matrices ? 3 : 0);
    const int ndim = coalesce(request->ndim, fixed, shape, n_views, strides);
    if (request->op > CAD_OP_THIRD) {
        lengthen_rows(ndim, shape, n_views, strides);
    }
    const size_t room = matrices ? room_of_product(shape + ndim - 3) : 0;
    const int n_extra = request->index >= 0 || request->op == CAD_OP_SUM ? 2 : 0;
    const size_t words = (size_t)(CAD_PLAN_WORDS + ndim + n_views * (ndim + 1) + n_extra);
    CadPlan *plan;
    CadStatus status = cad_array_workspace(tape, room);
    if (status == CAD_OK) {
        status = cad_tape_push_plan(tape, CAD_CODE(request->op, 0), request->slots, words, &plan);
    }
    if (status != CAD_OK) {
        return status;
    }
    const CadEntry entry = tape->entries[tape->n_entries - 1];
    *out = entry.out;
    plan->ndim = (uint16_t)ndim;
    plan->n_views = (uint16_t)n_views;
    plan->n_extra = (uint32_t)n_extra;
    plan->passive = request->passive;
    plan->index = request->index;
    plan->size = 1;
    for (int i = 0; i < ndim; i++) {
        cad_plan_shape(plan)[i] = shape[i];
        plan->size *= shape[i];
    }
    for (int k = 0; k < n_views; k++) {
        int64_t *view = cad_plan_view(plan, k);
        view[0] = request->views[k].slot == CAD_OWN ? entry.out : request->views[k].slot;
        memcpy(view + 1, strides[k], (size_t)ndim * sizeof *view);
    }
    memcpy(cad_plan_extra(plan), request->extra, (size_t)n_extra * sizeof *request->extra);
    tape->n_assigned += overwrites(request->op);
    cad_array_value(tape, entry);
    return CAD_OK;
}

/* --- values --- */

static void assign_values(CadTape *tape, CadEntry entry, CadPlan *plan) {
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    double *kept = tape->values + entry.out;
    do {
        const CadStrip target = values_at(&walk, 0, 0);
        const CadStrip source = values_at(&walk, 1, 0);
        for (size_t i = 0; i < walk.n; i++) {
            double *const place = target.data + (ptrdiff_t)i * target.step;
            *kept++ = *place;
            *place = source.data[(ptrdiff_t)i * source.step];
        }
    } while (advance(&walk));
}

static void scatter_values(CadTape *tape, CadEntry entry, CadPlan *plan) {
    double *const value = tape->values;
    for (int64_t i = 0; i < plan->size; i++) {
        const int64_t target = indexed(tape, plan, i);
        value[entry.out + i] = value[target];
        value[target] = value[scattered(plan, i)];
    }
}

void cad_array_exchange(CadTape *tape, CadEntry entry, int undo) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    double *const kept = tape->values + entry.out;
    if (CAD_CODE_OP(entry.code) == CAD_OP_SCATTER) {
        /* One after the other: a target may occur several times. */
        for (int64_t i = 0; i < plan->size; i++) {
            const int64_t k = undo ? plan->size - 1 - i : i;
            exchange(&kept[k], &tape->values[indexed(tape, plan, k)]);
        }
        return;
    }
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    int64_t k = 0;
    do {
        const CadStrip target = values_at(&walk, 0, 0);
        for (size_t i = 0; i < walk.n; i++) {
            exchange(&kept[k++], target.data + (ptrdiff_t)i * target.step);
        }
    } while (advance(&walk));
}

static void multiply_matrices(CadTape *tape, CadPlan *plan) {
    Walk walk;
    start_walk(&walk, tape, plan, 3);
    multiply_views(&walk);
}

static void sum_values(CadTape *tape, CadEntry entry, CadPlan *plan) {
    if (!cad_plan_extra(plan)[0]) {
        memset(tape->values + entry.out, 0, entry.b * sizeof *tape->values);
    }
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    add_rows(&walk);
}

static void row_values(CadTape *tape, CadOp op, CadPlan *plan) {
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    compute_rows(&walk, op);
}

void cad_array_value(CadTape *tape, CadEntry entry) {
    CadPlan *plan = cad_tape_plan(tape, entry);
    const CadOp op = CAD_CODE_OP(entry.code);
    switch (op) {
    case CAD_OP_ASSIGN:
        assign_values(tape, entry, plan);
        break;
    case CAD_OP_SCATTER:
        scatter_values(tape, entry, plan);
        break;
    case CAD_OP_ADD_AT:
        for (int64_t i = 0; i < plan->size; i++) {
            tape->values[indexed(tape, plan, i)] += tape->values[scattered(plan, i)];
        }
        break;
    case CAD_OP_SUM:
        sum_values(tape, entry, plan);
        break;
    case CAD_OP_MATMUL:
        multiply_matrices(tape, plan);
        break;
    case CAD_OP_GATHER:
        for (int64_t i = 0; i < plan->size; i++) {
            tape->values[entry.out + i] = tape->values[indexed(tape, plan, i)];
        }
        break;
    default:
        row_values(tape, op, plan);
    }
}
