"""Second order over arrays: every way to a Hessian leads to the same one.

The sweep of second order is compared with gradients of gradients, with differences, with formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import nn

from ..helpers.ways import check_ways

Program = Callable[[Any], Any]

# Around the bounds of tiles (1024) and of blocks that are large (512).
SIZES = [1, 2, 511, 512, 1025, 3000]


def chain(x: Any) -> Any:
    y = cnp.log(cnp.exp(-x) + x * x)
    y = cnp.tanh(3.0 * y * y)
    return cnp.sum(cnp.sqrt(y * y + 1.0) / (2.0 + cnp.sin(x)))


def words(x: Any) -> Any:
    """Rows whose partials have branches, here and there."""
    y = cnp.where(x > 1.0, cnp.arctan(x), cnp.expm1(x)) * cnp.maximum(x, 1.1)
    y = nn.relu(y - 1.0) + nn.softplus(3.0 * x) * cnp.minimum(x, y)
    return cnp.sum(cnp.hypot(y, x) + cnp.clip(x, 0.7, 1.3) ** 3 + x**2.5 + 1.5**x)


def same_operand(x: Any) -> Any:
    return cnp.sum(x * x * x / (x + x)) + x @ x * cnp.sum(cnp.logaddexp(x, x)) / x.size


def views(x: Any) -> Any:
    y = x[::-1] * cnp.exp(x) + cnp.reshape(x, (-1,))
    return cnp.sum(y[1:] * y[:-1]) + cnp.sum(cnp.sin(y)[::3]) + y[0] * x[-1]


def broadcasting(x: Any) -> Any:
    y = cnp.sin(x)[:, None] * cnp.stack([x[0], x[-1], x[0] * x[-1]]) / (1.0 + x[:, None] ** 2)
    return cnp.sum(cnp.exp(cnp.mean(y, axis=0))) + cnp.mean(y * y) * cnp.sum(x) + x[0] * 3.0


def numbers_among_arrays(x: Any) -> Any:
    scale = cnp.sqrt(x[0] + x[-1])
    y = cnp.exp(-x / scale) * scale
    return cnp.sum(y * y) * cnp.mean(y) / scale


def assignments(x: Any) -> Any:
    y = cnp.exp(0.5 * x)
    z = y * x
    y[::2] = z[::2] * x[0]
    y *= cnp.sin(z)
    z[: x.size // 2] = 2.0
    z += y * y
    return cnp.sum(y * z)


def indices(x: Any) -> Any:
    places = np.arange(x.size) * 7 % x.size
    twice = np.arange(x.size) // 2
    y = cnp.zeros(x.size)
    y[twice] = cnp.sin(x)[places]
    y[places] = y[twice] * x
    return cnp.sum(y * y * x[twice])


def matrices(x: Any) -> Any:
    rows = cnp.sin(x)[:, None] * cnp.array([1.0, -0.5, 2.0])
    gram = rows.T @ (rows * x[:, None]) / x.size
    return cnp.sum(cnp.tanh(gram @ gram)) + cnp.sum((rows @ gram) ** 2) / x.size


def stacks(x: Any) -> Any:
    stack = x[:, None, None] * cnp.array([[1.0, 2.0], [0.5, -1.0]])
    products = stack @ cnp.cos(stack) @ cnp.array([1.0, 0.3])
    return cnp.sum(products**2) / x.size


PROGRAMS: list[Program] = [
    *(chain, words, same_operand, views, broadcasting, numbers_among_arrays),
    *(assignments, indices, matrices, stacks),
]

# --- rules, which sweeps of second order carry out in Python -------------------------------------


@cadiff.primitive
def _polar(x: Any, y: Any) -> Any:
    return np.hypot(x, y), np.arctan2(y, x)


_polar.defvjp(
    lambda ans, x, y: lambda g: g[0] * x / ans[0] - g[1] * y / ans[0] ** 2,
    lambda ans, x, y: lambda g: g[0] * y / ans[0] + g[1] * x / ans[0] ** 2,
)
_polar.defjvp(
    lambda g, ans, x, y: (g * x / ans[0], -g * y / ans[0] ** 2),
    lambda g, ans, x, y: (g * y / ans[0], g * x / ans[0] ** 2),
)


def two_results(x: Any) -> Any:
    radius, angle = _polar(x * x, cnp.exp(x))
    return cnp.sum(radius * cnp.sin(angle)) + _polar(x, 2.0)[0] @ x


def one_of_two_results(x: Any) -> Any:
    return cnp.sum(_polar(cnp.sin(x), x[::-1])[1] ** 2)


def repeated_operands(x: Any) -> Any:
    wide = cnp.broadcast_to(x[0], x.shape)
    return cnp.sum(_polar(wide, wide)[0] ** 2 * _polar(x, wide)[1])


def numbers(x: Any) -> Any:
    radius, angle = _polar(x[0], x[-1])
    return radius * angle * cnp.sum(x)


def among_assignments(x: Any) -> Any:
    y = cnp.exp(x)
    z = nn.log_softmax(y)
    y[::2] = z[::2]
    y *= nn.softmax(y * x)
    z[:1] = y[:1]
    return cnp.sum(_polar(y, z)[0]) + nn.cross_entropy(cnp.stack([x, y]), [0, x.size - 1])


def solutions(x: Any) -> Any:
    n = min(x.size, 40)
    matrix = cnp.sin(x[:n, None] + x[None, :n]) + 9.0 * np.eye(n)
    matrix = matrix @ matrix.T
    root = cnp.linalg.cholesky(matrix)
    return cnp.sum(cnp.linalg.solve(matrix, x[:n]) * root[-1]) + cnp.linalg.slogdet(matrix)[1]


RULES: list[Program] = [
    *(two_results, one_of_two_results, repeated_operands, numbers, among_assignments, solutions)
]

# --- all ways ----------------------------------------------------------------------------------

by_program = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
by_any = pytest.mark.parametrize("f", [*PROGRAMS, *RULES], ids=lambda f: f.__name__)


def point(n: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, n]).uniform(0.6, 1.4, n)


def direction(n: int) -> Any:
    return np.random.default_rng([1, n]).standard_normal(n)


def nested_product(f: Program, x: Any, v: Any) -> Any:
    """The gradient of the slope along v: two reverse sweeps, the first one recorded."""
    return cadiff.grad(lambda x: cnp.sum(cadiff.grad(f)(x) * v))(x)


def difference(f: Program, x: Any, v: Any, h: float = 2e-3) -> Any:
    """The derivative of the gradient along v by a central quotient of sixth order."""
    gradient = cadiff.grad(f)
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    return sum(
        w * (gradient(x + k * h * v) - gradient(x - k * h * v)) / h for k, w in weights.items()
    )


def assert_close(found: Any, expected: Any, digits: float = 1e-12) -> None:
    scale = np.abs(expected).max() + 1e-30
    np.testing.assert_allclose(found, expected, rtol=0, atol=digits * scale)


@by_any
@pytest.mark.parametrize("n", SIZES)
def test_products_agree_with_nested_gradients_and_differences(f: Program, n: int) -> None:
    x, v = point(n), direction(n)
    assert_close(cadiff.hvp(f)(x, v), nested_product(f, x, v), 1e-12 if f in PROGRAMS else 1e-11)
    v /= 30.0
    if f is words:  # stay clear of kinks along the way
        kinks = np.array([0.7, 1.0, 1.1, 1.3])
        x += 0.02 * (np.abs(x[:, None] - kinks).min(axis=1) < 0.01)
        v[np.abs(x[:, None] - kinks).min(axis=1) < 0.004] = 0.0
        v[np.abs(_before_relu(x)) < 0.02] = 0.0
        v[np.abs(_before_relu(x) + 1.0 - x) < 0.02] = 0.0
    assert_close(cadiff.hvp(f)(x, v), difference(f, x, v), 1e-8)


def _before_relu(x: Any) -> Any:
    return cnp.where(x > 1.0, cnp.arctan(x), cnp.expm1(x)) * cnp.maximum(x, 1.1) - 1.0


@by_program
@pytest.mark.parametrize("lanes", range(1, 10))
@pytest.mark.parametrize("n", [3, 600])
def test_several_directions_are_those_one_by_one(f: Program, n: int, lanes: int) -> None:
    """As many coefficients as there are lanes in a sweep (8), fewer, and one more."""
    matrix = np.random.default_rng(n).standard_normal((n, lanes)) / 50.0
    base, beta = point(n), np.zeros(lanes)

    def g(beta: Any) -> Any:
        return f(base + matrix @ beta)

    hessian = cadiff.hessian(g)(beta)
    product = cadiff.hvp(g)
    assert_close(hessian, np.stack([product(beta, e) for e in np.eye(lanes)], axis=1))
    assert_close(hessian, hessian.T)
    outer = np.stack([cadiff.hvp(f)(base, column) for column in matrix.T], axis=1)
    assert_close(hessian, matrix.T @ outer, 1e-11)


@by_any
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 17])
def test_all_ways_to_a_hessian_agree(f: Program, n: int) -> None:
    _, hessian = check_ways(f, point(n), atol=1e-12 if f in PROGRAMS else 1e-11)
    assert_close(hessian, hessian.T, 1e-11)


@by_program
@pytest.mark.parametrize("n", [1, 600])
def test_jacobians_by_columns_are_those_by_rows(f: Program, n: int) -> None:
    matrix = np.random.default_rng(n).standard_normal((n, 9)) / 50.0
    base = point(n)

    def g(beta: Any) -> Any:
        y = base + matrix @ beta
        return cnp.stack([f(y), cnp.sum(y), y[0] * 2.0])

    columns = cadiff.jacobian(g)(np.zeros(9))
    assert_close(columns, cadiff.jacobian(g, mode="rev")(np.zeros(9)))


@pytest.mark.parametrize("n", [1, 30, 100])
def test_hessians_of_layers_have_the_values_of_their_formula(n: int) -> None:
    """Of Σ tanh(W x): Wᵀ diag(-2 v (1 - v²)) W with v = tanh(W x)."""
    rng = np.random.default_rng(n)
    weights, x = rng.standard_normal((n + 20, n)) / np.sqrt(n), rng.standard_normal(n)
    v = np.tanh(weights @ x)
    expected = weights.T @ ((-2.0 * v * (1.0 - v**2))[:, None] * weights)
    assert_close(cadiff.hessian(lambda x: cnp.sum(cnp.tanh(weights @ x)))(x), expected)
    assert_close(cadiff.hessian(lambda x: cnp.sum(cnp.tanh(x @ weights.T)))(x), expected)


def test_hessians_of_matrices_have_the_values_of_their_formula() -> None:
    """Of Σ (X Y)² / 2 by X: δ ⊗ Y Yᵀ; all lanes pass through a product from the left."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, 6)), rng.standard_normal((6, 5))
    found = cadiff.hessian(lambda x: cnp.sum((x @ y) ** 2) / 2.0)(x)
    assert_close(found, np.einsum("ik,jl->ijkl", np.eye(4), y @ y.T))


def test_products_pass_over_what_was_not_reached() -> None:
    """Memory serves again from call to call: nothing of the last one may be seen."""
    x, v = point(1000), direction(1000)
    cadiff.hvp(chain)(x, v)

    def half(x: Any) -> Any:
        cnp.exp(x)
        return cnp.sum(x[:500] ** 3)

    expected = np.where(np.arange(1000) < 500, 6.0 * x * v, 0.0)
    assert_close(cadiff.hvp(half)(x, v), expected)
    assert not cadiff.hvp(lambda x: cnp.sum(np.ones(1000)) + 0.0 * x[0])(x, v).any()
    assert not cadiff.hvp(cnp.sum)(x, v).any()


def test_hessians_of_constants_among_outputs() -> None:
    """A column of the Jacobian knows nothing of memory that no sweep has written."""
    x = point(600)
    cadiff.hessian(chain)(x[:9])

    def g(x: Any) -> Any:
        fixed = cnp.zeros(600)
        return cnp.concatenate([cnp.array(fixed), x[:1]])

    jacobian = cadiff.jacobian(g)(x)
    assert jacobian[600, 0] == 1.0
    assert np.count_nonzero(jacobian) == 1
    jacobian = cadiff.jacobian(lambda x: [3.0, x[0], 7.0])(x[:2])
    np.testing.assert_array_equal(jacobian, [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])


# --- rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["defvjp", "defjvp"])
def test_what_a_rule_raises_ends_the_sweep(mode: str) -> None:
    @cadiff.primitive
    def cube(x: Any) -> Any:
        return x**3

    def fail(*_: Any) -> Any:
        raise ArithmeticError("no derivative today")

    cube.defvjp(lambda ans, x: lambda g: 3.0 * x**2 * g)
    cube.defjvp(lambda g, ans, x: 3.0 * x**2 * g)
    getattr(cube, mode)((lambda ans, x: fail) if mode == "defvjp" else fail)
    x, v = point(600), direction(600)

    def outer(a: Any) -> Any:
        y = cnp.exp(a * x)
        with pytest.raises(ArithmeticError, match="no derivative today"):
            cadiff.hvp(lambda x: cnp.sum(cube(cnp.sin(x))))(x, v)
        y[::2] = y[::2] * a
        return cnp.sum(y)

    expected = np.exp(x) * x
    expected[::2] += np.exp(x[::2])
    assert cadiff.grad(outer)(1.0) == pytest.approx(expected.sum())
    assert_close(cadiff.hvp(chain)(x, v), nested_product(chain, x, v))
