"""Loops of Python whose turns differ from call to call, found in recordings.

A recording is cut behind comparisons that come again and again: turns. Those that do the same,
operation by operation, are one, and what a turn reads of those before stands in a slot, which turns
write, or leave. So a recording becomes a program with one step, which runs turns as their
comparisons choose; other ways through the turns are served by it, too, where f was recorded with as
many turns, and with each of them as often. What is alike is told by what was recorded, never by
values: what no recording tells is not served. This module does not know which recordings there are.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import pickle
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Call, CallError, Graph, Recording, Turns, Watch
from .loop_steps import UNTIL, AnyLoop, doubled, keep
from .native import Machines
from .recorded import NOT_SERVED, FloatArray, Recorded, met
from .returned import Returned

LEAST_TURNS = 2  # behind the first cut, in which a loop is found
MOST_CUTS = 3  # comparisons at which turns end
MOST_TRIED = 8  # of which these are chosen
MOST_PEELED = 3  # turns at the beginning that may differ
MOST_TURNS = 16  # that differ
MOST_NUMBERS = 4096  # that turns share, and hand on
MOST_OPERATIONS = 200_000  # of a recording
MOST_FOUND = 4  # loops, each with another way around it
MOST_FAILED = 16  # recordings on end that no loop serves, after which none is looked at
MOST_HOPELESS = 8  # the same, if there were no turns in any

_CONSTANT, _SINGLE, _INPUT, _CONSTANTS, _PACK, _MAP, _TAKE, _CALL = binding.record_kinds()
_MADE = (_SINGLE, _PACK, _MAP, _TAKE, _CALL)
_KNOWN = (0, _CONSTANT, _INPUT, _CONSTANTS, *_MADE)

Ints = NDArray[np.int64]
Option = tuple[Any, ...]  # ("wrote", operation of the turn, which of its numbers, of how many)
Reader = int  # what reads one number at one place of f: turns that are the same so far share it

_OTHER = "a derivative of a turn is not what it was when it was recorded"
_END = -1  # the number of what comes behind the turns
_OF_CONSTANTS = -(1 << 60)  # numbers of what is read: constants are below
_forms: dict[Any, int] = {}  # of calls: those that do the same have one number


class _UnlikeError(Exception):
    """A recording that is not of a loop."""


# --- turns that are carried out ------------------------------------------------------------------


class _UnservedError(Exception):
    """A way through the turns that f was not recorded with."""


class _Steps:
    """The codes of turns, as `AnyLoop` asks for them."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self._graphs = graphs
        self.codes = [graph.code_of("value") for graph in graphs]

    @functools.cached_property
    def pulls(self) -> list[Any]:
        return [*map(self._pull, self._graphs)]

    @staticmethod
    def _pull(graph: Graph) -> Any:
        try:
            return graph.code_of("pull", [(0, graph.n_inputs)])
        except NOT_SERVED:
            return None

    def pulled(self, row: FloatArray, seed: FloatArray, served: int) -> Any:
        raise CallError(_OTHER)


class _Ways:
    """The ways through turns that f was recorded with.

    Others are served that are as long as one of them, and in which each turn comes as often at most,
    as often on end, and behind such others, as in some of them.
    """

    def __init__(self) -> None:
        self.lengths: frozenset[int] = frozenset()
        self.most = 0  # turns
        self._often: dict[int, tuple[int, int, set[int]]] = {}

    def with_one(self, turns: list[int]) -> _Ways:
        """These, and one more."""
        ways = copy.copy(self)
        ways.lengths |= {len(turns)}
        ways.most = max(self.most, len(turns))
        often = {turn: [0, 0, set[int]()] for turn in turns}
        former, on_end, before = None, 0, set[int]()
        for turn in turns:
            on_end = on_end + 1 if turn == former else 1
            one: Any = often[turn]
            one[:] = one[0] + 1, max(one[1], on_end), one[2] | before
            former = turn
            before.add(turn)
        ways._often = dict(self._often)
        for turn, (n, on_end, before) in often.items():
            known = self._often.get(turn, (0, 0, set[int]()))
            ways._often[turn] = max(n, known[0]), max(on_end, known[1]), before | known[2]
        return ways

    def have(self, n: int, turns: list[int], told: list[tuple[int, int, int]]) -> bool:
        """Whether a way of n turns is one of these. `told`: of each turn what `Turns.told` has."""
        if n not in self.lengths:
            return False
        for turn, (often, on_end, before) in zip(turns, told, strict=True):
            most = self._often.get(turn, (0, 0, set[int]()))
            if often > most[0] or on_end > most[1]:
                return False
            if any(before >> k & 1 and one not in most[2] for k, one in enumerate(turns)):
                return False
        return True

    @property
    def are_several(self) -> bool:
        return len(self.lengths) > 1


class FoundLoop(AnyLoop):
    """Turns as long as one of them serves; the first result is 1 if f may go this way."""

    name = "a loop"

    def __init__(
        self,
        turns: dict[int, Graph],
        sizes: tuple[int, int, int],
        ways: _Ways,
        of: FoundLoop | None = None,
    ) -> None:
        super().__init__((*sizes, 0), UNTIL)
        self._turns, self.ways = turns, ways
        self._of = of  # that it is pushed
        self.rows: FloatArray = np.zeros((1, 0))  # constants of each turn
        self.behind: dict[int, list[float]] = {}  # and those behind a number of turns
        self.at_behind: list[int] = []  # where these stand

    @functools.cached_property
    def _steps(self) -> _Steps:
        return _Steps([*self._turns.values()])

    @property
    def _most_turns(self) -> int:
        return self._root.ways.most + 1

    @property
    def _root(self) -> FoundLoop:
        return self if self._of is None else self._of._root

    def _with_rows(self, x: FloatArray) -> FloatArray:
        return x if self._sizes[2] == 0 else np.concatenate([x, self._rows().ravel()])

    def _rows(self) -> FloatArray:
        if self._of is None:
            return self.rows
        rows = self._of._rows()
        return np.concatenate([rows, np.zeros_like(rows)], axis=1)

    @functools.cached_property
    def pushed(self) -> FoundLoop:
        p, n, m, _ = self._sizes
        places = doubled((p, n, m), 0, 0)[1].tolist()
        ends = [*range(n), *range(n + 1, 2 * n + 1), n]
        turns = {
            turn: binding.in_other_order(graph.graph_of("push", [(0, p + n + m)]), places, ends)
            for turn, graph in self._turns.items()
        }
        return FoundLoop(turns, (2 * p, 2 * n, 2 * m), self.ways, self)

    def share(self, machines: Machines) -> None:
        for graph in self._turns.values():
            graph.machines = machines if machines.asked and not machines.is_patient else None
        if vars(self).pop("_steps", None) is not None and "pushed" in vars(self):
            self.pushed.share(machines)

    def _run(self, turns: Turns) -> Turns:
        if not turns.run():
            turns.finish()
        return turns

    def _is_known(self, turns: Turns) -> bool:
        return self._root.ways.have(turns.t, [*self._turns], turns.told(len(self._turns)))

    def _forth(self, x: FloatArray, most: int = 0) -> Turns:
        turns = super()._forth(x, most)
        if self._of is not None and not self._is_known(turns):
            raise _UnservedError
        return turns

    def _results_of(self, turns: Turns) -> FloatArray:
        results: FloatArray = turns.results
        results[0] = float(self._is_known(turns))
        if (root := self._root).at_behind:
            results[root.at_behind] = root.behind.get(turns.t, 0.0)
        return results

    def _unserved(self, x: FloatArray, n: int) -> FloatArray:
        """Numbers in the place of those of a call that will not be served.

        CallError if it will: then a derivative of a turn is not what it was.
        """
        of = self._of
        if of is not None and of.value(x[of.of_inputs[: of.n_inputs]])[0] == 1.0:
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


class _Segment(NamedTuple):
    """A part of a recording, up to the comparison behind which it is cut."""

    begin: int  # operations
    end: int
    first: int  # guards
    last: int  # the one behind

    @property
    def cut(self) -> int:
        """The comparison that it ends with."""
        return self.last - 1


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
        is_made = np.isin(kinds, _MADE)
        self.records = np.flatnonzero(is_made)  # of operations
        self._operation = np.where(is_made, np.cumsum(is_made) - 1, -1)  # of records
        self.hashes = self._hashes[self.records]
        lengths = np.diff(begins.astype(np.int64))[self.records]
        self.begins = np.concatenate([[0], np.cumsum(lengths)])
        self.operands = self._places(operands)  # all of them are of operations
        self.ends = self._places(ends)
        self.read_by_guards = self._places(guards)
        self.guards = self._operation[self.read_by_guards[0]]
        self.outcomes = np.array(outcomes)
        self.is_known = bool(np.isin(kinds, _KNOWN).all() and (self.guards >= 0).all())

    def __len__(self) -> int:
        return len(self.records)

    def _places(self, ids: Any) -> Ints:
        """The records of numbers, where they are in these, and what they are in any recording.

        That is an operation, an input (below -1) or a constant, and which of its numbers, in one.
        """
        ids = np.asarray(ids, np.int64)
        source = np.searchsorted(self.first, ids, "right") - 1
        offset = ids - self.first[source]
        kinds = self.kinds[source]
        is_constant = (kinds == _CONSTANT) | (kinds == _CONSTANTS)
        of = np.where(kinds == _INPUT, -1 - source, self._operation[source])
        bits = (self._hashes[source] * 31 + offset) & -_OF_CONSTANTS - 1
        return np.stack([source, offset, np.where(is_constant, 2 * _OF_CONSTANTS - bits, (of << 32) + offset)])

    def numbers(self, record: int, low: int, size: int) -> list[int]:
        first = int(self.first[record]) + low
        return [*range(first, first + size)]

    def values(self, record: int, low: int, size: int) -> list[float]:
        """Those of constants."""
        given = binding.given_graph(self.graph, self.numbers(record, low, size))
        values: list[float] = met(
            given.code_of("value").evaluate(np.zeros(given.n_inputs))
        ).tolist()
        return values

    @functools.cached_property
    def kinds_of_guards(self) -> list[int]:
        """Numbers of comparisons: those with equal ones may be the same of f."""
        kinds = []
        for guard in self.guards:
            part = self.operands[2, slice(*self.begins[guard : guard + 2])].tolist()
            read = [int(self.hashes[one >> 32]) if one >= 0 else one for one in part]
            kinds.append(hash((int(self.hashes[guard]), *read)))
        return kinds

    def segments(
        self, cuts: Sequence[int], n_peeled: int = 0, least: int = 0
    ) -> list[_Segment]:
        """The parts that end with comparisons of some kinds; these have to be in order."""
        at = np.flatnonzero(np.isin(self.kinds_of_guards, cuts))[n_peeled:]
        ends = self.guards[at] + 1
        if len(at) <= least or (np.diff(ends) <= 0).any():
            raise _UnlikeError
        operations = [0, *ends.tolist(), len(self)]
        guards = [0, *(at + 1).tolist(), len(self.guards)]
        return [*map(_Segment, operations, operations[1:], guards, guards[1:])]

    def read_by(self, segment: _Segment, is_last: bool) -> tuple[Ints, Any]:
        """What operations read, and guards, and for the last segment results; and all but that."""
        begin, end, first, last = segment
        parts = [
            self.operands[:, int(self.begins[begin]) : int(self.begins[end])],
            self.read_by_guards[:, first:last],
        ]
        read = np.concatenate([*parts, self.ends] if is_last else parts, axis=1)
        rest = (
            self.hashes[begin:end],
            np.diff(self.begins[begin : end + 1]),
            self.guards[first:last] - begin,
            self.outcomes[first : last if is_last else last - 1],
            np.maximum(read[2] - (begin << 32), -1),  # what it has computed itself
        )
        return read, tuple(part.tobytes() for part in rest)

    def blocks(
        self, segment: _Segment, is_last: bool, read: Ints
    ) -> list[tuple[tuple[Any, ...], Ints]]:
        """Parts of a segment between comparisons: what they do, and which they read from outside."""
        begin, end, first, last = segment
        lows = np.clip(self.guards[first:last] + 1, begin, end)
        lows = [begin, *np.maximum.accumulate(lows).tolist(), end]
        if not is_last:
            lows[-2:] = [end]
        own = np.maximum(read[2] - (begin << 32), -1)
        n = int(self.begins[end] - self.begins[begin])
        found = []
        for k, (low, high) in enumerate(itertools.pairwise(lows)):
            behind = np.arange(n + last - first, len(own)) if k == last - first else [n + k]
            at = self.begins[[low, high]] - self.begins[begin]
            where = np.concatenate([np.arange(*at), behind])
            what = self.hashes[low:high], np.diff(self.begins[low : high + 1]), own[where]
            found.append((tuple(part.tobytes() for part in what), where[own[where] < 0]))
        return found


def _cuts_of(listing: _Listing) -> tuple[int, ...]:
    """The comparisons behind which a recording is cut, so that least differs; none if all does."""
    read = listing.operands[2] >> 32
    owner = np.repeat(np.arange(len(listing)), np.diff(listing.begins))
    distance = np.where(read >= 0, owner - read, -1)

    def length(cuts: tuple[int, ...]) -> float:
        try:
            segments = listing.segments(cuts, 0, LEAST_TURNS)
        except _UnlikeError:
            return float("inf")
        found: dict[Any, int] = {}
        for begin, end, first, last in segments:
            far = distance[listing.begins[begin] : listing.begins[end]]
            key = listing.hashes[begin:end].tobytes(), listing.outcomes[first : last - 1].tobytes()
            found[(*key, np.where(far <= 3, far, -1).tobytes())] = end - begin + 1
        outcomes = [listing.outcomes[one.cut] for one in segments[:-1]]
        changes = sum(a != b for a, b in itertools.pairwise(outcomes))
        return sum(found.values()) + len(segments) + 2 * changes

    counts = Counter(listing.kinds_of_guards).most_common(MOST_TRIED)
    tried = [kind for kind, n in counts if n > LEAST_TURNS]
    best, cuts = len(listing) + 1.0, ()
    while tried and len(cuts) < MOST_CUTS:
        least, kind = min((length((*cuts, kind)), kind) for kind in tried)
        if least >= best:
            break
        best, cuts = least, (*cuts, kind)
        tried.remove(kind)
    return cuts


# --- what recordings of one loop have in common --------------------------------------------------


class _Instance(NamedTuple):
    """A turn, or what comes behind the turns, in a recording."""

    listing: _Listing
    segment: _Segment
    readers: list[Reader]
    read: Ints  # the records of what they read, where in these, and what that is


class _Loop:
    """What is known of a loop: which turns there are, and what becomes of what they read."""

    def __init__(
        self, listing: _Listing, cuts: tuple[int, ...], n_peeled: int, by_turns: bool
    ) -> None:
        self._cuts, self._n_peeled = cuts, n_peeled
        # What comes next depends on the outcome of a cut, and on which cut or turn that was of.
        self._by_turns = by_turns
        self._contents: dict[Any, int] = {}
        self._around: Any = None
        self._nodes: dict[Any, tuple[Any, int]] = {}  # blocks, by those before and outcomes
        self._readers: dict[tuple[int, int], Reader] = {}
        self._constant: dict[Reader, bool] = {}  # whether nothing but constants was read
        self._series: dict[tuple[Reader, int], int] = {}  # which, by turns
        self._unsteady: set[Reader] = set()  # which differ at the same turn
        self._walks: dict[Any, tuple[int, int, list[Reader], Ints]] = {}  # of segments
        self.fixed: dict[int, dict[int, list[Reader]]] = {}  # what turns read that never changes
        self._traced: set[Any] = set()
        self._doubts: set[Any] = set()
        self.turns: dict[int, int] = {}  # by their last blocks
        self.starts: dict[int, tuple[int, float]] = {}  # marks before turns, and outcomes
        self.marks: dict[int, int] = {}  # that turns leave
        self.rules: dict[tuple[Reader, int], frozenset[Option]] = {}  # of readers, at turns
        self.initial: dict[Reader, int] = {}
        self.first: dict[Reader, int] = {}  # what was read first
        self.changing: set[Reader] = set()  # of which that was not always read
        self.where: dict[int, tuple[_Listing, int, int]] = {}  # what is initial
        self.varying: frozenset[Reader] = frozenset()  # of another constant in each turn
        self.instances: dict[int, list[_Instance]] = {}
        self.ways = _Ways()
        self.take(listing)

    def taken(self, listing: _Listing) -> _Loop | None:
        """What is known with another recording; None if that is of no such loop."""
        loop = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | set):
                setattr(loop, name, value.copy())
        try:
            loop.take(listing)
        except _UnlikeError:
            return None
        return loop

    def take(self, listing: _Listing) -> None:
        least = LEAST_TURNS if self._around is None else 0
        segments = listing.segments(self._cuts, self._n_peeled, least)
        entry, *turns, last = segments
        around = [
            listing.returned,
            listing.sizes[listing.kinds == _INPUT].tolist(),
            [part.tobytes() for part in listing.read_by(entry, False)[0]],
            listing.read_by(entry, False)[1],
            float(listing.outcomes[entry.cut]),
            listing.outcomes[last.first :].tolist(),
        ]
        found: list[tuple[int, _Instance]] = []
        mark = self.mark(listing, entry, ())
        for before, segment in itertools.pairwise(segments):
            start = mark, float(listing.outcomes[before.cut])
            number, instance, mark = self._walked(listing, start, segment, segment is last)
            found.append((number, instance))
        around.append(self.starts[_END])
        if self._around is None:
            self._around = around
        if self._around != around:
            raise _UnlikeError
        for number, instance in found:
            self.instances[number] = [*self.instances.get(number, [])[-3:], instance]
        self._trace(listing, found)
        if any(one in self._unsteady or not self._constant[one] for one in self.varying):
            raise _UnlikeError
        self.ways = self.ways.with_one([number for number, _ in found[:-1]])

    def mark(self, listing: _Listing, segment: _Segment, contents: tuple[Any, ...]) -> int:
        """What a segment leaves for the one behind it, beside the outcome of its cut."""
        if not self._by_turns:
            return self._cuts.index(listing.kinds_of_guards[segment.cut])
        return self._contents.setdefault(contents, len(self._contents))

    def _walked(
        self, listing: _Listing, start: tuple[int, float], segment: _Segment, is_last: bool
    ) -> tuple[int, _Instance, int]:
        """Which turn a segment is, and what it leaves."""
        read, key = listing.read_by(segment, is_last)
        cut = None if is_last else listing.kinds_of_guards[segment.cut]
        known = self._walks.get((start, cut, key))
        if known is None:
            known = self._walk(listing, start, segment, cut, read)
            self._walks[start, cut, key] = known
        number, mark, readers, where = known
        return number, _Instance(listing, segment, readers, read[:, where]), mark

    def _walk(
        self, listing: _Listing, start: Any, segment: _Segment, cut: int | None, read: Ints
    ) -> tuple[int, int, list[Reader], Ints]:
        (mark, outcome), contents, readers = start, [], []
        node, where = -1 - mark, []
        blocks = listing.blocks(segment, cut is None, read)
        for k, (what, outside) in enumerate(blocks):
            if k > 0:
                outcome = float(listing.outcomes[segment.first + k - 1])
            content = (*what, cut if k == len(blocks) - 1 else 0)
            contents.append(content)
            former = self._nodes.setdefault((node, outcome), (content, len(self._nodes)))
            if former[0] != content:
                raise _UnlikeError  # f has chosen by what it does not show
            node = former[1]
            where.append(outside)
            for i in range(len(outside)):
                readers.append(self._readers.setdefault((node, i), len(self._readers)))
        number = _END if cut is None else self.turns.setdefault(node, len(self.turns))
        if len(self.turns) > MOST_TURNS:
            raise _UnlikeError
        self.starts[number] = start
        if cut is not None:
            inner = listing.outcomes[segment.first : segment.cut].tolist()
            self.marks[number] = self.mark(listing, segment, (*contents, *inner))
        return number, self.marks.get(number, 0), readers, np.concatenate(where)

    def _note(self, listing: _Listing, found: list[tuple[int, _Instance]]) -> list[dict[int, Any]]:
        """Note which readers read changing numbers; answers what these read in each turn."""
        at: list[dict[int, Any]] = [{} for _ in found]
        low = found[0][1].segment.begin << 32
        by_number: dict[int, list[int]] = {}
        for t, (number, _) in enumerate(found):
            by_number.setdefault(number, []).append(t)
        for number, turns in by_number.items():
            readers = found[turns[0]][1].readers
            read = np.stack([found[t][1].read for t in turns])
            what, is_constant = read[:, 2], (read[:, 2] < _OF_CONSTANTS).all(axis=0)
            first = [self.first.setdefault(*pair) for pair in zip(readers, what[0].tolist(), strict=True)]
            changes = (what != np.array(first, np.int64)).any(axis=0) | (what >= low).any(axis=0)
            groups: dict[bytes, list[int]] = {}
            for k, reader in enumerate(readers):
                self._constant[reader] = self._constant.get(reader, True) and bool(is_constant[k])
                tells = changes[k] or number == _END
                places = np.flatnonzero(what[:, k] < low) if tells else [0]
                is_new = changes[k] and reader not in self.changing
                if is_new:
                    self.changing.add(reader)
                if changes[k] or reader in self.changing:
                    groups.setdefault(what[:, k].tobytes(), []).append(k)
                for i in places:
                    source, offset, one = read[i, :, k].tolist()
                    self.where.setdefault(one, (listing, source, offset))
                    if one < _OF_CONSTANTS and self._series.setdefault((reader, turns[i]), one) != one:
                        self._unsteady.add(reader)
                if is_new and first[k] in self.where:
                    self.initial[reader] = first[k]
            fixed: dict[int, list[Reader]] = {}
            for k, reader in enumerate(readers):
                if reader not in self.changing:
                    fixed.setdefault(first[k], []).append(reader)
            self.fixed[number] = fixed
            for columns in groups.values():
                for t, one in zip(turns, what[:, columns[0]].tolist(), strict=True):
                    at[t].setdefault(one, []).extend(readers[k] for k in columns)
        return at

    def _trace(self, listing: _Listing, found: list[tuple[int, _Instance]]) -> None:
        """Learn from where turns have what they read."""
        begins = np.array([one.segment.begin for _, one in found])
        at = self._note(listing, found)
        numbers = [number for number, _ in found]
        owner = np.searchsorted(begins, np.arange(len(listing)), "right") - 1

        def reading(t: int, what: int) -> list[Reader]:
            return [*at[t].get(what, ()), *self.fixed[numbers[t]].get(what, ())]

        for t, groups in enumerate(at):
            for what, readers in groups.items():
                written = int(owner[what >> 32]) if what >= 0 else -1
                u, passed = t - 1, set[int]()
                while u > written and not (others := reading(u, what)):
                    passed.add(numbers[u])
                    u -= 1
                last = (_END, frozenset[Option]())
                if written >= 0:
                    last = numbers[written], self._wrote(listing, begins, written, what)
                options = last[1]
                if u > written:
                    options = frozenset(("kept", reader) for reader in others)
                before = frozenset(numbers[written + 1 : u])
                key = last, tuple(readers), frozenset(passed), numbers[u] if u >= 0 else what, options
                if (*key, before) in self._traced:
                    continue
                self._traced.add((*key, before))
                for reader in readers:
                    itself = frozenset([("kept", reader)])
                    for number in passed:
                        self._narrow(reader, number, itself)
                    if u > written:
                        # What was read, and is the same afterwards, was kept.
                        is_read = reader in found[u][1].readers
                        kept = itself if itself < options else options
                        self._narrow(reader, numbers[u], kept if is_read else options | itself)
                        if not is_read:
                            self._doubts.add((reader, numbers[u], before, last, what))
                    elif u >= 0:
                        self._narrow(reader, numbers[u], options)
                    elif self.initial.setdefault(reader, what) != what:
                        self._note_varying(reader)
        self._settle()

    @staticmethod
    def _wrote(listing: _Listing, begins: Ints, t: int, what: int) -> frozenset[Option]:
        """That a turn computes a number, as an option; nothing if none does."""
        if t < 0:
            return frozenset()
        operation = what >> 32
        size = int(listing.sizes[listing.records[operation]])
        return frozenset([("wrote", operation - int(begins[t]), what & 0xFFFFFFFF, size)])

    def _settle(self) -> None:
        """What a turn read may have been kept for a later one, or handed on to it.

        It was not kept if it was not there before.
        """
        is_settled = False
        while not is_settled:
            is_settled = True
            for doubt in [*self._doubts]:
                reader, number, before, (last, wrote), what = doubt
                itself = frozenset([("kept", reader)])
                rule = self.rules[reader, number]
                if not itself < rule:
                    self._doubts.discard(doubt)
                    continue
                if any(self.rules.get((reader, one)) != itself for one in before):
                    continue
                if last == _END:
                    is_there = self.initial.get(reader, what) == what
                else:
                    is_there = bool(wrote & self.rules.get((reader, last), wrote))
                if not is_there:
                    self.rules[reader, number] = rule - itself
                    is_settled = False

    def _narrow(self, reader: Reader, number: int, options: frozenset[Option]) -> None:
        left = self.rules.get((reader, number), options) & options
        if left:
            self.rules[reader, number] = left
        else:
            self._note_varying(reader)

    def _note_varying(self, reader: Reader) -> None:
        if not self._constant[reader]:
            raise _UnlikeError
        self.varying |= {reader}

    def constants(self, reader: Reader, turns: Iterable[int]) -> list[float]:
        """Those that a reader has in some turns; nan where that is not known."""
        found = []
        for t in turns:
            what = self._series.get((reader, t))
            place = None if what is None else self.where[what]
            found.append(np.nan if place is None else place[0].values(*place[1:], 1)[0])
        return found

    def column(self, reader: Reader) -> tuple[float, ...]:
        """The constants that a reader has in all turns, as far as they are known, or counted."""
        n = self.ways.most
        values = np.array(self.constants(reader, range(n)))
        known = np.flatnonzero(~np.isnan(values))
        if len(known) < n and len(known) > 1:
            step = (values[known[1]] - values[known[0]]) / (known[1] - known[0])
            even = values[known[0]] + step * (np.arange(n) - known[0])
            if step == np.rint(step) and np.array_equal(even[known], values[known]):
                values = even
        return tuple(values.tolist())


# --- a program of them ---------------------------------------------------------------------------


class _Slots:
    """Where what is read stands: with what turns share, in the state, or in rows of constants.

    The state has a flag, the outcome of the last cut, and which cut that was before the slots; and
    behind them flags of those that no recording tells of behind some turns.
    """

    def __init__(self, loop: _Loop) -> None:
        self._loop = loop
        readers = [one for one in loop._constant if one not in loop.varying]
        self._turns = [number for number in loop.instances if number != _END]
        self._shape(readers)
        self._divide(readers)
        members = {kind: one for one, kind in self.kinds.items()}
        # Those come first of which most is known.
        order = sorted(
            members, key=lambda kind: -self._n_known(members[kind])
        )
        members = {kind: members[kind] for kind in order}
        self.shared: dict[int, int] = {}
        self.literal: set[int] = set()
        self.state: dict[int, int] = {}
        self.slots: list[int] = []  # kinds that have a slot of their own
        self.flags: dict[int, int] = {}
        n_shared, n_state = 0, 3
        for kind, one in members.items():
            size = self.shapes[one][1]
            if one not in loop.changing and loop.first[one] < _OF_CONSTANTS:
                self.literal.add(kind)
            elif one not in loop.changing:
                self.shared[kind] = n_shared
                n_shared += size
            elif (other := self._like(one, members)) is not None:
                self.state[kind] = self.state[other]
            else:
                self.state[kind] = n_state
                self.slots.append(kind)
                n_state += size
        self._decide(members)
        for kind in self._uncertain(members):
            self.flags[kind] = n_state
            n_state += 1
        self.members = members
        of_turns = {
            one for number in self._turns for one in loop.instances[number][-1].readers
        }
        numbers: dict[Any, int] = {}
        self.columns: dict[Reader, int] = {
            one: numbers.setdefault(loop.column(one), len(numbers))
            for one in sorted(loop.varying & of_turns)
        }
        self.behind: dict[Reader, int] = {}  # of other constants behind each number of turns
        for one in sorted(loop.varying & {*loop.instances[_END][-1].readers}):
            self.behind[one] = n_state
            n_state += 1
        self.sizes = n_shared, n_state, len(numbers)

    def _n_known(self, one: Reader) -> int:
        rules = self.rules.get(one, {}).values()
        return sum(rule is not None for rule in rules) + (one in self._loop.initial)

    def _like(self, one: Reader, members: dict[int, Reader]) -> int | None:
        """A kind with a slot that has the numbers of another one wherever these are known."""
        initial = self._loop.initial
        for kind in self.slots:
            other = members[kind]
            if self.shapes[other] != self.shapes[one]:
                continue
            if one in initial and initial.get(other) != initial[one]:
                continue
            mine, others = self.rules[one], self.rules[other]
            pair = {(self.kinds[one], kind)}
            if all(
                rule is None or self._is_like(rule, others.get(k), pair) for k, rule in mine.items()
            ):
                return kind
        return None

    def _decide(self, members: dict[int, Reader]) -> None:
        """Where a slot was kept, or handed on from another one, both may be the same slot."""
        for (reader, number), options in self._loop.rules.items():
            kind = self.kinds.get(reader)
            if kind not in self.state or members[kind] != reader:
                continue
            if self.rules[reader][number] is None and ("kept", reader) in options:
                places = {self.state.get(self.kinds.get(one[1], -1)) for one in options}
                if len(places) == 1:
                    self.rules[reader][number] = "kept", kind

    def _is_like(self, rule: Any, other: Any, alike: set[tuple[int, int]]) -> bool:
        if other is None or "wrote" in (rule[0], other[0]):
            return bool(rule == other)
        at = self.state.get(rule[1])
        is_same_slot = at is not None and at == self.state.get(other[1])
        return rule == other or is_same_slot or (rule[1], other[1]) in alike

    def _shape(self, readers: list[Reader]) -> None:
        """Find which part of what block is read: where it begins, and the size of the block."""
        loop = self._loop
        self.shapes: dict[Reader, tuple[int, int]] = {}
        kept: list[tuple[Reader, frozenset[Option]]] = []
        for (reader, _), options in loop.rules.items():
            for option in options:
                if option[0] == "wrote":
                    if self.shapes.setdefault(reader, option[2:]) != option[2:]:
                        raise _UnlikeError
            kept.append((reader, options))
        while True:
            n = len(self.shapes)
            for reader, options in kept:
                found = {
                    self.shapes[one[1]]
                    for one in options
                    if one[0] == "kept" and one[1] in self.shapes
                }
                if len(found) == 1:
                    self.shapes.setdefault(reader, *found)
            if len(self.shapes) == n:
                break
        for reader in readers:
            if reader not in self.shapes:
                listing, record, low = loop.where[loop.first[reader]]
                self.shapes[reader] = low, int(listing.sizes[record])

    def _divide(self, readers: list[Reader]) -> None:
        """Find what cannot be told apart: numbers of such kinds."""
        rules: dict[Reader, list[tuple[int, frozenset[Option]]]] = {one: [] for one in readers}
        for (reader, number), options in sorted(self._loop.rules.items()):
            if reader in rules:
                rules[reader].append((number, options))
        keys: dict[Reader, Any] = {}
        for one in readers:
            low, size = self.shapes[one]
            changes = one in self._loop.changing
            initial = (self._loop.initial if changes else self._loop.first).get(one)
            keys[one] = changes, size, None if initial is None else self._moved(initial, -low)
        n = 0
        while True:
            numbers: dict[Any, int] = {}
            self.kinds = {one: numbers.setdefault(keys[one], len(numbers)) for one in readers}
            self.rules = {
                one: {number: self._rule(options) for number, options in rules[one]}
                for one in readers
                if one in self._loop.changing
            }
            if len(numbers) == n:
                return
            n = len(numbers)
            keys = {
                one: (self.kinds[one], tuple(self.rules.get(one, {}).items())) for one in readers
            }

    @staticmethod
    def _moved(what: int, by: int) -> int:
        """What stands so far behind."""
        return what - by if what < _OF_CONSTANTS else what + by

    def _rule(self, options: frozenset[Option]) -> Any:
        """What becomes of a slot: ("wrote", an operation), ("kept", a kind); None if not known."""
        found = {
            ("kept", self.kinds.get(one[1], -1)) if one[0] == "kept" else one[:2]
            for one in options
        }
        return found.pop() if len(found) == 1 else None

    def _uncertain(self, members: dict[int, Reader]) -> list[int]:
        """Kinds in the state of which recordings do not tell everything."""
        found: set[int] = set()
        while True:
            more = {
                kind
                for kind in self.state
                if members[kind] not in self._loop.initial
                or any(
                    (rule := self.rules[members[kind]].get(number)) is None
                    or (rule[0] == "kept" and rule[1] in found)
                    for number in self._turns
                )
            }
            if more == found:
                return sorted(found)
            found = more

    def known(self, instance: _Instance, is_last: bool) -> dict[int, int] | None:
        """The records that an instance reads, and where they stand; None if that is not clear.

        With the kinds of slots, and of what is shared.
        """
        listing, _, readers, read = instance
        p, n, _ = self.sizes
        targets: dict[int, int | None] = {}
        for reader, (record, offset) in zip(readers, read[:2].T.tolist(), strict=True):
            low, kind = 0, self.kinds.get(reader)
            if kind is None:
                at = self.behind if is_last else self.columns
                place: int | None = at[reader] + (0 if is_last else p + n)
            elif kind in self.literal:
                place = None
            else:
                low, size = self.shapes[reader]
                if offset != low or listing.sizes[record] != size:
                    return None
                if kind in self.shared:
                    place = -1 - kind if is_last else self.shared[kind]
                else:
                    place = self.state[kind] + (0 if is_last else p)
                    if is_last and listing.kinds[record] == _INPUT:
                        return None
            is_constant = listing.kinds[record] in (_CONSTANT, _CONSTANTS)
            if kind is not None and place is not None and is_constant:
                return None
            if targets.setdefault(record, place) != place:
                return None
        return {record: place for record, place in targets.items() if place is not None}

    def turn(self, number: int, instance: _Instance) -> Graph | None:
        """The graph of a turn."""
        listing, segment, readers, _ = instance
        p, n, m = self.sizes
        known = self.known(instance, False)
        if known is None:
            return None
        pairs, inputs = [], []
        for record, place in known.items():
            if listing.kinds[record] == _INPUT:
                block = listing.numbers(record, 0, int(listing.sizes[record]))
                inputs += [(one, place + k) for k, one in enumerate(block)]
            else:
                pairs.append((int(listing.first[record]), place))
        cut = listing.numbers(*_of_guard(listing, segment.cut), 1)[0]
        ends: list[Any] = [-1 - p, cut, float(self._loop.marks[number])]
        flags: dict[int, Any] = {}
        for kind in self.state:
            one = self.members[kind]
            size, rule = self.shapes[one][1], self.rules[one].get(number)
            flag = 1.0
            numbers: list[Any] = [0.0] * size
            if rule is None:
                flag = 0.0
            elif rule[0] == "wrote":
                record = int(listing.records[segment.begin + rule[1]])
                numbers = listing.numbers(record, 0, size)
            else:
                numbers = self._handed_on(rule[1], size)
                if rule[1] in self.flags:
                    flag = -1 - p - self.flags[rule[1]]
            if kind in self.slots:
                ends += numbers
            flags[kind] = flag
        start, outcome = self._loop.starts[number]
        guards: list[tuple[Any, float]] = [(-1 - p - 1, outcome), (-1 - p - 2, float(start))]
        guards += [(-1 - p - at, 1.0) for at in self.flags_of(readers)]
        guards += [
            (listing.numbers(*_of_guard(listing, guard), 1)[0], float(listing.outcomes[guard]))
            for guard in range(segment.first, segment.cut)
        ]
        ends += [flags[kind] for kind in self.flags]
        ends += [*(-1 - p - at for at in self.behind.values()), 1.0]
        return binding.turn_graph(listing.graph, p + n + m, pairs, inputs, ends, guards)

    def _handed_on(self, kind: int, size: int) -> list[Any]:
        p = self.sizes[0]
        one = self.members.get(kind, -1)
        if one < 0 or self.shapes[one][1] != size:
            raise _UnlikeError
        if kind in self.literal:
            there, record, offset = self._loop.where[self._loop.first[one]]
            return there.values(record, offset - self.shapes[one][0], size)
        at = p + self.state[kind] if kind in self.state else self.shared[kind]
        return [-1 - at - k for k in range(size)]

    def flags_of(self, readers: list[Reader]) -> list[int]:
        kinds = {self.kinds.get(reader, -1) for reader in readers}
        return sorted(self.flags[kind] for kind in kinds if kind in self.flags)

    def given(self, listing: _Listing, entry: _Segment) -> list[Any]:
        """Shared numbers, and the first state: numbers of a recording, and constants."""
        outcome = float(listing.outcomes[entry.cut])
        found: list[Any] = []
        for kind in self.shared:
            found += self._initial(listing, self.members[kind])
        found += [0.0, outcome, float(self._loop.mark(listing, entry, ()))]
        for kind in self.slots:
            one = self.members[kind]
            is_there = one in self._loop.initial
            found += self._initial(listing, one) if is_there else [0.0] * self.shapes[one][1]
        found += [float(self.members[kind] in self._loop.initial) for kind in self.flags]
        return found + [0.0] * len(self.behind)

    def _initial(self, listing: _Listing, reader: Reader) -> list[Any]:
        what = (self._loop.initial if reader in self._loop.changing else self._loop.first)[reader]
        low, size = self.shapes[reader]
        there, record, offset = self._loop.where[what]
        if offset < low or offset - low + size > there.sizes[record]:
            raise _UnlikeError
        if what < _OF_CONSTANTS:
            return there.values(record, offset - low, size)
        of = what >> 32
        record = int(listing.records[of]) if of >= 0 else -1 - of
        return listing.numbers(record, offset - low, size)


    def tables(self, loop: _Loop) -> tuple[FloatArray, dict[int, list[float]]]:
        """The constants of each turn, and those behind each number of turns."""
        columns = {k: loop.column(reader) for reader, k in self.columns.items()}
        if np.isnan([*columns.values()]).any() or len({*columns.values()}) < len(columns):
            raise _UnlikeError
        rows = np.array([(*columns[k], 0.0) for k in range(len(columns))]).T.copy()
        lengths = loop.ways.lengths
        behind = zip(*(loop.constants(one, lengths) for one in self.behind), strict=True)
        return rows, dict(zip(lengths, map(list, behind), strict=bool(self.behind)))

    def program(self, call: Call) -> tuple[Graph, FoundLoop, Any, int]:
        """The recording with a step in the place of the loop, and that step.

        With the code for what that is given, and how many guards are before it.
        """
        loop, (p, n, _) = self._loop, self.sizes
        if p + n > MOST_NUMBERS:
            raise _UnlikeError
        turns: dict[int, Graph] = {}
        for number in self._turns:
            made = (self.turn(number, one) for one in loop.instances[number][::-1])
            graph = next((one for one in made if one is not None), None)
            if graph is not None:
                turns[number] = graph
        behind = [(one, self.known(one, True)) for one in loop.instances[_END][::-1]]
        found = next(((one, known) for one, known in behind if known is not None), None)
        if not turns or found is None:
            raise _UnlikeError
        (listing, segment, readers, _), known = found
        entry = listing.segments(loop._cuts, loop._n_peeled)[0]
        step = FoundLoop(turns, self.sizes, loop.ways)
        step.rows, step.behind = self.tables(loop)
        step.at_behind = [*self.behind.values()]
        whole = listing.graph
        given = self.given(listing, entry)
        code = binding.given_graph(whole, given).code_of("value")
        x = met(code.evaluate(call.vector()))
        value = step.value(x)
        if value[0] != 1.0 or not np.isfinite(value).all():
            raise _UnlikeError
        rule = keep.rule(keep, [None], {"loop": step}, [0], False)
        rule.note_point([x], [value], [False])
        guards = [
            (listing.numbers(*_of_guard(listing, k), 1)[0], float(listing.outcomes[k]), equality)
            for k, equality in enumerate(whole.guards)
        ]
        start, outcome = loop.starts[_END]
        checks: list[Any] = [(-1, 1.0, False), (-2, outcome, False), (-3, float(start), False)]
        checks += [(-1 - at, 1.0, False) for at in self.flags_of(readers)]
        pairs = [
            (int(listing.first[record]), place)
            for record, place in known.items()
            if place >= 0
        ]
        outputs = [listing.numbers(*place, 1)[0] for place in listing.ends[:2].T.tolist()]
        return (
            binding.graph_around(
                *(whole, guards[: entry.last], given, rule, (x, value), pairs, outputs),
                [*checks, *guards[segment.first :]],
            ),
            step,
            code,
            entry.last,
        )


def _of_guard(listing: _Listing, guard: int) -> tuple[int, int]:
    return int(listing.read_by_guards[0, guard]), int(listing.read_by_guards[1, guard])


class _Found:
    """A loop, with its program.

    There is one if f was recorded with two numbers of turns at least.
    """

    def __init__(self, loop: _Loop, watch: Watch) -> None:
        self._loop, self.watch = loop, watch
        self._slots: _Slots | None = None
        self._step: FoundLoop | None = None
        self._given: Any = None  # the code for what it is given
        self._made_of: Any = None
        self.recorded: Recorded | None = None

    @property
    def is_current(self) -> bool:
        return self.watch.holds()

    def take(self, listing: _Listing, output: Returned, call: Call, shapes: Sequence[Any]) -> bool:
        """Note another recording; answers whether it is of the loop."""
        loop = self._loop.taken(listing)
        if loop is None:
            return False
        self._loop = loop
        if loop.ways.are_several:
            known = loop.rules, loop.varying, loop.initial, loop.turns, loop.changing
            with contextlib.suppress(_UnlikeError):
                if known != self._made_of:
                    self._make(output, call, shapes)
                    self._made_of = known
                elif self._slots is not None and self._step is not None:
                    self._step.rows, self._step.behind = self._slots.tables(loop)
                    self._step.ways = loop.ways
        return True

    def _make(self, output: Returned, call: Call, shapes: Sequence[Any]) -> None:
        slots = _Slots(self._loop)
        graph, step, given, n_before = slots.program(call)
        self._slots, self._step, self._given = slots, step, given
        self.recorded = Recorded(graph, output, call.ranges, shapes, (), self.watch)
        # Which way f goes behind the first turn, its outcomes do not tell.
        outcomes = self._loop.instances[_END][-1].listing.outcomes[:n_before]
        self.recorded.outcomes = np.append(outcomes, np.nan).tobytes()

    def serves(self, call: Call) -> bool:
        """Whether there is a program that serves a call of this loop."""
        if self.recorded is None or self._step is None:
            return False
        return bool(self._step.value(met(self._given.evaluate(call.vector())))[0] == 1.0)


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
        return self._n_failed < (MOST_FAILED if self._is_hopeful else MOST_HOPELESS)

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
        graph = binding.graph_of(recording, output.atoms, True, binding.NO_LOOPS, True)
        if graph.n_recorded > MOST_OPERATIONS:
            return None
        bare = copy.copy(output)
        bare.atoms = []
        try:
            listing = _Listing(graph, pickle.dumps(bare))
        except (AttributeError, TypeError, pickle.PicklingError):
            return None
        if not listing.is_known:
            return None
        self._found = [one for one in self._found if one.is_current]
        for one in self._found:
            reads_more = not {*watch.paths} <= {*one.watch.paths}  # as turns of their own may
            if not reads_more and one.take(listing, bare, call, shapes):
                if not one.serves(call):
                    return None
                self._n_failed = 0
                return one.recorded
        loop = _loop_of(listing) if len(self._found) < MOST_FOUND else None
        if loop is not None:
            self._is_hopeful = True
            self._found.append(_Found(loop, watch))
        return None


def _loop_of(listing: _Listing) -> _Loop | None:
    """The loop of a recording, if there is one."""
    cuts = _cuts_of(listing)
    at = [kind for kind in listing.kinds_of_guards if kind in cuts]
    peeled = {k for cut in cuts for k in (at.index(cut), at.index(cut) + 1)}
    best: _Loop | None = None
    for n_peeled in sorted({*range(MOST_PEELED + 1), *peeled}) if cuts else ():
        for by_turns in (False, True):
            with contextlib.suppress(_UnlikeError):
                loop = _Loop(listing, cuts, n_peeled, by_turns)
                if best is None or len(loop.turns) < len(best.turns):
                    best = loop
                break
    return best
