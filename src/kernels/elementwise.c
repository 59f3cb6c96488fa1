/* See elementwise.h. */
#include "kernels/elementwise.h"

#include "kernels/densities.h"

#include <math.h>

/* --- the table --- */

#define CAD_OWN(name, arity) {#name, arity, cad_of_##name, NULL, CAD_LENT_COUNT},
#define CAD_MENDED(name, arity) {#name, arity, cad_of_##name, cad_wrong_##name, CAD_LENT_##name},

const CadElementwise cad_elementwise[] = {
    CAD_OWN(beta_density, 3) CAD_OWN(beta_log_density, 3) CAD_OWN(digamma_gap, 3) CAD_OWN(
        digamma_half_gap, 2) CAD_OWN(erfcx_moment, 2) CAD_OWN(exp_over, 2)
        CAD_OWN(gamma_density, 2) CAD_OWN(gamma_log_density, 2) CAD_OWN(i0e_moment, 2) CAD_OWN(
            ive_tail, 3) CAD_OWN(kve_moment, 3) CAD_OWN(log1p_gap, 1) CAD_OWN(log_ratio, 2)
            CAD_OWN(student_log_density, 2)

                CAD_OWN(beta_lower, 4) CAD_OWN(betainc_by_a, 3) CAD_OWN(betainc_by_b, 3) CAD_OWN(
                    gamma_lower, 3) CAD_OWN(gamma_upper, 3) CAD_OWN(gammainc_slope, 2)

                    CAD_OWN(cosdg, 1) CAD_OWN(cotdg, 1) CAD_OWN(ellipem1, 1) CAD_OWN(sindg, 1)
                        CAD_OWN(tandg, 1) CAD_MENDED(boxcox, 2) CAD_MENDED(boxcox1p, 2)
                            CAD_MENDED(hyp0f1, 2) CAD_MENDED(hyp1f1, 3) CAD_MENDED(hyp2f1, 4)
                                CAD_MENDED(inv_boxcox1p, 2) CAD_MENDED(iv, 2) CAD_MENDED(ive, 2)
                                    CAD_MENDED(jv, 2) CAD_MENDED(kl_div, 2) CAD_MENDED(kv, 2)
                                        CAD_MENDED(kve, 2) CAD_MENDED(owens_t, 2)
                                            CAD_MENDED(powm1, 2) CAD_MENDED(pseudo_huber, 2)
                                                CAD_MENDED(stdtr, 2) CAD_MENDED(stdtrit, 2)
                                                    CAD_MENDED(zeta, 2){"kn", 2, cad_of_kv,
                                                                        cad_wrong_kv, CAD_LENT_kn},

    {NULL, 0, NULL, NULL, CAD_LENT_COUNT},
};

/* --- the loop --- */

/* SciPy's own values of so many elements from one on. */
static void ask_many(const CadLent *lent, char **arguments, int n, const ptrdiff_t *steps,
                     ptrdiff_t begin, ptrdiff_t count) {
    char *moved[CAD_MOST_NUMBERS + 1];
    for (int k = 0; k < n; k++) {
        moved[k] = arguments[k] + begin * steps[k];
    }
    lent->loop(moved, &count, steps, lent->data);
}

void cad_run_elementwise(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                         void *call) {
    const CadElementwiseCall *const told = call;
    const CadElementwise *const function = told->function;
    const int arity = function->arity;
    CadHelp help;
    help.lent = told->lent;
    help.has_nodes = 0;
    for (int k = 0; k < CAD_MEMOS; k++) {
        help.memos[k].x = NAN;
    }
    ptrdiff_t right = 0; /* from here on SciPy's values are right, and not yet asked for */
    for (ptrdiff_t i = 0; i < dims[0]; i++) {
        double x[CAD_MOST_NUMBERS];
        for (int k = 0; k < arity; k++) {
            x[k] = *(const double *)(arguments[k] + i * steps[k]);
        }
        if (function->is_wrong != NULL && !function->is_wrong(x)) {
            continue;
        }
        if (i > right && function->is_wrong != NULL) {
            ask_many(&told->lent[function->own], arguments, arity + 1, steps, right, i - right);
        }
        right = i + 1;
        *(double *)(arguments[arity] + i * steps[arity]) = function->value(x, &help);
    }
    if (function->is_wrong != NULL && dims[0] > right) {
        ask_many(&told->lent[function->own], arguments, arity + 1, steps, right, dims[0] - right);
    }
}
