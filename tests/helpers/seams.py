"""Functions that tests of seams share: for cadiff, and of operations of another package."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import cadiff

A = np.linspace(0.1, 0.9, 6).reshape(2, 3)
b = np.linspace(-0.5, 1.0, 3)


def product(A: Any, b: Any) -> Any:
    return np.sin(A) @ b, np.sum(b**2) * A[0, 0]


def energy(x: Any) -> Any:
    return np.sum(np.exp(x) * x)


def of_both(product: Callable[..., Any]) -> Callable[..., Any]:
    """A number of what `product`, or an operation of the same values, returns."""

    def number(A: Any, b: Any) -> Any:
        vector, last = product(A, b)
        return np.sum(vector**2) + last

    return number


direct = of_both(product)


def check_derivative(operation: Any, transform: Any, argnums: int) -> None:
    """An operation of the values of `product` has its derivatives, too."""
    found = transform(of_both(operation), argnums)(A, b)
    expected = transform(direct, argnums)(A, b)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def check_replays(operation: Any) -> None:
    program = cadiff.compile(of_both(operation))
    for k in (1.0, 2.0):
        expected = cadiff.grad(direct)(k * A, b)
        np.testing.assert_allclose(program.grad(k * A, b), expected, rtol=1e-12)
    assert program.stats()["recordings"] == 1


def check_pickle(operation: Any) -> None:
    """An operation of the values of `energy` pickles, and gives plain numbers."""
    copy = pickle.loads(pickle.dumps(operation))
    assert type(copy(b)) is np.float64
    np.testing.assert_allclose(copy(b), energy(b), rtol=1e-14)
    assert cadiff.grad(copy)(0.0) == 1.0
