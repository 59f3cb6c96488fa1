"""Maxima and minima of many numbers in programs: derivatives go by where they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import numpy as cnp
from cadiff.numpy import _reductions

from ..helpers.processes import in_whole_tiles

N, K = 60, 50
RNG = np.random.default_rng(0)
X = RNG.normal(size=N * K)
ALONG = RNG.normal(size=N * K)


def of_distances(x: Any, reduce: Callable[[Any], Any]) -> Any:
    points, centers = x[: 3 * N].reshape(N, 3), x[3 * N : 3 * (N + K)].reshape(K, 3)
    return reduce(cnp.sqrt(1.0 + cnp.sum((points[:, None, :] - centers) ** 2, axis=-1)))


def of_products(x: Any, reduce: Callable[[Any], Any]) -> Any:
    rows, columns = x[: 6 * N].reshape(N, 6), x[6 * N : 6 * (N + K)].reshape(6, K)
    return reduce(2.0 * rows @ columns - cnp.sum(rows**2, axis=1)[:, None])


def of_functions(x: Any, reduce: Callable[[Any], Any]) -> Any:
    return reduce(cnp.sin(x.reshape(N, K)) * np.linspace(0.5, 1.5, K))


def of_a_view(x: Any, reduce: Callable[[Any], Any]) -> Any:
    return reduce(x.reshape(K, N)[::-1].T)


def extreme(name: str, axis: int | None, keepdims: bool) -> Callable[[Any], Any]:
    return lambda y: getattr(cnp, name)(y, axis=axis, keepdims=keepdims)


def at_plain_places(name: str, axis: int | None, keepdims: bool) -> Callable[[Any], Any]:
    """The same by an index that is no number of the function."""

    def pick(y: Any) -> Any:
        plain = getattr(np, "arg" + name)(cadiff.value(y), axis=axis, keepdims=True)
        if axis is None:
            return y.reshape(-1)[int(plain.item())]
        return cnp.take_along_axis(y, plain, axis)

    return pick


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("inner", [of_distances, of_products, of_functions, of_a_view])
def test_derivatives_are_those_of_the_numbers_at_these_places(
    inner: Callable[..., Any], name: str, axis: int | None
) -> None:
    def of(reduce: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: cnp.sum(cnp.tanh(inner(x, reduce)) ** 2)

    for keepdims in (False, True):
        f = of(extreme(name, axis, keepdims))
        picked = of(at_plain_places(name, axis, keepdims))
        slope, bend = cadiff.grad(picked)(X), cadiff.hvp(picked)(X, ALONG)
        program = cadiff.compile(f)
        inside = cadiff.compile(lambda x, f=f: cadiff.jvp(cadiff.grad(f), (x,), (ALONG,)))
        for found in (cadiff.grad(f)(X), program.grad(X), inside(X)[0]):
            np.testing.assert_allclose(found, slope, rtol=1e-11, atol=1e-13)
        for found in (cadiff.hvp(f)(X, ALONG), program.hvp(X, ALONG), inside(X)[1]):
            np.testing.assert_allclose(found, bend, rtol=1e-10, atol=1e-12)
        tangent = cadiff.jvp(f, (X,), (ALONG,))[1]
        np.testing.assert_allclose(tangent, slope @ ALONG, rtol=1e-11)


@pytest.mark.parametrize("inner", [of_distances, of_products, of_functions, of_a_view])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_equal_ones_share_a_derivative_before_and_after_others(
    inner: Callable[..., Any], axis: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    equal = np.round(2.0 * X) / 2.0
    one_nan = X.copy()
    one_nan[7] = np.nan

    def f(x: Any) -> Any:
        return cnp.sum(inner(x, extreme("max", axis, False)) ** 2)

    program = cadiff.compile(f)
    for x in (X, equal, X + 0.1, equal + 0.5, one_nan, X):
        with monkeypatch.context() as few:
            few.setattr(_reductions, "MANY", (10**9, 8))  # by comparisons of all numbers
            slope = cadiff.grad(f)(x)
        np.testing.assert_array_equal(cadiff.grad(f)(x), slope)
        np.testing.assert_allclose(program.grad(x), slope, rtol=1e-11, atol=1e-12)
    assert program.stats()["recordings"] <= 4


def test_a_gradient_of_extremes_is_that_of_ties() -> None:
    x = np.zeros((N, K))
    x[:, 3] = x[:, 8] = 2.0
    shares = np.where(x == 2.0, 0.5, 0.0)
    for f in (lambda x: cnp.sum(cnp.max(x, axis=1)), lambda x: cnp.sum(-cnp.min(-x, axis=1))):
        np.testing.assert_array_equal(cadiff.grad(f)(x), shares)
        np.testing.assert_array_equal(cadiff.compile(f).grad(x), shares)


def places_of(program: Any) -> int:
    return max(int(found) for found in re.findall(r"(\d+) places", program.to_text()))


@in_whole_tiles
def test_nothing_is_computed_of_numbers_that_are_no_extremes() -> None:
    n, k = 2000, 40
    points, centers = RNG.normal(size=(n, 3)), RNG.normal(size=(k, 3))

    def cost(centers: Any, points: Any) -> Any:
        squares = cnp.sum(points**2, axis=1)[:, None] + cnp.sum(centers**2, axis=1)
        return cnp.sum(cnp.min(squares - 2.0 * points @ centers.T, axis=1))

    ones = np.ones_like(centers)
    newton = cadiff.compile(
        lambda c, p: cadiff.jvp(lambda c: cadiff.grad(cost)(c, p), (c,), (ones,))
    )
    slope, curvature = newton(centers, points)
    nearest = np.argmin(np.sum((points[:, None, :] - centers) ** 2, axis=-1), axis=1)
    own = nearest[:, None] == np.arange(k)
    expected = [2.0 * (c * np.sum(w) - w @ points) for c, w in zip(centers, own.T, strict=True)]
    np.testing.assert_allclose(slope, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(curvature, 2.0 * np.sum(own, axis=0)[:, None] * ones)
    value = cadiff.compile(cost)
    value(centers, points)
    assert places_of(newton) < n * k and places_of(value) < n * k


def test_a_gradient_of_extremes_has_a_text_in_c() -> None:
    program = cadiff.compile(lambda x: cnp.sum(cnp.max(cnp.sin(x).reshape(N, K), axis=1) ** 2))
    program.grad(X)
    text = program.to_c(X)
    assert "cad_place_extreme(" in text
