"""What names in the code of a function stand for, as far as that is known without running any.

It tells whether a question of identity, such as `a is b`, may be about an argument.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..binding import MISSING, Dual, Var, are_opened, opened
from ..operations.replayed import Replayed
from .library_types import DESCRIPTORS, is_of_python
from .reads import Chain, Identity, Operand

_NUMBERS = (int, float, complex, np.generic, np.ndarray)


def begun(function: FunctionType, owner: Any, operand: Operand) -> tuple[Any, Chain]:
    """What the first name of a chain in a function stands for, and the attributes behind it.

    MISSING if that is not known. `owner` is the first argument, or None.
    """
    where, chain = operand
    if where == "first":
        return MISSING if owner is None else owner, chain
    value = MISSING
    if where == "globals":
        value = function.__globals__.get(chain[0], getattr(builtins, chain[0], MISSING))
    elif where == "cells":
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
        with contextlib.suppress(KeyError, ValueError):  # of a function within; or it is empty
            value = cells[chain[0]].cell_contents
    return value, chain[1:]


def static(value: Any, name: str) -> Any:
    """An attribute, without running code of the user's."""
    found = inspect.getattr_static(value, name, MISSING)
    return getattr(value, name, MISSING) if type(found) in DESCRIPTORS else found


def needs_arguments(
    identity: Identity, function: FunctionType, owner: Any, kind: type | None
) -> bool:
    """Whether the identity of an argument may matter, which a stand-in does not have."""
    named = [one for one in identity.operands if one is not None]
    if kind is not None and not are_opened(kind):
        if Operand("first", ()) in named:  # an object that has no stand-in
            return False
    elif owner is None:
        named = [one for one in named if one.where != "first"]
    if len(named) == len(identity.operands):  # none of them is an argument
        return False
    return not any(_is_mark(_named(function, owner, one)) for one in named)


def may_be_of_numbers(named: Operand | None, function: FunctionType, owner: Any) -> bool:
    """Whether the type of a number may be what has a name in a function, or that of a stand-in.

    Classes that Python code defines are of neither, if they are not derived from such.
    """
    kind: Any = MISSING if named is None else _named(function, owner, named)
    if not issubclass(type(kind), type) or not is_of_python(kind):
        return True
    return issubclass(kind, (Var, Dual, Replayed, *_NUMBERS))


def _named(function: FunctionType, owner: Any, operand: Operand) -> Any:
    """What a name in a function stands for, and attributes of it; MISSING if that is not known."""
    value, chain = begun(function, owner, operand)
    for name in chain:
        is_plain = type(value) is not ModuleType
        value = static(value, name) if is_plain else getattr(value, name, MISSING)
        if issubclass(type(value), (property, functools.cached_property)):
            return MISSING
    return value


def _is_mark(value: Any) -> bool:
    """Whether it would be itself as an argument: a recording tells it from all else, as f does."""
    kind = type(value)
    if value is MISSING or issubclass(kind, (Var, Dual)):
        return False
    if value is None or issubclass(kind, (bool, str, bytes, type)):
        return True
    is_number = issubclass(kind, _NUMBERS)
    is_told_by_contents = issubclass(kind, (set, frozenset, slice, range))
    return not is_number and not is_told_by_contents and opened(value) is None
