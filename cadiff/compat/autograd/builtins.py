"""Built-in types and the questions about them, of numbers that carry derivatives, too.

Containers are Python's own in cadiff, so that these make nothing else.
"""

from __future__ import annotations

import builtins
from typing import Any

from .tracer import getval

__all__ = ["dict", "isinstance", "list", "tuple", "type"]


def isinstance(x: Any, kind: Any) -> bool:
    return builtins.isinstance(getval(x), kind)


class _Like(builtins.type):
    """A class that makes objects of its base, which are its instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return builtins.isinstance(instance, cls.__bases__[0])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.__bases__[0](*args, **kwargs)


class tuple(builtins.tuple, metaclass=_Like):  # type: ignore[type-arg] # noqa: N801
    """Python's."""


class list(builtins.list, metaclass=_Like):  # type: ignore[type-arg] # noqa: N801
    """Python's."""


class dict(builtins.dict, metaclass=_Like):  # type: ignore[type-arg] # noqa: N801
    """Python's."""


def type(x: Any) -> Any:
    return builtins.type(getval(x))
