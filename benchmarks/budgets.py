"""``python -m benchmarks.budgets``: how many instructions calls may take.

Counts with valgrind, the same on every machine: the instructions of twelve calls, beside their
limits in `budgets.txt`, and of small problems over arrays, beside their number there. A call over
its limit, or a problem that takes 2 % more, ends the command with exit code 1. A change that needs
more raises the limit, and says why; a problem that takes much less gets its new number, too.

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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import cadiff
import cadiff.numpy as cnp
from benchmarks import side_by_side
from benchmarks.problems import rosenbrock, rosenbrock_point
from cadiff.operations import eager_cache

__all__ = ["PROBLEMS", "instructions", "main"]

ROOT = Path(__file__).parent.parent
LIMITS = Path(__file__).with_suffix(".txt")
NOTHING = "what it takes to call nothing"
COUNT, PROBLEMS = "count", "problems"  # the arguments of the command that callgrind watches
PROBLEM = "instructions of a problem: "
LESS = 0.95  # of what is written down: from there on it could grow unseen
GROWTH = 1.02  # of the instructions of a problem, for which there has to be a reason


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
