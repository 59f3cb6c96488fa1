"""What the pages of the design say of files, modules, functions and commands is there, and their
figures have the day on which they were written down."""

from __future__ import annotations

import re

import pytest

from benchmarks import table
from cadiff.binding import loading

from .sources import COMPILED, MODULES, PACKAGE, ROOT

PAGES = ROOT / "docs" / "design"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*.md"))}
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)  # a comment in code is no heading
# What was measured has a unit, or is a multiple; sizes that are stated, as bytes and MiB, do not.
FIGURE = re.compile(
    r"\d ?(?:[nµm]?s|seconds|minutes|[kK]B|MB|GB|%)(?!\w)|\d instructions"
    r"|\d\.\d+ times|\d ×(?! \d)"
)
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")
FOLLOWED = TEXTS["following_a_call.md"]
# A file, and what of it is named behind a colon: `a.py`: `b`, `C.d`
PLACES = re.findall(r"(`[\w/.]+\.(?:pyx|py|c|h)`(?:, )?)+(?:: ((?:`[\w.]+`(?:, )?)+))?", FOLLOWED)


def test_the_page_of_the_binding_lists_all_modules_in_order() -> None:
    block = re.search(r"```\nbinding/\n(.*?)```", TEXTS["binding.md"], re.DOTALL)
    assert block is not None
    rows = [re.split(r"\s{2,}", row.strip())[0] for row in block[1].splitlines()]
    assert rows[:2] == ["c_*.pxd", "_core"]
    assert [name for row in rows[2:] for name in row.split(", ")] == [*loading.MODULES]


@pytest.mark.parametrize(("path", "names"), PLACES, ids=[path for path, _ in PLACES])
def test_what_follows_a_call_is_there(path: str, names: str) -> None:
    name = path.strip("`, ")
    found = [
        file
        for base in (PACKAGE, ROOT, PACKAGE / "binding" / "numbers", PACKAGE / "programs")
        if (file := base / name).exists()
    ]
    assert found, name
    text = found[0].read_text(encoding="utf-8")
    for each in re.findall(r"`([\w.]+)`", names):
        last = each.rpartition(".")[2]
        pasted = f"{last.rpartition('_')[0]}_##"  # by a macro that makes one for each operation
        assert re.search(rf"\b{last}\b", text) or pasted in text, f"{name} has no {each}"


@pytest.mark.parametrize("page", TEXTS)
def test_figures_have_a_date(page: str) -> None:
    sections = re.split(r"^#+ ", FENCE.sub("", TEXTS[page]), flags=re.MULTILINE)
    undated = {
        section.partition("\n")[0]: found[0]
        for section in sections
        if (found := FIGURE.search(section)) and not DATE.search(section)
    }
    assert not undated, "add the day, and what prints the figure: (2026-11-22, `python -m …`)"


@pytest.mark.parametrize("page", TEXTS)
def test_commands_on_pages_are_there(page: str) -> None:
    for module, options in re.findall(r"`python -m ([\w.]+)([^`]*)`", TEXTS[page]):
        path = ROOT.joinpath(*module.split("."))
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
        if only := re.search(r"--only (\S+)", options):
            assert any(re.search(only[1], part) for part in table.PARTS), only[0]


def test_the_glossary_is_in_order_and_names_classes_that_are_there() -> None:
    rows = re.findall(r"^\| (\w[^|]*) \|", TEXTS["glossary.md"], re.MULTILINE)[1:]
    words = [re.split(r"[,;(]", row)[0].strip() for row in rows]
    assert words == sorted(words)
    sources = [*MODULES.values(), *COMPILED.values()]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    classes = re.findall(r"`(\w+)`", " ".join(row.partition("(")[2] for row in rows))
    assert classes
    assert [name for name in classes if not re.search(rf"class {name}\b", text)] == []
