"""Loops that a program keeps as one step, whose derivatives are such steps themselves.

A kept function goes from one vector to another. Its pull is a second step; and what it does along
a tangent is a third, a kept function in its turn, of twice as many numbers. With the pull of that
one all derivatives are steps of these two kinds, of any order, and no further rule is needed:

    f'(x) dx                = the second half of F(x, dx), F = pushed(f)
    pull(x, u)' along dx    = the first half of the pull of F at (x, dx), for (0, u)
    its cotangents, for b   = the same for dx = b, by x; and f'(x) b by u

A loop is the one kind of kept function: a branch is a loop of one turn without a state. Turns are
recorded like any function, once for each way in which they branch, and a run goes from one
recording to another. How loops are written down is not known here.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Turns
from ..operations.arrays import concatenate
from ..operations.primitives import primitive
from ..operations.recorded_calls import Rule
from ..transforms import jvp, vjp
from ..transforms._base import P, T
from .native import Machines, Native
from .program import Program
from .recorded import NOT_SERVED, FloatArray, Recorded, met

Indices = NDArray[np.intp]
Sizes = tuple[int, int, int, int]  # of what turns share, of the state, of rows of inputs, results

MOST_BYTES = 1 << 26  # of states that are kept for the way back; beyond, turns are run again
MOST_RECORDINGS = 64  # of a turn

UNTIL = -1  # turns go on until one says that it was the last
GIVEN = -2  # the first number that turns share says how many there are


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
    """

    def __init__(self, function: Callable[[Any], Any], runs: Any, native: Native) -> None:
        self._function = function
        self._runs = runs  # the functions of the user's that it runs: a program looks into these
        # The program around it is verified, and with it what it keeps.
        run: Callable[..., Any] = lambda x, _: function(x)  # noqa: E731
        self._program = Program(run, max_traces=MOST_RECORDINGS, native=native, verify=False)
        self._program.be_quiet()
        self._recordings: list[Recorded] = []
        self._has_no_pull: set[int] = set()
        self.codes: list[Any] = []
        self.pulls: list[Any] = []

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
                self.pulls.append(None)
                self.codes.append(code)
            return out, self._recordings.index(recorded)

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


class Loop:
    """A loop over vectors: what turns share, the first state, and the rows of inputs, in a row.

    It gives the last state, and the rows of results. `turn(shared, state, row)` gives the next
    state, a row of results, and whether there is another turn; `begins(shared, state)` whether
    there is a first one. `count`: how many turns there are, or UNTIL, or GIVEN. `runs`: the
    functions of the user's that turns run.
    """

    is_of_a_call = True

    def __init__(
        self,
        name: str,
        turn: Callable[[Any, Any, Any], tuple[Any, Any, bool]],
        begins: Callable[[Any, Any], bool] | None,
        sizes: Sizes,
        count: int,
        runs: Any,
    ) -> None:
        self.name = name
        self._turn, self._begins, self._runs = turn, begins, runs
        self._sizes, self._count = sizes, count
        self._known: tuple[bytes, FloatArray] | None = None
        self._last: list[tuple[bytes, Turns]] = []  # runs that may be pulled, and their inputs
        self._is_pulled = False
        self._native: Native = None
        self._most = max(64, MOST_BYTES // (8 * sizes[1] + 4))
        p, n, m, k = sizes
        self._n_rows = rows = max(count, 0)
        self.n_inputs, self.n_results = p + n + rows * m, n + rows * k
        # Where numbers stand, and their tangents, in the vectors of `pushed`.
        self.inputs, self.of_inputs = _doubled((p, n), rows, m)
        self.results, self.of_results = _doubled((n,), rows, k)

    def __reduce__(self) -> Any:
        raise TypeError("what is recorded of a loop belongs to its process")

    @functools.cached_property
    def _steps(self) -> Steps:
        p, n, *_ = self._sizes

        def step(x: Any) -> Any:
            state, results, goes_on = self._turn(x[:p], x[p : p + n], x[p + n :])
            return concatenate([state, results, [float(goes_on)]])

        return Steps(step, self._runs, self._native)

    @functools.cached_property
    def _entrance(self) -> Steps | None:
        begins, p = self._begins, self._sizes[0]
        if begins is None:
            return None
        return Steps(lambda x: np.array([float(begins(x[:p], x[p:]))]), self._runs, self._native)

    @functools.cached_property
    def pushed(self) -> Loop:
        """The same loop of numbers that have tangents beside them."""
        p, n, m, k = self._sizes
        turn, begins = self._turn, self._begins

        def pushed(shared: Any, state: Any, row: Any) -> tuple[Any, Any, bool]:
            goes_on = False

            def along(*point: Any) -> tuple[Any, Any]:
                nonlocal goes_on
                *out, goes_on = turn(*point)
                return tuple(out)

            both = (shared[:p], state[:n], row[:m]), (shared[p:], state[n:], row[m:])
            out, tangents = jvp(along, *both)
            new, results = map(concatenate, zip(out, tangents, strict=True))
            return new, results, goes_on

        first = None if begins is None else lambda shared, state: begins(shared[:p], state[:n])
        sizes = (2 * p, 2 * n, 2 * m, 2 * k)
        loop = Loop(self.name, pushed, first, sizes, self._count, self._runs)
        loop._native = self._native
        return loop

    def share(self, machines: Machines) -> None:
        """Have machine code carry out turns."""
        self._native = machines.native
        for name in ("_steps", "_entrance", "pushed"):
            if (part := vars(self).get(name)) is not None:
                part.share(machines)

    # --- with plain numbers

    def _run(self, turns: Turns) -> Turns:
        steps, entrance = self._steps, self._entrance
        while not turns.run():
            if turns.is_outside and entrance is not None:
                turns.enter(entrance.evaluated(turns.row)[0][0] != 0.0)
            else:
                turns.step(*steps.evaluated(turns.row))
        return turns

    def _forth(self, x: FloatArray, most: int = 0) -> Turns:
        entrance = None if self._entrance is None else self._entrance.codes
        end = max(0, int(x[0])) if self._count == GIVEN else self._count
        end = sys.maxsize if end == UNTIL else end
        turns = Turns(self._steps.codes, entrance, self._sizes, x, self._n_rows, 0, end, most)
        return self._run(turns)

    def know(self, x: FloatArray, value: FloatArray) -> None:
        """Have Python's value, for a first run at the same point."""
        self._known = x.tobytes(), value

    def value(self, x: FloatArray) -> FloatArray:
        """The last state, and the rows of results."""
        known, self._known = self._known, None
        if known is not None and known[0] == x.tobytes():
            return known[1]
        # A gradient asks for values first: then its turns need not run forth once more.
        keeps = self._is_pulled and not self._last
        turns = self._forth(x, self._most if keeps else 0)
        self._is_pulled = keeps
        self._last = [(x.tobytes(), turns)] if keeps else []
        results: FloatArray = turns.results
        return results

    def pull(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """The cotangent of x for that of what it gives.

        Turns are run forth, and their states kept; where these are too many, only some of them
        are, and turns between them run again.
        """
        try:
            former, turns = self._last.pop()  # no other thread has it then
        except IndexError:
            former = b""
        if former != x.tobytes():
            turns = self._forth(x, self._most)
        self._is_pulled = True
        p, n, *_ = self._sizes
        pulled = np.zeros(self.n_inputs)
        pulled[p : p + n] = u[:n]
        if turns.stride == 1:
            self._back(turns, u, pulled)
        else:
            for k in reversed(range(turns.n_kept)):
                self._back(self._run(turns.stretch(k)), u, pulled)
        return pulled

    def _back(self, turns: Turns, u: FloatArray, pulled: FloatArray) -> None:
        steps = self._steps
        while not turns.back(steps.pulls, u, pulled):
            turns.step_back(steps.pulled(*turns.before(u, pulled)), pulled)


def _doubled(parts: tuple[int, ...], n_rows: int, width: int) -> tuple[Indices, Indices]:
    """Which numbers of (x, dx) stand where in a vector of parts that have their tangents behind.

    Where the tangents are there.
    """
    total = sum(parts) + n_rows * width
    order, at = [], 0
    for size in parts:
        order += [np.arange(at, at + size), np.arange(at, at + size) + total]
        at += size
    rows = np.arange(at, total).reshape(n_rows, width)
    order.append(np.concatenate([rows, rows + total], axis=1).ravel())
    chosen = np.concatenate(order)
    return chosen, np.argsort(chosen)


# --- as steps ------------------------------------------------------------------------------------


def _over_lanes(which: Any, *args: Any, loop: Loop) -> Any:
    """Loops of many points, one after the other, with their own numbers of turns."""
    n = len(args[which[0]])
    rows = [x if k in which else np.broadcast_to(x, (n, *x.shape)) for k, x in enumerate(args)]
    run = loop.value if len(args) == 1 else loop.pull
    return np.stack([run(*map(np.ascontiguousarray, row)) for row in zip(*rows, strict=True)])


class _Call(Rule):
    """A call, whose replays need no primitive."""

    def share_machines(self, machines: Machines) -> None:
        """The machine code of the program that it is a step of is that of its turns, too."""
        self.kwargs["loop"].share(machines)

    def compute_results(self, operands: list[Any]) -> list[Any]:
        args, loop = self._with(operands), self.kwargs["loop"]
        return [loop.value(*args) if len(args) == 1 else loop.pull(*args)]


@primitive
def keep(x: Any, *, loop: Loop) -> Any:
    """What a loop gives."""
    return loop.value(x)


@primitive
def pull(x: Any, u: Any, *, loop: Loop) -> Any:
    """Its cotangents."""
    return loop.pull(x, u)


keep.rule = pull.rule = _Call
keep.over_lanes = pull.over_lanes = _over_lanes
keep.called = "a loop"
pull.called = "the cotangents of a loop"


def _along(x: Any, dx: Any, loop: Loop) -> Any:
    """The derivative of what it gives along a direction."""
    pushed = keep(concatenate([x, dx])[loop.inputs], loop=loop.pushed)
    return pushed[loop.of_results[loop.n_results :]]


def _pull_along(x: Any, dx: Any, u: Any, loop: Loop) -> Any:
    """The derivative of its cotangents along a direction of x."""
    seed = concatenate([np.zeros(loop.n_results), u])[loop.results]
    pulled = pull(concatenate([x, dx])[loop.inputs], seed, loop=loop.pushed)
    return pulled[loop.of_inputs[: loop.n_inputs]]


keep.defjvp(lambda g, ans, x, loop: _along(x, g, loop))
keep.defvjp(lambda ans, x, loop: lambda g: pull(x, g, loop=loop))
pull.defjvp(
    lambda g, ans, x, u, loop: _pull_along(x, g, u, loop),
    lambda g, ans, x, u, loop: pull(x, g, loop=loop),
)
pull.defvjp(
    lambda ans, x, u, loop: lambda g: _pull_along(x, g, u, loop),
    lambda ans, x, u, loop: lambda g: _along(x, g, loop),
)
keep.defpattern("i->j")
pull.defpattern("i->j", "i->j")
