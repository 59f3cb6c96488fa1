/* See borrowed.h. */
#include "kernels/borrowed.h"

#include "kernels/kernels.h"
#include "memory/memory.h"

#include <math.h>

/* --- copies --- */

/* What an argument has in one turn: a matrix of numbers, and how far it is to the imaginary ones.
 */
typedef struct Core {
    double *data;
    ptrdiff_t row, column, imaginary;
} Core;

static int are_finite(const double *numbers, size_t n) {
    int is_lost = 0;
    for (size_t i = 0; i < n; i++) {
        is_lost |= numbers[i] - numbers[i] != 0.0;
    }
    return !is_lost;
}

static void copy_in(const CadBuffer *buffer, double *to, Core from) {
    const ptrdiff_t parts = buffer->type == CAD_BUFFER_COMPLEX ? 2 : 1;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)buffer->n_rows; i++) {
        for (ptrdiff_t j = 0; j < (ptrdiff_t)buffer->n_columns; j++) {
            const double *const x = from.data + i * from.row + j * from.column;
            *to = *x;
            if (parts == 2) {
                to[1] = from.imaginary ? x[from.imaginary] : 0.0;
            }
            to += parts;
        }
    }
}

/* Answers whether the result is real, or complex, if it has to be. */
static int copy_out(const CadBuffer *buffer, const double *from, Core to) {
    const ptrdiff_t parts = buffer->type == CAD_BUFFER_COMPLEX ? 2 : 1;
    int is_real = 1;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)buffer->rows; i++) {
        const double *const row = from + i * parts * (ptrdiff_t)buffer->n_columns;
        for (ptrdiff_t j = 0; j < (ptrdiff_t)buffer->columns; j++) {
            double *const x = to.data + i * to.row + j * to.column;
            const int is_nought = buffer->is_upper && j < i;
            const double im = parts == 2 && !is_nought ? row[parts * j + 1] : 0.0;
            *x = is_nought ? 0.0 : row[parts * j];
            if (to.imaginary) {
                x[to.imaginary] = im;
            }
            is_real &= im == 0.0;
        }
    }
    return buffer->is_turning ? !is_real : is_real || to.imaginary;
}

/* --- turns --- */

static void first_cores(const CadBorrowed *b, char **arguments, const ptrdiff_t *steps,
                        Core *cores) {
    const ptrdiff_t size = sizeof(double);
    steps += b->n_arguments;
    for (int k = 0; k < b->n_arguments; k++) {
        cores[k] = (Core){(double *)arguments[k], 0, 0, 0};
        cores[k].imaginary = b->is_pair[k] ? *steps++ / size : 0;
        cores[k].row = b->axes[k] > 1 ? *steps++ / size : 0;
        cores[k].column = b->axes[k] > 0 ? *steps++ / size : 0;
    }
}

static int take_operands(const CadBorrowed *b, double *room, const Core *cores) {
    for (int k = 0; k < b->n_buffers; k++) {
        const CadBuffer *const buffer = &b->buffers[k];
        const size_t parts = buffer->type == CAD_BUFFER_COMPLEX ? 2 : 1;
        if (buffer->from >= 0) {
            copy_in(buffer, room + buffer->start, cores[buffer->from]);
            if (!are_finite(room + buffer->start, parts * buffer->n_rows * buffer->n_columns)) {
                return 0;
            }
        }
    }
    return 1;
}

static int give_results(const CadBorrowed *b, const double *room, const Core *cores) {
    for (int k = 0; k < b->n_buffers; k++) {
        const CadBuffer *const buffer = &b->buffers[k];
        if (buffer->to >= 0 && !copy_out(buffer, room + buffer->start, cores[buffer->to])) {
            return 0;
        }
    }
    return 1;
}

static void run_stage(const CadStage *stage, const CadBorrowed *b, double *room) {
    char *at[CAD_MOST_BUFFERS];
    for (int k = 0; k < stage->n; k++) {
        at[k] = (char *)(room + b->buffers[stage->buffers[k]].start);
    }
    stage->loop(at, stage->dims, stage->steps, stage->data);
}

static int run_turn(const CadBorrowed *b, double *room, const Core *cores) {
    if (room == NULL || !take_operands(b, room, cores)) {
        return 0;
    }
    for (int i = 0; i < b->n_stages; i++) {
        run_stage(&b->stages[i], b, room);
    }
    return give_results(b, room, cores);
}

void cad_run_borrowed(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                      void *borrowed) {
    const CadBorrowed *const b = borrowed;
    double *const room = cad_memory_resize(NULL, b->size, sizeof(double));
    Core cores[CAD_MOST_BUFFERS];
    first_cores(b, arguments, steps, cores);
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        if (!run_turn(b, room, cores)) {
            *cores[b->n_arguments - 1].data = NAN;
        }
        for (int k = 0; k < b->n_arguments; k++) {
            cores[k].data += steps[k] / (ptrdiff_t)sizeof(double);
        }
    }
    cad_memory_free(room);
}

/* --- pseudo-inverses --- */

/* to (n x m) += the conjugate of what stands in the rows of v (k x n) and the columns of u (m x
 * k), with factors 1 / s; those of nan are nan. */
static void add_complex(double *to, const double *v, const double *s, const double *u,
                        const ptrdiff_t *dims) {
    const ptrdiff_t m = dims[1], k = dims[2], n = dims[3];
    for (ptrdiff_t i = 0; i < 2 * n * m; i++) {
        to[i] = 0.0;
    }
    for (ptrdiff_t l = 0; l < k; l++) {
        for (ptrdiff_t i = 0; i < n && s[l] != 0.0; i++) {
            const double c = v[2 * (l * n + i)] / s[l], d = -v[2 * (l * n + i) + 1] / s[l];
            for (ptrdiff_t j = 0; j < m; j++) {
                const double *const x = u + 2 * (j * k + l);
                double *const y = to + 2 * (i * m + j);
                y[0] += c * x[0] + d * x[1];
                y[1] += d * x[0] - c * x[1];
            }
        }
    }
}

static void pseudo_inverse(char **arguments, const ptrdiff_t *dims, int is_complex) {
    const ptrdiff_t m = dims[1], k = dims[2], n = dims[3];
    double *const u = (double *)arguments[0], *const s = (double *)arguments[1],
                  *const vh = (double *)arguments[2], *const to = (double *)arguments[4];
    const double cutoff = k > 0 ? *(double *)arguments[3] * s[0] : 0.0;
    for (ptrdiff_t l = 0; l < k; l++) {
        s[l] = s[l] <= cutoff ? 0.0 : s[l];
        for (ptrdiff_t i = 0; i < n && !is_complex; i++) {
            vh[l * n + i] = s[l] == 0.0 ? 0.0 : vh[l * n + i] / s[l];
        }
    }
    if (is_complex) {
        add_complex(to, vh, s, u, dims);
    } else {
        cad_multiply_matrices((CadMatrix){to, m, 1}, (CadMatrix){vh, 1, n}, (CadMatrix){u, 1, k},
                              (size_t)n, (size_t)k, (size_t)m);
    }
}

void cad_pseudo_inverse_of_reals(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                                 void *data) {
    (void)steps;
    (void)data;
    pseudo_inverse(arguments, dims, 0);
}

void cad_pseudo_inverse_of_complex(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                                   void *data) {
    (void)steps;
    (void)data;
    pseudo_inverse(arguments, dims, 1);
}
