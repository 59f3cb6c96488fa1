"""`scipy.sparse` for numbers with derivatives: matrices are made of them, and computed with.

A constructor is called as SciPy's: if an argument carries a derivative it makes a `SparseNumbers`,
else SciPy's own matrix. Functions that move entries about are SciPy's, applied to matrices of
numbers. Matrices of scipy.sparse themselves answer `A @ x` and `x @ A`, and all other operators,
for a number x that carries a derivative.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from ...binding import callers, carries, plain_constants
from ...numpy._refusals import the_rest_of
from ...numpy.linalg import number
from ...operations.arrays import reshape
from ...operations.complexes import implements_all
from ...operations.guards import truths
from .._mirror import kernels
from .._structures import taken
from . import linalg as linalg
from ._numbers import INSTEAD, SparseNumbers, counted, in_both, is_sparse

__all__ = [
    "SparseNumbers", "block_array", "block_diag", "bmat", "diags", "diags_array", "find", "hstack",
    "issparse", "kron", "kronsum", "tril", "triu", "vstack",
    *(f"{name}_{kind}" for kind in ("array", "matrix") for name in (
        "bsr", "coo", "csc", "csr", "dia", "dok", "lil",
    )),
]  # fmt: skip


__getattr__, __dir__ = the_rest_of(scipy.sparse, globals(), instead=INSTEAD)


issparse = is_sparse


# --- constructors --------------------------------------------------------------------------------


class _Constructor(type):
    """The type of what stands for a class of SciPy's: it makes that or a `SparseNumbers`.

    Objects of both are its instances, if they are of its format.
    """

    original: type

    def __call__(cls, arg1: Any, *args: Any, **kwargs: Any) -> Any:
        constants = plain_constants((arg1,)) if carries(arg1) else (arg1,)
        if constants is not None:
            return cls.original(*constants, *args, **kwargs)
        return _made(cls.original, arg1, *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, SparseNumbers):
            return isinstance(instance.numbers, cls.original)
        return isinstance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.original)


def _made(
    original: Any, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **more: Any
) -> SparseNumbers:
    """A matrix of SciPy's class, made as it says of data, of a dense matrix or of another one.

    Of a dense matrix all elements are entries, those that are 0, too: they have derivatives.
    """
    if isinstance(arg1, tuple) and len(arg1) in (2, 3):
        data, *where = arg1
        data = number(data)
        places = np.arange(1, data.size + 1).reshape(data.shape)
        is_listed = len(where) == 1 and isinstance(where[0], (tuple, list))
        keeps_entries = original.__name__.startswith(("coo", "dia"))  # else numbers would be added
        first = scipy.sparse.coo_array if is_listed and not keeps_entries else original
        matrix = SparseNumbers(first((places, *where), shape=shape, **more), reshape(data, (-1,)))
    else:
        matrix = SparseNumbers.of(arg1)
    if type(matrix.numbers) is not original:
        matrix = matrix.moved(original)
    if dtype is not None:
        matrix = matrix.astype(dtype)
    return matrix


for _kind in ("array", "matrix"):
    for _name in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
        _original = getattr(scipy.sparse, f"{_name}_{_kind}")
        globals()[_original.__name__] = _Constructor(
            _original.__name__,
            (),
            {"original": _original, "__doc__": _original.__doc__, "__module__": __name__},
        )
kernels("scipy.interpolate._bsplines", "csr_array")(globals()["csr_array"])
sparray = scipy.sparse.sparray
spmatrix = scipy.sparse.spmatrix


# --- functions that move entries about -----------------------------------------------------------


def _moves(original: Callable[..., Any], is_list: bool = True) -> None:
    """Have SciPy's function move numbers about: those of the matrices in its first argument."""
    takes_dtype = "dtype" in inspect.signature(original).parameters
    takes_sparse = original.__name__ in ("expand_dims", "permute_dims", "swapaxes")

    def call(first: Any, *args: Any, **kwargs: Any) -> Any:
        if takes_sparse and not is_sparse(first):
            return original(first, *args, **kwargs)
        dtype = kwargs.get("dtype")
        if takes_dtype:
            kwargs["dtype"] = int
        rows = list(first) if is_list else [first]
        if original is scipy.sparse.block_diag:
            rows = [_as_block(x) if isinstance(x, list) or not np.ndim(x) else x for x in rows]
        is_table = any(isinstance(row, (list, tuple)) and not _is_row(row) for row in rows)
        flat = [x for row in rows for x in row] if is_table else rows
        items, values = counted(flat)
        if is_table:
            ends = np.cumsum([0, *map(len, rows)])
            nested: Any = [items[i:j] for i, j in itertools.pairwise(ends)]
        else:
            nested = items if is_list else items[0]
        matrix = SparseNumbers(original(nested, *args, **kwargs), values)
        return matrix if dtype is None else matrix.astype(dtype)

    call.__doc__ = original.__doc__
    globals()[original.__name__] = implements_all(original)(call)


def _as_block(x: Any) -> Any:
    """A matrix, or a number or a list as a matrix."""
    dense = x if is_sparse(x) else number(x)
    return dense if dense.ndim == 2 else reshape(dense, (1, -1))


def _is_row(x: Any) -> bool:
    """Whether a list is one of numbers: a diagonal, say, and not a row of matrices."""
    return not any(x_ is None or is_sparse(x_) or np.ndim(x_) for x_ in x)


for _original in (
    scipy.sparse.block_array, scipy.sparse.bmat, scipy.sparse.block_diag, scipy.sparse.hstack,
    scipy.sparse.vstack, scipy.sparse.diags_array, scipy.sparse.diags,
):  # fmt: skip
    _moves(_original)
for _name in ("tril", "triu", "expand_dims", "permute_dims", "swapaxes"):
    if hasattr(scipy.sparse, _name):  # the last three since SciPy 1.15
        _moves(getattr(scipy.sparse, _name), is_list=False)


@implements_all(scipy.sparse.kron)
def kron(A: Any, B: Any, format: str | None = None) -> SparseNumbers:
    """The Kronecker product of two matrices, sparse or not."""
    return _kron(A, B, format)


def _kron(A: Any, B: Any, format: str | None = None) -> SparseNumbers:
    a, b = (SparseNumbers.of(x).one_by_one for x in (A, B))
    if a.ndim == b.ndim == 1:
        row: SparseNumbers = _kron(a.reshape(1, -1), b.reshape(1, -1), format).reshape(-1)
        return row
    return in_both(lambda x, y: scipy.sparse.kron(x, y, format=format), a, b)


@implements_all(scipy.sparse.kronsum)
def kronsum(A: Any, B: Any, format: str | None = None) -> Any:
    """The Kronecker sum kron(eye(n), A) + kron(B, eye(m)) of two square matrices."""
    a, b = (scipy.sparse.eye_array(x.shape[0]) for x in (A, B))
    return (_kron(b, A) + _kron(B, a)).asformat(format or "csr")


@implements_all(scipy.sparse.find)
def find(A: Any) -> tuple[Any, Any, Any]:
    """The rows, columns and values of the entries that are not 0 now."""
    matrix = SparseNumbers.of(A).one_by_one
    entries = matrix.numbers.tocoo(copy=True)
    entries.sum_duplicates()  # there are none: this brings them in SciPy's order
    data = taken(matrix.values, entries.data)
    is_kept = truths(data, equality=False)
    return entries.row[is_kept], entries.col[is_kept], data[is_kept]


# --- operators of SciPy's matrices ---------------------------------------------------------------


def answer(name: str, matrix: Any, other: Any) -> Any:
    """What a method of a constant matrix answers, given what carries a derivative."""
    if name == "__init__":
        kind = type(matrix).__name__
        instead = f"cadiff.scipy.sparse.{kind} makes matrices of numbers with derivatives"
        if callers.is_of_library(sys._getframe(3).f_code.co_filename):  # which the user called
            instead = callers.advice()
        raise TypeError(f"scipy.sparse.{kind} holds plain numbers: {instead}")
    return getattr(SparseNumbers.of(matrix), name)(other)
