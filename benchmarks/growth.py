"""``python -m benchmarks.growth [PATTERN]``: no step of a first call takes more than n log n.

Of each program of `growing` first calls are counted at a size and at four times that, instruction
by instruction (by callgrind): the value, which records, the gradient, products, sparse matrices,
and an eager gradient. What they take at next to no size is the constant part. A ratio of 4 is
linear; more than `MOST` ends the command with exit code 1.

The package has to be built in place, as `pip install -e .` does.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import cadiff
from benchmarks.budgets import watch
from benchmarks.growing import GROWING, NONE, QUADRATIC, Growing
from cadiff import binding
from cadiff.operations import eager_cache

__all__ = ["MOST", "Ratio", "counted", "has_counter", "main", "ratios"]

ROOT = Path(__file__).parent.parent
COUNT = "count"  # the argument of the command that callgrind watches
MOST = 4 * 1.3  # n log n of four times as much, and a little
TOGETHER = 8  # programs in a process, which takes seconds to begin
FEW = 1_000_000  # instructions at the larger size: what is less is no work that grows


class Ratio(NamedTuple):
    """What a call takes at some size and at four times that, beyond the constant part."""

    program: str
    call: str
    small: int
    large: int

    @property
    def ratio(self) -> float:
        """Of 4 n to n; of calls that take next to nothing 0."""
        return self.large / max(self.small, FEW // 8) if self.large > FEW else 0.0


def has_counter() -> bool:
    """Whether callgrind is there, which counts."""
    return shutil.which("callgrind_control") is not None and platform.machine() == "x86_64"


# --- what is counted -----------------------------------------------------------------------------


def _along(tree: Any) -> Any:
    """A direction."""
    return [_along(part) for part in tree] if isinstance(tree, list) else 0.0 * tree + 1.0


def calls(growing: Growing, n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """First calls of a program of a size, to be made in this order."""
    f, at, sparse = growing.make(n)
    along, ndim = _along(at), np.ndim(f(at))
    program = cadiff.compile(f)
    yield "value", lambda: program(at)
    yield "jvp", lambda: program.jvp((at,), (along,))
    if ndim == 0:
        yield "gradient", lambda: program.value_and_grad(at)
        yield "hvp", lambda: program.hvp(at, along)
    if ndim == 0 and growing.loop == NONE:
        yield "eager gradient", lambda: cadiff.grad(f)(at)
    if sparse and ndim == 0:
        yield "sparse Hessian", lambda: program.sparse_hessian(at)
    elif sparse:
        yield "sparse Jacobian", lambda: program.sparse_jacobian(at)


def count(times: int, names: Sequence[str]) -> None:
    """Make calls between two calls of sched_yield, at which callgrind writes; print what they are.

    On one processor and without collections of garbage, as `benchmarks.budgets` does.
    """
    gc.disable()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    eager_cache.MOST_SHARE = np.inf
    for name in names:  # what is imported and kept at first calls is no part of any
        for _, call in calls(GROWING[name], GROWING[name].least):
            call()
    watch()
    made = []
    for name in names:
        growing = GROWING[name]
        binding.set_least_loop(growing.loop)
        for n in (growing.least, times * growing.n, 4 * times * growing.n):
            for call_name, call in calls(growing, n):
                os.sched_yield()
                call()
                os.sched_yield()
                made.append((name, call_name, n))
    print(json.dumps(made))


def ratios(names: Sequence[str]) -> list[Ratio]:
    """Count in a process of its own.

    What is over is counted at larger sizes again, where it has to be over, too: from some sizes on
    loops are looked for, levels estimated, arrays gone through tile by tile, each of which is a
    step up. Each is then alone in its process, where no cache has anything of another program:
    eager gradients were 5.6 to 6.7 times as much beside others, and are 4.0 to 4.2 alone.
    """
    found = counted(names)
    over = {ratio.program for ratio in found if ratio.ratio > MOST}
    again = (ratio for name in sorted(over) for ratio in counted([name], 4))
    larger = {(ratio.program, ratio.call): ratio for ratio in again}
    return [
        min(ratio, larger.get((ratio.program, ratio.call), ratio), key=lambda r: r.ratio)
        for ratio in found
    ]


def counted(names: Sequence[str], times: int = 1) -> list[Ratio]:
    """Count at sizes that are so many times those of the programs."""
    with tempfile.TemporaryDirectory() as place:
        options = ["--tool=callgrind", f"--callgrind-out-file={place}/out", "--dump-line=no"]
        options += ["--dump-before=sched_yield", "--instr-atstart=no"]
        command = ["valgrind", *options, sys.executable, "-m", "benchmarks.growth", COUNT]
        single = {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        done = subprocess.run(
            [*command, str(times), *names],
            env=os.environ | single,
            capture_output=True,
            check=False,
            cwd=ROOT,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        dumps = sorted(Path(place).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        totals = [
            re.search(r"^(?:summary|totals): (\d+)", path.read_text(), re.M) for path in dumps
        ]
        spent = [int(total[1]) for total in totals if total][1::2]
    made = json.loads(done.stdout.splitlines()[-1])
    by_call: dict[tuple[str, str], list[int]] = {}
    for (name, call, _), instructions in zip(made, spent, strict=True):
        by_call.setdefault((name, call), []).append(instructions)
    return [
        Ratio(name, call, small - least, large - least)
        for (name, call), (least, small, large) in by_call.items()
    ]


# --- the command ---------------------------------------------------------------------------------


def main() -> int:
    """Print all ratios; 1 if one is too large."""
    if sys.argv[1:2] == [COUNT]:
        count(int(sys.argv[2]), sys.argv[3:])
        return 0
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    over = 0
    names = [name for name in GROWING if re.search(pattern, name) and name != QUADRATIC]
    for first in range(0, len(names), TOGETHER):
        for ratio in ratios(names[first : first + TOGETHER]):
            is_over = ratio.ratio > MOST
            over += is_over
            mark = "  OVER" if is_over else ""
            print(
                f"{ratio.ratio:6.2f}  {ratio.small:12,d} {ratio.large:12,d}  "
                f"{ratio.program}, {ratio.call}{mark}",
                flush=True,
            )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
