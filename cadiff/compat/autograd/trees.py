"""Nested lists, tuples and dicts of numbers: no other file asks what a container is."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ...binding import Complex, Dual, Var

NUMBERS = (Var, Dual, Complex)
# What cadiff computes in where it lacks a dtype.
WIDE: dict[str, Any] = {"e": np.float32, "g": np.float64, "G": np.complex128}


def is_box(x: Any) -> bool:
    """Whether it is a number or an array that carries a derivative."""
    return builtins.isinstance(x, NUMBERS)


def is_container(x: Any) -> bool:
    return builtins.isinstance(x, (list, tuple, dict))


def rebuilt(like: Any, values: list[Any]) -> Any:
    """A container of the kind of another, around other values."""
    if builtins.isinstance(like, dict):
        return dict(zip(like, values, strict=True))
    if hasattr(like, "_fields"):  # a namedtuple
        return builtins.type(like)(*values)
    return list(values) if builtins.isinstance(like, list) else tuple(values)


def mapped(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of f of each leaf, and of what other trees have in its place."""
    if not is_container(tree):
        return f(tree, *others)
    places = tree if builtins.isinstance(tree, dict) else range(len(tree))
    return rebuilt(tree, [mapped(f, tree[k], *(t[k] for t in others)) for k in places])


def leaves(tree: Any) -> list[Any]:
    """What is in a tree and is no container."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def filled(tree: Any, values: list[Any]) -> Any:
    """The tree with other leaves; they are taken from the front of the list."""
    return mapped(lambda _: values.pop(0), tree)


def in_order(tree: Any) -> Any:
    """The tree with its dicts in the order of their keys."""
    if builtins.isinstance(tree, dict):
        return {k: in_order(tree[k]) for k in sorted(tree)}
    return rebuilt(tree, [*map(in_order, tree)]) if is_container(tree) else tree


def carries(tree: Any) -> bool:
    """Whether anything in a tree carries a derivative."""
    return any(map(is_box, leaves(tree)))


def _char(x: Any) -> str:
    return str(x.dtype.char) if builtins.isinstance(x, (np.ndarray, np.generic)) else ""


def given(tree: Any) -> Any:
    """A tree as cadiff takes it: numbers for arrays without axes, and precision that it has."""

    def one(x: Any) -> Any:
        if _char(x) in WIDE:
            x = x.astype(WIDE[_char(x)])
        return x[()] if builtins.isinstance(x, np.ndarray) and x.ndim == 0 else x

    return mapped(one, tree)


def given_back(tree: Any, like: Any = None) -> Any:
    """Results as autograd has them: NumPy's numbers for floats, and the precision of arguments."""

    def one(x: Any, point: Any = None) -> Any:
        kind = builtins.type(x)
        if kind is float or kind is complex:
            x = np.float64(x) if kind is float else np.complex128(x)
        return x.astype(point.dtype) if _char(point) in WIDE and not is_box(x) else x

    return mapped(one, tree) if like is None else mapped(one, tree, like)
