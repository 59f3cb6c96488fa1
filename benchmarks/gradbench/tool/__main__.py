"""Speaks GradBench's protocol: a line of JSON asks, a line of JSON answers.

    python -m TOOL [--native] [--multithreaded]

An eval is the module of this package with its name. `arguments` makes of an input what its
functions take, and `functions` has these, compiled in the way that the options ask for. What is
timed is a function, as often as the input says. A run before, which records and compiles it, has
a time of its own, named as that of GradBench's tools in Julia.
"""

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


def evals() -> list[str]:
    """The names of all evals; what else stands on a line is an outcome other than success."""
    with open(os.path.join(HERE, "evals.txt"), encoding="utf-8") as file:
        return [line.split()[0] for line in file]


def repeated(
    function: Callable[..., Any], arguments: tuple[Any, ...], runs: int, seconds: float
) -> tuple[Any, list[int]]:
    """The output, and the nanoseconds of each run: the first, then as many as are asked for."""
    taken: list[int] = []
    left = 1e9 * seconds
    while len(taken) <= runs or left > 0.0:
        begun = time.perf_counter_ns()
        output = function(*arguments)
        taken.append(time.perf_counter_ns() - begun)
        left -= taken[-1] if len(taken) > 1 else 0
    return output, taken


class Tool:
    """The evals that were asked for, as modules and as compiled functions."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.modules: dict[str, Any] = {}
        self.functions: dict[str, dict[str, Callable[..., Any]]] = {}

    def define(self, module: str) -> dict[str, Any]:
        """Import an eval, and compile its functions."""
        if module not in evals():
            raise LookupError(f"there is no eval {module!r}; there are {', '.join(evals())}")
        self.modules[module] = import_module(f".{module}", __package__)
        compiled = partial(import_module("cadiff").compile, **self.options)
        self.functions[module] = self.modules[module].functions(compiled)
        return {"success": True}

    def evaluate(self, module: str, function: str, input: Any) -> dict[str, Any]:
        """Run a function, and say what it gives and how long that takes."""
        arguments = self.modules[module].arguments(input)
        asked = input if isinstance(input, dict) else {}
        runs, seconds = asked.get("min_runs", 1), asked.get("min_seconds", 0.0)
        output, taken = repeated(self.functions[module][function], arguments, runs, seconds)
        timings = [{"name": "evaluate", "nanoseconds": each} for each in taken]
        timings[0]["name"] = "warmup"
        return {"success": True, "output": output, "timings": timings}

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to a message, whatever becomes of it."""
        try:
            return {"id": message["id"]} | self._answer(message)
        except Exception:
            return {"id": message["id"], "success": False, "error": traceback.format_exc()}

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        match message["kind"]:
            case "start":
                return {"tool": "cadiff", "config": self.options}
            case "define":
                return self.define(message["module"])
            case "evaluate":
                return self.evaluate(message["module"], message["function"], message["input"])
        return {}


def main() -> None:
    """Answer until there are no more lines."""
    parser = argparse.ArgumentParser(description="cadiff as a tool of GradBench")
    parser.add_argument("--native", action="store_true", help="machine code of all programs")
    parser.add_argument("--multithreaded", action="store_true", help="all cores, not one")
    options = parser.parse_args()
    if not options.multithreaded and hasattr(os, "sched_setaffinity"):
        # Before NumPy is imported, which asks how many cores there are.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    tool = Tool(native=options.native or None)
    for line in sys.stdin:
        answer = tool.answer(json.loads(line))
        print(json.dumps(answer, default=lambda array: array.tolist()), flush=True)


if __name__ == "__main__":
    main()
