/* Elementwise values that the C library does not have, or has with another convention.
 *
 * Plain functions of doubles: this file knows no tape and no derivative. The conventions (signs of
 * zero, nan, what happens at a pole) are those of the NumPy or SciPy function of the same name. */
#ifndef CAD_TABLE_SPECIAL_H
#define CAD_TABLE_SPECIAL_H

#include <math.h>

#define CAD_PI 3.14159265358979323846
#define CAD_LN2 0.69314718055994530942
#define CAD_LN10 2.30258509299404568402

/* The product of the chain rule: an exact zero absorbs, even infinities and nan. It is an ordinary
 * multiplication, looked at again only where it came out as nan. */
static inline double cad_amul(double x, double y) {
    const double product = x * y;
    if (product == product) {
        return product;
    }
    return x == 0.0 || y == 0.0 ? 0.0 : product;
}

static inline double cad_sign(double x) {
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x == 0.0 ? 0.0 : x;
}

static inline double cad_heaviside(double x, double h) {
    return x < 0.0 ? 0.0 : x > 0.0 ? 1.0 : x == 0.0 ? h : x;
}

/* Unlike fmax and fmin, these let a nan through. Two choices, one after the other, are vectors to
 * compilers; one by two conditions is a branch. */
static inline double cad_maximum(double x, double y) {
    const double most = x >= y ? x : y;
    return x != x ? x : most;
}

static inline double cad_minimum(double x, double y) {
    const double least = x <= y ? x : y;
    return x != x ? x : least;
}

/* x - y * floor(x / y), with the sign of y, and that floor. */
double cad_mod(double x, double y);
double cad_floor_divide(double x, double y);

/* 1 / (1 + exp(-x)) and log(1 + exp(x)), without overflow. */
double cad_expit(double x);
double cad_softplus(double x);

/* 1 / cosh(x)^2, without overflow. */
double cad_sech_squared(double x);

/* log(exp(x) + exp(y)) and log2(2**x + 2**y), without overflow. */
double cad_logaddexp(double x, double y);
double cad_logaddexp2(double x, double y);

/* x / hypot(x, y), and 0 at the origin. */
double cad_hypot_ratio(double x, double y);

/* Real part of the logarithm of x + iy, and both of its principal square root. */
double cad_log_hypot(double x, double y);
double cad_sqrt_real(double x, double y);
double cad_sqrt_imag(double x, double y);

/* -x log(x), extended by its limits. */
double cad_entr(double x);

/* The n-th derivative of sinc(x) = sin(pi x) / (pi x); nan for n > 600, where pi^n overflows. */
double cad_sinc(double n, double x);

double cad_gamma(double x);
double cad_gammaln(double x);

/* A word of Threefry 2x32 (Salmon and others 2011) for a key of two words and a counter of two,
 * n = 2^32 times the first plus the second; nan where they are not below 2^53 in size. */
double cad_threefry(double k, double l, double n, int is_second);

/* The n-th derivative of digamma, itself n = 0; nan for n > 170, where n! overflows. */
double cad_polygamma(double n, double x);

#endif
