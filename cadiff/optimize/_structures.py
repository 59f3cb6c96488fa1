"""Where sparse matrices have entries, as solvers in C are told once, and entries in that order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._vectors import FloatArray

Structure = tuple[NDArray[np.intp], NDArray[np.intp]]


class MissingEntryError(ValueError):
    """A matrix has an entry that its structure lacks, since f took another branch."""


def structure_of(matrix: Any) -> Structure:
    entries = matrix.tocoo()
    return entries.coords[0].astype(np.intp), entries.coords[1].astype(np.intp)


def entries(matrix: Any, structure: Structure, what: str) -> FloatArray:
    """Entries in the order of a structure, which may have more."""
    rows, columns = structure_of(matrix)
    if np.array_equal(rows, structure[0]) and np.array_equal(columns, structure[1]):
        return np.asarray(matrix.data)
    n = matrix.shape[1]
    known = structure[0] * n + structure[1]
    at = np.searchsorted(known, rows * n + columns)
    at[at == len(known)] = 0
    missing = known[at] != rows * n + columns if len(known) else np.ones(len(rows), dtype=bool)
    if np.any(missing):
        raise MissingEntryError(
            f"the {what} has an entry ({rows[missing][0]}, {columns[missing][0]}) that it did not "
            "have where its structure was found, since f took another branch: find the structure "
            "at an x0 where no entry is missing"
        )
    values = np.zeros(len(known))
    values[at] = matrix.data
    return values
