"""What seams of all packages share, with NumPy in the place of another package."""

from __future__ import annotations

from typing import Any

import numpy as np

import cadiff
from cadiff.interop._seams import Foreign


def test_cotangents_of_all_arguments_take_one_run() -> None:
    """And those of one argument are of that alone."""
    asked: list[tuple[int, ...]] = []

    def product(n: Any, x: Any, y: Any) -> Any:
        return n * np.sum(x * y)

    def pulled(g: Any, n: int, wrt: tuple[int, ...], *args: Any) -> tuple[Any, ...]:
        asked.append(wrt)
        k, x, y, u = args
        return tuple([None, u * k * y, u * k * x][i] for i in wrt)

    f = Foreign(lambda g, *arrays: g(*arrays), pulled, product)
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    of_both = cadiff.grad(lambda x, y: f(2, x, y), argnums=(0, 1))(x, y)
    assert [g.tolist() for g in of_both] == [(2.0 * y).tolist(), (2.0 * x).tolist()]
    assert cadiff.grad(lambda x: f(2, x, y))(x).tolist() == (2.0 * y).tolist()
    assert asked == [(1, 2), (1,)]
