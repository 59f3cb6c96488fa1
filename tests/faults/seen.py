"""Which tests see a line of the product: those that reach the block of code it is in.

`record` builds a copy whose extension notes what runs (reached.c), and runs all tests there; what
each one reaches stays in `build/faults/reached`, until a source or a test changes. For a line in C
or Cython the block is that of the nearest line before it that the debugging information of the
extension knows; for one in Python that of the nearest line that any test runs.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import subprocess
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .copies import KEPT, ROOT, Copy

__all__ = ["Seen", "Test", "record"]

PLACE = KEPT / "reached"
TRACED = "-O0 -g1 -fsanitize-coverage=trace-pc"
FURTHEST = 40  # lines between a line and the block that is taken for its own
PYTHON = (
    1 << 40
)  # a place in Python is this, and 65536 times the number of its module, and its line

Places = NDArray[np.int64]


class Test(NamedTuple):
    """A test, its seconds in the copy, and how many places it reaches."""

    name: str
    seconds: float
    reaches: int


def record(jobs: int) -> None:
    """Have all tests tell what they reach, unless they have for these sources and tests."""
    copy = Copy("traced", {"CADIFF_CFLAGS": TRACED, "CADIFF_CYTHON_CFLAGS": ""})
    copy.synchronise()
    digest = hashlib.sha256()
    for path in sorted(path for top in ("src", "cadiff", "tests") for path in copy.files(top)):
        if path.suffix in (".py", ".pyx", ".pxd", ".c", ".h", ".def"):
            digest.update(path.read_bytes())
    done = PLACE / "done"
    if done.exists() and done.read_text() == digest.hexdigest():
        return
    tracer = KEPT / "reached.o"
    source = Path(__file__).with_name("reached.c")
    subprocess.run(["gcc", "-O2", "-fPIC", "-c", str(source), "-o", str(tracer)], check=True)
    copy.flags["CADIFF_LDFLAGS"] = str(tracer)
    print("building a copy that notes what runs ...", flush=True)
    if not copy.build():
        sys.exit(f"{copy.text()}\nthe copy cannot be built")
    shutil.rmtree(PLACE, ignore_errors=True)
    print("running all tests in it ...", flush=True)
    options = ["-n", str(jobs), "--dist", "worksteal", "-p", "tests.faults.reached"]
    # These run in processes of their own, which nobody asks.
    apart = ("tests/c", "tests/search", "tests/programs/test_linear_work.py")
    options += ["--reached", str(PLACE), "-m", "", *(f"--ignore={path}" for path in apart)]
    if copy.pytest(["-q", *options], patience=900.0) not in (0, 1):  # some may fail in a copy
        sys.exit(f"{copy.text()[-4000:]}\nthe tests did not come to their end")
    (PLACE / "core").write_text(str(copy.extension()))
    done.write_text(digest.hexdigest())


def records() -> Iterator[tuple[str, float, Places]]:
    """Each test that passed, its seconds, and what it reached."""
    modules = Modules()
    for path in sorted(PLACE.glob("*.pickle")):
        numbers: list[int] = []
        with path.open("rb") as file:
            while True:
                try:
                    found: Any = pickle.load(file)
                except EOFError:
                    break
                if isinstance(found, str):
                    numbers.append(modules.number(found))
                    continue
                name, seconds, edges, lines = found
                own = np.array(numbers, np.int64)[lines >> 16] if len(lines) else np.int64(0)
                in_python = PYTHON | own << 16 | (lines & 65535)
                yield name, seconds, np.concatenate([edges.astype(np.int64), in_python])


class Modules:
    """Modules in Python by numbers, in the order in which all processes know them."""

    def __init__(self) -> None:
        package = ROOT / "cadiff"
        self.names = sorted(str(path.relative_to(package)) for path in package.rglob("*.py"))
        self._numbers = {name: k for k, name in enumerate(self.names)}

    def number(self, name: str) -> int:
        return self._numbers.get(name, len(self.names))

    def name(self, number: int) -> str:
        return f"cadiff/{self.names[number]}" if number < len(self.names) else ""


class Seen:
    """The tests that see some lines, by (path, line)."""

    def __init__(self, wanted: Iterable[tuple[str, int]]) -> None:
        every: Places = np.zeros(0, np.int64)
        some: list[Places] = []
        for _, _, places in records():
            some.append(places)
            if len(some) == 500:
                every, some = np.unique(np.concatenate([every, *some])), []
        every = np.unique(np.concatenate([every, *some]))
        by_line = self._lines_of(every)
        own = {key: self._block(by_line, *key) for key in wanted}
        asked = np.array(sorted({place for places in own.values() for place in places}), np.int64)
        tests: dict[int, list[Test]] = defaultdict(list)
        for name, seconds, places in records():
            for place in asked[np.isin(asked, places)].tolist():
                tests[place].append(Test(name, seconds, len(places)))
        self._tests = {
            key: sorted({test for place in places for test in tests[place]}, key=particular)
            for key, places in own.items()
        }

    def tests(self, path: str, line: int) -> list[Test]:
        """Those that see a line, counted from 1, the most particular ones first."""
        return self._tests[path, line]

    @staticmethod
    def _lines_of(places: Places) -> dict[str, dict[int, list[int]]]:
        """The places of each line of each file."""
        found: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        edges = places[places < PYTHON].tolist()
        core = (PLACE / "core").read_text()
        asked = "\n".join(hex(edge - 1) for edge in edges)  # within the call, not behind it
        told = subprocess.run(
            ["addr2line", "-e", core], input=asked, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for edge, where in zip(edges, told, strict=True):
            path, _, line = where.partition(" ")[0].rpartition(":")
            inner = re.search(r".*/((?:src|cadiff)/.*)", os.path.normpath(path))
            if inner and line.isdigit():
                found[inner[1]][int(line)].append(edge)
        modules = Modules()
        for place in places[places >= PYTHON].tolist():
            number, line = (place - PYTHON) >> 16, place & 65535
            found[modules.name(number)][line].append(place)
        return found

    @staticmethod
    def _block(known: dict[str, dict[int, list[int]]], path: str, line: int) -> list[int]:
        lines = sorted(known.get(path, {}))
        k = bisect_right(lines, line) - 1
        return known[path][lines[k]] if k >= 0 and line - lines[k] <= FURTHEST else []


def particular(test: Test) -> tuple[int, float]:
    return test.reaches, test.seconds
