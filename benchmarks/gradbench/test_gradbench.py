"""The tool against the recorded answers, and the protocol that it speaks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gradbench.answers import PATH, numbers
from benchmarks.gradbench.inputs import INPUTS
from benchmarks.gradbench.tool import __main__ as tool

ANSWERS = json.loads(PATH.read_text(encoding="utf-8"))
ROOT = Path(__file__).parents[2]
# A descent ends where the gradient is 1e-5: GradBench, too, asks for no more than this.
TOLERANCES = {"particle": 1e-4, "saddle": 1e-4}


def messages(*asked: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": i} | message for i, message in enumerate(asked)]


def evaluation(module: str, function: str, given: Any) -> dict[str, Any]:
    asked = {"module": module, "function": function, "input": given}
    return {"kind": "evaluate"} | asked


def in_json(answer: Any) -> Any:
    """What the other side reads."""
    return json.loads(json.dumps(answer, default=lambda array: array.tolist()))


def check(name: str, **options: Any) -> None:
    module, tolerance = name.split()[0], TOLERANCES.get(name, 1e-10)
    functions, given = INPUTS[name]
    spoken = tool.Tool(**options)
    asked = [{"kind": "define", "module": module}]
    asked += [evaluation(module, function, given) for function in functions]
    define, *evaluated = map(in_json, map(spoken.answer, messages(*asked)))
    assert define == {"id": 0, "success": True}
    for function, answer in zip(functions, evaluated, strict=True):
        assert answer["success"], answer["error"]
        expected = ANSWERS[name][function]
        assert numbers(answer["output"]) == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("name", INPUTS)
def test_answers_are_those_recorded(name: str) -> None:
    check(name)


@pytest.mark.skipif(not shutil.which("cc"), reason="machine code takes a C compiler")
@pytest.mark.parametrize("name", ["llsq", "ode"])
def test_machine_code_gives_the_same_answers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADIFF_CACHE", str(tmp_path))
    check(name, native=True)


def test_a_function_is_run_once_more_than_is_asked_and_for_as_long() -> None:
    calls: list[int] = []
    output, taken = tool.repeated(calls.append, (1,), 5, 0.0)
    assert (output, len(calls), len(taken)) == (None, 6, 6)
    _, taken = tool.repeated(calls.append, (1,), 1, 0.001)
    assert sum(taken[1:]) >= 1_000_000 > sum(taken[1:-1])


def test_a_session_of_the_protocol() -> None:
    """By standard input and output; what the tool cannot do is an answer, too."""
    asked = messages(
        {"kind": "start", "eval": "hello"},
        {"kind": "define", "module": "unknown"},
        {"kind": "define", "module": "hello"},
        evaluation("hello", "double", 3.0),
        {"kind": "analysis", "of": 3, "valid": True},
        evaluation("hello", "unknown", 3.0),
    )
    lines = "".join(json.dumps(message) + "\n" for message in asked)
    command = [sys.executable, "-m", "benchmarks.gradbench"]
    answers = subprocess.check_output(command, input=lines, text=True, cwd=ROOT).splitlines()
    start, undefined, defined, doubled, analysed, failed = map(json.loads, answers)
    assert start["id"] == 0
    assert start["tool"] == "cadiff"
    assert not undefined["success"]
    assert "there is no eval 'unknown'" in undefined["error"]
    assert defined == {"id": 2, "success": True}
    assert (doubled["success"], doubled["output"]) == (True, 6.0)
    assert [each["name"] for each in doubled["timings"]] == ["warmup", "evaluate"]
    assert analysed == {"id": 4}
    assert (failed["id"], failed["success"]) == (5, False)


def test_every_eval_is_a_module_and_has_answers() -> None:
    assert (
        tool.evals()
        == sorted({name.split()[0] for name in INPUTS})
        == sorted({name.split()[0] for name in ANSWERS})
    )
