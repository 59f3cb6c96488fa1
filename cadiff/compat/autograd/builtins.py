"""Built-in types and the questions about them, of numbers that carry derivatives, too.

Containers are Python's own in cadiff, so that these make nothing else.
"""

from __future__ import annotations

import builtins
from builtins import dict as dict
from builtins import list as list
from builtins import tuple as tuple
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
