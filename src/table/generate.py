"""Turn the table of operations (ops.def) into rows of C macros, stubs and documentation.

This module parses the table and checks it; it knows the grammar of the rows and nothing of tapes
or of any algebra. The rows that it writes apply a word as `A(word, operands)`, so that a C file
gives the words a meaning by defining `A` before it includes them.

    python src/table/generate.py c OUTPUT  # generated/*.h, done by building/extension.py
    python src/table/generate.py derived   # docs/operations.md
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isinf
from pathlib import Path

TABLE = Path(__file__).with_name("ops.def")

CONSTANTS = {
    "pi": "CAD_PI",
    "ln2": "CAD_LN2",
    "ln10": "CAD_LN10",
    "inf": "INFINITY",
    "nan": "NAN",
}
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
}
# Words of C over two numbers, in their order or in the other one.
COMPARISONS: dict[type[ast.cmpop], tuple[str, bool]] = {
    ast.Lt: ("LT", True),
    ast.LtE: ("LE", True),
    ast.Gt: ("LT", False),
    ast.GtE: ("LE", False),
    ast.Eq: ("EQ", True),
    ast.NotEq: ("NE", True),
}
PREDICATES = {"isnan": "NE({0}, {0})", "isinf": "EQ(ABS({0}), C(INFINITY))"}
# Operations that compilers turn into vector code.
VECTORISED = {*ARITHMETIC.values(), "negative", "reciprocal", "square", "absolute", "_amul"}

# Functions that are an instruction or two.
IN_PLACE = {"sqrt", "fabs", "absolute", "floor", "ceil", "trunc", "rint", "cad_sign"}

# A function, a table or a number that special.h or special.c define.
DEFINITION = re.compile(
    r"^(?:static )?(?:inline |const )?double (\w+)(?:\[\] =|\([^)]*\)) \{|^enum \{ (\w+)", re.M
)

# Second names under which NumPy, SciPy or the trade know an operation.
ALIASES = {
    "abs": "absolute",
    "fabs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "pow": "power",
    "true_divide": "divide",
    "remainder": "mod",
    "degrees": "rad2deg",
    "radians": "deg2rad",
    "sigmoid": "expit",
    "log_sigmoid": "log_expit",
    "psi": "digamma",
}


class TableError(ValueError):
    """A row of the table that cannot be understood, with its line number."""


@dataclass(frozen=True)
class Domain:
    """Where an operand may lie: between two bounds, each of which may belong to the domain.

    Infinite bounds belong to domains of real numbers, however they are written.
    """

    low: float
    high: float
    has_low: bool = False
    has_high: bool = False
    is_whole: bool = False

    def contains(self, x: float) -> bool:
        """Whether a number, which is not nan, lies in the domain."""
        above = x >= self.low if self.has_low else x > self.low
        below = x <= self.high if self.has_high else x < self.high
        return above and below and (not self.is_whole or x.is_integer())


def parse_domain(text: str) -> Domain | None:
    """Read `R`, `int` or an interval such as `[0, 1)`; None for anything else."""
    if text == "R":
        return Domain(-inf, inf, True, True)
    if text == "int":
        return Domain(0.0, inf, True, False, True)
    bounds = re.fullmatch(r"([\[(]) *([^\s,]+), *([^\s,]+) *([\])])", text)
    if bounds is None:
        return None
    try:
        low, high = float(bounds[2]), float(bounds[3])
    except ValueError:
        return None
    if not low < high:
        return None
    return Domain(low, high, bounds[1] == "[" or isinf(low), bounds[4] == "]" or isinf(high))


@dataclass(frozen=True)
class Row:
    """One operation: the columns of the table, taken apart."""

    line: int
    name: str
    operands: tuple[str, ...]
    ufunc: str
    domain: tuple[str, ...]
    value: str
    partials: tuple[str, ...]
    kinks: str

    @property
    def public(self) -> bool:
        """Whether the operation is a function of the package."""
        return not self.name.startswith("_")

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The column of domains, read."""
        return tuple(domain for domain in map(parse_domain, self.domain) if domain is not None)

    @property
    def calls(self) -> bool:
        """Whether the value calls a function that is more than that."""
        functions = {*re.findall(r"(\w+)\(", self.value)} - IN_PLACE
        return bool(functions) and self.name != "_amul"  # a product, but where it is nan

    @property
    def word(self) -> str:
        """The name of the operation in C."""
        return self.name.lstrip("_")


def parse_row(line: int, text: str) -> Row:
    """Take one row apart; a malformed one raises TableError."""
    columns = [column.strip() for column in text.replace("||", "\0").split("|")]
    columns = [column.replace("\0", "||") for column in columns]
    if len(columns) != 6:
        raise TableError(f"ops.def:{line}: a row has 6 columns, this one has {len(columns)}")
    head = re.fullmatch(r"(\w+)\(([\w, ]+)\)", columns[0])
    if head is None:
        raise TableError(f"ops.def:{line}: expected name(operands), found {columns[0]!r}")
    operands = tuple(name.strip() for name in head[2].split(","))
    domain = tuple(part.strip() for part in columns[2].split(";"))
    partials = tuple(part.strip() for part in columns[4].split(";"))
    if not 1 <= len(operands) <= 3 or not len(operands) == len(domain) == len(partials):
        raise TableError(
            f"ops.def:{line}: {head[1]} has {len(operands)} operands (1 to 3 are possible), "
            f"{len(domain)} domains and {len(partials)} partials; the numbers must agree"
        )
    for text in domain:
        if parse_domain(text) is None:
            raise TableError(
                f"ops.def:{line}: {head[1]}: {text!r} is no domain: expected R, int, or an "
                "interval such as [0, 1) or (-1, inf)"
            )
    return Row(line, head[1], operands, columns[1], domain, columns[3], partials, columns[5])


def read_table(path: Path = TABLE) -> list[Row]:
    """Read all rows, in order, and check that every formula can be translated."""
    rows: list[Row] = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if text.strip() and not text.startswith("#"):
            rows.append(parse_row(number, text))
    if len({row.word for row in rows}) != len(rows):
        raise TableError("ops.def: two rows share a name")
    for translator in translators(rows):
        translator.partials()
    return rows


def parse_formula(row: Row, text: str) -> ast.expr:
    """Parse one partial."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise TableError(f"ops.def:{row.line}: {row.name}: cannot read {text!r}") from error


class Translator:
    """Writes a partial as nested C macros: words of the algebra, conditions over plain values."""

    def __init__(self, row: Row, arity: dict[str, int]) -> None:
        self.row = row
        self.arity = arity
        # Operands are called x, y, z in C whatever the row calls them.
        self.operands = dict(zip(row.operands, "xyz", strict=False)) | {"v": "v"}

    def fail(self, node: ast.AST) -> TableError:
        return TableError(
            f"ops.def:{self.row.line}: {self.row.name}: {ast.unparse(node)!r} is not in the "
            "vocabulary of the partials"
        )

    def word(self, node: ast.AST, name: str, *arguments: str) -> str:
        word = name.lstrip("_")
        if self.arity.get(word) != len(arguments):
            raise self.fail(node)
        return f"A({', '.join([word, *arguments])})"

    def value(self) -> str:
        """The value column, which names the operands as the row does, in the names of C."""
        return "(" + re.sub(r"\w+", lambda m: self.operands.get(m[0], m[0]), self.row.value) + ")"

    def partials(self) -> list[str]:
        """The partials in the words of the algebra; one that cannot be read raises TableError."""
        return [f"({self.number(parse_formula(self.row, text))})" for text in self.row.partials]

    def number(self, node: ast.expr) -> str:
        """An expression in the words of the algebra."""
        match node:
            case ast.Constant(value=int() | float() as value):
                return f"K({float(value)!r})"
            case ast.Name(id=name) if name in CONSTANTS:
                return f"K({CONSTANTS[name]})"
            case ast.Name(id=name) if name in self.operands:
                return f"L({self.operands[name]})"
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
                return f"K(-{float(value)!r})"  # type: ignore[arg-type]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.word(node, "negative", self.number(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                name = ARITHMETIC[type(op)]
                return self.word(node, name, self.number(left), self.number(right))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"IF({self.condition(test)}, {self.number(body)}, {self.number(orelse)})"
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.word(node, name, *map(self.number, arguments))
        raise self.fail(node)

    def condition(self, node: ast.expr) -> str:
        """A condition over the plain values of numbers, in words of their own."""
        match node:
            case ast.BoolOp(op=op, values=values):
                word = "AND" if isinstance(op, ast.And) else "OR"
                *before, last = map(self.condition, values)
                return "".join(f"{word}({c}, " for c in before) + last + ")" * len(before)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                word, in_order = COMPARISONS[type(op)]
                x, y = (left, right) if in_order else (right, left)
                return f"{word}({self.plain(x)}, {self.plain(y)})"
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in PREDICATES:
                return PREDICATES[name].format(self.plain(argument))
        raise self.fail(node)

    def plain(self, node: ast.expr) -> str:
        """The value of a term of a condition."""
        match node:
            case ast.Constant(value=int() | float() as value):
                return f"C({float(value)!r})"
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
                return f"C(-{float(value)!r})"  # type: ignore[arg-type]
            case ast.Name(id=name) if name in self.operands:
                return f"P({self.operands[name]})"
            case ast.Call(func=ast.Name(id="absolute"), args=[argument]):
                return f"ABS({self.plain(argument)})"
        raise self.fail(node)


def c_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def translators(rows: list[Row]) -> list[Translator]:
    arity = {row.word: len(row.operands) for row in rows}
    return [Translator(row, arity) for row in rows]


def c_rows(rows: list[Row]) -> Iterator[str]:
    """The table as X-macros: CAD_ROW1, CAD_ROW2 and CAD_ROW3, by how many operands there are."""
    for c in translators(rows):
        fields = [c.row.word, c.value(), *c.partials()]
        yield f"CAD_ROW{len(c.row.operands)}({', '.join(fields)})"


def c_values(rows: list[Row]) -> Iterator[str]:
    """The values alone: CAD_VALUE(word, arity, value)."""
    for c in translators(rows):
        yield f"CAD_VALUE({c.row.word}, {len(c.row.operands)}, {c.value()})"


def c_partials(rows: list[Row]) -> Iterator[str]:
    """One partial after the other: CAD_PARTIAL(word, arity, which, partial), from 1 on.

    Unless the including file defines that, they are the cases of a switch over `op * 4` and which
    operand it is, from 0 on.
    """
    cases = "case CAD_OP_##name * 4 + which - 1: return partial;"
    yield f"#ifndef CAD_PARTIAL\n#define CAD_PARTIAL(name, arity, which, partial) {cases}\n#endif"
    for c in translators(rows):
        for which, partial in enumerate(c.partials(), 1):
            yield f"CAD_PARTIAL({c.row.word}, {len(c.row.operands)}, {which}, {partial})"


def c_codes(rows: list[Row]) -> Iterator[str]:
    """The operations without their formulas: CAD_NAME(word, arity)."""
    for row in rows:
        yield f"CAD_NAME({row.word}, {len(row.operands)})"


def is_vectorised(formula: ast.expr) -> bool:
    """Whether a compiler can compute a partial for several elements at a time."""
    calls = (node.func for node in ast.walk(formula) if isinstance(node, ast.Call))
    names = {f.id for f in calls if isinstance(f, ast.Name)}
    return names <= VECTORISED | PREDICATES.keys()


def c_direct(rows: list[Row]) -> Iterator[str]:
    """The partials that are best computed in one loop: CAD_DIRECT(word, which, reads, partial).

    `reads` is what the partial depends on: bit 0 to 2 for an operand, bit 3 for the value.
    """
    for c in translators(rows):
        bits = dict(zip(c.row.operands, (1, 2, 4), strict=False)) | {"v": 8}
        for which, (text, partial) in enumerate(zip(c.row.partials, c.partials(), strict=True), 1):
            formula = parse_formula(c.row, text)
            names = {node.id for node in ast.walk(formula) if isinstance(node, ast.Name)}
            reads = sum(bit for name, bit in bits.items() if name in names)
            if reads and is_vectorised(formula):
                yield f"CAD_DIRECT({c.row.word}, {which}, {reads}, {partial})"


def c_docs(rows: list[Row]) -> Iterator[str]:
    """What is known of an operation: CAD_DOC(word, name, arity, calls, ufunc, text)."""
    for row in rows:
        name, ufunc, calls = c_string(row.name), c_string(row.ufunc), int(row.calls)
        doc = c_string(f"{row.name}({', '.join(row.operands)}, /)\n--\n\n{docstring(row)}")
        text = doc.replace("\n", "\\n")
        yield f"CAD_DOC({row.word}, {name}, {len(row.operands)}, {calls}, {ufunc}, {text})"
    for alias, name in ALIASES.items():
        yield f"CAD_ALIAS({c_string(alias)}, {c_string(name)})"


def helpers(text: str) -> Iterator[tuple[str, str]]:
    """What a file of C defines, by its name: constants, tables and functions with their comments.

    All of it as it is written in a single file: static.
    """
    for part in re.split(r"\n\n+(?=\S)", text):
        if "\n#define CAD_" in f"\n{part}" and "_H" not in part:
            for line in part.splitlines():
                yield line.split()[1], line
        elif name := DEFINITION.search(part):
            yield name[1] or name[2], re.sub(r"^double ", "static double ", part, flags=re.M)


def c_helpers(rows: list[Row]) -> Iterator[str]:
    """What the values of the table call, callees first: CAD_HELPER(name, text)."""
    for name in ("special.h", "special.c"):
        text = TABLE.with_name(name).read_text(encoding="utf-8")
        for helper, piece in helpers(text.strip()):
            parts = (c_string(line + "\n").replace("\n", "\\n") for line in piece.splitlines())
            yield f"CAD_HELPER({c_string(helper)}, {' '.join(parts)})"


def c_no_words(rows: list[Row]) -> Iterator[str]:
    """What ends an algebra: the words of formulas mean nothing any more."""
    words = {word for word, _ in COMPARISONS.values()} | set("AKLPC") | {"IF", "AND", "OR", "ABS"}
    yield from (f"#undef {word}" for word in sorted(words))


def docstring(row: Row) -> str:
    """What `help(cadiff.name)` says."""
    lines = [f"{row.name}, elementwise." + (f" Values follow {row.ufunc}." * (row.ufunc != "-"))]
    lines += ["", "Takes floats, ndarrays, Var and Dual; returns the same kind.", ""]
    for operand, domain in zip(row.operands, row.domain, strict=True):
        inside = {"R": "any real number", "int": "a constant whole number >= 0"}
        lines.append(f"{operand}: {inside.get(domain, f'nan outside {domain}')}")
    for operand, partial in zip(row.operands, row.partials, strict=True):
        lines.append(f"d/d{operand} = {partial}")
    if row.kinks:
        lines.append(f"Convention: {row.kinks}.")
    if any(re.search(r"\bv\b", partial) for partial in row.partials):
        lines.append("v is the value.")
    return "\n".join(lines)


def natural_order(name: str) -> list[str | int]:
    """A key that sorts exp2 before exp10, as ruff does."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


GENERATED = "Generated from src/table/ops.def by generate.py: change the table, not this file."
FUNCTIONS = f'''"""{GENERATED}"""

from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..binding import Dual, Var

_Number = TypeVar("_Number", Var, Dual)
'''
METHODS = f'''"""{GENERATED}"""

from typing import Any

from typing_extensions import Self

class Methods:'''
OPERATIONS = """# The operations

Generated from `src/table/ops.def` by `python src/table/generate.py derived`. Every row
is a function of the package, and a method of `Var` and `Dual` if it has one or two
operands. Outside the domain, value and derivative are nan. In derivatives, `v` is the
value and `amul` the product in which an exact zero absorbs.

| operation | domain | derivatives (v is the value) | convention |
|---|---|---|---|"""


def function_stubs(rows: list[Row]) -> str:
    """cadiff/operations/table.pyi: the functions of the package."""
    by_name = {row.name: row for row in rows if row.public}
    by_name |= {alias: by_name[name] for alias, name in ALIASES.items()}
    names = sorted(by_name, key=natural_order)
    lines = [FUNCTIONS, "__all__ = [", *(f'    "{name}",' for name in names), "]", ""]
    for name, row in sorted(by_name.items()):
        if len(row.operands) == 1:
            kinds = [
                ("_Number", "_Number"),
                ("float", "float"),
                ("NDArray[np.object_]", "NDArray[np.object_]"),
                ("ArrayLike", "NDArray[np.float64]"),
            ]
            for kind, result in kinds:
                lines += ["@overload", f"def {name}(x: {kind}, /) -> {result}: ..."]
        else:
            for kind, result in [("float", "float"), ("Any", "Any")]:
                operands = ", ".join(f"{operand}: {kind}" for operand in row.operands)
                lines += ["@overload", f"def {name}({operands}, /) -> {result}: ..."]
    return "\n".join(lines) + "\n"


def method_stubs(rows: list[Row]) -> str:
    """cadiff/operations/methods.pyi: the methods of Var and Dual that are named like ufuncs."""
    lines = [METHODS]
    for row in sorted(rows, key=lambda row: row.name):
        if row.public and len(row.operands) == 1:
            lines.append(f"    def {row.name}(self) -> Self: ...")
        elif row.public and len(row.operands) == 2:
            lines.append(f"    def {row.name}(self, other: Any, /) -> Self: ...")
    return "\n".join(lines) + "\n"


def markdown(rows: list[Row]) -> str:
    """The table of the documentation."""
    lines = [OPERATIONS]
    for row in rows:
        if row.public:
            cells = [
                f"`{row.name}({', '.join(row.operands)})`",
                "; ".join(row.domain),
                "; ".join(f"`{partial}`" for partial in row.partials),
                row.kinks,
            ]
            lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "Other names: " + ", ".join(f"`{a}` = `{n}`" for a, n in ALIASES.items()) + "."]
    return "\n".join(lines) + "\n"


def write_c(directory: Path) -> None:
    """Write the generated headers, touching only those that change.

    Each forgets the macros that were defined for it, so that the next one may have its own.
    """
    rows = read_table()
    directory.mkdir(parents=True, exist_ok=True)
    for make in (c_codes, c_rows, c_values, c_partials, c_direct, c_docs, c_helpers, c_no_words):
        path, lines = directory / f"ops_{make.__name__[2:]}.h", list(make(rows))
        macros = dict.fromkeys(re.findall(r"^(CAD_\w+)\(", "\n".join(lines), re.M))
        lines.insert(
            0, "/* Generated by src/table/generate.py: change the table, not this file. */"
        )
        text = "\n".join([*lines, *(f"#undef {macro}" for macro in macros)]) + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def stubs() -> dict[str, str]:
    """The stubs in cadiff/operations, by the names of their files; each build writes them."""
    rows = read_table()
    return {"table.pyi": function_stubs(rows), "methods.pyi": method_stubs(rows)}


def derived_files() -> dict[str, str]:
    """The committed files that follow from the table, by their paths in the repository."""
    return {"docs/operations.md": markdown(read_table())}


def main(argv: list[str]) -> int:
    match argv:
        case ["c", directory]:
            write_c(Path(directory))
        case ["derived"]:
            for name, text in derived_files().items():
                path = TABLE.parents[2] / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
