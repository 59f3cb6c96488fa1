"""A batch gives the same bits again, whatever was called between.

Functions have more branches than a program has recordings, and sums that codes round otherwise
than f.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff

Function = Callable[..., Any]
NUMBERS = np.random.default_rng(0)
X = NUMBERS.standard_normal((300, 6))


def by_signs(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + (np.sin(x[i]) * np.sum(x) if x[i] > 0.0 else np.exp(x[i]) * x[i - 1])
    return total + np.dot(x, x) / 3.0 + np.sum(np.cos(x))


def by_steps(x: Any) -> Any:
    for k in range(20):
        if x[0] < 0.2 * k - 2.0:
            break
    return np.sum(np.sin(x) ** 2) * (k + 1.0) + np.dot(x, np.cos(x))


def by_order(x: Any) -> Any:
    order = sorted(range(4), key=lambda i: x[i])
    weights = np.arange(1.0, 5.0)
    return np.sum(np.exp(x) / 7.0) + sum([w * x[i] ** 2 / 3.0 for w, i in zip(weights, order)])  # noqa: B905


def flat(found: Any) -> list[Any]:
    return [part for one in found for part in flat(one)] if isinstance(found, tuple) else [found]


def disturb(program: Any, what: str) -> None:
    """Calls that change which recordings there are."""
    call = program if what == "value" else getattr(program, what)
    for x in NUMBERS.standard_normal((40, 6)):
        call(x)
    program.batch(NUMBERS.standard_normal((50, 6)), what=what)
    program.batch(X[200:], what=what)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["value", "grad", "value_and_grad", "hessian", "jacobian"])
@pytest.mark.parametrize("f", [by_signs, by_steps, by_order])
def test_batches_again(f: Function, what: str) -> None:
    first = cadiff.compile(f)
    wanted = flat(first.batch(X, what=what))
    other = cadiff.compile(f)
    disturb(other, what)
    for program in (first, other):
        for _ in range(2):
            for x, y in zip(wanted, flat(program.batch(X, what=what)), strict=True):
                np.testing.assert_array_equal(x, y)
            disturb(program, what)
    eager = [getattr(cadiff, what)(f)(x) if what != "value" else f(x) for x in X[:20]]
    for k, x in enumerate(eager):
        for y, z in zip(flat(x), wanted, strict=True):
            np.testing.assert_allclose(z[k], y, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("max_traces", [1, 3])
@pytest.mark.parametrize("n", [7, 40])
def test_batches_again_with_few_recordings(max_traces: int, n: int) -> None:
    def f(x: Any, scale: Any) -> Any:
        return by_signs(x) * scale

    def batch(program: Any) -> Any:
        return program.batch(X[:n], 1.5, what="grad", threads=1)

    program = cadiff.compile(f, max_traces=max_traces)
    wanted = batch(program)
    for _ in range(3):
        for x in X[100:160]:
            program.grad(x, 0.5)
        program.batch(X[n:], 0.7, what="grad")
        np.testing.assert_array_equal(batch(program), wanted)
    np.testing.assert_array_equal(batch(cadiff.compile(f, max_traces=max_traces)), wanted)


def test_branches_that_are_found_late() -> None:
    """Where one branch cannot be replayed, f runs eagerly for the whole batch, then and later."""

    def f(x: Any) -> Any:
        if x[0] > 2.0:
            return float(str(float(cadiff.value(x[0])))) * np.sum(np.cos(x) / 3.0)
        return np.sum(np.sin(x) / 3.0) * np.dot(x, x)

    points = np.where(np.arange(300)[:, None] == 250, 2.5, np.clip(X, -2.0, 1.9))
    program = cadiff.compile(f)
    with pytest.warns(RuntimeWarning, match="cannot be replayed"):
        wanted = program.batch(points)
    np.testing.assert_array_equal(program.batch(points), wanted)
    np.testing.assert_array_equal([f(x) for x in points], wanted)
