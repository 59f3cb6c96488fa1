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

/* The coefficients of an operand, those of each power side by side where a kernel can read them as
 * values; the first ones are the values. */
typedef struct Powers {
    size_t count; /* 1: it is constant */
    int64_t low, span;
    double *copies;
} Powers;

static CadStatus copy_powers(CadPlan *plan, int view, CadLanes lanes, Powers *powers) {
    int64_t low, high;
    cad_plan_bounds(plan, view, &low, &high);
    *powers = (Powers){1, low, high - low + 1, NULL};
    if (!is_active(plan, view)) {
        return CAD_OK;
    }
    powers->count = lanes.count + 1;
    powers->copies =
        cad_memory_resize(NULL, lanes.count * (size_t)powers->span, sizeof *powers->copies);
    if (powers->copies == NULL) {
        return CAD_NO_MEMORY;
    }
    for (size_t k = 0; k < lanes.count; k++) {
        for (int64_t i = 0; i < powers->span; i++) {
            powers->copies[(int64_t)k * powers->span + i] = lanes_of(lanes, low + i)[k];
        }
    }
    return CAD_OK;
}

static double *power_of(const Powers *powers, size_t k, double *values) {
    return k == 0 ? values : powers->copies + (int64_t)(k - 1) * powers->span - powers->low;
}

/* Of an operation that is linear in two operands: each power is the sum of those of pairs. */
CadStatus cad_term_taylor(CadTape *tape, CadEntry entry, CadPlan *plan, CadLanes lanes,
                          CadSeries *series) {
    (void)series;
    static const CadPull itself = {.of = {1, 2}, .axes = {0, 1, 2}};
    CadPull copy = itself;
    CadRequestedPlan room;
    Powers x, y = {0, 0, 0, NULL};
    CadStatus status = copy_powers(plan, 1, lanes, &x);
    if (status == CAD_OK) {
        status = copy_powers(plan, 2, lanes, &y);
    }
    copy.op = (uint8_t)CAD_CODE_OP(entry.code);
    CadTerm term = {.plan = cad_term_request(&copy, plan, 0, &room), .lanes = 1, .absorbs = 1};
    cad_term_bind_values(tape, &term);
    term.room = tape->workspace;
    double *const values[3] = {NULL, term.data[1], term.data[2]};
    for (int i = 0; i <= plan->ndim; i++) { /* the target stands in lanes */
        cad_plan_view(term.plan, 0)[i] *= (int64_t)lanes.count;
    }
    for (size_t k = 1; k <= lanes.count && status == CAD_OK; k++) {
        for (size_t i = 0; i <= k; i++) {
            if (i < x.count && k - i < y.count) {
                term.data[0] = origin_of(lanes) + k - 1;
                term.data[1] = power_of(&x, i, values[1]);
                term.data[2] = power_of(&y, k - i, values[2]);
                cad_term_run(copy.op, &term);
            }
        }
    }
    cad_memory_free(x.copies);
    cad_memory_free(y.copies);
    return status;
}
