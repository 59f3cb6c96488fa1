"""Programs over arrays whose last axis is short: several of its rows are one long row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp

SHAPES = [
    (1, 2),
    (2, 2),
    (700, 2),
    (2500, 3),
    (90, 10),
    (3, 400, 4),
    (2, 3, 200, 5),
    (80, 32),
    (80, 33),
]

CASES: dict[str, Callable[..., Any]] = {
    "a row for all": lambda x, row, column: cnp.sum(cnp.sin(x * row) + x / (2.0 + row**2)),
    "a number for each": lambda x, row, column: cnp.sum((x - column) ** 2 * column),
    "both": lambda x, row, column: cnp.sum(
        cnp.maximum(x, column) * cnp.where(x > row, column, row)
    ),
    "sums of rows": lambda x, row, column: cnp.sum(cnp.sum(x * row - column, axis=-1) ** 2),
    "sums of columns": lambda x, row, column: cnp.sum(cnp.sum(x * column, axis=-2) ** 3),
    "backwards": lambda x, row, column: cnp.sum((x[..., ::-1] * row) * (column * x)[..., ::-1, :]),
    "transposed": lambda x, row, column: cnp.sum(cnp.exp(0.1 * x.T).T * column * row),
    "every second": lambda x, row, column: cnp.sum((x * column)[..., ::2] * row[::2]),
    "norms": lambda x, row, column: cnp.sum(cnp.sqrt(cnp.sum((x - row) ** 2, axis=-1) + 0.1)),
}


def check(f: Callable[..., Any], *args: Any) -> None:
    argnums = tuple(range(len(args)))
    program = cadiff.compile(f)
    value, gradients = cadiff.value_and_grad(f, argnums)(*args)
    for _ in range(2):
        found, derivatives = program.value_and_grad(*args, argnums=argnums)
        npt.assert_allclose(found, value, rtol=1e-12)
        for got, wanted in zip(derivatives, gradients, strict=True):
            npt.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_rows_of_few(name: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    draw = rng.standard_normal
    check(CASES[name], draw(shape), draw(shape[-1:]), draw((*shape[:-1], 1)))


@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=4),
    st.integers(1, 40),
    st.lists(st.booleans(), min_size=10, max_size=10),
)
def test_broadcasts_of_any_axes(lengths: list[int], last: int, kept: list[bool]) -> None:
    shape = (*(7 * n for n in lengths[:2]), *lengths[2:], last)
    draw = np.random.default_rng(last).standard_normal
    some = draw([n if keep else 1 for n, keep in zip(shape, kept[:5], strict=False)])
    other = draw([n if keep else 1 for n, keep in zip(shape, kept[5:], strict=False)])

    def f(x: Any, y: Any, z: Any) -> Any:
        return cnp.sum(cnp.sum(x * y + z, axis=-1) * cnp.sum(x - y * z, axis=-1))

    check(f, draw(shape), some, other)


@pytest.mark.parametrize("n", [*range(1, 34), 40])
def test_sums_are_those_of_numpy_to_the_last_bit(n: int) -> None:
    x = np.random.default_rng(n).standard_normal((300, n)) * 10.0 ** (np.arange(n) % 9)

    def f(x: Any) -> Any:
        sums = cnp.sum(x, axis=1)
        return cnp.sum(sums), sums

    (_, sums), _ = cadiff.value_and_grad(f, has_aux=True)(x)
    npt.assert_array_equal(cadiff.value(sums), np.sum(x, axis=1))
