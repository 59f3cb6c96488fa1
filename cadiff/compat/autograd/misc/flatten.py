"""Containers of numbers and arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

from cadiff import numpy as np

from .. import trees


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of nested lists, tuples and dicts as a vector, and the way back.

    Dicts are taken in the order of their keys.
    """
    ordered = trees.in_order(value)
    parts = trees.leaves(ordered)
    shapes = [x.shape if trees.is_box(x) else onp.shape(x) for x in parts]
    vector = np.concatenate([np.ravel(x) for x in parts]) if parts else onp.zeros(0)
    ends = onp.cumsum([onp.prod(shape, dtype=int) for shape in shapes])

    def unflatten(vector: Any) -> Any:
        pieces = [
            np.reshape(vector[end - onp.prod(shape, dtype=int) : end], shape)[()]
            for shape, end in zip(shapes, ends, strict=True)
        ]
        return trees.filled(ordered, pieces)

    return vector, unflatten


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Any, Any, Any]:
    """A function of trees like an example as one of vectors; the way back, and the example."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
