"""What tells calls and pickles from others: how things stand in memory, what they are called.

Arguments that differ in what f reads are never taken for each other, and what was edited is not
taken for what was recorded. No code of a class of the user's runs in order to see that.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import datetime
import decimal
import itertools
import math
import pickle
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.processes import isolated

# --- what tells arguments apart ------------------------------------------------------------------


def function(**attributes: Any) -> Any:
    def g(x: Any) -> Any:
        return x

    for name, value in attributes.items():
        setattr(g, f"__{name}__", value)
    return g


class OfList(list[Any]):
    def __iter__(self) -> Any:
        return iter([7.0])


class Doubling(list[Any]):
    def __getitem__(self, k: Any) -> Any:
        return 2.0 * list.__getitem__(self, k)


def endless(kind: type, *args: Any, **names: Any) -> Any:
    return type("Endless", (kind,), {"__len__": lambda self: 10**9})(*args, **names)


class OfKeys(dict[str, Any]):
    def __iter__(self) -> Any:
        return iter(["other"])

    def keys(self) -> Any:
        return ["other"]


class EndlessSet(set[Any]):
    def __iter__(self) -> Any:
        return itertools.repeat(1.0)


ROWS, COLUMNS = np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))
WHOLE = np.ones(4)
MOMENT = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.timezone.utc)

TOLD: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    **{
        f"functions by their {name}": (
            lambda x, g, name=name: x * len(str(getattr(g, f"__{name}__"))),
            [(function(**{name: value}),) for value in values],
        )
        for name, values in {
            "name": ("a", "bbb"),
            "qualname": ("a", "bbb"),
            "doc": ("a", "bbb", None),
            "module": ("a", "bbb"),
            "annotations": ({}, {"x": int}),
        }.items()
    },
    "functions in a list": (
        lambda x, gs: x * len(gs[0].__name__),
        [([function(name="a")],), ([function(name="bbb")],)],
    ),
    **{
        f"arrays by {what}": (ask, [(ROWS,), (COLUMNS,), (ROWS,), (ROWS[:, ::-1],)])
        for what, ask in {
            "isfortran": lambda x, b: x * (1.0 + np.isfortran(b)),
            "flags": lambda x, b: x * (1.0 + b.flags.f_contiguous + b.flags["C_CONTIGUOUS"]),
            "strides": lambda x, b: x * b.strides[0],
            "whose they are": lambda x, b: x * (1.0 + b.flags.owndata + (b.base is None)),
        }.items()
    },
    **{
        f"arrays of {kind}s by flags": (
            lambda x, b: x * (1.0 + b.flags.f_contiguous),
            [(ROWS.astype(kind),), (np.asfortranarray(ROWS.astype(kind)),)],
        )
        for kind in ("int", "bool", "str", "complex")
    },
    "whether arrays may be written to": (
        lambda x, b: x * (1.0 + b.flags.writeable),
        [(ROWS,), (np.broadcast_to(1.0, (2, 3)),)],
    ),
    "arrays that share memory": (
        lambda x, b, c: x * (1.0 + np.shares_memory(b, c)),
        [(WHOLE, WHOLE[1:]), (WHOLE, WHOLE.copy()[1:]), (WHOLE, WHOLE[1:])],
    ),
    "arrays that may share memory": (
        lambda x, b, c: x * (1.0 + np.may_share_memory(b, c)),
        [(WHOLE, WHOLE[1:]), (WHOLE, WHOLE.copy()[1:]), (WHOLE, WHOLE[1:])],
    ),
    "lists with an iteration of their own": (
        lambda x, b: x * b[0] + sum(b),
        [(OfList([1.0, 2.0]),), (OfList([3.0, 2.0]),), (OfList([4.0, 5.0]),)],
    ),
    "lists with items of their own": (
        lambda x, b: x * b[0],
        [(Doubling([1.0, 2.0]),), (Doubling([3.0, 2.0]),), (Doubling([4.0, 5.0]),)],
    ),
    **{
        f"{name} without an end": (lambda x, b, key=key: x * b[key], [(a,), (b,)])
        for name, key, a, b in (
            ("lists", 0, endless(list, [1.0, 2.0]), endless(list, [3.0, 2.0])),
            ("tuples", 0, endless(tuple, [1.0]), endless(tuple, [3.0])),
            ("dicts", "a", endless(dict, a=1.0), endless(dict, a=3.0)),
        )
    },
    "dicts with keys of their own": (
        lambda x, b: x * b["a"],
        [(OfKeys(a=k),) for k in (1.0, 3.0)],
    ),
    "decimals by digits and sign": (
        lambda x, b: x * math.copysign(len(str(b)), b),
        [(decimal.Decimal(text),) for text in ("1.0", "1.00", "0", "-0")],
    ),
    "moments by their zones": (
        lambda x, b: x * b.hour,
        [(MOMENT,), (MOMENT.astimezone(datetime.timezone(datetime.timedelta(hours=3))),)],
    ),
    **{
        f"what is in a {kind.__name__}": (
            lambda x, b: x * math.copysign(1.0 + isinstance(b["a"], float), b["a"]),
            [(kind(a=value),) for value in (0.0, -0.0, 1.0, 1)],
        )
        for kind in (dict, getattr(builtins, "frozendict", dict))  # new in Python 3.15
    },
    "sets without an end": (lambda x, b: x * (1.0 in b), [(EndlessSet([k]),) for k in (1.0, 3.0)]),
}


@pytest.mark.filterwarnings("ignore:.*runs its function eagerly:RuntimeWarning")
@pytest.mark.parametrize("name", TOLD)
def test_arguments_are_told_apart_by_what_f_reads(name: str) -> None:
    f, calls = TOLD[name]
    program = cadiff.compile(f)
    for args in (*calls, *calls):
        assert program(1.5, *args) == f(1.5, *args)


# --- pickles that are loaded after an edit -------------------------------------------------------

# What is read, as it was and as it is edited.
EDITED: list[tuple[str, str, str, str]] = [
    ("K = 1", "K in {1, %s}", "2", "3"),
    ("def g(): return 2 in {1, %s}", "g()", "2", "3"),
    ("def g(k=frozenset({%s})): return 2 in k", "g()", "2", "3"),
    ("K = {1, %s}", "2 in K", "2", "3"),
    ("K = [(frozenset([%s]),)]", "2 in K[0][0]", "2", "3"),
    ("K = collections.deque([frozenset([%s])])", "2 in K[0]", "2", "3"),
    ("K = slice(%s)", "K.stop", "2", "3"),
    ("K = {'a': slice(0, 9, %s)}", "K['a'].step", "2", "3"),
    ("K = range(%s)", "K.stop", "2", "3"),
    ("K = datetime.date(2020, 1, %s)", "K.day", "2", "3"),
    ("K = datetime.timedelta(%s)", "K.days", "2", "3"),
    (
        "K = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(0, %s)))",
        "K.utcoffset().seconds",
        "60",
        "120",
    ),
    ("K = decimal.Decimal(%s)", "float(K)", "2", "3"),
    ("K = re.compile('a%s')", "bool(K.match('a2'))", "2", "3"),
    ("K = struct.Struct('%s')", "K.size", "d", "f"),
    ("K = operator.itemgetter(%s)", "K([1, 2, 3, 4])", "2", "3"),
    ("K = list[%s]", "(K == list[int])", "int", "float"),
    ("class F(float): pass\nK = F(%s)", "float(K)", "2", "3"),
    ("class T(tuple): pass\nK = T([%s])", "K[0]", "2", "3"),
    ("K = np.dtype([('a', %s)])", "K['a'].itemsize", "'f4'", "'f8'"),
    ("K = math.%s", "K(0.5)", "sin", "cos"),
]


@pytest.mark.parametrize(("setup", "expression", "former", "edited"), EDITED)
def test_recordings_of_code_that_was_edited_are_dropped(
    setup: str, expression: str, former: str, edited: str
) -> None:
    def load(part: str) -> None:
        """The module as it is written with this part."""
        module = sys.modules["of_a_user"] = ModuleType("of_a_user")
        text = f"{setup}\ndef f(x): return x * ({expression})".replace("%s", part)
        exec(
            "import collections, datetime, decimal, math, operator, re, struct\n"
            f"import numpy as np\n{text}",
            vars(module),
        )

    load(former)
    program = cadiff.compile(sys.modules["of_a_user"].f)
    program(2.0)
    pickled = pickle.dumps(program)
    load(former)
    assert len(pickle.loads(pickled).stats()["traces"]) == 1
    load(edited)
    program = pickle.loads(pickled)
    assert program.stats()["traces"] == []
    assert program(2.0) == sys.modules["of_a_user"].f(2.0)


def test_digests_are_the_same_in_other_processes() -> None:
    """Where texts have other hashes, and sets another order."""
    text = (
        "from cadiff.programs.walks import watch_call\n"
        "K, L = {'a', 'b', 'c'}, (frozenset('abc'), 2.0)\n"
        "def f(x): return x * ('a' in K) * ('b' in L[0]) * ('c' in {'c', 'd', 'e'})\n"
        "print(watch_call(f, []).fingerprint())"
    )
    assert len({isolated(text) for _ in range(3)}) == 1


# --- classes that answer for themselves ----------------------------------------------------------


def answering() -> dict[str, type]:
    """Classes that pytest itself must not come upon."""

    class Answering:
        def __getattribute__(self, name: str) -> Any:
            if name == "rate":
                return 2.0
            raise KeyError(name)

        def __call__(self) -> float:
            return 2.0

    class AnsweringMeta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise KeyError(name)

    class OfAnswering(metaclass=AnsweringMeta):
        rate = 2.0

        def __call__(self) -> float:
            return 2.0

    class Pretending:
        rate = 2.0

        @property
        def __class__(self) -> Any:
            raise KeyError

        @property
        def __name__(self) -> Any:
            raise KeyError

        def __call__(self) -> float:
            return 2.0

    return {kind.__name__: kind for kind in (Answering, Pretending)} | {"OfMeta": OfAnswering}


held: Any = None


# From CPython 3.12 on `inspect` asks a metaclass, which raises: then f runs eagerly.
@pytest.mark.filterwarnings("ignore:.*it reads what raises:RuntimeWarning")
@pytest.mark.parametrize("name", ["Answering", "OfMeta", "Pretending"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, other: x * other.rate,
        lambda x, other: x * other(),
        lambda x, other: x * held.rate,
        lambda x, other: x * held(),
    ],
)
def test_what_a_class_answers_is_not_asked(f: Callable[..., Any], name: str) -> None:
    global held
    held = answering()[name]()
    program = cadiff.compile(f)
    for _ in range(2):
        assert (program(3.0, held), program.grad(3.0, held)) == (6.0, 2.0)
    held = None


def test_globals_that_a_dict_of_another_class_makes() -> None:
    names: Any = collections.defaultdict(float, w=2.0)
    exec("def f(x): return x * w + x * unknown", names)
    program = cadiff.compile(names["f"])
    with pytest.warns(RuntimeWarning, match="of a collections.defaultdict"):
        assert program(3.0) == 6.0
    names["unknown"] = 1.0
    assert program(3.0) == 9.0


class Zero:
    """No number, as a program may have one for a derivative that is not there."""


class Length(float):
    """A number."""


@pytest.mark.parametrize("kind", [Zero, Length, float])
def test_loops_are_kept_where_types_of_no_numbers_are_asked_for(kind: type) -> None:
    def f(x: Any) -> Any:
        def step(v: Any) -> Any:
            return 0.0 * x if type(v) is kind or kind is type(x) else v + cnp.cos(x * v)

        return cadiff.fori_loop(0, 50, lambda _, v: step(v), x)

    program = cadiff.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cadiff.StaleProgramWarning)  # a float is one, or is none
        for x in (0.5, 0.7, Length(0.3), 0.9):
            assert program(x) == pytest.approx(f(x), rel=1e-14)
    operations = [trace["operations"] for trace in program.stats()["traces"]]
    assert kind is not Zero or max(operations) < 50, operations


def halved_below(v: Any) -> Any:
    return cnp.where(v > 0.0, v, 0.5 * v)


def asking(v: Any) -> Any:
    return [v, 2.0][type(v) is np.ndarray]


def refusing(v: Any) -> Any:
    if v.ndim > 1:
        raise TypeError(f"not of {type(v).__name__}")
    return halved_below(v)


USED = {"halved": halved_below, "asking": asking}
UNASKED: dict[str, tuple[Callable[[Any], Any], int]] = {
    "by what is not called": (lambda v: USED["halved"](v), 1),
    "for an exception that is not raised": (refusing, 1),
    "of a mask": (lambda v: v * (halved_below(v) + asking(v > 0.0)), 4),
}


@pytest.mark.parametrize("name", UNASKED)
def test_comparisons_are_guards_only_where_types_are_looked_at(name: str) -> None:
    """Then stand-ins would be told from what they stand for; else one recording has them all."""
    f, most = UNASKED[name]
    for ask in (lambda p, x: p(x), lambda p, x: p.jacobian(x)):
        program = cadiff.compile(lambda x: f(x))
        for x in (np.ones(3), -np.ones(3), np.array([1.0, -1.0, 2.0]), np.array([-1.0, 2.0, 3.0])):
            expected = f(x) if ask(cadiff.compile(f), x).ndim == 1 else cadiff.jacobian(f)(x)
            np.testing.assert_allclose(ask(program, x), expected, rtol=1e-14)
        assert program.stats()["recordings"] <= most


# --- what tells stand-ins from arguments, where no recording serves ------------------------------


def matches(x: Any) -> Any:
    match x:
        case float():
            return x + round(x, 1)
    return 2.0 * x + round(x, 1)


def comes_to_a_value(x: Any) -> Any:
    return (1.0 if isinstance(x, float) else 2.0) * round(x, 1) if x > 2.0 else x * 3.0


def prints_and_handles(x: Any) -> Any:
    print(end="")
    try:
        return 1.0 / (x - 2.25)
    except ZeroDivisionError:
        return 7.0


# What needs a number itself, or prints, and asks what x is.
UNSERVED: dict[str, Callable[[Any], Any]] = {
    "a method": lambda x: x * (1.0 if hasattr(x, "hex") else 2.0) + round(x, 1),
    "a scalar": lambda x: x * (1.0 if np.isscalar(x) else 2.0) + len(str(x)),
    "a shape": lambda x: x * (getattr(x, "shape", None) is None) + float(cadiff.value(x)),
    "a pattern": matches,
    "a type, for its value": lambda x: x ** int(cadiff.value(x)) * (1.0 + isinstance(x, float)),
    "a type, in a branch": comes_to_a_value,
    "a type, after a print": lambda x: (print(end=""), x * (1.0 + isinstance(x, float)))[1],
    "a scalar, after a print": lambda x: (print(end=""), x * (1.0 + np.isscalar(x)))[1],
    "a division, after a print": prints_and_handles,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("verify", ["first", "always"])
@pytest.mark.parametrize("asked", UNSERVED)
def test_plain_calls_are_those_of_f_where_no_recording_serves(asked: str, verify: Any) -> None:
    f = UNSERVED[asked]
    program, others = (cadiff.compile(f, verify=verify) for _ in range(2))
    for x in (1.5, 2.25, 0.6, 1.5, 2.25, 2.25, 2.25):
        assert program(x) == f(x)
    for x in (1.5, 2.25, 0.6, 2.25):
        with contextlib.suppress(cadiff.numpy.linalg.NoDerivativeError):
            others.grad(x)
        assert others(x) == f(x)


def test_attributes_of_other_objects_tell_nothing() -> None:
    """Such a function is compiled though it prints."""

    class Model:
        rate = 2.0

        def cost(self, x: Any) -> Any:
            print(end="")
            return getattr(self, "rate", 1.0) * x if hasattr(math, "sin") else x

    program = cadiff.compile(Model().cost)
    for x in (1.5, 2.5, 3.5, 4.5):
        assert program(x) == 2.0 * x
    assert program.stats()["eager"] < 3
