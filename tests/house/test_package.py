"""What the package offers, what of it is installed, and what importing it needs."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

import cadiff
from cadiff import inspection, ops, programs, transforms
from cadiff.operations import table

from ..helpers.processes import isolated

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("module", [cadiff, table, inspection, ops, programs, transforms])
def test_names_exist_once_and_are_documented(module: ModuleType) -> None:
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__, f"{name} has no documentation"
        assert hasattr(cadiff, name)


@pytest.mark.parametrize("module", cadiff._LATER)
def test_names_that_are_imported_late_are_those_of_their_module(module: str) -> None:
    late = getattr(cadiff, module)
    for name in cadiff._LATER[module]:
        assert getattr(cadiff, name) is getattr(late, name)
    assert {module, *cadiff._LATER[module]} <= {*dir(cadiff)}


def test_every_folder_is_installed() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    [listed] = re.findall(r"^packages = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "cadiff").rglob("__init__.py")}
    assert {*re.findall(r"\"([\w.]+)\"", listed)} == {".".join(path.parts) for path in folders}


ALONE = """
import importlib.metadata, sys

for name in importlib.metadata.packages_distributions().keys() - {"numpy", "cadiff"}:
    sys.modules[name] = None  # which importing it finds
import cadiff, cadiff.numpy, cadiff.math, cadiff.cmath, cadiff.nn, cadiff.compat.autograd.numpy
assert cadiff.grad(lambda x: cadiff.sin(x[0]) * x[1])([0.0, 2.0]) == [2.0, 0.0]
import cadiff.inspection, cadiff.programs
assert cadiff.compile(lambda x: x[0] * x[0] + x[1] * x[1]).grad([1.0, 2.0]) == [2.0, 4.0]
"""


def test_numpy_is_all_that_importing_needs() -> None:
    assert isolated(ALONE) == ""


def test_a_first_gradient_imports_none_of_what_is_late() -> None:
    program = """
import sys, cadiff
assert cadiff.grad(lambda x: cadiff.sin(x[0]) * x[1])([0.0, 2.0]) == [2.0, 0.0]
print(*sorted(f"cadiff.{name}" for name in cadiff._LATER if f"cadiff.{name}" in sys.modules))
"""
    assert isolated(program) == ""
