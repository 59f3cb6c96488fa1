"""Functions that count their calls, which is found without recording them.

No recording of theirs would serve a second call. Only what is certain counts as counting here: an
addition of a constant before any branch, in a function that keeps nothing else and runs, beside
libraries, only functions that keep nothing. Of all others the first recording finds it.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..binding.callers import is_class_of_library, is_of_library
from .bytecode import ADDITIONS, ATTRIBUTES, CONSTANTS, SHUFFLES, Step, steps_of
from .reads import reads_of

__all__ = ["counter_of", "keeps_nothing"]

_MISSING = object()
_OWN = __name__.partition(".")[0] + "."
_BRANCHES = ("JUMP", "FOR_ITER", "RETURN", "YIELD", "SEND", "RAISE")
_PLAIN: tuple[Any, ...] = (
    *(bool, int, float, complex, str, bytes, type(None), np.ndarray, ModuleType),
)


def counter_of(f: Any) -> str:
    """What f adds a constant to in each call, by name; "" if it may do something else, too."""
    function, owner = _taken_apart(f)
    if function is None:
        return ""
    counted = _counted_in(function.__code__)
    if not counted or not _keeps_nothing(function, owner, set()):
        return ""
    return counted if owner is _MISSING else f"{type(owner).__name__}.{counted}"


def keeps_nothing(f: Any, args: tuple[Any, ...] = ()) -> bool:
    """Whether f certainly keeps nothing that it is given or computes, but for counts.

    `args` are what it takes besides.
    """
    function, owner = _taken_apart(f)
    if function is None:
        return False
    given = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *args)
    seen: set[int] = set()
    return all(_is_harmless(part, (), seen) for part in given) and (
        _keeps_nothing(function, owner, seen)
    )


def _taken_apart(f: Any) -> tuple[FunctionType | None, Any]:
    """A function behind wrappers of this package, and what it is a method of."""
    while type(f) is FunctionType and hasattr(f, "__wrapped__") and _is_own(f):
        f = f.__wrapped__
    function, owner = (f.__func__, f.__self__) if type(f) is MethodType else (f, _MISSING)
    return (function, owner) if type(function) is FunctionType else (None, owner)


def _is_own(function: FunctionType) -> bool:
    return str(function.__globals__.get("__name__")).startswith(_OWN)


def _keeps_nothing(function: FunctionType, owner: Any, seen: set[int]) -> bool:
    """Whether a function, called with an owner if it is a method, keeps nothing it computes."""
    code = function.__code__
    if id(code) in seen or is_of_library(code.co_filename):
        return True
    seen.add(id(code))
    reads = reads_of(code)
    if reads.may_keep or reads.imports:
        return False
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    for name, *rest in reads.globals:
        value = function.__globals__.get(name, getattr(builtins, name, _MISSING))
        if not _is_harmless(value, rest, seen):
            return False
    for name, *rest in reads.cells:
        try:
            value = cells[name].cell_contents
        except (KeyError, ValueError):  # of a function within, or not assigned yet
            return False
        if not _is_harmless(value, rest, seen):
            return False
    if owner is _MISSING:
        return True
    return all(_asks_attributes(code, first) for first in code.co_varnames[:1]) and all(
        _is_harmless(owner, chain, seen) for chain in reads.first if chain
    )


def _is_harmless(value: Any, chain: Any, seen: set[int]) -> bool:
    """Whether what is read of a value, and may be called, keeps nothing that it is given."""
    for name in chain:
        if type(value) in _PLAIN and type(value) is not ModuleType:
            return True
        owner, value = value, inspect.getattr_static(value, name, _MISSING)
        if isinstance(value, property):
            return type(value.fget) is FunctionType and _keeps_nothing(value.fget, owner, seen)
        if type(value) is FunctionType and not isinstance(owner, (ModuleType, type)):
            return _keeps_nothing(value, owner, seen)
    if type(value) is FunctionType:
        return _keeps_nothing(value, _MISSING, seen)
    if isinstance(value, type):
        return is_class_of_library(value)
    if isinstance(value, BuiltinFunctionType):  # the method of an object may keep what it is given
        return value.__self__ is None or isinstance(value.__self__, ModuleType)
    return type(value) in _PLAIN or isinstance(value, (np.generic, np.ufunc, type(np.sum)))


def _unshuffled(code: CodeType) -> list[Step]:
    return [step for step in steps_of(code) if step.name not in SHUFFLES]


@functools.lru_cache(maxsize=1024)
def _asks_attributes(code: CodeType, name: str) -> bool:
    """Whether nothing is done with a variable but to ask for attributes."""
    steps = _unshuffled(code)
    # What functions within this one read, too, is a cell, which is handed to these by LOAD_FAST.
    kind = "LOAD_DEREF" if name in code.co_cellvars + code.co_freevars else "LOAD_FAST"
    for step, following in itertools.pairwise(steps):
        is_loaded = step.argument == name and step.name.startswith(kind)
        if is_loaded and following.name not in (*ATTRIBUTES, "STORE_ATTR"):
            return False
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return all(_asks_attributes(part, name) for part in inner if name in part.co_freevars)


@functools.lru_cache(maxsize=1024)
def _counted_in(code: CodeType) -> str:
    """What some code adds a constant to whatever happens, of what is not its own."""
    first = code.co_varnames[0] if code.co_argcount else None
    steps = _unshuffled(code)
    for k, (kind, name, *_) in enumerate(steps):
        if any(word in kind for word in _BRANCHES):
            break
        if k < 3 or steps[k - 1].name not in ADDITIONS or steps[k - 2].name not in CONSTANTS:
            continue
        loaded = steps[k - 3]
        if loaded.argument != name:
            continue
        if kind == "STORE_ATTR" and loaded.name in ATTRIBUTES and k > 3:
            if steps[k - 4].argument == first:
                return str(name)
        elif kind == "STORE_GLOBAL" or (kind == "STORE_DEREF" and name in code.co_freevars):
            return str(name)
    return ""
