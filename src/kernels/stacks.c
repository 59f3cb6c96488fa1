/* See stacks.h. */
#include "kernels/stacks.h"

#include "kernels/borrowed.h"
#include "kernels/matrices.h"

#define OF_REALS(name, signature) {#name, signature, cad_##name##_of_reals},
#define OF_PAIRS(name, signature) {#name "_of_pairs", signature, cad_##name##_of_pairs},

const CadStackKernel cad_stack_kernels[] = {
    CAD_LOOPS_OF_MATRICES(OF_REALS, OF_PAIRS) /* */
    {"pseudo_inverse", "(m,k),(k),(k,n),()->(n,m)", cad_pseudo_inverse_of_reals},
    {"pseudo_inverse_of_complex", "(m,k),(k),(k,n),()->(n,m)", cad_pseudo_inverse_of_complex},
    {"eigh_by_evr_of_lower", "(n,n)->(n),(n,n)", cad_eigh_by_evr_of_lower},
    {"eigh_by_evr_of_upper", "(n,n)->(n),(n,n)", cad_eigh_by_evr_of_upper},
    {NULL, NULL, NULL},
};
