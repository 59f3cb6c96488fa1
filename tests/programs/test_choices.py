"""`where` by a constant along one axis is what it chooses: no operation, and no copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cadiff
import cadiff.numpy as np

N = 200
STEP = 1e-30
FIRST = numpy.arange(N) == 0
ENDS = FIRST | (numpy.arange(N) >= N - 3)
INSIDE = numpy.zeros((40, 50), bool)
INSIDE[1:-1, 1:-1] = True
LEFT = numpy.arange(50) < 20

Choice = Callable[[Any, Any], Any]

CHOICES: dict[str, tuple[tuple[int, ...], Choice]] = {
    "the first": ((N,), lambda np, x: np.where(FIRST, x, x * np.roll(x, 1))),
    "a factor": ((N,), lambda np, x: x * np.where(FIRST, 1.0, np.roll(x, 1))),
    "both ends": ((N,), lambda np, x: np.where(ENDS, 0.0, np.roll(x, 1) - np.roll(x, -1))),
    "backwards": ((N,), lambda np, x: np.where(ENDS[::-1], x[::-1], x + x[::-1])),
    "of what others read": ((N,), lambda np, x: np.where(FIRST, x * x, x + 2.0) + x * x),
    "of functions": ((N,), lambda np, x: np.where(ENDS, np.sin(x), np.exp(x))),
    "the inside": ((40, 50), lambda np, x: np.where(INSIDE, np.sin(x), x)),
    "by columns": ((40, 50), lambda np, x: np.where(LEFT, x, -x)),
    "by rows": ((50, 40), lambda np, x: np.where(LEFT[:, None], x.T.reshape(50, 40), x)),
    "of a turned one": ((40, 50), lambda np, x: np.where(INSIDE.T, x.T * 2.0, x.T)),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_by_constants(name: str) -> None:
    shape, f = CHOICES[name]
    x, along, weights = numpy.random.default_rng(1).standard_normal((3, *shape))
    weights = weights.reshape(numpy.shape(f(numpy, x)))
    moved = f(numpy, x + STEP * 1j * along)
    program = cadiff.compile(lambda x: f(np, x))
    total = cadiff.compile(lambda x: np.sum(weights * f(np, x)))
    assert_allclose(program(x), f(numpy, x), rtol=1e-15)
    assert_allclose(program(along), f(numpy, along), rtol=1e-15)
    gradient = total.grad(x)
    assert_allclose(numpy.sum(gradient * along), numpy.sum(weights * moved).imag / STEP)
    assert_allclose(cadiff.grad(lambda x: np.sum(weights * f(np, x)))(x), gradient, atol=1e-15)
    text = program.to_text() + total.to_text()
    assert ("where" in text) == (len(shape) > 1)  # which paths that cancel lead through


def test_of_an_operation_only_what_is_chosen_is_computed() -> None:
    program = cadiff.compile(lambda x: np.where(FIRST, x, x * np.roll(x, 1)))
    program(numpy.ones(N))
    text = program.to_text()
    assert f"{N - 1} × multiply" in text
    assert "positive" not in text


def test_what_is_not_chosen_may_be_anything() -> None:
    x = numpy.arange(float(N))
    with numpy.errstate(divide="ignore"):
        program = cadiff.compile(lambda x: np.sum(np.where(FIRST, 0.0, np.log(x))))
        value, gradient = program.value_and_grad(x)
    assert_allclose(value, numpy.sum(numpy.log(x[1:])))
    assert_allclose(gradient, numpy.append(0.0, 1.0 / x[1:]))


def test_choices_by_turns_are_carried_out() -> None:
    odd = numpy.arange(N) % 2 == 1
    program = cadiff.compile(lambda x: np.where(odd, x, -x))
    x = numpy.linspace(-1.0, 1.0, N)
    assert_array_equal(program(x), numpy.where(odd, x, -x))
    assert "where" in program.to_text()
