"""`numpy.linalg` for numbers with derivatives: what it redefines is differentiated.

Every function takes what NumPy's takes, stacks of matrices included, and gives the same values;
names that are not redefined are NumPy's own. The rules of the factorisations are in the modules
`_factorizations` and `_least_squares`; here is how they are called, and what is composed of them.

A matrix said to be symmetric is read from one triangle, and derivatives are by the elements of
that triangle: those of the other are 0, and an element off the diagonal counts for both places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.linalg import LinAlgError

from ..binding import (
    Complex,
    Dual,
    Var,
    carries,
    foreign_names,
    is_complex_number,
    is_guarding,
    is_real_array,
)
from ..binding import unguarded as value
from ..operations.arrays import broadcast_to, concatenate, moveaxis, reshape, sum, transpose
from ..operations.complexes import implements_all, joined, whole_parts
from ..operations.dispatch import plain
from ..operations.guards import NoDerivativeError, held
from ..operations.patterns import over_axes
from ..operations.primitives import after_lanes, curried, stated
from ..operations.table import power, sign, sqrt, where
from . import _factorizations as factor
from . import _least_squares as least_squares
from . import _systems as systems
from . import _triangular_factors as triangular
from ._factorizations import of_finite
from ._matrices import EPSILON, SINGLE, H, diagonal, is_single, mirrored
from ._own import copied, own

__all__ = np.linalg.__all__

plain(np.linalg.matrix_rank)

_ONE = np.eye(1)
EigResult = type(np.linalg.eig(_ONE))
EighResult = type(np.linalg.eigh(_ONE))
QRResult = type(np.linalg.qr(_ONE))
SVDResult = type(np.linalg.svd(_ONE))
SlogdetResult = type(np.linalg.slogdet(_ONE))


def __getattr__(name: str) -> Any:
    if not hasattr(np.linalg, name):
        foreign_names.missing(__name__, name)
    return getattr(np.linalg, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(np.linalg)})


# --- arguments -----------------------------------------------------------------------------------


def number(x: Any) -> Any:
    """An argument as an array of numbers, real or complex, with derivatives or without."""
    if isinstance(x, (Var, Dual, Complex)):
        return x
    if carries(x):
        return joined(x)
    x = np.asarray(x)
    if x.dtype.kind not in "fiubc":
        raise TypeError(f"derivatives are of numbers, real or complex, not of {x.dtype}")
    if x.dtype.char in SINGLE:
        return x.astype(x.dtype.newbyteorder("="), copy=False)
    return x.astype(complex if x.dtype.kind == "c" else float, copy=False)


def matrix(x: Any) -> Any:
    """An argument that is a matrix or a stack of them."""
    x = number(x)
    if x.ndim < 2:
        raise LinAlgError(f"a matrix has at least two dimensions; this array has {x.ndim}")
    return x


def square(x: Any) -> Any:
    """An argument that is a square matrix or a stack of them."""
    x = matrix(x)
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"a square matrix was expected; this one has the shape {x.shape}")
    return x


def is_lower(UPLO: str) -> bool:
    """Whether the name of a triangle means the lower one."""
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper() == "L"


# --- systems of equations ------------------------------------------------------------------------


@implements_all(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """Solve a @ x = b; a and b may be stacks that broadcast.

    b is a vector if it has one dimension, otherwise a matrix or a stack of matrices.
    """
    return solved(systems.solve, square(a), number(b))


def solved(solve: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Solve for a vector b, or for stacks of matrices that broadcast."""
    if b.ndim == 1:
        return solved(solve, a, b[:, None])[..., 0]
    if a.ndim == b.ndim == 2:
        return solve(a, b)
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return solve(stacked(a, shape), stacked(b, shape))


def stacked(x: Any, shape: tuple[int, ...]) -> Any:
    """A stack of matrices, broadcast to the shape of another."""
    return x if x.shape[:-2] == shape else broadcast_to(x, shape + x.shape[-2:])


@implements_all(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    """Solve tensordot(a, x, x.ndim) = b."""
    a, b = number(a), number(b)
    if axes is not None:
        last = [axis % a.ndim for axis in axes]
        a = transpose(a, [k for k in range(a.ndim) if k not in last] + last)
    shape = a.shape[b.ndim :]
    if math.prod(shape) != b.size or math.prod(a.shape[: b.ndim]) != b.size:
        raise LinAlgError(f"tensorsolve: {a.shape} is not square beside b of shape {b.shape}")
    return reshape(solve(reshape(a, (b.size, b.size)), reshape(b, (b.size,))), shape)


@implements_all(np.linalg.inv)
def inv(a: Any) -> Any:
    """The inverse of a square matrix, or of each of a stack."""
    return systems.inv(square(a))


@implements_all(np.linalg.pinv, plainly=of_finite(np.linalg.pinv))
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """The pseudo-inverse; derivatives hold as long as the rank does not change."""
    a = mirrored(square(a)) if hermitian else matrix(a)
    return least_squares.pinv(a, rcond=value(rcond), hermitian=hermitian, rtol=value(rtol))


@implements_all(np.linalg.lstsq, plainly=of_finite(np.linalg.lstsq))
def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Any, Any, int, Any]:
    """The least-squares solution, the sums of squared residuals, the rank, the singular values.

    If the rank is less than the number of columns, the shortest solution; derivatives hold as long
    as the rank does not change.
    """
    a, b = matrix(a), number(b)
    if b.ndim == 1:
        x, residuals, rank, s = lstsq(a, b[:, None], rcond)
        return x[:, 0], residuals, rank, s
    if is_single(a) != is_single(b):
        a, b = (x.astype(complex if is_complex_number(x) else float) for x in (a, b))
    cutoff = _cutoff(a.shape, rcond)
    x = least_squares.lstsq(a, b, cutoff=cutoff)
    s = factor.svdvals(a)
    rank = int(np.sum(held(s) > cutoff * np.max(held(s), initial=0.0)))
    determined = rank == a.shape[1] < a.shape[0]
    residuals = sum(squared(b - a @ x), axis=0) if determined else np.empty(0)
    return x, residuals, rank, s


def squared(x: Any) -> Any:
    """The squares of absolute values."""
    if not is_complex_number(x):
        return x**2
    re, im = whole_parts(x)
    return re**2 + im**2


def _cutoff(shape: tuple[int, ...], rcond: float | None) -> float:
    """The part of the largest singular value that counts as 0, as NumPy and LAPACK take rcond."""
    if rcond is None:
        return max(shape) * EPSILON
    return rcond if 0.0 < rcond < 1.0 else 0.5 * EPSILON


# --- determinants and factorisations -------------------------------------------------------------


@implements_all(np.linalg.det)
def det(a: Any) -> Any:
    """The determinant; its gradient, the cofactors, is exact at singular matrices, too."""
    return systems.det(square(a))


@implements_all(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """The sign and the logarithm of the determinant's size.

    The sign has no derivative. At a singular matrix the logarithm has none: `LinAlgError`.
    """
    sign_, logarithm = systems.slogdet(square(a))
    return SlogdetResult(sign_, logarithm)


@implements_all(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The triangle of a Cholesky factorisation; only that triangle of a is read."""
    return triangular.cholesky(square(a), upper=bool(upper))


@implements_all(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """The factorisation a = q @ r, of matrices with independent columns.

    A matrix with more columns than rows must have independent ones to the left. The columns that
    mode "complete" adds to q are an arbitrary basis: derivatives are right for whatever does not
    depend on the choice. Mode "raw" is not supported.
    """
    a = matrix(a)
    if mode not in ("reduced", "complete", "r"):
        raise TypeError(f'qr has derivatives in modes "reduced", "complete", "r", not {mode!r}')
    rows, columns = a.shape[-2:]
    if rows >= columns:
        q, r = triangular.qr(a, complete=mode == "complete" and rows > columns)
    else:
        q, r = triangular.qr(a[..., :rows])
        r = concatenate([r, H(q) @ a[..., rows:]], axis=-1)
    return r if mode == "r" else QRResult(q, r)


@implements_all(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix, of which one triangle is read.

    Derivatives of eigenvectors do not exist at a repeated eigenvalue: they are nan there, with a
    RuntimeWarning, if anything depends on them. Use `eigvalsh` if eigenvalues are all you need.
    """
    return EighResult(*factor.eigh(square(a), lower=is_lower(UPLO)))


@implements_all(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of a symmetric matrix, of which one triangle is read.

    Those of a repeated eigenvalue have derivatives only taken together, as in a sum.
    """
    return factor.eigvalsh(square(a), lower=is_lower(UPLO))


@implements_all(np.linalg.eig)
def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors; of a real matrix real ones, if all eigenvalues are real.

    Derivatives do not exist where there is no basis of eigenvectors: in forward mode they are nan
    there, with a RuntimeWarning; in reverse mode only sums of all eigenvalues have right ones.
    """
    return EigResult(*factor.eig(square(a)))


@implements_all(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """Eigenvalues; of a real matrix real ones, if all are. For derivatives see `eig`."""
    return factor.eigvals(square(a))


@implements_all(np.linalg.svd, plainly=of_finite(np.linalg.svd))
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Singular values and vectors.

    Derivatives of singular vectors do not exist at a repeated singular value, or at 0 in a matrix
    that is not square: they are nan there, with a RuntimeWarning, if anything depends on them. The
    vectors that `full_matrices` adds are an arbitrary basis: derivatives are right for whatever
    does not depend on the choice. Several singular values 0 have derivatives neither, if anything
    depends on vectors as well.
    """
    a = matrix(a)
    if hermitian:
        return _svd_by_eigenvalues(a, compute_uv)
    if not compute_uv:
        return factor.svdvals(a)
    rows, columns = a.shape[-2:]
    return SVDResult(*factor.svd(a, full=bool(full_matrices) and rows != columns))


def _svd_by_eigenvalues(a: Any, compute_uv: bool) -> Any:
    w = eigvalsh(a)
    u: Any = None
    if compute_uv:
        w, u = eigh(a)
    order = np.argsort(np.abs(held(w)), axis=-1)[..., ::-1]
    turn = np.equal(np.arange(a.shape[-1])[:, None], order[..., None, :]).astype(np.dtype(w.dtype))
    s = (abs(w)[..., None, :] @ turn)[..., 0, :]
    if not compute_uv:
        return s
    u = u @ turn
    signs = (np.sign(held(w))[..., None, :] @ turn)[..., 0, :]
    return SVDResult(u, s, H(u * signs[..., None, :]))


# --- norms ---------------------------------------------------------------------------------------


@stated("norm")
def _p_norm(x: Any, p: float, axis: Any, keepdims: bool) -> Any:
    """The p-norm along one axis, counted from the front, or the 2-norm along all (None)."""
    order = p if isinstance(axis, int) else None
    return np.linalg.norm(x, order, axis, keepdims)


def _p_norms(which: Any, x: Any, p: float, axis: Any, keepdims: bool) -> Any:
    """The norms of many arrays."""
    if axis is None:
        kept = (1,) * (x.ndim - 1) if keepdims else ()
        return np.linalg.norm(x.reshape(len(x), -1), None, 1).reshape(-1, *kept)
    return _p_norm.function(x, p, after_lanes(axis, x.ndim - 1), keepdims)


# What the kernel is told.
NORM_OF_ALL, NORM_IN_RANGE, NORM_ALONG = range(3)


def _norm_loop(x: Any, p: float, axis: Any, keepdims: bool) -> Any:
    """The kernel along one axis, or over all elements as one row."""
    if axis is None:
        return "norm", NORM_OF_ALL, (None, (), ())
    return "norm", NORM_ALONG, ((axis,), (), ())


_p_norm.over_lanes = _p_norms
_p_norm.loop = _norm_loop
_p_norm.loop_takes, _p_norm.loop_rounds = (0, 1), lambda x, p, axis, keepdims: p != 2


def _root_of_squares(x: Any, p: float, axis: Any, keepdims: bool) -> Any:
    """The 2-norms of the rows of a matrix, or of more axes; where one is 0, so is its slope.

    In a product of matrices no zero absorbs: infinite elements have the slope nan, as by the rule.
    """
    if p != 2 or x.ndim < 2 or not isinstance(axis, int):
        return NotImplemented
    rows = moveaxis(x, axis, -1)
    squares = (rows[..., None, :] @ rows[..., :, None])[..., 0, 0]
    none = held(squares) <= 0.0
    norm = where(none, 0.0, sqrt(where(none, 1.0, squares)))
    return _kept(norm, x, axis) if keepdims else norm


_p_norm.written_out = _root_of_squares


def _direction(x: Any, norm: Any, p: float, axis: Any) -> Any:
    """The gradient of the p-norm, 0 where the norm is 0; norm has the axes kept.

    In terms of x / norm nothing overflows that the norm itself does not; and for even p it is a
    polynomial, with right derivatives at elements 0.
    """
    none = held(norm) <= 0.0
    unit = x / where(none, 1.0, norm)
    if p == 2:
        slope = unit
    elif p % 2 == 0 and p > 0:
        slope = power(unit, p - 1)
    else:
        slope = sign(x) * power(abs(unit), p - 1)
    return where(none, 0.0, slope) if np.any(none) else slope


def _kept(norm: Any, x: Any, axis: Any) -> Any:
    """The norms with the axes they were taken along, as axes of length 1."""
    axes = range(x.ndim) if axis is None else np.atleast_1d(np.asarray(axis)) % x.ndim
    return reshape(norm, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))


def _as_spread(norm: Any, x: Any, axis: Any) -> Any:
    """The norms as they are broadcast: one number is by itself."""
    return _kept(norm, x, axis) if np.shape(norm) else norm


def p_norm_pull(ans: Any, x: Any, p: float, axis: Any, keepdims: bool, g: Any) -> Any:
    slope, factor = _direction(x, _as_spread(ans, x, axis), p, axis), _as_spread(g, x, axis)
    if is_real_array(slope) and (type(factor) is float or is_real_array(factor)):
        return np.multiply(slope, factor, out=slope)  # which is fresh
    return factor * slope


def p_norm_push(g: Any, ans: Any, x: Any, p: float, axis: Any, keepdims: bool) -> Any:
    slope = _direction(x, _as_spread(ans, x, axis), p, axis)
    return sum(g * slope, axis=axis, keepdims=keepdims)


_p_norm.defvjp(curried(p_norm_pull))
_p_norm.defjvp(p_norm_push)
_p_norm.defpattern(lambda ans, x, p, axis, keepdims: over_axes(axis, x.ndim, keepdims))


@implements_all(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices, of every order; where it is 0, its derivatives are 0."""
    if carries(ord):
        raise NoDerivativeError(
            "norm has no derivative by ord: write np.sum(np.abs(x) ** ord) ** (1 / ord)"
        )
    x = number(x)
    axes = tuple(range(x.ndim)) if axis is None else axis
    axes = axes if isinstance(axes, tuple) else (int(axes),)
    for k in axes:
        normalize_axis_index(k, x.ndim)
    n = len(axes)
    if ord is None and axis is None and not n:
        return abs(x)
    is_two = (ord == 2 and n == 1) or (ord in ("f", "fro") and n == 2)
    is_two = is_two or (ord is None and (axis is None or 0 < n < 3))
    are_distinct = len({k % max(x.ndim, 1) for k in axes}) == n
    if is_two and are_distinct:
        return _two_norm(x, axes, keepdims)
    if n == 1 and not isinstance(ord, str) and ord not in (0, 1, np.inf, -np.inf):
        return _p_norm(abs(x) if is_complex_number(x) else x, ord, axes[0] % x.ndim, keepdims)
    if ord == "nuc" and n == 2 and are_distinct and not is_guarding():  # no loop of C
        nuclear = factor.nuclear(moveaxis(x, axes, (-2, -1)))
        return _kept(nuclear, x, axes) if keepdims else nuclear
    return _other_norm(x, ord, axis, keepdims)


_other_norm = copied(np.linalg.norm)


def _two_norm(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The 2-norm of all elements along axes; of complex ones that of their parts."""
    axes = tuple(axis % max(x.ndim, 1) for axis in axes)
    if not is_complex_number(x) and (len(axes) == 1 or len(axes) == x.ndim):
        return _p_norm(x, 2, axes[0] if len(axes) == 1 else None, keepdims)
    rest = [k for k in range(x.ndim) if k not in axes]
    size = math.prod(x.shape[k] for k in axes)
    rows = reshape(transpose(x, [*rest, *axes]), (*(x.shape[k] for k in rest), size))
    rows = concatenate(whole_parts(rows), axis=-1) if is_complex_number(x) else rows
    norm = _p_norm(rows, 2, len(rest), False)
    return _kept(norm, x, axes) if keepdims else norm


@implements_all(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """The condition number in a norm; inf, without derivative, where a matrix is singular."""
    x = matrix(x)
    if not x.size:
        raise LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = factor.svdvals(x)
        largest, smallest = s[..., 0], s[..., -1]
        ratio = smallest / largest if p == -2 else largest / smallest
        return where(held(largest) <= 0.0, np.inf, ratio)
    x = square(x)
    pivots = np.abs(held(diagonal(systems.factors_of(x)[0])))
    singular = np.any(pivots <= 0.0, axis=-1)
    one = np.eye(x.shape[-1], dtype=np.dtype(x.dtype))
    matrices = where(singular[..., None, None], one, x)
    numbers = norm(matrices, p, (-2, -1)) * norm(systems.inv(matrices), p, (-2, -1))
    return where(singular, np.inf, numbers)


# --- products ------------------------------------------------------------------------------------


globals().update(
    own(
        np.linalg,
        *("cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose"),
        *("multi_dot", "outer", "svdvals", "tensordot", "tensorinv", "trace", "vecdot"),
        "vector_norm",
    )
)
