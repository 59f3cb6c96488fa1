"""Programs for many points as functions of C, which take several points at a time.

All numbers of a program stand side by side for these points (src/program/program.h). What follows
each other without a call is a loop over them, of which compilers make vectors; functions such as
`exp` are the core's, which computes several at once. A recurrence has such loops in each turn, and
keeps what it carries in small arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .. import binding
from .fused import readers_of
from .instructions import Instruction, InstructionKind, Turns, instruction, place_text
from .loops_in_c import VECTOR_FORMS, vectors_head
from .steps_in_c import FORMS, Made, block, called, includes, made_by, number_text

_LANES = binding.MACHINE_LANES
_MOST_NUMBERS = 2048  # of a function

_FORMS = {form: own for form, own in zip(FORMS, VECTOR_FORMS, strict=True) if own}
_CALLED = {form: op for op, form in reversed([*enumerate(FORMS)]) if form not in _FORMS}

VALUE = "cadiff_value"  # an operation of the core on so many numbers, set when this is loaded
_VALUE = f"void (*{VALUE})(int, double *, const double *, const double *, const double *);\n"


def lane_functions(parts: dict[str, Any]) -> tuple[str, dict[str, range]]:
    """A file of functions by their names, and which instructions each of them stands for."""
    bodies: dict[range, list[str]] = {}
    readers = readers_of(parts)
    for run in _runs(parts):
        i = instruction(parts, run[0])
        is_scan = i.kind == InstructionKind.SCAN
        bodies[run] = _turns(parts, i) if is_scan else _straight(parts, run, readers)
    names = {f"cadiff_lanes{k}": run for k, run in enumerate(bodies)}
    whole = "\n".join(
        block(
            f"CADIFF_VECTORS long {name}(const double *restrict s, double *restrict w)",
            [*bodies[run], "CADIFF_END", "return -1;"],
        )
        for name, run in names.items()
    )
    head = [includes(whole), *called(whole), vectors_head(), _VALUE]
    return ("\n".join([*head, whole]) if names else ""), names


def _runs(parts: dict[str, Any]) -> Iterator[range]:
    """What can be a function: a loop, or some instructions on single numbers."""
    first = n = 0  # of those that follow each other
    for k in range(len(parts["code"])):
        i = instruction(parts, k)
        more = _count(i)
        if first < k and (more is None or n + more > _MOST_NUMBERS):
            yield range(first, k)
            first, n = k, 0
        if more is None:
            first = k + 1
            if i.kind == InstructionKind.SCAN and _is_simple(Turns(parts, i.x)):
                yield range(k, k + 1)
        else:
            n += more
    if first < len(parts["code"]):
        yield range(first, len(parts["code"]))


def _count(i: Instruction) -> int | None:
    """How many numbers an instruction makes, if each has a line of its own."""
    is_repeated = i.kind == InstructionKind.SINGLES and i.y != 1
    return None if i.kind not in _BY_NUMBERS or is_repeated or i.n > _MOST_NUMBERS else i.n


_BY_NUMBERS = (
    InstructionKind.SINGLES,
    InstructionKind.VECTOR,
    InstructionKind.TAKE,
    InstructionKind.TOTAL,
    InstructionKind.ZEROS,
)


def _is_simple(scan: Turns) -> bool:
    """Whether all that a turn hands on and makes is single numbers, and not too many."""
    core = scan.turns["core"]
    counts = [_count(instruction(core, k)) for k in range(len(core["code"]))]
    known = [n for n in counts if n is not None]
    return {*scan.sizes} <= {1} and len(known) == len(counts) and sum(known) <= _MOST_NUMBERS


# --- functions -----------------------------------------------------------------------------------


def _straight(parts: dict[str, Any], run: range, readers: list[set[int] | None]) -> list[str]:
    """Instructions on single numbers, of which those are stored that others read."""
    lines = _Lines(parts, {})
    kept: dict[int, None] = {}
    for k in run:
        own = [*made_by(parts, instruction(parts, k))]
        lines.make(own)
        read = readers[k]
        if read is None or not read <= {*run}:
            kept.update(dict.fromkeys(made.place for made in own))
    lines.hand_on(f"{_at(parts, place)} = {lines.last(place)};" for place in kept)
    return [*lines.declared(), *lines.texts()]


def _turns(parts: dict[str, Any], i: Instruction) -> list[str]:
    """A recurrence: r is what is carried, s what is summed up."""
    scan = Turns(parts, i.x)
    n_carried, n_kept = scan.turns["n_carried"], scan.turns["n_kept"]
    core = {**scan.turns["core"], "steps": []}
    inputs = [f"r{j}[l]" for j in range(n_carried)]
    inputs += [_at(parts, place, step) for place, step, _ in scan.given]
    lines = _Lines(core, dict(enumerate(inputs)))
    for k in range(len(core["code"])):
        lines.make(made_by(core, instruction(core, k)))
    declared, begin, given, stored, end = [], [], [], [], []
    ends = zip(scan.ends, scan.outs, scan.steps, scan.is_read, strict=True)
    for k, (place, out, step, is_read) in enumerate(ends):
        value = lines.last(place)
        if k < n_carried:
            declared.append(f"double r{k}[{_LANES}];")
            begin.append(f"r{k}[l] = {_at(parts, scan.initial[k])};")
            given.append(f"const double n{k} = {value};")
            stored.append(f"r{k}[l] = n{k};")
            if is_read and step:
                begin.append(f"{_at(parts, out)} = r{k}[l];")
                stored.append(f"{_at(parts, out + step, step)} = n{k};")
            elif is_read:
                end.append(f"{_at(parts, out)} = r{k}[l];")
        elif is_read and k < n_carried + n_kept:
            given.append(f"{_at(parts, out, step)} = {value};")
        elif is_read:
            declared.append(f"double s{k}[{_LANES}];")
            begin.append(f"s{k}[l] = 0.0;")
            given.append(f"s{k}[l] += {value};")
            end.append(f"{_at(parts, out)} = s{k}[l];")
    lines.hand_on([*given, *stored])
    turn = block(f"for (long t = 0; t < {i.n}; t++)", [*lines.texts()], scope=True)
    return [*declared, *lines.declared(), _over_lanes(begin), turn, _over_lanes(end)]


def _at(parts: dict[str, Any], place: int, step: int = 0) -> str:
    """The number of a lane at a place, so far from that of the turn before."""
    if place < 0 and not step:
        return number_text(parts["constants"][place])
    if place < parts["n_shared"]:
        return place_text(place, (step, "t"), name="s")
    return place_text(_LANES * (place - parts["n_shared"]), (_LANES * step, "t"), (1, "l"))


def _over_lanes(lines: Iterable[str]) -> str:
    body = [*lines]
    each = block(f"for (int l = 0; l < {_LANES}; l++)", body, scope=True)
    return f"CADIFF_INDEPENDENT\n{each}" if body else ""


class _Lines:
    """Numbers that are made one behind the other: in loops over lanes, and by calls behind each.

    A number that a call makes, or that is read elsewhere than in the loop that makes it, is an
    array. What is the same for all lanes is made before. What is not made here has a text in
    `elsewhere`, or else stands at its place.
    """

    def __init__(self, parts: dict[str, Any], elsewhere: dict[int, str]) -> None:
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
            if all(x in self.same or x < 0 for x in operands):
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
            text = self.elsewhere.get(place) or _at(self.parts, place)
            if text.startswith("s["):
                text = self.same[place] = self.set_before(text)
            return text
        name, made_in, by_call = self.made[place]
        if by_call or made_in != loop:
            self.arrays[name] = None
            return f"{name}_[l]"
        return name

    def array(self, place: int) -> str:
        """A number of all lanes, as a call reads it."""
        name = self.made[place][0] if place in self.made else self.add(0, self.text(place, 0))
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
