"""Peaks of memory, in bytes for each element of an array, of programs and of eager gradients."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import cadiff
from benchmarks.memory import in_new_process

from ..helpers.processes import IS_SANITIZED

IN_TREE = Path(cadiff.__file__).parents[1] == Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    IS_SANITIZED or not IN_TREE or not sys.platform.startswith("linux"),
    reason="Linux says how much was resident at once, if no sanitizer stands between; and the "
    "process that is asked is one of the source tree.",
)


@pytest.mark.parametrize(
    ("work", "count", "most"),
    [
        # The results of ten operations, what is before them, and the gradient are kept.
        ("elements", 1_000_000, 8 * 13),
        # Places of input and gradient are; what is between has those of a tile.
        ("elements-compiled", 1_000_000, 8 * 3),
        # For each gate what it is of, itself, the terms of both products, the state and the cell.
        ("lstm", 400, 170),
        ("lstm-compiled", 400, 72),
        # Differences, scaled ones, squares and what is passed back to them.
        ("mixture", 1000, 66),
        ("mixture-compiled", 1000, 40),
    ],
)
def test_peaks(work: str, count: int, most: float) -> None:
    # What was given back may be counted a moment longer: then not in the next process, too.
    found = [in_new_process(work, count)["bytes"]]
    while found[-1] >= most and len(found) < 3:
        found.append(in_new_process(work, count)["bytes"])
    assert 8 < min(found) < most, found
