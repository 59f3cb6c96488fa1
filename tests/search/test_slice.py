"""The day's slice of the search for faults; `nox -s search` is all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 60
START = """
import runpy, sys
sys.path.append(sys.argv.pop(1))  # behind the installed package
runpy.run_module("tests.search", run_name="__main__", alter_sys=True)
"""


@pytest.mark.thorough
def test_what_is_searched_today(tmp_path: Path) -> None:
    """In a process of its own, which has no threads and leaves its files in a directory."""
    options = ("--seconds", str(SECONDS), "--jobs", "1")
    found = subprocess.run(
        [sys.executable, "-c", START, str(ROOT), *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout + found.stderr
