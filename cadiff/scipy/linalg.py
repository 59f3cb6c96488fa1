"""`scipy.linalg` for numbers with derivatives: what it redefines is differentiated.

Names that are not redefined are SciPy's own. Rules that `cadiff.numpy.linalg` has are used from
there; functions of matrices are in `_matrix_functions`, what solves equations of matrices is in
`_equations`, and what is banded in `_bands`.

A matrix said to have a structure is read where SciPy reads it, and derivatives are by the elements
that are read. SciPy's `overwrite_a` and `overwrite_b` permit what is never done here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import LinAlgError

from ..binding import Loops, carries, is_complex_number, make_complex, shape
from ..binding import unguarded as value
from ..numpy import _factorizations as factor
from ..numpy import _lapack as loops_of_lapack
from ..numpy import _least_squares as least_squares
from ..numpy import _systems as systems
from ..numpy import _triangular_factors as triangular
from ..numpy import linalg as of_numpy
from ..numpy._choices import take_along_axis
from ..numpy._common import like
from ..numpy._factorizations import of_finite
from ..numpy._matrices import (
    EPSILON,
    H,
    T,
    conjugate,
    differences,
    identity,
    is_single,
    mirrored,
    on_matrices,
    outer_product,
    part,
    reflected,
    triangle,
)
from ..numpy._refusals import the_rest_of
from ..numpy._systems import solve_triangle
from ..numpy.linalg import number, solved
from ..operations import guards as _guards
from ..operations.arrays import concatenate, in_precision, reshape
from ..operations.complexes import implements_all, whole_parts
from ..operations.guards import valued
from ..operations.patterns import over_axes
from ..operations.primitives import curried, stated
from ..operations.table import where
from ._bands import (
    cho_solve_banded,
    cholesky_banded,
    eig_banded,
    eigh_tridiagonal,
    eigvals_banded,
    eigvalsh_tridiagonal,
    solve_banded,
    solveh_banded,
)
from ._equations import (
    fractional_matrix_power,
    ldl,
    orthogonal_procrustes,
    polar,
    schur,
    signm,
    solve_continuous_are,
    solve_discrete_are,
    solve_discrete_lyapunov,
)
from ._formulas import SIDES
from ._matrix_functions import (
    coshm,
    cosm,
    expm,
    expm_frechet,
    logm,
    sinhm,
    sinm,
    solve_continuous_lyapunov,
    solve_sylvester,
    sqrtm,
    tanhm,
    tanm,
)
from ._mirror import kernels, offered
from ._signatures import (
    are_complex,
    arguments_of,
    called_as,
    column_and_row,
    double,
    factor_and,
    finite,
    matrix,
    pair,
    plainly_by,
    square,
    supported,
    with_values,
)
from ._stacks import lapack_stage, permutation
from ._structures import taken

__all__ = [
    "LinAlgError", "block_diag", "cho_factor", "cho_solve", "cho_solve_banded", "cholesky",
    "cholesky_banded", "circulant", "companion", "convolution_matrix", "coshm", "cosm", "det",
    "diagsvd", "eig", "eig_banded", "eigh", "eigh_tridiagonal", "eigvals", "eigvals_banded",
    "eigvalsh", "eigvalsh_tridiagonal", "expm", "expm_frechet", "fiedler_companion",
    "fractional_matrix_power", "funm", "hankel", "inv", "khatri_rao", "ldl", "leslie", "logm",
    "lstsq", "lu", "lu_factor", "lu_solve", "matmul_toeplitz", "matrix_balance", "norm",
    "null_space", "orth", "orthogonal_procrustes", "pinv", "pinvh", "polar", "qr",
    "rq", "schur",
    "signm", "sinhm", "sinm", "solve", "solve_banded", "solve_continuous_are",
    "solve_continuous_lyapunov", "solve_discrete_are", "solve_discrete_lyapunov",
    "solve_sylvester", "solve_toeplitz", "solve_triangular", "solveh_banded", "sqrtm",
    "subspace_angles", "svd", "svdvals", "tanhm", "tanm", "toeplitz",
]  # fmt: skip

__path__: list[str] = []  # of modules below it, such as `scipy.linalg.lapack`

# Functions that SciPy writes with NumPy's functions only, which differentiate.
_DIFFERENTIATED = {"fiedler", "solve_circulant"}


_offered, __dir__ = the_rest_of(scipy.linalg, globals())


def __getattr__(name: str) -> Any:
    """SciPy's name, or what stands for it, here or in another module."""
    return getattr(scipy.linalg, name) if name in _DIFFERENTIATED else _offered(name)


# --- systems of equations ------------------------------------------------------------------------

SYMMETRIC = {"sym", "symmetric"}
HERMITIAN = {"her", "hermitian", "pos", "positive definite"}


def _as_read(a: Any, assume_a: str | None, lower: bool) -> Any:
    """The whole of a matrix of which a part is read."""
    n = a.shape[-1]
    if assume_a in SYMMETRIC:
        return reflected(a, lower)
    if assume_a in HERMITIAN:
        return mirrored(a, lower)
    if assume_a in ("lower triangular", "upper triangular"):
        return part(a, triangle(n, assume_a == "lower triangular"))
    if assume_a in ("diagonal", "tridiagonal"):
        off = int(assume_a == "tridiagonal")
        return part(a, np.abs(differences(np.arange(n))) <= off)
    return a


@on_matrices
def _solve(a: Any, b: Any, *, adjoint: bool, **options: Any) -> Any:
    """The solution of a @ x = b or, of real matrices, of H(a) @ x = b."""
    return scipy.linalg.solve(a, b, transposed=adjoint, check_finite=False, **options)


# Structures that are solved for in fewer operations than by factors of the whole.
SPARSE = {"lower triangular", "upper triangular", "diagonal", "tridiagonal", "banded"}


def _again(a: Any, b: Any, *, adjoint: bool, **options: Any) -> Any:
    """The solution of a further system, whose derivatives need no more factors."""
    if options.get("assume_a") in SPARSE and not are_complex(a, b):
        return _solve(a, b, adjoint=adjoint, **options)
    return systems.solve(a, b, adjoint)


POSITIVE = ("pos", "positive definite")


def _solve_loop(a: Any, b: Any, *, adjoint: bool, **options: Any) -> Any:
    """What programs call; it refuses matrices that are not positive where SciPy does."""
    if options.get("assume_a") in POSITIVE:
        return None if are_complex(a, b) else loops_of_lapack.solve_positive()
    return "solve", int(adjoint)


_solve.runs_in_c(_solve_loop, rounds=True)  # which is not SciPy's own routine
systems.solves(_solve, _again)

TRANSPOSED = {"lower triangular": "upper triangular", "upper triangular": "lower triangular"}


@called_as(scipy.linalg.solve, stacks=True, a=square, b=finite)
def solve(a: Any, b: Any, lower: bool, assume_a: str | None, transposed: bool) -> Any:
    """Solve a @ x = b; only what `assume_a` lets SciPy read of a is read."""
    a = _as_read(a, assume_a, lower)
    options = {"lower": lower} | ({} if assume_a is None else {"assume_a": assume_a})
    if transposed and are_complex(a, b):  # which SciPy does not do
        a, transposed = T(a), False
        if assume_a in TRANSPOSED:
            options["assume_a"] = TRANSPOSED[assume_a]
    return solved(lambda a, b: _solve(a, b, adjoint=bool(transposed), **options), a, b)


@called_as(scipy.linalg.solve_triangular, stacks=True, a=square, b=finite)
def solve_triangular(a: Any, b: Any, trans: int | str, lower: bool, unit_diagonal: bool) -> Any:
    """Solve a @ x = b, or a.T @ x = b, for a triangle a."""
    how = {"lower": bool(lower), "unit": bool(unit_diagonal)}
    return solved(lambda a, b: _solve_triangle(a, b, trans, **how), a, b)


TRANS: dict[int | str, int] = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def _solve_triangle(a: Any, b: Any, trans: int | str = 0, **how: bool) -> Any:
    """The solution x of a @ x = b, of T(a) @ x = b or of H(a) @ x = b, for a triangle a."""
    if TRANS[trans] == 1:
        return conjugate(solve_triangle(a, conjugate(b), adjoint=True, **how))
    return solve_triangle(a, b, adjoint=TRANS[trans] == 2, **how)


@called_as(scipy.linalg.inv, stacks=True, a=square)
def inv(a: Any, assume_a: str | None = None, lower: bool = False) -> Any:
    """The inverse matrix; only what `assume_a` lets SciPy read of a is read."""
    if assume_a == "diagonal":  # SciPy leaves what stands beside the diagonal
        on = identity(a.shape[-1])
        inverted = where(on, 1.0 / where(on, a, 1.0), a)
        return with_values(scipy.linalg.inv, inverted, a, assume_a=assume_a)
    options = {} if assume_a is None else {"assume_a": assume_a, "lower": lower}
    by = partial(scipy.linalg.inv, check_finite=False, **options)
    return systems.inv(_as_read(a, assume_a, lower), by=by)


@called_as(scipy.linalg.det, stacks=True, a=square)
def det(a: Any) -> Any:
    """The determinant; its gradient, the cofactors, is exact at singular matrices, too."""
    if is_single(a):  # of which SciPy makes numbers in double precision
        return with_values(scipy.linalg.det, systems.det(double(a)), a)
    return systems.det(a)


@called_as(scipy.linalg.lstsq, of_finite(scipy.linalg.lstsq), a=finite, b=finite)
def lstsq(
    a: Any, b: Any, cond: float | None, lapack_driver: str | None
) -> tuple[Any, Any, int, Any]:
    """The least-squares solution, squared residuals, rank and singular values.

    Derivatives hold as long as the rank does not change. Driver "gelsy" is not supported.
    """
    if lapack_driver == "gelsy":
        raise TypeError('lstsq has derivatives with lapack_driver="gelsd" or "gelss", not "gelsy"')
    x, residuals, rank, s = of_numpy.lstsq(a, b, EPSILON if cond is None else cond)
    return x, residuals[0] if b.ndim == 1 and np.size(residuals) else residuals, rank, s


@on_matrices
def _pinv(a: Any, **options: Any) -> Any:
    factor.check_finite(a)
    return scipy.linalg.pinv(a, check_finite=False, **options)


def _pinv_loops(is_complex: bool, a: Any, atol: float | None, rtol: float | None) -> Any:
    if atol:
        return None
    cutoff = max(shape(a)[-2:]) * EPSILON if rtol is None else rtol
    return loops_of_lapack.pinv(is_complex, a, cutoff)


_pinv.calls_lapack(_pinv_loops)
_pinv.defrules(least_squares.pinv_pull, least_squares.pinv_push, "...ij->...kl")


@called_as(scipy.linalg.pinv, of_finite(scipy.linalg.pinv), stacks=True, a=matrix)
def pinv(a: Any, atol: float | None, rtol: float | None, return_rank: bool) -> Any:
    """The pseudo-inverse; derivatives hold as long as the rank does not change."""
    result = _pinv(a, atol=atol, rtol=rtol)
    if not return_rank:
        return result
    return result, scipy.linalg.pinv(value(a), atol=atol, rtol=rtol, return_rank=True)[1]


# --- factorisations ------------------------------------------------------------------------------


@called_as(scipy.linalg.cholesky, stacks=True, a=square)
def cholesky(a: Any, lower: bool) -> Any:
    """The triangle of a Cholesky factorisation; only that triangle of a is read."""
    return triangular.cholesky(a, upper=not lower)


@called_as(scipy.linalg.cho_factor, stacks=True, a=square)
def cho_factor(a: Any, lower: bool) -> tuple[Any, Any]:
    """The triangle of a Cholesky factorisation, for `cho_solve`; the other one is that of a."""
    found = triangular.cholesky(a, upper=not lower)
    found = where(triangle(a.shape[-1], bool(lower)), found, a)
    return found, lower if a.ndim == 2 else np.full(a.shape[:-2], lower)


@called_as(scipy.linalg.cho_solve, stacks=True, c_and_lower=factor_and, b=finite)
def cho_solve(c_and_lower: tuple[Any, bool], b: Any) -> Any:
    """Solve a @ x = b, given the Cholesky factorisation of a."""
    c, lower = c_and_lower
    return solved(lambda c, b: systems.cho_solve(c, b, lower=bool(np.all(lower))), c, b)


@partial(on_matrices, real=(False, True))
def _lu_factor(a: Any) -> Any:
    """The packed factors, and the pivots as floats: outputs with derivatives are floats."""
    lu, pivots = scipy.linalg.lu_factor(a, check_finite=False)
    return lu, pivots.astype(float)


def _lu_pull(ans: Any, a: Any, g: Any) -> Any:
    lu, pivots = ans
    n = len(pivots)
    below, above = triangle(n, strict=True), triangle(n, lower=False)
    lower, upper = part(lu, below) + np.eye(n), part(lu, above)
    inside = part(H(lower) @ part(g[0], below), below)
    inside = inside + part(outer_product(part(g[0], above), upper), above)
    half = solve_triangle(lu, H(inside), lower=False)
    rows = solve_triangle(lu, H(half), lower=True, unit=True, adjoint=True)
    return rows[np.argsort(permutation(pivots))]


def _lu_push(g: Any, ans: Any, a: Any) -> Any:
    lu, pivots = ans
    n = len(pivots)
    below, above = triangle(n, strict=True), triangle(n, lower=False)
    rows = solve_triangle(lu, g[permutation(pivots)], lower=True, unit=True)
    inside = H(solve_triangle(lu, H(rows), lower=False, adjoint=True))
    lower = (part(lu, below) + np.eye(n)) @ part(inside, below)
    return lower + part(inside, above) @ part(lu, above), np.zeros(n)


_lu_factor.of_real._enters = False  # derivatives are those of certain pivots
_lu_factor.runs_in_c(("factor_with_pivots", 0))
_lu_factor.defrules(_lu_pull, _lu_push, "...ij->...kl,...m")


@called_as(scipy.linalg.lu_factor, a=square)
def lu_factor(a: Any) -> tuple[Any, Any]:
    """The factors of a square matrix in one array, and the exchanges of rows."""
    lu, pivots = _lu_factor(a)
    return lu, _guards.fixed(pivots).astype(np.int32)


@called_as(scipy.linalg.lu_solve, lu_and_piv=factor_and, b=finite)
def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: int) -> Any:
    """Solve a @ x = b, or a.T @ x = b, given the factors of a."""
    lu, order = lu_and_piv[0], permutation(lu_and_piv[1])
    if b.ndim == 1:
        return lu_solve(lu_and_piv, b[:, None], trans, check_finite=False)[:, 0]
    if trans:
        half = _solve_triangle(lu, b, trans, lower=False)
        return _solve_triangle(lu, half, trans, lower=True, unit=True)[np.argsort(order)]
    half = solve_triangle(lu, b[order], lower=True, unit=True)
    return solve_triangle(lu, half, lower=False)


@called_as(scipy.linalg.lu, a=matrix)
def lu(a: Any, permute_l: bool, p_indices: bool) -> tuple[Any, ...]:
    """The factors p, l, u of a square matrix; the permutation p has no derivative."""
    if a.shape[0] != a.shape[1]:
        raise TypeError(
            f"lu has derivatives of a square matrix, not of one of the shape {a.shape}: of a "
            "wide one take p, l = lu(a[:, :len(a)])[:2] and u = solve(p @ l, a), of a tall one "
            "qr(a)"
        )
    packed, pivots = lu_factor(a, check_finite=False)
    n = len(packed)
    lower = part(packed, triangle(n, strict=True)) + like(packed, np.eye(n))
    upper = part(packed, triangle(n, lower=False))
    rows = np.argsort(permutation(pivots))
    if permute_l:
        return lower[rows], upper
    return rows if p_indices else like(packed, np.eye(n))[rows], lower, upper


@partial(on_matrices, real=(True,), called="qr")
def _pivots(a: Any) -> Any:
    """Which column comes where in a QR factorisation with pivoting, as floats."""
    return scipy.linalg.qr(a, mode="r", pivoting=True)[1].astype(float)


def _pivots_loops(is_complex: bool, a: Any) -> Any:
    stage = lapack_stage("pivots_of_columns", "dgeqp3", "d->d")
    if is_complex or stage is None:
        return None
    return Loops("(m,n)->(n)", ((stage, "ap"),), ("a", "p"))


_pivots.calls_lapack(_pivots_loops)
_pivots.defvjp(None)


@called_as(scipy.linalg.qr, stacks=True, a=matrix)
def qr(a: Any, mode: str, pivoting: bool) -> Any:
    """The factorisation a = q @ r; see `cadiff.numpy.linalg.qr`. Mode "raw" is not supported."""
    modes = {"full": "complete", "r": "complete", "economic": "reduced"}
    if mode not in modes:
        raise TypeError(f'qr has derivatives in modes "full", "r", "economic", not {mode!r}')
    order: tuple[Any, ...] = ()
    if pivoting:
        order = (_guards.fixed(_pivots(a)).astype(np.int32),)
        a = a[:, order[0]] if a.ndim == 2 else take_along_axis(a, order[0][..., None, :], -1)
    q, r = of_numpy.qr(a, modes[mode])
    return ((r,) if mode == "r" else (q, r)) + order


@partial(on_matrices, real=(False, False), real_results=factor.only_real)
def _eig(a: Any) -> Any:
    return tuple(scipy.linalg.eig(a, check_finite=False))


_eig.calls_lapack(loops_of_lapack.eig)
_eig.defrules(factor.eig_pull, factor.eig_push, "...ij->...k,...lm", unread=(0,))


@partial(on_matrices, real_results=factor.only_real)
def _eigvals(a: Any) -> Any:
    return scipy.linalg.eigvals(a, check_finite=False)


_eigvals.calls_lapack(loops_of_lapack.eigvals)
_eigvals.defrules(factor.eigvals_pull, factor.eigvals_push, "...ij->...k")


@called_as(scipy.linalg.eig, stacks=True, a=square)
def eig(a: Any, b: Any, left: bool, right: bool, homogeneous_eigvals: bool) -> Any:
    """Eigenvalues, which are complex always, and eigenvectors; see `cadiff.numpy.linalg.eig`."""
    supported("eig", left=(left, False), homogeneous_eigvals=(homogeneous_eigvals, False))
    if b is not None:
        raise TypeError(
            "eig of two matrices has no derivatives: give it cadiff.numpy.linalg.solve(b, a), "
            "which has the same eigenvalues"
        )
    if not right:
        return _eigvals(a) + 0j
    w, v = _eig(a)
    return w + 0j, v


@implements_all(scipy.linalg.eigvals)
def eigvals(a: Any, b: Any = None, overwrite_a: bool = False, **options: Any) -> Any:
    """Eigenvalues, which are complex always; see `eig`."""
    return eig(a, b, right=False, **options)


@partial(on_matrices, real=(True, False))
def _eigh(a: Any, *, lower: bool, driver: str | None) -> Any:
    factor.check_finite(a, triangle(a.shape[-1], lower))
    return tuple(scipy.linalg.eigh(a, lower=lower, driver=driver, check_finite=False))


def _eigh_loops(is_complex: bool, a: Any, lower: bool, driver: str | None) -> Any:
    """What programs call: the drivers of NumPy's and, of real matrices, of SciPy's eigh."""
    if driver == "evd":
        return loops_of_lapack.eigh(is_complex, a, lower)
    kernel = "eigh_by_evr_of_lower" if lower else "eigh_by_evr_of_upper"
    stage = lapack_stage(kernel, "dsyevr", "d->dd")
    if is_complex or driver not in (None, "evr") or stage is None:
        return None
    return Loops("(n,n)->(n),(n,n)", ((stage, "awv"),), ("a", "w", "v"))


_eigh.calls_lapack(_eigh_loops)
_eigh.defrules(factor.eigh_pull, factor.eigh_push, "...ij->...k,...lm", unread=(0,))


@called_as(scipy.linalg.eigh, stacks=True, a=square, b=square)
def eigh(
    a: Any,
    b: Any,
    lower: bool,
    eigvals_only: bool,
    type: int,
    subset_by_index: Any,
    subset_by_value: Any,
    driver: str | None,
) -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix; see `cadiff.numpy.linalg.eigh`.

    A positive definite b makes it the problem a @ v = w * (b @ v), of type 1.
    """
    supported("eigh", type=(type, 1), subset_by_value=(subset_by_value, None))
    lower = bool(lower)
    first, last = (0, a.shape[-1] - 1) if subset_by_index is None else subset_by_index
    chosen = slice(first, last + 1)
    if b is not None:
        results = _eigh_of_pair(*pair(a, b), lower, eigvals_only)
    elif eigvals_only:
        results = (factor.eigvalsh(a, lower=lower),)
    else:
        results = _eigh(a, lower=lower, driver=driver)
    results = tuple(x[..., chosen] for x in results)
    return results[0] if eigvals_only else results


@partial(on_matrices, called="eigh")
def _of_pair(a: Any, b: Any, *, lower: bool) -> Any:
    """The eigenvectors of two matrices, of which the signs, or phases, are wanted."""
    return scipy.linalg.eigh(a, b, lower=lower)[1]


def _of_pair_loops(is_complex: bool, a: Any, b: Any, lower: bool) -> Any:
    name = "vectors_of_pair_of_lower" if lower else "vectors_of_pair_of_upper"
    stage = lapack_stage(name, "dsygvd", "dd->d")
    if is_complex or stage is None:
        return None
    return Loops("(n,n),(n,n)->(n,n)", ((stage, "abv"),), ("a", "b", "v"))


_of_pair.calls_lapack(_of_pair_loops)
_of_pair.defvjp(None, None)


def _eigh_of_pair(a: Any, b: Any, lower: bool, eigvals_only: bool) -> tuple[Any, ...]:
    """By the triangle l with b = l @ H(l), the problem of inv(l) @ a @ inv(H(l))."""
    l = triangular.cholesky(b, upper=not lower)  # noqa: E741
    l = l if lower else H(l)  # noqa: E741
    half = solve_triangle(l, mirrored(a, lower), lower=True)
    single = solve_triangle(l, H(half), lower=True)
    if eigvals_only:
        return (factor.eigvalsh(single),)
    w, v = factor.eigh(single)
    v = solve_triangle(l, v, lower=True, adjoint=True)
    turn = np.sum(conjugate(_guards.held(v)) * _of_pair(a, b, lower=lower), axis=-2, keepdims=True)
    return w, v * (turn / abs(turn))


@implements_all(scipy.linalg.eigvalsh)
def eigvalsh(a: Any, b: Any = None, **options: Any) -> Any:
    """Eigenvalues of a symmetric matrix; see `eigh`."""
    return eigh(a, b, eigvals_only=True, **options)


@partial(on_matrices, real=(False, True, False))
def _svd(a: Any, *, full: bool, driver: str) -> Any:
    factor.check_finite(a)
    results = scipy.linalg.svd(a, full_matrices=full, check_finite=False, lapack_driver=driver)
    return tuple(results)  # of stacks they are a list


_svd.calls_lapack(
    lambda is_complex, a, full, driver: (
        loops_of_lapack.svd(is_complex, a, full) if driver == "gesdd" else None
    )
)
_svd.defrules(factor.svd_pull, factor.svd_push, "...ij->...kl,...m,...no", unread=(0,))


@called_as(scipy.linalg.svd, of_finite(scipy.linalg.svd), stacks=True, a=matrix)
def svd(a: Any, full_matrices: bool, compute_uv: bool, lapack_driver: str) -> Any:
    """Singular values and vectors; see `cadiff.numpy.linalg.svd`."""
    if not compute_uv:
        return factor.svdvals(a)
    full = bool(full_matrices) and a.shape[-2] != a.shape[-1]
    return _svd(a, full=full, driver=lapack_driver)


@called_as(scipy.linalg.svdvals, stacks=True, a=matrix)
def svdvals(a: Any) -> Any:
    """Singular values, from the largest to the smallest; at 0 their derivatives are 0."""
    return factor.svdvals(a)


# --- functions of matrices -----------------------------------------------------------------------


@called_as(scipy.linalg.rq, a=matrix)
def rq(a: Any, mode: str) -> Any:
    """The factors of a = r @ q, with an upper triangle r and orthonormal rows q."""
    rows, columns = a.shape
    modes = ("full", "r", "economic") if rows == columns else ("economic",)
    if mode not in modes or rows > columns:
        raise TypeError(
            f"rq of shape {a.shape} with mode={mode!r} has no derivatives: it has for square "
            'matrices, and for wide ones with mode="economic"'
        )
    q, r = of_numpy.qr(H(a)[:, ::-1], "reduced")
    r, q = H(r)[::-1, ::-1], H(q)[::-1]
    turn = plainly_by(_phases_of_rq, True, (False,) * 2)(*map(_guards.held, (a, r)))[0]
    factors = with_values(_rq, (r * turn, q * conjugate(turn)[:, None]), a)
    return factors[0] if mode == "r" else factors


def _rq(a: Any) -> Any:
    return scipy.linalg.rq(a, mode="economic")


def _phases_of_rq(a: Any, r: Any) -> tuple[Any, Any]:
    """By what the columns of a triangle are to be multiplied, to be SciPy's."""
    turn = np.sign(np.diagonal(_rq(a)[0]) / np.diagonal(r))
    return turn, turn


@called_as(scipy.linalg.matrix_balance, A=square)
def matrix_balance(A: Any, permute: bool, scale: bool, separate: bool) -> tuple[Any, Any]:
    """The matrix B = inv(T) @ A @ T and T, which has powers of two and is held constant."""
    supported("matrix_balance", separate=(bool(separate), False))
    by = plainly_by(scipy.linalg.matrix_balance, True, (not is_complex_number(A), True))
    plain, turn = by(_guards.held(A), permute=permute, scale=scale)
    turn = turn if is_complex_number(A) else turn.astype(plain.dtype)
    balanced = systems.inv(turn) @ A @ turn
    return valued(in_precision(balanced, plain.dtype), plain), turn


@called_as(scipy.linalg.matmul_toeplitz, c_or_cr=column_and_row, x=finite)
def matmul_toeplitz(c_or_cr: Any, x: Any, workers: int | None) -> Any:
    """The product of a Toeplitz matrix, given by its first column and row, and x."""
    return with_values(_times_toeplitz, toeplitz(*c_or_cr) @ x, *c_or_cr, x, workers=workers)


def _times_toeplitz(c: Any, r: Any, x: Any, *, workers: int | None) -> Any:
    return scipy.linalg.matmul_toeplitz((c, r), x, workers=workers)


@called_as(scipy.linalg.subspace_angles, A=matrix, B=matrix)
def subspace_angles(A: Any, B: Any) -> Any:
    """The angles between two subspaces, in descending order; at 0 they have no derivative."""
    bases = [triangular.qr(x)[0] for x in (A, B)]
    cosines = H(bases[0]) @ bases[1]
    rest = bases[1] - bases[0] @ cosines
    if bases[0].shape[1] < bases[1].shape[1]:
        rest = bases[0] - bases[1] @ H(cosines)
    cosines = factor.svdvals(cosines)[::-1]
    sines = factor.svdvals(rest)[: cosines.shape[0]]
    is_none = _guards.held(sines) <= A.shape[0] * factor.TOLERANCE  # else what cosines turn counts
    angles = where(is_none, 0.0, np.arctan2(sines, cosines))
    return with_values(scipy.linalg.subspace_angles, angles, A, B)


@called_as(scipy.linalg.funm, A=square)
def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a matrix that has a basis of eigenvectors, by what it does to numbers.

    func: of arrays of complex numbers, and of such numbers with derivatives.
    """
    supported("funm", disp=(bool(disp), True))
    t, q = schur(_guards.held(A) + 0j, output="complex")
    w = np.diagonal(t)
    size = np.max(np.abs(w), initial=0.0)
    step = 1e-2 * where(size > 0.0, size, 1.0)
    gaps = np.abs(w[:, None] - w) + step * np.eye(len(w))
    if _guards.fixed(np.sum(gaps < 0.5 * step)):  # their mean, where eigenvalues are apart
        aside = 1j * step * (q * np.linspace(0.0, 1.0, len(w))) @ H(q)
        result = sum(weight * _by_eigenvalues(A + k * aside, func) for k, weight in SIDES.items())
    else:
        result = _by_eigenvalues(A, func)
    re, im = whole_parts(result)
    re, im, turns = with_values(_parts_of_funm, (re, im, 0.0), A, func=func)
    return make_complex(re, im) if _guards.fixed(turns) else re


def _by_eigenvalues(A: Any, func: Callable[[Any], Any]) -> Any:
    w, v = eig(A)
    return T(systems.solve(T(v), T(v * func(w + 0j))))


def _parts_of_funm(A: Any, *, func: Callable[[Any], Any]) -> tuple[Any, Any, float]:
    """Real and imaginary part, and whether the second counts."""
    found = scipy.linalg.funm(A, func)
    return np.real(found), np.imag(found), float(np.iscomplexobj(found))


# --- bases and pseudo-inverses -------------------------------------------------------------------


# SciPy's own Python, which goes by singular vectors; derivatives hold as long as the rank does not
# change, and turn nothing within a basis.
kernels("scipy.linalg._decomp_svd", "svd")(svd)
orth, null_space = (
    offered(getattr(scipy.linalg, name), f"scipy.linalg.{name}") for name in ("orth", "null_space")
)


@on_matrices
def _pinvh(a: Any, **options: Any) -> Any:
    return scipy.linalg.pinvh(a, check_finite=False, **options)


_pinvh.defrules(least_squares.pinv_pull, least_squares.pinv_push, "...ij->...kl")


@called_as(scipy.linalg.pinvh, stacks=True, a=square)
def pinvh(a: Any, atol: float | None, rtol: float | None, lower: bool, return_rank: bool) -> Any:
    """The pseudo-inverse of a Hermitian matrix, of which one triangle is read."""
    result = _pinvh(mirrored(a, bool(lower)), atol=atol, rtol=rtol, lower=bool(lower))
    if not return_rank:
        return result
    return result, scipy.linalg.pinvh(value(a), atol, rtol, lower, return_rank=True)[1]


# --- banded matrices and Toeplitz's --------------------------------------------------------------


@on_matrices
def _solve_toeplitz(a: Any, b: Any, *, adjoint: bool = False) -> Any:
    a = H(a) if adjoint else a
    return scipy.linalg.solve_toeplitz((a[:, 0], a[0]), b, check_finite=False)


systems.solves(_solve_toeplitz, _solve_toeplitz)


@called_as(scipy.linalg.solve_toeplitz, c_or_cr=column_and_row, b=finite)
def solve_toeplitz(c_or_cr: Any, b: Any) -> Any:
    """Solve a @ x = b for a Toeplitz matrix a, given by its first column, or that and a row."""
    return solved(_solve_toeplitz, toeplitz(*c_or_cr), b)


# --- norms and special matrices ------------------------------------------------------------------


@stated("norm")
def _euclidean(x: Any, p: float, axis: Any, keepdims: bool) -> Any:
    """The 2-norm of all elements by LAPACK, which does not overflow."""
    return scipy.linalg.norm(x, keepdims=keepdims, check_finite=False)


_euclidean.loop = lambda x, p, axis, keepdims: ("norm", of_numpy.NORM_IN_RANGE, (None, (), ()))
_euclidean.loop_takes, _euclidean.loop_rounds = (0, 1), True
_euclidean.defvjp(curried(of_numpy.p_norm_pull))
_euclidean.defjvp(of_numpy.p_norm_push)
_euclidean.defpattern(lambda ans, x, p, axis, keepdims: over_axes(None, x.ndim, keepdims))


@called_as(scipy.linalg.norm, stacks=True, a=finite)
def norm(a: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """The norm of vectors or matrices; see `cadiff.numpy.linalg.norm`."""
    orders: dict[int, tuple[Any, ...]] = {1: (None, 2), 2: (None, "f", "fro")}
    if axis is None and not carries(ord) and ord in orders.get(a.ndim, ()) and not are_complex(a):
        return _euclidean(a, 2, None, keepdims)
    norms = of_numpy.norm(a, ord, axis, keepdims)
    is_lapacks = axis is None and a.ndim == 2 and not keepdims and ord in (1, np.inf)
    return double(norms) if is_lapacks and is_single(a) else norms


def _placed(name: str, *names: str) -> Callable[..., Any]:
    """A special matrix of vectors, or a stack: elements are where SciPy puts numbers from 1 on."""
    original = getattr(scipy.linalg, name)
    arguments = arguments_of(original)

    def function(*args: Any, **kwargs: Any) -> Any:
        given = arguments(args, kwargs)
        vectors = [number(given[each]) for each in names if given[each] is not None]
        ends = np.cumsum([x.size for x in vectors])
        for each, x, end in zip(names, vectors, ends, strict=False):
            given[each] = np.arange(end - x.size + 1, end + 1).reshape(x.shape)
        return taken(concatenate([reshape(x, (-1,)) for x in vectors]), original(**given))

    return function


circulant, convolution_matrix, diagsvd, hankel = (
    implements_all(getattr(scipy.linalg, name))(_placed(name, *names))
    for name, *names in (
        ("circulant", "c"), ("convolution_matrix", "a"), ("diagsvd", "s"), ("hankel", "c", "r"),
    )
)  # fmt: skip
_toeplitz = _placed("toeplitz", "c", "r")


@implements_all(scipy.linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix that is constant along diagonals, with first column c and first row r."""
    c = number(c)
    return _toeplitz(c, conjugate(c) if r is None and are_complex(c) else r)


block_diag, companion, fiedler_companion, khatri_rao, leslie = (
    offered(getattr(scipy.linalg, name), f"scipy.linalg.{name}")
    for name in ("block_diag", "companion", "fiedler_companion", "khatri_rao", "leslie")
)
