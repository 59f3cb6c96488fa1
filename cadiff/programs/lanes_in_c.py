"""Programs for many points as functions of C, which take several points at a time.

All numbers of a program stand side by side for these points (src/program/program.h). What follows
each other without a call is a loop over them, of which compilers make vectors; functions such as
`exp` are the core's, which computes several at once. A recurrence has such loops in each turn, and
keeps what it carries in small arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import binding
from .fused import readers_of
from .instructions import Instruction, ScanPlan, Trait, instruction, place_text
from .loops_in_c import VECTOR_FORMS, vectors_head
from .steps_in_c import (
    FORMS,
    Made,
    block,
    called,
    includes,
    is_by_numbers,
    made_by,
    number_text,
)

_LANES = binding.MACHINE_LANES
_MOST_IN_TURN = 2048  # numbers
_MOST_NUMBERS = 256  # of a function; longer ones take compilers longer than in proportion
_MOST_IN_ALL = 10_000  # of which compilers make some 2,000 a second

_FORMS = {form: own for form, own in zip(FORMS, VECTOR_FORMS, strict=True) if own}
_CALLED = {form: op for op, form in reversed([*enumerate(FORMS)]) if form not in _FORMS}

VALUE = "cadiff_value"  # an operation of the core on so many numbers, set when this is loaded
_VALUE = f"void (*{VALUE})(int, double *, const double *, const double *, const double *);\n"
_PARAMETERS = "(const double *restrict s, double *restrict w)"


def lane_functions(parts: dict[str, Any]) -> tuple[str, dict[str, range]]:
    """A file of functions by their names, and which instructions each of them stands for."""
    runs = [*_runs(parts)]
    if _count(parts, range(len(parts["code"]))) > _MOST_IN_ALL:
        return "", {}
    readers = readers_of(parts) if runs else []
    texts: list[str] = []
    names: dict[str, range] = {}
    for run in runs:
        i = instruction(parts, run[0])
        is_scan = Trait.OVER_SCAN[i.kind]
        bodies = [_turns(parts, i)] if is_scan else [*_straight(parts, run, readers)]
        name = f"cadiff_lanes{len(names)}"
        names[name] = run
        own = [name] if len(bodies) == 1 else [f"{name}_{k}" for k in range(len(bodies))]
        for each, body in zip(own, bodies, strict=True):
            head = f"CADIFF_VECTORS long {each}{_PARAMETERS}"
            texts.append(block(head, [*body, "CADIFF_END", "return -1;"]))
        if len(bodies) > 1:
            calls = [f"{each}(s, w);" for each in own]
            texts.append(block(f"long {name}{_PARAMETERS}", [*calls, "return -1;"]))
    whole = "\n".join(texts)
    before = [includes(whole), *called(whole), vectors_head(), _VALUE]
    return ("\n".join([*before, whole]) if names else ""), names


def _runs(parts: dict[str, Any]) -> Iterator[range]:
    """What can be a function: a loop, or instructions on single numbers that follow each other."""
    first, end = 0, len(parts["code"])
    for k in range(end):
        i = instruction(parts, k)
        if not is_by_numbers(i):
            if first < k:
                yield range(first, k)
            if Trait.OVER_SCAN[i.kind] and _is_simple(ScanPlan(parts, i.x)):
                yield range(k, k + 1)
            first = k + 1
    if first < end:
        yield range(first, end)


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
        own = [*made_by(parts, k)]
        made += own
        read = readers[k]
        if read is None or not read <= {*run}:
            wanted.update(one.place for one in own)
    pieces = [made[k : k + _MOST_NUMBERS] for k in range(0, len(made), _MOST_NUMBERS)]
    bodies = []
    for piece in reversed(pieces):
        lines = _Lines(parts, {})
        lines.make(piece)
        kept = dict.fromkeys(one.place for one in piece if one.place in wanted)
        lines.hand_on(f"{_given(parts, place).text} = {lines.last(place)};" for place in kept)
        bodies.append([*lines.declared(), *lines.texts()])
        wanted.update(x for one in piece for x in one.operands)
    yield from reversed(bodies)


def _turns(parts: dict[str, Any], i: Instruction) -> list[str]:
    """A recurrence: r is what is carried, u what is summed up."""
    scan = ScanPlan(parts, i.x)
    n_carried, n_kept = scan.parts["n_carried"], scan.parts["n_kept"]
    core = {**scan.parts["core"], "steps": []}
    inputs = [_Given(f"r{j}[l]", False) for j in range(n_carried)]
    inputs += [_given(parts, place, step) for place, step, _ in scan.given]
    lines = _Lines(core, dict(enumerate(inputs)))
    for k in range(len(core["code"])):
        lines.make(made_by(core, k))
    declared, begin, given, stored, end = [], [], [], [], []
    ends = zip(scan.ends, scan.outs, scan.steps, scan.is_read, strict=True)
    for k, (place, out, step, is_read) in enumerate(ends):
        value = lines.last(place)
        to = _given(parts, out, step).text if is_read else ""
        if k < n_carried:
            declared.append(f"double r{k}[{_LANES}];")
            begin.append(f"r{k}[l] = {_given(parts, scan.initial[k]).text};")
            given.append(f"const double n{k} = {value};")
            stored.append(f"r{k}[l] = n{k};")
            if is_read and step:
                begin.append(f"{_given(parts, out).text} = r{k}[l];")
                stored.append(f"{_given(parts, out + step, step).text} = n{k};")
            elif is_read:
                end.append(f"{to} = r{k}[l];")
        elif is_read and k < n_carried + n_kept:
            given.append(f"{to} = {value};")
        elif is_read:
            declared.append(f"double u{k}[{_LANES}];")
            begin.append(f"u{k}[l] = 0.0;")
            given.append(f"u{k}[l] += {value};")
            end.append(f"{to} = u{k}[l];")
    lines.hand_on([*given, *stored])
    turn = block(f"for (long t = 0; t < {i.n}; t++)", [*lines.texts()], scope=True)
    return [*declared, *lines.declared(), _over_lanes(begin), turn, _over_lanes(end)]


class _Given(NamedTuple):
    """A number that is made elsewhere; whether it is the same for all lanes."""

    text: str
    is_shared: bool


def _given(parts: dict[str, Any], place: int, step: int = 0) -> _Given:
    """The number of a lane at a place, so far from that of the turn before."""
    if place < 0 and not step:
        return _Given(number_text(parts["constants"][place]), True)
    n_shared = parts["n_shared"]
    if place < n_shared:
        return _Given(place_text(place, (step, "t"), name="s"), True)
    first = _LANES * (place - n_shared)
    return _Given(place_text(first, (_LANES * step, "t"), (1, "l")), False)


def _over_lanes(lines: Iterable[str]) -> str:
    body = [*lines]
    each = block(f"for (int l = 0; l < {_LANES}; l++)", body, scope=True)
    return f"CADIFF_INDEPENDENT\n{each}" if body else ""


class _Lines:
    """Numbers that are made one behind the other: in loops over lanes, and by calls behind each.

    A number is an array if a call makes it, or if another loop reads it. What is the same for all
    lanes is made before. What is not made here is in `elsewhere`, or else stands at its place.
    """

    def __init__(self, parts: dict[str, Any], elsewhere: dict[int, _Given]) -> None:
        self.parts = parts
        self.elsewhere = elsewhere
        self.made: dict[int, tuple[str, int, bool]] = {}  # the name, the loop, whether by a call
        self.same: dict[int, str] = {}  # for all lanes, and what they are called
        self.before: list[str] = []
        self.loops: list[list[tuple[str, str]]] = [[]]  # names and values
        self.calls: list[list[str]] = [[]]
        self.arrays: dict[str, None] = {}
        self.end: list[str] = []
        self.n = 0

    def make(self, numbers: Iterable[Made]) -> None:
        for place, form, operands in numbers:
            op = _CALLED.get(form)
            if op is not None:
                self.call(op, place, operands)
                continue
            loop = max((self.in_loop(x) for x in operands), default=0)
            texts = [self.text(x, loop) for x in operands]
            value = _FORMS.get(form, form).format(*texts)
            self.same.pop(place, None)
            self.made.pop(place, None)
            if all(x in self.same for x in operands):
                self.same[place] = self.set_before(value)
            else:
                self.made[place] = self.add(loop, value), loop, False

    def call(self, op: int, place: int, operands: Sequence[int]) -> None:
        loop = max(self.behind_loop(x) for x in operands)
        given = [self.array(x) for x in operands]
        given += given[:1] * (3 - len(given))
        name = self.fresh()
        self.arrays[name] = None
        self.calls[loop].append(f"{VALUE}({op}, {name}_, {', '.join(given)});")
        self.same.pop(place, None)
        self.made[place] = name, loop, True
        if loop + 1 == len(self.loops):
            self.loops.append([])
            self.calls.append([])

    def fresh(self) -> str:
        self.n += 1
        return f"v{self.n}"

    def add(self, loop: int, value: str) -> str:
        name = self.fresh()
        self.loops[loop].append((name, value))
        return name

    def set_before(self, value: str) -> str:
        name = self.fresh()
        self.before.append(f"const double {name} = {value};")
        return name

    def in_loop(self, place: int) -> int:
        """The first loop in which a number can be read."""
        _, loop, by_call = self.made.get(place, ("", 0, False))
        return loop + by_call

    def behind_loop(self, place: int) -> int:
        """The first loop behind which a call can read it."""
        return self.made.get(place, ("", 0, False))[1]

    def text(self, place: int, loop: int) -> str:
        """A number as a loop reads it."""
        if place in self.same:
            return self.same[place]
        if place not in self.made:
            text, is_shared = self.elsewhere.get(place) or _given(self.parts, place)
            if is_shared:
                text = self.same[place] = self.set_before(text) if "[" in text else text
            return text
        name, made_in, by_call = self.made[place]
        if by_call or made_in != loop:
            self.arrays[name] = None
            return f"{name}_[l]"
        return name

    def array(self, place: int) -> str:
        """A number of all lanes, as a call reads it."""
        if place not in self.made:
            self.made[place] = self.add(0, self.text(place, 0)), 0, False
        name = self.made[place][0]
        self.arrays[name] = None
        return f"{name}_"

    def last(self, place: int) -> str:
        """A number as the last loop reads it, once all are made."""
        return self.text(place, len(self.loops) - 1)

    def hand_on(self, lines: Iterable[str]) -> None:
        """Have lines behind all others, in the last loop."""
        self.end += lines

    def declared(self) -> list[str]:
        return [f"double {name}_[{_LANES}];" for name in self.arrays]

    def texts(self) -> Iterator[str]:
        yield from self.before
        for k, (numbers, calls) in enumerate(zip(self.loops, self.calls, strict=True)):
            lines = [f"const double {name} = {value};" for name, value in numbers]
            lines += [f"{name}_[l] = {name};" for name, _ in numbers if name in self.arrays]
            yield _over_lanes([*lines, *(self.end if k == len(self.loops) - 1 else [])])
            yield from calls
