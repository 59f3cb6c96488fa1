"""What is measured for the page of trust: each answers figures, which `figures.remember` keeps.

Whatever needs much memory, or many threads, is measured in a process of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from .figures import ROOT

__all__ = ["MEASURES", "OF_HOURS"]

Found = dict[str, Any]

# --- branches, and allocations that fail ---------------------------------------------------------

# Why a way out of a line may not have been taken: no test comes to the line; or by what the line
# says, the first that fits.
UNREACHED = "lines not reached"
REASONS = {
    "memory that runs out": r"CAD_OK|NO_MEMORY|NULL|status",
    "rows of the table": r'#include "ops_|\bCAD_ROW|\bcase ',
    "ends of loops": r"\b(?:for|while) \(",
    "assertions": r"\bassert\(",
}
OTHER = "other conditions"
GRANTED = "if (remaining == 0)"  # of src/memory/memory.c: here a test lets a request fail


def branches(with_python: bool) -> Found:
    from ..c import coverage

    counts = coverage.counts_of_tests(with_python)
    files = {}
    for name, lines in sorted(counts.items()):
        rest: dict[str, int] = defaultdict(int)
        text = (ROOT / name).read_text(encoding="utf-8").split("\n")
        for number, taken in lines.items():
            if not all(taken):
                why = reason(text[number - 1]) if any(taken) else UNREACHED
                rest[why] += sum(not count for count in taken)
        files[name] = [round(coverage.share([lines])[0], 4), len(lines), dict(rest)]
    taken, whole, n_lines = coverage.share(list(counts.values()))
    tests = "the core's own tests"
    if with_python:
        tests += ", and those of the binding, of transforms, of programs and of functions"
    return {
        "taken": taken,
        "whole": whole,
        "lines": n_lines,
        "files": files,
        "tests": tests,
        "requests that failed": requests_that_failed(counts["src/memory/memory.c"]),
    }


def requests_that_failed(lines: dict[int, list[int]]) -> int:
    """How often a test let a request for memory fail: the way out of a line that is taken less."""
    text = (ROOT / "src/memory/memory.c").read_text(encoding="utf-8").split("\n")
    [number] = (k for k, line in enumerate(text, 1) if GRANTED in line)
    return min(lines[number])


def reason(line: str) -> str:
    return next((why for why, words in REASONS.items() if re.search(words, line)), OTHER)


# --- interrupts ----------------------------------------------------------------------------------


def interrupts() -> Found:
    from ..binding import test_interrupts

    raised = 0

    class Counted(test_interrupts.Interrupt):
        def __call__(self, *args: Any) -> None:
            nonlocal raised
            try:
                super().__call__(*args)
            except KeyboardInterrupt:
                raised += 1
                raise

    counted: Any = Counted
    former, test_interrupts.Interrupt = test_interrupts.Interrupt, counted  # type: ignore[misc]
    try:
        for name in test_interrupts.INTERRUPTED:
            test_interrupts.test_an_interrupt_at_every_call(name)
    finally:
        test_interrupts.Interrupt = former  # type: ignore[misc]
    return {"raised": raised, "kinds": len(test_interrupts.INTERRUPTED)}


# --- in processes of their own -------------------------------------------------------------------


def measured(code: str) -> Found:
    """What code leaves in `found`, with the seconds and the largest memory of its process."""
    program = f"""
import json, resource, time
begun = time.perf_counter()
found = {{}}
{code}
found["seconds"] = round(time.perf_counter() - begun, 1)
found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(json.dumps(found))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"a process ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found: Found = json.loads(done.stdout)
    return found


THREADS = """
import threading
import numpy as np
import cadiff
import cadiff.numpy as cnp

def f(x):
    return cnp.sum(cnp.tanh(x * x) * x[::-1])

program = cadiff.compile(cadiff.value_and_grad(f))
points = np.random.default_rng(0).normal(size=(64, 40))
wanted = [cadiff.value_and_grad(f)(x) for x in points]
wrong = []

def work(k):
    for n in range(200):
        own = cadiff.compile(f) if n % 50 == 0 else None
        value, gradient = (program if n % 2 else cadiff.value_and_grad(f))(points[k])
        if not (abs(value - wanted[k][0]) < 1e-12 and np.allclose(gradient, wanted[k][1], 1e-12)):
            wrong.append(k)
        if own is not None and abs(own(points[k]) - wanted[k][0]) > 1e-12:
            wrong.append(k)

threads = [threading.Thread(target=work, args=(k,)) for k in range(64)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
found = {"threads": 64, "calls": 64 * 200}
"""

ENTRIES = """
import cadiff

N = 100_000_000

def f(x):
    y = x
    for _ in range(N // 2):
        y = y + x * 1e-8
    return y

slope = cadiff.grad(f)(0.5)
assert abs(slope - 1.5) < 1e-6, slope
found = {"entries": N}
"""

CALLS = """
import numpy as np
import cadiff

N = 10_000_000
program = cadiff.compile(lambda x: x * x + 1.0)
total = 0.0
for k in range(N):
    total += program(2.0)
assert total == 5.0 * N
found = {"calls": N}
"""

PROGRAMS = """
import numpy as np
import cadiff

N = 10_000
x = np.array([0.5, 1.5, -0.25])
kept = []
for k in range(N):
    def f(x, k=k):
        return x[0] * x[1] + k * np.sum(x)
    program = cadiff.compile(cadiff.grad(f))
    assert np.array_equal(program(x), [1.5 + k, 0.5 + k, k])
    assert np.array_equal(program(2.0 * x), [3.0 + k, 1.0 + k, k])
    kept.append(program)
found = {"programs": N}
"""


def certified() -> Found:
    """Fits of NIST's data, from both of its starting points each."""
    done = subprocess.run(
        [sys.executable, "-m", "cadiff", "--no-timing"], cwd=ROOT, capture_output=True, text=True
    )
    rows = re.findall(
        r"^\s+(\w+)\s+(\d)\s+b\d+\s+\S+\s+\S+\s+([\d.]+)$", done.stdout, re.MULTILINE
    )
    if done.returncode != 0 or not rows:
        raise SystemExit(f"python -m cadiff failed:\n{done.stdout[-2000:]}{done.stderr}")
    fits = {(name, start) for name, start, _ in rows}
    return {
        "fits": len(fits),
        "data sets": sorted({name for name, _ in fits}),
        "parameters": len(rows),
        "digits": min(float(digits) for *_, digits in rows),
    }


SUITES = {
    "SciPy's own tests of its optimisers": ["-m", "tests.optimize.scipys_own", "-n", "auto"],
    "programs of others": ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/real_programs"],
}


def suites() -> Found:
    """What other people's tests and programs come to; what is not installed is not counted."""
    counts = {}
    for name, command in SUITES.items():
        done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
        last = done.stdout.strip().split("\n")[-1]
        found = re.findall(r"(\d+) (passed|failed|skipped|pass with SciPy's|with cadiff's)", last)
        if found:
            counts[name] = {word: int(n) for n, word in found}
    return {"suites": counts}


# By name: the command, and what measures; those of hours run when they are named alone.
MEASURES: dict[str, Callable[[], Found]] = {
    "certified": certified,
    "interrupts": interrupts,
    "threads": lambda: measured(THREADS),
    "programs": lambda: measured(PROGRAMS),
    "calls": lambda: measured(CALLS),
    "entries": lambda: measured(ENTRIES),
    "branches": lambda: branches(with_python=False),
    "suites": suites,
    "all-branches": lambda: branches(with_python=True),
}
OF_HOURS = {"suites", "all-branches"}
