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

/* Of each number the product of all others: of those before it times those behind. */
void cad_rows_others(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    const ptrdiff_t n = dims[1];
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[2]);
        const Row to = row_at(arguments[1], turn, steps[1], steps[3]);
        double before = 1.0, behind = 1.0;
        for (ptrdiff_t k = 0; k < n; k++) {
            *item(to, k) = before;
            before *= *item(x, k);
        }
        for (ptrdiff_t k = n - 1; k >= 0; k--) {
            *item(to, k) *= behind;
            behind *= *item(x, k);
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

/* exp(a) less what is greatest, and the sum of b times that, which stands in order; b may be NULL.
 */
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

/* Softmax (told 0); or exp(a) / Σ exp(a), where an infinite sum is shared. */
void cad_rows_share(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    const ptrdiff_t n = dims[1];
    CadRoom room;
    const int has_room = cad_room_take(&room, (size_t)n);
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row a = row_at(arguments[0], turn, steps[0], steps[2]);
        const Row to = row_at(arguments[1], turn, steps[1], steps[3]);
        if (!has_room) {
            *to.data = NAN;
        } else if (data == NULL || !share_infinity(a, to, n)) {
            shares(a, (Row){NULL, 0}, to, room.numbers, n);
        }
    }
    cad_room_give_back(&room);
}

/* exp(a) / Σ b exp(a). */
void cad_rows_share_weighted(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                             void *data) {
    const ptrdiff_t n = dims[1];
    CadRoom room;
    const int has_room = cad_room_take(&room, (size_t)n);
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row a = row_at(arguments[0], turn, steps[0], steps[3]);
        const Row b = row_at(arguments[1], turn, steps[1], steps[4]);
        const Row to = row_at(arguments[2], turn, steps[2], steps[5]);
        if (!has_room) {
            *to.data = NAN;
        } else if (!share_infinity(a, to, n)) {
            shares(a, b, to, room.numbers, n);
        }
    }
    cad_room_give_back(&room);
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

/* The sum of squares of numbers in order, as BLAS adds them. */
static double product_with_itself(const double *x, ptrdiff_t n) {
    const intptr_t size = sizeof(double), dims[4] = {1, 1, n, 1};
    const intptr_t steps[9] = {0, 0, 0, n * size, size, size, size, size, size};
    double sum = 0.0;
    char *arguments[3] = {(char *)x, (char *)x, (char *)&sum};
    cad_run_loop(CAD_OP_MATMUL, arguments, dims, steps);
    return sum;
}

/* In NumPy's order: along the last axis pairwise, along others one after the other. */
static double sum_along(double *x, ptrdiff_t n, int is_last) {
    double sum = 0.0;
    if (is_last) {
        cad_strip_sum(&sum, (CadStrip){x, 1}, (size_t)n);
        return sum;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        sum += x[k];
    }
    return sum;
}

enum { NORM_OF_ALL, NORM_IN_RANGE, NORM_ALONG };

/* Of all numbers, or along an axis, as NumPy's; or as that of BLAS, whose squares do not overflow.
 */
void cad_rows_norm(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    const ptrdiff_t n = dims[1];
    double p = *(const double *)arguments[1];
    CadRoom room;
    const int has_room = cad_room_take(&room, data == (void *)NORM_ALONG ? (size_t)n : 0);
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row x = row_at(arguments[0], turn, steps[0], steps[3]);
        double *const to = item(row_at(arguments[2], turn, steps[2], 0), 0);
        if (data != (void *)NORM_ALONG) {
            *to = data == (void *)NORM_OF_ALL && x.step == 1 ? sqrt(product_with_itself(x.data, n))
                                                             : scaled_root_of_squares(x, n);
            continue;
        }
        if (!has_room) {
            *to = NAN;
            continue;
        }
        for (ptrdiff_t k = 0; k < n; k++) {
            room.numbers[k] = p == 2.0 ? *item(x, k) * *item(x, k) : fabs(*item(x, k));
        }
        const CadStrip all = {room.numbers, 1}, power = {&p, 0};
        if (p != 2.0) {
            cad_strip_value(CAD_OP_power, all, all, power, power, (size_t)n);
        }
        const double sum = sum_along(room.numbers, n, x.step == 1);
        *to = p == 2.0 ? sqrt(sum) : pow(sum, 1.0 / p);
    }
    cad_room_give_back(&room);
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

static CAD_CLONES void add_multiple_in_order(double *restrict to, const double *restrict x,
                                             double factor, ptrdiff_t n) {
    for (ptrdiff_t k = 0; k < n; k++) {
        to[k] += factor * x[k];
    }
}

static void add_multiple(double *to, Row x, ptrdiff_t first, double factor, ptrdiff_t n) {
    if (x.step == 1) {
        add_multiple_in_order(to, x.data + first, factor, n);
        return;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        to[k] += factor * *item(x, first + k);
    }
}

/* Full (told 0), or valid: then the second one is not longer than the first. Results stand in
 * order; some of them at a time are finished before the next ones. */
void cad_rows_convolve(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                       void *data) {
    enum { SOME = 2048 };
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        Row x = row_at(arguments[0], turn, steps[0], steps[3]);
        Row y = row_at(arguments[1], turn, steps[1], steps[4]);
        double *const to = item(row_at(arguments[2], turn, steps[2], 0), 0);
        ptrdiff_t n = dims[1], m = dims[2];
        memset(to, 0, (size_t)dims[3] * sizeof *to);
        if (n < m) { /* the longer one in the inner loop */
            const Row shorter = x;
            x = y, y = shorter;
            n = dims[2], m = dims[1];
        }
        for (ptrdiff_t first = 0; first < dims[3]; first += SOME) {
            const ptrdiff_t end = first + SOME < dims[3] ? first + SOME : dims[3];
            for (ptrdiff_t k = 0; k < m; k++) {
                if (data != NULL) {
                    add_multiple(to + first, x, first + k, *item(y, m - 1 - k), end - first);
                } else {
                    const ptrdiff_t low = first > k ? first : k, high = end < n + k ? end : n + k;
                    add_multiple(to + low, x, low - k, *item(y, k), high - low);
                }
            }
        }
    }
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
