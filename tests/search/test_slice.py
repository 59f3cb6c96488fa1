"""Some cases of the search for faults; `python -m tests.search` examines more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .running import as_loaded

ROOT = Path(__file__).parents[2]
CASES = 120
START = """
import runpy, sys
sys.path.append(sys.argv.pop(1))  # behind the installed package
runpy.run_module("tests.search", run_name="__main__", alter_sys=True)
"""


def test_what_is_searched(tmp_path: Path) -> None:
    """In a process of its own, which has no threads and leaves its files in a directory."""
    options = ("--cases", str(CASES), "--jobs", "1")
    found = subprocess.run(
        [sys.executable, "-c", START, str(ROOT), *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_busy_machine_has_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case that is slow for the sake of others is no finding."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for load, seconds in ((0.1, 60.0), (2.0, 60.0), (20.0, 600.0)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0), raising=False)
        assert as_loaded(60.0) == seconds
