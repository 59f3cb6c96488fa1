"""The answers of the small systems that cadiff replaces: the same programs, the same numbers, in
each of the ways that they offered, over numbers one by one and over arrays.

A: dual numbers. B: dual arrays, nodes and linear maps. C: many tangents at once. D: a graph of
scalars in reverse. E: a tensor with `backward`, training a network.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import Dual, Var, nn

Array = np.ndarray
Function = Callable[..., Any]

# --- A: dual numbers -----------------------------------------------------------------------------

CURVES: list[tuple[Function, float, float, float]] = [  # f, x, f(x), f'(x)
    (
        lambda x: np.sin(x) ** np.sin(x),
        math.pi / 4,
        math.sqrt(0.5) ** math.sqrt(0.5),
        0.3616192241,
    ),
    (lambda x: x**2 * 2**x, 0.5, 0.25 * math.sqrt(2), 1.6592780982),
    (lambda x: np.sin(x**3), 1.0, 0.8414709848, 1.6209069176),
    (lambda x: np.exp(x**2) * np.sin(x**2), 1.0, 2.2873552872, 7.5120984542),
    (lambda x: np.exp(-2 * cadiff.relu(x)), 1.0, 0.1353352832, -0.2706705665),
    (lambda x: np.exp(-2 * cadiff.relu(x)), 0.5, 0.3678794412, -0.7357588823),
    (lambda x: np.exp(-2 * cadiff.relu(x)), 0.0, 1.0, 0.0),
    (lambda x: np.exp(-2 * cadiff.relu(x)), -1.0, 1.0, 0.0),
]


@pytest.mark.parametrize(("f", "x", "value", "slope"), CURVES)
def test_curves(f: Function, x: float, value: float, slope: float) -> None:
    y, v = f(Dual(x, 1.0)), Var(x)
    f(v).backward()
    found = [y.primal, f(v).value, cadiff.value_and_grad(f)(x)[0]]
    np.testing.assert_allclose(found, value, rtol=0.0, atol=5.1e-11)
    slopes = [v.grad, cadiff.derivative(f, 0, (x,)), cadiff.gradient(f, (x,))[0], y.tangent]
    np.testing.assert_allclose([*slopes, cadiff.grad(f)(x)], slope, rtol=0.0, atol=5.1e-11)
    for shape in [(), (1,), (2, 3)]:
        ones = np.ones(shape)
        out, tangent = cadiff.jvp(f, (x * ones,), (ones,))
        gradient = cadiff.grad(lambda x: np.sum(f(x)))(x * ones)
        np.testing.assert_allclose(out, value, rtol=0.0, atol=5.1e-11)
        np.testing.assert_allclose(tangent, slope, rtol=0.0, atol=5.1e-11)
        np.testing.assert_allclose(gradient, slope, rtol=0.0, atol=5.1e-11)
        assert np.shape(gradient) == shape


def test_the_derivative_of_sin_to_the_sin_to_all_digits() -> None:
    slope = cadiff.derivative(lambda x: cadiff.sin(x) ** cadiff.sin(x), 0, [math.pi / 4])
    assert math.isclose(slope, 0.36161922410769802, rel_tol=1e-15)


def _three(x: Any, y: Any, z: Any) -> Any:
    return cadiff.sin(x ** (y + z)) - 3 * z * cadiff.log(x**2 * y**3)


THREE_POINT = (0.5, 4, -2.3)
THREE_VALUE = 19.433811705909566
THREE_PARTIALS = (28.597295442703653, 4.9716845516778472, -8.5210816150414965)


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_the_gradient_of_three_numbers(mode: Any) -> None:
    gradient = cadiff.gradient(_three, THREE_POINT, mode=mode)
    np.testing.assert_allclose(gradient, THREE_PARTIALS, rtol=1e-14)
    value, reverse = cadiff.value_and_grad(_three, (0, 1, 2))(*THREE_POINT)
    assert math.isclose(value, THREE_VALUE, rel_tol=1e-15)
    np.testing.assert_allclose(reverse, THREE_PARTIALS, rtol=1e-14)
    args: Any = np.array(THREE_POINT)
    for wrt, partial in enumerate(THREE_PARTIALS):
        assert math.isclose(cadiff.derivative(_three, wrt, THREE_POINT), partial, rel_tol=1e-14)
        assert cadiff.check_derivative(_three, wrt, args, partial)
        assert not cadiff.check_derivative(_three, wrt, args, partial * 1.001)
    np.testing.assert_array_equal(args, THREE_POINT)


XS = np.random.default_rng(12).uniform(-3.0, 3.0, 500)
YS = 1.4 * XS - 0.7 + np.random.default_rng(13).uniform(-1.0, 1.0, 500)


def mean_squared_error(slope: Any, intercept: Any) -> Any:
    """Of a line through points, in plain Python."""
    total: Any = 0.0
    for x, y in zip(XS.tolist(), YS.tolist(), strict=True):
        total += (slope * x + intercept - y) ** 2
    return total / len(XS)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_each_step_of_linear_regression_takes_one_pass(mode: Any) -> None:
    calls = []

    def counted(slope: Any, intercept: Any) -> Any:
        calls.append(1)
        return mean_squared_error(slope, intercept)

    residuals = 0.1 * XS - YS
    expected = [2 * np.mean(residuals * XS), 2 * np.mean(residuals)]
    gradient = cadiff.gradient(counted, (0.1, 0.0), mode=mode)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    assert len(calls) == 1


# --- B: W sin(πx²) + b ---------------------------------------------------------------------------

F = [1.59230569, 2.13912743, 1.24483847]
J = [
    [0.30036226, 0.09085468, -1.79903433, -0.86712717],
    [0.23186367, 0.0820517, -1.30604222, -1.41916768],
    [0.5274067, 0.04871081, -2.36301769, -0.84168345],
]
RANDOM = np.random.RandomState(0)
W, B, X = RANDOM.rand(3, 4), RANDOM.rand(3), RANDOM.rand(4)
EXACT = W * (np.cos(np.pi * X**2) * 2.0 * np.pi * X)


def of_numbers(x: Any) -> Any:
    s = [cadiff.sin(math.pi * number**2) for number in x]
    return [sum(W[i, j] * s[j] for j in range(4)) + B[i] for i in range(3)]


def of_arrays(x: Any) -> Any:
    return W @ np.sin(np.pi * x**2) + B


in_both_ways = pytest.mark.parametrize("f", [of_numbers, of_arrays])


def near(got: Any, digits: Any) -> None:
    """Equal to a known answer of eight decimals."""
    np.testing.assert_allclose(got, digits, rtol=0.0, atol=5.1e-9)


@in_both_ways
def test_the_jacobian_of_a_layer(f: Function) -> None:
    near(f(X), F)
    near(EXACT, J)
    for transform in (cadiff.jacfwd, cadiff.jacrev, cadiff.jacobian):
        np.testing.assert_allclose(transform(f)(X), EXACT, rtol=1e-13)


@in_both_ways
def test_columns_are_pushed_and_rows_pulled(f: Function) -> None:
    columns = [cadiff.jvp(f, (X,), (unit,)) for unit in np.eye(4)]
    near([value for value, _ in columns], [F] * 4)
    np.testing.assert_allclose(np.transpose([t for _, t in columns]), EXACT, rtol=1e-13)
    out, pull = cadiff.vjp(f, X)
    near(out, F)
    np.testing.assert_allclose([pull(unit) for unit in np.eye(3)], EXACT, rtol=1e-13)
    rng = np.random.default_rng(0)
    for _ in range(3):
        t, u = rng.standard_normal(4), rng.standard_normal(3)
        pushed = cadiff.jvp(f, (X,), (t,))[1]
        np.testing.assert_allclose(pushed, EXACT @ t, rtol=1e-12)
        np.testing.assert_allclose(pull(u), u @ EXACT, rtol=1e-12)
        assert u @ pushed == pytest.approx(pull(u) @ t, rel=1e-12)


def test_all_columns_in_one_forward_pass() -> None:
    out = of_arrays(Dual.seed(X))
    near(out.primal, F)
    np.testing.assert_allclose(out.tangent, EXACT, rtol=1e-14)


def test_gradients_by_all_parts_of_a_layer() -> None:
    def wave(W: Any, b: Any, x: Any) -> Any:
        return W @ np.sin(np.pi * x**2) + b

    u = np.array([1.0, 0.0, 2.0])
    W_bar, b_bar, x_bar = cadiff.vjp(wave, W, B, X)[1](u)
    np.testing.assert_allclose(W_bar, np.outer(u, np.sin(np.pi * X**2)), rtol=1e-14)
    np.testing.assert_array_equal(b_bar, u)
    np.testing.assert_allclose(x_bar, u @ EXACT, rtol=1e-14)
    v = Var(X)
    y = of_arrays(v)
    for count in (1, 2, 3):
        y.backward(u)
        np.testing.assert_allclose(v.grad, count * (u @ EXACT), rtol=1e-13)
    v.zero_grad()
    np.testing.assert_array_equal(v.grad, np.zeros(4))


@pytest.mark.parametrize("x", [1.0, np.array([1.0, -2.0])], ids=["number", "array"])
def test_shared_subexpressions_are_visited_once(x: Any) -> None:
    """Two hundred doublings have 2**200 paths."""

    def f(x: Any) -> Any:
        for _ in range(200):
            x = x + x
        return x

    unit = np.eye(np.size(x)).reshape(np.shape(x) * 2)
    np.testing.assert_array_equal(cadiff.jacrev(f)(x), unit * 2.0**200)
    np.testing.assert_array_equal(cadiff.jacfwd(f)(x), unit * 2.0**200)


# --- C: logistic regression, many tangents at once -----------------------------------------------

ROWS = 1000


def sigmoid(z: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-z))


DRAWN = np.random.default_rng(0)
DESIGN = np.column_stack([np.ones(ROWS), DRAWN.standard_normal((ROWS, 4))])
LABELS = (DRAWN.uniform(size=ROWS) < sigmoid(DESIGN @ [0.3, 1.0, -1.5, 0.5, 0.8])).astype(float)


def cross_entropy(beta: Any, design: Array, labels: Array) -> Any:
    p = sigmoid(design @ beta)
    return -np.sum(labels * np.log(p) + (1.0 - labels) * np.log(1.0 - p))


def of_scalars(beta: Any, design: Array, labels: Array) -> Any:
    """log(1 + exp(-s z)), s = ±1, summed over the rows."""
    total: Any = 0.0
    for row, label in zip(design.tolist(), labels.tolist(), strict=True):
        z = sum(b * x for b, x in zip(beta, row, strict=True))
        total = total + cadiff.softplus(z if label == 0.0 else -z)
    return total


GRADIENTS: dict[str, Function] = {
    "identity of tangents": lambda f: lambda beta, *data: f(Dual.seed(beta), *data).tangent,
    "reverse": cadiff.grad,
    "jacfwd": cadiff.jacfwd,
}
modes = pytest.mark.parametrize("mode", GRADIENTS)
losses = pytest.mark.parametrize("loss", [cross_entropy, of_scalars])


def hessian_of(beta: Array, design: Array) -> Array:
    p = sigmoid(design @ beta)
    matrix: Array = (design.T * (p * (1.0 - p))) @ design
    return matrix


@modes
@losses
def test_gradient_of_logistic_regression(mode: str, loss: Function) -> None:
    n = ROWS if loss is cross_entropy else 100
    for at in (np.zeros(5), np.random.default_rng(1).standard_normal(5)):
        expected = DESIGN[:n].T @ (sigmoid(DESIGN[:n] @ at) - LABELS[:n])
        gradient = GRADIENTS[mode](loss)(at, DESIGN[:n], LABELS[:n])
        error = np.linalg.norm(gradient - expected) / np.linalg.norm(expected)
        assert error < 1e-12


@losses
def test_hessian_vector_products(loss: Function) -> None:
    at, v = np.full(5, 0.1), np.arange(5.0)
    expected = hessian_of(at, DESIGN[:50]) @ v

    def f(beta: Any) -> Any:
        return loss(beta, DESIGN[:50], LABELS[:50])

    products = {
        "hvp": cadiff.hvp(f)(at, v),
        "forward over reverse": cadiff.jvp(cadiff.grad(f), (at,), (v,))[1],
        "reverse over forward": cadiff.grad(lambda x: cadiff.jvp(f, (x,), (v,))[1])(at),
        "reverse over reverse": cadiff.grad(lambda x: np.sum(cadiff.grad(f)(x) * v))(at),
        "hessian": cadiff.hessian(f)(at) @ v,
    }
    for mode, product in products.items():
        np.testing.assert_allclose(product, expected, rtol=1e-11, err_msg=mode)


def test_tangents_scale_rows_and_build_no_square_matrices() -> None:
    """A chain over 20,000 elements with 3 lanes; dense diagonal matrices would take 3.2 GB."""
    x = np.linspace(0.0, 1.0, 20_000)
    directions = np.random.default_rng(0).standard_normal((x.size, 3))
    out = np.exp(np.sin(Dual(x, directions)))
    slope = np.exp(np.sin(x)) * np.cos(x)
    np.testing.assert_allclose(out.tangent, slope[:, np.newaxis] * directions, rtol=1e-14)


# --- D: a graph of scalars in reverse ------------------------------------------------------------


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


# --- E: a tensor with backward -------------------------------------------------------------------


@pytest.mark.parametrize("push", [lambda g, ans, x: g, lambda g, ans, x: g[:]])
@pytest.mark.parametrize("function", [lambda x: x, lambda x: x[:]])
@pytest.mark.parametrize("n", [3, 600])
def test_an_operation_may_return_its_argument(function: Any, push: Any, n: int) -> None:
    """What is assigned later to the argument or to the result does not reach the other."""
    same = cadiff.primitive(function)
    same.defvjp(lambda ans, x: lambda g: g)
    same.defjvp(push)

    def f(x: Any) -> Any:
        y = 2.0 * x
        z = same(y)
        y[1:] = 3.0
        z[0] = x[1]
        return np.sum(y * y + z * z)

    x = np.linspace(0.5, 1.5, n)
    expected = 8.0 * x
    expected[0], expected[1] = 8.0 * x[0], expected[1] + 2.0 * x[1]
    value = 4.0 * x[0] ** 2 + 9.0 * (n - 1) + x[1] ** 2 + 4.0 * np.sum(x[1:] ** 2)
    np.testing.assert_allclose(cadiff.grad(f)(x), expected, rtol=1e-13)
    for direction in np.eye(n)[[0, 1, -1]]:
        out, tangent = cadiff.jvp(f, (x,), (direction,))
        np.testing.assert_allclose(out, value, rtol=1e-13)
        np.testing.assert_allclose(tangent, expected @ direction, rtol=1e-13)


def network(weights: Any, images: Array) -> Any:
    first, first_bias, second, second_bias = weights
    return nn.relu(images @ first + first_bias) @ second + second_bias


def loss(weights: Any, images: Array, labels: Array) -> Any:
    return nn.cross_entropy(network(weights, images), labels)


def backpropagation(weights: Any, images: Array, labels: Array) -> list[Array]:
    """The gradient by hand."""
    first, first_bias, second, second_bias = weights
    before = images @ first + first_bias
    hidden = np.maximum(before, 0.0)
    scores = hidden @ second + second_bias
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(labels)), labels] -= 1.0
    p /= len(labels)
    hidden_bar = (p @ second.T) * (before > 0.0)
    return [images.T @ hidden_bar, hidden_bar.sum(0), hidden.T @ p, p.sum(0)]


def make_network(dtype: Any, sizes: tuple[int, ...] = (784, 256, 10), rows: int = 32) -> Any:
    rng = np.random.default_rng(0)
    inputs, hidden, outputs = sizes
    weights = [
        rng.standard_normal((inputs, hidden)) / np.sqrt(inputs),
        rng.standard_normal(hidden) * 0.1,
        rng.standard_normal((hidden, outputs)) / np.sqrt(hidden),
        rng.standard_normal(outputs) * 0.1,
    ]
    images = rng.uniform(size=(rows, inputs)).astype(dtype)
    return [w.astype(dtype) for w in weights], images, rng.integers(0, outputs, rows)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradient_of_a_network(dtype: Any) -> None:
    weights, images, labels = make_network(dtype)
    value, gradients = cadiff.value_and_grad(loss)(weights, images, labels)
    assert value == pytest.approx(float(loss(weights, images, labels)), rel=1e-6)
    exact = backpropagation([w.astype(float) for w in weights], images.astype(float), labels)
    for gradient, weight, expected in zip(gradients, weights, exact, strict=True):
        assert gradient.dtype == weight.dtype == dtype
        assert gradient.shape == weight.shape
        tolerance = 1e-12 if dtype is np.float64 else 1e-5
        np.testing.assert_allclose(
            gradient, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max()
        )


def test_a_network_in_forward_mode() -> None:
    weights, images, labels = make_network(np.float64, (6, 5, 3), 8)
    forward = cadiff.jacfwd(loss)(weights, images, labels)
    for got, expected in zip(forward, backpropagation(weights, images, labels), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-15)
