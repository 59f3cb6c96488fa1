"""`scipy.optimize`, whose solutions are functions of the numbers that their problems read.

    >>> import cadiff
    >>> from cadiff.scipy.optimize import brentq
    >>> cadiff.value_and_grad(lambda a: brentq(lambda x: x * x - a, 0.0, 10.0))(4.0)
    (2.0, 0.25)

SciPy's solvers search, on plain floats, and what they find keeps its value. Its derivatives
are those of the equation that it solves, by all that this reads: arguments, closures, global
variables, bounds and constraints, of which the active ones are held. The same holds at a minimum,
which is a zero of the gradient. `x`, `root`, `fun` and `cost` of a result carry derivatives; other
numbers in it are what the search has left, which has none, and says so when it is differentiated.
Compiled programs search anew each time; counts, flags and messages are those of each search. Where
nothing carries a derivative, SciPy's own function is called. Names that are not defined here are
SciPy's own.

A search that did not converge raises RuntimeError, or warns if a solution is near; a solution at
which the equation is singular raises LinAlgError, and one that has different derivatives to both
sides, since a bound is met without being needed, NoDerivativeError. In programs, where no
derivative is asked for, the value is that of the function itself.

Searches differ from those of `cadiff.optimize`: these are SciPy's unchanged, so that a solution is
the same with derivatives and without; there, exact derivatives make the search better.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import optimize as _original

from .. import binding
from ..binding import carries
from ..numpy._common import as_number
from ..operations import arrays
from ..operations.guards import NoDerivativeError, valued
from ..transforms import jacobian
from ..transforms._solutions import vector_of
from ._calls import SolverCall, public, refuse
from ._mirror import Namespace
from ._optima import (
    Arguments,
    Condition,
    FixedPoint,
    Minimum,
    Root,
    Solver,
    Squares,
    by_pairs,
    by_sides,
    dense,
    linear,
    of_constraints,
    of_functions,
    within,
)

# --- conditions ----------------------------------------------------------------------------------


def _of_minimize(given: Arguments) -> Iterator[Condition]:
    yield from by_pairs(given.get("bounds"))
    yield from of_constraints(given.get("constraints"))


def _of_slsqp(given: Arguments) -> Iterator[Condition]:
    yield from by_pairs(given["bounds"])
    for names, upper in ((("eqcons", "f_eqcons"), 0.0), (("ieqcons", "f_ieqcons"), np.inf)):
        for name in names:
            yield from of_functions(given[name], given["args"], upper)


def _of_cobyla(given: Arguments) -> Iterator[Condition]:
    args = given["args"] if given["consargs"] is None else given["consargs"]
    yield from of_functions(given["cons"], args, np.inf)


def _of_linprog(named: Arguments) -> Iterator[Condition]:
    bounds, n = named["bounds"], len(named["c"])
    one = bounds is not None and np.ndim(bounds) < 2
    lower, upper = (bounds if len(bounds) == 2 else bounds[0]) if one else (None, None)
    if not one and bounds is not None:
        yield from by_pairs(bounds)
    else:
        yield within([lower] * n, [upper] * n)
    for matrix, lower, upper in (
        (named["A_ub"], -np.inf, named["b_ub"]),
        (named["A_eq"], named["b_eq"], named["b_eq"]),
    ):
        if matrix is not None:
            yield linear(matrix, lower, upper)


# --- kinds of their own --------------------------------------------------------------------------


class _Linear(Minimum):
    """c @ x is least."""

    def objective(self, x: Any, theta: Any) -> Any:
        named = self.call.arguments(theta)
        if np.any(named.get("integrality") or 0):
            raise NoDerivativeError(
                "linprog: whole numbers have no derivative by anything: leave integrality out, or "
                "pass cadiff.value of the numbers"
            )
        return arrays.as_array(named["c"]) @ x


class _LinearSquares(Squares):
    """The length of A @ x - b is least."""

    def residuals(self, x: Any, theta: Any) -> Any:
        given = self.call.arguments(theta)
        return dense(given["A"]) @ x - vector_of(given["b"])

    def value(self, x: Any, theta: Any) -> Any:
        residuals = self.residuals(x, theta)
        return residuals if isinstance(self.outcome, dict) else np.linalg.norm(residuals)


class _Curve(Squares):
    """The sum of squares of the residuals of a curve is least."""

    def __init__(self, solver: Solver, call: SolverCall) -> None:
        super().__init__(solver, call)
        named = binding.plain_values(call.arguments(binding.plain_values(call.theta)))
        if named["nan_policy"] == "omit":
            raise NoDerivativeError(
                'curve_fit with nan_policy="omit" has no derivatives: leave the points out before'
            )

    def residuals(self, x: Any, theta: Any) -> Any:
        named = self.call.arguments(theta)
        xdata, sigma = named["xdata"], named["sigma"]
        if isinstance(xdata, (list, tuple)):
            xdata = arrays.as_array(xdata)
        residuals = vector_of(named["f"](xdata, *x)) - vector_of(named["ydata"])
        if sigma is None:
            return residuals
        sigma = arrays.as_array(sigma)
        if sigma.ndim < 2:
            return residuals / sigma
        return np.linalg.solve(np.linalg.cholesky(sigma), residuals)

    def outcome_by(self, x: Any, refined: Any, theta: Any) -> Any:
        """(popt, pcov, ...), the covariance by the slopes of the residuals."""
        outcome = super().outcome_by(x, refined, theta)
        covariance = self.outcome[1]
        if not np.isfinite(covariance).all():
            return outcome
        slope = jacobian(lambda x: self.residuals(x, theta))(refined)
        inverse = np.linalg.inv(np.transpose(slope) @ slope)
        named = self.call.arguments(theta)
        if not named["absolute_sigma"]:
            m, n = slope.shape
            inverse = inverse * ((self.residuals(refined, theta) ** 2).sum() / (m - n))
        # The values are SciPy's, from differences of f.
        return (x, valued(inverse, self.report.value(theta, (1,))), *outcome[2:])


# --- methods of other packages -------------------------------------------------------------------


@functools.wraps(_original.minimize)
def _minimize(
    fun: Any, x0: Any, args: Any = (), method: Any = None, *rest: Any, **named: Any
) -> Any:
    """SciPy's function, or where it has no such method the one that knows Ipopt and NLopt."""
    if isinstance(method, str) and method.lower().startswith(("ipopt", "nlopt:")):
        from ..optimize import minimize

        return minimize(fun, x0, args, method, *rest, **named)
    return _original.minimize(fun, x0, args, method, *rest, **named)


# --- the table -----------------------------------------------------------------------------------


def _alike(kind: Any, names: str, *how: Any, **more: Any) -> list[Solver]:
    """Functions of SciPy's of these names, whose problems are told in the same way."""
    return [Solver(getattr(_original, name), kind, *how, **more) for name in names.split()]


SOLVERS = [
    *_alike(Root, "root", "fun", gives_pair="jac"),
    *_alike(Root, "root_scalar", "f", gives_pair="fprime"),
    *_alike(Root, "fsolve newton"),
    *_alike(Root, "brentq brenth ridder bisect toms748", "f"),
    *_alike(Root, "broyden1 broyden2 anderson newton_krylov", "F"),
    *_alike(Root, "linearmixing diagbroyden excitingmixing", "F"),
    *_alike(FixedPoint, "fixed_point"),
    Solver(_minimize, Minimum, "fun", _of_minimize, gives_pair="jac"),
    *_alike(Minimum, "minimize_scalar", "fun", lambda given: by_sides(given["bounds"])),
    *_alike(Minimum, "fmin fmin_powell brent golden brute"),
    *_alike(Minimum, "fmin_cg fmin_bfgs fmin_ncg", "f"),
    *_alike(Minimum, "fmin_l_bfgs_b differential_evolution", "func", _of_minimize),
    *_alike(Minimum, "dual_annealing direct shgo", "func", _of_minimize),
    *_alike(Minimum, "fmin_tnc", "func", _of_minimize, value=None),
    *_alike(Minimum, "fmin_cobyla", "func", _of_cobyla),
    *_alike(Minimum, "fmin_slsqp", "func", _of_slsqp),
    *_alike(Minimum, "fminbound", "func", lambda given: [within(given["x1"], given["x2"])]),
    *_alike(
        Minimum,
        "basinhopping",
        "func",
        lambda given: _of_minimize(given["minimizer_kwargs"] or {}),
    ),
    *_alike(Squares, "least_squares", "fun", lambda given: by_sides(given["bounds"])),
    *_alike(Squares, "leastsq", value=None),
    *_alike(_Curve, "curve_fit", "f", lambda given: by_sides(given["bounds"]), value=None),
    *_alike(_Linear, "linprog", "c", _of_linprog),
    *_alike(_LinearSquares, "nnls", "A", lambda given: [within(0.0, None)]),
    *_alike(_LinearSquares, "lsq_linear", "A", lambda given: by_sides(given["bounds"])),
]


def _quadratic_assignment(*args: Any, **kwargs: Any) -> Any:
    result = _original.quadratic_assignment(*binding.unguarded(args), **binding.unguarded(kwargs))
    if carries((args, kwargs)):
        named = inspect.signature(_original.quadratic_assignment).bind(*args, **kwargs).arguments
        a, b = (as_number(named[name]) for name in "AB")
        result.fun = np.sum(a * b[result.col_ind][:, result.col_ind])
    return result


# Solutions of whole numbers: they are the same for all numbers nearby.
ASSIGNMENTS = {
    _original.linear_sum_assignment: (
        lambda *args, **kwargs: _original.linear_sum_assignment(
            *binding.unguarded(args), **binding.unguarded(kwargs)
        ),
        " of values: an assignment has no derivative",
    ),
    _original.quadratic_assignment: (
        _quadratic_assignment,
        " of values, whose `fun` has derivatives: an assignment has none",
    ),
}

# Functions that have no derivatives here, and what to do instead.
REFUSED = {
    "milp": "whole numbers have no derivative: solve with linprog where they are held",
    "isotonic_regression": "write the means of its blocks, which it returns, with cadiff.numpy",
    "line_search": "call it with cadiff.value of its arguments",
    "approx_fprime": "differentiate the function itself, with cadiff.grad or cadiff.jacobian",
}


_KINDS = {
    Root: "a zero of the function",
    FixedPoint: "a fixed point",
    Minimum: "a zero of the gradient, with active bounds and constraints held",
    Squares: "the least sum of squares, with active bounds held",
    _Curve: "the least sum of squares, with active bounds held; the covariance has them, too",
    _Linear: "a vertex, with active constraints held",
    _LinearSquares: "the least sum of squares, with active bounds held",
}


def _refusing(original: Any, instead: str, /, *args: Any, **kwargs: Any) -> Any:
    refuse((args, kwargs), f"{original.__name__} has no derivative", instead)
    return original(*args, **kwargs)


def _functions() -> Iterator[tuple[Any, Callable[..., Any], str]]:
    for solver in SOLVERS:
        by = f"those of {_KINDS[solver.kind]}"
        doc = f", whose solution has derivatives by what its problem reads: {by}"
        yield solver.original, solver, doc
    for original, (function, doc) in ASSIGNMENTS.items():
        yield original, function, doc
    for name, instead in REFUSED.items():
        if original := getattr(_original, name, None):
            yield original, functools.partial(_refusing, original, instead), ", of plain numbers"


for _from, _by, _doc in _functions():
    _full = f"`scipy.optimize.{_from.__name__}`{_doc}."
    globals()[_from.__name__] = public(_from, _by, __name__, _full)
# Classes are SciPy's own, which its solvers take and return.
globals().update({name: each for name, each in vars(_original).items() if isinstance(each, type)})
__all__ = [*_original.__all__]


_namespace = Namespace("scipy.optimize", globals())
__getattr__, __dir__ = _namespace.get, _namespace.names
