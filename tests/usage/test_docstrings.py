"""The examples in docstrings give what they show."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator
from pathlib import Path

import pytest

import cadiff

from ..helpers.processes import in_whole_tiles

ROOT = Path(__file__).parents[2]


def docstrings() -> Iterator[tuple[str, str]]:
    """Names and texts: of all that is written in Python, and of the compiled types."""
    for path in sorted((ROOT / "cadiff").rglob("*.py")):
        place = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                yield f"{place}.{getattr(node, 'name', '')}", ast.get_docstring(node) or ""
    for kind in (cadiff.Var, cadiff.Dual, cadiff.Complex):
        yield f"cadiff.{kind.__name__}", kind.__doc__ or ""


PARSER = doctest.DocTestParser()
TESTS = [PARSER.get_doctest(text, {}, name, name, 0) for name, text in docstrings()]


SHOWS_INSTRUCTIONS = {"cadiff.programs.report.to_text"}
EXAMPLES = [
    pytest.param(t, id=t.name, marks=in_whole_tiles if t.name in SHOWS_INSTRUCTIONS else ())
    for t in TESTS
    if t.examples
]


@pytest.mark.parametrize("test", EXAMPLES)
def test_an_example_gives_what_it_shows(test: doctest.DocTest) -> None:
    written: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    assert runner.run(test, out=written.append).failed == 0, "".join(written)
