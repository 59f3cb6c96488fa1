/* Sums of exponentials along an axis, their logarithms and shares: see rows.h. */
#include "kernels/room.h"
#include "kernels/row.h"

#include <math.h>
#include <string.h>

static void exponentials(double *x, ptrdiff_t n) {
    const CadStrip row = {x, 1};
    cad_strip_value(CAD_OP_exp, row, &row, (size_t)n);
}

/* --- rows side by side: the k-th numbers of `w` rows stand together, in x[k * w] --- */

enum {
    BESIDE = 64,     /* rows at a time, */
    TOGETHER = 2048, /* or rather so many numbers, which stay in the first cache */
    ONE_BLOCK = 128, /* longer rows are summed in several blocks by NumPy, and go one by one */
    PARTS = 8,       /* sums of a block, each of every eighth number */
    BESIDE_ROOM = PARTS + 3,
};

typedef struct Beside {
    double *x;   /* n x w */
    double *top; /* w, as are all others */
    double *most;
    double *sum;
    double *parts; /* PARTS x w */
    ptrdiff_t n, w;
} Beside;

static ptrdiff_t rows_beside(ptrdiff_t rows, ptrdiff_t n) {
    const ptrdiff_t fit = TOGETHER / n < BESIDE ? TOGETHER / n : BESIDE;
    return rows < fit ? rows : fit;
}

static Beside beside_in(double *room, ptrdiff_t n, ptrdiff_t w) {
    double *const behind = room + n * w;
    return (Beside){room, behind, behind + w, behind + 2 * w, behind + 3 * w, n, w};
}

/* Rows from `turn` on, of which the k-th numbers are `along` apart, are copied there. */
static void gather_rows(Beside to, char *argument, ptrdiff_t turn, ptrdiff_t step,
                        ptrdiff_t along) {
    for (ptrdiff_t k = 0; k < to.n; k++) {
        const Row column = row_at(argument + k * along, turn, step, step);
        for (ptrdiff_t r = 0; r < to.w; r++) {
            to.x[k * to.w + r] = *item(column, r);
        }
    }
}

CAD_CLONES static void find_tops(const double *restrict x, double *restrict top, ptrdiff_t n,
                                 ptrdiff_t w) {
    for (ptrdiff_t k = 0; k < n; k++) {
        for (ptrdiff_t r = 0; r < w; r++) {
            top[r] = combined(CAD_RUN_MAXIMUM, top[r], x[k * w + r]);
        }
    }
}

/* Numbers less the greatest of their row, which are counted, and left out. */
CAD_CLONES static void set_apart(double *restrict x, const double *restrict top,
                                 double *restrict most, ptrdiff_t n, ptrdiff_t w) {
    for (ptrdiff_t k = 0; k < n; k++) {
        for (ptrdiff_t r = 0; r < w; r++) {
            const double number = x[k * w + r];
            const int is_top = number == top[r];
            most[r] += is_top ? 1.0 : 0.0;
            x[k * w + r] = is_top ? -INFINITY : number - top[r];
        }
    }
}

CAD_CLONES static void subtract_tops(double *restrict x, const double *restrict top, ptrdiff_t n,
                                     ptrdiff_t w) {
    for (ptrdiff_t k = 0; k < n; k++) {
        for (ptrdiff_t r = 0; r < w; r++) {
            x[k * w + r] -= top[r];
        }
    }
}

CAD_CLONES static void add_to_parts(const double *restrict x, double *restrict parts,
                                    ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        parts[i] += x[i];
    }
}

/* Sums of up to ONE_BLOCK numbers, in NumPy's order. */
static void add_up(Beside rows) {
    const ptrdiff_t n = rows.n, w = rows.w, whole = n - n % PARTS;
    double *const p = rows.parts;
    memset(p, 0, (size_t)(PARTS * w) * sizeof *p);
    for (ptrdiff_t k = 0; k < whole; k += PARTS) {
        add_to_parts(rows.x + k * w, p, PARTS * w);
    }
    for (ptrdiff_t r = 0; r < w; r++) {
        rows.sum[r] = ((p[r] + p[w + r]) + (p[2 * w + r] + p[3 * w + r])) +
                      ((p[4 * w + r] + p[5 * w + r]) + (p[6 * w + r] + p[7 * w + r]));
    }
    for (ptrdiff_t k = whole; k < n; k++) {
        add_to_parts(rows.x + k * w, rows.sum, w);
    }
}

static void fill(double *x, double number, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] = number;
    }
}

/* --- one row --- */

static double greatest(const double *x, ptrdiff_t n) {
    double top[PARTS];
    fill(top, -INFINITY, PARTS);
    find_tops(x, top, n / PARTS, PARTS);
    find_tops(x + n - n % PARTS, top, n % PARTS, 1);
    for (int k = 1; k < PARTS; k++) {
        top[0] = combined(CAD_RUN_MAXIMUM, top[0], top[k]);
    }
    return top[0];
}

static void take(Row a, double *to, ptrdiff_t n) {
    for (ptrdiff_t k = 0; k < n; k++) {
        to[k] = *item(a, k);
    }
}

static double weighted_sum(Row b, const double *x, ptrdiff_t n) {
    double sum = 0.0;
    if (b.data == NULL) {
        cad_strip_sum(&sum, (CadStrip){(double *)x, 1}, (size_t)n);
    }
    for (ptrdiff_t k = 0; k < n && b.data != NULL; k++) {
        sum += *item(b, k) * x[k];
    }
    return sum;
}

/* The sum of b exp(a) as it is, where no logarithm of it is finite. */
static double plain_sum(Row a, Row b, double *room, ptrdiff_t n, double *sign) {
    take(a, room, n);
    exponentials(room, n);
    const double sum = weighted_sum(b, room, n);
    *sign = sum != sum ? NAN : (double)((sum > 0.0) - (sum < 0.0));
    return log(fabs(sum));
}

/* Of the greatest, what is counted of it, and the sum of the others relative to it. */
static double log_of_parts(double top, double most, double others, double *sign) {
    others = others == 0.0 ? others : others / most;
    *sign = (double)((others + 1.0 > 0.0) - (others + 1.0 < 0.0)) *
            (double)((most > 0.0) - (most < 0.0));
    others = others < -1.0 ? -others - 2.0 : others;
    return log1p(others) + (most == 1.0 ? 0.0 : log(fabs(most))) + top;
}

/* The logarithm of the sum of b exp(a), and its sign, as SciPy has it: the greatest terms are kept
 * out of the sum, so that none of its digits are lost beside them. Where that is not finite, the
 * sum itself says what it is. b may be NULL. */
static double log_of_sum(Row a, Row b, double *room, ptrdiff_t n, double *sign) {
    const ptrdiff_t whole = n - n % PARTS;
    double tops[PARTS], count[PARTS] = {0.0}, most = 0.0;
    take(a, room, n);
    for (ptrdiff_t k = 0; k < n && b.data != NULL; k++) {
        room[k] = *item(b, k) == 0.0 ? -INFINITY : room[k];
    }
    const double top = greatest(room, n);
    for (ptrdiff_t k = 0; k < n && b.data != NULL; k++) {
        most += room[k] == top ? *item(b, k) : 0.0;
    }
    fill(tops, top, PARTS);
    set_apart(room, tops, count, n / PARTS, PARTS);
    set_apart(room + whole, tops, count, n - whole, 1);
    for (int k = 0; k < PARTS && b.data == NULL; k++) {
        most += count[k];
    }
    exponentials(room, n);
    const double result = log_of_parts(top, most, weighted_sum(b, room, n), sign);
    return isfinite(result) ? result : plain_sum(a, b, room, n, sign);
}

/* --- of all rows --- */

static void log_sums_beside(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                            int wants_sign, double *room) {
    const ptrdiff_t n = dims[1], w = rows_beside(dims[0], n);
    for (ptrdiff_t turn = 0; turn < dims[0]; turn += w) {
        const Beside rows = beside_in(room, n, dims[0] - turn < w ? dims[0] - turn : w);
        gather_rows(rows, arguments[0], turn, steps[0], steps[2]);
        fill(rows.top, -INFINITY, rows.w);
        fill(rows.most, 0.0, rows.w);
        find_tops(rows.x, rows.top, n, rows.w);
        set_apart(rows.x, rows.top, rows.most, n, rows.w);
        exponentials(rows.x, n * rows.w);
        add_up(rows);
        for (ptrdiff_t r = 0; r < rows.w; r++) {
            double sign, result = log_of_parts(rows.top[r], rows.most[r], rows.sum[r], &sign);
            if (!isfinite(result)) {
                const Row a = row_at(arguments[0], turn + r, steps[0], steps[2]);
                result = plain_sum(a, (Row){NULL, 0}, rows.x, n, &sign);
            }
            *item(row_at(arguments[1], turn + r, steps[1], 0), 0) = wants_sign ? sign : result;
        }
    }
}

/* Rows that are short and not weighted go side by side. */
static int are_beside(ptrdiff_t n, int weighted) {
    return n > 0 && n <= ONE_BLOCK && !weighted;
}

static int take_room(CadRoom *room, const ptrdiff_t *dims, int weighted) {
    const ptrdiff_t n = dims[1];
    const int beside = are_beside(n, weighted);
    return cad_room_take(room, (size_t)(beside ? (n + BESIDE_ROOM) * rows_beside(dims[0], n) : n));
}

static void log_sums(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, int weighted,
                     int wants_sign) {
    const int n_arguments = weighted ? 3 : 2;
    const ptrdiff_t n = dims[1];
    CadRoom room;
    const int has_room = take_room(&room, dims, weighted);
    if (has_room && are_beside(n, weighted)) {
        log_sums_beside(arguments, dims, steps, wants_sign, room.numbers);
        cad_room_give_back(&room);
        return;
    }
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row a = row_at(arguments[0], turn, steps[0], steps[n_arguments]);
        Row b = {NULL, 0};
        if (weighted) {
            b = row_at(arguments[1], turn, steps[1], steps[n_arguments + 1]);
        }
        double *const to =
            item(row_at(arguments[n_arguments - 1], turn, steps[n_arguments - 1], 0), 0);
        double sign = NAN;
        const double result = has_room ? log_of_sum(a, b, room.numbers, n, &sign) : NAN;
        *to = wants_sign ? sign : result;
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
    take(a, to, n);
    *top = greatest(to, n);
    subtract_tops(to, top, n, 1);
    exponentials(to, n);
    return weighted_sum(b, to, n);
}

/* Of an infinite sum, equal shares of the terms that are it. */
static void share_infinity(Row a, Row to, ptrdiff_t n, double top) {
    double count = 0.0;
    for (ptrdiff_t k = 0; k < n; k++) {
        count += *item(a, k) == top;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        *item(to, k) = *item(a, k) == top ? 1.0 / count : 0.0;
    }
}

static void shares(Row a, Row b, Row to, int shares_infinity, double *room, ptrdiff_t n) {
    double top;
    const double sum = relative_to_top(a, b, room, n, &top);
    if (shares_infinity && isinf(top)) {
        share_infinity(a, to, n, top);
        return;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        *item(to, k) = room[k] / sum;
    }
}

static void shares_beside(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                          int shares_infinity, double *room) {
    const ptrdiff_t n = dims[1], w = rows_beside(dims[0], n);
    for (ptrdiff_t turn = 0; turn < dims[0]; turn += w) {
        const Beside rows = beside_in(room, n, dims[0] - turn < w ? dims[0] - turn : w);
        gather_rows(rows, arguments[0], turn, steps[0], steps[2]);
        fill(rows.top, -INFINITY, rows.w);
        find_tops(rows.x, rows.top, n, rows.w);
        subtract_tops(rows.x, rows.top, n, rows.w);
        exponentials(rows.x, n * rows.w);
        add_up(rows);
        for (ptrdiff_t r = 0; r < rows.w; r++) {
            const Row to = row_at(arguments[1], turn + r, steps[1], steps[3]);
            if (shares_infinity && isinf(rows.top[r])) {
                share_infinity(row_at(arguments[0], turn + r, steps[0], steps[2]), to, n,
                               rows.top[r]);
                continue;
            }
            for (ptrdiff_t k = 0; k < n; k++) {
                *item(to, k) = rows.x[k * rows.w + r] / rows.sum[r];
            }
        }
    }
}

static void share_rows(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                       int is_weighted, int shares_infinity) {
    const ptrdiff_t n = dims[1];
    const ptrdiff_t *const along = steps + 2 + is_weighted; /* rows; `steps` go to the next one */
    const int last = 1 + is_weighted;
    CadRoom room;
    const int has_room = take_room(&room, dims, is_weighted);
    if (has_room && are_beside(n, is_weighted)) {
        shares_beside(arguments, dims, steps, shares_infinity, room.numbers);
        cad_room_give_back(&room);
        return;
    }
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const Row a = row_at(arguments[0], turn, steps[0], along[0]);
        const Row b =
            is_weighted ? row_at(arguments[1], turn, steps[1], along[1]) : (Row){NULL, 0};
        const Row to = row_at(arguments[last], turn, steps[last], along[last]);
        if (!has_room) {
            *to.data = NAN;
        } else {
            shares(a, b, to, shares_infinity, room.numbers, n);
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
