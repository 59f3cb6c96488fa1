"""The Pythons of this machine, one of each version: what is tested with more than the one at hand.

They are found by their names, and among those of pyenv. Two variables say more:

    CADIFF_PYTHONS    interpreters, by name or file, divided as folders in PATH; they come first
    CADIFF_PYTHON_BY  a command for versions that are not found: COMMAND VERSION FOLDER makes an
                      interpreter in the folder, if it has not before, and prints its file

This module does not know which versions are supported, nor what is done with them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["found"]

_ROOT = Path(__file__).parents[1]
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def found(version: str) -> str | None:
    """The file of an interpreter of a version, such as "3.12"; None if there is none."""
    for named in filter(None, os.environ.get("CADIFF_PYTHONS", "").split(os.pathsep)):
        path = shutil.which(named)
        if path is None or not (its := _version_of(path)):
            raise SystemExit(f"CADIFF_PYTHONS names {named}, which is no interpreter that runs")
        if its == version:
            return path
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [sys.executable, shutil.which(f"python{version}")]
    candidates += sorted(map(str, managed.glob(f"{version}.*/bin/python")))
    for path in filter(None, candidates):
        if _version_of(path) == version:
            return path
    return _made(version)


def _version_of(interpreter: str) -> str:
    """The version of an interpreter; "" if it does not run, as a shim of a manager may not."""
    done = subprocess.run([interpreter, "-c", _VERSION], capture_output=True, text=True)
    return done.stdout.strip()


def _made(version: str) -> str | None:
    """What the command makes, if there is one, and it can make this version."""
    command = os.environ.get("CADIFF_PYTHON_BY")
    if not command:
        return None
    place = str(_ROOT / "build" / f"python{version}")
    done = subprocess.run([command, version, place], stdout=subprocess.PIPE, text=True)
    path = done.stdout.strip()
    return path if done.returncode == 0 and _version_of(path) == version else None
