"""Ints that are others in each call: whatever f does with them, a program returns what f does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp

from ..helpers.properties import examples

X = np.array([1.0, -2.0, 3.0, 0.5, 2.5, -0.7])
I = np.array([3, 1, 4, 1, 5, 2])  # noqa: E741
TABLE = np.arange(6.0) * 1.5
ITEMS = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0]


def halvings(x: Any, k: Any) -> Any:
    n = 0
    while k > 0:
        k, n = k // 2, n + 1
    return x * n


def assigned(x: Any, k: Any) -> Any:
    y = x * 1.0
    y[k % 6] = 9.0
    y[k : k + 2] = x[0]
    return y


def matched(x: Any, k: Any) -> Any:
    match k:
        case 0:
            return x
        case 1 | 2:
            return 2.0 * x
        case int():
            return x * k
    return -x


USES: dict[str, Callable[[Any, Any], Any]] = {
    "slice": lambda x, k: x[k : k + 3],
    "slice from the end": lambda x, k: x[-k:],
    "element": lambda x, k: x[k] * TABLE[k] + ITEMS[k],
    "slice of a list": lambda x, k: x * sum(ITEMS[k:]),
    "power": lambda x, k: x * 2**k + x * (-2.0) ** k + x**k,
    "remainder": lambda x, k: x[k % 4] + (k % -4) * x + (-k % 3),
    "quotient": lambda x, k: x[k // 2] + (k // -2) * x + divmod(k, 3)[0],
    "bits": lambda x, k: x * (k >> 1) + (k & 1) + (k ^ 3) + (k | 4) + ~k,
    "truth": lambda x, k: x * (k and 5) + (not k) + (0 < k < 3),
    "argmax": lambda x, k: x[np.argmax((I + k) % 5)] * np.argmin(np.array([k, 2, 1])),
    "argsort": lambda x, k: x[np.argsort((I * k) % 5, kind="stable")],
    "searchsorted": lambda x, k: x * np.searchsorted(TABLE, k) + np.searchsorted([1, 2, 4], I * k),
    "bincount": lambda x, k: cnp.bincount(I % (abs(k) + 1), weights=x) * np.bincount(I).max(),
    "counts": lambda x, k: x * np.bincount(np.array([k, 1, 1]))[1],
    "unique": lambda x, k: x * len(np.unique(I * k % 4)),
    "chosen": lambda x, k: cnp.sum(x[k < I] ** 2) + cnp.where(k < I, x, -x),
    "as a float": lambda x, k: x * float(k) + math.sqrt(abs(k)) + k / 2,
    "as text": lambda x, k: x * len(f"{k * 50:d}") + {k: 2.0}[k],
    "shapes": lambda x, k: cnp.sum(x.reshape(k % 2 + 1, -1)[0]) * cnp.ones(abs(k) + 1),
    "moved": lambda x, k: cnp.roll(x, k) + np.linalg.norm(x, abs(k) + 1),
    "narrow": lambda x, k: (I * k).astype(np.int8) * x + np.int8(k),
    "loop": halvings,
    "assignment": assigned,
    "match": matched,
    "types": lambda x, k: x * (type(k) is int) + isinstance(TABLE[k % 6], float),
}


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return f(*args)
    except Exception as error:
        return type(error)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
@examples(4)
@given(st.lists(st.sampled_from([*range(-3, 8), 100]), min_size=3, max_size=10))
def test_a_call_with_other_integers(use: Callable[..., Any], numbers: list[int]) -> None:
    program = cadiff.compile(use)
    for k in numbers:
        expected = outcome(use, X, k)
        found = outcome(program, X, k)
        if isinstance(expected, type):
            assert found is expected
        else:
            npt.assert_allclose(found, expected, rtol=1e-12)
            slopes = outcome(cadiff.jacobian(lambda x, k=k: use(x, k)), X)
            npt.assert_allclose(outcome(program.jacobian, X, k), slopes, rtol=1e-12)


def test_integers_that_go_through_to_another_program() -> None:
    """They are inputs of both, as a batch's labels are where a compiled loss is trained."""
    inner = cadiff.compile(lambda x, labels: cnp.sum(x[labels] ** 2))
    outer = cadiff.compile(lambda x, labels: inner(2.0 * x, labels) + inner(x, labels=labels))
    for labels in np.random.default_rng(0).integers(0, len(X), (6, 3)):
        expected = 10.0 * X * np.bincount(labels, minlength=len(X))
        npt.assert_allclose(outer.grad(X, labels), expected, rtol=1e-14)
    assert outer.stats()["recordings"] == 2
    assert not outer.stats()["eager"]


def is_array(x: Any) -> bool:
    return type(x) is np.ndarray


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: type(x > 0.0) is np.ndarray,
        lambda x: issubclass(type(x > 0.0), np.ndarray),
        lambda x: type((x > 0.0).sum()) is np.int64,
        lambda x: is_array(x > 0.0) and isinstance(x > 0.0, np.ndarray),
    ],
)
def test_types_of_masks(ask: Callable[[Any], bool]) -> None:
    """Where a function looks at types, masks are what NumPy makes."""
    program = cadiff.compile(lambda x: cadiff.where(x > 0.0, x, -2.0 * x) * (1.0 + ask(x)))
    for x in (X, -X, 2.0 * X):
        npt.assert_array_equal(program(x), np.where(x > 0.0, x, -2.0 * x) * 2.0)


@pytest.mark.parametrize(
    "mask", [-2, -1, 0, 1, 2, 3, 6, 7, 2**51 - 1, 2**52 - 1, 2**52, 2**53 - 1]
)
def test_the_last_bits_of_changing_integers(mask: int) -> None:
    def f(x: Any, i: Any) -> Any:
        return x * (i & mask)

    program = cadiff.compile(f)
    for i in (1, 2, 0, -1, 5, -8, 2**52 + 3):
        for ints in (i, np.array([i, 7, -i])):
            npt.assert_array_equal(program(1.5, ints), f(1.5, ints))


def test_integers_that_functions_of_solvers_read_are_inputs() -> None:
    @cadiff.compile
    def f(x: Any, k: Any, rows: Any, flags: Any) -> Any:
        def residual(z: Any) -> Any:
            return z * k + cnp.where(flags, x[rows], 0.0).sum() - x[k]

        return cadiff.root(residual, 1.0)

    for k in range(1, 6):
        rows, flags = np.array([k, 5 - k]), np.array([True, k > 2])
        value = (X[k] - X[rows][flags].sum()) / k
        assert f(X, k, rows, flags) == pytest.approx(value, rel=1e-13, abs=1e-13)
        slope = (np.eye(6)[k] - np.eye(6)[rows[flags]].sum(axis=0)) / k
        npt.assert_allclose(f.grad(X, k, rows, flags), slope)
    assert f.stats()["recordings"] <= 3  # with integers as constants, and as inputs
    assert f.stats()["obstacles"] == []


@pytest.mark.parametrize("of", [cadiff.sin, lambda k: cadiff.hypot(2.0, k), cadiff.maximum])
def test_functions_of_integers_alone_are_computed_anew(of: Callable[..., Any]) -> None:
    """In a loop each of them would be another recording of its turn."""
    g = (lambda k: of(k, 3)) if of is cadiff.maximum else of

    def f(x: Any, n: Any) -> Any:
        turn = lambda c, k: (c + x * g(k) + g(2.5 * k), None)  # noqa: E731
        return cadiff.scan(turn, 0.0, np.arange(100))[0] + g(n)

    program = cadiff.compile(f)
    for n in (3, 4, 7):
        npt.assert_allclose(program(0.5, n), f(0.5, n), rtol=1e-14)
        npt.assert_allclose(program.grad(0.5, n), cadiff.grad(f)(0.5, n), rtol=1e-14)
    assert program.stats()["recordings"] <= 2  # one for a plain int, and one for all
