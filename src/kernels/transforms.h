/* Discrete Fourier transforms of whole arrays, whose parts stand apart, by borrowed loops over
 * rows of complex numbers. */
#ifndef CAD_KERNELS_TRANSFORMS_H
#define CAD_KERNELS_TRANSFORMS_H

#include "kernels/stacks.h"

enum { CAD_TRANSFORM_AXES = 8 };

/* What is a half of a spectrum: none, what comes out, or what goes in. */
typedef enum CadHalf { CAD_NO_HALF, CAD_HALF_RESULT, CAD_HALF_OPERAND } CadHalf;

/* A loop over rows and a factor, "(n),()->(m)" as those of numpy.fft. */
typedef struct CadRowLoop {
    CadStackLoop *loop;
    void *data;
} CadRowLoop;

typedef struct CadTransform {
    int ndim;
    ptrdiff_t
        given[CAD_TRANSFORM_AXES]; /* the shape of operands, which are truncated or padded, */
    ptrdiff_t lengths[CAD_TRANSFORM_AXES]; /* that of the spectrum, which may be a half, */
    ptrdiff_t to[CAD_TRANSFORM_AXES];      /* and that of results */
    int n_axes;
    int axes[CAD_TRANSFORM_AXES]; /* that are transformed; the last one may be halved */
    double factors[CAD_TRANSFORM_AXES];
    int n_operands, n_results; /* real parts, and imaginary ones if there are two */
    CadHalf half;
    ptrdiff_t real_length; /* of the axis that is halved */
    double inner;          /* what bins of a half are multiplied by that stand for two */
    CadRowLoop whole, halving;
} CadTransform;

/* data: a CadTransform. Arguments are real and imaginary parts, all numbers of each one core. */
void cad_transform_run(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                       void *data);

#endif
