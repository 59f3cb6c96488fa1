"""Built-in types, which are containers of cadiff's, too, and the questions about types."""

import builtins
from builtins import dict, list, tuple  # noqa: UP029 - names of this module
from typing import Any

from .core import getval

__all__ = ["dict", "isinstance", "list", "tuple", "type"]

# Classes for isinstance: what is boxed by autograd is itself here.
DictBox: Any = dict
SequenceBox: Any = (list, tuple)


def isinstance(x: Any, kind: Any) -> bool:
    return builtins.isinstance(getval(x), kind)


def type(x: Any) -> Any:
    return builtins.type(getval(x))
