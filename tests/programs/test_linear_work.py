"""No step of a first call takes more than n log n: what is counted at n and at 4 n tells.

The programs are those of `benchmarks.growing`; `python -m benchmarks.growth` prints the ratios.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import cadiff
from benchmarks.growing import GROWING, QUADRATIC, Growing
from benchmarks.growth import MOST, counted, has_counter, ratios
from cadiff import binding

from ..helpers.processes import IS_SANITIZED, in_whole_tiles

IN_TREE = Path(cadiff.__file__).parents[1] == Path(__file__).parents[2]
NAMES = [name for name in GROWING if name != QUADRATIC]
OF_ARRAYS = [name for name in NAMES if GROWING[name].arrays]


needs_counter = pytest.mark.skipif(
    not has_counter() or not IN_TREE or IS_SANITIZED,
    reason="callgrind counts, on x86_64, in a process of the source tree",
)


@needs_counter
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_first_calls_take_n_log_n(name: str) -> None:
    found = ratios([name])
    assert found
    assert all(ratio.ratio <= MOST for ratio in found), found


@needs_counter
@pytest.mark.slow
def test_what_takes_more_is_found() -> None:
    found = counted([QUADRATIC])
    assert found
    assert all(ratio.ratio > MOST for ratio in found), found


def instructions(growing: Growing, n: int) -> dict[str, int]:
    """Of each program of a function of a size."""
    f, at, _ = growing.make(n)
    program = cadiff.compile(f)
    if np.ndim(program(at)) == 0:
        program.value_and_grad(at)
    found = re.findall(r"^(\w+).*, ([\d,]+) instructions?,", program.to_text(), re.M)
    return {what: int(number.replace(",", "")) for what, number in found}


@in_whole_tiles
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_programs_of_arrays_are_as_long_at_any_size(name: str) -> None:
    """Whether loops are looked for or not, arrays are arrays: from a few tiles on."""
    growing = GROWING[name]
    binding.set_least_loop(growing.loop)
    try:
        small, large = (instructions(growing, times * growing.n) for times in (4, 16))
    finally:
        binding.set_least_loop()
    assert small.keys() == large.keys() >= {"value"}
    assert all(large[what] <= 1.5 * small[what] for what in small), (small, large)
