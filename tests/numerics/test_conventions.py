"""What the derivatives are where it is not obvious: kinks, edges, zeros that absorb.

Each case is run by the reverse sweep, by Dual (one lane and several), by a reverse sweep that is
itself recorded, and by a Dual over it: all of them must give the answer, and agree.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import Dual, Var

NAN, INF = math.nan, math.inf
Function = Callable[..., Any]


def by_reverse(f: Function, args: tuple[float, ...]) -> list[float]:
    return list(cadiff.grad(f, argnums=tuple(range(len(args))))(*args))


def by_backward(f: Function, args: tuple[float, ...]) -> list[float]:
    leaves = [Var(x) for x in args]
    out = f(*leaves)
    if isinstance(out, Var):
        out.backward()
    return [leaf.grad for leaf in leaves]


def by_dual(f: Function, args: tuple[float, ...]) -> list[float]:
    return [cadiff.derivative(f, k, args) for k in range(len(args))]


def by_lanes(f: Function, args: tuple[float, ...]) -> list[float]:
    return cadiff.gradient(f, args, mode="fwd").tolist()


def by_recorded(f: Function, args: tuple[float, ...]) -> list[float]:
    """The gradient inside another one, by whose variable everything is shifted by nothing."""

    def entry(k: int) -> float:
        def inner(t: Any) -> Any:
            shifted = [x + t * 0.0 for x in args]
            return cadiff.grad(f, argnums=k)(*shifted) + t * 0.0

        return cadiff.value_and_grad(inner)(0.0)[0]

    return [entry(k) for k in range(len(args))]


def by_forward_over_reverse(f: Function, args: tuple[float, ...]) -> list[float]:
    argnums = tuple(range(len(args)))
    gradient = cadiff.grad(f, argnums)
    return list(cadiff.jvp(gradient, args, (0.0,) * len(args))[0])


MODES = [by_reverse, by_backward, by_dual, by_lanes, by_recorded, by_forward_over_reverse]


def same(found: float, expected: float) -> bool:
    if math.isnan(expected) or math.isinf(expected) or expected == 0.0:
        return found == expected or (math.isnan(found) and math.isnan(expected))
    return abs(found - expected) <= 4e-16 * abs(expected)


# name: function, point, value, gradient
CASES: dict[str, tuple[Function, tuple[float, ...], float, list[float]]] = {
    "abs at 0": (abs, (0.0,), 0.0, [0.0]),
    "sign": (cadiff.sign, (0.0,), 0.0, [0.0]),
    "floor": (cadiff.floor, (2.0,), 2.0, [0.0]),
    "ceil": (cadiff.ceil, (2.5,), 3.0, [0.0]),
    "round": (round, (2.5,), 2.0, [0.0]),
    "relu at 0": (cadiff.relu, (0.0,), 0.0, [0.0]),
    "maximum of equals": (np.maximum, (1.0, 1.0), 1.0, [0.5, 0.5]),
    "minimum of equals": (np.minimum, (1.0, 1.0), 1.0, [0.5, 0.5]),
    "maximum with 0 at 0": (lambda x: np.maximum(x, 0), (0.0,), 0.0, [0.5]),
    "builtin max at the tie": (lambda x: max(x, 1.0), (1.0,), 1.0, [1.0]),
    "clip at the lower bound": (lambda x: cadiff.clip(x, 0.0, 1.0), (0.0,), 0.0, [1.0]),
    "clip at the upper bound": (lambda x: cadiff.clip(x, 0.0, 1.0), (1.0,), 1.0, [1.0]),
    "clip beyond": (lambda x: cadiff.clip(x, 0.0, 1.0), (2.0,), 1.0, [0.0]),
    "mod": (lambda x, y: x % y, (5.5, 2.0), 1.5, [1.0, -2.0]),
    "sqrt at 0": (cadiff.sqrt, (0.0,), 0.0, [INF]),
    "hypot at 0": (cadiff.hypot, (0.0, 0.0), 0.0, [0.0, 0.0]),
    "arctan2 at 0": (cadiff.arctan2, (0.0, 0.0), 0.0, [0.0, 0.0]),
    "log at 0": (cadiff.log, (0.0,), -INF, [INF]),
    "log at -1": (cadiff.log, (-1.0,), NAN, [NAN]),
    "x log x at 0": (lambda x: x * cadiff.log(x), (0.0,), NAN, [-INF]),
    "xlogy at 0": (lambda x: cadiff.xlogy(x, x), (0.0,), 0.0, [-INF]),
    "entr at 0": (cadiff.entr, (0.0,), 0.0, [INF]),
    "x**0 at 0": (lambda x: x**0, (0.0,), 1.0, [0.0]),
    "x**0. at 0": (lambda x: x**0.0, (0.0,), 1.0, [0.0]),
    "x**1 at 0": (lambda x: x**1, (0.0,), 0.0, [1.0]),
    "x**2 at 0": (lambda x: x**2, (0.0,), 0.0, [0.0]),
    "x**.5 at 0": (lambda x: x**0.5, (0.0,), 0.0, [INF]),
    "x**-1 at 0": (lambda x: x**-1, (0.0,), INF, [-INF]),
    "(-2)**3": (lambda x: x**3, (-2.0,), -8.0, [12.0]),
    "(-2)**3.": (lambda x: x**3.0, (-2.0,), -8.0, [12.0]),
    "(-2.)**.5": (lambda x: x**0.5, (-2.0,), NAN, [NAN]),
    "x**y at (-2, 3)": (lambda x, y: x**y, (-2.0, 3.0), -8.0, [12.0, NAN]),
    "x**y at (0, 2)": (lambda x, y: x**y, (0.0, 2.0), 0.0, [0.0, 0.0]),
    "x**y at (0, 0)": (lambda x, y: x**y, (0.0, 0.0), 1.0, [0.0, 0.0]),
    "0.**x at 2": (lambda x: 0.0**x, (2.0,), 0.0, [0.0]),
    "a branch not taken": (
        lambda x: cadiff.where(x < 1, x, cadiff.sqrt(x)),
        (0.0,),
        0.0,
        [1.0],
    ),
    "a saturated sigmoid": (lambda x: 1 / (1 + cadiff.exp(-x)), (-1000.0,), 0.0, [0.0]),
    "sqrt(x**2) at 0": (lambda x: cadiff.sqrt(x**2), (0.0,), 0.0, [0.0]),
    "norm at 0": (
        lambda x, y: cadiff.sqrt(x**2 + y**2),
        (0.0, 0.0),
        0.0,
        [0.0, 0.0],
    ),
    "logaddexp of large equals": (
        cadiff.logaddexp,
        (1000.0, 1000.0),
        1000.0 + math.log(2),
        [0.5] * 2,
    ),
    "sinc at 0": (cadiff.sinc, (0.0,), 1.0, [0.0]),
    "a + a, twice": (lambda a: (a + a) + (a + a), (3.0,), 12.0, [4.0]),
    "1/x at 0": (lambda x: 1 / x, (0.0,), INF, [-INF]),
    "10.**x overflowing": (lambda x: 10.0**x, (400.0,), INF, [INF]),
    "an equality branch": (lambda x: 1.0 if x == 1 else x**2, (1.0,), 1.0, [0.0]),
    "an integer": (lambda x: x**2, (3,), 9.0, [6.0]),
    "product with a zero": (lambda x, y, z: x * y * z, (0.0, 2.0, 3.0), 0.0, [6.0, 0.0, 0.0]),
    "Rosenbrock": (
        lambda x, y: 100.0 * (y - x**2) ** 2 + (1.0 - x) ** 2,
        (-1.2, 1.0),
        24.199999999999996,
        [-215.59999999999997, -87.99999999999999],
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CASES)
def test_first_derivative(name: str, mode: Callable[..., list[float]]) -> None:
    f, args, _, expected = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mode(f, args)
    assert all(map(same, found, expected)), (found, expected)


@pytest.mark.parametrize("name", CASES)
def test_value(name: str) -> None:
    f, args, expected, _ = CASES[name]
    for number in (f(*map(Var, args)), f(*(Dual(x, 1.0) for x in args))):
        value = cadiff.value(number)
        assert value == pytest.approx(expected, rel=4e-16, nan_ok=True)
        assert not isinstance(value, complex)


SECOND: dict[str, tuple[Function, tuple[float, ...], list[list[float]]]] = {
    "x**2 y at x = 0": (lambda x, y: x**2 * y, (0.0, 3.0), [[6.0, 0.0], [0.0, 0.0]]),
    "sinc at 0": (cadiff.sinc, (0.0,), [[-(math.pi**2) / 3]]),
    "Rosenbrock": (
        lambda x, y: 100.0 * (y - x**2) ** 2 + (1.0 - x) ** 2,
        (-1.2, 1.0),
        [[1330.0, 480.0], [480.0, 200.0]],
    ),
    "a product through a zero": (lambda x, y: x * y, (0.0, 0.0), [[0.0, 1.0], [1.0, 0.0]]),
    "x**3 at 0": (lambda x: x**3, (0.0,), [[0.0]]),
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivative(name: str) -> None:
    f, args, expected = SECOND[name]
    vector = np.array(args)

    def g(x: Any) -> Any:
        return f(*x)

    hessians = [
        cadiff.hessian(g)(vector),
        cadiff.jacfwd(cadiff.grad(g))(vector),
        cadiff.jacrev(cadiff.grad(g))(vector),
        cadiff.jacfwd(cadiff.jacfwd(g))(vector),
        cadiff.jacrev(cadiff.jacfwd(g))(vector),
    ]
    for found in hessians:
        np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=4e-15, atol=0)


def test_higher_derivatives_of_a_cube_at_zero() -> None:
    def cube(x: Any) -> Any:
        return x**3

    assert cadiff.derivative(cube, 0.0, order=3) == 6.0
    assert cadiff.derivative(cube, 0.0, order=4) == 0.0
    third = cadiff.grad(cadiff.grad(cadiff.grad(cube)))
    assert third(0.0) == 6.0
    assert cadiff.grad(third)(0.0) == 0.0


def test_a_power_of_duals_by_hand() -> None:
    power = Dual(-2, 1) ** Dual(3, 0)
    assert (power.primal, power.tangent) == (-8.0, 12.0)


def test_perturbations_are_not_confused() -> None:
    for outer in (cadiff.derivative, lambda f, x: cadiff.grad(f)(x)):
        for inner in (cadiff.derivative, lambda f, x: cadiff.grad(f)(x)):
            assert outer(lambda x, d=inner: x * d(lambda y: x + y, 1.0), 1.0) == 1.0
            assert outer(lambda x, d=inner: x * d(lambda y: x * y, 1.0), 4.0) == 8.0


def test_the_maximum_of_a_vector_shares_a_tie() -> None:
    gradient = cadiff.grad(lambda x: np.max(x))(np.array([1.0, 2.0, 2.0]))
    np.testing.assert_array_equal(gradient, [0.0, 0.5, 0.5])


def test_rosenbrock_of_five_variables() -> None:
    def rosenbrock(x: Any) -> Any:
        return sum(
            100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2 for i in range(len(x) - 1)
        )

    value, gradient = cadiff.value_and_grad(rosenbrock)(np.array([1.3, 0.7, 0.8, 1.9, 1.2]))
    assert value == pytest.approx(848.22, rel=1e-14)
    np.testing.assert_allclose(gradient, [515.4, -285.4, -341.6, 2085.4, -482.0], rtol=1e-13)
    product = cadiff.hvp(rosenbrock)(np.array([-1.2, 1.0]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(product, [2290.0, 880.0], rtol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 10, 50])
def test_speelpenning(n: int) -> None:
    x = np.array([(i + 1) / (i + 2) for i in range(n)])

    def product(x: Any) -> Any:
        result = 1.0
        for item in x:
            result = result * item
        return result

    value, gradient = cadiff.value_and_grad(product)(x)
    expected = np.outer(1 / x, 1 / x) / (n + 1)
    np.fill_diagonal(expected, 0.0)
    assert value == pytest.approx(1 / (n + 1), rel=1e-14)
    np.testing.assert_allclose(gradient, value / x, rtol=1e-13)
    np.testing.assert_allclose(cadiff.hessian(product)(x), expected, rtol=1e-13, atol=1e-300)


def test_an_object_array_of_numbers_is_differentiated_elementwise() -> None:
    v1, v2 = Var(2.0), Var(3.0)
    array = np.array([v1, v2])
    assert array.dtype == object
    np.sum(np.sin(array) * array).backward()
    assert v1.grad == pytest.approx(math.cos(2) * 2 + math.sin(2), rel=1e-15)
    assert v2.grad == pytest.approx(math.cos(3) * 3 + math.sin(3), rel=1e-15)
