"""Where indices lead in an array, also such as are out of bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as onp

from cadiff import numpy as np

from ..operations.replayed import kind_of


def places_of(shape: tuple[int, ...], key: Any, mode: Any) -> Any:
    """Where an index leads in the flat array: to its end, or to "clip" nearby, if beyond."""
    parts: list[Any] = [*key] if isinstance(key, tuple) else [key]
    parts = [onp.asarray(part) if isinstance(part, list) else part for part in parts]
    kinds = [kind_of(getattr(x, "_plain", x)) if _is_index(x) else "" for x in parts]
    axes = [
        np.ndim(x) if kind == "b" else x is not None and x is not Ellipsis
        for x, kind in zip(parts, kinds, strict=True)
    ]
    size, axis = math.prod(shape), 0
    places = onp.arange(size).reshape(shape)
    for k, kind in enumerate(kinds):
        if parts[k] is Ellipsis:
            axis = len(shape) - sum(axes[k:])
        if kind and kind in "iu":  # of two periods, between which there is nothing
            n, beyond = shape[axis], [(0, 0)] * len(shape)
            beyond[axis] = (1, 1)
            twice = onp.concatenate([places, places], axis)
            how: Any = {"mode": "edge"} if mode == "clip" else {"constant_values": size}
            places = onp.pad(twice, beyond, **how)
            parts[k] = np.clip(parts[k], -n - 1, n) + (n + 1)
        axis += axes[k]
    return places[tuple(parts)]


def _is_index(part: Any) -> bool:
    return isinstance(part, (int, onp.generic, onp.ndarray))


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
