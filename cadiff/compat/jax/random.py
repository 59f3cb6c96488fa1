"""`jax.random`: its numbers, of the generator Threefry 2x32 (Salmon and others 2011).

A key is two whole numbers as floats, which programs carry. Its words are an operation of the
table; whole numbers and orders are primitives without derivatives.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np
from cadiff.scipy import special

from ...binding import _core, carries

_WORDS = [getattr(_core, f"_threefry_{word}") for word in ("high", "low")]
_WORD = 0xFFFFFFFF
_SQRT2 = math.sqrt(2.0)
_as_ints: Any = lambda x, dtype=int: np.asarray(x).astype(dtype)[()]  # noqa: E731


def _pair(key: Any, shape: tuple[int, ...]) -> Any:
    """The two words for each of the counters 0, 1, 2, ..."""
    counts = onp.arange(float(math.prod(shape))).reshape(shape)[()]
    return tuple(word(key[0], key[1], counts) for word in _WORDS)


def _bits(key: Any, shape: tuple[int, ...], width: int) -> Any:
    """Whole numbers of so many bits, of a plain key."""
    high, low = (onp.asarray(words).astype(onp.uint64) for words in _pair(key, shape))
    return high << 32 | low if width == 64 else (high ^ low).astype(f"u{width // 8}")


def _unit(key: Any, shape: tuple[int, ...], kind: onp.dtype[Any]) -> Any:
    """Numbers from 0 to 1: random mantissas of numbers from 1 to 2, less 1."""
    if kind != onp.float64:
        return _narrow(key, shape, kind.str).astype(kind)
    high, low = _pair(key, shape)
    return (high * 2.0**20 + np.floor(low * 2.0**-12)) * 2.0**-52


def _drawn(function: Callable[..., Any]) -> Any:
    """A primitive of a key, of which nothing depends on it."""
    draw = cadiff.primitive(function)
    draw.defvjp(lambda ans, key, *how: lambda g: onp.zeros(np.shape(key)), argnums=0)
    return draw


@_drawn
def _narrow(key: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """The same of fewer bits than 64."""
    kind = onp.dtype(dtype)
    bits, mantissa = 8 * kind.itemsize, int(onp.finfo(kind).nmant)
    return (_bits(key, shape, bits) >> (bits - mantissa)) * 2.0**-mantissa


@_drawn
def _order(key: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Where the elements of a shuffled array come from: sorted by random words, several times."""
    size, places = math.prod(shape), onp.indices(shape)[axis]
    for _ in range(math.ceil(3.0 * math.log(max(1, size)) / math.log(2.0**32 - 1.0))):
        key, of_round = split(key)
        order = onp.argsort(_bits(of_round, shape, 32), axis=axis, kind="stable")
        places = onp.take_along_axis(places, order, axis)
    return places.astype(onp.float64)


def _clipped(x: Any, low: int, high: int) -> Any:
    """Whole numbers of Python's, which have no greatest one, within bounds."""
    within: Any = onp.frompyfunc(lambda x: min(max(int(x), low), high), 1, 1)
    return onp.asarray(within(x), object)


@_drawn
def _whole(key: Any, shape: tuple[int, ...], low: Any, high: Any, dtype: str) -> Any:
    """Whole numbers from low to high - 1: remainders of pairs of words of 32 bits or more."""
    limits, width = onp.iinfo(dtype), max(32, onp.iinfo(dtype).bits)
    unsigned = onp.dtype(f"u{width // 8}")
    least, greatest = int(limits.min), int(limits.max)
    first = _clipped(low, least, greatest)
    span = _clipped(_clipped(high, least, greatest + 1) - first, 1, greatest + 1 - least)
    first, span = (onp.asarray(x % 2**width, unsigned) for x in (first, span))
    upper, lower = (_bits(k, shape, width) for k in split(key))
    with onp.errstate(over="ignore", divide="ignore"):  # the span of all numbers is 0
        rest: Any = lambda x: onp.where(span == 0, x, x % span)  # noqa: E731
        factor = rest(unsigned.type(2 ** (width // 2)))
        offset = rest(rest(upper) * rest(factor * factor) + rest(lower))
        return (first + offset).astype(dtype).astype(onp.float64)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:  # noqa: N802 - JAX's name
    """The key of a seed, an int: an array of two whole numbers, as floats."""
    if impl not in (None, "threefry2x32"):
        raise ValueError(f"the generator is 'threefry2x32', not {impl!r}")
    number = cadiff.value(seed)
    is_short = isinstance(number, onp.integer) and number.itemsize < 8
    number = int(number) & (_WORD if is_short else (1 << 64) - 1)
    return onp.array([number >> 32, number & _WORD], onp.float64)


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
    u = _unit(key, tuple(shape), kind)
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


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = int, **_: Any) -> Any:
    """Whole numbers from minval to maxval - 1."""
    return _as_ints(_whole(key, tuple(shape), minval, maxval, onp.dtype(dtype).str), dtype)


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, **_: Any) -> Any:
    """An array shuffled along an axis, or the numbers below an int."""
    if not np.ndim(x):
        return _as_ints(_order(key, (int(x),), 0))
    axis = axis % np.ndim(x)
    if independent and np.ndim(x) > 1:
        return np.take_along_axis(x, _as_ints(_order(key, np.shape(x), axis)), axis)
    return np.take(x, _as_ints(_order(key, (np.shape(x)[axis],), 0)), axis)


def choice(
    key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0, **_: Any
) -> Any:
    """Elements of an array, or of the numbers below an int, with probabilities p."""
    n = int(a) if not np.ndim(a) else np.shape(a)[axis]
    count = math.prod(shape)
    if not replace and count > n:
        raise ValueError(f"{count} of {n} elements are wanted, each at most once: replace=True")
    if p is not None and replace:
        sums = np.cumsum(p)
        places = np.searchsorted(sums, sums[-1] * (1.0 - uniform(key, shape)))
    elif replace:
        places = randint(key, shape, 0, n)
    else:
        order = permutation(key, n) if p is None else _greatest(key, np.log(p), 0)
        places = order[:count].reshape(shape)
    return places if not np.ndim(a) else np.take(a, places, axis)


def _greatest(key: Any, logits: Any, axis: int) -> Any:
    """The indices along an axis in a random order, by their probabilities."""
    noise = _formulas["gumbel"](key, np.shape(logits))
    return np.argsort(-(noise + logits), axis=axis, kind="stable")


def categorical(
    key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True, **_: Any
) -> Any:
    """Indices along an axis, with probabilities of which these are the logarithms."""
    axis = axis % np.ndim(logits) - np.ndim(logits)
    others = [*onp.delete(np.shape(logits), axis)]
    sizes = others if shape is None else [*shape]
    if not replace:
        count = math.prod(sizes[: len(sizes) - len(others)])
        places = np.take(_greatest(key, logits, axis), onp.arange(count), axis)
        return np.reshape(np.moveaxis(places, axis, 0), sizes)
    sizes.insert(len(sizes) + axis + 1, np.shape(logits)[axis])
    return np.argmax(_formulas["gumbel"](key, sizes) + logits, axis=axis)


def truncated_normal(
    key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, **_: Any
) -> Any:
    """Numbers of the normal distribution between bounds."""
    shape = onp.broadcast_shapes(np.shape(lower), np.shape(upper)) if shape is None else shape
    a, b = special.erf(np.divide(lower, _SQRT2)), special.erf(np.divide(upper, _SQRT2))
    found = _SQRT2 * special.erfinv(uniform(key, shape, dtype, a, b))
    bounds = cadiff.value(lower), cadiff.value(upper)
    return np.clip(found, onp.nextafter(bounds[0], onp.inf), onp.nextafter(bounds[1], -onp.inf))


def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Any = None, *_: Any, **__: Any
) -> Any:
    """Vectors of a normal distribution, by the Cholesky factor of the covariance."""
    if shape is None:
        shape = onp.broadcast_shapes(np.shape(mean)[:-1], np.shape(cov)[:-2])
    z = normal(key, (*shape, np.shape(mean)[-1]))
    return mean + np.einsum("...ij,...j->...i", np.linalg.cholesky(cov), z)


def _of_uniform(low: Callable[[Any], Any], formula: Callable[[Any], Any]) -> Callable[..., Any]:
    """Numbers of a distribution, by a formula of uniform ones from a number of the dtype's on."""
    return lambda key, shape=(), dtype=None, **_: formula(
        uniform(key, shape, dtype, low(onp.finfo(onp.dtype(dtype))), 1.0)
    )


_formulas: dict[str, Callable[..., Any]] = {
    "gumbel": _of_uniform(lambda f: f.tiny, lambda u: -np.log(-np.log(u))),
    "exponential": _of_uniform(lambda f: 0.0, lambda u: -np.log1p(-u)),
    "laplace": _of_uniform(lambda f: f.epsneg - 1.0, lambda u: np.sign(u) * np.log1p(-np.abs(u))),
    "logistic": _of_uniform(lambda f: f.tiny, lambda u: np.log(u) - np.log1p(-u)),
    "cauchy": _of_uniform(lambda f: f.eps, lambda u: np.tan(math.pi * (u - 0.5))),
    "rademacher": lambda key, shape=(), dtype=int: (
        2 * _as_ints(uniform(key, shape) < 0.5, dtype) - 1
    ),
    "bernoulli": lambda key, p=0.5, shape=None, **_: (
        uniform(key, np.shape(p) if shape is None else shape) < p
    ),
    "bits": lambda key, shape=(), dtype=onp.uint64, **_: _bits(
        cadiff.value(key), tuple(shape), 8 * onp.dtype(dtype).itemsize
    )[()],
    "fold_in": lambda key, data: np.stack([f(key[0], key[1], data % 2.0**32) for f in _WORDS]),
    "key": PRNGKey,
    "key_data": lambda keys: onp.asarray(cadiff.value(keys)).astype(onp.uint32),
    "wrap_key_data": lambda words, impl=None: onp.asarray(words, onp.float64),
}
globals().update(_formulas)
