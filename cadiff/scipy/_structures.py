"""Where the entries of a sparse matrix stand, and products with the numbers that stand there.

A structure is a matrix of SciPy whose entries are their own numbers, from 1 on: all that SciPy
does to matrices without computing, it does to this one, and the entries of the result say which
number stands where. Products are linear in the entries and in what they are multiplied by.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..binding import carries, is_single
from ..numpy._matrices import conjugate, on_matrices
from ..operations.arrays import broadcast_to, reshape, sum
from ..operations.primitives import curried, linear_in
from ..operations.table import where

Places = NDArray[np.intp]

# What the constructor of each format takes beside the data.
FORMATS: dict[str, tuple[str, ...]] = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("coords",),
    "dia": ("offsets",),
}

# Those that list their entries one by one.
LISTED = tuple(
    getattr(scipy.sparse, f"{name}_{kind}")
    for name in ("csr", "csc", "coo")
    for kind in ("array", "matrix")
)


def taken(values: Any, numbers: Any) -> Any:
    """The values with these numbers, counted from 1 on; 0 stands for an entry that is 0."""
    places = np.asarray(numbers, dtype=np.intp)
    n = values.shape[0]
    if places.ndim == 1 and len(places) == n and np.array_equal(places, np.arange(1, n + 1)):
        return values
    if n == 0:
        return np.zeros(places.shape)
    entries = values[np.maximum(places - 1, 0)]
    return entries if np.all(places) else where(places > 0, entries, 0.0)


class Structure:
    """The format of a matrix and all its indices: without its data, which are counted in a row."""

    def __init__(self, matrix: Any) -> None:
        self.kind = type(matrix)
        self.shape = matrix.shape
        self.form = matrix.data.shape
        found = (getattr(matrix, name) for name in FORMATS[matrix.format])
        self.indices = tuple(found)
        self.kept: tuple[Any, Any] | None = None  # of which data there are factors, and these

    @cached_property
    def _key(self) -> Any:
        flat = [*self.indices[0], *self.indices[1:]] if self.is_coo else self.indices
        return self.kind, self.shape, self.form, tuple(x.tobytes() for x in flat)

    @property
    def is_coo(self) -> bool:
        """Whether the entries are listed by their coordinates."""
        return issubclass(self.kind, (scipy.sparse.coo_array, scipy.sparse.coo_matrix))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Structure) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> Any:
        return Structure, (self.numbered,)

    @property
    def size(self) -> int:
        """How many data there are."""
        return int(np.prod(self.form))

    def filled(self, data: Any) -> Any:
        """SciPy's matrix with these data."""
        return self.kind((np.reshape(data, self.form), *self.indices), shape=self.shape)

    @cached_property
    def numbered(self) -> Any:
        """The matrix whose entries are the numbers of the data."""
        return self.filled(np.arange(1, self.size + 1))

    @cached_property
    def coordinates(self) -> tuple[Places, Places, Places]:
        """Of the data that stand in the matrix: which they are, their rows and columns."""
        found = self.numbered.tocoo()
        return found.data - 1, found.row, found.col

    def adjoint(self, data: Any) -> tuple[Structure, Any]:
        if issubclass(self.kind, LISTED):  # of which the data are the same
            return Structure(self.filled(np.zeros(self.form)).T), conjugate(data)
        turned = self.numbered.tocsr().T  # SciPy's own `T` loses entries of wide diagonals
        return Structure(turned), conjugate(taken(data, turned.data.reshape(-1)))

    @cached_property
    def _entry_numbers(self) -> Places:
        places, _, _ = self.coordinates
        numbers = np.zeros(self.size, dtype=np.intp)
        numbers[places] = np.arange(1, len(places) + 1)
        return numbers

    def at_entries(self, entries: Any) -> Any:
        """Numbers for all entries that stand in the matrix, as data: 0 where others are."""
        return taken(entries, self._entry_numbers)


# --- products ------------------------------------------------------------------------------------


@partial(on_matrices, called="@")
def product(data: Any, x: Any, *, structure: Structure) -> Any:
    """The product of a matrix and a vector, or a matrix."""
    return np.reshape(structure.filled(data) @ x, structure.shape[:1] + x.shape[1:])


def multiplier(data: Any, structure: Structure) -> Callable[[Any], Any]:
    """What multiplies by a matrix, which is made once for all vectors of plain numbers."""
    matrix = None if carries(data) else structure.filled(data)

    def times(x: Any) -> Any:
        is_plain = matrix is not None and not carries(x)
        return matrix @ x if is_plain else product(data, x, structure=structure)

    return times


def sampled(g: Any, x: Any, structure: Structure) -> Any:
    """The entries of g @ H(x), as data: of all of which the product is not needed."""
    _, rows, columns = structure.coordinates
    terms = g[rows] * conjugate(x[columns])
    return structure.at_entries(terms if terms.ndim == 1 else sum(terms, axis=1))


def _adjoint_product(data: Any, x: Any, structure: Structure) -> Any:
    turned, data = structure.adjoint(data)
    return product(data, x, structure=turned)


def _pattern_by_data(ans: Any, data: Any, x: Any, structure: Structure) -> Any:
    places, rows, _ = structure.coordinates
    shape = structure.shape[0], structure.size
    return _widened(
        scipy.sparse.coo_array((np.ones(len(rows), bool), (rows, places)), shape), x, 0
    )


def _pattern_by_x(ans: Any, data: Any, x: Any, structure: Structure) -> Any:
    return _widened(structure.filled(np.ones(structure.size, bool)), x, 1)


def _widened(pattern: Any, x: Any, by_columns: int) -> Any:
    """The pattern of each column of a matrix x as that of a vector."""
    if x.ndim == 1:
        return pattern
    n = x.shape[1]
    return scipy.sparse.kron(
        pattern, np.eye(n, dtype=bool) if by_columns else np.ones((n, 1), bool)
    )


product.defvjp(
    lambda ans, data, x, structure: lambda g: sampled(g, x, structure),
    lambda ans, data, x, structure: lambda g: _adjoint_product(data, g, structure),
)
product.defjvp(linear_in(product, 0), linear_in(product, 1))
product.of_real.defpattern(_pattern_by_data, _pattern_by_x)


@partial(on_matrices, called="sum")
def total(data: Any, *, structure: Structure, axis: int | None) -> Any:
    """The sum of all entries, or of those of each column (axis 0) or row (axis 1)."""
    return np.asarray(structure.filled(data).sum(axis=axis))[()]


def _total_pull(ans: Any, data: Any, g: Any, structure: Structure, axis: int | None) -> Any:
    places, rows, columns = structure.coordinates
    if axis is None:
        return structure.at_entries(broadcast_to(g, (len(places),)))
    return structure.at_entries(reshape(g, (-1,))[columns if axis == 0 else rows])


total.defvjp(curried(_total_pull))
total.defjvp(linear_in(total, 0))


# --- entries that are sums -----------------------------------------------------------------------


def numbers_at(numbered: Any, rows: Places, columns: Places) -> Places:
    """The numbers of entries that a matrix of numbers has at some places; 0 where it has none."""
    entries = numbered.tocoo()
    width = max(numbered.shape[1], 1)
    keys = entries.row.astype(np.int64) * width + entries.col
    order = np.argsort(keys, kind="stable")
    wanted = rows.astype(np.int64) * width + columns
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.intp)
    near = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[near] == wanted, entries.data[near], 0).astype(np.intp)


def summed(like: Any, rows: Places, columns: Places, values: Any) -> tuple[Any, Any]:
    """A matrix of numbers, of the structure of another, and the sums of what stands at each."""
    numbered = Structure(like).numbered
    places = numbers_at(numbered, rows, columns) - 1
    n = numbered.data.size
    if len(places) == n and len(np.unique(places)) == n:
        return numbered, values[np.argsort(places)]
    ones = np.ones(len(places), np.float32 if is_single(values) else np.float64)
    indices = places, np.arange(len(places))
    terms = scipy.sparse.csr_array((ones, indices), shape=(n, len(places)))
    return numbered, product(terms.data, values, structure=Structure(terms))


def pairs(a: Any, b: Any) -> tuple[Places, Places]:
    """Which entries of a matrix meet which of another one in their product; both in rows."""
    counts = np.diff(b.indptr)[a.indices]
    first = np.repeat(np.arange(len(a.indices)), counts)
    starts = np.repeat(b.indptr[a.indices] - (np.cumsum(counts) - counts), counts)
    return first, np.arange(len(first)) + starts
