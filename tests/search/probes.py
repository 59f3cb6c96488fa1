"""A probe: a call whose arguments move along two directions, and the numbers that it results in.

Whatever is called, with however many arguments of whatever shapes, a probe is a function of two
numbers, s and t, which are 0 at the arguments drawn. So all invariants are stated once, for such
functions. This module knows how results are taken apart, and nothing of how they are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .worlds import NUMBERS, World

Array = Any
Call = Callable[[World, Any, Any], Any]  # of a world, s and t


@dataclass(frozen=True)
class Probe:
    """A call at drawn arguments; twins are other ways to give the same numbers, by invariant."""

    text: str  # for a person to type
    call: Call
    twins: dict[str, Probe] = field(default_factory=dict)
    is_single: bool = False  # arguments are rounded to float32: differences tell nothing
    size: float = 1.0  # of the numbers among the arguments


class NoNumbersError(Exception):
    """A call has no result that could have a derivative."""


MOST = 400  # elements of results that are looked at


def parts(tree: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Arrays and numbers of a result, with the way to each."""
    if depth > 4:
        return
    if isinstance(tree, (*NUMBERS, np.ndarray, np.generic, bool, int, float, complex)):
        yield path, tree
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from parts(item, f"{path}[{key!r}]", depth + 1)
    elif isinstance(tree, (list, tuple)):
        for k, item in enumerate(tree[:20]):
            yield from parts(item, f"{path}[{k}]", depth + 1)
    elif hasattr(tree, "toarray") and hasattr(tree, "nnz"):
        yield f"{path}.toarray()", tree.toarray()


def kind_of(leaf: Any) -> str:
    """f for real numbers, c for complex ones, i for whole ones, b for truths, O for others."""
    if isinstance(leaf, (bool, np.bool_)):
        return "b"
    dtype = getattr(leaf, "dtype", None)
    kind = np.dtype(dtype).kind if dtype is not None else np.asarray(leaf).dtype.kind
    return {"u": "i"}.get(kind, kind)


@dataclass
class Results:
    """What a call gave, by path: numbers that may carry derivatives, and what cannot."""

    numbers: dict[str, Any]  # real arrays; complex ones as two
    others: dict[str, Any]  # integers and truths
    dtypes: dict[str, Any]  # of numbers


def results(tree: Any) -> Results:
    found = Results({}, {}, {})
    room = MOST
    for path, leaf in parts(tree):
        size, kind = int(leaf.size if isinstance(leaf, NUMBERS) else np.size(leaf)), kind_of(leaf)
        if kind == "O" and isinstance(leaf, np.ndarray) and size:  # of numbers with derivatives
            leaf, kind = stacked(leaf), "f"
        if kind not in "fcib" or size > room:
            continue
        room -= size
        if kind in "ib":
            found.others[path] = leaf
            continue
        found.dtypes[path] = np.dtype(getattr(leaf, "dtype", type(leaf)))
        if kind == "c":
            found.numbers[path + ".real"], found.numbers[path + ".imag"] = leaf.real, leaf.imag
        else:
            found.numbers[path] = leaf
    return found


def stacked(leaf: Any) -> Any:
    """An array of objects as an array of numbers."""
    import cadiff.numpy as cnp

    return cnp.stack([cnp.asarray(item) for item in leaf.ravel()]).reshape(leaf.shape)


def flat(numbers: dict[str, Any]) -> Array:
    """Plain results as one vector."""
    pieces = [np.ravel(np.asarray(x, dtype=float)) for x in numbers.values()]
    return np.concatenate(pieces) if pieces else np.zeros(0)
