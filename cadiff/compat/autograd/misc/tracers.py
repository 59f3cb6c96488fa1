"""A function that need not be traced at each call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import cadiff


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """The function, after some arguments of it, as a program: `cadiff.compile` of it."""
    return cadiff.compile(partial(fun, *args, **kwargs))
