/* See transforms.h. */
#include "kernels/transforms.h"

#include "memory/memory.h"

#include <math.h>

static ptrdiff_t product(const ptrdiff_t *lengths, int begin, int end) {
    ptrdiff_t n = 1;
    for (int k = begin; k < end; k++) {
        n *= lengths[k];
    }
    return n;
}

/* Copy what two arrays of other lengths have in common; steps of their last axes in numbers. */
static void copy_common(double *to, const ptrdiff_t *to_lengths, ptrdiff_t to_step,
                        const double *from, const ptrdiff_t *from_lengths, ptrdiff_t from_step,
                        int ndim) {
    if (ndim == 0) {
        *to = *from;
        return;
    }
    const ptrdiff_t n = to_lengths[0] < from_lengths[0] ? to_lengths[0] : from_lengths[0];
    if (ndim == 1) {
        for (ptrdiff_t k = 0; k < n; k++) {
            to[k * to_step] = from[k * from_step];
        }
        return;
    }
    const ptrdiff_t to_row = product(to_lengths, 1, ndim) * to_step;
    const ptrdiff_t from_row = product(from_lengths, 1, ndim) * from_step;
    for (ptrdiff_t k = 0; k < n; k++) {
        copy_common(to + k * to_row, to_lengths + 1, to_step, from + k * from_row,
                    from_lengths + 1, from_step, ndim - 1);
    }
}

/* Arrays in order of one shape but for one axis; sizes are those of their numbers, in bytes. */
static void run_along(CadRowLoop rows, const ptrdiff_t *lengths, int ndim, int axis, char *from,
                      ptrdiff_t n, ptrdiff_t from_size, char *to, ptrdiff_t m, ptrdiff_t to_size,
                      double factor) {
    const ptrdiff_t before = product(lengths, 0, axis), after = product(lengths, axis + 1, ndim);
    const ptrdiff_t calls = after == 1 ? 1 : before;
    const ptrdiff_t dims[3] = {after == 1 ? before : after, n, m};
    const ptrdiff_t steps[5] = {after == 1 ? n * from_size : from_size, 0,
                                after == 1 ? m * to_size : to_size, after * from_size,
                                after * to_size};
    for (ptrdiff_t call = 0; call < calls; call++) {
        char *arguments[3] = {from + call * n * after * from_size, (char *)&factor,
                              to + call * m * after * to_size};
        rows.loop(arguments, dims, steps, rows.data);
    }
}

static void scale_inner(const CadTransform *t, double *z) {
    const int axis = t->axes[t->n_axes - 1];
    const ptrdiff_t before = product(t->lengths, 0, axis), count = t->lengths[axis];
    const ptrdiff_t after = 2 * product(t->lengths, axis + 1, t->ndim);
    const ptrdiff_t end = (t->real_length + 1) / 2;
    for (ptrdiff_t block = 0; block < before && t->inner != 1.0; block++) {
        double *const from = z + block * count * after;
        for (ptrdiff_t k = after; k < (end < count ? end : count) * after; k++) {
            from[k] *= t->inner;
        }
    }
}

static int transform(const CadTransform *t, const double *const *operands,
                     double *const *results) {
    enum { COMPLEX = 2 * sizeof(double) };
    const int last = t->n_axes - 1, halved = t->axes[last];
    const int n_whole = t->half == CAD_NO_HALF ? t->n_axes : last;
    const ptrdiff_t size = product(t->lengths, 0, t->ndim);
    ptrdiff_t real_lengths[CAD_TRANSFORM_AXES];
    for (int k = 0; k < t->ndim; k++) {
        real_lengths[k] = t->half != CAD_NO_HALF && k == halved ? t->real_length : t->lengths[k];
    }
    const ptrdiff_t n_real = t->half == CAD_NO_HALF ? 0 : product(real_lengths, 0, t->ndim);
    double *const z = cad_memory_zeroed((size_t)(2 * size + n_real), sizeof(double));
    double *const real = z + 2 * size;
    if (z == NULL) {
        return 0;
    }
    if (t->half == CAD_HALF_RESULT) {
        copy_common(real, real_lengths, 1, operands[0], t->given, 1, t->ndim);
        run_along(t->halving, real_lengths, t->ndim, halved, (char *)real, t->real_length,
                  sizeof(double), (char *)z, t->lengths[halved], COMPLEX, t->factors[last]);
    }
    for (int part = 0; part < t->n_operands && t->half != CAD_HALF_RESULT; part++) {
        copy_common(z + part, t->lengths, 2, operands[part], t->given, 1, t->ndim);
    }
    if (t->half == CAD_HALF_OPERAND) {
        scale_inner(t, z);
    }
    for (int k = n_whole - 1; k >= 0; k--) {
        const ptrdiff_t n = t->lengths[t->axes[k]];
        run_along(t->whole, t->lengths, t->ndim, t->axes[k], (char *)z, n, COMPLEX, (char *)z, n,
                  COMPLEX, t->factors[k]);
    }
    if (t->half == CAD_HALF_RESULT) {
        scale_inner(t, z);
    }
    if (t->half == CAD_HALF_OPERAND) {
        run_along(t->halving, t->lengths, t->ndim, halved, (char *)z, t->lengths[halved], COMPLEX,
                  (char *)real, t->real_length, sizeof(double), t->factors[last]);
        copy_common(results[0], t->to, 1, real, real_lengths, 1, t->ndim);
    }
    for (int part = 0; part < t->n_results && t->half != CAD_HALF_OPERAND; part++) {
        copy_common(results[part], t->to, 1, z + part, t->lengths, 2, t->ndim);
    }
    cad_memory_free(z);
    return 1;
}

void cad_transform_run(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                       void *data) {
    const CadTransform *const t = data;
    const ptrdiff_t n_to = product(t->to, 0, t->ndim);
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const double *operands[2] = {NULL, NULL};
        double *results[2] = {NULL, NULL};
        for (int k = 0; k < t->n_operands; k++) {
            operands[k] = (const double *)(arguments[k] + turn * steps[k]);
        }
        for (int k = 0; k < t->n_results; k++) {
            const int argument = t->n_operands + k;
            results[k] = (double *)(arguments[argument] + turn * steps[argument]);
            for (ptrdiff_t i = 0; i < n_to; i++) { /* beyond what is copied */
                results[k][i] = 0.0;
            }
        }
        if (!transform(t, operands, results)) {
            *results[0] = NAN;
        }
    }
}
