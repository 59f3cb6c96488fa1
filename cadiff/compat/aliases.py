"""Modules that stand for others: names of submodules, and the same names in several modules.

It knows nothing of what the modules hold.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from ..operations import foreign


def _found(name: str) -> Any:
    """A module, or what a module has under the name, as SciPy has its distributions; or None."""
    above, _, last = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ImportError:
        return getattr(importlib.import_module(above), last, None) if above else None


def have_below(name: str, stands_for: str, is_first: bool = False) -> None:
    """Have imports below a name find what stands below another, before files if `is_first`."""

    def stand(module: ModuleType, there: str) -> None:
        sys.modules[module.__name__] = _found(there)

    foreign.have_below(name, stands_for, stand, _found, is_first)


def have_modules(above: Any, modules: Mapping[str, Mapping[str, Any]]) -> None:
    """Give a package modules, of their names."""
    vars(above).setdefault("__path__", [])  # so that imports look below it
    for name, members in modules.items():
        module = sys.modules[f"{above.__name__}.{name}"] = ModuleType(f"{above.__name__}.{name}")
        vars(module).update(members)
        setattr(above, name, module)


def have_names(home: Any, above: Any, modules: Mapping[str, str]) -> None:
    """Give a package modules of names that another module has, all of them in one text each."""
    found = {
        m: {each: getattr(home, each) for each in names.split()} for m, names in modules.items()
    }
    have_modules(above, found)


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
