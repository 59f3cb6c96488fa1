/* See tails.h.
 *
 * In a tail the density of a distribution divided by its probability, the hazard, is the
 * reciprocal of an integral whose integrand starts at 1 and falls off: it neither underflows nor
 * cancels. */
#include "kernels/tails.h"

#include "kernels/densities.h"
#include "kernels/mended.h"

#include <math.h>

static const double underflow = 1e-280; /* of a probability: below it the hazard gives the log */

/* --- quadrature --- */

/* Double-exponential, over (0, ∞) for integrands that fall off like an exponential: Takahasi and
 * Mori (1974), Double exponential formulas for numerical integration. */
static void find_nodes(CadHelp *help) {
    for (int i = 0; i < CAD_NODES; i++) {
        const double step = -3.9 + 0.0625 * i;
        help->nodes[i] = exp(step - exp(-step));
        help->weights[i] = 0.0625 * help->nodes[i] * (1.0 + exp(-step));
    }
    help->has_nodes = 1;
}

typedef double Height(double s, const double *shapes);

/* ∫ uⁿ height(s) ds over s > 0, where the integrand falls off within some widths. */
static double integral(Height *height, double width, const double *shapes, CadHelp *help) {
    double total = 0.0;
    if (!help->has_nodes) {
        find_nodes(help);
    }
    for (int i = 0; i < CAD_NODES; i++) {
        total += height(width * help->nodes[i], shapes) * help->weights[i];
    }
    return width * total;
}

/* ∫ uⁿ (1+u)ᵃ exp(-xu) du over u > 0, for x ≥ 1 and x > a: for n = 0 it is
 * Γ(a+1, x) exp(x) x**-(a+1) (DLMF 8.6.5). */
static double gamma_upper_height(double u, const double *x) {
    return pow(u, x[0]) * exp(x[1] * log1p(u) - x[2] * u);
}

double cad_of_gamma_upper(const double *x, CadHelp *help) {
    return integral(gamma_upper_height, 1.0 / ((x[2] - x[1]) + sqrt(fabs(x[1]))), x, help);
}

/* The others go by the variable s = -log(1-u).
 * ∫ uⁿ (1-u)**(a-1) exp(xu) du over 0 < u < 1, for x < a: for n = 0 it is γ(a, x) exp(x) x**-a
 * (DLMF 8.6.3). */
static double gamma_lower_height(double s, const double *x) {
    const double u = -expm1(-s);
    return pow(u, x[0]) * exp(x[2] * u - x[1] * s);
}

double cad_of_gamma_lower(const double *x, CadHelp *help) {
    return integral(gamma_lower_height, 1.0 / ((x[1] - x[2]) + sqrt(x[2])), x, help);
}

/* ∫ uⁿ (1-u)**(a-1) (1+ru)**b du over 0 < u < 1, for br < a: for n = 0 it is
 * B(x; a, b+1) x**-a (1-x)**-b with r = x/(1-x), by t = x(1-u) in DLMF 8.17.1. */
static double beta_lower_height(double s, const double *x) {
    const double u = -expm1(-s);
    return pow(u, x[0]) * exp(x[2] * log1p(x[3] * u) - x[1] * s);
}

double cad_of_beta_lower(const double *x, CadHelp *help) {
    const double a = x[1], b = x[2] > 0.0 ? x[2] : 0.0, r = x[3];
    return integral(beta_lower_height, 1.0 / ((a - b * r) + sqrt(b * r * (1.0 + r))), x, help);
}

/* --- hazards --- */

/* The density at x divided by Γ(a, x) / Γ(a), where the integral is taken by parts once. */
static double log_gamma_upper_hazard(double a, double x, CadHelp *help) {
    const double at[] = {0.0, a - 2.0, x};
    return -log(1.0 + (a - 1.0) * cad_of_gamma_upper(at, help));
}

/* The density at x divided by the probability below, where y is 1 - x. */
static double log_beta_lower_hazard(double a, double b, double x, double y, CadHelp *help) {
    const double at[] = {0.0, a, b - 1.0, x / y};
    return -log(x * cad_of_beta_lower(at, help));
}

/* The density at t > 0 divided by the probability above: twice the tail is one of beta. */
static double log_student_hazard(double df, double t, CadHelp *help) {
    const double r = df / t / t, at[] = {0.0, 0.5 * df, -0.5, r};
    return log(2.0 / (t * ((1.0 + r) * cad_of_beta_lower(at, help))));
}

/* --- logarithms --- */

/* That of p, by its complement q where p is nearly 1. */
static double log_of(double p, double q) {
    return p > 0.5 ? log1p(-q) : log(p);
}

double cad_of_log_gammaincc(const double *at, CadHelp *help) {
    const double a = at[0], x = at[1], p = cad_ask2(help, CAD_LENT_gammaincc, a, x);
    if (p < underflow) {
        return cad_gamma_log_density(a, x, help) - log_gamma_upper_hazard(a, x, help);
    }
    return log_of(p, p > 0.5 ? cad_ask2(help, CAD_LENT_gammainc, a, x) : 0.0);
}

double cad_of_log_gammainc(const double *at, CadHelp *help) {
    const double a = at[0], x = at[1], p = cad_ask2(help, CAD_LENT_gammainc, a, x);
    if (p < underflow) {
        const double lower[] = {0.0, a, x};
        return cad_gamma_log_density(a + 1.0, x, help) + log(a * cad_of_gamma_lower(lower, help));
    }
    return log_of(p, p > 0.5 ? cad_ask2(help, CAD_LENT_gammaincc, a, x) : 0.0);
}

double cad_of_log_betainc(const double *at, CadHelp *help) {
    const double a = at[0], b = at[1], x = at[2], p = cad_ask3(help, CAD_LENT_betainc, a, b, x);
    if (p < underflow) {
        return cad_beta_log_density(a, b, x, help) - log_beta_lower_hazard(a, b, x, 1.0 - x, help);
    }
    return log_of(p, p > 0.5 ? cad_ask3(help, CAD_LENT_betaincc, a, b, x) : 0.0);
}

double cad_of_log_betaincc(const double *at, CadHelp *help) {
    const double a = at[0], b = at[1], x = at[2], p = cad_ask3(help, CAD_LENT_betaincc, a, b, x);
    if (p < underflow) {
        return cad_beta_log_density(a, b, x, help) - log_beta_lower_hazard(b, a, 1.0 - x, x, help);
    }
    return log_of(p, p > 0.5 ? cad_ask3(help, CAD_LENT_betainc, a, b, x) : 0.0);
}

/* The logarithm of the distribution function of Student's t. */
double cad_of_log_stdtr(const double *at, CadHelp *help) {
    const double df = at[0], t = at[1], p = cad_stdtr(df, t, help);
    if (p < underflow) {
        return isinf(df) ? cad_ask1(help, CAD_LENT_log_ndtr, t)
                         : cad_student_log_density(df, t, help) - log_student_hazard(df, -t, help);
    }
    return log_of(p, p > 0.5 ? cad_stdtr(df, -t, help) : 0.0);
}
