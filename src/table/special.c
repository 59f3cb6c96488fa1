/* See special.h. */
#include "table/special.h"

#include <stddef.h>
#include <stdint.h>

double cad_mod(double x, double y) {
    double rest = fmod(x, y);
    if (rest == 0.0) {
        return copysign(0.0, y);
    }
    if ((rest < 0.0) != (y < 0.0)) {
        rest += y;
    }
    return rest;
}

double cad_floor_divide(double x, double y) {
    if (y == 0.0) {
        return x / y;
    }
    const double rest = fmod(x, y);
    double quotient = (x - rest) / y;
    if (rest != 0.0 && (rest < 0.0) != (y < 0.0)) {
        quotient -= 1.0;
    }
    if (quotient == 0.0) {
        return copysign(0.0, x / y);
    }
    /* The quotient is whole but for rounding. */
    const double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

double cad_expit(double x) {
    const double e = exp(-fabs(x));
    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

double cad_softplus(double x) {
    return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x)));
}

double cad_sech_squared(double x) {
    const double e = exp(-fabs(x));
    const double secant = 2.0 * e / (1.0 + e * e);
    return secant * secant;
}

double cad_logaddexp(double x, double y) {
    if (x == y) { /* also for equal infinities */
        return x + CAD_LN2;
    }
    const double gap = x - y;
    return gap > 0.0 ? x + log1p(exp(-gap)) : y + log1p(exp(gap));
}

double cad_logaddexp2(double x, double y) {
    if (x == y) {
        return x + 1.0;
    }
    const double gap = x - y;
    return gap > 0.0 ? x + log1p(exp2(-gap)) / CAD_LN2 : y + log1p(exp2(gap)) / CAD_LN2;
}

double cad_hypot_ratio(double x, double y) {
    const double square = x * x + y * y;
    if (square > 1e-280 && square < 1e300) { /* the usual case, several times faster */
        return x / sqrt(square);
    }
    const double h = hypot(x, y);
    if (isinf(x)) {
        return copysign(isinf(y) ? sqrt(0.5) : 1.0, x);
    }
    return h == 0.0 ? 0.0 : x / h;
}

/* x * x + y * y - 1 for x >= y >= 0, of the order of 1, as if without rounding. */
static double square_beyond_one(double x, double y) {
    const double a = x * x, b = y * y;
    const double rest = fma(x, x, -a) + fma(y, y, -b);
    const double c = a - 1.0; /* exact where a is from 0.5 to 2 */
    const double sum = c + b, back = sum - c;
    return sum + ((c - (sum - back)) + (b - back) + rest);
}

double cad_log_hypot(double x, double y) {
    const double a = fmax(fabs(x), fabs(y)), b = fmin(fabs(x), fabs(y));
    if (isnan(x) || isnan(y) || isinf(a)) {
        return isinf(x) || isinf(y) ? INFINITY : x + y;
    }
    if (a >= 0.71 && a <= 1.41) {
        return 0.5 * log1p(square_beyond_one(a, b));
    }
    const double ratio = a > 0.0 ? b / a : 0.0;
    return log(a) + 0.5 * log1p(ratio * ratio);
}

/* The root of (|x| + hypot(x, y)) / 2: of the two parts of the principal root the larger one. */
static double larger_part(double x, double y) {
    const double a = fmax(fabs(x), fabs(y));
    const double scale = a > 1e300 ? 0x1p-4 : a < 1e-290 ? 0x1p120 : 1.0;
    const double back = a > 1e300 ? 0x1p2 : a < 1e-290 ? 0x1p-60 : 1.0;
    x = fabs(x) * scale;
    return back * sqrt(0.5 * (x + hypot(x, y * scale)));
}

/* |y| / (2 p) for the larger part p: the other one. */
static double smaller_part(double y, double p) {
    return p == 0.0 || isinf(p) ? (isinf(y) ? INFINITY : 0.0) : 0.5 * (fabs(y) / p);
}

double cad_sqrt_real(double x, double y) {
    if (isinf(y) || isnan(x) || isnan(y)) {
        return isinf(y) || (isinf(x) && x > 0.0) ? INFINITY : NAN;
    }
    const double p = larger_part(x, y);
    return x >= 0.0 ? p : smaller_part(y, p);
}

double cad_sqrt_imag(double x, double y) {
    if (isinf(y) || isnan(x) || isnan(y)) {
        return isinf(y) ? y : isinf(x) && x < 0.0 ? INFINITY : NAN;
    }
    const double p = larger_part(x, y);
    return copysign(x >= 0.0 ? smaller_part(y, p) : p, y);
}

double cad_entr(double x) {
    return x > 0.0 ? -x * log(x) : x == 0.0 ? 0.0 : x < 0.0 ? -INFINITY : x;
}

/* sin(pi x + n pi / 2) without rounding the sum or the product. */
static double sin_derivative(double n, double x) {
    const double u = CAD_PI * remainder(x, 2.0);
    switch ((int)fmod(n, 4.0)) {
    case 0:
        return sin(u);
    case 1:
        return cos(u);
    case 2:
        return -sin(u);
    default:
        return -cos(u);
    }
}

/* S_n(u), the n-th derivative of sin(u)/u. Differentiating u S_0 = sin u gives the recurrence
 * u S_n + n S_{n-1} = sin^(n) u, which loses about n!/u^n in accuracy; below u = n the Taylor
 * series, sum over 2k >= n of (-1)^k u^(2k-n) / ((2k+1) (2k-n)!), is used. */
double cad_sinc(double n, double x) {
    const double u = CAD_PI * x;
    const double scale = n == 0.0 ? 1.0 : pow(CAD_PI, n);
    if (x != x || n < 0.0 || n > 600.0 || n != floor(n)) {
        return NAN;
    }
    if (n == 0.0) {
        return u == 0.0 ? 1.0 : sin(u) / u;
    }
    if (fabs(u) >= fmax(n, 1.5)) {
        double s = sin_derivative(0.0, x) / u;
        for (double m = 1.0; m <= n; m += 1.0) {
            s = (sin_derivative(m, x) - m * s) / u;
        }
        return scale * s;
    }
    double k = ceil(n / 2.0);
    double power = 2.0 * k > n ? u : 1.0; /* u^(2k-n) / (2k-n)! */
    double sum = 0.0;
    double term;
    do {
        term = power / (2.0 * k + 1.0);
        sum += fmod(k, 2.0) == 0.0 ? term : -term;
        k += 1.0;
        power *= u * u / ((2.0 * k - n) * (2.0 * k - n - 1.0));
    } while (fabs(term) > 1e-18 * fabs(sum));
    return scale * sum;
}

double cad_gamma(double x) {
    return x < 0.0 && x == floor(x) ? NAN : tgamma(x);
}

double cad_gammaln(double x) {
    return x == -INFINITY ? x : lgamma(x);
}

/* B_2j / (2j)!, j = 1 ...: the coefficients of Euler and Maclaurin. */
static const double bernoulli_over_factorial[] = {
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30240.0,
    -1.0 / 1209600.0,
    1.0 / 47900160.0,
    -691.0 / 1307674368000.0,
    1.0 / 74724249600.0,
    -3617.0 / 10670622842880000.0,
    43867.0 / 5109094217170944000.0,
    -174611.0 / 802857662698291200000.0,
};

enum { BERNOULLI_TERMS = sizeof bernoulli_over_factorial / sizeof(double) };

/* The Hurwitz zeta function, sum over k >= 0 of (x + k)^-s, for s > 1 and x > 0, by the formula of
 * Euler and Maclaurin (Abramowitz and Stegun 23.1.30) past the first few terms. */
static double hurwitz_zeta(double s, double x) {
    double sum = 0.0;
    while (x < 10.0 + s) {
        const double term = pow(x, -s);
        sum += term;
        if (term <= 1e-19 * sum) {
            return sum;
        }
        x += 1.0;
    }
    const double power = pow(x, -s);
    sum += pow(x, 1.0 - s) / (s - 1.0) + 0.5 * power;
    double factor = s * power / x; /* s (s+1) ... (s+2j-2) x^(-s-2j+1) */
    for (int j = 0; j < BERNOULLI_TERMS; j++) {
        sum += bernoulli_over_factorial[j] * factor;
        factor *= (s + 2 * j + 1) / x * ((s + 2 * j + 2) / x);
    }
    return sum;
}

/* digamma for x > 0: upward recurrence, then Abramowitz and Stegun 6.3.18. */
static double digamma_positive(double x) {
    double sum = 0.0;
    while (x < 10.0) {
        sum -= 1.0 / x;
        x += 1.0;
    }
    const double inverse_square = 1.0 / (x * x);
    double tail = 0.0;
    double factorial = 1.0;
    double power = inverse_square;
    for (int j = 0; j < BERNOULLI_TERMS; j++) { /* B_2j / (2j) x^-2j */
        tail += bernoulli_over_factorial[j] * factorial * power;
        factorial *= (2.0 * j + 2.0) * (2.0 * j + 3.0);
        power *= inverse_square;
    }
    return sum + log(x) - 0.5 / x - tail;
}

/* The n-th derivative of pi cot(pi x): pi^(n+1) P_n(cot), where P_0(c) = c and
 * P_{n+1} = -(1 + c^2) P_n', since cot' = -(1 + cot^2). */
static double cotangent_derivative(int n, double x) {
    enum { MOST = 34 };
    double p[MOST + 1] = {0.0, 1.0};
    for (int m = 0; m < n; m++) {
        double next[MOST + 1] = {0.0};
        for (int i = 1; i <= m + 1; i++) {
            next[i - 1] -= i * p[i];
            next[i + 1] -= i * p[i];
        }
        for (int i = 0; i <= MOST; i++) {
            p[i] = next[i];
        }
    }
    const double c = 1.0 / tan(CAD_PI * (x - rint(x)));
    double sum = 0.0;
    for (int i = n + 1; i >= 0; i--) {
        sum = sum * c + p[i];
    }
    return pow(CAD_PI, n + 1.0) * sum;
}

double cad_polygamma(double n, double x) {
    if (x != x || n < 0.0 || n > 170.0 || n != floor(n)) {
        return NAN;
    }
    const double sign = fmod(n, 2.0) == 0.0 ? -1.0 : 1.0; /* (-1)^(n+1) */
    if (x <= 0.0 && x == floor(x)) {                      /* a pole */
        if (n > 0.0) {
            return sign * INFINITY;
        }
        return x == 0.0 ? copysign(INFINITY, -x) : NAN;
    }
    if (isinf(x)) {
        return n == 0.0 ? x : 0.0;
    }
    if (x > 0.0) {
        return n == 0.0 ? digamma_positive(x) : sign * tgamma(n + 1.0) * hurwitz_zeta(n + 1.0, x);
    }
    enum { REFLECTED = 32, NEAREST = 64 };
    if (n <= REFLECTED) {
        return -sign * cad_polygamma(n, 1.0 - x) - cotangent_derivative((int)n, x);
    }
    /* For so high an order all but the nearest poles vanish: (1/2 / 64)^33 is below rounding. */
    double sum = 0.0;
    for (double k = floor(x) - NEAREST; k <= fmin(ceil(x) + NEAREST, 0.0); k += 1.0) {
        sum += pow(x - k, -n - 1.0);
    }
    return sign * tgamma(n + 1.0) * sum;
}

double cad_threefry(double k, double l, double n, int is_second) {
    static const unsigned char turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const double largest = 9007199254740992.0; /* 2^53 */
    if (!(fabs(k) < largest && fabs(l) < largest && fabs(n) < largest)) {
        return NAN;
    }
    const uint64_t count = (uint64_t)(int64_t)floor(n);
    uint32_t key[3] = {(uint32_t)(int64_t)floor(k), (uint32_t)(int64_t)floor(l), 0};
    key[2] = key[0] ^ key[1] ^ 0x1BD11BDAu;
    uint32_t x = (uint32_t)(count >> 32) + key[0];
    uint32_t y = (uint32_t)count + key[1];
    for (uint32_t i = 0; i < 5; ++i) {
        for (int j = 0; j < 4; ++j) {
            const unsigned turn = turns[i % 2][j];
            x += y;
            y = (y << turn | y >> (32 - turn)) ^ x;
        }
        x += key[(i + 1) % 3];
        y += key[(i + 2) % 3] + i + 1;
    }
    return is_second ? y : x;
}
