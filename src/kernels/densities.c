/* See densities.h. */
#include "kernels/densities.h"

#include "table/special.h"

#include <math.h>

static const double half_log_2pi = 0.91893853320467274178;

/* B_2k, k = 1 ... */
static const double bernoulli[] = {
    1.0 / 6.0,       -1.0 / 30.0, 1.0 / 42.0,      -1.0 / 30.0,     5.0 / 66.0,
    -691.0 / 2730.0, 7.0 / 6.0,   -3617.0 / 510.0, 43867.0 / 798.0, -174611.0 / 330.0,
};

enum { BERNOULLI = sizeof bernoulli / sizeof bernoulli[0] };

double cad_xlogy(double x, double y) {
    return x == 0.0 && !isnan(y) ? 0.0 : x * log(y);
}

double cad_xlog1py(double x, double y) {
    return x == 0.0 && !isnan(y) ? 0.0 : x * log1p(y);
}

/* --- what follows from shape parameters alone --- */

enum { OF_GAMMA, OF_BETA, OF_LOG_BETA };

typedef double OfShapes(double x, double y, const CadHelp *help);

static double remembered(CadHelp *help, int which, OfShapes *of, double x, double y) {
    CadMemo *const memo = &help->memos[which];
    if (memo->x != x || memo->y != y) {
        *memo = (CadMemo){x, y, of(x, y, help)};
    }
    return memo->found;
}

/* --- series --- */

/* The gap t - log1p(t), by the series of atanh(t / (2 + t)) where it would cancel. */
double cad_log1p_gap(double t) {
    if (!(t > -0.6 && t < 1.5)) {
        return t - log1p(t);
    }
    const double r = t / (2.0 + t), square = r * r;
    double series = 0.0;
    for (int k = square < 0.01 ? 8 : 24; k >= 0; k--) {
        series = series * square + 1.0 / (2 * k + 3);
    }
    return r * (t - 2.0 * square * series);
}

/* Abramowitz and Stegun 6.1.40. */
static double stirling_far(double a) {
    const double u = 1.0 / (a * a);
    double total = 0.0;
    for (int k = BERNOULLI; k > 0; k--) {
        total = total * u + bernoulli[k - 1] / (2 * k * (2 * k - 1));
    }
    return total / a;
}

/* The remainder of Stirling's formula, log Γ(a+1) - (a + ½) log a + a - ½ log 2π, a > 0. That at a
 * less the one at a + 1 is atanh(r) / r - 1, r = 1 / (2a + 1). */
static double stirling(double a) {
    double total = 0.0;
    if (a < 0.0) {
        return NAN;
    }
    for (; a < 9.0; a += 1.0) {
        if (a < 2.0) {
            total += (a + 0.5) * log1p(1.0 / a) - 1.0;
        } else {
            const double r = 1.0 / (2.0 * a + 1.0), square = r * r;
            double series = 0.0;
            for (int j = a < 3.0 ? 11 : a < 5.0 ? 9 : 7; j > 0; j--) {
                series = (series + 1.0 / (2 * j + 1)) * square;
            }
            total += series;
        }
    }
    return total + stirling_far(a);
}

double cad_deviance(double k, double m) {
    const double t = (m - k) / k;
    return k * (t < -0.5 ? t - log(m / k) : cad_log1p_gap(t));
}

/* --- digamma and its derivatives at two near points --- */

/* ψ(a + b) - ψ(a), a and a + b positive: recurrence upwards, then the asymptotic series
 * (Abramowitz and Stegun 6.3.18), whose polynomials in 1/a² and 1/(a + b)² are taken by divided
 * differences. */
static double digamma_gap(double a, double b) {
    double total = 0.0;
    if (isinf(b)) {
        return b;
    }
    while (a < 8.0 || a + b < 8.0) {
        total += b / (a + b) / a;
        a += 1.0;
    }
    const double c = a + b, u = 1.0 / (a * a), w = 1.0 / (c * c);
    double at = 0.0, slope = 0.0;
    for (int k = BERNOULLI; k > 0; k--) {
        slope = slope * w + at;
        at = at * u + bernoulli[k - 1] / (2 * k);
    }
    slope = slope * w + at;
    const double growth = b < -0.5 * a ? log(c / a) : log1p(b / a);
    return total + growth + 0.5 * (b / a / c) + slope * (b / a) * ((c + a) / c / (a * c));
}

/* Their derivatives (Abramowitz and Stegun 6.4.6, 6.4.11): each difference of powers is
 * at**-p expm1(-p log1p(b / at)). */
static double polygamma_gap(int n, double a, double b) {
    const double sign = n % 2 ? 1.0 : -1.0, factorial = tgamma(n + 1.0);
    double total = 0.0, growth = 0.0;
    for (int k = 0; k <= 10 + n; k++, a += k > 10 + n ? 0.0 : 1.0) {
        growth = b < -0.5 * a ? log((a + b) / a) : log1p(b / a);
        const double falls = pow(a, -(n + 1.0)) * expm1(-(n + 1.0) * growth);
        total += factorial * (k < 10 + n ? falls : 0.5 * falls);
    }
    double ratio = factorial * (n + 1.0) / 2.0; /* Γ(2k + n) / Γ(2k + 1) */
    for (int k = 1; k <= BERNOULLI; k++) {
        const double power = 2.0 * k + n;
        total += bernoulli[k - 1] * ratio * pow(a, -power) * expm1(-power * growth);
        ratio *= power * (power + 1.0) / ((2.0 * k + 1.0) * (2.0 * k + 2.0));
    }
    return sign * (total + tgamma(n) * pow(a, -n) * expm1(-n * growth));
}

double cad_of_digamma_gap(const double *x, CadHelp *help) {
    const double n = x[0], a = x[1], b = x[2];
    (void)help;
    if (!(a > 0.0 && a + b > 0.0)) {
        return cad_polygamma(n, a + b) - cad_polygamma(n, a);
    }
    return n == 0.0 ? digamma_gap(a, b) : polygamma_gap((int)n, a, b);
}

/* The n-th derivative of ψ(p+½) - ψ(p) - 1/(2p), p > 0; far out by the asymptotic series of both
 * digamma functions (DLMF 5.11.8, differentiated). */
double cad_of_digamma_half_gap(const double *x, CadHelp *help) {
    const double n = x[0], p = x[1], sign = fmod(n, 2.0) == 0.0 ? 1.0 : -1.0;
    if (p < 20.0) {
        const double gap[] = {n, p, 0.5};
        return cad_of_digamma_gap(gap, help) - 0.5 * sign * tgamma(n + 1.0) * pow(p, -(n + 1.0));
    }
    double total = 0.0;
    for (int k = BERNOULLI; k > 0; k--) {
        double rising = 1.0; /* Γ(2k + n) / Γ(2k) */
        for (int j = 0; j < (int)n; j++) {
            rising *= 2 * k + j;
        }
        total = total / (p * p) + bernoulli[k - 1] * (2.0 - ldexp(2.0, -2 * k)) / (2 * k) * rising;
    }
    return sign * total * pow(p, -(n + 2.0));
}

/* --- the gamma distribution --- */

static double reciprocal_gamma(double a, double y, const CadHelp *help) {
    (void)y;
    return cad_ask1(help, CAD_LENT_rgamma, a);
}

static double log_gamma(double a, double y, const CadHelp *help) {
    (void)y;
    return cad_ask1(help, CAD_LENT_gammaln, a);
}

/* x**(a-1) exp(-x) / Γ(a); nan for x < 0, of which the density is not an extension. */
double cad_of_gamma_density(const double *at, CadHelp *help) {
    const double a = at[0], x = at[1];
    if (!(x >= 0.0)) {
        return NAN;
    }
    if (!(a < 17.0)) {
        const double k = a - 1.0;
        if (isinf(k) || isinf(x)) {
            return 0.0;
        }
        return exp(-stirling(k) - cad_deviance(k, x)) / sqrt(2.0 * CAD_PI * k);
    }
    const double scale = remembered(help, OF_GAMMA, reciprocal_gamma, a, 0.0);
    if (scale == 0.0 || x > 1500.0) {
        return 0.0;
    }
    const double half = exp(-0.5 * x);
    return half * (pow(x, a - 1.0) * scale) * half;
}

/* Its logarithm for x ≥ 0, by Loader's method where a is large. */
double cad_of_gamma_log_density(const double *at, CadHelp *help) {
    const double a = at[0], x = at[1];
    if (a < 17.0) {
        return cad_xlogy(a - 1.0, x) - x - remembered(help, OF_GAMMA, log_gamma, a, 0.0);
    }
    return -stirling(a - 1.0) - cad_deviance(a - 1.0, x) - 0.5 * log(2.0 * CAD_PI * (a - 1.0));
}

/* --- the beta distribution --- */

/* log Γ(a+b) / Γ(b), a ≤ b, by Stirling's formula. */
static double log_rising(double a, double b) {
    return (b - 0.5) * log1p(a / b) + (a * log(a + b) - a) + stirling(a + b) - stirling(b);
}

/* 1 / B(a, b) for a of moderate size and b > 0. */
static double reciprocal_beta(double a, double b, const CadHelp *help) {
    if (!(b > 0.0 && a + b > 0.0)) {
        return 1.0 / cad_ask2(help, CAD_LENT_beta, a, b);
    }
    return cad_ask1(help, CAD_LENT_rgamma, a) * exp(log_rising(a, b));
}

static double log_reciprocal_beta(double a, double b, const CadHelp *help) {
    return b == 1.0 ? log(a) : log_rising(a, b) - cad_ask1(help, CAD_LENT_gammaln, a);
}

static double log_binomial_scale(double k, double m, const CadHelp *help) {
    const double n = k + m;
    (void)help;
    return stirling(n) - stirling(k) - stirling(m) + 0.5 * log(n / (2.0 * CAD_PI * k * m));
}

/* The logarithm of the probability of k successes and m failures, both positive: C. Loader (2000),
 * Fast and accurate computation of binomial probabilities. */
static double log_binomial(double k, double m, double p, CadHelp *help) {
    const double n = k + m;
    return remembered(help, OF_BETA, log_binomial_scale, k, m) - cad_deviance(k, n * p) -
           cad_deviance(m, n * (1.0 - p));
}

/* x**(a-1) (1-x)**(b-1) / B(a, b), by Loader's method where both exponents are positive. */
double cad_of_beta_density(const double *at, CadHelp *help) {
    const double a = at[0], b = at[1], x = at[2];
    if (!(x >= 0.0 && x <= 1.0)) {
        return NAN;
    }
    if (a > 1.0 && b > 1.0 && x > 0.0 && x < 1.0) {
        return (a + b - 1.0) * exp(log_binomial(a - 1.0, b - 1.0, x, help));
    }
    const double scale =
        remembered(help, OF_LOG_BETA, reciprocal_beta, a < b ? a : b, a < b ? b : a);
    const double powers = pow(x, a - 1.0) * exp(cad_xlog1py(b - 1.0, -x));
    return scale == 0.0 || powers == 0.0 ? 0.0 : powers * scale;
}

/* Its logarithm for 0 ≤ x ≤ 1, by the same methods. */
double cad_of_beta_log_density(const double *at, CadHelp *help) {
    const double a = at[0], b = at[1], x = at[2];
    if (a <= 1.0 || b <= 1.0) {
        return cad_xlogy(a - 1.0, x) + cad_xlog1py(b - 1.0, -x) +
               remembered(help, OF_LOG_BETA, log_reciprocal_beta, a < b ? a : b, a < b ? b : a);
    }
    return log(a + b - 1.0) + log_binomial(a - 1.0, b - 1.0, x, help);
}

/* --- Student's t --- */

static double student_scale(double p, double y, const CadHelp *help) {
    (void)y;
    (void)help;
    return -p * cad_log1p_gap(0.5 / p) + stirling(p + 0.5) - stirling(p);
}

/* Log of Γ((df+1)/2) / (√(π df) Γ(df/2)) (1 + t²/df)**(-(df+1)/2). */
double cad_student_log_density(double df, double t, CadHelp *help) {
    const double p = 0.5 * df;
    if (isinf(df)) {
        return -0.5 * t * t - half_log_2pi;
    }
    const double fall =
        (p + 0.5) * (fabs(t) > 1e100 ? 2.0 * log(fabs(t)) - log(df) : log1p(t * t / df));
    return remembered(help, OF_GAMMA, student_scale, p, 0.0) - fall - half_log_2pi;
}

double cad_of_student_log_density(const double *x, CadHelp *help) {
    return cad_student_log_density(x[0], x[1], help);
}

double cad_student_tail_scale(double df, CadHelp *help) {
    return reciprocal_beta(0.5, 0.5 * df, help) / df;
}

/* Two terms of DLMF 8.17.7 for the tiny df / (df + t²). */
double cad_student_tail(double df, double t, CadHelp *help) {
    const double root = sqrt(df) / hypot(sqrt(df), t), p = 0.5 * df;
    return cad_student_tail_scale(df, help) * pow(root, df) *
           (1.0 + 0.5 * p / (p + 1.0) * root * root);
}

/* --- the error function --- */

static double moment_by_recurrence(int n, double z, const CadHelp *help) {
    double before = 0.0, last = cad_ask1(help, CAD_LENT_erfcx, z);
    for (int k = 0; k < n; k++) {
        const double next = (k == 0 ? 1.0 / sqrt(CAD_PI) : 0.5 * k * before) - z * last;
        before = last;
        last = next;
    }
    return last;
}

/* The continued fraction of Gautschi (1961). */
static double moment_by_fraction(int n, double z, const CadHelp *help) {
    const int terms = (int)(180.0 / (z * z)) + 8 + n;
    double ratio = 0.5 * (sqrt(z * z + 2.0 * terms) - z);
    double product = cad_ask1(help, CAD_LENT_erfcx, z);
    for (int k = terms - 1; k > 0; k--) {
        ratio = 0.5 * k / (z + ratio);
        if (k <= n) {
            product *= ratio;
        }
    }
    return product;
}

/* 2/√π ∫ tⁿ exp(-t² - 2zt) dt over t > 0: erfcx(z) for n = 0, and up to -2 its derivatives. It is
 * n! exp(z²) times the repeated integral iⁿerfc(z) (Abramowitz and Stegun 7.2.3). */
double cad_erfcx_moment(int n, double z, CadHelp *help) {
    if (isnan(z)) {
        return z;
    }
    return z < 1.2 ? moment_by_recurrence(n, z, help) : moment_by_fraction(n, z, help);
}

double cad_of_erfcx_moment(const double *x, CadHelp *help) {
    return cad_erfcx_moment((int)x[0], x[1], help);
}

/* --- Bessel functions --- */

/* 1/π ∫ (1 - cos θ)ⁿ exp(-x (1 - cos θ)) dθ over (0, π), x ≥ 0: (-1)ⁿ times i0e⁽ⁿ⁾. The rule of
 * midpoints, which converges geometrically for a periodic integrand; for large x the asymptotic
 * series of Watson's lemma, all of whose terms are positive. */
double cad_of_i0e_moment(const double *at, CadHelp *help) {
    const double n = at[0], x = at[1];
    (void)help;
    double total = 0.0;
    if (x < 30.0) {
        enum { ANGLES = 40 };
        for (int k = 0; k < ANGLES; k++) {
            const double half = sin((k + 0.5) * (CAD_PI / (2 * ANGLES)));
            const double height = 2.0 * half * half;
            total += pow(height, n) * exp(-height * x) / ANGLES;
        }
        return total;
    }
    double term = tgamma(n + 0.5) / (CAD_PI * sqrt(2.0)) * pow(x, -(n + 0.5));
    for (int k = 0; k < 30; k++) {
        total += term;
        term *= (2 * k + 1) * (n + k + 0.5) / (4 * (k + 1)) / x;
    }
    return total;
}

/* The n-th derivative of ive(v, x) for large x: Hankel's expansion (Abramowitz and Stegun 9.7.1),
 * differentiated term by term. */
double cad_ive_tail(int n, double v, double x) {
    double term = 1.0 / sqrt(2.0 * CAD_PI * x), total = 0.0;
    for (int k = 0; k < n; k++) {
        term *= -(0.5 + k) / x;
    }
    for (int k = 0; k < 36 && total + term != total; k++) {
        const double odd = 2 * k + 1;
        total += term;
        term *= (odd * odd - 4.0 * v * v) / (8.0 * (k + 1) * x) * ((k + n + 0.5) / (k + 0.5));
    }
    return total;
}

double cad_of_ive_tail(const double *x, CadHelp *help) {
    (void)help;
    return cad_ive_tail((int)x[0], x[1], x[2]);
}

/* ∫ (cosh t - 1)ⁿ cosh(vt) exp(-x (cosh t - 1)) dt over t > 0: (-1)ⁿ times kve⁽ⁿ⁾. For x > 1 and
 * x > |v|, by the trapezoidal rule, which converges geometrically. */
double cad_kve_moment(int n, double v, double x) {
    const double step = asinh(sqrt((30.0 + 5.0 * n) / x)) / 20.0;
    double total = n == 0 ? 0.5 : 0.0;
    for (int k = 1; k <= 40; k++) {
        const double half = sinh(0.5 * k * step), height = 2.0 * half * half;
        double power = 1.0;
        for (int j = 0; j < n; j++) {
            power *= height;
        }
        total += power * cosh(v * k * step) * exp(-x * height);
    }
    return step * total;
}

double cad_of_kve_moment(const double *x, CadHelp *help) {
    (void)help;
    return cad_kve_moment((int)x[0], x[1], x[2]);
}

/* --- quotients --- */

double cad_of_log1p_gap(const double *x, CadHelp *help) {
    (void)help;
    return cad_log1p_gap(x[0]);
}

/* exp(x) / xⁿ for n = 1 or 2, finite wherever the quotient is. */
double cad_of_exp_over(const double *at, CadHelp *help) {
    const double n = at[0], x = at[1], root = exp(0.5 * x);
    (void)help;
    return (n == 1.0 ? root / x : root / x / x) * root;
}

/* log(x / y) of positive numbers, also where the quotient overflows or is near 1. */
double cad_of_log_ratio(const double *at, CadHelp *help) {
    const double x = at[0], y = at[1], ratio = x / y;
    (void)help;
    if (ratio < 1e-300 || ratio > 1e300) {
        return log(x) - log(y);
    }
    return ratio > 0.5 && ratio < 2.0 ? log1p((x - y) / y) : log(ratio);
}
