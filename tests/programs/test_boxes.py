"""What is put together of others, by rolls, joins, additions in place, is read where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as np

Array = Any
Move = Callable[[Array], Array]


def shifted(u: Array, by: int, axis: int) -> Array:
    """Neighbours, and zeros where there are none."""
    padded = np.pad(u, [(abs(by), abs(by)) if k == axis else (0, 0) for k in range(u.ndim)])
    return np.roll(padded, by, axis)[
        tuple(slice(abs(by), -abs(by)) if k == axis else slice(None) for k in range(u.ndim))
    ]


def with_edges(u: Array, by: int, axis: int) -> Array:
    """The inner rows doubled, those at both ends as they are."""
    u = np.moveaxis(u, axis, 0)
    return np.moveaxis(np.concatenate([u[:by], 2.0 * u[by:-by], u[-by:]]), 0, axis)


def assigned(u: Array, by: int, axis: int) -> Array:
    y = u * 0.5
    y[by:-by] += u[: -2 * by]
    return y


def random_order(u: Array, by: int, axis: int) -> Array:
    return u.ravel()[numpy.random.default_rng(by).permutation(u.size)].reshape(u.shape)


MOVES = (
    lambda u, by, axis: np.roll(u, by, axis),
    lambda u, by, axis: np.roll(u, -by, axis),
    lambda u, by, axis: np.flip(u, axis),
    lambda u, by, axis: u / (by + u * u),
    lambda u, by, axis: np.where(u > 0.1 * by, u, -u),
    *(shifted, with_edges, assigned, random_order),
)


def combined(moves: list[tuple[int, int, int]], u: Array) -> Array:
    y = u
    for which, by, axis in moves:
        y = 0.5 * MOVES[which](y, by, axis % u.ndim) + 0.25 * u - y * 0.1
    return y


@given(
    st.sampled_from([(2500,), (48, 53), (50, 60), (12, 15, 16), (1, 2600), (1300, 2)]),
    st.lists(
        st.tuples(st.integers(0, len(MOVES) - 1), st.integers(1, 3), st.integers(0, 2)),
        min_size=1,
        max_size=5,
    ),
)
def test_programs_give_what_arrays_give(
    shape: tuple[int, ...], moves: list[tuple[int, int, int]]
) -> None:
    if 1 in shape or 2 in shape:
        moves = [(which, by, int(numpy.argmax(shape))) for which, by, _ in moves]
    u, v = (numpy.random.default_rng(k).normal(size=shape) for k in (0, 1))
    program = cadiff.compile(lambda u: combined(moves, u))
    loss = cadiff.compile(lambda u: np.sum(combined(moves, u) ** 2))
    eager = cadiff.grad(lambda u: np.sum(combined(moves, u) ** 2))
    for x in (u, v):
        assert numpy.array_equal(program(x), combined(moves, x))
        numpy.testing.assert_allclose(loss.grad(x), eager(x), rtol=1e-12, atol=1e-12)


def heat(u: Array, k: float) -> Array:
    neighbours = sum(np.roll(u, by, axis) for by in (1, -1) for axis in (0, 1))
    return u + k * (neighbours - 4.0 * u)


def test_steps_go_round_loops_in_boxes() -> None:
    program = cadiff.compile(lambda u, k: cadiff.fori_loop(0, 30, lambda i, u: heat(u, k), u))
    u = expected = numpy.random.default_rng(0).random((50, 50))
    assert numpy.array_equal(cadiff.compile(heat)(u, 0.1), heat(u, 0.1))
    for _ in range(30):
        expected = heat(expected, 0.1)
    assert numpy.array_equal(program(u, 0.1), expected)
    loss = cadiff.compile(lambda u: np.sum(program(u, 0.1) ** 2))
    along = numpy.random.default_rng(1).normal(size=u.shape)
    by_differences = (loss(u + 1e-6 * along) - loss(u - 1e-6 * along)) / 2e-6
    assert numpy.vdot(loss.grad(u), along) == pytest.approx(by_differences, rel=1e-7)


def test_numbers_that_are_added_to_one_twice_stay_apart() -> None:
    index = numpy.arange(2500) // 2

    def f(u: Array) -> Array:
        return np.sum(np.sin(u[index] * np.roll(u, 1)) ** 2)

    u = numpy.random.default_rng(0).normal(size=2500)
    numpy.testing.assert_allclose(cadiff.compile(f).grad(u), cadiff.grad(f)(u), rtol=1e-12)


def test_guards_and_calls_are_there_beside_boxes() -> None:
    def f(u: Array, k: float) -> Array:
        y = heat(u, k)
        if y[0, 0] > 0.5:
            y = y * np.linalg.det(y[:3, :3])
        return np.sum(y * u)

    program = cadiff.compile(f)
    for seed in range(6):
        u = numpy.random.default_rng(seed).random((50, 50))
        assert program(u, 0.1) == pytest.approx(f(u, 0.1), rel=1e-13)
        numpy.testing.assert_allclose(program.grad(u, 0.1), cadiff.grad(f)(u, 0.1), rtol=1e-11)
