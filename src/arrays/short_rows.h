/* An operation over arrays whose last axis is short: several of its rows at a time, as one. */
#ifndef CAD_ARRAYS_SHORT_ROWS_H
#define CAD_ARRAYS_SHORT_ROWS_H

#include "arrays/walk.h"

enum { CAD_SHORT_ROW = CAD_TILE < 32 ? CAD_TILE : 32 };

/* Whether rows are short, and those of the result stand side by side. */
static inline int cad_has_short_rows(CadPlan *plan) {
    const int last = plan->ndim - 1;
    const int64_t *const shape = cad_plan_shape(plan), *const own = cad_plan_view(plan, 0) + 1;
    return last > 0 && shape[last] <= CAD_SHORT_ROW && shape[last] > 1 && shape[last - 1] > 1 &&
           own[last] == 1 && own[last - 1] == shape[last];
}

/* As compute_rows, for a walk that keeps two axes. */
void cad_compute_short_rows(Walk *walk, CadOp op, CadStripFunction value);

/* to[k T] = or += the sum of x[k X], ..., x[k X + n - 1], in NumPy's order, for k < rows;
 * n <= CAD_SHORT_ROW. */
void cad_sum_short_rows(CadStrip to, CadStrip x, int store, size_t n, size_t rows);

#endif
