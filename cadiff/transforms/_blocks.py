"""Jacobians in blocks: one for each atom of the result and each atom of the arguments.

A block has the shape of the one, and then that of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..operations.arrays import concatenate, reshape
from ._outputs import Shape, places

MOST_SEEDS = 1 << 24  # numbers, 128 MiB, of tangents of arguments at a time


def blocks_of_matrix(
    matrix: NDArray[Any], above: Sequence[Shape], below: Sequence[Shape]
) -> list[list[Any]]:
    """Blocks of a matrix with a row for each number of the result; it is handed over."""
    if len(above) == len(below) == 1 and above[0] + below[0] != ():
        return [[matrix.reshape(above[0] + below[0])]]
    return [
        [_cut(matrix[rows, columns], shape + leaf) for columns, leaf in places(below)]
        for rows, shape in places(above)
    ]


def _cut(block: NDArray[Any], shape: Shape) -> Any:
    return block.reshape(shape).copy() if shape != () else float(block.item())


def pairs_along_units(
    run: Callable[[list[Any], int], Sequence[tuple[Any, Any]]], below: Sequence[Shape]
) -> list[tuple[Any, Any]]:
    """The value and the tangent of each atom of a result, with a lane for each argument number.

    `run(tangents, lanes)` gives them along some unit vectors: so many that tangents of the
    arguments do not take more than some memory. All lanes are joined.
    """
    n = sum(map(prod, below))
    step = max(1, MOST_SEEDS // max(n, 1))
    pairs = run(_units(below, 0, min(step, n)), min(step, n))
    binding.check_room(sum(prod(binding.shape(x)) for x, _ in pairs), n)
    if step >= n:
        return [*pairs]
    parts = [[_with_lanes(*pair, step)] for pair in pairs]
    wholes = [part if binding.carries(part) else _begun(part, n) for (part,) in parts]
    for begin in range(step, n, step):
        lanes = min(step, n - begin)
        for k, pair in enumerate(run(_units(below, begin, lanes), lanes)):
            part = _with_lanes(*pair, lanes)
            if isinstance(wholes[k], np.ndarray) and not binding.carries(part):
                wholes[k][..., begin : begin + lanes] = part
            else:
                parts[k].append(part)
    joined = (
        concatenate(some, axis=-1) if len(some) > 1 else whole
        for whole, some in zip(wholes, parts, strict=True)
    )
    return [(x, whole) for (x, _), whole in zip(pairs, joined, strict=True)]


def _begun(part: Any, n: int) -> NDArray[Any]:
    whole = np.zeros((*part.shape[:-1], n), part.dtype)
    whole[..., : part.shape[-1]] = part
    return whole


def _units(shapes: Sequence[Shape], begin: int, lanes: int) -> list[Any]:
    """Tangents of atoms along some unit vectors, a lane for each."""
    rows = np.eye(sum(map(prod, shapes)), lanes, -begin)
    return [
        rows[part].reshape((*shape, lanes)) if shape != () else tuple(rows[part][0].tolist())
        for part, shape in places(shapes)
    ]


def blocks_of_tangents(
    pairs: Sequence[tuple[Any, Any]], below: Sequence[Shape]
) -> list[list[Any]]:
    """Blocks from the value and the tangent of each atom, with a lane for each argument number."""
    lanes = sum(map(prod, below))
    blocks = []
    for primal, tangent in pairs:
        whole = _with_lanes(primal, tangent, lanes)
        shape = binding.shape(primal)
        blocks.append([reshape(whole[..., part], shape + leaf) for part, leaf in places(below)])
    return blocks


def _with_lanes(primal: Any, tangent: Any, lanes: int) -> Any:
    """A tangent as an array whose last axis are the lanes, which may be missing: then it is 0."""
    if isinstance(tangent, tuple):
        return binding.numbers_array(list(tangent), (lanes,))
    if binding.ndim(tangent) > binding.ndim(primal):
        return tangent
    return np.zeros((*binding.shape(primal), lanes))
