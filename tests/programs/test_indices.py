"""Arrays of indices among the arguments of programs: one recording serves all of them.

What a program gives is compared with f itself, run eagerly on the same indices.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy as cnp

from ..helpers.integers import LABELS, TABLE, N, check, near, points, replaced, row
from ..helpers.properties import examples


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


@pytest.mark.parametrize("name", INDEXING)
def test_indices_that_change_are_inputs(name: str) -> None:
    rng = np.random.default_rng(2)
    check(INDEXING[name], [(row(rng), points(rng, int)) for _ in range(5)], 2)


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


def test_memory_stays_as_it_is() -> None:
    program = cadiff.compile(lambda x, i: cnp.sum(x[i] ** 2))
    rng = np.random.default_rng(11)
    x = rng.normal(size=1000)
    for _ in range(20):
        i = rng.integers(0, 1000, 10_000)
        near(program.grad(x, i), 2.0 * x * np.bincount(i, minlength=1000))
    assert program.stats()["recordings"] == 2


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


@pytest.mark.parametrize("method", ["__call__", "grad", "jacobian", "hessian"])
def test_indices_are_checked_where_no_derivative_depends_on_them(method: str) -> None:
    table = np.arange(5.0)
    program = cadiff.compile(lambda x, i: cnp.sum(table[i]) + x[0] ** 2)
    x = np.ones(2)
    for k in range(3):
        getattr(program, method)(x, np.array([k, k + 1]))
    for _ in range(2):
        with pytest.raises(IndexError, match="index 99 is out of bounds"):
            getattr(program, method)(x, np.array([1, 99]))
    with pytest.raises(IndexError, match="index 99 is out of bounds"):
        program.hvp(x, x, np.array([1, 99]))
    assert program.stats()["recordings"] == 2


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


@pytest.mark.parametrize("where", ["taken", "of a table", "assigned"])
def test_an_index_that_nothing_needs_is_checked(where: str) -> None:
    table = np.arange(4.0)

    def f(x: Any, k: Any) -> Any:
        if where == "taken":
            x[k]
        elif where == "of a table":
            table[k]
        else:
            y = cnp.zeros(4)
            y[k] = 3.0
        return cnp.sum(x)

    program = cadiff.compile(f)
    for k in range(4):
        near(program.grad(np.ones(4), k), np.ones(4))
    for call in (program, program.grad):
        with pytest.raises(IndexError, match="out of bounds"):
            call(np.ones(4), 4)


# --- random expressions --------------------------------------------------------------------------


@st.composite
def expressions(draw: st.DrawFn) -> Callable[[Any, Any], Any]:
    """Functions of a vector of 6 numbers and one of 4 indices, which give 4 numbers."""

    def of_indices(depth: int) -> Callable[[Any], Any]:
        kind = draw(st.sampled_from("iirlmsc")) if depth else "i"
        inner = of_indices(depth - 1) if depth else None
        other = of_indices(depth - 1) if depth else None
        if inner is None or other is None:
            return lambda i: i
        k = draw(st.integers(-2, 2))
        return {
            "i": lambda i: i,
            "r": lambda i: inner(i)[::-1],
            "l": lambda i: LABELS[inner(i)],
            "m": lambda i: np.minimum(inner(i), other(i)),
            "s": lambda i: np.maximum(np.minimum(inner(i) * k - other(i), N - 1), -N),
            "c": lambda i: np.where(inner(i) > k, other(i), inner(i)),
        }[kind]

    def of_numbers(depth: int) -> Callable[[Any, Any], Any]:
        index, second = of_indices(2), of_indices(1)
        kind = draw(st.sampled_from("gtpsfmw")) if depth else "g"
        inner = of_numbers(depth - 1) if depth else (lambda x, i: x[:4])
        return {
            "g": lambda x, i: x[index(i)],
            "t": lambda x, i: TABLE[index(i)] @ inner(x, i)[:3],
            "p": lambda x, i: cnp.outer(x, cnp.sin(x))[index(i), second(i)] * inner(x, i),
            "s": lambda x, i: inner(x, i) + inner(x, i)[np.minimum(abs(index(i)), 3)],
            "f": lambda x, i: inner(x, i) * index(i),
            "m": lambda x, i: cnp.sum(inner(x, i)) * x[second(i)],
            "w": lambda x, i: cnp.where(index(i) < second(i), inner(x, i), x[index(i)]),
        }[kind]

    return of_numbers(3)


@examples(30)
@given(expressions(), st.integers(0, 2**32 - 1))
def test_random_expressions(f: Callable[[Any, Any], Any], seed: int) -> None:
    rng = np.random.default_rng(seed)

    def plain(x: Any, i: Any) -> Any:
        return cnp.sum(cnp.cos(f(x, i)))

    program = cadiff.compile(plain)
    for _ in range(3):
        x, i, v = row(rng), points(rng, int), row(rng)
        near(program(x, i), plain(x, i))
        near(program.grad(x, i), cadiff.grad(plain)(x, i))
        near(program.hvp(x, v, i), cadiff.hvp(plain)(x, v, i))
    assert program.stats()["recordings"] <= 2


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
