/* Elementwise functions of SciPy's kind that are no rows of the table: ufuncs are made of them,
 * whose loops programs call.
 *
 * There are two sorts. Functions that occur in derivatives and that SciPy lacks; and functions of
 * SciPy's whose values are wrong in places, which are SciPy's elsewhere. They call SciPy's own
 * loops, lent to them. */
#ifndef CAD_KERNELS_ELEMENTWISE_H
#define CAD_KERNELS_ELEMENTWISE_H

#include "kernels/lent.h"

typedef struct CadElementwise {
    const char *name;
    int arity;
    CadOfNumbers *value;
    int (*is_wrong)(const double *x); /* where SciPy's value is; NULL: SciPy has none */
    CadLentCode own;                  /* SciPy's, if it has one */
} CadElementwise;

/* All of them; behind the last one a name is NULL. */
extern const CadElementwise cad_elementwise[];

/* What a loop is told. */
typedef struct CadElementwiseCall {
    const CadElementwise *function;
    CadLent lent[CAD_LENT_COUNT];
} CadElementwiseCall;

/* The loop, in the form of NumPy's; `call` is a CadElementwiseCall. */
void cad_run_elementwise(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                         void *call);

/* Functions of SciPy's where its values are not right: see scipy_fixes.c. */
CadOfNumbers cad_of_boxcox, cad_of_boxcox1p, cad_of_cosdg, cad_of_cotdg, cad_of_ellipem1,
    cad_of_hyp0f1, cad_of_hyp1f1, cad_of_hyp2f1, cad_of_inv_boxcox1p, cad_of_iv, cad_of_ive,
    cad_of_jv, cad_of_kl_div, cad_of_kv, cad_of_kve, cad_of_owens_t, cad_of_powm1,
    cad_of_pseudo_huber, cad_of_sindg, cad_of_stdtr, cad_of_stdtrit, cad_of_tandg, cad_of_zeta;

/* Where SciPy's are wrong. */
typedef int CadIsWrong(const double *x);
CadIsWrong cad_wrong_boxcox, cad_wrong_boxcox1p, cad_wrong_hyp0f1, cad_wrong_hyp1f1,
    cad_wrong_hyp2f1, cad_wrong_inv_boxcox1p, cad_wrong_iv, cad_wrong_ive, cad_wrong_jv,
    cad_wrong_kl_div, cad_wrong_kv, cad_wrong_kve, cad_wrong_owens_t, cad_wrong_powm1,
    cad_wrong_pseudo_huber, cad_wrong_stdtr, cad_wrong_stdtrit, cad_wrong_zeta;

/* The incomplete gamma and beta functions: integrals in their tails, and slopes by shapes. */
CadOfNumbers cad_of_beta_lower, cad_of_betainc_by_a, cad_of_betainc_by_b, cad_of_gamma_lower,
    cad_of_gamma_upper, cad_of_gammainc_slope;

#endif
