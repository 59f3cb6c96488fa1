"""The compiled core: one extension, of modules in Cython, what they call in C, and `src/`."""

from __future__ import annotations

import gc
import hashlib
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from Cython import __version__ as cython_version
from Cython.Build import cythonize
from setuptools import Extension
from setuptools.command.build_ext import build_ext

from . import declarations, prototypes, stubs
from .failures import check_compiler, check_python
from .objects import (
    ASKED_ARGS,
    CLOSE_ARGS,
    COMPILE_ARGS,
    DEBUGGED,
    ROOT,
    UNSCHEDULED,
    CoreObjects,
    Objects,
    accepted,
    compiler_of,
    words_of,
)

__all__ = ["ROOT", "BuildChanged", "core"]

GENERATED = ROOT / "src" / "generated"
SOURCES = ROOT / "build" / "sources"  # what Cython reads: see prototypes.py

ASKED_CYTHON_ARGS = words_of("CADIFF_CYTHON_CFLAGS")
# The names of functions are for debuggers and profilers: whoever asks for -g has them.
STRIP_ARGS = ["-Wl,-s"] if sys.platform.startswith("linux") and not DEBUGGED else []
LINK_ARGS = [*STRIP_ARGS, *words_of("CADIFF_LDFLAGS")]


def files(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))


generate = runpy.run_path(str(ROOT / "src" / "table" / "generate.py"))
generate["write_c"](GENERATED)
declarations.write(ROOT / "cadiff" / "binding" / "generated")
prototypes.write(SOURCES / "cadiff" / "binding")
stubs.write()
declarations.put(ROOT / "cadiff" / "operations", generate["stubs"]())

# Modules in Cython of which each call of a gradient or of a program runs many lines. The others
# run few, or wait for sweeps in C: there it is the compiler's time that counts, and room.
HOT = [
    *("_shared", "arguments", "calls", "complex_arithmetic", "complexes", "entries", "fast_paths"),
    *("functions", "lane_turns", "results", "signatures", "trees", "turns"),
]
CYTHON_ARGS = [
    f"-falign-{what}=1"
    for what in ("functions", "loops", "jumps", "labels")
    if sys.platform != "win32"
]
HOT_ARGS = [] if sys.platform == "win32" else ["-O2"]
COLD_ARGS = [] if sys.platform == "win32" else ["-Og"]

# What an optimising compiler spends its time with and Cython's C gains nothing from: a sixth of
# the time for hot modules, and a third for cold ones, which become 3 % larger.
SPARED = [
    *(UNSCHEDULED, "-fno-gcse", "-fno-tree-pta", "-fno-tree-loop-optimize"),
    *("-fno-tree-slp-vectorize", "-fno-ipa-cp", "-fno-ipa-sra"),
]

# What Cython would write in line wherever it is needed: to look a name of the module up, call a
# method, compute with an integer or note an error. Python's own functions do it as well.
IN_LINE = ["FAST_THREAD_STATE", "UNPACK_METHODS", "USE_DICT_VERSIONS", "USE_PYLONG_INTERNALS"]

MODULES = files("cadiff/binding/*.pyx")
# Functions are built-in ones, which need no object of code, and tell their signature by a text.
DIRECTIVES = {
    "language_level": 3,
    "auto_pickle": False,
    "annotation_typing": False,  # annotations are for checkers: see stubs.py
    "autotestdict": False,
    "binding": False,
    "boundscheck": False,
    "embedsignature": True,
    "embedsignature.format": "clinic",
    "emit_code_comments": False,
    "initializedcheck": False,
    "wraparound": False,
}


# What Cython adds to modules stands once, in a module of its own, instead of in each; only the one
# that is imported by its own name, before any other, has it to itself.
SHARED = "cadiff.binding._shared"
FIRST = "_core"


def in_c(module: str) -> str:
    """Where the C of a module stands that Cython writes."""
    return str(Path("build", "modules", f"{module}.c"))


NAMES = [*(Path(module).stem for module in MODULES), SHARED.rpartition(".")[2]]
IN_C = [in_c(name) for name in NAMES]


def write_shared() -> str:
    """Have Cython write the C of what modules share, unless this version has done so."""
    result = ROOT / IN_C[-1]
    known = result.with_suffix(".read")
    if not result.exists() or not known.exists() or known.read_text() != cython_version:
        result.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "cython", "generate-shared", "--module-name", SHARED]
        subprocess.run([*command, "--exclude", "MemoryView", str(result)], check=True)
        known.write_text(cython_version)
    return IN_C[-1]


@cache
def digest_of(path: Path) -> str:
    """A digest of what a file contains."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def translate(module: str) -> str:
    """Have Cython write the C of a module, unless it has read the same before.

    What it has read is told by contents: each environment that pip makes for a build has files of
    Cython's own that are newer, and elsewhere. The C is written only if it has changed.
    """
    source = str(SOURCES.relative_to(ROOT) / module)
    contents = [digest_of(path) for path in prototypes.read_with(ROOT / source)]
    made_by = (cython_version, DIRECTIVES, SHARED, DEBUGGED)
    digest = hashlib.sha256(repr((made_by, contents)).encode()).hexdigest()
    result = ROOT / in_c(Path(module).stem)
    known = result.with_suffix(".read")
    if not result.exists() or not known.exists() or known.read_text() != digest:
        extension = Extension(f"cadiff.binding.{Path(module).stem}", [source])
        (made,) = cythonize(
            [extension],
            build_dir="build/cython",
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=None if Path(module).stem == FIRST else SHARED,
            emit_linenums=DEBUGGED,
            force=True,
            quiet=True,
        )
        text = re.sub(rb'"[^"\n]*/Cython/Includes/', b'"', (ROOT / made.sources[0]).read_bytes())
        text = text.replace(f"{SOURCES.relative_to(ROOT).as_posix()}/".encode(), b"")
        text = re.sub(rb"/\* BEGIN: Cython Metadata.*?\*/\n", b"", text, flags=re.DOTALL)
        result.parent.mkdir(parents=True, exist_ok=True)
        if not result.exists() or result.read_bytes() != text:
            result.write_bytes(text)
        known.write_text(digest)
    return str(result.relative_to(ROOT))


# All of them stand in one file with the core in C, whose functions they share: see
# cadiff/binding/loading.py.
core = Extension(
    "cadiff.binding._core",
    sources=[
        *files("cadiff/binding/numbers/**/*.c"),
        *files("src/*/*.c"),
    ],
    depends=[
        *files("cadiff/binding/*.p[yx][xd]"),
        *files("cadiff/binding/numbers/**/*.h"),
        *files("src/table/*.def"),
        *files("src/**/*.h"),
    ],
    include_dirs=["src", "src/generated", "cadiff/binding", np.get_include()],
    define_macros=[
        ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
        *((f"CYTHON_{name}", "0") for name in IN_LINE),
    ],
    extra_compile_args=[*COMPILE_ARGS, *ASKED_ARGS],
    # A name that says no version binds to the oldest function of that name, as exp does in glibc.
    libraries=[] if sys.platform == "win32" else ["m"],
    extra_link_args=LINK_ARGS,
    export_symbols=[f"PyInit_{name}" for name in NAMES],
)


def without_run_paths(linker: Sequence[str]) -> list[str]:
    """A linker's command without the libraries of the Python at hand, which others have elsewhere.

    A Python that was built with a path to its own libraries wants it in every extension, and so
    in wheels. What LDFLAGS ask for stays.
    """
    asked = words_of("LDSHARED", "LDFLAGS")
    return [word for word in linker if word in asked or not word.startswith("-Wl,-rpath,")]


class BuildChanged(build_ext):
    """Compiles what has changed, on all cores; meanwhile Cython writes what is in Cython as C."""

    def build_extensions(self) -> None:
        # Else setuptools asks whether sources have changed, and neither flags nor versions.
        self.force = self.compiler.force = True
        check_python()
        gc.disable()  # to look for garbage in Cython's trees takes it a third longer
        if sys.platform == "win32":
            core.sources += [*map(translate, MODULES), write_shared()]
        else:
            core.sources += IN_C
            self.compiler.compile = self._compile
            self.compiler.linker_so = without_run_paths(self.compiler.linker_so)
        super().build_extensions()

    def _compile(self, sources: list[str], **options: Any) -> list[str]:
        compiler = compiler_of(self.compiler.compiler_so)
        given = self.compiler.compiler_so[len(compiler) :]
        includes = [*options["include_dirs"], *self.compiler.include_dirs]
        of_python = [f"-I{path}" for path in includes if not os.path.isabs(path)]
        of_python += [f"-D{name}={value}" for name, value in options["macros"]]
        of_system = [path for path in includes if os.path.isabs(path)]
        command = [*compiler, *given, *COMPILE_ARGS, *of_python]
        check_compiler(compiler, [*given, *ASKED_ARGS, *(f"-I{path}" for path in of_system)])
        core = CoreObjects(self.compiler.compiler_so)
        tag = sys.implementation.cache_tag
        made_for = f"Python {sys.version}, NumPy {np.__version__}"
        spared = accepted(compiler, SPARED)
        numbers_args = [*HOT_ARGS, *CLOSE_ARGS, *spared, *ASKED_ARGS]
        numbers = Objects(tag, [*command, *numbers_args], made_for, of_system)
        hot_args = [*CYTHON_ARGS, *HOT_ARGS, *spared]
        cold_args = [*CYTHON_ARGS, *COLD_ARGS, *spared]
        asked = [*ASKED_ARGS, *ASKED_CYTHON_ARGS]
        hot = Objects(f"{tag}-hot", [*command, *hot_args, *asked], made_for, of_system)
        cold = Objects(f"{tag}-cold", [*command, *cold_args, *asked], made_for, of_system)

        def compile_one(source: str) -> str:
            if source.startswith("src"):
                return core.compile(source)
            if source.startswith("cadiff"):
                return numbers.compile(source)
            return (hot if Path(source).stem in HOT else cold).compile(source)

        objects = {}
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            # The largest first, so that no core waits for it at the end.
            for source in sorted(set(sources) - set(IN_C), key=os.path.getsize, reverse=True):
                objects[source] = pool.submit(compile_one, source)
            for module in sorted(MODULES, key=os.path.getsize, reverse=True):
                source = translate(module)
                objects[source] = pool.submit(compile_one, source)
            objects[IN_C[-1]] = pool.submit(compile_one, write_shared())
            return [objects[source].result() for source in sources]
        finally:
            pool.shutdown(cancel_futures=True)  # after one that failed no other begins
