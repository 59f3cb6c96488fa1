"""What derivatives at a solution tell: the Hessian, covariances, standard errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..binding.callers import warn_caller
from ._boxes import sides_of
from ._vectors import FloatArray, Parameters

EPSILON = float(np.finfo(np.float64).eps)
NOT_ESTIMATED = "Covariance of the parameters could not be estimated"  # as SciPy says


class Solution:
    """A point that an optimiser found, with the matrices that belong to it.

    Parameters
    ----------
    parameters, x, bounds
        The point as a vector, and what it was searched for in.
    gradient, hessian : functions of the point
        The derivatives of what was minimised.
    covariance : function of (solution, free, absolute_sigma)
        That of the parameters that are free; None where it cannot be estimated.
    """

    def __init__(
        self,
        parameters: Parameters,
        x: FloatArray,
        bounds: Any,
        gradient: Callable[[FloatArray], Any],
        hessian: Callable[[FloatArray], Any],
        covariance: Callable[[Solution, NDArray[np.bool_], bool | None], Any],
    ) -> None:
        self.parameters = parameters
        self.x = np.array(x)
        self._bounds = bounds
        self._gradient, self._second, self._covariance = gradient, hessian, covariance

    @cached_property
    def hessian(self) -> FloatArray:
        """The second derivatives of what was minimised, (n, n)."""
        matrix = self._second(self.x)
        matrix = matrix.toarray() if hasattr(matrix, "nnz") else np.asarray(matrix)
        return np.asarray(0.5 * (matrix + matrix.T))

    def hessian_by(self, free: NDArray[np.bool_]) -> FloatArray:
        """The second derivatives by the parameters that are free."""
        return self.hessian[np.ix_(free, free)]

    def covariance(self, absolute_sigma: bool | None) -> FloatArray:
        """The covariance of the vector, nan in rows and columns of what is at a bound."""
        n = len(self.x)
        free = ~self._at_bounds()
        result = np.full((n, n), np.nan)
        block = self._covariance(self, free, absolute_sigma) if free.any() else np.empty((0, 0))
        if block is None:
            warn_caller(NOT_ESTIMATED, optimize.OptimizeWarning)
            block = np.inf
        result[np.ix_(free, free)] = block
        return result

    def _at_bounds(self) -> NDArray[np.bool_]:
        """Which parameters are held by a bound.

        These are on it, or Newton's step for the parameter alone would lead across it: methods
        that stay within bounds end beside them.
        """
        lower, upper = sides_of(self._bounds, len(self.x))
        below, above = self.x - lower, upper - self.x
        at = (below <= 0.0) | (above <= 0.0)
        if np.all(np.isinf(below) & np.isinf(above)):
            return at
        gradient = np.asarray(self._gradient(self.x), dtype=np.float64)
        curvature = np.diag(self.hessian)
        with np.errstate(all="ignore"):
            step = -gradient / curvature
        at |= (curvature > 0.0) & ((step <= -below) | (step >= above))
        return at


def of_likelihood(
    has_constraints: bool, solution: Solution, free: NDArray[np.bool_], absolute_sigma: Any
) -> FloatArray | None:
    """The covariance where the function stands for a negative logarithm of a likelihood."""
    if absolute_sigma is not None:
        raise TypeError(
            "absolute_sigma is for sums of squares, by least_squares; what was minimised here "
            "is taken for a negative log-likelihood, which has all scales"
        )
    if has_constraints:
        raise ValueError(
            "the inverse Hessian is no covariance of parameters that have constraints: "
            "result.hessian() is the Hessian of the objective alone"
        )
    return inverse_of_definite(solution.hessian_by(free))


def of_squares(parameters: Parameters, result: Any, bounds: Any) -> Solution:
    """The minimum of a sum of squares."""
    jacobian, squares = result.jac, 2.0 * float(result.cost)

    def covariance(solution: Solution, free: NDArray[np.bool_], absolute_sigma: Any) -> Any:
        if hasattr(jacobian, "nnz"):
            inverse = inverse_of_definite(solution.hessian_by(free))
        else:
            inverse = inverse_of_squares(np.asarray(jacobian)[:, free])
        if inverse is None or absolute_sigma:
            return inverse
        degrees = jacobian.shape[0] - int(free.sum())
        return squares / degrees * inverse if degrees > 0 else None

    gradient = np.asarray(result.grad)
    return Solution(
        parameters,
        result.x,
        bounds,
        lambda x: gradient,
        lambda x: jacobian.T @ jacobian,
        covariance,
    )


def inverse_of_definite(matrix: FloatArray) -> FloatArray | None:
    """The inverse of a positive definite matrix; None of others, beyond rounding."""
    diagonal = np.diag(matrix)
    if not (np.all(np.isfinite(matrix)) and np.all(diagonal > 0.0)):
        return None
    lengths = np.sqrt(diagonal)
    scales, vectors = np.linalg.eigh(matrix / lengths / lengths[:, np.newaxis])
    if not scales[0] > EPSILON * len(matrix) * scales[-1]:
        return None
    root = vectors / (np.sqrt(scales) * lengths[:, np.newaxis])
    return np.asarray(root @ root.T)


def inverse_of_squares(matrix: FloatArray) -> FloatArray | None:
    """The inverse of `matrix.T @ matrix`; None where columns depend on each other."""
    lengths = np.linalg.norm(matrix, axis=0)
    if not (np.all(np.isfinite(lengths)) and np.all(lengths > 0.0)):
        return None
    _, scales, vt = np.linalg.svd(matrix / lengths, full_matrices=False)
    if len(scales) < len(lengths) or not scales[-1] > EPSILON * max(matrix.shape) * scales[0]:
        return None
    root = vt.T / (scales * lengths[:, np.newaxis])
    return np.asarray(root @ root.T)
