"""Containers of numbers: going through them, replacing the numbers, and comparing."""

from __future__ import annotations

import copy
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import cadiff


class Pair(NamedTuple):
    """Parameters as a namedtuple."""

    weight: Any
    bias: Any


@dataclass(frozen=True, slots=True)
class Layer:
    """Parameters as a dataclass that cannot be changed."""

    weight: Any
    bias: Any = 0.0


@dataclass
class Fitted:
    """A dataclass whose last field is made by itself."""

    scale: Any
    twice: Any = field(init=False)

    def __post_init__(self) -> None:
        self.twice = [self.scale, self.scale]


class Named(dict[str, Any]):
    """A dict with an attribute."""

    unit = "m"


class Box:
    """A container by registration; its label is none of its numbers."""

    def __init__(self, label: str, *content: Any) -> None:
        self.label = label
        self.content = content


cadiff.register_container(
    Box, lambda box: (box.content, box.label), lambda label, content: Box(label, *content)
)


def parts(tree: Any) -> list[Any] | None:
    """What is in a container; None of a number or an array."""
    if tree is None:
        return []
    if isinstance(tree, dict):
        return list(tree.values())
    if isinstance(tree, (list, tuple)):
        return list(tree)
    if is_dataclass(tree):
        return [getattr(tree, part.name) for part in fields(tree)]
    return list(tree.content) if isinstance(tree, Box) else None


def beside(tree: Any) -> Any:
    """What else tells a container from others."""
    attributes = {} if is_dataclass(tree) else getattr(tree, "__dict__", {})
    rest = {name: value for name, value in attributes.items() if name != "content"}
    return type(tree), list(tree) if isinstance(tree, dict) else None, rest


def leaves(tree: Any) -> Iterator[Any]:
    """All scalar numbers of nested containers and arrays, in order."""
    inner = parts(tree)
    if inner is not None:
        for item in inner:
            yield from leaves(item)
    elif np.shape(tree) != ():
        for index in np.ndindex(*tree.shape):
            yield tree[index]
    else:
        yield tree


def replaced(f: Callable[[Any], Any], tree: Any) -> Any:
    """A tree with each number or array replaced in its container."""
    if tree is None:
        return None
    if isinstance(tree, (dict, Box)) or is_dataclass(tree):
        made = copy.copy(tree)
        if isinstance(tree, Box):
            made.content = tuple(replaced(f, item) for item in tree.content)
        elif isinstance(tree, dict):
            for key, item in tree.items():
                made[key] = replaced(f, item)
        else:
            for part in fields(made):
                object.__setattr__(made, part.name, replaced(f, getattr(tree, part.name)))
        return made
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(replaced(f, item) for item in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)([replaced(f, item) for item in tree])
    return f(tree)


def tree_map(f: Callable[[float], float], tree: Any) -> Any:
    """A tree with each number replaced in its container; arrays as float64 or float32."""

    def mapped(leaf: Any) -> Any:
        if not (isinstance(leaf, np.ndarray) and leaf.ndim):
            kind = np.float32 if isinstance(leaf, np.float32) else float
            return kind(f(float(leaf)))
        kind = np.float32 if leaf.dtype == np.float32 else np.float64
        numbers = [f(float(x)) for x in leaf.ravel().tolist()]
        return np.array(numbers, dtype=kind).reshape(leaf.shape)

    return replaced(mapped, tree)


def assert_same_tree(got: Any, expected: Any, rtol: float = 1e-15) -> None:
    """Assert that two trees have equal containers of equal types, and numbers that agree."""
    inner = parts(expected)
    if isinstance(expected, np.ndarray):
        assert isinstance(got, np.ndarray)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=rtol, strict=True)
    elif inner is not None:
        assert beside(got) == beside(expected)
        found = parts(got)
        assert found is not None
        for one, other in zip(found, inner, strict=True):
            assert_same_tree(one, other, rtol)
    else:
        assert type(got) is (np.float32 if isinstance(expected, np.float32) else float)
        assert math.isclose(got, expected, rel_tol=rtol)


_floats = st.floats(-3.0, 3.0, allow_subnormal=False)
_arrays = st.builds(
    lambda shape, numbers: np.resize(numbers, shape) if numbers else np.zeros(shape),
    st.sampled_from([(0,), (1,), (3,), (2, 2), (0, 2), (1, 3, 1), (2, 1, 2)]),
    st.lists(_floats, max_size=12),
)


def _dicts(inner: Any) -> Any:
    kinds = [dict, OrderedDict, Named, lambda items: defaultdict(float, items)]
    items = st.dictionaries(st.sampled_from("abcde"), inner, max_size=3)
    return st.builds(lambda kind, items: kind(items), st.sampled_from(kinds), items)


trees = st.recursive(
    st.one_of(_floats, st.integers(-3, 3), _arrays),
    lambda inner: st.one_of(
        st.lists(st.one_of(inner, st.none()), max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        _dicts(inner),
        st.builds(Pair, inner, inner),
        st.builds(Layer, inner, inner),
        st.builds(Fitted, inner),
        st.builds(Box, st.sampled_from("xy"), inner),
    ),
    max_leaves=8,
)
