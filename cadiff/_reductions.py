"""Maxima and minima over object arrays of numbers with derivatives.

Where several elements share the extreme value, they share its derivative in equal parts. The value
itself is that of an element, untouched by rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ObjectArray = NDArray[np.object_]


def maximum(
    array: ObjectArray,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Any:
    """Maximum over all elements or along axes, as `numpy.max`."""
    return _reduce(array, np.greater, axis, out, keepdims)


def minimum(
    array: ObjectArray,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Any:
    """Minimum over all elements or along axes, as `numpy.min`."""
    return _reduce(array, np.less, axis, out, keepdims)


def _extreme(elements: Sequence[Any], beats: Callable[[Any, Any], Any]) -> Any:
    if len(elements) == 0:
        raise ValueError("the maximum or minimum of no elements is not defined")
    best = elements[0]
    for element in elements:
        if element != element:  # a nan wins, as in NumPy
            return element
        if beats(element, best):
            best = element
    ties = [element for element in elements if element == best]
    if best in (np.inf, -np.inf):
        return sum(tie / len(ties) for tie in ties)
    # The differences are exactly 0; their derivatives even out the shares.
    return ties[0] + sum((tie - ties[0]) / len(ties) for tie in ties[1:])


def _reduce(
    array: ObjectArray,
    beats: Callable[[Any, Any], Any],
    axis: int | tuple[int, ...] | None,
    out: None,
    keepdims: bool,
) -> Any:
    if out is not None:
        raise TypeError("max and min of numbers with derivatives take no out=")
    axes = range(array.ndim) if axis is None else np.atleast_1d(np.asarray(axis))
    reduced = {int(k) % array.ndim for k in axes} if array.ndim else set()
    kept = [k for k in range(array.ndim) if k not in reduced]
    rows = array.transpose(kept + sorted(reduced)).reshape([array.shape[k] for k in kept] + [-1])
    result = np.empty(rows.shape[:-1], dtype=object)
    for index in np.ndindex(result.shape):
        result[index] = _extreme(list(rows[index]), beats)
    if keepdims:
        shape = [1 if k in reduced else length for k, length in enumerate(array.shape)]
        return result.reshape(shape)
    return result[()]
