/* What kernels along an axis share. */
#ifndef CAD_KERNELS_ROW_H
#define CAD_KERNELS_ROW_H

#include "kernels/kernels.h"
#include "kernels/rows.h"

/* Numbers along an axis. */
typedef CadStrip Row;

static inline Row row_at(char *argument, ptrdiff_t turn, ptrdiff_t step, ptrdiff_t along) {
    return (Row){(double *)(argument + turn * step), along / (ptrdiff_t)sizeof(double)};
}

static inline double *item(Row x, ptrdiff_t k) {
    return x.data + k * x.step;
}

static inline double combined(intptr_t how, double x, double y) {
    switch (how) {
    case CAD_RUN_MULTIPLY:
        return x * y;
    case CAD_RUN_MAXIMUM:
        return (x >= y) | (x != x) ? x : y;
    case CAD_RUN_MINIMUM:
        return (x <= y) | (x != x) ? x : y;
    case CAD_RUN_FMAX:
        return (x >= y) | (y != y) ? x : y;
    default:
        return (x <= y) | (y != y) ? x : y;
    }
}

#endif
