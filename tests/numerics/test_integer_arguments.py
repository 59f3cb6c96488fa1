"""Sizes, shapes, axes and counts as integers of NumPy's, which have few bits, or no sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.programs import values_of

INTEGERS = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64]

X = np.linspace(0.5, 2.0, 300)

# Each is called with a type of integers, and with Python's; the results have to be the same.
CALLS: dict[str, Callable[[Any, Any, Callable[[int], Any]], Any]] = {
    "reshape": lambda np, x, k: np.reshape(x, (-1, k(100))),
    "method reshape": lambda np, x, k: x.reshape(k(100), -1),
    "shape larger than the type": lambda np, x, k: x.reshape(k(3), k(100)),
    "broadcast_to": lambda np, x, k: np.broadcast_to(x, (k(2), 300)),
    "diag": lambda np, x, k: np.diag(x, k(100))[100:],
    "diagonal": lambda np, x, k: np.diagonal(np.outer(x, x), k(100)),
    "diagflat": lambda np, x, k: np.diagflat(x[:4], k(1)),
    "tile": lambda np, x, k: np.tile(x, (k(2), 2)),
    "tile by one": lambda np, x, k: np.tile(x, k(100)),
    "repeat": lambda np, x, k: np.repeat(x, k(100)),
    "resize": lambda np, x, k: np.resize(x, (k(10), k(9))),
    "roll": lambda np, x, k: np.roll(x.reshape(30, 10), (k(100), k(1)), (k(0), k(1))),
    "tensordot": lambda np, x, k: np.tensordot(x.reshape(30, 10), x.reshape(10, 30), k(1)),
    "vander": lambda np, x, k: np.vander(x, k(100)),
    "linspace": lambda np, x, k: np.linspace(x[0], x[1], k(100)),
    "linspace of none": lambda np, x, k: np.linspace(x[0], x[1], k(0)),
    "matrix_power": lambda np, x, k: np.linalg.matrix_power(x[:4].reshape(2, 2), k(100)),
    "var": lambda np, x, k: np.var(x, ddof=k(2)),
    "std": lambda np, x, k: np.std(x.reshape(30, 10), axis=k(0), ddof=k(1)),
    "cov": lambda np, x, k: np.cov(x.reshape(1, 300), ddof=k(2)),
    "diff": lambda np, x, k: np.diff(x, k(3)),
    # From 0 of an unsigned type NumPy 2.5 takes 1 away for what is above.
    "tri": lambda np, x, k: np.tril(x.reshape(30, 10), k(0)) + np.triu(x.reshape(30, 10), k(1)),
    "sum": lambda np, x, k: np.sum(x.reshape(3, 10, 10), (k(0), k(2))),
    "moveaxis": lambda np, x, k: np.moveaxis(x.reshape(3, 10, 10), k(0), k(2)),
    "polynomials": lambda np, x, k: np.polyint(np.polyder(x[:9], k(2)), k(2)),
    "split": lambda np, x, k: np.split(x, [k(100), k(120)])[2],
    "take": lambda np, x, k: np.take(x[:70], [k(100), k(120)], mode="wrap"),
    "round": lambda np, x, k: np.round(x, k(3)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_sizes_of_every_type(call: Callable[..., Any]) -> None:
    expected = call(np, X, int)
    for integer in INTEGERS:
        of = lambda x, kind=integer: call(cnp, x, kind)  # noqa: E731
        for one in [cadiff.value(of(cadiff.Var(X))), *values_of(of, X)]:
            npt.assert_allclose(one, expected, rtol=1e-10)


def test_an_inverse_power_of_few_bits() -> None:
    """The size of -128 is no int8."""
    matrix = np.array([[1.1, 0.1], [0.0, 1.2]])
    power = lambda x, n: cnp.linalg.matrix_power(x, n)  # noqa: E731
    expected = np.linalg.matrix_power(matrix, -128)
    npt.assert_allclose(cadiff.value(power(cadiff.Var(matrix), np.int8(-128))), expected)


# What NumPy refuses, and does not truncate.
NO_INTEGERS: dict[str, Callable[[Any], Any]] = {
    "linspace": lambda x: cnp.linspace(x[0], x[1], 5.0),
    "tile": lambda x: cnp.tile(x, 2.0),
    "reshape": lambda x: cnp.reshape(x, (2.0, -1)),
    "take": lambda x: cnp.take(np.arange(4.0), cadiff.value(x)),
    "method take": lambda x: np.arange(4.0).take(cadiff.value(x)),
    "repeat": lambda x: np.repeat(np.arange(2.0), cadiff.value(x)),
    "put": lambda x: np.arange(4.0).put(np.floor(cadiff.value(x)), 1.0),
}


@pytest.mark.parametrize("name", NO_INTEGERS)
def test_floats_are_no_integers(name: str) -> None:
    call = NO_INTEGERS[name]
    for run in (call, cadiff.compile(call), lambda x: call(cadiff.Var(x))):
        with pytest.raises(TypeError):
            run(np.array([0.5, 1.0]))
