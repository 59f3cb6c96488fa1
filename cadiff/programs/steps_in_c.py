"""The instructions of programs (src/program/program.h) as statements of C.

Numbers are at their places in an array w. This module does not know which functions of C the
statements become.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..operations.primitives import primitive
from .helpers_in_c import CALLED, FORMS, TEXTS, VALUE
from .instructions import (
    FORMULAS,
    Instruction,
    InstructionKind,
    Places,
    ScanPlan,
    Shape,
    Stream,
    Trait,
    adds_apart,
    instruction,
    operands_of,
    single_operations,
    value_by_formula,
)
from .text_in_c import block, copied, index_text, loop, loops, number_text, place_text, table

Line = tuple[str, str]  # the name that a statement sets, "" if it is to be there; and its text

_CALL = "call "  # begins what is no text yet: the operation that is called, and its operands
_DECLARED = re.compile(r"^(?:const )?double |^")
_NAMES = re.compile(r"\b[abcfnrs]\d+\b")


def set_line(name: str, value: str) -> Line:
    return name, f"const double {name} = {value};"


def called(name: str, op: int, operands: Sequence[str]) -> Line:
    """A number that the core computes."""
    return name, f"{_CALL}{op} {' '.join(operands)}"


def needed(*several: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines that set a variable which others need."""
    names: set[str] = {""}
    n = 0
    while n < len(names):
        n = len(names)
        for lines in reversed(several):
            for name, text in reversed(lines):
                if name in names:
                    names.update(_NAMES.findall(text))
    for lines in several:
        yield [line for line in lines if line[0] in names]


def filled(lines: Sequence[Line]) -> Iterator[str]:
    """Statements in few lines; of names that are set one after the other one declaration."""
    texts = (text for _, text in lines)
    for (kind, is_long), some in groupby(
        texts, lambda line: (*_DECLARED.findall(line), "\n" in line)
    ):
        if is_long:
            yield from some
            continue
        named = (", " if kind else "; ").join(line.removeprefix(kind)[:-1] for line in some)
        text = f"{kind}{named};"
        yield textwrap.fill(text, 104, break_long_words=False, break_on_hyphens=False)


def turns_from_to(lines: Sequence[Line], array: Callable[[str], str]) -> Iterator[str]:
    """The turns from `begin` to `end`, given the lines of one.

    What is carried is r, and n in the next turn; b is made of these. `array` declares the array
    of a name.
    """
    phases = _phases_of(lines)
    core = max((k for (name, _), k in zip(lines, phases, strict=True) if _waits(name)), default=-1)
    filled_in: dict[str, int] = {}  # names that have an array, and the phase that fills it
    made = {name: k for (name, _), k in zip(lines, phases, strict=True) if name[:1] != "r"}
    by_call = {name for name, text in lines if text.startswith(_CALL)}
    n = max(phases, default=0) + 1
    loads: list[dict[str, None]] = [{} for _ in range(n)]
    bodies: list[list[Line]] = [[] for _ in range(n)]
    calls: list[list[str]] = [[] for _ in range(n)]
    for (name, text), k in zip(lines, phases, strict=True):
        is_call = name in by_call
        for one in dict.fromkeys(_NAMES.findall(text.removeprefix(f"const double {name} "))):
            first = made.get(one, core if one[0] == "r" else 0 if is_call else k)
            if is_call or first < k or one in by_call:
                filled_in.setdefault(one, first)
                loads[k].update({} if is_call else {one: None})
        if is_call:
            filled_in.setdefault(name, k)
            calls[k] += _call(name, text)
        else:
            bodies[k].append((name, text))
    yield from map(array, filled_in)
    for k in range(n):
        own = [one for one, first in filled_in.items() if first == k and one not in by_call]
        stores = [("", f"{one}_[t - begin] = {one};") for one in own]
        before = [line for line, one in zip(stores, own, strict=True) if one[0] == "r"]
        behind = [line for line in stores if line not in before]
        body = [set_line(one, f"{one}_[t - begin]") for one in loads[k]]
        body += [*before, *bodies[k], *behind]
        if body:
            if k != core and by_call:
                yield "CADIFF_INDEPENDENT"
            yield block("for (int t = begin; t < end; t++)", filled(body))
        yield from calls[k]


def _call(name: str, text: str) -> Iterator[str]:
    """Statements that have the core fill the array of a name."""
    op, *operands = text.removeprefix(_CALL).split()
    given = []
    for k, x in enumerate(operands):
        if _NAMES.fullmatch(x):
            given.append(f"{x}_, 1")
        else:
            yield f"const double {name}_{k} = {x};"
            given.append(f"&{name}_{k}, 0")
    given += given[:1] * (3 - len(given))
    yield f"{VALUE}({op}, end - begin, {name}_, 1, {', '.join(given)});"


def _waits(name: str) -> bool:
    """Whether it is set in the one loop in which turns wait for each other."""
    return name[:1] in ("b", "n", "r")


def _phases_of(lines: Sequence[Line]) -> list[int]:
    """In which loop each line is: behind all calls whose results it reads."""
    ready: dict[str, int] = {}

    def least(text: str) -> int:
        return max((ready.get(one, 0) for one in _NAMES.findall(text)), default=0)

    phases = [0] * len(lines)
    core = 0
    for rest in (False, True):  # what is ahead of the turns that wait; and all others
        for k, (name, text) in enumerate(lines):
            is_ahead = name[:1] in ("a", "f")
            if is_ahead == rest:
                core = max(core, 0 if rest or not _waits(name) else least(text))
                continue
            reads = _NAMES.findall(text) if not text.startswith(_CALL) else []
            phases[k] = least(text)
            if rest and any(map(_waits, [name, *reads])):
                phases[k] = max(phases[k], core)
            if name:
                ready[name] = max(ready.get(name, 0), phases[k] + text.startswith(_CALL))
    return phases


SHORT = 8  # numbers that are written one by one
_MOST_VARIABLES = 4096  # of a turn of a loop
_KINDS = binding.operation_kinds()


def operation_of(step: Any) -> Any:
    """What tells how a call is written in C."""
    return getattr(step.rule, "operation", primitive)


class _Operands(NamedTuple):
    """What an instruction goes over: axes with their indices, and numbers in the inner loop.

    An axis of one number has no index. The first number is the result.
    """

    shape: Shape
    axes: list[tuple[str, int]]
    streams: list[Any]
    texts: list[str]


class Steps:
    """Writes the instructions of a program, whose numbers are in an array.

    `name` begins the names of their tables.
    """

    def __init__(self, parts: dict[str, Any], name: str, workspace: str = "w") -> None:
        self.parts = parts
        self.name = name
        self.workspace = workspace
        self.tables: list[str] = []
        self.reaches_constants = False
        self.in_part = 0  # tiles, if what is being written is in a loop over tiles, t
        self.has_core = False  # whether functions of several numbers may be the core's, and
        self.is_of_lanes = False  # numbers are made as those of lanes, sums in their order

    def at(self, first: int, *steps: tuple[int, str]) -> str:
        """The number at a place, and some steps further on."""
        return place_text(first, *steps, name=self.workspace)

    def array(self, places: Any) -> str:
        """Where the numbers at some places are counted from."""
        return self.workspace

    # --- places ---

    def table(self, kind: str, numbers: Any) -> str:
        """A table of numbers; answers its name."""
        name = f"{self.name}_{'numbers' if kind == 'double' else 'list'}{len(self.tables)}"
        items = [number_text(x) if kind == "double" else str(x) for x in numbers.tolist()]
        self.tables.append(table(f"{kind} {name}", items))
        return name

    def with_constants(self, room: str, constants: Any) -> Iterator[str]:
        """The array, in a room where constants stand before places."""
        offset = f" + {len(constants)}" if len(constants) else ""
        yield f"double *const {self.workspace} = {room}{offset};"
        if len(constants):
            table = self.table("double", constants)
            yield f"memcpy({room}, {table}, sizeof {table});"

    def listed(self, places: Places) -> str:
        if len(places) == 1:
            return self.operand(int(places[0]))
        self.reaches_constants |= bool((places < 0).any())
        return f"{self.array(places)}[{self.sequence(places)}]"

    def operand(self, place: int, step: int = 0) -> str:
        """The i-th number from a place on, or the only one."""
        return self.number(Stream(place, (step,)), ("i",))

    def number(self, one: Stream, indices: Sequence[str]) -> str:
        """A number in loops with these indices; an axis that has none has one number."""
        steps = [axis for axis in zip(one.steps, indices, strict=True) if axis[1]]
        if self.in_part:
            steps[:0] = zip(one.moves, ("t", f"(t / {self.in_part})"), strict=True)
        if one.first < 0 and not any(step for step, _ in steps):
            return number_text(self.parts["constants"][one.first])
        self.reaches_constants |= one.first < 0
        return self.at(one.first, *steps)

    def operands(self, k: int) -> _Operands:
        shape, found = operands_of(self.parts, k, self.in_part > 0)
        indices = _indices(shape)
        texts = [
            self.listed(one) if isinstance(one, np.ndarray) else self.number(one, indices)
            for one in found
        ]
        return _Operands(shape, [*zip(indices, shape, strict=True)], found, texts)

    # --- instructions ---

    def steps(self) -> Iterator[str]:
        k = 0
        while k < len(self.parts["code"]):
            head = instruction(self.parts, k)
            members = range(k + 1, k + head.fused)
            self.in_part = head.x if members else 0
            body = [line for j in members or (k,) for line in self.step(j)]
            self.in_part = 0
            if members:
                yield loop(head.n, body, "t")
            else:
                yield from body
            k += head.fused

    def step(self, k: int) -> Iterator[str]:
        i = instruction(self.parts, k)
        if not Trait.BY_FORMULA[i.kind]:
            yield from _WRITERS[i.kind](self, k, i)
            return
        of = self.operands(k)
        result, *given = of.texts
        if self.has_core and Trait.OPERATES[i.kind] and FORMS[i.op] in CALLED:
            yield self.by_core(i.op, of)
            return
        value = FORMS[i.op].format(*given) if Trait.OPERATES[i.kind] else ""
        line = FORMULAS[i.kind].format(r=result, x="".join(given[:1]), f=value)
        yield loops(of.axes, f"{line};")

    def by_core(self, op: int, of: _Operands) -> str:
        """An operation that the core has for all numbers along the last axis."""
        *outer, (_, n) = of.axes or [("", 1)]
        indices = [name for name, _ in outer]
        given = []
        for one in [*of.streams, *of.streams[1:2] * (4 - len(of.streams))]:
            steps = [axis for axis in zip(one.steps, indices, strict=False) if axis[1]]
            given.append(f"&{self.at(one.first, *steps)}, {one.steps[-1] if one.steps else 0}")
        return loops(outer, f"{VALUE}({op}, {n}, {', '.join(given)});")

    def singles(self, k: int, i: Instruction) -> Iterator[str]:
        lines = [
            f"{self.at(place)} = {form.format(*map(self.operand, operands))};"
            for place, form, operands in made_by(self.parts, k)
        ]
        yield from [loop(i.y, lines, "turn")] if i.y > 1 else lines

    def total(self, k: int, i: Instruction) -> Iterator[str]:
        if i.n < SHORT or self.is_of_lanes:
            [(_, form, operands)] = made_by(self.parts, k, self.is_of_lanes)
            text = form.format(*map(self.operand, operands))
        else:
            self.reaches_constants |= i.x < 0
            former, total = self.at(i.out) if i.y else "0.0", _sum(self.at(i.x), i.sx, i.n)
            text = _added(former, total, i.z)
        yield f"{self.at(i.out)} = {text};"

    def compare(self, _: int, i: Instruction) -> Iterator[str]:
        yield from self.checks(self.parts["checks"][i.x : i.x + i.n], 0)

    def call(self, _: int, i: Instruction) -> Iterator[str]:
        """A call that reduces an array over axes; or of a helper, with numbers that are known.

        Of rows, perhaps not of all.
        """
        step = self.parts["steps"][i.z]
        operation, others = operation_of(step), step.rule.args[1:]
        self.reaches_constants |= i.x < 0
        [shape] = map(np.shape, step.operands)
        moves = [n * (place < self.parts["n_whole"]) for n, place in ((i.y, i.out), (i.n, i.x))]
        to, of = [
            self.number(Stream(place, (), (move if self.in_part else 0, 0)), [])
            for place, move in zip((i.out, i.x), moves, strict=True)
        ]
        if operation.helper_in_c:
            name, (rows, *numbers) = operation.helper_in_c(shape, *others)
            ends = ", ".join(["", *map(str, (i.sx or rows, *numbers))])
            yield f"{name}(&{to}, &{of}{ends});"
            return
        axes, start, formula = operation.fold_in_c(*others)
        if i.sx:
            shape, axes = (i.sx, i.n // i.sx), (1,)
        kept = [1 if axis in axes else length for axis, length in enumerate(shape)]
        indices = [f"i{axis}" for axis in range(len(shape))]
        steps = [0 if axis in axes else s for axis, s in enumerate(_in_order(kept))]
        long = [axis for axis, length in enumerate(shape) if length != 1]  # which have loops
        x, r = [
            f"(&{begin})[{index_text(0, *((by[axis], indices[axis]) for axis in long))}]"
            for begin, by in ((of, _in_order(shape)), (to, steps))
        ]
        yield loop(prod(kept), [f"(&{to})[i] = {start};"])
        text = _named(formula, r=r, x=x)
        yield loops([*zip(indices, shape, strict=True)], f"{r} = {text};")

    def by_index(self, k: int, i: Instruction) -> Iterator[str]:
        """Numbers at indices within bounds, from which negative ones count."""
        of = self.operands(k)
        target, source, index = of.texts
        *_, (length, stride) = binding.read_plan(self.parts["plans"], i.x)
        behind = f"((long){index} + ({index} < 0.0 ? {length} : 0)) * {stride}"
        if i.kind == InstructionKind.ADD_BY:
            yield loops(of.axes, f"(&{target})[{behind}] += {source};")
        else:
            yield loops(of.axes, f"{target} = (&{source})[{behind}];")

    def terms(self, k: int, i: Instruction) -> Iterator[str]:
        """An operation of a kind (src/table/kinds.def)."""
        of = self.operands(k)
        sums_up, backwards = _KINDS[i.op]
        if not sums_up:
            yield self.running(i.op, of, backwards)
            return
        if i.n > 0:
            moves = self.in_part and i.out < self.parts["n_whole"]
            result = Stream(i.out, (1,), (i.n * moves, 0))
            [index] = _indices((i.n,))
            yield loops([(index, i.n)], f"{self.number(result, [index])} = 0.0;")
        yield self.product(of) if len(of.texts) > 2 else self.additions(of, i.y)

    def additions(self, of: _Operands, in_any_order: int) -> str:
        """What the second view sees is added to the first one."""
        target, source = of.texts
        to, one = of.streams
        axes, step = of.axes, one.steps[-1] if one.steps else 0
        if adds_apart(in_any_order, of.shape, to.steps, one.steps) and (one.first >= 0 or step):
            *axes, (_, length) = axes
            begin = self.number(one, [*(name for name, _ in axes), ""])
            source = _sum(begin, step, length)
        return loops(axes, f"{target} += {source};")

    def product(self, of: _Operands) -> str:
        """Sums of products, such as those of matrices, along the result's last axis innermost."""
        target, a, b = of.texts
        moving = [k for k, step in enumerate(of.streams[0].steps) if step and of.axes[k][0]]
        ordered = sorted(range(len(of.axes)), key=lambda k: k in moving[-1:])
        return loops([of.axes[k] for k in ordered], f"{target} += {a} * {b};")

    def running(self, op: int, of: _Operands, backwards: bool) -> str:
        """Along the last axis, on which a number `s` is carried."""
        *outer, (last, n) = of.axes
        line = _named(TEXTS[op], **dict(zip("rxy", of.texts, strict=False))) + ";"
        last = last or "i"
        forth = f"int {last} = 0; {last} < {n}; {last}++"
        back = f"int {last} = {n - 1}; {last} >= 0; {last}--"
        row = block(f"for ({back if backwards else forth})", [line])
        return loops(outer, block("", ["double s = 0.0;", row]))

    # --- recurrences ---

    def turns(self, _: int, i: Instruction) -> Iterator[str]:
        scan = ScanPlan(self.parts, i.x)
        write = self.blocks if scan.in_blocks else self.scan
        yield write(scan, i.n, i.x, i.y, i.z)

    def scan(self, scan: ScanPlan, n: int, number: int, room: int, size: int) -> str:
        """Turns, one after the other: what is computed ahead and behind is part of each.

        What is given is f. What else is computed is a, b and c. What nobody reads is left out.
        Sums are those of stretches, added up as the interpreter does.
        """
        plan, n_carried = scan.parts, scan.parts["n_carried"]
        carried = [f"r{k}" for k in range(n_carried)]
        texts: dict[int | str, str] = {k * scan.stride: r for k, r in enumerate(carried)}
        begin: list[Line] = []  # before all turns
        turn: list[Line] = []
        for k, (place, step, strip) in enumerate(scan.given):
            (turn if step else begin).append(set_line(f"f{k}", self.in_turn(place, step)))
            texts[strip if step else -1 - k] = f"f{k}"
        # What each has left is read as what the next turn finds: the core writes it twice.
        ends = [f"n{k}" for k in range(n_carried)]
        from_core = [*ends, *ends, *scan.from_core[n_carried:]]
        for key, workspace, given, results in (
            ("ahead", "a", scan.into_ahead, scan.from_ahead),
            ("single", "b", scan.into_core, [*zip(scan.ends, from_core, strict=True)]),
            ("behind", "c", scan.into_behind, scan.from_behind),
        ):
            if plan[key] is not None:
                names = [*(carried if key == "single" else ()), *(texts[k] for k in given)]
                program = {**plan[key], "steps": []}
                inner = _Inner(program, f"{self.name}_{key}{number}", workspace, self.tables)
                inner.is_of_lanes = key != "single"
                inner.has_core = self.has_core
                values = inner.values(names, [place for place, _ in results])
                begin += [("", line) for line in ([] if inner.is_simple else inner.declared())]
                turn += inner.lines
                texts |= zip((strip for _, strip in results), values, strict=True)
        values = [texts.get(strip, "") for strip in (*ends, *scan.kept, *scan.sums)]
        around, within, end = lines_of_ends(scan, values, self.in_turn)
        to_sums: list[Line] = []
        of_stretch: list[Line] = []
        for k, strip in enumerate(scan.sums, len(values) - len(scan.sums)):
            if scan.is_read[k]:
                to_sums.append(("", f"{self.at(room + strip, (1, 't - begin'))} = {values[k]};"))
                total = _sum(self.at(room + strip), 1, "end - begin")
                of_stretch.append((f"s{k}", f"s{k} += {total};"))
        parts = [*begin, *around], [*turn, *to_sums, *within], of_stretch, end
        first, lines, sums, last = needed(*parts)
        many, left = scan.length, size - scan.n_in_strips  # of the room that there is for turns
        stretch = f"const int end = n - begin < {many} ? n : begin + {many};"

        def array(name: str) -> str:
            nonlocal left
            left -= many
            if left < 0:
                return f"double {name}_[{many}];"
            return f"double *const {name}_ = &{self.at(room + scan.n_in_strips + left)};"

        run = [*turns_from_to(lines, array), *filled(sums)]
        if n <= many:
            run = [f"const int begin = 0, end = {n};", *run]
        else:
            turns = f"for (int begin = 0; begin < n; begin += {many})"
            run = [f"const int n = {n};", block(turns, [stretch, *run])]
        return block("", [*filled(first), *run, *filled(last)])

    def in_turn(self, place: int, step: int = 0) -> str:
        """A number of the t-th turn."""
        return self.number(Stream(place, (step,)), ("t",))

    def blocks(self, scan: ScanPlan, n: int, number: int, room: int, _: int) -> str:
        """Turns that hand on blocks, which are copied to where the core has them, and back."""
        parts = {**scan.parts["core"], "steps": self.parts["steps"]}
        own = f"{self.workspace}_{number}"
        inner = _Inner(parts, f"{self.name}_core{number}", own, self.tables)
        steps = list(inner.steps())
        ends = list(zip(scan.ends, scan.outs, scan.steps, scan.sizes_of_ends, strict=True))
        n_carried, n_rows = len(scan.initial), len(ends) - scan.parts["n_summed"]
        given = [*((out, step) for _, out, step, _ in ends[:n_carried])]
        given += [(first, step) for first, step, _ in scan.given]
        firsts = [*scan.initial, *(first for first, _ in given)]
        self.reaches_constants |= min(firsts, default=0) < 0
        begin = [*inner.declared(f"&{self.at(room)}")]
        take: list[str] = []
        give: list[str] = []
        place = 0
        for k, (size, (first, step)) in enumerate(zip(scan.sizes, given, strict=False)):
            if k < n_carried:
                begin.append(copied(self.at(first), self.at(scan.initial[k]), size))
            line = copied(inner.at(place), self.at(first, (step, "t")), size)
            (take if step or k < n_carried else begin).append(line)
            place += size
        for k, (place, out, step, size) in enumerate(ends):
            if scan.is_read[k] and k < n_rows:
                after = out + step * (k < n_carried)
                give.append(copied(self.at(after, (step, "t")), inner.at(place), size))
            elif scan.is_read[k]:
                to = self.at(out, (1, "i"))
                begin.append(loop(size, [f"{to} = 0.0;"]))
                give.append(loop(size, [f"{to} += {inner.at(place, (1, 'i'))};"]))
        return block("", [*begin, loop(n, [*take, *steps, *give], "t")])

    # --- checks ---

    def checks(self, checks: Any, first: int) -> Iterator[str]:
        """Loops over checks for the same outcome, each counted from `first`.

        The first one that does not hold is answered.
        """
        ends = np.flatnonzero(np.diff(checks["value"], append=np.nan)) + 1
        for begin, end in zip([0, *ends], ends, strict=False):
            own = checks[begin:end]
            outcome = number_text(own["value"][0])
            number = self.sequence(own["number"].astype(np.int64) + first)
            differs = f"if ({self.listed(own['place'])} != {outcome})"
            yield loops([("i", len(own))], block(differs, [f"return {number};"]))

    def sequence(self, numbers: Any, index: str = "i") -> str:
        """The i-th of several whole numbers: a formula if there is one, else out of a table."""
        steps = np.diff(numbers)
        if (steps == steps[:1]).all():
            return index_text(int(numbers[0]), (int(steps[:1].sum()), index))
        return f"{self.table('int', numbers)}[{index}]"


class Made(NamedTuple):
    """A number, and how it is made, as a form that operands are put into."""

    place: int
    form: str
    operands: list[int]


def is_by_numbers(i: Instruction) -> bool:
    """Whether `made_by` knows all that an instruction makes."""
    if Trait.OVER_SINGLES[i.kind]:
        return i.y == 1
    by_formula = Trait.BY_FORMULA[i.kind] and not Trait.OVER_PLAN[i.kind]
    return i.kind == InstructionKind.TOTAL or bool(by_formula)


def is_simple(parts: dict[str, Any]) -> bool:
    """Whether each number of a turn can be a variable."""
    code = [Instruction(*row) for row in parts["code"].tolist()]
    return sum(i.n for i in code) <= _MOST_VARIABLES and all(map(is_by_numbers, code))


def made_by(parts: dict[str, Any], k: int, of_lanes: bool = False) -> Iterator[Made]:
    """The numbers that an instruction makes, one by one.

    Lanes are added to what there is one after the other; numbers of a row are added up first.
    """
    i = instruction(parts, k)
    if Trait.OVER_SINGLES[i.kind]:
        for single in parts["singles"][i.x : i.x + i.n].tolist():
            for op, out, operands in single_operations(single):
                yield Made(out, FORMS[op], operands)
    elif i.kind == InstructionKind.TOTAL:  # which may be added to what is there
        terms = [*([i.out] if i.y else []), *(i.x + k * i.sx for k in range(i.n))]
        names = [f"{{{k}}}" for k in range(len(terms))]
        if of_lanes:
            begin = "" if i.y or not i.z else "-"
            text = begin + (" - " if i.z else " + ").join(names)
        else:
            text = _added(names[0] if i.y else "0.0", _pairwise(names[1 if i.y else 0 :]), i.z)
        yield Made(i.out, text, terms)
    else:
        _, found = operands_of(parts, k)
        form, adds = value_by_formula(i.kind, FORMS[i.op])
        places = [
            one.tolist() if isinstance(one, np.ndarray) else one.places(i.n)
            for one in [*found[:adds], *found]
        ]
        for place, *operands in zip(*places, strict=True):
            yield Made(place, form, operands)


def lines_of_ends(
    scan: ScanPlan, values: Sequence[str], number: Callable[[int, int], str], index: str = ""
) -> tuple[list[Line], list[Line], list[Line]]:
    """What a recurrence does with the values of its ends: before, in, and behind its turns.

    What is carried is r, and n in the next turn where that is another one's; sums are s. They are
    variables, and sums are added to elsewhere; or with an index elements of arrays that are there.
    A turn keeps and sums up what it has been given: so what is carried comes last.
    """
    begin: list[Line] = []
    rows: list[Line] = []  # before all turns, too
    turn: list[Line] = []
    stored: list[Line] = []
    end: list[Line] = []
    n_carried, n_rows = scan.parts["n_carried"], len(values) - scan.parts["n_summed"]
    kind = "" if index else "double "
    ends = zip(values, scan.outs, scan.steps, scan.is_read, strict=True)
    for k, (value, out, step, is_read) in enumerate(ends):
        name = f"{'r' if k < n_carried else 's'}{k}"
        text, row = f"{name}{index}", step != 0
        if k < n_carried:
            begin.append((name, f"{kind}{text} = {number(scan.initial[k], 0)};"))
            if value.startswith("r"):  # which may be set before it is read
                turn.append(set_line(f"n{k}", value))
                value = f"n{k}"
            stored.append((name, f"{text} = {value};"))
            if is_read and row:
                rows.append(("", f"{number(out, 0)} = {text};"))
                stored.append(("", f"{number(out + step, step)} = {value};"))
        elif is_read and k < n_rows:
            turn.append(("", f"{number(out, step)} = {value};"))
        elif is_read:
            begin.append((name, f"{kind}{text} = 0.0;"))
            if index:
                turn.append(("", f"{text} += {value};"))
        if is_read and k not in range(n_carried, n_rows) and not row:
            end.append(("", f"{number(out, 0)} = {text};"))
    return [*begin, *rows], [*turn, *stored], end


class _Inner(Steps):
    """What is computed in each turn of a recurrence, with numbers in an array of its own.

    Or else, if there are not too many, and nothing but numbers, each is a variable.
    """

    def __init__(
        self, parts: dict[str, Any], name: str, workspace: str, tables: list[str]
    ) -> None:
        super().__init__(parts, name, workspace)
        self.tables = tables
        self.lines: list[Line] = []
        self.is_simple = is_simple(parts)

    def values(self, inputs: Sequence[str], places: Sequence[int]) -> list[str]:
        """The numbers at some places, when all is done with inputs of these names."""
        if not self.is_simple:
            self.lines = [("", f"{self.at(k)} = {name};") for k, name in enumerate(inputs)]
            self.lines += [("", line) for line in self.steps()]
            return [self.operand(place) for place in places]
        texts = dict(enumerate(inputs))
        for k in range(len(self.parts["code"])):
            for place, form, operands in made_by(self.parts, k, self.is_of_lanes):
                given = [texts.get(x) or self.operand(x) for x in operands]
                name = texts[place] = f"{self.workspace}{len(self.lines)}"
                if self.has_core and self.is_of_lanes and form in CALLED:
                    self.lines.append(called(name, CALLED[form], given))
                else:
                    self.lines.append(set_line(name, form.format(*given)))
        return [texts.get(place) or self.operand(place) for place in places]

    def declared(self, room: str = "") -> Iterator[str]:
        """The array; without a room for it in one of its own."""
        constants = self.parts["constants"]
        if not room:
            room = f"{self.workspace}_room"
            yield f"double {room}[{len(constants) + self.parts['n_places']}];"
        yield from self.with_constants(room, constants)


# --- texts ---------------------------------------------------------------------------------------


def _indices(shape: Shape) -> list[str]:
    """Of axes; one of one number has none."""
    names = [f"i{k}" for k in range(len(shape))] if len(shape) > 1 else ["i"]
    return [name * (n != 1) for name, n in zip(names, shape, strict=False)]


def _named(formula: str, **names: str) -> str:
    """A formula with other names in the place of x, y and r."""
    return re.sub(r"\b[xyr]\b", lambda found: names[found[0]], formula)


def _in_order(shape: Sequence[int]) -> list[int]:
    """The strides of an array whose elements stand in order; 0 along axes of one element."""
    return [prod(shape[axis + 1 :]) * (n != 1) for axis, n in enumerate(shape)]


def _sum(first: str, step: int, n: int | str) -> str:
    return f"cad_sum(&{first}, {step}, {n})"


def _pairwise(terms: Sequence[str]) -> str:
    """The same, written out."""
    n = len(terms)
    if n < 8:
        return f"({' + '.join(terms)})"
    if n > 128:
        half = n // 16 * 8
        return f"({_pairwise(terms[:half])} + {_pairwise(terms[half:])})"
    r = [f"({' + '.join(terms[k : n // 8 * 8 : 8])})" for k in range(8)]
    whole = f"(({r[0]} + {r[1]}) + ({r[2]} + {r[3]})) + (({r[4]} + {r[5]}) + ({r[6]} + {r[7]}))"
    return f"({' + '.join([f'({whole})', *terms[n // 8 * 8 :]])})"


def _added(former: str, total: str, is_less: int) -> str:
    """What a sum is added to, or taken from."""
    return f"{former} - (0.0 + {total})" if is_less else f"{former} + {total}"


# How each kind is written that has no formula in its row.
_WRITERS: dict[int, Callable[[Steps, int, Instruction], Iterator[str]]] = {
    InstructionKind.SINGLES: Steps.singles,
    InstructionKind.TOTAL: Steps.total,
    InstructionKind.TERMS: Steps.terms,
    InstructionKind.CALL: Steps.call,
    InstructionKind.COMPARE: Steps.compare,
    InstructionKind.TAKE_BY: Steps.by_index,
    InstructionKind.ADD_BY: Steps.by_index,
    InstructionKind.SCAN: Steps.turns,
}


def has_text(kind: int) -> bool:
    return bool(Trait.BY_FORMULA[kind] or Trait.HEADS[kind]) or kind in _WRITERS


def may_be_out_of_bounds(i: Instruction) -> bool:
    """Whether an instruction looks at its indices, which no text in C does."""
    return i.kind in (InstructionKind.TAKE_BY, InstructionKind.ADD_BY) and not i.y
