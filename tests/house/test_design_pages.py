"""What the pages of the design say of files, modules, functions and commands is there, and their
figures have the day on which they were written down."""

from __future__ import annotations

import re
from pathlib import Path

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
FOLLOWED = FENCE.sub("", TEXTS["following_a_call.md"])
FILE = r"`([\w/]+\.(?:pyx|py|c|h))`"
NAME = r"`([A-Za-z_]\w*(?:\.\w+)*)`"
# A file and what of it is named: `a.py`: `b`, `C.d`; or `b` in `a.c`
PLACES = [
    *(
        (path, name)
        for path, names in re.findall(
            rf"{FILE}: ((?:{NAME.replace('(', '(?:', 1)}(?:, )?)+)", FOLLOWED
        )
        for name in re.findall(NAME, names)
    ),
    *((path, name) for name, path in re.findall(rf"{NAME} in\s{FILE}", FOLLOWED)),
]
BASES = PACKAGE, ROOT


def test_the_page_of_the_binding_lists_all_modules_in_order() -> None:
    block = re.search(r"```\nbinding/\n(.*?)```", TEXTS["binding.md"], re.DOTALL)
    assert block is not None
    rows = [re.split(r"\s{2,}", row.strip())[0] for row in block[1].splitlines()]
    assert rows[:3] == ["generated/", "c_*.pxd", "_core"]
    assert [name for row in rows[3:] for name in row.split(", ")] == [*loading.MODULES]


def file_of(path: str) -> Path:
    found = [base / path for base in BASES if (base / path).exists()]
    assert found, path
    return found[0]


def test_files_that_a_call_passes_are_there() -> None:
    for path in re.findall(FILE, FOLLOWED):
        file_of(path)


@pytest.mark.parametrize(("path", "name"), PLACES)
def test_functions_that_a_call_passes_are_there(path: str, name: str) -> None:
    text = file_of(path).read_text(encoding="utf-8")
    owner, _, last = name.rpartition(".")
    assert not owner or re.search(rf"^(?:cdef )?class {owner}\b", text, re.MULTILINE)
    made = rf"^ *(?:def|class|c?p?def)\b.*\b{last}\b|^\w[\w *]*\b{last}\(|^}} {last};"
    # One that a macro makes for each operation is named beside it, so that a search finds it.
    is_pasted = "_##name" in text and re.search(rf"\b{last}\b", text)
    assert re.search(made, text, re.MULTILINE) or is_pasted


def test_names_on_the_way_of_a_call_have_a_file() -> None:
    told = {part for _, name in PLACES for part in (name, name.partition(".")[0])}
    names = re.findall(NAME, re.sub(FILE, "", FOLLOWED))
    own = {name for name in names if re.search("[A-Z_]", name) and not name.startswith("__")}
    assert own - told == set()


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
