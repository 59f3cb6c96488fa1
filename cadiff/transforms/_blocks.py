"""Jacobians in blocks: one for each atom of the result and each atom of the arguments.

A block has the shape of the one, and then that of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..operations.arrays import reshape
from ._outputs import Shape, places


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
