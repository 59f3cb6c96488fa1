/*
 * The C that a program is measured against: values and gradients derived on paper. All but the
 * populations go in one pass without a workspace. Knows nothing of the library.
 */

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

double rosenbrock(size_t n, const double *x, double *gradient);
double chain(size_t steps, const double *x, double *gradient);
double volatility(size_t count, const double *p, double *gradient, const double *returns);
double populations(size_t steps, const double *p, double *gradient);

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

/* GARCH(1,1), as benchmarks/loop_problems.py has it: three tangents go along. */
double volatility(size_t count, const double *p, double *gradient, const double *returns) {
    double h = 1.0;
    double total = 0.0;
    double tangents[3] = {0.0, 0.0, 0.0};
    double sums[3] = {0.0, 0.0, 0.0};
    for (size_t i = 0; i < count; i++) {
        double square = returns[i] * returns[i];
        double inverse = 1.0 / h;
        double slope = 0.5 * (1.0 - square * inverse) * inverse;
        const double added[3] = {1.0, square, h};
        total += 0.5 * (log(h) + square * inverse);
        for (int k = 0; k < 3; k++) {
            sums[k] += slope * tangents[k];
            tangents[k] = added[k] + p[2] * tangents[k];
        }
        h = p[0] + p[1] * square + p[2] * h;
    }
    for (int k = 0; k < 3; k++) {
        gradient[k] = sums[k];
    }
    return total;
}

typedef struct Four {
    double a, b, c, d;
} Four;

static inline Four moved(Four x, double by, Four k) {
    return (Four){x.a + by * k.a, x.b + by * k.b, x.c + by * k.c, x.d + by * k.d};
}

/* How fast four populations grow, each of which feeds on the one before. */
static inline Four food_chain(const double *p, Four x) {
    return (Four){x.a * (p[0] - p[1] * x.a - p[2] * x.b), x.b * (p[2] * x.a - p[3] - p[4] * x.c),
                  x.c * (p[4] * x.b - p[5] - p[6] * x.d), x.d * (p[6] * x.c - p[7])};
}

/* What g, given for the slopes at x, is for x; what it is for the parameters is added. */
static inline Four pull_food_chain(const double *p, Four x, Four g, double *restrict by_p) {
    const Four w = {g.a * x.a, g.b * x.b, g.c * x.c, g.d * x.d};
    by_p[0] += w.a;
    by_p[1] -= w.a * x.a;
    by_p[2] += w.b * x.a - w.a * x.b;
    by_p[3] -= w.b;
    by_p[4] += w.c * x.b - w.b * x.c;
    by_p[5] -= w.c;
    by_p[6] += w.d * x.c - w.c * x.d;
    by_p[7] -= w.d;
    return (Four){
        g.a * (p[0] - 2.0 * p[1] * x.a - p[2] * x.b) + w.b * p[2],
        g.b * (p[2] * x.a - p[3] - p[4] * x.c) - w.a * p[2] + w.c * p[4],
        g.c * (p[4] * x.b - p[5] - p[6] * x.d) - w.b * p[4] + w.d * p[6],
        g.d * (p[6] * x.c - p[7]) - w.c * p[6],
    };
}

/* The food chain of benchmarks/loop_problems.py, by Runge and Kutta: states are kept, and a step
 * back computes its stages again. NaN without memory. */
double populations(size_t steps, const double *p, double *gradient) {
    const double h = 10.0 / (double)steps;
    const Four nothing = {0.0, 0.0, 0.0, 0.0};
    double by_rates[8] = {0.0};
    Four x = {p[8], p[9], p[10], p[11]};
    Four *kept = malloc((steps + 1) * sizeof *kept);
    if (kept == NULL) {
        return NAN;
    }
    for (size_t t = 0; t < steps; t++) {
        kept[t] = x;
        const Four k1 = food_chain(p, x);
        const Four k2 = food_chain(p, moved(x, 0.5 * h, k1));
        const Four k3 = food_chain(p, moved(x, 0.5 * h, k2));
        const Four k4 = food_chain(p, moved(x, h, k3));
        const Four inner = moved(k2, 1.0, k3);
        const Four outer = moved(k1, 1.0, k4);
        x = moved(moved(x, h / 6.0, outer), h / 3.0, inner);
    }
    const double value = x.a + 2.0 * x.b + 3.0 * x.c + 4.0 * x.d;
    Four back = {1.0, 2.0, 3.0, 4.0};
    for (size_t t = steps; t-- > 0;) {
        const Four first = kept[t];
        const Four second = moved(first, 0.5 * h, food_chain(p, first));
        const Four third = moved(first, 0.5 * h, food_chain(p, second));
        const Four fourth = moved(first, h, food_chain(p, third));
        const Four outer = moved(nothing, h / 6.0, back);
        const Four inner = moved(nothing, h / 3.0, back);
        const Four d = pull_food_chain(p, fourth, outer, by_rates);
        const Four c = pull_food_chain(p, third, moved(inner, h, d), by_rates);
        const Four b = pull_food_chain(p, second, moved(inner, 0.5 * h, c), by_rates);
        const Four a = pull_food_chain(p, first, moved(outer, 0.5 * h, b), by_rates);
        back = moved(moved(moved(moved(back, 1.0, a), 1.0, b), 1.0, c), 1.0, d);
    }
    const double by_first[4] = {back.a, back.b, back.c, back.d};
    memcpy(gradient, by_rates, sizeof by_rates);
    memcpy(gradient + 8, by_first, sizeof by_first);
    free(kept);
    return value;
}
