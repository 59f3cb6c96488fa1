"""The page about trust: what stands between its marks is made of the figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from .figures import ROOT, read
from .measures import OTHER, REASONS, UNREACHED

PAGE = ROOT / "docs" / "trust.md"
EQUIVALENT = ROOT / "tests" / "faults" / "equivalent.txt"
MARKS = re.compile(
    r"(?P<begin><!-- trust: (?P<name>\w+) -->\n).*?(?P<end><!-- end of trust -->)", re.DOTALL
)
NEVER = "not measured yet"
OTHERS = {
    "faults": "python -m tests.faults --all N --write",
    "fuzzing": "python -m tests.fuzz --write",
}

Figures = dict[str, Any]


def table(headings: list[str], rows: list[list[str]]) -> str:
    cells = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def dated(figures: Figures, name: str) -> list[str]:
    """When, and by what command."""
    command = OTHERS.get(name, f"python -m tests.trust {name}")
    known = figures.get(name, {"date": "", "command": command})
    return [known["date"], f"`{known['command']}`"]


def most_telling(figures: Figures) -> str:
    """The branches of all tests, or of the core's own."""
    return "all-branches" if "all-branches" in figures else "branches"


# --- the rows of the overview: what was tried, and what came of it ---------


def of_branches(f: Figures) -> str:
    return f"{f['taken']:.1%} of the ways out of {f['lines']:,} lines of C, by {f['tests']}"


def of_faults(f: Figures) -> str:
    judged = f["judged"]
    caught = sum(bool(fault["test"]) for fault in judged)
    same = sum(is_equivalent(fault) for fault in judged if not fault["test"])
    share = caught / max(1, len(judged) - same)
    return f"{caught} of {len(judged)} caught, {same} change nothing: {share:.0%} of those that do"


def of_fuzzing(f: Figures) -> str:
    counts, seconds = f["executions"], f["seconds"]
    parts = ", ".join(
        f"{name} {count:,} ({count / seconds[name]:,.0f} a second)"
        for name, count in sorted(counts.items())
    )
    rate = sum(counts.values()) / sum(seconds.values())
    nights = 1e9 / (8 * 3600 * rate)
    return (
        f"{sum(counts.values()):,} executions in {sum(seconds.values()) / 3600:.1f} hours: "
        f"{parts}; 10⁹ come of {nights:.0f} nights of 8 hours"
    )


def of_suites(f: Figures) -> str:
    return "; ".join(
        f"{name}: {', '.join(f'{n:,} {word}' for word, n in counts.items())}"
        for name, counts in f["suites"].items()
    )


def of_load(what: str) -> Callable[[Figures], str]:
    return lambda f: f"{f[what]:,}: {f['seconds']:,.0f} s, at most {f['megabytes']:,} MB"


OVERVIEW: dict[str, tuple[str, Callable[[Figures], str]]] = {
    "branches": ("branches of the core that tests take", of_branches),
    "all-branches": ("the same, with the tests of the binding", of_branches),
    "faults": ("planted faults", of_faults),
    "fuzzing": ("fuzzing, with all that earlier runs did", of_fuzzing),
    "allocations": (
        "requests for memory that tests of the core let fail",
        lambda f: f"{f['requests that failed']:,}",
    ),
    "interrupts": (
        "interrupts, each where a function of the package begins",
        lambda f: f"{f['raised']:,}, in {f['kinds']} kinds of calls; none left a trace",
    ),
    "threads": (
        "threads that record, compile, and share a program",
        lambda f: f"{f['threads']}, with {f['calls']:,} calls: no wrong number",
    ),
    "entries": ("entries of one tape", of_load("entries")),
    "calls": ("calls of one program", of_load("calls")),
    "programs": ("programs that are kept", of_load("programs")),
    "certified": (
        "certified data of NIST",
        lambda f: (
            f"{f['fits']} fits of {', '.join(f['data sets'])}: {f['digits']:.1f} digits "
            f"at least, of {f['parameters']} parameters and their deviations"
        ),
    ),
    "suites": ("other people's suites", of_suites),
}


def overview(figures: Figures) -> str:
    rows = []
    for row, (what, says) in OVERVIEW.items():
        name = "branches" if row == "allocations" else row  # which counts them
        known = figures.get(name)
        rows.append([what, says(known) if known else NEVER, *dated(figures, name)])
    return table(["what was tried", "what came of it", "on", "by"], rows)


# --- branches, and faults ------------------------------------------------------------------------


def branches(figures: Figures) -> str:
    """By file that is still there, lowest first: why the rest of its branches is not taken."""
    name = most_telling(figures)
    if name not in figures:
        return f"{NEVER}\n"
    known, reasons = figures[name], [UNREACHED, *REASONS, OTHER]
    total: Counter[str] = Counter()
    rows = []
    for path, (share, lines, rest) in sorted(known["files"].items(), key=lambda item: item[1][0]):
        total.update(rest)
        if rest and (ROOT / path).exists():
            rows.append([f"`{path}`", f"{share:.0%}", str(lines)])
            rows[-1] += [str(rest.get(why, "")) for why in reasons]
    everything = [f"all {len(known['files'])} files", f"{known['taken']:.0%}", str(known["lines"])]
    everything += [str(total[why]) for why in reasons]
    return table(["file", "taken", "lines", *reasons], [everything, *rows])


def is_equivalent(fault: dict[str, Any]) -> bool:
    return any(name == named(fault) for name, _ in equivalents())


def named(fault: dict[str, Any]) -> str:
    return f"{fault['path']}: {fault['before'].strip()} -> {fault['after'].strip()}"


def equivalents() -> Iterator[tuple[str, str]]:
    """Faults that change nothing that anyone could see, each with the reason."""
    lines = EQUIVALENT.read_text(encoding="utf-8").split("\n") if EQUIVALENT.exists() else []
    for line in lines:
        if line.startswith(("src/", "cadiff/")):
            name, _, why = line.partition(" :: ")
            yield name, why


PARTS = {"src/": "C core", "cadiff/binding/": "binding", "cadiff/": "Python above"}


def faults(figures: Figures) -> str:
    """How many are caught, by part of the product; and those that are not."""
    if "faults" not in figures:
        return f"{NEVER}\n"
    judged = figures["faults"]["judged"]
    of_parts: dict[str, list[dict[str, Any]]] = {name: [] for name in PARTS.values()}
    for fault in judged:
        part = next(name for begin, name in PARTS.items() if fault["path"].startswith(begin))
        of_parts[part].append(fault)
    rows = []
    for name, some in of_parts.items():
        same = sum(not fault["test"] and is_equivalent(fault) for fault in some)
        caught = sum(bool(fault["test"]) for fault in some)
        rows.append([name, str(len(some)), str(caught), str(same), str(len(some) - caught - same)])
    text = table(["part", "planted", "caught", "change nothing", "missed"], rows)
    missed = [f"* `{named(f)}`\n" for f in judged if not f["test"] and not is_equivalent(f)]
    why = dict(equivalents())
    same_rows = [
        f"* `{named(f)}`: {why[named(f)]}\n" for f in judged if not f["test"] and is_equivalent(f)
    ]
    if missed:
        text += "\nMissed:\n\n" + "".join(missed)
    if same_rows:
        text += "\nThese change nothing:\n\n" + "".join(same_rows)
    return text


BLOCKS = {"overview": overview, "branches": branches, "faults": faults}


def with_figures(page: str, figures: Figures) -> str:
    """A page with what stands between its marks made anew."""
    return MARKS.sub(
        lambda found: found["begin"] + BLOCKS[found["name"]](figures) + found["end"], page
    )


def write_page() -> None:
    """Show the figures that are remembered."""
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), read()), encoding="utf-8")
