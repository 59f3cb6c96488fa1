"""The C compiler at hand: which it is, and running it.

This module does not know what it compiles, nor where that is kept.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_NAMES = ("cc", "gcc", "clang")
_PATIENCE = 600  # seconds, after which a compiler is stopped
_MOST_LINES = 12  # of what it says, the last ones

# Values are those of the instructions, to the last bit: no operations are contracted, and powers
# are the C library's for whatever exponent. -O2 takes 0.45 ms an operation where this takes 0.28,
# and its code is no faster. -march=native gains 5 %, and would have code made anew for each kind
# of processor that shares a home.
FLAGS = (
    *("-std=c99", "-O1", "-ftree-vectorize", "-w", "-pipe", "-fPIC", "-shared"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-builtin-pow"),
)

# Zig's clang takes by itself what only this processor has, adds tables for debuggers, a third of
# the time, and makes a runtime of its own, of 47 MB and in 5 s, of which nothing is called.
_OF_ZIG = ("-mcpu=baseline", "-g0", "-nostdlib", "-lc")
_LEAVE_THINGS = ("TMPDIR", "ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")
_EXTRA = 'pip install "cadiff[native]", which brings one, except on Windows'


class NativeError(RuntimeError):
    """There is no machine code of a program; the message says why."""


class Compiler(NamedTuple):
    """A command that compiles C, and what it says of its version."""

    command: tuple[str, ...]
    version: str


def compiler_at_hand() -> Compiler:
    """The compiler that CC names, else the first one on PATH, else the one of Python's own build.

    Else the one that `cadiff[native]` brings; NativeError, if there is none.
    """
    return _first_of(os.environ.get("CC", ""), os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=8)
def _first_of(asked: str, path: str) -> Compiler:
    usual = str(sysconfig.get_config_var("CC") or "").split()[:1]
    tries = [shlex.split(asked)] if asked else [*([name] for name in _NAMES), usual, _brought()]
    for command in filter(None, tries):
        program = shutil.which(command[0], path=path or None)
        if program is None:
            continue
        compiler = (program, *command[1:])
        question = (*compiler, "--version")
        if _is_zig(command):  # it would answer as clang, and leave a folder in the user's cache
            question = (*compiler[: compiler.index("cc")], "version")
            compiler += _OF_ZIG
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            version = _said(*question)
            if version:
                return Compiler(compiler, f"{version} {_said(*compiler, '-dumpmachine')}")
    if asked:
        raise NativeError(
            f"there is no C compiler: CC is {asked!r}, which is not found, or does not say its "
            "version. Set CC to a compiler such as gcc or clang, or leave it unset: where there "
            f"is none, {_EXTRA}"
        )
    names = ", ".join(dict.fromkeys(command[0] for command in tries if command))
    raise NativeError(
        f"there is no C compiler: none of {names} is found and says its version. Install one (apt "
        "install gcc, dnf install gcc, brew install gcc, xcode-select --install), or set CC to "
        f"it; that of Visual Studio will not do. Or {_EXTRA}"
    )


def _brought() -> list[str]:
    """Zig's clang in the package that the extra brings, if it is there."""
    package = importlib.util.find_spec("ziglang")
    places = (package and package.submodule_search_locations) or []
    return [str(Path(places[0]) / "zig"), "cc"] if places and sys.platform != "win32" else []


def _is_zig(command: Sequence[str]) -> bool:
    """Whether it is Zig's; on Windows, where it has to make a C library first, as it comes."""
    named = Path(command[0]).stem.endswith("zig") or "ziglang" in command
    return named and "cc" in command and sys.platform != "win32"


def _said(*question: str) -> str:
    """The first line of an answer; nothing, if there is none."""
    found = subprocess.run(question, capture_output=True, text=True, timeout=60, check=False)
    return "" if found.returncode else found.stdout.partition("\n")[0]


def compile_shared(compiler: Compiler, folder: Path, source: str) -> Path:
    """Compile a file of C to a shared library, in a folder where the compiler may leave things."""
    (folder / "program.c").write_text(source, encoding="utf-8")
    library = folder / "program.so"
    command = [*compiler.command, *FLAGS, "-o", library.name, "program.c", "-lm"]
    status, said = _run(command, folder)
    if status != 0 or not library.exists():
        lines = said.strip().split("\n")[-_MOST_LINES:]
        failed = f"{shlex.join(command)} failed with status {status}:"
        raise NativeError("\n".join([failed, *lines]))
    return library


def _run(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a compiler; whatever ends the wait for it ends it, with all that it has started."""
    run = _Run(command, folder)
    _runs.add(run)
    try:
        run.start()
        run.done.wait()  # a join that is interrupted takes the thread for one that has ended
    finally:
        run.end()
        _runs.discard(run)
    return run.found


class _Run(threading.Thread):
    """A compiler that runs.

    Its thread starts it and waits, so that no interrupt comes between: these are the main
    thread's.
    """

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        super().__init__(name="cadiff compiler", daemon=True)
        self.found = (-1, "it was ended")
        self.done = threading.Event()
        self._command = command
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self._is_over = False

    def run(self) -> None:
        try:
            self._run()
        except OSError as error:
            self.found = (-1, str(error))
        finally:
            self.done.set()

    def _run(self) -> None:
        with subprocess.Popen(
            self._command,
            cwd=self._folder,
            env={**os.environ, **dict.fromkeys(_LEAVE_THINGS, str(self._folder))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl+C is for this process alone
        ) as self._process:
            if self._is_over:
                self._kill()
            try:
                said, _ = self._process.communicate(timeout=_PATIENCE)
            except subprocess.TimeoutExpired:
                self._kill()
                said = f"it was stopped after {_PATIENCE} seconds"
            self.found = self._process.wait(), said

    def end(self) -> None:
        self._is_over = True
        self._kill()
        if self.ident is not None:  # it was started
            self.done.wait()

    def _kill(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)


def end_all() -> None:
    for run in list(_runs):
        run.end()


_runs: set[_Run] = set()
