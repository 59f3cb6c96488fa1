"""Declarations by which modules in Cython call each other: each build derives them from heads.

A module has a `.pxd` for the attributes of its classes, and for what is in line. What others see
of its functions follows from their heads: those of methods of such classes, and of functions that
another module cimports. So has a class without attributes that another one cimports. Sources and
declarations stand side by side in a folder of the build, where Cython reads them.
"""

from __future__ import annotations

import re
from pathlib import Path

from .declarations import BINDING, put

__all__ = ["derive", "write"]

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


def completed(
    source: str,
    written: str,
    asked: set[str],
    others: dict[str, set[str]],
    headers: dict[str, str],
) -> str:
    """The declarations of a module: what is written, and what follows from its source."""
    heads = own_methods(source, others)
    known = {found["name"] for found in CLASS.finditer(written)}
    used = asked | names_in(written)
    added = [x for x in CLASS.finditer(source) if x["name"] in used and x["name"] not in known]
    text = written
    for found in CLASS.finditer(written):
        head, body, rest = re.split(rf"({re.escape(found[0])}(?:\n|[ ].*\n)+)", text, maxsplit=1)
        methods = "".join(heads.get(found["name"], {}).values())
        text = f"{head}{body.rstrip()}\n{methods}\n{rest}"
    for found in added:
        methods = "".join(heads.get(found["name"], {}).values())
        text += f"\n{found[0]}\n{methods or '    pass'}\n"
    called = set(re.findall(r"(?<!\.)\b(\w+)\(", written))
    text += "".join(row for name, row in heads[""].items() if name in asked | called)
    begun = "".join(f"cdef class {found['name']}\n" for found in added if not found["base"])
    return cimports_of(source, text, called, headers) + begun + text


def derive(
    modules: dict[str, str], written: dict[str, str], headers: dict[str, str]
) -> dict[str, str]:
    """The declarations of modules, by the names of their files.

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
    texts = {f"{name}.pxd": text for name, text in written.items() if name not in modules}
    for name, source in modules.items():
        if name in written or name in asked:
            own, wanted = written.get(name, ""), asked.get(name, set())
            texts[f"{name}.pxd"] = completed(source, own, wanted, others, headers)
    return texts


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
    put(folder, {"__init__.pxd": "", **sources, **derive(modules, by_name, headers)})
    put(folder / "generated", derived)
