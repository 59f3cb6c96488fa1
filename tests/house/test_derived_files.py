"""Derived files follow from their sources, and a source that cannot be read is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import cadiff
from building import stubs
from cadiff.binding import _core

from ..helpers.table import ROOT, generate
from ..trust import page as trust
from ..trust.figures import read


@pytest.mark.parametrize("name", sorted(generate.derived_files()))
def test_files_follow_from_the_table(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text == generate.derived_files()[name], "run `python src/table/generate.py derived`"


def test_stubs_follow_from_the_modules_in_cython() -> None:
    for name, text in stubs.derive().items():
        assert (stubs.BINDING / name).read_text(encoding="utf-8") == text, "build anew"


def test_the_page_about_trust_shows_the_figures() -> None:
    page = trust.PAGE.read_text(encoding="utf-8")
    assert trust.with_figures(page, read()) == page, "run `python -m tests.trust --write`"


def test_the_compiled_core_was_built_from_the_table() -> None:
    rows = [row for row in generate.read_table() if row.public]
    assert _core.operations() == [(row.name, len(row.operands), row.ufunc) for row in rows]
    assert dict(_core.aliases()) == generate.ALIASES
    for row in rows:
        assert getattr(cadiff, row.name).__doc__ == generate.docstring(row)


BAD_ROWS = {
    "columns": "f(x) | - | R | x",
    "head": "f x | - | R | x | 1 |",
    "partials": "f(x, y) | - | R; R | x | 1 |",
    "domains": "f(x, y) | - | R | x | 1; 1 |",
    "too many operands": "f(a, b, c, d) | - | R; R; R; R | a | 1; 1; 1; 1 |",
    "unknown word": "f(x) | - | R | x | sinus(x) |",
    "unknown name": "f(x) | - | R | x | y |",
    "wrong arity": "add(x, y) | - | R; R | x + y | add(x); 1 |",
    "syntax": "f(x) | - | R | x | (x |",
    "unknown operator": "f(x) | - | R | x | x ** 2 |",
    "unknown condition": "f(x) | - | R | x | 1 if x else 0 |",
    "unknown domain": "f(x) | - | real | x | 1 |",
    "empty domain": "f(x) | - | [1, 0] | x | 1 |",
    "two of a name": "f(x) | - | R | x | 1 |\nf(x) | - | R | x | 1 |",
}


@pytest.mark.parametrize("text", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_a_malformed_row_is_refused_with_its_place(text: str, tmp_path: Path) -> None:
    table = tmp_path / "ops.def"
    table.write_text(f"# comment\n\n{text}\n", encoding="utf-8")
    with pytest.raises(generate.TableError, match=r"ops\.def"):
        generate.read_table(table)
