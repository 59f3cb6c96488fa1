"""Functions that count, log and draw random numbers, besides what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cadiff import numpy as cnp
from cadiff import optimize
from cadiff.optimize import minimize


class Counted:
    """As test functions of SciPy's benchmarks are."""

    def __init__(self) -> None:
        self.nfev = 0
        self.seen: list[Any] = []

    def fun(self, x: Any) -> Any:
        self.nfev += 1
        self.seen.append(x)
        return cnp.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1.0 - x[:-1]) ** 2.0)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP"])
def test_one_run_has_the_value_and_the_gradient_of_a_point(method: str) -> None:
    counted = Counted()
    result = minimize(counted.fun, np.array([-1.2, 1.0, 0.7]), method=method)
    assert_allclose(result.x, 1.0, rtol=1e-3)
    assert counted.nfev == len(counted.seen) == result.nfev
    assert all(type(x) is np.ndarray for x in counted.seen)
    assert_allclose(counted.seen[-1], 1.0, rtol=1e-2)


def test_a_level_start_costs_one_run_more() -> None:
    calls: list[Any] = []

    def steps(x: Any) -> Any:
        calls.append(x)
        return cnp.sum(cnp.floor(x) ** 2)

    result = minimize(steps, np.array([3.5, -1.5]))
    assert len(calls) == result.nfev == 2


@pytest.mark.filterwarnings("error")
def test_noise_at_a_stationary_point_is_no_slope() -> None:
    rng = np.random.default_rng(0)
    result = minimize(lambda x: (x - 1.0) @ (x - 1.0) + 1e-3 * rng.normal(), np.zeros(3))
    assert_allclose(result.x, 1.0, atol=1e-9)


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_training_on_noise_draws_anew(name: str) -> None:
    rng = np.random.default_rng(0)
    drawn: list[float] = []

    def loss(w: Any, x: Any) -> Any:
        noise = rng.normal(size=x.shape)
        drawn.append(float(noise[0]))
        return cnp.mean((w * x - 2.0 * x + 0.1 * noise) ** 2)

    rows = np.linspace(1.0, 2.0, 40)
    train = getattr(optimize, name)
    result = train(loss, 0.0, rows, batch_size=10, epochs=50, learning_rate=0.05, rng=0)
    assert len(drawn) == len(set(drawn)) == result.nfev == 200
    assert_allclose(result.x, 2.0, atol=0.1)


def test_noise_from_the_global_generator_is_drawn_anew() -> None:
    np.random.seed(0)
    values: list[float] = []

    def loss(w: Any) -> Any:
        return cnp.sum((w - np.random.normal(size=2)) ** 2)

    optimize.adam(
        loss,
        np.zeros(2),
        epochs=30,
        callback=lambda intermediate_result: values.append(intermediate_result.fun),
    )
    assert len(set(values)) == 30
