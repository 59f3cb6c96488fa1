"""`jax.flatten_util`: a tree of numbers as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..vectors import in_a_row
from .tree_util import tree_flatten


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of a tree as a vector, and what makes a tree of a vector."""
    leaves, tree = tree_flatten(pytree)
    vector, apart = in_a_row(leaves)
    return vector, lambda vector: tree.unflatten(apart(vector))
