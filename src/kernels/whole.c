/* Whole numbers among floats: loops without a way out, so that they take many at a time. */
#include "kernels/whole.h"

CAD_CLONES static uint64_t bits_of_sizes(const int64_t *from, size_t n) {
    uint64_t bits = 0;
    for (size_t k = 0; k < n; k++) {
        bits |= (uint64_t)(from[k] < 0 ? ~from[k] : from[k]);
    }
    return bits;
}

int cad_whole_of_integers(double *to, const int64_t *from, size_t n) {
    if (bits_of_sizes(from, n) >> 53 != 0) {
        return 0;
    }
    for (size_t k = 0; k < n; k++) {
        to[k] = (double)from[k];
    }
    return 1;
}

CAD_CLONES static int count_up(int32_t *restrict to, const double *from, size_t n, double length) {
    int outside = 0;
    for (size_t k = 0; k < n; k++) {
        outside |= !cad_whole_to_index(&to[k], from[k], length);
    }
    return outside;
}

int cad_whole_to_indices(int32_t *to, CadStrip from, size_t n, double length) {
    if (from.step == 1) {
        return !count_up(to, from.data, n, length);
    }
    int inside = 1;
    for (ptrdiff_t k = 0; k < (ptrdiff_t)n; k++) {
        inside &= cad_whole_to_index(&to[k], from.data[k * from.step], length);
    }
    return inside;
}
