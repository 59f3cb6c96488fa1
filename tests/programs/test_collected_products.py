"""Sums of products of matrices, as one product of longer operands, and products with one operand
in common: numbers are those of the eager derivatives.

Products of fewer than 64 terms are written out in single numbers: those here have more."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as np

from ..helpers.processes import HAS_SMALL_BLOCKS, in_whole_tiles
from ..helpers.properties import examples

Function = Callable[..., Any]


def lstm(steps: int, cells: int, inputs: int) -> tuple[Function, tuple[Any, ...]]:
    """A loop over steps, by its weights; and weights."""
    draw = numpy.random.default_rng(3)
    data = draw.standard_normal((steps, inputs))

    def f(by_input: Any, by_state: Any, bias: Any) -> Any:
        h = c = numpy.zeros(cells)
        for x in data:
            z = x @ by_input + h @ by_state + bias
            i, g, o = (1.0 / (1.0 + np.exp(-z[k * cells : (k + 1) * cells])) for k in range(3))
            c = g * c + i * np.tanh(z[3 * cells :])
            h = o * np.tanh(c)
        return np.sum(h * h)

    shapes = [(inputs, 4 * cells), (cells, 4 * cells), (4 * cells,)]
    return f, tuple(0.4 * draw.standard_normal(shape) for shape in shapes)


def network(steps: int, cells: int, inputs: int) -> tuple[Function, tuple[Any, ...]]:
    """A recurrent network over batches, with a readout at each step, by weights and data."""
    draw = numpy.random.default_rng(4)

    def f(u: Any, w: Any, v: Any, data: Any) -> Any:
        h = numpy.zeros((2, cells))
        total = 0.0
        for t in range(steps):
            h = np.tanh(data[t] @ u + h @ w)
            total = total + np.sum(np.square(h @ v))
        return total

    shapes = [(inputs, cells), (cells, cells), (cells, 6), (steps, 2, inputs)]
    return f, tuple(0.5 * draw.standard_normal(shape) for shape in shapes)


def rows(steps: int, cells: int, inputs: int) -> tuple[Function, tuple[Any, ...]]:
    """A logistic regression row by row."""
    draw = numpy.random.default_rng(5)
    inputs = 70
    data = draw.standard_normal((steps, inputs)) / 4.0

    def f(w: Any) -> Any:
        return sum(np.log1p(np.exp(data[t] @ w)) for t in range(steps))

    return f, (draw.standard_normal(inputs),)


def slices(steps: int, cells: int, inputs: int) -> tuple[Function, tuple[Any, ...]]:
    """Products that go to parts of the weights, and to all of them."""
    draw = numpy.random.default_rng(6)

    def f(w: Any, x: Any) -> Any:
        h = x
        for t in range(steps):
            left, right = np.sin(h @ w[:, :cells]), np.cos(h @ w[:, cells:])
            h = (left * right) @ (w @ w.T)[t % cells :][:1].T * 0.1 + x
        return np.sum(h)

    return f, (0.3 * draw.standard_normal((inputs, 2 * cells)), draw.standard_normal((3, inputs)))


FUNCTIONS = [lstm, network, rows, slices]


def flat(f: Function, arguments: tuple[Any, ...]) -> tuple[Function, Any]:
    """The same of all numbers of its arguments in one array."""
    ends = numpy.cumsum([x.size for x in arguments])

    def of_flat(x: Any) -> Any:
        parts = [
            x[end - a.size : end].reshape(a.shape) for a, end in zip(arguments, ends, strict=True)
        ]
        return f(*parts)

    return of_flat, numpy.concatenate([x.ravel() for x in arguments])


def check(
    f: Function, arguments: tuple[Any, ...], rtol: float, atol: float = 0.0, **options: Any
) -> Any:
    """Value and gradients are the eager ones."""
    which = tuple(range(len(arguments)))
    program: Any = cadiff.compile(f, **options)
    value, gradients = program.value_and_grad(*arguments, argnums=which)
    expected, eager = cadiff.value_and_grad(f, which)(*arguments)
    npt.assert_allclose(value, expected, rtol=1e-14)
    for mine, other in zip(gradients, eager, strict=True):
        npt.assert_allclose(mine, other, rtol=rtol, atol=atol)
    return program


@pytest.mark.parametrize("make", FUNCTIONS)
def test_gradients_are_the_eager_ones(make: Function) -> None:
    for steps in (1, 2, 7):
        check(*make(steps, 6, 6), 1e-12, 1e-13)
    check(*make(5, 6, 6), 0.0, optimize=False)  # they add in order


@pytest.mark.parametrize("make", FUNCTIONS)
def test_second_derivatives_are_the_eager_ones(make: Function) -> None:
    g, x = flat(*make(6, 6, 6))
    v = numpy.cos(numpy.arange(x.size))
    found, gradient = cadiff.compile(g).hvp(x, v), cadiff.grad(g)
    npt.assert_allclose(found, cadiff.hvp(g)(x, v), rtol=1e-11, atol=1e-12)
    differences = (gradient(x + 1e-6 * v) - gradient(x - 1e-6 * v)) / 2e-6
    npt.assert_allclose(found, differences, rtol=1e-5, atol=1e-7)

    g, x = flat(*make(3, 6, 6))
    program, hessian = cadiff.compile(g), cadiff.hessian(g)(x)
    slope = cadiff.compile(cadiff.grad(g))
    for matrix in (program.hessian(x), slope.jacobian(x), program.sparse_hessian(x).toarray()):
        npt.assert_allclose(matrix, hessian, rtol=1e-11, atol=1e-12)

    def along_ones(x: Any) -> Any:
        return np.sum(cadiff.hvp(g)(x, np.ones(x.size)) ** 2)

    third = cadiff.compile(along_ones).grad(x)
    npt.assert_allclose(third, cadiff.grad(along_ones)(x), rtol=1e-10, atol=1e-11)


def products(program: Any) -> list[str]:
    """The shapes of products in the listing of a program."""
    return re.findall(r"matmul +(\([^)]*\))", program.to_text(100_000))


@in_whole_tiles
def test_outer_products_become_one() -> None:
    f, arguments = lstm(20, 6, 5)
    shapes = products(check(f, arguments, 1e-12, 1e-13))
    assert shapes.count("(5, 20, 24)") == 1  # the gradient by what inputs are multiplied by
    assert shapes.count("(6, 20, 24)") == 1
    assert not [shape for shape in shapes if shape.endswith(", 1, 24)")]


def test_rows_of_one_array_are_one_product() -> None:
    w, x = numpy.ones((30, 40)), numpy.linspace(0.0, 1.0, 360).reshape(12, 30)
    check(lambda w, x: sum(np.sum(np.sin(row @ w)) for row in x), (w, x), 1e-12)


def test_what_would_cost_more_is_left() -> None:
    w, x = numpy.ones((2, 2)), numpy.linspace(0.0, 1.0, 400).reshape(200, 2)
    check(lambda w, x: np.sum(np.sin(x @ w)) + np.sum(np.cos((x * x) @ w)), (w, x), 1e-12)


@pytest.mark.parametrize("special", [numpy.inf, -numpy.inf, numpy.nan])
def test_what_is_not_finite_arrives(special: float) -> None:
    data = numpy.linspace(-1.0, 1.0, 24).reshape(6, 4)
    data[2, 1] = special

    def f(w: Any) -> Any:
        return sum(np.sum(row @ w) for row in data)

    w = numpy.ones((4, 3))
    npt.assert_array_equal(cadiff.compile(f).grad(w), cadiff.grad(f)(w))


@hypothesis.given(
    steps=st.lists(
        st.tuples(st.sampled_from("rcxtv"), st.integers(0, 2), st.integers(0, 3)),
        min_size=1,
        max_size=9,
    )
)
@examples(67)
def test_loops_at_random(steps: list[tuple[str, int, int]]) -> None:
    """Products with weights, their transposes, rows and columns, in any order."""
    data = numpy.cos(numpy.arange(324.0)).reshape(4, 9, 9)

    def f(w: Any) -> Any:
        h = data[0]
        total = 0.0
        for what, k, j in steps:
            if what == "r":  # a state that is handed on
                h = np.tanh(h @ w)
            elif what == "c":
                h = np.sin(w @ h) + data[j]
            elif what == "x":  # data that are known beforehand
                total = total + np.sum(np.square(data[j] @ w))
            elif what == "t":
                total = total + np.sum(np.sin(h @ w.T)[k])
            else:  # a vector
                total = total + np.sum(np.cos(data[j][k] @ w) * (h[k] @ w[::-1]))
        return total + np.sum(h)

    w = numpy.sin(numpy.arange(1.0, 82.0)).reshape(9, 9) / 2.0
    program = cadiff.compile(f)
    npt.assert_allclose(program.grad(w), cadiff.grad(f)(w), rtol=1e-10, atol=1e-11)
    npt.assert_allclose(program.hessian(w), cadiff.hessian(f)(w), rtol=1e-9, atol=1e-10)
    v = data[1]
    npt.assert_allclose(
        program.jvp((w,), (v,))[1], cadiff.jvp(f, (w,), (v,))[1], rtol=1e-9, atol=1e-10
    )


# --- with one operand in common ------------------------------------------------------------------

WEIGHTS = numpy.random.default_rng(7).standard_normal((12, 9)) / 3.0
DATA = numpy.random.default_rng(8).standard_normal((6, 12))


def nested(w: Any, x: Any) -> Any:
    """Some products wait for others."""
    h = x[0, :9]
    found = []
    for row in x:
        h = np.tanh(row @ w + np.sin(h @ w[:9]))
        found.append(h)
    return found


COMMON: dict[str, tuple[Function, str]] = {
    "rows": (lambda w, x: [np.sin(row @ w) for row in x], "(6, 12, 9)"),
    "vectors": (lambda w, x: [np.sin(w.T @ row) for row in x], "(6, 12, 9)"),
    "backwards": (lambda w, x: [np.sin(row[::-1] @ w) for row in x], "(6, 12, 9)"),
    "pairs": (lambda w, x: [np.exp(x[k : k + 2, 1:10] @ w[:9]) for k in range(5)], "(10, 9, 9)"),
    "computed": (lambda w, x: [w @ np.cos(row[:9]) for row in x], "(6, 9, 12)"),
    "columns": (lambda w, x: [x.T @ w[6:, k] for k in range(9)], "(9, 6, 12)"),
    "nested": (nested, "(6, 12, 9)"),
    "data": (lambda w, x: [np.sin(row @ w) * x[0, 0] for row in DATA], "(6, 12, 9)"),
}


@pytest.mark.parametrize("name", COMMON)
def test_products_by_one_matrix_are_one(name: str) -> None:
    f, shape = COMMON[name]
    program = cadiff.compile(f)
    for a, b in zip(program(WEIGHTS, DATA), f(WEIGHTS, DATA), strict=True):
        npt.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
    assert HAS_SMALL_BLOCKS or shape in products(program)  # else each tile has its own

    def total(w: Any, x: Any) -> Any:
        return sum(np.sum(np.square(part)) for part in f(w, x))

    compiled, v = check(total, (WEIGHTS, DATA), 1e-11, 1e-12), numpy.cos(WEIGHTS)
    expected = cadiff.hvp(total)(WEIGHTS, v, DATA)
    npt.assert_allclose(compiled.hvp(WEIGHTS, v, DATA), expected, rtol=1e-10, atol=1e-11)


@in_whole_tiles
def test_products_that_come_early_take_bounded_room() -> None:
    def f(w: Any, x: Any) -> Any:
        h = numpy.zeros(9)
        for row in x:
            h = np.tanh(row @ w + h)
        return h

    program = cadiff.compile(f)
    x = numpy.tile(DATA, (100, 1))
    npt.assert_allclose(program(WEIGHTS, x), f(WEIGHTS, x), rtol=1e-12)
    shapes = products(program)
    assert shapes.count("(64, 12, 9)") == 9
    assert shapes.count("(24, 12, 9)") == 1
    exact = cadiff.compile(f, optimize=False)
    npt.assert_array_equal(exact(WEIGHTS, x), f(WEIGHTS, x))
    assert "(64, 12, 9)" not in products(exact)
