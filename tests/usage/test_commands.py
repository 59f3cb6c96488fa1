"""``python -m cadiff``: what each command prints, and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import cadiff
from cadiff.commands import main

MODELS = """
import cadiff
import cadiff.numpy as np


def loss(x):
    return np.sum(np.sin(x) * x)


def scaled(a, b):
    return a * b["w"].sum() + b["c"]


@cadiff.primitive
def square(x):
    return x * x


square.defvjp(lambda ans, x: lambda g: g * x)
square.defjvp(lambda g, ans, x: g * x)
number = 3


class Model:
    @staticmethod
    def energy(x):
        return x**3
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: Any) -> str:
    name = f"models_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODELS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def test_right_derivatives_are_told(models: str, capsys: Any) -> None:
    assert main(["check", f"{models}:loss", "--at", "[1.0, 2.0]"]) == 0
    assert "agree" in capsys.readouterr().out
    arguments = ["--at", "2", "--at", "{'w': [1, 2], 'c': 0.5}", "--order", "2", "--json"]
    assert main(["check", f"{models}.py:scaled", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["right"] is True
    assert main(["check", f"{models}:Model.energy", "--at", "1.5"]) == 0


def test_wrong_derivatives_are_status_1(models: str, capsys: Any) -> None:
    assert main(["check", f"{models}:square", "--at", "1.5"]) == 1
    assert "disagree" in capsys.readouterr().out
    assert main(["check", f"{models}:square", "--at", "1.5", "--json"]) == 1
    assert "disagree" in json.loads(capsys.readouterr().out)["message"]
    assert main(["check", f"{models}:square", "--at", "1.5", "--rtol", "2"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "{}", "--at", "1"], "MODULE:FUNCTION"),
        (["check", "{}:missing", "--at", "1"], "has no missing"),
        (["check", "{}:number", "--at", "1"], "int"),
        (["check", "nowhere_at_all:f", "--at", "1"], "cannot import"),
        (["check", "{}:loss", "--at", "[1.0"], "notation"),
        (["check", "{}:loss", "--at", "[1.0]", "--order", "0"], "--order is a whole number"),
        (["show", "{}:loss", "--at", "1", "--as", "c"], "a tape can be shown as"),
    ],
)
def test_what_cannot_be_done_is_status_2(
    models: str, capsys: Any, arguments: list[str], message: str
) -> None:
    assert main([part.format(models) for part in arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_function_that_raises_is_status_2(models: str, capsys: Any) -> None:
    with open(f"{models}.py", "a", encoding="utf-8") as file:
        file.write("\n\ndef broken(x):\n    raise KeyError('of mine')\n")
    for command in (["check"], ["show"], ["check", "--json"]):
        assert main([*command, f"{models}.py:broken", "--at", "1.0"]) == 2
        printed = capsys.readouterr()
        assert "in broken" in printed.err
    assert json.loads(printed.out) == {
        "function": f"{models}.py:broken",
        "right": None,
        "message": "KeyError: 'of mine'",
    }


def test_a_file_may_be_called_like_another_module(models: str, capsys: Any) -> None:
    Path("json.py").write_text("def cube(x):\n    return x**3\n", encoding="utf-8")
    assert main(["check", "json.py:cube", "--at", "2.0"]) == 0
    assert main(["check", "missing.py:cube", "--at", "2.0"]) == 2
    assert "cannot import missing.py" in capsys.readouterr().err
    assert sys.modules["json"] is json


def test_the_version_is_told(capsys: Any) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"cadiff {cadiff.__version__}\n"


def test_tapes_and_programs_are_shown(models: str, capsys: Any) -> None:
    given = ["show", f"{models}:loss", "--at", "[1.0, 2.0]"]
    assert main(given) == 0
    assert "multiply" in capsys.readouterr().out
    assert main([*given, "--as", "dot"]) == 0
    assert capsys.readouterr().out.startswith("digraph")
    assert main([*given, "--as", "svg", "-o", "tape.svg"]) == 0
    assert ElementTree.parse("tape.svg").getroot().tag.endswith("svg")
    assert main([*given, "--what", "program"]) == 0
    assert "gradient" in capsys.readouterr().out
    assert main([*given, "--what", "program", "--as", "dot"]) == 0
    assert main([*given, "--what", "program", "--as", "c", "-o", "loss.c"]) == 0
    assert "#include <math.h>" in Path("loss.c").read_text(encoding="utf-8")


def test_info(capsys: Any) -> None:
    assert main(["info"]) == 0
    assert cadiff.__version__ in capsys.readouterr().out
    assert main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cadiff"] == cadiff.__version__
    assert Path(found["core"]).exists()


def test_the_demonstration_is_the_default(capsys: Any) -> None:
    assert main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sound"] is True
    assert found["digits"] >= 9.0
    assert len(found["parameters"]) == len(found["standard deviations"]) == 24
    assert main(["--no-timing"]) == 0
    assert "Agreeing digits" in capsys.readouterr().out


def test_every_command_has_examples(capsys: Any) -> None:
    for command in ("demo", "check", "show", "bench", "info"):
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        assert f"python -m cadiff {command}" in capsys.readouterr().out


def test_the_module_is_run_by_its_name(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cadiff", "info", "--json"]
    # Away from the sources, which an interpreter that has the package installed would import.
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(done.stdout)["Python"].startswith("CPython")
