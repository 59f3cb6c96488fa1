"""Containers as vectors, optimisers and fixed points; a function that need not be traced anew."""

import sys as _sys
from collections.abc import Callable as _Callable
from functools import partial as _partial
from typing import Any as _Any

import cadiff as _cadiff

from ... import aliases as _aliases
from .flatten import flatten

__all__ = ["const_graph", "flatten"]


def const_graph(fun: _Callable[..., _Any], *args: _Any, **kwargs: _Any) -> _Callable[..., _Any]:
    """The function, after some arguments of it, as a program: `cadiff.compile` of it."""
    return _cadiff.compile(_partial(fun, *args, **kwargs))


_aliases.have_names(_sys.modules[__name__], __name__, {"tracers": "const_graph"})
