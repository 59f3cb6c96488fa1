"""The own tests of packages that import autograd, with `cadiff.compat.autograd` in its place.

    python -m tests.successors.suite FOLDER [NAMES ...]

FOLDER gets a folder for each package of `packages.py`, its source distribution or a clone, unless
it is there. Each suite runs with autograd, then with cadiff. What passes with autograd has to pass
with cadiff, but for the tests that `packages.py` excludes with a reason. A table says how many
passed, and the median of the ratios of the tests' times. `nox -s successors` runs this.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

from .packages import PACKAGES, Package

WITH_CADIFF = "import cadiff.compat.autograd as a; a.install()"
# Some packages were written for NumPys that had this name, and draw numbers without a seed.
BEFORE = "import numpy; numpy.product = numpy.prod; numpy.random.seed(0)"
RUN = "import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
OPTIONS = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--timeout", "600", "--rootdir", "."]
SILENT = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
# Shorter tests have times that tell nothing.
LEAST_SECONDS = 0.05


def fetch(package: Package, place: Path) -> bool:
    """Whether a package is in its folder, or could be brought there."""
    if place.is_dir():
        return True
    source, _, commit = package.source.partition(" ")
    if commit:
        clone = subprocess.run(["git", "clone", "--quiet", source, place], env=SILENT)
        checkout = ["git", "-C", place, "checkout", "--quiet", commit]
        return not clone.returncode and not subprocess.run(checkout).returncode
    with tempfile.TemporaryDirectory() as folder:
        download = ["pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", source]
        if subprocess.run([sys.executable, "-m", *download, "--dest", folder]).returncode:
            return False
        (archive,) = Path(folder).glob("*.tar.gz")
        shutil.unpack_archive(archive, folder, filter="data")
        (unpacked,) = (path for path in Path(folder).iterdir() if path.is_dir())
        shutil.move(unpacked, place)
    return True


def outcomes(place: Path, package: Package, with_cadiff: bool) -> dict[str, Any]:
    """The seconds of each test that passed, None of one that did not."""
    needed = [str(place.parent / name) for name in package.needs]
    paths = [str(place), *needed, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    environment |= {"MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1"}
    environment["GEOMSTATS_BACKEND"] = "autograd"
    steps = [BEFORE, *([WITH_CADIFF] if with_cadiff else []), RUN]
    run = [sys.executable, "-c", "; ".join(steps), *OPTIONS, *package.tests]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        run.append(f"--junitxml={report}")
        done = subprocess.run(run, env=environment, cwd=place, capture_output=True, text=True)
        if not report.exists():
            raise SystemExit(done.stdout + done.stderr)
        cases = list(ET.parse(report).iter("testcase"))
    # Parameters may be classes, which have other names here: tests of a function are counted.
    counted: Counter[str] = Counter()
    found = {}
    for case in cases:
        function = f"{case.get('classname')}::{str(case.get('name')).partition('[')[0]}"
        counted[function] += 1
        passed = not case.findall("*")
        found[f"{function}[{counted[function]}]"] = (
            float(case.get("time", 0.0)) if passed else None
        )
    return found


def compare(name: str, place: Path) -> list[str]:
    """Print a row of the table; the tests that only autograd passes, without a reason."""
    package = PACKAGES[name]
    theirs, ours = (outcomes(place, package, with_cadiff) for with_cadiff in (False, True))
    passed = {test: seconds for test, seconds in theirs.items() if seconds is not None}
    lost = [test for test in passed if ours.get(test) is None]
    ratios = [
        ours[test] / seconds
        for test, seconds in passed.items()
        if test not in lost and seconds > LEAST_SECONDS
    ]
    ratio = f"{statistics.median(ratios):.2f}" if ratios else "–"
    print(f"| {name} | {len(passed)} | {len(passed) - len(lost)} | {ratio} |", flush=True)
    needed = {begins for begins in package.excluded for test in lost if test.startswith(begins)}
    for begins in set(package.excluded) - needed:
        print(f"nothing needed {begins}")
    return [f"{name}: {test}" for test in lost if not test.startswith(tuple(package.excluded))]


def main() -> None:
    folder, *names = sys.argv[1:]
    print("| package | passes with autograd | with cadiff | time |\n|---|---|---|---|")
    wrong: list[str] = []
    for name in names or PACKAGES:
        place = Path(folder, name)
        if fetch(PACKAGES[name], place):
            wrong += compare(name, place)
        else:
            print(f"| {name} | – | not to be had | – |")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
