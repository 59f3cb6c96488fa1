/* Columns of numbers put side by side in rows, and taken apart again: eight at a time, so that
 * each line of the cache is written once. */
#ifndef CAD_KERNELS_COLUMNS_H
#define CAD_KERNELS_COLUMNS_H

#include "kernels/kernels.h"

enum { CAD_COLUMNS = 8 };

/* to[i row + k] = column k [i], for k < count <= CAD_COLUMNS and i < n. */
void cad_columns_join(double *to, ptrdiff_t row, const CadStrip *columns, size_t count, size_t n);

/* to[k apart + i] = from[i row + k], for k < count and i < n. */
void cad_columns_split(double *to, ptrdiff_t apart, const double *from, ptrdiff_t row,
                       size_t count, size_t n);

/* Marks those of n numbers that are not `value`, and answers whether there are any. */
bool cad_columns_mark(const double *x, double value, uint8_t *marks, size_t n);

/* Complex numbers are pairs of floats: the parts of n, one after the other. */
void cad_pairs_split(const double *pairs, double *re, double *im, size_t n);

/* The n complex numbers that have these parts. */
void cad_pairs_join(double *pairs, const double *re, const double *im, size_t n);

#endif
