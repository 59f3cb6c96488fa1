"""Time gradients of plain Python on this machine.

The gradient of the residual sum of squares of three regression problems of NIST, as multiples of
the function on floats; at the root of a checkout also against automatic differentiation in plain
Python. `python -m benchmarks.table` there measures the rest.

For example:
  python -m cadiff bench
  python -m cadiff bench --json
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

import cadiff
from cadiff import nist
from cadiff.nist import Dataset, Number

Numbers: TypeAlias = Sequence[Number]
Gradient: TypeAlias = Callable[[list[float]], Any]

GRADIENT_RTOL = 1e-9
ROUNDS = 15
SECONDS_A_ROUND = 2e-3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print seconds a call as JSON")


def run(options: argparse.Namespace) -> int:
    """Time, and print a table."""
    datasets = [nist.load(name) for name in nist.MODELS]
    if not options.json:
        return 0 if report(datasets) else 1
    table = measure(datasets)
    print(json.dumps(table, indent=2))
    return 0 if table else 1


def measure(datasets: Sequence[Dataset]) -> dict[str, dict[str, float]]:
    """Of each data set and each way the median seconds a call.

    Nothing is timed if gradients contradict each other: the table is empty then.
    """
    opponents = pure_python()
    table: dict[str, dict[str, float]] = {}
    for data in datasets:
        at = data.starts[1].tolist()
        functions = gradients(data, opponents)
        if not agree([function(at) for function in functions.values()]):
            print(f"The gradients for {data.name} contradict each other.", file=sys.stderr)
            return {}
        table[data.name] = medians({"floats": squares(data, math.exp)} | functions, at)
    return table


def report(datasets: Sequence[Dataset]) -> bool:
    """Print what was measured; whether all gradients agree."""
    table = measure(datasets)
    if not table:
        return False
    print("Gradient of the residual sum of squares, a Python loop: microseconds a call, and")
    print(f"multiples of the bare function on floats (medians of {ROUNDS} interleaved rounds)\n")
    names = next(iter(table.values()))
    print(f"  {'data set':8}" + "".join(f"{name:>21}" for name in names))
    for name, seconds in table.items():
        cells = (f"{t * 1e6:10.1f} {t / seconds['floats']:8.1f} x" for t in seconds.values())
        print(f"  {name:8}" + "".join(cells))
    print()
    if len(names) == 2:
        print("To compare with plain Python, run this at the root of a checkout of cadiff.")
    for rival in [name for name in names if name not in ("floats", "cadiff")]:
        gains = sorted(seconds[rival] / seconds["cadiff"] for seconds in table.values())
        print(f"cadiff is {gains[0]:.0f} to {gains[-1]:.0f} times as fast as the {rival}.")
    return True


def pure_python() -> ModuleType | None:
    """Import the plain-Python opponents, which belong to the checkout and not to the package."""
    try:
        return importlib.import_module("benchmarks.pure_python")
    except ImportError:
        return None


def squares(data: Dataset, exp: Callable[[Any], Any]) -> Callable[[Numbers], Number]:
    """Make the residual sum of squares, a function of the parameters, with an exponential."""
    model = nist.MODELS[data.name]
    # Python floats, the fastest numbers for a Python loop
    observations = list(zip(data.x.tolist(), data.y.tolist(), strict=True))

    def sum_of_squares(b: Numbers) -> Number:
        total = 0.0
        for x, y in observations:
            residual = model(b, x, exp) - y
            total += residual * residual
        return total

    return sum_of_squares


def gradients(data: Dataset, opponents: ModuleType | None) -> dict[str, Gradient]:
    """Make the functions to be timed, by name: parameters to gradient."""
    value_and_grad = cadiff.value_and_grad(squares(data, cadiff.exp))
    functions: dict[str, Gradient] = {"cadiff": lambda b: value_and_grad(b)[1]}
    if opponents is not None:
        plain = squares(data, opponents.exp)
        graph, dual = opponents.value_and_grad(plain), opponents.gradient
        functions["plain Python graph"] = lambda b: graph(b)[1]
        functions["plain Python duals"] = lambda b: dual(plain, b)
    return functions


def agree(found: Sequence[Sequence[float]]) -> bool:
    """Tell whether gradients equal each other."""
    return all(np.allclose(other, found[0], rtol=GRADIENT_RTOL, atol=0.0) for other in found[1:])


def medians(functions: dict[str, Gradient], at: list[float]) -> dict[str, float]:
    """Time the functions in turn, so that a slow moment of the machine meets them all.

    Returns
    -------
    dict of str to float
        The median seconds a call.
    """

    def seconds(function: Gradient, calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            function(at)
        return (time.perf_counter() - begin) / calls

    calls = dict.fromkeys(functions, 1)
    for name, function in functions.items():
        calls[name] += int(SECONDS_A_ROUND / seconds(function, 1))
    rounds = [
        {name: seconds(function, calls[name]) for name, function in functions.items()}
        for _ in range(ROUNDS)
    ]
    return {name: statistics.median(times[name] for times in rounds) for name in functions}
