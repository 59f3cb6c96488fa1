"""A copy of the tree in which faults are planted and built, and its tests run.

Copies are kept in `build/faults`, with what is built in them. Whatever an ended run has left there
is made good by the next: files are compared with those of the tree.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import filecmp
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement

__all__ = ["KEPT", "ROOT", "Copy", "end_all", "tools"]

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "faults"
TOOLS = KEPT / "tools"

QUICKLY = {"CADIFF_CFLAGS": "-O0", "CADIFF_CYTHON_CFLAGS": "-O0"}
MADE = ("build/modules", "build/objects", "build/core_tests", "src/generated")
MOST_MEMORY = 6 << 30  # of a run of tests: a fault may ask for more and more
PR_SET_PDEATHSIG = 1

running: set[subprocess.Popen[bytes]] = set()
ended = threading.Event()


def tools() -> str:
    """Where there is what a build requires and the environment lacks, which is fetched once.

    An isolated build, as that of `pip install`, leaves nothing of it.
    """
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^requires = (.+)$", project, re.MULTILINE)
    lacking = []
    for requirement in map(Requirement, ast.literal_eval(listed)):
        try:
            is_there = version(requirement.name) in requirement.specifier
        except PackageNotFoundError:
            is_there = False
        lacking += [] if is_there else [str(requirement)]
    if lacking and not TOOLS.exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(TOOLS)]
        subprocess.run([*command, *lacking], check=True)
    return str(TOOLS)


class Copy:
    """The copy of a name, built with some flags: without optimisation unless others are given."""

    def __init__(self, name: str, flags: dict[str, str] | None = None) -> None:
        self.root = KEPT / name
        self.output = KEPT / f"{name}.txt"
        self.flags = dict(flags or QUICKLY)

    def synchronise(self, built: Path = ROOT) -> None:
        """Make its files those of the tree. A new copy takes what was built elsewhere."""
        if not self.root.exists():
            new = KEPT / f"{self.root.name}.new"
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
            for part in MADE:
                if (built / part).exists():
                    shutil.copytree(built / part, new / part)
            new.replace(self.root)
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        names = {name for name in listed.stdout.decode().split("\0") if (ROOT / name).is_file()}
        for path in list(self.files()):
            if path.relative_to(self.root).as_posix() not in names:
                path.unlink()
        for name in names:
            path = self.root / name
            if not path.exists():  # no newer than what was made of it
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, path)
            elif not filecmp.cmp(ROOT / name, path, shallow=False):
                shutil.copyfile(ROOT / name, path)

    def files(self, folder: str = "") -> Iterator[Path]:
        """The files of a folder, but not what was made of them."""
        for top, folders, names in os.walk(self.root / folder):
            made = {"build", "generated", "__pycache__", ".hypothesis"}
            folders[:] = [name for name in folders if name not in made]
            yield from (Path(top, name) for name in names if not name.endswith(".so"))

    def extension(self) -> Path:
        """What the build has made."""
        (found,) = (self.root / "cadiff" / "binding").glob("_core*.so")
        return found

    def build(self) -> bool:
        """Whether the extension can be built."""
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        return self._run(command, 900.0, tools()) == 0

    def imports(self) -> bool:
        """Whether the package can be imported and differentiates something."""
        code = "import cadiff; assert cadiff.grad(lambda x: x * x)(3.0) == 6.0"
        return self._run([sys.executable, "-c", code], 60.0) == 0

    def pytest(self, arguments: list[str], patience: float) -> int | None:
        """The exit code of tests; None where they are silent for so long, or end without one."""
        return self._run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments], patience
        )

    def text(self) -> str:
        """What the last command printed."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    def _run(self, command: list[str], patience: float, *paths: str) -> int | None:
        """The exit code of a command; None if it was silent for so many seconds, or too large."""
        if ended.is_set():
            return None
        environment = {
            **os.environ,
            **self.flags,
            "PYTHONPATH": os.pathsep.join((str(self.root), *paths)),
        }
        environment["OPENBLAS_NUM_THREADS"] = "1"
        with self.output.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=die_with_parent if sys.platform == "linux" else None,
            )
        running.add(process)
        try:
            size, heard = 0, time.monotonic()
            while process.poll() is None:
                time.sleep(0.05)
                if size != (size := self.output.stat().st_size):
                    heard = time.monotonic()
                if time.monotonic() > heard + patience or memory_of(process) > MOST_MEMORY:
                    return None
            return process.returncode
        finally:
            end(process)
            running.discard(process)


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def memory_of(process: subprocess.Popen[bytes]) -> int:
    """What a process has in memory, with all of its group, where the system tells."""
    pages = 0
    for path in Path("/proc").glob("[0-9]*/stat") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) == process.pid:
                pages += int(fields[21])
    return pages * os.sysconf("SC_PAGE_SIZE")


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, and what it has begun."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_all() -> None:
    """End all that runs in copies."""
    ended.set()
    for process in list(running):
        end(process)
