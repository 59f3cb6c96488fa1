/* Functions of SciPy's where its values are not right. Each comes as a pair: where SciPy's value
 * is wrong, and what is right there. */
#include "kernels/densities.h"
#include "kernels/elementwise.h"
#include "table/special.h"

#include <math.h>

static int is_whole(double x) {
    return x == floor(x);
}

/* --- degrees --- */

/* SciPy loses the digits of the angle next to a pole, and all of them beyond 1e14. */

/* The angle less a multiple of 180, at most 90 in size, without rounding. */
static double nearest_turn(double x) {
    const double rest = fmod(x, 180.0);
    return fabs(rest) > 90.0 ? rest - copysign(180.0, rest) : rest;
}

double cad_of_sindg(const double *x, CadHelp *help) {
    return cad_ask1(help, CAD_LENT_sindg, fmod(x[0], 360.0));
}

double cad_of_cosdg(const double *x, CadHelp *help) {
    return cad_ask1(help, CAD_LENT_cosdg, fmod(x[0], 360.0));
}

double cad_of_tandg(const double *x, CadHelp *help) {
    const double turn = nearest_turn(x[0]);
    return fabs(turn) > 85.0
               ? copysign(1.0, turn) / cad_ask1(help, CAD_LENT_tandg, 90.0 - fabs(turn))
               : cad_ask1(help, CAD_LENT_tandg, turn);
}

double cad_of_cotdg(const double *x, CadHelp *help) {
    const double turn = nearest_turn(x[0]), size = fabs(turn);
    if (size < 5.0) {
        return turn == 0.0 ? INFINITY : 1.0 / cad_ask1(help, CAD_LENT_tandg, turn);
    }
    return copysign(size > 85.0 ? cad_ask1(help, CAD_LENT_tandg, 90.0 - size)
                                : cad_ask1(help, CAD_LENT_cotdg, size),
                    turn);
}

/* --- powers --- */

/* -1 / λ where x**λ is zero, also for a tiny λ. */
int cad_wrong_boxcox(const double *x) {
    return x[0] == 0.0 && x[1] > 0.0;
}

double cad_of_boxcox(const double *x, CadHelp *help) {
    (void)help;
    return -1.0 / x[1];
}

int cad_wrong_boxcox1p(const double *x) {
    return x[0] == -1.0 && x[1] > 0.0;
}

double cad_of_boxcox1p(const double *x, CadHelp *help) {
    return cad_of_boxcox(x, help);
}

/* SciPy takes λ y for y, where it is tiny. */
int cad_wrong_inv_boxcox1p(const double *x) {
    return x[1] != 0.0 && fabs(x[1] * x[0]) < 1e-150;
}

double cad_of_inv_boxcox1p(const double *x, CadHelp *help) {
    (void)help;
    return expm1(x[0]);
}

/* SciPy's is 0 where it overflows. */
int cad_wrong_powm1(const double *x) {
    return isinf(pow(x[0], x[1]));
}

double cad_of_powm1(const double *x, CadHelp *help) {
    (void)help;
    return pow(x[0], x[1]) - 1.0;
}

/* --- entropies and losses --- */

static int are_apart(double x, double y) {
    return x / y < 1e-300 || x / y > 1e300;
}

/* SciPy's rounds where x and y are near, and overflows or underflows where x / y does. */
int cad_wrong_kl_div(const double *at) {
    const double x = at[0], y = at[1];
    return x > 0.0 && y > 0.0 && isfinite(x) && isfinite(y) &&
           ((x > 0.99 * y && x < 1.01 * y) || are_apart(x, y));
}

double cad_of_kl_div(const double *at, CadHelp *help) {
    const double x = at[0], y = at[1];
    (void)help;
    return are_apart(x, y) ? x * (log(x) - log(y)) - x + y : cad_deviance(x, y);
}

/* SciPy's is nan or infinite where the square of r / δ is; here none is taken. */
int cad_wrong_pseudo_huber(const double *x) {
    const double size = fabs(x[1]);
    const double least = x[0] < size ? x[0] : size, most = x[0] < size ? size : x[0];
    return x[0] > 0.0 && isfinite(most) && (least < 1e-70 || most > 1e70);
}

double cad_of_pseudo_huber(const double *x, CadHelp *help) {
    const double delta = x[0], r = x[1], root = hypot(delta, r);
    const double total = 0.5 * root + 0.5 * delta; /* the whole may be infinite */
    (void)help;
    return fabs(r) < delta ? r * (r * (0.5 * delta / total)) : delta * (r * (0.5 * r / total));
}

/* --- distributions --- */

/* SciPy's has no digits where a is small beside 1 / h; there Gauss's rule has all of them. */
int cad_wrong_owens_t(const double *x) {
    return fabs(x[1]) * fmax(fabs(x[0]), 1.0) < 0.01;
}

/* Nodes and weights of Gauss's rule of 12 points over (-1, 1): those above 0. */
static const double gauss[6][2] = {
    {0.1252334085114689, 0.2491470458134028}, {0.3678314989981802, 0.2334925365383548},
    {0.5873179542866175, 0.2031674267230659}, {0.7699026741943047, 0.1600783285433462},
    {0.9041172563704749, 0.1069393259953184}, {0.9815606342467192, 0.0471753363865118},
};

double cad_of_owens_t(const double *x, CadHelp *help) {
    const double h = x[0], a = x[1];
    double total = 0.0;
    (void)help;
    for (int i = 0; i < 12; i++) {
        const double node = i < 6 ? gauss[i][0] : -gauss[i - 6][0], at = 0.5 * a * (node + 1.0);
        total += gauss[i % 6][1] * exp(-0.5 * (h * at) * (h * at)) / (1.0 + at * at);
    }
    return exp(-0.5 * h * h) * a * total / (4.0 * CAD_PI);
}

static int is_near(double df, double t) {
    return fabs(t) < 1e-4 * sqrt(df / (df + 1.0));
}

/* SciPy's loses digits next to t = 0, where two terms of the power series have all, and the tail
 * where t² is far beyond df. */
int cad_wrong_stdtr(const double *x) {
    const double df = x[0], t = x[1];
    return df > 0.0 && isfinite(df) && isfinite(t) &&
           (is_near(df, t) || sqrt(df) < 1e-4 * fabs(t));
}

double cad_of_stdtr(const double *x, CadHelp *help) {
    const double df = x[0], t = x[1];
    if (is_near(df, t)) {
        return 0.5 + t * exp(cad_student_log_density(df, 0.0, help)) *
                         (1.0 - (1.0 + 1.0 / df) * t * t / 6.0);
    }
    const double tail = cad_student_tail(df, t, help);
    return t < 0.0 ? tail : 1.0 - tail;
}

/* SciPy's is infinite of the wrong sign for a tiny p; there the tail is a power of t, whose scale
 * is less than 1. */
int cad_wrong_stdtrit(const double *x) {
    return x[0] > 0.0 && x[0] < 1e3 && x[1] > 0.0 && x[1] < 0.5 && pow(x[1], -1.0 / x[0]) > 1e9;
}

double cad_of_stdtrit(const double *x, CadHelp *help) {
    const double df = x[0], p = x[1];
    const double ratio = pow(cad_student_tail_scale(df, help) / p, 1.0 / df);
    return ratio > 1e9 ? -sqrt(df) * ratio : cad_ask2(help, CAD_LENT_stdtrit, df, p);
}

/* SciPy's stops after q**-x where that is large, but near x = 1 the rest is larger. */
int cad_wrong_zeta(const double *x) {
    return x[0] > 1.0 && x[0] < 1.1 && x[1] > 0.0 && x[1] < 1e-10;
}

double cad_of_zeta(const double *x, CadHelp *help) {
    return pow(x[1], -x[0]) + cad_ask2(help, CAD_LENT_zeta, x[0], x[1] + 1.0);
}

/* --- Bessel functions --- */

/* SciPy's J and I are 0 before they underflow, and its I is infinite before it overflows: next to
 * 0 each is the first term of its series. */
static int is_small(const double *x) {
    return x[1] >= 0.0 && x[1] < 1e-140;
}

static int nearly_overflows(const double *x) {
    return x[1] > 690.0 && x[1] < 1400.0;
}

/* That of I and, but for its sign, of J (DLMF 10.25.2). */
static double first_term(const double *x, const CadHelp *help) {
    const double order = is_whole(x[0]) ? fabs(x[0]) : x[0];
    return pow(0.5 * x[1], order) * cad_ask1(help, CAD_LENT_rgamma, order + 1.0);
}

int cad_wrong_jv(const double *x) {
    return is_small(x);
}

double cad_of_jv(const double *x, CadHelp *help) {
    const int is_odd = x[0] < 0.0 && is_whole(x[0]) && !is_whole(0.5 * x[0]);
    return (is_odd ? -1.0 : 1.0) * first_term(x, help);
}

int cad_wrong_iv(const double *x) {
    return is_small(x) || nearly_overflows(x);
}

double cad_of_iv(const double *x, CadHelp *help) {
    if (x[1] > 1.0) {
        return cad_ask2(help, CAD_LENT_ive, x[0], x[1]) * exp(0.5 * x[1]) * exp(0.5 * x[1]);
    }
    return first_term(x, help);
}

/* SciPy's K is 0 before it underflows. */
int cad_wrong_kv(const double *x) {
    return nearly_overflows(x);
}

double cad_of_kv(const double *x, CadHelp *help) {
    return cad_ask2(help, CAD_LENT_kve, x[0], x[1]) * exp(-x[1]);
}

/* SciPy's scaled ones are nan for a huge z, and its ive is 0 before it underflows. */
int cad_wrong_ive(const double *x) {
    return is_small(x) || x[1] > 1e8 + x[0] * x[0];
}

double cad_of_ive(const double *x, CadHelp *help) {
    return x[1] > 1.0 ? cad_ive_tail(0, x[0], x[1]) : first_term(x, help);
}

static double ive(double v, double z, CadHelp *help) {
    const double x[] = {v, z};
    return cad_wrong_ive(x) ? cad_of_ive(x, help) : cad_ask2(help, CAD_LENT_ive, v, z);
}

int cad_wrong_kve(const double *x) {
    return x[1] > 1e8 && x[1] > 2.0 * fabs(x[0]);
}

double cad_of_kve(const double *x, CadHelp *help) {
    (void)help;
    return cad_kve_moment(0, x[0], x[1]);
}

/* --- hypergeometric functions --- */

/* SciPy's overflows or rounds for a large v, where the power series has all digits. For a large
 * z > 0 it may be 0 instead of infinite: √z is that of DLMF 10.39.9. */
int cad_wrong_hyp0f1(const double *x) {
    const double v = x[0], z = x[1];
    return (v > 0.0 && v < 100.0 && z > 1e5) || (v > 100.0 && fabs(z) < 4.0 * v);
}

double cad_of_hyp0f1(const double *x, CadHelp *help) {
    const double v = x[0], z = x[1];
    if (v > 100.0) {
        double total = 1.0, term = 1.0;
        for (int k = 0; k < 40; k++) {
            term = term * z / ((v + k) * (k + 1.0));
            total += term;
        }
        return total;
    }
    const double root = sqrt(z);
    return exp(cad_ask1(help, CAD_LENT_gammaln, v) + (1.0 - v) * log(root) + 2.0 * root) *
           ive(v - 1.0, 2.0 * root, help);
}

static int falls_far(double a, double b, double x) {
    return fabs(a) < 50.0 && fabs(b) < 50.0 && x < -1e12 && !(b <= a && is_whole(b - a));
}

static int is_tiny(double x) {
    return x < 0.0 && x > -1e-100;
}

/* Those of which SciPy's may not return. */
static int is_endless(double a, double b, double x) {
    return (x > 1e6 && (a > 0.0 || !is_whole(a))) || (x < -1e6 && b <= a && is_whole(b - a));
}

/* SciPy's may not return for |x| > 1e6, and loses its digits below and next to x = 0. Far out all
 * but polynomials are infinite, those times exp(x) are 0, and the rest is the first terms of DLMF
 * 13.7.2. */
int cad_wrong_hyp1f1(const double *at) {
    const double a = at[0], b = at[1], x = at[2];
    return is_endless(a, b, x) || falls_far(a, b, x) || is_tiny(x) ||
           (a > 50.0 && x >= -1.0 && a * x < -5.0);
}

/* Upwards in a (DLMF 13.3.1) from where SciPy is right; nan for more than 5000 steps. */
static double hyp1f1_by_recurrence(double a, double b, double x, const CadHelp *help) {
    if (!(a <= 5000.0)) {
        return NAN;
    }
    double at = a - floor(a) + 1.0;
    double before = cad_ask3(help, CAD_LENT_hyp1f1, at - 1.0, b, x);
    double last = cad_ask3(help, CAD_LENT_hyp1f1, at, b, x);
    for (; at < a - 0.5; at += 1.0) {
        const double after = ((b - at) * before + (2.0 * at - b + x) * last) / at;
        before = last;
        last = after;
    }
    return last;
}

double cad_of_hyp1f1(const double *at, CadHelp *help) {
    const double a = at[0], b = at[1], x = at[2];
    if (is_tiny(x)) {
        return 1.0;
    }
    if (falls_far(a, b, x)) {
        return cad_gamma(b) * cad_ask1(help, CAD_LENT_rgamma, b - a) * pow(-x, -a) *
               (1.0 - a * (a - b + 1.0) / x);
    }
    if (is_endless(a, b, x)) {
        return cad_ask3(help, CAD_LENT_hyp1f1, a, b, copysign(1e6, x));
    }
    return hyp1f1_by_recurrence(a, b, x, help);
}

static double size_of_hyp2f1(const double *x) {
    return fmax(fmax(fabs(x[0]), fabs(x[1])), fabs(x[2])) + 1.0;
}

static int is_far(const double *x) {
    const double size = size_of_hyp2f1(x);
    return size < 50.0 && x[3] < -20.0 * size * size && !(x[2] <= 0.0 && is_whole(x[2])) &&
           isfinite(x[3]);
}

static int is_turned(const double *x) {
    return x[2] > 12.0 && x[3] > -20.0 && x[3] < -2.0;
}

/* SciPy's loses digits in proportion to -z, next to z = -2 with c, there by DLMF 15.8.1, and where
 * b - a is next to a whole number. */
int cad_wrong_hyp2f1(const double *x) {
    const double gap = fabs(x[1] - x[0] - rint(x[1] - x[0]));
    return is_far(x) || is_turned(x) || (gap > 0.0 && gap < 0.01 && x[3] < -2.0);
}

typedef struct Complex {
    double re, im;
} Complex;

static Complex times(Complex x, Complex y) {
    return (Complex){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

static Complex over(Complex x, Complex y) {
    const double square = y.re * y.re + y.im * y.im;
    return (Complex){(x.re * y.re + x.im * y.im) / square, (x.im * y.re - x.re * y.im) / square};
}

static Complex plus(Complex x, double y) {
    return (Complex){x.re + y, x.im};
}

static Complex minus(Complex x) {
    return (Complex){-x.re, -x.im};
}

static Complex exponential(Complex x) {
    return (Complex){exp(x.re) * cos(x.im), exp(x.re) * sin(x.im)};
}

static Complex gamma_of(Complex x, const CadHelp *help) {
    Complex result;
    char *arguments[] = {(char *)&x, (char *)&result};
    const ptrdiff_t once = 1, steps[] = {0, 0};
    const CadLent *const lent = &help->lent[CAD_LENT_gamma];
    lent->loop(arguments, &once, steps, lent->data);
    return result;
}

static Complex reciprocal_gamma(Complex x, const CadHelp *help) {
    if (x.im == 0.0) {
        return (Complex){cad_ask1(help, CAD_LENT_rgamma, x.re), 0.0};
    }
    return over((Complex){1.0, 0.0}, gamma_of(x, help));
}

/* The part that falls like (-z)**-a. */
static Complex half_far(Complex a, Complex b, double c, double z, const CadHelp *help) {
    const Complex gap = {a.re - b.re, a.im - b.im};
    Complex term = {1.0, 0.0}, total = {0.0, 0.0};
    for (int k = 0; k < 24; k++) {
        total = (Complex){total.re + term.re, total.im + term.im};
        const Complex rise = times(plus(a, k), plus(a, k + 1.0 - c));
        const Complex fall = plus(gap, k + 1.0);
        term = times(term, over(rise, times(fall, (Complex){(k + 1.0) * z, 0.0})));
    }
    const double scale = cad_gamma(c), logarithm = log(-z);
    const Complex power = exponential((Complex){-a.re * logarithm, -a.im * logarithm});
    const Complex gammas = times(gamma_of(minus(gap), help), reciprocal_gamma(b, help));
    const Complex rest = times(power, reciprocal_gamma(plus(minus(a), c), help));
    total = times(times(total, gammas), rest);
    return (Complex){scale * total.re, scale * total.im};
}

/* By the series in 1/z (DLMF 15.8.2), which has poles where b - a is a whole number. But the
 * function is analytic in b: it is the mean of its values on a circle around it, so small that
 * (-z)**-b, with which it varies, does so by a factor of two at most. Half a circle is enough. */
static double hyp2f1_far(const double *x, const CadHelp *help) {
    const Complex low = {fmin(x[0], x[1]), 0.0};
    const double high = fmax(x[0], x[1]), radius = 0.5 / log(-x[3]);
    double total = 0.0;
    for (int k = 0; k < 8; k++) {
        const double angle = CAD_PI / 8.0 * (k + 0.5);
        const Complex there = {high + radius * cos(angle), radius * sin(angle)};
        total += half_far(low, there, x[2], x[3], help).re;
        total += half_far(there, low, x[2], x[3], help).re;
    }
    return total / 8.0;
}

double cad_of_hyp2f1(const double *x, CadHelp *help) {
    const double a = x[0], b = x[1], c = x[2], z = x[3];
    if (is_far(x)) {
        return hyp2f1_far(x, help);
    }
    if (is_turned(x)) {
        return pow(1.0 - z, -a) * cad_ask(help, CAD_LENT_hyp2f1, a, c - b, c, z / (z - 1.0));
    }
    double mean = 0.0, weight = 5.0 / 6.0; /* of values around it, a polynomial in b */
    for (int k = 1; k <= 5; weight *= (k - 5.0) / (k + 6.0), k++) {
        mean += weight * cad_ask(help, CAD_LENT_hyp2f1, a, b + 0.02 * k, c, z);
        mean += weight * cad_ask(help, CAD_LENT_hyp2f1, a, b - 0.02 * k, c, z);
    }
    return mean;
}

/* --- elliptic integrals --- */

/* E of 1 - p. */
double cad_of_ellipem1(const double *p, CadHelp *help) {
    return cad_ask1(help, CAD_LENT_ellipe, 1.0 - p[0]);
}
