"""``python -m benchmarks.figures``: the page of figures, and what other pages show of them.

Measures every part of `benchmarks.table`, and writes the rows to `docs/figures.md`. Some go, in
words for everyone, between marks of the README and of the page about speed. With `--only PATTERN`
other rows stay as they are; `--copy` copies from the page and measures nothing.
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
SHOWING = (ROOT / "README.md", ROOT / "docs" / "howto" / "speed.md")
MARKS = re.compile(
    r"(?P<begin><!-- figures: (?P<name>\w+) -->\n).*?(?P<end><!-- end of figures -->)", re.DOTALL
)

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
Others were at work on the machine meanwhile, so what counts is the least time of each.\
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
    """A figure of another page: the row of this one, and what it means."""

    work: str
    against: str
    says: str
    beside: str


LOOP = "value and gradient of Rosenbrock's function, a Python loop, n = 1000"
EAGER_LOOP = Headline("Rosenbrock n=1000: x an ndarray", "floats", LOOP, "the loop on floats")
COMPILED_LOOP = Headline(
    "Rosenbrock n=1000, compiled: value and gradient",
    "floats",
    "the same, compiled",
    "the loop on floats",
)
ROWS = Headline(
    "prices of 100,000 options, a loop on numbers: vmap",
    "Python loop",
    "`vmap` of a loop on numbers over 100,000 rows",
    "the loop over rows",
)
# What stands between two marks, by the name that the first of them has.
BLOCKS = {
    "overview": (
        EAGER_LOOP,
        COMPILED_LOOP,
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
        ROWS,
    ),
    "eager": (
        EAGER_LOOP,
        Headline(
            "Rosenbrock n=10: x an ndarray", "floats", "the same, n = 10", "the loop on floats"
        ),
        Headline(
            "10 operations, 4 elements: value and gradient",
            "NumPy alone",
            "ten elementwise operations on 4 elements",
            "NumPy running them",
        ),
        Headline(
            "10 operations, 1,000,000 elements: value and gradient",
            "NumPy alone",
            "the same, on a million elements",
            "NumPy running them",
        ),
        Headline(
            "network 784-256-10, batch 32: value and gradient",
            "gradient by hand",
            "network 784-256-10, batches of 32",
            "backpropagation by hand in NumPy",
        ),
    ),
    "compiled": (
        COMPILED_LOOP._replace(says=LOOP),
        Headline(
            "Rosenbrock n=10, compiled: value and gradient",
            "floats",
            "the same, n = 10",
            "the loop on floats",
        ),
        Headline(
            "logistic regression, 1000 x 5, compiled: value and gradient",
            "gradient by hand",
            "logistic regression in arrays, 1000 × 5",
            "a gradient by hand in NumPy",
        ),
        ROWS,
    ),
}

IN_THREADS = {"program-threads"}  # which wait for others there

Rows = dict[str, list[list[str]]]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write the page and the figures of others.

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
        description="Write docs/figures.md, and the figures of other pages that come from it.",
    )
    parser.add_argument("--only", metavar="PATTERN", default="", help="measure these parts alone")
    parser.add_argument("--shared", action="store_true", help="others are at work on the machine")
    parser.add_argument("--copy", action="store_true", help="measure nothing")
    options = parser.parse_args(argv)
    if not options.copy:
        try:
            rows = measured(options.only, options.shared)
        except contests.WrongNumbersError as error:
            print(f"Wrong numbers, so nothing is written: {error}", file=sys.stderr)
            return 1
        kept = read(PAGE.read_text(encoding="utf-8")) if options.only else {}
        PAGE.write_text(
            page(merged(kept, rows), SHARED if options.shared else QUIET), encoding="utf-8"
        )
    text = PAGE.read_text(encoding="utf-8")
    for path in SHOWING:
        document = path.read_text(encoding="utf-8")
        path.write_text(with_headlines(document, text), encoding="utf-8")
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


def headlines(name: str, text: str) -> Iterator[str]:
    """The lines of a block, from the text of the page: lists, which telephones wrap."""
    rows = (row for section in read(text).values() for row in section)
    found = {(work, against): figure for work, against, figure in rows}
    for work, against, says, beside in BLOCKS[name]:
        median = found[work, against].partition(" (")[0]
        figure = median.replace(" x", " ×").replace("us a call", "µs")
        than = "than " if beside and figure.endswith("faster") else ""
        yield f"* {says}: **{figure}** {than}{beside}".rstrip() + "\n"


def with_headlines(document: str, text: str) -> str:
    """A document with figures of the page between its marks."""

    def block(found: re.Match[str]) -> str:
        return found["begin"] + "".join(headlines(found["name"], text)) + found["end"]

    return MARKS.sub(block, document)


if __name__ == "__main__":
    sys.exit(main())
