"""Imports the compiled modules of this package, all from one file.

They share the functions of the core in C, and what it keeps (the tape of a thread, NumPy's
tables), so they are linked together, as `_core`. Each has a function of its own that makes it a
module, `PyInit_<name>`: a loader calls that of the name it is given, in the file it is given; only
the finders of `import` expect a file of that name. What the modules do is not known here.
"""

from __future__ import annotations

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import cadiff.binding._core as _core  # which says, where it is missing, that it is this one

# Modules in C import these two; freezers follow import lines of Python alone.
from . import digests as digests
from . import held as held

# From below: each knows only those before it.
MODULES = (
    "complexes",
    "complex_arithmetic",
    "trees",
    "tape",
    "atoms",
    "guards",
    "forward",
    "arguments",
    "rules",
    "recording",
    "recorded_sweeps",
    "gradients",
    "jacobians",
    "borrowed",
    "crew",
    "codes",
    "turns",
    "lane_turns",
    "graph_numbers",
    "graphs",
    "sparse",
    "entries",
    "signatures",
    "watches",
    "observers",
    "results",
    "calls",
    "fast_paths",
    "functions",
    "factors",
    "nan_check",
)


def load(name: str) -> None:
    """Import a module of this package that stands in the file of `_core`."""
    package = sys.modules[__package__]
    full_name = f"{__package__}.{name}"
    loader = ExtensionFileLoader(full_name, _core.__file__ or "")
    spec = spec_from_file_location(full_name, _core.__file__, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[full_name] = module  # before it runs: it may look itself up
    loader.exec_module(module)
    _offer(module)
    setattr(package, name, module)


def _offer(module: ModuleType) -> None:
    """Have a module offer its own names by `import *`: what it has of others is theirs."""
    names = vars(module)
    names["__all__"] = [name for name, item in names.items() if _is_of(module, name, item)]


def _is_of(module: ModuleType, name: str, item: object) -> bool:
    if name.startswith("_") or isinstance(item, ModuleType):
        return False
    home = getattr(item, "__module__", module.__name__)  # constants have none
    return home == module.__name__ or (home == "cadiff" and isinstance(item, type))


_offer(_core)
load("_shared")  # what Cython adds to modules: see building/extension.py
for _name in MODULES:
    load(_name)
