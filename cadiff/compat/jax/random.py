"""`jax.random`: its numbers, of the generator Threefry 2x32 (Salmon and others 2011), in NumPy.

A key is two whole numbers, which are floats here, so that programs and their loops carry them.
Draws are primitives without derivatives: a program computes them anew for each key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np
from cadiff.scipy import special

from ...binding import carries
from . import absent

__getattr__ = absent.missing(__name__)

_TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))
_WORD = 0xFFFFFFFF
_FEW = 16  # draws, up to which ints of Python are faster than arrays
_FLOAT = onp.dtype(onp.float64)
_SQRT2 = math.sqrt(2.0)


# --- the generator -------------------------------------------------------------------------------


def _mixed(key: Sequence[int], x: Any, y: Any) -> tuple[Any, Any]:
    """Two words for each counter of two words, ints or arrays: twenty rounds."""
    words = [*key, key[0] ^ key[1] ^ 0x1BD11BDA]
    x, y = x + words[0] & _WORD, y + words[1] & _WORD
    for k in range(5):
        for turn in _TURNS[k % 2]:
            x = x + y & _WORD
            y = (y << turn | y >> 32 - turn) & _WORD ^ x
        x, y = x + words[(k + 1) % 3] & _WORD, y + words[(k + 2) % 3] + k + 1 & _WORD
    return x, y


def _of_key(key: Any) -> tuple[int, int]:
    high, low = key
    return int(high), int(low)


def _pairs(key: Any, shape: Sequence[int]) -> tuple[Any, Any]:
    """The words for the counters 0, 1, 2, ..., as arrays."""
    n, words = math.prod(shape), _of_key(key)
    if n > _FEW:
        count = onp.arange(n, dtype=onp.uint64).reshape(shape)
        return _mixed(words, (count >> 32).astype(onp.uint32), count.astype(onp.uint32))
    pairs = onp.array([_mixed(words, 0, k) for k in range(n)], onp.uint32).reshape(-1, 2)
    return pairs[:, 0].reshape(shape), pairs[:, 1].reshape(shape)


def _seed(seed: Any) -> tuple[int, int]:
    number = int(seed) & (1 << 64) - 1
    return number >> 32, number & _WORD


def _words(key: Any, shape: tuple[int, ...], width: int) -> Any:
    """Whole numbers of so many bits."""
    high, low = _pairs(key, shape)
    if width == 64:
        return high.astype(onp.uint64) << 32 | low
    return (high ^ low).astype(onp.dtype(f"u{width // 8}"))


def _drawn(function: Callable[..., Any]) -> Any:
    """A primitive of a key, of which nothing depends on it."""
    draw = cadiff.primitive(function)
    draw.defvjp(lambda ans, key, *how: lambda g: onp.zeros(np.shape(key)), argnums=0)
    return draw


@_drawn
def _split(key: Any, shape: tuple[int, ...]) -> Any:
    return onp.stack(_pairs(key, shape), axis=-1).astype(onp.float64)


@_drawn
def _folded(key: Any, data: Any) -> Any:
    return onp.array(_mixed(_of_key(key), *_seed(int(data) & _WORD)), onp.float64)


@_drawn
def _unit(key: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Numbers from 0 to 1: random mantissas of numbers from 1 to 2."""
    kind = onp.dtype(dtype)
    bits, mantissa = 8 * kind.itemsize, onp.finfo(kind).nmant
    words = _words(key, shape, bits)
    one = onp.ones((), kind).view(words.dtype)
    return ((words >> words.dtype.type(bits - mantissa)) | one).view(kind) - kind.type(1.0)


@_drawn
def _order(key: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Where the elements of a shuffled array come from: sorted by random words, several times."""
    size = math.prod(shape)
    places = onp.broadcast_to(
        onp.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))]), shape
    )
    for _ in range(math.ceil(3.0 * math.log(max(1, size)) / math.log(2.0**32 - 1.0))):
        key, of_round = _split.function(key, (2,))
        order = onp.argsort(_words(of_round, shape, 32), axis=axis, kind="stable")
        places = onp.take_along_axis(places, order, axis)
    return places.astype(onp.float64)


@_drawn
def _whole(key: Any, shape: tuple[int, ...], low: Any, high: Any, dtype: str) -> Any:
    """Whole numbers from low to high - 1: remainders of words of twice as many bits."""
    kind = onp.dtype(dtype)
    most, unsigned = onp.iinfo(kind), onp.dtype(f"u{kind.itemsize}")
    first, last = (onp.clip(onp.asarray(x).astype(int), most.min, most.max) for x in (low, high))
    upper, lower = (_words(k, shape, most.bits) for k in _split.function(key, (2,)))
    span = onp.where(last <= first, 1, last - first).astype(unsigned)
    with onp.errstate(over="ignore"):
        factor = unsigned.type(2 ** (most.bits // 2)) % span
        offset = (upper % span * (factor * factor % span) + lower % span) % span
        return (first.astype(unsigned) + offset).astype(kind).astype(onp.float64)


# --- keys ----------------------------------------------------------------------------------------


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:  # noqa: N802 - JAX's name
    """The key of a seed, an int: an array of two whole numbers, as floats."""
    if impl not in (None, "threefry2x32"):
        raise ValueError(f"the generator is 'threefry2x32', not {impl!r}")
    number = cadiff.value(seed)
    is_short = isinstance(number, onp.integer) and number.itemsize < 8
    return onp.array(_seed(int(number) & _WORD if is_short else number), onp.float64)


def split(key: Any, num: int | tuple[int, ...] = 2) -> Any:
    """New keys, of shape `(num, 2)`."""
    return _split(key, (num,) if isinstance(num, (int, onp.integer)) else tuple(num))


def fold_in(key: Any, data: Any) -> Any:
    """The new key that a key and an int make."""
    return _folded(key, data)


# --- numbers -------------------------------------------------------------------------------------


def _float(dtype: Any) -> onp.dtype[Any]:
    return _FLOAT if dtype is None else onp.dtype(dtype)


def _as_ints(x: Any, dtype: Any = int) -> Any:
    return np.asarray(x).astype(dtype)[()]


def bits(key: Any, shape: Any = (), dtype: Any = onp.uint64, **_: Any) -> Any:
    """Random words."""
    kind = onp.dtype(dtype)
    return _words(cadiff.value(key), tuple(shape), 8 * kind.itemsize).astype(kind)[()]


def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, **_: Any
) -> Any:
    """Numbers from minval to maxval."""
    kind = _float(dtype)
    minval, maxval = (x if carries(x) else onp.asarray(x, kind)[()] for x in (minval, maxval))
    u = _unit(key, tuple(shape), kind.str)
    return np.maximum(minval, u * (maxval - minval) + minval)[()]


def normal(key: Any, shape: Any = (), dtype: Any = None, **_: Any) -> Any:
    """Numbers of the normal distribution."""
    kind = _float(dtype)
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
    if p is None and replace:
        places = randint(key, shape, 0, n)
    elif p is None:
        places = permutation(key, n)[:count].reshape(shape)
    elif replace:
        sums = np.cumsum(p)
        r = sums[-1] * (1.0 - uniform(key, shape))
        places = np.searchsorted(cadiff.value(sums), cadiff.value(r))
    else:
        noisy = _formulas["gumbel"](key, (n,)) + np.log(p)
        places = np.argsort(-noisy, kind="stable")[:count].reshape(shape)
    return places if not np.ndim(a) else np.take(a, places, axis)


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, **_: Any) -> Any:
    """Truth values."""
    return uniform(key, np.shape(p) if shape is None else shape) < p


def categorical(
    key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True, **_: Any
) -> Any:
    """Indices along an axis, with probabilities of which these are the logarithms."""
    if not replace:
        raise NotImplementedError("write choice(key, n, shape, replace=False, p=softmax(logits))")
    axis = axis % np.ndim(logits) - np.ndim(logits)
    sizes = [*onp.delete(np.shape(logits), axis)] if shape is None else [*shape]
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

    def draw(key: Any, shape: Any = (), dtype: Any = None, **_: Any) -> Any:
        return formula(uniform(key, shape, dtype, low(onp.finfo(_float(dtype))), 1.0))

    return draw


_formulas: dict[str, Callable[..., Any]] = {
    "gumbel": _of_uniform(lambda f: f.tiny, lambda u: -np.log(-np.log(u))),
    "exponential": _of_uniform(lambda f: 0.0, lambda u: -np.log1p(-u)),
    "laplace": _of_uniform(lambda f: f.epsneg - 1.0, lambda u: np.sign(u) * np.log1p(-np.abs(u))),
    "logistic": _of_uniform(lambda f: f.tiny, lambda u: np.log(u) - np.log1p(-u)),
    "cauchy": _of_uniform(lambda f: f.eps, lambda u: np.tan(math.pi * (u - 0.5))),
    "rademacher": lambda key, shape=(), dtype=int: (
        2 * _as_ints(bernoulli(key, 0.5, shape), dtype) - 1
    ),
    "key": PRNGKey,
    "key_data": lambda keys: onp.asarray(cadiff.value(keys)).astype(onp.uint32),
    "wrap_key_data": lambda words, impl=None: onp.asarray(words, onp.float64),
}
globals().update(_formulas)
