/* Loops over stacks of matrices, real or complex: kernels of stacks.h that go by factors.h.
 *
 * Each stands in the table twice. Complex arguments are pairs of planes: an axis of length 2 in
 * front of all others, "2" in signatures, where a loop finds the step to the imaginary parts. */
#ifndef CAD_KERNELS_MATRICES_H
#define CAD_KERNELS_MATRICES_H

#include <stddef.h>

/* What loops are told: sums of these. */
enum { CAD_ADJOINT = 1, CAD_LOWER = 2, CAD_UNIT = 4 };

#define CAD_LOOPS_OF_MATRICES(OF_REALS, OF_PAIRS)                                                 \
    OF_REALS(solve_triangle, "(n,n),(n,m)->(n,m)")                                                \
    OF_PAIRS(solve_triangle, "(2,n,n),(2,n,m)->(2,n,m)")                                          \
    OF_REALS(cho_solve, "(n,n),(n,m)->(n,m)")                                                     \
    OF_PAIRS(cho_solve, "(2,n,n),(2,n,m)->(2,n,m)")                                               \
    OF_REALS(cho_solve_by_lower, "(n,n),(n,m)->(n,m)")                                            \
    OF_REALS(factor_lu, "(n,n)->(n,n),(n)")                                                       \
    OF_PAIRS(factor_lu, "(2,n,n)->(2,n,n),(n)")                                                   \
    OF_REALS(factor_with_pivots, "(n,n)->(n,n),(n)")                                              \
    OF_PAIRS(factor_with_pivots, "(2,n,n)->(2,n,n),(n)")                                          \
    OF_REALS(solve_factored, "(n,n),(n),(n,m)->(n,m)")                                            \
    OF_PAIRS(solve_factored, "(2,n,n),(2,n),(2,n,m)->(2,n,m)")                                    \
    OF_REALS(inverse_adjoint, "(n,n),(n)->(n,n)")                                                 \
    OF_PAIRS(inverse_adjoint, "(2,n,n),(2,n)->(2,n,n)")                                           \
    OF_REALS(inverse, "(n,n)->(n,n)")                                                             \
    OF_PAIRS(inverse, "(2,n,n)->(2,n,n)")                                                         \
    OF_REALS(determinant, "(n,n),(n)->()")                                                        \
    OF_PAIRS(determinant, "(2,n,n),(2,n)->(2)")                                                   \
    OF_REALS(log_determinant, "(n,n),(n)->(),()")                                                 \
    OF_PAIRS(log_determinant, "(2,n,n),(2,n)->(2),()")                                            \
    OF_REALS(cholesky_pull, "(n,n),(n,n)->(n,n)")                                                 \
    OF_REALS(cholesky_push, "(n,n),(n,n)->(n,n)")                                                 \
    OF_REALS(solve, "(n,n),(n,m)->(n,m)")                                                         \
    OF_PAIRS(solve, "(2,n,n),(2,n,m)->(2,n,m)")                                                   \
    OF_REALS(expm, "(n,n)->(n,n)")                                                                \
    OF_PAIRS(expm, "(2,n,n)->(2,n,n)")                                                            \
    OF_REALS(expm_frechet, "(n,n),(n,n)->(n,n)")                                                  \
    OF_PAIRS(expm_frechet, "(2,n,n),(2,n,n)->(2,n,n)")                                            \
    OF_PAIRS(still, "(2,n,m),(2,n,m)->(m)")                                                       \
    OF_PAIRS(still_beside, "(2,n,m),(2,n,m),(2,n,n)->(m)")

#define CAD_DECLARE_LOOP(name)                                                                    \
    void name(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *told);

/* cad_solve_of_reals, cad_solve_of_pairs, and so for each name of the list. */
#define CAD_DECLARE_OF_REALS(name, signature) CAD_DECLARE_LOOP(cad_##name##_of_reals)
#define CAD_DECLARE_OF_PAIRS(name, signature) CAD_DECLARE_LOOP(cad_##name##_of_pairs)

CAD_LOOPS_OF_MATRICES(CAD_DECLARE_OF_REALS, CAD_DECLARE_OF_PAIRS)

#endif
