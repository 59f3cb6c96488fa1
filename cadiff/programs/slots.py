"""A loop that recordings tell of as a program: where the numbers stand that turns read."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import binding
from ..binding import Call, Graph
from .found_steps import FoundLoop
from .found_turns import END, Instance, Loop, Option, Reader
from .loop_steps import keep
from .recorded import FloatArray, met
from .segments import CONSTANT, CONSTANTS, INPUT, OF_CONSTANTS, Listing, Segment, UnlikeError

MOST_NUMBERS = 4096  # that turns share, and hand on


class Slots:
    """Where what is read stands: with what turns share, in the state, or in rows of constants.

    The state has a flag, the outcome of the last cut, and which cut that was before the slots; and
    behind them flags of those that no recording tells of behind some turns.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        readers = [one for one in loop.constant if one not in loop.varying]
        self._turns = [number for number in loop.instances if number != END]
        self._shape(readers)
        self._divide(readers)
        members = {kind: one for one, kind in self.kinds.items()}
        # Those come first of which most is known.
        order = sorted(members, key=lambda kind: -self._n_known(members[kind]))
        members = {kind: members[kind] for kind in order}
        self.shared: dict[int, int] = {}
        self.literal: set[int] = set()
        self.state: dict[int, int] = {}
        self.slots: list[int] = []  # kinds that have a slot of their own
        self.flags: dict[int, int] = {}
        n_shared, n_state = 0, 3
        for kind, one in members.items():
            size = self.shapes[one][1]
            if one not in loop.changing and loop.first[one] < OF_CONSTANTS:
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
        of_turns = {one for number in self._turns for one in loop.instances[number][-1].readers}
        numbers: dict[Any, int] = {}
        self.columns: dict[Reader, int] = {
            one: numbers.setdefault(loop.column(one), len(numbers))
            for one in sorted(loop.varying & of_turns)
        }
        self.behind: dict[Reader, int] = {}  # of other constants behind each number of turns
        for one in sorted(loop.varying & {*loop.instances[END][-1].readers}):
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
                rule is None or self._is_like(rule, others.get(k), pair)
                for k, rule in mine.items()
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
                shape = option[2:]
                if option[0] == "wrote" and self.shapes.setdefault(reader, shape) != shape:
                    raise UnlikeError
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
                if loop.first[reader] not in loop.where:
                    raise UnlikeError  # nothing tells where what was read first comes from
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
        return what - by if what < OF_CONSTANTS else what + by

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
                if any(
                    (rule := self.rules[members[kind]].get(number)) is None
                    or (
                        rule[0] == "kept" and (rule[1] in found or self._is_open(rule[1], members))
                    )
                    for number in self._turns
                )
            }
            if more == found:
                return sorted(found)
            found = more

    def _is_open(self, kind: int, members: dict[int, Reader]) -> bool:
        """Whether nothing tells what it is before the first turn."""
        return kind in self.state and members[kind] not in self._loop.initial

    def known(self, instance: Instance, is_last: bool) -> dict[int, int] | None:
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
                    if is_last and listing.kinds[record] == INPUT:
                        return None
            is_constant = listing.kinds[record] in (CONSTANT, CONSTANTS)
            if kind is not None and place is not None and is_constant:
                return None
            if targets.setdefault(record, place) != place:
                return None
        return {record: place for record, place in targets.items() if place is not None}

    def turn(self, number: int, instance: Instance) -> Graph | None:
        """The graph of a turn."""
        listing, segment, readers, _ = instance
        p, n, m = self.sizes
        known = self.known(instance, False)
        if known is None:
            return None
        pairs, inputs = [], []
        for record, place in known.items():
            if listing.kinds[record] == INPUT:
                block = listing.numbers(record, 0, int(listing.sizes[record]))
                inputs += [(one, place + k) for k, one in enumerate(block)]
            else:
                pairs.append((int(listing.first[record]), place))
        cut = listing.numbers(*of_guard(listing, segment.cut), 1)[0]
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
        guards: list[tuple[Any, float]] = [(-1 - p - 1, outcome)]
        if len({start for start, _ in self._loop.starts.values()}) > 1:
            guards.append((-1 - p - 2, float(start)))
        guards += [(-1 - p - at, 1.0) for at in self.flags_of(readers)]
        guards += [
            (listing.numbers(*of_guard(listing, guard), 1)[0], float(listing.outcomes[guard]))
            for guard in range(segment.first, segment.cut)
        ]
        ends += [flags[kind] for kind in self.flags]
        ends += [*(-1 - p - at for at in self.behind.values()), 1.0]
        return binding.turn_graph(listing.graph, p + n + m, pairs, inputs, ends, guards)

    def _handed_on(self, kind: int, size: int) -> list[Any]:
        p = self.sizes[0]
        one = self.members.get(kind, -1)
        if one < 0 or self.shapes[one][1] != size:
            raise UnlikeError
        if kind in self.literal:
            there, record, offset = self._loop.where[self._loop.first[one]]
            return there.values(record, offset - self.shapes[one][0], size)
        at = p + self.state[kind] if kind in self.state else self.shared[kind]
        return [-1 - at - k for k in range(size)]

    def flags_of(self, readers: list[Reader]) -> list[int]:
        kinds = {self.kinds.get(reader, -1) for reader in readers}
        return sorted(self.flags[kind] for kind in kinds if kind in self.flags)

    def given(self, listing: Listing, entry: Segment) -> list[Any]:
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

    def _initial(self, listing: Listing, reader: Reader) -> list[Any]:
        what = (self._loop.initial if reader in self._loop.changing else self._loop.first)[reader]
        low, size = self.shapes[reader]
        there, record, offset = self._loop.where[what]
        if offset < low or offset - low + size > there.sizes[record]:
            raise UnlikeError
        if what < OF_CONSTANTS:
            return there.values(record, offset - low, size)
        of = what >> 32
        record = int(listing.records[of]) if of >= 0 else -1 - of
        return listing.numbers(record, offset - low, size)

    def tables(self, loop: Loop) -> tuple[FloatArray, dict[int, list[float]]]:
        """The constants of each turn, and those behind each number of turns."""
        columns = {k: loop.column(reader) for reader, k in self.columns.items()}
        if np.isnan([*columns.values()]).any() or len({*columns.values()}) < len(columns):
            raise UnlikeError
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
            raise UnlikeError
        turns: dict[int, Graph] = {}
        for number in self._turns:
            made = (self.turn(number, one) for one in loop.instances[number][::-1])
            graph = next((one for one in made if one is not None), None)
            if graph is not None:
                turns[number] = graph
        behind = [(one, self.known(one, True)) for one in loop.instances[END][::-1]]
        found = next(((one, known) for one, known in behind if known is not None), None)
        if not turns or found is None:
            raise UnlikeError
        (listing, segment, readers, _), known = found
        entry = listing.segments(loop.cuts, loop.n_peeled)[0]
        step = FoundLoop(turns, self.sizes, loop.ways)
        step.rows, step.behind = self.tables(loop)
        step.at_behind = [*self.behind.values()]
        start, outcome = loop.starts[END]
        step.expected = {1: outcome, 2: float(start)}
        step.expected.update(dict.fromkeys(self.flags_of(readers), 1.0))
        whole = listing.graph
        given = self.given(listing, entry)
        code = binding.given_graph(whole, given).code_of("value")
        x = met(code.evaluate(call.vector()))
        value = step.value(x)
        if value[0] != 1.0 or not np.isfinite(value).all():
            raise UnlikeError
        rule = keep.rule(keep, [None], {"loop": step}, [0], False)
        rule.note_point([x], [value], [False])
        guards = [
            (listing.numbers(*of_guard(listing, k), 1)[0], float(listing.outcomes[k]), equality)
            for k, equality in enumerate(whole.guards)
        ]
        pairs = [
            (int(listing.first[record]), place) for record, place in known.items() if place >= 0
        ]
        outputs = [listing.numbers(one, at, 1)[0] for one, at in listing.ends[:2].T.tolist()]
        return (
            binding.graph_around(
                *(whole, guards[: entry.last], given, rule, (x, value), pairs, outputs),
                [(-1, 1.0, False), *guards[segment.first :]],
            ),
            step,
            code,
            entry.last,
        )


def of_guard(listing: Listing, guard: int) -> tuple[int, int]:
    return int(listing.read_by_guards[0, guard]), int(listing.read_by_guards[1, guard])
