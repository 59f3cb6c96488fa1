"""Loops of Python whose number of turns differs from call to call, found in recordings.

A turn ends with a comparison that tells whether there is another one. A recording in which turns
are alike, operation by operation, becomes a program with one step for all of them; other numbers
of turns are served by it, too, as soon as f has been recorded once with each: if that was the same
but for how many turns there were. What is alike is told by what was recorded, never by values.
This module does not know which recordings there are.
"""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Call, CallError, Graph, Recording, Turns, Watch
from .loop_steps import UNTIL, AnyLoop, keep
from .native import Machines
from .recorded import NOT_SERVED, FloatArray, Recorded, met
from .returned import Returned

LEAST_TURNS = 3  # in which a loop is found
MOST_GUARDS = 4  # in a turn
MOST_ENDS = 16  # of loops that are looked at
MOST_NUMBERS = 4096  # that turns share, and hand on
MOST_OPERATIONS = 200_000  # of a recording
MOST_FOUND = 4  # loops, each with another way around it
MOST_FAILED = 16  # recordings on end that no loop serves, after which none is looked at

_CONSTANT, _SINGLE, _INPUT, _CONSTANTS, _PACK, _MAP, _TAKE, _CALL = binding.record_kinds()
_MADE = (_SINGLE, _PACK, _MAP, _TAKE, _CALL)
_KNOWN = (0, _CONSTANT, _INPUT, _CONSTANTS, *_MADE)

Ints = NDArray[np.int64]
Place = tuple[int, int]  # a record, and which of its numbers

_OTHER = "a derivative of a turn is not what it was when it was recorded"
_LOWEST = -(1 << 40)  # below all operations and inputs
_forms: dict[Any, int] = {}  # of calls: those that do the same have one number


# --- turns that are carried out ------------------------------------------------------------------


class _UnservedError(Exception):
    """A turn in which f chooses otherwise."""


class _Turn:
    """The codes of a turn, as `AnyLoop` asks for them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.codes = [graph.code_of("value")]

    @functools.cached_property
    def pulls(self) -> list[Any]:
        try:
            return [self._graph.code_of("pull", [(0, self._graph.n_inputs)])]
        except NOT_SERVED:
            return [None]

    def evaluated(self, row: FloatArray) -> Any:
        raise _UnservedError

    def pulled(self, row: FloatArray, seed: FloatArray, served: int) -> Any:
        raise CallError(_OTHER)


class _Counts:
    """The numbers of turns with which f was recorded."""

    def __init__(self, first: int) -> None:
        self._all = {first}
        self.most = first

    def __contains__(self, turns: int) -> bool:
        return turns in self._all

    def add(self, turns: int) -> None:
        self._all.add(turns)
        self.most = max(self.most, turns)

    @property
    def are_several(self) -> bool:
        return len(self._all) > 1


class FoundLoop(AnyLoop):
    """A loop until a turn was the last; its first result is 1 if there may be so many turns."""

    name = "a loop"

    def __init__(
        self,
        turn: Graph,
        n_shared: int,
        n_state: int,
        counts: _Counts,
        of: FoundLoop | None = None,
    ) -> None:
        super().__init__((n_shared, n_state, 0, 0), UNTIL)
        self._turn, self._counts = turn, counts
        self._of = of  # that it is pushed

    @functools.cached_property
    def _steps(self) -> _Turn:
        return _Turn(self._turn)

    @property
    def _most_turns(self) -> int:
        return self._counts.most + 1

    @functools.cached_property
    def pushed(self) -> FoundLoop:
        p, n, *_ = self._sizes
        along = self._turn.graph_of("push", [(0, p + n)])
        places = [*range(p), *range(2 * p, 2 * p + n)]
        places += [*range(p, 2 * p), *range(2 * p + n, 2 * (p + n))]
        ends = [*range(n), *range(n + 1, 2 * n + 1), n]
        turn = binding.in_other_order(along, places, ends)
        return FoundLoop(turn, 2 * p, 2 * n, self._counts, self)

    def share(self, machines: Machines) -> None:
        self._turn.machines = machines if machines.asked and not machines.is_patient else None
        if vars(self).pop("_steps", None) is not None and "pushed" in vars(self):
            self.pushed.share(machines)

    def _results_of(self, turns: Turns) -> FloatArray:
        is_known = turns.t in self._counts
        if not (is_known or self._of is None):
            raise _UnservedError
        results: FloatArray = turns.results
        results[0] = float(is_known)
        return results

    def _is_of_use(self, x: FloatArray) -> bool:
        """Whether f does so many turns, each of which chooses like those that were recorded."""
        try:
            return bool(super().value(x)[0] == 1.0)
        except _UnservedError:
            return False

    def _unserved(self, x: FloatArray, n: int) -> FloatArray:
        """Numbers in the place of those of a call that will not be served.

        CallError if it will: then a derivative of a turn is not what it was.
        """
        of = self._of
        if of is not None and of._is_of_use(x[of.of_inputs[: of.n_inputs]]):
            raise CallError(_OTHER)
        return np.zeros(n)

    def value(self, x: FloatArray) -> FloatArray:
        try:
            return super().value(x)
        except _UnservedError:
            return self._unserved(x, self.n_results)

    def pull(self, x: FloatArray, u: FloatArray) -> FloatArray:
        try:
            return super().pull(x, u)
        except _UnservedError:
            return self._unserved(x, self.n_inputs)


# --- recordings as rows of operations ------------------------------------------------------------


class _Listing:
    """A recording, operation by operation: what each is, and what it reads."""

    def __init__(self, graph: Graph, returned: bytes) -> None:
        self.returned = returned  # what f returned, but for its numbers
        first, sizes, hashes, kinds, begins, operands, ends, guards, outcomes = binding.described(
            graph, _forms
        )
        self.graph = graph
        self.first, self.sizes = first.astype(np.int64), sizes.astype(np.int64)
        self.kinds, self._hashes = kinds, hashes.view(np.int64)
        self.is_known = bool(np.isin(kinds, _KNOWN).all())
        is_made = np.isin(kinds, _MADE)
        self.records = np.flatnonzero(is_made)  # of operations
        self.operation = np.where(is_made, np.cumsum(is_made) - 1, -1)  # of records
        self.hashes = self._hashes[self.records]
        lengths = np.diff(begins.astype(np.int64))[self.records]
        self.begins = np.concatenate([[0], np.cumsum(lengths)])
        self.source, self.offset = self.places(operands)  # all operands are of operations
        self.of, self.by = self.encoded(self.source, self.offset)
        self.ends = self.places(np.array(ends, np.int64))
        self.guard_source, self.guard_offset = self.places(np.array(guards, np.int64))
        self.guards = self.operation[self.guard_source]
        self.outcomes = np.array(outcomes)

    def __len__(self) -> int:
        return len(self.records)

    def places(self, ids: Any) -> tuple[Ints, Ints]:
        """The records of numbers, and where they are in these."""
        ids = np.asarray(ids, np.int64)
        records = np.searchsorted(self.first, ids, "right") - 1
        return records, ids - self.first[records]

    def encoded(self, source: Ints, offset: Ints) -> tuple[Ints, Ints]:
        """What they are in any recording alike, and which of its numbers, or the bits of that.

        What they are is an operation, an input (below -1), or a constant (-1).
        """
        kinds = self.kinds[source]
        is_constant = (kinds == _CONSTANT) | (kinds == _CONSTANTS)
        of = np.where(kinds == _INPUT, -1 - source, self.operation[source])
        of = np.where(is_constant, -1, of)
        by = np.where(is_constant, self._hashes[source] * 31 + offset, offset)
        return of, by

    def number(self, place: Place) -> int:
        return int(self.first[place[0]]) + int(place[1])

    def operands(self, begin: int, end: int) -> slice:
        return slice(int(self.begins[begin]), int(self.begins[end]))


class _Span(NamedTuple):
    """Turns in a recording."""

    begin: int  # the first operation
    length: int  # operations of a turn,
    n_guards: int  # and guards
    turns: int
    last: int  # the guard that ends them

    @property
    def end(self) -> int:
        return self.begin + self.turns * self.length

    def of_turns(self, turns: int) -> _Span:
        return self._replace(turns=turns, last=self.last + (turns - self.turns) * self.n_guards)

    @property
    def n_before(self) -> int:
        """Guards before the turns."""
        return self.last + 1 - self.turns * self.n_guards


class _Turns:
    """What turns of a span read: of the same turn, the one before, or from outside."""

    def __init__(self, listing: _Listing, span: _Span) -> None:
        last = span.end - span.length
        where = listing.operands(last, span.end)
        of = listing.of[where]
        self.is_within = of >= last
        self.is_before = (of >= last - span.length) & (of < last)
        self.is_outside = ~(self.is_within | self.is_before)
        moves = ~self.is_outside
        self.hashes = listing.hashes[last : span.end]
        self.of = np.where(moves, of - span.end, of)
        self.by = listing.by[where]

    def alike(self, listing: _Listing, span: _Span) -> tuple[Any, Any]:
        """Of each turn whether it is this one.

        And whether it is, but for what it reads of the turn before.
        """
        n, shape = span.turns, (span.turns, len(self.of))
        operands = listing.operands(span.begin, span.end)
        hashes = listing.hashes[span.begin : span.end].reshape(n, span.length)
        if operands.stop - operands.start != n * len(self.of):
            return np.zeros(n, bool), np.zeros(n, bool)
        ends = span.begin + span.length * (1 + np.arange(n))[:, None]
        of = listing.of[operands].reshape(shape)
        expected = np.where(self.is_outside, self.of, self.of + ends)
        are_same = (of == expected) & (listing.by[operands].reshape(shape) == self.by)
        are_of_kind = (hashes == self.hashes).all(axis=1)
        return (
            are_of_kind & are_same.all(axis=1),
            are_of_kind & (are_same | self.is_before).all(axis=1),
        )

    def initial(self, listing: _Listing, span: _Span) -> dict[int, Place] | None:
        """What stands for each operation of the turn before in the first one.

        None if that is not one thing.
        """
        operands = listing.operands(span.begin, span.begin + span.length)
        source, offset = listing.source[operands], listing.offset[operands]
        found: dict[int, Place] = {}
        for k in np.flatnonzero(self.is_before):
            at = int(self.of[k]) + 2 * span.length
            size = listing.sizes[listing.records[span.end - span.length + at]]
            record, low = int(source[k]), int(offset[k] - self.by[k])
            if low < 0 or low + size > listing.sizes[record]:
                return None
            if found.setdefault(at, (record, low)) != (record, low):
                return None
        return found


def _span_of(listing: _Listing) -> _Span | None:
    """The turns of a recording, if there is a loop in it."""
    guards, outcomes = listing.guards, listing.outcomes
    changes = np.flatnonzero(outcomes[1:] != outcomes[:-1]) + 1
    for last in changes[::-1][:MOST_ENDS]:
        for n_guards in range(1, MOST_GUARDS + 1):
            if last < n_guards * LEAST_TURNS or outcomes[last] == outcomes[last - n_guards]:
                continue
            span = _span_at(
                listing, int(last), n_guards, int(guards[last] - guards[last - n_guards])
            )
            if span is not None:
                return span
    return None


def _span_at(listing: _Listing, last: int, n_guards: int, length: int) -> _Span | None:
    end = int(listing.guards[last]) + 1
    if length < 1:
        return None
    most = min(last // n_guards, end // length)
    ends = last - n_guards * np.arange(most)
    for k in range(n_guards):
        at = ends - k
        moved = listing.guards[at] + length * np.arange(most) == listing.guards[last - k]
        goes = listing.outcomes[at[1:]] == listing.outcomes[last - n_guards - k]
        bad = np.flatnonzero(~(moved & np.concatenate([[True], goes])))
        most = int(bad[0]) if len(bad) else most
        ends = ends[:most]
    if most < LEAST_TURNS:
        return None
    span = _Span(end - most * length, length, n_guards, most, last)
    turns = _Turns(listing, span)
    same, first = turns.alike(listing, span)
    n = int(np.argmin(same[::-1])) if not same.all() else most
    if n < most and first[most - 1 - n] and n >= 2:
        wider = _Span(end - (n + 1) * length, length, n_guards, n + 1, last)
        n += turns.initial(listing, wider) is not None
    outside = turns.of[turns.is_outside]
    while n >= LEAST_TURNS and outside.max(initial=-1) >= end - n * length:
        n -= 1
    if n < LEAST_TURNS:
        return None
    span = _Span(end - n * length, length, n_guards, n, last)
    return None if turns.initial(listing, span) is None else span


# --- what recordings of one loop have in common --------------------------------------------------


class _Form:
    """A recording of a loop, whatever the number of its turns."""

    def __init__(self, listing: _Listing, span: _Span) -> None:
        self.span, self.turns = span, _Turns(listing, span)
        self._returned = listing.returned
        # What is read behind the turns: which of it is of the turn before the last, and all.
        self._former: list[Any] = []
        self._read: list[tuple[Ints, Ints]] = []
        self._parts = self._compared(listing, span)

    def turns_of(self, listing: _Listing) -> int:
        """How many turns another recording has; 0 if it differs in something else."""
        span = self.span
        rest = len(listing) - self._n_around
        turns, left = divmod(rest, span.length)
        guards = len(listing.guards) - self._n_guards_around
        if listing.returned != self._returned or turns < 1 or left:
            return 0
        if guards != turns * span.n_guards:
            return 0
        span = span.of_turns(turns)
        same, first = self.turns.alike(listing, span)
        if not (same[1:].all() and first[0]):
            return 0
        parts = self._compared(listing, span)
        are_alike = len(parts) == len(self._parts)
        pairs = zip(parts, self._parts, strict=False)
        return turns if are_alike and all(np.array_equal(*pair) for pair in pairs) else 0

    def _compared(self, listing: _Listing, span: _Span) -> list[Any]:
        """All that is not in the turns, and what they begin with."""
        begin, end, n = span.begin, span.end, len(listing)
        self._n_around = begin + n - end
        self._n_guards_around = len(listing.guards) - span.turns * span.n_guards
        before = listing.operands(0, begin)
        initial = self.turns.initial(listing, span) or {}
        places = np.array(list(initial.values()), np.int64).reshape(-1, 2)
        guards = slice(span.n_before, span.last + 1)
        outcomes = listing.outcomes[guards].copy().reshape(span.turns, span.n_guards)
        goes_on = outcomes[:-1, -1]
        parts: list[Any] = [
            listing.sizes[listing.kinds == _INPUT],
            *(listing.hashes[:begin], listing.of[before], listing.by[before]),
            np.array(list(initial), np.int64),
            *listing.encoded(places[:, 0], places[:, 1]),
            *(listing.guards[: span.n_before], listing.guard_offset[: span.n_before]),
            listing.outcomes[: span.n_before],
            np.unique(outcomes[:, :-1], axis=0),
            *(outcomes[-1, -1], np.unique(np.append(goes_on, 1.0 - outcomes[-1, -1]))),
            np.unique(
                listing.guards[guards].reshape(span.turns, -1)
                - span.length * np.arange(span.turns)[:, None],
                axis=0,
            ),
            np.unique(listing.guard_offset[guards].reshape(span.turns, -1), axis=0),
            *(listing.hashes[end:], np.diff(listing.begins[end:])),
        ]
        for k, (source, offset) in enumerate(self._behind(listing, span)):
            of, by = listing.encoded(source, offset)
            moves = of >= end - span.length
            if k == len(self._former):
                self._former.append((of >= end - 2 * span.length) & (of < end - span.length))
                self._read.append((of - end, by))
            is_former = self._former[k]
            if len(is_former) != len(of):
                return []
            if span.turns > 1:
                moves |= is_former
            elif is_former.any():
                of, by = self._as_former(listing, initial, k, of, by)
                moves |= of < _LOWEST
                of = np.where(of < _LOWEST, of - _LOWEST + end, of)
            parts += [moves, np.where(moves, of - end, of), by]
        behind = slice(span.last + 1, None)
        return [*parts, listing.outcomes[behind]]

    def _as_former(
        self, listing: _Listing, initial: dict[int, Place], k: int, of: Ints, by: Ints
    ) -> tuple[Ints, Ints]:
        """What is read of the state before the only turn, as of a turn before the last one.

        Such operations are counted from _LOWEST on, downwards.
        """
        of, by = of.copy(), by.copy()
        for i in np.flatnonzero(self._former[k]):
            at, offset = int(self._read[k][0][i]), int(self._read[k][1][i])
            record, low = initial.get(at + 2 * self.span.length, (0, 0))
            place = np.array([record]), np.array([low + offset])
            expected_of, expected_by = listing.encoded(*place)
            if (of[i], by[i]) == (expected_of[0], expected_by[0]):
                of[i], by[i] = at + _LOWEST, offset
        return of, by

    @staticmethod
    def _behind(listing: _Listing, span: _Span) -> list[tuple[Ints, Ints]]:
        """What is read behind the turns: by operations, as results, and as guards."""
        operands = listing.operands(span.end, len(listing))
        behind = slice(span.last + 1, None)
        return [
            (listing.source[operands], listing.offset[operands]),
            listing.ends,
            (listing.guard_source[behind], listing.guard_offset[behind]),
        ]

    def read_behind(
        self, listing: _Listing, span: _Span, initial: dict[int, Place]
    ) -> list[int] | None:
        """The operations of the last turn that are read behind it.

        Below 0 those of the turn before, which hands them on. None if others are.
        """
        found = set[int]()
        for source, _ in self._behind(listing, span):
            of = listing.operation[source]
            inside = of[(of >= span.begin) & (of < span.end)]
            found.update((inside - (span.end - span.length)).tolist())
        are_there = all(at >= 0 or at + span.length in initial for at in found)
        return sorted(found) if are_there else None


# --- a program of them ---------------------------------------------------------------------------


class _Blocks:
    """Numbers in a row: operations and inputs, each as a whole."""

    def __init__(self, begin: int) -> None:
        self.size = begin
        self.begins: dict[int, int] = {}

    def add(self, what: int, size: int) -> None:
        if what not in self.begins:
            self.begins[what] = self.size
            self.size += size


def _program_of(
    listing: _Listing, span: _Span, form: _Form, call: Call, counts: _Counts
) -> Graph | None:
    """The graph of a recording with a loop in the place of its turns; None if it cannot be one."""
    turns = form.turns
    initial = turns.initial(listing, span)
    behind = None if initial is None else form.read_behind(listing, span, initial)
    if behind is None or initial is None:
        return None
    last, size_of, ids = span.end - span.length, listing.sizes, listing.first
    where = listing.operands(last, span.end)
    shared = _Blocks(0)
    for record in np.unique(listing.source[where][turns.is_outside]).tolist():
        if listing.kinds[record] not in (_CONSTANT, _CONSTANTS):
            shared.add(record, int(size_of[record]))
    state = _Blocks(1)  # behind the flag
    for at in [*sorted(initial), *behind]:
        state.add(at, int(size_of[listing.records[last + at]]))
    if shared.size + state.size > MOST_NUMBERS:
        return None

    def block(record: int, low: int = 0, size: int | None = None) -> list[int]:
        first = int(ids[record]) + low
        return [*range(first, first + (int(size_of[record]) if size is None else size))]

    zero = int(ids[1])
    given = [number for record in shared.begins for number in block(record)] + [zero]
    known: list[tuple[int, int]] = []
    inputs: list[tuple[int, int]] = []
    for record, begin in shared.begins.items():
        if listing.kinds[record] == _INPUT:
            inputs += [(number, begin + k) for k, number in enumerate(block(record))]
        else:
            known.append((int(ids[record]), begin))
    ends: list[int] = []
    for at, begin in state.begins.items():
        record = int(listing.records[last + at])
        ends += block(record)
        if at in initial:
            former = int(listing.records[last - span.length + at])
            known.append((int(ids[former]), shared.size + begin))
            given += block(*initial[at], int(size_of[record]))
        else:
            given += [zero] * int(size_of[record])
    guards = [
        (listing.number((int(s), int(o))), float(outcome))
        for s, o, outcome in zip(
            listing.guard_source, listing.guard_offset, listing.outcomes, strict=True
        )
    ]
    goes_on = guards[span.last][0], 1.0 - guards[span.last][1]
    inner = guards[span.last + 1 - span.n_guards : span.last]
    whole = listing.graph
    n_all = shared.size + state.size
    turn = binding.turn_graph(whole, n_all, shared.size, known, inputs, ends, goes_on, inner)
    loop = FoundLoop(turn, shared.size, state.size, counts)
    x = met(binding.given_graph(whole, given).code_of("value").evaluate(call.vector()))
    value = loop.value(x)
    if value[0] != 1.0 or not np.isfinite(value).all():
        return None
    rule = keep.rule(keep, [None], {"loop": loop}, [0], False)
    rule.note_point([x], [value], [False])
    equal = [(*guard, equality) for guard, equality in zip(guards, whole.guards, strict=True)]
    results = [(int(ids[listing.records[last + at]]), begin) for at, begin in state.begins.items()]
    outputs = [listing.number(place) for place in zip(*listing.ends, strict=True)]
    return binding.graph_around(
        *(whole, equal[: span.n_before], given, rule, (x, value), results, outputs),
        equal[span.last + 1 :],
    )


class _Found:
    """A loop, with the numbers of turns that f was recorded with, and its program.

    There is one if these are two at least.
    """

    def __init__(self, form: _Form, watch: Watch) -> None:
        self.form, self.watch = form, watch
        self._counts = _Counts(form.span.turns)
        self.recorded: Recorded | None = None

    @property
    def is_current(self) -> bool:
        return self.watch.holds()

    def take(self, listing: _Listing, output: Returned, call: Call, shapes: Sequence[Any]) -> bool:
        """Note another recording; answers whether it is of the loop."""
        n = self.form.turns_of(listing)
        if n == 0:
            return False
        self._counts.add(n)
        if self.recorded is None and self._counts.are_several and n > 1:
            self._make(listing, self.form.span.of_turns(n), output, call, shapes)
        return True

    def _make(
        self, listing: _Listing, span: _Span, output: Returned, call: Call, shapes: Sequence[Any]
    ) -> None:
        graph = _program_of(listing, span, self.form, call, self._counts)
        if graph is not None:
            self.recorded = Recorded(graph, output, call.ranges, shapes, (), self.watch)
            # Which way f goes behind the first turn, its outcomes do not tell.
            outcomes = [*listing.outcomes[: span.n_before].tolist(), np.nan]
            self.recorded.outcomes = np.array(outcomes).tobytes()


class LoopFinder:
    """What is known of the loops in calls of one signature: one for each way around its turns."""

    def __init__(self, key: Any) -> None:
        self._key = key
        self._found: list[_Found] = []
        self._is_hopeful = False  # a recording had turns
        self._n_failed = 0

    def __contains__(self, recorded: Recorded) -> bool:
        """Whether it is the program of a loop."""
        return any(one.recorded is recorded for one in self._found)

    @property
    def is_of_use(self) -> bool:
        """Whether further recordings may be of a loop."""
        return self._is_hopeful and self._n_failed < MOST_FAILED

    def take(
        self,
        recording: Recording,
        output: Returned,
        call: Call,
        shapes: Sequence[Any],
        watch: Watch,
    ) -> Recorded | None:
        """The program of the loop that was recorded, if there is one."""
        self._n_failed += 1
        if call.key != self._key:
            return None
        return self._taken(recording, output, call, shapes, watch)

    def _taken(
        self,
        recording: Recording,
        output: Returned,
        call: Call,
        shapes: Sequence[Any],
        watch: Watch,
    ) -> Recorded | None:
        graph = binding.graph_of(recording, output.atoms, True, binding.NO_LOOPS, True)
        if graph.n_recorded > MOST_OPERATIONS:
            return None
        bare = copy.copy(output)
        bare.atoms = []
        try:
            listing = _Listing(graph, pickle.dumps(bare))
        except (AttributeError, TypeError, pickle.PicklingError):
            return None
        if not listing.is_known or (listing.guards < 0).any():
            return None
        self._found = [one for one in self._found if one.is_current]
        for one in self._found:
            reads_more = not {*watch.paths} <= {*one.watch.paths}  # as turns of their own may
            if not reads_more and one.take(listing, bare, call, shapes):
                self._n_failed = self._n_failed if one.recorded is None else 0
                return one.recorded
        span = _span_of(listing) if len(self._found) < MOST_FOUND else None
        if span is not None:
            self._is_hopeful = True
            self._found.append(_Found(_Form(listing, span), watch))
        return None
