"""What several files of tests differentiate, the gradient functions by name, and a comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cadiff

Array = NDArray[Any]
Function = Callable[..., Any]

TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "grad": cadiff.grad,
    "value_and_grad": cadiff.value_and_grad,
    "elementwise_grad": cadiff.elementwise_grad,
    "jacobian": cadiff.jacobian,
    "jacfwd": cadiff.jacfwd,
    "jacrev": cadiff.jacrev,
    "hessian": cadiff.hessian,
    "hvp": lambda f: lambda x, *args, **kw: cadiff.hvp(f)(x, x, *args, **kw),
}


def square_sum(x: Any) -> Any:
    return sum(a * a for a in x)


def rosenbrock(x: Any) -> Any:
    return sum(100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2 for i in range(len(x) - 1))


def rosenbrock_gradient(x: Array) -> Array:
    gradient = np.zeros(len(x))
    bend = x[1:] - x[:-1] ** 2
    gradient[:-1] = -400.0 * x[:-1] * bend - 2.0 * (1.0 - x[:-1])
    gradient[1:] += 200.0 * bend
    return gradient


def rosenbrock_hessian(x: Array) -> Array:
    n = len(x)
    hessian = np.zeros((n, n))
    for i in range(n - 1):
        hessian[i, i] += 1200.0 * x[i] ** 2 - 400.0 * x[i + 1] + 2.0
        hessian[i + 1, i + 1] += 200.0
        hessian[i, i + 1] = hessian[i + 1, i] = -400.0 * x[i]
    return hessian


def as_numbers(f: Function) -> Function:
    """A function of a sequence as a function of so many numbers."""
    return lambda *args: f(args)


class BoomError(Exception):
    """Raised by functions of tests."""


def agree(f: Callable[[Any], Any], x: Array) -> None:
    """Tangents against differences, cotangents against tangents."""
    rng = np.random.default_rng(1)
    t = rng.standard_normal(x.shape)
    out, tangent = cadiff.jvp(f, (x,), (t,))
    h = 1e-3
    quotient = (8 * (f(x + h * t) - f(x - h * t)) - f(x + 2 * h * t) + f(x - 2 * h * t)) / (12 * h)
    np.testing.assert_allclose(tangent, quotient, rtol=1e-8, atol=1e-9)
    u = rng.standard_normal(np.shape(out))
    value, pull = cadiff.vjp(f, x)
    np.testing.assert_array_equal(value, out)
    assert np.sum(u * tangent) == pytest.approx(np.sum(pull(u) * t), rel=1e-12)
