"""Programs for many points as functions of C, which take several points at a time.

All numbers of a program stand side by side for these points (src/program/program.h). What follows
each other without a call is a loop over them, of which compilers make vectors; functions such as
`exp` are the core's, which computes several at once. A recurrence has such loops in each turn, and
keeps what it carries in small arrays. How many points there are, `lanes`, is said in each call, or
known, for code whose numbers would fill the cache.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from .. import binding
from .fused import readers_of
from .helpers_in_c import CALLED, FORMS, VALUE, VECTOR_FORMS, with_helpers
from .instructions import LEFT, Instruction, ScanPlan, Trait, instruction
from .machine_code import PARAMETERS, Piece, Written, reasons
from .steps_in_c import Made, is_by_numbers, lines_of_ends, made_by
from .text_in_c import function, index_text, loop, number_text, place_text

_PARAMETERS = f"{PARAMETERS}, long n_lanes"
_MOST_LANES = binding.MACHINE_LANES
_MOST_IN_TURN = 2048  # numbers
_MOST_NUMBERS = 32  # of a function; longer ones take compilers longer than in proportion
_MOST_IN_ALL = 4_000  # of which compilers make some hundreds a second

_FORMS = {form: own for form, own in zip(FORMS, VECTOR_FORMS, strict=True) if own}

_MANY = "many operations"


def written_for_lanes(parts: dict[str, Any], n_lanes: int) -> Written:
    """What machine code can be made of a program for many points, so many at a time; 0: any."""
    lanes = f"enum {{ lanes = {n_lanes} }};" if n_lanes else "const long lanes = n_lanes;"
    whole = range(len(parts["code"]))
    runs = [*_runs(parts)] if _count(parts, whole) <= _MOST_IN_ALL else []
    readers = readers_of(parts) if runs else []
    texts: list[str] = []
    pieces: list[Piece] = []
    for run in runs:
        i = instruction(parts, run[0])
        is_scan = Trait.OVER_SCAN[i.kind]
        bodies = [_turns(parts, i)] if is_scan else [*_straight(parts, run, readers)]
        name = f"cadiff_lanes{len(pieces)}"
        pieces.append(Piece(name, run[0], len(run)))
        for k, body in enumerate(bodies):
            head = f"CADIFF_VECTORS static void {name}_{k}({_PARAMETERS})"
            texts.append(function(head, [lanes, *body, "CADIFF_END"]))
        calls = [f"{name}_{k}(s, w, n_lanes);" for k in range(len(bodies))]
        texts.append(function(f"long {name}({_PARAMETERS})", [*calls, "return -1;"]))
    others = {*whole}.difference(*runs)
    left = Counter(LEFT[instruction(parts, k).kind] or _MANY for k in others)
    return Written(with_helpers("\n".join(texts)) if texts else "", pieces, {}, reasons(left))


def _runs(parts: dict[str, Any]) -> Iterator[range]:
    """What can be a function: a loop, or instructions on single numbers that follow each other."""

    def told(k: int) -> int | None:
        i = instruction(parts, k)
        if is_by_numbers(i):
            return -1
        return k if Trait.OVER_SCAN[i.kind] and _is_simple(ScanPlan(parts, i.x)) else None

    for kind, some in groupby(range(len(parts["code"])), told):
        if kind is not None:
            first, *others = some
            yield range(first, first + 1 + len(others))


def _count(parts: dict[str, Any], run: range) -> int:
    """How many numbers instructions make one by one."""
    found = (instruction(parts, k) for k in run)
    return sum(i.n for i in found if is_by_numbers(i))


def _is_simple(scan: ScanPlan) -> bool:
    """Whether all that a turn hands on and makes is single numbers, and not too many."""
    core = scan.parts["core"]
    run = range(len(core["code"]))
    return (
        {*scan.sizes} <= {1}
        and all(is_by_numbers(instruction(core, k)) for k in run)
        and _count(core, run) <= _MOST_IN_TURN
    )


# --- functions -----------------------------------------------------------------------------------


def _straight(
    parts: dict[str, Any], run: range, readers: list[set[int] | None]
) -> Iterator[list[str]]:
    """Instructions on single numbers, in functions that store what is read elsewhere."""
    made: list[Made] = []
    wanted: set[int] = set()  # places that are read behind
    for k in run:
        own = [*made_by(parts, k, True)]
        made += own
        read = readers[k]
        if read is None or not read <= {*run}:
            wanted.update(one.place for one in own)
    pieces = [made[k : k + _MOST_NUMBERS] for k in range(0, len(made), _MOST_NUMBERS)]
    bodies = []
    for piece in reversed(pieces):
        lines = _Lines(parts, {})
        lines.write_numbers(piece)
        kept = dict.fromkeys(one.place for one in piece if one.place in wanted)
        stores = [f"{_given(parts, place)} = {lines.last(place)};" for place in kept]
        bodies.append([*lines.texts(stores)])
        wanted.update(x for one in piece for x in one.operands)
    yield from reversed(bodies)


def _turns(parts: dict[str, Any], i: Instruction) -> list[str]:
    """A recurrence, whose sums and what it carries are in arrays."""
    scan = ScanPlan(parts, i.x)
    n_carried = scan.parts["n_carried"]
    core = {**scan.parts["core"], "steps": []}
    inputs = [f"r{k}[l]" for k in range(n_carried)]
    inputs += [_given(parts, place, step) for place, step, _ in scan.given]
    lines = _Lines(core, dict(enumerate(inputs)))
    for k in range(len(core["code"])):
        lines.write_numbers(made_by(core, k, True))
    values = [lines.last(place) for place in scan.ends]
    found = lines_of_ends(scan, values, functools.partial(_given, parts), "[l]")
    begin, turn, end = ([text for _, text in some] for some in found)
    names = dict.fromkeys(name for name, _ in found[0] if name)
    declared = [f"double {name}[{_MOST_LANES}];" for name in names]
    within = loop(i.n, lines.texts(turn), "t")
    return [*declared, *_over_lanes(begin), within, *_over_lanes(end)]


def _given(parts: dict[str, Any], place: int, step: int = 0) -> str:
    """The number of a lane at a place, so far from that of the turn before.

    One that all lanes share does not end with the lane, l.
    """
    if place < 0 and not step:
        return number_text(parts["constants"][place])
    n_shared = parts["n_shared"]
    if place < n_shared:
        return place_text(place, (step, "t"), name="s")
    return f"w[lanes * ({index_text(place - n_shared, (step, 't'))}) + l]"


def _over_lanes(lines: Sequence[str]) -> list[str]:
    return ["CADIFF_INDEPENDENT", loop("lanes", lines, "l")] if lines else []


class _Lines:
    """Numbers that are made one behind the other: in loops over lanes, and by calls behind each.

    A number is an array if a call makes it, or if another loop reads it. What is the same for all
    lanes is made before. What is not made here is in `elsewhere`, or else stands at its place.
    """

    def __init__(self, parts: dict[str, Any], elsewhere: dict[int, str]) -> None:
        self.parts = parts
        self.elsewhere = elsewhere
        self.made: dict[
            int, tuple[str, int]
        ] = {}  # what it is called, and in which step it is made
        self.same: dict[int, str] = {}  # for all lanes, and what they are called
        self.before: list[str] = []
        self.steps: list[list[str]] = [[]]  # a loop, the calls behind it, the next loop, ...
        self.arrays: dict[str, int] = {}
        self.n = 0

    def write_numbers(self, numbers: Iterable[Made]) -> None:
        for place, form, operands in numbers:
            op = CALLED.get(form)
            is_call = op is not None
            step = max((self.made.get(x, ("", 0))[1] for x in operands), default=0)
            step += (step + is_call) % 2
            if is_call:
                given = [f"{self.array(x)}, 1" for x in operands]
                given += given[:1] * (3 - len(given))
                name = self.fresh()
                self.arrays[name] = step
                text = f"{VALUE}({op}, lanes, {name}_, 1, {', '.join(given)});"
            else:
                value = _FORMS.get(form, form).format(*[self.text(x, step) for x in operands])
                name, text = self.set(value)
            self.made.pop(place, None)
            if not is_call and all(x in self.same for x in operands):
                self.before.append(text)
                self.same[place] = name
                continue
            self.same.pop(place, None)
            self.made[place] = name, step
            self.steps += [[] for _ in range(len(self.steps), step + is_call + 1)]
            self.steps[step].append(text)

    def fresh(self) -> str:
        self.n += 1
        return f"v{self.n}"

    def set(self, value: str) -> tuple[str, str]:
        """A name, and what sets it."""
        name = self.fresh()
        return name, f"const double {name} = {value};"

    def text(self, place: int, step: int) -> str:
        """A number as a loop reads it."""
        if place in self.same:
            return self.same[place]
        if place not in self.made:
            text = self.elsewhere.get(place) or _given(self.parts, place)
            if text.endswith("l]"):
                return text
            if "[" in text:
                text, line = self.set(text)
                self.before.append(line)
            self.same[place] = text
            return text
        name, made_in = self.made[place]
        if made_in == step:
            return name
        self.arrays[name] = made_in
        return f"{name}_[l]"

    def array(self, place: int) -> str:
        """A number of all lanes, as a call reads it."""
        if place not in self.made:
            name, line = self.set(self.text(place, 0))
            self.steps[0].append(line)
            self.made[place] = name, 0
        name, made_in = self.made[place]
        self.arrays[name] = made_in
        return f"{name}_"

    def last(self, place: int) -> str:
        """A number as the last loop reads it, once all are made."""
        return self.text(place, len(self.steps) - 1)

    def texts(self, end: Sequence[str]) -> Iterator[str]:
        """All, with some lines at the end of the last loop."""
        yield from (f"double {name}_[{_MOST_LANES}];" for name in self.arrays)
        yield from self.before
        for k, lines in enumerate(self.steps):
            kept = [name for name, made_in in self.arrays.items() if made_in == k]
            stores = [f"{name}_[l] = {name};" for name in kept]
            last = end if k == len(self.steps) - 1 else ()
            yield from lines if k % 2 else _over_lanes([*lines, *stores, *last])
