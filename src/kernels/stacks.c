/* See stacks.h. */
#include "kernels/stacks.h"

#include "kernels/factors.h"
#include "kernels/room.h"
#include "kernels/rows.h"

#include <math.h>
#include <string.h>

/* --- matrices --- */

static double *numbers_at(char *argument, ptrdiff_t turn, ptrdiff_t step) {
    return (double *)(argument + turn * step);
}

static CadComplexMatrix matrix_at(double *data, const ptrdiff_t *steps) {
    return (CadComplexMatrix){data, steps[0] / (ptrdiff_t)sizeof(double),
                              steps[1] / (ptrdiff_t)sizeof(double), 0};
}

/* Rows of the target stand side by side. */
static void copy_matrix(CadComplexMatrix to, CadComplexMatrix from, ptrdiff_t n, ptrdiff_t m) {
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = 0; j < m; j++) {
            to.data[i * to.row + j] = from.data[i * from.row + j * from.column];
        }
    }
}

static void exchange_rows(CadComplexMatrix x, const double *order, size_t n, size_t m, int back,
                          double *room) {
    for (size_t i = 0; i < n; i++) {
        memcpy(room + i * m, x.data + (ptrdiff_t)i * x.row, m * sizeof(double));
    }
    for (size_t i = 0; i < n; i++) {
        const size_t row = (size_t)order[i];
        memcpy(x.data + (ptrdiff_t)(back ? row : i) * x.row, room + (back ? i : row) * m,
               m * sizeof(double));
    }
}

static int is_singular(CadComplexMatrix a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (a.data[(ptrdiff_t)i * (a.row + a.column)] == 0.0) {
            return 1;
        }
    }
    return 0;
}

/* --- systems --- */

static void factor_lu(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                      void *data) {
    const size_t n = (size_t)dims[1];
    CadRoom room;
    const int has_room = cad_room_take(&room, n * n);
    (void)data;
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        const CadComplexMatrix a = matrix_at(numbers_at(arguments[0], turn, steps[0]), steps + 3);
        const CadComplexMatrix lu = matrix_at(numbers_at(arguments[1], turn, steps[1]), steps + 5);
        copy_matrix(lu, a, dims[1], dims[1]);
        if (has_room) {
            cad_factor_lu(lu, numbers_at(arguments[2], turn, steps[2]), n, room.numbers);
        } else {
            lu.data[0] = NAN;
        }
    }
    cad_room_give_back(&room);
}

/* With l u = a[order], the solution of a x = b, or of a.T x = b. */
static void solve_factored(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                           void *data) {
    const size_t n = (size_t)dims[1], m = (size_t)dims[2];
    const int transposed = data != NULL;
    CadRoom room;
    const int has_room = cad_room_take(&room, n * (n > m ? n : m));
    for (ptrdiff_t turn = 0; turn < dims[0]; turn++) {
        CadComplexMatrix lu = matrix_at(numbers_at(arguments[0], turn, steps[0]), steps + 4);
        const double *const order = numbers_at(arguments[1], turn, steps[1]);
        const CadComplexMatrix b = matrix_at(numbers_at(arguments[2], turn, steps[2]), steps + 7);
        const CadComplexMatrix x = matrix_at(numbers_at(arguments[3], turn, steps[3]), steps + 9);
        copy_matrix(x, b, dims[1], dims[2]);
        if (!has_room || is_singular(lu, n)) {
            x.data[0] = NAN;
            continue;
        }
        if (transposed) {
            lu = (CadComplexMatrix){lu.data, lu.column, lu.row, 0};
        } else {
            exchange_rows(x, order, n, m, 0, room.numbers);
        }
        cad_solve_triangle((CadTriangle){lu, 1, !transposed}, x, n, m, room.numbers);
        cad_solve_triangle((CadTriangle){lu, 0, transposed}, x, n, m, room.numbers);
        if (transposed) {
            exchange_rows(x, order, n, m, 1, room.numbers);
        }
    }
    cad_room_give_back(&room);
}

#define LISTED(name, signature, kernel, always) {name, signature, kernel, always},

const CadStackKernel cad_stack_kernels[] = {
    {"factor_lu", "(n,n)->(n,n),(n)", factor_lu, 0},
    {"solve_factored", "(n,n),(n),(n,m)->(n,m)", solve_factored, 0},
    CAD_KERNELS_OF_ROWS(LISTED){NULL, NULL, NULL, 0},
};
