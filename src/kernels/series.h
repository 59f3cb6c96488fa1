/* Truncated power series through the operations of the table.
 *
 * If v = op(x, y), and x and y are series in t, then v' = p x' + q y', where p and q are the
 * partials of the row: so from coefficients of x, y and of p, q below the k-th follows
 *
 *     v_k = 1/k  sum over j = 1..k of  j (x_j p_(k-j) + y_j q_(k-j)).
 *
 * The partials are operations of the table again, whose series follow in the same way, one
 * coefficient less of each. (Griewank and Walther, Evaluating Derivatives, 2008, chapter 13.) In
 * products an exact zero absorbs, as everywhere in the chain rule. */
#ifndef CAD_KERNELS_SERIES_H
#define CAD_KERNELS_SERIES_H

#include "kernels/kernels.h"

typedef struct CadSeries CadSeries;

/* For series up to t^order, order > 0. NULL if there is no memory. */
CadSeries *cad_series_new(size_t order);
void cad_series_free(CadSeries *series);

/* How many series cad_series_apply takes at most. */
size_t cad_series_width(const CadSeries *series);

/* Some series: their values, and where the coefficients of t, t^2, ... of the first one are; those
 * of the next are `stride` further. NULL: they are constant. */
typedef struct CadJet {
    CadStrip value;
    double *coefficients;
    ptrdiff_t stride;
} CadJet;

/* The coefficients of op(operands), of which there are n; its values are known. Operands that the
 * operation does not have are ignored. */
CadStatus cad_series_apply(CadSeries *series, CadOp op, const CadJet operands[3], CadJet result,
                           size_t n);

#endif
