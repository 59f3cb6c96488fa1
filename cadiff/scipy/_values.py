"""Values of functions of SciPy's where SciPy's own are not right: plain NumPy.

Each takes the arguments of SciPy's function, asks SciPy where it is right, and says where it is
not. NumPy's warnings are off.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
from numpy.typing import ArrayLike, NDArray

from ._families import (
    deviance,
    either,
    floats,
    ive_tail,
    kve_moment,
    student_log_density,
    student_tail,
    student_tail_scale,
)

Array = NDArray[np.float64]
Function = Callable[..., Any]


def _instead_of(
    usual: Callable[..., Any], wrong: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """SciPy's values, but those of a function at the places where its own are `wrong`."""

    def decorate(right: Function) -> Function:
        @functools.wraps(right)
        def values(*args: ArrayLike) -> Any:
            result = usual(*args)
            if np.iscomplexobj(result):
                return result
            at = floats(*args)
            places = wrong(*at)
            if not np.any(places):
                return result
            result = np.array(result)
            result[places] = right(*(x[places] for x in at))
            return result[()]

        return values

    return decorate


# --- elementary ----------------------------------------------------------------------------------

# SciPy loses the digits of the angle next to a pole, and all of them beyond 1e14.


def _nearest_turn(x: ArrayLike) -> Array:
    """The angle less a multiple of 180, at most 90 in size, without rounding."""
    rest = np.fmod(x, 180.0)
    return np.asarray(np.where(np.abs(rest) > 90.0, rest - np.copysign(180.0, rest), rest))


def sindg(x: ArrayLike) -> Any:
    return sp.sindg(np.fmod(x, 360.0))


def cosdg(x: ArrayLike) -> Any:
    return sp.cosdg(np.fmod(x, 360.0))


def tandg(x: ArrayLike) -> Any:
    turn = _nearest_turn(x)
    beside = np.copysign(1.0, turn) / sp.tandg(90.0 - np.abs(turn))
    return np.where(np.abs(turn) > 85.0, beside, sp.tandg(turn))[()]


def cotdg(x: ArrayLike) -> Any:
    turn = _nearest_turn(x)
    size = np.abs(turn)
    far = np.where(size > 85.0, sp.tandg(90.0 - size), sp.cotdg(size))
    inner = np.where(turn == 0.0, np.inf, 1.0 / sp.tandg(turn))
    return np.where(size < 5.0, inner, np.copysign(far, turn))[()]


@_instead_of(sp.powm1, lambda x, y: np.isinf(np.power(x, y)))
def powm1(x: Array, y: Array) -> Any:
    """SciPy's is 0 where it overflows."""
    return np.power(x, y) - 1.0


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Any:
    return _with_end(sp.boxcox(x, lmbda), np.equal(x, 0.0), lmbda)


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Any:
    return _with_end(sp.boxcox1p(x, lmbda), np.equal(x, -1.0), lmbda)


def _with_end(usual: Array, end: Array, lmbda: ArrayLike) -> Any:
    """The values, but -1 / λ where x**λ is zero, also for a tiny λ."""
    return np.where(end & np.greater(lmbda, 0.0), np.divide(-1.0, lmbda), usual)[()]


def inv_boxcox1p(y: ArrayLike, lmbda: ArrayLike) -> Any:
    """SciPy takes λ y for y, where it is tiny."""
    tiny = np.not_equal(lmbda, 0.0) & (np.abs(np.multiply(lmbda, y)) < 1e-150)
    return np.where(tiny, np.expm1(y), sp.inv_boxcox1p(y, lmbda))[()]


# --- entropies and losses ------------------------------------------------------------------------


def _are_apart(x: Array, y: Array) -> Any:
    ratio = x / y
    return np.asarray((ratio < 1e-300) | (ratio > 1e300))


def _are_near_or_apart(x: Array, y: Array) -> Any:
    near = (x > 0.99 * y) & (x < 1.01 * y)
    return (near | _are_apart(x, y)) & (x > 0.0) & (y > 0.0) & np.isfinite(x) & np.isfinite(y)


@_instead_of(sp.kl_div, _are_near_or_apart)
def kl_div(x: Array, y: Array) -> Any:
    """SciPy's rounds where x and y are near, and overflows or underflows where x / y does."""

    def apart(x: Array, y: Array) -> Array:
        return np.asarray(x * (np.log(x) - np.log(y)) - x + y)

    return either(_are_apart(x, y), apart, deviance, x, y)


def _squares_overflow(delta: Array, r: Array) -> Any:
    least, most = np.minimum(delta, np.abs(r)), np.maximum(delta, np.abs(r))
    return (delta > 0.0) & np.isfinite(most) & ((least < 1e-70) | (most > 1e70))


@_instead_of(sp.pseudo_huber, _squares_overflow)
def pseudo_huber(delta: Array, r: Array) -> Any:
    """SciPy's is nan or infinite where the square of r / δ is; here none is taken."""
    total = np.hypot(delta, r) + delta
    near = r * (r * (delta / total))
    return np.where(np.abs(r) < delta, near, delta * (r * (r / total)))


# --- distributions and sums ----------------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@_instead_of(sp.owens_t, lambda h, a: np.abs(a) * np.maximum(np.abs(h), 1.0) < 0.01)
def owens_t(h: Array, a: Array) -> Any:
    """SciPy's has no digits where a is small beside 1 / h; there Gauss's rule has all of them."""
    at = 0.5 * a[..., np.newaxis] * (_NODES + 1.0)
    heights = np.exp(-0.5 * np.square(h[..., np.newaxis] * at)) / (1.0 + np.square(at))
    return np.exp(-0.5 * h * h) * a * (heights @ _WEIGHTS) / (4.0 * np.pi)


def _is_near(df: Array, t: Array) -> Any:
    return np.abs(t) < 1e-4 * np.sqrt(df / (df + 1.0))


def _is_near_or_far(df: Array, t: Array) -> Any:
    far = np.sqrt(df) < 1e-4 * np.abs(t)
    return (df > 0.0) & np.isfinite(df) & np.isfinite(t) & (_is_near(df, t) | far)


@_instead_of(sp.stdtr, _is_near_or_far)
def stdtr(df: Array, t: Array) -> Any:
    """SciPy's loses digits next to t = 0, and the tail where t² is far beyond df."""

    def near(df: Array, t: Array) -> Array:
        """Two terms of the power series."""
        slope = np.exp(student_log_density(df, 0.0))
        return np.asarray(0.5 + t * slope * (1.0 - (1.0 + 1.0 / df) * t * t / 6.0))

    def far(df: Array, t: Array) -> Array:
        tail = student_tail(df, t)
        return np.where(t < 0.0, tail, 1.0 - tail)

    return either(_is_near(df, t), near, far, df, t)


def _tail_ratio(df: Array, p: Array) -> Any:
    return np.power(student_tail_scale(df) / p, 1.0 / df)


@_instead_of(
    sp.stdtrit,
    lambda df, p: (df > 0.0) & (df < 1e3) & (p > 0.0) & (p < 0.5) & (_tail_ratio(df, p) > 1e9),
)
def stdtrit(df: Array, p: Array) -> Any:
    """SciPy's is infinite of the wrong sign for a tiny p; there the tail is a power of t."""
    return -np.sqrt(df) * _tail_ratio(df, p)


@_instead_of(sp.zeta, lambda x, q: (x > 1.0) & (x < 1.1) & (q > 0.0) & (q < 1e-10))
def zeta(x: Array, q: Array) -> Any:
    """SciPy's stops after q**-x where that is large, but near x = 1 the rest is larger."""
    return np.power(q, -x) + sp.zeta(x, q + 1.0)


# --- Bessel functions ----------------------------------------------------------------------------


SMALL = 1e-140  # below it a Bessel function is the first term of its series


def _first_term(v: Array, z: Array) -> Array:
    """The first term of I_v and, but for its sign, of J_v (DLMF 10.25.2)."""
    v = np.where(v == np.floor(v), np.abs(v), v)
    return np.asarray(np.power(0.5 * z, v) * sp.rgamma(v + 1.0))


def _is_small(v: Array, z: Array) -> Any:
    return (z >= 0.0) & (z < SMALL)


def _nearly_overflows(v: Array, z: Array) -> Any:
    return (z > 690.0) & (z < 1400.0)


@_instead_of(sp.jv, _is_small)
def jv(v: Array, z: Array) -> Any:
    """SciPy's is 0 before it underflows."""
    odd = (v < 0.0) & (v == np.floor(v)) & (v % 2.0 == 1.0)
    return np.where(odd, -1.0, 1.0) * _first_term(v, z)


@_instead_of(sp.iv, lambda v, z: _is_small(v, z) | _nearly_overflows(v, z))
def iv(v: Array, z: Array) -> Any:
    """SciPy's is infinite before it overflows, and 0 before it underflows."""

    def large(v: Array, z: Array) -> Array:
        half = np.exp(0.5 * z)
        return np.asarray(sp.ive(v, z) * half * half)

    return either(z > 1.0, large, _first_term, v, z)


def _unscaled_kve(v: Array, z: Array) -> Any:
    """SciPy's K is 0 before it underflows."""
    return sp.kve(v, z) * np.exp(-z)


kn = _instead_of(sp.kn, _nearly_overflows)(_unscaled_kve)
kv = _instead_of(sp.kv, _nearly_overflows)(_unscaled_kve)


@_instead_of(sp.ive, lambda v, z: _is_small(v, z) | (z > 1e8 + v * v))
def ive(v: Array, z: Array) -> Any:
    """SciPy's is nan for a huge z, and 0 before it underflows."""
    return either(z > 1.0, lambda v, z: np.asarray(ive_tail(0, v, z)), _first_term, v, z)


@_instead_of(sp.kve, lambda v, z: (z > 1e8) & (z > 2.0 * np.abs(v)))
def kve(v: Array, z: Array) -> Any:
    """SciPy's is nan for a huge z."""
    return kve_moment(0, v, z)


# --- hypergeometric functions --------------------------------------------------------------------


def _is_beyond(v: ArrayLike, z: ArrayLike) -> Any:
    large = np.greater(v, 0.0) & np.less(v, 100.0) & np.greater(z, 1e5)
    return large | (np.greater(v, 100.0) & (np.abs(z) < np.multiply(4.0, v)))


def _hyp0f1(v: ArrayLike, z: ArrayLike) -> Any:
    """SciPy's, not asked where it divides by zero, of which Python would be told."""
    return sp.hyp0f1(v, z if np.iscomplexobj(z) else np.where(_is_beyond(v, z), 0.0, z))


@_instead_of(_hyp0f1, _is_beyond)
def hyp0f1(v: Array, z: Array) -> Any:
    """SciPy's overflows or rounds for a large v, where the power series has all digits.

    For a large z > 0 it may be 0 instead of infinite: √z is that of DLMF 10.39.9.
    """

    def series(v: Array, z: Array) -> Array:
        total = term = np.ones_like(z)
        for k in range(40):
            term = term * z / ((v + k) * (k + 1.0))
            total = total + term
        return np.asarray(total)

    def by_bessel(v: Array, z: Array) -> Array:
        root = np.sqrt(z)
        growth = sp.gammaln(v) + (1.0 - v) * np.log(root) + 2.0 * root
        return np.asarray(np.exp(growth) * ive(v - 1.0, 2.0 * root))

    return either(v > 100.0, series, by_bessel, v, z)


def _hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Any:
    """SciPy's, not asked where it may not return."""
    if np.iscomplexobj(x):
        return sp.hyp1f1(a, b, x)
    gap = np.subtract(b, a)
    endless = np.greater(a, 0.0) | np.not_equal(a, np.floor(a))
    falls = np.less_equal(gap, 0.0) & np.equal(gap, np.floor(gap))
    x = np.where(endless & np.greater(x, 1e6), 1e6, x)
    return sp.hyp1f1(a, b, np.where(falls & np.less(x, -1e6), -1e6, x))


def _falls_far(a: Array, b: Array, x: Array) -> Any:
    falls = (b - a <= 0.0) & (b - a == np.floor(b - a))
    return (np.abs(a) < 50.0) & (np.abs(b) < 50.0) & (x < -1e12) & ~falls


def _is_tiny(x: Array) -> Any:
    return (x < 0.0) & (x > -1e-100)


def _loses_digits(a: Array, b: Array, x: Array) -> Any:
    near = (a > 50.0) & (x >= -1.0) & (a * x < -5.0)
    return _falls_far(a, b, x) | _is_tiny(x) | near


@_instead_of(_hyp1f1, _loses_digits)
def hyp1f1(a: Array, b: Array, x: Array) -> Any:
    """SciPy's may not return for |x| > 1e6, and loses its digits below and next to x = 0.

    Far out all but polynomials are infinite, those times exp(x) are 0, and the rest is the first
    terms of DLMF 13.7.2.
    """

    def far(a: Array, b: Array, x: Array) -> Array:
        scale = sp.gamma(b) * sp.rgamma(b - a)
        return np.asarray(scale * np.power(-x, -a) * (1.0 - a * (a - b + 1.0) / x))

    other = either(_falls_far(a, b, x), far, _hyp1f1_by_recurrence, a, b, x)
    return np.where(_is_tiny(x), 1.0, other)


def _hyp1f1_by_recurrence(a: Array, b: Array, x: Array) -> Array:
    """Upwards in a (DLMF 13.3.1) from where SciPy is right; nan for more than 5000 steps."""
    at = a - np.floor(a) + 1.0
    before, last = sp.hyp1f1(at - 1.0, b, x), sp.hyp1f1(at, b, x)
    moves = (at < a - 0.5) & (a <= 5000.0)
    while np.any(moves):
        after = ((b - at) * before + (2.0 * at - b + x) * last) / at
        before, last = np.where(moves, last, before), np.where(moves, after, last)
        at = at + moves
        moves = moves & (at < a - 0.5)
    return np.where(a <= 5000.0, last, np.nan)


def _is_far(a: Array, b: Array, c: Array, z: Array) -> Any:
    size = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.abs(c)) + 1.0
    pole = (c <= 0.0) & (c == np.floor(c))
    return (size < 50.0) & (z < -20.0 * size * size) & ~pole & np.isfinite(z)


@_instead_of(
    sp.hyp2f1, lambda a, b, c, z: _is_far(a, b, c, z) | ((c > 12.0) & (z > -20.0) & (z < -2.0))
)
def hyp2f1(a: Array, b: Array, c: Array, z: Array) -> Any:
    """SciPy's loses digits in proportion to -z, and next to z = -2 with c."""

    def pfaff(a: Array, b: Array, c: Array, z: Array) -> Array:
        """DLMF 15.8.1."""
        return np.asarray(np.power(1.0 - z, -a) * sp.hyp2f1(a, c - b, c, z / (z - 1.0)))

    return either(_is_far(a, b, c, z), _hyp2f1_far, pfaff, a, b, c, z)


def _hyp2f1_far(a: Array, b: Array, c: Array, z: Array) -> Array:
    """By the series in 1/z (DLMF 15.8.2), which has poles where b - a is a whole number.

    But the function is analytic in b: it is the mean of its values on a circle around it, so small
    that (-z)**-b, with which it varies, does so by a factor of two at most.
    """
    low, high = np.minimum(a, b), np.maximum(a, b)
    directions = np.exp(1j * np.pi / 8.0 * (np.arange(16) + 0.5))
    radius = 0.5 / np.log(-z)
    a, c, z = low[..., np.newaxis], c[..., np.newaxis], z[..., np.newaxis]
    b = high[..., np.newaxis] + radius[..., np.newaxis] * directions

    def half(a: Array, b: Array) -> Array:
        """The part that falls like (-z)**-a."""
        total = term = np.ones_like(a * b)
        for k in range(24):
            term = term * ((a + k) * (a - c + 1.0 + k) / ((a - b + 1.0 + k) * (k + 1.0))) / z
            total = total + term
        scale = sp.gamma(c) * sp.gamma(b - a) * sp.rgamma(b) * sp.rgamma(c - a)
        return np.asarray(scale * np.power(-z, -a) * total)

    return np.asarray((half(a, b) + half(b, a)).real.mean(axis=-1))
