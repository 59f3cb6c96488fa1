"""Finds functions that count their calls, without recording them.

A recording of such a function would not serve a second call. Here a function counts if it adds a
constant to something it keeps, before any branch, keeps nothing else, and calls nothing that
keeps anything, but for libraries. The first recording finds all other functions that count.
"""

from __future__ import annotations

import inspect
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..binding import MISSING
from ..binding.callers import is_class_of_library, is_of_library
from .named import begun
from .reads import Operand, reads_of

_OWN = __name__.partition(".")[0] + "."
_FIRST = Operand("first", ())
_PLAIN: tuple[Any, ...] = (
    *(bool, int, float, complex, str, bytes, type(None), np.ndarray, ModuleType),
)


def counter_of(f: Any) -> str:
    """What f adds a constant to in each call, by name; "" if it may do something else, too."""
    if type(f) is FunctionType and hasattr(f, "__wrapped__"):
        f = _unwrapped(f)
    if type(f) not in (FunctionType, MethodType):
        return ""
    counted = reads_of(f.__code__).counted if isinstance(f.__code__, CodeType) else ""
    if not counted:
        return ""
    function, owner = _taken_apart(f)
    if function is None or not _keeps_nothing(function, owner, set()):
        return ""
    return counted if owner is None else f"{type(owner).__name__}.{counted}"


def keeps_nothing(f: Any, args: tuple[Any, ...] = ()) -> bool:
    """Whether f certainly keeps nothing that it is given or computes, but for counts.

    `args` are what it takes besides.
    """
    function, owner = _taken_apart(_unwrapped(f))
    if function is None:
        return False
    kept = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *args)
    seen: set[int] = set()
    return all(_is_harmless(part, (), seen) for part in kept) and (
        _keeps_nothing(function, owner, seen)
    )


def _unwrapped(f: Any) -> Any:
    """What is behind wrappers of this package."""
    while type(f) is FunctionType and hasattr(f, "__wrapped__") and _is_own(f):
        f = f.__wrapped__
    return f


def _taken_apart(f: Any) -> tuple[FunctionType | None, Any]:
    """A function, and what it is a method of."""
    function, owner = (f.__func__, f.__self__) if type(f) is MethodType else (f, None)
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
    if owner is not None and _FIRST in reads.handed:
        return False
    for operand in reads.chains:
        if operand.where != "first" or (operand.chain and owner is not None):
            value, rest = begun(function, owner, operand)
            if value is MISSING or not _is_harmless(value, rest, seen):
                return False
    return True


def _is_harmless(value: Any, chain: Any, seen: set[int]) -> bool:
    """Whether the attribute of a value that a chain names keeps no argument, if it is called."""
    for name in chain:
        if type(value) in _PLAIN and type(value) is not ModuleType:
            return True
        owner, value = value, inspect.getattr_static(value, name, MISSING)
        if isinstance(value, property):
            return type(value.fget) is FunctionType and _keeps_nothing(value.fget, owner, seen)
        if type(value) is FunctionType and not isinstance(owner, (ModuleType, type)):
            return _keeps_nothing(value, owner, seen)
    if type(value) is FunctionType:
        return _keeps_nothing(value, None, seen)
    if isinstance(value, type):
        return is_class_of_library(value)
    if isinstance(value, BuiltinFunctionType):  # the method of an object may keep what it is given
        return value.__self__ is None or isinstance(value.__self__, ModuleType)
    return type(value) in _PLAIN or isinstance(value, (np.generic, np.ufunc, type(np.sum)))
