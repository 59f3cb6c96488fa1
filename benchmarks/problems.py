"""The problems that are timed: plain Python functions, which run on floats as they stand.

Each is written once and knows nothing of derivatives: called with floats it is the reference, and
a gradient function runs it on numbers of its own. The answers that gradients are checked against
are here as well, and come from formulas and complex steps; this module must not import cadiff.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CHAIN_OPERATIONS",
    "CHAIN_POINT",
    "CHAIN_RADIUS",
    "REGRESSION_POINT",
    "ROSENBROCK_OPERATIONS",
    "chain",
    "circle",
    "complex_step",
    "linear_regression",
    "observations",
    "rosenbrock",
    "rosenbrock_gradient",
    "rosenbrock_point",
    "rosenbrock_products",
]

Data: TypeAlias = list[float] | NDArray[np.float64]

ROSENBROCK_OPERATIONS = 8  # a coordinate
CHAIN_OPERATIONS = 7  # a step

REGRESSION_POINT = (1.7, -0.3)

# Next to a period doubling, where a step of the chain has the slope -1: so adjoints neither vanish
# nor blow up over 100,000 steps, and no sweep can skip any.
CHAIN_POINT = (-0.368, 0.869)
CHAIN_RADIUS = 0.01  # of a circle on which a chain of 1000 operations stays moderate


def rosenbrock(x: Sequence[Any]) -> Any:
    """Rosenbrock's function of n numbers, its squares written as powers."""
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def hinges(x: Sequence[Any]) -> Any:
    """A sum over n numbers, with a branch for the sign of each."""
    total = 0.0
    for number in x:
        if number > 0.0:
            total += number * number
        else:
            total -= number
    return total


def rosenbrock_products(x: Sequence[Any]) -> Any:
    """Rosenbrock's function of n numbers, its squares written as products."""
    total = 0.0
    for i in range(len(x) - 1):
        bend = x[i + 1] - x[i] * x[i]
        rest = 1.0 - x[i]
        total += 100.0 * (bend * bend) + rest * rest
    return total


def rosenbrock_point(n: int) -> list[float]:
    """A point of n coordinates between 0.5 and 1.5, no two of them alike."""
    return [1.0 + 0.5 * math.sin(i) for i in range(n)]


def rosenbrock_gradient(x: NDArray[Any]) -> NDArray[Any]:
    """The gradient of Rosenbrock's function by formula, for real or complex x of shape (n,)."""
    gradient = np.zeros_like(x)
    bend = x[1:] - x[:-1] ** 2
    gradient[:-1] = -400.0 * x[:-1] * bend - 2.0 * (1.0 - x[:-1])
    gradient[1:] += 200.0 * bend
    return gradient


def linear_regression(xs: Data, ys: Data) -> Callable[[Sequence[Any]], Any]:
    """Make the residual sum of squares of a straight line, a function of slope and intercept.

    Parameters
    ----------
    xs, ys : lists of floats, or ndarrays
        The observations. An ndarray's elements are ``np.float64``, which stands on the left of
        the subtraction.
    """

    def sum_of_squares(p: Sequence[Any]) -> Any:
        total = 0.0
        for i in range(len(xs)):
            residual = ys[i] - (p[0] * xs[i] + p[1])
            total += residual * residual
        return total

    return sum_of_squares


def observations(n: int = 500) -> tuple[list[float], list[float]]:
    """The xs and ys of n points about the line 2 x + 0.5."""
    xs = [i / n for i in range(n)]
    return xs, [2.0 * x + 0.5 + 0.1 * math.sin(7.0 * i) for i, x in enumerate(xs)]


def chain(
    steps: int, sin: Callable[[Any], Any], exp: Callable[[Any], Any]
) -> Callable[[Any, Any], Any]:
    """Make a function of two numbers that takes many steps of sines and exponentials.

    Parameters
    ----------
    steps : int
        How many.
    sin, exp : callable
        Of the numbers that the function will be called with: those of `math` for floats.
    """

    def run(x0: Any, x1: Any) -> Any:
        y = x0
        for _ in range(steps):
            y = sin(y) * x0 + exp(-y * y) * x1
        return y

    return run


def scanned_chain(
    steps: int, sin: Callable[[Any], Any], exp: Callable[[Any], Any], scan: Callable[..., Any]
) -> Callable[[Any, Any], Any]:
    """Make the same function as `chain`, its loop run by a scan, as that of `jax.lax`."""

    def run(x0: Any, x1: Any) -> Any:
        def step(y: Any, _: None) -> tuple[Any, None]:
            return sin(y) * x0 + exp(-y * y) * x1, None

        return scan(step, x0, length=steps)[0]

    return run


def complex_step(f: Callable[..., Any], args: Sequence[float], h: float = 1e-30) -> list[float]:
    """The gradient of ``f(*args)`` by complex steps: exact up to rounding, for analytic f.

    Squire and Trapp, "Using complex variables to estimate derivatives of real functions", SIAM
    Review 40 (1998): f'(x) = Im f(x + ih) / h, in which nothing cancels.
    """
    point = [complex(number) for number in args]
    gradient = []
    for i, number in enumerate(point):
        moved = [*point[:i], number + 1j * h, *point[i + 1 :]]
        gradient.append(float(f(*moved).imag / h))
    return gradient


def circle(f: Callable[[complex], complex], x: float, order: int, radius: float) -> float:
    """A derivative of high order by Cauchy's integral, for f that is analytic around x.

    Lyness and Moler, "Numerical differentiation of analytic functions", SIAM J. Numer. Anal. 4
    (1967): the trapezoidal rule on a circle, whose error falls geometrically.
    """
    points = 64
    total = 0.0
    for j in range(points):
        turn = cmath.exp(2j * math.pi * j / points)
        total += (f(x + radius * turn) * turn**-order).real
    return math.factorial(order) * total / points / radius**order
