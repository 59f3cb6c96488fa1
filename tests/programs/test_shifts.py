"""Levels that are taken away and come back: gradients of programs do not go through them, and are
those of eager code wherever numbers are not finite, too."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cadiff

WEIGHTS = np.array([0.5, 1.0, 2.0, 0.25])
MASK = np.array([True, False, True, True])


def logsumexp(x: Any, axis: int | None = -1) -> Any:
    m = np.max(x, axis=axis, keepdims=True)
    return np.squeeze(m, axis) + np.log(np.sum(np.exp(x - m), axis=axis))


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def log_softmax(x: Any) -> Any:
    shifted = x - np.max(x, axis=1)[:, None]
    return shifted - np.log(np.exp(shifted) @ np.ones(4))[:, None]


def warm(x: Any) -> Any:
    m = np.max(x, axis=1, keepdims=True)
    return m + 0.3 * np.log(np.sum(np.exp((x - m) / 0.3), axis=1, keepdims=True))


def softmin(x: Any) -> Any:
    m = np.min(x)
    return m - np.log(np.sum(np.exp(-(x - m))))


def of_two_sums(x: Any) -> Any:
    m = np.max(x, axis=0)
    return m + np.log(np.exp(x[0] - m) + 2.0 * np.sum(np.exp(x[1:] - m), axis=0))


def where_finite(x: Any) -> Any:
    m = np.max(x, axis=1)
    m = np.where(np.isfinite(m), m, 0.0)
    return m + np.log(np.sum(np.exp(x - m[:, None]), axis=1))


def masked(x: Any) -> Any:
    m = np.max(x, axis=1, keepdims=True)
    e = np.where(MASK, np.exp(x - m), 0.0)
    return np.sum(e**2, axis=1) / np.sum(e, axis=1) ** 2 + logsumexp(np.where(MASK, x, -np.inf))


def forward(x: Any) -> Any:
    for _ in range(2):
        x = np.tanh(x) + logsumexp(x + np.arange(4.0), axis=1)[:, None]
    return x


CUT: dict[str, Callable[[Any], Any]] = {
    "all": lambda x: logsumexp(x, None),
    "rows": logsumexp,
    "columns": lambda x: logsumexp(x, 0),
    "transposed": lambda x: logsumexp(x.T),
    "weighted": lambda x: np.max(x) + np.log(np.exp(np.ravel(x - np.max(x))[:4]) @ WEIGHTS),
    "twice": lambda x: logsumexp(logsumexp(x), 0),
    "softmax": lambda x: softmax(x)[:, 1] + softmax(2.0 * x)[:, 0],
    "log_softmax": log_softmax,
    "warm": warm,
    "softmin": softmin,
    "of_two_sums": of_two_sums,
    "where_finite": where_finite,
    "masked": masked,
    "forward": forward,
}
KEPT: dict[str, Callable[[Any], Any]] = {
    "elsewhere, too": lambda x: logsumexp(x) * np.max(x, axis=1),
    "without the level": lambda x: logsumexp(x) - np.max(x, axis=1),
    "twice the level": lambda x: np.max(x) + np.log(np.sum(np.exp(x - 2.0 * np.max(x)))),
    "one more": lambda x: np.max(x) + np.log(1.0 + np.sum(np.exp(x - np.max(x)))),
    "of other rows": lambda x: (
        np.max(x, 1) + np.log(np.sum(np.exp(x[::-1] - np.max(x, 1)[:, None]), 1)[::-1])
    ),
    "over levels": lambda x: np.sum(np.exp(x - np.max(x, axis=1)[:, None]), axis=0) / np.sum(x),
    "an odd sum": lambda x: np.max(x) + np.log(np.sum(np.exp(x - np.max(x)) ** 2)),
    "cosine": lambda x: np.cos(x - np.max(x)),
}
ALL = CUT | KEPT


def weighted(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One number of all results, which counts each differently."""

    def total(x: Any) -> Any:
        y = np.ravel(f(x))
        return np.sum(y * np.cos(np.arange(y.size))) ** 2

    return total


@cache
def program(name: str) -> Any:
    made = cadiff.compile(weighted(ALL[name]))
    made.grad(np.random.default_rng(0).normal(size=(3, 4)))
    return made


def extremes(program: Any) -> int:
    """How many steps of the program made last ask for extremes, or for what is one."""
    return len(re.findall("call +max or min", program.to_text(1000).split("gradient by")[-1]))


@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("name", ALL)
def test_a_path_that_cancels_is_left_out_and_no_other(name: str, rows: int) -> None:
    x = np.random.default_rng(1).normal(size=(rows, 4))
    f = weighted(ALL[name])
    value, slope = cadiff.compile(f), cadiff.compile(f)
    value(x)
    npt.assert_allclose(slope.grad(x), cadiff.grad(f)(x), rtol=1e-9, atol=1e-10)
    assert (extremes(slope) == extremes(value)) == (name in CUT)


@pytest.mark.parametrize("name", CUT)
def test_gradients_are_those_of_a_complex_step(name: str) -> None:
    x = np.random.default_rng(2).normal(size=(3, 4))
    steps = 1e-30j * np.eye(12).reshape(12, 3, 4)
    expected = [weighted(CUT[name])(x + step).imag / 1e-30 for step in steps]
    npt.assert_allclose(np.ravel(program(name).grad(x)), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ALL)
def test_tangents_and_second_derivatives_are_those_of_eager_code(name: str) -> None:
    x, t = np.random.default_rng(3).normal(size=(2, 3, 4))
    f = weighted(ALL[name])
    npt.assert_allclose(program(name).jvp((x,), (t,)), cadiff.jvp(f, (x,), (t,)), rtol=1e-10)
    npt.assert_allclose(program(name).hvp(x, t), cadiff.hvp(f)(x, t), rtol=1e-8, atol=1e-10)


numbers = st.sampled_from([0.0, 1.0, -1.0, 2.5, 700.0, -800.0, 1e300, -np.inf, np.inf, np.nan])


@pytest.mark.parametrize("name", CUT)
@given(x=st.lists(numbers | st.floats(-3.0, 3.0), min_size=12, max_size=12))
def test_ties_and_numbers_that_are_not_finite(name: str, x: list[float]) -> None:
    at = np.array(x).reshape(3, 4)
    with np.errstate(all="ignore"):
        expected = cadiff.grad(weighted(CUT[name]))(at)
    scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    npt.assert_allclose(program(name).grad(at), expected, rtol=1e-9, atol=1e-9 * scale)


def test_a_level_that_is_not_finite_where_f_is_recorded() -> None:
    f = weighted(logsumexp)
    compiled = cadiff.compile(f)
    npt.assert_array_equal(compiled.grad(np.full((3, 4), -np.inf)), np.full((3, 4), np.nan))
    x = np.arange(12.0).reshape(3, 4)
    npt.assert_allclose(compiled.grad(x), cadiff.grad(f)(x), rtol=1e-12)


TWO = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": lambda x, y: x / (y + 0.1),
    "quotient": np.divide,
    "maximum": np.maximum,
    "where": lambda x, y: np.where(x > y, x, y),
    "product": lambda x, y: (x @ y.T) @ x,
}
ONE = {
    "exp": np.exp,
    "log": lambda x: np.log(np.abs(x)),
    "square": np.square,
    "negative": np.negative,
    "halved": lambda x: 0.5 * x,
    "doubled": lambda x: 2.0 * x,
    "root": lambda x: np.sqrt(np.abs(x)),
    "rows": lambda x: np.sum(x, axis=1, keepdims=True) + np.zeros(x.shape),
    "columns": lambda x: np.sum(x, axis=0) + np.zeros(x.shape),
    "turned": lambda x: x.T,
    "raveled": lambda x: np.ravel(x)[::-1].reshape(x.shape),
    "cumulated": lambda x: np.cumsum(x, axis=1),
    "reciprocal": lambda x: 1.0 / x,
    "zeroed": lambda x: np.where(x > 0.0, x, 0.0),
}
steps = st.one_of(
    st.tuples(st.sampled_from(sorted(ONE)), st.integers(0, 4), st.just(0)),
    st.tuples(st.sampled_from(sorted(TWO)), st.integers(0, 4), st.integers(0, 4)),
)


@given(st.lists(steps, min_size=1, max_size=7), st.booleans(), st.sampled_from([3, 6]))
def test_of_any_computation_with_a_level_the_derivative_is_that_of_eager_code(
    chosen: list[tuple[str, int, int]], by_rows: bool, n: int
) -> None:
    def found(x: Any) -> list[Any]:
        m = np.max(x, axis=1, keepdims=True) if by_rows else np.max(x)
        found = [x, m + np.zeros((n, n)), x - m, np.exp(x - m), x[::-1] - m]
        for name, i, j in chosen:
            one, other = found[-1 - i], found[-1 - j]
            found.append(ONE[name](one) if name in ONE else TWO[name](one, other))
        return found

    def f(x: Any) -> Any:
        return np.sum(found(x)[-1] * np.sqrt(np.arange(1.0, n * n + 1.0)).reshape(n, n))

    x = np.random.default_rng(4).normal(size=(n, n))
    with np.errstate(all="ignore"):
        expected = cadiff.grad(f)(x)
        largest = np.max(np.abs(found(x)))
        assume(largest < 1e6 and np.all(np.isfinite(expected)))
        actual = cadiff.compile(f).grad(x)
    npt.assert_allclose(actual, expected, rtol=1e-8, atol=1e-8 * (1.0 + largest))
