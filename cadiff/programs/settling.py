"""Settles what f has kept of a recording: numbers with derivatives become plain ones.

A list to which f appends has to hold what a plain call would put there. Arrays of objects, which
NumPy makes of numbers with derivatives, become arrays of floats.
"""

from __future__ import annotations

from collections import deque
from types import FunctionType
from typing import Any

import numpy as np

from .. import binding
from ..binding import Dual, Var
from ..binding.callers import is_class_of_library
from ..operations.replayed import Replayed


def settled(value: Any) -> Any:
    """The same with plain numbers: containers and objects are changed in place."""
    return _settled(value, {})


def _settled(value: Any, seen: dict[int, Any]) -> Any:
    kind = type(value)
    if issubclass(kind, (Var, Dual)):
        return binding.plain_values(value)
    if issubclass(kind, Replayed):
        return value._plain
    if id(value) in seen:
        return value
    seen[id(value)] = value
    if issubclass(kind, tuple):
        former = binding.own_items(value)
        items = [_settled(item, seen) for item in former]
        if all(one is other for one, other in zip(items, former, strict=True)):
            return value
        return kind._make(items) if hasattr(kind, "_make") else tuple(items)
    if type(value) is np.ndarray and value.dtype == object:
        plain_items = [_settled(item, seen) for item in value.flat]
        if all(one is other for one, other in zip(plain_items, value.flat, strict=True)):
            return value
        return np.array(plain_items).reshape(value.shape)
    if issubclass(kind, (list, dict, deque)):
        owner: Any = next(base for base in (list, dict, deque) if issubclass(kind, base))
        pairs = dict.items(value) if owner is dict else enumerate(binding.own_items(value))
        for key, item in list(pairs):
            plain = _settled(item, seen)
            if plain is not item:  # a class may have a method of its own, which does more
                owner.__setitem__(value, key, plain)
    elif not (is_class_of_library(kind) or issubclass(kind, (type, FunctionType))):
        _settled(binding.own_attribute(value, "__dict__"), seen)
    return value
