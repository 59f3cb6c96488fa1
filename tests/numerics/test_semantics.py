"""What the derivatives are where calculus leaves it open, and what plain numbers do not show.

Every row of the table of operations with a convention has its cases in `KINKS`; the other tests
are the promises of the package about values, zeros, infinities, ties and nesting. Each is asked of
every mode.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pytest

import cadiff
from cadiff import Dual, Var
from cadiff.scipy import special

from ..helpers.table import ROWS, Row
from .test_operations import gradients, hessians, is_same, restricted

INF = math.inf
NAN = math.nan

Case: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]  # operands, expected partials


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    """Nothing in this file may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def check(f: Callable[..., Any], x: Sequence[float], expected: Sequence[float]) -> None:
    """The gradient of f at x in every mode."""
    for mode, gradient in gradients(f, x).items():
        assert len(gradient) == len(expected)
        for got, want in zip(gradient, expected, strict=True):
            assert got == pytest.approx(want, rel=1e-14, abs=0.0, nan_ok=True), (mode, gradient)


def check_second(
    f: Callable[..., Any], x: Sequence[float], expected: Sequence[Sequence[float]]
) -> None:
    """The Hessian of f at x in every mode."""
    for mode, hessian in hessians(f, x).items():
        np.testing.assert_allclose(hessian, expected, rtol=1e-14, atol=0.0, err_msg=mode)


# --- the column `at kinks` of the table ----------------------------------------------------------

HALVES: Case = ((1.0, 1.0), (0.5, 0.5))

KINKS: dict[str, list[Case]] = {
    "power": [
        ((0.0, 0.0), (0.0, 0.0)),
        ((5.0, 0.0), (0.0, math.log(5.0))),
        ((-5.0, 0.0), (0.0, NAN)),
        ((0.0, 1.0), (1.0, 0.0)),
        ((0.0, 2.0), (0.0, 0.0)),
        ((0.0, 0.5), (INF, 0.0)),
        ((0.0, -1.0), (-INF, -INF)),
        ((-2.0, 3.0), (12.0, NAN)),
        ((-2.0, 0.5), (NAN, NAN)),
    ],
    "sqrt": [((0.0,), (INF,)), ((-0.0,), (INF,))],
    "cbrt": [((0.0,), (INF,)), ((-0.0,), (INF,))],
    "hypot": [((0.0, 0.0), (0.0, 0.0)), ((-0.0, 0.0), (0.0, 0.0))],
    "floor_divide": [((5.5, 2.0), (0.0, 0.0)), ((6.0, 2.0), (0.0, 0.0))],
    "mod": [
        ((5.5, 2.0), (1.0, -2.0)),
        ((-5.5, 2.0), (1.0, 3.0)),
        ((5.5, -2.0), (1.0, 3.0)),
        ((6.0, 2.0), (1.0, -3.0)),
        ((0.0, 2.0), (1.0, 0.0)),
    ],
    "fmod": [
        ((5.5, 2.0), (1.0, -2.0)),
        ((-5.5, 2.0), (1.0, 2.0)),
        ((5.5, -2.0), (1.0, 2.0)),
        ((6.0, 2.0), (1.0, -3.0)),
    ],
    "ieee_remainder": [
        ((5.5, 2.0), (1.0, -3.0)),
        ((5.0, 2.0), (1.0, -2.0)),
        ((7.0, 2.0), (1.0, -4.0)),
        ((6.0, 2.0), (1.0, -3.0)),
    ],
    "absolute": [((0.0,), (0.0,)), ((-0.0,), (0.0,))],
    "sign": [((0.0,), (0.0,)), ((3.0,), (0.0,))],
    "floor": [((2.0,), (0.0,)), ((2.5,), (0.0,))],
    "ceil": [((2.0,), (0.0,)), ((2.5,), (0.0,))],
    "trunc": [((2.0,), (0.0,)), ((-2.5,), (0.0,))],
    "rint": [((2.5,), (0.0,)), ((2.0,), (0.0,))],
    "copysign": [
        ((0.0, 1.0), (0.0, 0.0)),
        ((0.0, -1.0), (0.0, 0.0)),
        ((-3.0, 2.0), (-1.0, 0.0)),
        ((3.0, -0.0), (-1.0, 0.0)),
        ((3.0, 0.0), (1.0, 0.0)),
    ],
    "heaviside": [((0.0, 0.3), (0.0, 1.0)), ((2.0, 0.3), (0.0, 0.0))],
    "maximum": [HALVES, ((0.0, -0.0), (0.5, 0.5)), ((INF, INF), (0.5, 0.5)), ((2.0, 1.0), (1, 0))],
    "minimum": [HALVES, ((0.0, -0.0), (0.5, 0.5)), ((INF, INF), (0.5, 0.5)), ((2.0, 1.0), (0, 1))],
    "fmax": [HALVES, ((NAN, 1.0), (0.0, 1.0)), ((1.0, NAN), (1.0, 0.0))],
    "fmin": [HALVES, ((NAN, 1.0), (0.0, 1.0)), ((1.0, NAN), (1.0, 0.0))],
    "clip": [
        ((1.0, 1.0, 2.0), (1.0, 0.0, 0.0)),
        ((2.0, 1.0, 2.0), (1.0, 0.0, 0.0)),
        ((0.5, 1.0, 2.0), (0.0, 1.0, 0.0)),
        ((2.5, 1.0, 2.0), (0.0, 0.0, 1.0)),
        ((1.5, 2.0, 1.0), (0.0, 0.0, 1.0)),
    ],
    "where": [((1.0, 5.0, 7.0), (0.0, 1.0, 0.0)), ((0.0, 5.0, 7.0), (0.0, 0.0, 1.0))],
    "relu": [((0.0,), (0.0,)), ((-0.0,), (0.0,)), ((-1.0,), (0.0,)), ((2.0,), (1.0,))],
    "log": [((0.0,), (INF,)), ((-0.0,), (INF,)), ((-1.0,), (NAN,))],
    "log2": [((0.0,), (INF,)), ((-1.0,), (NAN,))],
    "log10": [((0.0,), (INF,)), ((-1.0,), (NAN,))],
    "log1p": [((-1.0,), (INF,)), ((-2.0,), (NAN,))],
    "logaddexp": [HALVES, ((INF, INF), (0.5, 0.5)), ((-INF, -INF), (0.5, 0.5))],
    "logaddexp2": [HALVES, ((INF, INF), (0.5, 0.5)), ((-INF, -INF), (0.5, 0.5))],
    "xlogy": [((0.0, 0.0), (-INF, 0.0)), ((0.0, 2.0), (math.log(2.0), 0.0))],
    "xlog1py": [((0.0, -1.0), (-INF, 0.0)), ((0.0, 1.0), (math.log(2.0), 0.0))],
    "entr": [((0.0,), (INF,)), ((-1.0,), (NAN,))],
    "arcsin": [((1.0,), (INF,)), ((-1.0,), (INF,)), ((1.5,), (NAN,))],
    "arccos": [((1.0,), (-INF,)), ((-1.0,), (-INF,)), ((1.5,), (NAN,))],
    "arctan2": [((0.0, 0.0), (0.0, 0.0)), ((-0.0, -0.0), (0.0, 0.0))],
    "sinc": [((0.0,), (0.0,)), ((-0.0,), (0.0,))],
    "arccosh": [((1.0,), (INF,)), ((0.5,), (NAN,))],
    "arctanh": [((1.0,), (INF,)), ((-1.0,), (INF,)), ((1.5,), (NAN,))],
    "gamma": [((-1.0,), (NAN,)), ((-20.0,), (NAN,))],
    "gammaln": [((-1.0,), (NAN,)), ((-20.0,), (NAN,))],
    "digamma": [((-1.0,), (NAN,)), ((-20.0,), (NAN,))],
    "polygamma": [
        ((n, x), (-INF if n % 2 else INF,)) for n in (1.0, 2.0) for x in (0.0, -1.0, -20.0)
    ],
}


@pytest.mark.parametrize("row", [row for row in ROWS if row.kinks], ids=lambda row: row.name)
def test_kinks(row: Row) -> None:
    assert row.name in KINKS, f"write cases for the convention of {row.name}: {row.kinks}"
    for point, expected in KINKS[row.name]:
        f, x = restricted(row, point)
        check(f, x, expected)


def test_no_kink_without_a_convention() -> None:
    assert set(KINKS) == {row.name for row in ROWS if row.kinks}


# --- values are NumPy's --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Var, lambda x: Dual(x, 1.0)], ids=["Var", "Dual"])
def test_no_python_errors_from_values(kind: Callable[[float], Any]) -> None:
    zero, large, negative = kind(0.0), kind(400.0), kind(-2.0)
    assert cadiff.value(1 / zero) == INF
    assert cadiff.value(-1 / zero) == -INF
    assert math.isnan(cadiff.value(zero / zero))
    assert cadiff.value(10.0**large) == INF
    assert cadiff.value(zero**-1) == INF
    assert math.isnan(cadiff.value(cadiff.log(negative)))
    assert cadiff.value(cadiff.exp(large * large)) == INF
    assert math.isnan(cadiff.value(zero % 0.0))
    assert math.isnan(cadiff.value(negative % zero))
    assert math.isnan(cadiff.value(zero // zero))


def test_slopes_of_infinite_values() -> None:
    check(lambda x: 1 / x, [0.0], [-INF])
    check(lambda x: 10.0**x, [400.0], [INF])
    check(lambda x: x**-1, [0.0], [-INF])


@pytest.mark.parametrize("kind", [Var, lambda x: Dual(x, 1.0)], ids=["Var", "Dual"])
def test_a_power_is_never_complex(kind: Callable[[float], Any]) -> None:
    for result in (kind(-2.0) ** 0.5, (-2.0) ** kind(0.5)):
        assert math.isnan(cadiff.value(result))


def test_plain_floats_follow_numpy() -> None:
    assert cadiff.log(0.0) == -INF
    assert math.isnan(cadiff.log(-1.0))
    assert cadiff.divide(1.0, 0.0) == INF
    assert cadiff.exp(1000.0) == INF
    assert math.isnan(cadiff.power(-2.0, 0.5))


def test_logarithm_at_and_below_zero() -> None:
    assert Var(0.0).log().value == -INF
    assert math.isnan(Var(-1.0).log().value)
    check(cadiff.log, [0.0], [INF])
    check(cadiff.log, [-1.0], [NAN])


def test_integers_are_promoted() -> None:
    assert cadiff.grad(lambda x: x**2)(3) == 6.0
    assert cadiff.derivative(lambda x: x**2, 0, (3,)) == 6.0
    assert type(cadiff.grad(lambda x: x**2)(3)) is float


# --- an exact zero absorbs -----------------------------------------------------------------------


def test_branch_not_taken() -> None:
    check(lambda x: cadiff.where(x < 1, x, cadiff.sqrt(x)), [0.0], [1.0])
    check(lambda x: cadiff.where(x > 0, cadiff.log(x), 0.0), [-1.0], [0.0])
    check(lambda x: cadiff.where(x > 0, cadiff.log(x), x), [0.0], [1.0])


def test_saturated_sigmoid() -> None:
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + cadiff.exp(-x))

    check(sigmoid, [-1000.0], [0.0])
    check(sigmoid, [1000.0], [0.0])
    check_second(sigmoid, [-1000.0], [[0.0]])


def test_zero_times_infinite_slope() -> None:
    check(lambda x: 0.0 * cadiff.sqrt(x), [0.0], [0.0])
    check(lambda x: cadiff.sqrt(x) * cadiff.sqrt(x) * 0.0, [0.0], [0.0])
    check(lambda x, y: cadiff.maximum(cadiff.sqrt(x), y), [0.0, 1.0], [0.0, 1.0])


def test_square_root_of_a_square() -> None:
    check(lambda x: cadiff.sqrt(x * x), [0.0], [0.0])
    check(lambda x: cadiff.sqrt(x**2), [0.0], [0.0])
    check(lambda x, y, z: cadiff.sqrt(x**2 + y**2 + z**2), [0.0] * 3, [0.0] * 3)


def test_norm_at_zero() -> None:
    gradient = cadiff.grad(lambda x: cadiff.sqrt(np.sum(x * x)))(np.zeros(3))
    np.testing.assert_array_equal(gradient, np.zeros(3))


def test_zero_adjoint_that_carries_a_derivative() -> None:
    """The adjoint of x * x is 2 x y, zero at x = 0, but its derivative is not."""
    check_second(lambda x, y: x**2 * y, [0.0, 3.0], [[6.0, 0.0], [0.0, 0.0]])
    check_second(lambda x, y: x * x * y, [0.0, 3.0], [[6.0, 0.0], [0.0, 0.0]])
    check_second(lambda x, y: (x * y) * (x * y), [0.0, 3.0], [[18.0, 0.0], [0.0, 0.0]])
    check_second(lambda x, y: x * y, [0.0, 0.0], [[0.0, 1.0], [1.0, 0.0]])
    check_second(lambda x: x**3, [0.0], [[0.0]])


@pytest.mark.parametrize(
    ("f", "below", "above"),
    [
        (cadiff.tanh, 0.0, 0.0),
        (cadiff.expit, 0.0, 0.0),
        (cadiff.erf, 0.0, 0.0),
        (cadiff.arctan, 0.0, 0.0),
        (cadiff.exp, 0.0, INF),
        (cadiff.softplus, 0.0, 1.0),
        (cadiff.log_expit, 1.0, 0.0),
        (cadiff.relu, 0.0, 1.0),
        (cadiff.arcsinh, 0.0, 0.0),
        (cadiff.cbrt, 0.0, 0.0),
    ],
)
def test_slopes_at_infinity(f: Callable[..., Any], below: float, above: float) -> None:
    check(f, [-INF], [below])
    check(f, [INF], [above])


def test_slopes_at_infinity_of_two_operands() -> None:
    check(cadiff.hypot, [INF, 2.0], [1.0, 0.0])
    check(cadiff.hypot, [2.0, -INF], [0.0, -1.0])
    check(cadiff.arctan2, [INF, 2.0], [0.0, 0.0])
    check(cadiff.arctan2, [2.0, -INF], [0.0, 0.0])
    check(cadiff.logaddexp, [INF, 2.0], [1.0, 0.0])
    check(cadiff.logaddexp, [-INF, 2.0], [0.0, 1.0])


def test_x_log_x() -> None:
    assert math.isnan((Var(0.0) * cadiff.log(Var(0.0))).value)
    check(lambda x: x * cadiff.log(x), [0.0], [-INF])
    assert cadiff.xlogy(Var(0.0), Var(0.0)).value == 0.0
    assert cadiff.entr(Var(0.0)).value == 0.0


# --- powers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "exponent", "slope"),
    [
        (0.0, 0, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, 1, 1.0),
        (0.0, 2, 0.0),
        (0.0, 2.0, 0.0),
        (0.0, 3, 0.0),
        (0.0, 0.5, INF),
        (0.0, -1, -INF),
        (-2.0, 3, 12.0),
        (-2.0, 3.0, 12.0),
        (-2.0, 2, -4.0),
        (-2.0, -1, -0.25),
        (-2.0, 0.5, NAN),
    ],
)
def test_constant_exponents(x: float, exponent: float, slope: float) -> None:
    check(lambda x: x**exponent, [x], [slope])


def test_higher_derivatives_of_powers_at_zero() -> None:
    cube = [cadiff.derivative(lambda x: x**3, 0, (0.0,), order=n) for n in range(6)]
    assert cube == [0.0, 0.0, 0.0, 6.0, 0.0, 0.0]
    square = [cadiff.derivative(lambda x: x**2, 0, (0.0,), order=n) for n in range(5)]
    assert square == [0.0, 0.0, 2.0, 0.0, 0.0]
    third = cadiff.grad(cadiff.grad(cadiff.grad(lambda x: x**3)))
    assert third(0.0) == 6.0
    assert cadiff.grad(third)(0.0) == 0.0


def test_power_of_two_variables() -> None:
    powers: list[Callable[..., Any]] = [lambda x, y: x**y, cadiff.power, np.power]
    for f in powers:
        check(f, [-2.0, 3.0], [12.0, NAN])
        check(f, [0.0, 2.0], [0.0, 0.0])
        check(f, [0.0, 0.0], [0.0, 0.0])
    result = Dual(-2, 1) ** Dual(3, 0)
    assert (result.primal, result.tangent) == (-8.0, 12.0)


def test_power_of_a_constant_base() -> None:
    check(lambda x: 0.0**x, [2.0], [0.0])
    check(lambda x: 2.0**x, [3.0], [8.0 * math.log(2.0)])


# --- ties and steps ------------------------------------------------------------------------------


def test_maximum_of_operand_and_constant() -> None:
    check(lambda x: np.maximum(x, 0), [0.0], [0.5])
    check(lambda x: np.minimum(x, 0), [0.0], [0.5])
    check(np.maximum, [1.0, 1.0], [0.5, 0.5])
    check(np.minimum, [1.0, 1.0], [0.5, 0.5])


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (np.max, [1.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
        (np.min, [1.0, 2.0, 1.0], [0.5, 0.0, 0.5]),
        (lambda x: x.max(), [3.0, 3.0, 3.0], [1 / 3] * 3),
        (lambda x: x.min(), [1.0, 2.0, 3.0], [1.0, 0.0, 0.0]),
    ],
    ids=["np.max", "np.min", "max", "min"],
)
def test_extrema_of_arrays(f: Callable[..., Any], x: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(cadiff.grad(f)(np.array(x)), expected, rtol=1e-15)
    np.testing.assert_allclose(cadiff.jacfwd(f)(np.array(x)), expected, rtol=1e-15)


def test_builtin_max_takes_the_first() -> None:
    check(lambda x: max(x, 1.0), [1.0], [1.0])
    check(lambda x: max(1.0, x), [1.0], [0.0])
    check(lambda x: min(x, 1.0), [1.0], [1.0])


def test_rounding_has_derivative_zero() -> None:
    roundings: list[Callable[[Any], Any]] = [
        round,
        lambda x: round(x, 1),
        math.floor,
        math.ceil,
        math.trunc,
        cadiff.round,
        lambda x: x // 1,
    ]
    for f in roundings:
        check(f, [2.75], [0.0])
        check(lambda x, f=f: f(x) * x, [2.75], [f(2.75)])


def test_a_branch_on_equality_is_what_the_code_says() -> None:
    def f(x: Any) -> Any:
        return 1.0 if x == 1 else x**2

    check(f, [1.0], [0.0])
    check(f, [2.0], [4.0])


def test_products_with_zeros() -> None:
    for f in (np.prod, lambda x: x.prod(), lambda x: x[0] * x[1] * x[2]):
        np.testing.assert_array_equal(cadiff.grad(f)(np.array([0.0, 2.0, 3.0])), [6.0, 0.0, 0.0])
        np.testing.assert_array_equal(cadiff.grad(f)(np.array([0.0, 0.0, 3.0])), [0.0] * 3)


# --- smooth, but easily got wrong ----------------------------------------------------------------


def test_sinc_at_zero() -> None:
    check(cadiff.sinc, [0.0], [0.0])
    check_second(cadiff.sinc, [0.0], [[-(math.pi**2) / 3]])
    derivatives = [cadiff.derivative(cadiff.sinc, 0, (0.0,), order=n) for n in range(6)]
    expected = [1.0, 0.0, -(math.pi**2) / 3, 0.0, math.pi**4 / 5, 0.0]
    assert derivatives == pytest.approx(expected, rel=1e-14)


def test_sum_of_large_exponentials() -> None:
    check(cadiff.logaddexp, [1000.0, 1000.0], [0.5, 0.5])
    check(cadiff.logaddexp, [-1000.0, -1000.0], [0.5, 0.5])
    check(cadiff.logaddexp, [1000.0, -1000.0], [1.0, 0.0])


# --- nesting and sharing -------------------------------------------------------------------------


def differentiators() -> list[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """Ways to a derivative of a function of one number."""
    return [
        cadiff.grad,
        lambda f: lambda x: cadiff.derivative(f, 0, (x,)),
        lambda f: lambda x: cadiff.jvp(f, (x,), (1.0,))[1],
        lambda f: lambda x: cadiff.vjp(f, x)[1](1.0),
    ]


@pytest.mark.parametrize("outer", range(4))
@pytest.mark.parametrize("inner", range(4))
def test_perturbations_are_not_confused(outer: int, inner: int) -> None:
    d, e = differentiators()[outer], differentiators()[inner]
    assert d(lambda x: x * e(lambda y: x + y)(1.0))(1.0) == 1.0
    assert d(lambda x: x * e(lambda y: x * y)(1.0))(4.0) == 8.0
    assert d(lambda x: e(lambda y: x * x * y)(x))(3.0) == 6.0
    assert d(lambda x: e(lambda y: y * y)(x) * x)(3.0) == 12.0


def test_shared_results_count_twice() -> None:
    def f(a: Any) -> Any:
        b = a + a
        return b + b

    check(f, [3.0], [4.0])


def test_gradients_accumulate() -> None:
    x = Var(2.0)
    y = 3 * (2 * x)
    y.backward()
    assert x.grad == 6.0
    y.backward()
    assert x.grad == 12.0


# --- known functions -----------------------------------------------------------------------------


def rosenbrock(*x: Any) -> Any:
    return sum(100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in pairwise(x))


def test_rosenbrock_of_two() -> None:
    x = (-1.2, 1.0)
    assert rosenbrock(*x) == pytest.approx(24.2, rel=1e-14)
    for gradient in gradients(rosenbrock, x).values():
        assert gradient == pytest.approx([-215.6, -88.0], rel=1e-13)
    for hessian in hessians(rosenbrock, x).values():
        np.testing.assert_allclose(hessian, [[1330.0, 480.0], [480.0, 200.0]], rtol=1e-13)
    product = cadiff.hvp(lambda t: rosenbrock(*t))(list(x), [1.0, 2.0])
    assert product == pytest.approx([2290.0, 880.0], rel=1e-13)


def test_rosenbrock_of_five() -> None:
    x = (1.3, 0.7, 0.8, 1.9, 1.2)
    assert rosenbrock(*x) == pytest.approx(848.22, rel=1e-14)
    for gradient in gradients(rosenbrock, x).values():
        assert gradient == pytest.approx([515.4, -285.4, -341.6, 2085.4, -482.0], rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_speelpenning(n: int) -> None:
    x = np.array([(i + 1) / (i + 2) for i in range(n)])
    for f in (np.prod, math.prod):
        value, gradient = cadiff.value_and_grad(f)(x)
        assert value == pytest.approx(1 / (n + 1), rel=1e-14)
        np.testing.assert_allclose(gradient, value / x, rtol=1e-14)
        expected = value / np.outer(x, x)
        np.fill_diagonal(expected, 0.0)
        np.testing.assert_allclose(cadiff.hessian(f)(x), expected, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(cadiff.jacfwd(f)(x), gradient, rtol=1e-14)


# --- three traps that would lose derivatives without a word --------------------------------------


@pytest.mark.parametrize("number", [Var(2.0), Dual(2.0, 1.0)], ids=["Var", "Dual"])
def test_assignment_to_a_plain_array_raises(number: Any) -> None:
    f = np.zeros(3)
    with pytest.raises(TypeError, match="cadiff"):
        f[0] = number
    with pytest.raises(TypeError, match="cadiff"):
        np.array([number, number], float)
    with pytest.raises(TypeError, match="cadiff"):
        float(number)
    with pytest.raises(TypeError, match="cadiff"):
        int(number)


@pytest.mark.parametrize("number", [Var(2.0), Dual(2.0, 1.0)], ids=["Var", "Dual"])
def test_functions_of_the_module_math_raise(number: Any) -> None:
    for f in (math.sin, math.exp, math.sqrt):
        with pytest.raises(TypeError, match="cadiff"):
            f(number)


def test_object_arrays_go_on() -> None:
    def f(x: Any, y: Any) -> Any:
        both = np.array([x, y])
        assert both.dtype == object
        return np.sum(np.sin(both) * both**2) + np.mean(both) + np.prod(np.exp(both))

    x, y = 0.5, -1.5
    expected = [math.cos(t) * t**2 + 2 * t * math.sin(t) + 0.5 + math.exp(x + y) for t in (x, y)]
    assert cadiff.grad(f, (0, 1))(x, y) == pytest.approx(expected, rel=1e-14)
    assert cadiff.gradient(f, (x, y), mode="fwd") == pytest.approx(expected, rel=1e-14)
    assert cadiff.jvp(f, (x, y), (1.0, 1.0))[1] == pytest.approx(sum(expected), rel=1e-14)


def test_constant_results_have_derivative_zero() -> None:
    check(lambda x: 3.0, [2.0], [0.0])
    check_second(lambda x, y: 3.0, [2.0, 1.0], [[0.0, 0.0], [0.0, 0.0]])
    check(lambda x, y: x, [2.0, 1.0], [1.0, 0.0])
    check_second(lambda x, y: y, [2.0, 1.0], [[0.0, 0.0], [0.0, 0.0]])


def test_zeros_keep_their_sign() -> None:
    assert math.copysign(1.0, (Var(-0.0) * 1.0).value) == -1.0
    assert math.copysign(1.0, cadiff.sqrt(Var(-0.0)).value) == -1.0
    assert is_same(cadiff.arctan2(Var(-0.0), Var(-1.0)).value, -math.pi)


@pytest.mark.parametrize("f", [lambda p: p[0] ** p[1], lambda p: special.powm1(p[0], p[1])])
@pytest.mark.parametrize(
    ("y", "wanted"),
    [(1.0, [0.0, -INF]), (0.5, [-INF, -INF]), (0.7, [-INF, -INF]), (2.0, [2.0, 0.0])],
)
def test_mixed_derivatives_of_powers_at_0_are_limits(f: Any, y: float, wanted: Any) -> None:
    """Those of x**y are (y - 1) y x**(y - 2) and x**(y - 1) (1 + y log x)."""
    at = np.array([0.0, y])
    for g in (f, cadiff.compile(f)):
        np.testing.assert_array_equal(cadiff.hessian(g)(at), [wanted, [wanted[1], 0.0]])
