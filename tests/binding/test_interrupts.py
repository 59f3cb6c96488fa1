"""What an interrupt leaves behind, wherever it comes: the state of the thread is what it was.

Python looks for signals where a function of Python's begins, and when one of C has returned: from
3.14 on also when `__enter__` has, before the block that would leave the context begins.
"""

from __future__ import annotations

import inspect
import linecache
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy
import pytest

import cadiff
import cadiff.numpy as np
from cadiff import binding
from cadiff.binding import loading
from cadiff.programs.observations import Observation
from cadiff.programs.walks import watch_call

LOCK = threading.Lock()


def state() -> dict[str, Any]:
    """What contexts change in a thread."""
    return {
        **{key: binding.tape_usage()[key] for key in ("recordings", "pinned")},
        "arrays are open": binding.is_differentiating(),
        "forward": binding.running_forward(),
        "programs run functions": binding.is_opened(),
        "hook": binding.is_hooked(),
        "guards": binding.is_guarding(),
        "comparisons": binding.answers_as_numpy(),
        "plain values": binding.makes_plain(),
        "warnings": numpy.geterr(),
        "profiler": sys.getprofile(),
        "lock": LOCK.locked(),
    }


CONTEXTS: dict[str, Callable[[], Any]] = {
    "AsNumPy": binding.AsNumPy,
    "OutsideDifferentiation": binding.OutsideDifferentiation,
    "OutsideRecordings": binding.OutsideRecordings,
    "Checking": cadiff.nan_check,
    "Forward": binding.Forward,
    "ForwardThen": lambda: binding.ForwardThen([]),
    "Guarded": lambda: binding.Guarded((1.0,), state, reads=True),
    "Locked": lambda: binding.Locked(LOCK),
    "Observer": lambda: Observation(watch_call(solved, [])),
    "WithoutPrograms": binding.WithoutPrograms,
    "PlaceNotes": binding.PlaceNotes,
    "WarningsOff": binding.WarningsOff,
    "Recording": lambda: binding.Recording((), ()),
    "ShapeHook": binding.recorded_shapes,
}
OF_CYTHON_ALONE = {
    "GraphTransaction",
    "ValuesTaken",
}  # where nothing comes between `__enter__` and the block
WITHIN_GUARDED = {"GuardsTold"}  # and for one recording alone: nobody hears of it later


def test_these_are_all_contexts() -> None:
    modules = [getattr(binding, name) for name in loading.MODULES]
    kinds = {kind for module in modules for _, kind in inspect.getmembers(module, inspect.isclass)}
    of_binding = {
        kind.__name__
        for kind in kinds
        if hasattr(kind, "__enter__") and kind.__module__.startswith("cadiff.binding")
    }
    assert of_binding == {*CONTEXTS, *OF_CYTHON_ALONE, *WITHIN_GUARDED}


def test_guards_are_told_of_within_a_recording_that_notes_them() -> None:
    with pytest.raises(ValueError, match="enter it within Guarded"):
        binding.GuardsTold(lambda guard, n_outcomes: None).__enter__()


@pytest.mark.parametrize("enclosed", [cadiff.grad, cadiff.jacfwd], ids=["reverse", "forward"])
@pytest.mark.parametrize("name", CONTEXTS)
def test_contexts_that_nothing_leaves_end_with_their_object(name: str, enclosed: Any) -> None:
    def f(x: Any) -> Any:
        before = state()
        context = CONTEXTS[name]()
        context.__enter__()
        entered = state()
        del context
        assert state() == before
        assert entered != before or name == "ForwardThen"  # which ends those that are under way
        return x * 2.0

    assert enclosed(f)(1.0) == 2.0


class Interrupt:
    """A profiler that raises KeyboardInterrupt where the n-th function of Python's begins."""

    WHERE = str(Path(cadiff.__file__).parent), linecache.__file__

    def __init__(self, n: int) -> None:
        self.left = n

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(self.WHERE):
            self.left -= 1
            if self.left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt


def refused(x: Any) -> Any:
    y = numpy.zeros(2)
    y[0] = x  # raises an error, to which an explanation is added
    return y[0]


def solved(x: Any) -> Any:
    y = np.zeros(2)
    y[:] = x
    return np.sum(np.linalg.solve(np.eye(2) * 4.0 + y, y))


def checked(transform: Any, f: Any) -> Any:
    with cadiff.nan_check():
        return transform(f)(0.5)


def explained(transform: Any) -> Any:
    try:
        return transform(refused)(0.5)
    except TypeError as error:
        return type(error)


INTERRUPTED: dict[str, tuple[int, Callable[[], Any]]] = {  # with the step from one n to the next
    "grad": (1, lambda: cadiff.grad(solved)(0.5)),
    "jvp": (1, lambda: cadiff.jvp(solved, (0.5,), (1.0,))[1]),
    "hvp": (3, lambda: cadiff.hvp(solved)(0.5, 1.0)),
    "checkpoint": (3, lambda: cadiff.grad(cadiff.checkpoint(solved))(0.5)),
    "nan_check": (1, lambda: checked(cadiff.grad, solved)),
    "make_tape": (41, lambda: len(str(cadiff.make_tape(solved)(0.5)))),
    "an error in grad": (1, lambda: explained(cadiff.grad)),
    "an error in jvp": (1, lambda: explained(cadiff.jacfwd)),
    "an error in vjp": (1, lambda: explained(lambda f: lambda x: cadiff.vjp(f, x))),
    "compile": (41, lambda: cadiff.compile(cadiff.grad(solved))(0.5)),
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupt_at_every_call(name: str) -> None:
    step, run = INTERRUPTED[name]
    wanted = run()
    before = state()
    n = 1
    while True:
        interrupt = Interrupt(n)
        former = sys.getprofile()
        try:
            sys.setprofile(interrupt)
            got = run()
            sys.setprofile(former)
            break
        except KeyboardInterrupt:
            sys.setprofile(former)
            assert state() == before  # as long as the traceback lives, too
        n += step
    assert interrupt.left > 0, "an interrupt was swallowed"
    assert n > step
    assert got == run() == wanted
