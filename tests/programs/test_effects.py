"""What functions do beside computing takes place once in each call, as plain f does it."""

from __future__ import annotations

import copy
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cadiff


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
    program = cadiff.compile(f)
    call = program if method == "value" else program.value_and_grad
    eager = plain if method == "value" else cadiff.value_and_grad(plain)
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
    program = cadiff.compile(f)
    call, eager = (program, plain) if method == "value" else (program.grad, cadiff.grad(plain))
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
    program = cadiff.compile(f)
    call, eager = (program, plain) if method == "value" else (program.grad, cadiff.grad(plain))
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
