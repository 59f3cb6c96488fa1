"""Derivatives within derivatives, where numbers of the outer one are assigned to arrays that are
made of arguments of the inner one alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np

X = numpy.array([1.2, 0.7])
W = numpy.array([0.5, 1.5, 2.0])


def f(x: Any, w: Any) -> Any:
    y = w * 2.0
    y[0] = x[0] * x[1]
    rest = y[1:]
    y[1] *= x[1]
    rest += x[0]
    return np.sum(y**3) * rest[0]


def without_assignment(x: Any, w: Any) -> Any:
    first, second, third = x[0] * x[1], 2.0 * w[1] * x[1] + x[0], 2.0 * w[2] + x[0]
    return (first**3 + second**3 + third**3) * second


# Of f: the derivative by w at W, as a function of x.
INNER: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad in a closure": lambda f: lambda x: cadiff.grad(lambda w: f(x, w))(W),
    "grad": lambda f: lambda x: cadiff.grad(f, argnums=1)(x, W),
    "value_and_grad": lambda f: lambda x: cadiff.value_and_grad(f, argnums=1)(x, W)[1],
    "vjp": lambda f: lambda x: cadiff.vjp(lambda w: f(x, w), W)[1](1.0),
    "jacrev": lambda f: lambda x: cadiff.jacrev(lambda w: f(x, w))(W),
    "jacfwd": lambda f: lambda x: cadiff.jacfwd(lambda w: f(x, w))(W),
    "jvp": lambda f: lambda x: cadiff.jvp(lambda w: f(x, w), (W,), (W,))[1] * numpy.ones(1),
    "hvp": lambda f: lambda x: cadiff.hvp(lambda w: f(x, w))(W, W),
    "both": lambda f: lambda x: cadiff.grad(f, argnums=(0, 1))(x, W)[1],
}

OUTER: dict[str, Callable[[Any], Any]] = {
    "jacfwd": lambda g: cadiff.jacfwd(g)(X),
    "jacrev": lambda g: cadiff.jacrev(g)(X),
    "jvp": lambda g: cadiff.jvp(g, (X,), (X,))[1],
    "twice": lambda g: cadiff.jacfwd(cadiff.jacfwd(g))(X),
}


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", INNER)
def test_numbers_of_the_outer_derivative_are_assigned(outer: str, inner: str) -> None:
    found, expected = (OUTER[outer](INNER[inner](g)) for g in (f, without_assignment))
    numpy.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_f_is_run_again_for_this_reason_alone() -> None:
    runs: list[int] = []

    def counted(x: Any, w: Any) -> Any:
        runs.append(1)
        return f(x, w) if w[0] > 0.0 else w.nonsense + np.sum(x)

    cadiff.grad(counted, argnums=1)(X, W)
    assert len(runs) == 1
    runs.clear()
    with pytest.raises(AttributeError):
        cadiff.jacfwd(lambda x: cadiff.grad(counted, argnums=1)(x, -W))(X)
    assert len(runs) == 1

    def refused(w: Any) -> Any:
        w[0] = 3.0  # so that a second run would begin with other arguments
        return f(cadiff.Dual(X, X), w)

    with pytest.raises(TypeError, match="a Dual is assigned to an array of Vars"):
        cadiff.grad(refused)(W)
