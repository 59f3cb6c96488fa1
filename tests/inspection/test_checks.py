"""check_grads and check_derivative: what is wrong is found and located, what is right passes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
from cadiff import binding

from ..helpers.functions import rosenbrock
from ..helpers.properties import examples
from ..helpers.table import ROWS, Domain, Row, rows, window

Function = Callable[..., Any]

INSIDE = {"R": 0.4, "[-1, 1]": 0.4, "[0, inf)": 0.7, "[1, inf)": 1.7, "[-1, inf)": 0.4, "int": 1.0}


def message(f: Callable[..., Any], args: Any, **kwargs: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        cadiff.check_grads(f, args, **kwargs)
    return str(caught.value)


def table(text: str) -> list[list[str]]:
    """The cells of the rows below the header."""
    lines = text.splitlines()
    assert re.split(r"\s{2,}", lines[1]) == [
        *("mode", "order", "argument", "output"),
        *("cadiff", "difference quotient", "difference"),
    ]
    rows = [line for line in lines[2:] if not line.startswith(("...", "tolerance"))]
    return [re.split(r"\s{2,}", row) for row in rows]


# --- what is right passes ------------------------------------------------------------------------


def inside(x: float, domain: Domain) -> float:
    """A number, moved into a domain if it lies outside."""
    low, high = window(domain, 1.0)
    return x if domain.low < x < domain.high else low + x * (high - low)


@pytest.mark.slow
@rows(ROWS)
def test_all_functions_of_the_table_pass(row: Row) -> None:
    name, f = row.name, getattr(cadiff, row.name)
    if name == "where":
        cadiff.check_grads(lambda x, y: cadiff.where(x > y, x * y, y), (0.5, 0.3), order=2)
    elif name == "clip":
        cadiff.check_grads(lambda x: f(x, -1.0, 1.0), (0.3,), order=2)
    else:
        low = 1.3 if "gamma" in name else 0.43
        orders = [1 for domain in row.domains if domain.is_whole]
        free = row.domains[len(orders) :]
        first = [inside(x, domain) for x, domain in zip((low, 0.61, 0.37), free, strict=False)]
        other = [inside(x, domain) for x, domain in zip((0.64, 0.48, 0.59), free, strict=False)]
        cadiff.check_grads(lambda *x: f(*orders, *x), first, order=2)
        cadiff.check_grads(lambda *x: f(*orders, *x), list(np.transpose([first, other])))


@pytest.mark.slow
@examples(40)
@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=6), st.integers(1, 3))
def test_right_derivatives_pass_at_random_points(point: list[float], order: int) -> None:
    def f(x: Any) -> Any:
        return [cadiff.sin(x[0] * x[-1]), cadiff.exp(x[0]) / (2.0 + cadiff.cos(x[-1])) + sum(x)]

    cadiff.check_grads(f, (point,), order=order)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e3, 1e8])
def test_the_tolerance_follows_the_size_of_values(scale: float) -> None:
    cadiff.check_grads(lambda x: scale * np.sum(np.sin(x) * x), (np.array([0.3, 2.0]),))
    cadiff.check_grads(lambda x: np.sum((x / scale) ** 2) * scale, (np.array([0.3, 2.0]) * scale,))
    cadiff.check_grads(lambda x: 1e9 * scale + cadiff.sin(x), (0.3,))  # drowned in rounding


@pytest.mark.parametrize(
    "f",
    [
        lambda x: cadiff.maximum(x, 0.0),
        lambda x: cadiff.relu(x),
        lambda x: abs(x) + x,
        lambda x: cadiff.where(x > 0, 3.0 * x, x),
    ],
)
@pytest.mark.parametrize("x", [0.0, 1e-7, -1e-7, 1e-6, 3e-6, -1e-5])
def test_at_and_near_a_kink_any_slope_in_between_will_do(f: Any, x: float) -> None:
    cadiff.check_grads(f, (x,))


def test_but_no_slope_outside() -> None:
    @cadiff.primitive
    def bent(x: Any) -> Any:
        return abs(x)

    bent.defpartials(lambda ans, x: 1.7 * np.ones_like(x))
    assert "1.7" in message(bent, (0.0,))


def test_noise_raises_the_tolerance() -> None:
    random = np.random.default_rng(3)

    def noisy(x: Any) -> Any:
        return cadiff.sin(x) + 1e-6 * random.standard_normal()

    with pytest.raises(AssertionError, match="another value"):
        cadiff.check_grads(noisy, (0.3,))

    def of_single_precision(x: Any) -> Any:
        plain = float(np.float32(np.sin(cadiff.value(x))))
        return cadiff.sin(x) - cadiff.stop_gradient(cadiff.sin(x)) + plain

    cadiff.check_grads(of_single_precision, (0.3,))
    cadiff.check_grads(of_single_precision, (2.1,))


def test_nan_agrees_with_nan_and_edges_are_taken_from_inside() -> None:
    cadiff.check_grads(lambda x: x * float("nan"), (1.0,))
    cadiff.check_grads(lambda x: cadiff.log(x), (-1.0,))
    cadiff.check_grads(lambda x: cadiff.arcsin(x) ** 2 * (1 - x) ** 2, (1.0,))
    cadiff.check_grads(lambda x: x[0] * np.sqrt(x[1]) ** 4, (np.array([2.0, 0.0]),))


def test_nothing_to_check() -> None:
    cadiff.check_grads(lambda: 3.0, ())
    cadiff.check_grads(lambda x: np.sum(x), (np.zeros((0, 2)),))
    cadiff.check_grads(lambda x: x[:0], (np.ones(3),), order=2)


CHECKED: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "scalar": (lambda x: cadiff.sin(x) * x, (0.7,)),
    "two": (lambda x, y: x**y, (1.3, 0.6)),
    "vector": (rosenbrock, (np.array([0.3, 0.4, 0.5]),)),
    "container": (lambda p: [p["a"] * p["b"][0], cadiff.exp(p["a"])], ({"a": 0.3, "b": [2.0]},)),
    "constant": (lambda x: 3.0, (0.5,)),
    "several outputs": (lambda x: {"u": x * x, "v": [x, 1 / x]}, (0.7,)),
}


@pytest.mark.parametrize(("f", "args"), CHECKED.values(), ids=CHECKED.keys())
@pytest.mark.parametrize("order", [1, 2, 3])
def test_check_grads_accepts_right_derivatives(
    f: Function, args: tuple[Any, ...], order: int
) -> None:
    cadiff.check_grads(f, args, order=order)
    cadiff.check_grads(f, list(args), order=order, modes=["fwd"])
    cadiff.check_grads(f, args, order=order, modes=("rev",))


# --- what is wrong is found ----------------------------------------------------------------------


def product(wrong_forward: float, wrong_reverse: float, where: int = 1) -> Any:
    """x * y summed, with a rule for y (or x) that is off by a factor."""

    @cadiff.primitive
    def times(x: Any, y: Any) -> Any:
        return x * y

    factors = [[1.0, 1.0], [1.0, 1.0]]
    factors[0][where], factors[1][where] = wrong_forward, wrong_reverse
    times.defjvp(
        lambda g, ans, x, y: factors[0][0] * g * y, lambda g, ans, x, y: factors[0][1] * g * x
    )
    times.defvjp(
        lambda ans, x, y: lambda g: factors[1][0] * g * y,
        lambda ans, x, y: lambda g: factors[1][1] * g * x,
    )
    return times


def product_of_elements(factor: float) -> Any:
    """A product whose partials are given, the second one times a factor; it broadcasts."""

    @cadiff.primitive
    def times(x: Any, y: Any) -> Any:
        return x * y

    times.defpartials(lambda ans, x, y: y, lambda ans, x, y: factor * x)
    return times


def test_the_argument_the_index_and_both_numbers_are_named() -> None:
    times = product(1.0, 1.5)

    def f(params: Any, x: Any) -> Any:
        return {"loss": np.sum(params["w"]) + times(x, params["w"][1, 2])}

    text = message(f, ({"w": np.arange(6.0).reshape(2, 3), "b": 1.0}, 3.0))
    assert text.splitlines()[0] == (
        "1 of 16 derivatives of order 1 disagree with central differences:"
    )
    ((mode, order, argument, output, found, quotient, off),) = table(text)
    assert (mode, order, argument, output) == ("rev", "1", "params['w'][1, 2]", "output['loss']")
    assert float(found) == pytest.approx(1.0 + 1.5 * 3.0)
    assert float(quotient) == pytest.approx(4.0, rel=1e-6)
    assert float(off) == pytest.approx(1.5, rel=1e-3)
    assert text.splitlines()[-1].startswith("tolerance: 1e-05 + 1e-05 * size")


@pytest.mark.parametrize(("forward", "reverse", "modes"), [(1.5, 1.0, "fwd"), (1.0, 0.5, "rev")])
def test_the_mode_is_named(forward: float, reverse: float, modes: str) -> None:
    times = product(forward, reverse, where=0)
    rows = table(message(lambda x, y: times(x, y) + y, (2.0, 3.0)))
    assert [row[:4] for row in rows] == [[modes, "1", "x", "output"]]


def test_names_without_a_signature() -> None:
    times = product(2.0, 2.0)
    rows = table(message(lambda *args: times(args[0][0], args[1]["k"]), ([3.0], {"k": 2.0})))
    assert {row[2] for row in rows} == {"args[1]['k']"}
    rows = table(message(np.vectorize(lambda x, y: times(x, y)), (3.0, 2.0)))
    assert {row[2] for row in rows} <= {"args[1]", "args[0]", "y", "kwargs"}


def test_the_output_is_named() -> None:
    times = product(0.0, 0.0)
    rows = table(message(lambda x: [x, times(2.0, x), x * x], (3.0,)))
    assert {row[3] for row in rows} == {"output[1]"}
    spread = product_of_elements(0.0)
    rows = table(message(lambda x: np.array([[1.0, 2.0]]) * spread(np.ones((2, 1)), x), (3.0,)))
    assert {row[3] for row in rows} <= {f"output[{i}, {j}]" for i in range(2) for j in range(2)}
    assert len(rows) == 8


def test_the_worst_come_first_and_at_most_ten() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**2) + np.sum(np.arange(1.0, 31.0) * (cadiff.value(x) - x))

    text = message(f, (np.ones(30),))
    rows = table(text)
    assert len(rows) == 10
    assert rows[0][2] == "x[29]"
    offs = [float(row[-1]) for row in rows]
    assert offs == sorted(offs, reverse=True)
    assert text.splitlines()[0].startswith("60 of 60 derivatives")
    assert "... and 50 more" in text


def test_an_error_of_second_order_only() -> None:
    @cadiff.primitive
    def square(x: Any) -> Any:
        return x * x

    square.defpartials(lambda ans, x: x + cadiff.stop_gradient(x))
    cadiff.check_grads(square, (3.0,))
    rows = table(message(square, (3.0,), order=2))
    assert {(row[0], row[1], row[2]) for row in rows} == {
        ("fwd of fwd", "2", "x"),
        ("rev of fwd", "2", "x"),
    }
    rows = table(message(square, (3.0,), order=2, modes=("rev",)))
    assert [row[0] for row in rows] == ["rev of rev"]
    assert float(rows[0][4]) == pytest.approx(1.0)
    assert float(rows[0][5]) == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize("place", [0, 1234, 4999])
def test_one_wrong_entry_among_thousands_of_inputs(place: int) -> None:
    times = product(1.3, 1.3)

    def f(x: Any) -> Any:
        return np.sum(x * np.linspace(0.5, 1.0, 5000)) + times(2.0, x[place])

    text = message(f, (np.ones(5000),))
    assert {row[2] for row in table(text)} == {f"x[{place}]"}
    assert re.match(r"2 of \d+ derivatives of order 1 looked at, of 10000 in all,", text)


@pytest.mark.parametrize("place", [0, 2718])
def test_one_wrong_entry_among_thousands_of_outputs(place: int) -> None:
    times = product(1.0, 1.3)

    def f(x: Any) -> Any:
        y = cadiff.numpy.zeros(3000)
        y[:] = x * np.linspace(0.5, 1.0, 3000)
        y[place] = times(2.0, x)
        return y

    assert [row[:4] for row in table(message(f, (1.0,)))] == [
        ["rev", "1", "x", f"output[{place}]"]
    ]


def test_modes_are_compared_with_each_other_more_strictly() -> None:
    times = product(1.0, 1.0 + 1e-6)
    assert "forward and reverse mode disagree at order 1" in message(times, (2.0, 3.0))
    cadiff.check_grads(times, (2.0, 3.0), modes=("fwd",))
    cadiff.check_grads(times, (2.0, 3.0), modes=("rev",))


def test_another_value_for_numbers_with_derivatives() -> None:
    def f(x: Any) -> Any:
        return [x, 2.0 * x if isinstance(x, float) else 2.0 * x + 0.25]

    text = message(f, (1.0,))
    assert "f returns another value where numbers carry derivatives (fwd)" in text
    assert "output[1] is 2.25, and 2 for plain numbers" in text
    assert "(rev)" in message(f, (1.0,), modes=("rev",))
    assert "f returns 2 numbers" in message(
        lambda x: [x] if isinstance(x, float) else [x, x], (1.0,)
    )


def test_nan_and_inf_do_not_hide_the_rest() -> None:
    def f(x: Any) -> Any:
        return [x[0] * float("nan"), x[1] * 2.0, x[2] + cadiff.stop_gradient(x[2])]

    rows = table(message(f, ([1.0, 2.0, 3.0],)))
    assert {(row[2], row[3]) for row in rows} == {("x[2]", "output[2]")}
    rows = table(message(lambda x: cadiff.sqrt(x), (0.0,)))
    assert {row[4] for row in rows} == {"inf"}


def test_what_f_raises_passes_through() -> None:
    class OddError(Exception):
        pass

    def f(x: Any) -> Any:
        if not isinstance(x, float):
            raise OddError
        return x

    before = binding.tape_usage()["recordings"]
    with pytest.raises(OddError):
        cadiff.check_grads(f, (1.0,))
    assert binding.tape_usage()["recordings"] == before


def test_arguments_are_left_alone() -> None:
    x = np.array([1.0, 2.0])
    args = ({"w": x}, [3.0])
    cadiff.check_grads(lambda p, y: np.sum(p["w"]) * y[0], args)
    assert args == ({"w": x}, [3.0])
    np.testing.assert_array_equal(x, [1.0, 2.0])


@pytest.mark.parametrize("x", [np.array([True]), np.array(["a"]), np.array([1.0, None])])
def test_arguments_that_are_no_real_numbers(x: Any) -> None:
    with pytest.raises(TypeError, match="argument 0 is no real number"):
        cadiff.check_grads(lambda x: 2.0, (x,))


@pytest.mark.parametrize("name", ["atol", "rtol", "eps"])
@pytest.mark.parametrize("number", [-1e-5, np.nan, "a"])
def test_tolerances_and_steps_that_are_none(name: str, number: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is a number, at least 0"):
        cadiff.check_grads(cadiff.sin, (1.0,), **{name: number})


def test_check_grads_uses_the_tolerances_it_is_given() -> None:
    def slightly_wrong(x: Any) -> Any:
        return x + 1e-3 * cadiff.stop_gradient(x)

    with pytest.raises(AssertionError):
        cadiff.check_grads(slightly_wrong, (0.7,))
    cadiff.check_grads(slightly_wrong, (0.7,), atol=1e-2)
    cadiff.check_grads(slightly_wrong, (0.7,), rtol=1e-2)
    with pytest.raises(AssertionError):
        cadiff.check_grads(lambda x: cadiff.exp(x), (0.7,), eps=2.0)


# --- check_derivative ----------------------------------------------------------------------------


def test_check_derivative_tells_right_from_wrong() -> None:
    def f(x: Any, y: Any) -> Any:
        return x**2 * y

    args: Any = np.array([3.0, 2.0])
    assert cadiff.check_derivative(f, 0, args, 12.0) is True
    assert cadiff.check_derivative(f, 1, args, 9.0) is True
    assert cadiff.check_derivative(f, -1, args, 9.0) is True
    assert cadiff.check_derivative(f, 0, args, 12.001) is False
    assert cadiff.check_derivative(f, 0, args, -12.0) is False
    assert cadiff.check_derivative(f, 0, args, math.nan) is False
    assert cadiff.check_derivative(f, 0, args, 12.001, rtol=1e-3) is True
    assert cadiff.check_derivative(f, 0, args, 12.1, rtol=0.0, atol=0.2) is True
    assert cadiff.check_derivative(f, 0, args, 13.0, h=0.5) is True
    np.testing.assert_array_equal(args, [3.0, 2.0])
    point = [3.0, 2.0]
    assert cadiff.check_derivative(f, 0, point, cadiff.derivative(f, 0, point))
    assert point == [3.0, 2.0]


@pytest.mark.parametrize(
    "point", [[3], (np.int32(3),), np.array([3]), np.array([3.0], np.float32)]
)
def test_check_derivative_takes_ints_and_float32(point: Any) -> None:
    assert cadiff.check_derivative(lambda x: x * x, 0, point, 6.0) is True
    assert cadiff.check_derivative(lambda x: x * x, 0, point, 5.0) is False
