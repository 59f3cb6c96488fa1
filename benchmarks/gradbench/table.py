"""``python -m benchmarks.gradbench.table CHECKOUT``: the tool beside others, as a Markdown table.

    python -m benchmarks.gradbench.table CHECKOUT --only gmm ode --rounds 3 --seconds 0.3

In a checkout of GradBench its evals ask and judge, and its tools for JAX and PyTorch answer, if
these are installed, and its derivatives by hand in C++; all of them take turns, evaluation by
evaluation, in rounds, on one core. Least times count, of evaluations that were found valid. The
first run, which records or compiles, has a table of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Results", "collect", "main", "parser"]

ROOT = Path(__file__).parents[2]
CADIFF, NATIVE, JAX, TORCH, HAND = "cadiff", "cadiff, native", "JAX", "PyTorch", "C++ by hand"
OURS = (CADIFF, NATIVE)
TOOLS = {
    CADIFF: ["-m", "benchmarks.gradbench"],
    NATIVE: ["-m", "benchmarks.gradbench", "--native"],
    JAX: ["-m", "benchmarks.gradbench.jax_tool"],
    TORCH: ["python/gradbench/gradbench/tools/pytorch/run.py"],
    HAND: ["-m", "benchmarks.gradbench.cpp_tool"],
}
NEEDED = {JAX: "jax", TORCH: "torch"}
SIZES = {
    "gmm": "-d 2 10 32 -k 5 25 100",
    "ba": "--min 1 --max 2",
    "ht": "--min 1 --max 5 --model small",
    "lstm": "-l 2 4 -c 1024 4096",
    "kmeans": "-k 10 100 1000 -n 1000 10000 -d 8",
    "det": "-l 5 6 7 8 9",
    "llsq": "-n 16 128 1024 16392",
    "lse": "-n 2500 20000 160000 1280000",
    "ode": "-n 1000 10000 -s 1 10 100",
    "particle": "",
    "saddle": "",
}
SMALL = {
    "gmm": "-d 2 -k 5",
    "ba": "--min 1 --max 1",
    "ht": "--min 1 --max 1 --model small",
    "lstm": "-l 2 -c 1024",
    "kmeans": "-k 10 -n 1000 -d 8",
    "det": "-l 5",
    "llsq": "-n 16",
    "lse": "-n 2500",
    "ode": "-n 1000 -s 1",
    "particle": "",
    "saddle": "",
}


class Record(NamedTuple):
    """An evaluation by a tool: seconds of the first run, least seconds, and what went wrong."""

    size: str
    function: str
    first: float
    least: float
    error: str


class Session:
    """An eval and a tool that talk with each other, as GradBench's command has them do.

    Parameters
    ----------
    checkout : Path
        Of GradBench, where both are run.
    judge, tool : list of str
        Arguments of Python.
    limit : float
        Seconds after which no answer is waited for.
    """

    def __init__(self, checkout: Path, judge: list[str], tool: list[str], limit: float) -> None:
        self._checkout, self._limit = checkout, limit
        self._judge, self._tool = self._start(judge), self._start(tool)

    def records(self) -> Generator[Record, None, None]:
        """One for each evaluation, when it has been judged."""
        try:
            yield from self._talk()
        finally:
            for process in (self._judge, self._tool):
                process.kill()
                process.communicate()

    def _talk(self) -> Generator[Record, None, None]:
        asked: dict[int, Record] = {}
        for line in self._judge.stdout or ():
            message = json.loads(line)
            if message["kind"] == "end":
                return
            if message["kind"] == "analysis":
                error = "" if message["valid"] else message.get("error", "not valid")
                yield asked.pop(message["of"])._replace(error=error)
            answer = self._answer(line)
            if message["kind"] == "evaluate":
                record = self._record(message, answer)
                if record.error:
                    yield record
                asked[message["id"]] = record
            if answer is None:
                return
            print(json.dumps(answer), file=self._judge.stdin, flush=True)

    def _answer(self, line: str) -> Any:
        """The tool's answer; None if it takes too long, or has ended."""
        print(line, end="", file=self._tool.stdin, flush=True)
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._tool.stdout or 0, selectors.EVENT_READ)
            if not waiting.select(self._limit):
                return None
        answer = (self._tool.stdout or sys.stdin).readline()
        return json.loads(answer) if answer else None

    @staticmethod
    def _record(message: dict[str, Any], answer: Any) -> Record:
        size, function = str(message.get("description", "")), message["function"]
        if answer is None:
            return Record(size, function, 0.0, 0.0, "no answer in time")
        if not answer["success"]:
            return Record(size, function, 0.0, 0.0, answer.get("error", "failed"))
        runs = [
            (each["name"], 1e-9 * each["nanoseconds"])
            for each in answer["timings"]
            if each["name"] in ("warmup", "evaluate")
        ]
        least = min(seconds for name, seconds in runs if name == "evaluate")
        return Record(size, function, runs[0][1], least, "")

    def _start(self, arguments: list[str]) -> subprocess.Popen[str]:
        path = [str(self._checkout / "python" / "gradbench"), str(ROOT)]
        path += [other for other in [os.environ.get("PYTHONPATH")] if other]
        one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environment = {"PYTHONPATH": os.pathsep.join(path), "JAX_ENABLE_X64": "1", **one_thread}
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self._checkout,
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def installed() -> list[str]:
    """The tools that can be run here."""
    return [name for name in TOOLS if find_spec(NEEDED.get(name, "cadiff")) is not None]


def written(seconds: float | None) -> str:
    """Three digits, with a unit."""
    if seconds is None:
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e6 * seconds:.3g} µs"


class Results:
    """Least times by eval, size, function and tool."""

    def __init__(self, tools: list[str]) -> None:
        self.tools = tools
        self.rows: dict[tuple[str, str], list[str]] = defaultdict(list)  # the functions of each
        self.least: dict[tuple[str, str, str, str], float] = {}
        self.first: dict[tuple[str, str, str, str], float] = {}
        self.valid = dict.fromkeys(tools, 0)
        self.errors: list[str] = []

    def add(self, name: str, tool: str, record: Record) -> None:
        key = (name, record.size, record.function, tool)
        functions = self.rows[name, record.size]
        if record.function not in functions:
            functions.append(record.function)
        if record.error:
            self.errors.append(f"{' '.join(key)}: {record.error.strip().splitlines()[-1]}")
            return
        self.valid[tool] += 1
        self.least[key] = min(record.least, self.least.get(key, record.least))
        self.first.setdefault(key, record.first)

    def table(self, times: dict[tuple[str, str, str, str], float]) -> str:
        """A line for each size, with the times of all functions by each tool."""
        lines = [["eval", "size", "functions", *self.tools], ["---"] * (3 + len(self.tools))]
        for (name, size), functions in self.rows.items():
            line = [name, size, " / ".join(functions)]
            for tool in self.tools:
                found = [times.get((name, size, function, tool)) for function in functions]
                line.append(" / ".join(map(written, found)))
            lines.append(line)
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def faster(self) -> Iterator[tuple[str, str, str, str, float]]:
        """Eval, size, function, tool and how much, where another is faster than both of ours."""
        for (name, size), functions in self.rows.items():
            for function in functions:
                times = {
                    tool: self.least[key]
                    for tool in self.tools
                    if (key := (name, size, function, tool)) in self.least
                }
                ours = min((times[tool] for tool in OURS if tool in times), default=0.0)
                for tool, seconds in times.items():
                    if tool not in OURS and seconds < ours:
                        yield name, size, function, tool, ours / seconds


def measure(results: Results, name: str, options: argparse.Namespace) -> None:
    """One round of an eval, in which the tools take turns."""
    repeated = f"--min-runs {options.runs} --min-seconds {options.seconds}"
    sizes = (SMALL if options.small else SIZES)[name]
    judge = [f"python/gradbench/gradbench/evals/{name}/run.py", *f"{sizes} {repeated}".split()]
    sessions = [
        Session(options.checkout, judge, TOOLS[tool], options.limit).records()
        for tool in results.tools
    ]
    try:
        for records in zip_longest(*sessions):
            for tool, record in zip(results.tools, records, strict=True):
                if record is not None:
                    results.add(name, tool, record)
    finally:
        for session in sessions:
            session.close()


def parser() -> argparse.ArgumentParser:
    """Of the command's options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="of GradBench, with its tool `manual` built")
    parser.add_argument("--only", nargs="+", choices=SIZES, default=list(SIZES), metavar="EVAL")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=installed(), metavar="TOOL")
    parser.add_argument("--small", action="store_true", help="the smallest size of each eval")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=2, help="at least so many, of each evaluation")
    parser.add_argument("--seconds", type=float, default=0.3, help="and for so long")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for an answer")
    return parser


def collect(options: argparse.Namespace) -> Results:
    """Measure all rounds, on one core."""
    options.checkout = options.checkout.resolve()
    if not (options.checkout / "tools" / "manual" / "bin").is_dir():
        raise SystemExit(
            "most evals judge by the tool `manual`: make -C cpp; make -C tools/manual"
        )
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    results = Results(options.tools)
    for round_number in range(options.rounds):
        for name in options.only:
            measure(results, name, options)
            print(f"round {round_number + 1}: {name}", file=sys.stderr, flush=True)
    return results


def main() -> None:
    """Measure, and print the tables."""
    options = parser().parse_args()
    results = collect(options)
    print(f"Least times of {options.rounds} rounds:\n\n{results.table(results.least)}\n")
    print(f"First runs:\n\n{results.table(results.first)}\n")
    print("Valid: " + ", ".join(f"{tool} {count}" for tool, count in results.valid.items()))
    print(*results.errors, sep="\n")


if __name__ == "__main__":
    main()
