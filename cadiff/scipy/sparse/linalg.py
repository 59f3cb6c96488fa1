"""`scipy.sparse.linalg` for numbers with derivatives: what it redefines is differentiated.

How SciPy's functions are called; the rules are in `_solvers`. Values are SciPy's. Matrices are
sparse ones of SciPy's or of numbers with derivatives, or arrays. Operators are constants, or taken
for the matrices of their products where these have derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial, wraps
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator

from ...binding import (
    MissingRuleError,
    carries,
    is_complex_number,
    is_differentiating,
    make_complex,
    ndim,
    plain_values,
)
from ...binding import unguarded as value
from ...numpy._matrices import conjugate
from ...numpy._refusals import the_rest_of
from ...numpy.linalg import number
from ...operations.arrays import concatenate
from ...operations.complexes import implements_all, whole_parts
from ...operations.guards import valued
from ...operations.scalars import anew
from .. import linalg as dense
from .._signatures import called_as, with_values
from .._structured import BY_FACTORS, Direct, Whole, solved
from .._structures import Structure, total
from ._numbers import INSTEAD, SparseNumbers, as_dense, is_sparse
from ._solvers import Iterative, Options, Triangular, acted, eig, eigh, least_squares, svd

__all__ = [
    "LinearOperator", "aslinearoperator", "bicg", "bicgstab", "cg", "cgs", "eigs", "eigsh",
    "expm", "expm_multiply", "factorized", "gcrotmk", "gmres", "inv", "lgmres", "lsmr",
    "lsqr", "matrix_power", "minres", "norm", "qmr", "spilu", "splu", "spsolve",
    "spsolve_triangular", "svds", "tfqmr",
]  # fmt: skip

__getattr__, __dir__ = the_rest_of(scipy.sparse.linalg, globals(), instead=INSTEAD)


# --- arguments -----------------------------------------------------------------------------------


def _parts(A: Any, formats: tuple[str, ...] = ()) -> tuple[Any, Structure]:
    """The data and the structure of a matrix, in one of some formats, the first unless it is."""
    if isinstance(A, LinearOperator) or not (is_sparse(A) or carries(A)):
        return np.zeros(0), Whole(A)
    matrix = SparseNumbers.of(A)
    if not is_sparse(A) and not formats:
        formats = ("csr",)
    if formats and matrix.format not in formats:
        matrix = matrix.asformat(formats[0])
    return matrix.one_by_one.parts()


_OfMatrix: Any = type(scipy.sparse.linalg.aslinearoperator(np.eye(1)))


class _OfNumbers(_OfMatrix):  # type: ignore[misc]
    """SciPy's, that numbers with derivatives can be multiplied by, too."""

    def dot(self, x: Any) -> Any:
        return aslinearoperator(self.A * x) if carries(x) and ndim(x) == 0 else super().dot(x)

    def __rmul__(self, x: Any) -> Any:
        is_number = carries(x) and ndim(x) == 0
        return aslinearoperator(x * self.A) if is_number else super().__rmul__(x)


@implements_all(scipy.sparse.linalg.aslinearoperator)
def aslinearoperator(A: Any) -> LinearOperator:
    """The operator that multiplies by a matrix."""
    return _OfNumbers(A if is_sparse(A) else np.atleast_2d(A))


def _matrix_of(A: Any, is_needed: bool = False) -> Any:
    """The matrix of an operator, if it is needed, or if products have derivatives; else A."""
    if not isinstance(A, LinearOperator):
        return A
    if isinstance(A, _OfMatrix):
        return A.A
    times = A._matvec  # what users have defined: SciPy would put its numbers into an array
    is_needed |= carries(times(np.zeros(A.shape[1])))
    return np.stack([times(e) for e in np.eye(A.shape[1])], axis=1) if is_needed else A


def _of_operators(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Have a function stand for one of SciPy's, and have it get the matrices of operators."""

    def decorate(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def call(A: Any, *args: Any, **kwargs: Any) -> Any:
            return function(_matrix_of(A), *args, **kwargs)

        @wraps(original)  # which complex numbers look for
        def plainly(A: Any, *args: Any, **kwargs: Any) -> Any:
            matrix = _matrix_of(A) if is_differentiating() else A
            return (function if carries(matrix) else original)(matrix, *args, **kwargs)

        return implements_all(original, plainly=plainly)(call)

    return decorate


def _square(A: Any, b: Any, formats: tuple[str, ...] = ()) -> tuple[Any, Structure]:
    data, structure = _parts(A, formats)
    if structure.shape[0] != structure.shape[1]:
        raise ValueError(f"matrix must be square (has shape {structure.shape})")
    if b.ndim not in (1, 2) or b.shape[0] != structure.shape[0]:
        raise ValueError(f"matrix - rhs dimension mismatch ({structure.shape} - {b.shape})")
    return data, structure


# --- systems -------------------------------------------------------------------------------------


@implements_all(scipy.sparse.linalg.spsolve)
def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:
    """The solution of A @ x = b, by LU factors that derivatives use again.

    A is square, b a vector, a matrix of columns or a sparse matrix, for which x is sparse, too.
    """
    is_matrix = is_sparse(b) and b.shape[1] > 1
    right = number(as_dense(b))
    data, structure = _square(A, right, ("csc", "csr"))
    solver = BY_FACTORS
    if permc_spec is not None:
        by = partial(scipy.sparse.linalg.splu, permc_spec=permc_spec)
        solver = Direct(by, scipy.sparse.linalg.spsolve)
    x, _ = solved(data, right, structure=structure, solver=solver)
    if is_matrix:
        return SparseNumbers.of(x).moved(structure.kind)
    return x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x


class Factors:
    """What `splu` returns: the LU factors of a matrix, for right-hand sides with derivatives.

    Attributes of SciPy's object, such as `nnz` and `perm_c`, are its own; `L` and `U` are there if
    the matrix is a constant one.
    """

    def __init__(self, data: Any, structure: Structure, factor: Callable[[Any], Any]) -> None:
        self._data = data
        self._structure = structure
        self._solver = Direct(factor)
        if not carries(data):
            structure.kept = (data.dtype.str, data.tobytes()), self._lu

    @cached_property
    def _lu(self) -> Any:
        """SciPy's own: made late if the data have derivatives, since it reads these."""
        return self._solver.factor(self._structure.filled(value(self._data)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for by copy, before there is a matrix
            raise AttributeError(name)
        if name in ("L", "U") and carries(self._data):
            raise MissingRuleError(
                "splu does not support derivatives of L and U: "
                "cadiff.scipy.linalg.lu(A.toarray()) does"
            )
        return getattr(self._lu, name)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """The solution of A @ x = rhs, of A.T @ x = rhs ("T") or of the adjoint's ("H")."""
        if not (carries(rhs) or carries(self._data)):
            return self._lu.solve(rhs, trans)
        b, turns = number(rhs), trans == "T" and is_complex_number(self._data)
        if b.ndim not in (1, 2) or b.shape[0] != self._structure.shape[0]:
            raise ValueError(f"b is of incompatible size: {b.shape}")
        x, _ = solved(
            self._data,
            conjugate(b) if turns else b,
            structure=self._structure,
            solver=self._solver,
            adjoint=trans != "N",
        )
        return conjugate(x) if turns else x

    __call__ = solve


def _factors(original: Callable[..., Any], A: Any, *args: Any, **kwargs: Any) -> Factors:
    data, structure = SparseNumbers.of(A).tocsc().one_by_one.parts()
    if structure.shape[0] != structure.shape[1]:
        raise ValueError("can only factor square matrices")
    return Factors(data, structure, lambda matrix: original(matrix, *args, **kwargs))


def splu(A: Any, *args: Any, **kwargs: Any) -> Factors:
    """The LU factors of a square matrix, whose `solve` takes numbers with derivatives."""
    return _factors(scipy.sparse.linalg.splu, A, *args, **kwargs)


def spilu(A: Any, *args: Any, **kwargs: Any) -> Factors:
    """Incomplete LU factors of a constant matrix, whose `solve` takes numbers with derivatives."""
    if carries(A):
        raise MissingRuleError(
            "spilu does not support matrices with derivatives: what it drops depends on values; "
            "a preconditioner is scipy.sparse.linalg.spilu(M), of a matrix M that is made of "
            "cadiff.value(A.data)"
        )
    return _factors(scipy.sparse.linalg.spilu, A, *args, **kwargs)


def factorized(A: Any) -> Callable[[Any], Any]:
    """A function that solves A @ x = b for many b, by the LU factors of A."""
    return splu(A).solve


@called_as(scipy.sparse.linalg.spsolve_triangular)
def spsolve_triangular(A: Any, b: Any, lower: bool, unit_diagonal: bool) -> Any:
    """The solution of A @ x = b for a triangular A; its diagonal is not read if it is 1."""
    b = number(b)
    data, structure = _square(A, b, ("csc", "csr"))
    _, rows, columns = structure.coordinates
    if np.any(columns > rows if lower else columns < rows):
        name = "tril" if lower else "triu"
        raise TypeError(
            "spsolve_triangular has derivatives of a matrix without elements beyond its triangle, "
            f"which SciPy takes for other elements: give it scipy.sparse.{name}(A)"
        )
    solver = Triangular(bool(lower), bool(unit_diagonal))
    return solved(data, b, structure=structure, solver=solver)[0]


def _iterative(name: str) -> Any:
    """One of SciPy's iterations: with the derivative of a solution, to its tolerance."""
    original = getattr(scipy.sparse.linalg, name)

    def solve(A: Any, b: Any, *args: Any, **kwargs: Any) -> tuple[Any, int]:
        if carries((args, kwargs)):
            raise MissingRuleError(
                f"{name} has derivatives by A and b alone, not by a first guess or a "
                "preconditioner, of which the solution does not depend: pass cadiff.value of it"
            )
        if args:
            raise TypeError(f"{name} with derivatives takes options by their names")
        b = number(b)
        data, structure = _square(A, b)
        x, info = solved(data, b, structure=structure, solver=Iterative(original, kwargs))
        return x, anew(int(plain_values(info)), info)

    solve.__doc__ = original.__doc__
    return _of_operators(original)(solve)


bicg, bicgstab, cg, cgs, gcrotmk, gmres, lgmres, minres, qmr, tfqmr = map(
    _iterative,
    ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"),
)


def _least_squares(name: str, **norms: int) -> Any:
    """`lsqr` or `lsmr`; what SciPy returns beside x, and where norms stand among it."""
    original = getattr(scipy.sparse.linalg, name)

    def solve(A: Any, b: Any, damp: Any = 0.0, x0: Any = None, **options: Any) -> tuple[Any, ...]:
        """The x that is nearest to A @ x = b, or of many the shortest, as SciPy's iteration.

        Derivatives, by A, b and damp, are those of a solution for independent columns or, of many
        solutions, rows. Beside x, norms of x and of the residual have some.
        """
        if carries((x0, options)) or options.get("calc_var"):
            raise MissingRuleError(
                f"{name} has derivatives by A, b and damp, not by a first guess, nor of "
                "variances: pass cadiff.value(x0), and calc_var=False"
            )
        b = number(b).reshape(-1)
        matrix = SparseNumbers.of(_matrix_of(A, is_needed=True)).tocsr().one_by_one
        x, r, others = least_squares(matrix, b, name, damp, x0, options)
        moved = x if x0 is None else x - x0
        lengths = {"x": x, "moved": moved, "r1": r, "r2": concatenate([r, damp * moved])}
        report = [others[k] for k in range(others.shape[0])]
        for key, k in norms.items():
            report[k] = valued(dense.norm(lengths[key]), report[k])
        report[:2] = (anew(int(plain_values(k)), k) for k in report[:2])
        return (x, *report, np.zeros(x.shape)) if name == "lsqr" else (x, *report)

    return _of_operators(original)(solve)


lsqr = _least_squares("lsqr", r1=2, r2=3, moved=7)
lsmr = _least_squares("lsmr", r2=2, x=6)


@implements_all(scipy.sparse.linalg.matrix_power)
def matrix_power(A: Any, power: Any) -> Any:
    """The product of a square matrix with itself, power times."""
    return scipy.sparse.linalg.matrix_power(A if is_sparse(A) else number(A), power)


@implements_all(scipy.sparse.linalg.expm)
def expm(A: Any) -> Any:
    """The exponential of a square matrix, with entries at all places."""
    if not is_sparse(A):
        return dense.expm(A)
    whole = A.toarray()
    return SparseNumbers.of(with_values(_expm, dense.expm(whole), whole)).tocsc()


def _expm(a: Any) -> Any:
    return scipy.sparse.linalg.expm(scipy.sparse.csc_array(a)).toarray()


@implements_all(scipy.sparse.linalg.inv)
def inv(A: Any) -> Any:
    """The inverse of a square matrix, with entries at all places."""
    found = SparseNumbers.of(A)
    return spsolve(found, scipy.sparse.eye_array(found.shape[0], format="csc"))


# --- exponentials, eigenvalues, norms ------------------------------------------------------------


@_of_operators(scipy.sparse.linalg.expm_multiply)
def expm_multiply(A: Any, B: Any, *times: Any, traceA: Any = None, **named: Any) -> Any:
    """The product of the exponential of A and a vector, or a matrix."""
    if times or named:
        raise TypeError(
            "expm_multiply has derivatives without start, stop, num and endpoint: write "
            "[expm_multiply(t * A, B) for t in times]"
        )
    B = number(B)
    data, structure = _square(SparseNumbers.of(_matrix_of(A, is_needed=True)), B)
    return acted(data, B, structure=structure)


# Options of eigsh and svds about the result, not about the matrix.
CHOICES = {
    *("k", "which", "v0", "ncv", "maxiter", "tol"),
    *("rng", "random_state", "sigma", "mode", "solver"),
}


def _chosen(original: Any, A: Any, has_vectors: bool = True, **options: Any) -> dict[str, Any]:
    """The matrix and what is asked of it, as `eigh` and `svd` take them."""
    others = {key for key, x in options.items() if key not in CHOICES and x is not None}
    if others or carries(options):
        raise TypeError(
            f"{original.__name__} has derivatives by a matrix A alone, with the options "
            f"{', '.join(sorted(CHOICES))}, not with {', '.join(sorted(others or options))}"
        )
    matrix = SparseNumbers.of(A)
    data, structure = (matrix if is_sparse(A) else matrix.tocsr()).one_by_one.parts()
    return {
        "data": data,
        "structure": structure,
        "options": Options(original, has_vectors, **options),
    }


def _are_all(A: Any, k: int) -> bool:
    """Whether so many are wanted of an array that SciPy gives all, by a function for arrays."""
    return not isinstance(A, LinearOperator) and not is_sparse(A) and bool(k >= A.shape[0])


@_of_operators(scipy.sparse.linalg.eigsh)
def eigsh(A: Any, k: int = 6, return_eigenvectors: bool = True, **options: Any) -> Any:
    """Some eigenvalues of a symmetric or Hermitian matrix, and eigenvectors as columns.

    Derivatives are those of simple eigenvalues; where one is not, those of its vectors are nan,
    with a warning.
    """
    if _are_all(A, k + is_complex_number(A)):
        if is_complex_number(A):  # in the order of its other function
            pairs = eigs(A, k, return_eigenvectors, **options)
            return (pairs[0].real, pairs[1]) if return_eigenvectors else pairs.real
        return dense.eigh(A, options.get("M"), eigvals_only=not return_eigenvectors)
    half = 0.5 * SparseNumbers.of(A)  # of its Hermitian part: other matrices have no such values
    A = half + half.H
    pairs = _chosen(scipy.sparse.linalg.eigsh, A, bool(return_eigenvectors), k=k, **options)
    w, v = eigh(pairs.pop("data"), **pairs)
    return (w, v) if return_eigenvectors else w


@_of_operators(scipy.sparse.linalg.eigs)
def eigs(A: Any, k: int = 6, return_eigenvectors: bool = True, **options: Any) -> Any:
    """Some eigenvalues of a matrix, and eigenvectors as columns, which are complex always.

    Derivatives are those of simple eigenvalues; those of vectors do not turn their phase.
    """
    if _are_all(A, k + 1):
        return dense.eig(A, options.get("M"), right=return_eigenvectors)
    chosen = _chosen(scipy.sparse.linalg.eigs, A, bool(return_eigenvectors), k=k, **options)
    w, v = eig(make_complex(*whole_parts(chosen.pop("data"))), **chosen)
    return (w, v) if return_eigenvectors else w


@_of_operators(scipy.sparse.linalg.svds)
def svds(A: Any, k: int = 6, return_singular_vectors: Any = True, **options: Any) -> Any:
    """Some singular values of a matrix, and vectors u as columns and vh as rows.

    Derivatives are those of simple singular values above 0; where one is not, those of its vectors
    are nan, with a warning.
    """
    found = _chosen(scipy.sparse.linalg.svds, A, k=k, **options)
    u, s, vh = svd(found.pop("data"), **found)
    chosen = {True: (u, s, vh), False: s, "u": (u, s, None), "vh": (None, s, vh)}
    return chosen[return_singular_vectors]


@implements_all(scipy.sparse.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """The norm of a matrix, or of its columns (axis 0) or rows (axis 1)."""
    matrix = SparseNumbers.of(x).one_by_one
    if axis is not None and not np.ndim(axis):
        return dense.norm(matrix.toarray(), ord, axis)
    data, structure = matrix.parts()
    if ord in (None, "f", "fro"):
        return np.linalg.norm(data)
    if ord == 2:
        return svds(matrix, k=1, solver="lobpcg", return_singular_vectors=False)[0]
    if ord in (1, -1, np.inf, -np.inf):
        sums = total(abs(data), structure=structure, axis=0 if abs(ord) == 1 else 1)
        return np.max(sums) if ord > 0 else np.min(sums)
    raise ValueError(f"Invalid norm order {ord!r} for matrices")
