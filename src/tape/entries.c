/* See entries.h: what the operands of an entry over arrays span. */
#include "tape/entries.h"

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

void cad_operand_bounds(const CadOperand *operand, int64_t *low, int64_t *high) {
    *low = *high = operand->slot;
    stretch(operand->ndim, operand->shape_and_strides, operand->shape_and_strides + operand->ndim,
            low, high);
}
