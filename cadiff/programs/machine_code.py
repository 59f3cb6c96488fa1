"""What of a program the C compiler can make machine code of, as a file of C.

Runs of instructions become functions over the places of a workspace (CadMachineCode of
src/program/program.h). What is left is carried out as before, between them: calls, and functions
of many numbers, for which the core and NumPy have better loops. This module does not know
compilers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..inspection.texts import counted
from .fused import Fused, Unit
from .fused_loops import Loop
from .instructions import (
    LEFT,
    Instruction,
    ScanPlan,
    Trait,
    cores,
    first_places,
    instruction,
    place_text,
    shape_of,
)
from .lanes_in_c import lane_functions
from .loops_in_c import TURN_PARAMETERS, VECTOR_FORMS, LoopFunctions
from .steps_in_c import PART, Steps, block, called, divided, includes, number_text

MOST_OPERATIONS = 100_000  # of which compilers make some 3,000 a second
_OF_LOOP = 2  # operations of which one takes compilers as long as a loop
_MOST_NUMBERS = 32  # of an instruction over several, where its formula is plain arithmetic;
_MOST_VALUES = 8  # where it calls functions, of which NumPy and the core compute several at once
_ALIKE = 3  # loops that share a function

_LONG = "long vectors"
_MANY = "many operations"
_SINGLE = "numbers of float32"
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


def written(parts: dict[str, Any]) -> Written:
    """What machine code can be made of, given the parts of a Code; no text if there is none."""
    found = cores(parts)
    n = sum(len(own["singles"]) + _OF_LOOP * len(own["code"]) for own in (parts, *found.values()))
    if n > MOST_OPERATIONS:
        many = counted(n, "operation")
        return Written("", [], {}, f"{many}, which would take the compiler minutes")
    steps = _Pieces(parts, "cadiff")
    left: Counter[str] = Counter()
    texts: list[str] = []
    pieces = steps.pieces(texts, left)
    of_cores = {}
    for path, core in found.items():
        own = _Pieces(core, f"cadiff_core{'_'.join(map(str, path))}")
        own.loops.share(steps.loops)
        of_cores[path] = own.pieces(texts, left)
        texts[:0] = own.tables
    body = "\n".join([*steps.tables, steps.loops.texts(), *texts])
    text = "\n".join([includes(body), *_helpers(body), body]) if texts else ""
    return Written(text, pieces, of_cores, ", ".join(reason for reason, _ in left.most_common()))


def written_for_lanes(parts: dict[str, Any]) -> Written:
    """What machine code can be made of a program for many points, several points at a time."""
    text, runs = lane_functions(parts)
    pieces = [Piece(name, run[0], len(run)) for name, run in runs.items()]
    left = Counter(
        LEFT[instruction(parts, k).kind] or _MANY
        for k in {*range(len(parts["code"]))}.difference(*runs.values())
    )
    return Written(text, pieces, {}, ", ".join(reason for reason, _ in left.most_common()))


def _gains(unit: Unit) -> bool:
    """Whether it is no loop over many numbers by itself, which the core has, too."""
    return not isinstance(unit, Loop) or len(unit.members) > 1 or prod(unit.axes) <= _MOST_NUMBERS


# A product of the chain rule is looked at again where it is nan. If that is done apart, gradients
# take 7 % less time, and the compiler a fifth less.
_APART = """\
#ifdef __GNUC__
__attribute__((noinline, cold))
#endif
static double cad_amul_of_nan("""
_PRODUCT = """\
static inline double cad_amul(double x, double y) {
    const double product = x * y;
    return product == product ? product : cad_amul_of_nan(x, y);
}
"""


def _helpers(body: str) -> Iterator[str]:
    for text in called(body):
        apart = text.replace("static inline double cad_amul(", _APART)
        yield apart
        if apart != text:
            yield _PRODUCT


_HEAD = "(const double *restrict s, double *restrict w)"
_PLACE = re.compile(r"(?<=\b[sw]\[)-?\d+|(?<=\bt < )\d+")


def _form_of(text: str) -> tuple[str, ...]:
    """The text between places, which is the same wherever its lines end."""
    return tuple(" ".join(part.split()) for part in _PLACE.split(text))


def _with_shared(name: str, lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Functions for loops that differ by places and their number of turns; and what calls them."""
    given = [(line, _form_of(line)) for line in lines]
    alike = Counter(form for line, form in given if "\n" in line)
    shared: dict[tuple[str, ...], str] = {}  # names
    functions, statements = [], []
    for line, form in given:
        if alike[form] < _ALIKE:
            statements.append(line)
            continue
        if form not in shared:
            shared[form] = f"{name}_shared{len(shared)}"
            first, *parts = _PLACE.split(line)
            text = first + "".join(f"p[{k}]{part}" for k, part in enumerate(parts))
            head = f"static void {shared[form]}{_HEAD[:-1]}, const int *p)"
            functions.append(block(head, [text]))
        places = ", ".join(_PLACE.findall(line))
        statements.append(f"{shared[form]}(s, w, (const int[]){{{places}}});")
    return functions, statements


class _Pieces(Steps):
    """Instructions over the places of a workspace: constants, and what lanes share, are in s."""

    def __init__(self, parts: dict[str, Any], name: str) -> None:
        super().__init__(parts, name)
        self.n_shared = parts["n_shared"]
        referred = parts["referred"][parts["referred"]["floats"] == -1]
        keys = ("place", "size", "pointer")
        self.elsewhere = [*zip(*(referred[key].tolist() for key in keys), strict=True)]
        self.fused = Fused(parts, VECTOR_FORMS)
        self.loops = LoopFunctions(self.base, lambda place: number_text(parts["constants"][place]))

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
        first, tiles = 0, self.fused.tiles
        for k in range(len(self.parts["code"])):
            i = instruction(self.parts, k)
            reason = self.obstacle(k, i)
            if first < k and (reason or tiles.get(k) != tiles.get(k - 1)):
                yield first, k - first, ""
                first = k
            if reason:
                first = k + 1
                if not Trait.HEADS[i.kind]:
                    yield k, 1, reason
        if first < len(self.parts["code"]):
            yield first, len(self.parts["code"]) - first, ""

    def obstacle(self, k: int, i: Instruction) -> str:
        """Why an instruction is left as it is; nothing if it is not."""
        if LEFT[i.kind] or Trait.OVER_SINGLES[i.kind]:
            return str(LEFT[i.kind])
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
        most = _MOST_VALUES if Trait.OPERATES[i.kind] and not VECTOR_FORMS[i.op] else _MOST_NUMBERS
        if prod(shape_of(self.parts, i)) > most or self.is_elsewhere(places):
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

    def base(self, place: int, in_tiles: bool) -> tuple[str, tuple[int, ...]]:
        """Where a place is, with gaps for numbers, and these."""
        if in_tiles and place >= self.parts["n_whole"]:
            return "tiles + {}", (place,)
        for begin, size, pointer in self.elsewhere:
            if begin <= place < begin + size:
                return "cadiff_referred(w, {}) + {}", (pointer, place - begin)
        return ("s + {}" if place < self.n_shared else "w + {}"), (place,)

    def turn(self, name: str, units: Iterable[Unit]) -> str:
        """The function for some instructions of tiles, which are loops."""
        lines = [self.loops.call(unit) for unit in units if isinstance(unit, Loop)]
        return block(f"void {name}({TURN_PARAMETERS})", lines)

    def function(self, name: str, units: Iterable[Unit]) -> str:
        """The function for some instructions; of many statements, one that calls several."""
        lines: list[str] = []
        for unit in units:
            if isinstance(unit, int):
                lines += self.step(unit)
            else:
                lines.append(self.loops.call(unit))
        functions, lines = _with_shared(name, lines)
        if len(lines) > PART:
            functions += divided(name, f"long {{}}{_HEAD}", lines, ["return -1;"])
            each = f"for (int i = 0; i < {-(-len(lines) // PART)} && missed == -1; i++)"
            turns = block(each, [f"missed = {name}_parts[i](s, w);"], scope=True)
            lines = ["long missed = -1;", turns, "return missed;"]
        else:
            lines = [*lines, "return -1;"]
        return "\n".join([*functions, block(f"long {name}{_HEAD}", lines)])
