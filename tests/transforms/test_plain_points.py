"""Products at plain points, which have ways of their own through C, beside the general ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as np

from ..helpers.programs import frames_of

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "product": lambda x: x * x * 3.0,
    "itself": lambda x: x,
    "no axes": lambda x: np.sum(x) + np.zeros(()),
    "constant": lambda x: 2.0,
    "constant array": lambda x: numpy.ones(2),
    "sum": lambda x: np.sum(x * x),
    "transposed": lambda x: (x + 1.0).T,
    "single": lambda x: np.asarray(x * 2.0, numpy.float32),
    "pair": lambda x: (np.sum(x), {"b": x * 2.0}),
    "list": lambda x: [np.sum(x), 3.0],
    "complex": lambda x: x * 1j,
    "nan": lambda x: np.sqrt(x - 10.0),
    "written": lambda x: written(x * 1.0),
    "element": lambda x: np.ravel(x * 5.0)[-1] if np.size(x) else 0.0,
}

POINTS: dict[str, Any] = {
    "float": 1.5,
    "vector": numpy.array([0.5, -2.0, 3.0]),
    "matrix": numpy.arange(6.0).reshape(2, 3),
    "by columns": numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)),
    "every second": numpy.arange(6.0)[::2],
    "big-endian": numpy.arange(3.0).astype(">f8"),
    "float32": numpy.arange(3, dtype=numpy.float32),
    "empty": numpy.zeros((0, 2)),
    "no axes": numpy.array(2.5),
    "number of NumPy's": numpy.float64(2.5),
    "whole": 3,
}


def written(y: Any) -> Any:
    if np.ndim(y) and np.size(y):
        y[0] = 0.0
    return y


def outcome(function: Callable[[], Any]) -> Any:
    """What is returned, or the error."""
    with numpy.errstate(all="ignore"):
        try:
            return function()
        except (TypeError, ValueError) as error:
            return type(error), str(error)


def assert_same(found: Any, expected: Any) -> None:
    """The same types, dtypes, shapes and bits, in the same containers."""
    assert type(found) is type(expected)
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            assert_same(*pair)
    elif isinstance(expected, dict):
        assert_same(list(found.items()), list(expected.items()))
    elif isinstance(expected, numpy.ndarray):
        assert found.dtype == expected.dtype
        npt.assert_array_equal(found, expected, strict=True)
    else:
        assert found == expected or (found != found and expected != expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_products_at_plain_points_are_those_of_the_general_ways(function: str, point: str) -> None:
    f, x = FUNCTIONS[function], POINTS[point]
    v = x * 0 + type(x)(1) if not isinstance(x, numpy.ndarray) else numpy.ones_like(x)
    in_general = outcome(lambda: cadiff.jvp(f, [x], [v]))
    assert_same(outcome(lambda: cadiff.jvp(f, (x,), (v,))), in_general)
    if numpy.ndim(x) == 0 and function != "complex":
        tangent = outcome(lambda: cadiff.derivative(f, 0, (x,)))
        assert_same(outcome(lambda: cadiff.derivative(f, x)), tangent)

    def with_aux(x: Any) -> Any:
        return f(x), None

    direct = outcome(lambda: cadiff.vjp(f, x))
    in_general = outcome(lambda: cadiff.vjp(with_aux, x, has_aux=True)[:2])
    if isinstance(in_general[0], type):
        assert direct == in_general
        return
    assert_same(direct[0], in_general[0])
    for _ in range(2):
        pulled = outcome(lambda: direct[1](direct[0]))
        assert_same(pulled, outcome(lambda: in_general[1](in_general[0])))


def test_what_f_keeps_may_be_written_to() -> None:
    kept = []

    def f(x: Any) -> Any:
        kept.append(x * x)
        return kept[-1]

    x = numpy.array([1.0, 2.0])
    value, pullback = cadiff.vjp(f, x)
    kept[0][0] = 7.0
    value[1] = 9.0
    npt.assert_array_equal(pullback(numpy.ones(2)), [2.0, 4.0])
    value, _ = cadiff.jvp(f, (x,), (x,))
    value[0] = 5.0
    npt.assert_array_equal(cadiff.value(kept[1]), [1.0, 4.0])
    npt.assert_array_equal(x, [1.0, 2.0])

    def of_no_axes(x: Any) -> Any:
        kept.append(np.zeros(()))
        kept[-1][()] = x * 3.0
        return kept[-1]

    value, pullback = cadiff.vjp(of_no_axes, 1.0)
    kept[-1][()] = 5.0
    assert (value, pullback(1.0)) == (3.0, 3.0)


def test_a_pullback_at_a_plain_point_can_be_differentiated_by_its_cotangent() -> None:
    _, pullback = cadiff.vjp(lambda x: x**3, 2.0)
    assert cadiff.grad(lambda g: pullback(g) * g)(5.0) == 120.0
    assert pullback(1.0) == 12.0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_jacobians_at_plain_points_are_those_of_the_general_ways(
    function: str, point: str, compiles: bool
) -> None:
    f, x = FUNCTIONS[function], POINTS[point]
    f = cadiff.compile(f) if compiles else f

    def with_another(x: Any, other: None) -> Any:
        return f(x)

    in_general = outcome(lambda: cadiff.jacfwd(with_another)(x, None))
    for _ in range(3):  # a program has a fast path, in the end
        assert_same(outcome(lambda: cadiff.jacfwd(f)(x)), in_general)
    if numpy.ndim(x) == 0 and function != "complex":
        tangent = outcome(lambda: cadiff.derivative(with_another, 0, (x, None)))
        assert_same(outcome(lambda: cadiff.derivative(f, x)), tangent)


def test_programs_have_columns_and_derivatives_of_their_own() -> None:
    program = cadiff.compile(lambda x: np.sin(x) * x)
    x = numpy.array([0.5, 2.0])
    for call in (
        lambda: cadiff.jacfwd(program)(x),
        lambda: cadiff.jacobian(program, mode="fwd")(x),
        lambda: cadiff.derivative(program, 0.5),
    ):
        call()
        frames = {frame.rpartition(":")[2] for frame in frames_of(call)}
        assert not {"within", "run_forward"} & frames


def test_an_error_in_f_ends_the_differentiation() -> None:
    def f(x: Any) -> Any:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        cadiff.jvp(f, (1.0,), (1.0,))
    with pytest.raises(ArithmeticError):
        cadiff.derivative(f, 1.0)
    with pytest.raises(ArithmeticError):
        cadiff.vjp(f, 1.0)
    assert not cadiff.binding.is_differentiating()
    outer = cadiff.jvp(lambda x: cadiff.derivative(lambda y: x * y, 2.0), (3.0,), (1.0,))
    assert outer == (3.0, 1.0)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_by_single_numbers_are_single(order: int) -> None:
    x = numpy.float32(0.7)
    for f in (np.sin, lambda x: x * x * x, lambda x: 3.0, cadiff.compile(np.cos)):
        assert type(cadiff.derivative(f, x, order=order)) is numpy.float32
        assert type(cadiff.derivative(f, 0, (x,), order=order)) is numpy.float32
    assert cadiff.derivative(lambda x: np.stack([x, x]), x, order=order).dtype == numpy.float32
    assert type(cadiff.derivative(np.sin, 0.7, order=order)) is float
