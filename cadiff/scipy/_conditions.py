"""Bounds and constraints in all forms that SciPy's solvers take: lower <= c(x) <= upper.

Numbers in them may carry derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..operations import arrays
from ..transforms._solutions import vector_of
from ._calls import as_args

Function = Callable[..., Any]


class Condition(NamedTuple):
    """lower <= c(x) <= upper, of vectors of one length, or of sides that are broadcast to it."""

    function: Function
    lower: Any
    upper: Any

    def at(self, x: Any) -> tuple[Any, Any, Any]:
        values = vector_of(self.function(x))
        n = values.shape
        return values, *(arrays.broadcast_to(vector_of(s), n) for s in (self.lower, self.upper))


def within(lower: Any, upper: Any) -> Condition:
    return Condition(lambda x: x, _side(lower, -np.inf), _side(upper, np.inf))


def by_pairs(bounds: Any) -> Iterator[Condition]:
    """Bounds as an object, or as a pair for each number of x, where None stands for none."""
    if hasattr(bounds, "lb"):
        yield within(bounds.lb, bounds.ub)
    elif bounds is not None and len(bounds):
        yield within(*zip(*bounds, strict=True))


def by_sides(bounds: Any) -> Iterator[Condition]:
    """Bounds as an object, or as two sides."""
    if bounds is not None:
        sides = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
        yield within(*sides)


def _side(numbers: Any, unbounded: float) -> Any:
    if numbers is None:
        return unbounded
    if isinstance(numbers, (list, tuple)):
        numbers = [unbounded if x is None else x for x in numbers]
        return arrays.concatenate([vector_of(x) for x in numbers])
    return numbers


def of_constraints(constraints: Any) -> Iterator[Condition]:
    """Constraints of `minimize`: dicts and objects, one or many."""
    if constraints is None:
        return
    if isinstance(constraints, dict) or hasattr(constraints, "lb"):
        constraints = [constraints]
    for one in constraints:
        if isinstance(one, dict):
            function, args = one["fun"], one.get("args", ())
            upper = 0.0 if one["type"].lower() == "eq" else np.inf
            yield Condition(_with(function, args), 0.0, upper)
        elif hasattr(one, "fun"):
            yield Condition(one.fun, one.lb, one.ub)
        elif hasattr(one, "A"):
            yield linear(one.A, one.lb, one.ub)
        else:  # differential_evolution takes bounds among them
            yield within(one.lb, one.ub)


def linear(matrix: Any, lower: Any, upper: Any) -> Condition:
    matrix = dense(matrix)
    return Condition(lambda x: matrix @ x, lower, upper)


def dense(matrix: Any) -> Any:
    """A matrix of numbers, of which SciPy may have a sparse one."""
    if hasattr(matrix, "toarray"):
        return matrix.toarray()
    if hasattr(matrix, "matvec"):
        raise TypeError(
            "a LinearOperator has no entries by which there is a derivative: give the matrix, an "
            "array or a sparse one"
        )
    return arrays.as_array(matrix)


def of_functions(functions: Any, args: Any, upper: float) -> Iterator[Condition]:
    """Functions that are 0, or at least 0, where the condition holds."""
    if functions is None:
        return
    for function in functions if isinstance(functions, (list, tuple)) else [functions]:
        yield Condition(_with(function, args), 0.0, upper)


def _with(function: Function, args: Any) -> Function:
    return lambda x: function(x, *as_args(args))
