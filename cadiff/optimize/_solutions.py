"""What derivatives at a solution tell: the Hessian, covariances, standard errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..programs.traces import warn_caller
from ._boxes import sides_of
from ._vectors import FloatArray, Parameters

EPSILON = float(np.finfo(np.float64).eps)
NOT_ESTIMATED = "Covariance of the parameters could not be estimated"  # as SciPy says


class Solution(ABC):
    """A point that an optimiser found, with the matrices that belong to it."""

    def __init__(self, parameters: Parameters, x: FloatArray, bounds: Any) -> None:
        self.parameters = parameters
        self.x = np.array(x)
        self._bounds = bounds
        self._hessian: FloatArray | None = None

    @property
    def hessian(self) -> FloatArray:
        """The second derivatives of what was minimised, (n, n)."""
        if self._hessian is None:
            matrix = self._second_derivatives()
            matrix = matrix.toarray() if hasattr(matrix, "nnz") else np.asarray(matrix)
            self._hessian = 0.5 * (matrix + matrix.T)
        return self._hessian

    @abstractmethod
    def _second_derivatives(self) -> Any: ...

    @abstractmethod
    def _gradient(self) -> FloatArray: ...

    @abstractmethod
    def _covariance(self, free: NDArray[np.bool_], absolute_sigma: bool | None) -> Any:
        """Covariance of the parameters that are free; None where it cannot be estimated."""

    def covariance(self, absolute_sigma: bool | None) -> FloatArray:
        """The covariance of the vector, nan in rows and columns of what is at a bound."""
        n = len(self.x)
        free = ~self._at_bounds()
        result = np.full((n, n), np.nan)
        found = self._covariance(free, absolute_sigma) if free.any() else np.empty((0, 0))
        if found is None:
            warn_caller(NOT_ESTIMATED, optimize.OptimizeWarning)
            found = np.inf
        result[np.ix_(free, free)] = found
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
        gradient, curvature = self._gradient(), np.diag(self.hessian)
        with np.errstate(all="ignore"):
            step = -gradient / curvature
        at |= (curvature > 0.0) & ((step <= -below) | (step >= above))
        return at


class Likelihood(Solution):
    """The minimum of a function that stands for a negative logarithm of a likelihood."""

    def __init__(
        self,
        parameters: Parameters,
        x: FloatArray,
        bounds: Any,
        gradient: Callable[[FloatArray], Any],
        hessian: Callable[[FloatArray], Any],
        has_constraints: bool,
    ) -> None:
        super().__init__(parameters, x, bounds)
        self._gradient_at, self._hessian_at = gradient, hessian
        self._has_constraints = has_constraints

    def _second_derivatives(self) -> Any:
        return self._hessian_at(self.x)

    def _gradient(self) -> FloatArray:
        return np.asarray(self._gradient_at(self.x), dtype=np.float64)

    def _covariance(self, free: NDArray[np.bool_], absolute_sigma: bool | None) -> Any:
        if absolute_sigma is not None:
            raise TypeError(
                "absolute_sigma is for sums of squares, by least_squares; what was minimised here "
                "is taken for a negative log-likelihood, which has all scales"
            )
        if self._has_constraints:
            raise ValueError(
                "the inverse Hessian is no covariance of parameters that have constraints: "
                "result.hessian() is the Hessian of the objective alone"
            )
        return inverse_of_definite(self.hessian[np.ix_(free, free)])


class Squares(Solution):
    """The minimum of a sum of squares."""

    def __init__(self, parameters: Parameters, result: Any, bounds: Any) -> None:
        super().__init__(parameters, result.x, bounds)
        self._jacobian, self._squares = result.jac, 2.0 * float(result.cost)
        self._grad = np.asarray(result.grad)

    def _second_derivatives(self) -> Any:
        return self._jacobian.T @ self._jacobian

    def _gradient(self) -> FloatArray:
        return self._grad

    def _covariance(self, free: NDArray[np.bool_], absolute_sigma: bool | None) -> Any:
        if hasattr(self._jacobian, "nnz"):
            found = inverse_of_definite(self.hessian[np.ix_(free, free)])
        else:
            found = inverse_of_squares(np.asarray(self._jacobian)[:, free])
        if found is None or absolute_sigma:
            return found
        degrees = self._jacobian.shape[0] - int(free.sum())
        return self._squares / degrees * found if degrees > 0 else None


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
    inverse: FloatArray = root @ root.T
    return inverse


def inverse_of_squares(matrix: FloatArray) -> FloatArray | None:
    """The inverse of `matrix.T @ matrix`; None where columns depend on each other."""
    lengths = np.linalg.norm(matrix, axis=0)
    if not (np.all(np.isfinite(lengths)) and np.all(lengths > 0.0)):
        return None
    _, scales, vt = np.linalg.svd(matrix / lengths, full_matrices=False)
    if len(scales) < len(lengths) or not scales[-1] > EPSILON * max(matrix.shape) * scales[0]:
        return None
    root = vt.T / (scales * lengths[:, np.newaxis])
    inverse: FloatArray = root @ root.T
    return inverse
