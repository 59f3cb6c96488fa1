"""Stubs of modules in Cython, which tell checkers types: each build derives them from the modules.

A head in Cython is one in Python, but for the types of C, which are those of WORDS. Heads say more
where these say too little:

* A parameter without a type of C may have an annotation, and so may what a `def` returns. Cython
  ignores both. Without, it is Any.
* `#: T` behind a head or an attribute, of which Cython allows no annotation, says its type; behind
  the head of a class, what it derives from for checkers.
* `#: text` on a line of its own is a line of the stub.

Types written in C have their stub in numbers/module/types.pyi, the beginning of that of _core.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

from .declarations import BINDING, put

__all__ = ["derive", "write"]

NESTED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"  # with parentheses in its parentheses
STATEMENT = re.compile(
    rf"""^(?P<indent>\ {{4}})?(?:
    @(?P<decorator>.*)
    | (?P<cdef>cdef\ )?class\ (?P<kind>\w+)(?:\((?P<bases>.*)\))?:
    | (?:def|cpdef(?P<ctype>\ [\w.]+)?)\ (?P<name>\w+)\((?P<taken>{NESTED})\)
      (?:\ ->\ (?P<returned>.+?))?(?:\ except\ -1|\ noexcept)?:
    | cdef\ (?P<access>public|readonly)\ (?P<type>[\w.]+)\ (?P<attribute>\w+)
    | (?P<variable>[A-Za-z]\w*)(?::\ (?P<of>[^=\n]+)|\ )(?P<default>=)?
    | \#:\ (?P<text>.*)
    | \S)
    .*?(?:\ \#:\ (?P<told>.*?)(?:\ +\#.*)?)?$""",
    re.MULTILINE | re.VERBOSE,
)
PARAMETER = re.compile(
    r"(?P<stars>\**)(?:(?P<type>[\w.]+) )?(?P<name>\w+)(?P<none> or None)?"
    r"(?:: (?P<told>[^=]+))?(?P<default>=.+)?",
    re.DOTALL,
)

# Types of C, and what Python's own say too little of.
WORDS = dict.fromkeys(["int", "long", "size_t", "Py_ssize_t", "uint64_t", "Py_hash_t"], "int")
WORDS |= {"bint": "bool", "double": "float", "object": "Any", "cnp.ndarray": "NDArray[Any]"}
WORDS |= {"tuple": "tuple[Any, ...]", "list": "list[Any]", "dict": "dict[Any, Any]"}
WORDS |= {"set": "set[Any]", "str": "str", "bytes": "bytes"}

RETURNED = {"__new__": "Self", "__init__": "None", "__exit__": "None", "__hash__": "int"}
UNSEEN = {
    "__cinit__",
    "__class__",
    "__dealloc__",
    "__getstate__",
    "__reduce__",
    "__repr__",
    "__str__",
}
# Methods with two underscores that are no slots of a type, whose operands have no names.
METHODS = ("__array", "__call", "__deepcopy", "__exit", "__format", "__init", "__new", "__reduce")

# Where names of annotations are from, of which a module needs nothing when it runs.
IMPORTS = {
    "collections.abc": "Callable Iterable Iterator Mapping Sequence",
    "contextlib": "AbstractContextManager",
    "numpy.typing": "ArrayLike NDArray",
    "types": "BuiltinFunctionType CellType CodeType FunctionType MethodType TracebackType",
    "typing": "Any ClassVar Generic NamedTuple NoReturn ParamSpec TypeVar final",
    "typing_extensions": "Self disjoint_base",
}
KNOWN = {name: home for home in IMPORTS for name in IMPORTS[home].split()}


def in_python(kind: str | None) -> str:
    """A type of C as one of Python's."""
    return WORDS.get((kind or "object").strip(), kind or "Any").strip()


def parts_of(text: str) -> list[str]:
    """What commas divide, but for those within brackets."""
    parts, depth = [""], 0
    for piece in re.findall(r"[(\[)\]]|,\s*|[^(\[)\],]+", text.strip()):
        depth += (piece in "([") - (piece in ")]")
        if piece[0] == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return [part for part in parts if part]


def parameters(text: str) -> str:
    """What is between the parentheses of a head, as a stub has it."""
    taken = []
    for piece in parts_of(text):
        found = PARAMETER.fullmatch(piece)
        if found is None or piece in ("self", "cls"):
            taken.append(piece)  # a mark between parameters
            continue
        kind = " ".join((found["told"] or in_python(found["type"])).split())
        if found["type"] and not found["told"] and (found["none"] or found["default"] == "=None"):
            kind += " | None"
        taken.append(f"{found['stars']}{found['name']}: {kind}{' = ...' * bool(found['default'])}")
    return ", ".join(taken)


def slots_of(name: str, taken: str) -> list[str]:
    """The methods that one in Cython is: operators of two operands in their order are two."""
    if name == "__richcmp__":
        return [f"__{each}__" for each in ("eq", "ne", "lt", "le", "gt", "ge")]
    is_pair = name[:2] == "__" and taken.startswith(("x, y", "base, exponent"))
    return [name, f"__r{name[2:]}"] if is_pair else [name]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def lines_of(text: str) -> dict[str, list[str]]:
    """The lines of a stub for a source: those of each class, which its head begins, and others."""
    lines: dict[str, list[str]] = {"": []}
    heads, marks, decorators = dict[str, str](), dict[str, str](), list[str]()
    scope: str | None = ""
    is_c, bases = False, ""
    for found in STATEMENT.finditer(re.sub(r'"""[\s\S]*?"""', "...", text)):
        if found["decorator"]:
            decorators.append(found["decorator"])
            continue
        if not found["indent"]:
            scope = None if (found["kind"] or "_")[0] == "_" else found["kind"]
        indent, own = found["indent"] or "", lines.setdefault(scope or "", [])
        told = (found["told"] or "").strip()
        if indent and scope is None:
            continue  # within a function
        if scope and found["kind"]:
            is_c, bases = bool(found["cdef"]), told or found["bases"] or ""
            heads[scope] = f"class {scope}{f'({bases})' * bool(bases)}:"
            if "cython.final" in decorators:
                marks[scope] = "@final\n"
        elif scope and re.match(r" +cdef [^(#]+(#|$)" if bases else " +cdef ", found[0]):
            marks.setdefault(scope, "@disjoint_base\n")
        if found["name"] and not (found["name"] in UNSEEN and found["taken"] == "self"):
            name, taken = found["name"].replace("__cinit__", "__new__"), found["taken"]
            if is_c and taken == "self" and name == "__init__":
                taken = "self, *args, **kwargs"  # as that of every type
            elif is_c and taken != "self" and name[:2] == "__" and not name.startswith(METHODS):
                taken += ", /"
            returned = found["returned"] or told or RETURNED.get(name, in_python(found["ctype"]))
            properties = [f"@{mark}" for mark in decorators if not mark.startswith("cython.")]
            names = slots_of(name, taken)
            taken = taken if names == [name] else "self, other, /"
            for each in names:
                head = f"def {each}({parameters(taken)}) -> {' '.join(returned.split())}: ..."
                own += [f"{indent}{row}" for row in [*properties, head]]
        elif found["access"] and indent:
            kind = told or in_python(found["type"])
            if found["access"] == "readonly":
                own += ["    @property", f"    def {found['attribute']}(self) -> {kind}: ..."]
            else:
                own.append(f"    {found['attribute']}: {kind}")
        elif found["variable"] and (kind := (found["of"] or told).strip()):
            value = " = ..." if found["default"] else ""
            own.append(f"{indent}{found['variable']}: {kind}{value}")
        elif found["text"]:
            own.append(f"{indent}{found['text']}")
        decorators = []
    for kind, head in heads.items():
        lines[kind] = [marks.get(kind, "") + head, *(lines[kind] or ["    ..."])]
    return lines


def source_of(name: str) -> str:
    return read(BINDING / f"{name}.pxd") + read(BINDING / f"{name}.pyx")


def stub_of(name: str, homes: dict[str, str], begun: str = "") -> str:
    """The stub of a module; `homes`: those of classes; `begun`: what it has beside the source."""
    source = source_of(name)
    lines = lines_of(source)
    body = "\n".join([begun, *chain.from_iterable(lines.values()), ""])
    known = {each: home for each, home in homes.items() if home != f".{name}"}
    imported = r"^from (\S+) c?import (?:\(([^)]+)\)|(.+))"
    for home, *some in re.findall(imported, source, re.MULTILINE):
        known |= dict.fromkeys(re.findall(r"\w+", "".join(some)), home)
    known |= KNOWN
    names = set(re.findall(r"(?<![.\w])\w+", body)) - lines.keys()
    imports: dict[str, list[str]] = {}
    for each in sorted(names & known.keys()):
        imports.setdefault(known[each], []).append(each)
    rows = [f"from {home} import {', '.join(imports[home])}" for home in sorted(imports)]
    rows += ["import numpy as np", body]
    return "\n".join([f'"""Derived from {name}.pyx by building/stubs.py."""', *rows])


def derive() -> dict[str, str]:
    """The stubs of modules, by the names of their files."""
    modules = [path.stem for path in sorted(BINDING.glob("*.pyx"))]
    homes = {kind: f".{name}" for name in modules for kind in lines_of(source_of(name))}
    begun = read(BINDING / "numbers" / "module" / "types.pyi")
    homes |= dict.fromkeys(re.findall(r"^class (\w+)", begun, re.MULTILINE), "._core")
    return {f"{name}.pyi": stub_of(name, homes, begun * (name == "_core")) for name in modules}


def write() -> None:
    """Write the stubs beside the modules."""
    put(BINDING, derive())
