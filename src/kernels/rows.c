/* See rows.h. */
#include "kernels/rows.h"

#include "kernels/kernels.h"
#include "kernels/room.h"

#include <math.h>
#include <string.h>

/* Numbers along an axis. */
typedef CadStrip Row;

static Row row_at(char *argument, ptrdiff_t turn, ptrdiff_t step, ptrdiff_t along) {
    return (Row){(double *)(argument + turn * step), along / (ptrdiff_t)sizeof(double)};
}

static inline double *item(Row x, ptrdiff_t k) {
    return x.data + k * x.step;
}

/* --- running operations --- */

static inline double combined(intptr_t how, double x, double y) {
    switch (how) {
    case CAD_RUN_MULTIPLY:
        return x * y;
    case CAD_RUN_MAXIMUM:
        return (x >= y) | (x != x) ? x : y;
    case CAD_RUN_MINIMUM:
        return (x <= y) | (x != x) ? x : y;
    case CAD_RUN_FMAX:
        return (x >= y) | (y != y) ? x : y;
    default:
        return (x <= y) | (y != y) ? x : y;
    }
}

/* Some rows side by side are gone through together. */
static int stand_side_by_side(const ptrdiff_t *dims, ptrdiff_t across, ptrdiff_t along) {
    return dims[0] > 1 && across < along;
}

void cad_rows_run(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    const intptr_t how = (intptr_t)data;
    const ptrdiff_t turns = dims[0], n = dims[1];
    if (stand_side_by_side(dims, steps[0], steps[2])) {
        for (ptrdiff_t k = 0; k < n; k++) {
            const Row x = row_at(arguments[0], k, steps[2], steps[0]);
            const Row y = row_at(arguments[1], k, steps[3], steps[1]);
            const Row before = row_at(arguments[1], k - (k > 0), steps[3], steps[1]);
            for (ptrdiff_t turn = 0; turn < turns; turn++) {
                const double next = *item(x, turn);
                *item(y, turn) = k > 0 ? combined(how, *item(before, turn), next) : next;
            }
        }
        return;
    }
    for (ptrdiff_t turn = 0; turn < turns; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[2]);
        const Row y = row_at(arguments[1], turn, steps[1], steps[3]);
        double last = 0.0;
        for (ptrdiff_t k = 0; k < n; k++) {
            *item(y, k) = last = k > 0 ? combined(how, last, *item(x, k)) : *item(x, k);
        }
    }
}

/* s[k] = a[k] s[k - 1] + b[k] from s[-1] = 0. */
void cad_rows_recur(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    const ptrdiff_t turns = dims[0], n = dims[1];
    (void)data;
    if (stand_side_by_side(dims, steps[0], steps[3])) {
        for (ptrdiff_t k = 0; k < n; k++) {
            const Row a = row_at(arguments[0], k, steps[3], steps[0]);
            const Row b = row_at(arguments[1], k, steps[4], steps[1]);
            const Row s = row_at(arguments[2], k, steps[5], steps[2]);
            const Row before = row_at(arguments[2], k - (k > 0), steps[5], steps[2]);
            for (ptrdiff_t turn = 0; turn < turns; turn++) {
                const double last = k > 0 ? *item(before, turn) : 0.0;
                *item(s, turn) = *item(a, turn) * last + *item(b, turn);
            }
        }
        return;
    }
    for (ptrdiff_t turn = 0; turn < turns; turn++) {
        const Row a = row_at(arguments[0], turn, steps[0], steps[3]);
        const Row b = row_at(arguments[1], turn, steps[1], steps[4]);
        const Row s = row_at(arguments[2], turn, steps[2], steps[5]);
        double last = 0.0;
        for (ptrdiff_t k = 0; k < n; k++) {
            *item(s, k) = last = *item(a, k) * last + *item(b, k);
        }
    }
}

/* --- products of all others --- */

/* Of each number of some parts of a row the product of all others, given what comes before each
 * part, and what behind. The parts do not wait for each other. */
static CAD_INLINE void multiply_others(Row to, Row x, ptrdiff_t n, double *before, double *behind,
                                       const int parts) {
    for (ptrdiff_t k = 0; k < n; k++) {
        for (int part = 0; part < parts; part++) {
            *item(to, part * n + k) = before[part];
            before[part] *= *item(x, part * n + k);
        }
    }
    for (ptrdiff_t k = n - 1; k >= 0; k--) {
        for (int part = 0; part < parts; part++) {
            *item(to, part * n + k) *= behind[part];
            behind[part] *= *item(x, part * n + k);
        }
    }
}

static void others_of_row(Row to, Row x, ptrdiff_t n) {
    enum { PARTS = 8, LONG = 64 };
    const ptrdiff_t each = n < LONG ? 0 : n / PARTS, left = n - PARTS * each;
    double products[PARTS + 1], before[PARTS + 1] = {1.0}, behind[PARTS + 1];
    for (int part = 0; part <= PARTS; part++) {
        products[part] = 1.0;
    }
    for (ptrdiff_t k = 0; k < each; k++) {
        for (int part = 0; part < PARTS; part++) {
            products[part] *= *item(x, part * each + k);
        }
    }
    for (ptrdiff_t k = n - left; k < n; k++) {
        products[PARTS] *= *item(x, k);
    }
    behind[PARTS] = 1.0;
    for (int part = 1; part <= PARTS; part++) {
        before[part] = before[part - 1] * products[part - 1];
        behind[PARTS - part] = behind[PARTS - part + 1] * products[PARTS - part + 1];
    }
    const ptrdiff_t first = n - left;
    multiply_others(to, x, each, before, behind, PARTS);
    multiply_others((Row){item(to, first), to.step}, (Row){item(x, first), x.step}, left,
                    before + PARTS, behind + PARTS, 1);
}

/* Of each number the product of all others: of those before it times those behind. */
void cad_rows_others(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    enum { SOME = 256 };
    const ptrdiff_t turns = dims[0], n = dims[1];
    (void)data;
    if (!stand_side_by_side(dims, steps[0], steps[2])) {
        for (ptrdiff_t turn = 0; turn < turns; turn++) {
            others_of_row(row_at(arguments[1], turn, steps[1], steps[3]),
                          row_at(arguments[0], turn, steps[0], steps[2]), n);
        }
        return;
    }
    for (ptrdiff_t first = 0; first < turns; first += SOME) {
        const ptrdiff_t some = turns - first < SOME ? turns - first : SOME;
        char *const from = arguments[0] + first * steps[0];
        char *const at = arguments[1] + first * steps[1];
        double product[SOME];
        for (int backwards = 0; backwards < 2; backwards++) {
            for (ptrdiff_t turn = 0; turn < some; turn++) {
                product[turn] = 1.0;
            }
            for (ptrdiff_t i = 0; i < n; i++) {
                const ptrdiff_t k = backwards ? n - 1 - i : i;
                const Row x = row_at(from, k, steps[2], steps[0]);
                const Row to = row_at(at, k, steps[3], steps[1]);
                for (ptrdiff_t turn = 0; turn < some; turn++) {
                    const double former = backwards ? *item(to, turn) : 1.0;
                    *item(to, turn) = former * product[turn];
                    product[turn] *= *item(x, turn);
                }
            }
        }
    }
}

/* --- extremes --- */

/* An extreme, and how many numbers are it; nan is one in either direction. */
typedef struct Extreme {
    double number;
    ptrdiff_t count;
} Extreme;

enum { PART = 1024, SIDE_BY_SIDE = 8 };

/* Of numbers in order. */
static CAD_INLINE Extreme extreme_in_order(const double *x, ptrdiff_t n, const int least) {
    double lanes[SIDE_BY_SIDE];
    ptrdiff_t nans = 0, count = 0, k = 0;
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        lanes[i] = least ? INFINITY : -INFINITY;
    }
    for (; k + SIDE_BY_SIDE <= n; k += SIDE_BY_SIDE) {
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            const double each = x[k + i];
            lanes[i] = (least ? each < lanes[i] : each > lanes[i]) ? each : lanes[i];
        }
    }
    for (; k < n; k++) {
        lanes[0] = (least ? x[k] < lanes[0] : x[k] > lanes[0]) ? x[k] : lanes[0];
    }
    for (int i = 1; i < SIDE_BY_SIDE; i++) {
        lanes[0] = (least ? lanes[i] < lanes[0] : lanes[i] > lanes[0]) ? lanes[i] : lanes[0];
    }
    for (k = 0; k < n; k++) {
        nans += x[k] != x[k];
        count += x[k] == lanes[0];
    }
    return nans > 0 ? (Extreme){NAN, nans} : (Extreme){lanes[0], count};
}

static CAD_CLONES Extreme extreme_of_part(const double *x, ptrdiff_t n, int least) {
    return least ? extreme_in_order(x, n, 1) : extreme_in_order(x, n, 0);
}

static const double *in_order(double *room, Row x, ptrdiff_t n) {
    if (x.step == 1) {
        return x.data;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        room[k] = *item(x, k);
    }
    return room;
}

/* Part by part: memory is read once. */
static Extreme extreme_of_row(Row x, ptrdiff_t n, int least) {
    double room[PART];
    Extreme found = {least ? INFINITY : -INFINITY, 0};
    for (ptrdiff_t first = 0; first < n; first += PART) {
        const ptrdiff_t some = n - first < PART ? n - first : PART;
        const Row rest = {item(x, first), x.step};
        const Extreme part = extreme_of_part(in_order(room, rest, some), some, least);
        const int is_nan = isnan(part.number), was_nan = isnan(found.number);
        if (part.number == found.number || (is_nan && was_nan)) {
            found.count += part.count;
        } else if (is_nan || (least ? part.number < found.number : part.number > found.number)) {
            found = part;
        }
    }
    return found;
}

static CAD_CLONES void mark(double *restrict to, const double *x, double number, double share,
                            ptrdiff_t n) {
    for (ptrdiff_t k = 0; k < n; k++) {
        const double other = x[k] != x[k] ? share : 0.0;
        to[k] = x[k] == number ? share : other;
    }
}

/* Of the numbers that are the maximum (told 0) or the minimum equal shares of 1, 0 elsewhere. */
void cad_rows_share_extreme(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                            void *data) {
    const ptrdiff_t n = dims[1];
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[2]);
        const Row to = row_at(arguments[1], turn, steps[1], steps[3]);
        const Extreme found = extreme_of_row(x, n, data != NULL);
        const double share = 1.0 / (double)found.count;
        for (ptrdiff_t first = 0; first < n; first += PART) {
            const ptrdiff_t some = n - first < PART ? n - first : PART;
            double room[PART], marks[PART];
            const double *const numbers = in_order(room, (Row){item(x, first), x.step}, some);
            mark(to.step == 1 ? item(to, first) : marks, numbers, found.number, share, some);
            for (ptrdiff_t k = 0; k < some && to.step != 1; k++) {
                *item(to, first + k) = marks[k];
            }
        }
    }
}

/* --- sums of exponentials --- */

static void exponentials(double *x, ptrdiff_t n) {
    const CadStrip row = {x, 1};
    cad_strip_value(CAD_OP_exp, row, row, row, row, (size_t)n);
}

static double greatest(const double *x, ptrdiff_t n) {
    double found = -INFINITY;
    for (ptrdiff_t k = 0; k < n; k++) {
        found = combined(CAD_RUN_MAXIMUM, found, x[k]);
    }
    return found;
}

/* The logarithm of the sum of b exp(a), and its sign, as SciPy has it: the greatest terms are kept
 * out of the sum, so that none of its digits are lost beside them. Where that is not finite, the
 * sum itself says what it is. a is overwritten; b may be NULL. */
static double log_of_sum(double *a, Row b, double *room, ptrdiff_t n, double *sign) {
    double most = 0.0, others = 0.0, sum = 0.0;
    memcpy(room, a, (size_t)n * sizeof *a);
    for (ptrdiff_t k = 0; k < n && b.data != NULL; k++) {
        a[k] = *item(b, k) == 0.0 ? -INFINITY : a[k];
    }
    const double top = greatest(a, n);
    for (ptrdiff_t k = 0; k < n; k++) {
        const int is_top = a[k] == top;
        most += is_top ? (b.data != NULL ? *item(b, k) : 1.0) : 0.0;
        a[k] = is_top ? -INFINITY : a[k] - top;
    }
    exponentials(a, n);
    for (ptrdiff_t k = 0; k < n; k++) {
        others += b.data != NULL ? *item(b, k) * a[k] : a[k];
    }
    others = others == 0.0 ? others : others / most;
    *sign = (double)((others + 1.0 > 0.0) - (others + 1.0 < 0.0)) *
            (double)((most > 0.0) - (most < 0.0));
    others = others < -1.0 ? -others - 2.0 : others;
    const double result = log1p(others) + log(fabs(most)) + top;
    if (isfinite(result)) {
        return result;
    }
    exponentials(room, n);
    for (ptrdiff_t k = 0; k < n; k++) {
        sum += b.data != NULL ? *item(b, k) * room[k] : room[k];
    }
    *sign = sum != sum ? NAN : (double)((sum > 0.0) - (sum < 0.0));
    return log(fabs(sum));
}

static void log_sums(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, int weighted,
                     int wants_sign) {
    const int n_arguments = weighted ? 3 : 2;
    const ptrdiff_t n = dims[1];
    CadRoom room;
    const int has_room = cad_room_take(&room, 2 * (size_t)n);
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row a = row_at(arguments[0], turn, steps[0], steps[n_arguments]);
        Row b = {NULL, 0};
        if (weighted) {
            b = row_at(arguments[1], turn, steps[1], steps[n_arguments + 1]);
        }
        double *const to =
            item(row_at(arguments[n_arguments - 1], turn, steps[n_arguments - 1], 0), 0);
        double sign;
        if (!has_room) {
            *to = NAN;
            continue;
        }
        for (ptrdiff_t k = 0; k < n; k++) {
            room.numbers[k] = *item(a, k);
        }
        *to = log_of_sum(room.numbers, b, room.numbers + n, n, &sign);
        *to = wants_sign ? sign : *to;
    }
    cad_room_give_back(&room);
}

void cad_rows_add_exponentials(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                               void *data) {
    log_sums(arguments, dims, steps, 0, data != NULL);
}

void cad_rows_weigh_exponentials(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                                 void *data) {
    log_sums(arguments, dims, steps, 1, data != NULL);
}

/* exp(a - max a), in order, and the sum of b times it; b may be NULL. */
static double relative_to_top(Row a, Row b, double *to, ptrdiff_t n) {
    double sum = 0.0;
    for (ptrdiff_t k = 0; k < n; k++) {
        to[k] = *item(a, k);
    }
    const double top = greatest(to, n);
    for (ptrdiff_t k = 0; k < n; k++) {
        to[k] -= top;
    }
    exponentials(to, n);
    if (b.data == NULL) {
        cad_strip_sum(&sum, (CadStrip){to, 1}, (size_t)n);
    }
    for (ptrdiff_t k = 0; k < n && b.data != NULL; k++) {
        sum += *item(b, k) * to[k];
    }
    return sum;
}

/* Of an infinite sum, equal shares of the terms that are it. */
static int share_infinity(Row a, Row to, ptrdiff_t n) {
    double top = -INFINITY, count = 0.0;
    for (ptrdiff_t k = 0; k < n; k++) {
        top = combined(CAD_RUN_MAXIMUM, top, *item(a, k));
    }
    if (!isinf(top)) {
        return 0;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        count += *item(a, k) == top;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        *item(to, k) = *item(a, k) == top ? 1.0 / count : 0.0;
    }
    return 1;
}

static void shares(Row a, Row b, Row to, double *room, ptrdiff_t n) {
    const double sum = relative_to_top(a, b, room, n);
    for (ptrdiff_t k = 0; k < n; k++) {
        *item(to, k) = room[k] / sum;
    }
}

static void share_rows(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                       int is_weighted, int shares_infinity) {
    const ptrdiff_t n = dims[1];
    const ptrdiff_t *const along = steps + 2 + is_weighted; /* rows; `steps` go to the next one */
    const int last = 1 + is_weighted;
    CadRoom room;
    const int has_room = cad_room_take(&room, (size_t)n);
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row a = row_at(arguments[0], turn, steps[0], along[0]);
        const Row b =
            is_weighted ? row_at(arguments[1], turn, steps[1], along[1]) : (Row){NULL, 0};
        const Row to = row_at(arguments[last], turn, steps[last], along[last]);
        if (!has_room) {
            *to.data = NAN;
        } else if (!shares_infinity || !share_infinity(a, to, n)) {
            shares(a, b, to, room.numbers, n);
        }
    }
    cad_room_give_back(&room);
}

/* Softmax (told 0); or exp(a) / Σ exp(a), where an infinite sum is shared. */
void cad_rows_share(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    share_rows(arguments, dims, steps, 0, data != NULL);
}

/* exp(a) / Σ b exp(a). */
void cad_rows_share_weighted(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                             void *data) {
    (void)data;
    share_rows(arguments, dims, steps, 1, 1);
}

void cad_rows_log_softmax(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                          void *data) {
    const ptrdiff_t n = dims[1];
    CadRoom room;
    const int has_room = cad_room_take(&room, (size_t)n);
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[2]);
        const Row to = row_at(arguments[1], turn, steps[1], steps[3]);
        if (!has_room) {
            *to.data = NAN;
            continue;
        }
        for (ptrdiff_t k = 0; k < n; k++) {
            room.numbers[k] = *item(x, k);
        }
        const double greatest_one = greatest(room.numbers, n);
        const double top = isinf(greatest_one) ? 0.0 : greatest_one; /* as SciPy has it */
        const double rest = isinf(greatest_one)
                                ? greatest_one
                                : log(relative_to_top(x, (Row){NULL, 0}, room.numbers, n));
        for (ptrdiff_t k = 0; k < n; k++) {
            *item(to, k) = *item(x, k) - top - rest;
        }
    }
    cad_room_give_back(&room);
}

/* The mean loss, and the residuals, of rows that stand in order. */
void cad_rows_cross_entropy(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                            void *data) {
    const ptrdiff_t rows = dims[1], classes = dims[2];
    CadRoom room;
    const int has_room = cad_room_take(&room, 2 * (size_t)rows);
    int64_t *const labels = (int64_t *)room.numbers;
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row given = row_at(arguments[1], turn, steps[1], steps[6]);
        double *const loss = item(row_at(arguments[2], turn, steps[2], 0), 0);
        double *const losses = room.numbers + rows;
        int is_known = has_room;
        for (ptrdiff_t k = 0; k < rows && is_known; k++) {
            const double label = *item(given, k);
            is_known = label >= 0.0 && label < (double)classes;
            labels[k] = is_known ? (int64_t)label : 0;
        }
        *loss = is_known ? 0.0 : NAN;
        if (is_known) {
            cad_cross_entropy((const double *)(arguments[0] + turn * steps[0]), labels,
                              (size_t)rows, (size_t)classes, losses,
                              (double *)(arguments[3] + turn * steps[3]));
            cad_strip_sum(loss, (CadStrip){losses, 1}, (size_t)rows);
            *loss /= (double)rows;
        }
    }
    cad_room_give_back(&room);
}

/* --- norms --- */

static double root_of_squares(Row x, ptrdiff_t n, double scale) {
    double sums[4] = {0.0}; /* which do not wait for each other */
    ptrdiff_t k = 0;
    for (; k + 4 <= n; k += 4) {
        for (ptrdiff_t i = 0; i < 4; i++) {
            const double each = *item(x, k + i) * scale;
            sums[i] += each * each;
        }
    }
    for (; k < n; k++) {
        const double each = *item(x, k) * scale;
        sums[0] += each * each;
    }
    return sqrt((sums[0] + sums[1]) + (sums[2] + sums[3])) / scale;
}

/* The root of squares that are in range, though those of the numbers may not be. */
static double scaled_root_of_squares(Row x, ptrdiff_t n) {
    const double root = root_of_squares(x, n, 1.0);
    double top = 0.0;
    if (root > 1e-140 && root < 1e140) {
        return root;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        const double size = fabs(*item(x, k));
        top = size > top ? size : top;
    }
    const int is_scaled = !isnan(root) && top > 0.0 && top < INFINITY;
    return is_scaled ? root_of_squares(x, n, top < 1.0 ? 0x1p500 : 0x1p-600) : root;
}

/* The inner product of numbers in order, as BLAS adds them. */
static double product_of(const double *x, const double *y, ptrdiff_t n) {
    const intptr_t size = sizeof(double), dims[4] = {1, 1, n, 1};
    const intptr_t steps[9] = {0, 0, 0, n * size, size, size, size, size, size};
    double sum = 0.0;
    char *arguments[3] = {(char *)x, (char *)y, (char *)&sum};
    cad_run_loop(CAD_OP_MATMUL, arguments, dims, steps);
    return sum;
}

/* The sum of powers of sizes in NumPy's order: along the last axis pairwise, along others one
 * after the other; some of them at a time. */
static double sum_of_powers(Row x, ptrdiff_t n, double p) {
    enum { SOME = 1024 };
    double powers[SOME], sum = 0.0;
    if (x.step == 1 && n > SOME) { /* halves, as NumPy's */
        const ptrdiff_t half = n / 2 - n / 2 % 8;
        const Row rest = {x.data + half, 1};
        sum = sum_of_powers(x, half, p);
        return sum + sum_of_powers(rest, n - half, p);
    }
    for (ptrdiff_t first = 0; first < n; first += SOME) {
        const ptrdiff_t count = n - first < SOME ? n - first : SOME;
        for (ptrdiff_t k = 0; k < count; k++) {
            const double number = *item(x, first + k);
            powers[k] = p == 2.0 ? number * number : fabs(number);
        }
        const CadStrip all = {powers, 1}, power = {&p, 0};
        if (p != 2.0) {
            cad_strip_value(CAD_OP_power, all, all, power, power, (size_t)count);
        }
        if (x.step == 1) {
            cad_strip_sum(&sum, all, (size_t)count);
        }
        for (ptrdiff_t k = 0; k < count && x.step != 1; k++) {
            sum += powers[k];
        }
    }
    return sum;
}

enum { NORM_OF_ALL, NORM_IN_RANGE, NORM_ALONG };

/* Of all numbers, or along an axis, as NumPy's; or as that of BLAS, whose squares do not overflow.
 */
void cad_rows_norm(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    const ptrdiff_t n = dims[1];
    const double p = *(const double *)arguments[1];
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[3]);
        double *const to = item(row_at(arguments[2], turn, steps[2], 0), 0);
        if (data == (void *)NORM_ALONG) {
            const double sum = sum_of_powers(x, n, p);
            *to = p == 2.0 ? sqrt(sum) : pow(sum, 1.0 / p);
        } else {
            *to = data == (void *)NORM_OF_ALL && x.step == 1 ? sqrt(product_of(x.data, x.data, n))
                                                             : scaled_root_of_squares(x, n);
        }
    }
}

/* --- orders --- */

/* nan comes last. */
static inline int comes_before(double x, double y) {
    return x < y || (y != y && x == x);
}

typedef struct Place {
    double number, index;
} Place;

/* Equal numbers stay as they stand. */
static void merge_sort(Place *places, Place *room, ptrdiff_t n) {
    enum { FEW = 16 };
    for (ptrdiff_t first = 0; first < n; first += FEW) {
        const ptrdiff_t end = first + FEW < n ? first + FEW : n;
        for (ptrdiff_t k = first + 1; k < end; k++) {
            const Place moved = places[k];
            ptrdiff_t to = k;
            for (; to > first && comes_before(moved.number, places[to - 1].number); to--) {
                places[to] = places[to - 1];
            }
            places[to] = moved;
        }
    }
    for (ptrdiff_t width = FEW; width < n; width *= 2) {
        for (ptrdiff_t first = 0; first < n - width; first += 2 * width) {
            const ptrdiff_t middle = first + width;
            const ptrdiff_t end = middle + width < n ? middle + width : n;
            if (!comes_before(places[middle].number, places[middle - 1].number)) {
                continue;
            }
            memcpy(room, places + first, (size_t)width * sizeof *places);
            ptrdiff_t left = 0, right = middle;
            for (ptrdiff_t to = first; left < width; to++) {
                const int takes_right =
                    right < end && comes_before(places[right].number, room[left].number);
                places[to] = takes_right ? places[right++] : room[left++];
            }
        }
    }
}

/* Bits in the order of numbers; 0.0 and -0.0 are one, nan is the largest. */
static uint64_t key_of(double number) {
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits;
    number += 0.0;
    memcpy(&bits, &number, sizeof bits);
    return isnan(number) ? UINT64_MAX : bits & sign ? ~bits : bits | sign;
}

/* Many numbers by the upper half of their bits, from its last digit on; few are then in the wrong
 * order. */
static void sort_places(Place *places, Place *room, ptrdiff_t n) {
    enum { MANY = 4096, DIGITS = 3, DIGIT = 11, SIZE = 1 << DIGIT };
    for (int digit = DIGITS; digit > 0 && n >= MANY; digit--) {
        const int shift = 64 - DIGIT * digit;
        ptrdiff_t ends[SIZE] = {0}, end = 0;
        for (ptrdiff_t k = 0; k < n; k++) {
            ends[key_of(places[k].number) >> shift & (SIZE - 1)]++;
        }
        for (ptrdiff_t k = 0; k < SIZE; k++) {
            const ptrdiff_t count = ends[k];
            ends[k] = end;
            end += count;
        }
        for (ptrdiff_t k = 0; k < n; k++) {
            room[ends[key_of(places[k].number) >> shift & (SIZE - 1)]++] = places[k];
        }
        memcpy(places, room, (size_t)n * sizeof *places);
    }
    merge_sort(places, room, n);
}

/* The number of a rank, by partitions of [first, end) alone, outside of which all is in place. */
static double selected(double *x, ptrdiff_t first, ptrdiff_t end, ptrdiff_t rank) {
    uint64_t random = 1;
    while (end - first > 1) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const double a = x[first], c = x[end - 1];
        const double b = x[first + (ptrdiff_t)((random >> 33) % (uint64_t)(end - first))];
        const double pivot = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
        ptrdiff_t i = first, j = end - 1;
        while (i <= j) {
            while (x[i] < pivot) {
                i++;
            }
            while (x[j] > pivot) {
                j--;
            }
            if (i <= j) {
                const double moved = x[i];
                x[i++] = x[j];
                x[j--] = moved;
            }
        }
        if (rank <= j) {
            end = j + 1;
        } else if (rank >= i) {
            first = i;
        } else {
            break;
        }
    }
    return x[rank];
}

/* Where the number of a rank stands, among equal ones in their order. */
static ptrdiff_t place_of(Row x, ptrdiff_t n, double number, ptrdiff_t rank) {
    ptrdiff_t before = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        before += comes_before(*item(x, k), number);
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        const double each = *item(x, k);
        if ((each == number || (each != each && number != number)) && before++ == rank) {
            return k;
        }
    }
    return 0;
}

/* For a few ranks the row is not put in order. */
static void select_ranks(Row x, Row ranks, Row places, ptrdiff_t n, ptrdiff_t m, double *room) {
    ptrdiff_t known = 0, first = 0, end;
    for (ptrdiff_t k = 0; k < n; k++) { /* but nan */
        room[known] = *item(x, k);
        known += room[known] == room[known];
    }
    end = known;
    for (ptrdiff_t k = 0; k < m; k++) {
        const ptrdiff_t rank = (ptrdiff_t)*item(ranks, k);
        const ptrdiff_t last = k > 0 ? (ptrdiff_t)*item(ranks, k - 1) : -1;
        first = k > 0 && rank > last ? last + 1 : 0;
        end = k > 0 && rank < last && last < known ? last : known;
        const double number = rank < known ? selected(room, first, end, rank) : NAN;
        *item(places, k) = (double)place_of(x, n, number, rank);
    }
}

/* Which numbers have these ranks. */
void cad_rows_ranked(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    enum { FEW_RANKS = 4 };
    const ptrdiff_t n = dims[1], m = dims[2];
    CadRoom room;
    const int has_room = cad_room_take(&room, (m > FEW_RANKS ? 4 : 1) * (size_t)(n + 1));
    Place *const order = (Place *)room.numbers;
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[3]);
        const Row ranks = row_at(arguments[1], turn, steps[1], steps[4]);
        const Row places = row_at(arguments[2], turn, steps[2], steps[5]);
        if (!has_room) {
            *places.data = NAN;
            continue;
        }
        if (m <= FEW_RANKS) {
            select_ranks(x, ranks, places, n, m, room.numbers);
            continue;
        }
        for (ptrdiff_t k = 0; k < n; k++) {
            order[k] = (Place){*item(x, k), (double)k};
        }
        sort_places(order, order + n, n);
        for (ptrdiff_t k = 0; k < m; k++) {
            *item(places, k) = order[(ptrdiff_t)*item(ranks, k)].index;
        }
    }
    cad_room_give_back(&room);
}

static uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Where in a row, of which another one has the numbers in some order, each of those stands: equal
 * ones in theirs. The table has for each number that there is the next of its places. */
static int match(Row x, Row moved, Row places, int32_t *table, int32_t *next, ptrdiff_t n,
                 int bits) {
    const uint64_t most = ((uint64_t)1 << bits) - 1;
    memset(table, 0xff, (size_t)(most + 1) * sizeof *table);
    for (ptrdiff_t i = 2 * n; i-- > 0;) {
        const int is_asked = i < n;
        const ptrdiff_t k = is_asked ? n - 1 - i : i - n;
        const uint64_t number = bits_of(*item(is_asked ? moved : x, k));
        uint64_t at = number * 0x9e3779b97f4a7c15u >> (64 - bits);
        while (table[at] >= 0 && bits_of(*item(x, table[at])) != number) {
            at = (at + 1) & most;
        }
        if (!is_asked) {
            next[k] = table[at];
            table[at] = (int32_t)k;
        } else if (table[at] < 0) {
            return 0;
        } else {
            *item(places, k) = (double)table[at];
            table[at] = next[table[at]] >= 0 ? next[table[at]] : table[at];
        }
    }
    return 1;
}

void cad_rows_matched(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                      void *data) {
    const ptrdiff_t n = dims[1];
    int bits = 1;
    CadRoom room;
    (void)data;
    while (((ptrdiff_t)1 << bits) < 2 * n) {
        bits++;
    }
    const int has_room = cad_room_take(&room, ((size_t)1 << bits) / 2 + (size_t)n / 2 + 1);
    int32_t *const table = (int32_t *)room.numbers;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[3]);
        const Row moved = row_at(arguments[1], turn, steps[1], steps[4]);
        const Row places = row_at(arguments[2], turn, steps[2], steps[5]);
        if (!has_room || n > INT32_MAX ||
            !match(x, moved, places, table, table + ((size_t)1 << bits), n, bits)) {
            *places.data = NAN;
        }
    }
    cad_room_give_back(&room);
}

/* How many edges come before a number (told 0), or before it or are equal. */
void cad_rows_searched(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                       void *data) {
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row edges = row_at(arguments[0], turn, steps[0], steps[3]);
        const Row numbers = row_at(arguments[1], turn, steps[1], steps[4]);
        const Row places = row_at(arguments[2], turn, steps[2], steps[5]);
        for (ptrdiff_t k = 0; k < dims[2]; k++) {
            const double number = *item(numbers, k);
            ptrdiff_t first = 0, end = dims[1];
            while (first < end) {
                const ptrdiff_t middle = first + (end - first) / 2;
                const double edge = *item(edges, middle);
                const int is_before =
                    data != NULL ? !comes_before(number, edge) : comes_before(edge, number);
                *(is_before ? &first : &end) = middle + is_before;
            }
            *item(places, k) = (double)first;
        }
    }
}

/* --- convolutions --- */

enum { FEW_TERMS = 11 }; /* up to which NumPy adds one after the other, but at the ends */

static CAD_CLONES void add_multiple(double *restrict to, const double *restrict x, double factor,
                                    ptrdiff_t n) {
    for (ptrdiff_t k = 0; k < n; k++) {
        to[k] += factor * x[k];
    }
}

/* What slides over x stands in order, the last number first. To the last bit as
 * `_pyarray_correlate` of NumPy: where all m numbers meet x, one after the other if there are few;
 * others as BLAS. */
static void slide_over(const double *x, ptrdiff_t n, const double *y, ptrdiff_t m, int is_valid,
                       double *to) {
    enum { SOME = 2048 };
    const ptrdiff_t before = is_valid ? 0 : m - 1, whole = n - m + 1;
    for (ptrdiff_t k = 0; k < before; k++) {
        to[k] = product_of(x, y + m - 1 - k, k + 1);
        to[before + whole + k] = product_of(x + whole + k, y, m - 1 - k);
    }
    for (ptrdiff_t k = 0; k < whole && m > FEW_TERMS; k++) {
        to[before + k] = product_of(x + k, y, m);
    }
    for (ptrdiff_t first = 0; first < whole && m <= FEW_TERMS; first += SOME) {
        const ptrdiff_t count = first + SOME < whole ? SOME : whole - first;
        double *const some = to + before + first;
        memset(some, 0, (size_t)count * sizeof *some);
        for (ptrdiff_t k = 0; k < m; k++) {
            add_multiple(some, x + first + k, y[k], count);
        }
    }
}

/* Full (told 0), or valid: then the second one is not longer than the first. */
void cad_rows_convolve(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                       void *data) {
    const int is_swapped = dims[1] < dims[2];
    const ptrdiff_t n = dims[1 + is_swapped], m = dims[2 - is_swapped];
    CadRoom room;
    const int has_room = cad_room_take(&room, (size_t)(n + m));
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row first = row_at(arguments[0], turn, steps[0], steps[3]);
        const Row second = row_at(arguments[1], turn, steps[1], steps[4]);
        const Row x = is_swapped ? second : first, y = is_swapped ? first : second;
        double *const to = item(row_at(arguments[2], turn, steps[2], 0), 0);
        if (!has_room) {
            *to = NAN;
            continue;
        }
        const Row backwards = {item(y, m - 1), -y.step};
        const double *const slid = in_order(room.numbers, backwards, m);
        slide_over(in_order(room.numbers + m, x, n), n, slid, m, data != NULL, to);
    }
    cad_room_give_back(&room);
}

/* --- by places --- */

void cad_rows_take(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[3]);
        const Row places = row_at(arguments[1], turn, steps[1], steps[4]);
        const Row taken = row_at(arguments[2], turn, steps[2], steps[5]);
        for (ptrdiff_t k = 0; k < dims[2]; k++) {
            *item(taken, k) = *item(x, (ptrdiff_t)*item(places, k));
        }
    }
}

/* Sums of slices, each of which ends where the next one begins. */
void cad_rows_sum_from(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                       void *data) {
    const ptrdiff_t n = dims[1], m = dims[2];
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[3]);
        const Row begins = row_at(arguments[1], turn, steps[1], steps[4]);
        const Row sums = row_at(arguments[2], turn, steps[2], steps[5]);
        for (ptrdiff_t k = 0; k < m; k++) {
            const ptrdiff_t begin = (ptrdiff_t)*item(begins, k);
            const ptrdiff_t end = k + 1 < m ? (ptrdiff_t)*item(begins, k + 1) : n;
            *item(sums, k) = *item(x, begin);
            cad_strip_sum(item(sums, k), (CadStrip){item(x, begin + 1), x.step},
                          (size_t)(end - begin - 1));
        }
    }
}

/* Sums of the weights that have the same place. */
void cad_rows_count(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row weights = row_at(arguments[0], turn, steps[0], steps[3]);
        const Row places = row_at(arguments[1], turn, steps[1], steps[4]);
        const Row sums = row_at(arguments[2], turn, steps[2], steps[5]);
        for (ptrdiff_t k = 0; k < dims[2]; k++) {
            *item(sums, k) = 0.0;
        }
        for (ptrdiff_t k = 0; k < dims[1]; k++) {
            *item(sums, (ptrdiff_t)*item(places, k)) += *item(weights, k);
        }
    }
}

/* Extremes of the numbers that have the same place; the first ones stand in its order. */
void cad_rows_extremes(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                       void *data) {
    const intptr_t how = (intptr_t)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[3]);
        const Row places = row_at(arguments[1], turn, steps[1], steps[4]);
        const Row found = row_at(arguments[2], turn, steps[2], steps[5]);
        for (ptrdiff_t k = 0; k < dims[1]; k++) {
            double *const to = item(found, (ptrdiff_t)*item(places, k));
            *to = k < dims[2] ? *item(x, k) : combined(how, *to, *item(x, k));
        }
    }
}

/* --- phases --- */

/* How many periods each phase is moved by, so that none is half a period or `jump` away from the
 * one before it. */
void cad_rows_turns(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row phase = row_at(arguments[0], turn, steps[0], steps[4]);
        const Row moved = row_at(arguments[3], turn, steps[3], steps[5]);
        const double period = *item(row_at(arguments[1], turn, steps[1], 0), 0);
        const double jump = *item(row_at(arguments[2], turn, steps[2], 0), 0);
        double sum = 0.0;
        for (ptrdiff_t k = 0; k < dims[1]; k++) {
            const double gap = k > 0 ? *item(phase, k) - *item(phase, k - 1) : 0.0;
            if (fabs(gap) >= jump || gap != gap) {
                double inside = fmod(gap + period / 2.0, period);
                inside += inside < 0.0 ? period : 0.0;
                inside -= period / 2.0;
                inside = inside == -period / 2.0 && gap > 0.0 ? period / 2.0 : inside;
                sum += inside - gap;
            }
            *item(moved, k) = rint(sum / period);
        }
    }
}

/* --- powers of two --- */

void cad_rows_scale(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    const Row x = row_at(arguments[0], 0, 0, steps[0]),
              power = row_at(arguments[1], 0, 0, steps[1]);
    const Row scaled = row_at(arguments[2], 0, 0, steps[2]);
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const double n = *item(power, turn);
        *item(scaled, turn) = ldexp(*item(x, turn), n > 9999.0    ? 9999
                                                    : n < -9999.0 ? -9999
                                                                  : (int)n);
    }
}
