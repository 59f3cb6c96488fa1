"""Inverses and factorisations of matrices, with their derivatives.

Each primitive takes float matrices, or stacks of them with equal leading dimensions, and calls
NumPy or the kernels of the core. The rules use what the primitive computed, and solve with it
rather than invert. Where they are written down:

    Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
        differentiation" (2008): solve, inv, det, eig, svd
    Murray, "Differentiation of the Cholesky decomposition" (2016)
    Walter and Lehmann, "Algorithmic differentiation of linear algebra functions with application
        in optimum experimental design" (2010): qr, eigh
    Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
        whose variables separate" (1973): pinv, lstsq

A function that reads one triangle of a symmetric matrix has derivatives by the elements of that
triangle alone. This module knows matrices only; how NumPy's functions are called is for `linalg`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import strip as value
from ..operations.arrays import concatenate, reshape, stack, sum, swapaxes
from ..operations.complexes import conjugate
from ..operations.dispatch import carries
from ..operations.guards import held
from ..operations.primitives import doubt, primitive, warn_nan
from ..operations.table import where

Mask = NDArray[np.bool_]
Warn = Callable[[str], None]

EPSILON = float(np.finfo(float).eps)


# --- parts of matrices ---------------------------------------------------------------------------


def T(x: Any) -> Any:  # noqa: N802 - as in every formula
    """The transposed matrix, or each of a stack."""
    return x.swapaxes(-1, -2) if type(x) is np.ndarray else swapaxes(x, -1, -2)


def H(x: Any) -> Any:  # noqa: N802 - as in every formula
    """The adjoint matrix, or each of a stack: of real ones the transposed."""
    return T(conjugate(x)) if binding.is_complex_number(x) else T(x)


def outer_product(x: Any, y: Any) -> Any:
    """The product of x and y transposed; of vectors without BLAS, which does not expect them."""
    return x * T(y) if x.shape[-1] == 1 else x @ T(y)


@lru_cache(maxsize=8)
def triangle(n: int, lower: bool = True, strict: bool = False) -> Mask:
    """Where the lower (or upper) triangle of a square matrix is."""
    below = np.tri(n, k=-1 if lower == strict else 0, dtype=bool)
    return _constant(below if lower else ~below)


@lru_cache(maxsize=8)
def identity(n: int) -> Mask:
    """Where the diagonal of a square matrix is."""
    return _constant(np.eye(n, dtype=bool))


def _constant(mask: Mask) -> Mask:
    mask.setflags(write=False)
    return mask


def part(x: Any, mask: Mask) -> Any:
    """The elements of x in the mask, and 0 elsewhere."""
    return where(mask, x, 0.0)


def diagonal(x: Any) -> Any:
    """The diagonal of each matrix."""
    n = min(x.shape[-2:])
    return x[..., np.arange(n), np.arange(n)]


def on_diagonal(x: Any) -> Any:
    """The matrix with x on its diagonal."""
    return where(identity(x.shape[-1]), x[..., None], 0.0)


def mirrored(x: Any, lower: bool = True) -> Any:
    """The symmetric matrix of which x has the lower (or upper) triangle."""
    return where(triangle(x.shape[-1], lower), x, T(x))


def folded(x: Any, lower: bool = True) -> Any:
    """What a symmetric cotangent is to the elements of one triangle: adjoint to `mirrored`."""
    n = x.shape[-1]
    return where(triangle(n, lower, strict=True), 2.0 * x, part(x, identity(n)))


def symmetric(x: Any) -> Any:
    """The symmetric part."""
    return 0.5 * (x + T(x))


def skew(x: Any) -> Any:
    """The skew-symmetric part."""
    return 0.5 * (x - T(x))


def scalars(x: Any, matrices: Any) -> Any:
    """One number for each matrix of a stack, so that it multiplies the matrix."""
    return x if matrices.ndim == 2 else reshape(x, (*matrices.shape[:-2], 1, 1))


def cross(x: Any, y: Any) -> Any:
    """The cross products of vectors along the last axis."""
    right, left = [1, 2, 0], [2, 0, 1]
    return x[..., right] * y[..., left] - x[..., left] * y[..., right]


def inner(x: Any, y: Any) -> Any:
    """The sum of the products of the elements of two matrices."""
    return sum(x * y, axis=(-2, -1))


# --- systems of equations ------------------------------------------------------------------------


@primitive
def solve_triangle(
    t: Any, b: Any, lower: bool, unit: bool = False, transposed: bool = False
) -> Any:
    """The solution x of t @ x = b, or of t.T @ x = b, for a triangular t.

    The other triangle is not read, and neither is the diagonal if it is `unit`: it is 1 then.
    """
    return binding.solve_triangle(t, b, lower, unit, transposed)


def _triangle_pulls(
    ans: Any, t: Any, b: Any, lower: bool, unit: bool = False, transposed: bool = False
) -> Callable[[Any], tuple[Any, Any]]:
    def pulls(g: Any) -> tuple[Any, Any]:
        y = solve_triangle(t, g, lower, unit, not transposed)
        product = outer_product(ans, -y) if transposed else outer_product(-y, ans)
        return part(product, triangle(t.shape[-1], lower, strict=unit)), y

    return pulls


def _triangle_push(
    g: Any, ans: Any, t: Any, b: Any, lower: bool, unit: bool = False, transposed: bool = False
) -> Any:
    change = part(g, triangle(t.shape[-1], lower, strict=unit))
    change = (T(change) if transposed else change) @ ans
    return -solve_triangle(t, change, lower, unit, transposed)


solve_triangle.defvjp(
    lambda ans, *args: lambda g: _triangle_pulls(ans, *args)(g)[0],
    lambda ans, t, b, lower, unit=False, transposed=False: (
        lambda g: solve_triangle(t, g, lower, unit, not transposed)
    ),
)
solve_triangle.defjvp(
    _triangle_push,
    lambda g, ans, t, b, *how: solve_triangle(t, g, *how),
)
solve_triangle.defpattern("...ij->...kl", "...kj->...ij")
solve_triangle.together = _triangle_pulls
solve_triangle.unread = (1,)


@primitive
def cho_solve(c: Any, b: Any, lower: bool) -> Any:
    """The solution x of a @ x = b for a = c @ c.T, or c.T @ c unless `lower`."""
    half = binding.solve_triangle(c, b, lower, False, not lower)
    return binding.solve_triangle(c, half, lower, False, lower)


def _cho_pulls(ans: Any, c: Any, b: Any, lower: bool) -> Callable[[Any], tuple[Any, Any]]:
    def halves(x: Any) -> Any:
        return solve_triangle(c, x, lower, False, not lower)

    def pulls(g: Any) -> tuple[Any, Any]:
        right, left = halves(b), halves(g)
        y = solve_triangle(c, left, lower, False, lower)
        product = outer_product(y, -right) + outer_product(ans, -left)
        return part(product if lower else T(product), triangle(c.shape[-1], lower)), y

    return pulls


def _cho_push(g: Any, ans: Any, c: Any, b: Any, lower: bool) -> Any:
    right = solve_triangle(c, b, lower, False, not lower)
    g = part(g, triangle(c.shape[-1], lower))
    g = g if lower else T(g)
    moved = solve_triangle(c, g @ right, lower, False, not lower) + T(g) @ ans
    return -solve_triangle(c, moved, lower, False, lower)


cho_solve.defvjp(
    lambda ans, c, b, lower: lambda g: _cho_pulls(ans, c, b, lower)(g)[0],
    lambda ans, c, b, lower: lambda g: cho_solve(c, g, lower),
)
cho_solve.defjvp(_cho_push, lambda g, ans, c, b, lower: cho_solve(c, g, lower))
cho_solve.defpattern("...ij->...kl", "...kj->...ij")
cho_solve.together = _cho_pulls


@primitive
def _lu(a: Any) -> Any:
    """The factors of a matrix whose rows are exchanged, and their order; without derivatives."""
    return binding.factor_lu(a)


_lu.defvjp(None)
_lu.defjvp(None)


@primitive
def _solve_factored(a: Any, b: Any, lu: Any, order: Any, transposed: bool) -> Any:
    """The solution of a @ x = b, or of a.T @ x = b, by the factors of a, which are its values."""
    return binding.solve_factored(lu, order, b, transposed)


def _factored_pulls(
    ans: Any, a: Any, b: Any, lu: Any, order: Any, transposed: bool
) -> Callable[[Any], tuple[Any, Any]]:
    def pulls(g: Any) -> tuple[Any, Any]:
        y = _solve_factored(a, g, lu, order, not transposed)
        return outer_product(ans, -y) if transposed else outer_product(-y, ans), y

    return pulls


_solve_factored.called = "solve"
_solve_factored.defvjp(
    lambda ans, *args: lambda g: _factored_pulls(ans, *args)(g)[0],
    lambda ans, a, b, lu, order, transposed: (
        lambda g: _solve_factored(a, g, lu, order, not transposed)
    ),
    None,
    None,
)
_solve_factored.defjvp(
    lambda g, ans, a, b, lu, order, transposed: (
        -_solve_factored(a, (T(g) if transposed else g) @ ans, lu, order, transposed)
    ),
    lambda g, ans, a, b, *factors: _solve_factored(a, g, *factors),
    None,
    None,
)
_solve_factored.defpattern("...ij->...kl", "...kj->...ij")
_solve_factored.together = _factored_pulls
_solve_factored.unread = (0, 1)


def by_factors(a: Any, b: Any, transposed: bool) -> Any:
    """As `_solve_factored`: whatever derivatives this has need no more factors."""
    return _solve_factored(a, b, *_lu(held(a)), transposed)


@primitive
def solve(a: Any, b: Any) -> Any:
    """The solution x of a @ x = b, for matrices b."""
    return np.linalg.solve(a, b)


def _solve_pulls(ans: Any, a: Any, b: Any) -> Callable[[Any], tuple[Any, Any]]:
    def pulls(g: Any) -> tuple[Any, Any]:
        y = by_factors(a, g, True)
        return outer_product(-y, ans), y

    return pulls


solve.defvjp(
    lambda ans, a, b: lambda g: _solve_pulls(ans, a, b)(g)[0],
    lambda ans, a, b: lambda g: by_factors(a, g, True),
)
solve.defjvp(
    lambda g, ans, a, b: -by_factors(a, g @ ans, False),
    lambda g, ans, a, b: by_factors(a, g, False),
)
solve.defpattern("...ij->...kl", "...kj->...ij")
solve.together = _solve_pulls
solve.unread = (1,)


@primitive
def inv(a: Any) -> Any:
    """The inverse matrix."""
    return np.linalg.inv(a)


inv.defvjp(lambda ans, a: lambda g: -(T(ans) @ g @ T(ans)))
inv.defjvp(lambda g, ans, a: -(ans @ g @ ans))
inv.defpattern("...ij->...kl")
inv.unread = (0,)


@primitive
def _inverse_transposed(a: Any, lu: Any, order: Any) -> Any:
    """The transposed inverse matrix, by the factors of a."""
    return binding.inverse_transposed(lu, order)


_inverse_transposed.called = "inv"
_inverse_transposed.defvjp(lambda ans, a, *_: lambda g: -(ans @ T(g) @ ans), None, None)
_inverse_transposed.defjvp(lambda g, ans, a, *_: -(ans @ T(g) @ ans), None, None)
_inverse_transposed.defpattern("...ij->...kl")
_inverse_transposed.unread = (0,)


# --- determinants --------------------------------------------------------------------------------

# The condition (in the 1-norm) up to which cofactors are taken from the inverse. In themselves
# they are accurate that way, since the smallest pivot's error is in the determinant, too, and
# cancels; but each further derivative costs as many digits as the condition has.
CONDITION = 1.0 / EPSILON
CONDITION_DIFFERENTIATED = 1e4


@primitive
def det(a: Any) -> Any:
    """The determinant."""
    return np.linalg.det(a)


@primitive
def _det_factored(a: Any, lu: Any, order: Any) -> Any:
    """The determinant by the factors of a."""
    return binding.determinant(lu, order)


for _det, _others in ((det, ()), (_det_factored, (None, None))):
    _det.defvjp(lambda ans, a, *factors: lambda g: scalars(g, a) * cofactors(a), *_others)
    _det.defjvp(lambda g, ans, a, *factors: inner(cofactors(a), g), *_others)
    _det.defpattern("...ij->...")


def cofactors(a: Any) -> Any:
    """The matrix of cofactors, the gradient of the determinant, of singular matrices too."""
    if a.shape[-1] <= 3:
        return _cofactors_of_few(a)
    factors = _lu(held(a))
    try:
        inverse = _inverse_transposed(a, *factors)
    except np.linalg.LinAlgError:
        return _each(_cofactors_by_rotation, a)
    condition = _norm1(held(a)) * _norm1(T(held(inverse)))
    limit = CONDITION_DIFFERENTIATED if carries(a) else CONDITION
    if np.any(condition > limit):
        return _each(_cofactors_by_rotation, a)
    return scalars(_det_factored(a, *factors), a) * inverse


def _cofactors_of_few(a: Any) -> Any:
    """The cofactors of up to three rows, as polynomials."""
    if a.shape[-1] == 3:
        return cross(a[..., [1, 2, 0], :], a[..., [2, 0, 1], :])
    if a.shape[-1] == 2:
        return a[..., ::-1, ::-1] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return np.ones(a.shape)


def _norm1(a: Any) -> Any:
    return np.abs(a).sum(axis=-2).max(axis=-1, initial=0.0)


def _each(function: Callable[[Any], Any], a: Any) -> Any:
    """A function of one matrix, applied to each of a stack."""
    items = reshape(a, (-1, *a.shape[-2:]))
    return reshape(stack([function(items[k]) for k in range(len(items))]), a.shape)


def _cofactors_by_rotation(a: Any) -> Any:
    """The cofactors by way of the singular vectors, which are held constant.

    With a = u b vh the cofactors of a are det(u vh) u cofactors(b) vh, for whatever b: derivatives
    of any order come from b, which itself is diagonal.
    """
    if not np.all(np.isfinite(value(a))):
        return a * np.nan
    u, s, vh = np.linalg.svd(value(a))
    adjugate, _ = _adjugate(u.T @ a @ vh.T, EPSILON * len(s) * s[0])
    return round(np.linalg.det(u) * np.linalg.det(vh)) * (u @ T(adjugate) @ vh)


def _adjugate(b: Any, noise: float, operations: Any = None) -> tuple[Any, Any]:
    """Adjugate and determinant of a matrix that is diagonal, largest first, but for derivatives.

    The leading elements of like size make a block that may be divided by; the rest is its Schur
    complement, whose adjugate is found in the same way. What is nought is never divided by.
    The operations are det, inv and solve.
    """
    det_, inv_, solve_ = operations or (det, inv, solve)
    sizes = np.abs(np.diagonal(value(b)))
    k = int(np.argmin(sizes >= 1e-2 * sizes[0])) or len(sizes)
    if sizes[0] <= noise or k == len(sizes) <= 2:
        return _adjugate_polynomial(b)
    head = b[:k, :k]
    if k == len(sizes):
        determinant = det_(head)
        return determinant * inv_(head), determinant
    right = solve_(head, b[:k, k:])
    left = T(solve_(T(head), T(b[k:, :k])))
    adjugate, rest = _adjugate(b[k:, k:] - b[k:, :k] @ right, noise, operations)
    rows = (
        concatenate([rest * inv_(head) + right @ adjugate @ left, -(right @ adjugate)], axis=1),
        concatenate([-(adjugate @ left), adjugate], axis=1),
    )
    factor = det_(head)
    return factor * concatenate(rows, axis=0), factor * rest


def _adjugate_polynomial(b: Any) -> tuple[Any, Any]:
    """Adjugate and determinant without any division, by the method of Faddeev and Le Verrier.

    Gantmacher, The Theory of Matrices (1959), chapter IV, section 5. As polynomials they have
    derivatives of all orders at 0; for large matrices elsewhere cancellation would spoil them.
    """
    n = b.shape[-1]
    adjugate: Any = np.eye(n)
    for k in range(1, n):
        product = b @ adjugate
        adjugate = on_diagonal(sum(diagonal(product)) / k * np.ones(n)) - product
    return adjugate, sum(diagonal(b @ adjugate)) / n


@primitive
def slogdet(a: Any) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value."""
    return tuple(np.linalg.slogdet(a))


slogdet.defvjp(lambda ans, a: lambda g: scalars(g[1], a) * _inverse_transposed(a, *_lu(held(a))))
slogdet.defjvp(
    lambda g, ans, a: (
        np.zeros(a.shape[:-2]),
        inner(_inverse_transposed(a, *_lu(held(a))), g),
    )
)
slogdet.defpattern("...ij->...,...")


# --- cholesky, qr --------------------------------------------------------------------------------


@primitive
def cholesky(a: Any, upper: bool = False) -> Any:
    """The lower triangle l with a = l @ l.T, or the upper one u with a = u.T @ u."""
    return np.linalg.cholesky(a, upper=upper)


# With the operator P, which takes the lower triangle and half of the diagonal, and the symmetric t
# of which the lower triangle is given,
#
#     along(low, t) = low P(m),  m = inv(low) t inv(low).T
#
# and `back` is its transposed: both are found in blocks by the core. They are linear in t and g.
# By the factor, their derivatives follow from this formula: along a change d, m changes by what
# -(d inv(low) t + its transposed) has in the place of t.


@primitive
def _cholesky_back(low: Any, g: Any) -> Any:
    """The cotangent of the lower triangle of a = low @ low.T, given that of the factor low."""
    return binding.cholesky_pull(low, g)


@primitive
def _cholesky_along(low: Any, t: Any) -> Any:
    """The tangent of the factor low, given that of the lower triangle of a = low @ low.T."""
    return binding.cholesky_push(low, t)


def _lower(x: Any) -> Any:
    return part(x, triangle(x.shape[-1]))


def _back_pull(ans: Any, low: Any, g: Any) -> Callable[[Any], Any]:
    def pull(h: Any) -> Any:
        right = T(solve_triangle(low, mirrored(h), True))
        moved = solve_triangle(low, _cholesky_along(low, h), True)
        return _lower(outer_product(g, moved) - 2.0 * (symmetric(ans) @ right))

    return pull


def _back_push(t: Any, ans: Any, low: Any, g: Any) -> Any:
    t = T(_lower(t))
    moved = solve_triangle(low, t @ g, True, False, True)
    both = solve_triangle(low, t @ symmetric(ans), True, False, True)
    return _cholesky_back(low, moved) - folded(both + T(both))


def _along_pull(ans: Any, low: Any, t: Any) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        moved, left = solve_triangle(low, ans, True), solve_triangle(low, mirrored(t), True)
        back = symmetric(_cholesky_back(low, g))
        return _lower(outer_product(g, moved) - 2.0 * outer_product(back, left))

    return pull


def _along_push(g: Any, ans: Any, low: Any, t: Any) -> Any:
    g = _lower(g)
    moved, left = solve_triangle(low, ans, True), g @ solve_triangle(low, mirrored(t), True)
    return g @ moved - _cholesky_along(low, left + T(left))


_cholesky_back.called = _cholesky_along.called = "cholesky"
_cholesky_back.defvjp(_back_pull, lambda ans, low, g: lambda h: _cholesky_along(low, h))
_cholesky_back.defjvp(_back_push, lambda t, ans, low, g: _cholesky_back(low, t))
_cholesky_along.defvjp(_along_pull, lambda ans, low, t: lambda g: _cholesky_back(low, g))
_cholesky_along.defjvp(_along_push, lambda g, ans, low, t: _cholesky_along(low, g))
_cholesky_back.defpattern("...ij->...kl", "...ij->...kl")
_cholesky_along.defpattern("...ij->...kl", "...ij->...kl")


def _cholesky_pull(ans: Any, a: Any, upper: bool = False) -> Callable[[Any], Any]:
    if upper:
        return lambda g: T(_cholesky_back(T(ans), T(g)))
    return lambda g: _cholesky_back(ans, g)


def _cholesky_push(g: Any, ans: Any, a: Any, upper: bool = False) -> Any:
    return T(_cholesky_along(T(ans), T(g))) if upper else _cholesky_along(ans, g)


cholesky.defvjp(_cholesky_pull)
cholesky.defjvp(_cholesky_push)
cholesky.defpattern("...ij->...kl")
cholesky.unread = (0,)


@primitive
def qr(a: Any, complete: bool = False) -> Any:
    """The factors q and r of a matrix with at least as many rows as columns.

    If complete, q is square: it has a basis of what the columns of a do not span as well. Any
    such basis would do; its derivative is the one without rotations within that space.
    """
    return tuple(np.linalg.qr(a, mode="complete" if complete else "reduced"))


def _independent(r: Any) -> None:
    """Refuse a triangle that says that a column is a combination of those before it."""
    r = held(r)
    sizes = np.linalg.norm(r, axis=-2)
    if np.any(np.abs(diagonal(r)) <= EPSILON * r.shape[-1] * sizes):
        raise np.linalg.LinAlgError(
            "the qr factors of a matrix with linearly dependent columns have no derivative"
        )


def _qr_pull(ans: Any, a: Any, complete: bool = False) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        n = a.shape[-1]
        gq, q = _leading(g[0], ans[0], n), ans[0][..., :n]
        gr, r = g[1][..., :n, :], ans[1][..., :n, :]
        _independent(r)
        middle = mirrored(outer_product(r, gr) - T(gq) @ q)
        return T(solve_triangle(r, T(gq + q @ middle), False))

    return pull


def _qr_push(g: Any, ans: Any, a: Any, complete: bool = False) -> Any:
    n = a.shape[-1]
    q, r = ans[0][..., :n], ans[1][..., :n, :]
    _independent(r)
    quotient = T(solve_triangle(r, T(g), False, False, True))
    inside = T(q) @ quotient
    change = part(inside + T(part(inside, triangle(n, strict=True))), triangle(n, lower=False))
    return _completed(quotient - q @ change, ans[0]), _padded(change @ r, ans[1])


qr.defvjp(_qr_pull)
qr.defjvp(_qr_push)
qr.defpattern("...ij->...kl,...mn")
qr.unread = (0,)


# Orthogonal matrices whose first columns are determined, while the others complete the basis: u2
# moves as far as it must to stay orthogonal to u1, du2 = -u1 H(du1) u2.


def _leading(g: Any, u: Any, k: int) -> Any:
    """The cotangent of the first k columns of u, given that of all."""
    if u.shape[-1] == k:
        return g
    u1, u2 = u[..., :k], u[..., k:]
    return g[..., :k] - u2 @ (H(g[..., k:]) @ u1)


def _completed(du1: Any, u: Any) -> Any:
    """The tangent of all columns of u, given that of the first ones."""
    k = du1.shape[-1]
    if u.shape[-1] == k:
        return du1
    u1, u2 = u[..., :k], u[..., k:]
    return concatenate([du1, -(u1 @ (H(du1) @ u2))], axis=-1)


def _padded(x: Any, like: Any) -> Any:
    """The matrix x with rows of zeros below."""
    rows = like.shape[-2] - x.shape[-2]
    if not rows:
        return x
    return concatenate([x, np.zeros((*x.shape[:-2], rows, x.shape[-1]))], axis=-2)


# --- eigenvalues and singular values -------------------------------------------------------------


TOLERANCE = 4.0 * EPSILON  # times n and the largest: what LAPACK's eigenvalues may be off


def differences(x: Any) -> Any:
    """The matrix of x[j] - x[i]."""
    return x[..., None, :] - x[..., :, None]


def largest(x: Any) -> Any:
    """The largest absolute value in each matrix of a stack."""
    return np.max(np.abs(held(x)), axis=(-2, -1), initial=0.0, keepdims=True)


def touched(g: Any) -> Any:
    """For each pair of columns, whether there is a cotangent of either: 0 if not."""
    sizes = np.max(np.abs(held(g)), axis=-2, initial=0.0)
    return sizes[..., :, None] + sizes[..., None, :]


def over_gaps(x: Any, gaps: Any, values: Any, cause: Any, what: str, warn: Warn) -> Any:
    """Divide x by the gaps between values, off the diagonal; some values may be repeated.

    Where a gap is nothing beside the largest value, the quotient is 0 if cause is 0 there, so that
    nothing depends on it; otherwise nan, of which `warn` is told.
    """
    n = gaps.shape[-1]
    on = identity(n)
    none = np.abs(held(gaps)) <= n * TOLERANCE * largest(values[..., None])
    lost = _matters(none & ~on, cause)
    return _quotient(x, gaps, none | on, lost, f"{what} at repeated ones", warn)


def over_values(x: Any, values: Any, cause: Any, what: str, warn: Warn) -> Any:
    """The columns of x divided by singular values; at those that are 0 as in `over_gaps`."""
    n = x.shape[-1]
    none = held(values)[..., None, :] <= n * TOLERANCE * largest(values[..., None])
    lost = _matters(none, x, cause)
    return _quotient(x, values[..., None, :], none, lost, f"{what} at a singular value 0", warn)


def _matters(none: Any, x: Any, cause: Any = None) -> Any:
    """Where that a gap is nothing matters: x is not nothing beside the largest of its cause."""
    if not np.any(none):
        return none
    tolerance = none.shape[-1] * TOLERANCE
    matters: Mask = np.abs(held(x)) > tolerance * largest(x if cause is None else cause)
    return none & matters


def _quotient(x: Any, y: Any, none: Mask, lost: Mask, what: str, warn: Warn) -> Any:
    quotient = where(none, 0.0, x / where(none, 1.0, y))
    if not np.any(lost):
        return quotient
    warn(f"the derivative of {what} does not exist: nan")
    return where(lost, np.nan, quotient)


@primitive
def eigh(a: Any, lower: bool = True) -> Any:
    """Eigenvalues, and eigenvectors as columns, of a symmetric matrix."""
    return tuple(np.linalg.eigh(a, UPLO="L" if lower else "U"))


def eigh_pull(ans: Any, a: Any, lower: bool = True) -> Callable[[Any], Any]:
    w, v = ans

    def pull(g: Any) -> Any:
        m = T(v) @ g[1]
        turned = over_gaps(skew(m), differences(w), w, touched(g[1]), "eigenvectors", warn_nan)
        return folded(v @ (on_diagonal(g[0]) + turned) @ T(v), lower)

    return pull


def eigh_push(g: Any, ans: Any, a: Any, lower: bool = True) -> Any:
    w, v = ans
    m = T(v) @ mirrored(g, lower) @ v
    return diagonal(m), v @ over_gaps(m, differences(w), w, m, "eigenvectors", doubt)


eigh.defvjp(eigh_pull)
eigh.defjvp(eigh_push)
eigh.defpattern("...ij->...k,...lm")
eigh.unread = (0,)


@primitive
def eigvalsh(a: Any, lower: bool = True) -> Any:
    """Eigenvalues of a symmetric matrix."""
    return np.linalg.eigvalsh(a, UPLO="L" if lower else "U")


def _eigvalsh_pull(ans: Any, a: Any, lower: bool = True) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        _, v = eigh(a, lower=lower)
        return folded(outer_product(v * g[..., None, :], v), lower)

    return pull


def _eigvalsh_push(g: Any, ans: Any, a: Any, lower: bool = True) -> Any:
    _, v = eigh(a, lower=lower)
    return sum(v * (mirrored(g, lower) @ v), axis=-2)


eigvalsh.defvjp(_eigvalsh_pull)
eigvalsh.defjvp(_eigvalsh_push)
eigvalsh.defpattern("...ij->...k")


class ComplexResultError(TypeError):
    """A result is complex that was to be a real one."""


def _real(x: Any) -> Any:
    """What NumPy answers, which since version 2.5 is complex always."""
    if np.any(np.imag(x) != 0.0):
        raise ComplexResultError("the eigenvalues of this matrix are complex")
    return np.ascontiguousarray(np.real(x))


@primitive
def eig(a: Any) -> Any:
    """Eigenvalues, and eigenvectors as columns of length 1, of a matrix that has real ones."""
    return tuple(map(_real, np.linalg.eig(a)))


def _eig_pull(ans: Any, a: Any) -> Callable[[Any], Any]:
    w, v = ans

    def pull(g: Any) -> Any:
        m = T(v) @ (g[1] - v * sum(v * g[1], axis=-2, keepdims=True))
        turned = over_gaps(m, differences(w), w, touched(g[1]), "eigenvectors", warn_nan)
        return solve(T(v), (on_diagonal(g[0]) + turned) @ T(v))

    return pull


def _eig_push(g: Any, ans: Any, a: Any) -> Any:
    w, v = ans
    m = solve(v, g @ v)
    dv = v @ over_gaps(m, differences(w), w, m, "eigenvectors", doubt)
    return diagonal(m), dv - v * sum(v * dv, axis=-2, keepdims=True)


eig.defvjp(_eig_pull)
eig.defjvp(_eig_push)
eig.defpattern("...ij->...k,...lm")


@primitive
def eigvals(a: Any) -> Any:
    """Eigenvalues of a matrix that has real ones."""
    return _real(np.linalg.eigvals(a))


def _eigenvectors(a: Any, w: Any) -> Any:
    """Eigenvectors in the order of the eigenvalues w, which `eigvals` may have put otherwise."""
    found, v = eig(a)
    rank = np.argsort(np.argsort(value(w), axis=-1), axis=-1)
    order = np.take_along_axis(np.argsort(value(found), axis=-1), rank, axis=-1)
    return v @ np.equal(np.arange(a.shape[-1])[:, None], order[..., None, :]).astype(float)


def _eigvals_pull(ans: Any, a: Any) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        left = T(_eigenvectors(a, ans))
        return solve(left, g[..., :, None] * left)

    return pull


def _eigvals_push(g: Any, ans: Any, a: Any) -> Any:
    v = _eigenvectors(a, ans)
    return diagonal(solve(v, g @ v))


eigvals.defvjp(_eigvals_pull)
eigvals.defjvp(_eigvals_push)
eigvals.defpattern("...ij->...k")


def check_finite(a: Any) -> None:
    """Raise LinAlgError for inf or nan, of which LAPACK may seek singular vectors for ever."""
    if not np.isfinite(np.add.reduce(a, None)) and not np.all(np.isfinite(a)):
        raise np.linalg.LinAlgError("SVD did not converge: there is inf or nan in the matrix")


@primitive
def svd(a: Any, full: bool = False) -> Any:
    """Singular vectors u, singular values s, and singular vectors vh, as rows.

    If full, u and vh are square. Which basis of the rest they have is arbitrary; its derivative is
    the one without rotations within that space.
    """
    check_finite(a)
    return tuple(np.linalg.svd(a, full_matrices=full))


def _signed(s: Any) -> Any:
    """The derivative of the absolute value that a singular value is: 0 at 0."""
    return (held(s) > 0.0).astype(float)


# With p = u.T da v, and skew-symmetric du = u k, dv = v l:  p = k s + ds - s l. The sum and the
# difference of this equation and its transpose give k + l and k - l, with no squares to cancel:
# (k + l) (s[j] - s[i]) = p + p.T,  (k - l) (s[j] + s[i]) = p - p.T.


def svd_pull(ans: Any, a: Any, full: bool = False) -> Callable[[Any], Any]:
    s = ans[1]
    k = s.shape[-1]
    rows, columns = a.shape[-2:]
    u, v = ans[0][..., :k], T(ans[2])[..., :k]

    def pull(g: Any) -> Any:
        gu, gv = _leading(g[0], ans[0], k), _leading(T(g[2]), T(ans[2]), k)
        mu, mv = T(u) @ gu, T(v) @ gv
        cause = touched(gu) + touched(gv)
        both, one = skew(mu) + skew(mv), skew(mu) - skew(mv)
        middle = on_diagonal(g[1] * _signed(s))
        middle = middle + over_gaps(both, differences(s), s, cause, "singular vectors", warn_nan)
        middle = middle + over_gaps(one, _sums(s), s, cause, "singular vectors", warn_nan)
        result = u @ middle @ T(v)
        if rows > k:
            result = result + over_values(gu - u @ mu, s, gu, "singular vectors", warn_nan) @ T(v)
        if columns > k:
            result = result + u @ T(over_values(gv - v @ mv, s, gv, "singular vectors", warn_nan))
        return result

    return pull


def svd_push(g: Any, ans: Any, a: Any, full: bool = False) -> Any:
    s = ans[1]
    k = s.shape[-1]
    u, v = ans[0][..., :k], T(ans[2])[..., :k]
    right, left = g @ v, T(g) @ u
    p = T(u) @ right
    both = over_gaps(p + T(p), differences(s), s, p + T(p), "singular vectors", doubt)
    one = over_gaps(p - T(p), _sums(s), s, p - T(p), "singular vectors", doubt)
    du, dv = 0.5 * (u @ (both + one)), 0.5 * (v @ (both - one))
    if a.shape[-2] > k:
        du = du + over_values(right - u @ p, s, right, "singular vectors", doubt)
    if a.shape[-1] > k:
        dv = dv + over_values(left - v @ T(p), s, left, "singular vectors", doubt)
    return _completed(du, ans[0]), diagonal(p) * _signed(s), T(_completed(dv, T(ans[2])))


def _sums(x: Any) -> Any:
    return x[..., None, :] + x[..., :, None]


svd.defvjp(svd_pull)
svd.defjvp(svd_push)
svd.defpattern("...ij->...kl,...m,...no")
svd.unread = (0,)


@primitive
def svdvals(a: Any) -> Any:
    """Singular values, from the largest to the smallest."""
    return np.linalg.svd(a, compute_uv=False)


def _svdvals_pull(ans: Any, a: Any) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        u, _, vh = svd(a)
        return (u * (g * _signed(ans))[..., None, :]) @ vh

    return pull


def _svdvals_push(g: Any, ans: Any, a: Any) -> Any:
    u, _, vh = svd(a)
    return sum(u * (g @ T(vh)), axis=-2) * _signed(ans)


svdvals.defvjp(_svdvals_pull)
svdvals.defjvp(_svdvals_push)
svdvals.defpattern("...ij->...k")


# --- least squares -------------------------------------------------------------------------------

# The rules hold as long as the rank stays what it is, as it does near a matrix of full rank. Along
# other directions a pseudo-inverse is not even continuous.


@primitive
def pinv(a: Any, **options: Any) -> Any:
    """The pseudo-inverse, with the options of NumPy."""
    check_finite(a)
    return np.linalg.pinv(a, **options)


def pinv_pull(ans: Any, a: Any, **options: Any) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        left, right = ans @ T(ans), T(ans) @ ans
        outside = T(g) @ left
        inside = right @ T(g)
        return outside - a @ (ans @ outside) + inside - (inside @ ans) @ a - T(ans) @ g @ T(ans)

    return pull


def pinv_push(g: Any, ans: Any, a: Any, **options: Any) -> Any:
    outside = ans @ (T(ans) @ T(g))
    inside = T(g) @ T(ans) @ ans
    return outside - outside @ a @ ans + inside - ans @ (a @ inside) - ans @ g @ ans


pinv.defvjp(pinv_pull)
pinv.defjvp(pinv_push)
pinv.defpattern("...ij->...kl")


@primitive
def lstsq(a: Any, b: Any, cutoff: float) -> Any:
    """The shortest of the x for which a @ x - b is shortest, column by column."""
    check_finite(a)
    check_finite(b)
    return np.linalg.lstsq(a, b, cutoff)[0]


def _lstsq_pull_a(ans: Any, a: Any, b: Any, cutoff: float) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        p = pinv(a, rcond=cutoff)
        image = T(p) @ g
        back = p @ image
        result = outer_product(b - a @ ans, back) - outer_product(image, ans)
        return result + outer_product(T(p) @ ans, g - p @ (a @ g))

    return pull


def _lstsq_push_a(g: Any, ans: Any, a: Any, b: Any, cutoff: float) -> Any:
    p = pinv(a, rcond=cutoff)
    shift = T(g) @ (T(p) @ ans)
    change = p @ (T(p) @ (T(g) @ (b - a @ ans)) - g @ ans)
    return change + shift - p @ (a @ shift)


lstsq.defvjp(
    _lstsq_pull_a,
    lambda ans, a, b, cutoff: lambda g: T(pinv(a, rcond=cutoff)) @ g,
)
lstsq.defjvp(
    _lstsq_push_a,
    lambda g, ans, a, b, cutoff: pinv(a, rcond=cutoff) @ g,
)
lstsq.defpattern("...ij->...kl", "...kj->...ij")
