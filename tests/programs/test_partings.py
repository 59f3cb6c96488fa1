"""A program that runs its function in most calls says so once, and where these part ways."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cadiff
from cadiff import optimize
from cadiff.programs import found_loops

POINTS = np.random.default_rng(0).normal(size=(60, 5)) * 1.2


def steps(x: Any) -> Any:
    v = 1.0
    for i in range(50):
        v = max(v * x[i % 5] - 0.3 * x[(i + 1) % 5], 0.0) + 0.1
    return v


def ordered(x: Any) -> Any:
    return sum(i * v for i, v in enumerate(sorted(x)))


def chosen(x: Any) -> Any:
    total = 0.0
    for v in x:
        total = total + (v if v > 0.1 else v * v)
    return total


def rooted(x: Any) -> Any:
    y = 1.0 + x[0] ** 2
    while y > 1e-3 * abs(x[1]) ** 3:
        y = y * 0.5 + 1e-9 * x[2]
    return y


def told_by(program: Any, calls: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calls()
    return [str(w.message) for w in caught if w.category is cadiff.PerformanceWarning]


def line_of(f: Callable[..., Any], text: str) -> int:
    lines, first = inspect.getsourcelines(f)
    return first + next(k for k, line in enumerate(lines) if text in line)


@pytest.mark.parametrize(
    ("f", "text", "instead"),
    [
        (steps, "max(", "np.maximum(v, w)"),
        (ordered, "sorted(", "np.sort(v)"),
        (chosen, "v > 0.1", "np.where(condition, v, w)"),
    ],
)
@pytest.mark.parametrize("method", ["__call__", "value_and_grad"])
def test_the_line_is_named_at_which_calls_part(
    f: Callable[..., Any], text: str, instead: str, method: str
) -> None:
    program = cadiff.compile(f)
    (told,) = told_by(program, lambda: [getattr(program, method)(x) for x in POINTS])
    assert f"line {line_of(f, text)} of {__file__}" in told
    assert f": one recording would serve {instead}" in told
    if sys.version_info >= (3, 11):
        assert re.search(rf"`[^`]*{re.escape(text)}[^`]*`", told)
    assert f"line {line_of(f, text)} of" in " ".join(str(program).split())


def test_loops_whose_turns_numbers_count_have_a_function() -> None:
    program = cadiff.compile(rooted)
    (told,) = told_by(program, lambda: [program.grad(x) for x in 3.0 * POINTS])
    assert f"line {line_of(rooted, 'while')} of {__file__}" in told
    assert ": one recording would serve cadiff.while_loop" in told


def test_constants_and_what_is_read_are_reasons() -> None:
    program = cadiff.compile(lambda x, name: x * len(name))
    (told,) = told_by(program, lambda: [program.grad(2.0, "a" * k) for k in range(90)])
    assert "what is constant in a recording: shapes, texts, objects" in told

    settings: dict[str, float] = {}

    def f(x: Any) -> Any:
        return x * len(settings)

    def change() -> None:
        for k in range(90):
            settings[str(k)] = 1.0
            other.grad(2.0)

    other = cadiff.compile(f)
    (told,) = told_by(other, change)
    assert re.search(r"what it reads changes from call to call \([^)]*settings[^)]*\)", told)


def test_nothing_is_said_where_recordings_serve() -> None:
    program = cadiff.compile(chosen)
    points = np.where(np.arange(5) % 2 == POINTS[:, :1].round() % 2, 0.0, 1.0)
    assert told_by(program, lambda: [program.grad(x) for x in points]) == []
    assert program.stats()["eager"] == 0


@pytest.mark.parametrize("options", [{"max_traces": 2}, {"on_branch_change": "warn"}])
def test_nothing_is_said_to_those_who_asked_for_it(options: dict[str, Any]) -> None:
    program = cadiff.compile(steps, **options)
    assert told_by(program, lambda: [program.grad(x) for x in POINTS]) == []


def test_nothing_is_said_where_nobody_has_asked_for_a_program() -> None:
    run = lambda: optimize.minimize(lambda p: np.sum(p**2) + steps(p), POINTS[0])  # noqa: E731
    assert told_by(None, run) == []


def test_an_obstacle_is_told_alone() -> None:
    program = cadiff.compile(lambda x: x * float(cadiff.value(x)))
    with pytest.warns(RuntimeWarning, match="runs its function eagerly"):
        program(1.0)
    assert told_by(program, lambda: [program(float(k)) for k in range(60)]) == []


# --- the table -----------------------------------------------------------------------------------


def test_a_table_says_what_serves_how_often() -> None:
    program = cadiff.compile(lambda x: x * x if x > 0.0 else -x)
    assert str(program) == repr(program)
    for x in (1.0, 2.0, -1.0, 3.0, -2.0, 4.0):
        program.grad(x)
    lines = str(program).splitlines()
    assert lines[0] == repr(program)
    assert "\n" not in repr(program)
    assert lines[1].split(maxsplit=1) == ["calls", "2 recorded, 4 replayed, 0 run eagerly"]
    sizes = "1 input, 1 output, 2 operations, 1 guard"
    shown = [line for line in lines if line.startswith("recording")]
    # Whichever comes first misses what the other one serves.
    assert sorted(int(re.findall(r"(\d+) replay", line)[0]) for line in shown) == [1, 3]
    assert sum(int(re.findall(r"(\d+) miss", line)[0]) for line in shown) >= 3
    assert f": {sizes}" in shown[0]
    assert "  gradient by inputs 0..0" in str(program)
    assert program.stats()["traces"][0]["programs"]["gradient"]["native"] in str(program)


def test_a_table_says_why_calls_run_eagerly() -> None:
    program = cadiff.compile(lambda x: x * float(cadiff.value(x)))
    with pytest.warns(RuntimeWarning, match="runs its function eagerly"):
        program(1.0)
    text = " ".join(str(program).split())
    assert f"run eagerly {program.stats()['obstacles'][0]}" in text
    assert max(map(len, str(program).splitlines()[1:])) <= 99


def test_a_found_loop_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_loops, "LEAST_WORK", 0.0)

    def halved(x: Any, tolerance: float) -> Any:
        y = x
        while y * y > tolerance:
            y = 0.5 * cadiff.sin(y)
        return y

    program = cadiff.compile(halved)
    for k in range(40):
        program.grad(1.0, 0.1**k)
    assert "a found loop, " in str(program)
    assert str(program).count("\nrecording") > str(program).count("found loop")


def test_calls_that_raise_are_no_reason_to_warn() -> None:
    def f(x: Any) -> Any:
        return cadiff.numpy.linalg.cholesky(cadiff.numpy.array([[x, 1.0], [1.0, 2.0]]))[1, 1]

    program = cadiff.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(100):
            if k % 3 == 0:
                program(2.0 + k)
            else:
                with pytest.raises(np.linalg.LinAlgError):
                    program(0.25)
    assert "they raise" in str(program)
