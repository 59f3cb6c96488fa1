"""What functions do beside computing takes place once in each call, as plain f does it."""

from __future__ import annotations

import itertools
import math
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


def test_arguments_that_share_memory_are_replayed() -> None:
    x, products = np.arange(1.0, 4.0), cadiff.compile(lambda a, b: np.sum(a * b))
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


# What f has beside x and an int k, called {h}; how it changes that; and a number that it takes.
EFFECTS: dict[str, tuple[str, str, str]] = {
    "items of an array": ("np.zeros(4)", "{h}[k] += 1.0", "{h}.sum()"),
    "an item by another": ("np.arange(1.0, 5.0)", "{h}[0] = {h}[1] + k", "{h}.sum()"),
    "a part of an array": ("np.arange(4.0)", "{h}[:1] = {h}[1:2] * 2.0", "{h}[0]"),
    "integers": ("np.arange(4)", "{h}[k] += 1", "{h}.sum()"),
    "truth values": ("np.arange(4) > 1", "{h} ^= True", "float({h}[0])"),
    "an array of floats": ("np.ones(3, np.float32)", "np.multiply({h}, 2, out={h})", "{h}[1]"),
    "an array in order": ("np.array([3.0, 2.0, 1.0])", "{h}.sort(); {h}[0] += k", "{h}[0]"),
    "an array by another name": ("np.zeros(4)", "b = {h}; b[k] += 1.0", "{h}.sum()"),
    "an average": ("np.zeros(1)", "{h}[0] = 0.5 * {h}[0] + np.sum(cadiff.value(x))", "{h}[0]"),
    "an average, and what raises": (
        "np.zeros(1)",
        "{h}[0] += 1.0; float({h}[: 3 + int(np.sum(x > 0))][0]); "
        "math.sqrt(np.sum(cadiff.value(x)))",
        "{h}[0]",
    ),
    "items of a list": ("[0, 0, 0, 0]", "{h}[k] = {h}[k] + 1", "sum({h})"),
    "appended items": ("[9]", "{h}.append(2 * k)", "len({h}) + {h}[-1]"),
    "appended items that it reads": ("[0.0]", "{h}.append({h}[-1] + 1.0)", "{h}[-1]"),
    "a log": ("[]", "{h}.append(x * 2.0)", "len({h})"),
    "a log that is reached in loops": (
        "dict(log=dict(points=[]))",
        "[p.append((np.sum(x), dict(x=x))) for log in {h}.values() for p in log.values()]",
        "1.0",
    ),
    "a log in a helper": ("dict()", "note({h}, x * 2.0)", "len({h})"),
    "items of a dict": ("dict(n=0, a=1.0)", "{h}['n'] += 1; {h}['a'] *= 2.0", "sum({h}.values())"),
    "new items of a dict": ("dict(a=3.0)", "{h}.update(b={h}['a'])", "len({h})"),
    "deleted items": ("dict(enumerate('abcdefgh'))", "del {h}[min({h})]", "len({h})"),
    "a dict": ("dict(a=[3.0])", "{h}.clear()", "len({h})"),
    "a list that contains lists": ("[[3.0], 'kept']", "{h}[0] = k", "len({h})"),
    "a set": ("set()", "{h}.add(len({h}))", "len({h})"),
    "bytes": ("bytearray()", "{h}.append(k)", "len({h})"),
    "other bytes": ("bytearray()", "{h} = bytearray([*{h}, 1])", "len({h})"),
    "a number": ("0", "{h} += k", "{h}"),
    "an attribute": ("SimpleNamespace(s=0)", "{h}.s = {h}.s + k", "{h}.s"),
    "an attribute in place": ("SimpleNamespace(s=0)", "{h}.s += k", "{h}.s"),
    "an attribute by its name": ("SimpleNamespace(s=0)", "setattr({h}, 's', {h}.s + k)", "{h}.s"),
    "what it computes": ("SimpleNamespace(s=0.0)", "{h}.s = np.sum(x * x)", "{h}.s"),
    "an attribute of a class": ("type('A', (), dict(n=0))", "{h}.n += 1", "{h}.n"),
    "a counter": ("itertools.count()", "next({h})", "1.0"),
    "a dict with a method of its own": ("Logged()", "{h}['k'] = k", "{h}.n"),
    "attributes with a method of their own": ("Noted()", "{h}.k = k", "{h}.n"),
    "a list with a method of its own": ("Counted()", "{h}.append(k)", "{h}.n"),
    "a deque with a property": ("Ring()", "{h}.append(k)", "{h}.n"),
}
# How that is made, the arguments of f, how f reaches it, what else f changes, and how it reads it.
WAYS: dict[str, tuple[str, str, str, str, str]] = {
    "a global": ("global h; h = {new}", "x, k", "h", "global h", "h"),
    "a closure": ("h = {new}", "x, k", "h", "nonlocal h", "h"),
    "a default": ("h = {new}", "x, k, h=h", "h", "pass", "h"),
    "a class": ("o = type('A', (), {{}}); o.h = {new}", "x, k", "o.h", "pass", "o.h"),
    "a bound method": (
        "self = SimpleNamespace(h={new})",
        "self, x, k",
        "self.h",
        "pass",
        "self.h",
    ),
    "an argument": ("h = {new}", "x, k, h", "h", "pass", "h"),
    "an argument's attribute": ("o = SimpleNamespace(h={new})", "x, k, o", "o.h", "pass", "o.h"),
    "another name": ("h = y = {new}", "x, k, y", "h", "nonlocal h", "y"),
    "a view": ("y = {new}; h = view(y)", "x, k, y", "h", "nonlocal h", "y"),
    "beside an object": ("h, o = {new}, SimpleNamespace(n=0)", "x, k, h, o", "h", "o.n += 1", "h"),
    "beside items": ("h, o = {new}, dict(n=0)", "x, k, h", "h", "o['n'] += 1", "h"),
    "beside a log": ("h, o = {new}, []", "x, k, h", "h", "o.append(x * 2.0)", "h"),
    "beside a counter": ("h, o = {new}, 0", "x, k, h", "h", "nonlocal o; o += 1", "h"),
}


def view(y: Any) -> Any:
    return y[::-1] if isinstance(y, np.ndarray) else y


def note(kept: dict[int, Any], value: Any) -> None:
    kept[len(kept)] = value


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


def made(way: str, what: str) -> tuple[Any, list[Any], Callable[[], Any]]:
    """A function, what it is given beside x and k, and what it has changed."""
    new, change, result = EFFECTS[what]
    setup, names, h, other, read = WAYS[way]
    given = ", ".join(name for name in names.split(", ") if name in ("h", "o", "y"))
    text = (
        f"def make():\n    o = None\n    {setup.format(new=new)}\n"
        f"    def f({names}):\n        {other}\n        {change.format(h=h)}\n"
        f"        return np.sum(x * x) * ({result.format(h=read)})\n"
        f"    return {'f.__get__(self)' if 'self' in names else 'f'}, [{given}], lambda: ({h}, o)"
    )
    module: dict[str, Any] = {**globals(), "math": math, "Plain": SimpleNamespace}
    exec(text, module)
    made: tuple[Any, list[Any], Callable[[], Any]] = module["make"]()
    return made


def plain(held: Any, derivatives: bool) -> Any:
    """All that can be compared of what is held; numbers have derivatives only if they may."""
    if isinstance(held, cadiff.Var):
        assert derivatives
        return plain(cadiff.value(held), derivatives)
    if isinstance(held, np.ndarray):
        return held.dtype.str, held.tolist()
    if isinstance(held, dict):
        return {key: plain(item, derivatives) for key, item in held.items()}
    if isinstance(held, (list, tuple, deque)):
        return [*(plain(item, derivatives) for item in held), len(getattr(held, "__dict__", ()))]
    if isinstance(held, (SimpleNamespace, Noted)):
        return plain(vars(held), derivatives)
    if isinstance(held, type):
        return vars(held).get("n")
    return repr(held) if isinstance(held, itertools.count) else held


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("way", "what"),
    [(a, b) for a, b in product(WAYS, EFFECTS) if "beside" not in a or b != "a set"],
)
def test_what_f_changes_is_changed_once_in_each_call(way: str, what: str) -> None:
    for method, is_array, optimize in (
        ("value", False, True),
        ("value", True, False),
        ("value_and_grad", True, True),
    ):
        (f, mine, now), (eager, own, then) = made(way, what), made(way, what)
        program: Any = cadiff.compile(f, optimize=optimize)
        if method != "value":
            program, eager = program.value_and_grad, cadiff.value_and_grad(eager)
        for k in (0, 1, 2, 1):
            x = np.array([1.5 + k, 2.0]) if is_array else 1.5 + k
            np.testing.assert_equal(program(x, k, *mine), eager(x, k, *own))
            assert plain(now(), method != "value") == plain(then(), method != "value"), k
