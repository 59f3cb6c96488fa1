"""What the README says is so: its code gives what it shows, and its links lead somewhere.

It is read in a clone, and on an index of packages: there links need the address of the project.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from ..helpers import pages

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
RELATIVE = re.compile(r"\]\((?!\w+:|#)")


def test_the_code_of_the_readme_runs() -> None:
    assert len(pages.blocks(README.read_text(encoding="utf-8"), "python")) >= 3
    pages.run(README)


def test_it_is_read_in_minutes() -> None:
    """Whatever is longer belongs into the guides."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 170


@pytest.fixture
def describe() -> object:
    return runpy.run_path(str(ROOT / "docs" / "long_description.py"))["long_description"]


def test_an_index_shows_links_with_the_address_of_the_project(describe) -> None:
    text = README.read_text(encoding="utf-8")
    assert len(RELATIVE.findall(text)) > 20
    shown = describe(text, '[project.urls]\nRepository = "https://host.test/cadiff/"\n')
    assert not RELATIVE.search(shown)
    assert "](https://host.test/cadiff/blob/main/docs/guide/arrays.md)" in shown
    assert "](https://host.test/cadiff/raw/main/docs/cost.svg)" in shown
    unaddressed = shown.replace("https://host.test/cadiff/blob/main/", "")
    assert unaddressed.replace("https://host.test/cadiff/raw/main/", "") == text


def test_an_index_shows_no_link_that_leads_nowhere(describe) -> None:
    shown = describe(README.read_text(encoding="utf-8"), "[project]\n")
    assert not RELATIVE.search(shown)
    assert "numbers" in shown
    assert "sh main" in shown
