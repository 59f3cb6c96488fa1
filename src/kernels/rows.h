/* Kernels along an axis, of stacks of rows: running operations, sums of exponentials, norms,
 * orders, convolutions, sums at indices. What a row is, programs say by steps. */
#ifndef CAD_KERNELS_ROWS_H
#define CAD_KERNELS_ROWS_H

#include "kernels/stacks.h"

/* What running operations, and those at indices, are told. */
enum { CAD_RUN_MULTIPLY, CAD_RUN_MAXIMUM, CAD_RUN_MINIMUM, CAD_RUN_FMAX, CAD_RUN_FMIN };

CadStackLoop cad_rows_run, cad_rows_recur, cad_rows_add_exponentials, cad_rows_weigh_exponentials,
    cad_rows_norm, cad_rows_order, cad_rows_convolve, cad_rows_sum_from, cad_rows_count,
    cad_rows_extremes, cad_rows_turns, cad_rows_scale,
    cad_rows_share, cad_rows_share_weighted, cad_rows_log_softmax, cad_rows_cross_entropy;

#define CAD_KERNELS_OF_ROWS                                                                       \
    {"running", "(n)->(n)", cad_rows_run, 1}, {"recurrence", "(n),(n)->(n)", cad_rows_recur, 1},  \
        {"logsumexp", "(n)->()", cad_rows_add_exponentials, 1},                                   \
        {"logsumexp_weighted", "(n),(n)->()", cad_rows_weigh_exponentials, 1},                    \
        {"norm", "(n),()->()", cad_rows_norm, 1}, {"order", "(n)->(n)", cad_rows_order, 0},       \
        {"convolve", "(n),(m)->(k)", cad_rows_convolve, 1},                                       \
        {"sums_from", "(n),(m)->(m)", cad_rows_sum_from, 1},                                      \
        {"bincount", "(n),(n)->(m)", cad_rows_count, 0},                                          \
        {"extremes", "(n),(n)->(m)", cad_rows_extremes, 1},                                       \
        {"turns", "(n),(),()->(n)", cad_rows_turns, 1},                                           \
        {"ldexp", "(),()->()", cad_rows_scale, 1}, {"softmax", "(n)->(n)", cad_rows_share, 1},    \
        {"shares", "(n),(n)->(n)", cad_rows_share_weighted, 1},                                   \
        {"log_softmax", "(n)->(n)", cad_rows_log_softmax, 1},                                     \
        {"cross_entropy", "(r,c),(r)->(),(r,c)", cad_rows_cross_entropy, 0}

#endif
