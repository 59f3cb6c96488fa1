"""The compiled core: one extension, of modules in Cython, what they call in C, and `src/`."""

import gc
import hashlib
import os
import re
import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from Cython import __version__ as cython_version
from Cython.Build import cythonize
from setuptools import Extension
from setuptools.command.build_ext import build_ext

from . import declarations, prototypes, stubs
from .failures import check_compiler, check_python
from .objects import ASKED_ARGS, COMPILE_ARGS, DEBUGGED, ROOT, CoreObjects, Objects, words_of

__all__ = ["ROOT", "BuildChanged", "core"]

SOURCES = ROOT / "build" / "sources"  # what Cython reads: see prototypes.py


def files(*patterns: str) -> list[str]:
    return [str(f.relative_to(ROOT)) for each in patterns for f in sorted(ROOT.glob(each))]


generate = runpy.run_path(str(ROOT / "src" / "table" / "generate.py"))
generate["write_c"](ROOT / "src" / "generated")
declarations.write(ROOT / "cadiff" / "binding" / "generated")
prototypes.write(SOURCES / "cadiff" / "binding")
stubs.write()
declarations.put(ROOT / "cadiff" / "operations", generate["stubs"]())

MODULES = files("cadiff/binding/*.pyx")
NAMES = [*(Path(module).stem for module in MODULES), "_shared"]
IN_C = {name: str(Path("build", "modules", f"{name}.c")) for name in NAMES}
# Modules of which each call of a gradient or of a program runs many lines. Of the others, which
# run few, or wait for sweeps in C, it is the compiler's time that counts, and room.
HOT = [
    *("_shared", "arguments", "calls", "complex_arithmetic", "complexes", "entries", "fast_paths"),
    *(
        "functions",
        "gradients",
        "lane_turns",
        "results",
        "signatures",
        "trees",
        "turns",
        "watches",
    ),
]
# What Cython would write in line wherever it is needed: Python's own functions do it as well.
IN_LINE = ["FAST_THREAD_STATE", "UNPACK_METHODS", "USE_DICT_VERSIONS", "USE_PYLONG_INTERNALS"]
# Functions are built-in ones, which need no object of code, and tell their signature by a text;
# annotations are for checkers: see stubs.py.
OFF = (
    *("auto_pickle", "annotation_typing", "autotestdict", "binding", "boundscheck"),
    *("emit_code_comments", "initializedcheck", "wraparound"),
)
ON = {"language_level": 3, "embedsignature": True, "embedsignature.format": "clinic"}
DIRECTIVES = ON | dict.fromkeys(OFF, False)


def made_by_cython(name: str, source: str) -> Path:
    """The C of a module as Cython writes it.

    What it adds to modules stands once, in a module of its own, instead of in each; only the one
    that is imported by its own name, before any other, has it to itself.
    """
    shared = "cadiff.binding._shared"
    if name == "_shared":
        result = ROOT / "build" / "cython" / f"{name}.c"
        result.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "cython", "generate-shared", "--module-name", shared]
        subprocess.run([*command, "--exclude", "MemoryView", str(result)], check=True)
        return result
    (made,) = cythonize(
        [Extension(f"cadiff.binding.{name}", [source])],
        build_dir="build/cython",
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=None if name == "_core" else shared,
        emit_linenums=DEBUGGED,
        force=True,
        quiet=True,
    )
    return Path(ROOT, made.sources[0])


def translate(module: str) -> str:
    """Have Cython write the C of a module, unless it has read the same before.

    What it has read is told by contents: each environment that pip makes for a build has files of
    Cython's own that are newer, and elsewhere. The C is written only if it has changed.
    """
    name, source = Path(module).stem, str(SOURCES.relative_to(ROOT) / module)
    result = ROOT / IN_C[name]
    known = result.with_suffix(".read")
    contents = b"".join(path.read_bytes() for path in prototypes.read_with(ROOT / source))
    made_of = repr((cython_version, DIRECTIVES, DEBUGGED)).encode() + contents
    digest = hashlib.sha256(made_of).hexdigest()
    if not result.exists() or not known.exists() or known.read_text() != digest:
        text = made_by_cython(name, source).read_text(encoding="utf-8")
        text = re.sub(r'"[^"\n]*/Cython/Includes/', '"', text)
        text = text.replace(f"{SOURCES.relative_to(ROOT).as_posix()}/", "")
        text = re.sub(r"/\* BEGIN: Cython Metadata.*?\*/\n", "", text, flags=re.DOTALL)
        declarations.put(result.parent, {result.name: text, known.name: digest})
    return IN_C[name]


write_shared = partial(translate, "_shared")

# All of them stand in one file with the core in C, whose functions they share: see
# cadiff/binding/loading.py.
core = Extension(
    "cadiff.binding._core",
    sources=files("cadiff/binding/numbers/**/*.c", "src/*/*.c"),
    include_dirs=["src", "src/generated", "cadiff/binding", np.get_include()],
    define_macros=[
        ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
        *((f"CYTHON_{name}", "0") for name in IN_LINE),
    ],
    extra_compile_args=[*COMPILE_ARGS, *ASKED_ARGS],
    # A name that says no version binds to the oldest function of that name, as exp does in glibc.
    libraries=[] if sys.platform == "win32" else ["m"],
    # The names of functions are for debuggers and profilers: whoever asks for -g has them.
    extra_link_args=["-Wl,-s"] * (sys.platform.startswith("linux") and not DEBUGGED)
    + words_of("CADIFF_LDFLAGS"),
    export_symbols=[f"PyInit_{name}" for name in NAMES],
)


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
            core.sources += IN_C.values()
            self.compiler.compile = self._compile
            # A Python that was built with a path to its own libraries wants it in every extension,
            # and so in wheels; others have them elsewhere. What LDFLAGS ask for stays.
            asked = words_of("LDSHARED", "LDFLAGS")
            self.compiler.linker_so = [
                word
                for word in self.compiler.linker_so
                if word in asked or not word.startswith("-Wl,-rpath,")
            ]
        super().build_extensions()

    def _compile(self, sources: list[str], **options: Any) -> list[str]:
        compiler: list[str] = self.compiler.compiler_so
        includes = [*options["include_dirs"], *self.compiler.include_dirs]
        of_system = [path for path in includes if os.path.isabs(path)]
        check_compiler([*compiler, *ASKED_ARGS, *(f"-I{path}" for path in of_system)])
        begin = [*compiler, *COMPILE_ARGS]
        begin += [f"-I{path}" for path in includes if path not in of_system]
        begin += [f"-D{name}={value}" for name, value in options["macros"]]
        made_for = f"Python {sys.version}, NumPy {np.__version__}"
        tag = sys.implementation.cache_tag
        core = CoreObjects(compiler)
        numbers, hot, cold = (
            Objects(f"{tag}{mark}", kind, begin, made_for, *of_system)
            for kind, mark in (("numbers", ""), ("hot", "-hot"), ("cold", "-cold"))
        )

        def compile_one(source: str) -> str:
            if source.startswith("src"):
                return core.compile(source)
            if source.startswith("cadiff"):
                return numbers.compile(source)
            return (hot if Path(source).stem in HOT else cold).compile(source)

        made = {}
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            # The largest first, so that no core waits for it at the end.
            for source in sorted({*sources} - {*IN_C.values()}, key=os.path.getsize, reverse=True):
                made[source] = pool.submit(compile_one, source)
            for module in sorted(MODULES, key=os.path.getsize, reverse=True):
                source = translate(module)
                made[source] = pool.submit(compile_one, source)
            made[IN_C["_shared"]] = pool.submit(compile_one, write_shared())
            return [made[source].result() for source in sources]
        finally:
            pool.shutdown(cancel_futures=True)  # after one that failed no other begins
