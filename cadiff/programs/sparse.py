"""Sparse Jacobians and Hessians of functions, as matrices of SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ..binding import MatrixPlan, callers
from ..transforms._base import Function, P, Transform
from .matrices import Format, Request
from .program import Program


class SparseMatrix(Transform):
    def __init__(self, name: str, function: Function, request: Request) -> None:
        super().__init__(name, function)
        self._request = request
        self._program: Program[..., Any] = Program(function)

    @property
    def settings(self) -> tuple[Any, ...]:
        return *super().settings, self._request

    def clear(self) -> None:
        """Forget what was recorded: see `Program.clear`."""
        self._program.clear()

    def __call__(self, x: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._program.matrices.sparse(self._request, (x, *args), kwargs)
        except Exception as error:
            raise callers.shortened(error)  # noqa: B904

    @property
    def what(self) -> str:
        """Which matrix it is: "jacobian" or "hessian"."""
        return self._request.what

    def planned(self, *args: Any, **kwargs: Any) -> tuple[Any, MatrixPlan | None]:
        """The matrix, and how it was computed; None if f was run eagerly."""
        return self._program.matrices.planned(self._request, args, kwargs)


def sparse_jacobian(
    f: Callable[P, Any], *, sparsity: Any = None, format: Format = "csr"
) -> Callable[P, Any]:
    """The Jacobian as a sparse matrix of shape (numbers in the result, numbers in x).

    At its first call f is compiled (see `cadiff.compile`, whose rules for f hold), and the
    structure of the matrix is found: which numbers depend on which. Further calls compute the
    entries alone. A comparison with another outcome records f anew, which may give the matrix
    another structure.

    Entries that are 0 whatever x is are no part of the structure. Entries that happen to be 0 at a
    point are. Of a primitive the structure is what `primitive.defpattern` states, or what its
    rules show; if neither does, all its results depend on all its arguments, and there is a
    warning if that makes most of the entries, and 100,000 or more.

    Parameters
    ----------
    f : callable
        A function of x, a float, an array, or a container of these; further arguments are passed
        on, keyword arguments too. Containers, and arrays of several dimensions, count as the
        vector of all their numbers, in order.
    sparsity : sparse matrix, array_like of bool, or tuple (rows, columns), optional
        The entries that are wanted: a matrix of scipy.sparse (what is stored, explicit zeros
        included), a 2-D array (what is not 0), or vectors of their indices. The result then has
        just these entries; others are left out, even where they are not 0. Each entry is right
        whatever else the matrix holds.
    format : {"csr", "csc", "coo"}
        The result is a `scipy.sparse.csr_array`, `csc_array` or `coo_array`.

    Returns
    -------
    callable
        `s(x, *args, **kwargs)`. Each matrix owns its data and its indices, which are sorted and
        int32 where that suffices. `s.clear()` forgets what was recorded, as `Program.clear` does.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> jacobian = cadiff.sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> jacobian(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    return cast(
        "Callable[P, Any]",
        SparseMatrix("sparse_jacobian", f, Request("jacobian", sparsity, format)),
    )


def sparse_hessian(
    f: Callable[P, Any], *, sparsity: Any = None, format: Format = "csr"
) -> Callable[P, Any]:
    """The Hessian of a function of one number as a sparse matrix, (numbers in x) squared.

    As `sparse_jacobian` in all else. With `sparsity` the lower triangle alone, say, can be asked
    for.

    Examples
    --------
    >>> import cadiff, numpy as np
    >>> hessian = cadiff.sparse_hessian(lambda x: (x[1:] * x[:-1] ** 2).sum())
    >>> hessian(np.array([1.0, 2.0, 3.0])).toarray()
    array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]])
    """
    return cast(
        "Callable[P, Any]", SparseMatrix("sparse_hessian", f, Request("hessian", sparsity, format))
    )
