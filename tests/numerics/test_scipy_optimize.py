"""`cadiff.scipy.optimize`: solutions against closed forms and differences, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import cadiff
import cadiff.numpy as cnp
from cadiff import NoDerivativeError
from cadiff.scipy import optimize

from ..helpers.cases_solvers import OF_OPTIMIZE, T, bowl, decay
from ..helpers.differences import check_slope
from ..helpers.solvers import Case, agree, check


@pytest.mark.parametrize("one", OF_OPTIMIZE, ids=str)
def test_solutions(one: Case) -> None:
    check(one)


def test_nothing_is_called_but_scipy_where_nothing_carries() -> None:
    result = optimize.minimize(bowl, [1.0, 1.0], (np.array([2.0, 3.0]),))
    expected = scipy.optimize.minimize(bowl, [1.0, 1.0], (np.array([2.0, 3.0]),))
    assert type(result) is type(expected)
    assert (result.x == expected.x).all()
    assert optimize.OptimizeResult is scipy.optimize.OptimizeResult


def test_an_assignment_is_that_of_values() -> None:
    def cost(a: Any) -> Any:
        matrix = a * np.array([[4.0, 1.0], [2.0, 3.0]])
        rows, columns = optimize.linear_sum_assignment(matrix)
        return matrix[rows, columns].sum()

    assert cadiff.grad(cost)(2.0) == 3.0


@pytest.mark.filterwarnings("ignore:.*reads values, which a replay would not:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:The NumPy global RNG was seeded:FutureWarning")
@pytest.mark.parametrize("options", [{}, {"maximize": True}])
def test_the_score_of_a_quadratic_assignment_has_derivatives(options: dict[str, Any]) -> None:
    A, B = np.random.default_rng(0).random((2, 5, 5))

    def score(module: Any, a: Any) -> Any:
        return module.quadratic_assignment(A * a, B=B + a * A, options=options).fun

    f, plain = (lambda a, m=m: score(m, a) for m in (optimize, scipy.optimize))
    program = cadiff.compile(f)
    for a in (0.7, 0.1, 2.0):
        found = check_slope(f, plain, a, value_rtol=0.0, step=1e-6)
        assert program.value_and_grad(a) == (plain(a), found)


class Spring:
    def __init__(self, stiffness: Any) -> None:
        self.stiffness = stiffness

    def force(self, x: Any) -> Any:
        return self.stiffness * x - 2.0


SEEN: dict[str, Any] = {}


def seen_force(x: Any) -> Any:
    return SEEN["stiffness"] * x - 2.0


def by_a_global_variable(a: Any) -> Any:
    SEEN["stiffness"] = a
    return optimize.brentq(lambda x: seen_force(x), 0.0, 9.0)


@pytest.mark.parametrize(
    "solve",
    [
        lambda a: optimize.brentq(Spring(a).force, 0.0, 9.0),
        lambda a: optimize.brentq(lambda x, s: s.force(x), 0.0, 9.0, args=(Spring(a),)),
        lambda a: optimize.brentq(lambda x, k: k["a"][0] * x - 2.0, 0.0, 9.0, args=({"a": [a]},)),
        lambda a: optimize.brentq(lambda x, k=a: k * x - 2.0, 0.0, 9.0),
        lambda a: optimize.brentq((lambda f: lambda x: f(x) - 2.0)(lambda x: a * x), 0.0, 9.0),
        lambda a: optimize.brentq(lambda x: cnp.array([a, 2.0]) @ cnp.array([x, -1.0]), 0.0, 9.0),
        by_a_global_variable,
    ],
)
def test_numbers_are_found_wherever_functions_have_them(solve: Callable[[Any], Any]) -> None:
    agree(cadiff.grad(solve)(4.0), -2.0 / 16.0, 1e-12)
    agree(cadiff.hessian(solve)(4.0), 4.0 / 64.0, 1e-11)


def test_numbers_of_float32() -> None:
    root = cadiff.value_and_grad(lambda a: optimize.brentq(lambda x: x * x - a, 0.0, 9.0))
    agree(root(np.float32(4.0)), (2.0, 0.25), 1e-6)


def test_numbers_in_global_variables_have_a_gradient() -> None:
    stiffness = SEEN["stiffness"] = cadiff.Var(4.0)
    optimize.brentq(seen_force, 0.0, 9.0).backward()
    agree(stiffness.grad, -2.0 / 16.0, 1e-12)
    assert SEEN["stiffness"] is stiffness
    SEEN.clear()


def test_what_a_search_has_left_has_no_derivative() -> None:
    """The inverse Hessian that BFGS ended with, above all, is no constant."""

    def left(a: Any, module: Any = optimize) -> Any:
        return module.minimize(bowl, [1.0, 1.0], (a,)).hess_inv[0, 0]

    a = np.array([2.0, 3.0])
    plain = left(a, scipy.optimize)
    with pytest.raises(NoDerivativeError, match="hess_inv"):
        cadiff.grad(left)(a)
    value, tangent = cadiff.jvp(left, (a,), (a,))
    assert value == plain
    assert np.isnan(tangent)
    program = cadiff.compile(left)
    program(a)
    assert program(2.0 * a) == left(2.0 * a, scipy.optimize)
    assert cadiff.grad(lambda a: cadiff.value(left(a)) * a[0])(a)[0] == plain


REFUSED: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (TypeError, "which slices are not", lambda a: optimize.brute(
        lambda x: x[0] ** 2, (slice(-1.0, 1.0, 0.25 * a),))[0]),
    (TypeError, "pass it as an argument", lambda a: optimize.brentq(
        lambda x, hidden: x - hidden.of, 0.0, 9.0, (type("", (), {"of": a}),))),
    (RuntimeError, "found no solution", lambda a: optimize.minimize(
        bowl, [50.0, 50.0], (np.ones(2) * a,), options={"maxiter": 1}).x[0]),
    (RuntimeError, "found no solution", lambda a: optimize.root(lambda x: x * x + a, 1.0).x[0]),
    (np.linalg.LinAlgError, "singular", lambda a: optimize.root(
        lambda x: (x - a) * 0.0, 1.0).x[0]),
    (NoDerivativeError, "multipliers are 0", lambda a: optimize.minimize(
        lambda x: x[0] ** 2 * a, [1.0], bounds=[(0.0, 1.0)]).x[0]),
    (NoDerivativeError, "whole numbers", lambda a: optimize.linprog(
        [-a], bounds=[(0.0, 1.5)], integrality=[1]).x[0]),
    (NoDerivativeError, "milp", lambda a: optimize.milp([-a])),
    (NoDerivativeError, "omit", lambda a: optimize.curve_fit(decay, T, a * T, nan_policy="omit")),
]  # fmt: skip


@pytest.mark.parametrize(("error", "words", "solve"), REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_has_no_derivative_is_refused(
    error: type[Exception], words: str, solve: Callable[[Any], Any]
) -> None:
    with pytest.raises(error, match=words):
        cadiff.grad(solve)(1.0)


def test_a_bilevel_problem() -> None:
    """The penalty of a ridge regression, by the error on other data: against the closed form."""
    rng = np.random.default_rng(1)
    x, y, x2, y2 = (rng.normal(size=s) for s in ((9, 3), 9, (7, 3), 7))

    def inner(w: Any, penalty: Any) -> Any:
        return ((x @ w - y) ** 2).sum() + penalty * (w @ w)

    def outer(penalty: Any) -> Any:
        w = optimize.minimize(inner, np.zeros(3), (penalty,)).x
        return ((x2 @ w - y2) ** 2).sum()

    def closed(penalty: Any) -> Any:
        w = np.linalg.solve(x.T @ x + penalty * np.eye(3), x.T @ y)
        return ((x2 @ w - y2) ** 2).sum()

    agree(cadiff.grad(outer)(0.7), cadiff.grad(closed)(0.7), 1e-5)
    agree(cadiff.hessian(outer)(0.7), cadiff.hessian(closed)(0.7), 1e-4)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize(
    "solve",
    [
        lambda a, s: optimize.brentq(lambda x: x * x - a * a, 0.0, 10.0 * s, xtol=1e-14 * s),
        lambda a, s: optimize.newton(lambda x: x * x - a * a, 1.5 * s, tol=1e-14 * s),
        lambda a, s: optimize.minimize_scalar(lambda x: (x / a - 1.0) ** 2, (0.0, 0.5 * s)).x,
    ],
)
def test_units_do_not_matter(solve: Callable[[Any, float], Any], scale: float) -> None:
    agree(cadiff.grad(solve)(scale, scale), 1.0, 1e-12)


@pytest.mark.parametrize("method", ["BFGS", "Nelder-Mead", "Powell", "L-BFGS-B", "COBYLA"])
def test_solutions_at_zero(method: str) -> None:
    def f(a: Any) -> Any:
        return optimize.minimize(lambda x: ((x - a) ** 2).sum(), [1.0, 1.0], method=method).x[0]

    agree(cadiff.grad(f)(0.0), 1.0, 1e-12)
