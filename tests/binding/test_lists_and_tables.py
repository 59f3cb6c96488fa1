"""Operators with lists, tuples and tables, which stand for arrays; the arrays that `cadiff.numpy`
makes of plain numbers; modules under the names that programs import.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np
from cadiff import Dual, Var

OPERATORS = [operator.add, operator.sub, operator.truediv, operator.pow, operator.mod]
COMPARISONS = [operator.lt, operator.ge, operator.eq, operator.ne]
LISTS: list[Any] = [[1.0, 2.5], (3, 2.0), [[1.0], [2.0]], []]

X = numpy.array([1.5, 2.0])


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("listed", LISTS, ids=str)
def test_a_number_is_computed_with_a_list_as_by_numpy(op: Any, listed: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(op(x[0], listed)) + np.sum(op(listed, x[1]))

    assert cadiff.value_and_grad(f)(X)[0] == f(X)
    numpy.testing.assert_allclose(cadiff.grad(f)(X), cadiff.jacfwd(f)(X), rtol=1e-14)
    assert cadiff.compile(f)(X) == f(X)


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("make", [Var, Dual])
def test_a_number_is_compared_with_a_list_as_by_numpy(op: Any, make: Any) -> None:
    for listed in LISTS:
        numpy.testing.assert_array_equal(op(make(2.5), listed), op(numpy.float64(2.5), listed))


def test_lists_hold_numbers_with_derivatives() -> None:
    def f(x: Any) -> Any:
        return np.sum(x[0] - [x[1], 1.0]) + np.sum([[x[0]], [x[1]]] * x) + np.sum((x[1], 2.0) / x)

    expected = [(f(X + step) - f(X - step)) / 2e-6 for step in 1e-6 * numpy.eye(2)]
    for derivative in (cadiff.grad, cadiff.jacfwd):
        numpy.testing.assert_allclose(derivative(f)(X), expected, rtol=1e-8)


class Table:
    """As little as pandas' tables have in common with others."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numpy.array(numbers)

    def to_numpy(self) -> Any:
        return self.numbers


def series(numbers: Any) -> Any:
    return pytest.importorskip("pandas").Series(numbers)


@pytest.mark.parametrize("make", [Table, series])
def test_tables_are_operands_and_arguments(make: Callable[[Any], Any]) -> None:
    table = make([3.0, 4.0])

    def f(x: Any) -> Any:
        y = 1.0 * x
        y += table
        y[:] = y * table
        return np.sum(table * y) + np.sum(table - x[0]) + np.sum(np.where(table > x, x, 0.0))

    for derivative in (cadiff.grad, cadiff.jacfwd):
        numpy.testing.assert_array_equal(derivative(f)(X), [9.0 - 2.0 + 1.0, 16.0 + 1.0])
    numpy.testing.assert_array_equal(cadiff.grad(lambda x: np.sum(x * x))(table), [6.0, 8.0])


@pytest.mark.parametrize("make", [Table, series, lambda x: Table(numpy.array(x, object))])
def test_texts_in_tables_are_no_numbers(make: Callable[[Any], Any]) -> None:
    table = make(["1.0", "2.0"])
    for f in (lambda x: table * x, lambda x: x * table, lambda x: np.where(x > 0.5, x, table)):
        with pytest.raises(TypeError, match="no number"):
            cadiff.grad(lambda x: np.sum(f(x)))(1.0)  # noqa: B023


class Column(Table):
    """As pandas makes one of numbers that carry derivatives: `covariance @ w`."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numbers


@pytest.mark.parametrize("product", [np.dot, np.matmul, numpy.dot, lambda x, y: x @ y])
def test_tables_of_numbers_are_multiplied(product: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        return product(x, Column([x[0] + 3.0 * x[1], 3.0 * x[0] + x[1]]))

    expected = [2.0 * X[0] + 6.0 * X[1], 6.0 * X[0] + 2.0 * X[1]]
    for derivative in (cadiff.grad, cadiff.jacfwd, lambda f: cadiff.compile(f).grad):
        numpy.testing.assert_allclose(derivative(f)(X), expected, rtol=1e-14)


def test_a_missing_rule_is_also_something_not_implemented() -> None:
    assert issubclass(cadiff.MissingRuleError, TypeError)
    for call in (numpy.spacing, np.spacing):
        with pytest.raises(NotImplementedError):
            call(Var([1.0, 2.0]))


def test_modules_are_imported_as_in_numpy_and_in_autograd() -> None:
    assert importlib.import_module("cadiff.numpy.random").default_rng is numpy.random.default_rng
    pytest.importorskip("scipy")
    stats = importlib.import_module("cadiff.scipy.stats")
    assert importlib.import_module("cadiff.scipy.stats.norm") is stats.norm
