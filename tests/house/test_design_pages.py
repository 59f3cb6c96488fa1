"""What the pages of the design say of files, modules and functions is there."""

from __future__ import annotations

import re

import pytest

from cadiff.binding import loading

from .sources import PACKAGE, ROOT

PAGES = ROOT / "docs" / "design"
FOLLOWED = (PAGES / "following_a_call.md").read_text(encoding="utf-8")
# A file, and what of it is named behind a colon: `a.py`: `b`, `C.d`
PLACES = re.findall(r"(`[\w/.]+\.(?:pyx|py|c|h)`(?:, )?)+(?:: ((?:`[\w.]+`(?:, )?)+))?", FOLLOWED)


def test_the_page_of_the_binding_lists_all_modules_in_order() -> None:
    text = (PAGES / "binding.md").read_text(encoding="utf-8")
    block = re.search(r"```\nbinding/\n(.*?)```", text, re.DOTALL)
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
