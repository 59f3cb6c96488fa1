"""Declarations by which modules in Cython call each other: each build derives them from heads.

A `.pxd` beside a module has what others need in line, enums, and classes whose methods are in
line, or for which a long module has no room. All else that others see follows from the module:
classes that another one cimports, with their attributes, the heads of their methods, and those of
functions. Modules, without such attributes, and declarations stand side by side in a folder of the
build, where Cython reads them.
"""

import re
from pathlib import Path
from typing import NamedTuple

from .declarations import BINDING, put
from .heads import divided, imports_of, names_in, statements

__all__ = ["read_with", "write"]


class Kind(NamedTuple):
    """A class, by its name; what is of none is of "", without head."""

    head: str
    base: str
    rows: list[re.Match[str]]  # attributes, and comments between them
    methods: dict[str, str]  # their declarations


def prototype(head: re.Match[str], marks: str) -> str:
    """The head of a function as a declaration: values of parameters, and annotations, are left."""
    pieces = [re.sub(": [^=]*", "", piece) for piece in divided(head["taken"])]
    taken = ", ".join(re.sub(" ?=.*", "=*", piece) for piece in pieces)
    named = f"{head['how']} {head['ctype'] or ''}{head['name']}"
    return f"{marks}{head['indent'] or ''}{named}({taken}){head['clause']}\n"


def kinds_of(source: str) -> dict[str, Kind]:
    """What declarations may say of a source."""
    kinds = {"": Kind("", "", [], {})}
    for scope, decorators, found in statements(source):
        marks = "".join(f"{found['indent'] or ''}@{mark}\n" for mark in decorators)
        if found["cdef"]:
            base = f"({found['bases']})" if found["bases"] else ""
            kinds[scope] = Kind(f"{marks}cdef class {scope}{base}:\n", base[1:-1], [], {})
        elif scope in kinds and found["row"]:
            kinds[scope].rows.append(found)
        elif scope in kinds and found["how"] in ("cdef", "cpdef"):
            kinds[scope].methods[found["name"]] = prototype(found, marks)
    return kinds


def cimports_of(source: str, text: str, called: set[str], headers: dict[str, str]) -> str:
    """What declarations need of others: the cimports of their module, as far as names are used.

    Those of functions are used where they are called; those of types have a capital, or end in _t.
    """
    used = {name for name in names_in(text) if name[0].isupper() or name.endswith("_t")} | called
    rows = ""
    for home, names in imports_of(source):
        wanted = sorted(names & used)
        if not names and used & names_in(headers.get(home, "")):
            wanted = ["*"]
        elif "cnp" in names and "cnp." in text:
            wanted = ["c_numpy as cnp"]
        rows += f"from {home} cimport {', '.join(wanted)}\n" * bool(wanted)
    return rows + "cimport cython\n" * ("@cython." in text)


def completed(
    source: str, written: str, asked: set[str], known: dict[str, Kind], headers: dict[str, str]
) -> tuple[str, str]:
    """The declarations of a module, of what is written and what follows; and the module without.

    Classes stand in the order of the module, behind what else is written but for functions. What a
    base (`known`: all classes) declares is not declared again.
    """
    kinds = kinds_of(source)
    block = r"(?:^(?:[@#].*)?\n)*^[^@#\s].*\n(?:(?:[ ].*)?\n)*"  # with what stands above it
    blocks = re.findall(block, written, re.MULTILINE)
    named = {x: re.search(r"^cdef class (\w+)", x, re.MULTILINE) for x in blocks}
    bodies = {found[1]: x.strip() + "\n" for x, found in named.items() if found}
    used, begun = asked | names_in(written), ""
    while new := [name for name in kinds if name in used and name not in bodies]:
        for name in new:
            bodies[name] = kinds[name].head
            for row in kinds[name].rows:
                bodies[name] += f"{row[0]}\n"
                source = f"{source[: row.start()]}{' ' * len(row[0])}{source[row.end() :]}"
            begun += f"cdef class {name}\n" * (not kinds[name].base)
        used |= names_in("".join(bodies.values()))
    text = "".join(x for x in blocks if not named[x] and " inline " not in x)
    for name in filter(bodies.get, kinds):
        inherited = known.get(kinds[name].base, known[""]).methods
        own = (head for each, head in kinds[name].methods.items() if each not in inherited)
        text += f"\n{bodies[name]}{''.join(own)}\n"
    text += "".join(x for x in blocks if not named[x] and " inline " in x)
    text += "".join(head for name, head in kinds[""].methods.items() if name in asked)
    called = set(re.findall(r"(?<!\.)\b(\w+)\(", written))
    return cimports_of(source, text, called, headers) + begun + text, source


def read_with(source: Path) -> list[Path]:
    """What Cython reads of ours for a module: it, its declarations, those that these cimport."""
    found, more = set[Path](), [source]
    while more:
        if (path := more.pop()) not in found and path.exists():
            found.add(path)
            more.append(path.with_suffix(".pxd"))
            for home, names in imports_of(path.read_text(encoding="utf-8")):
                homes = names if home == "." else {home.removeprefix(".")}
                more += [path.parent / f"{name.replace('.', '/')}.pxd" for name in homes]
    return sorted(found)


def write(folder: Path) -> None:
    """Write sources, and their declarations, into a folder of the build, a package to Cython."""
    sources, written, derived = (
        {path.stem: path.read_text(encoding="utf-8") for path in sorted(BINDING.glob(pattern))}
        for pattern in ("*.pyx", "*.pxd", "generated/*.pxd")
    )
    known = {name: kind for source in sources.values() for name, kind in kinds_of(source).items()}
    known[""] = Kind("", "", [], {})  # of classes without a base of ours
    headers = {f".generated.{name}": text for name, text in derived.items()}
    asked: dict[str, set[str]] = {}
    for text in [*sources.values(), *written.values()]:
        for home, names in imports_of(text):
            asked.setdefault(home.removeprefix("."), set()).update(names)
    for name in sources.keys() & {*written, *asked}:
        own, wanted = written.get(name, ""), asked.get(name, set())
        written[name], sources[name] = completed(sources[name], own, wanted, known, headers)
    put(folder.parent, {"__init__.pxd": ""})
    put(folder, {"__init__.pxd": ""} | {f"{name}.pyx": text for name, text in sources.items()})
    put(folder, {f"{name}.pxd": text for name, text in written.items()})
    put(folder / "generated", {f"{name}.pxd": text for name, text in derived.items()})
