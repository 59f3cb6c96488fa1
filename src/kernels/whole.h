/* Whole numbers among floats: integers converted to floats, and floats as indices. */
#ifndef CAD_KERNELS_WHOLE_H
#define CAD_KERNELS_WHOLE_H

#include "kernels/kernels.h"

#include <stddef.h>
#include <stdint.h>

/* Integers as floats. 0 if one lies beyond 2^53, where floats leave some out. */
int cad_whole_of_integers(double *to, const int64_t *from, size_t n);

/* An index, counted from the beginning. 0 if it is out of bounds. */
static inline int cad_whole_to_index(int32_t *to, double from, double length) {
    const double index = from + (from < 0.0 ? length : 0.0);
    const int is_inside = (index >= 0.0) & (index < length);
    *to = (int32_t)(is_inside ? index : 0.0);
    return is_inside;
}

/* Indices, counted from the beginning. 0 if one is out of bounds. */
int cad_whole_to_indices(int32_t *to, CadStrip from, size_t n, double length);

#endif
