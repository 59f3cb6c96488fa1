"""What the package costs before it computes anything: to build, to import, to keep.

    python -m benchmarks.building              builds a copy of the tree, and prints a table
    python -m benchmarks.building moved        the same, beside what is written down
    python -m benchmarks.building json         sizes of the tree, which benchmarks.history draws
    python -m benchmarks.building some.whl     says what is wrong with the contents of a wheel

The table stands in docs/design/building.md. What has moved by more than a fifth is to be explained
or mended, and the table printed anew: times are those of one machine in one hour. To build takes
what pyproject.toml lists under [build-system]. This module knows the package as files alone: it
measures what an import costs, so it must not have imported it.
"""

from __future__ import annotations

import compileall
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.timing import Spread

__all__ = ["exposed", "misplaced", "revealing", "unlisted"]

ROOT = Path(__file__).parent.parent
MADE = ("build", "generated", "__pycache__", "*.so", "*.egg-info", ".*")  # and what hides itself
BUILD = ("setup.py", "-q", "build_ext", "--inplace")
TOUCHED = ("src/tape/tape.c", "cadiff/binding/*.pyx")  # of several files the largest
EDITS = {".c": "/* changed */\n", ".pyx": "_changed = True\n"}
IMPORTS = 21
LOADED = """
import sys, numpy
before = set(sys.modules)
import cadiff
print(*set(sys.modules) - before)
"""
MEGABYTE = 1e6
PAGE = ROOT / "docs" / "design" / "building.md"
SHARE = 0.2

# What a wheel consists of, beside its metadata.
INSTALLED = {".py", ".pyi", ".so", ".pyd", ".dat", ".typed"}
SOURCES = {".py", ".pyx", ".pxd", ".c", ".h", ".def"}


class Cost(NamedTuple):
    """Seconds on the clock, and of all processors."""

    wall: float
    processor: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s; {self.processor:.1f} s of processors"


def run(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> Cost:
    """Run this Python with some arguments; what it prints is shown if it fails."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return Cost(wall, user + system)


# --- building ------------------------------------------------------------------------------------


def building(tree: Path) -> Iterator[tuple[str, str]]:
    """A clean build of a tree, and builds after changes."""
    yield "clean build", str(run(*BUILD, cwd=tree))
    yield "build after nothing", str(run(*BUILD, cwd=tree))
    for pattern in TOUCHED:
        changed = max(tree.glob(pattern), key=lambda path: path.stat().st_size)
        with changed.open("a") as file:
            file.write(EDITS[changed.suffix])
        yield f"build after a change of {changed.relative_to(tree)}", str(run(*BUILD, cwd=tree))


# --- the wheel -----------------------------------------------------------------------------------


def misplaced(wheel: Path) -> list[str]:
    """The files of a wheel that have no place in it: sources of the compiled core, for example."""
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    return [name for name in names if Path(name).suffix not in INSTALLED]


def revealing(wheel: Path) -> list[str]:
    """The files of a wheel that name a place of this machine, such as libraries of this Python."""
    places = {str(ROOT), sys.prefix, sys.base_prefix, str(Path.home())} - {
        "/usr",
        "/usr/local",
        "/",
    }
    with zipfile.ZipFile(wheel) as parts:
        return [
            name
            for name in parts.namelist()
            if any(f"{place}{os.sep}".encode() in parts.read(name) for place in places)
        ]


def exposed(wheel: Path) -> list[str]:
    """What is wrong with the names of a wheel's core, as the tools for ELF files print them."""
    if shutil.which("nm") is None or not sys.platform.startswith("linux"):
        return []
    found = []
    with zipfile.ZipFile(wheel) as parts, tempfile.TemporaryDirectory() as place:
        for name in (name for name in parts.namelist() if name.endswith(".so")):
            core = parts.extract(name, place)
            lines = printed("nm", "-D", core).splitlines()
            names = [line.split()[-1] for line in lines if " U " not in line and " w " not in line]
            found += [f"{name} exports {own}" for own in names if not own.startswith("PyInit_")]
            needed = printed("readelf", "-d", core)
            if "[libc.so.6]" in needed and "[libm.so.6]" not in needed:
                found.append(f"{name} does not name the library of mathematics")
    return found


def printed(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def unlisted(wheel: Path) -> list[str]:
    """What the list of a wheel's parts lacks."""
    with zipfile.ZipFile(wheel) as parts:
        names = [name for name in parts.namelist() if ".dist-info/sboms/" in name]
        listed = [json.loads(parts.read(name)) for name in names]
    named = {part["name"] for one in listed for part in one["components"]}
    return [f"{name} is compiled in, and not listed" for name in {"Cython", "numpy"} - named]


def wheel_of(tree: Path, out: Path) -> Path:
    """The wheel of a tree that is built already."""
    options = ("--no-deps", "--no-build-isolation", "-w", str(out))
    run("-m", "pip", "wheel", *options, str(tree), cwd=out)
    (wheel,) = out.glob("*.whl")
    return wheel


def sizes(wheel: Path) -> Iterator[tuple[str, str]]:
    """How large a wheel is, and what is made of it."""
    installed = sum(part.file_size for part in zipfile.ZipFile(wheel).infolist())
    yield "wheel", f"{wheel.stat().st_size / MEGABYTE:.2f} MB"
    yield "installed, without bytecode", f"{installed / MEGABYTE:.2f} MB"
    yield "other files in it than Python, stubs, data and the core", str(len(misplaced(wheel)))


# --- importing -----------------------------------------------------------------------------------


def importing(wheel: Path, place: Path) -> Iterator[tuple[str, str]]:
    """What `import cadiff` takes where NumPy has been imported, medians of interleaved runs."""
    zipfile.ZipFile(wheel).extractall(place)
    compileall.compile_dir(place, quiet=2)
    env = os.environ | {"PYTHONPATH": str(place)}
    both = []
    for _ in range(IMPORTS):
        numpy = run("-c", "import numpy", cwd=place, env=env)
        package = run("-c", "import numpy, cadiff", cwd=place, env=env)
        both.append((numpy, package))
    wall = Spread.of(package.wall - numpy.wall for numpy, package in both)
    processor = Spread.of(package.processor - numpy.processor for numpy, package in both)
    yield (
        "import, after that of NumPy",
        f"{1e3 * wall.median:.0f} ms; {1e3 * processor.median:.0f} ms of processors",
    )
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=place, env=env, stdout=subprocess.PIPE, check=True
    )
    loaded = done.stdout.decode().split()
    own = [name for name in loaded if name.partition(".")[0] == "cadiff"]
    yield "modules that it loads; its own", f"{len(loaded)}; {len(own)}"


# --- from run to run -----------------------------------------------------------------------------


def counted() -> dict[str, int]:
    """Sizes of the tree and of what was built in it."""
    written = [path for place in ("src", "cadiff") for path in (ROOT / place).rglob("*.*")]
    product = [
        path for path in written if path.suffix in SOURCES and "generated" not in path.parts
    ]
    tests = [path for path in (ROOT / "tests").rglob("*.*") if path.suffix in SOURCES]
    loaded = subprocess.run([sys.executable, "-c", LOADED], stdout=subprocess.PIPE, check=True)
    own = [name for name in loaded.stdout.decode().split() if name.startswith("cadiff")]
    return {
        "lines of the product": sum(path.read_bytes().count(b"\n") for path in product),
        "lines of tests": sum(path.read_bytes().count(b"\n") for path in tests),
        "bytes of C that Cython writes": sum(
            path.stat().st_size for path in (ROOT / "build" / "modules").glob("*.c")
        ),
        "bytes of the core": sum(path.stat().st_size for path in written if path.suffix == ".so"),
        "bytes of Python and stubs": sum(
            path.stat().st_size for path in written if path.suffix in (".py", ".pyi")
        ),
        "own modules that the import loads": len(own),
    }


# --- the command ---------------------------------------------------------------------------------


def figures() -> Iterator[tuple[str, str]]:
    """All figures, by what they are of."""
    with tempfile.TemporaryDirectory() as name:
        tree, out, place = (Path(name, part) for part in ("tree", "out", "place"))
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*MADE))
        out.mkdir()
        yield from building(tree)
        wheel = wheel_of(tree, out)
        yield from sizes(wheel)
        yield from importing(wheel, place)


def written_down() -> dict[str, str]:
    """The figures of the page, by what they are of."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(rows)


def has_moved(before: str, now: str) -> bool:
    """Whether one of the numbers in a text is more than a fifth off that of another text."""
    numbers = [list(map(float, re.findall(r"\d+(?:\.\d+)?", text))) for text in (before, now)]
    pairs = list(zip(*numbers, strict=False))
    return len(numbers[0]) != len(numbers[1]) or any(abs(x - y) > SHARE * x for x, y in pairs)


def main() -> int:
    if sys.argv[1:] == ["json"]:
        commit = printed("git", "log", "-1", "--format=%H %cI").split()
        info = {"id": commit[0], "time": commit[1]}
        print(json.dumps({"commit_info": info, "sizes": counted()}, indent=1))
        return 0
    known = written_down() if sys.argv[1:] == ["moved"] else {}
    if len(sys.argv) > 1 and not known:
        wheel = Path(sys.argv[1])
        found = [f"{name} has no place in a wheel" for name in misplaced(wheel)]
        found += [f"{name} names a place of this machine" for name in revealing(wheel)]
        found += [*exposed(wheel), *unlisted(wheel)]
        print(*found, sep="\n")
        return 1 if found else 0
    print("| what | measured |\n|---|---|")
    for what, measured in figures():
        moved = what in known and has_moved(known[what], measured)
        print(f"| {what} | {measured} |" + (f" was {known[what]}" if moved else ""), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
