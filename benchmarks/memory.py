"""Memory, measured in a process of its own, which nothing else has touched before.

    python -m benchmarks.memory tape 1000000    value and gradient of so many multiplications
    python -m benchmarks.memory loop 1000000    so many times new Vars, operations, backward()
    python -m benchmarks.memory chain 1000000   value and gradient of so many steps of a chain
    python -m benchmarks.memory scan 1000000    the same with checkpoints
    python -m benchmarks.memory jacobian 3000   the dense Jacobian of a tridiagonal function
    python -m benchmarks.memory program 3000    the same by a program that is made for it
    python -m benchmarks.memory elements 1000000    ten operations on each of so many elements
    python -m benchmarks.memory elements-compiled 1000000    a replay of the same
    python -m benchmarks.memory lstm 400        a recurrent network of so many steps; -compiled
    python -m benchmarks.memory mixture 1000    a mixture of Gaussians, so many points; -compiled

prints one line of JSON; `in_new_process` runs that and reads it. What the numbers should be is
for the caller to know.
"""

from __future__ import annotations

import contextlib
import json
import operator
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial, reduce
from itertools import repeat
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import cadiff
import cadiff.numpy as cnp
import cadiff.scipy.special
from benchmarks import array_problems, model_problems, problems, sequence_problems
from benchmarks.linear_contests import broyden

__all__ = [
    "FACTOR",
    "LOOP_GRADIENT",
    "LOOP_POINT",
    "WARM_UP",
    "chain",
    "elements",
    "in_new_process",
    "jacobian",
    "loop",
    "lstm",
    "mixture",
    "program",
    "scan",
    "tape",
]

Report: TypeAlias = dict[str, float]

FACTOR = 1.0 + 2.0**-30
LOOP_POINT = (1.5, -0.5)
LOOP_GRADIENT = (-0.25, 0.0)
WARM_UP = 10_000


def tape(operations: int) -> Report:
    """Record a product of so many factors, all the same number, and sweep over it.

    Returns
    -------
    dict
        ``seconds`` for both, the ``value`` and the ``gradient`` at FACTOR, and ``peak``, the most
        bytes that were resident.
    """

    def power(x: Any) -> Any:
        return reduce(operator.mul, repeat(x, operations), x)

    value_and_grad = cadiff.value_and_grad(power)
    begin = time.process_time()
    value, gradient = value_and_grad(FACTOR)
    seconds = time.process_time() - begin
    return {"seconds": seconds, "value": value, "gradient": gradient, "peak": float(_peak())}


def loop(iterations: int) -> Report:
    """Make two Vars, compute with them, call backward() and drop them, so many times.

    Returns
    -------
    dict
        ``seconds``, the last gradient (``dx``, ``dy``) at LOOP_POINT, and how many bytes were
        resident after WARM_UP iterations (``early``) and at the end (``late``).
    """
    _iterate(WARM_UP)
    early = _resident()
    begin = time.process_time()
    dx, dy = _iterate(iterations)
    seconds = time.process_time() - begin
    report = {"seconds": seconds, "dx": dx, "dy": dy}
    return report | {"early": float(early), "late": float(_resident())}


def _iterate(iterations: int) -> tuple[float, float]:
    """Run the loop: (x y + x) y has the gradient (y² + y, 2 x y + x)."""
    for _ in repeat(None, iterations):
        x, y = map(cadiff.Var, LOOP_POINT)
        z = (x * y + x) * y
        z.backward()
    return x.grad, y.grad


def chain(steps: int) -> Report:
    """Value and gradient of a long chain; ``bytes`` is by how much that raised the peak."""
    return _raised(problems.chain(steps, cadiff.sin, cadiff.exp))


def scan(steps: int) -> Report:
    """Value and gradient of the long chain, run as a scan with checkpoints."""
    return _raised(problems.scanned_chain(steps, cadiff.sin, cadiff.exp, cadiff.checkpoint_scan))


def _raised(f: Callable[[Any, Any], Any]) -> Report:
    value_and_grad = cadiff.value_and_grad(f, argnums=(0, 1))
    before = _peak()
    value, (dx, dy) = value_and_grad(*problems.CHAIN_POINT)
    return {"value": value, "dx": dx, "dy": dy, "bytes": float(_peak() - before)}


def jacobian(n: int) -> Report:
    """The dense Jacobian of Broyden's function; ``bytes`` is by how much that raised the peak."""
    return _matrix(cadiff.jacobian(broyden), n)


def program(n: int) -> Report:
    """The dense Jacobian by a program that is made for it, recording included."""
    return _matrix(cadiff.compile(broyden).jacobian, n)


def _matrix(of: Callable[[Any], Any], n: int) -> Report:
    of(np.linspace(-1.0, 1.0, 5))
    before = _peak()
    matrix = of(np.linspace(-1.0, 1.0, n))
    used = float(_peak() - before)
    return {"trace": float(np.trace(matrix)), "sum": float(matrix.sum()), "bytes": used}


def elements(n: int, *, compiled: bool = False) -> Report:
    """Value and gradient of ten operations on each of n elements."""

    def total(x: Any) -> Any:
        return cnp.sum(array_problems.chain(x, cnp))

    return _spent(total, array_problems.chain_point(n), n, compiled)


def lstm(steps: int, *, compiled: bool = False) -> Report:
    """Value and gradient of a recurrent network, by its weights; its gates are the elements."""
    data = sequence_problems.cells_data(steps, 64, 32)
    f = partial(sequence_problems.last_error, cnp, data)
    return _spent(f, data.parameters, steps * 4 * 64, compiled)


def mixture(points: int, *, compiled: bool = False) -> Report:
    """Value and gradient of a mixture of 25 Gaussians; differences from means are the elements."""
    data = model_problems.mixture_data(10, 25, points)
    summed = partial(cadiff.scipy.special.logsumexp, axis=0)
    f = partial(model_problems.density, cnp, summed, data)
    return _spent(f, data.parameters, 25 * points * 10, compiled)


def _spent(f: Callable[[Any], Any], at: Any, count: int, compiled: bool) -> Report:
    """How many ``bytes`` an element a call has at most beside what there was before.

    Of a program these are the bytes that it holds, and those that a replay asks for.
    """
    call: Callable[..., Any]
    if compiled:
        program = cadiff.compile(f)
        call = program.value_and_grad
        call(at)
        vector, tree = cadiff.flatten(at)
        call(tree(0.5 * vector))  # where f verifies it for the last time
        (trace,) = program.stats()["traces"]
        held = trace["programs"]["gradient"]["nbytes"]
    else:
        call, held = cadiff.value_and_grad(f), 0
    before = _resident()
    _forget_peak()
    call(at)
    return {"bytes": (held + _peak() - before) / count}


def _forget_peak() -> None:
    """Have the peak begin anew, where the system lets it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _resident() -> int:
    """Bytes of this process that are in memory; where the system does not tell, the peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return _peak()
    return pages * os.sysconf("SC_PAGE_SIZE")


def _peak() -> int:
    """The most bytes of this process that were in memory at once."""
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        pass
    import resource  # not on every system

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def in_new_process(work: str, count: int) -> Report:
    """Run one of these in a fresh interpreter, and return its report."""
    command = [sys.executable, "-m", "benchmarks.memory", work, str(count)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    report: Report = json.loads(done.stdout)
    return report


if __name__ == "__main__":
    works: dict[str, Callable[[int], Report]] = {
        "tape": tape,
        "loop": loop,
        "chain": chain,
        "scan": scan,
    }
    works |= {"jacobian": jacobian, "program": program}
    for work in (elements, lstm, mixture):
        works |= {work.__name__: work, f"{work.__name__}-compiled": partial(work, compiled=True)}
    print(json.dumps(works[sys.argv[1]](int(sys.argv[2]))))
