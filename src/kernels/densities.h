/* What occurs in the derivatives of special functions and in their tails: densities, their
 * logarithms, and differences that would cancel. */
#ifndef CAD_KERNELS_DENSITIES_H
#define CAD_KERNELS_DENSITIES_H

#include "kernels/lent.h"

/* 0 if x is, whatever y is. */
double cad_xlogy(double x, double y);
double cad_xlog1py(double x, double y);

/* k log(k/m) + m - k for k > 0. */
double cad_deviance(double k, double m);

/* The probability of Student's t beyond ±t where df is small beside t², and its scale: it is the
 * scale times (√df / t)**df in the limit. */
double cad_student_tail_scale(double df, CadHelp *help);
double cad_student_tail(double df, double t, CadHelp *help);

double cad_log1p_gap(double t);
double cad_student_log_density(double df, double t, CadHelp *help);
double cad_ive_tail(int n, double v, double x);
double cad_kve_moment(int n, double v, double x);
double cad_erfcx_moment(int n, double z, CadHelp *help);

CadOfNumbers cad_of_beta_density, cad_of_beta_log_density, cad_of_digamma_gap,
    cad_of_digamma_half_gap, cad_of_erfcx_moment, cad_of_exp_over, cad_of_gamma_density,
    cad_of_gamma_log_density, cad_of_i0e_moment, cad_of_ive_tail, cad_of_kve_moment,
    cad_of_log1p_gap, cad_of_log_ratio, cad_of_student_log_density;

#endif
