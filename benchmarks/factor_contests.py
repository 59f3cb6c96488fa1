"""The contests of matrix decompositions: value and gradient against the function, and by hand.

What is differentiated is the sum of all results times weights. By hand means the textbook formulas
with SciPy's triangular solves, as other packages have them; their results are checked by
differences, and ours by them. PyTorch takes part where it is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

import cadiff
import cadiff.numpy as cnp
import cadiff.scipy.linalg
from benchmarks.array_contests import HAND, NUMPY, PRODUCT
from benchmarks.contests import GRADIENT, Contest, FloatArray, Runner, compare

__all__ = ["CONTESTS", "DECOMPOSITIONS", "decomposition", "likelihood", "product"]

TORCH = "PyTorch"
HAS_TORCH = find_spec("torch") is not None
STEP = 1e-4
OF_DIFFERENCES = 1e-6

Pulled = tuple[float, FloatArray]


class Decomposition(NamedTuple):
    """A function of a matrix and a right-hand side, and its pull by hand: value and gradient."""

    call: Callable[[Any, FloatArray, FloatArray], Any]
    by_hand: Callable[[FloatArray, FloatArray, list[FloatArray]], Pulled]


def halved(x: Any) -> Any:
    """The lower triangle, with half of the diagonal."""
    return np.tril(x) - 0.5 * np.diag(np.diag(x))


def symmetric(x: Any) -> Any:
    return 0.5 * (x + x.T)


def folded(x: Any) -> Any:
    """A symmetric cotangent by the elements of the lower triangle."""
    return np.tril(2.0 * x) - np.diag(np.diag(x))


def dot(xs: list[Any], ys: list[FloatArray]) -> float:
    return float(sum(np.vdot(x, y) for x, y in zip(xs, ys, strict=True)))


def cholesky_by_hand(a: FloatArray, b: FloatArray, w: list[FloatArray]) -> Pulled:
    lower = np.linalg.cholesky(a)
    middle = symmetric(halved(lower.T @ np.tril(w[0])))
    half = scipy.linalg.solve_triangular(lower, middle, lower=True, trans=1)
    whole = scipy.linalg.solve_triangular(lower, half.T, lower=True, trans=1)
    return dot([lower], w), folded(symmetric(whole))


def solve_by_hand(a: FloatArray, b: FloatArray, w: list[FloatArray]) -> Pulled:
    factors = scipy.linalg.lu_factor(a)
    x = scipy.linalg.lu_solve(factors, b)
    y = scipy.linalg.lu_solve(factors, w[0], trans=1)
    return dot([x], w), -np.outer(y, x)


def inv_by_hand(a: FloatArray, b: FloatArray, w: list[FloatArray]) -> Pulled:
    x = np.linalg.inv(a)
    return dot([x], w), -x.T @ w[0] @ x.T


def slogdet_by_hand(a: FloatArray, b: FloatArray, w: list[FloatArray]) -> Pulled:
    factors = scipy.linalg.lu_factor(a)
    inverse = scipy.linalg.lu_solve(factors, np.eye(len(a)), trans=1)
    return float(w[0] * np.log(np.abs(np.diag(factors[0]))).sum()), w[0] * inverse


def det_by_hand(a: FloatArray, b: FloatArray, w: list[FloatArray]) -> Pulled:
    value = np.linalg.det(a) * w[0]
    factors = scipy.linalg.lu_factor(a)
    return float(value), value * scipy.linalg.lu_solve(factors, np.eye(len(a)), trans=1)


def qr_by_hand(a: FloatArray, b: FloatArray, w: list[FloatArray]) -> Pulled:
    q, r = np.linalg.qr(a)
    m = r @ np.triu(w[1]).T - w[0].T @ q
    inside = np.tril(m) + np.tril(m, -1).T
    whole = scipy.linalg.solve_triangular(r, (w[0] + q @ inside).T).T
    return dot([q, r], w), whole


def eigh_by_hand(a: FloatArray, b: FloatArray, w: list[FloatArray]) -> Pulled:
    values, v = np.linalg.eigh(a)
    gaps = values[None, :] - values[:, None] + np.eye(len(a))
    middle = (v.T @ w[1]) / gaps
    np.fill_diagonal(middle, w[0])
    return dot([values, v], w), folded(symmetric(v @ middle @ v.T))


def svd_by_hand(a: FloatArray, b: FloatArray, w: list[FloatArray]) -> Pulled:
    u, s, vh = np.linalg.svd(a)
    gaps = s[None, :] ** 2 - s[:, None] ** 2 + np.eye(len(a))
    mu, mv = u.T @ w[0], vh @ w[2].T
    middle = (mu - mu.T) / gaps * s[None, :] + s[:, None] * ((mv - mv.T) / gaps)
    np.fill_diagonal(middle, w[1])
    return dot([u, s, vh], w), u @ middle @ vh


DECOMPOSITIONS = {
    "cholesky": Decomposition(lambda np, a, b: np.linalg.cholesky(a), cholesky_by_hand),
    "solve": Decomposition(lambda np, a, b: np.linalg.solve(a, b), solve_by_hand),
    "inv": Decomposition(lambda np, a, b: np.linalg.inv(a), inv_by_hand),
    "slogdet": Decomposition(lambda np, a, b: np.linalg.slogdet(a)[1], slogdet_by_hand),
    "det": Decomposition(lambda np, a, b: np.linalg.det(a), det_by_hand),
    "qr": Decomposition(lambda np, a, b: tuple(np.linalg.qr(a)), qr_by_hand),
    "eigh": Decomposition(lambda np, a, b: tuple(np.linalg.eigh(a)), eigh_by_hand),
    "svd": Decomposition(lambda np, a, b: tuple(np.linalg.svd(a)), svd_by_hand),
}


def positive(n: int) -> Any:
    """A positive definite matrix whose eigenvalues are apart from each other."""
    q, _ = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))
    return symmetric((q * np.linspace(0.5, 1.5, n)) @ q.T)


def weighted(results: Any, weights: list[FloatArray]) -> Any:
    items = results if isinstance(results, tuple) else (results,)
    return sum(cnp.sum(item * w) for item, w in zip(items, weights, strict=True))


def with_signs_of(results: Any, moved: Any) -> Any:
    """What a decomposition gives beside a point, its vectors with the signs that they have there.

    LAPACK may turn them from one matrix to the next.
    """
    if not isinstance(results, tuple) or len(results) < 2 or results[0].shape == results[1].shape:
        return moved
    is_svd = len(results) == 3
    vectors = 0 if is_svd else 1
    signs = np.sign(np.sum(results[vectors] * moved[vectors], axis=0))
    if not is_svd:
        return moved[0], moved[1] * signs
    return moved[0] * signs, moved[1], signs[:, None] * moved[2]


def by_torch(name: str, a: FloatArray, b: FloatArray, w: list[FloatArray]) -> Runner:
    """PyTorch's value and gradient. Where its vectors have other signs, so have the weights."""
    torch: Any = import_module("torch")
    call, by_hand = DECOMPOSITIONS[name]

    def items(np: Any, a: Any, b: Any) -> tuple[Any, ...]:
        results = call(np, a, b)
        return results if isinstance(results, tuple) else (results,)

    at, side = torch.from_numpy(a), torch.from_numpy(b)
    pairs = zip(items(np, a, b), items(torch, at, side), w, strict=True)
    weights = [torch.from_numpy(np.asarray(np.sign(x * y.numpy()) * z)) for x, y, z in pairs]

    def run() -> Pulled:
        variable = at.clone().requires_grad_()
        terms = zip(items(torch, variable, side), weights, strict=True)
        total = sum((item * weight).sum() for item, weight in terms)
        total.backward()
        gradient = variable.grad.numpy()
        is_symmetric = name in ("cholesky", "eigh")
        return total.item(), folded(symmetric(gradient)) if is_symmetric else gradient

    return Runner(run, by_hand(a, b, w))


def decomposition(name: str, n: int) -> Contest:
    """Value and gradient of a weighted sum of what a decomposition of an n x n matrix gives."""
    call, by_hand = DECOMPOSITIONS[name]
    rng = np.random.default_rng(1)
    a, b = positive(n), rng.standard_normal(n)
    results = call(np, a, b)
    items = results if isinstance(results, tuple) else (results,)
    weights = [np.asarray(rng.standard_normal(np.shape(item))) for item in items]

    def total(a: Any) -> Any:
        return weighted(call(cnp, a, b), weights)

    expected = by_hand(a, b, weights)
    direction = symmetric(rng.standard_normal((n, n)))
    direction /= np.linalg.norm(direction)
    moved = (call(np, a + step * direction, b) for step in (STEP, -STEP))
    ahead, behind = (float(weighted(with_signs_of(results, x), weights)) for x in moved)
    slope = float(np.vdot(expected[1], direction))
    work = f"{name} of {n} x {n}"
    compare(f"{work}: {HAND}", slope, (ahead - behind) / (2.0 * STEP), OF_DIFFERENCES)
    runners = {
        NUMPY: Runner(partial(call, np, a, b), results),
        HAND: Runner(partial(by_hand, a, b, weights), expected),
        GRADIENT: Runner(partial(cadiff.value_and_grad(total), a), expected),
    }
    if HAS_TORCH:
        runners[TORCH] = by_torch(name, a, b, weights)
    return Contest(work, runners)


# Gaussian processes


def log_likelihood(np: Any, linalg: Any, p: Any, squares: FloatArray, y: FloatArray) -> Any:
    """Of observations y, by scale, length and noise of the process, all as logarithms."""
    scale, length, noise = np.exp(p)
    cov = scale * np.exp(squares / (-2.0 * length**2)) + noise * np.eye(len(y))
    lower = linalg.cholesky(cov, lower=True)
    alpha = linalg.cho_solve((lower, True), y)
    return -0.5 * (y @ alpha) - np.sum(np.log(np.diagonal(lower)))


def likelihood_by_hand(p: FloatArray, squares: FloatArray, y: FloatArray) -> Pulled:
    """Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), equation 5.9."""
    scale, length, noise = np.exp(p)
    signal = scale * np.exp(squares / (-2.0 * length**2))
    factors = scipy.linalg.cho_factor(signal + noise * np.eye(len(y)), lower=True)
    alpha = scipy.linalg.cho_solve(factors, y)
    inside = np.outer(alpha, alpha) - scipy.linalg.cho_solve(factors, np.eye(len(y)))
    slopes = [signal, signal * squares / length**2, noise * np.eye(len(y))]
    value = -0.5 * y @ alpha - np.log(np.diag(factors[0])).sum()
    return float(value), np.array([0.5 * np.vdot(inside, slope) for slope in slopes])


def observations(n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Where the likelihood is taken, squared distances, and what was observed."""
    x = np.linspace(0.0, 10.0, n)
    y = np.sin(x) + 0.1 * np.random.default_rng(5).standard_normal(n)
    return np.array([0.1, 0.3, -2.0]), (x[:, None] - x[None, :]) ** 2, y


def likelihood(n: int) -> Contest:
    """Value and gradient of the likelihood of a Gaussian process, from n observations."""
    p, squares, y = observations(n)
    expected = likelihood_by_hand(p, squares, y)

    def total(p: Any) -> Any:
        return log_likelihood(cnp, cadiff.scipy.linalg, p, squares, y)

    return Contest(
        f"Gaussian process, {n} observations",
        {
            NUMPY: Runner(partial(log_likelihood, np, scipy.linalg, p, squares, y), expected[0]),
            HAND: Runner(partial(likelihood_by_hand, p, squares, y), expected),
            GRADIENT: Runner(partial(cadiff.value_and_grad(total), p), expected),
        },
    )


# Second order


def log_det(a: Any) -> Any:
    """By a Cholesky factor."""
    return 2.0 * cnp.sum(cnp.log(cnp.diagonal(cnp.linalg.cholesky(a))))


def product(n: int) -> Contest:
    """The Hessian of the logarithm of a determinant, by a factor, times a direction."""
    a = positive(n)
    direction = symmetric(np.random.default_rng(2).standard_normal((n, n)))
    inverse = np.linalg.inv(a)
    gradient = folded(inverse)
    moved = -folded(symmetric(inverse @ direction @ inverse))
    return Contest(
        f"log det of {n} x {n} by cholesky",
        {
            GRADIENT: Runner(partial(cadiff.value_and_grad(log_det), a), (log_det(a), gradient)),
            PRODUCT: Runner(partial(cadiff.hvp(log_det), a, direction), moved),
        },
    )


CONTESTS: list[Callable[[], Contest]] = [
    *(partial(decomposition, name, n) for name in DECOMPOSITIONS for n in (10, 100)),
    partial(likelihood, 100),
    partial(product, 100),
]
