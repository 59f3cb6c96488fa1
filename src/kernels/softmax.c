/* Sums of exponentials along an axis, their logarithms and shares: see rows.h. */
#include "kernels/room.h"
#include "kernels/row.h"

#include <math.h>
#include <string.h>

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

/* exp(a - top), in order, where that is the greatest, and the sum of b times it; b may be NULL. */
static double relative_to_top(Row a, Row b, double *to, ptrdiff_t n, double *top) {
    double sum = 0.0;
    for (ptrdiff_t k = 0; k < n; k++) {
        to[k] = *item(a, k);
    }
    *top = greatest(to, n);
    for (ptrdiff_t k = 0; k < n; k++) {
        to[k] -= *top;
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
    double top;
    const double sum = relative_to_top(a, b, room, n, &top);
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
        double top;
        const double sum = relative_to_top(x, (Row){NULL, 0}, room.numbers, n, &top);
        const double rest = isinf(top) ? top : log(sum); /* as SciPy has it */
        top = isinf(top) ? 0.0 : top;
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
