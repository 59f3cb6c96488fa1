"""What functions do beside computing takes place once in each call, as plain f does it."""

from __future__ import annotations

import copy
import itertools
import operator
import warnings
from collections import deque
from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp


def compiled_and_eager(f: Any, plain: Any, method: str) -> tuple[Any, Any]:
    """What calls a program of f, and its plain twin, in the same way."""
    program = cadiff.compile(f)
    if method == "value":
        return program, plain
    return getattr(program, method), getattr(cadiff, method)(plain)


def test_f_is_run_once_where_it_is_run_eagerly() -> None:
    """What it raises comes out, and nothing that it does happens twice."""
    calls = []

    def f(x: Any) -> Any:
        calls.append(len(calls))
        others = x[~cnp.isin(x, 2.0)]  # which cannot be replayed
        if len(calls) > 1:
            raise TypeError("of f's own")
        return cnp.sum(others)

    program = cadiff.compile(f)
    with pytest.warns(RuntimeWarning, match="isin"):
        assert program(np.ones(3)) == 3.0
    assert len(calls) == 1  # what it gave when it was recorded is what the call gives
    with pytest.raises(TypeError, match="own"):
        program(np.ones(3))
    assert len(calls) == 2


def _swapped(b: Any) -> None:
    b[[0, 1]] = b[[1, 0]]


def _of_a_part(b: Any) -> None:
    part = b[::-1][1:]
    part *= 3


CHANGES: dict[str, Any] = {
    "an element": lambda b: b.__setitem__(0, b[1] + 1),
    "a product": lambda b: operator.imul(b, 2),
    "elements": _swapped,
    "a part": _of_a_part,
    "out": lambda b: np.add(b, 1, out=b),
    "fill": lambda b: b.fill(2),
    "sort": lambda b: b.sort(),
    "copyto": lambda b: np.copyto(b, np.arange(3)),
}
ARRAYS: dict[str, Any] = {
    "float64": lambda: np.array([3.0, 1.0, 2.0]),
    "float32": lambda: np.array([3.0, 1.0, 2.0], np.float32),
    "big-endian": lambda: np.array([3.0, 1.0, 2.0], ">f8"),
    "every other": lambda: np.array([3.0, 9.0, 1.0, 9.0, 2.0])[::2],
    "integers": lambda: np.array([3, 1, 2]),
    "complex": lambda: np.array([3.0 + 1j, 1.0, 2.0]),
}


@pytest.mark.parametrize(
    ("change", "kind"), [way for way in product(CHANGES, ARRAYS) if way != ("sort", "complex")]
)
def test_arguments_that_f_changes(change: str, kind: str) -> None:
    """A program does to them what f does, at each call; gradient functions copy what they
    differentiate by."""

    def f(x: Any, b: Any, c: Any) -> Any:
        CHANGES[change](b)
        CHANGES[change](c["of"])
        return (x * np.sum(abs(b)) * np.sum(abs(c["of"]))).sum()

    program, x = cadiff.compile(f), np.array([0.5, 0.25])
    mine, own = ([ARRAYS[kind](), {"of": ARRAYS["float64"]()}] for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(3):
            assert program(x, *mine) == f(x, *own)
            np.testing.assert_equal(mine, own)
            np.testing.assert_array_equal(program.grad(x, *mine), cadiff.grad(f)(x, *own))
            np.testing.assert_equal(mine, own)
    assert program.stats()["eager"] == 6


def test_what_is_differentiated_by_is_copied() -> None:
    def f(x: Any) -> Any:
        x[:1] = 10.0 * x[1:2]
        return np.sum(x * x)

    x = np.array([1.0, 2.0, 3.0])
    program = cadiff.compile(f)
    with pytest.warns(RuntimeWarning, match="assigns to an array among its arguments"):
        np.testing.assert_array_equal(program.grad(x), cadiff.grad(f)(x))
    assert x[0] == 1.0
    assert program(x) == f(x.copy())
    assert x[0] == 20.0


def test_arguments_that_share_memory() -> None:
    """What f assigns to one of them is seen in the other, in f as in its program."""

    def f(a: Any, b: Any) -> Any:
        a[0] = 10.0 * b[1]
        return np.sum(a * b)

    x = np.array([1.0, 2.0, 3.0])
    for part in (slice(None), slice(None, None, -1)):
        program = cadiff.compile(f)
        one, other = x.copy(), x.copy()
        with pytest.warns(RuntimeWarning, match="assigns to an array among its arguments"):
            assert program(one, one[part]) == f(other, other[part])
        assert program(one, one[part]) == f(other, other[part])
        np.testing.assert_array_equal(one, other)

    products = cadiff.compile(lambda a, b: np.sum(a * b))
    assert [products(x, x) for _ in range(3)] == [14.0] * 3
    assert (products.stats()["recordings"], products.stats()["eager"]) == (1, 0)


@pytest.mark.parametrize("by_name", [False, True])
def test_integers_that_f_changes_where_no_more_is_recorded(by_name: bool) -> None:
    def f(x: Any, counts: Any) -> Any:
        if x > 0.0:
            counts[0] += 1
        return x * 2.0

    program, counts = cadiff.compile(f, max_traces=1), np.array([0])
    for x in (-1.0, 1.0, -1.0, 1.0, 1.0):
        assert (program(x, counts=counts) if by_name else program(x, counts)) == 2.0 * x
    assert counts[0] == 3


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda a, b: a.__setitem__(0, a[1] + 1.0),  # an element was taken before
        lambda a, b: a.__setitem__(0, 10.0 * b[1]),
        lambda a, b: b.__setitem__(slice(1), a[1:2] * 2.0),
        lambda a, b: np.multiply(a, b, out=a),
    ],
)
def test_arguments_that_f_changes_however_it_runs(change: Any, counts: bool) -> None:
    """With a counter, which is never recorded, or without; by one name or by several."""
    n = 0

    def without_counter(x: Any, a: Any, b: Any) -> Any:
        change(a, b)
        return x * np.sum(a * b) + known[-1]

    def with_counter(x: Any, a: Any, b: Any) -> Any:
        nonlocal n
        n += 1
        change(a, b)
        return x * np.sum(a * b)

    f = with_counter if counts else without_counter

    for other in (np.copy, np.asarray, np.flip):
        mine, own = ([x, other(x)] for x in (np.arange(1.0, 4.0), np.arange(1.0, 4.0)))
        program = cadiff.compile(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            for _ in range(3):
                known = mine[0]
                result = program(2.0, *mine)
                known = own[0]
                assert result == f(2.0, *own)
                np.testing.assert_equal(mine, own)
        n = 0
        program(2.0, *mine)
        assert n == counts


@pytest.mark.parametrize(
    "change",
    [
        lambda a, k: np.multiply(a, 2.0, out=a),
        lambda a, k: a.sort(),
        lambda a, k: a.__setitem__(slice(1), a[1:2] * 2.0),
        lambda a, k: a.__setitem__(0, a[1] + 1.0),  # of which an element was taken
        lambda a, k: k.__setitem__(0, k[0] + 1),
    ],
)
@pytest.mark.parametrize("method", ["value", "value_and_grad"])
@pytest.mark.filterwarnings("ignore:.*among its arguments:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*as every call has to:RuntimeWarning")
def test_arguments_and_attributes_of_arguments_that_f_changes(change: Any, method: str) -> None:
    """What f changes of an object is changed once in each call, also the first one."""

    def f(x: Any, o: Any, a: Any, k: Any) -> Any:
        o.n += 1
        change(a, k)
        return x * np.sum(a) * o.n * float(k[0])

    mine, own = ((SimpleNamespace(n=0), np.array([3.0, 1.0]), np.array([4])) for _ in range(2))
    call, eager = compiled_and_eager(f, f, method)
    for _ in range(3):
        np.testing.assert_array_equal(call(2.0, *mine), eager(2.0, *own))
        np.testing.assert_equal(mine[1:], own[1:])
        assert mine[0].n == own[0].n


@pytest.mark.filterwarnings("ignore:.*it changes:RuntimeWarning")
@pytest.mark.parametrize("part", [slice(None), slice(None, None, -1)])
def test_arguments_that_f_changes_by_another_name(part: slice) -> None:
    def adding_to(known: Any) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            known[0] += 1.0
            return np.sum(x**2)

        return f

    mine, own = np.arange(3.0), np.arange(3.0)
    program, f = cadiff.compile(adding_to(mine)), adding_to(own)
    for _ in range(3):
        assert program(mine[part]) == f(own[part])
    np.testing.assert_array_equal(mine, own)


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (lambda c: c.append(c[0] * 2.0), [3.0, 1.0]),
        (lambda c: c.__setitem__(0, 5.0), [[3.0], "kept"]),
        (lambda c: c.update(b=c["a"]), {"a": 3.0}),
        (lambda c: c.clear(), {"a": [3.0]}),
    ],
)
@pytest.mark.parametrize("where", ["attribute", "item", "list", "cell"])
@pytest.mark.parametrize("method", ["value", "value_and_grad"])
@pytest.mark.filterwarnings("ignore:.*(among its arguments|as every call has to):RuntimeWarning")
def test_containers_and_what_else_f_changes(
    change: Any, given: Any, where: str, method: str
) -> None:
    def made() -> tuple[Any, ...]:
        own, counts, n = copy.deepcopy(given), {"n": 0}, 0
        calls: list[Any] = []

        def f(x: Any, o: Any, c: Any) -> Any:
            nonlocal n
            if where == "attribute":
                o.n += 1
            elif where == "item":
                counts["n"] += 1
            elif where == "list":
                calls.append(x * 2.0)
            else:
                n += 1
            change(c)
            return x * len(c) * (o.n + counts["n"] + len(calls) + n)

        return f, SimpleNamespace(n=0), own, counts, calls, lambda: n

    (f, o, c, *changed, n), (plain, *own, m) = made(), made()
    call, eager = compiled_and_eager(f, plain, method)
    for _ in range(3):
        assert call(2.0, o, c) == eager(2.0, *own[:2])
        assert (o, c, *changed, n()) == (*own, m())


@pytest.mark.filterwarnings("ignore:.*it changes:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*among its arguments:RuntimeWarning")
def test_containers_that_f_changes_by_another_name() -> None:
    def made() -> Any:
        known = {"n": 0, "a": 1.0}

        def f(x: Any) -> Any:
            known["n"] += 1
            known["a"] *= 2.0
            return x["a"] ** 2 + x["n"]

        return f, known

    (f, mine), (plain, own) = made(), made()
    program = cadiff.compile(f)
    for _ in range(3):
        assert program(mine) == plain(own)
        assert mine == own


@pytest.mark.parametrize(
    ("given", "change"),
    [
        (np.array([0, 1, 1]), lambda known: known.__setitem__(1, known[1] + 2)),
        (np.array([1.0, 2.0]), lambda known: known.__setitem__(1, known[1] + 2.0)),
        (np.array([True, False]), lambda known: known.__setitem__(1, True)),
        (np.array([1.0, 2.0], np.float32), lambda known: np.multiply(known, 2.0, out=known)),
    ],
)
@pytest.mark.parametrize("part", [slice(None), slice(1, None), slice(None, None, -1)])
@pytest.mark.parametrize("method", ["value", "grad"])
@pytest.mark.filterwarnings("ignore:.*it changes:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*among its arguments:RuntimeWarning")
def test_arrays_that_f_changes_by_another_name(
    given: Any, change: Any, part: slice, method: str
) -> None:
    def made() -> Any:
        array, log = given.copy(), []
        known = array[part] if len(array[part]) > 1 else array[:]

        def f(x: Any, a: Any) -> Any:
            change(known)
            log.append(x * 2.0)
            return x * np.sum(a * np.arange(1.0, 1.0 + len(a))) * len(log)

        return f, array, log

    (f, *mine), (plain, *own) = made(), made()
    call, eager = compiled_and_eager(f, plain, method)
    for _ in range(3):
        assert call(2.0, mine[0]) == eager(2.0, own[0])
        np.testing.assert_equal(mine[0], own[0])
        assert [*map(float, mine[1])] == [*map(float, own[1])]


class Logged(dict[str, Any]):
    n = 0

    def __setitem__(self, key: str, value: Any) -> None:
        self.n += 1
        super().__setitem__(key, value)


class Noted:
    def __init__(self) -> None:
        vars(self)["n"] = 0

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)["n"] += 1
        vars(self)[name] = value


class Counted(list[Any]):
    n = 0

    def append(self, value: Any) -> None:
        self.n += 1
        super().append(value)


class Ring(deque[Any]):
    n = property(len)


@pytest.mark.parametrize(
    ("kind", "keep"),
    [
        (Logged, lambda kept, s: kept.__setitem__("k", s)),
        (Noted, lambda kept, s: setattr(kept, "k", s)),
        (Counted, lambda kept, s: kept.append(s)),
        (Ring, lambda kept, s: kept.append(s)),
    ],
)
@pytest.mark.parametrize("method", ["value", "grad"])
@pytest.mark.filterwarnings("ignore:.*it changes:RuntimeWarning")
def test_what_f_keeps_in_classes_with_methods_of_their_own(
    kind: Any, keep: Any, method: str
) -> None:
    """Numbers there become plain ones without a call of these methods."""

    def made() -> Any:
        kept = kind()

        def f(x: Any, s: Any) -> Any:
            keep(kept, s)
            return x * kept.n

        return f, kept

    (f, mine), (plain, own) = made(), made()
    call, eager = compiled_and_eager(f, plain, method)
    for _ in range(4):
        assert call(2.0, 1.5) == eager(2.0, 1.5)
        assert mine.n == own.n
        assert not any(isinstance(v, cadiff.Var) for v in (*vars(mine).values(), *_values(mine)))


def _values(kept: Any) -> Any:
    return kept.values() if isinstance(kept, dict) else () if isinstance(kept, Noted) else kept


@pytest.mark.filterwarnings("ignore:.*among its arguments:RuntimeWarning")
def test_one_signature_that_changes_its_arguments() -> None:
    """Calls of others are replayed, whichever comes first."""

    def f(x: Any, in_place: Any) -> Any:
        if in_place:
            x *= 2.0
        return np.sum(x**2)

    for order in (True, False), (False, True):
        program = cadiff.compile(f)
        for in_place in 3 * order:
            mine, own = np.arange(1.0, 4.0), np.arange(1.0, 4.0)
            assert program(mine, in_place) == f(own, in_place)
            np.testing.assert_array_equal(mine, own)
        stats = program.stats()
        assert (stats["recordings"], stats["eager"], len(stats["obstacles"])) == (1, 3, 1)


class Totals:
    n = 0
    seen: Any = bytearray(b"\0")


@pytest.mark.parametrize(
    "change",
    [
        lambda: setattr(Totals, "n", Totals.n + 1),
        lambda: Totals.seen.append(len(Totals.seen)),
        lambda: setattr(Totals, "seen", bytearray([*Totals.seen, 1])),
    ],
)
@pytest.mark.parametrize("method", ["value", "value_and_grad"])
@pytest.mark.filterwarnings("ignore:.*(among its arguments|as every call has to):RuntimeWarning")
def test_classes_and_bytes_that_f_changes(change: Any, method: str) -> None:
    def run(call: Any, x: Any) -> Any:
        Totals.n, Totals.seen = 0, bytearray(b"\0")
        found = [call(2.0, x) for _ in range(3)]
        return found, Totals.n, Totals.seen, x

    def f(x: Any, a: Any) -> Any:
        change()
        a.append(1.0)
        return x * len(a) * (Totals.n + len(Totals.seen))

    call, eager = compiled_and_eager(f, f, method)
    assert run(call, [3.0]) == run(eager, [3.0])


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.parametrize("n", [1, 3])
def test_what_is_kept_by_functions_that_cannot_be_watched(n: int) -> None:
    """In calls for the value they keep plain numbers."""

    def made() -> Any:
        counter, kept, best = itertools.count(), [], [np.inf]

        def f(x: Any) -> Any:
            next(counter)
            s = np.sum(x * x)
            kept.append(s)
            if s < best[0]:
                best[0] = s
            return s + sum(kept) + best[0]

        return f, kept

    (f, mine), (plain, own) = made(), made()
    program = cadiff.compile(f)
    for k in range(4):
        x = np.arange(1.0, 1.0 + n) * (4.0 - k)
        assert program(x) == plain(x)
    assert mine == own
    assert not any(isinstance(s, cadiff.Var) for s in mine)
