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

/* The rows of three arguments that have an axis each. */
#define ROWS_OF_THREE(x, y, z)                                                                    \
    const Row x = row_at(arguments[0], turn, steps[0], steps[3]),                                 \
              y = row_at(arguments[1], turn, steps[1], steps[4]),                                 \
              z = row_at(arguments[2], turn, steps[2], steps[5])

static inline double *item(Row x, ptrdiff_t k) {
    return x.data + k * x.step;
}

static inline double combined(intptr_t how, double x, double y) {
    switch (how) {
    case CAD_RUN_MULTIPLY:
        return x * y;
    case CAD_RUN_MAXIMUM:
        return ((x >= y) | (x != x)) ? x : y;
    case CAD_RUN_MINIMUM:
        return ((x <= y) | (x != x)) ? x : y;
    case CAD_RUN_FMAX:
        return ((x >= y) | (y != y)) ? x : y;
    default:
        return ((x <= y) | (y != y)) ? x : y;
    }
}

#endif
