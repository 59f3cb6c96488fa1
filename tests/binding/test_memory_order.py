"""How numbers with derivatives stand in memory is not asked: orders, strides, `as_strided`.

What NumPy answers by memory is an error, and nothing reads beyond the elements.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import scipy.linalg
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import cadiff
import cadiff.numpy as np
import cadiff.scipy.linalg

X = numpy.arange(1.0, 7.0)
TABLE = X.reshape(2, 3)
Function = Callable[[Any], Any]


def ways(f: Function, x: Any) -> list[Callable[[], Any]]:
    """The value of f at x, eager and compiled, in all modes."""
    return [
        lambda: cadiff.value_and_grad(f)(x)[0],
        lambda: cadiff.jvp(f, (x,), (x,))[0],
        lambda: cadiff.compile(f)(x),
        lambda: cadiff.compile(cadiff.value_and_grad(f))(x)[0],
    ]


ASKED: dict[str, tuple[Function, str]] = {
    "circulant": (scipy.linalg.circulant, "write cadiff.scipy.linalg.circulant"),
    "toeplitz": (scipy.linalg.toeplitz, "write cadiff.scipy.linalg.toeplitz"),
    "hankel": (scipy.linalg.hankel, "write cadiff.scipy.linalg.hankel"),
    "as_strided": (lambda x: as_strided(x, (3, 2), (16, 8)), "as_strided(np.arange(x.size), ...)"),
    "before": (lambda x: as_strided(x[3:], (4, 4), (-8, 8)), "as_strided(np.arange(x.size), ...)"),
    "beyond": (lambda x: as_strided(x, (1 << 40,), (8,)), "as_strided(np.arange(x.size), ...)"),
    "of no shape": (as_strided, "as_strided(np.arange(x.size), ...)"),
    "of a table": (lambda x: as_strided(x.reshape(2, 3).T, (6,), (1 << 20,)), "as_strided(np"),
    "of a number": (
        lambda x: as_strided(x[0], (100,), (8,)),
        "as_strided(np.arange(x.size), ...)",
    ),
    "of a list": (lambda x: as_strided([x[0], x[1]], (6,), (8,)), "as_strided(np.arange(x.size)"),
    "strides": (lambda x: x * x.strides[0], "no strides: take cadiff.value(x).strides"),
    "strides of columns": (lambda x: x.reshape(2, 3).T.strides[0] * x, "no strides"),
    "interface": (lambda x: x * x.__array_interface__["strides"], "__array_interface__"),
    "data": (lambda x: x * x.data[0], "no data"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_asks_for_memory_is_an_error(name: str) -> None:
    f, message = ASKED[name]
    # A compiled function that asks for memory runs on its own arguments, which have some.
    for way in ways(lambda x: np.sum(f(x) ** 2), X)[:2]:
        with pytest.raises((TypeError, AttributeError), match=re.escape(message)):
            way()


@pytest.mark.parametrize("shape", [(1 << 40,), (3,)])
def test_no_strides_of_complex_numbers_or_constants(shape: Any) -> None:
    def f(z: Any) -> Any:
        constant = np.zeros(4)
        for numbers in (z, constant, constant[2:], np.real(z)):
            with pytest.raises(TypeError):
                as_strided(numbers, shape, (-8,))
        return np.sum(np.real(z))

    cadiff.grad(f)(X + 1j)
    cadiff.jvp(f, (X + 1j,), (X + 1j,))


def test_integers_of_a_recording_have_strides_of_their_own() -> None:
    program = cadiff.compile(lambda x, k: as_strided(k[2:], (3,), (-8,)) @ x)
    k = numpy.arange(5)
    assert [program(numpy.ones(3), k + i) for i in range(3)] == [3.0, 6.0, 9.0]


def test_views_that_ask_for_no_memory() -> None:
    weights = numpy.arange(12.0).reshape(4, 3)
    views: list[Function] = [
        lambda x: sliding_window_view(x, 3) * weights,
        lambda x: np.broadcast_to(x[:3], (4, 3)) * weights,
        lambda x: cadiff.scipy.linalg.circulant(x[:4])[:, :3] * weights,
        lambda x: cadiff.scipy.linalg.toeplitz(x[:4], x[:3]) * weights,
        lambda x: cadiff.scipy.linalg.hankel(x[:4], x[3:]) * weights,
    ]
    for f in views:
        wanted = numpy.sum(f(X))
        for way in ways(lambda x, f=f: np.sum(f(x)), X):
            assert way() == wanted


# --- orders --------------------------------------------------------------------------------------

ORDERED: dict[str, Callable[[Any, str], Any]] = {
    "x.ravel": lambda x, order: x.ravel(order),
    "ravel": lambda x, order: np.ravel(x, order=order),
    "flatten": lambda x, order: x.flatten(order),
    "ravel of columns": lambda x, order: x.T.ravel(order),
    "ravel of a product": lambda x, order: (x.T * 2.0).ravel(order=order),
    "ravel of a copy": lambda x, order: x.copy(order).ravel(order),
    "reshape": lambda x, order: x.reshape(6, order="A" if order == "K" else order),
    "numpy.reshape": lambda x, order: np.reshape(x, 6, order="A" if order == "K" else order),
}


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("table", [TABLE, numpy.asfortranarray(TABLE)], ids=["C", "F"])
def test_orders(name: str, table: Any) -> None:
    for order in "CFAK":
        f = lambda x, order=order: ORDERED[name](x, order) @ X  # noqa: E731
        for number, made in ((f, table), (lambda x, f=f: np.real(f(x)), table + 0j)):
            wanted = number(made)
            for k, way in enumerate(ways(number, made)[: 2 if made.dtype == complex else None]):
                if order in "CF" or k == 2:  # where f itself tells
                    assert way() == wanted
                    continue
                with pytest.raises(TypeError, match="asks how an array stands in memory"):
                    way()


@pytest.mark.parametrize("order", ["A", "K"])
def test_orders_of_vectors(order: str) -> None:
    for shape in ((6,), (1, 6), (6, 1, 1)):
        f = lambda x, shape=shape: x.reshape(shape).ravel(order) @ X  # noqa: E731
        for way in ways(f, X):
            assert way() == X @ X
    with pytest.raises(ValueError, match="order must be one of"):
        cadiff.grad(lambda x: np.sum(x.ravel("B")))(TABLE)


COLUMNS: dict[str, Function] = {
    "product": lambda x: 2.0 * x.T,
    "of two": lambda x: x.T * x.T,
    "function": lambda x: numpy.exp(x.T),
    "swapped": lambda x: -numpy.swapaxes(x, 0, 1),
    "copy": lambda x: x.T.copy(),
    "with an array in order": lambda x: x.T * numpy.ones((3, 2)),
    "in order": lambda x: 2.0 * x,
}
ROWS: dict[str, Function] = {
    "ravel": lambda y: y.ravel(),
    "reshape": lambda y: y.reshape(-1),
    "function": lambda y: numpy.reshape(y, (1, -1))[0],
    "same shape": lambda y: y.reshape(y.shape)[0],
    "one axis more": lambda y: y.reshape((*y.shape, 1))[0, :, 0],
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("columns", COLUMNS)
def test_what_numpy_copies_is_no_view(columns: str, row: str) -> None:
    """NumPy has results in the order of operands, and copies such a table to have it in a row."""

    def f(x: Any) -> Any:
        y = COLUMNS[columns](x)
        ROWS[row](y)[1] = 50.0
        return y.sum()

    for value in ways(f, TABLE):
        assert value() == pytest.approx(f(TABLE), rel=1e-14)


IN_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "a function": lambda np, x: np.exp(x.T),
    "by a row": lambda np, x: x.T * np.arange(1.0, 38.0) + 1.0,
    "of three axes": lambda np, x: np.sin(np.transpose(x.reshape(37, 53, 19), (2, 0, 1))),
    "of sums": lambda np, x: np.cos(np.sum(np.transpose(x.reshape(37, 53, 19), (2, 0, 1)), 2)),
    "kept": lambda np, x: np.sum(np.sqrt(x.T**2), axis=0, keepdims=True),
    "of both": lambda np, x: x.T + np.exp(x).T,
    "copied": lambda np, x: np.exp(x.T).copy() * 2.0,
}


TOTALS: dict[str, Callable[[Any, Any], Any]] = {
    "of all": lambda np, x: np.sum(x),
    "of an axis": lambda np, x: np.sum(np.sum(x, 0) ** 2),
}


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("name", IN_ORDER)
def test_results_stand_as_those_of_numpy(name: str, total: str) -> None:
    """Sums go along memory: their last bits tell in which order it is."""

    def f(np: Any, x: Any) -> Any:
        return TOTALS[total](np, IN_ORDER[name](np, x))

    def g(x: Any) -> Any:
        return f(np, x)

    x = numpy.random.default_rng(3).standard_normal((37, 1007))
    value, eager = cadiff.value_and_grad(g)(x)
    assert value == f(numpy, x)
    gradient = cadiff.compile(g).grad(x)
    numpy.testing.assert_allclose(eager, gradient, rtol=1e-11, atol=1e-11)
    along = numpy.random.default_rng(4).standard_normal(x.shape)
    moved = f(numpy, x + 1e-7 * along) - f(numpy, x - 1e-7 * along)
    numpy.testing.assert_allclose(numpy.sum(gradient * along), moved / 2e-7, rtol=1e-5)


def test_views_of_results_are_those_of_numpy() -> None:
    """What NumPy copies is no view here: it is not written through."""

    def f(np: Any, x: Any) -> Any:
        y = np.exp(x.T)
        y.reshape(-1)[0] = 0.0
        y.T.reshape(-1)[1] = 0.0
        return y

    x = numpy.random.default_rng(3).standard_normal((3, 4))
    numpy.testing.assert_allclose(cadiff.compile(lambda x: f(np, x))(x), f(numpy, x), rtol=1e-15)
    changed = cadiff.grad(lambda x: np.sum(f(np, x)))(x)
    numpy.testing.assert_array_equal(changed == 0.0, f(numpy, x).T == 0.0)
