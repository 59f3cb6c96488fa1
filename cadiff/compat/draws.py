"""Random numbers of distributions, by the keys of Threefry: by formulas, and by rejection.

A key of the generator Threefry 2x32 (Salmon and others 2011) is two whole numbers as floats, which
programs carry. Its words are an operation of the table; narrow numbers, spans that are wide and
orders are primitives without derivatives.

Gamma variates are those of Marsaglia and Tsang (2000), Poisson variates those of Knuth's product
and of Hörmann's transformed rejection (1993). Each is JAX's number of its key. What is drawn by
rejection has a derivative by the parameter of the gamma distribution, that of the quantile at
which it stands, and by no other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as onp

import cadiff
from cadiff import nn
from cadiff import numpy as np
from cadiff.scipy import special

from ..binding import _core, carries

_SQRT2 = math.sqrt(2.0)
_SMALLEST = onp.finfo(float).tiny


WORDS = [getattr(_core, f"_threefry_{word}") for word in ("high", "low")]
WORD = 0xFFFFFFFF
MOST_EXACT = 2.0**26  # whose square is exact, and a number less than it more, too


def _pair(key: Any, shape: tuple[int, ...]) -> Any:
    """The two words for each of the counters 0, 1, 2, ..."""
    counts = onp.arange(float(math.prod(shape))).reshape(shape)[()]
    return tuple(word(key[0], key[1], counts) for word in WORDS)


def bits(key: Any, shape: tuple[int, ...], width: int) -> Any:
    """Whole numbers of so many bits, of a plain key."""
    high, low = (onp.asarray(words).astype(onp.uint64) for words in _pair(key, shape))
    return high << 32 | low if width == 64 else (high ^ low).astype(f"u{width // 8}")


def unit(key: Any, shape: tuple[int, ...], kind: onp.dtype[Any]) -> Any:
    """Numbers from 0 to 1: random mantissas of numbers from 1 to 2, less 1."""
    if kind != onp.float64:
        return narrow(key, shape, kind.str).astype(kind)
    high, low = _pair(key, shape)
    return (high * 2.0**20 + np.floor(low * 2.0**-12)) * 2.0**-52


def drawn(function: Callable[..., Any]) -> Any:
    """A primitive of a key and others, by which nothing is to be differentiated."""
    draw = cadiff.primitive(function)
    draw.defvjp(lambda ans, key, *how: lambda g: onp.zeros(np.shape(key)), argnums=0)
    return draw


@drawn
def narrow(key: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """The same of fewer bits than 64."""
    kind = onp.dtype(dtype)
    size, mantissa = 8 * kind.itemsize, int(onp.finfo(kind).nmant)
    return (bits(key, shape, size) >> (size - mantissa)) * 2.0**-mantissa


@drawn
def order_of(key: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Where the elements of a shuffled array come from: sorted by random words, several times."""
    size, places = math.prod(shape), onp.indices(shape)[axis]
    for _ in range(math.ceil(3.0 * math.log(max(1, size)) / math.log(2.0**32 - 1.0))):
        key, of_round = split(key)
        order = onp.argsort(bits(of_round, shape, 32), axis=axis, kind="stable")
        places = onp.take_along_axis(places, order, axis)
    return places.astype(onp.float64)


def _clipped(x: Any, low: int, high: int) -> Any:
    """Whole numbers of Python's, which have no greatest one, within bounds."""
    within: Any = onp.frompyfunc(lambda x: min(max(int(x), low), high), 1, 1)
    return onp.asarray(within(x), object)


def whole(key: Any, shape: tuple[int, ...], low: Any, high: Any, dtype: str) -> Any:
    """Whole numbers from low to high - 1, as floats."""
    limits = onp.iinfo(dtype)
    if isinstance(low, int) and isinstance(high, int) and limits.bits == 64 and low >= limits.min:
        span = float(max(high - low, 1))
        if span <= MOST_EXACT:
            return low + _rest(key, shape, span)
    return _whole(key, shape, low, high, dtype)


def _rest(key: Any, shape: tuple[int, ...], span: float) -> Any:
    """Remainders of four words each: by so small a span all is exact in floats."""
    rest: Any = 0.0
    for of_two in split(key):
        for words in _pair(of_two, shape):
            rest = (rest * (2.0**32 % span) + words % span) % span
    return rest


@drawn
def _whole(key: Any, shape: tuple[int, ...], low: Any, high: Any, dtype: str) -> Any:
    """The same, of all kinds: remainders of pairs of words of 32 bits or more."""
    limits, width = onp.iinfo(dtype), max(32, onp.iinfo(dtype).bits)
    unsigned = onp.dtype(f"u{width // 8}")
    least, greatest = int(limits.min), int(limits.max)
    first = _clipped(low, least, greatest)
    span = _clipped(_clipped(high, least, greatest + 1) - first, 1, greatest + 1 - least)
    first, span = (onp.asarray(x % 2**width, unsigned) for x in (first, span))
    upper, lower = (bits(k, shape, width) for k in split(key))
    with onp.errstate(over="ignore", divide="ignore"):  # the span of all numbers is 0
        rest: Any = lambda x: onp.where(span == 0, x, x % span)  # noqa: E731
        factor = rest(unsigned.type(2 ** (width // 2)))
        offset = rest(rest(upper) * rest(factor * factor) + rest(lower))
        return (first + offset).astype(dtype).astype(onp.float64)


def split(key: Any, num: int | tuple[int, ...] = 2) -> Any:
    """New keys, of shape `(num, 2)`."""
    shape = (int(num),) if isinstance(num, (int, onp.integer)) else tuple(num)
    return np.stack(_pair(key, shape), axis=-1)


def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, **_: Any
) -> Any:
    """Numbers from minval to maxval."""
    kind = onp.dtype(dtype)
    minval, maxval = (x if carries(x) else onp.asarray(x, kind)[()] for x in (minval, maxval))
    u = unit(key, tuple(shape), kind)
    return np.maximum(minval, u * (maxval - minval) + minval)[()]


def normal(key: Any, shape: Any = (), dtype: Any = None, **_: Any) -> Any:
    """Numbers of the normal distribution."""
    kind = onp.dtype(dtype)
    if kind.kind == "c":
        part = onp.dtype(f"f{kind.itemsize // 2}")
        real, imag = (normal(k, shape, part) for k in split(key))
        return ((real + 1j * imag) / _SQRT2).astype(kind)
    low = onp.nextafter(kind.type(-1.0), kind.type(0.0))
    return (kind.type(_SQRT2) * special.erfinv(uniform(key, shape, kind, low, 1.0)))[()]


# --- by rejection --------------------------------------------------------------------------------


def _parted(keys: Any, n: int) -> Any:
    """N keys from each of the columns of an array: n arrays of columns."""
    return onp.moveaxis(split(keys[..., None], n), (1, 2), (0, 1))


@cadiff.primitive
def _gamma(key: Any, alpha: Any, is_log: bool) -> Any:
    """Gamma variates, or their logarithms, of a key for each parameter."""
    a = alpha.ravel()
    keys, of_boost = _parted(split(key, a.size).T, 2)
    d = onp.where(a >= 1.0, a, a + 1.0) - 1.0 / 3.0
    c = 1.0 / 3.0 / onp.sqrt(d)
    cubes, left = onp.ones(a.size), onp.arange(a.size)
    while left.size:
        keys[:, left], of_x, of_u = _parted(keys[:, left], 3)
        x, v = onp.zeros(left.size), onp.full(left.size, -1.0)
        while (low := onp.flatnonzero(v <= 0.0)).size:
            of_x[:, low], of_normal = _parted(of_x[:, low], 2)
            x[low] = normal(of_normal)
            v[low] = 1.0 + x[low] * c[left[low]]
        u, square, cube = uniform(of_u), x * x, v * v * v
        cubes[left] = cube
        bound = square * 0.5 + d[left] * (1.0 - cube + onp.log(cube))
        left = left[(u >= 1.0 - 0.0331 * (square * square)) & (onp.log(u) >= bound)]
    u, inverse = uniform(of_boost), 1.0 / a
    if is_log:
        found = onp.log(d) + onp.log(cubes) + onp.where(a >= 1.0, 0.0, onp.log1p(-u) * inverse)
    else:
        found = d * cubes * onp.where(a >= 1.0, 1.0, (1.0 - u) ** inverse)
    return found.reshape(alpha.shape)


def _slope(x: Any, alpha: Any, is_log: bool) -> Any:
    """The derivative of a quantile of the gamma distribution, or its logarithm, by a."""
    x = np.maximum(np.exp(x) if is_log else x, _SMALLEST)
    along = cadiff.jvp(lambda a: special.gammainc(a, x), (alpha,), (onp.ones(np.shape(alpha)),))
    log_density = (alpha - 1.0) * np.log(x) - x - special.gammaln(alpha)
    return -along[1] * np.exp(-log_density) / (x if is_log else 1.0)


_gamma.defvjp(
    lambda ans, key, *_: lambda g: onp.zeros(np.shape(key)),
    lambda ans, key, alpha, is_log: lambda g: g * _slope(ans, alpha, is_log),
    argnums=(0, 1),
)


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, is_log: bool = False) -> Any:
    """Numbers of the gamma distribution with parameters a, or their logarithms."""
    wide = np.broadcast_to(np.asarray(a) * 1.0, np.shape(a) if shape is None else tuple(shape))
    return np.asarray(_gamma(key, wide, is_log)).astype(dtype or float)[()]


@drawn
def _poisson(key: Any, rates: Any) -> Any:
    """Poisson variates: by products where the rate is below 10, otherwise by rejection."""
    rates = onp.asarray(rates, onp.float32)
    is_low = onp.isnan(rates) | (rates < 10.0)
    counts, logs, keys = onp.zeros(rates.shape), onp.zeros(rates.shape, onp.float32), key
    bounds = onp.where(is_low, -rates, 0.0)
    while (is_left := logs > bounds).any():
        keys, of_u = split(keys)
        counts += is_left
        logs += onp.log(narrow(of_u, rates.shape, "<f4").astype(onp.float32))
    counts = onp.where(rates == 0.0, 0.0, counts - 1.0)
    return counts if is_low.all() else onp.where(is_low, counts, _rejected(key, is_low, rates))


def _rejected(key: Any, is_low: Any, rates: Any) -> Any:
    """Poisson variates of large rates; all are drawn again until each was accepted."""
    rates = onp.where(is_low, onp.float32(1e5), rates)
    b = 0.931 + 2.53 * onp.sqrt(rates)
    a = -0.059 + 0.02483 * b
    counts, is_done = onp.full(rates.shape, -1.0), onp.zeros(rates.shape, bool)
    while not is_done.all():
        key, of_u, of_v = split(key, 3)
        u, v = (uniform(k, rates.shape, rates.dtype) for k in (of_u, of_v))
        u = u - 0.5
        rest = 0.5 - onp.abs(u)
        k = onp.floor((2.0 * a / rest + b) * u + rates + 0.43)
        is_inside = (rest >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2.0))
        is_outside = (k < 0.0) | ((rest < 0.013) & (v > rest))
        with onp.errstate(all="ignore"):
            drawn_log = onp.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (rest * rest) + b))
            log_mass = -rates + k * onp.log(rates) - onp.asarray(special.gammaln(k + 1.0))
        is_accepted = is_inside | (~is_outside & (drawn_log <= log_mass))
        counts, is_done = onp.where(is_accepted, k, counts), is_done | is_accepted
    return counts


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = int) -> Any:
    """Numbers of the Poisson distribution with rates lam; they have no derivatives."""
    wide = onp.shape(lam) if shape is None else tuple(shape)
    rates = np.broadcast_to(np.asarray(cadiff.stop_gradient(lam)) * 1.0, wide)
    return np.asarray(_poisson(key, rates)).astype(dtype)[()]


# --- by formulas ---------------------------------------------------------------------------------


def _of_uniform(low: Callable[[Any], Any], formula: Callable[[Any], Any]) -> Callable[..., Any]:
    """Numbers of a distribution, by a formula of uniform ones from a number of the dtype's on."""
    return lambda key, shape=(), dtype=None, **_: formula(
        uniform(key, shape, dtype, low(onp.finfo(onp.dtype(dtype))), 1.0)
    )


def _wide(shape: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape that is asked for, or the joint one of parameters."""
    return onp.broadcast_shapes(*map(np.shape, parameters)) if shape is None else tuple(shape)


def _sides(u: Any, left: Any, mode: Any, right: Any) -> Any:
    """Numbers of the triangular distribution, of uniform ones."""
    below = left + np.sqrt(u * (right - left) * (mode - left))
    above = right - np.sqrt((1.0 - u) * (right - left) * (right - mode))
    return np.where(u < (mode - left) / (right - left), below, above)


_loggamma = partial(gamma, is_log=True)
_exponential = _of_uniform(lambda f: 0.0, lambda u: -np.log1p(-u))
BY_FORMULA: dict[str, Callable[..., Any]] = {
    "gumbel": _of_uniform(lambda f: f.tiny, lambda u: -np.log(-np.log(u))),
    "exponential": _exponential,
    "laplace": _of_uniform(lambda f: f.epsneg - 1.0, lambda u: np.sign(u) * np.log1p(-np.abs(u))),
    "logistic": _of_uniform(lambda f: f.tiny, lambda u: np.log(u) - np.log1p(-u)),
    "cauchy": _of_uniform(lambda f: f.eps, lambda u: np.tan(math.pi * (u - 0.5))),
    "rademacher": lambda key, shape=(), dtype=int: (
        2 * np.asarray(uniform(key, shape) < 0.5).astype(dtype)[()] - 1
    ),
    "bernoulli": lambda key, p=0.5, shape=None, **_: uniform(key, _wide(shape, p)) < p,
    "loggamma": _loggamma,
    "beta": lambda key, a, b, shape=None, dtype=None: nn.sigmoid(
        np.subtract(
            *(_loggamma(k, x, _wide(shape, a, b), dtype) for k, x in zip(split(key), (a, b)))  # noqa: B905
        )
    ),
    "dirichlet": lambda key, alpha, shape=None, dtype=None: nn.softmax(
        _loggamma(key, alpha, (*_wide(shape, alpha[..., 0]), np.shape(alpha)[-1]), dtype), -1
    ),
    "chisquare": lambda key, df, shape=None, dtype=None: (
        2.0 * np.exp(_loggamma(key, df / 2.0, shape, dtype))
    ),
    "t": lambda key, df, shape=None, dtype=None: (
        normal((keys := split(key))[0], _wide(shape, df), dtype)
        * np.sqrt(df / 2.0 / gamma(keys[1], df / 2.0, shape, dtype))
    ),
    "pareto": lambda key, b, shape=None, dtype=None: np.exp(
        _exponential(key, _wide(shape, b), dtype) / b
    ),
    "weibull_min": lambda key, scale, concentration, shape=(), dtype=None: (
        _exponential(key, shape, dtype) ** (1.0 / concentration) * scale
    ),
    "rayleigh": lambda key, scale, shape=None, dtype=None: (
        scale * np.sqrt(-2.0 * np.log(uniform(key, _wide(shape, scale), dtype)))
    ),
    "lognormal": lambda key, sigma=1.0, shape=None, dtype=None: np.exp(
        normal(key, _wide(shape, sigma), dtype) * sigma
    ),
    "maxwell": lambda key, shape=(), dtype=None: np.sqrt(
        np.sum(normal(key, (*shape, 3), dtype) ** 2, axis=-1)
    ),
    "triangular": lambda key, left, mode, right, shape=None, dtype=None: _sides(
        uniform(key, _wide(shape, left, mode, right), dtype), left, mode, right
    ),
    "geometric": lambda key, p, shape=None, dtype=int: np.asarray(
        np.floor(np.log(uniform(key, _wide(shape, p))) / np.log1p(-np.asarray(p))) + 1.0
    ).astype(dtype)[()],
}
