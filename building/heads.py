"""Heads of classes and functions in Cython, of which declarations and stubs are derived."""

import re
from collections.abc import Iterator

__all__ = ["NESTED", "divided", "imports_of", "names_in", "statements"]

NESTED = r"[^\[\]()]*"  # what stands in brackets, with others in it
for _ in range(8):
    NESTED = rf"(?:[^\[\]()]|[\[(]{NESTED}[\])])*"
STATEMENT = re.compile(
    rf"""^(?P<indent>\ {{4}})?(?:
    "{{3}}(?:.|\n)*?"{{3}}
    | @(?P<decorator>.*)
    | (?P<cdef>cdef\ )?class\ (?P<kind>\w+)(?:\((?P<bases>.*)\))?:
    | (?P<how>cdef|cpdef|def)\ (?P<ctype>(?!inline)[^\n=\#(]*\ \**)?(?P<name>\w+)
      \((?P<taken>{NESTED})\)(?:\ ->\ (?P<returned>[^:\n]+)|(?P<clause>[^:\#\n]*)):
    | (?P<row>\#(?::\ (?P<text>.*))? | cdef\ (?:(?P<access>public|readonly)\ (?P<type>[\w.]+)
      \ (?P<attribute>\w+))?[^(\#\n]*?(?=\ *(?:\#|$)))
    | (?P<variable>[A-Za-z]\w*)(?::\ (?P<of>[^=\n]+)|\ )(?P<default>=)?
    | \S)
    .*?(?:\ \#:\ (?P<told>.*?)(?:\ +\#.*)?)?$""",
    re.MULTILINE | re.VERBOSE,
)


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def imports_of(source: str, word: str = "cimport") -> list[tuple[str, set[str]]]:
    """What a source names of other modules, with these; no name stands for all of them."""
    found = re.findall(rf"^from (\S+) {word} (?:\(([^)]+)\)|(.+))$", source, re.MULTILINE)
    return [(home, names_in("".join(some))) for home, *some in found]


def divided(text: str) -> list[str]:
    """What commas divide, but for those within brackets."""
    parts = re.findall(rf"(?:[^\[\](),]|[\[(]{NESTED}[\])])+", " ".join(text.split()))
    return [part.strip() for part in parts]


def statements(source: str) -> Iterator[tuple[str, list[str], re.Match[str]]]:
    """The statements of a source: the class that each begins or stands in, and its decorators."""
    scope, marks = "", list[str]()
    for found in STATEMENT.finditer(source):
        if found["decorator"]:
            marks.append(found["decorator"])
            continue
        if not found["indent"]:
            scope = found["kind"] or ""
        if scope or not found["indent"]:  # else it is within a function
            yield scope, marks, found
        marks = []
