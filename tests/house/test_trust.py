"""The page about trust shows the figures that are remembered, and its links lead to tests."""

from __future__ import annotations

import re

import pytest

from ..trust import page as trust
from ..trust.figures import fault_name, read
from ..trust.measures import reason

PAGE = trust.PAGE.read_text(encoding="utf-8")


def test_the_page_shows_the_figures() -> None:
    assert trust.with_figures(PAGE, read()) == PAGE, "run `python -m tests.trust --write`"


def test_every_figure_has_a_row_and_a_date() -> None:
    shown = set(trust.OVERVIEW)
    for name, figures in read().items():
        assert name in shown
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", figures["date"])
        assert figures["command"].startswith("python -m tests.")


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)", PAGE))))
def test_a_link_leads_somewhere(link: str) -> None:
    assert (trust.PAGE.parent / link).exists()


def test_what_is_not_measured_is_said() -> None:
    empty = trust.with_figures(PAGE, {})
    assert empty.count(trust.NEVER) == len(trust.OVERVIEW) + 2  # and in two tables of their own


def test_the_page_names_no_file_that_is_gone() -> None:
    figures = {"taken": 0.5, "lines": 2, "files": {"src/gone.c": [0.5, 2, {"assertions": 1}]}}
    text = trust.branches({"all-branches": figures})
    assert "| all 1 files | 50% | 2 |" in text
    assert "gone" not in text
    named = re.findall(r"^[|*] `((?:src|cadiff)/[\w/]+\.\w+)", PAGE, re.MULTILINE)
    assert named
    assert [path for path in named if not (trust.ROOT / path).exists()] == []


FAULTS = [
    {
        "path": "src/a.c",
        "kind": "sign",
        "before": "a + b",
        "after": "a - b",
        "test": "tests/t.py::x",
    },
    {"path": "cadiff/b.py", "kind": "sign", "before": "c + d", "after": "c - d", "test": ""},
]


def test_faults_are_counted_by_part() -> None:
    text = trust.faults({"faults": {"judged": FAULTS}})
    assert "| C core | 1 | 1 | 0 | 0 |" in text
    assert "| Python above | 1 | 0 | 0 | 1 |" in text
    assert "* `cadiff/b.py: c + d -> c - d`" in text
    assert len({fault_name(fault) for fault in FAULTS}) == 2


def test_faults_that_change_nothing_have_a_reason() -> None:
    for name, why in trust.equivalents():
        assert " -> " in name
        assert why, name


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("    if (status != CAD_OK) {", "memory that runs out"),
        ("    case CAD_CODE(CAD_OP_LEAF, 0):", "rows of the table"),
        ("    for (int i = 0; i < n; i++) {", "ends of loops"),
        ("    if (x > y) {", trust.OTHER),
    ],
)
def test_reasons_of_branches(line: str, why: str) -> None:
    assert reason(line) == why
