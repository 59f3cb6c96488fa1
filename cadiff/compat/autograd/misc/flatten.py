"""Containers of numbers and arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...vectors import in_a_row
from .. import trees


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of nested lists, tuples and dicts as a vector, and the way back.

    Dicts are taken in the order of their keys.
    """
    ordered = trees.in_order(value)
    vector, apart = in_a_row(trees.leaves(ordered))
    return vector, lambda vector: trees.filled(ordered, apart(vector))


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Any, Any, Any]:
    """A function of trees like an example as one of vectors; the way back, and the example."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
