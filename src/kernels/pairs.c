/* Complex numbers taken apart and put together: loops that take many at a time. */
#include "kernels/pairs.h"

#include "kernels/kernels.h"

CAD_CLONES static void split(const double *restrict pairs, double *restrict re,
                             double *restrict im, size_t n) {
    for (size_t i = 0; i < n; i++) {
        re[i] = pairs[2 * i];
        im[i] = pairs[2 * i + 1];
    }
}

CAD_CLONES static void join(double *restrict pairs, const double *restrict re,
                            const double *restrict im, size_t n) {
    for (size_t i = 0; i < n; i++) {
        pairs[2 * i] = re[i];
        pairs[2 * i + 1] = im[i];
    }
}

void cad_pairs_split(const double *pairs, double *re, double *im, size_t n) {
    split(pairs, re, im, n);
}

void cad_pairs_join(double *pairs, const double *re, const double *im, size_t n) {
    join(pairs, re, im, n);
}
