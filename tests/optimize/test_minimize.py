"""`cadiff.optimize.minimize`: every method of SciPy's, with derivatives it can use."""

from __future__ import annotations

import math
import warnings
from array import array
from fractions import Fraction
from time import sleep
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize as scipy_optimize

import cadiff
from cadiff import numpy as cnp
from cadiff import optimize
from cadiff.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize

from ..helpers.functions import rosenbrock

METHODS = [
    *("Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYLA", "SLSQP"),
    *("trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"),
]
START = np.array([-1.2, 1.0, 0.7])
X = np.arange(3.0)


def convex(x: Any, scale: float = 1.0) -> Any:
    return scale * (cnp.exp(x) - x).sum() + (x[0] - x[1]) ** 2


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_minimum(method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # SciPy's, for what a method cannot use
        result = minimize(convex, [0.5, 0.3, -0.2], method=method)
    assert result.success
    assert_allclose(result.x, 0.0, atol=1e-2 if method == "COBYLA" else 1e-3)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP", "trust-constr"])
def test_the_gradient_is_filled_in(method: str) -> None:
    """As many evaluations as with a gradient by hand, not as many as with differences."""
    found = minimize(rosenbrock, START, method=method)
    known = scipy_optimize.minimize(
        scipy_optimize.rosen, START, method=method, jac=scipy_optimize.rosen_der
    )
    assert found.nfev <= 1.1 * known.nfev + 2
    assert_allclose(found.x, 1.0, rtol=1e-3)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-exact"])
def test_second_derivatives_are_filled_in(method: str) -> None:
    found = minimize(rosenbrock, START, method=method)
    known = scipy_optimize.minimize(
        scipy_optimize.rosen,
        START,
        method=method,
        jac=scipy_optimize.rosen_der,
        hess=scipy_optimize.rosen_hess,
    )
    assert abs(found.nit - known.nit) <= 1
    assert_allclose(found.x, known.x, rtol=1e-5)


def test_what_the_user_gives_is_used() -> None:
    called = []

    def jac(x: Any, scale: float) -> Any:
        called.append("jac")
        return cadiff.grad(convex)(x, scale)

    def hess(x: Any, scale: float) -> Any:
        called.append("hess")
        return cadiff.hessian(convex)(x, scale)

    x0 = np.ones(3)
    result = minimize(convex, x0, args=(2.0,), jac=jac, hess=hess, method="trust-exact")
    assert_allclose(result.x, 0.0, atol=1e-4)
    assert {"jac", "hess"} <= set(called)
    both = minimize(lambda x, s: (convex(x, s), cadiff.grad(convex)(x, s)), x0, (2.0,), jac=True)
    assert_allclose(both.x, 0.0, atol=1e-4)
    differences = minimize(convex, x0, args=2.0, jac="2-point")
    assert differences.nfev > differences.njev
    only_differences = minimize(lambda x: float(np.sum(x**2)), x0, jac="3-point")
    assert_allclose(only_differences.x, 0.0, atol=1e-6)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Powell", "trust-constr", "Newton-CG"])
def test_containers(method: str) -> None:
    target = {"w": np.arange(4.0).reshape(2, 2), "b": [0.5, np.array([1.0, -1.0])]}
    start = {"w": np.zeros((2, 2)), "b": [0.0, np.zeros(2)]}

    def f(p: Any) -> Any:
        number, vector = p["b"]
        w = p["w"] - target["w"]
        return (w**2).sum() + (number - 0.5) ** 2 + ((vector - [1.0, -1.0]) ** 2).sum()

    seen = []
    result = minimize(f, start, method=method, callback=lambda p, *_: seen.append(p))
    assert isinstance(result.x, dict)
    assert_allclose(result.x["w"], target["w"], atol=1e-3)
    assert_allclose(result.x["b"][1], [1.0, -1.0], atol=1e-3)
    assert isinstance(result.x["b"][0], float)
    assert seen
    assert seen[-1]["w"].shape == (2, 2)
    assert_array_equal(start["w"], 0.0)


def test_arrays_of_several_axes_and_callbacks_that_take_a_result() -> None:
    seen = []

    def callback(intermediate_result: Any) -> None:
        seen.append(intermediate_result.x.shape)

    result = minimize(lambda x: ((x - 1.0) ** 4).sum(), np.zeros((2, 3)), callback=callback)
    assert result.x.shape == result.jac.shape == (2, 3)
    assert set(seen) == {(2, 3)}


def rounds(x: Any) -> Any:
    return [4.0 - (x * x).sum(), 2.0 - x[0] ** 2 - x[1] + x[2]]


ONE_BY_ONE = [
    {"type": "ineq", "fun": lambda x: rounds(x)[0]},
    {"type": "ineq", "fun": lambda x, a: rounds(x)[1] + a, "args": (0.0,)},
]


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", None, "COBYLA"])
@pytest.mark.parametrize(
    "constraints",
    [
        NonlinearConstraint(rounds, 0.0, np.inf),
        scipy_optimize.NonlinearConstraint(rounds, 0.0, np.inf),
        ONE_BY_ONE,
    ],
)
def test_constraints(method: Any, constraints: Any) -> None:
    """Those of cadiff, of SciPy, and dicts lead to the same point; nobody warns."""

    def f(x: Any) -> Any:
        return ((x - [2.0, 1.0, -1.0]) ** 2).sum()

    start = np.array([0.1, 0.2, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "delta_grad == 0.0")
        result = minimize(f, start, method=method, constraints=constraints)
    known = scipy_optimize.minimize(
        f,
        start,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: np.array(rounds(x))},
    )
    assert_allclose(result.fun, known.fun, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYQA"])
def test_constraints_return_containers_and_arrays_of_several_axes(method: str) -> None:
    def cost(p: Any) -> Any:
        return (p["a"] - 2.0) ** 2 + cnp.sum((p["b"] - 1.0) ** 2)

    start = {"a": 0.1, "b": np.array([0.1, 0.2])}
    forms = (
        NonlinearConstraint(
            lambda p: {"sum": p["a"], "rest": p["b"] ** 2},
            -1.0,
            {"sum": 1.0, "rest": np.array([0.25, 0.25])},
        ),
        NonlinearConstraint(
            lambda p: cnp.array([[p["a"], p["b"][0] ** 2], [p["b"][1] ** 2, 0.0]]),
            -1.0,
            [1.0, 0.25, 0.25, 1.0],
        ),
        {"type": "ineq", "fun": lambda p: [1.0 - p["a"], 0.25 - p["b"] ** 2]},
    )
    for form in forms:
        x = minimize(cost, start, method=method, constraints=form).x
        assert_allclose(x["a"], 1.0, rtol=1e-6)
        assert_allclose(x["b"], [0.5, 0.5], rtol=1e-6)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYQA"])
def test_rows_of_linear_constraints_in_containers(method: str) -> None:
    def cost(p: Any) -> Any:
        return (p["a"] - 2.0) ** 2 + cnp.sum((p["b"] - 1.0) ** 2)

    total = {"a": 1.0, "b": np.ones(2)}
    slope = {"a": 0.0, "b": np.array([1.0, -1.0])}
    start = {"a": 0.1, "b": np.array([0.1, 0.2])}
    matrix = [[1.0, 1.0, 1.0], [0.0, 1.0, -1.0]]
    for rows, plain in ((total, matrix[:1]), ([total, slope], matrix)):
        constraint = LinearConstraint(rows, 0.5, 1.0)
        assert_allclose(constraint.A, plain)
        x = minimize(cost, start, method=method, constraints=constraint).x
        flat = scipy_optimize.minimize(
            lambda v: cost({"a": v[0], "b": v[1:]}),
            [0.1, 0.1, 0.2],
            constraints=scipy_optimize.LinearConstraint(plain, 0.5, 1.0),
        )
        assert_allclose([x["a"], *x["b"]], flat.x, atol=1e-5)
    with pytest.raises(ValueError, match="one number for each of x0, not 1 and 3"):
        LinearConstraint([total, {"a": 1.0}], 0.0, 1.0)
    wrong = LinearConstraint([[1.0, 1.0]], 0.0, 1.0)
    with pytest.raises(ValueError, match="2 columns, but x0 has 3 numbers"):
        minimize(cost, start, method=method, constraints=wrong)
    with pytest.raises(TypeError, match="NonlinearConstraint"):
        minimize(cost, start, method=method, constraints=cost)


def test_constraints_of_containers_with_bounds() -> None:
    def f(p: Any) -> Any:
        return (p["a"] ** 2).sum() + p["b"] ** 2

    constraint = NonlinearConstraint(lambda p: p["a"].sum() * p["b"], 1.0, 1.0)
    for method in ("SLSQP", "trust-constr"):
        result = minimize(
            f,
            {"a": np.ones(2), "b": 2.0},
            method=method,
            constraints=constraint,
            bounds=Bounds(0.0, 3.0),
        )
        assert_allclose(result.x["a"].sum() * result.x["b"], 1.0, rtol=1e-4)
        assert_allclose(result.fun, 2.0**0.5 * 1.0, rtol=1e-3)


def test_trust_constr_takes_sparse_matrices() -> None:
    """Of 100 parameters with neighbours, Hessians and Jacobians have few entries."""
    n = 100

    def f(x: Any) -> Any:
        return ((x[1:] - x[:-1]) ** 2).sum() + ((x - 1.0) ** 4).sum()

    def neighbours(x: Any) -> Any:
        return x[1:] * x[:-1]

    result = minimize(
        f,
        np.full(n, 1.5),
        method="trust-constr",
        constraints=[
            NonlinearConstraint(neighbours, 0.5, 2.5),
            LinearConstraint(np.ones(n), 0, n),
        ],
        options={"maxiter": 30},
    )
    assert result.jac[0].nnz == 2 * (n - 1)
    assert_allclose(result.x, 1.0, atol=0.05)


def test_constraints_work_with_scipy_as_they_are() -> None:
    constraint = NonlinearConstraint(lambda x: x[0] * x[1], 2.0, np.inf)
    assert_allclose(constraint.jac(np.array([2.0, 3.0])), [[3.0, 2.0]])
    for method in ("SLSQP", "trust-constr"):
        result = scipy_optimize.minimize(
            lambda x: x @ x,
            [1.0, 3.0],
            jac=lambda x: 2.0 * x,
            method=method,
            constraints=constraint,
        )
        assert_allclose(result.fun, 4.0, rtol=1e-4)


@pytest.mark.parametrize(
    "plain",
    [cadiff.value, lambda x: cnp.array([getattr(v, "value", v) for v in x])],
    ids=["value", "items"],
)
def test_a_start_where_derivatives_are_dropped_is_told(plain: Any) -> None:
    for optimiser in (minimize, optimize.least_squares):
        with pytest.warns(RuntimeWarning, match=r"all derivatives are 0, but f is not") as told:
            optimiser(lambda x: cnp.sum((plain(x) - 3.0) ** 2), [1.0, 2.0])
        assert told[0].filename == __file__  # and no line of SciPy's, which tells each once


@pytest.mark.parametrize(
    "f",
    [
        lambda x: cnp.sum(x**2),
        lambda x: cnp.sum(x**3),
        lambda x: x[0] * x[1],
        lambda x: 1e8 * cnp.sum(cnp.cos(x)),
        lambda x: cnp.sum(abs(x)),
        lambda x: cnp.linalg.norm(x),
        lambda x: cnp.sum(cnp.floor(x)),
        lambda x: 3.0,
        lambda x: cnp.sum(cadiff.relu(x)),
        lambda x: 1e-3 * cnp.sin(1e5 * x[0]) ** 2,
        lambda x: cnp.exp(-1.0 / (x[0] ** 2 + 1e-300)),
        lambda x: cnp.log(x[0] + 1e-9) * 0.0,
    ],
)
def test_stationary_starts_are_not(f: Any) -> None:
    minimize(f, np.zeros(2))  # warnings are errors
    optimize.least_squares(f, np.zeros(2))


def test_methods_of_other_people() -> None:
    def descent(fun: Any, x0: Any, args: Any = (), jac: Any = None, **_: Any) -> Any:
        x = np.array(x0)
        for _step in range(200):
            x = x - 0.1 * jac(x, *args)
        return scipy_optimize.OptimizeResult(x=x, fun=fun(x, *args), success=True)

    assert_allclose(minimize(convex, np.ones(2), method=descent).x, 0.0, atol=1e-6)


def test_one_number() -> None:
    result = optimize.minimize_scalar(lambda x: (x - 2.0) ** 2, bounds=(0, 5), method="bounded")
    assert_allclose(result.x, 2.0)


# --- what goes wrong ---------------------------------------------------------------------------


class Pair(NamedTuple):
    a: Any
    b: Any


@pytest.mark.parametrize(
    "start",
    [range(3), array("d", [0.0, 1.0]), (Fraction(1, 2), 3), 0.5, np.zeros((2, 3)), Pair(0.0, 1.0)],
)
def test_starts_that_are_numbers(start: Any) -> None:
    found = minimize(lambda p: cnp.sum((cadiff.flatten(p)[0] - 2.0) ** 2), start).x
    assert_allclose(cadiff.flatten(found)[0], 2.0, atol=1e-6)
    assert isinstance(found, Pair) == isinstance(start, Pair)


def square(a: Any) -> Any:
    return lambda x: ((x - a) ** 2).sum()


WITHIN: dict[str, Any] = {
    "minimize": lambda a: minimize(square(a), np.zeros(1)).x,
    "minimize ": lambda a: minimize(square(a), np.zeros(1), method="Nelder-Mead").x,
    "minimize, ": lambda a: minimize(square(1.0), [a]).x,
    "least_squares": lambda a: optimize.least_squares(lambda x: x - a, [0.0]).x,
    "curve_fit": lambda a: optimize.curve_fit(lambda x, k: k * x * a, np.arange(3.0), np.ones(3)),
    "curve_fit ": lambda a: optimize.curve_fit(lambda x, k: k * x, np.arange(3.0), a * np.ones(3)),
    "root": lambda a: optimize.root(lambda x: x**2 - a, [1.0]).x,
    "root_scalar": lambda a: optimize.root_scalar(lambda x: x**2 - a, x0=1.0).root,
    "basinhopping": lambda a: optimize.basinhopping(square(a), [1.0]).x,
    "adam": lambda a: optimize.adam(square(a), [1.0]).x,
}


@pytest.mark.parametrize("name", WITHIN)
@pytest.mark.parametrize("transform", [cadiff.jacfwd, cadiff.jacrev])
def test_optimisers_within_a_differentiation_say_what_to_write(name: str, transform: Any) -> None:
    words = rf"{name.strip(' ,')} computes with plain numbers, .* cadiff\.root\(cadiff\.grad"
    with pytest.raises(TypeError, match=words):
        transform(WITHIN[name])(2.0)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP", "trf", "lm"])
def test_a_jacobian_of_the_users_may_use_what_the_function_has_left(method: str) -> None:
    """The idiom of those who write derivatives by hand: f runs each time, on plain numbers."""
    kept = {}

    def residuals(x: Any) -> Any:
        kept["x"] = x + 0.0
        kept["r"] = np.array([x[0] ** 2 - 2.0, x[0] * x[1] - 1.0, x[1] ** 3 - x[0]])
        return kept["r"]

    def jacobian(x: Any) -> Any:
        x = kept["x"]
        return np.array([[2.0 * x[0], 0.0], [x[1], x[0]], [-1.0, 3.0 * x[1] ** 2]])

    def found(optimisers: Any) -> Any:
        if method in ("trf", "lm"):
            return optimisers.least_squares(residuals, [1.0, 1.0], jacobian, method=method).x
        return optimisers.minimize(
            lambda x: (residuals(x) ** 2).sum(),
            [1.0, 1.0],
            jac=lambda x: 2.0 * jacobian(x).T @ kept["r"],
            method=method,
        ).x

    assert_array_equal(found(optimize), found(scipy_optimize))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("minimize", lambda f: minimize(lambda x: f(x[0]) ** 2, [1.0]).x),
        ("least_squares", lambda f: optimize.least_squares(lambda x: [f(x[0])], [1.0]).x),
        ("root", lambda f: optimize.root(lambda x: [f(x[0])], [1.0]).x),
        ("curve_fit", lambda f: optimize.curve_fit(lambda x, a: [f(a)] * 3, X, 0.0 * X, 1.0)[0]),
        ("root_scalar", lambda f: optimize.root_scalar(f, x0=1.0).root),
        ("root_scalar", lambda f: optimize.root_scalar(f, x0=1.0, method="halley").root),
    ],
)
def test_differences_are_taken_where_derivatives_fail(name: str, call: Any) -> None:
    with pytest.warns(RuntimeWarning, match=f'{name} takes .*jac="2-point"') as told:
        found = call(math.cos)
    assert_allclose(found, 0.5 * np.pi, atol=1e-3)
    assert [one.filename for one in told if one.category is RuntimeWarning] == [__file__]
    with pytest.raises(TypeError, match=r"unsupported operand|ufunc 'add'"):
        call(lambda x: x + "one")


def test_help_shows_the_arguments_of_scipy() -> None:
    import inspect

    shown = inspect.signature(minimize).parameters
    known = inspect.signature(scipy_optimize.minimize).parameters
    assert [name for name in shown if name != "progress"] == list(known)
    assert minimize.__name__ == "minimize"


def test_a_warning_where_differences_would_be_cheaper(monkeypatch: Any) -> None:
    """A function of one parameter, the rule of which takes a hundred times as long as it does."""
    clock = [0.0]
    monkeypatch.setattr(optimize._objectives, "thread_time", lambda: clock[0])

    def taking(seconds: float, result: Any) -> Any:
        clock[0] += seconds
        return result

    square = cadiff.primitive(lambda x: taking(0.01, x**2))
    square.defvjp(lambda ans, x: lambda g: taking(1.0, np.array([2.0 * float(g[0] * x[0])])))
    with pytest.warns(RuntimeWarning, match='only 2 evaluations .* rules .*; jac="2-p') as told:
        minimize(lambda x: square(x - 1.0).sum(), np.zeros(1))
    assert told[0].filename == __file__


class Counting:
    """What changes with every call."""

    calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return x.sum() / self.calls


def branching(x: Any) -> Any:
    bits = [cadiff.sin(2.0**k * 1e6 * x[0]) for k in range(20)]
    return sum(bit for bit in bits if bit > 0.0)


@pytest.mark.parametrize(
    ("f", "times", "cause"),
    [
        (
            lambda x: x.sum() * (2.0 - np.isin(cadiff.value(x), 9.0)[0]),
            3,
            "eagerly .*: numpy.isin reads",
        ),
        (Counting(), 20, "eagerly .*: it changes Counting.calls"),
        (branching, 200, "eagerly .* other branches"),
        (branching, 9, r"recorded \d times"),
    ],
)
def test_the_warning_names_what_takes_the_time(f: Any, times: int, cause: str) -> None:
    parameters = optimize._vectors.Parameters(np.zeros(1), "minimize")
    derivatives = optimize._objectives.Derivatives(f, parameters, (), "minimize")
    for x in np.linspace(0.1, 3.0, times):
        derivatives.timed("value_and_grad", np.array([x]))
    derivatives.seconds = 1e6
    with pytest.warns(RuntimeWarning, match=f'{cause}.*; jac="2-point"'):
        derivatives.warn_if_slow(np.ones(1), 2)


def test_no_warning_of_what_is_done_once(monkeypatch: Any) -> None:
    """A recording takes its time, whichever way derivatives are found."""
    clock = [0.0]
    monkeypatch.setattr(optimize._objectives, "thread_time", lambda: clock[0])

    def f(x: Any) -> Any:
        clock[0] += 10.0
        return ((x - 1.0) ** 2).sum()

    assert minimize(f, np.zeros(1), method="trust-exact").success  # warnings are errors
    assert clock[0] >= 10.0


def test_no_warning_of_what_waits_for_others(monkeypatch: Any) -> None:
    """On a busy machine derivatives may wait, and the one value beside them may not."""
    monkeypatch.setattr(optimize._objectives, "LONG", 0.02)

    def f(x: Any) -> Any:
        if cadiff.binding.carries(x):
            sleep(0.01)
        return cadiff.numpy.sum(x**2)

    derivatives = optimize._objectives.Derivatives(
        f, optimize._vectors.Parameters(np.zeros(1), "minimize"), (), "minimize"
    )
    for x in np.linspace(0.1, 3.0, 9):
        derivatives.timed("value_and_grad", np.array([x]), eagerly=True)
    derivatives.warn_if_slow(np.ones(1), 2)  # warnings are errors


@pytest.mark.parametrize("options", [{}, {"tol": 1e-8}, {"options": {"maxiter": 200}}])
def test_trust_constr_does_not_end_before_its_barrier(options: dict[str, Any]) -> None:
    """Hock and Schittkowski's problem 71, whose minimum is known."""
    seen = []
    result = minimize(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
        [1.0, 5.0, 5.0, 1.0],
        method="trust-constr",
        bounds=Bounds(1.0, 5.0),
        constraints=[
            NonlinearConstraint(cnp.prod, 25.0, np.inf),
            NonlinearConstraint(lambda x: cnp.sum(x**2), 40.0, 40.0),
        ],
        callback=lambda x, state: seen.append(state.nit),
        **options,
    )
    assert result.success
    assert result.status == 1
    assert result.barrier_parameter <= 1e-8
    assert len(seen) >= result.nit
    assert_allclose(result.fun, 17.0140172891563, rtol=1e-8)


def test_dicts_of_constraints_have_hessians_in_trust_constr() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # SciPy's, for a quasi-Newton matrix that does not change
        result = minimize(
            lambda p: p["a"] + p["b"],
            {"a": 0.5, "b": -0.1},
            method="trust-constr",
            constraints=[
                {
                    "type": "ineq",
                    "fun": lambda p, r: r - p["a"] ** 2 - p["b"] ** 2,
                    "args": (2.0,),
                },
                {"type": "eq", "fun": lambda p: p["a"] - 2.0 * p["b"] - 1.0},
            ],
        )
    assert result.success
    assert result.constr_nhev[0] > 0
    assert_allclose([result.x["a"], result.x["b"]], [-1.0, -1.0], atol=1e-6)
