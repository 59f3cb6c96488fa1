"""Compiled functions see what changes beside their arguments: none answers from the past."""

from __future__ import annotations

import copy
import datetime
import gc
import pickle
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff.binding import Watch
from cadiff.programs.findings import Findings

from ..helpers.programs import runs_of


def made(text: str) -> ModuleType:
    module = sys.modules["of_a_user"] = ModuleType("of_a_user")  # where dataclasses look
    exec(text, vars(module))
    return module


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
        assert program.stats()["recordings"] == 0
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
