"""Patterns of sparse matrices against what dense ones hold, at one point or at many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def as_matrix(blocks: Sequence[Sequence[Any]], point: Sequence[Any]) -> NDArray[np.float64]:
    """One matrix of derivatives of several results by each argument at a point."""
    rows = [np.hstack(list(map(_flat, row, point))) for row in blocks]
    return np.vstack(rows) if rows else np.zeros((0, sum(map(np.size, point))))


def _flat(block: Any, x: Any) -> NDArray[np.float64]:
    """The derivative of an array by an array as a matrix."""
    shape = np.shape(block)
    return np.reshape(block, (math.prod(shape[: len(shape) - np.ndim(x)]), np.size(x)))


def mask_of(matrix: Any) -> Mask:
    """Which entries a sparse matrix has, zeros included."""
    found = np.zeros(matrix.shape, bool)
    entries = matrix.tocoo()
    found[entries.row, entries.col] = True
    return found


def check_entries(matrix: Any, dense: NDArray[np.float64], rtol: float) -> Mask:
    """No entry is missing, and each is right; which there are."""
    found = mask_of(matrix)
    assert matrix.shape == dense.shape
    assert not np.any(dense[~found]), "an entry is missing that is not 0"
    scale = np.max(np.abs(dense), initial=1e-3, where=np.isfinite(dense))
    np.testing.assert_allclose(matrix.toarray(), dense, rtol=0.0, atol=rtol * scale)
    return found


class Seen:
    """Of each pattern which of its entries were not 0 at some point."""

    def __init__(self) -> None:
        self._seen: dict[bytes, tuple[Mask, Mask]] = {}

    def note(self, matrix: Any) -> None:
        found = mask_of(matrix)
        _, seen = self._seen.setdefault(found.tobytes(), (found, np.zeros(found.shape, bool)))
        seen |= matrix.toarray() != 0.0

    @property
    def is_exact(self) -> bool:
        return all(np.array_equal(found, seen) for found, seen in self._seen.values())
