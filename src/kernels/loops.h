/* What the loops of kernels.c and kernels_second.c have in common. */
#ifndef CAD_KERNELS_LOOPS_H
#define CAD_KERNELS_LOOPS_H

#include "kernels/kernels.h"

/* An exact zero absorbs: the second line matters where the product is nan. */
static CAD_INLINE double absorb(double g, double p) {
    const double product = g * p;
    return (g == 0.0) | (p == 0.0) ? 0.0 : product;
}

#endif
