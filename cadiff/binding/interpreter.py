"""Refuses to be imported in a subinterpreter, before NumPy or anything compiled is.

The compiled modules, and NumPy's, keep their types and tables for a whole process: an interpreter
beside the one that imported them would share these, and the first to import them would keep them
from all others.
"""

from __future__ import annotations

from importlib import import_module

# What tells interpreters apart, in different versions of Python.
_MODULES = ("_interpreters", "_xxsubinterpreters")


def is_main() -> bool:
    """Whether this is the interpreter that its process began with; so where nothing can tell."""
    for name in _MODULES:
        try:
            interpreters = import_module(name)
        except ImportError:
            continue
        return bool(interpreters.get_current() == interpreters.get_main())
    return True


if not is_main():
    raise ImportError(
        "cadiff cannot be imported in a subinterpreter: what it is compiled to belongs to the "
        "main interpreter of a process. Call it there, or in another process (multiprocessing)"
    )
