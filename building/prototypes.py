"""Declarations by which modules in Cython call each other: each build derives them from heads.

A `.pxd` beside a module has what others need in line, enums, and classes whose methods are in
line, or for which a long module has no room. All else that others see follows from the module:
classes that another one cimports, with their attributes, the heads of their methods, and those of
functions. Modules, without such attributes, and declarations stand side by side in a folder of the
build, where Cython reads them.
"""

from __future__ import annotations

import re
from pathlib import Path

from .declarations import BINDING, put

__all__ = ["derive", "read_with", "write"]

NESTED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"  # with parentheses in its parentheses
BRACKETS = r"(?:[^][]|\[(?:[^][]|\[[^][]*\])*\])*"
HEAD = re.compile(
    rf"^(?P<marks>(?:[ ]{{4}}@cython\.final\n)?)(?P<indent>(?:[ ]{{4}})?)"
    rf"(?P<answer>cp?def (?!inline|class|enum|struct|extern)[^\n=#(]*?\b)(?P<name>\w+)"
    rf"\((?P<taken>{NESTED})\)(?P<clause>[^:#\n]*):",
    re.MULTILINE,
)
CLASS = re.compile(
    r"^(?P<marks>(?:@.*\n)*)cdef class (?P<name>\w+)(?P<base>\(\w+\))?:", re.MULTILINE
)
ATTRIBUTE = re.compile(r"^ {4}(?:cdef [^(#\n]+)?(?:#(?!:).*|#: .*)?\n", re.MULTILINE)
CIMPORT = re.compile(r"^from (\S+) cimport (?:\(([^)]+)\)|(.+))$", re.MULTILINE)


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def prototype(head: re.Match[str]) -> str:
    """The head of a function as a declaration: values of parameters, and annotations, are left."""
    taken = re.sub(rf"(\w+): (?:[^,=\[\]]|\[{BRACKETS}\])+", r"\1", head["taken"])
    taken = re.sub(r"\s*=\s*(?:\(\)|[^,()]+)", "=*", " ".join(taken.split()))
    clause = head["clause"].split("->")[0].rstrip()
    return f"{head['marks']}{head['indent']}{head['answer']}{head['name']}({taken}){clause}\n"


def heads_of(source: str) -> dict[str, dict[str, str]]:
    """The declarations of functions by their names: those of each class, and of none ("")."""
    begins = [(found.start(), found["name"]) for found in CLASS.finditer(source)]
    heads: dict[str, dict[str, str]] = {"": {}}
    for head in HEAD.finditer(source):
        owner = ""
        if head["indent"]:
            owner = [name for begin, name in begins if begin < head.start()][-1]
        heads.setdefault(owner, {})[head["name"]] = prototype(head)
    return heads


def own_methods(source: str, others: dict[str, set[str]]) -> dict[str, dict[str, str]]:
    """`heads_of` a source, without what bases have declared; `others`: the methods of classes."""
    heads = heads_of(source)
    for found in CLASS.finditer(source):
        for inherited in others.get((found["base"] or "")[1:-1], ()):
            heads.get(found["name"], {}).pop(inherited, None)
    return heads


def cimports_of(source: str, text: str, called: set[str], headers: dict[str, str]) -> str:
    """What declarations need of others: the cimports of their module, as far as names are used.

    Those of functions are used where they are called; those of types have a capital, or end in _t.
    """
    used = {name for name in names_in(text) if name[0].isupper() or name.endswith("_t")} | called
    rows = ""
    own = names_in("".join(found[0] for found in CIMPORT.finditer(text)))
    for home, *some in CIMPORT.findall(source):
        names = "".join(some).strip()
        if names == "*":
            wanted = ["*"] if used & names_in(headers.get(home, "")) else []
        else:
            wanted = sorted(names_in(names) & used - own)
        if names.endswith("as cnp"):
            rows += f"from {home} cimport {names}\n" if "cnp." in text else ""
        elif wanted:
            rows += f"from {home} cimport {', '.join(wanted)}\n"
    return rows + ("cimport cython\n" if "@cython." in text else "")


def attributes_of(source: str) -> dict[str, list[re.Match[str]]]:
    """The attributes of classes that stand in a module, with the comments between them."""
    found: dict[str, list[re.Match[str]]] = {}
    for kind in CLASS.finditer(source):
        end = re.compile(r"^\S", re.MULTILINE).search(source, kind.end())
        rows = ATTRIBUTE.finditer(source, kind.end(), end.start() if end else len(source))
        found[kind["name"]] = list(rows)
    return found


def blocks_of(text: str) -> list[str]:
    """The statements of declarations, with what stands above them."""
    return re.findall(r"(?:^(?:[@#].*)?\n)*^[^@#\s].*\n(?:(?:[ ].*)?\n)*", text, re.MULTILINE)


def completed(
    source: str,
    written: str,
    asked: set[str],
    others: dict[str, set[str]],
    headers: dict[str, str],
) -> tuple[str, str]:
    """The declarations of a module, of what is written and what follows; and the module without.

    Classes stand in the order of the module, behind what else is written but for functions.
    """
    heads, attributes = own_methods(source, others), attributes_of(source)
    blocks = {block: CLASS.search(block) for block in blocks_of(written)}
    first = [x for x in blocks if not blocks[x] and " inline " not in x]
    functions = [x for x in blocks if not blocks[x] and " inline " in x]
    bodies = {kind["name"]: block.strip() + "\n" for block, kind in blocks.items() if kind}
    used, rest, begun = asked | names_in(written), source, ""
    kinds = {kind["name"]: kind for kind in CLASS.finditer(source)}
    while new := [kinds[name] for name in kinds if name in used and name not in bodies]:
        for kind in new:
            rows = attributes[kind["name"]]
            bodies[kind["name"]] = f"{kind[0]}\n{''.join(row[0] for row in rows)}"
            for row in rows:
                rest = f"{rest[: row.start()]}{' ' * (len(row[0]) - 1)}\n{rest[row.end() :]}"
            begun += f"cdef class {kind['name']}\n" * (not kind["base"])
        used |= names_in("".join(bodies.values()))
    text = "".join(first)
    for name in (name for name in kinds if name in bodies):
        methods = "".join(heads.get(name, {}).values())
        is_empty = not methods and bodies[name].rstrip().endswith(":")
        text += f"\n{bodies[name]}{methods}{'    pass' * is_empty}\n"
    text += "".join(functions)
    called = set(re.findall(r"(?<!\.)\b(\w+)\(", written))
    text += "".join(row for name, row in heads[""].items() if name in asked | called)
    return cimports_of(source, text, called, headers) + begun + text, rest


def derive(
    modules: dict[str, str], written: dict[str, str], headers: dict[str, str]
) -> dict[str, str]:
    """Modules, and their declarations, by the names of their files.

    modules, written, headers: sources, what is written of declarations, and those that are derived
    from our headers, by names.
    """
    asked: dict[str, set[str]] = {}
    for text in [*modules.values(), *written.values()]:
        for home, *some in CIMPORT.findall(text):
            asked.setdefault(home.removeprefix("."), set()).update(names_in("".join(some)))
    others: dict[str, set[str]] = {}
    for source in modules.values():
        others |= {kind: {*methods} for kind, methods in heads_of(source).items() if kind}
    texts = {f"{name}.pyx": text for name, text in modules.items()}
    texts |= {f"{name}.pxd": text for name, text in written.items() if name not in modules}
    for name, source in modules.items():
        if name in written or name in asked:
            own, wanted = written.get(name, ""), asked.get(name, set())
            both = completed(source, own, wanted, others, headers)
            texts[f"{name}.pxd"], texts[f"{name}.pyx"] = both
    return texts


def read_with(source: Path) -> list[Path]:
    """What Cython reads of ours for a module: it, its declarations, those that these cimport."""
    found, more = set[Path](), [source]
    while more:
        if (path := more.pop()) not in found and path.exists():
            found.add(path)
            more.append(path.with_suffix(".pxd"))
            for home, *some in CIMPORT.findall(path.read_text(encoding="utf-8")):
                homes = names_in("".join(some)) if home == "." else {home.removeprefix(".")}
                more += [path.parent / f"{name.replace('.', '/')}.pxd" for name in homes]
    return sorted(found)


def write(folder: Path) -> None:
    """Write sources, and their declarations, into a folder of the build, a package to Cython."""
    sources, written, derived = (
        {path.name: path.read_text(encoding="utf-8") for path in sorted(BINDING.glob(pattern))}
        for pattern in ("*.pyx", "*.pxd", "generated/*.pxd")
    )
    modules = {Path(name).stem: text for name, text in sources.items()}
    headers = {f".generated.{Path(name).stem}": text for name, text in derived.items()}
    by_name = {Path(name).stem: text for name, text in written.items()}
    put(folder.parent, {"__init__.pxd": ""})
    put(folder, {"__init__.pxd": "", **derive(modules, by_name, headers)})
    put(folder / "generated", derived)
