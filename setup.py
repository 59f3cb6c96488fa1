"""Build of the compiled core: rows of C are generated from src/ops.def, all is one module."""

from __future__ import annotations

import os
import runpy
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
GENERATED = ROOT / "src" / "generated"

# Exact arithmetic is part of the contract: no -ffast-math, and no contraction to fused
# multiply-adds, which would make results depend on the machine. That nobody watches which
# exceptions are flagged changes no result, and lets loops with a choice in them be vectorised.
if sys.platform == "win32":
    COMPILE_ARGS = ["/O2", "/fp:precise", "/std:c11"]
else:
    COMPILE_ARGS = ["-O3", "-std=c11", "-ffp-contract=off", "-fvisibility=hidden"]
    COMPILE_ARGS += ["-fno-trapping-math"]
    # Else a sweep may take a fifth longer after a change elsewhere, by where its loop lies.
    COMPILE_ARGS += ["-falign-functions=64", "-falign-loops=32"]
    # What debuggers read would be most of the wheel, and a fifth of the time that the build takes.
    COMPILE_ARGS += ["-g0"]
COMPILE_ARGS += os.environ.get("CADIFF_CFLAGS", "").split()
LINK_ARGS = os.environ.get("CADIFF_LDFLAGS", "").split()


def files(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))


generate = runpy.run_path(str(ROOT / "src" / "generate.py"))
generate["write_c"](GENERATED)

core = Extension(
    "cadiff._core",
    sources=[
        "cadiff/_core.pyx",
        *files("cadiff/*.c"),
        *files("src/*.c"),
    ],
    depends=[
        *files("cadiff/*.h"),
        "src/ops.def",
        *files("src/**/*.h"),
    ],
    include_dirs=["src", "src/generated", "cadiff", np.get_include()],
    define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
    extra_compile_args=COMPILE_ARGS,
    extra_link_args=LINK_ARGS,
)


class BuildSideBySide(build_ext):
    """Compiles the sources on all cores: all of them are of one extension."""

    def build_extensions(self) -> None:
        compile_one = self.compiler.compile

        def compile_all(sources: list[str], **options: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = pool.map(lambda source: compile_one([source], **options), sources)
                return [path for part in objects for path in part]

        if sys.platform != "win32":  # whose compiler object sets itself up at the first call
            self.compiler.compile = compile_all
        super().build_extensions()


setup(
    ext_modules=cythonize([core], build_dir="build/cython"),
    cmdclass={"build_ext": BuildSideBySide},
)
