"""The distributions of `cadiff.scipy.stats` in mpmath: values and derivatives to many digits.

A distribution is here its density and its two tails, each without cancellation; derivatives of the
tails are densities, by definition, and those of densities are differences in ample precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mpmath import mp

Real = Any
Function = Callable[..., Real]
Jet = tuple[Real, Real, Real]


class Truth(NamedTuple):
    """A distribution by the variable, or a discrete one by its parameter at a whole number.

    `log_mass` is the logarithm of its density or mass, `slope` the derivative of the upper or
    lower tail, of whichever rises.
    """

    log_mass: Function
    cdf: Function
    sf: Function
    log_slope: Function
    rising: str = "cdf"


def _normal(z: Real) -> Real:
    return -z * z / 2 - mp.log(2 * mp.pi) / 2


def _normal_tail(z: Real) -> Real:
    return mp.erfc(z / mp.sqrt(2)) / 2


def _student(z: Real, df: Real) -> Real:
    constant = mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2) - mp.log(mp.pi * df) / 2
    return constant - (df + 1) / 2 * mp.log1p(z * z / df)


def _student_tail(z: Real, df: Real) -> Real:
    tail = _beta_tail(df / (df + z * z), df / 2, mp.mpf(1) / 2) / 2
    return tail if z > 0 else 1 - tail


def _gamma(z: Real, a: Real) -> Real:
    return (a - 1) * mp.log(z) - z - mp.loggamma(a) if a != 1 else -z


def _gamma_below(z: Real, a: Real) -> Real:
    return mp.gammainc(a, 0, z, regularized=True)


def _gamma_above(z: Real, a: Real) -> Real:
    return mp.gammainc(a, z, regularized=True)


def _beta(z: Real, a: Real, b: Real) -> Real:
    below = (a - 1) * mp.log(z) if a != 1 else mp.zero
    return below + (b - 1) * mp.log1p(-z) + mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b)


def _beta_tail(z: Real, a: Real, b: Real) -> Real:
    return mp.betainc(a, b, 0, z, regularized=True)


def _binomial(k: Real, n: Real, p: Real) -> Real:
    return _beta(p, k + 1, n - k + 1) - mp.log(n + 1)


def _half(f: Function, log: bool = False) -> Function:
    """A function of gamma's as one of chi2's."""
    return lambda z, df: f(z / 2, df / 2) - (mp.log(2) if log else 0)


TRUTHS: dict[str, Truth] = {
    name: Truth(density, cdf, sf, density)
    for name, density, cdf, sf in (
        ("norm", _normal, lambda z: _normal_tail(-z), _normal_tail),
        ("t", _student, lambda z, df: _student_tail(-z, df), _student_tail),
        ("gamma", _gamma, _gamma_below, _gamma_above),
        ("chi2", _half(_gamma, True), _half(_gamma_below), _half(_gamma_above)),
        ("beta", _beta, _beta_tail, lambda z, a, b: _beta_tail(1 - z, b, a)),
        ("uniform", lambda z: mp.zero, lambda z: z, lambda z: 1 - z),
        ("expon", lambda z: -z, lambda z: -mp.expm1(-z), lambda z: mp.exp(-z)),
        (
            "laplace",
            lambda z: -abs(z) - mp.log(2),
            lambda z: mp.exp(z) / 2 if z < 0 else 1 - mp.exp(-z) / 2,
            lambda z: mp.exp(-z) / 2 if z > 0 else 1 - mp.exp(z) / 2,
        ),
        (
            "logistic",
            lambda z: -z - 2 * mp.log1p(mp.exp(-z)),
            lambda z: 1 / (1 + mp.exp(-z)),
            lambda z: 1 / (1 + mp.exp(z)),
        ),
        (
            "lognorm",
            lambda z, s: _normal(mp.log(z) / s) - mp.log(s * z),
            lambda z, s: _normal_tail(-mp.log(z) / s),
            lambda z, s: _normal_tail(mp.log(z) / s),
        ),
        (
            "cauchy",
            lambda z: -mp.log(mp.pi * (1 + z * z)),
            lambda z: mp.atan2(1, -z) / mp.pi,
            lambda z: mp.atan2(1, z) / mp.pi,
        ),
        (
            "weibull_min",
            lambda z, c: mp.log(c) + ((c - 1) * mp.log(z) if c != 1 else 0) - z**c,
            lambda z, c: -mp.expm1(-(z**c)),
            lambda z, c: mp.exp(-(z**c)),
        ),
    )
}

# By the last parameter, at a whole number k.
TRUTHS |= {
    "poisson": Truth(
        lambda mu, k: _gamma(mu, k + 1),
        lambda mu, k: _gamma_above(mu, k + 1),
        lambda mu, k: _gamma_below(mu, k + 1),
        lambda mu, k: _gamma(mu, k + 1),
        rising="sf",
    ),
    "binom": Truth(
        lambda p, k, n: _binomial(k, n, p),
        lambda p, k, n: _beta_tail(1 - p, n - k, k + 1),
        lambda p, k, n: _beta_tail(p, k + 1, n - k),
        lambda p, k, n: _beta(p, k + 1, n - k),
        rising="sf",
    ),
    "bernoulli": Truth(
        lambda p, k: mp.log(p) if k else mp.log1p(-p),
        lambda p, k: 1 - p,
        lambda p, k: p,
        lambda p, k: mp.zero,
        rising="sf",
    ),
}


def jet(name: str, method: str, z: float, *shapes: float) -> Jet:
    """Value, first and second derivative at a point inside the support.

    z is the variable of a continuous distribution and the last parameter of a discrete one, of
    which the shapes are the number and all other parameters.
    """
    with mp.workdps(DIGITS):
        x, parameters = mp.mpf(z), [mp.mpf(s) for s in shapes]
        truth, which = TRUTHS[name], method.removeprefix("log")
        if which not in ("cdf", "sf"):
            return _density_jet(which != method, lambda x: truth.log_mass(x, *parameters), x)
        density, rate, _ = _density_jet(False, lambda x: truth.log_slope(x, *parameters), x)
        p, q = (mp.re(getattr(truth, tail)(x, *parameters)) for tail in (which, OTHER[which]))
        slope = density if which == truth.rising else -density
        bend = rate if which == truth.rising else -rate
        if which == method:
            return p, slope, bend
        ratio = slope / p
        return mp.log(p) if p < 0.5 else mp.log1p(-q), ratio, _difference(bend / p, ratio**2)


OTHER = {"cdf": "sf", "sf": "cdf"}


def _density_jet(log: bool, logarithm: Function, x: Real) -> Jet:
    step = x * STEP
    value, above, below = logarithm(x), logarithm(x + step), logarithm(x - step)
    first = (above - below) / (2 * step)
    second = (above - 2 * value + below) / step**2
    if log:
        return value, first, second if abs(second * x) > NOISE * abs(first) else mp.zero
    density = mp.exp(value)
    return density, density * first, density * _difference(second, -(first**2))


DIGITS = 120
STEP = mp.mpf("1e-30")  # the errors of differences are its square, and 60 digits are left
NOISE = mp.mpf("1e-40")


def _difference(a: Real, b: Real) -> Real:
    """The difference a - b, or 0 where nothing but noise is left of it."""
    return a - b if abs(a - b) > NOISE * abs(a) else mp.zero
