"""Which operations take the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ..inspection import Tape
from ..programs.profiles import Profile
from ..programs.program import Program
from ._axes import MARK, colors, is_dark, new_axes

_BAR = 0.36  # inches


class _Bar(NamedTuple):
    label: str
    length: float
    text: str
    where: str


def profile(
    f: Any,
    /,
    *args: Any,
    what: str = "value_and_grad",
    max_bars: int = 15,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Draw which operations of a program take the time, as bars.

    Parameters
    ----------
    f : Program, callable, Profile or Tape
        A program or a function, which is compiled, and timed at the arguments: see
        `Program.profile`, whose result can be given as well. A Tape has no time of its own, and is
        not run: of it, bars are how many numbers its operations computed.
    *args, **kwargs
        Arguments of f, of which the first is differentiated by.
    what : str
        Which program is timed: "value", "value_and_grad", "jvp", "vjp", "hvp" ...
    max_bars : int
        How many kinds of operations are shown at most; the others are one bar.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure unless told.

    Returns
    -------
    matplotlib.axes.Axes
        With a bar for each kind of operation, the longest on top: how long all of them take, with
        their share, how many numbers they compute, and the lines of the program that have them.
    """
    if isinstance(max_bars, bool) or not isinstance(max_bars, int) or max_bars < 1:
        raise ValueError(f"max_bars is an int of 1 or more, not {max_bars!r}")
    if isinstance(f, Tape):
        title, axis, bars = _of_tape(f)
    else:
        if not isinstance(f, Profile):
            f = (f if isinstance(f, Program) else Program(f)).profile(*args, what=what, **kwargs)
        title, axis, bars = _of_profile(f)
    if len(bars) > max_bars:
        rest = bars[max_bars - 1 :]
        total = sum(bar.length for bar in rest)
        share = sum(bar.length for bar in bars)
        more = _Bar(f"{len(rest)} others", total, f"{total / (share or 1.0):.0%}", "")
        bars = [*bars[: max_bars - 1], more]
    ax = new_axes(ax, (7.5, 1.2 + _BAR * max(len(bars), 2)))
    _draw(ax, bars)
    ax.set_title(title)
    ax.set_xlabel(axis)
    return ax


def _of_profile(found: Profile) -> tuple[str, str, list[_Bar]]:
    total = sum(cost.seconds for cost in found.costs)
    _, factor, unit = _unit(max((cost.seconds for cost in found.costs), default=0.0))
    bars = [
        _Bar(
            cost.operation,
            cost.seconds * factor,
            f"{cost.seconds / (total or 1.0):.0%} · {cost.numbers:,}",
            _where(cost.lines),
        )
        for cost in found.costs
    ]
    whole, _, _ = _unit(found.seconds)
    inside, _, _ = _unit(total)
    title = f"{found.what}: {whole} a call,\n{inside} in operations, timed one by one"
    return title, f"{unit} · share · numbers", bars


def _of_tape(tape: Tape) -> tuple[str, str, list[_Bar]]:
    counts = tape.numbers_by_operation()
    total = sum(numbers for _, numbers in counts.values())
    bars = [
        _Bar(name, numbers, f"{numbers / (total or 1):.0%} · {count:,} ×", "")
        for name, (count, numbers) in counts.items()
    ]
    return f"{len(tape):,} operations, {total:,} numbers", "numbers · share · operations", bars


def _unit(seconds: float) -> tuple[str, float, str]:
    """A time in words, and by what to multiply others to have them in the same unit."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")):
        if seconds * factor >= 1.0 or unit == "ns":
            break
    words = f"{seconds * factor:.3g} {unit}" if seconds >= 1e-9 else "less than 1 ns"
    return words, factor, unit


def _where(lines: tuple[tuple[str, int], ...]) -> str:
    """The first lines of those that have an operation."""
    shown = [f"{Path(file).name}:{line}" for file, line in lines[:2]]
    return ", ".join([*shown, *([f"+{len(lines) - 2}"] if len(lines) > 2 else [])])


def _draw(ax: Any, bars: list[_Bar]) -> None:
    from matplotlib.transforms import blended_transform_factory

    places = range(len(bars))
    color = colors(ax, 1)[0]
    longest = max((bar.length for bar in bars), default=0.0)
    ax.barh(places, [bar.length for bar in bars], color=color, height=0.7)
    ax.set_yticks(places, [bar.label.replace("$", r"\$") for bar in bars])
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.9 * longest or 1.0)  # texts stand beside the bars
    style: dict[str, Any] = {"va": "center", "fontsize": "small", "parse_math": False}
    at_right = {"transform": blended_transform_factory(ax.transAxes, ax.transData), "ha": "right"}
    for k, bar in enumerate(bars):
        ax.annotate(bar.text, (bar.length, k), (4, 0), textcoords="offset points", **style)
        ax.text(0.99, k, bar.where, color=MARK[is_dark(ax)], **at_right, **style)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
