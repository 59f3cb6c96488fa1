/* See native.h. */
#include "program/native.h"

#include <math.h>

static int is_within(const CadNative *call, const double *operands, size_t lanes) {
    for (int k = 0; k < call->n_arguments - call->n_results; k++) {
        const double *const x = operands + call->starts[k] * lanes;
        const size_t n = call->constants[k] == NULL ? call->sizes[k] * lanes : 0;
        int outside = 0;
        for (size_t i = 0; i < n; i++) {
            outside |= x[i] < call->low[k] || x[i] > call->high[k];
        }
        if (outside) {
            return 0;
        }
    }
    return 1;
}

static char *start_of(const CadNative *call, int k, size_t lanes, const double *operands,
                      double *results) {
    if (call->constants[k] != NULL) {
        return (char *)call->constants[k];
    }
    const int is_result = k >= call->n_arguments - call->n_results;
    return (char *)((is_result ? results : (double *)operands) + call->starts[k] * lanes);
}

/* Whether the loop has found a result for each turn. */
static int has_results(const CadNative *call, char *const *at) {
    for (int k = call->n_arguments - call->n_results; k < call->n_arguments; k++) {
        for (ptrdiff_t turn = 0; turn < call->dims[0]; turn++) {
            if (isnan(*(const double *)(at[k] + turn * call->steps[k]))) {
                return 0;
            }
        }
    }
    return 1;
}

int cad_native_run(const CadNative *call, const double *operands, double *results) {
    char *at[CAD_MOST_ARGUMENTS], *moved[CAD_MOST_ARGUMENTS];
    ptrdiff_t index[CAD_MOST_OUTER] = {0};
    const int n = call->n_arguments;
    if (call->is_bounded && !is_within(call, operands, 1)) {
        return 0;
    }
    for (int k = 0; k < n; k++) {
        at[k] = start_of(call, k, 1, operands, results);
    }
    for (;;) {
        for (int k = 0; k < n; k++) { /* which loops may change */
            moved[k] = at[k];
        }
        call->loop(moved, call->dims, call->steps, call->data);
        if (call->may_fail && !has_results(call, at)) {
            return 0;
        }
        int axis = call->ndim;
        for (; axis > 0; axis--) {
            const ptrdiff_t *const strides = call->strides[axis - 1];
            const ptrdiff_t length = call->lengths[axis - 1];
            const int ends = ++index[axis - 1] == length;
            for (int k = 0; k < n; k++) {
                at[k] += ends ? (1 - length) * strides[k] : strides[k];
            }
            if (!ends) {
                break;
            }
            index[axis - 1] = 0;
        }
        if (axis == 0) {
            return 1;
        }
    }
}

int cad_native_run_lanes(const CadNative *call, size_t lanes, const double *operands,
                         double *results) {
    char *at[CAD_MOST_ARGUMENTS];
    ptrdiff_t n = call->dims[0] * (ptrdiff_t)lanes;
    if (call->is_bounded && !is_within(call, operands, lanes)) {
        return 0;
    }
    for (int k = 0; k < call->n_arguments; k++) {
        at[k] = start_of(call, k, lanes, operands, results);
    }
    call->loop(at, &n, call->steps, call->data);
    return 1;
}
