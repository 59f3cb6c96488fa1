"""Systems of equations, inverses and determinants of matrices, with their derivatives.

Each operation takes matrices of numbers, real or complex, or stacks of them with equal leading
dimensions. A matrix is factored once: its solutions, its determinant and all derivatives of these
are found with the same factors. Where the rules are written down:

    Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
        differentiation" (2008)

This module knows matrices only; how NumPy's functions are called is for `linalg`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import binding
from ..binding import carries, is_complex_number
from ..binding import unguarded as value
from ..operations.arrays import concatenate, reshape, stack, sum
from ..operations.complexes import imag
from ..operations.eager_cache import is_entering
from ..operations.guards import held
from ..operations.primitives import curried
from . import _lapack as lapack
from ._matrices import (
    EPSILON,
    H,
    T,
    conjugate,
    cross,
    diagonal,
    inner,
    is_single,
    narrowed,
    on_diagonal,
    on_matrices,
    outer_product,
    part,
    real,
    scalars,
    triangle,
)

# --- systems ------------------------------------------------------------------------------------


def solves(
    operation: on_matrices,
    again: Callable[..., Any],
    read: Callable[..., Any] = lambda a, **how: a,
    factors: int = 0,
    unread: tuple[int, ...] = (1,),
) -> None:
    """Define the rules of the solution x of a @ x = b, or of H(a) @ x = b if `adjoint`.

    again: what solves further systems with a, called like the operation. read: the part of a
    matrix like a that is read. factors: how many further arguments there are, without derivatives.
    """

    def pulls(ans: Any, a: Any, b: Any, *more: Any, adjoint: bool = False, **how: Any) -> Any:
        y = again(a, more[-1], *more[:-1], adjoint=not adjoint, **how)
        return read(outer_product(ans, -y) if adjoint else outer_product(-y, ans), **how), y

    def pull_b(ans: Any, a: Any, b: Any, *more: Any, adjoint: bool = False, **how: Any) -> Any:
        return lambda g: again(a, g, *more, adjoint=not adjoint, **how)

    def push_a(
        g: Any, ans: Any, a: Any, b: Any, *more: Any, adjoint: bool = False, **how: Any
    ) -> Any:
        change = read(g, **how)
        right = (H(change) if adjoint else change) @ ans
        return -again(a, right, *more, adjoint=adjoint, **how)

    nothing = [None] * factors
    operation.defvjp(
        curried(lambda *given, **how: pulls(*given, **how)[0]), pull_b, *nothing, unread=unread
    )
    operation.defjvp(
        push_a, lambda g, ans, a, b, *more, **how: again(a, g, *more, **how), *nothing
    )
    operation.defpattern("...ij->...kl", "...kj->...ij")
    operation.deftogether(pulls)


# --- triangles -----------------------------------------------------------------------------------


@on_matrices
def solve_triangle(
    t: Any, b: Any, *, lower: bool, unit: bool = False, adjoint: bool = False
) -> Any:
    """The solution x of t @ x = b, or of H(t) @ x = b, for a triangular t.

    The other triangle is not read, and neither is the diagonal if it is `unit`: it is 1 then.
    """
    return narrowed(binding.solve_triangle(t, b, lower, unit, adjoint), t, b)


def _told(lower: bool = False, unit: bool = False, adjoint: bool = False) -> int:
    """What kernels of src/kernels/matrices.h are told."""
    return adjoint + 2 * lower + 4 * unit


def _triangle(x: Any, lower: bool, unit: bool = False) -> Any:
    return part(x, triangle(x.shape[-1], lower, strict=unit))


solve_triangle.runs_in_c(lambda t, b, **how: ("solve_triangle", _told(**how)))
solves(solve_triangle, solve_triangle, _triangle)


@on_matrices
def cho_solve(c: Any, b: Any, *, lower: bool) -> Any:
    """The solution x of a @ x = b for a = c @ H(c), or H(c) @ c unless `lower`."""
    return narrowed(binding.cho_solve(c, b, lower), c, b)


def _cho_pulls(ans: Any, c: Any, b: Any, g: Any, lower: bool) -> tuple[Any, Any]:
    def halves(x: Any) -> Any:
        return solve_triangle(c, x, lower=lower, adjoint=not lower)

    right, left = halves(b), halves(g)
    y = solve_triangle(c, left, lower=lower, adjoint=lower)
    product = outer_product(y, -right) + outer_product(ans, -left)
    return part(product if lower else H(product), triangle(c.shape[-1], lower)), y


def _cho_push(g: Any, ans: Any, c: Any, b: Any, lower: bool) -> Any:
    right = solve_triangle(c, b, lower=lower, adjoint=not lower)
    g = part(g, triangle(c.shape[-1], lower))
    g = g if lower else H(g)
    moved = solve_triangle(c, g @ right, lower=lower, adjoint=not lower) + H(g) @ ans
    return -solve_triangle(c, moved, lower=lower, adjoint=lower)


cho_solve.runs_in_c(lambda c, b, lower: ("cho_solve", _told(lower)))
cho_solve.defvjp(
    curried(lambda *given, **how: _cho_pulls(*given, **how)[0]),
    lambda ans, c, b, lower: lambda g: cho_solve(c, g, lower=lower),
)
cho_solve.defjvp(_cho_push, lambda g, ans, c, b, lower: cho_solve(c, g, lower=lower))
cho_solve.defpattern("...ij->...kl", "...kj->...ij")
cho_solve.deftogether(_cho_pulls)


# --- LU factors ----------------------------------------------------------------------------------


@partial(on_matrices, real=(False, True))
def _lu(a: Any) -> Any:
    """The factors of a matrix whose rows are exchanged, and their order; without derivatives."""
    return binding.factor_lu(a)


_lu.runs_in_c(("factor_lu", 0))
_lu.defvjp(None)


def factors_of(a: Any) -> Any:
    """What operations on a that go by its factors want to be given behind it: its values."""
    return _lu(held(a))


@partial(on_matrices, called="solve")
def _solve_factored(a: Any, b: Any, lu: Any, order: Any, *, adjoint: bool) -> Any:
    """The solution of a @ x = b, or of H(a) @ x = b, by the factors of a, which are its values.

    In single precision it is NumPy's own.
    """
    if is_single(a) or is_single(b):
        return np.linalg.solve(H(a) if adjoint else a, b)
    return binding.solve_factored(lu, order, b, adjoint)


_solve_factored.runs_in_c(
    lambda a, b, lu, order, adjoint: ("solve_factored", _told(adjoint=adjoint)), takes=(2, 3, 1)
)
solves(_solve_factored, _solve_factored, factors=2, unread=(0, 1))


def solve(a: Any, b: Any, adjoint: bool = False) -> Any:
    """The solution x of a @ x = b, or of H(a) @ x = b, for matrices b."""
    return _solve_factored(a, b, *factors_of(a), adjoint=adjoint)


@on_matrices
def inv(a: Any, *, by: Callable[..., Any] = np.linalg.inv) -> Any:
    """The inverse matrix, as a function of plain matrices gives it."""
    return by(a)


def _inverse_loop(is_complex: bool, a: Any, by: Callable[..., Any] = np.linalg.inv) -> Any:
    """A kernel; entries have the last bits of what they stand for."""
    if is_entering():
        return lapack.inv(is_complex, a) if by is np.linalg.inv else None
    return "inverse_of_pairs" if is_complex else "inverse", 0


inv.calls_lapack(_inverse_loop)
inv.defvjp(lambda ans, a, by=None: lambda g: -(H(ans) @ g @ H(ans)), unread=(0,))
inv.defjvp(lambda g, ans, a, by=None: -(ans @ g @ ans))
inv.defpattern("...ij->...kl")


@partial(on_matrices, called="inv")
def _inverse_adjoint(a: Any, lu: Any, order: Any) -> Any:
    """The adjoint of the inverse matrix, by the factors of a."""
    return binding.inverse_adjoint(lu, order)


_inverse_adjoint.runs_in_c(("inverse_adjoint", 0), takes=(1, 2))
_inverse_adjoint.defvjp(
    lambda ans, a, *_: lambda g: -(ans @ H(g) @ ans), None, None, unread=(0, 1, 2)
)
_inverse_adjoint.defjvp(lambda g, ans, a, *_: -(ans @ H(g) @ ans), None, None)
_inverse_adjoint.defpattern("...ij->...kl")


# --- determinants --------------------------------------------------------------------------------

# The condition (in the 1-norm) up to which cofactors are taken from the inverse. In themselves
# they are accurate that way, since the smallest pivot's error is in the determinant, too, and
# cancels; but each further derivative costs as many digits as the condition has.
CONDITION = 1.0 / EPSILON
CONDITION_DIFFERENTIATED = 1e4


@partial(on_matrices, called="det")
def _det_factored(a: Any, lu: Any, order: Any) -> Any:
    """The determinant by the factors of a; in single precision it is NumPy's own."""
    if is_single(a):
        return np.linalg.det(a)
    return binding.determinant(lu, order)


_det_factored.runs_in_c(("determinant", 0), takes=(1, 2))
_det_factored.defvjp(
    lambda ans, a, *lu: lambda g: scalars(g, a) * conjugate(_cofactors(a, ans, *lu)), None, None
)
_det_factored.defjvp(lambda g, ans, a, *lu: inner(_cofactors(a, ans, *lu), g), None, None)
_det_factored.defpattern("...ij->...")


def det(a: Any) -> Any:
    return _det_factored(a, *factors_of(a))


def _cofactors(a: Any, determinant: Any, lu: Any, order: Any) -> Any:
    """The matrix of cofactors, the gradient of the determinant, of singular matrices too."""
    if a.shape[-1] <= 3:
        return _cofactors_of_few(a)
    try:
        inverse = _inverse_adjoint(a, lu, order)
    except np.linalg.LinAlgError:
        return _each(_cofactors_by_rotation, a)
    condition = _norm1(held(a)) * _norm1(T(held(inverse)))
    limit = CONDITION_DIFFERENTIATED if carries(a) else CONDITION
    if np.any(condition > limit) if a.ndim > 2 else condition > limit:
        return _each(_cofactors_by_rotation, a)
    return scalars(determinant, a) * conjugate(inverse)


def _cofactors_of_few(a: Any) -> Any:
    """The cofactors of up to three rows, as polynomials."""
    if a.shape[-1] == 3:
        return cross(a[..., [1, 2, 0], :], a[..., [2, 0, 1], :])
    if a.shape[-1] == 2:
        return a[..., ::-1, ::-1] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return np.ones(a.shape)


def _norm1(a: Any) -> Any:
    return np.maximum.reduce(np.add.reduce(np.abs(a), -2), -1, initial=0.0)


def _each(function: Callable[[Any], Any], a: Any) -> Any:
    """A function of one matrix, applied to each of a stack."""
    items = reshape(a, (-1, *a.shape[-2:]))
    return reshape(stack([function(items[k]) for k in range(len(items))]), a.shape)


def _cofactors_by_rotation(a: Any) -> Any:
    """The cofactors by way of the singular vectors, which are held constant.

    With a = u b vh the cofactors of a are det(u vh) conj(u) cofactors(b) conj(vh), for whatever b:
    derivatives of any order come from b, which itself is diagonal.
    """
    if not np.all(np.isfinite(value(a))):
        return a * np.nan
    u, s, vh = np.linalg.svd(value(a))
    adjugate, _ = _adjugate(H(u) @ a @ H(vh), EPSILON * len(s) * s[0])
    turn = np.linalg.det(u) * np.linalg.det(vh)
    turn = turn if is_complex_number(a) else round(turn)
    return turn * (np.conj(u) @ T(adjugate) @ np.conj(vh))


def _adjugate(b: Any, noise: float) -> tuple[Any, Any]:
    """Adjugate and determinant of a matrix that is diagonal, largest first, but for derivatives.

    The leading elements of like size make a block that may be divided by; the rest is its Schur
    complement, whose adjugate is found in the same way. What is nought is never divided by.
    """
    sizes = np.abs(np.diagonal(value(b)))
    k = int(np.argmin(sizes >= 1e-2 * sizes[0])) or len(sizes)
    if sizes[0] <= noise or k == len(sizes) <= 2:
        return _adjugate_polynomial(b)
    head = b[:k, :k]
    if k == len(sizes):
        determinant = det(head)
        return determinant * inv(head), determinant
    right = solve(head, b[:k, k:])
    left = T(solve(T(head), T(b[k:, :k])))
    adjugate, rest = _adjugate(b[k:, k:] - b[k:, :k] @ right, noise)
    rows = (
        concatenate([rest * inv(head) + right @ adjugate @ left, -(right @ adjugate)], axis=1),
        concatenate([-(adjugate @ left), adjugate], axis=1),
    )
    factor = det(head)
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


@partial(on_matrices, real=(False, True), called="slogdet")
def _slogdet_factored(a: Any, lu: Any, order: Any) -> Any:
    """The sign of the determinant, and the logarithm of its size, by the factors of a.

    In single precision they are NumPy's own.
    """
    if is_single(a):
        return tuple(np.linalg.slogdet(a))
    return binding.log_determinant(lu, order)


# With t = tr(inv(a) da) the logarithm changes by the real part of t, and a complex sign by
# i sign imag(t); a real one does not change.


def _logarithm_by(a: Any, lu: Any, order: Any) -> Any:
    """The derivative of the logarithm, which is infinite at a singular matrix."""
    try:
        return _inverse_adjoint(a, lu, order)
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            f"Singular matrix: slogdet of one, here of the shape {a.shape}, has no derivative, "
            "since the logarithm is -inf; write numpy.linalg.det, which has one"
        ) from None


def _slogdet_pull(ans: Any, a: Any, lu: Any, order: Any, g: Any) -> Any:
    weight = g[1]
    if is_complex_number(a):
        weight = weight - 1j * imag(conjugate(g[0]) * ans[0])
    return scalars(weight, a) * _logarithm_by(a, lu, order)


def _slogdet_push(g: Any, ans: Any, a: Any, lu: Any, order: Any) -> Any:
    change = inner(conjugate(_logarithm_by(a, lu, order)), g)
    turn = 1j * ans[0] * imag(change) if is_complex_number(a) else np.zeros(a.shape[:-2])
    return turn, real(change)


_slogdet_factored.runs_in_c(("log_determinant", 0), takes=(1, 2))
_slogdet_factored.defvjp(curried(_slogdet_pull), None, None)
_slogdet_factored.defjvp(_slogdet_push, None, None)
_slogdet_factored.defpattern("...ij->...,...")


def slogdet(a: Any) -> Any:
    """The sign of the determinant, and the logarithm of its size."""
    return _slogdet_factored(a, *factors_of(a))


# --- characteristic polynomials ------------------------------------------------------------------

# The coefficients are c[0] = 1, ..., c[n]. With those of the adjugate of t I - a, m[0] = I and
# m[k] = a m[k - 1] + c[k] I, c[k] changes by -tr(m[k - 1] da): by no eigenvectors, which may be
# missing.


@partial(on_matrices, called="poly")
def characteristic(a: Any) -> Any:
    """The coefficients of the characteristic polynomial of one matrix, the highest power first."""
    return np.poly(a)


def _adjugates(ans: Any, a: Any) -> list[Any]:
    one = np.eye(a.shape[-1])
    matrices = [one]
    for k in range(1, a.shape[-1]):
        matrices.append(a @ matrices[-1] + ans[k] * one)
    return matrices


def _characteristic_pull(ans: Any, a: Any, g: Any) -> Any:
    terms = [g[k] * H(m) for k, m in enumerate(_adjugates(ans, a), 1)]
    return -sum(stack(terms), axis=0)


def _characteristic_push(g: Any, ans: Any, a: Any) -> Any:
    changes = stack([inner(T(m), g) for m in _adjugates(ans, a)])
    return concatenate([np.zeros(1), -changes])


characteristic.defrules(_characteristic_pull, _characteristic_push, "ij->k")
