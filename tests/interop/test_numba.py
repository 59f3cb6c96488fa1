"""Functions that numba compiled, given numbers with derivatives."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cadiff

numba = pytest.importorskip("numba")


@numba.njit
def squared(x: Any, scale: float = 2.0) -> Any:
    return x * x * scale


@numba.njit
def total(x: Any, scale: float = 2.0) -> Any:
    result = 0.0
    for k in range(len(x)):
        result += squared(x[k], scale)
    return result


@numba.njit
def product(x: Any, *others: Any) -> Any:
    for y in others:
        x = x * y
    return x


x = np.array([1.0, -2.0])


def test_they_run_as_python_where_an_argument_carries_a_derivative() -> None:
    assert cadiff.grad(total)(x).tolist() == [4.0, -8.0]
    assert cadiff.hessian(total)(x).tolist() == [[4.0, 0.0], [0.0, 4.0]]
    assert cadiff.jvp(total, (x,), (x,)) == (10.0, 20.0)
    assert cadiff.grad(lambda s: total(x, scale=s))(3.0) == 5.0
    assert cadiff.grad(lambda x: product(x, 2.0, 3.0 * x))(2.0) == 24.0
    assert cadiff.grad(product)(2.0) == 1.0


def test_plain_numbers_are_for_machine_code() -> None:
    assert total(x) == 10.0
    assert total.signatures
    with pytest.raises(numba.TypingError):
        total(object())


def test_programs_say_what_to_write() -> None:
    program = cadiff.compile(lambda x: total(x) + x[0])
    with pytest.warns(RuntimeWarning, match=r"numba compiled: write .*total\.py_func"):
        assert [program.grad(k * x).tolist() for k in (1, 2)] == [[5.0, -8.0], [9.0, -16.0]]
    program = cadiff.compile(squared.py_func)
    assert [program.grad(k) for k in (1.0, 2.0)] == [4.0, 8.0]
    assert program.stats()["recordings"] == 1


def test_one_with_a_signature_says_what_to_write() -> None:
    @numba.njit("f8(f8)")
    def typed(x: Any) -> Any:
        return x * x

    with pytest.raises(TypeError, match=r"write typed\.py_func.*cadiff\.primitive"):
        cadiff.grad(typed)(2.0)
    with pytest.raises(TypeError, match="No matching definition"):
        typed("2")
    assert cadiff.grad(typed.py_func)(2.0) == 4.0


def test_exceptions_nans_and_threads_are_those_of_python() -> None:
    @numba.njit
    def root(x: Any) -> Any:
        if x < 0.0:
            raise ValueError("negative")
        return np.sqrt(x)

    with pytest.raises(ValueError, match="negative"):
        cadiff.grad(root)(-1.0)
    assert np.isnan(cadiff.grad(root)(np.nan))
    points = np.linspace(1.0, 2.0, 16)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(cadiff.grad(root), points))
    np.testing.assert_allclose(found, 0.5 / np.sqrt(points))
