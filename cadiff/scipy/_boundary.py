"""Boundary value problems: what `solve_bvp` finds solves the equations of its collocation.

These are those of the method of Kierzenka and Shampine (ACM Trans. Math. Softw. 27, 299, 2001) on
the mesh that SciPy has chosen: y is a cubic spline that fulfils the differential equation at the
nodes and in the middle between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import binding
from ..binding import carries
from ..operations import arrays
from ..operations.guards import NoDerivativeError
from ..transforms._solutions import Equation, FloatArray, solution, vector_of
from ._calls import SolverCall
from .interpolate import CubicHermiteSpline


class _Collocation(Equation):
    """The equations of the values at all nodes, and of the parameters behind them."""

    name = "solve_bvp"

    def __init__(self, call: SolverCall, outcome: Any) -> None:
        self.call: SolverCall = call.detached()
        self.outcome = outcome
        self.nodes: FloatArray = outcome.x
        self.shape = outcome.y.shape
        self.n = outcome.y.size + (0 if outcome.p is None else outcome.p.size)

    def find(self, theta: FloatArray) -> tuple[FloatArray, str]:
        outcome = self.outcome
        parts = [outcome.y.ravel(), [] if outcome.p is None else outcome.p]
        return np.concatenate(parts), "" if outcome.success else outcome.message

    def split(self, z: Any) -> tuple[Any, tuple[Any, ...]]:
        """y, (n, m), and the parameters, if there are any."""
        size = self.shape[0] * self.shape[1]
        y = arrays.reshape(z[:size], self.shape)
        return y, () if self.outcome.p is None else (z[size:],)

    def right_side(self, theta: Any, x: Any, y: Any, p: tuple[Any, ...]) -> Any:
        return arrays.as_array(self.call.arguments(theta)["fun"](x, y, *p))

    def residual(self, z: Any, theta: Any) -> Any:
        y, p = self.split(z)
        x, h = self.nodes, np.diff(self.nodes)
        f = self.right_side(theta, x, y, p)
        middle = 0.5 * (y[:, 1:] + y[:, :-1]) - 0.125 * h * (f[:, 1:] - f[:, :-1])
        f_middle = self.right_side(theta, x[:-1] + 0.5 * h, middle, p)
        inner = y[:, 1:] - y[:, :-1] - h / 6.0 * (f[:, :-1] + f[:, 1:] + 4.0 * f_middle)
        ends = vector_of(self.call.arguments(theta)["bc"](y[:, 0], y[:, -1], *p))
        return arrays.concatenate([arrays.reshape(inner, -1), ends])


def solve_bvp(call: SolverCall) -> Any:
    """SciPy's result with derivatives of y, yp, p and sol."""
    theta = call.theta
    named = call.arguments(theta)
    if carries(named["x"]):
        raise NoDerivativeError(
            "solve_bvp has no derivative by its mesh: let x go from 0 to 1, and have the "
            "length of the interval in fun"
        )
    if named["S"] is not None:
        raise NoDerivativeError(
            "solve_bvp has no derivatives with the singular term S=: begin beside the "
            "singularity, and have the term in fun"
        )
    outcome = call.run(binding.unguarded(theta))
    if np.iscomplexobj(outcome.y):
        raise NoDerivativeError(
            "solve_bvp has derivatives of real solutions, not of complex ones: let y have real "
            "and imaginary parts beside each other"
        )
    equation = _Collocation(call, outcome)
    z, _ = solution(equation, theta)
    y, p = equation.split(z)
    result = type(outcome)(outcome)
    result.y, result.yp = y, equation.right_side(theta, outcome.x, y, p)
    result.p = p[0] if p else None
    result.sol = CubicHermiteSpline(outcome.x, y, result.yp, axis=1)
    return result
