"""The instructions of programs (src/program/instructions.def), as `Code.parts` gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import binding

Shape = tuple[int, ...]


Places = NDArray[Any]
# Some places; or the first one, lengths and steps of axes, and which view it is of a plan, or -1.
Region = Places | tuple[int, Shape, Shape, int]

_KINDS = binding.instruction_words()
InstructionKind: Any = SimpleNamespace(**{name: kind for kind, name in enumerate(_KINDS)})
# By kinds, as instructions.def explains. A trait has an array, which kinds are indices of.
WORDS, NAMES, FORMULAS, LEFT, _TRAITS = zip(*_KINDS.values(), strict=True)
Trait: Any = SimpleNamespace(
    **{name: np.array([name in own for own in _TRAITS]) for name in set().union(*_TRAITS)}
)


class Stream(NamedTuple):
    """A number in each turn: the place of the first one, and steps along the axes of the loop.

    It moves by so many places from tile to tile, and by more from part to part of these.
    """

    first: int
    steps: Shape
    moves: tuple[int, int] = (0, 0)

    def places(self, n: int) -> list[int]:
        """So many of them along the only axis."""
        return [self.first + k * self.steps[0] for k in range(n)]


class Instruction(NamedTuple):
    kind: int
    op: int
    n: int
    fused: int
    out: int
    x: int
    y: int
    z: int
    sx: int
    sy: int
    sz: int


def instruction(parts: dict[str, Any], k: int) -> Instruction:
    return Instruction(*parts["code"][k].tolist())


_OPERATIONS, ARITIES = binding.operation_names()
_UNREAD = np.iinfo(np.int64).min  # CAD_UNREAD
_SINCOS = len(_OPERATIONS)  # CAD_SINGLE_SINCOS of src/program/program.h


def single_operations(single: Sequence[int]) -> list[tuple[int, int, list[int]]]:
    """What a single operation consists of: code, result and operands of one, or of two."""
    op, out, x, y, z = single
    if op == _SINCOS:
        return [(_OPERATIONS.index("sin"), out, [x]), (_OPERATIONS.index("cos"), y, [x])]
    return [(op, out, [x, y, z][: ARITIES[op]])]


def written_by(singles: Any) -> NDArray[np.int64]:
    """The places that single operations write."""
    other = singles["y"][singles["op"] == _SINCOS]
    return np.concatenate([singles["out"], other]).astype(np.int64)


class ScanPlan:
    """A recurrence, taken apart: see CadScanPlan of src/program/program.h.

    Places are those of the program that it is part of; strips have names, which are numbers.
    """

    def __init__(self, parts: dict[str, Any], which: int) -> None:
        self.parts = plan = parts["scans"][which]
        self._words = parts["plans"]
        self._at = plan["at"]
        self.stride = plan["stride"]  # from strip to strip
        self.length, self.n_in_strips = plan["length"], plan["n_in_strips"]  # of a stretch
        self.initial = self._take(plan["n_carried"])
        self.given = self._take(plan["n_given"], 3)
        n_operands = plan["n_carried"] + plan["n_given"]
        self.sizes = self._take(n_operands + plan["n_kept"] + plan["n_summed"])
        self.sizes_of_ends = self.sizes[: plan["n_carried"]] + self.sizes[n_operands:]
        outs = self._take(len(self.sizes_of_ends), 2)
        self.outs: list[int] = [out for out, _ in outs]
        self.is_read = [out != _UNREAD for out in self.outs]
        self.steps: list[int] = [step for _, step in outs]  # 0: the last turn alone has one
        self.in_blocks = bool(plan["in_blocks"])
        if self.in_blocks:
            self.ends = self._take(len(self.sizes_of_ends))
            return
        self.into_ahead = self._take(plan["n_into_ahead"])
        self.from_ahead = self._take(plan["n_from_ahead"], 2)
        self.into_core = self._take(plan["n_into_core"])
        self.from_core = self._take(plan["n_from_core"])
        self._take(plan["n_carried"] + plan["together"] * plan["n_from_core"])
        self.ends = self._take(plan["n_carried"] + plan["n_from_core"])  # of a single turn
        self.into_behind = self._take(plan["n_into_behind"])
        self.from_behind = self._take(plan["n_from_behind"], 2)
        self.kept = self._take(plan["n_kept"])
        self.sums = self._take(plan["n_summed"])

    def _take(self, n: int, width: int = 1) -> list[Any]:
        words = self._words[self._at : self._at + n * width]
        self._at += n * width
        taken: list[Any] = (words if width == 1 else words.reshape(n, width)).tolist()
        return taken

    @property
    def n_operations(self) -> int:
        """Of one turn."""
        if self.in_blocks:
            return int(self.parts["core"]["n_operations"])
        programs = [self.parts[name] for name in ("ahead", "single", "behind")]
        return sum(program["n_operations"] for program in programs if program is not None)

    def lengths(self, n: int) -> list[int]:
        """How many numbers there are of each that is carried, kept and summed."""
        ends = enumerate(zip(self.sizes_of_ends, self.steps, strict=True))
        return [size + (n - (k >= self.parts["n_carried"])) * step for k, (size, step) in ends]

    def places_written(self, n: int) -> list[tuple[int, int]]:
        """Where the ends that are read go, and how many numbers they have."""
        ends = zip(self.outs, self.lengths(n), self.is_read, strict=True)
        return [(out, length) for out, length, is_read in ends if is_read]


def cores(parts: dict[str, Any]) -> dict[tuple[int, ...], dict[str, Any]]:
    """The programs of turns that hand on blocks, by the numbers of their loops, from without."""
    programs: dict[tuple[int, ...], dict[str, Any]] = {}
    for k, scan in enumerate(parts["scans"]):
        if scan["in_blocks"]:
            programs[k,] = scan["core"]
            programs |= {(k, *path): core for path, core in cores(scan["core"]).items()}
    return programs


def bounds_of(first: int, steps: Sequence[int], lengths: Sequence[int]) -> tuple[int, int]:
    """The lowest and the highest place of a view."""
    spans = [step * (n - 1) for step, n in zip(steps, lengths, strict=True)]
    low = sum(x for x in spans if x < 0)
    return first + low, first + sum(spans) - low


def first_places(regions: Iterable[Region]) -> list[int]:
    """Where regions begin: of listed places all of them."""
    return [
        place
        for region in regions
        for place in (region.tolist() if isinstance(region, np.ndarray) else region[:1])
    ]


def shape_of(parts: dict[str, Any], i: Instruction) -> Shape:
    """Over how many numbers an instruction goes."""
    if not Trait.OVER_PLAN[i.kind]:
        return (i.n,)
    shape: Shape = binding.read_plan(parts["plans"], i.x)[0]
    return shape


def operands_of(
    parts: dict[str, Any], k: int, in_tiles: bool = False
) -> tuple[Shape, list[Stream | Places]]:
    """The shape that an instruction goes over; its result, and what it reads.

    These are the views of its plan; or else its regions, of which some are lists of places.
    """
    i = instruction(parts, k)
    if Trait.OVER_PLAN[i.kind]:
        shape, views, *_ = binding.read_plan(parts["plans"], i.x)
        moves = moves_of(parts, i) if in_tiles else [(0, 0)] * len(views)
        return shape, [Stream(*view, by) for view, by in zip(views, moves, strict=True)]
    operands: list[Stream | Places] = []
    for region in regions_of(parts, k):
        if isinstance(region, np.ndarray):
            operands.append(region)
            continue
        first, (n,), (step,), _ = region
        move = n * step if in_tiles and first < parts["n_whole"] else 0
        operands.append(Stream(first, (step,), (move, 0)))
    return (i.n,), operands


def regions_of(parts: dict[str, Any], k: int) -> list[Region]:
    """What an instruction writes, and then what else it reads."""
    reads, writes = parts["accesses"][k]
    return [*writes, *(x for x in reads if not any(x is written for written in writes))]


def moves_of(parts: dict[str, Any], i: Instruction) -> list[tuple[int, int]]:
    """How far each view of a plan moves from tile to tile, and from part to part of these."""
    *_, (*of_turns, of_part) = binding.read_plan(parts["plans"], i.x)
    return [(move, of_part if k == 0 else 0) for k, move in enumerate(of_turns)]


def value_by_formula(kind: int, value: str) -> tuple[str, bool]:
    """What an instruction writes, as a form for what it reads; whether it adds to its result.

    `value` is that of its operation. One that adds reads its result first.
    """
    if " += " in FORMULAS[kind]:
        return "{0} + {1}", True
    return FORMULAS[kind].partition(" = ")[2].format(f=value, x="{0}"), False


def heads_of(parts: dict[str, Any]) -> dict[int, Instruction]:
    """Of each instruction that goes tile by tile the head of its loop."""
    heads = np.flatnonzero(Trait.HEADS[parts["code"]["kind"]]).tolist()
    return {
        k + j: head
        for k in heads
        for head in [instruction(parts, k)]
        for j in range(1, head.fused)
    }


def adds_apart(in_any_order: int, shape: Shape, to: Shape, steps: Shape) -> bool:
    """Whether a sum over the last axis is found by itself, or term by term with what is there.

    It is the latter in whatever order, where the terms of several sums stand side by side.
    """
    is_beside = len(shape) > 1 and to[-2] == steps[-2] == 1 != steps[-1]
    return bool(shape) and shape[-1] > 1 and to[-1] == 0 and not (in_any_order and is_beside)


def result_places(parts: dict[str, Any]) -> Iterator[int]:
    for place, step, n, listed in parts["outputs"].tolist():
        if listed:
            yield from parts["lists"][place : place + n].tolist()
        else:
            yield from range(place, place + n * step, step) if step else [place] * n


def in_workspace(parts: dict[str, Any], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Floats by the places of doubles that they stand in; those of an input by its places."""
    if not np.any(places >= parts["least_float"]):
        return places
    places = np.where(places < parts["least_float"], places, (places - parts["floats"]) // 2)
    for place, size, _, result, floats in parts["referred"].tolist():
        if floats >= 0 and result < 0:
            is_of_input = (places >= floats) & (places <= floats + size // 2)
            places = np.where(is_of_input, place + 2 * (places - floats), places)
    return places


def is_kept(parts: dict[str, Any], place: int) -> bool:
    """Whether a place is none of those that each turn of a loop over tiles writes anew."""
    if place >= parts["least_float"]:
        place = (place - parts["floats"]) // 2
    return bool(place < parts["n_whole"])
