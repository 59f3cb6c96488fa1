"""The answers of the small systems that cadiff replaces: the same programs, the same numbers.

Each section is one such design, and says what its users did with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cadiff
from cadiff import Dual, Var

Array = NDArray[np.float64]


# --- A. dual numbers over floats ---------------------------------------------------------------


def test_sum_of_two_duals() -> None:
    y = Dual(4, 7) + Dual(-1, 5)
    assert (y.primal, y.tangent) == (3.0, 12.0)


def test_sum_of_a_dual_and_a_number() -> None:
    y = Dual(4, 7) + 10
    assert (y.primal, y.tangent) == (14.0, 7.0)


def test_sum_of_a_number_and_a_dual() -> None:
    y = 4 + Dual(-1, 5)
    assert (y.primal, y.tangent) == (3.0, 5.0)


@pytest.mark.parametrize("other", ["10", None, ["10"], {"a": 1}])
def test_duals_do_not_mix_with_anything_but_numbers(other: Any) -> None:
    with pytest.raises(TypeError):
        Dual(4, 7) + other
    with pytest.raises(TypeError):
        other + Dual(4, 7)


# f, x, f(x), f'(x)
CURVES: dict[str, tuple[Callable[[Any], Any], float, float, float]] = {
    "sin x to the sin x": (
        lambda x: cadiff.sin(x) ** cadiff.sin(x),
        math.pi / 4,
        math.sqrt(0.5) ** math.sqrt(0.5),
        0.36161922410769802,
    ),
    "x squared times two to the x": (
        lambda x: x**2 * 2**x,
        0.5,
        0.25 * math.sqrt(2),
        1.6592780982402318,
    ),
    "sin of x cubed": (lambda x: cadiff.sin(x**3), 1.0, 0.8414709848, 1.6209069176),
    "exp times sin of x squared": (
        lambda x: cadiff.exp(x**2) * cadiff.sin(x**2),
        1.0,
        2.2873552872,
        7.5120984542,
    ),
}


@pytest.mark.parametrize(("f", "x", "value", "slope"), CURVES.values(), ids=CURVES.keys())
def test_derivative_of_a_curve(
    f: Callable[[Any], Any], x: float, value: float, slope: float
) -> None:
    y = f(Dual(x, 1.0))
    assert math.isclose(y.primal, value, abs_tol=5e-11)
    assert math.isclose(y.tangent, slope, abs_tol=5e-11)
    assert math.isclose(f(x), value, abs_tol=5e-11)
    for got in (
        cadiff.derivative(f, 0, (x,)),
        cadiff.derivative(f, x),
        cadiff.grad(f)(x),
        cadiff.gradient(f, (x,))[0],
    ):
        assert math.isclose(got, y.tangent, rel_tol=1e-14)


def test_the_derivative_of_sin_to_the_sin_to_all_digits() -> None:
    slope = cadiff.derivative(lambda x: cadiff.sin(x) ** cadiff.sin(x), 0, [math.pi / 4])
    assert math.isclose(slope, 0.36161922410769802, rel_tol=1e-15)


def _three(x: Any, y: Any, z: Any) -> Any:
    return cadiff.sin(x ** (y + z)) - 3 * z * cadiff.log(x**2 * y**3)


THREE_POINT = (0.5, 4, -2.3)
THREE_VALUE = 19.433811705909566
THREE_PARTIALS = (28.597295442703653, 4.9716845516778472, -8.5210816150414965)


def test_the_function_of_three_numbers() -> None:
    assert math.isclose(_three(*THREE_POINT), THREE_VALUE, rel_tol=1e-15)
    for wrt, partial in enumerate(THREE_PARTIALS):
        assert math.isclose(cadiff.derivative(_three, wrt, THREE_POINT), partial, rel_tol=1e-14)


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_the_gradient_of_three_numbers(mode: Any) -> None:
    gradient = cadiff.gradient(_three, THREE_POINT, mode=mode)
    np.testing.assert_allclose(gradient, THREE_PARTIALS, rtol=1e-14)
    value, reverse = cadiff.value_and_grad(_three, (0, 1, 2))(*THREE_POINT)
    assert math.isclose(value, THREE_VALUE, rel_tol=1e-15)
    np.testing.assert_allclose(reverse, THREE_PARTIALS, rtol=1e-14)


def test_check_derivative_by_a_one_sided_difference() -> None:
    args: Any = np.array(THREE_POINT)
    for wrt, partial in enumerate(THREE_PARTIALS):
        assert cadiff.check_derivative(_three, wrt, args, partial)
        assert not cadiff.check_derivative(_three, wrt, args, partial * 1.001)
    np.testing.assert_array_equal(args, THREE_POINT)


def _sample() -> tuple[Array, Array]:
    rng = np.random.default_rng(12)
    xs = rng.uniform(-3.0, 3.0, 500)
    return xs, 1.4 * xs - 0.7 + rng.uniform(-1.0, 1.0, 500)


def _squares(xs: list[float], ys: list[float]) -> Callable[[Any, Any], Any]:
    """The mean squared error of a line through points, in plain Python."""

    def mean_squared_error(slope: Any, intercept: Any) -> Any:
        total: Any = 0.0
        for x, y in zip(xs, ys, strict=True):
            total += (slope * x + intercept - y) ** 2
        return total / len(xs)

    return mean_squared_error


@pytest.mark.slow
def test_linear_regression_reaches_the_least_squares_solution() -> None:
    xs, ys = _sample()
    gradient = cadiff.grad(_squares(xs.tolist(), ys.tolist()), (0, 1))
    slope, intercept = 0.1, 0.0
    for _ in range(10_000):
        by_slope, by_intercept = gradient(slope, intercept)
        slope -= 0.1 * by_slope
        intercept -= 0.1 * by_intercept
    solution, *_ = np.linalg.lstsq(np.column_stack([xs, np.ones(500)]), ys, rcond=None)
    np.testing.assert_allclose([slope, intercept], solution, rtol=1e-12)
    assert abs(slope - 1.4) < 0.1
    assert abs(intercept + 0.7) < 0.1


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_each_step_of_linear_regression_takes_one_pass(mode: Any) -> None:
    xs, ys = _sample()
    f = _squares(xs.tolist(), ys.tolist())
    calls = 0

    def counted(slope: Any, intercept: Any) -> Any:
        nonlocal calls
        calls += 1
        return f(slope, intercept)

    residuals = 0.1 * xs - ys
    expected = [2 * np.mean(residuals * xs), 2 * np.mean(residuals)]
    np.testing.assert_allclose(
        cadiff.gradient(counted, (0.1, 0.0), mode=mode), expected, rtol=1e-12
    )
    assert calls == 1


# --- B. duals, nodes and linear maps over arrays -----------------------------------------------

# np.random.seed(0): W = rand(3, 4), b = rand(3), x = rand(4)
B_VALUE = [1.59230569, 2.13912743, 1.24483847]
B_JACOBIAN = [
    [0.30036226, 0.09085468, -1.79903433, -0.86712717],
    [0.23186367, 0.0820517, -1.30604222, -1.41916768],
    [0.5274067, 0.04871081, -2.36301769, -0.84168345],
]


def _layer() -> tuple[Callable[[Any], Any], Array]:
    """W sin(π x²) + b in scalars, and its point."""
    random = np.random.RandomState(0)
    W, b, x = random.rand(3, 4), random.rand(3), random.rand(4)

    def f(x: Any) -> Any:
        s = [cadiff.sin(math.pi * number**2) for number in x]
        return [sum(W[i, j] * s[j] for j in range(4)) + b[i] for i in range(3)]

    return f, x


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_the_jacobian_of_a_layer(mode: Any) -> None:
    f, x = _layer()
    np.testing.assert_allclose(f(x), B_VALUE, atol=5e-9)
    np.testing.assert_allclose(cadiff.jacobian(f, mode=mode)(x), B_JACOBIAN, atol=5e-9)


def test_the_columns_of_the_jacobian_by_pushing_tangents() -> None:
    f, x = _layer()
    for j, e in enumerate(np.eye(4)):
        value, column = cadiff.jvp(f, (x,), (e,))
        np.testing.assert_allclose(value, B_VALUE, atol=5e-9)
        np.testing.assert_allclose(column, np.array(B_JACOBIAN)[:, j], atol=5e-9)


def test_the_rows_of_the_jacobian_by_pulling_cotangents_through_one_recording() -> None:
    f, x = _layer()
    value, pullback = cadiff.vjp(f, x)
    np.testing.assert_allclose(value, B_VALUE, atol=5e-9)
    for row, e in zip(B_JACOBIAN, np.eye(3), strict=True):
        np.testing.assert_allclose(pullback(e), row, atol=5e-9)


def test_tangents_and_cotangents_are_adjoint() -> None:
    f, x = _layer()
    rng = np.random.default_rng(0)
    _, pullback = cadiff.vjp(f, x)
    for _ in range(10):
        t, u = rng.standard_normal(4), rng.standard_normal(3)
        _, pushed = cadiff.jvp(f, (x,), (t,))
        assert math.isclose(u @ pushed, pullback(u) @ t, rel_tol=1e-12)


def test_this_pass_and_the_accumulated_gradient_are_separate() -> None:
    x = Var(5.0)
    y = 2 * x
    z = 3 * y
    z.backward()
    z.backward()
    assert x.grad == 12.0
    assert y.grad == 3.0


def test_shared_subexpressions_are_visited_once() -> None:
    x = Var(1.0)
    y = x
    for _ in range(200):
        y = y + y
    y.backward()
    assert x.grad == 2.0**200
    assert cadiff.derivative(lambda x: _doubled(x, 200), 1.0) == 2.0**200


def _doubled(x: Any, times: int) -> Any:
    for _ in range(times):
        x = x + x
    return x


# --- C. many tangents at once ------------------------------------------------------------------


def _logistic_data() -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(1000), rng.standard_normal((1000, 4))])
    truth = np.array([0.3, 1.0, -2.0, 0.5, 0.0])
    y = (rng.uniform(size=1000) < 1 / (1 + np.exp(-X @ truth))).astype(float)
    return X, y


def _cross_entropy(beta: Any, X: Array, y: Array) -> Any:
    """Binary cross-entropy summed over the rows, in scalars: log(1 + exp(-s z)), s = ±1."""
    total: Any = 0.0
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        z: Any = 0.0
        for b, x in zip(beta, row, strict=True):
            z = z + b * x
        total = total + cadiff.softplus(z if label == 0.0 else -z)
    return total


def _logistic_gradient(beta: Array, X: Array, y: Array) -> Array:
    gradient: Array = X.T @ (1 / (1 + np.exp(-X @ beta)) - y)
    return gradient


def test_one_forward_pass_of_all_lanes_gives_the_gradient_of_logistic_regression() -> None:
    X, y = _logistic_data()
    beta = np.array([0.1, -0.2, 0.3, 0.4, -0.5])
    loss = _cross_entropy(Dual.seed(beta), X[:100], y[:100])
    expected = _logistic_gradient(beta, X[:100], y[:100])
    np.testing.assert_allclose(loss.tangent, expected, rtol=1e-12, atol=1e-12)
    reverse = cadiff.grad(lambda beta: _cross_entropy(beta, X[:100], y[:100]))(beta)
    np.testing.assert_allclose(reverse, expected, rtol=1e-12, atol=1e-12)


def test_mini_batches_approach_the_maximum_likelihood_solution() -> None:
    X, y = _logistic_data()
    solution = np.zeros(5)
    for _ in range(20):  # Newton's method
        p = 1 / (1 + np.exp(-X @ solution))
        solution -= np.linalg.solve((X.T * (p * (1 - p))) @ X, _logistic_gradient(solution, X, y))
    beta = np.zeros(5)
    losses = [_cross_entropy(beta, X, y)]
    for _ in range(8):
        for first in range(0, 1000, 100):
            batch = slice(first, first + 100)
            beta -= 0.005 * _cross_entropy(Dual.seed(beta), X[batch], y[batch]).tangent
        losses.append(_cross_entropy(beta, X, y))
    assert all(after < before for before, after in pairwise(losses))
    assert np.linalg.norm(beta - solution) < 0.25 * np.linalg.norm(solution)
    assert np.linalg.norm(beta - solution) > 0


def test_hessian_vector_products_by_forward_over_reverse() -> None:
    X, y = (array[:50] for array in _logistic_data())
    beta, v = np.array([0.1, -0.2, 0.3, 0.4, -0.5]), np.array([1.0, 0.0, -1.0, 2.0, 0.5])
    p = 1 / (1 + np.exp(-X @ beta))
    expected = (X.T * (p * (1 - p))) @ X @ v

    def loss(beta: Any) -> Any:
        return _cross_entropy(beta, X, y)

    np.testing.assert_allclose(cadiff.hvp(loss)(beta, v), expected, rtol=1e-12)
    _, product = cadiff.jvp(cadiff.grad(loss), (beta,), (v,))
    np.testing.assert_allclose(product, expected, rtol=1e-12)


# --- D. a graph of scalars in reverse ----------------------------------------------------------


def test_the_sigmoid_with_its_adjoints_on_the_way() -> None:
    x = Var(0.5)
    minus_x = -x
    power = cadiff.exp(minus_x)
    denominator = 1 + power
    y = 1 / denominator
    y.backward()
    assert math.isclose(y.value, 0.62245933120185456, rel_tol=1e-15)
    assert math.isclose(x.grad, 0.23500371220159449, rel_tol=1e-14)
    adjoints = [denominator.grad, power.grad, minus_x.grad, x.grad]
    assert [round(adjoint, 2) for adjoint in adjoints] == [-0.39, -0.39, -0.24, 0.24]
    assert y.grad == 1.0


def test_log_product_and_sine() -> None:
    x1, x2 = Var(2), Var(5)
    y = cadiff.log(x1) + x1 * x2 - cadiff.sin(x2)
    y.backward()
    assert math.isclose(y.value, 11.652071455223084, rel_tol=1e-15)
    assert math.isclose(x1.grad, 5.5, rel_tol=1e-15)
    assert math.isclose(x2.grad, 1.7163378145367737, rel_tol=1e-15)


def test_a_variable_is_reused_after_a_gradient() -> None:
    x = Var(2.0)
    y = x * x
    y.backward()
    z = y * x + x
    x.zero_grad()
    z.backward()
    assert x.grad == 13.0
    w = 3.0 * x
    w.backward()
    assert x.grad == 16.0


def test_the_sweep_does_not_recurse() -> None:
    x = Var(1.0)
    y = x
    for _ in range(200_000):
        y = y * 1.0
    y.backward()
    assert x.grad == 1.0


# --- E. a tensor with backward -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "value", "slope"),
    [
        (1.0, 0.1353352832, -0.2706705665),
        (0.5, 0.3678794412, -0.7357588823),
        (0.0, 1.0, 0.0),
        (-1.0, 1.0, 0.0),
    ],
)
def test_exp_of_minus_two_relu(x: float, value: float, slope: float) -> None:
    def f(x: Any) -> Any:
        return cadiff.exp(-2 * cadiff.relu(x))

    v = Var(x)
    y = f(v)
    y.backward()
    assert math.isclose(y.value, value, abs_tol=5e-11)
    assert math.isclose(v.grad, slope, abs_tol=5e-11)
    assert math.isclose(cadiff.derivative(f, x), slope, abs_tol=5e-11)


def test_parts_without_derivative_are_not_swept() -> None:
    x, frozen = Var(2.0), cadiff.stop_gradient(Var(3.0))
    part = frozen * frozen + 1.0
    y = x * part
    assert part.parents == ()
    y.backward()
    assert (x.grad, frozen.grad) == (10.0, 0.0)
