"""Functions that occur in the derivatives of SciPy's and that SciPy lacks.

Each of them is closed under differentiation, within its family or with SciPy's functions, so that
derivatives of any order come from formulas without cancellation. The values are computed in C.
What is public in SciPy belongs into `special`, and this module knows nothing of it. Partials are
formulas: see `_formulas`.
"""

from __future__ import annotations

import numpy as np
import scipy.special as sp

from .. import binding
from ._formulas import Tabulated, formulas_of, rows_of


def scipys_ufunc(name: str) -> np.ufunc:
    """SciPy's ufunc of a name, also where a function in Python stands before it or around it.

    With an underscore in front it is one of those that SciPy keeps to itself.
    """
    places = (vars(sp), vars(sp._ufuncs))
    candidates = [place[each] for each in (name, f"_{name}") for place in places if each in place]
    wrapped = [getattr(each, "__wrapped__", None) for each in candidates]
    return next(each for each in [*candidates, *wrapped] if isinstance(each, np.ufunc))


def has_ufunc(name: str) -> bool:
    """Whether this version of SciPy has the ufunc, for all or for itself."""
    return hasattr(sp, name) or hasattr(sp._ufuncs, name)


_ALL_LENT = tuple(map(scipys_ufunc, binding.lent_names()))


def ufunc_of(name: str) -> np.ufunc:
    """The ufunc of a name: the core's, or SciPy's if that is right everywhere."""
    return binding.elementwise(name, _ALL_LENT) or scipys_ufunc(name)


TINY = 1e-100


# Primitives of ufuncs in C, with their partials, and formulas for others. A constant n is an int,
# and says which of a family it is.
KERNELS = """
# ψ⁽ⁿ⁾(a + b) - ψ⁽ⁿ⁾(a), also where b is small beside a.
digamma_gap(const n, a, b)
    a: digamma_gap(n + 1, a, b)
    b: polygamma(n + 1, a + b)

# The nth derivative of ψ(p+½) - ψ(p) - 1/(2p), p > 0.
digamma_half_gap(const n, p)
    p: digamma_half_gap(n + 1, p)

# 2/√π ∫ tⁿ exp(-t² - 2zt) dt over t > 0: erfcx(z) for n = 0, and up to -2 its derivatives. It is
# n! exp(z²) times the repeated integral iⁿerfc(z) (Abramowitz and Stegun 7.2.3). By forward
# recurrence where it is stable, else the continued fraction of Gautschi (1961).
erfcx_moment(const n, z)
    z: -2.0 * erfcx_moment(n + 1, z)

# 1/π ∫ (1 - cos θ)ⁿ exp(-x (1 - cos θ)) dθ over (0, π), x ≥ 0: (-1)ⁿ times i0e⁽ⁿ⁾.
i0e_moment(const n, x)
    x: -i0e_moment(n + 1, x)

# The n-th derivative of ive(v, x) for large x.
ive_tail(const n, v, x)
    v: over 0.3 * np.sqrt(x)
    x: ive_tail(n + 1, v, x)

# ∫ (cosh t - 1)ⁿ cosh(vt) exp(-x (cosh t - 1)) dt over t > 0: (-1)ⁿ times kve⁽ⁿ⁾, x > 1, x > |v|.
kve_moment(const n, v, x)
    v: over 0.3 * np.sqrt(x)
    x: -kve_moment(n + 1, v, x)

# The gap t - log1p(t).
log1p_gap(t)
    t: t / (1.0 + t)

# x**(a-1) exp(-x) / Γ(a); nan for x < 0, of which the density is not an extension.
gamma_density(a, x)
    a: ans * (log(x) - polygamma(0, a + 1.0)) + gamma_density(a + 1.0, x) / x
        if _small_shape(a, x) else xlogy(ans, x) - ans * polygamma(0, a)
    x: gamma_density(a - 1.0, x) - ans if x <= 0.5 * abs(a - 1.0) and _keeps_digits(a) else
        ans * _gamma_score(a, x)

# Its logarithm for x ≥ 0, by Loader's method where a is large.
gamma_log_density(a, x)
    a: log(x) - polygamma(0, a)
    x: _gamma_score(a, x)

# The derivative of γ(a, x) / Γ(a) by a, where that is not large.
gammainc_slope(a, x)
    a: over _gamma_step(a, x) above 0
    x: gamma_density.slope(0, a, x)

# Those of the regularized incomplete beta function by a and b.
betainc_by_a(a, b, x)
    a: over _beta_step(a, b, x) above 0
    b: over _beta_step(b, a, 1.0 - x) above 0
    x: beta_density.slope(0, a, b, x)
betainc_by_b(a, b, x)
    a: over _beta_step(a, b, x) above 0
    b: over _beta_step(b, a, 1.0 - x) above 0
    x: beta_density.slope(1, a, b, x)

# x**(a-1) (1-x)**(b-1) / B(a, b), by Loader's method where both exponents are positive.
beta_density(a, b, x)
    a: _beta_density_by_a(ans, a, b, x)
    b: _beta_density_by_b(ans, a, b, x)
    x: _beta_density_slope(ans, a, b, x)

# Its logarithm for 0 ≤ x ≤ 1, by the same methods.
beta_log_density(a, b, x)
    a: log(x) + digamma_gap(0, a, b)
    b: log1p(-x) + digamma_gap(0, b, a)
    x: _beta_score(a, b, x)

# Where ψ(a) is nearly -1/a, or infinite: that times the density is a density of a + 1 over x.
_small_shape(a, x) = (a > -0.5) & (a < 0.01) & (x > 0.0)
# Whether a - 1 keeps the digits of a.
_keeps_digits(a) = (np.abs(a) > 0.1) | (a == 0.0)
# (a-1)/x - 1, so that neither it nor its derivative cancels.
_gamma_score(a, x) =
    (a - 1.0 - x) / x if abs(a - 1.0 - x) < 0.5 * x else _absorbing(a - 1.0, x) - 1.0
# The quotient x / y of y ≥ 0, but 0 at the origin.
_absorbing(x, y) = 0.0 if x == 0.0 and y == 0.0 else divide(x, y + 0.0)
# By the densities of lower parameters, unless they cancel; 1 / B(a, b) has a zero where one is 0.
_beta_density_slope(ans, a, b, x) =
    (a + b - 1.0) * (beta_density(a - 1.0, b, x) - beta_density(a, b - 1.0, x))
    if (a + b > 1.5 and not _near_mode(a, b, x) or x == 0.0 or x == 1.0)
    and _keeps_digits(a) and _keeps_digits(b) and a != 0.0 and b != 0.0 else
    0.0 if ans == 0.0 and (x == 0.0 or x == 1.0) else ans * _beta_score(a, b, x)
_beta_density_by_a(ans, a, b, x) =
    ans * (log(x) + digamma_gap(0, a + 1.0, b - 1.0))
    + beta_density(a + 1.0, b, x) / ((a + b) * x) if _small_shape(a, x) and b > 0.6 else
    xlogy(ans, x) + ans * digamma_gap(0, a, b)
_beta_density_by_b(ans, a, b, x) =
    ans * (log1p(-x) + digamma_gap(0, b + 1.0, a - 1.0))
    + beta_density(a, b + 1.0, x) / ((a + b) * (1.0 - x))
    if _small_shape(b, 1.0 - x) and a > 0.6 else xlog1py(ans, -x) + ans * digamma_gap(0, b, a)
# Whether (a-1)/x and (b-1)/(1-x) cancel, and their difference, so that nothing does.
_near_mode(a, b, x) = np.abs(rise - fall) < 0.5 * np.abs(rise)
    where rise = (a - 1.0) * (1.0 - x)
    where fall = (b - 1.0) * x
_beta_score(a, b, x) =
    ((a - 1.0) * (1.0 - x) - (b - 1.0) * x) / (x * (1.0 - x)) if _near_mode(a, b, x) else
    _absorbing(a - 1.0, x) - _absorbing(b - 1.0, 1.0 - x)

# Log of Γ((df+1)/2) / (√(π df) Γ(df/2)) (1 + t²/df)**(-(df+1)/2), Student's t.
student_log_density(df, t)
    df: 0.0 if np.isinf(df) else _student_slope(df, t)
    t: -t if np.isinf(df) else _student_score(df, t)
student_density(df, t) = exp(student_log_density(df, t))
# The derivative by df, of which all terms shrink like df**-2. With w = t² / (df + t²), u = t² / df
# and p = df / 2 it is half of (ψ(p+½) - ψ(p) - 1/df) + w/df - (log1p(u) - w).
_student_slope(df, t) = 0.5 * (digamma_half_gap(0, 0.5 * df) + w / df - spread)
    where root = sqrt(df)
    where s = square(t / root)
    where w = s / (1.0 + s) if abs(t) < np.sqrt(df) else reciprocal(1.0 + square(root / t))
    where spread = log1p_gap(-w) if abs(t) < np.sqrt(df) else
        2.0 * log(hypot(t, root)) - log(df) - w
# The derivative by t, -(df+1) t / (df + t²), where no square overflows.
_student_score(df, t) =
    -(1.0 + reciprocal(df)) * (t / (1.0 + square(t / sqrt(df)))) if abs(t) <= np.sqrt(df) else
    -((df + 1.0) / t) / (1.0 + square(sqrt(df) / t))

# exp(x) / xⁿ for n = 1 or 2, finite wherever the quotient is. The partial is one product: of a
# difference both terms would be infinite where the result is.
exp_over(const n, x)
    x: ans * (1.0 - n * reciprocal(x))

# log(x / y) of positive numbers, also where the quotient overflows or is near 1.
log_ratio(x, y)
    x: reciprocal(x)
    y: -reciprocal(y)

# Tails of the incomplete gamma and beta functions: integrals whose integrands start at 1 and fall
# off, so that they neither underflow nor cancel, and their derivatives are of the same kind.
# ∫ uⁿ (1+u)ᵃ exp(-xu) du over u > 0, for x ≥ 1 and x > a: for n = 0 it is
# Γ(a+1, x) exp(x) x**-(a+1) (DLMF 8.6.5).
gamma_upper(const n, a, x)
    a: over 0.4 * np.minimum(x - a, 1.0 / np.log1p((n + 1.0) / (x - a)))
    x: -gamma_upper(n + 1, a, x)

# The others go by the variable s = -log(1-u).
# ∫ uⁿ (1-u)**(a-1) exp(xu) du over 0 < u < 1, for x < a: for n = 0 it is γ(a, x) exp(x) x**-a
# (DLMF 8.6.3).
gamma_lower(const n, a, x)
    a: over 0.3 * np.minimum(a, a - x) above 0
    x: gamma_lower(n + 1, a, x)

# ∫ uⁿ (1-u)**(a-1) (1+ru)**b du over 0 < u < 1, for br < a: for n = 0 it is
# B(x; a, b+1) x**-a (1-x)**-b with r = x/(1-x), by t = x(1-u) in DLMF 8.17.1.
beta_lower(const n, a, b, r)
    a: over 0.3 * np.minimum(a, a - b * r) above 0
    b: over 0.3 * (a - b * r) / r
    r: b * beta_lower(n + 1, a, b - 1.0, r)

# How far derivatives by shapes look (see `_differences`): about as far as the logarithm of a
# probability changes by ½. In the tails that is by logarithms of ratios, and between them by the
# width of the distribution.
_gamma_step(a, x) = 0.5 / (1.0 / np.sqrt(1.0 + a) + np.abs(np.log((x + TINY) / (1.0 + a))))
_beta_step(a, b, x) =
    0.5 / (2.0 / (a + b) + np.sqrt(b / (1.0 + a) / (1.0 + a + b))
    + np.abs(np.log((np.abs(x) + TINY) * (1.0 + a + b) / (1.0 + a))))
_f_step(m, n, x) = 0.5 / (1.0 / (0.5 + m)
    + 0.5 * np.abs(np.log((m * x + n) / ((1.0 + m + n) * (x + TINY)))))
_student_step(df, t) = 0.5 / (3.0 / df + 0.5 * np.log1p(t * t / (df + 1.0)))
"""

_formula = formulas_of(globals())
for _name, _parameters, _row in rows_of(KERNELS):
    if isinstance(_row, str):
        globals()[_name] = _formula(_parameters, _row)
    else:
        _ufunc = ufunc_of(_name)
        globals()[_name] = Tabulated(
            *(_name, _parameters, lambda *args, ufunc=_ufunc: ufunc(*args), _row, _formula, _ufunc)
        )
