"""`jax.flatten_util`: a tree of numbers as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as onp

from cadiff import numpy as np

from .tree_util import tree_flatten


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of a tree as a vector, and what makes a tree of a vector."""
    leaves, tree = tree_flatten(pytree)
    shapes = [np.shape(x) for x in leaves]
    ends = onp.cumsum([math.prod(shape) for shape in shapes], dtype=int)
    vector = np.concatenate([np.ravel(x) for x in leaves]) if leaves else onp.zeros(0)

    def unravel(vector: Any) -> Any:
        pieces = zip(shapes, ends, strict=True)
        return tree.unflatten(
            np.reshape(vector[end - math.prod(shape) : end], shape)[()] for shape, end in pieces
        )

    return vector, unravel
