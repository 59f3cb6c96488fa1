/* See stacks.h. */
#include "kernels/stacks.h"

#include "kernels/matrices.h"

#define OF_REALS(name, signature) {#name, signature, cad_##name##_of_reals},
#define OF_PAIRS(name, signature) {#name "_of_pairs", signature, cad_##name##_of_pairs},

const CadStackKernel cad_stack_kernels[] = {
    CAD_LOOPS_OF_MATRICES(OF_REALS, OF_PAIRS) /* */
    {NULL, NULL, NULL},
};
