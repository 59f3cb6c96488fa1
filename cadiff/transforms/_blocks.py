"""Jacobians in blocks: one for each atom of the result and each atom of the arguments.

A block has the shape of the one, and then that of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..operations.arrays import opened, reshape
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


class InBlocks:
    """The tangents of a result along all unit vectors of the arguments, some of them at a time.

    Iterating gives tangents of the arguments that do not take more than some memory, and how many
    lanes they have. What f makes of them is added; `pairs` are in the end the value of each atom
    and its tangent, with a lane for each argument number.
    """

    def __init__(self, below: Sequence[Shape]) -> None:
        self.pairs: list[tuple[Any, Any]] = []
        self._below, self._n, self._done = below, sum(map(prod, below)), 0
        self._step = max(1, MOST_SEEDS // max(self._n, 1))

    @property
    def are_one(self) -> bool:
        """Whether there are tangents, and all are taken at once."""
        return 0 < self._n <= self._step

    def __iter__(self) -> Iterator[tuple[list[Any], int]]:
        # No generator, which would be closed whenever nobody holds it, be it at an interrupt.
        return map(self._block, range(0, max(self._n, 1), self._step))

    def _block(self, begin: int) -> tuple[list[Any], int]:
        """Tangents of atoms along some unit vectors, a lane for each."""
        lanes = min(self._step, self._n - begin)
        rows = np.eye(self._n, lanes, -begin)
        return [
            rows[part].reshape((*shape, lanes)) if shape != () else tuple(rows[part][0].tolist())
            for part, shape in places(self._below)
        ], lanes

    def add(self, pairs: Sequence[tuple[Any, Any]], lanes: int) -> None:
        if lanes == self._n:
            self.pairs = [*pairs]
            return
        if not self.pairs:
            binding.check_room(sum(prod(binding.shape(x)) for x, _ in pairs), self._n)
            kinds = [getattr(t, "dtype", np.float64) for _, t in pairs]
            zipped = zip(pairs, kinds, strict=True)
            self.pairs = [(x, np.zeros((*binding.shape(x), self._n), k)) for (x, _), k in zipped]
        part = slice(self._done, self._done + lanes)
        for k, ((x, whole), pair) in enumerate(zip(self.pairs, pairs, strict=True)):
            tangent = _with_lanes(*pair, lanes)
            if binding.shape(tangent)[:-1] != binding.shape(x):
                raise RuntimeError(
                    "f is run for some of its inputs after the other, and it returned numbers of "
                    f"shape {binding.shape(x)} at first, and {binding.shape(pair[0])} later"
                )
            if binding.carries(tangent) and isinstance(whole, np.ndarray):
                whole = opened(whole)
                self.pairs[k] = x, whole
            whole[..., part] = tangent
        self._done = part.stop


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
