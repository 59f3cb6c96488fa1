"""The sources of the package, of its core in C, and who uses whom among them.

For the rules of the house, which stand in files of one subject each beside this one.
"""

from __future__ import annotations

import ast
import graphlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "cadiff"
SOURCES = ROOT / "src"


def load(name: str, path: Path) -> ModuleType:
    """A file of the repository that is not part of the package."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


generate = load("generate_for_architecture", SOURCES / "table" / "generate.py")
declarations = load("declarations_of_headers", ROOT / "building" / "declarations.py")


def stem_of(path: Path) -> str:
    return path.stem


def module_of(path: Path) -> str:
    """The name of a file of the package, without the package's own."""
    *above, name = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(above if name == "__init__" and above else [*above, name])


# Hooks, whose names are none of modules, run where they are asked for.
MODULES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py")) if "-" not in path.stem}
COMPILED = {module_of(path): path for path in sorted(PACKAGE.rglob("*.pyx"))}


def named_imports(tree: ast.AST, package: str = "cadiff") -> set[str]:
    """All that a file imports, by its full name; `package` is where the file stands."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def module_called(name: str) -> str | None:
    """The module of the package that a full name leads to; None outside of the package."""
    package, *rest = name.split(".")
    known = {*MODULES, *COMPILED}
    while rest and ".".join(rest) not in known:
        rest.pop()
    return (".".join(rest) or "__init__") if package == "cadiff" else None


def imports_of(path: Path, package: str = "cadiff") -> set[str]:
    """The modules of the package that a file imports, anywhere in it; `__init__` for itself."""
    names = named_imports(ast.parse(path.read_text(encoding="utf-8")), package)
    return {module for name in names if (module := module_called(name)) is not None}


def fetches_of(path: Path) -> set[str]:
    """The modules that a file imports by `importlib.import_module`."""
    found = re.findall(r"import_module\(\s*\"([\w.]+)\"", path.read_text(encoding="utf-8"))
    return {module for name in found if (module := module_called(name)) is not None}


def package_of(name: str) -> str:
    """The package that a module stands in."""
    path = MODULES[name].parent
    return ".".join(path.relative_to(ROOT).parts)


def private_names(path: Path, package: str = "cadiff") -> set[str]:
    """The names with an underscore that a file takes out of modules of the package."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = {name for name in named_imports(tree, package) if name.startswith("cadiff.")}
    modules = {f"cadiff.{module}" for module in {*MODULES, *COMPILED}}
    ends = {name: name.split(".")[-1] for name in named - modules}
    return {name for name, end in ends.items() if end.startswith("_") and not end.endswith("__")}


def at_import(tree: ast.Module) -> ast.Module:
    """A module without what its functions do when they are called: that is their own affair."""

    class Forget(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

    return ast.fix_missing_locations(Forget().visit(tree))


def place_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def includes_of(path: Path, form: str) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^\s*#\s*include\s*{form}", text, re.MULTILINE)


BINDING = PACKAGE / "binding" / "numbers"


def guard_of(prefix: str, path: Path) -> str:
    """The name that a header is guarded by: its folder, and itself if it is called otherwise."""
    folder, name = path.parent.name.upper(), path.stem.upper()
    return f"{prefix}_{folder}_H" if folder == name else f"{prefix}_{folder}_{name}_H"


# A function, a table or a variable where it is defined, a function where it is only declared.
C_DEFINITION = re.compile(
    r"^((?:\w+[ *]+)+)(\w+)(?:\([^;{}]*\)|(?:\[[^]]*\])* =)\s*\{", re.MULTILINE
)
C_VARIABLE = re.compile(
    r"^((?:\w+[ *]+)+)(?:\(\*)?(\w+)(?:\)\([^;{}]*\))?(?:\[[^]]*\])*(?: = [^;{]*)?;", re.MULTILINE
)
C_DECLARATION = re.compile(
    r"^(?:\w+ )*extern [^;{}]*;|^(?:\w+[ *]+)+\w+\([^;{}]*\);", re.MULTILINE
)


def code_of(path: Path) -> str:
    """A file in C without comments, texts and mere declarations."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return C_DECLARATION.sub("", re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text))


def definitions_of(path: Path) -> tuple[set[str], set[str]]:
    """The functions, tables and variables that a file defines for others, and those for itself
    alone: what is static, unless it stands in a header."""
    code = code_of(path)
    found = [
        (words, name)
        for words, name in C_DEFINITION.findall(code) + C_VARIABLE.findall(code)
        if "typedef" not in words.split()
    ]
    own = {name for words, name in found if path.suffix == ".c" and "static" in words.split()}
    return {name for _, name in found} - own, own


def calls_between(paths: Iterable[Path]) -> dict[str, dict[str, set[str]]]:
    """Which functions and tables of other files a file uses, by the names of both without their
    endings: a header and the source called after it are one. A function counts for where it is
    defined, whatever header declares it."""
    paths = list(paths)
    defined: dict[str, str] = {}
    for path in paths:
        defined |= dict.fromkeys(definitions_of(path)[0], place_of(path))
    calls: dict[str, dict[str, set[str]]] = {place_of(path): {} for path in paths}
    for path in paths:
        used = re.findall(r"\b(\w+)\(|\b(cad_\w+|Cad\w+_Type)", code_of(path))
        for name in {call or table for call, table in used} - definitions_of(path)[1]:
            if defined.get(name, place_of(path)) != place_of(path):
                calls[place_of(path)].setdefault(defined[name], set()).add(name)
    return calls


def circle_in(calls: dict[str, dict[str, set[str]]]) -> list[str]:
    """Some files each of which uses the next one, the last one the first; none if there is no
    circle. The first file is named at the end once more."""
    try:
        graphlib.TopologicalSorter(calls).prepare()
    except graphlib.CycleError as error:
        return list(reversed(error.args[1]))
    return []
