"""Which function of NumPy or SciPy is done by which function of the package.

A function of the package that stands for one of NumPy's is made with `implements`. It is what
plain NumPy calls on numbers with derivatives (`__array_function__`), and what the namespaces
`cadiff.numpy` and `cadiff.scipy` offer. Given plain numbers, it is NumPy's own function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from . import _core
from ._core import Dual, Var

__all__ = ["FUNCTIONS", "PLAIN", "carries", "implements", "plain"]

F = TypeVar("F", bound=Callable[..., Any])

# NumPy's or SciPy's function -> the one of the package that differentiates it.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}

# Functions whose results have no derivatives: shapes, comparisons, indices.
PLAIN: set[Any] = set()


def carries(tree: Any) -> bool:
    """Whether there is a Var or Dual in it: itself, or in a container or an object array."""
    if isinstance(tree, (Var, Dual)):
        return True
    if isinstance(tree, (list, tuple)):
        return any(map(carries, tree))
    if isinstance(tree, dict):
        return any(map(carries, tree.values()))
    if isinstance(tree, np.ndarray):
        return tree.dtype == object and any(map(carries, tree.flat))
    return False


def implements(*originals: Any) -> Callable[[F], F]:
    """Make a function the one that differentiates `originals`; it is called like the first.

    The decorated function is called only if an argument carries a derivative.
    """

    def decorate(function: F) -> F:
        original = originals[0]

        @functools.wraps(function)
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            if carries(args) or (kwargs and carries(kwargs)):
                return function(*args, **kwargs)
            return original(*args, **kwargs)

        dispatch.__doc__ = function.__doc__ or getattr(original, "__doc__", None)
        for name in originals:
            FUNCTIONS[name] = dispatch
        return dispatch  # type: ignore[return-value]

    return decorate


def plain(*originals: Any) -> None:
    """Declare functions whose results have no derivatives: they are applied to the values."""
    for original in originals:
        PLAIN.add(original)
        FUNCTIONS[original] = _on_values(original)


def _on_values(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        return original(*_core.strip(args), **_core.strip(kwargs))

    return dispatch
