"""The random generator Threefry 2x32 (Salmon and others 2011): what it makes of keys.

A key is two whole numbers as floats, which programs carry. Its words are an operation of the
table; narrow numbers, spans that are wide and orders are primitives without derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as onp

import cadiff
from cadiff import numpy as np

from ..binding import _core

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
