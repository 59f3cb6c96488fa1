"""The compiled core: one extension, whose objects are compiled again only when they must.

`src/` knows no Python: its objects are kept in `build/objects/core-…` and serve every Python. An
object is compiled again if its command, its source or a header that it includes has changed; which
headers these are, the compiler writes down.
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from Cython import __version__ as cython_version
from Cython.Build import cythonize
from Cython.Build.Dependencies import create_dependency_tree
from setuptools import Extension
from setuptools.command.build_ext import build_ext

from .failures import check_compiler, check_python, compile_or_fail

__all__ = ["ROOT", "BuildChanged", "core"]

ROOT = Path(__file__).parents[1]
GENERATED = ROOT / "src" / "generated"
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
ASKED_CYTHON_ARGS = words_of("CADIFF_CYTHON_CFLAGS")
LINK_ARGS = words_of("CADIFF_LDFLAGS")


def files(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))


generate = runpy.run_path(str(ROOT / "src" / "table" / "generate.py"))
generate["write_c"](GENERATED)

# Modules in Cython of which each call of a gradient or of a program runs some lines. The others
# work once in a while, or wait for sweeps in C, so that they are rather to be small.
HOT = [
    *("_shared", "arguments", "atoms", "codes", "complex_arithmetic", "complexes", "entries"),
    *("fast_paths", "forward", "gradients", "jacobians", "keys", "lists", "methods"),
    *("numpy_functions", "observers", "parts", "recording", "rules", "signatures", "spectra"),
    *("tape", "trees", "watches"),
]
HOT_ARGS = [] if sys.platform == "win32" else ["-O2"]
COLD_ARGS = [] if sys.platform == "win32" else ["-Os", "-falign-functions=1", "-falign-loops=1"]

MODULES = files("cadiff/binding/*.pyx")
DIRECTIVES = {
    "language_level": 3,
    "auto_pickle": False,
    "autotestdict": False,
    "boundscheck": False,
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
def digest_of(path: str) -> str:
    """A digest of what a file contains."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def translate(module: str) -> str:
    """Have Cython write the C of a module, unless it has read the same before.

    What it has read is told by contents: each environment that pip makes for a build has files of
    Cython's own that are newer, and elsewhere. The C is written only if it has changed.
    """
    read = create_dependency_tree(quiet=True).all_dependencies(module)
    contents = [digest_of(module), *sorted(map(digest_of, read))]
    made_by = (cython_version, DIRECTIVES, SHARED)
    digest = hashlib.sha256(repr((made_by, contents)).encode()).hexdigest()
    result = ROOT / in_c(Path(module).stem)
    known = result.with_suffix(".read")
    if not result.exists() or not known.exists() or known.read_text() != digest:
        extension = Extension(f"cadiff.binding.{Path(module).stem}", [module])
        (made,) = cythonize(
            [extension],
            build_dir="build/cython",
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=None if Path(module).stem == FIRST else SHARED,
            force=True,
            quiet=True,
        )
        text = re.sub(rb'"[^"\n]*/Cython/Includes/', b'"', (ROOT / made.sources[0]).read_bytes())
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
        "src/table/ops.def",
        *files("src/**/*.h"),
    ],
    include_dirs=["src", "src/generated", "cadiff/binding", np.get_include()],
    define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
    extra_compile_args=[*COMPILE_ARGS, *ASKED_ARGS],
    extra_link_args=LINK_ARGS,
    export_symbols=[f"PyInit_{name}" for name in NAMES],
)


def compiler_of(command: Sequence[str]) -> list[str]:
    """The words before the first option: two of them for `ccache gcc`."""
    return list(takewhile(lambda word: not word.startswith("-"), command))


OPTIONS_OF_PROCESSOR = ("-arch", "-target", "-isysroot")  # whose value is the next word


def of_processor(options: Sequence[str]) -> list[str]:
    """Those options that say for which processor and system something is compiled."""
    return [
        word
        for before, word in zip(["", *options], options, strict=False)
        if {before, word} & {*OPTIONS_OF_PROCESSOR}
        or word.startswith(("-m", "--target=", "--sysroot="))
    ]


def without_run_paths(linker: Sequence[str]) -> list[str]:
    """A linker's command without the libraries of the Python at hand, which others have elsewhere.

    A Python that was built with a path to its own libraries wants it in every extension, and so
    in wheels. What LDFLAGS ask for stays.
    """
    asked = words_of("LDSHARED", "LDFLAGS")
    return [word for word in linker if word in asked or not word.startswith("-Wl,-rpath,")]


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
            compile_or_fail([*command, "-c", source, "-o", str(new)], source)
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
            return bool(parts) and all(os.stat(part).st_mtime_ns < made for part in parts)
        except FileNotFoundError:
            return False


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
        flags = [*of_processor(given), "-Wall", *COMPILE_ARGS, *ASKED_ARGS]
        core = Objects("core", [*compiler, *flags, "-Isrc", "-Isrc/generated"])
        tag = sys.implementation.cache_tag
        made_for = f"Python {sys.version}, NumPy {np.__version__}"
        numbers = Objects(tag, [*command, *ASKED_ARGS], made_for, of_system)
        hot_command = [*command, *HOT_ARGS, *ASKED_ARGS, *ASKED_CYTHON_ARGS]
        hot = Objects(f"{tag}-hot", hot_command, made_for, of_system)
        cold_command = [*command, *COLD_ARGS, *ASKED_ARGS, *ASKED_CYTHON_ARGS]
        cold = Objects(f"{tag}-cold", cold_command, made_for, of_system)

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
