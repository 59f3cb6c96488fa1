"""Arrays of so many elements that they take ways of their own: their adjoints are cleared late or
written into the results at once, their values read where they are, and elementwise operations
swept together, tile by tile.

The debug build treats small arrays so, which sends all other tests the same ways.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np
from cadiff import Var, nn

SIZES = [511, 512, 1025, 3000]
FACTORS = numpy.random.default_rng(5).standard_normal(3000)


def vector(n: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).uniform(0.5, 1.5, n)


def assigned(x: Any) -> Any:
    y = x * 2.0
    y[5] = 3.0 * x[0]
    y[2:4] = y[3:5]
    y[::7] *= 0.5
    return y * y


def assigned_late(x: Any) -> Any:
    y = x * 2.0
    z = y[::-1] * 3.0
    y[310] = 2.0 * x.sum()
    return z * 5.0


def argument_assigned(x: Any) -> Any:
    x[5] = 2.0
    x[7:9] *= x[1:3]
    return x * 2.0 * 2.0


def masked(x: Any) -> Any:
    y = x.copy()
    y[FACTORS[: len(x)] > 0.0] *= 2.0
    return np.where(FACTORS[: len(x)] > 0.5, y * x, y)


def normalised(x: Any) -> Any:
    weights = np.exp(x) / np.exp(x).sum()
    return weights * weights.sum() * x


def unused(x: Any) -> Any:
    np.tile(x, 2) * 3.0
    return np.sin(x) * x


PROGRAMS: list[Callable[[Any], Any]] = [
    lambda x: np.sqrt(x * x + 1.0) / x,
    lambda x: x * x[::-1] * 2.0 * 2.0,
    lambda x: x * x[-1:],
    lambda x: x[-1:] * x,
    lambda x: np.where(x > 1.0, x, x[::-1]),
    lambda x: np.clip(x, x[-1:] - 0.1, x[0] + 0.1),
    lambda x: x[1:] * x[:-1] - x[1:],
    lambda x: np.stack([x * 2.0 * FACTORS[: len(x)], x[307:308] * x * 2.0]),
    lambda x: (x * x).sum() * x + x[3] * x,
    lambda x: np.maximum(x * 2.0, 2.0 - x) * np.abs(x - 1.0),
    lambda x: np.cumsum(x * x)[::2] * x[::2],
    lambda x: x.reshape(1, -1) * x.reshape(-1, 1)[:40],
    lambda x: x[:506].reshape(2, -1).T * 2.0 * x[:506].reshape(2, -1).T,
    lambda x: x[numpy.zeros(600, int)] * x[:1],
    assigned,
    assigned_late,
    argument_assigned,
    masked,
    normalised,
    unused,
]

SQUARES: list[Callable[[Any], Any]] = [
    lambda x: x * x.T,
    lambda x: x + x.T,
    lambda x: x @ x,
    lambda x: x @ x.T * x,
    lambda x: x * x[-1:] + x[:, :1],
    lambda x: np.linalg.inv(x + 30.0 * numpy.eye(len(x))) * x,
    lambda x: np.linalg.slogdet(x @ x.T)[1] + np.linalg.solve(x @ x.T, x),
    lambda x: np.linalg.cholesky(x @ x.T + numpy.eye(len(x))) ** 2,
    lambda x: nn.cross_entropy(x, numpy.arange(len(x))) * 2.0 + x * x,
    lambda x: np.stack([x, x.T, x]) @ x[-1],
    lambda x: np.stack([x, x.T]) @ np.stack([x, x.T])[::-1],
]

CASES = [pytest.param(f, vector(n), id=f"{k}-{n}") for k, f in enumerate(PROGRAMS) for n in SIZES]
CASES += [
    pytest.param(f, vector(n * n).reshape(n, n), id=f"square {k}-{n}")
    for k, f in enumerate(SQUARES)
    for n in (5, 40)
]


def weighted(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a result a number that each of its elements matters to in its own way."""

    def total(x: Any) -> Any:
        result = f(x)
        return np.sum(result * np.cos(numpy.arange(result.size)).reshape(result.shape))

    return total


@pytest.mark.parametrize(("f", "x"), CASES)
def test_gradients_are_what_tangents_say(f: Callable[[Any], Any], x: Any) -> None:
    total = weighted(f)
    rng = numpy.random.default_rng(1)
    t, u = rng.standard_normal((2, *x.shape))
    value, slope = cadiff.jvp(total, (x,), (t,))
    gradient_at = cadiff.grad(total)
    got, gradient = cadiff.value_and_grad(total)(x)
    scale = numpy.sum(numpy.abs(gradient * t))
    assert got == pytest.approx(value, rel=1e-12)
    assert numpy.sum(gradient * t) == pytest.approx(slope, rel=1e-9, abs=1e-12 * scale)

    _, pull = cadiff.vjp(total, x)
    for seed in (1.0, -2.0, 1.0):  # nothing of a pass is left to the next one
        numpy.testing.assert_allclose(pull(seed), seed * gradient, rtol=1e-12, atol=1e-14 * scale)

    of_list = cadiff.grad(lambda xs: total(xs[0]) + np.sum(xs[1] * x))([x, x])
    numpy.testing.assert_allclose(of_list[0], gradient, rtol=1e-12, atol=1e-14 * scale)
    numpy.testing.assert_array_equal(of_list[1], x)

    curved = cadiff.jvp(gradient_at, (x,), (t,))[1]
    twice = cadiff.grad(lambda x: np.sum(gradient_at(x) * t))(x)
    scale = numpy.sum(numpy.abs(curved * u))
    assert numpy.sum(twice * u) == pytest.approx(
        numpy.sum(curved * u), rel=1e-9, abs=1e-11 * scale
    )


@pytest.mark.parametrize("f", PROGRAMS[:1] + PROGRAMS[9:10])
def test_an_element_of_many_is_treated_as_one_of_few(f: Callable[[Any], Any]) -> None:
    x = vector(3000)
    pieces = [cadiff.grad(lambda x: np.sum(f(x)))(piece) for piece in numpy.split(x, 10)]
    whole = cadiff.grad(lambda x: np.sum(f(x)))(x)
    numpy.testing.assert_array_equal(whole, numpy.concatenate(pieces))


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients_do_not_depend_on_earlier_ones(f: Callable[[Any], Any]) -> None:
    x, other = vector(512), vector(300)

    def small(x: Any) -> Any:
        return np.sum(np.sin(x) * x) + np.sum(np.cos(x))

    def constant(x: Any) -> Any:
        x * 2.0
        return 3.0

    expected = cadiff.grad(weighted(f))(x), cadiff.grad(small)(other)
    cadiff.grad(constant)(vector(600))
    numpy.testing.assert_array_equal(cadiff.grad(small)(other), expected[1])
    numpy.testing.assert_array_equal(cadiff.grad(weighted(f))(x), expected[0])
    cadiff.grad(constant)(vector(3000))
    numpy.testing.assert_array_equal(cadiff.grad(weighted(f))(x), expected[0])


def test_intermediate_results_keep_their_gradients() -> None:
    v = Var(vector(2000))
    y = np.exp(v)
    z = y * y
    loss = np.sum(z * 3.0)
    for times in (1.0, 2.0):
        loss.backward()
        numpy.testing.assert_allclose(z.grad, 3.0)
        numpy.testing.assert_allclose(y.grad, 6.0 * y.value)
        numpy.testing.assert_allclose(v.grad, times * 6.0 * y.value**2)


def very_large() -> Any:
    return numpy.random.default_rng(0).uniform(0.5, 1.5, 40_000)


@pytest.mark.parametrize("n", [5, 600, 40_000])
@pytest.mark.parametrize("view", [lambda x: x[..., -1], lambda x: np.squeeze(x[-1:])])
def test_a_view_of_one_element_is_assigned(view: Callable[[Any], Any], n: int) -> None:
    def f(x: Any) -> Any:
        y = cadiff.numpy.zeros(n)
        y[..., 0] = view(x)
        y[1:] = x[1:]
        y[..., -1] = view(x)
        return np.sum(y * y)

    x = numpy.linspace(1.0, 2.0, n)
    wanted = 2.0 * x
    wanted[[0, -1]] = 0.0, 4.0 * x[-1]
    numpy.testing.assert_array_equal(cadiff.grad(f)(x), wanted)


def test_arguments_are_copied_before_they_may_change() -> None:
    """While a gradient is computed they are read where they are; what outlives it is copied."""
    x = very_large()
    former = x.copy()
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x)
        kept.append(x[10:20])
        return np.sum(x * x)

    numpy.testing.assert_array_equal(cadiff.grad(f)(x), 2.0 * former)
    _, pull = cadiff.vjp(f, x)
    slope = cadiff.grad(lambda s: np.sum(cadiff.grad(lambda y: s * f(y))(x)))
    assert slope(2.0) == pytest.approx(2.0 * former.sum())
    x[:] = 0.0
    numpy.testing.assert_array_equal(pull(1.0), 2.0 * former)
    numpy.testing.assert_array_equal(cadiff.value(kept[0]), former)
    numpy.testing.assert_array_equal(cadiff.value(kept[1]), former[10:20])
    numpy.testing.assert_array_equal(cadiff.grad(f)(x), 0.0 * former)


def test_values_of_arguments_within_a_function() -> None:
    x = very_large()
    seen: list[Any] = []

    def f(v: Any) -> Any:
        seen.extend([v.value, v[::-1].value, bool(v[4:5] > 0.0), np.argmax(v)])
        v[7] = 2.0
        seen.append(v.value)
        return np.sum(v)

    cadiff.grad(f)(x)
    numpy.testing.assert_array_equal(seen[0], x)
    numpy.testing.assert_array_equal(seen[1], x[::-1])
    assert seen[2:4] == [True, numpy.argmax(x)]
    assert seen[4][7] == 2.0
    assert x[7] != 2.0

    def g(v: Any) -> Any:
        seen.append(v[3].value)
        return v[5] * np.sum(v)

    assert cadiff.grad(g)(x)[5] == pytest.approx(x.sum() + x[5])
    assert seen[-1] == x[3]


@pytest.mark.parametrize("place", [slice(None), slice(100, 700), slice(-1, None)])
def test_an_argument_that_is_written_to_meanwhile_is_noticed(place: slice) -> None:
    x = very_large()

    def step(v: Any) -> Any:
        new = v + 0.1 * np.sin(v)
        x[place] = 2.0
        return np.sum(new * v)

    with pytest.raises(RuntimeError, match=r"shape \(40000,\) was written to .* x\.copy\(\)"):
        cadiff.grad(step)(x)
    before = x.copy()
    gradient = cadiff.grad(step)(x.copy())
    numpy.testing.assert_array_equal(x, before)
    slope = cadiff.jvp(step, (x,), (numpy.ones(x.shape),))[1]
    assert gradient.sum() == pytest.approx(slope)
    x[:] = 1.0
    with pytest.raises(RuntimeError, match="written to"):
        cadiff.value_and_grad(lambda xs: step(xs[0]["x"]))([{"x": x}])


def test_values_move_while_an_array_is_assigned() -> None:
    """What is assigned has to be put on a tape, which grows for it."""

    def f(x: Any) -> Any:
        y = np.zeros(5000)
        for k in range(40):
            y[:] = np.full(5000, float(k))
            y[1:] = np.full(4999, k + 0.5)
        y[0] = x
        return np.sum(y * y)

    with ThreadPoolExecutor(1) as new:  # whose tape is small
        value, gradient = new.submit(cadiff.value_and_grad(f), 3.0).result()
    assert value == 9.0 + 4999 * 39.5**2
    assert gradient == 6.0
