"""Derivatives of high order by power series, against mpmath, formulas, and nested forward mode."""

from __future__ import annotations

import functools
import math
import operator
import threading
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from numpy.typing import NDArray

import cadiff
import cadiff.numpy as cnp
from cadiff import Dual, binding

from ..helpers.oracle import DERIVATIVES, ORACLE, STAIRS, Real, digits
from ..helpers.properties import examples
from ..helpers.table import ROWS, Domain, rows, window

Function = Callable[..., Any]
HIGHEST = 8


def nested(f: Function, x: Any, order: int) -> Any:
    """The derivative by forward mode of forward mode, as a user would nest it."""
    if order == 0:
        return f(x)
    return cadiff.jvp(lambda x: nested(f, x, order - 1), (x,), (1.0,))[1]


def same(got: Any, wanted: Any, rtol: float = 1e-12) -> None:
    """Numbers agree relative to the largest of them; infinities and nan are the same."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * scale)


# --- every row of the table ----------------------------------------------------------------------


def draw(domain: Domain, rng: np.random.Generator) -> float:
    """A number well inside the domain of an operand."""
    if domain.is_whole:
        return float(rng.integers(3))
    low, high = window(domain, 3.0)
    return float(rng.uniform(low + 0.05, high - 0.05))


def coefficients(name: str, point: Sequence[float], which: int) -> list[Real]:
    """The Taylor coefficients of an operation by one operand, one more than are tested."""
    with digits(60):
        x = [mp.mpf(number) for number in point]
        if name in DERIVATIVES:
            return [DERIVATIVES[name](k, *x) / mp.factorial(k) for k in range(HIGHEST + 2)]
        if name in STAIRS:
            return [ORACLE[name](*x)] + [mp.zero] * (HIGHEST + 1)

        def along(t: Real) -> Real:
            return ORACLE[name](*x[:which], t, *x[which + 1 :])

        series: list[Real] = mp.taylor(along, x[which], HIGHEST + 1)
        return series


@rows(ROWS)
def test_every_operation(row: Any) -> None:
    """Each coefficient to a few hundred roundings of the largest of it and its neighbours, which
    say how much the point's own rounding may do."""
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    f = getattr(cadiff, row.name)
    for _ in range(4):
        point = [draw(domain, rng) for domain in row.domains]
        for which in range(len(point)):
            if row.domains[which].is_whole:
                continue
            exact = coefficients(row.name, point, which)
            for k in range(1, HIGHEST + 1):
                got = cadiff.derivative(f, which, point, order=k) / math.factorial(k)
                if mp.isnan(exact[k]):
                    assert math.isnan(got), (point, which, k)
                    continue
                scale = max(abs(exact[j]) for j in (k - 1, k, k + 1))
                assert abs(got - exact[k]) <= 1e-13 * scale, (point, which, k, got)


@rows([row for row in ROWS if len(row.operands) == 1])
def test_every_operation_over_arrays(row: Any) -> None:
    """Elements on both sides of all conditions, in one array: each as if it were alone."""
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    f = getattr(cadiff, row.name)
    points = np.array([draw(row.domains[0], rng) for _ in range(300)])
    for order in (2, 3, 6):
        got = cadiff.derivative(lambda t: f(points * t), 1.0, order=order)
        alone = [cadiff.derivative(lambda t: f(x * t), 1.0, order=order) for x in points]  # noqa: B023
        np.testing.assert_allclose(got, alone, rtol=1e-11, atol=1e-12 * np.max(np.abs(alone)))


# --- compositions --------------------------------------------------------------------------------

SMOOTH: dict[str, tuple[Function, Function]] = {
    "sin": (cadiff.sin, mp.sin),
    "exp(sin)": (lambda x: cadiff.exp(cadiff.sin(x)), lambda x: mp.exp(mp.sin(x))),
    "tanh": (cadiff.tanh, mp.tanh),
    "arctan": (cadiff.arctan, mp.atan),
    "erf": (cadiff.erf, mp.erf),
    "arcsinh": (cadiff.arcsinh, mp.asinh),
    "log of 2 + sin": (lambda x: cadiff.log(2 + cadiff.sin(x)), lambda x: mp.log(2 + mp.sin(x))),
    "root": (lambda x: cadiff.sqrt(1 + x * x), lambda x: mp.sqrt(1 + x * x)),
    "power": (lambda x: (1 + x * x) ** 0.75, lambda x: (1 + x * x) ** mp.mpf(0.75)),
    "x to the x": (lambda x: (2 + cadiff.sin(x)) ** x, lambda x: (2 + mp.sin(x)) ** x),
    "quotient": (lambda x: x / (3 + cadiff.cos(x)), lambda x: x / (3 + mp.cos(x))),
    "polynomial": (lambda x: (x - 2) * x**3 + 1, lambda x: (x - 2) * x**3 + 1),
}


@given(
    names=st.lists(st.sampled_from(sorted(SMOOTH)), min_size=1, max_size=3),
    x=st.floats(-1.5, 1.5),
    order=st.integers(2, 8),
)
@examples(100)
def test_compositions_against_mpmath(names: list[str], x: float, order: int) -> None:
    def ours(x: Any) -> Any:
        return functools.reduce(lambda y, name: SMOOTH[name][0](y), names, x)

    with digits(60):
        exact = mp.taylor(
            lambda x: functools.reduce(lambda y, name: SMOOTH[name][1](y), names, x), x, order + 1
        )
    scale = max(map(abs, exact))
    if scale < 1e8:  # else a tower of exponentials, whose coefficients span too much to compare
        got = cadiff.derivative(ours, x, order=order) / math.factorial(order)
        assert abs(got - exact[order]) <= 1e-11 * scale


def test_exponential_of_sine_to_order_30() -> None:
    with digits(80):
        exact = mp.taylor(lambda x: mp.exp(mp.sin(x)), mp.mpf(0.7), 30)
    for k in range(31):
        got = cadiff.derivative(lambda x: cadiff.exp(cadiff.sin(x)), 0.7, order=k)
        assert got == pytest.approx(float(exact[k] * mp.factorial(k)), rel=1e-13)


def named(*names: str) -> list[Function]:
    return [getattr(cadiff, name) for name in names]


BINARY = [operator.add, operator.sub, operator.mul]
BINARY += named("divide", "maximum", "arctan2", "hypot", "logaddexp", "xlogy")
UNARY = [abs, operator.neg]
UNARY += named("sin", "exp", "expit", "relu", "sqrt", "log", "cbrt", "sinc", "log1p")
UNARY += [lambda x: cadiff.power(x, 3), lambda x: cadiff.power(x, -1.5), lambda x: 2.5]
PROGRAMS = st.lists(
    st.tuples(st.integers(0, len(BINARY) + len(UNARY) - 1), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=6,
)
POINTS = st.integers(-12, 12).map(lambda k: k / 4)  # at kinks or well off


def run_program(program: Sequence[tuple[int, int, int]], x: Any) -> Any:
    numbers = [x, 2.0 * x, 1.0]
    for op, i, j in program:
        a, b = numbers[i % len(numbers)], numbers[j % len(numbers)]
        numbers.append(BINARY[op](a, b) if op < len(BINARY) else UNARY[op - len(BINARY)](a))
    return numbers[-1]


@given(program=PROGRAMS, x=POINTS, order=st.integers(2, 4))
@examples(500)
def test_programs_against_nesting(
    program: list[tuple[int, int, int]], x: float, order: int
) -> None:
    """Kinks, poles and zeros included: what nesting gives and is finite, series give as well."""

    def f(x: Any) -> Any:
        return run_program(program, x)

    wanted = [nested(f, x, k) for k in range(1, order + 1)]
    scale = float(np.max(np.abs(wanted)))
    if scale < 1e6:  # nor nan
        assert abs(cadiff.derivative(f, x, order=order) - wanted[-1]) <= 1e-9 * max(scale, 1.0)


# --- arrays --------------------------------------------------------------------------------------

RNG = np.random.default_rng(8)
A, B, C = RNG.normal(size=(5, 7)), RNG.normal(size=(7, 4)), RNG.normal(size=400)
STACK = RNG.normal(size=(3, 4, 4))


def assigned(x: Any) -> Any:
    y = cnp.zeros(6)
    y[2:4] = x * np.array([1.0, 2.0])
    y[[0, 5]] = np.sin(y[2:4])
    y[2] = y[5] * x
    y[::2] = np.exp(y[::2])
    y[1] = 3.0
    return y * y


def scattered(x: Any) -> Any:
    y = cnp.ones(5) * x
    y[[0, 0, 1]] = cnp.array([x, x * x, x**3])
    y[1] += y[0]
    y[[3, 4]] = 1.0
    return y / x


def single_numbers(x: Any) -> Any:
    y = np.exp(A * x)
    return y[2, 3] * y[0].sum() / y[1, 1]


ARRAY_PROGRAMS: dict[str, Function] = {
    "rows": lambda x: np.exp(np.sin(x * C)) / (1.0 + x * x),
    "choices": lambda x: np.where(C * x > 0, np.log(1.0 + C * C * x), C * x * x * x),
    "kinks": lambda x: np.maximum(C * x, 0.1 * x) ** 2 + abs(C * x) * x + cadiff.relu(C * x) ** 3,
    "halves": lambda x: cadiff.expit(2.0 * C * x) + np.tanh(1.5 * C * x) + np.arctan(C * x * x),
    "matrices": lambda x: (A * x) @ np.exp(B * x),
    "a constant matrix": lambda x: np.sin(A * x) @ B @ np.ones(4) * x,
    "a matrix with itself": lambda x: np.exp(A * x) @ np.exp(A * x).T,
    "stacked matrices": lambda x: np.matmul(np.exp(STACK * x), np.sin(STACK * x)),
    "inner product": lambda x: np.dot(np.sin(C * x), np.cos(C * x)),
    "outer product": lambda x: np.outer(np.sin(C[:5] * x), np.exp(C[:6] * x)),
    "sums": lambda x: np.log(np.cosh(A * x)).mean(axis=0) + (A * x).sum(),
    "indices": lambda x: np.exp(B * x)[[3, 1, 1, 0]][:, ::-1] * x,
    "transposes": lambda x: np.exp(A * x).T * x + np.sin(A.T * x),
    "exponents": lambda x: (np.abs(C) + x) ** np.linspace(-2.0, 3.0, 400),
    "whole exponents": lambda x: (C * x) ** (np.arange(400) % 5),
    "assignment": assigned,
    "scattering": scattered,
    "single numbers": single_numbers,
    "a product over an axis": lambda x: np.prod(1.0 + A * x, axis=1),
    "einsum": lambda x: np.einsum("ij,jk->ik", A * x * x, np.sin(B * x)),
    "cumulative": lambda x: np.cumsum(np.exp(C[:9] * x)) + np.cumprod(1.0 + 0.1 * C[:9] * x),
    "a solution": lambda x: np.linalg.solve(np.eye(4) + 0.1 * x * STACK[0], np.ones(4)),
}


@pytest.mark.parametrize("name", ARRAY_PROGRAMS)
@pytest.mark.parametrize("order", [2, 3, 4])
def test_arrays_against_nesting(name: str, order: int) -> None:
    f = ARRAY_PROGRAMS[name]
    same(cadiff.derivative(f, 0.6, order=order), nested(f, 0.6, order), rtol=1e-11)


@pytest.mark.parametrize("order", [2, 5, 12])
def test_products_of_matrices_by_the_rule_of_leibniz(order: int) -> None:
    def f(x: Any) -> Any:
        return np.exp(A * x) @ np.sin(B * x)

    x = 0.4
    wanted = sum(
        math.comb(order, j)
        * ((A**j * np.exp(A * x)) @ (B ** (order - j) * np.sin(B * x + (order - j) * np.pi / 2)))
        for j in range(order + 1)
    )
    same(cadiff.derivative(f, x, order=order), wanted)


@pytest.mark.parametrize("order", [2, 7, 40, 300])
@pytest.mark.parametrize("size", [1, 2, 127, 128, 129, 3000])
def test_lengths_of_rows(size: int, order: int) -> None:
    c = np.linspace(-1.0, 1.0, size)
    got = cadiff.derivative(lambda x: np.exp(c * x), 0.5, order=order)
    np.testing.assert_allclose(got, c**order * np.exp(c * 0.5), rtol=1e-11, atol=1e-200)


@pytest.mark.parametrize("c", [A, A[::2, ::-3], A.T, A[:, :0], np.array(2.0), STACK[:, 0]])
def test_layouts(c: NDArray[np.float64]) -> None:
    got = cadiff.derivative(lambda x: np.sin(c * x), 0.3, order=4)
    np.testing.assert_allclose(got, c**4 * np.sin(c * 0.3), rtol=1e-13)


# --- conventions ---------------------------------------------------------------------------------

AT_ZERO: dict[str, tuple[Function, list[float]]] = {
    "cube": (lambda x: x**3, [0.0, 0.0, 6.0, 0.0, 0.0]),
    "cube, a float": (lambda x: x**3.0, [0.0, 0.0, 6.0, 0.0, 0.0]),
    "cube, products": (lambda x: x * x * x, [0.0, 0.0, 6.0, 0.0, 0.0]),
    "square": (lambda x: x**2, [0.0, 2.0, 0.0, 0.0, 0.0]),
    "polynomial": (lambda x: 1 + x * (2 + x * (3 + x * 4)), [2.0, 6.0, 24.0, 0.0, 0.0]),
    "sinc": (cadiff.sinc, [0.0, -(math.pi**2) / 3, 0.0, math.pi**4 / 5, 0.0]),
    "relu": (cadiff.relu, [0.0, 0.0, 0.0, 0.0, 0.0]),
    "absolute": (abs, [0.0, 0.0, 0.0, 0.0, 0.0]),
    "x times its magnitude": (lambda x: x * abs(x), [0.0, 0.0, 0.0, 0.0, 0.0]),
    "maximum at a tie": (lambda x: cadiff.maximum(x, 0.0) * x, [0.0, 1.0, 0.0, 0.0, 0.0]),
    "branch": (lambda x: cadiff.where(x < 1, x * x, cadiff.sqrt(x)), [0.0, 2.0, 0.0, 0.0, 0.0]),
    "reciprocal": (lambda x: 1 / x, [-math.inf, math.inf, -math.inf, math.inf, -math.inf]),
    "logarithm": (cadiff.log, [math.inf, -math.inf, math.inf, -math.inf, math.inf]),
    "constant": (lambda x: 3, [0.0, 0.0, 0.0, 0.0, 0.0]),
    "saturated": (lambda x: 1 / (1 + cadiff.exp(-(x - 1000))), [0.0, 0.0, 0.0, 0.0, 0.0]),
    "a power of 0": (lambda x: 0.0 ** (x + 2), [0.0, 0.0, 0.0, 0.0, 0.0]),
    "power 0": (lambda x: x**0, [0.0, 0.0, 0.0, 0.0, 0.0]),
    "power 2.5": (lambda x: x**2.5, [0.0, 0.0, math.inf, -math.inf, math.inf]),
}


@pytest.mark.parametrize("name", AT_ZERO)
def test_conventions_at_zero(name: str) -> None:
    f, wanted = AT_ZERO[name]
    got = [cadiff.derivative(f, 0.0, order=k) for k in range(1, 6)]
    assert got == pytest.approx(wanted, rel=1e-14, abs=0.0)


def test_conventions_over_arrays() -> None:
    """An element at 0, with others beside it, has the derivatives of a single number at 0."""
    shifts = np.array([0.0, 1.0, -2.0])
    for name in ("cube", "cube, a float", "sinc", "relu", "absolute", "x times its magnitude"):
        f = AT_ZERO[name][0]
        got = [cadiff.derivative(lambda x: f(x + shifts), 0.0, order=k) for k in range(1, 6)]  # noqa: B023
        assert [row[0] for row in got] == pytest.approx(AT_ZERO[name][1], rel=1e-14, abs=0.0)


def test_outside_of_the_domain() -> None:
    for f in (cadiff.log, cadiff.sqrt, cadiff.arcsin, cadiff.arccosh, cadiff.arctanh):
        assert math.isnan(cadiff.derivative(f, -2.0, order=3))
    for g in (lambda x: x**0.5, lambda x: cadiff.xlogy(2.0, x), lambda x: cadiff.xlogy(x, x)):
        assert math.isnan(cadiff.derivative(g, -2.0, order=2))
    assert cadiff.derivative(lambda x: x**3.0, -2.0, order=2) == -12.0


# --- very high orders ----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [100, 170, 171, 500, 1000])
def test_factorials_that_overflow(order: int) -> None:
    """Coefficients below the smallest double times factorials above the largest."""
    quarter = order % 4 * math.pi / 2
    assert cadiff.derivative(cadiff.exp, 0.7, order=order) == pytest.approx(math.exp(0.7))
    got = cadiff.derivative(lambda x: np.sin(x), 0.7, order=order)
    assert got == pytest.approx(math.sin(0.7 + quarter), rel=1e-12)
    got = cadiff.derivative(lambda x: 1 / x, 1000.0, order=order)
    with digits(50):
        wanted = float((-1) ** order * mp.factorial(order) / mp.mpf(1000) ** (order + 1))
    assert got == pytest.approx(wanted, rel=1e-12, abs=0.0)


def test_what_overflows_is_infinite() -> None:
    derivatives = [cadiff.derivative(lambda x: 1 / x, 1.0, order=k) for k in (170, 171, 172)]
    assert derivatives == [pytest.approx(7.257415615307999e306), -math.inf, math.inf]
    assert cadiff.derivative(lambda x: x**5, 2.0, order=1000) == 0.0


def test_high_orders_need_little_stack() -> None:
    """Partials of partials of ... are no calls within calls: a small stack is enough."""
    functions = [cadiff.exp, cadiff.gamma, cadiff.sinc, cadiff.expit, lambda x: x**40, np.tan]
    found: list[float] = []

    def work() -> None:
        found.extend(cadiff.derivative(f, 1.3, order=200) for f in functions)
        found.append(cadiff.derivative(lambda x: np.tanh(x * np.ones(5))[2], 1.3, order=1000))

    size = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
    finally:
        threading.stack_size(size)
    thread.join()
    assert len(found) == len(functions) + 1


@pytest.mark.parametrize("order", [1001, 10**30])
def test_an_order_beyond_all_floats_is_refused(order: int) -> None:
    with pytest.raises(ValueError, match="order is at most 1000"):
        cadiff.derivative(cadiff.exp, 0.0, order=order)


# --- which way is gone ---------------------------------------------------------------------------


@pytest.mark.parametrize("order", [2, 3, 9])
def test_the_function_is_called_once(order: int) -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x)
        return cadiff.sin(x) * np.sum(np.exp(A * x))

    cadiff.derivative(f, 0.3, order=order)
    assert len(calls) == 1


def test_outer_variables() -> None:
    """(exp(a x))''' is a^3 exp(a x), and its derivative by a is (3 a^2 + a^3 x) exp(a x)."""

    def third(a: Any) -> Any:
        return cadiff.derivative(lambda x: cadiff.exp(a * x), 0.5, order=3)

    slope = (3 * 1.3**2 + 1.3**3 * 0.5) * math.exp(1.3 * 0.5)
    assert cadiff.grad(third)(1.3) == pytest.approx(slope, rel=1e-14)
    assert cadiff.derivative(third, 1.3) == pytest.approx(slope, rel=1e-14)
    assert cadiff.jacrev(lambda a: cnp.stack([third(a)]))(1.3) == pytest.approx([slope])
    curve = cadiff.hessian(third)(1.3)
    assert cadiff.derivative(third, 1.3, order=2) == pytest.approx(curve, rel=1e-13)


def test_a_point_that_carries_a_derivative() -> None:
    def second(x: Any) -> Any:
        return cadiff.derivative(lambda t: t**4, x, order=2)  # 12 x^2

    assert cadiff.grad(second)(2.0) == 48.0
    assert cadiff.derivative(second, 2.0, order=2) == 24.0
    dual = second(Dual(2.0, 1.0))
    assert (dual.primal, dual.tangent) == (48.0, 48.0)
    assert cadiff.grad(lambda a: a * second(2.0))(5.0) == 48.0  # a is not used within


def test_derivatives_within_derivatives() -> None:
    """f(x) = x (sin'' x) = -x sin x, f''' = 3 sin x + x cos x."""

    def f(x: Any) -> Any:
        return x * cadiff.derivative(cadiff.sin, x, order=2)

    x = 0.9
    wanted = 3 * math.sin(x) + x * math.cos(x)
    assert cadiff.derivative(f, x, order=3) == pytest.approx(wanted, rel=1e-14)

    def plain_inside(x: Any) -> Any:
        return x * x * cadiff.derivative(cadiff.exp, 0.0, order=4)

    assert cadiff.derivative(plain_inside, 3.0, order=2) == 2.0


def test_primitives_with_rules() -> None:
    @cadiff.primitive
    def double_sine(x: Any) -> Any:
        return 2.0 * np.sin(x)

    double_sine.defpartials(lambda ans, x: 2.0 * cadiff.cos(x))
    got = cadiff.derivative(lambda x: double_sine(x * 1.0) * x, 0.4, order=3)
    wanted = 2.0 * (-0.4 * math.cos(0.4) - 3.0 * math.sin(0.4))
    assert got == pytest.approx(wanted, rel=1e-14)
    determinant = cadiff.derivative(lambda x: np.linalg.det(np.eye(3) * x), 2.0, order=2)
    assert determinant == pytest.approx(12.0, rel=1e-12)  # (x^3)''


# --- what is returned, and what is left behind ---------------------------------------------------


def test_results_have_the_form_of_what_f_returns() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x * np.ones(3))
        parts = {"a": [np.sin(x * A), x**3], "b": (x, 2.0), "c": np.zeros((0, 2)), "d": np.ones(2)}
        return {**parts, "e": [y, y[::-1], y.reshape(3, 1) * np.ones(2)]}

    got = cadiff.derivative(f, 0.5, order=2)
    np.testing.assert_allclose(got["a"][0], -(A**2) * np.sin(0.5 * A), rtol=1e-14)
    assert got["a"][1] == 3.0
    assert type(got["a"][1]) is float
    np.testing.assert_array_equal(got["b"], [0.0, 0.0])
    assert got["c"].shape == (0, 2)
    np.testing.assert_array_equal(got["d"], [0.0, 0.0])
    for part in got["e"]:  # one output many times over
        np.testing.assert_allclose(part, np.full_like(part, math.exp(0.5)), rtol=1e-15)
    got["a"][0][:] = 0.0  # it is the user's own


def test_an_exception_leaves_everything_as_it_was() -> None:
    def f(x: Any) -> Any:
        y = cnp.zeros(3)
        y[0] = np.exp(x)
        raise KeyError(y[0] * x)

    before = binding.tape_usage()["entries"]
    for _ in range(3):
        with pytest.raises(KeyError):
            cadiff.derivative(f, 1.0, order=3)
        with pytest.raises(TypeError, match="NoneType"):
            cadiff.derivative(lambda x: print(x, end=""), 1.0, order=3)
        with pytest.raises(TypeError, match="bool"):
            cadiff.derivative(lambda x: x > 0, 1.0, order=3)
    assert binding.tape_usage()["entries"] == before
    assert cadiff.derivative(lambda x: x**3, 1.0, order=3) == 6.0


@pytest.mark.parametrize("name", ["rows", "choices", "matrices", "assignment", "scattering"])
def test_without_memory_it_can_be_done_again(name: str) -> None:
    f = ARRAY_PROGRAMS[name]
    wanted = cadiff.derivative(f, 0.6, order=4)
    before = binding.tape_usage()["entries"]
    for successes in range(500):
        binding._core._fail_allocations_after(successes)
        try:
            got = cadiff.derivative(f, 0.6, order=4)
        except MemoryError:
            got = None
        finally:
            binding._core._fail_allocations_after(-1)
        assert binding.tape_usage()["entries"] == before
        if got is not None:
            break
    assert successes > 0
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(cadiff.derivative(f, 0.6, order=4), wanted)


def test_long_programs() -> None:
    """A recording of some 10^5 entries, whose derivatives are those of a geometric sum."""

    def f(x: Any) -> Any:
        total = x * 0.0
        for _ in range(20_000):
            total = total * x + 1.0
        return total  # sum of x^n, nearly 1 / (1 - x)

    assert cadiff.derivative(f, 0.25, order=6) == pytest.approx(720 / 0.75**7, rel=1e-13)
