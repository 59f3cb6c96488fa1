"""The site: Markdown by MyST, the reference from docstrings, and nothing that leads nowhere.

`python docs/build.py` builds it. Inline code that names something of the package, such as
`cadiff.grad`, becomes a link to its reference; a name that does not exist is an error, and so is a
public name without reference. A function of NumPy, SciPy or pandas becomes a link to the reference
of that package. Equations are MathML, which browsers typeset; a page needs nothing from elsewhere.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from logging import getLogger
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxTranslator

import cadiff
import cadiff.optimize
from cadiff.operations import table

sys.path.insert(0, str(Path(__file__).parent))
from long_description import repository

project = "cadiff"
version = release = cadiff.__version__
html_title = f"cadiff {version}"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
html_math_renderer = "mathml"
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
html_js_files = ["versions.js"]
html_show_sphinx = html_show_copyright = False
html_copy_source = False

# Where the project is published, as `[project.urls]` of pyproject.toml has it; "" if it is not.
REPOSITORY = repository(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))
if REPOSITORY:
    html_theme_options = {
        "source_repository": f"{REPOSITORY}/",
        "source_branch": "main",
        "source_directory": "docs/",
    }
pygments_style, pygments_dark_style = "a11y-light", "github-dark"
copybutton_exclude = ".linenos, .gp, .go"

NAME = re.compile(r"(cadiff(?:\.\w+)+)(?:\(.*\))?")
REFERENCES = {  # of other packages, by the beginning of a function's name
    "math": "https://docs.python.org/3/library/math.html#{name}",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{name}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{name}.html",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{name}.html",
}
ALIASES = {"np": "numpy", "pd": "pandas"}
OUTSIDE = {  # what design pages link to beside the documentation
    "](../../CONTRIBUTING.md": "](../contributing.md",
}
SOURCE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+((?:examples|src|cadiff|tests)[^)]*)\)")

logger = logging.getLogger(__name__)


def lead_links_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links of the repository, as links of the site; sources are where it is published."""
    for old, new in OUTSIDE.items():
        source[0] = source[0].replace(old, new)
    there = rf"[\1]({REPOSITORY}/blob/main/\2)" if REPOSITORY else r"`\1`"
    source[0] = SOURCE.sub(there, source[0])
    if docname == "index" and REPOSITORY:
        source[0] = source[0].replace("_modules/index.html", REPOSITORY)


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Have inline code that is a name of the package lead to its reference."""
    for code in list(doctree.findall(nodes.literal)):
        if isinstance(code.parent, nodes.reference | nodes.title):
            continue
        found = NAME.fullmatch(code.astext())
        if found is None:
            link_outside(code)
            continue
        options = {"refdomain": "py", "reftype": "obj", "reftarget": found[1], "refwarn": True}
        link = addnodes.pending_xref("", refdoc=app.env.docname, **options)
        code.replace_self(link)
        link += code


def link_outside(code: nodes.literal) -> None:
    """Have inline code that names a function of another package lead to its reference."""
    first, _, rest = code.astext().partition("(")[0].partition(".")
    package = ALIASES.get(first, first)
    name = f"{package}.{rest}"
    if package in REFERENCES and rest and exists(name) and is_function(name):
        link = nodes.reference("", "", refuri=REFERENCES[package].format(name=name))
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
    try:
        resolve(name)
    except (ImportError, AttributeError):
        return False
    return True


@cache
def resolve(name: str) -> Any:
    """The module of that name, or the attribute of one; ImportError or AttributeError if none."""
    module, _, attribute = name.rpartition(".")
    try:
        return import_module(name)
    except ImportError:
        if not module:
            raise
        return getattr(resolve(module), attribute)


def is_function(name: str) -> bool:
    """Whether a name is that of a function of a module, which has a page of its own."""
    found, module = resolve(name), resolve(name.rpartition(".")[0])
    return callable(found) and not isinstance(found, type) and isinstance(module, ModuleType)


def add_dark_pictures(app: Sphinx, doctree: nodes.document) -> None:
    """Beside each picture that has a dark twin put that; the theme shows one of the two."""
    folder = Path(app.srcdir, app.env.docname).parent
    for image in list(doctree.findall(nodes.image)):
        twin = Path(image["uri"]).with_stem(Path(image["uri"]).stem + "-dark")
        if (folder / twin).exists():
            dark = image.deepcopy()
            dark["uri"] = str(twin)
            image["classes"].append("only-light")
            dark["classes"].append("only-dark")
            image.parent.insert(image.parent.index(image) + 1, dark)


def visit_math(translator: SphinxTranslator, node: nodes.math) -> None:
    """An equation in a line of text."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_math_block(translator: SphinxTranslator, node: nodes.math_block) -> None:
    """An equation in a line of its own; a narrow page scrolls it."""
    mathml = convert(node.astext(), display="block")
    translator.body.append(f'<div class="equation">{mathml}</div>\n')
    raise nodes.SkipNode


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
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
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
    app.connect("doctree-read", add_dark_pictures, priority=400)  # before they are collected
    app.connect("missing-reference", find_name)
    app.connect("env-check-consistency", check_reference)
