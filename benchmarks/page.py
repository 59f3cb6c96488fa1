"""``OPENBLAS_NUM_THREADS=1 python -m benchmarks.page``: docs/benchmarks.md, cadiff beside others.

    python -m benchmarks.page --gradbench CHECKOUT [--only PATTERN] [--rounds 3]

Each section is measured by a module of its own, whose results are checked before they are timed,
and with the packages that are installed. All ways of a row take turns on one core, and least
times count. Sections that `--only` does not find, or that cannot be measured here, stay as they
are, with their date. The pictures beside the page are drawn anew.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import cadiff
from benchmarks import libraries, memory, peers, plot, problems, side_by_side
from benchmarks.contests import GRADIENT, UnavailableError, WrongNumbersError, compare
from benchmarks.gradbench import table as gradbench
from benchmarks.growing import GROWING
from benchmarks.machine import BLAS_VARIABLES, machine

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
FIRST_PICTURE = PAGE.with_name("first.svg")
PATIENCE = 60.0  # seconds for an answer

HEAD = """\
# Benchmarks

`python -m benchmarks.page` has measured and written this page. Every result is checked before it
is timed, never against cadiff. The ways of a row took turns on one core, and the least time of
each counts. Where another package is faster, a list under the table says so, and why. cadiff
beside plain Python and NumPy is in [the figures](figures.md).
"""
PICTURE = """\

![{says}]({name}.svg)
"""

# Why another tool is faster at an eval of GradBench, where one is.
GRADBENCH_WHY = {
    "gmm": "its loops keep the terms of a mixture in registers, where ours go through arrays",
    "ba": "it goes over observations in one loop; ours go through arrays",
    "ht": "it skips the bones that do not depend on an angle",
    "lstm": "it goes through a step at once; here each operation of a step is a call of a kernel",
    "kmeans": "it needs no array of distances, and C++ has the Hessian as a formula",
    "det": "it is one expression, compiled as a whole",
    "llsq": "it sums the powers of x as it goes",
    "lse": side_by_side.FUSED,
    "ode": "its gradient is a formula, or its loop one piece of machine code",
    "particle": "its loops are compiled with the descent",
    "saddle": "its loops are compiled with the descent",
}


def of_gradbench(options: argparse.Namespace) -> str:
    """The public benchmark, with its own judge."""
    if options.gradbench is None:
        raise UnavailableError("a checkout of GradBench is needed: --gradbench CHECKOUT")
    given = [str(options.gradbench), "--rounds", str(options.rounds)]
    given += ["--limit", str(PATIENCE), *["--small"] * options.quick]
    results = gradbench.collect(gradbench.parser().parse_args(given))
    lost = [
        f"{name} {size}, {function}: {tool} {times:.2f} times as fast; {GRADBENCH_WHY[name]}"
        for name, size, function, tool, times in results.faster()
    ]
    valid = ", ".join(f"{tool} {count}" for tool, count in results.valid.items())
    return f"""\
[GradBench](https://github.com/gradbench/gradbench) compares tools of automatic differentiation,
and judges their answers. The tool for cadiff, `benchmarks/gradbench`, is NumPy code with another
import line. JAX waits for its results and computes in float64. Answers found valid: {valid}.

{results.table(results.least)}

{listed(lost, "Where another tool is faster than both of ours")}
First runs, in which programs are recorded or compiled:

{results.table(results.first)}
"""


def of_problems(options: argparse.Namespace) -> str:
    """Problems over arrays, each package in its best form."""
    rows, lost = [], []
    ours = (side_by_side.HAND, side_by_side.EAGER, side_by_side.COMPILED)
    rounds = 1 if options.quick else side_by_side.ROUNDS
    for work, problem, seconds in side_by_side.times("^waves-10000$" * options.quick, rounds):
        best = [side_by_side.best_of(name, seconds) for name in libraries.PEERS]
        rows.append([work, *map(in_units, [*map(seconds.get, ours), *best])])
        print(rows[-1], flush=True)
        lost += [f"{work}: {what}; {problem.why}" for what in side_by_side.faster(seconds)]
    heads = ["problem", "by hand in NumPy", "cadiff, eager", "cadiff, compiled", *libraries.PEERS]
    return f"""\
Value and gradient, or what the row names. {libraries.versions() or "No other package"}.

{markdown(heads, rows)}
{listed(lost, "Where another package is faster than a program")}"""


def of_first_calls(options: argparse.Namespace) -> str:
    """Value and gradient of a Python loop, from nothing to the first result, by its length."""
    sizes = (100, 1000) if options.quick else (10, 100, 1000, 10_000, 100_000)
    costs: dict[str, dict[int, float]] = {}
    for n in sizes:
        at = problems.rosenbrock_point(n)
        expected = (problems.rosenbrock(at), problems.rosenbrock_gradient(np.array(at)))
        for name, make in {GRADIENT: by_program, **peers.makers(n)}.items():
            if name != peers.AUTOGRAD and n <= WORTH_WAITING.get(name, n):
                seconds = min(first_call(make, np.array(at), expected) for _ in range(3))
                costs.setdefault(name, {})[n] = seconds
                print(f"first call, n = {n}, {name}: {seconds:.3g} s", flush=True)
    plot.draw(
        costs,
        FIRST_PICTURE,
        title="First value and gradient of Rosenbrock's function",
        ylabel="seconds, of recording or compiling as well",
        at_one="one second",
    )
    rows = [
        [plot.LOOKS[name].label, *(in_units(of_sizes.get(n)) for n in sizes)]
        for name, of_sizes in costs.items()
    ]
    says = "Seconds of the first value and gradient against the number of arguments"
    return f"""\
Rosenbrock's function as a Python loop over n numbers: recording or compiling it, and one value and
gradient. The least of three times, each for a new function in the same process.
{PICTURE.format(says=says, name="first")}
{markdown(["", *(f"n = {n:,}" for n in sizes)], rows)}
That no step of a first call grows faster than n log n is counted, instruction by instruction, by
`python -m benchmarks.growth` for {len(GROWING) - 1} programs.
"""


WORTH_WAITING = {peers.TORCH: 10_000, peers.CASADI: 10_000}


def by_program(x: Any) -> Callable[[], Any]:
    return partial(cadiff.compile(lambda x: problems.rosenbrock(x)).value_and_grad, x)


def first_call(make: Callable[[Any], Callable[[], Any]], x: Any, expected: Any) -> float:
    """Seconds of the process, which others on the machine do not lengthen."""
    begin = time.process_time()
    found = make(x)()
    seconds = time.process_time() - begin
    compare("first call", found, expected)
    return seconds


def of_memory(options: argparse.Namespace) -> str:
    """Bytes an element, in processes of their own."""
    works = {
        "ten operations on a million numbers": ("elements", 1_000_000, "number"),
        "LSTM, 400 steps of 64 cells": ("lstm", 400, "gate"),
        "Gaussian mixture, d 10, k 25, n 1000": ("mixture", 1000, "difference d k n"),
    }
    rows = []
    for says, (work, count, unit) in works.items():
        small = count // 100 if options.quick else count
        both = [memory.in_new_process(f"{work}{way}", small)["bytes"] for way in ("", "-compiled")]
        rows.append([says, unit, *(f"{number:.0f}" for number in both)])
    return f"""\
The most bytes of memory that value and gradient add; those that a program holds are counted, too.
An operation on numbers takes 32 bytes of the tape.

{markdown(["", "bytes for each", "cadiff, eager", "cadiff, compiled"], rows)}"""


def of_growth(options: argparse.Namespace) -> str:
    """Value and gradient against the size: the picture of the README."""
    file = PAGE.with_name("cost.svg")
    if not options.quick:
        plot.main([str(file)])
    costs = plot.read(file.with_suffix(".csv"))
    sizes = sorted(next(iter(costs.values())))
    rows = [
        [plot.LOOKS[name].label, *(f"{of[n]:.3g}" if n in of else "–" for n in sizes)]
        for name, of in costs.items()
    ]
    says = "Cost of value and gradient against the number of arguments"
    return f"""\
Value and gradient of Rosenbrock's function, a Python loop, in multiples of the function on floats;
`python -m benchmarks.plot` measures it.
{PICTURE.format(says=says, name="cost")}
{markdown(["", *(f"n = {n:,}" for n in sizes)], rows)}"""


SECTIONS: dict[str, Callable[[argparse.Namespace], str]] = {
    "GradBench": of_gradbench,
    "Problems beside other packages": of_problems,
    "Growth with size": of_growth,
    "First calls": of_first_calls,
    "Memory": of_memory,
}


def in_units(seconds: float | None) -> str:
    """Three digits and a unit; a dash where a package does not take part."""
    return gradbench.written(seconds)


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def listed(lost: Sequence[str], says: str) -> str:
    """A list of rows, or that there are none."""
    if not lost:
        return f"{says}: nowhere.\n"
    return f"{says}:\n\n" + "".join(f"* {line}.\n" for line in lost)


def kept() -> dict[str, str]:
    """The sections of the page that there is."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    parts = (section.partition("\n\n") for section in text.split("\n## ")[1:])
    return {title: body for title, _, body in parts}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write the page.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments of the command; those of the process if not given.

    Returns
    -------
    int
        0, or 1 if a number is wrong; then nothing is written.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.page", description="Write docs/benchmarks.md."
    )
    parser.add_argument("--gradbench", type=Path, metavar="CHECKOUT", help="with `manual` built")
    parser.add_argument(
        "--only", metavar="PATTERN", default="", help="measure these sections alone"
    )
    parser.add_argument("--rounds", type=int, default=3, help="of GradBench")
    parser.add_argument(
        "--quick", action="store_true", help="print, little measured; a smoke test"
    )
    options = parser.parse_args(argv)
    if not any(os.environ.get(name) == "1" for name in BLAS_VARIABLES):
        parser.error(
            "BLAS is to have one thread: OPENBLAS_NUM_THREADS=1 python -m benchmarks.page"
        )
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    sections = kept()
    for title, measure in SECTIONS.items():
        if not re.search(options.only, title, re.IGNORECASE):
            continue
        try:
            text = measure(options)
        except UnavailableError as error:
            print(f"{title}: stays as it is: {error}", flush=True)
            continue
        except WrongNumbersError as error:
            print(f"Wrong numbers, so nothing is written: {error}", file=sys.stderr)
            return 1
        sections[title] = f"{date.today()}, {machine()}.\n\n{text}"
    page = HEAD + "".join(
        f"\n## {title}\n\n{sections[title].strip()}\n" for title in SECTIONS if title in sections
    )
    if options.quick:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
