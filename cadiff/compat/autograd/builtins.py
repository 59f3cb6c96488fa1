"""Built-in types and the questions about them, of numbers that carry derivatives, too.

Containers are Python's own in cadiff, so that these make nothing else.
"""

from __future__ import annotations

import builtins
from typing import Any

from .core import getval

__all__ = ["dict", "isinstance", "list", "tuple", "type"]

# Classes for isinstance: what is boxed by autograd is itself here.
DictBox: Any = builtins.dict
SequenceBox: Any = (builtins.list, builtins.tuple)


def isinstance(x: Any, kind: Any) -> bool:
    return builtins.isinstance(getval(x), kind)


class _Like(builtins.type):
    """A class that makes objects of its base, which are its instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return builtins.isinstance(instance, cls.__bases__[0])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.__bases__[0](*args, **kwargs)


tuple: Any = _Like("tuple", (builtins.tuple,), {})
list: Any = _Like("list", (builtins.list,), {})
dict: Any = _Like("dict", (builtins.dict,), {})


def type(x: Any) -> Any:
    return builtins.type(getval(x))
