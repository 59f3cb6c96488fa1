"""Inputs that fuzzers found, each run once: those that failed before, and some that reach much.

They stand in `tests/fuzz/corpus`, in a folder for each target; `python -m tests.fuzz` finds more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_c_core import BUILDS, PTHREAD, ROOT, TESTS, build, headers, run

__all__ = ["FUZZ", "KEPT", "OF_CORE", "SOURCES", "headers"]

FUZZ = ROOT / "tests" / "fuzz"
KEPT = FUZZ / "corpus"
OF_CORE = ("tape", "arrays", "graph", "program")
# The targets, and what they use of the core's own tests.
HELPERS = ("check", "on_tape", "on_graph", "twin", "twin_sweeps")
SOURCES = [*(TESTS / f"{name}.c" for name in HELPERS), *sorted(FUZZ.glob("*.c"))]


@pytest.fixture(scope="module")
def program(headers: Path) -> Path:
    return build([*BUILDS["sanitized"], *PTHREAD], headers, others=SOURCES)


@pytest.mark.parametrize("target", OF_CORE)
def test_what_was_found_stays_mended(program: Path, target: str) -> None:
    files = sorted((KEPT / target).iterdir())
    assert len(files) > 10
    done = run([program, target, *files])
    if done.returncode != 0:
        pytest.fail(f"{done.stdout}{done.stderr}", pytrace=False)


def test_a_failure_is_told(program: Path, tmp_path: Path) -> None:
    assert run([program, "tape", tmp_path / "nothing"]).returncode != 0
    assert run([program, "no_such_target"]).returncode != 0
