"""Pages of documentation: their blocks of code run, and what they show is what comes out.

The blocks marked `python` of a page run in one namespace, from the first to the last. A page shows
results in two ways:

* A comment behind an expression or an assignment that is a literal of Python is its value, to the
  digits written: `f(2.0)  # 0.69`. Of an array it may be the shape, `# (3, 2)`. What follows a
  colon or a semicolon is prose, and so is every comment that is no literal.
* A block marked `output` is what the block before it prints, but for white space; `...` stands for
  whatever is left out.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import doctest
import io
import re
import symtable
import sys
import tokenize
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

PROSE = object()
STOOD_FOR = ("autograd.", "jax.")  # by what `cadiff.compat` installs
HEADING = "^##+ (.*)$"
FENCE = r"^```{}\n(.*?)^```$"


def blocks(text: str, language: str) -> list[re.Match[str]]:
    return list(re.finditer(FENCE.format(language), text, re.MULTILINE | re.DOTALL))


def sections(page: Path) -> dict[str, str]:
    """The titles of a page's sections that have code, with that code."""
    _, *parts = re.split(HEADING, page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = zip(parts[::2], parts[1::2], strict=True)
    code = {title: "".join(block[1] for block in blocks(text, "python")) for title, text in found}
    return {title: source for title, source in code.items() if source}


def needed(source: str) -> set[str]:
    """The names that code reads, and neither Python nor the code itself has."""
    whole = symtable.symtable(source, "page", "exec")
    own = {
        name.get_name()
        for name in whole.get_symbols()
        if name.is_assigned() or name.is_imported() or name.is_namespace()
    }
    read: set[str] = set()
    tables = [whole]
    for table in tables:
        tables += table.get_children()
        names = (name for name in table.get_symbols() if name.is_referenced())
        read |= {name.get_name() for name in names if table is whole or name.is_global()}
    return read - own - {*dir(builtins)}


@contextlib.contextmanager
def own_imports() -> Iterator[None]:
    """What a page has others' imports find is not found by the pages behind it."""
    modules, finders = {*sys.modules}, [*sys.meta_path]
    yield
    added = [finder for finder in sys.meta_path if finder not in finders]
    own = {finder: name for finder in added if (name := getattr(finder, "own", "")) in STOOD_FOR}
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in own]
    for name in {*sys.modules} - modules:
        if f"{name}.".startswith(tuple(own.values())):
            del sys.modules[name]


@own_imports()
def run(page: Path, section: str | None = None) -> None:
    """Run the code of a page, and compare what it shows; or what begins it, and one section."""
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = None
    headings = list(re.finditer(HEADING, text, re.MULTILINE))
    for block in blocks(text, "(?:python|output)"):
        above = [heading[1] for heading in headings if heading.start() < block.start()]
        if section is not None and above and above[-1] != section:
            continue
        if block[0].startswith("```output"):
            assert printed is not None, f"{page}: output of no block: {block[1]}"
            options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            same = doctest.OutputChecker().check_output(block[1], printed, options)
            assert same, f"{page} shows\n{block[1]}where this is printed:\n{printed}"
        else:
            lines = text.count("\n", 0, block.start(1))  # so that a traceback names the line
            with contextlib.redirect_stdout(io.StringIO()) as out:
                run_block("\n" * lines + block[1], page, namespace)
            printed = out.getvalue()


def run_block(source: str, page: Path, namespace: dict[str, Any]) -> None:
    """Run statements one by one; what a comment states is compared with what they give."""
    comments = dict(comments_of(source))
    for statement in ast.parse(source, str(page)).body:
        told = literal(comments.get(statement.end_lineno or 0, ""))
        if isinstance(statement, ast.Expr | ast.Assign) and told is not PROSE:
            code = compile(ast.Expression(statement.value), str(page), "eval")
            namespace["_"] = result = eval(code, namespace)
            place = f"{page}:{statement.lineno} shows {told!r}, but it is {result!r}"
            assert agree(told, result), place
            if isinstance(statement, ast.Expr):
                continue
            statement.value = ast.copy_location(ast.Name("_", ast.Load()), statement.value)
        exec(compile(ast.Module([statement], []), str(page), "exec"), namespace)


def comments_of(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def literal(comment: str) -> Any:
    """The value that a comment states, or PROSE."""
    for text in (comment, re.split("[:;] ", comment)[0]):
        with contextlib.suppress(ValueError, SyntaxError):
            return ast.literal_eval(text)
    return PROSE


def agree(told: Any, result: Any) -> bool:
    """Whether a result is what is told, to the digits that are told."""
    if isinstance(told, dict):
        return set(told) == set(result) and all(agree(told[k], result[k]) for k in told)
    if isinstance(told, tuple) and hasattr(result, "shape") and told != ():
        return bool(told == result.shape)
    if isinstance(told, list | tuple):
        parts = list(result)
        return len(told) == len(parts) and all(map(agree, told, parts))
    if isinstance(told, float):
        last_digit = Decimal(1).scaleb(int(Decimal(repr(told)).as_tuple().exponent))
        return bool(abs(told - result) <= 0.51 * float(last_digit))
    if isinstance(told, int | complex) and not isinstance(told, bool):
        return bool(np.isclose(told, result, rtol=1e-12))
    return bool(told == result)
