"""What objects consist of, where functions of solvers look for numbers and keep them.

Objects of the user's are opened, and those of SciPy's that are made of numbers; all others are
what they are.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections import deque
from types import CellType, CodeType, FunctionType, MemberDescriptorType
from typing import Any

import numpy as np

from ..binding import Dual, Var, callers
from ._base import Transform
from ._checkpoints import is_set

# Objects of these have numbers in them, though they belong to libraries, whose objects are left as
# they are otherwise.
OPENED: list[type] = [Transform]
MIRRORS = ("cadiff.scipy.",)  # packages whose objects are made of numbers with derivatives
_LIBRARIES = {*sys.stdlib_module_names, "numpy", "scipy", "pandas", "matplotlib", "cadiff"}
MEMORY = (list, dict, set, bytearray, deque)  # in which functions keep what they have found
ARRAYS = (np.ndarray, Var, Dual)
LEAVES = (type(None), bool, int, float, complex, str, bytes, np.generic, type)


def has_parts(item: Any) -> bool:
    """Whether an object has attributes of its own, where numbers may be."""
    kind: Any = type(item)
    if is_users(kind) or isinstance(item, tuple(OPENED)):
        return isinstance(getattr(item, "__dict__", {}), dict)
    return is_mirrored(kind)


def is_mirrored(kind: type) -> bool:
    """Whether objects of a class are made of numbers, and do not stand for a call of a solver."""
    if not str(kind.__module__).startswith(MIRRORS) or issubclass(kind, _OF_C):
        return False
    return not (getattr(kind, "is_of_a_call", False) or getattr(kind, "is_constant", False))


_OF_C: tuple[Any, ...] = (
    *LEAVES,
    *MEMORY,
    tuple,
    frozenset,
    np.ndarray,
    BaseException,
    type,
    CodeType,
)


@functools.lru_cache(maxsize=1024)
def is_users(kind: Any) -> bool:
    """Whether a class is made by a statement of Python's, and of no library that is known."""
    package = str(kind.__module__).split(".")[0]
    is_made = kind.__flags__ & _ON_HEAP and not issubclass(kind, _OF_C)
    return bool(is_made) and package not in _LIBRARIES and not package.startswith("_cython")


_ON_HEAP = 1 << 9  # of the flags of a type


def attributes(item: Any) -> dict[str, Any]:
    """All that an object has, in a dict or in slots."""
    values = dict(getattr(item, "__dict__", {}))
    kind: Any = type(item)
    for name in slots_of(kind):
        if hasattr(item, name):
            values[name] = getattr(item, name)
    return values


@functools.lru_cache(maxsize=1024)
def slots_of(kind: Any) -> tuple[str, ...]:
    members = [(name, each) for base in kind.__mro__ for name, each in vars(base).items()]
    return tuple(name for name, each in members if isinstance(each, MemberDescriptorType))


@functools.lru_cache(maxsize=1024)
def written_by_code(code: CodeType) -> frozenset[str]:
    """Names in lines of a user's code that assign to variables of others, or to elements."""
    if callers.is_of_library(code.co_filename):
        return frozenset()
    starts, line = dict(dis.findlinestarts(code)), None
    names: dict[Any, set[str]] = {}
    sets = [written_by_code(c) for c in code.co_consts if isinstance(c, CodeType)]
    for step in dis.get_instructions(code):
        line = starts.get(step.offset, line)
        if isinstance(step.argval, str):
            names.setdefault(line, set()).add(step.argval)
        if step.opname in ("STORE_DEREF", "STORE_GLOBAL", "STORE_SUBSCR", "STORE_SLICE"):
            sets.append(frozenset(names.get(line, ())))
    return frozenset[str]().union(*sets)


@functools.lru_cache(maxsize=1024)
def written_by_methods(kind: Any) -> frozenset[str]:
    """The same names in the methods of a class."""
    parts = [part for base in kind.__mro__ for part in vars(base).values()]
    methods = (written_by_code(part.__code__) for part in parts if isinstance(part, FunctionType))
    return frozenset[str]().union(*methods)


def stored(place: Any) -> dict[Any, Any]:
    """What stands in an object now; of a function, in the global variables that it assigns to."""
    if isinstance(place, (list, deque)):
        return dict(enumerate(place))
    if isinstance(place, dict):
        return dict(place)
    if isinstance(place, CellType):
        return {"cell_contents": place.cell_contents} if is_set(place) else {}
    if isinstance(place, FunctionType):
        there = place.__globals__
        return {name: there[name] for name in written_by_code(place.__code__) if name in there}
    if isinstance(place, ARRAYS):
        return {...: place.copy()}
    return {} if isinstance(place, MEMORY) else attributes(place)


def store(place: Any, parts: dict[Any, Any]) -> None:
    """Let an object have this, and nothing else of this kind."""
    if isinstance(place, (list, deque)):
        place.clear()
        place.extend(parts.values())
    elif isinstance(place, (dict, FunctionType)):
        there = place if isinstance(place, dict) else place.__globals__
        for key in stored(place).keys() - parts.keys():
            del there[key]
        there.update(parts)
    elif isinstance(place, ARRAYS):
        place[...] = parts[...]
    else:
        for name, part in parts.items():
            object.__setattr__(place, name, part)
