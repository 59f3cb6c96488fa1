"""Where indices lead in an array, also such as are out of bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as onp

from cadiff import numpy as np


def places_of(shape: tuple[int, ...], key: Any, mode: Any) -> Any:
    """Where an index leads in the flat array: to -1 if out of bounds, or, to "clip", nearby."""
    parts: list[Any] = [*key] if isinstance(key, tuple) else [key]
    arrays = [onp.asarray(part) for part in parts]  # of objects, for slices and their like
    axes = [
        x.ndim if x.dtype == bool else part is not None and part is not Ellipsis
        for part, x in zip(parts, arrays, strict=True)
    ]
    beyond, axis = onp.zeros((len(shape), 2), int), 0
    for k, (part, index) in enumerate(zip(parts, arrays, strict=True)):
        if part is Ellipsis:
            axis = len(shape) - sum(axes[k:])
        if index.dtype.kind in "iu":
            n = shape[axis]
            index = onp.where(index < 0, index + n, index)
            parts[k] = onp.clip(index, 0, n - 1)
            if mode != "clip":
                parts[k], beyond[axis, 1] = onp.where(parts[k] == index, index, n), 1
        axis += axes[k]
    places = onp.arange(math.prod(shape)).reshape(shape)
    return onp.pad(places, beyond, constant_values=-1)[tuple(parts)]


def part_places(shape: Sequence[int], starts: Any, sizes: Sequence[int]) -> tuple[Any, ...]:
    """The index of a part of some sizes; its beginning is moved until the part is within."""
    found: list[Any] = []
    for k, (start, n, size) in enumerate(zip(starts, shape, sizes, strict=True)):
        along = onp.arange(size).reshape((-1,) + (1,) * (len(sizes) - k - 1))
        start = start + n if isinstance(start, (int, onp.integer)) and start < 0 else start
        found.append(np.clip(start, 0, n - size) + along)
    return tuple(found)


def limits(dtype: Any) -> tuple[Any, Any]:
    """The least and the greatest number of a dtype."""
    info = onp.iinfo(dtype) if dtype.kind in "iu" else SimpleNamespace(min=-onp.inf, max=onp.inf)
    return info.min, info.max
