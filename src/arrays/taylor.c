/* Power series through entries over arrays that do more than move numbers: through others the
 * coefficients of each power go like tangents. */
#include "arrays/kinds.h"

/* Some series of a row; `passive` ones are constant. */
static CadJet jet_at(const Walk *walk, int view, CadLanes lanes, size_t first, int passive) {
    const CadStrip value = values_at(walk, view, first);
    if (passive) {
        return (CadJet){value, NULL, 0};
    }
    const CadStrip lane = lanes_at(walk, view, lanes, first);
    return (CadJet){value, lane.data, lane.step};
}

CadStatus cad_row_taylor(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes lanes,
                         CadSeries *series) {
    const CadOp op = CAD_CODE_OP(entry.code);
    const size_t width = cad_series_width(series);
    Walk walk;
    start_walk(&walk, tape, plan, 1);
    CadStatus status = CAD_OK;
    do {
        for (size_t first = 0; first < walk.n && status == CAD_OK; first += width) {
            const size_t n = walk.n - first < width ? walk.n - first : width;
            CadJet operands[3];
            for (int k = 1; k < plan->n_views; k++) {
                operands[k - 1] = jet_at(&walk, k, lanes, first, !is_active(plan, k));
            }
            status = cad_series_apply(series, op, operands, jet_at(&walk, 0, lanes, first, 0), n);
        }
    } while (status == CAD_OK && advance(&walk));
    return status;
}

/* The coefficients of a matrix, each copied to a place of its own where BLAS can read it; the
 * first one is the value. */
typedef struct Matrices {
    size_t count; /* 1: it is constant */
    size_t size;
    CadMatrix value;
    double *copies;
    ptrdiff_t columns;
} Matrices;

static Matrices open_matrices(const CadPlan *plan, int view, size_t order, size_t rows,
                              size_t columns, CadStatus *status) {
    Matrices m = {1, rows * columns, {NULL, 0, 0}, NULL, (ptrdiff_t)columns};
    if (is_active(plan, view)) {
        m.count = order + 1;
        m.copies = cad_memory_resize(NULL, order * m.size, sizeof *m.copies);
        if (m.copies == NULL) {
            *status = CAD_NO_MEMORY;
        }
    }
    return m;
}

/* Read those of a place of the walk: the axes `row` and `column` are the matrix's. */
static void read_matrices(Matrices *m, const Walk *walk, int view, CadLanes lanes, int row,
                          int column) {
    m->value = matrix_of_values(walk, view, row, column);
    const double *const from = lanes_of(lanes, walk->at[view]);
    const size_t columns = (size_t)m->columns;
    for (size_t i = 0; m->count > 1 && i < m->size; i++) {
        const ptrdiff_t slot =
            (ptrdiff_t)(i / columns) * m->value.row + (ptrdiff_t)(i % columns) * m->value.column;
        for (size_t k = 0; k < lanes.count; k++) {
            m->copies[k * m->size + i] = from[slot * (ptrdiff_t)lanes.count + (ptrdiff_t)k];
        }
    }
}

static CadMatrix matrix_of(const Matrices *m, size_t k) {
    return k == 0 ? m->value : (CadMatrix){m->copies + (k - 1) * m->size, m->columns, 1};
}

CadStatus cad_matmul_taylor(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes lanes,
                            CadSeries *series) {
    (void)entry, (void)series;
    Walk walk;
    start_walk(&walk, tape, plan, 3);
    const int64_t *core = cad_plan_shape(plan) + walk.axes;
    const size_t rows = (size_t)core[0], inner = (size_t)core[1], columns = (size_t)core[2];
    CadStatus status = CAD_OK;
    Matrices a = open_matrices(plan, 1, lanes.count, rows, inner, &status);
    Matrices b = open_matrices(plan, 2, lanes.count, inner, columns, &status);
    do {
        if (status != CAD_OK) {
            break;
        }
        read_matrices(&a, &walk, 1, lanes, 0, 1);
        read_matrices(&b, &walk, 2, lanes, 1, 2);
        for (size_t k = 1; k <= lanes.count; k++) {
            CadMatrix out = matrix_of_lanes(&walk, 0, lanes, 0, 2);
            out.data += k - 1;
            for (size_t i = 0; i <= k; i++) {
                if (i < a.count && k - i < b.count) {
                    add_matrix_product(tape, out, matrix_of(&a, i), matrix_of(&b, k - i), 0, rows,
                                       inner, columns);
                }
            }
        }
    } while (advance(&walk));
    cad_memory_free(a.copies);
    cad_memory_free(b.copies);
    return status;
}
