"""Distributions of `scipy.stats` whose formulas have a limit in a shape parameter.

At 0 a quotient such as log(1 + c x) / c is none, and SciPy has another formula there; next to 0
its value has all digits, but the derivative of the quotient by c has none. Here such functions are
formulas of analytic ones, `boxcox`, `inv_boxcox`, `exprel` and log(1 + c x) / c itself, whose
derivatives have all digits at 0, beside it and far from it. Values are SciPy's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as st
from scipy.stats import _morestats

from ..numpy._common import as_number
from ..operations import table
from ..operations.guards import held, valued
from ..operations.primitives import primitive
from . import _families, _quadratures, _samples, special
from ._formulas import Tabulated, beside, formulas_of, real, rows_of
from ._mirror import kernels

Function = Callable[..., Any]

LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
ROOT_PI = math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2.0 * math.pi)

# Methods of distributions by their parameters; what begins with an underscore is for others.
CONTINUOUS = """
genpareto_gen._logpdf(x, c) = -(c + 1.0) * _log1p_over(x, c)
genpareto_gen._logsf(x, c) = -_log1p_over(x, c)

genextreme_gen._pdf(x, c) = _fall(x, c) * exp(-_tail(x, c))
genextreme_gen._logpdf(x, c) = _log_fall(x, c) - _tail(x, c)
genextreme_gen._loglogcdf(x, c) = -_log1p_over(x, -c)
genextreme_gen._ppf(q, c) = -boxcox(-log(q), c)
genextreme_gen._isf(q, c) = -boxcox(-log1p(-q), c)

genhalflogistic_gen._pdf(x, c) = 2.0 * _fall(x, c) / square(1.0 + _tail(x, c))
genhalflogistic_gen._cdf(x, c) = tanh(-0.5 * _log1p_over(-x, c))
genhalflogistic_gen._ppf(q, c) = -boxcox((1.0 - q) / (1.0 + q), c)

kappa4_gen._pdf(x, h, k) = _fall(x, k) * _fall(_tail(x, k), h)
kappa4_gen._logpdf(x, h, k) = _log_fall(x, k) + _log_fall(_tail(x, k), h)
kappa4_gen._logcdf(x, h, k) = -_log1p_over(_tail(x, k), -h)
kappa4_gen._ppf(q, h, k) = -boxcox(-boxcox(q, h), k)
# (1 - c x)**(1/c), also at the end of a support, and how it falls with x, by 1 where c is.
_tail(x, c) = power(1.0 - c * x, 1.0 / c) if c * x == 1.0 else exp(-_log1p_over(x, -c))
_fall(x, c) =
    power(1.0 - c * x, 1.0 / c - 1.0) if c * x == 1.0 and c != 1.0 else exp(_log_fall(x, c))
_log_fall(x, c) =
    xlog1py(1.0 - c, -c * x) / c if c == 1.0 else (c - 1.0) * _log1p_over(x, -c)

bradford_gen._pdf(x, c) = reciprocal((1.0 + c * x) * _log1p_over(1.0, c))
bradford_gen._cdf(x, c) = _log1p_over(x, c) / _log1p_over(1.0, c)
bradford_gen._ppf(q, c) = q * _log1p_over(1.0, c) * exprel(q * log1p(c))
# Moments about 0: means of powers of x over 1 + c x.
_bradford_moment(n, c) = hyp2f1(1.0, n + 1.0, n + 2.0, -c) / ((n + 1.0) * _log1p_over(1.0, c))

truncexpon_gen._munp(n, b) = power(b, n) * hyp1f1(n + 1.0, n + 2.0, -b) / ((n + 1.0) * exprel(-b))

genexpon_gen._logpdf(x, a, b, c) = log(a - b * expm1(-c * x)) + _exponent(x, a, b, c)
genexpon_gen._pdf(x, a, b, c) = (a - b * expm1(-c * x)) * exp(_exponent(x, a, b, c))
genexpon_gen._cdf(x, a, b, c) = -expm1(_exponent(x, a, b, c))
genexpon_gen._sf(x, a, b, c) = exp(_exponent(x, a, b, c))
_exponent(x, a, b, c) = b * (x * exprel(-c * x)) - (a + b) * x

truncpareto_gen._pdf(x, b, c) = power(x, -1.0 - b) / boxcox(c, -b)
truncpareto_gen._logpdf(x, b, c) = -(b + 1.0) * log(x) - log(boxcox(c, -b))
truncpareto_gen._cdf(x, b, c) = boxcox(x, -b) / boxcox(c, -b)
truncpareto_gen._logcdf(x, b, c) = log(boxcox(x, -b)) - log(boxcox(c, -b))
truncpareto_gen._sf(x, b, c) = power(x, -b) * boxcox(c / x, -b) / boxcox(c, -b)
truncpareto_gen._logsf(x, b, c) = -b * log(x) + log(boxcox(c / x, -b)) - log(boxcox(c, -b))
truncpareto_gen._munp(n, b, c) = power(c, n) * boxcox(c, b - n) / boxcox(c, b)
truncpareto_gen._ppf(q, b, c) = inv_boxcox(q * boxcox(c, -b), -b)
truncpareto_gen._isf(q, b, c) = inv_boxcox((1.0 - q) * boxcox(c, -b), -b)

# Of the integral of the density, ∫ t² exp(-χ² t²/2) dt, the power of χ is left out.
argus_gen._logpdf(x, chi) = log(x) + 0.5 * log1p(-square(x)) + (
    0.5 * square(chi * x) - log(hyp1f1(1.0, 2.5, 0.5 * square(chi))) if chi < 5.0 else
    3.0 * log(chi) - 0.5 * square(chi) * (1.0 - square(x)) - log(gammainc(1.5, 0.5 * square(chi))))
argus_gen._sf(x, chi) =
    power(y, 1.5) * exp(0.5 * square(chi * x)) * hyp1f1(1.0, 2.5, 0.5 * square(chi) * y)
    / hyp1f1(1.0, 2.5, 0.5 * square(chi)) if chi < 5.0 else
    gammainc(1.5, 0.5 * square(chi) * y) / gammainc(1.5, 0.5 * square(chi))
    where y = 1.0 - square(x)

# With Mills' ratio of z = 1/K - x, which is (1 - m) / z.
exponnorm_gen._logpdf(x, K) = _normal_and_exponential(x, K)
exponnorm_gen._cdf(x, K) = ndtr(x) - K * exp(_normal_and_exponential(x, K))
exponnorm_gen._sf(x, K) = ndtr(-x) + K * exp(_normal_and_exponential(x, K))
_normal_and_exponential(x, K) =
    log1p(-ROOT_PI * erfcx_moment(1, math.sqrt(0.5) * (1.0 / K - x))) - log1p(-K * x)
    - 0.5 * square(x) - LOG_ROOT_2PI if K * x < 0.5 else
    (0.5 / K - x) / K + log_ndtr(x - 1.0 / K) - log(K)

# At 0 the two tails meet with one slope.
dweibull_gen._cdf(x, c) = _weibull_tail(x, c) if x <= 0.0 else 1.0 - _weibull_tail(-x, c)
dweibull_gen._sf(x, c) = 1.0 - _weibull_tail(x, c) if x <= 0.0 else _weibull_tail(-x, c)
_weibull_tail(x, c) = 0.5 * exp(-power(_unless(x > 0.0, -x), c))

# An angle, without the pole of its half's tangent.
wrapcauchy_gen._cdf(x, c) = arctan2((1.0 + c) * sin(0.5 * x), (1.0 - c) * cos(0.5 * x)) / math.pi
wrapcauchy_gen._ppf(q, c) =
    2.0 * arctan2((1.0 - c) * sin(math.pi * q), (1.0 + c) * cos(math.pi * q))

# Each term over the sum: two cancel in the middle between equal tails.
dpareto_lognorm_gen._logcdf(x, u, s, a, b) =
    log(exp(log_ndtr(z) - v) - (b * exp(a * s * (0.5 * a * s - z) + log_ndtr(z - a * s) - v)
    - a * exp(b * s * (0.5 * b * s + z) + log_ndtr(-z - b * s) - v)) / (a + b))
    where z = (log(x) - u) / s
    where v = _value(*map(held, (x, u, s, a, b)),
    of=_of_scipy("dpareto_lognorm_gen._logcdf"))

skewnorm_gen._pdf(x, a) = 2.0 * _normal_density(x) * ndtr(a * x)
skewnorm_gen._logpdf(x, a) = log_ndtr(a * x) - 0.5 * square(x)

ncx2_gen._pdf(x, df, nc) = _ncx2_pdf(x, df, nc)
ncx2_gen._cdf(x, df, nc) = chndtr(x, df, nc)
ncx2_gen._sf(x, df, nc) = _ncx2_sf(x, df, nc)
ncx2_gen._ppf(q, df, nc) = chndtrix(q, df, nc)
ncx2_gen._isf(q, df, nc) = _ncx2_isf(q, df, nc)
ncx2_gen._logpdf(x, df, nc) =
    gamma_log_density(0.5 * df, 0.5 * x) - 0.5 * nc + log(hyp0f1(0.5 * df, 0.25 * nc * x))
    if nc * x < 4.0 else (0.25 * df - 0.5) * log(x / nc) + log(ive(0.5 * df - 1.0, sqrt(nc * x)))
    - 0.5 * square(sqrt(x) - sqrt(nc))

# Bessel's function is scaled by exp(-|x|), which has two slopes at 0, but no x is below.
vonmises_gen._pdf(x, kappa) = exp(kappa * cosm1(x)) / (math.tau * _scaled_bessel(kappa))
vonmises_gen._logpdf(x, kappa) = kappa * cosm1(x) - log(math.tau * _scaled_bessel(kappa))
rice_gen._pdf(x, b) = x * exp(-0.5 * square(x - b)) * _scaled_bessel(x * b)
rice_gen._logpdf(x, b) = log(x) - 0.5 * square(x - b) + log(_scaled_bessel(x * b))
_scaled_bessel(x) = exp(-x) * i0(_unless(x > 10.0, x)) if x < 10.0 else i0e(x)

# Of a skew s, with t = s x / 2: the density is gamma's of the shape a = 4/s² at a (1 + t).
pearson3_gen._logpdf(x, skew) = _pearson_log_density(x, skew)
pearson3_gen._pdf(x, skew) = exp(_pearson_log_density(x, skew))
_pearson_log_density(x, skew) =
    -math.inf if 0.5 * skew * x <= -1.0 else
    -_log1p_bend(x, _unless(0.5 * skew * x <= -1.0, skew)) - _stirling_error(0.25 * square(skew))
    - log1p(_unless(0.5 * skew * x <= -1.0, 0.5 * skew * x)) - LOG_ROOT_2PI
# (t - log1p(t)) / t² times x².
_log1p_bend(x, skew) =
    4.0 * ((t - log1p(t)) / square(skew)) if abs(t) > 0.5 else
    0.5 * square(x) * hyp2f1(1.0, 2.0, 3.0, -_unless(abs(t) > 0.5, t))
    where t = 0.5 * skew * x
# log Γ(a) less Stirling's formula, of u = 1/a (DLMF 5.11.1).
_stirling_error(u) =
    u * (1.0 / 12.0 - v * (1.0 / 360.0 - v * (1.0 / 1260.0 - v * (1.0 / 1680.0
    - v * (1.0 / 1188.0 - v * (691.0 / 360360.0 - v / 156.0)))))) if u < 0.08 else
    gammaln(1.0 / u) + (1.0 / u - 0.5) * log(u) + 1.0 / u - LOG_ROOT_2PI
    where v = square(u)
"""
DISCRETE = """
boltzmann_gen._pmf(k, lambda_, N) =
    exp(-lambda_ * k) * exprel(-lambda_) / (N * exprel(-lambda_ * N))
boltzmann_gen._cdf(x, lambda_, N) =
    (np.floor(x) + 1.0) / N * exprel(-lambda_ * (np.floor(x) + 1.0)) / exprel(-lambda_ * N)
"""

# Derivatives of Pearson's distribution function, by the integral of that of its density where the
# skew is small, and else by gamma's.
ROWS = """
_pearson(x, skew)
    x: exp(_pearson_log_density(x, skew))
    skew: _pearson_by_skew(x, skew)
_pearson_above(x, skew)
    x: -exp(_pearson_log_density(x, skew))
    skew: -_pearson_by_skew(x, skew)
_pearson_ppf(q, skew)
    q: exp(-_pearson_log_density(ans, skew))
    skew: -_pearson_by_skew(ans, skew) * exp(-_pearson_log_density(ans, skew))
_pearson_near(x, skew)
    x: _pearson_score(x, skew) * exp(_pearson_log_density(x, skew))
    skew: over 0.3
_pearson_by_skew(x, skew) =
    _pearson_near(x, skew) if np.abs(skew) < 0.7 else 0.0 if 0.5 * skew * x <= -1.0 else
    -sign(skew) * (8.0 / (skew * square(skew)) * (_gamma_by_shape(a, y) + gamma_density(a, y))
    + 2.0 * x / square(skew) * gamma_density(a, y))
    where a = 4.0 / square(skew)
    where y = (1.0 + _unless(np.abs(skew) < 0.7, 0.5 * skew * x)) * 4.0 / square(skew)
# The derivative of the logarithm of the density by the skew.
_pearson_score(x, skew) =
    0.0 if t <= -1.0 else x * square(x) / 6.0 * _log1p_bend_slope(_unless(t <= -1.0, t))
    - 0.5 * x / (1.0 + t) - 0.5 * skew * _stirling_slope(0.25 * square(skew))
    where t = 0.5 * skew * x
_log1p_bend_slope(t) =
    3.0 * (2.0 * (t - log1p(t)) / t - t / (1.0 + t)) / square(t) if abs(t) > 0.5 else
    hyp2f1(2.0, 3.0, 4.0, -_unless(abs(t) > 0.5, t))
_stirling_slope(u) =
    1.0 / 12.0 - v * (3.0 / 360.0 - v * (5.0 / 1260.0 - v * (7.0 / 1680.0
    - v * (9.0 / 1188.0 - v * (7601.0 / 360360.0 - v / 12.0))))) if u < 0.08 else
    -(digamma(1.0 / u) + log(u) + 0.5 * u) / v
    where v = square(u)
"""


def _pearson_integral(x: Any, skew: Any) -> Any:
    """From x to where nothing is left, by Gauss's quadrature."""
    x, skew = np.broadcast_arrays(np.asarray(x, float), skew)
    t, size, outwards = 0.5 * skew * x, np.abs(x), np.where(x < 0.0, -1.0, 1.0)
    width = np.minimum(24.0, 45.0 * (1.0 + np.maximum(t, 0.0)) / np.maximum(size, 1.5))
    with np.errstate(divide="ignore"):
        width = np.where(
            skew * outwards < 0.0, np.minimum(width, 2.0 / np.abs(skew) - size), width
        )
    score, log_density = NAMES["_pearson_score"], NAMES["_pearson_log_density"]
    end = x + outwards * np.maximum(width, 0.0)
    return _quadratures.between(lambda x: score(x, skew) * np.exp(log_density(x, skew)), end, x)


@primitive
def _value(*args: Any, of: Function) -> Any:
    """What SciPy computes of numbers without derivatives."""
    return of(*args)


_value.defpartials(*[None] * 4)  # nothing has more parameters


@functools.cache
def _of_scipy(name: str) -> Function:
    """SciPy's own method, of a name such as "norm_gen._pdf"."""
    distribution, _, method = name.partition("_gen.")
    return lambda *args: getattr(getattr(st, distribution), method)(*args)


def _method(formula: Function, name: str) -> Function:
    """A method of mirrors that has the derivatives of a formula."""
    of = _of_scipy(name)

    def method(self: Any, *args: Any) -> Any:
        numbers = [real(as_number(x)) for x in args]
        return valued(formula(*numbers), _value(*map(held, numbers), of=of))

    return method


@kernels("scipy.stats._continuous_distns", "genpareto_gen._munp")
def _pareto_moment(self: Any, n: int, c: Any) -> Any:
    product = math.prod(1.0 - k * as_number(c) for k in range(1, n + 1))
    value = _value(held(c), of=lambda c: st.genpareto._munp(n, c))
    return valued(math.factorial(n) / product, value)


@kernels("scipy.stats._continuous_distns", "genextreme_gen._stats", within=True)
def _extreme_moments(self: Any, original: Function, c: Any) -> tuple[Any, ...]:
    found = beside("c", 0.0)(functools.partial(original, self), c)
    values = (functools.partial(lambda k, c: st.genextreme._stats(c)[k], k) for k in range(4))
    return tuple(valued(x, _value(held(c), of=of)) for x, of in zip(found, values, strict=True))


@kernels("scipy.stats._continuous_distns", "bradford_gen._stats", within=True)
def _bradford_moments(self: Any, original: Function, c: Any, moments: str = "mv") -> Any:
    c = as_number(c)
    one, two, three, four = (NAMES["_bradford_moment"](float(n), c) for n in range(1, 5))
    spread = two - one * one
    found = (
        one,
        spread,
        (three - 3.0 * one * two + 2.0 * one**3) / spread**1.5,
        (four - 4.0 * one * three + 6.0 * one * one * two - 3.0 * one**4) / spread**2 - 3.0,
    )
    values = original(self, held(c), moments=moments)
    return tuple(
        None if value is None else valued(x, value) for x, value in zip(found, values, strict=True)
    )


NAMES = globals()
_formula = formulas_of(NAMES, _families, special, _samples)
for _module, _table in (("_continuous_distns", CONTINUOUS), ("_discrete_distns", DISCRETE)):
    for _name, _parameters, _row in rows_of(_table):
        NAMES[_name] = _formula(_parameters, str(_row))
        if "_gen." in _name:
            kernels(f"scipy.stats.{_module}", _name)(_method(NAMES[_name], _name))
VALUES = {
    "_pearson": _of_scipy("pearson3_gen._cdf"),
    "_pearson_above": _of_scipy("pearson3_gen._sf"),
    "_pearson_ppf": _of_scipy("pearson3_gen._ppf"),
    "_pearson_near": _pearson_integral,
}
for _name, _parameters, _row in rows_of(ROWS):
    if isinstance(_row, str):
        NAMES[_name] = _formula(_parameters, _row)
    else:
        NAMES[_name] = Tabulated(_name, _parameters, VALUES[_name], _row, _formula)
for _name, _row in {"_cdf": "_pearson", "_sf": "_pearson_above", "_ppf": "_pearson_ppf"}.items():
    kernels("scipy.stats._continuous_distns", f"pearson3_gen.{_name}")(
        lambda self, *args, row=NAMES[_row]: row(*map(as_number, args))
    )


# --- transformations of samples ------------------------------------------------------------------

_yeojohnson = _formula(
    "x, lmbda",
    "boxcox1p(_unless(x < 0.0, x), lmbda) if x >= 0.0 else"
    " -boxcox1p(_unless(x >= 0.0, -x), 2.0 - lmbda)",
)


@kernels("scipy.stats._morestats")
def _yeojohnson_transform(x: Any, lmbda: Any, xp: Any = None) -> Any:
    """Box and Cox's transformation of 1 + x, and for x < 0 the mirrored one."""
    x = as_number(x)
    value = _value(held(x), held(lmbda), of=_morestats._yeojohnson_transform)
    return valued(_yeojohnson(x, lmbda), value)


@kernels("scipy.stats._morestats", within=True)
def _boxcox_llf(original: Function, data: Any, axis: int = 0, *, lmb: Any) -> Any:
    """By the powers, in units of the largest; if all are nearly 1 by the transformed data."""
    data = as_number(data)
    logs = table.log(data)
    powers = lmb * logs
    if np.max(np.abs(held(powers)), initial=0.0) > 1.0:
        top = np.max(held(powers), axis=axis, keepdims=True)
        spread = table.log(np.var(table.exp(powers - top), axis=axis))
        spread = spread + 2.0 * np.squeeze(top, axis) - 2.0 * table.log(abs(lmb))
    else:
        spread = table.log(np.var(vars(special)["boxcox"](data, lmb), axis=axis))
    return _likelihood(original, data, axis, lmb, logs, spread)


@kernels("scipy.stats._morestats", within=True)
def _yeojohnson_llf(original: Function, data: Any, axis: int = 0, *, lmb: Any) -> Any:
    data = as_number(data)
    logs = table.log1p(abs(data)) * np.where(held(data) >= 0.0, 1.0, -1.0)
    spread = table.log(np.var(_yeojohnson(data, lmb), axis=axis))
    return _likelihood(original, data, axis, lmb, logs, spread)


def _likelihood(original: Function, data: Any, axis: int, lmb: Any, logs: Any, spread: Any) -> Any:
    """By the logarithm of the variance; the value is SciPy's."""
    value = original(held(data), axis=axis, lmb=held(lmb))
    n = np.shape(data)[axis]
    return valued((lmb - 1.0) * np.sum(logs, axis=axis) - 0.5 * n * spread, value)


def _of_samples(name: str) -> None:
    """The functions themselves, of samples along the first axis, where SciPy has none of those."""
    scipys = getattr(_morestats, name)

    def function(_: Function, lmb: Any, data: Any) -> Any:
        of = lambda data, axis, lmb: _value(lmb, data, of=scipys)  # noqa: E731
        return NAMES[f"_{name}"](of, data, lmb=lmb)

    if not hasattr(_morestats, f"_{name}"):
        kernels("scipy.stats._morestats", name, within=True)(function)


_of_samples("boxcox_llf")
_of_samples("yeojohnson_llf")
