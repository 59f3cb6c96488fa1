"""``python -m benchmarks.plot FILE.svg``: what a gradient costs, against the number of arguments.

Value and gradient of Rosenbrock's function, in multiples of the function on plain floats: recorded
afresh, replayed by a compiled program, and in C by hand where there is a compiler. Results are
checked before they are timed, and the numbers that are drawn are printed as well. The end of the
file's name chooses the format.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import by_hand, program_contests
from benchmarks.contests import (
    FLOATS,
    GRADIENT,
    Contest,
    UnavailableError,
    WrongNumbersError,
)
from benchmarks.machine import machine
from benchmarks.program_contests import EAGER, IN_C
from benchmarks.timing import Spread, interleave

try:
    import matplotlib as mpl
    from matplotlib import pyplot as plt
    from matplotlib.backend_bases import FigureCanvasBase
except ModuleNotFoundError as error:
    raise SystemExit(f'the plot needs {error.name}: pip install "cadiff[examples]"') from error

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
LABELS = {
    EAGER: "cadiff.value_and_grad(f)",
    FLOATS: "f on plain floats, no gradient",
    GRADIENT: "cadiff.compile(f).value_and_grad",
    IN_C: "C by hand",
}
MARKERS = dict(zip(LABELS, "so^d", strict=True))


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
    options = parser.parse_args(argv)
    mpl.use("Agg")
    refused = refusal(Path(options.file))
    if refused:
        parser.error(refused)
    rounds, seconds = (1, 0.002) if options.quick else (25, 0.02)

    print(machine())
    make = available()
    costs: dict[str, list[Spread]] = {}
    try:
        for n in SIZES:
            contest = make(n)
            for name, cost in measured(contest, rounds, seconds).items():
                print(f"{contest.work}: {name}: {cost.median:.3g} x {FLOATS}", flush=True)
                costs.setdefault(name, []).append(cost)
    except WrongNumbersError as error:
        print(f"Wrong numbers, so nothing is drawn: {error}", file=sys.stderr)
        return 1
    draw(costs, options.file)
    return 0


def refusal(file: Path) -> str:
    """Why nothing can be drawn there, before minutes are spent on measuring; "" if it can."""
    if not file.parent.is_dir():
        return f"there is no directory {str(file.parent)!r} for {file.name!r}"
    formats = sorted(FigureCanvasBase.get_supported_filetypes())
    if file.suffix[1:].lower() not in formats:
        return f"{file.name!r} should end in one of {', '.join('.' + end for end in formats)}"
    return ""


def available() -> Callable[[int], Contest]:
    """The contest with C by hand, or without it where there is no compiler."""
    try:
        by_hand.rosenbrock([1.0])
    except UnavailableError as missing:
        print(f"Without C by hand: {missing}")
        return program_contests.rosenbrock
    return program_contests.rosenbrock_by_hand


def measured(contest: Contest, rounds: int, seconds: float) -> dict[str, Spread]:
    """Check all ways of a contest, and time them in turns, in multiples of plain floats."""
    for name in contest.runners:
        contest.check(name)
    calls = {name: runner.call for name, runner in contest.runners.items()}
    timings = interleave(calls, rounds=rounds, seconds=seconds)
    return {name: timings.ratio(name, FLOATS) for name in calls}


def draw(costs: dict[str, list[Spread]], file: str) -> None:
    """Draw medians, with the extremes as bands."""
    # Letters stay letters, and the same figures give the same file.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "benchmarks"})
    figure, axes = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    for name, label in LABELS.items():
        if name in costs:
            medians, lows, highs = zip(*costs[name], strict=True)
            (line,) = axes.plot(SIZES, medians, marker=MARKERS[name], label=label)
            axes.fill_between(SIZES, lows, highs, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="number of arguments n",
        ylabel="time, in multiples of f on plain floats",
        title="Value and gradient of Rosenbrock's function, a Python loop",
    )
    axes.grid(which="major", alpha=0.3)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    metadata = {"Date": None} if file.lower().endswith(".svg") else None
    figure.savefig(file, metadata=metadata)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
