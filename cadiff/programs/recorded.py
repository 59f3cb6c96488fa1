"""A recording as a graph, and what is made of it: codes, matrices, results.

This module does not know how calls are taken apart, nor which recording serves one.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import (
    Code,
    Graph,
    MatrixPlan,
    ObstacleError,
    Pattern,
    PointError,
    Replay,
    TapeProgram,
    Watch,
)
from ..transforms._base import Function
from ..transforms._outputs import places
from .returned import Returned

__all__ = [
    "NOT_ENTERED",
    "FloatArray",
    "MissedError",
    "Recorded",
    "is_portable",
    "leaves_of",
    "met",
]

NOT_ENTERED: Any = object()  # a function is no entry, and has to be run

FloatArray = NDArray[np.float64]
Range = tuple[int, int]


class MissedError(Exception):
    """A replay met another outcome than was recorded: at which guard (-1: unknown), and which."""


def met(found: Any) -> FloatArray:
    """The results of a run; an exception if a guard does not hold."""
    if type(found) is tuple:
        raise MissedError(*found)
    results: FloatArray = found
    return results


def is_portable(thing: Any) -> bool:
    """Whether something can be pickled."""
    try:
        pickle.dumps(thing)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


class Recorded:
    """What f did in one call, as a graph: for all calls of the same key that choose alike."""

    def __init__(
        self,
        graph: Graph,
        output: Returned,
        ranges: tuple[Range, ...],
        shapes: Sequence[tuple[int, ...]],
        replays: Sequence[Replay] = (),
        watch: Watch | None = None,
        returns_views: bool = False,
    ) -> None:
        self.watch = watch  # what f has read beside its arguments
        # whether f can be an entry of a tape, where what it returns may be shared
        self._may_enter = not (returns_views or graph.steps or output.has_whole_numbers)
        self._shapes = list(shapes)  # of the atoms of the inputs
        self._tape_program: TapeProgram | None = None
        self.graph = graph
        self.outcomes = graph.outcomes  # of the guards of f, float64
        self.output = output
        self.is_number = graph.n_outputs == 1 and output.is_leaf  # whether f returned one
        self.ranges = ranges  # of the inputs, to differentiate by
        self.replays = [*replays]  # of an exact program; not pickled: it is recorded again
        self.exact: dict[Any, Function] = {}  # what was made of them
        self._uses = 0  # besides those of its codes
        self._codes: dict[Any, Code] = {}
        self._plans: dict[Any, MatrixPlan] = {}
        self._failures: dict[Any, ObstacleError | PointError] = {}

    def __getstate__(self) -> Any:
        return {
            "watch": None,
            "_may_enter": self._may_enter,
            "_shapes": self._shapes,
            "_tape_program": None,
            "graph": self.graph,
            "outcomes": self.outcomes,
            "output": self.output,
            "ranges": self.ranges,
            "replays": [],
            "exact": {},
            "_uses": 0,
            "_codes": {},
            "_plans": {},
            "_failures": {},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.is_number = self.graph.n_outputs == 1 and self.output.is_leaf
        given, made = (sum(map(prod, shapes)) for shapes in (self._shapes, self.output.shapes))
        n = self.graph.n_inputs
        if (
            (given, made) != (n, self.graph.n_outputs)
            or min(chain(*self._shapes, *self.output.shapes), default=0) < 0
            or any(not 0 <= begin <= end <= n for begin, end in self.ranges)
            or self.outcomes != self.graph.outcomes
        ):
            raise ValueError(
                "this is no program that was pickled: its recording takes "
                f"{n} numbers and gives {self.graph.n_outputs}, where its arguments and results "
                f"have {given} and {made}"
            )

    @property
    def is_differentiable(self) -> bool:
        """Whether gradient functions take what f returned."""
        return self.output.is_differentiable

    @property
    def is_portable(self) -> bool:
        """Whether it can be pickled: its steps, or classes of results, may not.

        What it was seen to read, but is not found in the code, is not watched at loading.
        """
        was_observed = self.watch is not None and self.watch.was_observed
        return not was_observed and is_portable((self.graph.steps, self.output))

    @property
    def is_current(self) -> bool:
        """Whether what f has read beside its arguments is as it was."""
        return self.watch is None or self.watch.holds()

    @property
    def n_outcomes(self) -> int:
        """How many outcomes the guards of f have."""
        return len(self.outcomes) // 8

    @property
    def guards(self) -> tuple[bool, ...]:
        """Of each guard whether it rests on equality."""
        return self.graph.guards

    def code(self, what: str, ranges: tuple[Range, ...] = ()) -> Code:
        """The program for something, made when it is first wanted."""
        key = (what, ranges)
        code = self._codes.get(key)
        if code is None:
            make: Callable[..., Code] = getattr(self.graph, f"{what}_code")
            code = self._codes[key] = self._made(key, make, *() if what == "value" else (ranges,))
        return code

    def _made(self, key: Any, make: Callable[..., Any], *args: Any) -> Any:
        """What make(*args) answers; that it cannot be made is found out once."""
        failure = self._failures.get(key)
        if failure is not None:
            raise failure
        try:
            return make(*args)
        except (ObstacleError, PointError) as error:
            self._failures[key] = error.with_traceback(None)
            raise

    def plan(
        self,
        what: str,
        ranges: tuple[Range, ...],
        layout: str = "dense",
        sparsity: Hashable = None,
        pattern: Callable[[], Pattern | None] = lambda: None,
        for_points: bool = False,
    ) -> MatrixPlan:
        """The plan for a matrix, of the entries that `sparsity` stands for."""
        key = (f"{layout} {what}{' of points' if for_points else ''}", (ranges, sparsity))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._made(
                key,
                lambda: binding.plan_matrix(
                    self.graph, what, ranges, pattern(), layout, for_points
                ),
            )
            self._plans[key] = plan
        return plan

    def code_for_points(self, what: str, ranges: tuple[Range, ...] = ()) -> Code:
        """The code that computes a value or a derivative at many points at once."""
        key = (f"{what} of points", ranges)
        code = self._codes.get(key)
        if code is None:
            which = () if what == "value" else (ranges,)
            code = self._made(key, self.graph.code_for_points, what, *which)
            self._codes[key] = code
        return code

    @property
    def codes(self) -> dict[Any, Code | MatrixPlan]:
        return {**self._codes, **self._plans}

    @property
    def nbytes(self) -> int:
        """Of the recording and all that was made of it."""
        parts = [self.graph, *self.replays, *self.codes.values()]
        return sum(part.nbytes for part in parts)

    def use(self) -> None:
        """Note that it has served a call."""
        self._uses += 1

    @property
    def uses(self) -> int:
        """How many calls it has served, besides the first one."""
        uses = self._uses
        for code in [*self._codes.values()]:
            uses += code.uses
        for plan in [*self._plans.values()]:
            uses += plan.code.uses
        return uses

    def filled(self, numbers: FloatArray) -> Any:
        """What f returns, in floats, given all its numbers in a row."""
        return self.output.restored(leaves_of(numbers, self.output.shapes))

    def sample(self, *args: Any, **kwargs: Any) -> Any:
        """Something like what f returns, for gradient functions that refuse it."""
        return self.returned(np.zeros(self.graph.n_outputs))

    def returned(self, numbers: FloatArray) -> Any:
        """What f returns, given all its numbers in a row."""
        return self.output.returned(leaves_of(numbers, self.output.shapes))

    def entered(self, name: str, atoms: list[Any]) -> Any:
        """What f returns within another derivative, as one entry of the tape.

        NOT_ENTERED if f has to be run there.
        """
        if not self._may_enter:
            return NOT_ENTERED
        if self._tape_program is None:
            self._tape_program = binding.tape_program_of(
                self.graph, name, self._shapes, self.output.shapes
            )
        found = self._tape_program.call(atoms)
        if type(found) is tuple:
            raise MissedError(*found)
        return NOT_ENTERED if found is None else self.output.returned(found, within=True)


def leaves_of(numbers: FloatArray, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Numbers in a row as fresh leaves: floats and arrays."""
    if not any(shapes):
        floats: list[Any] = numbers[: len(shapes)].tolist()
        return floats
    return [
        numbers[part].reshape(shape).copy() if shape != () else float(numbers[part.start])
        for part, shape in places(shapes)
    ]
