/* See short_rows.h. */
#include "arrays/short_rows.h"

/* Some rows of an operand side by side: `outer` and `inner` are its steps. */
typedef struct Spread {
    const double *from;
    ptrdiff_t outer, inner;
} Spread;

static void repeat_each(double *restrict to, Spread x, size_t n, size_t rows) {
    for (size_t k = 0; k < rows; k++) {
        const double number = x.from[(ptrdiff_t)k * x.outer];
        for (size_t i = 0; i < n; i++) {
            to[i] = number;
        }
        to += n;
    }
}

/* The first row, then twice as many again and again. */
static void repeat_row(double *to, Spread x, size_t n, size_t rows) {
    for (size_t i = 0; i < n; i++) {
        to[i] = x.from[(ptrdiff_t)i * x.inner];
    }
    for (size_t done = n, all = n * rows, some; done < all; done += some) {
        some = done < all - done ? done : all - done;
        memcpy(to + done, to, some * sizeof *to);
    }
}

static void take_rows(double *restrict to, Spread x, size_t n, size_t rows) {
    for (size_t k = 0; k < rows; k++) {
        for (size_t i = 0; i < n; i++) {
            to[i] = x.from[(ptrdiff_t)k * x.outer + (ptrdiff_t)i * x.inner];
        }
        to += n;
    }
}

static void spread(double *to, Spread x, size_t n, size_t rows) {
    if (x.inner == 0) {
        repeat_each(to, x, n, rows);
    } else if (x.outer == 0) {
        repeat_row(to, x, n, rows);
    } else {
        take_rows(to, x, n, rows);
    }
}

/* One operand, from row `first` on: as it stands, if rows are one, or spread out in a tile. What
 * repeats one row is spread out for the first rows, and is there for all. */
static CadStrip operand(Spread x, double *tile, size_t n, size_t first, size_t rows) {
    x.from += (ptrdiff_t)first * x.outer;
    if ((x.inner == 0 && x.outer == 0) || x.outer == (ptrdiff_t)n * x.inner) {
        return (CadStrip){(double *)x.from, x.inner};
    }
    if (first == 0 || x.outer != 0) {
        spread(tile, x, n, rows);
    }
    return (CadStrip){tile, 1};
}

void cad_compute_short_rows(Walk *walk, CadOp op, CadStripFunction value) {
    CadPlan *const plan = walk->plan;
    const int arity = plan->n_views - 1;
    const int64_t *const core = cad_plan_shape(plan) + walk->axes;
    const size_t rows = (size_t)core[0], n = (size_t)core[1], most = CAD_TILE / n;
    double tiles[3][CAD_TILE];
    do {
        double *const out = walk->values[0] + walk->at[0];
        for (size_t first = 0; first < rows; first += most) {
            const size_t some = rows - first < most ? rows - first : most;
            CadStrip x[3];
            for (int k = 0; k < 3; k++) {
                const int64_t *const steps = cad_plan_view(plan, k + 1) + 1 + walk->axes;
                x[k] = k < arity ? operand((Spread){walk->values[k + 1] + walk->at[k + 1],
                                                    (ptrdiff_t)steps[0], (ptrdiff_t)steps[1]},
                                           tiles[k], n, first, some)
                                 : x[0];
            }
            value(op, (CadStrip){out + first * n, 1}, x, some * n);
        }
    } while (advance(walk));
}

/* --- sums --- */

/* As NumPy adds up to 128 numbers: eight sums side by side. */
static CAD_INLINE double sum_of_short_row(const double *x, size_t n) {
    enum { SUMS = 8 };
    size_t i = 0;
    double total = 0.0;
    if (n >= SUMS) {
        double r[SUMS];
        for (; i < SUMS; i++) {
            r[i] = x[i];
        }
        for (; i + SUMS <= n; i += SUMS) {
            for (size_t k = 0; k < SUMS; k++) {
                r[k] += x[i + k];
            }
        }
        total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
    for (; i < n; i++) {
        total += x[i];
    }
    return total;
}

void cad_sum_short_rows(CadStrip to, CadStrip x, int store, size_t n, size_t rows) {
    for (ptrdiff_t k = 0; k < (ptrdiff_t)rows; k++) {
        double *const place = to.data + k * to.step;
        *place = (store ? 0.0 : *place) + sum_of_short_row(x.data + k * x.step, n);
    }
}
