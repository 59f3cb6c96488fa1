/* Systems of equations by factors: triangles, LU with exchanges of rows, and what derivatives of
 * Cholesky factors are made of.
 *
 * All work in place and in halves, down to blocks of a few rows, so that nearly all of it is
 * products of matrices, in the loop of CAD_OP_MATMUL. `room` is n * max(m, n) numbers of the
 * caller's, where there is an m, else n * n. */
#ifndef CAD_KERNELS_FACTORS_H
#define CAD_KERNELS_FACTORS_H

#include "kernels/kernels.h"

#include <stddef.h>

/* A matrix of real numbers, or of complex ones, whose imaginary parts stand in a plane of their
 * own: `imaginary` numbers behind the real ones, 0 if there are none. */
typedef struct CadComplexMatrix {
    double *data;
    ptrdiff_t row;
    ptrdiff_t column;
    ptrdiff_t imaginary;
} CadComplexMatrix;

typedef struct CadTriangle {
    CadComplexMatrix matrix; /* what stands outside of the triangle is not read */
    int lower;
    int unit; /* the diagonal is taken to be 1, and not read */
} CadTriangle;

/* b (n x m, b.column == 1) becomes x, where t x = b: both real, or both complex. */
void cad_solve_triangle(CadTriangle t, CadComplexMatrix b, size_t n, size_t m, double *room);

/* b (n x n, b.column == 1), the identity, becomes the inverse of a lower triangle: in half of the
 * operations, since what is above the diagonal stays 0. */
void cad_invert_lower(CadTriangle t, CadComplexMatrix b, size_t n, double *room);

/* a (n x n, a.column == 1) becomes l and u in one: a[order] = l u, l with a diagonal of ones. The
 * pivots, the largest of what is left of their columns, are on the diagonal: 0 if a is singular.
 */
void cad_factor_lu(CadComplexMatrix a, double *order, size_t n, double *room);

/* Of real numbers, with a = l l.T, of which one triangle is read. g (n x n, g.column == 1) holds,
 * in its upper triangle and transposed, a cotangent of l, and becomes that of the triangle of a,
 * transposed; or a tangent of the triangle of a, and becomes that of l. Below the diagonal it
 * becomes 0.
 *
 * Murray, "Differentiation of the Cholesky decomposition" (2016), whose blocks are halves here:
 * 5/6 n^3 operations beside the n^3 / 3 of the factorisation. */
void cad_cholesky_pull(CadComplexMatrix l, CadComplexMatrix g, size_t n, double *room);
void cad_cholesky_push(CadComplexMatrix l, CadComplexMatrix g, size_t n, double *room);

#endif
