"""NumPy's own arrays while a function is recorded: stand-ins for integers index them.

For that their type has another function meanwhile, if such a stand-in was made. Nothing else tells
it, and NumPy's own is there again whichever way the recording ends; `tests/conftest.py` looks for
it after each test of all.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cadiff
import cadiff.numpy as cnp
from cadiff import binding
from cadiff.operations.scalars import stand_in

from ..helpers.processes import isolated
from ..helpers.slots import NUMPYS, subscript_of
from ..helpers.threads import in_thread

ROOT = Path(__file__).parents[2]

Job = Callable[[], Any]

TABLE = np.arange(12.0).reshape(4, 3)
X = np.array([0.5, -1.5, 2.5])

at_notes: Job  # what `noted` does, in recordings and in replays


@cadiff.primitive
def noted(x: Any) -> Any:
    """A step that recordings let be, whatever it does."""
    at_notes()
    return x


noted.defvjp(lambda ans, x: lambda g: g)
noted.defjvp(lambda g, ans, x: g)


@pytest.fixture(autouse=True)
def seen() -> Iterator[list[bool]]:
    """Whether NumPy's own function was there, at each note."""
    global at_notes
    found: list[bool] = []
    at_notes = lambda: found.append(subscript_of() == NUMPYS)  # noqa: E731
    yield found
    assert subscript_of() == NUMPYS
    assert not binding.is_guarding()


def changed(f: Callable[[Any, Any], Any]) -> Any:
    """A program whose next recording has a stand-in for its second argument."""
    program = cadiff.compile(f)
    program(X, 1)
    return program


@contextmanager
def recording() -> Iterator[Any]:
    """A recording, and what stands for the integer 1 in it."""
    with binding.recording.Guarded((1.0,), None) as guarded:
        yield stand_in(1, guarded.lifted[0])


def taken(index: Any) -> Any:
    """What a plain array gives for an index, and whether that is a number of a recording."""
    found = TABLE[index, 1]
    return binding.plain_values(found), binding.carries(found)


# --- when it is exchanged ------------------------------------------------------------------------


# Functions, and whether an integer's stand-in indexes in them.
INDEXING: list[tuple[Callable[[Any, Any], Any], bool]] = [
    (lambda x, k: noted(cnp.where(x > 1.0, x * x, x) + (x < 0.0) * TABLE[1]), False),
    (lambda x, k: noted(x[0] if x[1] > 0.0 else cnp.sum(x[x > 0.0])), False),
    (lambda x, k: noted(x * cnp.mean(x > 0.0) * cnp.any(x > 1.0)), False),
    (lambda x, k: noted(x * TABLE[np.array([1, 2])][0]), False),
    (lambda x, k: noted(x[0] * TABLE[k, 1]), True),
    (lambda x, k: noted(x * TABLE[cnp.sum(x > 0.0)] + 0 * k), True),
    (lambda x, k: noted(x * TABLE[cadiff.value(x + 2.0).astype(int) % 4][k]), True),
    (lambda x, k: noted(x * np.eye(4)[k, 1:]), True),
]


@pytest.mark.parametrize(("f", "is_exchanged"), INDEXING)
def test_it_is_exchanged_where_something_stands_for_an_integer(
    f: Callable[[Any, Any], Any], is_exchanged: bool, seen: list[bool]
) -> None:
    program = changed(f)
    if is_exchanged:
        seen.clear()
    for k in (2, 0) if is_exchanged else (1, 1):
        np.testing.assert_array_equal(program(X, k), f(X, k))
    assert (False in seen) == is_exchanged
    assert program.stats()["recordings"] == 1 + is_exchanged
    assert program.stats()["obstacles"] == []


# --- how recordings end --------------------------------------------------------------------------


class Stopped(BaseException):
    """What no code catches."""


@pytest.mark.parametrize(
    "kind", [ValueError, TypeError, KeyboardInterrupt, Stopped, SystemExit, GeneratorExit]
)
def test_f_raises(kind: type[BaseException], seen: list[bool]) -> None:
    program = changed(lambda x, k: noted(x[0] * TABLE[k, 1]))
    seen.clear()

    def stop() -> None:
        seen.append(subscript_of() == NUMPYS)
        raise kind("raised by a test")

    global at_notes
    at_notes = stop
    with pytest.raises(kind):
        program(X, 2)
    assert not seen[0]


@pytest.mark.parametrize("fails", [False, True])
def test_recordings_within_recordings(fails: bool, seen: list[bool]) -> None:
    def inner(x: Any, k: Any) -> Any:
        found = noted(x * TABLE[k, 1])
        if fails and k > 1:
            raise ValueError
        return found

    program = cadiff.compile(inner)

    def outer(x: Any, k: Any) -> Any:
        try:
            found = program(x[0], k)
        except ValueError:
            found = x[0]
        return noted(found * TABLE[k, 0])

    whole = changed(outer)
    seen.clear()
    assert whole(X, 2) == outer(X, 2)
    assert False in seen


def test_a_recording_that_is_forgotten() -> None:
    """As where its frame is gone, with a generator that nobody goes on with."""

    def recorded() -> Iterator[None]:
        with recording() as index:
            assert taken(index) == (TABLE[1, 1], True)
            yield

    going = recorded()
    next(going)
    assert subscript_of() != NUMPYS
    del going
    gc.collect()


def test_a_class_that_is_made_meanwhile_is_as_any_other(seen: list[bool]) -> None:
    kinds: list[Any] = []

    def make() -> None:
        class Derived(np.ndarray):
            pass

        class Further(Derived):
            pass

        seen.append(subscript_of() == NUMPYS)
        kinds.extend((Derived, Further))

    global at_notes
    at_notes = make
    changed(lambda x, k: noted(x[0] * TABLE[k, 1]))(X, 2)
    assert False in seen
    assert [subscript_of(kind) for kind in kinds] == [NUMPYS] * len(kinds)
    assert {TABLE.view(kind)[1, 1] for kind in kinds} == {TABLE[1, 1]}


# --- other threads -------------------------------------------------------------------------------

KEYS: dict[str, Any] = {
    "int": 1,
    "ints": [0, 2],
    "tuple": (slice(None), np.array([1, 0])),
    "bools": TABLE > 3.0,
    "new axis": (None, ...),
    "outside": 7,
    "no index": "a",
    "floats": np.array([1.0]),
}


def outcome(key: Any) -> Any:
    try:
        return TABLE[key].tolist()
    except IndexError as error:
        return str(error)


def test_other_threads_index_as_ever(seen: list[bool]) -> None:
    expected = {name: outcome(key) for name, key in KEYS.items()}
    found: list[Any] = []

    def index() -> None:
        seen.append(in_thread(subscript_of) == NUMPYS)
        found.append(in_thread(lambda: {name: outcome(key) for name, key in KEYS.items()}))

    global at_notes
    at_notes = index
    changed(lambda x, k: noted(x[0] * TABLE[k, 1]))(X, 2)
    assert False in seen
    assert found == [expected] * len(found)


def test_recordings_of_two_threads_end_one_after_the_other() -> None:
    turn = threading.Barrier(2, timeout=20.0)
    found: list[Any] = []

    def first() -> None:
        with recording() as index:
            turn.wait()
            turn.wait()
            found.append(taken(index))
        turn.wait()

    def second() -> None:
        turn.wait()
        with recording() as index:
            turn.wait()
            turn.wait()
            found.append(taken(index))
            found.append(subscript_of() != NUMPYS)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result()
    assert found == [(TABLE[1, 1], True)] * 2 + [True]


FORKED = """
import os, threading, warnings
from tests.helpers.slots import NUMPYS, subscript_of
from tests.programs.test_plain_arrays import TABLE, recording, taken

warnings.simplefilter("ignore", DeprecationWarning)  # fork, where there are threads
within, go_on = threading.Event(), threading.Event()

def record():
    with recording():
        within.set()
        go_on.wait()

def forked(is_on):
    assert (subscript_of() != NUMPYS) == is_on
    with recording() as index:
        assert taken(index) == (TABLE[1, 1], True)
    assert (subscript_of() != NUMPYS) == is_on

def fork(is_on):
    child = os.fork()
    if child == 0:
        try:
            forked(is_on)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

thread = threading.Thread(target=record)
thread.start()
within.wait()
fork(False)
with recording() as index:
    fork(True)
    assert taken(index) == (TABLE[1, 1], True)
assert subscript_of() != NUMPYS
go_on.set()
thread.join()
assert subscript_of() == NUMPYS
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_process_that_is_forked_has_the_recordings_of_its_own_thread() -> None:
    # Where the package is installed elsewhere, tests are found behind it.
    isolated(f"import sys\nsys.path.append({str(ROOT)!r})\n{FORKED}")
