"""How far derivatives by differences look, see `_differences`.

A row is a function with a formula for each parameter by which it has such derivatives: a distance
over which its logarithm changes by ½ or so, and behind "above" or "between" where the parameter's
domain begins and ends, or "even" if the function is. Where a distance is too long it is halved;
where it is too short digits are lost. Functions share rows, and may have several. The table is
read by `special`, whose names its formulas use, and those of `_families`; this module computes
nothing.
"""

from __future__ import annotations

STEPS = """
_gamma_below(a, x)     a: _still(x == 0.0, _gamma_step(a, x)) above 0
gammaincc(a, x)       a: _still(x >= 1e300, _gamma_step(a, x)) above 0
betainc(a, b, x)
    a: _still(x == 0.0, _beta_step(a, b, x)) above 0
    b: _still(x == 0.0, _beta_step(b, a, 1.0 - x)) above 0
betaincc(a, b, x)
    a: _still(x == 1.0, _beta_step(a, b, x)) above 0
    b: _still(x == 1.0, _beta_step(b, a, 1.0 - x)) above 0
_student_middle _student_tail(df, t)  df: _student_step(df, t) above 0
fdtr(dfn, dfd, x)
    dfn: _still(x == 0.0, _f_step(dfn, dfd, x)) above 0
    dfd: _still(x == 0.0, _f_step(dfd, dfn, 1.0 / (x + TINY))) above 0
fdtrc(dfn, dfd, x)
    dfn: _still(x >= 1e300, _f_step(dfn, dfd, x)) above 0
    dfd: _still(x >= 1e300, _f_step(dfd, dfn, 1.0 / (x + TINY))) above 0
iv ive(v, z)          v: _bessel_step(v, z)
_iv_even _ive_even kv kve(v, z)  v: _bessel_step(v, z) even
jv jve yv yve _hankel1_re _hankel1_im _hankel1e_re _hankel1e_im _hankel2_re _hankel2_im
    _hankel2e_re _hankel2e_im(v, z)  v: _wave_step(v, z)
struve modstruve(v, x)  v: _wave_step(v, x)
besselpoly(a, lmb, nu)
    a: 0.5
    lmb: 0.2 * (1.0 + lmb)
    nu: 0.5
hyp0f1(v, z)          v: _off_poles(v) / (1.0 + np.log1p(np.abs(z)))
hyp1f1(a, b, x)
    a: 0.5 / (1.0 + np.log1p(np.abs(x)))
    b: _off_poles(b) / (1.0 + np.log1p(np.abs(x)))
hyp2f1(a, b, c, z)
    a: 0.5 * _hypergeometric_step(a, b, c, z)
    b: 0.5 * _hypergeometric_step(a, b, c, z)
    c: _off_poles(c) * _hypergeometric_step(a, b, c, z)
hyperu(a, b, x)
    a: 0.5 / (1.0 + np.abs(np.log(np.abs(x) + TINY)))
    b: 1.5 / (1.0 + np.abs(np.log(np.abs(x) + TINY)))
_zeta_above(x, q)     x: 0.5 / (2.0 / np.abs(x - 1.0) + np.log1p(q))
zetac(x)              x: 0.25 * np.minimum(1.0, np.abs(x - 1.0))
wright_bessel log_wright_bessel(a, b, x)  b: 0.3 / (1.0 + np.log1p(x)) above 0
eval_jacobi(n, alpha, beta, x)
    alpha: 1.0
    beta: 1.0
eval_gegenbauer eval_genlaguerre(n, alpha, x)  alpha: 1.0
_pbdv_d _pbdv_dp _pbvv_v _pbvv_vp(v, x)  v: 0.3
_pbwa_w _pbwa_wp(a, x)  a: 0.3
mathieu_a mathieu_b(m, q)  q: _mathieu_step(q)
_mathieu_cem_y _mathieu_cem_yp _mathieu_sem_y _mathieu_sem_yp
    _mathieu_modcem1_y _mathieu_modcem1_yp _mathieu_modsem1_y _mathieu_modsem1_yp
    _mathieu_modcem2_y _mathieu_modcem2_yp _mathieu_modsem2_y _mathieu_modsem2_yp(m, q, x)
    q: _mathieu_step(q)
_mathieu_step(q) = 0.2 * (1.0 + np.abs(q))
_kolmogp(x)           x: _still(x <= 0.0, 0.2 * x)
# Smooth but where s² is h² or k².
_ellip_harm(h2, k2, n, p, s, signm, signn)
    h2: _lame_step(h2, k2, s)
    k2: _lame_step(h2, k2, s)
    s: _lame_step(h2, k2, s) / (np.abs(s) + np.sqrt(k2))
_lame_step(h2, k2, s) = 0.2 * np.minimum(
    np.minimum(h2, k2 - h2), np.minimum(np.abs(s * s - h2), np.abs(s * s - k2)))
pro_cv obl_cv(m, n, c)  c: 0.3 even
_pro_ang1_s _pro_ang1_sp _pro_rad1_s _pro_rad1_sp _pro_rad2_s _pro_rad2_sp
    _obl_ang1_s _obl_ang1_sp _obl_rad1_s _obl_rad1_sp _obl_rad2_s _obl_rad2_sp(m, n, c, x)
    c: 0.3

# Where a probability is 0, 1 or a half whatever the parameters there is nothing to look for.
_still(where, width) = np.where(where, np.inf, width)
# Next to z = 1 a function is a power of 1 - z, of little weight if that is above 0.
_hypergeometric_step(a, b, c, z) = np.maximum(
    1.0 / (1.0 + np.abs(np.log(np.abs(1.0 - z) + TINY))),
    np.where(np.abs(1.0 - z) < 1e-3, np.clip(0.3 * (c - a - b), 0.0, 1.0), 0.0))
# Half the distance to the poles at 0, -1 ...
_off_poles(c) = 0.15 * np.where(c > 0.0, c, np.abs(c - np.rint(c)))
# Bessel functions are powers of z where the order is large, waves and Gaussians where it is not.
_wave_step(v, z) = 0.4 / (1.0 + np.log1p(np.maximum(1.0, np.abs(v)) / (np.abs(z) + TINY)))
_bessel_step(v, z) =
    0.5 / (1.0 / (1.0 + np.sqrt(np.abs(z))) +
    np.arcsinh(np.maximum(1.0, np.abs(v)) / (np.abs(z) + TINY)))
"""
