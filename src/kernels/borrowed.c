/* See borrowed.h. */
#include "kernels/borrowed.h"

#include "kernels/kernels.h"
#include "memory/memory.h"

#include <math.h>
#include <string.h>

/* --- copies --- */

/* What an argument has in one turn: a matrix of numbers, and how far it is to the imaginary ones.
 */
typedef struct Core {
    double *data;
    ptrdiff_t row, column, imaginary;
} Core;

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
        if (buffer->source >= 0) {
            copy_in(buffer, room + buffer->start, cores[buffer->source]);
            const size_t n = parts * buffer->n_rows * buffer->n_columns;
            if (!cad_are_finite(room + buffer->start, n)) {
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

/* --- other types --- */

enum { STRIP = 64 };

/* What a strip of an argument is copied to. */
typedef union Strip {
    double numbers[2 * STRIP];
    int ints[STRIP];
} Strip;

static ptrdiff_t item_size(CadItemType type) {
    switch (type) {
    case CAD_ITEM_COMPLEX:
        return 2 * sizeof(double);
    case CAD_ITEM_INT:
        return sizeof(int);
    default:
        return sizeof(double);
    }
}

/* An item of a strip, of a number; the imaginary part of a complex one is `plane` bytes behind. */
static void put_item(Strip *to, ptrdiff_t i, CadItemType type, const char *from, ptrdiff_t plane) {
    const double x = *(const double *)from;
    switch (type) {
    case CAD_ITEM_COMPLEX:
        to->numbers[2 * i] = x;
        to->numbers[2 * i + 1] = *(const double *)(from + plane);
        break;
    case CAD_ITEM_INT:
        to->ints[i] = (int)x;
        break;
    default:
        to->numbers[i] = x;
    }
}

static void take_item(const Strip *from, ptrdiff_t i, CadItemType type, char *to,
                      ptrdiff_t plane) {
    double *const x = (double *)to;
    switch (type) {
    case CAD_ITEM_COMPLEX:
        *x = from->numbers[2 * i];
        *(double *)(to + plane) = from->numbers[2 * i + 1];
        break;
    case CAD_ITEM_INT:
        *x = from->ints[i];
        break;
    default:
        *x = from->numbers[i];
    }
}

void cad_run_retyped(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                     void *retyped) {
    const CadRetyped *const r = retyped;
    const int n = r->n_arguments;
    Strip strips[CAD_MOST_BUFFERS];
    char *at[CAD_MOST_BUFFERS];
    ptrdiff_t sizes[CAD_MOST_BUFFERS], planes[CAD_MOST_BUFFERS] = {0};
    for (int k = 0, core = n; k < n; k++) {
        sizes[k] = item_size(r->types[k]);
        if (r->types[k] == CAD_ITEM_COMPLEX) {
            planes[k] = steps[core++];
        }
    }
    for (ptrdiff_t begin = 0; begin < dims[0]; begin += STRIP) {
        const ptrdiff_t length = dims[0] - begin < STRIP ? dims[0] - begin : STRIP;
        for (int k = 0; k < n; k++) {
            at[k] = (char *)&strips[k];
            for (ptrdiff_t i = 0; i < length && k < r->n_operands; i++) {
                put_item(&strips[k], i, r->types[k], arguments[k] + (begin + i) * steps[k],
                         planes[k]);
            }
        }
        r->loop(at, &length, sizes, r->data);
        for (int k = r->n_operands; k < n; k++) {
            for (ptrdiff_t i = 0; i < length; i++) {
                take_item(&strips[k], i, r->types[k], arguments[k] + (begin + i) * steps[k],
                          planes[k]);
            }
        }
    }
}

/* A loop by a function that is told one thing more. */
#define LOOP_WITH(name, function, other)                                                          \
    void cad_##name(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,              \
                    void *data) {                                                                 \
        (void)steps;                                                                              \
        function(arguments, dims, data, other);                                                   \
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

static void pseudo_inverse(char **arguments, const ptrdiff_t *dims, void *data, int is_complex) {
    const ptrdiff_t m = dims[1], k = dims[2], n = dims[3];
    double *const u = (double *)arguments[0], *const s = (double *)arguments[1],
                  *const vh = (double *)arguments[2], *const to = (double *)arguments[4];
    (void)data;
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

LOOP_WITH(pseudo_inverse_of_reals, pseudo_inverse, 0)
LOOP_WITH(pseudo_inverse_of_complex, pseudo_inverse, 1)

/* --- eigenvalues --- */

/* In Fortran, where matrices stand column by column. */
typedef void Syevr(char *job, char *range, char *triangle, int *n, double *a, int *a_step,
                   double *low, double *high, int *first, int *last, double *tolerance, int *count,
                   double *w, double *z, int *z_step, int *support, double *work, int *n_work,
                   int *whole_work, int *n_whole_work, int *info);

static void transpose(double *to, const double *from, size_t m, size_t n) {
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            to[j * m + i] = from[i * n + j];
        }
    }
}

/* A call with work[0] and whole_work[0] for all work there is asks how much there should be. */
static int run_evr(Syevr *run, char triangle, int n, double *a, double *w, double *z, int *support,
                   double *work, int n_work, int *whole_work, int n_whole_work) {
    char job = 'V', range = 'A';
    double low = 0.0, high = 1.0, tolerance = 0.0;
    int first = 1, last = n, count = 0, info = 0;
    run(&job, &range, &triangle, &n, a, &n, &low, &high, &first, &last, &tolerance, &count, w, z,
        &n, support, work, &n_work, whole_work, &n_whole_work, &info);
    return info == 0 && (n_work < 0 || count == n);
}

static void eigh_by_evr(char **arguments, const ptrdiff_t *dims, void *data, char triangle) {
    const size_t n = (size_t)dims[1];
    double *const a = (double *)arguments[0], *const w = (double *)arguments[1],
                  *const v = (double *)arguments[2];
    Syevr *run;
    double n_work = 0.0;
    int n_whole_work = 0;
    memcpy(&run, &data, sizeof run);
    int is_found = run_evr(run, triangle, (int)n, a, w, v, NULL, &n_work, -1, &n_whole_work, -1);
    double *const numbers = cad_memory_resize(NULL, 2 * n * n + (size_t)n_work, sizeof(double));
    int *const whole = cad_memory_resize(NULL, 2 * n + (size_t)n_whole_work, sizeof(int));
    is_found = is_found && numbers != NULL && whole != NULL;
    if (is_found) {
        double *const z = numbers + n * n;
        transpose(numbers, a, n, n);
        is_found = run_evr(run, triangle, (int)n, numbers, w, z, whole, z + n * n, (int)n_work,
                           whole + 2 * n, n_whole_work);
        transpose(v, z, n, n);
    }
    if (!is_found) {
        *v = NAN;
    }
    cad_memory_free(numbers);
    cad_memory_free(whole);
}

LOOP_WITH(eigh_by_evr_of_lower, eigh_by_evr, 'L')
LOOP_WITH(eigh_by_evr_of_upper, eigh_by_evr, 'U')

typedef void Sygvd(int *type, char *job, char *triangle, int *n, double *a, int *a_step, double *b,
                   int *b_step, double *w, double *work, int *n_work, int *whole_work,
                   int *n_whole_work, int *info);

static void vectors_of_pair(char **arguments, const ptrdiff_t *dims, void *data, char triangle) {
    const size_t n = (size_t)dims[1], size = n * n;
    double *const v = (double *)arguments[2];
    Sygvd *run;
    char job = 'V';
    int type = 1, rows = (int)n, info = 0, n_work = -1, n_whole = -1, least_whole = 0;
    double least = 0.0;
    memcpy(&run, &data, sizeof run);
    run(&type, &job, &triangle, &rows, v, &rows, v, &rows, v, &least, &n_work, &least_whole,
        &n_whole, &info);
    n_work = (int)least, n_whole = least_whole;
    double *const room = cad_memory_resize(NULL, 2 * size + n + (size_t)n_work, sizeof(double));
    int *const whole = cad_memory_resize(NULL, (size_t)n_whole, sizeof(int));
    int is_found = room != NULL && whole != NULL;
    if (is_found) {
        double *const b = room + size, *const w = b + size;
        transpose(room, (const double *)arguments[0], n, n);
        transpose(b, (const double *)arguments[1], n, n);
        run(&type, &job, &triangle, &rows, room, &rows, b, &rows, w, w + n, &n_work, whole,
            &n_whole, &info);
        transpose(v, room, n, n);
        is_found = info == 0;
    }
    if (!is_found) {
        *v = NAN;
    }
    cad_memory_free(room);
    cad_memory_free(whole);
}

LOOP_WITH(vectors_of_pair_of_lower, vectors_of_pair, 'L')
LOOP_WITH(vectors_of_pair_of_upper, vectors_of_pair, 'U')

/* --- pivots --- */

typedef void Geqp3(int *m, int *n, double *a, int *a_step, int *pivots, double *factors,
                   double *work, int *n_work, int *info);

void cad_pivots_of_columns(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                           void *data) {
    const size_t m = (size_t)dims[1], n = (size_t)dims[2];
    double *const p = (double *)arguments[1];
    Geqp3 *run;
    int rows = (int)m, columns = (int)n, info = 0, n_work = -1;
    double least = 0.0;
    (void)steps;
    memcpy(&run, &data, sizeof run);
    int *const pivots = cad_memory_zeroed(n, sizeof(int));
    if (pivots != NULL) {
        run(&rows, &columns, p, &rows, pivots, p, &least, &n_work, &info);
        n_work = (int)least;
    }
    double *const room =
        cad_memory_resize(NULL, m * n + n + (size_t)(n_work > 0 ? n_work : 0), sizeof(double));
    const int has_room = pivots != NULL && room != NULL;
    if (has_room) {
        double *const factors = room + m * n;
        transpose(room, (const double *)arguments[0], m, n);
        run(&rows, &columns, room, &rows, pivots, factors, factors + n, &n_work, &info);
        for (size_t k = 0; k < n; k++) {
            p[k] = pivots[k] - 1;
        }
    }
    if (!has_room || info != 0) {
        *p = NAN;
    }
    cad_memory_free(pivots);
    cad_memory_free(room);
}

/* --- Sylvester's equation --- */

typedef void Gees(char *job, char *order, void *select, int *n, double *a, int *a_step,
                  int *chosen, double *real, double *imaginary, double *u, int *u_step,
                  double *work, int *n_work, int *whole_work, int *info);

typedef void Trsyl(char *of_a, char *of_b, int *sign, int *m, int *n, double *a, int *a_step,
                   double *b, int *b_step, double *c, int *c_step, double *scale, int *info);

/* The form of what stands in t, column by column. */
static void find_schur(char **arguments, size_t n, void *data) {
    double *const t = (double *)arguments[1], *const u = (double *)arguments[2];
    Gees *run;
    char job = 'V', order = 'N';
    int rows = (int)n, chosen = 0, info = 0, n_work = -1;
    double least = 0.0;
    memcpy(&run, &data, sizeof run);
    run(&job, &order, NULL, &rows, t, &rows, &chosen, t, t, u, &rows, &least, &n_work, NULL,
        &info);
    n_work = (int)least;
    double *const room = cad_memory_resize(NULL, 2 * n + (size_t)n_work, sizeof(double));
    if (room != NULL) {
        run(&job, &order, NULL, &rows, t, &rows, &chosen, room, room + n, u, &rows, room + 2 * n,
            &n_work, NULL, &info);
    }
    if (room == NULL || info != 0) {
        *u = NAN;
    }
    cad_memory_free(room);
}

void cad_schur(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps, void *data) {
    const size_t n = (size_t)dims[1];
    (void)steps;
    transpose((double *)arguments[1], (const double *)arguments[0], n, n);
    find_schur(arguments, n, data);
}

void cad_schur_of_transpose(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                            void *data) {
    const size_t n = (size_t)dims[1];
    (void)steps;
    memcpy(arguments[1], arguments[0], n * n * sizeof(double));
    find_schur(arguments, n, data);
}

void cad_sylvester_of_schur(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                            void *data) {
    const size_t m = (size_t)dims[1], n = (size_t)dims[2];
    const ptrdiff_t rows = dims[1], columns = dims[2];
    double *const t = (double *)arguments[0], *const u = (double *)arguments[1],
                  *const s = (double *)arguments[2], *const v = (double *)arguments[3],
                  *const q = (double *)arguments[4], *const x = (double *)arguments[5];
    double *const room = cad_memory_resize(NULL, 2 * m * n, sizeof(double));
    char as_it_is = 'N', transposed = 'T';
    int sign = 1, of_a = (int)m, of_b = (int)n, info = 0;
    double scale = 1.0;
    Trsyl *run;
    (void)steps;
    memcpy(&run, &data, sizeof run);
    if (room != NULL) { /* u^T q v, its solution y, and u y v^T */
        double *const turned = room + m * n;
        cad_multiply_matrices((CadMatrix){x, columns, 1}, (CadMatrix){u, rows, 1},
                              (CadMatrix){q, columns, 1}, m, m, n);
        cad_multiply_matrices((CadMatrix){room, columns, 1}, (CadMatrix){x, columns, 1},
                              (CadMatrix){v, 1, columns}, m, n, n);
        transpose(turned, room, m, n);
        run(&as_it_is, &transposed, &sign, &of_a, &of_b, t, &of_a, s, &of_b, turned, &of_a, &scale,
            &info);
        transpose(room, turned, n, m);
        cad_multiply_matrices((CadMatrix){turned, columns, 1}, (CadMatrix){u, 1, rows},
                              (CadMatrix){room, columns, 1}, m, m, n);
        cad_multiply_matrices((CadMatrix){x, columns, 1}, (CadMatrix){turned, columns, 1},
                              (CadMatrix){v, columns, 1}, m, n, n);
    }
    if (room == NULL || info != 0 || scale != 1.0) {
        *x = NAN; /* eigenvalues of a and -b are close */
    }
    cad_memory_free(room);
}
