"""Tell versions, compilers, instruction sets and the BLAS: what a report of a fault should say.

It also tells where machine code of programs is kept, and how much, and clears that away.

For example:
  python -m cadiff info
  python -m cadiff info --json
  python -m cadiff info --clear-native
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import cadiff
from cadiff import binding
from cadiff.programs.compilers import NativeError, compiler_at_hand
from cadiff.programs.machine_files import clear, contents, folder

OPTIONAL = ("scipy", "matplotlib", "pandas", "tqdm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument(
        "--clear-native", action="store_true", help="remove machine code of programs from the disk"
    )


def run(options: argparse.Namespace) -> int:
    """Print it, or clear machine code away."""
    if options.clear_native:
        print(f"{_libraries(clear())} removed from {folder()}")
        return 0
    found = gather()
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    width = max(map(len, found))
    for name, value in found.items():
        print(f"{name:{width}}  {'-' if value in (None, []) else _text(value)}")
    return 0


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def gather() -> dict[str, Any]:
    """All of it, by name."""
    config: Any = np.show_config(mode="dicts")
    simd = config.get("SIMD Extensions", {})
    core = Path(binding._core.__file__)
    compiled = re.search(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", core.read_bytes())
    blas = config["Build Dependencies"]["blas"]
    return {
        "cadiff": cadiff.__version__,
        "core": str(core),
        "compiled by": compiled.group().decode() if compiled else None,
        "C compiler": _compiler(),
        "machine code": _machine_code(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "executable": sys.executable,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": os.cpu_count(),
        "NumPy": np.__version__,
        "BLAS": f"{blas.get('name')} {blas.get('version')}",
        "instruction sets": [*simd.get("baseline", []), *simd.get("found", [])],
        **{name: _version(name) for name in OPTIONAL},
    }


def _compiler() -> str | None:
    """What makes machine code of programs."""
    try:
        found = compiler_at_hand()
        return f"{found.version}, {found.command[0]}"
    except NativeError:
        return None


def _machine_code() -> str:
    kept = contents()
    return f"{_libraries(len(kept))} of {sum(size for _, size, _ in kept):,} bytes in {folder()}"


def _libraries(n: int) -> str:
    return "1 library" if n == 1 else f"{n} libraries"


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
