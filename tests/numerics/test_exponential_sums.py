"""Logarithms of sums of exponentials, and shares of them: rows beside others are what each is
alone, and sums of many numbers keep their digits (`src/kernels/softmax.c`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import cadiff
import cadiff.scipy.special as special

RNG = np.random.default_rng(9)
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    name: (getattr(special, name), getattr(scipy.special, name))
    for name in ("logsumexp", "softmax", "log_softmax")
}
EXTREMES = (np.inf, -np.inf, np.nan, 0.0, -0.0, 700.0, -800.0)


def replayed(f: Callable[[Any], Any], x: Any) -> Any:
    """The value of a program that was recorded elsewhere."""
    program = cadiff.compile(f)
    program.value(np.zeros_like(x))
    return program.value(x)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 25, 127, 128, 129, 300])
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_rows_side_by_side_are_what_each_is_alone(name: str, axis: int, n: int) -> None:
    ours, scipys = FUNCTIONS[name]
    x = RNG.standard_normal((70, n))
    for k, extreme in enumerate(EXTREMES):
        x[3 * k, RNG.integers(n)] = extreme
        x[3 * k + 1] = extreme
    at = x.T.copy() if axis == 0 else x
    values = replayed(lambda x: ours(x, axis=axis), at)
    alone = np.array([replayed(ours, row) for row in x])
    np.testing.assert_allclose(
        values, alone.T if axis == 0 and alone.ndim > 1 else alone, rtol=1e-13
    )
    if name == "logsumexp":
        assert np.array_equal(values, alone, equal_nan=True)
    np.testing.assert_allclose(values, ours(at, axis=axis), rtol=1e-13)
    np.testing.assert_allclose(values, scipys(at, axis=axis), rtol=1e-12, atol=1e-13)

    each = np.array([cadiff.grad(lambda x: (ours(x) ** 2).sum())(row) for row in x])
    whole = cadiff.compile(lambda x: (ours(x, axis=axis) ** 2).sum()).grad(at)
    np.testing.assert_allclose(whole, each.T if axis == 0 else each, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", [100, 1_000, 160_000])
def test_sums_of_many_keep_their_digits(n: int) -> None:
    x = np.random.default_rng(0).standard_normal(n)
    exact = math.log(math.fsum(np.exp(x)))
    for value in (replayed(special.logsumexp, x), special.logsumexp(x)):
        assert abs(value - exact) <= 2.0 * math.ulp(exact)
    shares = cadiff.compile(special.logsumexp).grad(x)
    assert abs(math.fsum(shares) - 1.0) < 4.0 * math.ulp(1.0)
