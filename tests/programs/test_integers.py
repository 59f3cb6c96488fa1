"""Integers and masks, as arguments of programs or computed from values: they index, count, choose.

Arguments that change are inputs; what is computed from values is so anew in each replay; what is
read is a constant. All that a program gives is what f itself gives of the same integers.
"""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.integers import GRID, HEIGHTS, LABELS, TABLE, N, check, near, points, replaced, row


def added(y: Any, at: Any, by: Any) -> Any:
    y = y * 1.0
    y[at] += by
    return y


def summed_at(y: Any, at: Any, by: Any) -> Any:
    y = y * 1.0
    np.add.at(y, at, by)
    return y


SHARING = np.linspace(1.0, 2.0, 9)  # enough rows for a step


# Of a vector x of 6 numbers and a vector of 4 indices.
INDEXING: dict[str, Callable[[Any, Any], Any]] = {
    "elements": lambda x, i: cnp.sin(x[i]) * x[0],
    "elements twice": lambda x, i: x[i] * x[i[::-1]] + x[np.maximum(i, -5) - 1],
    "reversed": lambda x, i: x[::-1][i] * x[::-2][np.minimum(abs(i), 2)],
    "view": lambda x, i: (x * x)[1:][np.minimum(np.maximum(i, -5), 4)],
    "of indices": lambda x, i: x[LABELS[i]] * x[i][::-1],
    "of lifted indices": lambda x, i: x[i[np.minimum(np.abs(i), 3)]],
    "rows of a constant": lambda x, i: TABLE[i] @ x[:3],
    "rows": lambda x, i: cnp.outer(x, x**2)[i].sum(axis=1),
    "columns": lambda x, i: cnp.outer(x, x**2)[:, i][1],
    "columns of rows": lambda x, i: cnp.outer(x, x**2)[1:3, i].sum(axis=0),
    "last axis": lambda x, i: cnp.outer(x, x**2)[..., i][2],
    "new axis": lambda x, i: (x[None, i] * x[i, None])[1],
    "pairs": lambda x, i: cnp.outer(x, x**2)[i, i[::-1]],
    "pairs with an array": lambda x, i: cnp.outer(x, x**2)[i, LABELS[:4]],
    "pairs with an int": lambda x, i: cnp.outer(x, x**2)[i, -2] + cnp.outer(x, x**2)[3, i],
    "pairs apart": lambda x, i: (cnp.outer(x, x)[:, :, None] * x)[i, :2, 3].sum(axis=1),
    "pairs apart, twice": lambda x, i: (cnp.outer(x, x)[:, :, None] * x)[i, :2, i].sum(axis=1),
    "matrix of indices": lambda x, i: x[i.reshape(2, 2)].T @ x[i[:2]] * x[i[0]],
    "one of them": lambda x, i: x[i[1]] * x,
    "take": lambda x, i: cnp.take(x, i) * cnp.take(cnp.outer(x, x), i, axis=1)[0],
    "take along": lambda x, i: cnp.take_along_axis(cnp.outer(x, x)[:4], i[:, None], 1)[:, 0],
    "factor": lambda x, i: x[:4] * i + x[0] * i.mean() + x[i] ** 2 * i.sum(),
    "arithmetic": lambda x, i: x[-abs(i)] + x[np.minimum(2 * i[::-1] + N, N - 1)],
    "comparison": lambda x, i: cnp.where(i > 1, x[i], x[0]) + (i == 2) * x[:4],
    "nothing": lambda x, i: x * 2.0,
    "quotient": lambda x, i: x[(i + N) // 3] * divmod(i, 4)[1] + (i % 3 == 0) * x[:4],
    "extremes": lambda x, i: x[i.max()] * np.min(i) * x[np.clip(i, -2, 3)] + i.prod(),
    "powers": lambda x, i: x[:4] ** (i % 3) * i**3 + np.exp(-0.1 * i) * np.sqrt(i + N),
    "moved": lambda x, i: x[np.roll(i, 1)] * np.concatenate([i[:1], np.flip(i)[1:]]) + i.ravel(),
    "another size": lambda x, i: x[i.astype(np.int32)] * i.astype(np.int16),
    "assignment": lambda x, i: replaced(x, i, 2.0) * x,
    "assignment of elements": lambda x, i: replaced(x, i, x[i[::-1]]) * x,
    "assignment of pairs": lambda x, i: replaced(cnp.outer(x, x), (i, i[::-1]), x[:4])[0],
    "assignment of rows": lambda x, i: replaced(cnp.outer(x, x), i, x)[2],
    "assignment of an element": lambda x, i: replaced(x, i[0], x[1] * 2.0) * x,
    "addition in place": lambda x, i: added(x, i, x[:4] ** 2),
    "sums at indices": lambda x, i: summed_at(x, i, x[2:]) * x,
    "mapped": lambda x, i: cadiff.vmap(lambda k: x[k] ** 2 * k)(i),
    "mapped, of an axis": lambda x, i: cadiff.vmap(lambda k: x[k], 1, 1)(i.reshape(2, 2))[0],
    "shared by rows": lambda x, i: cadiff.vmap(lambda y, k: y * x[k], (0, None))(SHARING, i)[8],
    "counts": lambda x, i: np.bincount(i + N, minlength=2 * N)[:N] * x,
    "weighted counts": lambda x, i: cnp.bincount(i % 3, weights=x[:4], minlength=3)[0] * x,
    "rows of numbers": lambda x, i: cnp.outer(x, x)[i[2]] * x + TABLE[i[1]] @ x[:3],
    "gradient within": lambda x, i: cadiff.grad(lambda v: cnp.sum(v[i] ** 3))(x) * x,
    "jvp within": lambda x, i: cadiff.jvp(lambda v: v[i] ** 3, (x,), (x,))[1],
}


# Of the same; values are read, so that recordings keep the integers as constants.
READING: dict[str, Callable[[Any, Any], Any]] = {
    "turns": lambda x, i: sum(x[k] for _, k in zip(range(abs(int(i[0]))), i, strict=False)) * x,
    "branch": lambda x, i: x if i[0] > 2 else -x,
    "key": lambda x, i: {k: k * 0.5 for k in range(-N, N)}[i[1]] * x,
    "unique": lambda x, i: x[np.unique(i)].sum() * x,
    "sorted": lambda x, i: x[np.sort(i)],
    "list": lambda x, i: x[i.tolist()],
    "plain take": lambda x, i: np.take(TABLE, i, axis=0) @ x[:3],
    "text": lambda x, i: len(str(i)) * x,
    "bits": lambda x, i: x[(i << 1) >> 1] * (i & 3),
    "asserted": lambda x, i: x[i] * (1.0 if type(i) is np.ndarray else 2.0),
}


CHOOSING: dict[str, Callable[[Any, Any], Any]] = {
    "where": lambda x, m: cnp.where(m, x**2, -x),
    "factor": lambda x, m: m * x + (1 - m) * x**3,
    "logic": lambda x, m: cnp.where(~m | (x > 1.0), x, x**2) * m.sum(),
    "assigned": lambda x, m: replaced(x, m, 3.0) * x,
    "any": lambda x, m: x * 2.0 if m.any() else x**2,
    "mean": lambda x, m: m.mean() * x + np.sum(m) * x**2,
    "mapped": lambda x, m: cadiff.vmap(lambda x, m: np.where(~m, x, x**2))(x, m),
    "rows": lambda x, m: cadiff.vmap(lambda m: ~m)(m.reshape(2, 3)).reshape(-1) * x,
    "moved": lambda x, m: np.flip(m) * x + np.concatenate([m[4:], np.repeat(x[:2] > 0.0, 2)]) * x,
}


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


OF_DATA: dict[str, Callable[[Any, Any], Any]] = {
    "an index": lambda w, t: w * HEIGHTS[t.astype(int)] * t,
}
Draw = Callable[[np.random.Generator], tuple[Any, ...]]
# Of each table how arguments are drawn, and how many recordings serve all of them.
TABLES: dict[str, tuple[dict[str, Callable[..., Any]], Draw, int | None]] = {
    "indices": (INDEXING, lambda rng: (row(rng), points(rng, int)), 2),
    "read": (READING, lambda rng: (row(rng), points(rng, int)), None),
    "masks": (CHOOSING, lambda rng: (row(rng), rng.random(N) < 0.5), 3),
    "computed": (COMPUTED, lambda rng: (rng.uniform(0.1, 9.9, 4),), 1),
    "data": (OF_DATA, lambda rng: (rng.normal(size=4), rng.uniform(0.0, 9.9, 4)), 1),
}


@pytest.mark.parametrize(
    ("table", "name"), [(table, name) for table, (rows, *_) in TABLES.items() for name in rows]
)
def test_programs_give_what_f_gives(table: str, name: str) -> None:
    functions, draw, recordings = TABLES[table]
    rng = np.random.default_rng(2)
    f = functions[name]
    calls = [draw(rng) for _ in range(5)]
    if table == "masks":
        calls.append((row(rng), np.zeros(N, bool)))
    check(f, calls, recordings)
    if table == "computed":
        (t,), v = calls[0], rng.normal(size=4)
        near(cadiff.compile(f).jvp((t,), (v,))[1], cadiff.jvp(f, (t,), (v,))[1])


# --- arrays of indices -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8", "strided", "read-only"]
)
def test_indices_of_every_kind(dtype: str) -> None:
    def f(x: Any, i: Any) -> Any:
        return cnp.sum(x[i] * cnp.cos(TABLE[i, 1]))

    rng = np.random.default_rng(3)
    program = cadiff.compile(f)
    for _ in range(4):
        x, i = row(rng), points(rng, dtype if dtype[-1].isdigit() else int)
        if dtype == "strided":
            i = np.repeat(i, 3)[::3]
        i.setflags(write=dtype != "read-only")
        near(program.value_and_grad(x, i)[1], cadiff.grad(f)(x, i))
        near(program(x, i), f(x, i))
    assert program.stats()["recordings"] == 2


@pytest.mark.parametrize("name", ["elements", "rows of a constant", "pairs", "columns", "take"])
@pytest.mark.parametrize("outside", [N, -N - 1, 2**40, -(2**60)])
def test_an_index_out_of_bounds_is_numpys_error(name: str, outside: int) -> None:
    f = INDEXING[name]
    rng = np.random.default_rng(4)
    program = cadiff.compile(f)
    for k in range(6):
        x, i = row(rng), points(rng, int)
        near(program(x, i), f(x, i))
        near(program.jacobian(x, i), cadiff.jacobian(f)(x, i))
        i[k % 4] = outside
        for run in (program, program.jacobian):
            with pytest.raises(IndexError, match=f"index {outside} is out of bounds"):
                run(x, i)
    assert program.stats()["recordings"] <= 4


def of_pairs(x: Any, i: Any) -> Any:
    return cnp.sum(cnp.sin(x[i]) * TABLE[i, 1] * cadiff.grad(lambda v: cnp.sum(v[i] ** 2))(x)[i])


def test_recordings_with_indices_are_pickled() -> None:
    program = cadiff.compile(of_pairs)
    rng = np.random.default_rng(10)
    for _ in range(3):
        x, i = row(rng), points(rng, int)
        program.value_and_grad(x, i)
    again = pickle.loads(pickle.dumps(program))
    for _ in range(3):
        x, i = row(rng), points(rng, int)
        near(again.grad(x, i), cadiff.grad(of_pairs)(x, i))
    assert again.stats()["recordings"] == 0
    with pytest.raises(IndexError):
        again.grad(x, np.full(4, N))


def test_rows_are_added_at_indices_that_change() -> None:
    """A gradient that is recorded adds whole rows, one behind the other."""
    x = np.random.default_rng(5).normal(size=(4, 3))

    def slope(x: Any, i: Any) -> Any:
        return cadiff.grad(lambda y: cnp.sum(y[i] ** 3))(x)

    program = cadiff.compile(slope)
    for i in ([0, 2, 2], [1, 3, 0], [3, 3, 3]):
        expected = np.zeros_like(x)
        np.add.at(expected, i, 3.0 * x[i] ** 2)
        near(program(x, np.array(i)), expected)
    assert program.stats()["recordings"] <= 2


@pytest.mark.parametrize("n", [1, 255, 256, 257, 600])
def test_rows_of_many_indices(n: int) -> None:
    rng = np.random.default_rng(3)
    gradient = cadiff.compile(lambda x, at, c: cnp.sum(x[at] * c)).grad
    x = rng.normal(size=50)
    for _ in range(3):
        at, c = rng.integers(-50, 50, n), rng.normal(size=n)
        near(gradient(x, at, c), np.bincount(at % 50, c, minlength=50))
        for k, outside in ((0, 50), (n - 1, -51), (n // 2, 2**53), (n // 2, -(2**63))):
            wrong = at.copy()
            wrong[k] = outside
            with pytest.raises(IndexError):
                gradient(x, wrong, c)


def test_listings_and_c_know_indices() -> None:
    program = cadiff.compile(lambda x, i: cnp.sum(x[i] ** 2))
    x = np.ones(N)
    for k in range(2):
        program.grad(x, np.arange(k, k + 4))
    text = program.to_text()
    assert "take by " in text
    assert "add by " in text
    assert "take by" in program.to_dot()
    assert "double" in program.to_c(x, np.arange(4))  # there they are constants


def test_a_large_array_that_is_only_indexed_stays_where_it_is() -> None:
    def f(w: Any, table: Any, i: Any) -> Any:
        return cnp.sum((table[i] @ w) ** 2)

    program = cadiff.compile(f)
    rng = np.random.default_rng(15)
    for k in range(8):
        w, i = rng.normal(size=3), rng.integers(0, 50, 5)
        table = rng.normal(size=(50, 3))
        table = (table, np.asfortranarray(table), table.astype(np.float32), table[::-1])[k % 4]
        near(program.grad(w, table, i), cadiff.grad(f)(w, table, i))
        near(program.hessian(w, table, i), cadiff.hessian(f)(w, table, i))
        near(program.grad(w, table, i, argnums=1), cadiff.grad(f, 1)(w, table, i))
        near(program(w, table, i), f(w, table, i))


def test_rows_that_are_views_for_numpy() -> None:
    """What is assigned to a row is assigned to the matrix, and the other way round."""

    def of_numbers(x: Any, k: Any) -> Any:
        y = cnp.outer(x, x)
        first, last = y[k], y[-1]
        last[0] = 5.0
        first[1] = 7.0
        y[k, 2] = 8.0
        return y + first

    def of_plain(x: Any, k: Any) -> Any:
        table = TABLE.copy()
        first = table[k]
        table[:, 0] = 1.0
        return x[:3] * first

    for f in (of_numbers, of_plain):
        program = cadiff.compile(f)
        rng = np.random.default_rng(18)
        for k in (0, 1, 2, -1, 3):
            x = row(rng)
            for index in (k, np.array([k]), np.int64(k)):
                at = index if np.ndim(index) == 0 else index[0]
                near(program(x, at), f(x, at))
                near(program.jacobian(x, at), cadiff.jacobian(f)(x, at))


def test_floats_are_no_indices_of_take() -> None:
    def f(x: Any) -> Any:
        return cnp.sum(cnp.take(x, (x > 0.3) / 2, mode="clip"))

    for g in (f, cadiff.grad(f), cadiff.compile(f)):
        with pytest.raises(TypeError, match="Cannot cast"):
            g(np.array([0.1, 0.5, 0.7]))


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 11, 64, 65])
@pytest.mark.parametrize("changes", [False, True])
def test_rows_are_taken_and_added_to_the_last_bit(width: int, changes: bool, across: bool) -> None:
    """Of an index that is a constant, and of one that changes, by rows and by columns."""
    rng = np.random.default_rng(width)
    table, weights = rng.standard_normal((40, width)), rng.standard_normal((2, 70, width))
    table[rng.random(table.shape) < 0.3] = -0.0

    def rows(t: Any, i: Any) -> Any:
        return t.T[:, i] if across else t[i]

    values = cadiff.compile(rows)
    loss = cadiff.compile(lambda t, i, w: cnp.sum(rows(t, i) * (w.T if across else w)))
    i = rng.integers(-40, 40, 70)
    for turn in range(3):
        i = rng.integers(-40, 40, 70) if changes else i
        found, w = values(table, i), weights[turn % 2]
        expected, sums = rows(table, i), np.zeros_like(table)
        np.add.at(sums, i, w)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
        np.testing.assert_array_equal(loss.grad(table, i, w), sums)


UNNEEDED: dict[str, Callable[[Any, Any], Any]] = {
    "taken": lambda x, k: (x[k], cnp.sum(x))[1],
    "of a table": lambda x, k: (HEIGHTS[:4][k], cnp.sum(x))[1],
    "summed of a table": lambda x, k: cnp.sum(HEIGHTS[:4][[0, k]]) * 0.0 + cnp.sum(x),
    "assigned": lambda x, k: (replaced(cnp.zeros(4), k, 3.0), cnp.sum(x))[1],
}


@pytest.mark.parametrize("method", ["__call__", "grad", "jacobian", "hessian"])
@pytest.mark.parametrize("name", UNNEEDED)
def test_an_index_that_nothing_needs_is_checked(name: str, method: str) -> None:
    program = cadiff.compile(UNNEEDED[name])
    for k in range(4):
        near(program.grad(np.ones(4), k), np.ones(4))
        getattr(program, method)(np.ones(4), k)
    for _ in range(2):
        with pytest.raises(IndexError):
            getattr(program, method)(np.ones(4), 4)
    with pytest.raises(IndexError):
        program.hvp(np.ones(4), np.ones(4), 4)


# --- arrays of integers and masks ------------------------------------------------------------


@pytest.mark.parametrize("n", [N, 200])  # by comparisons, and by a step
def test_a_mask_that_selects_has_a_guard_of_how_many(n: int) -> None:
    f = lambda x, m: cnp.sum(x[m] ** 2) + cnp.sum(x[np.flatnonzero(m)])  # noqa: E731
    program = cadiff.compile(f)
    rng = np.random.default_rng(7)
    for k in range(10):
        x, m = rng.normal(size=n), rng.permutation(n) < (n // 2 if k < 8 else 2)
        near(program.grad(x, m), (2.0 * x + 1.0) * m)
        near(program(x, m), f(x, m))
    assert program.stats()["recordings"] == 3


def test_only_what_changes_is_an_input() -> None:
    program = cadiff.compile(lambda x, i, j: cnp.sum(x[i] * x[j] ** 2))
    rng = np.random.default_rng(8)
    j = np.arange(4)
    for _ in range(4):
        x, i = row(rng), points(rng, int)
        near(program(x, i, j), np.sum(x[i] * x[j] ** 2))
    assert [trace["inputs"] for trace in program.stats()["traces"]] == [N, N + 4]


# --- exactly those of NumPy ----------------------------------------------------------------------


def test_integers_do_not_wrap_around_or_lose_digits() -> None:
    """Floats stand for integers only as long as these are exact in both."""

    def f(x: Any, i: Any) -> Any:
        return x[0] * (i * i * i).sum() + x[1] * (i + 100)[0]

    for dtype in (np.int64, np.int8, np.uint16, np.int32):
        program = cadiff.compile(f)
        most = min(np.iinfo(dtype).max, 2**62)
        for i in ([1, 2], [3, 4], [most // 3, 5], [100, 100], [2**21 % most, 3], [5, 6]):
            x, given = np.array([1.0, 2.0]), np.array(i, dtype=dtype)
            with np.errstate(over="ignore"):
                assert program(x, given) == f(x, given)
                near(program.grad(x, given), cadiff.grad(f)(x, given))


def test_integers_that_are_no_floats_are_constants() -> None:
    program = cadiff.compile(lambda x, i: x[0] * float((i - 2**60)[0]))
    first = cadiff.compile(lambda n: n + 1)
    for k in (0, 1, 2, 3):
        i = np.array([2**60 + k])
        assert program(np.ones(2), i) == k
        assert first(i).tolist() == [2**60 + k + 1]


# Of a vector x of 3 numbers, an int k, which changes, and a mask, which does.
EXACT_INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "divided by 0": lambda x, k: 7 // (x > 0.0).astype(int),
    "remainder by 0": lambda x, k: -7 % (x > 0.0).astype(int),
    "fmod by 0": lambda x, k: np.fmod(7, (x > 0.0).astype(int)),
    "both by 0": lambda x, k: divmod(np.array([5, -5, 3]), np.where(x > 0.0, -2, 0))[1],
    "int by 0": lambda x, k: k // np.where(x > 0.0, 3, 0) + k % (x > 1.0).astype(int),
    "by zeros": lambda x, k: (x > 0.0).astype(int) // np.array([0, 2, -1]),
    "counts": lambda x, k: np.sum(x > 0.0) // (np.sum(x > 0.0) - 1) * np.ones(3, int),
    "square": lambda x, k: np.square(np.where(x > 0.0, 2**40, 3)),
    "product": lambda x, k: np.multiply(np.where(x > 0.0, 2**40, 3), 2**30),
    "products": lambda x, k: np.prod(np.where(x > 0.0, 2**40, 3)) * np.ones(3, int),
    "power": lambda x, k: ((x > 0.0) + 2**32 - 1) ** 2,
    "table": lambda x, k: np.array([3, 2**40])[(x > 0.0).astype(int)] * 2**30,
    "small": lambda x, k: (x > 0.0).astype(np.int8) * 100 * 2,
    "sum": lambda x, k: np.cumsum(np.where(x > 0.0, 2**52, 1)) * 2**11,
    "matrix": lambda x, k: np.dot(np.where(x > 0.0, 2**40, 1), np.array([2**23] * 3)) + I3,
    "stack": lambda x, k: np.stack([k * I3, I3 + 2**53])[1] - 2**53,
    "hstack": lambda x, k: np.hstack([k, 2**60 + 1, 1]) % 10,
    "vstack": lambda x, k: np.vstack([k * I3, I3 + 2**62])[1] % 10,
    "column_stack": lambda x, k: np.column_stack([k * I3, I3 + 2**62])[:, 1] % 10,
    "unsigned": lambda x, k: np.stack([(x > 0.0).astype(np.uint64), I3.astype("u8") * 2**62])[1],
    "choice": lambda x, k: np.where(x > 0.0, 30 * k, (x > 1.0).astype(np.uint8)),
    "0-d array": lambda x, k: np.where(k > 1, k, 5) * I3,
}
I3 = np.array([1, 2, 3])


@pytest.mark.parametrize("name", EXACT_INTEGERS)
def test_integers_are_those_of_numpy(name: str) -> None:
    """Also where they are divided by 0, wrap around, or have more digits than floats."""
    make = EXACT_INTEGERS[name]

    def returned(x: Any, k: Any) -> Any:
        return make(x, k), x[0] * 2.0

    def used(x: Any, k: Any) -> Any:
        return cnp.sum(x * make(x, k))

    for optimize in (True, False):
        programs = [cadiff.compile(f, optimize=optimize) for f in (returned, used)]
        for signs, k in ((-1, 2), (0, 3), (1, 4), (2, 0), (-1, 7)):
            x = np.array([1.5, 2.5, -0.5]) * np.sign(np.arange(3) - signs + 0.5)
            with np.errstate(all="ignore"):
                found, expected = programs[0](x, k)[0], returned(x, k)[0]
                assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
                near(programs[1](x, k), used(x, k))
                near(programs[1].grad(x, k), cadiff.grad(used)(x, k))


def test_small_integers_of_masks_need_no_guard() -> None:
    program = cadiff.compile(lambda x: cnp.sum(x * ((x > 0.0) * 3 - 1)) * np.sum(x > 1.0) // 2)
    program(np.array([1.0, 2.0, -1.0]))
    assert program.stats()["traces"][0]["guards"] == 0


# --- integers in the first argument --------------------------------------------------------------

FIRST: dict[str, Callable[[Any], Any]] = {
    "an index": lambda i: cnp.sum(HEIGHTS[i] ** 2),
    "a count": lambda i: np.bincount(i, minlength=8),
    "a sum": lambda i: i + 1,
    "numbers": lambda i: cnp.sum(cnp.sin(i) * i),
}


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("name", FIRST)
def test_integers_come_first_in_plain_calls(name: str, dtype: Any) -> None:
    f = FIRST[name]
    draw = np.random.default_rng(5)
    points = draw.integers(0, 3, size=(6, 4)).astype(dtype)
    program = cadiff.compile(f)
    for call in (program, program.value):
        for i in points:
            found, wanted = call(i), f(i)
            assert np.asarray(found).dtype == np.asarray(wanted).dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-14)
    stats = program.stats()
    assert stats["recordings"] == 2 and stats["eager"] == 0
    np.testing.assert_allclose(program.batch(points), [f(i) for i in points], rtol=1e-14)


def test_integers_come_first_beside_what_is_differentiated() -> None:
    def f(i: Any, w: Any) -> Any:
        return cnp.sum(w[i] ** 2)

    program = cadiff.compile(f)
    w = np.arange(5.0)
    for i in (np.array([0, 2]), np.array([3, 3]), np.array([4, 1]), [0, 2], [1, 4]):
        wanted = cadiff.grad(f, 1)(i, w)
        assert program(i, w) == f(i, w)
        for found in (
            program.grad(i, w, argnums=1),
            cadiff.grad(lambda t, i=i: program(i, t))(w),
        ):
            np.testing.assert_array_equal(found, wanted)


def test_integers_that_f_needs_as_numbers_are_numbers() -> None:
    f = cadiff.compile(lambda x: cnp.sum(x**-1))
    g = cadiff.compile(lambda x: cnp.sum(x**-1))
    for x in (np.array([1, 2]), np.array([4, 5]), np.array([2, 8])):
        wanted = np.sum(1.0 / x)
        assert f(x) == f.value(x) == wanted
        assert g.value_and_grad(x)[0] == wanted
        np.testing.assert_allclose(f.grad(x), -1.0 / x**2, rtol=1e-14)
    assert f.stats()["recordings"] == 1 and f.stats()["eager"] == 0


def test_gradients_by_integers_are_those_of_floats() -> None:
    program = cadiff.compile(lambda x: cnp.sum(cnp.sin(x) * x))
    for x in (np.array([1, 2, 3]), np.array([4, 5, 6])):
        assert abs(program(x) - np.sum(np.sin(x) * x)) < 1e-14
        np.testing.assert_allclose(program.grad(x), np.cos(x) * x + np.sin(x), rtol=1e-14)
        assert "a function of 3 numbers" in program.to_c(x, name="f")


def test_what_f_raises_of_integers_is_its_own_error() -> None:
    program = cadiff.compile(FIRST["an index"])
    for i in (np.array([0, 1]), np.array([0, 99]), np.array([1, 99]), np.array([2, 1])):
        if i[1] < 99:
            assert program(i) == np.sum(HEIGHTS[i] ** 2)
        else:
            with pytest.raises(IndexError, match="99 is out of bounds"):
                program(i)


# --- computed from values --------------------------------------------------------------------


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
    with pytest.warns(RuntimeWarning, match="is a value"):
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
