"""What of a derivative depends on no input: programs do not compute it again and again. Numbers
are those of eager gradients."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as np

WEIGHTS = numpy.random.default_rng(5).standard_normal((4, 30))
MATRIX = numpy.random.default_rng(6).standard_normal((30, 30))

LINEAR: dict[str, Callable[[Any], Any]] = {
    "an inner product": lambda x: np.vdot(WEIGHTS, x),
    "of a product": lambda x: np.vdot(WEIGHTS, x @ MATRIX),
    "of another order": lambda x: np.vdot(WEIGHTS.T, x.T),
    "of the rows backwards": lambda x: np.vdot(WEIGHTS, x[::-1]),
    "of a part": lambda x: np.vdot(WEIGHTS[:2], x[1:3]),
    "of sums": lambda x: np.vdot(WEIGHTS[0], np.cumsum(np.sum(x, axis=0))),
    "twice": lambda x: np.vdot(WEIGHTS, x) + 3.0 * np.vdot(x, WEIGHTS),
}


@pytest.mark.parametrize("name", LINEAR)
def test_gradients_of_linear_functions_are_constants(name: str) -> None:
    f = LINEAR[name]
    program = cadiff.compile(f)
    for seed in range(2):
        x = numpy.random.default_rng(seed).standard_normal((4, 30))
        npt.assert_allclose(program.grad(x), cadiff.grad(f)(x), rtol=1e-14)
    program = cadiff.compile(f)
    program.grad(x)
    assert not re.search(r"result +\d+ numbers +w", program.to_text())


def test_seeds_are_no_matrices() -> None:
    """Of an inner product the gradient is each operand times the seed, element by element."""
    program = cadiff.compile(lambda x: np.vdot(np.exp(x), np.sin(x)))
    x = numpy.linspace(0.1, 1.0, 100)
    npt.assert_allclose(program.grad(x), numpy.exp(x) * (numpy.sin(x) + numpy.cos(x)))
    assert program.to_text().count("matmul") == 1


def test_what_is_not_finite_is_multiplied_as_it_is() -> None:
    weights = numpy.array([numpy.inf, numpy.nan, 0.0] * 20)
    f = lambda x: np.vdot(weights, 2.0 * x)  # noqa: E731
    npt.assert_array_equal(cadiff.compile(f).grad(numpy.zeros(60)), 2.0 * weights)


def test_programs_of_constants_are_kept_in_files() -> None:
    f = cadiff.compile(linear_by_weights)
    x = numpy.ones((4, 30))
    f.value_and_grad(x)
    restored = pickle.loads(pickle.dumps(f))
    npt.assert_array_equal(restored.grad(x), f.grad(x))
    assert restored.stats()["recordings"] == 0  # beside that of the file


def linear_by_weights(x: Any) -> Any:
    """Weights twice, which are one array of constants."""
    return np.vdot(WEIGHTS, x) + np.vdot(WEIGHTS.copy(), np.sin(x))


@pytest.mark.parametrize("shape", [(), (3,), (300,)])
def test_branches_of_partials_that_no_number_takes_are_not_computed(shape: Any) -> None:
    x = numpy.linspace(0.5, 2.0, max(1, *shape, 1)).reshape(shape)[()]
    program = cadiff.compile(cadiff.grad(lambda x: np.sum(x**20.0)))
    for point in (x, -x, 0.0 * x, numpy.inf * x):
        npt.assert_array_equal(program(point), cadiff.grad(lambda x: np.sum(x**20.0))(point))
    assert "power" in program.to_text() and not re.search("log|where|equal", program.to_text())
