"""``python -m benchmarks.budgets``: what the package may cost, held.

Counts what is the same on every machine, beside the limits in `budgets.txt`: lines, bytes,
modules, frames of Python, and the instructions of ten calls, and of small ones of the problems
over arrays, where valgrind is. What is over its limit ends the command with exit code 1. A change
that needs more raises the limit there, and says why. Of the problems over arrays the file has what
they take: 2 % more is over the limit, and what has become much less is to be written down, too.

The package has to be built in place, as `pip install -e .` does.
"""

from __future__ import annotations

import gc
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import cadiff
import cadiff.numpy as cnp
from benchmarks import side_by_side
from benchmarks.problems import hinges, rosenbrock, rosenbrock_point
from cadiff.operations import eager_cache

__all__ = ["PROBLEMS", "instructions", "main"]

ROOT = Path(__file__).parent.parent
LIMITS = Path(__file__).with_suffix(".txt")
PRODUCT = {".py", ".pyx", ".pxd", ".c", ".h", ".def"}
INSTALLED = {".py", ".pyi", ".so", ".dat", ".typed"}
PACKAGE = Path(cadiff.__file__).parent
NOTHING = "what it takes to call nothing"
COUNT, PROBLEMS = "count", "problems"  # the arguments of the command that callgrind watches
PROBLEM = "instructions of a problem: "
LESS = 0.95  # of what is written down: from there on it could grow unseen
GROWTH = 1.02  # of the instructions of a problem, for which there has to be a reason

LOADED = """
import sys
import cadiff
{}
print(sum(name.partition(".")[0] == "cadiff" for name in sys.modules))
"""


# --- files ---------------------------------------------------------------------------------------


def product_lines() -> int:
    """Lines of `src` and `cadiff`, without stubs and what is derived from the table."""
    files = (path for place in ("src", "cadiff") for path in (ROOT / place).rglob("*.*"))
    written = (path for path in files if path.suffix in PRODUCT and "generated" not in path.parts)
    return sum(path.read_bytes().count(b"\n") for path in written)


def bytes_of_c() -> int:
    """Bytes of what Cython wrote for the build at hand."""
    names = ["_shared", *(path.stem for path in PACKAGE.glob("binding/*.pyx"))]
    return sum((ROOT / "build" / "modules" / f"{name}.c").stat().st_size for name in names)


def packed() -> tuple[int, int]:
    """Bytes of what a wheel has, packed and as they are installed."""
    files = [path for path in PACKAGE.rglob("*.*") if path.suffix in INSTALLED]
    files.remove(PACKAGE / "binding" / "numbers" / "module" / "types.pyi")  # part of a stub
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as wheel:
            for path in files:
                wheel.write(path, path.relative_to(PACKAGE))
        return file.tell(), sum(path.stat().st_size for path in files)


def own_modules(what: str = "") -> int:
    """How many modules of its own `import cadiff` loads, and a statement after it."""
    command = [sys.executable, "-c", LOADED.format(what)]
    return int(subprocess.run(command, capture_output=True, check=True).stdout)


# --- frames --------------------------------------------------------------------------------------


def frames(call: Callable[[], Any]) -> int:
    """How many frames of the package's own Python a call runs through."""
    found = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal found
        found += event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def frames_of_calls() -> Iterator[tuple[str, int]]:
    """Of a first call, of one that comes to another branch, and of one that is known.

    The first ones have f verify what was recorded, and so has the second call of a recording.
    """
    frames(lambda: cadiff.compile(hinges).value_and_grad([1.0, 2.0]))  # which warms caches up
    program = cadiff.compile(hinges)
    yield "frames of a first call", frames(lambda: program.value_and_grad([1.0, 2.0]))
    yield "frames of a missed branch", frames(lambda: program.value_and_grad([1.0, -2.0]))
    program.value_and_grad([1.0, -2.5])
    yield "frames of a known call", frames(lambda: program.value_and_grad([1.0, -3.0]))


# --- instructions --------------------------------------------------------------------------------


def small(x: Any) -> Any:
    """As little as a function of two numbers can do."""
    return x[0] * x[1]


def chain(x: Any) -> Any:
    """Operations over arrays, one after the other."""
    return cnp.sum(cnp.tanh(x) * cnp.exp(-x * x) + cnp.sin(x))


def calls() -> dict[str, Callable[[], Any]]:
    """The calls whose instructions are counted."""
    many, two = rosenbrock_point(100), [1.5, 0.5]
    array, direction = np.array(many), np.ones(100)
    of_two, of_many = cadiff.compile(small), cadiff.compile(rosenbrock)
    over_arrays, exact = cadiff.compile(chain), cadiff.compile(rosenbrock, optimize=False)
    outer, mapped = cadiff.grad(lambda x: of_many(x) * 2.0), cadiff.vmap(of_two)
    points = np.ones((8, 2))
    return {
        NOTHING: lambda: None,
        "value of a small program": lambda: of_two(two),
        "gradient of a small program": lambda: of_two.value_and_grad(two),
        "batch of a small program": lambda: of_two.batch(points),
        "rows of a small program": lambda: mapped(points),
        "gradient of a program": lambda: of_many.value_and_grad(many),
        "Hessian product of a program": lambda: of_many.hvp(array, direction),
        "gradient of a program of arrays": lambda: over_arrays.value_and_grad(array),
        "gradient of a program within another": lambda: outer(many),
        "gradient of an exact program": lambda: exact.value_and_grad(many),
        "eager gradient of numbers": lambda: cadiff.grad(rosenbrock)(many),
        "eager gradient of arrays": lambda: cadiff.grad(chain)(array),
        "eager Jacobian product": lambda: cadiff.jvp(chain, [array], [direction]),
    }


def problems() -> dict[str, Callable[[], Any]]:
    """Small problems over arrays, by a program and eagerly."""
    contests = (
        side_by_side.kalman(10),
        side_by_side.markov(10, 20, by_max=False),
        side_by_side.markov(10, 20, by_max=True),
        side_by_side.lstm(10, 64, 32),
        side_by_side.mixture(10, 5, 50),
        side_by_side.bodies(10, 10),
        side_by_side.network(4, single=True),
        side_by_side.network(4, single=False),
        side_by_side.hessian(30),
        side_by_side.points(100, 10),
        side_by_side.waves(1000),
        side_by_side.options(200),
        side_by_side.process(30),
        side_by_side.reprojections(1300),
    )
    runners = {
        f"{contest.work}, {way}": contest.runners[way].call
        for contest in contests
        for way in (side_by_side.COMPILED, side_by_side.EAGER)
    }
    return {NOTHING: lambda: None} | runners


# What callgrind watches: calls, how often each is made before it counts, and how often then.
WATCHED = {COUNT: (calls, 40, 20), PROBLEMS: (problems, 12, 2)}


def count(what: str) -> None:
    """Make calls between two calls of sched_yield, at which callgrind writes.

    On one processor: what threads that help with batches do while they wait would be counted. And
    without collections of garbage, whose turn depends on what was made before, imports included.
    """
    gc.disable()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    eager_cache.MOST_SHARE = np.inf  # what may be an entry is one, however long its trials took
    make, before, rounds = WATCHED[what]
    made = make().values()
    for call in made:
        for _ in range(before):
            call()
    watch()
    for call in made:
        call()
        os.sched_yield()
        for _ in range(rounds):
            call()
        os.sched_yield()


def watch() -> None:
    """Have callgrind count from here on: what comes before takes a tenth of the time."""
    control = ["callgrind_control", "--instr=on", str(os.getpid())]
    with subprocess.Popen(control, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:  # it is told between two instructions, not in a system call
            pass


def instructions(what: str = COUNT) -> dict[str, int]:
    """Instructions of each call, by callgrind, less those of a call of nothing."""
    make, _, rounds = WATCHED[what]
    with tempfile.TemporaryDirectory() as place:
        options = ["--tool=callgrind", f"--callgrind-out-file={place}/out"]
        options += ["--dump-before=sched_yield", "--instr-atstart=no"]
        command = ["valgrind", *options, sys.executable, "-m", "benchmarks.budgets", what]
        single = {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        subprocess.run(command, env=os.environ | single, capture_output=True, check=True, cwd=ROOT)
        dumps = sorted(Path(place).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        totals = [
            re.search(r"^(?:summary|totals): (\d+)", path.read_text(), re.M) for path in dumps
        ]
    spent = [int(total[1]) // rounds for total in totals if total]
    found = dict(zip(make(), spent[1::2], strict=False))
    nothing = found.pop(NOTHING)
    return {name: number - nothing for name, number in found.items()}


# --- the command ---------------------------------------------------------------------------------


def is_over(what: str, number: int, limits: dict[str, int]) -> bool:
    """Whether more is counted than may be: of problems a little more than was written down."""
    return number > limits.get(what, 0) * (GROWTH if what.startswith(PROBLEM) else 1.0)


def measured(limits: dict[str, int]) -> Iterator[tuple[str, int]]:
    """All that is counted here, by what it is of.

    Instructions beyond a limit are counted once more, since those of threads may be among them.
    """
    yield "lines of the product", product_lines()
    yield "bytes of C that Cython writes", bytes_of_c()
    wheel, installed = packed()
    yield "bytes of the wheel", wheel
    yield "bytes installed", installed
    yield "own modules that the import loads", own_modules()
    first = "cadiff.compile(lambda x: x * x).grad(3.0)"
    yield "own modules that a first program loads", own_modules(first)
    yield from frames_of_calls()
    if shutil.which("callgrind_control") and platform.machine() == "x86_64":
        for kind, what in (("instructions: ", COUNT), (PROBLEM, PROBLEMS)):
            found = instructions(what)
            if any(is_over(kind + name, number, limits) for name, number in found.items()):
                again = instructions(what)
                found = {name: min(number, again[name]) for name, number in found.items()}
            yield from ((kind + name, number) for name, number in found.items())


def known_limits() -> dict[str, int]:
    """What `budgets.txt` says: a limit and what it is of in each line."""
    lines = LIMITS.read_text(encoding="utf-8").splitlines()
    stated = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {what: int(limit.replace(",", "")) for limit, what in stated}


def main() -> int:
    """Print all that is counted; 1 if anything is over its limit, or has none."""
    if sys.argv[1:] in ([COUNT], [PROBLEMS]):
        count(sys.argv[1])
        return 0
    limits = known_limits()
    over = 0
    for what, number in measured(limits):
        limit, is_more = limits.get(what, 0), is_over(what, number, limits)
        over += is_more
        mark = "  OVER" if is_more else ""
        if what.startswith(PROBLEM) and number < LESS * limit:
            mark = "  less: write it down"
        print(f"{number:12,d}  of {limit:12,d}  {what}{mark}", flush=True)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
