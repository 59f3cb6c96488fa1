/* Loops of the core's own for functions that NumPy and SciPy compute number by number, written so
 * that compilers make vectors of them. What they give differs from NumPy's in the last place at
 * most: it is for programs and partials, not for values of numbers that somebody asked for. */
#ifndef CAD_KERNELS_VECTORS_H
#define CAD_KERNELS_VECTORS_H

#include "kernels/kernels.h"

/* Whether there is such a loop for an operation, on some machine. */
int cad_vector_knows(CadOp op);

/* out[i] = op(x[0][i], x[1][i]) for i < n, if there is a loop that is faster than the one borrowed
 * for this operation on this machine; else 0. `out` may be an operand. */
int cad_vector_value(CadOp op, CadStrip out, const CadStrip *x, size_t n);

/* What compilers are told of this machine's vectors, as `target` of a function: nothing if they
 * know them anyway. */
const char *cad_vector_target(void);

#endif
