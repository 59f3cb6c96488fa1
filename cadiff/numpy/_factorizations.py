"""Eigenvalues and singular values of matrices, and their vectors, with their derivatives.

Each operation takes matrices of numbers, real or complex, or stacks of them with equal leading
dimensions. The rules use what was factored, and solve with it rather than invert. Where they are
written down:

    Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
        differentiation" (2008): eig, svd
    Walter and Lehmann, "Algorithmic differentiation of linear algebra functions with application
        in optimum experimental design" (2010): eigh
    Wan and Zhang, "Automatic differentiation for complex valued SVD" (2019)

A function that reads one triangle of a Hermitian matrix, and the real part of its diagonal, has
derivatives by these elements alone.

Vectors of complex matrices are defined up to a factor of length 1. Their derivatives are those
without such a turn, v^H dv = 0 (of singular vectors, u^H du + v^H dv = 0). A result that depends
on the factor, which LAPACK happens to choose, is no function of the matrix: reverse rules refuse
its cotangent.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import binding
from ..binding import carries, is_complex_number
from ..binding import unguarded as value
from ..operations.arrays import concatenate, sum
from ..operations.complexes import imag
from ..operations.guards import NoDerivativeError, held
from ..operations.missing_derivatives import doubt, warn_nan
from ..operations.pairs import on_pairs
from ..operations.table import where
from . import _lapack as lapack
from ._matrices import (
    EPSILON,
    ComplexResultError,
    H,
    Mask,
    T,
    conjugate,
    diagonal,
    differences,
    folded,
    identity,
    inner,
    mirrored,
    on_diagonal,
    on_matrices,
    outer_product,
    real,
    scalars,
    skew,
    sums,
    triangle,
)
from ._systems import solve
from ._triangular_factors import completed, leading

Warn = Callable[[str], None]
Gaps = Callable[[Any], Any]  # of values, a matrix
Lost = Callable[[Mask], Mask]  # where quotients without a gap are not known, among such places

VECTORS = "eigenvectors"
INSTEAD = (
    "; what can be written with functions of the whole matrix has its own: trace, slogdet, "
    "matrix_power, solve, expm, sqrtm, logm"
)
SINGULAR = "singular vectors"


def check_finite(a: Any, read: Any = True) -> None:
    """Raise LinAlgError for inf or nan in what is read: LAPACK may seek vectors of it for ever."""
    if not binding.are_finite(a) and np.any(read & ~np.isfinite(a)):
        raise np.linalg.LinAlgError("nothing did converge: there is inf or nan in the matrix")


def of_finite(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's or SciPy's that does not end for all matrices, with that check before.

    If it has one of its own, and is not told to do without, that is left to it.
    """
    parameters = inspect.signature(original)
    checks = "check_finite" in parameters.parameters

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        for x in map(np.asarray, args[:2]):
            if x.dtype.kind in "fc" and not np.all(np.isfinite(x)):
                named = parameters.bind(*args, **kwargs).arguments
                if not named.get("check_finite", checks):
                    check_finite(x)
        return original(*args, **kwargs)

    return function


# --- eigenvalues and singular values -------------------------------------------------------------


DEFECTIVE = 0.1  # what the condition of eigenvectors makes of rounding, at least
TURN = 1e-6  # times the largest: what rounding leaves of cotangents that do not turn, at most
NOUGHT = 1e-8  # cotangents below, times that, are rounding: those of vectors are of the order of 1
UNEVEN = 1e-3  # times their sizes: how far cotangents of equal values differ, at most
TOLERANCE = 4.0 * EPSILON  # times n and the largest: what LAPACK's eigenvalues may be off
OF_SINGLE = 4.0 * float(np.finfo(np.float32).eps)  # in single precision
UNIT = 1e-10  # how far from 1 the length of a column is in double precision, at most


def largest(x: Any) -> Any:
    """The largest absolute value in each matrix of a stack."""
    return np.max(np.abs(held(x)), axis=(-2, -1), initial=0.0, keepdims=True)


def rounding(values: Any, *vectors: Any) -> float:
    """What n times the largest value are to be multiplied by, to be what LAPACK may be off.

    Plain numbers of rules are doubles: lengths of columns tell in which precision they were found.
    """
    for v in vectors:
        if type(v) is np.ndarray and np.any(np.abs(np.sum(np.abs(v) ** 2, -2) - 1.0) > UNIT):
            return OF_SINGLE
    return OF_SINGLE if binding.is_single(values) else TOLERANCE


def touched(g: Any) -> Any:
    """For each pair of columns, whether there is a cotangent of either: 0 if not."""
    sizes = np.max(np.abs(held(g)), axis=-2, initial=0.0)
    return sizes[..., :, None] + sizes[..., None, :]


# A function of a matrix that goes by its vectors is smooth as a rule where values are equal, but
# what it does to a pair of equal ones cannot be told from cotangents of vectors and values: of
# v @ f(w) @ v.T it is what couples the two, times the quotient 0 / 0 of f(w[j]) - f(w[i]) and
# w[j] - w[i], while f times that is all that arrives. So the result is nan, unless nothing depends
# on the vectors of the pair. Next to 0 these have cotangents of the order of rounding if f is as
# large as w, and less, of its square, where the derivative of f at 0 is 0, and so is the result.


def _reaches(none: Mask, sizes: Any, along: Any, values: Any, *vectors: Any) -> Mask:
    """Where there is no gap, whether what is differentiated depends on vectors of a pair."""
    off, most = none.shape[-1] * rounding(values, *vectors), largest(sizes)
    limit = off**2 * (largest(along[..., None]) * largest(values[..., None]) + most)
    # nan is more than any
    reached: Mask = none & (~(sizes <= limit) | (uneven(along) & (most > 0.0)))
    return reached


def _leaves(x: Any, along: Any, values: Any, vectors: Any, sizes: Any, none: Mask) -> Mask:
    """The same where a vector of a singular value 0 leaves the span of the others."""
    most = largest(along[..., None]) * largest(values[..., None]) + largest(sizes)
    off = values.shape[-1] * rounding(values, *vectors)
    reached: Mask = none & ~(np.abs(held(x)) <= off**2 * most)
    return reached


def uneven(along: Any) -> Mask:
    """For each pair of values, whether cotangents tell them from each other, beyond rounding."""
    along = held(along)
    gaps, off = np.abs(differences(along)), along.shape[-1] * TOLERANCE
    apart: Mask = (gaps > UNEVEN * sums(np.abs(along))) & (gaps > off * largest(along[..., None]))
    return apart


def _any_of_pair(sizes: Any, along: Any) -> Mask:
    """For each pair, whether there is a cotangent of its vectors or values, or none of any."""
    both = sizes + sums(np.abs(held(along)))
    there: Mask = ~(both <= 0.0) | (largest(both) <= 0.0)
    return there


@on_matrices
def _undetermined(x: Any, places: Any) -> Any:
    """Zeros, of which the derivative by x is not known at some places: nan, if x changes there."""
    return np.zeros_like(x)


def _not_known(g: Any, places: Any, warn: Warn) -> Any:
    lost = _matters(held(real(places)) > 0.5, g)
    if np.any(lost):
        warn(f"the second derivative by vectors at repeated ones is not known: nan{INSTEAD}")
    return where(lost, np.nan, 0.0 * real(g))


_undetermined.defvjp(lambda ans, x, places: lambda g: _not_known(g, places, warn_nan), None)
_undetermined.defjvp(lambda g, ans, x, places: _not_known(g, places, doubt), None)


def undetermined(x: Any, places: Mask) -> Any:
    """Zeros in the shape of x, whose derivative by the elements at these places is not known."""
    if not carries(x) or not np.any(places):
        return np.zeros(x.shape)
    return _undetermined(x, where(places, 1.0, np.zeros(x.shape)))


# What a rule has found of a pair of equal values has a derivative it knows no better. Zeros are
# added, of which the derivative by what couples the two is nan.

Sizes = Callable[[], Any]  # for each pair, of cotangents of vectors


def _change(a: Any) -> Any:
    """A matrix of zeros with the derivative of a."""
    return a - held(a)


def _coupled(values: Any, along: Any, sizes: Sizes, a: Any, v: Any, lower: bool) -> Any:
    none = equal(values, differences, v)
    if not np.any(none):
        return np.zeros(none.shape)
    still = held(v)
    coupling = H(still) @ mirrored(_change(a), lower) @ still
    return undetermined(coupling, none & _any_of_pair(sizes(), along))


def _coupled_in(values: Any, along: Any, sizes: Sizes, a: Any, v: Any) -> Any:
    """The same in the basis of eigenvectors v that are not orthogonal."""
    none = equal(values)
    if not np.any(none):
        return np.zeros(none.shape)
    return _undetermined_in(none & _any_of_pair(sizes(), along), a, v)


def _undetermined_in(places: Mask, a: Any, v: Any) -> Any:
    still = held(v)
    return undetermined(solve(still, _change(a) @ still), places)


def _coupled_by_svd(s: Any, along: Any, sizes: Sizes, a: Any, u: Any, v: Any) -> Any:
    zero = nought(s, u, v)
    none = (
        equal(s, differences, u, v)
        | equal(s, sums, u, v)
        | (zero[..., None] & identity(s.shape[-1]))
    )
    if not np.any(none):
        return 0.0 * a
    reached = _any_of_pair(sizes(), along)
    u, v, change = held(u), held(v), _change(a)
    p = H(u) @ change @ v
    found = u @ undetermined(p, none & reached) @ H(v)
    columns = zero & diagonal(reached)
    if a.shape[-2] > s.shape[-1]:
        beside = change @ v - u @ p
        found = found + undetermined(beside, columns[..., None, :]) @ H(v)
    if a.shape[-1] > s.shape[-1]:
        beside = H(change) @ u - v @ H(p)
        found = found + u @ H(undetermined(beside, columns[..., None, :]))
    return found


def _which(x: Any, cause: Any = None) -> Lost:
    """What forward rules lose where there is no gap: what is not rounding."""
    return lambda none: _matters(none, x, cause)


def equal(values: Any, gaps: Gaps = differences, *vectors: Any) -> Mask:
    """Which pairs of values have a gap that is nothing beside the largest value."""
    n = values.shape[-1]
    off = n * rounding(values, *vectors)
    none: Mask = np.abs(held(gaps(values))) <= off * largest(values[..., None])
    return none & ~identity(n)


def over_gaps(
    x: Any, gaps: Gaps, values: Any, lost: Lost, what: str, warn: Warn, *vectors: Any
) -> Any:
    """Divide x by the gaps between values, off the diagonal; some values may be repeated.

    Where a gap is nothing beside the largest value, the quotient is 0, or nan where `lost` says so
    of such places, of which `warn` is told.
    """
    none = equal(values, gaps, *vectors)
    which = lost(none) if np.any(none) else none
    on = identity(values.shape[-1])
    quotient = _quotient(x, gaps(values), none | on, which, f"{what} at repeated ones", warn)
    return quotient + undetermined(x, none) if carries(x) and np.any(none) else quotient


@partial(on_pairs, real=(True,))
def _still(v: Any, g: Any, *a: Any) -> Any:
    """Zeros, one for each column of v, if turning it by a factor of length 1 does nothing to g.

    The zeros are added to the cotangents of values, so programs ask this, too. Real vectors of a
    real matrix a have no such factor.
    """
    if not binding.is_deriving():
        turn = np.abs(np.sum(np.conj(v) * g, axis=-2).imag)
        if a and not np.any(np.imag(a[0])):
            turn = turn * np.any(np.imag(v) != 0.0, axis=-2)
        if np.any(turn > TURN * np.maximum(largest(g)[..., 0], NOUGHT)):
            raise NoDerivativeError(
                "what is differentiated depends on the phase of an eigenvector or of a singular "
                "vector, which is arbitrary: write it with what has the same value for each "
                "choice, such as abs(v)**2 or the projector np.outer(v, np.conj(v)), with all "
                "vectors from one call"
            )
    return np.zeros(v.shape[:-2] + v.shape[-1:])


# For a stack the kernel is not told that vectors of real matrices may be real.
_still.primitive.loop = lambda v, g, *a: (
    ("still_beside_of_pairs", int(len(binding.shape(v)) == 3)) if a else ("still_of_pairs", 0)
)
_still.defvjp(None, None, None)


def over_values(x: Any, values: Any, lost: Lost, what: str, warn: Warn, *vectors: Any) -> Any:
    """The columns of x divided by singular values; at those that are 0 as in `over_gaps`."""
    none = nought(values, *vectors)[..., None, :] & np.ones(x.shape, bool)
    which = lost(none) if np.any(none) else none
    quotient = _quotient(
        x, values[..., None, :], none, which, f"{what} at a singular value 0", warn
    )
    return quotient + undetermined(x, none) if carries(x) and np.any(none) else quotient


def nought(values: Any, *vectors: Any) -> Mask:
    """Which singular values are nothing beside the largest."""
    n = values.shape[-1]
    none: Mask = (
        held(values) <= n * rounding(values, *vectors) * largest(values[..., None])[..., 0]
    )
    return none


def _matters(none: Mask, x: Any, cause: Any = None) -> Mask:
    """Where that a gap is nothing matters: x is not nothing beside the largest of its cause."""
    tolerance = none.shape[-1] * TOLERANCE
    matters: Mask = ~(np.abs(held(x)) <= tolerance * largest(x if cause is None else cause))
    return none & matters


def _quotient(x: Any, y: Any, none: Mask, lost: Mask, what: str, warn: Warn) -> Any:
    quotient = where(none, 0.0, x / where(none, 1.0, y))
    if not np.any(lost):
        return quotient
    warn(f"the derivative of {what} does not exist: nan{INSTEAD}")
    return where(lost, np.nan, quotient)


@partial(on_matrices, real=(True, False))
def eigh(a: Any, *, lower: bool = True) -> Any:
    """Eigenvalues, and eigenvectors as columns, of a Hermitian matrix."""
    check_finite(a, triangle(a.shape[-1], lower))
    return tuple(np.linalg.eigh(a, UPLO="L" if lower else "U"))


def eigh_pull(ans: Any, a: Any, g: Any, lower: bool = True, **_: Any) -> Any:
    w, v = ans
    m = skew(H(v) @ g[1])
    along = g[0] + _still(v, g[1]) if is_complex_number(m) else g[0]

    def reached(none: Mask) -> Mask:
        return _reaches(none, touched(g[1]), g[0], w, v)

    middle = on_diagonal(along) + over_gaps(m, differences, w, reached, VECTORS, warn_nan, v)
    if carries(a):
        middle = middle + _coupled(w, g[0], lambda: touched(g[1]), a, v, lower)
    return folded(v @ middle @ H(v), lower)


def eigh_push(g: Any, ans: Any, a: Any, lower: bool = True, **_: Any) -> Any:
    w, v = ans
    m = H(v) @ mirrored(g, lower) @ v
    return real(diagonal(m)), v @ over_gaps(m, differences, w, _which(m), VECTORS, doubt)


eigh.calls_lapack(lapack.eigh)
eigh.defrules(eigh_pull, eigh_push, "...ij->...k,...lm", unread=(0,))


@partial(on_matrices, real=(True,))
def eigvalsh(a: Any, *, lower: bool = True) -> Any:
    """Eigenvalues of a Hermitian matrix."""
    return np.linalg.eigvalsh(a, UPLO="L" if lower else "U")


def values_pull(g: Any, a: Any, w: Any, v: Any, lower: bool = True) -> Any:
    """The cotangent of a Hermitian matrix by those of its eigenvalues w, and its eigenvectors."""
    found = outer_product(v * g[..., None, :], v)
    if carries(a):
        found = found + v @ _coupled(w, g, lambda: 0.0, a, v, lower) @ H(v)
    return folded(found, lower)


def values_push(g: Any, v: Any, lower: bool = True) -> Any:
    """The tangents of its eigenvalues."""
    return real(sum(conjugate(v) * (mirrored(g, lower) @ v), axis=-2))


eigvalsh.calls_lapack(lapack.eigvalsh)
eigvalsh.defrules(
    lambda ans, a, g, lower=True: values_pull(g, a, ans, eigh(a, lower=lower)[1], lower),
    lambda g, ans, a, lower=True: values_push(g, eigh(a, lower=lower)[1], lower),
    "...ij->...k",
)


def only_real(x: Any) -> Any:
    """What NumPy answers, which since version 2.5 is complex always, of a real matrix."""
    if isinstance(x, tuple):
        return tuple(map(only_real, x))
    if np.any(np.imag(x) != 0.0):
        raise ComplexResultError("the eigenvalues of this matrix are complex")
    return np.ascontiguousarray(np.real(x))


@partial(on_matrices, real=(False, False), real_results=only_real)
def eig(a: Any) -> Any:
    """Eigenvalues, and eigenvectors as columns of length 1: real ones, if all are."""
    return tuple(np.linalg.eig(a))


def _along(v: Any, g: Any) -> Any:
    """The components of columns g along columns v."""
    return sum(conjugate(v) * g, axis=-2, keepdims=True)


def _by_basis(x: Any, v: Any, warn: Warn) -> Any:
    """What was found in the basis of eigenvectors v: nan if they are none, unless it is 0."""
    if binding.is_deriving() or not v.size:
        return x
    sizes = np.linalg.svd(held(v), compute_uv=False)
    lost = sizes[..., 0] * EPSILON > DEFECTIVE * sizes[..., -1]
    lost = lost & np.any(~(np.abs(held(x)) <= 0.0), axis=(-2, -1))
    if not np.any(lost):
        return x
    warn("the derivative of eigenvalues does not exist without a basis of eigenvectors: nan")
    return where(lost[..., None, None], np.nan, x)


def eig_pull(ans: Any, a: Any, g: Any) -> Any:
    w, v = ans
    along = g[0] + _still(v, g[1], a) if is_complex_number(v) else g[0]
    m = H(v) @ (g[1] - v * _along(v, g[1]))

    def reached(none: Mask) -> Mask:
        return _reaches(none, touched(g[1]), g[0], w, v) | (none & uneven(g[0]))

    turned = over_gaps(m, lambda x: conjugate(differences(x)), w, reached, VECTORS, warn_nan, v)
    middle = on_diagonal(along) + turned
    if carries(a):
        middle = middle + _coupled_in(w, g[0], lambda: touched(g[1]), a, v)
    return _by_basis(solve(H(v), middle @ H(v)), v, warn_nan)


def _moved(v: Any, g: Any) -> Any:
    """The tangent g in the basis of eigenvectors v; nan if they are no basis."""
    return _by_basis(solve(v, g @ v), v, doubt)


def _values_along(m: Any, w: Any, a: Any, v: Any) -> Any:
    """The tangents of eigenvalues, given that of the matrix in the basis of eigenvectors v."""
    if not carries(a):
        return diagonal(m)
    none = equal(w)
    if not np.any(none):
        return diagonal(m)
    coupled = none & _matters(none, m)
    return diagonal(m) + sum(_undetermined_in(coupled | T(coupled), a, v), axis=-1)


def eig_push(g: Any, ans: Any, a: Any) -> Any:
    w, v = ans
    m = _moved(v, g)
    dv = v @ over_gaps(m, differences, w, _which(m), VECTORS, doubt)
    return _values_along(m, w, a, v), dv - v * _along(v, dv)


eig.calls_lapack(lapack.eig)
eig.defrules(eig_pull, eig_push, "...ij->...k,...lm", unread=(0,))


@partial(on_matrices, real_results=only_real)
def eigvals(a: Any) -> Any:
    """Eigenvalues: real ones, if all those of a real matrix are."""
    return np.linalg.eigvals(a)


def _eigenvectors(a: Any, w: Any) -> Any:
    """Eigenvectors in the order of the eigenvalues w, which `eigvals` may have put otherwise."""
    values, v = eig(a)
    if not a.size:
        return v
    distances = np.abs(held(w)[..., :, None] - held(values)[..., None, :])
    order = np.argmin(distances, axis=-1)
    in_order = np.arange(a.shape[-1])
    if np.all(order == in_order):
        return v
    if np.any(np.sort(order, axis=-1) != in_order):
        plain = value(distances)
        for k in np.ndindex(order.shape[:-1]):
            order[k] = _pairs(plain[k])
    return v @ np.equal(in_order[:, None], order[..., None, :]).astype(float)


def _pairs(distances: Any) -> Any:
    """For each row another column, the least distance first."""
    rows = distances.copy()
    order = np.zeros(len(rows), dtype=int)
    for _ in range(len(rows)):
        i, j = np.unravel_index(np.argmin(rows), rows.shape)
        order[i] = j
        rows[i, :] = rows[:, j] = np.inf
    return order


def eigvals_pull(ans: Any, a: Any, g: Any) -> Any:
    v = _eigenvectors(a, ans)
    middle = g[..., :, None] * H(v)
    if not carries(a):
        lost = equal(ans) & uneven(g)
        if np.any(lost):
            warn_nan("the derivative of single ones of equal eigenvalues does not exist: nan")
            middle = middle + on_diagonal(where(np.any(lost, axis=-1), np.nan, 0.0)) @ H(v)
    else:
        middle = middle + _coupled_in(ans, g, lambda: 0.0, a, v) @ H(v)
    return _by_basis(solve(H(v), middle), v, warn_nan)


def eigvals_push(g: Any, ans: Any, a: Any) -> Any:
    v = _eigenvectors(a, ans)
    return _values_along(_moved(v, g), ans, a, v)


eigvals.calls_lapack(lapack.eigvals)
eigvals.defrules(eigvals_pull, eigvals_push, "...ij->...k")


@partial(on_matrices, real=(False, True, False))
def svd(a: Any, *, full: bool = False) -> Any:
    """Singular vectors u, singular values s, and singular vectors vh, as rows.

    If full, u and vh are square. Which basis of the rest they have is arbitrary; its derivative is
    the one without rotations within that space.
    """
    check_finite(a)
    return tuple(np.linalg.svd(a, full_matrices=full))


def signs(s: Any) -> Any:
    """The derivative of the absolute value that a singular value is: 0 at 0."""
    return (held(s) > 0.0).astype(float)


def _by_values(g: Any, s: Any, with_vectors: Any, is_square: bool, *vectors: Any) -> Any:
    """The cotangents of singular values that turn into those of the matrix.

    By itself a singular value 0 is an absolute value at its kink. With its vectors, one of which
    changes sign as it goes through 0, it is smooth, if the matrix is square; but several of them
    are not, nor is one that is the length of what several rows or columns have beside the others.
    """
    none = nought(s, *vectors)
    if not np.any(none):
        return g
    reached = largest(with_vectors)[..., 0] > 0.0
    g = where(reached, g, g * signs(s))
    lost = (
        none
        & reached
        & (np.abs(held(g)) > s.shape[-1] * TOLERANCE * largest(g[..., None])[..., 0])
    )
    if is_square:
        lost = lost & (np.sum(none, axis=-1, keepdims=True) > 1)
    if np.any(lost):
        which = "several singular values 0" if is_square else "a singular value 0"
        warn_nan(f"the derivative of {SINGULAR} at {which} does not exist: nan")
        return where(lost, np.nan, g)
    return g


# With p = H(u) da v, and skew-Hermitian du = u k, dv = v l:  p = k s + ds - s l. The sum and the
# difference of this equation and its adjoint give k + l and k - l, with no squares to cancel:
# (k + l) (s[j] - s[i]) = p + H(p),  (k - l) (s[j] + s[i]) = p - H(p). On the diagonal k - l is
# i imag(p) / s, how u turns against v; that both turn together means nothing, and k + l = 0 there.


def svd_pull(ans: Any, a: Any, g: Any, full: bool = False, **_: Any) -> Any:
    s, whole = ans[1], H(ans[2])
    k = s.shape[-1]
    rows, columns = a.shape[-2:]
    u, v = ans[0][..., :k], whole[..., :k]
    gu, gv = leading(g[0], ans[0], k), leading(H(g[2]), whole, k)
    mu, mv = H(u) @ gu, H(v) @ gv
    ku, kv = skew(mu), skew(mv)
    one = ku - kv

    def sizes() -> Any:
        return touched(gu) + touched(gv)

    def reached(none: Mask) -> Mask:
        return _reaches(none, sizes(), g[1], s, u, v)

    def left(x: Any) -> Any:
        lost = partial(_leaves, x, g[1], s, (u, v), sizes())
        return over_values(x, s, lost, SINGULAR, warn_nan, u, v)

    middle = on_diagonal(_by_values(g[1], s, sizes(), rows == columns, u, v))
    middle = middle + over_gaps(ku + kv, differences, s, reached, SINGULAR, warn_nan, u, v)
    middle = middle + over_gaps(one, sums, s, reached, SINGULAR, warn_nan, u, v)
    if is_complex_number(one):
        both = concatenate([u, v], axis=-2), concatenate([gu, gv], axis=-2)
        middle = middle + on_diagonal(_still(*both)) + 0.5 * left(_turns(one))
    result = u @ middle @ H(v)
    if rows > k:
        result = result + left(gu - u @ mu) @ H(v)
    if columns > k:
        result = result + u @ H(left(gv - v @ mv))
    return result + _coupled_by_svd(s, g[1], sizes, a, u, v) if carries(a) else result


def _apart(g: Any, u: Any, s: Any, v: Any, a: Any, p: Any) -> tuple[Any, Any, Any]:
    """How u and v turn against each other along g, and what leaves the columns of each."""
    right, left = g @ v, H(g) @ u
    minus = p - H(p)
    one = over_gaps(minus, sums, s, _which(minus), SINGULAR, doubt)
    if is_complex_number(one):
        turns = _turns(p)
        one = one + over_values(turns, s, _which(turns, p), SINGULAR, doubt)
    du = dv = 0.0
    if a.shape[-2] > u.shape[-1]:
        beside = right - u @ p
        du = over_values(beside, s, _which(beside, right), SINGULAR, doubt)
    if a.shape[-1] > u.shape[-1]:
        beside = left - v @ H(p)
        dv = over_values(beside, s, _which(beside, left), SINGULAR, doubt)
    return one, du, dv


def svd_push(g: Any, ans: Any, a: Any, full: bool = False, **_: Any) -> Any:
    s, whole = ans[1], H(ans[2])
    k = s.shape[-1]
    u, v = ans[0][..., :k], whole[..., :k]
    p = H(u) @ g @ v
    one, du, dv = _apart(g, u, s, v, a, p)
    plus = p + H(p)
    both = over_gaps(plus, differences, s, _which(plus), SINGULAR, doubt)
    du, dv = 0.5 * (u @ (both + one)) + du, 0.5 * (v @ (both - one)) + dv
    return completed(du, ans[0]), real(diagonal(p)) * signs(s), H(completed(dv, whole))


def _turns(m: Any) -> Any:
    """The imaginary part of the diagonal, in a matrix."""
    return on_diagonal(1j * imag(diagonal(m)))


svd.calls_lapack(lapack.svd)
svd.defrules(svd_pull, svd_push, "...ij->...kl,...m,...no", unread=(0,))


@partial(on_matrices, real=(True,))
def svdvals(a: Any) -> Any:
    """Singular values, from the largest to the smallest."""
    return np.linalg.svd(a, compute_uv=False)


def _svdvals_pull(ans: Any, a: Any, g: Any) -> Any:
    u, s, vh = svd(a)
    result = (u * (g * signs(ans))[..., None, :]) @ vh
    return result + _coupled_by_svd(s, g, lambda: 0.0, a, u, H(vh)) if carries(a) else result


def _svdvals_push(g: Any, ans: Any, a: Any) -> Any:
    u, _, vh = svd(a)
    return real(sum(conjugate(u) * (g @ H(vh)), axis=-2)) * signs(ans)


svdvals.calls_lapack(lapack.svdvals)
svdvals.defrules(_svdvals_pull, _svdvals_push, "...ij->...k")


# The sum of singular values is smooth where some are equal, which have no vectors of their own: it
# changes by the inner product with u @ vh, and that by how u and v turn against each other.


@partial(on_matrices, real=(True,), called="norm")
def nuclear(a: Any) -> Any:
    """The sum of singular values."""
    return np.sum(np.linalg.svd(a, compute_uv=False), axis=-1)


@partial(on_matrices, called="norm")
def _direction(a: Any) -> Any:
    """The gradient of that sum: u @ vh, without the singular values 0."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u * signs(s)[..., None, :]) @ vh


def _direction_along(a: Any, g: Any) -> Any:
    u, s, vh = svd(a)
    v = H(vh)
    one, du, dv = _apart(g, u, s, v, a, H(u) @ g @ v)
    return (u @ one + du) @ vh + u @ H(dv + 0.0 * v)


nuclear.defvjp(lambda ans, a: lambda g: scalars(g, a) * _direction(a))
nuclear.defjvp(lambda g, ans, a: real(inner(conjugate(_direction(a)), g)))
nuclear.defpattern("...ij->...")
_direction.defvjp(lambda ans, a: lambda g: _direction_along(a, g))
_direction.defjvp(lambda g, ans, a: _direction_along(a, g))
_direction.defpattern("...ij->...kl")
