/* The incomplete gamma and beta functions: integrals in their tails, and slopes by shapes. */
#ifndef CAD_KERNELS_TAILS_H
#define CAD_KERNELS_TAILS_H

#include "kernels/lent.h"

CadOfNumbers cad_of_beta_lower, cad_of_betainc_by_a, cad_of_betainc_by_b, cad_of_gamma_lower,
    cad_of_gamma_upper, cad_of_gammainc_slope;

#endif
