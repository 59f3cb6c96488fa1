/* See columns.h. Loops over eight columns have a constant for their length, and are written out.
 */
#include "kernels/columns.h"

static void join_eight(double *restrict to, ptrdiff_t row, const CadStrip *columns, size_t n) {
    const double *from[CAD_COLUMNS];
    for (int k = 0; k < CAD_COLUMNS; k++) {
        from[k] = columns[k].data;
    }
    for (size_t i = 0; i < n; i++, to += row) {
        for (int k = 0; k < CAD_COLUMNS; k++) {
            to[k] = from[k][i];
        }
    }
}

void cad_columns_join(double *to, ptrdiff_t row, const CadStrip *columns, size_t count, size_t n) {
    size_t contiguous = 0;
    while (contiguous < count && columns[contiguous].step == 1) {
        contiguous++;
    }
    if (contiguous == CAD_COLUMNS) {
        join_eight(to, row, columns, n);
        return;
    }
    for (size_t k = 0; k < count; k++) {
        cad_strip_add((CadStrip){to + k, row}, columns[k], 1, n);
    }
}

void cad_columns_split(double *to, ptrdiff_t apart, const double *from, ptrdiff_t row,
                       size_t count, size_t n) {
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
