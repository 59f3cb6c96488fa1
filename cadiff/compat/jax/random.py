"""`jax.random`: its numbers, by the generator Threefry 2x32."""

import math
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np
from cadiff.scipy import special

from ..draws import BY_FORMULA, WORD, WORDS, gamma, order_of, poisson, whole
from ..draws import bits as bits_of
from ..draws import normal as normal
from ..draws import split as split
from ..draws import uniform as uniform

_SQRT2 = math.sqrt(2.0)
_as_ints: Any = lambda x, dtype=int: np.asarray(x).astype(dtype)[()]  # noqa: E731


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:  # noqa: N802 - JAX's name
    """The key of a seed, an int: an array of two whole numbers, as floats."""
    if impl not in (None, "threefry2x32"):
        raise ValueError(f"the generator is 'threefry2x32', not {impl!r}")
    number = cadiff.value(seed)
    is_short = isinstance(number, onp.integer) and number.itemsize < 8
    number = int(number) & (WORD if is_short else (1 << 64) - 1)
    return onp.array([number >> 32, number & WORD], onp.float64)


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = int, **_: Any) -> Any:
    """Whole numbers from minval to maxval - 1."""
    return _as_ints(whole(key, tuple(shape), minval, maxval, onp.dtype(dtype).str), dtype)


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, **_: Any) -> Any:
    """An array shuffled along an axis, or the numbers below an int."""
    if not np.ndim(x):
        return _as_ints(order_of(key, (int(x),), 0))
    axis = axis % np.ndim(x)
    if independent and np.ndim(x) > 1:
        return np.take_along_axis(x, _as_ints(order_of(key, np.shape(x), axis)), axis)
    return np.take(x, _as_ints(order_of(key, (np.shape(x)[axis],), 0)), axis)


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
    noise = BY_FORMULA["gumbel"](key, np.shape(logits))
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
    return np.argmax(BY_FORMULA["gumbel"](key, sizes) + logits, axis=axis)


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


globals().update(
    BY_FORMULA,
    gamma=gamma,
    poisson=poisson,
    bits=lambda key, shape=(), dtype=onp.uint64, **_: bits_of(
        cadiff.value(key), tuple(shape), 8 * onp.dtype(dtype).itemsize
    )[()],
    fold_in=lambda key, data: np.stack([f(key[0], key[1], data % 2.0**32) for f in WORDS]),
    key=PRNGKey,
    key_data=lambda keys: onp.asarray(cadiff.value(keys)).astype(onp.uint32),
    wrap_key_data=lambda words, impl=None: onp.asarray(words, onp.float64),
)
