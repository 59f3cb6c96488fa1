"""Compiled functions see what changes beside their arguments: none answers from the past."""

from __future__ import annotations

import collections
import copy
import datetime
import enum
import gc
import math
import operator
import pickle
import random
import re
import sys
import warnings
import weakref
from collections.abc import Callable
from types import MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
from cadiff.binding import Watch
from cadiff.programs import library_types
from cadiff.programs.findings import Findings
from cadiff.programs.walks import watch_call

from ..helpers.programs import runs_of
from ..helpers.properties import examples

# What a module has, how f reads it (a number), and what changes it: {k} tells several apart, and
# `c` is another number each time. `a` is an argument of f, made by `made`.
PLACES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a global": ("G{k} = 0.5", "G{k}", ("G{k} = c", "del G{k}; G{k} = c")),
    "a global that a function reads": (
        "H{k} = 0.5\ndef h{k}(): return H{k}",
        "h{k}()",
        ("H{k} = c", "h{k} = lambda: c", "h{k}.__code__ = (lambda: G0).__code__; G0 = c"),
    ),
    "a closure": (
        "def make{k}():\n    n = 0.5\n    def read(): return n\n"
        "    def write(c):\n        nonlocal n\n        n = c\n    return read, write\n"
        "read{k}, write{k} = make{k}()",
        "read{k}()",
        ("write{k}(c)",),
    ),
    "a default": (
        "def d{k}(n=0.5, *, m=0.25): return n + m",
        "d{k}()",
        (
            "d{k}.__defaults__ = (c,)",
            "d{k}.__kwdefaults__ = {{'m': c}}",
            "d{k}.__kwdefaults__['m'] = c",
        ),
    ),
    "a default that is a list": (
        "def e{k}(n=[0.5]): return n[0]",
        "e{k}()",
        ("e{k}.__defaults__[0][0] = c",),
    ),
    "an attribute": (
        "class A{k}:\n    rate = 0.25\n    def __init__(self): self.n = 0.5\n"
        "    def total(self): return self.n + self.rate\n"
        "    @property\n    def half(self): return self.n / 2\na{k} = A{k}()",
        "a{k}.n + a{k}.total() + a{k}.half",
        (
            "a{k}.n = c",
            "A{k}.rate = c",
            "a{k}.rate = c",
            "a{k}.__dict__['n'] = c",
            "A{k}.total = lambda self: c",
            "a{k} = A{k}(); a{k}.n = c",
            "vars(a{k}).update(n=c)",
        ),
    ),
    "an attribute by its name": (
        "class B{k}: pass\nb{k} = B{k}()\nb{k}.n = 0.5",
        "getattr(b{k}, 'n')",
        ("b{k}.n = c",),
    ),
    "a slot": (
        "class S{k}:\n    __slots__ = ('n',)\n    def __init__(self): self.n = 0.5\n"
        "s{k} = S{k}()\ndef take{k}(s): return s.n",
        "take{k}(s{k})",
        ("s{k}.n = c",),
    ),
    "a chain": (
        "class I{k}: pass\ni{k} = I{k}()\ni{k}.j = I{k}()\ni{k}.j.n = 0.5",
        "i{k}.j.n",
        ("i{k}.j.n = c", "i{k}.j = I{k}(); i{k}.j.n = c"),
    ),
    "a dict": (
        "D{k} = {{'n': 0.5, 'm': [0.25]}}",
        "D{k}['n'] + D{k}['m'][0] + len(D{k})",
        (
            "D{k}['n'] = c",
            "D{k}['m'][0] = c",
            "D{k}['m'] = [c]",
            "D{k} = {{'n': c, 'm': [c]}}",
            "D{k}[c] = c",
        ),
    ),
    "a list": (
        "L{k} = [0.5, (0.25, [0.125])]",
        "L{k}[0] + L{k}[1][1][0] + len(L{k})",
        ("L{k}[0] = c", "L{k}[1][1][0] = c", "L{k}.append(c)", "L{k}[:] = [c, (c, [c])]"),
    ),
    "a set": ("Z{k} = {{0.5, 0.25}}", "sum(sorted(Z{k}))", ("Z{k}.add(c)", "Z{k} ^= {{c}}")),
    "a deque": (
        "from collections import deque\nQ{k} = deque([0.5, 0.25], maxlen=2)",
        "sum(Q{k})",
        ("Q{k}.append(c)", "Q{k}[0] = c"),
    ),
    "an array of Python's": (
        "from array import array\nY{k} = array('d', [0.5, 0.25])",
        "sum(Y{k})",
        ("Y{k}[0] = c",),
    ),
    "bytes": ("W{k} = bytearray(b'12')", "float(W{k}.decode())", ("W{k}[0] = 48 + int(9 * c)",)),
    "an array": (
        "X{k} = np.full(7, 0.5)",
        "np.sum(X{k})",
        (
            "X{k}[3] = c",
            "X{k} = np.full(7, c)",
            "X{k} *= c",
            "X{k}[:] = c",
            "X{k}.resize(5, refcheck=False)",
        ),
    ),
    "a large array": (
        "V{k} = np.full((300, 40), 0.5)",
        "np.sum(V{k})",
        ("V{k}[123, 17] = c", "V{k}.T[3] = c"),
    ),
    "a part of an array": (
        "T{k} = np.full((9, 9), 0.5)\nU{k} = T{k}[::2, 1:3]",
        "np.sum(U{k})",
        ("T{k}[2, 1] = c",),
    ),
    "an array of ints": ("N{k} = np.arange(4)", "np.sum(N{k})", ("N{k}[1] = int(99 * c)",)),
    "an array of objects": (
        "O{k} = np.array([0.5, 0.25], dtype=object)",
        "O{k}[0] + O{k}[1]",
        ("O{k}[1] = c",),
    ),
    "an array of complex numbers": (
        "K{k} = np.full(3, 0.5 + 1j)",
        "float(np.sum(np.abs(K{k})))",
        ("K{k}[1] = c",),
    ),
    "a partial": (
        "from functools import partial\ndef p{k}(n, m): return n[0] + m\n"
        "R{k} = partial(p{k}, [0.5], m=0.25)",
        "R{k}()",
        ("R{k}.args[0][0] = c", "R{k} = partial(p{k}, [c], m=c)"),
    ),
    "a bound method": (
        "class C{k}:\n    def __init__(self): self.n = [0.5]\n"
        "    def get(self): return self.n[0]\nc{k} = C{k}()\nget{k} = c{k}.get",
        "get{k}()",
        ("c{k}.n[0] = c", "c{k}.n = [c]"),
    ),
    "a bound method of a dict": (
        "dict{k} = {{'n': 0.5}}\nlook{k} = dict{k}.get",
        "look{k}('n')",
        ("dict{k}['n'] = c",),
    ),
    "dicts of other types": (
        "from collections import Counter, OrderedDict, defaultdict\nOD{k} = OrderedDict(n=0.5)\n"
        "DD{k} = defaultdict(float, n=0.5)\nCO{k} = Counter(n=1)",
        "OD{k}['n'] + DD{k}['n'] + CO{k}['n']",
        ("OD{k}['n'] = c", "DD{k}['n'] = c", "CO{k}['n'] += 1"),
    ),
    "a list of the user's": (
        "class Li{k}(list): pass\nli{k} = Li{k}([0.5])\nli{k}.n = 0.25",
        "li{k}[0] + li{k}.n",
        ("li{k}[0] = c", "li{k}.n = c"),
    ),
    "views of a dict": (
        "base{k} = {{'n': 0.5}}\nseen{k} = base{k}.values()\npairs{k} = base{k}.items()",
        "sum(seen{k}) + sum(n for _, n in pairs{k})",
        ("base{k}['n'] = c", "base{k}[c] = c"),
    ),
    "an attribute of a function": (
        "def fa{k}(): return fa{k}.n\nfa{k}.n = 0.5",
        "fa{k}()",
        ("fa{k}.n = c",),
    ),
    "what a class inherits": (
        "class Up{k}:\n    m = 0.25\n    def get(self): return self.n + self.m\n"
        "class Low{k}(Up{k}):\n    def get(self): return super().get()\n"
        "low{k} = Low{k}()\nlow{k}.n = 0.5",
        "low{k}.get()",
        ("low{k}.n = c", "Up{k}.m = c", "Up{k}.get = lambda self: c"),
    ),
    "a method of one object": (
        "class One{k}:\n    def get(self): return 0.5\none{k} = One{k}()",
        "one{k}.get()",
        ("one{k}.get = lambda: c", "One{k}.get = lambda self: c"),
    ),
    "a property": (
        "class Pr{k}:\n    @property\n    def n(self): return 0.5\npr{k} = Pr{k}()",
        "pr{k}.n",
        ("Pr{k}.n = property(lambda self: c)",),
    ),
    "a weak reference": (
        "import weakref\nclass We{k}: pass\nwe{k} = We{k}()\nwe{k}.n = 0.5\n"
        "ref{k} = weakref.ref(we{k})",
        "ref{k}().n",
        ("we{k}.n = c",),
    ),
    "a masked array": (
        "ma{k} = np.ma.array([0.5, 0.25], mask=[False, True])",
        "np.sum(ma{k}.filled(0.0))",
        ("ma{k}[0] = c", "ma{k}.mask = [True, False]"),
    ),
    "a partial method": (
        "from functools import partialmethod\nclass Pm{k}:\n"
        "    def two(self, n): return self.m * n\n"
        "    one = partialmethod(two, 0.5)\npm{k} = Pm{k}()\npm{k}.m = 0.5",
        "pm{k}.one()",
        ("pm{k}.m = c",),
    ),
    "an index that is written to": (
        "ix{k} = [0]\ndef at{k}():\n    buffer = [0.5, 0.25, 0.125]\n"
        "    buffer[ix{k}[0] + 1] = 2.0\n    return buffer[1]",
        "at{k}()",
        ("ix{k}[0] = int(2 * c)",),
    ),
    "a method that is called as those of lists": (
        "class Ad{k}(list):\n    def add(self): return self.n\nad{k} = Ad{k}()\nad{k}.n = 0.5",
        "ad{k}.add()",
        ("ad{k}.n = c",),
    ),
    "an attribute that is missing at first": (
        "class Mi{k}: pass\nmi{k} = Mi{k}()\ndef late{k}():\n    try: return mi{k}.n\n"
        "    except AttributeError: return 0.5",
        "late{k}()",
        ("mi{k}.n = c",),
    ),
    "the order of an ordered dict": (
        "import collections\nod{k} = collections.OrderedDict(a=0.5, b=2.5)",
        "next(iter(od{k}.values()))",
        ("od{k}.move_to_end(next(iter(od{k})))",),
    ),
    "a view of a dict that cannot be written to": (
        "import types\nvd{k} = dict(n=0.5)\nvp{k} = types.MappingProxyType(vd{k})",
        "vp{k}['n']",
        ("vd{k}['n'] = c",),
    ),
    "something that is called": (
        "class F{k}:\n    def __init__(self): self.n = 0.5\n"
        "    def __call__(self): return self.n\ncall{k} = F{k}()",
        "call{k}()",
        ("call{k}.n = c",),
    ),
    "a function in a dict": (
        "M{k} = 0.5\ntable{k} = {{'m': lambda: M{k}}}",
        "table{k}['m']()",
        ("M{k} = c", "table{k}['m'] = lambda: c"),
    ),
    "a wrapped function": (
        "import functools\nE{k} = 0.5\ndef wrap{k}(f):\n    @functools.wraps(f)\n"
        "    def wrapper(*args): return f(*args)\n    return wrapper\n"
        "@wrap{k}\ndef w{k}(): return E{k}",
        "w{k}()",
        ("E{k} = c",),
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P{k}:\n    n: float = 0.5\n"
        "pair{k} = P{k}()",
        "pair{k}.n",
        ("pair{k}.n = c",),
    ),
    "a namespace": (
        "from types import SimpleNamespace\nns{k} = SimpleNamespace(n=0.5, m=np.ones(3))",
        "ns{k}.n + np.sum(ns{k}.m)",
        ("ns{k}.n = c", "ns{k}.m[1] = c"),
    ),
    "an argument's attribute": (
        "class J{k}:\n    def __init__(self): self.n, self.m = 0.5, [0.25]\nj{k} = J{k}()",
        "a[{k}].n + a[{k}].m[0]",
        ("j{k}.n = c", "j{k}.m[0] = c", "j{k} = J{k}(); j{k}.n = c"),
    ),
    "an argument that is equal to others": (
        "class Eq{k}:\n    def __init__(self, n): self.n = n\n"
        "    def __eq__(self, other): return True\n    def __hash__(self): return 1\n"
        "j{k} = Eq{k}(0.5)",
        "a[{k}].n",
        ("j{k} = Eq{k}(c)",),
    ),
    "an argument that is a set": ("j{k} = {{0.5}}", "sum(sorted(a[{k}]))", ("j{k}.add(c)",)),
    "an argument that is bytes": (
        "j{k} = bytearray(b'12')",
        "float(a[{k}][0])",
        ("j{k}[0] = int(99 * c)",),
    ),
    "an argument that is an array of objects": (
        "j{k} = np.array([0.5, 'name'], dtype=object)",
        "a[{k}][0]",
        ("j{k}[0] = c",),
    ),
    "an argument that is a function": (
        "def fresh{k}(n):\n    return lambda: n[0]\nmut{k} = [0.5]\nj{k} = fresh{k}(mut{k})",
        "a[{k}]()",
        ("mut{k}[0] = c", "mut{k} = [c]; j{k} = fresh{k}(mut{k})"),
    ),
}

METHODS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "value": (lambda p, *args: p(*args), lambda f, *args: f(*args)),
    "grad": (lambda p, *args: p.grad(*args), lambda f, *args: cadiff.grad(f)(*args)),
    "value_and_grad": (
        lambda p, *args: p.value_and_grad(*args),
        lambda f, *args: cadiff.value_and_grad(f)(*args),
    ),
    "hessian": (lambda p, *args: p.hessian(*args), lambda f, *args: cadiff.hessian(f)(*args)),
    "inner": (
        lambda p, *args: cadiff.grad(lambda x: 2.0 * p(x, *args[1:]))(args[0]),
        lambda f, *args: cadiff.grad(lambda x: 2.0 * f(x, *args[1:]))(args[0]),
    ),
}


def written(names: list[str]) -> str:
    """A module whose f reads all that is named."""
    lines = ["import numpy as np"]
    terms = []
    for k, name in enumerate(names):
        setup, expression, _ = PLACES[name]
        lines.append(setup.format(k=k))
        terms.append(f"x[0] * ({expression.format(k=k)})")
    return "\n".join([*lines, "def f(x, *a):", f"    return x[1] ** 2 + {' + '.join(terms)}"])


def made(text: str) -> ModuleType:
    module = sys.modules["of_a_user"] = ModuleType("of_a_user")  # where dataclasses look
    exec(text, vars(module))
    return module


def numbers(result: Any) -> np.ndarray[Any, Any]:
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(part) for part in parts])


def arguments(module: ModuleType, count: int) -> list[Any]:
    return [getattr(module, f"j{k}", 1) for k in range(count)]


@examples(1000)
@given(st.integers(0, 10**9))
def test_changes_are_seen(seed: int) -> None:
    rng = random.Random(seed)
    names = [rng.choice(list(PLACES)) for _ in range(rng.choice([1, 1, 2]))]
    text = written(names)
    module = made(text)
    program = cadiff.compile(module.f, max_traces=rng.choice([1, 2, 8]))
    x = np.array([1.5, 0.5])
    history = [text]
    compiled, eager = METHODS[rng.choice(list(METHODS))]
    for _ in range(4):
        a = arguments(module, len(names))
        for _ in range(rng.choice([1, 2])):
            wanted = eager(module.f, x, *a)
            got = compiled(program, x, *a)
            np.testing.assert_allclose(
                numbers(got), numbers(wanted), rtol=1e-12, err_msg="\n".join(history)
            )
        k = rng.randrange(len(names))
        change = rng.choice(PLACES[names[k]][2]).format(k=k)
        vars(module)["c"] = rng.random()
        exec(change, vars(module))
        history.append(f"# then, where c = {vars(module)['c']}: {change}")


# Arguments that are another signature after a change.
BY_VALUE = {"an argument that is a set"}


@pytest.mark.parametrize("name", PLACES)
def test_what_is_as_it_was_is_not_recorded_again(name: str) -> None:
    module = made(written([name]))
    program = cadiff.compile(module.f)
    a = arguments(module, 1)
    for point in range(5):
        program.grad(np.array([1.5 + point, 0.5]), *a)
    stats = program.stats()
    assert (stats["recordings"], stats["eager"]) == (1, 0), stats
    assert stats["traces"][0]["changed"] == []
    vars(module)["c"] = 0.75
    exec(PLACES[name][2][0].format(k=0), vars(module))
    if name not in BY_VALUE and [*map(id, arguments(module, 1))] == [*map(id, a)]:
        assert program.stats()["traces"][0]["changed"] != []


def test_containers_that_contain_themselves_are_watched() -> None:
    around: list[Any] = [2.0]
    around.append(around)
    program = cadiff.compile(lambda x: x * around[1][1][0])
    for around[0] in (2.0, 2.0, 3.0):
        assert program(1.5) == 1.5 * around[0]


def test_containers_that_are_nested_too_deeply_are_not_watched() -> None:
    nested: Any = [2.0]
    flat: Any = (2.0,)
    for _ in range(20_000):
        nested, flat = [nested], (flat,)
    program = cadiff.compile(lambda x: x * len(nested) * len(flat))
    with pytest.warns(RuntimeWarning, match="nested too deeply"):
        assert program(1.5) == 1.5


def test_functions_that_keep_a_result_are_recorded_twice() -> None:
    cache: dict[str, float] = {}

    def remembers(x: Any) -> Any:
        if "rate" not in cache:
            cache["rate"] = 2.0
        return x * cache["rate"]

    program = cadiff.compile(remembers, verify=False)
    with runs_of(remembers) as runs:
        assert [program.grad(x) for x in (1.0, 2.0, 3.0, 4.0)] == [2.0] * 4
    assert len(runs) == program.stats()["recordings"] == 2
    cache.clear()
    assert [program.grad(x) for x in (1.0, 2.0, 3.0)] == [2.0] * 3
    assert cache == {"rate": 2.0}
    assert program.stats()["eager"] == 0


class Counter:
    """What f has beside its arguments, and the ways in which it changes that."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self.path: list[Any] = []
        self.best: dict[str, Any] = {}
        self.counts = np.zeros(3)
        self.past = [0.0]
        self.deep = {"log": {"points": self.path}}


def counts_up(o: Any, x: Any) -> Any:
    o.n += 1
    return x @ x


def writes_a_log(o: Any, x: Any) -> Any:
    o.path.append(x.copy())
    return x @ x


def writes_a_log_by_other_names(o: Any, x: Any) -> Any:
    for log in o.deep.values():
        for points in log.values():
            points.append((x[0], {"x": x}))
    return x @ x


def writes_to_an_array(o: Any, x: Any) -> Any:
    o.counts[len(x) - 2] += 1.0
    return x @ x


def writes_by_name(o: Any, x: Any) -> Any:
    name = "n"
    setattr(o, name, o.n + len(x))
    return x @ x


def writes_in_a_helper(o: Any, x: Any) -> Any:
    def note(what: Any) -> None:
        o.best[len(o.best)] = what

    note(x * 2.0)
    return x @ x


def reads_what_it_writes(o: Any, x: Any) -> Any:
    o.past.append(o.past[-1] + 1.0)
    return (x @ x) * o.past[-1]


def keeps_what_it_computes(o: Any, x: Any) -> Any:
    y = x @ x
    o.total = y
    return y


def texts(o: Any) -> str:
    """What it holds, with floats of Python's in the place of NumPy's."""
    return re.sub(r"np\.float64\(([^)]*)\)", r"\1", repr(vars(o)))


CHANGES = (
    *(counts_up, writes_a_log, writes_a_log_by_other_names, writes_to_an_array, writes_by_name),
    *(writes_in_a_helper, reads_what_it_writes, keeps_what_it_computes),
)


@pytest.mark.parametrize("reached", ["a closure", "an argument", "a bound method", "a default"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_f_changes_is_changed_by_every_call(change: Any, reached: str) -> None:
    """As f does it, with plain numbers; and it is recorded once or twice, not in each call."""

    def made(o: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if reached == "a closure":
            return lambda x: change(o, x), ()
        if reached == "an argument":
            return lambda x, o: change(o, x), (o,)
        if reached == "a bound method":
            return MethodType(change, o), ()
        return lambda x, o=o: change(o, x), ()

    one, other = Counter(), Counter()
    (f, extra), (g, others) = made(one), made(other)
    program = cadiff.compile(f)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for k in (1.0, 2.0, 3.0, 4.0):
            x = np.array([k, 2.0])
            assert program(x, *extra) == g(x, *others)
            assert texts(one) == texts(other)
    assert "it changes " in str(told[0].message)
    assert program.stats()["recordings"] <= 2
    assert program.stats()["eager"] >= 2


def test_globals_and_closures_that_are_counted() -> None:
    n = 0
    module = made("n = 0\ndef f(x):\n    global n\n    n += 1\n    return x * x")

    def f(x: Any) -> Any:
        nonlocal n
        n += 1
        return x * x

    for program in (cadiff.compile(f), cadiff.compile(module.f)):
        with pytest.warns(RuntimeWarning, match=r"it changes \S*n\b"):
            assert [program.grad(x) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert (n, module.n) == (3, 3)


def test_a_dataframe_is_refused_as_a_constant() -> None:
    class Frame:
        def to_numpy(self) -> Any:
            return np.ones(2)

    frame = Frame()
    first = lambda frame: frame.to_numpy()[0]  # noqa: E731
    program = cadiff.compile(lambda x: x * first(frame))
    with pytest.warns(RuntimeWarning, match="give it arrays"):
        assert program(1.5) == 1.5


def test_what_is_written_again_and_again_is_written() -> None:
    class Model:
        rate = 2.0
        last = 0.0

        def loss(self, x: Any) -> Any:
            self.last = self.rate
            return x * self.rate

    model = Model()
    program = cadiff.compile(lambda x: model.loss(x))
    model.last = 2.0
    assert [program.grad(x) for x in (1.0, 2.0, 3.0)] == [2.0] * 3
    assert program.stats()["recordings"] == 1
    model.last = 7.0
    with pytest.warns(RuntimeWarning, match=r"it changes .*last"):
        assert program.grad(1.0) == model.last == 2.0


def test_programs_within_derivatives_make_room_for_what_is_true_now() -> None:
    rate = 0.0
    program = cadiff.compile(lambda x: x * x * rate, max_traces=2)
    outer = cadiff.grad(lambda x: 2.0 * program(x))
    for rate in range(9):
        assert outer(1.5) == 6.0 * rate
    for _ in range(40):
        assert outer(1.5) == 6.0 * rate
    before = program.stats()["eager"]
    assert outer(1.5) == 6.0 * rate
    assert program.stats()["eager"] == before


@pytest.mark.parametrize("begin", [iter, enumerate, lambda items: (n for n in items)])
def test_what_gives_something_else_each_time_is_no_constant(begin: Callable[[Any], Any]) -> None:
    here, there = begin([1.0, 2.0, 3.0]), begin([1.0, 2.0, 3.0])
    program = cadiff.compile(lambda x: x * np.sum(next(here)))
    with pytest.warns(RuntimeWarning, match="whose changes cannot be seen"):
        assert [program(1.5) for _ in range(3)] == [1.5 * np.sum(next(there)) for _ in range(3)]


def test_copies_do_not_answer_from_the_past() -> None:
    module = made("k = 2.0\ndef f(x): return x * k")
    program = cadiff.compile(module.f)
    assert program.grad(1.0) == 2.0
    module.k = 3.0
    for other in (copy.copy(program), copy.deepcopy(program), pickle.loads(pickle.dumps(program))):
        assert other.grad(1.0) == 3.0
    assert program.grad(1.0) == 3.0


def test_copies_know_what_is_set_for_the_thread() -> None:
    module = made(
        "import numpy as np\nzeros = np.zeros(1)\ndef f(x):\n    try: np.log(zeros)\n"
        "    except FloatingPointError: return 2.0 * x\n    return x * len(str(zeros + 1 / 3))"
    )
    program = cadiff.compile(module.f)
    with np.errstate(divide="ignore"):
        assert program.grad(1.0) == module.f(1.0) == 12.0
        data = pickle.dumps(program)
        with np.printoptions(precision=3):
            assert program.grad(1.0) == pickle.loads(data).grad(1.0) == module.f(1.0) == 7.0
            assert copy.copy(program).grad(1.0) == 7.0
    with np.errstate(divide="raise"):
        assert program.grad(1.0) == pickle.loads(data).grad(1.0) == module.f(1.0) == 2.0
        assert copy.copy(program).grad(1.0) == 2.0


def test_what_is_set_is_in_the_digest_of_a_pickle() -> None:
    module = made("def f(x):\n    try: return 2.0 * x\n    except FloatingPointError: return x")
    program = cadiff.compile(module.f)
    program(1.0)
    data = pickle.dumps(program)
    assert len([*pickle.loads(data)._traces]) == 1
    with np.errstate(divide="raise"):
        assert len([*pickle.loads(data)._traces]) == 0


def test_stats_name_what_is_watched_and_its_last_change() -> None:
    module = made("k = 2.0\nname = 'a'\ndef f(x): return x * k if name == 'a' else x")
    program = cadiff.compile(module.f)
    program(1.5)
    watched = program.stats()["watched"]
    (number,) = [path for path in watched if path.endswith("k")]
    assert set(watched.values()) == {None}
    module.k = 5.0
    assert program(1.5) == 7.5
    assert program.stats()["watched"][number] == "2.0 -> 5.0"
    program.clear()
    assert program.stats()["watched"] == {}


def test_what_a_function_around_it_computes_is_no_constant() -> None:
    kept = [1.0]
    inner = cadiff.compile(lambda x: kept[0] * x)

    def keep(where: list[Any], what: Any) -> None:
        where[0] = what

    @cadiff.compile
    def outer(x: Any) -> Any:
        keep(kept, cadiff.value(x) * 2.0)
        result = inner(x)
        keep(kept, 1.0)
        return result

    assert [outer(x) for x in (1.0, 2.0, 3.0)] == [2.0, 8.0, 18.0]
    assert [outer.grad(x) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]


@pytest.mark.filterwarnings("ignore:.*(changes an argument|among its arguments):RuntimeWarning")
@pytest.mark.parametrize("method", ["value", "grad"])
def test_arguments_that_f_changes(method: str) -> None:
    def counts(x: Any, c: Any) -> Any:
        c[0] += 1
        return x * c[0]

    def flips(x: Any, m: Any) -> Any:
        m ^= True
        return x * float(np.sum(m))

    def grows(x: Any, s: Any) -> Any:
        s.add(len(s))
        return x * len(s)

    for f, arguments in (
        (counts, [np.array([k]) for k in (0, 1, 2, 3, 1, 2)]),
        (flips, [np.array([k > 1, k > 0, True]) for k in (0, 1, 2, 0, 1)]),
        (grows, [{*range(k)} for k in (0, 1, 1, 2, 3)]),
    ):
        program = cadiff.compile(f)
        call = program if method == "value" else program.grad
        eager = f if method == "value" else cadiff.grad(f)
        for argument in arguments:
            mine, other = argument.copy(), argument.copy()
            assert call(2.0, mine) == eager(2.0, other)
            np.testing.assert_array_equal(list(mine), list(other))


def test_arguments_that_are_constants_are_looked_into() -> None:
    class Kind(enum.Enum):
        ONE = 1

    config, numbers = ModuleType("config"), {"a": 1.0}
    Kind.ONE.k = config.k = 1.0  # type: ignore[attr-defined]
    for argument, read in (
        (Kind.ONE, lambda o: o.k),
        (config, lambda o: o.k),
        (MappingProxyType(numbers), lambda o: o["a"]),
    ):
        program = cadiff.compile(lambda x, o, read=read: x * read(o))
        assert program(3.0, argument) == 3.0
        Kind.ONE.k = config.k = numbers["a"] = 2.0  # type: ignore[attr-defined]
        assert program(3.0, argument) == 6.0
        Kind.ONE.k = config.k = numbers["a"] = 1.0  # type: ignore[attr-defined]


# How a name of a module is asked for that is computed: of an int, of another global, of a text.
COMPUTED: dict[str, Callable[[Any, float, int], Any]] = {
    "by an int": lambda m, x, k: x * getattr(m, "ab"[k]),
    "by a global of the module": lambda m, x, k: x * getattr(m, m.NAME),
    "by a text": lambda m, x, k: x * getattr(m, f"{'ab'[k]}", 0.0),
    "of its dict": lambda m, x, k: x * vars(m)["ab"[k]],
    "by a reader": lambda m, x, k: x * operator.attrgetter("ab"[k])(m),
}


@pytest.mark.parametrize("how", COMPUTED)
def test_names_of_modules_that_are_computed_are_watched(how: str) -> None:
    """However the module is changed, and in whichever order: it is compared where it changed."""
    m = ModuleType("config")
    m.a, m.b, m.NAME = 1.0, 2.0, "a"  # type: ignore[attr-defined]
    read = COMPUTED[how]
    program = cadiff.compile(lambda x, k: read(m, x, k), max_traces=64)
    changes: list[Callable[[], Any]] = [
        lambda: None,
        lambda: setattr(m, "a", 3.0),
        lambda: setattr(m, "NAME", "b"),
        lambda: vars(m).update(b=5.0),
        lambda: exec("global a\na = 7.0", vars(m)),
        lambda: (vars(m).pop("a"), setattr(m, "a", 9.0)),
        lambda: vars(m).__ior__({"b": 11.0}),
        lambda: setattr(m, "other", 0.0),
        lambda: delattr(m, "other"),
    ]
    for change in changes:
        change()
        for k in (0, 1, 0, 0, 1, 1):
            assert program(3.0, k) == read(m, 3.0, k)


def test_dicts_of_objects_are_compared() -> None:
    """From CPython 3.13 on such a dict is written to without its being told."""

    class Settings:
        rate = 0.0

    settings = Settings()
    settings.rate = 1.0
    own = vars(settings)
    program = cadiff.compile(lambda x: x * own["rate"])
    for k in range(50):
        settings.rate = float(k)
        assert [program(2.0), program(2.0)] == [2.0 * k] * 2


@pytest.mark.parametrize("size", [3, 15, 16, 17, 100, 4096, 50_000])
def test_all_numbers_of_an_array_are_watched(size: int) -> None:
    rng = np.random.default_rng(size)
    data, weights = rng.normal(size=size), rng.normal(size=size)
    program = cadiff.compile(lambda x: x * np.sum(data * weights), max_traces=64)

    def swap(k: int, j: int) -> None:
        data[[k, j]] = data[[j, k]]

    def negate(*which: int) -> None:
        data[list(which)] *= -1.0

    changes: list[Callable[[], Any]] = [
        lambda: swap(0, size - 1),
        lambda: swap(0, min(16, size - 1)),  # two of one lane
        lambda: negate(0, min(16, size - 1)),
        lambda: negate(0, min(32, size - 1)),
        lambda: negate(size - 1),
        lambda: negate(size // 2),
        lambda: np.multiply(data, -1.0, out=data),
        lambda: data.__setitem__(slice(None), data[::-1].copy()),
        lambda: data.__setitem__(slice(None), np.roll(data, size // 2)),
        lambda: data.__setitem__(size // 3, np.nextafter(data[size // 3], 9.0)),
    ]
    known = set()
    for change in changes:
        change()
        known.add(data.tobytes())
        for _ in range(2):
            assert program(2.0) == pytest.approx(2.0 * np.dot(data, weights), rel=1e-9, abs=1e-9)
        assert program.stats()["recordings"] == len(known)


# What f has beside its arguments, and how a call with a float x and an int k changes it.
WRITES: dict[str, tuple[str, str, str]] = {
    "items of an array": ("A = np.zeros(3)", "A[k] += 1.0", "x * A.sum()"),
    "items of a list": ("L = [0, 0, 0]", "L[k] = L[k] + 1", "x * sum(L)"),
    "items appended": ("L = []", "L.append(2 * k)", "x * len(L) + L[-1]"),
    "items deleted": ("D = dict(enumerate('abcd'))", "del D[min(D)]", "x * len(D)"),
    "an attribute": ("o = SimpleNamespace(s=0)", "o.s = o.s + k", "x * o.s"),
    "an attribute in place": ("o = SimpleNamespace(s=0)", "o.s += k", "x * o.s"),
    "a global": ("n = 0", "global n; n = n + k", "x * n"),
    "items by another name": ("A = np.zeros(3)", "B = A; B[k] += 1.0", "x * A.sum()"),
    "an average": ("A = np.zeros(1)", "A[0] = 0.5 * A[0] + value(x)", "x - A[0]"),
    "an average, and what raises": (
        "A = np.zeros(1)",
        "A[0] += 1.0; float(A[:3 + int(np.sum(x > 0))][0]); math.sqrt(value(x))",
        "x * A[0]",
    ),
    "what is not replayed": (
        "A = np.zeros(3)",
        "A[k] += float(value(x))",
        "(x * A[k], [x, {k: x}])",
    ),
}


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("what", WRITES)
def test_functions_that_change_what_they_read_run_once_in_a_call(
    what: str, optimize: bool
) -> None:
    before, change, result = WRITES[what]
    text = f"{before}\ndef f(x, k):\n    {change}\n    return {result}"
    one, other = (
        {"np": np, "math": math, "value": cadiff.value, "SimpleNamespace": SimpleNamespace}
        for _ in range(2)
    )
    exec(text, one)
    exec(text, other)
    program = cadiff.compile(one["f"], optimize=optimize)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it is run eagerly
        for k in (0, 1, 2, 1):
            found, expected = program(1.5 + k, k), other["f"](1.5 + k, k)
            assert repr(plain(found)) == repr(plain(expected)), k


def plain(result: Any) -> Any:
    """With a float of Python's, as programs return it."""
    if isinstance(result, tuple):
        return (plain(result[0]), *result[1:])
    return float(result)


def test_integers_are_inputs_once_a_function_has_remembered_what_it_needs() -> None:
    memory: dict[str, Any] = {}

    def remember() -> Any:
        here = memory
        return here.setdefault("table", np.arange(9.0))

    program = cadiff.compile(lambda x, k: x * remember()[k])
    assert [program(2.0, k) for k in range(9)] == [2.0 * k for k in range(9)]
    assert program.stats()["recordings"] == 2


def test_methods_of_classes_of_c_are_found_where_they_are_named() -> None:
    program = cadiff.compile(lambda x: x * datetime.datetime.today().year)
    with pytest.warns(RuntimeWarning, match=r"it calls datetime\.datetime\.today.*\(line \d+ of"):
        program(1.5)


COUNTED = collections.Counter(a=2, b=1)


def test_owners_of_methods_are_called_by_their_names() -> None:
    program = cadiff.compile(lambda x: x * COUNTED.most_common(1)[0][1])
    assert program(1.5) == 3.0
    assert any(place.endswith(".COUNTED") for place in program.stats()["watched"])
    COUNTED["b"] = 4
    assert program(1.5) == 6.0


def test_a_watch_knows_how_much_of_libraries_is_followed() -> None:
    before = watch_call(halved, []).n_followed
    library_types.follow(compile("0.0", "a library", "eval"))
    assert watch_call(halved, []).n_followed == library_types.n_followed() == before + 1


def halved(x: Any) -> Any:
    return 0.5 * x


def test_what_a_walk_has_met_lives_as_long_as_the_walk() -> None:
    """Else another object with its number would be taken for it."""

    class Walk(Findings):
        def value(self, value: Any, path: str) -> None: ...

        def function(
            self, function: Any, path: str, owner: Any = None, kind: type | None = None
        ) -> None: ...

    walk, thing = Walk(Watch()), Walk(Watch())  # any object that can be referred to weakly
    assert [walk.is_new(thing), walk.is_new(thing), walk.is_new(thing, walk)] == [1, 0, 1]
    seen = weakref.ref(thing)
    del thing
    gc.collect()
    assert seen() is not None
