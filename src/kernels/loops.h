/* What the loops of kernels.c and directions.c have in common. */
#ifndef CAD_KERNELS_LOOPS_H
#define CAD_KERNELS_LOOPS_H

#include "kernels/kernels.h"

#include <stdint.h>

/* Before a loop whose last turns shall not be written out one by one, as -O3 does behind each loop
 * that is vectorised: they take no less time, but where there are a hundred loops in three
 * versions they are a third of the code. A loop of eight turns is then vectorised by itself
 * instead of becoming part of the loop around it. */
#if defined(__GNUC__) && !defined(__clang__)
#define CAD_NO_UNROLL _Pragma("GCC unroll 1")
#else
#define CAD_NO_UNROLL
#endif

/* An exact zero absorbs: the second line matters where the product is nan. */
static CAD_INLINE double absorb(double g, double p) {
    const double product = g * p;
    return ((g == 0.0) | (p == 0.0)) ? 0.0 : product;
}

/* condition ? x : y by their bits, of which compilers make vectors where they split loops for the
 * branches otherwise. */
static CAD_INLINE double select_bits(int condition, double x, double y) {
    union {
        double number;
        uint64_t bits;
    } chosen = {x}, other = {y};
    const uint64_t mask = (uint64_t)0 - (uint64_t)(condition != 0);
    chosen.bits = (chosen.bits & mask) | (other.bits & ~mask);
    return chosen.number;
}

#endif
