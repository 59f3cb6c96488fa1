"""Sparse matrices of numbers with derivatives: one class for all formats of SciPy.

Such a matrix is a vector of values and a matrix of SciPy's that says which of them stands where
(see `_structures`). What moves entries about is done to the latter by SciPy; what computes is done
to the former. Constant matrices of SciPy are taken along as matrices of constant values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ...binding import MissingRuleError, carries, register_class
from ...binding import unguarded as value
from ...numpy.linalg import number
from ...operations.arrays import broadcast_to, concatenate, reshape, sum
from .._structures import FORMATS, Structure, numbers_at, pairs, product, summed, taken, total

INSTEAD = "compute with A.data, whose entries stand where A.tocoo().coords says, or A.toarray()"


# What SciPy makes of one row listed by coordinates and a vector, in some versions.
ROW_GIVES_NUMBER = np.ndim(scipy.sparse.coo_array((1, 1)) @ np.zeros(1)) == 0


def listed(matrix: Any) -> Any:
    """A matrix in a format whose data are an array."""
    return matrix if matrix.format in FORMATS else matrix.tocsr()


class SparseNumbers:
    """A sparse matrix of numbers with derivatives, which is used as those of scipy.sparse are.

    Attributes
    ----------
    numbers : sparse matrix of ints
        Which of the values stands where, counted from 1 on. Some may stand at several places.
    values : Var, Dual or ndarray of shape (n,)
        Real or complex.
    """

    constant: Any = None  # the matrix of SciPy's that it is, if it is one
    given: Any = None  # the entries that `data` gave, to which somebody may have written since

    def __init__(self, numbers: Any, values: Any) -> None:
        self.numbers = numbers
        self._values = values

    @functools.cached_property
    def numbers(self) -> Any:
        return Structure(self.constant).numbered

    @property
    def values(self) -> Any:
        if self.given is not None:
            return reshape(self.given, (-1,)).copy()
        if self.constant is not None:
            return number(self.constant.data.reshape(-1))
        return self._values

    @classmethod
    def of(cls, matrix: Any) -> SparseNumbers:
        """A matrix of SciPy's, or of numbers, sparse or not, as one of numbers."""
        if isinstance(matrix, cls):
            return matrix
        if not scipy.sparse.issparse(matrix):
            dense = number(matrix)
            if dense.ndim != 2:
                raise ValueError(f"a sparse matrix has two dimensions, not those of {dense.shape}")
            if not carries(dense):
                return cls.of(scipy.sparse.coo_array(dense))
            places = np.arange(1, dense.size + 1).reshape(dense.shape)
            return cls(scipy.sparse.coo_array(places), reshape(dense, (-1,)))
        wrapped = cls.__new__(cls)
        wrapped.constant = listed(matrix)
        return wrapped

    # --- what it looks like

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple((self.numbers if self.constant is None else self.constant).shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def format(self) -> str:
        """The name of the format, such as "csr"."""
        return str(self.numbers.format)

    @property
    def nnz(self) -> int:
        """How many entries are stored."""
        return int(self.numbers.nnz)

    size = nnz

    def getnnz(self, axis: int | None = None) -> Any:
        """How many entries are stored, in all, or in each column (axis 0) or row (axis 1)."""
        return self.numbers.getnnz(axis)

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def data(self) -> Any:
        """The entries, in the order and the shape that the format has them; to be written to."""
        if self.given is None:
            places = listed(self.numbers).data
            data = reshape(taken(self.values, places.reshape(-1)), places.shape)
            if self.constant is not None or self.format not in FORMATS:
                return data
            self.data = data.copy()
        return self.given

    @data.setter
    def data(self, data: Any) -> None:
        places = self.numbers.copy()
        if self.format not in FORMATS or np.shape(data) != places.data.shape:
            self._refuse()
        places.data = np.arange(1, places.data.size + 1).reshape(places.data.shape)
        self.numbers, self.given, self.constant = places, data, None

    @property
    def is_matrix(self) -> bool:
        """Whether `*` is the product of matrices."""
        return bool(scipy.sparse.isspmatrix(self.numbers))

    def __repr__(self) -> str:
        kind = type(self.numbers).__name__
        return f"<{kind} of shape {self.shape} with {self.nnz} numbers with derivatives>"

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(self.shape[0]))

    def __getattr__(self, name: str) -> Any:
        """Indices, and what else SciPy's matrix has that does not depend on values."""
        if name.startswith("__"):  # asked for by copy and pickle, before there are numbers
            raise AttributeError(name)
        if name in ("indices", "indptr", "coords", "row", "col", "offsets", "blocksize"):
            return getattr(self.numbers, name)
        if name in MOVES:
            return functools.partial(self._moved, name)
        if name in ELEMENTWISE:
            return functools.partial(self._mapped, getattr(np, name))
        if hasattr(self.numbers, name):
            raise MissingRuleError(
                f"scipy.sparse.{type(self.numbers).__name__}.{name} does not support numbers with "
                f"derivatives: {INSTEAD}"
            )
        raise AttributeError(f"{type(self.numbers).__name__} has no attribute {name!r}")

    def _refuse(self, *_: Any) -> Any:
        raise MissingRuleError(
            "sparse matrices of numbers with derivatives are not compared, nor assigned to: "
            f"{INSTEAD}"
        )

    def __setattr__(self, name: str, to: Any) -> None:
        if name not in ("_values", "constant", "data", "given", "numbers"):
            self._refuse()
        super().__setattr__(name, to)

    __setitem__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    # --- what moves entries about

    @property
    def one_by_one(self) -> SparseNumbers:
        """The matrix with all entries of one place added up; itself if there is one at each."""
        return self._added if self.given is None else self._added_up()

    @functools.cached_property
    def _added(self) -> SparseNumbers:
        return self._added_up()

    def _added_up(self) -> SparseNumbers:
        matrix = self.numbers
        if matrix.ndim != 2:
            row: SparseNumbers = self._as_rows(lambda row: row.one_by_one)
            return self if row.nnz == self.nnz else row
        if matrix.format not in ("coo", "csr", "csc", "bsr") or matrix.has_canonical_format:
            return self
        places = matrix.tocoo()
        rows, columns = places.row, places.col
        once = scipy.sparse.coo_array((np.ones(len(rows)), (rows, columns)), self.shape).tocsr()
        if once.nnz == len(rows):
            return self
        like = type(matrix)(once)
        return SparseNumbers(*summed(like, rows, columns, taken(self.values, places.data)))

    def _as_rows(self, function: Callable[[SparseNumbers], Any]) -> Any:
        """A function of a matrix, of another array: which is taken for one row of it."""
        places = self.numbers.tocoo(copy=True)  # SciPy's reshape adds up numbers, and in place
        where = np.zeros_like(places.coords[0]), np.ravel_multi_index(places.coords, self.shape)
        row = scipy.sparse.coo_array((places.data, where), shape=(1, np.prod(self.shape)))
        image = function(SparseNumbers(row, self.values))
        if not isinstance(image, SparseNumbers):
            return image
        return SparseNumbers(image.numbers.reshape(self.shape).asformat(self.format), image.values)

    def moved(self, move: Callable[[Any], Any]) -> Any:
        """What SciPy makes of the matrix: another one, an array, or a number."""
        whole = self
        if self.one_by_one is not self:
            ones = self.numbers.copy()
            ones.data = (ones.data > 0).astype(int)
            counts = move(ones)
            counts = listed(counts).data if scipy.sparse.issparse(counts) else counts
            if np.any(counts > 1):  # SciPy adds up what it moves
                whole = self.one_by_one
        result = move(whole.numbers)
        if scipy.sparse.issparse(result):
            return SparseNumbers(result, whole.values)
        return taken(whole.values, np.asarray(result))

    def _moved(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return self.moved(lambda numbers: getattr(numbers, name)(*args, **kwargs))

    @property
    def T(self) -> SparseNumbers:  # noqa: N802 - as in NumPy
        """The transposed matrix."""
        return SparseNumbers(self.numbers.T, self.values)

    @property
    def H(self) -> SparseNumbers:  # noqa: N802 - as SciPy's matrices have it
        """The adjoint matrix."""
        return self.conjugate().T

    mT = T  # noqa: N815 - as in NumPy

    def __getitem__(self, key: Any) -> Any:
        return self.moved(lambda numbers: numbers[key])

    def copy(self) -> SparseNumbers:
        return SparseNumbers(self.numbers.copy(), self.values)

    def trace(self, offset: int = 0) -> Any:
        """The sum of a diagonal."""
        return sum(self.diagonal(offset))

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> SparseNumbers:
        return SparseNumbers(self.numbers, self.values.astype(dtype))

    # --- entry by entry

    def _mapped(self, function: Callable[..., Any], *more: Any) -> SparseNumbers:
        """A function of each entry, which of 0 is 0."""
        return self.one_by_one._each(function, *more)

    def _each(self, function: Callable[..., Any], *more: Any) -> SparseNumbers:
        """A function that may be taken before entries of one place are added up."""
        return SparseNumbers(self.numbers, function(self.values, *more))

    def __neg__(self) -> SparseNumbers:
        return self._each(np.negative)

    def __pos__(self) -> SparseNumbers:
        return self

    def __abs__(self) -> SparseNumbers:
        return self._mapped(np.abs)

    @property
    def real(self) -> SparseNumbers:
        return self._each(np.real)

    @property
    def imag(self) -> SparseNumbers:
        return self._each(np.imag)

    def conjugate(self, copy: bool = True) -> SparseNumbers:
        return self._each(np.conjugate)

    conj = conjugate

    def power(self, n: Any, dtype: Any = None) -> SparseNumbers:
        """Each entry to the power n, which is a number above 0."""
        if not np.ndim(n) == 0 or value(n) <= 0:
            raise ValueError(f"sparse matrices have powers above 0 of each entry, not {n!r}")
        return self._mapped(np.power, n)

    def __pow__(self, n: Any) -> SparseNumbers:
        if not self.is_matrix:
            return self.power(n)
        if n != int(n) or n < 1:
            raise ValueError(f"the powers of a sparse matrix are whole and above 0, not {n!r}")
        power = self
        for _ in range(int(n) - 1):
            power = power @ self
        return power

    def multiply(self, other: Any) -> Any:
        """The products entry by entry, with a number, an array or a sparse matrix."""
        if is_sparse(other):
            a, b = self.one_by_one, SparseNumbers.of(other).one_by_one
            return in_both(lambda x, y: x.multiply(y), a, b)
        other = number(other)
        if other.ndim == 0:
            return self._each(np.multiply, other)
        return self._by_dense(np.multiply, other)

    def _by_dense(self, function: Callable[..., Any], other: Any) -> SparseNumbers:
        """A function of the entries and of what stands at their places in an array."""
        whole = self.one_by_one
        found = whole.numbers.multiply(np.ones(other.shape, dtype=whole.numbers.dtype)).tocoo()
        beside = broadcast_to(other, found.shape)[found.coords]
        made = function(taken(whole.values, found.data), beside)
        return SparseNumbers(Structure(found).numbered, made)

    def __mul__(self, other: Any) -> Any:
        return self @ other if self.is_matrix and np.ndim(other) else self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        if self.is_matrix and np.ndim(other):
            return self.__rmatmul__(other)
        return self.multiply(other)

    def __truediv__(self, other: Any) -> Any:
        if is_sparse(other):
            return self.toarray() / as_dense(other)
        other = number(other)
        return self._by_dense(np.divide, other) if other.ndim else self._each(np.divide, other)

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented

    def _plus(self, other: Any, sign: float) -> Any:
        if not is_sparse(other):
            other = number(other)
            if other.ndim == 0 and not carries(other) and other == 0:
                return self
            if other.ndim == 0:
                raise NotImplementedError(
                    "adding a nonzero scalar to a sparse array is not supported: write "
                    "A.toarray() + x"
                )
            return self.toarray() + (other if sign > 0 else -other)
        if self.ndim == 1:
            return self._as_rows(lambda row: row._plus(other.reshape((1, -1)), sign))
        both = self, SparseNumbers.of(other)
        a, b = (x.numbers.tocoo() for x in both)
        ones = (_ones(x.numbers) for x in both)
        values = [taken(x.values, c.data) for x, c in zip(both, (a, b), strict=True)]
        if sign < 0:
            values[1] = -values[1]
        rows, columns = (np.concatenate([x, y]) for x, y in ((a.row, b.row), (a.col, b.col)))
        like = listed(next(ones) + next(ones))
        return SparseNumbers(*summed(like, rows, columns, concatenate(values)))

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1.0)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1.0)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1.0)

    # --- products

    def parts(self) -> tuple[Any, Structure]:
        """The data, and the structure in which they stand."""
        if self.constant is not None:
            return self.values, Structure(self.constant)
        found = listed(self.numbers)
        return taken(self.values, found.data.reshape(-1)), Structure(found)

    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other) and other.ndim == 1:
            result = self @ other.toarray()
            places = scipy.sparse.coo_array(np.arange(1, self.shape[0] + 1))
            return result if self.ndim == 1 else SparseNumbers(places, result)
        if self.ndim == 1:
            return self._as_rows(lambda row: as_dense(row.tocsr() @ other))[0]
        if is_sparse(other):
            return self._times_sparse(SparseNumbers.of(other))
        x = number(other)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ValueError(
                f"matmul: dimension mismatch with signature (n,k={self.shape[1]}),"
                f"(k={x.shape[0] if x.ndim else 'none'},...)->(n,...)"
            )
        data, structure = self.parts()
        result = product(data, x, structure=structure)
        is_number = self.format == "coo" and result.shape == (1,) and ROW_GIVES_NUMBER
        return result[0] if is_number else result

    dot = __matmul__

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return SparseNumbers.of(other) @ self
        x = number(other)
        if self.ndim == 1:
            return self @ x.T
        result = self.T @ (x.T if x.ndim == 2 else x)
        return result.T if x.ndim == 2 else result

    def _times_sparse(self, other: SparseNumbers) -> SparseNumbers:
        if self.shape[1] != other.shape[0]:
            raise ValueError(
                f"matmul: dimension mismatch with signature (n,k={self.shape[1]}),"
                f"(k={other.shape[0]},m)->(n,m)"
            )
        a, b = self.one_by_one, other.one_by_one
        like = listed(_ones(a.numbers) @ _ones(b.numbers))
        p, q = a.numbers.tocsr(), b.numbers.tocsr()
        first, second = pairs(p, q)
        rows = np.repeat(np.arange(p.shape[0]), np.diff(p.indptr))[first]
        terms = taken(a.values, p.data[first]) * taken(b.values, q.data[second])
        return SparseNumbers(*summed(like, rows, q.indices[second], terms))

    def sum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum of all entries, of each column (axis 0), or of each row (axis 1)."""
        if self.ndim == 1:
            return self._as_rows(lambda row: row.sum())
        data, structure = self.parts()
        if axis is not None:
            axis = int(axis) % 2
        return total(data, structure=structure, axis=axis)

    def mean(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """The mean of all elements, zeros included, of each column or of each row."""
        n = math.prod(self.shape) if axis is None else self.shape[axis]
        return self.sum(axis) / n

    # --- NumPy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            "a sparse matrix of numbers with derivatives is no array: write A.toarray(), or a "
            "method of it, such as A.sum()"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = {np.add: "add", np.subtract: "sub", np.multiply: "mul", np.matmul: "matmul"}
        name[np.true_divide] = "truediv"
        if method == "__call__" and not kwargs:
            if len(inputs) == 1 and ufunc.__name__ in ELEMENTWISE:
                return self._mapped(ufunc)
            if ufunc in name:
                reflected = "r" if inputs[0] is not self else ""
                return getattr(self, f"__{reflected}{name[ufunc]}__")(inputs[bool(not reflected)])
        raise MissingRuleError(
            f"numpy.{ufunc.__name__} does not support sparse matrices of numbers with "
            f"derivatives: {INSTEAD}"
        )


# What SciPy's methods do without computing.
MOVES = frozenset(
    ("toarray", "todense", "tocsr", "tocsc", "tocoo", "todia", "tobsr", "tolil", "todok")
    + ("asformat", "transpose", "reshape", "diagonal", "getrow", "getcol")
)

# Functions of each entry that are 0 at 0.
ELEMENTWISE = frozenset(
    ("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1", "log1p")
    + ("sqrt", "deg2rad", "rad2deg", "sign", "rint", "floor", "ceil", "trunc")
    + ("negative", "absolute", "square", "conjugate")
)


def _ones(numbers: Any) -> Any:
    """The matrix with 1 at each place, so that no sum of products is 0."""
    return listed(numbers).astype(float).sign()


def is_sparse(x: Any) -> bool:
    """Whether it is a sparse matrix, of SciPy's or of numbers with derivatives."""
    return isinstance(x, SparseNumbers) or bool(scipy.sparse.issparse(x))


def as_dense(x: Any) -> Any:
    """The array of a sparse matrix; all else unchanged."""
    return x.toarray() if is_sparse(x) else x


def in_both(
    function: Callable[[Any, Any], Any], a: SparseNumbers, b: SparseNumbers
) -> SparseNumbers:
    """A product of entries, each of one of a and one of b, that SciPy puts where it puts it."""
    first = function(a.numbers, _ones(b.numbers).astype(int))
    second = function(_ones(a.numbers).astype(int), b.numbers)
    first = listed(first)
    structure = Structure(first)
    places, rows, columns = structure.coordinates
    others = np.zeros(structure.size, dtype=np.intp)
    others[places] = numbers_at(second, rows, columns)
    products = taken(a.values, first.data.reshape(-1)) * taken(b.values, others)
    return SparseNumbers(structure.numbered, products)


def counted(items: Sequence[Any]) -> tuple[list[Any], Any]:
    """Items whose entries are numbers, counted through all of them, and the values of these.

    Sparse matrices become matrices of numbers, and arrays become arrays; None stays.
    """
    numbered: list[Any] = []
    values: list[Any] = []
    n = 0
    for item in items:
        if item is None:
            numbered.append(None)
            continue
        if is_sparse(item):
            matrix = SparseNumbers.of(item).one_by_one
            numbers = listed(matrix.numbers).copy()
            numbers.data = np.where(numbers.data > 0, numbers.data + n, 0)
            values.append(matrix.values)
        else:
            dense = number(item)
            numbers = np.arange(n + 1, n + 1 + dense.size).reshape(dense.shape)
            values.append(reshape(dense, (-1,)))
        numbered.append(numbers)
        n += values[-1].shape[0]
    return numbered, values[0] if len(values) == 1 else concatenate(values or [np.zeros(0)])


def assembled(function: Callable[..., Any], *items: Any) -> SparseNumbers:
    """The matrix that a function of SciPy's puts together out of matrices, sparse or not."""
    numbers, values = counted(items)
    return SparseNumbers(function(*numbers), values)


def _flatten(matrix: SparseNumbers) -> tuple[list[Any], Structure]:
    data, structure = matrix.parts()
    return [data], structure


def _unflatten(structure: Structure, children: tuple[Any, ...]) -> Any:
    return SparseNumbers(structure.numbered, *children)


register_class(SparseNumbers, _flatten, _unflatten)
