/* See native.h. */
#include "program/native.h"

#include "memory/memory.h"

#include <math.h>
#include <string.h>

/* Whether an argument is a result, or stands where one is. */
static int is_result(const CadNative *call, int k) {
    return k >= call->n_arguments - call->n_results || (call->reduces && k == 0);
}

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
    return (char *)((is_result(call, k) ? results : (double *)operands) + call->starts[k] * lanes);
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

/* Of `length` turns along the outermost axis. */
static bool run_turns(const CadNative *call, ptrdiff_t length, size_t n_results,
                      const double *operands, double *results) {
    char *at[CAD_MOST_ARGUMENTS], *moved[CAD_MOST_ARGUMENTS];
    ptrdiff_t index[CAD_MOST_OUTER] = {0};
    const int n = call->n_arguments;
    ptrdiff_t dims[1 + CAD_MOST_CORE];
    memcpy(dims, call->dims, sizeof dims);
    dims[0] = call->ndim == 0 ? length : dims[0];
    for (int k = 0; k < n; k++) {
        at[k] = start_of(call, k, 1, operands, results);
    }
    for (size_t i = 0; call->reduces && i < n_results; i++) {
        results[i] = call->start;
    }
    for (;;) {
        for (int k = 0; k < n; k++) { /* which loops may change */
            moved[k] = at[k];
        }
        call->loop(moved, dims, call->steps, call->data);
        if (call->may_fail && !has_results(call, at)) {
            return 0;
        }
        int axis = call->ndim;
        for (; axis > 0; axis--) {
            const ptrdiff_t *const strides = call->strides[axis - 1];
            const ptrdiff_t turns = axis == 1 ? length : call->lengths[axis - 1];
            const int ends = ++index[axis - 1] == turns;
            for (int k = 0; k < n; k++) {
                at[k] += ends ? (1 - turns) * strides[k] : strides[k];
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

bool cad_native_run(const CadNative *call, const double *operands, double *results) {
    return (!call->is_bounded || is_within(call, operands, 1)) &&
           run_turns(call, call->ndim == 0 ? call->dims[0] : call->lengths[0],
                     call->reduces ? call->sizes[0] : 0, operands, results);
}

size_t cad_native_rows(const CadNative *call) {
    const int operand = call->reduces ? 1 : 0, result = call->n_arguments - 1;
    const ptrdiff_t *const steps = call->ndim == 0 ? call->steps : call->strides[0];
    const size_t rows = (size_t)(call->ndim == 0 ? call->dims[0] : call->lengths[0]);
    const size_t of_operand = call->sizes[operand] / rows, of_result = call->sizes[result] / rows;
    const int is_simple = call->n_results == 1 && result == operand + 1 &&
                          call->constants[operand] == NULL && !call->may_fail && !call->is_bounded;
    return is_simple && steps[operand] == (ptrdiff_t)(of_operand * sizeof(double)) &&
                   steps[result] == (ptrdiff_t)(of_result * sizeof(double)) &&
                   call->sizes[operand] == of_operand * rows &&
                   call->sizes[result] == of_result * rows
               ? rows
               : 0;
}

void cad_native_run_rows(const CadNative *call, size_t rows, const double *operands,
                         double *results) {
    const size_t all = (size_t)(call->ndim == 0 ? call->dims[0] : call->lengths[0]);
    run_turns(call, (ptrdiff_t)rows, call->reduces ? call->sizes[0] / all * rows : 0, operands,
              results);
}

static int run_rows_of_lanes(const CadNative *call, size_t lanes, const double *operands,
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

/* How many numbers operands, or results, have in all. */
static size_t total(const CadNative *call, int of_results) {
    size_t n = 0;
    for (int k = 0; k < call->n_arguments; k++) {
        const size_t end = call->starts[k] + call->sizes[k];
        const int counts = call->constants[k] == NULL && is_result(call, k) == of_results;
        n = counts && end > n ? end : n;
    }
    return n;
}

static void copy_lane(double *to, ptrdiff_t to_step, const double *from, ptrdiff_t from_step,
                      size_t n) {
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
        to[i * to_step] = from[i * from_step];
    }
}

int cad_native_run_lanes(const CadNative *call, size_t lanes, const double *operands,
                         double *results) {
    if (call->is_elementwise) {
        return run_rows_of_lanes(call, lanes, operands, results);
    }
    const size_t n_operands = total(call, 0), n_results = total(call, 1);
    double *const room = cad_memory_resize(NULL, n_operands + n_results, sizeof(double));
    int is_done = room != NULL;
    for (size_t lane = 0; lane < lanes && is_done; lane++) {
        copy_lane(room, 1, operands + lane, (ptrdiff_t)lanes, n_operands);
        is_done = cad_native_run(call, room, room + n_operands);
        copy_lane(results + lane, (ptrdiff_t)lanes, room + n_operands, 1, n_results);
    }
    cad_memory_free(room);
    return is_done;
}
