"""What the derivatives are where calculus leaves it open: each case in every mode.

Every row of the table of operations with a convention has its cases in `KINKS`; the other tables
are the promises about values, zeros that absorb, infinities, ties and branches.
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

Function: TypeAlias = Callable[..., Any]
Case: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]  # operands, expected partials


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    """Nothing in this file may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def check(f: Function, x: Sequence[float], expected: Sequence[float], rtol: float = 1e-14) -> None:
    """The gradient of f at x in every mode."""
    for mode, gradient in gradients(f, x).items():
        assert gradient == pytest.approx(expected, rel=rtol, abs=0.0, nan_ok=True), mode


def check_second(f: Function, x: Sequence[float], expected: Any, rtol: float = 1e-14) -> None:
    """The Hessian of f at x in every mode."""
    for mode, hessian in hessians(f, x).items():
        np.testing.assert_allclose(hessian, expected, rtol=rtol, atol=0.0, err_msg=mode)


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

VALUES: dict[str, tuple[Function, Sequence[float], float]] = {
    "1/0": (lambda x: 1 / x, [0.0], INF),
    "-1/0": (lambda x: -1 / x, [0.0], -INF),
    "0/0": (lambda x: x / x, [0.0], NAN),
    "10**400": (lambda x: 10.0**x, [400.0], INF),
    "0**-1": (lambda x: x**-1, [0.0], INF),
    "log at -2": (cadiff.log, [-2.0], NAN),
    "log at 0": (lambda x: x.log(), [0.0], -INF),
    "exp of 160000": (lambda x: cadiff.exp(x * x), [400.0], INF),
    "0 mod 0": (lambda x: x % 0.0, [0.0], NAN),
    "-2 mod 0": (lambda x, y: x % y, [-2.0, 0.0], NAN),
    "0 // 0": (lambda x: x // x, [0.0], NAN),
    "-2 to the power 0.5": (lambda x: x**0.5, [-2.0], NAN),
    "-2 to a power": (lambda x: (-2.0) ** x, [0.5], NAN),
    "x log x": (lambda x: x * cadiff.log(x), [0.0], NAN),
    "xlogy": (lambda x: cadiff.xlogy(x, x), [0.0], 0.0),
    "entr": (cadiff.entr, [0.0], 0.0),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_at_edges(name: str) -> None:
    """They are never errors of Python, nor complex."""
    f, x, expected = VALUES[name]
    for kind in (Var, lambda x: Dual(x, 1.0)):
        assert is_same(cadiff.value(f(*map(kind, x))), expected)


def test_plain_floats_follow_numpy() -> None:
    assert cadiff.log(0.0) == -INF
    assert math.isnan(cadiff.log(-1.0))
    assert cadiff.divide(1.0, 0.0) == INF
    assert cadiff.exp(1000.0) == INF
    assert (cadiff.round(2.5), type(cadiff.round(2.5))) == (2.0, float)
    assert math.isnan(cadiff.power(-2.0, 0.5))


def test_integers_are_promoted() -> None:
    assert cadiff.derivative(lambda x: x**2, 0, (3,)) == 6.0
    assert type(cadiff.grad(lambda x: x**2)(3)) is float


def test_zeros_keep_their_sign() -> None:
    assert math.copysign(1.0, (Var(-0.0) * 1.0).value) == -1.0
    assert math.copysign(1.0, cadiff.sqrt(Var(-0.0)).value) == -1.0
    assert is_same(cadiff.arctan2(Var(-0.0), Var(-1.0)).value, -math.pi)


# --- gradients -----------------------------------------------------------------------------------


def sigmoid(x: Any) -> Any:
    return 1 / (1 + cadiff.exp(-x))


ROUNDINGS: dict[str, Function] = {
    "round": round,
    "round to tenths": lambda x: round(x, 1),
    "math.floor": math.floor,
    "math.ceil": math.ceil,
    "math.trunc": math.trunc,
    "cadiff.round": cadiff.round,
    "// 1": lambda x: x // 1,
}
POWERS: dict[str, Function] = {"**": lambda x, y: x**y, "np.power": np.power}
# Slopes at minus infinity and at infinity.
AT_INFINITY: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("tanh", "expit", "erf", "arctan", "arcsinh", "cbrt"), (0.0, 0.0)),
    **dict.fromkeys(("softplus", "relu"), (0.0, 1.0)),
    "exp": (0.0, INF),
    "log_expit": (1.0, 0.0),
}
# The slope of x**exponent at x.
EXPONENTS = [
    *[(0.0, 0, 0.0), (0.0, 0.0, 0.0), (0.0, 1, 1.0), (0.0, 2, 0.0), (0.0, 2.0, 0.0)],
    *[(0.0, 3, 0.0), (0.0, 0.5, INF), (0.0, -1, -INF), (-2.0, 3, 12.0), (-2.0, 3.0, 12.0)],
    *[(-2.0, 2, -4.0), (-2.0, -1, -0.25), (-2.0, 0.5, NAN)],
]
GRADIENTS: dict[str, tuple[Function, Sequence[float], Sequence[float]]] = {
    "1/0": (lambda x: 1 / x, [0.0], [-INF]),
    "overflow": (lambda x: 10.0**x, [400.0], [INF]),
    "x log x": (lambda x: x * cadiff.log(x), [0.0], [-INF]),
    # An exact zero absorbs.
    "sqrt not taken": (lambda x: cadiff.where(x < 1, x, cadiff.sqrt(x)), [0.0], [1.0]),
    "log of -1 not taken": (lambda x: cadiff.where(x > 0, cadiff.log(x), 0.0), [-1.0], [0.0]),
    "log of 0 not taken": (lambda x: cadiff.where(x > 0, cadiff.log(x), x), [0.0], [1.0]),
    "saturated below": (sigmoid, [-1000.0], [0.0]),
    "saturated above": (sigmoid, [1000.0], [0.0]),
    "0 sqrt(0)": (lambda x: 0.0 * cadiff.sqrt(x), [0.0], [0.0]),
    "sqrt(0)**2 0": (lambda x: cadiff.sqrt(x) * cadiff.sqrt(x) * 0.0, [0.0], [0.0]),
    "sqrt(0) < 1": (lambda x, y: cadiff.maximum(cadiff.sqrt(x), y), [0.0, 1.0], [0.0, 1.0]),
    "sqrt of x x": (lambda x: cadiff.sqrt(x * x), [0.0], [0.0]),
    "sqrt of x**2": (lambda x: cadiff.sqrt(x**2), [0.0], [0.0]),
    "norm": (lambda x, y, z: cadiff.sqrt(x**2 + y**2 + z**2), [0.0] * 3, [0.0] * 3),
    # At infinity.
    **{
        f"{name} at {x}": (getattr(cadiff, name), [x], [slope])
        for name, slopes in AT_INFINITY.items()
        for x, slope in zip((-INF, INF), slopes, strict=True)
    },
    "hypot(inf, 2)": (cadiff.hypot, [INF, 2.0], [1.0, 0.0]),
    "hypot(2, -inf)": (cadiff.hypot, [2.0, -INF], [0.0, -1.0]),
    "arctan2(inf, 2)": (cadiff.arctan2, [INF, 2.0], [0.0, 0.0]),
    "arctan2(2, -inf)": (cadiff.arctan2, [2.0, -INF], [0.0, 0.0]),
    "logaddexp(inf, 2)": (cadiff.logaddexp, [INF, 2.0], [1.0, 0.0]),
    "logaddexp(-inf, 2)": (cadiff.logaddexp, [-INF, 2.0], [0.0, 1.0]),
    "logaddexp, large": (cadiff.logaddexp, [1000.0, 1000.0], [0.5, 0.5]),
    "logaddexp, small": (cadiff.logaddexp, [-1000.0, -1000.0], [0.5, 0.5]),
    "logaddexp, far apart": (cadiff.logaddexp, [1000.0, -1000.0], [1.0, 0.0]),
    # Powers.
    **{f"{x}**{n!r}": (lambda x, n=n: x**n, [x], [slope]) for x, n, slope in EXPONENTS},
    **{f"-2 {name} 3": (f, [-2.0, 3.0], [12.0, NAN]) for name, f in POWERS.items()},
    **{f"0 {name} 2": (f, [0.0, 2.0], [0.0, 0.0]) for name, f in POWERS.items()},
    **{f"0 {name} 0": (f, [0.0, 0.0], [0.0, 0.0]) for name, f in POWERS.items()},
    "0**x": (lambda x: 0.0**x, [2.0], [0.0]),
    "2**x": (lambda x: 2.0**x, [3.0], [8.0 * math.log(2.0)]),
    # Ties, steps and branches.
    "maximum with 0": (lambda x: np.maximum(x, 0), [0.0], [0.5]),
    "minimum with 0": (lambda x: np.minimum(x, 0), [0.0], [0.5]),
    "max takes the first, x": (lambda x: max(x, 1.0), [1.0], [1.0]),
    "max takes the first, 1": (lambda x: max(1.0, x), [1.0], [0.0]),
    "min takes the first": (lambda x: min(x, 1.0), [1.0], [1.0]),
    **{name: (f, [2.75], [0.0]) for name, f in ROUNDINGS.items()},
    **{
        f"{name}, times x": (lambda x, f=f: f(x) * x, [2.75], [f(2.75)])
        for name, f in ROUNDINGS.items()
    },
    "a branch on equality": (lambda x: 1.0 if x == 1 else x**2, [1.0], [0.0]),
    "its other branch": (lambda x: 1.0 if x == 1 else x**2, [2.0], [4.0]),
    # Sums and constants.
    "shared results": (lambda a: (a + a) + (a + a), [3.0], [4.0]),
    "a constant": (lambda x: 3.0, [2.0], [0.0]),
    "an operand": (lambda x, y: x, [2.0, 1.0], [1.0, 0.0]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    check(*GRADIENTS[name])


HESSIANS: dict[str, tuple[Function, Sequence[float], Sequence[Sequence[float]]]] = {
    "saturated": (sigmoid, [-1000.0], [[0.0]]),
    # The adjoint of x * x is 2 x y, zero at x = 0, but its derivative is not.
    "x**2 y": (lambda x, y: x**2 * y, [0.0, 3.0], [[6.0, 0.0], [0.0, 0.0]]),
    "x x y": (lambda x, y: x * x * y, [0.0, 3.0], [[6.0, 0.0], [0.0, 0.0]]),
    "(x y)**2": (lambda x, y: (x * y) * (x * y), [0.0, 3.0], [[18.0, 0.0], [0.0, 0.0]]),
    "x y": (lambda x, y: x * y, [0.0, 0.0], [[0.0, 1.0], [1.0, 0.0]]),
    "x**3": (lambda x: x**3, [0.0], [[0.0]]),
    "sinc": (cadiff.sinc, [0.0], [[-(math.pi**2) / 3]]),
    "a constant": (lambda x, y: 3.0, [2.0, 1.0], [[0.0, 0.0], [0.0, 0.0]]),
    "an operand": (lambda x, y: y, [2.0, 1.0], [[0.0, 0.0], [0.0, 0.0]]),
}


@pytest.mark.parametrize("name", HESSIANS)
def test_hessians(name: str) -> None:
    check_second(*HESSIANS[name])


def test_third_derivatives_of_a_cube_at_zero() -> None:
    third = cadiff.grad(cadiff.grad(cadiff.grad(lambda x: x**3)))
    assert third(0.0) == 6.0
    assert cadiff.grad(third)(0.0) == 0.0


def test_a_power_of_duals_by_hand() -> None:
    power = Dual(-2, 1) ** Dual(3, 0)
    assert (power.primal, power.tangent) == (-8.0, 12.0)


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


def test_products_with_zeros() -> None:
    for f in (np.prod, lambda x: x.prod(), lambda x: x[0] * x[1] * x[2]):
        np.testing.assert_array_equal(cadiff.grad(f)(np.array([0.0, 2.0, 3.0])), [6.0, 0.0, 0.0])
        np.testing.assert_array_equal(cadiff.grad(f)(np.array([0.0, 0.0, 3.0])), [0.0] * 3)


# --- nesting -------------------------------------------------------------------------------------

DERIVATIVES: list[Callable[[Function], Function]] = [
    cadiff.grad,
    lambda f: lambda x: cadiff.derivative(f, 0, (x,)),
    lambda f: lambda x: cadiff.jvp(f, (x,), (1.0,))[1],
    lambda f: lambda x: cadiff.vjp(f, x)[1](1.0),
]


@pytest.mark.parametrize("outer", range(4))
@pytest.mark.parametrize("inner", range(4))
def test_perturbations_are_not_confused(outer: int, inner: int) -> None:
    d, e = DERIVATIVES[outer], DERIVATIVES[inner]
    assert d(lambda x: x * e(lambda y: x + y)(1.0))(1.0) == 1.0
    assert d(lambda x: x * e(lambda y: x * y)(1.0))(4.0) == 8.0
    assert d(lambda x: e(lambda y: x * x * y)(x))(3.0) == 6.0
    assert d(lambda x: e(lambda y: y * y)(x) * x)(3.0) == 12.0


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


def test_rosenbrock() -> None:
    x = (-1.2, 1.0)
    assert rosenbrock(*x) == pytest.approx(24.2, rel=1e-14)
    check(rosenbrock, x, [-215.6, -88.0], 1e-13)
    check_second(rosenbrock, x, [[1330.0, 480.0], [480.0, 200.0]], 1e-13)
    product = cadiff.hvp(lambda t: rosenbrock(*t))(list(x), [1.0, 2.0])
    assert product == pytest.approx([2290.0, 880.0], rel=1e-13)
    of_five = [515.4, -285.4, -341.6, 2085.4, -482.0]
    check(rosenbrock, (1.3, 0.7, 0.8, 1.9, 1.2), of_five, 1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 50])
def test_speelpenning(n: int) -> None:
    x = np.array([(i + 1) / (i + 2) for i in range(n)])
    for f in (np.prod, math.prod):
        value, gradient = cadiff.value_and_grad(f)(x)
        assert value == pytest.approx(1 / (n + 1), rel=1e-14)
        np.testing.assert_allclose(gradient, value / x, rtol=1e-13)
        expected = value / np.outer(x, x)
        np.fill_diagonal(expected, 0.0)
        np.testing.assert_allclose(cadiff.hessian(f)(x), expected, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(cadiff.jacfwd(f)(x), gradient, rtol=1e-14)


# --- what would lose derivatives without a word --------------------------------------------------

LOSING: dict[str, Function] = {
    "assignment": lambda x: np.zeros(3).__setitem__(0, x),
    "an array of floats": lambda x: np.array([x, x], float),
    **{f.__name__: f for f in (float, int, math.sin, math.exp, math.sqrt)},
}


@pytest.mark.parametrize("name", LOSING)
def test_what_loses_derivatives_raises(name: str) -> None:
    for number in (Var(2.0), Dual(2.0, 1.0)):
        with pytest.raises(TypeError, match="cadiff"):
            LOSING[name](number)


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
