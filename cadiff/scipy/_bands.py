"""Banded matrices, given by their diagonals as LAPACK and SciPy keep them.

Such an array ab has the element (i, j) of the matrix at ab[u + i - j, j], where u is the number of
diagonals above the main one: that is SciPy's diagonal format of sparse matrices, so systems have
the rule of these (see `_structured`). Eigenvalues are those of the whole matrix, of which the
diagonals are a part.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from ..binding import is_complex_number
from ..numpy import _factorizations as factor
from ..numpy import _triangular_factors as triangular
from ..numpy._matrices import H, conjugate, on_matrices, part, real, triangle
from ..operations.arrays import concatenate, reshape
from ..operations.complexes import implements_all, where
from ..operations.primitives import curried
from ._signatures import called_as, factor_and, finite, matrix, supported, vector, with_values
from ._structured import Solver, solved
from ._structures import Structure, taken


@lru_cache(maxsize=64)
def structure_of(above: int, shape: tuple[int, int]) -> Structure:
    """Where the elements of an array of diagonals stand, `above` of them above the main one."""
    rows, n = shape
    offsets = above - np.arange(rows)
    return Structure(scipy.sparse.dia_array((np.zeros(shape), offsets), shape=(n, n)))


def places(above: int, shape: tuple[int, int]) -> Any:
    """The whole matrix, with the numbers of the elements of the array, from 1 on."""
    return structure_of(above, shape).numbered.toarray()


def band_of(a: Any, below: int, above: int) -> Any:
    """The array of some diagonals of a plain matrix."""
    n = a.shape[-1]
    ab = np.zeros((below + above + 1, n), a.dtype)
    for row in range(below + above + 1):
        offset = above - row
        diagonal = np.diagonal(a, offset)
        ab[row, max(offset, 0) : max(offset, 0) + len(diagonal)] = diagonal
    return ab


def is_above(lower: bool, ab: Any) -> int:
    """How many diagonals above the main one an array holds, of a Hermitian matrix."""
    return 0 if lower else int(ab.shape[0]) - 1


# --- systems -------------------------------------------------------------------------------------


class Banded(Solver):
    """By elimination within the band."""

    def __init__(self, below: int, above: int) -> None:
        self.widths = below, above

    def __call__(self, structure: Structure, data: Any, b: Any, adjoint: bool) -> Any:
        ab, widths = np.reshape(data, structure.form), self.widths
        if adjoint:
            ab, widths = adjoint_band(ab, *widths), widths[::-1]
        return scipy.linalg.solve_banded(widths, ab, b, check_finite=False), 0.0


def adjoint_band(ab: Any, below: int, above: int) -> Any:
    adjoint = np.zeros_like(ab)
    n = ab.shape[1]
    for row in range(len(ab)):
        offset = above - row
        length = max(n - abs(offset), 0)
        begin, end = max(offset, 0), max(-offset, 0)
        adjoint[len(ab) - 1 - row, end : end + length] = ab[row, begin : begin + length].conj()
    return adjoint


def check_columns(ab: Any, b: Any) -> None:
    """Raise unless a right side has a number for each column of a matrix."""
    if b.shape[0] != ab.shape[-1]:
        raise ValueError(f"shapes of ab and b are not compatible: {ab.shape} and {b.shape}")


@called_as(scipy.linalg.solve_banded, ab=matrix, b=finite)
def solve_banded(l_and_u: tuple[int, int], ab: Any, b: Any) -> Any:
    """Solve a @ x = b for a banded a, given by its diagonals: l below the main one, u above it."""
    below, above = (int(n) for n in l_and_u)
    if below + above + 1 != ab.shape[0]:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: {below} + {above} + 1 "
            f"does not equal ab.shape[0] ({ab.shape[0]})"
        )
    check_columns(ab, b)
    structure = structure_of(above, ab.shape)
    return solved(reshape(ab, (-1,)), b, structure=structure, solver=Banded(below, above))[0]


class Hermitian(Solver):
    """By Cholesky factors within the band."""

    def __init__(self, lower: bool) -> None:
        self.lower = lower

    def __call__(self, structure: Structure, data: Any, b: Any, adjoint: bool) -> Any:
        whole = np.reshape(data, structure.form)
        width = len(whole) // 2
        ab = whole[width:] if self.lower else whole[: width + 1]
        return scipy.linalg.solveh_banded(ab, b, lower=self.lower, check_finite=False), 0.0


@lru_cache(maxsize=64)
def _both_halves(shape: tuple[int, int], lower: bool) -> Any:
    """All diagonals as numbers of the given ones, and of their conjugates, which follow these."""
    half = np.arange(1, math.prod(shape) + 1).reshape(shape)
    widths = _widths(half, lower)
    other = adjoint_band(half, *widths)  # of which the diagonal is there already
    half = adjoint_band(other, *widths[::-1])  # without what is outside of the matrix
    other = np.where(other > 0, other + half.size, 0)
    return np.concatenate([other[:-1], half] if lower else [half, other[1:]])


@called_as(scipy.linalg.solveh_banded, ab=matrix, b=finite)
def solveh_banded(ab: Any, b: Any, lower: bool) -> Any:
    """Solve a @ x = b for a positive definite banded a, given by the diagonals of one half."""
    check_columns(ab, b)
    rows, lower = ab.shape[0], bool(lower)
    if is_complex_number(ab):  # of the diagonal, the real part is read
        on_diagonal = np.arange(rows)[:, None] == is_above(lower, ab)
        ab = where(on_diagonal, real(ab) + 0j, ab)
    numbers = _both_halves(ab.shape, lower)
    flat = reshape(ab, (-1,))
    data = taken(concatenate([flat, conjugate(flat)]), numbers.reshape(-1))
    structure = structure_of(rows - 1, numbers.shape)
    return solved(data, b, structure=structure, solver=Hermitian(lower))[0]


# --- Cholesky factors ----------------------------------------------------------------------------


@partial(on_matrices, called="cholesky_banded")
def cholesky(ab: Any, *, lower: bool) -> Any:
    """The diagonals of the Cholesky factor of a matrix, of which one half of the band is given.

    What ab has beyond the ends of diagonals stays.
    """
    return scipy.linalg.cholesky_banded(ab, lower=lower, check_finite=False)


def _whole(ab: Any, lower: bool) -> Any:
    return taken(reshape(ab, (-1,)), places(is_above(lower, ab), ab.shape))


def _outside(ab: Any, lower: bool) -> Any:
    """Where an array has nothing of the matrix."""
    return band_of(np.ones((ab.shape[1],) * 2), *_widths(ab, lower)) == 0.0


def _widths(ab: Any, lower: bool) -> tuple[int, int]:
    above = is_above(lower, ab)
    return ab.shape[0] - 1 - above, above


def _as_band(a: Any, ab: Any, lower: bool) -> Any:
    """The diagonals of a matrix of numbers with derivatives, as ab has them."""
    n = ab.shape[1]
    numbers = band_of(np.arange(1, n * n + 1).reshape(n, n), *_widths(ab, lower))
    return taken(reshape(a, (-1,)), numbers)


def _cholesky_pull(ans: Any, ab: Any, g: Any, lower: bool) -> Any:
    """By the rule of whole matrices: the factor has no more diagonals than the matrix."""
    pulled = triangular.cholesky_pull(_whole(ans, lower), None, _whole(g, lower), upper=not lower)
    return _as_band(pulled, ab, lower) + part(g, _outside(ab, lower))


def _cholesky_push(g: Any, ans: Any, ab: Any, lower: bool) -> Any:
    pushed = triangular.cholesky_push(_whole(g, lower), _whole(ans, lower), None, upper=not lower)
    return _as_band(pushed, ab, lower) + part(g, _outside(ab, lower))


cholesky.defvjp(curried(_cholesky_pull))
cholesky.defjvp(_cholesky_push)


def cho_solve(cb: Any, b: Any, lower: bool) -> Any:
    """The solution of A @ x = b, by the diagonals of the Cholesky factor of A."""
    structure, how = structure_of(is_above(lower, cb), cb.shape), Banded(*_widths(cb, lower))
    for adjoint in (not lower, lower):
        b = solved(reshape(cb, (-1,)), b, structure=structure, solver=how, adjoint=adjoint)[0]
    return b


# --- eigenvalues ---------------------------------------------------------------------------------


def _asked(name: str, a: Any, width: int, lower: bool, options: tuple[Any, ...]) -> Any:
    """One of SciPy's functions, of the diagonals of a Hermitian matrix given by its lower half."""
    whole = a if lower else H(a)
    kwargs = {"check_finite": False, **dict(options)}
    if name.startswith("eig_banded") or name == "eigvals_banded":
        ab = band_of(whole, *((width, 0) if lower else (0, width)))
        return getattr(scipy.linalg, name)(ab, lower=lower, **kwargs)
    return getattr(scipy.linalg, name)(np.diagonal(a), np.diagonal(a, -1), **kwargs)


@partial(on_matrices, real=(True, False), called="eig_banded")
def eigh(a: Any, *, name: str, **how: Any) -> Any:
    """Eigenvalues and eigenvectors of a banded matrix, of which the lower half is given."""
    return _asked(name, a, **how)


eigh.defrules(
    lambda ans, a, g, **_: factor.eigh_pull(ans, a, g),
    lambda g, ans, a, **_: factor.eigh_push(g, ans, a),
    "ij->k,lm",
)


@partial(on_matrices, real=(True,), called="eigvals_banded")
def eigvalsh(a: Any, *, name: str, **how: Any) -> Any:
    """Eigenvalues of a banded matrix, of which the lower half is given."""
    return _asked(name, a, **how)


def _vectors(a: Any, name: str, width: int, lower: bool, options: Any) -> Any:
    again = {"eigvals_banded": "eig_banded", "eigvalsh_tridiagonal": "eigh_tridiagonal"}[name]
    return eigh(a, name=again, width=width, lower=lower, options=options)[1]


eigvalsh.defrules(
    lambda ans, a, g, **how: factor.values_pull(g, a, ans, _vectors(a, **how)),
    lambda g, ans, a, **how: factor.values_push(g, _vectors(a, **how)),
    "ij->k",
)


# --- as SciPy's are called -----------------------------------------------------------------------


@called_as(scipy.linalg.cholesky_banded, ab=matrix)
def cholesky_banded(ab: Any, lower: bool) -> Any:
    """The diagonals of the Cholesky factor of a banded matrix; derivatives take n**3 steps."""
    return cholesky(ab, lower=bool(lower))


@called_as(scipy.linalg.cho_solve_banded, cb_and_lower=factor_and, b=finite)
def cho_solve_banded(cb_and_lower: tuple[Any, bool], b: Any) -> Any:
    """Solve a @ x = b, given the diagonals of the Cholesky factor of a."""
    cb, lower = cb_and_lower
    lower = bool(np.all(lower))
    check_columns(cb, b)
    return with_values(_cho_solve_banded, cho_solve(cb, b, lower), cb, b, lower=lower)


def _cho_solve_banded(cb: Any, b: Any, *, lower: bool) -> Any:
    return scipy.linalg.cho_solve_banded((cb, lower), b, check_finite=False)


def _of_bands(name: str, a: Any, select: Any, **how: Any) -> Any:
    """What a function of SciPy's finds of a Hermitian matrix with few diagonals."""
    supported(name, select=(str(select), "a"))
    return (eigvalsh if name.startswith("eigvals") else eigh)(a, name=name, **how)


@called_as(scipy.linalg.eig_banded, a_band=matrix)
def eig_banded(a_band: Any, lower: bool, eigvals_only: bool, select: Any) -> Any:
    """Eigenvalues and eigenvectors of a Hermitian matrix, given by the diagonals of one half."""
    how = {"width": a_band.shape[0] - 1, "lower": bool(lower), "options": ()}
    name = "eigvals_banded" if eigvals_only else "eig_banded"
    whole = _whole(a_band, lower)
    half = part(whole if lower else H(whole), triangle(a_band.shape[1]))
    return _of_bands(name, half, select, **how)


@implements_all(scipy.linalg.eigvals_banded)
def eigvals_banded(a_band: Any, lower: bool = False, *args: Any, **options: Any) -> Any:
    """Eigenvalues of a Hermitian matrix, given by the diagonals of one half."""
    return eig_banded(a_band, lower, True, *args, **options)


@called_as(scipy.linalg.eigh_tridiagonal, d=vector, e=vector)
def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool, select: Any, tol: float, lapack_driver: str
) -> Any:
    """Eigenvalues and eigenvectors of the symmetric matrix with diagonals e, d and e."""
    name = "eigvalsh_tridiagonal" if eigvals_only else "eigh_tridiagonal"
    how = {"width": 1, "lower": True, "options": (("tol", tol), ("lapack_driver", lapack_driver))}
    n = d.shape[0]
    numbers = np.diag(np.arange(1, n + 1)) + np.diag(np.arange(n + 1, 2 * n), -1)
    return _of_bands(name, taken(concatenate([d, e]), numbers), select, **how)


@implements_all(scipy.linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(d: Any, e: Any, *args: Any, **options: Any) -> Any:
    """Eigenvalues of the symmetric matrix with diagonals e, d and e."""
    return eigh_tridiagonal(d, e, True, *args, **options)
