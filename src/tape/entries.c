/* See entries.h: what there is to know of each kind of entry, and what entries over arrays span.
 */
#include "tape/entries.h"

const CadEntryKind cad_entry_kinds[CAD_OP_COUNT] = {
    [CAD_OP_LEAF] = {.is_moved = 1},
    [CAD_OP_THIRD] = {.is_moved = 1},
#define CAD_PULL(op, first, second, ...)                                                          \
    {                                                                                             \
        CAD_OP_##op, {first, second}, {                                                           \
            __VA_ARGS__                                                                           \
        }                                                                                         \
    }
#define CAD_KIND(word, name, text, operands, core_, traits_, kernel, ...)                         \
    [CAD_OP_##word] = {.n_views = operands + 1,                                                   \
                       .n_extra = (traits_) & CAD_ADDS ? 2 : 0,                                   \
                       .former = (traits_) & CAD_ADDS ? CAD_MAY_BE_ADDED : CAD_FORMER_NONE,       \
                       .is_moved = operands == 1,                                                 \
                       .core = core_,                                                             \
                       .traits = traits_,                                                         \
                       .pull = {__VA_ARGS__}},
#include "table/kinds.def"
    [CAD_OP_GATHER] = {.n_views = 1, .n_extra = 2, .indexed = CAD_READS_INDEXED, .is_moved = 1},
    [CAD_OP_ASSIGN] = {.n_views = 2, .former = CAD_FORMER_KEPT, .is_moved = 1},
    [CAD_OP_SCATTER] = {.n_views = 1,
                        .n_extra = 2,
                        .indexed = CAD_WRITES_INDEXED,
                        .former = CAD_FORMER_KEPT,
                        .is_moved = 1},
    [CAD_OP_ADD_AT] = {.n_views = 1,
                       .n_extra = 2,
                       .indexed = CAD_WRITES_INDEXED,
                       .former = CAD_FORMER_ADDED,
                       .is_moved = 1},
    [CAD_OP_RULE] = {.is_rule = 1},
#define CAD_NAME(name, arity) [CAD_OP_##name] = {.n_views = arity + 1},
#include "ops_codes.h"
};

/* Else the program does not compile. */
#define CAD_KIND(word, name, text, operands, core, traits, kernel, ...)                           \
    typedef char a_request_for_each_operand_of_##word                                             \
        [sizeof((CadPull[]){__VA_ARGS__}) == (operands) * sizeof(CadPull) ? 1 : -1];
#include "table/kinds.def"

static void stretch(int64_t ndim, const int64_t *shape, const int64_t *strides, int64_t *low,
                    int64_t *high) {
    for (int64_t i = 0; i < ndim; i++) {
        if (shape[i] == 0) {
            return; /* spans nothing */
        }
    }
    for (int64_t i = 0; i < ndim; i++) {
        const int64_t reach = (shape[i] - 1) * strides[i];
        *(reach < 0 ? low : high) += reach;
    }
}

void cad_plan_bounds(CadPlan *plan, int view, int64_t *low, int64_t *high) {
    const int64_t *const place = cad_plan_view(plan, view);
    *low = *high = place[0];
    stretch(plan->ndim, cad_plan_shape(plan), place + 1, low, high);
}

CadSpan cad_entry_result(CadEntry entry, CadPlan *plan) {
    const CadEntryKind *const kind = cad_entry_kind(entry);
    CadSpan span = {entry.out, (int64_t)entry.out + entry.b - 1};
    if (kind->indexed == CAD_WRITES_INDEXED) {
        span = (CadSpan){cad_plan_extra(plan)[0], cad_plan_extra(plan)[1]};
    } else if (kind->indexed == CAD_INDEXES_NONE && !kind->is_rule) {
        cad_plan_bounds(plan, 0, &span.low, &span.high);
    }
    return span;
}

CadSpan cad_source_span(const CadSource *source) {
    const CadOperand *const operand = source->operand;
    CadSpan span = {source->slot, source->slot};
    if (operand != NULL) {
        stretch(operand->ndim, operand->shape_and_strides,
                operand->shape_and_strides + operand->ndim, &span.low, &span.high);
    } else if (source->view >= 0) {
        cad_plan_bounds(source->plan, source->view, &span.low, &span.high);
    } else {
        span.high = source->place[1];
    }
    return span;
}

size_t cad_op_room(CadOp op, int ndim, const int64_t *shape, size_t lanes) {
    if (!cad_op_multiplies(op)) {
        return 0;
    }
    const int64_t *const core = shape + ndim - 3;
    const size_t most = SIZE_MAX / 64 / lanes;
    size_t largest = 0, all = 0;
    for (int i = 0; i < 3; i++) {
        const size_t rows = (size_t)core[i], columns = (size_t)core[(i + 1) % 3];
        if (columns > 0 && rows > most / columns) {
            return SIZE_MAX;
        }
        largest = rows * columns > largest ? rows * columns : largest;
        all += rows * columns;
    }
    if (lanes > 1) { /* two matrices may be copied */
        return all * lanes;
    }
    const size_t floats = op == CAD_OP_MATMUL_SINGLE ? (all + 1) / 2 : 0;
    return floats > largest ? floats : largest;
}

size_t cad_op_room_of_floats(CadOp op, int ndim, const int64_t *shape) {
    return op == CAD_OP_SUM && ndim > 0 ? (size_t)shape[ndim - 1] : 1;
}

int cad_axes_joined(int ndim, int fixed, int64_t *shape, int n_views,
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
