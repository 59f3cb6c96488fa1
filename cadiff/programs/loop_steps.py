"""Loops as steps of a program, whose derivatives are such steps themselves.

A kept function goes from one vector to another. Its pull is a second step; and what it does along
a tangent is a third, a kept function in its turn, of twice as many numbers. With the pull of that
one all derivatives are steps of these two kinds, of any order, and no further rule is needed:

    f'(x) dx                = the second half of F(x, dx), F = pushed(f)
    pull(x, u)' along dx    = the first half of the pull of F at (x, dx), for (0, u)
    its cotangents, for b   = the same for dx = b, by x; and f'(x) b by u

A loop is the one kind of kept function: a branch is a loop of one turn without a state. What turns
are is for others to say.

Of many points, the vectors of each are a column, and turns are those of all of them at once. So
are turns of one point that hand nothing on (`Apart`): each is a point of a loop of one turn.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binding import LaneTurns, Turns
from ..operations.arrays import concatenate
from ..operations.patterns import Links, Pattern
from ..operations.primitives import primitive
from ..operations.recorded_calls import Rule
from .native import Machines
from .recorded import FloatArray

Indices = NDArray[np.intp]
Sizes = tuple[int, int, int, int]  # of what turns share, of the state, of rows of inputs, results

MOST_SHARED = 64  # numbers that turns share, for which they go side by side
MOST_NUMBERS = 1 << 20  # of what turns that go side by side take and give
MOST_SERVED = 64  # loops that are noted in a call
MOST_BYTES = 1 << 26  # of states that are kept for the way back; beyond, turns are run again

UNTIL = -1  # turns go on until one says that it was the last
GIVEN = -2  # the first number that turns share says how many there are


class _Ran(threading.local):
    """How many loops and branches a thread has run."""

    n = 0


RAN = _Ran()


class Served(threading.local):
    """Loops that a recording has run, and of what vectors, while f judges it in the same call.

    There f need not run all turns once more.
    """

    loops: tuple[tuple[AnyLoop, FloatArray], ...] = ()
    are_noted = False  # now; else they are looked up


SERVED = Served()


@contextlib.contextmanager
def served_loops() -> Iterator[Served]:
    """Note the loops that run from now on."""
    before = SERVED.loops, SERVED.are_noted
    SERVED.loops, SERVED.are_noted = (), True
    try:
        yield SERVED
    finally:
        SERVED.loops, SERVED.are_noted = before


class AnyLoop:
    """A loop over vectors: what turns share, the first state, and the rows of inputs, in a row.

    It gives the last state, and the rows of results. `sizes`: of what turns share, of the state,
    and of rows. `count`: how many turns there are, or UNTIL, or GIVEN.
    """

    name: str
    is_of_a_call = True
    goes_over_lanes = True  # else points go one after the other

    def __init__(self, sizes: Sizes, count: int) -> None:
        self._sizes, self._count = sizes, count
        self._known: tuple[bytes, FloatArray] | None = None
        self._last: list[tuple[bytes, Any]] = []  # runs that may be pulled, and their inputs
        self._is_pulled = False
        self._most = max(64, MOST_BYTES // (8 * sizes[1] + 4))
        p, n, m, k = sizes
        self._n_rows = rows = max(count, 0)
        self.n_inputs, self.n_results = p + n + rows * m, n + rows * k
        # Where numbers stand, and their tangents, in the vectors of `pushed`.
        self.inputs, self.of_inputs = doubled((p, n), rows, m)
        self.results, self.of_results = doubled((n,), rows, k)

    def __reduce__(self) -> Any:
        raise TypeError("what is recorded of a loop belongs to its process")

    @property
    def _steps(self) -> Any:
        """What turns are: their codes, those of their pulls, and what else computes a turn."""
        raise NotImplementedError

    @property
    def _bodies(self) -> Any:
        """The same for many points, where turns do not say whether there is a next one."""
        raise NotImplementedError

    @property
    def _entrance(self) -> Any:
        """The same for whether there is a turn, as far as turns do not say it; None: there is."""
        return None

    @property
    def _most_turns(self) -> int:
        """Behind which none is wanted, where turns tell."""
        return sys.maxsize

    def pays_over(self, n: int, x: FloatArray) -> bool:
        """Whether n points, of which one is x, take less time together than one by one."""
        raise NotImplementedError

    def pattern(self, by_results: bool, of_results: bool) -> Pattern:
        """How its results depend on its inputs, or what has the shape of either."""
        return "i->j"

    @property
    def pushed(self) -> AnyLoop:
        """The same loop of numbers that have tangents beside them."""
        raise NotImplementedError

    def share(self, machines: Machines) -> None:
        """Have machine code carry out turns."""

    # --- with plain numbers

    def _run(self, turns: Any) -> Any:
        while not turns.run():
            steps, entrance = self._steps_of(turns), self._entrance
            if turns.is_outside and entrance is not None:
                turns.enter(entrance.evaluated(turns.row)[0][0] != 0.0)
            else:
                turns.step(*steps.evaluated(turns.row))
        return turns

    def _steps_of(self, turns: Any) -> Any:
        return self._bodies if isinstance(turns, LaneTurns) else self._steps

    def _forth(self, x: FloatArray, most: int = 0, behind: int = sys.maxsize) -> Any:
        count, sizes, entrance, inputs = (
            self._count,
            self._sizes,
            self._entrance,
            self._with_rows(x),
        )
        p, n, m, _ = sizes
        n_rows = (len(inputs) - p - n) // m if m else self._n_rows
        end = self._most_turns if count == UNTIL else count
        end = min(end, n_rows) if m else end
        if x.ndim == 1:
            end = min(max(0, int(x[0])) if count == GIVEN else end, behind)
            codes = self._steps.codes, entrance and entrance.codes
            return self._run(Turns(*codes, sizes, inputs, n_rows, 0, end, most))
        ends = x[0].astype(np.intp) if count == GIVEN else end
        codes = self._bodies.codes_of_lanes, entrance and entrance.codes_of_lanes
        return self._run(LaneTurns(*codes, sizes, inputs, n_rows, ends, most))

    def _with_rows(self, x: FloatArray) -> FloatArray:
        """All inputs of turns; a loop may know their rows by itself."""
        return x

    def know(self, x: FloatArray, value: FloatArray) -> None:
        """Have Python's value, for a first run at the same point."""
        self._known = x.tobytes(), value

    def value(self, x: FloatArray) -> FloatArray:
        """The last state, and the rows of results; of many points, those of each in a column."""
        RAN.n += 1
        if SERVED.are_noted and x.ndim == 1 and len(SERVED.loops) < MOST_SERVED:
            SERVED.loops += ((self, x.copy()),)
        known, self._known = self._known, None
        if known is not None and known[0] == x.tobytes():
            return known[1]
        return self._value(x)

    def inputs_like(
        self, x: FloatArray, name: str, count: int | None, state: FloatArray, rows: FloatArray
    ) -> FloatArray | None:
        """Those that it had, with another state and other rows; None if it is another loop."""
        p, n, m, _ = self._sizes
        is_like = name == self.name and (n, self._n_rows * m) == (len(state), len(rows))
        if not is_like or (self._count == GIVEN and x[0] != count):
            return None
        return np.concatenate([x[:p], state, rows])

    def begun(self, x: FloatArray, turns: int) -> FloatArray:
        """The state behind so many turns, and their results."""
        _, n, _, k = self._sizes
        results: FloatArray = self._forth(x, 0, turns).results
        return results[: n + turns * k]

    def agrees(self) -> bool:
        """Whether recordings of turns give what Python does where they were made."""
        return True

    def _value(self, x: FloatArray) -> FloatArray:
        # A gradient asks for values first: then its turns need not run forth once more.
        keeps = self._is_pulled and not self._last
        turns = self._forth(x, self._most if keeps else 0)
        self._is_pulled = keeps
        self._last = [(x.tobytes(), turns)] if keeps else []
        return self._results_of(turns)

    def _results_of(self, turns: Any) -> FloatArray:
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
        if isinstance(turns, LaneTurns) and turns.is_full:
            points = zip(x.T.copy(), u.T.copy(), strict=True)
            return np.stack([self.pull(*point) for point in points], axis=1)
        p, n, m, _ = self._sizes
        pulled = np.zeros((p + n + turns.n_rows * m, *x.shape[1:]))
        pulled[p : p + n] = u[:n]
        if isinstance(turns, LaneTurns) or turns.stride == 1:
            self._back(turns, u, pulled)
        else:
            for k in reversed(range(turns.n_kept)):
                self._back(self._run(turns.stretch(k)), u, pulled)
        return pulled[: self.n_inputs]

    def _back(self, turns: Any, u: FloatArray, pulled: FloatArray) -> None:
        steps = self._steps_of(turns)
        pulls = steps.pulls_of_lanes if isinstance(turns, LaneTurns) else steps.pulls
        while not turns.back(pulls, u, pulled):
            turns.step_back(steps.pulled(*turns.before(u, pulled)), pulled)


class Apart(AnyLoop):
    """A loop whose turns hand nothing on: with one of one turn, they go side by side."""

    def __init__(self, loop: AnyLoop, turn: AnyLoop) -> None:
        super().__init__(loop._sizes, loop._count)
        self.name = loop.name
        self._loop, self._turn = loop, turn
        self._is_faster: bool | None = None

    def _go_together(self, x: FloatArray) -> bool:
        """Whether that takes less time. Each turn then has a copy of the shared numbers."""
        if self._is_faster is None:
            _, columns = next(self._pieces(x))
            pays = self._sizes[0] <= MOST_SHARED
            self._is_faster = pays and self._turn.pays_over(self._n_rows, columns[:, 0])
        return self._is_faster

    def begun(self, x: FloatArray, turns: int) -> FloatArray:
        return self._value(x)[: turns * self._sizes[-1]]

    def agrees(self) -> bool:
        return self._turn.agrees() if self._is_faster else self._loop.agrees()

    @functools.cached_property
    def pushed(self) -> Apart:
        return Apart(self._loop.pushed, self._turn.pushed)

    def share(self, machines: Machines) -> None:
        self._loop.share(machines)
        self._turn.share(machines)

    def pattern(self, by_results: bool, of_results: bool) -> Pattern:
        (p, _, m, k), n = self._sizes, self._n_rows
        (p, m), (q, k) = (
            (0, k) if is_result else (p, m) for is_result in (by_results, of_results)
        )
        # Between both are what turns share, each turn, and all of these.
        all_of_these, turns = n + 1, np.arange(1, n + 1)
        given, made = np.arange(p + n * m), np.arange(q + n * k)
        by = np.concatenate([np.zeros(p, int), np.repeat(turns, m)])
        of = np.concatenate([np.full(q, all_of_these), np.repeat(turns, k)])
        return Links(
            gathered=(by, given),
            among=(np.full(n + 1, all_of_these), np.arange(n + 1)),
            spread=(np.concatenate([made, made[q:]]), np.concatenate([of, np.zeros(n * k, int)])),
            n_between=n + 2,
        )

    def _columns(self, rows: FloatArray) -> FloatArray:
        """Rows behind each other as columns; of many points, which have an axis then."""
        columns: FloatArray = rows.reshape(self._n_rows, -1, *rows.shape[1:]).swapaxes(0, 1)
        return columns

    def _pieces(self, x: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Some turns at a time, and the inputs of each in a column."""
        p, _, m, k = self._sizes
        n, points = self._n_rows, x.shape[1:]
        rows = self._columns(x[p:])
        step = max(1, MOST_NUMBERS // ((p + m + k) * math.prod(points) + 1))
        for begin in range(0, n, step):
            part = rows[:, begin : begin + step]
            if p:
                shared = np.broadcast_to(x[:p, None], (p, *part.shape[1:]))
                part = np.concatenate([shared, part])
            yield slice(begin, begin + step), np.ascontiguousarray(part.reshape(p + m, -1))

    def _value(self, x: FloatArray) -> FloatArray:
        if not self._go_together(x):
            return self._loop.value(x)
        points, run = x.shape[1:], self._turn.value
        parts = [run(columns) for _, columns in self._pieces(x)]
        results = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        rows = results.reshape(-1, self._n_rows, *points).swapaxes(0, 1)
        value: FloatArray = rows.reshape(-1, *points)
        return value

    def pull(self, x: FloatArray, u: FloatArray) -> FloatArray:
        if not self._go_together(x):
            return self._loop.pull(x, u)
        p, _, _, k = self._sizes
        pulled, seeds = np.zeros_like(x), self._columns(u)
        rows = self._columns(pulled[p:])
        for at, columns in self._pieces(x):
            seed = np.ascontiguousarray(seeds[:, at].reshape(k, -1))
            found = self._turn.pull(columns, seed)
            shared, own = np.split(found.reshape(len(found), *rows[0, at].shape), [p])
            pulled[:p] += shared.sum(axis=1)
            rows[:, at] = own
        return pulled


def doubled(parts: tuple[int, ...], n_rows: int, width: int) -> tuple[Indices, Indices]:
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


def _over_lanes(which: Any, *args: Any, loop: AnyLoop) -> Any:
    """Loops of many points, with their own numbers of turns."""
    n = len(args[which[0]])
    rows = [x if k in which else np.broadcast_to(x, (n, *x.shape)) for k, x in enumerate(args)]
    run = loop.value if len(args) == 1 else loop.pull
    if loop.goes_over_lanes:
        return run(*(np.ascontiguousarray(row.T) for row in rows)).T
    return np.stack([run(*map(np.ascontiguousarray, row)) for row in zip(*rows, strict=True)])


class _Call(Rule):
    """A call, whose replays need no primitive."""

    def share_machines(self, machines: Machines) -> None:
        """The machine code of the program that it is a step of is that of its turns, too."""
        self.kwargs["loop"].share(machines)

    def compute_results(self, operands: list[Any]) -> list[Any]:
        args, loop = self._with(operands), self.kwargs["loop"]
        return [loop.value(*args) if len(args) == 1 else loop.pull(*args)]

    def call_lanes(self, operands: list[Any]) -> list[Any]:
        return [_over_lanes(self.which, *self._with(operands), loop=self.kwargs["loop"])]


@primitive
def keep(x: Any, *, loop: AnyLoop) -> Any:
    """What a loop gives."""
    return loop.value(x)


@primitive
def pull(x: Any, u: Any, *, loop: AnyLoop) -> Any:
    """Its cotangents."""
    return loop.pull(x, u)


keep.rule = pull.rule = _Call
keep.over_lanes = pull.over_lanes = _over_lanes
keep.called = "a loop"
pull.called = "the cotangents of a loop"


def _along(x: Any, dx: Any, loop: AnyLoop) -> Any:
    """The derivative of what it gives along a direction."""
    pushed = keep(concatenate([x, dx])[loop.inputs], loop=loop.pushed)
    return pushed[loop.of_results[loop.n_results :]]


def _pull_along(x: Any, dx: Any, u: Any, loop: AnyLoop) -> Any:
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
keep.defpattern(lambda ans, x, loop: loop.pattern(False, True))
pull.defpattern(
    lambda ans, x, u, loop: loop.pattern(False, False),
    lambda ans, x, u, loop: loop.pattern(True, False),
)
