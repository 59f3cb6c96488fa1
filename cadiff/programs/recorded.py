"""A recording as a graph, and what is made of it: codes, matrices, results.

This module does not know how calls are taken apart, nor which recording serves one.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import (
    Call,
    CallError,
    Code,
    Graph,
    MatrixPlan,
    ObstacleError,
    Pattern,
    PointError,
    Replay,
    Structure,
    TapeProgram,
    Trust,
    Watch,
)
from ..binding.bytecode import has_handlers
from ..transforms._base import Function
from ..transforms._outputs import places
from .returned import Returned

NOT_ENTERED: Any = object()  # a function is no entry, and has to be run

FloatArray = NDArray[np.float64]
Range = tuple[int, int]


class MissedError(Exception):
    """A replay met another outcome than was recorded: at which guard (-1: unknown), and which."""


def met(outcome: Any) -> FloatArray:
    """The results of a run; an exception if a guard does not hold."""
    if type(outcome) is tuple:
        raise MissedError(*outcome)
    results: FloatArray = outcome
    return results


# What a run raises that has no results: f tells.
NOT_SERVED = (MissedError, PointError, CallError, ObstacleError)


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
        self.trust: Trust | None = None  # where it may serve; None: wherever its guards are met
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
        self.n_missed = 0  # calls that met other outcomes, besides those of its codes
        self.in_vain: set[Any] = set()  # misses of derivatives for which another one was no help
        self._codes: dict[Any, Code | MatrixPlan | ObstacleError | PointError] = {}

    def __getstate__(self) -> Any:
        return {
            "graph": self.graph,
            "output": self.output,
            "ranges": self.ranges,
            "shapes": self._shapes,
            "returns_views": not self._may_enter,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        Recorded.__init__(self, **state)
        n_in, n_out = (sum(map(prod, shapes)) for shapes in (self._shapes, self.output.shapes))
        n = self.graph.n_inputs
        if (
            (n_in, n_out) != (n, self.graph.n_outputs)
            or min(chain(*self._shapes, *self.output.shapes), default=0) < 0
            or any(not 0 <= begin <= end <= n for begin, end in self.ranges)
        ):
            raise ValueError(
                "this is no program that was pickled: its recording takes "
                f"{n} numbers and gives {self.graph.n_outputs}, where its arguments and results "
                f"have {n_in} and {n_out}"
            )

    @property
    def is_portable(self) -> bool:
        """Whether it can be pickled: its steps, or classes of results, may not.

        What it was seen to read, but is not found in the code, is not watched at loading.
        """
        was_observed = self.watch is not None and self.watch.was_observed
        return not was_observed and is_portable((self.graph.steps, self.output))

    @property
    def loops(self) -> list[Any]:
        """Those that are steps of it."""
        kwargs = (getattr(step.rule, "kwargs", {}) for step in self.graph.steps)
        return [one["loop"] for one in kwargs if "loop" in one]

    @property
    def is_trusted(self) -> bool:
        """Whether it may serve at any inputs."""
        return self.trust is None or self.trust.is_full

    @property
    def handles(self) -> bool:
        """Whether there are handlers of exceptions in f."""
        return self.watch is not None and any(map(has_handlers, self.watch.codes))

    @property
    def catches_numbers(self) -> bool:
        """Whether f may catch exceptions that floats raise, and Vars do not."""
        return self.watch is not None and self.watch.catches_numbers

    def may_be_caught(self, numbers: Any) -> bool:
        """Whether such an exception may be what f had where these numbers would come out."""
        return self.catches_numbers and not all(map(_is_finite, binding.flattened(numbers)[0]))

    @property
    def is_current(self) -> bool:
        """Whether what f has read beside its arguments is as it was."""
        return self.watch is None or self.watch.holds()

    def _made(self, key: Any, make: Callable[..., Any], *args: Any) -> Any:
        """What make(*args) answers, or why it cannot, found out once."""
        code = self._codes.get(key)
        if code is None:
            try:
                code = make(*args)
            except (ObstacleError, PointError) as error:
                code = error.with_traceback(None)
            self._codes[key] = code
        if isinstance(code, Exception):
            raise code
        return code

    def code(self, what: str, ranges: tuple[Range, ...] = ()) -> Code:
        """The program for something, made when it is first wanted."""
        which = () if what == "value" else (ranges,)
        code: Code = self._made((what, ranges), self.graph.code_of, what, *which)
        return code

    def code_for_points(self, what: str, n: int, ranges: tuple[Range, ...] = ()) -> Code:
        """The code that computes a value or a derivative at n points."""
        which = () if what == "value" else (ranges,)
        code: Code = self._made(
            (f"{what} of points", ranges), self.graph.code_for_points, what, *which
        )
        return code if code.serves_points(n) else self.code(what, ranges)

    def plan(
        self,
        what: str,
        ranges: tuple[Range, ...],
        layout: str = "dense",
        sparsity: Hashable = None,
        pattern: Callable[[], Pattern | None] = lambda: None,
        n_points: int = 1,
    ) -> MatrixPlan:
        """The plan for a matrix, of the entries that `sparsity` stands for; at n points."""
        for_points = n_points > 1
        key = (f"{layout} {what}{' of points' if for_points else ''}", (ranges, sparsity))

        def make() -> MatrixPlan:
            return binding.plan_matrix(self.graph, what, ranges, pattern(), layout, for_points)

        plan: MatrixPlan = self._made(key, make)
        if for_points and plan.point is None and not plan.code.serves_points(n_points):
            return self.plan(what, ranges, layout, sparsity, pattern)
        return plan

    @property
    def codes(self) -> dict[Any, Code | MatrixPlan]:
        made = self._codes.copy()
        return {key: one for key, one in made.items() if not isinstance(one, Exception)}

    @property
    def all_codes(self) -> Iterator[Code]:
        """Those of plans, too."""
        for made in self.codes.values():
            yield from codes_of(made)

    def forget_entry(self) -> None:
        """Have codes of calls within other derivatives made anew."""
        self._tape_program = None

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
        for code in self.codes.values():
            uses += code.code.uses if isinstance(code, MatrixPlan) else code.uses
        return uses

    @property
    def misses(self) -> int:
        """How many calls met other outcomes."""
        return self.n_missed + sum(code.misses for code in self.all_codes)

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
        outputs = self._tape_program.call_program(atoms)
        if type(outputs) is tuple:
            raise MissedError(*outputs)
        return NOT_ENTERED if outputs is None else self.output.returned(outputs, within=True)


class Vain:
    """Where f chose as in a recording, but a derivative does not hold: whether another is no help.

    None is where the derivative is not finite at the point.
    """

    MOST = 64  # causes that a recording knows

    def __init__(self, call: Call) -> None:
        self._call = call
        self._known: set[Any] = set()  # causes, of the recording that was missed
        self._cause: Any = None

    def note(self, recorded: Recorded, error: Exception, is_fresh: bool) -> None:
        """Note a miss: of a recording of this very call, if it is fresh."""
        if is_fresh and self._cause is not None and len(self._known) < self.MOST:
            self._known.add(self._cause)
        elif not is_fresh and (self._cause is None or isinstance(error, MissedError)):
            numbers = self._call.vector()
            is_finite = bool(np.isfinite(numbers).all())
            is_there_alone = is_finite and isinstance(error, PointError)
            self._cause = error.args, is_finite, numbers.tobytes() if is_there_alone else b""
            self._known = recorded.in_vain

    @property
    def is_known(self) -> bool:
        """Whether a recording was in vain in such a call."""
        return self._cause in self._known


def codes_of(made: Code | MatrixPlan) -> list[Code]:
    if isinstance(made, Code):
        return [made]
    return [made.code] if made.point is None else [made.point, made.code]


def _is_finite(leaf: Any) -> bool:
    numbers = np.asarray(leaf)
    return numbers.dtype.kind not in "fc" or bool(np.isfinite(numbers).all())


def leaves_of(numbers: FloatArray, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Numbers in a row as fresh leaves: floats and arrays."""
    if not any(shapes):
        floats: list[Any] = numbers[: len(shapes)].tolist()
        return floats
    return [
        numbers[part].reshape(shape).copy() if shape != () else float(numbers[part.start])
        for part, shape in places(shapes)
    ]


def of_blocks(
    blocks: Iterable[Sequence[Any]], structure: Structure, single: bool, output: Returned | None
) -> Any:
    """Blocks of a Jacobian in the containers of arguments and results.

    Without `output`, those of a Hessian.
    """
    rows = [structure.in_containers(row, single) for row in blocks]
    return structure.in_containers(rows, single) if output is None else output.fill(rows)
