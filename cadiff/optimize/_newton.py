"""Newton's method for large systems of equations whose Jacobian is sparse.

Steps solve sparse linear systems. They are shortened until the sum of squares falls by a part of
what a linear function would do; where that fails, or the Jacobian is singular, a step of Levenberg
and Marquardt's is taken (J. Nocedal and S. J. Wright, "Numerical Optimization", 2006, chapters 10
and 11).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize, sparse
from scipy.sparse import linalg

from ._vectors import FloatArray

NAME = "sparse newton"
XTOL = 1.49012e-08  # SciPy's
MOST_STEPS = 200
SUFFICIENT = 1e-4  # of the decrease by a linear function
SHORTEST = 1e-8  # of Newton's step
LARGEST_DAMPING = 1e12
LEAST = 1e-24  # of the first residuals: all that is left where roots are multiple
ROUNDING = 1e-10  # of the first residuals: what may be left where no step makes them smaller

Values = Callable[[FloatArray], FloatArray]


def newton(
    values: Values,
    jacobian: Callable[[FloatArray], Any],
    x0: FloatArray,
    tol: float | None = None,
    maxfev: int | None = None,
    callback: Callable[..., Any] | None = None,
) -> Any:
    """A root, as a result of SciPy's; `jacobian` returns sparse matrices."""
    x, f = np.array(x0), np.array(values(x0))
    xtol = XTOL if tol is None else tol
    most = maxfev or np.inf
    first = _norm(f)
    result = optimize.OptimizeResult(success=False, status=2, method=NAME, nfev=1, njev=0, nit=0)

    def count(x: FloatArray) -> FloatArray:
        result.nfev += 1
        with np.errstate(all="ignore"):
            return np.array(values(x))

    result.message = f"There is no root after {MOST_STEPS} steps."
    while result.nit < MOST_STEPS:
        if _norm(f) <= LEAST * first:
            result.success = True
            break
        if result.nfev >= most:
            result.status, result.message = 3, f"There were {result.nfev} evaluations (maxfev)."
            break
        matrix = sparse.csc_array(jacobian(x))
        result.njev += 1
        steps = _by_newton(count, matrix, x, f, xtol) or _by_damping(count, matrix, x, f, xtol)
        if steps is None:
            result.message = "No step from here reduces the residuals; another x0 may help."
            result.success = _norm(f) <= ROUNDING * first
            break
        (x, f), is_last = steps
        result.nit += 1
        if callback is not None:
            callback(x.copy(), f.copy())
        if is_last:
            result.success = True
            break
    if result.success:
        result.status, result.message = 1, "The solution converged."
    result.x, result.fun = x, f
    return result


Found = tuple[tuple[FloatArray, FloatArray], bool]  # a point and its values; whether it is a root


def _norm(f: FloatArray) -> float:
    with np.errstate(over="ignore"):
        norm = float(np.linalg.norm(f))
    return norm if np.isfinite(norm) else np.inf


def _by_newton(
    values: Values, matrix: Any, x: FloatArray, f: FloatArray, xtol: float
) -> Found | None:
    """A step along Newton's direction, as long as it may be; None if there is no such step."""
    step = _solved(matrix, -f)
    if step is None:
        return None
    length, norm = 1.0, _norm(f)
    is_short = _norm(step) <= xtol * _norm(x)
    while length > SHORTEST:
        there = values(x + length * step)
        reached = _norm(there)
        if reached <= (1.0 - SUFFICIENT * length) * norm:
            return (x + length * step, there), is_short and length == 1.0
        if is_short:  # what is left is rounding
            return (x, f), True
        # The minimum of the parabola through what is known of the sum of squares.
        ratio = (reached / norm) ** 2
        best = length**2 / (ratio - 1.0 + 2.0 * length) if np.isfinite(ratio) else 0.0
        length = min(max(best, 0.1 * length), 0.5 * length)
    return None


def _by_damping(
    values: Values, matrix: Any, x: FloatArray, f: FloatArray, xtol: float
) -> Found | None:
    """A step towards the minimum of the linear function's squares, damped until they fall."""
    normal, gradient = sparse.csc_array(matrix.T @ matrix), matrix.T @ f
    diagonal = normal.diagonal()
    scale = sparse.diags_array(np.where(diagonal > 0.0, diagonal, 1.0))
    damping, norm = 1e-6, _norm(f)
    while damping <= LARGEST_DAMPING:
        step = _solved(sparse.csc_array(normal + damping * scale), -gradient)
        if step is not None:
            if _norm(step) <= xtol * _norm(x):
                return None  # a minimum of the squares, but no root
            there = values(x + step)
            if _norm(there) < (1.0 - SUFFICIENT) * norm:
                return (x + step, there), False
        damping *= 10.0
    return None


def _solved(matrix: Any, right: FloatArray) -> FloatArray | None:
    """The solution of a linear system; None if the matrix is singular."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linalg.MatrixRankWarning)
        try:
            solution: FloatArray = linalg.splu(matrix).solve(right)
        except RuntimeError:  # exactly singular
            return None
    return solution if np.all(np.isfinite(solution)) else None
