"""`by_hand.c` compiled on the spot, and called with as little between as ctypes allows.

    CC=clang python -m benchmarks.table     with another compiler than that of Python

Where there is no compiler, `UnavailableError` says so, and the contests that need one are skipped.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contests import FloatArray, UnavailableError

__all__ = ["Evaluation", "chain", "compiler", "populations", "rosenbrock", "volatility"]

SOURCE = Path(__file__).with_name("by_hand.c")
OPTIONS = ("-O2", "-std=c99", "-shared", "-fPIC")


class Evaluation(NamedTuple):
    """A function at a point: the call gives its value, and leaves the gradient in an array."""

    call: Callable[[], float]
    gradient: FloatArray


def rosenbrock(x: Sequence[float]) -> Evaluation:
    """Rosenbrock's function of at least one number."""
    return _evaluation("rosenbrock", len(x), x)


def chain(steps: int, x: Sequence[float]) -> Evaluation:
    """The chain of sines and exponentials, a function of two numbers."""
    return _evaluation("chain", steps, x)


def populations(steps: int, p: Sequence[float]) -> Evaluation:
    """Populations after so many steps, a function of twelve numbers."""
    return _evaluation("populations", steps, p)


def volatility(data: Sequence[float], p: Sequence[float]) -> Evaluation:
    """The likelihood of returns, a function of three numbers."""
    return _evaluation("volatility", len(data), p, (ctypes.c_double * len(data))(*data))


def _evaluation(name: str, count: int, x: Sequence[float], *data: Any) -> Evaluation:
    """Bind a function of the library to its arguments, which are converted once and for all."""
    function = _library()[name]
    function.restype = ctypes.c_double
    numbers = ctypes.c_double * len(x)
    gradient = numbers()
    call = partial(function, ctypes.c_size_t(count), numbers(*x), gradient, *data)
    return Evaluation(call, np.ctypeslib.as_array(gradient))


def compiler() -> list[str]:
    """The command of the C compiler: that of the environment, of Python, or ``cc``.

    Raises
    ------
    UnavailableError
        If there is none.
    """
    named = os.environ.get("CC")
    commands = [named] if named else [sysconfig.get_config_var("CC"), "cc"]
    for command in filter(None, commands):
        words = shlex.split(command)
        if shutil.which(words[0]) is not None:
            return words
    names = " or ".join(repr(command) for command in dict.fromkeys(filter(None, commands)))
    raise UnavailableError(
        f"C by hand needs a C compiler, and {names} is not found: "
        "install one, or name it in the environment variable CC"
    )


@cache
def _library() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        library = Path(directory, "by_hand" + (sysconfig.get_config_var("SHLIB_SUFFIX") or ".so"))
        command = [*compiler(), *OPTIONS, "-o", str(library), str(SOURCE), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise UnavailableError(f"{shlex.join(command)} failed: {said}")
        return ctypes.CDLL(str(library))
