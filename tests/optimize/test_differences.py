"""Differences are those that SciPy's own call takes, of functions of plain numbers alone.

So results are SciPy's to the last digits: with the steps of each method, with steps that are
given, within bounds, and of functions that write into what they are given.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from scipy import optimize as scipy_optimize

import cadiff
from cadiff import numpy as cnp
from cadiff import optimize

METHODS = ["BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP", "trust-constr"]
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* takes finite differences, which give fewer digits:RuntimeWarning"
)


def by_assignment(x: Any) -> Any:
    x[0] = math.exp(x[0])
    return (x[0] - 2.0) ** 2 + x[1] ** 2


def by_operator(x: Any) -> Any:
    x -= 1.0
    return float(x @ x)


def by_element(x: Any) -> Any:
    x[0] -= 1.0
    return x[0] ** 2 + x[1] ** 2


def in_a_branch(x: Any) -> Any:
    if x[0] < 2.0:
        x -= 1.0
        return float(x @ x)
    return x[0] ** 2 + x[1] ** 2


WRITERS = [by_assignment, by_operator, by_element]


def plain(x: Any) -> Any:
    return (float(x[0]) - 2.0) ** 4 + math.cosh(x[1] - 0.5) + x[0] * x[1]


@pytest.mark.parametrize("jac", [None, False])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("f", WRITERS)
def test_a_function_may_write_into_its_numbers(f: Any, method: str, jac: Any) -> None:
    found = optimize.minimize(f, [0.3, 1.0], method=method, jac=jac)
    known = scipy_optimize.minimize(f, [0.3, 1.0], method=method)
    assert found.success == known.success
    assert_allclose(found.x, known.x, atol=1e-9)


@pytest.mark.parametrize("method", METHODS[:-1])  # not by a Hessian, of which there is none there
def test_a_function_may_write_where_it_did_not_begin(method: str) -> None:
    found = optimize.minimize(in_a_branch, [3.0, 2.0], method=method)
    assert_allclose(found.x, [1.0, 1.0], atol=1e-3)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm", "hybr"])
@pytest.mark.parametrize("name", [None, "p"])
def test_residuals_and_equations_may_write_into_their_numbers(name: Any, method: str) -> None:
    def f(x: Any) -> Any:
        x = x if name is None else x[name]
        x[0] = math.exp(x[0])
        x -= [2.0, 0.5]
        return x

    start: Any = np.array([0.3, 1.0])
    optimiser: Any = optimize.root if method == "hybr" else optimize.least_squares
    found = optimiser(f, start if name is None else {name: start}, method=method)
    assert_allclose(found.x if name is None else found.x[name], [math.log(2.0), 0.5], rtol=1e-8)
    assert start.tolist() == [0.3, 1.0]


SEARCHES: dict[str, Callable[[Any, Any], Any]] = {
    "basinhopping": lambda o, f: o.basinhopping(f, [0.3, 1.0], niter=1, rng=0),
    "dual_annealing": lambda o, f: o.dual_annealing(f, [(-3.0, 3.0)] * 2, rng=0, maxiter=5),
    "shgo": lambda o, f: o.shgo(f, [(-3.0, 3.0)] * 2),
    "differential_evolution": lambda o, f: o.differential_evolution(
        f, [(-3.0, 3.0)] * 2, rng=0, maxiter=5
    ),
}


@pytest.mark.parametrize("search", SEARCHES)
def test_searches_of_functions_that_write(search: str) -> None:
    found, known = (SEARCHES[search](one, by_element) for one in (optimize, scipy_optimize))
    assert_allclose(found.x, known.x, atol=1e-5)


def test_a_gradient_that_is_given_may_write_too() -> None:
    def both(x: Any) -> Any:
        x -= 1.0
        return float(x @ x), 2.0 * x

    def gradient(x: Any) -> Any:
        x -= 1.0
        return 2.0 * x

    history = optimize.History()
    found = optimize.minimize(both, [3.0, 2.0], jac=True, callback=history)
    assert_allclose(found.x, [1.0, 1.0])
    assert_allclose(history.path[0], [3.0, 2.0])
    found = optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), [3.0, 2.0], jac=gradient)
    kept = found.x.copy()
    found.covariance()
    assert found.x.tolist() == kept.tolist()


def compared(run: Callable[[Any], Any]) -> list[Any]:
    """What SciPy finds, and what is found here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [run(one) for one in (scipy_optimize, optimize)]


# --- steps -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [None, 1e-2, np.array([1e-2, -3e-3])])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("start", [[-3.0, 4.0], [3.0, 2.0]])
def test_steps_of_minimize(start: Any, method: str, size: Any) -> None:
    name = "finite_diff_rel_step" if method == "trust-constr" else "eps"
    options = {"maxiter": 3, **({} if size is None else {name: size})}
    bounds = None if method in ("BFGS", "CG", "trust-constr") else [(-3.0, 3.0), (None, None)]
    known, found = compared(
        lambda o: o.minimize(plain, start, method=method, options=options, bounds=bounds)
    )
    assert_allclose(found.x, known.x, rtol=1e-9)


@pytest.mark.parametrize("size", [{}, {"eps": 1e-2}])
@pytest.mark.parametrize("kind", ["dict", "object", "step"])
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_steps_of_constraints(method: str, kind: str, size: Any) -> None:
    def curve(x: Any) -> Any:
        return math.exp(x[0]) + x[1] ** 3

    constraint: Any = {"type": "ineq", "fun": lambda x: 2.0 - curve(x)}
    if kind != "dict":
        step = 1e-2 if kind == "step" else None
        constraint = scipy_optimize.NonlinearConstraint(
            curve, -np.inf, 2.0, finite_diff_rel_step=step
        )
    options = {"maxiter": 4, **(size if method == "SLSQP" else {})}
    known, found = compared(
        lambda o: o.minimize(
            plain, [0.3, 1.0], method=method, constraints=constraint, options=options
        )
    )
    assert_allclose(found.x, known.x, rtol=1e-7)


@pytest.mark.parametrize("step", [None, 1e-2])
@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_steps_of_least_squares(method: str, step: Any) -> None:
    def f(x: Any) -> Any:
        return [math.exp(x[0]) - 3.0, x[0] * x[1] ** 2 - 1.0, float(x[1])]

    # Until SciPy 1.16 "lm" counts the values that differences take, too.
    options = {"xtol": 1e-13, "ftol": 1e-13} if method == "lm" else {"max_nfev": 3}
    given = {"method": method, "diff_step": step, **options}
    known, found = compared(lambda o: o.least_squares(f, [2.0, 0.5], **given))
    assert_allclose(found.x, known.x, rtol=1e-6 if method == "lm" else 1e-12)
    if method != "lm" or step is None:  # it gives a Jacobian by other steps until SciPy 1.16
        assert_allclose(found.jac, known.jac, rtol=1e-6 if method == "lm" else 1e-12)


@pytest.mark.parametrize("options", [{}, {"eps": 1e-3}])
@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_steps_of_roots(method: str, options: Any) -> None:
    def f(x: Any) -> Any:
        return [math.exp(x[0]) - 3.0, x[0] * x[1] ** 2 - 4.0]

    known, found = compared(lambda o: o.root(f, [2.0, 1.0], method=method, options=options))
    assert_allclose(np.abs(found.fjac), np.abs(known.fjac), rtol=1e-7)


@pytest.mark.parametrize(
    "given",
    [
        *({}, {"epsfcn": 1e-2}, {"method": "trf"}, {"method": "trf", "diff_step": 1e-2}),
        {"bounds": ([0.0, 0.0], [2.0, 5.0]), "diff_step": 0.1},
    ],
)
def test_steps_of_curves(given: Any) -> None:
    def model(t: Any, a: Any, k: Any) -> Any:
        return np.array([a * math.exp(-k * v) for v in t])

    t = np.linspace(0.0, 1.0, 10)
    y = 2.0 * np.exp(-3.0 * t) + 0.1 * np.cos(30.0 * t)
    known, found = compared(lambda o: o.curve_fit(model, t, y, [1.0, 1.0], **given))
    for one, other in zip(found, known, strict=True):
        assert_allclose(one, other, rtol=1e-12 if len(given) > ("method" in given) else 1e-7)


def test_steps_that_do_nothing_are_replaced() -> None:
    found = optimize.minimize(plain, [0.3, 1.0], method="BFGS", options={"eps": 0.0, "gtol": 1e-4})
    assert found.success


def test_differences_stay_within_bounds() -> None:
    def f(x: Any) -> Any:
        assert min(x) >= 0.0 and max(x) <= 1.0
        return math.exp(x[0]) - math.sin(x[1])

    bounds = [(0.0, 1.0)] * 2
    local = {"method": "L-BFGS-B", "bounds": bounds}
    step: Any = lambda x: np.array([0.0, 1.0])  # noqa: E731
    found = optimize.basinhopping(
        f, [0.5, 1.0], niter=1, minimizer_kwargs=local, take_step=step, rng=0
    )
    assert_allclose(found.x, [0.0, 1.0])
    assert_allclose(optimize.shgo(f, bounds).x, [0.0, 1.0])
    assert_allclose(optimize.minimize(f, [0.5, 1.0], bounds=bounds).x, [0.0, 1.0], atol=1e-8)


# --- what is told ------------------------------------------------------------------------------


def test_a_check_of_numbers_passes_through() -> None:
    def root(x: Any) -> Any:
        return cnp.sqrt(x)

    for run in (
        lambda: optimize.minimize(lambda x: cnp.sum(root(x)), [0.0]),
        lambda: optimize.minimize(lambda x: cnp.sum(root(x)), [0.0], method="trust-constr"),
        lambda: optimize.least_squares(root, [0.0]),
        lambda: optimize.root(root, [0.0]),
        lambda: optimize.curve_fit(lambda t, a: root(a) * t, [1.0, 2.0], [1.0, 2.0], [0.0]),
    ):
        with cadiff.nan_check(), pytest.raises(cadiff.NonFiniteError, match="derivative of sqrt"):
            run()


def test_the_warning_has_the_advice_and_the_line() -> None:
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])

    def f(x: Any) -> Any:
        return float(np.sum(scipy.linalg.solve(matrix, x) ** 2))

    with pytest.warns(RuntimeWarning, match="takes finite differences") as told:
        optimize.minimize(f, [3.0, 2.0])
    (message,) = [str(one.message) for one in told]
    assert f"at {__file__}:{f.__code__.co_firstlineno + 1}" in message
    if sys.version_info >= (3, 11):  # which has notes
        assert "cadiff.scipy.linalg.solve" in message or "cadiff.numpy.linalg" in message

    def long(x: Any) -> Any:
        assert type(x) is np.ndarray, "word " * 100 + "the advice"
        return x[0] ** 2 + x[1] ** 2

    with pytest.warns(RuntimeWarning, match="the advice"):
        optimize.minimize(long, [3.0, 2.0])
