"""The turns of one loop, as its recordings show them, and the sources of the numbers they read.

Turns of equal operations are one. A place of f that reads a number is a *reader*. A number that
changes from turn to turn stands in a slot. A turn writes one of its numbers to the slot, or keeps
the number of a reader: each is an option, until a recording contradicts it. Graphs are not made
here.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from .found_steps import Ways
from .segments import INPUT, LEAST_TURNS, OF_CONSTANTS, Ints, Listing, Segment, UnlikeError

MOST_TURNS = 16  # that differ
END = -1  # the number of what comes behind the turns

Option = tuple[Any, ...]  # ("wrote", operation of the turn, which of its numbers, of how many)
Reader = int


class By(IntEnum):
    """What tells which turn comes next, beside the outcome of a cut: the last of these guess."""

    STANDINGS = 0  # of f at the cut
    CUTS = 1  # which cut it was
    TURNS = 2  # the turn before, too


class Instance(NamedTuple):
    """A turn, or what comes behind the turns, in a recording."""

    listing: Listing
    segment: Segment
    readers: list[Reader]
    read: Ints  # the records of what they read, where in these, and what that is


class Loop:
    """A loop as far as it is known: its turns, and the rules of the numbers that they read."""

    def __init__(self, listing: Listing, cuts: tuple[int, ...], n_peeled: int, by: By) -> None:
        self.cuts, self.n_peeled = cuts, n_peeled
        self.by = by
        self._marks: dict[Any, int] = {}
        self._around: Any = None
        self._nodes: dict[Any, tuple[Any, int]] = {}  # blocks, by those before and outcomes
        self._readers: dict[tuple[int, int], Reader] = {}
        self.constant: dict[Reader, bool] = {}  # whether nothing but constants was read
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
        self.where: dict[int, tuple[Listing, int, int]] = {}  # what is initial
        self.varying: frozenset[Reader] = frozenset()  # of another constant in each turn
        self.instances: dict[int, list[Instance]] = {}
        self.ways = Ways(by is By.STANDINGS)
        self.take(listing)

    def taken(self, listing: Listing) -> Loop | None:
        """What is known with another recording; None if that is of no such loop."""
        loop = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | set):
                setattr(loop, name, value.copy())
        try:
            loop.take(listing)
        except UnlikeError:
            return None
        return loop

    def take(self, listing: Listing) -> None:
        is_new = self._around is None
        least = LEAST_TURNS if is_new else 0
        segments = listing.segments(self.cuts, self.n_peeled, least)
        entry, last = segments[0], segments[-1]
        around = [
            listing.returned,
            listing.sizes[listing.kinds == INPUT].tolist(),
            [part.tobytes() for part in listing.read_by(entry, False)[0]],
            listing.read_by(entry, False)[1],
            float(listing.outcomes[entry.cut]),
            listing.outcomes[last.first :].tolist(),
        ]
        found: list[tuple[int, Instance]] = []
        if is_new:  # a turn that the end contradicts is found at once, not behind all turns
            before = segments[-2]
            left = self._left(listing, before) if before is not entry else ()
            start = self.mark(listing, before, left), float(listing.outcomes[before.cut])
            self._walked(listing, start, last, True)
        mark = self.mark(listing, entry, ())
        for before, segment in itertools.pairwise(segments):
            start = mark, float(listing.outcomes[before.cut])
            number, instance, mark = self._walked(listing, start, segment, segment is last)
            found.append((number, instance))
        around.append(self.starts[END])
        if is_new:
            self._around = around
        if self._around != around:
            raise UnlikeError
        for number, instance in found:
            self.instances[number] = [*self.instances.get(number, [])[-3:], instance]
        if is_new and self.by is By.STANDINGS and 2 * len(self.turns) > len(segments):
            raise UnlikeError
        self._trace(listing, found)
        is_free = self.by is By.STANDINGS  # where nothing else changes from turn to turn
        if any(is_free or one in self._unsteady or not self.constant[one] for one in self.varying):
            raise UnlikeError
        self.work = listing.work(entry.end, last.begin) / max(1, len(found) - 1)
        self.ways = self.ways.with_one([number for number, _ in found[:-1]])

    def _left(self, listing: Listing, segment: Segment) -> tuple[Any, ...]:
        """What a turn computes, and how the comparisons within it came out."""
        cut = self._cut(listing, segment)
        blocks = listing.blocks(segment, False, listing.read_by(segment, False)[0])
        contents = [(*what, 0) for what, _ in blocks]
        contents[-1] = (*contents[-1][:-1], cut)
        inner = listing.outcomes[segment.first : segment.cut].tolist()
        return (*contents, *inner)

    def mark(self, listing: Listing, segment: Segment, contents: tuple[Any, ...]) -> int:
        """What a segment leaves for the one behind it, beside the outcome of its cut."""
        left = contents if self.by is By.TURNS else self._cut(listing, segment)
        return self._marks.setdefault(left, len(self._marks))

    def _cut(self, listing: Listing, segment: Segment) -> int:
        """Where f stands at a cut; or which comparison it is, where that is not known."""
        if self.by is not By.STANDINGS:
            return listing.kinds_of_guards[segment.cut]
        if listing.standings is None:
            raise UnlikeError
        return listing.standings[segment.cut]

    def _walked(
        self, listing: Listing, start: tuple[int, float], segment: Segment, is_last: bool
    ) -> tuple[int, Instance, int]:
        """Which turn a segment is, and what it leaves."""
        read, key = listing.read_by(segment, is_last)
        cut = None if is_last else self._cut(listing, segment)
        known = self._walks.get((start, cut, key))
        if known is None:
            known = self._walk(listing, start, segment, cut, read)
            self._walks[start, cut, key] = known
        number, mark, readers, where = known
        return number, Instance(listing, segment, readers, read[:, where]), mark

    def _walk(
        self, listing: Listing, start: Any, segment: Segment, cut: int | None, read: Ints
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
                raise UnlikeError  # f has chosen by what it does not show
            node = former[1]
            where.append(outside)
            readers += [
                self._readers.setdefault((node, i), len(self._readers))
                for i in range(len(outside))
            ]
        number = END if cut is None else self.turns.setdefault(node, len(self.turns))
        if len(self.turns) > MOST_TURNS:
            raise UnlikeError
        self.starts[number] = start
        if cut is not None:
            inner = listing.outcomes[segment.first : segment.cut].tolist()
            self.marks[number] = self.mark(listing, segment, (*contents, *inner))
        return number, self.marks.get(number, 0), readers, np.concatenate(where)

    def _note(self, listing: Listing, found: list[tuple[int, Instance]]) -> list[dict[int, Any]]:
        """Note which readers read changing numbers; answers what these read in each turn."""
        at: list[dict[int, Any]] = [{} for _ in found]
        low = found[0][1].segment.begin << 32
        by_number: dict[int, list[int]] = {}
        for t, (number, _) in enumerate(found):
            by_number.setdefault(number, []).append(t)
        for number, turns in by_number.items():
            readers = found[turns[0]][1].readers
            read = np.stack([found[t][1].read for t in turns])
            what = read[:, 2]
            is_constant = [*np.all(what < OF_CONSTANTS, axis=0)]
            first = [
                self.first.setdefault(*pair)
                for pair in zip(readers, what[0].tolist(), strict=True)
            ]
            changes = ((what != np.array(first, np.int64)) | (what >= low)).any(axis=0).tolist()
            groups: dict[bytes, list[int]] = {}
            for k, reader in enumerate(readers):
                self.constant[reader] = self.constant.get(reader, True) and bool(is_constant[k])
                tells = changes[k] or number == END
                places = np.flatnonzero(what[:, k] < low) if tells else [0]
                is_new = changes[k] and reader not in self.changing
                if is_new:
                    self.changing.add(reader)
                    if self.constant[reader]:
                        self.varying |= {reader}
                if reader in self.changing and reader not in self.varying:
                    groups.setdefault(what[:, k].tobytes(), []).append(k)
                for i in places:
                    source, offset, one = read[i, :, k].tolist()
                    self.where.setdefault(one, (listing, source, offset))
                    if (
                        one < OF_CONSTANTS
                        and self._series.setdefault((reader, turns[i]), one) != one
                    ):
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

    def _trace(self, listing: Listing, found: list[tuple[int, Instance]]) -> None:
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
                last = (END, frozenset[Option]())
                if written >= 0:
                    last = numbers[written], self._wrote(listing, begins, written, what)
                options = last[1]
                if u > written:
                    options = frozenset(("kept", reader) for reader in others)
                before = frozenset(numbers[written + 1 : u])
                key = (
                    last,
                    tuple(readers),
                    frozenset(passed),
                    numbers[u] if u >= 0 else what,
                    options,
                )
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
    def _wrote(listing: Listing, begins: Ints, t: int, what: int) -> frozenset[Option]:
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
                if not itself <= rule:
                    self._doubts.discard(doubt)
                    continue
                if any(self.rules.get((reader, one)) != itself for one in before):
                    continue
                if last == END:
                    is_there = self.initial.get(reader, what) == what
                else:
                    is_there = bool(wrote & self.rules.get((reader, last), wrote))
                if not is_there:
                    self._doubts.discard(doubt)
                    self._narrow(reader, number, rule - itself)
                    is_settled = False

    def _narrow(self, reader: Reader, number: int, options: frozenset[Option]) -> None:
        left = self.rules.get((reader, number), options) & options
        if left:
            self.rules[reader, number] = left
        else:
            self._note_varying(reader)

    def _note_varying(self, reader: Reader) -> None:
        if not self.constant[reader]:
            raise UnlikeError
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
