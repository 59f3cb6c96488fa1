"""Containers and statics in calls of programs: what f gets and returns, and what is told apart.

What is expected comes from f itself, and from gradient functions of f.
"""

from __future__ import annotations

import enum
import functools
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import cadiff
import cadiff.numpy as cnp
from cadiff import binding

from ..helpers.properties import examples
from ..helpers.trees import Box, Layer, Pair, assert_same_tree, leaves, replaced, tree_map, trees

Function = Callable[..., Any]


def squared(tree: Any) -> Any:
    return replaced(lambda x: x * x + 1.0, tree)


def weighted(tree: Any) -> Any:
    return sum(((k + 1) * x * x for k, x in enumerate(leaves(tree))), 0.0)


@examples(40)
@given(trees)
def test_programs_return_the_containers_of_f(tree: Any) -> None:
    program = cadiff.compile(squared)
    wanted = tree_map(lambda x: x * x + 1.0, tree)
    tangent = tree_map(lambda x: 2.0 * x * x, tree)
    for _ in range(2):
        assert_same_tree(program(tree), wanted)
        for got, expected in zip(program.jvp((tree,), (tree,)), (wanted, tangent), strict=True):
            assert_same_tree(got, expected)
        value, pullback = program.vjp(tree)
        assert_same_tree(value, wanted)
        assert_same_tree(pullback(tree_map(float, tree)), tangent)
    assert program.stats()["recordings"] <= 2  # ints are statics of a value alone
    assert_same_tree(pickle.loads(pickle.dumps(program))(tree), wanted)


@examples(25)
@given(trees)
def test_derivatives_have_the_containers_of_arguments(tree: Any) -> None:
    program = cadiff.compile(weighted)
    for name, argument in (("value_and_grad", ()), ("hessian", ()), ("hvp", (tree,))):
        wanted = getattr(cadiff, name)(weighted)(tree, *argument)
        for _ in range(2):
            assert_same_tree(getattr(program, name)(tree, *argument), wanted, 1e-14)


# --- dataclasses ---------------------------------------------------------------------------------


@dataclass
class Model:
    """Numbers, what is none, and what was computed of them."""

    rate: float
    name: str = "linear"
    power: int = 2
    grid: Any = field(init=False)

    def __post_init__(self) -> None:
        self.grid = np.linspace(0.0, 1.0, 3)
        self.half = 0.5 * self.rate  # which is no field

    @functools.cached_property
    def cube(self) -> float:
        return self.rate**3


def run(x: Any, model: Model) -> Any:
    scale = 2.0 if model.name == "linear" else 3.0
    return scale * cnp.sum(x**model.power * model.grid) * model.half


def test_a_dataclass_beside_the_argument_is_what_it_was() -> None:
    program = cadiff.compile(run)
    x = np.array([1.0, 2.0, 3.0])
    changed = Model(2.0)
    changed.half = 4.0
    others = [Model(3.0), Model(2.0, "other"), Model(2.0, power=3), changed]
    for model in [Model(2.0), *others, Model(2.0), Model(2.0)]:
        for _ in range(2):
            assert program(x, model) == run(x, model)
            np.testing.assert_array_equal(
                program.grad(x, model), cadiff.grad(run)(x, model), strict=True
            )


def test_what_was_computed_of_other_numbers_is_left_behind() -> None:
    @dataclass
    class Cubed:
        rate: float

        @functools.cached_property
        def cube(self) -> float:
            return self.rate**3

    model = Cubed(2.0)
    assert model.cube == 8.0  # and is kept
    for gradient in (cadiff.grad(lambda m: m.cube), cadiff.compile(lambda m: m.cube).grad):
        assert gradient(model) == Cubed(12.0)


# --- statics -------------------------------------------------------------------------------------


class Rows(list[Any]):
    """A list whose items are not what it is made of alone."""

    def __init__(self, label: str, items: Any) -> None:
        super().__init__(items)
        self.label = label


class Choice(enum.Enum):
    ONE = 1
    TWO = 2


class Scaled:
    def __init__(self, by: float) -> None:
        self.by = by

    def times(self, x: Any) -> Any:
        return self.by * x


def closing(c: Any) -> Function:
    return lambda x: x * c


def by_default(c: Any) -> Function:
    return lambda x, c=c: x * c


def by_name(c: Any) -> Function:
    def times(x: Any, *, c: Any = c) -> Any:
        return x * c

    return times


def within(c: Any) -> Function:
    inner = closing(c)
    return lambda x: inner(x) + 1.0


def calling_itself(c: Any) -> Function:
    def times(x: Any, n: int = 3) -> Any:
        return x if n == 0 else c * times(x, n - 1)

    return times


def of_many(c: Any) -> Function:
    table = {"a": [c, np.array([c, 2.0])], "b": (np.float32(c), {c})}
    return lambda x: x * table["a"][0] * table["a"][1][0]  # type: ignore[index]


def applied(x: Any, g: Any) -> Any:
    return cnp.sum(g(x))


# For each, what makes it of 1 or 2, equal but another object each time; and a function of it.
STATICS: dict[str, tuple[Callable[[int], Any], Function]] = {
    "slice": (lambda c: slice(0, c), lambda x, s: cnp.sum(x[s])),
    "slices": (lambda c: (slice(0, c), Ellipsis), lambda x, s: cnp.sum(x[s])),
    "range": (lambda c: range(c), lambda x, s: sum(x[i] for i in s)),
    "set": (lambda c: {c, c + 1}, lambda x, s: sum(x[i] for i in s)),
    "frozenset": (lambda c: frozenset((c, "a")), lambda x, s: x[1] * (1 in s)),
    "enum": (lambda c: Choice(c), lambda x, s: x[0] if s is Choice.ONE else x[1]),
    "dtype": (lambda c: np.dtype(f"f{4 * c}"), lambda x, s: x[0] * s.itemsize),
    "bytes": (lambda c: bytes([c, 7]), lambda x, s: x[0] * s[0]),
    "int of NumPy": (lambda c: np.int64(c), lambda x, s: x[s]),
    "dates": (lambda c: np.array([c], "M8[D]"), lambda x, s: x[0] * int(s.astype(int)[0])),
    "closure": (closing, applied),
    "closure of a float": (lambda c: closing(0.5 * c), applied),
    "default": (by_default, applied),
    "default of a keyword": (by_name, applied),
    "function in a closure": (within, applied),
    "function that calls itself": (calling_itself, applied),
    "containers in a closure": (of_many, applied),
    "partial": (lambda c: functools.partial(pow, exp=c), applied),
    "method of C": (lambda c: [7, 8, 9][:c].index, lambda x, s: x[s(7)]),
    "in containers": (
        lambda c: {"f": [closing(c)], "s": Pair(slice(c), None)},
        lambda x, s: cnp.sum(s["f"][0](x)[s["s"].weight]),
    ),
}
BY_IDENTITY = {"method of C"}


@pytest.mark.parametrize("name", STATICS)
def test_equal_statics_are_one_signature(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, f = STATICS[name]
    program = cadiff.compile(f)
    x = np.array([1.5, -0.5, 2.5, 3.5])
    for c in (1, 2, 1, 2):
        assert program(x, make(c)) == f(x, make(c))
        assert program.grad(x, make(c)).tolist() == cadiff.grad(f)(x, make(c)).tolist()
    stats = program.stats()
    if name in BY_IDENTITY:
        return
    assert (stats["recordings"], stats["eager"]) == (2, 0), stats
    monkeypatch.setattr(program._general, "run", None)  # the general path
    for c in (1, 2):
        assert program(x, make(c)) == f(x, make(c))


def test_one_method_of_one_object_is_one_signature() -> None:
    program = cadiff.compile(applied)
    x = np.array([1.5, -0.5])
    one, other = Scaled(2.0), Scaled(2.0)
    for scaled in (one, other, one):
        assert program(x, scaled.times) == 2.0
    one.by = 3.0
    assert program(x, one.times) == 3.0
    assert program(x, other.times) == 2.0


def content(g: Any) -> Any:
    return g.__closure__[0].cell_contents


# Pairs that are equal, or nearly so, for Python, and not for f.
DIFFERENT: dict[str, tuple[Any, Any, Function]] = {
    "signs of zero": (closing(-0.0), closing(0.0), lambda x, g: cadiff.copysign(x[0], g(1.0))),
    "types": (closing(1), closing(True), lambda x, g: x[0] * (content(g) is True)),
    "ranges": (range(0, 3, 2), range(0, 4, 2), lambda x, r: x[0] * r.stop),
    "types of containers": ([1, 2], (1, 2), lambda x, t: x[0] * isinstance(t, list)),
    "order of a set": ({8, 0}, {0, 8}, lambda x, s: x[next(iter(s)) % 3]),
    "attributes": (Layer(1, 2), Pair(1, 2), lambda x, t: x[0] * isinstance(t, Pair)),
    "a list's own": (Rows("a", [1.0]), Rows("b", [1.0]), lambda x, r: x[0] * (r.label == "a")),
    "labels": (Box("x", 1.0), Box("y", 1.0), lambda x, b: x[0] * (b.label == "x")),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_for_f_is_told_apart(name: str) -> None:
    one, other, f = DIFFERENT[name]
    program = cadiff.compile(f)
    x = np.array([1.5, 2.5, 3.5])
    for static in (one, other, one, other):
        assert program(x, static) == f(x, static)


def test_attributes_of_lists_are_kept() -> None:
    def f(rows: Any) -> Any:
        return Rows(rows.label, [2.0 * x for x in rows])

    program = cadiff.compile(f)
    for run in (f, program, program, lambda rows: cadiff.jvp(f, (rows,), (rows,))[1]):
        out = run(Rows("a", [1.0, 2.0]))
        assert (type(out), out, out.label) == (Rows, [2.0, 4.0], "a")
    assert program(Rows("b", [1.0, 2.0])).label == "b"
    found = cadiff.grad(lambda rows: rows[0] * rows[1])(Rows("a", [1.0, 2.0]))
    assert (type(found), found, found.label) == (Rows, [2.0, 1.0], "a")


def test_a_closure_that_changes_is_another_signature() -> None:
    box, count = [1.0], 2.0

    def g(x: Any) -> Any:
        return x * box[0] * count

    program = cadiff.compile(applied)
    x = np.array([1.0, 2.0])
    for number in (1.0, 4.0, 1.0):
        box[0] = number
        assert program(x, g) == applied(x, g)
    count = 3.0
    assert program(x, g) == applied(x, g)


def test_globals_of_a_function_that_is_given_are_watched() -> None:
    names: dict[str, Any] = {"rate": 2.0}
    text = "def made():\n    return lambda x: x * rate"
    exec(text, names)
    program = cadiff.compile(applied)
    x = np.array([1.0, 2.0])
    assert program(x, names["made"]()) == 6.0
    names["rate"] = 3.0
    assert program(x, names["made"]()) == 9.0
    others: dict[str, Any] = {"rate": 5.0}
    exec(text, others)
    assert program(x, others["made"]()) == 15.0


@pytest.mark.parametrize("wrap", [lambda y: {"a": y}, lambda y: [y], lambda y: (y,)])
def test_gradients_of_one_number_in_a_container_are_refused(wrap: Function) -> None:
    def f(x: Any) -> Any:
        return wrap(x * x)

    program = cadiff.compile(f)
    program(2.0)
    program.jacobian(2.0)
    for name in ("grad", "value_and_grad", "hessian", "hvp", "sparse_hessian"):
        further = (1.0,) if name == "hvp" else ()
        with pytest.raises(TypeError) as wanted:
            getattr(cadiff, name)(f)(2.0, *further)
        for method in (getattr(program, name), getattr(cadiff, name)(program)):
            for _ in range(2):
                with pytest.raises(TypeError) as found:
                    method(2.0, *further)
                assert str(found.value) == str(wanted.value)


def test_rows_of_floats_of_numpy() -> None:
    program = cadiff.compile(lambda x: sum(v * v for v in x))
    for x in ([1.0, 2.0], [*np.array([1.0, 2.0])], [np.float64(3.0), 2.0], (np.float64(2.0), 5)):
        for _ in range(3):
            assert program(x) == sum(v * v for v in x)
            found = program.grad(x)
            assert found == type(x)(2.0 * v for v in x)
            assert [*map(type, found)] == [*map(type, cadiff.grad(program.__wrapped__)(x))]


@pytest.mark.parametrize(
    "args",
    [
        (2.0, {"a": 3.0, "b": np.arange(3.0)}),
        ([2.0, 3.0], "name", None),
        ((2.0, np.float32(3.0)), 4, [1.0, 2]),
        ({"a": 3.0, "b": [np.ones(2), 1.5]}, Box),
        (np.ones(2), [True, "a", np.ones(2, dtype=int)], slice(3)),
        (3, [], np.float64(2.0)),
    ],
)
def test_what_runs_eagerly_gets_the_numbers_that_are_recorded(args: tuple[Any, ...]) -> None:
    seen: list[Any] = []
    kind_of = type  # else f would have its own arguments

    def f(*args: Any) -> Any:
        seen.append(binding.map_leaves(kind_of, args))
        numbers = [x for x in binding.flattened(args)[0] if kind_of(x).__name__ == "Var"]
        total = sum((cnp.sum(x * x) for x in numbers), 0.0)
        return total * float(cadiff.value(total)) + 1.0 / (0.0 * numbers[0])

    program = cadiff.compile(f)
    with pytest.warns(RuntimeWarning, match="eagerly"):
        first = program(*args)
    for _ in range(2):
        np.testing.assert_array_equal(program(*args), first)
        assert seen[-1] == seen[0]
    assert np.all(np.isinf(first))


def counts(x: Any, d: Any) -> Any:
    d["n"] = d.get("n", 0) + 1
    d["a"] = d.get("a", 1.0) * 2.0
    return x * d["n"] * d["a"]


def appends(x: Any, d: Any) -> Any:
    d.setdefault("items", []).append(1.5)
    return x * sum(d["items"])


@pytest.mark.parametrize("f", [counts, appends])
@pytest.mark.parametrize("method", ["__call__", "grad", "jacobian"])
@pytest.mark.filterwarnings("ignore:.*changes a list, a dict or another container")
def test_containers_that_f_changes_are_changed(f: Callable[..., Any], method: str) -> None:
    eager = f if method == "__call__" else getattr(cadiff, method)(f)
    for optimize in (True, False):
        program = cadiff.compile(f, optimize=optimize)
        mine: dict[str, Any] = {}
        other: dict[str, Any] = {}
        for _ in range(4):
            assert getattr(program, method)(2.0, mine) == eager(2.0, other)
        assert mine == other
        assert any("another container" in text for text in program.stats()["obstacles"])


@dataclass
class Point:
    a: float
    b: float


def test_attributes_that_are_no_fields_count_in_values() -> None:
    def energy(point: Any) -> Any:
        return point.a + point.b**2 + getattr(point, "extra", 0.0) ** 2

    program = cadiff.compile(energy)
    for extra in (5.0, 7.0, np.float64(7.0), 5.0):
        point = Point(1.0, 3.0)
        assert program(point) == energy(point) == 10.0
        point.extra = extra  # type: ignore[attr-defined]
        assert program(point) == energy(point) == 10.0 + extra**2
