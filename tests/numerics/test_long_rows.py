"""Functions of rows that are long enough to be gone through part by part, beside NumPy's own.

Their loops (`src/kernels/rows.c`) take parts of 1024 numbers, or eighths of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

RNG = np.random.default_rng(8)
EXTREMES: tuple[tuple[Any, Callable[..., Any]], ...] = ((cnp.max, np.max), (cnp.min, np.min))


def gradients(f: Callable[[Any], Any], x: np.ndarray) -> list[np.ndarray]:
    """Eagerly, and by a program that was recorded elsewhere."""
    program = cadiff.compile(f)
    program.grad(0.5 * np.where(np.isnan(x), 0.0, x))
    return [cadiff.grad(f)(x), program.grad(x)]


@pytest.mark.parametrize(("ours", "plain"), EXTREMES)
@pytest.mark.parametrize("places", [(3,), (3, 1500), (1023, 1024, 2999), range(3000)])
@pytest.mark.parametrize("step", [1, -1, 2])
def test_elements_that_tie_share(ours: Any, plain: Any, places: Any, step: int) -> None:
    x = RNG.uniform(-1.0, 1.0, 3000)
    x[list(places)] = 4.0 if plain is np.max else -4.0
    x = np.repeat(x, abs(step))  # so that all places are there, twice
    ties = x[::step] == plain(x)
    for g in gradients(lambda x: 3.0 * ours(x[::step]), x):
        assert np.array_equal(g[::step], np.where(ties, 3.0 / np.count_nonzero(ties), 0.0))


@pytest.mark.parametrize(("ours", "plain"), EXTREMES)
@pytest.mark.parametrize("axis", [0, 1])
def test_extremes_along_an_axis(ours: Any, plain: Any, axis: int) -> None:
    x = RNG.integers(-40, 40, (5, 1200) if axis else (1200, 5)).astype(float)
    weights = RNG.standard_normal(5)
    ties = x == plain(x, axis=axis, keepdims=True)
    expected = np.expand_dims(weights, axis) * ties / ties.sum(axis, keepdims=True)
    for g in gradients(lambda x: cnp.vdot(weights, ours(x, axis=axis)), x):
        np.testing.assert_allclose(g, expected, rtol=1e-15)


@pytest.mark.parametrize("ours", [cnp.max, cnp.min])
def test_nan_is_an_extreme_and_infinities_are(ours: Any) -> None:
    x = RNG.standard_normal(3000)
    x[[10, 2000]] = np.nan
    assert np.array_equal(cadiff.grad(ours)(x), np.where(np.isnan(x), 0.5, 0.0))
    for number in (np.inf, -np.inf):
        assert np.array_equal(cadiff.grad(ours)(np.full(3000, number)), np.full(3000, 1 / 3000))


@pytest.mark.parametrize(("ours", "plain"), EXTREMES)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 31, 32, 33])
def test_shares_in_many_rows(ours: Any, plain: Any, n: int) -> None:
    x = RNG.integers(0, 3, (60, n)).astype(float)
    x[7], x[8] = -np.inf, np.inf
    x[20, n // 2] = x[59, 0] = np.nan
    ties = (x == plain(x, axis=1)[:, None]) | np.isnan(x)
    weights = np.arange(1.0, 61.0)
    expected = weights[:, None] * ties / np.count_nonzero(ties, axis=1)[:, None]
    for g in gradients(lambda x: cnp.sum(weights * ours(x, axis=1)), x):
        np.testing.assert_allclose(g, expected, rtol=1e-15)


@pytest.mark.parametrize("zeros", [(), (0,), (130,), (20, 199)])
@pytest.mark.parametrize("shape", [(203,), (203, 3), (3, 203)])
def test_products_of_all_others(zeros: tuple[int, ...], shape: tuple[int, ...]) -> None:
    axis = shape.index(203)
    x = RNG.uniform(0.5, 1.5, shape)
    np.moveaxis(x, axis, 0)[list(zeros)] = 0.0
    each = [np.prod(np.delete(x, k, axis), axis) for k in range(203)]
    for g in gradients(lambda x: cnp.sum(cnp.prod(x, axis=axis)), x):
        np.testing.assert_allclose(np.moveaxis(g, axis, 0), each, rtol=1e-13)


def test_products_of_all_but_two() -> None:
    x = RNG.uniform(0.5, 1.5, 90)
    for zeros in ((), (3,), (3, 80), (3, 80, 81)):
        x[list(zeros)] = 0.0
        v, product = RNG.standard_normal(90), 0.0
        for i in range(90):
            others = [v[k] * np.prod(np.delete(x, (i, k))) for k in range(90) if k != i]
            product = np.append(product, sum(others))
        for hvp in (cadiff.hvp(cnp.prod)(x, v), cadiff.compile(cnp.prod).hvp(x, v)):
            np.testing.assert_allclose(hvp, product[1:], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_partitions_have_numpys_bits(axis: Any) -> None:
    x = np.round(RNG.standard_normal((2000, 3)), 2)  # many are equal
    x[5, 1], x[77, 2] = np.nan, -0.0
    weights = np.round(RNG.standard_normal((2000, 3)), 1)
    kth = 2 if axis == 1 else 900
    parted = np.partition(x, kth, axis)
    value = cadiff.value(cnp.partition(cadiff.Var(x), kth, axis))
    assert value.tobytes() == parted.tobytes()
    g = cadiff.grad(lambda x: cnp.vdot(weights.reshape(parted.shape), cnp.partition(x, kth, axis)))
    moved = weights.reshape(parted.shape)
    for number in (0.5, -1.25):  # what equal numbers get, all together
        assert np.isclose(g(x)[x == number].sum(), moved[parted == number].sum())


@pytest.mark.parametrize("n", [1, 7, 1024, 2500])
@pytest.mark.parametrize("name", ["clip", "maximum", "minimum", "where", "divide"])
def test_operands_that_are_one_number(name: str, n: int) -> None:
    """Of loops that read numbers side by side one is repeated; adjoints of one are added up."""
    x, g = RNG.standard_normal(n), RNG.standard_normal(n)
    f: dict[str, Callable[[Any, Any], Any]] = {
        "clip": lambda x, c: cnp.clip(x, -c, c),
        "maximum": cnp.maximum,
        "minimum": lambda x, c: cnp.minimum(c, x),
        "where": lambda x, c: cnp.where(x > 0.0, x, c),
        "divide": lambda x, c: c / x,
    }
    of_x, of_c = cadiff.grad(lambda x, c: cnp.vdot(g, f[name](x, c)), (0, 1))(x, 0.4)
    full = cadiff.grad(lambda x, c: cnp.vdot(g, f[name](x, c)), (0, 1))(x, np.full(n, 0.4))
    np.testing.assert_array_equal(of_x, full[0])
    np.testing.assert_allclose(of_c, full[1].sum(), rtol=1e-12, atol=1e-12)
