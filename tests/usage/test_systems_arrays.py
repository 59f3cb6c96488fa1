"""Array systems that cadiff replaces: their known answers, in each of the ways they offered.

B: dual arrays, nodes and linear maps. C: tensors with many tangents at once. E: a tensor with
`backward`, training a network.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import Dual, Var, nn

# --- B: W sin(πx²) + b ---------------------------------------------------------------------------

F = [1.59230569, 2.13912743, 1.24483847]
J = [
    [0.30036226, 0.09085468, -1.79903433, -0.86712717],
    [0.23186367, 0.0820517, -1.30604222, -1.41916768],
    [0.5274067, 0.04871081, -2.36301769, -0.84168345],
]


def layer() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    return random.rand(3, 4), random.rand(3), random.rand(4)


def wave(W: Any, b: Any, x: Any) -> Any:
    return W @ np.sin(np.pi * x**2) + b


def exact_jacobian() -> np.ndarray:
    W, _, x = layer()
    return W * (np.cos(np.pi * x**2) * 2.0 * np.pi * x)


def near(got: Any, digits: Any) -> None:
    """Equal to a known answer of eight decimals."""
    np.testing.assert_allclose(got, digits, rtol=0.0, atol=5.1e-9)


def test_known_answers() -> None:
    W, b, x = layer()
    near(wave(W, b, x), F)
    near(exact_jacobian(), J)


def test_jacobian_forward_and_reverse() -> None:
    W, b, x = layer()
    for jacobian in (cadiff.jacfwd, cadiff.jacrev, cadiff.jacobian):
        by_x = jacobian(lambda x: wave(W, b, x))(x)
        np.testing.assert_allclose(by_x, exact_jacobian(), rtol=1e-14)
        near(by_x, J)


def test_one_column_by_a_dual() -> None:
    W, b, x = layer()
    out = wave(W, b, Dual(x, np.eye(4)[0]))
    near(out.primal, F)
    near(out.tangent, [row[0] for row in J])
    out, tangent = cadiff.jvp(lambda x: wave(W, b, x), (x,), (np.eye(4)[0],))
    near(out, F)
    near(tangent, [row[0] for row in J])


def test_all_columns_in_one_forward_pass() -> None:
    W, b, x = layer()
    out = wave(W, b, Dual.seed(x))
    near(out.primal, F)
    np.testing.assert_allclose(out.tangent, exact_jacobian(), rtol=1e-14)


def test_rows_by_pullbacks_of_one_recording() -> None:
    W, b, x = layer()
    out, pull = cadiff.vjp(lambda x: wave(W, b, x), x)
    near(out, F)
    rows = [pull(unit) for unit in np.eye(3)]
    np.testing.assert_allclose(rows, exact_jacobian(), rtol=1e-14)
    W_bar, b_bar, x_bar = cadiff.vjp(wave, W, b, x)[1](np.array([1.0, 0.0, 2.0]))
    np.testing.assert_allclose(W_bar, np.outer([1, 0, 2], np.sin(np.pi * x**2)), rtol=1e-14)
    np.testing.assert_array_equal(b_bar, [1.0, 0.0, 2.0])
    np.testing.assert_allclose(x_bar, [1, 0, 2] @ exact_jacobian(), rtol=1e-14)


def test_linearise_once_then_push_and_pull() -> None:
    W, b, x = layer()
    out, pullback = cadiff.vjp(lambda x: wave(W, b, x), x)
    near(out, F)
    rng = np.random.default_rng(0)
    for _ in range(3):
        t, u = rng.standard_normal(4), rng.standard_normal(3)
        _, pushed = cadiff.jvp(lambda x: wave(W, b, x), (x,), (t,))
        np.testing.assert_allclose(pushed, exact_jacobian() @ t, rtol=1e-12)
        np.testing.assert_allclose(pullback(u), u @ exact_jacobian(), rtol=1e-12)
        assert u @ pushed == pytest.approx(pullback(u) @ t, rel=1e-13)


def test_gradients_accumulate_over_passes() -> None:
    W, b, x = layer()
    v = Var(x)
    y = wave(W, b, v)
    for count in (1, 2, 3):
        y.backward(np.array([1.0, 0.0, 2.0]))
        np.testing.assert_allclose(v.grad, count * ([1, 0, 2] @ exact_jacobian()), rtol=1e-13)
    v.zero_grad()
    np.testing.assert_array_equal(v.grad, np.zeros(4))


def test_shared_subexpressions_are_visited_once() -> None:
    """Sixty doublings have 2**60 paths."""

    def f(x: Any) -> Any:
        for _ in range(60):
            x = 0.5 * (x + x)
        return x

    x = np.array([1.0, -2.0])
    np.testing.assert_array_equal(cadiff.jacrev(f)(x), np.eye(2))
    np.testing.assert_array_equal(cadiff.jacfwd(f)(x), np.eye(2))


@pytest.mark.parametrize(
    ("f", "value", "slope"),
    [
        (lambda x: np.sin(x**3), 0.8414709848, 1.6209069176),
        (lambda x: np.exp(x**2) * np.sin(x**2), 2.2873552872, 7.5120984542),
    ],
)
def test_scalar_chains_over_arrays(f: Callable[[Any], Any], value: float, slope: float) -> None:
    for shape in [(), (1,), (2, 3)]:
        out, tangent = cadiff.jvp(f, (np.ones(shape),), (np.ones(shape),))
        np.testing.assert_allclose(out, value, atol=5.1e-11)
        np.testing.assert_allclose(tangent, slope, atol=5.1e-11)
        gradient = cadiff.grad(lambda x: np.sum(f(x)))(np.ones(shape))
        np.testing.assert_allclose(gradient, slope, atol=5.1e-11)
        assert np.shape(gradient) == shape


def test_checkpoint_recomputes() -> None:
    W, b, x = layer()
    runs = []

    def block(x: Any) -> Any:
        runs.append(1)
        return wave(W, b, x)

    gradient = cadiff.grad(lambda x: np.sum(cadiff.checkpoint(block)(x)))(x)
    np.testing.assert_allclose(gradient, exact_jacobian().sum(axis=0), rtol=1e-13)
    assert len(runs) == 2


# --- C: logistic regression, many tangents at once -----------------------------------------------

ROWS, BATCH, STEP = 1000, 100, 0.005


def sample() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(ROWS), rng.standard_normal((ROWS, 4))])
    beta = np.array([0.3, 1.0, -1.5, 0.5, 0.8])
    return design, (rng.uniform(size=ROWS) < sigmoid(design @ beta)).astype(float)


def sigmoid(z: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-z))


def cross_entropy(beta: Any, design: np.ndarray, labels: np.ndarray) -> Any:
    p = sigmoid(design @ beta)
    return -np.sum(labels * np.log(p) + (1.0 - labels) * np.log(1.0 - p))


def forward_gradient(beta: np.ndarray, design: np.ndarray, labels: np.ndarray) -> Any:
    """One pass of a Dual with an identity of tangents."""
    out = cross_entropy(Dual.seed(beta), design, labels)
    assert out.tangent.shape == (5,)
    return out.tangent


GRADIENTS: dict[str, Callable[..., Any]] = {
    "identity of tangents": forward_gradient,
    "reverse": cadiff.grad(cross_entropy),
    "jacfwd": cadiff.jacfwd(cross_entropy),
}


@pytest.mark.parametrize("mode", GRADIENTS)
def test_gradient_of_logistic_regression(mode: str) -> None:
    design, labels = sample()
    for at in (np.zeros(5), np.random.default_rng(1).standard_normal(5)):
        expected = design.T @ (sigmoid(design @ at) - labels)
        gradient = GRADIENTS[mode](at, design, labels)
        error = np.linalg.norm(gradient - expected) / np.linalg.norm(expected)
        assert error < 1e-12


@pytest.mark.parametrize("mode", GRADIENTS)
def test_mini_batches_approach_the_maximum_likelihood(mode: str) -> None:
    design, labels = sample()
    optimum = np.zeros(5)
    for _ in range(20):
        p = sigmoid(design @ optimum)
        hessian = (design.T * (p * (1.0 - p))) @ design
        optimum -= np.linalg.solve(hessian, design.T @ (p - labels))

    beta, rng, losses = np.zeros(5), np.random.default_rng(0), []
    for _ in range(20):
        losses.append(cross_entropy(beta, design, labels))
        for batch in rng.permutation(ROWS).reshape(-1, BATCH):
            beta = beta - STEP * GRADIENTS[mode](beta, design[batch], labels[batch])
    assert losses[0] == pytest.approx(ROWS * np.log(2.0))
    assert all(later < losses[0] for later in losses[1:])
    assert losses[-1] < losses[0] * 0.8
    assert np.abs(beta - optimum).max() < 0.15


def test_hessian_vector_products() -> None:
    design, labels = sample()
    at, v = np.full(5, 0.1), np.arange(5.0)
    p = sigmoid(design @ at)
    hessian = (design.T * (p * (1.0 - p))) @ design

    def f(beta: Any) -> Any:
        return cross_entropy(beta, design, labels)

    products = {
        "hvp": cadiff.hvp(f)(at, v),
        "forward over reverse": cadiff.jvp(cadiff.grad(f), (at,), (v,))[1],
        "reverse over forward": cadiff.grad(lambda x: cadiff.jvp(f, (x,), (v,))[1])(at),
        "reverse over reverse": cadiff.grad(lambda x: np.sum(cadiff.grad(f)(x) * v))(at),
    }
    for mode, product in products.items():
        np.testing.assert_allclose(product, hessian @ v, rtol=1e-11, err_msg=mode)
    np.testing.assert_allclose(cadiff.hessian(f)(at), hessian, rtol=1e-11)


def test_tangents_scale_rows_and_build_no_square_matrices() -> None:
    """A chain over 20,000 elements with 3 lanes; dense diagonal matrices would take 3.2 GB."""
    x = np.linspace(0.0, 1.0, 20_000)
    directions = np.random.default_rng(0).standard_normal((x.size, 3))
    out = np.exp(np.sin(Dual(x, directions)))
    slope = np.exp(np.sin(x)) * np.cos(x)
    np.testing.assert_allclose(out.tangent, slope[:, np.newaxis] * directions, rtol=1e-14)


# --- E: a tensor with backward -------------------------------------------------------------------


def test_value_grad_and_parents() -> None:
    x = Var([1.0, 2.0])
    y = x * 3.0
    y.backward(np.array([1.0, 10.0]))
    np.testing.assert_array_equal(y.value, [3.0, 6.0])
    np.testing.assert_array_equal(x.grad, [3.0, 30.0])
    assert [parent.value.tolist() for parent in y.parents if parent.ndim] == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("x", "value", "slope"),
    [
        (1.0, 0.1353352832, -0.2706705665),
        (0.5, 0.3678794412, -0.7357588823),
        (0.0, 1.0, 0.0),
        (-2.0, 1.0, 0.0),
    ],
)
def test_exp_of_minus_two_relu(x: float, value: float, slope: float) -> None:
    for shape in [(), (3,), (2, 2)]:
        v = Var(np.full(shape, x))
        y = cadiff.exp(-2.0 * cadiff.relu(v))
        y.backward(np.ones(shape)[()])
        np.testing.assert_allclose(y.value, value, atol=5.1e-11)
        np.testing.assert_allclose(v.grad, slope, atol=5.1e-11)


def test_an_operation_of_ones_own() -> None:
    from cadiff.operations.primitives import primitive

    @primitive
    def swish(x: Any) -> Any:
        return x / (1.0 + np.exp(-x))

    swish.defpartials(lambda ans, x: ans + cadiff.expit(x) * (1.0 - ans))
    x = np.linspace(-3.0, 3.0, 7)
    _, tangent = cadiff.jvp(swish, (x,), (np.ones(7),))
    expected = cadiff.jvp(lambda x: x * cadiff.expit(x), (x,), (np.ones(7),))[1]
    np.testing.assert_allclose(tangent, expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(cadiff.grad(lambda x: np.sum(swish(x)))(x), expected, rtol=1e-13)


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


def network(weights: Any, images: np.ndarray) -> Any:
    first, first_bias, second, second_bias = weights
    return nn.relu(images @ first + first_bias) @ second + second_bias


def loss(weights: Any, images: np.ndarray, labels: np.ndarray) -> Any:
    return nn.cross_entropy(network(weights, images), labels)


def backpropagation(weights: Any, images: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
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


def test_training_lowers_the_loss() -> None:
    weights, images, labels = make_network(np.float32, (20, 16, 4), 64)
    value_and_grad = cadiff.value_and_grad(loss)
    losses = []
    for _ in range(400):
        value, gradients = value_and_grad(weights, images, labels)
        losses.append(value)
        weights = [w - np.float32(0.3) * g for w, g in zip(weights, gradients, strict=True)]
    assert losses[-1] < 0.5 * losses[0]


def test_parts_without_a_gradient_get_none() -> None:
    weights, images, labels = make_network(np.float64, (6, 5, 3), 8)
    first, first_bias, *rest = weights

    def head(rest: Any) -> Any:
        return loss([first, first_bias, *rest], images, labels)

    gradients = cadiff.grad(head)(rest)
    for got, expected in zip(gradients, backpropagation(weights, images, labels)[2:], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)
