"""What figures depend on: the processor, the system, versions, compilers, BLAS."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import cadiff
from benchmarks import by_hand
from benchmarks.contests import UnavailableError
from cadiff import binding

__all__ = ["BLAS_VARIABLES", "machine"]

BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")


def machine() -> str:
    """All of it in one line; compilers as far as the core and they themselves tell."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    parts = [processor(), system, python, f"NumPy {np.__version__}"]
    parts.append(f"cadiff {cadiff.__version__}")
    compiled = re.search(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", core_binary())
    if compiled is not None:
        parts.append(f"compiled by {compiled.group().decode()}")
    parts.append(blas())
    by = compiler()
    if by:
        parts.append(f"C by hand compiled by {by}")
    return ", ".join(parts)


def blas() -> str:
    """NumPy's BLAS, and how many threads of it are at work, as far as the environment tells."""
    config: Any = np.show_config(mode="dicts")
    name = config["Build Dependencies"]["blas"].get("name", "BLAS")
    limits = [f"{key}={os.environ[key]}" for key in BLAS_VARIABLES if os.environ.get(key)]
    if limits:
        return f"{name} with {', '.join(limits)}"
    return f"{name} with no limit to its threads, on {os.cpu_count()} processors"


def processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    name = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return name.group(1) if name else platform.processor() or platform.machine()


def compiler() -> str:
    """What the compiler of the C by hand calls itself, and its optimisation; "" without one."""
    try:
        command = by_hand.compiler()
    except UnavailableError:
        return ""
    done = subprocess.run([*command, "--version"], capture_output=True, text=True)
    first = (done.stdout.splitlines() or command)[0]
    return f"{first} {by_hand.OPTIONS[0]}"


def core_binary() -> bytes:
    """The compiled core, as it lies on the disk."""
    return Path(binding._core.__file__).read_bytes()
