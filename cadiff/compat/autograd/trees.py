"""Nested lists, tuples and dicts of numbers: no other file asks what a container is."""

from functools import lru_cache
from typing import Any

import numpy as np

from ...binding import Complex, Dual, Var
from ...binding import carries as carries
from .. import trees

NUMBERS = (Var, Dual, Complex)
# What cadiff computes in where it lacks a dtype.
_WIDE = {"e": np.float32, "g": np.float64, "G": np.complex128}
WIDE: dict[Any, Any] = {np.dtype(k): wide for k, wide in _WIDE.items()}


def is_box(x: Any) -> bool:
    """Whether it is a number or an array that carries a derivative."""
    return isinstance(x, NUMBERS)


def _in_order(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:  # of several types
        return [*keys]


_OF_DICTS = trees.Kind(
    lambda d: ([d[k] for k in _in_order(d)], dict.fromkeys(d)),
    lambda keys, children: keys | dict(zip(_in_order(keys), children, strict=True)),
)


class Tree(trees.Tree):
    """A tree of lists, tuples and dicts, these gone through in the order of their keys."""

    @staticmethod
    @lru_cache  # of types, which are asked for at each call of a gradient
    def kind_of(kind: type) -> trees.Kind | None:
        if issubclass(kind, dict):
            return _OF_DICTS
        if not issubclass(kind, (list, tuple)):
            return None
        make = list if issubclass(kind, list) else getattr(kind, "_make", tuple)
        return trees.Kind(lambda x: (x, None), lambda _, children: make(children))

    def is_alike(self, kind: type) -> bool:
        return self.kind_of(kind) is not None

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """An array stands for a list of its rows, as rules may give them."""
        is_array = self.type is not None and isinstance(tree, (np.ndarray, *NUMBERS))
        found: list[Any] = super().flatten_up_to([*tree] if is_array else tree)
        return found


mapped = Tree.map


def is_container(x: Any) -> bool:
    return isinstance(x, (list, tuple, dict))


def leaves(tree: Any) -> Any:
    """What is in a tree and is no container."""
    return Tree.flatten(tree)[0]


def given(tree: Any) -> Any:
    """A tree as cadiff takes it: numbers for arrays without axes, and precision that it has."""

    def one(x: Any) -> Any:
        wide = WIDE.get(getattr(x, "dtype", None))
        x = x if wide is None else x.astype(wide)
        return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x

    return mapped(one, tree)


def given_back(tree: Any, like: Any = None) -> Any:
    """Results as autograd has them: NumPy's numbers for floats, and the precision of arguments."""

    def one(x: Any, point: Any = None) -> Any:
        kind = type(x)
        if kind is float or kind is complex:
            x = np.float64(x) if kind is float else np.complex128(x)
        dtype = getattr(point, "dtype", None)
        return x.astype(dtype) if dtype in WIDE and not is_box(x) else x

    return mapped(one, tree) if like is None else mapped(one, tree, like)
