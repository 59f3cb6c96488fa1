/* What the loops of kernels.c and kernels_second.c have in common. */
#ifndef CAD_KERNELS_LOOPS_H
#define CAD_KERNELS_LOOPS_H

#include "kernels.h"

/* The simplest loops are compiled for several instruction sets, chosen at run time. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) &&  \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define INLINE inline __attribute__((always_inline))
#else
#define CLONES
#define INLINE inline
#endif

/* An exact zero absorbs: the second line matters where the product is nan. */
static INLINE double absorb(double g, double p) {
    const double product = g * p;
    return (g == 0.0) | (p == 0.0) ? 0.0 : product;
}

#endif
