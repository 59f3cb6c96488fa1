/* Kernels along an axis, of stacks of rows: running operations, sums of exponentials, norms,
 * orders, convolutions, sums at indices. What a row is, programs say by steps. */
#ifndef CAD_KERNELS_ROWS_H
#define CAD_KERNELS_ROWS_H

#include "kernels/stacks.h"

/* What running operations, and those at indices, are told. */
enum { CAD_RUN_MULTIPLY, CAD_RUN_MAXIMUM, CAD_RUN_MINIMUM, CAD_RUN_FMAX, CAD_RUN_FMIN };

/* All of them, as ROW(name, signature, kernel, whether it answers always). */
#define CAD_KERNELS_OF_ROWS(ROW)                                                                  \
    ROW("running", "(n)->(n)", cad_rows_run, 1)                                                   \
    ROW("recurrence", "(n),(n)->(n)", cad_rows_recur, 1)                                          \
    ROW("others", "(n)->(n)", cad_rows_others, 1)                                                 \
    ROW("extreme_shares", "(n)->(n)", cad_rows_share_extreme, 1)                                  \
    ROW("extreme_places", "(n)->()", cad_rows_place_extreme, 1)                                   \
    ROW("logsumexp", "(n)->()", cad_rows_add_exponentials, 1)                                     \
    ROW("logsumexp_weighted", "(n),(n)->()", cad_rows_weigh_exponentials, 1)                      \
    ROW("softmax", "(n)->(n)", cad_rows_share, 1)                                                 \
    ROW("shares", "(n),(n)->(n)", cad_rows_share_weighted, 1)                                     \
    ROW("log_softmax", "(n)->(n)", cad_rows_log_softmax, 1)                                       \
    ROW("cross_entropy", "(r,c),(r)->(),(r,c)", cad_rows_cross_entropy, 0)                        \
    ROW("norm", "(n),()->()", cad_rows_norm, 1)                                                   \
    ROW("ranked", "(n),(m)->(m)", cad_rows_ranked, 0)                                             \
    ROW("matched", "(n),(n)->(n)", cad_rows_matched, 0)                                           \
    ROW("searchsorted", "(n),(m)->(m)", cad_rows_searched, 1)                                     \
    ROW("convolve", "(n),(m)->(k)", cad_rows_convolve, 1)                                         \
    ROW("taken", "(n),(m)->(m)", cad_rows_take, 1)                                                \
    ROW("sums_from", "(n),(m)->(m)", cad_rows_sum_from, 1)                                        \
    ROW("bincount", "(n),(n)->(m)", cad_rows_count, 1)                                            \
    ROW("extremes", "(n),(n)->(m)", cad_rows_extremes, 1)                                         \
    ROW("turns", "(n),(),()->(n)", cad_rows_turns, 1)                                             \
    ROW("ldexp", "(),()->()", cad_rows_scale, 1)

#define CAD_DECLARED(name, signature, kernel, always) CadStackLoop kernel;
CAD_KERNELS_OF_ROWS(CAD_DECLARED)
#undef CAD_DECLARED

#endif
