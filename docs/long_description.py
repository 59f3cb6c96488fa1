"""The README as an index of packages shows it, away from the repository.

Its links are relative, for whoever reads a clone; an index needs whole ones. They begin with
`Repository` of `[project.urls]` in `pyproject.toml`, which is the one place that says where the
project is published. As long as it does not, links become their text, and pictures are left out.
"""

from __future__ import annotations

import re

PICTURE = re.compile(r"!\[([^]]*)\]\((?!\w+:|#)([^)\s]+)\)")
ADDRESS = re.compile(r'^\[project\.urls\]\n(?:.+\n)*?Repository = "(.*?)/?"', re.MULTILINE)
LINK = re.compile(r"\[([^][]*(?:!\[[^]]*\]\([^)]*\))?[^][]*)\]\((?!\w+:|#)([\w./#-]+)\)")


def repository(pyproject: str) -> str:
    """The address of the project, from the text of `pyproject.toml`; "" if it has none."""
    found = ADDRESS.search(pyproject)
    return found[1] if found else ""


def long_description(readme: str, pyproject: str) -> str:
    """The README with whole links, or without those that would lead nowhere.

    Parameters
    ----------
    readme, pyproject : str
        The texts of both files.

    Returns
    -------
    str
        Markdown.
    """
    address = repository(pyproject)
    if not address:
        return LINK.sub(r"\1", PICTURE.sub("", readme))
    whole = PICTURE.sub(rf"![\1]({address}/raw/main/\2)", readme)
    return LINK.sub(rf"[\1]({address}/blob/main/\2)", whole)
