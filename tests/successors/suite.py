"""The own tests of packages that import autograd, with `cadiff.compat.autograd` in its place.

    python -m tests.successors.suite FOLDER [--sources SOURCES] [--write] [NAMES ...]

FOLDER gets a folder for each package of `packages.py`, unless it is there: a copy or a clone of
SOURCES/NAME, or else what `packages.py` says, a source distribution or a clone from the network.
What is not to be had, or does not run, is left out, and a row says why. Each suite runs with
autograd, then with cadiff. What passes with autograd has to pass with cadiff, but for the tests
that `packages.py` excludes with a reason. A table says how many passed, and the median of the
ratios of the times of gradients. `--write` puts its rows into `docs/guide/autograd.md`.
`nox -s successors` runs this.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .packages import PACKAGES, Package

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "autograd.md"
ROWS = re.compile(r"(?<=<!-- successors -->\n).*?(?=<!-- end of successors -->)", re.DOTALL)
HEAD = ("package", "tests that pass with autograd", "of these, here", "time of gradients")
RUN = str(Path(__file__).parent / "run.py")
OPTIONS = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--timeout", "600", "--rootdir", "."]
SILENT = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
PROPERTY = "properties/property[@name='gradient']"
# Tests whose gradients take less have times that tell nothing.
LEAST_SECONDS = 0.0005


class NotRunError(Exception):
    """A package is not to be had, or its tests do not run; the message says why."""


def fetch(name: str, package: Package, place: Path, sources: Path | None) -> None:
    """Bring the source of a package into its folder, unless it is there."""
    if place.is_dir():
        return
    source, _, commit = package.source.partition(" ")
    given = sources / name if sources else None
    with tempfile.TemporaryDirectory() as folder:
        unpacked = Path(folder, name)
        if given and given.is_dir() and not {".git", "HEAD"} & set(os.listdir(given)):
            shutil.copytree(given, unpacked)
        elif commit or (given and given.is_dir()):
            repository = given if given and given.is_dir() else source
            told("git", "clone", "--quiet", str(repository), str(unpacked))
            if commit:
                told("git", "-C", str(unpacked), "checkout", "--quiet", commit)
        else:
            download = ("pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", source)
            told(sys.executable, "-m", *download, "--dest", folder)
            (archive,) = Path(folder).glob("*.tar.gz")
            shutil.unpack_archive(archive, folder, filter="data")
            (unpacked,) = (path for path in Path(folder).iterdir() if path.is_dir())
        shutil.move(unpacked, place)


def told(*command: str) -> None:
    done = subprocess.run(command, env=SILENT, capture_output=True, text=True)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line and "notice" not in line]
        raise NotRunError(last[-1] if last else f"{command[0]} failed")


class Outcome(NamedTuple):
    passed: bool
    spent: dict[str, tuple[int, float]]  # calls and seconds of gradients, by operators

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.spent.values())


def ratio(ours: Outcome, theirs: Outcome) -> float:
    """That of the times of their calls: optimisers may ask for more of them, or fewer."""
    names = [name for name in theirs.spent if name in ours.spent]
    both = [(*ours.spent[name], *theirs.spent[name]) for name in names]
    if not both:
        return 1.0
    return sum(s / n * m for n, s, m, _ in both) / sum(t for *_, t in both)


def outcomes(place: Path, package: Package, which: str) -> dict[str, Outcome]:
    """What became of each test, with autograd or with cadiff."""
    needed = [str(place.parent / name) for name in package.needs]
    paths = [str(place), str(place / "src"), *needed]
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    environment |= {"MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1"}
    environment["GEOMSTATS_BACKEND"] = "autograd"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        run = [sys.executable, RUN, which, *OPTIONS, *package.tests, f"--junitxml={report}"]
        done = subprocess.run(run, env=environment, cwd=place, capture_output=True, text=True)
        if not report.exists():
            raise NotRunError(f"pytest fails with {which}: {(done.stdout + done.stderr)[-1000:]}")
        cases = list(ET.parse(report).iter("testcase"))
    # Parameters may be classes, which have other names here: tests of a function are counted.
    counted: Counter[str] = Counter()
    found = {}
    for case in cases:
        function = f"{case.get('classname')}::{str(case.get('name')).partition('[')[0]}"
        counted[function] += 1
        spent = [json.loads(p.get("value", "{}")) for p in case.iterfind(PROPERTY)]
        passed = all(part.tag == "properties" for part in case)
        found[f"{function}[{counted[function]}]"] = Outcome(passed, spent[0] if spent else {})
    return found


def compare(name: str, place: Path) -> tuple[str, list[str]]:
    """A row of the table; the tests that only autograd passes, without a reason."""
    package = PACKAGES[name]
    theirs, ours = (outcomes(place, package, which) for which in ("autograd", "cadiff"))
    passed = [test for test, outcome in theirs.items() if outcome.passed]
    if not passed:
        raise NotRunError("no test passes with autograd")
    lost = [test for test in passed if test not in ours or not ours[test].passed]
    ratios = [
        ratio(ours[test], theirs[test])
        for test in passed
        if test not in lost and theirs[test].seconds > LEAST_SECONDS
    ]
    excluded = [b for b in package.excluded if any(test.startswith(b) for test in lost)]
    for begins in set(package.excluded) - set(excluded):
        print(f"nothing needed {begins}")
    kept = f"{len(passed) - len(lost)}"
    if excluded:
        kept += ": " + "; ".join(package.excluded[begins] for begins in excluded)
    row = [name, f"{len(passed)}", kept, f"{statistics.median(ratios):.2f}" if ratios else "–"]
    return line(row), [f"{name}: {test}" for test in lost if not test.startswith(tuple(excluded))]


def line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write(rows: dict[str, str]) -> None:
    """Put rows into the page, where those of packages that did not run stay."""
    text = PAGE.read_text(encoding="utf-8")
    (there,) = ROWS.findall(text)
    known = {each.split(" | ")[0].removeprefix("| "): each for each in there.splitlines()[2:]}
    table = [line(HEAD), line(["---"] * len(HEAD)), *dict(sorted((known | rows).items())).values()]
    PAGE.write_text(ROWS.sub(lambda _: "\n".join(table) + "\n", text), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(PACKAGES))
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_intermixed_args()
    print(f"{line(HEAD)}\n{line(['---'] * len(HEAD))}")
    given.folder = given.folder.resolve()
    given.folder.mkdir(parents=True, exist_ok=True)
    # Packages without a configuration of pytest would have that of the tree around the folder.
    (given.folder / "pytest.ini").touch()
    rows: dict[str, str] = {}
    wrong: list[str] = []
    for name in given.names:
        place = given.folder / name
        try:
            for each in (name, *PACKAGES[name].needs):
                fetch(each, PACKAGES[each], given.folder / each, given.sources)
            row, lost = compare(name, place)
        except NotRunError as error:
            print(line([name, "–", f"not run: {error}", "–"]), flush=True)
            continue
        rows[name] = row
        wrong += lost
        print(rows[name], flush=True)
    if given.write:
        write(rows)
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
