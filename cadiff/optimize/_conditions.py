"""What solvers in C are given: a task of SciPy's, and constraints as values between two sides.

SciPy's three kinds of constraints become one. All derivatives are filled in before; nothing here
knows any of the solvers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, OptimizeResult
from scipy.sparse import csr_array

from ._progress import takes_result

Function = Callable[..., Any]


@dataclass
class Task:
    """The arguments of `scipy.optimize.minimize`, of which `x` is the starting point."""

    fun: Function
    x: np.ndarray
    args: tuple[Any, ...]
    jac: Any
    hess: Any
    bounds: Any
    constraints: Any
    callback: Any

    def value(self, x: np.ndarray) -> float:
        return float(np.asarray(self.fun(x, *self.args)).item())

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.jac(x, *self.args))

    def asks_for_gradient(self, solver: str, method: str) -> None:
        """Raise TypeError if there is no function for the gradient, which a solver takes."""
        if not callable(self.jac):
            raise TypeError(
                f"{solver} takes the gradient as a function jac: leave it out in "
                f'cadiff.optimize.minimize(f, x0, method="{method}"), which fills it in'
            )


def custom_method(solve: Callable[..., OptimizeResult]) -> Callable[..., OptimizeResult]:
    """A solver of tasks as what SciPy calls a custom method; further options are the solver's."""

    def minimize(
        fun: Function,
        x0: Any,
        args: tuple[Any, ...] = (),
        jac: Any = None,
        hess: Any = None,
        hessp: Any = None,
        bounds: Any = None,
        constraints: Any = (),
        callback: Any = None,
        **options: Any,
    ) -> OptimizeResult:
        x = np.array(x0, dtype=np.float64)
        return solve(Task(fun, x, args, jac, hess, bounds, constraints, callback), **options)

    return functools.update_wrapper(minimize, solve)


@dataclass
class Condition:
    """`lower <= values(x) <= upper`; `jacobian(x)`, `hessian(x, weights)` of the weighted sum."""

    values: Function
    lower: np.ndarray
    upper: np.ndarray
    jacobian: Function
    hessian: Function | None  # None where there is none to be had

    @property
    def m(self) -> int:
        return len(self.lower)


def conditions_of(constraints: Any, x: np.ndarray) -> list[Condition]:
    """All constraints of a minimisation, whose numbers are counted at x."""
    return [_condition(x, *parts) for parts in _parts(constraints, len(x))]


def _condition(
    x: np.ndarray, values: Function, lower: Any, upper: Any, jacobian: Any, hessian: Any
) -> Condition:
    if not callable(jacobian):
        raise TypeError(
            f"this method takes Jacobians of constraints as functions, not {jacobian!r}: call "
            "cadiff.optimize.minimize, which fills in what is left out"
        )

    def flat(x: np.ndarray) -> np.ndarray:
        return np.asarray(values(x), dtype=np.float64).reshape(-1)

    low, high = (np.broadcast_to(np.asarray(s, np.float64), flat(x).shape) for s in (lower, upper))
    return Condition(flat, low, high, jacobian, hessian if callable(hessian) else None)


def _parts(constraints: Any, n: int) -> Iterator[tuple[Any, ...]]:
    """Values, sides, Jacobian and Hessian of each."""
    if isinstance(constraints, Mapping):
        kind = constraints.get("type")
        if kind not in ("eq", "ineq"):
            raise ValueError(f'a constraint as a dict has the "type" "eq" or "ineq", not {kind!r}')
        upper = 0.0 if kind == "eq" else np.inf
        yield constraints["fun"], 0.0, upper, constraints.get("jac"), constraints.get("hess")
    elif isinstance(constraints, LinearConstraint):
        matrix = constraints.A if hasattr(constraints.A, "nnz") else np.atleast_2d(constraints.A)
        empty = csr_array((n, n))
        sides = constraints.lb, constraints.ub
        yield lambda x: matrix @ x, *sides, lambda x: matrix, lambda x, weights: empty
    elif hasattr(constraints, "fun"):
        given = constraints
        yield given.fun, given.lb, given.ub, given.jac, given.hess
    else:
        for one in constraints:
            yield from _parts(one, n)


def stopped_by(callback: Function | None, x: np.ndarray, value: float) -> bool:
    """Call a callback as SciPy does, and say whether it asks for an end."""
    if callback is None:
        return False
    try:
        if takes_result(callback):
            return bool(callback(intermediate_result=OptimizeResult(x=x.copy(), fun=value)))
        return bool(callback(x.copy()))
    except StopIteration:
        return True
