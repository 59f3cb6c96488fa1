/* The exponential of a real matrix, and its derivative along another one.
 *
 * Al-Mohy and Higham, "Computing the Frechet derivative of the matrix exponential, with an
 * application to condition number estimation" (2009): Pade approximants are differentiated, then
 * squared. A complex matrix is a real one of twice its size, [[re, -im], [im, re]]. */
#ifndef CAD_KERNELS_EXPONENTIALS_H
#define CAD_KERNELS_EXPONENTIALS_H

#include <stddef.h>

enum { CAD_EXPONENTIAL_ROOM = 17 }; /* times n x n numbers */

/* Put the right half of a complex matrix, of n x n numbers, by its left one. */
void cad_complete_complex(double *x, size_t n);

/* to = exp(a), all n x n in order. Answers 0 if a is not finite, or so large that its powers are
 * not.
 */
int cad_exponential(const double *a, double *to, size_t n, int is_complex, double *room);

/* to = the derivative of exp at a along e. Answers 0 if a is not finite, or so large that rounding
 * would take digits unless it is balanced first. */
int cad_exponential_along(const double *a, const double *e, double *to, size_t n, int is_complex,
                          double *room);

#endif
