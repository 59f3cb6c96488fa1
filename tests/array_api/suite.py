"""The array API standard's own tests of `cadiff.numpy`, of plain arrays and of numbers.

    python -m tests.array_api.suite CLONE [PYTEST ARGUMENTS ...]

CLONE is one of https://github.com/data-apis/array-api-tests, with its submodule. The tests run
with NumPy, with `cadiff.numpy`, and with numbers that carry derivatives, in reverse and in forward
mode (`numbers.py`). What NumPy fails may fail; of numbers, what `excluded.txt` names, too. It is
told which of its lines nothing needed: a few are needed by some of the arrays that may be drawn.
`nox -s array_api` runs this.

As a plugin of pytest the file has numbers drawn instead of arrays. The tests read them by
`cadiff.value` where they call `float` and `complex`, which would refuse to drop derivatives, and
ask `cadiff.math` and `cadiff.cmath` where they ask `math` and `cmath`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hypothesis.extra import array_api

import cadiff
import cadiff.numpy
from cadiff import cmath, math

from .numbers import MODE, number

ROOT = Path(__file__).parents[2]
EXCLUDED = Path(__file__).with_name("excluded.txt")
VERSION = "2024.12"
OPTIONS = ("--derandomize", "--disable-deadline", "--max-examples", "20")


class _Reading(type):
    """Of a type of Python's that reads numbers: all that is of that type is an instance."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1])


class _Float(float, metaclass=_Reading):
    def __new__(cls, *numbers: Any) -> float:  # type: ignore[misc]
        return float(*cadiff.value(numbers))


class _Complex(complex, metaclass=_Reading):
    def __new__(cls, *numbers: Any) -> complex:  # type: ignore[misc]
        return complex(*cadiff.value(numbers))


def pytest_configure() -> None:
    strategy: Any = array_api.ArrayStrategy
    draw = strategy.do_draw

    def draw_numbers(self: Any, data: Any) -> Any:
        self.xp = cadiff.numpy
        return number(draw(self, data))

    strategy.do_draw = draw_numbers


def pytest_collection_modifyitems() -> None:
    read = {"math": math, "cmath": cmath, "float": _Float, "complex": _Complex}
    for name, module in list(sys.modules.items()):
        if name.startswith("array_api_tests."):
            vars(module).update(read)


def outcomes(clone: Path, module: str, mode: str, arguments: list[str]) -> dict[str, str | None]:
    """What each test of a module said when it failed; None of one that did not."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", MODE: mode}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    environment |= {"ARRAY_API_TESTS_MODULE": module, "ARRAY_API_TESTS_VERSION": VERSION}
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "array_api_tests"]
    run += ["-p", "tests.array_api.suite"] if mode else []
    with tempfile.TemporaryDirectory() as place:
        written = Path(place, "report.json")
        run += [*OPTIONS, "--json-report", f"--json-report-file={written}", *arguments]
        done = subprocess.run(run, env=environment, cwd=clone, capture_output=True, text=True)
        if not written.exists():
            raise SystemExit(done.stdout + done.stderr)
        tests = json.loads(written.read_text())["tests"]
    found: dict[str, str | None] = {}
    for test in tests:
        said = test.get("call", {}).get("crash", {}).get("message", "")
        has_failed = test["outcome"] in ("failed", "error")
        found[test["nodeid"].removeprefix("array_api_tests/")] = said if has_failed else None
    failed = len([said for said in found.values() if said is not None])
    print(f"{module} {mode}: {failed} of {len(found)} tests fail", flush=True)
    return found


def main() -> None:
    clone, *arguments = sys.argv[1:]
    lines = [line.split(" | ") for line in EXCLUDED.read_text().splitlines() if line[0] != "#"]
    of_numpy = [name for name, reason in lines if reason.startswith("NumPy")]
    theirs = outcomes(Path(clone), "numpy", "", arguments)
    needed, wrong = set(), []
    for mode in ("", "reverse", "forward"):
        module = "tests.array_api.numbers" if mode else "cadiff.numpy"
        ours = outcomes(Path(clone), module, mode, arguments)
        for name in theirs:
            said = ours.get(name, "not run")
            excluded = [begins for begins, _ in lines] if mode else of_numpy
            allowing = [begins for begins in excluded if name.startswith(begins)]
            if said is not None and theirs[name] is None:
                needed.update(allowing)
                wrong += [] if allowing else [f"{mode or 'plain'}: {name}: {said[:300]}"]
    print(*(f"nothing needed {name}" for name, _ in lines if name not in needed), sep="\n")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
