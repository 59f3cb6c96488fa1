"""Matrix equations, and factors that solve one: derivatives by the equation at the solution.

A solution's change solves a linear equation of the same kind, and so does its cotangent, with
adjoint matrices: each rule is that equation once more. Where the linear equations come from:

    Simoncini, "Computational methods for linear matrix equations" (2016): Lyapunov, Sylvester
    Kao and Hennequin, "Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati
        equations" (2020): Riccati, without e and s
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from ..binding import carries, is_complex_number
from ..numpy import _factorizations as factor
from ..numpy import _systems as systems
from ..numpy._matrices import (
    EPSILON,
    H,
    conjugate,
    diagonal,
    folded,
    hermitian,
    mirrored,
    on_diagonal,
    on_matrices,
    outer_product,
    part,
    triangle,
)
from ..numpy._systems import solve_triangle
from ..operations.guards import NoDerivativeError, fixed, held, truths
from ..operations.missing_derivatives import doubt
from ..operations.primitives import curried, linear_in
from ..operations.table import where
from . import _matrix_functions as functions
from ._signatures import called_as, double, matrix, plainly_by, square, valued_as
from ._structures import taken

# --- Lyapunov's equation in discrete time --------------------------------------------------------


@partial(on_matrices, called="solve_discrete_lyapunov")
def discrete_lyapunov(a: Any, q: Any, *, method: str | None = None) -> Any:
    """The solution x of a @ x @ H(a) - x + q = 0."""
    return scipy.linalg.solve_discrete_lyapunov(a, q, method=method)


def _lyapunov_pull(ans: Any, a: Any, q: Any, g: Any, method: str | None = None) -> Any:
    y = discrete_lyapunov(H(a), g, method=method)
    return y @ a @ H(ans) + H(y) @ a @ ans


def _lyapunov_push(g: Any, ans: Any, a: Any, q: Any, method: str | None = None) -> Any:
    right = g @ ans @ H(a) + a @ ans @ H(g)
    return discrete_lyapunov(a, right, method=method)


discrete_lyapunov.defvjp(
    curried(_lyapunov_pull),
    lambda ans, a, q, method=None: lambda g: discrete_lyapunov(H(a), g, method=method),
)
discrete_lyapunov.defjvp(_lyapunov_push, linear_in(discrete_lyapunov, 1))
discrete_lyapunov.defpattern("ij->kl", "ij->kl")


# --- Riccati's equations -------------------------------------------------------------------------

# In continuous time, with k = inv(r) (H(b) x e + H(s)) and c = a - b k,
#
#     H(a) x e + H(e) x a - H(k) r k + q = 0,  H(c) dx e + H(e) dx c + change = 0,
#
# and in discrete time, with k = inv(r + H(b) x b) (H(b) x a + H(s)),
#
#     H(a) x a - H(e) x e - H(k) (r + H(b) x b) k + q = 0,  H(c) dx c - H(e) dx e + change = 0,
#
# where change = t + H(t) + H(k) dr k + dq,  t = left (da - db k) + right de - ds k: with left =
# H(e) x and right = H(c) x in continuous time, and left = H(c) x and right = -H(e) x in discrete
# time. q and r are Hermitian, and so is x.


@partial(on_matrices, called="solve_continuous_are or solve_discrete_are")
def riccati(
    a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, *, discrete: bool, given: Any, balanced: bool
) -> Any:
    """The stabilising solution of an equation; given: whether e, or s, is: else I, or 0."""
    solve = scipy.linalg.solve_discrete_are if discrete else scipy.linalg.solve_continuous_are
    more = {name: x for name, x in (("e", e), ("s", s)) if name in given}
    return solve(a, b, q, r, balanced=balanced, **more)


def _closed(x: Any, args: Any, discrete: bool) -> tuple[Any, Any, Any, Any]:
    """The gain k, the closed loop c, and the matrices left and right."""
    a, b, _, r, e, s = args
    if discrete:
        k = systems.solve(r + H(b) @ x @ b, H(b) @ x @ a + H(s))
    else:
        k = systems.solve(r, H(b) @ x @ e + H(s))
    c = a - b @ k
    return (k, c, H(c) @ x, -H(e) @ x) if discrete else (k, c, H(e) @ x, H(c) @ x)


def _linear(c: Any, e: Any, right: Any, discrete: bool, adjoint: bool) -> Any:
    """The y of the equation of changes, or of its adjoint, for a Hermitian right side."""
    inverse = systems.inv(e)
    loop = c @ inverse
    if not adjoint:
        right, loop = H(inverse) @ right @ inverse, H(loop)
    if discrete:
        solution = discrete_lyapunov(loop, right)
    else:
        solution = functions.sylvester(loop, H(loop), -right)
    return inverse @ solution @ H(inverse) if adjoint else solution


def _pull(which: int, ans: Any, *given: Any, discrete: bool, **_: Any) -> Any:
    *args, g = given
    k, c, left, right = _closed(ans, args, discrete)
    p = _linear(c, args[4], hermitian(g), discrete, adjoint=True)
    pulls: tuple[Callable[[], Any], ...] = (
        lambda: 2.0 * H(left) @ p,
        lambda: -2.0 * H(left) @ p @ H(k),
        lambda: p,
        lambda: k @ p @ H(k),
        lambda: 2.0 * H(right) @ p,
        lambda: -2.0 * p @ H(k),
    )
    return pulls[which]()


def _push(which: int, g: Any, ans: Any, *args: Any, discrete: bool, **_: Any) -> Any:
    k, c, left, right = _closed(ans, args, discrete)
    terms: tuple[Callable[[], Any], ...] = (
        lambda: left @ g,
        lambda: -left @ g @ k,
        lambda: 0.5 * g,
        lambda: 0.5 * H(k) @ g @ k,
        lambda: right @ g,
        lambda: -g @ k,
    )
    change = 2.0 * hermitian(terms[which]())
    return _linear(c, args[4], change, discrete, adjoint=False)


riccati.defvjp(*(curried(partial(_pull, k)) for k in range(6)))
riccati.defjvp(*(partial(_push, k) for k in range(6)))
riccati.defpattern(*["ij->kl"] * 6)


# --- polar factors -------------------------------------------------------------------------------

# Of a = u p, with w = H(u) du:  p w + w p = m - H(m), m = H(u) da;  and what da has outside of the
# columns of u moves these: du = u w + (da - u m) inv(p). That is its own adjoint, since u is the
# gradient of the sum of singular values.


@partial(on_matrices, called="polar")
def nearest(a: Any, u: Any) -> Any:
    """The u of a = u p, with orthonormal columns and a positive p, which is found already."""
    return u.copy()


def _nearest_along(g: Any, u: Any, a: Any) -> Any:
    p, m = hermitian(H(u) @ a), H(u) @ g
    found = u @ _turn(p, m - H(m), rounding=float(np.finfo(u.dtype).eps))
    if a.shape[-2] > a.shape[-1]:
        found = found + H(systems.solve(_regular(p, "the polar factor"), H(g - u @ m)))
    return found


nearest.defvjp(lambda ans, a, u: lambda g: _nearest_along(g, ans, a), None)
nearest.defjvp(lambda g, ans, a, u: _nearest_along(g, ans, a), None)
nearest.defpattern("ij->kl", "ij->kl")


@partial(on_matrices, called="polar")
def _turn(p: Any, k: Any, *, rounding: float) -> Any:
    """The w of p w + w p = k: within the null space of p it is 0 if k is, as if that stays."""
    s, v = np.linalg.eigh(p)
    inner, gaps = H(v) @ k @ v, s[:, None] + s
    none = gaps <= 4.0 * rounding * len(s) * np.max(s, initial=0.0)
    lost = none & (np.abs(inner) > np.sqrt(rounding) * factor.largest(k))
    if np.any(lost):
        doubt("the derivative of the polar factor of a singular matrix does not exist: nan")
    return (
        v @ (np.where(lost, np.nan, np.where(none, 0.0, inner)) / np.where(none, 1.0, gaps)) @ H(v)
    )


def _turn_pull(ans: Any, p: Any, k: Any, g: Any, rounding: float) -> Any:
    y = _turn(p, g, rounding=rounding)
    return -(outer_product(y, ans) + H(ans) @ y)


_turn.defvjp(curried(_turn_pull), lambda ans, p, k, **how: lambda g: _turn(p, g, **how))
_turn.defjvp(lambda g, ans, p, k, **how: -_turn(p, g @ ans + ans @ g, **how), linear_in(_turn, 1))
_turn.defpattern("ij->kl", "ij->kl")


# --- Schur's form --------------------------------------------------------------------------------

# Of a = z t H(z), with m = H(z) da z and skew-Hermitian x = H(z) dz:  dt = m + t x - x t. Below
# the diagonal that is 0, and there are as many equations for what x has below its own; the
# diagonal of x is 0, so that phases stay still.


@partial(on_matrices, real=(False, False))
def _schur(a: Any, *, output: str, sort: Any = None) -> Any:
    """The triangle t and the unitary z with a = z t H(z)."""
    return tuple(scipy.linalg.schur(a, output=output, sort=sort, check_finite=False)[:2])


def _below(t: Any) -> tuple[Any, Any, Any]:
    """The matrix that takes the lower part of x to that of t x - x t, and its places."""
    n = t.shape[-1]
    rows, columns = np.tril_indices(n, -1)
    same_column = np.equal.outer(columns, columns)
    same_row = np.equal.outer(rows, rows)
    left = where(same_column, t[rows[:, None], rows], 0.0)
    right = where(same_row, t[columns[None, :], columns[:, None]], 0.0)
    w = diagonal(held(t))
    if np.any(np.abs(w[rows] - w[columns]) <= n * factor.TOLERANCE * factor.largest(t)):
        doubt("the derivative of Schur's form at repeated eigenvalues does not exist: nan")
        return np.nan * np.eye(len(rows)), rows, columns
    return left - right, rows, columns


def _spread(x: Any, rows: Any, columns: Any, n: int) -> Any:
    """The lower triangle with these elements."""
    numbers = np.zeros((n, n), dtype=int)
    numbers[rows, columns] = np.arange(1, len(rows) + 1)
    return taken(x, numbers)


def _upper(x: Any) -> Any:
    return part(x, triangle(x.shape[-1], lower=False))


def _schur_pull(ans: Any, a: Any, g: Any, **_: Any) -> Any:
    t, z = ans
    gt = _upper(g[0])
    k, rows, columns = _below(t)
    x = H(z) @ g[1] + H(t) @ gt - gt @ H(t)
    right = (x - H(x))[rows, columns][:, None]
    y = _spread(systems.solve(k, right, True)[:, 0], rows, columns, t.shape[-1])
    return z @ (gt - y) @ H(z)


def _schur_push(g: Any, ans: Any, a: Any, **_: Any) -> Any:
    t, z = ans
    m = H(z) @ g @ z
    k, rows, columns = _below(t)
    x = -systems.solve(k, m[rows, columns][:, None])[:, 0]
    x = _spread(x, rows, columns, t.shape[-1])
    x = x - H(x)
    return _upper(m + t @ x - x @ t), z @ x


_schur.defvjp(curried(_schur_pull))
_schur.defjvp(_schur_push)


# --- triangular factors of Hermitian matrices ----------------------------------------------------

# With rows and columns in order, a = l d H(l) with a unit triangle l and a diagonal d. With n =
# inv(l) da inv(H(l)), d changes by the diagonal of n, and l by l w, where w is the part of n
# beside the diagonal on the side of l, each column over its d.


@partial(on_matrices, real=(False, False, True))
def _ldl(a: Any, *, lower: bool) -> Any:
    """The triangle, with its rows as those of a; the matrix d; and the order, as floats."""
    packed, d, order = scipy.linalg.ldl(a, lower=lower, check_finite=False)
    return packed, d, order.astype(float)


def _ordered(ans: Any, lower: bool) -> tuple[Any, Any, Any, Any]:
    """The triangle, the diagonal, the order of rows, and where the triangle is."""
    order = fixed(ans[2]).astype(int)
    return ans[0][order], diagonal(ans[1]), order, triangle(len(order), lower, strict=True)


def _ldl_pull(ans: Any, a: Any, g: Any, lower: bool) -> Any:
    outer, d, order, beside = _ordered(ans, lower)
    n = part(H(outer) @ g[0][order], beside) / conjugate(d)
    n = n + on_diagonal(diagonal(g[1]))
    half = solve_triangle(outer, hermitian(n), lower=lower, unit=True, adjoint=True)
    whole = H(solve_triangle(outer, H(half), lower=lower, unit=True, adjoint=True))
    back = np.argsort(order)
    return folded(whole[back][:, back], lower)


def _ldl_push(g: Any, ans: Any, a: Any, lower: bool) -> Any:
    outer, d, order, beside = _ordered(ans, lower)
    half = solve_triangle(outer, mirrored(g, lower)[order][:, order], lower=lower, unit=True)
    n = H(solve_triangle(outer, H(half), lower=lower, unit=True))
    moved = outer @ part(n / d, beside)
    return moved[np.argsort(order)], on_diagonal(diagonal(n)), np.zeros(len(order))


_ldl.defvjp(curried(_ldl_pull))
_ldl.defjvp(_ldl_push)


# --- functions of matrices, by blocks ------------------------------------------------------------


@partial(on_matrices, real_results=functions.without_noise)
def _signm(a: Any) -> Any:
    return scipy.linalg.signm(a)


@partial(on_matrices, real_results=functions.without_noise, called="fractional_matrix_power")
def power(a: Any, *, t: float) -> Any:
    return functions.without_draws(scipy.linalg.fractional_matrix_power, a, t)


def _regular(a: Any, what: str = "the sign") -> Any:
    """The matrix; one without an inverse is at a jump of its sign, or of its polar factor."""
    s = factor.svdvals(held(a))
    if s.size and not np.all(s[..., -1:] > a.shape[-1] * EPSILON * s[..., :1]):
        raise np.linalg.LinAlgError(f"{what} of a singular matrix has no derivative")
    return a


def _with_power(a: Any, t: float) -> Any:
    """The matrix; SciPy takes powers of singular blocks otherwise, without their derivatives."""
    return a if float(t).is_integer() else _regular(a, f"fractional_matrix_power(A, {t})")


functions.by_blocks(_signm, _regular)
functions.by_blocks(power, _with_power, derivative_along=functions.off_the_cut)


# --- as SciPy's are called -----------------------------------------------------------------------


@called_as(scipy.linalg.solve_discrete_lyapunov, a=square, q=square)
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None) -> Any:
    """Solve a @ x @ H(a) - x + q = 0."""
    return discrete_lyapunov(double(a), double(q), method=method)


def _riccati(original: Callable[..., Any]) -> Any:
    """One of Riccati's equations, by all matrices; q and r count by their Hermitian part."""

    @called_as(original, a=square, b=matrix, q=square, r=square, e=square, s=matrix)
    def solve_are(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, balanced: bool) -> Any:
        how = {"discrete": original is scipy.linalg.solve_discrete_are, "balanced": balanced}
        given = frozenset(name for name, x in (("e", e), ("s", s)) if x is not None)
        more = np.eye(a.shape[0]) if e is None else e, np.zeros(b.shape) if s is None else s
        return riccati(*map(double, (a, b, q, r)), *more, given=given, **how)

    return solve_are


solve_continuous_are = _riccati(scipy.linalg.solve_continuous_are)
solve_discrete_are = _riccati(scipy.linalg.solve_discrete_are)


@called_as(scipy.linalg.polar, a=matrix)
def polar(a: Any, side: str) -> Any:
    """The factors of a = u @ p, or of a = p @ u if the side is "left", for an a of full rank.

    u has orthonormal columns, or rows; p is positive definite.
    """
    rows, columns = a.shape
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    if (rows < columns) if side == "right" else (rows > columns):
        other = "left" if side == "right" else "right"
        raise TypeError(
            f"polar of shape {a.shape} has derivatives with side={other!r}: with {side!r} its "
            "second factor is singular"
        )
    plain = plainly_by(scipy.linalg.polar, True, (False,) * 2)(held(a), side=side)
    turned: Any = H if side == "left" else lambda x: x
    u = nearest(turned(a), turned(plain[0]))
    return turned(u), valued_as(hermitian(H(u) @ turned(a)), plain[1])


@called_as(scipy.linalg.orthogonal_procrustes, A=matrix, B=matrix)
def orthogonal_procrustes(A: Any, B: Any) -> Any:
    """The orthogonal r for which A @ r is nearest to B, and the sum of singular values."""
    if A.shape != B.shape:
        raise ValueError(f"the shapes of A and B differ ({A.shape} vs {B.shape})")
    by = plainly_by(scipy.linalg.orthogonal_procrustes, True, (False, True))
    (r, scale), both = by(held(A), held(B)), H(A) @ B
    return nearest(both, r), valued_as(factor.nuclear(both), scale)


@called_as(scipy.linalg.schur, a=square)
def schur(a: Any, output: str, sort: Any) -> Any:
    """Schur's form t and the unitary z with a = z @ t @ H(z), for eigenvalues that are simple.

    Phases stay still. The real form has derivatives if all eigenvalues are real.
    """
    if sort is not None:
        raise TypeError("schur has derivatives without sort=: a sorted form is another function")
    kind = {"r": "real", "c": "complex"}.get(output, output)
    if kind == "complex":
        a = a + 0j
    t, z = _schur(a, output=kind)
    if kind == "real" and np.any(truths(np.diagonal(held(t), -1))):
        raise NoDerivativeError(
            "schur has derivatives of a real form for real eigenvalues, and here are others: "
            'write output="complex"'
        )
    return t, z


@called_as(scipy.linalg.ldl, A=square)
def ldl(A: Any, lower: bool, hermitian: bool) -> tuple[Any, Any, Any]:
    """The factors of A = l @ d @ H(l) for which d is diagonal; see SciPy's for the order of rows.

    One triangle of A is read.
    """
    if not hermitian and is_complex_number(A):
        raise TypeError("ldl has derivatives of real symmetric and of Hermitian matrices")
    packed, d, order = _ldl(A, lower=bool(lower))
    if np.any(truths(np.diagonal(held(d), -1))):
        raise NoDerivativeError(
            "ldl has derivatives where d is diagonal, and here it has a block of two rows: "
            "lu_factor has some for all matrices"
        )
    return packed, d, fixed(order).astype(int)


signm = functions.of_square("signm", _signm)


@called_as(scipy.linalg.fractional_matrix_power, stacks=True, A=square)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """The power of a matrix, whole or not, by the matrix."""
    if carries(t):
        raise TypeError(
            "fractional_matrix_power has derivatives by the matrix; by the exponent write "
            "expm(t * logm(A))"
        )
    return power(A if float(t).is_integer() else double(A), t=t)
