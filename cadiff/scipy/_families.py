"""Functions that occur in the derivatives of SciPy's and that SciPy lacks.

Each of them is closed under differentiation, within its family or with SciPy's functions, so that
derivatives of any order come from formulas without cancellation. The values are plain NumPy; what
is public in SciPy belongs into `special`, and this module knows nothing of it. Partials are
formulas: see `_formulas`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
from numpy.typing import ArrayLike

from ._formulas import Array, Tabulated, either, formulas_of, rows_of

Function = Callable[..., Any]

# B_2k, k = 1 ...
BERNOULLI = np.array(
    [
        1 / 6,
        -1 / 30,
        1 / 42,
        -1 / 30,
        5 / 66,
        -691 / 2730,
        7 / 6,
        -3617 / 510,
        43867 / 798,
        -174611 / 330,
    ]
)


def floats(*args: ArrayLike) -> list[Array]:
    """The arguments as float arrays of their common shape."""
    return list(np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in args)))


def _kernel(
    name: str, parameters: str, of: Function, partials: dict[str, str], names: dict[str, Any]
) -> Tabulated:
    """A primitive of a function of float arrays of one shape, without warnings.

    A parameter n is an int, and says which of a family it is. Partials are formulas; by a
    parameter without one nobody differentiates.
    """
    orders = parameters.split(", ").count("n")

    def values(*args: Any) -> Any:
        at = floats(*args[orders:])
        with np.errstate(all="ignore"):
            result = np.asarray(of(*map(int, args[:orders]), *at))
        return (result if result.shape == at[0].shape else np.full(at[0].shape, result))[()]

    values.__module__ = names["__name__"]
    return Tabulated(name, parameters, values, partials, formulas_of(names, sys.modules[__name__]))


def kernel(**partials: str) -> Callable[[Function], Tabulated]:
    """A kernel whose values are those of the function that is decorated."""

    def decorate(function: Function) -> Tabulated:
        parameters = ", ".join(inspect.signature(function).parameters)
        names = inspect.unwrap(function).__globals__
        return _kernel(function.__name__, parameters, function, partials, names)

    return decorate


def kernels_of(text: str, names: dict[str, Any]) -> dict[str, Any]:
    """The kernels of a table, whose rows have a value and partials, and formulas for others."""
    made: dict[str, Any] = {}
    module = sys.modules[__name__]
    for name, parameters, row in rows_of(text, "value"):
        if isinstance(row, str):
            made[name] = formulas_of(names, module)(parameters, row)
        else:
            value = formulas_of(names, module, of_arrays=True)(parameters, row.pop("value"))
            made[name] = _kernel(name, parameters, value, row, names)
    return made


# --- series --------------------------------------------------------------------------------------


def _log1p_gap_series(t: Array) -> Array:
    r = t / (2.0 + t)
    square_of_r = r * r
    series = np.zeros_like(r)
    for k in range(24, -1, -1):
        series = series * square_of_r + 1.0 / (2 * k + 3)
    return np.asarray(r * (t - 2.0 * square_of_r * series))


def _stirling(a: Array) -> Array:
    """The remainder of Stirling's formula, log Γ(a+1) - (a + ½) log a + a - ½ log 2π, a > 0."""
    return either(a > 9.0, _stirling_series, _stirling_by_recurrence, a)


def _stirling_series(a: Array) -> Array:
    """Abramowitz and Stegun 6.1.40."""
    total = np.zeros_like(a)
    for k, bernoulli in reversed(list(enumerate(BERNOULLI, 1))):
        total = total / (a * a) + bernoulli / (2 * k * (2 * k - 1))
    return np.asarray(total / a)


def _stirling_by_recurrence(a: Array) -> Array:
    """The remainder at a less the one at a + 1 is atanh(r) / r - 1, r = 1 / (2a + 1)."""
    total = _stirling_series(a + 9.0) - 2.0
    for j in range(2):
        total = total + (a + (j + 0.5)) * np.log1p(1.0 / (a + j))
    square_of_r = (2.0 * (a[..., np.newaxis] + np.arange(2, 9)) + 1.0) ** -2
    series = np.zeros_like(square_of_r)
    for k in range(11, 0, -1):
        series = (series + 1.0 / (2 * k + 1)) * square_of_r
    return np.asarray(total + series.sum(axis=-1))


# --- formulas of float arrays --------------------------------------------------------------------

ARRAYS = """
# The gap t - log1p(t), by the series of atanh(t / (2 + t)) where it would cancel.
_log1p_gap(t) = _log1p_gap_series(t) if (t > -0.6) & (t < 1.5) else t - np.log1p(t)

# The deviance k log(k/m) + m - k for k > 0: `bd0` of C. Loader (2000), Fast and accurate
# computation of binomial probabilities.
deviance(k, m) = k * (t - np.log(m / k) if t < -0.5 else _log1p_gap(t))
    where t = (m - k) / k

# 1 / B(a, b) for a of moderate size and b > 0: Γ(a+b) / Γ(b) by Stirling's formula.
_reciprocal_beta(a, b) =
    sp.rgamma(a) * np.exp(exponent) if (b > 0.0) & (a + b > 0.0) else 1.0 / sp.beta(a, b)
    where power = a * np.log(a + b) - a
    where exponent = (b - 0.5) * np.log1p(a / b) + power + _stirling(a + b) - _stirling(b)

_gamma_by_powers(a, x) =
    0.0 if (scale == 0.0) | (x > 1500.0) else half * (np.power(x, a - 1.0) * scale) * half
    where half = np.exp(-0.5 * x)
    where scale = sp.rgamma(a)
_gamma_by_stirling(k, x) = 0.0 if np.isinf(k) | np.isinf(x) else
    np.exp(-_stirling(k) - deviance(k, x)) / np.sqrt(2.0 * np.pi * k)

_beta_by_powers(a, b, x) = 0.0 if (scale == 0.0) | (powers == 0.0) else powers * scale
    where scale = _reciprocal_beta(np.minimum(a, b), np.maximum(a, b))
    where powers = np.power(x, a - 1.0) * np.exp(sp.xlog1py(b - 1.0, -x))
_beta_log_by_powers(a, b, x) = sp.xlogy(a - 1.0, x) + sp.xlog1py(b - 1.0, -x)
    + _log_reciprocal_beta(np.minimum(a, b), np.maximum(a, b))
_log_reciprocal_beta(a, b) = np.log(a) if b == 1.0 else ratio - sp.gammaln(a)
    where ratio = (b - 0.5) * np.log1p(a / b) + a * np.log(a + b) - a + _stirling(a + b)
        - _stirling(b)

# The logarithm of the probability of k successes and m failures, both positive.
_log_binomial(k, m, p) = exponent - deviance(k, n * p) - deviance(m, n * (1.0 - p))
    + 0.5 * np.log(n / (2.0 * np.pi * k * m))
    where n = k + m
    where exponent = _stirling(n) - _stirling(k) - _stirling(m)

# The probability beyond ±t is the scale times (√df / t)**df in the limit. Where x = df / (df + t²)
# is tiny, these are two terms of DLMF 8.17.7.
student_tail_scale(df) = _reciprocal_beta(np.full_like(df, 0.5), 0.5 * df) / df
student_tail(df, t) =
    student_tail_scale(df) * np.power(root, df) * (1.0 + 0.5 * p / (p + 1.0) * root * root)
    where root = np.sqrt(df) / np.hypot(np.sqrt(df), t)
    where p = 0.5 * df
"""


# --- digamma and its derivatives at two near points ----------------------------------------------


def _digamma_gap(n: int, a: Array, b: Array) -> Array:
    """Recurrence upwards, then the asymptotic series (Abramowitz and Stegun 6.4.6, 6.4.11).

    Each difference of powers is at**-p expm1(-p log1p(b / at)).
    """
    sign = (-1.0) ** (n + 1)
    factorial = sp.gamma(n + 1.0)
    steps = 10 + n
    at = a[..., np.newaxis] + np.arange(steps + 1)
    b = b[..., np.newaxis]
    growth = np.where(b < -0.5 * at, np.log((at + b) / at), np.log1p(b / at))
    falls = at ** -(n + 1.0) * np.expm1(-(n + 1.0) * growth)
    total = factorial * (falls[..., :steps].sum(axis=-1) + 0.5 * falls[..., steps])

    at, growth = at[..., steps:], growth[..., steps:]
    k = np.arange(1, len(BERNOULLI) + 1)
    coefficients = BERNOULLI * sp.gamma(2 * k + n) / sp.gamma(2 * k + 1)
    terms = coefficients * at ** -(2.0 * k + n) * np.expm1(-(2.0 * k + n) * growth)
    total = total + terms.sum(axis=-1)
    at, growth = at[..., 0], growth[..., 0]
    leading = -growth if n == 0 else sp.gamma(n) * at**-n * np.expm1(-n * growth)
    return np.asarray(sign * (total + leading))


def _digamma_half_gap_far(n: int, p: Array) -> Array:
    """By the asymptotic series of both digamma functions (DLMF 5.11.8, differentiated)."""
    total = np.zeros_like(p)
    for k, bernoulli in reversed(list(enumerate(BERNOULLI, 1))):
        coefficient = bernoulli * (2.0 - 0.5 ** (2 * k - 1)) / (2 * k)
        total = total / (p * p) + coefficient * sp.poch(2.0 * k, n)
    return np.asarray((-1.0) ** n * total * p ** -(n + 2.0))


# --- the error function --------------------------------------------------------------------------


def _by_recurrence(n: int, z: Array) -> Array:
    before, last = np.zeros_like(z), np.asarray(sp.erfcx(z))
    for k in range(n):
        source = 1.0 / np.sqrt(np.pi) if k == 0 else 0.5 * k * before
        before, last = last, source - z * last
    return last


def _by_fraction(n: int, z: Array) -> Array:
    terms = int(180.0 / np.nanmin(z) ** 2) + 8 + n if np.any(z > 0.0) else n + 1
    ratio = 0.5 * (np.sqrt(z * z + 2.0 * terms) - z)
    product = np.asarray(sp.erfcx(z))
    for k in range(terms - 1, 0, -1):
        ratio = 0.5 * k / (z + ratio)
        if k <= n:
            product = product * ratio
    return product


# --- Bessel functions ----------------------------------------------------------------------------


@kernel(x="-i0e_moment(n + 1, x)")
def i0e_moment(n: int, x: Array) -> Any:
    """1/π ∫ (1 - cos θ)ⁿ exp(-x (1 - cos θ)) dθ over (0, π), x ≥ 0: (-1)ⁿ times i0e⁽ⁿ⁾.

    The rule of midpoints, which converges geometrically for a periodic integrand; for large x the
    asymptotic series of Watson's lemma, all of whose terms are positive.
    """
    angles = (np.arange(40) + 0.5) * (np.pi / 80)
    heights = 2.0 * np.sin(angles) ** 2
    near = np.zeros_like(x)
    for height in heights:
        near = near + height**n * np.exp(-height * x) / len(heights)
    term = sp.gamma(n + 0.5) / (np.pi * np.sqrt(2.0)) * x ** -(n + 0.5)
    far = np.zeros_like(x)
    for k in range(30):
        far = far + term
        term = term * ((2 * k + 1) * (n + k + 0.5) / (4 * (k + 1))) / x
    return np.where(x < 30.0, near, far)


@kernel(x="ive_tail(n + 1, v, x)")
def ive_tail(n: int, v: Array, x: Array) -> Any:
    """The n-th derivative of ive(v, x) for large x.

    Hankel's expansion (Abramowitz and Stegun 9.7.1), differentiated term by term.
    """
    term = (-1.0) ** n * sp.poch(0.5, n) * x**-n / np.sqrt(2.0 * np.pi * x)
    total = np.zeros_like(x)
    for k in range(36):
        total = total + term
        odd = 2 * k + 1
        term = term * (odd * odd - 4.0 * v * v) / (8 * (k + 1) * x)
        term = term * ((k + n + 0.5) / (k + 0.5))
    return total


@kernel(x="-kve_moment(n + 1, v, x)")
def kve_moment(n: int, v: Array, x: Array) -> Any:
    """∫ (cosh t - 1)ⁿ cosh(vt) exp(-x (cosh t - 1)) dt over t > 0: (-1)ⁿ times kve⁽ⁿ⁾.

    For x > 1 and x > |v|, by the trapezoidal rule, which converges geometrically.
    """
    step = np.arcsinh(np.sqrt((30.0 + 5.0 * n) / x)) / 20
    total = np.where(n == 0, 0.5, np.zeros_like(x))
    for k in range(1, 41):
        height = 2.0 * np.sinh(0.5 * k * step) ** 2
        total = total + height**n * np.cosh(v * k * step) * np.exp(-x * height)
    return step * total


# --- kernels with formulas for values ------------------------------------------------------------

KERNELS = """
# ψ⁽ⁿ⁾(a + b) - ψ⁽ⁿ⁾(a), also where b is small beside a.
digamma_gap(n, a, b)
    value: _digamma_gap(n, a, b) if (a > 0.0) & (a + b > 0.0) else
        polygamma(n, a + b) - polygamma(n, a)
    a: digamma_gap(n + 1, a, b)
    b: polygamma(n + 1, a + b)

# The nth derivative of ψ(p+½) - ψ(p) - 1/(2p), p > 0.
digamma_half_gap(n, p)
    value: digamma_gap(n, p, 0.5) - 0.5 * (-1.0) ** n * sp.gamma(n + 1.0) * p ** -(n + 1.0)
        if p < 20.0 else _digamma_half_gap_far(n, p)
    p: digamma_half_gap(n + 1, p)

# 2/√π ∫ tⁿ exp(-t² - 2zt) dt over t > 0: erfcx(z) for n = 0, and up to -2 its derivatives. It is
# n! exp(z²) times the repeated integral iⁿerfc(z) (Abramowitz and Stegun 7.2.3). By forward
# recurrence where it is stable, else the continued fraction of Gautschi (1961).
erfcx_moment(n, z)
    value: _by_recurrence(n, z) if z < 1.2 else _by_fraction(n, z)
    z: -2.0 * erfcx_moment(n + 1, z)

# The gap t - log1p(t).
log1p_gap(t)
    value: _log1p_gap(t)
    t: t / (1.0 + t)

# x**(a-1) exp(-x) / Γ(a); nan for x < 0, of which the density is not an extension.
gamma_density(a, x)
    value: np.nan if (x < 0.0) | np.isnan(x) else
        _gamma_by_powers(a, x) if a < 17.0 else _gamma_by_stirling(a - 1.0, x)
    a: ans * (log(x) - polygamma(0, a + 1.0)) + gamma_density(a + 1.0, x) / x
        if _small_shape(a, x) else xlogy(ans, x) - ans * polygamma(0, a)
    x: gamma_density(a - 1.0, x) - ans if x <= 0.5 * abs(a - 1.0) and _keeps_digits(a) else
        ans * _gamma_score(a, x)

# Its logarithm for x ≥ 0, by Loader's method where a is large.
gamma_log_density(a, x)
    value: sp.xlogy(a - 1.0, x) - x - sp.gammaln(a) if a < 17.0 else
        -_stirling(a - 1.0) - deviance(a - 1.0, x) - 0.5 * np.log(2.0 * np.pi * (a - 1.0))
    a: log(x) - polygamma(0, a)
    x: _gamma_score(a, x)

# x**(a-1) (1-x)**(b-1) / B(a, b), by Loader's method where both exponents are positive.
beta_density(a, b, x)
    value: np.nan if (x < 0.0) | (x > 1.0) | np.isnan(x) else _beta_by_powers(a, b, x)
        if (a <= 1.0) | (b <= 1.0) | (x <= 0.0) | (x >= 1.0) else
        (a + b - 1.0) * np.exp(_log_binomial(a - 1.0, b - 1.0, x))
    a: _beta_density_by_a(ans, a, b, x)
    b: _beta_density_by_b(ans, a, b, x)
    x: _beta_density_slope(ans, a, b, x)

# Its logarithm for 0 ≤ x ≤ 1, by the same methods.
beta_log_density(a, b, x)
    value: _beta_log_by_powers(a, b, x) if (a <= 1.0) | (b <= 1.0) else
        np.log(a + b - 1.0) + _log_binomial(a - 1.0, b - 1.0, x)
    a: log(x) + digamma_gap(0, a, b)
    b: log1p(-x) + digamma_gap(0, b, a)
    x: _beta_score(a, b, x)

# Where ψ(a) is nearly -1/a: that times the density is a density of a + 1 over x.
_small_shape(a, x) = (a > 0.0) & (a < 0.01) & (x > 0.0)
# Whether a - 1 keeps the digits of a.
_keeps_digits(a) = (np.abs(a) > 0.1) | (a == 0.0)
# (a-1)/x - 1, so that neither it nor its derivative cancels.
_gamma_score(a, x) =
    (a - 1.0 - x) / x if abs(a - 1.0 - x) < 0.5 * x else _absorbing(a - 1.0, x) - 1.0
# The quotient x / y of y ≥ 0, but 0 wherever x is.
_absorbing(x, y) = 0.0 * x if x == 0.0 else divide(x, y + 0.0)
# By the densities of lower parameters, unless they cancel; 1 / B(a, b) has a zero where one is 0.
_beta_density_slope(ans, a, b, x) =
    (a + b - 1.0) * (beta_density(a - 1.0, b, x) - beta_density(a, b - 1.0, x))
    if (a + b > 1.5 and ~_near_mode(a, b, x) or x == 0.0 or x == 1.0)
    and _keeps_digits(a) and _keeps_digits(b) and a != 0.0 and b != 0.0 else
    0.0 if a == 0.0 or b == 0.0 else ans * _beta_score(a, b, x)
_beta_density_by_a(ans, a, b, x) =
    ans * (log(x) + digamma_gap(0, a + 1.0, b - 1.0))
    + beta_density(a + 1.0, b, x) / ((a + b) * x) if _small_shape(a, x) and b > 0.1 else
    xlogy(ans, x) + ans * digamma_gap(0, a, b)
_beta_density_by_b(ans, a, b, x) =
    ans * (log1p(-x) + digamma_gap(0, b + 1.0, a - 1.0))
    + beta_density(a, b + 1.0, x) / ((a + b) * (1.0 - x))
    if _small_shape(b, 1.0 - x) and a > 0.1 else xlog1py(ans, -x) + ans * digamma_gap(0, b, a)
# Whether (a-1)/x and (b-1)/(1-x) cancel, and their difference, so that nothing does.
_near_mode(a, b, x) = np.abs(rise - fall) < 0.5 * np.abs(rise)
    where rise = (a - 1.0) * (1.0 - x)
    where fall = (b - 1.0) * x
_beta_score(a, b, x) =
    ((a - 1.0) * (1.0 - x) - (b - 1.0) * x) / (x * (1.0 - x)) if _near_mode(a, b, x) else
    _absorbing(a - 1.0, x) - _absorbing(b - 1.0, 1.0 - x)

# Log of Γ((df+1)/2) / (√(π df) Γ(df/2)) (1 + t²/df)**(-(df+1)/2), Student's t.
student_log_density(df, t)
    value: (-0.5 * t * t if np.isinf(df) else constant - fall) - 0.5 * np.log(2.0 * np.pi)
        where p = 0.5 * df
        where fall = (p + 0.5) * (2.0 * np.log(np.abs(t)) - np.log(df) if np.abs(t) > 1e100 else
            np.log1p(t**2 / df))
        where constant = -p * _log1p_gap(0.5 / p) + _stirling(p + 0.5) - _stirling(p)
    df: 0.0 if np.isinf(df) else _student_slope(df, t)
    t: -t if np.isinf(df) else _student_score(df, t)
student_density(df, t) = exp(student_log_density(df, t))
# The derivative by df, of which all terms shrink like df**-2. With w = t² / (df + t²), u = t² / df
# and p = df / 2 it is half of (ψ(p+½) - ψ(p) - 1/df) + w/df - (log1p(u) - w).
_student_slope(df, t) = 0.5 * (digamma_half_gap(0, 0.5 * df) + w / df - spread)
    where root = sqrt(df)
    where w = square(hypot_ratio(t, root))
    where spread = log1p_gap(-w) if abs(t) < np.sqrt(df) else
        2.0 * log(hypot(t, root)) - log(df) - w
# The derivative by t, -(df+1) t / (df + t²), where no square overflows.
_student_score(df, t) =
    -(1.0 + reciprocal(df)) * (t / (1.0 + square(t / sqrt(df)))) if abs(t) <= np.sqrt(df) else
    -((df + 1.0) / t) / (1.0 + square(sqrt(df) / t))

# exp(x) / xⁿ for n = 1 or 2, finite wherever the quotient is. The partial is one product: of a
# difference both terms would be infinite where the result is.
exp_over(n, x)
    value: (root / x if n == 1 else root / x / x) * root
        where root = np.exp(0.5 * x)
    x: ans * (1.0 - n * reciprocal(x))

# log(x / y) of positive numbers, also where the quotient overflows or is near 1.
log_ratio(x, y)
    value: np.log(x) - np.log(y) if (ratio < 1e-300) | (ratio > 1e300) else
        np.log1p((x - y) / y) if (ratio > 0.5) & (ratio < 2.0) else np.log(ratio)
        where ratio = x / y
    x: reciprocal(x)
    y: -reciprocal(y)

# x / hypot(x, y), 0 at the origin.
hypot_ratio(x, y)
    value: 0.0 if h == 0.0 else x / h
        where h = np.hypot(x, y)
    x: divide(square(hypot_ratio(y, x)), hypot(x, y))
    y: -ans * divide(hypot_ratio(y, x), hypot(x, y))
"""

for _name, _parameters, _text in rows_of(ARRAYS):
    globals()[_name] = formulas_of(globals(), of_arrays=True)(_parameters, str(_text))
globals().update(kernels_of(KERNELS, globals()))
