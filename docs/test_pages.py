"""The code of the site's pages runs as it stands, page by page, and gives what the pages show.

    python -m pytest docs

Pages use libraries that the package itself does not: `pip install -e ".[docs,test]"`. (The design
pages use none, and are tested with the package.)
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.helpers import pages

os.environ["MPLBACKEND"] = "Agg"  # pictures are drawn, and not shown

DOCS = Path(__file__).parent
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if "design" not in page.parts and pages.blocks(page.read_text(encoding="utf-8"), "python")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_code_of_a_page_runs(page: Path) -> None:
    pages.run(page)
