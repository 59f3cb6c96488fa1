"""Modules that stand for others: whole packages, and modules of names that other ones have.

It knows nothing of what the modules hold.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import partial
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


def have_below(name: str, stands_for: str) -> None:
    """Have imports below a name find what stands below another, and no file."""

    def stand(module: ModuleType, there: str) -> None:
        sys.modules[module.__name__] = _found(there)

    foreign.have_below(name, stands_for, stand, _found, is_first=True)


class _Absent:
    """What the import system asks last for modules below one, which are not there."""

    def __init__(self, below: str, library: str, advice: Callable[[str], str]) -> None:
        self.below, self.library, self.advice = f"{below}.", library, advice

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        absent = name.removeprefix(self.below)
        is_import = sys._getframe(2).f_code.co_name == "_find_and_load_unlocked"
        if is_import and absent != name:  # `importlib.util.find_spec` is answered None
            raise ModuleNotFoundError(self.advice(absent), name=f"{self.library}.{absent}")


def refuse_below(name: str, library: str, advice: Callable[[str], str]) -> None:
    """Have imports of absent modules say what to write, under this name and the library's."""
    for module in [m for k, m in sys.modules.items() if k.startswith(name)]:
        vars(module).setdefault("__path__", [])  # so that imports look below it
    sys.meta_path += [_Absent(below, library, advice) for below in (name, library)]


def have_modules(above: str, modules: Mapping[str, Mapping[str, Any]]) -> None:
    """Give a module others below it, of their names."""
    home = sys.modules[above]
    vars(home).setdefault("__path__", [])  # so that imports look below it
    for name, members in modules.items():
        module = sys.modules[f"{above}.{name}"] = ModuleType(f"{above}.{name}")
        vars(module).update(members)
        setattr(sys.modules[module.__name__.rpartition(".")[0]], name.rpartition(".")[2], module)


def named(names: str, home: Any) -> dict[str, Any]:
    """What a module has, by names in one text: `name`, or `name=its`."""
    pairs = (name.partition("=") for name in names.split())
    return {name: getattr(home, its or name) for name, _, its in pairs}


def have_names(home: Any, above: str, modules: Mapping[str, str]) -> None:
    """Give a module others below it, of names that another one has: all in one text for each."""
    have_modules(above, {module: named(names, home) for module, names in modules.items()})


def stand_for(name: str, library: str, modules: Mapping[str, Mapping[str, Any]]) -> None:
    """Have a module, and all below it, have a library's names, but for those of their own.

    modules: names of their own of those below it.
    """
    found, own = importlib.import_module(library), vars(sys.modules[name])
    own.update({k: x for k, x in vars(found).items() if k[0] != "_" and k not in own})
    own["__getattr__"] = partial(getattr, found)
    below = {m: {"__getattr__": partial(getattr, _found(f"{library}.{m}"))} for m in modules}
    have_modules(name, {m: below[m] | dict(members) for m, members in modules.items()})
    have_below(name, library)


def install(name: str, stands_for: str) -> None:
    """Have imports of a package, and of what is below it, find another one."""
    found = sys.modules[stands_for]
    if sys.modules.setdefault(name, found) is not found:
        raise ImportError(
            f"{name} itself is imported already: call {stands_for}.install() before anything that "
            f"imports it"
        )
    have_below(name, stands_for)
