"""Recordings as lists of operations, cut where the same may come again.

What an operation is, and what it reads, is told in one way for all recordings, to compare these.
Loops are not known here.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding
from ..binding import Graph
from .recorded import met

LEAST_TURNS = 2  # behind the first cut, in which a loop is found
MOST_CUTS = 3  # comparisons at which turns end
MOST_TRIED = 8  # of which these are chosen
OF_CONSTANTS = -(1 << 60)  # numbers of what is read: constants are below

CONSTANT, _SINGLE, INPUT, CONSTANTS, _PACK, _MAP, _TAKE, _CALL = binding.record_kinds()
_MADE = (_SINGLE, _PACK, _MAP, _TAKE, _CALL)
_KNOWN = (0, CONSTANT, INPUT, CONSTANTS, *_MADE)

Ints = NDArray[np.int64]

_forms: dict[Any, int] = {}  # of calls: those that do the same have one number


class UnlikeError(Exception):
    """A recording that is not of a loop."""


class Segment(NamedTuple):
    """A part of a recording, up to the comparison behind which it is cut."""

    begin: int  # operations
    end: int
    first: int  # guards
    last: int  # the one behind

    @property
    def cut(self) -> int:
        """The comparison that it ends with."""
        return self.last - 1


class Listing:
    """A recording, operation by operation: what each is, and what it reads."""

    def __init__(self, graph: Graph, returned: bytes, standings: list[int] | None) -> None:
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
        is_told = standings is not None and len(standings) == len(guards)
        self.standings = standings if is_told else None  # of f at guards
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
        is_constant = (kinds == CONSTANT) | (kinds == CONSTANTS)
        of = np.where(kinds == INPUT, -1 - source, self._operation[source])
        bits = (self._hashes[source] * 31 + offset) & -OF_CONSTANTS - 1
        return np.stack(
            [source, offset, np.where(is_constant, 2 * OF_CONSTANTS - bits, (of << 32) + offset)]
        )

    def work(self, begin: int, end: int) -> float:
        """How many single numbers take as long in Python as these operations."""
        is_single = self.kinds[self.records[begin:end]] == _SINGLE
        return float(np.where(is_single, 1, 16).sum())

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

    def segments(self, cuts: Sequence[int], n_peeled: int = 0, least: int = 0) -> list[Segment]:
        """The parts that end with comparisons of some kinds; these have to be in order."""
        at = np.flatnonzero(np.isin(self.kinds_of_guards, cuts))[n_peeled:]
        ends = self.guards[at] + 1
        if len(at) <= least or (np.diff(ends) <= 0).any():
            raise UnlikeError
        operations = [0, *ends.tolist(), len(self)]
        guards = [0, *(at + 1).tolist(), len(self.guards)]
        return [*map(Segment, operations, operations[1:], guards, guards[1:])]

    def read_by(self, segment: Segment, is_last: bool) -> tuple[Ints, Any]:
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
        self, segment: Segment, is_last: bool, read: Ints
    ) -> list[tuple[tuple[Any, ...], Ints]]:
        """Parts of a segment between comparisons: what they do, and read from outside of it."""
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


def cuts_of(listing: Listing) -> tuple[int, ...]:
    """The comparisons behind which a recording is cut, so that least differs; none if all does."""
    read = listing.operands[2] >> 32
    owner = np.repeat(np.arange(len(listing)), np.diff(listing.begins))
    distance = np.where(read >= 0, owner - read, -1)

    def length(cuts: tuple[int, ...]) -> float:
        try:
            segments = listing.segments(cuts, 0, LEAST_TURNS)
        except UnlikeError:
            return float("inf")
        found: dict[Any, int] = {}
        for begin, end, first, last in segments:
            far = distance[listing.begins[begin] : listing.begins[end]]
            key = (
                listing.hashes[begin:end].tobytes(),
                listing.outcomes[first : last - 1].tobytes(),
                np.where(far <= 3, far, -1).tobytes(),
            )
            found[key] = end - begin + 1
        outcomes = [listing.outcomes[one.cut] for one in segments[:-1]]
        changes = sum(a != b for a, b in itertools.pairwise(outcomes))
        return float(sum(found.values()) + len(segments) + 2 * int(changes))

    counts = Counter(listing.kinds_of_guards).most_common(MOST_TRIED)
    tried = [kind for kind, n in counts if n > LEAST_TURNS]
    best = len(listing) + 1.0
    cuts: tuple[int, ...] = ()
    while tried and len(cuts) < MOST_CUTS:
        least, kind = min((length((*cuts, kind)), kind) for kind in tried)
        if least >= best:
            break
        best, cuts = least, (*cuts, kind)
        tried.remove(kind)
    return cuts
