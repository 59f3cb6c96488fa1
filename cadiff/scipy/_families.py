"""Functions that occur in the derivatives of SciPy's and that SciPy lacks.

Each of them is closed under differentiation, within its family or with SciPy's functions, so that
derivatives of any order come from formulas without cancellation. The values are plain NumPy; what
is public in SciPy belongs into `special`, and this module knows nothing of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
from numpy.typing import ArrayLike, NDArray

from ..operations.guards import held
from ..operations.primitives import primitive
from ..operations.table import (
    divide,
    exp,
    hypot,
    log,
    log1p,
    polygamma,
    reciprocal,
    sqrt,
    square,
    xlog1py,
    xlogy,
)
from ._formulas import choose

Array = NDArray[np.float64]
Kernel = Callable[..., Array]

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


def either(condition: Any, f: Kernel, g: Kernel, *args: Array) -> Array:
    """f(*args) where the condition holds and g(*args) elsewhere, each computed only there."""
    if np.all(condition):
        return f(*args)
    if not np.any(condition):
        return g(*args)
    result = np.empty(condition.shape)
    for places, function in ((condition, f), (~condition, g)):
        result[places] = function(*(x[places] for x in args))
    return result


def _kernel(function: Callable[..., Any], orders: int) -> primitive:
    @functools.wraps(function)
    def values(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*map(int, args[:orders]), *floats(*args[orders:]))[()]

    return primitive(values)


def kernel(function: Callable[..., Any]) -> primitive:
    """A primitive of a function of float arrays of one shape, without warnings."""
    return _kernel(function, 0)


def kernel_of_order(function: Callable[..., Any]) -> primitive:
    """The same, but that the first argument is an int: which of a family it is."""
    return _kernel(function, 1)


# --- logarithms and factorials to the last digit -------------------------------------------------


@kernel
def log1p_gap(t: Array) -> Any:
    """The gap t - log1p(t)."""
    return _log1p_gap(t)


log1p_gap.defpartials(lambda v, t: t / (1.0 + t))


def _log1p_gap(t: Array) -> Array:
    """By the series of atanh(t / (2 + t)) where the gap would cancel."""
    return either((t > -0.6) & (t < 1.5), _log1p_gap_series, lambda t: t - np.log1p(t), t)


def _log1p_gap_series(t: Array) -> Array:
    r = t / (2.0 + t)
    square_of_r = r * r
    series = np.zeros_like(r)
    for k in range(24, -1, -1):
        series = series * square_of_r + 1.0 / (2 * k + 3)
    return np.asarray(r * (t - 2.0 * square_of_r * series))


def deviance(k: Array, m: Array) -> Array:
    """The deviance k log(k/m) + m - k for k > 0.

    It is `bd0` of C. Loader (2000), Fast and accurate computation of binomial probabilities.
    """
    t = (m - k) / k
    return np.asarray(k * np.where(t < -0.5, t - np.log(m / k), _log1p_gap(t)))


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


def _reciprocal_beta(a: Array, b: Array) -> Array:
    """1 / B(a, b) for a of moderate size and b > 0: Γ(a+b) / Γ(b) by Stirling's formula."""
    power = a * np.log(a + b) - a
    exponent = (b - 0.5) * np.log1p(a / b) + power + _stirling(a + b) - _stirling(b)
    usual = sp.rgamma(a) * np.exp(exponent)
    return np.asarray(np.where((b > 0.0) & (a + b > 0.0), usual, 1.0 / sp.beta(a, b)))


# --- digamma and its derivatives at two near points ----------------------------------------------


@kernel_of_order
def digamma_gap(n: int, a: Array, b: Array) -> Any:
    """ψ⁽ⁿ⁾(a + b) - ψ⁽ⁿ⁾(a), also where b is small beside a."""
    return either(
        (a > 0.0) & (a + b > 0.0),
        lambda a, b: _digamma_gap(n, a, b),
        lambda a, b: np.asarray(polygamma(n, a + b) - polygamma(n, a)),
        a,
        b,
    )


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


digamma_gap.defpartials(
    lambda v, n, a, b: digamma_gap(n + 1, a, b),
    lambda v, n, a, b: polygamma(n + 1, a + b),
    argnums=(1, 2),
)


@kernel_of_order
def digamma_half_gap(n: int, p: Array) -> Any:
    """The nth derivative of ψ(p+½) - ψ(p) - 1/(2p), p > 0.

    For large p by the asymptotic series of both digamma functions (DLMF 5.11.8, differentiated).
    """

    def near(p: Array) -> Array:
        leading = 0.5 * (-1.0) ** n * sp.gamma(n + 1.0) * p ** -(n + 1.0)
        return np.asarray(digamma_gap(n, p, 0.5) - leading)

    def far(p: Array) -> Array:
        total = np.zeros_like(p)
        for k, bernoulli in reversed(list(enumerate(BERNOULLI, 1))):
            coefficient = bernoulli * (2.0 - 0.5 ** (2 * k - 1)) / (2 * k)
            total = total / (p * p) + coefficient * sp.poch(2.0 * k, n)
        return np.asarray((-1.0) ** n * total * p ** -(n + 2.0))

    return either(p < 20.0, near, far, p)


digamma_half_gap.defpartials(lambda v, n, p: digamma_half_gap(n + 1, p), argnums=(1,))


# --- densities -----------------------------------------------------------------------------------


@kernel
def gamma_density(a: Array, x: Array) -> Any:
    """x**(a-1) exp(-x) / Γ(a); nan for x < 0, of which the density is not an extension."""
    density = either(a < 17.0, _gamma_density_by_powers, _gamma_density_by_stirling, a, x)
    return np.where((x < 0.0) | np.isnan(x), np.nan, density)


def _gamma_density_by_powers(a: Array, x: Array) -> Array:
    half = np.exp(-0.5 * x)
    scale = sp.rgamma(a)
    density = half * (np.power(x, a - 1.0) * scale) * half
    return np.where((scale == 0.0) | (x > 1500.0), 0.0, density)


def _gamma_density_by_stirling(a: Array, x: Array) -> Array:
    k = a - 1.0
    density = np.exp(-_stirling(k) - deviance(k, x)) / np.sqrt(2.0 * np.pi * k)
    return np.where(np.isinf(a) | np.isinf(x), 0.0, density)


gamma_density.defpartials(
    lambda v, a, x: choose(
        _small_shape(a, x),
        lambda: v * (log(x) - polygamma(0, a + 1.0)) + gamma_density(a + 1.0, x) / x,
        lambda: xlogy(v, x) - v * polygamma(0, a),
    ),
    lambda v, a, x: choose(
        (held(x) <= 0.5 * np.abs(held(a) - 1.0)) & _keeps_digits(a),
        lambda: gamma_density(a - 1.0, x) - v,
        lambda: v * _gamma_score(a, x),
    ),
)


def _small_shape(a: Any, x: Any) -> Any:
    """Where ψ(a) is nearly -1/a: that times the density is a density of a + 1 over x."""
    return np.asarray((held(a) > 0.0) & (held(a) < 0.01) & (held(x) > 0.0))


def _keeps_digits(a: Any) -> Any:
    """Whether a - 1 does: a plain bool array."""
    return np.asarray((np.abs(held(a)) > 0.1) | (held(a) == 0.0))


def _gamma_score(a: Any, x: Any) -> Any:
    """(a-1)/x - 1, so that neither it nor its derivative cancels."""
    excess = held(a) - 1.0 - held(x)
    return choose(
        np.asarray(np.abs(excess) < 0.5 * held(x)),
        lambda: (a - 1.0 - x) / x,
        lambda: _absorbing(a - 1.0, x) - 1.0,
    )


def _absorbing(x: Any, y: Any) -> Any:
    """The quotient x / y of y ≥ 0, but 0 wherever x is."""
    return choose(np.asarray(held(x) == 0.0), lambda: 0.0 * x, lambda: divide(x, y + 0.0))


@kernel
def gamma_log_density(a: Array, x: Array) -> Any:
    """The logarithm of x**(a-1) exp(-x) / Γ(a) for x ≥ 0, by Loader's method where a is large."""
    return either(a < 17.0, _gamma_log_by_powers, _gamma_log_by_stirling, a, x)


def _gamma_log_by_powers(a: Array, x: Array) -> Array:
    return np.asarray(sp.xlogy(a - 1.0, x) - x - sp.gammaln(a))


def _gamma_log_by_stirling(a: Array, x: Array) -> Array:
    k = a - 1.0
    return np.asarray(-_stirling(k) - deviance(k, x) - 0.5 * np.log(2.0 * np.pi * k))


gamma_log_density.defpartials(
    lambda v, a, x: log(x) - polygamma(0, a),
    lambda v, a, x: _gamma_score(a, x),
)


@kernel
def beta_density(a: Array, b: Array, x: Array) -> Any:
    """x**(a-1) (1-x)**(b-1) / B(a, b), by Loader's method where both exponents are positive."""
    edge = (a <= 1.0) | (b <= 1.0) | (x <= 0.0) | (x >= 1.0)
    density = either(edge, _beta_density_by_powers, _beta_density_by_stirling, a, b, x)
    return np.where((x < 0.0) | (x > 1.0) | np.isnan(x), np.nan, density)


def _beta_density_by_powers(a: Array, b: Array, x: Array) -> Array:
    scale = _reciprocal_beta(np.minimum(a, b), np.maximum(a, b))
    powers = np.power(x, a - 1.0) * np.exp(sp.xlog1py(b - 1.0, -x))
    return np.where((scale == 0.0) | (powers == 0.0), 0.0, powers * scale)


def _beta_density_by_stirling(a: Array, b: Array, x: Array) -> Array:
    return np.asarray((a + b - 1.0) * np.exp(_log_binomial(a - 1.0, b - 1.0, x)))


def _beta_density_slope(v: Any, a: Any, b: Any, x: Any) -> Any:
    """By the densities of lower parameters, unless they cancel."""
    at = held(x)
    exact = _keeps_digits(a) & _keeps_digits(b)
    lower = (held(a) + held(b) > 1.5) & ~_near_mode(a, b, x)
    edge = (at == 0.0) | (at == 1.0)
    nothing = (held(a) == 0.0) | (held(b) == 0.0)  # 1 / B(a, b) has a zero
    return choose(
        (lower | edge) & exact & ~nothing,
        lambda: (a + b - 1.0) * (beta_density(a - 1.0, b, x) - beta_density(a, b - 1.0, x)),
        lambda: choose(
            nothing | np.zeros_like(edge), lambda: 0.0, lambda: v * _beta_score(a, b, x)
        ),
    )


def _near_mode(a: Any, b: Any, x: Any) -> Any:
    """Whether (a-1)/x and (b-1)/(1-x) cancel, a plain bool array."""
    rise = (held(a) - 1.0) * (1.0 - held(x))
    fall = (held(b) - 1.0) * held(x)
    return np.asarray(np.abs(rise - fall) < 0.5 * np.abs(rise))


def _beta_density_by_a(v: Any, a: Any, b: Any, x: Any) -> Any:
    return choose(
        _small_shape(a, x) & (held(b) > 0.1),
        lambda: (
            v * (log(x) + digamma_gap(0, a + 1.0, b - 1.0))
            + beta_density(a + 1.0, b, x) / ((a + b) * x)
        ),
        lambda: xlogy(v, x) + v * digamma_gap(0, a, b),
    )


def _beta_density_by_b(v: Any, a: Any, b: Any, x: Any) -> Any:
    return choose(
        _small_shape(b, 1.0 - held(x)) & (held(a) > 0.1),
        lambda: (
            v * (log1p(-x) + digamma_gap(0, b + 1.0, a - 1.0))
            + beta_density(a, b + 1.0, x) / ((a + b) * (1.0 - x))
        ),
        lambda: xlog1py(v, -x) + v * digamma_gap(0, b, a),
    )


beta_density.defpartials(
    _beta_density_by_a,
    _beta_density_by_b,
    _beta_density_slope,
)


@kernel
def beta_log_density(a: Array, b: Array, x: Array) -> Any:
    """The logarithm of x**(a-1) (1-x)**(b-1) / B(a, b) for 0 ≤ x ≤ 1, by the same methods."""
    edge = (a <= 1.0) | (b <= 1.0)
    return either(edge, _beta_log_by_powers, _beta_log_by_stirling, a, b, x)


def _beta_log_by_powers(a: Array, b: Array, x: Array) -> Array:
    """Γ(a+b) / Γ(b), of which b is the larger, by Stirling's formula."""
    powers = sp.xlogy(a - 1.0, x) + sp.xlog1py(b - 1.0, -x)
    a, b = np.minimum(a, b), np.maximum(a, b)
    ratio = (b - 0.5) * np.log1p(a / b) + a * np.log(a + b) - a + _stirling(a + b) - _stirling(b)
    return np.asarray(powers + np.where(b == 1.0, np.log(a), ratio - sp.gammaln(a)))


def _beta_log_by_stirling(a: Array, b: Array, x: Array) -> Array:
    return np.asarray(np.log(a + b - 1.0) + _log_binomial(a - 1.0, b - 1.0, x))


def _log_binomial(k: Array, m: Array, p: Array) -> Array:
    """The logarithm of the probability of k successes and m failures, both positive."""
    n = k + m
    exponent = _stirling(n) - _stirling(k) - _stirling(m)
    exponent = exponent - deviance(k, n * p) - deviance(m, n * (1.0 - p))
    return np.asarray(exponent + 0.5 * np.log(n / (2.0 * np.pi * k * m)))


def _beta_score(a: Any, b: Any, x: Any) -> Any:
    """(a-1)/x - (b-1)/(1-x), so that neither it nor its derivative cancels."""
    return choose(
        _near_mode(a, b, x),
        lambda: ((a - 1.0) * (1.0 - x) - (b - 1.0) * x) / (x * (1.0 - x)),
        lambda: _absorbing(a - 1.0, x) - _absorbing(b - 1.0, 1.0 - x),
    )


beta_log_density.defpartials(
    lambda v, a, b, x: log(x) + digamma_gap(0, a, b),
    lambda v, a, b, x: log1p(-x) + digamma_gap(0, b, a),
    lambda v, a, b, x: _beta_score(a, b, x),
)


@kernel
def student_log_density(df: Array, t: Array) -> Any:
    """Log of Γ((df+1)/2) / (√(π df) Γ(df/2)) (1 + t²/df)**(-(df+1)/2), Student's t."""
    p = 0.5 * df
    far = np.abs(t) > 1e100
    large = 2.0 * np.log(np.abs(t)) - np.log(df)
    fall = (p + 0.5) * np.where(far, large, np.log1p(np.where(far, 0.0, t) ** 2 / df))
    constant = -p * _log1p_gap(0.5 / p) + _stirling(p + 0.5) - _stirling(p)
    exponent = np.where(np.isinf(df), -0.5 * t * t, constant - fall)
    return exponent - 0.5 * np.log(2.0 * np.pi)


student_log_density.defpartials(
    lambda v, df, t: choose(np.isinf(held(df)), lambda: 0.0, lambda: _student_slope(df, t)),
    lambda v, df, t: choose(np.isinf(held(df)), lambda: -t, lambda: _student_score(df, t)),
)


def _student_slope(df: Any, t: Any) -> Any:
    """The derivative by df, of which all terms shrink like df**-2.

    With w = t² / (df + t²), u = t² / df and p = df / 2 it is half of
    (ψ(p+½) - ψ(p) - 1/df) + w/df - (log1p(u) - w).
    """
    root = sqrt(df)
    w = square(hypot_ratio(t, root))
    spread = choose(
        np.abs(held(t)) < np.sqrt(held(df)),
        lambda: log1p_gap(-w),
        lambda: 2.0 * log(hypot(t, root)) - log(df) - w,
    )
    return 0.5 * (digamma_half_gap(0, 0.5 * df) + w / df - spread)


def _student_score(df: Any, t: Any) -> Any:
    """The derivative by t, -(df+1) t / (df + t²), where no square overflows."""
    root = sqrt(df)
    return choose(
        np.abs(held(t)) <= np.sqrt(held(df)),
        lambda: -(1.0 + reciprocal(df)) * (t / (1.0 + square(t / root))),
        lambda: -((df + 1.0) / t) / (1.0 + square(root / t)),
    )


def student_density(df: Any, t: Any) -> Any:
    """The density of Student's t."""
    return exp(student_log_density(df, t))


def student_tail_scale(df: Array) -> Array:
    """What the probability beyond ±t is times (√df / t)**df in the limit."""
    p = 0.5 * df
    return np.asarray(_reciprocal_beta(np.full_like(p, 0.5), p) / df)


def student_tail(df: Array, t: Array) -> Array:
    """The probability beyond ±t where x = df / (df + t²) is tiny: two terms of DLMF 8.17.7."""
    root = np.sqrt(df) / np.hypot(np.sqrt(df), t)
    p = 0.5 * df
    return np.asarray(
        student_tail_scale(df) * np.power(root, df) * (1.0 + 0.5 * p / (p + 1.0) * root * root)
    )


# --- the error function --------------------------------------------------------------------------


@kernel_of_order
def erfcx_moment(n: int, z: Array) -> Any:
    """2/√π ∫ tⁿ exp(-t² - 2zt) dt over t > 0: erfcx(z) for n = 0, and up to -2 its derivatives.

    It is n! exp(z²) times the repeated integral iⁿerfc(z) (Abramowitz and Stegun 7.2.3). Forward
    recurrence where it is stable, else the continued fraction of Gautschi (1961).
    """
    return either(z < 1.2, lambda z: _by_recurrence(n, z), lambda z: _by_fraction(n, z), z)


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


erfcx_moment.defpartials(lambda v, n, z: -2.0 * erfcx_moment(n + 1, z), argnums=(1,))


@kernel_of_order
def exp_over(n: int, x: Array) -> Any:
    """exp(x) / xⁿ for n = 1 or 2, finite wherever the quotient is."""
    root = np.exp(0.5 * x)
    return (root / x if n == 1 else root / x / x) * root


# One product: of a difference both terms would be infinite where the result is.
exp_over.defpartials(lambda v, n, x: v * (1.0 - n * reciprocal(x)), argnums=(1,))


# --- Bessel functions ----------------------------------------------------------------------------


@kernel_of_order
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


i0e_moment.defpartials(lambda v, n, x: -i0e_moment(n + 1, x), argnums=(1,))


@kernel_of_order
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


ive_tail.defpartials(None, lambda ans, n, v, x: ive_tail(n + 1, v, x), argnums=(1, 2))


@kernel_of_order
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


kve_moment.defpartials(None, lambda ans, n, v, x: -kve_moment(n + 1, v, x), argnums=(1, 2))


# --- quotients -----------------------------------------------------------------------------------


@kernel
def log_ratio(x: Array, y: Array) -> Any:
    """log(x / y) of positive numbers, also where the quotient overflows or is near 1."""
    ratio = x / y
    usual = np.where((ratio > 0.5) & (ratio < 2.0), np.log1p((x - y) / y), np.log(ratio))
    extreme = (ratio < 1e-300) | (ratio > 1e300)
    return np.where(extreme, np.log(x) - np.log(y), usual)


log_ratio.defpartials(lambda v, x, y: reciprocal(x), lambda v, x, y: -reciprocal(y))


@kernel
def hypot_ratio(x: Array, y: Array) -> Any:
    """X / hypot(x, y), 0 at the origin."""
    h = np.hypot(x, y)
    return np.where(h == 0.0, 0.0, x / h)


hypot_ratio.defpartials(
    lambda v, x, y: divide(square(hypot_ratio(y, x)), hypot(x, y)),
    lambda v, x, y: -v * divide(hypot_ratio(y, x), hypot(x, y)),
)
