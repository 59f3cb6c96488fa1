"""SciPy's own tests of its optimisers, run with those of `cadiff.optimize` in their places.

    python -m tests.optimize.scipys_own [PYTEST ARGUMENTS ...]

The tests are those that SciPy's wheel installs. They run twice: as they are, and with the names
that `cadiff.optimize` has functions and classes of its own for put into the namespaces of the test
modules. What fails the second time alone is listed by its cause, and has to ask for SciPy's
internals. `nox -s scipy_optimize` runs this. As a plugin of pytest the file puts the names in
place, and writes down how each test ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WRITTEN = "CADIFF_SCIPYS_OWN"  # names the file for outcomes
SWAPPED = "CADIFF_SCIPYS_OWN_SWAPPED"  # set where names are swapped
ASK_FOR_INTERNALS = 23  # tests that may fail: they call for what is SciPy's alone


def replacements() -> dict[int, Any]:
    """By the identity of SciPy's objects what `cadiff.optimize` has in their places."""
    from scipy import optimize as theirs

    from cadiff import optimize as ours

    found: dict[int, Any] = {id(theirs): ours}
    for name in ours.__all__:
        if hasattr(theirs, name) and getattr(theirs, name) is not getattr(ours, name):
            found[id(getattr(theirs, name))] = getattr(ours, name)
    return found


def names_in(module: Any) -> Iterator[tuple[Any, str, Any]]:
    """Every name of a test module and of its classes that has a replacement: holder, name, it."""
    found = replacements()
    for holder in (module, *(part for part in vars(module).values() if isinstance(part, type))):
        if holder is not module and holder.__module__ != module.__name__:
            continue
        for name, part in list(vars(holder).items()):
            plain = part.__func__ if isinstance(part, staticmethod) else part
            if id(plain) in found:
                new = found[id(plain)]
                yield holder, name, staticmethod(new) if plain is not part else new


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep the modules in which there is something to swap; and swap it, if that is asked for."""
    swaps = {module: list(names_in(module)) for module in {item.module for item in items}}
    config.hook.pytest_deselected(items=[item for item in items if not swaps[item.module]])
    items[:] = [item for item in items if swaps[item.module]]
    if SWAPPED in os.environ:
        for found in swaps.values():
            for holder, name, new in found:
                setattr(holder, name, new)


OUTCOMES: dict[str, tuple[str, str]] = {}


def pytest_runtest_logreport(report: Any) -> None:
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        text = crash.message if crash is not None else str(report.longrepr)
        OUTCOMES[report.nodeid] = ("failed", text)
    elif report.when == "call" and report.nodeid not in OUTCOMES:
        OUTCOMES[report.nodeid] = (report.outcome, "")


@pytest.hookimpl
def pytest_sessionfinish(session: Any) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        Path(os.environ[WRITTEN]).write_text(json.dumps(OUTCOMES))


def outcomes(swapped: bool, arguments: list[str]) -> dict[str, tuple[str, str]]:
    """How each test ended, and the message of what failed."""
    with tempfile.TemporaryDirectory() as place:
        written = Path(place, "outcomes.json")
        environment = {**os.environ, WRITTEN: str(written), "OPENBLAS_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = str(ROOT)
        if swapped:
            environment[SWAPPED] = "1"
        settings = Path(place, "pytest.ini")
        settings.write_text("[pytest]\n")
        run = [sys.executable, "-m", "pytest", "-q", "-c", str(settings), "--tb=native"]
        run += ["-p", "tests.optimize.scipys_own", "--pyargs", "scipy.optimize", *arguments]
        done = subprocess.run(run, env=environment, cwd=place, capture_output=True, text=True)
        print(done.stdout.splitlines()[-1] if done.stdout else done.stderr, flush=True)
        if not written.exists():
            raise SystemExit(done.stdout + done.stderr)
        return json.loads(written.read_text())  # type: ignore[no-any-return]


def main() -> None:
    arguments = sys.argv[1:]
    theirs, ours = outcomes(False, arguments), outcomes(True, arguments)
    passed = [name for name, (outcome, _) in theirs.items() if outcome == "passed"]
    failed = [name for name in passed if ours.get(name, ("lost", ""))[0] != "passed"]
    causes = defaultdict(list)
    for name in failed:
        cause = ours[name][1].splitlines() if name in ours else ["not run"]
        causes[cause[0] if cause else ours[name][0]].append(name)
    for cause, names in sorted(causes.items(), key=lambda item: -len(item[1])):
        print(f"{len(names)} x {cause}")
        for name in names:
            print(f"    {name}")
    print(f"{len(passed)} pass with SciPy's names, {len(passed) - len(failed)} with cadiff's")
    if len(failed) > ASK_FOR_INTERNALS:
        raise SystemExit(f"{len(failed)} fail, of which {ASK_FOR_INTERNALS} may")


if __name__ == "__main__":
    main()
