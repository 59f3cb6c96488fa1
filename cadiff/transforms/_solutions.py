"""Numbers that solve equations, as functions of what the equations read.

Where F(z, theta) = 0, dz/dtheta = -(dF/dz)^-1 dF/dtheta, by the implicit function theorem; how z
was found does not matter. A solver finds it on plain floats. One rule serves all of them: an
`Equation` says how to find z, and what F is. For minima z is a point with the multipliers of
its constraints, and F the Karush-Kuhn-Tucker conditions, of which the active ones are held
(Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, 1983).

Solvers stop within their tolerances. Derivatives are taken where a few steps of Newton's method
lead from there, so that they have more digits than the solution; its value stays the solver's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding.callers import warn_caller
from ..operations import arrays
from ..operations.guards import NoDerivativeError
from ._closed import Witness, check
from ._forward import jvp
from ._jacobians import jacobian
from ._reverse import grad, vjp
from ._second import hessian
from ._solver_side_effects import rule_of_a_solver

FloatArray = NDArray[np.float64]

MOST_STEPS = 5  # of Newton's method
SMALL = 1e-13  # steps that are rounding errors, relative to the solution
NEAR = 0.01  # of the solution: a solver that stopped farther from it has not found it
NEAR_NOTES = 1e-6  # what functions have stored where the search ended counts as at the solution
FLOOR = 1e-2  # solutions smaller than this count as this long, ...
FAILED_FLOOR = 1e-6  # ... or as this, where the solver says that it failed


class SingularError(NoDerivativeError, np.linalg.LinAlgError):
    """The derivative of an equation is singular at its solution."""


class Equation:
    """What a solution solves; numbers may carry derivatives."""

    is_of_a_call = True
    name: str
    call: Any  # what its functions read, as `Closed`, detached
    n: int  # so many of the unknowns are the solution, the others belong to it
    witness: Witness | None = None
    is_exact = False  # whether Newton's method has found it already

    def find(self, theta: FloatArray) -> tuple[FloatArray, str]:
        """All unknowns by a solver, and what it says if it failed."""
        raise NotImplementedError

    def residual(self, z: Any, theta: Any) -> Any:
        """F, as many numbers as there are unknowns."""
        raise NotImplementedError

    def asked(self, z: Any, theta: Any) -> Any:
        """What runs all functions of the user's."""
        return self.residual(z, theta)

    def slope(self, z: Any, theta: Any) -> Any:
        """The derivative of F by z, a matrix."""
        return jacobian(lambda z: self.residual(z, theta))(z)

    def check(self, z: FloatArray, theta: FloatArray) -> None:
        """Raise RuntimeError if what solves the equation is no solution of the problem."""


class Stationary(Equation):
    """Equations of the form: a function of the unknowns is stationary."""

    def lagrangian(self, z: Any, theta: Any) -> Any:
        """The function, a number."""
        raise NotImplementedError

    def asked(self, z: Any, theta: Any) -> Any:
        return self.lagrangian(z, theta)

    def residual(self, z: Any, theta: Any) -> Any:
        return grad(lambda z: self.lagrangian(z, theta))(z)

    def slope(self, z: Any, theta: Any) -> Any:
        return hessian(lambda z: self.lagrangian(z, theta))(z)


def solution(equation: Equation, theta: Any) -> tuple[Any, Any]:
    """The solution as a vector, shape (n,), that depends on theta; and after some more steps.

    Raises
    ------
    RuntimeError
        If the solver stopped far from any solution. One that says it failed beside a solution
        gives a RuntimeWarning.
    numpy.linalg.LinAlgError
        If the derivative of F by the unknowns is singular there.
    """
    x, z = _solved(theta, equation=equation)

    def ask() -> Any:
        return equation.asked(arrays.concatenate([x, z[equation.n :]]), theta)

    equation.call.notes.settle(equation.name, ask, theta, NEAR_NOTES)
    return x, z[: equation.n]


@rule_of_a_solver
def _solved(theta: FloatArray, *, equation: Equation) -> tuple[Any, ...]:
    check(equation.witness)
    z, complaint = equation.find(theta)
    refined = z if equation.is_exact else _refined(equation, z, theta, complaint)
    equation.check(refined, theta)
    equation.witness = Witness(equation.name, lambda: equation.residual(refined, theta))
    return z[: equation.n], refined


def _refined(equation: Equation, z: FloatArray, theta: FloatArray, complaint: str) -> FloatArray:
    """The unknowns after some steps of Newton's method; an error if it leads elsewhere."""
    first, before, last = z, np.inf, z
    for _ in range(MOST_STEPS):
        try:
            residual, slope = equation.residual(z, theta), equation.slope(z, theta)
            step = -np.linalg.solve(*binding.plain_values((slope, residual)))
        except np.linalg.LinAlgError:
            if complaint:
                raise NoDerivativeError(
                    f"{equation.name} found no solution: {complaint}"
                ) from None
            raise _singular(equation) from None
        if last is not z and not np.isfinite(step).all():  # as on a bound, where it may be 0 / 0
            return last
        n = equation.n
        floor = FAILED_FLOOR if complaint else FLOOR
        way, size = np.abs(step[:n]), max(np.max(np.abs(first[:n]), initial=0.0), floor)
        if not way.max(initial=0.0) <= NEAR * size:
            said = f" ({complaint})" if complaint else ""
            raise NoDerivativeError(
                f"{equation.name} found no solution{said}: from where it ended, Newton's method "
                f"would go on by {way.max():.3g}; start nearer to it, or allow more iterations"
            )
        length = float(np.max(np.abs(step), initial=0.0))
        if length >= before:  # rounding errors
            break
        last, z, before = z, z + step, length
        if before <= SMALL * np.max(np.abs(z), initial=0.0):
            break
    if complaint:
        warn_caller(f"{equation.name} says that it failed, though a solution is near: {complaint}")
    return z


def _singular(equation: Equation) -> SingularError:
    return SingularError(
        f"{equation.name}: the derivative of what is solved is singular at the solution, which "
        "therefore has no derivative: it is no isolated one, or active constraints depend on each "
        "other"
    )


def _solve(equation: Equation, slope: Any, right: Any) -> Any:
    try:
        return np.linalg.solve(slope, right)
    except np.linalg.LinAlgError:
        raise _singular(equation) from None


def _pull(ans: Any, theta: Any, *, equation: Equation) -> Any:
    z = ans[1]
    check(equation.witness)
    slope = equation.slope(z, theta)
    _, back = vjp(lambda theta: equation.residual(z, theta), theta)

    def pull(g: Any) -> Any:
        n = equation.n
        of_z = arrays.concatenate([g[0] + g[1][:n], g[1][n:]])
        return back(-_solve(equation, np.transpose(slope), of_z))

    return pull


def _push(g: Any, ans: Any, theta: Any, *, equation: Equation) -> Any:
    z = ans[1]
    _, change = jvp(lambda theta: equation.residual(z, theta), (theta,), (g,))
    tangent = -_solve(equation, equation.slope(z, theta), change)
    return tangent[: equation.n], tangent


_solved.defvjp(_pull)
_solved.defjvp(_push)


def vector_of(out: Any) -> Any:
    """What a user's function returns, as a vector."""
    if not binding.depends(out):
        return np.ravel(out)
    return arrays.reshape(arrays.as_array(out), -1)
