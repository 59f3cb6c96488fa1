"""Code that reads what cannot be watched: it counts where it is seen to run, and nowhere else.

f on its own arguments is the truth. What such code keeps is the user's: it runs once a call.
"""

from __future__ import annotations

import array
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp

from ..helpers.programs import quiet

X = np.array([0.5, 1.5, 2.5])


def by_clock(x: Any) -> Any:
    return x * (time.time() > 0.0)


class Opaque:
    """A class whose objects read a generator that nobody can look into."""

    def __init__(self) -> None:
        self.rate = 2.0
        self.steps: Iterator[float] = iter([10.0, 20.0, 30.0])

    def scaled(self, x: Any) -> Any:
        return x * self.rate

    def stepped(self, x: Any) -> Any:
        return x * next(self.steps)


def by_frame(x: Any) -> Any:
    import sys

    return x * (sys._getframe().f_back is not None)


def by_identity(x: Any, y: Any) -> Any:
    return x if x is y else x + y


SUSPECTS: dict[str, Callable[[Any], Any]] = {
    "clock": by_clock,
    "frame": by_frame,
    "identity": lambda x: by_identity(x, x),
    "inside": lambda x: by_clock(x) * 1.0,
}


@pytest.mark.parametrize("name", SUSPECTS)
def test_what_does_not_run_is_no_obstacle(name: str) -> None:
    suspect = SUSPECTS[name]

    def f(x: Any, wants: bool = False) -> Any:
        return cnp.sum((suspect(x) if wants else x) ** 2)

    program = cadiff.compile(f)
    for x in (X, 2.0 * X, 3.0 * X):
        assert program(x) == f(x)
        np.testing.assert_array_equal(program.grad(x), 2.0 * x)
    assert program.stats()["eager"] == 0
    with quiet():
        for x in (X, 2.0 * X):
            assert program(x, True) == f(x, True)
            np.testing.assert_array_equal(program.grad(x, True), 2.0 * x * suspect(x) / x)
    assert program.stats()["eager"] == 4
    assert program.stats()["recordings"] == 1


@pytest.mark.parametrize("name", SUSPECTS)
def test_numbers_decide_whether_it_runs(name: str) -> None:
    suspect = SUSPECTS[name]

    def f(x: Any) -> Any:
        return cnp.sum(suspect(x) if x[0] > 1.0 else x**2)

    program = cadiff.compile(f)
    with quiet():
        for x in (X, 4.0 * X, 1.5 * X, 5.0 * X):
            assert program(x) == f(x)
            np.testing.assert_array_equal(program.grad(x), cadiff.grad(f)(x))
    assert program.stats()["recordings"] == 1


def test_what_nobody_can_look_into_is_read_once_a_call() -> None:
    thing = Opaque()

    def f(x: Any) -> Any:
        return thing.stepped(x) if x > 0.0 else thing.scaled(x)

    program = cadiff.compile(f)
    with quiet():
        assert [program(x) for x in (-1.0, 1.0, -3.0, 1.0)] == [-2.0, 10.0, -6.0, 20.0]
        assert (program.grad(-1.0), program.grad(1.0)) == (2.0, 30.0)
        thing.rate = 5.0
        assert (program(-1.0), program.grad(-1.0)) == (-5.0, 5.0)


def test_a_value_that_code_reads_which_runs_is_watched_behind_code_that_does_not() -> None:
    """Both read it: the one that does not run, first."""
    thing = SimpleNamespace(rate=2.0, steps=iter([1.0]))
    holder = [thing]

    def never(x: Any) -> Any:
        return x * next(holder[0].steps)

    def always(x: Any) -> Any:
        return x * holder[0].rate

    def f(x: Any, wants: bool = False) -> Any:
        return never(x) if wants else always(x)

    program = cadiff.compile(f)
    with quiet():
        for rate in (2.0, 3.0, 4.0):
            thing.rate = rate
            assert (program(1.0), program.grad(1.0)) == (rate, rate)


def test_where_a_profiler_is_at_work_it_may_have_run() -> None:
    def f(x: Any, wants: bool = False) -> Any:
        return by_clock(x) if wants else x * x

    program = cadiff.compile(f)
    former = sys.getprofile()
    sys.setprofile(lambda *_: None)
    try:
        with quiet():
            assert (program(3.0), program.grad(3.0)) == (9.0, 6.0)
    finally:
        sys.setprofile(former)
    assert program.stats()["recordings"] == 0


@pytest.mark.parametrize("handled", [BaseException, Exception])
def test_code_that_handles_all_runs_it_once_a_call(handled: type[BaseException]) -> None:
    numbers = iter(range(100))

    def counted(x: Any) -> Any:
        return x * next(numbers)

    def f(x: Any) -> Any:
        try:
            return counted(x)
        except handled as error:
            raise RuntimeError("of a handler") from error

    program = cadiff.compile(f)
    with quiet():
        assert [program.grad(x) for x in (1.0, 2.0, 3.0, 4.0)] == [0.0, 1.0, 2.0, 3.0]
        assert [program(2.0) for _ in range(3)] == [8.0, 10.0, 12.0]


def test_what_comes_before_it_happens_once() -> None:
    done = array.array("d")

    def f(x: Any) -> Any:
        noted(x)
        return by_clock(x)

    def noted(x: Any) -> None:
        done.append(1.0)

    program = cadiff.compile(f)
    with quiet():
        assert program(2.0) == 2.0
        assert len(done) == 1
        assert program.grad(2.0) == 1.0
        assert len(done) == 2


def test_it_is_seen_to_run_in_another_thread() -> None:
    numbers = iter(range(100))

    def counted(found: list[float]) -> None:
        found.append(next(numbers))

    def f(x: Any) -> Any:
        found: list[float] = []
        thread = threading.Thread(target=counted, args=(found,))
        thread.start()
        thread.join()
        return x * found[0]

    program = cadiff.compile(f)
    with quiet():
        assert [program(2.0) for _ in range(4)] == [0.0, 2.0, 4.0, 6.0]


def test_loops_go_on_where_attributes_of_their_functions_hold_numbers() -> None:
    def f(x: Any, k: int) -> Any:
        def body(c: Any, _: Any) -> Any:
            return c * body.rate + k, None  # type: ignore[attr-defined]

        body.rate = x * 0.5  # type: ignore[attr-defined]
        return cadiff.scan(body, x, None, 30)[0]

    program = cadiff.compile(f)
    for k in range(5):
        assert program(1.5, k) == pytest.approx(f(1.5, k), rel=1e-14)
        assert program.grad(1.5, k) == pytest.approx(cadiff.grad(f)(1.5, k), rel=1e-12)
    assert program.stats()["recordings"] <= 2
