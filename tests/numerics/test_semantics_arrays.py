"""The conventions of derivatives over arrays: each case in every mode.

What a row of the table promises for numbers holds for arrays element by element.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import Dual, Var
from cadiff.scipy import special

from ..helpers.programs import values_of
from ..helpers.table import ROWS, Row
from .test_semantics import KINKS

INF = math.inf
NAN = math.nan


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    """Nothing in this file may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def backward(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    v = Var(x)
    f(v).backward()
    return np.asarray(v.grad)


def columns(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    """The gradient by one direction at a time."""
    units = np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([cadiff.jvp(f, (x,), (unit,))[1] for unit in units]).reshape(x.shape)


MODES: dict[str, Callable[..., Any]] = {
    "reverse": lambda f, x: cadiff.grad(f)(x),
    "backward": backward,
    "Dual of many lanes": lambda f, x: f(Dual.seed(x)).tangent.reshape(x.shape),
    "Dual, one direction at a time": columns,
    "jacrev": lambda f, x: cadiff.jacrev(f)(x),
    "jacfwd": lambda f, x: cadiff.jacfwd(f)(x),
    "reverse, recorded": lambda f, x: cadiff.value(cadiff.vjp(lambda x: cadiff.grad(f)(x), x)[0]),
}

HESSIANS: dict[str, Callable[..., Any]] = {
    "hessian": lambda f, x: cadiff.hessian(f)(x),
    "forward over reverse": lambda f, x: cadiff.jacfwd(cadiff.grad(f))(x),
    "reverse over reverse": lambda f, x: cadiff.jacrev(cadiff.grad(f))(x),
    "reverse over forward": lambda f, x: cadiff.jacrev(cadiff.jacfwd(f))(x),
    "forward over forward": lambda f, x: cadiff.jacfwd(cadiff.jacfwd(f))(x),
}


Function = Callable[..., Any]
EXPONENTS: list[tuple[float, list[float]]] = [
    *[(0, [0.0, 0.0]), (1, [1.0, 1.0]), (2, [0.0, -4.0]), (3, [0.0, 12.0]), (3.0, [0.0, 12.0])],
    *[(0.5, [INF, NAN]), (-1, [-INF, -0.25])],
]
TIES = [[1.0, 2.0, 2.0], [4.0, 4.0, 3.0]]
FIVE = [1.3, 0.7, 0.8, 1.9, 1.2]
RATIOS = np.arange(1.0, 31.0) / np.arange(2.0, 32.0)


def check(f: Callable[..., Any], x: Any, expected: Any, rtol: float = 1e-14) -> None:
    x = np.asarray(x, dtype=float)
    for mode, gradient in MODES.items():
        np.testing.assert_allclose(gradient(f, x), expected, rtol=rtol, err_msg=mode)


def check_second(f: Callable[..., Any], x: Any, expected: Any, rtol: float = 1e-13) -> None:
    x = np.asarray(x, dtype=float)
    for mode, hessian in HESSIANS.items():
        np.testing.assert_allclose(hessian(f, x), expected, rtol=rtol, atol=1e-300, err_msg=mode)


# --- elementwise ---------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in ROWS if row.kinks], ids=lambda row: row.name)
def test_kinks_element_by_element(row: Row) -> None:
    """All cases of a row at once, as one array for each operand."""
    assert row.name in KINKS, f"write cases for the convention of {row.name}: {row.kinks}"
    f = getattr(cadiff, row.name)
    points = [
        np.array(operand) for operand in zip(*(case[0] for case in KINKS[row.name]), strict=True)
    ]
    partials = list(zip(*(case[1] for case in KINKS[row.name]), strict=True))
    first = len(points) - len(partials)  # an order is no variable
    for i, expected in enumerate(partials, start=first):

        def along(x: Any, i: int = i) -> Any:
            return f(*points[:i], x, *points[i + 1 :])

        ones = np.ones(points[i].shape)
        _, tangent = cadiff.jvp(along, (points[i],), (ones,))
        np.testing.assert_allclose(tangent, expected, rtol=1e-14)
        gradient = cadiff.vjp(along, points[i])[1](ones)
        np.testing.assert_allclose(gradient, expected, rtol=1e-14)


def test_values_follow_numpy_without_warnings() -> None:
    for kind in (Var, lambda x: Dual(x, np.ones(2))):
        np.testing.assert_array_equal(cadiff.value(1 / kind([0.0, -0.0])), [INF, -INF])
        np.testing.assert_array_equal(cadiff.value(10.0 ** kind([400.0, 2.0])), [INF, 100.0])
        np.testing.assert_array_equal(cadiff.value(np.log(kind([-1.0, 0.0]))), [NAN, -INF])
        np.testing.assert_array_equal(cadiff.value(kind([-2.0, 4.0]) ** 0.5), [NAN, 2.0])


# --- gradients -----------------------------------------------------------------------------------

GRADIENTS: dict[str, tuple[Function, Any, Any]] = {
    # An exact zero absorbs.
    "not taken": (lambda x: np.sum(np.where(x < 1, x, np.sqrt(x))), [0.0, 4.0], [1.0, 0.25]),
    "log": (lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)), [-1.0, 0.0, 2.0], [0.0, 0.0, 0.5]),
    "sigmoid": (lambda x: np.sum(1 / (1 + np.exp(-x))), [-1000.0, 1000.0, 0.0], [0.0, 0.0, 0.25]),
    "times 0": (lambda x: np.sum(np.sqrt(x) * np.array([0.0, 1.0])), [0.0, 4.0], [0.0, 0.25]),
    "an element": (lambda x: np.sqrt(x)[1], [0.0, 4.0], [0.0, 0.25]),
    "the smaller": (lambda x: np.sum(np.maximum(np.sqrt(x), 1.0)), [0.0, 4.0], [0.0, 0.25]),
    "sqrt of x x": (lambda x: np.sum(np.sqrt(x * x)), [0.0, -2.0], [0.0, -1.0]),
    "sqrt of a sum at 0": (lambda x: np.sqrt(np.sum(x**2)), np.zeros(3), np.zeros(3)),
    "sqrt of a sum": (lambda x: np.sqrt(np.sum(x * x)), [3.0, 4.0], [0.6, 0.8]),
    "norm": (lambda x: np.linalg.norm(x), np.zeros((2, 2)), np.zeros((2, 2))),
    "norms": (lambda x: np.sum(np.linalg.norm(x, axis=1)), [[0, 0], [3, 4]], [[0, 0], [0.6, 0.8]]),
    "sinc": (lambda x: np.sum(np.sinc(x)), np.zeros(2), np.zeros(2)),
    # Powers.
    **{f"x**{n!r}": (lambda x, n=n: np.sum(x**n), [0.0, -2.0], s) for n, s in EXPONENTS},
    "powers": (lambda y: np.sum(np.array([-2.0, 0, 0]) ** y), [3.0, 2.0, 0.0], [NAN, 0.0, 0.0]),
    "bases": (lambda x: np.sum(x ** np.array([3.0, 2, 0])), [-2.0, 0.0, 0.0], [12.0, 0.0, 0.0]),
    # Ties and steps.
    "max": (np.max, [1.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
    "min": (np.min, [1.0, 2.0, 1.0], [0.5, 0.0, 0.5]),
    "max of equals": (lambda x: x.max(), [3.0, 3.0, 3.0], [1 / 3] * 3),
    "min of others": (lambda x: x.min(), [1.0, 2.0, 3.0], [1.0, 0.0, 0.0]),
    "max of rows": (lambda x: np.sum(np.max(x, 1)), TIES, [[0.0, 0.5, 0.5], [0.5, 0.5, 0.0]]),
    "max of columns": (lambda x: np.sum(np.max(x, 0)), TIES, [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]),
    "maximum": (lambda x: np.sum(np.maximum(x, 1.0)), [1.0, 2.0, 0.0], [0.5, 1.0, 0.0]),
    "maximum with 0": (lambda x: np.sum(np.maximum(x, 0)), [0.0, 2.0, -1.0], [0.5, 1.0, 0.0]),
    "minimum": (lambda x: np.sum(np.minimum(x, 1.0)), [1.0, 2.0, 0.0], [0.5, 0.0, 1.0]),
    "clip": (lambda x: np.sum(np.clip(x, 1.0, 2.0)), [1.0, 2.0, 3.0, 0.0], [1.0, 1.0, 0.0, 0.0]),
    "abs": (lambda x: np.sum(np.abs(x)), [0.0, -2.0], [0.0, -1.0]),
    "relu": (lambda x: np.sum(cadiff.relu(x)), [0.0, 2.0], [0.0, 1.0]),
    "floor": (lambda x: np.sum(np.floor(x) * x), [2.5, 2.0], [2.0, 2.0]),
    "mod": (lambda x: np.sum(np.mod(x, 2.0)), [5.5, -0.5], [1.0, 1.0]),
    "mod of 5.5": (lambda x: np.sum(np.mod(5.5, x)), [2.0, 3.0], [-2.0, -1.0]),
    "hypot(x, 0)": (lambda x: np.sum(np.hypot(x, np.zeros(2))), np.zeros(2), np.zeros(2)),
    "hypot(0, x)": (lambda x: np.sum(np.hypot(np.zeros(2), x)), np.zeros(2), np.zeros(2)),
    "arctan2(x, 0)": (lambda x: np.sum(np.arctan2(x, np.zeros(2))), np.zeros(2), np.zeros(2)),
    "arctan2(0, x)": (lambda x: np.sum(np.arctan2(np.zeros(2), x)), np.zeros(2), np.zeros(2)),
    # Whole arrays.
    "logsumexp": (special.logsumexp, [1000.0, 1000.0], [0.5, 0.5]),
    "prod, a zero": (np.prod, [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    "prod, two zeros": (np.prod, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    "cumprod": (lambda x: np.sum(np.cumprod(x)), [0.0, 1.0, 2.0], [4.0, 0.0, 0.0]),
    "sort": (lambda x: np.sort(x) @ [0.0, 1.0, 2.0], [3.0, 1.0, 2.0], [2.0, 0.0, 1.0]),
    "a sum used twice": (lambda a: np.sum((a + a) + (a + a)), [1.0, 2.0], [4.0, 4.0]),
    "a branch": (lambda x: 1.0 if np.all(x == 1) else np.sum(x**2), [1.0, 2.0], [2.0, 4.0]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    check(*GRADIENTS[name])


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


ROUNDED: dict[str, tuple[Function, Any, Any, float]] = {
    "rosenbrock": (rosenbrock, [-1.2, 1.0], [-215.6, -88.0], 1e-13),
    "of five": (rosenbrock, FIVE, [515.4, -285.4, -341.6, 2085.4, -482.0], 1e-12),
    "speelpenning": (np.prod, RATIOS, 1.0 / 31.0 / RATIOS, 1e-13),
    "det": (np.linalg.det, [[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]], 1e-12),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_gradients_but_for_rounding(name: str) -> None:
    check(*ROUNDED[name])


HESSIANS_AT: dict[str, tuple[Function, Any, Any]] = {
    "x**2 y": (
        lambda x: np.sum(x[:2] ** 2 * x[2:]),
        [0.0, 1.0, 3.0, 2.0],
        [[6.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 2.0], [0.0] * 4, [0.0, 2.0, 0.0, 0.0]],
    ),
    "cubes": (lambda x: np.sum(x**3), [0.0, 1.0], [[0.0, 0.0], [0.0, 6.0]]),
    "sinc": (lambda x: np.sum(np.sinc(x)), np.zeros(2), -np.eye(2) * np.pi**2 / 3),
    "prod": (np.prod, [0.0, 0.0, 3.0], [[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
    "rosenbrock": (rosenbrock, [-1.2, 1.0], [[1330.0, 480.0], [480.0, 200.0]]),
}


@pytest.mark.parametrize("name", HESSIANS_AT)
def test_hessians(name: str) -> None:
    check_second(*HESSIANS_AT[name])


@pytest.mark.parametrize("n", [6, 600])
def test_second_derivatives_where_the_adjoint_is_zero(n: int) -> None:
    """The square of a sum that is 0: the gradient vanishes, and the Hessian does not."""

    def f(x: Any) -> Any:
        return np.sum(2.0 * x) ** 2

    x = np.resize([1.0, -1.0], n)
    assert np.all(cadiff.grad(f)(x) == 0.0)
    np.testing.assert_array_equal(cadiff.hvp(f)(x, np.ones(n)), np.full(n, 8.0 * n))
    np.testing.assert_array_equal(cadiff.hessian(f)(x), np.full((n, n), 8.0))
    np.testing.assert_array_equal(cadiff.jacfwd(cadiff.grad(f))(x), np.full((n, n), 8.0))
    np.testing.assert_array_equal(cadiff.jacrev(cadiff.grad(f))(x), np.full((n, n), 8.0))


def test_broadcasting_sums_over_what_was_repeated() -> None:
    a, b = np.ones((3, 1)), np.arange(4.0)
    by_a, by_b = cadiff.grad(lambda a, b: np.sum(a * b), (0, 1))(a, b)
    np.testing.assert_array_equal(by_a, [[6.0], [6.0], [6.0]])
    np.testing.assert_array_equal(by_b, [3.0, 3.0, 3.0, 3.0])
    forward = cadiff.jacfwd(lambda a, b: np.sum(a * b), (0, 1))(a, b)
    np.testing.assert_array_equal(forward[0], by_a)
    np.testing.assert_array_equal(forward[1], by_b)


def test_nested_derivatives_are_not_confused() -> None:
    ones = np.ones(2)

    def inner(x: Any, f: Callable[[Any, Any], Any], at: Any) -> Any:
        return cadiff.grad(lambda y: np.sum(f(x, y)))(at)

    check(lambda x: np.sum(x * inner(x, lambda x, y: x + y, ones)), ones, ones)
    check(lambda x: np.sum(x * inner(x, lambda x, y: x * y, ones)), [4.0, 4.0], [8.0, 8.0])

    def forward(x: Any, f: Callable[[Any, Any], Any]) -> Any:
        return cadiff.jvp(lambda y: f(x, y), (ones,), (ones,))[1]

    check(lambda x: np.sum(x * forward(x, lambda x, y: x + y)), ones, ones)
    check(lambda x: np.sum(x * forward(x, lambda x, y: x * y)), [4.0, 4.0], [8.0, 8.0])


def test_integers_are_promoted() -> None:
    gradient = cadiff.grad(lambda x: np.sum(x**2))(np.array([3, -1]))
    assert gradient.dtype == np.float64
    np.testing.assert_array_equal(gradient, [6.0, -2.0])


def test_assigning_an_array_to_a_plain_one_raises() -> None:
    for array in (Var([1.0]), Dual([1.0]), Var([1.0, 2.0])):
        plain = np.zeros(3)
        with pytest.raises((TypeError, ValueError)) as caught:
            plain[0] = array  # for arrays, NumPy tells its own story first
        assert "cadiff" in f"{caught.value} {caught.value.__cause__}"
        with pytest.raises((TypeError, ValueError)):
            plain[:1] = array
        assert not plain.any()


@pytest.mark.parametrize("make", [cadiff.array, cnp.array])
def test_arrays_made_of_numbers_are_fast_and_right(make: Callable[[Sequence[Any]], Any]) -> None:
    def f(x: Any) -> Any:
        pair = make([x[0] * x[1], 2.0 * x[1]])
        assert isinstance(pair, (Var, Dual))
        pair[0] += pair[1] ** 2
        return np.sum(pair)

    check(f, [3.0, 5.0], [5.0, 3.0 + 40.0 + 2.0])


@pytest.mark.parametrize("dtype", [int, np.int8, bool])
def test_astype_of_ints_goes_by_steps(dtype: Any) -> None:
    table, x = np.array([1.0, 10.0, 100.0, 1000.0]), np.array([1.7, -0.2, 2.0])

    def f(np: Any, x: Any) -> Any:
        steps = np.floor(x).astype(dtype)
        single = x[0] if dtype is bool else x[0].astype(dtype)
        return np.sum((x * 2.0) * steps + table[steps.astype(int) % 4]) + single * x[1]

    for v in (Var(x), Dual(x, x)):
        assert v.astype(dtype).dtype == dtype
        assert v.astype(dtype).tolist() == x.astype(dtype).tolist()
    program = cadiff.compile(lambda x: f(cnp, x))
    for point in (x + 0.05, x[::-1] + 0.1, x + 0.05):
        t = np.array([1.0, 2.0, -1.0])
        slope = (f(np, point + 1e-6 * t) - f(np, point - 1e-6 * t)) / 2e-6
        for gradient in (cadiff.grad(lambda x: f(cnp, x))(point), program.grad(point)):
            assert gradient @ t == pytest.approx(slope, rel=1e-8)
        assert program(point) == pytest.approx(f(np, point), rel=1e-15)
    with pytest.raises(TypeError, match=r"cadiff\.value"):
        Var(x).astype("M8[s]")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: cnp.cumsum(x, axis=0),
        lambda x: cnp.cumprod(x, axis=-1),
        lambda x: cnp.nancumsum(x, axis=0),
        lambda x: cnp.take(x, [0, 0], axis=0),
        lambda x: cnp.take(x, 0, axis=-1),
    ],
)
def test_a_single_number_has_the_axis_that_numpy_gives_it(f: Any) -> None:
    x = np.array(2.0)
    g = lambda x: cnp.sum(f(x) ** 2)  # noqa: E731
    for found in values_of(f, x):
        assert np.shape(found) == np.shape(f(x))
        np.testing.assert_array_equal(found, f(x))
    assert cadiff.grad(g)(x) == cadiff.compile(g).grad(x) == 4.0 * np.size(f(x))


@pytest.mark.parametrize("axis", [0, 1])
def test_phases_that_begin_at_infinity_are_those_of_numpy(axis: int) -> None:
    x = np.array([[math.inf, 1.0, 8.0], [-math.inf, math.nan, 9.0], [0.0, math.inf, 1.0]])
    f = lambda x: cnp.unwrap(x, axis=axis)  # noqa: E731
    with np.errstate(all="ignore"):
        for found in values_of(f, x):
            np.testing.assert_array_equal(found, np.unwrap(x, axis=axis))


@pytest.mark.parametrize(
    ("f", "x", "axis"),
    [
        (np.linalg.norm, np.arange(4.0), 1),
        (np.linalg.norm, np.arange(4.0), -2),
        (np.linalg.norm, np.ones((2, 2)), 2),
        (np.std, np.array(2.0), 0),
        (np.mean, np.array(2.0), -1),
        (np.var, np.array(2.0), 0),
        (np.cumsum, np.array(2.0), 1),
        (np.cumsum, np.array(2.0), -2),
        (lambda x, axis: np.take(x, 0, axis=axis), np.array(2.0), 1),
        (lambda x, axis: np.take(x, 0, axis=axis), np.array(2.0), -2),
    ],
)
def test_an_axis_that_is_not_there_is_refused_as_by_numpy(f: Any, x: Any, axis: int) -> None:
    with pytest.raises(np.exceptions.AxisError):
        f(x, axis=axis)
    with pytest.raises(np.exceptions.AxisError):
        cadiff.vjp(lambda x: f(x, axis=axis), x)


@pytest.mark.parametrize("name", ["mean", "var", "std", "sum", "nanmean", "nanstd", "median"])
def test_lists_of_constants_are_what_they_hold(name: str) -> None:
    def f(x: Any) -> Any:
        a, b = cnp.array([1.0, 4.0])  # numbers could be assigned to these
        return getattr(cnp, name)([a, b]) * x

    expected = getattr(np, name)([1.0, 4.0])
    assert cadiff.grad(f)(2.0) == expected
    assert cadiff.jvp(f, (2.0,), (1.0,)) == (2.0 * expected, expected)


OBJECTS: list[Any] = [None, "", "0", {}, [None, True, False], [True, None, 2.0], np.array([None])]


@pytest.mark.parametrize("condition", OBJECTS, ids=repr)
def test_what_is_no_number_is_a_condition_as_in_numpy(condition: Any) -> None:
    """None is not nan here: it chooses what nan would not."""
    x, found = np.array([1.5, -0.5, 2.0]), []

    def f(x: Any) -> Any:
        chosen = np.where(condition, x, 7.0)
        found.append(cadiff.value(chosen))
        return np.sum(chosen)

    slopes = cadiff.grad(f)(x)
    np.testing.assert_array_equal(found[0], np.where(condition, x, 7.0))
    np.testing.assert_array_equal(slopes, np.where(condition, np.ones(3), 0.0))
