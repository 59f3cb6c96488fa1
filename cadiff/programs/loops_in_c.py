"""Loops of fused instructions as text in C. This module does not know how loops are found."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from .fused_loops import Loop
from .instructions import Stream
from .text_in_c import loop, place_text


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
