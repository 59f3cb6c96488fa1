"""Roots and fixed points: derivatives of any order against those of the explicit solution."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy
import numpy.testing as npt
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as np
from cadiff import checkpoint, fixed_point, root

from ..helpers.ways import check_ways

Function = Callable[..., Any]
MATRIX = numpy.array([[3.0, 1.0, 0.5], [0.2, 2.0, -0.3], [0.1, 0.4, 4.0]])
POINT = numpy.array([0.4, 1.2, -0.7])


def orders(f: Function, x: float, nestings: str) -> float:
    """A derivative, one letter an order: r for reverse, f for forward mode."""
    for mode in reversed(nestings):
        f = cadiff.grad(f) if mode == "r" else _forward(f)
    return float(f(x))


def _forward(f: Function) -> Function:
    return lambda x: cadiff.derivative(f, x)


# --- one number ----------------------------------------------------------------------------------

EQUATIONS: dict[str, tuple[Function, Function]] = {
    # name: x of a as the equation has it, and in closed form
    "square root": (lambda a: root(lambda x: x * x - a, 1.0), lambda a: mpmath.sqrt(a)),
    "argument": (lambda a: root(lambda x, a: x**3 - a, 1.0, a), lambda a: mpmath.cbrt(a)),
    "lambert": (
        lambda a: root(lambda x: x * cadiff.exp(x) - a, 0.5),
        lambda a: mpmath.lambertw(a),
    ),
    "fixed point": (
        lambda a: fixed_point(lambda x: (x + a / x) / 2.0, 1.0),
        lambda a: mpmath.sqrt(a),
    ),
    "contraction": (lambda a: fixed_point(lambda x: a + 0.5 * x, 0.0), lambda a: 2 * a),
    "root of a root": (
        lambda a: root(lambda x: root(lambda y: y * y - x * a, 1.0) - a * a, 1.0),
        lambda a: a**3,
    ),
    "checkpointed": (
        lambda a: checkpoint(lambda b: root(lambda x: x * x - b * a, 1.0))(a * a) * a,
        lambda a: a**2.5,
    ),
    "gradient of something": (
        lambda a: root(lambda x: cadiff.grad(lambda y: (y - a * y * a) ** 2 - 2 * y * a)(x), 1.0),
        lambda a: a / (1 - a * a) ** 2,
    ),
}


@pytest.mark.parametrize(
    "modes", ["r", "f", "rr", "rf", "fr", "ff", "rrr", "frf", "rfr", "ffff", "ffffff"]
)
@pytest.mark.parametrize("name", EQUATIONS)
def test_derivatives_of_an_implicit_number(name: str, modes: str) -> None:
    implicit, explicit = EQUATIONS[name]
    with mpmath.workdps(50):
        wanted = float(mpmath.re(mpmath.diff(explicit, mpmath.mpf(1.7), len(modes))))
    npt.assert_allclose(orders(implicit, 1.7, modes), wanted, rtol=1e-10, atol=1e-12)
    if set(modes) == {"f"}:
        found = cadiff.derivative(implicit, 1.7, order=len(modes))
        npt.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def test_a_global_variable() -> None:
    names: dict[str, Any] = {"root": root, "Var": cadiff.Var}
    exec("a = Var(4.0)\ndef f(x): return x * x - a\nx = root(f, 1.0)", names)
    names["x"].backward()
    npt.assert_allclose(names["a"].grad, 0.25, rtol=1e-12)


def test_programs_search_anew() -> None:
    def f(a: Any) -> Any:
        x = root(lambda x: x**3 + x - a, a)
        return x * fixed_point(lambda y: 0.3 * np.cos(y * x), 0.5)

    program = cadiff.compile(f, on_branch_change="raise")
    for a in (2.0, 3.0, 10.0):
        npt.assert_allclose(program(a), f(a), rtol=1e-14)
        npt.assert_allclose(program.grad(a), cadiff.grad(f)(a), rtol=1e-13)
        npt.assert_allclose(program.hessian(a), cadiff.hessian(f)(a), rtol=1e-11)
    assert "1 recording" in repr(program)


def test_programs_take_other_integers_and_choices() -> None:
    def f(a: Any, k: Any) -> Any:
        equation = lambda x, k, m: x**3 + x - np.where(m, a[k], 2.0) * k[0]  # noqa: E731
        return np.sum(root(equation, np.ones(2), k, a[:2] > 1.0))

    program = cadiff.compile(f)
    for k in ([1, 2], [2, 0], [1, 1], [2, 1]):
        a, at = np.array([0.5, *k]), np.array(k)
        npt.assert_allclose(program(a, at), f(a, at), rtol=1e-14)
        npt.assert_allclose(program.grad(a, at), cadiff.grad(f)(a, at), rtol=1e-13)
    assert program.stats()["recordings"] == 2


def test_what_functions_keep_belongs_to_one_call() -> None:
    """A dict that f fills is its user's once, and empty wherever f is run for derivatives."""

    def f(a: Any) -> Any:
        kept: dict[str, Any] = {}

        def equation(x: Any) -> Any:
            if "sine" not in kept:
                kept["sine"] = np.sin(a)
            return kept["sine"] * x**3 + x - 1.0

        return root(equation, 0.5)

    def exact(a: Any) -> Any:
        return root(lambda x: np.sin(a) * x**3 + x - 1.0, 0.5)

    program = cadiff.compile(f)
    for a in (0.3, 0.5):
        wanted = cadiff.grad(exact)(a)
        npt.assert_allclose(cadiff.grad(f)(a), wanted, rtol=1e-12)
        npt.assert_allclose(cadiff.derivative(f, a), wanted, rtol=1e-12)
        npt.assert_allclose(program.grad(a), wanted, rtol=1e-12)

    noted = []

    def noting(x: Any, a: Any) -> Any:
        noted.append(x)
        return x * x - a

    for _ in range(2):
        cadiff.grad(lambda a: root(noting, 1.0, a))(4.0)
    assert cadiff.value(noted[-1]) == pytest.approx(2.0)


# --- systems -------------------------------------------------------------------------------------


def of_linear_system(b: Any) -> Any:
    return np.sum(root(lambda x: (MATRIX * b[0]) @ x - b * b, numpy.zeros(3)) ** 3)


def of_containers(p: Any) -> Any:
    def equations(s: Any) -> Any:
        u, v = s["u"], s["v"][0]
        return {"u": u * v - p[0] * p[0], "v": [u + 2.0 * v - p[1]]}

    found = root(equations, {"u": 2.0, "v": [0.1]})
    return found["u"] * found["v"][0] ** 2 + p[2]


def by_square_root(p: Any) -> Any:
    u = (p[1] + np.sqrt(p[1] ** 2 - 8.0 * p[0] ** 2)) / 2.0
    return u * ((p[1] - u) / 2.0) ** 2 + p[2]


@pytest.mark.parametrize(
    ("implicit", "explicit", "point"),
    [
        (of_linear_system, lambda b: np.sum(np.linalg.solve(MATRIX * b[0], b * b) ** 3), POINT),
        (of_containers, by_square_root, numpy.array([0.3, 3.0, 1.0])),
    ],
    ids=["linear", "containers"],
)
def test_systems(implicit: Function, explicit: Function, point: Any) -> None:
    found = check_ways(implicit, point, rtol=1e-10)
    for one, other in zip(found, check_ways(explicit, point), strict=True):
        npt.assert_allclose(one, other, rtol=1e-10)


@given(st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3))
def test_fixed_points_agree_with_many_iterations(numbers: list[float]) -> None:
    def step(x: Any, a: Any) -> Any:
        return np.tanh(MATRIX @ x * 0.1 + a)

    def unrolled(a: Any) -> Any:
        x = np.zeros(3)
        for _ in range(60):
            x = step(x, a)
        return np.sum(x * x)

    def implicit(a: Any) -> Any:
        return np.sum(fixed_point(step, numpy.zeros(3), a) ** 2)

    a = numpy.array(numbers)
    npt.assert_allclose(cadiff.grad(implicit)(a), cadiff.grad(unrolled)(a), rtol=1e-9, atol=1e-12)
    npt.assert_allclose(
        cadiff.hessian(implicit)(a), cadiff.hessian(unrolled)(a), rtol=1e-8, atol=1e-10
    )


def test_functions_that_optimise() -> None:
    """Ridge regression, its penalty chosen by the error on other data: by hand and by root."""
    rng = numpy.random.default_rng(0)
    design, other = rng.normal(size=(20, 3)), rng.normal(size=(10, 3))
    y, z = design @ POINT + 0.1 * rng.normal(size=20), other @ POINT

    def error(log_penalty: Any) -> Any:
        def loss(w: Any) -> Any:
            return np.sum((design @ w - y) ** 2) + np.exp(log_penalty) * np.sum(w * w)

        w = root(cadiff.grad(loss), numpy.zeros(3))
        return np.sum((other @ w - z) ** 2)

    def by_hand(log_penalty: Any) -> Any:
        w = np.linalg.solve(design.T @ design + np.exp(log_penalty) * np.eye(3), design.T @ y)
        return np.sum((other @ w - z) ** 2)

    for transform in (cadiff.grad, cadiff.hessian, _forward):
        npt.assert_allclose(transform(error)(0.3), transform(by_hand)(0.3), rtol=1e-9)


def test_the_function_is_as_it_was_at_the_call() -> None:
    def rebound(p: Any) -> Any:
        total = 0.0
        for a in [p, 2.0 * p, 5.0 * p]:
            total = total + root(lambda x: x * x - a, 1.0) + checkpoint(lambda x: x * a)(3.0)  # noqa: B023
        a = 100.0 * p
        return total

    factor = (1.0 + 2.0**0.5 + 5.0**0.5) / 2.0
    npt.assert_allclose(cadiff.grad(rebound)(4.0), factor / 2.0 + 24.0, rtol=1e-12)
    npt.assert_allclose(cadiff.hessian(rebound)(4.0), -factor / 16.0, rtol=1e-12)
    npt.assert_allclose(cadiff.derivative(rebound, 4.0, order=2), -factor / 16.0, rtol=1e-12)

    def recursive(p: Any) -> Any:
        out = []
        for a in (p, 2.0 * p):

            def product(n: int, x: Any) -> Any:
                return x * a if n == 0 else product(n - 1, x) * a  # noqa: B023

            out.append(checkpoint(product)(2, 1.0))
        return out[0] + out[1]

    assert cadiff.grad(recursive)(1.0) == 27.0

    def in_a_list(p: Any) -> Any:
        c = [p]
        x = root(lambda x: x * x - c[0], 1.0)
        c[0] = p * 50.0
        return x

    npt.assert_allclose(cadiff.grad(in_a_list)(4.0), 0.25, rtol=1e-12)


def test_what_changed_behind_its_back_is_found_out() -> None:
    def in_an_array(p: Any) -> Any:
        c = numpy.ones(2)
        x = root(lambda x: x * x - p * c, numpy.ones(2))
        c[:] = 77.0
        return np.sum(x)

    npt.assert_allclose(cadiff.grad(in_an_array)(4.0), 0.5, rtol=1e-12)

    def in_a_class(p: Any) -> Any:
        class C:
            c = 1.0

        x = root(lambda x: x * x - p * C.c, 1.0)
        C.c = 77.0
        return x

    for differentiate in (cadiff.grad(in_a_class), cadiff.grad(cadiff.grad(in_a_class))):
        with pytest.raises(RuntimeError, match="given to root was another one"):
            differentiate(4.0)


# --- finding it ----------------------------------------------------------------------------------


def test_other_solvers() -> None:
    def f(a: Any) -> Any:
        return root(
            lambda x: x * x - a, 1.0, solver=lambda r, x0: scipy.optimize.root(r, x0, tol=1e-14).x
        )

    npt.assert_allclose(cadiff.grad(f)(4.0), 0.25, rtol=1e-12)

    def g(a: Any) -> Any:
        return fixed_point(
            np.cos,
            a,
            solver=lambda r, x0: scipy.optimize.brentq(lambda x: r(numpy.array([x]))[0], 0, 1),
        )

    with pytest.raises(ValueError, match=r"the solver returned the shape \(\), expected \(1,\)"):
        g(0.5)


def by_scipy(residual: Any, x0: Any) -> Any:
    return scipy.optimize.root(residual, x0).x


def solved_by(found: Any) -> Function:
    return lambda: root(lambda x: x - 1.0, 0.5, solver=lambda residual, x0: found)


def test_plain_numbers_in_plain_numbers_out() -> None:
    assert root(lambda x: x * x - 4.0, 1.0) == 2.0
    assert type(root(lambda x: x - 1.0, 0.0)) is float
    assert root(lambda x: x, numpy.empty(0)).size == 0
    npt.assert_allclose(root(lambda x: [x[0] - 1.0, x[1] * x[0] - 3.0], [2.0, 2.0]), [1.0, 3.0])
    npt.assert_allclose(root(lambda x: x**3, 1.0), 0.0, atol=1e-5)  # three times: slow
    npt.assert_allclose(root(np.arctan, 5.0), 0.0, atol=1e-15)  # full steps diverge
    assert root(lambda x: 3.0 * x, 1.0, solver=by_scipy) == pytest.approx(0.0, abs=1e-12)


def test_the_first_guess_has_no_derivative() -> None:
    assert cadiff.grad(lambda a: root(lambda x: x * x - 4.0, a))(1.0) == 0.0
    assert cadiff.derivative(lambda a: root(lambda x: x * x - 4.0, a), 1.0) == 0.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: root(lambda x: x * x + 1.0, 1.0), RuntimeError, "found no solution"),
        (lambda: root(lambda x: x + np.nan, 1.0), RuntimeError, "residual is nan"),
        (lambda: root(lambda x: 1.0, 1.0), RuntimeError, "residual is 1"),
        (lambda: fixed_point(lambda x: 2.0 * x + 1.0, 1.0), RuntimeError, "found no solution"),
        (lambda: root(lambda x: [x, x], 1.0), ValueError, "as many numbers from f as x has: 1"),
        (lambda: root(lambda x: x > 1.0, 1.0), TypeError, "not bool"),
        (
            lambda: root(lambda x: x * x + 2.0, 1.0, solver=by_scipy),
            RuntimeError,
            "found no solution: at what the solver returned",
        ),
        (
            lambda: fixed_point(lambda x: x + 1.0, 1.0, solver=lambda residual, x0: x0),
            RuntimeError,
            "found no solution",
        ),
        (solved_by(None), TypeError, r"shape \(1,\) from the solver, not NoneType"),
        (solved_by(numpy.array([1j])), TypeError, "not an array of dtype complex128"),
        (solved_by(SimpleNamespace(x=numpy.ones(1))), TypeError, "SimpleNamespace: return its x"),
        (solved_by(numpy.ones(2)), ValueError, r"the shape \(2,\), expected \(1,\)"),
        (solved_by(numpy.array([numpy.nan])), RuntimeError, r"the solver returned \[nan\]"),
        (
            lambda: cadiff.grad(lambda a: root(lambda x: (x - a) ** 2, 1.0))(1.0),
            numpy.linalg.LinAlgError,
            "singular at the solution",
        ),
        (
            lambda: cadiff.derivative(lambda a: root(lambda x: (x - a) ** 2, 1.0), 1.0),
            numpy.linalg.LinAlgError,
            "singular at the solution",
        ),
    ],
)
def test_what_cannot_be_is_said(call: Function, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_nothing_is_left_of_the_search() -> None:
    left = []

    def f(a: Any) -> Any:
        before = cadiff.binding.tape_usage()["entries"]
        x = root(lambda x: x**5 - a, 1.0)
        left.append(cadiff.binding.tape_usage()["entries"] - before)
        return x

    npt.assert_allclose(cadiff.grad(f)(32.0), 1.0 / 80.0, rtol=1e-13)
    # The numbers that it reads as a vector, the solution, and the number taken from that.
    assert left[0] <= 4


@pytest.mark.parametrize("a", [2.0, 3.0, 10.0, 1e-3])
def test_the_search_ends_when_no_step_changes_the_solution(a: float) -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(None)
        return x * x - a

    npt.assert_allclose(root(f, 1.0), a**0.5, rtol=1e-15)
    assert len(calls) < 30


def test_the_search_ends_where_values_are_rounded_otherwise_with_derivatives() -> None:
    def f(x: Any) -> Any:
        return x - 100.0 + (3e-15 if isinstance(x, cadiff.Var) else 0.0)

    assert root(f, 3.0) == 100.0
