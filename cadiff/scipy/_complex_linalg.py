"""Operations of `scipy.linalg` on complex matrices, with their derivatives.

The rules are those of `linalg` with adjoints in place of transposed matrices. Functions of
matrices are analytic: the derivative at H(a) along g is the cotangent. How SciPy's functions are
called, and what is read of a matrix, is for `linalg`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from ..binding import strip as value
from ..numpy import _complex_factorizations as factor
from ..numpy._factorizations import EPSILON, H, T, part, triangle
from ..operations.guards import held
from ..operations.pairs import on_pairs
from ..operations.table import where
from . import _exponentials
from ._stacks import blocks, each, permutation

Rule = Callable[..., Any]


# --- systems of equations ------------------------------------------------------------------------


@on_pairs
def solve(a: Any, b: Any, **options: Any) -> Any:
    """The solution x of a @ x = b; the options say what a is, of which the whole is given."""
    return scipy.linalg.solve(a, b, check_finite=False, **options)


solve.defvjp(
    lambda ans, a, b, **_: lambda g: -(factor.solve(H(a), g) @ H(ans)),
    lambda ans, a, b, **_: lambda g: factor.solve(H(a), g),
)
solve.defjvp(
    lambda g, ans, a, b, **_: -factor.solve(a, g @ ans),
    lambda g, ans, a, b, **_: factor.solve(a, g),
)


def solve_triangular(a: Any, b: Any, lower: bool, unit: bool = False, trans: Any = 0) -> Any:
    """The solution x of a @ x = b, of T(a) @ x = b or of H(a) @ x = b, for a triangle a."""
    t = part(a, triangle(a.shape[-1], lower, strict=unit))
    t = t + np.eye(a.shape[-1]) if unit else t
    if trans in (0, "N"):
        return factor.solve_triangle(t, b, lower)
    return factor.solve_triangle(T(t) if trans in (1, "T") else H(t), b, not lower)


@on_pairs
def pinv(a: Any, **options: Any) -> Any:
    """The pseudo-inverse, with the options of SciPy."""
    return scipy.linalg.pinv(a, check_finite=False, **options)


pinv.defvjp(factor.pinv_pull)
pinv.defjvp(factor.pinv_push)


def _lu_factor(a: Any) -> Any:
    lu, pivots = scipy.linalg.lu_factor(a, check_finite=False)
    return lu, pivots.astype(float)


lu_factor = on_pairs(_lu_factor, real=(False, True))
lu_factor.primitive.called = "lu_factor"


def _lu_pull(ans: Any, a: Any) -> Rule:
    lu, pivots = ans
    n = len(pivots)
    below, above = triangle(n, strict=True), triangle(n, lower=False)

    def pull(g: Any) -> Any:
        lower, upper = part(lu, below) + np.eye(n), part(lu, above)
        inside = part(H(lower) @ part(g[0], below), below)
        inside = inside + part(part(g[0], above) @ H(upper), above)
        half = factor.solve_triangle(upper, H(inside), lower=False)
        rows = factor.solve_triangle(H(lower), H(half), lower=False)
        return rows[np.argsort(permutation(pivots))]

    return pull


def _lu_push(g: Any, ans: Any, a: Any) -> Any:
    lu, pivots = ans
    n = len(pivots)
    below, above = triangle(n, strict=True), triangle(n, lower=False)
    lower, upper = part(lu, below) + np.eye(n), part(lu, above)
    rows = factor.solve_triangle(lower, g[permutation(pivots)], lower=True)
    inside = T(factor.solve_triangle(T(upper), T(rows), lower=True))
    return lower @ part(inside, below) + part(inside, above) @ upper, np.zeros(n)


lu_factor.defvjp(_lu_pull)
lu_factor.defjvp(_lu_push)


# --- eigenvalues and singular values -------------------------------------------------------------


def _eigh(a: Any, lower: bool, driver: str | None) -> Any:
    return scipy.linalg.eigh(a, lower=lower, driver=driver, check_finite=False)


eigh = on_pairs(_eigh, real=(True, False))
eigh.primitive.called = "eigh"
eigh.defvjp(factor.eigh_pull)
eigh.defjvp(factor.eigh_push)


def _svd(a: Any, full: bool, driver: str) -> Any:
    return scipy.linalg.svd(a, full_matrices=full, check_finite=False, lapack_driver=driver)


svd = on_pairs(_svd, real=(False, True, False))
svd.primitive.called = "svd"
svd.defvjp(factor.svd_pull)
svd.defjvp(factor.svd_push)


# --- functions of matrices -----------------------------------------------------------------------


@on_pairs
def expm(a: Any) -> Any:
    """The exponential."""
    return _exponentials.exponential(a)


@on_pairs
def frechet(a: Any, e: Any) -> Any:
    """The derivative of expm at a along e."""
    return _exponentials.frechet(a, e)


def _second(a: Any, e: Any, f: Any) -> Any:
    """The second derivative of expm at a along e and f, as for real matrices."""
    zero = np.zeros(a.shape)
    n = a.shape[-1]
    return frechet(blocks(a, e, zero, a), blocks(f, zero, zero, f))[..., :n, n:]


frechet.primitive.called = "expm_frechet"
frechet.defvjp(
    lambda ans, a, e: lambda g: _second(H(a), H(e), g),
    lambda ans, a, e: lambda g: frechet(H(a), g),
)
frechet.defjvp(
    lambda g, ans, a, e: _second(a, e, g),
    lambda g, ans, a, e: frechet(a, g),
)
expm.defvjp(lambda ans, a: lambda g: frechet(H(a), g))
expm.defjvp(lambda g, ans, a: frechet(a, g))


@on_pairs
def logm(a: Any) -> Any:
    """The principal logarithm."""
    return each(scipy.linalg.logm, a)


def _logm_derivative(a: Any, e: Any) -> Any:
    """The derivative of logm at a along e, which is first made as large as a."""
    sizes = np.linalg.norm(held(a), axis=(-2, -1), keepdims=True)
    factors = np.linalg.norm(held(e), axis=(-2, -1), keepdims=True) / sizes
    factors = where(factors == 0.0, 1.0, factors)
    n = a.shape[-1]
    return factors * logm(blocks(a, e / factors, np.zeros(a.shape), a))[..., :n, n:]


logm.defvjp(lambda ans, a: lambda g: _logm_derivative(H(a), g))
logm.defjvp(lambda g, ans, a: _logm_derivative(a, g))


@on_pairs
def sylvester(a: Any, b: Any, q: Any) -> Any:
    """The solution x of a @ x + x @ b = q."""
    return each(scipy.linalg.solve_sylvester, a, b, q)


sylvester.primitive.called = "solve_sylvester"
sylvester.defvjp(
    lambda ans, a, b, q: lambda g: -(sylvester(H(a), H(b), g) @ H(ans)),
    lambda ans, a, b, q: lambda g: -(H(ans) @ sylvester(H(a), H(b), g)),
    lambda ans, a, b, q: lambda g: sylvester(H(a), H(b), g),
)
sylvester.defjvp(
    lambda g, ans, a, b, q: -sylvester(a, b, g @ ans),
    lambda g, ans, a, b, q: -sylvester(a, b, ans @ g),
    lambda g, ans, a, b, q: sylvester(a, b, g),
)


@on_pairs
def sqrtm(a: Any) -> Any:
    """The principal square root."""
    return each(scipy.linalg.sqrtm, a)


def _root_derivative(x: Any, g: Any) -> Any:
    """The solution of dx @ x + x @ dx = g, which follows from x @ x = a."""
    sizes = np.abs(np.linalg.eigvals(value(x)))
    if np.any(sizes <= EPSILON * np.max(sizes, axis=-1, initial=0.0, keepdims=True)):
        raise np.linalg.LinAlgError("the square root of a singular matrix has no derivative")
    return sylvester(x, x, g)


sqrtm.defvjp(lambda ans, a: lambda g: _root_derivative(H(ans), g))
sqrtm.defjvp(lambda g, ans, a: _root_derivative(ans, g))
