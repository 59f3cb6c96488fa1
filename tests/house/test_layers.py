"""The order of folders in C and Cython, and no circles among files.

Contracts in pyproject.toml do the same for Python. A folder of the core, or of the binding in C,
uses those before it in the lists here. A file uses another one if it calls or names a definition
of it, whatever header declares that; a header and its source count as one. A new file needs
nothing here, a new folder needs its place.
"""

from __future__ import annotations

import graphlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "src"
BINDING = ROOT / "cadiff" / "binding"
OF_CORE = ["memory", "table", "kernels", "tape", "arrays", "sweeps", "linear"]
OF_CORE += ["graph", "loops", "program"]
OF_BINDING = ["objects", "operations", "var", "array", "dual", "module"]
STANDARD = {"assert", "float", "intrin", "limits", "math", "stdbool", "stddef", "stdint"}
STANDARD |= {"stdlib", "string"}
INCLUDED = re.compile(r'#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')

# What stands at the beginning of a line and defines a function, a table or a variable.
DEFINED = re.compile(
    r"^(?!typedef)((?:\w+[ *]+)+)(\w+)(?:\([^;{}]*\)|(?:\[[^]]*\])* =)\s*\{", re.M
)
USED = re.compile(r"\b(\w+)\(|\b(cad_\w+|Cad\w+_Type)")
CIMPORTED = re.compile(r"^\s*from \.(\w+) c?import |^\s*from \. c?import (.+)$", re.M)


def code_of(path: Path) -> str:
    """A file in C without comments, texts and declarations."""
    text = re.sub(r"/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", "", path.read_text("utf-8"), flags=re.S)
    return re.sub(r"^(?:\w+ )*extern [^;{}]*;|^(?:\w+[ *]+)+\w+\([^;{}]*\);", "", text, flags=re.M)


def unit(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def uses_in_c(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Which units each unit uses."""
    codes = {path: code_of(path) for path in paths}
    own = {path: DEFINED.findall(code) for path, code in codes.items()}
    home = {
        name: unit(path)
        for path, found in own.items()
        for words, name in found
        if path.suffix == ".h" or "static" not in words.split()
    }
    uses: dict[str, set[str]] = {unit(path): set() for path in codes}
    for path, code in codes.items():
        used = {call or table for call, table in USED.findall(code)} - {n for _, n in own[path]}
        uses[unit(path)] |= {home[name] for name in used & home.keys()} - {unit(path)}
    return uses


def uses_in_cython(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Which modules each module imports or cimports."""
    uses: dict[str, set[str]] = {}
    for path in paths:
        found = CIMPORTED.findall(path.read_text("utf-8"))
        names = {
            one or name.split()[0] for one, some in found for name in (some or one).split(",")
        }
        uses.setdefault(path.stem, set()).update(names - {path.stem})
    return uses


def wrong(uses: dict[str, set[str]], folders: list[str]) -> list[str]:
    """Uses of folders that come later, and the circle that there is."""
    rank = {folder: k for k, folder in enumerate(folders)}
    found = [
        f"{one} uses {other}"
        for one, others in uses.items()
        for other in sorted(others)
        if rank.get(one.split("/")[0], 0) < rank.get(other.split("/")[0], 0)
    ]
    try:
        graphlib.TopologicalSorter(uses).prepare()
    except graphlib.CycleError as error:
        found.append(" uses ".join(reversed(error.args[1])))
    return found


C_FILES = [path for folder in OF_CORE for path in sorted((CORE / folder).glob("*.[ch]"))]
BINDING_FILES = sorted((BINDING / "numbers").glob("*/*.[ch]"))
CYTHON_FILES = sorted(BINDING.glob("*.p[yx][xd]"))
CHECKED: dict[str, tuple[Callable[[list[Path]], dict[str, set[str]]], list[Path], list[str]]] = {
    "core": (uses_in_c, C_FILES, OF_CORE),
    "binding": (uses_in_c, BINDING_FILES, OF_BINDING),
    "cython": (uses_in_cython, CYTHON_FILES, []),
}


@pytest.mark.parametrize("part", CHECKED)
def test_folders_are_in_order_and_files_in_no_circle(part: str) -> None:
    uses_of, files, folders = CHECKED[part]
    uses = uses_of(files)
    assert sum(map(len, uses.values())) > len(files) // 2
    assert wrong(uses, folders) == []


def test_every_folder_has_its_place() -> None:
    assert {path.parent.name for path in CORE.glob("*/*.c")} == {*OF_CORE}
    assert {path.parent.name for path in BINDING_FILES} == {*OF_BINDING}


def test_the_core_includes_earlier_folders_and_no_python() -> None:
    for path in C_FILES:
        for quoted, angled in INCLUDED.findall(path.read_text()):
            assert not angled or angled.removesuffix(".h") in STANDARD, f"{path}: <{angled}>"
            folder = quoted.split("/")[0] if "/" in quoted else path.parent.name
            rank = OF_CORE.index(folder)
            assert rank <= OF_CORE.index(path.parent.name), f"{path} includes {quoted}"
        assert not re.search(r"\bPy\w*_|\bPyObject\b|\bnpy_|\bNPY_", code_of(path)), path


def test_cython_imports_nothing_above_the_binding() -> None:
    for path in CYTHON_FILES:
        assert not re.search(r"^\s*(from|import|cimport)\s+(cadiff|\.\.)", path.read_text(), re.M)


def test_a_wrong_order_is_found(tmp_path: Path) -> None:
    texts = {
        "low/a.c": "int cad_a(void) {\n    return cad_b();\n}\n",
        "low/c.h": "static inline int cad_c(void) {\n    return cad_a();\n}\n",
        "high/b.c": "int cad_c(void);\nint cad_b(void) {\n    return cad_c();\n}\n",
        "one.pyx": "from .two cimport thing\n",
        "two.pxd": "from . cimport one as first\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    later, circle = wrong(uses_in_c(sorted(tmp_path.glob("*/*"))), ["low", "high"])
    assert later == "low/a uses high/b"
    assert {*circle.split(" uses ")} == {"low/a", "low/c", "high/b"}
    [circle] = wrong(uses_in_cython(sorted(tmp_path.glob("*.p*"))), [])
    assert {*circle.split(" uses ")} == {"one", "two"}
