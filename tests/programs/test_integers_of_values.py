"""Integers that f computes from the values of numbers: each replay computes them anew.

As indices and factors they need no guard; returned, they are what f returns.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.integers import GRID, HEIGHTS, check, near

FINE = np.linspace(0.0, 10.0, 900)


def between(t: Any, i: Any) -> Any:
    w = (t - GRID[i]) / (GRID[i + 1] - GRID[i])
    return (1.0 - w) * HEIGHTS[i] + w * HEIGHTS[i + 1]


def whole(t: Any) -> Any:
    return cadiff.value(t).astype(int)


# Of a vector of 4 numbers between 0 and 10: what takes one recording.
COMPUTED: dict[str, Callable[[Any], Any]] = {
    "truncated": lambda t: between(t, whole(t)),
    "of another kind": lambda t: HEIGHTS[cadiff.value(t).astype(np.uint8)] * t,
    "floor": lambda t: between(t, np.floor(cadiff.value(t)).astype(np.int32)),
    "nearest": lambda t: HEIGHTS[np.rint(cadiff.value(t) * 0.5 + 1.0).astype(int)] * t**2,
    "clipped": lambda t: HEIGHTS[np.clip(np.floor(cadiff.value(t) - 3.0), 0, 4).astype(int)] * t,
    "searched": lambda t: between(t, np.searchsorted(GRID, t, "right") - 1),
    "searched by values": lambda t: HEIGHTS[np.searchsorted(GRID, cadiff.value(t))] * t,
    "searched in many": lambda t: FINE[np.searchsorted(FINE, t)] * t,
    "searched in numbers": lambda t: (
        t[np.searchsorted(np.sort(GRID[:3] * 1.0), t[:2]) - 1] * t[:2]
    ),
    "binned": lambda t: HEIGHTS[np.digitize(t, GRID[1:])] * t + np.digitize(t, GRID, right=True),
    "of numbers": lambda t: t[np.minimum(whole(t), 3)] * t,
    "of a column": lambda t: cnp.outer(t, t**2)[:, np.minimum(whole(t), 3)][0],
    "factor": lambda t: t * whole(t) + (t - whole(t)) ** 2,
    "plain value": lambda t: t * cadiff.value(t) + cadiff.value(t).sum(),
    "choice": lambda t: cnp.where(cadiff.value(t) > 5.0, t**2, -t),
    "gradient within": lambda t: cadiff.grad(lambda v: cnp.sum(between(v, whole(v)) ** 2))(t),
    "jvp within": lambda t: cadiff.jvp(lambda v: between(v, whole(v)) ** 2, (t,), (t,))[1],
}


@pytest.mark.parametrize("name", COMPUTED)
def test_integers_computed_from_values(name: str) -> None:
    f = COMPUTED[name]
    rng = np.random.default_rng(12)
    check(f, [(rng.uniform(0.1, 9.9, 4),) for _ in range(4)], 1)
    t, v = rng.uniform(0.1, 9.9, 4), rng.normal(size=4)
    near(cadiff.compile(f).jvp((t,), (v,))[1], cadiff.jvp(f, (t,), (v,))[1])


def test_data_become_integers() -> None:
    def f(w: Any, t: Any) -> Any:
        return w * HEIGHTS[t.astype(int)] * t

    rng = np.random.default_rng(16)
    check(f, [(rng.normal(size=4), rng.uniform(0.0, 9.9, 4)) for _ in range(4)], 1)


def at_number(t: Any) -> Any:
    i = int(cadiff.value(t))
    return (1.0 - (t - i)) * HEIGHTS[i] + (t - i) * HEIGHTS[i + 1]


@pytest.mark.parametrize(
    "f",
    [
        at_number,
        lambda t: [1.0, 2.0, 3.0, 4.0][math.ceil(cadiff.value(t))] * t,
        lambda t: t * (2.0 if cadiff.value(t) > 1.0 else 3.0),
        lambda t: sum(t**k for k in range(int(cadiff.value(t)))),
    ],
)
def test_ints_that_python_reads_are_guards(f: Callable[[Any], Any]) -> None:
    program = cadiff.compile(f)
    for t in (0.25, 0.5, 1.25, 2.75, 0.75, 1.75, 0.3):
        near(program(t), f(t))
        near(program.grad(t), cadiff.grad(f)(t))
    stats = program.stats()
    assert (stats["eager"], stats["obstacles"]) == (0, [])
    assert 2 <= stats["recordings"] <= 4


@pytest.mark.parametrize(
    "f",
    [
        lambda t: t ** round(cadiff.value(t)),
        lambda t: HEIGHTS[math.floor(cadiff.value(t))] * t,
        lambda t: HEIGHTS[(math.ceil(cadiff.value(t) * 2.0) + 1) // 2 - 1] * t,
        lambda t: (lambda i: (t - i) * HEIGHTS[i] + HEIGHTS[-i - 1])(math.trunc(cadiff.value(t))),
    ],
)
def test_ints_that_only_index_or_compute_are_no_guards(f: Callable[[Any], Any]) -> None:
    program = cadiff.compile(f)
    for t in (0.25, 0.5, 1.25, 2.75, 0.75, 1.75, 9.5, 0.3):
        near(program(t), f(t))
        near(program.grad(t), cadiff.grad(f)(t))
    stats = program.stats()
    assert (stats["recordings"], stats["eager"], stats["obstacles"]) == (1, 0, [])
    for outside in (1e300, np.nan, np.inf):
        for run in (f, program):
            with pytest.raises((IndexError, ValueError, OverflowError)):
                run(outside) if f(0.0) != 1.0 or outside != 1e300 else [][0]


@pytest.mark.parametrize("outside", [np.nan, np.inf, 1e20, 300.0, -0.5])
def test_values_that_are_no_indices(outside: float) -> None:
    def f(t: Any) -> Any:
        return HEIGHTS[cadiff.value(t).astype(np.uint8)] * t

    program = cadiff.compile(f)
    t = np.array([1.5, 2.5])
    near(program(t), f(t))
    given = np.array([1.5, outside])
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = f(given)
        except IndexError:
            with pytest.raises(IndexError):
                program(given)
        else:
            near(program(given), expected)
    near(program(t + 0.25), f(t + 0.25))


def test_a_nan_is_searched_for_as_by_numpy() -> None:
    program = cadiff.compile(lambda t: cnp.sum(t[:1]) * np.searchsorted(GRID, t).sum())
    for t in ([1.0, 2.0], [3.0, np.nan], [0.5, 11.0]):
        assert program(np.array(t)) == t[0] * np.searchsorted(GRID, t).sum()


def test_values_that_are_kept_are_an_obstacle() -> None:
    """A replay would not append to a list."""
    history: list[Any] = []

    def note(where: list[Any], what: Any) -> None:
        where.append(what)

    def f(x: Any) -> Any:
        note(history, cadiff.value(x) * 2.0)
        return x * x

    program = cadiff.compile(f)
    with pytest.warns(RuntimeWarning, match="it changes history"):
        assert program(3.0) == 9.0
    for _ in range(3):
        assert program(3.0) == 9.0
    assert [float(x) for x in history] == [6.0] * 4


@pytest.mark.parametrize("seen", ["value", "place", "count"])
def test_what_wants_plain_numbers_gets_them(seen: str) -> None:
    """What is indexed anew is a number with derivatives; not all functions take such."""

    def f(x: Any) -> Any:
        if seen == "value":
            i = cadiff.value(x).astype(int)
        elif seen == "place":
            i = np.searchsorted(GRID, x)
        else:
            i = (x > 2.0).astype(int)
        return x * sum(map(math.sqrt, GRID[i]))

    program = cadiff.compile(f)
    rng = np.random.default_rng(13)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            x = rng.uniform(0.0, 9.0, 3)
            near(program(x), f(x))
            near(program.jacobian(x), cadiff.jacobian(f)(x))


def test_values_of_closures_that_refer_to_themselves() -> None:
    def f(x: Any) -> Any:
        i = cadiff.value(x).astype(int)

        def power(k: int) -> Any:
            return x[i] if k == 0 else power(k - 1) * x

        return power(2)

    program = cadiff.compile(f)
    near(program(np.array([0.5, 1.5])), f(np.array([0.5, 1.5])))
    assert program.stats()["obstacles"] == []


def test_points_of_a_batch_have_indices_of_their_own() -> None:
    def f(t: Any) -> Any:
        return cnp.sum(between(t, whole(t)) ** 2)

    program = cadiff.compile(f)
    points = np.random.default_rng(14).uniform(0.0, 9.9, (40, 3))
    near(program.batch(points), [f(t) for t in points])
    values, gradients = program.batch(points, what="value_and_grad", threads=2)
    near(values, [f(t) for t in points])
    near(gradients, [cadiff.grad(f)(t) for t in points])
    with pytest.raises(IndexError):
        program.batch(points + 5.0)


def test_values_that_are_read_are_an_obstacle() -> None:
    program = cadiff.compile(lambda x: x * float(cadiff.value(x)))
    with pytest.warns(RuntimeWarning, match=r"cadiff.value\(v\) is a value"):
        assert program(3.0) == 9.0
    assert program(4.0) == 16.0


# --- single integers that are returned -----------------------------------------------------------

RETURNED: dict[str, Callable[[Any], Any]] = {
    "searched for": lambda x: np.searchsorted(x, 0.3),
    "searched for by a number": lambda x: np.searchsorted(np.arange(4.0), x[0]),
    "of a bin": lambda x: np.digitize(x[0], [0.0, 1.0, 2.0]),
    "in containers": lambda x: {"at": (np.searchsorted(x, x[2]), [np.searchsorted(x, 0.3)])},
    "narrow": lambda x: np.searchsorted(x, 0.3).astype(np.int16),
    "computed": lambda x: np.searchsorted(x, 0.3) ** 2 - 1,
    "copied": lambda x: np.searchsorted(x, 0.3).copy(),
    "an element": lambda x: np.floor(cadiff.value(x)).astype(int)[1],
    "an array without axes": lambda x: np.squeeze(np.floor(cadiff.value(x[:1])).astype(np.int32)),
    "an array without axes of the other byte order": lambda x: np.floor(cadiff.value(x)).astype(
        ">i4"
    )[..., 0],
    "a count": lambda x: np.count_nonzero(x > 0.3) + np.int64(0),  # older NumPy gives an int
    "a length": lambda x: len(x[x > 0.3]),
    "a bool": lambda x: np.any(x > 0.3),
}


@pytest.mark.parametrize("name", RETURNED)
def test_single_integers_are_returned_as_f_returns_them(name: str) -> None:
    f = RETURNED[name]
    data = [np.arange(4.0), np.arange(4.0) / 2.0 + 0.1, np.array([-1.0, 0.1, 0.2, 0.25])]
    expected = [f(x) for x in data]
    assert len({*map(repr, expected)}) > 1
    program = cadiff.compile(f)
    for x, wanted in [*zip(data, expected, strict=True)] * 3:
        found = program(x)
        assert repr(found) == repr(wanted)
        assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)
