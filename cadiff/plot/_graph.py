"""Recordings and programs as graphs: what each operation reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..inspection import Tape, make_tape
from ..inspection.layout import Layout, laid_out
from ..inspection.texts import Graph, check_rows
from ..programs.program import Program
from ._axes import is_dark, new_axes

_FONT = 9.0  # points
_CHAR, _LINE = 0.645 * _FONT, 1.35 * _FONT  # of a character, rounded up to whole pixels
_PADDING = 5.0
_MARGIN = 12.0
_TITLE = 26.0
_LONGEST = 34  # characters of a line
_LARGEST = 600.0  # inches along a side: more pixels than matplotlib draws

# Of boxes, by kinds: the colours inside and around, on light ground and on dark.
_BOXES = {
    "input": (("#DCEBF7", "#0072B2"), ("#12344A", "#56B4E9")),
    "output": (("#FBE3D3", "#D55E00"), ("#52280C", "#FF9D5C")),
    "operation": (("#F4F4F4", "#777777"), ("#262626", "#999999")),
    "gap": (("none", "none"), ("none", "none")),
}


def graph(
    f: Any,
    /,
    *args: Any,
    what: str | None = None,
    max_nodes: int = 100,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Draw a recording, or a program, as a graph: operations, below all that they read.

    Parameters
    ----------
    f : Tape, Program or callable
        What `make_tape` gave; a program that was called before; or a function, which is recorded.
    *args, **kwargs
        Arguments of a function, or of a program whose value is drawn.
    what : str, optional
        Which of the programs of a Program, by how `to_text` calls it: "value", "gradient" ... The
        first one unless told.
    max_nodes : int
        How many operations, and how many inputs, are shown at most: the first and the last ones.
        A node says how many are left out.
    ax : matplotlib.axes.Axes, optional
        Where to draw, in letters that fit; a new figure of the size that it takes unless told.

    Returns
    -------
    matplotlib.axes.Axes
        With a text and a box for each node: inputs, what the function returns, and the rest have
        colours of their own, and say what they are. Edges lead from operands to results.
    """
    found = _found(f, args, kwargs, what, max_nodes)
    labels = {name: _lines(lines) for name, lines, _ in found.nodes}
    sizes = {
        name: (_CHAR * max(map(len, lines)) + 2 * _PADDING, _LINE * len(lines) + 2 * _PADDING)
        for name, lines in labels.items()
    }
    layout = laid_out(sizes, found.edges)
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    if ax is None:
        width = max(width, 0.62 * _FONT * len(found.title) + 2 * _MARGIN)
        inches = [min(side / 72.0, _LARGEST) for side in (width, height + _TITLE)]
        ax = new_axes(None, (inches[0], inches[1]))
        ax.figure.set_layout_engine("none")
        ax.set_position((0.0, 0.0, 1.0, height / (height + _TITLE)))
    new_axes(ax)
    left = (width - layout.width) / 2
    ax.set_xlim(-left, width - left)
    ax.set_ylim(layout.height + _MARGIN, -_MARGIN)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(found.title, fontsize=_FONT + 1)
    _draw(ax, found, labels, layout, (width, height))
    return ax


def _found(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], what: str | None, max_nodes: int
) -> Graph:
    check_rows(max_nodes, "max_nodes")
    if isinstance(f, Program):
        if args or kwargs:
            f(*args, **kwargs)
        return f.to_graph(what, max_nodes)
    if what is not None:
        raise TypeError(f"what={what!r} is of programs; graph(cadiff.compile(f), x, what=...)")
    if isinstance(f, Tape):
        return f.to_graph(max_nodes)
    if callable(f):
        return make_tape(f)(*args, **kwargs).to_graph(max_nodes)
    raise TypeError(f"graph takes a Tape, a Program or a function, not {type(f).__name__}")


def _lines(lines: Sequence[str]) -> list[str]:
    """Lines as they are written: not too long, and without what has no glyph."""
    clean = ["".join(c if c.isprintable() else "?" for c in line) for line in lines]
    return [line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..." for line in clean]


def _draw(
    ax: Any, found: Graph, labels: dict[str, list[str]], layout: Layout, size: tuple[float, float]
) -> None:
    from matplotlib.patches import FancyBboxPatch

    dark = is_dark(ax)
    box = ax.get_window_extent()
    per_point = ax.figure.dpi / 72.0
    scale = min(box.width / size[0], box.height / size[1]) / per_point
    _draw_edges(ax, found, layout, min(scale, 1.0))
    font: dict[str, Any] = {"family": "DejaVu Sans Mono", "fontsize": _FONT * scale}
    font |= {"linespacing": 1.15, "color": "#F2F2F2" if dark else "#111111"}
    place = {"ha": "center", "va": "center", "zorder": 3, "clip_on": True, "parse_math": False}
    for name, _, kind in found.nodes:
        fill, edge = _BOXES[kind][dark]
        x, y, width, height = layout.boxes[name]
        corner = (x - width / 2, y - height / 2)
        style = f"round,pad=0,rounding_size={4 if kind == 'operation' else 9}"
        line = min(scale, 1.0) * (1.0 if kind == "operation" else 1.6)
        look = {"boxstyle": style, "facecolor": fill, "edgecolor": edge, "linewidth": line}
        ax.add_patch(FancyBboxPatch(corner, width, height, zorder=2, **look))
        ax.text(x, y, "\n".join(labels[name]), **font, **place)


def _draw_edges(ax: Any, found: Graph, layout: Layout, scale: float) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    gaps = {name for name, _, kind in found.nodes if kind == "gap"}
    look: dict[str, Any] = {"mutation_scale": 8.0 * scale, "linewidth": 0.9 * scale, "zorder": 1}
    look |= {"color": "#AAAAAA" if is_dark(ax) else "#666666", "arrowstyle": "-|>"}
    look |= {"shrinkA": 0.0, "shrinkB": 0.0}
    for (source, target), way in zip(found.edges, layout.ways, strict=True):
        points, codes = [way[0]], [Path.MOVETO]
        for k, (x, y) in enumerate(way[1:]):
            from_x, from_y = way[k]
            if k % 2 == 0:  # through the room between two layers
                middle = (from_y + y) / 2
                points += [(from_x, middle), (x, middle), (x, y)]
                codes += [Path.CURVE4] * 3
            else:
                points.append((x, y))
                codes.append(Path.LINETO)
        line = ":" if gaps & {source, target} else "-"
        ax.add_patch(FancyArrowPatch(path=Path(points, codes), linestyle=line, **look))
