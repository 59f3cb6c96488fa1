"""Arrays of integers and bools among the arguments of programs: inputs, as soon as they change.

They are computed with as NumPy does it, to the last digit; what is read of them is a constant.
What a program gives is compared with f itself, run eagerly on the same integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.integers import HEIGHTS, TABLE, N, near, points, replaced, row

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


@pytest.mark.parametrize("name", READING)
def test_integers_that_are_read_are_right(name: str) -> None:
    f = READING[name]
    rng = np.random.default_rng(5)
    program = cadiff.compile(f)
    for _ in range(6):
        x, i = row(rng), points(rng, int)
        near(program(x, i), f(x, i))
        near(program.jacobian(x, i), cadiff.jacobian(f)(x, i))
    assert program.stats()["obstacles"] == []


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


@pytest.mark.parametrize("name", CHOOSING)
def test_masks_that_change_are_inputs(name: str) -> None:
    f = CHOOSING[name]
    rng = np.random.default_rng(6)
    program = cadiff.compile(f)
    for k in range(8):
        x, m = row(rng), rng.random(N) < (0.6 if k < 7 else 0.0)
        near(program(x, m), f(x, m))
        near(program.jacobian(x, m), cadiff.jacobian(f)(x, m))
    assert program.stats()["recordings"] <= 3
    assert program.stats()["obstacles"] == []


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


def test_in_containers_and_by_keyword() -> None:
    def f(x: Any, data: Any, *, order: Any) -> Any:
        return cnp.sum((x[data["i"]] - data["y"]) ** 2 * data["more"][1]) + x[order][0]

    program = cadiff.compile(f)
    rng = np.random.default_rng(9)
    for _ in range(4):
        x = row(rng)
        data = {"i": points(rng, int), "y": rng.normal(size=4), "more": [1, points(rng, int)]}
        order = rng.permutation(N)
        near(program.grad(x, data, order=order), cadiff.grad(f)(x, data, order=order))
        near(program(x, data, order=order), f(x, data, order=order))
    assert program.stats()["recordings"] == 2


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
    for k in (0, 1, 2, 3):
        assert program(np.ones(2), np.array([2**60 + k])) == k


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


def test_large_integers_come_first_without_loss() -> None:
    program = cadiff.compile(lambda n: n + 1)
    for n in (2**60 + 1, 2**60 + 3, 7, 2**60 + 5):
        assert program(np.array([n])).tolist() == [n + 1]


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
