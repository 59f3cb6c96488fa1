"""What the documentation says is true: code runs, links lead somewhere, limits are kept.

The Python blocks of CONTRIBUTING.md and of the design pages run as they stand, page by page, from
the first block of a page to its last. (Those of the README have tests of their own; those of other
pages are in docs/test_pages.py, since they use more libraries.)
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..helpers import pages
from ..helpers.table import TABLE, generate

ROOT = Path(__file__).parents[2]
DESIGN = sorted((ROOT / "docs" / "design").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", *DESIGN], ids=name_of)
def test_the_code_of_a_page_runs(page: Path) -> None:
    pages.run(page)


def test_quoted_code_is_that_of_the_package() -> None:
    """CONTRIBUTING.md shows a whole function of NumPy's, and its case."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sources = [*(ROOT / "cadiff/numpy").glob("*.py"), ROOT / "tests/helpers/cases_numpy.py"]
    code = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    quoted = [b[1] for b in pages.blocks(text, "") if b[1].startswith(("@implements", "case("))]
    assert len(quoted) == 2
    assert all(block in code for block in quoted)


def test_quoted_rows_are_generated() -> None:
    """docs/design/table.md shows what the generator makes of some rows."""
    page = (ROOT / "docs/design/table.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^CAD_ROW.*$", page, re.MULTILINE)
    assert len(quoted) == 2
    assert set(quoted) <= set(generate.c_rows(TABLE))


DRAWN = {
    path.stem
    for path in (*ROOT.glob("examples/gallery/*.py"), ROOT / "docs/reference/pictures.py")
}


def anchors(page: Path) -> set[str]:
    """The names of the headings of a page, as they stand in links."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in link:
            file, _, anchor = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            if target.parent == ROOT / "docs/gallery/pictures":  # which the build draws
                assert target.stem in DRAWN, f"no script draws {link}"
                continue
            assert target.exists(), f"{link} leads nowhere"
            assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def test_every_script_of_the_gallery_has_a_page() -> None:
    """It shows the script and its picture, and the index leads to it."""
    index = (ROOT / "docs/gallery/index.md").read_text(encoding="utf-8")
    scripts = sorted(path.stem for path in (ROOT / "examples/gallery").glob("*.py"))
    pages = sorted(path.stem for path in (ROOT / "docs/gallery").glob("*.md"))
    assert sorted([*scripts, "index"]) == pages
    for name in scripts:
        page = (ROOT / f"docs/gallery/{name}.md").read_text(encoding="utf-8")
        assert f"{{literalinclude}} ../../examples/gallery/{name}.py\n" in page
        assert f"](pictures/{name}.png)" in page
        assert f"]({name}.md)" in index
        assert f"\n{name}\n" in index


def test_the_index_lists_every_page_of_the_design() -> None:
    index = (ROOT / "docs/design/README.md").read_text(encoding="utf-8")
    assert {page.name for page in DESIGN} - {"README.md"} <= set(re.findall(r"\((\w+\.md)", index))


@pytest.mark.parametrize(
    "code",
    [
        "1.0 / 3.0  # 0.334",
        "(1.0, 2)  # (1.0, 3)",
        "x = [0.5]  # [0.6]: half",
        "import numpy as np\nnp.ones((2, 3))  # (3, 2)",
        '{"a": 1.0}  # {"b": 1.0}',
        "print(2)\n```\n\n```output\n3",
    ],
)
def test_pages_that_show_what_is_not_so_are_found(code: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```python\n{code}\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="shows"):
        pages.run(page)
