"""How far derivatives by differences look, see `_differences`.

A row is a function with a formula for each parameter by which it has such derivatives: a distance
over which its logarithm changes by ½ or so, and behind "above" or "between" where the parameter's
domain begins and ends, or "even" if the function is. Where a distance is too long it is halved;
where it is too short digits are lost. The table is read by `special`, whose names its formulas
use, and those of `_families`; this module computes nothing.
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
_student_middle(df, t)  df: _student_step(df, t) above 0
_student_tail(df, t)  df: _student_step(df, t) above 0
fdtr(dfn, dfd, x)
    dfn: _still(x == 0.0, _f_step(dfn, dfd, x)) above 0
    dfd: _still(x == 0.0, _f_step(dfd, dfn, 1.0 / (x + TINY))) above 0
fdtrc(dfn, dfd, x)
    dfn: _still(x >= 1e300, _f_step(dfn, dfd, x)) above 0
    dfd: _still(x >= 1e300, _f_step(dfd, dfn, 1.0 / (x + TINY))) above 0
iv(v, z)              v: _bessel_step(v, z)
ive(v, z)             v: _bessel_step(v, z)
struve(v, x)          v: _wave_step(v, x)
modstruve(v, x)       v: _wave_step(v, x)
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
wright_bessel(a, b, x)  b: 0.3 / (1.0 + np.log1p(x)) above 0
log_wright_bessel(a, b, x)  b: 0.3 / (1.0 + np.log1p(x)) above 0
eval_jacobi(n, alpha, beta, x)
    alpha: 1.0
    beta: 1.0
eval_gegenbauer(n, alpha, x)  alpha: 1.0
eval_genlaguerre(n, alpha, x)  alpha: 1.0
_pbwa_w(a, x)         a: 0.3
_pbwa_wp(a, x)        a: 0.3
mathieu_a(m, q)       q: _mathieu_step(m, q)
mathieu_b(m, q)       q: _mathieu_step(m, q)
_mathieu_step(m, q) = 0.2 * (1.0 + np.abs(q))
_kolmogp(x)           x: _still(x <= 0.0, 0.2 * x)
# Smooth but where s² is h² or k².
_ellip_harm(h2, k2, n, p, s, signm, signn)
    h2: _lame_step(h2, k2, s)
    k2: _lame_step(h2, k2, s)
    s: _lame_step(h2, k2, s) / (np.abs(s) + np.sqrt(k2))
_lame_step(h2, k2, s) = 0.2 * np.minimum(
    np.minimum(h2, k2 - h2), np.minimum(np.abs(s * s - h2), np.abs(s * s - k2)))
pro_cv(m, n, c)       c: 0.3 even
obl_cv(m, n, c)       c: 0.3 even

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

# Rows that many functions have, and these.
REPEATED = {
    "{0}(v, z)  v: _wave_step(v, z)": [
        *("jv", "jve", "yv", "yve"),
        *(f"_hankel{kind}_{part}" for kind in ("1", "1e", "2", "2e") for part in ("re", "im")),
    ],
    "{0}(v, z)  v: _bessel_step(v, z) even": ["_iv_even", "_ive_even", "kv", "kve"],
    "{0}(v, x)  v: 0.3": ["_pbdv_d", "_pbdv_dp", "_pbvv_v", "_pbvv_vp"],
    "{0}(m, q, x)  q: _mathieu_step(m, q)": [
        f"_mathieu_{kind}_{part}"
        for kind in ("cem", "sem", "modcem1", "modsem1", "modcem2", "modsem2")
        for part in ("y", "yp")
    ],
    "{0}(m, n, c, x)  c: 0.3": [
        f"_{kind}_{of}_{part}"
        for kind in ("pro", "obl")
        for of in ("ang1", "rad1", "rad2")
        for part in ("s", "sp")
    ],
}
STEPS += "".join(row.format(name) + "\n" for row, names in REPEATED.items() for name in names)
