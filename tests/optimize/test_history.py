"""The way of an optimisation, as a History keeps it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cadiff import optimize
from cadiff.optimize import History, adam, lbfgs, minimize, sgd

from ..helpers.functions import rosenbrock, rosenbrock_gradient

START = np.array([-1.2, 1.0])


@pytest.mark.parametrize("method", ["BFGS", "SLSQP", "TNC", "L-BFGS-B", "Newton-CG", "trust-ncg"])
def test_values_and_gradients_are_those_of_the_points(method: str) -> None:
    result = minimize(rosenbrock, START, method=method, callback=History())
    history = result.history
    assert_array_equal(history.path[0], START)
    assert len(history) > 5
    assert_allclose(history.values, [rosenbrock(x) for x in history.path], rtol=1e-12, atol=1e-300)
    norms = [np.linalg.norm(rosenbrock_gradient(x)) for x in history.path]
    assert_allclose(history.gradient_norms, norms, rtol=1e-7, atol=1e-12)
    assert_allclose(history.path[-1], result.x, atol=1e-6)


def test_it_takes_no_further_evaluations() -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return rosenbrock(np.array(x))

    found = []
    for more in ({}, {"callback": History()}):
        calls.clear()
        minimize(counted, START, method="Nelder-Mead", options={"maxiter": 20}, **more)
        found.append(len(calls))
    assert found[1] <= found[0] + 1  # where it begins


def test_methods_without_gradients() -> None:
    history = minimize(rosenbrock, START, method="Nelder-Mead", callback=History()).history
    assert np.isnan(history.gradient_norms).all()
    assert_allclose(history.values, [rosenbrock(x) for x in history.path])


@pytest.mark.parametrize("method", ["BFGS", "TNC"])
@pytest.mark.parametrize("jac", [True, rosenbrock_gradient, "2-point"])
def test_gradients_of_the_users_own(method: str, jac: Any) -> None:
    fun = (lambda x: (rosenbrock(x), rosenbrock_gradient(x))) if jac is True else rosenbrock
    history = minimize(fun, START, method=method, jac=jac, callback=History()).history
    assert_array_equal(history.path[0], START)
    assert np.isnan(history.gradient_norms).all()
    assert_allclose(history.values, [rosenbrock(x) for x in history.path], rtol=1e-12, atol=1e-300)


def test_parameters_in_containers_are_flat() -> None:
    def f(p: Any) -> Any:
        return ((p["a"] - 1.0) ** 2).sum() + p["b"] ** 2

    start = {"a": np.zeros((2, 2)), "b": 2.0}
    history = minimize(f, start, callback=History()).history
    assert_array_equal(history.path[0], [0.0, 0.0, 0.0, 0.0, 2.0])
    assert_allclose(history.path[-1], [1.0, 1.0, 1.0, 1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("optimiser", [sgd, adam])
def test_training(optimiser: Any) -> None:
    def f(p: Any) -> Any:
        return ((p["w"] - 3.0) ** 2).sum()

    result = optimiser(f, {"w": np.zeros(2)}, epochs=5, callback=History(), learning_rate=0.1)
    history = result.history
    assert history.path.shape == (5, 2)
    assert_array_equal(history.path[-1], result.x["w"])
    assert history.values[0] == 18.0
    assert np.all(np.diff(history.values) < 0.0)
    assert len(lbfgs(f, {"w": np.zeros(2)}, callback=History()).history) >= 2


def test_what_scipy_tells_and_what_is_noted_by_hand() -> None:
    from scipy import optimize

    history = History()
    assert history.path.shape == (0, 0)
    optimize.minimize(rosenbrock, START, jac=rosenbrock_gradient, callback=history)
    assert_allclose(history.values, [rosenbrock(x) for x in history.path])
    history(START)
    history.note(START, [3.0, 4.0])
    assert_array_equal(history.values[-2:], [np.nan, 12.5])
    assert repr(history) == f"<cadiff.optimize.History of {len(history)} steps>"


def test_points_are_copies() -> None:
    history, x = History(), np.zeros(2)
    history.note(x, 0.0)
    x += 1.0
    assert_array_equal(history.path, [[0.0, 0.0]])


def test_searches_and_roots() -> None:
    """SciPy tells these callbacks points and values, of which the best are results."""
    box = [(-3.0, 3.0)] * 2
    runs = {
        "basinhopping": lambda h: optimize.basinhopping(
            rosenbrock, np.zeros(2), niter=5, rng=0, callback=h
        ),
        "dual_annealing": lambda h: optimize.dual_annealing(
            rosenbrock, box, maxiter=50, rng=0, callback=h
        ),
        "differential_evolution": lambda h: optimize.differential_evolution(
            rosenbrock, box, rng=0, polish=False, callback=h
        ),
    }
    for name, run in runs.items():
        result = run(History())
        way = result.history
        assert len(way) > 0, name
        assert_allclose(way.values, [rosenbrock(x) for x in way.path], err_msg=name)
        assert_allclose(way.values.min(), result.fun, atol=1e-12, err_msg=name)
    solved = optimize.root(lambda x: x**2 - 2.0, [1.0, 1.0], method="krylov", callback=History())
    assert_allclose(solved.history.path[-1], solved.x)
    assert_allclose(solved.history.values[-1], 0.5 * np.sum(solved.fun**2))
    named = optimize.basinhopping(
        lambda p: rosenbrock(p["x"]), {"x": np.zeros(2)}, niter=1, rng=0, callback=History()
    )
    assert set(named.history.unflatten(named.history.path[0])) == {"x"}
    assert History()


@pytest.mark.parametrize("name", ["basinhopping", "root"])
def test_callbacks_get_parameters_as_they_were_given(name: str) -> None:
    seen = []

    def keep(x: Any, *others: Any) -> None:
        seen.append((x, len(others)))

    if name == "root":
        optimize.root(lambda p: p["x"] ** 2 - 2.0, {"x": START}, method="krylov", callback=keep)
    else:
        optimize.basinhopping(lambda p: rosenbrock(p["x"]), {"x": START}, 1, callback=keep)
    assert seen
    for x, n_others in seen:
        assert x["x"].shape == (2,)
        assert n_others == (1 if name == "root" else 2)
