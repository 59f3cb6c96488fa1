"""Elements around an array, by every mode of `numpy.pad`.

Axes are padded one after the other; each mode says what comes before and what after an axis.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..binding import plain_values
from ..binding import strip as value
from ..operations import arrays
from ..operations import table as _table
from ..operations.dispatch import implements
from ._common import Number, along, as_number, like, rearranged, written
from ._reductions import max, mean, median, min

STATISTICS: dict[str, Callable[..., Number]] = {
    "maximum": max,
    "mean": mean,
    "median": median,
    "minimum": min,
}

Sides = tuple[Number, Number]  # what comes before an axis, and what after


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Number:
    """Elements around an array, as `numpy.pad`, by every mode.

    `constant_values` and `end_values` may carry derivatives; mode "empty" pads with zeros.
    """
    x, width = as_number(array), value(pad_width)
    if callable(mode):
        return _by_function(x, width, mode, kwargs)
    np.pad(plain_values(x), width, mode, **plain_values(kwargs))  # refuses what NumPy refuses
    if mode == "empty":
        return _constant(x, width, 0.0)
    if mode == "constant":
        return _constant(x, width, kwargs.get("constant_values", 0.0))
    if mode == "linear_ramp":
        ends = written("pad", x, kwargs.get("end_values", 0.0))
        ends = arrays.broadcast_to(ends, (x.ndim, 2))
        return _by_axes(x, width, lambda y, k, pair: _ramps(y, k, pair, ends[k]))
    if mode in STATISTICS:
        lengths = np.broadcast_to(np.asarray(kwargs.get("stat_length")), (x.ndim, 2))
        return _by_axes(
            x, width, lambda y, k, pair: _statistics(y, k, pair, STATISTICS[mode], lengths[k])
        )
    if kwargs.get("reflect_type") == "odd":
        edge = mode == "symmetric"
        return _by_axes(x, width, lambda y, k, pair: _odd_reflections(y, k, pair, edge))
    return rearranged(lambda y: np.pad(y, width, mode, **kwargs), x)


def _constant(x: Number, width: Any, fill: Any) -> Number:
    fill = written("pad", x, fill)
    return rearranged(lambda y, v: np.pad(y, width, "constant", constant_values=v), x, fill)


def _pairs(width: Any, ndim: int) -> list[tuple[int, int]]:
    """How many elements come before and after each axis."""
    if isinstance(width, dict):
        pairs = np.zeros((ndim, 2), dtype=int)
        for axis, pair in width.items():
            pairs[axis] = pair
    else:
        pairs = np.broadcast_to(np.asarray(width, dtype=int), (ndim, 2))
    return [(int(before), int(after)) for before, after in pairs]


def _by_axes(
    x: Number, width: Any, sides: Callable[[Number, int, tuple[int, int]], Sides]
) -> Number:
    size = x.size
    for axis, pair in enumerate(_pairs(width, x.ndim)):
        if any(pair):
            before, after = sides(x, axis, pair)
            x = arrays.concatenate([before, x, after], axis)
    return x if x.size > size else arrays.copy(x)


def _by_function(
    x: Number, width: Any, function: Callable[..., Any], kwargs: dict[str, Any]
) -> Number:
    """Zeros around the array, and each row along each axis changed in place by a function."""
    padded = arrays.array(_constant(x, width, 0.0))
    for axis, pair in enumerate(_pairs(width, x.ndim)):
        rows = arrays.moveaxis(padded, axis, -1)
        for index in np.ndindex(rows.shape[:-1]):
            function(rows[index], pair, axis, kwargs)
    return padded


def _repeated(x: Number, axis: int, n: int) -> Number:
    """An array of length 1 along an axis, n times."""
    return arrays.broadcast_to(x, (*x.shape[:axis], n, *x.shape[axis + 1 :]))


def _ends(x: Number, axis: int, lengths: Iterable[int]) -> list[Number]:
    """So many elements at the beginning, and so many at the end of an axis."""
    n = x.shape[axis]
    first, last = lengths
    keys = along(axis, x.ndim, slice(first), slice(n - last, None))
    return [x[key] for key in keys]


def _ramps(x: Number, axis: int, pair: tuple[int, int], ends: Number) -> Sides:
    """From the edges of the array linearly to the ends, which are not reached inside of it."""
    column = (-1,) + (1,) * (x.ndim - axis - 1)
    ramps = []
    for edge, n, end in zip(_ends(x, axis, (1, 1)), pair, ends, strict=True):
        steps = like(x, np.arange(float(n))).reshape(column)
        ramps.append(steps * ((edge - end) / (n or 1)) + end)
    before, after = ramps
    (backwards,) = along(axis, x.ndim, slice(None, None, -1))
    return before, after[backwards]


def _statistics(
    x: Number, axis: int, pair: tuple[int, int], statistic: Callable[..., Number], lengths: Any
) -> Sides:
    """A statistic of elements at each end."""
    n = x.shape[axis]
    counts = [n if length is None else builtins.min(int(length), n) for length in lengths]
    before, after = (
        _repeated(statistic(end, axis=axis, keepdims=True), axis, times)
        for end, times in zip(_ends(x, axis, counts), pair, strict=True)
    )
    return before, after


def _odd_reflections(x: Number, axis: int, pair: tuple[int, int], edge: bool) -> Sides:
    """Reflected at the points at both ends, which are repeated themselves if `edge`."""
    before, after = pair
    n = x.shape[axis]
    left = np.arange(before, 0, -1) - edge
    right = np.arange(n, n + after)
    first, last = _ends(x, axis, (1, 1))
    if n == 1 and not edge:
        return _repeated(first, axis, before), _repeated(last, axis, after)
    return (
        2.0 * first - _odd_extension(x, axis, left, edge),
        _odd_extension(x, axis, right, edge),
    )


def _odd_extension(x: Number, axis: int, places: Any, edge: bool) -> Number:
    """What stands at places counted from the first element, none of them before it."""
    n = x.shape[axis]
    period = 2 * (n - 1 + edge)
    rounds, within = np.divmod(places, period)
    folded = within > n - 1
    inside = np.where(folded, period - edge - within, within)
    column = (-1,) + (1,) * (x.ndim - axis - 1)
    first, last = _ends(x, axis, (1, 1))
    elements = arrays.take(x, inside, axis)
    result = _table.where(folded.reshape(column), 2.0 * last - elements, elements)
    twice = like(x, 2.0 * rounds.reshape(column))
    return result + twice * (last - first) if rounds.any() else result
