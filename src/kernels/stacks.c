/* See stacks.h. */
#include "kernels/stacks.h"

#include "kernels/borrowed.h"
#include "kernels/matrices.h"
#include "kernels/rows.h"

#define LISTED(name, signature, kernel, always) {name, signature, kernel, always},
#define OF_REALS(name, signature) LISTED(#name, signature, cad_##name##_of_reals, 0)
#define OF_PAIRS(name, signature) LISTED(#name "_of_pairs", signature, cad_##name##_of_pairs, 0)

/* clang-format off */
const CadStackKernel cad_stack_kernels[] = {
    CAD_LOOPS_OF_MATRICES(OF_REALS, OF_PAIRS)
    LISTED("pseudo_inverse", "(m,k),(k),(k,n),()->(n,m)", cad_pseudo_inverse_of_reals, 0)
    LISTED("pseudo_inverse_of_complex", "(m,k),(k),(k,n),()->(n,m)",
           cad_pseudo_inverse_of_complex, 0)
    LISTED("eigh_by_evr_of_lower", "(n,n)->(n),(n,n)", cad_eigh_by_evr_of_lower, 0)
    LISTED("eigh_by_evr_of_upper", "(n,n)->(n),(n,n)", cad_eigh_by_evr_of_upper, 0)
    LISTED("vectors_of_pair_of_lower", "(n,n),(n,n)->(n,n)", cad_vectors_of_pair_of_lower, 0)
    LISTED("vectors_of_pair_of_upper", "(n,n),(n,n)->(n,n)", cad_vectors_of_pair_of_upper, 0)
    LISTED("pivots_of_columns", "(m,n)->(n)", cad_pivots_of_columns, 0)
    LISTED("schur", "(n,n)->(n,n),(n,n)", cad_schur, 0)
    LISTED("schur_of_transpose", "(n,n)->(n,n),(n,n)", cad_schur_of_transpose, 0)
    LISTED("sylvester_of_schur", "(m,m),(m,m),(n,n),(n,n),(m,n)->(m,n)", cad_sylvester_of_schur, 0)
    CAD_KERNELS_OF_ROWS(LISTED)
    {NULL, NULL, NULL, 0},
};
/* clang-format on */
