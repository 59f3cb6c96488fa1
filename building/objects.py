"""Objects of C: by which command they are compiled, where they are kept, and when again.

`src/` knows no Python: its objects are kept in `build/objects/core-…`, serve every Python, and are
what the core's own tests run. An object is compiled again if its command, its source or a header
that it includes has changed; which headers these are, the compiler writes down.
"""

import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise, takewhile
from pathlib import Path

from .failures import compile_or_fail

__all__ = ["COMPILE_ARGS", "DEBUGGED", "CoreObjects", "Objects", "words_of"]

ROOT = Path(__file__).parents[1]


def words_of(*variables: str) -> list[str]:
    """The words of some variables of the environment, one after the other."""
    return [word for name in variables for word in shlex.split(os.environ.get(name, ""))]


# A command has Python's own options, those of the package and of a kind of objects, those of the
# environment (CPPFLAGS and CFLAGS, which thus choose otherwise: -O2 -g of a distribution, for
# example), what results rest on, and finally CADIFF_CFLAGS.
#
# Exact arithmetic is part of the contract: no fused multiply-adds, which would make results depend
# on the machine. That nobody watches which exceptions are flagged changes no result, and lets
# loops with a choice in them be vectorised.
EXACT_ARGS = ["-std=c11", "-fno-fast-math", "-ffp-contract=off", "-fno-trapping-math"]
if sys.platform == "win32":
    EXACT_ARGS = ["/fp:precise", "/std:c11"]
ASKED_ARGS = [*words_of("CPPFLAGS", "CFLAGS"), *EXACT_ARGS, *words_of("CADIFF_CFLAGS")]
DEBUGGED = any(word.startswith("-g") and word != "-g0" for word in ASKED_ARGS)
COMPILE_ARGS = [
    *("-O3", "-DNDEBUG", "-fvisibility=hidden", "-fPIC"),
    # Else a sweep may take a fifth longer after a change elsewhere, by where its loop lies.
    *("-falign-functions=64", "-falign-loops=32"),
    # Newer compilers refuse what these find; others shall not go on without a declaration.
    *("-Werror=implicit-function-declaration", "-Werror=int-conversion"),
    "-g0",  # what debuggers read would be most of the wheel, and a fifth of the build's time
    # Nothing in C throws, so that only debuggers and profilers look for who called.
    *([] if DEBUGGED else ["-fno-asynchronous-unwind-tables"]),
]
if sys.platform == "win32":
    COMPILE_ARGS = ["/O2"]

# What has no loops that time is spent in stands close together.
CLOSE = ["-falign-loops=1", "-falign-jumps=1", "-falign-labels=1"]
UNSCHEDULED = "-fno-schedule-insns2"  # processors reorder what they run themselves
SPARED = [  # what takes time, and Cython's C gains nothing from
    *(UNSCHEDULED, "-fno-gcse", "-fno-tree-pta", "-fno-tree-loop-optimize"),
    *("-fno-tree-slp-vectorize", "-fno-ipa-cp", "-fno-ipa-sra"),
]
OF_CORE, OF_CYTHON = ["-Isrc", "-Isrc/generated"], words_of("CADIFF_CYTHON_CFLAGS")
# The options of each kind of objects: those that a compiler may not know, and the last ones.
KINDS = {
    "computing": ([UNSCHEDULED], OF_CORE),
    "arranging": (["-O1", "-falign-functions=16", *CLOSE], OF_CORE),
    "numbers": (["-O2", "-falign-functions=16", *CLOSE, *SPARED], []),
    "hot": (["-falign-functions=1", *CLOSE, "-O2", *SPARED], OF_CYTHON),
    "cold": (["-falign-functions=1", *CLOSE, "-Og", *SPARED], OF_CYTHON),
}
# Folders of the core that arrange what others compute with: loops of theirs are not unrolled, nor
# written once for each case.
ARRANGING = ("src/graph/", "src/linear/", "src/loops/", "src/program/", "src/tape/")
COMPUTING = {f"src/program/{name}.c" for name in ("run", "run_arrays", "run_points")}
COMPUTING |= {f"src/linear/{name}.c" for name in ("array_steps", "sweep")}


def compiler_of(command: Sequence[str]) -> list[str]:
    """The words before the first option: two of them for `ccache gcc`."""
    return list(takewhile(lambda word: not word.startswith("-"), command))


def accepted(compiler: list[str], options: list[str]) -> list[str]:
    """Those options that a compiler knows: what is asked of gcc's passes others may refuse."""
    command = [*compiler, "-Werror", "-x", "c", "-fsyntax-only", os.devnull]

    def knows(some: list[str]) -> bool:
        return subprocess.run([*command, *some], capture_output=True).returncode == 0

    return options if knows(options) else [word for word in options if knows([word])]


class Objects:
    """Objects of a kind, in a folder for their command, of which `places` are no part.

    What is installed is told apart by `versions` instead: each environment has it elsewhere.
    """

    def __init__(
        self, name: str, kind: str, begin: list[str], versions: str = "", *places: str
    ) -> None:
        (own, end), compiler = KINDS[kind], compiler_of(begin)
        command = [*begin, *accepted(compiler, own), *ASKED_ARGS, *end]
        version = subprocess.run([*compiler, "--version"], capture_output=True).stdout
        known = hashlib.sha256(repr(command).encode() + versions.encode() + version)
        self.directory = ROOT / "build" / "objects" / f"{name}-{known.hexdigest()[:12]}"
        self.command = [*command, *(f"-isystem{place}" for place in places)]

    def compile(self, source: str) -> str:
        """The object of a source, compiled if it has to be."""
        path = self.directory / Path(source).with_suffix(".o")
        rule = path.with_suffix(".d")
        if not is_current(path, rule):
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(f".{os.getpid()}.o")  # another build may want the same object
            new.touch()
            begun = new.stat().st_mtime_ns
            command = [*self.command, "-MMD", "-MF", str(rule), "-c", source, "-o", str(new)]
            compile_or_fail(command, source, ROOT)
            os.utime(new, ns=(begun, begun))  # what is edited meanwhile is newer
            new.replace(path)
        return str(path)


def is_current(path: Path, rule: Path) -> bool:
    """Whether an object is newer than all that it was made of."""
    try:
        text = rule.read_text(encoding="utf-8").partition(": ")[2].replace("\\\n", " ")
        made, parts = path.stat().st_mtime_ns, shlex.split(text)
        return bool(parts) and all((ROOT / part).stat().st_mtime_ns < made for part in parts)
    except FileNotFoundError:
        return False


class CoreObjects:
    """Those of the core in C; command: the compiler, and the options that Python has for it."""

    def __init__(self, command: Sequence[str]) -> None:
        of_processor = [  # and of the system
            word
            for before, word in pairwise(command)
            if {before, word} & {"-arch", "-target", "-isysroot"}  # whose value is the next word
            or word.startswith(("-m", "--target=", "--sysroot="))
        ]
        begin = [*compiler_of(command), *of_processor, "-Wall", *COMPILE_ARGS]
        self.computing = Objects("core", "computing", begin)
        self.arranging = Objects("core", "arranging", begin)

    def compile(self, source: str) -> str:
        """The object of a source, compiled if it has to be."""
        arranges = source.startswith(ARRANGING) and source not in COMPUTING
        return (self.arranging if arranges else self.computing).compile(source)
