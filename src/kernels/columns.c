/* See columns.h. Loops over a constant number of columns are written out. */
#include "kernels/columns.h"

#include <string.h>

static CAD_INLINE void join(double *restrict to, ptrdiff_t row, const CadStrip *columns,
                            const int count, size_t n) {
    const double *from[CAD_COLUMNS];
    for (int k = 0; k < count; k++) {
        from[k] = columns[k].data;
    }
    for (size_t i = 0; i < n; i++, to += row) {
        for (int k = 0; k < count; k++) {
            to[k] = from[k][i];
        }
    }
}

void cad_columns_join(double *to, ptrdiff_t row, const CadStrip *columns, size_t count, size_t n) {
    for (size_t k = 0; k < count;) {
        size_t end = k;
        while (end < count && columns[end].step == 1) {
            end++;
        }
        if (end - k == CAD_COLUMNS) {
            join(to, row, columns, CAD_COLUMNS, n);
            k += CAD_COLUMNS;
        } else if (end - k >= CAD_COLUMNS / 2) {
            join(to + k, row, columns + k, CAD_COLUMNS / 2, n);
            k += CAD_COLUMNS / 2;
        } else if (end - k >= 2) {
            join(to + k, row, columns + k, 2, n);
            k += 2;
        } else {
            cad_strip_add((CadStrip){to + k, row}, columns[k], 1, n);
            k++;
        }
    }
}

CAD_CLONES
static uint64_t count_others(const double *x, double value, size_t n) {
    uint64_t others = 0;
    for (size_t i = 0; i < n; i++) {
        others += x[i] != value;
    }
    return others;
}

bool cad_columns_mark(const double *x, double value, uint8_t *marks, size_t n) {
    const bool any = count_others(x, value, n) > 0;
    for (size_t i = 0; any && i < n; i++) {
        marks[i] |= x[i] != value;
    }
    return any;
}

void cad_columns_split(double *to, ptrdiff_t apart, const double *from, ptrdiff_t row,
                       size_t count, size_t n) {
    if (count == 1 && row == 1) {
        memcpy(to, from, n * sizeof *to);
        return;
    }
    size_t i = 0;
    for (; i + CAD_COLUMNS <= n; i += CAD_COLUMNS, from += CAD_COLUMNS * row) {
        double *at = to + i;
        for (size_t k = 0; k < count; k++, at += apart) {
            for (int j = 0; j < CAD_COLUMNS; j++) {
                at[j] = from[j * row + (ptrdiff_t)k];
            }
        }
    }
    for (; i < n; i++, from += row) {
        for (size_t k = 0; k < count; k++) {
            to[(ptrdiff_t)k * apart + (ptrdiff_t)i] = from[k];
        }
    }
}

/* --- pairs --- */

CAD_CLONES static void split_pairs(const double *restrict pairs, double *restrict re,
                                   double *restrict im, size_t n) {
    for (size_t i = 0; i < n; i++) {
        re[i] = pairs[2 * i];
        im[i] = pairs[2 * i + 1];
    }
}

CAD_CLONES static void join_pairs(double *restrict pairs, const double *restrict re,
                                  const double *restrict im, size_t n) {
    for (size_t i = 0; i < n; i++) {
        pairs[2 * i] = re[i];
        pairs[2 * i + 1] = im[i];
    }
}

void cad_pairs_split(const double *pairs, double *re, double *im, size_t n) {
    split_pairs(pairs, re, im, n);
}

void cad_pairs_join(double *pairs, const double *re, const double *im, size_t n) {
    join_pairs(pairs, re, im, n);
}
