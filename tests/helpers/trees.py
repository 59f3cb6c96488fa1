"""Containers of numbers: going through them, replacing the numbers, and comparing."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np


class Pair(NamedTuple):
    """Parameters as a namedtuple."""

    weight: Any
    bias: Any


def leaves(tree: Any) -> Iterator[Any]:
    """All scalar numbers of nested containers and arrays, in order."""
    if isinstance(tree, dict):
        for item in tree.values():
            yield from leaves(item)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from leaves(item)
    elif np.shape(tree) != ():
        for index in np.ndindex(*tree.shape):
            yield tree[index]
    else:
        yield tree


def tree_map(f: Callable[[float], float], tree: Any) -> Any:
    """A tree with each number replaced in its container; arrays as float64 or float32."""
    if isinstance(tree, (defaultdict, Counter)):
        return {key: tree_map(f, item) for key, item in tree.items()}
    if isinstance(tree, dict):
        return type(tree)((key, tree_map(f, item)) for key, item in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(tree_map(f, item) for item in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)([tree_map(f, item) for item in tree])
    if isinstance(tree, np.ndarray) and tree.ndim:
        kind = np.float32 if tree.dtype == np.float32 else np.float64
        mapped = [f(float(x)) for x in tree.ravel().tolist()]
        return np.array(mapped, dtype=kind).reshape(tree.shape)
    return f(float(tree))


def assert_same_tree(got: Any, expected: Any, rtol: float = 1e-15) -> None:
    """Assert that two trees have equal containers of equal types, and numbers that agree."""
    if isinstance(expected, np.ndarray):
        assert isinstance(got, np.ndarray)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=rtol, strict=True)
    elif isinstance(expected, dict):
        assert isinstance(got, dict)
        assert list(got) == list(expected)
        for key in expected:
            assert_same_tree(got[key], expected[key], rtol)
    elif isinstance(expected, (list, tuple)):
        assert type(got) is type(expected)
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same_tree(one, other, rtol)
    else:
        assert type(got) is float
        assert math.isclose(got, expected, rel_tol=rtol)
