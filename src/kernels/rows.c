/* See rows.h. */
#include "kernels/room.h"
#include "kernels/row.h"

#include <math.h>
#include <string.h>

/* --- running operations --- */

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
        ROWS_OF_THREE(a, b, s);
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

enum { PART = 1024, SIDE_BY_SIDE = 8, SHORT = 32 };

static CAD_INLINE double extreme_of_two(double each, double best, const int least) {
    return (least ? each < best : each > best) ? each : best;
}

/* Of numbers in order, of which nan are left out: infinite, if there is no other. */
static CAD_INLINE double number_in_order(const double *x, ptrdiff_t n, const int least) {
    double lanes[SIDE_BY_SIDE];
    ptrdiff_t k = 0;
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        lanes[i] = least ? INFINITY : -INFINITY;
    }
    for (; k + SIDE_BY_SIDE <= n; k += SIDE_BY_SIDE) {
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            lanes[i] = extreme_of_two(x[k + i], lanes[i], least);
        }
    }
    for (; k < n; k++) {
        lanes[0] = extreme_of_two(x[k], lanes[0], least);
    }
    for (int i = 1; i < SIDE_BY_SIDE; i++) {
        lanes[0] = extreme_of_two(lanes[i], lanes[0], least);
    }
    return lanes[0];
}

static CAD_INLINE Extreme extreme_in_order(const double *x, ptrdiff_t n, const int least) {
    const double number = number_in_order(x, n, least);
    ptrdiff_t nans = 0, count = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        nans += x[k] != x[k];
        count += x[k] == number;
    }
    return nans > 0 ? (Extreme){NAN, nans} : (Extreme){number, count};
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

/* Of a short row in order, without nan. */
static CAD_INLINE double extreme_of_short_row(const double *x, ptrdiff_t n, const int least) {
    double one = x[0], other = x[n - 1];
    for (ptrdiff_t k = 1; k + 1 < n; k += 2) {
        one = extreme_of_two(x[k], one, least);
        other = extreme_of_two(x[k + 1], other, least);
    }
    return extreme_of_two(one, other, least);
}

/* Of short rows in order, a step apart, up to one with nan; answers how many. */
static CAD_CLONES ptrdiff_t share_short_rows(double *restrict to, ptrdiff_t to_step,
                                             const double *restrict x, ptrdiff_t step,
                                             ptrdiff_t n_rows, ptrdiff_t n, int least) {
    for (ptrdiff_t row = 0; row < n_rows; row++, to += to_step, x += step) {
        const double number =
            least ? extreme_of_short_row(x, n, 1) : extreme_of_short_row(x, n, 0);
        int64_t count = 0, nans = 0;
        for (ptrdiff_t k = 0; k < n; k++) {
            nans += x[k] != x[k];
            count += x[k] == number;
        }
        if (nans > 0) {
            return row;
        }
        const double share = count == 1 ? 1.0 : 1.0 / (double)count;
        for (ptrdiff_t k = 0; k < n; k++) {
            to[k] = x[k] == number ? share : 0.0;
        }
    }
    return n_rows;
}

/* Of the numbers that are the maximum (told 0) or the minimum equal shares of 1, 0 elsewhere. */
void cad_rows_share_extreme(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                            void *data) {
    const ptrdiff_t n = dims[1];
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        Row x = row_at(arguments[0], turn, steps[0], steps[2]);
        Row to = row_at(arguments[1], turn, steps[1], steps[3]);
        if (n > 0 && n <= SHORT && x.step == 1 && to.step == 1) {
            turn += share_short_rows(to.data, steps[1] / (ptrdiff_t)sizeof(double), x.data,
                                     steps[0] / (ptrdiff_t)sizeof(double), dims[0] - turn, n,
                                     data != NULL);
            if (turn == dims[0]) {
                return;
            }
            x = row_at(arguments[0], turn, steps[0], steps[2]);
            to = row_at(arguments[1], turn, steps[1], steps[3]);
        }
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

/* Where the extreme of numbers in order is; of several the first one, less n. */
static CAD_INLINE double place_in_order(const double *x, ptrdiff_t n, const int least) {
    const int64_t one = INT64_C(1) << 40; /* counts in the upper bits, places in the lower ones */
    const double number = number_in_order(x, n, least);
    int64_t found = 0, nans = 0;
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        nans += x[k] != x[k];
        found += x[k] == number ? one + k : 0;
    }
    if (nans == 0 && found < 2 * one) {
        return (double)(found - one);
    }
    for (k = 0; nans > 0 ? x[k] == x[k] : x[k] != number; k++) {
    }
    return (double)(nans == 1 ? k : k - n);
}

static CAD_CLONES void place_in_rows(double *to, ptrdiff_t to_step, const double *x,
                                     ptrdiff_t step, ptrdiff_t n_rows, ptrdiff_t n, int least) {
    for (ptrdiff_t row = 0; row < n_rows; row++, to += to_step, x += step) {
        *to = least ? place_in_order(x, n, 1) : place_in_order(x, n, 0);
    }
}

/* The same of the numbers at one place of many rows, which those before it have come to. */
static CAD_CLONES void place_side_by_side(double *restrict extreme, double *restrict place,
                                          double *restrict ties, const double *restrict x,
                                          ptrdiff_t step, ptrdiff_t n_rows, double k, int least) {
    for (ptrdiff_t row = 0; row < n_rows; row++) {
        const double each = x[row * step], best = extreme[row];
        const int is_nan = each != each, was_nan = best != best;
        const int is_better = (is_nan & (best == best)) | (least ? each < best : each > best);
        const int is_tie = (each == best) | (is_nan & was_nan);
        extreme[row] = is_better ? each : best;
        place[row] = is_better ? k : place[row];
        ties[row] = is_better ? 0.0 : is_tie ? 1.0 : ties[row];
    }
}

/* Of rows with a maximum (told 0) or minimum where it is; of several the first, less the length.
 */
void cad_rows_place_extreme(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                            void *data) {
    enum { SOME = 256 };
    const ptrdiff_t n = dims[1], size = (ptrdiff_t)sizeof(double);
    if (steps[2] == size) {
        place_in_rows((double *)arguments[1], steps[1] / size, (const double *)arguments[0],
                      steps[0] / size, dims[0], n, data != NULL);
        return;
    }
    for (ptrdiff_t first = 0; first < dims[0]; first += SOME) {
        const ptrdiff_t some = dims[0] - first < SOME ? dims[0] - first : SOME;
        double extreme[SOME], place[SOME] = {0.0}, ties[SOME] = {0.0};
        for (ptrdiff_t k = 0; k < n; k++) {
            const Row x = row_at(arguments[0], k, steps[2], steps[0]);
            if (k == 0) {
                for (ptrdiff_t row = 0; row < some; row++) {
                    extreme[row] = *item(x, first + row);
                }
                continue;
            }
            place_side_by_side(extreme, place, ties, item(x, first), x.step, some, (double)k,
                               data != NULL);
        }
        for (ptrdiff_t row = 0; row < some; row++) {
            *item(row_at(arguments[1], 0, 0, steps[1]), first + row) =
                ties[row] != 0.0 ? place[row] - (double)n : place[row];
        }
    }
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
        const CadStrip all = {powers, 1}, operands[2] = {all, {&p, 0}};
        if (p != 2.0) {
            cad_strip_value(CAD_OP_power, all, operands, (size_t)count);
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
        ROWS_OF_THREE(x, places, taken);
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
        ROWS_OF_THREE(x, begins, sums);
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
        ROWS_OF_THREE(weights, places, sums);
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
        ROWS_OF_THREE(x, places, found);
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
