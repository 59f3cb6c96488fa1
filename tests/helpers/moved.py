"""Packages and programs loaded a second time, with their import lines led elsewhere.

That is what a user does who moves a program to cadiff: `import autograd.numpy` becomes `import
cadiff.numpy`, and nothing else changes. Packages so moved stand beside the originals, below
`moved.`; what they have compiled is the originals'.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType

Moves = Mapping[str, str]  # where imports of a module, and of all below it, lead


def led(name: str, moves: Moves) -> str:
    """Where the import of a module leads, by the longest of the names below which it stands."""
    for n in range(len(name), 0, -1):
        if f"{name}."[n] == "." and name[:n] in moves:
            return moves[name[:n]] + name[n:]
    return name


class Imports(ast.NodeTransformer):
    """Leads the import lines of a source elsewhere."""

    def __init__(self, moves: Moves) -> None:
        self.moves = moves

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.module and not node.level:
            node.module = led(node.module, self.moves)
        return node

    def visit_Import(self, node: ast.Import) -> list[ast.AST]:
        found = []
        for alias in node.names:
            found.append(ast.Import([ast.alias(led(alias.name, self.moves), alias.asname)]))
            top = alias.name.partition(".")[0]
            if not alias.asname and led(top, self.moves) != top:  # `import scipy.signal`
                found.append(ast.Import([ast.alias(led(top, self.moves), top)]))
        return [ast.fix_missing_locations(ast.copy_location(line, node)) for line in found]


def code_of(path: Path, moves: Moves) -> CodeType:
    tree = Imports(moves).visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    code: CodeType = compile(tree, str(path), "exec")
    return code


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules below `moved.` where the originals are, and loads them."""

    def __init__(self, moves: Moves) -> None:
        self.moves = moves

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        original = name.removeprefix("moved.")
        spec = importlib.util.find_spec(original) if name != original else None
        if spec is None or self.moves.get(original.partition(".")[0]) is None:
            return None
        found = importlib.machinery.ModuleSpec(name, self, origin=spec.origin)
        found.submodule_search_locations = spec.submodule_search_locations
        found.has_location, found.loader_state = True, spec
        return found

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        original = spec.loader_state
        is_compiled = not original.origin.endswith(".py")
        return importlib.import_module(original.name) if is_compiled else None

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None and spec.origin is not None
        if spec.origin.endswith(".py"):
            exec(code_of(Path(spec.origin), self.moves), vars(module))
        else:
            module.__spec__ = spec.loader_state


def move_package(name: str, moves: Moves) -> None:
    """Have a package below `moved.`, with its import lines led elsewhere."""
    top = sys.modules.setdefault("moved", ModuleType("moved"))
    top.__path__ = []
    # Before what would find the originals by the paths of packages.
    sys.meta_path.insert(0, Finder({**moves, name: f"moved.{name}"}))


def program(path: Path, moves: Moves) -> ModuleType:
    """A program of one file."""
    module = ModuleType(path.stem)
    exec(code_of(path, moves), vars(module))
    return module
