"""Values of functions of SciPy's where SciPy's own are not right: plain NumPy.

Each takes the arguments of SciPy's function, asks SciPy where it is right, and says where it is
not. NumPy's warnings are off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
from numpy.typing import ArrayLike

from . import _families
from ._families import floats
from ._formulas import Array, formulas_of, rows_of

Function = Callable[..., Any]


def _instead_of(usual: Function, wrong: Function, right: Function) -> Function:
    """SciPy's values, but those of a function at the places where its own are `wrong`."""

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


# --- what takes a loop or a rule -----------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def _owens_t_by_gauss(h: Array, a: Array) -> Any:
    at = 0.5 * a[..., np.newaxis] * (_NODES + 1.0)
    heights = np.exp(-0.5 * np.square(h[..., np.newaxis] * at)) / (1.0 + np.square(at))
    return np.exp(-0.5 * h * h) * a * (heights @ _WEIGHTS) / (4.0 * np.pi)


def _is_beyond(v: ArrayLike, z: ArrayLike) -> Any:
    large = np.greater(v, 0.0) & np.less(v, 100.0) & np.greater(z, 1e5)
    return large | (np.greater(v, 100.0) & (np.abs(z) < np.multiply(4.0, v)))


def _hyp0f1(v: ArrayLike, z: ArrayLike) -> Any:
    """SciPy's, not asked where it divides by zero, of which Python would be told."""
    return sp.hyp0f1(v, z if np.iscomplexobj(z) else np.where(_is_beyond(v, z), 0.0, z))


def _hyp0f1_series(v: Array, z: Array) -> Array:
    total = term = np.ones_like(z)
    for k in range(40):
        term = term * z / ((v + k) * (k + 1.0))
        total = total + term
    return np.asarray(total)


def _hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Any:
    """SciPy's, not asked where it may not return."""
    if np.iscomplexobj(x):
        return sp.hyp1f1(a, b, x)
    gap = np.subtract(b, a)
    endless = np.greater(a, 0.0) | np.not_equal(a, np.floor(a))
    falls = np.less_equal(gap, 0.0) & np.equal(gap, np.floor(gap))
    x = np.where(endless & np.greater(x, 1e6), 1e6, x)
    return sp.hyp1f1(a, b, np.where(falls & np.less(x, -1e6), -1e6, x))


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


# --- ufuncs --------------------------------------------------------------------------------------

SMALL = 1e-140  # below it a Bessel function is the first term of its series

# Where SciPy's values are wrong, and what is right there; or a formula for others.
TABLE = """
# SciPy's is 0 where it overflows.
powm1(x, y)
    wrong: np.isinf(np.power(x, y))
    right: np.power(x, y) - 1.0

# SciPy's rounds where x and y are near, and overflows or underflows where x / y does.
kl_div(x, y)
    wrong: ((x > 0.99 * y) & (x < 1.01 * y) | _are_apart(x, y))
        & (x > 0.0) & (y > 0.0) & np.isfinite(x) & np.isfinite(y)
    right: x * (np.log(x) - np.log(y)) - x + y if _are_apart(x, y) else deviance(x, y)
_are_apart(x, y) = (x / y < 1e-300) | (x / y > 1e300)

# SciPy's is nan or infinite where the square of r / δ is; here none is taken.
pseudo_huber(delta, r)
    wrong: (delta > 0.0) & np.isfinite(most) & ((least < 1e-70) | (most > 1e70))
        where least = np.minimum(delta, np.abs(r))
        where most = np.maximum(delta, np.abs(r))
    right: r * (r * (delta / total)) if np.abs(r) < delta else delta * (r * (r / total))
        where total = np.hypot(delta, r) + delta

# SciPy's has no digits where a is small beside 1 / h; there Gauss's rule has all of them.
owens_t(h, a)
    wrong: np.abs(a) * np.maximum(np.abs(h), 1.0) < 0.01
    right: _owens_t_by_gauss(h, a)

# SciPy's loses digits next to t = 0, where two terms of the power series have all, and the tail
# where t² is far beyond df.
stdtr(df, t)
    wrong: (df > 0.0) & np.isfinite(df) & np.isfinite(t)
        & (_is_near(df, t) | (np.sqrt(df) < 1e-4 * np.abs(t)))
    right: 0.5 + t * np.exp(student_log_density(df, 0.0)) * (1.0 - (1.0 + 1.0 / df) * t * t / 6.0)
        if _is_near(df, t) else
        student_tail(df, t) if t < 0.0 else 1.0 - student_tail(df, t)
_is_near(df, t) = np.abs(t) < 1e-4 * np.sqrt(df / (df + 1.0))

# SciPy's is infinite of the wrong sign for a tiny p; there the tail is a power of t.
stdtrit(df, p)
    wrong: (df > 0.0) & (df < 1e3) & (p > 0.0) & (p < 0.5) & (_tail_ratio(df, p) > 1e9)
    right: -np.sqrt(df) * _tail_ratio(df, p)
_tail_ratio(df, p) = np.power(student_tail_scale(df) / p, 1.0 / df)

# SciPy's stops after q**-x where that is large, but near x = 1 the rest is larger.
zeta(x, q)
    wrong: (x > 1.0) & (x < 1.1) & (q > 0.0) & (q < 1e-10)
    right: np.power(q, -x) + sp.zeta(x, q + 1.0)

# SciPy's J and I are 0 before they underflow, and its I is infinite before it overflows. The first
# term is that of I_v and, but for its sign, of J_v (DLMF 10.25.2).
jv(v, z)
    wrong: _is_small(v, z)
    right: (-1.0 if (v < 0.0) & (v == np.floor(v)) & (v % 2.0 == 1.0) else 1.0) * _first_term(v, z)
iv(v, z)
    wrong: _is_small(v, z) | _nearly_overflows(v, z)
    right: sp.ive(v, z) * np.exp(0.5 * z) * np.exp(0.5 * z) if z > 1.0 else _first_term(v, z)
_is_small(v, z) = (z >= 0.0) & (z < SMALL)
_nearly_overflows(v, z) = (z > 690.0) & (z < 1400.0)
_first_term(v, z) = np.power(0.5 * z, order) * sp.rgamma(order + 1.0)
    where order = np.abs(v) if v == np.floor(v) else v

# SciPy's K is 0 before it underflows.
kn(v, z)
    wrong: _nearly_overflows(v, z)
    right: sp.kve(v, z) * np.exp(-z)
kv(v, z)
    wrong: _nearly_overflows(v, z)
    right: sp.kve(v, z) * np.exp(-z)

# SciPy's scaled ones are nan for a huge z, and its ive is 0 before it underflows.
ive(v, z)
    wrong: _is_small(v, z) | (z > 1e8 + v * v)
    right: ive_tail(0, v, z) if z > 1.0 else _first_term(v, z)
kve(v, z)
    wrong: (z > 1e8) & (z > 2.0 * np.abs(v))
    right: kve_moment(0, v, z)

# SciPy's overflows or rounds for a large v, where the power series has all digits. For a large
# z > 0 it may be 0 instead of infinite: √z is that of DLMF 10.39.9.
hyp0f1(v, z)
    wrong: _is_beyond(v, z)
    right: _hyp0f1_series(v, z) if v > 100.0 else
        np.exp(sp.gammaln(v) + (1.0 - v) * np.log(root) + 2.0 * root)
        * VALUES["ive"](v - 1.0, 2.0 * root)
        where root = np.sqrt(z)

# SciPy's may not return for |x| > 1e6, and loses its digits below and next to x = 0. Far out all
# but polynomials are infinite, those times exp(x) are 0, and the rest is the first terms of DLMF
# 13.7.2.
hyp1f1(a, b, x)
    wrong: _falls_far(a, b, x) | _is_tiny(x) | (a > 50.0) & (x >= -1.0) & (a * x < -5.0)
    right: 1.0 if _is_tiny(x) else
        sp.gamma(b) * sp.rgamma(b - a) * np.power(-x, -a) * (1.0 - a * (a - b + 1.0) / x)
        if _falls_far(a, b, x) else _hyp1f1_by_recurrence(a, b, x)
_is_tiny(x) = (x < 0.0) & (x > -1e-100)
_falls_far(a, b, x) = (np.abs(a) < 50.0) & (np.abs(b) < 50.0) & (x < -1e12)
    & ~((b - a <= 0.0) & (b - a == np.floor(b - a)))

# SciPy's loses digits in proportion to -z, and next to z = -2 with c; there by DLMF 15.8.1.
hyp2f1(a, b, c, z)
    wrong: _is_far(a, b, c, z) | ((c > 12.0) & (z > -20.0) & (z < -2.0))
    right: _hyp2f1_far(a, b, c, z) if _is_far(a, b, c, z) else
        np.power(1.0 - z, -a) * sp.hyp2f1(a, c - b, c, z / (z - 1.0))
_is_far(a, b, c, z) = (size < 50.0) & (z < -20.0 * size * size)
    & ~((c <= 0.0) & (c == np.floor(c))) & np.isfinite(z)
    where size = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.abs(c)) + 1.0
"""

# The values that are ours, by the names of SciPy's ufuncs.
VALUES: dict[str, Function] = {
    f.__name__: f for f in (sindg, cosdg, tandg, cotdg, boxcox, boxcox1p, inv_boxcox1p)
}
ASKED: dict[str, Function] = {
    "hyp0f1": _hyp0f1,
    "hyp1f1": _hyp1f1,
}  # SciPy's, but for where it fails


def _fill_in() -> None:
    formula = formulas_of(globals(), _families, of_arrays=True)
    for name, parameters, text in rows_of(TABLE, "wrong", "right"):
        if isinstance(text, str):
            globals()[name] = formula(parameters, text)
        else:
            wrong, right = (formula(parameters, text[key]) for key in ("wrong", "right"))
            VALUES[name] = _instead_of(ASKED.get(name, getattr(sp, name)), wrong, right)


_fill_in()
