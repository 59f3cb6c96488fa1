"""``python -m benchmarks.figures``: the page of figures, and those of the README.

Measures every part of `benchmarks.table`, writes the rows to `docs/figures.md`, and some of them,
in words for everyone, between two marks of the README: a figure is written down nowhere else. With
`--only PATTERN` other rows stay as they are; `--readme` copies from the page and measures nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import contests, table
from benchmarks.machine import machine

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "figures.md"
README = ROOT / "README.md"
MARKS = "<!-- figures -->\n", "<!-- end of figures -->"

HEAD = """\
# Figures

`OPENBLAS_NUM_THREADS=1 python -m benchmarks.figures` has measured and written this page; what a
gradient costs beside other packages is in [a plot](coming_from/index.md). In each row two ways of
doing a work took turns in one process. {counts} Every result was checked first, against formulas,
complex steps or NumPy, never against cadiff. Rows with a unit of time or memory are compared with
nothing.

The machine: {machine}.
"""
QUIET = """\
What counts is the median of the ratios of all rounds, with the least and the largest behind it.\
"""
SHARED = """\
Others were at work on the machine meanwhile, so what counts is the least time of each that the
process itself took, two threads counting twice; single times are longer than on a quiet machine.\
"""

# What the parts of the table are about, by the beginning of their names.
SECTIONS = {
    "Python loops over numbers": "rosenbrock|products|regression|chain|call$",
    "The tape": "sweep|loop",
    "Higher order and long loops": "hessian|hvp|scan|order",
    "Linear maps": "linear",
    "Arrays": "array",
    "Factorisations": "factor",
    "Complex numbers": "complex",
    "Compiled programs": "program",
    "Many rows": "mapping",
    "Optimising": "optimize",
    "Calls of programs": "calls",
}


class Headline(NamedTuple):
    """A figure of the README: the row of the page, and what it means."""

    work: str
    against: str
    says: str
    beside: str


HEADLINES = (
    Headline(
        "Rosenbrock n=1000: x an ndarray",
        "floats",
        "value and gradient of a Python loop, n = 1000",
        "the loop on floats",
    ),
    Headline(
        "Rosenbrock n=1000, compiled: value and gradient",
        "floats",
        "the same, compiled",
        "the loop on floats",
    ),
    Headline(
        "Rosenbrock n=1000: x a list",
        "pure-Python graph",
        "the same, recorded",
        "a graph in pure Python",
    ),
    Headline(
        "logistic regression, 1000 x 5: value and gradient",
        "gradient by hand",
        "value and gradient of a logistic regression in arrays, 1000 × 5",
        "a gradient by hand in NumPy",
    ),
    Headline(
        "Rosenbrock n=1000, second order, compiled: sparse_hessian",
        "",
        "a sparse Hessian of the loop, n = 1000, compiled",
        "",
    ),
    Headline(
        "prices of 100,000 options, a loop on numbers: vmap",
        "Python loop",
        "`vmap` of a loop on numbers over 100,000 rows",
        "the loop over rows",
    ),
)

IN_THREADS = {"program-threads"}  # what they gain is not seen in the time of the process

Rows = dict[str, list[list[str]]]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write the page and the figures of the README.

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
        prog="python -m benchmarks.figures",
        description="Write docs/figures.md, and the figures of the README that come from it.",
    )
    parser.add_argument("--only", metavar="PATTERN", default="", help="measure these parts alone")
    parser.add_argument("--shared", action="store_true", help="others are at work on the machine")
    parser.add_argument("--readme", action="store_true", help="measure nothing")
    options = parser.parse_args(argv)
    if not options.readme:
        try:
            rows = measured(options.only, options.shared)
        except contests.WrongNumbersError as error:
            print(f"Wrong numbers, so nothing is written: {error}", file=sys.stderr)
            return 1
        kept = read(PAGE.read_text(encoding="utf-8")) if options.only else {}
        PAGE.write_text(
            page(merged(kept, rows), SHARED if options.shared else QUIET), encoding="utf-8"
        )
    text = README.read_text(encoding="utf-8")
    README.write_text(with_headlines(text, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def measured(only: str, shared: bool) -> Rows:
    """Rows of the parts that a pattern finds, by section."""
    effort = table.SHARED if shared else table.THOROUGH
    rows: Rows = {}
    for name, measure in table.PARTS.items():
        if not re.search(only, name, re.IGNORECASE) or (shared and name in IN_THREADS):
            continue
        (section,) = (title for title, names in SECTIONS.items() if re.match(names, name))
        try:
            slow = shared and re.search(table.SLOW, name)
            for row in measure(effort._replace(rounds=3) if slow else effort):
                cells = table.row_cells(row)[:3]
                print(table.in_markdown(cells), flush=True)
                rows.setdefault(section, []).append(cells)
        except contests.UnavailableError as error:
            print(f"{name}: skipped: {error}", flush=True)
    return rows


def merged(old: Rows, new: Rows) -> Rows:
    """Old rows with new ones in their places; those that were not there come last."""
    rows = {}
    for section in SECTIONS:
        found = [*old.get(section, []), *new.get(section, [])]
        rows[section] = list({tuple(cells[:2]): cells for cells in found}.values())
    return rows


def page(rows: Mapping[str, list[list[str]]], counts: str) -> str:
    """The text of the page."""
    return HEAD.format(machine=machine(), counts=counts) + "".join(
        f"\n## {section}\n\n" + lines(["work", "measured against", "measured"], rows[section])
        for section in SECTIONS
        if rows.get(section)
    )


def read(text: str) -> Rows:
    """The rows of a page."""
    rows: Rows = {}
    for section in text.split("\n## ")[1:]:
        title, _, rest = section.partition("\n")
        found = re.findall(r"^\| (.*) \|$", rest, re.MULTILINE)
        rows[title] = [line.split(" | ") for line in found[2:]]
    return rows


def lines(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "".join(
        table.in_markdown(cells) + "\n" for cells in [headings, ["---"] * len(headings), *rows]
    )


def headlines(text: str) -> Iterator[list[str]]:
    """The rows of the README, from the text of the page."""
    found = {
        (work, against): figure for rows in read(text).values() for work, against, figure in rows
    }
    for work, against, says, beside in HEADLINES:
        median = found[work, against].partition(" (")[0]
        yield [says, beside, median.replace(" x", " ×").replace("us a call", "µs")]


def with_headlines(readme: str, text: str) -> str:
    """The README, with the figures of the page."""
    begin, end = MARKS
    before, _, rest = readme.partition(begin)
    _, _, after = rest.partition(end)
    rows = lines(["work", "against", "measured"], list(headlines(text)))
    return f"{before}{begin}{rows}{end}{after}"


if __name__ == "__main__":
    sys.exit(main())
