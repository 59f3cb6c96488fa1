"""``python -m benchmarks.plot FILE.svg``: what a gradient costs, against the number of arguments.

Value and gradient of Rosenbrock's function, in multiples of the function on plain floats: recorded
afresh, replayed by a compiled program, by a graph in pure Python, by other packages as far as they
are installed, and in C by hand where there is a compiler. Results are checked before they are
timed. All ways take turns, and the least time of each counts, so that others may be at work on the
machine.

Beside FILE.svg goes FILE-dark.svg, for dark pages, and FILE.csv with the numbers; they are printed
as well. `--redraw` draws from FILE.csv. The end of the file's name chooses the format.
`draw` serves the first calls of `benchmarks.page`, too.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import contests, peers, program_contests
from benchmarks.contests import (
    FLOATS,
    GRADIENT,
    GRAPH,
    Contest,
    UnavailableError,
    WrongNumbersError,
)
from benchmarks.machine import machine
from benchmarks.program_contests import EAGER, IN_C, NATIVE
from benchmarks.timing import interleave

try:
    import matplotlib as mpl
    from matplotlib import pyplot as plt
    from matplotlib.backend_bases import FigureCanvasBase
except ModuleNotFoundError as error:
    raise SystemExit(f'the plot needs {error.name}: pip install ".[examples]"') from error

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)


class Look(NamedTuple):
    """How a line is drawn; its colour has a contrast of 3 with white and with black."""

    label: str
    colour: str
    marker: str


LOOKS = {
    EAGER: Look("cadiff.value_and_grad(f)", "#d95f02", "s"),
    GRADIENT: Look("cadiff.compile(f)", "#d95f02", "o"),
    NATIVE: Look("cadiff.compile(f, native=True)", "#d95f02", "D"),
    GRAPH: Look("a graph in pure Python", "#808080", "x"),
    peers.AUTOGRAD: Look("autograd", "#1b9e77", "v"),
    peers.TORCH: Look("PyTorch", "#e7298a", "<"),
    peers.JAX_LOOP: Look("JAX, jit", "#3d85c6", "^"),
    peers.JAX_ARRAYS: Look("JAX, jit, rewritten in arrays", "#3d85c6", "."),
    peers.CASADI: Look("CasADi", "#8f74d2", ">"),
    IN_C: Look("C by hand", "#808080", "d"),
}
INK = {"": "#000000", "-dark": "#cfd0d0"}  # of letters and axes, by what the file's name ends in
Costs = dict[str, dict[int, float]]


def main(argv: Sequence[str] | None = None) -> int:
    """Check, measure, print and draw.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments of the command; those of the process if not given.

    Returns
    -------
    int
        0, or 1 if a value or gradient is wrong.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plot",
        description="Plot the cost of gradients of Rosenbrock's function against its size.",
    )
    parser.add_argument("file", help="where the plot goes: .svg, .png, .pdf")
    parser.add_argument("--quick", action="store_true", help="measure little: a smoke test")
    parser.add_argument("--redraw", action="store_true", help="draw what was measured before")
    options = parser.parse_args(argv)
    mpl.use("Agg")
    refused = refusal(Path(options.file))
    if refused:
        parser.error(refused)
    file = Path(options.file)
    table = file.with_suffix(".csv")
    if not options.redraw:
        try:
            about, costs = measure(options.quick)
        except WrongNumbersError as error:
            print(f"Wrong numbers, so nothing is drawn: {error}", file=sys.stderr)
            return 1
        write(table, about, costs)
    elif not table.exists():
        parser.error(f"there is no {str(table)!r} to draw from: measure, without --redraw")
    draw(read(table), file)
    return 0


def refusal(file: Path) -> str:
    """Why nothing can be drawn there, before minutes are spent on measuring; "" if it can."""
    if not file.parent.is_dir():
        return f"there is no directory {str(file.parent)!r} for {file.name!r}"
    formats = sorted(FigureCanvasBase.get_supported_filetypes())
    if file.suffix[1:].lower() not in formats:
        return f"{file.name!r} should end in one of {', '.join('.' + end for end in formats)}"
    return ""


def measure(quick: bool) -> tuple[str, Costs]:
    """What it was measured on, and by way and size the cost in multiples of plain floats."""
    rounds, seconds = (1, 0.002) if quick else (15, 0.02)
    about = machine()
    print(about)
    if without := peers.missing():
        print(f"Not installed, so not measured: {', '.join(without)}")
    costs: Costs = {}
    for n in SIZES[:3] if quick else SIZES:
        contest = ways(n)
        for name in contest.runners:
            contest.check(name)
        calls = {name: runner.call for name, runner in contest.runners.items()}
        timings = interleave(calls, rounds=rounds, seconds=seconds, shared=True)
        plain = timings.seconds(FLOATS).low
        for name in [name for name in LOOKS if name in calls]:
            cost = timings.seconds(name).low / plain
            print(f"{contest.work}: {name}: {cost:.3g} x {FLOATS}", flush=True)
            costs.setdefault(name, {})[n] = cost
    return about, costs


def ways(n: int) -> Contest:
    """The contest with other packages, and with C by hand where there is a compiler."""
    more = {GRAPH: contests.rosenbrock(n).runners[GRAPH], **peers.rosenbrock(n)}
    try:
        compiled = program_contests.rosenbrock_by_hand(n)
        more[NATIVE] = program_contests.rosenbrock_in_machine_code(n)
    except UnavailableError as missing:
        print(f"Without C by hand and machine code: {missing}")
        compiled = program_contests.rosenbrock(n)
    return Contest(compiled.work, {**compiled.runners, **more})


def write(table: Path, about: str, costs: Costs) -> None:
    """Write a row for each way, and a column for each size."""
    with table.open("w", newline="", encoding="utf-8") as stream:
        stream.write(f"# multiples of the function on floats; {about}\n")
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["n", *SIZES])
        for name in [name for name in LOOKS if name in costs]:
            rows.writerow(
                [name, *(f"{costs[name][n]:.3g}" if n in costs[name] else "" for n in SIZES)]
            )


def read(table: Path) -> Costs:
    """What was written."""
    with table.open(newline="", encoding="utf-8") as stream:
        next(stream)
        (_, *sizes), *rows = csv.reader(stream)
    return {
        name: {int(n): float(cost) for n, cost in zip(sizes, cells, strict=True) if cost}
        for name, *cells in rows
    }


def draw(
    costs: Mapping[str, Mapping[int, float]],
    file: Path,
    *,
    title: str = "Value and gradient of Rosenbrock's function, a Python loop",
    ylabel: str = "time, in multiples of f on plain floats",
    at_one: str = "f on plain floats, no gradient",
) -> None:
    """Draw the costs for light pages and for dark ones."""
    for ending, ink in INK.items():
        picture = file.with_stem(file.stem + ending)
        # Letters stay letters, and the same figures give the same file.
        look: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "benchmarks"}
        look |= dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), ink)
        look |= dict.fromkeys(("xtick.color", "ytick.color", "grid.color"), ink)
        with mpl.rc_context(look):
            figure, axes = plt.subplots(figsize=(8.4, 4.2), layout="constrained")
            axes.axhline(1.0, color=ink, linewidth=0.8)
            axes.annotate(
                at_one,
                (min(map(min, costs.values())), 1.0),
                (0.0, -3.0),
                textcoords="offset points",
                va="top",
                fontsize=8.0,
            )
            for name in sorted(costs, key=lambda name: -list(costs[name].values())[-1]):
                label, colour, marker = LOOKS[name]
                own = name in (EAGER, GRADIENT, NATIVE)
                sizes, multiples = zip(*costs[name].items(), strict=True)
                axes.plot(
                    sizes,
                    multiples,
                    color=colour,
                    marker=marker,
                    label=label,
                    linewidth=2.5 if own else 1.2,
                    linestyle="-" if own else "--",
                )
            axes.set(
                xscale="log",
                yscale="log",
                xlabel="number of arguments n",
                ylabel=ylabel,
                title=title,
            )
            axes.grid(which="major", alpha=0.3)
            axes.yaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_major_formatter("{x:,.0f}")
            figure.legend(loc="outside right center", frameon=False)
            metadata = {"Date": None} if file.suffix.lower() == ".svg" else None
            figure.savefig(picture, metadata=metadata, transparent=True)
            plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
