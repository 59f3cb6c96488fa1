/* Values in single precision: the numbers stand as doubles, each of which is a float; operations
 * on them give the results of the same operations on floats. Derivatives are not known here:
 * those are computed in double precision. */
#ifndef CAD_KERNELS_SINGLE_H
#define CAD_KERNELS_SINGLE_H

#include "kernels/kernels.h"

/* Set the loop over floats of an operation, or of matrix products (CAD_OP_MATMUL); before any tape
 * is in use. Without one, doubles are computed, and rounded. */
void cad_set_single_loop(CadOp op, CadLoopFunction function, void *data);

/* Run the loop over floats of an operation: as cad_run_loop. */
void cad_run_single_loop(CadOp op, char **args, const intptr_t *dims, const intptr_t *steps);

/* Doubles as floats: the nearest ones. */
void cad_narrow_row(float *restrict to, const double *restrict from, size_t n);

void cad_widen_row(double *restrict to, const float *restrict from, size_t n);

/* As cad_strip_value. */
void cad_strip_value_single(CadOp op, CadStrip out, const CadStrip *x, size_t n);

/* out += sum of x over n numbers, pairwise; `room` is for as many floats. */
void cad_strip_sum_single(double *out, CadStrip x, size_t n, float *room);

/* to[i] += x[i] */
void cad_strip_add_single(CadStrip to, CadStrip x, size_t n);

/* Some floats, `step` apart; step 0 is one number for all. */
typedef struct CadFloatStrip {
    float *data;
    ptrdiff_t step;
} CadFloatStrip;

/* Whether there is a loop over floats for an operation; out[i] = op(x[i], y[i], z[i]) by it. */
int cad_knows_floats(CadOp op);
void cad_float_strip_value(CadOp op, CadFloatStrip out, CadFloatStrip x, CadFloatStrip y,
                           CadFloatStrip z, size_t n);

/* A matrix of floats; steps in numbers. */
typedef struct CadFloats {
    float *data;
    ptrdiff_t row;
    ptrdiff_t column;
} CadFloats;

/* A matrix of doubles, or, if it has such, of floats. */
typedef struct CadEither {
    CadMatrix doubles;
    CadFloats floats;
} CadEither;

/* product (m x p) += or = A (m x n) B (n x p), of which each is rounded. `room` is for as many
 * floats as the three of them have; without it doubles are multiplied, and the product rounded.
 * A product of floats is stored, and its rows are contiguous. */
void cad_multiply_matrices_single(CadEither product, CadEither a, CadEither b, int store, size_t m,
                                  size_t n, size_t p, double *room);

/* As cad_multiply_matrices, if there is a loop for it. */
void cad_multiply_floats(CadFloats product, CadFloats a, CadFloats b, size_t m, size_t n,
                         size_t p);
int cad_multiplies_floats(void);

#endif
