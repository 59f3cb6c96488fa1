"""What real and complex matrices have in common: stacks of them, blocks, exchanges of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..binding import shape, unguarded
from ..operations.arrays import concatenate
from ..operations.guards import fixed


def each(function: Callable[..., Any], *stacks: Any) -> Any:
    """A function of matrices, applied along stacks of them; the result is like the last."""
    shape = stacks[-1].shape
    if not stacks[-1].size:
        return np.zeros(shape, stacks[-1].dtype)
    results = [function(*(x[k] for x in stacks)) for k in np.ndindex(shape[:-2])]
    return np.reshape(results, shape)


# How many axes one of what a function reads has: of tuples, one of each. More make it a stack.
AXES: dict[Callable[..., Any], Any] = {}


def batches(x: Any, axes: Any) -> list[tuple[int, ...]]:
    """The lengths of the axes by which an argument is a stack, or each one of a tuple."""
    if type(x) is tuple:
        return [found for each, n in zip(x, axes, strict=True) for found in batches(each, n)]
    return [shape(x)[: max(len(shape(x)) - axes, 0)]]


def _one(x: Any, axes: Any, place: tuple[int, ...]) -> Any:
    """What stands at a place of a stack, or of all that it is broadcast to."""
    if type(x) is tuple:
        return tuple(_one(each, n, place) for each, n in zip(x, axes, strict=True))
    (own,) = batches(x, axes)
    index = (k if n > 1 else 0 for k, n in zip(place[len(place) - len(own) :], own, strict=True))
    return x[tuple(index)] if own else x


def over_stacks(original: Any, function: Any, named: Any, axes: Any, is_own: bool) -> Any:
    """What SciPy's function returns for stacks, by one that is called for each, or for all."""
    lengths = np.broadcast_shapes(*(b for k, n in axes.items() for b in batches(named[k], n)))
    if 0 in lengths:
        return original(**unguarded(named))  # which has nothing in its results, or says so
    if is_own:
        results = function(**named)
    else:
        answers = [
            function(**named | {name: _one(named[name], n, place) for name, n in axes.items()})
            for place in np.ndindex(lengths)
        ]
        several = isinstance(answers[0], tuple)
        stacks = map(np.stack, zip(*answers, strict=True) if several else (answers,))
        results = tuple(np.reshape(x, lengths + x.shape[1:]) for x in stacks)
        results = results if several else results[0]
    is_loop = "ndims" in original.__code__.co_freevars  # by SciPy's decorator, which makes lists
    return list(results) if is_loop and isinstance(results, tuple) else results


def lapack_stage(name: str, function: str, kinds: str) -> Any:
    """A kernel around one of LAPACK's functions, for real matrices, as SciPy has it."""
    from scipy.linalg import cython_lapack  # which not all need who read arguments

    found = getattr(cython_lapack, "__pyx_capi__", {}).get(function)
    return None if found is None else ((name, found), kinds)


def blocks(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The matrix of four."""
    rows = (concatenate([a, b], axis=-1), concatenate([c, d], axis=-1))
    return concatenate(rows, axis=-2)


def permutation(pivots: Any) -> Any:
    """The order of rows that a list of exchanges leads to."""
    order = np.arange(len(pivots))
    for k, other in enumerate(fixed(pivots).astype(int)):
        order[[k, other]] = order[[other, k]]
    return order
