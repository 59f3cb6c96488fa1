"""Loops whose turns are recorded, as steps of a program: see loop_steps.py.

Turns are recorded like any function, once for each way in which they branch, and a run goes from
one recording to another. How loops are written down is not known here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import binding
from ..operations.arrays import concatenate
from ..transforms import jvp, vjp
from ..transforms._base import P, T
from .loop_steps import AnyLoop, Sizes
from .native import Machines, Native
from .program import Program
from .recorded import NOT_SERVED, FloatArray, Recorded, met
from .rows import pays
from .verification import rounding, told_apart

MOST_RECORDINGS = 64  # of a turn
FEWEST = 8  # turns with steps of Python's in them that go side by side,
FEWEST_IN_C = 128  # and others
MANY = 256  # points, for which turns are made that go over them at once


def on_its_own(f: Callable[P, T]) -> Callable[P, T]:
    """A function that computes with plain numbers, whatever is recorded or derived around it."""

    @functools.wraps(f)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        before = binding.set_deriving(False)
        try:
            with binding.OutsideDifferentiation(), binding.WarningsOff():
                return f(*args, **kwargs)
        finally:
            binding.set_deriving(before)

    return run


class Steps:
    """A function from a vector to a vector, by recordings: one for each way in which it branches.

    Attributes
    ----------
    codes : list of Code
        For values.
    pulls : list of Code or None
        For cotangents, of the same recordings; None: not wanted yet, or there is none.
    codes_of_lanes, pulls_of_lanes : list of Code or None
        For many points at once; None: there is none.
    """

    def __init__(self, function: Callable[[Any], Any], runs: Any, native: Native) -> None:
        self._function = function
        self._runs = runs  # the functions of the user's that it runs: a program looks into these
        # The program around it is verified, and with it what it keeps: see `agree`.
        run: Callable[..., Any] = lambda x, _: function(x)  # noqa: E731
        self._program = Program(run, max_traces=MOST_RECORDINGS, native=native, verify=False)
        self._program.be_quiet()
        self._recordings: list[Recorded] = []
        self._has_no_pull: set[int] = set()
        self.codes: list[Any] = []
        self.pulls: list[Any] = []
        self._of_lanes: dict[str, list[Any]] = {}  # by what they are for
        # At which points, what they gave: for those that f judges by these alone
        self._made: list[tuple[FloatArray, FloatArray]] = []

    @property
    def codes_of_lanes(self) -> list[Any]:
        return self._made_of_lanes("value")

    @property
    def pulls_of_lanes(self) -> list[Any]:
        return self._made_of_lanes("pull")

    def _made_of_lanes(self, what: str) -> list[Any]:
        """Of all recordings that there are now."""
        made = self._of_lanes.get(what)
        if made is not None and len(made) == len(self._recordings):
            return made
        with self._program._traces.lock():
            made = self._of_lanes.setdefault(what, [])
            for recorded in self._recordings[len(made) :]:
                ranges = recorded.ranges if what == "pull" else ()
                try:
                    made.append(recorded.code_for_points(what, MANY, ranges))
                except NOT_SERVED:
                    made.append(None)
            return made

    def pay_over(self, n: int, x: FloatArray) -> bool:
        """Whether n points, of which one is x, take less time together than one by one."""
        if not self._recordings:
            self.evaluated(x)
        codes = zip(self._recordings, self.codes_of_lanes, strict=True)
        made = [code is not None and pays(recorded, code) for recorded, code in codes]
        in_c = not any(recorded.graph.steps for recorded in self._recordings)
        return bool(made) and all(made) and n >= (FEWEST_IN_C if in_c else FEWEST)

    def share(self, machines: Machines) -> None:
        """Have machine code carry out what there is and will be."""
        self._program._traces.build(machines.asked is True)

    @on_its_own
    def evaluated(self, x: FloatArray) -> tuple[FloatArray, int]:
        """What it gives, and by which of the codes; -1: by Python."""
        traces = self._program._traces
        call = traces.call((x.copy(), self._runs), {}, (0,))

        def run(recorded: Recorded) -> tuple[Recorded, Any, FloatArray]:
            code = traces.code(recorded, "value")
            return recorded, code, met(code.evaluate(call.vector()))

        done, found = traces.replayed(call, run, verifies=False, kept=self._recordings)
        if not done:
            return plain(self._function(x)), -1
        recorded, code, out = found
        with traces.lock():
            if recorded not in self._recordings:
                self._recordings.append(recorded)
                if binding.answers_as_numpy():
                    self._made.append((x.copy(), out))
                self.pulls.append(None)
                self.codes.append(code)
                if "value" in self._of_lanes:
                    self._made_of_lanes("value")  # for turns that go on
            return out, self._recordings.index(recorded)

    @on_its_own
    def agree(self) -> bool:
        """Whether recordings, and loops in them, give what Python does where they were made."""
        made = ((out, plain(self._function(x))) for x, out in self._made)
        if any(told_apart(*outs, rounding) for outs in made):
            return False
        return all(loop.agrees() for recorded in self._recordings for loop in recorded.loops)

    @on_its_own
    def pulled(self, x: FloatArray, u: FloatArray, k: int) -> FloatArray:
        """The cotangent of x, for one of what it gives by the k-th of the codes."""
        if k >= 0 and k not in self._has_no_pull:
            recorded = self._recordings[k]
            try:
                self.pulls[k] = self._program._traces.code(recorded, "pull", recorded.ranges)
                return met(self.pulls[k].evaluate(np.concatenate([x, u])))[len(u) :]
            except NOT_SERVED:
                if self.pulls[k] is None:
                    self._has_no_pull.add(k)
        return plain(vjp(self._function, x)[1](u))


def plain(x: Any) -> FloatArray:
    """A vector of floats; TypeError if they carry derivatives by what nobody has looked for."""
    if binding.carries(x):
        raise TypeError(
            "a function in a loop or a branch reads a number with a derivative from where nobody "
            "looks for it: not an argument, its closure, or a global variable; pass it on as one"
        )
    return np.ascontiguousarray(x, dtype=np.float64)


class Loop(AnyLoop):
    """A loop whose turns are recorded.

    `turn(shared, state, row)` gives the next state and a row of results; `begins(shared, state)`,
    where turns tell, whether there is a turn, as a vector of one number. `runs`: the functions of
    the user's that turns run.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[Any, Any, Any], tuple[Any, Any]],
        begins: Callable[[Any, Any], Any] | None,
        sizes: Sizes,
        count: int,
        runs: Any,
    ) -> None:
        super().__init__(sizes, count)
        self.name = name
        self._turn, self._begins, self._runs = turn, begins, runs
        self._native: Native = None

    @functools.cached_property
    def _steps(self) -> Steps:
        p, n, *_ = self._sizes
        turn, begins = self._turn, self._begins  # a program watches what it reads: not the loop

        def step(x: Any) -> Any:
            state, results = turn(x[:p], x[p : p + n], x[p + n :])
            goes_on = np.ones(1) if begins is None else begins(x[:p], state)
            return concatenate([state, results, goes_on])

        return Steps(step, self._runs, self._native)

    @functools.cached_property
    def _bodies(self) -> Steps:
        (p, n, *_), turn = self._sizes, self._turn
        step = lambda x: concatenate(turn(x[:p], x[p : p + n], x[p + n :]))  # noqa: E731
        return Steps(step, self._runs, self._native)

    @functools.cached_property
    def _entrance(self) -> Steps | None:
        begins, p = self._begins, self._sizes[0]
        if begins is None:
            return None
        ask = lambda x: concatenate([begins(x[:p], x[p:]), np.empty(0)])  # noqa: E731
        return Steps(ask, self._runs, self._native)

    def pays_over(self, n: int, x: FloatArray) -> bool:
        return self._bodies.pay_over(n, x)

    def agrees(self) -> bool:
        parts = (vars(self).get(name) for name in ("_steps", "_bodies", "_entrance"))
        return all(part.agree() for part in parts if part is not None)

    @functools.cached_property
    def pushed(self) -> Loop:
        """The same loop of numbers that have tangents beside them."""
        p, n, m, k = self._sizes
        turn, begins = self._turn, self._begins

        def pushed(shared: Any, state: Any, row: Any) -> tuple[Any, Any]:
            both = (shared[:p], state[:n], row[:m]), (shared[p:], state[n:], row[m:])
            pairs = zip(*jvp(turn, *both), strict=True)
            new, results = map(concatenate, pairs)
            return new, results

        first = None if begins is None else lambda shared, state: begins(shared[:p], state[:n])
        sizes = (2 * p, 2 * n, 2 * m, 2 * k)
        loop = Loop(self.name, pushed, first, sizes, self._count, self._runs)
        loop._native = self._native
        return loop

    def share(self, machines: Machines) -> None:
        """Have machine code carry out turns."""
        self._native = machines.native
        for name in ("_steps", "_bodies", "_entrance", "pushed"):
            if (part := vars(self).get(name)) is not None:
                part.share(machines)
