"""Ipopt and NLopt as methods of `minimize`: solutions, their derivatives, and failures."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
import cadiff.scipy.optimize
from cadiff.optimize import Bounds, History, LinearConstraint, NonlinearConstraint, minimize

from ..helpers.processes import isolated

PACKAGES = {"ipopt": "cyipopt", "nlopt": "nlopt"}


@pytest.fixture(params=["ipopt", "nlopt:slsqp"])
def method(request: Any) -> Any:
    pytest.importorskip(PACKAGES[request.param.partition(":")[0]])
    return request.param


def cost(x: Any) -> Any:  # problem 71 of Hock and Schittkowski
    return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]


START, BOX = np.array([1.0, 5.0, 5.0, 1.0]), Bounds(1.0, 5.0)
BEST = [1.0, 4.742999637, 3.821149979, 1.379408293]
CONDITIONS = (
    NonlinearConstraint(cnp.prod, 25.0, np.inf),
    {"type": "eq", "fun": lambda x: cnp.sum(x**2) - 40.0},
)


def test_bounds_and_constraints(method: str) -> None:
    found = minimize(cost, START, method=method, bounds=BOX, constraints=CONDITIONS)
    assert found.success
    np.testing.assert_allclose(found.x, BEST, atol=1e-6)
    assert found.x.min() >= 1.0
    assert found.nfev < 30  # all derivatives are there
    linear = LinearConstraint(
        [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]], [-np.inf, 2.0], [4.0, 2.0]
    )
    ours = minimize(cost, START, method=method, bounds=BOX, constraints=linear)
    theirs = minimize(cost, START, method="trust-constr", bounds=BOX, constraints=linear)
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-4)


def test_parameters_in_containers_a_callback_and_options(method: str) -> None:
    start = {"a": 0.0, "b": np.zeros(2)}
    found = minimize(
        lambda p: (p["a"] - 1.0) ** 4 + cnp.sum((p["b"] - 2.0) ** 2),
        start,
        method=method,
        bounds={"b": (None, 1.5)},
        callback=(history := History()),
        tol=1e-10,
    )
    assert found.x["b"].round(5).tolist() == [1.5, 1.5]
    assert history.values[-1] < history.values[0]
    limit = {"ipopt": "maxiter"}.get(method, "maxeval")
    assert not minimize(cost, START, method=method, bounds=BOX, options={limit: 1}).success

    def stop(intermediate_result: Any) -> None:
        raise StopIteration

    found = minimize(cost, START, method=method, bounds=BOX, callback=stop)
    assert not found.success
    assert found.nfev < 4


def test_solutions_have_derivatives(method: str) -> None:
    def solution(a: Any, method: str | None) -> Any:
        return cadiff.scipy.optimize.minimize(
            lambda x: cnp.sum((x - a) ** 4) + cnp.sum(x**2),
            np.zeros(2),
            method=method,
            constraints={"type": "eq", "fun": lambda x: x[0] + 2.0 * x[1] - a[0]},
            tol=1e-10,
        ).x

    a = np.array([1.0, 2.0])
    expected = cadiff.jacobian(lambda a: solution(a, "SLSQP"))(a)
    np.testing.assert_allclose(
        cadiff.jacobian(lambda a: solution(a, method))(a), expected, rtol=1e-6
    )
    program = cadiff.compile(lambda a: solution(a, method))
    np.testing.assert_allclose(program(a), solution(a, "SLSQP"), rtol=1e-6)
    np.testing.assert_allclose(program.jacobian(a), expected, rtol=1e-6)


def test_large_sparse_problems(method: str) -> None:
    """A chain of numbers, with a constraint for each pair."""
    chain = lambda x: cnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)  # noqa: E731
    pairs = NonlinearConstraint(lambda x: x[::2] * x[1::2], 0.25, 0.64)
    found = minimize(
        chain, np.full(200 if method == "ipopt" else 20, 0.6), method=method, constraints=pairs
    )
    assert found.success
    assert np.all(np.abs(found.x[::2] * found.x[1::2] - 0.445) < 0.196)
    if method == "ipopt":
        assert found.nhev > 0


def test_errors_say_what_to_write(method: str) -> None:
    def fails(x: Any) -> Any:
        if np.any(cadiff.value(x) != START):
            raise KeyError("x")
        return cost(x)

    with pytest.raises(KeyError):
        minimize(fails, START, method=method)
    with pytest.raises(KeyError):
        minimize(cost, START, method=method, constraints=NonlinearConstraint(fails, 3.0, 4.0))
    with pytest.raises(ValueError, match="has no option 'nonsense'"):
        minimize(cost, START, method=method, options={"nonsense": 1})
    with pytest.raises(ValueError, match="scalar value, not an array"):
        minimize(lambda x: x, START, method=method)
    found = minimize(lambda x: cnp.sum(cnp.log(x)), -START, method=method)
    assert not found.success
    module = import_module(f"cadiff.optimize._{method.partition(':')[0]}")
    with pytest.raises(TypeError, match=r"cadiff\.optimize\.minimize\(f, x0, method="):
        module.minimize(cost, START)


def test_results_pickle_and_threads_do_not_mix(method: str) -> None:
    found = minimize(cost, START, method=method, bounds=BOX, constraints=CONDITIONS)
    assert pickle.loads(pickle.dumps(found)).x.tolist() == found.x.tolist()
    shifts = np.linspace(0.0, 1.0, 8)

    def shifted(a: float) -> Any:
        return minimize(lambda x: cnp.sum((x - a) ** 2), np.zeros(3), method=method).x

    with ThreadPoolExecutor(4) as pool:
        for a, x in zip(shifts, pool.map(shifted, shifts), strict=True):
            np.testing.assert_allclose(x, np.full(3, a), atol=1e-5)


def test_ipopt_learns_of_entries_that_come_later() -> None:
    pytest.importorskip("cyipopt")

    def branching(x: Any) -> Any:
        total = cnp.sum((x - 1.0) ** 2)
        return total + x[0] * x[1] * x[-1] if x[0] > 0.5 else total

    found = minimize(branching, np.zeros(60), method="ipopt")
    assert found.success
    gradient = cadiff.grad(branching)(found.x)
    np.testing.assert_allclose(gradient, np.zeros(60), atol=1e-6)


def test_ipopt_without_second_derivatives() -> None:
    pytest.importorskip("cyipopt")
    square = cadiff.primitive(lambda x: float(np.sum(x * x)))
    square.defvjp(lambda ans, x: lambda g: np.asarray(cadiff.value(2.0 * g * x)))
    found = minimize(lambda x: square(x - 1.0), np.zeros(2), method="ipopt")
    assert found.success
    assert found.nhev == 0


@pytest.mark.parametrize("algorithm", ["auglag", "mma", "LN_COBYLA", "LD_LBFGS"])
def test_algorithms_of_nlopt(algorithm: str) -> None:
    pytest.importorskip("nlopt")
    sides = () if algorithm == "LD_LBFGS" else NonlinearConstraint(cnp.sum, -np.inf, 2.0)
    goal = lambda x: cnp.sum((x - 1.0) ** 2)  # noqa: E731
    found = minimize(goal, np.zeros(4), method=f"nlopt:{algorithm}", constraints=sides)
    assert found.success
    np.testing.assert_allclose(found.x, 1.0 if algorithm == "LD_LBFGS" else 0.5, atol=1e-4)


def test_names_of_algorithms_and_what_they_lack() -> None:
    pytest.importorskip("nlopt")
    with pytest.raises(ValueError, match=r"no algorithm 'nlopt:newton': it has .*ld_slsqp"):
        minimize(cost, START, method="nlopt:newton")
    with pytest.raises(ValueError, match="LD_MMA takes no equations as constraints: write"):
        minimize(cost, START, method="nlopt:mma", constraints=CONDITIONS)
    with pytest.raises(ValueError, match="LD_LBFGS takes no inequalities"):
        minimize(cost, START, method="nlopt:lbfgs", constraints=CONDITIONS[0])
    stopped = minimize(lambda x: cnp.sum(x) * cnp.nan, START, method="nlopt:LN_COBYLA")
    assert "f is nan at" in stopped.message


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_is_imported_when_it_is_asked_for(name: str, monkeypatch: Any) -> None:
    loaded = f"[n for n in sys.modules if n in ('cadiff.optimize._{name}', '{PACKAGES[name]}')]"
    assert isolated(f"import sys, cadiff.scipy.optimize, cadiff.optimize; print({loaded})") == "[]"
    monkeypatch.delitem(sys.modules, f"cadiff.optimize._{name}", raising=False)
    monkeypatch.setitem(sys.modules, PACKAGES[name], None)
    method = name if name == "ipopt" else f"{name}:slsqp"
    with pytest.raises(ModuleNotFoundError, match=rf"not installed here: .*cadiff\[{name}\]"):
        minimize(cost, START, method=method)
