"""What texts about programs and tapes share: tables with a middle left out, and graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")

_READABLE = {
    "_leaf": "Var",
    "_assign": "assign",
    "_scatter": "assign",
    "_add_at": "add.at",
    "_gather": "take",
    "_amul": "multiply",
}


class Graph(NamedTuple):
    """What reads what: nodes in an order in which edges lead forwards.

    Attributes
    ----------
    title : str
    nodes : list of (str, list of str, str)
        A name, the lines of the label, and the kind: "input", "output", "operation", or "gap",
        which stands for what is left out.
    edges : list of (str, str)
        Names of what is read, and of what reads it.
    """

    title: str
    nodes: list[tuple[str, list[str], str]]
    edges: list[tuple[str, str]]

    def with_gaps_joined(self) -> Graph:
        """With an edge to each gap that none leads to, from the operation before it."""
        edges = list(self.edges)
        led_to = {target for _, target in edges}
        for before, (name, _, kind) in zip(self.nodes, self.nodes[1:], strict=False):
            if kind == "gap" and name not in led_to and before[2] != "input":
                edges.append((before[0], name))
        return self._replace(edges=edges)


def readable(name: str) -> str:
    """The name of an operation, as people write it."""
    return _READABLE.get(name, name.removeprefix("_"))


def counted(count: int, what: str, several: str = "") -> str:
    return f"{count} {what if count == 1 else several or f'{what}s'}"


def number_text(x: float) -> str:
    return f"{x:.6g}"


def abridged(array: NDArray[Any]) -> str:
    """On one line, at most some elements of each axis."""
    edge = 2 if array.ndim == 1 else 1
    text = np.array2string(array, precision=4, threshold=8, edgeitems=edge, max_line_width=10**6)
    return " ".join(text.split())


def check_rows(max_rows: int, name: str = "max_rows") -> None:
    """Raise unless there is to be a row, or what the name says, at least."""
    if isinstance(max_rows, bool) or not isinstance(max_rows, (int, np.integer)) or max_rows < 1:
        raise ValueError(f"{name} is a whole number, at least 1, not {max_rows!r}")


class Gap(NamedTuple):
    """What stands in the place of items that are left out."""

    what: str
    n: int

    def __str__(self) -> str:
        return f"... {self.n} {self.what} left out ..."


def first_and_last(
    groups: Iterable[tuple[str, int, Callable[[int], Item]]], max_rows: int
) -> Iterator[Item | Gap]:
    """The k-th item of each group; in place of those left out, a Gap."""
    for what, count, item in groups:
        shown = min(count, max_rows)
        ahead = shown if shown == count else (shown + 1) // 2
        for k in range(ahead):
            yield item(k)
        if shown < count:
            yield Gap(what, count - shown)
        for k in range(count - (shown - ahead), count):
            yield item(k)


def table(lines: Sequence[tuple[str, ...] | Gap]) -> list[str]:
    """Cells one below the other; a Gap has none."""
    cells = [line for line in lines if not isinstance(line, Gap)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        str(line)
        if isinstance(line, Gap)
        else "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    ]


def quoted(lines: Sequence[str]) -> str:
    """Lines as a string of Graphviz's; it has no control characters."""
    clean = ["".join(c if c.isprintable() else "?" for c in line) for line in lines]
    return '"' + r"\n".join(x.replace("\\", "\\\\").replace('"', '\\"') for x in clean) + '"'


def digraph(
    head: str, nodes: Iterable[tuple[str, Sequence[str], bool]], edges: Iterable[tuple[str, str]]
) -> list[str]:
    """The lines of a graph in the language of Graphviz, or of a part of one.

    A node has a name, the lines of its label, and whether it is round.
    """
    lines = [f"{head} {{", '  node [shape=box, fontname="monospace"];']
    for node, label, is_round in nodes:
        style = ", style=rounded" if is_round else ""
        lines.append(f"  {node} [label={quoted(label)}{style}];")
    lines += [f"  {source} -> {node};" for source, node in edges]
    return [*lines, "}"]
