"""The contests of linear maps: a pull against the function, eight lanes against one.

Jacobians and gradients are known from formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import cadiff
import cadiff.numpy as cnp
from benchmarks import problems
from benchmarks.contests import ARRAY, FLOATS, LIST, Contest, FloatArray, Runner

__all__ = [
    "CONTESTS",
    "FUNCTION",
    "JACOBIAN",
    "PULL",
    "PULLBACK",
    "PUSHES",
    "broyden",
    "broyden_jacobian",
    "elementwise_pull",
    "rosenbrock_pull",
    "tridiagonal",
]

FUNCTION = "function on ndarrays"
JACOBIAN = "jacobian"
PULL = "pull of the map"
PULLBACK = "pull of a recording"
PUSHES = "one push a column"


def rosenbrock_pull(n: int) -> Contest:
    """The gradient of Rosenbrock's function by a map that was made before."""
    f = problems.rosenbrock
    at = problems.rosenbrock_point(n)
    gradient = problems.rosenbrock_gradient(np.array(at))
    _, of_list = cadiff.linearize(f, at)
    _, of_array = cadiff.linearize(f, np.array(at))
    return Contest(
        f"Rosenbrock n={n}, linearised",
        {
            FLOATS: Runner(partial(f, at), f(at)),
            LIST: Runner(partial(of_list.vjp, 1.0), gradient),
            ARRAY: Runner(partial(of_array.vjp, 1.0), gradient),
        },
    )


def elementwise_pull(n: int) -> Contest:
    """Sines, exponentials and tangents of n elements, one after the other."""
    x, u = np.linspace(-1.0, 1.0, n), np.linspace(1.0, 2.0, n)

    def f(x: Any, np: Any = cnp) -> Any:
        return np.tanh(np.exp(np.sin(x)))

    value = f(x, np)
    slope = (1.0 - value**2) * np.exp(np.sin(x)) * np.cos(x)
    _, lin = cadiff.linearize(f, x)
    pullback = cadiff.vjp(f, x)[1]
    return Contest(
        f"tanh(exp(sin(x))), {n:,} elements",
        {
            FUNCTION: Runner(partial(f, x, np), value),
            PULL: Runner(partial(lin.vjp, u), u * slope),
            PULLBACK: Runner(partial(pullback, u), u * slope),
        },
    )


def broyden(x: Sequence[Any]) -> list[Any]:
    """Broyden's tridiagonal function, number by number.

    More, Garbow and Hillstrom, Testing unconstrained optimization software, problem 30.
    """
    n = len(x)
    values = []
    for i in range(n):
        value = (3.0 - 2.0 * x[i]) * x[i] + 1.0
        if i > 0:
            value = value - x[i - 1]
        if i < n - 1:
            value = value - 2.0 * x[i + 1]
        values.append(value)
    return values


def broyden_of_arrays(x: Any) -> Any:
    """Broyden's tridiagonal function in operations on arrays."""
    zero = np.zeros(1)
    value = (3.0 - 2.0 * x) * x + 1.0
    return value - cnp.concatenate([zero, x[:-1]]) - 2.0 * cnp.concatenate([x[1:], zero])


def broyden_jacobian(x: FloatArray) -> FloatArray:
    """Its Jacobian."""
    n = len(x)
    matrix: FloatArray = np.diag(3.0 - 4.0 * x) - np.eye(n, k=-1) - 2.0 * np.eye(n, k=1)
    return matrix


def tridiagonal(n: int, *, arrays: bool) -> Contest:
    """The dense Jacobian of Broyden's function: eight lanes a sweep, or one."""
    x = np.linspace(-1.0, 1.0, n)
    f: Callable[..., Any] = broyden_of_arrays if arrays else broyden
    _, lin = cadiff.linearize(f, x)
    unit = np.eye(n)
    expected = broyden_jacobian(x)

    def pushes() -> FloatArray:
        matrix = np.empty((n, n))
        for k in range(n):
            matrix[:, k] = lin(unit[k])
        return matrix

    return Contest(
        f"Broyden n={n}, {'arrays' if arrays else 'a loop'}",
        {
            PUSHES: Runner(pushes, expected),
            "todense": Runner(lin.todense, expected),
            JACOBIAN: Runner(partial(cadiff.jacobian(f), x), expected),
        },
    )


CONTESTS: tuple[Callable[[], Contest], ...] = (
    partial(rosenbrock_pull, 1000),
    partial(elementwise_pull, 10_000),
    partial(tridiagonal, 1000, arrays=False),
    partial(tridiagonal, 1000, arrays=True),
)
