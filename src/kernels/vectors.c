/* See vectors.h.
 *
 * Every function is a formula without branches, of additions, products, sums of a product that are
 * rounded once (fma), and at most two divisions: written out, so that no compiler contracts it in
 * a way of its own. A number has the same value wherever it stands, and whatever vectors the
 * processor has. Where fma is no instruction no such loop is entered. What a formula does not
 * cover (sines of huge numbers, for example) is rare: the loop counts such numbers, and they are
 * computed again, one by one, as single numbers are. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno") /* else roots are computed one by one */
#endif

#include "kernels/vectors.h"

#include "kernels/coefficients.h"
#include "kernels/loops.h"
#include "table/ops.h"

#include <string.h>

/* --- numbers and their bits --- */

static CAD_INLINE uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static CAD_INLINE double of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Added to a number below 2^51 this leaves its nearest integer in the lowest bits, and none behind
 * the point. */
#define ROUNDER 0x1.8p52

/* 2^k for -1023 < k < 1024, of k + ROUNDER. */
static CAD_INLINE double power_of_two(double rounded) {
    return of_bits((bits_of(rounded) + 1023) << 52);
}

/* x between two bounds; nan stays. */
static CAD_INLINE double clamped(double x, double least, double most) {
    return x < least ? least : x > most ? most : x;
}

static CAD_INLINE int is_within(double x, double least, double most) {
    return (x >= least) & (x <= most);
}

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
#define HORNER(table, x) horner(table, COUNT(table), x)

static CAD_INLINE double horner(const double *c, const int n, double x) {
    double sum = c[n - 1];
    for (int k = n - 1; k-- > 0;) {
        sum = fma(sum, x, c[k]);
    }
    return sum;
}

/* A number, and what it lacks. */
typedef struct Pair {
    double high, low;
} Pair;

/* a + b, of which a is the larger one. */
static CAD_INLINE Pair sum_of(double a, double b) {
    const double high = a + b;
    return (Pair){high, (a - high) + b};
}

static CAD_INLINE Pair product_of(Pair a, Pair b) {
    const double high = a.high * b.high;
    return (Pair){high, fma(a.high, b.high, -high) + fma(a.high, b.low, a.low * b.high)};
}

/* a + b, whichever is larger. */
static CAD_INLINE Pair sum_of_any(double a, double b) {
    return fabs(a) < fabs(b) ? sum_of(b, a) : sum_of(a, b);
}

/* The same polynomial but for the constant term, for an even number of coefficients, by powers of
 * x^2: those with x and those without are found side by side, in half the time. */
#define BEHIND(table, x) behind(table, COUNT(table), x, (x) * (x))

static CAD_INLINE Pair behind(const double *c, const int n, double x, double square) {
    double even = c[n - 2], odd = c[n - 1];
    for (int k = n / 2 - 1; k-- > 1;) {
        even = fma(even, square, c[2 * k]);
        odd = fma(odd, square, c[2 * k + 1]);
    }
    const double whole = fma(odd, square, c[1]), lacks = fma(odd, square, c[1] - whole);
    const double product = square * even, high = fma(whole, x, product);
    const double low = fma(whole, x, product - high) + fma(square, even, -product);
    return (Pair){high, fma(lacks, x, low)};
}

/* --- sine and cosine --- */

/* Up to here the third part of pi / 2 is enough. */
#define MOST_REDUCED 0x1p27

typedef struct Sincos {
    double sine, cosine;
} Sincos;

/* The argument less the nearest multiple of pi / 2 is r + low, exact to 2^-100 or so; then series
 * about 0, which change places with each multiple. */
static CAD_INLINE Sincos sine_and_cosine(double x) {
    const double rounded = fma(x, 2.0 / CAD_PI, ROUNDER), k = rounded - ROUNDER;
    const double first = fma(-k, HALF_PI[0], x);          /* exact */
    const double more = k * HALF_PI[1], r = first - more; /* exact where they cancel */
    const double low = fma(-k, HALF_PI[2], ((first - r) - more) - fma(k, HALF_PI[1], -more));
    const double z = r * r, half = 0.5 * z, head = 1.0 - half;
    const double s = r - fma(-z * r, HORNER(SINE, z), fma(half, low, -low));
    const double t = head + fma(z * z, HORNER(COSINE, z), fma(-r, low, (1.0 - head) - half));
    const uint64_t quadrant = bits_of(rounded);
    const double sine = quadrant & 1 ? t : s, cosine = quadrant & 1 ? s : t;
    return (Sincos){of_bits(bits_of(sine) ^ (quadrant & 2) << 62),
                    of_bits(bits_of(cosine) ^ ((quadrant + 1) & 2) << 62)};
}

/* --- exponentials --- */

/* exp(x + low) is the pair times both scales. */
typedef struct Exponential {
    Pair pair;
    double scale, other;
} Exponential;

static CAD_INLINE Exponential exponential(double x, double low) {
    const double rounded = fma(x, 1.0 / CAD_LN2, ROUNDER), k = rounded - ROUNDER;
    const double first = fma(-k, LOG_2[0], x); /* exact */
    const double r = fma(-k, LOG_2[1], first);
    const double rest = fma(-k, LOG_2[1], first - r) + low;
    const Pair one = sum_of(1.0, r);
    const double more = fma(r * r, HORNER(EXPONENTIAL, r), one.low);
    const double halved = fma(k, 0.5, ROUNDER), other = rounded - (halved - ROUNDER);
    return (Exponential){
        {one.high, fma(rest, one.high + more, more)}, power_of_two(halved), power_of_two(other)};
}

static CAD_INLINE double vector_exp(double x) {
    const Exponential e = exponential(clamped(x, -800.0, 800.0), 0.0);
    return (e.pair.high + e.pair.low) * e.scale * e.other;
}

/* exp(-x - low) for x >= 0. */
static CAD_INLINE Pair decay(double x, double low) {
    const Exponential e = exponential(-clamped(x, 0.0, 800.0), -low);
    const Pair sum = sum_of(e.pair.high, e.pair.low);
    return (Pair){sum.high * e.scale * e.other, sum.low * e.scale * e.other};
}

/* 1 / (1 + e) or e / (1 + e). */
static CAD_INLINE Pair share(Pair e, int of_one) {
    const Pair one = {1.0, 0.0}, part = of_one ? one : e;
    const Pair d = sum_of(1.0, e.high);
    const double q = part.high / d.high;
    const double rest = fma(-q, d.high, part.high) + fma(-q, d.low + e.low, part.low);
    return (Pair){q, rest * (of_one ? q : 1.0 - q)};
}

static CAD_INLINE double vector_expit(double x) {
    const Pair p = share(decay(fabs(x), 0.0), x >= 0.0);
    return p.high + p.low;
}

static CAD_INLINE double vector_sech_squared(double x) {
    const Pair e = decay(fabs(x), 0.0), square = product_of(e, e), d = sum_of(1.0, square.high);
    const double q = 2.0 * e.high / d.high;
    const double rest = fma(-q, d.high, 2.0 * e.high) + fma(-q, d.low + square.low, 2.0 * e.low);
    const Pair secant = {q, rest * fma(-0.5 * e.high, q, 1.0)}; /* the latter is 1 / d */
    const Pair result = product_of(secant, secant);
    return result.high + result.low;
}

/* log(1 + e): of 1 + e or, from 1.5 on, of its half. */
static CAD_INLINE Pair log_beyond_one(Pair e) {
    const int halves = e.high > 0.5;
    const double f = halves ? fma(0.5, e.high, -0.5) : e.high; /* exact */
    const double low = halves ? 0.5 * e.low : e.low, k = halves ? 1.0 : 0.0;
    const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    const double more = fma(z, HORNER(LOGARITHM, z), half);
    const double rest = fma(s, more, fma(low, fma(-2.0, s - z, 1.0), k * LOG_2[1]));
    const Pair head = sum_of(k * LOG_2[0], f); /* one of them is 0, or the first one is larger */
    return (Pair){head.high, head.low - (half - rest)};
}

/* max + log(1 + exp(-x - low)) for x >= 0. */
static CAD_INLINE double beyond(double most, double x, double low) {
    const Pair more = log_beyond_one(decay(x, low)), sum = sum_of_any(most, more.high);
    return sum.high + (isfinite(most) ? sum.low + more.low : more.low);
}

static CAD_INLINE double vector_softplus(double x) {
    return beyond(x > 0.0 ? x : 0.0, fabs(x), 0.0);
}

static CAD_INLINE double vector_logaddexp(double x, double y) {
    const double most = x > y ? x : y, least = x > y ? y : x;
    const Pair apart = sum_of_any(most, -least);
    const double sum = beyond(most, apart.high, apart.high < INFINITY ? apart.low : 0.0);
    return x == y ? x + CAD_LN2 : sum; /* also of equal infinities */
}

/* --- the error function --- */

/* erfc(x) for x > 0.69. */
static CAD_INLINE double tail(double x) {
    const double a = clamped(x, 0.0, 28.0); /* where it is 0 */
    const double square = a * a;
    const Pair e = decay(square, fma(a, a, -square));
    const Pair more = BEHIND(TAIL, (a - 3.0) / (a + 3.0)), sum = sum_of(TAIL[0], more.high);
    const Pair p = {sum.high, sum.low + (more.low + TAIL_LOW[0])};
    const Pair d = sum_of(2.0 * a, 1.0);
    const double q = p.high / d.high;
    const double rest = fma(-q, d.high, p.high) + fma(-q, d.low, p.low);
    const Pair result = product_of((Pair){q, rest * 0.83 * q}, e); /* 1 / p is about 0.83 */
    return result.high + result.low;
}

/* erf(x) - x for x below 0.7: the sum is exact, as both terms are below 1 / 4, and the first one
 * is above 1 / 8. */
static CAD_INLINE double error_beyond(double x) {
    const Pair more = BEHIND(ERROR, x * x), sum = sum_of(ERROR[0], more.high);
    return fma(x, sum.high, x * fma(ERROR_LOW[0], x * x, sum.low + more.low));
}

static CAD_INLINE double vector_erf(double x) {
    const double near = x + error_beyond(x), far = 1.0 - tail(fabs(x));
    return fabs(x) < 0.7 ? near : copysign(far, x);
}

static CAD_INLINE double vector_erfc(double x) {
    const double more = error_beyond(x);
    const double near = x < 0.25 ? 1.0 - (x + more) : 0.5 - (more + (x - 0.5));
    const double far = tail(fabs(x));
    return fabs(x) < 0.7 ? near : x < 0.0 ? 2.0 - far : far;
}

/* --- powers and lengths --- */

/* x^1.5 */
static CAD_INLINE Pair power_by_root(double x) {
    const double root = sqrt(x), p = x * root;
    return (Pair){p, fma(x, root, -p) + 0.5 * root * fma(-root, root, x)};
}

static CAD_INLINE double whole_by_root(double x) {
    const Pair p = power_by_root(x);
    return p.high + p.low;
}

static CAD_INLINE double more_by_root(double x) {
    const Pair p = power_by_root(x);
    return fma(x, p.high, x * p.low);
}

static CAD_INLINE double less_by_root(double x) {
    const Pair p = power_by_root(x);
    const double q = 1.0 / p.high;
    return fma(q, fma(-q, p.high, 1.0) - q * p.low, q);
}

/* 1 / sqrt(x) */
static CAD_INLINE double less_by_half(double x) {
    const double root = sqrt(x), q = 1.0 / root;
    const double lacks = 0.5 * (fma(-root, root, x) * q) * q;
    return fma(q, fma(-q, root, 1.0) - lacks, q);
}

static CAD_INLINE double less_by_square(double x) {
    const double z = x * x, q = 1.0 / z;
    return fma(q, fma(-q, z, 1.0) - q * fma(x, x, -z), q);
}

static CAD_INLINE double third_power(double x) {
    const double z = x * x, p = z * x;
    return p == 0.0 ? p : p + fma(x, fma(x, x, -z), fma(z, x, -p)); /* -0 remains */
}

static CAD_INLINE double fourth_power(double x) {
    const double z = x * x;
    return fma(z, z, 2.0 * z * fma(x, x, -z));
}

/* The root is off by half as many units as the sum of squares, which is rounded once. */
static CAD_INLINE double vector_hypot(double x, double y) {
    const double a = fabs(x) < fabs(y) ? y : x, b = fabs(x) < fabs(y) ? x : y;
    const Pair sum = sum_of(a * a, b * b);
    return sqrt(sum.high + (sum.low + (fma(a, a, -(a * a)) + fma(b, b, -(b * b)))));
}

/* --- logarithm --- */

/* Of normal numbers. */
static CAD_INLINE double vector_log(double x) {
    const uint64_t root_of_half = 0x3fe6a09e667f3bcdu, mantissa = 0xfffffffffffffu;
    const uint64_t more = bits_of(x) + (((uint64_t)1023 << 52) - root_of_half);
    const double k = of_bits((more >> 52) + bits_of(0x1p52)) - (0x1p52 + 1023.0);
    const double f = of_bits((more & mantissa) + root_of_half) - 1.0; /* exact */
    const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    const double rest = fma(s, fma(z, HORNER(LOGARITHM, z), half), k * LOG_2[1]);
    return fma(k, LOG_2[0], f - (half - rest));
}

/* --- the loops --- */

/* Their count is a multiple of eight, so that no loop is written again for a rest. Answers how
 * many of the numbers are rare. */
typedef size_t (*Loop)(double *restrict out, const double *xs, const double *ys, size_t n);

enum { NARROW, WIDE };

enum { EIGHT = 8, SOME = 256 }; /* numbers that are computed at once */

#define LOOP_FOR(name, target, value, is_rare)                                                    \
    target static size_t name(double *restrict out, const double *xs, const double *ys,           \
                              size_t n) {                                                         \
        size_t count = 0;                                                                         \
        n &= ~(size_t)(EIGHT - 1);                                                                \
        CAD_NO_UNROLL                                                                             \
        for (size_t i = 0; i < n; i++) {                                                          \
            const double x = xs[i], y = ys[i];                                                    \
            (void)y;                                                                              \
            out[i] = value;                                                                       \
            count += is_rare;                                                                     \
        }                                                                                         \
        return count;                                                                             \
    }

/* LOOP: for all vectors (narrow_sin, wide_sin); NARROW_LOOP: only for those of two or four
 * numbers, since NumPy has its own for wider ones. */
#if defined(__x86_64__) && defined(__GNUC__)
#define NARROW_LOOP(name, value, is_rare)                                                         \
    LOOP_FOR(narrow_##name, __attribute__((target("avx2,fma"))), value, is_rare)
#define LOOP(name, value, is_rare)                                                                \
    NARROW_LOOP(name, value, is_rare)                                                             \
    LOOP_FOR(wide_##name, __attribute__((target("avx512f"))), value, is_rare)
#define NARROW_LOOP_OF(name) {narrow_##name, NULL}
#define LOOPS_OF(name) {narrow_##name, wide_##name}

/* Which of them this processor has; -1: none. Tests may have narrow ones where there are others.
 */
static int width_of_vectors(void) {
#ifndef CAD_NARROW_VECTORS
    if (__builtin_cpu_supports("avx512f")) {
        return WIDE;
    }
#endif
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? NARROW : -1;
}

const char *cad_vector_target(void) {
    static const char *const targets[] = {"avx2", "avx512f,avx512dq,avx512vl"};
    const int width = width_of_vectors();
    const int is_wide =
        width == WIDE && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return width < 0 ? "" : targets[is_wide];
}
#else
#define NARROW_LOOP(name, value, is_rare) LOOP_FOR(narrow_##name, , value, is_rare)
#define NARROW_LOOP_OF(name) {narrow_##name, NULL}
#define LOOP NARROW_LOOP
#define LOOPS_OF NARROW_LOOP_OF

static int width_of_vectors(void) {
#ifdef __FP_FAST_FMA
    return NARROW;
#else
    return -1;
#endif
}

const char *cad_vector_target(void) {
    return "";
}
#endif

/* A sum of squares that is far from overflow, and from underflow. */
#define SUM fma(x, x, y *y)
#define IS_FAR !is_within(SUM, 1e-280, 1e300)

LOOP(sin, sine_and_cosine(x).sine, !(fabs(x) <= MOST_REDUCED))
LOOP(cos, sine_and_cosine(x).cosine, !(fabs(x) <= MOST_REDUCED))
NARROW_LOOP(exp, vector_exp(x), 0)
NARROW_LOOP(log, vector_log(x), !is_within(x, 1e-300, 1e300))
LOOP(expit, vector_expit(x), 0)
LOOP(sech_squared, vector_sech_squared(x), 0)
LOOP(softplus, vector_softplus(x), 0)
LOOP(log_expit, -vector_softplus(-x), 0)
LOOP(logaddexp, vector_logaddexp(x, y), 0)
LOOP(erf, vector_erf(x), 0)
LOOP(erfc, vector_erfc(x), 0)
LOOP(hypot, vector_hypot(x, y), IS_FAR)
LOOP(hypot_ratio, x / sqrt(SUM), IS_FAR)
LOOP(reciprocal_real, x / SUM, IS_FAR)
LOOP(power_0_5, sqrt(x), !is_within(x, 1e-300, 1e300))
LOOP(power_1_5, whole_by_root(x), !is_within(x, 1e-180, 1e180))
NARROW_LOOP(power_2_5, more_by_root(x), !is_within(x, 1e-110, 1e110))
NARROW_LOOP(power_less_0_5, less_by_half(x), !is_within(x, 1e-300, 1e300))
NARROW_LOOP(power_less_1_5, less_by_root(x), !is_within(x, 1e-180, 1e180))
LOOP(power_less_2, less_by_square(x), !is_within(fabs(x), 1e-140, 1e140))
LOOP(power_3, third_power(x), !(fabs(x) <= 1e100))
LOOP(power_4, fourth_power(x), !(fabs(x) <= 1e70))

static const Loop loops[CAD_OP_COUNT][2] = {
    [CAD_OP_sin] = LOOPS_OF(sin),
    [CAD_OP_cos] = LOOPS_OF(cos),
    [CAD_OP_exp] = NARROW_LOOP_OF(exp),
    [CAD_OP_log] = NARROW_LOOP_OF(log),
    [CAD_OP_expit] = LOOPS_OF(expit),
    [CAD_OP_sech_squared] = LOOPS_OF(sech_squared),
    [CAD_OP_softplus] = LOOPS_OF(softplus),
    [CAD_OP_log_expit] = LOOPS_OF(log_expit),
    [CAD_OP_logaddexp] = LOOPS_OF(logaddexp),
    [CAD_OP_erf] = LOOPS_OF(erf),
    [CAD_OP_erfc] = LOOPS_OF(erfc),
    [CAD_OP_hypot] = LOOPS_OF(hypot),
    [CAD_OP_hypot_ratio] = LOOPS_OF(hypot_ratio),
    [CAD_OP_reciprocal_real] = LOOPS_OF(reciprocal_real),
};

/* Powers by their exponents. */
static const struct {
    double exponent;
    Loop loops[2];
} powers[] = {
    {-2.0, LOOPS_OF(power_less_2)},
    {-1.5, NARROW_LOOP_OF(power_less_1_5)},
    {-0.5, NARROW_LOOP_OF(power_less_0_5)},
    {0.5, LOOPS_OF(power_0_5)},
    {1.5, LOOPS_OF(power_1_5)},
    {2.5, NARROW_LOOP_OF(power_2_5)},
    {3.0, LOOPS_OF(power_3)},
    {4.0, LOOPS_OF(power_4)},
};

static const Loop *loops_of_power(double exponent) {
    for (size_t k = 0; k < sizeof powers / sizeof *powers; k++) {
        if (powers[k].exponent == exponent) {
            return powers[k].loops;
        }
    }
    return loops[CAD_OP_power];
}

/* --- strips --- */

/* What is computed by one operation, and how. */
typedef struct Task {
    CadOp op;
    Loop loop;
    CadStrip out, x, y;
} Task;

/* Some numbers side by side, and behind them ones, which are never rare, up to a multiple of
 * eight. */
static const double *side_by_side(double *room, CadStrip x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        room[i] = x.data[(ptrdiff_t)i * x.step];
    }
    for (size_t i = n; i % EIGHT != 0; i++) {
        room[i] = 1.0;
    }
    return room;
}

/* Compute those anew, one by one, that are rare. */
static void mend(const Task *task, double *out, const double *x, const double *y, size_t n) {
    double xs[EIGHT], ys[EIGHT], some[EIGHT];
    for (size_t i = 0; i < n; i++) {
        if (i % EIGHT == 0 && task->loop(some, x + i, y + i, EIGHT) == 0) {
            i += EIGHT - 1;
            continue;
        }
        for (int k = 0; k < EIGHT; k++) {
            xs[k] = x[i];
            ys[k] = y[i];
        }
        if (task->loop(some, xs, ys, EIGHT) > 0) {
            out[i] = cad_op_value(task->op, x[i], y[i], 0.0);
        }
    }
}

/* n <= SOME numbers, which may be copied first: where they do not stand side by side, are no
 * multiple of eight, or are written over. */
static void run(const Task *task, size_t n) {
    double room[3][SOME];
    const CadStrip x = task->x, y = task->y, out = task->out;
    const int whole = n % EIGHT == 0, is_same = y.data == x.data && y.step == x.step;
    const int x_stays = x.step == 1 && whole && x.data != out.data;
    const int y_stays = y.step == 1 && whole && y.data != out.data;
    const double *const xs = x_stays ? x.data : side_by_side(room[0], x, n);
    const double *const ys = is_same ? xs : y_stays ? y.data : side_by_side(room[1], y, n);
    double *const to = out.step == 1 && whole ? out.data : room[2];
    if (task->loop(to, xs, ys, (n + EIGHT - 1) / EIGHT * EIGHT) > 0) {
        mend(task, to, xs, ys, n);
    }
    for (size_t i = 0; to != out.data && i < n; i++) {
        out.data[(ptrdiff_t)i * out.step] = to[i];
    }
}

int cad_vector_knows(CadOp op) {
    return op == CAD_OP_power || loops[op][NARROW] != NULL;
}

int cad_vector_value(CadOp op, CadStrip out, const CadStrip *x, size_t n) {
    const int width = width_of_vectors();
    const int is_unary = cad_op_info[op].arity == 1;
    const Loop *const all =
        op == CAD_OP_power && x[1].step == 0 ? loops_of_power(x[1].data[0]) : loops[op];
    if (width < 0 || all[width] == NULL) {
        return 0;
    }
    Task task = {op, all[width], out, x[0], x[is_unary ? 0 : 1]};
    for (size_t first = 0; first < n; first += SOME) {
        run(&task, n - first < SOME ? n - first : SOME);
        task.out.data += SOME * task.out.step;
        task.x.data += SOME * task.x.step;
        task.y.data += SOME * task.y.step;
    }
    return 1;
}
