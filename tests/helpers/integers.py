"""Programs of integers: the numbers that tests index, and how a program is compared with f."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cadiff
import cadiff.numpy as cnp

N = 6
TABLE = np.random.default_rng(1).normal(size=(N, 3))
LABELS = np.array([2, 0, 1, 1, 2, 0])
GRID = np.linspace(0.0, 10.0, 11)
HEIGHTS = np.sin(GRID)


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def row(rng: np.random.Generator) -> Any:
    return rng.uniform(0.5, 2.0, N)


def check(f: Callable[..., Any], calls: list[tuple[Any, ...]], recordings: int | None) -> None:
    """Programs of f, and of a number made of it, give what these give; arguments behind the first
    are no variables. That many recordings serve all calls, unless any number may."""

    def number(*args: Any) -> Any:
        return cnp.sum(cnp.sin(f(*args)))

    program, total = cadiff.compile(f), cadiff.compile(number)
    for x, *others in calls:
        v = np.linspace(-1.0, 2.0, len(x))
        near(program(x, *others), f(x, *others))
        near(program.jacobian(x, *others), cadiff.jacobian(f)(x, *others))
        value, gradient = total.value_and_grad(x, *others)
        near(value, number(x, *others))
        near(gradient, cadiff.grad(number)(x, *others))
        near(total.hvp(x, v, *others), cadiff.hvp(number)(x, v, *others))
        near(total.hessian(x, *others), cadiff.hessian(number)(x, *others))
    for made in (program, total):
        stats = made.stats()
        assert stats["obstacles"] == []
        if recordings is not None:
            assert stats["recordings"] <= recordings
            assert stats["eager"] == 0


def points(rng: np.random.Generator, dtype: Any) -> Any:
    low = 0 if np.dtype(dtype).kind == "u" else -N
    return rng.integers(low, N, 4).astype(dtype)


def replaced(y: Any, at: Any, by: Any) -> Any:
    y = y * 1.0
    y[at] = by
    return y
