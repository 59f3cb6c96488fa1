"""Small faults in a source: each changes one line.

A fault is what a person might write by mistake: a comparison turned, an index off by one, `+` for
`-`, a condition dropped, a reference not taken, a statement forgotten. Python is read by `ast`; C
and Cython by the words of their lines, comments, strings and preprocessor lines being left alone.
That may give what no compiler takes: whoever plants it finds out.

Nothing here runs anything.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["Fault", "faults_in", "sample"]


class Fault(NamedTuple):
    """A line, counted from 0, and what stands there instead."""

    line: int
    kind: str
    before: str
    after: str

    def planted_in(self, text: str) -> str:
        lines = text.split("\n")
        assert lines[self.line] == self.before
        lines[self.line] = self.after
        return "\n".join(lines)


class Edit(NamedTuple):
    """What stands in a line between two columns, exchanged."""

    kind: str
    start: int
    end: int
    new: str


def faults_in(text: str, suffix: str) -> list[Fault]:
    """All faults that are known for a source, in order."""
    edits = {".py": edits_in_python, ".pyx": edits_in_cython}.get(suffix, edits_in_c)
    lines = text.split("\n")
    found = []
    for line, (kind, start, end, new) in edits(text):
        before = lines[line]
        after = (before[:start] + new + before[end:]).rstrip()
        if after != before:
            found.append(Fault(line, kind, before, after))
    return sorted(set(found))


def sample(text: str, suffix: str, seed: str) -> Iterator[Fault]:
    """One fault of each line, in an order that the seed decides: no long line has many."""
    of_line: dict[int, list[Fault]] = {}
    for fault in faults_in(text, suffix):
        of_line.setdefault(fault.line, []).append(fault)
    draw = random.Random(seed)
    lines = list(of_line)
    draw.shuffle(lines)
    for line in lines:
        yield draw.choice(of_line[line])


Edits = Iterator[tuple[int, Edit]]

COMPARISONS = {
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
}
EXCHANGED = {
    "+": "-",
    "-": "+",
    "+=": "-=",
    "-=": "+=",
    "&&": "||",
    "||": "&&",
    "and": "or",
    "or": "and",
    "true": "false",
    "false": "true",
    "True": "False",
    "False": "True",
}

# --- C and Cython, by the words of a line --------------------------------------------------------

WORDLESS_IN_C = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.DOTALL | re.MULTILINE,
)
WORDLESS_IN_CYTHON = re.compile(
    r"\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*", re.DOTALL
)
OPERATOR = re.compile(r"(?<= )(?:[<>]=?|[=!]=|[+-]=?|&&|\|\||and|or)(?= |$)")
TRUTH = re.compile(r"\b(?:true|false|True|False)\b")
# Larger ones are chosen, not counted, as are those of a shift.
WHOLE = re.compile(r"(?<!except -)(?<!<< )(?<!>> )(?<![\w.])\d(?![\w.])(?! <<| >>)")
ONE_MORE = re.compile(r" [+-] 1(?![\w.])")
INDEX = re.compile(r"(?<=\w\[)(?!(?:bool|float|int|str|type)\])[a-z_]\w*(?=\])")  # of no type
STATUS = re.compile(r"(?<=return )CAD_[A-Z_]+(?=;)")
NEW_REFERENCE = re.compile(r"\bPy_X?NewRef\((\w+)\)")


def without(wordless: re.Pattern[str], text: str) -> str:
    """A text with blanks in place of what has no words of the language."""
    return wordless.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def is_balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return False
    return depth == 0


def edits_of_words(line: str) -> Iterator[Edit]:
    """What C and Cython have in common."""
    for found in OPERATOR.finditer(line):
        for new in COMPARISONS.get(found[0], ()):
            yield Edit("comparison", *found.span(), new)
        if found[0] in EXCHANGED:
            kind = "sign" if found[0][0] in "+-" else "and/or"
            yield Edit(kind, *found.span(), EXCHANGED[found[0]])
    for found in TRUTH.finditer(line):
        yield Edit("truth", *found.span(), EXCHANGED[found[0]])
    for found in WHOLE.finditer(line):
        yield Edit("off by one", *found.span(), str(int(found[0]) + 1))
    for found in ONE_MORE.finditer(line):
        yield Edit("off by one", *found.span(), "")
    for found in INDEX.finditer(line):
        yield Edit("off by one", *found.span(), f"{found[0]} + 1")
    for found in NEW_REFERENCE.finditer(line):
        yield Edit("reference not taken", *found.span(), found[1])


def edits_of_condition(start: int, text: str, negation: str) -> Iterator[Edit]:
    """A condition negated, or its first or last part dropped."""
    end = start + len(text)
    yield Edit("condition negated", start, end, f"{negation}({text})")
    between = [found.span() for found in CONNECTIVE.finditer(text)]
    if between and all(is_balanced(text[:one]) for one, _ in between):
        yield Edit("condition dropped", start, start + between[0][1], "")
        yield Edit("condition dropped", start + between[-1][0], end, "")


CONNECTIVE = re.compile(r" (?:&&|\|\||and|or) ")
CONDITION_IN_C = re.compile(r"\b(?:if|while) \((.*)\) \{$")
STATEMENT_IN_C = re.compile(
    r"^ +(?!(?:return|case|goto|typedef|const|static|struct|enum)\b)[\w(*].*;$"
)
DECLARATION = re.compile(r"^ +\w+ \**\w+(?: =|;|\[|,|\()")
SIZED = re.compile(r"^ *(?:\w+ )+\**\w+(?:\[[^\]]*\])+;$")


def edits_in_c(text: str) -> Edits:
    ends = ";"
    for number, line in enumerate(without(WORDLESS_IN_C, text).split("\n")):
        line = line.rstrip()
        if not line or SIZED.match(line):
            continue
        for edit in edits_of_words(line):
            yield number, edit
        if (found := CONDITION_IN_C.search(line)) and is_balanced(found[1]):
            for edit in edits_of_condition(found.start(1), found[1], "!"):
                yield number, edit
        for found in STATUS.finditer(line):
            new = "CAD_NO_MEMORY" if found[0] == "CAD_OK" else "CAD_OK"
            yield number, Edit("another status", *found.span(), new)
        if ends in "{};:" and STATEMENT_IN_C.match(line) and not DECLARATION.match(line):  # noqa: SIM102
            if is_balanced(line):
                start = len(line) - len(line.lstrip())
                taken = re.match(r" +Py_X?INCREF\(", line)
                kind = "reference not taken" if taken else "statement dropped"
                yield number, Edit(kind, start, len(line), ";")
                yield number, Edit("early return", start, len(line), "return;")
        ends = line[-1]


CONDITION_IN_CYTHON = re.compile(r"^ *(?:if|elif|while) (.*):$")
STATEMENT_IN_CYTHON = re.compile(
    r"^ +(?:[\w.]+(?:\[.*\])?(?:\.\w+)* [-+*/|&]?= .*[^\\,]|[\w.]+\(.*\)|break|continue|raise .*)$"
)
DECLARED_IN_CYTHON = re.compile(r"^ *(?:from|import|cimport|cdef extern|ctypedef|@|cdef enum)\b")


def edits_in_cython(text: str) -> Edits:
    depth = 0
    for number, line in enumerate(without(WORDLESS_IN_CYTHON, text).split("\n")):
        line = line.rstrip()
        is_whole, before = is_balanced(line), depth
        depth += sum((letter in "([{") - (letter in ")]}") for letter in line)
        if not line or DECLARED_IN_CYTHON.match(line):
            continue
        for edit in edits_of_words(line):
            yield number, edit
        if before or not is_whole:
            continue
        start = len(line) - len(line.lstrip())
        if found := CONDITION_IN_CYTHON.match(line):
            for edit in edits_of_condition(found.start(1), found[1], "not "):
                yield number, edit
        elif STATEMENT_IN_CYTHON.match(line):
            taken = re.match(r" +(?:Py_X?INCREF|refer)\(", line)
            kind = "reference not taken" if taken else "statement dropped"
            yield number, Edit(kind, start, len(line), "pass")
        elif found := re.match(r" +return (?!False$)(.+)$", line):  # which 0 is
            yield number, Edit("another result", *found.span(1), "0")


# --- Python, by its syntax -----------------------------------------------------------------------

SIGNS_OF: dict[type[ast.AST], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Add: "+",
    ast.Sub: "-",
    ast.And: "and",
    ast.Or: "or",
}
COMPARISONS_IN_PYTHON = COMPARISONS | {
    "is": ("is not",),
    "is not": ("is",),
    "in": ("not in",),
    "not in": ("in",),
}
# What nobody computes with: types, decorators, and texts.
UNPLANTED = {"annotation", "returns", "decorator_list", "type_params", "bases"}


def nodes_of(node: ast.AST) -> Iterator[ast.AST]:
    """What a program computes with; of an error that is raised not its message."""
    yield node
    for name, part in ast.iter_fields(node):
        if name in UNPLANTED or (isinstance(node, ast.Raise) and name in ("exc", "cause")):
            continue
        is_of_shift = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.LShift, ast.RShift))
        for below in part if isinstance(part, list) else [part]:
            if is_of_shift and isinstance(below, ast.Constant):
                continue
            if isinstance(below, ast.AST) and not isinstance(
                below, (ast.JoinedStr, ast.Import, ast.ImportFrom)
            ):
                yield from nodes_of(below)


def edits_in_python(text: str) -> Edits:
    lines = text.split("\n")

    def column(line: int, offset: int) -> int:
        return len(lines[line - 1].encode()[:offset].decode())

    def start(node: ast.expr | ast.stmt) -> tuple[int, int]:
        return node.lineno, column(node.lineno, node.col_offset)

    def end(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return node.end_lineno, column(node.end_lineno, node.end_col_offset)

    def between(
        one: ast.expr, other: ast.expr, sign: str, news: tuple[str, ...], kind: str
    ) -> Edits:
        """The sign between two operands exchanged, if they stand in one line."""
        (line, first), (last_line, last) = end(one), start(other)
        if line == last_line:
            found = re.search(rf"(?<!\w){re.escape(sign)}(?!\w)", lines[line - 1][first:last])
            if found is not None:
                for new in news:
                    at = first + found.start()
                    yield line - 1, Edit(kind, at, at + len(sign), new)

    def whole(node: ast.expr | ast.stmt, make: Callable[[str], str], kind: str) -> Edits:
        (line, first), (last_line, last) = start(node), end(node)
        if line == last_line:
            yield line - 1, Edit(kind, first, last, make(lines[line - 1][first:last]))

    for node in nodes_of(ast.parse(text)):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for i, operator in enumerate(node.ops):
                sign = SIGNS_OF[type(operator)]
                news = COMPARISONS_IN_PYTHON[sign]
                yield from between(operands[i], operands[i + 1], sign, news, "comparison")
        elif isinstance(node, ast.BoolOp):
            sign = SIGNS_OF[type(node.op)]
            for one, other in zip(node.values, node.values[1:], strict=False):
                yield from between(one, other, sign, (EXCHANGED[sign],), "and/or")
                if end(one)[0] == start(other)[0] == end(other)[0]:
                    line, first = start(one)
                    if line == start(other)[0]:
                        edit = Edit("condition dropped", first, start(other)[1], "")
                        yield line - 1, edit
                    edit = Edit("condition dropped", end(one)[1], end(other)[1], "")
                    yield end(one)[0] - 1, edit
        elif isinstance(node, ast.BinOp) and type(node.op) in SIGNS_OF:
            sign = SIGNS_OF[type(node.op)]
            yield from between(node.left, node.right, sign, (EXCHANGED[sign],), "sign")
        elif isinstance(node, ast.AugAssign) and type(node.op) in SIGNS_OF:
            sign = SIGNS_OF[type(node.op)] + "="
            yield from between(node.target, node.value, sign, (EXCHANGED[sign],), "sign")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield from whole(node, EXCHANGED.__getitem__, "truth")
        elif isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value < 10:
            more = str(node.value + 1)
            yield from whole(node, lambda _, more=more: more, "off by one")  # type: ignore[misc]
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
            if isinstance(node.ctx, ast.Load) and node.slice.id in ("i", "j", "k", "n"):
                yield from whole(node.slice, lambda name: f"{name} + 1", "off by one")
        elif isinstance(node, ast.Return) and node.value is not None:
            yield from whole(node, lambda _: "return None", "another result")
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Raise, ast.Break, ast.Continue)) or (  # noqa: SIM102
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        ):
            if (
                node.col_offset > 0
            ):  # of a function: without a name of its own no module is imported
                yield from whole(node, lambda _: "pass", "statement dropped")
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield from whole(node.test, lambda test: f"not ({test})", "condition negated")
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                yield from whole(test, lambda test: "True", "condition dropped")
