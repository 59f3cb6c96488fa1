"""Stubs of modules in Cython, which tell checkers types: each build derives them from the modules.

A head in Cython is one in Python, but for the types of C, which are those of WORDS. Heads say more
where these say too little:

* A parameter without a type of C may have an annotation, else it is Any, and so may what a `def`
  returns. Cython ignores both.
* `#: T` behind a head or an attribute, of which Cython allows no annotation, says its type; behind
  the head of a class, what it derives from for checkers.
* `#: text` on a line of its own is a line of the stub.

Types written in C have their stub in numbers/module/types.pyi, the beginning of that of _core.
"""

import re
from itertools import chain
from pathlib import Path

from .declarations import BINDING, put
from .heads import divided, imports_of, statements

__all__ = ["derive", "write"]

PARAMETER = re.compile(
    r"(?P<type>(?:[^=:]*?[\w.] )??)(?P<stars>\**)(?P<name>\w+)(?P<none> or None)?"
    r"(?:: (?P<told>[^=]+?))?(?P<default> ?=.+)?"
)

# Types of C, and what Python's own say too little of.
WORDS = dict.fromkeys(["int", "long", "size_t", "Py_ssize_t"], "int")
WORDS |= {"bint": "bool", "double": "float", "object": "Any", "cnp.ndarray": "NDArray[Any]"}
WORDS |= {"tuple": "tuple[Any, ...]", "list": "list[Any]", "dict": "dict[Any, Any]"}
WORDS |= {"set": "set[Any]", "": "Any"}

RETURNED = {"__new__": "Self", "__init__": "None", "__exit__": "None", "__hash__": "int"}
UNSEEN = ("__cinit__", "__class__", "__dealloc__", "__reduce__", "__repr__", "__str__")
# Methods with two underscores that are no slots of a type, whose operands have no names.
METHODS = ("__array", "__call", "__deepcopy", "__exit", "__format", "__init", "__new", "__reduce")
COMPARISONS = [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")]

# Where names of annotations are from, of which a module needs nothing when it runs.
IMPORTS = {
    "collections.abc": "Callable Iterable Iterator Mapping Sequence",
    "contextlib": "AbstractContextManager",
    "numpy.typing": "ArrayLike NDArray",
    "types": "BuiltinFunctionType CellType CodeType FunctionType TracebackType",
    "typing": "Any ClassVar Generic NoReturn ParamSpec TypeVar final",
    "typing_extensions": "Self disjoint_base",
}
KNOWN = {name: home for home, names in IMPORTS.items() for name in names.split()}


def in_python(kind: str | None) -> str:
    """A type of C as one of Python's."""
    kind = (kind or "").strip()
    return WORDS.get(kind, kind)


def typed(text: str) -> str:
    """What is between the parentheses of a head, as a stub has it."""
    taken = []
    for piece in divided(text):
        if (one := PARAMETER.fullmatch(piece)) and piece not in ("self", "cls"):
            kind = one["told"] or in_python(one["type"])
            may_be_none = one["none"] or (one["type"] and one["default"] == "=None")
            kind += " | None" * bool(may_be_none) + " = ..." * bool(one["default"])
            piece = f"{one['stars']}{one['name']}: {kind}"
        taken.append(piece)
    return ", ".join(taken)


def method(found: re.Match[str], told: str, is_c: bool) -> list[str]:
    """The heads of what a head in Cython is: some are several operators."""
    name, taken = found["name"].replace("__cinit__", "__new__"), found["taken"]
    returned = found["returned"] or told or RETURNED.get(name, in_python(found["ctype"]))
    names = [name]
    if is_c and taken == "self" and name == "__init__":
        taken = "self, *args, **kwargs"  # as that of every type
    elif name == "__richcmp__":
        names, taken = COMPARISONS, "self, other, /"
    elif name[:2] == "__" and taken.startswith(("x, y", "base, exponent")):
        names, taken = [name, f"__r{name[2:]}"], "self, other, /"
    elif is_c and taken != "self" and name[:2] == "__" and not name.startswith(METHODS):
        taken += ", /"
    return [f"def {each}({typed(taken)}) -> {returned}: ..." for each in names]


def lines_of(text: str) -> dict[str, list[str]]:
    """The lines of a stub for a source: those of each class, which its head begins, and others."""
    lines: dict[str, list[str]] = {"": [""]}
    heads, marks = dict[str, str](), dict[str, str]()
    is_c, bases = False, ""
    for scope, decorators, found in statements(text):
        if scope[:1] == "_":
            continue
        told, rows = (found["told"] or "").strip(), list[str]()
        if found["kind"]:
            is_c, bases = bool(found["cdef"]), told or found["bases"] or ""
            heads[scope] = f"class {scope}{f'({bases})' * bool(bases)}:"
            if "cython.final" in decorators:
                marks[scope] = "@final\n"
        elif scope and re.match(r" +cdef [^(#]+(#|$)" if bases else " +cdef ", found[0]):
            marks.setdefault(scope, "@disjoint_base\n")
        if found["how"] in ("def", "cpdef"):
            if found["name"] not in UNSEEN or found["taken"] != "self":
                properties = [f"@{mark}" for mark in decorators if mark[:7] != "cython."]
                rows = [row for head in method(found, told, is_c) for row in [*properties, head]]
        elif found["access"]:
            name, kind = found["attribute"], told or in_python(found["type"])
            rows = ["@property", f"def {name}(self) -> {kind}: ..."]
            if found["access"] == "public":
                rows = [f"{name}: {kind}"]
        elif found["variable"] and (kind := (found["of"] or told).strip()):
            rows = [f"{found['variable']}: {kind}{' = ...' * bool(found['default'])}"]
        elif found["text"]:
            rows = [found["text"]]
        lines.setdefault(scope, []).extend(f"{found['indent'] or ''}{row}" for row in rows)
    for kind, head in heads.items():
        lines[kind] = [marks.get(kind, "") + head, *(lines[kind] or ["    ..."])]
    return lines


def derive() -> dict[str, str]:
    """The stubs of modules, by the names of their files."""
    sources, stubs = dict[str, str](), dict[str, str]()
    for path in sorted(BINDING.glob("*.pyx")):
        both = filter(Path.exists, (path.with_suffix(".pxd"), path))
        sources[path.stem] = "".join(each.read_text(encoding="utf-8") for each in both)
    lines = {name: lines_of(source) for name, source in sources.items()}
    begun = (BINDING / "numbers" / "module" / "types.pyi").read_text(encoding="utf-8")
    lines["_core"][""][0] = begun
    homes = {kind: f".{name}" for name in lines for kind in lines[name]}
    homes |= dict.fromkeys(re.findall(r"^class (\w+)", begun, re.MULTILINE), "._core")
    for module, source in sources.items():
        body = "\n".join([*chain.from_iterable(lines[module].values()), ""])
        known = {name: home for name, home in homes.items() if home != f".{module}"}
        for home, names in imports_of(source, "c?import"):
            known |= dict.fromkeys(names, home)
        known |= KNOWN
        imports: dict[str, list[str]] = {}
        names = set(re.findall(r"(?<![.\w])\w+", body)) - lines[module].keys()
        for name in sorted(names & known.keys()):
            imports.setdefault(known[name], []).append(name)
        rows = [f"from {home} import {', '.join(imports[home])}" for home in sorted(imports)]
        head = f'"""Derived from {module}.pyx by building/stubs.py."""'
        stubs[f"{module}.pyi"] = "\n".join([head, *rows, "import numpy as np", body])
    return stubs


def write() -> None:
    """Write the stubs beside the modules."""
    put(BINDING, derive())
