"""Running code in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cadiff
from cadiff.programs.compilers import NativeError, compiler_at_hand

IS_SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
HAS_SMALL_BLOCKS = "CADIFF_SMALL_BLOCKS" in os.environ  # which a few elements fill

in_whole_tiles = pytest.mark.skipif(
    HAS_SMALL_BLOCKS, reason="programs go through arrays in loops over tiles of a few elements"
)

of_amounts = pytest.mark.skipif(
    IS_SANITIZED, reason="the address sanitizer keeps what was given back: others count memory"
)


def _compiler() -> tuple[str, ...]:
    try:
        return compiler_at_hand().command
    except NativeError:
        return ()


COMPILER = _compiler()  # a command that compiles C, if there is one
needs_compiler = pytest.mark.skipif(
    not COMPILER or IS_SANITIZED,
    reason="there is no C compiler, or its programs are not watched",
)


def isolated(code: str) -> str:
    """Run code in a process of its own, so that a crash fails one test only; its output."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(cadiff.__file__).parents[1],  # where it imports the same package
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert run.returncode == 0, f"exit code {run.returncode}\n{run.stderr}"
    return run.stdout.strip()
