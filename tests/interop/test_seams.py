"""What seams of all packages share, with NumPy in the place of another package."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff.interop._seams import Foreign, Seam, as_tuple, each_of


def test_cotangents_of_all_arguments_take_one_run() -> None:
    """And those of one argument are of that alone."""
    asked: list[int] = []

    def vjp(g: Any, *primals: Any) -> Any:
        asked.append(len(primals))
        value, pull = cadiff.vjp(g, *primals)
        return value, lambda u: as_tuple(pull(u))

    def product(n: Any, x: Any, y: Any) -> Any:
        return n * np.sum(x * y)

    f = Foreign(lambda g, args: np.asarray(g(*args)) if g is product else g(*args), vjp, product)
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    of_both = cadiff.grad(lambda x, y: f(2, x, y), argnums=(0, 1))(x, y)
    assert [g.tolist() for g in of_both] == [(2.0 * y).tolist(), (2.0 * x).tolist()]
    assert cadiff.grad(lambda x: f(2, x, y))(x).tolist() == (2.0 * y).tolist()
    assert asked == [2, 1]


def _power(x: Any, n: Any) -> Any:
    large = x[0] > 0.5
    for _ in range(n):
        x = x * x
    return np.sum(np.sin(x)) if large else x[1]


def test_rows_are_points() -> None:
    """Whichever way each goes in f, and whatever whole numbers are among the arguments."""
    seam = Seam(_power)
    x, n = np.linspace(0.0, 1.0, 40).reshape(20, 2), np.arange(20) % 3
    pulled = [cadiff.grad(_power)(*row) for row in zip(x, n, strict=True)]
    for rows in (seam.rows, pickle.loads(pickle.dumps(seam.rows))):
        for order in (slice(None), slice(None, None, -1)):
            a, k = x[order], n[order]
            np.testing.assert_allclose(rows(a, k), list(map(_power, a, k)), rtol=1e-14)
            (found,) = rows.pullback(2, [0])(a, k, np.ones(20))
            np.testing.assert_allclose(found, pulled[order], rtol=1e-14)
            (pushed,) = rows.pushforward(2, [0])(a, k, a)
            np.testing.assert_allclose(pushed, np.sum(found * a, 1), rtol=1e-13)
        twice = rows.rows(x.reshape(4, 5, 2), n.reshape(4, 5))
        np.testing.assert_allclose(twice.ravel(), rows(x, n), rtol=0)


@pytest.mark.parametrize("result", [{"a": np.ones(2)}, [np.ones(2)], (np.ones(2), None)])
def test_results_are_arrays_or_a_tuple_of_them(result: Any) -> None:
    with pytest.raises(TypeError, match=r"returned \w+, where .* a tuple of them: return tuple\("):
        each_of(result, np.ndarray, np.asarray)
    assert each_of(np.ones(2), np.ndarray, np.sum) == 2.0
    assert each_of((np.ones(2),), np.ndarray, np.sum) == (2.0,)


def test_what_is_no_function_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="primitive takes a function, not dict"):
        Foreign(lambda g, args: g(*args), cadiff.vjp, {"a": 1.0})  # type: ignore[arg-type]
