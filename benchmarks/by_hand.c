/*
 * The C that a program is measured against: values and gradients derived on paper, each in one
 * pass without a workspace. Knows nothing of the library.
 */

#include <math.h>
#include <stddef.h>

double rosenbrock(size_t n, const double *x, double *gradient);
double chain(size_t steps, const double *x, double *gradient);

/* Rosenbrock's function of n >= 1 numbers: what a term adds to the next coordinate is carried. */
double rosenbrock(size_t n, const double *x, double *gradient) {
    double total = 0.0;
    double carried = 0.0;
    for (size_t i = 0; i + 1 < n; i++) {
        double bend = x[i + 1] - x[i] * x[i];
        double rest = 1.0 - x[i];
        total += 100.0 * bend * bend + rest * rest;
        gradient[i] = carried - 400.0 * x[i] * bend - 2.0 * rest;
        carried = 200.0 * bend;
    }
    gradient[n - 1] = carried;
    return total;
}

/* y = sin(y) x0 + exp(-y y) x1, so many times from y = x0. With two numbers to differentiate by,
 * tangents that go along are cheaper than a way back, which would have to store every step. */
double chain(size_t steps, const double *x, double *gradient) {
    double y = x[0];
    double by_first = 1.0;
    double by_second = 0.0;
    for (size_t i = 0; i < steps; i++) {
        double sine = sin(y);
        double bell = exp(-y * y);
        double slope = cos(y) * x[0] - 2.0 * y * bell * x[1];
        by_first = slope * by_first + sine;
        by_second = slope * by_second + bell;
        y = sine * x[0] + bell * x[1];
    }
    gradient[0] = by_first;
    gradient[1] = by_second;
    return y;
}
