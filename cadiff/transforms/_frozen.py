"""Frozen linear maps, applied to numbers of any kind.

The core pushes and pulls plain vectors. A vector with derivatives goes through a primitive: its
rules are the map itself and its transpose, so derivatives of all orders are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import binding
from ..binding import FrozenMap
from ..operations.arrays import concatenate, reshape
from ..operations.primitives import primitive
from ._outputs import Shape, places

MOST_ENTRIES = 1 << 28  # of a map whose matrix is computed to find its structure, ...
COLUMNS = 64  # ... so many at a time


def carried_vector(frozen: FrozenMap, vector: Any, back: bool) -> Any:
    """A vector through the map, or back through its transpose."""
    if not binding.carries(vector):
        return frozen.carry_columns(vector, back)
    return _differentiable(frozen, back)(vector)


def _differentiable(frozen: FrozenMap, back: bool) -> primitive:
    @primitive
    def linear_map(vector: Any) -> Any:
        return frozen.carry_columns(vector, back)

    linear_map.defvjp(lambda ans, v: lambda g: carried_vector(frozen, g, not back))
    linear_map.defjvp(lambda g, ans, v: carried_vector(frozen, g, back))
    linear_map.defpattern(lambda ans, v: _entries(frozen, back, ans.size, v.size))
    return linear_map


def _entries(frozen: FrozenMap, back: bool, m: int, n: int) -> Any:
    """Where the matrix of the map is not 0, all of it if that would take long to find."""
    if m * n > MOST_ENTRIES:
        return "i->j"
    places = [np.zeros((2, 0), np.intp)]
    for begin in range(0, n, COLUMNS):
        unit = np.eye(n, min(COLUMNS, n - begin), -begin)
        rows, columns = np.nonzero(frozen.carry_columns(unit, back))
        places.append(np.stack([rows, columns + begin]))
    return tuple(np.concatenate(places, axis=1))


def joined(atoms: Sequence[Any]) -> Any:
    """Numbers and arrays as one vector."""
    if len(atoms) == 1 and binding.shape(atoms[0]):
        return reshape(atoms[0], -1)
    if all(type(atom) is float for atom in atoms):
        return np.array(atoms)
    if all(binding.shape(atom) == () for atom in atoms):
        return binding.numbers_array(list(atoms), (len(atoms),))
    return concatenate([reshape(atom, -1) for atom in atoms])


def parted(vector: Any, shapes: Sequence[Shape]) -> list[Any]:
    """The numbers and arrays of these shapes that stand in a vector."""
    if isinstance(vector, np.ndarray) and not any(shapes):
        return list(vector.tolist())
    return [_part(vector, place, shape) for place, shape in places(shapes)]


def _part(vector: Any, place: slice, shape: Shape) -> Any:
    if shape == ():
        number = vector[place.start]
        return number.item() if isinstance(vector, np.ndarray) else number
    part = reshape(vector[place], shape)
    return part.copy() if isinstance(part, np.ndarray) and part.size < len(vector) else part


def carried(
    frozen: FrozenMap, atoms: Sequence[Any], shapes: Sequence[Shape], back: bool
) -> list[Any]:
    """Atoms through the map or its transpose: atoms of other shapes."""
    return parted(carried_vector(frozen, joined(atoms), back), shapes)
