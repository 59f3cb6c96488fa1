"""The problems of the table under pytest-benchmark: ``pytest benchmarks --benchmark-only``.

The ways of doing a work make a group, with the plain computation among them. Results are checked
before they are timed; no time is asserted, because that depends on the machine.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import array_contests, contests, linear_contests
from benchmarks.contests import Contest, Recorded

CONTESTS = [
    make() for make in contests.CONTESTS + array_contests.CONTESTS + linear_contests.CONTESTS
]
OPERATIONS = 1_000_000


@pytest.mark.parametrize(
    ("contest", "name"),
    [
        pytest.param(contest, name, id=f"{contest.work}: {name}")
        for contest in CONTESTS
        for name in contest.runners
    ],
)
def test_contest(benchmark: BenchmarkFixture, contest: Contest, name: str) -> None:
    contest.check(name)
    benchmark.group = contest.work
    benchmark(contest.runners[name].call)


@pytest.mark.parametrize("record", [contests.record_rosenbrock, contests.record_chain])
def test_sweep(benchmark: BenchmarkFixture, record: Callable[[int], Recorded]) -> None:
    recorded = record(OPERATIONS)
    recorded.check()
    benchmark.group = "backward() alone"
    benchmark.extra_info["operations"] = recorded.operations
    benchmark(recorded.y.backward)
