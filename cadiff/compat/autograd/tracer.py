"""What tells numbers that carry derivatives, and what takes the derivatives off."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import cadiff

from . import trees
from .core import primitive as primitive
from .wrap_util import wraps

isbox = trees.is_box


class _Boxes(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return trees.is_box(instance)


class Box(metaclass=_Boxes):
    """Of which numbers and arrays that carry derivatives are instances."""

    @classmethod
    def register(cls, value_type: type) -> None:
        """Autograd has boxes for further types; cadiff has containers."""
        raise TypeError(
            f"cadiff differentiates by numbers and containers of them: tell it what is in a "
            f"{value_type.__name__} by cadiff.register_container"
        )


def getval(x: Any) -> Any:
    """The plain number or array that a box holds; anything else as it is."""
    return cadiff.value(x) if trees.is_box(x) else x


def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is given plain numbers, so that nothing depends on it."""

    @wraps(f_raw)
    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*map(getval, args), **kwargs)

    return f_wrapped


notrace_primitives: defaultdict[Any, set[Any]] = defaultdict(set)


def register_notrace(trace_type: Any, primitive_fun: Any) -> None:
    """Keep what autograd keeps; a primitive without rules is refused all the same."""
    notrace_primitives[trace_type].add(primitive_fun)
