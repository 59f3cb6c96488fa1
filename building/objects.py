"""Objects of C: by which command they are compiled, where they are kept, and when again.

`src/` knows no Python: its objects are kept in `build/objects/core-…`, serve every Python, and are
what the core's own tests run. An object is compiled again if its command, its source or a header
that it includes has changed; which headers these are, the compiler writes down. Nothing here needs
more than Python.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from .failures import compile_or_fail

__all__ = [
    "ASKED_ARGS",
    "CLOSE_ARGS",
    "COMPILE_ARGS",
    "DEBUGGED",
    "ROOT",
    "UNSCHEDULED",
    "CoreObjects",
    "Objects",
    "accepted",
    "compiler_of",
    "words_of",
]

ROOT = Path(__file__).parents[1]
OBJECTS = ROOT / "build" / "objects"

# A command has Python's own options, these, those of the environment (CPPFLAGS and CFLAGS, which
# thus choose otherwise: -O2 -g of a distribution, for example), what results rest on, and finally
# CADIFF_CFLAGS.
if sys.platform == "win32":
    COMPILE_ARGS = ["/O2"]
    EXACT_ARGS = ["/fp:precise", "/std:c11"]
else:
    COMPILE_ARGS = ["-O3", "-DNDEBUG", "-fvisibility=hidden", "-fPIC"]
    # Else a sweep may take a fifth longer after a change elsewhere, by where its loop lies.
    COMPILE_ARGS += ["-falign-functions=64", "-falign-loops=32"]
    # Newer compilers refuse what these find; others shall not go on without a declaration.
    COMPILE_ARGS += ["-Werror=implicit-function-declaration", "-Werror=int-conversion"]
    # What debuggers read would be most of the wheel, and a fifth of the time that the build takes.
    COMPILE_ARGS += ["-g0"]
    # Exact arithmetic is part of the contract: no -ffast-math, and no contraction to fused
    # multiply-adds, which would make results depend on the machine. That nobody watches which
    # exceptions are flagged changes no result, and lets loops with a choice in them be vectorised.
    EXACT_ARGS = ["-std=c11", "-fno-fast-math", "-ffp-contract=off", "-fno-trapping-math"]


def words_of(*variables: str) -> list[str]:
    """The words of some variables of the environment, one after the other."""
    return [word for name in variables for word in shlex.split(os.environ.get(name, ""))]


ASKED_ARGS = words_of("CPPFLAGS", "CFLAGS") + EXACT_ARGS + words_of("CADIFF_CFLAGS")
DEBUGGED = any(word.startswith("-g") and word != "-g0" for word in ASKED_ARGS)
if sys.platform != "win32" and not DEBUGGED:
    # Nothing in C throws, so that only debuggers and profilers look for who called.
    COMPILE_ARGS += ["-fno-asynchronous-unwind-tables"]


def compiler_of(command: Sequence[str]) -> list[str]:
    """The words before the first option: two of them for `ccache gcc`."""
    return list(takewhile(lambda word: not word.startswith("-"), command))


def accepted(compiler: Sequence[str], options: Sequence[str]) -> list[str]:
    """Those options that a compiler knows: what is asked of gcc's passes others may refuse."""
    command = [*compiler, "-Werror", "-x", "c", "-fsyntax-only", os.devnull]

    def knows(some: Sequence[str]) -> bool:
        return subprocess.run([*command, *some], capture_output=True).returncode == 0

    return list(options) if knows(options) else [word for word in options if knows([word])]


OPTIONS_OF_PROCESSOR = ("-arch", "-target", "-isysroot")  # whose value is the next word


def of_processor(options: Sequence[str]) -> list[str]:
    """Those options that say for which processor and system something is compiled."""
    return [
        word
        for before, word in zip(["", *options], options, strict=False)
        if {before, word} & {*OPTIONS_OF_PROCESSOR}
        or word.startswith(("-m", "--target=", "--sysroot="))
    ]


class Objects:
    """Where objects of one command stand, and which of them are up to date.

    What is installed is told apart by versions, not by places: each environment has it elsewhere.
    """

    def __init__(
        self, name: str, command: list[str], versions: str = "", places: Sequence[str] = ()
    ) -> None:
        self.command = command
        self.places = [f"-isystem{place}" for place in places]
        self.directory = OBJECTS / f"{name}-{self._digest(versions)}"

    def _digest(self, versions: str) -> str:
        asked = [*compiler_of(self.command), "--version"]
        compiler = subprocess.run(asked, capture_output=True).stdout
        known = repr(self.command).encode() + versions.encode() + compiler
        return hashlib.sha256(known).hexdigest()[:12]

    def compile(self, source: str) -> str:
        """The object of a source, compiled if it has to be."""
        path = self.directory / Path(source).with_suffix(".o")
        if not self._is_current(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(f".{os.getpid()}.o")  # another build may want the same object
            new.touch()
            begun = new.stat().st_mtime_ns
            rules = ["-MMD", "-MF", str(path.with_suffix(".d"))]
            command = [*self.command, *self.places, *rules]
            compile_or_fail([*command, "-c", source, "-o", str(new)], source, ROOT)
            os.utime(new, ns=(begun, begun))  # what is edited meanwhile is newer
            new.replace(path)
        return str(path)

    @staticmethod
    def _is_current(path: Path) -> bool:
        """Whether an object is newer than all that it was made of."""
        try:
            rule = path.with_suffix(".d").read_text(encoding="utf-8")
            made = path.stat().st_mtime_ns
            parts = shlex.split(rule.partition(": ")[2].replace("\\\n", " "))
            return bool(parts) and all((ROOT / part).stat().st_mtime_ns < made for part in parts)
        except FileNotFoundError:
            return False


# Folders of the core that arrange what others compute with: loops of theirs are not unrolled, nor
# written once for each case. With -O2 calls take at most 1 % fewer instructions, and these files
# half as long again to compile.
ARRANGING = ("src/graph/", "src/linear/", "src/loops/", "src/program/", "src/tape/")
COMPUTING = {f"src/program/{name}.c" for name in ("run", "run_arrays", "run_points")}
COMPUTING |= {f"src/linear/{name}.c" for name in ("array_steps", "sweep")}
# What has no loops that time is spent in stands close together.
CLOSE = {"functions": 16, "loops": 1, "jumps": 1, "labels": 1}
CLOSE_ARGS = [f"-falign-{what}={n}" for what, n in CLOSE.items() if sys.platform != "win32"]
ARRANGING_ARGS = [] if sys.platform == "win32" else ["-O1", *CLOSE_ARGS]
UNSCHEDULED = "-fno-schedule-insns2"  # processors reorder what they run themselves


class CoreObjects:
    """Those of the core in C; command: the compiler, and the options that Python has for it."""

    def __init__(self, command: Sequence[str]) -> None:
        compiler = compiler_of(command)
        begin = [*compiler, *of_processor(command[len(compiler) :]), "-Wall", *COMPILE_ARGS]
        end = [*ASKED_ARGS, "-Isrc", "-Isrc/generated"]
        self.computing = Objects("core", [*begin, *accepted(compiler, [UNSCHEDULED]), *end])
        self.arranging = Objects("core", [*begin, *ARRANGING_ARGS, *end])

    def compile(self, source: str) -> str:
        """The object of a source, compiled if it has to be."""
        arranges = source.startswith(ARRANGING) and source not in COMPUTING
        return (self.arranging if arranges else self.computing).compile(source)
