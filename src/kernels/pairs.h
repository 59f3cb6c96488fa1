/* Arrays of complex numbers, each a pair of floats, and their parts, an array each. */
#ifndef CAD_KERNELS_PAIRS_H
#define CAD_KERNELS_PAIRS_H

#include <stddef.h>

/* The parts of n complex numbers, one after the other. */
void cad_pairs_split(const double *pairs, double *re, double *im, size_t n);

/* The n complex numbers that have these parts. */
void cad_pairs_join(double *pairs, const double *re, const double *im, size_t n);

#endif
