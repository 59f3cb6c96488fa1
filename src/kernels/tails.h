/* Logarithms of the incomplete gamma and beta functions, from one tail to the other. */
#ifndef CAD_KERNELS_TAILS_H
#define CAD_KERNELS_TAILS_H

#include "kernels/lent.h"

CadOfNumbers cad_of_beta_lower, cad_of_betainc_by_a, cad_of_betainc_by_b, cad_of_gamma_lower,
    cad_of_gamma_upper, cad_of_gammainc_slope, cad_of_log_betainc, cad_of_log_betaincc,
    cad_of_log_gammainc, cad_of_log_gammaincc, cad_of_log_stdtr;

#endif
