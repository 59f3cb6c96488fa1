/* Loops over stacks that others have written, such as NumPy's around LAPACK, as kernels: what they
 * take and give are numbers of other types, or what stands in one place for two of them. */
#ifndef CAD_KERNELS_BORROWED_H
#define CAD_KERNELS_BORROWED_H

#include "kernels/stacks.h"

enum { CAD_MOST_BUFFERS = 8, CAD_MOST_STAGES = 3, CAD_MOST_LENGTHS = 6 };

typedef enum CadBufferType {
    CAD_BUFFER_DOUBLE,  /* of a pair of planes the real one */
    CAD_BUFFER_COMPLEX, /* both parts side by side; a result that is real has to be so exactly */
    CAD_BUFFER_INT,     /* which nobody asks for */
} CadBufferType;

/* A matrix, a row or a number, in C order. */
typedef struct CadBuffer {
    CadBufferType type;
    int source, to;  /* the operand of which it is a copy, the argument that is its copy; or -1 */
    bool is_upper;   /* what is below the diagonal is 0 in that copy */
    bool is_turning; /* there is no such copy unless a number in it is complex */
    size_t rows, columns; /* of the copy: the first of what the buffer has */
    size_t n_rows, n_columns;
    size_t start; /* in doubles */
} CadBuffer;

/* A loop over some of the buffers, one turn of it. */
typedef struct CadStage {
    CadStackLoop *loop;
    void *data;
    int n;
    int buffers[CAD_MOST_BUFFERS];
    ptrdiff_t dims[1 + CAD_MOST_LENGTHS];
    ptrdiff_t steps[3 * CAD_MOST_BUFFERS];
} CadStage;

typedef struct CadBorrowed {
    int n_buffers, n_stages, n_arguments;
    size_t size;                    /* of all buffers, in doubles */
    int axes[CAD_MOST_BUFFERS];     /* of each argument: how many its core has */
    bool is_pair[CAD_MOST_BUFFERS]; /* and whether these are two planes of such cores */
    CadBuffer buffers[CAD_MOST_BUFFERS];
    CadStage stages[CAD_MOST_STAGES];
} CadBorrowed;

/* A CadStackLoop, of which `borrowed` is the data. Where an operand is not finite there is no
 * result: LAPACK may look for one for ever. */
void cad_run_borrowed(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                      void *borrowed);

/* A loop of an elementwise ufunc over numbers of other types than doubles. A complex argument has
 * a plane of real and one of imaginary parts, as the axis of its core. */
typedef enum CadItemType { CAD_ITEM_DOUBLE, CAD_ITEM_COMPLEX, CAD_ITEM_INT } CadItemType;

typedef struct CadRetyped {
    CadStackLoop *loop;
    void *data;
    int n_arguments, n_operands;
    CadItemType types[CAD_MOST_BUFFERS];
} CadRetyped;

/* A CadStackLoop, of which `retyped` is the data. */
void cad_run_retyped(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                     void *retyped);

/* The pseudo-inverse of u s vh, as a stage over the buffers (u, s, vh, cutoff, result), which it
 * may write to: singular values that are no more than `cutoff` times the largest are taken for 0.
 */
CadStackLoop cad_pseudo_inverse_of_reals, cad_pseudo_inverse_of_complex;

/* Eigenvalues w and eigenvectors v of a symmetric matrix a, as a stage over the buffers (a, w, v),
 * by LAPACK's dsyevr, to which the data of the loop point. The lower triangle is read, or the
 * upper. */
CadStackLoop cad_eigh_by_evr_of_lower, cad_eigh_by_evr_of_upper;

/* As stages over the buffers (a, b, v): eigenvectors v of two symmetric matrices a and b, by
 * LAPACK's dsygvd; over (a, p): which column of a matrix comes where in its QR factorisation with
 * pivoting, by dgeqp3. */
CadStackLoop cad_vectors_of_pair_of_lower, cad_vectors_of_pair_of_upper, cad_pivots_of_columns;

/* As stages over the buffers (a, t, u): the Schur form u t u^T of a matrix a, or of its transpose,
 * by dgees; t and u stand column by column. Over (t, u, s, v, q, x), given the forms of a and of
 * the transpose of b: the solution of a x + x b = q, by dtrsyl. */
CadStackLoop cad_schur, cad_schur_of_transpose, cad_sylvester_of_schur;

#endif
