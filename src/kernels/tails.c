/* The incomplete gamma and beta functions: see elementwise.h.
 *
 * In a tail a probability divided by the density is an integral whose integrand starts at 1 and
 * falls off: it neither underflows nor cancels. */
#include "kernels/densities.h"
#include "kernels/elementwise.h"
#include "table/special.h"

#include <math.h>

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

/* --- slopes by shapes --- */

enum { MOST_TERMS = 5000 };

/* The derivative of P(a, x) = γ(a, x) / Γ(a) by a, where x is not far above a: that of the series
 * (DLMF 8.11.4) term by term. All of its terms have one sign, or nearly so. */
static double slope_by_series(double a, double x, CadHelp *help) {
    const double above[] = {a + 1.0, x};
    double rise = log(x) - cad_polygamma(0.0, a + 1.0), term = 1.0, total = rise;
    for (int n = 1; n < MOST_TERMS && fabs(term * rise) > 1e-17 * fabs(total); n++) {
        const double unit = 1.0 / (a + n);
        term *= x * unit;
        rise -= unit;
        total += term * rise;
    }
    return cad_of_gamma_density(above, help) * total;
}

/* A continued fraction k1 / (level1 + k2 / (level2 + ...)), forwards by the method of Lentz, and
 * the derivative of its logarithm. */
typedef struct Fraction {
    double value, slope;
    double c, c_slope, d, d_slope; /* slopes are those of logarithms */
} Fraction;

/* Whether one more term, and its derivatives, have changed it. */
static int goes_on(Fraction *f, double k, double k_slope, double level, double level_slope) {
    const double from_c = k / f->c, from_d = k * f->d;
    const double c_rise = level_slope + k_slope / f->c - from_c * f->c_slope;
    const double d_rise = level_slope + k_slope * f->d + from_d * f->d_slope;
    f->c = level + from_c;
    f->d = 1.0 / (level + from_d);
    f->c_slope = c_rise / f->c;
    f->d_slope = -d_rise * f->d;
    f->value *= f->c * f->d;
    f->slope += f->c_slope + f->d_slope;
    return fabs(f->c * f->d - 1.0) > 1e-16 ||
           fabs(f->c_slope + f->d_slope) > 1e-16 * fabs(f->slope);
}

/* One that begins with 1 / level, and with c for what Lentz divides by next. */
static Fraction fraction_from(double c, double level, double level_slope) {
    const double d = 1.0 / level, slope = -level_slope * d;
    return (Fraction){d, slope, c, 0.0, d, slope};
}

/* The same further above, where the complement is a continued fraction (DLMF 8.9.2). */
static double slope_by_fraction(double a, double x, CadHelp *help) {
    const double here[] = {a, x};
    double level = x + 1.0 - a;
    Fraction f = fraction_from(1e300, level, -1.0);
    for (int n = 1; n < MOST_TERMS; n++) {
        level += 2.0;
        if (!goes_on(&f, n * (a - n), n, level, -1.0)) {
            break;
        }
    }
    const double rise = log(x) - cad_polygamma(0.0, a) + f.slope;
    return -x * cad_of_gamma_density(here, help) * f.value * rise;
}

/* The derivative by a of γ(a, x) / Γ(a) for a > 0 and x ≥ 0. */
double cad_of_gammainc_slope(const double *at, CadHelp *help) {
    const double a = at[0], x = at[1];
    if (!(a > 0.0 && x >= 0.0)) {
        return NAN;
    }
    if (x == 0.0 || isinf(x)) {
        return 0.0;
    }
    return x > a + 1.0 + 2.0 * sqrt(a) ? slope_by_fraction(a, x, help)
                                       : slope_by_series(a, x, help);
}

/* The logarithm of x, which is 1 - y; the smaller one of both is exact. */
static double log_of_share(double x, double y) {
    return x < 0.5 ? log(x) : log1p(-y);
}

/* The derivative of the regularized incomplete beta function by a, or by b, where x, which is
 * 1 - y, is not far above the mean: that of its continued fraction (DLMF 8.17.22). */
static double beta_slope(int by_a, double a, double b, double x, double y, CadHelp *help) {
    const double here[] = {a, b, x}, gap[] = {0.0, by_a ? a + 1.0 : b, by_a ? b - 1.0 : a};
    const double first = a + b, unit = x / (a + 1.0);
    Fraction f =
        fraction_from(1.0, 1.0 - first * unit, by_a ? (first / (a + 1.0) - 1.0) * unit : -unit);
    for (int m = 1; m < MOST_TERMS; m++) {
        const double n = a + 2.0 * m, even = m * x / ((n - 1.0) * n);
        const double odd = -(a + m) * x / (n * (n + 1.0)), k = even * (b - m);
        const double after = odd * (first + m);
        goes_on(&f, k, by_a ? -k * (1.0 / (n - 1.0) + 1.0 / n) : even, 1.0, 0.0);
        if (!goes_on(&f, after,
                     by_a ? after * (1.0 / (a + m) - 1.0 / n - 1.0 / (n + 1.0)) + odd : odd, 1.0,
                     0.0)) {
            break;
        }
    }
    const double rise = log_of_share(by_a ? x : y, by_a ? y : x) + cad_of_digamma_gap(gap, help);
    return cad_of_beta_density(here, help) * x * y / a * f.value * (rise + f.slope);
}

static double betainc_slope(int by_a, const double *at, CadHelp *help) {
    const double a = at[0], b = at[1], x = at[2];
    if (!(a > 0.0 && b > 0.0 && x >= 0.0 && x <= 1.0)) {
        return NAN;
    }
    if (x == 0.0 || x == 1.0) {
        return 0.0;
    }
    return x * (a + b + 2.0) > a + 1.0 ? -beta_slope(!by_a, b, a, 1.0 - x, x, help)
                                       : beta_slope(by_a, a, b, x, 1.0 - x, help);
}

double cad_of_betainc_by_a(const double *at, CadHelp *help) {
    return betainc_slope(1, at, help);
}

double cad_of_betainc_by_b(const double *at, CadHelp *help) {
    return betainc_slope(0, at, help);
}
