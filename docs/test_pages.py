"""The code of the site's pages runs as it stands, page by page, and gives what the pages show.

    python -m pytest docs

Pages use libraries that the package itself does not: `pip install -e ".[docs,test]"`. (The design
pages use none, and are tested with the package.)
"""

from __future__ import annotations

import os
import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest
from pygments.styles import get_style_by_name
from pygments.token import Whitespace

from tests.helpers import pages

os.environ["MPLBACKEND"] = "Agg"  # pictures are drawn, and not shown

DOCS = Path(__file__).parent
OTHERS = DOCS / "guide" / "with_others.md"
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if "design" not in page.parts
    and page != OTHERS
    and pages.blocks(page.read_text(encoding="utf-8"), "python")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_code_of_a_page_runs(page: Path) -> None:
    pages.run(page)


# Whose blocks are copied one by one.
COPIED = [DOCS.parent / "README.md", *PAGES]
CONTINUES = "# continues the code above\n"


@pytest.mark.parametrize("page", COPIED, ids=lambda page: page.name)
def test_a_block_runs_by_itself_or_says_that_it_goes_on(page: Path) -> None:
    for block in pages.blocks(page.read_text(encoding="utf-8"), "python"):
        needed = pages.needed(block[1])
        goes_on = block[1].startswith(CONTINUES)
        assert bool(needed) == goes_on, f"{page} needs {needed or 'nothing'}:\n{block[1]}"


@pytest.mark.parametrize("section", pages.sections(OTHERS))
def test_the_code_for_another_package_runs(section: str) -> None:
    """Where it is installed, as `nox -s seams` has all of them."""
    names = re.findall(r"^(?:import|from) (\w+)", pages.sections(OTHERS)[section], re.MULTILINE)
    for name in names:
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    pages.run(OTHERS, section)


def luminance(colour: str) -> float:
    """As the W3C defines it in its guidelines for accessible pages, of a colour as "1f2328"."""
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (0, 2, 4)]
    red, green, blue = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("style", ["pygments_style", "pygments_dark_style"])
def test_code_can_be_read(style: str) -> None:
    """All colours have the contrast with their background that the W3C asks for, 4.5."""
    colours = get_style_by_name(runpy.run_path(str(DOCS / "conf.py"))[style])
    page = colours.background_color.lstrip("#")
    for token, look in colours:
        if look["color"] and token is not Whitespace:
            low, high = sorted(map(luminance, (look["color"], look["bgcolor"] or page)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, token
