"""Programs as text: their instructions in words, and as graphs of what reads what.

Of a long program only the first and the last instructions are put in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..binding import Code
from ..inspection import texts
from .instructions import (
    FORMULAS,
    WORDS,
    Instruction,
    Places,
    Region,
    ScanPlan,
    Shape,
    Trait,
    heads_of,
    in_workspace,
    instruction,
    is_kept,
    moves_of,
    operands_of,
    regions_of,
    result_places,
    single_operations,
    written_by,
)
from .text_in_c import index_text, place_text

_NAMES, _ = binding.operation_names()
_KINDS = binding.operation_kinds()
_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "**",
    "less": "<",
    "less_equal": "<=",
    "equal": "==",
    "not_equal": "!=",
}
_NONE = np.empty(0, np.int64)
_FEW = 6  # places of a list, above which the middle ones are left out


class _Line(NamedTuple):
    """An instruction, or a single operation of one that consists of several."""

    number: int
    i: Instruction
    single: int
    label: str


class _Listing:
    """The lines of a program. A loop has one for its head, one for each operation, and an end."""

    def __init__(self, code: Code, whole_loops: bool = False) -> None:
        self.parts = code.parts()
        self.n_operations = code.n_operations
        self.steps = code.steps
        instructions = self.parts["code"]
        is_singles = Trait.OVER_SINGLES[instructions["kind"]]
        is_loop = is_singles & (instructions["y"] > 1)
        has_lines = is_singles | Trait.OVER_CHECKS[instructions["kind"]]
        counts = np.where(has_lines, instructions["n"].astype(np.int64), 1)
        counts[is_loop] = 1 if whole_loops else counts[is_loop] + 2
        self.ends = np.cumsum(counts)
        self.whole_loops = whole_loops
        self.heads = heads_of(self.parts)
        self.n_last_checks = len(self.parts["checks"]) if self.parts["compares_last"] else 0

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def line(self, k: int) -> _Line:
        index = int(np.searchsorted(self.ends, k, side="right"))
        i = instruction(self.parts, index)
        within = k - (int(self.ends[index - 1]) if index else 0)
        if Trait.OVER_SINGLES[i.kind] and i.y > 1:
            within -= 0 if self.whole_loops else 1  # the head comes first
            if self.whole_loops or within < 0:
                return _Line(index, i, -1, f"#{index}")
            return _Line(index, i, within, f"#{index}.{within}" if within < i.n else " ")
        if not (Trait.OVER_SINGLES | Trait.OVER_CHECKS)[i.kind]:
            return _Line(index, i, -1, f"#{index}")
        return _Line(index, i, within, f"#{index}.{within}" if i.n > 1 else f"#{index}")

    # --- in words ---

    def head(self, title: str) -> str:
        parts = self.parts
        counts = [
            texts.counted(parts["n_inputs"], "input"),
            texts.counted(parts["n_results"], "result"),
            texts.counted(self.n_operations, "operation"),
            texts.counted(len(parts["code"]), "instruction"),
            texts.counted(parts["n_places"], "place"),
        ]
        rare = {"constant": len(parts["constants"]), "guard": len(parts["checks"])}
        counts += [texts.counted(count, what) for what, count in rare.items() if count > 0]
        return f"{title}: {', '.join(counts)}"

    def cells(self, k: int) -> tuple[str, ...]:
        line = self.line(k)
        return (line.label, *self.in_words(line))

    def in_words(self, line: _Line) -> tuple[str, str, str, str]:
        """What is carried out, on how many numbers, its formula, and what else there is to say."""
        i = line.i
        if Trait.OVER_SINGLES[i.kind]:
            if line.single < 0:
                return "loop", f"{i.y} × {{", "", ""
            if line.single == i.n:
                return "", "}", "", ""
            operations = single_operations(self.parts["singles"][i.x + line.single].tolist())
            formulas = [
                f"{place_text(out)} = {_value(op, [self.stretch(place) for place in operands])}"
                for op, out, operands in operations
            ]
            name = " and ".join(texts.readable(_NAMES[op]) for op, _, _ in operations)
            return WORDS[i.kind], name, "; ".join(formulas), ""
        if Trait.OVER_CHECKS[i.kind]:
            return self.check(i.x + line.single)[1:]
        word, name = WORDS[i.kind], texts.readable(_NAMES[i.op])
        if Trait.HEADS[i.kind]:
            last = f"#{line.number + i.fused - 1}"
            return word, f"to {last}", f"{i.n} times, r of them before", ""
        if Trait.OVER_SCAN[i.kind]:
            return word, *self.scan(i), ""
        shape, (result, *read) = self.operands(line)
        sign = "-" * i.z
        text = FORMULAS[i.kind].format(
            r=result,
            x="".join(read[:1]),
            all=" * ".join(read),
            f=_value(i.op, read),
            kind="sum" if _KINDS.get(i.op, (False,))[0] else name,
            to="+=" if i.n == 0 else "=",  # to the sums of tiles before
            set=f"{sign or '+'}= " if i.y else f"= {sign}",
            call=self.steps[i.z].name if Trait.CALLS[i.kind] else "",
            index=self.index(i, read),
        )
        if Trait.CALLS[i.kind]:
            return word, self.steps[i.z].name, text, ""
        if not Trait.OPERATES[i.kind]:
            many = str(shape) if Trait.OVER_PLAN[i.kind] else texts.counted(i.n, "number")
            return word, many, text, ""
        if not word:
            return name, str(shape), text, ""
        return word, f"{shape if Trait.OVER_PLAN[i.kind] else i.n} × {name}", text, ""

    def index(self, i: Instruction, operands: Sequence[str]) -> str:
        """Where an index that is computed leads, out of how many; "" if there is none."""
        if not Trait.OVER_PLAN[i.kind] or Trait.OPERATES[i.kind]:
            return ""
        *_, (length, stride) = binding.read_plan(self.parts["plans"], i.x)
        return f"{'' if stride == 1 else f'{stride} * '}({operands[-1]} of {length})"

    def scan(self, i: Instruction) -> tuple[str, str]:
        """How much work a recurrence is, and what of."""
        scan = ScanPlan(self.parts, i.x)
        counts = {name: scan.parts[f"n_{name}"] for name in ("carried", "given", "kept", "summed")}
        outs = ", ".join(self.stretch(out, 1, length) for out, length in scan.places_written(i.n))
        counted = [f"{count} {name}" for name, count in counts.items() if count > 0]
        return (
            f"{i.n} × {texts.counted(scan.n_operations, 'operation')}",
            f"{outs} = {', '.join(counted)}",
        )

    def stretch(self, place: int, step: int = 0, n: int = 1, turns: bool = False) -> str:
        """So many places, `step` apart; constants by their values, and f for those of floats.

        Where they belong to a tile, the next one has as many further on.
        """
        is_float, is_one = place >= self.parts["least_float"], step == 0 or n == 1
        last, kept = place + step * (n - 1), is_kept(self.parts, place)
        move = n * step if turns and kept and not (is_float and is_one) else 0
        if place < 0 and last < 0 and not move:
            if is_one:
                return texts.number_text(float(self.parts["constants"][place]))
            return texts.abridged(self.parts["constants"][place + step * np.arange(n)])
        first = place - self.parts["floats"] * is_float
        by = f" by {step}" if step != 1 else ""
        text = f"{first}" if is_one else f"{first}..{first + last - place}{by}"
        return f"{'f' if is_float else 'w'}[{index_text(text, (move, 'r'))}]"

    def operands(self, line: _Line) -> tuple[Shape, list[str]]:
        """The shape of an instruction; its result, and what it reads.

        Views of plans are at i0, i1 and so on along the axes. In a loop over tiles, all are those
        of turn r; so many turns make a part.
        """
        head = self.heads.get(line.number)
        shape, streams = operands_of(self.parts, line.number, head is not None)
        if not Trait.OVER_PLAN[line.i.kind]:
            regions = regions_of(self.parts, line.number)
            return shape, [self.region(region, head is not None) for region in regions]
        written = []
        for first, strides, (move, of_part) in streams:
            steps = [(move, "r"), (of_part, f"(r // {head.x if head else 1})")]
            axes = enumerate(zip(strides, shape, strict=True))
            steps += [(stride, f"i{k}") for k, (stride, n) in axes if n != 1]
            if first < 0 and not any(step for step, _ in steps):
                written.append(texts.number_text(float(self.parts["constants"][first])))
            else:
                is_float = first >= self.parts["least_float"]
                first -= self.parts["floats"] if is_float else 0
                written.append(place_text(first, *steps, name="f" if is_float else "w"))
        return shape, written

    def region(self, region: Region, turns: bool = False) -> str:
        """Places in a row; or by a list, without the middle ones; constants are below 0."""
        if not isinstance(region, np.ndarray):
            first, (n,), (step,), _ = region
            return self.stretch(first, step, n, turns)
        shown = [str(place) for place in region.tolist()]
        if len(shown) > _FEW:
            shown[_FEW // 2 : -(_FEW // 2)] = ["..."]
        return f"w[{', '.join(shown)}]"

    def constants(self, _k: int) -> tuple[str, ...]:
        """All of them; one that an operation reads by itself stands there as its value, too."""
        constants = self.parts["constants"]
        n = len(constants)
        where = f"w[{-n}..-1]" if n > 1 else "w[-1]"
        text = f"{where} = {self.stretch(-n, 1, n)}"
        return "", "constants", texts.counted(n, "number"), text, ""

    def check(self, k: int) -> tuple[str, str, str, str, str]:
        place, number, value = self.parts["checks"][k].tolist()
        text = f"{self.stretch(place)} == {texts.number_text(value)}"
        return "", "guard", str(number), text, ""

    def result(self, k: int) -> tuple[str, ...]:
        place, step, n, listed = self.parts["outputs"][k].tolist()
        places = self.parts["lists"][place : place + n]
        text = self.region(places if listed else (place, (n,), (step,), -1))
        return "", "result", texts.counted(n, "number"), text, ""

    # --- what reads what ---

    def reads_and_writes(self, line: _Line) -> tuple[Places, Places]:
        reads, writes = self.named_places(line)
        return in_workspace(self.parts, reads), in_workspace(self.parts, writes)

    def named_places(self, line: _Line) -> tuple[Places, Places]:
        """The same, floats by names of their own."""
        i = line.i
        if Trait.OVER_SINGLES[i.kind]:
            begin = i.x + max(line.single, 0)
            singles = self.parts["singles"][begin : i.x + i.n if line.single < 0 else begin + 1]
            return _reads_of_singles(singles), written_by(singles)
        if Trait.OVER_CHECKS[i.kind]:
            return self.parts["checks"]["place"][i.x + line.single :][:1].astype(np.int64), _NONE
        head = self.heads.get(line.number)
        reads, writes = (
            np.concatenate([_NONE, *[self.places_of(i, head, region) for region in regions]])
            for regions in self.parts["accesses"][line.number]
        )
        return reads, writes

    def places_of(self, i: Instruction, head: Instruction | None, region: Region) -> Places:
        """The places of a region, in all turns of tiles, if it is in a loop over these."""
        if isinstance(region, np.ndarray):
            return region
        first, shape, steps, view = region
        if head is not None and view >= 0:
            shape = head.n, -(-head.n // head.x), *shape
            steps = *moves_of(self.parts, i)[view], *steps
        elif head is not None and is_kept(self.parts, first):
            shape = head.n * i.n, *shape[1:]
        return _seen(shape, first, steps)


def _value(op: int, operands: Sequence[str]) -> str:
    """An operation as people write it."""
    name = texts.readable(_NAMES[op])
    if name in _SIGNS:
        if name == "power" and operands[0].startswith("-"):
            operands = [f"({operands[0]})", *operands[1:]]
        return f" {_SIGNS[name]} ".join(operands)
    return f"{name}({', '.join(operands)})"


def _seen(shape: Sequence[int], first: int, strides: Sequence[int]) -> Places:
    """The places of a view; those that are seen several times, once."""
    places = np.array([first])
    for length, stride in zip(shape, strides, strict=True):
        places = (places[:, None] + stride * np.arange(length if stride else 1)).ravel()
    return places


def _reads_of_singles(singles: Any) -> Places:
    """The places that operations read, but those that one before has written."""
    written: set[int] = set()
    places = []
    for single in singles.tolist():
        for _, out, operands in single_operations(single):
            places += [place for place in operands if place not in written]
            written.add(out)
    return np.array(places, dtype=np.int64)


def to_text(code: Code, title: str, max_rows: int = 200) -> str:
    """The instructions of a program, a line each: see Program.to_text."""
    texts.check_rows(max_rows)
    listing = _Listing(code)
    parts = listing.parts
    groups: tuple[tuple[str, int, Callable[[int], tuple[str, ...]]], ...] = (
        ("constants", min(len(parts["constants"]), 1), listing.constants),
        ("lines", len(listing), listing.cells),
        ("guards", listing.n_last_checks, listing.check),
        ("results", len(parts["outputs"]), listing.result),
    )
    lines = texts.first_and_last(groups, max_rows)
    return "\n".join([listing.head(title), *texts.table([*lines])])


def to_dot(codes: Iterable[tuple[str, Code]], name: str, max_rows: int = 100) -> str:
    """Programs, with their titles, as one graph for Graphviz: see Program.to_dot."""
    texts.check_rows(max_rows)
    lines = [f"digraph {texts.quoted([name])} {{"]
    for k, (title, code) in enumerate(codes):
        listing = _Listing(code, whole_loops=True)
        nodes, edges = _graph(listing, max_rows, f"p{k}_")
        inner = texts.digraph(f"subgraph cluster_{k}", nodes, edges)
        inner.insert(1, f"  label={texts.quoted([title])};")
        lines += [f"  {line}" for line in inner]
    return "\n".join([*lines, "}"])


def graph(code: Code, title: str, max_rows: int = 100) -> texts.Graph:
    """A program as a graph of what its instructions read; parameters as those of `to_text`."""
    texts.check_rows(max_rows)
    nodes, edges = _graph(_Listing(code, whole_loops=True), max_rows, "")
    kinds = {"inputs": "input", "results": "output", "left_out": "gap"}
    labelled = [(name, label, kinds.get(name, "operation")) for name, label, _ in nodes]
    return texts.Graph(title, labelled, edges).with_gaps_joined()


def _graph(
    listing: _Listing, max_rows: int, prefix: str
) -> tuple[list[tuple[str, list[str], bool]], list[tuple[str, str]]]:
    """Nodes in the order of the program, and edges."""
    parts = listing.parts
    n_inputs = parts["n_inputs"]
    nodes: list[tuple[str, list[str], bool]] = []
    edges: dict[tuple[str, str], None] = {}
    writers = np.full(parts["n_places"], -1)  # by the number of the node

    def add(node: str, label: list[str], reads: Places, is_round: bool = False) -> None:
        for k in np.unique(writers[reads[reads >= 0]]).tolist():
            if k >= 0:
                edges[nodes[k][0], f"{prefix}{node}"] = None
        nodes.append((f"{prefix}{node}", [text for text in label if text], is_round))

    if n_inputs > 0:
        label = ["inputs", listing.stretch(0, 1, n_inputs)]
        add("inputs", label, _NONE, True)
        writers[:n_inputs] = 0
    at = 0
    for row in texts.first_and_last([("operations", len(listing), listing.line)], max_rows):
        if isinstance(row, _Line):
            reads, writes = listing.reads_and_writes(row)
            add(f"op{at}", _label(listing, row), reads)
            writers[writes] = len(nodes) - 1
            at += 1
        else:
            add("left_out", [str(row)], _NONE)
            for writes in _written(listing, at, at + row.n):
                writers[writes] = len(nodes) - 1
            at += row.n
    if listing.n_last_checks > 0:
        label = [texts.counted(listing.n_last_checks, "guard")]
        add("guards", label, parts["checks"]["place"].astype(np.int64), True)
    results = in_workspace(parts, np.fromiter(result_places(parts), np.int64))
    add("results", [texts.counted(parts["n_results"], "result")], results, True)
    return nodes, list(edges)


def _label(listing: _Listing, line: _Line) -> list[str]:
    word, name, text, _ = listing.in_words(line)
    i = line.i
    if word == "loop":
        return [f"{line.label} {i.y} × {texts.counted(i.n, 'operation')}"]
    return [f"{line.label} {name if word in ('single', 'vector') else f'{word} {name}'}", text]


def _written(listing: _Listing, begin: int, end: int) -> Iterator[Places]:
    """What lines [begin, end) write, many singles at once."""
    k = begin
    while k < end:
        line = listing.line(k)
        i = line.i
        if Trait.OVER_SINGLES[i.kind] and i.y <= 1:
            n = min(end - k, i.n - line.single)
            first = i.x + line.single
            yield written_by(listing.parts["singles"][first : first + n])
            k += n
        else:
            yield listing.reads_and_writes(line)[1]
            k += 1
