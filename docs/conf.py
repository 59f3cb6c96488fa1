"""The site: Markdown by MyST, the reference from docstrings, and nothing that leads nowhere.

`python docs/build.py` builds it. Inline code that names something of the package, such as
`cadiff.grad`, becomes a link to its reference; a name that does not exist is an error, and so is a
public name without reference.
"""

from __future__ import annotations

import re
from importlib import import_module
from logging import getLogger
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging

import cadiff
import cadiff.optimize
from cadiff.operations import table

project = "cadiff"
version = release = cadiff.__version__
html_title = f"cadiff {version}"

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nitpicky = True

default_role = "literal"  # what docstrings mean by `x`
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what arguments are
numpydoc_show_class_members = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = html_show_copyright = False
html_copy_source = False
pygments_style, pygments_dark_style = "tango", "github-dark"
copybutton_exclude = ".linenos, .gp, .go"

NAME = re.compile(r"(cadiff(?:\.\w+)+)(?:\(.*\))?")
OUTSIDE = {  # what design pages link to beside the documentation
    "](../../CONTRIBUTING.md": "](../contributing.md",
}
SOURCE = re.compile(r"\[([^\]]+)\]\(\.\./\.\./(?:examples|src|cadiff|tests)[^)]*\)")

logger = logging.getLogger(__name__)


def lead_links_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links that hold in the repository, as links of the site; to sources there are none."""
    for old, new in OUTSIDE.items():
        source[0] = source[0].replace(old, new)
    source[0] = SOURCE.sub(r"`\1`", source[0])


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Have inline code that is a name of the package lead to its reference."""
    for code in list(doctree.findall(nodes.literal)):
        found = NAME.fullmatch(code.astext())
        if found is None or isinstance(code.parent, nodes.reference | nodes.title):
            continue
        options = {"refdomain": "py", "reftype": "obj", "reftarget": found[1], "refwarn": True}
        link = addnodes.pending_xref("", refdoc=app.env.docname, **options)
        code.replace_self(link)
        link += code


def find_name(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Where a name has no reference of its own: the table of operations, or nothing."""
    name = node["reftarget"]
    if node.get("refdomain") != "py" or not exists(name):
        return None
    if name.removeprefix("cadiff.") in table.__all__:
        uri = app.builder.get_relative_uri(node["refdoc"], "operations")
        return nodes.reference("", "", content, internal=True, refuri=uri)
    return content


def exists(name: str) -> bool:
    """Whether the package has a module, or an attribute, of that name."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:k]))
        except ImportError:
            continue
        for part in parts[k:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def check_reference(app: Sphinx, env: BuildEnvironment) -> None:
    """Every public name has a place in the reference."""
    documented = set(env.domains["py"].data["objects"])
    public = {f"cadiff.{name}" for name in cadiff.__all__ if name not in table.__all__}
    public |= {f"cadiff.optimize.{name}" for name in cadiff.optimize.__all__}
    if missing := sorted(public - documented):
        logger.warning("no reference of %s", ", ".join(missing))


def check_pictures(app: Sphinx) -> None:
    """Sphinx is not the first thing to run where the gallery has pictures."""
    gallery = Path(app.srcdir, "gallery")
    if gallery.exists() and not (gallery / "pictures").exists():
        raise ExtensionError("the gallery has no pictures yet: run `python docs/build.py`")


def setup(app: Sphinx) -> None:
    """Add what is the site's own."""
    app.add_lexer("output", TextLexer)
    app.add_lexer("row", TextLexer)
    app.add_lexer("twin", PythonLexer)
    # Patterns of tables of contents may match no page, which Sphinx gives no type to suppress.
    getLogger("sphinx.sphinx.directives.other").addFilter(
        lambda record: "didn't match any documents" not in str(record.msg)
    )
    app.connect("builder-inited", check_pictures)
    app.connect("source-read", lead_links_to_pages)
    app.connect("doctree-read", link_names)
    app.connect("missing-reference", find_name)
    app.connect("env-check-consistency", check_reference)
