"""The problems of the table under pytest-benchmark: ``pytest benchmarks --benchmark-only``.

The ways of doing a work make a group, with the plain computation among them. Results are checked
before they are timed; no time is asserted, because that depends on the machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import cadiff
from benchmarks import (
    array_contests,
    call_contests,
    complex_contests,
    contests,
    control_flow,
    factor_contests,
    figures,
    history,
    linear_contests,
    loops,
    mapping_contests,
    native,
    optimize_contests,
    page,
    program_contests,
    side_by_side,
    vectors,
)
from benchmarks.contests import Contest, RecordedProblem, UnavailableError

CONTESTS = [
    make()
    for room in (contests, array_contests, linear_contests, factor_contests, complex_contests)
    for make in room.CONTESTS
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


@cache
def program_contest(make: Callable[[], Contest]) -> Contest:
    return make()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (make, name)
        for make, names in program_contests.CONTESTS
        + call_contests.CONTESTS
        + mapping_contests.CONTESTS
        + optimize_contests.CONTESTS
        + side_by_side.CONTESTS
        + loops.CONTESTS
        for name in names
    ],
)
def test_program(benchmark: BenchmarkFixture, make: Callable[[], Contest], name: str) -> None:
    try:
        contest = program_contest(make)
    except UnavailableError as missing:
        pytest.skip(str(missing))
    if name in (loops.IN_C, loops.NATIVE) and name not in contest.runners:
        pytest.skip(f"{name} needs a compiler of C")
    contest.check(name)
    benchmark.group = contest.work
    benchmark.name = f"{contest.work}: {name}"
    benchmark(contest.runners[name].call)


def test_lengths_of_loops(capsys: pytest.CaptureFixture[str]) -> None:
    costs = loops.lengths((240,), rounds=1)
    assert {count for cost in costs.values() for count in cost} == {240}
    assert capsys.readouterr().out.count("ns a step") == sum(map(len, costs.values()))


def test_loops_of_any_length_agree() -> None:
    assert min(map(min, control_flow.measured("kepler", rounds=1).values())) > 0.0
    assert min(map(min, control_flow.measured_rows("kepler", rounds=1).values())) > 0.0


@pytest.mark.parametrize("name", vectors.FUNCTIONS)
def test_vectors(name: str) -> None:
    vectors.check(name, vectors.points_of(name, 300))


@pytest.mark.parametrize("record", [contests.record_rosenbrock, contests.record_chain])
def test_sweep(benchmark: BenchmarkFixture, record: Callable[[int], RecordedProblem]) -> None:
    recorded = record(OPERATIONS)
    recorded.check()
    benchmark.group = "backward() alone"
    benchmark.extra_info["operations"] = recorded.operations
    benchmark(recorded.y.backward)


@pytest.mark.parametrize("name", native.PROBLEMS)
def test_programs_of_single_numbers(name: str) -> None:
    f, x = native.PROBLEMS[name]
    value, gradient = cadiff.compile(f).value_and_grad(x)
    expected = cadiff.value_and_grad(f)(x)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-9)


def test_figures_of_pages_are_those_that_were_measured() -> None:
    page = figures.PAGE.read_text(encoding="utf-8")
    blocks = []
    for path in figures.SHOWING:
        text = path.read_text(encoding="utf-8")
        assert figures.with_headlines(text, page) == text
        blocks += [found["name"] for found in figures.MARKS.finditer(text)]
    assert blocks == list(figures.BLOCKS)


def test_the_page_has_all_its_sections() -> None:
    assert list(page.kept()) == list(page.SECTIONS)
    assert all(section[:4].isdigit() for section in page.kept().values())  # the date


def test_history_draws_the_ways_of_a_work_through_runs() -> None:
    def text(day: str, costs: dict[str, float]) -> str:
        ways = [
            {"group": "sums", "params": {"name": name}, "stats": {"min": cost}}
            for name, cost in costs.items()
        ]
        commit = {"time": f"2026-11-{day}T00:00:00", "id": "abcdef0123456"}
        return json.dumps({"benchmarks": ways, "commit_info": commit})

    runs = [
        history.read(text(day, {"plain": 2.0, "cadiff": cost}))
        for day, cost in (("20", 3.0), ("27", 2.5))
    ]
    assert [run.ratios for run in runs] == [
        {"sums": {"plain": 1.0, "cadiff": ratio}} for ratio in (1.5, 1.25)
    ]
    page = history.page(runs)
    assert page.count("<svg") == 1
    assert "2026-11-20 abcdef01 to 2026-11-27 abcdef01, 2 runs" in page
    with pytest.raises(ValueError, match="no JSON of `pytest benchmarks"):
        history.read("[]")
