"""The gradient of a data set in parts: by this process, by one worker, and by two.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.processes [--quick]

Sums are compared with those of all rows at once before anything is timed. Rounds are interleaved;
ratios are of medians. What a worker is sent and answers is counted in bytes.
"""

from __future__ import annotations

import functools
import multiprocessing
import pickle
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import cadiff

WIDTH, PARTS = 20, 8


@cadiff.compile
def loss(w: Any, inputs: Any, labels: Any) -> Any:
    """The logistic loss of some rows."""
    z = inputs @ w
    return np.sum(np.logaddexp(0.0, z) - labels * z)


def part_of(path: str, n_rows: int, k: int, w: Any) -> tuple[Any, Any]:
    """Value and gradient for one part of the rows in a file."""
    rows = np.memmap(path, dtype=np.float64, mode="r").reshape(-1, WIDTH + 1)
    step = n_rows // PARTS
    part = rows[k * step : (k + 1) * step]
    value, gradient = loss.value_and_grad(w, part[:, :-1], part[:, -1])
    return value, gradient


def summed(mapped: Callable[..., Any], part: Callable[..., Any], w: Any) -> tuple[Any, Any]:
    """Value and gradient of all parts, by some map."""
    found = list(mapped(part, range(PARTS), [w] * PARTS))
    return sum(value for value, _ in found), sum(gradient for _, gradient in found)


def medians(ways: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Seconds that each way takes."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - begun)
    return {name: statistics.median(found) for name, found in seconds.items()}


def main(n_rows: int, rounds: int) -> None:
    """Check, time, and print a table."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n_rows, WIDTH + 1))
    table[:, -1] = table[:, -1] > 0.0
    w = rng.normal(size=WIDTH)
    value, gradient = loss.value_and_grad(w, table[:, :-1], table[:, -1])
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as directory,
        ProcessPoolExecutor(1, mp_context=context) as one,
        ProcessPoolExecutor(2, mp_context=context) as two,
    ):
        path = str(Path(directory, "rows"))
        table.tofile(path)
        part = functools.partial(part_of, path, n_rows)
        ways = {
            "this process": functools.partial(summed, map, part, w),
            "one worker": functools.partial(summed, one.map, part, w),
            "two workers": functools.partial(summed, two.map, part, w),
        }
        for way in ways.values():
            found = way()
            assert abs(found[0] - value) < 1e-12 * value
            assert np.max(np.abs(found[1] - gradient)) < 1e-12 * np.max(np.abs(gradient))
        took = medians(ways, rounds)
        empty = medians({"empty": lambda: one.submit(abs, 1).result()}, 10 * rounds)["empty"]
        sent, answered = len(pickle.dumps((part, 0, w))), len(pickle.dumps(part(0, w)))
    first = took["this process"]
    print(f"{n_rows} rows of {WIDTH} inputs in {PARTS} parts, {8e-6 * table.size:.0f} MB")
    for name, seconds in took.items():
        print(f"{name:14} {1e3 * seconds:8.1f} ms {first / seconds:6.2f} x")
    print(f"a part: {sent} bytes sent, {answered} answered, {1e6 * empty:.0f} us if it is empty")


if __name__ == "__main__":
    main(*((20_000, 3) if "--quick" in sys.argv else (800_000, 15)))
