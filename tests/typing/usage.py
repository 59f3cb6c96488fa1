"""What type checkers make of code as users write it. It is checked, by two of them, and never run.

Gradient functions keep the parameters of what they are given, programs its result as well; what
`assert_type` states is what editors show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import cadiff
import cadiff.math
import cadiff.numpy as cnp
import cadiff.scipy.special

Vector = NDArray[np.float64]


def area(width: float, height: float = 1.0) -> float:
    return width * height


def loss(weights: Vector, design: Vector, *, penalty: float = 0.0) -> float:
    return float(np.sum((design @ weights) ** 2) + penalty)


def with_length(weights: Vector) -> tuple[float, int]:
    return float(np.sum(weights**2)), len(weights)


ones = np.ones(3)

# Functions of numbers give what they are given.
assert_type(cadiff.sin(1.0), float)
assert_type(cadiff.sin(cadiff.Var(1.0)), cadiff.Var)
assert_type(cadiff.sin(cadiff.Dual(1.0)), cadiff.Dual)
cadiff.math.sin(1.0)
assert_type(cadiff.scipy.special.gammaln(2.0), float)
assert_type(cadiff.scipy.special.expit(np.ones(3)), Vector)
cnp.zeros(3)

# Gradient functions are called like f, and have its documentation.
slope: Callable[[float, float], Any] = cadiff.grad(area)
cadiff.grad(area)(2.0)
cadiff.grad(loss, argnums=(0, 1))(ones, np.eye(3), penalty=1.0)
cadiff.jacobian(loss)(ones, design=np.eye(3))
cadiff.hessian(loss)(ones, np.eye(3))
cadiff.elementwise_grad(area)(2.0)
cadiff.elementwise_grad(np.sin)(ones)
cadiff.vmap(np.sin)(ones)
cadiff.sparse_jacobian(loss)(ones, np.eye(3))
cadiff.vmap(loss, (None, 0))(ones, np.eye(3))
cadiff.grad(cadiff.grad(area))(1.0, 2.0)
cadiff.grad(lambda x: np.sum(np.sin(x)))(ones)
cadiff.grad(lambda p: p["a"] * p["b"][1])({"a": 2.0, "b": [3.0, 5.0]})
assert_type(cadiff.value_and_grad(area)(1.0, 2.0), tuple[float, Any])
assert_type(cadiff.value_and_grad(with_length, has_aux=True)(ones), tuple[tuple[float, int], Any])
assert_type(cadiff.grad(with_length, has_aux=True)(ones), tuple[Any, int])
assert_type(cadiff.checkpoint(area)(2.0), float)

# Programs, too, and give what f gives.
program = cadiff.compile(area)
assert_type(program(2.0, height=3.0), float)
program.value_and_grad(2.0)


@cadiff.compile(max_traces=2)
def compiled(x: Vector, n: int) -> float:
    return float(np.sum(x**n))


assert_type(compiled(ones, 2), float)

# Directions.
out, tangent = cadiff.jvp(area, (1.0, 2.0), (1.0, 0.0))
out, pullback = cadiff.vjp(area, 1.0, 2.0)
pullback(1.0)
out, linear = cadiff.linearize(area, 1.0, 2.0)
assert_type(linear, cadiff.LinearMap)

# What is called otherwise than f is found. Both checkers say so where such a line has no mistake.
cadiff.grad(area)("a")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
cadiff.hessian(area)(1.0, 2.0, 3.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
program(height=2.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
cadiff.no_such_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
