"""Which branches of the C core its own tests take.

    python -m tests.c.coverage [--python]

The core is built with gcc's `--coverage` into `build/coverage`, and its tests are run there. With
`--python` the extension is built so, too, in a copy of the tree, and the tests of the binding, of
transforms, of programs and of functions add what they take.

What is counted are lines that branch, and the ways out of them: a macro that makes a hundred
branches of a row of the table counts as one line, all of whose ways were taken, or not.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..faults.copies import tools
from .test_c_core import CORE, PTHREAD, ROOT, STRICT, TESTS, write_headers

BUILT = ROOT / "build" / "coverage"
FLAGS = ["-O0", "-g0", "--coverage", "-fprofile-update=atomic"]
OF_BINDING = [f"tests/{name}" for name in ("binding", "transforms", "programs", "numerics")]
LOWEST = 12  # files that are named

# For each line of a file, how often each of its branches was taken, over all objects and programs.
Counts = dict[str, dict[int, list[int]]]


def run(command: list[str], where: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=where, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-4000:]}{done.stderr[-4000:]}\n{command[0]} failed")
    return done.stdout


def test_core() -> Path:
    """Build the tests of the core, and run them; the folder of what was counted."""
    shutil.rmtree(BUILT / "core", ignore_errors=True)
    headers = BUILT / "core" / "headers"
    headers.mkdir(parents=True)
    write_headers(headers)
    includes = [f"-I{path}" for path in (CORE, headers, TESTS)]
    command = [os.environ.get("CC", "gcc"), *STRICT, *PTHREAD, *FLAGS]

    def compile_one(source: Path) -> str:
        result = str(BUILT / "core" / f"{source.parent.name}-{source.stem}.o")
        run([*command, *includes, "-c", str(source), "-o", result], ROOT)
        return result

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, [*CORE.glob("*/*.c"), *TESTS.glob("*.c")]))
    program = str(BUILT / "core" / "tests")
    run([*command, *objects, "-lm", "-o", program], ROOT)
    run([program, *run([program, "--list"], ROOT).split()], ROOT)
    return BUILT / "core"


def test_extension() -> Path:
    """Build the extension in a copy, and run the tests of the binding there."""
    copy = BUILT / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(
        ROOT, copy, ignore=shutil.ignore_patterns("build", ".*", "*.so", "__pycache__")
    )
    flags = {"CADIFF_CFLAGS": " ".join(FLAGS), "CADIFF_LDFLAGS": "--coverage"}
    flags["CADIFF_CYTHON_CFLAGS"] = "-fno-profile-arcs -fno-test-coverage"
    flags["PYTHONPATH"] = tools()
    run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], copy, **flags)
    tests = ["-m", "pytest", "-q"]
    # What is counted takes memory and time, so that a test of either may fail.
    command = [sys.executable, *tests, "-p", "no:cacheprovider", *OF_BINDING]
    subprocess.run(command, cwd=copy, env={**os.environ, "PYTHONPATH": str(copy)})
    return copy / "build" / "objects"


def read_counts(folder: Path, tree: Path, counts: Counts) -> None:
    """Add what the programs of a folder have counted."""
    for data in sorted(folder.rglob("*.gcda")):
        options = ["--json-format", "--branch-probabilities", "--branch-counts", "--stdout"]
        for line in run(["gcov", *options, str(data)], tree).splitlines():
            for file in json.loads(line)["files"]:
                path = Path(tree, file["file"]).resolve()
                if CORE.name not in path.parts or not path.is_relative_to(tree / CORE.name):
                    continue
                name = path.relative_to(tree).as_posix()
                for place in file["lines"]:
                    taken = [branch["count"] for branch in place["branches"]]
                    if taken:
                        add(counts[name], place["line_number"], taken)


def add(lines: dict[int, list[int]], number: int, taken: list[int]) -> None:
    """One more function, object or program that has a line: branches of equal number are the same.

    A header's line, or a macro's, has others where the compiler has made something else of it.
    """
    known = lines.setdefault(number, [])
    known.extend([0] * (len(taken) - len(known)))
    for i, count in enumerate(taken):
        known[i] += count


def share(files: list[dict[int, list[int]]]) -> tuple[float, float, int]:
    """How many lines that branch do so in all ways, by half ways too, and how many there are.

    Each line counts as one, whatever a macro makes of it: with the share of its branches taken.
    """
    lines = [taken for file in files for taken in file.values()]
    shares = [sum(map(bool, taken)) / len(taken) for taken in lines]
    whole = sum(one == 1.0 for one in shares)
    return sum(shares) / max(1, len(lines)), whole / max(1, len(lines)), len(lines)


def counts_of_tests(with_python: bool) -> Counts:
    """What the core's own tests take; `with_python` those of the binding, too."""
    counts: Counts = defaultdict(dict)
    read_counts(test_core(), ROOT, counts)
    if with_python:
        read_counts(test_extension(), BUILT / "copy", counts)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.c.coverage", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--python", action="store_true", help="the tests of the binding, too")
    counts = counts_of_tests(parser.parse_args().python)
    folders: dict[str, list[dict[int, list[int]]]] = defaultdict(list)
    for name, lines in counts.items():
        folders[str(Path(name).parent)].append(lines)
    table = {**dict(sorted(folders.items())), "in all": list(counts.values())}
    print(f"{'':24}  taken  all ways  lines that branch")
    for name, files in table.items():
        print_row(name, files)
    print("\nlowest:")
    for name in sorted(counts, key=lambda name: share([counts[name]])[0])[:LOWEST]:
        print_row(name, [counts[name]])


def print_row(name: str, files: list[dict[int, list[int]]]) -> None:
    taken, whole, lines = share(files)
    print(f"{name:24}  {taken:5.1%}  {whole:8.1%}  {lines:5}")


if __name__ == "__main__":
    main()
