/* Functions of SciPy's where its values are not right. */
#ifndef CAD_KERNELS_SCIPY_FIXES_H
#define CAD_KERNELS_SCIPY_FIXES_H

#include "kernels/lent.h"

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

#endif
