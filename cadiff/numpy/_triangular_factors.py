"""Factors that are triangles: Cholesky's, and those of QR.

Each operation takes matrices of numbers, real or complex, or stacks of them with equal leading
dimensions. Where their rules are written down:

    Murray, "Differentiation of the Cholesky decomposition" (2016)
    Walter and Lehmann, "Algorithmic differentiation of linear algebra functions with application
        in optimum experimental design" (2010): qr

A function that reads one triangle of a Hermitian matrix, and the real part of its diagonal, has
derivatives by these elements alone. The triangle of a QR factorisation has a real diagonal, which
determines q and r up to signs.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import binding
from ..binding import is_complex_number
from ..operations.arrays import concatenate
from ..operations.guards import held
from ..operations.primitives import curried, stated
from ..operations.table import where
from . import _lapack as lapack
from ._matrices import (
    EPSILON,
    H,
    T,
    diagonal,
    folded,
    hermitian,
    mirrored,
    on_matrices,
    outer_product,
    part,
    real_diagonal,
    triangle,
)
from ._systems import solve_triangle


@on_matrices
def cholesky(a: Any, *, upper: bool = False) -> Any:
    """The lower triangle l with a = l @ H(l), or the upper one u with a = H(u) @ u."""
    return np.linalg.cholesky(a, upper=upper)


# With the operator P, which takes the lower triangle and half of the diagonal, and the symmetric t
# of which the lower triangle is given,
#
#     along(low, t) = low P(m),  m = inv(low) t inv(low).T
#
# and `back` is its transposed: of real matrices both are found in blocks by the core. They are
# linear in t and g.
# By the factor, their derivatives follow from this formula: along a change d, m changes by what
# -(d inv(low) t + its transposed) has in the place of t.


@stated("cholesky", loop=("cholesky_pull", 0))
def _cholesky_back(low: Any, g: Any) -> Any:
    """The cotangent of the lower triangle of a = low @ low.T, given that of the factor low."""
    return binding.cholesky_pull(low, g)


@stated("cholesky", loop=("cholesky_push", 0))
def _cholesky_along(low: Any, t: Any) -> Any:
    """The tangent of the factor low, given that of the lower triangle of a = low @ low.T."""
    return binding.cholesky_push(low, t)


def _lower(x: Any) -> Any:
    return part(x, triangle(x.shape[-1]))


def _back_pull(ans: Any, low: Any, g: Any, h: Any) -> Any:
    right = T(solve_triangle(low, mirrored(h), lower=True))
    moved = solve_triangle(low, _cholesky_along(low, h), lower=True)
    return _lower(outer_product(g, moved) - 2.0 * (hermitian(ans) @ right))


def _back_push(t: Any, ans: Any, low: Any, g: Any) -> Any:
    quotient = solve_triangle(low, T(_lower(t)), lower=True, adjoint=True)
    both = quotient @ hermitian(ans)
    return _cholesky_back(low, quotient @ g) - folded(both + T(both))


def _along_pull(ans: Any, low: Any, t: Any, g: Any) -> Any:
    moved = solve_triangle(low, ans, lower=True)
    left = solve_triangle(low, mirrored(t), lower=True)
    back = hermitian(_cholesky_back(low, g))
    return _lower(outer_product(g, moved) - 2.0 * outer_product(back, left))


def _along_push(g: Any, ans: Any, low: Any, t: Any) -> Any:
    g = _lower(g)
    moved = solve_triangle(low, ans, lower=True)
    left = g @ solve_triangle(low, mirrored(t), lower=True)
    return g @ moved - _cholesky_along(low, left + T(left))


_cholesky_back.defvjp(curried(_back_pull), lambda ans, low, g: lambda h: _cholesky_along(low, h))
_cholesky_back.defjvp(_back_push, lambda t, ans, low, g: _cholesky_back(low, t))
_cholesky_along.defvjp(curried(_along_pull), lambda ans, low, t: lambda g: _cholesky_back(low, g))
_cholesky_along.defjvp(_along_push, lambda g, ans, low, t: _cholesky_along(low, g))
_cholesky_back.defpattern("...ij->...kl", "...ij->...kl")
_cholesky_along.defpattern("...ij->...kl", "...ij->...kl")


def _halved(x: Any) -> Any:
    """The lower triangle, with half the real diagonal: what P takes."""
    return part(x, triangle(x.shape[-1], strict=True)) + 0.5 * real_diagonal(x)


def _whole_back(low: Any, g: Any) -> Any:
    half = solve_triangle(low, _halved(H(low) @ g), lower=True, adjoint=True)
    return H(solve_triangle(low, H(half), lower=True, adjoint=True))


def _whole_along(low: Any, t: Any) -> Any:
    half = solve_triangle(low, t, lower=True)
    return low @ _halved(H(solve_triangle(low, H(half), lower=True)))


def _complex_back(low: Any, g: Any) -> Any:
    return folded(hermitian(_whole_back(low, g)))


def _complex_along(low: Any, t: Any) -> Any:
    return _whole_along(low, mirrored(t))


@on_matrices
def cholesky_of_whole(a: Any, *, upper: bool = False) -> Any:
    """As `cholesky`; derivatives are `along` for changes t of all elements, symmetric or not."""
    return np.linalg.cholesky(a, upper=upper)


def _whole_pull(ans: Any, a: Any, g: Any, upper: bool = False) -> Any:
    return H(_whole_back(H(ans), H(g))) if upper else _whole_back(ans, g)


def _whole_push(g: Any, ans: Any, a: Any, upper: bool = False) -> Any:
    return H(_whole_along(H(ans), H(g))) if upper else _whole_along(ans, g)


def cholesky_pull(ans: Any, a: Any, g: Any, upper: bool = False) -> Any:
    back = _complex_back if is_complex_number(ans) else _cholesky_back
    return H(back(H(ans), H(g))) if upper else back(ans, g)


def cholesky_push(g: Any, ans: Any, a: Any, upper: bool = False) -> Any:
    along = _complex_along if is_complex_number(ans) else _cholesky_along
    return H(along(H(ans), H(g))) if upper else along(ans, g)


for _function, _pull, _push in (
    (cholesky, cholesky_pull, cholesky_push), (cholesky_of_whole, _whole_pull, _whole_push),
):  # fmt: skip
    _function.calls_lapack(lapack.cholesky)
    _function.defrules(_pull, _push, "...ij->...kl", unread=(0,))


@partial(on_matrices, real=(False, False))
def qr(a: Any, *, complete: bool = False) -> Any:
    """The factors q and r of a matrix with at least as many rows as columns.

    If complete, q is square: it has a basis of what the columns of a do not span as well. Any
    such basis would do; its derivative is the one without rotations within that space.
    """
    return tuple(np.linalg.qr(a, mode="complete" if complete else "reduced"))


def _independent(r: Any) -> None:
    """Refuse a triangle of a matrix with a column that is a combination of former ones."""
    sizes = np.abs(held(r))
    lengths = np.sqrt(np.add.reduce(sizes * sizes, -2))
    dependent = diagonal(sizes) <= EPSILON * r.shape[-1] * lengths
    if np.any(dependent):
        k = np.argwhere(binding.unguarded(dependent))[0][-1]
        raise np.linalg.LinAlgError(
            "the qr factors of a matrix with linearly dependent columns have no derivative, and "
            f"column {k} depends on those before it: leave such columns out, or write "
            "numpy.linalg.lstsq for least squares"
        )


def _qr_pull(ans: Any, a: Any, g: Any, complete: bool = False) -> Any:
    n = a.shape[-1]
    gq, q = leading(g[0], ans[0], n), ans[0][..., :n]
    gr, r = g[1][..., :n, :], ans[1][..., :n, :]
    _independent(r)
    middle = mirrored(outer_product(r, gr) - H(gq) @ q)
    return H(solve_triangle(r, H(gq + q @ middle), lower=False))


def _qr_push(g: Any, ans: Any, a: Any, complete: bool = False) -> Any:
    n = a.shape[-1]
    q, r = ans[0][..., :n], ans[1][..., :n, :]
    _independent(r)
    quotient = H(solve_triangle(r, H(g), lower=False, adjoint=True))
    inside = H(q) @ quotient
    both = inside + H(part(inside, triangle(n, strict=True)))
    change = where(triangle(n, lower=False, strict=True), both, real_diagonal(inside))
    return completed(quotient - q @ change, ans[0]), _padded(change @ r, ans[1])


qr.calls_lapack(lapack.qr)
qr.defrules(_qr_pull, _qr_push, "...ij->...kl,...mn", unread=(0,))


# Orthogonal matrices whose first columns are determined, while the others complete the basis: u2
# moves as far as it must to stay orthogonal to u1, du2 = -u1 H(du1) u2.


def leading(g: Any, u: Any, k: int) -> Any:
    """The cotangent of the first k columns of u, given that of all."""
    if u.shape[-1] == k:
        return g
    u1, u2 = u[..., :k], u[..., k:]
    return g[..., :k] - u2 @ (H(g[..., k:]) @ u1)


def completed(du1: Any, u: Any) -> Any:
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
