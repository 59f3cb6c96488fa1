"""Names of modules that stand for others: what is below one is found below the other.

It knows nothing of what the modules hold.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Below:
    """What the import system asks for modules below a name."""

    def __init__(self, name: str, stands_for: str) -> None:
        self.name, self.stands_for = name, stands_for

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        loader: Any = self
        if not name.startswith(f"{self.name}."):
            return None
        try:
            self._found(name)
        except (ImportError, AttributeError):
            return None
        return ModuleSpec(name, loader, is_package=True)

    def _found(self, name: str) -> Any:
        """A module, or what a module has under the name, as SciPy has its distributions."""
        there = self.stands_for + name.removeprefix(self.name)
        try:
            return importlib.import_module(there)
        except ImportError:
            above, _, last = there.rpartition(".")
            return getattr(importlib.import_module(above), last)

    def create_module(self, spec: ModuleSpec) -> None:
        """The import system makes one, in the place of which the other is put."""

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = self._found(module.__name__)


def have_below(name: str, stands_for: str, is_first: bool = False) -> None:
    """Have imports below a name find what stands below another, before files if `is_first`."""
    if not any(isinstance(f, _Below) and f.name == name for f in sys.meta_path):
        sys.meta_path.insert(0 if is_first else len(sys.meta_path), _Below(name, stands_for))


def install(name: str, stands_for: str) -> None:
    """Have imports of a package, and of what is below it, find another one."""
    found = sys.modules[stands_for]
    if sys.modules.setdefault(name, found) is not found:
        raise ImportError(
            f"{name} itself is imported already: call {stands_for}.install() before anything that "
            f"imports it"
        )
    have_below(name, stands_for, is_first=True)


def names_below(name: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose modules are found below another."""

    def find(member: str) -> Any:
        if member.startswith("__"):
            raise AttributeError(member)
        try:
            return importlib.import_module(f"{name}.{member}")
        except ImportError as error:
            raise AttributeError(f"module {name!r} has no attribute {member!r}") from error

    return find
