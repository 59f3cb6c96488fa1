"""Containers of numbers and arrays as one vector, and back."""

from collections.abc import Callable
from typing import Any

from ...calls import in_a_row
from ..trees import Tree


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of nested lists, tuples and dicts as a vector, and the way back.

    Dicts are taken in the order of their keys.
    """
    leaves, tree = Tree.flatten(value)
    vector, apart = in_a_row(leaves)
    return vector, lambda vector: tree.unflatten(apart(vector))


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Any, Any, Any]:
    """A function of trees like an example as one of vectors; the way back, and the example."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
