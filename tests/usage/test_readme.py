"""The code of the README runs as it stands, and gives what it shows."""

from __future__ import annotations

from pathlib import Path

from ..helpers import pages

README = Path(__file__).parents[2] / "README.md"


def test_the_code_of_the_readme_runs() -> None:
    assert len(pages.blocks(README.read_text(encoding="utf-8"), "python")) > 10
    pages.run(README)
