"""What of a program the C compiler can make machine code of, as a file of C.

Runs of instructions become functions over the places of a workspace (CadMachineCode of
src/program/program.h). What is left is carried out as before, between them: calls, and functions
of many numbers, for which the core and NumPy have better loops. This module does not know
compilers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..inspection.texts import counted
from .fused import Fused, Unit
from .fused_loops import Loop
from .helpers_in_c import FORMS, VECTOR_FORMS, with_helpers
from .instructions import (
    LEFT,
    Instruction,
    ScanPlan,
    Stream,
    Trait,
    cores,
    first_places,
    instruction,
    shape_of,
    single_operations,
)
from .steps_in_c import Steps, is_simple
from .text_in_c import breathe, divided, function, loop, place_text, table

MOST_OPERATIONS = 100_000  # of which compilers make some 3,000 a second
_OF_LOOP = 2  # operations of which one takes compilers as long as a loop
_MOST_NUMBERS = 32  # of an instruction over several
_ALIKE = 3  # loops that share a function

_LONG = "long vectors"
_SINGLE = "numbers of float32"
_OTHERWISE = "functions and products of several numbers"
_IN_TURNS = "turns, which have machine code of their own"


class Piece(NamedTuple):
    """A function of C in the place of some instructions."""

    name: str
    first: int
    n: int


class Written(NamedTuple):
    """A file of C, what is in it, and which instructions are not, and why."""

    text: str
    pieces: list[Piece]
    cores: dict[tuple[int, ...], list[Piece]]  # of the turns of loops
    left: str


def reasons(left: Counter[str]) -> str:
    """Why some instructions are left, the most frequent first."""
    return ", ".join(reason for reason, _ in left.most_common())


def written_for_point(parts: dict[str, Any], exactly: bool = False) -> Written:
    """What machine code can be made of, given the parts of a Code; no text if there is none.

    Exactly: of nothing whose last digits are others than the interpreter's.
    """
    found = cores(parts)
    n = sum(len(own["singles"]) + _OF_LOOP * len(own["code"]) for own in (parts, *found.values()))
    if n > MOST_OPERATIONS:
        many = counted(n, "operation")
        return Written("", [], {}, f"{many}, which would take the compiler minutes")
    shared = SharedFunctions()
    left: Counter[str] = Counter()
    texts: list[str] = []
    whole = _Pieces(parts, "cadiff", shared, exactly)
    pieces = whole.pieces(texts, left)
    tables, of_cores = whole.tables, {}
    for path, core in found.items():
        own = _Pieces(core, f"cadiff_core{'_'.join(map(str, path))}", shared, exactly)
        of_cores[path] = own.pieces(texts, left)
        tables += own.tables
    text = with_helpers("\n".join([*tables, *shared.texts(), *texts])) if texts else ""
    return Written(text, pieces, of_cores, reasons(left))


def rounds_otherwise(parts: dict[str, Any], i: Instruction) -> bool:
    """Whether the text of an instruction has other last digits than the interpreter.

    BLAS adds up products in an order of its own; and the core and NumPy have functions of their
    own of several numbers, which are called but in large loops.
    """
    if Trait.OVER_SCAN[i.kind]:
        plan = parts["scans"][i.x]
        inner = [plan[key] for key in ("ahead", "behind") if plan[key] is not None]
        return not plan["in_blocks"] and any(
            _calls_functions(part) and not is_simple(part) for part in inner
        )
    return bool(Trait.OPERATES[i.kind]) and not Trait.BY_FORMULA[i.kind] and "*" in FORMS[i.op]


def _calls_functions(parts: dict[str, Any]) -> bool:
    """Whether there is more than arithmetic in a program of single numbers."""
    made = (op for row in parts["singles"].tolist() for op, _, _ in single_operations(row))
    of_vectors = (
        i.op for i in map(Instruction._make, parts["code"].tolist()) if Trait.OPERATES[i.kind]
    )
    return not all(VECTOR_FORMS[op] for op in (*made, *of_vectors))


def _gains(unit: Unit) -> bool:
    """Whether it is no loop over many numbers by itself, which the core has, too."""
    return not isinstance(unit, Loop) or len(unit.members) > 1 or prod(unit.axes) <= _MOST_NUMBERS


PARAMETERS = "const double *restrict s, double *restrict w"
_OF_LOOPS = "const double *restrict s, double *w"
_OF_TURNS = f"{_OF_LOOPS}, double *tiles, long turn, long part"
_NAME = re.compile(r"\w+(?=,|$)")
_PLACE = re.compile(
    r"(?<=\b[sw]\[)-?\d+|(?<=\btiles\[)\d+|(?<=\)\[)\d+"
    r"|(?<=\bt < )\d+|(?<=\bend = )\d+|(?<=\bn = )\d+"
)


def _form_of(text: str) -> tuple[str, ...]:
    """The text between places, which is the same wherever its lines end."""
    return tuple(" ".join(part.split()) for part in _PLACE.split(text))


class LoopInC:
    """Writes one loop, with pointers to numbers.

    `array` tells of a place the element that stands there, with a gap for its index, and this;
    `number` the text of a constant.
    """

    def __init__(
        self,
        fused: Loop,
        array: Callable[[int, bool], tuple[str, int]],
        number: Callable[[int], str],
    ) -> None:
        self.loop = fused
        self.array = array
        self.number = number
        self.lines: list[list[str]] = [[] for _ in (None, *fused.axes)]  # within so many axes
        self.n_variables = 0
        self.pointers: dict[tuple[str, tuple[int, ...]], list[tuple[int, str]]] = {}
        self.names: dict[Stream, str] = {}

    def element(self, stream: Stream) -> str:
        """A number of a stream, by the pointer to it or to its neighbours."""
        first, steps, moves = stream
        array, index = self.array(first, self.loop.tiles is not None)
        for move, by in zip(moves, ("turn", "part"), strict=True):
            array += f" + {move} * {by}" if move else ""
        known = self.pointers.setdefault((array, steps), [])
        width = min(map(abs, filter(None, steps)), default=1)
        near = [pointer for pointer in known if 0 <= index - pointer[0] < width]
        begin, name = near[0] if near else (index, f"a{sum(map(len, self.pointers.values()))}")
        if not near:
            known.append((begin, name))
            constant = "const " if array.startswith("s[") else ""
            self.lines[0].append(f"{constant}double *const {name} = &{array.format(begin)};")
        return place_text(index - begin, *self.indices(steps), name=name)

    @staticmethod
    def indices(steps: tuple[int, ...]) -> list[tuple[int, str]]:
        return [(step, f"i{axis}") for axis, step in enumerate(steps)]

    def operand(self, stream: Stream) -> str:
        """A variable that was handed on, or is read as far outside as can be; or a constant."""
        if stream not in self.names:
            if stream.first < 0 and not any((*stream.steps, *stream.moves)):
                return self.number(stream.first)
            depth = max((axis + 1 for axis, step in enumerate(stream.steps) if step), default=0)
            self.names[stream] = self.set(depth, self.element(stream))
        return self.names[stream]

    def set(self, depth: int, value: str) -> str:
        """A variable within so many axes."""
        self.n_variables += 1
        self.lines[depth].append(f"const double v{self.n_variables} = {value};")
        return f"v{self.n_variables}"

    def strip(self, stream: Stream, number: int) -> str:
        """Where the numbers of all turns stand side by side."""
        axes = self.loop.axes
        steps = tuple(prod(axes[k + 1 :]) for k in range(len(axes)))
        if stream not in self.loop.outs and stream.steps == steps:
            return f"&{self.element(stream._replace(steps=(0,) * len(axes)))}"
        name = f"t{number}"
        self.lines[0].append(f"double {name}[{prod(axes)}];")
        value = self.operand(stream)
        self.lines[-1].append(f"{place_text(0, *self.indices(steps), name=name)} = {value};")
        return name

    def text(self) -> str:
        totals: list[str] = []
        kept: dict[Stream, str] = {}
        turns = prod(self.loop.axes)
        for s in self.loop.statements:
            if s.is_total:
                out, strip = self.element(s.out), self.strip(s.operands[-1], len(totals))
                given = [out] * (len(s.operands) - 1)
                total = s.form.format(*given, f"cad_sum({strip}, 1, {turns})")
                totals.append(f"{out} = {total};")
                continue
            name = self.set(-1, s.form.format(*map(self.operand, s.operands)))
            self.names[s.out] = name
            if s.is_kept:
                kept[s.out] = name
        self.lines[-1] += [f"{self.element(stream)} = {name};" for stream, name in kept.items()]
        body: list[str] = []
        for k, n in reversed([*enumerate(self.loop.axes)]):
            within = loop(n, [*self.lines[k + 1], *body], f"i{k}")
            body = [*["CADIFF_INDEPENDENT"] * (not body), within]
        return "\n".join([*self.lines[0], *body, *totals, "CADIFF_END"])


class SharedFunctions:
    """Functions of texts that differ in nothing but places are one, which is given these.

    The steps of an unrolled program are compiled once.
    """

    def __init__(self) -> None:
        self.names: dict[tuple[str, ...], str] = {}
        self.functions: list[str] = []
        self.places: list[str] = []

    def call(self, text: str, parameters: str, kind: str = "static void") -> str:
        """The statement that has a text carried out, by a function with some parameters."""
        form = (parameters, *_form_of(text))
        if form not in self.names:
            self.names[form] = name = f"cadiff_shared{len(self.names)}"
            first, *others = _PLACE.split(text)
            body = first + "".join(f"p[{k}]{part}" for k, part in enumerate(others))
            head = f"{kind} {name}({parameters}, const int *restrict p)"
            self.functions.append(function(head, [body]))
        given = [*_NAME.findall(parameters), f"cadiff_places + {len(self.places)}"]
        self.places += _PLACE.findall(text)
        return f"{self.names[form]}({', '.join(given)});"

    def texts(self) -> list[str]:
        """All functions, and the places that are given to them."""
        return [*self.functions, table("int cadiff_places", self.places)] * bool(self.functions)


class _Pieces(Steps):
    """Instructions over the places of a workspace: constants, and what lanes share, are in s."""

    def __init__(
        self, parts: dict[str, Any], name: str, shared: SharedFunctions, exactly: bool
    ) -> None:
        super().__init__(parts, name)
        self.exactly = exactly
        self.has_core = True
        self.n_shared = parts["n_shared"]
        referred = parts["referred"][parts["referred"]["floats"] == -1]
        keys = ("place", "size", "pointer")
        self.elsewhere = [*zip(*(referred[key].tolist() for key in keys), strict=True)]
        self.fused = Fused(parts, VECTOR_FORMS)
        self.shared = shared

    def at(self, first: int, *steps: tuple[int, str]) -> str:
        return place_text(first, *steps, name="s" if first < self.n_shared else "w")

    def array(self, places: Any) -> str:
        return "s" if self.n_shared and (places < self.n_shared).all() else "w"

    def pieces(self, texts: list[str], left: Counter[str]) -> list[Piece]:
        """The pieces that are machine code, with their functions, and the rest."""
        pieces: list[Piece] = []
        for first, n, reason in self.runs():
            units = [] if reason else self.fused.arranged(range(first, first + n))
            if reason == _IN_TURNS:
                continue
            if not any(map(_gains, units)):
                left[reason or _LONG] += n
                continue
            pieces.append(Piece(f"{self.name}_piece{len(pieces)}", first, n))
            in_tiles = first in self.fused.tiles
            texts.append((self.turn if in_tiles else self.function)(pieces[-1].name, units))
        return pieces

    def runs(self) -> Iterator[tuple[int, int, str]]:
        """Instructions (first, how many) that are machine code, or why they are not."""

        def told(k: int) -> tuple[str | None, Any]:
            breathe()
            i = instruction(self.parts, k)
            return (None if Trait.HEADS[i.kind] else self.obstacle(k, i)), self.fused.tiles.get(k)

        for (reason, _), some in groupby(range(len(self.parts["code"])), told):
            if reason is not None:
                first, *others = some
                yield first, 1 + len(others), reason

    def obstacle(self, k: int, i: Instruction) -> str:
        """Why an instruction is left as it is; nothing if it is not."""
        if LEFT[i.kind] or Trait.OVER_SINGLES[i.kind]:
            return str(LEFT[i.kind])
        if self.exactly and rounds_otherwise(self.parts, i):
            return _OTHERWISE
        reads, writes = self.parts["accesses"][k]
        places = first_places([*reads, *writes])
        if Trait.OVER_SCAN[i.kind]:
            in_blocks = ScanPlan(self.parts, i.x).in_blocks
            return _IN_TURNS if in_blocks else _LONG if self.is_elsewhere(places) else ""
        if max(places) >= self.parts["least_float"]:
            return _SINGLE
        if self.fused.loop(k) is not None:
            return ""
        if k in self.fused.tiles:
            return _LONG
        if Trait.OPERATES[i.kind] and not VECTOR_FORMS[i.op]:
            return _LONG  # of functions, which NumPy and the core round otherwise than C's library
        if prod(shape_of(self.parts, i)) > _MOST_NUMBERS or self.is_elsewhere(places):
            return _LONG
        if (Trait.OVER_LISTS | Trait.OVER_CHECKS)[i.kind] and self.n_shared:
            shared = np.less(first_places(reads), self.n_shared)
            return "" if shared.all() or not shared.any() else "numbers from two arrays"
        return ""

    def is_elsewhere(self, places: Any) -> bool:
        """Whether any of the places is one of arrays that are not in the workspace."""
        return any(
            begin <= place < begin + size for begin, size, _ in self.elsewhere for place in places
        )

    def element(self, place: int, in_tiles: bool) -> tuple[str, int]:
        """What stands at a place, with a gap for its index, and this."""
        if in_tiles and place >= self.parts["n_whole"]:
            return "tiles[{}]", place
        for begin, size, pointer in self.elsewhere:
            if begin <= place < begin + size:
                return f"cadiff_referred(&w[{pointer}])[{{}}]", place - begin
        return f"{'s' if place < self.n_shared else 'w'}[{{}}]", place

    def loop(self, loop: Loop) -> str:
        """The statement that has a loop carried out."""
        text = LoopInC(loop, self.element, self.operand).text()
        parameters = _OF_LOOPS if loop.tiles is None else _OF_TURNS
        return self.shared.call(text, parameters, "CADIFF_VECTORS static void")

    def turn(self, name: str, units: Iterable[Unit]) -> str:
        """The function for some instructions of tiles, which are loops."""
        lines = [self.loop(unit) for unit in units if isinstance(unit, Loop)]
        return function(f"void {name}({_OF_TURNS})", lines)

    def function(self, name: str, units: Iterable[Unit]) -> str:
        """The function for some instructions; of many statements, one that calls several."""
        lines: list[str] = []
        for unit in units:
            breathe()
            lines += self.step(unit) if isinstance(unit, int) else [self.loop(unit)]
        alike = Counter(_form_of(line) for line in lines if "\n" in line)
        for k, line in enumerate(lines):
            if "\n" in line and alike[_form_of(line)] >= _ALIKE:
                lines[k] = self.shared.call(line, PARAMETERS)
        calls = [f"const long missed = {name}_parts[i](s, w);", "if (missed != -1) return missed;"]
        last = ["return -1;"]
        functions, lines = divided(name, f"long {{}}({PARAMETERS})", lines, calls, last)
        return "\n".join([*functions, function(f"long {name}({PARAMETERS})", [*lines, *last])])
