"""A call of a program gives what its function gives, whatever that asks of its arguments."""

from __future__ import annotations

import enum
import functools
import operator
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cadiff
import cadiff.numpy
import cadiff.scipy.linalg
from cadiff import nn
from cadiff.operations.primitives import primitive

from ..helpers.properties import examples

pytestmark = pytest.mark.filterwarnings("ignore:.*runs its function eagerly")

OPTIMIZE = pytest.mark.parametrize("optimize", [True, False])


# --- whether objects are the same ----------------------------------------------------------------


class Kind(enum.Enum):
    PLAIN = 1


@dataclass
class Point:
    x: float

    def is_at(self, other: Any) -> bool:
        return self is other


UNSET = object()
W = np.ones(3)
X = np.array([0.5, 1.5, 2.5])
SETTINGS = {"rate": 1.0}
PAIR = [1.0, 2.0]
ORIGIN = Point(2.0)
SAME, ident = operator.is_, id


class Model:
    """Has an array of its own, which may be an argument, too."""

    def __init__(self) -> None:
        self.best = W

    def cost(self, x: Any) -> Any:
        return np.sum(x * x) if x is self.best else np.sum(x)

    def inner(self, x: Any) -> Any:
        return sum([1.0 for known in [x] if known is self.best]) + np.sum(x)

    def own(self, x: Any, other: Any) -> Any:
        return np.sum(x) * (2.0 if other is self else 1.0)


def asks_deeply(x: Any, w: Any) -> Any:
    def is_known() -> bool:
        return (x if w is None else w) is W

    return np.sum(x) if is_known() else np.sum(x * w) * 3.0


def asks_by_an_argument(x: Any, ask: Any) -> Any:
    return np.sum(x) * (2.0 if ask(x) else 1.0)


MODEL = Model()
ASKING: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "is": (lambda x, w: np.sum(x) if w is W else 100.0 * np.sum(x * w), (X, W)),
    "is not": (lambda x, w: 100.0 * np.sum(x) if w is not W else np.sum(x * w), (X, W)),
    "the other way round": (lambda x, w: np.sum(x) if W is w else 9.0 * np.sum(x), (X, W)),
    "one argument and another": (lambda a, b: np.sum(a * b) * (2.0 if a is b else 1.0), (X, X)),
    "a dict": (lambda x, c: x * 2.0 if c is SETTINGS else x * c["rate"], (1.0, SETTINGS)),
    "a list": (lambda x, c: x * 2.0 if c is PAIR else x * c[0], (3.0, PAIR)),
    "a dataclass": (lambda x, p: x * 3.0 if p is ORIGIN else x * p.x, (3.0, ORIGIN)),
    "a method of one": (lambda x, p: x * (3.0 if Point.is_at(p, ORIGIN) else 1.0), (3.0, ORIGIN)),
    "id": (lambda x, w: np.sum(x * w) if id(w) == id(W) else 7.0 * np.sum(x), (X, W)),
    "id, by another name": (lambda x, w: np.sum(x) * (ident(w) == ident(W)), (X, W)),
    "id, given to map": (lambda v: len(set(map(id, v))) * v[0][0], ([PAIR, PAIR],)),
    "id in a set": (lambda v: len({id(item) for item in v}) * v[0][0], ([PAIR, PAIR],)),
    "operator.is_": (lambda x, w: np.sum(x) * (1.0 if operator.is_(w, W) else 5.0), (X, W)),
    "the same, by a global": (lambda x, w: np.sum(x) * (1.0 if SAME(w, W) else 5.0), (X, W)),
    "a part of an argument": (lambda x, c: np.sum(x) * (1.0 if c[0] is W else 5.0), (X, [W])),
    "a function within it": (asks_deeply, (X, W)),
    "a function among its arguments": (asks_by_an_argument, (W, lambda x: x is W)),
    "a partial": (functools.partial(lambda k, x: k * np.sum(x if x is W else 1.0), 3.0), (W,)),
    "a method": (MODEL.cost, (W,)),
    "a comprehension in a method": (MODEL.inner, (W,)),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKING)
@OPTIMIZE
def test_what_asks_whether_objects_are_the_same_runs_on_its_own_arguments(
    name: str, optimize: bool
) -> None:
    f, args = ASKING[name]
    program = cadiff.compile(f, optimize=optimize)
    for _ in range(3):
        assert program(*args) == f(*args)
    assert "whether objects are the same" in program.stats()["obstacles"][0]
    if name in ("is", "one argument and another", "a dict", "id"):
        assert np.array_equal(program.grad(*args), cadiff.grad(f)(*args))
        points = np.array([args[0], args[0]])
        found = program.batch(points, *args[1:])
        assert np.array_equal(found, [f(x, *args[1:]) for x in points])


def test_the_obstacle_says_where_it_is_asked_and_what_to_do() -> None:
    program = cadiff.compile(Model().cost)
    with pytest.warns(RuntimeWarning, match=r"`is` in line \d+ of Model.cost.*pass a bool"):
        program(X)


def test_methods_of_objects_that_come_and_go_run_on_their_own_arguments() -> None:
    class Fleeting(Model):
        cost = cadiff.compile(Model.cost)

    for _ in range(40):  # the last ones have no program yet
        assert Fleeting().cost(W) == 3.0
        assert Fleeting().cost(2.0 * W) == 6.0


def harmless(x: Any, how: Any = None, w: Any = UNSET) -> Any:
    total = np.sum(x)
    if how is None or how is True or how is ... or how is Kind.PLAIN or how is np._NoValue:
        total = total * 2.0
    if w is UNSET or (None if how else w) is None or type(how) is type(w) or type(x) is float:
        total = total * 3.0
    if how.__class__ is str or how in (str, np.sin) or how is harmless or SETTINGS is PAIR:
        total = total * 5.0
    if id(W) == id(PAIR) or id(harmless) == id(W):
        total = total * 7.0
    return total + np.mean(x) + np.einsum("i->", x)


@pytest.mark.parametrize(
    "rest",
    [(), (True,), (None, None), (...,), ("a", "b"), (np.sin,), (str,), (harmless,)]
    + [(Kind.PLAIN,), (False, object())],
    ids=lambda rest: ", ".join(type(item).__name__ for item in rest) or "nothing",
)
def test_what_no_stand_in_is_for_may_be_asked_for(rest: tuple[Any, ...]) -> None:
    program = cadiff.compile(harmless)
    for x in (X, X + 1.0):
        assert program(x, *rest) == pytest.approx(harmless(x, *rest), rel=1e-15)
    assert program.stats()["eager"] == 0 and not program.stats()["obstacles"]


def test_an_object_may_be_told_from_others() -> None:
    program = cadiff.compile(MODEL.own)  # while other methods ask of arrays
    assert (program(X, MODEL), program(X, Model())) == (9.0, 4.5)
    assert program.stats()["eager"] == 0
    program = cadiff.compile(lambda x, model: model.own(x, MODEL) + model.cost(x))
    assert (program(W, MODEL), program(W, Model())) == (9.0, 6.0)
    assert "is` in line" in program.stats()["obstacles"][0]


# --- ints are ints -------------------------------------------------------------------------------

LARGE = 2**53 + 1
OF_INTS: dict[str, tuple[Callable[..., Any], Any]] = {
    "remainder": (lambda d: d["n"] % 10, {"n": LARGE}),
    "sum": (sum, [2**53, 1]),
    "quotient": (lambda d: d["n"] // 2, {"n": 7}),
    "text": (lambda d: f"{d['n']} {d['n']!r}", {"n": 7}),
    "class": (lambda d: isinstance(d["n"], int), {"n": 7}),
    "itself": (lambda d: d, [1, 2]),
    "itself, with floats": (lambda d: d, (1, 2.5, [3, 4.0])),
    "array": (lambda d: np.array(d), [1, 2]),
    "range": (lambda d: sum(range(d["n"])) * d["x"], {"n": 4, "x": 0.5}),
    "index": (lambda d: d["v"][d["n"]], {"n": 1, "v": [1.0, 2.0]}),
    "bits": (lambda d: d[0] & 6 | d[1] << 3, (7, 2)),
    "power": (lambda d: d[0] ** 70, [3]),
    "in a dataclass": (lambda p: p.x // 2, Point(7)),
}


def _described(x: Any) -> Any:
    """Values with their types."""
    return cadiff.binding.map_leaves(lambda leaf: (type(leaf), repr(leaf)), x)


def _shifted(item: Any, by: int) -> Any:
    return item + by if type(item) is int else item


@pytest.mark.parametrize("name", OF_INTS)
@OPTIMIZE
def test_ints_in_containers_of_the_first_argument_are_ints(name: str, optimize: bool) -> None:
    f, first = OF_INTS[name]
    program = cadiff.compile(f, optimize=optimize)
    for by in (0, 0) if name == "index" else (0, 0, 1, 2, 5, 0):
        other = cadiff.binding.map_leaves(functools.partial(_shifted, by=by), first)
        assert _described(program(other)) == _described(f(other))


@cadiff.compile
def _mixed(v: list[Any]) -> list[Any]:
    return [v[0] * 3, sum(v), v[-1] - v[0], *v]


@given(st.lists(st.integers(-(2**40), 2**40) | st.floats(-1e3, 1e3), min_size=1, max_size=12))
@examples(20)
def test_lists_of_ints_and_floats_are_what_they_are(items: list[Any]) -> None:
    found, wanted = _mixed(items), _mixed.__wrapped__(items)
    assert [*map(type, found)] == [*map(type, wanted)]
    assert found == pytest.approx(wanted, rel=1e-15)


def test_derivatives_by_ints_are_those_by_floats() -> None:
    program = cadiff.compile(lambda d: d["n"] ** 2 * d["x"])
    assert program({"n": 3, "x": 2.0}) == 18.0
    assert program.grad({"n": 3, "x": 2.0}) == {"n": 12.0, "x": 9.0}


def test_many_ints_that_change_take_one_recording() -> None:
    program = cadiff.compile(sum)
    for k in range(4):
        items = [*range(k, k + 2000)]
        assert program(items) == sum(items)
    assert program.stats()["recordings"] == 2  # as constants, and as inputs


# --- texts ---------------------------------------------------------------------------------------

TEXTS: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "of a function": lambda x: repr(x),
    "!r": lambda x: f"{x!r}",
    "%r": lambda x: "%r" % (x,),  # noqa: UP031
    "ascii": lambda x: ascii(x),
    "in a list": lambda x: str([x]),
    "in a dict": lambda x: f"{ {'x': x} }",
    "of an element": lambda x: repr(x[0]) if np.ndim(x) else str(x),
    "beside a number": lambda x: (repr(x), 2.0 * x),
    "str": str,
    "format": lambda x: f"{x}",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("x", [1.5, [1.5, 2.0], {"a": 1.5}, np.array([1.5, 2.0])], ids=repr)
@OPTIMIZE
def test_texts_are_those_of_what_was_given(name: str, x: Any, optimize: bool) -> None:
    f = TEXTS[name]
    if not isinstance(x, np.ndarray) and name in ("of an element", "beside a number"):
        x = 1.5
    program = cadiff.compile(f, optimize=optimize)
    for _ in range(3):
        assert repr(program(x)) == repr(f(x))


def test_texts_are_kept_once() -> None:
    texts: list[str] = []

    def logged(x: Any) -> Any:
        texts.append(f"{x!r}")
        return 2.0 * x

    program = cadiff.compile(logged)
    assert [program(1.5), program(2.5)] == [3.0, 5.0]
    assert texts == ["1.5", "2.5"]


# --- complex numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 1j,
        lambda x: 1j / x,
        lambda x: np.exp(1j * x),
        lambda x: np.array([1.0, 2.0j]) * x,
        lambda x: x - np.complex128(2.0 + 1j),
        lambda x: np.multiply(x, 1j).imag,
        lambda x: x**2j,
        lambda x: x * np.fft.fft([1.0, 2.0]),
    ],
)
@pytest.mark.parametrize("x", [1.5, np.array([1.5, 2.0])], ids=repr)
def test_complex_numbers_come_in(f: Callable[[Any], Any], x: Any) -> None:
    program = cadiff.compile(f)
    for _ in range(2):
        if np.shape(x) == () or np.shape(f(x)) == np.shape(x):
            found = program(x)
            assert type(found) is type(f(x)) or isinstance(f(x), np.generic)
            np.testing.assert_allclose(found, f(x), rtol=1e-15, atol=1e-300)
    assert program.stats()["obstacles"] == []
    if np.iscomplexobj(f(x)):
        with pytest.raises(TypeError):
            program.grad(x)


# --- what else is told ---------------------------------------------------------------------------


def _by_import(x: float) -> float:
    from os import getenv as of_environment

    return x * float(of_environment("CADIFF_TEST_RATE", "0"))


def _by_local_module(x: float) -> float:
    import os as system

    return x * float(system.environ["CADIFF_TEST_RATE"])


@pytest.mark.parametrize(
    "f",
    [lambda x: x * float(os.getenv("CADIFF_TEST_RATE", "0")), _by_import, _by_local_module],
)
def test_variables_of_the_environment_are_watched(
    f: Callable[[float], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = cadiff.compile(f)
    for rate in (2.0, 2.0, 3.0):
        monkeypatch.setenv("CADIFF_TEST_RATE", str(rate))
        assert program(1.0) == rate
    assert program.stats()["recordings"] == 2


@pytest.mark.parametrize(
    "points", [iter([X, X]), (x for x in X), {1: X}.values()], ids=["iter", "generator", "values"]
)
def test_batch_names_what_is_no_array_of_points(points: Any) -> None:
    with pytest.raises(TypeError, match=f"list of them, not a {type(points).__name__}: pass list"):
        cadiff.compile(np.sum).batch(points)


def test_operations_have_the_names_that_users_know() -> None:
    with warnings.catch_warnings(), pytest.raises(ValueError, match="calls cumprod, "):
        cadiff.compile(lambda x: np.sum(np.cumprod(x) ** 2)).to_c(X)
    for module in (cadiff.numpy._reductions, cadiff.numpy._products, cadiff.scipy.linalg, nn):
        for rule in vars(module).values():
            assert not (isinstance(rule, primitive) and rule._name.startswith("_"))
