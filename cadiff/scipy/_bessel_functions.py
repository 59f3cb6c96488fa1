"""Rows of the table of `special`: solutions of differential equations, polynomials and integrals.

They are as those in `_gamma_functions`. The table is read by `special`, whose names its formulas
use; this module computes nothing.
"""

from __future__ import annotations

TABLE = """
# --- Bessel functions ----------------------------------------------------------------------------

# Orders that v - 1 would round away; far out that does not matter.
_next_to_zero(v, z) = (np.abs(v) < 0.5) & (v != 0.0) & (np.abs(z) > 0.0) & (np.abs(z) < 30.0)

j0(x)                 x: -j1(x)
j1(x)
    x: j0(x) - ans / x if abs(x) > 1.0 else 0.5 * (j0(x) - jv(2, _unless(abs(x) > 1.0, x)))
jv(v, z)
    z: v / z * ans - jv(v + 1, z) if _next_to_zero(v, z) else 0.5 * (jv(v - 1, z) - jv(v + 1, z))
# Next to 0 the derivative of Y is a power of z, where both of its terms, or all, are infinite.
y0(x)                 x: -y1(x)
y1(x)                 x: -(ans / x) if x < TINY else y0(x) - ans / x
yn(const n, x)
    x: -y1(x) if n == 0 else -(abs(n) / x) * ans if x < TINY or np.isinf(ans) else
        yn(n - 1, x) - n / x * ans
yv(v, z)
    z: -(np.abs(v) / z) * ans
        if (v >= 0.5 or v < 0.0 and v == np.floor(v))
        and (z < TINY * np.maximum(1.0, abs(v)) or np.isinf(ans)) else
        0.5 * (yv(v - 1, z) - yv(v + 1, z))
i0(x)                 x: i1(x)
i1(x)
    x: i0(x) - ans / x if abs(x) > 1.0 else 0.5 * (i0(x) + iv(2, _unless(abs(x) > 1.0, x)))
iv(v, z)
    v: _iv_even.by("v", v, z) - _iv_odd_slope(v, kv(v, z), kv.by("v", v, z))
        if z > 1.0 and abs(v) < 0.5 else iv.by("v", v, z)
    z: choose(_is_split(v, z, 0.5), lambda: _iv_even.differences(v, z, orders=(0, 1))
            - sin(math.pi * v) / math.pi * kv.slope(1, v, z), lambda: _iv_slope(ans, v, z))
_iv_slope(ans, v, z) =
    v / z * ans + iv(v + 1, z) if _next_to_zero(v, z) else 0.5 * (iv(v - 1, z) + iv(v + 1, z))
# Next to v = 0 the derivative is small. I is an even function of v less sin(πv) K / π.
_iv_odd_slope(v, k, slope) = cos(math.pi * v) * k + sin(math.pi * v) / math.pi * slope
_iv_even(v, z)
    z: 0.5 * (_iv_slope(iv(v, z), v, z) + _iv_slope(iv(-v, z), -v, z))
_ive_even(v, z)
    z: 0.5 * (_ive_slope(ive(v, z), v, z) + _ive_slope(ive(-v, z), -v, z))
# Whether a derivative by z is to be one by v, too, for which it is taken apart likewise.
_is_split(v, z, most) = carries(v) & (held(z) > 1.0) & (np.abs(held(v)) < most)
k0(x)                 x: -k1(x)
k1(x)                 x: -k0(x) - ans / x
kn(const n, x)        x: -0.5 * (kn(abs(n - 1), x) + kn(abs(n + 1), x))
kv(v, z)              z: -0.5 * (kv(v - 1, z) + kv(v + 1, z))
i0e(x)                x: -sign(x) * i0e_moment(1, absolute(x))
i1e(x)                x: i0e_moment(2, absolute(x)) - i0e_moment(1, absolute(x))
ive(v, z)
    v: _ive_even.by("v", v, z) - exp(-2.0 * z) * _iv_odd_slope(
            v, kve(v, z), kve.by("v", v, z))
        if z > 1.0 and abs(v) < 0.5 else ive.by("v", v, z)
    z: choose(_is_split(v, z, 0.5), lambda: _ive_even.differences(v, z, orders=(0, 1)) -
            exp(-2.0 * z) * sin(math.pi * v) / math.pi * (kve.slope(1, v, z) - 2.0 * kve(v, z)),
        lambda: _ive_slope(ans, v, z))
_ive_slope(ans, v, z) =
    ive_tail(1, v, z) if z > 18.0 + 0.5 * np.square(v) else
    (v / z - sign(z)) * ans + ive(v + 1, z) if _next_to_zero(v, z) else
    0.5 * (iv(v - 1, z) + iv(v + 1, z)) if z == 0.0 else
    0.5 * (ive(v - 1, z) + ive(v + 1, z)) - sign(z) * ans
k0e(x)                x: _kve_slope(ans, 0, x)
k1e(x)                x: _kve_slope(ans, 1, x)
kve(v, z)             z: _kve_slope(ans, v, z)

# Next to 0 the derivative of exp(z) in exp(z) K is nothing beside the other.
_kve_slope(ans, v, z) =
    -kve_moment(1, v, z) if z > np.maximum(1.0, np.abs(v)) and z > np.square(v) / 9.0 else
    (0.0 if z < TINY else ans) - 0.5 * (kve(v - 1, z) + kve(v + 1, z))

# Scaled by exp(-|Im z|), which is 1 here.
jve(v, z)             z: 0.5 * (jve(v - 1, z) - jve(v + 1, z))
yve(v, z)             z: 0.5 * (yve(v - 1, z) - yve(v + 1, z))

_hankel1_re(v, z)     z: _beside(_hankel1_re, v, z)
_hankel1_im(v, z)     z: _beside(_hankel1_im, v, z)
_hankel2_re(v, z)     z: _beside(_hankel2_re, v, z)
_hankel2_im(v, z)     z: _beside(_hankel2_im, v, z)
_beside(f, v, z) = 0.5 * (f(v - 1, z) - f(v + 1, z))
# Scaled by exp(-iz) and exp(iz).
_hankel1e_re(v, z)    z: _beside(_hankel1e_re, v, z) + _hankel1e_im(v, z)
_hankel1e_im(v, z)    z: _beside(_hankel1e_im, v, z) - _hankel1e_re(v, z)
_hankel2e_re(v, z)    z: _beside(_hankel2e_re, v, z) - _hankel2e_im(v, z)
_hankel2e_im(v, z)    z: _beside(_hankel2e_im, v, z) + _hankel2e_re(v, z)

# Solutions of Airy's equation w'' = z w, alone and with their exponentials.
_airy_ai(z)           z: _airy_aip(z)
_airy_aip(z)          z: z * _airy_ai(z)
_airy_bi(z)           z: _airy_bip(z)
_airy_bip(z)          z: z * _airy_bi(z)
_airye_ai(z)          z: _airye_aip(z) + sqrt(z) * ans
_airye_aip(z)         z: z * _airye_ai(z) + sqrt(z) * ans
_airye_bi(z)          z: _airye_bip(z) - sqrt(relu(z)) * ans
_airye_bip(z)         z: z * _airye_bi(z) - sqrt(relu(z)) * ans

# Kelvin's functions, parts of solutions of x² w'' + x w' = i x² w.
ber _kelvin_be_re(x)  x: berp(x)
bei _kelvin_be_im(x)  x: beip(x)
ker _kelvin_ke_re(x)  x: kerp(x)
kei _kelvin_ke_im(x)  x: keip(x)
berp(x)
    x: -ans / x - bei(x) if abs(x) > 0.5 else
        -square(x) * (3.0 / 16.0 - q * (7.0 / 18432.0 - q * (11.0 / 176947200.0)))
    where q = square(square(x))
beip(x)
    x: ber(x) - ans / x if abs(x) > 0.5 else
        0.5 - q * (5.0 / 384.0 - q * (1.0 / 163840.0 - q * (13.0 / 29727129600.0)))
    where q = square(square(x))
kerp(x)               x: -ans / x - kei(x)
keip(x)               x: ker(x) - ans / x

# Struve's functions (DLMF 11.4.27), and integrals of Bessel functions.
struve(v, x)
    x: struve(v - 1.0, x) - v / x * ans if abs(x) > 0.5 else _struve_near(struve, ans, v, x, -1.0)
modstruve(v, x)
    v: iv.slope(0, v, x) + _struve_scale(v, x) * (
            (log(0.5 * x) - digamma(v + 0.5)) * _struve_moment(0, 0, v, x) +
            _struve_moment(0, 1, v, x))
        if x > 1.0 and abs(v) < 0.25 else modstruve.by("v", v, x)
    x: choose(_is_split(v, x, 0.25), lambda: iv.slope(1, v, x) + _struve_scale(v, x) * (
            v / x * _struve_moment(0, 0, v, x) - _struve_moment(1, 0, v, x)),
        lambda: modstruve(v - 1.0, x) - v / x * ans if abs(x) > 0.5 else
            _struve_near(modstruve, ans, v, x, 1.0))
# L - I does not grow (DLMF 11.5.4), and next to v = 0 nor does the derivative of I by v.
_struve_scale(v, x) = -2.0 * power(0.5 * x, v) * rgamma(v + 0.5) / ROOT_PI
_struve_moment(const n, const k, v, x)
    v: _struve_moment(n, k + 1, v, x)
    x: -_struve_moment(n + 1, k, v, x)
# By both neighbours (DLMF 11.4.23 to 11.4.30); the one below order 0 has no limits at 0.
_struve_near(f, ans, v, x, sign) =
    term + sign * f(v + 1.0, x) + v * (term if x == 0.0 else ans / x) if v == 0.0 else
    0.5 * (f(v - 1.0, x) + sign * f(v + 1.0, x) + term)
    where term = power(0.5 * x, v) * rgamma(v + 1.5) / ROOT_PI
# H0(x) / x for |x| < 1.
_struve_over(x) = 2.0 / math.pi * (1.0 - s / 9.0 * (1.0 - s / 25.0 * (1.0 - s / 49.0 * (1.0
    - s / 81.0 * (1.0 - s / 121.0 * (1.0 - s / 169.0 * (1.0 - s / 225.0)))))))
    where s = square(x)
_itj0y0_j(x)          x: j0(x)
_itj0y0_y(x)          x: y0(x)
_iti0k0_i(x)          x: i0(x)
_iti0k0_k(x)          x: k0(x)
# Next to 0 by Neumann's series, of 1 - J0 = 2 J2 + 2 J4 + ... (DLMF 10.12.4, and 10.35.5 for I).
_it2j0y0_j(x)         x: (1.0 - j0(x)) / x if abs(x) > 0.1 else
    0.5 * j1(x) + 0.75 * jv(3, x) + 5.0 / 12.0 * jv(5, x) + 7.0 / 24.0 * jv(7, x)
_it2j0y0_y(x)         x: -y0(x) / x
_it2i0k0_i(x)         x: (i0(x) - 1.0) / x if abs(x) > 0.1 else
    0.5 * i1(x) - 0.75 * iv(3, x) + 5.0 / 12.0 * iv(5, x) - 7.0 / 24.0 * iv(7, x)
_it2i0k0_k(x)         x: -k0(x) / x
itstruve0(x)          x: struve(0, x)
it2struve0(x)         x: -struve(0, x) / x if abs(x) > 1.0 else -_struve_over(x)
itmodstruve0(x)       x: modstruve(0, x)
_itairy_ai(x)         x: _airy_ai(x)
_itairy_bi(x)         x: _airy_bi(x)
_itairy_ai_left(x)    x: _airy_ai(-x)
_itairy_bi_left(x)    x: _airy_bi(-x)
besselpoly(a, lmb, nu)

# The recurrences of DLMF 10.51, which have no pole at 0.
_spherical_jn(const n, z)  z: _neighbours(_spherical_jn, n, z, -1.0)
_spherical_yn(const n, z)  z: _neighbours(_spherical_yn, n, z, -1.0)
_spherical_in(const n, z)  z: _neighbours(_spherical_in, n, z, 1.0)
_spherical_kn(const n, z)  z: -_neighbours(_spherical_kn, n, z, 1.0)
_spherical_jn_d(const n, z)  z: _neighbours(_spherical_jn_d, n, z, -1.0)
_spherical_yn_d(const n, z)  z: _neighbours(_spherical_yn_d, n, z, -1.0)
_spherical_in_d(const n, z)  z: _neighbours(_spherical_in_d, n, z, 1.0)
_spherical_kn_d(const n, z)  z: -_neighbours(_spherical_kn_d, n, z, 1.0)
_neighbours(f, n, z, sign) = sign * f(1, z) if n == 0 else
    (n * f(_below(n), z) + sign * (n + 1) * f(n + 1, z)) / (2 * n + 1)

# n - 1, but 0 for n = 0, where it is multiplied by 0.
_below(n) = np.where(np.equal(n, 0), 0, np.subtract(n, 1))[()]

# --- orthogonal polynomials ----------------------------------------------------------------------

# By Jacobi's and Gegenbauer's of one degree less (DLMF 18.9.15 to 18.9.28): at the ends of the
# interval, too, no formula cancels.
eval_jacobi(const n, alpha, beta, x)
    x: _unless(n == 0, 0.5 * (n + alpha + beta + 1.0)) * _jacobi_below(n, alpha, beta, x)
_jacobi_below(n, alpha, beta, x) = eval_jacobi(_below(n), alpha + 1.0, beta + 1.0, x)
eval_sh_jacobi(const n, const p, const q, x)
    x: n * eval_sh_jacobi(_below(n), p + 2.0, q + 1.0, x)
eval_gegenbauer(const n, alpha, x)
    x: _unless(n == 0, 2.0 * alpha) * eval_gegenbauer(_below(n), alpha + 1.0, x)
eval_legendre(const n, x)  x: _legendre_slope(n, x)
eval_sh_legendre(const n, x)  x: 2.0 * _legendre_slope(n, 2.0 * x - 1.0)
_legendre_slope(n, x) =
    _unless(n == 0, 0.5 * (n + 1)) * eval_jacobi(_below(n), 1.0, 1.0, x)
eval_chebyt(const n, x)  x: n * eval_chebyu(_below(n), x)
eval_chebyu(const n, x)  x: _chebyu_slope(n, x)
eval_chebyc(const n, x)  x: n * eval_chebys(_below(n), x)
eval_chebys(const n, x)  x: 0.5 * _chebyu_slope(n, 0.5 * x)
eval_sh_chebyt(const n, x)  x: 2.0 * n * eval_sh_chebyu(_below(n), x)
eval_sh_chebyu(const n, x)  x: 2.0 * _chebyu_slope(n, 2.0 * x - 1.0)
_chebyu_slope(n, x) = _unless(n == 0, 2.0) * eval_gegenbauer(_below(n), 2.0, x)
# sin(nx/2) / (n sin(x/2)) is Chebyshev's polynomial of the second kind at cos(x/2) (DLMF 18.5.2).
_diric(x, const n)    x: -0.5 * sin(0.5 * x) * _chebyu_slope(n - 1, cos(0.5 * x)) / n
eval_hermite(const n, x)  x: 2.0 * n * eval_hermite(_below(n), x)
eval_hermitenorm(const n, x)  x: n * eval_hermitenorm(_below(n), x)
eval_laguerre(const n, x)  x: _unless(n == 0, -1.0) * eval_genlaguerre(_below(n), 1.0, x)
eval_genlaguerre(const n, alpha, x)
    x: _unless(n == 0, -1.0) * eval_genlaguerre(_below(n), alpha + 1.0, x)
lpmv(const m, const v, x)
    x: (v * x * ans - (v + m) * lpmv(m, v - 1, x)) / (square(x) - 1.0)

# --- integrals, hypergeometric and elliptic functions --------------------------------------------

# Where formulas in E and K of 1 - p do not cancel; at p = 0 they miss the limit.
_by_integrals(p) = (p > 3.0) | ((p > 0.0) & (p < 0.5))

exp1(z)               z: _inside(ans, -divide(exp(-z), z))
expi(x)               x: exp_over(1, x)
expn(const n, x)
    x: -ans * (1.0 + reciprocal(x)) if n == 0 else -expn(np.maximum(n - 1, 0), x)
spence(z)
    z: log(z) if z < TINY else log(z) / (1.0 - z) if z < 0.5 or z > 3.0 else
        -hyp2f1(1.0, 1.0, 2.0, _unless((z < 0.5) | (z > 3.0), 1.0 - z))
hyp0f1(v, z)          z: hyp0f1(v + 1.0, z) / v
hyp1f1(a, b, x)       x: a / b * hyp1f1(a + 1.0, b + 1.0, x)
# The last derivative of a polynomial may be 0 times infinity at 1, which is 0 but not by a and b.
hyp2f1(a, b, c, z)
    z: xlog1py(a * b / c, hyp2f1(a + 1.0, b + 1.0, c + 1.0, z))
        if a * b == 0.0 and z == 1.0 and c - a - b <= 1.0 else
        a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, z)
ellipk(m)
    m: 0.5 * (ellipe(m) / (1.0 - m) - ans) / m if _by_integrals(1.0 - m) else
        math.pi / 8.0 * hyp2f1(1.5, 1.5, 2.0, _unless(_by_integrals(1.0 - m), m))
ellipe(m)
    m: 0.5 * (ans - ellipk(m)) / m if _by_integrals(1.0 - m) else
        -math.pi / 8.0 * hyp2f1(0.5, 1.5, 2.0, _unless(_by_integrals(1.0 - m), m))
ellipkm1(p)
    p: 0.5 * (_ellipem1(p) / p - ans) / (p - 1.0) if _by_integrals(p) else
        -math.pi / 8.0 * hyp2f1(0.5, 0.5, 2.0, _unless(_by_integrals(p), 1.0 - p)) / p
# E of 1 - p.
_ellipem1(p)
    p: 0.5 * (ans - ellipkm1(p)) / (p - 1.0) if _by_integrals(p) else
        math.pi / 8.0 * hyp2f1(0.5, 1.5, 2.0, _unless(_by_integrals(p), 1.0 - p))
# By integrals, since SciPy's values are to ten digits in places; for small a by a step of DLMF
# 13.3.10, without the pole of digamma.
hyperu(a, b, x)       x: -a * _tricomi(a + 1.0, b + 1.0, x)
    a: _tricomi_by_a(a, b, x) if _is_integral(a, b, x) else
        x * _tricomi_by_a(a + 1.0, b + 1.0, x) + (1.0 + a - b) * _tricomi_by_a(a + 1.0, b, x)
        + _tricomi(a + 1.0, b, x) if _is_integral(a + 1.0, b, x) else hyperu.by("a", a, b, x)
    b: _tricomi_by_b(a, b, x) if _is_integral(a + 1.0, b, x) else hyperu.by("b", a, b, x)
_is_integral(a, b, x) = (a >= 0.9) & (a <= 99.0) & (np.abs(b) <= 99.0) & (x > 0.0)
_tricomi(a, b, x) = rgamma(a) * _tricomi_integral(0, 0, a, b, x) if _is_integral(a, b, x) else
    hyperu(a, b, x)
_tricomi_by_a(a, b, x) = rgamma(a) * (
    _tricomi_integral(1, 0, a, b, x) - digamma(a) * _tricomi_integral(0, 0, a, b, x))
_tricomi_by_b(a, b, x) = rgamma(a) * _tricomi_integral(0, 1, a, b, x)
_tricomi_integral(const i, const j, a, b, x)
    a: _tricomi_integral(i + 1, j, a, b, x)
    b: _tricomi_integral(i, j + 1, a, b, x)
    x: -_tricomi_integral(i, j, a + 1.0, b + 1.0, x)
agm(a, b)
    a: _agm_slope(ans, a, b)
    b: _agm_slope(ans, b, a)
# Where one is 0 the formula has no limit; that is of the order of the root of their quotient.
_agm_slope(ans, a, b) = sqrt(divide(b, a)) if a == 0.0 or b == 0.0 else
    2.0 / (3.0 * math.pi) * (square(ans / a) * elliprd(0.0, square(b / a), 1.0))
_zeta(x, q)
    x: _zeta_above.slope(0, x, q) - log(q) * power(q, -x)
    q: -x * _zeta(x + 1.0, q)
# Without its first term, beside which the others may be nothing while their derivatives are not.
_zeta_above(x, q)     q: -x * _zeta_above(x + 1.0, q)
zetac(x)
# The real part of f(x + iγ), where ∂f/∂σ is σ f″; and of iᵏ times the nth derivative.
voigt_profile(x, sigma, gamma)
    x: _voigt_slope(1, 0, x, sigma, gamma)
    sigma: sigma * _voigt_slope(2, 0, x, sigma, gamma)
    gamma: _voigt_slope(1, 1, x, sigma, gamma)
_voigt_slope(const n, const k, x, sigma, gamma)
    x: _voigt_slope(n + 1, k, x, sigma, gamma)
    sigma: sigma * _voigt_slope(n + 2, k, x, sigma, gamma)
    gamma: _voigt_slope(n + 1, k + 1, x, sigma, gamma)
_fresnel_s(z)         z: sin(0.5 * math.pi * square(z))
_fresnel_c(z)         z: cos(0.5 * math.pi * square(z))
# The integrals of exp(±it²) from x on, and with exp(∓i(x² + π/4)) / √π.
_modfresnelp_f_re _modfresnelm_f_re(x)  x: -cos(square(x))
_modfresnelp_f_im(x)  x: -sin(square(x))
_modfresnelp_k_re(x)  x: 2.0 * x * _modfresnelp_k_im(x) - 1.0 / ROOT_2PI
_modfresnelp_k_im(x)  x: -2.0 * x * _modfresnelp_k_re(x) + 1.0 / ROOT_2PI
_modfresnelm_f_im(x)  x: sin(square(x))
_modfresnelm_k_re(x)  x: -2.0 * x * _modfresnelm_k_im(x) - 1.0 / ROOT_2PI
_modfresnelm_k_im(x)  x: 2.0 * x * _modfresnelm_k_re(x) - 1.0 / ROOT_2PI
_wofz_re(z)           z: -2.0 * z * ans
_wofz_im(z)           z: 2.0 / ROOT_PI * dawsn.slope(0, z)
_kelvin_bep_re(x)     x: berp.slope(0, x)
_kelvin_bep_im(x)     x: beip.slope(0, x)
_kelvin_kep_re(x)     x: kerp.slope(0, x)
_kelvin_kep_im(x)     x: keip.slope(0, x)

# Spherical harmonics; the derivative by the polar angle has no cotangent in terms of the orders
# beside (DLMF 14.10).
_sph_harm_y_re(const n, const m, theta, phi)
    theta: cos(m * phi) * _polar_slope(n, m, theta)
    phi: -m * _sph_harm_y_im(n, m, theta, phi)
_sph_harm_y_im(const n, const m, theta, phi)
    theta: sin(m * phi) * _polar_slope(n, m, theta)
    phi: m * _sph_harm_y_re(n, m, theta, phi)
_polar_slope(n, m, theta) = 0.5 * (
    _root((n - m) * (n + m + 1.0)) * _sph_legendre(n, m + 1, theta)
    - _root((n + m) * (n - m + 1.0)) * _sph_legendre(n, m - 1, theta))
_root(x) = np.sqrt(np.maximum(x, 0.0))
_sph_legendre(const n, const m, theta)  theta: _polar_slope(n, m, theta)

_sici_si(x)           x: sinc(x / math.pi)
_sici_ci(x)           x: cos(x) / x
# Of complex numbers: sinh(z) / z and log(z) / (1 - z), whose derivatives do not cancel.
_sinh_over(z) = hyp0f1(1.5, 0.25 * square(_unless(abs(z) >= 1.0, z))) if abs(z) < 1.0 else
    sinh(w) / w
    where w = where(np.abs(held(z)) < 1.0, 1.0, z)
_log_over(z) = -hyp2f1(1.0, 1.0, 2.0, _unless(abs(1.0 - z) >= 0.5, 1.0 - z))
    if abs(1.0 - z) < 0.5 else log(w) / (1.0 - w)
    where w = where(np.abs(1.0 - held(z)) < 0.5, 2.0, z)
_shichi_shi(x)
    x: 0.5 * (exprel(x) + exprel(-x)) if abs(x) > 0.01 else
        1.0 + square(x) / 6.0 * (1.0 + square(x) / 20.0)
_shichi_chi(x)        x: cosh(x) / x
# By a as by x and b; at an end of the domain of b, where differences lose digits, by the relation
# 1 / Γ(z) = z / Γ(z + 1) of its terms.
wright_bessel(a, b, x)  x: wright_bessel(a, a + b, x)
    a: x * _wright_by_b(a, a + b, x)
    b: _wright_by_b(a, b, x)
_wright_by_b(a, b, x) = wright_bessel.by("b", a, b, x) if b >= 0.5 else
    wright_bessel(a, b + 1.0, x) + b * wright_bessel.by("b", a, b + 1.0, x)
    + a * x * wright_bessel.by("b", a, a + b + 1.0, x)
log_wright_bessel(a, b, x)
    x: exp(log_wright_bessel(a, a + b, x) - ans)
    a: x * exp(log_wright_bessel(a, a + b, x) - ans) * log_wright_bessel.by("b", a, a + b, x)
    b: log_wright_bessel.by("b", a, b, x)

# Carlson's integrals, of degree -½ or -3/2 (DLMF 19.18).
elliprf(x, y, z)
    x: -elliprd(y, z, x) / 6.0
    y: -elliprd(x, z, y) / 6.0
    z: -elliprd(x, y, z) / 6.0
elliprc(x, y)
    x: -0.25 * _carlson(1, 1.5, 0, 0, 1, x, 1.0, 1.0, y)
    y: -0.5 * _carlson(1, 0.5, 0, 0, 2, x, 1.0, 1.0, y)
elliprd(x, y, z)
    x: -0.75 * _carlson(1, 1.5, 0.5, 1.5, 0, x, y, z, 1.0)
    y: -0.75 * _carlson(1, 0.5, 1.5, 1.5, 0, x, y, z, 1.0)
    z: -2.25 * _carlson(1, 0.5, 0.5, 2.5, 0, x, y, z, 1.0)
elliprg(x, y, z)
    x: 0.125 * _carlson(2, 1.5, 0.5, 0.5, 0, x, y, z, 1.0)
    y: 0.125 * _carlson(2, 0.5, 1.5, 0.5, 0, x, y, z, 1.0)
    z: 0.125 * _carlson(2, 0.5, 0.5, 1.5, 0, x, y, z, 1.0)
elliprj(x, y, z, p)
    x: -0.75 * _carlson(1, 1.5, 0.5, 0.5, 1, x, y, z, p)
    y: -0.75 * _carlson(1, 0.5, 1.5, 0.5, 1, x, y, z, p)
    z: -0.75 * _carlson(1, 0.5, 0.5, 1.5, 1, x, y, z, p)
    p: -1.5 * _carlson(1, 0.5, 0.5, 0.5, 2, x, y, z, p)
_carlson(const n, const i, const j, const k, const m, x, y, z, p)
    x: -i * _carlson(n, i + 1, j, k, m, x, y, z, p)
    y: -j * _carlson(n, i, j + 1, k, m, x, y, z, p)
    z: -k * _carlson(n, i, j, k + 1, m, x, y, z, p)
    p: -m * _carlson(n, i, j, k, m + 1, x, y, z, p)

# Jacobi's elliptic functions and the amplitude φ, of which u is the elliptic integral.
_ellipj_sn(u, m)
    u: _ellipj_cn(u, m) * _ellipj_dn(u, m)
    m: _ellipj_cn(u, m) * _amplitude_by_m(u, m)
_ellipj_cn(u, m)
    u: -_ellipj_sn(u, m) * _ellipj_dn(u, m)
    m: -_ellipj_sn(u, m) * _amplitude_by_m(u, m)
_ellipj_dn(u, m)
    u: -m * _ellipj_sn(u, m) * _ellipj_cn(u, m)
    m: -_ellipj_sn(u, m) / _ellipj_dn(u, m)
        * (0.5 * _ellipj_sn(u, m) + m * _ellipj_cn(u, m) * _amplitude_by_m(u, m))
_ellipj_ph(u, m)
    u: _ellipj_dn(u, m)
    m: _amplitude_by_m(u, m)
_amplitude_by_m(u, m) =
    -_ellipj_dn(u, m) * _first_integral_by_m(
        _ellipj_sn(u, m), _ellipj_cn(u, m), square(_ellipj_dn(u, m)), _ellipj_ph(u, m), m)

# Parabolic cylinder functions (DLMF 12.2), and Mathieu's, whose x is in degrees (DLMF 28.2).
_pbdv_d(v, x)         x: _pbdv_dp(v, x)
_pbdv_dp(v, x)        x: (0.25 * square(x) - v - 0.5) * _pbdv_d(v, x)
_pbvv_v(v, x)         x: _pbvv_vp(v, x)
_pbvv_vp(v, x)        x: (0.25 * square(x) - v - 0.5) * _pbvv_v(v, x)
_pbwa_w(a, x)         x: _pbwa_wp(a, x)
_pbwa_wp(a, x)        x: (a - 0.25 * square(x)) * _pbwa_w(a, x)
mathieu_a mathieu_b(const m, q)
_mathieu_cem_y(const m, q, x)  x: DEGREE * _mathieu_cem_yp(m, q, x)
_mathieu_cem_yp(const m, q, x)
    x: DEGREE * (2.0 * q * cosdg(2.0 * x) - mathieu_a(m, q)) * _mathieu_cem_y(m, q, x)
_mathieu_sem_y(const m, q, x)  x: DEGREE * _mathieu_sem_yp(m, q, x)
_mathieu_sem_yp(const m, q, x)
    x: DEGREE * (2.0 * q * cosdg(2.0 * x) - mathieu_b(m, q)) * _mathieu_sem_y(m, q, x)
# Spheroidal functions (DLMF 30.2 and 30.11). With u = x² - 1 or, of radial oblate ones, x² + 1,
# (u w')' = (λ - (cx)² ± m²/u) w, where c is imaginary for oblate angular ones.
pro_cv obl_cv(const m, const n, c)
_spheroidal(f, slope, m, n, c, x, u, factor) =
    ((factor + np.square(m) * (square(x) - u) / u) * f(m, n, c, x) - 2.0 * x * slope) / u

_ellip_harm(h2, k2, const n, const p, s, const signm, const signn)

# --- more distributions --------------------------------------------------------------------------

radian(d, m, s)       d: DEGREE
    m: DEGREE / 60.0
    s: DEGREE / 3600.0
tklmbda(x, lmbda)
    x: _tukey_density(_tukey_place(ans, x, lmbda), lmbda)
    lmbda: _tukey_slope(_tukey_place(ans, x, lmbda), lmbda)
_tukey_slope(p, lmbda) =
    (_boxcox_bend(1.0 - p, lmbda) - _boxcox_bend(p, lmbda)) * _tukey_density(p, lmbda)
# The solution, which SciPy takes for that of λ = 0 where |λ| < 1e-4, by a step of Newton's.
_tukey_place(p, x, lmbda) =
    p - _tukey_density(p, lmbda) * (boxcox(p, lmbda) - boxcox(1.0 - p, lmbda) - x)
    if 0.0 < np.abs(lmbda) < 1e-4 else p
_tukey_density(p, lmbda) =
    reciprocal(power(p, lmbda - 1.0) + power(1.0 - p, lmbda - 1.0)) if 0.0 < p < 1.0 else 0.0
_boxcox_bend(x, lmbda) = square(log(x)) * _exprel_slope(lmbda * log(x)) if x > 0.0 else 0.0
kolmogorov(y)         y: _kolmogp(y)
_kolmogp(x)
smirnov(const n, d)   d: _smirnovp(n, d)
smirnovi(const n, p)  p: reciprocal(_smirnovp(n, ans))
_smirnovp(const n, const d)
kolmogi(p)            p: reciprocal(_kolmogp(ans))
ellipkinc(phi, m)
    phi: reciprocal(sqrt(1.0 - m * square(sin(phi))))
    m: _ellipkinc_by_m(phi, m)
ellipeinc(phi, m)
    phi: sqrt(1.0 - m * square(sin(phi)))
    m: _ellipeinc_by_m(phi, m)
# By m Carlson's R_D, whose sum with whole half-turns goes as the complete integrals do
# (DLMF 19.25.5 and 19.25.9, after a step of integration by parts).
_half_turns(phi) = np.rint(phi / math.pi)
_first_by_m(phi, m) = _first_integral_by_m(
    sin(phi), cos(phi), 1.0 - m * square(sin(phi)), phi, m)
_first_integral_by_m(s, c, rest, phi, m) =
    cos(math.pi * _half_turns(phi)) * s * square(s) / 6.0 * elliprd(square(c), 1.0, rest)
    + _whole_by_m(phi, _ellipk_slope, m)
_second_by_m(phi, m) = s * square(s) / -6.0 * elliprd(square(cos(phi)), 1.0 - m * square(s), 1.0)
    + _whole_by_m(phi, _ellipe_slope, m)
    where s = sin(phi - math.pi * _half_turns(phi))
_whole_by_m(phi, slope, m) =
    0.0 if _half_turns(phi) == 0.0 else 2.0 * _half_turns(phi) * slope(m)
_ellipkinc_by_m(phi, m)
    phi: 0.5 * square(sin(phi)) * power(1.0 - m * square(sin(phi)), -1.5)
    m: over _elliptic_step(phi, m)
_ellipeinc_by_m(phi, m)
    phi: -0.5 * square(sin(phi)) * power(1.0 - m * square(sin(phi)), -0.5)
    m: over _elliptic_step(phi, m)
# To where the integrand is singular.
_elliptic_step(phi, m) =
    0.3 * (1.0 / (square(sin(phi)) + TINY) - m) if _half_turns(phi) == 0.0 else 0.3 * (1.0 - m)
_ellipk_slope(m) = ellipk.slope(0, m)
_ellipe_slope(m) = ellipe.slope(0, m)
wrightomega(z)        z: 1.0 - reciprocal(1.0 + ans) if ans > 1.0 else divide(ans, 1.0 + ans)
"""

# Rows that many functions have, and what differs in them. Mathieu's modified functions, whose x is
# in radians (DLMF 28.20), and spheroidal ones.
REPEATED = {
    """
_mathieu_mod{0}_y(const m, q, x)  x: _mathieu_mod{0}_yp(m, q, x)
_mathieu_mod{0}_yp(const m, q, x)
    x: (mathieu_{1}(m, q) - 2.0 * q * cosh(2.0 * x)) * _mathieu_mod{0}_y(m, q, x)
""": ("cem1 a", "cem2 a", "sem1 b", "sem2 b"),
    """
_{0}_{1}_s(const m, const n, c, x)  x: _{0}_{1}_sp(m, n, c, x)
_{0}_{1}_sp(const m, const n, c, x)
    x: _spheroidal(_{0}_{1}_s, ans, m, n, c, x, square(x) {2} 1.0,
        {0}_cv(m, n, c) {3} square(c * x))
""": (
        *("pro ang1 - -", "pro rad1 - -", "pro rad2 - -"),
        *("obl ang1 - +", "obl rad1 + -", "obl rad2 + -"),
    ),
}
TABLE += "".join(row.format(*each.split()) for row, of in REPEATED.items() for each in of)

# What SciPy calls otherwise, or lacks: ufuncs of the core's.
KERNELS = ("_ellipem1", "_zeta")

# SciPy's ufuncs of several results or of complex ones, behind how the table calls their parts.
SEVERAL = {
    name: results
    for results, names in {
        "ai aip bi bip": "airy airye",
        "sn cn dn ph": "ellipj",
        "s c": "fresnel",
        "re+im": "hankel1 hankel1e hankel2 hankel2e sph_harm_y wofz",
        "ai bi ai_left bi_left": "itairy",
        "i k": "it2i0k0 iti0k0",
        "j y": "it2j0y0 itj0y0",
        "be_re+be_im ke_re+ke_im bep_re+bep_im kep_re+kep_im": "kelvin",
        "y yp": "mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 "
        "mathieu_sem",
        "f_re+f_im k_re+k_im": "modfresnelm modfresnelp",
        "s sp": "obl_ang1 obl_rad1 obl_rad2 pro_ang1 pro_rad1 pro_rad2",
        "d dp": "pbdv",
        "v vp": "pbvv",
        "w wp": "pbwa",
        "shi chi": "shichi",
        "si ci": "sici",
    }.items()
    for name in names.split()
}
